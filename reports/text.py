"""Words of all reports: numbers, places, paths; and what makes strangers' text harmless.

Everything that a run, a script or a rule pack wrote is data. `plain` makes it printable; `mermaid`,
`markdown` and `code` make it mean nothing in those languages.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

from ..engine.model import Place, Scalar

LONGEST = 600  # characters of one foreign sentence in a report

# ESC sequences: CSI (ends with a letter), OSC/DCS/APC/PM/SOS (end with BEL or ST), and two-character ones.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b."
)
_SPACES = re.compile(r"\s+")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_COMMAND = re.compile(r"^((?:[^\S\n]|\x1b\[[0-9;]*m)*):(?=:)|##(?=\[)", re.MULTILINE)


def printable(text: str) -> str:
    """Return text without control, bidi and other invisible characters; spaces stay as they are."""
    if text.isascii() and text.isprintable():  # most of what there is, and quickly told
        return text
    return "".join(c for c in text if unicodedata.category(c) not in _HIDDEN)


def plain(text: object, limit: int = LONGEST) -> str:
    """Return text on one line without terminal sequences, control, bidi and invisible characters."""
    shown = _ESCAPES.sub("", str(text)[: 4 * limit])
    shown = _SPACES.sub(" ", shown).strip()
    shown = printable(shown)
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


def disarm(text: str) -> str:
    """Break what a CI log would take for a command: `::` first on a line, and `##[` anywhere."""
    return _COMMAND.sub(lambda m: (m.group(1) + ": ") if m.group(1) is not None else "# #", text)


def sentence(text: str) -> str:
    """Return a sentence with a capital letter and a full stop; a leading number or `name` stays."""
    shown = plain(text)
    first = re.match(r"[a-z]+(?=[\s,;]|$)(?! =)", shown)
    if first:
        shown = shown[0].upper() + shown[1:]
    return shown if shown.endswith((".", "!", "?", "…")) or not shown else shown + "."


def percent(p: float) -> str:
    """Return a probability in two digits: 0.708 -> "71 %"; the ends are not claimed to be certain.

    What is below one half is not rounded up to it: that is the line between a guess and a claim.
    """
    if p < 0.01:
        return "below 1 %"
    digits = round(100 * p)
    return "above 99 %" if p > 0.99 else f"{49 if digits == 50 and p < 0.5 else digits} %"


def number(value: float) -> str:
    """Return a number in at most four significant digits; NaN and infinities by name."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    return f"{value:.4g}"


def scalar(value: Scalar | tuple[Scalar, ...]) -> str:
    """Return any setting or measured value as text; nothing for None."""
    if isinstance(value, tuple):
        return "[" + ", ".join(scalar(v) for v in value) + "]"
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(float(value)) if isinstance(value, (int, float)) else plain(value, 120)


def minutes(value: float) -> str:
    """Return a duration as people say it."""
    if value < 1:
        return "under a minute"
    if value <= 120:
        return f"about {value:.0f} min"
    return f"about {value / 60:.0f} h" if value < 60 * 36 else f"about {value / 1440:.0f} days"


def at_step(step: float | None, unit: str = "step") -> str:
    """Return "step 120" (or "epoch 3", ...), or nothing."""
    if step is None or math.isnan(step):
        return ""
    word = {"epoch": "epoch", "iteration": "iteration", "sample": "sample", "row": "row"}.get(unit, "step")
    return f"{word} {number(step)}"


def location(place: Place) -> str:
    """Return "file:line", marked where it is the benchmark's file."""
    shown = plain(place.file, 200)
    if place.line is not None:
        shown += f":{place.line}"
    if place.rank is not None:
        shown += f" (rank {place.rank})"
    return f"benchmark {shown}" if place.side == "benchmark" else shown


def locations(places: Sequence[Place], most: int = 2) -> list[str]:
    """Return the first different locations; one more entry says how many were left out."""
    found = [told for told in dict.fromkeys(location(p) for p in places) if told]
    return found if len(found) <= most else [*found[:most], f"and {len(found) - most} more"]


def listed(parts: Iterable[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    some = list(parts)
    return " and ".join([", ".join(some[:-1]), some[-1]]) if len(some) > 1 else "".join(some)


def count(n: int, what: str) -> str:
    """Return "1 check", "2 checks"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


# ------------------------------------------------------------------------------------------- markdown

_MARKS = re.compile(r"[\\`*\[\]<>|~$]|&(?=#?\w+;)")
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_MENTION = re.compile(r"@(?=\w)|#(?=\d)")
_BLOCK = re.compile(r"^(#{1,6}(?=\s|$)|[-+=](?=\s|$|[-=])|\d{1,9}(?=[.)](?:\s|$)))")


def markdown(text: object) -> str:
    """Return text that reads the same in rendered markdown: no markup, link, mention, HTML or command."""
    shown = plain(text)
    shown = _MARKS.sub(lambda m: _ENTITIES.get(m.group(), "\\" + m.group()), shown)
    shown = _EMPHASIS.sub(r"\\_", shown)
    shown = _MENTION.sub(lambda m: f"&#{ord(m.group())};", shown)
    shown = shown.replace("://", "&#58;//").replace("www.", "www&#46;")
    shown = _BLOCK.sub(lambda m: _opening(m.group()), shown)
    return "&#58;" + shown[1:] if shown.startswith("::") else shown


def rule_text(text: object, cell: bool = False) -> str:
    """Return text whose author may have put code between backticks; all the rest is escaped."""
    parts = plain(text, 4000).split("`")
    if len(parts) % 2 == 0:
        return markdown(text)
    return "".join(code(p, cell) if i % 2 else _keeping_ends(p) for i, p in enumerate(parts))


def _keeping_ends(text: str) -> str:
    left, right = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
    return " " * left + markdown(text) + " " * right if text.strip() else text


def _opening(mark: str) -> str:
    return f"&#{ord(mark[0])};{mark[1:]}"


def code(text: object, cell: bool = False) -> str:
    """Return text as a code span; in a table cell the pipe needs a backslash even there."""
    shown = plain(text)
    if not shown:
        return ""
    fence = "`" * (max((len(m) for m in re.findall(r"`+", shown)), default=0) + 1)
    if cell:
        # A backslash before a pipe would be eaten by the table; entities are literal inside code.
        shown = shown.replace("|", "\\|")
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


_SAFE_LABEL = re.compile(r"[^\w ,.()'=+/-]")


def mermaid(text: object) -> str:
    """Return text for the inside of a quoted mermaid label: everything with a meaning as an entity code."""
    return _SAFE_LABEL.sub(lambda m: f"#{ord(m.group())};", plain(text, 80))
