"""
The manager ``slurm``: real clusters from 22.05 to 26.05, over slurmrestd.

``manager`` is the port. It speaks through ``rest`` (one request and what became of it)
and ``cluster`` (questions in Slurm's terms); ``wire`` decodes, ``states`` says what
Slurm's words mean, ``description`` makes a submit of a job. Start reading in ``manager``
for what changes something, in ``observing`` for what watching costs.
"""

from __future__ import annotations

from bascule.managers.slurm.connecting import connect
from bascule.managers.slurm.manager import MOST

abilities = MOST
conditions = {"history": "with slurmdbd", "output": "with `files.root`", "warns": "from 23.11 on"}

__all__ = ["abilities", "conditions", "connect"]
