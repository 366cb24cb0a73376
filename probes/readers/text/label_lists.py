"""The labels of a first sample, as LLaMA-Factory, Swift and their kin print them before training begins.

Where every label of it is the one that counts for nothing, the answer was cut off or never found. The line
looks like that of the inputs, so that it is searched for in the whole head of the log.
"""

from __future__ import annotations

import re

from ...run import Event

LOOK = 4 * 1024 * 1024  # samples are printed before training begins
LEAST = 4  # labels, so that an empty answer of a toy is none
_LABELS = re.compile(
    rb"^[^\n]{0,120}?\blabels?(?:_?ids?)?[\"'\]]?[ \t]*[:=]?\s{0,4}(?:tensor\()?\[+([-\d., \t]+)\]",
    re.MULTILINE | re.IGNORECASE,
)
_COUNTED = re.compile(
    rb"^[^\n]{0,120}?\blabels?\W{1,4}\[-100 ?\* ?(\d+)\][ \t\r]*$", re.MULTILINE | re.IGNORECASE
)


def all_masked(data: bytes, file: str) -> tuple[Event, ...]:
    """The event of a printed sample without any label, if there is one and none with a label beside it."""
    head = data[:LOOK]
    if not any(mark in head for mark in (b"-100, -100", b"-100,-100", b"[-100 *", b"[-100*")):
        return ()
    found = next((head.count(b"\n", 0, m.start(1)) + 1 for m in _COUNTED.finditer(head)), None)
    for labels in _LABELS.finditer(head):
        values = labels[1].split(b",")
        if any(v.strip() not in (b"-100", b"...") for v in values):
            return ()
        if len(values) >= LEAST and found is None:
            found = head.count(b"\n", 0, labels.start(1)) + 1
    if found is None:
        return ()
    text = "every label of the sample that is printed is -100: none counts"
    return (Event("known-warning", file, found, text=text, data="all-labels-masked"),)


_TOLD = re.compile(
    rb"\b(?:valid|effective|supervised|unmasked|label|labell?ed|target|loss)[ _]tokens?[\"']?"
    rb"[ :=]{1,9}(\d{1,12})\b(?![.\d])",
    re.IGNORECASE,
)
FEW = 10  # counts, most of them above none


def none_counted(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """The event of a log that counts the tokens of the loss at each step, and at some of them counts none."""
    if b"oken" not in data[:LOOK]:
        return ()
    counts = [(int(m[1]), m.start()) for m in _TOLD.finditer(data)]
    empty = [at for count, at in counts if not count]
    if len(counts) < FEW or not empty or len(empty) > len(counts) / 2:
        return ()
    text = f"{len(empty)} of {len(counts)} steps count no token in the loss"
    line = data.count(b"\n", 0, empty[0]) + 1
    return (Event("worked-out", file, line, rank=rank, text=text, data="steps-without-labels"),)
