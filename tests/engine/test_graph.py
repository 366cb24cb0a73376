"""The graph and the chains through it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traindoctor.engine.graph import strongest_paths, to_digraph
from traindoctor.engine.model import RuleBase

Make = Callable[..., RuleBase]


def test_kinds_of_nodes(make: Make) -> None:
    """Every node knows what it is, also the ones without arrows."""
    rules = make({"a.x": 0.1, "a.y": 0.1}, [("a.x", "m", 0.5)], {"m": 0.01, "n": 0.01}, {"s": 0.01})

    assert dict(to_digraph(rules).nodes(data="kind")) == {
        "a.x": "cause",
        "a.y": "cause",
        "m": "mechanism",
        "n": "mechanism",
        "s": "symptom",
    }


def test_the_strongest_chain_wins(make: Make) -> None:
    """The chain with the largest product of strengths is taken, however long."""
    arrows = [("a.x", "m", 0.95), ("m", "n", 0.95), ("n", "s", 0.95), ("a.x", "s", 0.8), ("a.x", "n", 0.5)]
    nodes, links = strongest_paths(to_digraph(make({"a.x": 0.1}, arrows, {"m": 0.01, "n": 0.01})), "a.x")["s"]

    assert nodes == ("a.x", "m", "n", "s")
    assert [link.to for link in links] == ["m", "n", "s"]


@pytest.mark.parametrize("order", [1, -1])
def test_ties_do_not_depend_on_the_order(make: Make, order: int) -> None:
    """Equally strong chains are told apart by name."""
    arrows = [("a.x", "m", 0.5), ("m", "s", 0.5), ("a.x", "k", 0.5), ("k", "s", 0.5)][::order]
    mechanisms = dict(list({"m": 0.01, "k": 0.01}.items())[::order])

    assert strongest_paths(to_digraph(make({"a.x": 0.1}, arrows, mechanisms)), "a.x")["s"][0] == (
        "a.x",
        "k",
        "s",
    )


def test_only_what_is_below(make: Make) -> None:
    """Symptoms of other causes are not reached."""
    rules = make({"a.x": 0.1, "a.y": 0.1}, [("a.x", "s", 0.5), ("a.y", "t", 0.5)])

    assert set(strongest_paths(to_digraph(rules), "a.x")) == {"s"}
