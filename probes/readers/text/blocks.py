"""Configurations that a log prints over many lines: YAML (detectron2), Python (OpenMMLab), JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .._config_tree import leaves, parse_json, parse_yaml
from . import arguments

MAX_LINES = 4000
MAX_BYTES = 512 * 1024
_START = re.compile(
    rb"(?:Contents of args\.config_file=\S{0,200}:$|\bconfig(?:uration|s)?|\bargs|\barguments|\bcfg|\bflags"
    rb"|\bhyper-?param(?:eter)?s|\bparameters)\s*(?:is|are)?\s*:?\s*(\{)?\s*$",
    re.IGNORECASE,
)
_MODEL_CONFIG = re.compile(rb"\b(\w*Config) (\{)\s*$")
_END = re.compile(
    rb"^\s*(?:\[?\d{4}-\d\d-\d\d|\[\d\d/\d\d \d\d:|\d\d:\d\d:\d\d|\[?(?:INFO|WARNING|ERROR|DEBUG)\b"
    rb"|Traceback|\[rank)"
)

_LIKE_CONFIG = re.compile(rb"^(?:\s+\S|#|-\s|[\])}]|[\w.\"'/-]+\s*:(?:\s|$)|\w+ = |---\s*$)")


def begins(line: bytes) -> bytes | None:
    """Return how the first line of a block goes on (b"" or b"{"), or None when none begins here."""
    if len(line) > 400:
        return None
    stripped = line.rstrip()
    match = _MODEL_CONFIG.search(stripped)
    if match:
        return match.group(2)
    match = _START.search(stripped)
    return (match.group(1) or b"") if match else None


class Block:
    """The lines of one block, as long as they go on."""

    def __init__(self, first: bytes, number: int) -> None:
        self.number = number
        self.lines = [first] if first else []
        self.size = 0
        self.offset = 0 if first else 1
        self.braces = first.count(b"{")
        self.json = bool(first)

    def takes(self, line: bytes) -> bool:
        """Add a line; False when the block was over before it."""
        if len(self.lines) >= MAX_LINES or self.size > MAX_BYTES or _END.match(line):
            return False
        if not line.strip() and not self.json and self.lines and not self.lines[-1].strip():
            return False
        if self.json and self.braces <= 0:
            return False
        if not self.json and line.strip() and not _LIKE_CONFIG.match(line):
            return False
        self.lines.append(line)
        self.size += len(line)
        self.braces += line.count(b"{") - line.count(b"}")
        return True

    def settings(self) -> Iterator[tuple[str, arguments.Value, int]]:
        """Return (dotted key, value, line) of what the block holds; nothing when it is no configuration."""
        text = b"\n".join(self.lines).decode("utf-8", "replace")
        if not text.strip():
            return
        if text.lstrip().startswith("{"):
            tree = parse_json(text)
        elif re.search(r"^\w+ = ", text, re.MULTILINE):
            yield from self._python(text)
            return
        else:
            tree = parse_yaml(text)
        if tree.root is None or tree.root.kind != "map":
            return
        for key, value, line in leaves(tree):
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
                for key, value in arguments.walk(node.value, node.targets[0].id, 0):
                    yield key, value, self.number + self.offset + node.lineno - 1
