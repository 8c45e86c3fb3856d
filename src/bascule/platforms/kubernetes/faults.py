"""What the API server's refusals mean to a store, translated once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bascule.clients.kube import Rejected
from bascule.errors import Conflict, Mistake, StoreFailed, Unauthorized, Uncertain


class StatusTooLarge(StoreFailed):
    """The object would be larger than etcd takes."""


@contextmanager
def translated(what: str, *, by_people: bool = False) -> Iterator[None]:
    """
    Raise what went wrong at writing *what* (``job `x```) as a store does.

    What the API server does not take is, *by_people*, their mistake; else the store's fault.
    """
    try:
        yield
    except Rejected as refusal:
        if refusal.code == 409 and refusal.reason == "AlreadyExists":
            raise Conflict(f"there is a {what} already", hint="choose another name") from refusal
        if refusal.code == 409:
            raise Conflict(f"{what} was changed by somebody else", hint="read it again") from refusal
        if refusal.code == 404 and not by_people:
            raise Conflict(f"{what} is gone", hint="read it again") from refusal
        if by_people:
            raise Mistake(f"{what}: {refusal.message}", hint=refusal.hint) from refusal
        raise StoreFailed(refusal.message, hint=refusal.hint) from refusal
    except Uncertain as doubt:
        if "too large" in doubt.message:  # etcd's own word, which the API server passes on as its failure
            raise StatusTooLarge(
                f"{what} has no room for its status: an object has at most 1.5 MiB",
                hint="make its annotations or its spec smaller; nothing else is wrong with it",
            ) from doubt
        # The write named the version that it changes: whether it came through is seen at the next look.
        raise StoreFailed(doubt.message, hint=doubt.hint or "it is looked at again") from doubt
    except Unauthorized as refusal:
        raise StoreFailed(refusal.message, hint=refusal.hint) from refusal
