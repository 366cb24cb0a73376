"""Which files belong to one run."""

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.assembly.layout import belongs, by_lightning, home, merged, natural, rank

MLFLOW = "0123456789abcdef" * 2
WANDB = "run-20250101_120000-abcd1234"
AGAIN = "run-20250102_120000-dcba4321"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("train.log", ""),
        ("logs/train.log", ""),
        ("exp/logs/train/events.out.tfevents.1.host", "exp"),
        ("tb/fit/events.out.tfevents.1.host", ""),
        ("tb/held_out/events.out.tfevents.1.host", ""),
        ("checkpoint-500/trainer_state.json", ""),
        ("runs/Dec01_10-00-00_node/events.out.tfevents.1.host", ""),
        ("lightning_logs/version_3/metrics.csv", "lightning_logs/version_3"),
        ("log/rank_2/info.log", ""),
        ("dvclive/plots/metrics/val/synth/loss.tsv", ""),
        (f"mlruns/12/{MLFLOW}/metrics/loss", f"mlruns/12/{MLFLOW}"),
        (f"mlruns/12/{MLFLOW}/metrics/ppo/reward/mean", f"mlruns/12/{MLFLOW}"),
        (f"mlruns/12/{MLFLOW}/params/optimizer/lr", f"mlruns/12/{MLFLOW}"),
        (f"{MLFLOW}/metrics/ppo/reward", MLFLOW),
        (f"exp/wandb/{WANDB}/files/output.log", f"exp/wandb/{WANDB}"),
        (f"wandb/offline-{WANDB}/logs/debug.log", f"wandb/offline-{WANDB}"),
        (f"wandb/{WANDB}/run-abcd1234.wandb", f"wandb/{WANDB}"),
    ],
)
def test_home(path: str, expected: str) -> None:
    """Neutral folders at the end of the path do not make another run."""
    assert home(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("log/rank_3/info.log", 3),
        ("log.txt.rank1", 1),
        ("worker_12.log", 12),
        ("train.log", None),
        ("frank1.log", None),
    ],
)
def test_rank(path: str, expected: int | None) -> None:
    """Ranks are told from folder and file names."""
    assert rank(path) == expected


def test_configurations_belong_to_the_nearest_run() -> None:
    """A file at the top belongs to all runs, one in a run's folder to that run."""
    units = ["a", "b"]

    assert belongs("config.yaml", "a", units)
    assert belongs("a/config.yaml", "a", units)
    assert not belongs("b/config.yaml", "a", units)


def test_what_one_wandb_run_recorded_belongs_to_the_log_beside_it() -> None:
    """With one W&B run beside a log its configuration is that of the log's run; with several it is not."""
    config = f"exp/wandb/{WANDB}/files/config.yaml"
    one = ["exp", f"exp/wandb/{WANDB}"]

    assert belongs(config, "exp", one) and belongs(config, one[1], one)
    assert belongs(config, "exp", ["exp"]) and belongs(config, "", [""])
    assert not belongs(f"exp/wandb/{AGAIN}/files/config.yaml", "exp", one)
    assert not belongs(config, "exp", [*one, f"exp/wandb/{AGAIN}"])
    assert not belongs(config, f"exp/wandb/{AGAIN}", [*one, f"exp/wandb/{AGAIN}"])
    assert not belongs(config, "exp2", ["exp2", *one])


def test_natural_order() -> None:
    """version_10 comes after version_9."""
    assert max(["version_9", "version_10"], key=natural) == "version_10"


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (["", "lightning_logs/version_0"], {"": "", "lightning_logs/version_0": ""}),
        (["", "csv/version_0"], {"": "", "csv/version_0": ""}),
        (["", "wandb/run-20240101_000000-abc"], {"": "", "wandb/run-20240101_000000-abc": ""}),
        (
            ["", "lightning_logs/version_0", "lightning_logs/version_1"],
            {u: u for u in ["", "lightning_logs/version_0", "lightning_logs/version_1"]},
        ),
        (["", "fold1"], {"": "", "fold1": "fold1"}),
    ],
)
def test_a_trackers_only_run_is_the_run_beside_it(units: list[str], expected: dict[str, str]) -> None:
    """A log and the tracker's only run beside it are one run; several, or a folder of a person's, are not."""
    assert merged(units) == expected


def test_output_beside_the_only_folder_with_a_time_stamp() -> None:
    """mmengine puts its log into `20240501_100000/`: output beside one is the same run."""
    one, two = "work/20240501_100000", "work/20240502_100000"

    assert merged(["work", one])[one] == "work"
    assert merged(["work", one, two])[one] == one
    assert merged(["work", "work/other"])["work/other"] == "work/other"


@pytest.mark.parametrize(
    ("paths", "root", "expected"),
    [
        (["lightning_logs/version_0/metrics.csv"], "run", "lightning_logs/version_0/metrics.csv"),
        (["metrics.csv"], "version_3", "metrics.csv"),
        (["logs/metrics.csv", "logs/hparams.yaml"], "run", "logs/metrics.csv"),
        (["metrics.csv", "config.yaml"], "run", None),
        (["a/metrics.csv", "b/hparams.yaml"], "run", None),
        (["version_1/train.csv"], "run", None),
    ],
)
def test_lightning_is_told_by_its_loggers_files(paths: list[str], root: str, expected: str | None) -> None:
    """A folder `version_N`, or the two files that only its CSVLogger puts side by side."""
    assert by_lightning(paths, root) == expected


@pytest.mark.parametrize(("scripts", "logs", "taken"), [(3, 1, 3), (9, 1, 0), (3, 2, 0)])
def test_scripts_beside_the_folder_of_the_only_log(
    tmp_path: Path, scripts: int, logs: int, taken: int
) -> None:
    """`tools/` beside `work/` is of the run where there is one; a whole package is not, nor of two runs."""
    (tmp_path / "tools").mkdir()
    for n in range(scripts):
        (tmp_path / "tools" / f"part{n}.py").write_text("import torch\nmodel = torch.nn.Linear(2, 2)\n")
    for n in range(logs):
        (tmp_path / f"work{n}").mkdir()
        rows = "".join(f"step {i} loss {3 / i + n:.3f}\n" for i in range(1, 12))
        (tmp_path / f"work{n}" / "train.log").write_text(rows)
    assert len(open_run(tmp_path).scripts) == taken


ROWS = [(s, 1.0 / (1 + s), 0.5 + 0.01 * s) for s in range(1, 13)]
TABLE = "step,train_mse,test_mse\n" + "".join(f"{s},{a:.6f},{b:.6f}\n" for s, a, b in ROWS)
SAID = "".join(f"step {s} train_mse {a:.4f} test_mse {b:.4f}\n" for s, a, b in ROWS)
OTHER = "".join(f"step {s} train_mse {a * 1.1:.4f} test_mse {b:.4f}\n" for s, a, b in ROWS)


@pytest.mark.parametrize(
    ("printed", "runs"),
    [
        ("test mse 0.5312 mae 0.61\n", 1),  # closing figures
        ("done\n", 1),
        (SAID, 1),  # the same once more
        (SAID + "step 12 test_mse 0.6200\n", 1),
        (OTHER, 2),  # another run of the same program
        ("".join(SAID.splitlines(keepends=True)[:4]), 2),  # broken off: whose is it?
    ],
)
def test_what_a_run_prints_beside_its_folder(tmp_path: Path, printed: str, runs: int) -> None:
    """`python train.py --out exp > stdout.txt`: one run, whose table counts; two where the numbers differ."""
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "log.csv").write_text(TABLE)
    (tmp_path / "stdout.txt").write_text(printed)
    run = open_run(tmp_path)
    assert len(run.others) == runs - 1
    assert len(run.series["train/mse"].values) == 12
    if runs == 1:
        assert run.series["train/mse"].file == "exp/log.csv"


def test_closing_figures_beside_two_folders_are_of_neither(tmp_path: Path) -> None:
    """`stdout.txt` beside `a/` and `b/`: the one of them with a curve that comes last is looked at."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text(TABLE)
    (tmp_path / "stdout.txt").write_text("test mse 0.5312\n")
    run = open_run(tmp_path)
    assert len(run.others) == 2
    assert run.series["train/mse"].file == "b/log.csv"
