"""Repeats of a benchmark that lie in its own directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.cli.work import _repeats_within
from traindoctor.probes.assembly.assemble import open_run


@pytest.mark.parametrize(
    ("folders", "taken"),
    [
        (("seed1", "seed2", "seed3"), 2),
        (("run_1", "run_2"), 1),
        (("lr0.1", "lr0.2"), 0),  # another recipe
        (("seed1", "final"), 0),
        (("resnet50", "resnet101"), 0),
    ],
)
def test_repeats_are_told_by_their_names(tmp_path: Path, folders: tuple[str, ...], taken: int) -> None:
    for folder in folders:
        (tmp_path / folder).mkdir()
        rows = "".join(f"step {i} loss {2 + 9 / i:.4f} lr 1e-4\n" for i in range(1, 40))
        (tmp_path / folder / "train.log").write_text(rows, encoding="utf-8")
    found = _repeats_within(tmp_path, open_run(tmp_path))
    assert len(found) == taken
    assert all(p.is_dir() for p in found)
