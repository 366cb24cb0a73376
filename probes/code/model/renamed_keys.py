"""Keys of weights that are given a prefix, or robbed of one, so that none fits; and nobody asks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false

_WRAPS = re.compile(r"DataParallel|\bDDP\b|FSDP|FullyShard|AveragedModel|deepspeed|\bcompile\(")


def keys_renamed_away(source: Script) -> Finding | None:
    """`{"module." + k: v for k, v in saved.items()}`, loaded with `strict=False` where there is no `module`.

    Also with the name of a layer that the model has taken off each key (`k.replace("block1.", "")`). Left
    aside: models that are wrapped, those of other files, and loads whose answer is looked at.
    """
    if _WRAPS.search(source.code):
        return None
    for call, owner, state in _loads(source):
        if _wrapped_before(source, call):
            continue
        made = flow(source).made(owner) if isinstance(owner, (ast.Name, ast.Attribute)) else None
        if made is None and (strange := _of_library(source, owner)) is not None:
            for key, old in _renamed(source, state):
                if re.match(strange, _added(key, old)):
                    why = (
                        f"each key is given {_added(key, old)!r}, which such a model has not: none is loaded"
                    )
                    return at(source, call, why)
        if made is None or made not in source.modules:
            continue
        if any(last_name(b) not in ("Module", "Cell", "Layer", "LightningModule") for b in made.bases):
            continue
        layers = {n.attr for n in of(made, ast.Attribute) if unparse(n.value) == "self"}
        if not layers or any(last_name(c.func) in ("setattr", "add_module") for c in of(made, ast.Call)):
            continue
        for key, old in _renamed(source, state):
            if (added := _added(key, old)) and added.split(".")[0] not in layers:
                why = f"each key is given {added!r}, which the model has not: none fits, and none is loaded"
                return at(source, call, why)
            if (taken := _taken(key, old)) and taken.split(".")[0] in layers and taken.endswith("."):
                why = f"keys are robbed of {taken!r}, by which the model knows them: they are passed over"
                return at(source, call, why)
    return None


def _wrapped_before(source: Script, load: ast.Call) -> bool:
    """Accelerate or Fabric get the model before, or who knows when: `model = fabric.setup(model)`."""
    return any(
        any(isinstance(a, ast.Name) for a in call.args)
        and (source.function_around(call) is not source.function_around(load) or call.lineno < load.lineno)
        for call in source.named("prepare", "setup", "setup_module", "prepare_model")
    )


def _loads(source: Script) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """Loads that pass over what does not fit, whose answer nobody reads: call, model, weights."""
    for call in source.named("load_state_dict"):
        strict = argument(call, "strict", position=1)
        owner = receiver(call)
        lax = is_false(strict) and isinstance(source.parents.get(call), ast.Expr)
        if lax and owner is not None and call.args:
            yield call, owner, call.args[0]
    for call in source.named("set_state_dict") if "paddle" in source.frameworks else ():
        if (
            isinstance(call.func, ast.Attribute)
            and call.args
            and isinstance(source.parents.get(call), ast.Expr)
        ):
            yield call, call.func.value, call.args[0]  # Paddle warns of what does not fit, and goes on
    for call in source.named("load_param_into_net"):  # MindSpore: strict_load is about number formats
        if len(call.args) > 1 and isinstance(source.parents.get(call), ast.Expr):
            yield call, call.args[0], call.args[1]


_BODIES = re.compile(
    r"^(?:resnet|resnext|wide_resnet|vgg|densenet|mobilenet|efficientnet|convnext|regnet)\w*$"
)


def _of_library(source: Script, owner: ast.expr) -> str | None:
    """What no key of a library's model begins with: `module.`; of networks for images, more of the kind.

    A model of transformers may hold a `model` or an `encoder` of its own.
    """
    if not isinstance(owner, (ast.Name, ast.Attribute)):
        return None
    holder = source.class_around(owner) if unparse(owner).startswith("self.") else None
    kept = source.attribute(holder, last_name(owner)) if holder is not None else None
    for value in [*flow(source).values(owner, 3), *([kept] if kept is not None else [])]:
        if isinstance(value, ast.Call) and _BODIES.match(last_name(value.func)):
            return r"(?:module|model|net|network|backbone|encoder|base)\."
        if isinstance(value, ast.Call) and last_name(value.func) == "from_pretrained":
            return r"module\."
    return None


def _renamed(source: Script, given: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The new key of each weight, and the name of the old one: in a comprehension, or a loop."""
    ways = [given, *flow(source).values(given, 4)]
    comps = {
        n
        for w in ways
        for n in walk(w)
        if isinstance(n, (ast.DictComp, ast.GeneratorExp, ast.ListComp)) and len(n.generators) == 1
    }
    for comp in comps:
        one = comp.generators[0]
        if last_name(one.iter.func) != "items" if isinstance(one.iter, ast.Call) else True:
            continue
        if not isinstance(one.target, ast.Tuple) or one.ifs:
            continue
        whole = comp.key if isinstance(comp, ast.DictComp) else comp.elt
        key = whole.elts[0] if isinstance(whole, ast.Tuple) and whole.elts else whole
        yield key, unparse(one.target.elts[0])
    for loop in source.of(ast.For) if isinstance(given, ast.Name) else ():
        if not (isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "items"):
            continue
        if source.function_around(loop) is not source.function_around(given) or len(loop.body) > 2:
            continue
        if not isinstance(loop.target, ast.Tuple):
            continue
        names = {unparse(n.targets[0]): n.value for n in loop.body if isinstance(n, ast.Assign)}
        for text, value in names.items():
            if text.startswith(f"{unparse(given)}[") and isinstance(value, ast.Name):
                slot = next(n.targets[0] for n in loop.body if isinstance(n, ast.Assign) and n.value is value)
                if isinstance(slot, ast.Subscript):
                    yield names.get(unparse(slot.slice), slot.slice), unparse(loop.target.elts[0])


def _added(key: ast.expr, old: str) -> str:
    """`"module." + k`, `f"module.{k}"`: what comes before each key."""
    if isinstance(key, ast.BinOp) and isinstance(key.op, ast.Add) and unparse(key.right) == old:
        return key.left.value if _text(key.left) else ""  # type: ignore[attr-defined]
    if isinstance(key, ast.JoinedStr) and len(key.values) == 2:
        first, last = key.values
        if _text(first) and isinstance(last, ast.FormattedValue) and unparse(last.value) == old:
            return first.value  # type: ignore[attr-defined, no-any-return]
    return ""


def _taken(key: ast.expr, old: str) -> str:
    """`k.replace("fc.", "")`, `k.removeprefix("fc.")`, `k[len("fc."):]`: what is taken off each key."""
    if isinstance(key, ast.Call) and isinstance(key.func, ast.Attribute) and unparse(key.func.value) == old:
        gone = len(key.args) < 2 or (_text(key.args[1]) and not key.args[1].value)  # type: ignore[attr-defined]
        if (
            key.func.attr in ("replace", "removeprefix", "lstrip")
            and key.args
            and gone
            and _text(key.args[0])
        ):
            return key.args[0].value  # type: ignore[attr-defined, no-any-return]
    return ""


def _text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
