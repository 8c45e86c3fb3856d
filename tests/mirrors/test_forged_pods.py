"""Pods whose marks somebody has changed, and namespaces that are deleted: nothing is lost track of."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

import pytest

from tests.fakes.slurmrestd.cluster import FakeCluster
from tests.fakes.slurmrestd.server import FakeSlurmrestd

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(240)]

FORGERIES = {
    "no labels": {"labels": dict.fromkeys(("app.kubernetes.io/name", "app.kubernetes.io/component"))},
    "another job's name": {"annotations": {"bascule.dev/job": "somebody-else"}},
    "no finalizer": {"finalizers": None},
    "no owner": {"ownerReferences": None},
}


def path_of_pod(world, name):
    return f"/api/v1/namespaces/{world.namespace}/pods/{name}-mirror"


def uid_of_pod(world, name):
    pod = world.pod(name)
    return pod["metadata"]["uid"] if pod is not None else None


class TestMarks:
    @pytest.mark.parametrize("what", FORGERIES)
    def test_what_a_pod_is_known_by_is_put_back(self, world, what):
        """
        What somebody does to the pod afterwards is noticed as before.
        """
        outside = world.running("train")
        before = world.pod("train")["metadata"]

        world.patch(path_of_pod(world, "train"), {"metadata": FORGERIES[what]})

        marks = ("labels", "finalizers", "ownerReferences")
        world.until(lambda: [world.pod("train")["metadata"].get(mark) for mark in marks] == [before[m] for m in marks])
        world.until(lambda: world.pod("train")["metadata"]["annotations"]["bascule.dev/job"] == "train")
        world.delete_pod("train")
        world.until_phase("train", "Cancelled")
        assert "alice" == outside.killed_by

    def test_one_that_was_given_to_an_owner_that_never_was_is_made_anew(self, world):
        """
        Kubernetes' collector removes it, and that is nobody's wish to cancel.
        """
        outside = world.running("train")
        uid = uid_of_pod(world, "train")
        [owner] = world.pod("train")["metadata"]["ownerReferences"]

        owner |= {"uid": "00000000-0000-0000-0000-000000000001"}
        world.patch(path_of_pod(world, "train"), {"metadata": {"ownerReferences": [owner]}})

        world.until(lambda: uid_of_pod(world, "train") not in {None, uid})
        world.cluster.finish(outside.id, exit_code=3)
        assert 3 == world.until_phase("train", "Failed")["exitCode"]
        assert [""] == [job.killed_by for job in world.outside("train")]

    def test_a_record_that_is_lost_is_put_right_by_the_agent(self, world):
        world.new_namespace(guarded=False)
        outside = world.running("train")

        world.patch(f"{world.path('train')}/status", {"status": {"record": None, "phase": "Pending"}})

        world.until_phase("train", "Running")
        world.cluster.finish(outside.id, exit_code=4)
        assert 4 == world.until_phase("train", "Failed")["exitCode"]
        assert 1 == len(world.outside("train"))

    def test_one_that_is_lost_while_neither_operator_nor_agent_lives_is_looked_for(self, world):
        world.new_namespace(guarded=False)
        outside = world.running("train")
        world.stop_operator()
        with suppress(ProcessLookupError):
            os.killpg(world.agent("train"), signal.SIGKILL)
        world.patch(f"{world.path('train')}/status", {"status": {"record": None, "phase": "Pending", "id": None}})

        world.start_operator()

        world.until_phase("train", "Running")
        world.cluster.finish(outside.id, exit_code=5)
        assert 5 == world.until_phase("train", "Failed")["exitCode"]
        assert 1 == len(world.outside("train"))


class TestNamespaces:
    def test_a_namespace_that_is_deleted_has_its_jobs_cancelled_by_their_agents(self, world):
        """
        Kubernetes deletes pods first, and keeps Secrets and rights until these have ended.
        """
        outside = world.running("train")

        world.delete(f"/api/v1/namespaces/{world.namespace}")

        world.until(lambda: world.get(f"/api/v1/namespaces/{world.namespace}") is None)
        assert "alice" == outside.killed_by

    def test_where_no_agent_is_left_it_says_how_to_let_go(self, world):
        """
        No operator was there to note that the job is not wanted, and its agent ended with its pod.
        """
        outside = world.running("train")
        world.stop_operator()
        world.delete(f"/api/v1/namespaces/{world.namespace}")
        world.until(lambda: [end for end in world.kubelet.ended if end["namespace"] == world.namespace])
        world.patch(path_of_pod(world, "train"), {"metadata": {"finalizers": None}})
        world.until(lambda: world.get(f"/api/v1/namespaces/{world.namespace}/secrets/hpc-token") is None)

        world.start_operator()

        world.until(lambda: "bascule.dev/abandon=true" in world.status("train").get("message", ""))
        assert "is being deleted" in world.status("train")["message"]
        assert ["RUNNING"] == outside.words
        world.patch(world.path("train"), {"metadata": {"annotations": {"bascule.dev/abandon": "true"}}})
        world.until(lambda: world.get(f"/api/v1/namespaces/{world.namespace}") is None)


class TestTargets:
    def test_a_target_that_is_deleted_together_with_its_job_has_it_cancelled(self, world):
        outside = world.running("train")

        world.delete(f"/apis/bascule.dev/v1alpha1/namespaces/{world.namespace}/bridgetargets/hpc")
        world.until(lambda: "there is no target" in world.status("train").get("message", ""))
        world.delete(world.path("train"))

        world.until(lambda: world.job("train") == {})
        assert "alice" == outside.killed_by

    def test_an_address_of_another_cluster_is_no_news(self, world):
        outside = world.running("train")
        with FakeSlurmrestd(FakeCluster(time.time)) as other:
            world.apply(world.target("hpc", url=other.url))
            world.until(lambda: "another address" in world.status("train").get("message", ""))

            world.apply(world.target("hpc"))
            world.until_phase("train", "Running")
            assert not other.cluster.live
        world.cluster.finish(outside.id)
        world.until_phase("train", "Succeeded")
