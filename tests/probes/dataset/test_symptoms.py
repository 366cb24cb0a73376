"""Every symptom of data files: present, absent and unknown, on small sets made for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.manifest import Manifest
from traindoctor.probes.dataset.measure import measure

from . import _coded, _columns, _make, _masks, _series, _sets, _token_rows, _volumes, _written
from ._make import HEADER, csv, png, reading, table

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Build = Callable[[Path], None]


def plain(root: Path) -> None:
    """A sound table with a validation split."""
    csv(root / "train.csv", HEADER, table(300, 0))
    csv(root / "val.csv", HEADER, table(100, 1))


def nothing(root: Path) -> None:
    """Recordings tell nothing of tables, and images nothing of batches."""
    root.mkdir(exist_ok=True)
    for i in range(3):
        (root / f"{i}.png").write_bytes(png(body=bytes([i])))


def batches(
    root: Path, x: object = None, label: object = None, mask: object = None, seed: int = 0, n: int = 4
) -> None:
    root.mkdir(exist_ok=True)
    random = np.random.default_rng(seed)
    for i in range(n):
        some = {"x": random.normal(size=(32, 5)), "label": random.integers(0, 3, 32)}
        if i == 1:
            some |= {k: v for k, v in (("x", x), ("label", label), ("attention_mask", mask)) if v is not None}
        np.savez(root / f"batch_{i}.npz", **some)


def edit(at: int, column: int, value: object, n: int = 300) -> Build:
    def build(root: Path) -> None:
        rows = table(n)
        rows[at][column] = value
        csv(root / "train.csv", HEADER, rows)

    return build


def labelled(labels: object, name: str = "train.csv") -> Build:
    def build(root: Path) -> None:
        rows = table(len(labels))  # type: ignore[arg-type]
        for row, label in zip(rows, labels, strict=True):  # type: ignore[call-overload]
            row[3] = label
        csv(root / name, HEADER, rows)

    return build


def both(train: list[list[object]], val: list[list[object]]) -> Build:
    def build(root: Path) -> None:
        csv(root / "train.csv", HEADER, train)
        csv(root / "val.csv", HEADER, val)

    return build


def cut_off(root: Path) -> None:
    nothing(root)
    (root / "2.png").write_bytes(png()[:-8])


def outlier_x() -> object:
    x = np.random.default_rng(9).normal(size=(32, 5))
    x[3, 2] = 4000.0
    return x


def nan_x() -> object:
    x = np.random.default_rng(9).normal(size=(32, 5))
    x[3, 2] = np.nan
    return x


def noisy(root: Path) -> None:
    random = np.random.default_rng(0)
    centre = np.repeat(np.eye(3) * 10, 200, axis=0)
    x = centre + random.normal(size=centre.shape)
    y = np.repeat(np.arange(3), 200)
    wrong = random.random(600) < 0.1
    y = np.where(wrong, (y + 1) % 3, y)
    order = random.permutation(600)
    csv(root / "train.csv", HEADER, [[*x[i].tolist(), y[i]] for i in order])


def separable(root: Path) -> None:
    random = np.random.default_rng(0)
    x = np.repeat(np.eye(3) * 10, 200, axis=0) + random.normal(size=(600, 3))
    order = random.permutation(600)
    csv(root / "train.csv", HEADER, [[*x[i].tolist(), i // 200] for i in order])


def overlapping(root: Path) -> None:
    random = np.random.default_rng(0)
    csv(root / "train.csv", HEADER, [[*random.normal(size=3), random.integers(0, 2)] for _ in range(400)])


def rare_class(root: Path) -> None:
    """One sample of ten is of the second class, whatever the features: all stand among the first."""
    random = np.random.default_rng(0)
    csv(root / "train.csv", HEADER, [[*random.normal(size=3), int(i % 10 == 0)] for i in range(900)])


def turned(x: object, share: float) -> Build:
    """Two classes that one line parts, with a share of the labels turned round at random."""

    def build(root: Path) -> None:
        random = np.random.default_rng(1)
        y = (np.asarray(x)[:, 0] + np.asarray(x)[:, 1] > 0).astype(int)
        y = np.where(random.random(len(y)) < share, 1 - y, y)
        csv(root / "train.csv", HEADER, [[*r, t] for r, t in zip(np.asarray(x).tolist(), y, strict=True)])

    return build


def beyond_the_line(root: Path) -> None:
    """A group of the first class lies within the second one's side: no label is wrong there."""
    random = np.random.default_rng(1)
    x = random.normal(size=(900, 3))
    y = (x[:, 0] > 0).astype(int)
    y[(np.abs(x[:, 0]) > 1) & (x[:, 1] > 0)] ^= 1
    csv(root / "train.csv", HEADER, [[*r, t] for r, t in zip(x.tolist(), y, strict=True)])


def with_column(make: Callable[[list[object]], object], name: str = "d", held: object = None) -> Build:
    """A fourth column made from each row; `held`: what stands there in the validation rows instead."""

    def build(root: Path) -> None:
        for split, rows in (("train", table(300, 0)), ("val", table(100, 1))):
            made = [[*r[:3], make(r) if held is None or split == "train" else held, r[3]] for r in rows]
            csv(root / f"{split}.csv", ("a", "b", "c", name, "label"), made)

    return build


def coded(code: object, every: int = 20, low: float = -100.0) -> Build:
    def build(root: Path) -> None:
        rows = [
            [code if i % every == 0 else max(low, float(str(r[0]))), *r[1:]] for i, r in enumerate(table())
        ]
        csv(root / "train.csv", HEADER, rows)

    return build


def arrays(samples: int, labels: int, name: str = "y_train") -> Build:
    def build(root: Path) -> None:
        root.mkdir(exist_ok=True)
        random = np.random.default_rng(0)
        found = {"x_train": random.random((samples, 4)), name: random.integers(0, 3, labels)}
        np.savez(root / "data.npz", **found)

    return build


def worded(words: list[str], share: int = 20) -> Build:
    def build(root: Path) -> None:
        rows = [[words[i % len(words)] if i % share == 0 else r[0], *r[1:]] for i, r in enumerate(table())]
        csv(root / "train.csv", HEADER, rows)

    return build


def masked(change: Callable[[Path], None] = lambda _: None, folder: str = "masks") -> Build:
    """Ten images with a mask of the same name each."""

    def build(root: Path) -> None:
        for i in range(10):
            for where, colour in (("images", 2), (folder, 0)):
                (root / where).mkdir(parents=True, exist_ok=True)
                (root / where / f"{i}.png").write_bytes(png(colour=colour))
        change(root)

    return build


def coco(*boxes: list[float], category: int = 1, gone: int = 0) -> Build:
    """Forty boxes of 10 by 8 in images of 64 by 48, and these."""

    def build(root: Path) -> None:
        root.mkdir(exist_ok=True)
        images = [{"id": i, "file_name": f"{i}.png", "width": 64, "height": 48} for i in range(10)]
        for i in range(10 - gone):
            (root / f"{i}.png").write_bytes(png(64, 48, body=bytes([i])))
        every = [[20 + i % 9, 10, 10, 8] for i in range(40)] if not boxes or len(boxes) < 20 else []
        made = [*every, *boxes]
        notes = [
            {"id": i, "image_id": i % 10, "category_id": category if i == 7 else 1 + i % 2, "bbox": b}
            for i, b in enumerate(made)
        ]
        kinds = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
        found = {"images": images, "annotations": notes, "categories": kinds}
        (root / "instances_train.json").write_text(json.dumps(found))

    return build


def yolo(line: str, classes: int = 2) -> Build:
    def build(root: Path) -> None:
        for i in range(10):
            for folder, name in (("images", f"{i}.png"), ("labels", f"{i}.txt")):
                (root / folder / "train").mkdir(parents=True, exist_ok=True)
                (root / folder / "train" / name).write_bytes(
                    png(body=bytes([i])) if folder == "images" else f"0 0.5 0.5 0.2 0.3\n{line}\n".encode()
                )
        (root / "data.yaml").write_text(f"train: images/train\nnc: {classes}\n")

    return build


NORMAL = np.random.default_rng(4).normal(size=(900, 3))


def contradicting(root: Path) -> None:
    rows = table(200)
    csv(root / "train.csv", HEADER, rows + [[*r[:3], 1 - int(str(r[3]))] for r in rows[:20]])


def constant(root: Path) -> None:
    csv(root / "train.csv", HEADER, [[r[0], 7, r[2], r[3]] for r in table()])


def one_source(root: Path) -> None:
    """A text that is the same everywhere, and one dark pixel of sixteen."""
    random = np.random.default_rng(0)
    head = [*(f"pixel_{i}" for i in range(16)), "source", "label"]
    rows = [[0, *random.normal(size=15), "web", i % 2] for i in range(100)]
    csv(root / "train.csv", head, rows)


def apart(root: Path) -> None:
    csv(root / "train.csv", HEADER, [[r[0], 1e6 * float(str(r[1])), r[2], r[3]] for r in table()])


def shifted() -> list[list[object]]:
    return [[float(str(r[0])) * 255, r[1], r[2], r[3]] for r in table(100, 1)]


def ranked(lists: list[list[int]]) -> Build:
    def build(root: Path) -> None:
        root.mkdir(exist_ok=True)
        for rank, members in enumerate(lists):
            (root / f"indices_rank{rank}.txt").write_text("\n".join(map(str, members)) + "\n")

    return build


def drawn(order: Callable[[int], list[int]], epochs: int = 2) -> Build:
    def build(root: Path) -> None:
        root.mkdir(exist_ok=True)
        with Manifest(root / "manifest.jsonl", split="train") as manifest:
            for epoch in range(epochs):
                for i in order(epoch):
                    manifest.add(id=i, label=i // 50, epoch=epoch)

    return build


def shuffled(epoch: int) -> list[int]:
    found: list[int] = np.random.default_rng(epoch).permutation(200).tolist()
    return found


def listed(change: Callable[[Path], None], *, sums: bool = True) -> Build:
    """Three files and a checksum list of them, then a change."""

    def build(root: Path) -> None:
        import hashlib

        nothing(root)
        lines = [f"{hashlib.sha256((root / f'{i}.png').read_bytes()).hexdigest()}  {i}.png" for i in range(3)]
        if sums:
            (root / "SHA256SUMS").write_text("\n".join(lines) + "\n")
        change(root)

    return build


def overwrite(root: Path) -> None:
    (root / "1.png").write_bytes(png(body=b"other"))


def one_of_three(root: Path) -> None:
    csv(root / "train-00000-of-00003.csv", HEADER, table(50))
    csv(root / "train-00002-of-00003.csv", HEADER, table(50, 1))


def modes(root: Path) -> None:
    nothing(root)
    (root / "9.png").write_bytes(png(colour=0))


def by_class(root: Path) -> None:
    csv(root / "train.csv", HEADER, sorted(table(), key=lambda r: str(r[3])))


def one_batch(root: Path) -> None:
    batches(root)


CASES: list[tuple[str, Build, State]] = [
    ("data-unreadable", cut_off, P),
    ("data-unreadable", plain, A),
    ("data-unreadable", ranked([[1, 2], [3, 4]]), U),
    ("files-missing", listed(lambda root: (root / "1.png").unlink()), P),
    ("files-missing", one_of_three, P),
    ("files-missing", listed(lambda _: None), A),
    ("files-missing", plain, U),
    ("data-files-changed", listed(overwrite), P),
    ("data-files-changed", listed(lambda _: None), A),
    ("data-files-changed", plain, U),
    ("data-missing-values", edit(7, 1, ""), P),
    ("data-missing-values", edit(7, 1, "nan"), P),
    ("data-missing-values", edit(7, 3, ""), P),
    ("data-missing-values", plain, A),
    ("data-missing-values", nothing, U),
    ("inputs-have-nan", lambda root: batches(root, x=nan_x()), P),
    ("inputs-have-nan", one_batch, A),
    ("inputs-have-nan", plain, U),
    ("data-outliers", edit(7, 1, 900.0), P),
    ("data-outliers", plain, A),
    ("data-outliers", nothing, U),
    ("inputs-have-outliers", lambda root: batches(root, x=outlier_x()), P),
    ("inputs-have-outliers", one_batch, A),
    ("inputs-have-outliers", plain, U),
    ("data-columns-apart", apart, P),
    ("data-columns-apart", plain, A),
    ("data-columns-apart", nothing, U),
    ("inputs-unnormalized", lambda root: batches(root, x=np.full((32, 5), 9e4) * np.arange(1, 6)), P),
    ("inputs-unnormalized", one_batch, A),
    ("inputs-unnormalized", plain, U),
    ("splits-scaled-differently", both(table(), shifted()), P),
    ("splits-scaled-differently", plain, A),
    ("splits-scaled-differently", edit(0, 0, 1.0), U),
    ("data-columns-constant", constant, P),
    ("data-columns-constant", plain, A),
    ("data-columns-constant", one_source, A),
    ("data-columns-constant", nothing, U),
    ("image-channels-mixed", modes, P),
    ("image-channels-mixed", nothing, A),
    ("image-channels-mixed", plain, U),
    ("labels-out-of-range-in-data", edit(7, 3, -7), P),
    ("labels-out-of-range-in-data", plain, A),
    ("labels-out-of-range-in-data", nothing, U),
    ("classes-unbalanced-in-data", labelled([0] * 290 + [1] * 10), P),
    ("classes-unbalanced-in-data", plain, A),
    ("classes-unbalanced-in-data", nothing, U),
    ("classes-unseen-in-training", both(table(), [[*r[:3], 5] for r in table(50, 1)]), P),
    ("classes-unseen-in-training", plain, A),
    ("classes-unseen-in-training", separable, U),
    ("classes-absent-from-evaluation", both(table(), [[*r[:3], 0] for r in table(50, 1)]), P),
    (
        "classes-absent-from-evaluation",
        both(
            [[*r[:3], i % 3] for i, r in enumerate(table())],
            [[*r[:3], i % 2] for i, r in enumerate(table(50, 1))],
        ),
        P,
    ),
    ("classes-absent-from-evaluation", plain, A),
    ("classes-absent-from-evaluation", separable, U),
    ("label-noise-suspected", noisy, P),
    ("label-noise-suspected", separable, A),
    ("label-noise-suspected", overlapping, U),
    ("label-noise-suspected", rare_class, U),
    ("label-noise-suspected", turned(NORMAL, 0.25), P),
    ("label-noise-suspected", turned(NORMAL, 0.0), A),
    ("label-noise-suspected", beyond_the_line, A),
    ("data-column-is-label", with_column(lambda r: 7 - 2 * int(str(r[3]))), P),
    ("data-column-is-label", with_column(lambda r: r[3], held=1), A),
    ("data-column-is-label", with_column(lambda r: r[3], name="label_idx"), A),
    ("data-column-is-label", plain, A),
    ("data-column-is-label", with_column(lambda _: "a sentence", name="text"), U),
    ("data-column-is-label", nothing, U),
    ("data-column-separates-classes", with_column(lambda r: float(str(r[0])) / 9 + 5 * int(str(r[3]))), P),
    ("data-column-separates-classes", plain, A),
    ("data-column-separates-classes", noisy, U),
    ("data-missing-coded", coded(-999), P),
    ("data-missing-coded", coded(9999), P),
    ("data-missing-coded", coded(-1, low=0.0), A),
    ("data-missing-coded", coded(-999, every=250), A),
    ("data-missing-coded", plain, A),
    ("data-missing-coded", nothing, U),
    ("data-labels-miscounted", arrays(150, 140), P),
    ("data-labels-miscounted", arrays(150, 150), A),
    ("data-labels-miscounted", arrays(150, 1500), U),
    ("data-labels-miscounted", plain, U),
    ("class-spelled-twice", labelled(["yes", "no", "Yes "] * 100), P),
    ("class-spelled-twice", labelled(["yes", "no"] * 100), A),
    ("class-spelled-twice", plain, U),
    ("class-spelled-twice", labelled(["a", "A", "bb"] * 100), A),
    ("data-words-among-numbers", worded(["high"]), P),
    ("data-words-among-numbers", worded(["A1", "B2", "C3", "D4", "E5", "F6", "G7"]), A),
    ("data-words-among-numbers", plain, A),
    ("data-words-among-numbers", nothing, U),
    ("masks-unlike-images", masked(lambda root: (root / "masks/3.png").unlink()), P),
    (
        "masks-unlike-images",
        masked(lambda root: (root / "masks/3.png").write_bytes(png(4, 8, 0)) and None),
        P,
    ),
    ("masks-unlike-images", masked(), A),
    ("masks-unlike-images", masked(folder="other"), U),
    ("masks-unlike-images", nothing, U),
    ("boxes-invalid", coco([60, 40, 20, 20]), P),
    ("boxes-invalid", coco([10, 10, 0, 20]), P),
    ("boxes-invalid", coco(category=9), P),
    ("boxes-invalid", coco([54, 40, 10.6, 8.2]), A),
    ("boxes-invalid", yolo("1 0.5 0.5 0.1 0.1 0.2 0.2"), A),
    ("boxes-invalid", yolo("1 1.5 0.5 0.1 0.1"), P),
    ("boxes-invalid", yolo("2 0.5 0.5 0.1 0.1"), P),
    ("boxes-invalid", yolo("1 0.5 0.5"), P),
    ("boxes-invalid", plain, U),
    ("boxes-invalid", nothing, U),
    ("files-missing", coco(gone=1), P),
    ("data-duplicates", coco(), A),
    ("image-channels-mixed", masked(), A),
    ("data-labels-contradict", contradicting, P),
    ("data-labels-contradict", plain, A),
    ("data-labels-contradict", nothing, U),
    ("labels-all-ignored", lambda root: batches(root, label=np.full(32, -100)), P),
    ("labels-all-ignored", one_batch, A),
    ("labels-all-ignored", plain, U),
    ("attention-rows-masked", lambda root: batches(root, mask=np.eye(4)[[0, 1, 2]] * [[1], [0], [1]]), P),
    ("attention-rows-masked", lambda root: batches(root, mask=np.eye(4)), A),
    ("attention-rows-masked", one_batch, U),
    ("data-sorted-by-class", by_class, P),
    ("data-sorted-by-class", plain, A),
    ("data-sorted-by-class", nothing, U),
    ("samples-drawn-in-class-order", drawn(lambda _: list(range(200))), P),
    ("samples-drawn-in-class-order", drawn(shuffled), A),
    ("samples-drawn-in-class-order", by_class, U),
    ("epochs-in-same-order", drawn(lambda _: shuffled(0)), P),
    ("epochs-in-same-order", drawn(shuffled), A),
    ("epochs-in-same-order", drawn(shuffled, epochs=1), U),
    ("duplicate-samples-across-splits", both(table(), table(100, 1) + table()[:20]), P),
    ("duplicate-samples-across-splits", plain, A),
    ("duplicate-samples-across-splits", separable, U),
    ("data-duplicates", both(table() + table()[:100], table(50, 1)), P),
    ("data-duplicates", plain, A),
    ("data-duplicates", ranked([[1, 2], [3, 4]]), U),
    ("shards-overlap", ranked([list(range(50)), list(range(40, 100))]), P),
    ("shards-overlap", ranked([list(range(50)), list(range(60, 100))]), P),
    ("shards-overlap", ranked([list(range(0, 100, 2)), list(range(1, 100, 2))]), A),
    ("shards-overlap", plain, U),
    ("shards-uneven", ranked([list(range(80)), list(range(80, 100))]), P),
    ("shards-uneven", ranked([list(range(50)), list(range(50, 100))]), A),
    ("shards-uneven", plain, U),
    ("data-samples-few", plain, U),
    *_sets.CASES,
    *_coded.CASES,
    *_columns.CASES,
    *_masks.CASES,
    *_series.CASES,
    *_token_rows.CASES,
    *_volumes.CASES,
    *_written.CASES,
]


@pytest.mark.parametrize(("symptom", "build", "state"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_each_state(symptom: str, build: Build, state: State, tmp_path: Path) -> None:
    build(tmp_path / "set")

    found = reading(symptom, tmp_path / "set")

    assert found.state is state, found.why


def test_every_symptom_of_data_files_has_all_three_states() -> None:
    """What is compared with a benchmark is tested below; the number of samples needs a setting."""
    mine = {s.id for s in _make.rules().symptoms.values() if (s.probe or "").startswith("data_files.")}
    states = {i: {s for n, _, s in CASES if n == i} for i in mine}

    assert {i for i, s in states.items() if s != {P, A, U}} == {
        "data-samples-few",
        "data-differs-from-benchmark",
        "data-fewer-than-benchmark",
        *("data-answers-missing", "pairs-equal"),  # test_habits.py
    }


def test_without_data_everything_is_unknown() -> None:
    for symptom in _make.rules().symptoms.values():
        if (symptom.probe or "").startswith(("data_files.", "data_compare.")):
            assert reading(symptom.id, None).state is U


def test_labels_are_held_against_the_models_classes(tmp_path: Path) -> None:
    plain(tmp_path / "set")

    assert reading("labels-out-of-range-in-data", tmp_path / "set", num_classes=2).state is A
    assert reading("labels-out-of-range-in-data", tmp_path / "set", num_classes=1000).state is A
    labelled([1, 2] * 100)(tmp_path / "one")
    assert reading("labels-out-of-range-in-data", tmp_path / "one", num_classes=2).state is U
    labelled([0, 3] * 100)(tmp_path / "three")
    assert reading("labels-out-of-range-in-data", tmp_path / "three", num_classes=2).state is P
    labelled([-1, 0, 1] * 100)(tmp_path / "grades")
    assert reading("labels-out-of-range-in-data", tmp_path / "grades").state is U
    batches(tmp_path / "dumped", label=np.full(32, 3))
    assert reading("labels-out-of-range-in-data", tmp_path / "dumped", num_classes=3).state is P


def test_samples_are_held_against_parameters(tmp_path: Path) -> None:
    plain(tmp_path / "set")

    assert reading("data-samples-few", tmp_path / "set", num_parameters=1_000_000).state is P
    assert reading("data-samples-few", tmp_path / "set", num_parameters=50).state is A


def test_the_benchmarks_data(tmp_path: Path) -> None:
    csv(tmp_path / "a" / "train.csv", HEADER, table(200))
    csv(tmp_path / "same" / "train.csv", HEADER, table(200)[::-1])
    csv(tmp_path / "more" / "train.csv", HEADER, table(300))
    csv(tmp_path / "other" / "train.csv", HEADER, table(200, 5))
    a = tmp_path / "a"

    assert reading("data-differs-from-benchmark", a, tmp_path / "same").state is A
    assert reading("data-differs-from-benchmark", a, tmp_path / "more").state is P
    assert reading("data-differs-from-benchmark", a, tmp_path / "other").state is P
    assert reading("data-differs-from-benchmark", a).state is U
    assert reading("data-fewer-than-benchmark", a, tmp_path / "same").state is A
    assert reading("data-fewer-than-benchmark", a, tmp_path / "more").state is P
    assert reading("data-fewer-than-benchmark", a).state is U


def test_dumped_batches_beside_the_benchmarks(tmp_path: Path) -> None:
    """Channels in reverse order are seen, other ways to differ ruled out; other samples rule out none."""
    random = np.random.default_rng(0)
    x = random.random((6, 3, 16, 16))
    for side, some in (("a", x[:, ::-1]), ("b", x), ("c", random.random((6, 3, 16, 16)))):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "batch_0.npy", some)

    assert reading("batches-channels-reversed", tmp_path / "a", tmp_path / "b").state is P
    assert reading("batches-scaled-differently", tmp_path / "a", tmp_path / "b").state is A
    assert reading("batches-samples-differ", tmp_path / "c", tmp_path / "b").state is P
    assert reading("batches-channels-reversed", tmp_path / "c", tmp_path / "b").state is U
    assert reading("batches-channels-reversed", tmp_path / "a").state is U


X = np.random.default_rng(7).random((12, 3, 8, 8))
IDS = np.where(np.arange(16) < 12, np.random.default_rng(8).integers(5, 30, (12, 16)), 0)
ON = (IDS != 0).astype(np.int64)
LABEL = np.array([0, 1, 2, 0, 0, 1, 2, 2, 1, 1, 0, 2])
TARGETS = np.where(ON == 1, IDS, -100)
BOXES = np.array([10.0, 20.0, 40.0, 60.0]) + np.random.default_rng(9).random((12, 3, 4))
TABLE = np.random.default_rng(6).normal(size=(12, 4))
DUMPED: dict[str, object] = {
    "image": X,
    "label": LABEL,
    "input_ids": IDS,
    "attention_mask": ON,
    "targets": TARGETS,
    "boxes": BOXES,
    "features": TABLE,
}


@pytest.mark.parametrize(
    ("symptom", "change"),
    [
        ("batches-labels-apart", {"label": LABEL[::-1]}),
        ("batches-labels-ignored-elsewhere", {"targets": IDS}),
        ("batches-labels-shifted", {"targets": np.roll(TARGETS, 1, 1)}),
        ("batches-labels-differ", {"label": LABEL + 1}),
        ("batches-labels-coded-otherwise", {"label": np.eye(3)[LABEL]}),
        ("batches-boxes-differ", {"boxes": BOXES / 640}),
        ("batches-ids-differ", {"input_ids": np.where(IDS > 0, IDS * 3 + 1, 0)}),
        ("batches-mask-differs", {"attention_mask": np.ones_like(ON)}),
        ("batches-layout-differs", {"image": X[..., ::-1]}),
        ("batches-scaled-differently", {"image": X * 255}),
        ("batches-cut-differently", {"input_ids": np.roll(IDS, 4, 1), "attention_mask": np.roll(ON, 4, 1)}),
        ("batches-resampled", {"image": X[:, :, ::2, ::2]}),
        ("batches-filled-differently", {"features": np.where(np.arange(12)[:, None] % 6 < 1, np.nan, TABLE)}),
        (
            "batches-augmented-differently",
            {"image": X + 0.05 * np.random.default_rng(1).normal(size=X.shape)},
        ),
    ],
)
def test_how_dumped_batches_differ(symptom: str, change: dict[str, object], tmp_path: Path) -> None:
    """Present where the step was taken, absent where nothing differs, unknown where values differ anyhow."""
    image = {"image": X[::2].repeat(2, 0) + np.sin(np.arange(8) / 2)}
    sides = {"mine": DUMPED | change, "theirs": DUMPED, "same": DUMPED, "anyhow": DUMPED | image}
    for side, some in sides.items():
        (tmp_path / side).mkdir()
        np.savez(tmp_path / side / "batch_0.npz", **some)  # type: ignore[arg-type]

    assert reading(symptom, tmp_path / "mine", tmp_path / "theirs").state is P
    assert reading(symptom, tmp_path / "same", tmp_path / "theirs").state is A
    assert reading(symptom, tmp_path / "anyhow", tmp_path / "theirs").state is U
    assert reading(symptom, tmp_path / "mine").state is U


def test_images_in_both_splits(tmp_path: Path) -> None:
    """Equal files under other names, in folders per class."""
    for split, start in (("train", 0), ("val", 18)):
        for i in range(start, start + 20):
            file = tmp_path / "set" / split / ("cat" if i % 2 else "dog") / f"{split}{i}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(png(body=i.to_bytes(2, "big")))

    found = reading("duplicate-samples-across-splits", tmp_path / "set")

    assert found.state is P
    assert found.value == pytest.approx(0.1)


def test_a_manifest_of_many_ranks(tmp_path: Path) -> None:
    """Each process writes a file of its own; both ranks drew the same samples."""
    for rank in range(2):
        with Manifest(tmp_path / f"manifest.rank{rank}.jsonl", split="train", rank=rank) as manifest:
            for i in range(30):
                manifest.add(id=i, sample=np.full(3, i, dtype=np.float32), label=i % 2)

    assert reading("shards-overlap", tmp_path).state is P


def test_a_manifest_sees_values_that_are_no_numbers(tmp_path: Path) -> None:
    with Manifest(tmp_path / "manifest.jsonl", split="train") as manifest:
        for i in range(30):
            manifest.add(id=i, sample=np.array([1.0, np.nan if i == 7 else 2.0]))

    found = reading("inputs-have-nan", tmp_path)

    assert found.state is P
    assert found.where[0].line == 8


def test_declared_samples_that_are_not_there(tmp_path: Path) -> None:
    csv(tmp_path / "train.csv", HEADER, table(50))
    (tmp_path / "dataset_info.json").write_text(json.dumps({"splits": {"train": {"num_examples": 60}}}))

    assert reading("files-missing", tmp_path).state is P


def test_few_discrete_columns_repeat_by_chance(tmp_path: Path) -> None:
    """A survey of four yes/no questions: equal rows on both sides are no leak and no contradiction."""
    random = np.random.default_rng(0)
    for name, n in (("train", 400), ("val", 100)):
        csv(tmp_path / f"{name}.csv", HEADER, random.integers(0, 2, (n, 4)).tolist())

    assert reading("duplicate-samples-across-splits", tmp_path).state is U
    assert reading("data-labels-contradict", tmp_path).state is U


@pytest.mark.parametrize("symptom", [s for s, _, state in CASES if state is P and s.startswith("data-")])
def test_what_is_usual_in_raw_files_names_no_cause_by_itself(symptom: str) -> None:
    """A script may clean, scale and shuffle: one finding about files on disk is no diagnosis of a run."""
    from traindoctor.engine.lint import Subject

    if symptom == "data-files-changed":  # no script can undo that
        return
    found = Subject(_make.rules()).probability({symptom: P}, {})

    assert max(found.values()) < 0.5


def test_codes_do_not_count_in_statistics(tmp_path: Path) -> None:
    """-999 is no outlier, and puts no columns apart; a quantity that is often nothing keeps its zeros."""
    coded(-999)(tmp_path / "set")

    assert reading("data-columns-apart", tmp_path / "set").state is A
    assert reading("data-outliers", tmp_path / "set").state is A


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([*range(20, 60), 0, 0, 0], None),  # three of 43: too many for a gap in the measuring
        ([*(40 + i / 10 for i in range(400)), 0, 0, 0, 0], 0.0),
        ([*range(500), *[-1] * 20], -1.0),
        ([*range(500), *[999_999] * 20], 999_999.0),
        ([*range(500), *[500] * 20], None),  # clipped at the top
        ([*range(-500, 500), *[-999] * 20], None),  # within reach of the others
        ([0] * 900 + [*range(100, 200)], None),  # seldom anything: rain, losses
        ([*(i / 50 for i in range(-150, 150)), *[-200] * 5], -200.0),
        ([1, 2, 3, 4, 5, 99] * 50, None),  # few values: grades, codes of a survey
    ],
)
def test_what_is_taken_for_a_code(values: list[float], code: float | None) -> None:
    from traindoctor.probes.dataset.codes import codes_of

    found = codes_of(np.array(values, dtype=float))

    assert [c.value for c in found] == ([] if code is None else [code])


def test_a_quantity_that_stands_among_the_inputs(tmp_path: Path) -> None:
    """A column that falls with the target in every row; one that only follows it does not count."""
    random = np.random.default_rng(0)
    price = random.lognormal(size=300)
    for name, column in (("fee", -3 * price + 1), ("rooms", price + 0.01 * random.normal(size=300))):
        rows = np.column_stack([random.normal(size=300), column, price]).tolist()
        csv(tmp_path / name / "train.csv", ("a", name, "target"), rows)

    assert reading("data-column-is-label", tmp_path / "fee").state is P
    assert reading("data-column-is-label", tmp_path / "rooms").state is A


def test_numbers_have_their_plural(tmp_path: Path) -> None:
    constant(tmp_path / "set")

    assert reading("data-columns-constant", tmp_path / "set").why.startswith("1 column of")


def test_headers_as_people_write_them(tmp_path: Path) -> None:
    """A name twice, empty columns at the end, and the header once more where files were put together."""
    rows = table(200)
    csv(tmp_path / "twice" / "train.csv", ("a", "a", "c", "label"), rows)
    csv(tmp_path / "empty" / "train.csv", (*HEADER, "", ""), [[*r, "", ""] for r in rows])
    csv(tmp_path / "again" / "train.csv", HEADER, [*rows[:100], HEADER, *rows[100:]])

    assert [c.name for c in measure(tmp_path / "twice").parts[0].columns] == ["a", "a.1", "c", "label"]
    assert reading("data-missing-values", tmp_path / "twice").state is A
    assert reading("data-missing-values", tmp_path / "empty").state is A
    again = reading("data-unreadable", tmp_path / "again")
    assert again.state is P
    assert "header" in again.why
    assert again.where[0].line == 102


def test_answers_are_not_optional(tmp_path: Path) -> None:
    rows = [
        {"instruction": f"do {i}", "input": "", "output": "" if i % 5 == 0 else f"done {i}"}
        for i in range(50)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))

    found = reading("data-missing-values", tmp_path)

    assert found.state is P
    assert "output" in found.why


def test_names_of_cityscapes(tmp_path: Path) -> None:
    for where, name in (("leftImg8bit/train", "a_leftImg8bit"), ("gtFine/train", "a_gtFine_labelIds")):
        (tmp_path / where).mkdir(parents=True)
        (tmp_path / where / f"{name}.png").write_bytes(png())

    assert reading("masks-unlike-images", tmp_path).state is A


def test_what_wrong_boxes_look_like(tmp_path: Path) -> None:
    """Corners in place of width and height, pixels in place of shares of the image."""
    coco(*([20 + i % 9, 20 + i % 5, 40 + i % 20, 30 + i % 15] for i in range(60)))(tmp_path / "corners")
    yolo("0 32 20 12 14")(tmp_path / "some")
    for file in (tmp_path / "some" / "labels" / "train").iterdir():
        file.write_text("0 32 20 12 14\n")

    assert "corners" in reading("boxes-invalid", tmp_path / "corners").why
    assert "pixels" in reading("boxes-invalid", tmp_path / "some").why


def test_captions_beside_images_are_no_boxes(tmp_path: Path) -> None:
    for i in range(5):
        (tmp_path / f"{i}.png").write_bytes(png(body=bytes([i])))
        (tmp_path / f"{i}.txt").write_text("a cat on 2 mats\n")

    assert reading("boxes-invalid", tmp_path).state is U
