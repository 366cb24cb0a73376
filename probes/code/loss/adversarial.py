"""Two networks against each other in scripts: a critic's scores in both objectives, and its penalty.

Looked at are objectives that are made of scores: `critic(real).mean() - critic(fake).mean()`, hinges, and
cross-entropies against ones and zeros.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow, losses, objectives, returns
from ...scripts.syntax import Script, outermost_call
from ..shared.checks import at
from ..shared.nodes import is_false, is_negative

# what rises with what it is given
_RISES = (
    *("mean", "reduce_mean", "sum", "reduce_sum", "squeeze", "view", "reshape", "float"),
    *("relu", "softplus", "leaky_relu"),
)
_LIBRARIES = (
    *("torch", "tf", "ops", "jnp", "np", "tf.math", "paddle", "mint"),
    *("F", "nn.functional", "torch.nn.functional", "tf.nn"),
)
Bound = dict[str, ast.expr]
_DEPTH = 12
_PENALTY = re.compile(r"(?i)penalt|(?:^|_)gp(?:_|$)|r1(?:_|$)|lipschitz")


@dataclass(frozen=True)
class _Score:
    """One score in an objective: its sign, the network that is asked, and what it is asked of."""

    sign: int
    network: str
    given: ast.expr
    call: ast.Call


def _scores(
    mine: Flow, node: ast.expr, sign: int, bound: Bound | None = None, depth: int = _DEPTH
) -> Iterator[_Score]:
    """The scores that an objective is made of, each with the way it is moved; other terms are left out.

    Functions of the program are gone into, with what their parameters are given (`bound`).
    """
    bound = bound or {}
    if depth == 0:
        return
    if is_negative(node):
        yield from _scores(mine, node.operand, -sign, bound, depth - 1)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _scores(mine, node.left, sign, bound, depth - 1)
        turned = -sign if isinstance(node.op, ast.Sub) else sign
        yield from _scores(mine, node.right, turned, bound, depth - 1)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        number = isinstance(node.left, ast.Constant) or is_negative(node.left)
        inner = node.right if number and isinstance(node.op, ast.Mult) else node.left
        yield from _scores(
            mine, inner, -sign if number and is_negative(node.left) else sign, bound, depth - 1
        )
    elif isinstance(node, ast.Name) and node.id in bound:
        yield from _scores(mine, bound[node.id], sign, {}, depth - 1)
    elif isinstance(node, ast.Name):
        given = mine.given(node)
        if given is not None and not given.places:
            yield from _scores(mine, given.value, sign, bound, depth - 1)
    elif isinstance(node, ast.Call):
        yield from _of_call(mine, node, sign, bound, depth)


def _of_call(mine: Flow, node: ast.Call, sign: int, bound: Bound, depth: int) -> Iterator[_Score]:
    owner = receiver(node)
    library = owner is not None and unparse(owner) in _LIBRARIES
    if last_name(node.func) in _RISES and (owner is not None or node.args):
        inner = argument(node, position=0) if library or owner is None else owner
        if inner is not None:
            yield from _scores(mine, inner, sign, bound, depth - 1)
    elif (aim := _aim(mine, node, bound)) is not None:
        yield from _scores(mine, node.args[0], -sign if aim else sign, bound, depth - 1)
    elif len(node.args) == 1 and _is_network(mine, node):
        given = node.args[0]
        if isinstance(given, ast.Name) and given.id in bound:
            given = bound[given.id]
        yield _Score(sign, unparse(node.func), given, node)
    elif len(functions := mine.called(node)) == 1 and functions[0] not in mine.source.forwards:
        names = [a.arg for a in functions[0].args.args if a.arg not in ("self", "cls")]
        inside = dict(
            zip(
                names, (bound.get(a.id, a) if isinstance(a, ast.Name) else a for a in node.args), strict=False
            )
        )
        ends = returns(functions[0])
        if len(ends) == 1:
            yield from _scores(mine, ends[0], sign, inside, depth - 1)


def _aim(mine: Flow, call: ast.Call, bound: Bound) -> bool | None:
    """Whether a cross-entropy of two classes pulls its scores up: `bce(d(x), torch.ones_like(...))`."""
    if len(call.args) != 2:
        return None
    kinds = {k for c, k in losses(mine.source) if c is call}
    if not kinds & {
        "bcewithlogitsloss",
        "binary_cross_entropy_with_logits",
        "bceloss",
        "binary_cross_entropy",
    }:
        return None
    wanted = call.args[1]
    if isinstance(wanted, ast.Name) and wanted.id in bound:
        wanted = bound[wanted.id]
    texts = {last_name(v.func) for v in mine.values(wanted, 3) if isinstance(v, ast.Call)}
    if len(texts) == 1 and texts <= {"ones", "ones_like"}:
        return True
    return False if len(texts) == 1 and texts <= {"zeros", "zeros_like"} else None


def _is_network(mine: Flow, call: ast.Call) -> bool:
    return mine.made(call.func) in mine.source.modules


def _rounds(source: Script) -> Iterator[tuple[list[_Score], list[_Score]]]:
    """For each two objectives of a function: the scores of real and made samples, and of made ones alone."""
    mine = flow(source)
    taken = [(c, list(_scores(mine, o, 1))) for c, o in objectives(source) if c in source.backwards]
    for one, first in taken:
        for other, second in taken:
            if source.function_around(one) is not source.function_around(other):
                continue
            if len(first) == 2 and len(second) == 1 and len({s.network for s in (*first, *second)}) == 1:
                yield first, second


def _maker(mine: Flow, node: ast.expr, depth: int = 4) -> str:
    """The network that an input comes from: `fake`, `fake.detach()`, `generator(z)` -> "generator"."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach":
        node = node.func.value
    if isinstance(node, ast.Call):
        return unparse(node.func) if _is_network(mine, node) else ""
    given = mine.given(node) if depth and isinstance(node, ast.Name) else None
    return _maker(mine, given.value, depth - 1) if given is not None and not given.places else ""


def critic_with_generator(source: Script) -> Finding | None:
    """Critic and generator move the scores of made samples the same way, or real and made ones alike.

    The one that is trained on real samples, too, has to push the scores of made ones down where the other
    pulls them up. Told of networks of the program whose scores stand in the objectives as they are.
    """
    if not _adversarial(source):
        return None
    mine = flow(source)
    for both, alone in _rounds(source):
        maker = _maker(mine, alone[0].given)
        made = [s for s in both if maker and _maker(mine, s.given) == maker]
        if len(made) != 1:
            continue
        if both[0].sign == both[1].sign:
            return at(source, made[0].call, "the scores of real and of made samples are moved the same way")
        if made[0].sign == alone[0].sign:
            why = f"`{made[0].network}` and `{maker}` both move the scores of made samples the same way"
            return at(source, made[0].call, why)
        if "entropy" not in source.text.lower() and (end := _bounded(mine, made[0].call)) is not None:
            why = "scores that are compared as they are come out of a sigmoid, which bounds them"
            return at(source, end, why)
    return None


def _adversarial(source: Script) -> bool:
    return len(source.backwards) > 1 and len(source.modules) > 1


def _bounded(mine: Flow, call: ast.Call) -> ast.expr | None:
    ends = [r for f in mine.called(call) for r in returns(f)]
    return next((e for e in ends if outermost_call(e) in ("sigmoid", "Sigmoid", "softmax")), None)


def generator_cut_off(source: Script) -> Finding | None:
    """What trains the generator is a score of samples that were cut off from it: `-critic(fake.detach())`."""
    if not _adversarial(source):
        return None
    mine = flow(source)
    for _, alone in _rounds(source):
        given = alone[0].given
        if isinstance(given, ast.Name) and (told := mine.given(given)) is not None and not told.places:
            given = told.value
        if isinstance(given, ast.Call) and last_name(given.func) == "detach" and _maker(mine, given):
            return at(source, given, "the generator is trained on samples that are cut off from it")
    return None


def _slopes(source: Script) -> Iterator[tuple[ast.Call, str]]:
    """`(g,) = autograd.grad(scores.sum(), mixed)` of a penalty, with the name of the slopes."""
    for call in source.named("grad"):
        function, statement = source.function_around(call), source.statement(call)
        if source.owner(call).split(".")[-1] != "autograd" or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == 1:
            target = target.elts[0]
        if function is not None and _PENALTY.search(function.name) and isinstance(target, ast.Name):
            yield call, target.id


def penalty_without_slope(source: Script) -> Finding | None:
    """The slopes of a gradient penalty are taken without `create_graph`: the penalty trains nothing."""
    for call, _ in _slopes(source):
        given = keyword(call, "create_graph")
        if given is None and len(call.args) < 5 and all(k.arg for k in call.keywords):
            return at(
                source, call, "without create_graph=True the penalty has no gradient and trains nothing"
            )
        if is_false(given):
            return at(source, call, "with create_graph=False the penalty has no gradient and trains nothing")
    return None


def penalty_of_all(source: Script) -> Finding | None:
    """`(grads.norm(2) - 1) ** 2`: one norm over all samples, and each one's own is meant to be 1."""
    for call, name in _slopes(source):
        function = source.function_around(call)
        for norm in of(function, ast.Call) if function is not None else ():
            owner = receiver(norm)
            if last_name(norm.func) != "norm" or owner is None:
                continue
            method = isinstance(owner, ast.Name) and owner.id == name
            asked = norm.args[0] if norm.args and not method else owner
            axis = keyword(norm, "dim") or keyword(norm, "axis")
            plain = isinstance(asked, ast.Name) and asked.id == name
            if plain and axis is None and len(norm.args) < (2 if method else 3):
                return at(source, norm, "one norm is taken of the gradients of all samples together")
    return None
