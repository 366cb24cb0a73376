"""What a setting without a canonical name is about, as its name says: labels, split, columns, samples, ...

Every project names its own settings of the data (`data.label_source`, `valid_noise`, `clip_quantile`). They
cannot stand in a table, but the words of their names can: rules/porting/setting_roles.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from . import number, parts_of

# "evaluation": what is evaluated on; "evaluation-processing": how the inputs of that are made; "processing":
# how inputs are made, in training at least.
Role = Literal[
    "evaluation", "evaluation-processing", "labels", "label-map", "split", "columns", "samples", "processing"
]


@lru_cache(maxsize=1)
def _words() -> Mapping[str, frozenset[str]]:
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "setting_roles.yaml").read_text(encoding="utf-8")
    loaded: dict[str, list[Any]] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {name: frozenset(map(str, words)) for name, words in loaded.items()}


def role_of(key: str, *values: object) -> Role | None:
    """Return the role of a dotted raw key with its values; None where its name does not say it."""
    parts = parts_of(key)
    if not parts:
        return None
    known, last = _words(), parts[-1]
    words = [w for w in last.split("_") if w]
    above = {p for part in parts[:-1] for p in (part, *part.split("_"))}
    if (above - known["evaluation"]) & known["other_sections"] or set(words) & known["idle"]:
        return None
    inside = bool(above & known["sections"]) or (len(words) > 1 and words[0] in known["sections"])
    if (above | set(words)) & known["evaluation"]:
        rest = set(words) - known["evaluation"]
        if rest & known["bookkeeping"]:
            return "split" if inside and rest & known["split"] else None
        if (rest | above) & known["processed"]:
            return "evaluation-processing"
        return "evaluation" if rest else None
    return _of_training(last, words, above, inside, values)


def _of_training(
    last: str, words: list[str], above: set[str], inside: bool, values: tuple[object, ...]
) -> Role | None:
    known, named = _words(), set(words)
    if named & (known["labels"] | known["classes"]) and named & known["numbering"]:
        return "label-map"
    if named & known["labels"] or (named & known["targets"] and named & known["named"]):
        return "labels"
    if inside and named & known["wrong"] and named & known["shares"]:
        return "labels"
    if inside and (named & known["split"] or last in known["split"]):
        return "split"
    if last in known["columns"] or (words[-1:] and words[-1] in known["columns"] and inside):
        if all(isinstance(v, tuple) and all(isinstance(x, str) for x in v) for v in values) and values:
            return "columns"
    if last in known["sizes"] and inside and not above & known["shaping"]:
        return "samples" if all(map(_amount, values)) else None
    if last in known["subsets"] or (inside and _counts(words) and all(map(_amount, values))):
        return "samples"
    alone = not above or (inside and not above & (known["shaping"] | known["other_sections"]))
    if alone and _counts_something(words, values) and all(map(_amount, values)):
        return "samples"
    if named & known["processing"] or last in known["processing"] or inside:
        return "processing"
    return None


def _counts(words: list[str]) -> bool:
    """`n_bottles`, `num_series`, `images_per_class`: a count, and of nothing that is no sample."""
    known = _words()
    return bool(set(words) & known["counts"]) and not set(words) & (
        known["no_samples"] - {"class", "classes"}
    )


def _counts_something(words: list[str], values: tuple[object, ...], least: float = 50) -> bool:
    """`n_stations`, `train_pages`, `clips`: in flat settings or those of data, counts of what no model has.

    A bare word has to stand for whole numbers, one of them `least` or more: what a data set has many of.
    """
    known, thing = _words(), words[-1]
    if not thing.endswith("s") or thing.endswith("ss"):
        return False
    if thing in known["no_samples"] | known["of_model"] | known["processing"]:
        return False
    if len(words) == 2 and words[0] in ("train", "training"):
        words = words[1:]
    if len(words) == 2:
        return words[0] in ("n", "num")
    numbers = [amount(v) for v in values if not isinstance(v, (bool, tuple))]
    whole = [n for n in numbers if n is not None and n == int(n)]
    return len(words) == 1 and len(whole) == len(values) > 0 and max(whole) >= least


def _amount(value: object) -> bool:
    return amount(value) is not None


def amount(value: object) -> float | None:
    """A count of samples, or the sum of several; None where the value is none."""
    found = [number(v) for v in (value if isinstance(value, tuple) else (value,))]
    if not found or any(v is None or v < 0 for v in found):
        return None
    return float(sum(v for v in found if v is not None))


def far_apart(mine: object, theirs: object, ratio: float) -> float | None:
    """By what factor two numbers differ, if by `ratio` or more; one of them zero is infinitely far."""
    a, b = number(mine), number(theirs)
    if a is None or b is None or a == b:
        return None
    if a == 0 or b == 0 or (a < 0) != (b < 0):
        return float("inf")
    factor = max(abs(a / b), abs(b / a))
    return factor if factor >= ratio else None


_WORD = re.compile(r"[a-z]", re.IGNORECASE)


def is_word(value: object) -> bool:
    """Whether a value is a word, not a number, a switch or nothing."""
    return isinstance(value, str) and number(value) is None and bool(_WORD.search(value))
