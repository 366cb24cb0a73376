"""The logged learning rate: schedules that are normal stay silent, broken ones are found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.curves import rate_course, rate_size
from traindoctor.probes.registry import View
from traindoctor.probes.run import Event, Run, Series

from .._build import run, series, written
from .._read import present, reading, symptoms

N = 200
T = np.arange(N)


CYCLE = {"train.py": "import torch\nsched = torch.optim.lr_scheduler.OneCycleLR(opt, 4e-3, 900)\n"}


def warm(values: Any, steps: int = 10) -> Any:
    return values * np.minimum(1.0, (T + 1) / steps)


def broken_off(at: int) -> Any:
    """Warm-up and a fall to zero in a hundred steps, begun anew after `at` of them."""
    place = np.where(at <= T, T - at, T)
    return 1e-3 * np.minimum(1.0, (place + 1) / 10) * np.clip(1 - place / 100, 0.0, 1.0)


CONSTANT = np.full(N, 1e-3)
TOKENS = {"max_tokens": 800_000_000, "global_batch_size": 512, "max_sequence_length": 512}
COSINE = 0.5e-3 * (1 + np.cos(np.pi * T / N))
LINEAR = 1e-3 * (1 - T / N)
WARM_TWICE = np.where(T < N // 2, COSINE, 1e-3 * np.minimum(1.0, (T - N // 2 + 1) / 20))
WARM_CYCLES = 1e-3 * np.minimum((T % 50 + 1) / 10, 1 - T % 50 / 50)
STEPS = 1e-3 * 0.1 ** (T // 70)
RESTARTS = 0.5e-3 * (1 + np.cos(np.pi * (T % 50) / 50))
TOO_EARLY = np.where(T < 50, 0.5e-3 * (1 + np.cos(np.pi * T / 50)), 0.0)
GONE = 1e-3 * np.maximum(0.1 ** (T // 5), 1e-300)
OVERSHOT = 0.5e-3 * (1 + np.cos(np.pi * T / 50))


FALLS_EACH_STEP = series("train/loss", np.geomspace(2.0, 0.3, 60), unit="step")
FALLS_IN_ALL = series(
    "train/loss", np.geomspace(2.0, 0.3, 60) * (1 + 0.1 * np.sin(T[:60] * 2.4)), unit="step"
)
MEANS_FALL = series("train/loss", np.geomspace(2.0, 0.3, 60), unit="epoch")


def lr(values: Any, **rest: Any) -> Series:
    return series("learning_rate", values, **rest)


def megatron(loss: np.ndarray) -> Run:
    """A log of Megatron-LM with the learning rate of MindSpeed-LLM's scripts, and a loss."""
    settings = {"learning_rate": 1.25e-6, "optimizer": "adam", "tensor_model_parallel_size": 1}
    return run([series("train/loss", loss)], settings=settings)


def made(
    values: Any, settings: dict[str, Any] | None = None, events: tuple[Event, ...] = (), **rest: Any
) -> Run:
    return run([lr(values, **rest)], settings, events)


ADAM = {"optimizer": "adamw", "learning_rate": 1e-3}
RESUME = (Event("resume", "log.txt", 100, step=101.0),)
JUMP = np.where(T < 100, COSINE, 1e-3)
THROUGH = np.where(T < 100, 1e-3 * (1 - T / 99), 5e-4 * (1 - (T - 100) / 100))  # was at its end, and goes on
AGAIN = np.where((T >= 70) & (T < 90), 1e-4, CONSTANT)  # warms up a second time
SAVED = (Event("resume", "log.txt", 101, step=100.0),)  # after the row of its step, in line 100
NOAM = {"optimizer": "adam", "lr_scheduler": "noam", "hidden_size": 512, "warmup_steps": 8000}


def detector(rate: float, settings: dict[str, Any]) -> Run:
    return written({"lr": rate, "momentum": 0.9, **settings}, [series("train/loss/rpn_cls", CONSTANT)])


FIRST = lr([1e-3, 5e-4, 2e-4])

LATE = np.where(T < 10, 1e-4, 0.5)
SLIGHTLY = np.full(N, 4e-3)  # above the limit for Adam; ten updates move no weight by more than 0.04


def broken_at(point: int, settings: dict[str, Any], rate: Any = CONSTANT) -> Run:
    """A loss that is no number from this point on, with its learning rate."""
    return run([lr(rate), series("train/loss", np.where(point > T, 2.0 - T / N, math.nan))], settings)


def started_twice(*lines: int, first: float = 1.0) -> Run:
    """Two starts in one log, lines 1 to 20 and 32 to 51, and the lines that tell of a resume."""
    after, rate = np.arange(32, 52), np.linspace(1e-3, 1e-4, 20)
    return run(
        [series("train/loss", np.linspace(first, 0.5, 20), lines=after), lr(rate, lines=after)],
        events=[Event("resume", "log.txt", n, step=1.0) for n in lines],
        facts={"framework": "pytorch"},
        info=RunInfo("run", formats=("text-log",)),
        earlier={
            "train/loss": series("train/loss", np.linspace(3.0, 1.0, 20)),
            "learning_rate": lr(rate),
        },
    )


OPENRLHF = {"learning_rate": 2e-3, "pretrained": "org/Llama-3-8B", "optimizer": "adamw"}
CASES: list[tuple[str, str, Run]] = [
    ("lr-zero", "present", made(np.zeros(N))),
    ("lr-zero", "present", run(settings={"learning_rate": 0.0})),
    ("lr-zero", "absent", made(np.concatenate([[0.0], COSINE[1:]]))),
    ("lr-zero", "absent", run(settings={"learning_rate": 0.1})),
    ("lr-zero", "unknown", made(np.zeros(N), {"learning_rate": 5e-5})),
    ("lr-zero", "unknown", run()),
    ("lr-very-large", "present", made(warm(CONSTANT * 100), {"optimizer": "adam"})),
    ("lr-very-large", "present", run(settings={"learning_rate": 5.0})),
    ("lr-very-large", "present", run(settings={"learning_rate": 5.0, "optimizer": "sgd"})),
    (
        "lr-very-large",
        "present",
        run(settings={"learning_rate": 2e-3, "optimizer": "adamw", "model": "bert-base", "pretrained": True}),
    ),
    ("lr-very-large", "absent", run(settings={"learning_rate": 0.1, "optimizer": "sgd"})),
    (
        "lr-very-large",
        "absent",
        run(settings={"learning_rate": 3.2, "optimizer": "sgd", "global_batch_size": 8192}),
    ),
    ("lr-very-large", "absent", run(settings={"learning_rate": 1e-3})),
    ("lr-very-large", "unknown", run(settings={"learning_rate": 0.1})),
    # two decays of moments tell Adam where no word does; a diffusion's noise rates and a momentum do not
    ("lr-very-large", "present", run(settings={"learning_rate": 0.1, "adam_beta1": 0.9, "adam_beta2": 0.95})),
    ("lr-very-large", "absent", run(settings={"learning_rate": 1e-3, "adam_beta1": 0.9, "adam_beta2": 0.95})),
    (
        "lr-very-large",
        "unknown",
        run(settings={"learning_rate": 0.1, "adam_beta1": 1e-4, "adam_beta2": 0.02}),
    ),
    (
        "lr-very-large",
        "unknown",
        run(settings={"learning_rate": 0.1, "adam_beta1": 0.9, "adam_beta2": 0.999, "momentum": 0.9}),
    ),
    (  # next to nothing is left of what was lost before the first update
        "lr-very-large",
        "unknown",
        run(
            [series("train/loss", 1151.0 * np.exp(-np.arange(60) / 4))],
            {"learning_rate": 0.05, "optimizer": "adam"},
        ),
    ),
    (  # it comes down from what the rate itself has made
        "lr-very-large",
        "present",
        run(
            [series("train/loss", np.r_[2.3, 1151.0 * np.exp(-np.arange(60) / 9)])],
            {"learning_rate": 0.05, "optimizer": "adam"},
        ),
    ),
    ("lr-very-large", "absent", run(settings={"learning_rate": 0.01, "optimizer": "adam"})),
    ("lr-large", "present", run(settings={"learning_rate": 0.01, "optimizer": "adam"})),
    ("lr-large", "absent", run(settings={"learning_rate": 4e-3, "optimizer": "adamax"})),
    ("lr-large", "present", run(settings={"learning_rate": 8e-3, "optimizer": "adamax"})),
    *(  # the peak of one cycle, by what the script makes
        ("lr-large", state, run(settings={"learning_rate": rate, "optimizer": "adam"}, scripts=CYCLE))
        for state, rate in (("absent", 4e-3), ("present", 9.5e-3))
    ),
    ("lr-large", "unknown", run(settings={"learning_rate": 1.0, "optimizer": "sgd"})),
    ("lr-extreme", "present", run(settings={"learning_rate": 0.4, "optimizer": "adamw"})),
    ("lr-extreme", "absent", run(settings={"learning_rate": 0.02, "optimizer": "adamw"})),
    ("lr-extreme", "absent", run(settings={"learning_rate": 1.0, "optimizer": "sgd"})),
    ("lr-extreme", "unknown", run(settings={"learning_rate": 0.4})),
    (
        "lr-extreme",
        "unknown",
        run(
            settings={"learning_rate": 0.1, "optimizer": "adam"},
            scripts={"fit.py": "import torch\nimport gpytorch\n"},
        ),
    ),
    (
        "lr-extreme",
        "unknown",
        run(
            settings={"learning_rate": 0.4, "optimizer": "adam"},
            scripts={"fit.py": "optimizer = torch.optim.Adam([pose, camera.angle], lr=0.4)\n"},
        ),
    ),
    (
        "lr-extreme",
        "unknown",
        run(
            settings={"learning_rate": 0.4, "optimizer": "adam"},
            scripts={"fit.py": "import jax, optax\nmisfit = jax.value_and_grad(lambda mass: wave(mass))\n"},
        ),
    ),
    (
        "lr-extreme",
        "present",
        run(
            settings={"learning_rate": 0.4, "optimizer": "adam"},
            scripts={"fit.py": "import jax, optax\nstep = jax.grad(lambda p, x: mlp(p, x))\n"},
        ),
    ),
    (
        "lr-extreme",
        "present",
        run(
            settings={"learning_rate": 0.4, "optimizer": "adam"},
            scripts={"fit.py": "a = Adam([pose])\nb = torch.optim.Adam(model.parameters(), lr=0.4)\n"},
        ),
    ),
    (
        "lr-extreme",
        "present",
        run(settings={"learning_rate": 0.4, "optimizer": "adam"}, scripts={"fit.py": "import torch\n"}),
    ),
    (
        "lr-extreme",
        "unknown",
        run(
            settings={"learning_rate": 0.1, "optimizer": "adam"},
            scripts={"fit.py": "mll = mlls.ExactMarginalLogLikelihood(likelihood, model)\n"},
        ),
    ),
    ("lr-extreme", "unknown", run([FALLS_EACH_STEP], {"learning_rate": 0.1, "optimizer": "adam"})),
    ("lr-extreme", "present", run([FALLS_IN_ALL], {"learning_rate": 0.1, "optimizer": "adam"})),
    ("lr-extreme", "present", run([MEANS_FALL], {"learning_rate": 0.1, "optimizer": "adam"})),
    (
        "lr-very-large",
        "unknown",
        run(
            settings={"learning_rate": 0.01, "optimizer": "adam"},
            scripts={"fit.py": "import torch\nfrom torch_geometric.nn import GCNConv\n"},
        ),
    ),
    (
        "lr-very-large",
        "present",
        run(
            settings={"learning_rate": 0.05, "optimizer": "adam"},
            scripts={"fit.py": "import torch\nfrom torch_geometric.nn import GCNConv\n"},
        ),
    ),
    ("lr-very-large", "unknown", run(settings={"learning_rate": 0.02, "optimizer": "muon"})),
    ("lr-large", "present", run(settings={"learning_rate": 5e-3, "optimizer": "adam"})),
    ("lr-large", "absent", run(settings={"learning_rate": 1e-3, "optimizer": "adam"})),
    ("lr-very-large", "present", run(settings=OPENRLHF)),
    ("lr-very-large", "absent", run(settings={**OPENRLHF, "lora_rank": 8})),
    # rates after the loss is no number are no reason for it
    ("lr-large", "absent", broken_at(8, {"learning_rate": 0.5, "optimizer": "adam"}, LATE)),
    # beyond the limits of lr-very-large that tells the same rate, which counts once
    ("lr-large", "unknown", broken_at(20, {"learning_rate": 0.5, "optimizer": "adam"}, LATE)),
    ("lr-large", "unknown", run(settings={"learning_rate": 0.05, "optimizer": "adam"})),
    ("lr-large", "unknown", run(settings={"learning_rate": 2.0, "optimizer": "sgd"})),
    ("lr-large", "unknown", run(settings={"learning_rate": 0.02})),
    ("lr-small", "present", run(settings={"learning_rate": 1e-5, "optimizer": "adam"})),
    ("lr-small", "present", run(settings={"learning_rate": 1e-4, "optimizer": "sgd"})),
    ("lr-small", "absent", run(settings={"learning_rate": 1e-4, "optimizer": "adamw"})),
    ("lr-small", "unknown", run(settings={"learning_rate": 1e-5, "optimizer": "adam", "pretrained": True})),
    ("lr-small", "unknown", run(settings={"learning_rate": 1e-4})),
    ("lr-small", "unknown", megatron(np.linspace(10.0, 3.0, 60))),  # MindSpeed-LLM's own scripts have 1.25e-6
    ("lr-small", "present", megatron(np.linspace(10.0, 9.9, 60))),
    ("lr-small", "unknown", made(GONE * 1e-3, {"optimizer": "sgd"})),
    ("lr-small", "unknown", made(COSINE * 1e-3, {"optimizer": "sgd", "learning_rate": 0.5})),
    ("lr-small", "unknown", run()),
    ("lr-very-small", "present", run(settings={"learning_rate": 1e-8, "optimizer": "adam"})),
    ("lr-very-small", "present", made(warm(np.full(N, 1e-6)), {"optimizer": "sgd"})),
    (
        "lr-very-small",
        "absent",
        run(settings={"learning_rate": 5e-7, "optimizer": "adamw", "model": "llama", "pretrained": True}),
    ),
    ("lr-very-small", "absent", run(settings={"learning_rate": 1e-3, "optimizer": "sgd"})),
    ("lr-very-small", "present", made(np.zeros(N), {**NOAM, "learning_rate": 1e-4})),
    ("lr-very-small", "absent", made(np.zeros(N), {**NOAM, "learning_rate": 2.0})),
    ("lr-large-for-boxes", "present", detector(0.02, {"batch_size": 2, "world_size": 1})),
    ("lr-large-for-boxes", "present", detector(0.02, {"SOLVER.IMS_PER_BATCH": 2})),
    ("lr-large-for-boxes", "absent", detector(0.02, {"batch_size": 2, "world_size": 8})),
    ("lr-large-for-boxes", "unknown", detector(0.02, {"batch_size": 2})),
    ("lr-large-for-boxes", "unknown", run(settings={"lr": 0.02, "SOLVER.IMS_PER_BATCH": 2, "momentum": 0.9})),
    ("lr-very-small", "unknown", run(settings={"learning_rate": 1e-5})),
    ("lr-very-small", "unknown", made((T[:12] + 1) * 1e-9, {"optimizer": "adam"})),
    ("lr-gone", "present", made(np.concatenate([np.linspace(1e-4, 0, 20), np.zeros(N - 20)]))),
    ("lr-gone", "absent", made(np.linspace(1e-4, 0, N))),
    ("lr-gone", "unknown", run(settings={"learning_rate": 1e-4})),
    ("lr-decays-too-early", "present", made(TOO_EARLY, {"lr_scheduler": "cosine"})),
    ("lr-decays-too-early", "present", made(GONE, {"lr_scheduler": "step"})),
    ("lr-decays-too-early", "present", made(1e-3 * 0.1 ** (2.0 * (T >= 30)), {"lr_scheduler": "multistep"})),
    ("lr-decays-too-early", "present", made(np.maximum(1e-3 * 0.1 ** (T // 10), 1e-8))),  # a plateau's floor
    ("lr-decays-too-early", "present", made(1e-3 * 0.1 ** (2.0 * (T >= 30)), {"lr_milestones": (30, 60)})),
    ("lr-decays-too-early", "absent", made(STEPS, {"lr_milestones": (100, 150)})),
    ("lr-decays-too-early", "unknown", made(np.maximum(1e-3 * 0.1 ** (T // 10), 1e-7))),
    ("lr-decays-too-early", "unknown", made(np.maximum(1e-3 * 0.1 ** (T // 30), 1e-8))),
    ("lr-decays-too-early", "absent", made(1e-3 * 0.1 ** (2.0 * (T >= 100)), {"lr_scheduler": "multistep"})),
    ("lr-decays-too-early", "absent", made(COSINE)),
    ("lr-decays-too-early", "absent", made(STEPS, {"lr_scheduler": "multistep"})),
    ("lr-decays-too-early", "absent", made(CONSTANT)),
    ("lr-decays-too-early", "unknown", made(COSINE[:5])),
    ("lr-decays-too-early", "unknown", made(1e-3 * 0.1 ** (T // 40).clip(0, 2))),
    ("warmup-whole-run", "present", made(warm(CONSTANT, 2000), {"warmup_steps": 2000, "max_steps": 200})),
    ("warmup-whole-run", "present", run(settings={"warmup_epochs": 20, "epochs": 10})),
    ("warmup-whole-run", "present", run(settings={**TOKENS, "warmup_steps": 20000})),
    ("warmup-whole-run", "absent", run(settings={**TOKENS, "warmup_steps": 1000})),
    ("warmup-whole-run", "unknown", run(settings={"max_tokens": 4096, "warmup_steps": 20000})),
    ("warmup-whole-run", "absent", made(warm(COSINE), {"warmup_steps": 2000, "max_steps": 200})),
    ("warmup-whole-run", "absent", made(warm(COSINE), {"warmup_steps": 10, "max_steps": 200})),
    ("warmup-whole-run", "unknown", made(warm(COSINE), {"warmup_steps": 10, "epochs": 3})),
    ("lr-never-decays", "present", made(warm(CONSTANT), {"lr_scheduler": "cosine"})),
    ("lr-never-decays", "present", made(CONSTANT, {"lr_scheduler": "multistep", "lr_milestones": (50, 100)})),
    ("lr-never-decays", "absent", made(warm(COSINE), {"lr_scheduler": "cosine"})),
    ("lr-never-decays", "absent", made(CONSTANT, {"lr_scheduler": "plateau"})),
    ("lr-never-decays", "unknown", made(CONSTANT, {"lr_scheduler": "step"})),
    ("lr-never-decays", "unknown", made(CONSTANT, {"lr_scheduler": "cosine", "max_steps": 100_000})),
    ("lr-never-decays", "unknown", made(CONSTANT)),
    ("lr-restarts", "present", made(OVERSHOT, {"lr_scheduler": "cosine"})),
    ("lr-restarts", "present", made(RESTARTS, {"lr_scheduler": "linear"})),
    ("lr-restarts", "absent", made(RESTARTS, {"lr_scheduler": "cosine-restarts"})),
    ("lr-restarts", "absent", made(RESTARTS, {"lr_scheduler": "cosine", "num_cycles": 4})),
    ("lr-restarts", "absent", made(warm(COSINE), {"lr_scheduler": "cosine"})),
    ("lr-restarts", "unknown", made(RESTARTS)),
    ("lr-begins-anew", "present", made(broken_off(50))),
    ("lr-begins-anew", "present", made(WARM_TWICE)),
    ("lr-begins-anew", "absent", made(WARM_CYCLES)),  # each cycle comes down before the next warms up
    ("lr-begins-anew", "absent", made(broken_off(92))),  # down to a tenth first: meant to come again
    ("lr-begins-anew", "absent", made(warm(COSINE))),
    ("lr-begins-anew", "absent", made(CONSTANT)),
    ("lr-begins-anew", "unknown", made(broken_off(50), {"lr_scheduler": "cosine-restarts"})),
    ("lr-begins-anew", "unknown", run()),
    ("lr-jumps-at-resume", "present", made(JUMP, events=RESUME)),
    ("lr-jumps-at-resume", "present", made(JUMP, events=SAVED)),
    ("lr-jumps-at-resume", "present", made(THROUGH, events=SAVED)),
    ("lr-jumps-at-resume", "absent", made(COSINE, events=SAVED)),
    ("lr-jumps-at-resume", "absent", made(STEPS, events=(Event("resume", "log.txt", 71, step=70.0),))),
    ("lr-jumps-at-resume", "present", made(AGAIN, events=(Event("resume", "log.txt", 71, step=70.0),))),
    ("lr-jumps-at-resume", "absent", made(COSINE, events=RESUME)),
    ("lr-jumps-at-resume", "absent", made(COSINE)),
    ("lr-jumps-at-resume", "unknown", made(COSINE, events=(Event("resume", "log.txt", 1, step=900.0),))),
    ("lr-jumps-at-resume", "unknown", run(events=RESUME)),
    ("steps-begin-anew-at-resume", "present", started_twice(25)),
    ("steps-begin-anew-at-resume", "absent", started_twice()),
    ("steps-begin-anew-at-resume", "unknown", started_twice(60)),
    ("steps-begin-anew-at-resume", "unknown", started_twice(25, first=3.0)),
    ("lr-curve-differs-from-config", "present", made(warm(CONSTANT), {"learning_rate": 3e-4})),
    ("lr-curve-differs-from-config", "present", made(warm(COSINE), {"learning_rate": 3e-3})),
    ("lr-curve-differs-from-config", "absent", made(warm(COSINE), {"learning_rate": 1e-3})),
    ("lr-curve-differs-from-config", "unknown", made(CONSTANT * 8, {"learning_rate": 1e-3, "world_size": 8})),
    ("lr-curve-differs-from-config", "unknown", made((T + 1) * 1e-6, {"learning_rate": 1e-3})),
    # mmengine logs the rate of the first group, which may have a factor of its own
    (
        "lr-curve-differs-from-config",
        "unknown",
        made(warm(COSINE), {"learning_rate": 1e-2, "paramwise_cfg.custom_keys.backbone.lr_mult": 0.1}),
    ),
    (
        "lr-curve-differs-from-config",
        "unknown",
        run([lr([6e-4, 3e-4, 1e-6], steps=[500, 1000, 1500])], {"learning_rate": 1e-3}),
    ),
    (  # once an epoch, and the first epoch warms up and begins to fall
        "lr-curve-differs-from-config",
        "unknown",
        run([lr([3.74e-3, 3.7e-3, 3.5e-3, 3.1e-3, 2e-3], steps=[1, 2, 3, 4, 5])], {"learning_rate": 4e-3}),
    ),
    (
        "lr-curve-differs-from-config",
        "present",
        run([lr([2e-3, 1.98e-3, 1.9e-3, 1.5e-3, 1e-3], steps=[1, 2, 3, 4, 5])], {"learning_rate": 4e-3}),
    ),
    ("lr-curve-differs-from-config", "unknown", made(warm(CONSTANT))),
    ("loss-not-finite-at-usual-rate", "present", broken_at(40, {"optimizer": "adam"})),
    ("loss-not-finite-at-usual-rate", "present", broken_at(3, {"optimizer": "adam"}, LATE)),
    ("loss-not-finite-at-usual-rate", "absent", broken_at(40, {"optimizer": "adam"}, LATE)),
    ("loss-not-finite-at-usual-rate", "present", broken_at(9, {"optimizer": "adam"}, SLIGHTLY)),
    ("loss-not-finite-at-usual-rate", "absent", broken_at(60, {"optimizer": "adam"}, SLIGHTLY)),
    ("loss-not-finite-at-usual-rate", "unknown", broken_at(40, {}, np.full(N, 0.02))),
    ("lr-large", "unknown", broken_at(9, {"optimizer": "adam"}, SLIGHTLY)),
    ("lr-large", "present", broken_at(60, {"optimizer": "adam"}, SLIGHTLY)),
    ("lr-large", "present", broken_at(1, {"optimizer": "sgd"}, SLIGHTLY * 100)),
    ("loss-not-finite-at-usual-rate", "unknown", broken_at(N, {"optimizer": "adam"})),
    ("loss-not-finite-at-usual-rate", "unknown", run([series("train/loss", [math.nan] * 5)])),
    ("lr-lowered-hastily", "present", made(0.05 * 0.5 ** T[:30], unit="epoch", steps=T[:30])),
    ("lr-lowered-hastily", "absent", made(0.05 * 0.5 ** (T[:90] // 30), unit="epoch", steps=T[:90])),
    ("lr-lowered-hastily", "unknown", made(0.05 * 0.5 ** T[:30])),
    ("lr-starts-at-peak", "present", made(COSINE)),
    ("lr-starts-at-peak", "present", made(CONSTANT)),
    ("lr-starts-at-peak", "absent", made(warm(COSINE))),
    ("lr-starts-at-peak", "unknown", made(COSINE[::20], steps=T[::20] + 50)),
    ("lr-starts-at-peak", "unknown", made(COSINE[:30], unit="epoch")),
]


@pytest.mark.parametrize(("symptom", "state", "given"), CASES)
def test_every_learning_rate_symptom_in_its_states(symptom: str, state: str, given: Run) -> None:
    """Made curves give the state that a person would give."""
    found = reading("learning_rate", symptom, given)

    assert found.state == state, found.why


def test_all_symptoms_have_three_states_here() -> None:
    """No symptom of the file goes without a case for each state."""
    covered = {(s, state) for s, state, _ in CASES}

    assert {(s, t) for s in symptoms("learning_rate") for t in ("present", "absent", "unknown")} <= covered


def test_a_rate_that_the_benchmark_has_is_no_reason() -> None:
    """What both sides have in common is not why one of them stays behind."""
    mine = run(settings={"learning_rate": 1e-8, "optimizer": "adam"})
    other = run(settings={"learning_rate": 1e-3, "optimizer": "adam"})

    assert reading("learning_rate", "lr-very-small", mine, mine).state is State.UNKNOWN
    assert reading("learning_rate", "lr-very-small", mine, other).state is State.PRESENT


HEALTHY = {
    "warm-up and cosine": (warm(COSINE), {"lr_scheduler": "cosine", **ADAM}),
    "warm-up and linear": (warm(LINEAR), {"lr_scheduler": "linear", **ADAM}),
    "warm-up and steps": (warm(STEPS), {"lr_scheduler": "multistep", **ADAM}),
    "warm-up and constant": (warm(CONSTANT), {"lr_scheduler": "constant", **ADAM}),
    "configured restarts": (warm(RESTARTS), {"lr_scheduler": "cosine-restarts", **ADAM}),
    "first row zero": (np.concatenate([[0.0], warm(COSINE)[1:]]), {"lr_scheduler": "cosine", **ADAM}),
    "inverse square root": (
        warm(1e-3 * np.sqrt(10 / np.maximum(T + 1, 10))),
        {"lr_scheduler": "inverse-sqrt", **ADAM},
    ),
    "wsd": (warm(np.where(T < 160, 1e-3, 1e-3 * (N - T) / 40)), {"lr_scheduler": "wsd", **ADAM}),
    "plateau": (
        warm(np.where(T < 90, 1e-3, np.where(T < 120, 1e-4, 1e-5))),
        {"lr_scheduler": "plateau", **ADAM},
    ),
    "nothing configured": (warm(COSINE), {}),
}


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("every", [1, 2, 7])
def test_normal_schedules_are_silent(name: str, every: int) -> None:
    """No symptom is present on a usual schedule, however sparsely it is logged."""
    values, settings = HEALTHY[name]

    found = present("learning_rate", made(values[::every], settings, steps=T[::every] + 1))

    assert found <= {"lr-starts-at-peak"} if every == 7 else found == set()


def test_a_finding_says_where_the_curve_stands() -> None:
    """Step, line and curve are named."""
    found = reading("learning_rate", "lr-decays-too-early", made(TOO_EARLY))

    assert found.step == pytest.approx(50, abs=3)
    assert found.where[0].line == found.step
    assert found.series == ("learning_rate",)


def test_values_that_are_not_numbers_are_passed_over() -> None:
    """NaN rows of a learning rate neither hide nor make a finding."""
    values = warm(COSINE).copy()
    values[::5] = np.nan

    assert present("learning_rate", made(values, ADAM)) == set()


@pytest.mark.parametrize(
    ("other", "same"),
    [("work/1.log.json", True), ("work/1.log", True), ("work/2.log.json", False), ("1.log.json", False)],
)
def test_one_log_in_two_files(other: str, same: bool) -> None:
    """OpenMMLab writes each log as text and as JSON beside it."""
    assert rate_course._one_log("work/1.log", other) is same


@pytest.mark.parametrize(
    ("log", "same"), [("work/1/1.log", True), ("work/2/2.log", False), ("work/1/other.log", False)]
)
def test_one_start_of_mmengine(log: str, same: bool) -> None:
    """mmengine makes a folder for each start: its log, and its scalars in a folder below."""
    assert rate_course._one_log(log, "work/1/vis_data/scalars.json") is same


def test_the_trainer_of_transformers_uses_adamw_where_nothing_else_is_said() -> None:
    """Its log names no optimizer; the default of `optim` tells how much a learning rate is."""
    silent = run(settings={"learning_rate": 0.05})
    theirs = run(settings={"learning_rate": 0.05}, facts={"trainer": "transformers"})
    other = run(settings={"learning_rate": 0.05, "optimizer": "sgd"}, facts={"trainer": "transformers"})

    assert [rate_size.family(r) for r in (silent, theirs, other)] == [None, "adam", "sgd"]


def test_small_rates_of_policies_are_usual() -> None:
    """A policy that is trained by its return, at 1e-6 and for 60 iterations, has no rate too small."""
    at = np.arange(1.0, 61.0)
    curves = [
        series("train/loss", 0.01 * np.sin(at), at),
        series("train/loss/actor_pg", 0.01 * np.sin(at), at),
        series("learning_rate", np.full(60, 1e-6), at),
    ]
    policy, other = run(curves), run([curves[0], curves[2]])

    for name in ("lr-small", "lr-very-small", "updates-very-few"):
        assert (
            reading("learning_rate" if name.startswith("lr") else "loss", name, policy).state is State.UNKNOWN
        )
    assert reading("learning_rate", "lr-very-small", other).state is State.PRESENT
    assert reading("loss", "updates-very-few", other).state is State.PRESENT


@pytest.mark.parametrize(
    "text",
    [
        "LambdaLR(opt, lambda s: 64 ** -0.5 * min((s + 1) ** -0.5, (s + 1) * 400 ** -1.5))",
        "LambdaLR(opt, rate_of)",
    ],
)
def test_a_rate_of_one_that_a_schedule_multiplies(text: str) -> None:
    """The configured rate is the unit of the schedule's function."""
    settings = {"optimizer": "adamw", "learning_rate": 1.0}
    assert "lr-extreme" in present("learning_rate", run([], settings))
    assert "lr-extreme" not in present("learning_rate", run([], settings, scripts={"train.py": text}))


@pytest.mark.parametrize(
    ("value", "others", "state"),
    [
        (20.0, ["train/perplexity"], "unknown"),
        (60.0, ["train/perplexity"], "present"),
        (20.0, ["train/accuracy"], "present"),
    ],
)
def test_rates_of_recurrent_language_models(value: float, others: list[str], state: str) -> None:
    """SGD with clipped gradients trains them at 20 and 30; of anything else that is far too much."""
    curves = [lr(np.full(N, value)), *(series(name, np.linspace(300, 100, N)) for name in others)]

    assert str(rate_size.lr_very_large(View(run(curves)), adam=0.1, sgd=10.0).state) == state


@pytest.mark.parametrize(("clip", "state"), [(0.25, "unknown"), (1.0, "present"), (None, "present")])
def test_a_clipped_step_of_a_recurrent_language_model(clip: float | None, state: str) -> None:
    """20 times 0.25 is PyTorch's own example; without so low a threshold it is far too much."""
    curves = [lr(np.full(N, 20.0)), series("eval/perplexity", np.linspace(300, 100, N))]
    made = run(curves, {"optimizer": "sgd", "max_grad_norm": clip})

    assert str(rate_size.lr_very_large(View(made), adam=0.1, sgd=4.0).state) == state


@pytest.mark.parametrize(
    ("optimizer", "value", "found"),
    [("adadelta", 1.0, False), ("prodigy", 1.0, False), ("adadelta", 30.0, True), ("sgd", 1.0, True)],
)
def test_a_rate_of_one_that_is_a_factor(optimizer: str, value: float, found: bool) -> None:
    """Adadelta and its like find their steps themselves; 1 is what they begin with."""
    made = run([], {"optimizer": optimizer, "learning_rate": value})

    assert ("lr-very-large" in present("learning_rate", made)) is found


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([0.1, 0.1, *(0.05 * 0.5 ** (k // 2) for k in range(28))], "present"),  # patience of zero
        ([0.05 * 0.1**k for k in range(20)], "present"),  # a step in each epoch
        ([20.0] * 5 + [20 * 0.5 ** (k + 1) for k in range(8)], "absent"),  # halved each epoch, later
        ([0.1] * 18 + [0.1 * 0.5 ** (k + 1) for k in range(8)], "absent"),  # newbob: once nothing gets better
        ([0.7**k for k in range(20)], "absent"),  # PyTorch's example for MNIST
        ([0.1 * 0.1 ** (k // 30) for k in range(90)], "absent"),
        ([0.1] * 4, "unknown"),
    ],
)
def test_a_rate_that_is_lowered_in_haste(rates: list[float], expected: str) -> None:
    """Few epochs lie between one lowering and the next, from the beginning on."""
    at = np.arange(1, len(rates) + 1)
    made = run([series("learning_rate", rates, at, unit="epoch")])
    assert reading("learning_rate", "lr-lowered-hastily", made).state == expected
    by_step = run([series("learning_rate", rates, at * 100, epochs=at.astype(float))])
    assert reading("learning_rate", "lr-lowered-hastily", by_step).state == expected


@pytest.mark.parametrize(
    ("share", "expected"), [(0.1, "present"), (0.39, "present"), (0.6, "absent"), (1.0, "absent")]
)
def test_a_cosine_that_keeps_a_tenth(share: float, expected: str) -> None:
    """Language models keep a tenth of the peak; where it is reached early most of the run trains with it."""
    part = np.minimum(T / (share * N), 1.0)
    rates = 1e-4 + 9e-4 * 0.5 * (1 + np.cos(np.pi * part))
    found = reading(
        "learning_rate",
        "lr-decays-too-early",
        written({"lr_scheduler": "cosine"}, [series("learning_rate", rates)]),
    )
    assert found.state == expected


@pytest.mark.parametrize(
    ("rate", "first", "state"),
    [
        (7e-6, 2.6, State.UNKNOWN),  # trained before: a hundred such steps teach a fresh one nothing
        (4e-5, 2.6, State.PRESENT),  # so many could have brought it there
        (7e-6, 9.5, State.PRESENT),
    ],
)
def test_small_rates_are_usual_where_a_language_model_can_hardly_have_begun(
    rate: float, first: float, state: State
) -> None:
    loss = np.linspace(first, 0.6 * first, 20)
    steps = np.arange(100.0, 2_100.0, 100.0)
    made = run(
        [
            series("train/loss", loss, steps),
            series("train/perplexity", np.exp(loss), steps),
            series("learning_rate", np.full(20, rate), steps),
        ],
        {"optimizer": "adam", "learning_rate": rate},
    )

    assert reading("learning_rate", "lr-small", made).state is state


@pytest.mark.parametrize(
    ("key", "name", "state"),
    [
        ("model", "bert-base-uncased", State.UNKNOWN),
        ("model", "google/vit-base-patch16-224", State.UNKNOWN),
        ("model.model_name_or_path", "somewhere/encoder", State.UNKNOWN),
        ("model", "vit_base_patch16_224", State.PRESENT),  # as libraries name an architecture
        ("model", "resnet50", State.PRESENT),
    ],
)
def test_small_rates_are_usual_where_a_model_of_a_hub_is_named(key: str, name: str, state: State) -> None:
    told = {"optimizer": "adam", "learning_rate": 1e-5, key: name}
    made = run([series("train/loss", np.linspace(0.7, 0.4, 40))], told)

    assert reading("learning_rate", "lr-small", made).state is state


def test_a_loss_that_came_to_nothing_needed_no_more_rate() -> None:
    """A plateau halves the rate early in a run whose loss is next to nothing by then."""
    rate = 5e-4 * 0.5 ** np.minimum(T // 10, 8)
    solved, stuck = (2.0 * np.exp(-T / 12) + end for end in (0.002, 0.9))

    for loss, expected in ((solved, "unknown"), (stuck, "present")):
        run_ = run([lr(rate), series("train/loss", loss)])
        assert str(reading("learning_rate", "lr-decays-too-early", run_).state) == expected
