"""
What a namespace's admin applies so that jobs there can have controller pods of their own.

It gives the pods' account the rights they need, and the operator the right to make pods
there. The operator makes no roles: who may act in a namespace is its admin's to say.
"""

from __future__ import annotations

from typing import Any

from bascule.model import Ref
from bascule.platforms.kubernetes.names import GROUP
from bascule.platforms.kubernetes.pods import ACCOUNT

RBAC = "rbac.authorization.k8s.io"
OPERATOR = "bascule-operator"
STEP = "bascule-step"
HERE = "bascule-system"
"""Where the operator lives, unless it is installed elsewhere."""
_LABELS = {"app.kubernetes.io/name": "bascule"}


def for_agents(
    namespace: str, *, secrets: tuple[str, ...], targets: tuple[Ref, ...], operator: str
) -> list[dict[str, Any]]:
    """
    Return the objects for *namespace*, whose jobs may use the Secrets *secrets*.

    *targets* are those of other namespaces; each needs a role there, which its owner applies.
    *operator* is the namespace of the operator.
    """
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}
    rules = [
        # Of its own job the status alone; other jobs are read where one waits for them.
        _rule(GROUP, "bridgejobs", "get", "list", "watch"),
        _rule(GROUP, "bridgejobs/status", "get", "update"),
        _rule(GROUP, "bridgetargets", "get", "list", "watch"),
        _rule("events.k8s.io", "events", "create", "get", "patch", "delete"),
    ]
    if secrets:
        rules.append({**_rule("", "secrets", "get"), "resourceNames": sorted(secrets)})
    pods = [
        _rule("", "pods", "create", "get", "list", "watch", "patch", "delete"),
        _rule("", "serviceaccounts", "get"),
    ]
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": ACCOUNT, "namespace": namespace, "labels": _LABELS},
            "automountServiceAccountToken": False,
        },
        *_granted(ACCOUNT, namespace, rules, to=account),
        *_granted(f"{OPERATOR}-pods", namespace, pods, to=_operator(operator)),
        *(document for target in targets for document in _target_readable(target, account)),
    ]


def for_steps(namespace: str, *, account: str, secrets: tuple[str, ...]) -> list[dict[str, Any]]:
    """
    Return what lets the pods of *account* run `bascule run` as steps of a pipeline, and no more.

    With *secrets* they may sign in to targets themselves, to show their job's output.
    """
    rules = [
        _rule(GROUP, "bridgejobs", "create", "get", "list", "watch", "patch"),
        _rule(GROUP, "bridgetargets", "get", "list", "watch"),
    ]
    if secrets:
        rules.append({**_rule("", "secrets", "get"), "resourceNames": sorted(secrets)})
    to = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return _granted(f"{STEP}-{account}", namespace, rules, to=to)


def for_operator(namespace: str, *, secrets: tuple[str, ...], operator: str) -> list[dict[str, Any]]:
    """Return what lets the operator read the Secrets *secrets* of *namespace*, by name and no others."""
    rule = {**_rule("", "secrets", "get"), "resourceNames": sorted(secrets)}
    return _granted(f"{OPERATOR}-secrets", namespace, [rule], to=_operator(operator))


def _target_readable(target: Ref, account: dict[str, str]) -> list[dict[str, Any]]:
    rule = {**_rule(GROUP, "bridgetargets", "get", "list", "watch"), "resourceNames": [target.name]}
    return _granted(f"{ACCOUNT}-{account['namespace']}-{target.name}", target.namespace, [rule], to=account)


def _operator(namespace: str) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": OPERATOR, "namespace": namespace}


def _rule(group: str, resource: str, *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def _granted(name: str, namespace: str, rules: list[dict[str, Any]], *, to: dict[str, str]) -> list[dict[str, Any]]:
    metadata = {"name": name, "namespace": namespace, "labels": _LABELS}
    return [
        {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [to],
        },
    ]
