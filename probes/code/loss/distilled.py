"""Distillation in scripts: divergences between a teacher and a student, and teachers that never learnt."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.sides import words

_DIVERGENCES = (
    "KLDivergence",
    "KLDivLoss",
    "kl_div",
    "kl_divergence",
    "KLD",
    "kld",
    "kullback_leibler_divergence",
)
_SOFT = ("softmax", "log_softmax", "Softmax", "LogSoftmax")
_OF_KERAS = ("KLDivergence", "kl_divergence", "KLD", "kld", "kullback_leibler_divergence")


def divergence_astray(source: Script) -> Finding | None:
    """Softened on one side alone, handed crosswise, or of raw outputs where probabilities are taken.

    Keras takes the truth first, PyTorch and MindSpore second; a teacher is the truth.
    """
    for call, kind in _calls(source):
        if len(call.args) < 2:
            continue
        one, other = (_soft(source, a) for a in call.args[:2])
        if one is not None and other is not None and _divided(one) != _divided(other):
            return at(source, call, "one side is divided by the temperature, and the other is not")
        first, second = (set(words(unparse(a))) & {"teacher", "student"} for a in call.args[:2])
        of_keras = kind in _OF_KERAS and bool({"keras", "tensorflow"} & set(source.frameworks))
        truth, answer = (first, second) if of_keras else (second, first)
        if "teacher" in answer and "teacher" not in truth and one is not None and other is not None:
            return at(source, call, "the teacher is handed over as the answer, and the student as the truth")
        if of_keras:
            raw = [a for a, s in zip(call.args[:2], (one, other), strict=True) if s is None and _raw(a)]
            if raw and (one is None) != (other is None):
                return at(source, raw[0], "this divergence takes probabilities, and these are raw outputs")
    return None


def _calls(source: Script) -> list[tuple[ast.Call, str]]:
    """Calls of divergences, with what they are: functions, or objects that were made of a class."""
    made = {
        unparse(target): last_name(value.func)
        for node in source.of(ast.Assign)
        for target, value in assigned(node)
        if isinstance(value, ast.Call) and last_name(value.func) in _DIVERGENCES
    }
    found = [(c, last_name(c.func)) for c in source.named(*_DIVERGENCES) if len(c.args) > 1]
    found += [(c, made[unparse(c.func)]) for c in source.of(ast.Call) if unparse(c.func) in made]
    return found


def _soft(source: Script, node: ast.expr) -> ast.Call | None:
    """The softmax that a side goes through, in place or by a name."""
    for value in (node, *flow(source).values(node, 3)):
        for call in of(value, ast.Call):
            if last_name(call.func) in _SOFT:
                return call
    return None


def _divided(call: ast.Call) -> bool:
    """`softmax(logits / T)`, `(logits / T).softmax(-1)`; by a number it is told as well."""
    about = call.args[0] if call.args and not isinstance(call.args[0], ast.Constant) else None
    if about is None and isinstance(call.func, ast.Attribute):
        about = call.func.value
    return about is not None and any(isinstance(n.op, (ast.Div, ast.Mult)) for n in of(about, ast.BinOp))


def _raw(node: ast.expr) -> bool:
    return re.search(r"(?i)logit", unparse(node)) is not None and "prob" not in unparse(node).lower()


def teacher_at_random(source: Script) -> Finding | None:
    """`teacher = make_net(...)` answers for the student to learn from, and nothing loads or trains it."""
    if source.loose or re.search(
        r"(?i)\bema\b|momentum_update|mean_teacher|deepcopy|lerp|byol|dino", source.code
    ):
        return None
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            name = last_name(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""
            if "teacher" not in words(name) or not isinstance(value, ast.Call):
                continue
            maker = last_name(value.func)
            own = maker in source.classes or maker in flow(source).functions
            if (
                not own
                or any("load" in last_name(c.func).lower() for c in of(value, ast.Call))
                or (value.keywords and re.search(r"(?i)pretrained|weights|checkpoint|path", unparse(value)))
            ):
                continue
            body = (
                [source.classes[maker]] if maker in source.classes else flow(source).functions.get(maker, [])
            )
            inside = any(re.search(r"(?i)load|pretrained", unparse(b)) for b in body)
            touched = any(_gives_weights(c, name) for c in source.of(ast.Call))
            if not inside and not touched and _answers(source):
                return at(source, node, f"`{name}` starts at random, and nothing loads or trains it")
    return None


def _gives_weights(call: ast.Call, name: str) -> bool:
    """`teacher.load_weights(path)`, `load(path, teacher)`, `fit(teacher)`, an optimizer of its parameters."""
    called = last_name(call.func).lower()
    if not re.search(r"load|restore|fit|train|adam|sgd|optimizer|pretrain|set_weights|compile", called):
        return False
    if called in ("train", "trainable"):
        return False
    return name in words(unparse(call)) or re.search(rf"\b{name}\b", unparse(call)) is not None


def _answers(source: Script) -> bool:
    """It is asked: by its name, or as an attribute that it is kept as."""
    return any("teacher" in words(last_name(c.func)) for c in source.of(ast.Call) if c.args)


def frozen_net_in_training(source: Script) -> Finding | None:
    """`teacher(x, training=True)` of a frozen teacher: its dropout draws while it gives answers."""
    for call in source.of(ast.Call):
        told = next((k.value for k in call.keywords if k.arg == "training"), None)
        on = isinstance(told, ast.Constant) and told.value is True
        if (
            on
            and "teacher" in words(last_name(call.func))
            and isinstance(call.func, (ast.Name, ast.Attribute))
        ):
            held = unparse(call.func)
            frozen = any(
                isinstance(t, ast.Attribute) and t.attr == "trainable" and "teacher" in unparse(t.value)
                for n in source.of(ast.Assign)
                for t in n.targets
            )
            if frozen:
                return at(source, call, f"`{held}` is frozen, and runs in the mode of training")
    return None
