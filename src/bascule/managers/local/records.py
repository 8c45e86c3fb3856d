"""
What lies in the spool, as values: the order as it was accepted, and how far it has come.

An order is written once, by whoever submits; a state only by the supervisor, anew and
as a whole at each change. Both must stay readable by the next version.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from bascule.model import Noun, Phase, Tasks

CANCEL = "cancel"
WALLTIME = "walltime"
LEFTOVERS = "leftovers"


class Birth(NamedTuple):
    """Which process: ids are used again, a start time (in ticks since boot) tells the two apart."""

    pid: int
    start: int


class Capacity(Noun, frozen=True):
    """What there is of each resource, or what a job needs of it; *memory* in bytes."""

    cpus: int = 0
    memory: int = 0
    gpus: int = 0


class Outline(Noun, frozen=True):
    """
    The part of an order that the supervisor keeps in mind.

    *ours* and *users* are the two holds: of a submit in two phases, and the user's.
    *workdir* empty is the job's own folder. Times are seconds, of the day for *at*. Of an
    array, *indices* says which tasks there are, and *output* and *error* are patterns.
    *appends* names those of the two that go behind what lies there already.
    """

    key: str
    name: str
    at: float
    need: Capacity
    workdir: str
    output: str
    error: str
    walltime: float | None = None
    warn: tuple[str, float] | None = None
    grace: float = 10.0
    ours: bool = False
    users: bool = False
    umask: int = 0o022
    indices: str = ""
    parallelism: int = 0
    appends: tuple[str, ...] = ()


class Order(Outline, frozen=True):
    """An order as it was accepted. *script* None: *program* is run as it is; *env* is kept in a file of its own."""

    program: tuple[bytes, ...] = ()
    script: bytes | None = None
    env: dict[bytes, bytes] = {}


class Stop(Noun, frozen=True):
    """Why a job's processes are being ended, since when (seconds since boot), and whether by force already."""

    cause: str
    since: float
    by_force: bool = False


class End(Noun, frozen=True):
    """How a job ended; *inferred* where that is a conclusion and not an observation."""

    phase: Phase
    reason: str = ""
    explanation: str = ""
    exit_code: int | None = None
    signal: int | None = None
    inferred: bool = False


class State(Noun, frozen=True):
    """
    How far a job has come, and what the next supervisor must know.

    *launch* counts the wrappers that were started for it; *boot* says on which run of the
    machine. *ooms* is what the kernel's count of memory kills was when it started, and
    *output_from* where in its file the output begins. *tasks* are those of an array.
    """

    word: Literal["queued", "starting", "running", "over"]
    at: float
    ours: bool = False
    users: bool = False
    why: str = ""
    walltime: float | None = None
    launch: int = 0
    boot: str = ""
    wrapper: Birth | None = None
    started: float | None = None
    finished: float | None = None
    stop: Stop | None = None
    warned: bool = False
    gpus: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    ooms: int = 0
    output: str = ""
    error: str = ""
    output_from: int = 0
    error_from: int = 0
    tasks: Tasks | None = None
    end: End | None = None

    @property
    def is_over(self) -> bool:
        """Tell whether nothing can follow."""
        return self.word == "over"


class Result(NamedTuple):
    """What the wrapper left: the exit status as its shell saw it, and whether the shell said that it was a signal."""

    code: int
    said: bool


def encode(record: Outline | State | Capacity) -> bytes:
    """Write *record*; an order in MessagePack, since it holds bytes, the others in JSON, for people."""
    if isinstance(record, Outline):
        return msgspec.msgpack.encode(record)
    return msgspec.json.encode(record)


encode_environment = msgspec.msgpack.Encoder().encode
decode_environment = msgspec.msgpack.Decoder(dict[bytes, bytes]).decode
decode_order = msgspec.msgpack.Decoder(Order).decode
decode_outline = msgspec.msgpack.Decoder(Outline).decode
decode_state = msgspec.json.Decoder(State).decode
decode_capacity = msgspec.json.Decoder(Capacity).decode
