"""The fit of rules/experience.yaml: faultlab/experience.py on made-up views."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from faultlab import experience as lab
from traindoctor.engine.model import Graded


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
    found = lab.fit(views).weights
    assert found["warm"]["a.x"] > 0.5
    assert found["warm"]["a.y"] < -0.5


def test_what_the_links_explain_is_left_to_them() -> None:
    """Where the log-odds of the links are right as they are, there is nothing to add."""
    views = [
        view(p, seen, right, x=9.0 if right else -9.0)
        for p in "pqrs"
        for seen, right in [("loud", "a.x"), ("", "")] * 5
    ]
    assert lab.fit(views) == lab.Fitted({}, {})


def test_habits_of_one_program_are_left_out() -> None:
    """A symptom that only two programs show gets no weight."""
    views = [
        view(p, "loud warm" if p in "pq" else "loud", "a.x" if p in "pq" else "", x=0.0)
        for p in "pqrs"
        for _ in range(9)
    ]
    assert set(lab.fit(views).weights) == {"loud"}


def test_habits_of_a_program_are_no_news() -> None:
    """What healthy runs of the same program show as often says nothing of its faults."""
    views = [view(p, "loud warm", "a.x", x=0.0) for p in "pqr" for _ in range(5)]
    views += [view(p, "loud", "", x=-6.0) for p in "pqr"]
    found = lab.fit(views).weights
    assert found["warm"]["a.x"] > 0.3
    assert found.get("loud", {}).get("a.x", 0.0) <= 0.0


def test_healthy_runs_count_more() -> None:
    """A symptom of as many healthy views as faulty ones, in other programs, speaks against the cause."""
    views = [view(p, "loud", right, x=0.0) for ps, right in (("pqr", "a.x"), ("tuv", "")) for p in ps]
    assert lab.fit(views).weights["loud"]["a.x"] < 0.0


def test_of_several_right_causes_the_believed_one_counts() -> None:
    """A cause that is accepted as well is no counterexample."""
    views = [view(p, "loud", "a.x a.y", x=0.0, y=-2.0) for p in "pqrst"]
    found = lab.fit(views).weights["loud"]
    assert found["a.x"] > 0.0
    assert "a.y" not in found


def heated(program: str, heat: float, right: str) -> lab.Seen:
    """A view of a run with one measured value and no present symptom."""
    return lab.Seen(
        program, frozenset({"looked:loss"}), {"a.x": -1.0}, frozenset(right.split()), {"heat": heat}
    )


def test_a_value_speaks_by_where_it_stands() -> None:
    """Of a value that no threshold parts, the higher ones speak for the cause, the lower ones against it."""
    views = [heated(p, 10.0**k, "a.x" if k > 3 else "") for p in "pqrst" for k in range(8) for _ in range(2)]
    fitted = lab.fit(views)
    assert fitted.graded["heat"].weights["a.x"] > 0.3
    low, high = (fitted.moves(v)["a.x"] for v in (views[0], views[15]))
    assert low < high
    assert fitted.moves(replace(views[15], present=frozenset())) == {}


def test_values_of_few_programs_are_left_out() -> None:
    """Values of one program, and values that are all the same, have no scale; ties stand in their middle."""
    assert lab.scales([heated("p", float(k), "") for k in range(99)]) == {}
    assert lab.scales([heated(p, 1.0, "") for p in "pqr" for k in range(33)]) == {}
    scale = lab.scales([heated(p, float(k > 10), "") for p in "pqr" for k in range(33)])["heat"]
    assert (scale.at, scale.stands) == ([0.0, 1.0], [-0.667, 0.333])


def test_regression_finds_the_ridge_optimum() -> None:
    """The gradient vanishes at the weights that are returned."""
    rng = np.random.default_rng(3)
    x = (rng.random((60, 5)) < 0.4).astype(float)
    y, offset, counted = (rng.random(60) < 0.3).astype(float), rng.normal(size=60), rng.uniform(1, 3, 60)
    w = lab.regression(x, y, offset, counted, np.full(5, 2.0))
    p = 1.0 / (1.0 + np.exp(-(offset + x @ w)))
    assert x.T @ (counted * (p - y)) + 4.0 * w == pytest.approx(np.zeros(5), abs=1e-4)


def test_the_page_is_what_the_rules_read() -> None:
    """The text is YAML with the weights, and says what they were estimated from."""
    views = [view("p", "loud", "a.x", x=0.0), view("q", "", "", x=0.0)]
    graded = {"heat": Graded([0.001, 20000.0], [-0.5, 1.0], {"a.x": 0.25})}
    text = yaml.safe_load(lab.page(lab.Fitted({"loud": {"a.x": 0.5, "a.y": -1.25}}, graded), views))
    assert text["weights"] == {"loud": {"a.x": 0.5, "a.y": -1.25}}
    assert text["graded"] == {
        "heat": {"at": [0.001, 20000.0], "stands": [-0.5, 1.0], "weights": {"a.x": 0.25}}
    }
    assert "1 views of faulty runs, 1 of healthy ones, 2 programs" in text["estimated_from"]


def test_programs_left_out_of_the_fit_are_counted() -> None:
    """What several programs share helps those that the fit did not see."""
    views = [
        view(p, seen, right, x=-1.0, y=-1.1)
        for p in "pqrstuvw"
        for seen, right in [("loud warm", "a.y"), ("loud", "a.x"), ("", "")] * 5
    ]
    views += [replace(v, counts=0.3) for v in views if v.right]
    _, whole, less, alarms = lab.crossed(views)
    assert "as logged, 80 views, first/three: links 0.500/1.000, with weights 1.000/1.000" in whole
    assert "with less logged, 80 views" in less
    assert alarms.endswith("0 and 0")


def test_views_count_as_much_as_they_say() -> None:
    """A view with less logged pulls less than one that is as it was logged."""
    views = [view(p, "loud", "a.x", x=0.0) for p in "pqrst" for _ in range(3)]
    whole, less = (lab.fit([replace(v, counts=c) for v in views]).weights["loud"]["a.x"] for c in (1.0, 0.3))
    assert 0.2 <= less < 0.8 * whole


def test_a_run_is_seen_again_with_less_logged() -> None:
    """Without its script a run gives a view as it is and some that count less; with it only the first."""
    labels = yaml.load((lab.HERE / "cases.yaml").read_text("utf-8"), yaml.CSafeLoader)
    name = next(n for n, x in labels.items() if x["archetype"] == "loaves" and x.get("benchmark"))
    first, *less = lab.see((name, labels[name], True, False))
    (alone,) = lab.see((name, labels[name], False, True))
    assert (first.counts, alone.counts) == (1.0, 1.0)
    assert {v.counts for v in less} == {lab.LESS_LOGGED}
    assert "looked:benchmark" in first.present
    assert any(v.present < first.present for v in less)
