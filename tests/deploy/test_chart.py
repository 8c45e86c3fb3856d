"""What is installed on a cluster: the chart, the manifest made of it, and the rights in both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bascule.model import Ref
from bascule.platforms.kubernetes import manifest

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart"
sys.path.insert(0, str(ROOT / "tools"))

import manifests  # noqa: E402 - a tool, which is no package


def installed():
    return [each for each in yaml.safe_load_all(manifests.INSTALL.read_text()) if each]


def rules_of(documents):
    return [
        (document["kind"], document["metadata"]["name"], rule)
        for document in documents
        if document["kind"] in {"Role", "ClusterRole"}
        for rule in document["rules"]
    ]


OURS = [
    *installed(),
    *manifest.for_agents("team-a", secrets=("token",), targets=(Ref("shared", "hpc"),), operator="bascule-system"),
    *manifest.for_operator("team-b", secrets=("token",), operator="bascule-system"),
]


class TestGenerated:
    def test_the_charts_crds_are_what_the_command_prints(self):
        assert manifests.crds_text() == manifests.CRDS.read_text(), "run `make manifests`"

    def test_the_plain_manifest_holds_them_too(self):
        names = [each["metadata"]["name"] for each in installed() if each["kind"] == "CustomResourceDefinition"]

        assert ["bridgejobs.bascule.dev", "bridgetargets.bascule.dev"] == sorted(names)


class TestRights:
    def test_no_secret_is_listed_nor_read_throughout_the_cluster(self):
        for kind, name, rule in rules_of(OURS):
            if "secrets" in rule["resources"]:
                assert "Role" == kind, name
                assert ["get"] == rule["verbs"], name

    def test_nobody_makes_roles(self):
        assert not [name for _, name, rule in rules_of(OURS) if "rbac.authorization.k8s.io" in rule["apiGroups"]]

    def test_pods_are_made_only_where_a_namespaces_admin_says_so(self):
        assert not [name for _, name, rule in rules_of(installed()) if "pods" in rule["resources"]]

    def test_nothing_is_granted_by_a_star(self):
        for _, name, rule in rules_of(OURS):
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]], name

    def test_people_write_no_status(self):
        for document in installed():
            if any("aggregate-to" in label for label in document["metadata"].get("labels", {})):
                assert not [each for rule in document["rules"] for each in rule["resources"] if "/status" in each]

    def test_an_agent_reads_the_secrets_that_were_named(self):
        named = [
            rule["resourceNames"]
            for _, name, rule in rules_of(OURS)
            if "secrets" in rule["resources"] and name in {"bascule-agent", "bascule-operator-secrets"}
        ]

        assert [["token"], ["token"]] == named


class TestWorkload:
    def test_the_operator_keeps_the_restricted_standard(self):
        [deployment] = [each for each in installed() if each["kind"] == "Deployment"]
        spec = deployment["spec"]["template"]["spec"]
        [container] = spec["containers"]

        assert spec["securityContext"]["runAsNonRoot"]
        assert {"type": "RuntimeDefault"} == spec["securityContext"]["seccompProfile"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        assert {"drop": ["ALL"]} == container["securityContext"]["capabilities"]
        assert container["resources"]["limits"]["memory"]

    def test_there_are_two_and_one_may_be_away(self):
        [deployment] = [each for each in installed() if each["kind"] == "Deployment"]
        [budget] = [each for each in installed() if each["kind"] == "PodDisruptionBudget"]

        assert 2 == deployment["spec"]["replicas"]
        assert 1 == budget["spec"]["maxUnavailable"]

    def test_it_is_started_as_the_command_takes_it(self):
        """
        A flag that the command does not know would keep every pod from starting.
        """
        [deployment] = [each for each in installed() if each["kind"] == "Deployment"]
        [container] = deployment["spec"]["template"]["spec"]["containers"]

        from bascule.cli.main import parser

        parsed = parser().parse_args([*container["args"], "--guard=10.96.0.0/16", "--watch-namespace=team-a"])

        assert ("0.0.0.0", 8790, 15) == (parsed.host, parsed.port, parsed.lease_seconds)


def template(helm, *arguments):
    command = [str(helm), "template", "bascule", str(CHART), "--namespace", "bascule-system", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.real
@pytest.mark.slow
class TestHelm:
    def test_the_plain_manifest_is_what_the_chart_gives(self, helm):
        assert manifests.install_text(str(helm)) == manifests.INSTALL.read_text(), "run `make manifests`"

    def test_the_chart_passes_helms_own_look(self, helm):
        done = subprocess.run([str(helm), "lint", "--strict", str(CHART)], capture_output=True, text=True)

        assert 0 == done.returncode, done.stdout

    @pytest.mark.parametrize(
        "setting",
        [
            *("replica=2", "replicas=two", "replicas=-1", "image.tags=x", "watch.namespace=Team_A", "lease.duration=1"),
            *(
                "network.guarded={everything}",
                "agent.resources.cpu=1",
                "image.digest=sha256:short",
                "networkPolicy=false",
            ),
        ],
    )
    def test_a_value_that_is_none_is_refused(self, helm, setting):
        done = template(helm, "--set", setting)

        assert done.returncode
        assert "schema" in done.stderr

    def test_for_one_namespace_nothing_is_granted_in_the_whole_cluster(self, helm):
        done = template(helm, "--set", "watch.namespace=team-a,rbac.aggregate=false")
        documents = [each for each in yaml.safe_load_all(done.stdout) if each]

        assert not [each for each in documents if each["kind"] in {"ClusterRole", "ClusterRoleBinding"}]
        roles = {each["metadata"]["namespace"] for each in documents if each["kind"] == "Role"}
        assert {"team-a", "bascule-system"} == roles

    def test_everything_can_be_set_at_once(self, helm, tmp_path):
        values = {
            "image": {"repository": "r.example/b", "digest": f"sha256:{'a' * 64}", "pullSecrets": [{"name": "pull"}]},
            "network": {"guarded": ["10.96.0.0/16", "fd00::/108"]},
            "networkPolicy": {
                "metricsFrom": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}],
                "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
            },
            "metrics": {"serviceMonitor": True},
            "agent": {"env": {"A": "b"}, "volumes": [{"name": "s", "emptyDir": {}}], "nodeLossSeconds": 5},
            "volumes": [{"name": "s", "emptyDir": {}}],
            "volumeMounts": [{"name": "s", "mountPath": "/scratch"}],
            "tolerations": [{"operator": "Exists"}],
            "nodeSelector": {"a": "b"},
            "affinity": {"nodeAffinity": {}},
            "podAnnotations": {"a": "b"},
            "podLabels": {"c": "d"},
            "priorityClassName": "high",
            "serviceAccount": {"annotations": {"a": "b"}},
        }
        (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))

        done = template(helm, "--values", str(tmp_path / "values.yaml"))

        assert 0 == done.returncode, done.stderr
        documents = [each for each in yaml.safe_load_all(done.stdout) if each]
        assert {"ServiceMonitor", "NetworkPolicy"} <= {each["kind"] for each in documents}
