"""Facts of sound data that are no faults, codes in arrays, ignored labels, and what each rank reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traindoctor.cli import main
from traindoctor.engine.model import State

from ._make import csv, reading

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
random = np.random.default_rng(0)


def diagnosed(capsys: pytest.CaptureFixture[str], *line: str) -> dict[str, list[dict[str, str]]]:
    assert main(["data", *line, "-f", "json"]) == 0
    found: dict[str, list[dict[str, str]]] = json.loads(capsys.readouterr().out)
    return found


def test_columns_apart_are_a_remark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ages and incomes lie apart in every sound table."""
    draw = np.random.default_rng(0)
    rows = np.column_stack([draw.normal(40, 9, 400).round(), draw.lognormal(10, 0.6, 400).round(2)])
    csv(tmp_path / "train.csv", ("age", "income"), rows.tolist())

    report = diagnosed(capsys, str(tmp_path))

    assert not report["findings"]
    assert [r["symptom"] for r in report["remarks"]] == ["data-columns-apart"]
    assert main(["data", str(tmp_path)]) == 0
    assert "Worth knowing" in capsys.readouterr().out
    assert main(["data", str(tmp_path), "-f", "markdown"]) == 0
    assert "## Worth knowing" in capsys.readouterr().out


def test_pictures_of_16_bits_are_not_cut_off(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    draw = np.random.default_rng(0)
    for i in range(12):
        dark = draw.integers(300, 4000, (40, 40)).astype(np.uint16)
        image.fromarray(dark).save(tmp_path / f"scan{i}.png")
    assert reading("samples-blank", tmp_path).state is A
    for i in range(3):
        image.fromarray(np.full((40, 40), 500, np.uint16)).save(tmp_path / f"scan{i}.png")
    assert reading("samples-blank", tmp_path).state is P


@pytest.mark.parametrize(("dtype", "state"), [(np.uint8, U), (np.float32, P)])
def test_bytes_may_be_scaled_after_the_batch(tmp_path: Path, dtype: type, state: State) -> None:
    for i in range(3):
        pixels = np.random.default_rng(i).integers(0, 256, (8, 3, 16, 16)).astype(dtype)
        np.savez(tmp_path / f"batch_{i}.npz", image=pixels, label=np.arange(8))
    assert reading("inputs-unnormalized", tmp_path).state is state


def test_lists_of_labels_are_no_classes(tmp_path: Path) -> None:
    """Labels of tokens: one prompt in a thousand fills its row, in a faulty set every eighth does."""

    def lines(every: int) -> str:
        rows = []
        for i in range(400):
            ids = np.random.default_rng(i).integers(5, 900, 12).tolist()
            labels = [-100] * 12 if i % every == 0 else [-100] * 5 + ids[5:]
            rows.append(json.dumps({"input_ids": ids, "labels": labels}))
        return "\n".join(rows)

    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "train.jsonl").write_text(lines(1000))
    assert reading("classes-unbalanced-in-data", tmp_path / "good").state is U
    assert reading("labels-all-ignored", tmp_path / "good").state is A
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "train.jsonl").write_text(lines(8))
    assert reading("labels-all-ignored", tmp_path / "bad").state is P


def test_json_lines_that_are_called_json(tmp_path: Path) -> None:
    rows = [{"text": f"word {i} of many", "label": i % 2} for i in range(120)]
    (tmp_path / "train.json").write_text("\n".join(map(json.dumps, rows + rows[:40])))
    assert reading("data-duplicates", tmp_path).state is P
    assert reading("data-unreadable", tmp_path).state is A


@pytest.mark.parametrize("code", [-999, 9999])
def test_codes_for_missing_values_in_arrays(tmp_path: Path, code: int) -> None:
    x = np.random.default_rng(0).normal(0, 1, (600, 5)).astype(np.float32)
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "x_train.npy", x)
        x[:20, 2] = code
    assert reading("data-missing-coded", tmp_path / "good").state is A
    assert reading("data-missing-coded", tmp_path / "bad").state is P


# ------------------------------------------------------------------------------------- what ranks read


def listed(root: Path, *ranks: list[object]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for rank, names in enumerate(ranks):
        (root / f"shard_rank{rank}.txt").write_text("".join(f"{n}\n" for n in names))
    return root


def shards(*numbers: int) -> list[object]:
    return [f"train-{n:05d}-of-00016.tar" for n in numbers]


def test_shards_of_a_numbered_set_that_no_rank_reads(tmp_path: Path) -> None:
    whole = listed(tmp_path / "whole", shards(*range(8)), shards(*range(8, 16)))
    assert reading("shards-overlap", whole).state is A
    gap = listed(tmp_path / "gap", shards(*range(8)), shards(*range(9, 16)))
    assert reading("shards-overlap", gap).state is P
    twice = listed(tmp_path / "twice", shards(*range(9)), shards(*range(8, 16)))
    assert reading("shards-overlap", twice).state is P


def test_a_random_part_of_the_samples_is_no_gap(tmp_path: Path) -> None:
    """Ranks share what a random split left for training; a block that nobody reads is a gap."""
    train = np.random.default_rng(0).permutation(1000)[:800]
    chosen = listed(tmp_path / "chosen", train[::2].tolist(), train[1::2].tolist())
    assert reading("shards-overlap", chosen).state is A
    blocks = listed(tmp_path / "blocks", list(range(300)), list(range(400, 700)))
    assert reading("shards-overlap", blocks).state is P
    padded = listed(tmp_path / "padded", [0, 2, 4, 6, 8], [1, 3, 5, 7, 0])
    assert reading("shards-overlap", padded).state is A


# ----------------------------------------------------------------------------- held against a benchmark


def test_equal_numbers_in_other_integers_and_folders_are_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(3):
        image = np.random.default_rng(i).normal(0, 1, (4, 3, 8, 8)).astype(np.float32)
        label = np.arange(4) + i
        (tmp_path / "a" / f"step_{i}").mkdir(parents=True)
        np.save(tmp_path / "a" / f"step_{i}" / "image.npy", image)
        np.save(tmp_path / "a" / f"step_{i}" / "label.npy", label.astype(np.int32))
        (tmp_path / "b").mkdir(exist_ok=True)
        np.save(tmp_path / "b" / f"image_{i}.npy", image)
        np.save(tmp_path / "b" / f"label_{i}.npy", label)

    report = diagnosed(capsys, str(tmp_path / "a"), "--benchmark", str(tmp_path / "b"))

    assert not report["findings"]


def test_stored_splits_in_another_order_are_the_same_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(0).normal(0, 1, (300, 4))
    for name, rows in (("a", x[::-1]), ("b", x), ("c", x[:200])):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "x_train.npy", rows)

    assert not diagnosed(capsys, str(tmp_path / "a"), "--benchmark", str(tmp_path / "b"))["findings"]
    fewer = diagnosed(capsys, str(tmp_path / "c"), "--benchmark", str(tmp_path / "b"))["findings"]
    assert {f["symptom"] for f in fewer} == {"data-differs-from-benchmark", "data-fewer-than-benchmark"}
