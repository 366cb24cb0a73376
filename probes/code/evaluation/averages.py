"""How evaluation loops of scripts average: what they sum up against what they divide by."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding, View, any_of, probe, unframed
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..method.shifted import asked_with_answers
from ..shared.checks import at, first, gone_over, ok
from ..shared.nodes import is_false
from ..shared.roles import split_of, trains
from ..shared.sides import either, side
from .compared import compared_with_itself
from .counts import hits_of_all_by_batches
from .keras_fit import share_of_other_axis
from .loops import predicts_least_likely, predicts_over_batch
from .other_loader import divided_by_other_length
from .roots import mean_of_roots


@probe()
@unframed
def metric_wrong(view: View) -> Finding:
    """The evaluation looks for classes along the batch or for the least likely one, or averages wrongly."""
    looks = either(asked_with_answers, compared_with_itself)
    helped = first(view, looks, "the scripts score no decoder that is handed right words")
    return any_of(
        (predicts_over_batch(view), predicts_least_likely(view), average_of_wrong_count(view), helped)
    )


_SAMPLES, _BATCHES = "samples", "batches"


@probe()
def average_of_wrong_count(view: View) -> Finding:
    """An evaluation divides a sum over samples by the number of batches, or the other way round.

    Or it divides by the size of the training set. Looked at are functions that sum up in a loop and never
    call backward; a sum or a count whose unit cannot be told is passed over. False positive: batches of one.
    """
    return first(
        view,
        either(
            *(_wrong_count, share_of_other_axis, divided_by_other_length, mean_of_roots),
            hits_of_all_by_batches,
        ),
        "the scripts show no average that an evaluation makes of its sums",
    )


@probe()
def batches_weighed_alike(view: View) -> Finding:
    """An evaluation sums up means of batches and divides by their number, and the last batch may be smaller.

    Silent where the loader drops the rest or gives one sample at a time. False positive: the batches divide
    the data, or the last one hardly counts.
    """
    return first(view, _weighed_alike, "the scripts show no average that an evaluation makes of its sums")


def _weighed_alike(source: Script) -> Finding | None:
    seen = None
    for function, loops, node, unit, below, sums in _ratios(source):
        count = _count(source, function, below, loops, sums)
        if count is None:
            continue
        seen = seen or node
        if unit == count == _BATCHES and _evaluates(function) and not _whole_batches(source, loops):
            if _counts_events(source, loops, node):
                continue
            return at(
                source, node, "a mean of means: a last batch of few samples counts as much as a full one"
            )
    return ok(source, seen, "batches count by their samples") if seen is not None else None


def _counts_events(source: Script, loops: list[ast.For], ratio: ast.AST) -> bool:
    """`hits += 1` under a condition, over `users += 1` of each round: a share of rounds, no mean of means."""
    above = getattr(ratio, "left", None) or getattr(ratio, "target", None)
    names = {unparse(n) for n in of(above, ast.Name, ast.Attribute)} if above is not None else set()
    added = [n for loop in loops for n in of(loop, ast.AugAssign) if unparse(n.target) in names]
    return bool(added) and all(
        isinstance(n.value, ast.Constant) and any(isinstance(p, ast.If) for p in source.above(n))
        for n in added
    )


def _evaluates(function: Function) -> bool:
    off = any(
        last_name(c.func) == "eval" or (last_name(c.func) == "set_train" and "False" in unparse(c))
        for c in of(function, ast.Call)
    )
    return off or trains(split_of(function.name)) is False


def _whole_batches(source: Script, loops: list[ast.For]) -> bool:
    """Some loader of the script drops the rest, or gives single samples, whichever is gone over."""
    names = {
        last_name(gone_over(loop.iter))
        for loop in loops
        if isinstance(gone_over(loop.iter), (ast.Name, ast.Attribute))
    }
    for call in source.calls:
        given_ = {k.arg: unparse(k.value) for k in call.keywords}
        drops = given_.get("drop_last", given_.get("drop_remainder", "False")) != "False"
        drops = drops and not _for_training(source, call)
        single = given_.get("batch_size") == "1"
        if drops or single:
            statement = source.statement(call)
            targets = {
                last_name(t)
                for t in getattr(statement, "targets", [])
                if isinstance(t, (ast.Name, ast.Attribute))
            }
            if not targets or targets & names or not any(trains(split_of(t)) for t in targets):
                return True
    return False


def _for_training(source: Script, call: ast.Call) -> bool:
    """`drop_remainder=training`, `drop_last=split == "train"`: held-out data keep their last batch.

    A parameter of the function counts where some call hands over False for it.
    """
    given = keyword(call, "drop_last") or keyword(call, "drop_remainder")
    if isinstance(given, ast.Compare) and isinstance(given.ops[0], ast.Eq):
        return re.search(r"['\"]train", unparse(given)) is not None
    if isinstance(given, ast.Name) and trains(split_of(given.id)):
        handed = flow(source).arguments(given)
        return any(is_false(h) for h in handed)
    return False


def _wrong_count(source: Script) -> Finding | None:
    seen = None
    for function, loops, node, unit, below, sums in _ratios(source):
        if _trained_on(source, function, below, loops):
            return at(source, node, "what evaluation sums up is divided by the size of the training set")
        if _drawn_from(source, below, loops):
            return at(source, node, "a part of the data is gone through, and divided by the size of all")
        count = _count(source, function, below, loops, sums)
        if count is None:
            continue
        seen = seen or node
        if unit != count:
            return at(source, node, f"a sum over {unit} is divided by the number of {count}")
    return ok(source, seen, "sums are divided by what they were summed over") if seen is not None else None


_Ratio = tuple[Function, list[ast.For], ast.BinOp | ast.AugAssign, str, ast.expr, dict[str, str]]


def _ratios(source: Script) -> Iterator[_Ratio]:
    """Quotients that evaluations make: function, its loops, where, unit of the sum, what by, all sums."""
    for function in source.of(ast.FunctionDef, ast.AsyncFunctionDef):
        every = of(function, ast.For)
        trained = [n for n in every if takes_gradients(source, n) and not _of_both_sides(source, n)]
        if takes_gradients(source, function) and len(trained) == len(every):
            continue
        loops = [n for n in every if n not in trained]
        sums = _sums(source, function, loops)
        inner = {n for loop in loops for n in walk(loop)}
        learned = {unparse(n.target) for loop in trained for n in of(loop, ast.AugAssign) if n not in inner}
        sums = {name: unit for name, unit in sums.items() if name not in learned}
        for node in of(function, ast.BinOp, ast.AugAssign):
            if not isinstance(node.op, ast.Div):
                continue
            above, below = (
                (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            )
            unit = _unit_of(above, sums)
            for one in [unit] if unit is not None else _units_of_all(source, node, above, sums):
                yield function, loops, node, one, below, sums


def _of_both_sides(source: Script, loop: ast.For) -> bool:
    """It stands in `for phase in ("train", "val"):`, or is that loop: held-out batches come by as well."""
    return any(
        isinstance(p, ast.For)
        and isinstance(p.iter, (ast.List, ast.Tuple))
        and {side(str(e.value)) for e in p.iter.elts if isinstance(e, ast.Constant)} >= {True, False}
        for p in (loop, *source.above(loop))
    )


def _units_of_all(source: Script, node: ast.AST, above: ast.expr, sums: dict[str, str]) -> list[str]:
    """The units of what a dict holds: `{k: v / n for k, v in sums.items()}` after `sums["acc"] += ...`."""
    over = source.parents.get(node)
    if not isinstance(over, ast.DictComp) or over.value is not node or len(over.generators) != 1:
        return []
    one = over.generators[0]
    if not (isinstance(one.iter, ast.Call) and last_name(one.iter.func) == "items"):
        return []
    if not isinstance(one.target, ast.Tuple) or unparse(one.target.elts[-1]) != unparse(above) or one.ifs:
        return []
    held = f"{source.owner(one.iter)}["
    return sorted({unit for name, unit in sums.items() if name.startswith(held)})


def _sums(source: Script, function: Function, loops: list[ast.For]) -> dict[str, str]:
    """Names that a loop adds to -> what one addend stands for."""
    inside = [n for loop in loops for n in walk(loop)]
    found: dict[str, str] = {}
    for node in inside:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            unit = _addend(source, function, node.value)
            name = unparse(node.target)
            if len(source.loops_around(node)) > 1 and isinstance(node.value, ast.Constant):
                unit = None  # counted one by one in an inner loop: neither samples nor batches
            if unit is None or found.get(name, unit) != unit:
                found[name] = ""
            else:
                found[name] = unit
    return {name: unit for name, unit in found.items() if unit}


def _addend(source: Script, function: Function, value: ast.expr, depth: int = 3) -> str | None:
    """What an addend is of: `loss.item() * len(x)` of samples, `loss.item()` of one batch."""
    if isinstance(value, ast.Constant):
        return _BATCHES if value.value == 1 else None
    if is_size(value):
        return _SAMPLES
    if isinstance(value, ast.BinOp):
        if isinstance(value.op, ast.Mult) and any(
            _sized(source, function, s) for s in (value.left, value.right)
        ):
            return _SAMPLES
        units = [_addend(source, function, s, depth) for s in (value.left, value.right)]
        if isinstance(value.op, ast.Add):
            return units[0] if units[0] == units[1] else None
        plain = [_is_weight(s) for s in (value.left, value.right)]
        return units[plain.index(False)] if isinstance(value.op, ast.Mult) and sum(plain) == 1 else None
    if isinstance(value, ast.Name) and depth:
        made = source.assigned(value.id, function, value.lineno)
        if made is not None:
            return _addend(source, function, made, depth - 1)
        told = {_addend(source, inner, v, depth - 1) for v, inner in _handed_back(source, value)}
        return told.pop() if len(told) == 1 else None
    if not isinstance(value, ast.Call):
        return None
    name = last_name(value.func)
    owner = receiver(value)
    if name in ("item", "float", "int", "cpu", "detach", "numpy", "asnumpy", "tolist"):
        inner = owner if isinstance(value.func, ast.Attribute) else argument(value, position=0)
        return _addend(source, function, inner, depth) if inner is not None else None
    if name in ("sum", "count_nonzero"):
        whole = [*value.args, *([owner] if owner is not None else [])]
        return _SAMPLES if any(_compares(n) for w in whole for n in walk(w)) else None
    if name == "mean":
        return _BATCHES
    if any(call is value for call, _ in source.losses):
        return _reduction(source, value)
    return None


def _is_weight(value: ast.expr) -> bool:
    """What a term of a loss is weighed by: `0.5`, `cfg.flood_weight`, `alpha`."""
    if isinstance(value, ast.Constant):
        return True
    named = re.search(r"(?i)weight|alpha|beta|lambda|gamma|coef|ratio|_w$", unparse(value)) is not None
    return isinstance(value, (ast.Name, ast.Attribute)) and named


def _compares(node: ast.AST) -> bool:
    """`pred == y`, `pred.eq(y)`, `torch.eq(pred, y)`."""
    return isinstance(node, ast.Compare) or (
        isinstance(node, ast.Call) and last_name(node.func) in ("eq", "equal")
    )


def _reduction(source: Script, call: ast.Call) -> str | None:
    """What a loss call gives: a mean over the batch, or a sum with `reduction="sum"`."""
    text = unparse(call)
    made = source.assigned(unparse(call.func), source.tree)
    text += unparse(made) if made is not None else ""
    given = keyword(call, "reduction")
    if "none" in text or "size_average" in text or "reduce=" in text:
        return None
    if "reduction" in text:
        if given is not None and not isinstance(given, ast.Constant):
            return None
        return _SAMPLES if "'sum'" in text else _BATCHES if "'mean'" in text else None
    return _BATCHES


def is_size(value: ast.expr) -> bool:
    """`len(y)`, `x.size(0)`, `x.shape[0]`, `y.numel()`."""
    if isinstance(value, ast.Call):
        name = last_name(value.func)
        if name == "len" and value.args:
            return not any(w in unparse(value.args[0]).lower() for w in ("load", "set", "iter"))
        return name in ("size", "numel") and isinstance(value.func, ast.Attribute)
    return isinstance(value, ast.Subscript) and unparse(value.value).endswith(".shape")


def _sized(source: Script, function: Function, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        made = source.assigned(value.id, function, value.lineno)
        if made is None:
            ends = [v for v, _ in _handed_back(source, value)]
            return bool(ends) and all(is_size(v) for v in ends)
        return is_size(made)
    return is_size(value)


def _handed_back(source: Script, name: ast.Name) -> list[tuple[ast.expr, Function]]:
    """What a helper of the script gives for a name of several: `loss, n = step(model, batch)`."""
    given = flow(source).given(name)
    if given is None or not given.places:
        return []
    ends = [(v, source.function_around(v)) for v in flow(source).values(name, 3) if v is not name]
    return [(v, f) for v, f in ends if f is not None and f is not source.function_around(name)]


def _unit_of(value: ast.expr, sums: dict[str, str]) -> str | None:
    """The unit of the only sum that stands in a dividend (`100 * correct`)."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        plain = [s for s in (value.left, value.right) if not isinstance(s, ast.Constant)]
        return _unit_of(plain[0], sums) if len(plain) == 1 else None
    if (
        isinstance(value, ast.Call)
        and last_name(value.func) in ("float", "item", "int", "sum")
        and not (last_name(value.func) == "sum" and value.args)
    ):
        inner = value.func.value if isinstance(value.func, ast.Attribute) else argument(value, position=0)
        return _unit_of(inner, sums) if inner is not None else None
    return sums.get(unparse(value))


def _count(
    source: Script, function: Function, value: ast.expr, loops: list[ast.For], sums: dict[str, str]
) -> str | None:
    """What a divisor counts."""
    if isinstance(value, ast.Call) and last_name(value.func) in ("max", "float") and value.args:
        return _count(source, function, value.args[-1], loops, sums)
    if unparse(value) in sums:
        return sums[unparse(value)]
    value = _resolved(source, function, value)
    if isinstance(value, ast.Call) and last_name(value.func) == "get_dataset_size":
        over = [gone_over(loop.iter) for loop in loops]
        mine = [source.owner(o) if isinstance(o, ast.Call) else unparse(o) for o in over]
        return _BATCHES if source.owner(value) in mine else None
    if isinstance(value, ast.Subscript) and _sizes_of_sets(source, value):
        return _SAMPLES
    if not (isinstance(value, ast.Call) and last_name(value.func) == "len" and value.args):
        return None
    counted = unparse(value.args[0])
    walked = [unparse(gone_over(loop.iter)) for loop in loops]
    if counted in walked:
        batches = any(w in counted.lower() for w in ("load", "batch", "dl")) or counted.endswith("_iter")
        return _BATCHES if batches or _builds_loader(source, counted) else None
    return _SAMPLES if counted in [f"{w}.dataset" for w in walked] else None


def _sizes_of_sets(source: Script, value: ast.Subscript) -> bool:
    """`sizes[phase]` after `sizes = {p: len(datasets[p]) for p in ...}`: how many samples each set has."""
    made = source.assigned(unparse(value.value), source.tree)
    each = made.values if isinstance(made, ast.Dict) else []
    each = [made.value] if isinstance(made, ast.DictComp) else each
    return bool(each) and all(
        isinstance(v, ast.Call)
        and last_name(v.func) == "len"
        and len(v.args) == 1
        and re.search(r"(?i)data_?sets?|_set|_ds\b|subset", unparse(v.args[0])) is not None
        and re.search(r"(?i)load|_dl\b|batch", unparse(v.args[0])) is None
        for v in each
    )


def _resolved(source: Script, function: Function, value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Name):
        return source.assigned(value.id, function, value.lineno + 1) or value
    return value


def _builds_loader(source: Script, name: str) -> bool:
    made = source.assigned(name, source.tree)
    return isinstance(made, ast.Call) and last_name(made.func) == "DataLoader"


def _trained_on(source: Script, function: Function, divisor: ast.expr, loops: list[ast.For]) -> bool:
    """The divisor is the size of the training set, and the function goes over held-out data."""
    value = _resolved(source, function, divisor)
    if not (isinstance(value, ast.Call) and last_name(value.func) == "len" and value.args):
        return False
    counted = unparse(value.args[0])
    sides = {trains(split_of(part)) for loop in loops for part in (unparse(loop.iter), *_texts(loop.body))}
    evaluates = False in sides or trains(split_of(function.name)) is False
    return trains(split_of(counted)) is True and evaluates and True not in sides


def _drawn_from(source: Script, divisor: ast.expr, loops: list[ast.For]) -> bool:
    """`len(loader.dataset)`, where a loader that is handed over draws by a `SubsetRandomSampler`."""
    if not (isinstance(divisor, ast.Call) and last_name(divisor.func) == "len" and divisor.args):
        return False
    whole = divisor.args[0]
    if not (isinstance(whole, ast.Attribute) and whole.attr == "dataset"):
        return False
    walked = [o for o in (gone_over(loop.iter) for loop in loops) if unparse(o) == unparse(whole.value)]
    mine = flow(source)
    for over in walked[:1]:
        for made in (v for a in (over, *mine.arguments(over)) for v in mine.values(a, 4)):
            sampler = keyword(made, "sampler") if isinstance(made, ast.Call) else None
            ends = mine.values(sampler, 4) if sampler is not None else []
            if ends and all(isinstance(e, ast.Call) and last_name(e.func) == _SUBSET for e in ends):
                return True
    return False


_SUBSET = "SubsetRandomSampler"


def _texts(body: list[ast.stmt]) -> list[str]:
    """The names in a loop that hold data: `self.val_set[i]`."""
    return [unparse(n) for statement in body for n in of(statement, ast.Name, ast.Attribute)]
