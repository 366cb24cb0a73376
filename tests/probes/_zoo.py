"""Synthetic runs: healthy ones of many kinds, and sick ones by symptom, from a seed and a length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

import traindoctor
from traindoctor.engine.model import Reading, RunInfo, State, Symptom
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, collect
from traindoctor.probes.run import Event, Run

from ._build import run, series

Floats = NDArray[np.float64]
Make = Callable[[np.random.Generator, int], Run]
AREAS = ("loss", "metrics", "gradients", "numerics")
PROBES = all_probes()
CURVES = frozenset(
    [
        *(
            "by_recipe",
            "curves",
            "epochs",
            "gaps",
            "gradients",
            "levels",
            "metrics",
            "numerics",
            "objective",
            "pace",
        ),
        *("out_of_scale", "rounding", "scaler", "stuck", "weights", "with_rate"),
    ]
)


@lru_cache(maxsize=1)
def symptoms() -> tuple[Symptom, ...]:
    """The symptoms of curves, as their rule files say."""
    found = []
    folder = Path(str(traindoctor.__file__)).parent / "rules" / "symptoms"
    for area in AREAS:
        loaded = yaml.safe_load((folder / f"{area}.yaml").read_text(encoding="utf-8"))
        for row in loaded["symptoms"]:
            if row.get("probe", "").partition(".")[0] not in CURVES:
                continue  # it is read from other files than logs
            found.append(Symptom(row["id"], row["title"], area, 0.01, row["probe"], row.get("params", {})))
    return tuple(found)


def read(made: Run, *ids: str) -> dict[str, Reading]:
    """Readings of a run: of these symptoms, or of all."""
    return dict(collect(View(made), [s for s in symptoms() if not ids or s.id in ids], PROBES))


def shown(made: Run) -> set[str]:
    """The symptoms that are present."""
    return {i for i, r in read(made).items() if r.state is State.PRESENT}


def state(made: Run, symptom: str) -> State:
    """The state of one symptom."""
    return read(made, symptom)[symptom].state


# ------------------------------------------------------------------------------------------------ shapes


def steps(n: int, every: int = 10) -> Floats:
    return np.arange(1, n + 1, dtype=np.float64) * every


def decay(n: int, start: float = 2.3, floor: float = 0.15, speed: float = 6.0) -> Floats:
    return floor + (start - floor) * np.exp(-speed * np.arange(n) / n)


def noisy(rng: np.random.Generator, values: Floats, relative: float = 0.05) -> Floats:
    return values * np.exp(relative * rng.standard_normal(len(values)))


def accuracy(loss: Floats, start: float, low: float = 0.1, high: float = 0.97) -> Floats:
    return low + (high - low) * np.clip(1 - loss / start, 0, 1) ** 0.7


def by_epoch(values: Floats, count: int) -> Floats:
    return np.array([float(np.mean(p)) for p in np.array_split(values, count)])


# ----------------------------------------------------------------------------------------------- healthy


def classifier(rng: np.random.Generator, n: int) -> Run:
    loss = noisy(rng, decay(n))
    evals = max(5, n // 20)
    held = noisy(rng, by_epoch(decay(n, 2.2, 0.3), evals), 0.02)
    at = np.linspace(n * 10 / evals, n * 10, evals)
    quantised = np.round(accuracy(held, 2.3, high=0.93) * 500) / 500
    return run(
        [
            series("train/loss", loss, steps(n)),
            series("eval/loss", held, at),
            series("eval/accuracy", quantised, at),
            series("grad_norm", noisy(rng, 1.0 + 2 * decay(n, 1, 0.1), 0.3), steps(n)),
            series("learning_rate", 0.1 * 0.5 * (1 + np.cos(np.pi * np.arange(n) / n)), steps(n)),
        ],
        {"num_classes": 10, "optimizer": "sgd", "learning_rate": 0.1},
    )


def plain(rng: np.random.Generator, n: int) -> Run:
    return run([series("train/loss", noisy(rng, decay(n)), steps(n))])


def language_model(rng: np.random.Generator, n: int) -> Run:
    t = np.arange(1, n + 1) / n
    loss = 2.8 + 8.0 * (1 + 300 * t) ** -0.6
    warm = np.minimum(t / 0.05, 1) * np.where(t > 0.05, 0.5 * (1 + np.cos(np.pi * (t - 0.05) / 0.95)), 1)
    return run(
        [
            series("train/loss", noisy(rng, loss, 0.015), steps(n)),
            series("learning_rate", 6e-4 * warm, steps(n)),
            series("grad_norm", noisy(rng, 0.3 + 5 * (1 + 300 * t) ** -0.8, 0.2), steps(n)),
        ],
        {"vocab_size": 50257, "max_grad_norm": 1.0, "optimizer": "adamw", "precision": "bf16"},
    )


def small_batches(rng: np.random.Generator, n: int) -> Run:
    return run([series("train/loss", noisy(rng, decay(n, 2.3, 0.4), 0.45), steps(n, 1))], {"num_classes": 10})


def heavy_tail(rng: np.random.Generator, n: int) -> Run:
    loss = decay(n, 2.3, 0.02) * rng.gamma(0.7, 1 / 0.7, n)
    return run([series("train/loss", np.maximum(loss, 1e-6), steps(n, 1))])


def step_schedule(rng: np.random.Generator, n: int) -> Run:
    third = np.arange(n) * 3 // n
    loss = np.array([0.9, 0.45, 0.3])[third] + 1.4 * np.exp(-20 * np.arange(n) / n)
    rate = 0.1 * 0.1**third
    return run([series("train/loss", noisy(rng, loss), steps(n)), series("learning_rate", rate, steps(n))])


def _cycle(n: int) -> tuple[Floats, Floats]:
    phase = (np.arange(n) * 4 / n) % 1.0
    base = 0.3 + 1.8 * np.exp(-5 * np.arange(n) / n)
    return base * (1 + 0.9 * np.exp(-4 * phase) * (np.arange(n) >= n / 4)), 0.1 * 0.5 * (
        1 + np.cos(np.pi * phase)
    )


def warm_restarts(rng: np.random.Generator, n: int) -> Run:
    loss, rate = _cycle(n)
    return run([series("train/loss", noisy(rng, loss), steps(n)), series("learning_rate", rate, steps(n))])


def warm_restarts_unlogged(rng: np.random.Generator, n: int) -> Run:
    return run([series("train/loss", noisy(rng, _cycle(n)[0]), steps(n))])


def early_plateau(rng: np.random.Generator, n: int) -> Run:
    t = np.arange(n) / n
    return run([series("train/loss", noisy(rng, 2.3 - 1.9 / (1 + np.exp(-25 * (t - 0.35))), 0.03), steps(n))])


def fine_tuned_classifier(rng: np.random.Generator, n: int) -> Run:
    loss = noisy(rng, decay(n, 0.12, 0.1, 2.0), 0.2)
    evals = max(5, n // 20)
    acc = np.round((0.96 + 0.01 * rng.standard_normal(evals)) * 1000) / 1000
    at = np.linspace(n * 10 / evals, n * 10, evals)
    return run(
        [series("train/loss", loss, steps(n)), series("eval/accuracy", np.minimum(acc, 1), at)],
        {"num_classes": 10},
    )


def fine_tuned_words(rng: np.random.Generator, n: int) -> Run:
    loss = noisy(rng, decay(n, 1.35, 1.22, 4.0), 0.08)
    return run(
        [
            series("train/loss", loss, steps(n), window="mean-since-last"),
            series("grad_norm", noisy(rng, np.full(n, 0.6), 0.2), steps(n)),
            series("learning_rate", np.linspace(2e-5, 0, n), steps(n)),
        ],
        {"vocab_size": 32000, "max_grad_norm": 1.0},
        facts={"framework": "transformers"},
    )


def adapter_by_epochs(rng: np.random.Generator, n: int) -> Run:
    part = np.arange(n) * 3 // n
    loss = np.array([1.3, 1.0, 0.75])[part]
    epochs_ = np.arange(1, n + 1) * 3 / n
    return run(
        [series("train/loss", noisy(rng, loss, 0.08), steps(n), epochs=epochs_)],
        {"adapter": "lora", "epochs": 3},
        facts={"framework": "transformers"},
    )


def regression_floor(rng: np.random.Generator, n: int) -> Run:
    loss = noisy(rng, decay(n, 1.1, 0.4, 20.0), 0.1)
    r2 = np.clip(1 - by_epoch(loss, 10), 0, 1)
    return run(
        [series("train/loss", loss, steps(n)), series("eval/r2", r2, np.linspace(n, 10 * n, 10))],
        {"loss_function": "mse"},
    )


def floor_alone(rng: np.random.Generator, n: int) -> Run:
    return run([series("train/loss", noisy(rng, decay(n, 1.0, 0.55, 15.0), 0.08), steps(n))])


def clicks(rng: np.random.Generator, n: int) -> Run:
    auc = 0.5 + 0.27 * (1 - np.exp(-np.arange(1, 9) / 2))
    loss = noisy(rng, decay(n, 0.69, 0.46, 12.0), 0.06)
    return run([series("train/loss", loss, steps(n)), series("eval/auc", auc, np.linspace(n, 10 * n, 8))])


def decades(rng: np.random.Generator, n: int) -> Run:
    return run(
        [series("train/loss", noisy(rng, 10.0 ** (-4 * np.arange(n) / n), 0.3), steps(n))],
        {"loss_function": "mse"},
    )


def _scaled(
    rng: np.random.Generator, n: int, first: float, steady: float, window: int, hysteresis: int = 1
) -> Run:
    scale, value, since, left = [], first, 0, hysteresis
    overflow = []
    for _ in range(n):
        over = value > steady
        overflow.append(float(over))
        scale.append(value)
        if over:
            left -= 1
            since = 0
            if left <= 0:
                value, left = value / 2, 1
        else:
            since += 1
            if since >= window:
                value, since, left = value * 2, 0, hysteresis
    held = np.array(overflow)
    norms = np.where(held > 0, np.inf, noisy(rng, np.full(n, 1.2), 0.2))
    return run(
        [
            series("train/loss", noisy(rng, decay(n)), steps(n, 1)),
            series("loss_scale", scale, steps(n, 1)),
            series("overflow", held, steps(n, 1)),
            series("grad_norm", norms, steps(n, 1)),
        ],
        {"precision": "fp16"},
    )


def scaler_torch(rng: np.random.Generator, n: int) -> Run:
    return _scaled(rng, n, 2.0**16, 2.0**13, 60)


def scaler_megatron(rng: np.random.Generator, n: int) -> Run:
    return _scaled(rng, max(n, 80), 2.0**32, 2.0**17, 1000, 2)


def scaler_mindspore(rng: np.random.Generator, n: int) -> Run:
    return _scaled(rng, n, 2.0**24, 2.0**15, 50)


def scaler_fairseq(rng: np.random.Generator, n: int) -> Run:
    return _scaled(rng, n, 2.0**7, 2.0**5, 40)


def scaler_short_window(rng: np.random.Generator, n: int) -> Run:
    return _scaled(rng, n, 2.0**24, 2.0**18, 5)


def scaler_in_events(rng: np.random.Generator, n: int) -> Run:
    told = [
        Event("overflow", "log.txt", i, float(i), 65536.0 / 2**i, text="OVERFLOW! Skipping step")
        for i in range(1, 4)
    ]
    told.append(Event("overflow", "log.txt", 900, 0.8 * n, 8192.0, text="OVERFLOW! Skipping step"))
    return run([series("train/loss", noisy(rng, decay(n)), steps(n, 1))], {"precision": "fp16"}, told)


def fixed_scale(rng: np.random.Generator, n: int) -> Run:
    return run(
        [
            series("train/loss", noisy(rng, decay(n)), steps(n)),
            series("loss_scale", np.full(n, 1.0), steps(n)),
        ]
    )


def skipped_rows(rng: np.random.Generator, n: int) -> Run:
    rate = np.linspace(1e-4, 0, n)
    norms = noisy(rng, np.full(n, 1.0), 0.3)
    for at in (n // 4, n // 2):
        norms[at] = np.nan
        rate[at:] = np.concatenate([[rate[at - 1]], rate[at:-1]])
    norms[0] = np.inf
    return run(
        [
            series("train/loss", noisy(rng, decay(n)), steps(n)),
            series("grad_norm", norms, steps(n)),
            series("learning_rate", rate, steps(n)),
        ]
    )


def few_epochs(rng: np.random.Generator, n: int) -> Run:
    loss = noisy(rng, np.array([0.9, 0.42, 0.3, 0.25, 0.23]), 0.02)
    acc = np.array([0.82, 0.88, 0.9, 0.91, 0.91])
    at = np.arange(1, 6, dtype=float)
    return run(
        [
            series("train/loss", loss, at, unit="epoch"),
            series("eval/loss", loss * 1.05, at, unit="epoch"),
            series("eval/accuracy", acc, at, unit="epoch"),
        ],
        {"epochs": 5},
    )


def digits_by_epoch(rng: np.random.Generator, n: int) -> Run:
    count = 12
    at = np.arange(1, count + 1, dtype=float)
    held = 0.028 + 0.05 * np.exp(-at) + 0.002 * rng.standard_normal(count)
    return run(
        [
            series("train/loss", 0.22 * at**-1.0, at, unit="epoch", window="epoch-mean"),
            series("train/accuracy", np.minimum(0.999, 0.94 + 0.02 * at), at, unit="epoch"),
            series("eval/loss", held, at, unit="epoch"),
            series("eval/accuracy", 0.991 - 0.01 * np.exp(-at / 2) - 0.02 * (at < 2), at, unit="epoch"),
            series("eval/f1", 0.981 - 0.02 * np.exp(-at / 2) - 0.03 * (at < 2), at, unit="epoch"),
        ],
        {"num_classes": 10, "epochs": count},
    )


def adversarial(rng: np.random.Generator, n: int) -> Run:
    t = np.arange(n)
    g = 1.2 + 0.4 * np.sin(t / 15) + 0.2 * rng.standard_normal(n)
    d = 0.7 + 0.1 * np.cos(t / 11) + 0.1 * rng.standard_normal(n)
    return run(
        [
            series("train/loss", g + d, steps(n)),
            series("train/loss/g", g, steps(n), raw="g_loss"),
            series("train/loss/d", d, steps(n), raw="d_loss"),
        ]
    )


def reinforcement(rng: np.random.Generator, n: int) -> Run:
    t = np.arange(n) / n
    loss = 0.5 + 3 * t + rng.standard_normal(n)
    return run(
        [
            series("train/loss", loss, steps(n)),
            series("train/reward", 200 * t + 10 * rng.standard_normal(n), steps(n)),
        ]
    )


def curriculum(rng: np.random.Generator, n: int) -> Run:
    half = n // 2
    loss = np.concatenate([decay(half, 2.3, 0.5, 8.0), decay(n - half, 1.3, 0.55, 5.0)])
    return run([series("train/loss", noisy(rng, loss, 0.05), steps(n))])


def smoothed_labels(rng: np.random.Generator, n: int) -> Run:
    epochs_ = 20
    at = np.arange(1, epochs_ + 1, dtype=float)
    train = noisy(rng, decay(epochs_, 2.5, 1.15), 0.01)
    held = noisy(rng, decay(epochs_, 2.2, 0.72), 0.02)
    acc = accuracy(held - 0.7, 2.3, high=0.94)
    return run(
        [
            series("train/loss", train, at, unit="epoch"),
            series("eval/loss", held, at, unit="epoch"),
            series("eval/accuracy", acc, at, unit="epoch"),
        ],
        {"label_smoothing": 0.1, "mixup": 0.2, "num_classes": 10, "epochs": epochs_},
    )


def mild_overfit(rng: np.random.Generator, n: int) -> Run:
    count = 24
    at = np.arange(1, count + 1, dtype=float)
    train = noisy(rng, decay(count, 1.8, 0.18), 0.02)
    held = 0.35 + 1.2 * np.exp(-at / 3) + 0.0015 * np.maximum(at - 12, 0) + 0.012 * rng.standard_normal(count)
    acc = 0.9 - 0.6 * np.exp(-at / 3) + 0.004 * rng.standard_normal(count)
    return run(
        [
            series("train/loss", train, at, unit="epoch"),
            series("eval/loss", held, at, unit="epoch"),
            series("eval/accuracy", acc, at, unit="epoch"),
        ],
        {"num_classes": 10, "epochs": count},
    )


def healed_spike(rng: np.random.Generator, n: int) -> Run:
    loss = noisy(rng, decay(n, 9.0, 3.0), 0.02)
    at = int(0.6 * n)
    loss[at : at + 3] *= [1.25, 1.18, 1.06]
    return run([series("train/loss", loss, steps(n))])


def few_classes(rng: np.random.Generator, n: int) -> Run:
    count = 15
    at = np.arange(1, count + 1, dtype=float)
    loss = noisy(rng, decay(count, 1.05, 0.2), 0.05)
    acc = np.round(accuracy(loss, 1.1, 0.35, 0.95) * 20) / 20
    return run(
        [series("train/loss", loss, at, unit="epoch"), series("eval/accuracy", acc, at, unit="epoch")],
        {"num_classes": 3, "epochs": count},
    )


def detector(rng: np.random.Generator, n: int) -> Run:
    count = 60
    at = np.arange(1, count + 1, dtype=float)
    terms = {
        t: noisy(rng, decay(count, s, 0.35 * s, 3.0), 0.02)
        for t, s in (("box", 1.5), ("cls", 2.5), ("dfl", 1.4))
    }
    made = [series(f"train/loss/{t}", v, at, unit="epoch") for t, v in terms.items()]
    total = np.sum(list(terms.values()), axis=0)
    ap = 0.6 * (1 - np.exp(-at / 12))
    ap[0] = 0.0
    apart = series("eval/epe", 8 * np.exp(-at / 12) + 1, at, unit="epoch")  # of the boxes' centres
    return run(
        [
            *made,
            series("train/loss", total, at, unit="epoch"),
            series("eval/map", ap, at, unit="epoch"),
            apart,
        ],
        {"num_classes": 5, "epochs": count},
    )


def warmed_up(rng: np.random.Generator, n: int) -> Run:
    t = np.arange(n) / n
    rate = 1e-3 * np.minimum(t / 0.1, 1)
    loss = 2.35 - 2.0 / (1 + np.exp(-20 * (t - 0.15)))
    return run(
        [series("train/loss", noisy(rng, loss, 0.03), steps(n)), series("learning_rate", rate, steps(n))],
        {"num_classes": 10},
    )


def undefined_metric(rng: np.random.Generator, n: int) -> Run:
    auc = 0.5 + 0.4 * (1 - np.exp(-np.arange(10) / 3.0))
    auc[0] = np.nan
    return run(
        [
            series("train/loss", noisy(rng, decay(n)), steps(n)),
            series("eval/auc", auc, np.linspace(n, 10 * n, 10)),
        ]
    )


def likelihood_below_zero(rng: np.random.Generator, n: int) -> Run:
    loss = 3.0 - 4.0 * (1 - np.exp(-5 * np.arange(n) / n)) + 0.05 * rng.standard_normal(n)
    return run([series("train/loss", loss, steps(n))])


def resumed_well(rng: np.random.Generator, n: int) -> Run:
    told = [Event("rewind", "log.txt", 50, 5.0 * n, 5.2 * n, text="resumed")]
    return run([series("train/loss", noisy(rng, decay(n)), steps(n))], events=told)


def uneven(rng: np.random.Generator, n: int) -> Run:
    at = np.unique(np.geomspace(1, 10 * n, n).astype(int)).astype(float)
    loss = 0.2 + 2.1 * np.exp(-5 * at / at[-1])
    return run([series("train/loss", noisy(rng, loss), at)])


HEALTHY: Mapping[str, Make] = {
    f.__name__: f
    for f in (
        classifier, plain, language_model, small_batches, heavy_tail, step_schedule, warm_restarts,
        warm_restarts_unlogged, early_plateau, fine_tuned_classifier, fine_tuned_words, adapter_by_epochs,
        regression_floor, floor_alone, clicks, decades, scaler_torch, scaler_megatron, scaler_mindspore,
        scaler_fairseq, scaler_short_window, scaler_in_events, fixed_scale, skipped_rows, few_epochs,
        digits_by_epoch, adversarial, reinforcement, curriculum, smoothed_labels, mild_overfit, healed_spike,
        few_classes, detector, warmed_up, undefined_metric, likelihood_below_zero, resumed_well, uneven,
    )
}  # fmt: skip

# Facts that healthy runs may show: they are rated so in the rules.
MILD = {
    "loss-falling-at-end",
    "metric-rising-at-end",
    "metric-undefined",
    "train-loss-near-zero",
    "loss-drops-at-epoch-boundary",
    "loss-spikes",
    "updates-very-few",
}
# What a kind is made to show.
ALLOWED = {
    "likelihood_below_zero": {"loss-negative"},
    "reinforcement": set(),
    "digits_by_epoch": {"near-perfect-early"},
}


# -------------------------------------------------------------------------------------------------- sick


@dataclass(frozen=True)
class Sick:
    """A run with what must be present, and what must not."""

    made: Run
    present: tuple[str, ...]
    not_present: tuple[str, ...] = field(default=())


def _nan_tail(values: Floats, at: int) -> Floats:
    out = values.copy()
    out[at:] = np.nan
    return out


def sick_runs(rng: np.random.Generator, n: int) -> dict[str, Sick]:
    """Sick runs by what ails them."""
    t = np.arange(n) / n
    at = steps(n)
    few = np.arange(1, 31, dtype=np.float64)
    good = noisy(rng, decay(n))
    found: dict[str, Sick] = {}

    def add(name: str, made: Run, *present: str, without: tuple[str, ...] = ()) -> None:
        found[name] = Sick(made, present, without)

    up = np.where(t < 0.5, decay(n, 2.3, 0.4, 8), 0.45 * np.exp(4 * (t - 0.5)))
    add(
        "turns up late",
        run([series("train/loss", noisy(rng, up), at)]),
        "loss-diverges",
        "loss-late-divergence",
        without=("loss-diverges-early", "loss-not-converging"),
    )
    add(
        "rises at once",
        run([series("train/loss", noisy(rng, 2.3 * np.exp(2.5 * t)), at)]),
        "loss-diverges",
        "loss-diverges-early",
        "loss-not-converging",
        without=("loss-late-divergence",),
    )
    add(
        "rises a little, and nothing else",
        run([series("train/loss", 1.45 * (1 + 0.15 * t) + 0.01 * rng.standard_normal(n), at)]),
        "loss-only-rises",
        without=("loss-diverges", "loss-late-divergence"),
    )
    peak = np.interp(t, [0, 0.4, 1], [0.1, 1, 0.05])
    add(
        "rises and falls with its rate",
        run(
            [
                series(
                    "train/loss",
                    1.2
                    + 0.9 * np.where(t < 0.4, peak, np.maximum(peak, 0.6))
                    + 0.01 * rng.standard_normal(n),
                    at,
                ),
                series("learning_rate", 3e-3 * peak, at),
            ]
        ),
        "loss-rises-with-rate",
    )
    climb = np.interp(t, [0, 0.8, 1], [0.0, 1, 1])
    add(
        "breaks in its warm-up",
        run(
            [
                series(
                    "train/loss",
                    np.where(t < 0.4, 5 + 5 * np.exp(-12 * t), 7.4) + 0.03 * np.sin(np.arange(n) ** 2),
                    at,
                ),
                series("learning_rate", 3e-3 * climb, at),
            ]
        ),
        "loss-lost-in-warmup",
    )
    add(
        "both losses worsen",
        run(
            [
                series("train/loss", 1.2 + 0.4 * t + 0.01 * rng.standard_normal(n), at),
                series("eval/loss", 1.3 + 0.5 * np.linspace(0, 1, 8), np.linspace(at[0], at[-1], 8).round()),
            ]
        ),
        "losses-only-worsen",
        "loss-only-rises",
    )
    add(
        "stands still",
        run(
            [
                series("train/loss", 1.9105 + 0.001 * rng.standard_normal(n), at),
                series("train/accuracy", [0.5325, *[0.5378] * 9], np.linspace(at[0], at[-1], 10).round()),
            ]
        ),
        "train-accuracy-stands-still",
    )
    add(
        "answers the largest class",
        run(
            [
                series("train/loss", noisy(rng, decay(n, 0.9, 0.5, 3), 0.05), at),
                series("eval/accuracy", [0.9021, 0.78, 0.80, 0.79], [1, 2, 3, 4]),
                series("eval/f1", [0.18971, 0.2, 0.21, 0.23], [1, 2, 3, 4]),
            ]
        ),
        "one-class-by-f1",
    )
    jump = np.where(t < 0.6, decay(n, 2.3, 0.4, 8), 2.31)
    add(
        "collapses to a guess",
        run([series("train/loss", noisy(rng, jump, 0.02), at)]),
        "loss-diverges",
        "loss-late-divergence",
    )
    add(
        "flat at ln 10",
        run([series("train/loss", 2.3026 + 0.01 * rng.standard_normal(n), at)], {"num_classes": 10}),
        "loss-flat-from-start",
        "loss-not-converging",
        "loss-at-chance-level",
        without=("loss-diverges", "loss-converges-slowly", "loss-oscillates"),
    )
    add(
        "flat at ln 10, K unknown",
        run([series("train/loss", 2.3026 + 0.005 * rng.standard_normal(n), at)]),
        "loss-flat-from-start",
        "loss-not-converging",
        "loss-at-chance-level",
    )
    add(
        "flat elsewhere",
        run([series("train/loss", noisy(rng, np.full(n, 1.23), 0.015), at)]),
        "loss-flat-from-start",
        "loss-not-converging",
        without=("loss-at-chance-level",),
    )
    add(
        "hardly falls",
        run([series("train/loss", noisy(rng, 1.3 - 0.055 * t, 0.008), at)]),
        "loss-not-converging",
        without=("loss-flat-from-start",),
    )
    add(
        "falls slowly",
        run([series("train/loss", noisy(rng, 2.3 - 0.5 * t, 0.02), at)]),
        "loss-converges-slowly",
        "loss-falling-at-end",
        without=("loss-not-converging", "loss-plateaus-high"),
    )
    add(
        "ends after ten steps",
        run([series("train/loss", [2.3, 2.2, 2.1, 2.0, 1.9], [2, 4, 6, 8, 10])], {"max_steps": 10}),
        "updates-very-few",
    )
    summed = 2.0 * np.minimum(np.arange(1, n + 1), 0.1 * n) * (1 + t)
    add(
        "gradients add up",
        run([series("train/loss", good, at), series("grad_norm", noisy(rng, summed), at)]),
        "grad-norm-grows-steadily",
    )
    rate = 1e-5 * (0.5 + 0.5 * np.cos(np.pi * t))
    spent = np.cumsum(rate) / np.sum(rate)
    add(
        "falls with the sum of a decaying learning rate",
        run(
            [
                series("train/loss", noisy(rng, 2.3 - 0.3 * spent, 0.01), at),
                series("eval/loss", (2.31 - 0.3 * spent)[4::5], at[4::5]),
                series("learning_rate", rate, at),
            ]
        ),
        "loss-converges-slowly",
        "eval-loss-creeps",
        without=("loss-falling-at-end", "loss-not-converging"),
    )
    flat = 0.68 + 0.03 * np.exp(-np.arange(n) / 3.0) + 0.0005 * np.sin(np.arange(n))
    held = 0.6796 + 0.0002 * np.cos(np.arange(n // 5))
    add(
        "learns offsets alone",
        run([series("train/loss", flat, at), series("eval/loss", held, at[4::5])]),
        "eval-loss-stands-still",
    )
    add(
        "hardly moves from epoch to epoch",
        run([series("train/loss", np.linspace(0.975, 0.962, 24), unit="epoch")]),
        "loss-hardly-moves",
    )
    stuck = noisy(rng, decay(n, 2.3, 1.55, 15), 0.02)
    add(
        "stuck high",
        run(
            [
                series("train/loss", stuck, at),
                series("train/accuracy", 0.1 + 0.1 * (1 - np.exp(-t * 15)), at),
            ],
            {"num_classes": 10},
        ),
        "loss-plateaus-high",
        "train-metric-low",
        without=("loss-not-converging", "loss-falling-at-end"),
    )
    swing = 2.0 + 0.6 * np.sin(2 * np.pi * t * 9) + 0.05 * rng.standard_normal(n)
    add(
        "swings",
        run([series("train/loss", swing, at)]),
        "loss-oscillates",
        without=("loss-diverges", "loss-flat-from-start"),
    )
    flip = 2.0 + 0.5 * np.where(np.arange(n) % 2, 1, -1) + 0.05 * rng.standard_normal(n)
    add("flips", run([series("train/loss", flip, at)]), "loss-oscillates")
    add(
        "noise only",
        run([series("train/loss", 2.0 * np.exp(0.6 * rng.standard_normal(n)), at)]),
        "loss-noisy",
    )
    spiky = good.copy()
    for k in (0.3, 0.55, 0.8):
        spiky[int(k * n) : int(k * n) + 2] *= 6
    add(
        "spikes",
        run([series("train/loss", spiky, at)]),
        "loss-spikes",
        without=("loss-diverges", "loss-late-divergence", "loss-spike-early"),
    )
    early = noisy(rng, decay(n, 2.3, 0.3, 6), 0.03)
    early[int(0.04 * n) : int(0.07 * n)] = 5.0
    add("early spike", run([series("train/loss", early, at)]), "loss-spike-early", without=("loss-diverges",))
    low = noisy(rng, decay(n, 2.3, 0.3, 6), 0.03)
    low[int(0.04 * n) : int(0.07 * n)] = 3.0
    norms = np.where((np.arange(n) >= 0.03 * n) & (np.arange(n) < 0.08 * n), 40.0, 1.0)
    both = run([series("train/loss", low, at), series("grad_norm", norms, at)])
    add("early rise with its gradient", both, "loss-spike-early", without=("loss-diverges",))
    add("early rise alone", run([series("train/loss", low, at)]), without=("loss-spike-early",))
    pattern = noisy(rng, np.full(20, 2.0), 0.2)
    add(
        "frozen and unshuffled",
        run([series("train/loss", np.tile(np.round(pattern, 6), max(3, n // 20)), None)]),
        "loss-repeats-exactly",
    )
    add(
        "frozen in full batch",
        run([series("train/loss", np.full(n, 2.302617), at)]),
        "loss-repeats-exactly",
        "loss-flat-from-start",
    )
    zeros = good.copy()
    zeros[n // 2 :] = 0.0
    add(
        "zero with gradients",
        run([series("train/loss", zeros, at), series("grad_norm", noisy(rng, np.full(n, 0.5), 0.1), at)]),
        "loss-zero",
        without=("loss-masked-nan", "loss-not-finite"),
    )
    add(
        "zero with NaN gradients",
        run([series("train/loss", zeros, at), series("grad_norm", _nan_tail(np.full(n, 0.5), n // 2), at)]),
        "loss-masked-nan",
        "grad-norm-not-finite",
        without=("loss-zero",),
    )
    add(
        "NaN from the first step",
        run(
            [series("train/loss", np.zeros(n), at), series("grad_norm", np.full(n, np.nan), at)],
            {"precision": "bf16"},
        ),
        "loss-masked-from-first-step",
        "loss-masked-nan",
    )
    add(
        "memorised",
        run([series("train/loss", noisy(rng, 2.3 * 10.0 ** (-4 * t), 0.1), at)], {"num_classes": 10}),
        "train-loss-near-zero",
    )
    add("below zero", run([series("train/loss", 1.0 - 3 * t, at)]), "loss-negative")
    scores = series("train/loss", np.where(t < 0.05, -3.0, 1.0), at, raw="ctc_loss")
    add("scores for log-probabilities", run([scores]), "loss-below-its-floor")
    sinking = series("train/loss", 0.7 - 3 * t, at)
    add("targets of -1", run([sinking], {"loss_function": "bcewithlogitsloss"}), "loss-sinks-below-zero")
    endless = series("train/loss", np.where(t < 0.5, 1.0, np.inf), at)
    add("targets that no answer has", run([endless]), "loss-infinite-at-once")
    apart = noisy(rng, decay(n), 0.03) * np.where(np.arange(n) % 17 == 16, 300.0, 1.0)
    add("targets out of range", run([series("train/loss", apart, at)]), "loss-of-another-size")
    add(
        "without a floor in training alone",
        run(
            [
                series("train/loss", 1.0 - 300 * t**2, at),
                series("eval/loss", 0.7 + np.arange(10), np.linspace(1, n, 10)),
            ]
        ),
        "loss-negative",
        "loss-bottomless-in-training",
        without=("loss-spikes",),
    )
    add(
        "starts far above a guess",
        run([series("train/loss", noisy(rng, decay(n, 40.0, 0.5)), steps(n, 1))], {"num_classes": 10}),
        "loss-initial-above-chance",
    )
    add(
        "starts far below a guess",
        run([series("train/loss", noisy(rng, decay(n, 0.23, 0.01)), steps(n, 1))], {"num_classes": 10}),
        "loss-initial-below-chance",
    )
    add(
        "wrong sign from the start",
        run(
            [
                series("train/loss", -2.3 * np.exp(8 * t), steps(n, 1)),
                series("eval/loss", 2.0 + 900 * np.arange(10), np.linspace(1, n, 10)),
            ],
            {"num_classes": 10},
        ),
        "loss-starts-at-minus-chance",
        "loss-bottomless-from-start",
    )
    words = np.concatenate([np.linspace(10.8, 7.4, 40), np.full(360, 7.4)])
    add(
        "token frequencies",
        run(
            [
                series("train/loss", noisy(rng, words, 0.004)),
                series("learning_rate", np.minimum(1, np.arange(1, 401) / 50) * 1e-2),
            ],
            {"vocab_size": 50000},
            info=RunInfo("run", context={"inputs": "tokens"}),
        ),
        "loss-at-token-frequencies",
        without=("loss-diverges",),
    )
    bits = noisy(rng, np.concatenate([words, np.full(900, 7.4)]) / np.log(2), 0.004)
    add(
        "a transformer without warm-up, in bits",
        run(
            [series("train/loss", bits)],
            {"vocab_size": 50000, "model.arch": "transformer", "warmup_updates": 0, "warmup_steps": 0},
            facts={"loss_base": 2},
            info=RunInfo("run", context={"inputs": "tokens"}),
        ),
        "stuck-without-warmup",
        "loss-at-token-frequencies",
        without=("loss-diverges",),
    )
    add(
        "a transformer without warm-up",
        run(
            [series("train/loss", noisy(rng, np.concatenate([words, np.full(900, 7.4)]), 0.004))],
            {"vocab_size": 50000, "arch": "transformer_iwslt_de_en", "warmup_steps": 0},
            info=RunInfo("run", context={"inputs": "tokens"}),
        ),
        "stuck-without-warmup",
        "loss-at-token-frequencies",
        without=("loss-diverges",),
    )
    add(
        "steps that bf16 rounds away",
        run(
            [series("train/loss", noisy(rng, np.full(n, 2.31), 0.001), steps(n, 1))],
            {"precision": "bf16", "learning_rate": 1e-5, "optimizer": "adamw", "master_weights": False},
        ),
        "stands-in-bf16",
    )
    apart = Event("worked-out", "out.log", 1, text="columns from a (0.3) to b (50000)", data="columns-apart")
    add(
        "columns as they are",
        run(
            [
                series("train/loss", noisy(rng, decay(n, 14.0, 9.0)), steps(n, 1)),
                series("test/accuracy", [0.6]),
            ],
            events=[apart],
        ),
        "raw-columns-far-above-guess",
    )
    boosted = {"eta": 0.1, "num_boost_round": 60}
    add(
        "the answer among the columns",
        run(
            [
                series("train/loss", decay(60, 0.5, 0.01)),
                series("eval/auc", np.linspace(0.9993, 0.9998, 60), np.arange(60.0), raw="eval-auc"),
            ],
            boosted,
        ),
        "solved-by-one-tree",
    )
    four = np.array([2.9, 1.7, 1.0, 0.7])
    add(
        "stopped while it learned",
        run([series("train/loss", four, unit="epoch"), series("eval/loss", 0.8 * four, unit="epoch")]),
        "few-epochs-still-falling",
    )
    add(
        "answers below the mean",
        run(
            [
                series("train/loss", noisy(rng, decay(n, 4.1e5, 3.7e5)), steps(n, 1)),
                series("train/r2", np.linspace(-5.1, -3.9, 12)),
            ]
        ),
        "answers-near-nothing",
    )
    add(
        "nothing but the background",
        run(
            [
                series("train/loss", noisy(rng, decay(n)), steps(n, 1)),
                series("eval/iou/0", np.full(8, 0.972)),
                series("eval/iou/1", np.zeros(8)),
                series("eval/iou/2", np.full(8, 0.004)),
            ]
        ),
        "one-class-found",
        "per-class-metric-uneven",
    )
    add(
        "targets in raw units",
        run(
            [
                series("train/loss", noisy(rng, decay(n, 4.1e5, 3.7e5)), steps(n, 1)),
                series("eval/loss", np.linspace(4.1e5, 3.7e5, 12)),
                series("eval/mape", np.linspace(1.93, 1.82, 12), raw="val_SMAPE"),
            ]
        ),
        "answers-near-nothing",
    )
    add(
        "no label counts",
        run(
            [
                series("train/loss", np.zeros(n), steps(n, 1)),
                series("train/accuracy", np.full(n, 0.03), steps(n, 1)),
            ]
        ),
        "loss-zero-answers-wrong",
        "loss-zero",
        without=("train-loss-near-zero",),
    )
    jumps = noisy(rng, decay(400), 0.01)
    for jump in (120, 200, 310):
        jumps[jump : jump + 4] *= 3.0
    add(
        "jumps without clipping",
        run([series("train/loss", jumps, steps(400, 1))], {"max_grad_norm": 0.0}),
        "loss-spikes-unclipped",
        "loss-spikes",
    )
    twice = noisy(rng, 1.461 + 0.04 + (2.3026 - 1.5) * np.exp(-8 * t), 0.004)
    add(
        "softmax twice",
        run(
            [
                series("train/loss", twice, at),
                series("train/accuracy", 0.1 + 0.86 * (1 - np.exp(-8 * t)), at),
            ],
            {"num_classes": 10},
        ),
        "loss-floor-double-softmax",
        without=("loss-at-chance-level",),
    )
    parts = max(4, n // 40)
    saw = np.concatenate(
        [2.0 * 0.9**k * (1 + 0.2 * np.sin(np.linspace(0, 7, 40) ** 1.3)) for k in range(parts)]
    )
    add(
        "unshuffled",
        run([series("train/loss", noisy(rng, saw, 0.02), None, epochs=(np.arange(len(saw)) + 1) / 40)]),
        "loss-epoch-sawtooth",
        without=("loss-diverges",),
    )
    stair = np.concatenate([np.full(40, 2.0 * 0.6**k) for k in range(parts)])
    add(
        "drops at epochs",
        run([series("train/loss", noisy(rng, stair, 0.03), None, epochs=(np.arange(len(stair)) + 1) / 40)]),
        "loss-drops-at-epoch-boundary",
        without=("loss-epoch-sawtooth",),
    )
    lost = np.where(t < 0.5, decay(n), 1.5 * decay(n) + 0.4)
    resumed = Event("resume", "log.txt", 9, float(at[n // 2]))
    add(
        "jump at resume",
        run([series("train/loss", noisy(rng, lost, 0.03), at)], events=[resumed]),
        "loss-jumps-at-resume",
    )

    # metrics
    flat10 = series("train/loss", 2.3026 + 0.01 * rng.standard_normal(30), few, unit="epoch")
    add(
        "metric at chance",
        run(
            [flat10, series("eval/accuracy", 0.1 + 0.004 * rng.standard_normal(30), few, unit="epoch")],
            {"num_classes": 10},
        ),
        "metric-at-chance",
        "eval-metric-low",
        "loss-at-chance-level",
    )
    add(
        "metric at chance, K unknown",
        run([flat10, series("eval/accuracy", 0.1 + 0.004 * rng.standard_normal(30), few, unit="epoch")]),
        "metric-at-chance",
    )
    fall = noisy(rng, decay(30, 2.3, 0.02), 0.03)
    over = 0.7 + 1.5 * np.exp(-few / 3) + 0.05 * np.maximum(few - 8, 0) + 0.01 * rng.standard_normal(30)
    drop = 0.8 - 0.6 * np.exp(-few / 3) - 0.006 * np.maximum(few - 10, 0) + 0.003 * rng.standard_normal(30)
    add(
        "overfits",
        run(
            [
                series("train/loss", fall, few, unit="epoch"),
                series("eval/loss", over, few, unit="epoch"),
                series("train/accuracy", accuracy(fall, 2.3, high=1.0), few, unit="epoch"),
                series("eval/accuracy", drop, few, unit="epoch"),
            ],
            {"num_classes": 10},
        ),
        "eval-loss-turns-up",
        "eval-loss-far-above-best",
        "train-good-eval-bad",
        "eval-metric-turns-down",
        without=("eval-bad-from-start", "loss-diverges"),
    )
    add(
        "evaluation broken",
        run(
            [
                series("train/loss", noisy(rng, decay(n), 0.03), at),
                series("eval/loss", noisy(rng, np.full(n // 4, 4.0), 0.03), at[3::4]),
                series("train/accuracy", accuracy(decay(n), 2.3), at),
                series("eval/accuracy", 0.1 + 0.005 * rng.standard_normal(n // 4), at[3::4]),
            ],
            {"num_classes": 10},
        ),
        "eval-bad-from-start",
        "eval-never-learns",
        "eval-metric-at-chance-train-good",
        "train-good-eval-bad",
        without=("metric-at-chance",),
    )
    add(
        "errors of an evaluation that is broken",
        run([series("train/loss", fall, few), series("eval/epe", 10 + 0.3 * np.arange(30), few)]),
        "eval-error-never-falls",
    )
    add(
        "evaluation constant",
        run([series("train/loss", fall, few), series("eval/accuracy", np.full(30, 0.3121), few)]),
        "eval-metric-constant",
        "loss-falls-metric-flat",
    )
    add(
        "evaluation loss constant",
        run([series("train/loss", fall, few), series("eval/loss", np.full(30, 1.87321), few)]),
        "eval-loss-constant",
    )
    add(
        "evaluation zero",
        run([series("train/loss", fall, few), series("eval/map", np.zeros(30), few)]),
        "eval-metric-zero",
        without=("eval-metric-constant",),
    )
    add(
        "boxes of other classes",
        run([series("train/loss", fall, few), series("eval/map", 0.005 + 0.002 * np.sin(few), few)]),
        "detects-next-to-nothing",
    )
    add(
        "evaluation jumps",
        run(
            [series("train/loss", fall, few), series("eval/loss", np.exp(0.9 * rng.standard_normal(30)), few)]
        ),
        "eval-loss-erratic",
    )
    add(
        "leak",
        run(
            [
                series("train/loss", noisy(rng, decay(30, 2.3, 1.0), 0.02), few),
                series("eval/loss", noisy(rng, decay(30, 0.6, 0.05), 0.02), few),
            ],
            {"dropout": 0.0, "augmentation": False},
        ),
        "eval-better-than-train",
    )
    add(
        "perfect at once",
        run(
            [
                series("train/loss", fall, few),
                series("eval/accuracy", np.full(30, 0.999) + 0.0004 * rng.standard_normal(30), few),
            ]
        ),
        "eval-near-perfect-early",
    )
    add(
        "easy at once",
        run(
            [
                series("train/accuracy", np.full(30, 0.998), few),
                series("eval/accuracy", np.full(30, 0.999) + 0.0004 * rng.standard_normal(30), few),
            ]
        ),
        "near-perfect-early",
    )
    add(
        "thrown off",
        run(
            [
                series("train/loss", [9.0, *np.full(29, np.log(10))], few),
                series("eval/accuracy", np.full(30, 0.1), few),
            ]
        ),
        "thrown-to-guessing",
    )
    add(
        "wrong metric",
        run(
            [
                series("train/loss", fall, few),
                series("train/accuracy", 0.3 + 0.003 * rng.standard_normal(30), few),
            ]
        ),
        "loss-falls-metric-flat",
    )
    add(
        "more hits than samples",
        run([series("eval/accuracy", np.linspace(144.0, 180.0, 6))]),
        "metric-above-whole",
    )
    add(
        "dice divided by too little",
        run([series("eval/dice", np.linspace(1.4, 1.8, 6))]),
        "metric-above-whole",
    )
    add(
        "masks of 255",
        run(
            [
                series("train/loss", np.linspace(23.0, -230.0, 10), few[:10]),
                series("eval/iou", np.linspace(0.8, 7.9, 10), few[:10]),
            ]
        ),
        "overlap-above-one",
    )
    add(
        "labels from one",
        run([series("train/loss", np.full(5, np.nan)), series("eval/accuracy", np.zeros(5))]),
        "nan-never-right",
    )
    add(
        "targets longer than frames",
        run([series("train/loss", np.full(8, np.inf), raw="ctc_loss")]),
        "ctc-infinite-at-once",
    )
    add(
        "a graph in half precision",
        run(
            [series("train/loss", np.r_[np.full(8, 2.0), np.full(4, np.nan)])],
            {"graph_precision": "force_fp16"},
        ),
        "loss-lost-in-forced-half",
    )
    add(
        "tokens of another model",
        run(
            [series("train/loss", np.linspace(16.0, 6.0, 20))],
            {"base_model": "a/b", "sequence_len": 4096},
        ),
        "fine-tuning-starts-high",
    )
    add(
        "no mask ever",
        run([series("eval/accuracy", np.full(6, 0.866)), series("eval/dice", np.zeros(6))]),
        "one-class-by-f1",
    )
    add(
        "no box under a known name",
        run(
            [
                series("train/loss", decay(n, 1.9, 0.01)),
                series("train/loss/bbox", np.zeros(n), raw="loss_bbox"),
            ]
        ),
        "boxes-cost-nothing",
    )
    add(
        "thrown off by its second update, and half way back",
        run([series("train/loss", np.r_[1.6, 1.5, 6.0 + decay(n - 2, 2.2, 0.1)])]),
        "loss-diverges-early",
    )
    add(
        "code that says nothing",
        run(
            [
                series("train/loss/kl", 9 * 0.3 ** np.arange(9)),
                series("train/loss/recon", 206 + 0.8 ** np.arange(9)),
            ]
        ),
        "kl-term-vanishes",
    )
    add(
        "rare class never found",
        run([series("eval/accuracy", np.full(6, 0.983)), series("eval/recall", np.zeros(6))]),
        "one-class-by-f1",
    )
    add(
        "undefined",
        run(
            [series("eval/auc", np.full(5, np.nan))],
            events=[Event("undefined-metric", "log.txt", 3, text="UndefinedMetricWarning")],
        ),
        "metric-undefined",
    )
    add(
        "weights not loaded",
        run(
            [series("train/loss", noisy(rng, decay(n, 10.8, 6.0), 0.01), steps(n, 1))],
            {"pretrained": "bert", "vocab_size": 50257},
        ),
        "fine-tuning-starts-high",
    )
    add(
        "largest class",
        run(
            [series("train/loss", fall, few), series("eval/accuracy", np.full(30, 0.8001), few)],
            {"class_counts": (800, 150, 50)},
        ),
        "accuracy-equals-majority",
        "eval-metric-constant",
    )
    add(
        "uneven classes",
        run([series("eval/accuracy/cat", np.full(9, 0.9)), series("eval/accuracy/dog", np.full(9, 0.02))]),
        "per-class-metric-uneven",
    )
    add(
        "still rising",
        run([series("eval/accuracy", 0.2 + 0.02 * few + 0.004 * rng.standard_normal(30), few)]),
        "metric-rising-at-end",
    )

    # gradients
    flat = series("train/loss", 2.3 + 0.01 * rng.standard_normal(n), at)

    def norm(values: Floats, relative: float = 0.2) -> Any:
        return series("grad_norm", noisy(rng, values, relative), at)

    add("gradients explode", run([flat, norm(10.0 ** (6 * np.maximum(t - 0.4, 0)))]), "grad-norm-explodes")
    kicked = np.ones(n)
    kicked[n // 2] = 60.0
    add("gradient spike", run([flat, norm(kicked)]), "grad-norm-spikes", without=("grad-norm-explodes",))
    add(
        "gradients vanish",
        run([flat, norm(10.0 ** (-5 * t))]),
        "grad-norm-vanishes",
        without=("grad-norm-zero",),
    )
    add(
        "gradients zero",
        run([flat, series("grad_norm", np.zeros(n), at)]),
        "grad-norm-zero",
        "grad-norm-small-for-loss",
    )
    add(
        "gradients not cleared",
        run([flat, norm(1 + 20 * t, 0.1)]),
        "grad-norm-grows-steadily",
        without=("grad-norm-explodes",),
    )
    add(
        "gradients of weights that stand still",
        run([flat, norm(30 * t + 30 / n, 0.05)]),
        "grad-norm-grows-linearly",
        "grad-norm-grows-steadily",
    )
    add(
        "clipped always",
        run([flat, norm(np.full(n, 50.0))], {"max_grad_norm": 1.0}),
        "grad-norm-clipped-always",
    )
    leaping = series("train/loss", noisy(rng, np.full(n, 2500.0), 0.6), at)
    add(
        "a few extreme targets",
        run([leaping, series("eval/loss", decay(20, 0.5, 0.17, 5), np.linspace(1, n, 20))]),
        "training-error-of-few",
    )
    rest = 1 + 0.2 * rng.random(n)
    rest[0] = 0.3
    add(
        "clipped and not cleared",
        run([flat, series("grad_norm", rest, at)], {"max_grad_norm": 1.0}),
        "grad-norm-stays-at-clip",
    )
    add(
        "clipped before unscaling",
        run([flat, norm(np.full(n, 1.5e-5))], {"max_grad_norm": 1.0, "precision": "fp16"}),
        "grad-norm-tiny-for-clip",
        "grad-norm-small-for-loss",
    )
    add("gradients huge", run([flat, norm(np.full(n, 900.0))]), "grad-norm-huge-from-start")
    before = good.copy()
    before[n // 2 : n // 2 + 2] *= 6
    jerk = np.ones(n)
    jerk[n // 2 - 3] = 60.0
    add(
        "gradient before loss",
        run([series("train/loss", before, at), norm(jerk)]),
        "grad-spike-before-loss-spike",
        "loss-spikes",
    )
    rate = np.minimum(t / 0.4, 1.0) * 1e-2
    peak = np.where(t < 0.4, decay(n, 2.3, 0.6, 8), 0.7 * np.exp(3 * (t - 0.4)))
    add(
        "diverges at the peak",
        run([series("train/loss", noisy(rng, peak, 0.03), at), series("learning_rate", rate, at)]),
        "lr-peak-before-loss-spike",
        "loss-diverges",
    )
    add(
        "a layer without gradient",
        run([series("grad_norm/layers.0", np.zeros(n)), series("grad_norm/layers.1", np.ones(n))]),
        "layer-gradient-missing",
    )
    add(
        "uneven layers",
        run(
            [series(f"grad_norm/layers.{k}", noisy(rng, np.full(n, 10.0 ** (k - 6)), 0.2)) for k in range(6)]
        ),
        "layer-gradients-uneven",
    )
    add(
        "dead activations",
        run(
            [
                series("activation/relu1", np.full(n, 0.9), raw="dead/relu1"),
                series("activation/relu2", np.full(n, 0.8), raw="dead/relu2"),
            ]
        ),
        "activations-dead",
    )
    add(
        "weights stand still",
        run([series("weight_norm/fc", np.full(n, 3.1415926535)), series("weight_norm/head", 1 + t)]),
        "weights-unchanged",
    )

    # numerics
    half = n // 2
    add(
        "NaN out of calm",
        run([series("train/loss", _nan_tail(good, half), at)]),
        "loss-not-finite",
        "loss-not-finite-sudden",
        without=("loss-not-finite-transient", "loss-not-finite-after-growth", "loss-diverges"),
    )
    add(
        "NaN within the first epoch",
        run([series("train/loss", _nan_tail(good, half), at, epochs=np.arange(n) / (2 * n))]),
        "loss-not-finite-in-first-epoch",
    )
    grown = good.copy()
    grown[half - 6 : half] = good[half] * 3.0 ** np.arange(1, 7)
    add(
        "NaN after growth",
        run([series("train/loss", _nan_tail(grown, half), at)]),
        "loss-not-finite",
        "loss-not-finite-after-growth",
        without=("loss-not-finite-sudden",),
    )
    add(
        "NaN from the start",
        run([series("train/loss", np.full(n, np.nan), at)]),
        "loss-not-finite",
        "loss-not-finite-at-start",
        without=("loss-not-finite-sudden",),
    )
    holes = good.copy()
    holes[[half, half + 7]] = np.nan
    add(
        "NaN at times",
        run([series("train/loss", holes, at)]),
        "loss-not-finite-transient",
        without=("loss-not-finite-at-start",),
    )
    add("huge", run([series("train/loss", np.where(t > 0.5, 1e9, 2.3), at)]), "loss-huge", "loss-diverges")
    add(
        "one term",
        run(
            [
                series("train/loss/cls", good, at),
                series("train/loss/box", _nan_tail(good, half), at),
                series("train/loss", _nan_tail(good, half), at),
            ]
        ),
        "one-loss-term-not-finite",
        "loss-not-finite",
    )
    add(
        "evaluation NaN",
        run(
            [
                series("train/loss", good, at),
                series("eval/loss", np.full(5, np.nan), np.linspace(10, 10 * n, 5)),
            ]
        ),
        "eval-loss-not-finite",
        without=("loss-not-finite",),
    )
    add(
        "gradient NaN first",
        run(
            [
                series("train/loss", _nan_tail(good, half + 5), at),
                series("grad_norm", _nan_tail(np.ones(n), half), at),
            ]
        ),
        "grad-norm-not-finite",
        "grad-not-finite-before-loss",
        "loss-not-finite",
    )
    add(
        "stopped",
        run(
            [series("train/loss", good, at)],
            events=[Event("non-finite-loss", "log.txt", 9, float(at[-1] + 1), text="loss is NAN or INF")],
        ),
        "framework-stopped-on-nan",
        "loss-not-finite",
    )
    add(
        "warned",
        run(
            [series("train/loss", good, at)],
            events=[Event("non-finite-value", "log.txt", 9, text="overflow encountered in exp")],
        ),
        "numeric-warning",
    )
    add(
        "ignored",
        run(
            [series("train/loss", good, at)],
            events=[Event("overflow-ignored", "log.txt", 9, text="overflow, still update")],
        ),
        "overflow-ignored",
    )
    falls = np.concatenate([np.full(30, 2.0**16), 2.0 ** np.arange(15, -1, -1.0), np.ones(n)])
    alarm = np.concatenate([np.zeros(30), np.ones(n + 16)])
    here = np.arange(1, len(falls) + 1, dtype=np.float64)
    counts = np.where(np.arange(n) % 37 == 36, 0.0, 1500.0)
    add(
        "nothing of a sample counts",
        run([series("label_tokens", counts, at[:n] if len(at) >= n else None, raw="label_tokens")]),
        "steps-without-labels",
    )
    add(
        "scale collapses",
        run([series("loss_scale", falls, here), series("overflow", alarm, here)]),
        "loss-scale-collapses",
        "loss-scale-at-floor",
        "every-step-overflows",
        "steps-skipped-often",
        without=("loss-scale-below-one",),
    )
    add(
        "straight to one",
        run([series("loss_scale", np.concatenate([2.0 ** np.arange(16, -1, -1.0), np.ones(n)]))]),
        "loss-scale-collapses",
        "loss-scale-at-floor",
    )
    add(
        "below one",
        run([series("loss_scale", 2.0 ** np.arange(16, -9, -1.0))]),
        "loss-scale-below-one",
        "loss-scale-collapses",
    )
    add(
        "tiny scale",
        run([series("loss_scale", np.full(n, 2.0**-10))]),
        "loss-scale-tiny",
    )
    add(
        "grown into overflow",
        run(
            [
                series("loss_scale", np.tile([2.0**16, 2.0**18, 2.0**16, 2.0**16], n // 4 + 1)[:n]),
                series("overflow", np.tile([0.0, 1.0, 0.0, 0.0], n // 4 + 1)[:n]),
            ],
            {"loss_scale_window": 2},
        ),
        "scale-grown-into-overflow",
    )
    sixteen = noisy(rng, 3.2 - 1.5 * t, 0.03).astype(np.float16).astype(float)
    add("loss in half precision", run([series("train/loss", sixteen)]), "loss-in-half-steps")
    spilled = np.where(np.arange(n) % 7 == 2, np.inf, sixteen)
    add("loss beyond half precision", run([series("train/loss", spilled)]), "loss-overflows-half")
    add(
        "runs away",
        run([series("loss_scale", 2.0 ** np.arange(16, 60, 1.0))]),
        "loss-scale-runs-away",
        without=("loss-scale-collapses",),
    )
    often = (np.arange(n) % 4 == 0).astype(float)
    add(
        "skips without end",
        run([series("overflow", often, steps(n, 1)), series("train/loss", good, steps(n, 1))]),
        *(("steps-skipped-often",) if n >= 120 else ()),
    )
    add(
        "clamped",
        run([series("train/loss", np.concatenate([good[:half], np.full(n - half, 16.118)]), at)]),
        "loss-at-log-clamp",
    )
    absolute = series("train/mae", np.full(n, 0.1), at)
    add(
        "few samples far off",
        run([absolute, series("train/mse", np.full(n, 3.0), at)]),
        "squared-error-of-few",
    )
    falling = np.linspace(2.0, 0.01, half)
    sure = [
        series("train/loss", np.concatenate([falling, np.full(n - half, np.nan)]), at),
        series("train/accuracy", np.concatenate([np.linspace(0.5, 1.0, half), np.full(n - half, 0.1)]), at),
    ]
    add("no number once sure", run(sure), "loss-not-finite-once-sure", "loss-not-finite")
    tested = series("test/loss", [61.1], at[-1:], raw="Test loss")
    add(
        "test data of another scale",
        run([series("eval/loss", [0.5, 0.4, 0.38, 0.37], at[9:40:10]), tested]),
        "test-loss-far-above-eval",
    )
    add(
        "summed over what is accumulated",
        run(
            [series("train/loss", noisy(rng, 20 + 12 * np.exp(-4 * np.arange(n) / n), 0.02), at)],
            {"vocab_size": 32000, "gradient_accumulation_steps": 16},
        ),
        "loss-above-guess-by-accumulation",
    )
    left_out = series("train/loss", good[:half], at[:half], absent=at[half:])
    add(
        "column left out",
        run([left_out, series("grad_norm", _nan_tail(np.ones(n), half), at)]),
        "loss-not-finite",
        "grad-norm-not-finite",
    )
    lifted, norms = noisy(rng, np.full(400, 2.0), 0.004), noisy(rng, np.full(400, 1.0), 0.1)
    for leap in (120, 260):
        norms[leap], lifted[leap + 1 :] = 60.0, lifted[leap + 1 :] + 0.8
    add(
        "leaps without clipping",
        run([series("train/loss", lifted), series("grad_norm", norms)], {"max_grad_norm": 0.0}),
        "loss-leaps-unclipped",
    )
    add(
        "pairs the wrong way round",
        run(
            [series("train/loss", decay(n, 0.7, 0.3)), series("eval/accuracy", np.full(5, 0.27))],
            {"architectures": "LlamaForSequenceClassification", "num_labels": 1},
        ),
        "pairs-turned",
    )
    anew = "Some weights of GPT2LMHeadModel were not initialized from a and are new: ['lm_head.weight']"
    add(
        "output layer drawn anew",
        run(
            [series("train/loss", decay(n, 10.4, 6.0), steps(n, 1))],
            {"vocab_size": 32000},
            events=[Event("weights-newly-initialized", "log.txt", 3, text=anew)],
        ),
        "language-head-untrained",
        "fine-tuning-starts-high",
    )
    lost = np.r_[np.linspace(1.5, 1.4, n // 8), np.full(n - n // 8, 6.5)]
    add(
        "tuned at a rate far too large",
        run(
            [series("train/loss", noisy(rng, lost, 0.01), at)],
            {"pretrained": "gpt2", "learning_rate": 5e-3, "optimizer": "adamw"},
        ),
        "large-rate-lifts-loss",
    )
    return found
