"""What `deploy/install.yaml` installs, as tests apply it: the rights for all, the policies where a namespace asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]
INSTALLED = Path(__file__).resolve().parents[2] / "deploy" / "install.yaml"
RIGHTS = {"Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
GUARDED = {"tests.bascule.dev/policies": "hold"}
"""The label of namespaces in which the policies of `policies` hold: others share the API server."""


def rights(documents: list[Document] | None = None) -> list[Document]:
    """Return the namespace, the accounts and what they may do, in the order in which they can be applied."""
    found = [each for each in documents or _documents() if each["kind"] in RIGHTS]
    return sorted(found, key=lambda each: each["kind"] != "Namespace")


def policies(suffix: str = "tests", labels: dict[str, str] = GUARDED) -> list[Document]:
    """Return the admission policies, for namespaces that bear *labels*; their names end with *suffix*."""
    found = []
    for document in _documents():
        if not document["kind"].startswith("ValidatingAdmissionPolicy"):
            continue
        document["metadata"]["name"] += f"-{suffix}"
        if document["kind"] == "ValidatingAdmissionPolicy":
            document["spec"]["matchConstraints"]["namespaceSelector"] = {"matchLabels": labels}
        else:
            document["spec"]["policyName"] += f"-{suffix}"
        found.append(document)
    return found


def _documents() -> list[Document]:
    return [each for each in yaml.safe_load_all(INSTALLED.read_text()) if each]
