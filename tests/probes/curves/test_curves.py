"""The course of losses and metrics: healthy runs stay silent, sick ones show what ails them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindoctor.engine.model import State
from traindoctor.probes.registry import View
from traindoctor.probes.run import Event, Series

from .. import _zoo as zoo
from .._build import run, series


@pytest.mark.parametrize("length", [40, 300])
@pytest.mark.parametrize("kind", zoo.HEALTHY)
def test_healthy_runs_stay_silent(kind: str, length: int) -> None:
    """No alarm is present in any kind of healthy run, for several seeds, and no probe fails."""
    for seed in range(2):
        made = zoo.HEALTHY[kind](np.random.default_rng(seed), length)
        found = zoo.read(made)
        alarms = {i: r.why for i, r in found.items() if r.state is State.PRESENT and i not in zoo.MILD}

        assert not [r.why for r in found.values() if "probe error" in r.why]
        assert set(alarms) <= zoo.ALLOWED.get(kind, set()), alarms


@pytest.mark.parametrize(("length", "seed"), [(60, 0), (200, 1), (200, 2), (1000, 3)])
def test_sick_runs_show_what_ails_them(length: int, seed: int) -> None:
    """Every sick run shows its symptoms, and none that would contradict them."""
    for name, sick in zoo.sick_runs(np.random.default_rng(seed), length).items():
        found = zoo.read(sick.made, *sick.present, *sick.not_present)
        missed = {i: found[i] for i in sick.present if found[i].state is not State.PRESENT}
        wrong = {i: found[i] for i in sick.not_present if found[i].state is State.PRESENT}

        assert not missed, name
        assert not wrong, name


def test_every_symptom_has_a_sick_run() -> None:
    """Each symptom of the four files is shown by some sick run."""
    sick = zoo.sick_runs(np.random.default_rng(0), 200)
    shown = {i for s in sick.values() for i in s.present}

    assert shown == {s.id for s in zoo.symptoms()}


def test_findings_say_numbers_places_and_curves() -> None:
    """What is present is said with its numbers, the step it begins at, a place and the curves to look at."""
    for name, sick in zoo.sick_runs(np.random.default_rng(0), 200).items():
        for i in sick.present:
            found = zoo.read(sick.made, i)[i]
            assert any(c.isdigit() for c in found.why) or i == "metric-undefined", (name, found.why)
            if i not in ("metric-undefined", "numeric-warning", "overflow-ignored"):
                assert found.series or found.where, (name, i)
                assert found.value is not None or i.startswith("grad-not"), (name, i)


def test_every_symptom_is_unknown_without_data() -> None:
    """A run without any curve, event or setting leaves every symptom unknown, with a reason."""
    found = zoo.read(run())

    assert {i for i, r in found.items() if r.state is not State.UNKNOWN} == set()
    assert all(r.why for r in found.values())


def test_every_symptom_can_be_absent() -> None:
    """Each symptom is absent in some healthy run that holds what it needs."""
    absent: set[str] = set()
    rng = np.random.default_rng(0)
    for made in (*(m(rng, 200) for m in zoo.HEALTHY.values()), complete(rng)):
        absent |= {i for i, r in zoo.read(made).items() if r.state is State.ABSENT}

    # These speak of runs whose loss is NaN, or ends by guessing, and are unknown else.
    apart = {"loss-not-finite-in-first-epoch", "thrown-to-guessing", "nan-never-right"}
    apart |= {"loss-lost-in-forced-half"}  # of Ascend's graph engine: test_out_of_scale.py
    apart |= {"pairs-turned", "language-head-untrained"}  # of models that rank pairs: test_language_models.py
    apart |= {"solved-by-one-tree"}  # of boosted trees: below
    apart |= {"loss-above-guess-by-accumulation"}  # of a language model whose batches are accumulated: below
    assert {s.id for s in zoo.symptoms()} - absent == apart


def complete(rng: np.random.Generator) -> zoo.Run:
    """A healthy run that logs everything the probes know of."""
    n = 240
    at = zoo.steps(n, 1)
    loss = zoo.noisy(rng, zoo.decay(n))
    epochs = (np.arange(n) + 1) / 40
    evals = at[39::40]
    held = zoo.noisy(rng, zoo.decay(n, 2.2, 0.3), 0.01)[39::40]
    made = [
        series("train/loss", loss, at, epochs=epochs),
        series("train/loss/recon", loss * 0.6, at),
        series("train/loss/kl", loss * 0.4, at),
        series("train/loss/bbox", loss * 0.4, at, raw="loss_bbox"),
        series("eval/loss", held, evals),
        series("test/loss", held[-1:], evals[-1:], raw="Test CTC loss"),
        series("eval/map", np.linspace(0.2, 0.5, len(evals)), evals),
        series("eval/dice", np.linspace(0.5, 0.8, len(evals)), evals),
        series("train/accuracy", zoo.accuracy(loss, 2.3), at),
        series("eval/accuracy", zoo.accuracy(held, 2.3), evals),
        series("eval/accuracy/cat", zoo.accuracy(held, 2.3), evals),
        series("eval/iou/0", np.linspace(0.8, 0.9, len(evals)), evals),
        series("eval/iou/1", np.linspace(0.1, 0.4, len(evals)), evals),
        series("eval/accuracy/dog", zoo.accuracy(held, 2.3), evals),
        series("train/mse", loss, at),
        series("eval/mape", np.linspace(0.8, 0.2, len(evals)), evals),
        series("train/mae", 0.8 * np.sqrt(loss), at),
        series("grad_norm", zoo.noisy(rng, np.full(n, 1.0), 0.2), at),
        series("weight_norm", np.linspace(10, 12, n), at),
        series("activation/relu", np.full(n, 0.4), at, raw="dead/relu"),
        series("loss_scale", np.where(at < 100, 65536.0, 131072.0), at),
        series("overflow", np.zeros(n), at),
        series("label_tokens", np.full(n, 900.0), at, raw="label_tokens"),
        *(series(f"grad_norm/layers.{k}", zoo.noisy(rng, np.full(n, 0.5), 0.2), at) for k in range(5)),
    ]
    settings = {"max_grad_norm": 1.0, "precision": "fp16", "pretrained": False, "class_counts": (50, 60, 55)}
    settings |= {"loss_scale_window": 2000, "warmup_steps": 100}
    apart = Event("worked-out", "out.log", 1, text="columns from a (0.3) to b (9)", data="columns-apart")
    return run(made, settings, [Event("eval", "log.txt", 5, 40.0), apart])


def test_only_an_evaluation_loss_is_said() -> None:
    """Without a training loss the probes of the training loss say so."""
    found = zoo.read(run([series("eval/loss", zoo.decay(50))]), "loss-diverges", "loss-not-finite")

    assert {r.state for r in found.values()} == {State.UNKNOWN}
    assert all("only eval/loss" in r.why for r in found.values())


def test_terms_stand_in_for_a_total() -> None:
    """Where only terms of the loss were logged, they are looked at."""
    rng = np.random.default_rng(0)
    rising = zoo.noisy(rng, 2.3 * np.exp(2 * np.arange(100) / 100))
    made = run([series("train/loss/box", rising), series("train/loss/cls", zoo.decay(50))])

    assert zoo.state(made, "loss-diverges") is State.PRESENT


@pytest.mark.parametrize("points", [1, 2, 3, 4])
def test_few_points_are_not_judged(points: int) -> None:
    """A handful of points neither shows nor rules out a plateau, and says how many are needed."""
    found = zoo.read(
        run([series("train/loss", np.full(points, 2.3026))]), "loss-not-converging", "loss-oscillates"
    )

    assert {r.state for r in found.values()} == {State.UNKNOWN}
    assert all("needed" in r.why for r in found.values())


def test_an_unfinished_run_is_not_judged() -> None:
    """Nothing is called flat before a third of the plan, or while the learning rate warms up."""
    rng = np.random.default_rng(0)
    flat = series("train/loss", 2.3026 + 0.01 * rng.standard_normal(100))
    warm = series("learning_rate", np.linspace(0, 1e-3, 100))

    assert zoo.state(run([flat], {"max_steps": 1000}), "loss-not-converging") is State.UNKNOWN
    assert zoo.state(run([flat, warm]), "loss-flat-from-start") is State.UNKNOWN
    assert zoo.state(run([flat], {"max_steps": 100}), "loss-not-converging") is State.PRESENT


def test_a_trained_start_explains_a_flat_loss() -> None:
    """A flat loss means nothing where trained weights were loaded or the metric is good."""
    rng = np.random.default_rng(0)
    flat = series("train/loss", zoo.noisy(rng, np.full(100, 1.7), 0.03))
    good = series("eval/accuracy", np.linspace(0.91, 0.92, 10), np.linspace(10, 100, 10))

    assert zoo.state(run([flat]), "loss-flat-from-start") is State.PRESENT
    assert zoo.state(run([flat], {"pretrained": True}), "loss-flat-from-start") is State.UNKNOWN
    assert zoo.state(run([flat, good]), "loss-flat-from-start") is State.ABSENT


def test_a_language_model_below_a_guess_among_letters_was_trained_before() -> None:
    """Megatron's `lm loss` starts at 10 or so untrained; a loss of any other name may start anywhere."""
    rng = np.random.default_rng(0)
    flat = series("train/loss", zoo.noisy(rng, np.full(100, 1.7), 0.03))

    assert zoo.state(run([replace(flat, raw="lm loss")]), "loss-flat-from-start") is State.UNKNOWN
    assert zoo.state(run([flat]), "loss-flat-from-start") is State.PRESENT


def test_a_loss_that_is_summed_over_what_is_accumulated() -> None:
    """Below a guess, or above one after the division as well: it is no sum. It needs accumulation."""
    told = {"vocab_size": 32000, "gradient_accumulation_steps": 4}
    name = "loss-above-guess-by-accumulation"
    curve = 14.0 + 16.0 * np.exp(-np.arange(60) / 20.0)

    assert zoo.state(run([series("train/loss", curve)], told), name) is State.PRESENT
    assert zoo.state(run([series("train/loss", curve / 4)], told), name) is State.ABSENT
    assert zoo.state(run([series("train/loss", curve * 3)], told), name) is State.ABSENT
    assert zoo.state(run([series("train/loss", curve)], {"vocab_size": 32000}), name) is State.UNKNOWN


def test_the_loss_of_a_diffusion_model_is_noisy() -> None:
    """How much noise was drawn rules it."""
    rng = np.random.default_rng(0)
    rough = series("train/loss", 0.1 * np.exp(0.6 * rng.standard_normal(200)))

    assert zoo.state(run([rough]), "loss-noisy") is State.PRESENT
    assert zoo.state(run([rough], {"unet_lr": 1e-4}), "loss-noisy") is State.UNKNOWN


def test_a_run_that_resumed_itself_began_untrained() -> None:
    """Where the log holds the beginning, going on from the run's own checkpoint is no trained start."""
    rng = np.random.default_rng(0)
    flat = zoo.noisy(rng, np.full(100, 1.7), 0.03)
    own, foreign = Event("resume", "log.txt", step=50.0), Event("resume", "log.txt")
    setting = {"resume_from": "checkpoints/last.pt"}

    def state(first: int, event: Event) -> State:
        made = run([series("train/loss", flat, np.arange(first, first + 100))], setting, [event])
        return zoo.state(made, "loss-flat-from-start")

    assert state(1, own) is State.PRESENT
    assert state(1, foreign) is State.UNKNOWN
    assert state(50, own) is State.UNKNOWN


def test_bits_are_not_nats() -> None:
    """A loss in bits is compared with the binary logarithm."""
    rng = np.random.default_rng(0)
    flat = series("train/loss", np.log2(10) + 0.01 * rng.standard_normal(100))
    settings = {"num_classes": 10}

    assert zoo.state(run([flat], settings, facts={"loss_base": 2}), "loss-at-chance-level") is State.PRESENT
    assert zoo.state(run([flat], settings), "loss-at-chance-level") is State.ABSENT


def test_the_onset_is_where_the_loss_leaves() -> None:
    """The step of a divergence is near the point where the curve turns up."""
    rng = np.random.default_rng(1)
    n = 400
    t = np.arange(n) / n
    loss = np.where(t < 0.5, zoo.decay(n, 2.3, 0.4, 8), 0.45 + 4 * (t - 0.5))
    found = zoo.read(run([series("train/loss", zoo.noisy(rng, loss, 0.02))]), "loss-late-divergence")
    onset = found["loss-late-divergence"].step

    assert onset is not None
    assert 190 <= onset <= 240


def changed(curve: Series, **rest: object) -> Series:
    return replace(curve, **rest)  # type: ignore[arg-type]


KINDS = ["turns up late", "flat at ln 10", "falls slowly", "spikes", "overfits", "stuck high", "swings"]


@settings(max_examples=20)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 5), factor=st.sampled_from([0.1, 7.0, 1000.0]))
def test_the_unit_of_steps_does_not_matter(kind: str, seed: int, factor: float) -> None:
    """Steps in other units (samples, tokens) change no reading's state."""
    made = zoo.sick_runs(np.random.default_rng(seed), 200)[kind].made
    curves = {n: changed(s, steps=s.steps * factor, unit="sample") for n, s in made.series.items()}
    same = {n: changed(s, unit="sample") for n, s in made.series.items()}
    scaled, plain = replace(made, series=curves), replace(made, series=same)

    assert zoo.shown(scaled) == zoo.shown(plain)


@settings(max_examples=25)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 5))
def test_thinning_keeps_what_is_present(kind: str, seed: int) -> None:
    """Every second point still shows what the full curve shows."""
    sick = zoo.sick_runs(np.random.default_rng(seed), 400)[kind]
    curves = {
        n: changed(s, steps=s.steps[::2], values=s.values[::2], lines=None) if len(s) >= 200 else s
        for n, s in sick.made.series.items()
    }

    assert set(sick.present) <= zoo.shown(replace(sick.made, series=curves))


@given(kind=st.sampled_from(sorted(zoo.HEALTHY)), seed=st.integers(0, 3), missing=st.integers(1, 30))
def test_a_tail_without_numbers_is_seen(kind: str, seed: int, missing: int) -> None:
    """NaN at the end of any healthy run's loss is found, with the step where it begins."""
    made = zoo.HEALTHY[kind](np.random.default_rng(seed), 120)
    loss = made.series["train/loss"]
    values = loss.values.copy()
    start = max(1, len(values) - missing)
    values[start:] = np.nan
    broken = replace(made, series={**made.series, "train/loss": changed(loss, values=values)})
    found = zoo.read(broken, "loss-not-finite")["loss-not-finite"]

    assert found.state is State.PRESENT
    assert found.step == loss.steps[start]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=60), st.integers(0, 2))
def test_no_values_make_a_probe_fail(values: list[float], kind: int) -> None:
    """Arbitrary numbers never raise: every reading is a state with a sentence."""
    array = np.array(values, dtype=float)
    steps = [None, np.zeros(len(array)), np.cumsum(np.abs(np.nan_to_num(array, posinf=1.0, neginf=1.0)))][
        kind
    ]
    names = (
        "train/loss",
        "eval/loss",
        "grad_norm",
        "loss_scale",
        "learning_rate",
        "eval/accuracy",
        "overflow",
    )
    made = run([series(n, array, steps) for n in names], {"num_classes": 10, "max_grad_norm": 1.0})
    found = zoo.read(made)

    assert not [(i, r.why) for i, r in found.items() if "probe error" in r.why]


def test_a_run_that_broke_off_may_have_fallen_on() -> None:
    """A loss that ends as no number, and one that an error cut off, say nothing of missing epochs."""
    falls = np.linspace(9.0, 5.0, 40)
    error = Event("scale-at-minimum", "log.txt", 41, 40.0)
    whole, cut = run([series("train/loss", falls)]), run([series("train/loss", falls)], events=[error])
    ended = run([series("train/loss", [*falls, np.nan])])

    assert zoo.state(whole, "loss-falling-at-end") is State.PRESENT
    assert zoo.state(cut, "loss-falling-at-end") is State.UNKNOWN
    assert zoo.state(ended, "loss-falling-at-end") is State.UNKNOWN


def test_a_spent_learning_rate_says_nothing_of_the_end() -> None:
    """A curve that flattens while the learning rate runs out may be unfinished or finished: unknown."""
    n = 200
    loss = series("train/loss", 0.3 + 2 * np.exp(-np.arange(n) / 20))
    decayed = series("learning_rate", 1e-3 * (0.5 + 0.5 * np.cos(np.pi * np.arange(n) / n)))
    constant = series("learning_rate", np.full(n, 1e-3))
    states = [zoo.read(run([loss, s]), "loss-falling-at-end") for s in (decayed, constant)]

    assert [s["loss-falling-at-end"].state for s in states] == [State.UNKNOWN, State.ABSENT]


def test_a_flat_loss_has_no_form() -> None:
    """Where the loss does not fall beyond its noise, whether it falls in a line is unknown."""
    rng = np.random.default_rng(0)
    found = zoo.read(run([series("train/loss", 2 + 0.05 * rng.normal(size=200))]), "loss-converges-slowly")

    assert found["loss-converges-slowly"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("steps", "settings_", "expected"),
    [
        ([10, 20, 40], {}, State.PRESENT),
        ([100, 200, 400], {}, State.ABSENT),
        ([1, 2, 3], {"epochs": 3}, State.UNKNOWN),
        ([10, 20, 40], {"max_steps": 400}, State.UNKNOWN),
        ([10, 20, 40], {"pretrained": True}, State.UNKNOWN),
    ],
)
def test_few_updates(steps: list[int], settings_: dict[str, object], expected: State) -> None:
    """Few steps count where the log counts steps, the plan is done, and the model starts untrained."""
    made = run([series("train/loss", [2.3, 2.2, 2.1], steps)], settings_)

    assert zoo.read(made, "updates-very-few")["updates-very-few"].state is expected


def test_thirds_tell_a_noisy_loss_that_does_not_fall() -> None:
    """Whole thirds that lie alike make it present; few points or a fall do not."""
    from traindoctor.probes.curves import progress

    rng = np.random.default_rng(4)

    def found(count: int, end: float) -> str:
        values = np.linspace(1.0, end, count) * np.exp(0.2 * rng.standard_normal(count))
        return str(progress.not_converging(View(run([series("train/loss", values)]), None)).state)

    assert found(200, 1.0) == "present"
    assert found(200, 0.6) == "absent"
    assert found(12, 1.0) == "unknown"


def test_means_of_epochs_that_hardly_move() -> None:
    """A caveat where nothing else tells; a metric, a fall or single batches are another matter."""
    from traindoctor.probes.curves import progress

    def found(end: float, *more: Series, unit: str = "epoch") -> str:
        loss = series("train/loss", np.linspace(0.975, end, 24), unit=unit)
        return str(progress.hardly_moves(View(run([loss, *more]), None)).state)

    assert found(0.962) == "present"
    assert found(0.5) == "absent"
    assert found(0.962, series("eval/accuracy", np.linspace(0.94, 0.95, 24), unit="epoch")) == "absent"
    assert found(0.962, unit="step") == "unknown"


def test_one_tree_that_knows_the_answer() -> None:
    """Absent where the first tree ranks as first trees do; unknown where nothing tells of trees."""
    boosted = {"eta": 0.1, "num_boost_round": 60}

    def found(first: float, settings: dict[str, float]) -> str:
        held = series("eval/auc", np.linspace(first, 0.9998, 60), np.arange(60.0))
        return zoo.read(run([held], settings), "solved-by-one-tree")["solved-by-one-tree"].state.value

    assert found(0.999, boosted) == "present"
    assert found(0.82, boosted) == "absent"
    assert found(0.999, {"learning_rate": 0.1}) == "unknown"
    # forests, deep trees and those that go on rank much by themselves
    assert found(0.996, boosted | {"max_depth": 3}) == "present"
    assert found(0.996, boosted | {"max_depth": 6}) == "absent"
    assert found(0.999, boosted | {"max_depth": 12}) == "unknown"
    assert found(0.999, boosted | {"num_parallel_tree": 100}) == "unknown"


def test_few_epochs_that_still_bring_much() -> None:
    """A fine-tuning whose evaluation stands by its last epoch is done; many epochs are not judged so."""

    def found(train: list[float], held: list[float], *more: Series, **settings: float) -> str:
        both = [series("train/loss", train, unit="epoch"), series("eval/loss", held, unit="epoch"), *more]
        return zoo.read(run(both, settings), "few-epochs-still-falling")[
            "few-epochs-still-falling"
        ].state.value

    assert found([2.9, 1.7, 1.0, 0.7], [2.4, 1.2, 0.8, 0.6]) == "present"
    assert found([2.9, 1.7, 1.0, 0.7], [2.4, 1.2, 1.1, 1.1]) == "absent"
    assert found([2.9, 1.7], [2.4, 1.2]) == "unknown"
    right = series("eval/accuracy", [0.81, 0.9, 0.93, 0.95], unit="epoch")
    assert found([2.9, 1.7, 1.0, 0.7], [2.4, 1.2, 0.8, 0.6], right) == "unknown"
    assert found([2.9, 1.7, 1.0, 0.7], [2.4, 1.2, 0.8, 0.6], epochs=90) == "unknown"  # it still trains
    assert found(list(zoo.decay(30)), list(zoo.decay(30))) == "unknown"


def test_contrastive_losses_have_the_batch_for_classes() -> None:
    """Each pair is told from the others of its batch: ln of its size is a guess."""
    loss = np.r_[6.9, np.full(99, 5.5453)]
    made = run(
        [series("train/loss", loss), series("train/loss/contrastive", loss)], {"global_batch_size": 256}
    )

    assert zoo.read(made, "loss-at-chance-level")["loss-at-chance-level"].state is State.PRESENT
    assert zoo.read(made, "thrown-to-guessing")["thrown-to-guessing"].state is State.PRESENT
