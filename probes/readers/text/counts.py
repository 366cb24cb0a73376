"""How many parameters a log says there are, and how many of them train."""

from __future__ import annotations

import re

from ....engine.model import Scalar

_NUMBER = r"(\d{1,3}(?:[,_ ]\d{3})+|\d+(?:\.\d+)?)\s?([KMBGkmbg](?![A-Za-z0-9]))?"
_UNITS = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9}
_WORD = r"(?:param(?:eter)?s?|weights)"
# "Trainable params: 2,048", "Number of trainable parameters = 0", "trainable params: 0 || all params: ..."
_TRAINABLE = (
    re.compile(rf"(?<!non-)(?<!non )\btrainable {_WORD}[^\d\n:=]{{0,12}}[:=]\s*{_NUMBER}", re.IGNORECASE),
    re.compile(
        rf"(?<![\d.,]){_NUMBER}\s+(?:{_WORD}\s+(?:are\s+)?)?(?<!non-)trainable(?:\s+{_WORD})?", re.IGNORECASE
    ),
    re.compile(rf"\btrainable\s*[:=]\s*{_NUMBER}", re.IGNORECASE),
)
_FROZEN = (
    re.compile(rf"\b(?:non-?trainable|frozen) {_WORD}[^\d\n:=]{{0,12}}[:=]\s*{_NUMBER}", re.IGNORECASE),
    re.compile(
        rf"(?<![\d.,]){_NUMBER}\s+(?:{_WORD}\s+)?(?:non-?trainable|frozen)(?:\s+{_WORD})?", re.IGNORECASE
    ),
)
_TOTAL = (
    re.compile(
        rf"\b(?:total|all) (?:number of )?(?:model )?{_WORD}[^\d\n:=]{{0,12}}[:=]\s*{_NUMBER}", re.IGNORECASE
    ),
    re.compile(rf"\b(?:number of|num|#) ?{_WORD}[^\d\n:=]{{0,12}}[:=]\s*{_NUMBER}", re.IGNORECASE),
    re.compile(rf"(?<![\d.,]){_NUMBER}\s+(?:total {_WORD}|{_WORD}(?=,))", re.IGNORECASE),
)


def look(text: str, facts: dict[str, Scalar]) -> None:
    """Add the numbers of parameters that a line names: `parameters_trainable`, `_frozen`, `_total`."""
    lower = text.lower()
    if "param" not in lower and "trainable" not in lower and "weights" not in lower:
        return
    for name, patterns in (("trainable", _TRAINABLE), ("frozen", _FROZEN), ("total", _TOTAL)):
        for pattern in patterns:
            if (found := pattern.search(text)) is not None:
                number = float(re.sub(r"[,_ ]", "", found.group(1)))
                facts.setdefault(f"parameters_{name}", number * _UNITS.get((found.group(2) or "").lower(), 1))
                break
