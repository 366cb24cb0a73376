"""Canonical names of logged quantities: "Train/Loss_epoch", "loss", "lm loss" are all `train/loss`.

The table stands in rules/porting/series.yaml; this module only looks names up in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from . import languages

# One word before or after "grad_norm" that names no layer.
_WHOLE = frozenset(
    {
        "norm",
        "total",
        "total_norm",
        "global",
        "global_norm",
        "all",
        "scale",
        "train",
        "trainer",
        "training",
        "model",
    }
    | {"optim", "optimizer", "actor", "critic"}
)
# What a distance is told in, at the end of its name: "val_mae_kwh".
_UNITS = frozenset(
    {"mm", "cm", "m", "km", "ml", "l", "g", "kg", "ms", "s", "sec", "h", "min", "days", "w"}
    | {"kw", "mw", "wh", "kwh", "mwh", "c", "k", "f", "deg", "px", "db", "usd", "eur", "gbp"}
)
_WITH_UNIT = frozenset({"mae", "rmse", "mpjpe", "epe", "displacement"})
# Measures of the first k places of a ranking, with their k: "hit@10", "ndcg_at_k", "hr10".
_RANKED = {
    "hit": "hit_rate",
    "hits": "hit_rate",
    "hr": "hit_rate",
    "hitrate": "hit_rate",
    "hit_rate": "hit_rate",
}
_RANKED |= {"hit_ratio": "hit_rate", "map": "map"} | {n: n for n in ("ndcg", "mrr", "recall", "precision")}
_PLACES = re.compile(r"^([a-z_]+?)(?:_?@_?(?:k|\d{1,4})|_at_(?:k|\d{1,4})|(?<!map)\d{1,3})$")
_NO_TERM = frozenset(
    {"signs", "scores", "weight", "weights", "coef", "coeff", "lambda", "ratio", "scale", "cost"}
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One row of the table."""

    name: str
    split: bool
    fraction: bool  # a value between 0 and 1 that some log in percent
    lower: bool  # smaller is better
    default: str = "train"  # the data set meant when the name says none


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "series.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


@lru_cache(maxsize=1)
def quantities() -> dict[str, Quantity]:
    """Return the quantities by canonical base name."""
    return {
        name: Quantity(
            name,
            bool(row.get("split")),
            row.get("unit") == "fraction",
            bool(row.get("lower")),
            row.get("default", "train"),
        )
        for name, row in _table()["quantities"].items()
    }


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    return {word: name for name, row in _table()["quantities"].items() for word in row["words"]}


@lru_cache(maxsize=1)
def _split_words() -> dict[str, str]:
    return {word: split for split, words in _table()["splits"].items() for word in words}


@lru_cache(maxsize=1)
def _ignored() -> frozenset[str]:
    return frozenset(_table()["ignore"])


_HELD_OUT = re.compile(r"\bh(?:e|o)ld[-_ ]outs?\b", re.IGNORECASE)
_PERCENT = re.compile(r"[\s_]*[(\[]\s*(?:%|in %|percent)\s*[)\]]\s*$")
_BARS = re.compile(
    r"(?<![^\s/_.])\|{1,2}\s*(?:g|grads?|gradient|∇|d[lw])\s*\|{1,2}(?:_?2)?(?=$|\s)", re.IGNORECASE
)


def _plain(raw: str) -> str:
    """Return the name without its unit, and with what takes several words in one: "held-out", "|g|"."""
    raw = _PERCENT.sub("", _HELD_OUT.sub("heldout", languages.name(raw.strip())))
    return without_bars(raw)


def without_bars(text: str) -> str:
    """Write a norm between bars as a word: "lr 0.1 |g|" -> "lr 0.1 grad_norm"."""
    return _BARS.sub("grad_norm", text) if "|" in text else text


@lru_cache(maxsize=8192)
def canonical(raw: str, split: str = "") -> str | None:
    """Return the canonical name of a logged quantity, or None for clocks, counters and unknown names.

    `split` is what the reader knows of the data ("train", "eval" or ""). A known loss term is
    "<split>/loss/<term>"; a quantity of one layer is "<quantity>/<layer>".
    """
    raw = _OF_RLLIB.sub("learner_stats/", _plain(raw))
    text = raw.lower()
    layered = _per_layer(text)
    if layered:
        return layered
    words = [w.strip(".:") for w in re.split(r"[\s/_\-.|]+", _camel(raw))]
    words = [w for w in words if w]
    if not words or "_".join(words) in _ignored():
        return None
    if (of_class := _OF_CLASS.search("_".join(words))) is not None:
        if (single := _per_class("_".join(words), of_class, split)) is not None:
            return single
    found = [_split_words()[w] for w in words if w in _split_words()]
    which = split or (found[0] if found else "")
    bare = [w for w in words if w not in _split_words()]
    name = _lookup(bare)
    if name is None:
        return _term(bare, which or "train")
    quantity = quantities()[name]
    return f"{which or quantity.default}/{name}" if quantity.split else name


_OF_CLASS = re.compile(r"(?:^|_)(?:class|cls|label)_?(\d{1,3})(?=_|$)")
_OF_CLASSES = frozenset(("accuracy", "f1", "dice", "iou", "recall", "precision", "auc"))


def _per_class(text: str, found: re.Match[str], split: str) -> str | None:
    """`val_dice_class_2`, `class_2_f1`: the metric of one class, "<split>/<metric>/<class>"; else None."""
    whole = canonical(text[: found.start()] + text[found.end() :], split)
    if whole is None or whole.count("/") != 1 or whole.partition("/")[2] not in _OF_CLASSES:
        return None
    return f"{whole}/{found.group(1)}"


# RLlib's path of what the learner of its only policy tells
_OF_RLLIB = re.compile(r"^(?:ray/tune/)?info/learner/default_policy/(?:learner_stats/)?")
_BOUND = re.compile(r"(?i)(?:^|[_/. ])(?:(recon(?:s|struction)?)|(kld?|kl_div))$")


def of_a_bound(raws: Iterable[str]) -> frozenset[str]:
    """The terms of a variational autoencoder among names without the word loss: `recon` and `kl`, both there.

    `kl` without the other is how far a policy or a student is from another.
    """
    found = [(raw, m) for raw in raws if (m := _BOUND.search(raw)) is not None]
    both = any(m.group(1) for _, m in found) and any(m.group(2) for _, m in found)
    return frozenset(raw for raw, _ in found) if both else frozenset()


@lru_cache(maxsize=8192)
def tells_split(raw: str) -> bool:
    """Whether a name itself says which data the quantity is of: "val_acc" does, "accuracy" does not."""
    return any(w.strip(".:") in _split_words() for w in re.split(r"[\s/_\-.|]+", _camel(_plain(raw))))


@lru_cache(maxsize=8192)
def order(raw: str) -> int:
    """How far down a quantity's list of names this one stands: "loss" stands before "bce"."""
    words = [w.strip(".:") for w in re.split(r"[\s/_\-.|]+", _camel(_plain(raw)))]
    bare = [w for w in words if w and w not in _split_words()]
    averaging = set(_table()["averaging"])
    for candidate in ("_".join(bare), "_".join(w for w in bare if w not in averaging)):
        name = _words().get(candidate)
        if name is not None:
            return int(_table()["quantities"][name]["words"].index(candidate))
    return 1000


def _camel(raw: str) -> str:
    """Separate camelCase words, lower-case: "TrainLoss" -> "train_loss", "mAP50" stays one word."""
    if raw.upper() == raw or raw.lower() == raw or "mAP" in raw:
        return raw.lower()
    raw = re.sub(r"(?<![A-Za-z])([am])(IoU|Acc|Dice|AP)(?![a-z])", lambda m: m.group(0).lower(), raw)
    raw = re.sub(r"(?<=[A-Z])(?=Loss(?![a-z]))", "_", raw)  # "IDLoss", "BCELoss"
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", raw).lower()


def _lookup(words: list[str]) -> str | None:
    averaging = set(_table()["averaging"])
    for candidate in (words, [w for w in words if w not in averaging]):
        joined = "_".join(candidate)
        if joined in _words():
            return _words()[joined]
        if re.match(r"^[rp]_?@_?(?:k|\d{1,4})$", joined):  # "R@1" of retrieval; "r2" is another measure
            return "recall" if joined[0] == "r" else "precision"
        if (ranked := _PLACES.match(joined)) and ranked.group(1) in _RANKED:
            return _RANKED[ranked.group(1)]
        if (
            len(candidate) > 1
            and candidate[-1] in _UNITS
            and _words().get("_".join(candidate[:-1])) in _WITH_UNIT
        ):
            return _words()["_".join(candidate[:-1])]
    return None


def _term(words: list[str], which: str) -> str | None:
    """`box_loss`, `loss_cls`, `mtp_1_loss`: one term of the loss."""
    if any(w in _ignored() for w in words) or "_".join(words) in _ignored():
        return None
    averaging = set(_table()["averaging"])
    if "function" in words:  # the "value function" of a policy is no value of a function
        averaging.discard("value")
    rest = ["loss" if w == "objective" else w for w in words if w not in averaging]
    if "loss" in rest and not _NO_TERM & set(rest):
        term = "_".join(w for w in rest if w != "loss")
        return f"{which}/loss/{term}" if term else f"{which}/loss"
    return None


def _per_layer(text: str) -> str | None:
    for name, patterns in _table()["per_layer"].items():
        for pattern in patterns:
            match = re.match(pattern, text)
            if match and match.group(1) not in _WHOLE:
                return f"{name}/{match.group(1)}"
    return None


def base(name: str) -> Quantity | None:
    """Return the quantity behind a canonical name: "eval/accuracy" -> accuracy; None for terms of a loss."""
    if "/loss/" in name:
        return None  # "train/loss/iou" is no overlap
    return quantities().get(name.rsplit("/", 1)[-1])
