"""Kubeconfigs for tests, written as people's tools write them, and programs that sign in."""

from __future__ import annotations

import base64
import json
import shlex
import traceback
from pathlib import Path
from typing import Any

import pytest
import yaml

from bascule.errors import Error


def data(content: bytes | str) -> str:
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


def written(path: Path, **parts: Any) -> Path:
    """Write a kubeconfig with *parts*; of its names ``_`` stands for ``-``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"apiVersion": "v1", "kind": "Config", **{name.replace("_", "-"): part for name, part in parts.items()}}
    path.write_text(yaml.safe_dump(document))
    return path


def named(kind: str, **entries: Any) -> list[dict[str, Any]]:
    return [{"name": name, kind: entry} for name, entry in entries.items()]


def whole(path: Path, user: Any, *, cluster: Any = None, **context: Any) -> Path:
    """Write one with a single cluster, user and context."""
    return written(
        path,
        clusters=named("cluster", lab=cluster or {"server": "https://api.example.org:6443"}),
        users=named("user", ada=user),
        contexts=named("context", work={"cluster": "lab", "user": "ada", **context}),
        current_context="work",
    )


class Program:
    """A program that prints what *folder* has ready for it, and counts how often it was asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "sign-in"
        self.says("")

    def says(self, script: str) -> None:
        """Let it run *script* from now on."""
        asked, told = (shlex.quote(str(self._folder / name)) for name in ("asked", "told"))
        self.path.write_text(f'#!/bin/sh\necho x >> {asked}\nprintf %s "$KUBERNETES_EXEC_INFO" > {told}\n{script}\n')
        self.path.chmod(0o755)

    def prints(self, **status: Any) -> None:
        """Let it print a credential."""
        document = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
        answer = self._folder / "answer.json"
        answer.write_text(json.dumps(document))
        self.says(f"cat {shlex.quote(str(answer))}")

    @property
    def asked(self) -> int:
        asked = self._folder / "asked"
        return len(asked.read_text().splitlines()) if asked.exists() else 0

    @property
    def told(self) -> dict[str, Any]:
        """What it was told last, in `KUBERNETES_EXEC_INFO`."""
        return json.loads((self._folder / "told").read_text())

    def entry(self, **more: Any) -> dict[str, Any]:
        return {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "interactiveMode": "Never",
                "command": str(self.path),
                **more,
            }
        }


async def fault_of(asked, words):
    """Return the one error of *asked*, as a person sees it."""
    with pytest.raises(Error, match=words) as caught:
        await asked
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert "canary" not in "".join(traceback.format_exception(caught.value)) + caught.value.hint
    return caught.value
