"""
Who may use what: the rules that a schema cannot say.

A job that breaks one of them is `Accepted=False` at once, with the reason, and nothing of
it goes outside. They hold for a job until it was submitted; later a target's owner who
shuts a namespace out keeps new jobs out, and the old ones under control.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bascule.clients.kube import KubeClient, Meta, Rejected
from bascule.errors import Mistake
from bascule.model import Job, Target
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.pods import can_be_mounted
from bascule.platforms.kubernetes.wire import StoredJob, StoredTarget
from bascule.spec import validated

LONGEST_SCRIPT = 128 * 1024


class _Namespace(msgspec.Struct):
    metadata: Meta


class Admission:
    """Says no with a `Mistake`."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def check(self, job: Job, target: Target) -> None:
        """Raise `Mistake` where *job* cannot be accepted, or may not use *target*."""
        check_form(job)
        check_target(target)
        if target.spec.mirror == "Isolated":
            check_isolated(job, target)
        if job.namespace != target.namespace:
            await self._check_namespace(job, target)

    async def _check_namespace(self, job: Job, target: Target) -> None:
        allowed = target.spec.allowed_namespaces
        match allowed.from_:
            case "All":
                return
            case "Names" if job.namespace in allowed.names:
                return
            case "Selector":
                if matches(allowed.selector or {}, await self._labels_of(job.namespace)):
                    return
        raise Mistake(
            f"target `{target.ref}` may not be used from namespace `{job.namespace}`",
            hint="ask its owner to allow it in `allowedNamespaces`, or use a target of your own namespace",
        )

    async def _labels_of(self, namespace: str) -> dict[str, str]:
        try:
            data = await self._client.get(names.namespace_path(namespace))
        except Rejected as refusal:
            raise Mistake(
                f"the labels of namespace `{namespace}` cannot be read: {refusal.message}",
                hint="name the namespaces instead: `allowedNamespaces: {from: Names, names: [...]}`",
            ) from refusal
        return msgspec.json.decode(data, type=_Namespace).metadata.labels or {}


def check_form(job: Job) -> None:
    """Raise `Mistake` where *job*'s spec is not what people may write; all faults at once."""
    if isinstance(job, StoredJob) and job.problem:
        raise Mistake(f"job `{job.ref}`: {job.problem}", hint="see the reference of its fields")
    script = job.spec.run.script if job.spec.run is not None else None
    if script is not None and len(script.encode(errors="replace")) > LONGEST_SCRIPT:
        raise Mistake(
            f"job `{job.ref}`: its script has more than {LONGEST_SCRIPT // 1024} KiB",
            hint="put the data into files, or name a script that lies at the target by `run.scriptPath`",
        )
    validated(job, source=f"job `{job.ref}`")


def check_target(target: Target) -> None:
    """Raise `Mistake` where *target* could make the operator act as itself, or says not how to mirror."""
    spec = target.spec
    if isinstance(target, StoredTarget) and target.problem:
        raise Mistake(f"target `{target.ref}`: {target.problem}", hint="see the reference of its fields")
    if spec.manager == "local":
        raise Mistake(
            f"target `{target.ref}`: the manager `local` does not exist on Kubernetes",
            hint="use the target of a cluster",
        )
    for given, name in (
        (spec.credentials.file, "file"),
        (spec.credentials.env, "env"),
        (spec.credentials.command, "command"),
    ):
        if given is not None:
            raise Mistake(
                f"target `{target.ref}`: `credentials.{name}` does not exist on Kubernetes",
                hint="put the token into a Secret, and name it: `credentials: {secret: {name: ...}}`",
            )
    if spec.mirror is None:
        raise Mistake(
            f"target `{target.ref}` does not say how to mirror", hint="give `mirror: None` or `mirror: Isolated`"
        )


def check_isolated(job: Job, target: Target) -> None:
    """Raise `Mistake` where a controller pod of *job* would need a Secret that is not its namespace's own."""
    spec = target.spec
    if spec.files.claim is not None and not can_be_mounted(spec.files.root or "/"):
        raise Mistake(
            f"target `{target.ref}`: `files.root`, `{spec.files.root}`, is a folder of the controller pod itself",
            hint="mount the claim elsewhere, for instance at `/scratch`",
        )
    stores = [store.secret for store in spec.files.stores if store.secret is not None]
    for secret in filter(None, (spec.credentials.secret, *stores)):
        if secret.from_ != "JobNamespace" and target.namespace != job.namespace:
            raise Mistake(
                f"target `{target.ref}` has `mirror: Isolated` and the Secret `{secret.name}` of its own namespace, "
                f"which a controller pod in namespace `{job.namespace}` may not read",
                hint="its owner says `secret: {name: ..., from: JobNamespace}`, or gives it `mirror: None`",
            )


def matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Tell whether *labels* fit a label selector as Kubernetes writes it; one that is malformed, or empty, fits none."""
    wanted, expressions = selector.get("matchLabels") or {}, selector.get("matchExpressions") or []
    if not isinstance(wanted, dict) or not isinstance(expressions, list) or not (wanted or expressions):
        return False
    if selector.keys() - {"matchLabels", "matchExpressions"}:
        return False
    return wanted.items() <= labels.items() and all(_holds(each, labels) for each in expressions)


def _holds(expression: Any, labels: dict[str, str]) -> bool:
    if not isinstance(expression, dict):
        return False
    key, values = expression.get("key"), expression.get("values") or []
    if not isinstance(key, str) or not isinstance(values, list):
        return False
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return bool(values) and labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
