"""Samples in tar files, files that a table names, and boxes of Pascal VOC and YOLO."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.measure import measure

from ._make import csv, png, reading

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Members = Mapping[str, bytes]


def tar(
    path: Path, samples: int, start: int = 0, edit: Callable[[int, Members], Members] = lambda _, m: m
) -> None:
    """A shard of WebDataset: a picture and its class for each sample."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as out:
        for i in range(start, start + samples):
            parts = edit(i, {"png": png(body=i.to_bytes(3, "big")), "cls": str(i * 7 % 5 % 2).encode()})
            for ending, data in parts.items():
                one = tarfile.TarInfo(f"{i:06d}.{ending}")
                one.size = len(data)
                out.addfile(one, io.BytesIO(data))


def test_tar_files_of_samples(tmp_path: Path) -> None:
    for shard in range(2):
        tar(tmp_path / f"train-{shard:06d}.tar", 60, 60 * shard)
    tar(tmp_path / "val-000000.tar", 40, 110)

    parts = {p.split: p for p in measure(tmp_path).parts}

    assert {s: (p.format, p.rows) for s, p in parts.items()} == {
        "train": ("WebDataset", 120),
        "eval": ("WebDataset", 40),
    }
    labels = parts["train"].labels
    assert labels is not None
    assert set(labels.counts) == {"0", "1"}
    assert reading("data-unreadable", tmp_path).state is A
    assert reading("duplicate-samples-across-splits", tmp_path).value == pytest.approx(0.25)
    assert reading("data-duplicates", tmp_path).state is A


def test_tar_files_that_are_damaged(tmp_path: Path) -> None:
    tar(tmp_path / "cut" / "train-000000.tar", 60)
    file = tmp_path / "cut" / "train-000000.tar"
    file.write_bytes(file.read_bytes()[:40_000])
    tar(tmp_path / "lack" / "train.tar", 60, edit=lambda i, m: {"png": m["png"]} if i % 20 == 3 else m)
    tar(
        tmp_path / "picture" / "train.tar",
        60,
        edit=lambda i, m: {**m, "png": m["png"][: 20 if i == 9 else 999]},
    )

    for name, said in (("cut", "cut off"), ("lack", "has no .cls"), ("picture", "sample 10: png")):
        found = reading("data-unreadable", tmp_path / name)
        assert found.state is P
        assert said in found.why


def test_an_archive_is_no_set_of_samples(tmp_path: Path) -> None:
    """Pictures that were packed as they lay: one part each."""
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    with tarfile.open(tmp_path / "images.tar", "w") as out:
        for i in range(30):
            out.addfile(tarfile.TarInfo(f"images/{i}.png"), io.BytesIO(b""))

    assert [p.format for p in measure(tmp_path).parts] == ["CSV"]


def pictures(root: Path, count: int = 60) -> None:
    (root / "images").mkdir(parents=True)
    for i in range(count):
        (root / "images" / f"{i:03d}.png").write_bytes(png(64, 64, body=i.to_bytes(2, "big")))


@pytest.mark.parametrize("ending", [".png", ""])
def test_files_that_a_table_names(ending: str, tmp_path: Path) -> None:
    pictures(tmp_path)
    rows = [[f"{i:03d}{ending}", i % 2] for i in range(60)]
    csv(tmp_path / "labels.csv", ("image", "label"), rows)
    assert reading("files-missing", tmp_path).state is A

    csv(tmp_path / "labels.csv", ("image", "label"), [*rows, [f"900{ending}", 0], [f"901{ending}", 1]])
    found = reading("files-missing", tmp_path)
    assert found.state is P
    assert found.value == 2

    csv(tmp_path / "labels.csv", ("image", "label"), [[f"elsewhere_{i}{ending}", 0] for i in range(60)])
    assert reading("files-missing", tmp_path).state is U


def voc(root: Path, box: Callable[[int], tuple[int, int, int, int]]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for i in range(60):
        corners = zip(("xmin", "ymin", "xmax", "ymax"), box(i), strict=True)
        inside = "".join(f"<{n}>{v}</{n}>" for n, v in corners)
        (root / f"{i:03d}.xml").write_text(
            "<annotation><size><width>64</width><height>64</height></size>"
            f"<object><name>cat</name><bndbox>{inside}</bndbox></object></annotation>"
        )


def test_boxes_of_pascal_voc(tmp_path: Path) -> None:
    voc(tmp_path / "sound", lambda i: (i % 20, 5, i % 20 + 30, 64))
    voc(tmp_path / "turned", lambda i: (40, 40, 10, 10) if i % 10 == 0 else (5, 5, 20, 20))
    voc(tmp_path / "outside", lambda i: (5, 5, 90 if i % 10 == 0 else 60, 20))
    voc(tmp_path / "sizes", lambda i: (i % 30, i % 30, 20, 25))

    assert reading("boxes-invalid", tmp_path / "sound").state is A
    assert "inside out" in reading("boxes-invalid", tmp_path / "turned").why
    assert "reach out" in reading("boxes-invalid", tmp_path / "outside").why
    assert "read as a corner, a width and a height" in reading("boxes-invalid", tmp_path / "sizes").why


def test_corners_in_files_of_yolo(tmp_path: Path) -> None:
    for name, corners in (("sound", False), ("corners", True)):
        pictures(tmp_path / name)
        (tmp_path / name / "labels").mkdir()
        for i in range(60):
            w, x = 0.1 + i % 5 * 0.05, 0.2 + i % 7 * 0.1
            row = (x - w / 2, 0.1, x + w / 2, 0.5) if corners else (x, 0.3, w, 0.4)
            (tmp_path / name / "labels" / f"{i:03d}.txt").write_text(
                "0 " + " ".join(f"{v:.4f}" for v in row) + "\n"
            )

    assert reading("boxes-invalid", tmp_path / "sound").state is A
    found = reading("boxes-invalid", tmp_path / "corners")
    assert found.state is P
    assert "two corners" in found.why


def test_lists_of_the_splits_files(tmp_path: Path) -> None:
    """As in Pascal VOC's ImageSets: one folder of pictures, a list for each split."""
    pictures(tmp_path)
    lists = tmp_path / "ImageSets" / "Main"
    lists.mkdir(parents=True)
    (lists / "train.txt").write_text("".join(f"{i:03d}\n" for i in range(45)))
    (lists / "val.txt").write_text("".join(f"{i:03d}\n" for i in range(45, 60)))
    (lists / "trainval.txt").write_text("".join(f"{i:03d}\n" for i in range(60)))
    assert reading("duplicate-samples-across-splits", tmp_path).state is A

    (lists / "val.txt").write_text("".join(f"{i:03d}\n" for i in range(40, 60)))
    found = reading("duplicate-samples-across-splits", tmp_path)
    assert found.state is P
    assert found.value == pytest.approx(0.25)

    (lists / "train.txt").write_text("some words\nof a corpus\n" * 30)
    assert reading("duplicate-samples-across-splits", tmp_path).state is U


def coco(
    root: Path,
    split: str = "train",
    told: tuple[int, int] = (40, 30),
    kinds: tuple[str, ...] = ("cat", "dog"),
    again: int = 0,
) -> None:
    """Twenty pictures of 40 by 30 with three boxes each; `again` of the boxes stand there twice."""
    folder = root / split
    folder.mkdir(parents=True)
    images, notes = [], []
    for i in range(20):
        (folder / f"{split}_{i}.png").write_bytes(png(40, 30, body=split.encode() + bytes([i])))
        images.append({"id": i, "file_name": f"{split}_{i}.png", "width": told[0], "height": told[1]})
        notes += [
            {"id": 3 * i + k, "image_id": i, "category_id": 1 + k % 2, "bbox": [i % 7, k, 12, 9]}
            for k in range(3)
        ]
    notes += [{**note, "id": 100 + note["id"]} for note in notes[:again]]
    categories = [{"id": i, "name": n} for i, n in enumerate(kinds, 1)]
    found = {"images": images, "annotations": notes, "categories": categories}
    (root / f"instances_{split}.json").write_text(json.dumps(found))


def test_sizes_that_annotations_tell(tmp_path: Path) -> None:
    """Annotated where EXIF turned the pictures, or before they were made smaller."""
    coco(tmp_path / "sound")
    coco(tmp_path / "turned", told=(30, 40))
    coco(tmp_path / "smaller", told=(80, 60))

    assert reading("boxes-invalid", tmp_path / "sound").state is A
    assert "turned" in reading("boxes-invalid", tmp_path / "turned").why
    assert "another size" in reading("boxes-invalid", tmp_path / "smaller").why


def test_keypoints_out_of_their_image(tmp_path: Path) -> None:
    """One that is visible must lie in the image; one that is not labelled stands at 0, 0."""
    for where, x, seen in (("sound", 10, 2), ("hidden", 99, 1), ("out", 99, 2)):
        coco(tmp_path / where)
        file = tmp_path / where / "instances_train.json"
        found = json.loads(file.read_text())
        for note in found["annotations"]:
            note["keypoints"] = [0, 0, 0, x, 5, seen]
        file.write_text(json.dumps(found))

    assert [reading("boxes-invalid", tmp_path / w).state for w in ("sound", "hidden", "out")] == [A, A, P]
    assert "keypoint 2 at 99, 5" in reading("boxes-invalid", tmp_path / "out").why


def test_numbers_of_classes_in_two_files(tmp_path: Path) -> None:
    for where, kinds in (("sound", ("cat", "dog")), ("turned", ("dog", "cat")), ("other", ("cat", "owl"))):
        coco(tmp_path / where)
        coco(tmp_path / where, "val", kinds=kinds)

    assert reading("boxes-invalid", tmp_path / "sound").state is A
    assert "numbered otherwise" in reading("boxes-invalid", tmp_path / "turned").why
    assert reading("boxes-invalid", tmp_path / "other").state is A


def test_boxes_that_stand_there_twice(tmp_path: Path) -> None:
    coco(tmp_path / "some", again=12)

    assert "twice" in reading("boxes-invalid", tmp_path / "some").why


def test_cities_are_no_classes(tmp_path: Path) -> None:
    """Folders of pictures that have masks are cities, films or patients."""
    for split, cities in (("train", ("aachen", "bochum")), ("val", ("lindau", "munster"))):
        for k, city in enumerate(cities):
            for i in range(12):
                for kind, name in (("leftImg8bit", "leftImg8bit"), ("gtFine", "gtFine_labelIds")):
                    folder = tmp_path / kind / split / city
                    folder.mkdir(parents=True, exist_ok=True)
                    body = f"{split}{k}{i}{kind}".encode()
                    (folder / f"{city}_{i:06d}_{name}.png").write_bytes(png(body=body))

    assert reading("classes-unseen-in-training", tmp_path).state is U
    assert reading("masks-unlike-images", tmp_path).state is A
