"""On two nodes, installed by Helm, with real Slurm: what a pod shows, and a step of a pipeline."""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from bascule.platforms.kubernetes import manifest
from tests.testbed.image import IMAGE
from tests.testbed.kube import KubeSpec

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow]

CHART = "deploy/chart"
GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/kubernetes.md"
HERE = "bascule-system"
LONG = 90.0


def until(condition, what, within=LONG):
    ends = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < ends, what() if callable(what) else what
        time.sleep(0.3)
    return found


class Town:
    """A cluster with Bascule on it, and a Slurm cluster outside."""

    def __init__(self, cluster, slurm, namespace):
        self.cluster = cluster
        self.slurm = slurm
        self.namespace = namespace

    def kubectl(self, *argv, **more):
        return self.cluster.kubectl("-n", self.namespace, *argv, **more)

    def job(self, name):
        path = f"/apis/bascule.dev/v1alpha1/namespaces/{self.namespace}/bridgejobs/{name}"
        return self.cluster.rest.get(path) or {}

    def phase(self, name):
        return self.job(name).get("status", {}).get("phase")

    def pod(self, name):
        return self.cluster.rest.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}-mirror") or {}

    def until_phase(self, name, phase, within=LONG):
        until(lambda: self.phase(name) == phase, lambda: self.tell(name, phase), within)

    def tell(self, name, wanted):
        pods = self.cluster.kubectl("get", "pods", "-A", "-o", "wide")
        operator = self.cluster.kubectl("-n", HERE, "logs", "deployment/bascule-operator", "--tail=30", check=False)
        agent = self.kubectl("logs", f"{name}-mirror", check=False)
        return f"{name} is not {wanted}: {self.job(name).get('status')}\n{pods}\n{operator}\n{agent}"

    def submit(self, name, script):
        self.cluster.apply(self.document(name, script))

    def document(self, name, script):
        return {
            "apiVersion": "bascule.dev/v1alpha1",
            "kind": "BridgeJob",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "target": {"name": "hpc"},
                "run": {"script": script},
                "workingDirectory": str(self.slurm.jobs_dir),
            },
        }

    def following(self, pod):
        """Follow the log of *pod*, as a person does."""
        return Following(self, pod)

    def outside(self, name):
        """Return what Slurm's accounting has of the job *name*: id, state, exit code."""
        key = self.job(name)["status"]["key"]
        rows = self.slurm.run("sacct", "-X", "-n", "-P", "-D", "-o", "JobID,State,ExitCode", f"--name={key}")
        return [row.split("|") for row in rows.splitlines()]


class Following:
    """`kubectl logs -f` of a pod."""

    def __init__(self, town, pod):
        self._process = subprocess.Popen(
            town.cluster.kubectl_line("-n", town.namespace, "logs", "-f", pod),
            env=town.cluster.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.said = b""

    def until(self, words, within=LONG):
        """Read until *words* were said."""
        ends = time.monotonic() + within
        while words not in self.said.decode(errors="replace"):
            left = ends - time.monotonic()
            assert left > 0, f"no `{words}` within {within:g} s: {self.said!r}"
            if select.select([self._process.stdout], [], [], min(left, 1.0))[0]:
                data = os.read(self._process.stdout.fileno(), 65536)
                assert data, f"it ended without `{words}`: {self.said!r}"
                self.said += data

    def end(self, within=LONG):
        """Wait until it ends by itself, and return all that it said."""
        rest, _ = self._process.communicate(timeout=within)
        return (self.said + rest).decode(errors="replace")

    def close(self):
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def town(start_kube_for_all, helm, bascule_image, slurm_2605_dbd):
    namespace = f"team-{secrets.token_hex(4)}"
    cluster = start_kube_for_all(KubeSpec(nodes=2))
    cluster.load(bascule_image)
    repository, _, tag = IMAGE.rpartition(":")
    settings = {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "network": {"guarded": ["10.96.0.0/16", "10.244.0.0/16"]},
        "agent": {"nodeLossSeconds": 3},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
    }
    run = [
        str(helm),
        "upgrade",
        "--install",
        "bascule",
        CHART,
        "--namespace",
        HERE,
        "--create-namespace",
        "--values",
        "-",
    ]
    done = subprocess.run(
        run, input=yaml.safe_dump(settings), env=cluster.environment(), capture_output=True, text=True, timeout=100
    )
    assert 0 == done.returncode, done.stderr
    cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    cluster.apply(*manifest.for_agents(namespace, secrets=("hpc-token",), targets=(), operator=HERE))
    token = f"--from-literal=token={slurm_2605_dbd.token()}"
    cluster.kubectl("-n", namespace, "create", "secret", "generic", "hpc-token", token)
    cluster.apply(*scratch(cluster.share(slurm_2605_dbd.jobs_dir), namespace))
    where = cluster.lend(slurm_2605_dbd.ports.rest)
    cluster.apply(
        {
            "apiVersion": "bascule.dev/v1alpha1",
            "kind": "BridgeTarget",
            "metadata": {"name": "hpc", "namespace": namespace},
            "spec": {
                "manager": "slurm",
                "url": f"http://{where}",
                "credentials": {"user": slurm_2605_dbd.user, "secret": {"name": "hpc-token", "from": "JobNamespace"}},
                "network": {"allow": [f"{where.partition(':')[0]}/32"], "plaintext": True},
                "limits": {"pollInterval": "1s"},
                "files": {"root": str(slurm_2605_dbd.jobs_dir), "claim": "scratch"},
                "mirror": "Isolated",
            },
        }
    )
    cluster.kubectl("-n", HERE, "rollout", "status", "deployment/bascule-operator", "--timeout=90s", within=100)
    return Town(cluster, slurm_2605_dbd, namespace)


def scratch(folder, namespace):
    """Return the cluster's file system at *folder*, as a namespace claims it."""
    size = {"storage": "1Gi"}
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": f"scratch-{namespace}"}
    return (
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": common["volumeName"]},
            "spec": {
                "capacity": size,
                "accessModes": common["accessModes"],
                "hostPath": {"path": str(folder), "type": "Directory"},
                "claimRef": {"name": "scratch", "namespace": namespace},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "scratch", "namespace": namespace},
            "spec": {**common, "resources": {"requests": size}},
        },
    )


@pytest.fixture
def marks(town):
    """A folder for what tests tell their jobs; jobs see it too."""
    folder = town.slurm.jobs_dir / f"marks-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    return folder


@pytest.mark.timeout(600)
def test_a_pods_log_is_what_slurms_job_writes_while_it_writes_it(town, marks):
    """
    The job goes on only once its first line was seen: through the claim that the target names.
    """
    town.submit("live", f"#!/bin/sh\necho one\nuntil [ -e {marks}/go ]; do sleep 0.1; done\necho two; exit 3\n")
    town.until_phase("live", "Running")
    log = town.following("live-mirror")
    try:
        log.until("one")
        assert "two" not in log.said.decode()
        (marks / "go").touch()

        assert "one\ntwo\n" == log.end()
    finally:
        log.close()
    town.until_phase("live", "Failed")
    ended = until(lambda: ended_in(town.pod("live")), "the pod to end")
    assert 3 == ended["exitCode"]
    assert ended["message"].startswith("ExitCode")


class TestSteps:
    """`bascule run` in a pod, as the guide has it, with the rights that the command prints."""

    @pytest.fixture
    def step(self, town):
        """
        Start a step that runs a script by the name of its job, and return its Kubernetes Job.
        """
        town.cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "pipeline", "namespace": town.namespace},
            },
            *manifest.for_steps(town.namespace, account="pipeline", secrets=("hpc-token",)),
        )

        def start(name, script, *options):
            [document] = [each for each in yaml.safe_load_all(snippet("step.yaml")) if each]
            document["metadata"] = {"name": f"{name}-step", "namespace": town.namespace}
            spec = document["spec"]["template"]["spec"]
            [container] = spec["containers"]
            container |= {"image": IMAGE, "imagePullPolicy": "Never"}
            container["args"] += options
            for mount in container["volumeMounts"]:
                mount["mountPath"] = mount["mountPath"].replace("/scratch", str(town.slurm.jobs_dir))
            spec["volumes"][0]["configMap"]["name"] = name
            town.cluster.apply(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": name, "namespace": town.namespace},
                    "data": {"train.yaml": yaml.safe_dump(town.document(name, script))},
                },
                document,
            )
            return f"job/{name}-step"

        return start

    def pods(self, town, step):
        label = f"batch.kubernetes.io/job-name={step.removeprefix('job/')}"
        return json.loads(town.kubectl("get", "pods", "-l", label, "-o", "json"))["items"]

    def until_it_speaks(self, town, step, words):
        until(lambda: words in town.kubectl("logs", step, check=False), lambda: town.kubectl("describe", step))

    def code(self, town, step):
        """Return the exit code of the step's one pod, once it is over."""

        def ended():
            return ended_in(self.pods(town, step)[0])

        return until(ended, lambda: town.kubectl("logs", step, check=False))["exitCode"]

    @pytest.mark.timeout(600)
    def test_it_shows_the_output_while_it_is_written_and_ends_with_the_jobs_code(self, town, step, marks):
        script = f"#!/bin/sh\necho one\nuntil [ -e {marks}/go ]; do sleep 0.1; done\necho two; exit 7\n"
        started = step("piped", script)
        self.until_it_speaks(town, started, "one")
        town.until_phase("piped", "Running")

        (marks / "go").touch()

        assert 7 == self.code(town, started)
        said = town.kubectl("logs", started)
        assert [1, 1] == [said.count("one\n"), said.count("two\n")]
        # Made again, it finds the job, and does not submit another.
        until(lambda: len(self.pods(town, started)) > 1, "the Kubernetes Job tries it again")
        town.kubectl("wait", "--for=condition=Failed", started, "--timeout=120s", within=130)
        assert {7} == {ended_in(pod)["exitCode"] for pod in self.pods(town, started)}
        assert 1 == len(town.outside("piped"))

    @pytest.mark.timeout(600)
    def test_with_cancel_on_exit_its_end_is_the_jobs(self, town, step):
        started = step("ended", "#!/bin/sh\necho one\nsleep 600\n", "--cancel-on-exit")
        self.until_it_speaks(town, started, "one")
        log = town.following(started)
        try:
            log.until("one")
            before = time.monotonic()

            town.kubectl("delete", started, "--wait=true", "--cascade=foreground", "--timeout=85s", within=90)

            assert time.monotonic() - before < 85
            assert "job/ended Cancelled" in log.end()
        finally:
            log.close()
        assert "Cancelled" == town.phase("ended")
        [[_, state, _]] = town.outside("ended")
        assert state.startswith("CANCELLED")

    @pytest.mark.timeout(600)
    def test_without_it_the_job_goes_on(self, town, step, marks):
        started = step("left", f"#!/bin/sh\necho one\nuntil [ -e {marks}/go ]; do sleep 0.1; done\n")
        self.until_it_speaks(town, started, "one")

        town.kubectl("delete", started, "--wait=true", "--cascade=foreground", "--timeout=85s", within=90)

        town.until_phase("left", "Running")
        (marks / "go").touch()
        town.until_phase("left", "Succeeded")


def ended_in(pod):
    """Return how the container of *pod* ended; None while it has not."""
    [status] = pod["status"].get("containerStatuses") or [{"state": {}}]
    return status["state"].get("terminated")


def snippet(name):
    """Return what the guide has under *name*."""
    text = GUIDE.read_text()
    begin = text.index(f"file={name}\n") + len(f"file={name}\n")
    return text[begin : text.index("```", begin)]
