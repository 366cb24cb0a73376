"""Configurations that a log prints over many lines: YAML (detectron2, Paddle), Python (OpenMMLab), JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from .._config_tree import leaves, parse_json, parse_yaml
from . import arguments
from .stamps import PREFIX

MAX_LINES = 4000
MAX_BYTES = 512 * 1024
_START = re.compile(
    rb"(?:Contents of args\.config_file=\S{0,200}:$|\bconfig(?:uration|s)?|\bargs|\barguments|\bcfg|\bflags"
    rb"|\bhyper-?param(?:eter)?s|\bparameters)\s*(?:is|are)?\s*:?\s*(\{)?\s*$",
    re.IGNORECASE,
)
_MODEL_CONFIG = re.compile(rb"\b(\w*Config) (\{)\s*$")
_OPENING = re.compile(r"\w*\((?=\w+=|\s*$).*|\{.*")
_END = re.compile(
    rb"^\s*(?:\[?\d{4}-\d\d-\d\d|\[\d\d/\d\d \d\d:|\d\d:\d\d:\d\d|\[?(?:INFO|WARNING|ERROR|DEBUG)\b"
    rb"|Traceback|\[rank)"
)

_LIKE_CONFIG = re.compile(rb"^(?:\s+\S|#|-\s|[\])}{]|[\w.\"'/-]+\s*:(?:\s|$)|\w+ = |---\s*$)")
_ROW = re.compile(
    rb"(?i)(?=.{0,200}(?:loss|\bacc\b|accuracy|\berr|reward|ppl))"
    rb"(?:\s*[A-Za-z][\w.-]{0,30} ?[:=] ?[-+]?\d[\d.eE+-]*%?[\s,|;]+){2}[A-Za-z]"
)  # "Epoch: 5%  lr: 0.1  loss: 2"
_SECTION = re.compile(rb"[A-Za-z_]\w{0,60} ?:\s*$")
_ENTRY = re.compile(rb"[A-Za-z_][\w.\-]{0,60} ?:(?:\s|$)")


def begins(line: bytes) -> bytes | None:
    """Return how the first line of a block goes on (b"" or b"{"), or None when none begins here."""
    if len(line) > 400:
        return None
    stripped = line.rstrip()
    match = _MODEL_CONFIG.search(stripped)
    if match:
        return match.group(2)
    match = _START.search(stripped)
    if match:
        return match.group(1) or b""
    text = stripped.decode("utf-8", "replace")
    if not arguments.opens(text):
        return None
    found = _OPENING.search(text)
    return found.group(0).encode() if found else None


class Block:
    """The lines of one block, as long as they go on."""

    def __init__(self, first: bytes, number: int) -> None:
        self.number = number
        self.lines = [first] if first else []
        self.size = 0
        self.offset = 0 if first else 1
        self.depth = _depth(first)
        self.closed = bool(first)  # goes on to the bracket that closes it, whatever the lines look like

    def takes(self, line: bytes) -> bool:
        """Add a line; False when the block was over before it."""
        if len(self.lines) >= MAX_LINES or self.size > MAX_BYTES or _END.match(line):
            return False
        if not line.strip() and not self.closed and self.lines and not self.lines[-1].strip():
            return False
        if self.closed and self.depth <= 0:
            return False
        if not self.closed and not self.lines and line.startswith(b"{"):
            self.closed = True
        if not self.closed and line.strip() and not _LIKE_CONFIG.match(line):
            return False
        if not self.closed and self.depth <= 0 and _ROW.match(line):
            return False
        self.lines.append(line)
        self.size += len(line)
        self.depth += _depth(line)
        return True

    def settings(self) -> Iterator[tuple[str, arguments.Value, int]]:
        """Return (dotted key, value, line) of what the block holds; nothing when it is no configuration."""
        text = b"\n".join(self.lines).decode("utf-8", "replace")
        if not text.strip():
            return
        found: Iterable[tuple[str, arguments.Value, int]]
        start = text.lstrip()
        if start.startswith("{"):
            tree = parse_json(text)
            printed = list(arguments.expression(text)) if "'" in start or tree.notes else []
            found = printed or (leaves(tree) if tree.root is not None and tree.root.kind == "map" else ())
        elif self.closed:
            found = arguments.expression(text)
        elif re.search(r"^\w+ = ", text, re.MULTILINE):
            yield from self._python(text)
            return
        else:
            tree = parse_yaml(text)
            found = leaves(tree) if tree.root is not None and tree.root.kind == "map" else ()
        for key, value, line in found:
            yield key, value, self.number + self.offset + line - 1

    def _python(self, text: str) -> Iterator[tuple[str, arguments.Value, int]]:
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for node in module.body:
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                for key, value, line in arguments.located(node.value, node.targets[0].id):
                    yield key, value, self.number + self.offset + line - 1


def section(line: bytes, number: int) -> Section | None:
    """The block that a logged `Optimizer :` begins: its entries are logged farther in, each by itself."""
    match = PREFIX.match(line) if len(line) < 400 else None
    if match is None or not match.end() or not _SECTION.match(line, match.end()):
        return None
    return Section(line[match.end() :].rstrip(), match.end(), number)


class Section(Block):
    """A printed tree with a time stamp or a level before each of its lines.

    `column` is where its outermost names begin: what stands farther to the right is farther in.
    """

    def __init__(self, first: bytes, column: int, number: int) -> None:
        super().__init__(b"", number)
        self.lines, self.offset, self.column = [first], 0, column

    def takes(self, line: bytes) -> bool:
        """Add a line; False when it is no entry of the tree, or the section has none."""
        match = PREFIX.match(line)
        if match is None or len(self.lines) >= MAX_LINES or self.size > MAX_BYTES:
            return False
        deeper = match.end() - self.column
        if deeper < (1 if len(self.lines) == 1 else 0) or not _ENTRY.match(line, match.end()):
            return False
        self.lines.append(b" " * deeper + line[match.end() :].rstrip())
        self.size += len(line)
        return True


def _depth(line: bytes) -> int:
    """How many brackets a line opens less those that it closes."""
    return sum(map(line.count, (b"{", b"[", b"("))) - sum(map(line.count, (b"}", b"]", b")")))


def is_measured(found: Iterable[tuple[str, arguments.Value, int]]) -> bool:
    """Whether a printed dict holds what was measured, not what was set: a loss or a metric as a number."""
    return any(
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and re.search(r"(?:^|[._/])(?:loss|acc|accuracy|f1|map|iou|ppl|perplexity)$", key.lower())
        for key, value, _ in found
    )
