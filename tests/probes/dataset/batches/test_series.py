"""Waveforms, spectrograms and windows of time series."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ._pairs import Array, told

RANDOM = np.random.default_rng(0)
TIME = np.arange(2000) / 16000
WAVE = sum(
    np.sin(2 * np.pi * RANDOM.uniform(80, 900, (6, 1)) * TIME + RANDOM.uniform(0, 6, (6, 1)))
    * RANDOM.uniform(0.05, 0.2, (6, 1))
    for _ in range(5)
)
POWER = np.exp(RANDOM.normal(size=(6, 30, 20)).cumsum(axis=1))
LOG = np.log(POWER + 1e-6)
WALK = RANDOM.normal(size=300).cumsum()
WINDOWS = np.stack([WALK[i : i + 24] for i in range(60)])


def each(x: Array, *axes: int) -> Array:
    return (x - x.mean(axes, keepdims=True)) / x.std(axes, keepdims=True)


@pytest.mark.parametrize(
    ("field", "mine", "theirs", "kind", "words"),
    [
        ("audio", WAVE[:, ::2], WAVE, "resampling", "0.5 times the benchmark's sampling rate"),
        ("audio", WAVE[:, :1500], WAVE, "truncation", "the beginning is kept"),
        ("audio", WAVE[:, 500:], WAVE, "truncation", "the end is kept"),
        ("audio", WAVE * 32768, WAVE, "scale", "16-bit audio"),
        ("audio", WAVE * 0.5, WAVE, "scale", "0.5 times"),
        ("audio", -WAVE, WAVE, "scale", "the sign is turned"),
        ("audio", np.stack([WAVE, WAVE * 0.8], -1), WAVE, "layout", "stereo here"),
        ("audio", WAVE[:, None], WAVE, "layout", "an axis of one channel here"),
        ("audio", WAVE / np.abs(WAVE).max(1, keepdims=True), WAVE, "normalisation", "its own peak here"),
        ("audio", each(WAVE, 1), WAVE, "normalisation", "its own mean and deviation here"),
        ("audio", WAVE[:, 1:] - 0.97 * WAVE[:, :-1], WAVE[:, 1:], "function", "pre-emphasis"),
        ("audio", np.roll(WAVE, 5, 1), WAVE, "crop", "begin 5 steps earlier"),
        ("mel", POWER, LOG, "function", "the logarithm is taken in the benchmark"),
        ("mel", 10 / np.log(10) * LOG, LOG, "scale", "decibels here"),
        ("mel", np.sqrt(POWER), POWER, "function", "the square root is taken here"),
        ("mel", LOG[..., ::-1], LOG, "flip", "axis 2 (20 long) runs backwards"),
        ("mel", LOG.transpose(0, 2, 1), LOG, "layout", "the axes stand in another order"),
        ("mel", each(LOG, 1), LOG, "normalisation", "each sample and feature"),
        ("x", WINDOWS[1:], WINDOWS[:-1], "crop", "windows begin 1 step later"),
        ("x", WINDOWS[:, ::-1], WINDOWS, "flip", "backwards"),
        ("x", np.diff(WINDOWS, axis=1), WINDOWS[:, 1:], "function", "differences from step to step"),
    ],
)
def test_the_step_is_named(
    field: str, mine: Array, theirs: Array, kind: str, words: str, tmp_path: Path
) -> None:
    ((found, said),) = told(tmp_path, {field: mine}, {field: theirs})

    assert found == kind
    assert words in said


def test_batch_and_time_are_exchanged(tmp_path: Path) -> None:
    from traindoctor.probes.dataset.batches import compare

    for side, values in (("a", LOG.transpose(1, 0, 2)), ("b", LOG)):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "batch_0.npy", values)

    found = compare(tmp_path / "a", tmp_path / "b")

    assert found is not None
    assert [d.kind for d in found.differences] == ["layout"]
    assert "batch and time" in found.differences[0].words


def test_targets_of_the_next_step_do_not_belong_to_their_windows(tmp_path: Path) -> None:
    target = WALK[24:84]

    ((kind, said),) = told(tmp_path, {"x": WINDOWS, "y": WALK[23:83]}, {"x": WINDOWS, "y": target})

    assert kind == "label-apart"
    assert "1 place" in said
