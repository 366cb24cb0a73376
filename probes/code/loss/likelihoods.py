"""Likelihoods and quantile losses that scripts write out: a term upside down, left out, or doubled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.learning import takes_gradients
from ...scripts.minimised import losses, makers
from ...scripts.syntax import Function, Script
from ..shared.checks import at, is_evaluation
from ..shared.nodes import factors, is_negative, signed_terms
from ..shared.sides import number

_LOG_SPREAD = re.compile(
    r"(?i)^(?:\w+_)?(?:log_?(?:var|sigma|std|scale|s|v|b)2?|lv|ls|lsig|s|logv)(?:_\w+)?$"
)


def _scopes(source: Script) -> Iterator[Function]:
    """Functions that make what is minimised, or that take gradients themselves."""
    made = makers(source)
    for function in source.of(ast.FunctionDef):
        if function in made or (takes_gradients(source, function) and not is_evaluation(source, function)):
            yield function


# ------------------------------------------------------------------------------------------ of a Gaussian


def gaussian_likelihood_wrong(source: Script) -> Finding | None:
    """`lv + (y - mu) ** 2 * exp(lv)`, or `(y - mu) ** 2 * exp(-lv)` without `lv`: no likelihood has these.

    The squared error is divided by the variance, and the logarithm of the variance is added; without it, the
    loss falls without bound as the spread grows.
    """
    mine = flow(source)
    for function in _scopes(source):
        for node in of(function, ast.BinOp):
            if not isinstance(node.op, (ast.Mult, ast.Div)):
                continue
            weight = _spread_weight(mine, node)
            if weight is None or _inside_product(source, node) or _in_exponent(mine, function, node):
                continue
            name, falls = weight
            sign = _sign_alone(mine, function, name, node)
            if not falls and sign == 1:
                return at(source, node, f"the squared error is multiplied by exp({name}), the variance")
            if falls and sign is None and not _told_elsewhere(function, name):
                return at(source, node, f"the error is weighed by exp(-{name}), and `{name}` is not added")
    return None


def _inside_product(source: Script, node: ast.BinOp) -> bool:
    above = source.parents.get(node)
    return isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Mult, ast.Div))


def _in_exponent(mine: Flow, function: Function, node: ast.expr) -> bool:
    """A kernel, or a density that is no logarithm: `exp(-0.5 * distance * exp(-2 * log_length))`."""
    for call in of(function, ast.Call):
        if last_name(call.func) == "exp":
            parts = [p for n in of(call, ast.Name) for p in mine.values(n, 2)]
            if any(n is node for p in (call, *parts) for n in ast.walk(p)):
                return True
    return False


def _spread_weight(mine: Flow, node: ast.BinOp) -> tuple[str, bool] | None:
    """(the log-spread, whether a greater one makes the product smaller) of error times exp(-log-spread)."""
    found: list[tuple[str, bool]] = []
    squared = False
    for part, over in _quotient(node, True):
        exponent = _exponent(mine, part)
        if exponent is not None:
            found.append((exponent[0], exponent[1] != over))
        elif over and _is_square_of_difference(mine, part):
            squared = True
    return found[0] if squared and len(found) == 1 else None


def _quotient(node: ast.expr, over: bool) -> Iterator[tuple[ast.expr, bool]]:
    """What is multiplied (True) and what is divided by (False)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        yield from _quotient(node.left, over)
        yield from _quotient(node.right, over if isinstance(node.op, ast.Mult) else not over)
    else:
        yield node, over


def _exponent(mine: Flow, node: ast.expr) -> tuple[str, bool] | None:
    """`exp(-2 * lv)` -> ("lv", False); `lv.exp()` -> ("lv", True); also behind one name."""
    for one in (node, *(v for v in mine.values(node, 1) if v is not node)):
        if isinstance(one, ast.Call) and last_name(one.func) == "exp":
            owner = receiver(one)
            inner = one.args[0] if one.args else owner
            if inner is None:
                return None
            sign = True
            if is_negative(inner):
                inner, sign = inner.operand, False
            rest = []
            for factor in factors(inner):
                if is_negative(factor):
                    factor, sign = factor.operand, not sign
                if not isinstance(factor, ast.Constant):
                    rest.append(factor)
            if len(rest) == 1 and isinstance(rest[0], (ast.Name, ast.Attribute)):
                if _LOG_SPREAD.match(last_name(rest[0])):
                    return unparse(rest[0]), sign
    return None


def _is_square_of_difference(mine: Flow, node: ast.expr) -> bool:
    for one in (node, *(v for v in mine.values(node, 1) if v is not node)):
        base: ast.expr | None = None
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow):
            base = one.left
        elif isinstance(one, ast.Call) and last_name(one.func) in ("square", "pow"):
            owner = receiver(one)
            library = owner is not None and unparse(owner) in ("torch", "tf", "K", "ops", "tf.math", "np")
            base = one.args[0] if library and one.args else owner
        ends = [base, *mine.values(base, 1)] if base is not None else []
        if any(isinstance(e, ast.BinOp) and isinstance(e.op, ast.Sub) for e in ends):
            return True
    return False


def _sign_alone(mine: Flow, function: Function, name: str, node: ast.expr) -> int | None:
    """The sign that the log-spread has as a term by itself, against that of the error; None where it is none.

    Zero where the error is no term of the same sum: `exp(s) * error - s` takes `s` for a logarithm, too.
    """
    found: int | None = None
    for whole in of(function, ast.BinOp):
        if not isinstance(whole.op, (ast.Add, ast.Sub)):
            continue
        alone = error = 0
        for sign, term in signed_terms(whole, 1):
            parts = [p for p in factors(term) if not isinstance(p, ast.Constant)]
            if len(parts) == 1 and name in (unparse(parts[0]), _reduced(parts[0])):
                alone = sign
            elif any(n is node for p in (term, *mine.values(term, 2)) for n in ast.walk(p)):
                error = sign
        if alone and error:
            return alone * error
        found = 0 if alone else found
    return found


def _reduced(node: ast.expr) -> str:
    """`lv.mean()`, `lv.sum(1)` -> "lv"."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in ("mean", "sum", "squeeze", "view", "flatten"):
            break
        node = node.func.value
    return unparse(node)


def _told_elsewhere(function: Function, name: str) -> bool:
    """The log-spread is read by anything but the exponential: then how it is held down is not seen here."""
    inside = {id(n) for c in of(function, ast.Call) if last_name(c.func) == "exp" for n in ast.walk(c)}
    return any(
        isinstance(getattr(n, "ctx", None), ast.Load) and unparse(n) == name and id(n) not in inside
        for n in of(function, ast.Name, ast.Attribute)
    )


# ------------------------------------------------------------------------------------------- of quantiles

_TRUTH = re.compile(
    r"(?i)^(?:y|t|yt|y_?true|true|truth|target|targets|label|labels|actual|obs|observed|real)$"
)
_GUESS = re.compile(
    r"(?i)^(?:p|yh|yhat|y_?hat|y_?pred|pred|preds|prediction|predictions|guess|out|output|q_?hat|forecast|est)$"
)


def pinball_wrong(source: Script) -> Finding | None:
    """`min(q * e, (q - 1) * e)`, or the error the wrong way round: the quantile loss is the maximum.

    With e = truth - guess. Told by the two products: one factor in both, the other less one in one of them.
    """
    mine = flow(source)
    for call in source.named("maximum", "minimum", "max", "min"):
        owner = receiver(call)
        library = owner is not None and unparse(owner) in ("torch", "tf", "K", "ops", "mint", "np", "jnp")
        if not library or len(call.args) != 2 or is_evaluation(source, call):
            continue
        error = _pinball(*call.args)
        if error is None:
            continue
        function = source.function_around(call)
        if function is not None and function not in makers(source):
            if not takes_gradients(source, function):
                continue
        if last_name(call.func) in ("minimum", "min"):
            if not _has_minus(source, call):
                return at(
                    source, call, "the quantile loss is the greater of the two, and this is the smaller"
                )
            continue
        way = _way(mine, error)
        if way == "guess - truth":
            return at(
                source, call, "the error is taken the wrong way round: each quantile is fitted as its mirror"
            )
    return None


def _pinball(a: ast.expr, b: ast.expr) -> ast.expr | None:
    """The error e of `q * e` and `(q - 1) * e`, in any order; None where it is something else."""
    for one, other in ((a, b), (b, a)):
        for q, e in _pairs(one):
            for less, same in _pairs(other):
                if (
                    unparse(same) == unparse(e)
                    and isinstance(less, ast.BinOp)
                    and isinstance(less.op, ast.Sub)
                ):
                    if unparse(less.left) == unparse(q) and unparse(less.right) in ("1", "1.0"):
                        return e
    return None


def _pairs(node: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [(node.left, node.right), (node.right, node.left)]
    return []


def _has_minus(source: Script, call: ast.Call) -> bool:
    """A minus stands before it, or what holds it is turned round later: not told."""
    for parent in source.above(call):
        if is_negative(parent):
            return True
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub):
            return True
        if isinstance(parent, ast.stmt):
            return isinstance(parent, ast.Assign) and _turned_later(source, parent)
    return False


def _turned_later(source: Script, statement: ast.Assign) -> bool:
    """What is named there is turned round, subtracted or returned with a minus somewhere, maybe in a sum."""
    names = {unparse(t) for t in statement.targets}
    whole = source.function_around(statement) or source.tree
    minus = [n.operand for n in of(whole, ast.UnaryOp) if isinstance(n.op, ast.USub)]
    minus += [n.right for n in of(whole, ast.BinOp) if isinstance(n.op, ast.Sub)]
    return any(unparse(n) in names for m in minus for n in of(m, ast.Name, ast.Attribute))


def _way(mine: Flow, error: ast.expr) -> str:
    for one in (error, *mine.values(error, 1)):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub):
            left, right = (_plain(p) for p in (one.left, one.right))
            if _TRUTH.match(left) and _GUESS.match(right):
                return "truth - guess"
            if _GUESS.match(left) and _TRUTH.match(right):
                return "guess - truth"
    return ""


def _plain(node: ast.expr) -> str:
    """The name that a part of a difference goes by: `pred[:, i]` -> "pred"."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            break
    return last_name(node)


# --------------------------------------------------------------------------------------------- terms twice


def term_twice(source: Script) -> Finding | None:
    """`first + 0.5 * first`, `ce(sim, y) + ce(sim, y)`: a term stands twice where another belongs.

    Not told of calls of a model, which may drop another half of its units each time.
    """
    standard = {c for c, _ in losses(source)}
    for node in source.of(ast.BinOp):
        above = source.parents.get(node)
        if not isinstance(node.op, ast.Add) or is_evaluation(source, node):
            continue
        if isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Add, ast.Sub)):
            continue
        seen: dict[str, ast.expr] = {}
        for sign, term in signed_terms(node, 1):
            parts = [p for p in factors(term) if not isinstance(p, ast.Constant)]
            if sign < 0 or len(parts) != 1 or not _is_term(source, parts[0], standard):
                continue
            text = unparse(parts[0])
            if text in seen:
                return at(source, node, f"`{text}` stands twice in the sum of the terms")
            seen[text] = term
    return None


def _is_term(source: Script, node: ast.expr, standard: set[ast.Call]) -> bool:
    """A standard loss of plain names, or a name that is added up under the name of a loss."""
    if isinstance(node, ast.Call):
        inner = [c for c in of(node, ast.Call) if c is not node]
        moves = (
            "t",
            "transpose",
            "view",
            "reshape",
            "permute",
            "float",
            "long",
            "squeeze",
            "detach",
            "flatten",
        )
        return node in standard and all(last_name(c.func) in moves for c in inner)
    if not isinstance(node, ast.Name):
        return False
    statement = source.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    learnt = any(
        isinstance(c.func, ast.Attribute) and unparse(c.func.value) == target.id for c in source.backwards
    )
    if not learnt and not re.search(r"(?i)(?:^|_)loss(?:_|$)|^total$", target.id):
        return False
    given = flow(source).given(node)
    return given is not None and any(True for _ in of(given.value, ast.Call))


# --------------------------------------------------------------------------------------------- temperature

_TEMPERATURE = re.compile(r"(?i)^(?:tau|temp|temperature|T)$")


def temperature_multiplied(source: Script) -> Finding | None:
    """`a @ b.T * tau` with tau below one, into a cross-entropy: similarities are divided by a temperature."""
    mine = flow(source)
    standard = [c for c, k in losses(source) if k in ("crossentropyloss", "cross_entropy") and c.args]
    for call in standard:
        if is_evaluation(source, call):
            continue
        for end in (call.args[0], *mine.values(call.args[0], 3)):
            if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Mult):
                for factor, other in ((end.left, end.right), (end.right, end.left)):
                    if not _TEMPERATURE.match(last_name(factor)) or not _is_similarity(mine, other):
                        continue
                    value = number(source, factor)
                    if value is not None and 0 < value < 0.5:
                        return at(source, end, "similarities are multiplied by a temperature below one")
    return None


def _is_similarity(mine: Flow, node: ast.expr) -> bool:
    for one in (node, *mine.values(node, 2)):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.MatMult):
            return True
        if isinstance(one, ast.Call) and last_name(one.func) in (
            "matmul",
            "mm",
            "einsum",
            "cosine_similarity",
        ):
            return True
    return False
