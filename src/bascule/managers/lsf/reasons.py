"""Why LSF ended a job: its ``TERM_`` words as reasons, and as sentences for people."""

from __future__ import annotations

import re
from typing import NamedTuple

from bascule.model import Phase, Reason

TERM = re.compile(r"\bTERM_[A-Z_]+\b")


class Ending(NamedTuple):
    """What a ``TERM_`` word says of a job."""

    phase: Phase
    reason: str
    sentence: str


def _failed(reason: Reason, sentence: str) -> Ending:
    return Ending(Phase.FAILED, str(reason), sentence)


def _cancelled(sentence: str) -> Ending:
    return Ending(Phase.CANCELLED, "", sentence)


ENDINGS: dict[str, Ending] = {
    "TERM_RUNLIMIT": _failed(Reason.TIMED_OUT, "reached its walltime"),
    "TERM_CPULIMIT": _failed(Reason.TIMED_OUT, "used all the processor time that it may have"),
    "TERM_DEADLINE": _failed(Reason.TIMED_OUT, "missed its deadline"),
    "TERM_WINDOW": _failed(Reason.TIMED_OUT, "its queue's run window closed"),
    "TERM_MEMLIMIT": _failed(Reason.OUT_OF_MEMORY, "used more memory than it may have"),
    "TERM_SWAP": _failed(Reason.OUT_OF_MEMORY, "used more swap than it may have"),
    "TERM_PREEMPT": _failed(Reason.PREEMPTED, "was preempted by a job of higher priority"),
    "TERM_LOAD": _failed(Reason.PREEMPTED, "was ended since its host was too busy"),
    "TERM_MC_RECALL": _failed(Reason.PREEMPTED, "was called back by the other cluster"),
    "TERM_RC": _failed(Reason.PREEMPTED, "its host was taken back by the cloud"),
    "TERM_REQUEUE_RC": _failed(Reason.PREEMPTED, "its host was taken back by the cloud"),
    "TERM_OWNER": _cancelled("cancelled by its user"),
    "TERM_FORCE_OWNER": _cancelled("cancelled by its user, without time to clean up"),
    "TERM_REQUEUE_OWNER": _cancelled("ended and requeued by its user"),
    "TERM_ADMIN": _cancelled("cancelled by an administrator"),
    "TERM_FORCE_ADMIN": _cancelled("cancelled by an administrator, without time to clean up"),
    "TERM_REQUEUE_ADMIN": _cancelled("ended and requeued by an administrator"),
    "TERM_BUCKET_KILL": _cancelled("cancelled with others like it (`bkill -b`)"),
    "TERM_REMOVE_HUNG_JOB": _failed(Reason.NODE_FAILED, "was removed, since its host no longer answered"),
    "TERM_ZOMBIE": _failed(Reason.NODE_FAILED, "ended while LSF was not there"),
    "TERM_ORPHAN_SYSTEM": _failed(Reason.DEPENDENCY_NOT_MET, "a job that it depends on ended the other way"),
    "TERM_CWD_NOTEXIST": _failed(Reason.START_FAILED, "its folder is not there on the host"),
    "TERM_PRE_EXEC_FAIL": _failed(Reason.START_FAILED, "what runs before it failed too often"),
    "TERM_DATA": _failed(Reason.START_FAILED, "its data could not be staged"),
    "TERM_CSM_ALLOC": _failed(Reason.START_FAILED, "its nodes could not be allocated"),
    "TERM_KUBE": _failed(Reason.START_FAILED, "its pod failed"),
    "TERM_RMS": _failed(Reason.NODE_FAILED, "its resource manager failed"),
    "TERM_PROCESSLIMIT": _failed(Reason.SIGNAL, "had more processes than it may have"),
    "TERM_THREADLIMIT": _failed(Reason.SIGNAL, "had more threads than it may have"),
}
"""Those that say no more than that a signal came (``TERM_EXTERNAL_SIGNAL``, ``TERM_OTHER``) are left out."""

NUMBERS = {
    1: "TERM_PREEMPT",
    2: "TERM_WINDOW",
    3: "TERM_LOAD",
    5: "TERM_RUNLIMIT",
    6: "TERM_DEADLINE",
    7: "TERM_PROCESSLIMIT",
    8: "TERM_FORCE_OWNER",
    9: "TERM_FORCE_ADMIN",
    10: "TERM_REQUEUE_OWNER",
    11: "TERM_REQUEUE_ADMIN",
    12: "TERM_CPULIMIT",
    14: "TERM_OWNER",
    15: "TERM_ADMIN",
    16: "TERM_MEMLIMIT",
    18: "TERM_RMS",
    19: "TERM_ZOMBIE",
    20: "TERM_SWAP",
    21: "TERM_THREADLIMIT",
    23: "TERM_BUCKET_KILL",
    25: "TERM_CWD_NOTEXIST",
    26: "TERM_REMOVE_HUNG_JOB",
    27: "TERM_ORPHAN_SYSTEM",
    28: "TERM_PRE_EXEC_FAIL",
    29: "TERM_DATA",
    30: "TERM_MC_RECALL",
    31: "TERM_REQUEUE_RC",
    32: "TERM_CSM_ALLOC",
    33: "TERM_KUBE",
    34: "TERM_RC",
}
"""As ``lsb.acct`` writes them."""


def word_in(text: str) -> str:
    """Return the first ``TERM_`` word that *text* holds, or that its number stands for."""
    if text.isdecimal() and len(text) < 4:
        return NUMBERS.get(int(text), "")
    found = TERM.search(text)
    return found[0] if found else ""
