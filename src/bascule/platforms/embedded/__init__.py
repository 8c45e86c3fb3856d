"""
The platform without Kubernetes: everything in one SQLite file in a folder of the user's.

`open_store` is the way in and ``store`` implements the ports; begin there. ``home`` is the
folder, ``driving`` says who moves the jobs in it, ``writing`` how a write becomes durable,
``glance`` is the quick look for tables. Nothing is imported before it is used, so that a
quick look stays quick.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` takes half as long to import as Python to start
if TYPE_CHECKING:
    from bascule.platforms.embedded.driving import Driver
    from bascule.platforms.embedded.home import Home, default_home
    from bascule.platforms.embedded.opening import open_store
    from bascule.platforms.embedded.settings import Settings
    from bascule.platforms.embedded.store import Store

__all__ = ["Driver", "Home", "Settings", "Store", "default_home", "open_store"]

_PLACES = {
    "Driver": "driving",
    "Home": "home",
    "Settings": "settings",
    "Store": "store",
    "default_home": "home",
    "open_store": "opening",
}


def __getattr__(name: str) -> object:
    """Import what is asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
