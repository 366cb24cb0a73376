"""Files of `torch.save`: where the elements of their tensors stand. Nothing is unpickled.

Format: a zip (torch >= 1.6) of `data.pkl` and one member per storage, uncompressed. The pickle is walked
opcode by opcode; a tensor's rebuild call becomes a `Stored`, containers become containers, and any other
class or function stays a name (`Opaque`): it is never imported and never called.
"""

from __future__ import annotations

import io
import pickletools
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..files import RunFile
from .npy import Unreadable
from .numbers import ElementType, type_of
from .stored import Stored, checked, in_order

MAX_PICKLE = 64 * 1024**2
MAX_OPCODES = 5_000_000
MAX_MEMBERS = 200_000


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something that a file names and that is not looked into: a class, a function, a call of it."""

    name: str


@dataclass(slots=True, eq=False)
class Record:
    """An object of a class that only holds data: its class by name, and its fields as the file has them."""

    name: str
    state: Any = None

    def field(self, name: str) -> Any:
        """A field, or None."""
        return self.state.get(name) if isinstance(self.state, dict) else None


@dataclass(frozen=True, slots=True)
class _Storage:
    type: ElementType | None  # None: untyped, the tensor says
    key: str


def is_torch_zip(head: bytes) -> bool:
    """Whether a file may be one of `torch.save` in zip form."""
    return head.startswith(b"PK\x03\x04")


class _Window(io.RawIOBase):
    """A part of a file, as a file of its own; the file is its owner's to close."""

    def __init__(self, handle: BinaryIO, start: int, length: int) -> None:
        self.handle, self.start, self.length, self.at = handle, start, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.length}[whence]
        self.at = max(0, base + offset)
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        size = max(0, min(len(view), self.length - self.at))
        self.handle.seek(self.start + self.at)
        data = self.handle.read(size)
        view[: len(data)] = data
        self.at += len(data)
        return len(data)


def read_torch(file: RunFile, offset: int = 0, length: int | None = None) -> Any:
    """Return what the file holds: tensors as `Stored` (`Opaque` with a reason), dicts, lists, scalars.

    `offset` and `length`: where in the file one `torch.save` stands among others. Raises Unreadable with one
    phrase (an old format, a damaged file), or OSError.
    """
    with file.open() as whole:
        handle: Any = whole if length is None else _Window(whole, offset, length)
        if not is_torch_zip(handle.read(4)):
            raise Unreadable("not the zip form of torch.save (torch >= 1.6), which alone can be read safely")
        try:
            archive = zipfile.ZipFile(handle)
            members = {m.filename: m for m in archive.infolist()[:MAX_MEMBERS]}
            pickles = [n for n in members if n == "data.pkl" or n.endswith("/data.pkl")]
            if len(pickles) != 1 or members[pickles[0]].file_size > MAX_PICKLE:
                raise Unreadable("no pickle of tensors in it")
            prefix = pickles[0][: -len("data.pkl")]
            program = archive.read(pickles[0])
            order = archive.read(prefix + "byteorder") if prefix + "byteorder" in members else b"little"
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
            if isinstance(error, Unreadable):
                raise
            raise Unreadable(f"damaged: {error}") from error
        places = {
            name[len(prefix) + 5 :]: (offset + _start(handle, m), m.file_size)
            for name, m in members.items()
            if name.startswith(prefix + "data/") and m.compress_type == zipfile.ZIP_STORED
        }

    def tensor(storage: Any, offset: Any, shape: Any, strides: Any, kind: ElementType | None) -> Any:
        if not isinstance(storage, _Storage) or storage.key not in places:
            return Opaque("a tensor whose storage is not in the file")
        element = kind or storage.type
        sizes = (shape, strides)
        if element is None or not isinstance(offset, int) or not all(_integers(s) for s in sizes):
            return Opaque("a tensor of a type that is not known")
        start, size = places[storage.key]
        stored = Stored(
            file,
            start + offset * element.width,
            element,
            tuple(shape),
            None if len(shape) == len(strides) and in_order(shape, strides) else tuple(strides),
            "",
            order.strip() == b"big",
        )
        wrong = checked(stored, start + size) if offset >= 0 else "an offset makes no sense"
        return Opaque(f"a tensor {wrong}") if wrong else stored

    return _walk(program, tensor)


def read_pickle(file: RunFile) -> Any:
    """Return what a bare pickle of plain data holds, as `read_torch` does. Raises Unreadable, OSError."""
    if file.size > MAX_PICKLE:
        raise Unreadable(f"larger than {MAX_PICKLE >> 20} MiB")
    return _walk(file.read_bytes(), lambda *_: Opaque("a tensor whose storage is not in the file"))


def _integers(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(n) is int for n in value)


def _start(handle: Any, member: zipfile.ZipInfo) -> int:
    """Where the bytes of an uncompressed zip member start: behind its local header."""
    handle.seek(member.header_offset)
    header = handle.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise Unreadable("damaged: a member has no header")
    name, extra = struct.unpack("<HH", header[26:30])
    return int(member.header_offset) + 30 + int(name) + int(extra)


Rebuild = Callable[..., Any]  # (storage, offset, shape, strides, type or None) -> a tensor
_MARK = object()


def _walk(program: bytes, tensor: Rebuild) -> Any:
    """Run the data part of a pickle: literals and containers are made, calls are not."""
    try:
        return _Walk(tensor).run(program)
    except Unreadable:
        raise
    except (ValueError, IndexError, KeyError, TypeError, struct.error, RecursionError, MemoryError) as error:
        raise Unreadable("its pickle cannot be understood") from error


class _Walk:
    """The stack and memo of one pickle."""

    def __init__(self, tensor: Rebuild) -> None:
        self.tensor = tensor
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, program: bytes) -> Any:
        for count, (code, argument, _) in enumerate(pickletools.genops(io.BytesIO(program))):
            if count > MAX_OPCODES:
                raise Unreadable("its pickle is implausibly long")
            if code.name == "STOP":
                return self.stack.pop()
            self._step(code.name, argument)
        raise Unreadable("its pickle does not end")

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _LITERALS:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[int(argument)])
        elif name == "GLOBAL":
            stack.append(Opaque(argument.replace(" ", ".", 1)))
        elif name == "STACK_GLOBAL":
            attribute, module = stack.pop(), stack.pop()
            stack.append(Opaque(f"{module}.{attribute}"))
        elif name == "BINPERSID":
            stack.append(_persistent(stack.pop()))
        elif name == "NEWOBJ" and _is_record(stack[-2]):
            stack.pop()
            stack.append(Record(stack.pop().name))
        elif name in ("REDUCE", "NEWOBJ"):
            arguments, function = stack.pop(), stack.pop()
            stack.append(self._called(function, arguments))
        elif name == "BUILD":
            state = stack.pop()
            if isinstance(stack[-1], Record):  # the state of any other object is not looked into
                stack[-1].state = state
        elif name not in ("PROTO", "FRAME"):
            self._contain(name)

    def _contain(self, name: str) -> None:
        stack = self.stack
        if name.startswith("TUPLE") and name != "TUPLE":
            size = int(name[5:])
            items = stack[len(stack) - size :]
            del stack[len(stack) - size :]
            stack.append(tuple(items))
        elif name == "TUPLE":
            stack.append(tuple(self._to_mark()))
        elif name == "LIST":
            stack.append(self._to_mark())
        elif name == "DICT":
            items = self._to_mark()
            stack.append(_pairs(items))
        elif name == "APPEND":
            item = stack.pop()
            _extend(stack[-1], [item])
        elif name == "APPENDS":
            items = self._to_mark()
            _extend(stack[-1], items)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            _update(stack[-1], {_key(key): value})
        elif name == "SETITEMS":
            items = self._to_mark()
            _update(stack[-1], _pairs(items))
        elif name == "POP":
            stack.pop()
        else:
            raise Unreadable(f"its pickle uses {name}, which is not read")

    def _to_mark(self) -> list[Any]:
        at = max(i for i, item in enumerate(self.stack) if item is _MARK)
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def _called(self, function: Any, arguments: Any) -> Any:
        name = function.name if isinstance(function, Opaque) else ""
        if name == "torch._utils._rebuild_tensor_v2" and len(arguments) >= 4:
            return self.tensor(*arguments[:4], None)
        if name == "torch._utils._rebuild_tensor_v3" and len(arguments) >= 7:
            kind = arguments[6]
            return self.tensor(*arguments[:4], type_of(kind.name) if isinstance(kind, Opaque) else None)
        if name.startswith("torch._utils._rebuild_parameter") and arguments:
            return arguments[0]
        if name == "collections.OrderedDict":
            return _pairs([x for pair in arguments[0] for x in pair]) if arguments else {}
        if name == "torch.Size" and arguments:
            return tuple(arguments[0])
        return Opaque(f"a call of {name or 'something unnamed'}")


_LITERALS = frozenset(
    prefix + rest
    for prefix, endings in {
        "BININT": ("", "1", "2"),
        "LONG": ("", "1", "4"),
        "BINUNICODE": ("", "8"),
        "BINBYTES": ("", "8"),
        "SHORT_": ("BINSTRING", "BINUNICODE", "BINBYTES"),
    }.items()
    for rest in endings
) | {"INT", "FLOAT", "BINFLOAT", "STRING", "BINSTRING", "UNICODE"}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
    "MARK": lambda: _MARK,
}


def _persistent(told: Any) -> Any:
    """A storage: ("storage", class, key, device, number of elements)."""
    if not (isinstance(told, tuple) and len(told) >= 3 and told[0] == "storage"):
        return Opaque("a reference out of the file")
    kind, key = told[1], told[2]
    name = kind.name if isinstance(kind, Opaque) else ""
    return _Storage(type_of(name), str(key))  # an UntypedStorage has no type: the tensor tells it


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return {_key(k): v for k, v in zip(items[::2], items[1::2], strict=True)}


def _is_record(kind: Any) -> bool:
    """Whether a class only describes where a distributed checkpoint's tensors stand."""
    return isinstance(kind, Opaque) and kind.name.startswith("torch.distributed.checkpoint.")


def _key(key: Any) -> Any:
    return key if isinstance(key, (str, int, float, bool, type(None), Record)) else str(key)[:200]


def _extend(target: Any, items: list[Any]) -> None:
    if isinstance(target, list):
        target.extend(items)


def _update(target: Any, items: dict[Any, Any]) -> None:
    if isinstance(target, dict):
        target.update(items)
