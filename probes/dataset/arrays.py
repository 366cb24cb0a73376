""".npy and .npz files as data: fields, samples along the first axis, read by blocks. Objects are refused."""

from __future__ import annotations

import math
import re
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from . import codes, naming
from .gather import WIDEST, Budget, ColumnGather, HashGather, LabelGather, Problems, Reservoir, draw_blocks
from .model import SAMPLE, Column, Part, SingleArray, Split, Squares

MEMBER = 512 * 1024**2  # bytes of one .npz member that are unpacked; of longer ones the beginning
BLOCK = 4 * 1024**2  # bytes that are converted at a time: eight times as much of uint8 in float64
IGNORED = -100
CHANNELS = (1, 3, 4)
COARSE, LEAST_EDGE = 16, 8  # squares along a side of a reduced picture; rows or columns of one
MOST_PICTURES = 5000
STEP = re.compile(r"(?:batch|step|iter|iteration)[-_]?\d+", re.IGNORECASE)  # a folder for each batch


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One array of a file: `data` [n, ...] may be mapped; `rows` is its true length."""

    file: RunFile
    name: str  # "images", "arr_0", the stem of a .npy
    data: Any
    rows: int
    dtype: str

    @property
    def whole(self) -> bool:
        """Whether all of it was unpacked."""
        return len(self.data) == self.rows if self.data.ndim else True


class Refused(ValueError):
    """An array that is not read; the message says why, without the file's name."""


class PassedOver(Refused):
    """An array that may well be sound, and is not looked at."""


def fields(file: RunFile) -> Iterator[Field | tuple[str, Refused]]:
    """Yield the arrays of a .npy or .npz, or (name, why not). Raises Refused or OSError."""
    if file.suffix == ".npy":
        yield _mapped(file)
        return
    with file.open() as handle:
        try:
            archive = zipfile.ZipFile(handle)
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
        except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError) as error:
            raise Refused(f"damaged: {error}") from error
        for member in members[:1000]:
            name = member.filename[: -len(".npy")]
            try:
                with archive.open(member) as stream:
                    data, rows = _unpacked(stream)
                yield Field(file, name, data, rows, str(data.dtype))
            except Refused as error:
                yield name, error
            except (
                zipfile.BadZipFile,
                EOFError,
                RuntimeError,
                NotImplementedError,
                OSError,
                ValueError,
            ) as error:
                yield name, Refused(f"damaged: {str(error)[:100]}")


def _mapped(file: RunFile) -> Field:
    with file.open() as handle:
        shape, fortran, dtype = _header(handle)
        offset = handle.tell()
        room = file.size - offset
        need = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if need > room:
            raise Refused(f"cut off: {room} of {need} bytes of numbers")
        if not need:
            return Field(file, file.name.rsplit(".", 1)[0], np.empty(shape, dtype), _rows(shape), str(dtype))
        data = np.memmap(
            handle, dtype=dtype, mode="r", offset=offset, shape=shape, order="F" if fortran else "C"
        )
    return Field(file, file.name.rsplit(".", 1)[0], data, _rows(shape), str(dtype))


def _rows(shape: tuple[int, ...]) -> int:
    return shape[0] if shape else 1


def _header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that Python 2 wrote a file is no concern of who reads it
            shape, fortran, dtype = read(stream, max_header_size=64 * 1024)
    except (ValueError, EOFError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise Refused(f"its header cannot be read: {str(error)[:80]}") from error
    if dtype.hasobject:
        raise PassedOver("holds Python objects, which are never loaded")
    if dtype.names or dtype.kind not in "biufUS":
        raise PassedOver(f"element type {dtype} is not looked at")
    if any(n < 0 for n in shape):
        raise Refused("its shape cannot be understood")
    return shape, fortran, dtype


def _unpacked(stream: Any) -> tuple[Any, int]:
    """Return (array, true number of rows); of a long one its beginning."""
    shape, fortran, dtype = _header(stream)
    need = int(np.prod(shape, dtype=object)) * dtype.itemsize
    rows = _rows(shape)
    take = shape
    if need > MEMBER:
        if fortran or not shape:
            raise PassedOver(f"{need / 1024**2:.0f} MiB in column order, not unpacked")
        take = (max(1, MEMBER // max(1, need // rows)), *shape[1:])
        need = int(np.prod(take, dtype=object)) * dtype.itemsize
        if need > 2 * MEMBER:
            raise PassedOver("a single row is too large")
    raw = stream.read(need)
    if len(raw) < need:
        raise Refused(f"cut off: {len(raw)} of {need} bytes of numbers")
    return np.frombuffer(raw, dtype=dtype).reshape(take, order="F" if fortran else "C"), rows


# --------------------------------------------------------------------------------------------- parts


def is_batched(files: Sequence[RunFile]) -> bool:
    """Whether files are batches that were dumped one by one: named so, or numbered with few rows each."""
    stems = [f.name.rsplit(".", 1)[0].lower() for f in files]
    numbered = [s for s in stems if any(c.isdigit() for c in s)]
    named = [s for s in stems if "batch" in s or "step" in s]
    where = any("batch" in p.lower() for p in files[0].path.split("/")[:-1])
    if all(STEP.fullmatch(f.path.rpartition("/")[0].rpartition("/")[2]) for f in files):
        return True
    return (len(named) >= 1 and len(named) == len(stems)) or (where and len(numbered) == len(stems))


def read_arrays(files: Sequence[RunFile], split: Split, batched: bool, budget: Budget) -> list[Part]:
    """Read arrays that lie together; one part for each split that their names tell."""
    gathers: dict[Split, _Arrays] = {}
    for number, file in enumerate(files):
        try:
            found = list(fields(file))
        except (Refused, OSError) as error:
            _of(gathers, split, budget, batched).refuse(file.path, error)
            continue
        by_split: dict[Split, list[Field]] = defaultdict(list)
        for one in found:
            if isinstance(one, tuple):
                _of(gathers, split, budget, batched).refuse(file.path, one[1], f"{one[0]}: ")
            else:
                named = naming.split_of(one.name) if file.suffix == ".npz" else split
                by_split[named or split].append(one)
        for where, some in by_split.items():
            _of(gathers, where, budget, batched).take(some, len(files) - number)
    return [g.part() for g in gathers.values()]


def _of(gathers: dict[Split, _Arrays], split: Split, budget: Budget, batched: bool) -> _Arrays:
    if split not in gathers:
        gathers[split] = _Arrays(split, budget, batched)
    return gathers[split]


class _Arrays:
    """The fields of one split, over its files."""

    def __init__(self, split: Split, budget: Budget, batched: bool) -> None:
        self.split = split
        self.budget = budget
        self.batched = batched
        self.files: list[str] = []
        self.columns: dict[str, ColumnGather] = {}
        self.labels: LabelGather | None = None
        self.problems = Problems()
        self.rows: dict[str, int] = defaultdict(int)
        self.looked: dict[str, int] = defaultdict(int)
        self.field_rows: dict[str, int] = defaultdict(int)
        self.sample_shapes: dict[str, tuple[int, ...]] = {}
        self.label_rows: dict[str, int] = defaultdict(int)
        self.hashes = HashGather()
        self.hashed = ""
        self.exact = True
        self.notes: dict[str, None] = {}
        self.features = Reservoir(SAMPLE // 4, budget.bounds.seed)
        self.feature_names: tuple[str, ...] = ()
        self.masks = 0
        self.masks_empty: list[Place] = []
        self.single: dict[str, SingleArray] = {}
        self.squares: dict[str, tuple[str, Any]] = {}  # pictures reduced, or labels, until both are there
        self.reduced: list[Squares] = []
        self.waiting: dict[str, Any] = {}  # features or labels that look for their other half

    def refuse(self, path: str, error: Refused | OSError, field: str = "") -> None:
        """Say why an array is not read: a problem, or a note where it may be sound."""
        why = str(error) if isinstance(error, Refused) else error.strerror or "cannot be read"
        if isinstance(error, PassedOver):
            self.notes[f"{path}: {field}{why}"] = None
            self.exact = False
        else:
            self.problems.add(path, f"{field}{why}")
        self.name(path)

    def name(self, path: str) -> int:
        """Return the number of a file."""
        if path not in self.files:
            self.files.append(path)
        return self.files.index(path) if self.files[-1] != path else len(self.files) - 1

    def take(self, some: Sequence[Field], left: int) -> None:
        """Read the fields of one file."""
        for one in some:
            number = self.name(one.file.path)
            role = self._role(one, len(some))
            field = naming.bare(one.name)
            self.rows[field] += one.rows
            if len(some) == 1 and one.file.suffix == ".npy" and one.data.ndim > 1 and one.data.size:
                self.single[one.file.path] = _single(one.data)
            if not one.whole:
                self.exact = False
                self.notes[f"of {one.name} only the first {len(one.data)} rows were unpacked"] = None
            if one.data.dtype.kind in "US" or not one.data.ndim:
                continue
            if role == "labels":
                if one.data.ndim == 1 or (one.data.ndim == 2 and one.data.shape[1] == 1):
                    self.label_rows[field] += one.rows
                self._labels(one, some)
            elif role == "mask":
                self._mask(one)
            else:
                if one.data.ndim > 1 or naming.is_input(one.name):
                    self.field_rows[field] += one.rows
                shape = one.data.shape[1:]
                # () stands for a field whose samples differ from file to file
                self.sample_shapes[field] = shape if self.sample_shapes.get(field, shape) == shape else ()
                self._inputs(one, field, number, left)

    def _role(self, one: Field, among: int) -> str:
        if naming.is_mask(one.name):
            return "mask"
        if naming.is_label(one.name):
            return "labels"
        alone = among == 1 and one.file.suffix == ".npy" and one.data.ndim > 1
        return "labels" if alone and naming.holds_labels(one.file.path) else "inputs"

    def _labels(self, one: Field, beside: Sequence[Field]) -> None:
        if self.labels is None:
            self.labels = LabelGather(one.name)
        data = one.data
        others = [f.data.shape for f in beside if f is not one]
        self.labels.maps |= data.ndim > 2 or (data.ndim == 2 and data.shape[1] > 1 and data.shape in others)
        if data.nbytes > self.budget.bounds.samples * 64 or not self.budget.take(data.nbytes):
            self.exact = False
            data = data[: max(1, self.budget.bounds.samples // max(1, data[0].size))]
        path = one.file.path
        values = np.asarray(data, dtype=np.float64)
        if values.ndim == 2 and 1 < values.shape[1] <= 10_000 and _one_hot(values):
            values = values.argmax(axis=1).astype(np.float64)
        width = max(1, values[0].size) if len(values) else 1
        flat = values.reshape(-1)
        kept = flat != IGNORED
        whole = len(data) == one.rows
        if whole and flat.size:
            self.labels.batches += 1
            if not kept.any():
                self.labels.ignored.append(Place(path))
        index = np.flatnonzero(kept)

        def place(i: int) -> Place:
            return Place(path, int(index[i]) // width + 1)

        if self.batched:
            self.labels.cut()
        self.labels.add_numbers(flat[index], place)
        gone = np.flatnonzero(~np.isfinite(flat))
        if len(gone):
            column = self.columns.setdefault("labels", ColumnGather("labels", 0, one.dtype))
            column.add_numbers(flat, lambda i: Place(path, i // width + 1))
        if flat.size == len(values):
            self._reduced(one, "labels", flat)
            self._pair(one, "labels", values)

    def _mask(self, one: Field) -> None:
        if not self.budget.take(one.data.nbytes):
            return
        mask = np.asarray(one.data)
        if mask.ndim < 2:
            return
        self.masks += 1
        hides = mask.dtype.kind == "f" and float(mask.min()) < 0  # additive: 0 keeps, large negative hides
        keeps = (mask > -1.0) if hides else (mask != 0)
        empty = np.flatnonzero(~keeps.any(axis=-1).reshape(len(mask), -1).all(axis=1))
        if len(empty):
            self.masks_empty.append(Place(one.file.path, int(empty[0]) + 1))

    def _inputs(self, one: Field, field: str, number: int, left: int) -> None:
        data, path = one.data, one.file.path
        if not len(data) or not data[0].size:
            self.problems.add(path, f"{one.name}: no numbers in it")
            return
        limit = max(1, (self.budget.bounds.samples - self.looked[field]) // left)
        row_bytes = max(1, int(data[0].nbytes))
        limit = min(limit, max(1, self.budget.bytes // (4 * row_bytes)))
        blocks = draw_blocks(len(data), limit, self.budget.bounds.seed, max(1, min(1024, 2**22 // row_bytes)))
        stride = max(1, BLOCK // row_bytes)
        names, axis = _channels(field, data.shape)
        if limit < one.rows:
            self.exact = False
        taken: list[Any] = []
        pictures: list[Any] = []
        for start, stop in blocks:
            for at in range(start, stop, stride):
                block = np.asarray(data[at : min(at + stride, stop)])
                if not self.budget.take(block.nbytes):
                    self.notes[f"stopped after {self.budget.spent_out}"] = None
                    self.exact = False
                    return
                self._block(block, names, axis, one.dtype, path, at)
                self.looked[field] += len(block)
                if self.hashed in ("", field) and data.ndim > 1:
                    self.hashed = field
                    # Wide rows are hashed whole: a view of bytes per sample costs no copy.
                    flat = np.ascontiguousarray(block).reshape(len(block), -1)
                    self.hashes.add(
                        [hash(r.tobytes()) for r in flat], number, np.arange(at, at + len(block)) + 1
                    )
                if data.ndim == 2 and data.shape[1] <= WIDEST:
                    taken.append(block)
                elif data.nbytes <= MEMBER and len(data) <= limit and (few := squares(block)) is not None:
                    pictures.append(few)
        if pictures:
            self._reduced(one, "pictures", np.concatenate(pictures))
        if taken and len(data) <= limit:
            self._pair(one, "features", np.concatenate(taken).astype(np.float64))

    def _block(
        self,
        block: Any,
        names: Sequence[str],
        axis: int | None,
        dtype: str,
        path: str,
        at: int,
    ) -> None:
        if axis is None:
            size = max(1, block[0].size)
            gather = self._column(names[0], dtype)
            values = block.reshape(-1).astype(np.float64)
            whole = block.dtype.kind in "iub"
            gather.add_numbers(values, lambda i: Place(path, at + i // size + 1), whole=whole)
            return
        for i, name in enumerate(names):
            some = np.take(block, i, axis=axis)
            size = max(1, some[0].size)
            values = some.reshape(-1).astype(np.float64)
            self._column(name, dtype).add_numbers(
                values,
                lambda k, size=size: Place(path, at + k // size + 1),
                whole=block.dtype.kind in "iub",
            )

    def _column(self, name: str, dtype: str) -> ColumnGather:
        if name not in self.columns:
            self.columns[name] = ColumnGather(name, len(self.columns) + self.budget.bounds.seed, dtype)
        return self.columns[name]

    def _pair(self, one: Field, what: str, values: Any) -> None:
        """Bring features and labels of equal length together, for looking at neighbours."""
        other = "labels" if what == "features" else "features"
        waiting = self.waiting.pop(other, None)
        if waiting is None or len(waiting[1]) != len(values):
            self.waiting[what] = (one.file.path, values)
            return
        features, labels = (values, waiting[1]) if what == "features" else (waiting[1], values)
        path = one.file.path if what == "features" else waiting[0]
        rows = np.arange(len(features), dtype=np.float64) + 1
        number = np.full(len(features), float(self.name(path)))
        if not self.features.held or self.features.kept[0].shape[1] == features.shape[1] + 3:
            self.features.add(np.column_stack([features, labels, rows, number]))

    def _reduced(self, one: Field, what: str, values: Any) -> None:
        """Bring pictures and labels of equal length together; those of the first such files."""
        self.squares[what] = (one.file.path, values)
        pictures, labels = self.squares.get("pictures"), self.squares.get("labels")
        if self.batched or self.reduced or pictures is None or labels is None:
            return
        if len(pictures[1]) == len(labels[1]):
            rows = np.random.default_rng(self.budget.bounds.seed).permutation(len(labels[1]))[:MOST_PICTURES]
            rows = np.sort(rows[np.isfinite(labels[1][rows]) & np.isfinite(pictures[1][rows]).all(axis=1)])
            told = tuple(f"{v:g}" for v in labels[1][rows].tolist())
            places = tuple(Place(pictures[0], int(r) + 1) for r in rows)
            before, after = (tuple(f"{v:g}" for v in np.roll(labels[1], by)[rows].tolist()) for by in (1, -1))
            features = pictures[1][rows].astype(np.float64)
            self.reduced.append(Squares(features, told, places, before, after))
            self.squares.clear()

    def part(self) -> Part:
        """Return what was gathered."""
        columns: tuple[Column, ...] = tuple(
            codes.apart(c) if "[" in c.name else c for c in (g.column() for g in self.columns.values())
        )  # columns of a table of numbers; in pictures and signals a number that repeats is a level
        kept = self.features.rows()
        targets: tuple[str, ...] = ()
        places: tuple[Place, ...] = ()
        features = np.empty((0, 0))
        if len(kept):
            good = np.isfinite(kept).all(axis=1)
            kept = kept[good]
            features = kept[:, :-3]
            targets = tuple(f"{v:g}" for v in kept[:, -3].tolist())
            places = tuple(Place(self.files[int(f)], int(r)) for r, f in kept[:, -2:].tolist())
        hashes, file_of, row_of = self.hashes.arrays()
        fields = self.looked or self.rows
        rows = max(self.rows.values(), default=None)
        return Part(
            self.split,
            "batches" if self.batched else "array",
            "NumPy arrays",
            tuple(self.files),
            rows,
            self.exact,
            max(fields.values(), default=0),
            columns,
            self.labels.labels() if self.labels is not None else None,
            features,
            tuple(f"feature {i}" for i in range(features.shape[1])) if features.size else (),
            targets,
            places,
            hashes,
            hashes,
            file_of,
            row_of,
            tuple(self.problems.found),
            self.problems.count,
            tuple(self.notes),
            masks_empty=tuple(self.masks_empty[:20]),
            masks=self.masks,
            field_rows=dict(self.field_rows),
            label_rows=dict(self.label_rows),
            sample_shapes=dict(self.sample_shapes),
            hashed="rows" if self.hashed else "",
            squares=self.reduced[0] if self.reduced else None,
            single={} if self.batched else self.single,
        )


def _single(data: Any) -> SingleArray:
    """The shape of a file's one array, and how far its numbers go: of 4096 of them, in 32 stretches."""
    if data.dtype.kind not in "biuf":
        return SingleArray(data.shape, np.nan, np.nan)
    flat = data.reshape(-1) if data.flags.c_contiguous else np.asarray(data[0]).reshape(-1)
    starts = np.linspace(0, max(0, len(flat) - 128), 32).astype(np.int64)
    some = np.concatenate([flat[at : at + 128] for at in starts.tolist()]).astype(np.float64)
    some = some[np.isfinite(some)]
    if not len(some):
        return SingleArray(data.shape, np.nan, np.nan)
    low, high = np.quantile(some, (0.02, 0.98))
    return SingleArray(data.shape, float(low), float(high))


def squares(block: Any) -> Any:
    """Pictures [n, h, w], [n, h, w, c], [n, c, h, w] or flat, as squares of grey [n, k]; None for others."""
    n = len(block)
    if block.ndim == 2:
        edge, colours = math.isqrt(block.shape[1]), math.isqrt(block.shape[1] // 3)
        if edge**2 == block.shape[1]:
            block = block.reshape(n, edge, edge)
        elif 3 * colours**2 == block.shape[1]:
            block = block.reshape(n, 3, colours, colours)
        else:
            return None
    if block.ndim == 4:
        axis = next((a for a in (3, 1) if block.shape[a] in CHANNELS), None)
        block = None if axis is None else block.astype(np.float32).mean(axis=axis)
    if block is None or block.ndim != 3 or min(block.shape[1:]) < LEAST_EDGE:
        return None
    step = -(-max(block.shape[1:]) // COARSE)
    height, width = (s // step * step for s in block.shape[1:])
    parts = block[:, :height, :width].astype(np.float32)
    return parts.reshape(n, height // step, step, width // step, step).mean(axis=(2, 4)).reshape(n, -1)


def _one_hot(values: Any) -> bool:
    return bool(((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all())


def _channels(field: str, shape: Mapping[int, int] | tuple[int, ...]) -> tuple[list[str], int | None]:
    """Name the columns or channels of an array, and the axis that they lie along (None: all as one)."""
    if len(shape) == 2 and shape[1] <= WIDEST:
        return ([field] if shape[1] == 1 else [f"{field}[{i}]" for i in range(shape[1])]), 1
    if len(shape) == 4:
        for axis in (1, 3):
            if shape[axis] in CHANNELS and shape[4 - axis] > 4:
                return [f"{field} channel {i}" for i in range(shape[axis])], axis
    return [field], None
