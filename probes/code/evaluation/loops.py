"""Evaluation in scripts: what is evaluated, and how its metric is computed."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import all_arguments, argument, keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..method.written import adapter_left_behind
from ..shared.checks import at, first, ok, outer_loop
from ..shared.nodes import is_false
from ..shared.roles import model_calls
from ..shared.sides import either, words
from ..trainers.trainer_settings import classes_over_words
from .answer_order import asks_network
from .best_kept import first_read_for_best
from .kept_when import early_epoch_read, fresh_network_kept, kept_at_one_epoch
from .untrained import made_anew_for_evaluation


@probe()
def predicts_over_batch(view: View) -> Finding:
    """The predicted class is taken over the batch axis: `output.argmax(0)`."""
    return first(view, either(_over_batch, classes_over_words), "the scripts predict no classes")


def _over_batch(source: Script) -> Finding | None:
    seen = None
    for call in source.named("argmax", "max"):
        scores, axis = _scores_and_axis(source, call)
        if scores is None or not _takes_indices(source, call):
            continue
        text = unparse(scores).lower()
        words = any(w in text for w in ("out", "logit", "pred", "score", "model("))
        if _filled_by_part(source, scores) or _drawn(source, call):
            continue  # a map that is put together of patches: its classes come first
        if not words and not _of_model(source, scores):
            continue
        seen = seen or call
        single = re.search(r"segment|mask", " ".join(unparse(p) for p in _statement(source, call)))
        if _classes_first(source, scores) and isinstance(axis, ast.Constant) and axis.value in (1, 2, 3):
            return at(source, call, "the class is looked for along a side of the picture")
        if isinstance(axis, ast.Constant) and axis.value == 0 and "[" not in text and not single:
            if (
                isinstance(call.func, ast.Attribute)
                and call.func.value is scores
                and call.func.attr == "argmax"
            ):
                if _picks_one(source, call) or _classes_first(source, scores):
                    continue
                return at(source, call, "the class is looked for along the batch, not along the classes")
            if not _of_one(source, scores) and not _classes_first(source, scores):
                return at(source, call, "the class is looked for along the batch, not along the classes")
    return ok(source, seen, "the class is looked for along the classes") if seen is not None else None


_ASKS = re.compile(r"(?:self\.)?(?:model|net|network)\.forward")


@lru_cache(maxsize=16)
def _asked(source: Script) -> frozenset[ast.Call]:
    """The calls of models, also by way of `forward`."""
    forwards = (c for c in source.named("forward") if _ASKS.fullmatch(unparse(c.func)))
    return frozenset((*forwards, *model_calls(source)))


def _of_model(source: Script, scores: ast.expr) -> bool:
    """A call of the model, or chances that are made of what it gave: `chances = torch.exp(net(x))`."""
    asked = _asked(source)
    ends = [scores, *flow(source).values(scores, 4)] if isinstance(scores, ast.Name) else [scores]
    whole = all(isinstance(e, (ast.Name, ast.Call)) for e in ends)
    made = [last_name(e.func) for e in ends if isinstance(e, ast.Call) and e not in asked]
    inner = [a for e in ends if isinstance(e, ast.Call) and e not in asked for a in e.args[:1]]
    ends += [v for a in inner for v in (a, *flow(source).values(a, 2))]
    plain = set(made) <= {"exp", "softmax", "sigmoid"}
    return whole and plain and any(e in asked for e in ends)


_DRAWINGS = frozenset(
    ["contour", "contourf", "imshow", "pcolormesh", "scatter", "plot", "matshow", "heatmap", "plot_surface"]
)


def _drawn(source: Script, call: ast.Call) -> bool:
    """Whether this stands in the call of a drawing, which scores nothing."""
    around = (n for n in source.above(call) if isinstance(n, ast.Call))
    return any(last_name(n.func) in _DRAWINGS for n in around)


def _picks_one(source: Script, call: ast.Call) -> bool:
    """`best = scores.argmax(0)`, then `actions[best]`: one of several candidates, and no class of samples."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    names = {unparse(t) for t in statement.targets}
    around = source.function_around(call) or source.tree
    return any(unparse(n.slice) in names for n in of(around, ast.Subscript))


_LIBRARIES = ("torch", "np", "numpy", "jnp", "tf", "ops", "mint", "jax.numpy", "F")


def _scores_and_axis(source: Script, call: ast.Call) -> tuple[ast.expr | None, ast.expr | None]:
    """What the largest is looked for in, and along which axis: `out.argmax(1)`, `torch.max(out, dim=1)`."""
    if not isinstance(call.func, ast.Attribute):
        return None, None
    library = source.owner(call) in _LIBRARIES
    given = call.args[1:] if library else call.args
    axis = keyword(call, "dim") or keyword(call, "axis") or (given[0] if given else None)
    return argument(call, position=0) if library else call.func.value, axis


def _takes_indices(source: Script, call: ast.Call) -> bool:
    """`_, pred = out.max(1)`, `out.max(1)[1]`, `out.max(1).indices`; argmax gives nothing else."""
    if last_name(call.func) == "argmax":
        return True
    parent = source.parents.get(call)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple):
        names = [unparse(name) for name in parent.targets[0].elts]
        return len(names) == 2 and names[1] != "_"  # `largest, _ = torch.max(out, 0)` is about the values
    if isinstance(parent, ast.Assign):
        return False
    if isinstance(parent, ast.Subscript):
        return unparse(parent.slice) == "1"
    return isinstance(parent, ast.Attribute) and parent.attr == "indices"


# `torch.zeros((classes, *shape))`: a map for each class, of one picture
_CLASSES_FIRST = re.compile(
    r"(?i)(?:zeros|empty|full|ones)\([(\[]?(?:\w+\.)*\w*?(?:n_?)?(?:num_?)?(?:classes|class|cls|labels)\b"
)


def _filled_by_part(source: Script, scores: ast.expr) -> bool:
    """`logits[:, y : y + p, x : x + p] += out`: all but the first side is gone over in parts."""
    names = names_in(scores)
    return any(
        isinstance(n.ctx, ast.Store)
        and unparse(n.value) in names
        and isinstance(n.slice, ast.Tuple)
        and unparse(n.slice.elts[0]) in (":", "slice(None)", "...")
        for n in source.of(ast.Subscript)
    )


def _classes_first(source: Script, scores: ast.expr) -> bool:
    parts = [v for n in walk(scores) if isinstance(n, ast.Name) for v in flow(source).values(n, 2)]
    return any(isinstance(v, ast.Call) and _CLASSES_FIRST.search(unparse(v)) for v in parts)


def _of_one(source: Script, scores: ast.expr) -> bool:
    """Scores of one sample, or several scores of each: items, what is stacked or averaged."""
    values = [scores, *flow(source).values(scores, 3)]
    choices = [(v.body, v.orelse) if isinstance(v, ast.IfExp) else (v,) for v in values]
    # the first of what a Trainer hands over are the answers to all samples
    found = [c for pair in choices for c in pair if not unparse(c).endswith("predictions[0]")]
    return any(
        isinstance(v, (ast.Subscript, ast.List, ast.ListComp))
        or re.search(r"\[|squeeze\(0?\)|flatten|view\(-1|stack|vote|ensemble|mean\(|concat", unparse(v))
        for v in found
    )


def _statement(source: Script, node: ast.AST) -> list[ast.expr]:
    """What the value of a statement is assigned to."""
    around = next((p for p in source.above(node) if isinstance(p, ast.Assign)), None)
    return around.targets if around is not None else []


@probe()
def predicts_least_likely(view: View) -> Finding:
    """The predicted class is the one with the smallest score; right for distances, costs, negated scores."""
    return first(view, _least_likely, "the scripts predict no classes")


def _least_likely(source: Script) -> Finding | None:
    seen = None
    for call in source.named("argmax", "argmin", "topk"):
        inner = call.args[0] if call.args and source.owner(call) in ("torch", "np", "jnp", "ops") else None
        scores = unparse(inner).lower() if inner is not None else source.owner(call).lower()
        asked = inner if inner is not None else receiver(call)
        if not re.search(r"out|logit|pred|score|prob|model\(", scores) and not _of_classes(source, asked):
            continue
        seen = seen or call
        largest = keyword(call, "largest")
        least = last_name(call.func) == "argmin" or is_false(largest)
        if least and _picks(source, call):
            continue
        whole = re.sub(r"\[[^\[\]]*\]", "", scores)  # the minus of a place, `[:, -1]`, turns nothing round
        if least and not re.search(r"dist|cost|energ|loss|err|diff|abs|norm|-|neg|desc|sort|rank", whole):
            return at(source, call, "the class with the smallest score is taken for the prediction")
    return (
        ok(source, seen, "the class with the largest score is the prediction") if seen is not None else None
    )


def _of_classes(source: Script, node: ast.expr | None) -> bool:
    """`self(x)[:, -1]`: scores of a network that learns classes by cross-entropy."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call):
        return False
    itself = isinstance(node.func, ast.Name) and node.func.id == "self" and flow(source).called(node)
    if not itself and not asks_network(source, node) and node not in set(model_calls(source)):
        return False
    kinds = [kind.lower().replace("_", "") for _, kind in source.losses]
    return bool(kinds) and all("crossentropy" in kind for kind in kinds)


_CLASSES = re.compile(r"(?i)class|label|categor|name|vocab|idx_?to|id2|itos")


def _picks(source: Script, call: ast.Call) -> bool:
    """The place is chosen by a mode, or picks one thing of a list: `runs[scores.argmin()]` names no class."""
    for parent in source.above(call):
        if isinstance(parent, ast.Subscript):
            return _CLASSES.search(unparse(parent.value)) is None
        if isinstance(parent, ast.IfExp):
            return True
        if isinstance(parent, ast.stmt):
            break
    around = next((p for p in source.above(call) if isinstance(p, ast.If)), None)
    return around is not None and any(
        last_name(c.func) == "argmax" for s in (*around.body, *around.orelse) for c in of(s, ast.Call)
    )


@probe()
def evaluates_stale_copy(view: View) -> Finding:
    """Evaluation uses a copy of the model, or an average of its weights, that training never refreshes.

    Also one that is made anew after the training.
    """
    checks = either(
        _stale_copy,
        first_read_for_best,
        *(made_anew_for_evaluation, adapter_left_behind),
        fresh_network_kept,
        kept_at_one_epoch,
        early_epoch_read,
    )
    return first(view, checks, "the scripts copy no model")


_AVERAGE = re.compile(r"(?i)ema\b|^ema|averag|swa\b|polyak")
_REFRESHES = ("load_state_dict", "update", "update_parameters", "update_attr", "lerp_", "step", "register")


def _stale_copy(source: Script) -> Finding | None:
    loop = outer_loop(source)
    if loop is None:
        return None
    if (found := _average_left_alone(source)) is not None:
        return found
    seen = None
    for node in source.of(ast.Assign):
        if not isinstance(node.value, ast.Call):
            continue
        if node.lineno >= loop.lineno or not _copies(source, node.value) or source.loops_around(node):
            continue  # in a loop of its own it is made anew in each round
        name = unparse(node.targets[0])
        if re.search(
            r"(?i)(?:^|[._])(?:old|prev(?:ious)?|teacher|frozen|past)(?:_|$)|_(?:old|prev|t)$", name
        ):
            continue  # a state of the model that is held against what it becomes
        seen = seen or node
        if any(_same(name, source.owner(c)) for c in source.named(*_REFRESHES)):
            continue
        if any(loop in source.above(a) for a in _assignments(source, name)):
            continue
        used = {c for c in source.calls if _evaluates(c, name)}
        if used and not any(c not in used and c is not node.value and _gets(c, name) for c in source.calls):
            return at(source, node, "evaluation uses this copy, which is never refreshed")
    return ok(source, seen, "the copy of the model is refreshed") if seen is not None else None


_AVERAGES = re.compile(
    r"(?i)(?:^|_)(?:ema|averag\w*|shadow|swa|polyak)(?:_|$)|EMA|MovingAverage|AveragedModel"
)


def _average_left_alone(source: Script) -> Finding | None:
    """An average of weights is made by a class of the script, and nobody moves it on."""
    for name, owner in source.classes.items():
        if not _AVERAGES.search(name) or not source.named(name):
            continue
        if not any(c in walk(owner) for c in source.named("deepcopy", "clone", "state_dict")):
            continue
        moving = [f for f in owner.body if isinstance(f, ast.FunctionDef) and _moves_on(f)]
        if not moving or source.loose or any(f in source.forwards for f in moving):
            continue  # a layer that moves its own average on whenever it is called
        names = {f.name for f in moving}
        for _ in range(2):  # `update()` that calls `update_average()`
            names |= {
                f.name
                for f in owner.body
                if isinstance(f, ast.FunctionDef) and names & {last_name(c.func) for c in of(f, ast.Call)}
            }
        held = {unparse(t) for c in source.named(name) for t in _targets(source, c)}
        calls = [
            c
            for c in source.named(*names)
            if owner not in source.above(c) and _about_average(source.owner(c), held)
        ]
        handed = [
            n for n in source.of(ast.Attribute) if n.attr in names and _about_average(unparse(n.value), held)
        ]
        passed = [c for c in source.calls if owner not in source.above(c) and any(_gets(c, h) for h in held)]
        if held and not calls and not handed and not passed:
            return at(source, source.named(name)[0], "the average of the weights is made and never moved on")
        if calls:
            return ok(source, calls[0], "the average of the weights is moved on")
    return None


def _moves_on(function: ast.FunctionDef) -> bool:
    """A method that mixes the model's weights into the average."""
    if function.name.startswith("__") and function.name != "__call__":
        return False
    calls = {last_name(n.func) for n in of(function, ast.Call)}
    mixed = bool(calls & {"mul_", "lerp_", "lerp", "add_", "copy_"})
    return mixed and any(
        w in unparse(function).lower() for w in ("decay", "1 -", "1.0 -", "lerp", "momentum")
    )


def _targets(source: Script, call: ast.Call) -> list[ast.expr]:
    parent = source.parents.get(call)
    return parent.targets if isinstance(parent, ast.Assign) else []


def _about_average(owner: str, held: set[str]) -> bool:
    """The call is on what holds the average, under its own or another name: `self.ema`, `trainer.ema`."""
    last = {h.split(".")[-1] for h in held}
    return owner.split(".")[-1] in last


_SETTINGS = {"config", "configs", "cfg", "kwargs", "args", "settings", "options", "spec", "specs"}


def _copies(source: Script, value: ast.Call) -> bool:
    """`deepcopy(model)`, `AveragedModel(model)`, or a class of the script that holds such a copy."""
    if "model" not in unparse(value).lower() and "net" not in unparse(value).lower():
        return False
    given = argument(value, position=0)
    if isinstance(given, (ast.Name, ast.Attribute)) and _SETTINGS & set(words(last_name(given))):
        return False  # `deepcopy(net_config)`: what the model is made of
    name = last_name(value.func)
    if name == "deepcopy" or (name[:1].isupper() and bool(_AVERAGE.search(name)) and bool(value.args)):
        return True
    own = source.classes.get(name)
    return own is not None and any(c in walk(own) for c in source.named("deepcopy"))


def _same(name: str, owner: str) -> bool:
    """`ema`, `ema.ema`, `self.ema.module`."""
    return owner == name or owner.startswith(name + ".")


def _gets(call: ast.Call, name: str) -> bool:
    return any(_same(name, unparse(a)) for a in all_arguments(call))


def _evaluates(call: ast.Call, name: str) -> bool:
    """The copy is called on data, or handed to a function that evaluates by its name."""
    if _same(name, unparse(call.func)) and bool(call.args):
        return last_name(call.func) in (name.rsplit(".", 1)[-1], "ema", "module", "model", "shadow")
    return _gets(call, name) and any(
        w in last_name(call.func).lower() for w in ("eval", "val", "test", "predict")
    )


def _assignments(source: Script, name: str) -> list[ast.Assign]:
    found = source.of(ast.Assign)
    return [n for n in found if any(unparse(t) == name for t in n.targets)]
