"""Losses in scripts that are summed over a batch and divided by nothing."""

from __future__ import annotations

import ast
import re

from ....engine.model import State
from ...readers._tree import of, unparse
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding, View, probe, unknown
from ...scripts.flow import flow, losses, returns
from ...scripts.minimised import loss_objects
from ...scripts.syntax import Script
from ...scripts.untaped import without_gradients
from ..mindspore.steps import vector_minimised
from ..shared.checks import at, first, is_evaluation, ok, scripts
from ..shared.sides import either
from ..tensorflow.graph_loss import summed_over_batch
from .divided import divided_on_its_way, gradients_divided_by_hand
from .shown import shown_per_sample
from .sums import summed_by_hand


def handed(value: ast.expr) -> list[ast.expr]:
    """The loss of what a method gives back: itself, the first of a tuple, "loss" of a dict, on each way."""
    if isinstance(value, ast.Tuple) and value.elts:
        return handed(value.elts[0])
    if isinstance(value, ast.Dict):
        return [
            v
            for k, v in zip(value.keys, value.values, strict=True)
            if isinstance(k, ast.Constant) and k.value == "loss"
        ]
    if isinstance(value, ast.IfExp):
        return [*handed(value.body), *handed(value.orelse)]
    return [value]


def _backward_names(source: Script) -> set[str]:
    """Names that backward is called on: `scaler.scale(loss).backward()` -> {"scaler", "loss"}.

    A method that hands its loss to a trainer has them in what it returns.
    """
    given = [v for f in source.loss_methods for r in returns(f) for v in handed(r)]
    return {n.id for b in (*source.backwards, *given) for n in of(b, ast.Name)}


@probe()
def loss_summed(view: View) -> Finding:
    """`reduction="sum"`, and nothing divides afterwards."""
    checks = either(_loss_summed, vector_minimised, summed_over_batch, summed_by_hand)
    return first(view, checks, "no loss in the scripts")


def sum_in_the_way(view: View) -> Finding:
    """As `loss_summed`; unknown where every step is measured by the gradient's own size.

    Adam's steps are the same whatever factor a loss has, unless something beside it has a size of its own.
    """
    found = loss_summed(view)
    if found.state is State.PRESENT:
        training = [s for s in scripts(view.run) if s.optimizer_calls]
        if training and all(map(_size_is_nothing, training)):
            return unknown("the loss is summed over the batch, and Adam's steps are the same for a mean")
    return found


_BY_SIZE = ("adam", "adamw", "nadam", "radam", "adamax", "fusedadam")
_CLIPS = re.compile(
    r"(?i)clip_?grad|grad\w*_clip|max_(?:grad_)?norm|clip_(?:by|global|norm|val)|GradScaler|grad_scaler"
)


def _size_is_nothing(source: Script) -> bool:
    """Adam without decay in the gradient, nothing is clipped or scaled, and the loss is one term."""
    for call in source.optimizer_calls:
        name, decay = last_name(call.func).lower(), keyword(call, "weight_decay")
        coupled = decay is not None and not (isinstance(decay, ast.Constant) and not decay.value)
        if name not in _BY_SIZE or (coupled and name != "adamw") or any(k.arg is None for k in call.keywords):
            return False
    if not source.backwards or _CLIPS.search(source.code):
        return False
    return all(_is_one_term(source, b) for b in source.backwards)


def _is_one_term(source: Script, backward: ast.Call) -> bool:
    """What gradients are taken of is one loss, to which nothing is added on its way."""
    taken = backward.func.value if isinstance(backward.func, ast.Attribute) else backward
    given = flow(source).values(taken, 4)
    if any(unparse(n.target) == unparse(taken) for n in source.of(ast.AugAssign)):
        return False
    sums = (n for v in given for n in of(v, ast.BinOp))
    return bool(given) and not any(isinstance(n.op, (ast.Add, ast.Sub)) for n in sums)


_LOOKS_AT_GRADIENTS = re.compile(r"\.grad(?:_\w+)?\b|autograd\.grad|jacobian|hessian")
_LEARNS = re.compile(r"\blr\b|learning_rate|step_size|optim|apply_gradients|\.fit\(|rainer")


_RATE = re.compile(r"(?i)\b(?:lr|learning_rate) ?= ?(\d[\d.]*e-\d+)")
_TINY = 1e-5


def _tiny_rate(source: Script) -> bool:
    """Every rate is so small that it makes up for a sum, as in PyTorch's first examples."""
    rates = [float(r) for r in _RATE.findall(source.code)]
    return bool(rates) and max(rates) <= _TINY


def _loss_summed(source: Script) -> Finding | None:
    known = [c for c, _ in (*losses(source), *loss_objects(source))]
    if not known or _tiny_rate(source):
        return None
    if not (source.optimizer_calls or source.steps or _LEARNS.search(source.code)):
        if _LOOKS_AT_GRADIENTS.search(source.code):
            return None  # nothing steps by them
    mine = flow(source)
    for call in source.calls:
        reduction = keyword(call, "reduction")
        asked = [] if reduction is None else mine.values(reduction, 4)
        summed = any(isinstance(v, ast.Constant) and v.value == "sum" for v in asked)
        if summed and not isinstance(reduction, ast.Constant):
            summed = _asked_in_training(source, call)
        if summed and last_name(call.func).lower() not in ("kldivloss", "kl_div"):
            if (
                not is_evaluation(source, call)
                and _is_trained_on(source, call)
                and not _divided(source, call)
                and not gradients_divided_by_hand(source)
                and not shown_per_sample(source)
                and not _sums_every_term(source, call)
                and not divided_on_its_way(source, call)
            ):
                return at(source, call, "the loss is summed over the batch")
    return ok(source, known[0], "the loss is a mean")


def _asked_in_training(source: Script, call: ast.Call) -> bool:
    """A caller that trains asks for the sum: `nll(model, x, y, "sum")` outside of evaluations."""
    function = source.function_around(call)
    asking = [
        c
        for c in (flow(source).calls_of(function) if function is not None else ())
        if any(unparse(a) in ("'sum'", '"sum"') for a in all_arguments(c))
    ]
    return not asking or any(not is_evaluation(source, c) and _is_trained_on(source, c) for c in asking)


_DIVERGENCE = re.compile(r"(?i)\bkl|kld|elbo|log_?var|log_?sigma")


def _sums_every_term(source: Script, call: ast.Call) -> bool:
    """A negative ELBO, every term of which is summed over the batch: usual for autoencoders."""
    function = source.function_around(call)
    return function is not None and any(
        last_name(n.func) == "sum"
        and not [a for a in n.args[1:] if source.owner(n) in ("torch", "ops", "tf")]
        and not n.keywords
        and _DIVERGENCE.search(unparse(source.statement(n) or n))
        for n in of(function, ast.Call)
    )


def _is_trained_on(source: Script, call: ast.Call) -> bool:
    """The loss is not one that is only measured, without gradients or turned into a number at once.

    Nor one whose gradient by an input is sought wherever it is taken, as attacks do.
    """
    taken = _calls_of(source, call) or [call]
    if all(source.seeks_input(source.function_around(c)) for c in taken):
        return False
    if without_gradients(source, call):
        return False
    outer = source.parents.get(call)
    # the root of such a sum is a norm
    return not (isinstance(outer, ast.Attribute) and outer.attr in ("item", "sqrt"))


def _divided(source: Script, node: ast.AST) -> bool:
    """The loss is divided where it is computed, or on its way to backward."""
    if any(isinstance(p, ast.BinOp) and isinstance(p.op, ast.Div) for p in source.above(node)):
        return True
    if any(
        re.search(r"(?i)loss", unparse(a))
        for c in source.calls
        if re.fullmatch(r"_?(?:normali[sz]e|average|mean)(?:_loss)?", last_name(c.func))
        and source.owner(c) not in ("np", "numpy", "statistics")  # a figure to be printed
        for a in c.args[:1]
    ):
        return True  # `batch.normalize(loss, tokens)`
    if _divided_under_its_name(source, node) or any(_averaged(source, c) for c in _calls_of(source, node)):
        return True
    names = _backward_names(source)
    handed = [a for c in source.named("add_loss", "gradient") for a in c.args[:1]]
    names |= {n.id for a in handed for n in of(a, ast.Name)}
    for method in source.loss_methods:
        names |= {n.id for r in returns(method) for n in of(r, ast.Name)}
    for statement in source.of(ast.Assign, ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        over = statement.value.right if isinstance(statement.value, ast.BinOp) else statement.value
        if _is_accumulation(over):
            continue
        if any(unparse(t) in names for t in targets) and "/" in unparse(statement.value):
            return True
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
            return any(unparse(t) in names for t in targets)
    taken = [b.func.value for b in source.backwards if isinstance(b.func, ast.Attribute)]
    given = [n for a in (*taken, *(a for b in source.backwards for a in b.args)) for n in of(a, ast.BinOp)]
    return any(isinstance(n.op, ast.Div) and not _is_accumulation(n.right) for n in given)


def _calls_of(source: Script, made: ast.AST) -> list[ast.Call]:
    """Where a loss object is called: `self.ce = CrossEntropyLoss(reduction="sum")`, then `self.ce(x, y)`."""
    statement = source.parents.get(made)
    if not isinstance(statement, ast.Assign):
        return []
    names = {unparse(t) for t in statement.targets}
    return [c for n in names for c in source.named(n.rpartition(".")[2]) if unparse(c.func) == n]


def _averaged(source: Script, call: ast.Call) -> bool:
    """What a loss object gives is divided: at once, `(ce(a, y) + ce(b, z)) / n`, or by way of a name."""
    inner: ast.AST = call
    for parent in source.above(call):
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and inner is parent.left:
            return not _is_accumulation(parent.right)
        if isinstance(parent, ast.stmt):
            break
        inner = parent
    return _divided_under_its_name(source, call)


def _divided_under_its_name(source: Script, node: ast.AST) -> bool:
    """`nll = cross_entropy(..., reduction="sum")` and `return nll / tokens` in one function."""
    statement = source.statement(node)
    scope = source.function_around(node)
    if not isinstance(statement, ast.Assign) or scope is None:
        return False
    names = {unparse(t) for t in statement.targets} - _backward_names(source)
    return any(
        isinstance(n.op, ast.Div)
        and not _is_accumulation(n.right)
        and isinstance(source.parents.get(n), (ast.Return, ast.Assign, ast.Tuple))
        and names & {unparse(v) for v in of(n.left, ast.Name)}
        for n in of(scope, ast.BinOp)
    )


def _is_accumulation(node: ast.expr) -> bool:
    """A division by the number of accumulated batches does not make a mean of a batch's sum."""
    return any(w in unparse(node).lower() for w in ("accum", "micro"))
