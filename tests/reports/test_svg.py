"""Charts: well-formed, small, and true to what was logged."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.reports import svg
from traindoctor.reports.model import Curve, Mark

from ._fixture import HOSTILE

NS = "{http://www.w3.org/2000/svg}"
floats = st.floats(allow_nan=True, allow_infinity=True, width=64)


def drawn(*curves: Curve, title: str = "train/loss") -> ElementTree.Element:
    return ElementTree.fromstring(svg.chart(title, curves))  # noqa: S314 - our own text


def curve(values: list[float], side: str = "run", marks: tuple[Mark, ...] = ()) -> Curve:
    return Curve("c", side, [float(i) for i in range(len(values))], values, marks)  # type: ignore[arg-type]


def labels(root: ElementTree.Element) -> list[str]:
    return [t.text or "" for t in root.iter(f"{NS}text")]


@given(st.lists(floats, max_size=40), st.lists(floats, max_size=10))
def test_any_values_make_a_picture(values: list[float], others: list[float]) -> None:
    """Whatever was logged gives well-formed XML whose coordinates lie inside the picture."""
    root = drawn(curve(values), curve(others, "benchmark"))
    numbers = [float(n) for p in root.iter(f"{NS}polyline") for n in re.split("[ ,]", p.get("points", ""))]

    assert all(0 <= n <= svg.WIDTH for n in numbers)


@pytest.mark.parametrize("text", HOSTILE)
def test_strangers_text_stays_text(text: str) -> None:
    """Names and labels cannot add elements."""
    plain = sorted(e.tag for e in drawn(curve([1.0, 2.0], marks=(Mark(1.0, "m"),))).iter())
    hostile = sorted(e.tag for e in drawn(curve([1.0, 2.0], marks=(Mark(1.0, text),)), title=text).iter())

    assert plain == hostile


def test_long_curves_are_thinned_and_keep_their_spikes() -> None:
    """At most 600 points are drawn, and one spike among 100 000 points is one of them."""
    values = [1.0 + 0.01 * math.sin(i) for i in range(100_000)]
    values[54_321] = 9.0
    points = drawn(curve(values)).findall(f"{NS}polyline")[0].get("points", "").split()

    assert len(points) <= svg.MOST_POINTS
    assert min(float(p.split(",")[1]) for p in points) < svg.TOP + 0.1 * svg.HEIGHT


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(2, 50))
def test_thinning_keeps_the_extremes(values: list[float], most: int) -> None:
    """The lowest and the highest value survive, in order, within the limit."""
    points = [(float(i), v) for i, v in enumerate(values)]
    kept = svg.thin(points, most)

    assert len(kept) <= max(2, most)
    assert kept == sorted(kept)
    assert {min(values), max(values)} <= {v for _, v in kept}


def test_a_gap_is_a_gap() -> None:
    """NaN splits the line, shades the stretch and is named; nothing is drawn across it."""
    root = drawn(curve([3.0, 2.0, math.nan, math.nan, 1.5, 1.0]))

    assert len(root.findall(f"{NS}polyline")) == 2
    assert len([r for r in root.iter(f"{NS}rect") if r.get("class") == "band"]) == 1
    assert "NaN" in labels(root)


def test_a_curve_of_nan_says_so() -> None:
    """A curve without a finite value has no line, and words."""
    root = drawn(curve([math.nan] * 5))

    assert root.findall(f"{NS}polyline") == []
    assert "no finite value was logged" in labels(root)


@pytest.mark.parametrize(("values", "log"), [([1.0, 1e4], True), ([1.0, 2.0], False), ([-1.0, 1e4], False)])
def test_the_axis_is_logarithmic_over_decades(values: list[float], log: bool) -> None:
    """Positive values over decades get a logarithmic axis, and it is said."""
    assert any("logarithmic" in text for text in labels(drawn(curve(values)))) is log


def test_run_and_benchmark_are_told_apart() -> None:
    """Both stand in the legend, with a class each, and a description for screen readers."""
    root = drawn(curve([1.0, 2.0]), curve([1.0, 1.5], "benchmark"))

    assert {p.get("class") for p in root.findall(f"{NS}polyline")} == {"run", "benchmark"}
    assert {"run", "benchmark"} <= set(labels(root))
    assert root.get("role") == "img"
    assert (root.findtext(f"{NS}desc") or "").startswith("run: 2 points, from 1 to 2")


def test_the_first_bad_step_is_marked() -> None:
    """A mark is a vertical line at its step, with its label."""
    root = drawn(curve([1.0, 2.0, 3.0], marks=(Mark(1.0, "diverges (step 1)"),)))
    line = next(e for e in root.iter(f"{NS}line") if e.get("class") == "bad")

    assert float(line.get("x1", "0")) == pytest.approx((svg.LEFT + svg.WIDTH - svg.RIGHT) / 2)
    assert "diverges (step 1)" in labels(root)


def test_colours_follow_the_readers_scheme() -> None:
    """Dark readers get a dark picture."""
    assert "prefers-color-scheme:dark" in svg.chart("x", [curve([1.0])])


@given(st.floats(1e-9, 1e9), st.floats(1e-6, 1e6))
def test_ticks_are_few_round_and_inside(low: float, span: float) -> None:
    """A linear axis has two to twelve ticks, none outside."""
    axis = svg.Axis(low, low + max(span, 1e-6 * low), 0.0, 100.0)
    found = svg.ticks(axis)
    room = 1e-6 * (axis.high - axis.low)

    assert 2 <= len(found) <= 12
    assert all(axis.low - room <= t <= axis.high + room for t in found)
