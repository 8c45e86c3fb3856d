"""
The manager ``quantum``: jobs at a quantum service, over the Qiskit Runtime REST API.

``manager`` is the port. It speaks through ``rest`` (one request and what became of it);
``wire`` decodes, ``states`` says what the service's words mean, ``work`` makes a submit of a
job, and ``results`` files of what comes back. Qiskit is needed for ``transpiling`` alone.
"""

from __future__ import annotations

from bascule.managers.quantum.connecting import connect
from bascule.managers.quantum.manager import MOST

abilities = MOST
conditions = {"output": "once it is over"}

__all__ = ["abilities", "conditions", "connect"]
