"""``bascule get`` beyond the quick table: fresh, whole objects, targets, and changes as they come."""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from bascule.bridge import Bridge
from bascule.cli import get, output, session, words
from bascule.cli.arguments import merged
from bascule.cli.exits import BY_SIGNAL, Exit
from bascule.errors import Mistake
from bascule.model import Job, Phase, Target
from bascule.ports import Selector

TARGET_HEADER = ("NAME", "READY", "MANAGER", "VERSION", "AGE")
TARGET_WIDE = (*TARGET_HEADER, "URL", "MESSAGE")


def main(args: argparse.Namespace) -> int:
    """List; return the exit code."""
    of_jobs = args.kind.startswith("job")
    if not of_jobs and (args.phase or args.labels or args.watch):
        raise Mistake("targets have no phases, and are neither selected by labels nor watched", hint="name them")

    async def work(bridge: Bridge) -> int:
        if args.watch:
            return await _watch(bridge, args)
        if not args.cached:
            await session.catch_up(bridge)
        if of_jobs and args.output not in ("json", "yaml"):
            return await _show_jobs(bridge, args)
        things = _jobs(bridge, args) if of_jobs else _targets(bridge, args.names)
        if args.output in ("json", "yaml"):
            await _print_objects(things, args)
        else:
            _print_targets([thing async for thing in things if isinstance(thing, Target)], args)
        return Exit.SUCCEEDED

    return session.run(args, work, drive=args.watch)


async def _show_jobs(bridge: Bridge, args: argparse.Namespace) -> int:
    if args.platform == "embedded":
        return get.show_jobs(args)
    from bascule.cli.lines import line_of

    async with aclosing(bridge.store.list(_selector(bridge, args))) as jobs:  # type: ignore[type-var]
        return get.show_lines(args, [line_of(job) async for job in jobs])


def _selector(bridge: Bridge, args: argparse.Namespace) -> Selector:
    return Selector(
        namespace=None if args.platform == "embedded" else bridge.namespace,
        names=tuple(args.names),
        labels=merged(args.labels),
        phases=tuple(Phase(phase) for some in args.phase for phase in some),
    )


async def _jobs(bridge: Bridge, args: argparse.Namespace) -> AsyncIterator[Job | Target]:
    found = set()
    async for job in bridge.store.list(_selector(bridge, args)):
        found.add(job.name)
        yield job
    get.must_be_there(args.names, found, filtered=bool(args.phase or args.labels))


async def _targets(bridge: Bridge, names: list[str]) -> AsyncIterator[Job | Target]:
    found = {target.name: target async for target in bridge.store.targets()}
    absent = [name for name in names if name not in found]
    if absent:
        raise Mistake(
            f"there is no target {', '.join(f'`{name}`' for name in absent)}",
            hint=f"there are: {', '.join(sorted(found)) or 'none'}",
        )
    for name in names or sorted(found):
        yield found[name]


async def _print_objects(things: AsyncIterator[Job | Target], args: argparse.Namespace) -> None:
    """Print one object as it is, several as a list; in pieces, as there may be very many."""
    from bascule.spec import to_document, to_yaml

    single = len(args.names) == 1
    if args.output == "yaml":
        between = ""
        async for thing in things:
            output.data(f"{between}{to_yaml(to_document(thing))}".rstrip("\n"))
            between = "---\n"
        return
    if single:
        async for thing in things:
            output.data(_json(to_document(thing)))
        return
    output.data('{"apiVersion": "v1", "kind": "List", "items": [')
    between = ""
    try:
        async for thing in things:
            output.data(f"{between}{_json(to_document(thing))}")
            between = ","
    except Mistake:
        output.data("]}")  # one of the names is not there, which the exit code tells; what is there is whole
        raise
    output.data("]}")


def _json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _print_targets(targets: list[Target], args: argparse.Namespace) -> None:
    if args.output == "name":
        for target in targets:
            output.data(f"target/{target.name}")
        return
    if not targets:
        output.say("no targets")
        return
    wide = args.output == "wide"
    rows = [_target_row(target, wide=wide) for target in targets]
    colours = {"True": output.GREEN, "False": output.RED}
    output.table(TARGET_WIDE if wide else TARGET_HEADER, rows, colours=[colours.get(row[1], "") for row in rows])


def _target_row(target: Target, *, wide: bool) -> tuple[str, ...]:
    ready = next((condition for condition in target.status.conditions if condition.type == "Ready"), None)
    row = (
        target.name,
        ready.status if ready else "",
        target.spec.manager,
        target.status.version,
        words.age(target.created_at),
    )
    return (*row, target.spec.url or "", ready.message if ready else "") if wide else row


async def _watch(bridge: Bridge, args: argparse.Namespace) -> int:
    try:
        await session.attended(_print_changes(bridge, args))
    except session.Left as left:
        return BY_SIGNAL + left.signal
    return Exit.SUCCEEDED


async def _print_changes(bridge: Bridge, args: argparse.Namespace) -> None:
    """Print what there is, then a line for each change, until cancelled."""
    changes = bridge.store.watch()
    if args.output not in ("json", "yaml"):
        await _show_jobs(bridge, args)
    selector = _selector(bridge, args)
    async with aclosing(changes):  # type: ignore[type-var]
        async for change in changes:
            if change.kind != "job" or (selector.names and change.ref.name not in selector.names):
                continue
            job = await bridge.store.get(change.ref)
            if job is None:
                output.say(f"job/{change.ref.name} is gone")
            elif _is_selected(job, selector):
                _print_change(job, args)


def _is_selected(job: Job, selector: Selector) -> bool:
    labels = selector.labels.items() <= job.labels.items()
    return labels and (not selector.phases or job.status.phase in selector.phases)


def _print_change(job: Job, args: argparse.Namespace) -> None:
    if args.output == "name":
        output.data(f"job/{job.name}")
    elif args.output in ("json", "yaml"):
        from bascule.spec import to_document, to_yaml

        document = to_document(job)
        output.data(
            json.dumps(document, ensure_ascii=False) if args.output == "json" else f"---\n{to_yaml(document)}".rstrip()
        )
    else:
        status = job.status
        cells = (job.name, str(status.phase), str(status.reason), job.spec.target.name, status.id or "")
        message = (status.message,) if args.output == "wide" else ()
        output.data("   ".join(output.clean(cell) or "-" for cell in (*cells, words.age(job.created_at), *message)))
