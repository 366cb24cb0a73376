"""Files and lines as programs list them in a rehearsal: some made ones, each a row of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..libraries import Call, function, method
from ..values import Frame, Tensor, Unknown, file_key
from .frames import RECORDS, frame
from .modules import Path

if TYPE_CHECKING:
    from ..machine import Machine


_IN_FOLDER = 5  # files of a folder that is listed itself


def listed(machine: Machine, name: str) -> list[Any]:
    """Rows of a table, one by one."""
    held = frame(machine, name)
    found: list[Any] = []
    for row in range(RECORDS):
        at = np.asarray([row])
        found.append(Frame(at, held.table, held=held.held, labels=at))
    return found


def within(machine: Machine, folder: Tensor) -> list[Any]:
    """The files of a folder that was listed itself: some rows for each folder."""
    under = f" under {folder.folder}" if folder.folder else ""  # of each part of the data one
    held = frame(machine, f"files in {folder.table}{under}")
    if folder.rows is None or len(folder.rows) != 1:
        return [Frame(None, 0, held=held.held, vague=True)]
    places = [np.asarray([int(folder.rows[0]) * _IN_FOLDER + i]) for i in range(_IN_FOLDER)]
    return [Frame(p, held.table, held=held.held, labels=p, vague=folder.vague) for p in places]


@function("glob", "iglob", "listdir", "scandir", of=("glob.", "os."))
def _listing(call: Call) -> Any:
    where = call.given[0] if call.given else ""
    if isinstance(where, Tensor):
        return within(call.machine, where)
    return listed(call.machine, f"files {file_key(where)}")


@method(Path, "glob", "rglob", "iterdir")
def _of_path(call: Call) -> Any:
    return listed(call.machine, f"files {'/'.join(file_key(g) for g in (call.callee.owner, *call.given))}")


class File:
    """An open file."""

    def __init__(self, name: str) -> None:
        self.name = name


@function("open", of=("builtins.open", "gzip.", "io.", "codecs.", "bz2.", "lzma."))
def _opened(call: Call) -> Any:
    held = call.given[0] if call.given else ""
    if isinstance(held, Tensor):
        return held.then("open")
    mode = call.given[1] if len(call.given) > 1 else call.named.get("mode", "r")
    name = file_key(held)
    if not name or (isinstance(mode, str) and set(mode) & set("wax+")):
        return NotImplemented
    return File(name)


@method(Path, "open", "read_text", "read_bytes")
def _path_opened(call: Call) -> Any:
    if call.callee.name == "open":
        mode = call.given[0] if call.given else call.named.get("mode", "r")
        return File(call.callee.owner.name) if mode in ("r", "rt", "rb") else Unknown("file")
    return Text(call.callee.owner.name)


class Text:
    """All that stands in a file."""

    def __init__(self, name: str) -> None:
        self.name = name


@method(File, "read", "readlines", "readline", "close", "__iter__", "seek")
def _of_file(call: Call) -> Any:
    if call.callee.name == "read":
        return Text(call.callee.owner.name)
    if call.callee.name in ("readlines", "__iter__"):
        return listed(call.machine, call.callee.owner.name)
    return Unknown(f"{call.callee.owner.name}.{call.callee.name}")


@method(Text, "splitlines", "split", "strip", "rstrip", "lower")
def _of_text(call: Call) -> Any:
    if call.callee.name == "splitlines" or (call.callee.name == "split" and call.given[:1] == ["\n"]):
        return listed(call.machine, call.callee.owner.name)
    if call.callee.name == "split":
        return Unknown(f"words of {call.callee.owner.name}")
    return call.callee.owner


@method(Text, "*")
def _any_of_text(call: Call) -> Any:
    return Unknown(f"text of {call.callee.owner.name}")


@function("reader", "DictReader", of=("csv.",))
def _records(call: Call) -> Any:
    held = call.given[0] if call.given else None
    if isinstance(held, File):
        return listed(call.machine, held.name)
    return held if isinstance(held, list) else NotImplemented


@function("dumps", of=("json.", "orjson.", "ujson."))
def _written(call: Call) -> Any:
    """A row as JSON stands for its figures: each is told by its key where the text is printed."""
    held = call.given[0] if call.given else None
    return dict(held) if isinstance(held, dict) else NotImplemented


@function("loads", of=("json.", "orjson.", "ujson."))
def _record(call: Call) -> Any:
    return call.given[0] if call.given and isinstance(call.given[0], Frame) else NotImplemented


@method(Frame, "strip", "rstrip", "split", "lower", "decode", "encode", "partition", "rsplit", "upper")
def _of_line(call: Call) -> Any:
    held: Frame = call.callee.owner
    if call.callee.name in ("split", "partition", "rsplit"):
        return Tensor(held.rows, held.table, held=held.held, vague=held.vague, by=held.by, done=("split",))
    return held


@method(Frame, "endswith")
def _ending(call: Call) -> Any:
    """Whether a listed file is of the kind that is looked for: those that are made here are.

    Another ending in the same folder may choose other files: it stays unknown which.
    """
    held: Frame = call.callee.owner
    asked = call.given[0] if call.given else None
    kinds = asked if isinstance(asked, (tuple, list)) else (asked,)
    if held.rows is None or len(held.rows) != 1 or held.vague:
        return NotImplemented
    if not all(isinstance(k, str) and _ENDING.match(k) for k in kinds):
        return NotImplemented
    known = call.machine.by_name.setdefault(f"ending {held.table}", tuple(kinds))
    return True if known == tuple(kinds) else NotImplemented


_ENDING = re.compile(r"^\.\w{1,6}$")


@method(Frame, "get")
def _entry(call: Call) -> Any:
    return call.machine.item(call.callee.owner, call.given[0], call.node) if call.given else Unknown("entry")


def lines(machine: Machine, held: Any) -> list[Any] | None:
    """What a loop over an open file goes over, or None."""
    return listed(machine, held.name) if isinstance(held, File) else None
