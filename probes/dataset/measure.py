"""From a path to a `DataSet`: what lies there, what belongs together, each part read within the bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..files import LOST_LINK, RunFile, walk
from . import (
    alike,
    arrays,
    boxes,
    drawn,
    folders,
    kaldi,
    labelme,
    lists,
    masks,
    media,
    mindrecord,
    named,
    naming,
    own,
    packed,
    plain,
    records,
    stores,
    tables,
    tagged,
    tars,
    tokens,
)
from .gather import Budget, Problems
from .model import Bounds, DataSet, Drawn, Epochs, Listed, Part, Split
from .naming import ARRAYS, LINES, RECORDS, TABLES

MAX_FILES = 500_000
NOT_READ = "is not read; batches dumped as .npy, or a manifest, tell of it"
MOST_JSON = 64 * 1024**2
_SPLITS: tuple[Split, ...] = ("train", "", "eval", "test")
Progress = Callable[[str], None]


def measure(
    path: Path,
    bounds: Bounds | None = None,
    *,
    validation: Path | None = None,
    only: Callable[[RunFile], bool] | None = None,
    progress: Progress | None = None,
) -> DataSet:
    """Measure the data below `path` (a directory or one file).

    `validation` holds the evaluation split, whatever its files are called; the rest is then for training
    unless a name tells otherwise. `only` picks files. Raises RunUnreadable.
    """
    bounds = bounds or Bounds()
    files, notes = walk(path, limit=MAX_FILES)
    if only is not None:
        files = [f for f in files if only(f)]
    held: list[RunFile] = []
    if validation is not None:
        held, more = _beside(validation)
        notes += more
        theirs = {(f.root / f.path).resolve() for f in held}
        files = [f for f in files if (f.root / f.path).resolve() not in theirs]
    return _Measure(str(path), files, notes, bounds, held, progress).data()


def _beside(path: Path) -> tuple[list[RunFile], list[str]]:
    """The files of a second folder, by paths that begin with its name."""
    files, notes = walk(path, limit=MAX_FILES)
    root = path.resolve().parent
    if path.is_file():
        return files, notes
    name = path.resolve().name
    return [RunFile(root, f"{name}/{f.path}", f.size, f.mtime) for f in files], notes


class _Measure:
    """The steps of measuring one path, in order; lives only inside `measure`."""

    def __init__(
        self,
        path: str,
        files: Sequence[RunFile],
        notes: Sequence[str],
        bounds: Bounds,
        held: Sequence[RunFile],
        progress: Progress | None,
    ) -> None:
        self.path = path
        self.files = {f.path: f for f in files}
        for file in held:
            self.files[file.path] = file
        self.held = frozenset(f.path for f in held)
        self.notes = list(notes)
        self.bounds = bounds
        self.default: Split = "train" if held else ""
        self.progress = progress
        self.budget = Budget(bounds)
        self.parts: list[Part] = []
        self.not_read: list[tuple[str, str]] = []
        self.listed: list[Listed] = []
        self.epochs: list[Epochs] = []
        self.ranks = drawn.Ranks()
        self.drawn: list[Drawn] = []
        self.rank_lists: dict[RunFile, frozenset[str]] = {}
        self.declared: dict[str, int] = {}
        self.gone: list[str] = []
        self.told_gaps: list[str] = []
        self.boxes: list[boxes.Boxes] = []
        self.pictured: bool | None = None
        self.headers = tables.Headers()

    def data(self) -> DataSet:
        """Read everything, by kind."""
        groups: dict[tuple[str, ...], list[RunFile]] = defaultdict(list)
        for file in list(self.files.values()):
            key = self._kind(file)
            if key is not None:
                groups[key].append(self.files[file.path])
        self._foreign({file.path for some in groups.values() for file in some})
        order = sorted(groups, key=lambda k: (k[0] == "media", k))
        for key in order:
            self._guarded(key, groups[key])
        self._boxes()
        self._named()
        self.parts = folders.unclassed(self.parts)
        self.parts = folders.with_hashes(self.parts, self.files, self.budget)
        self.parts = alike.with_alike(self.parts, self.files, self.budget)
        self.parts = masks.with_masks(self.parts, self.files, self.budget)
        self.parts = [_unlabelled(self._settled(p)) for p in self.parts]
        self.parts.sort(key=lambda p: _SPLITS.index(p.split))
        gaps, numbered = self._gaps()
        if self.budget.spent_out:
            self.notes.append(
                f"looking ended after {self.budget.spent_out}; what was not looked at is not judged"
            )
        return DataSet(
            self.path,
            tuple(self.parts),
            lists.shards_of(self.rank_lists, self.ranks.whole(), tuple(self.ranks.files)),
            tuple(self.listed),
            tuple(self.epochs),
            gaps,
            numbered,
            self.declared,
            tuple(self.boxes),
            tuple(dict.fromkeys(self.notes)),
            tuple(self.not_read),
            self.bounds,
            drawn.together(self.drawn),
        )

    def _foreign(self, known: set[str]) -> None:
        """Say which forms of data lie there and are not read."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.files:
            kind = next((k for e, k in naming.FOREIGN.items() if path.lower().endswith(e)), None)
            if kind is not None and path not in known:
                found[kind].append(path)
        for kind, paths in found.items():
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            self.notes.append(f"{paths[0]}{more}: {kind} {NOT_READ}")

    # ------------------------------------------------------------------------------------- what it is

    def _kind(self, file: RunFile) -> tuple[str, ...] | None:
        """The group that a file is read in; None when it is no data, or is read at once."""
        try:
            return self._kind_of(file)
        except OSError as error:
            self.not_read.append((file.path, error.strerror or "cannot be read"))
        except (ValueError, RecursionError, MemoryError) as error:
            self.not_read.append((file.path, f"damaged: {str(error)[:120] or type(error).__name__}"))
        return None

    def _kind_of(self, file: RunFile) -> tuple[str, ...] | None:
        if packed.inner(file.name):
            file = self.files[file.path] = packed.unpacked(file)
        split = self._split(file)
        folder = file.path.rpartition("/")[0]
        if folders.is_media(file):
            if file.suffix in media.IMAGES and self._is_mask(file):
                return ("media", split, "masks")
            return ("media", split, "images" if file.suffix in media.IMAGES else "audio")
        if file.size == 0:
            known = file.suffix in TABLES | LINES | RECORDS | ARRAYS
            return ("empty", file.path) if known else None
        if lists.is_manifest(file) if file.suffix not in ARRAYS else False:
            return ("list", file.path)
        members = lists.rank_list(file)
        if members is not None:
            self.rank_lists[file] = members
            return None
        if file.suffix in ARRAYS:
            batched = arrays.is_batched([file])
            above, _, last = folder.rpartition("/")
            folder = above if arrays.STEP.fullmatch(last) else folder
            return ("arrays", folder, split if batched or split else "", str(batched))
        if (
            file.suffix in RECORDS
            or ".tfrecord" in file.name.lower()
            or (naming.one_of(file.name) is not None and records.is_tfrecord(file))
        ):
            return ("tfrecord", split)
        if file.suffix in (".bin", ".idx"):
            return ("tokens", split) if tokens.is_tokens(file, self.files) else None
        if file.suffix == ".tar" and tars.is_webdataset(file):
            return ("tar", split)
        if mindrecord.is_index(file):
            return ("mindrecord", file.path)
        if mindrecord.lacks_index(file, self.files):
            return ("unreadable", file.path, f"its index {file.name}.db is not there")
        if file.suffix == ".parquet" or stores.is_parquet(file):
            return ("parquet", split)
        if file.suffix == ".arrow":
            return ("arrow", split)
        if file.name == "dataset_info.json":
            self.declared.update(stores.declared(file))
            return None
        if file.name == "state.json":
            self.gone += [
                f"{folder}/{n}".lstrip("/")
                for n in stores.files_of_state(file)
                if f"{folder}/{n}".lstrip("/") not in self.files
            ]
            return None
        return self._text_kind(file, split)

    def _text_kind(self, file: RunFile, split: Split) -> tuple[str, ...] | None:
        if kaldi.is_kaldi(file, self.files):
            return ("kaldi", file.path)
        if tagged.is_tagged(file):
            return ("tagged", split)
        if file.suffix in TABLES:
            found = tables.dialect(file)
            if naming.is_submission(file.name):
                self.headers.asked(file, found[1] if found is not None else ())
                return None
            if found is None:
                self.not_read.append((file.path, "no table in it"))
                return None
            if self._is_log(file, found[1]):
                return None
            self.headers.add(file, split, found[1])
            return ("csv", split, found[0], str(found[2]), *found[1])
        if file.suffix in LINES or (file.suffix == ".json" and tables.is_lines(file)):
            names = tables.json_names(file)
            if names is None and tables.is_endless(file):
                self.notes.append(f"{file.path}: its lines are too long to be looked at")
                return None
            if names is None:
                return ("unreadable", file.path, "no JSON object in it")
            if self._is_log(file, names):
                return None
            return ("jsonl", split, *sorted(names)) if len(names) < 50 else ("jsonl", split, file.path)
        if file.suffix == ".json" and file.head.lstrip()[:1] in (b"[", b"{"):
            if labelme.is_labelme(file):
                return ("labelme", split)
            return ("json", file.path) if file.size <= MOST_JSON else None
        return plain.group(file, self.files)

    def _is_log(self, file: RunFile, names: Iterable[str]) -> bool:
        """Whether a table beside other files is the log of a training; that is noted."""
        if len(self.files) < 2 or not own.logs_training(names):
            return False
        self.notes.append(f"{file.path}: the log of a training, and no data")
        return True

    def _is_mask(self, file: RunFile) -> bool:
        """Whether a picture labels another one's pixels: by its folder, beside one of images."""
        folders_of = set(file.path.lower().split("/")[:-1])
        if folders_of & naming.TRUTH_FOLDERS:
            return True
        if self.pictured is None:
            self.pictured = any(set(p.lower().split("/")[:-1]) & naming.PICTURES for p in self.files)
        return self.pictured and bool(folders_of & naming.MASK_FOLDERS)

    def _split(self, file: RunFile) -> Split:
        return (
            "eval"
            if file.path in self.held
            else (naming.split_of_media if folders.is_media(file) else naming.split_of)(file.path)
            or self.default
        )

    # ----------------------------------------------------------------------------------------- reading

    def _guarded(self, key: tuple[str, ...], files: list[RunFile]) -> None:
        """Read one group; what a reader does not foresee costs this group and is said."""
        if self.progress:
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            self.progress(f"{files[0].path}{more}")
        try:
            self._read(key, sorted(files, key=lambda f: f.path))
        except (OSError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            self.not_read.append((files[0].path, f"damaged: {str(error)[:120] or type(error).__name__}"))
        except Exception as error:  # one reader's bug costs one group of files, said in the report
            self.not_read.append((files[0].path, f"reader error: {type(error).__name__}: {str(error)[:120]}"))

    def _read(self, key: tuple[str, ...], files: list[RunFile]) -> None:
        before = len(self.parts)
        self._read_kind(key, files)
        if any(isinstance(f, packed.Unpacked) for f in files) and len(self.parts) > before:
            self.parts[before:] = packed.marked(self.parts[before:], files)

    def _read_kind(self, key: tuple[str, ...], files: list[RunFile]) -> None:
        kind = key[0]
        split = self._split(files[0])
        if kind == "media":
            self.parts.append(folders.read_folder(files, split, key[2], self.budget))
        elif kind in ("empty", "unreadable"):
            self.parts.append(_damaged(files[0], split, "empty" if kind == "empty" else key[2]))
        elif kind == "list":
            self._manifest(files[0])
        elif kind == "arrays":
            batched = arrays.is_batched(files)
            self.parts += arrays.read_arrays(
                files, split if key[2] or not batched else "", batched, self.budget
            )
        elif kind == "tfrecord":
            self.parts.append(records.read_tfrecords(files, split, self.budget))
        elif kind == "tokens":
            self.parts.append(tokens.read_tokens(files, split, self.files, self.budget))
        elif kind == "tar":
            self.parts.append(tars.read_tars(files, split, self.budget))
        elif kind == "mindrecord":
            data = self.files.get(files[0].path.removesuffix(".db"))
            self.parts.append(mindrecord.read_index(files[0], data, split, self.budget))
        elif kind == "parquet":
            self.parts += stores.read_parquet(files, split, self.budget)
        elif kind == "arrow":
            self.parts += stores.read_arrow(files, split, self.budget)
        elif kind == "csv":
            names, header = list(key[4:]), key[3] == "True"
            label = None if self.bounds.label in names else self.headers.label(files[0], names)
            self.parts += tables.read_csv(files, split, key[2], names, header, self.budget, label)
        elif kind == "jsonl":
            keys = dict.fromkeys(n for f in files for n in tables.json_names(f) or ())
            self.parts += tables.read_jsonl(files, split, list(keys), self.budget)
        elif kind == "json":
            self._json(files[0], split)
        elif kind == "kaldi":
            folder = kaldi.read_kaldi(files[0], self.files, split, self.budget)
            self.parts.append(folder.part)
            self.listed += [folder.listed] if folder.listed is not None else []
            self.told_gaps += folder.gaps
        elif kind == "tagged":
            self.parts.append(tagged.read_tagged(files, split, self.budget))
        elif kind == "labelme":
            part, shapes, named_images = labelme.read_labelme(files, split, self.files, self.budget)
            self.parts.append(part)
            self.boxes.append(shapes)
            self.listed += [named_images] if named_images is not None else []
        elif kind == "lines":
            self.parts.append(plain.read_lines(files, split, self.budget))

    def _json(self, file: RunFile, split: Split) -> None:
        try:
            found = tables.load_json(file, self.budget)
        except (ValueError, RecursionError) as error:
            self.parts.append(_damaged(file, split, f"damaged: {str(error)[:120] or 'nested too deeply'}"))
            return
        if boxes.is_coco(found):
            part, judged, listed = boxes.read_coco(file, found, split, self.files, self.bounds.samples)
            self.boxes.append(judged)
            self.listed += [listed] if listed is not None else []
            self.parts.append(part)
        else:
            self.parts += tables.read_json(file, found, split, self.budget) or ()

    def _boxes(self) -> None:
        try:
            found = [boxes.read_yolo(self.files, self.budget), boxes.read_voc(self.files, self.budget)]
        except (OSError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            self.not_read.append(("labels", f"damaged: {str(error)[:120] or type(error).__name__}"))
            return
        self.boxes += [one for one in found if one is not None]
        boxes.held_together(self.boxes, self.parts)

    def _named(self) -> None:
        """Hold the files that tables name against those that are there, and lists of splits."""
        self.parts += named.split_lists(self.files, self.budget)
        for part in self.parts:
            if not part.names:
                continue
            found = named.listed(part.files[0], part.names, self.files, identifiers=part.names_are_ids)
            self.listed += [found] if found is not None else []

    def _manifest(self, file: RunFile) -> None:
        problems = Problems()
        entries = lists.Entries(file, problems, self.budget)
        rank = naming.rank_of(file.name)
        check, orders = lists.Check(file, self.files, self.budget), drawn.Orders()
        samples: dict[Split, drawn.Samples] = {}
        for entry in entries:
            if rank is not None:
                entry.setdefault("rank", rank)
            split = lists.split_named(entry, file)
            name = lists.identity(entry)
            self.ranks.add(file.path, entry, name)
            check.add(entry)
            if split in ("", "train"):
                orders.add(entry, name)
            split = split or self.default
            if split not in samples:
                samples[split] = drawn.Samples(file, split)
            samples[split].add(entry)
        if not entries.count:
            self.parts.append(_damaged(file, "", "lists nothing"))
            return
        whole = entries.whole
        if not whole:
            self.notes.append(f"of {file.path} the first {entries.count} entries were looked at")
            self.ranks.drop()
        listed = check.listed()
        self.listed += [listed] if listed is not None else []
        if not lists.is_sums(file):
            self.parts += [one.part(problems, whole) for one in samples.values()]
            self.drawn += [one.drawn() for one in samples.values()] if whole else []
        order = orders.epochs(file.path, whole)
        self.epochs += [order] if order is not None else []

    def _settled(self, part: Part) -> Part:
        """The part without problems of files that were written to while they were looked at."""
        if not part.problems or part.problem_count > len(part.problems):
            return part
        moving = {p.place.file for p in part.problems if self._moves(p.place.file)}
        kept = tuple(p for p in part.problems if p.place.file not in moving)
        notes = tuple(
            f"{f}: written to while it was looked at; its end is not judged" for f in sorted(moving)
        )
        return replace(part, problems=kept, problem_count=len(kept), notes=part.notes + notes)

    def _moves(self, path: str) -> bool:
        file = self.files.get(path)
        try:
            return file is not None and (file.root / file.path).stat().st_mtime != file.mtime
        except OSError:
            return False

    def _gaps(self) -> tuple[tuple[str, ...], int]:
        """Numbered shards ("3 of 8") that are not there, and those that a state.json names in vain."""
        sets: dict[tuple[str, str, int], set[int]] = defaultdict(set)
        for file in self.files.values():
            found = naming.one_of(file.name)
            if found is not None:
                sets[(file.path.rpartition("/")[0], found[0], found[2])].add(found[1])
        gaps = []
        for (folder, stem, count), have in sorted(sets.items()):
            first = 0 if 0 in have or count not in have else 1
            lost = sorted(set(range(first, first + count)) - have)
            if lost:
                where = f"{folder}/" if folder else ""
                shown = ", ".join(map(str, lost[:5])) + (", ..." if len(lost) > 5 else "")
                gaps.append(f"{where}{stem}: {len(lost)} of {count} shards are not there ({shown})")
        gaps += naming.left_out(self.files)
        ends = media.IMAGES | media.AUDIO | TABLES | LINES | RECORDS | ARRAYS
        links = [n.removesuffix(f": {LOST_LINK}") for n in self.notes if n.endswith(LOST_LINK)]
        links = [path for path in links if any(path.lower().endswith(e) for e in ends)]
        if links:
            are = "link leads" if len(links) == 1 else "links lead"
            gaps.append(f"{len(links)} {are} to files that are not there ({', '.join(links[:3])})")
        gaps += self.told_gaps
        gaps += [f"{path}: named by state.json and not there" for path in self.gone[:20]]
        return tuple(gaps), sum(map(len, sets.values()))


def _unlabelled(part: Part) -> Part:
    """A part without its labels, where each is -1: test data whose labels are kept back."""
    if part.split not in ("eval", "test") or part.labels is None or set(part.labels.counts) != {"-1"}:
        return part
    note = f"{part.files[0]}: every label is -1, as where labels are kept back; none was looked at"
    return replace(part, labels=None, targets=(), notes=(*part.notes, note))


def _damaged(file: RunFile, split: Split, what: str) -> Part:
    problems = Problems()
    problems.add(file.path, what)
    form = file.suffix[1:] or "file"
    return Part(
        split, "table", form, (file.path,), None, False, problems=tuple(problems.found), problem_count=1
    )
