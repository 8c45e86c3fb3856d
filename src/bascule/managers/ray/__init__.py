"""
The manager ``ray``: clusters of Ray, through the Jobs API of the head's dashboard.

``manager`` is the port. ``head`` asks one head in Ray's terms and says what its answers
mean, ``states`` turns its words into ours, ``description`` and ``package`` make a submit
of a job, ``output`` reads its log. Start reading in ``head`` for what can go wrong.
"""

from __future__ import annotations

from bascule.managers.ray.connecting import connect
from bascule.managers.ray.manager import ABILITIES

abilities = ABILITIES
conditions = {"files": "inputs with `content`"}

__all__ = ["abilities", "conditions", "connect"]
