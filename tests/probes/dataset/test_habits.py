"""What is usual in sound data and must not alarm, and layouts of files as people have them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.measure import measure

from ._make import HEADER, csv, example, png, reading, record, table
from ._sets import flac, hours, wav

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


def test_few_values_in_few_columns_repeat_by_chance(tmp_path: Path) -> None:
    """Answers to five questions are equal now and then; measurements of six columns are not."""
    random = np.random.default_rng(0)
    csv(
        tmp_path / "asked" / "train.csv",
        ("q1", "q2", "q3", "q4", "q5", "label"),
        random.integers(0, 4, (900, 6)).tolist(),
    )
    assert reading("data-duplicates", tmp_path / "asked").state is U

    rows = random.integers(0, 200, (300, 6)).tolist()
    csv(tmp_path / "counted" / "train.csv", ("a", "b", "c", "d", "e", "label"), rows + rows[:100])
    assert reading("data-duplicates", tmp_path / "counted").state is P


def test_ratings_repeat_without_who_and_what(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [[i // 10, i % 97, int(r)] for i, r in enumerate(random.integers(1, 6, 900))]
    csv(tmp_path / "train.csv", ("user_id", "item_id", "rating"), rows)

    assert reading("data-duplicates", tmp_path).state is U


def test_heavy_tails_have_no_outliers(tmp_path: Path) -> None:
    """Incomes and clicks go far out without a gap; a value of another unit stands alone."""
    random = np.random.default_rng(0)
    tails = np.stack([np.exp(random.normal(3, 1.7, 2000)), random.pareto(1.1, 2000) * 100], axis=1)
    csv(tmp_path / "tails" / "train.csv", ("amount", "views"), np.round(tails, 3).tolist())
    assert reading("data-outliers", tmp_path / "tails").state is A

    heights = np.round(random.normal(170, 8, (2000, 1)), 1)
    heights[[7, 90, 800]] *= 1000
    csv(
        tmp_path / "heights" / "train.csv",
        ("height", "a"),
        [[float(h[0]), i % 7] for i, h in enumerate(heights)],
    )
    assert reading("data-outliers", tmp_path / "heights").state is P


def test_a_frequent_short_text_is_no_leak(tmp_path: Path) -> None:
    for name, n in (("train", 400), ("val", 100)):
        rows = [["Good." if i % 20 == 0 else f"{name} says {i} things", i % 2] for i in range(n)]
        rows += [["Good.", 1]]
        csv(tmp_path / f"{name}.csv", ("text", "label"), rows)

    assert reading("duplicate-samples-across-splits", tmp_path).state is U
    assert reading("data-labels-contradict", tmp_path).state is A


def test_a_later_time_drifts(tmp_path: Path) -> None:
    """What was measured later lies elsewhere; that is no other scaling."""
    rows = [[t, round(0.5 * i + float(v), 2)] for i, (t, v) in enumerate(hours())]
    csv(tmp_path / "train.csv", ("timestamp", "load"), rows[:450])
    csv(tmp_path / "val.csv", ("timestamp", "load"), rows[450:])

    assert reading("splits-scaled-differently", tmp_path).state is U


def test_numbers_of_rows_have_no_scale(tmp_path: Path) -> None:
    for name, start in (("train", 1), ("val", 901)):
        rows = [[start + i, *r] for i, r in enumerate(table(300, start))]
        csv(tmp_path / f"{name}.csv", ("PassengerId", *HEADER), rows)

    assert reading("splits-scaled-differently", tmp_path).state is A


def test_labels_that_are_none_are_no_small_class(tmp_path: Path) -> None:
    rows = [[*r[:3], -1 if i < 2 else 57 if i < 4 else r[3]] for i, r in enumerate(table(300))]
    csv(tmp_path / "train.csv", HEADER, rows)

    assert reading("labels-out-of-range-in-data", tmp_path).state is P
    assert reading("classes-unbalanced-in-data", tmp_path).state is A


def test_one_bad_row_does_not_make_a_sample(tmp_path: Path) -> None:
    csv(tmp_path / "train.csv", HEADER, [*table(300), [1, 2]])
    csv(tmp_path / "val.csv", HEADER, table(100, 1))

    assert measure(tmp_path).of("train")[0].whole
    assert reading("duplicate-samples-across-splits", tmp_path).state is A


def test_one_file_of_all_splits(tmp_path: Path) -> None:
    """A column names the split; what is in both parts, scaled apart or sorted is told as of two files."""
    train, val = table(300, 0), table(100, 1)
    rows = [[*r, "train"] for r in sorted(train, key=lambda r: str(r[3]))]
    rows += [[*r, "val"] for r in [*val, *train[:30]]]
    csv(tmp_path / "all.csv", (*HEADER, "split"), rows)

    parts = {p.split: p.rows for p in measure(tmp_path).parts}
    assert parts == {"train": 300, "eval": 130}
    assert reading("duplicate-samples-across-splits", tmp_path).state is P
    assert reading("data-sorted-by-class", tmp_path).state is P

    csv(tmp_path / "no" / "all.csv", (*HEADER, "set"), [[*r, "blue"] for r in train])
    assert [p.split for p in measure(tmp_path / "no").parts] == [""]


def test_decimal_commas(tmp_path: Path) -> None:
    """As Excel writes it in half of Europe: semicolons between numbers like 1,5."""
    rows = [";".join(str(c).replace(".", ",") for c in r) for r in table(300)]
    rows[7] = ";" + rows[7].partition(";")[2]
    (tmp_path / "train.csv").write_text("a;b;c;label\n" + "\n".join(rows) + "\n")

    found = reading("data-missing-values", tmp_path)

    assert found.state is P
    assert found.value == 1


def test_folders_decide_for_pictures(tmp_path: Path) -> None:
    """A copy that keeps its name train_7.png is of the folder in which it lies."""
    for split, start in (("train", 0), ("val", 30)):
        for i in range(start, start + 30):
            file = tmp_path / split / "ab"[i % 2] / f"{split}_{i}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(png(body=i.to_bytes(2, "big")))
    for i in range(5):
        file = tmp_path / "train" / "ab"[i % 2] / f"train_{i}.png"
        (tmp_path / "val" / "ab"[i % 2] / file.name).write_bytes(file.read_bytes())

    assert reading("duplicate-samples-across-splits", tmp_path).state is P


def test_one_picture_in_two_classes(tmp_path: Path) -> None:
    for i in range(60):
        file = tmp_path / "train" / "ab"[i % 2] / f"{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(png(body=i.to_bytes(2, "big")))
    assert reading("data-labels-contradict", tmp_path).state is A

    for i in range(0, 8, 2):
        (tmp_path / "train" / "b" / f"copy{i}.png").write_bytes(
            (tmp_path / "train" / "a" / f"{i}.png").read_bytes()
        )
    assert reading("data-labels-contradict", tmp_path).state is P


@pytest.mark.parametrize(("who", "expected"), [("worker_id", U), ("rater_id", U), ("row_id", P)])
def test_several_who_label_one_sample(who: str, expected: State, tmp_path: Path) -> None:
    """They disagree by design, and the table says who said what."""
    random = np.random.default_rng(0)
    rows = [
        [f"{n} words of sample {n * 7919}", 3 * n + k, int(random.integers(2))]
        for n in range(120)
        for k in range(3)
    ]
    csv(tmp_path / "train.csv", ("text", who, "label"), rows)

    assert reading("data-labels-contradict", tmp_path).state is expected


def test_patients_in_names_of_files(tmp_path: Path) -> None:
    for i in range(120):
        split = "val" if i % 4 == 0 else "train"
        file = tmp_path / split / "ab"[i % 2] / f"patient{i % 40:03d}_slice{i:04d}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(png(body=i.to_bytes(2, "big")))

    assert reading("groups-across-splits", tmp_path).state is A

    for i in range(0, 40, 2):
        file = tmp_path / "val" / "a" / f"patient{i + 1:03d}_slice{900 + i}.png"
        file.write_bytes(png(body=(900 + i).to_bytes(2, "big")))
    assert reading("groups-across-splits", tmp_path).state is P


def test_records_in_shards_without_an_ending(tmp_path: Path) -> None:
    """train-00000-of-00002, as tensorflow_datasets and many scripts write them."""
    for at in range(2):
        records = [record(example({"x": [float(i), 0.5], "label": [i % 2]})) for i in range(60)]
        (tmp_path / f"train-{at:05d}-of-00002").write_bytes(b"".join(records))

    (part,) = measure(tmp_path).parts
    assert (part.format, part.rows) == ("TFRecord", 120)


def test_flac_is_read_and_its_rate_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for i in range(20):
        (tmp_path / "a" / f"{i}.flac").write_bytes(flac(rate=8000 if i < 3 else 16000) + bytes([i]))

    found = reading("recordings-mixed", tmp_path)

    assert found.state is P
    assert "3 of 8000 Hz" in found.why


def test_silent_recordings_are_not_one_sample(tmp_path: Path) -> None:
    for split in ("train", "val"):
        for i in range(20):
            wav(
                tmp_path / split / "ab"[i % 2] / f"{i}.wav", i + 100 * (split == "val"), loud=3000.0 * (i > 3)
            )

    assert reading("duplicate-samples-across-splits", tmp_path).state is A


def test_ids_of_tokens_are_what_a_sample_holds(tmp_path: Path) -> None:
    """Rows of token ids and masks are told apart by their ids."""
    random = np.random.default_rng(0)
    for name in ("train", "val"):
        rows = [
            {"input_ids": random.integers(0, 900, 12).tolist(), "attention_mask": [1] * 12} for _ in range(80)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))

    assert reading("data-duplicates", tmp_path).state is A
    assert reading("duplicate-samples-across-splits", tmp_path).state is A


def test_a_manifest_without_end_is_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was cut is not called damaged, a short epoch or a gap between ranks."""
    from traindoctor.probes.dataset import lists

    for rank in range(2):
        rows = [
            {"id": 2 * i + rank, "label": 0, "epoch": e, "rank": rank} for e in range(3) for i in range(100)
        ]
        (tmp_path / f"manifest.rank{rank}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert reading("shards-overlap", tmp_path).state is A
    assert reading("epochs-in-same-order", tmp_path).state is P

    monkeypatch.setattr(lists, "MOST_ENTRIES", 250)
    assert reading("shards-overlap", tmp_path).state is U
    assert reading("epochs-in-same-order", tmp_path).state is P
    assert any("first 250 entries" in n for n in measure(tmp_path).notes)

    monkeypatch.setattr(lists, "MOST_TEXT", 3000)
    assert reading("data-unreadable", tmp_path).state is A
    assert reading("epochs-in-same-order", tmp_path).state is U


def test_a_text_that_is_all_there_is_may_not_be_empty(tmp_path: Path) -> None:
    """Every seventh review has no text; an optional input beside an instruction is another thing."""
    rows = [["" if i % 7 == 0 else f"review {i}", i % 2] for i in range(300)]
    csv(tmp_path / "alone" / "train.csv", ("text", "label"), rows)
    rows = [[f"do {i}", *r] for i, r in enumerate(rows)]
    csv(tmp_path / "beside" / "train.csv", ("instruction", "input", "label"), rows)

    assert reading("data-missing-values", tmp_path / "alone").state is P
    assert reading("data-missing-values", tmp_path / "beside").state is A


@pytest.mark.parametrize(
    ("column", "each", "state"), [("output", 3, P), ("input", 1, A), ("output", 250, A), ("output", 400, A)]
)
def test_answers_may_not_be_empty(tmp_path: Path, column: str, each: int, state: State) -> None:
    """Samples without an answer teach to say nothing; an optional input beside the instruction is usual."""
    rows = [
        {"instruction": f"Where is order {i * 13}?", "input": "", "output": f"In depot {i % 17}, since {i}."}
        for i in range(300)
    ]
    rows = [{**row, column: ""} if i % each == 1 else row for i, row in enumerate(rows)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert reading("data-answers-missing", tmp_path).state is state


@pytest.mark.parametrize(("each", "state"), [(1, P), (4, P), (100, A), (1000, A)])
def test_pairs_of_one_answer(tmp_path: Path, each: int, state: State) -> None:
    """A pair whose two answers are one teaches nothing; a few of them are no matter."""
    rows = [
        {
            "prompt": f"What is {i} + 2?",
            "chosen": f"{i + 2}.",
            "rejected": f"{i + (2 if i % each == 0 else 3)}.",
        }
        for i in range(1, 400)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert reading("pairs-equal", tmp_path).state is state


def test_a_column_that_numbers_the_rows_has_no_scale(tmp_path: Path) -> None:
    """Whatever it is called; and rows that repeat repeat without it."""
    rows = table(400)
    numbered = [[5000 + i, *r] for i, r in enumerate(rows)]
    csv(tmp_path / "sound" / "train.csv", ("kunde", *HEADER), numbered[:300])
    csv(tmp_path / "sound" / "test.csv", ("kunde", *HEADER), numbered[300:])
    twice = [[5000 + i, *r] for i, r in enumerate(rows[:300] + rows[:90])]
    csv(tmp_path / "twice" / "train.csv", ("kunde", *HEADER), twice)

    assert reading("splits-scaled-differently", tmp_path / "sound").state is A
    assert reading("data-duplicates", tmp_path / "twice").state is P


def machines(path: Path, numbers: range, cycles: range, name: str = "machine_id") -> None:
    """Machines one after the other; some fail for their last cycles."""
    random = np.random.default_rng(numbers.start)
    rows = [
        [f"m{m}", t, round(float(random.normal(40 + m, 1)), 3), int(m % 4 == 1 and t >= 50)]
        for m in numbers
        for t in cycles
    ]
    csv(path, (name, "cycle", "heat", "label"), rows)


def test_rows_machine_by_machine(tmp_path: Path) -> None:
    """Labels that come back with each machine are no order of classes; a machine belongs to one split."""
    machines(tmp_path / "parted" / "train.csv", range(12), range(60))
    machines(tmp_path / "parted" / "test.csv", range(12, 24), range(60))
    machines(tmp_path / "met" / "train.csv", range(12), range(60))
    machines(tmp_path / "met" / "test.csv", range(12), range(60))
    machines(tmp_path / "later" / "train.csv", range(12), range(60))
    machines(tmp_path / "later" / "test.csv", range(12), range(60, 90))

    assert reading("data-sorted-by-class", tmp_path / "parted").state is U
    assert reading("groups-across-splits", tmp_path / "parted").state is A
    assert reading("groups-across-splits", tmp_path / "met").state is P
    assert reading("groups-across-splits", tmp_path / "later").state is U
