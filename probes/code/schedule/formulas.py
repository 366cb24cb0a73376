"""Functions of a script that give a learning rate: their progress, their turn, their warm-up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..method.written import halves_never_meet
from ..shared.checks import at, first, ok
from ..shared.sides import either
from .again import share_taken_again
from .written import formula_slipped

RATE_NAME = re.compile(
    r"(?:^|_)(?:lr|learning_?rate|sched\w*|warm_?up\w*|anneal\w*|cosine\w*)(?:_|$)", re.IGNORECASE
)


@probe()
def formula_wrong(view: View) -> Finding:
    """The progress after warm-up is divided by the warm-up's length instead of what is left.

    `(step - warmup) / warmup` passes one after a second warm-up and goes on, and a cosine of it swings. Or
    the cosine goes all the way round, `1 + cos(2 * pi * done)`, and ends at the rate that it began with.
    """
    looks = either(
        _formula, _whole_turn, formula_slipped, share_taken_again, halves_never_meet, shows("rate-course")
    )
    return first(view, looks, "the scripts write out no schedule with a warm-up")


def _formula(source: Script) -> Finding | None:
    seen = None
    for function in _rate_functions(source):
        for node in of(function, ast.BinOp):
            if isinstance(node.op, ast.Div) and isinstance(node.left, ast.BinOp):
                if not isinstance(node.left.op, ast.Sub) or "warm" not in unparse(node.left.right).lower():
                    continue
                seen = seen or node
                floor = (
                    node.right.args
                    if isinstance(node.right, ast.Call) and last_name(node.right.func) == "max"
                    else []
                )
                over = [node.right, *floor]
                if any(unparse(o) == unparse(node.left.right) for o in over):
                    return at(
                        source, node, "the progress after warm-up is divided by the length of the warm-up"
                    )
    return (
        ok(source, seen, "the progress after warm-up is a share of what is left")
        if seen is not None
        else None
    )


def _whole_turn(source: Script) -> Finding | None:
    """A cosine decay over two pi: left aside are cycles and restarts, which say so."""
    for function in _rate_functions(source):
        if re.search(r"(?i)cycl|restart|period|%|swing|wave", unparse(function)):
            continue
        for node in of(function, ast.BinOp):
            sides = (node.left, node.right)
            turns = [c for c in sides if isinstance(c, ast.Call) and last_name(c.func) == "cos" and c.args]
            ones = [c for c in sides if isinstance(c, ast.Constant) and c.value == 1]
            if not (isinstance(node.op, ast.Add) and turns and ones):
                continue
            factors, left = [], [turns[0].args[0]]
            while left:
                one = left.pop()
                if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
                    left += [one.left, one.right]
                else:
                    factors.append(one)
            pis = [f for f in factors if last_name(f) == "pi"]
            twos = [f for f in factors if isinstance(f, ast.Constant) and f.value == 2]
            if len(factors) == 3 and pis and twos:
                return at(source, node, "this cosine turns all the way round: the rate ends where it began")
    return None


def _rate_functions(source: Script) -> Iterator[ast.AST]:
    """Functions, lambdas and schedule classes that give a learning rate."""
    for node in source.of(ast.FunctionDef, ast.AsyncFunctionDef):
        owner = source.parents.get(node)
        named = RATE_NAME.search(node.name) or (
            isinstance(owner, ast.ClassDef) and RATE_NAME.search(owner.name)
        )
        if named or re.search(r"(?i)warm_?up|\bwarm\b", unparse(node)):
            if not any(_of_something_else(source, f) for f in of(node, ast.FunctionDef)):
                yield node


_ELSE = re.compile(
    r"(?i)loss|coeff?|(?:^|_)(?:kl|beta|alpha|gamma|lambda\w*|temp\w*|noise|eps\w*|tau|weights?)(?:_|$)"
)
_SAYS_RATE = re.compile(r"(?i)(?:^|_)(?:lr|learning_?rate)(?:_|$)")


def _of_something_else(source: Script, function: ast.FunctionDef) -> bool:
    """What the function gives is the weight of a loss, a temperature: every call says so where it goes.

    `self.mel_coeff = self.base_mel_coeff * mel_coeff_decay(step)`; a function that is handed to a scheduler
    is called by none of these.
    """
    calls = flow(source).calls_of(function)
    goes = [s for c in calls if isinstance(s := source.statement(c), ast.Assign)]
    names = [last_name(t) for s in goes for t in s.targets]
    return (
        bool(calls)
        and len(goes) == len(calls)
        and all(_ELSE.search(n) for n in names)
        and not any(_SAYS_RATE.search(n) for n in (*names, function.name))
    )


@probe()
def warmup_flat(view: View) -> Finding:
    """The branch for the steps of the warm-up gives the full rate, without the step in it, or none at all."""
    return first(view, _flat, "the scripts write out no warm-up")


_FULL = re.compile(
    r"^(?:(?:self\.|cfg\.|args\.|config\.)*(?:base_|peak_|max_|init_)?(?:lr|learning_rate|peak)|1(?:\.0)?)$"
)


def _flat(source: Script) -> Finding | None:
    seen = None
    for function in _rate_functions(source):
        for node in of(function, ast.If):
            if not isinstance(node.test, ast.Compare):
                continue
            if not isinstance(node.test.ops[0], (ast.Lt, ast.LtE)) or not node.body:
                continue
            before = source.parents.get(node)
            if (
                isinstance(before, ast.If)
                and node in before.orelse
                and "warm" in unparse(before.test).lower()
            ):
                continue  # what follows the warm-up: the rate is held
            step, bound = unparse(node.test.left), unparse(node.test.comparators[0])
            value = getattr(node.body[0], "value", None)
            if (
                "warm" not in bound.lower()
                or isinstance(
                    node.test.comparators[0], ast.BinOp
                )  # steps after it, at which the rate is held
                or not isinstance(node.body[0], (ast.Return, ast.Assign))
                or value is None
            ):
                continue
            seen = seen or node
            inside = {unparse(n) for n in of(value, ast.expr)}
            if step not in inside and _FULL.match(unparse(value)):
                return at(source, node.body[0], "during the warm-up the rate is the full one already")
            if any(
                isinstance(d.op, ast.FloorDiv) and unparse(d.right) == bound for d in of(value, ast.BinOp)
            ):
                return at(
                    source, node.body[0], "the rate is zero until the warm-up ends: `//` gives whole numbers"
                )
    return ok(source, seen, "the rate rises during the warm-up") if seen is not None else None
