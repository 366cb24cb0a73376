"""Folders of images or recordings: one class per folder, headers for all, pixels for a seeded few."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from . import groups, naming, sounds
from .gather import Budget, ColumnGather, HashGather, LabelGather, Problems
from .media import AUDIO, IMAGES, Damaged, read_header, rotten_png
from .model import Column, Grouped, Part, Split

PIXELS = 400  # images whose pixels are looked at
EDGE = 64  # pixels are looked at in a reduced picture of at most this many rows and columns
FLAT = 3.0  # grey levels over which a picture of one colour may go: rounding of JPEG
HEADER = 64  # bytes before the sound of a WAV file
TOO_LARGE = 64 * 1024**2
MOST_PIXELS = 50_000_000
MASKED = 0.5  # masks to a picture from which on a set is one for segmentation


def is_media(file: RunFile) -> bool:
    """Whether a file is an image or a recording, by its name."""
    return file.suffix in IMAGES or file.suffix in AUDIO


def read_folder(files: Sequence[RunFile], split: Split, what: str, budget: Budget) -> Part:
    """Read the headers of a folder's files ("images", "masks" or "audio"), in the order of their paths."""
    images = what == "images"
    looked, notes = _drawn(files, budget), []
    problems, labels = Problems(), LabelGather("folder", by_folder=True)
    by_folder: dict[str, Counter[str]] = defaultdict(Counter)
    good: list[RunFile] = []
    sizes: dict[str, tuple[int, int]] = {}
    coded: dict[str, tuple[str, int]] = {}
    oriented: dict[str, int] = {}
    classes = classes_of(files) if what != "masks" else {}
    read = 0
    for file in looked:
        if not budget.take(min(file.size, 64 * 1024)):
            notes.append(f"stopped after {budget.spent_out}")
            break
        read += 1
        try:
            header = read_header(file)
        except Damaged as error:
            problems.add(file.path, str(error))
            continue
        except OSError as error:
            problems.add(file.path, error.strerror or "cannot be read")
            continue
        by_folder[file.path.rpartition("/")[0]][header.shape] += 1
        sizes[file.path] = (header.width, header.height)
        if images:
            coded[file.path] = (header.form, header.steps)
            if header.turned != 1:
                oriented[file.path] = header.turned
        good.append(file)
    aside = _beside_pictures(looked) if images else frozenset()
    shapes: Counter[str] = Counter()
    for folder, some in by_folder.items():
        if folder not in aside or len({s.rpartition(" ")[2] for s in some}) > 1:
            shapes += some
    for file in files if classes else ():
        labels.add_texts([classes[file.path]])
    columns: tuple[Column, ...] = ()
    blank: tuple[Place, ...] = ()
    clipped: tuple[Place, ...] = ()
    levels: list[float] = []
    seen = 0
    if images and good:
        columns, note, blank, seen = _pixels(good, budget, problems)
        notes += [note] if note else []
    elif what == "audio":
        blank, clipped, seen, levels = sounds.listen(good, budget.bounds.seed)
    return Part(
        split,
        "masks" if what == "masks" else "images" if images else "audio",
        "masks"
        if what == "masks"
        else "images"
        if images
        else "WAV"
        if all(f.suffix == ".wav" for f in files)
        else "audio",
        tuple(f.path for f in files),
        len(files),
        True,
        read,
        columns,
        labels.labels() if classes else None,
        problems=tuple(problems.found),
        problem_count=problems.count,
        notes=tuple(notes),
        shapes=dict(shapes.most_common()),
        sizes=sizes,
        coded=coded,
        oriented=oriented,
        folder_classes=classes if images else {},
        blank=blank,
        filled=seen,
        clipped=clipped,
        levels=np.array(levels),
        groups=_groups(files) if what != "masks" else (),
        hashed="files" if what != "masks" else "",
    )


_OF_PICTURES = re.compile(r"image|img|rgb|left", re.I)
PARALLEL = 0.8  # share of a folder's names that another one has too, where one sample has a file in each
LEAST_PARALLEL = 5


def _beside_pictures(files: Sequence[RunFile]) -> frozenset[str]:
    """Folders with the same names of files as the first of them: depth, disparity, a second camera."""
    names: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for file in files:
        folder, _, name = file.path.rpartition("/")
        names[folder.rpartition("/")[0]][folder].add(name.rpartition(".")[0])
    found = set()
    for siblings in names.values():
        first = min(siblings, key=lambda f: (not _OF_PICTURES.match(f.rpartition("/")[2]), f))
        mine = siblings[first]
        for folder in siblings:
            shared = len(mine & siblings[folder])
            if folder != first and shared >= max(LEAST_PARALLEL, PARALLEL * len(siblings[folder])):
                found.add(folder)
    return frozenset(found)


def _drawn(files: Sequence[RunFile], budget: Budget) -> Sequence[RunFile]:
    limit = budget.bounds.samples
    if len(files) <= limit:
        return files
    chosen = np.random.default_rng(budget.bounds.seed).choice(len(files), limit, replace=False)
    return [files[i] for i in sorted(chosen.tolist())]


def classes_of(files: Sequence[RunFile]) -> dict[str, str]:
    """The class of each file: its folder, where several sibling folders hold the files of one split."""
    folders: dict[str, set[str]] = defaultdict(set)
    found = {}
    for file in files:
        parts = file.path.split("/")[:-1]
        if not parts:
            return {}
        folders["/".join(parts[:-1])].add(parts[-1])
        found[file.path] = parts[-1]
    names = set(found.values())
    plain = {"images", "image", "imgs", "wavs", "wav", "audio", "jpegimages", "masks", "annotations"}
    if len(names) < 2 or {n.lower() for n in names} & plain or all(naming.split_of(n) for n in names):
        return {}
    return found if max(map(len, folders.values())) >= 2 else {}


def unclassed(parts: Sequence[Part]) -> list[Part]:
    """The parts, pictures that have masks without classes: their folders are cities, films or patients."""
    masks = [p for p in parts if p.kind == "masks"]
    return [
        replace(p, labels=None)
        if p.kind == "images"
        and any(m.split == p.split and len(m.files) >= MASKED * len(p.files) for m in masks)
        else p
        for p in parts
    ]


def _groups(files: Sequence[RunFile]) -> tuple[Grouped, ...]:
    """Whom each file is about, where nearly all of their names tell it ("patient012_slice07.png")."""
    found = [groups.in_name(f.path) for f in files]
    if sum(f is not None for f in found) < 0.9 * len(found):
        return ()
    values = np.array([hash(f) if f is not None else 0 for f in found], dtype=np.int64)
    return (Grouped("the files' names", values),)


def _contents(files: Sequence[RunFile], budget: Budget, blank: Container[str]) -> HashGather:
    """Hash what can be equal: only files of one size are opened; the others differ by their size."""
    gather = HashGather()
    by_size = Counter(f.size for f in files)
    for number, file in enumerate(files):
        if by_size[file.size] < 2 or file.size > TOO_LARGE or file.path in blank:
            digest = hash((file.size, file.path))
        elif budget.take(file.size):
            try:
                data = file.read_bytes(TOO_LARGE)
            except OSError:
                continue
            if file.suffix in AUDIO and data.count(data[-1:], HEADER) >= len(data) - HEADER:
                digest = hash((file.size, file.path))  # silent or empty files are not one sample
            else:
                raw = hashlib.blake2b(data, digest_size=8).digest()
                digest = int.from_bytes(raw, "little", signed=True)
        else:
            break
        gather.add([digest], number, [0])
    return gather


def with_hashes(parts: Sequence[Part], files: dict[str, RunFile], budget: Budget) -> list[Part]:
    """Hash the files of all splits together: what is alone of its size in one may meet another elsewhere."""
    media = [p for p in parts if p.kind in ("images", "audio")]
    together = [files[path] for p in media for path in p.files]
    blank = {place.file for part in media for place in part.blank}  # of one colour: not one sample
    blank |= {q.place.file for part in media for q in part.problems}  # notes that a file is missing are alike
    found, file_of, _ = _contents(together, budget, blank).arrays()
    kept, start = {}, 0
    for part in media:
        mine = (file_of >= start) & (file_of < start + len(part.files))
        at = file_of[mine] - start
        contents = found[mine]
        classes = classes_of([files[path] for path in part.files]) if part.labels is not None else {}
        labelled = (
            np.array([hash((int(c), classes[part.files[i]])) for c, i in zip(contents, at, strict=True)])
            if classes
            else contents
        )
        kept[id(part)] = replace(
            part,
            hashes=labelled.astype(np.int64),
            inputs=contents,
            file_of=at.astype(np.int32),
            row_of=np.zeros(int(mine.sum()), dtype=np.int64),
        )
        start += len(part.files)
    return [kept.get(id(p), p) for p in parts]


def _pixels(
    files: Sequence[RunFile], budget: Budget, problems: Problems
) -> tuple[tuple[Column, ...], str, tuple[Place, ...], int]:
    """Statistics per channel over a seeded few, through Pillow if it is there; pictures of one colour."""
    try:
        from PIL import Image
    except ImportError:
        return (), "pixels not looked at: needs Pillow (pip install traindoctor[data])", (), 0
    random = np.random.default_rng(budget.bounds.seed)
    count = min(PIXELS, len(files))
    chosen = sorted(random.choice(len(files), count, replace=False).tolist())
    channels = [ColumnGather(n, i) for i, n in enumerate(("red", "green", "blue"))]
    seen = 0
    blank: list[Place] = []
    for at in chosen:
        if not budget.take(min(files[at].size, TOO_LARGE)):
            break
        if files[at].suffix == ".png" and _rotten(files[at]):
            problems.add(files[at].path, "damaged: a checksum of the PNG is not that of its content")
            continue
        picture = _picture(Image, files[at])
        if picture is None:
            continue
        seen += 1
        place = Place(files[at].path)
        if np.ptp(picture, axis=(0, 1)).max() <= FLAT and not _meant_blank(files[at].path):
            blank.append(place)
        for i, gather in enumerate(channels):
            gather.add_numbers(picture[..., i].reshape(-1), lambda _, place=place: place)
    note = f"pixels of {seen} of {len(files)} images looked at (seed {budget.bounds.seed})"
    return tuple(c.column() for c in channels) if seen else (), note, tuple(blank), seen


def _rotten(file: RunFile) -> bool:
    try:
        return file.size <= TOO_LARGE and rotten_png(file.read_bytes())
    except OSError:
        return False


def _meant_blank(path: str) -> bool:
    """Whether a file lies in a folder for what is empty: such a class is meant to be."""
    return bool(set(path.lower().split("/")[:-1]) & sounds.QUIET)


def _picture(images: Any, file: RunFile) -> Any:
    try:
        with warnings.catch_warnings(), file.open() as handle, images.open(handle) as picture:
            warnings.simplefilter("ignore")
            if picture.width * picture.height > MOST_PIXELS:
                return None
            if picture.mode.startswith(("I", "F")):  # more than 8 bits: turned into RGB they would be cut off
                steps = max(1, picture.height // EDGE), max(1, picture.width // EDGE)
                deep = np.asarray(picture, dtype=np.float64)[:: steps[0], :: steps[1]]
                return np.repeat(deep[..., None], 3, axis=2)
            picture.draft("RGB", (EDGE, EDGE))
            return np.asarray(picture.convert("RGB").resize((EDGE, EDGE)), dtype=np.float64)
    except Exception:  # Pillow raises whatever its decoders meet; the header was sound, so this is no finding
        return None
