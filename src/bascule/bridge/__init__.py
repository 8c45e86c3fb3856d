"""
The library face: what the command does, for programs.

``connect()`` opens the place where objects live; while it is open and nobody else
drives, this process keeps everything in it moving. ``job`` is one job (wait, logs,
cancel), ``tasks`` those of an array, ``admission`` the rules for what may be stored.
"""

from bascule.bridge.connection import Bridge, connect
from bascule.bridge.job import BridgeJob, Result
from bascule.bridge.tasks import check_index, task_indices

__all__ = ["Bridge", "BridgeJob", "Result", "check_index", "connect", "task_indices"]
