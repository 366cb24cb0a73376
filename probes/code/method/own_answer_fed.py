"""Decoders that are fed the answer of the very step, and sizes of two languages handed crosswise."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import words

_SHIFTS = re.compile(r"\[[^\]]*(?:\b1:|:-1\b)[^\]]*\]|shift|roll\(")
_GROUPS = (
    frozenset(("source", "src", "encoder", "enc", "input", "inputs")),
    frozenset(("target", "tgt", "trg", "decoder", "dec", "output", "outputs")),
)


def step_sees_its_answer(source: Script) -> Finding | None:
    """`for t in range(target.size(1)): out = decoder(target[:, t], h)`, held against `target`.

    Nothing shifts the one against the other: each step is fed what it is to say.
    """
    for function in source.passes:
        names = {a.arg for a in function.args.args} - {"self"}
        for loop in of(function, ast.For):
            step = loop.target.id if isinstance(loop.target, ast.Name) else ""
            over = re.fullmatch(r"range\((\w+)\.(?:size\((\d)\)|shape\[(\d)\])\)", unparse(loop.iter))
            text = unparse(function)
            if _SHIFTS.search(text) or re.search(rf"\b{step} [-+] 1\b", text):
                continue
            if not step or over is None or over.group(1) not in names:
                continue
            told, first = over.group(1), (over.group(2) or over.group(3)) == "0"
            now = f"{told}[{step}]" if first else f"{told}[:, {step}]"
            for node in of(loop, ast.Assign):
                call = node.value
                if not isinstance(call, ast.Call) or now not in map(unparse, call.args):
                    continue
                if _held_against_whole(source, told):
                    return at(source, node, f"the step is fed `{now}`, which it is to answer")
    return None


def _held_against_whole(source: Script, name: str) -> bool:
    """A loss is of all positions of what has this name, none cut off at either end."""
    held = [unparse(a) for c, _ in source.losses for a in c.args[1:2]]
    mine = [h for h in held if re.match(rf"{name}\b", h)]
    return bool(mine) and not any(_SHIFTS.search(h) for h in mine)


def languages_crossed(source: Script) -> Finding | None:
    """`Model(len(tgt), len(src))` of `def __init__(self, source_vocab, target_vocab)`."""
    for call in source.of(ast.Call):
        owner = source.classes.get(last_name(call.func))
        start = (
            next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
            if owner is not None
            else None
        )
        if start is None or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        asked = [_group(a.arg) for a in start.args.args[1:]]
        given = [_group(unparse(a)) for a in call.args]
        pairs = [(a, g) for a, g in zip(asked, given, strict=False) if a is not None and g is not None]
        if len(pairs) > 1 and all(a != g for a, g in pairs) and {a for a, _ in pairs} == {0, 1}:
            return at(source, call, "sizes of the two sides are handed crosswise")
    return None


def _group(name: str) -> int | None:
    found = {i for i, group in enumerate(_GROUPS) if set(words(name)) & group}
    return found.pop() if len(found) == 1 else None
