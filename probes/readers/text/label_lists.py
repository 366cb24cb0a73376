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
