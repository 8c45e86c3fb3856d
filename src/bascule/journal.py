"""
The logger of all modules: quiet, unless whoever runs us wants to hear.

Where structlog was configured, by the command or by a program that uses it, it is
structlog's. Else, as a library should, it passes all on to `logging`, under ``bascule``,
and prints nothing by itself: ``logging.basicConfig()`` is enough to see warnings.
"""

from __future__ import annotations

import logging
from typing import Any

import structlog

logging.getLogger("bascule").addHandler(logging.NullHandler())


class Logger:
    """Looks anew with each line who listens: a program may configure its log after it imported us."""

    def __init__(self, name: str) -> None:
        self._own = structlog.wrap_logger(
            logging.getLogger(name),
            wrapper_class=structlog.stdlib.BoundLogger,
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.contextvars.merge_contextvars,
                structlog.processors.format_exc_info,
                structlog.processors.KeyValueRenderer(key_order=["event"]),
            ],
        )
        self._theirs = structlog.get_logger(name)

    def __getattr__(self, method: str) -> Any:
        """Return the method of whichever logger it is now."""
        return getattr(self._theirs if structlog.is_configured() else self._own, method)
