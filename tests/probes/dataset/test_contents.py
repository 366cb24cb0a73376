"""What is in files and cells: pictures saved anew, damaged ones in containers, long cells, recordings."""

from __future__ import annotations

import io
import json
import shutil
import struct
import wave
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.data_files import labels as told_of_labels
from traindoctor.probes.dataset import media
from traindoctor.probes.dataset.measure import measure
from traindoctor.probes.dataset.neighbours import Suspects

from ._make import csv, png, reading
from ._sets import wav

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
LEAK = "duplicate-samples-across-splits"


def scene(seed: int, size: int = 160) -> Any:
    """A picture with soft shapes and some detail."""
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(seed)
    soft = image.fromarray(random.integers(0, 255, (9, 9, 3), dtype=np.uint8)).resize((size, size), 3)
    fine = image.fromarray(random.integers(0, 255, (60, 60), dtype=np.uint8)).resize((size, size), 3)
    return image.blend(soft, fine.convert("RGB"), 0.3)


def folders(root: Path, train: int = 24, held: int = 12) -> Path:
    for split, count, first in (("train", train, 0), ("val", held, 1000)):
        for i in range(count):
            path = root / split / "ab"[i % 2] / f"{split}{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            scene(first + i).save(path)
    return root


def test_pictures_saved_anew_in_validation(tmp_path: Path) -> None:
    root = folders(tmp_path)
    assert reading(LEAK, root).state is A
    for i in range(6):
        old = scene(i)
        if i % 2:
            old.save(root / "val" / "b" / f"web{i}.jpg", quality=70)
        else:
            old.resize((120, 120)).save(root / "val" / "a" / f"small{i}.png")
    found = reading(LEAK, root)
    assert found.state is P
    assert "saved anew" in found.why
    assert "6 of 18" in found.why


def test_pictures_of_one_scene_and_turned_ones_are_others(tmp_path: Path) -> None:
    """A camera that stands still sees one background; a mirrored or brighter picture is another one."""
    root = folders(tmp_path)
    background = np.asarray(scene(5000))
    random = np.random.default_rng(0)
    for split in ("train", "val"):
        for i in range(8):
            seen = background.copy()
            x, y = random.integers(0, 120, 2)
            seen[x : x + 30, y : y + 24] = random.integers(0, 255, 3)
            _save(seen, root / split / "a" / f"camera{i}.png")
    for i in range(6):
        _save(np.asarray(scene(i))[:, ::-1], root / "val" / "a" / f"mirrored{i}.png")
        _save(np.clip(np.asarray(scene(i)) * 1.3, 0, 255), root / "val" / "b" / f"bright{i}.png")
    assert reading(LEAK, root).state is A


def _save(pixels: np.ndarray, path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.ascontiguousarray(pixels, dtype=np.uint8)).save(path)


def test_plain_and_small_pictures_are_not_told_apart(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    random = np.random.default_rng(0)
    for split in ("train", "val"):
        for i in range(12):
            folder = tmp_path / split / "ab"[i % 2]
            folder.mkdir(parents=True, exist_ok=True)
            _save(np.full((64, 64, 3), 30) + random.integers(0, 4, (64, 64, 3)), folder / f"p{split}{i}.png")
            digit = np.zeros((28, 28, 3))
            digit[4:24, 13:15] = 250
            digit[4, 13] = 2 * i + (split == "val")
            _save(digit, folder / f"d{split}{i}.png")
    assert reading(LEAK, tmp_path).state is not P


def test_a_checksum_inside_a_png() -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        told = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", told)

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 0, 0, 0, 0))
    data = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(90))) + chunk(b"IEND", b"")
    assert not media.rotten_png(data)
    at = data.index(b"IDAT") + 8
    assert media.rotten_png(data[:at] + bytes([data[at] ^ 64]) + data[at + 1 :])
    assert not media.rotten_png(data[:40])  # cut off, which the end tells


def test_a_rotten_picture_among_sound_ones(tmp_path: Path) -> None:
    root = folders(tmp_path)
    assert reading("data-unreadable", root).state is A
    path = root / "train" / "a" / "train4.png"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 32
    path.write_bytes(bytes(data))
    found = reading("data-unreadable", root)
    assert found.state is P
    assert found.where[0].file == "train/a/train4.png"


def test_mindrecord_without_its_index(tmp_path: Path) -> None:
    (tmp_path / "train.mindrecord").write_bytes(b"\0" * 4096)
    found = reading("data-unreadable", tmp_path)
    assert found.state is P
    assert "train.mindrecord.db is not there" in found.why


def parquet(path: Path, first: int, last: int, cut: int = -1) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = []
    for i in range(first, last):
        stream = io.BytesIO()
        scene(i, 48).save(stream, "JPEG", quality=90)
        data = stream.getvalue()
        rows.append({"bytes": data[: len(data) // 2] if i == cut else data, "path": f"{first}-{i}.jpg"})
    table = pa.table({"image": rows, "label": [i % 4 for i in range(first, last)]})
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path)


def test_pictures_in_parquet(tmp_path: Path) -> None:
    """As Hugging Face keeps them: bytes and a path, which may differ for one picture."""
    parquet(tmp_path / "sound" / "train-00000.parquet", 0, 60)
    parquet(tmp_path / "sound" / "test-00000.parquet", 60, 90)
    assert reading(LEAK, tmp_path / "sound").state is A
    assert reading("data-unreadable", tmp_path / "sound").state is A

    parquet(tmp_path / "bad" / "train-00000.parquet", 0, 60, cut=7)
    parquet(tmp_path / "bad" / "test-00000.parquet", 50, 90)
    assert reading(LEAK, tmp_path / "bad").state is P
    found = reading("data-unreadable", tmp_path / "bad")
    assert found.state is P
    assert found.where[0].line == 8


def test_long_lists_that_begin_alike_are_not_equal(tmp_path: Path) -> None:
    """Conversations with one long system prompt; and labels that are all ignored, however long."""
    prompt = list(range(1000, 1900))
    random = np.random.default_rng(0)
    rows = [{"input_ids": prompt + random.integers(5, 900, 30).tolist(), "label": i % 2} for i in range(120)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert reading("data-duplicates", tmp_path).state is A
    assert reading("data-labels-contradict", tmp_path).state is not P
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows + rows[:60]))
    assert reading("data-duplicates", tmp_path).state is P

    lists = [{"input_ids": r["input_ids"], "labels": [-100] * 900 + [7] * 30} for r in rows]
    lists[3]["labels"] = lists[9]["labels"] = [-100] * 930
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in lists))
    assert "2 of" in reading("labels-all-ignored", tmp_path).why


def speech(root: Path, **odd: Any) -> Path:
    """Recordings of a fifth of a second with a manifest; `odd` holds what the tenth entry says instead."""
    rows = []
    for i in range(40):
        wav(root / "wavs" / f"{i}.wav", i)
        told = media_length(root / "wavs" / f"{i}.wav")
        rows.append({"audio_filepath": f"wavs/{i}.wav", "duration": told, "text": f"say {i}"})
    rows[10] |= odd
    (root / "train_manifest.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return root


def media_length(path: Path) -> float:
    with wave.open(str(path)) as sound:
        return sound.getnframes() / sound.getframerate()


def test_manifests_of_recordings(tmp_path: Path) -> None:
    sound = speech(tmp_path / "sound")
    for symptom in ("data-missing-values", "inputs-have-nan", "data-files-changed", "files-missing"):
        assert reading(symptom, sound).state is not P, symptom
    assert reading("data-missing-values", speech(tmp_path / "empty", text="")).state is P
    assert reading("inputs-have-nan", tmp_path / "empty").state is not P
    found = reading("data-files-changed", speech(tmp_path / "long", duration=3.0))
    assert found.state is P
    assert "instead of 3" in found.why
    length = media_length(tmp_path / "sound" / "wavs" / "10.wav")
    for right in (length / 3, 1000 * length, "0.2"):  # a part of it, milliseconds, no number
        assert reading("data-files-changed", speech(tmp_path / f"r{right}", duration=right)).state is not P


def test_blank_pictures_are_not_one_sample(tmp_path: Path) -> None:
    root = folders(tmp_path)
    for split in ("train", "val"):
        _save(np.zeros((50, 50, 3)), root / split / "a" / f"black_{split}.png")
    assert reading(LEAK, root).state is A
    shutil.copy(root / "train" / "a" / "train0.png", root / "val" / "a" / "copy.png")
    assert reading(LEAK, root).state is P
    assert measure(root).parts


def test_peaks_at_full_scale_are_not_clipped(tmp_path: Path) -> None:
    """Each recording is brought to the limit, which it touches."""
    for i in range(30):
        values = np.random.default_rng(i).normal(size=4000)
        scaled = np.round(values / np.abs(values).max() * 32767).astype("<i2")
        path = tmp_path / "train" / "ab"[i % 2] / f"{i}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(16000)
            sound.writeframes(scaled.tobytes())
    assert reading("recordings-clipped", tmp_path).state is A


def kaggle(root: Path, names: Sequence[str], gone: int) -> Path:
    """A table of identifiers and classes, and pictures called so but for the first `gone`."""
    (root / "train_images").mkdir(parents=True)
    lines = ["id,label", *(f"{n},{i % 3}" for i, n in enumerate(names))]
    (root / "train.csv").write_text("\n".join(lines) + "\n")
    for name in names[gone:]:
        (root / "train_images" / f"{name}.png").write_bytes(png())
    return root


def test_identifiers_that_name_pictures(tmp_path: Path) -> None:
    """Missing ones are told where nearly all are there and they are words; numbers may count anything."""
    names = [f"{n:010x}" for n in np.random.default_rng(0).integers(0, 1 << 40, 100)]
    found = reading("files-missing", kaggle(tmp_path / "some", names, 7))
    assert found.state is P
    assert "7 files" in found.why
    assert reading("files-missing", kaggle(tmp_path / "all", names, 0)).state is not P
    assert reading("files-missing", kaggle(tmp_path / "half", names, 50)).state is not P
    numbers = [str(i) for i in range(100)]
    assert reading("files-missing", kaggle(tmp_path / "numbers", numbers, 7)).state is not P


def test_rows_that_chance_makes_equal(tmp_path: Path) -> None:
    """A load and a temperature, rounded: some hours of validation are like one of training."""
    for seed in range(6):
        random = np.random.default_rng(seed)
        rows = np.stack([random.normal(20, 4, 2000).round(2), random.normal(12, 6, 2000).round(1)], 1)
        folder = tmp_path / str(seed)
        for name, part in (("train", rows[:1600]), ("val", rows[1600:])):
            csv(folder / f"{name}.csv", ("load", "temp"), part.tolist())
        assert reading(LEAK, folder).state is not P
    csv(folder / "val.csv", ("load", "temp"), rows[1500:1900].tolist())
    assert reading(LEAK, folder).state is P


def test_training_pictures_saved_anew(tmp_path: Path) -> None:
    """A third of the pictures stands twice; frames of one film and copies that names tell are meant."""
    root = folders(tmp_path)
    assert reading("data-duplicates", root).state is A
    for i in range(8):
        scene(i).save(root / "train" / "ab"[i % 2] / f"web_{i}.jpg", quality=70)
    found = reading("data-duplicates", root)
    assert found.state is P
    assert "saved anew" in found.why
    assert "8 of 32" in found.why
    assert reading("data-labels-contradict", root).state is not P

    for i in range(8):
        scene(i).save(root / "train" / "ba"[i % 2] / f"other_{i}.jpg", quality=60)
    assert "of another class" in reading("data-labels-contradict", root).why


def test_frames_and_declared_copies_are_meant(tmp_path: Path) -> None:
    frames, made = folders(tmp_path / "frames"), folders(tmp_path / "made")
    for i in range(12):
        scene(3000).save(frames / "train" / "a" / f"clip_{i:04d}.jpg", quality=90 - i)
        scene(i).save(made / "train" / "ab"[i % 2] / f"train{i}_jpeg60.jpg", quality=60)

    assert reading("data-duplicates", frames).state is not P
    assert reading("data-duplicates", made).state is not P


def test_pictures_that_look_alike_anyway(tmp_path: Path) -> None:
    """Where training pictures are alike by chance, those of the test are as well."""
    for split, count in (("train", 30), ("test", 10)):
        for i in range(count):
            path = tmp_path / split / "good" / f"{'xyzuvw'[i % 6]}{i * 7}{split}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            seen = np.asarray(scene(i % 12)).astype(int) + np.random.default_rng(i + count).integers(
                -3, 4, (160, 160, 3)
            )
            _save(np.clip(seen, 0, 255), path)

    assert reading(LEAK, tmp_path).state is not P


def tinted(root: Path, split: str, count: int, change: Any) -> None:
    for i in range(count):
        path = root / split / "ab"[i % 2] / f"{split}{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.asarray(scene(i + 100 * len(split), 64)).astype(float) * [0.5, 0.7, 0.9] + [0, 10, 25]
        _save(change(pixels, i), path)


def plain(pixels: np.ndarray, i: int) -> np.ndarray:
    return pixels


def grey(pixels: np.ndarray, i: int) -> np.ndarray:
    return np.repeat(pixels.mean(axis=2, keepdims=True), 3, axis=2)


def dark(pixels: np.ndarray, i: int) -> np.ndarray:
    return pixels * 0.2


def turned(pixels: np.ndarray, i: int) -> np.ndarray:
    return pixels[..., ::-1]


def test_pictures_without_colour_among_coloured_ones(tmp_path: Path) -> None:
    for name, train, val in (
        ("sound", plain, plain),
        ("half", lambda p, i: grey(p, i) if i % 2 else p, plain),
        ("few", lambda p, i: p if i % 15 else grey(p, i), plain),
        ("all", grey, grey),
        ("split", plain, grey),
    ):
        tinted(tmp_path / name, "train", 40, train)
        tinted(tmp_path / name, "val", 30, val)

    states = {
        n: reading("image-channels-mixed", tmp_path / n).state
        for n in ("sound", "half", "few", "all", "split")
    }
    assert states == {"sound": A, "half": P, "few": A, "all": A, "split": P}


def test_pictures_of_other_tones_in_validation(tmp_path: Path) -> None:
    for name, val in (("sound", plain), ("dark", dark), ("bgr", turned)):
        tinted(tmp_path / name, "train", 40, plain)
        tinted(tmp_path / name, "val", 30, val)

    assert reading("splits-scaled-differently", tmp_path / "sound").state is A
    assert reading("splits-scaled-differently", tmp_path / "dark").state is P
    found = reading("splits-scaled-differently", tmp_path / "bgr")
    assert found.state is P
    assert "exchanged" in found.why


def figures(count: int, wrong: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Strokes of ten shapes [count, 28, 28] and their class, a share of them another one."""
    random = np.random.default_rng(seed)
    shapes = np.kron(np.random.default_rng(7).random((10, 7, 7)) > 0.6, np.ones((4, 4))) * 255
    classes = random.integers(0, 10, count)
    pixels = np.clip(
        shapes[classes] * random.uniform(0.6, 1, (count, 1, 1)) + random.normal(0, 40, (count, 28, 28)),
        0,
        255,
    )
    turned = random.random(count) < wrong
    labels = np.where(turned, (classes + random.integers(1, 10, count)) % 10, classes)
    return pixels.astype(np.uint8), labels.astype(np.uint8)


@pytest.mark.parametrize("form", ["npz", "flat", "npy", "csv", "png"])
def test_wrong_labels_of_pictures(form: str, tmp_path: Path) -> None:
    for name, wrong, state in (("right", 0.0, A), ("wrong", 0.1, P), ("none", 1.0, U)):
        root = tmp_path / name
        root.mkdir()
        x, y = figures(500, wrong)
        if name == "none":
            y = np.random.default_rng(1).permutation(y)
        if form == "npz":
            np.savez(root / "d.npz", x_train=x, y_train=y, x_test=x[:50], y_test=y[:50])
        elif form == "flat":
            np.savez(root / "train.npz", x=x.reshape(500, -1), y=y)
        elif form == "npy":
            np.save(root / "train_images.npy", x)
            np.save(root / "train_labels.npy", y)
        elif form == "csv":
            names = ("label", *(f"pixel{i}" for i in range(784)))
            csv(root / "train.csv", names, np.column_stack([y, x.reshape(500, -1)]).tolist())
        else:
            for i in range(500):
                path = root / "training" / str(y[i]) / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                _save(x[i], path)
        assert reading("label-noise-suspected", root).state is state


def test_two_versions_of_each_picture_are_meant(tmp_path: Path) -> None:
    for i in range(24):
        for folder, size, end in (("HR", 160, ""), ("LR", 80, "x2")):
            path = tmp_path / "train" / folder / f"{i:04d}{end}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            scene(i).resize((size, size)).save(path)

    assert reading("data-duplicates", tmp_path).state is not P
    assert reading("data-labels-contradict", tmp_path).state is not P


@pytest.mark.parametrize("table", [True, False])
def test_labels_one_place_off(table: bool, tmp_path: Path) -> None:
    x, y = figures(400, 0.0)
    for name, labels in (("right", y), ("after", np.roll(y, 1)), ("before", np.roll(y, -1))):
        root = tmp_path / name
        if table:
            names = (*(f"f{i}" for i in range(49)), "label")
            csv(
                root / "train.csv", names, np.column_stack([x[:, ::4, ::4].reshape(400, -1), labels]).tolist()
            )
        else:
            root.mkdir()
            np.savez(root / "train.npz", images=x, labels=labels)

    assert reading("label-noise-suspected", tmp_path / "right").state is A
    for name in ("after", "before"):
        found = reading("label-noise-suspected", tmp_path / name)
        assert found.state is P
        assert f"one place {name} their samples" in found.why


@pytest.mark.parametrize(
    ("count", "agreement", "one_way", "classes", "state"),
    [
        (50, 0.85, 0.06, 10, P),  # between all classes alike
        (50, 0.85, 0.4, 10, A),  # between two that look alike
        (50, 0.85, 0.06, 3, A),
        (50, 0.7, 0.06, 10, U),
        (10, 0.95, 0.06, 10, A),
    ],
)
def test_wrong_labels_lie_between_all_classes(
    count: int,
    agreement: float,
    one_way: float,
    classes: int,
    state: State,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of pictures whose neighbours tell the class less well: suspects between many pairs of classes."""
    x, y = figures(300, 0.0)
    np.savez(tmp_path / "train.npz", images=x, labels=y)
    told = Suspects(1000, count, agreement, (), ("1 among 2",), one_way, classes)
    monkeypatch.setattr(told_of_labels, "_suspects", lambda *_: told)

    assert reading("label-noise-suspected", tmp_path).state is state


def test_the_log_of_a_training_is_no_data(tmp_path: Path) -> None:
    """Beside data it is noted and left; alone it is what was asked for, and a column of losses is no log."""
    rows = "".join(f"{i},{i * 7 % 11},{i % 3}\n" for i in range(40))
    (tmp_path / "data.csv").write_text("size,weight,label\n" + rows)
    (tmp_path / "log.jsonl").write_text("".join(f'{{"step": {i}, "train_loss": null}}\n' for i in range(40)))
    (tmp_path / "metrics.csv").write_text("epoch,lr\n" + "".join(f"{i},0.1\n" for i in range(40)))
    (tmp_path / "claims.csv").write_text("policy,loss\n" + "".join(f"{i},{i}.5\n" for i in range(40)))

    data = measure(tmp_path)

    assert sorted(f for p in data.parts for f in p.files) == ["claims.csv", "data.csv"]
    assert sum("the log of a training" in note for note in data.notes) == 2
    assert measure(tmp_path / "metrics.csv").parts
