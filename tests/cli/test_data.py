"""diagnose data, and --data beside a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traindoctor.cli import main
from traindoctor.probes.dataset.manifest import Manifest

from ..probes.dataset._make import HEADER, csv, table

Captured = pytest.CaptureFixture[str]


def printed(capsys: Captured, *line: str, code: int = 0) -> str:
    assert main(line) == code
    return capsys.readouterr().out


def broken(root: Path) -> Path:
    rows = table(300)
    rows[7][1] = ""
    rows += rows[:60]
    csv(root / "train.csv", HEADER, rows)
    csv(root / "val.csv", HEADER, table(60, 1) + rows[:20])
    return root


def logged(root: Path) -> Path:
    """A run whose loss falls and then is NaN."""
    root.mkdir(parents=True, exist_ok=True)
    lines = []
    for step in range(200):
        loss = 2.0 * 0.99**step if step < 150 else float("nan")
        lines.append(json.dumps({"step": step, "loss": loss, "learning_rate": 1e-3}))
    (root / "log.jsonl").write_text("\n".join(lines))
    return root


def test_the_verdict_is_one_line_and_findings_come_worst_first(capsys: Captured, tmp_path: Path) -> None:
    first, *_ = printed(capsys, "data", str(broken(tmp_path))).splitlines()
    found = json.loads(printed(capsys, "data", str(tmp_path), "-f", "json"))

    assert first.startswith("3 findings: the same samples stand in training and evaluation")
    assert [f["symptom"] for f in found["findings"]] == [
        "duplicate-samples-across-splits",
        "data-missing-values",
        "data-duplicates",
    ]


def test_a_finding_says_where_why_and_what_to_do(capsys: Captured, tmp_path: Path) -> None:
    found = json.loads(printed(capsys, "data", str(broken(tmp_path)), "-f", "json"))
    missing = next(f for f in found["findings"] if f["symptom"] == "data-missing-values")

    assert missing["where"][0] == {"file": "train.csv", "row": 9}
    assert missing["cause"] == "data.missing-values"
    assert "NaN loss" in missing["matters"]
    assert any("Drop those samples" in do for do in missing["do"])


def test_sound_data_are_said_to_be_sound(capsys: Captured, tmp_path: Path) -> None:
    csv(tmp_path / "train.csv", HEADER, table(300))
    csv(tmp_path / "val.csv", HEADER, table(100, 1))

    said = printed(capsys, "data", str(tmp_path))

    assert said.startswith("Sound as far as")
    assert "Looked at and sound" not in said
    assert "Looked at and sound" in printed(capsys, "data", str(tmp_path), "--all")


def test_the_json_is_the_same_every_time(capsys: Captured, tmp_path: Path) -> None:
    broken(tmp_path)

    assert printed(capsys, "data", str(tmp_path), "-f", "json") == printed(
        capsys, "data", str(tmp_path), "-f", "json"
    )


def test_a_validation_split_elsewhere(capsys: Captured, tmp_path: Path) -> None:
    csv(tmp_path / "one" / "a.csv", HEADER, table(300))
    csv(tmp_path / "two" / "a.csv", HEADER, table(60, 1) + table(300)[:20])

    found = json.loads(
        printed(capsys, "data", str(tmp_path / "one"), "--validation", str(tmp_path / "two"), "-f", "json")
    )

    assert [f["symptom"] for f in found["findings"]] == ["duplicate-samples-across-splits"]


def test_lists_of_files_and_ranks_are_held_against_each_other(capsys: Captured, tmp_path: Path) -> None:
    csv(tmp_path / "train-00000-of-00002.csv", HEADER, table(60))
    for rank in range(2):
        (tmp_path / f"indices_rank{rank}.txt").write_text(
            "\n".join(map(str, range(40 * rank, 50 + 40 * rank)))
        )

    found = json.loads(printed(capsys, "data", str(tmp_path), "-f", "json"))

    assert {f["symptom"] for f in found["findings"]} == {"files-missing", "shards-overlap"}


def test_what_is_sampled_is_said(capsys: Captured, tmp_path: Path) -> None:
    csv(tmp_path / "train.csv", HEADER, table(9000))

    said = printed(capsys, "data", str(tmp_path), "--limit", "1000", "--seed", "7")

    assert "drawn with seed 7" in said
    assert "about " in said


def test_equal_batches_are_said_to_be_equal(capsys: Captured, tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "batch_0.npy", np.random.default_rng(0).normal(size=(8, 3, 8, 8)))

    said = printed(capsys, "data", str(tmp_path / "a"), "--benchmark", str(tmp_path / "b"))

    assert said.startswith("Equal to the benchmark’s within tolerance")
    assert "rtol 1e-05" in said


def test_batches_that_differ_name_the_cause(capsys: Captured, tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((8, 3, 16, 16))
    for side, values in (("a", x * 255), ("b", x)):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "batch_0.npy", values)

    said = printed(capsys, "data", str(tmp_path / "a"), "--benchmark", str(tmp_path / "b"), "-f", "markdown")

    assert "the division by 255 is missing here" in " ".join(said.split())


def test_how_batches_differ_comes_first_and_what_both_show_last(capsys: Captured, tmp_path: Path) -> None:
    """Boxes in pixels are unnormalised on both sides; other ids of one vocabulary are no other data set."""
    random = np.random.default_rng(0)
    boxes = np.cumsum(random.uniform(10, 90, (12, 3, 4)), axis=-1)
    ids = random.integers(5, 30, (12, 16))
    for side, ids_of_it in (("a", ids * 3 + 1), ("b", ids)):
        (tmp_path / side).mkdir()
        np.savez(tmp_path / side / "batch_0.npz", input_ids=ids_of_it, boxes=boxes)

    said = printed(capsys, "data", str(tmp_path / "a"), "--benchmark", str(tmp_path / "b"), "-f", "json")

    found = json.loads(said)["findings"]
    assert [f["symptom"] for f in found] == ["batches-ids-differ", "inputs-unnormalized"]
    assert "so do the benchmark's data" in found[1]["why"]


def test_what_follows_from_a_missing_division_is_no_finding_of_its_own(
    capsys: Captured, tmp_path: Path
) -> None:
    x = np.random.default_rng(0).random((8, 3, 16, 16))
    for side, values in (("a", x * 255), ("b", x)):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "batch_0.npy", values)

    said = printed(capsys, "data", str(tmp_path / "a"), "--benchmark", str(tmp_path / "b"), "-f", "json")

    assert [f["symptom"] for f in json.loads(said)["findings"]] == ["batches-scaled-differently"]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (["data", "nowhere"], 4, "No such file"),
        (["data", "empty"], 4, "nothing here that can be read as data"),
        (["data", "foreign"], 4, "train.h5: HDF5 is not read; batches dumped as .npy"),
        (["data", "one", "--benchmark", "nowhere"], 4, "benchmark nowhere"),
        (["data", "one", "--limit", "0"], 2, "at least one sample"),
        (["data", "one", "--seed", "-1"], 2, "0 or more"),
        (["data", "one", "-f", "html"], 2, "no such format"),
        (["data"], 2, "DATA"),
    ],
)
def test_errors(
    line: list[str], code: int, words: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "train.h5").write_bytes(b"\x89HDF")
    csv(tmp_path / "one" / "train.csv", HEADER, table(30))
    monkeypatch.chdir(tmp_path)

    assert main(line) == code
    assert words.lower() in capsys.readouterr().err.lower()


# --------------------------------------------------------------------------------------- beside a run


def cause(capsys: Captured, *line: str) -> tuple[dict[str, float], dict[str, str]]:
    found = json.loads(printed(capsys, *line, "-f", "json", "-q"))
    probabilities = {h["cause"]: h["probability"] for h in found["hypotheses"]}
    return probabilities, {f["symptom"]: f["state"] for f in found["findings"]}


def test_data_that_are_named_speak_for_their_cause(capsys: Captured, tmp_path: Path) -> None:
    run = logged(tmp_path / "run")
    before, _ = cause(capsys, str(run))
    rows = table(300)
    rows[7][1] = ""
    csv(tmp_path / "set" / "train.csv", HEADER, rows)

    after, states = cause(capsys, str(run), "--data", str(tmp_path / "set"))

    assert states["data-missing-values"] == "present"
    assert after["data.missing-values"] > before["data.missing-values"]
    assert after["data.missing-values"] == max(after.values())


def test_data_in_the_run_directory_are_found_and_are_no_log(capsys: Captured, tmp_path: Path) -> None:
    run = logged(tmp_path / "run")
    rows = table(300)
    rows[7][1] = ""
    csv(run / "data" / "train.csv", HEADER, rows)

    _, states = cause(capsys, str(run))
    found = json.loads(printed(capsys, str(run), "-f", "json", "-q"))

    assert states["data-missing-values"] == "present"
    assert "data/train.csv" not in json.dumps(found["run"]["formats"])
    assert found["run"]["steps"] == 199


def test_a_manifest_in_the_run_directory_is_found(capsys: Captured, tmp_path: Path) -> None:
    """It is a list of what a rank reads, and tells the order over epochs as well."""
    run = logged(tmp_path / "run")
    for rank in range(2):
        with Manifest(run / f"manifest.rank{rank}.jsonl", split="train", rank=rank) as manifest:
            for epoch in range(2):
                for i in range(rank, 100, 2):
                    manifest.add(id=i, epoch=epoch)

    _, states = cause(capsys, str(run))

    assert states["epochs-in-same-order"] == "present"
    assert states["shards-overlap"] == "absent"


def test_samples_with_a_step_and_a_score_are_no_log(capsys: Captured, tmp_path: Path) -> None:
    """Tables in a folder of data whose columns sound like a log's, and say what each row is about."""
    run = logged(tmp_path / "run")
    csv(
        run / "data" / "walks.csv",
        ("step", "calories", "score", "label"),
        [[i, 2 * i, i % 7, i % 3] for i in range(90)],
    )
    rows = [{"id": i, "prompt": f"question {i}", "score": i % 5, "reward": i / 90} for i in range(90)]
    (run / "data" / "rated.jsonl").write_text("\n".join(map(json.dumps, rows)))

    found = json.loads(printed(capsys, str(run), "-f", "json", "-q"))

    assert found["run"]["files_read"] == ["log.jsonl"]
    assert found["run"]["notes"] == []


@pytest.mark.parametrize("name", ["metrics.csv", "train.csv", "data/train.csv", "training.csv"])
def test_a_log_in_a_table_is_no_data(name: str, capsys: Captured, tmp_path: Path) -> None:
    csv(
        tmp_path / "run" / name,
        ("epoch", "train_loss", "val_loss", "accuracy"),
        [[i, 2 * 0.9**i, 2.1 * 0.9**i, 1 - 0.9**i] for i in range(40)],
    )

    _, states = cause(capsys, str(tmp_path / "run"))

    assert {s for k, s in states.items() if k.startswith("data-")} == {"unknown"}


def test_sound_data_alarm_nobody(capsys: Captured, tmp_path: Path) -> None:
    """A healthy run with its data beside it stays healthy."""
    run = tmp_path / "run"
    run.mkdir()
    random = np.random.default_rng(0)
    loss = 0.3 + 2 * np.exp(-np.arange(300) / 40) + 0.02 * random.normal(size=300)
    rows = [{"step": i, "loss": float(v), "learning_rate": 1e-3} for i, v in enumerate(loss)]
    (run / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    csv(run / "data" / "train.csv", HEADER, table(2000))
    csv(run / "data" / "val.csv", HEADER, table(300, 1))

    probabilities, _ = cause(capsys, str(run))

    assert max(probabilities.values()) < 0.5


@pytest.mark.parametrize("command", [[], ["checklist"], ["workflow"], ["gate"]])
def test_every_command_takes_data(command: list[str], capsys: Captured, tmp_path: Path) -> None:
    run = logged(tmp_path / "run")
    csv(tmp_path / "set" / "train.csv", HEADER, table(30))

    assert main([*command, str(run), "--data", str(tmp_path / "set"), "-q"]) in (0, 1, 3)
    assert main([*command, str(run), "--data", str(tmp_path / "nowhere"), "-q"]) == 4
