"""The shape of a line, found out once for all lines that are alike.

A log repeats a few templates many times. Two lines have the same shape when they are equal but for digits,
signs, points and blanks. The first line of a shape is analysed (which number is the step, which are metrics,
what are they called); a regular expression made of it reads the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from .keys import StepKind
from .numbers import TOKEN

DELETE = b"0123456789.+- \t"  # what lines of one shape may differ in
EPOCH_FIRST = "epoch-first"  # a flag: "[2/7] step 45/280" counts epochs in front
SUMMARY = "summary"  # a flag: the means of an epoch whose parts have lines of their own
_BLANK = rb"[^\S\n]"  # a pattern never leaves its line
_COMPILE_AT = 3  # uses: a regular expression pays only for shapes that come again


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a line that is a metric."""

    slot: int  # which of the captured tokens
    raw: str
    split: Literal["", "train", "eval"]
    canonical: str
    percent: bool = False
    whole: int | None = None  # "9912/10000": the slot of the second number


@dataclass(slots=True)
class Shape:
    """What lines of one shape say. Slots count the captured tokens of a line."""

    texts: tuple[bytes, ...]  # the text between the numbers, without blanks
    needed: tuple[int, ...]  # tokens to capture
    step: int | None = None
    total: int | None = None
    step_kind: StepKind = "step"
    epoch: int | None = None
    metrics: tuple[Metric, ...] = ()
    header_split: str = ""  # "Validation:" on a line of its own
    places: bool = False  # the step is one that lines below may stand at
    stamped: bool = False
    bar: bool = False
    strong: bool = False  # says enough to be a row where no step is known
    flags: frozenset[str] = frozenset()
    plain: bool = False  # all values are taken as they stand
    evaluating: bool = False  # only metrics of an evaluation
    uses: int = 0
    pattern: re.Pattern[bytes] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        special = {"megatron", "overflow-true"} & self.flags
        odd = any(m.percent or m.whole is not None or m.canonical == "skipped" for m in self.metrics)
        self.plain = not special and not odd
        splits = {m.split or m.canonical.partition("/")[0] for m in self.metrics}
        self.evaluating = bool(splits & {"eval", "test"}) and "train" not in splits

    @property
    def placed(self) -> bool:
        """Whether the line itself names a step or an epoch."""
        return self.step is not None or self.epoch is not None

    def tokens(self, line: bytes) -> tuple[bytes, ...] | None:
        """Return the needed tokens of a line of this shape, or None when it differs in more than numbers."""
        if self.pattern is not None:
            match = self.pattern.match(line)
            if match is not None:
                return match.groups()
        parts = TOKEN.split(line)
        if len(parts) // 2 != len(self.texts) - 1 or texts_of(parts) != self.texts:
            return None
        self.uses += 1
        if self.uses == _COMPILE_AT:
            self.pattern = _compile(self.needed, parts)
        return tuple(parts[2 * at + 1] for at in self.needed)

    def columns(self, lines: list[bytes]) -> list[tuple[bytes, ...]] | None:
        """Return the needed tokens of many lines, column by column; None when any line is another's."""
        if self.pattern is None or not self.needed:
            return None
        found = self.pattern.findall(b"\n".join(lines))
        if len(found) != len(lines):
            return None
        return [tuple(found)] if len(self.needed) == 1 else list(zip(*found, strict=True))


def texts_of(parts: list[bytes]) -> tuple[bytes, ...]:
    """The texts between the numbers of a line, without blanks; `parts` is what TOKEN splits it into."""
    return tuple(p.translate(None, b" \t") for p in parts[0::2])


def _compile(needed: tuple[int, ...], parts: list[bytes]) -> re.Pattern[bytes] | None:
    """Make the regular expression of a shape: its texts, with a group for each needed number."""
    if not needed:
        return None
    out = []
    for at in range(needed[-1] + 1):
        out.append(_literal(parts[2 * at]))
        if at in needed:
            out.append(rb"([\d,.eE+-]+)" if b"," in parts[2 * at + 1] else rb"([^\s,;|\]})\"'/%=*#<>!]+)")
        else:
            out.append(rb"[^\s|;)\]}]*")
    out.append(_literal(parts[2 * needed[-1] + 2][:2]))
    try:
        return re.compile(b"^" + b"".join(out), re.MULTILINE)
    except re.error:
        return None


def _literal(text: bytes) -> bytes:
    """A text as a pattern: at its ends blanks may be more or missing (numbers are padded)."""
    words = [re.escape(w) for w in text.split()]
    return _BLANK + b"*" + (_BLANK + b"+").join(words) + (_BLANK + b"*" if words else b"")
