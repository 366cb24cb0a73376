"""Scripts that belong together: a training script with the modules of its own project that it imports.

Probes judge a *program*: the entry file with everything of the run directory that it imports, laid one after
the other in the order in which Python would run them, so that a class of model.py is known where train.py
builds it. Lines are counted on through the whole; `Script.place` gives back the file and its line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from ...engine.model import Place
from ..readers._tree import walk
from ..readers.notebook import file_of
from ..readers.script import (
    IMPLIED,
    Extractor,
    Imported,
    frameworks,
    frameworks_among,
    imports,
    parse,
    parsed,
)
from ..run import Setting
from .reached import reached
from .syntax import Script, lines_of

MAX_PROGRAM = 1024 * 1024  # characters; what is larger stays apart, file by file
MAX_TOTAL = 8 * MAX_PROGRAM


def programs(texts: Mapping[str, str]) -> tuple[Script, ...]:
    """The programs among these files (path -> source text) that use a training framework, by entry path.

    Of files that import each other in a ring the first of `texts` is the entry, if it is one of them. Files
    that are no Python that this version reads are left out: their reader has said so.
    """
    return _programs(tuple(sorted(texts.items())), next(iter(texts), ""))


@lru_cache(maxsize=8)
def _programs(files: tuple[tuple[str, str], ...], given: str) -> tuple[Script, ...]:
    texts, brought = dict(files), _brought(files)
    linked = {path: _needed(path, found, brought) for path, found in brought.items()}
    uses = {path for path, found in brought.items() if frameworks_among(found)}
    needs = {path: found for path, (found, _) in linked.items()}
    found, total = [], 0
    alone = {p for p in needs if _trains_by_itself(texts[p])}
    for entry in _entries(needs, given, alone):
        parts = _in_order(entry, needs)
        if uses.isdisjoint(parts):
            continue  # a folder of hundreds of files that train nothing is not read a second time
        size = sum(len(texts[p]) for p in parts)
        total += size
        for group in [parts] if size <= MAX_PROGRAM and total <= MAX_TOTAL else [[p] for p in parts]:
            program = _joined(group, texts)
            if frameworks(program.tree):
                loose = program.loose or any(linked[p][1] for p in group)
                found.append(replace(program, loose=loose, among=len(parts), entry=entry))
    return tuple(found)


def _brought(files: tuple[tuple[str, str], ...]) -> dict[str, tuple[Imported, ...]]:
    """What each file imports; those that cannot be read as Python are left out."""
    found = {}
    for path, text in files:
        with suppress(ValueError):
            found[path] = imports(text)
    return found


_WITHOUT = frozenset(("numpy", "sklearn", "xgboost", "lightgbm", "catboost", "cupy", "autograd"))
_STEPS = frozenset(("step", "update", "backward", "train_step", "backprop"))


def unframed_programs(texts: Mapping[str, str]) -> tuple[Script, ...]:
    """The programs among these files that train without a framework: weights of NumPy, or scikit-learn's fit.

    As for `programs`; of a folder in which any file uses a framework there are none.
    """
    return _unframed(tuple(sorted(texts.items())), next(iter(texts), ""))


@lru_cache(maxsize=8)
def _unframed(files: tuple[tuple[str, str], ...], given: str) -> tuple[Script, ...]:
    texts, brought = dict(files), _brought(files)
    every = [one for found in brought.values() for one in found]
    if frameworks_among(every) or not any(one.module.split(".")[0] in _WITHOUT for one in every):
        return ()
    linked = {path: _needed(path, found, brought) for path, found in brought.items()}
    needs = {path: found for path, (found, _) in linked.items()}
    found = []
    for entry in _entries(needs, given):
        parts = _in_order(entry, needs)
        if sum(len(texts[p]) for p in parts) <= MAX_PROGRAM:
            program = _joined(parts, texts)
            if _learns(program):
                loose = program.loose or any(linked[p][1] for p in parts)
                found.append(replace(program, loose=loose, among=len(parts), entry=entry))
    return tuple(found)


def _learns(program: Script) -> bool:
    """Whether a program without a framework trains: it fits, or takes something off its weights in a loop."""
    names = {c.func.attr for c in program.of(ast.Call) if isinstance(c.func, ast.Attribute)}
    if names & {"predict", "predict_proba", "partial_fit"} and names & {"fit", "partial_fit", "train"}:
        return True
    moved = any(isinstance(n.op, ast.Sub | ast.Add) and _scaled(n.value) for n in program.of(ast.AugAssign))
    return bool(program.of(ast.For, ast.While)) and (moved or len(names & _STEPS) > 1)


def _scaled(node: ast.expr) -> bool:
    """Whether a product is taken off or added: `w -= lr * g`."""
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult | ast.MatMult) for n in walk(node))


def settings(texts: Mapping[str, str], found: Iterable[Setting]) -> tuple[Setting, ...]:
    """What the scripts fix: as found file by file, but programs of several files read as a whole.

    A name is followed into the modules that the entry imports; the entry's own value of a name comes first.
    """
    kept = list(found)
    for program in programs(texts):
        if len(program.pieces) > 1:
            mine = {path for _, path in program.pieces}
            kept = [s for s in kept if file_of(s.file) not in mine or s.trust != IMPLIED]
            kept = [s for s in kept if file_of(s.file) not in mine or _belongs(s, program)]
            entry = program.pieces[-1][0]
            body = sorted(program.tree.body, key=lambda n: (n.lineno <= entry, n.lineno))
            whole = Extractor(ast.Module(body, []), program.path)
            open_ = {program.place(call) for call in whole.choices}
            kept = [s for s in kept if s.key != "optimizer" or Place(s.file, s.line) not in open_]
            for setting in whole.settings():
                place = program.place(setting.line)
                kept.append(replace(setting, file=place.file, line=place.line))
    return tuple(dict.fromkeys(kept))


def _belongs(setting: Setting, program: Script) -> bool:
    """Whether a setting stands in what the entry can come to use; that of the entry itself always does."""
    file, line = setting.file, setting.line
    start = next((before for before, path in program.pieces if path == file), None)
    if line is None or start is None or file == program.path:
        return True
    at = start + line
    around = next((n for n in program.tree.body if n.lineno <= at <= (n.end_lineno or n.lineno)), None)
    if around is None:
        return False
    # By the name of a function that the entry has itself (`parse_opt`) it calls its own.
    entry = program.pieces[-1][0]
    own = {n.name for n in program.tree.body if isinstance(n, ast.FunctionDef) and n.lineno > entry}
    return not (isinstance(around, ast.FunctionDef) and around.lineno <= entry and around.name in own)


def needed(path: str, text: str, known: Mapping[str, object]) -> tuple[str, ...]:
    """The files of `known` (by path) that a file imports, in order."""
    return _needed(path, imports(text), known)[0]


_MAIN = re.compile(r"(?m)^if __name__ == ['\"]__main__['\"]:")
_LEARNS = re.compile(r"\.backward\(|\.fit\(|apply_gradients\(|value_and_grad\(|\.train\(\w*epoch")


def _trains_by_itself(text: str) -> bool:
    """Whether a file trains when it is started, so that what another file imports of it is not the whole."""
    return _MAIN.search(text) is not None and _LEARNS.search(text) is not None


def _entries(needs: Mapping[str, tuple[str, ...]], given: str, alone: Collection[str] = ()) -> Iterator[str]:
    """Files that no other imports; of files that import each other in a ring, the one given, or the first.

    Of those in `alone` each is an entry besides: `evaluate.py` imports the model of `train.py`, which trains.
    """
    imported = {m for path, found in needs.items() for m in found if m != path}
    reached: set[str] = set()
    apart = [p for p in needs if p not in imported]
    for path in dict.fromkeys([*apart, *([given] if given in needs else []), *needs]):
        if path not in reached:
            reached |= set(_in_order(path, needs))
            yield path
        elif path in alone and path in imported:
            yield path


def _in_order(entry: str, needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The files that an entry needs, each after those that it imports itself, the entry last."""
    order: list[str] = []
    seen = {entry}
    stack: list[tuple[str, Iterator[str]]] = [(entry, iter(needs[entry]))]
    while stack:
        path, rest = stack[-1]
        following = next((n for n in rest if n not in seen), None)
        if following is None:
            order.append(path)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(needs[following])))
    return order


def _needed(
    path: str, brought: Iterable[Imported], known: Mapping[str, object]
) -> tuple[tuple[str, ...], bool]:
    """The files of this project that a file imports, in order; and whether one of its own is not there."""
    found: list[str] = []
    loose = False
    for one in brought:
        named = [f"{one.module}.{name}".lstrip(".") for name in one.names]
        mine = [f for name in (one.module, *named) for f in _files_of(name, path, one.level, known)]
        loose = loose or (one.level > 0 and not mine)
        found += mine
    return tuple(dict.fromkeys(f for f in found if f != path)), loose


def _files_of(module: str, path: str, level: int, known: Mapping[str, object]) -> list[str]:
    """The file of a module as Python would find it from `path`: beside it, or below a folder above it."""
    folders = path.split("/")[:-1]
    if level:
        bases = [folders[: len(folders) - (level - 1)]] if level - 1 <= len(folders) else []
    else:
        bases = [folders[:n] for n in range(len(folders), -1, -1)] + [["src"]]
    parts = [p for p in module.split(".") if p]
    for base in bases:
        stem = "/".join([*base, *parts])
        for candidate in (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py"):
            if candidate in known:
                return [candidate]
    return []


def _move(tree: ast.Module, lines: int) -> None:
    """As `ast.increment_lineno`, by a walk that is kept."""
    for node in walk(tree):
        if isinstance(node, ast.TypeIgnore):
            node.lineno += lines
        elif "lineno" in node._attributes:
            node.lineno = getattr(node, "lineno", 0) + lines  # type: ignore[attr-defined]
            if (end := getattr(node, "end_lineno", None)) is not None:
                node.end_lineno = end + lines  # type: ignore[attr-defined]


def _joined(parts: list[str], texts: Mapping[str, str]) -> Script:
    """One script out of several files, of the imported ones what the last can come to use.

    A tree whose lines have to be moved is parsed anew.
    """
    moved: list[ast.Module] = []
    lines: list[str] = []
    pieces = []
    for path in parts:
        tree = parse(texts[path]) if lines else parsed(texts[path])
        if lines:
            _move(tree, len(lines))
        moved.append(tree)
        pieces.append((len(lines), path))
        lines += lines_of(texts[path])
    *modules, entry = moved
    bodies, left_out, more = reached(entry, modules)
    body = [statement for statements in (*bodies, entry.body) for statement in statements]
    text = "\n".join(lines)
    return Script(parts[-1], text, ast.Module(body, []), tuple(pieces), loose=more, left_out=tuple(left_out))
