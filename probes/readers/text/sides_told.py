"""Lines that give numbers under the names of the data sets alone, and lines of several models in turns.

`train 0.31 (90.1%)  test 0.42 (88.0%)`: the number beside a percentage, or one that falls, is a loss.
`train total 0.31 (bce 0.11, dice 0.20)`: a total that stands before its parts is the loss.
`loss 0.8  test loss 0.9  R2 0.61 / 0.58`: two numbers under one name, of training and of the other.
`cnn: train loss 0.31` below `mlp: train loss 0.28`: two models, of which one at a time makes a curve.
Looked for in the whole head of a log, for a line alone does not tell. Lines stay lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ...assembly import names
from . import keys
from .stamps import PREFIX

AGAIN = 3  # such lines in the head
FALLS = 0.8  # of the first value: a score that falls as far is as good as none
_N = rb"[-+]?(?:\d+\.\d*(?:[eE][-+]?\d+)?|nan|inf)"
_SHARE = rb"(?:\s{0,2}[(\[/,]?\s{0,2}(\d{1,3}(?:\.\d+)?)\s?%[)\]]?)?"
_GAP = rb"[ \t,|;/]{1,8}"
_TRAIN, _HELD = rb"(?:train(?:ing)?|trn|tr)", rb"(?:val(?:id(?:ation)?)?|test(?:ing)?|dev|eval|held[_-]?out)"
_PAIR = re.compile(
    rb"^([^\n]{0,120}?)(?<![\w.-])(" + _TRAIN + rb")[ \t=:]{1,4}(" + _N + rb")(?![\w.])" + _SHARE + _GAP
    + rb"(" + _HELD + rb")[ \t=:]{1,4}(" + _N + rb")(?![\w.])" + _SHARE + rb"(?=[ \t,|;]|$)",
    re.MULTILINE | re.IGNORECASE,
)  # fmt: skip
_UNIT = re.compile(rb"[ \t]?(?:[mun]?s|sec\w*|min\w*|hours?|[kMG]i?B|%)(?![\w])")
_WORD = re.compile(r"[A-Za-z][\w-]*")
_PLAIN = frozenset({"epoch", "ep", "e", "step", "iter", "iteration", "it", "round", "end", "of", "done"})
# Levels and programs that log, and the parts that train against or with each other: no models of their own
_NO_MODELS = frozenset(
    {"info", "debug", "root", "main", "trainer", "logger", "stdout", "run", "all", "total", "mean", "average"}
    | {"d", "g", "disc", "gen", "discriminator", "generator", "critic", "actor", "policy", "value"}
)
LEARNS_NOT, LEARNS = 0.1, 0.3  # of the first loss that is gone at the end

_TOTAL = re.compile(
    rb"\b(" + _TRAIN + rb"|" + _HELD + rb")([ _/-])total([ =:]{1,4}" + _N + rb")(?![\w.%])"
    rb"(\s{0,2}[(\[](?:[A-Za-z]\w*[ =:]{1,3}" + _N + rb"[, |;]{0,3}){1,8}[)\]])?",
    re.IGNORECASE,
)  # fmt: skip
_PART = re.compile(rb"([A-Za-z]\w*)(?=[ =:]{1,3}[-+\d.ni])")

_BOTH = re.compile(
    rb"\bloss[ =:]{1,4}" + _N + rb"[ \t,|;]{1,4}(" + _HELD + rb")[ _-]loss[ =:]{1,4}" + _N, re.IGNORECASE
)  # fmt: skip
_TWO = re.compile(
    rb"(?<![\w/-])([A-Za-z][\w@-]{0,24})([ =:]{1,4})(" + _N + rb") / (" + _N + rb")(?=[ \t,|;)\]\r]|$)"
)

_LABEL = re.compile(
    rb"[ \t]*(?:[\[(<]?([A-Za-z][\w.-]{0,24})[\])>]?[ \t]?[:|]"
    rb"|[\[(<]([A-Za-z][\w.-]{0,24})[\])>])[ \t]+(?=\S)"
)
_FIRST = re.compile(_N, re.IGNORECASE)
_DIGITS = re.compile(rb"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?%?|\bnan\b|\binf\b|\s")


def written_out(data: bytes, far: int) -> tuple[bytes, list[str]]:
    """Return the log with such lines written out, looked for in its first `far` bytes, and what to tell."""
    data = _side_by_side(_totals(_pairs(data, data[:far]), far), far)
    return _one_model(data, data[:far])


# --------------------------------------------------------------------------------- sides alone


def _pairs(data: bytes, head: bytes) -> bytes:
    rows = [m for m in _PAIR.finditer(head) if _bare(m)]
    if len(rows) < AGAIN or not _losses(rows):
        return data
    return _PAIR.sub(lambda m: _written(m) if _bare(m) else m.group(), data)


def _bare(match: re.Match[bytes]) -> bool:
    """Nothing before the pair names what the numbers are, and no unit behind them does."""
    for at in (3, 6):
        if not match.group(at + 1) and _UNIT.match(match.string, match.end(at)):
            return False
    before = match.group(1).decode("utf-8", "replace").rstrip()
    words = [w.lower() for w in _WORD.findall(before)]
    if any(w in _TIMES or names.canonical(w) or keys.quantity_of(w, ":") for w in words):
        return False
    if sum(w not in _PLAIN and w not in _NO_MODELS for w in words) > 1:
        return False  # a name of several words
    return not words or words[-1] in _PLAIN or before[-1] in "|:,;-])>" or before[-1].isdigit()


_TIMES = frozenset(
    {"time", "times", "sec", "secs", "seconds", "elapsed", "took", "size", "sizes", "samples"}
    | {"lr", "rate", "rates"}
)


def _losses(rows: list[re.Match[bytes]]) -> bool:
    """Whether the numbers are losses: percentages stand beside them, or they fall as no score does."""
    if all(m.group(4) and m.group(7) for m in rows):
        return True
    if any(m.group(4) or m.group(7) for m in rows):
        return False
    learned = [float(m.group(3)) for m in rows]
    return learned[-1] < FALLS * learned[0] or learned[-1] != learned[-1]


def _written(match: re.Match[bytes]) -> bytes:
    before, train, loss, share, held, other, theirs = match.groups()
    own = b" acc: %s%%" % share if share else b""
    beside = b" acc: %s%%" % theirs if theirs else b""
    return b"%s%s loss: %s%s | %s loss: %s%s" % (before, train, loss, own, held, other, beside)


# ----------------------------------------------------------------------------- totals of losses


def _totals(data: bytes, far: int) -> bytes:
    if b"total" not in data[:far].lower():
        return data
    told = [m for m in _TOTAL.finditer(data[:far]) if m.group(4)]
    if len(told) < AGAIN:
        return data
    return _TOTAL.sub(_total, data)


def _total(match: re.Match[bytes]) -> bytes:
    side, gap, value, parts = match.groups()
    named = _PART.sub(rb"loss_\1", parts) if parts else b""
    return b"%s%sloss%s%s" % (side, b" " if gap == b" " else b"_", value, named)


# ------------------------------------------------------------------------------- two under one name


def _side_by_side(data: bytes, far: int) -> bytes:
    """Write `loss 0.9 test loss 1.1 R2 0.61 / 0.58` as two scores, if no best so far is told."""
    rows: dict[bytes, list[tuple[float, float]]] = {}
    for line in data[:far].split(b"\n"):
        both = _BOTH.search(line) if b" / " in line else None
        for m in _TWO.finditer(line, both.end()) if both else ():
            rows.setdefault(m.group(1), []).append((float(m.group(3)), float(m.group(4))))
    sides = {name for name, told in rows.items() if len(told) >= AGAIN and not _bests(told)}
    if not sides:
        return data
    return b"\n".join(_apart(line, sides) for line in data.split(b"\n"))


def _bests(rows: list[tuple[float, float]]) -> bool:
    """Whether the second is the largest or smallest of the first until then."""
    for best in (max, min):
        so_far = rows[0][0]
        told = []
        for one, other in rows:
            so_far = best(so_far, one)
            told.append(math.isclose(so_far, other, rel_tol=1e-3, abs_tol=1e-9))
        if all(told):
            return True
    return False


def _apart(line: bytes, scores: set[bytes]) -> bytes:
    both = _BOTH.search(line) if b" / " in line else None
    if both is None:
        return line
    held = both.group(1)

    def written(m: re.Match[bytes]) -> bytes:
        name, gap, one, other = m.groups()
        if name not in scores:
            return m.group()
        return b"train %s%s%s  %s %s%s%s" % (name, gap, one, held, name, gap, other)

    return line[: both.end()] + _TWO.sub(written, line[both.end() :])


# -------------------------------------------------------------------------------- models in turns


def _one_model(data: bytes, head: bytes) -> tuple[bytes, list[str]]:
    """Leave the lines of one of several models that print alike; the others' lines are left empty."""
    by_rest: dict[bytes, list[tuple[bytes, float]]] = {}
    for label, rest, first in _labelled(head.split(b"\n")):
        by_rest.setdefault(rest, []).append((label, first))
    for rows in by_rest.values():
        labels = list(dict.fromkeys(label for label, _ in rows))
        counts = [sum(one == label for one, _ in rows) for label in labels]
        if len(labels) < 2 or min(counts) < AGAIN or max(counts) - min(counts) > 1:
            continue
        if any(a == b for (a, _), (b, _) in pairwise(rows)):
            continue  # one after the other, not in turns
        kept = _judged(labels, rows)
        others = [label for label in labels if label != kept]
        left = ", ".join(label.decode() for label in others)
        note = f"several models are logged in turns: the curves are those of {kept.decode()}, {left} left out"
        return _only(data, kept, frozenset(others)), [note]
    return data, []


def _label(line: bytes) -> tuple[bytes, int, int] | None:
    """The name that a message begins with, and where it begins and ends."""
    prefix = PREFIX.match(line)
    start = prefix.end() if prefix else 0
    match = _LABEL.match(line, start)
    return None if match is None else (match.group(1) or match.group(2), start, match.end())


def _labelled(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, float]]:
    """The labels of lines that tell a loss, with the text behind them and the first number."""
    for line in lines:
        found = _label(line) if len(line) < 400 and b"loss" in line.lower() else None
        if found is None:
            continue
        label, _, end = found
        low, rest = label.decode("ascii", "replace").lower(), line[end:]
        if low in _PLAIN or low in _NO_MODELS or keys.side_of([low]) or any(c.isdigit() for c in low):
            continue
        number = _FIRST.search(rest)
        if number is not None and b"loss" in rest.lower() and names.canonical(low) is None:
            yield label, _DIGITS.sub(b"", rest), float(number.group())


def _judged(labels: list[bytes], rows: list[tuple[bytes, float]]) -> bytes:
    """The model that learns least, where one does not learn and another does; else the first."""
    learned = {}
    for label in labels:
        first, *_, last = [value for one, value in rows if one == label]
        learned[label] = 1.0 - last / first if first > 0 and math.isfinite(last) else -1.0
    worst = min(labels, key=lambda label: learned[label])
    return worst if learned[worst] < LEARNS_NOT and max(learned.values()) > LEARNS else labels[0]


def _only(data: bytes, kept: bytes, others: frozenset[bytes]) -> bytes:
    def left(line: bytes) -> bytes:
        found = _label(line)
        if found is None or found[0] not in {kept, *others}:
            return line
        return line[: found[1]] + line[found[2] :] if found[0] == kept else b""

    return b"\n".join(map(left, data.split(b"\n")))
