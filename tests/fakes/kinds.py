"""
The kinds of manager that the fake can be, by what decides how a job is found again.
"""

from __future__ import annotations

from bascule.ports import Abilities

CHOSEN = Abilities(key="chosen", output=True, walltime=False, volatile=True, settles=5.0)
"""Like Ray: the client picks the id; no hold, no walltime, no history."""

HELD = Abilities(
    key="searched",
    holds=True,
    history=True,
    hold=True,
    signal=True,
    update_walltime=True,
    output=True,
    settles=10.0,
)
"""Like Slurm with accounting: numbers of its own, jobs submitted held, a history."""

FORGETFUL = Abilities(key="searched", holds=True, hold=True, signal=True, output=True, settles=10.0)
"""Like LSF: as `HELD`, but what is purged is gone."""

BLIND = Abilities(key="none", settles=10.0)
"""Neither a key nor a hold: an uncertain submit stays so."""

KINDS = {"chosen": CHOSEN, "held": HELD, "forgetful": FORGETFUL, "blind": BLIND}
