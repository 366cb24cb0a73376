"""precision_tool's precision_data tree: decoded dumps of an Ascend run and of its TensorFlow benchmark.

Decoded: `<OpType>.<OpName>.<task>[.<stream>].<us>[....].<input|output>.<idx>[.<shape>].npy`; TensorFlow:
`<name>.<output>.<us>.npy`; figures alone: `<OpType>.<OpName>.<task>.<stream>.<us>.csv`. Each folder of them
is a dump of its own (debug_0, debug_1, tf, overflow_decode). Layout: FORMATS-ASCEND B1. Files that were never
decoded are read as they are, where no decoded ones lie in the same tree.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ..files import RunFile
from .ascend_raw import ADVICE, read_raw
from .layout import by_folder, folders
from .model import Dump, Operator, Role, Statistics, Tensor
from .npy import Unreadable, read_npy
from .numbers import type_of

FORMAT = "precision-tool"
MAX_SUMMARY = 16 * 1024**2
_STEM = (
    r"(?P<kind>[A-Za-z0-9_-]+)\.(?P<name>[A-Za-z0-9_-]+)\.(?P<task>\d+)(?:\.(?P<stream>\d{1,9}))?"
    r"\.(?P<time>\d{10,20})"
)
_DECODED = re.compile(
    rf"^{_STEM}(?:\.\d+){{0,4}}\.(?P<io>input|output)\.(?P<slot>\d{{1,4}})(?:\.(?P<shape>\d+(?:x\d+)*))?\.npy$"
)
_RAW = re.compile(rf"^{_STEM}(?:\.\d+){{0,4}}$")
_SUMMARY = re.compile(rf"^{_STEM}(?:\.\d+){{0,4}}\.csv$")
_COLUMNS = [
    "Input/Output",
    "Index",
    "Data Size",
    "Data Type",
    "Format",
    "Shape",
    "Max Value",
    "Min Value",
    "Avg Value",
]
_TENSORFLOW = re.compile(r"^(?P<name>[^/]+)\.(?P<slot>\d{1,4})\.(?P<time>\d{10,20})\.npy$")


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield the dumps among these files; one per folder of decoded tensors."""
    raw: list[tuple[str, list[_Raw]]] = []
    done: dict[str, tuple[Dump, set[str]]] = {}  # label -> its last decoded dump, and what was decoded
    found: list[Dump] = []
    for folder, members in by_folder(files).items():
        renamed = _mapping(members)
        names = [(renamed.get(f.name, f.name), f) for f in members]
        decoded = [(m, f) for n, f in names if (m := _DECODED.match(n))]
        if decoded:
            made = _dump(folder, decoded, "ascend")
            found.append(made)
            known = done.get(made.label, (made, set()))[1]
            done[made.label] = (made, known | {_stem(m) for m, _ in decoded})
        elif tensorflow := [(m, f) for n, f in names if (m := _TENSORFLOW.match(n))]:
            found.append(_dump(folder, tensorflow, "tensorflow"))
        elif summaries := [(m, f) for n, f in names if (m := _SUMMARY.match(n))]:
            found.append(_summarised(folder, summaries))
        undecoded = [(m, f) for n, f in names if (m := _RAW.match(n)) and m["kind"] != "Opdebug"]
        if undecoded:
            raw.append((folder, undecoded))
    for folder, undecoded in raw:
        label = _raw_label(undecoded[0][1])
        if label not in done:
            found.append(_undecoded(folder, undecoded))
            continue
        dump, known = done[label]
        left = sum(_stem(m) not in known for m, _ in undecoded)
        if left:
            note = f"{left} dump files that were never decoded are not read, because others were: {ADVICE}"
            at = found.index(dump)
            found[at] = replace(dump, notes=(*dump.notes, note))
            done[label] = (found[at], known)
    yield from found


def _stem(match: re.Match[str]) -> str:
    """Which call of which operator a file is of."""
    return ".".join(match[g] or "" for g in ("kind", "name", "task", "stream", "time"))


def _raw_label(file: RunFile) -> str:
    """What the tree calls the decoded form of a raw dump."""
    return _label(file, "ascend") or ("overflow_decode" if "overflow" in folders(file) else "")


_Raw = tuple[re.Match[str], RunFile]


def _undecoded(folder: str, undecoded: list[_Raw]) -> Dump:
    """A dump of files that nobody decoded: each is one call of one operator, with all its tensors."""
    notes: list[str] = []
    made: list[Operator] = []
    refused = odd = 0
    step, rank = _place(undecoded[0][1])
    for match, file in sorted(undecoded, key=lambda pair: int(pair[0]["time"])):
        try:
            held = read_raw(file)
        except (Unreadable, OSError):
            refused += 1
            continue
        odd += any(t.note for t in held)
        tensors = [
            Tensor(
                match["name"],
                "input" if t.side == "input" else "output",
                str(t.slot),
                t.dtype,
                t.shape,
                file.path,
                stored=t.stored,
                note=t.note,
            )
            for t in held
            if t.side != "buffer"
        ]
        made.append(_operator(match["kind"], match["name"], len(made), tensors, rank, step))
    if refused:
        notes.append(f"{refused} dump files that were never decoded cannot be read here: {ADVICE}")
    if odd:
        notes.append(
            f"{odd} operators hold tensors in the device's own format: their elements are not in order"
        )
    label = _raw_label(undecoded[0][1])
    return Dump(FORMAT, folder, tuple(made), "ascend", rank, step, label, notes=tuple(notes))


def _summarised(folder: str, summaries: list[_Raw]) -> Dump:
    """A dump of figures: per operator a table with a row for each input and output."""
    notes: list[str] = []
    made: list[Operator] = []
    step, rank = _place(summaries[0][1])
    for match, file in sorted(summaries, key=lambda pair: int(pair[0]["time"])):
        try:
            tensors = list(_figures(match["name"], file)) if file.size <= MAX_SUMMARY else []
        except (OSError, csv.Error):
            tensors = []
        if tensors:
            made.append(_operator(match["kind"], match["name"], len(made), tensors, rank, step))
        else:
            notes.append(f"{file.path}: no figures in it; passed over")
    label = _raw_label(summaries[0][1])
    return Dump(FORMAT, folder, tuple(made), "ascend", rank, step, label, notes=tuple(notes[:5]))


def _figures(operator: str, file: RunFile) -> Iterator[Tensor]:
    """Rows of (Input or Output, index, size, type, format, shape, max, min, mean); a header may differ."""
    names: list[str] = list(_COLUMNS)
    for cells in csv.reader(io.StringIO(file.read_text().replace("\0", ""))):
        row = dict(zip(names, (c.strip() for c in cells), strict=False))
        side = row.get("Input/Output", "").lower()
        if side == "input/output":
            names = [c.strip() for c in cells]
        if side not in ("input", "output") or not row.get("Index", "").isdigit():
            continue
        element = type_of(row.get("Data Type", "").removeprefix("DT_"))
        low, high, mean, norm, nan = (
            _number(row.get(n, ""))
            for n in ("Min Value", "Max Value", "Avg Value", "L2 Norm Value", "Nan Count")
        )
        yield Tensor(
            operator,
            "input" if side == "input" else "output",
            row["Index"],
            element.name if element is not None else row.get("Data Type", ""),
            tuple(int(n) for n in re.findall(r"\d{1,12}", row.get("Shape", ""))),
            file.path,
            Statistics(low, high, mean, norm, int(nan) if nan is not None and nan >= 0 else None),
        )


def _number(told: str) -> float | None:
    try:
        return float(told)
    except ValueError:
        return None


def _place(file: RunFile) -> tuple[int | None, int | None]:
    """Step and device, in `<YYYYmmddHHMMSS>/<device>/<model>/<graph>/<step>/`."""
    found = re.search(r"(?:^|/)\d{14}/(\d{1,5})/[^/]+/\d+/(\d{1,12})$", "/".join(folders(file)))
    return (int(found[2]), int(found[1])) if found else (None, None)


def _mapping(members: list[RunFile]) -> dict[str, str]:
    """Names that were too long for the file system: mapping.csv tells the real ones. Nothing is renamed."""
    table = next((f for f in members if f.name == "mapping.csv" and f.size < 64 * 1024**2), None)
    if table is None:
        return {}
    rows = csv.reader(io.StringIO(table.read_text().replace("\0", "")))
    found = {}
    try:
        for row in rows:
            if len(row) >= 2:
                short, real = row[0].strip(), row[1].strip()
                found.update(
                    {f.name: real + f.name[len(short) :] for f in members if f.name.startswith(short)}
                )
    except csv.Error:
        pass
    return found


def _dump(folder: str, named: list[tuple[re.Match[str], RunFile]], framework: str) -> Dump:
    notes: list[str] = []
    calls: dict[tuple[str, ...], tuple[int, dict[tuple[str, int], Tensor]]] = {}
    for match, file in sorted(named, key=lambda pair: int(pair[0]["time"])):
        groups = match.groupdict()
        side = groups.get("io") or "output"
        slot = int(groups["slot"])
        key: tuple[str, ...] = (
            groups.get("kind") or "",
            groups["name"],
            groups.get("task") or "",
            groups.get("stream") or "",
        )
        if key in calls and (side, slot) in calls[key][1]:  # the same operator ran again
            key = (*key, groups["time"])
        _, tensors = calls.setdefault(key, (int(groups["time"]), {}))
        tensors[side, slot] = _tensor(
            groups["name"], "input" if side == "input" else "output", slot, file, notes
        )
    made = []
    for order, (key, (_, tensors)) in enumerate(sorted(calls.items(), key=lambda item: item[1][0])):
        ordered = [t for _, t in sorted(tensors.items())]
        made.append(_operator(key[0] or key[1].rpartition("_")[2], key[1], order, ordered))
    label = _label(named[0][1], framework)
    return Dump(FORMAT, folder, tuple(made), framework, label=label, notes=tuple(dict.fromkeys(notes)))


def _operator(
    kind: str,
    name: str,
    order: int,
    tensors: list[Tensor],
    rank: int | None = None,
    step: int | None = None,
) -> Operator:
    return Operator(
        name,
        kind,
        order,
        "backward" if re.search(r"(?:^|_)gradients?_", name) else "forward",
        tuple(t for t in tensors if t.role == "input"),
        tuple(t for t in tensors if t.role == "output"),
        scope=name.rpartition("_")[0],
        rank=rank,
        step=step,
    )


def _tensor(operator: str, role: Role, slot: int, file: RunFile, notes: list[str]) -> Tensor:
    try:
        stored = read_npy(file)
    except (Unreadable, OSError) as error:
        notes.append(f"{file.path}: {error}; passed over")
        return Tensor(operator, role, str(slot), "", (), file.path, note=str(error))
    return Tensor(operator, role, str(slot), stored.type.name, stored.shape, file.path, stored=stored)


def _label(file: RunFile, framework: str) -> str:
    """What the tree calls this dump."""
    known: tuple[Callable[[str], bool], ...] = (
        lambda folder: re.fullmatch(r"debug_\d+", folder) is not None,
        lambda folder: folder == "overflow_decode",
    )
    for folder in reversed(folders(file)):
        if any(test(folder) for test in known):
            return folder
    return "tf" if framework == "tensorflow" else ""
