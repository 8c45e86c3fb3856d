"""Putting a wrong behaviour into the production code for a while, and taking it out again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

MUTANTS: dict[str, Callable[[Patch], None]] = {}


class Patch:
    """Replaces attributes, and puts them back."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, str, Any]] = []

    def put(self, place: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace *name* in *place* by what *make* makes of it."""
        old = place.__dict__[name] if isinstance(place, type) else getattr(place, name)
        self._kept.append((place, name, old))
        setattr(place, name, make(old))

    def undo(self) -> None:
        """Put everything back."""
        while self._kept:
            place, name, old = self._kept.pop()
            setattr(place, name, old)


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Let the wrong behaviour *name* be there for a while."""
    patch = Patch()
    try:
        MUTANTS[name](patch)
        yield
    finally:
        patch.undo()


def mutant(plant: Callable[[Patch], None]) -> Callable[[Patch], None]:
    """Make *plant* known under its name."""
    MUTANTS[plant.__name__] = plant
    return plant
