"""Rows over many lines, names of several words, values in sentences: written out as plain rows.

Boxes of names and values (Stable-Baselines3, and whoever prints a dictionary in a frame) become one line of
`name: value` where the box ends; a line of column names over a rule of dashes (spaCy, tabulate) gets names
without blanks; "the training loss was 0.31" becomes `training loss: 0.31` where it is said again and again.
A dictionary that is printed over several lines becomes one, and `('loss', 2.3)` a name with its value.
Lines stay lines: what is said of a line of the log is said of the file's.
"""

from __future__ import annotations

import re

from . import known_lines

FAR = 256 * 1024  # how far to look for such a layout
_FRAME = re.compile(rb"^[ \t]*[-+=]{10,}[ \t]*$")
_BOXED = re.compile(rb"^[ \t]*\|[ \t]{1,6}(\S[^|]*?)[ \t]*\|[ \t]*([^|]*?)[ \t]*\|[ \t]*$")
_A_BOX = re.compile(
    rb"^[ \t]*[-+=]{10,}[ \t]*\n(?:[ \t]*\|[^|\n]+\|[^|\n]*\|[ \t]*\n){2,}[ \t]*[-+=]{10,}", re.M
)
_VALUE = re.compile(rb"[-+]?(?:\d[\d_,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)$", re.IGNORECASE)
_OF_STEPS = {b"total_timesteps": b"step", b"timesteps": b"step", b"total timesteps": b"step"}
LONGEST = 80  # lines of a box

_RULED = re.compile(rb"^(?=[^\n]*[A-Za-z#])([^\n]+)\n[ \t]*(-{2,}(?:[ \t]+-{2,})+)[ \t]*$", re.M)
_COLUMN = re.compile(rb"-{2,}")
_SPACY = {b"E": b"epoch", b"#": b"step", b"SCORE": b"eval_f1"}  # `spacy train`'s own names

_SAID = re.compile(
    rb"(?:\b(?:the|a|an|with|its)\s+){0,3}\b((?:train(?:ing)?|val(?:idation)?|test|dev|eval(?:uation)?|mean|average)\s+"
    rb"(?:loss|accuracy|error|perplexity|f1|score)|learning\s+rate)\s+"
    rb"(?:was|is|of|is\s+now|stood\s+at|stands\s+at|came\s+to|comes\s+to|reached)\s+(?=[-+]?(?:\d|nan\b|inf\b))",
    re.IGNORECASE,
)
AGAIN = 3  # times that such a sentence stands in the log's head

# pprint writes a dictionary that is too long for one line over several, an entry to each
_ENTRY = rb"'[\w./@ -]{1,80}': [-+\w.]{1,30}"
_PRINTED = re.compile(rb"\{" + _ENTRY + rb"(?:,\n {1,8}" + _ENTRY + rb"){1,100}\}[ \t]*$", re.M)
_PAIR = re.compile(rb"\('([A-Za-z][\w./@-]{0,60})', ([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf))\)")


def written_out(data: bytes) -> bytes:
    """Return the log with such layouts as plain rows; the same object where there are none."""
    head = data[:FAR]
    if b"-----" in head and b"|" in head and _A_BOX.search(head):
        data = _unboxed(data)
    if b"---" in head and _RULED.search(head):
        data = _RULED.sub(_named, data)
    if len(_SAID.findall(head)) >= AGAIN:
        data = _SAID.sub(rb"\1: ", data)
    if b"('" in head and len(_PAIR.findall(head)) >= AGAIN:
        data = _PAIR.sub(rb"\1: \2", data)
    data = known_lines.written_out(data, FAR)
    head = data[:FAR]
    if b"{'" in head and len(_PRINTED.findall(head)) >= AGAIN:
        data = _PRINTED.sub(_on_one_line, data)
    return data


def _unboxed(data: bytes) -> bytes:
    lines = data.split(b"\n")
    start = -1  # the line of the frame that may begin a box
    pairs: list[bytes] = []
    section = b""
    for at, line in enumerate(lines):
        if _FRAME.match(line):
            if start >= 0 and len(pairs) >= 2:
                lines[start:at] = [b""] * (at - start)
                steps = [p for p in pairs if p.startswith(b"step ")]
                lines[at] = b" ".join(steps + [p for p in pairs if p not in steps])
            start, pairs, section = at, [], b""
            continue
        row = _BOXED.match(line) if start >= 0 and at - start <= LONGEST else None
        if row is None:
            start = -1
            continue
        name, value = row.groups()
        if not value and name.endswith(b"/"):
            section = name
        elif _VALUE.match(value):
            plain = _OF_STEPS.get(name)
            pairs.append(b"%s %s" % (plain, value) if plain else b"%s%s: %s," % (section, name, value))
    return b"\n".join(lines)


def _named(match: re.Match[bytes]) -> bytes:
    """A line of names over its rule, each name without blanks within."""
    header, rule = match.group(1), match.group(0).split(b"\n")[-1]
    starts = [m.start() for m in _COLUMN.finditer(rule)]
    spans = zip(starts, [*starts[1:], max(len(header), len(rule))], strict=True)
    cells = [header[a:b].strip() for a, b in spans]
    if not all(cells) or header[: starts[0]].strip():
        return match.group(0)
    if {b"E", b"#", b"SCORE"} <= set(cells):
        cells = [_SPACY.get(c, c) for c in cells]
    return b"  ".join(re.sub(rb"\s+", b"_", c) for c in cells) + b"\n" + rule


def _on_one_line(match: re.Match[bytes]) -> bytes:
    """A printed dictionary in one line, with the lines that it takes up left empty before it."""
    text = match.group(0)
    return b"\n" * text.count(b"\n") + re.sub(rb"\n\s*", b" ", text)
