"""A plain client of an API server, deliberately not the program's own: a judge, and a hand for what kubectl has no word for."""

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MERGE = "application/merge-patch+json"


class ApiRefused(Exception):
    """The API server said no; `status` is its HTTP status."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status


@dataclass(frozen=True, slots=True)
class KubeRest:
    url: str
    ca: Path
    token: str

    def call(self, method: str, path: str, body: object = None, *, kind: str = "application/json") -> Any:
        """Send one request and return the object that comes back."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, headers=headers, data=content)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.trust) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as refusal:
            with refusal:
                raise ApiRefused(refusal.code, refusal.read().decode(errors="replace")) from None

    @property
    def trust(self) -> ssl.SSLContext:
        """Trust in the cluster's own authority, and in no other."""
        return ssl.create_default_context(cafile=self.ca)

    def get(self, path: str) -> Any:
        """Return the object at *path*; None if there is none."""
        try:
            return self.call("GET", path)
        except ApiRefused as refusal:
            if refusal.status == 404:
                return None
            raise

    def patch(self, path: str, change: object) -> Any:
        return self.call("PATCH", path, change, kind=MERGE)
