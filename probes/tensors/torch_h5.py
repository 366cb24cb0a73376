"""precision_tool's PyTorch dumps: HDF5 files that Ascend's `torch.utils.dumper` writes, one for each side.

Groups `/<type>/<id>/<input|output>/...` with a dataset per tensor, in `pt/npu` and `pt/gpu` of a tree of
precision_data. Layout: precision_tool (lib/util/h5_util.py). Read with h5py where it is installed; where the
elements lie as one piece they are then read straight from the file. Links out of the file, other files' data
and filters that would load code are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..assembly.layout import natural
from ..files import RunFile
from .layout import folders, numbered
from .model import Dump, Operator, Role, Tensor
from .numbers import Array, type_of
from .stored import BLOCK, GATHERED, Stored, checked

FORMAT = "precision-tool"
MAGIC = b"\x89HDF\r\n\x1a\n"
SUFFIXES = (".h5", ".hdf5")
ADVICE = "needs h5py: pip install 'traindoctor[h5]'"
MAX_TENSORS = 200_000
_FILTERS = frozenset({1, 2, 3, 32000})  # deflate, shuffle, checksum, lzf: all part of h5py itself
_SIDES: dict[str, Role] = {"input": "input", "inputs": "input", "output": "output", "outputs": "output"}


def is_torch_h5(file: RunFile) -> bool:
    """Whether a file lies where precision_tool keeps these dumps; other HDF5 files are weights or data."""
    return file.suffix in SUFFIXES and _side(file) != ""


def _side(file: RunFile) -> str:
    """ "npu" or "gpu" of `pt/npu` and `pt/gpu`; "" elsewhere."""
    found = re.search(r"(?:^|/)pt/(npu|gpu)(?:/|$)", "/".join(folders(file)))
    return found[1] if found else ""


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield a dump per file, where they are precision_tool's or nothing else was given."""
    held = [f for f in files.values() if f.suffix in SUFFIXES]
    chosen = held if len(held) == len(files) else [f for f in held if is_torch_h5(f)]
    for file in sorted(chosen, key=lambda f: f.path):
        try:
            if file.read_bytes(len(MAGIC)) == MAGIC:
                yield _dump(file, _tensors(file))
        except ImportError:
            yield _dump(file, {}, f"{file.path} {ADVICE}")
        except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
            yield _dump(file, {}, f"{file.path}: damaged, not read ({(str(error) or 'no reason')[:80]})")


Calls = Mapping[tuple[str, int], list[Tensor]]  # (type, number) -> what it took and made


def _dump(file: RunFile, calls: Calls, *notes: str) -> Dump:
    """Numbers count over all operators; where they count within a type, the order is not known."""
    ordered = len({n for _, n in calls}) == len(calls)
    order = sorted(calls, key=lambda c: (c[1], c[0]) if ordered else (c[0], c[1]))
    if calls and not ordered:
        notes = (*notes, "the order of execution is not known: operators are numbered within each type")
    rank, step = numbered(file, "rank"), numbered(file, "step")
    made = tuple(_operator(call, n, calls[call], rank, step) for n, call in enumerate(order))
    return Dump(FORMAT, file.path, made, "pytorch", rank, step, _side(file), ordered, notes)


def _operator(
    call: tuple[str, int], order: int, tensors: list[Tensor], rank: int | None, step: int | None
) -> Operator:
    kind, number = call
    return Operator(
        f"{kind}.{number}",
        kind,
        order,
        "backward" if "backward" in kind.lower() else "forward",
        tuple(t for t in tensors if t.role == "input"),
        tuple(t for t in tensors if t.role == "output"),
        rank=rank,
        step=step,
    )


def _tensors(file: RunFile) -> dict[tuple[str, int], list[Tensor]]:
    """The tensors of each operator, in natural order. Raises ImportError, and what h5py raises."""
    import h5py

    calls: dict[tuple[str, int], list[Tensor]] = {}
    with file.open() as handle, h5py.File(handle, "r") as archive:
        names: list[str] = []

        def noted(name: str, item: Any) -> bool | None:
            if isinstance(item, h5py.Dataset):
                names.append(name)
            return True if len(names) >= MAX_TENSORS else None

        archive.visititems(noted)  # follows no link out of the file
        for name in sorted(names, key=natural):
            kind, *inner = name.split("/")
            if len(inner) < 2 or not re.fullmatch(r"\d{1,9}", inner[0]):
                continue
            tensor = _tensor(file, f"{kind}.{inner[0]}", inner[1:], archive[name])
            calls.setdefault((kind, int(inner[0])), []).append(tensor)
    return calls


def _tensor(file: RunFile, operator: str, path: list[str], data: Any) -> Tensor:
    role, index = _SIDES.get(path[0].lower(), "output"), ".".join(path[1:]) or "0"
    shape, element = tuple(data.shape or ()), type_of(str(data.dtype.newbyteorder("=")))
    plan = data.id.get_create_plist()
    note = ""
    if element is None:
        note = "its element type is no number"
    elif data.is_virtual or data.external:
        note = "its values lie in another file"
    elif any(plan.get_filter(n)[0] not in _FILTERS for n in range(plan.get_nfilters())):
        note = "packed by a filter that is not part of HDF5"
    if element is None or note:
        return Tensor(operator, role, index, str(data.dtype), shape, file.path, note=note)
    offset, big = data.id.get_offset(), data.dtype.byteorder == ">"
    if offset is not None:
        stored = Stored(file, offset, element, shape, big_endian=big)
        note = checked(stored, file.size)
    else:
        stored = _Packed(file, 0, element, shape, member=data.name, big_endian=big)
        too_large = stored.count * element.width > GATHERED
        note = f"in pieces and larger than {GATHERED >> 20} MiB" if too_large else ""
    return Tensor(
        operator, role, index, element.name, shape, file.path, stored=None if note else stored, note=note
    )


class _Packed(Stored):
    """A tensor that lies in chunks: `member` is its path in the file; it is read as a whole."""

    def raw_blocks(self, size: int = BLOCK, start: int = 0, stop: int | None = None) -> Iterator[Array]:
        import h5py

        try:
            with self.file.open() as handle, h5py.File(handle, "r") as archive:
                whole = np.asarray(archive[self.member]).astype(self.storage, copy=False).ravel()
        except (RuntimeError, KeyError, TypeError, AttributeError) as error:
            raise ValueError("damaged") from error
        if whole.size != self.count:
            raise ValueError("not of the size that its header says")
        for at in range(start, whole.size if stop is None else stop, size):
            yield whole[at : min(at + size, whole.size if stop is None else stop)]
