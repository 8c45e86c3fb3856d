"""
The platform Kubernetes: jobs and targets are custom resources, and the API server keeps them.

`open_store` is the way in and ``store`` implements the ports; begin there. ``leading`` says
who drives, ``wire`` turns objects into nouns and back, ``stories`` writes Events, ``admitting``
says who may use what, ``crds`` what the API server refuses by itself.
"""

from bascule.platforms.kubernetes.leading import Lease
from bascule.platforms.kubernetes.opening import open_store
from bascule.platforms.kubernetes.settings import Settings
from bascule.platforms.kubernetes.store import Store
from bascule.platforms.kubernetes.wire import StoredJob

__all__ = ["Lease", "Settings", "Store", "StoredJob", "open_store"]
