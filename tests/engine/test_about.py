"""What an entry is told to be: what leads to it, what it is confused with, what separates the two."""

from __future__ import annotations

from collections.abc import Callable

from traindoctor.engine.about import Atlas, neighbourhood, strongest_first
from traindoctor.engine.model import RuleBase

Make = Callable[..., RuleBase]
ARROWS = [
    ("a.x", "m", 0.8),
    ("m", "both", 0.8),
    ("a.x", "s", 0.5),
    ("a.y", "m", 0.5),
    ("a.y", "t", 0.8),
    ("a.z", "u", 0.8),
]


def atlas(make: Make) -> Atlas:
    fields = {"a.x": {"looks_like": ("a.y",)}}
    return Atlas(make({"a.x": 0.05, "a.y": 0.05, "a.z": 0.05}, ARROWS, {"m": 0.01}, fields=fields))


def test_what_leads_to_an_entry(make: Make) -> None:
    """Direct arrows come strongest first; causes above a symptom the likeliest first."""
    found = atlas(make)

    assert [tail for tail, _ in found.leading_to("m")] == ["a.x", "a.y"]
    assert found.leading_to("a.x") == ()
    assert found.above("both") == ["a.x", "a.y"]
    assert found.above("m") == ["a.x", "a.y"]
    assert (found.title("m"), found.title("nothing")) == ("Title of m", "nothing")


def test_what_separates_two_causes(make: Make) -> None:
    """Both sides name what they show and the other hardly does; being named counts in both directions."""
    found = atlas(make)
    here = found.alike(found.rules.causes["a.x"])[0]
    there = found.alike(found.rules.causes["a.y"])[0]

    assert (here.cause, here.here, here.there) == ("a.y", ("s", "both"), ("t",))
    assert (there.cause, there.here, there.there) == ("a.x", ("t",), ("s", "both"))
    assert found.alike(found.rules.causes["a.z"]) == ()


def test_neighbourhoods(make: Make) -> None:
    """An entry with all above and below it, and nothing of what has no link to it."""
    rules = atlas(make).rules

    assert neighbourhood(rules, "a.z") == {"a.z", "u"}
    assert neighbourhood(rules, "both") == {"both", "m", "a.x", "a.y"}
    assert neighbourhood(rules, "a.x") == {"a.x", "m", "both", "s"}


def test_strongest_first(make: Make) -> None:
    """Arrows by strength, equal ones in the order of the file."""
    cause = atlas(make).rules.causes["a.x"]

    assert [link.to for link in strongest_first((*cause.shows, *cause.leads_to))] == ["m", "s"]
