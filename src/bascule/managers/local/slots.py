"""Slots: what is free, and in words what a job lacks. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from bascule.managers.local.records import Capacity

_MIB = 1024 * 1024


def free(capacity: Capacity, taken: Iterable[Capacity]) -> Capacity:
    """Return what is left of *capacity*; below zero where it was made smaller meanwhile."""
    cpus, memory, gpus = capacity.cpus, capacity.memory, capacity.gpus
    for need in taken:
        cpus -= need.cpus
        memory -= need.memory
        gpus -= need.gpus
    return Capacity(cpus, memory, gpus)


def lacking(need: Capacity, room: Capacity) -> list[str]:
    """Return what *need* lacks in *room*, in words."""
    # A job that wants none of a resource is not kept by others that overuse it.
    lacks = []
    if need.cpus and need.cpus > room.cpus:
        lacks.append(f"{_counted(need.cpus, 'cpu')} ({max(room.cpus, 0)} free)")
    if need.memory and need.memory > room.memory:
        lacks.append(f"{amount(need.memory)} of memory ({amount(max(room.memory, 0))} free)")
    if need.gpus and need.gpus > room.gpus:
        lacks.append(f"{_counted(need.gpus, 'gpu')} ({max(room.gpus, 0)} free)")
    return lacks


def exceeds(need: Capacity, capacity: Capacity) -> str:
    """Say what *need* asks for beyond all there is; empty where nothing."""
    asks = []
    if need.cpus > capacity.cpus:
        asks.append(f"{_counted(need.cpus, 'cpu')} (there are {capacity.cpus})")
    if need.memory > capacity.memory:
        asks.append(f"{amount(need.memory)} of memory (there are {amount(capacity.memory)})")
    if need.gpus > capacity.gpus:
        asks.append(f"{_counted(need.gpus, 'gpu')} (there are {capacity.gpus})")
    return " and ".join(asks)


def pick(count: int, total: int, taken: Iterable[int]) -> tuple[int, ...]:
    """Return the numbers of *count* free GPUs, lowest first."""
    used = set(taken)
    return tuple(number for number in range(total) if number not in used)[:count]


def amount(size: int) -> str:
    """Write a number of bytes as people do."""
    for unit, letter in ((_MIB * 1024, "Gi"), (_MIB, "Mi"), (1024, "Ki")):
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + letter
    return f"{size} bytes"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
