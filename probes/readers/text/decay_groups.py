"""Groups of parameters that a log prints with their weight decay: which of them are decayed at all.

"group 0: 197 tensors, weight_decay=0.05"     "num non-decayed parameter tensors: 98, with 121,344 parameters"
"Param groups = {" ... '"no_decay": {"weight_decay": 0.0, "params": [...]'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...run import Event

DATA = "decay-groups"
LOOK = 1024 * 1024  # they are printed before the first step
_DECAY = r"[\"']?(?:weight[_ ]?decay|wd)[\"']?\s*[:=]\s*(\d*\.?\d+(?:e[-+]?\d+)?)(?![\w.])"
_ONE = re.compile(  # what counts is in one line: a number of the group, and its decay
    rf"(?i)\bgroups?\W{{0,3}}\d{{1,3}}\b[^\n|;{{]{{0,160}}?\b{_DECAY}"
)
_LISTED = re.compile(r"(?i)\bparam(?:eter)?[_ ]groups?\W{0,3}(?:\d{1,3}\b)?[^\n]{0,40}$", re.MULTILINE)
_INSIDE = re.compile(rf"(?i)^\W{{0,24}}{_DECAY}", re.MULTILINE)
_CLOSED = re.compile(r"^[)}\]]+\s*$", re.MULTILINE)
_COUNTED = re.compile(r"(?i)\bnum(?:ber of)? (non-?|un|not )?decayed parameter tensors\s*[:=]\s*(\d{1,7})")
_SPAN = 200_000


def printed(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """One event that says how many groups there are; its value is how many of them are not decayed."""
    head = data[:LOOK]
    if re.search(rb"(?i)group|decayed", head) is None or re.search(rb"(?i)decay|\bwd\b", head) is None:
        return ()
    text = head.decode("utf-8", "replace")
    found = list(_by_line(text)) or list(_by_block(text)) or list(_by_count(text))
    if not found:
        return ()
    decayed = [value for _, value in found if value > 0]
    if not decayed:
        return ()
    free = len(found) - len(decayed)
    line = text.count("\n", 0, found[0][0]) + 1
    said = f"{len(found)} groups of parameters, {free} without weight decay"
    if len(found) == 1:
        said = "all parameters are in one group, with weight decay"
    return (Event("worked-out", file, line, None, float(free), rank, said, DATA),)


def _by_line(text: str) -> Iterator[tuple[int, float]]:
    for one in _ONE.finditer(text):
        yield one.start(), float(one[1])


def _by_block(text: str) -> Iterator[tuple[int, float]]:
    """Groups over several lines: the report of torch, the dictionary of MindFormers."""
    first = _LISTED.search(text)
    if first is not None:
        last = _CLOSED.search(text, first.end(), first.end() + _SPAN)
        for one in _INSIDE.finditer(text, first.end(), last.start() if last else first.end() + _SPAN):
            yield one.start(), float(one[1])


def _by_count(text: str) -> Iterator[tuple[int, float]]:
    for one in _COUNTED.finditer(text):
        if int(one[2]):
            yield one.start(), 0.0 if one[1] else 1.0
