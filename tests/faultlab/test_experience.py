"""The fit of rules/experience.yaml: faultlab/experience.py on made-up views."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from faultlab import experience as lab


def view(program: str, present: str, right: str, **odds: float) -> lab.Seen:
    """A view with these symptoms, where the links gave these log-odds."""
    seen = frozenset(present.split())
    return lab.Seen(program, seen, {f"a.{c}": v for c, v in odds.items()}, frozenset(right.split()))


def test_a_symptom_that_tells_rivals_apart_gets_weights() -> None:
    """What goes with one cause in several programs speaks for it and against its rival."""
    views = [
        view(p, seen, right, x=-1.0, y=-1.0)
        for p in ("p", "q", "r", "s")
        for seen, right in [("loud warm", "a.x"), ("loud", "a.y")] * 5
    ]
    found = lab.fit(views)
    assert found["warm"]["a.x"] > 0.5
    assert found["warm"]["a.y"] < -0.5


def test_what_the_links_explain_is_left_to_them() -> None:
    """Where the log-odds of the links are right as they are, there is nothing to add."""
    views = [
        view(p, seen, right, x=9.0 if right else -9.0)
        for p in "pqrs"
        for seen, right in [("loud", "a.x"), ("", "")] * 5
    ]
    assert lab.fit(views) == {}


def test_habits_of_one_program_are_left_out() -> None:
    """A symptom that only two programs show gets no weight."""
    views = [
        view(p, "loud warm" if p in "pq" else "loud", "a.x" if p in "pq" else "", x=0.0)
        for p in "pqrs"
        for _ in range(9)
    ]
    assert set(lab.fit(views)) == {"loud"}


def test_habits_of_a_program_are_no_news() -> None:
    """What healthy runs of the same program show as often says nothing of its faults."""
    views = [view(p, "loud warm", "a.x", x=0.0) for p in "pqr" for _ in range(5)]
    views += [view(p, "loud", "", x=-6.0) for p in "pqr"]
    found = lab.fit(views)
    assert found["warm"]["a.x"] > 0.3
    assert found.get("loud", {}).get("a.x", 0.0) <= 0.0


def test_healthy_runs_count_more() -> None:
    """A symptom of as many healthy views as faulty ones, in other programs, speaks against the cause."""
    views = [view(p, "loud", right, x=0.0) for ps, right in (("pqr", "a.x"), ("tuv", "")) for p in ps]
    assert lab.fit(views)["loud"]["a.x"] < 0.0


def test_of_several_right_causes_the_believed_one_counts() -> None:
    """A cause that is accepted as well is no counterexample."""
    views = [view(p, "loud", "a.x a.y", x=0.0, y=-2.0) for p in "pqrst"]
    found = lab.fit(views)["loud"]
    assert found["a.x"] > 0.0
    assert "a.y" not in found


def test_regression_finds_the_ridge_optimum() -> None:
    """The gradient vanishes at the weights that are returned."""
    rng = np.random.default_rng(3)
    x = (rng.random((60, 5)) < 0.4).astype(float)
    y, offset, counted = (rng.random(60) < 0.3).astype(float), rng.normal(size=60), rng.uniform(1, 3, 60)
    w = lab.regression(x, y, offset, counted, 2.0)
    p = 1.0 / (1.0 + np.exp(-(offset + x @ w)))
    assert x.T @ (counted * (p - y)) + 4.0 * w == pytest.approx(np.zeros(5), abs=1e-4)


def test_the_page_is_what_the_rules_read() -> None:
    """The text is YAML with the weights, and says what they were estimated from."""
    views = [view("p", "loud", "a.x", x=0.0), view("q", "", "", x=0.0)]
    text = yaml.safe_load(lab.page({"loud": {"a.x": 0.5, "a.y": -1.25}}, views))
    assert text["weights"] == {"loud": {"a.x": 0.5, "a.y": -1.25}}
    assert "1 views of faulty runs, 1 of healthy ones, 2 programs" in text["estimated_from"]
