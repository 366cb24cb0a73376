"""The installed rules as they were resolved last, kept where Python keeps its bytecode.

Parsing a hundred YAML files and checking every reference takes as long as all the rest of a diagnosis. What
comes out is kept as plain data (marshal: text, numbers and containers; reading it calls nothing), beside the
digest of all that it was made of: every rule file and the code of the engine. Bytecode's own conditions hold:
nothing is written where Python was told to write none, or where the folder cannot be written to; then it is
made each time.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from . import model
from .model import RuleBase

_FORMAT = 4  # of marshal: the newest that every Python from 3.10 on reads
_DIGEST = hashlib.sha256().digest_size
_LIST = ""  # the class named before the items of a plain list


def recall(folder: Path) -> RuleBase | None:
    """Return the rules of a folder as kept; None where none are, or they are of other files or other code."""
    kept = _path(folder)
    try:
        raw = kept.read_bytes() if kept is not None else b""
        made_of, sealed, body = raw[:_DIGEST], raw[_DIGEST : 2 * _DIGEST], raw[2 * _DIGEST :]
        if not body or hashlib.sha256(body).digest() != sealed or made_of != _sources(folder):
            return None
        found = _thawed(marshal.loads(body))  # noqa: S302 - what this very code wrote, held to its digest
    except (OSError, ValueError, TypeError, EOFError, KeyError):
        return None
    return found if isinstance(found, RuleBase) else None


def keep(folder: Path, rules: RuleBase) -> None:
    """Keep the rules of a folder for the next process, where Python would keep bytecode; else do nothing."""
    kept = _path(folder)
    if kept is None or sys.dont_write_bytecode:
        return
    part = kept.with_name(f"{kept.name}.{os.getpid()}")
    with suppress(OSError):
        body = marshal.dumps(_frozen(rules), _FORMAT)
        kept.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(_sources(folder) + hashlib.sha256(body).digest() + body)
        part.replace(kept)


def _path(folder: Path) -> Path | None:
    try:
        return Path(cache_from_source(str(folder / "rules.py"))).with_suffix(".kept")
    except NotImplementedError:  # a Python that keeps no bytecode
        return None


def _sources(folder: Path) -> bytes:
    """The digest of what the rules are made of: the files of the folder, and the engine's code."""
    digest = hashlib.sha256()
    for root, kind in ((folder, "*.yaml"), (Path(__file__).parent, "*.py")):
        for path in sorted(root.rglob(kind)):
            raw = path.read_bytes()
            digest.update(f"{path.relative_to(root).as_posix()}\0{len(raw)}\0".encode() + raw)
    return digest.digest()


@cache
def _classes() -> Mapping[str, type]:
    return {k: v for k, v in vars(model).items() if is_dataclass(v) or _is_enum(v)}


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def _frozen(value: Any) -> Any:
    """A rule as what marshal takes: lists begin with the name of the class that they are the fields of."""
    if is_dataclass(value):
        return [type(value).__name__, *(_frozen(getattr(value, f.name)) for f in fields(value))]
    if isinstance(value, Enum):
        return [type(value).__name__, value.value]
    if isinstance(value, Mapping):
        return {_frozen_key(k): _frozen(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_LIST, *map(_frozen, value)]
    if isinstance(value, (tuple, frozenset)):
        return type(value)(map(_frozen, value))
    return value


def _frozen_key(key: Any) -> Any:
    """A key as marshal takes it: a list can be none, so an enum's name and value stand in a tuple."""
    return (type(key).__name__, key.value) if isinstance(key, Enum) else key


def _thawed(value: Any) -> Any:
    if isinstance(value, list):
        name, *rest = value
        values = [_thawed(v) for v in rest]
        return values if name == _LIST else _classes()[name](*values)
    if isinstance(value, dict):
        return {_thawed_key(k): _thawed(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple([_thawed(v) for v in value])
    return value  # text and numbers; a frozenset holds nothing else


def _thawed_key(key: Any) -> Any:
    return _classes()[key[0]](key[1]) if isinstance(key, tuple) else key
