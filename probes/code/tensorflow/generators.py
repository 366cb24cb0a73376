"""Generators of Keras over folders of pictures in scripts: their steps, and the order that they give."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import literal

_VALUES = (
    *("rescale", "preprocessing_function", "samplewise_center", "samplewise_std_normalization"),
    *("featurewise_center", "featurewise_std_normalization"),
)
_FLOWS = ("flow_from_directory", "flow_from_dataframe")
_FOLDERS = ("image_dataset_from_directory", "text_dataset_from_directory")
_ASKED = ("predict", "predict_generator")


def generators_apart(source: Script) -> Finding | None:
    """`ImageDataGenerator(rescale=1 / 255)` for training, and another or no scale for validation."""
    found: dict[str, ast.Call] = {}
    for call in source.named(*_FLOWS, "flow"):
        made = receiver(call)
        ends = [made, *flow(source).values(made, 3)] if made is not None else []
        made_by = [e for e in ends if isinstance(e, ast.Call) and last_name(e.func) == "ImageDataGenerator"]
        makers = list(dict.fromkeys(made_by))
        if len(makers) != 1 or any(k.arg is None for k in makers[0].keywords):
            return None
        found[_steps(source, makers[0])] = makers[0]
    if len(found) != 2 or source.loose:
        return None
    one, other = found
    last = max(found.values(), key=lambda c: c.lineno)
    told = (
        f"values are changed by {one or 'nothing'} in one generator and by {other or 'nothing'} in the other"
    )
    return at(source, last, told)


def _steps(source: Script, made: ast.Call) -> str:
    given = [(k.arg or "", _number(source, k.value), k.value) for k in made.keywords if k.arg in _VALUES]
    words = [
        f"{name}={number:.5g}" if isinstance(number, (int, float)) else f"{name}={unparse(node)}"
        for name, number, node in given
        if number not in (None, False) or not isinstance(node, ast.Constant)
    ]
    return ", ".join(sorted(words))


def _number(source: Script, node: ast.expr) -> object:
    """`1.0 / 255`, as `1 / 255.0`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        over, under = literal(source, node.left), literal(source, node.right)
        if isinstance(over, (int, float)) and isinstance(under, (int, float)) and under:
            return over / under
    return literal(source, node)


def answers_in_drawn_order(source: Script) -> Finding | None:
    """`predict(test)` beside `test.classes`, of folders that are gone through in a drawn order.

    They are so unless `shuffle=False` is said. Also truths that are collected in a round of their own over
    `image_dataset_from_directory`, which is shuffled anew in each round.
    """
    for call in source.named(*_FLOWS, *_FOLDERS):
        statement, order = source.statement(call), keyword(call, "shuffle")
        if order is not None and literal(source, order) is not True:
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not call:
            continue
        name = unparse(statement.targets[0])
        asked = [c for c in source.named(*_ASKED) if c.args and unparse(c.args[0]) == name]
        if not asked:
            continue
        truths = _truths(source, name, last_name(call.func) in _FOLDERS)
        if truths is not None:
            return at(source, truths, f"`{name}` is shuffled: these are of other samples than the answers")
    return None


def _truths(source: Script, name: str, anew: bool) -> ast.AST | None:
    if not anew:
        reads = (n for n in source.of(ast.Attribute) if n.attr in ("classes", "labels"))
        return next((n for n in reads if unparse(n.value) == name and not _counted(source, n)), None)
    rounds: list[ast.ListComp | ast.GeneratorExp] = [*source.of(ast.ListComp), *source.of(ast.GeneratorExp)]
    for comp in rounds:
        over, target = comp.generators[0].iter, comp.generators[0].target
        if isinstance(target, ast.Tuple) and re.match(
            rf"{re.escape(name)}(?:\.unbatch\(\))?$", unparse(over)
        ):
            asks = any(last_name(c.func) in (*_ASKED, "model") for c in of(comp.elt, ast.Call))
            if not asks and unparse(target.elts[-1]) in unparse(comp.elt):
                return comp
    loops = (n for n in source.of(ast.For) if unparse(n.iter) == name and isinstance(n, ast.For))
    return next((n.iter for n in loops if _collected(source, n)), None)


def _collected(source: Script, loop: ast.For) -> bool:
    """`for x, y in test: truth.extend(y.numpy())`, and nothing is asked of the model there."""
    target = loop.target
    if not isinstance(target, ast.Tuple) or any(last_name(c.func) in _ASKED for c in of(loop, ast.Call)):
        return False
    label = unparse(target.elts[-1])
    puts = [c for c in of(loop, ast.Call) if last_name(c.func) in ("append", "extend") and c.args]
    return bool(puts) and all(label in unparse(c.args[0]) for c in puts) and not source.backwards


def _counted(source: Script, node: ast.AST) -> bool:
    """`len(test.classes)`, `np.bincount(test.classes)`: no order is asked of them."""
    parent = source.parents.get(node)
    counts = ("len", "bincount", "unique", "Counter", "set", "print", "compute_class_weight")
    return isinstance(parent, (ast.Call, ast.keyword, ast.Attribute)) and (
        not isinstance(parent, ast.Call) or last_name(parent.func) in counts
    )


_LOADS = re.compile(r"\b(?:imread|load_img|Image\.open)\(")
_SCALED = re.compile(
    r"/ ?25[56]|/= ?25[56]|rescale|preprocess|Rescaling|ImageDataGenerator|normaliz|transform"
)


def asked_raw(source: Script) -> Finding | None:
    """`ImageDataGenerator(rescale=1 / 255)`, and `predict(cv2.imread(name))` gets them as they lie there."""
    scaled = [c for c in source.named("ImageDataGenerator") if keyword(c, "rescale") is not None]
    if not scaled or source.loose or source.named("Rescaling"):
        return None
    for call in source.named("predict", "predict_classes"):
        given = argument(call, position=0)
        if given is None:
            continue
        way, names, seen = [unparse(given)], names_in(given), set[str]()
        while names - seen:  # what the picture was made of, in the block it stands in
            name = sorted(names - seen)[0]
            seen.add(name)
            for made in source.of(ast.Assign):
                if made.lineno < call.lineno and any(unparse(t) == name for t in made.targets):
                    way.append(unparse(made.value))
                    names |= names_in(made.value)
            way += [unparse(n) for n in source.of(ast.AugAssign) if unparse(n.target) == name]
        told = "\n".join(way)
        if _LOADS.search(told) and not _SCALED.search(told) and not _calls_own(source, told):
            return at(
                source,
                call,
                "training had pictures scaled by rescale=, and these are asked as they were read",
            )
    return None


def _calls_own(source: Script, told: str) -> bool:
    """A function of the program may scale them."""
    own = {f.name for f in source.of(ast.FunctionDef)}
    return any(re.search(rf"\b{re.escape(name)}\(", told) for name in own)
