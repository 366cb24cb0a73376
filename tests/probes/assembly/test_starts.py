"""One run in several folders is one run; several runs side by side stay several."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.run import Run


def opened(root: Path, *folders: tuple[str, int, int], header: str = "step,train_loss") -> Run:
    """A run directory with a metrics.csv in each folder, from one step to before another, every ten."""
    for name, start, stop in folders:
        (root / name).mkdir(parents=True)
        rows = (f"{step},{2.0 / (1 + step):.4f}" for step in range(start, stop, 10))
        (root / name / "metrics.csv").write_text("\n".join([header, *rows]) + "\n")
        (root / name / "hparams.yaml").write_text(f"lr: 0.001\nstart: {start}\n")
    return open_run(root)


def test_folders_that_go_on_are_one_run(tmp_path: Path) -> None:
    run = opened(
        tmp_path, ("logs/version_8", 0, 300), ("logs/version_9", 300, 500), ("logs/version_10", 500, 900)
    )
    loss = run.series["train/loss"]

    assert loss.steps.tolist() == [float(s) for s in range(0, 900, 10)]
    assert run.others == ()
    assert [(e.kind, e.step) for e in run.events] == [("resume", 300.0), ("resume", 500.0)]
    assert any("logs/version_10 goes on where logs/version_9 ends" in n for n in run.info.notes)


def test_a_start_from_an_earlier_checkpoint_is_a_rewind(tmp_path: Path) -> None:
    run = opened(tmp_path, ("version_0", 0, 500), ("version_1", 450, 900))
    loss = run.series["train/loss"]

    assert loss.steps.tolist() == [float(s) for s in range(0, 900, 10)]
    assert {"rewind", "resume"} <= {e.kind for e in run.events}


@pytest.mark.parametrize(
    "folders",
    [
        (("fold_1", 0, 300), ("fold_2", 0, 500)),  # begins anew
        (("version_0", 0, 300), ("version_1", 900, 1200)),  # far behind the end: something is missing
        (("version_0", 300, 600), ("version_1", 0, 300)),  # the other way round
        (("base", 0, 300), ("large", 300, 600)),  # names that are not alike
        (("version_0", 0, 600), ("version_1", 200, 500)),  # does not go further
    ],
)
def test_other_folders_stay_runs_of_their_own(
    tmp_path: Path, folders: tuple[tuple[str, int, int], ...]
) -> None:
    run = opened(tmp_path, *folders)

    assert len(run.others) == 1
    assert not [e for e in run.events if e.kind in ("resume", "rewind")]


def test_rows_without_steps_are_not_joined(tmp_path: Path) -> None:
    """A log that counts nothing begins anew each time, as far as anybody can tell."""
    for name in ("version_0", "version_1"):
        (tmp_path / name).mkdir()
        rows = (f"{2.0 / (1 + n):.4f},{n % 7 / 7:.3f}" for n in range(40))
        (tmp_path / name / "metrics.csv").write_text("\n".join(["train_loss,train_acc", *rows]) + "\n")

    assert len(open_run(tmp_path).others) == 1


def test_a_log_that_says_in_its_name_that_it_goes_on(tmp_path: Path) -> None:
    """`log_resumed.txt` goes on where `log_first.txt` ends; `log_other.txt` is not joined."""
    row = "Epoch: [{}] Loss {:.4f} lr 0.1\n"
    (tmp_path / "log_first.txt").write_text("".join(row.format(e, 2 * 0.9**e) for e in range(20)))
    later = "".join(row.format(e, 1.5 * 0.99**e) for e in range(20, 30))
    (tmp_path / "log_resumed.txt").write_text(later)

    assert len(open_run(tmp_path).series["train/loss"]) == 30

    (tmp_path / "log_resumed.txt").rename(tmp_path / "log_other.txt")

    assert len(open_run(tmp_path).series["train/loss"]) == 20
