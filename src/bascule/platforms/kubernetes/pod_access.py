"""Asking the API server about controller pods."""

from __future__ import annotations

from typing import Any

from bascule.clients.kube import KubeClient, Rejected
from bascule.clients.kube.client import MERGE
from bascule.errors import Mistake, Uncertain
from bascule.model import Job, Ref, Target, TargetFiles
from bascule.platforms.kubernetes import names, pods
from bascule.platforms.kubernetes.pods import Pod, PodTemplate, pod_name


class Pods:
    """Reads, makes and removes controller pods."""

    def __init__(self, client: KubeClient, template: PodTemplate, installation: str) -> None:
        self._client = client
        self._template = template
        self._installation = installation

    async def get(self, ref: Ref) -> Pod | None:
        """Return what bears the name of the pod of job *ref*; raise `Mistake` where its namespace does not let us look."""
        try:
            return pods.pod_of(await self._client.get(names.core("pods", ref.namespace, pod_name(ref.name))))
        except Rejected as refusal:
            if refusal.code == 404:
                return None
            if refusal.code == 403:
                raise Mistake(
                    f"namespace `{ref.namespace}` does not let the operator look at controller pods",
                    hint=f"its admin applies what `bascule agent --manifest -n {ref.namespace}` prints",
                ) from refusal
            raise

    async def make(self, job: Job, target: Target | None) -> None:
        """Make the pod of *job* at *target*, if there is none; raise `Mistake` where its namespace does not let us, or cannot."""
        try:
            files = target.spec.files if target is not None else TargetFiles()
            document = self._template.document(job, files, installation=self._installation)
            await self._client.post(names.core_collection("pods", job.namespace), document)
        except Rejected as refusal:
            if refusal.reason == "AlreadyExists":
                return
            raise _not_made(job, refusal) from refusal
        except Uncertain:
            return  # the next look tells

    async def let_go(self, ref: Ref, pod: Pod) -> None:
        """Take our finalizer off *pod*."""
        await self._patch(ref, pod, {"finalizers": [each for each in pod.finalizers if each != pods.HELD]})

    async def mark(self, job: Job, pod: Pod) -> None:
        """Put back by what *pod* is known as *job*'s."""
        metadata = {
            "labels": pods.LABELS,
            "annotations": {pods.JOB: job.name},
            "ownerReferences": [pods.owned_by(job)],
            "finalizers": [*(each for each in pod.finalizers if each != pods.HELD), pods.HELD],
        }
        await self._patch(job.ref, pod, metadata)

    async def replace(self, ref: Ref, pod: Pod, *, at_once: bool) -> None:
        """Remove *pod* ourselves."""
        if pod.is_held or not pod.is_replaced:
            left = [each for each in pod.finalizers if each != pods.HELD]
            await self._patch(ref, pod, {"finalizers": left, "annotations": {pods.REPLACED: "true"}})
        options: dict[str, Any] = {"preconditions": {"uid": pod.uid}}
        if at_once:
            options["gracePeriodSeconds"] = 0
        try:
            await self._client.delete(names.core("pods", ref.namespace, pod.name), options)
        except Rejected as refusal:
            if refusal.code not in {404, 409}:
                raise

    async def _patch(self, ref: Ref, pod: Pod, metadata: dict[str, Any]) -> None:
        document = {"metadata": {"uid": pod.uid, "resourceVersion": pod.version, **metadata}}
        try:
            await self._client.patch(names.core("pods", ref.namespace, pod.name), document, kind=MERGE)
        except Rejected as refusal:
            if refusal.code not in {404, 409}:  # gone, or moved on: the next look tells
                raise


def _not_made(job: Job, refusal: Rejected) -> Mistake:
    if (
        refusal.code == 403
        and "error looking up service account" not in refusal.message
        and "quota" not in refusal.message
    ):
        return Mistake(
            f"namespace `{job.namespace}` does not let the operator make controller pods: {refusal.message}",
            hint=f"its admin applies what `bascule agent --manifest -n {job.namespace}` prints",
        )
    if "service account" in refusal.message or "serviceaccount" in refusal.message:
        return Mistake(
            f"namespace `{job.namespace}` has no service account `{pods.ACCOUNT}` for controller pods",
            hint=f"its admin applies what `bascule agent --manifest -n {job.namespace}` prints",
        )
    return Mistake(f"the controller pod of job `{job.ref}` was refused: {refusal.message}", hint="it is tried again")
