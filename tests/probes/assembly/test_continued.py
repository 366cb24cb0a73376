"""A run that goes on from the checkpoint of a folder beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.assembly.assemble import open_run

from .._read import reading


def start(folder: Path, load: str, data: str, level: float, *, at: int = 0) -> None:
    """A configuration, and a log of 40 rows whose rate warms up and falls."""
    folder.mkdir()
    (folder / "run.yaml").write_text(f"load_checkpoint: '{load}'\ndata_path: {data}\nseed: 1\n")
    rows = (
        f"step {at + s} | loss {level + (3 - level) * 0.8**k if not load else level:.4f}"
        f" | lr {0.02 * min(1.0, (at + s + 10) / 50) * (1 - (at + s) / 900):.6f}"
        for k, s in enumerate(range(0, 400, 10))
    )
    (folder / "train.log").write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize(
    ("load", "data", "at", "wanted"),
    [
        ("./one/checkpoint", "a.bin", 0, State.PRESENT),
        ("./one/checkpoint", "a.bin", 400, State.UNKNOWN),  # the steps go on
        ("./one/checkpoint", "b.bin", 0, State.ABSENT),  # another stage of training
        ("./elsewhere/checkpoint", "a.bin", 0, State.ABSENT),
    ],
)
def test_taken_up_beside(tmp_path: Path, load: str, data: str, at: int, wanted: State) -> None:
    """The start in the other folder counts where its checkpoint is loaded and the data are the same."""
    start(tmp_path / "one", "", "a.bin", 1.0)
    start(tmp_path / "two", load, data, 1.0, at=at)

    assert reading("learning_rate", "steps-begin-anew-at-resume", open_run(tmp_path)).state is wanted
