"""Columns of shape (batch, 1) and rows of shape (batch,): where a rehearsal knows which an array is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..script_diff.vocabulary import word_set
from .values import Net, Series, Tensor

if TYPE_CHECKING:
    from .machine import Machine

COLUMN, ROW = "column", "row"
# functions and layers that keep the shape of their only array
_KEEP = word_set(
    "to cuda cpu npu float double half contiguous clone copy detach numpy asnumpy astype type as_tensor "
    "from_numpy tensor asarray array requires_grad_ pin_memory long int float32 convert_to_tensor Tensor "
    "FloatTensor LongTensor bfloat16 type_as cast bool ascontiguousarray float64 int64 int32 identity exp "
    "log log1p sqrt abs square sigmoid tanh relu softplus clamp clip clamp_min clamp_max round sign neg "
    "log10 log2 sin cos tan expm1 "
    "Sigmoid Tanh ReLU Softplus Identity Dropout LeakyReLU ELU GELU SiLU constant"
)
# losses of PyTorch that broadcast what they are given, with a warning at most
_BROADCASTS = re.compile(
    r"^(?:mse_loss|MSELoss|l1_loss|L1Loss|huber_loss|HuberLoss|smooth_l1_loss|SmoothL1Loss)$"
)
_FLAT = frozenset(("squeeze", "flatten", "ravel", "reshape", "view"))
_RAISED = frozenset(("unsqueeze", "expand_dims", "reshape", "view"))


def form_of(held: Any) -> str:
    """What an array is known to be: "column", "row", or ""."""
    return ROW if isinstance(held, Series) and not held.scalar else getattr(held, "form", "")


def after(name: str, given: list[Any], named: dict[str, Any]) -> str:
    """What a function of one array gives; `given` begins with the array."""
    form = form_of(given[0]) if given else ""
    if not form or name in _KEEP:
        return form
    axes = [*given[1:], *(v for k, v in named.items() if k in ("dim", "axis", "shape"))]
    axes = [a for one in axes for a in (one if isinstance(one, (list, tuple)) else [one])]
    if name in _FLAT and (axes in ([], [-1]) or (name == "squeeze" and axes == [1])):
        return ROW if form == COLUMN or name in ("flatten", "ravel", "reshape", "view", "squeeze") else ""
    if name in _RAISED and axes in ([1], [-1], [-1, 1]):
        return COLUMN if form == ROW or axes == [-1, 1] else ""
    return ""


def of_part(held: Tensor, index: Any) -> str:
    """What stands between brackets behind an array: some of its rows, its one column, an axis more."""
    form = form_of(held)
    if form and isinstance(index, (slice, list, range, np.ndarray, Tensor)):
        return form if not (isinstance(index, Tensor) and index.scalar) else ""
    if isinstance(index, tuple) and len(index) == 2 and isinstance(index[0], slice):
        if index[1] is None and form == ROW:
            return COLUMN
        if form == COLUMN and isinstance(index[1], int):
            return ROW
    return ""


def of_layer(net: Net, given: list[Any]) -> str:
    """What a layer gives: one of a single unit a column."""
    if net.layer in ("Linear", "Dense", "LazyLinear"):
        place = 0 if net.layer == "LazyLinear" or net.home == "keras" else 1
        units = net.given[place] if len(net.given) > place else None
        for name in ("out_features", "out_channels", "units"):
            units = net.named.get(name, units)
        return COLUMN if units == 1 and not isinstance(units, bool) and form_of(given[0]) != ROW else ""
    return after(net.layer, given, {})


def of_function(machine: Machine, name: str, given: list[Any], named: dict[str, Any], made: Tensor) -> None:
    """Note what a function of networks gives, and a loss that holds a column against a row."""
    if len(given) == 1:
        made.form = after(name, given, named)
    if _BROADCASTS.match(name) and crosswise(given[:2]):
        machine.crossed.append((machine.here, name, made.asked, tuple(machine.guessed)))


def of_several(given: list[Any]) -> str:
    """What an operator gives: numbers and single figures change no shape."""
    arrays = [g for g in given if isinstance(g, Tensor) and not g.scalar]
    plain = all(isinstance(g, (int, float, Tensor)) for g in given)
    forms = {form_of(a) for a in arrays}
    return forms.pop() if plain and len(forms) == 1 else ""


def crosswise(given: list[Any]) -> bool:
    """Whether a column meets a row, so that each of one is held against each of the other."""
    arrays = [g for g in given if isinstance(g, Tensor)]
    return (
        len(arrays) == 2
        and {form_of(a) for a in arrays} == {COLUMN, ROW}
        and not any(a.scalar for a in arrays)
    )
