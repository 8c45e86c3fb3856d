"""What is decided about a pod, by what is seen of it and of its job."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from bascule.errors import Mistake
from bascule.model import JobSpec, JobStatus, Phase, Target, TargetFiles, TargetRef, TargetSpec
from bascule.platforms.kubernetes.admitting import check_isolated
from bascule.platforms.kubernetes.mirroring import CancelJob, LetGo, Make, Mark, Nothing, Replace, Tell, next_step
from bascule.platforms.kubernetes.pods import (
    HELD,
    LABELS,
    LONGEST_NAME,
    PodTemplate,
    can_be_mounted,
    pod_name,
    pod_of,
)
from bascule.platforms.kubernetes.wire import StoredJob

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
JOB = StoredJob("team-a", "train", "uid-1", JobSpec(target=TargetRef("hpc")), JobStatus(phase=Phase.RUNNING), agent=2)
OVER = replace(JOB, status=JobStatus(phase=Phase.SUCCEEDED))
DISRUPTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]}


def pod(*, phase="Running", status=None, owner="uid-1", held=True, marked=True, leaves_in=None, age=5.0, **annotations):
    metadata = {
        "name": "train-mirror",
        "namespace": "team-a",
        "uid": "uid-of-pod",
        "creationTimestamp": (NOW - timedelta(seconds=age)).isoformat(),
        "finalizers": [HELD] if held else [],
        "ownerReferences": [{"kind": "BridgeJob", "name": "train", "uid": owner, "controller": True}] if owner else [],
        "labels": LABELS if marked else {},
        "annotations": {f"bascule.dev/{key}": value for key, value in {"job": "train", **annotations}.items()},
    }
    if leaves_in is not None:
        metadata["deletionTimestamp"] = (NOW + timedelta(seconds=leaves_in)).isoformat()
    return pod_of(json.dumps({"metadata": metadata, "status": {"phase": phase, **(status or {})}}).encode())


@pytest.mark.parametrize(
    ("job", "seen", "step"),
    [
        (JOB, None, Make()),
        (OVER, None, Nothing()),
        (None, None, Nothing()),
        (replace(JOB, agent=0), None, Nothing()),
        (JOB, pod(), Nothing()),
        (OVER, pod(phase="Succeeded"), Nothing()),
        # Somebody has changed what it is known by.
        (JOB, pod(marked=False), Mark()),
        (JOB, pod(job="another"), Mark()),
        (JOB, pod(held=False), Mark()),
        (JOB, pod(owner=""), Mark()),
        (JOB, pod(owner="", leaves_in=30), LetGo()),
        (OVER, pod(owner="", leaves_in=30), LetGo()),
        (OVER, pod(marked=False), Nothing()),
        # It ended, and its job did not.
        (JOB, pod(phase="Failed"), Replace()),
        (JOB, pod(phase="Failed", status={"reason": "Evicted", **DISRUPTED}), Replace()),
        # Somebody deletes it.
        (JOB, pod(leaves_in=30), CancelJob()),
        (replace(JOB, spec=replace(JOB.spec, cancel=True)), pod(leaves_in=30), LetGo()),
        (replace(JOB, deleted_at=NOW), pod(leaves_in=30), LetGo()),
        (OVER, pod(leaves_in=30), LetGo()),
        # The cluster takes it away, or we do.
        (JOB, pod(leaves_in=30, status=DISRUPTED), LetGo()),
        (JOB, pod(leaves_in=30, replaced="true"), LetGo()),
        # Nobody confirms its end.
        (JOB, pod(leaves_in=-60, held=False), Replace(at_once=True)),
        (JOB, pod(leaves_in=30, held=False), Nothing(40.5)),
        # It is another's.
        (JOB, pod(owner="uid-0"), LetGo()),
        (None, pod(owner="uid-0"), LetGo()),
        (None, pod(owner="", held=False), Nothing()),
        (JOB, pod(owner="uid-0", held=False), Nothing(10.0)),
    ],
)
def test_what_is_seen_decides(job, seen, step):
    assert step == next_step(job, seen, NOW)


def test_one_that_bears_the_name_and_is_nobodys_is_told_of():
    step = next_step(JOB, pod(owner="", held=False), NOW)

    assert isinstance(step, Tell)
    assert "PodNameTaken" == step.reason


class TestSlowStart:
    WAITING = {
        "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]
    }

    def test_a_pod_is_given_a_minute(self):
        assert Nothing(51.0) == next_step(JOB, pod(phase="Pending", age=10, status=self.WAITING), NOW)

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (WAITING, "ImagePullBackOff: no such image"),
            (
                {
                    "conditions": [
                        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}
                    ]
                },
                "Unschedulable: 0/2 nodes",
            ),
        ],
    )
    def test_then_it_is_told_why_it_does_not_start(self, status, words):
        step = next_step(JOB, pod(phase="Pending", age=120, status=status), NOW)

        assert isinstance(step, Tell)
        assert words in step.message

    def test_one_that_only_waits_has_nothing_to_tell(self):
        assert Nothing() == next_step(JOB, pod(phase="Pending", age=120), NOW)

    def test_one_that_runs_something_else_is_told_of(self):
        """
        Somebody who may make pods made one that looks like ours.
        """
        assert Nothing(51.0) == next_step(replace(JOB, agent=1), pod(age=10), NOW)

        step = next_step(replace(JOB, agent=1), pod(age=120), NOW)

        assert isinstance(step, Tell)
        assert "AgentSilent" == step.reason


class TestThePod:
    TEMPLATE = PodTemplate("localhost/bascule:1", guarded=("10.96.0.0/16",))

    def test_it_keeps_the_restricted_standard(self):
        spec = self.TEMPLATE.document(JOB, installation="abc")["spec"]
        [container] = spec["containers"]

        assert spec["securityContext"]["runAsNonRoot"]
        assert {"type": "RuntimeDefault"} == spec["securityContext"]["seccompProfile"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert {"drop": ["ALL"]} == container["securityContext"]["capabilities"]
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)

    def test_nothing_that_a_user_wrote_decides_what_it_is(self):
        """
        Of the job only its name and uid stand in it, each as one argument.
        """
        odd = replace(JOB, spec=replace(JOB.spec, options={"image": "evil"}, env={"X": "$(evil)"}))

        assert self.TEMPLATE.document(odd, installation="abc") == self.TEMPLATE.document(JOB, installation="abc")

    def test_the_targets_folder_is_on_the_claim_that_it_names(self):
        document = self.TEMPLATE.document(JOB, TargetFiles(root="/scratch/x", claim="scratch"), installation="abc")

        [volume] = [each for each in document["spec"]["volumes"] if "persistentVolumeClaim" in each]
        [mount] = [each for each in document["spec"]["containers"][0]["volumeMounts"] if each["name"] == volume["name"]]
        assert ("scratch", "/scratch/x") == (volume["persistentVolumeClaim"]["claimName"], mount["mountPath"])

    def test_a_folder_for_all_pods_gives_way_to_it(self):
        everybodys = {"name": "all", "mountPath": "/scratch"}
        template = PodTemplate("localhost/bascule:1", mounts=(everybodys,))

        with_claim = template.document(JOB, TargetFiles(root="/scratch", claim="scratch"), installation="abc")

        assert everybodys in template.document(JOB, installation="abc")["spec"]["containers"][0]["volumeMounts"]
        paths = [each["mountPath"] for each in with_claim["spec"]["containers"][0]["volumeMounts"]]
        assert 1 == paths.count("/scratch")

    @pytest.mark.parametrize(
        "root", ["/", "/opt", "/opt/bascule/lib", "/usr", "/etc/ssl", "/var", "/tmp", "/var/run/secrets"]
    )
    def test_no_claim_takes_the_place_of_what_the_pod_is(self, root):
        assert not can_be_mounted(root)
        files = TargetFiles(root=root, claim="scratch")
        assert self.TEMPLATE.document(JOB, installation="abc") == self.TEMPLATE.document(JOB, files, installation="abc")

    def test_a_job_at_such_a_target_is_told_why_it_is_not_accepted(self):
        files = TargetFiles(root="/usr", claim="scratch")
        target = Target("team-a", "hpc", "uid-2", TargetSpec(manager="slurm", files=files))

        with pytest.raises(Mistake, match="`/usr`, is a folder of the controller pod itself"):
            check_isolated(JOB, target)

    @pytest.mark.parametrize("root", ["/scratch", "/home/alice", "/tmp/x", "/var/scratch", "/opt/site/data", "/usrx"])
    def test_any_other_folder_can_be_on_a_claim(self, root):
        assert can_be_mounted(root)

    def test_its_name_follows_from_the_jobs(self):
        assert "train-mirror" == pod_name("train")
        assert LONGEST_NAME >= len(pod_name("x" * 253))
        assert pod_name("x" * 253).endswith("-mirror")
