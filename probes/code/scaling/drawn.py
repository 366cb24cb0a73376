"""Held-out samples that scripts change at random."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..mindspore.map_steps import random_for_held_out
from ..samples.augmented_unasked import augmented_whatever_side, mapped_whatever_side
from ..shared.checks import at, first, ok
from ..shared.roles import is_random
from ..shared.sides import either, given, literal, side
from ..shared.uses import calls_behind
from ..splits.drawn_while_scored import drawn_while_scored
from ..splits.handed_random import handed_random
from ..splits.held_noise import noised_while_evaluating
from ..splits.side_switches import augmented_on_other_side, transform_unused
from ..splits.slipped import drawn_for_both_sides
from ..tensorflow.data import held_out_drawn
from .in_training_mode import masked_in_every_mode
from .mapped_sides import random_beside_training, switched_on_for_held_out

TRAINING_FLAG = re.compile(
    r"^(?:self\.)?_?(?:is_|do_|for_|in_|use_)?(?:train(?:ing)?|aug(?:ment)?(?:ation)?)(?:_mode)?$"
)


@probe()
def evaluation_is_augmented(view: View) -> Finding:
    """Held-out data are made with the switch for training on: cropped, mirrored or disturbed at random."""
    return first(
        view,
        either(
            *(
                _augmented,
                augmented_on_other_side,
                transform_unused,
                held_out_drawn,
                drawn_for_both_sides,
                handed_random,
            ),
            masked_in_every_mode,
            *(noised_while_evaluating, drawn_while_scored),
            *(random_beside_training, switched_on_for_held_out, random_for_held_out),
            *(augmented_whatever_side, mapped_whatever_side),
            shows("augmented-scored"),
        ),
        "the scripts make no data by a switch for training",
    )


def _augmented(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    if (drawn := _random_steps(source)) is not None:
        return drawn
    for value in dict.fromkeys(v for one in given(source) if not one.learns for v in _calls_in(one.value)):
        name = last_name(value.func)
        owner = source.classes.get(name)
        makers: list[Function] = (
            [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
            if owner is not None
            else flow(source).functions.get(name, [])
        )
        for function in makers:
            flag = next((a.arg for a in function.args.args if TRAINING_FLAG.match(a.arg)), None)
            body = owner if owner is not None else function
            if flag is None or not (
                _draws_steps(source, body) or _says_random(body) or _draws_in_own(source, body)
            ):
                continue
            if owner is None and _only_orders(function, flag):
                continue
            seen = seen or value
            if owner is not None and _never_asked(source, owner, flag):
                return at(
                    source, function, f"`{flag}` tells training from evaluation, and nothing asks for it"
                )
            if _is_true(source, function, value, flag) and _changes_samples(body, flag):
                return at(source, value, f"held-out data are made with {flag}=True")
    return (
        ok(source, seen, "held-out data are made without the switch for training")
        if seen is not None
        else None
    )


def _only_orders(function: Function, flag: str) -> bool:
    """All that the switch does is to shuffle: the samples stay as they are."""
    asked = [n for n in of(function, ast.If) if flag in names_in(n.test)]
    done = {last_name(c.func) for n in asked for s in n.body for c in of(s, ast.Call)}
    return "shuffle" in done and done <= {"shuffle", "repeat", "len", "cardinality"}


_RANDOM_WORDS = re.compile(r"(?i)rand|aug|jitter|crop|flip|noise|mask")


def _changes_samples(body: ast.AST, flag: str) -> bool:
    """The switch says so by its name, or what is random hangs on it: `if train:`, `random() if train else 0`.

    A switch that rows are weighed, or statistics made, by changes no sample.
    """
    if "aug" in flag:
        return True
    for node in of(body, ast.FunctionDef, ast.Lambda):
        for asked in of(node, ast.If, ast.IfExp, ast.BoolOp, ast.Call):
            if isinstance(asked, ast.If):
                if _mentions(asked.test, flag):
                    leaves = any(isinstance(s, ast.Return) for s in asked.body)
                    if leaves or is_random(asked) or _RANDOM_WORDS.search(unparse(asked)):
                        return True
            elif isinstance(asked, (ast.IfExp, ast.BoolOp)):
                if _mentions(asked.test if isinstance(asked, ast.IfExp) else asked, flag):
                    return True
            elif isinstance(asked, ast.Call) and any(_mentions(a, flag) for a in all_arguments(asked)):
                return True  # handed on to what is not looked into
    return False


def _mentions(node: ast.expr, flag: str) -> bool:
    names = (n.id if isinstance(n, ast.Name) else n.attr for n in of(node, ast.Name, ast.Attribute))
    return any(n.strip("_") == flag.strip("_") for n in names)


def _draws_in_own(source: Script, body: ast.AST) -> bool:
    """It calls functions of the program that draw: `img = augment(img)`."""
    called = {c.func.id for c in of(body, ast.Call) if isinstance(c.func, ast.Name)}
    return any(is_random(f) for name in called for f in flow(source).functions.get(name, ()))


def _never_asked(source: Script, owner: ast.ClassDef, flag: str) -> bool:
    """A class that keeps a switch and draws samples at random whatever it says."""
    kept, asked = False, False
    for node in of(owner, ast.Attribute):
        if unparse(node.value) == "self" and node.attr.strip("_") == flag:
            kept = kept or isinstance(node.ctx, ast.Store)
            asked = asked or isinstance(node.ctx, ast.Load)
    getters = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__getitem__"]
    makers = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    used = sum(
        isinstance(n, ast.Name) and n.id == flag and isinstance(n.ctx, ast.Load)
        for m in makers
        for n in walk(m)
    )
    draws = any(is_random(g) or _draws_in_own(source, g) for g in getters) or any(
        _AT_RANDOM.match(last_name(c.func)) for m in makers for c in of(m, ast.Call)
    )
    return kept and not asked and used == 1 and not owner.bases[1:] and bool(getters) and draws


_AT_RANDOM = re.compile(
    r"^(?:Random(?!Sampler|Subset)\w+|ColorJitter|RandAugment|AutoAugment|TrivialAugment\w*|AugMix|GaussianBlur"
    r"|(?:Frequency|Time)Masking|SpecAugment\w*)$"
)


def _calls_in(value: ast.expr) -> list[ast.Call]:
    """A call, and the calls whose results it is given: `DataLoader(Photos(names, True))`."""
    found = [value] if isinstance(value, ast.Call) else []
    return [*found, *(a for c in found for a in c.args if isinstance(a, ast.Call))]


def _random_steps(source: Script) -> Finding | None:
    """`CIFAR10(root, train=False, transform=train_tf)`, where `train_tf` crops and mirrors at random.

    Only where other data of the same class get the same steps for training.
    """
    made: dict[str, dict[bool, list[tuple[ast.Call, ast.expr]]]] = {}
    written: dict[str, dict[bool, list[tuple[ast.Call, ast.expr]]]] = {}  # the steps stand in the call
    held = {id(c): one.learns for one in given(source) for c in _calls_in(one.value)}
    for call in source.calls:
        steps = keyword(call, "transform") or keyword(call, "transforms")
        learns = _asked_for(source, call)
        if isinstance(steps, ast.Call) and learns is not None:
            written.setdefault(unparse(call.func), {}).setdefault(learns, []).append((call, steps))
        if not isinstance(steps, (ast.Name, ast.Attribute)):
            continue
        learns = held.get(id(call)) if learns is None else learns
        if learns is not None:
            made.setdefault(unparse(call.func), {}).setdefault(learns, []).append((call, steps))
    for sides in made.values():
        ours = {unparse(s) for _, s in sides.get(True, [])}
        for call, steps in sides.get(False, []):
            if unparse(steps) in ours and side(unparse(steps)) is not False and _draws_steps(source, steps):
                return at(source, call, "held-out data go through the random steps of training")
    for sides in written.values():
        for call, steps in sides.get(False, []) if True in sides else ():
            if any(_AT_RANDOM.match(last_name(c.func)) for c in of(steps, ast.Call)):
                return at(source, call, "held-out data go through random steps")
    return None


def _asked_for(source: Script, call: ast.Call) -> bool | None:
    """The part of the data that a call asks for: `train=False`, `split="test"`."""
    train, part = literal(source, keyword(call, "train")), literal(source, keyword(call, "split"))
    if isinstance(train, bool):
        return train
    return side(part) if isinstance(part, str) else None


def _draws_steps(source: Script, steps: ast.AST) -> bool:
    return any(_AT_RANDOM.match(last_name(c.func)) for c in calls_behind(source, steps))


def _says_random(body: ast.AST) -> bool:
    return is_random(body) or "random" in unparse(body).lower()


def _is_true(source: Script, function: Function, call: ast.Call, name: str) -> bool:
    names = [a.arg for a in function.args.args if a.arg != "self"]
    values = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    values |= dict(zip(names, call.args, strict=False))
    values |= {k.arg: k.value for k in call.keywords if k.arg}
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    return literal(source, values.get(name)) is True
