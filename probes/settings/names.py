"""Names of settings: "--lr", "optimizer.params.lr" and "SOLVER.BASE_LR" are all `learning_rate`.

The names stand in rules/porting/settings.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ...engine.model import Scalar

_SWITCH = re.compile(r"^(?:no|disable|without|not)_(.+)$")
# A part of a configuration that says in its name what is evaluated on: EvalReader, val_pipeline, TestDataset.
_HELD_OUT = re.compile(
    r"^(?:eval|val|valid|validation|test|testing|dev|infer|inference|predict)_(?:\w+_)?"
    r"(?:reader|readers|dataset|datasets|loader|dataloader|data|ds|set|pipeline|transforms?|cfg|config)$"
)


@dataclass(frozen=True, slots=True)
class Spec:
    """One canonical setting."""

    key: str
    kind: str
    hyper: bool
    family: bool
    none: bool
    harmless: bool


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The parsed names of settings."""

    specs: Mapping[str, Spec]
    words: Mapping[str, tuple[str, int]]  # raw name -> canonical name, position in its list
    elsewhere: frozenset[str]
    harmless: frozenset[str]
    hyperparameters: tuple[str, ...] = ()
    defaults: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def table() -> Table:
    """Return the table of rules/porting/settings.yaml, read once."""
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "settings.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return make_table(loaded)


def make_table(loaded: Mapping[str, Any]) -> Table:
    """Make a table of the parsed YAML."""
    specs = {
        key: Spec(key, row["kind"], *(bool(row.get(f)) for f in ("hyper", "family", "none", "harmless")))
        for key, row in loaded["settings"].items()
    }
    words = {w: (key, at) for key, row in loaded["settings"].items() for at, w in enumerate(row["words"])}
    return Table(
        specs,
        words,
        frozenset(loaded["elsewhere"]),
        frozenset(loaded["harmless"]),
        tuple(loaded.get("hyperparameters", ())),
        loaded.get("defaults", {}),
    )


def parts_of(raw: str) -> list[str]:
    """Split a raw key into its parts: "optimizer.params.weightDecay" -> optimizer, params, weight_decay."""
    found = [p for p in re.split(r"[./\[\]]+", raw.strip().lstrip("-")) if p]
    return [snake(p) for p in found if not p.isdigit()]


def of_held_out(part: str) -> bool:
    """Whether a part of a key (in snake case) names what is evaluated on."""
    return bool(_HELD_OUT.match(part))


def last_part(raw: str) -> str:
    """What stands last in a written key: `model.rope_theta` -> "rope_theta"."""
    return (parts_of(raw)[-1:] or [""])[0]


def snake(part: str) -> str:
    """Bring one part of a key to lower case with underscores: "weightDecay" -> weight_decay."""
    part = part.replace("-", "_").replace(" ", "_")
    if part.lower() != part and part.upper() != part:
        part = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", part)
    return part.lower()


@lru_cache(maxsize=4096)
def canonical_key(raw: str) -> tuple[str, int, bool] | None:
    """Return (canonical name, position in its list of words, negated) of a raw key, or None."""
    names = table()
    parts = parts_of(raw)
    for start in range(max(0, len(parts) - 4), len(parts)):
        suffix = ".".join(parts[start:])
        found = names.words.get(suffix)
        if found and not _is_elsewhere(parts[:start]):
            return (*found, False)
    switch = _SWITCH.match(parts[-1]) if parts else None
    if switch and switch.group(1) in names.words and not _is_elsewhere(parts[:-1]):
        key, at = names.words[switch.group(1)]
        if names.specs[key].kind in ("bool", "norm", "pretrained", "any"):
            return key, at, True
    return None


def _is_elsewhere(parts: list[str]) -> bool:
    """Whether a setting below these parts is another thing than the training's own of its name."""
    return not table().elsewhere.isdisjoint(parts) or any(map(of_held_out, parts))


def is_harmless(raw: str) -> bool:
    """Say whether a key (paths, names, logging) cannot change the result of training."""
    names = table()
    found = canonical_key(raw)
    if found:
        return names.specs[found[0]].harmless
    parts = parts_of(raw)
    if not parts or names.elsewhere.intersection(parts) - {"val", "test", "eval"}:
        return True
    last = parts[-1]
    return last in names.harmless or bool(
        re.search(
            r"(?:^|_)(?:dir|path|file|folder|url|name|names|port|host|user|log|logs|wandb|interval|freq|"
            r"every|verbose|id|time|date|device|version|prefix|tag|tags)$",
            last,
        )
    )
