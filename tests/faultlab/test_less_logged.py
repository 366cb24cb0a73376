"""Runs with less logged: what is taken away is gone everywhere, the rest is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultlab import less_logged
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.run import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Ninety rows with a rate and a held-out accuracy, ten with a held-out loss, and a setting."""
    folder = tmp_path_factory.mktemp("run")
    rows = [f"{k},{2.0 / (k + 1)},0.01,{k / 100},{1.5 / (k + 1) if k % 9 == 8 else ''}" for k in range(90)]
    (folder / "log.csv").write_text("\n".join(["step,train_loss,lr,val_acc,val_loss", *rows]) + "\n")
    (folder / "config.yaml").write_text("optimizer: adamw\nlr: 0.01\n")
    return open_run(folder)


def test_each_variant_lacks_what_its_name_says(run: Run) -> None:
    """Curves by variant; the recorded run itself stays as it was."""
    whole = {"train/loss", "eval/loss", "eval/accuracy", "learning_rate"}
    found = dict(less_logged.variants(run))

    assert set(run.series) == whole
    assert tuple(found) == less_logged.NAMES
    assert {k: whole - set(v.series) for k, v in found.items()} == {
        "every third row": set(),
        "no rates and norms": {"learning_rate"},
        "no held-out loss": {"eval/loss"},
        "losses, rates and norms": {"eval/accuracy"},
        "nothing held out": {"eval/loss", "eval/accuracy"},
        "no settings": set(),
        "losses alone": {"eval/accuracy", "learning_rate"},
    }
    assert {k for k, v in found.items() if not v.settings} == {"no settings", "losses alone"}
    assert all({s.name for s in v.all_series} == set(v.series) for v in found.values())


def test_every_third_row_is_kept_of_what_was_logged_often(run: Run) -> None:
    """The rows stay whole: value, step and line belong together; held-out figures are not thinned."""
    thin = dict(less_logged.variants(run))["every third row"].series
    whole, loss = run.series["train/loss"], thin["train/loss"]

    assert loss.steps.tolist() == whole.steps[2::3].tolist()
    assert loss.values.tolist() == whole.values[2::3].tolist()
    assert len(thin["eval/accuracy"]) == 90
    assert len(thin["eval/loss"]) == 10


def test_what_would_change_nothing_or_leave_nothing_is_left_out(tmp_path: Path) -> None:
    """A short log of one loss has only the variants without settings."""
    (tmp_path / "log.csv").write_text("step,val_loss\n" + "".join(f"{k},{1 / (k + 1)}\n" for k in range(20)))

    assert [name for name, _ in less_logged.variants(open_run(tmp_path))] == ["no settings", "losses alone"]
