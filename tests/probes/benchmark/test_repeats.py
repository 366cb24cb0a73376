"""Several runs of the benchmark: one recipe, its spread, and runs inside and outside of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import Reading
from traindoctor.probes.benchmark.compare import band, pair
from traindoctor.probes.benchmark.repeats import ends, of_one_recipe
from traindoctor.probes.registry import View, collect
from traindoctor.probes.run import Run

from .._build import run, series, written
from .._read import probes, symptoms


def logged(seed: int, accuracy: float = 0.9, level: float = 1.0, count: int = 200) -> Run:
    """A falling loss with its noise, and an accuracy that settles."""
    rng = np.random.default_rng(seed)
    loss = level * (0.3 + 2.0 * np.exp(-np.arange(count) / 40)) * (1 + 0.02 * rng.normal(size=count))
    rising = accuracy * (1 - np.exp(-np.arange(1, 21) / 3)) + 0.001 * rng.normal(size=20)
    return run([series("train/loss", loss), series("eval/accuracy", rising, unit="epoch")])


def read(symptom: str, mine: Run, *benchmarks: Run) -> Reading:
    view = View(mine, benchmarks[0] if benchmarks else None, benchmarks[1:])
    found = collect(view, [symptoms("benchmark")[symptom]], probes())[symptom]
    assert not found.why.startswith("probe error")
    return found


@pytest.mark.parametrize(
    ("expected", "benchmarks"),
    [
        ("present", [logged(1), logged(2, accuracy=0.86)]),
        ("absent", [logged(1), logged(2), logged(3)]),
        ("unknown", [logged(1)]),
        ("unknown", [logged(1), run()]),
        ("unknown", []),
    ],
)
def test_unstable_benchmark(expected: str, benchmarks: list[Run]) -> None:
    """Repeats that end four points apart are unstable, other seeds are not, one run cannot tell."""
    found = read("benchmark-unstable", logged(0), *benchmarks)

    assert found.state == expected, found.why


def test_unstable_benchmark_names_every_run() -> None:
    """The places of a finding are the ends of all benchmark runs."""
    found = read("benchmark-unstable", logged(0), logged(1), logged(2, accuracy=0.8))

    assert [p.side for p in found.where] == ["benchmark", "benchmark"]
    assert found.value == pytest.approx(0.1, abs=0.02)


def test_without_a_metric_the_loss_decides() -> None:
    """Runs that log no common metric are compared by their final loss."""
    plain = [run([logged(seed, level=level).series["train/loss"]]) for seed, level in ((1, 1.0), (2, 1.2))]

    assert read("benchmark-unstable", plain[0], *plain).state == "present"


def test_a_repeat_that_was_cut_off_is_no_instability() -> None:
    """A benchmark run of half the length ends elsewhere for that reason alone."""
    whole, cut = logged(1), run([logged(2, count=90).series["train/loss"]])

    assert read("benchmark-unstable", whole, run([whole.series["train/loss"]]), cut).state == "unknown"


@pytest.mark.parametrize(
    ("expected", "level", "benchmarks"),
    [
        ("present", 1.5, [logged(1), logged(2)]),
        ("absent", 1.0, [logged(1), logged(2)]),
        ("absent", 0.7, [logged(1), logged(2)]),
        ("absent", 1.3, [logged(1), logged(2, level=1.4)]),
        ("unknown", 1.5, [logged(1)]),
        ("unknown", 1.5, [logged(1), run()]),
    ],
)
def test_outside_the_band(expected: str, level: float, benchmarks: list[Run]) -> None:
    """Above all repeats is outside; among them, below them, or with one benchmark it is not."""
    found = read("loss-outside-benchmark-band", logged(0, level=level), *benchmarks)

    assert found.state == expected, found.why


@pytest.mark.parametrize(
    ("expected", "benchmarks"),
    [
        ("present", [logged(1), logged(2, level=1.2)]),
        ("absent", [logged(1), logged(2), logged(3)]),
        ("unknown", [logged(1)]),
        ("unknown", [logged(1), run()]),
        ("unknown", []),
    ],
)
def test_curves_of_repeats(expected: str, benchmarks: list[Run]) -> None:
    """Curves a fifth apart are no constant benchmark; two seeds are one, and a single run cannot tell."""
    found = read("benchmark-curves-apart", logged(0), *benchmarks)

    assert found.state == expected, found.why


def test_repeats_far_apart() -> None:
    """Losses a fifth apart; a few percent, and a single run, are not."""
    plain = [
        run([logged(seed, level=level).series["train/loss"]])
        for seed, level in ((1, 1.0), (2, 1.2), (3, 1.03))
    ]

    assert read("benchmark-far-apart", plain[0], *plain[:2]).state == "present"
    assert read("benchmark-far-apart", plain[0], plain[0], plain[2]).state == "absent"
    assert read("benchmark-far-apart", plain[0], plain[0]).state == "unknown"


def test_a_spread_within_the_scatter_of_each_run_is_open() -> None:
    """Ends further apart than the tolerance, where each run scatters as much, say neither yes nor no."""
    rng = np.random.default_rng(5)

    def scattered(shift: float) -> Run:
        return run([series("eval/accuracy", 0.8 + shift + 0.04 * rng.normal(size=20), unit="epoch")])

    assert read("benchmark-unstable", run(), scattered(0), scattered(0.03)).state == "unknown"


FINALS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("final-metric-below-benchmark", {"accuracy": 0.87}, {"accuracy": 0.85}),
    ("final-loss-above-benchmark", {"level": 1.2}, {"level": 1.4}),
    ("first-loss-differs", {"level": 1.3}, {"level": 1.5}),
]


@pytest.mark.parametrize(("symptom", "mine", "repeat"), FINALS)
def test_what_repeats_span_is_no_fault(symptom: str, mine: dict[str, Any], repeat: dict[str, Any]) -> None:
    """What counts against one benchmark does not count within the spread of two."""
    assert read(symptom, logged(0, **mine), logged(1)).state == "present"
    assert read(symptom, logged(0, **mine), logged(1), logged(2, **repeat)).state == "absent"


def test_worse_than_every_repeat_counts() -> None:
    """Repeats do not hide a run that ends below all of them by more than they differ."""
    found = read("final-metric-below-benchmark", logged(0, accuracy=0.7), logged(1), logged(2, accuracy=0.88))

    assert found.state == "present"
    assert "2 benchmark runs" in found.why


def test_only_one_recipe_repeats() -> None:
    """Another seed repeats a benchmark, another learning rate or model does not, and is named."""
    first = written({"lr": 0.1, "seed": 1, "model": "resnet50"})
    again, other = written({"lr": 0.1, "seed": 2}), written({"lr": 0.2, "seed": 1})
    kept, refused = of_one_recipe(first, [again, other, written({"model": "vgg16"})])

    assert kept == (again,)
    assert [why for _, why in refused] == ["learning rate is 0.2, not 0.1", "model is vgg16, not resnet50"]


def test_ends_say_the_spread_in_one_sentence() -> None:
    """The sentence of the report."""
    found = ends(View(logged(0), logged(1), (logged(2, accuracy=0.86),)))

    assert found is not None
    assert found.said().startswith("eval/accuracy ends between 0.8")
    assert found.said().endswith("in 2 benchmark runs")


def test_the_band_of_one_benchmark_is_nothing() -> None:
    """Without repeats nothing is widened; in another unit a repeat says nothing either."""
    alone = pair(View(logged(0), logged(1)), "train/loss")
    epochs = run([series("train/loss", [2.0, 1.0, 0.5], unit="epoch")])
    other = pair(View(logged(0), logged(1), (epochs,)), "train/loss")

    assert not isinstance(alone, str)
    assert not isinstance(other, str)
    assert band(alone, slice(None)) == 0.0
    assert band(other, slice(None)) == 0.0
