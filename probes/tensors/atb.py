"""Dumps of Ascend Transformer Boost (ATB, MindIE): a file for each tensor, in folders of its operations.

`.../<device>_<process>/<token>/<layer>/<operation>/before/intensor0.bin` and `.../after/outtensor0.bin`, as
`msit llm dump` and msprobe's ATB module write them. A file begins with lines of text (type, shape, where the
elements stand), up to `$End=1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..assembly.layout import natural
from ..files import RunFile
from .model import Dump, Operator, Role, Tensor
from .numbers import TYPES
from .stored import Stored, checked

FORMAT = "atb-dump"
MAX_HEADER = 4096
END = b"$End=1\n"
# Codes of aclDataType.
_TYPES = {
    0: "float32",
    1: "float16",
    2: "int8",
    3: "int32",
    4: "uint8",
    6: "int16",
    9: "int64",
    11: "float64",
    12: "bool",
    27: "bfloat16",
}
_FILE = re.compile(r"^(?P<io>in|out)tensor(?P<index>\d{1,5})\.bin$")
_PATH = re.compile(
    r"^(?P<root>(?:.*/)?(?P<device>\d{1,5})_\d+/(?P<token>\d{1,9}))/(?P<operator>.+)/(?P<when>before|after)/[^/]+$"
)
_PLACE = re.compile(
    r"(?:^|/)\d{1,5}_\d+/(?P<token>\d{1,9})/(?P<operator>.+)/(?:before|after)/"
    r"(?P<io>in|out)tensor(?P<index>\d{1,5})\.\w+$"
)
_GOLDEN = re.compile(
    r"(?:^|/)(?P<operator>[^/]+)/(?P<io>input|output)(?:_(?P<index>[\w.]+?))?\.(?:pth|pt|npy|bin)$"
)


def is_atb(file: RunFile) -> bool:
    """Whether a file is a tensor of such a dump, by its name and place."""
    return _FILE.match(file.name) is not None and _PATH.match(file.path) is not None


def kind_of(operator: str) -> str:
    """The type of an operation: "2_Decoder_layer/3_SelfAttentionOperation" -> "SelfAttention"."""
    name = re.sub(r"^\d+_", "", operator.rpartition("/")[2])
    return re.sub(r"(?:Operation|Kernel)$", "", name) or name


def place(path: str) -> tuple[str, Role, str] | None:
    """Operator, role and index that the path of a dumped tensor tells; of msit's dumps of torch as well."""
    path = path.replace("\\", "/")
    found = _PLACE.search(path)
    if found is not None:
        role: Role = "input" if found["io"] == "in" else "output"
        return found["operator"], role, found["index"]
    found = _GOLDEN.search(path)
    if found is None:
        return None
    return found["operator"], "input" if found["io"] == "input" else "output", found["index"] or "0"


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield a dump for each device, process and token."""
    dumps: dict[str, dict[str, list[RunFile]]] = {}
    told: dict[str, re.Match[str]] = {}
    for path, file in files.items():
        found = _PATH.match(path) if _FILE.match(file.name) else None
        if found is not None:
            dumps.setdefault(found["root"], {}).setdefault(found["operator"], []).append(file)
            told.setdefault(found["root"], found)
    for root in sorted(dumps, key=natural):
        rank, step = int(told[root]["device"]), int(told[root]["token"])
        names = sorted(dumps[root], key=natural)
        around = {n.rpartition("/")[0] for n in names}
        notes: list[str] = []
        made = []
        for order, name in enumerate(names):
            tensors = [
                _tensor(name, f, notes) for f in sorted(dumps[root][name], key=lambda f: natural(f.path))
            ]
            made.append(
                Operator(
                    name,
                    kind_of(name),
                    order,
                    inputs=tuple(t for t in tensors if t.role == "input"),
                    outputs=tuple(t for t in tensors if t.role == "output"),
                    scope=name.rpartition("/")[0],
                    module=name in around,
                    rank=rank,
                    step=step,
                )
            )
        yield Dump(FORMAT, root, tuple(made), "ascend", rank, step, notes=tuple(notes))


def _tensor(operator: str, file: RunFile, notes: list[str]) -> Tensor:
    found = _FILE.match(file.name)
    io, index = (found["io"], found["index"]) if found else ("out", "0")
    empty = Tensor(operator, "input" if io == "in" else "output", index, "", (), file.path)
    try:
        stored = _stored(file)
    except (OSError, ValueError) as error:
        notes.append(f"{file.path}: {error}")
        return replace(empty, note=str(error))
    note = checked(stored, file.size)
    return replace(
        empty, dtype=stored.type.name, shape=stored.shape, stored=None if note else stored, note=note
    )


def _stored(file: RunFile) -> Stored:
    """Where the elements stand. Raises ValueError where the head cannot be understood."""
    head = file.read_bytes(MAX_HEADER)
    end = head.find(END)
    if end < 0:
        raise ValueError("its head has no end")
    told = dict(line.split("=", 1) for line in head[:end].decode("latin-1").splitlines() if "=" in line)
    try:
        element = TYPES[_TYPES[int(told["dtype"])]]
        shape = tuple(int(n) for n in told["dims"].split(",") if n.strip())
        start = int(told.get("$Object.data", "0,0").partition(",")[0])
    except (KeyError, ValueError) as error:
        raise ValueError("its head cannot be understood") from error
    return Stored(file, end + len(END) + start, element, shape)
