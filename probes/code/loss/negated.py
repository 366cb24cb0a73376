"""The sign of the loss in scripts: turned where it is trained on, or by its optimizer."""

from __future__ import annotations

import ast
import re

from ....engine.model import State
from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow, losses, objectives, returns
from ...scripts.signs import minimised_losses, signs
from ...scripts.syntax import Script
from ..optimizer.own_steps import climbs
from ..shared.checks import at, first, ok
from ..shared.nodes import is_negative, is_true
from ..shared.rounds import rounds
from ..shared.sides import either
from ..trainers.trainer_settings import is_own_loss, own_loss_negated
from .preferences import pairs_turned
from .senses import of_attack, turned_round
from .summed import handed


@probe()
def loss_negated(view: View) -> Finding:
    """A standard loss enters backward with its sign turned. False positive: adversarial terms (skipped)."""
    check = either(_loss_negated, turned_round, own_loss_negated, pairs_turned)
    return first(view, check, "no standard loss in the scripts")


def _loss_negated(source: Script) -> Finding | None:
    if source.loss_methods and not source.backwards:
        for value in (v for m in source.loss_methods for r in returns(m) for v in handed(r)):
            if (minus := _own_of_model(source, value)) is not None:
                return at(source, minus, "the loss is handed over with its sign turned: it is maximised")
        return _returns_negated(source) if source.losses else None
    taken = objectives(source)
    if (turned := _turned_at_backward(source)) is not None:
        return at(source, turned, "the sign of the loss is turned, so training maximises it")
    if not minimised_losses(source) or not taken or len({call for call, _ in taken}) > 1:
        return None  # several objectives: an adversary climbs what the other descends
    for call, objective in taken:
        if of_attack(source, objective):
            return None
        against = any(_is_minus(k.value) for k in call.keywords if k.arg == "gradient")
        found = signs(source, objective)
        if found and all((s.turned + against) % 2 for s in found):
            where = found[0].where or call
            return at(source, where, "the sign of the loss is turned, so training maximises it")
    return ok(source, taken[0][0], "the loss is minimised")


# What climbs a loss on purpose: adversaries and attacks, domains to confuse, bounds, what is to be unlearned.
_CLIMBS = re.compile(
    r"(?i)adv|attack|gan\b|gan_|disc|domain|fool|confus|unlearn|ascen|maximi|perturb|elbo|bound|mll|entropy_loss"
    r"|forget|invert|critic|\bgen|_gen|generator|policy|actor|alpha|\bpi_|likelihood|reward|ppo|surr"
)


def _turned_at_backward(source: Script) -> ast.expr | None:
    """The only objective of a function that also steps is a loss with a minus before it.

    `(-loss).backward()`, or every standard loss that a sum is made of. Asked function by function: a program
    of several files has several objectives that know nothing of each other.
    """
    taken = objectives(source)
    for one in rounds(source):
        function = source.function_around(one.backward)
        mine = [(c, o) for c, o in taken if source.function_around(c) is function]
        named = function.name if function is not None else ""
        stepped = one.steps or named == "closure"  # which an optimizer is handed that steps elsewhere
        if not stepped or len({c for c, _ in mine}) != 1 or not mine:
            continue
        owner = source.class_around(one.backward)
        if _CLIMBS.search(named + (owner.name if owner is not None else "")):
            continue
        for call, objective in mine:
            if _CLIMBS.search(unparse(objective)) or any(_is_minus(k.value) for k in call.keywords):
                continue
            if of_attack(source, objective):
                continue
            if (minus := _own_of_model(source, objective)) is not None:
                return minus
            minus = _minus_first(objective)
            if minus is not None and re.search(r"(?:^|_)loss(?:es)?$", last_name(minus.operand)):
                made = [v for v in flow(source).values(minus.operand, 2) if v is not minus.operand]
                if any(_grows(v) for v in made):
                    continue
                twice = [v for v in made if _is_minus(v)]
                if not twice or all(is_negative(v) and _grows(v.operand) for v in made):
                    return minus
            found = signs(source, objective)
            if found and all(s.turned % 2 for s in found) and found[0].where is not None:
                where = found[0].where
                if source.function_around(where) is function and not _CLIMBS.search(source.line(where)):
                    return where
    return None


def _grows(node: ast.expr) -> bool:
    """`mll(output, y)`: what is to grow, so that a loss has a minus before it, and one alone."""
    return isinstance(node, ast.Call) and bool(
        re.search(r"(?i)(?:^|_)(?:mll|elbo|log_?prob|log_?lik\w*)$", last_name(node.func))
    )


_RESULT = re.compile(r"(?i)out|result|pred|^res$|^o$")


def _own_of_model(source: Script, objective: ast.expr) -> ast.UnaryOp | None:
    """`loss = -model(**batch).loss`: the loss that a model of a library works out, with a minus before it."""
    for end in [objective, *flow(source).values(objective, 2)]:
        minus = _minus_first(end)
        if minus is None:
            continue
        for loss in [minus.operand, *flow(source).values(minus.operand, 2)]:
            if not isinstance(loss, (ast.Attribute, ast.Subscript)) or not is_own_loss(loss):
                continue
            made = [loss.value, *flow(source).values(loss.value, 2)]
            if any(isinstance(m, ast.Call) for m in made) or _RESULT.search(unparse(loss.value)):
                return minus
    return None


def _minus_first(node: ast.expr) -> ast.UnaryOp | None:
    """`-loss`, also within `scaler.scale(-loss)`."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("scale", "mean", "sum"):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node
        inner = node.args[0] if node.args else owner
        return _minus_first(inner) if inner is not node else None
    return node if is_negative(node) else None


def _is_minus(node: ast.expr) -> bool:
    """A negative number, or a tensor made of one."""
    return any(isinstance(n.op, ast.USub) for n in of(node, ast.UnaryOp))


def _returns_negated(source: Script) -> Finding:
    """A method that hands its loss to a trainer returns it with its sign turned."""
    for method in source.loss_methods:
        for value in returns(method):
            found = [s for v in handed(value) for s in signs(source, v)]
            if found and all(s.turned % 2 for s in found):
                where = found[0].where or method
                return at(source, where, "the loss is handed over with its sign turned: it is maximised")
    return ok(source, source.loss_methods[0], "the loss is minimised")


@probe()
def optimizer_maximises(view: View) -> Finding:
    """`maximize=True` on the optimizer of a loss, a rate below zero, all gradients turned before the step."""
    return first(view, either(_maximises, climbs), "the scripts build no optimizer")


def _maximises(source: Script) -> Finding | None:
    built = source.optimizer_calls
    for call in built:
        if is_true(keyword(call, "maximize")) and losses(source):
            return at(source, call, "the optimizer climbs the loss instead of descending it")
        rate = next((r for n in ("learning_rate", "lr") if (r := keyword(call, n)) is not None), None)
        if is_negative(rate):
            if isinstance(rate.operand, ast.Constant) and rate.operand.value:
                return at(source, call, "the learning rate is below zero: each step climbs the loss")
    if built and source.steps and (turned := _gradients_turned(source)) is not None:
        return at(
            source, turned, "the sign of every gradient is turned before the step, which climbs the loss"
        )
    return ok(source, built[0], "the optimizer descends") if built else None


def _gradients_turned(source: Script) -> ast.AST | None:
    """`for p in model.parameters(): p.grad.neg_()`, on no condition but that there is a gradient.

    Left aside: a program that turns some other sign on the way, as in unlearning or adversarial training.
    """
    if re.search(r"(?i)unlearn|ascent|revers|advers|forget|generator", source.text):
        return None
    descends = _loss_negated(source)
    if descends is None or descends.state is not State.ABSENT:
        return None
    for loop in source.of(ast.For):
        if not re.search(r"\.parameters\(\)$", unparse(loop.iter)) or not isinstance(loop.target, ast.Name):
            continue
        body = loop.body
        if len(body) == 1 and isinstance(body[0], ast.If) and ".grad" in unparse(body[0].test):
            body = body[0].body
        grad = f"{loop.target.id}.grad"
        turns = (
            rf"{re.escape(grad)}(?:\.data)?\.(?:neg_\(\)|mul_\(-1(?:\.0)?\))",
            rf"{re.escape(grad)}(?:\.data)? (?:= -{re.escape(grad)}(?:\.data)?|\*= -1(?:\.0)?)",
        )
        turned = [s for s in body if any(re.fullmatch(t, unparse(s)) for t in turns)]
        if len(turned) == 1:
            return turned[0]
    return None
