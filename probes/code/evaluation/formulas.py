"""Formulas of metrics in scripts: what a figure is called against how it is computed, and of what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.factors import without_floor
from ..shared.nodes import whole_number
from .reduced import mean_summed, reduced_in_part


def formula_wrong(source: Script) -> Finding | None:
    """A metric is not what its name says, or compares what nobody would compare."""
    for look in (
        _f1_without_twos,
        _discount_of_other_base,
        _peak_of_bytes,
        _against_inputs,
        _scores_of_inputs,
    ):
        if (found := look(source)) is not None:
            return found
    return None


def _f1_without_twos(source: Script) -> Finding | None:
    """`f1 = tp / (tp + fp + fn)` is the overlap (Jaccard); F1 counts hits twice."""
    for node in of(source.tree, ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        below = without_floor(node.right)
        terms = sorted(unparse(t) for t in _terms(below))
        above = unparse(node.left)
        if len(terms) != 3 or above not in terms or not re.fullmatch(r"(?i)\w*(?:tp|true_pos\w*)\w*", above):
            continue
        if not any(re.search(r"(?i)fp|false_pos", t) for t in terms):
            continue
        if not any(re.search(r"(?i)fn|false_neg", t) for t in terms):
            continue
        if re.search(r"(?i)f1|dice|f_?score", _called(source, node)):
            return at(source, node, "this is the overlap of both, not F1, which counts hits twice")
    return None


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _terms(node.left)
        yield from _terms(node.right)
    elif not isinstance(node, ast.Constant):
        yield node


def _called(source: Script, node: ast.AST) -> str:
    """What the result is called: the name it is given, the list it is put into, its function."""
    names = [source.function_name(node)]
    for parent in source.above(node):
        if isinstance(parent, ast.Assign):
            names += [unparse(t) for t in parent.targets]
        elif isinstance(parent, ast.Call) and last_name(parent.func) in ("append", "log"):
            names.append(unparse(parent.func))
        elif isinstance(parent, ast.keyword) and parent.arg:
            names.append(parent.arg)
        if isinstance(parent, ast.stmt):
            break
    return " ".join(names)


def _discount_of_other_base(source: Script) -> Finding | None:
    """The discount of a (normalised) cumulative gain is a logarithm of base 2."""
    for call in source.named("log", "log10", "log1p"):
        if not re.search(r"(?i)n?dcg", f"{source.function_name(call)} {_called(source, call)}"):
            if not re.search(r"(?i)ndcg", unparse(source.function_around(call) or call)):
                continue
        parent = source.parents.get(call)
        given = unparse(call.args[0]) if call.args else ""
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and parent.right is call:
            if re.search(r"log\(2(?:\.0)?\)", unparse(parent.left)):
                continue  # the base is changed by hand
            if re.search(r"(?i)rank|pos|arange|\bi\b|\bk\b|idx", given) and len(call.args) == 1:
                return at(source, call, "the discount of this gain is no logarithm of base 2")
    return None


def _peak_of_bytes(source: Script) -> Finding | None:
    """PSNR with a peak of 255 of images that its own function holds between 0 and 1."""
    for function in of(source.tree, ast.FunctionDef):
        if "psnr" not in function.name.lower():
            continue
        text = unparse(function)
        unit = re.search(
            r"clamp\(0(?:\.0)?, 1(?:\.0)?\)|clip\(\w+, 0(?:\.0)?, 1(?:\.0)?\)|clip\(0, 1\)", text
        )
        peak = next((n for n in of(function, ast.Constant) if n.value in (255, 255.0)), None)
        if unit and peak is not None and not re.search(r"\* 255|/ 255", text):
            return at(source, peak, "the peak is that of bytes, and images lie between 0 and 1 here")
    return None


# ------------------------------------------------------------------------------------- of inputs, not outputs

_SCORES = re.compile(
    r"(?i)^(?:\w+_)?(?:psnr|ssim|mae|mse|rmse|l1|iou|dice|accuracy|acc|metric|score)s?(?:_\w+)?$"
)


def _against_inputs(source: Script) -> Finding | None:
    """Predicted classes are compared with what the model was given: `z.argmax(-1) == x`, `z = model(x)`."""
    for function in of(source.tree, ast.FunctionDef):
        for name, given in _predictions(function):
            for node in of(function, ast.Compare):
                if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq) or node.lineno < given.lineno:
                    continue
                sides = (node.left, node.comparators[0])
                for one, other in (sides, sides[::-1]):
                    chosen = isinstance(one, ast.Call) and last_name(one.func) in ("argmax", "argmin")
                    about = {n.id for n in walk(one) if isinstance(n, ast.Name)}
                    if chosen and name in about and unparse(other) in _inputs(given):
                        return at(source, node, "predictions are compared with the inputs of the model")
    return None


def _predictions(function: Function) -> Iterator[tuple[str, ast.Call]]:
    """`z = model(x)`, `z = self(x)` -> ("z", the call), where x is a plain name."""
    for node in of(function, ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and isinstance(value, ast.Call):
            if re.search(
                r"(?i)^(?:self|self\.)?_?(?:\w*model\w*|\w*net\w*|self|s|m|module)$", unparse(value.func)
            ):
                yield target.id, value


def _inputs(call: ast.Call) -> set[str]:
    return {a.id for a in call.args if isinstance(a, ast.Name)}


def _scores_of_inputs(source: Script) -> Finding | None:
    """A metric is taken between inputs and targets, while the loss beside it takes predictions and targets.

    `db += psnr(noisy, clean)` where `loss += criterion(pred, clean)` and `pred = net(noisy)`.
    """
    for function in of(source.tree, ast.FunctionDef):
        for name, given in _predictions(function):
            inputs = _inputs(given)
            pairs = [
                (c, [unparse(a) for a in c.args[:2]])
                for c in of(function, ast.Call)
                if len(c.args) >= 2 and c.lineno > given.lineno
            ]
            targets = {
                two for _, (one, two) in pairs if one == name and two not in inputs and two.isidentifier()
            }
            scored = [c for c, (one, _) in pairs if one == name and _SCORES.match(last_name(c.func))]
            for call, (one, two) in pairs:
                if one in inputs and two in targets and _SCORES.match(last_name(call.func)) and not scored:
                    return at(
                        source,
                        call,
                        "the inputs are scored against the targets, not what the model made of them",
                    )
    return None


# ------------------------------------------------------------------------------- sums of several processes


def reduced_unlike(source: Script) -> Finding | None:
    """A sum and its count are put together over processes in different ways, or one of them is not.

    `reduce(nll, "mean"), reduce(count, "sum")`; `all_reduce(sums[:2])`, after which `sums[2]` is the divisor.
    """
    if (found := reduced_in_part(source) or mean_summed(source)) is not None:
        return found
    for statement in of(source.tree, ast.Assign):
        parts = statement.value.elts if isinstance(statement.value, ast.Tuple) else []
        hows = [_how(p) for p in parts]
        if len(parts) == 2 and None not in hows and hows[0] != hows[1]:
            names = unparse(statement.targets[0])
            if re.search(r"(?i)count|total|\bn\b|num|size|tokens", names):
                return at(
                    source, statement, "a sum and its count are put together over processes in two ways"
                )
    for call in source.named("all_reduce"):
        given = argument(call, position=0)
        if not (isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice)):
            continue
        upper, name = whole_number(given.slice.upper), unparse(given.value)
        if upper is None or upper < 0 or given.slice.lower is not None:
            continue
        around = source.function_around(call) or source.tree
        for node in of(around, ast.Subscript):
            one = whole_number(node.slice)
            if unparse(node.value) == name and one is not None:
                if one >= upper and node.lineno > call.lineno:
                    return at(source, call, f"{unparse(node)} is that of one process, the others are of all")
    return None


def _how(node: ast.expr) -> str | None:
    """ "sum" or "mean" of `accelerator.reduce(x, "sum")`."""
    if not (isinstance(node, ast.Call) and last_name(node.func) == "reduce"):
        return None
    how = argument(node, "reduction", position=1)
    return how.value if isinstance(how, ast.Constant) and isinstance(how.value, str) else None


# --------------------------------------------------------------------------------------- another unit


def half_converted(source: Script) -> Finding | None:
    """One side of a metric is brought back to its own unit, and the other one, of the same scale, is not.

    `loss(pred, true)` holds both on one scale; then `errors(self.to_units(pred), true)`.
    """
    for function in of(source.tree, ast.FunctionDef):
        for statement in of(function, ast.Assign):
            target, value = statement.targets[0], statement.value
            if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
                continue
            if len(target.elts) != 2 or len(value.elts) != 2:
                continue
            one, other = value.elts
            for turned, plain in ((one, other), (other, one)):
                if not (
                    isinstance(turned, ast.Call) and isinstance(plain, ast.Name) and len(turned.args) == 1
                ):
                    continue
                if (
                    _turns_back(source, turned)
                    and _are_a_pair(target)
                    and isinstance(turned.args[0], ast.Name)
                ):
                    return at(
                        source, statement, "one of the two is brought back to its own unit, the other is not"
                    )
    return None


def _are_a_pair(target: ast.Tuple) -> bool:
    """Predictions and truth, by their names."""
    names = " ".join(unparse(t).lower() for t in target.elts)
    return bool(
        re.search(r"pred|hat|output|est", names) and re.search(r"true|target|real|label|\by|gt|actual", names)
    )


def _turns_back(source: Script, call: ast.Call) -> bool:
    """The function undoes a scaling: by its name, or by what the program's own function does."""
    name = last_name(call.func)
    if re.search(r"(?i)inverse|denorm|unscale|unnorm|expm1|destandard|restore", name):
        return True
    return any(
        re.search(r"expm1|exp\(|inverse_transform|\* self\.\w*std", unparse(f))
        for f in flow(source).called(call)
    )


_HIGHER = re.compile(
    r"(?i)^(?:\w+_)?(?:psnr|ssim|ms_ssim|accuracy|iou|dice_(?:score|coef\w*)|f1(?:_score)?|snr|si_sdr|sisdr)$"
)


def score_minimised(source: Script) -> Finding | None:
    """What is minimised is a score of which more is better, with no minus and nothing it is taken off."""
    for call in source.backwards:
        owner = receiver(call)
        for _ in range(6):
            if isinstance(owner, ast.Call) and last_name(owner.func) == "scale" and owner.args:
                owner = owner.args[0]
            elif isinstance(owner, ast.Call) and last_name(owner.func) in (
                "mean",
                "sum",
                "squeeze",
                "backward",
            ):
                owner = receiver(owner)
            elif isinstance(owner, ast.Name) and (found := flow(source).given(owner)) is not None:
                owner = found.value if not found.places else None
            else:
                break
        if isinstance(owner, ast.Call) and _HIGHER.match(last_name(owner.func)):
            made = flow(source).called(owner)
            if made and not any(
                re.search(r"return -|return 1(?:\.0)? -|-10|- ?20", unparse(f)) for f in made
            ):
                return at(source, owner, "more of this score is better, and it is minimised")
    return None
