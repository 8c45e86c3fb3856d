"""
An answer's body as a plain tree of texts, whether it came as JSON or as XML.

Application Center answers in either, calls the same thing by several names, and gives a
list of one as the one. What is looked for is therefore found by name, at any depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias
from xml.parsers import expat

import msgspec

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str"

DEEPEST = 64


def tree_in(body: bytes) -> Tree:
    """Return what *body* holds; raise `ValueError` where it is neither JSON nor XML nor plain words."""
    start = body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in {b"{", b"["}:
        try:
            return _plain(msgspec.json.decode(body))
        except (msgspec.DecodeError, RecursionError) as wrong:
            raise ValueError(f"broken JSON: {wrong}") from None
    if start == b"<":
        return _xml(body)
    try:
        return body.decode().strip()
    except UnicodeDecodeError:
        raise ValueError("neither JSON nor XML") from None


def records_in(tree: Tree) -> Iterator[dict[str, Tree]]:
    """Iterate over all objects in *tree*, outermost first."""
    if isinstance(tree, dict):
        yield tree
    for inside in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from records_in(inside)


def text_of(record: dict[str, Tree], *names: str) -> str:
    """Return the first text of *record* that has one of *names*; empty where there is none."""
    for name in names:
        value = record.get(name)
        if isinstance(value, list):
            value = next((each for each in value if isinstance(each, str) and each), "")
        if isinstance(value, str) and value:
            return value.strip()
    return ""


def found_in(tree: Tree, *names: str) -> str:
    """Return the first text in *tree* that has one of *names*, at any depth; empty where there is none."""
    return next((text for record in records_in(tree) if (text := text_of(record, *names))), "")


def texts_in(tree: Tree, *, but: frozenset[str] = frozenset()) -> Iterator[str]:
    """Iterate over all texts in *tree*, except those named in *but*."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for inside in tree:
            yield from texts_in(inside, but=but)
    else:
        for name, inside in tree.items():
            if name not in but:
                yield from texts_in(inside, but=but)


def _plain(value: object, depth: int = 0) -> Tree:
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {str(name): _plain(inside, depth + 1) for name, inside in value.items()}
    if isinstance(value, list):
        return [_plain(inside, depth + 1) for inside in value]
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


class _Builder:
    """Builds the tree from expat's events; the root stands in ``tree`` under its name."""

    def __init__(self) -> None:
        self.tree: dict[str, Tree] = {}
        self._open: list[tuple[str, dict[str, Tree], list[str]]] = [("", self.tree, [])]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > DEEPEST:
            raise ValueError("nested too deeply")
        self._open.append((_local(name), {f"@{_local(key)}": value for key, value in attributes.items()}, []))

    def end(self, _: str) -> None:
        name, children, words = self._open.pop()
        text = "".join(words).strip()
        value: Tree = children or text
        if children and text:
            children.setdefault("#text", text)
        around = self._open[-1][1]
        before = around.get(name)
        if before is None:
            around[name] = value
        elif isinstance(before, list):
            before.append(value)
        else:
            around[name] = [before, value]

    def words(self, text: str) -> None:
        self._open[-1][2].append(text)


def _xml(body: bytes) -> Tree:
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.words
    # A document type could name entities: files of this machine, or a text that grows without end.
    parser.StartDoctypeDeclHandler = _no_doctype
    try:
        parser.Parse(body, True)
    except expat.ExpatError as wrong:
        raise ValueError(f"broken XML: {wrong}") from None
    if "html" in builder.tree:
        raise ValueError("a web page")
    return builder.tree


def _no_doctype(*_: object) -> None:
    raise ValueError("XML with a document type of its own")


def _local(name: str) -> str:
    return name.rpartition(":")[2]
