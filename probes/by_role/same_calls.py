"""Calls that both programs make, with other arguments; logarithms and roots that one of them takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..readers._tree import of, walk
from ..readers.script import argument, keyword, last_name
from .side import Side, Told


@dataclass(frozen=True)
class _Shared:
    """A function of a library: its names, arguments by place ("" is not asked), defaults, kind of edit."""

    names: tuple[str, ...]
    order: tuple[str, ...]
    defaults: dict[str, object]
    kind: str


_SHARED = (
    _Shared(("RandomResizedCrop",), ("size", "scale"), {"scale": (0.08, 1.0)}, "augmentation-strength"),
    _Shared(("RandomErasing",), ("p", "scale"), {"p": 0.5, "scale": (0.02, 0.33)}, "augmentation-strength"),
    _Shared(
        ("melspectrogram",),
        (),
        {"sr": 22050, "n_fft": 2048, "hop_length": 512, "n_mels": 128},
        "preprocessing",
    ),
    _Shared(
        ("MelSpectrogram",),
        ("sample_rate", "n_fft"),
        {"sample_rate": 16000, "n_fft": 400, "n_mels": 128},
        "preprocessing",
    ),
    _Shared(("MFCC",), ("sample_rate", "n_mfcc"), {"sample_rate": 16000, "n_mfcc": 40}, "preprocessing"),
    _Shared(
        ("ReduceLROnPlateau",),
        ("", "", "factor", "patience"),
        {"factor": 0.1, "patience": 10, "min_lr": 0},
        "schedule-length",
    ),
    _Shared(("HuberLoss", "huber_loss", "Huber"), (), {"delta": 1.0}, "loss-function"),
    _Shared(
        ("kaiming_normal_", "kaiming_uniform_", "kaiming_normal", "kaiming_uniform"),
        ("", "a", "mode"),
        {"mode": "fan_in"},
        "init",
    ),
)


def same_calls_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """One function of a library is called by both programs, with another value for one argument."""
    for shared in _SHARED:
        here, there = (s.calls(*shared.names) for s in (mine, theirs))
        if not here or not there:
            continue
        for name, default in shared.defaults.items():
            new, old = (_values(s, c, shared, name, default) for s, c in ((mine, here), (theirs, there)))
            if new is None or old is None or not _unlike(new, old):
                continue
            text = (
                f"{name} of {last_name(here[0].func)} is {_shown(new)} here, {_shown(old)} in the benchmark"
            )
            yield Told(shared.kind, text, mine.place(here[0]), theirs.place(there[0]))
            break


def _values(side: Side, calls: tuple[ast.Call, ...], shared: _Shared, name: str, default: object) -> object:
    """The one value that all calls give an argument; None where it is not known or not one."""
    found = []
    for call in calls:
        if any(isinstance(a, ast.Starred) for a in call.args) or None in {k.arg for k in call.keywords}:
            return None
        place = shared.order.index(name) if name in shared.order else None
        if last_name(call.func) == "ReduceLROnPlateau" and side.framework == "keras":
            place = {"factor": 1, "patience": 2}.get(name)
        node = argument(call, name, position=place)
        value = default if node is None else side.value(node)
        if value is None:
            return None
        found.append(tuple(value) if isinstance(value, list) else value)
    return found[0] if found and all(v == found[0] for v in found) else None


def _unlike(new: object, old: object) -> bool:
    if isinstance(new, tuple) != isinstance(old, tuple) or isinstance(new, str) != isinstance(old, str):
        return False
    ours, others = (v if isinstance(v, tuple) else (v,) for v in (new, old))
    return len(ours) == len(others) and ours != others


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# ------------------------------------------------------------------------------------ logarithms and roots

_READS = re.compile(r"^(?:read_\w+|load|loadtxt|genfromtxt|fetch_\w+|imread|open|load_dataset|memmap)$")
_LOGS = r"^(?:log1p|power_to_db|amplitude_to_db|AmplitudeToDB)$"
_ANY_LOG = (
    r"(?i)log1p|log10|log2|_to_db$|ToDB$|expm1|^Log$|logmel|log_mel|FunctionTransformer|PowerTransformer"
)
_LIBRARY = ("np", "numpy", "math", "torch", "tf", "ops", "K", "jnp", "ms", "mnp", "F")


def logarithm_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark takes the logarithm of its data, and nothing here takes one; both read data so."""
    there = [c for c in theirs.matching(_LOGS) if _of_data(theirs, c)]
    if not there or mine.source.loose or mine.mentions(_ANY_LOG):
        return
    plain = [c for c in mine.calls("log") if isinstance(c.func, ast.Attribute)]
    if any(last_name(c.func.value) in _LIBRARY for c in plain if isinstance(c.func, ast.Attribute)):
        return
    reads = [
        {last_name(c.func) for c in s.source.calls if _READS.match(last_name(c.func))} for s in (mine, theirs)
    ]
    if not reads[0] & reads[1]:
        return  # what is read may hold logarithms
    text = (
        f"the benchmark takes a logarithm of its data (`{last_name(there[0].func)}`), and nothing here does"
    )
    yield Told("preprocessing", text, None, theirs.place(there[0]))


def _of_data(side: Side, call: ast.Call) -> bool:
    """Whether a logarithm stands where data are made, not in a model, a loss or a score."""
    owner, function = side.source.class_around(call), side.source.function_around(call)
    if owner is not None and not any(getattr(s, "name", "") == "__getitem__" for s in owner.body):
        bases = {last_name(b) for b in owner.bases}
        if bases or re.search(r"(?i)loss|metric|net|model", owner.name):
            return False
    name = getattr(function, "name", "")
    return re.search(r"(?i)loss|metric|score|eval|valid|accura|entropy|forward|construct", name) is None


_ROOTS = r"(?i)sqrt|^RootMean|root_mean|^norm$|^std$|^rmse"


def root_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark judges by the root of a mean of squares, and nothing here takes a root."""
    there = _root_of_mean(theirs)
    if there is None or mine.source.loose or mine.matching(_ROOTS) or _powers(mine, 0.5):
        return
    squared = _told_false(mine, "squared")
    squares = mine.matching(r"^square$|^mse_loss$|^MSELoss$|^mean_squared_error$|^MeanSquaredError$|^pow$")
    if squared or not (squares or _powers(mine, 2.0)):
        return
    text = "the benchmark judges by the root of the mean squared error, and nothing here takes a root"
    yield Told("metric", text, None, theirs.place(there))


def _told_false(side: Side, name: str) -> bool:
    """Whether a call is told `name=False`."""
    return any(side.value(w.value) is False for w in side.keywords.get(name, []))


def _powers(side: Side, power: float) -> bool:
    return any(
        isinstance(n.op, ast.Pow) and side.number(n.right) in (power, -power)
        for n in side.source.of(ast.BinOp)
    )


def _root_of_mean(side: Side) -> ast.AST | None:
    """`torch.cat(squares).mean().sqrt()`, `np.sqrt(np.mean(e ** 2))`, `math.sqrt(total / n)` of a score."""
    for call in side.matching(r"^sqrt$"):
        under = call.args[0] if call.args else getattr(call.func, "value", call)
        names = {last_name(c.func) for c in of(under, ast.Call)}
        function = side.source.function_around(call)
        judged = re.search(r"(?i)eval|valid|test|score|metric|rmse", getattr(function, "name", ""))
        if names & {"mean", "mean_squared_error"} and (judged or "mean_squared_error" in names):
            if not any(isinstance(n, ast.Name) and re.search(r"(?i)dim|head", n.id) for n in walk(under)):
                return call
    return None


def strata_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """Rows are parted within each class in the benchmark, and whatever their class here."""
    here, there = (s.calls("train_test_split") for s in (mine, theirs))
    if not here or not there or any(keyword(c, "stratify") is not None for c in here):
        return
    with_classes = [
        c for c in there if (w := keyword(c, "stratify")) is not None and not isinstance(w, ast.Constant)
    ]
    if len(with_classes) != len(there) or len(here) != len(there) or mine.mentions("(?i)strat|group"):
        return
    text = "rows are parted within each class in the benchmark, and whatever their class here"
    yield Told("split", text, mine.place(here[0]), theirs.place(there[0]))
