"""precision_tool's precision_data tree: decoded dumps of an Ascend run and of its TensorFlow benchmark.

Decoded: `<OpType>.<OpName>.<task>[.<stream>].<us>[....].<input|output>.<idx>[.<shape>].npy`; TensorFlow:
`<name>.<output>.<us>.npy`. Each folder of them is a dump of its own (debug_0, debug_1, tf, overflow_decode).
Layout: FORMATS-ASCEND B1. Files that were never decoded stay unread.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping

from ..files import RunFile
from .layout import by_folder, folders
from .model import Dump, Operator, Role, Tensor
from .npy import Unreadable, read_npy

FORMAT = "precision-tool"
_STEM = (
    r"(?P<kind>[A-Za-z0-9_-]+)\.(?P<name>[A-Za-z0-9_-]+)\.(?P<task>\d+)(?:\.(?P<stream>\d{1,9}))?"
    r"\.(?P<time>\d{10,20})"
)
_DECODED = re.compile(
    rf"^{_STEM}(?:\.\d+){{0,4}}\.(?P<io>input|output)\.(?P<slot>\d{{1,4}})(?:\.(?P<shape>\d+(?:x\d+)*))?\.npy$"
)
_RAW = re.compile(rf"^{_STEM}(?:\.\d+){{0,4}}$")
_TENSORFLOW = re.compile(r"^(?P<name>[^/]+)\.(?P<slot>\d{1,4})\.(?P<time>\d{10,20})\.npy$")


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield the dumps among these files; one per folder of decoded tensors."""
    for folder, members in by_folder(files).items():
        renamed = _mapping(members)
        names = [(renamed.get(f.name, f.name), f) for f in members]
        decoded = [(m, f) for n, f in names if (m := _DECODED.match(n))]
        if decoded:
            raw = sum(bool(_RAW.match(n)) for n, _ in names)
            yield _dump(folder, decoded, "ascend", raw)
            continue
        tensorflow = [(m, f) for n, f in names if (m := _TENSORFLOW.match(n))]
        if tensorflow:
            yield _dump(folder, tensorflow, "tensorflow", 0)


def raw_dumps(files: Mapping[str, RunFile]) -> int:
    """How many files are dumps that nobody decoded."""
    return sum(bool(_RAW.match(f.name)) and not f.name.startswith("Opdebug.") for f in files.values())


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


def _dump(folder: str, named: list[tuple[re.Match[str], RunFile]], framework: str, raw: int) -> Dump:
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
        made.append(
            Operator(
                key[1],
                key[0] or key[1].rpartition("_")[2],
                order,
                "backward" if re.search(r"(?:^|_)gradients?_", key[1]) else "forward",
                tuple(t for t in ordered if t.role == "input"),
                tuple(t for t in ordered if t.role == "output"),
                scope=key[1].rpartition("_")[0],
            )
        )
    if raw:
        notes.append(f"{raw} dump files here were never decoded and are not read")
    label = _label(named[0][1], framework)
    return Dump(FORMAT, folder, tuple(made), framework, label=label, notes=tuple(dict.fromkeys(notes)))


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
