"""
A controller pod: what it is made of, and what can be read off one.

It runs `bascule agent` for one job, in the job's namespace, as that namespace's account.
It needs nothing of its node, may write nowhere but into its own scratch, and carries a
finalizer, so that whoever deletes it is noticed even while no operator runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

import msgspec

from bascule.clients.kube import Meta
from bascule.errors import Mistake
from bascule.model import Job, TargetFiles
from bascule.platforms.kubernetes.names import API_VERSION, GROUP

ACCOUNT = "bascule-agent"
"""The service account of controller pods, which each namespace's admin makes."""
LABELS = {"app.kubernetes.io/component": "agent", "app.kubernetes.io/name": "bascule"}
SELECTOR = ",".join(f"{name}={value}" for name, value in LABELS.items())
HELD = f"{GROUP}/outside"
REPLACED = f"{GROUP}/replaced"
"""Put on a pod before we remove it ourselves, so that this is not taken for a person's wish."""
JOB = f"{GROUP}/job"
HOME = "/var/lib/bascule"
LONGEST_NAME = 253
SUFFIX = "-mirror"
_SCRATCH = PurePosixPath("/tmp")  # noqa: S108 - of the pod
_OWN = (
    _SCRATCH,
    *(
        PurePosixPath(path)
        for path in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/boot")
    ),
    *(PurePosixPath(path) for path in ("/dev", "/proc", "/sys", "/run", "/var/run", "/opt/bascule", HOME)),
)


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """What all controller pods have in common, as the installation's owner says."""

    image: str
    pull_policy: str = "IfNotPresent"
    resources: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    patience: int = 60
    """Seconds for which a pod stays on a node that is lost."""
    guarded: tuple[str, ...] = ()
    volumes: tuple[Mapping[str, Any], ...] = ()
    mounts: tuple[Mapping[str, Any], ...] = ()
    """What every pod gets besides; what a target keeps on a claim of its own is not among it."""

    @classmethod
    def from_environment(cls, guarded: tuple[str, ...] = ()) -> PodTemplate | None:
        """Return what the chart has set; None where this installation makes no pods."""
        image = os.environ.get("BASCULE_AGENT_IMAGE", "")
        if not image:
            return None
        try:
            more = json.loads(os.environ.get("BASCULE_AGENT", "") or "{}")
            return cls(
                image,
                pull_policy=str(more.get("pullPolicy", "IfNotPresent")),
                resources=dict(more.get("resources", {})),
                env={str(name): str(value) for name, value in dict(more.get("env", {})).items()},
                patience=int(more.get("nodeLossSeconds", 60)),
                guarded=guarded,
                volumes=tuple(more.get("volumes", ())),
                mounts=tuple(more.get("volumeMounts", ())),
            )
        except (ValueError, AttributeError, TypeError) as fault:
            raise Mistake(
                f"$BASCULE_AGENT cannot be read: {fault}", hint="the chart sets it; see its values"
            ) from fault

    def document(self, job: Job, files: TargetFiles = TargetFiles(), *, installation: str) -> dict[str, Any]:  # noqa: B008 - immutable
        """Return the pod of *job*, which finds the *files* of its target where that says."""
        volumes, mounts = _mounted(files)
        lost = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self.patience}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": pod_name(job.name),
                "namespace": job.namespace,
                "labels": {**LABELS, "app.kubernetes.io/managed-by": "bascule-operator"},
                "annotations": {JOB: job.name, "cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
                "finalizers": [HELD],
                "ownerReferences": [owned_by(job)],
            },
            "spec": {
                "serviceAccountName": ACCOUNT,
                "automountServiceAccountToken": True,
                "enableServiceLinks": False,
                # Its exit code is the job's; whether it died of something else, the job's status tells.
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 30,
                "tolerations": [
                    {"key": "node.kubernetes.io/not-ready", **lost},
                    {"key": "node.kubernetes.io/unreachable", **lost},
                ],
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": 65532,
                    "runAsGroup": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [self._container(job, mounts, installation)],
                "volumes": [
                    {"name": "home", "emptyDir": {"sizeLimit": "16Mi"}},
                    {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
                    *self.volumes,
                    *volumes,
                ],
            },
        }

    def _container(self, job: Job, mounts: list[dict[str, Any]], installation: str) -> dict[str, Any]:
        env: list[dict[str, Any]] = [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "BASCULE_HOME", "value": HOME},
            {"name": "BASCULE_INSTALLATION", "value": installation},
            *({"name": name, "value": value} for name, value in self.env.items()),
        ]
        return {
            "name": "agent",
            "image": self.image,
            "imagePullPolicy": self.pull_policy,
            "args": [
                "agent",
                f"--namespace={job.namespace}",
                f"--job={job.name}",
                f"--uid={job.uid}",
                *(f"--guard={net}" for net in self.guarded),
            ],
            "env": env,
            "resources": dict(self.resources),
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "terminationMessagePolicy": "File",
            "volumeMounts": [
                {"name": "home", "mountPath": HOME},
                {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of the pod
                # What a target says of its own folder counts more.
                *(each for each in self.mounts if each.get("mountPath") not in {one["mountPath"] for one in mounts}),
                *mounts,
            ],
        }


def owned_by(job: Job) -> dict[str, Any]:
    """Return the reference that makes a pod *job*'s own."""
    whose = {"apiVersion": API_VERSION, "kind": "BridgeJob", "name": job.name, "uid": job.uid}
    return {**whose, "controller": True, "blockOwnerDeletion": True}


def can_be_mounted(folder: str) -> bool:
    """Tell whether *folder* is no part of the pod's own: a claim there could change what the agent is."""
    asked = PurePosixPath(folder)
    return ".." not in asked.parts and not any(
        asked == own or asked in own.parents or (own in asked.parents and own != _SCRATCH) for own in _OWN
    )


def _mounted(files: TargetFiles) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    if files.claim is None or files.root is None or not can_be_mounted(files.root):
        return [], []
    name = "target-files"
    claim = {"name": name, "persistentVolumeClaim": {"claimName": files.claim}}
    return [claim], [{"name": name, "mountPath": files.root}]


def pod_name(job: str) -> str:
    """Return the name of the pod of the job *job*: the same for each that follows another."""
    return f"{job[: LONGEST_NAME - len(SUFFIX)].rstrip('-.')}{SUFFIX}"


class _Condition(msgspec.Struct):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""


class _Waiting(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _State(msgspec.Struct):
    waiting: _Waiting | None = None


class _ContainerStatus(msgspec.Struct):
    state: _State = msgspec.field(default_factory=_State)


class _PodStatus(msgspec.Struct, rename="camel"):
    phase: str = ""
    reason: str = ""
    conditions: tuple[_Condition, ...] = ()
    container_statuses: tuple[_ContainerStatus, ...] = ()


class _Object(msgspec.Struct):
    metadata: Meta
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


@dataclass(frozen=True, slots=True)
class Pod:
    """What matters of a pod that may be a job's."""

    name: str
    uid: str
    version: str
    owner: str
    """The uid of the BridgeJob that controls it; empty where none does."""
    created_at: datetime | None
    leaves_at: datetime | None
    """When it is to be gone, where somebody has deleted it."""
    finalizers: tuple[str, ...]
    is_replaced: bool
    is_marked: bool
    """Whether it bears the labels and the annotation by which it is followed."""
    is_disrupted: bool
    """Whether the cluster took it away: an eviction, a drain, a node that is lost."""
    has_ended: bool
    has_started: bool
    trouble: str
    """Why it does not start, in the cluster's words."""

    @property
    def is_held(self) -> bool:
        """Tell whether it stays until we have taken note of its end."""
        return HELD in self.finalizers


def pod_of(data: bytes) -> Pod:
    """Return the pod in *data*."""
    found = msgspec.json.decode(data, type=_Object)
    meta, status = found.metadata, found.status
    conditions = {each.type: each for each in status.conditions}
    disrupted = conditions.get("DisruptionTarget")
    owners = [
        owner.uid for owner in meta.owner_references if owner.kind == "BridgeJob" and owner.controller and owner.uid
    ]
    return Pod(
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        owner=owners[0] if owners else "",
        created_at=meta.creation_timestamp,
        leaves_at=meta.deletion_timestamp,
        finalizers=meta.finalizers,
        is_replaced=(meta.annotations or {}).get(REPLACED) == "true",
        is_marked=LABELS.items() <= (meta.labels or {}).items()
        and pod_name((meta.annotations or {}).get(JOB, "")) == meta.name,
        is_disrupted=(disrupted is not None and disrupted.status == "True") or status.reason in _TAKEN_AWAY,
        has_ended=status.phase in {"Succeeded", "Failed"},
        has_started=status.phase not in {"", "Pending"},
        trouble=_trouble_of(status, conditions),
    )


_TAKEN_AWAY = frozenset({"Evicted", "NodeShutdown", "Shutdown", "NodeLost", "Terminated", "Preempting", "NodeAffinity"})


def _trouble_of(status: _PodStatus, conditions: Mapping[str, _Condition]) -> str:
    if status.phase not in {"", "Pending"}:
        return ""
    for each in status.container_statuses:
        waiting = each.state.waiting
        if waiting is not None and waiting.reason not in {"", "ContainerCreating", "PodInitializing"}:
            return f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason
    scheduled = conditions.get("PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return f"{scheduled.reason}: {scheduled.message}"
    return ""
