"""MLflow's file store and its database: every point exactly, damage costs what it hits."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.assembly import kinds
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.readers import mlflow_store
from traindoctor.probes.run import FileContent

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
RUN = "mlruns/0/" + "0123456789abcdef" * 2
OTHER = "mlruns/0/" + "f" * 32
META = (
    "artifact_uri: file:///home/somebody/mlruns\nlifecycle_stage: active\nrun_id: 01\n"
    "status: {}\nuser_id: somebody\n"
)
SCHEMA = """
CREATE TABLE runs (run_uuid TEXT, user_id TEXT, status TEXT, start_time INT, lifecycle_stage TEXT);
CREATE TABLE metrics (key TEXT, value FLOAT, timestamp INT, run_uuid TEXT, step INT, is_nan BOOLEAN);
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
"""


def file_of(tmp_path: Path, name: str, text: str | bytes) -> RunFile:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(data)
    return RunFile(tmp_path, name, len(data))


def read(tmp_path: Path, name: str, text: str | bytes) -> FileContent:
    file = file_of(tmp_path, name, text)
    assert mlflow_store.sniff(file)
    return mlflow_store.read(file)


def database(path: Path, *statements: tuple[str, tuple[object, ...]]) -> RunFile:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        for statement, values in statements:
            connection.execute(statement, values)
        connection.commit()
    return RunFile(path.parent, path.name, path.stat().st_size)


def started(
    run: str, time: int | None, stage: str = "active", status: str = "FINISHED"
) -> tuple[str, tuple[object, ...]]:
    return "INSERT INTO runs VALUES (?, 'somebody', ?, ?, ?)", (run, status, time, stage)


def logged(run: str, key: str, value: float, step: int, nan: bool = False) -> tuple[str, tuple[object, ...]]:
    values = (key, value, 1_700_000_000_000 + step, run, step, nan)
    return "INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", values


def test_a_metric(tmp_path: Path) -> None:
    """Lines of time, value and step give a curve, with NaN and infinity; folders are part of the name."""
    text = "1700000000000 1.5 0\n1700000001000 nan 1\n1700000002000 inf 2\n"
    (series,) = read(tmp_path, f"{RUN}/metrics/train/loss", text).series

    assert series.raw == "train/loss" and series.steps.tolist() == [0, 1, 2]
    assert np.array_equal(series.values, [1.5, math.nan, math.inf], equal_nan=True)
    assert series.walls is not None and series.walls.tolist() == [1.7e9, 1.7e9 + 1, 1.7e9 + 2]
    assert series.lines is not None and series.lines.tolist() == [1, 2, 3]


@pytest.mark.parametrize("tail", ["", " 0"])
def test_a_metric_without_steps(tmp_path: Path, tail: str) -> None:
    """Where all steps are 0, or none is there, the rows are counted, and that is said."""
    text = "".join(f"170000000{k} {k}.5{tail}\n" for k in range(3))
    content = read(tmp_path, f"{RUN}/metrics/loss", text)

    assert content.series[0].steps.tolist() == [0, 1, 2] and content.series[0].unit == "row"
    assert any("without steps" in note for note in content.notes)


def test_hardware_and_models_are_left_out(tmp_path: Path) -> None:
    """Hardware metrics are no curves, and what a logged model repeats counts once."""
    line = "1700000000000 1.5 0\n"

    assert not read(tmp_path, f"{RUN}/metrics/system/gpu_0_utilization", line).series
    assert not read(tmp_path, "mlruns/0/models/m-0a1b/metrics/loss", line).series


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("lr", "0.001", "lr", 0.001),
        ("opt/betas", "[0.9, 0.95]", "opt.betas", (0.9, 0.95)),
        ("amp", "True", "amp", True),
        ("api_key", "s3cret", "api_key", "***"),
    ],
)
def test_parameters(tmp_path: Path, name: str, text: str, key: str, value: object) -> None:
    """The whole file is the value; the path below params is the key."""
    (setting,) = read(tmp_path, f"{RUN}/params/{name}", text).settings

    assert (setting.key, setting.value) == (key, value)
    assert read(tmp_path, f"params/{name}", text).settings[0].value == value


@pytest.mark.parametrize(("status", "name"), [("3", "FINISHED"), ("4", "FAILED"), ("5", "KILLED")])
def test_status(tmp_path: Path, status: str, name: str) -> None:
    """A run's description gives how it ended, and neither names nor places."""
    content = read(tmp_path, f"{RUN}/meta.yaml", META.format(status))

    assert content.facts == {"mlflow.status": name}
    assert "somebody" not in repr((content.facts, content.settings, content.notes))


def test_tags(tmp_path: Path) -> None:
    """Of the tags only the framework is kept."""
    assert read(tmp_path, f"{RUN}/tags/mlflow.autologging", "pytorch").facts == {"framework": "pytorch"}
    assert not read(tmp_path, f"{RUN}/tags/mlflow.user", "somebody").facts


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Files in folders of these names that hold something else belong to other readers."""
    for name, text in (
        ("metrics/loss.csv", "step,loss\n1,2.0\n"),
        ("metrics/loss", "1 2.0 3\n"),
        ("params/train.yaml", "lr: 0.1\n"),
        ("params/notes", "two\nlines\n"),
        ("meta.yaml", "lr: 0.1\n"),
        ("lr", "0.1"),
    ):
        assert not mlflow_store.sniff(file_of(tmp_path, name, text)), name


def test_a_cut_metric(tmp_path: Path) -> None:
    """A file cut anywhere gives its whole lines, and at most one more point."""
    text = "".join(f"170000000{k}000 {k}.25 {k}\n" for k in range(5))
    for at in range(14, len(text)):
        file = file_of(tmp_path, f"{RUN}/metrics/loss", text[:at])
        if mlflow_store.sniff(file):
            (series,) = mlflow_store.read(file).series
            whole = text[:at].count("\n")
            assert whole <= len(series) <= whole + 1
            assert series.values[:whole].tolist() == [k + 0.25 for k in range(whole)]


def test_flipped_bits_in_a_metric(tmp_path: Path) -> None:
    """A flipped bit costs at most its own line (two, where it hits the line end)."""
    data = "".join(f"170000000{k}000 {k}.25 {k}\n" for k in range(5)).encode()
    for at in range(25, len(data)):
        broken = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        assert len(read(tmp_path, f"{RUN}/metrics/loss", broken).series[0]) >= 3


def test_the_last_run_of_a_database(tmp_path: Path) -> None:
    """The run that started last is read; deleted runs and those without metrics do not count."""
    parameters = [("INSERT INTO params VALUES ('lr', ?, ?)", (str(k / 10), f"r{k}")) for k in (1, 2)]
    runs = [started("r1", 100), started("r2", 200), started("r3", 300, "deleted"), started("r4", 400)]
    points = [logged(r, "train/loss", int(r[1]) + k, k) for r in ("r1", "r2", "r3") for k in range(3)]
    content = mlflow_store.read(database(tmp_path / "mlflow.db", *runs, *points, *parameters))

    (series,) = content.series
    assert series.values.tolist() == [2, 3, 4] and series.steps.tolist() == [0, 1, 2]
    assert [(s.key, s.value) for s in content.settings] == [("lr", 0.2)]
    assert content.facts["mlflow.status"] == "FINISHED"
    assert content.notes == ("3 runs in the database; this is the one that started last",)
    assert "somebody" not in repr(content)


def test_values_in_a_database(tmp_path: Path) -> None:
    """NaN is a mark beside a 0, infinity the largest double, hardware is left out, repeated steps stay."""
    points = [
        logged("r", "loss", 1.0, 1),
        logged("r", "loss", 0.0, 2, nan=True),
        logged("r", "loss", 1.7976931348623157e308, 3),
        logged("r", "loss", -1.7976931348623157e308, 3),
        logged("r", "system/gpu_utilization", 90.0, 1),
    ]
    tags = ("INSERT INTO tags VALUES ('mlflow.autologging', 'tensorflow', 'r')", ())
    content = mlflow_store.read(database(tmp_path / "x.sqlite", started("r", None), tags, *points))

    (series,) = content.series
    assert np.array_equal(series.values, [1.0, math.nan, math.inf, -math.inf], equal_nan=True)
    assert series.steps.tolist() == [1, 2, 3, 3] and content.facts["framework"] == "tensorflow"


def test_databases_that_are_not_mlflows(tmp_path: Path) -> None:
    """Other databases, empty stores and views in the place of tables are refused."""
    assert not mlflow_store.sniff(database(tmp_path / "empty.db"))
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE runs (a)")
        connection.execute("CREATE VIEW metrics AS SELECT 1 AS key")
        connection.execute("CREATE VIEW params AS SELECT 1 AS key")
        connection.commit()
    other = tmp_path / "other.db"
    assert not mlflow_store.sniff(RunFile(tmp_path, other.name, other.stat().st_size))
    assert kinds.passed_over("mlflow.db", ".db") is None


def test_a_damaged_database(tmp_path: Path) -> None:
    """A cut or flipped database is read, refused, or an error in words."""
    points = [logged("r", "loss", k / 3, k) for k in range(300)]
    whole = (database(tmp_path / "whole.db", started("r", 1), *points)).read_bytes()
    damaged = [whole[:at] for at in range(0, len(whole), 311)]
    damaged += [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(0, len(whole), 97)]
    refused = 0
    for data in damaged:
        file = file_of(tmp_path, "damaged.db", data)
        if not mlflow_store.sniff(file):
            refused += 1
            continue
        try:
            assert all(len(s.steps) == len(s.values) for s in mlflow_store.read(file).series)
        except ValueError:
            refused += 1
    assert 0 < refused < len(damaged)


def test_a_store_is_one_run_per_folder(tmp_path: Path) -> None:
    """Metrics and parameters of one run come together, those of another do not."""
    for run, lr in ((RUN, "0.1"), (OTHER, "0.5")):
        lines = "".join(f"17000000000{k:02} {2 - k / 10} {k}\n" for k in range(10))
        file_of(tmp_path, f"{run}/metrics/train/loss", lines)
        file_of(tmp_path, f"{run}/metrics/val_loss", lines)
        file_of(tmp_path, f"{run}/params/learning_rate", lr)
        file_of(tmp_path, f"{run}/meta.yaml", META.format(3))
    found = open_run(tmp_path)

    assert found.info.formats == ("mlflow",) and found.others == (RUN,)
    assert set(found.series) >= {"train/loss", "eval/loss"} and found.settings["learning_rate"].value == 0.5


def test_nothing_is_written(tmp_path: Path) -> None:
    """Reading a database leaves no file beside it."""
    file = database(tmp_path / "mlflow.db", started("r", 1), logged("r", "loss", 1.0, 1))
    before = file.read_bytes()
    mlflow_store.read(file)

    assert [p.name for p in tmp_path.iterdir()] == ["mlflow.db"] and file.read_bytes() == before


@pytest.mark.skipif(not (SHARED / "real" / "mlflow").is_dir(), reason="../shared is not here")
def test_real_stores() -> None:
    """Every real metric file is read whole; nothing of who ran it is kept."""
    seen = 0
    for file in walk(SHARED / "real" / "mlflow")[0]:
        if not mlflow_store.sniff(file):
            assert file.suffix == ".db", file.path
            continue
        content = mlflow_store.read(file)
        assert not content.notes and "sahma" not in repr((content.settings, content.facts))
        if "/metrics/" in file.path:
            seen += 1
            assert len(content.series[0]) == len(file.read_text().splitlines())

    assert seen >= 10
