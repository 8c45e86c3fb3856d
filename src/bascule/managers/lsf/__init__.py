"""
The manager ``lsf``: IBM Spectrum LSF over the web services of its Application Center.

``manager`` is the port. It speaks through ``rest`` (one request and what became of it) and
``center`` (questions in Application Center's terms, in both of its interfaces); ``records``
reads jobs, ``states`` says what LSF's words mean, ``description`` and ``wrapper`` make a
submit of a job. Start reading in ``manager`` for what changes something, in ``observing``
for what watching costs.
"""

from __future__ import annotations

from bascule.managers.lsf.connecting import connect
from bascule.managers.lsf.manager import MOST

abilities = MOST
conditions = {"history": "from 9.1.5 on", "files": "inputs with `content`"}

__all__ = ["abilities", "conditions", "connect"]
