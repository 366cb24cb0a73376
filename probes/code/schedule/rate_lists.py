"""Lists of rates that a script makes itself, one for each update: in which unit they are long.

MindSpore's optimizers take a list with a rate for each step. Looked at are functions and comprehensions whose
values reach an optimizer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, argument, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.factors import product
from ..shared.nodes import factors
from ..shared.sides import OF_TRAINING, literal, side
from ..shared.units import EPOCH, unit
from .tf_lengths import filled, parameters_of

_FEW = 10  # updates: no warm-up of a training is as short
_PER_EPOCH = re.compile(
    r"(?i)^(?:n_|num_)?(?:steps?|batches|iters?|iterations|step_num|step_size|steps_num)?_?(?:per|in|an|each)_?epoch$"
    r"|^(?:one_)?step_size$|^step_per_epoch$|^per_epoch_steps?$"
)


def rate_list_misjudged(source: Script) -> Finding | None:
    """One rate an epoch, a warm-up of as many updates as epochs were meant, batches of held-out data."""
    if "mindspore" not in source.frameworks or source.loose:
        return None
    for look in (
        _one_an_epoch,
        _listed_by_epoch,
        _milestones_of_epochs,
        _short_warmup,
        _short_comprehension,
        _of_held_out,
        _lowest_too_soon,
    ):
        if (found := look(source)) is not None:
            return found
    return None


def _rates(source: Script) -> list[ast.expr]:
    """What optimizers get as their rate, and all that it is made of by name."""
    mine = flow(source)
    found: list[ast.expr] = []
    for call in source.optimizer_calls:
        given = argument(call, "learning_rate", position=1)
        waiting = [given] if given is not None else []
        while waiting and len(found) < 60:
            node = waiting.pop()
            if node in found:
                continue
            found.append(node)
            waiting += [v for v, _ in mine.step(node, ())]
            inner = list(all_arguments(node)) if isinstance(node, ast.Call) else []
            if isinstance(node, ast.BinOp):
                inner = [node.left, node.right]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                inner.append(node.func.value)
            waiting += [n for n in inner if isinstance(n, (ast.Name, ast.Attribute, ast.Call, ast.BinOp))]
    return found


def _makers(source: Script) -> Iterator[tuple[ast.Call, Function]]:
    """Calls of the script's own functions whose values reach an optimizer as its rates."""
    mine = flow(source)
    for node in _rates(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            functions = mine.functions.get(node.func.id, [])
            if len(functions) == 1:
                yield node, functions[0]


def _one_an_epoch(source: Script) -> Finding | None:
    """`get_lr(peak, epochs, 1)` of a function that wants the batches of an epoch."""
    for call, _ in _makers(source):
        for name, value in parameters_of(source, call):
            if _PER_EPOCH.match(name) and isinstance(value, ast.Constant) and value.value == 1:
                return at(
                    source,
                    call,
                    "this list holds one rate for each epoch, and the optimizer takes one a batch",
                )
    return None


def _listed_by_epoch(source: Script) -> Finding | None:
    """`[rate(epoch) for epoch in range(epochs)]` goes to the optimizer, and nothing repeats its rates."""
    mine, rates = flow(source), _rates(source)
    if any(isinstance(r, ast.Call) and last_name(r.func) in _REPEATS for r in rates):
        return None
    for one in (r for r in rates if isinstance(r, ast.ListComp) and len(r.generators) == 1):
        over = one.generators[0].iter
        if not isinstance(over, ast.Call) or last_name(over.func) != "range" or len(over.args) != 1:
            continue
        if unit(mine, over.args[0]) == EPOCH:
            return at(
                source, one, "this list holds one rate for each epoch, and the optimizer takes one a batch"
            )
    return None


_REPEATS = ("repeat", "tile", "repeat_interleave", "kron", "broadcast_to", "flatten")


def _milestones_of_epochs(source: Script) -> Finding | None:
    """`piecewise_constant_lr([30, epochs], ...)`: places in a list of one rate for each batch."""
    mine = flow(source)
    for call in source.named("piecewise_constant_lr"):
        given = argument(call, "milestone", position=0)
        for value in mine.values(given, 4) if given is not None else ():
            places = value.elts if isinstance(value, ast.List) else []
            places = [value.elt] if isinstance(value, ast.ListComp) else places
            if places and all(unit(mine, p) == EPOCH for p in places):
                return at(source, call, "the rate changes after as many batches as epochs were meant")
    return None


def _short_warmup(source: Script) -> Finding | None:
    """`step < warmup` in a function of rates, where the steps are those of all epochs and `warmup` is 5."""
    mine = flow(source)
    for _, function in _makers(source):
        counters = dict(_counters(function))
        for node in of(function, ast.Compare):
            if not isinstance(node.left, ast.Name) or len(node.ops) != 1:
                continue
            if node.left.id not in counters or not isinstance(node.ops[0], (ast.Lt, ast.LtE)):
                continue
            whole, count = _number(mine, counters[node.left.id]), _number(mine, node.comparators[0])
            if whole is None and count is not None and 0 < count <= _FEW and float(count).is_integer():
                if re.search(r"(?i)warm", _words(mine, node.comparators[0])):
                    return at(source, node, f"the warm-up is over after {count:g} batches")
    return None


def _words(mine: Flow, node: ast.expr) -> str:
    return " ".join([unparse(node), *(unparse(v) for v in mine.values(node, 4))])


def _counters(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """Names that go over `range(n)` or hold `np.arange(n)`, with n."""
    for loop in of(function, ast.For):
        if (
            isinstance(loop.iter, ast.Call)
            and last_name(loop.iter.func) == "range"
            and len(loop.iter.args) == 1
        ):
            if isinstance(loop.target, ast.Name):
                yield loop.target.id, loop.iter.args[0]
    for node in of(function, ast.Assign):
        value = node.value
        if isinstance(value, ast.Call) and last_name(value.func) == "arange" and len(value.args) == 1:
            if isinstance(node.targets[0], ast.Name):
                yield node.targets[0].id, value.args[0]


def _number(mine: Flow, node: ast.expr) -> float | None:
    """The number behind a count, settings put in by their defaults; None where batches are counted."""
    told, left_over = node, 6
    while isinstance(told, ast.Name) and left_over:
        behind = [v for v, places in mine.step(told, ()) if not places]
        if len(behind) != 1 or not isinstance(behind[0], (ast.Name, ast.Attribute, ast.Subscript)):
            break
        told, left_over = behind[0], left_over - 1
    found = product(mine, told)
    left = filled(mine.source, found) if found is not None else None
    return float(left.constant) if left is not None and not left.atoms else None


def _short_comprehension(source: Script) -> Finding | None:
    """`[peak * (i + 1) / 5 for i in range(5)] + rest`: the list begins with a rise over five batches."""
    mine = flow(source)
    joined = [n for n in _rates(source) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add)]
    for node in joined:
        firsts = [v for v in (node.left, *mine.values(node.left, 3)) if isinstance(v, ast.ListComp)]
        for one in firsts:
            over = one.generators[0].iter
            if not (isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 1):
                continue
            count = _number(mine, over.args[0])
            rises = isinstance(one.elt, ast.BinOp) and names_in(one.generators[0].target) & names_in(one.elt)
            if count is not None and 1 < count <= _FEW and rises:
                return at(source, one, f"the warm-up is over after {count:g} batches")
    return None


def _of_held_out(source: Script) -> Finding | None:
    """`steps = valid_set.get_dataset_size()`, and the rates of training are laid out with it."""
    names = {n for r in _rates(source) for n in names_in(r)}
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or target.id not in names or not isinstance(value, ast.Call):
            continue
        if last_name(value.func) != "get_dataset_size" or side(target.id) is False:
            continue
        owner = source.owner(value)
        if side(owner) is False and _has_training_data(source):
            return at(
                source, node, "the batches of the held-out data are counted, and the rates are of training"
            )
    return None


def _has_training_data(source: Script) -> bool:
    stored = (n for n in source.of(ast.Name) if isinstance(n.ctx, ast.Store))
    return any(OF_TRAINING.search(n.id) for n in stored)


def _lowest_too_soon(source: Script) -> Finding | None:
    """`cosine_decay_lr(low, high, EPOCHS * steps, steps, 5)` of 60 epochs: the rest is at the lowest."""
    for call in source.named("cosine_decay_lr"):
        whole, each, decay = (
            argument(call, name, position=place)
            for place, name in enumerate(("total_step", "step_per_epoch", "decay_epoch"), 2)
        )
        if whole is None or each is None or decay is None:
            continue
        made = flow(source).whole_given(whole) or whole
        parts = factors(made)
        if len(parts) != 2 or unparse(each) not in map(unparse, parts):
            continue
        epochs = next((f for f in parts if unparse(f) != unparse(each)), whole)
        long, short = _figure(source, epochs), _figure(source, decay)
        if long is not None and short is not None and 0 < short <= long / 2:
            return at(source, call, f"the rate is at its lowest after {short:g} of {long:g} epochs")
    return None


def _figure(source: Script, node: ast.expr) -> float | None:
    """A number that is written, by way of names and of what a parameter is where nothing is handed over."""
    found = literal(source, node)
    if (
        found is None
        and isinstance(node, ast.Name)
        and (function := source.function_around(node)) is not None
    ):
        args = [*function.args.posonlyargs, *function.args.args]
        pairs = zip(reversed(args), reversed(function.args.defaults), strict=False)
        given = next((d for a, d in pairs if a.arg == node.id), None)
        if given is not None and not flow(source).arguments(node):
            found = literal(source, given)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None
