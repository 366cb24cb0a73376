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


def batch_gives_answer_twice(source: Script) -> Finding | None:
    """`return src, tgt, tgt` of what makes batches, and `model(src, tgt_in)` is held against the last.

    Nothing shifts the one against the other: each position is fed what it is to say.
    """
    if any(_SHIFTS.search(unparse(f)) for f in source.passes):
        return None
    for made in source.of(ast.Return):
        if not re.search(r"(?i)collate|__getitem__|^(?:make|to)_?batch", source.function_name(made)):
            continue
        given = [unparse(e) for e in made.value.elts] if isinstance(made.value, ast.Tuple) else []
        twice = [(i, given.index(g)) for i, g in enumerate(given) if g.isidentifier() and given.index(g) < i]
        if len(given) < 3 or len(twice) != 1:
            continue
        for loop in source.of(ast.For):
            names = _taken_apart(loop.target)
            if len(names) != len(given):
                continue
            one, other = (names[i] for i in twice[0])
            fed = {n for c in of(loop, ast.Call) if len(c.args) > 1 for n in map(unparse, c.args)}
            held = {
                unparse(c.args[1]) for c, _ in source.losses if c in set(of(loop, ast.Call)) and c.args[1:]
            }
            if {one, other} <= fed and len({one, other} & held) == 1:
                return at(source, made, "the network is fed what each of its positions is to say")
    return None


def _taken_apart(target: ast.expr) -> list[str]:
    """Names of the parts of a batch: `src, tgt_in, tgt`, with a count before it or not."""
    elts = target.elts if isinstance(target, ast.Tuple) else []
    if len(elts) == 2 and isinstance(elts[1], ast.Tuple):
        elts = elts[1].elts
    return [e.id for e in elts if isinstance(e, ast.Name)]


_FED = re.compile(r"(?i)^(?:decoder_input(?:_ids|s)?|dec_in(?:put)?s?|tgt_in(?:put)?|target_in(?:put)?s?)$")
_ASKED = re.compile(r"(?i)^(?:labels?|targets?|tgt(?:_out)?|target_out|dec_out)$")


def entry_gives_answer_twice(source: Script) -> Finding | None:
    """`{"decoder_input_ids": ids, "labels": ids}`: nothing shifts the one against the other."""
    if any(_SHIFTS.search(unparse(f)) for f in source.passes):
        return None
    for node in source.of(ast.Dict):
        held = {
            k.value: unparse(v)
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        }
        fed = {v for k, v in held.items() if _FED.match(k)}
        if fed & {v for k, v in held.items() if _ASKED.match(k)}:
            return at(source, node, "the network is fed what each of its positions is to say")
    return None
