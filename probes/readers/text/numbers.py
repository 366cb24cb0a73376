"""Numbers as logs write them: 1e-05, 9,097, -nan(ind), 1.#QNAN, 81.2, 0:04:12 (a clock, no number)."""

from __future__ import annotations

import re

_SPECIAL = (
    rb"[-+]?(?:nan(?:\(ind\))?|inf(?:inity)?)(?!\w|\.\S)"
    rb"(?! (?:iterations?|values?|detected|encountered|or|in)\b)(?! (?:gradients?|loss)\b(?!\s*[=:]))"
    rb"|[-+]?1\.\#(?:IND|QNAN|SNAN|INF)\d*"
)
_CLOCK = rb"\d{1,4}:[0-5]\d(?::[0-5]\d)?(?:[.,]\d+)?(?![\w.])"
_NUMBER = (
    rb"[-+]?(?:\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)"
    rb"(?:[A-Za-z_]\w*)?"
)
# An epoch that its name is glued to: "epoch_3", "ep03", and "E03" at the beginning of a line.
_GLUED = rb"(?:(?<=epoch_)|(?<=\bepoch)|(?<=\bep)|(?<=^e)|(?<=^\[e))(?=\d+(?:[\s:,;|\])]|/\d))"
# One captured group: splitting with it gives text, token, text, token, ..., text.
TOKEN = re.compile(
    rb"(?:(?<![\w.@])(?<![A-Za-z]-)|" + _GLUED + rb")(" + _SPECIAL + rb"|" + _CLOCK + rb"|" + _NUMBER + rb")",
    re.IGNORECASE,
)
_UNIT = re.compile(
    rb"^([-+]?(?:\d+\.?\d*|\.\d+))(?:nats?|bits?|epoch|batch)$", re.IGNORECASE
)  # a cross-entropy, a place
_NAN = re.compile(rb"^[-+]?(?:nan.*|1\.\#(?:IND|QNAN|SNAN)\d*)$", re.IGNORECASE)
_INF = re.compile(rb"^[-+]?1\.\#INF\d*$", re.IGNORECASE)


def to_float(token: bytes) -> float | None:
    """Return the number that a token stands for, or None for clocks and numbers with a unit ("46s")."""
    try:
        return float(token)
    except ValueError:
        return _odd(token)


def _odd(token: bytes) -> float | None:
    unit = _UNIT.match(token)
    if unit:
        return float(unit.group(1))
    if b"," in token:
        try:
            return float(token.replace(b",", b""))
        except ValueError:
            return None
    if _NAN.match(token):
        return float("nan")
    if _INF.match(token):
        return float("-inf" if token.startswith(b"-") else "inf")
    return None
