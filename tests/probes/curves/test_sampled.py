"""Whether sampler and trainer agree, and how answers end: three states of each symptom, and names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import Reading, State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.run import Run

from .._build import run, series
from .._read import evidence

RNG = np.random.default_rng(7)
N = 40
T = np.arange(N) / N
LEARNS = 0.2 + 0.5 * T + 0.02 * RNG.standard_normal(N)
FLAT = 0.3 + 0.02 * RNG.standard_normal(N)
AGREES = 0.004 + 0.001 * RNG.random(N)
PARTS = 0.004 + 0.2 * np.maximum(0, T - 0.4)


def policy(rewards: np.ndarray = LEARNS, **logged: np.ndarray) -> Run:
    """A run with a reward and further series."""
    loss = series("train/loss", 0.01 * RNG.standard_normal(N))
    return run([loss, series("train/reward", rewards), *(series(k, v) for k, v in logged.items())])


def read(made: Run, symptom: str) -> Reading:
    """The reading of one symptom."""
    return evidence("policies", made)[symptom]


@pytest.mark.parametrize(
    ("symptom", "sick", "well"),
    [
        ("sampler-disagrees", {"sampler_gap": AGREES + 0.1}, {"sampler_gap": AGREES}),
        ("sampler-disagrees", {"sampler_log_gap": AGREES + 0.8}, {"sampler_log_gap": AGREES + 0.02}),
        ("sampler-disagrees", {"sampler_agreement": 0.6 + 0 * T}, {"sampler_agreement": 0.9993 + 0 * T}),
        ("sampler-disagrees", {"sampler_gap": AGREES + 0.1}, {"sampler_gap": PARTS}),
        ("sampler-drifts", {"sampler_gap": PARTS}, {"sampler_gap": AGREES}),
        ("sampler-drifts", {"sampler_agreement": 1 - 5 * PARTS}, {"sampler_agreement": 1 - AGREES}),
        ("sampler-drifts", {"sampler_gap": PARTS}, {"sampler_gap": AGREES + 0.1}),
        ("answers-never-end", {"answers_cut": 0.97 + 0 * T}, {"answers_cut": 0.05 + 0 * T}),
        ("answers-never-end", {"answers_cut": 0.97 + 0 * T}, {"answers_cut": T}),
        ("answers-never-end", {"answers_cut": 0.97 + 0 * T}, {"answers_cut": 1 + 0 * T, "train/reward": T}),
        ("answers-run-on", {"answers_cut": T**0.5 * (T > 0.4)}, {"answers_cut": 0.05 + 0 * T}),
    ],
)
def test_sampled(symptom: str, sick: dict[str, np.ndarray], well: dict[str, np.ndarray]) -> None:
    """Present in the sick run with a place, absent in the sound one, unknown where nothing is logged."""
    found = read(policy(FLAT, **sick), symptom)
    assert found.state is State.PRESENT and found.where and found.series
    assert read(policy(FLAT, **well), symptom).state is State.ABSENT
    assert read(policy(FLAT), symptom).state is State.UNKNOWN


def test_answers_that_grow_with_the_reward_do_not_run_on() -> None:
    """Longer answers that earn more are what was wanted."""
    assert read(policy(LEARNS, answers_cut=T**0.5 * (T > 0.4)), "answers-run-on").state is State.ABSENT


def test_zeros_are_no_agreement() -> None:
    """verl writes 0 for all where it could not compare."""
    made = policy(sampler_gap=0 * T, sampler_agreement=0 * T)
    assert read(made, "sampler-disagrees").state is State.UNKNOWN


LINE = (
    "(TaskRunner pid=81) step:{step} - training/rollout_probs_diff_valid:1"
    " - training/rollout_probs_diff_max:1.0"
    " - training/rollout_probs_diff_mean:{gap:.6f} - training/rollout_probs_diff_std:0.2"
    " - training/rollout_actor_probs_pearson_corr:{same:.4f} - actor/entropy:0.38 - actor/pg_loss:0.01"
    " - actor/ppo_kl:0.0005 - actor/pg_clipfrac:0.002 - actor/grad_norm:0.31 - actor/lr:1e-06"
    " - critic/score/mean:0.31 - critic/rewards/mean:0.31 - critic/vf_explained_var:0.4"
    " - response_length/mean:310.0 - response_length/clip_ratio:0.02 - prompt_length/clip_ratio:0.0"
)


def test_names_of_verl(tmp_path: Path) -> None:
    """The mean of the difference is read, not its spread or maximum; answers that are cut, not prompts."""
    lines = [LINE.format(step=i, gap=0.136 + 0.001 * i, same=0.61) for i in range(1, 13)]
    (tmp_path / "grpo.log").write_text("\n".join(lines), encoding="utf-8")
    found = open_run(tmp_path).series

    assert found["sampler_gap"].values[0] == pytest.approx(0.137)
    assert found["sampler_agreement"].values[0] == pytest.approx(0.61)
    assert found["answers_cut"].values[0] == pytest.approx(0.02)
    assert found["value_explained"].values[0] == pytest.approx(0.4)
    assert found["clip_fraction"].values[0] == pytest.approx(0.002)
