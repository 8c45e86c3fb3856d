"""
Durations and quantities as people write them: ``1h30m``, ``2d``, ``500m``, ``8Gi``.

Kept as types of their own, so that a value read from YAML is written back as a person
would write it. Quantities follow Kubernetes' resource quantities.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from bascule.errors import Mistake

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d{1,3})?)s)?(?:(\d+)ms)?")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?")
_SUFFIX = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{letter: Decimal(1000) ** n for n, letter in enumerate("kMGTP", 1)},
    **{f"{letter}i": Decimal(1024) ** n for n, letter in enumerate("KMGTP", 1)},
}
LONGEST = timedelta(days=3650)


class Duration(timedelta):
    """A span of time that is written as ``1h30m``; at most ten years."""

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Read *text*; raise `Mistake` where it is none."""
        found = _DURATION.fullmatch(text)
        if not text or not found:
            raise Mistake(f"`{text}` is no duration", hint="write it as `90s`, `15m`, `1h30m` or `2d`")
        days, hours, minutes, seconds, millis = found.groups(default="0")
        try:
            span = cls(
                days=int(days),
                hours=int(hours),
                minutes=int(minutes),
                seconds=float(seconds),
                milliseconds=int(millis),
            )
        except OverflowError:
            span = cls(days=LONGEST.days + 1)
        if span > LONGEST:
            raise Mistake(f"`{text}` is longer than ten years", hint="leave it out for no limit")
        return span

    @classmethod
    def of(cls, span: timedelta) -> Duration:
        """Give *span* our way of being written."""
        return cls(days=span.days, seconds=span.seconds, microseconds=span.microseconds)

    def __str__(self) -> str:
        """Write it as `parse` reads it."""
        whole = self.days * 86400 + self.seconds
        millis = self.microseconds // 1000
        days, rest = divmod(whole, 86400)
        hours, rest = divmod(rest, 3600)
        minutes, seconds = divmod(rest, 60)
        parts = [f"{n}{unit}" for n, unit in ((days, "d"), (hours, "h"), (minutes, "m")) if n]
        if millis:
            parts.append(f"{seconds}.{millis:03d}".rstrip("0") + "s")
        elif seconds or not parts:
            parts.append(f"{seconds}s")
        return "".join(parts)


class Quantity:
    """An amount as Kubernetes writes it: ``500m`` (thousandths), ``8Gi`` (bytes)."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        if not _QUANTITY.fullmatch(text):
            raise Mistake(f"`{text}` is no quantity", hint="write it as `500m`, `2`, `800M` or `8Gi`")
        self.text = text

    @property
    def value(self) -> Decimal:
        """The exact amount, in units (cpus, bytes)."""
        number, suffix = _QUANTITY.fullmatch(self.text).groups(default="")  # type: ignore[union-attr]
        return Decimal(number) * _SUFFIX[suffix]

    def __int__(self) -> int:
        """Round up: a part of a byte needs the whole byte."""
        return int(self.value.to_integral_value(rounding="ROUND_CEILING"))

    def __str__(self) -> str:
        """As it was written."""
        return self.text

    def __repr__(self) -> str:
        """For people who debug."""
        return f"Quantity({self.text!r})"

    def __eq__(self, other: object) -> bool:
        """Equal amounts are equal, however they are written."""
        return isinstance(other, Quantity) and other.value == self.value

    def __hash__(self) -> int:
        """As `__eq__`."""
        return hash(self.value)
