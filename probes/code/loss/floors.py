"""Logarithms, roots and quotients in scripts of what is zero for ordinary data, with nothing below them."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow, losses
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_own
from ..shared.sides import either
from .reaches_zero import reaches_zero

_POWERS = re.compile(
    r"(?i)^(?:\w+_)?(?:power|mel|mels|melspec|spec|spectrum|spectrogram|energy|magnitude|periodogram)s?$"
)
_FLOORED = re.compile(
    r"(?i)eps|clamp|clip|maximum|(?<!soft)max\(|floor|1e-|\+ 1\b|amin|log1p|tiny|finfo|nan_to_num|where"
)


@probe()
def zero_is_usual(view: View) -> Finding:
    """A logarithm of a power spectrum, a root of a squared difference, a norm without its epsilon.

    These meet zero in ordinary data (silence, equal pixels, empty patches), not only in broken ones.
    """
    return first(
        view,
        either(
            _log_of_power,
            _root_of_square,
            _norm_without_floor,
            _log_of_chance,
            reaches_zero,
            shows("log-of-nought"),
        ),
        "the scripts take no logarithms or roots of what may be zero",
    )


def _log_of_power(source: Script) -> Finding | None:
    """`np.log(power)`, `torch.log(mel)`: digital silence has no energy."""
    seen = None
    for call in source.named("log", "log10"):
        if is_own(source, call):
            continue
        given = call.args[0] if call.args else receiver(call)
        while isinstance(given, ast.Subscript):
            given = given.value
        if not isinstance(given, (ast.Name, ast.Attribute)) or not _POWERS.match(last_name(given)):
            continue
        seen = seen or call
        made = [v for v in flow(source).values(given, 3) if v is not given]
        floored = any(_FLOORED.search(unparse(v)) for v in made)
        squared = any(
            re.search(r"\*\* 2|pow\(2|square|abs\(|stft|matmul|@|einsum|power", unparse(v)) for v in made
        )
        if squared and not floored and not _FLOORED.search(_rest(source, call)):
            return at(source, call, "silence has no energy: its logarithm is minus infinity")
    return ok(source, seen, "logarithms of energies have a floor") if seen is not None else None


def _rest(source: Script, call: ast.Call) -> str:
    """The statement around a call, where a floor may be put on the result."""
    statement = source.statement(call)
    return unparse(statement) if statement is not None and not hasattr(statement, "body") else ""


def _root_of_square(source: Script) -> Finding | None:
    """`torch.sqrt((pred - target) ** 2)` in what is trained: the root of zero has no slope."""
    for call in source.named("sqrt"):
        given = call.args[0] if call.args else receiver(call)
        if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Pow):
            continue
        difference = isinstance(given.left, ast.BinOp) and isinstance(given.left.op, ast.Sub)
        tensors = unparse(call.func).startswith(("torch.", "tf.", "ops.", "mint.")) or not call.args
        if difference and unparse(given.right) in ("2", "2.0") and tensors and not _measures(source, call):
            return at(
                source, call, "where both are equal the root has an infinite slope, and the gradient is NaN"
            )
    return None


def _measures(source: Script, node: ast.AST) -> bool:
    """Nothing is trained by it."""
    function = source.function_around(node)
    if function is None or re.search(r"(?i)eval|valid|test|metric|rmse|score|plot|predict", function.name):
        return True
    return "no_grad" in unparse(function)


def _norm_without_floor(source: Script) -> Finding | None:
    """`x * torch.rsqrt((x * x).mean(-1, keepdim=True))`: an empty patch has no spread."""
    for function in source.passes:
        for call in of(function, ast.Call):
            if last_name(call.func) != "rsqrt":
                continue
            given = call.args[0] if call.args else receiver(call)
            text = unparse(given) if given is not None else ""
            if re.fullmatch(
                r"\(?(?:\((\w+) \* \1\)|(\w+)\.pow\(2\)|\(?(\w+) \*\* 2\)?|\w+\.square\(\)).*mean\(.*\)", text
            ):
                if not _FLOORED.search(text):
                    return at(
                        source, call, "the mean square of an empty patch is zero, and nothing is below it"
                    )
    return None


def _log_of_chance(source: Script) -> Finding | None:
    """The logarithm of a softmax or sigmoid, in a loss that is written out: both underflow to zero."""
    for call in source.named("log"):
        if is_own(source, call):
            continue
        given = call.args[0] if call.args else receiver(call)
        if given is None or _FLOORED.search(unparse(given)):
            continue
        if (
            isinstance(given, ast.BinOp)
            and isinstance(given.op, ast.Sub)
            and unparse(given.left) in ("1", "1.0")
        ):
            given = given.right
        made = given
        if (
            isinstance(given, ast.Name)
            and (found := flow(source).given(given)) is not None
            and not found.places
        ):
            made = found.value
        squashes = isinstance(made, ast.Call) and last_name(made.func) in ("softmax", "sigmoid")
        if not squashes or not _in_loss(source, call, unparse(given)):
            continue
        return at(source, call, "a probability that underflows has a logarithm of minus infinity")
    return None


def _in_loss(source: Script, call: ast.Call, chance: str) -> bool:
    """It goes into `nll_loss`, or is multiplied by targets; `p * log(p)` is an entropy."""
    statement = source.statement(call)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        name, here = statement.targets[0].id, source.function_around(call)
        for loss, kind in losses(source):
            if kind in ("nllloss", "nll_loss") and source.function_around(loss) is here and loss.args:
                if any(n.id == name for n in of(loss.args[0], ast.Name)):
                    return True
    for parent in source.above(call):
        if isinstance(parent, ast.Call) and last_name(parent.func) in ("nll_loss", "NLLLoss"):
            return True
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult):
            other = parent.left if any(n is call for n in walk(parent.right)) else parent.right
            text = unparse(other)
            return (
                chance not in text
                and re.search(r"(?i)target|label|tags|\by\w*\b|truth|onehot|one_hot", text) is not None
            )
        if isinstance(parent, ast.stmt):
            break
    return False
