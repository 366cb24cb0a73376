"""The arguments in a `training_args.bin`, without unpickling it.

The pickle's opcodes are walked with `pickletools.genops` by a small machine that only ever builds dicts,
lists and texts: a global is its name, an object is an inert record of what it was made from. Nothing named
in the file is imported or called.
"""

from __future__ import annotations

import io
import json
import pickletools
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_PICKLES = 4  # a legacy torch file holds three before the object
MAX_NODES = 20_000
_MARK = object()


@dataclass(slots=True, eq=False)
class Inert:
    """An object that was not made: the name of what would have made it, with what it would have got."""

    name: str
    args: tuple[Any, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)


def is_pickled_arguments(head: bytes) -> bool:
    """Say whether a file begins like a zip archive or a pickle."""
    return head.startswith(b"PK\x03\x04") or (head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05")


def read_arguments(data: bytes, limit: int) -> Mapping[str, Any]:
    """Return the arguments as plain values (nested dicts, lists, scalars). Raises ValueError."""
    if len(data) > limit:
        raise ValueError(f"larger than {limit} bytes, not opened")
    is_json = data.lstrip()[:1] == b"{"
    loaded = _from_json(data) if is_json else _largest(_pickle_of(data, limit))
    plain = _plain(loaded, [MAX_NODES], 0)
    if not isinstance(plain, dict):
        raise ValueError("holds no arguments")
    return plain


def _from_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError("damaged JSON") from error


def _pickle_of(data: bytes, limit: int) -> bytes:
    if not data.startswith(b"PK\x03\x04"):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            member = next(i for i in archive.infolist() if i.filename.endswith("data.pkl"))
            with archive.open(member) as handle:
                content = handle.read(limit + 1)
    except (zipfile.BadZipFile, StopIteration, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError("damaged archive") from error
    except Exception as error:  # zlib.error and whatever else a crafted archive provokes
        raise ValueError(f"damaged archive ({type(error).__name__})") from error
    if len(content) > limit:
        raise ValueError(f"its pickle is larger than {limit} bytes")
    return content


def _largest(data: bytes) -> Any:
    """Of the pickles that follow one another, return the object with the most attributes."""
    stream = io.BytesIO(data)
    best: Any = None
    for _ in range(MAX_PICKLES):
        if stream.tell() >= len(data):
            break
        try:
            value = _Machine().run(stream)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            if best is None:
                raise ValueError("damaged pickle") from error
            break
        if _weight(value) > _weight(best):
            best = value
    return best


def _weight(value: Any) -> int:
    if isinstance(value, Inert):
        return len(value.state)
    return len(value) if isinstance(value, dict) else 0


def _plain(value: Any, budget: list[int], depth: int) -> Any:
    """Turn the machine's values into plain ones; enumeration members become their text."""
    budget[0] -= 1
    if budget[0] < 0 or depth > 8:
        return None
    if isinstance(value, Inert):
        if value.state:
            return _plain(value.state, budget, depth + 1)
        single = value.args[0] if len(value.args) == 1 else None
        return _plain(single, budget, depth + 1) if isinstance(single, (str, int, float)) else None
    if isinstance(value, dict):
        return {str(k): _plain(v, budget, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, budget, depth + 1) for v in value]
    return value if isinstance(value, (str, bool, int, float)) else None


class _Machine:
    """Walks the opcodes of one pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.operations: dict[str, Callable[[Any], object]] = {
            "MARK": lambda _: self.stack.append(_MARK),
            "EMPTY_DICT": lambda _: self.stack.append({}),
            "EMPTY_LIST": lambda _: self.stack.append([]),
            "EMPTY_SET": lambda _: self.stack.append([]),
            "EMPTY_TUPLE": lambda _: self.stack.append(()),
            "NONE": lambda _: self.stack.append(None),
            "NEWTRUE": lambda _: self.stack.append(True),
            "NEWFALSE": lambda _: self.stack.append(False),
            "POP": lambda _: self._pop(),
            "POP_MARK": lambda _: self._items(),
            "DUP": lambda _: self.stack.append(self.stack[-1]),
            "DICT": lambda _: self.stack.append(_pairs(self._items())),
            "LIST": lambda _: self.stack.append(self._items()),
            "TUPLE": lambda _: self.stack.append(tuple(self._items())),
            "FROZENSET": lambda _: self.stack.append(self._items()),
            "TUPLE1": lambda _: self._tuple(1),
            "TUPLE2": lambda _: self._tuple(2),
            "TUPLE3": lambda _: self._tuple(3),
            "APPEND": lambda _: self._extend([self._pop()]),
            "APPENDS": lambda _: self._extend(self._items()),
            "ADDITEMS": lambda _: self._extend(self._items()),
            "SETITEM": lambda _: self._update([self._pop(), self._pop()][::-1]),
            "SETITEMS": lambda _: self._update(self._items()),
            "GLOBAL": lambda name: self.stack.append(Inert(str(name).replace(" ", "."))),
            "STACK_GLOBAL": lambda _: self._stack_global(),
            "REDUCE": lambda _: self._make(self._pop()),
            "NEWOBJ": lambda _: self._make(self._pop()),
            "NEWOBJ_EX": lambda _: self._make((self._pop(), self._pop())[1]),
            "BUILD": lambda _: self._build(),
            "BINPERSID": lambda _: self.stack.append((self._pop(), None)[1]),
            "MEMOIZE": lambda _: self.memo.__setitem__(len(self.memo), self.stack[-1]),
        }

    def run(self, stream: io.BytesIO) -> Any:
        """Return the value of the next pickle in the stream."""
        argument: Any
        for opcode, argument, _ in pickletools.genops(stream):
            name = opcode.name
            operation = self.operations.get(name)
            if operation is not None:
                operation(argument)
            elif name.endswith("PUT"):
                self.memo[int(argument)] = self.stack[-1]
            elif name.endswith("GET"):
                self.stack.append(self.memo[int(argument)])
            elif name == "STOP":
                return self._pop()
            elif name not in ("PROTO", "FRAME"):
                self._literal(name, argument)
        raise ValueError("the pickle has no end")

    def _literal(self, name: str, argument: Any) -> None:
        if not isinstance(argument, (str, int, float, bytes, bytearray)):
            raise ValueError(f"{name} is not expected in arguments")
        self.stack.append(argument)

    def _pop(self) -> Any:
        return self.stack.pop()

    def _items(self) -> list[Any]:
        items: list[Any] = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    def _tuple(self, count: int) -> None:
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def _extend(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def _update(self, items: list[Any]) -> None:
        target = self.stack[-1]
        held = target.state if isinstance(target, Inert) else target
        if isinstance(held, dict):
            held.update(_pairs(items))

    def _stack_global(self) -> None:
        name = self._pop()
        self.stack.append(Inert(f"{self._pop()}.{name}"))

    def _make(self, args: Any) -> None:
        made = self._pop()
        name = made.name if isinstance(made, Inert) else "?"
        self.stack.append(Inert(name, args if isinstance(args, tuple) else ()))

    def _build(self) -> None:
        state = self._pop()
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], dict):
            state = state[0]
        target = self.stack[-1]
        if isinstance(target, Inert) and isinstance(state, dict):
            target.state.update(state)


def _pairs(items: list[Any]) -> dict[str, Any]:
    """Return key-value pairs that follow one another as a dict; keys that are no text become text."""
    keys = [
        k if isinstance(k, str) else repr(k)[:100] if isinstance(k, (int, float)) else "?" for k in items[::2]
    ]
    return dict(zip(keys, items[1::2], strict=False))
