"""The learning-rate schedule in scripts: whether it is applied, what it watches; optimizers made anew."""

from __future__ import annotations

import ast
import re
from functools import partial

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, argument, keyword, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..evaluation.choices import choices
from ..optimizer.optax_steps import moments_dropped
from ..shared.checks import at, first, ok
from ..shared.sides import either
from ..shared.units import loops_of_step
from ..tensorflow.graph_gradient import decay_stands
from ..tensorflow.session import rate_stands_in_graph
from ..tensorflow.slips import floor_above_rate, watched_metric_unknown
from .by_hand import rate_by_hand_slipped
from .rate_units import stopped_before_lowered
from .torch_lengths import kept_as
from .written import rate_reaches_nothing

_BETTER = re.compile(
    r"(?:^|_)(?:acc\w*|f1|iou|miou|map|auc|auroc|score|bleu|rouge\w*|dice|recall|precision|r2|psnr|ssim)(?:_|$)",
    re.I,
)
_WORSE = re.compile(r"(?:^|_)(?:loss\w*|err\w*|mae|mse|rmse|wer|cer|ppl|perplexity|nll|fid)(?:_|$)", re.I)


def asked_of(call: ast.Call) -> ast.expr:
    """What a method is called on: `scheduler` of `scheduler.step()`."""
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def sets_rate(node: ast.Assign) -> bool:
    """An assignment puts a rate into force: `group["lr"] = ...`, `optimizer.lr = ...`."""
    for target in node.targets:
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            if target.slice.value in ("lr", "learning_rate"):
                return True
        if isinstance(target, ast.Attribute) and target.attr in ("lr", "learning_rate"):
            return True
    return False


@probe()
def rate_not_applied(view: View) -> Finding:
    """The training loop asks a function for the learning rate and never gives it to the optimizer.

    Absent where anything sets a rate: a parameter group, an attribute, `assign`.
    """
    checks = either(
        *(_not_applied, decay_stands, rate_stands_in_graph, stopped_before_lowered),
        rate_reaches_nothing,
        rate_by_hand_slipped,
        *(floor_above_rate, partial(watched_metric_unknown, names=("ReduceLROnPlateau",))),
    )
    return first(view, checks, "the training loops ask no function for a learning rate")


def _not_applied(source: Script) -> Finding | None:
    loops = loops_of_step(source)
    functions = flow(source).functions
    asked = [
        c
        for c in source.calls
        if last_name(c.func) in functions
        and re.search(r"(?:^|_)(?:lr|learning_rate)(?:_|$)", last_name(c.func).lower())
        and c.args
        and not re.search(r"adjust|set|update|apply|assign|sched", last_name(c.func).lower())
        and any(loop in source.above(c) for loop in loops)
        and not _reads_rate(c, functions[last_name(c.func)])
    ]
    if not asked or not source.trains_by_hand:
        return None
    sets = [n for n in source.of(ast.Assign) if sets_rate(n)]
    other = source.named("assign", "LambdaLR", "set_lr", "assign_lr", "update") or "'lr':" in source.code
    if sets or source.named("LambdaLR"):
        return ok(source, sets[0] if sets else asked[0], "the rate is given to the optimizer")
    whole = any(_gives_number(f) for f in functions[last_name(asked[0].func)])
    if not whole or (other and source.named("LambdaLR", "set_lr", "assign_lr")):
        return None
    return at(source, asked[0], "the rate of the schedule is computed and never given to the optimizer")


_HOLDS_RATE = re.compile(r"(?i)opt(?:im\w*)?(?:_|\b)|optimi[sz]er|sched|param_groups")
# what a function reads that gives back the rate in force, wherever it has its optimizer or schedule from
_IN_FORCE = re.compile(
    r"param_groups|_last_lr\b|\bget_last_lr\(|(?i:opt(?:im\w*)?|optimi[sz]er|\w*sched\w*)"
    r"\.(?:_?lr|learning_rate|get_lr|state_dict|_decayed_lr|variables)\b"
)


def _reads_rate(call: ast.Call, functions: list[Function]) -> bool:
    """`get_lr(optimizer)`: the rate in force is read, for the log."""
    given = all_arguments(call)
    handed = any(
        _HOLDS_RATE.search(n.id if isinstance(n, ast.Name) else n.attr)
        for g in given
        for n in of(g, ast.Name, ast.Attribute)
    )
    return handed or any(_IN_FORCE.search(unparse(f)) for f in functions)


def _gives_number(function: Function) -> bool:
    return any(n.value is not None for n in of(function, ast.Return))


@probe()
def plateau_direction(view: View) -> Finding:
    """ReduceLROnPlateau waits for a score to fall, or for a loss to rise."""
    return first(
        view,
        either(_plateau, shows("plateau-direction")),
        "the scripts lower the rate on no plateau of a quantity that is known by name",
    )


def _plateau(source: Script) -> Finding | None:
    seen = None
    for call in source.named("ReduceLROnPlateau"):
        mode = argument(call, "mode", position=1)
        if mode is not None and not (isinstance(mode, ast.Constant) and mode.value in ("min", "max")):
            continue
        keras = keyword(call, "monitor") is not None
        if keras and mode is None:
            continue  # Keras infers the direction from the name
        upward = isinstance(mode, ast.Constant) and mode.value == "max"
        for watched in _watched(source, call):
            if not (_WORSE.search(watched) or _BETTER.search(watched)):
                # `exact`: no name tells which way it gets better, but what is kept as the best does
                ways = {c.up for c in choices(source) if c.sets and last_name(c.new) == watched}
                if ways == {not upward}:
                    said = "smaller" if upward else "larger"
                    why = (
                        f"the rate waits for {watched} to {'rise' if upward else 'fall'}, of which the {said}"
                    )
                    return at(source, call, f"{why} is kept as the better one")
                continue
            seen = seen or call
            if _chosen_likewise(source, watched, upward):
                continue
            if upward and _WORSE.search(watched) and not _BETTER.search(watched):
                return at(
                    source, call, f"the rate is lowered when {watched} stops rising, and it should fall"
                )
            if not upward and _BETTER.search(watched) and not _WORSE.search(watched):
                return at(
                    source, call, f"the rate is lowered when {watched} stops falling, and it should rise"
                )
    return ok(source, seen, "the plateau is looked for in the right direction") if seen is not None else None


def _chosen_likewise(source: Script, watched: str, upward: bool) -> bool:
    """The script takes the same quantity for better in the same direction: `if val_score < best_score`."""
    return any(c.up is upward and last_name(c.new) == watched for c in choices(source))


def _watched(source: Script, call: ast.Call) -> list[str]:
    """What is watched, by name: `scheduler.step(val_acc)`, `monitor="val_acc"`."""
    said = keyword(call, "monitor")
    if isinstance(said, ast.Constant) and isinstance(said.value, str):
        return [re.sub(r"\W", "_", said.value)]
    around = source.function_around(call)
    if around is not None and around.name == "configure_optimizers":
        texts = re.findall(r"'monitor': '([^']+)'", unparse(around))
        return [re.sub(r"\W", "_", t) for t in texts]
    names = kept_as(source, call)
    given = [c.args[0] for c in source.named("step") if c.args and last_name(asked_of(c)) in names]
    found = []
    for node in given:
        if isinstance(node, ast.UnaryOp):
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            found.append(re.sub(r"\W", "_", str(node.slice.value)))
        elif isinstance(node, (ast.Name, ast.Attribute)):
            found.append(last_name(node))
    return found


@probe()
def optimizer_rebuilt(view: View) -> Finding:
    """A new optimizer in every epoch: its moments start from nothing, and a scheduler keeps the old one.

    In optax the same where the new state that a step gives is dropped.
    """
    looks = either(_rebuilt, moments_dropped)
    return first(view, looks, "the scripts build no optimizer, or train in no loop over epochs")


def _new_rate(call: ast.Call, loop: ast.AST) -> bool:
    """The loop works out the rate, and a new optimizer is how it is set: no slip."""
    rate = argument(call, "lr", position=1)
    given = {unparse(t) for n in of(loop, ast.Assign) for t in n.targets}
    return isinstance(rate, ast.Name) and rate.id in given


def _over_epochs(loop: ast.AST) -> bool:
    return isinstance(loop, ast.For) and re.search(r"(?i)epoch|\bep\b", unparse(loop.target)) is not None


def _trains_whole(source: Script, call: ast.Call, loop: ast.AST) -> bool:
    """`train(model, epochs=n)` goes through all epochs itself, with a model that the round or it has made."""
    functions = flow(source).functions.get(last_name(call.func), [])
    whole = any(
        isinstance(n, ast.For) and re.search(r"(?i)range\(.*(?:epoch|iter|step)", unparse(n.iter))
        for f in functions
        for n in of(f, ast.For)
    )
    made = {unparse(t) for n in of(loop, ast.Assign) for t in n.targets}
    given = {unparse(a) for a in (*call.args, *(k.value for k in call.keywords))}
    return whole and (bool(made & given) or any(_makes_model(source, f) for f in functions))


def _makes_model(source: Script, function: Function) -> bool:
    """A model is made in it: an experiment by itself, as each of a benchmark's."""
    calls = [n.value for n in of(function, ast.Assign) if isinstance(n.value, ast.Call)]
    return any(
        last_name(c.func) == "from_pretrained" or flow(source).made(c) in source.modules for c in calls
    )


def _of_new_model(call: ast.Call, loop: ast.AST) -> bool:
    """The network of an optimizer is made in the same loop: `model = Model(file).to(device)`."""
    held = {
        unparse(c.func.value)
        for c in of(call, ast.Call)
        if isinstance(c.func, ast.Attribute) and last_name(c.func) in ("parameters", "named_parameters")
    }
    return any(
        isinstance(n.value, ast.Call)
        and {unparse(t) for t in n.targets} & held
        and not {unparse(t) for t in n.targets} & {unparse(e) for e in of(n.value, ast.Name, ast.Attribute)}
        for n in of(loop, ast.Assign)
    )


def _rebuilt(source: Script) -> Finding | None:
    loops = loops_of_step(source)
    built = source.optimizer_calls
    if not loops or not built:
        return None
    mine = flow(source)
    built = tuple(c for c in built if "parameters" in unparse(c)) or built[:0]
    if not built:
        return None
    makers = {f.name for c in built if (f := source.function_around(c)) is not None}
    calls = [*built, *(c for c in source.calls if last_name(c.func) in makers)]
    for call in calls:
        around = [p for p in source.above(call) if isinstance(p, (ast.For, ast.While, ast.If, ast.Try))]
        inside = [loop for loop in loops if loop in around]
        if not inside or any(isinstance(p, (ast.If, ast.Try)) for p in around[: around.index(inside[0])]):
            continue
        loop = inside[0]
        over = unparse(loop.target).lower() + unparse(loop.iter).lower() if isinstance(loop, ast.For) else ""
        if not re.search(r"epoch|\bep\b|step|iter|batch|loader", over) or re.search(
            r"fold|split|seed|trial|stage|task|level|resolution|phase|pyramid|client", over
        ):
            continue
        if any(o is not loop and loop in source.above(o) and _over_epochs(o) for o in loops):
            continue  # a stage, of several epochs
        if call not in built and _trains_whole(source, call, loop):
            continue  # an experiment of its own in each round
        made = any(
            mine.made(n.value) in source.modules
            for n in of(loop, ast.Assign)
            if isinstance(n.value, ast.Call)
        )
        made = made or _of_new_model(call, loop)
        if not made and isinstance(source.parents.get(call), ast.Assign) and not _new_rate(call, loop):
            return at(source, call, "the optimizer is built anew in every round of the training loop")
    return ok(source, built[0], "the optimizer is built once")
