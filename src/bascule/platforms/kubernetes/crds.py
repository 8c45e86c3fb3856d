"""
The custom resource definitions, made from the models that check files elsewhere.

What a schema can say is refused at `kubectl apply`: limits, forms, what excludes what, and
that the work is frozen from the first intent on. What it cannot say is in ``admitting``.
"""

from __future__ import annotations

from typing import Any

from bascule.model import CHANGEABLE, JobSpec
from bascule.platforms.kubernetes.admitting import LONGEST_SCRIPT
from bascule.platforms.kubernetes.names import GROUP, VERSION
from bascule.platforms.kubernetes.structural import Schema, structural
from bascule.platforms.kubernetes.written import JOB_STATUS, TARGET_STATUS
from bascule.spec.job import JobModel
from bascule.spec.rules import RUNS
from bascule.spec.schema import schema_of
from bascule.spec.target import TargetModel

_CREDENTIALS = ("secret", "file", "env", "command")
_SOURCES = ("content", "store", "url", "configMap")


def crds() -> list[dict[str, Any]]:
    """Return the definitions of BridgeJob and BridgeTarget, whole."""
    return [
        _definition("BridgeJob", "bridgejobs", "bj", _job(), _JOB_COLUMNS, [".spec.target.name", ".status.phase"]),
        _definition("BridgeTarget", "bridgetargets", "bt", _target(), _TARGET_COLUMNS, [".spec.manager"]),
    ]


def _definition(
    kind: str, plural: str, short: str, schema: Schema, columns: list[dict[str, Any]], selectable: list[str]
) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short],
                "categories": ["bascule"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "selectableFields": [{"jsonPath": path} for path in selectable],
                    "additionalPrinterColumns": columns,
                }
            ],
        },
    }


def _job() -> Schema:
    whole = schema_of(JobModel)
    spec = structural(whole["properties"]["spec"])
    fields = spec["properties"]
    run = fields["run"]
    run["properties"]["script"] |= {"maxLength": LONGEST_SCRIPT, "pattern": "^#!"}
    run["x-kubernetes-validations"] = [
        _rule(_exactly_one(RUNS), f"give exactly one of {_listed(RUNS)}"),
        _rule("!has(self.payload) || !has(self.arguments)", "a payload takes no arguments"),
    ]
    fields["files"]["properties"]["inputs"]["items"]["x-kubernetes-validations"] = [
        _rule(_exactly_one(_SOURCES), f"give exactly one of {_listed(_SOURCES)}"),
        _rule("has(self.store) == has(self.key)", "`store` and `key` need each other"),
    ]
    fields["files"]["properties"]["outputs"]["items"]["x-kubernetes-validations"] = [
        _rule("!has(self.prefix) || has(self.store)", "`prefix` has no effect without `store`"),
    ]
    fields["after"] |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["job"]}
    spec["x-kubernetes-validations"] = [
        _rule("has(self.run) != has(self.adopt)", "give `run`, or `adopt` for a job that runs already, not both"),
    ]
    root = _root(whole, spec, JOB_STATUS)
    root["x-kubernetes-validations"] = [
        _rule(
            "!has(self.spec.after) || !self.spec.after.exists(a, a.job == self.metadata.name)",
            "`after` names the job itself, which would wait for ever",
        ),
        _rule(
            f"{_ATTEMPT} == 0 || self.?status.?attempt.orValue(0) >= {_ATTEMPT}",
            "`status.attempt` never goes back: what was submitted stays submitted",
        ),
        _rule(
            f"{_ATTEMPT} == 0 || self.?status.?attempt.orValue(0) <= {_ATTEMPT} + {MOST_SKIPPED}",
            "`status.attempt` goes up by one",
        ),
        *_frozen(),
    ]
    return root


MOST_SKIPPED = 3
"""Attempts by which a status may go on at once. Where a record was lost, more earlier ones than that are looked for."""
_ATTEMPT = "oldSelf.?status.?attempt.orValue(0)"


def _frozen() -> list[dict[str, str]]:
    """Return a rule for each field that defines the work: it cannot change from the first intent on."""
    fields = [
        shown
        for field, shown in zip(JobSpec.__struct_fields__, JobSpec.__struct_encode_fields__, strict=True)
        if field not in CHANGEABLE and field not in {"arguments", "resources"}
    ]
    rules = [(field, _same("self.spec", "oldSelf.spec", field)) for field in fields]
    for name in ("nodes", "tasks", "cpusPerTask", "memoryPerNode", "gpusPerNode"):
        # `resources` may come or go with a walltime alone.
        here, before = f"has(self.spec.resources) && has(self.spec.resources.{name})", "oldSelf.spec.resources"
        there = f"has({before}) && has({before}.{name})"
        same = f"({here}) == ({there}) && (!({here}) || self.spec.resources.{name} == {before}.{name})"
        rules.append((f"resources.{name}", same))
    return [
        _rule(
            f"{_ATTEMPT} == 0 || ({same})",
            f"`{name}` cannot change once the job was submitted; give the new work another name",
        )
        for name, same in rules
    ]


def _same(new: str, old: str, field: str) -> str:
    return f"has({new}.{field}) == has({old}.{field}) && (!has({new}.{field}) || {new}.{field} == {old}.{field})"


def _target() -> Schema:
    whole = schema_of(TargetModel)
    spec = structural(whole["properties"]["spec"])
    fields = spec["properties"]
    fields["manager"]["x-kubernetes-validations"] = [
        _rule("self != 'local'", "the manager `local` does not exist on Kubernetes")
    ]
    fields["credentials"]["x-kubernetes-validations"] = [
        *(
            _rule(f"!has(self.{name})", f"`{name}` does not exist on Kubernetes: put the token into a Secret")
            for name in _CREDENTIALS
            if name != "secret"
        )
    ]
    fields["mirror"] = {
        "type": "string",
        "enum": ["Isolated", "None"],
        "description": "How jobs are mirrored: `Isolated`, by a pod for each, or `None`, by the operator itself.",
    }
    fields["allowedNamespaces"]["x-kubernetes-validations"] = [
        _rule(
            "has(self.selector) == (has(self.from) && self.from == 'Selector')", "`selector` goes with `from: Selector`"
        ),
        _rule("has(self.names) == (has(self.from) && self.from == 'Names')", "`names` goes with `from: Names`"),
    ]
    fields["files"]["properties"]["stores"] |= {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    fields["files"]["x-kubernetes-validations"] = [
        _rule("!has(self.claim) || has(self.root)", "`claim` has no effect without `root`, where it is mounted")
    ]
    spec["required"] = sorted({*spec.get("required", []), "mirror"})
    spec["x-kubernetes-validations"] = [
        _rule(
            "!has(self.url) || self.url.startsWith('https://') || (has(self.network) && has(self.network.plaintext)"
            " && self.network.plaintext)",
            "`http://` is not encrypted: use `https://`, or say `network: {plaintext: true}` if you own that network",
        )
    ]
    return _root(whole, spec, TARGET_STATUS)


def _root(whole: Schema, spec: Schema, status: Schema) -> Schema:
    return {
        "type": "object",
        "description": whole["description"],
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "The version of this form."},
            "kind": {"type": "string", "description": "What the object is."},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }


def _rule(rule: str, message: str) -> dict[str, str]:
    return {"rule": rule, "message": message}


def _exactly_one(names: tuple[str, ...]) -> str:
    return f"[{', '.join(f'has(self.{name})' for name in names)}].filter(given, given).size() == 1"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _column(name: str, path: str, kind: str = "string", *, wide: bool = False, what: str = "") -> dict[str, Any]:
    column: dict[str, Any] = {"name": name, "type": kind, "jsonPath": path}
    if what:
        column["description"] = what
    return column | {"priority": 1} if wide else column


_READY = '.status.conditions[?(@.type=="Ready")]'
_JOB_COLUMNS = [
    _column("Target", ".spec.target.name"),
    _column("Phase", ".status.phase"),
    _column("Reason", ".status.reason"),
    _column("ID", ".status.id", what="The outside id."),
    _column("Exit", ".status.exitCode", "integer"),
    _column("Age", ".metadata.creationTimestamp", "date"),
    _column("Message", ".status.message", wide=True),
]
_TARGET_COLUMNS = [
    _column("Manager", ".spec.manager"),
    _column("Mirror", ".spec.mirror"),
    _column("Ready", f"{_READY}.status"),
    _column("Version", ".status.version"),
    _column("Age", ".metadata.creationTimestamp", "date"),
    _column("Message", f"{_READY}.message", wide=True),
]
