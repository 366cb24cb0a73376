"""Which parameters a script hands to its optimizer: all of a model, a part, or what nothing can tell."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Script
from ..model.extraction import extracts_features
from ..shared.checks import at, first, ok, on_other_sides
from ..shared.nodes import is_false
from ..shared.sides import either
from ..step.several import part_without_optimizer
from ..tensorflow.graph_gradient import descends_part
from ..tensorflow.session import variables_left_out
from ..trainers.deepspeed import handed_to_engine
from ..trainers.handed import gradient_weights
from .conditions import groups_leave_some
from .cover import PARAMETERS, cover_of, is_slice
from .frozen import switches, switches_off


def _features_only(source: Script) -> bool:
    """What is frozen gives features of another training, and something new is trained on top of them."""
    return any(
        extracts_features(source, n, o)
        for n, o, v in switches(source)
        if switches_off(v) and not _of_copy(source, n)
    )


def _of_copy(source: Script, node: ast.AST) -> bool:
    """The parameters are those of a slow copy, which follows the network and is no body of features."""
    loop = next((p for p in source.above(node) if isinstance(p, ast.For)), None)
    return loop is not None and re.search(r"(?i)target|ema\b|averag|slow", unparse(loop.iter)) is not None


@probe()
def optimizer_gets_part(view: View) -> Finding:
    """The optimizer receives the parameters of a part: `model.head.parameters()`, a slice, one group of two.

    Groups and sums of lists are put together; where a list is filled in a loop it is not judged.
    """
    return first(
        view,
        either(
            *(_optimizer_part, descends_part, variables_left_out, part_without_optimizer, groups_leave_some),
            shows("left-out"),
        ),
        "the scripts build no optimizer whose parameters can be followed",
    )


def _optimizer_part(source: Script) -> Finding | None:
    mine = flow(source)
    built = [(c, given) for c in source.optimizer_calls if (given := parameters_given(c)) is not None]
    built += [(c, g) for c, g in handed_to_engine(source) if not built]
    taken = [(c, c.args[1]) for c in source.named("gradient") if len(c.args) > 1]  # a tape's sources
    sliced = next((p for p in gradient_weights(source) if is_slice(mine, p[1])), None)
    if sliced is not None:
        return at(source, sliced[0], "gradients are taken for a slice of the parameters")
    pairs = taken if source.named("GradientTape") else built
    scopes = {source.function_around(c) for c, _ in pairs}
    if source.named("add_param_group"):
        return None
    if len(scopes) != len(pairs):  # several in one place: a network of its own for each, or a choice
        return _chosen_of_one(mine, pairs)
    covers = [(c, cover_of(mine, given, 16)) for c, given in pairs]
    whole = [c for c, cover in covers if cover.whole]
    if whole:  # another stage may train a part first
        return ok(source, whole[0], "the optimizer receives all parameters")
    for call, cover in covers:
        if cover.part:
            if _features_only(source):
                return None  # the rest is switched off as well: features that were trained elsewhere
            if _rest_elsewhere(source, cover.part) or _rest_switched_off(source, cover.owner):
                return None
            others = [o for c, o in covers if c is not call and not _given_to_nobody(source, c)]
            if any(not o.whole and o.part != cover.part for o in others):
                return None  # another optimizer, made elsewhere, may have the rest
            return at(source, call, f"the optimizer receives only {cover.part}")
    return None


def _given_to_nobody(source: Script, made: ast.Call) -> bool:
    """It is what a function gives back that nothing calls."""
    function = source.function_around(made)
    given_back = isinstance(source.statement(made), ast.Return)
    return function is not None and given_back and not source.named(function.name)


def _rest_switched_off(source: Script, part: str) -> bool:
    """The class that makes `model.hint` switches the gradients of another of its attributes off."""
    name = part.rpartition(".")[2]
    for node, owner, value in switches(source):
        held = source.class_around(node)
        if name and held is not None and switches_off(value):
            made = {unparse(t) for n in of(held, ast.Assign) for t in n.targets}
            if f"self.{name}" in made and f"self.{name}" not in unparse(source.statement(node) or owner):
                return True
    return False


def _rest_elsewhere(source: Script, part: str) -> bool:
    """What is left out of one optimizer is handed to what makes another: `self._other_optimizer(rest)`."""
    left_out = re.search(r"not in ([\w.]+)", part)
    if left_out is not None and re.search(r"(?i)(?:^|[._])(?:arch|alpha)", left_out[1]):
        return True  # a search over architectures steps those by itself
    return left_out is not None and any(
        re.search(r"(?i)optim", last_name(c.func)) and left_out[1] in [unparse(a) for a in c.args]
        for c in source.calls
    )


def _chosen_of_one(mine: Flow, pairs: list[tuple[ast.Call, ast.expr]]) -> Finding | None:
    """One of several optimizers gets some parameters of a model of which no other optimizer gets the rest."""
    for call, given in pairs:
        cover, held = cover_of(mine, given, 16), _owners(mine, given)
        if not cover.part or not (cover.chosen or cover.cut) or len(held) != 1:
            continue
        others = [g for c, g in pairs if c is not call and not on_other_sides(mine.source, c, call)]
        if not any(held & _owners(mine, g) or not _owners(mine, g) for g in others):
            return at(mine.source, call, f"the optimizer receives only {cover.part}")
    return None


def _owners(mine: Flow, given: ast.expr) -> set[str]:
    """The models, as they are written, whose parameters these are."""
    ways = [given, *mine.values(given, 3)]
    return {
        mine.source.owner(c)
        for w in ways
        for c in of(w, ast.Call)
        if (last_name(c.func) in PARAMETERS or "param" in last_name(c.func))
    }


def parameters_given(call: ast.Call) -> ast.expr | None:
    """What an optimizer's call receives as parameters."""
    if call.args:
        return None if isinstance(call.args[0], ast.Constant) else call.args[0]
    return next((v for name in ("params", "parameters") if (v := keyword(call, name)) is not None), None)


def held_frozen(source: Script) -> Finding | None:
    """What the optimizer is given is switched off whole, by the same words: `net.fc.parameters()` in both."""
    if not source.trains or len(source.optimizer_calls) != 1:
        return None
    given = parameters_given(source.optimizer_calls[0])
    switched = list(switches(source))
    on = [o for _, o, v in switched if not is_false(v)]
    if given is None or on or not isinstance(given, ast.Call) or last_name(given.func) != "parameters":
        return None
    scope = source.function_around(given)
    for node, _, _ in switched:
        around = list(source.above(node))
        loop = next((p for p in around if isinstance(p, ast.For)), None)
        if loop is None or unparse(loop.iter) != unparse(given) or source.function_around(node) is not scope:
            continue
        if _on_no_condition(source, node, loop):
            why = "the parameters that the optimizer is given have their gradients switched off"
            return at(source, node, why)
    return None


def adapters_frozen(source: Script) -> Finding | None:
    """`model = get_peft_model(model, lora)`, and then all parameters of `model` are switched off.

    The base is frozen by the adapters themselves: what is switched off after them is what should learn.
    """
    for call in source.named("get_peft_model"):
        statement, scope = source.statement(call), source.function_around(call)
        if not isinstance(statement, ast.Assign) or source.named("unfreeze", "add_adapter", "load_adapter"):
            continue
        name = unparse(statement.targets[0])
        switched = [(n, v) for n, _, v in switches(source) if source.function_around(n) is scope]
        later = [(n, v) for n, v in switched if getattr(n, "lineno", 0) > statement.lineno]
        if any(not is_false(v) for _, v in later):
            continue
        for node, _ in later:
            loop = next((p for p in source.above(node) if isinstance(p, ast.For)), None)
            whole = loop is not None and unparse(loop.iter) in (
                f"{name}.parameters()",
                f"{name}.named_parameters()",
            )
            if loop is not None and whole and _on_no_condition(source, node, loop):
                return at(
                    source, node, "the adapters are switched off with all the rest: nothing is left to train"
                )
    return None


def _on_no_condition(source: Script, node: ast.AST, loop: ast.For) -> bool:
    conditions = (ast.If, ast.While, ast.Try, ast.For)
    return not any(isinstance(p, conditions) for p in source.above(node) if p is not loop)
