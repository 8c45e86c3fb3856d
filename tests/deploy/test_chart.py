"""What is installed on a cluster: the chart, the manifest made of it, and the rights in both."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from bascule.model import Ref
from bascule.platforms.kubernetes import manifest

ROOT = Path(__file__).resolve().parents[2]
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
