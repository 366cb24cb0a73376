"""How cases are made: a healthy run, its twin per archetype and style, a fault in some styles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generate import Also, Case, Edit

from .archetypes import ARCHETYPES


def healthy(
    archetype: str,
    style: str,
    seed: int,
    name: str = "plain",
    *,
    edits: tuple[Edit, ...] = (),
    grad_norm: bool = True,
    check: str = "",
    **settings: Any,
) -> Case:
    """A run with nothing wrong."""
    return Case(
        archetype,
        style,
        f"healthy-{name}-{seed}",
        None,
        set={"seed": seed, **settings},
        edits=edits,
        check=check,
        grad_norm=grad_norm,
    )


# One healthy run per archetype and style: the benchmark of its faulty runs.
TWINS = {
    (a.name, style): healthy(a.name, style, 100 + 7 * i)
    for a in ARCHETYPES.values()
    for i, style in enumerate(a.styles)
}


def faulty(
    archetype: str,
    styles: str,
    fault: str,
    cause: str,
    *edits: Edit,
    accept: tuple[Also, ...] = (),
    check: str = "worse",
    strength: str = "",
    alone: bool = True,
    grad_norm: bool = True,
    twin: Case | None = None,
    **settings: Any,
) -> Iterator[Case]:
    """The fault in each of these styles. In style a, and where curves are compared, the benchmark's seed."""
    for style in styles:
        beside = twin or TWINS[archetype, style]
        same = style == "a" or check in ("departs", "not-repeated")
        seed = {"seed": beside.set["seed"]} if same else {}
        base = dict(beside.set) | {"seed": ARCHETYPES[archetype].settings["seed"]} if twin else {}
        yield Case(
            archetype,
            style,
            fault,
            cause,
            strength,
            base | seed | settings,
            (*beside.edits, *edits),
            accept,
            check,
            grad_norm,
            beside.name,
            alone,
        )


_MADE = {
    "images": "model = Net({{width}})\n",
    "tabular": "    nn.Linear({{hidden}}, 4),\n)\n",
    "series": "model = Forecaster({{hidden}})\n",
    "sentences": "model = TextModel(len(vocabulary) + 2, {{dim}})\n",
    "lm": "model = GPT()\n",
    "hf": "model = Encoder()\n",
}


def after_model(archetype: str, lines: str) -> Edit:
    return _MADE[archetype], _MADE[archetype] + lines
