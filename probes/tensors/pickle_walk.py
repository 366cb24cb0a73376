"""The data part of a pickle, walked opcode by opcode: nothing is unpickled.

Literals and containers are made, a tensor's rebuild call becomes what the caller makes of it; any other class
or function stays a name (`Opaque`): it is never imported and never called.
"""

from __future__ import annotations

import io
import pickletools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO

from .npy import Unreadable
from .numbers import ElementType, type_of

MAX_PICKLE = 64 * 1024**2
MAX_OPCODES = 5_000_000
SHORT = 1024  # bytes of a pickle that holds one tensor, and not much more


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
class Storage:
    """Where a tensor's elements lie, as the pickle names it."""

    type: ElementType | None  # None: untyped, the tensor says
    key: str


Rebuild = Callable[..., Any]  # (storage, offset, shape, strides, type or None) -> a tensor
_MARK = object()


def walk_pickle(program: bytes | BinaryIO, tensor: Rebuild) -> Any:
    """Return what one pickle holds; a stream is left standing behind it. Raises Unreadable."""
    try:
        if isinstance(program, bytes):
            if len(program) <= SHORT and (told := _lone_tensor(program)) is not None:
                return tensor(*told)
            program = io.BytesIO(program)
        return _Walk(tensor).run(program)
    except Unreadable:
        raise
    except (ValueError, IndexError, KeyError, TypeError, struct.error, RecursionError, MemoryError) as error:
        raise Unreadable("its pickle cannot be understood") from error


@lru_cache(maxsize=256)
def _lone_tensor(program: bytes) -> tuple[Any, ...] | None:
    """What a pickle of one tensor and nothing else gives `Rebuild`: dumps hold thousands of the same ones."""
    found = _Walk(lambda *told: _Told(told)).run(io.BytesIO(program))
    return found.arguments if isinstance(found, _Told) else None


@dataclass(frozen=True, slots=True)
class _Told:
    arguments: tuple[Any, ...]


class _Walk:
    """The stack and memo of one pickle."""

    def __init__(self, tensor: Rebuild) -> None:
        self.tensor = tensor
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, program: BinaryIO) -> Any:
        for count, (code, argument, _) in enumerate(pickletools.genops(program)):
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
    return Storage(type_of(name), str(key))  # an UntypedStorage has no type: the tensor tells it


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
