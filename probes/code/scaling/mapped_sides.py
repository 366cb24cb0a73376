"""Pipelines of tf.data and MindSpore by side, in scripts: scaled on one side, twice, or drawn at random."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import assigned, is_true
from ..shared.roles import is_random
from ..shared.sides import given, side, stem

_BYTES = (255, 255.0, 127.5, 128, 128.0, 256, 256.0)
_SCALERS = ("preprocess_input", "per_image_standardization", "convert_image_dtype")
_LEARNS = re.compile(r"^(?:is_?)?(?:train(?:ing)?|augment(?:ation)?|aug|is_train(?:ing)?|do_augment)$", re.I)
_RANDOM = re.compile(
    r"^Random(?:Crop|Resized\w*|Horizontal\w*|Vertical\w*|Rotat\w*|Color\w*|Affine|Erasing|Adjust\w*|CropDecode\w*)$"
)


def mapped_on_one_side(source: Script) -> Finding | None:
    """A function that scales the inputs stands in the pipeline of one side alone: `.map(scale)`."""
    maps: dict[bool, list[str]] = {}
    for one in given(source):
        names = _mapped(flow(source), one.value)
        if names:
            maps[one.learns] = [*maps.get(one.learns, []), *names]
    if len(maps) != 2:
        return None
    for learns in (True, False):
        for name in maps[learns]:
            functions = flow(source).functions.get(name, [])
            if name in maps[not learns] or len(functions) != 1:
                continue
            scale = _scales(functions[0])
            others = [f for n in maps[not learns] for f in flow(source).functions.get(n, [])]
            if scale is not None and not any(_scales(f) is not None for f in others):
                who = "training" if learns else "held-out"
                return at(
                    source, scale, f"only {who} samples are scaled: the other side does not map `{name}`"
                )
    return None


def _mapped(mine: Flow, node: ast.expr, depth: int = 12) -> list[str]:
    """The functions that a pipeline maps, the last first."""
    found: list[str] = []
    for _ in range(depth):
        if isinstance(node, ast.Name):
            behind = mine.whole_given(node)
            if behind is None:
                break
            node = behind
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "map" and node.args and isinstance(node.args[0], (ast.Name, ast.Attribute)):
                found.append(last_name(node.args[0]))
            node = node.func.value
        else:
            break
    return found


def _scales(function: Function) -> ast.AST | None:
    """Where a function brings bytes into a small range."""
    for node in of(function, ast.BinOp, ast.Call):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            if isinstance(node.right, ast.Constant) and node.right.value in _BYTES:
                return node
        elif isinstance(node, ast.Call) and last_name(node.func) in _SCALERS:
            return node
    return None


def scaled_where_it_learns(source: Script) -> Finding | None:
    """`if training: ds = ds.map(standardise)`: the pipeline that makes both sides scales one of them."""
    mine = flow(source)
    for node in source.of(ast.If):
        asked = node.test
        told = isinstance(asked, (ast.Name, ast.Attribute)) and _LEARNS.match(last_name(asked))
        around = source.function_around(node)
        if not told or node.orelse or around is None:
            continue
        inside = {*of(node, ast.Call)}
        maps = [
            (c, last_name(c.args[0])) for c in of(around, ast.Call) if last_name(c.func) == "map" and c.args
        ]
        moved = [(c, f) for c, n in maps if len(f := mine.functions.get(n, [])) == 1 and _moves_range(f[0])]
        if moved and all(c in inside for c, _ in moved):
            call, functions = moved[0]
            if not is_random(functions[0]):
                why = f"only training samples are scaled: `{functions[0].name}` is mapped for them alone"
                return at(source, call, why)
    return None


def _moves_range(function: Function) -> bool:
    """The sample is shifted or divided by figures: `(img - 0.5) * 2.0`, `(x - MEAN) / STD`."""
    first = function.args.args[0].arg if function.args.args else ""
    for node in of(function, ast.BinOp):
        if not isinstance(node.op, (ast.Sub, ast.Div)) or first not in names_in(node.left):
            continue
        names = names_in(node.right)
        if all(n.isupper() or re.search(r"(?i)mean|std|mu$|sigma", n) for n in names):
            return any(isinstance(n, (ast.Constant, ast.Name, ast.Attribute)) for n in walk(node.right))
    return False


def scaled_and_prepared(source: Script) -> Finding | None:
    """Bytes are divided, and go through `preprocess_input` or `Rescaling(1 / 255)` again."""
    for function in source.of(ast.FunctionDef):
        divided = [
            n
            for n in of(function, ast.BinOp)
            if isinstance(n.op, ast.Div) and isinstance(n.right, ast.Constant) and n.right.value in _BYTES
        ]
        for call in of(function, ast.Call):
            early = [n for n in divided if n.lineno < call.lineno or n in of(call, ast.BinOp)]
            if last_name(call.func) == "preprocess_input" and early and call.args:
                if re.search(r"(?i)im(?:g|age)|^x$|pixel|frame|photo", unparse(call.args[0])):
                    return at(
                        source, call, "preprocess_input takes pixels of 0 to 255, and these were scaled"
                    )
    layers = [c for c in source.named("Rescaling") if c.args and re.search(r"255|127\.5", unparse(c.args[0]))]
    names = {n for one in given(source) for n in _mapped(flow(source), one.value)}
    for name in sorted(names):
        for mapped in flow(source).functions.get(name, []):
            scale = _scales(mapped)
            if layers and scale is not None:
                return at(source, layers[0], f"pixels are scaled here, and `{name}` has scaled them already")
    return None


def random_beside_training(source: Script) -> Finding | None:
    """The branch for held-out data draws at random: `if training: ... else: [RandomCrop(224), ...]`."""
    for node in source.of(ast.If):
        test = node.test
        turned = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        asked = test.operand if isinstance(test, ast.UnaryOp) and turned else test
        told = isinstance(asked, (ast.Name, ast.Attribute)) and _LEARNS.match(last_name(asked))
        if not told or "aug" in last_name(asked).lower():
            continue
        held, learns = (node.body, node.orelse) if turned else (node.orelse, node.body)
        if not learns or (len(held) == 1 and isinstance(held[0], ast.If)):
            continue
        for call in (c for s in held for c in of(s, ast.Call)):
            if _RANDOM.match(last_name(call.func)):
                return at(
                    source, call, "held-out samples are changed at random, as only training samples should"
                )
    return None


def switched_on_for_held_out(source: Script) -> Finding | None:
    """`Tiles(root, "valid", True)`, where the parameter is `augment` and asks for random changes.

    Also a switch of that name that is kept and never asked, beside random changes of each sample.
    """
    for owner in source.classes.values():
        made = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
        draws = [
            f
            for f in owner.body
            if isinstance(f, ast.FunctionDef) and f.name in ("__getitem__", "__call__") and _draws(f)
        ]
        if made is None or not draws:
            continue
        names = [a.arg for a in made.args.args]
        for flag in (n for n in names if _LEARNS.match(n)):
            kept = {flag, *_kept_as(made, flag)}
            if not any(n.attr in kept and isinstance(n.ctx, ast.Load) for n in of(owner, ast.Attribute)):
                uses = [n for n in of(owner, ast.Name) if n.id == flag and isinstance(n.ctx, ast.Load)]
                if len(uses) == 1 and isinstance(source.parents.get(uses[0]), (ast.Assign, ast.Tuple)):
                    return at(
                        source,
                        draws[0],
                        f"`{flag}` is kept and never asked: every sample is changed at random",
                    )
                continue
            for value in (*(g.value for g in given(source) if not g.learns), *_handed_back_held(source)):
                for call in of(value, ast.Call):
                    if last_name(call.func) != owner.name:
                        continue
                    place = names.index(flag) - 1
                    told = next((k.value for k in call.keywords if k.arg == flag), None)
                    told = told or argument(call, position=place)
                    if is_true(told):
                        return at(source, call, f"held-out samples are made with `{flag}` on")
    return None


def _kept_as(made: ast.FunctionDef, flag: str) -> Iterator[str]:
    """Attributes that a parameter is kept as: `self.m_augment = augment`."""
    for node in of(made, ast.Assign):
        for target, value in assigned(node):
            if isinstance(target, ast.Attribute) and any(n.id == flag for n in of(value, ast.Name)):
                yield target.attr


def _handed_back_held(source: Script) -> Iterator[ast.expr]:
    """What functions of held-out data give: `def getValidationLoader(self): return DataLoader(...)`."""
    for node in source.of(ast.Return):
        if node.value is not None and side(source.function_name(node)) is False:
            yield node.value


def _draws(function: ast.FunctionDef) -> bool:
    return is_random(function)


def one_part_unscaled(source: Script) -> Finding | None:
    """`x_train` and `x_val` go through `scaler.transform`, and `x_test` is predicted as it is."""
    scaled: dict[str, set[str]] = defaultdict(set)
    for call in source.named("transform", "fit_transform", "adapt"):
        statement = source.parents.get(call)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for name in [*(unparse(t) for t in targets), *(unparse(a) for a in call.args)]:
            if side(name) is not None:
                scaled[stem(name)].add(name)
    for call in source.named("predict", "evaluate", "score", "predict_proba"):
        for node in call.args[:1]:
            name = unparse(node)
            mine = scaled.get(stem(name), set())
            parts = {side(n) for n in mine}
            if (
                isinstance(node, ast.Name)
                and side(name) is False
                and name not in mine
                and parts == {True, False}
            ):
                if len([v for v in flow(source).values(node, 1) if v is not node]) <= 1:
                    return at(source, node, f"`{name}` is not scaled, and the other parts are")
    return None
