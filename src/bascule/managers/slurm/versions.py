"""
The versions of Slurm's REST API, and what each can do.

The newest that both sides know is used; ``discovery`` finds it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """
    One version of the API.

    *old*: the hand-written API of 22.05: plain numbers, single words, an object as
    environment, conditional lists that answer 304. *has_states*: the light list of
    states. *warns*: Slurm sends a warning signal to the script itself.
    """

    name: str
    since: str
    old: bool = False
    has_states: bool = True
    warns: bool = True
    takes_arguments: bool = True
    ids_repeat: bool = True
    """Whether several ids may be asked of slurmdbd at once."""

    def path(self, rest: str) -> str:
        """Return the path of something slurmctld knows."""
        return f"/slurm/{self.name}/{rest}"

    def past_path(self, rest: str) -> str:
        """Return the path of something slurmdbd knows."""
        return f"/slurmdb/{self.name}/{rest}"


NEWEST_FIRST = (
    Shape("v0.0.45", "26.05"),
    Shape("v0.0.44", "25.11"),
    Shape("v0.0.43", "25.05"),
    Shape("v0.0.42", "24.11"),
    Shape("v0.0.41", "24.05"),
    Shape("v0.0.40", "23.11"),
    # slurmrestd 22.05 dies of `argv` in a job: it is never sent there.
    Shape("v0.0.38", "22.05", old=True, has_states=False, warns=False, takes_arguments=False, ids_repeat=False),
)

UNSUPPORTED = "v0.0.39"
"""Of 23.02 alone, whose slurmrestd also speaks v0.0.38."""
