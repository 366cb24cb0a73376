"""What metrics in scripts compare: raw scores, ignored positions, unlike units, another order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_bound, names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ...side_chains.chains import NEUTRAL
from ...side_chains.machine import LIBRARIES
from ..shared.checks import at, ok
from ..shared.roles import is_random, model_calls
from ..shared.sides import literal


def threshold_on_scores(source: Script) -> Finding | None:
    """`model(x) > 0.5` where the loss takes raw scores and nothing turns them into probabilities."""
    logits = any("withlogits" in k or "with_logits" in k for _, k in source.losses) or bool(
        source.named(
            "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits"
        )
    )
    if not logits:
        return None
    calls = set(model_calls(source)) | {c for c in source.calls if _runs_itself(source, c)}
    seen: ast.AST | None = None
    for node in source.of(ast.Compare):
        if not (len(node.ops) == 1 and isinstance(node.ops[0], (ast.Gt, ast.GtE))):
            continue
        limit = literal(source, node.comparators[0])
        if limit is None and isinstance(node.comparators[0], ast.Name):
            limit = _by_default(source, node.comparators[0])
        if isinstance(limit, bool) or not isinstance(limit, float) or not 0.0 < limit < 1.0:
            continue
        value: ast.expr = node.left
        for _ in range(8):
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value not in calls:
                if last_name(value.func) not in NEUTRAL:
                    break
                owner = value.func.value
                library = isinstance(owner, ast.Name) and owner.id in LIBRARIES
                value = value.args[0] if library and value.args else owner
            elif isinstance(value, ast.Name):
                found = flow(source).whole_given(value)
                if found is None:
                    break
                value = found
            else:
                break
        made = unparse(value).lower()
        if "sigmoid" in made or "softmax" in made:
            seen = seen or node
        named = isinstance(value, ast.Name) and re.fullmatch(r"(?i)(?:\w+_)?logits?", value.id) is not None
        if (value in calls or named) and not _ends_in_sigmoid(source):
            return at(source, node, "a threshold for probabilities is held against raw scores")
    return ok(source, seen, "probabilities are held against the threshold") if seen is not None else None


def _by_default(source: Script, name: ast.Name) -> object:
    """The number that a parameter is by default, where no call gives it another."""
    function = source.function_around(name)
    if function is None:
        return None
    places = [a.arg for a in function.args.args]
    defaults = dict(zip(places[::-1], function.args.defaults[::-1], strict=False))
    told = defaults.get(name.id)
    if not isinstance(told, ast.Constant) or name.id not in places:
        return None
    for call in flow(source).calls_of(function):
        if keyword(call, name.id) is not None or len(call.args) > places.index(name.id):
            return None
    return told.value


def compared_with_itself(source: Script) -> Finding | None:
    """`decode(ids) == decode(ids)`: both sides are the same, and all answers count as right.

    A plain name is left aside: `x == x` asks whether it is a number.
    """
    for node in source.of(ast.Compare):
        if same_on_both_sides(node) and of(node.left, ast.Call):
            if not any(is_random(c) or last_name(c.func) == "next" for c in of(node.left, ast.Call)):
                return at(source, node, "what is compared are two times the same: all answers count as right")
    return None


def same_on_both_sides(test: ast.Compare) -> bool:
    """Both sides of `==` are written alike."""
    equal = len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)
    return equal and unparse(test.left) == unparse(test.comparators[0])


def _runs_itself(source: Script, call: ast.Call) -> bool:
    """`self(x)` of a module that trains itself, as Lightning's do."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "self"):
        return False
    owner = source.class_around(call)
    return owner is not None and any(
        isinstance(f, ast.FunctionDef) and f.name == "training_step" for f in owner.body
    )


def _ends_in_sigmoid(source: Script) -> bool:
    """Some network returns probabilities, or holds a layer that makes them."""
    returned = " ".join(unparse(v) for f in source.forwards for v in source.output_of(f))
    return re.search(r"(?i)sigmoid|softmax", returned) is not None or bool(
        source.named("Sigmoid", "Softmax", "LogSoftmax")
    )


def _of_trainer(function: ast.FunctionDef) -> bool:
    """As the Hugging Face Trainer calls it, predictions and labels in one: not `(metric, preds, labels)`."""
    return len([a for a in function.args.args if a.arg != "self"]) - len(function.args.defaults) == 1


def ignored_counts(source: Script) -> Finding | None:
    """Labels of a token classifier hold -100, and the metric does not leave those out."""
    tokens = source.named("DataCollatorForTokenClassification") or "ForTokenClassification" in source.code
    functions = [n for n in source.of(ast.FunctionDef) if n.name == "compute_metrics" and _of_trainer(n)]
    if not tokens or not functions:
        return None
    for function in functions:
        text = unparse(function)
        helpers = [f for c in of(function, ast.Call) for f in flow(source).called(c)]
        text += " ".join(map(unparse, helpers))
        if not re.search(r"-100|ignore|mask|pad|>= 0|!= -|special", text):
            return at(source, function, "positions without a label (-100) count in this metric")
        if (whole := _shares_of_all(function)) is not None:
            return at(source, whole, "positions without a label (-100) count in this share")
    return ok(source, functions[0], "positions without a label are left out of the metric")


def _shares_of_all(function: ast.FunctionDef) -> ast.AST | None:
    """`(guess == gold).mean()` of what is handed in as it is, where other figures leave out -100."""
    given = names_bound(function)
    times = dict.fromkeys(given, 0)
    for node in of(function, ast.Name):
        if isinstance(node.ctx, ast.Store):
            times[node.id] += 1
    handed = {a.arg for a in function.args.args}
    unpacked = {
        n.id
        for s in of(function, ast.Assign)
        if names_in(s.value) <= handed and not of(s.value, ast.Call)
        for t in s.targets
        for n in of(t, ast.Name)
        if times[n.id] == 1
    }
    for call in of(function, ast.Call):
        about = receiver(call)
        if last_name(call.func) != "mean":
            continue
        if isinstance(about, ast.Name) and about.id in ("np", "numpy", "torch"):
            about = argument(call, position=0)
        if isinstance(about, ast.Compare) and isinstance(about.ops[0], ast.Eq):
            ends = [about.left, *about.comparators]
            if any(isinstance(e, ast.Name) and e.id in unpacked for e in ends) and len(call.args) <= 1:
                return call
    return None


_CONVERTS = re.compile(
    r"(?i)^(?:inverse|expm1$|exp$|denorm|unnorm|de_norm|un_norm|unscale|rescale|inv_|back|to_(?:raw|orig|unit|real))"
)
_PLAIN = ("to_numpy", "to_list", "to_device", "to_tensor", "to_dense", "to_local")


def one_side_converted(source: Script) -> Finding | None:
    """`back(pred) - true`, where the loss compares `pred` and `true` as they are."""
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        if takes_gradients(source, function):
            continue
        raw = {
            tuple(map(unparse, c.args[:2]))
            for c in of(function, ast.Call)
            if len(c.args) >= 2 and re.search(r"(?i)crit|loss", last_name(c.func))
        }
        for node in of(function, ast.BinOp):
            if not isinstance(node.op, ast.Sub):
                continue
            ends = [_converted(source, s) for s in (node.left, node.right)]
            if not ends[0][0] and not ends[1][0]:
                continue
            pair = (ends[0][1], ends[1][1])
            if pair in raw or pair[::-1] in raw:
                seen = seen or node
                if ends[0][0] != ends[1][0]:
                    return at(source, node, "only one of prediction and target is turned back to its unit")
    return ok(source, seen, "prediction and target are turned back alike") if seen is not None else None


def _converted(source: Script, node: ast.expr) -> tuple[str, str]:
    """What turns a value back to its unit, and what it is turned back from."""
    for _ in range(4):
        if isinstance(node, ast.Name):
            found = flow(source).given(node)
            if found is None or found.places or not isinstance(found.value, (ast.Name, ast.Call)):
                break
            if isinstance(found.value, ast.Call) and not _CONVERTS.match(last_name(found.value.func)):
                break
            node = found.value
        elif isinstance(node, ast.Call) and node.args and _CONVERTS.match(last_name(node.func)):
            name = last_name(node.func)
            if name in _PLAIN:
                break
            return name, unparse(node.args[0])
        else:
            break
    return "", unparse(node)


def other_order(source: Script) -> Finding | None:
    """Predictions on shuffled data are compared with labels in another order."""
    seen: ast.AST | None = None
    for call in source.calls:
        name = last_name(call.func)
        if not re.match(r"predict|infer|get_pred", name) or not call.args:
            continue
        mine = flow(source).called(call)
        if mine and not all(_gives_predictions_alone(f) for f in mine):
            continue
        seen = seen or call
        if any(_shuffled(source, a) for a in call.args) and _compared(source, call):
            return at(source, call, "predictions in shuffled order are compared with labels in their own")
    return ok(source, seen, "predictions come in the order of the labels") if seen is not None else None


def _gives_predictions_alone(function: Function) -> bool:
    """The loop over the loader throws the labels away."""
    loops = [n for n in of(function, ast.For) if isinstance(n.target, ast.Tuple)]
    text = unparse(function)
    return any(
        isinstance(e, ast.Name) and (e.id.startswith("_") or len(re.findall(rf"\b{e.id}\b", text)) == 1)
        for x in loops
        for e in x.target.elts[1:]  # type: ignore[attr-defined]
    )


# what shuffles samples and labels together, and what shuffles them for its own rounds
_AT_ONCE = re.compile(r"(?i)fit|split|fold")


def _shuffled(source: Script, node: ast.expr) -> bool:
    for value in [node, *flow(source).values(node, 4)]:
        if not isinstance(value, ast.Call):
            continue
        if literal(source, keyword(value, "shuffle")) is True and not _AT_ONCE.search(last_name(value.func)):
            return True
        maker = source.function_around(value)
        if (
            maker is not None
            and maker is not source.function_around(node)
            and _shuffles_always(source, maker)
        ):
            return True
        for function in flow(source).called(value):
            flags = _true_flags(source, function, value)
            for test in of(function, ast.If):
                if isinstance(test.test, ast.Name) and test.test.id in flags:
                    if any(last_name(c.func) == "shuffle" for c in of(test, ast.Call)):
                        return True
    return isinstance(node, ast.Call) and any(last_name(c.func) == "shuffle" for c in of(node, ast.Call))


def _shuffles_always(source: Script, function: Function) -> bool:
    """`ds = ds.shuffle(1000)` of a pipeline that a function gives, on no condition."""
    for call in of(function, ast.Call):
        data = isinstance(call.func, ast.Attribute) and not re.match(
            r"(?:np\.)?random|rng|self", source.owner(call)
        )
        if (
            data
            and last_name(call.func) == "shuffle"
            and isinstance(source.parents.get(call), (ast.Assign, ast.Attribute, ast.Return))
        ):
            around = [p for p in source.above(call) if isinstance(p, (ast.If, ast.IfExp))]
            if not any(p in set(of(function, ast.If, ast.IfExp)) for p in around):
                return True
    return False


def _true_flags(source: Script, function: Function, call: ast.Call) -> set[str]:
    names = [a.arg for a in function.args.args]
    given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    return {n for n, v in given.items() if literal(source, v) is True}


def _compared(source: Script, call: ast.Call) -> bool:
    """The predictions meet other values in a metric's call or a comparison."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.Call) and len(parent.args) > 1:
        return True
    statement = next((p for p in source.above(call) if isinstance(p, ast.Assign)), None)
    if statement is None or not isinstance(statement.targets[0], ast.Name):
        return False
    names = {statement.targets[0].id}
    for node in source.of(ast.Assign):
        if isinstance(node.targets[0], ast.Name) and node.lineno > call.lineno:
            if any(n.id in names for n in of(node.value, ast.Name)):
                names.add(node.targets[0].id)
    scores = [c for c in source.calls if c.lineno > call.lineno and len(c.args) > 1]
    for test in source.of(ast.Compare):
        sides = (test.left, test.comparators[0])
        if test.lineno > call.lineno and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            if all(isinstance(s, ast.Name) for s in sides) and len(names & {unparse(s) for s in sides}) == 1:
                return True
    return any(
        re.search(r"score|report|f1|acc|error|matrix|auc|loss", last_name(c.func))
        and any(isinstance(a, ast.Name) and a.id in names for a in c.args)
        for c in scores
    )


_SCORES = re.compile(
    r"(?i)^(?:update|update_state|\w*acc(?:uracy)?(?:_score|_fn|_metric)?|\w*f1(?:_score)?|\w*(?:precision|recall|iou|auroc|kappa|metric)"
    r"(?:_score|_fn)?)$"
)


def held_against_itself(source: Script) -> Finding | None:
    """`accuracy(out, out.argmax(-1))`, `pred == out.argmax(1)` of `pred = out.argmax(1)`: no label in it."""
    seen: ast.AST | None = None
    mine = flow(source)
    for node in source.of(ast.Compare, ast.Call):
        if isinstance(node, ast.Compare):
            if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
                continue
            sides = [node.left, node.comparators[0]]
        else:
            if not _SCORES.match(last_name(node.func)) or len(node.args) != 2:
                continue
            sides = list(node.args)
        if any(isinstance(s, ast.Constant) for s in sides):
            continue
        if not any(last_name(c.func) == "argmax" for s in sides for c in of(s, ast.Call)):
            continue
        seen = seen or node
        one, other = (set(_made_of(mine, s)) for s in sides)
        if one and one == other and len(one) == 1 and not re.search(r"(?i)label|target|truth|^y", min(one)):
            return at(source, node, f"{min(one)} is held against itself: no label takes part")
    return ok(source, seen, "predictions are held against labels") if seen is not None else None


def _made_of(mine: Flow, value: ast.expr) -> Iterator[str]:
    """The values that an expression is made of, by name or place, one step of assignment looked through."""
    for name in of(value, ast.Name):
        if name.id in _NO_VALUES:
            continue
        inner = mine.whole_given(name)
        if isinstance(inner, ast.Call) and last_name(inner.func) == "argmax":
            yield from (_place(mine, n) for n in of(inner, ast.Name) if n.id not in _NO_VALUES)
        else:
            yield _place(mine, name)


_NO_VALUES = ("self", "torch", "tf", "np", "ops", "F", "int", "float")


def _place(mine: Flow, name: ast.Name) -> str:
    """`p.label_ids`, `batch["y"]`: all that a name is asked for, but for methods called on it."""
    node: ast.AST = name
    parents = mine.source.parents
    while True:
        above = parents.get(node)
        call = parents.get(above) if above is not None else None
        method = isinstance(call, ast.Call) and call.func is above
        if isinstance(above, (ast.Attribute, ast.Subscript)) and above.value is node and not method:
            node = above
        else:
            return unparse(node)
