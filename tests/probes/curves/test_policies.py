"""How policies move that are trained by returns or preferences: the three states of each symptom."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.engine.model import Reading, State
from traindoctor.probes.run import Run

from .._build import run, series
from .._read import evidence, reading

AREAS = {"loss-zero": "loss", "loss-starts-at-chance": "relations", "grad-norm-grows-steadily": "gradients"}
AREAS |= {"lr-very-small": "learning_rate", "lr-large": "learning_rate"}
RNG = np.random.default_rng(4)
N = 60
T = np.arange(N) / N
RISING = 20 + 180 * T + 6 * RNG.standard_normal(N)
FLAT = 20 + 6 * RNG.standard_normal(N)
LOST = np.where(T < 0.4, 20 + 400 * T, np.maximum(12, 180 - 900 * (T - 0.4))) + RNG.standard_normal(N)
ENTROPY = -0.7 + 0.2 * T  # Stable-Baselines3 logs it as a loss
GONE = -0.7 * np.exp(-12 * T)


def read(made: Run, symptom: str) -> Reading:
    """The reading of one symptom."""
    return evidence(AREAS.get(symptom, "policies"), made)[symptom]


def ppo(
    returns: np.ndarray = RISING, kl: float = 0.01, clipped: float = 0.1, entropy: np.ndarray = ENTROPY
) -> Run:
    return run(
        [
            series("train/loss", 5 + RNG.standard_normal(N)),
            series("train/reward", returns, raw="rollout/ep_rew_mean"),
            series("train/loss/entropy", entropy, raw="train/entropy_loss"),
            series("approx_kl", np.full(N, kl), raw="train/approx_kl"),
            series("clip_fraction", np.full(N, clipped), raw="train/clip_fraction"),
        ]
    )


def grpo(reward: np.ndarray, spread: np.ndarray, kl: np.ndarray) -> Run:
    return run(
        [
            series("train/loss", 0.04 * kl),
            series("train/reward", reward, raw="reward"),
            series("reward_std", spread),
            series("kl", kl),
        ]
    )


def rlhf(kl: np.ndarray, returns: np.ndarray = RISING, explained: np.ndarray = T) -> Run:
    return run(
        [
            series("train/loss", 5 + RNG.standard_normal(N)),
            series("train/reward", returns, raw="objective/scores"),
            series("kl", kl, raw="objective/kl"),
            series("value_explained", explained, raw="critic/vf_explained_var"),
        ]
    )


def dpo(chosen: np.ndarray, margin: np.ndarray, right: float = 0.75) -> Run:
    return run(
        [
            series("train/loss", np.log1p(np.exp(-margin))),
            series("train/reward_chosen", chosen, raw="rewards/chosen"),
            series("train/reward_rejected", chosen - margin, raw="rewards/rejected"),
            series("train/preference_margin", margin, raw="rewards/margins"),
            series("train/preference_accuracy", np.full(N, right), raw="rewards/accuracies"),
        ]
    )


ZEROS = np.zeros(N)
NEAR = 0.02 * np.exp(0.2 * RNG.standard_normal(N))
AWAY = np.where(T < 0.6, 0.02, 0.02 * np.exp(40 * (T - 0.6)))
LEARNS = 0.2 + 0.5 * T + 0.02 * RNG.standard_normal(N)
HELD = np.full(5, 0.7)


def held_out(right: np.ndarray, trained: float = 0.75) -> Run:
    """Preferences, with held-out pairs of which so many are told apart rightly."""
    made = dpo(-0.5 * T, 1.5 * T, trained)
    return run([*made.all_series, series("eval/preference_accuracy", right, raw="eval_rewards/accuracies")])


USUAL = grpo(LEARNS, np.full(N, 0.3), NEAR)
PAIRS = dpo(-0.5 * T, 1.5 * T)


def scored(held: np.ndarray) -> Run:
    """A policy whose return in training rises, and what it has in evaluation."""
    return run([series("train/reward", RISING), series("eval/reward", held[:: max(1, N // 20)])])


def beside(name: str, returns: np.ndarray, values: np.ndarray) -> Run:
    """A policy of which more is logged than its return."""
    return run([*ppo(returns).all_series, series(name, values + 0.01 * RNG.standard_normal(N))])


@pytest.mark.parametrize(
    ("symptom", "sick", "well"),
    [
        ("policy-update-far", ppo(FLAT, kl=0.6), ppo()),
        ("policy-update-far", ppo(LOST, clipped=0.7), ppo()),
        ("policy-entropy-gone", ppo(FLAT, entropy=GONE), ppo(RISING, entropy=GONE)),
        ("return-never-rises", ppo(FLAT), ppo(RISING)),
        ("return-lost", ppo(LOST), ppo(RISING)),
        ("return-falls", ppo(RISING[::-1]), ppo(FLAT)),
        ("return-falls", ppo(RISING[::-1]), ppo(LOST)),  # it was higher in between
        ("kl-negative", rlhf(-2 - 10 * T), rlhf(0.3 * RNG.standard_normal(N))),
        ("value-explains-nothing", rlhf(T, FLAT, -0.02 - 0.1 * T), rlhf(T, FLAT)),
        ("value-explains-nothing", rlhf(T, FLAT, -0.02 - 0.1 * T), rlhf(T, RISING, -0.02 - 0.1 * T)),
        ("policy-leaves-reference", grpo(LEARNS, ZEROS + 0.3, AWAY), USUAL),
        ("rewards-never-differ", grpo(ZEROS, ZEROS, NEAR), USUAL),
        ("preference-rewards-zero", dpo(ZEROS, ZEROS), PAIRS),
        ("chosen-answers-lost", dpo(-20 * T, 12 * T), PAIRS),
        ("preferences-reversed", held_out(1 - HELD), held_out(HELD)),
        ("preference-starts-apart", dpo(8 + T, 1.5 * np.ones(N)), PAIRS),
        ("eval-return-apart", scored(FLAT), scored(RISING)),
        ("eval-return-apart", scored(FLAT), scored(0.001 * RISING)),  # shares of successes
        ("preferences-by-heart", dpo(-T, 12 * np.ones(N), 1.0), PAIRS),
    ],
)
def test_policies(symptom: str, sick: Run, well: Run) -> None:
    """Present in the sick run with a place, absent in one that learns, unknown where nothing is logged."""
    found = read(sick, symptom)
    assert found.state is State.PRESENT and found.where and found.series
    assert read(well, symptom).state is State.ABSENT
    classifier = run([series("train/loss", np.linspace(2.3, 0.1, N)), series("train/accuracy", T)])
    assert read(classifier, symptom).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("symptom", "made"),
    [
        ("return-never-rises", ppo(np.full(N, 0.97))),  # at its ceiling from the start
        ("return-never-rises", ppo(FLAT[:10])),
        ("return-falls", ppo(FLAT[:10])),
        (
            "rewards-never-differ",
            grpo(np.r_[np.zeros(N // 2), np.ones(N // 2)], ZEROS, NEAR),
        ),  # learned since
        ("loss-zero", grpo(LEARNS, ZEROS + 0.3, ZEROS)),  # advantages sum to nothing
        ("preferences-reversed", held_out(1 - HELD, 0.5)),  # nothing was learned
        ("policy-update-far", ppo(kl=0.6)),  # the return rises to the end
        ("return-falls", beside("train/success", RISING[::-1], T)),  # a bonus fades
        ("return-falls", beside("task_level", RISING[::-1], np.floor(5 * T))),
        ("return-falls", beside("episode_cost", RISING[::-1], 90 - 60 * T)),
        ("return-never-rises", beside("eval/success", FLAT, T)),  # against itself
        ("return-lost", beside("task_level", LOST, np.floor(5 * T))),
        ("chosen-answers-lost", dpo(-25 - T, 2 * T)),  # SimPO: no reference
        ("preference-starts-apart", dpo(2 + 20 * T, T)),  # moves fast
        ("loss-starts-at-chance", dpo(ZEROS, ZEROS)),  # ln 2 is where the policy is its reference
    ],
)
def test_what_cannot_be_told_of_policies(symptom: str, made: Run) -> None:
    """What a policy that learns shows as well stays unknown."""
    assert read(made, symptom).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("rate", "state"), [(5e-7, State.UNKNOWN), (5e-10, State.PRESENT), (1e-3, State.ABSENT)]
)
def test_small_rates_of_preferences(rate: float, state: State) -> None:
    """5e-7 is usual for DPO; a thousandth of that moves nothing."""
    made = run([*PAIRS.all_series], {"learning_rate": rate, "optimizer": "adamw"})
    assert read(made, "lr-very-small").state is state


@pytest.mark.parametrize(("rate", "state"), [(5e-7, State.ABSENT), (5e-5, State.PRESENT)])
def test_large_rates_of_preferences(rate: float, state: State) -> None:
    """What fine-tuning bears is large for preferences."""
    made = run([*PAIRS.all_series], {"learning_rate": rate, "optimizer": "adamw"})
    assert read(made, "lr-large").state is state


def test_gradients_that_grow_late_are_no_sum() -> None:
    """Gradients that are never cleared add up from the first step; a run that breaks grows when it breaks."""
    loss = series("train/loss", 2.0 - T)
    late = run([loss, series("grad_norm", np.where(T < 0.6, 1.0, np.exp(12 * (T - 0.6))))])
    summed = run([loss, series("grad_norm", 1 + 40 * T**0.7)])

    assert read(late, "grad-norm-grows-steadily").state is State.ABSENT
    assert read(summed, "grad-norm-grows-steadily").state is State.PRESENT


def test_a_model_of_rewards_is_no_policy() -> None:
    """Its mean reward means nothing; its accuracy and its loss are judged as those of a classifier."""
    made = run(
        [
            series("train/loss", 0.69 - 0.3 * T),
            series("train/accuracy", 0.5 + 0.2 * T),
            series("train/reward", 0.1 * RNG.standard_normal(N), raw="mean_reward"),
        ]
    )
    assert read(made, "return-never-rises").state is State.UNKNOWN


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"init_kl_coef": 0.0}, "present"),
        ({"algorithm.kl_ctrl.kl_coef": 0.0, "actor.kl_loss_coef": 0.0}, "present"),
        ({"init_kl_coef": 0.02}, "absent"),
        ({"kl_coef": 0.0, "kl_loss_coef": 0.001}, "absent"),
        ({}, "absent"),
    ],
)
def test_a_policy_that_nothing_holds(settings: dict[str, float], expected: str) -> None:
    """Sixty nats that still grow are far where the weight of the divergence is zero."""
    made = run(grpo(LEARNS, ZEROS + 0.3, 65 * T**1.6).all_series, settings)
    assert reading("policies", "policy-leaves-reference", made).state == expected
    near = run(grpo(LEARNS, ZEROS + 0.3, 3 * T).all_series, settings)
    assert reading("policies", "policy-leaves-reference", near).state == "absent"
