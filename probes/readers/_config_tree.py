"""YAML and JSON as trees that know their lines, read without ever building foreign objects.

Both parsers are iterative (nesting cannot exhaust the stack), keep what stands before a damaged place, and
cap nodes and depth, also where YAML aliases multiply them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...engine.model import Scalar

MAX_NODES = 200_000
MAX_DEPTH = 60
MAX_LEAVES = 20_000
MANY_ROWS = 20  # a list of more lists of numbers is a table or a curve


@dataclass(slots=True)
class Node:
    """A mapping, a sequence or a scalar of a configuration file, with its line (from 1)."""

    line: int
    kind: str  # "map", "list" or "leaf"
    value: Scalar = None
    items: dict[str, Node] = field(default_factory=dict)
    text: bool = False  # written as text (quoted, or a form that the usual YAML reader takes for text)


@dataclass(slots=True)
class Tree:
    """A parsed file: its root (None: nothing), and what went wrong on the way."""

    root: Node | None = None
    notes: list[str] = field(default_factory=list)
    as_text: list[tuple[str, int, str]] = field(default_factory=list)  # (key, line, what was written)


Leaf = tuple[str, "Scalar | tuple[Scalar, ...]", int]


def leaves(tree: Tree) -> list[Leaf]:
    """Flatten a tree: dotted key, value, line. Lists of scalars are tuples; other lists are numbered."""
    found: list[Leaf] = []
    if tree.root is None:
        return found
    stack: list[tuple[str, Node, int]] = [("", tree.root, 0)]
    seen = 0
    while stack:
        path, node, depth = stack.pop()
        seen += 1
        if seen > MAX_NODES or len(found) >= MAX_LEAVES:
            tree.notes.append(f"only the first {len(found)} settings were read")
            break
        if depth > MAX_DEPTH:
            if not any("nested" in n for n in tree.notes):
                tree.notes.append(f"nested deeper than {MAX_DEPTH} levels; the rest was not read")
            continue
        if node.kind == "leaf":
            found.append((path, node.value, node.line))
            if node.text and isinstance(node.value, str) and _FLOAT.fullmatch(node.value.strip()):
                tree.as_text.append((path, node.line, node.value.strip()))
        elif node.kind == "list" and all(n.kind == "leaf" for n in node.items.values()):
            found.append((path, tuple(n.value for n in node.items.values()), node.line))
        elif not _is_table(node):
            prefix = f"{path}." if path else ""
            stack.extend((prefix + k, n, depth + 1) for k, n in reversed(node.items.items()))
    return found


def _is_table(node: Node) -> bool:
    """Whether these are many rows of numbers: what was measured, and no setting."""
    return (
        node.kind == "list"
        and len(node.items) > MANY_ROWS
        and all(
            row.kind == "list" and all(isinstance(n.value, (int, float)) for n in row.items.values())
            for row in node.items.values()
        )
    )


# ------------------------------------------------------------------------------------------------- YAML

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {
    w: v
    for v, ws in ((True, "yes on true"), (False, "no off false"))
    for b in ws.split()
    for w in (b, b.capitalize(), b.upper())
}
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
# HyperPyYAML (SpeechBrain) names the class that a mapping is given to in its tag: `!new:torch.optim.Adam`
_TAGGED_CLASS = re.compile(r"!(?:new|name):([A-Za-z_][\w.]*)$")
# What PyYAML takes for a float: a dot, and a sign in the exponent. "1e-5" and "1.0e5" are text to it.
_PYYAML_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"
)


def plain(text: str) -> tuple[Scalar, bool]:
    """Read a plain scalar; the second value says that the usual YAML reader takes it for text."""
    if text in _NULL:
        return None, False
    if text in _BOOL:
        return _BOOL[text], False
    if _INT.fullmatch(text) and len(text) < 400:
        return int(text.replace("_", "")), False
    if _PYYAML_FLOAT.fullmatch(text):
        return _float(text), False
    if _FLOAT.fullmatch(text) and ("e" in text or "E" in text):
        return text, True
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        return int(text, 16), False
    return text, False


def _float(text: str) -> float:
    word = text.lower().replace("_", "")
    if word.lstrip("+-") == ".inf":
        return -math.inf if word.startswith("-") else math.inf
    return math.nan if word == ".nan" else float(word)


def parse_yaml(text: str) -> Tree:
    """Parse the first document. Python tags become plain data; duplicate keys and damage become notes."""
    import yaml

    builder = _Yaml()
    shallow = _shallow(text)
    if len(shallow) < len(text):
        builder.tree.notes.append(f"nested deeper than {4 * MAX_DEPTH} brackets; the rest was not read")
    try:
        for event in yaml.parse(shallow, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if not builder.take(event):
                break
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        builder.tree.notes.append(f"not valid YAML{where}; what stands before was read")
    except (ValueError, OverflowError):
        builder.tree.notes.append("holds characters that YAML does not allow; what stands before was read")
    return builder.tree


def brackets_are_shallow(text: str) -> bool:
    """Whether brackets are nested no deeper than is read."""
    return len(_shallow(text)) == len(text)


def _shallow(text: str) -> str:
    """Cut the text where brackets are nested too deep: the parser's time grows with the depth squared."""
    depth = 0
    for match in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if match.group() in "[{" else max(0, depth - 1)
        if depth > 4 * MAX_DEPTH:
            return text[: match.start()]
    return text


class _Yaml:
    """Builds the tree from parser events with its own stack; lives only inside `parse_yaml`."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.stack: list[Node] = []
        self.keys: list[str | None] = []
        self.ordered: list[bool] = []  # whether the node is a dumped OrderedDict, by level
        self.anchors: dict[str, Node] = {}
        self.count = 0

    def take(self, event: Any) -> bool:
        """Take one event; False ends the reading."""
        kind = type(event).__name__
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            node = Node(event.start_mark.line + 1, "map" if kind[0] == "M" else "list")
            made = _TAGGED_CLASS.match(event.tag or "")
            if made is not None and node.kind == "map":
                node.items["_target_"] = Node(node.line, "leaf", made.group(1), text=True)
            self._anchor(event, node)
            self._put(node)
            self.stack.append(node)
            self.keys.append(None)
            self.ordered.append((event.tag or "").endswith("collections.OrderedDict"))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            ended = self.stack.pop()
            self.keys.pop()
            if self.ordered.pop():
                _as_mapping(ended)
        elif kind == "ScalarEvent":
            node = _scalar(event)
            self._anchor(event, node)
            self._put(node)
        elif kind == "AliasEvent":
            self._put(self.anchors.get(event.anchor) or Node(event.start_mark.line + 1, "leaf"))
        self.count += 1
        if self.count > MAX_NODES:
            self.tree.notes.append(f"more than {MAX_NODES} entries; the rest was not read")
            return False
        return kind != "DocumentEndEvent"

    def _anchor(self, event: Any, node: Node) -> None:
        if event.anchor:
            self.anchors[event.anchor] = node

    def _put(self, node: Node) -> None:
        if not self.stack:
            if self.tree.root is None:
                self.tree.root = node
            return
        parent = self.stack[-1]
        if parent.kind == "list":
            parent.items[str(len(parent.items))] = node
        elif self.keys[-1] is None:
            self.keys[-1] = str(node.value) if node.kind == "leaf" else f"<{node.kind}>"
        else:
            self._set(parent, self.keys[-1], node)
            self.keys[-1] = None

    def _set(self, parent: Node, key: str, node: Node) -> None:
        if key == "<<":
            merged = [node] if node.kind == "map" else list(node.items.values())
            for source in merged:
                for name, item in source.items.items():
                    parent.items.setdefault(name, item)
            return
        if key in parent.items and parent.items[key].line >= parent.line:
            first = parent.items[key].line
            self.tree.notes.append(f"{key} stands twice (lines {first} and {node.line}); the last one counts")
        parent.items[key] = node


def _as_mapping(node: Node) -> None:
    """Make a mapping of a dumped OrderedDict: a list of one list of pairs (Stable-Baselines3's zoo)."""
    rows = list(node.items.values())
    pairs = list(rows[0].items.values()) if node.kind == "list" and len(rows) == 1 else []
    if pairs and all(p.kind == "list" and len(p.items) == 2 and p.items["0"].kind == "leaf" for p in pairs):
        node.kind = "map"
        node.items = {str(p.items["0"].value): p.items["1"] for p in pairs}


def _scalar(event: Any) -> Node:
    line = event.start_mark.line + 1
    tag = event.tag or ""
    if not event.value and "python/name:" in tag:
        return Node(line, "leaf", tag.rpartition("python/name:")[2])
    if not event.value and (made := _TAGGED_CLASS.match(tag)) is not None:
        return Node(line, "leaf", made.group(1))
    if not event.implicit[0] and not tag.endswith((":int", ":float", ":bool", ":null")):
        return Node(line, "leaf", event.value, text=event.style in ("'", '"'))
    value, text = plain(event.value)
    if text and tag.endswith(":float"):
        return Node(line, "leaf", float(event.value.replace("_", "")))
    return Node(line, "leaf", value, text=text)


# ------------------------------------------------------------------------------------------------- JSON

_JSON_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|\n|//[^\n]*')
_JSON_WORDS: dict[str, Scalar] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}


def parse_json(text: str) -> Tree:
    """Parse JSON, also when its end is missing; NaN and Infinity are numbers."""
    tree = Tree()
    stack: list[Node] = []
    keys: list[str | None] = []
    line = 1
    count = 0
    for piece in _tokens(text):
        if piece == "\n":
            line += 1
            continue
        if piece in ":,":
            continue
        if piece in "}]":
            if stack:
                stack.pop()
                keys.pop()
            continue
        node = _json_node(piece, line)
        count += 1
        if count > MAX_NODES:
            tree.notes.append(f"more than {MAX_NODES} entries; the rest was not read")
            return tree
        if stack and stack[-1].kind == "map" and keys[-1] is None:
            keys[-1] = str(node.value)
            continue
        if not stack:
            if tree.root is not None:
                break
            tree.root = node
        elif stack[-1].kind == "list":
            stack[-1].items[str(len(stack[-1].items))] = node
        else:
            key = str(keys[-1])
            if key in stack[-1].items:
                first = stack[-1].items[key].line
                tree.notes.append(f"{key} stands twice (lines {first} and {line}); the last one counts")
            stack[-1].items[key] = node
            keys[-1] = None
        if node.kind != "leaf":
            stack.append(node)
            keys.append(None)
    if stack:
        tree.notes.append("ends in the middle; what stands before was read")
    return tree


def _tokens(text: str) -> Iterator[str]:
    return (m.group() for m in _JSON_TOKEN.finditer(text) if not m.group().startswith("//"))


def _json_node(piece: str, line: int) -> Node:
    if piece in "{[":
        return Node(line, "map" if piece == "{" else "list")
    if piece.startswith('"'):
        try:
            return Node(line, "leaf", json.loads(piece, strict=False), text=True)
        except ValueError:
            return Node(line, "leaf", piece.strip('"'))
    if piece in _JSON_WORDS:
        return Node(line, "leaf", _JSON_WORDS[piece])
    if _INT.fullmatch(piece) and len(piece) < 400:
        return Node(line, "leaf", int(piece.replace("_", "")))
    try:
        return Node(line, "leaf", float(piece))
    except ValueError:
        return Node(line, "leaf", piece)
