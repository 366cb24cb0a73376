"""Numbers as words, the same way everywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence


def percent(p: float) -> str:
    """Return a probability in two digits: 0.708 -> "71 %"; the ends are not claimed to be certain.

    What is below one half is not rounded up to it: that is the line between a guess and a claim.
    """
    if p < 0.01:
        return "below 1 %"
    if p > 0.99:
        return "above 99 %"
    digits = round(100 * p)
    return f"{49 if digits == 50 and p < 0.5 else digits} %"


def listed(parts: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def sentence(text: str) -> str:
    """Return text as a sentence; a file name or a setting at its beginning stays as it is written."""
    text = text.strip()
    if re.match(r"[a-z]+(?=[\s,;:]|$)(?! =)", text):
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."
