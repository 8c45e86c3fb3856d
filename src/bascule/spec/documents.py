"""
YAML and JSON, read into values that know their lines.

Read from parser events, so that nothing is built before it is checked: size, depth,
number of values and what aliases expand to are bounded, keys given twice are refused.
Plain words mean what they mean to Kubernetes (``y`` and ``1e5`` are no texts there), so
that a file reads the same on both platforms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

from bascule.spec.problems import shortened
from bascule.spec.yaml_text import LOADER, changed_line_end, explained, is_json, unreadable, yaml_from_json

LONGEST_FILE = 4 * 1024 * 1024
MOST_VALUES = 500_000
MOST_ALIASED = 10_000
DEEPEST = 64

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **{form: True for word in ("y", "yes", "true", "on") for form in (word, word.capitalize(), word.upper())},
    **{form: False for word in ("n", "no", "false", "off") for form in (word, word.capitalize(), word.upper())},
}
_INT = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]*|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "bool", "int", "float", "null")}
_TEXT_TAGS = {"!", "tag:yaml.org,2002:str"}


class Node(NamedTuple):
    """A value, the *line* where it stands, and for a plain word how it was *written*."""

    line: int
    value: Any
    written: str = ""

    def at(self, path: tuple[str | int, ...]) -> Node:
        """Return what stands at *path*, or the nearest thing above it that exists."""
        node = self
        for step in path:
            match node.value, step:
                case dict() as fields, str() if step in fields:
                    node = fields[step]
                case list() as items, int() if step < len(items):
                    node = items[step]
                case _:
                    break
        return node

    def plain(self) -> Any:
        """Return the value without lines."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def reads_as_text(word: str) -> bool:
    """Tell whether the plain *word* is a text, and no number and no truth."""
    return word not in _WORDS and not any(form.fullmatch(word) for form in (_INT, _FLOAT, _NO_NUMBER))


class _Stop(Exception):
    """Nothing more can be read."""


def read_documents(text: str, report: Callable[[int, str], None]) -> list[Node]:
    """Return the documents in *text*; what is wrong is told to *report*, as line and words."""
    text = text.removeprefix("\ufeff")
    if is_json(text):
        text = yaml_from_json(text)
    elif found := changed_line_end(text):
        report(*found)
        return []
    reader = _Reader(yaml.parse(text, Loader=LOADER), report)
    try:
        reader.read()
    except _Stop:
        pass
    except yaml.MarkedYAMLError as error:
        report(*explained(error, text))
    except yaml.YAMLError as error:
        report(*unreadable(error, text))
    return reader.found


class _Reader:
    """Builds nodes from parser events."""

    def __init__(self, events: Iterator[Any], report: Callable[[int, str], None]) -> None:
        self._events = events
        self._report = report
        self.found: list[Node] = []
        self._values = 0
        self._aliased = 0
        self._anchors: dict[str, tuple[Node, int]] = {}

    def read(self) -> None:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors.clear()
                self._aliased = 0
                node = self._node(next(self._events), 0)
                if node.value is not None:
                    self.found.append(node)

    def _node(self, event: Any, depth: int) -> Node:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            return self._alias(str(event.anchor), line)
        if depth > DEEPEST:
            self._give_up(line, f"nested deeper than {DEEPEST} levels")
        before = self._values
        self._count(1, line)
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, line)
            weight = 1 + len(event.value) // 100
        else:
            self._check_tag(event, line)
            node = Node(line, self._mapping(depth) if isinstance(event, yaml.MappingStartEvent) else self._list(depth))
            weight = self._values - before
        if event.anchor:
            self._anchors[event.anchor] = (node, weight)
        return node

    def _list(self, depth: int) -> list[Node]:
        nodes = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            nodes.append(self._node(event, depth + 1))
        return nodes

    def _mapping(self, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            node = self._node(next(self._events), depth + 1)._replace(line=key.line)
            name = key.value
            if not isinstance(name, str):
                if not key.written:
                    self._report(key.line, "a key must be a text")
                    continue
                name = key.written
                self._report(key.line, f'the key `{shortened(name)}` is no text in YAML; quote it: "{shortened(name)}"')
            if name == "<<" and key.written:
                self._merge(merged, node)
            elif name in entries:
                self._report(key.line, f"`{shortened(name)}` is given twice, first in line {entries[name].line}")
            else:
                entries[name] = node
        return {**merged, **entries}

    def _merge(self, merged: dict[str, Node], node: Node) -> None:
        for source in node.value if isinstance(node.value, list) else [node]:
            if not isinstance(source.value, dict):
                self._report(node.line, "`<<` takes a mapping or a list of mappings")
                return
            for key, value in source.value.items():
                merged.setdefault(key, value)

    def _alias(self, anchor: str, line: int) -> Node:
        if anchor not in self._anchors:
            self._give_up(line, f"`*{shortened(anchor)}` stands for itself, or for nothing")
        node, weight = self._anchors[anchor]
        self._aliased += weight
        if self._aliased > MOST_ALIASED:
            self._give_up(line, f"aliases stand for more than {MOST_ALIASED:,} values; write them out")
        self._count(weight, line)
        return node._replace(line=line)

    def _scalar(self, event: Any, line: int) -> Node:
        if event.tag in _TEXT_TAGS or (event.tag is None and not event.implicit[0]):
            return Node(line, event.value)
        self._check_tag(event, line)
        written = event.value
        if written in _WORDS:
            return Node(line, _WORDS[written], written)
        if _INT.fullmatch(written) or _FLOAT.fullmatch(written):
            return Node(line, self._number(written, line), written)
        if _NO_NUMBER.fullmatch(written):
            self._report(line, f"`{written}` is a number that JSON does not have; quote it if it is a text")
        return Node(line, written, written)

    def _number(self, written: str, line: int) -> int | float | str:
        digits = written.replace("_", "")
        # Go reads a leading 0 as octal, and what is no octal (09) as a float.
        base = re.sub(r"^([-+]?)0([0-7]+)$", r"\1 0o\2", digits).replace(" ", "")
        try:
            number: int | float = int(base, 0) if _INT.fullmatch(written) else float(digits)
        except ValueError:
            number = float("inf")
        if abs(number) == float("inf") or (isinstance(number, int) and not -(2**63) <= number < 2**63):
            self._report(line, f"the number `{shortened(written)}` is too large; quote it if it is a text")
            return written
        return number

    def _check_tag(self, event: Any, line: int) -> None:
        if event.tag is not None and event.tag not in _CORE_TAGS:
            self._report(line, f"the tag `{shortened(event.tag)}` is not known here; leave it out")

    def _count(self, weight: int, line: int) -> None:
        self._values += weight
        if self._values > MOST_VALUES:
            self._give_up(line, f"more than {MOST_VALUES:,} values; use several files")

    def _give_up(self, line: int, words: str) -> None:
        self._report(line, words)
        raise _Stop
