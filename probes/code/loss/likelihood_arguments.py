"""What the likelihoods of PyTorch and Keras are given: rates and their logarithms, targets and variances."""

from __future__ import annotations

import ast

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.nodes import factors, is_false, is_negative
from ..tensorflow.keras import compiled
from .output_kind import ends_in

_POISSON = ("PoissonNLLLoss", "poisson_nll_loss")


def rate_of_wrong_kind(source: Script) -> Finding | None:
    """`PoissonNLLLoss(log_input=False)` of a layer's plain outputs, or of `exp(...)` taken for a logarithm.

    By itself the loss takes the logarithm of the rate; told otherwise, it takes the rate, which is positive.
    """
    mine = flow(source)
    for call, made in _likelihoods(mine, _POISSON):
        told = keyword(made, "log_input")
        if told is not None and not isinstance(told, ast.Constant):
            continue
        plain = is_false(told)
        given = call.args[0] if call.args else keyword(call, "input")
        if given is None or is_evaluation(source, call):
            continue
        if plain and any(_ends_in_layer(source, mine, f) for f in (given, *factors(given))):
            return at(source, call, "log_input=False takes a rate, and gets what a linear layer gives")
        if not plain and _is_exponential(mine, given):
            return at(source, call, "the loss takes the logarithm of the rate, and gets its exponential")
    return None


def keras_rate_linear(source: Script) -> Finding | None:
    """Keras' Poisson loss takes a rate, and the output's layer has no activation."""
    for one in compiled(source):
        if last_name(one.loss.func if isinstance(one.loss, ast.Call) else one.loss) == "Poisson":
            if one.ends == "linear" and one.layer is not None:
                return at(source, one.layer, "the Poisson loss takes a rate, and this layer gives any number")
    return None


def _likelihoods(mine: Flow, names: tuple[str, ...]) -> list[tuple[ast.Call, ast.Call]]:
    """Calls of a likelihood, each with the call that says its settings: the class, or the function itself."""
    found = []
    for call in mine.source.calls:
        if last_name(call.func) in names and not last_name(call.func)[:1].isupper():
            found.append((call, call))
            continue
        if len(call.args) < 2:
            continue
        ends = [call.func] if isinstance(call.func, ast.Call) else mine.values(call.func, 4)
        made = [e for e in ends if isinstance(e, ast.Call) and last_name(e.func) in names]
        if len(made) == 1 and len(ends) == 1:
            found.append((call, made[0]))
    return found


def _ends_in_layer(source: Script, mine: Flow, given: ast.expr) -> bool:
    """The value is what a linear layer gives, be it one of several outputs of a model."""
    if ends_in(source, given) is not None:
        return True
    ends = mine.values(given, 8)
    return bool(ends) and all(ends_in(source, e) is not None for e in ends)


def _is_exponential(mine: Flow, given: ast.expr) -> bool:
    ends = mine.values(given, 8)
    return bool(ends) and all(
        isinstance(e, ast.Call) and last_name(e.func) in ("exp", "softplus", "Softplus") for e in ends
    )


def target_for_variance(source: Script) -> Finding | None:
    """`gaussian_nll_loss(mu, var, y)`: mean and variance are both of the model."""
    mine = flow(source)
    for call, _ in _likelihoods(mine, ("GaussianNLLLoss", "gaussian_nll_loss")):
        if len(call.args) < 3 or not all(isinstance(a, ast.Name) for a in call.args[:3]):
            continue
        made = [_made_with(mine, a) for a in call.args[:3]]
        if made[0] is not None and made[0] is made[1] and made[2] is not made[0]:
            return at(
                source,
                call,
                f"`{unparse(call.args[1])}` comes with the mean from the model, and is no target",
            )
    return None


def _made_with(mine: Flow, name: ast.expr) -> ast.AST | None:
    """The value that a name was unpacked from."""
    given = mine.all_given(name)
    return given[0].value if len(given) == 1 and given[0].places else None


def certain_weighs_most(source: Script) -> Finding | None:
    """`exp(logp) ** gamma * logp`: a focal loss weighs by what is missing to certainty, not by certainty."""
    mine = flow(source)
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Mult) or isinstance(source.parents.get(node), ast.BinOp):
            continue
        parts = list(factors(node))
        parts = [p.operand if is_negative(p) else p for p in parts]
        for weight in parts:
            base = _base_of_power(weight)
            if base is None or len(parts) < 2:
                continue
            log = _logarithm_of(mine, base)
            if log is not None and any(p is not weight and unparse(p) == log for p in parts):
                return at(
                    source, node, f"the weight grows with the chance of the answer: `{unparse(weight)}`"
                )
    return None


def _base_of_power(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return node.left
    if isinstance(node, ast.Call) and last_name(node.func) == "pow":
        if len(node.args) == 2:
            return node.args[0]
        return receiver(node)
    return None


def _logarithm_of(mine: Flow, base: ast.expr) -> str | None:
    """`logp` of `exp(logp)`, `logp.exp()`, or of a name that was given one of them."""
    for one in (base, *(v for v in mine.values(base, 1) if v is not base)):
        if isinstance(one, ast.Call) and last_name(one.func) == "exp":
            inner = one.args[0] if one.args else getattr(one.func, "value", None)
            inner = inner.operand if is_negative(inner) else inner
            if isinstance(inner, ast.Name):
                return inner.id
    return None


__all__ = ["certain_weighs_most", "keras_rate_linear", "rate_of_wrong_kind", "target_for_variance"]


_GRADIENTS = ("grad", "value_and_grad")


def weights_left_out(source: Script) -> Finding | None:
    """`grad(loss)` in JAX, where nothing that `loss` gives back is made of its first parameter.

    `p = predict(params, x); return -sum(y * log(y))`: the gradients are zero, and no error tells.
    """
    if "jax" not in source.frameworks or source.loose:
        return None
    taken = [c.args[0] for c in source.named(*_GRADIENTS) if len(c.args) == 1 and not c.keywords]
    asked = {n.id for n in taken if isinstance(n, ast.Name)}
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in function.args.args]
        if function.name not in asked or not names or function.args.vararg:
            continue
        made = {names[0]}
        body = [
            n for n in ast.walk(function) if isinstance(n, (ast.Assign, ast.AugAssign, ast.For, ast.With))
        ]
        for _ in range(len(body)):
            for node in body:
                if made & names_in(node):
                    made |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not _reads(n)}
        inner = [n for n in function.body if isinstance(n, (ast.FunctionDef, ast.If, ast.Try))]
        ends = [n for n in of(function, ast.Return) if isinstance(n, ast.Return) and n.value is not None]
        if ends and not inner and not any(made & names_in(n) for n in ends):
            return at(source, ends[0], f"nothing of `{names[0]}` is in what is minimised: no weight moves it")
    return None


def _reads(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)
