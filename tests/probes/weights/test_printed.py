"""Figures of the first weights that logs print, of two sides and of two ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.operators import ckpt_compare, config_check
from traindoctor.probes.readers.text.first_weights import printed
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import probes_of
from traindoctor.probes.weights import shared

PROBES = {p for m in (ckpt_compare, config_check, shared) for p in probes_of(m)}
SYMPTOMS = [s for s in load_rules().symptoms.values() if s.probe in PROBES]
ROWS = "".join(f"step {s} loss {1 + 1 / (s + 1):.4f}\n" for s in range(40))
TWO_SIDES = (
    "checkpoints-partly-unrelated",
    "first-weights-other-scale",
    "saved-start-differs",
    "first-weights-of-one-factor",
)


def said(a: float, b: float, head: float) -> str:
    """Three weights as a log prints them."""
    parts = {"net.conv1.weight": a, "net.conv2.weight": b, "head.fc.weight": head}
    return "".join(f"[init] {n} sum={v / 9:.6f} norm={v:.6f}\n" for n, v in parts.items())


@pytest.mark.parametrize(
    ("theirs", "wanted"),
    [
        (said(12.0, 15.0, 2.5), ["present", "present", "present", "absent"]),
        (said(18.0, 22.0, 2.5), ["absent", "absent", "absent", "absent"]),
        (said(18.5, 22.5, 2.6), ["unknown", "absent", "present", "absent"]),
        (said(9.0, 11.0, 1.25), ["unknown", "present", "present", "present"]),
        ("", ["unknown", "unknown", "unknown", "unknown"]),
    ],
)
def test_two_sides(tmp_path: Path, theirs: str, wanted: list[str]) -> None:
    """Some equal and others far off: those were loaded on one side alone."""
    for side, head in (("a", said(18.0, 22.0, 2.5)), ("b", theirs)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "train.log").write_text(head + ROWS)
    found = dict(readings(open_run(tmp_path / "a"), open_run(tmp_path / "b"), SYMPTOMS))

    assert [found[n].state.value for n in TWO_SIDES] == wanted


@pytest.mark.parametrize(
    ("norms", "config", "wanted"),
    [
        ((38.2, 39.1), "", "present"),
        ((38.2, 38.2), "", "absent"),
        ((38.2, 39.1), "tensor_model_parallel_size: 2\n", "unknown"),
        ((38.2, None), "", "unknown"),
    ],
)
def test_two_ranks(tmp_path: Path, norms: tuple[float | None, ...], config: str, wanted: str) -> None:
    """Each rank prints the norm of its own first weights."""
    for rank, norm in enumerate(norms):
        head = "" if norm is None else f"INFO 初始权重范数: encoder={norm:.6f} head=5.123456\n"
        (tmp_path / f"worker_{rank}.log").write_text(head + ROWS)
    (tmp_path / "config.yaml").write_text(f"seed: 1\n{config}")
    found = dict(readings(open_run(tmp_path), None, SYMPTOMS))

    assert found["first-weights-of-ranks-differ"].state.value == wanted


@pytest.mark.parametrize(
    "line",
    [
        "init: loss=3.20 norm=1.25",
        "nn.init.normal_(module.weight, mean=0.0, std=0.001)",
        "init_std: 0.02, weight_decay: 0.1, std=0.02",
        "initial param norm (local shard): embed=20.12345",
        "step 10 weight norm=12.25",
        "initial learning rate: 0.01 norm=2.5",
        "parameters norm: encoder=12.5",
    ],
)
def test_other_figures(line: str) -> None:
    """Losses, later steps and rates are no first weights."""
    assert printed(line.encode(), "train.log", None) == ()


def test_a_norm_is_no_weight_decay(tmp_path: Path) -> None:
    """`l2` of a line about the first weights says nothing of a setting."""
    (tmp_path / "train.log").write_text("before training param net.conv.weight: l2=11.5 mean=0.01\n" + ROWS)

    assert not open_run(tmp_path).raw_settings
