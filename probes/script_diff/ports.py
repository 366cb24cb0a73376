"""A port against its benchmark in another framework, role by role: what differs in words, defaults included.

Lines of two frameworks are no versions of each other; parts (layers, optimizer, loss, loader) are compared by
what they do. What they are called and do by default stands in rules/porting/conventions.yaml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ...engine.model import Place
from ..scripts.syntax import Script
from .lines import Line, Program, program
from .terms import Term
from .vocabulary import SAME

_FRAMEWORKS = {
    "torch": "pytorch",
    "pytorch": "pytorch",
    "tensorflow": "keras",
    "keras": "keras",
    "mindspore": "mindspore",
}
MAX_TOLD = 60


@dataclass(frozen=True)
class Difference:
    """One difference of a part of training; `mine` and `theirs` are where it is written, if it is."""

    role: str
    text: str
    mine: Place | None
    theirs: Place | None


@lru_cache(maxsize=1)
def conventions() -> Mapping[str, Any]:
    """rules/porting/conventions.yaml, read once."""
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "conventions.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


def framework(source: Script) -> str:
    """The framework of a script as its conventions call it; "" where it is none of them, or several."""
    found = {_FRAMEWORKS[f.lower()] for f in source.frameworks if f.lower() in _FRAMEWORKS}
    return next(iter(found)) if len(found) == 1 else ""


def is_port(mine: Script, theirs: Script) -> bool:
    """Whether two scripts are written for two frameworks whose conventions are known."""
    return bool(framework(mine) and framework(theirs)) and framework(mine) != framework(theirs)


def differences(mine: Script, theirs: Script) -> list[Difference]:
    """What a port does otherwise than its benchmark, by role; empty where both are of one framework."""
    if not is_port(mine, theirs):
        return []
    here, there = _Side(program(mine), framework(mine)), _Side(program(theirs), framework(theirs))
    found = [d for name, part in conventions()["parts"].items() for d in _part(name, part, here, there)]
    found += _optimizers(here, there)
    found += [d for name, step in conventions()["steps"].items() for d in _step(name, step, here, there)]
    return found[:MAX_TOLD]


class _Side:
    def __init__(self, of: Program, called: str) -> None:
        self.program = of
        self.framework = called
        self.calls: list[tuple[Line, Term]] = [
            (line, term) for line in of.lines for term in line.term.walk() if term.kind == "call"
        ]
        self.own = {u.last for u in of.units if u.name}
        self.constants: dict[str, str] = {}
        for line in of.lines:
            value = line.term.part("value")
            if line.term.kind in ("assign", "default") and value is not None and len(line.targets) == 1:
                name = line.targets[0].removeprefix("self.")
                known = value.kind in ("number", "constant")
                self.constants[name] = value.label if known and name not in self.constants else ""

    def once(self, found: list[tuple[Line, Term]]) -> bool:
        """Whether each of these is made once: by no helper, in no loop, in no block of several."""
        alone = all(x.unit.last in ("__init__", "") and not x.around for x, _ in found)
        return alone and len(self.program.source.modules) <= 1

    def named(self, names: list[str]) -> list[tuple[Line, Term]]:
        """Calls of one of these names that are not the program's own."""
        return [(x, t) for x, t in self.calls if t.label in names and t.label not in self.own]

    def place(self, line: Line) -> Place:
        return self.program.source.place(line.node)

    def argument(self, term: Term, name: str) -> str:
        """An argument as text, a default that is written out included; "" where it is not given."""
        for keyword in term.node.keywords if isinstance(term.node, ast.Call) else ():
            written = isinstance(keyword.value, ast.Constant) and not isinstance(keyword.value.value, str)
            if written and SAME.get(keyword.arg or "", keyword.arg) == name:
                return ast.unparse(keyword.value)
        return self.given(term.part(name))

    def given(self, term: Term | None) -> str:
        """An argument as text; what a name holds, where it holds one constant."""
        if term is None:
            return ""
        if term.kind in ("number", "constant"):
            return term.label
        if term.kind in ("name", "attribute") and self.constants.get(term.label):
            return self.constants[term.label]
        return "?"


def _optimizers(here: _Side, there: _Side) -> Iterator[Difference]:
    """Optimizers of two kinds."""
    parts = {n: p for n, p in conventions()["parts"].items() if p["role"] == "optimizer"}
    mine = {n: c[0][0] for n, p in parts.items() if (c := here.named(p["names"]))}
    theirs = {n: c[0][0] for n, p in parts.items() if (c := there.named(p["names"]))}
    if mine and theirs and not mine.keys() & theirs.keys():
        text = f"{' and '.join(mine)} here, {' and '.join(theirs)} in the benchmark: another update"
        places = here.place(next(iter(mine.values()))), there.place(next(iter(theirs.values())))
        yield Difference("optimizer", text, *places)


def _part(name: str, part: Mapping[str, Any], here: _Side, there: _Side) -> Iterator[Difference]:
    mine, theirs = here.named(part["names"]), there.named(part["names"])
    if not mine or not theirs:
        if (mine or theirs) and part["role"] == "model":
            line, where = (mine or theirs)[0][0], "the benchmark" if mine else "this script"
            at = here.place(line) if mine else there.place(line)
            yield Difference(
                "model", f"no {name} layer in {where}", at if mine else None, None if mine else at
            )
        return
    if len(mine) != len(theirs) and part["role"] == "model" and here.once(mine) and there.once(theirs):
        layers = f"{name} layer is" if len(mine) == 1 else f"{name} layers are"
        text = f"{len(mine)} {layers} written here, {len(theirs)} in the benchmark"
        yield Difference("model", text, here.place(mine[0][0]), there.place(theirs[0][0]))
    told: set[str] = set()
    for (x, a), (y, b) in zip(mine, theirs, strict=False):
        for setting, known in part["settings"].items():
            first, second = _value(a, known, here), _value(b, known, there)
            if "when" in known:
                decays = [_value(t, part["settings"][known["when"]], s) for t, s in ((a, here), (b, there))]
                if all(_number(d) == 0 for d in decays):
                    continue
            if "?" in first + second or "unknown" in (first, second) or _equal(first, second):
                continue
            text = f"{name}: {setting} {first} here, {second} in the benchmark: {known['says']}"
            if text not in told:
                told.add(text)
                yield Difference(part["role"], text, here.place(x), there.place(y))


def _value(term: Term, known: Mapping[str, Any], side: _Side) -> str:
    """What is in force of a setting, in words or as a number that means the same in every framework."""
    of = known[side.framework]
    asked = of.get("argument", [])
    given = next((e for e in asked if side.argument(term, e)), "")
    text = side.argument(term, given) if given else ""
    positional = isinstance(term.node, ast.Call) and bool(term.node.args)
    if "first" in of and positional and (not given or asked[0] == given):
        if not text:
            text = side.given(next((t for e, t in term.parts if e != "self"), None))
        if of["first"] == "keep" and not _keyword(term, given):
            return _turned(text)
    elif given == "keep_prob":
        return _turned(text)
    if not text:
        text = str(of.get("default", ""))
    if of.get("as") == "old":
        return _turned(text)
    if given == "from_logits" or text in ("True", "False"):
        return {"True": "logits", "False": "probabilities"}[text] if given == "from_logits" else text
    if "padding" in asked:
        return _padding(term, text.strip("'\"").lower(), side)
    value = _number(text)
    return f"{value:g}" if value is not None else text.strip("'\"")


def _keyword(term: Term, name: str) -> bool:
    return isinstance(term.node, ast.Call) and any(k.arg == name for k in term.node.keywords)


def _padding(term: Term, text: str, side: _Side) -> str:
    """Padding as "none", "same", or a number of pixels."""
    mode = term.part("pad_mode")
    if mode is not None and side.given(mode).strip("'\"") != "pad":
        text = side.given(mode).strip("'\"").lower()
    if text == "valid":
        return "none"
    pixels = _number(text)
    if pixels is None:
        return text
    kernel, stride = (_number(side.given(term.part(e))) for e in ("kernel_size", "stride"))
    if pixels == 0 and kernel != 1:
        return "none"
    return "same" if kernel == 2 * pixels + 1 and stride in (None, 1.0) else f"of {pixels:g}"


def _turned(text: str) -> str:
    value = _number(text)
    return f"{round(1 - value, 9):g}" if value is not None else text or "?"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _equal(a: str, b: str) -> bool:
    x, y = _number(a), _number(b)
    return a == b if x is None or y is None else abs(x - y) <= 1e-12 + 1e-6 * abs(y)


def _step(name: str, step: Mapping[str, Any], here: _Side, there: _Side) -> Iterator[Difference]:
    mine, theirs = _shows(step, here), _shows(step, there)
    if (mine is None) == (theirs is None):
        return
    where = "the benchmark only" if mine is None else "this script only"
    text = f"{name}: in {where}: {step['says']}"
    yield Difference(
        step["role"],
        text,
        here.place(mine) if mine is not None else None,
        there.place(theirs) if theirs is not None else None,
    )


def _shows(step: Mapping[str, Any], side: _Side) -> Line | None:
    for line, term in side.calls:
        if any(fnmatchcase(term.label, pattern) for pattern in step["calls"]):
            return line
        for argument in step.get("arguments", ()):
            part = term.part(argument)
            if part is not None and part.label not in ("False", "None"):
                return line
    return None
