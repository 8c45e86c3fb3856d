"""Controller pods: one agent moves each job, its pod tells how it goes, and whatever is lost is made anew."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.slurmrestd.server import TOKEN

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(240)]


def names_of(jobs):
    return [job.name for job in jobs]


class TestLife:
    def test_a_job_is_moved_by_its_pod_to_its_end(self, world):
        outside = world.running("train")
        world.write("train", b"step 1\nstep 2\n")
        world.until(lambda: b"step 2\n" in world.log("train"))

        world.cluster.finish(outside.id, exit_code=3)

        status = world.until_phase("train", "Failed")
        assert (3, "ExitCode") == (status["exitCode"], status["reason"])
        ended = world.until(lambda: ended_of(world, "train"))
        assert 3 == ended["exitCode"]
        assert ended["message"].startswith("ExitCode")
        assert b"step 1\nstep 2\n" == world.log("train")
        assert ["alice"] == [job.user for job in world.outside("train")]

    def test_what_is_written_last_is_not_lost(self, world):
        outside = world.running("train")
        world.write("train", b"x" * 700_000)
        world.cluster.finish(outside.id)

        world.until(lambda: ended_of(world, "train"))

        assert b"x" * 700_000 == world.log("train")

    def test_one_that_waits_for_another_has_no_pod_yet(self, world):
        first = world.running("first")
        world.submit("second", after=[{"job": "first", "when": "Succeeded"}])
        world.until(lambda: world.status("second").get("reason") == "WaitingForJob")
        assert world.pod("second") is None

        world.cluster.finish(first.id)

        world.until_phase("second", "Queued")
        assert world.pod("second") is not None

    def test_a_target_that_is_full_makes_it_wait(self, world):
        world.apply(world.target("hpc", limits={"activeJobs": 1, "pollInterval": "1s"}))
        first = world.running("first")
        world.submit("second")
        world.until(lambda: world.status("second").get("reason") == "TargetFull")
        assert world.pod("second") is None

        world.cluster.finish(first.id)

        world.until_phase("second", "Queued")


class TestLoss:
    def test_an_agent_that_is_killed_goes_on_at_the_byte(self, world):
        """
        Its pod stays, and what the pod prints goes on as if nothing had happened.
        """
        outside = world.running("train")
        world.write("train", b"before\n")
        world.until(lambda: b"before\n" in world.log("train"))
        first = world.agent("train")
        [agent] = Path(f"/proc/{first}/task/{first}/children").read_text().split()

        os.kill(int(agent), signal.SIGKILL)
        world.write("train", b"after\n")

        world.until(lambda: b"after\n" in world.log("train"))
        world.cluster.finish(outside.id)
        world.until_phase("train", "Succeeded")
        told = [line for line in world.log("train").splitlines() if not line.startswith(b"bascule:")]
        assert [b"before", b"after"] == told
        assert [outside.name] == names_of(world.outside("train"))

    @pytest.mark.parametrize(
        "point",
        [
            *("core.saved", "core.after.submit", "core.saved:2", "core.after.release"),
        ],
    )
    def test_killed_anywhere_it_submits_once(self, world, point):
        world.kubelet.settings["BASCULE_FAILPOINT"] = point
        world.submit("train")
        world.until(
            lambda: b"another takes over" in world.log("train") or world.status("train").get("phase") == "Queued"
        )
        world.kubelet.settings.clear()
        kill_pod(world, "train")  # the agents after the first one die at the same place

        world.until_phase("train", "Queued")

        outside = [job for job in world.outside("train") if not job.is_over]
        assert 1 == len(outside)
        assert not [job for job in world.outside("train") if job.started and job is not outside[0]]

    def test_a_pod_whose_process_is_killed_is_made_anew(self, world):
        outside = world.running("train")
        world.write("train", b"before\n")
        world.until(lambda: b"before\n" in world.log("train"))
        uid = world.pod("train")["metadata"]["uid"]

        kill_pod(world, "train")

        world.until(lambda: (pod := world.pod("train")) and pod["metadata"]["uid"] != uid)
        world.until(lambda: world.log("train") == b"before\n")  # a new pod tells all of it
        world.cluster.finish(outside.id)
        world.until_phase("train", "Succeeded")
        assert [outside.name] == names_of(world.outside("train"))

    def test_an_eviction_cancels_nothing(self, world):
        outside = world.running("train")
        uid = world.pod("train")["metadata"]["uid"]

        world.evict("train")

        world.until(lambda: (pod := world.pod("train")) and pod["metadata"]["uid"] != uid)
        world.cluster.finish(outside.id)
        world.until_phase("train", "Succeeded")
        assert [(outside.name, "")] == [(job.name, job.killed_by) for job in world.outside("train")], world.tell()

    def test_one_that_is_left_over_on_a_lost_node_can_write_nothing(self, world):
        outside = world.running("train")
        pod = world.pod("train")
        left_over = world.kubelet.running[pod["metadata"]["uid"]]

        world.call(world.kubelet.lose(world.namespace, "train-mirror"))
        world.until(lambda: (now := world.pod("train")) and now["metadata"]["uid"] != pod["metadata"]["uid"])
        world.kubelet.is_dead = False
        assert left_over.returncode is None
        world.until(lambda: world.status("train")["record"]["agent"] > 2)
        world.cluster.finish(outside.id, exit_code=7)

        world.until_phase("train", "Failed")
        world.until(lambda: left_over.returncode is not None)
        assert 7 == world.status("train")["exitCode"]
        assert [outside.name] == names_of(world.outside("train"))

    def test_the_operator_may_be_away_while_agents_work(self, world):
        outside = world.running("train")
        world.stop_operator(signal.SIGKILL)

        world.cluster.finish(outside.id)

        world.until_phase("train", "Succeeded")

    @pytest.mark.parametrize("point", ["replace", "make", "canceljob", "letgo"])
    def test_an_operator_killed_between_is_followed_by_one_that_knows(self, world, point):
        """
        At each thing that it does about pods: a process that was killed, and a pod that a person deleted.
        """
        outside = world.running("train")
        uid = world.pod("train")["metadata"]["uid"]
        world.stop_operator()
        world.start_operator(BASCULE_FAILPOINT=f"mirrors.before.{point}")
        by_a_person = point in {"canceljob", "letgo"}
        world.delete_pod("train") if by_a_person else kill_pod(world, "train")
        world.until(lambda: world.operator.poll() == -signal.SIGKILL)

        world.expire_lease()
        world.start_operator()

        if by_a_person:
            world.until_phase("train", "Cancelled")
            assert "alice" == outside.killed_by
        else:
            world.until(lambda: (pod := world.pod("train")) and pod["metadata"]["uid"] != uid)
            world.cluster.finish(outside.id)
            world.until_phase("train", "Succeeded")
            assert "" == outside.killed_by
        assert [outside.name] == names_of(world.outside("train"))


class TestCancelling:
    def test_a_person_who_deletes_the_pod_cancels_the_job(self, world):
        outside = world.running("train")

        world.delete_pod("train")

        world.until_phase("train", "Cancelled")
        assert "alice" == outside.killed_by

    def test_so_does_one_who_deletes_it_while_no_operator_runs(self, world):
        outside = world.running("train")
        world.stop_operator()
        world.delete_pod("train")
        world.until(lambda: ended_of(world, "train"))
        assert not outside.is_over

        world.start_operator()

        world.until_phase("train", "Cancelled")
        assert "alice" == outside.killed_by

    def test_a_deleted_job_stays_until_its_manager_has_confirmed(self, world):
        outside = world.running("train")
        world.slurm.fault(r"DELETE .*/job/\d+$", "status", status=500, body=b"{}")

        world.delete(world.path("train"))

        world.until(lambda: outside.killed_by == "alice")
        world.until(lambda: world.job("train") == {})
        assert outside.is_over

    def test_one_that_is_detached_runs_on(self, world):
        outside = world.running("train")
        world.patch(world.path("train"), {"spec": {"onDelete": "Detach"}})

        world.delete(world.path("train"))

        world.until(lambda: world.job("train") == {})
        assert ["RUNNING"] == outside.words

    def test_one_that_is_abandoned_goes_though_its_manager_is_silent(self, world):
        world.running("train")
        world.apply(world.target("hpc", url="http://127.0.0.1:1"))
        world.delete(world.path("train"))
        world.until(lambda: world.job("train").get("metadata", {}).get("deletionTimestamp"))

        world.patch(world.path("train"), {"metadata": {"annotations": {"bascule.dev/abandon": "true"}}})

        world.until(lambda: world.job("train") == {})


class TestWhoMay:
    def test_without_the_admins_leave_there_is_no_pod_and_the_job_says_why(self, world):
        world.new_namespace(with_manifest=False)
        world.submit("train")

        status = world.until(lambda: status if (status := world.status("train")).get("reason") == "NotAccepted" else {})

        accepted = next(each for each in status["conditions"] if each["type"] == "Accepted")
        assert "False" == accepted["status"]
        assert "bascule agent --manifest" in status["message"]
        assert world.pod("train") is None

    def test_a_secret_of_the_targets_own_namespace_is_not_for_others(self, world):
        theirs = world.namespace
        world.new_namespace()
        target = world.target("hpc", allowedNamespaces={"from": "All"})
        target["metadata"]["namespace"] = theirs
        target["spec"]["credentials"]["secret"]["from"] = "Target"
        world.apply(target)
        world.submit("train", target={"name": "hpc", "namespace": theirs})

        status = world.until(lambda: status if (status := world.status("train")).get("reason") == "NotAccepted" else {})

        assert "JobNamespace" in status["message"]

    def test_a_status_that_somebody_edits_is_put_right(self, world):
        """
        Where the policies are not installed, or were taken away.
        """
        world.new_namespace(guarded=False)
        outside = world.running("train")

        world.patch(f"{world.path('train')}/status", {"status": {"phase": "Succeeded", "exitCode": 0}})

        world.until_phase("train", "Running")
        world.cluster.finish(outside.id, exit_code=5)
        assert 5 == world.until_phase("train", "Failed")["exitCode"]

    def test_a_pod_that_only_bears_the_name_is_left_alone_and_told_of(self, world):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "train-mirror", "namespace": world.namespace},
            "spec": {
                "serviceAccountName": "bascule-agent",
                "containers": [{"name": "x", "image": "x", "env": [], "args": ["version"]}],
            },
        }
        world.apply(pod)
        world.submit("train")

        world.until(lambda: "PodNameTaken" in reasons_of(world))

        assert [] == world.outside("train")


class TestSecrets:
    def test_a_secret_that_comes_later_is_used_then(self, world):
        world.delete(f"/api/v1/namespaces/{world.namespace}/secrets/hpc-token")
        world.submit("train")
        world.until(lambda: "hpc-token" in world.status("train").get("message", ""))

        world.put_secret("hpc-token", token=TOKEN)

        world.until_phase("train", "Queued")

    def test_one_that_is_rotated_is_taken_up_while_jobs_run(self, world):
        outside = world.running("train")
        world.slurm.token = TOKEN.replace("header", "another")
        world.put_secret("hpc-token", token=world.slurm.token)
        try:
            world.cluster.finish(outside.id)

            world.until_phase("train", "Succeeded")
        finally:
            world.slurm.token = TOKEN

    def test_it_is_seen_nowhere(self, world):
        """
        Not in objects, Events, logs, nor in what processes were started with.
        """
        outside = world.running("train")
        world.slurm.fault(r"GET .*/slurm/.*/job", "status", status=401, body=b"{}")
        world.cluster.finish(outside.id, exit_code=1)
        world.until_phase("train", "Failed")
        secret = TOKEN.split(".")[1]
        told = [
            str(world.get(f"/apis/{kind}")["items"])
            for kind in (
                "bascule.dev/v1alpha1/bridgejobs",
                "bascule.dev/v1alpha1/bridgetargets",
                "events.k8s.io/v1/events",
            )
        ]
        told += [str(world.get("/api/v1/pods")["items"]), (world.folder / "operator.log").read_text()]
        told += [log.read_text(errors="replace") for logs in world.kubelet.logs.values() for log in logs]
        told += [Path(f"/proc/{world.operator.pid}/cmdline").read_text()]

        assert not [text[:200] for text in told if secret in text]


def ended_of(world, name):
    """Return how the pod of a job ended, or ended once, as its kubelet told it."""
    found = [
        end for end in world.kubelet.ended if (end["namespace"], end["name"]) == (world.namespace, f"{name}-mirror")
    ]
    return found[-1] if found else None


def kill_pod(world, name):
    """Kill the first process of a job's pod, and with it all others, as the kernel does where memory is short."""
    with suppress(ProcessLookupError, KeyError):
        os.killpg(world.agent(name), signal.SIGKILL)


def reasons_of(world):
    events = world.get(f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events") or {}
    return [event["reason"] for event in events.get("items", [])]
