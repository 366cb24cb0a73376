"""YAML as data that still knows its lines.

Rule files are read strictly: duplicate keys, aliases, merges and tags are errors, and every error of a file
is reported with its line. Plain `1e-5` is a number here, although YAML 1.1 takes it for text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 40
MANY = 2000  # what opens a collection, from which the depth is looked at before anything is composed
_OPENING = (b"[", b"{", b"- ", b"? ")
_EXPONENT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + t for t in ("null", "bool", "int", "float", "str", "timestamp")}


class DocumentError(Exception):
    """A file that is not usable YAML; `problems` says all that is wrong, as "file:line: what"."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A parsed file: `data` is plain Python, `node` the tree that knows the lines."""

    name: str
    node: yaml.Node
    data: Any

    def line(self, *loc: str | int) -> int:
        """Return the 1-based line of the value at a path of keys and indices, as far as the path exists."""
        node = self.node
        for step in loc:
            below = _child(node, step)
            if below is None:
                break
            node = below
        return int(node.start_mark.line) + 1

    def at(self, *loc: str | int) -> str:
        """Return "file:line" of the value at a path."""
        return f"{self.name}:{self.line(*loc)}"


def parse(name: str, raw: bytes) -> Document:
    """Parse one file; raises `DocumentError` with everything that is wrong with it."""
    try:
        if b"\0" in raw or sum(map(raw.count, _OPENING)) > MANY:
            _refuse_depth(name, raw)
        node = yaml.compose(raw, Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DocumentError([_syntax_problem(name, error)]) from error
    if node is None:
        raise DocumentError([f"{name}:1: the file is empty"])
    problems: list[str] = []
    data = _convert(node, _Reader(name, problems), 0)
    if problems:
        raise DocumentError(problems)
    return Document(name, node, data)


def _refuse_depth(name: str, raw: bytes) -> None:
    """Look through the events of a file that could be nested deeply: composing it would exhaust the stack."""
    depth = 0
    for event in yaml.parse(raw, Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 1 if event.start_mark is not None else 1
                raise DocumentError([f"{name}:{line}: nested deeper than {MAX_DEPTH} levels"])
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Turns nodes into values and collects what is wrong with them."""

    def __init__(self, name: str, problems: list[str]) -> None:
        self.name = name
        self.problems = problems
        self.seen: set[int] = set()
        self.scalars = yaml.constructor.SafeConstructor()

    def complain(self, node: yaml.Node, what: str) -> None:
        self.problems.append(f"{self.name}:{node.start_mark.line + 1}: {what}")

    def refuses(self, node: yaml.Node, depth: int) -> bool:
        """Whether a collection is one that rule files do not use; says so."""
        if id(node) in self.seen:
            self.complain(node, "anchors and aliases are not used in rule files")
        elif depth > MAX_DEPTH:
            self.complain(node, f"nested deeper than {MAX_DEPTH} levels")
        elif node.tag not in (_TAG + "map", _TAG + "seq"):
            self.complain(node, f"the tag {node.tag} is not used in rule files")
        else:
            self.seen.add(id(node))
            return False
        return True


def _convert(node: yaml.Node, reader: _Reader, depth: int) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, reader)
    if reader.refuses(node, depth):
        return None
    if isinstance(node, yaml.SequenceNode):
        return [_convert(item, reader, depth + 1) for item in node.value]
    return _mapping(node, reader, depth)


def _mapping(node: yaml.Node, reader: _Reader, depth: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = _key(key_node, reader)
        if key is None:
            continue
        if key in data:
            reader.complain(key_node, f"the key {key!r} stands twice in one mapping")
        data[key] = _convert(value_node, reader, depth + 1)
    return data


def _key(node: yaml.Node, reader: _Reader) -> str | None:
    """Return a key as text: a key is a name, also when it looks like a number or a boolean."""
    if not isinstance(node, yaml.ScalarNode):
        reader.complain(node, "a key must be plain text")
        return None
    if node.tag == _TAG + "merge":
        reader.complain(node, "merging (<<) is not used in rule files")
        return None
    return str(node.value)


def _scalar(node: yaml.ScalarNode, reader: _Reader) -> Any:
    if node.tag == _TAG + "str":
        plain = not node.style  # the C parser says "", the Python one None
        return float(node.value) if plain and _EXPONENT.fullmatch(node.value) else node.value
    if node.tag not in _SCALARS:
        reader.complain(node, f"the tag {node.tag} is not used in rule files")
        return None
    if node.tag == _TAG + "timestamp":
        return node.value
    return _construct(node, reader)


def _construct(node: yaml.ScalarNode, reader: _Reader) -> Any:
    try:
        return reader.scalars.construct_object(node)
    except (ValueError, KeyError, yaml.YAMLError):
        reader.complain(node, f"{node.value!r} is not a valid {node.tag.removeprefix(_TAG)}")
        return None


def _child(node: yaml.Node, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node | None = node.value[step]
        return found
    if isinstance(node, yaml.MappingNode):
        return next((v for k, v in node.value if k.value == str(step)), None)
    return None


def _syntax_problem(name: str, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark is not None else 1
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable"
    if "nesting depth" in str(
        what
    ):  # libyaml's own limit, of PyYAML 6.0.4 on, which is met before ours is counted
        return f"{name}:{line}: nested deeper than {MAX_DEPTH} levels"
    return f"{name}:{line}: not valid YAML: {what}"
