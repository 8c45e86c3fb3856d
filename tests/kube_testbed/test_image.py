"""The image of Bascule: small, of nobody in particular, at home with a read-only root folder."""

import json
import tarfile
from pathlib import Path

import pytest

from tests.kube_testbed.pods import pod, wait_for
from tests.testbed.image import IMAGE
from tests.testbed.slurm_daemons import wait_until

pytestmark = [pytest.mark.real, pytest.mark.root]

LARGEST = 120 * 10**6

EXTRAS = {"numpy", "qiskit", "qiskit_aer"}
"""What only an extra of the package brings; the image has none."""

RESTRICTED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture
def config(bascule_image) -> dict[str, object]:
    """
    What the image says of itself.
    """
    with tarfile.open(bascule_image) as archive:

        def blob(digest: str) -> dict[str, object]:
            file = archive.extractfile(f"blobs/{digest.replace(':', '/')}")
            assert file is not None
            return json.load(file)

        index = archive.extractfile("index.json")
        assert index is not None
        manifest = blob(json.load(index)["manifests"][0]["digest"])
        return blob(manifest["config"]["digest"])["config"]


@pytest.fixture
def answer(kube_cluster, namespace, bascule_image):
    """
    Run the image with arguments, as strictly as Kubernetes can, and return what it printed.
    """
    kube_cluster.load(bascule_image)
    kube_cluster.kubectl("create", "namespace", namespace)
    kube_cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")

    def run(*argv: str, command: list[str] | None = None) -> str:
        strict = pod(namespace, "bascule", "")
        container = {"name": "main", "image": IMAGE, "imagePullPolicy": "Never", "securityContext": RESTRICTED}
        container |= {"args": list(argv)} if command is None else {"command": command}
        strict["spec"] |= {"containers": [container], "serviceAccountName": "default"}
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        wait_until(lambda: kube_cluster.rest.get(account) is not None, "the service account", within=60)
        kube_cluster.apply(strict)
        wait_for(kube_cluster, namespace, "bascule", "Succeeded", "Failed", within=90)
        return kube_cluster.kubectl("logs", "bascule", "-n", namespace)

    yield run
    kube_cluster.kubectl("delete", "namespace", namespace, "--wait=false")


def test_it_is_small(bascule_image: Path, record_property):
    record_property("megabytes", bascule_image.stat().st_size // 10**6)

    assert bascule_image.stat().st_size < LARGEST


def test_it_is_not_roots_and_starts_bascule(config):
    assert (["bascule"], "65532:65532") == (config["Entrypoint"], config["User"])


def test_it_works_under_the_strictest_rules(answer):
    assert answer("--version").startswith("bascule ")


def test_all_that_is_in_it_can_be_imported_and_nothing_installs_more(answer):
    script = (
        "import pkgutil, importlib, importlib.util, bascule\n"
        "names = [m.name for m in pkgutil.walk_packages(bascule.__path__, 'bascule.') if not m.name.endswith('__main__')]\n"
        "missing = set()\n"
        "for name in names:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        missing.add(error.name.partition('.')[0])\n"
        f"print(len(names) > 20, sorted(missing - {EXTRAS}), importlib.util.find_spec('pip'))"
    )

    assert "True [] None\n" == answer(command=["python", "-W", "error", "-c", script])
