"""Layouts of sound sets as they are handed round, beside the faults that resemble them."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np

from traindoctor.engine.model import State
from traindoctor.probes.dataset.measure import measure

from ._make import HEADER, csv, example, png, reading, record, table

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


def picture(path: Path, colour: int = 2) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(colour=colour, body=str(path).encode()))


def volumes(root: Path, labels: np.ndarray) -> Path:
    random = np.random.default_rng(0)
    root.mkdir()
    for i in range(30):
        image = random.normal(size=(4, 12, 12)).astype(np.float32)
        np.savez(root / f"case_{i:03d}.npz", image=image, label=labels[i])
    return root


def test_labels_of_voxels_are_no_classes_of_samples(tmp_path: Path) -> None:
    """A small organ is a small share of all voxels, and its voxels lie together."""
    maps = np.zeros((30, 4, 12, 12), np.uint8)
    maps[:, 1, 4:7, 4:7] = 1
    root = volumes(tmp_path / "maps", maps)
    assert reading("classes-unbalanced-in-data", root).state is U
    assert reading("data-sorted-by-class", root).state is U

    root = volumes(tmp_path / "classes", np.repeat([0, 1], [15, 15])[:, None].repeat(20, 1))
    assert reading("data-sorted-by-class", root).state is P


def test_labels_of_pixels_beside_one_picture_each(tmp_path: Path) -> None:
    for i in range(30):
        mask = np.zeros((20, 20), np.uint8)
        mask[4:7, i % 10 : i % 10 + 3] = 1
        np.savez(
            tmp_path / f"slice_{i}.npz", image=np.random.default_rng(i).normal(size=(20, 20)), label=mask
        )

    assert reading("classes-unbalanced-in-data", tmp_path).state is U


def test_a_disparity_beside_each_picture(tmp_path: Path) -> None:
    """Folders of the same names hold another thing of each sample; one that is mixed in itself is odd."""
    for i in range(20):
        picture(tmp_path / "kitti" / "training" / "image_2" / f"{i:06d}.png")
        picture(tmp_path / "kitti" / "training" / "disp_occ_0" / f"{i:06d}.png", colour=0)
        picture(tmp_path / "pets" / "cat" / f"{i}.png")
        picture(tmp_path / "pets" / "dog" / f"{i}.png", colour=0 if i < 5 else 2)

    assert reading("image-channels-mixed", tmp_path / "kitti").state is A
    assert reading("image-channels-mixed", tmp_path / "pets").state is P


def test_folders_of_clips_are_no_classes(tmp_path: Path) -> None:
    for i in range(12):
        for t in range(6):
            picture(tmp_path / "clips" / ("train" if i < 9 else "val") / f"video_{i:03d}" / f"{t}.png")
            kind = "oak" if i < 9 else "elm"
            picture(
                tmp_path / "trees" / ("train" if i < 9 else "val") / f"{kind}_{'ab'[i % 2]}" / f"{i}{t}.png"
            )

    assert reading("classes-unseen-in-training", tmp_path / "clips").state is U
    assert reading("classes-unseen-in-training", tmp_path / "trees").state is P


def test_pixels_at_the_border_lie_apart_by_chance(tmp_path: Path) -> None:
    """Few of many columns alike; where many of them do, the scale is another one."""
    random = np.random.default_rng(0)
    names = [f"pixel{i}" for i in range(40)]
    train, val = random.normal(100, 30, (300, 40)), random.normal(100, 30, (120, 40))
    train[:, 3], val[:, 3] = random.normal(0, 0.1, 300), random.normal(0, 2, 120)
    csv(tmp_path / "border" / "train.csv", names, np.round(train, 2).tolist())
    csv(tmp_path / "border" / "val.csv", names, np.round(val, 2).tolist())
    assert reading("splits-scaled-differently", tmp_path / "border").state is U

    csv(tmp_path / "scaled" / "train.csv", names, np.round(train, 2).tolist())
    csv(tmp_path / "scaled" / "val.csv", names, np.round(val / 255, 4).tolist())
    assert reading("splits-scaled-differently", tmp_path / "scaled").state is P


def test_a_form_for_predictions_is_no_data(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [
        [i, round(float(v), 3), round(float(v * 2 + w), 3)]
        for i, (v, w) in enumerate(random.normal(size=(200, 2)))
    ]
    csv(tmp_path / "train.csv", ("Id", "area", "price"), rows)
    csv(tmp_path / "sample_submission.csv", ("Id", "price"), [[i, 1.5] for i in range(200, 400)])

    assert reading("data-columns-constant", tmp_path).state is A


def test_one_measured_value_repeats(tmp_path: Path) -> None:
    """A series of one rounded value has equal rows; a text that stands twice was put in twice."""
    random = np.random.default_rng(0)
    rows = [
        [f"2020-{1 + i // 28:02d}-{1 + i % 28:02d}", round(float(v), 1)]
        for i, v in enumerate(random.normal(50, 9, 330))
    ]
    csv(tmp_path / "sales" / "sales.csv", ("date", "sales"), rows)
    assert reading("data-duplicates", tmp_path / "sales").state is A  # no day stands twice

    texts = [[f"text number {i}"] for i in range(300)]
    csv(tmp_path / "texts" / "train.csv", ("text",), texts + texts[:100])
    assert reading("data-duplicates", tmp_path / "texts").state is P


def test_unix_times_have_no_scale(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [[1_500_000_000 + 3600 * i, round(float(v), 2)] for i, v in enumerate(random.normal(5, 1, 900))]
    csv(tmp_path / "test.csv", ("unix", "load"), rows[:200])
    csv(tmp_path / "train.csv", ("unix", "load"), rows[200:])

    assert reading("splits-scaled-differently", tmp_path).state is not P
    assert reading("series-split-by-chance", tmp_path).state is P


def test_links_to_files_that_are_not_there(tmp_path: Path) -> None:
    for i in range(12):
        picture(tmp_path / "train" / "ab"[i % 2] / f"{i}.png")
    (tmp_path / "latest").symlink_to(tmp_path / "nowhere")
    assert reading("files-missing", tmp_path).state is not P

    for i in range(3):
        (tmp_path / "train" / "a" / f"more{i}.JPEG").symlink_to(f"/nowhere/imagenet/more{i}.JPEG")
    found = reading("files-missing", tmp_path)
    assert found.state is P
    assert "3 links lead to files that are not there" in found.why


def test_sizes_of_masks_where_few_pictures_have_one(tmp_path: Path) -> None:
    """Pascal VOC draws the objects of some pictures alone."""
    for name, width in (("sound", 8), ("turned", 6)):
        for i in range(30):
            picture(tmp_path / name / "JPEGImages" / f"{i}.png")
            if i % 4 == 0:
                mask = tmp_path / name / "SegmentationClass" / f"{i}.png"
                mask.parent.mkdir(exist_ok=True)
                mask.write_bytes(png(width, 8, 3))

    assert reading("masks-unlike-images", tmp_path / "sound").state is A
    found = reading("masks-unlike-images", tmp_path / "turned")
    assert found.state is P
    assert "without" not in found.why


def test_decimals_written_in_two_ways(tmp_path: Path) -> None:
    values = [f"{v:.2f}" for v in np.random.default_rng(0).normal(50, 9, 400)]
    mixed = [v.replace(".", ",") if i % 3 == 0 else v for i, v in enumerate(values)]
    for name, some in (("points", values), ("mixed", mixed)):
        csv(tmp_path / name / "train.csv", ("a", "b"), [[f'"{v}"', i % 7] for i, v in enumerate(some)])
    lists = [[f'"{i % 5},{i % 3}"', i % 7] for i in range(400)]
    csv(tmp_path / "lists" / "train.csv", ("a", "b"), lists)

    assert reading("data-words-among-numbers", tmp_path / "points").state is A
    assert "in two ways" in reading("data-words-among-numbers", tmp_path / "mixed").why
    assert reading("data-words-among-numbers", tmp_path / "lists").state is A


def test_ratings_of_one_time_in_two_splits(tmp_path: Path) -> None:
    """Who, what and when together are not equal by chance; who and what may be (bought again)."""
    random = np.random.default_rng(0)
    rows = [
        [i // 10, i % 97, int(r), 900_000_000 + 71 * i] for i, r in enumerate(random.integers(1, 6, 1200))
    ]
    header = ("user_id", "item_id", "rating", "timestamp")
    for name, held in (("sound", rows[900:]), ("leak", rows[900:] + rows[:60])):
        csv(tmp_path / name / "train.csv", header, rows[:900])
        csv(tmp_path / name / "test.csv", header, held)

    assert reading("duplicate-samples-across-splits", tmp_path / "sound").state is not P
    assert "60 of 360" in reading("duplicate-samples-across-splits", tmp_path / "leak").why


def test_recordings_of_another_gain(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for name, gain in (("sound", 0.5), ("quiet", 0.02)):
        for split, count, loud in (("train", 40, 1.0), ("val", 24, gain)):
            for i in range(count):
                path = tmp_path / name / split / "ab"[i % 2] / f"{split}{i}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                values = random.normal(0, 6000 * loud * random.uniform(0.5, 1), 4000).astype("<i2")
                with wave.open(str(path), "wb") as sound:
                    sound.setnchannels(1)
                    sound.setsampwidth(2)
                    sound.setframerate(16000)
                    sound.writeframes(values.tobytes())

    assert reading("splits-scaled-differently", tmp_path / "sound").state is not P
    assert "level of a recording" in reading("splits-scaled-differently", tmp_path / "quiet").why


def test_a_column_of_two_values_has_no_scale(tmp_path: Path) -> None:
    """Its median and quartiles leap where the share of the one passes a quarter."""
    random = np.random.default_rng(0)
    for split, share in (("train", 0.3), ("test", 0.2)):
        rows = [[f"text {split} {i}", int(random.random() < share)] for i in range(400)]
        csv(tmp_path / f"{split}.csv", ["note", "readmitted"], rows)

    assert reading("splits-scaled-differently", tmp_path).state is not P


def test_labels_as_contests_call_them(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [
        [round(float(v), 3), 17 if v + w > 0 else 4, int(v + w > 0)] for v, w in random.normal(size=(300, 2))
    ]
    csv(tmp_path / "train.csv", ("Fare", "code", "Survived"), rows)

    assert reading("data-column-is-label", tmp_path).state is P


def test_a_class_that_evaluation_lacks(tmp_path: Path) -> None:
    """One of four is gone; rare ones may be, and classes that are all new are meant."""
    for name, held in (("sound", "abcd"), ("gone", "abc"), ("new", "efgh"), ("one", "a")):
        for kind in "abcdr":
            for i in range(40 if kind != "r" else 2):
                picture(tmp_path / name / "train" / f"{kind}{kind}" / f"{i}.png")
        for kind in held:
            for i in range(15):
                picture(tmp_path / name / "val" / f"{kind}{kind}" / f"{i}v.png")

    absence = "classes-absent-from-evaluation"
    assert reading(absence, tmp_path / "sound").state is A
    found = reading(absence, tmp_path / "gone")
    assert found.state is P
    assert "(dd)" in found.why
    assert reading(absence, tmp_path / "new").state is U
    assert reading(absence, tmp_path / "one").state is not P


def test_forms_that_are_not_read_are_named(tmp_path: Path) -> None:
    csv(tmp_path / "train.csv", ("a", "b"), [[i, i % 3] for i in range(60)])
    for name in ("features.h5", "more.h5", "scan.nii.gz"):
        (tmp_path / name).write_bytes(b"x")

    notes = measure(tmp_path).notes
    assert any(n.startswith("features.h5 and 1 more: HDF5 is not read") for n in notes)
    assert any("NIfTI is not read" in n for n in notes)
    assert reading("data-unreadable", tmp_path).state is A


def test_the_label_is_what_the_test_file_lacks(tmp_path: Path) -> None:
    """Kaggle: no name tells it, but the test file, or the form to hand predictions in with."""
    rows = sorted(([i, i * 7919 % 101, i * 104729 % 89, i % 2] for i in range(300)), key=lambda r: r[3])
    names = ("id", "width", "height", "stroke_risk")
    for where in ("lacks", "form"):
        csv(tmp_path / where / "train.csv", names, rows)
    csv(tmp_path / "lacks" / "test.csv", names[:3], [r[:3] for r in rows[:50]])
    csv(tmp_path / "form" / "sample_submission.csv", ("id", "stroke_risk"), [[r[0], 0] for r in rows[:50]])
    csv(tmp_path / "two" / "train.csv", names, rows)
    csv(tmp_path / "two" / "test.csv", names[:2], [r[:2] for r in rows[:50]])

    assert reading("data-sorted-by-class", tmp_path / "lacks").state is P
    assert reading("data-sorted-by-class", tmp_path / "form").state is P
    assert reading("data-sorted-by-class", tmp_path / "two").state is U


def test_decimals_in_two_ways_beside_semicolons(tmp_path: Path) -> None:
    for where, every in (("all", 1), ("some", 10), ("none", 1000)):
        lines = ["a;b;label"]
        for i in range(1, 400):
            number = f"{i / 7:.3f}"
            lines.append(f"{number.replace('.', ',') if i % every == 0 else number};{i % 9};{i % 2}")
        (tmp_path / where).mkdir()
        (tmp_path / where / "train.csv").write_text("\n".join(lines) + "\n")

    assert reading("data-words-among-numbers", tmp_path / "all").state is A
    assert "in two ways" in reading("data-words-among-numbers", tmp_path / "some").why
    assert reading("data-words-among-numbers", tmp_path / "none").state is A


def test_numbered_shards_of_which_one_is_gone(tmp_path: Path) -> None:
    """Shards 0 to 6 without 3; two that were picked from a large set are no gap."""
    for where, numbers in (("gap", (0, 1, 2, 4, 5, 6)), ("all", range(7)), ("few", (7, 40, 41, 42, 90))):
        for k in numbers:
            file = tmp_path / where / f"train-{k:06d}.tfrecord"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(record(example({"x": [float(k)], "label": [k % 2]})))

    assert "number 3 of 0 to 6" in reading("files-missing", tmp_path / "gap").why
    assert reading("files-missing", tmp_path / "all").state is not P
    assert reading("files-missing", tmp_path / "few").state is not P


def test_recordings_that_two_manifests_name(tmp_path: Path) -> None:
    """Stretches of one recording are samples of their own."""
    for where, first, offset in (("sound", 60, 0), ("leaky", 40, 0), ("cut", 40, 5)):
        for split, start, n in (("train", 0, 60), ("val", first, 30)):
            lines = [
                json.dumps(
                    {
                        "audio_filepath": f"a{i}.wav",
                        "offset": offset if split == "val" else 0,
                        "duration": 2.0,
                        "text": f"say {i}",
                    }
                )
                for i in range(start, start + n)
            ]
            (tmp_path / where).mkdir(exist_ok=True)
            (tmp_path / where / f"{split}_manifest.json").write_text("\n".join(lines) + "\n")

    assert reading("duplicate-samples-across-splits", tmp_path / "sound").state is A
    assert "20 of 30" in reading("duplicate-samples-across-splits", tmp_path / "leaky").why
    assert reading("duplicate-samples-across-splits", tmp_path / "cut").state is A


def test_the_benchmarks_samples_with_other_labels(tmp_path: Path) -> None:
    rows = table(200)
    csv(tmp_path / "mine" / "train.csv", HEADER, [[*r[:3], 1 - int(str(r[3]))] for r in rows])
    csv(tmp_path / "other" / "train.csv", HEADER, rows)

    found = reading("data-differs-from-benchmark", tmp_path / "mine", tmp_path / "other")

    assert "have another label" in found.why


def test_pointers_in_place_of_recordings_are_no_copies(tmp_path: Path) -> None:
    for split in ("train", "val"):
        for i in range(12):
            file = tmp_path / split / f"{split}{i}.wav"
            file.parent.mkdir(exist_ok=True)
            file.write_text("version https://git-lfs.github.com/spec/v1\n")

    assert reading("data-unreadable", tmp_path).state is P
    assert reading("duplicate-samples-across-splits", tmp_path).state is not P
