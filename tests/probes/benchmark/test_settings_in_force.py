"""Item 10: every hyperparameter in force, with its place on both sides; defaults count, spelling does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.model import Reading
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.registry import View, collect

from .._read import probes, symptoms

LOG = "".join(f"step {n} loss {2 / n + 0.5:.4f}\n" for n in range(1, 40))
BASE = "lr: 0.001\nbatch_size: 64\noptimizer: adamw\nweight_decay: 0.1\nepochs: 3\n"


def read(tmp_path: Path, mine: str, theirs: str | None) -> Reading:
    sides = []
    for name, text in (("run", mine), ("benchmark", theirs)):
        if text is None:
            continue
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(LOG)
        (tmp_path / name / "config.yaml").write_text(text)
        sides.append(open_run(tmp_path / name))
    view = View(sides[0], sides[1] if theirs is not None else None)
    return collect(view, [symptoms("benchmark")["hyperparameter-in-force-differs"]], probes())[
        "hyperparameter-in-force-differs"
    ]


@pytest.mark.parametrize(
    ("expected", "mine", "theirs"),
    [
        ("present", BASE.replace("0.001", "0.01"), BASE),
        ("absent", BASE, BASE),
        ("absent", BASE.replace("lr: 0.001", "learning_rate: 1.0e-3"), BASE),
        ("absent", BASE + "warmup_steps: 10\n", BASE),
        ("absent", BASE.replace("batch_size: 64", "batch_size: 32\ngradient_accumulation_steps: 2"), BASE),
        ("unknown", BASE, "lr: 0.001\n"),
        ("unknown", BASE, None),
    ],
)
def test_three_states(tmp_path: Path, expected: str, mine: str, theirs: str | None) -> None:
    """A difference, an equal recipe in other words, and too little on one side to compare."""
    found = read(tmp_path, mine, theirs)

    assert found.state == expected, found.why


def test_all_differences_are_told_with_both_places(tmp_path: Path) -> None:
    """The weightiest comes first; each names file and line on both sides."""
    mine = BASE.replace("0.001", "0.01").replace("epochs: 3", "epochs: 9").replace("decay: 0.1", "decay: 0.2")
    found = read(tmp_path, mine, BASE)

    assert found.why.startswith(
        "learning rate 0.01 (config.yaml:1), in the benchmark 0.001 (config.yaml:1); "
    )
    assert "weight decay 0.2 (config.yaml:4), in the benchmark 0.1 (config.yaml:4)" in found.why
    assert found.value == 3
    assert {(p.side, p.line) for p in found.where} >= {
        ("run", 1),
        ("benchmark", 1),
        ("run", 5),
        ("benchmark", 5),
    }
