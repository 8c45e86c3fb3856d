"""Nouns to JSON and back: one form for stores, files and programs that read us."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from bascule.model.units import Duration, Quantity

T = TypeVar("T")


def _encode(value: object) -> str:
    if isinstance(value, Duration | Quantity):
        return str(value)
    raise NotImplementedError(f"no JSON for {type(value).__name__}")


def _decode(wanted: type, value: Any) -> object:
    if wanted is Duration:
        return Duration.parse(value)
    if wanted is Quantity:
        return Quantity(value)
    raise NotImplementedError(f"no {wanted.__name__} from JSON")


_ENCODER = msgspec.json.Encoder(enc_hook=_encode, order="deterministic")
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


def to_json(value: object) -> bytes:
    """Write *value* as JSON; equal values give equal bytes."""
    return _ENCODER.encode(value)


def from_json(data: bytes | str, wanted: type[T]) -> T:
    """Read a *wanted* from JSON; raise `msgspec.ValidationError` where it does not fit."""
    decoder = _DECODERS.get(wanted)
    if decoder is None:
        decoder = _DECODERS[wanted] = msgspec.json.Decoder(wanted, dec_hook=_decode)
    return decoder.decode(data)  # type: ignore[no-any-return]


def to_plain(value: object) -> Any:
    """Turn *value* into dicts, lists and texts, as JSON would have them."""
    return msgspec.json.decode(_ENCODER.encode(value))


def from_plain(value: Any, wanted: type[T]) -> T:
    """Read a *wanted* from dicts, lists and texts."""
    return msgspec.convert(value, wanted, dec_hook=_decode)
