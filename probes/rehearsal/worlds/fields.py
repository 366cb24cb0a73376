"""Fields and parts of the objects of a rehearsal: `x.shape`, `model.fc`, `batch[0]`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from ...script_diff.vocabulary import word_set
from .. import marks
from ..expressions import PLAIN
from ..values import (
    NOTHING,
    Data,
    Frame,
    Loader,
    Net,
    Optimizer,
    Series,
    State,
    Tensor,
    Thing,
    Unknown,
    Way,
    Weight,
)
from .frames import Groups, Places, frame_field, frame_item
from .known_numbers import each_of
from .parts import part
from .tensors import shape_of

if TYPE_CHECKING:
    from ..machine import Machine


_FIELDS = word_set("T mT H real values logits logit loss sample predictions last_hidden_state pooler_output")


_PLACED = word_set("max min sort topk median mode kthvalue cummax cummin")


def _with_places(held: Tensor) -> bool:
    """What comes with the places that it stood at, inside of a network: `states.max(dim=1)`."""
    return bool(held.deps) and not _PLACED.isdisjoint(held.done[-1:])


def field_of(machine: Machine, owner: Any, name: str, node: ast.AST) -> Any:
    """A field of one of our objects, or None where it is a method."""
    from .sklearn import Fitted, fitted_field

    if isinstance(owner, (Frame, Series)):
        known = frame_field(machine, owner, name)
        if known is not None or isinstance(owner, Frame):
            return known
    if isinstance(owner, Tensor):
        if name == "shape":
            return shape_of(owner)
        if name in _FIELDS:
            if name == "values" and not (owner.asked or _with_places(owner)):
                return None
            turned = name in ("T", "mT", "H")
            return owner.like(
                number=owner.number.T if name == "T" and isinstance(owner.number, np.ndarray) else None,
                how=Way(name, (owner,)) if turned else owner.how,
            )
        if name == "data" and not {"pack_padded_sequence", "pack_sequence"}.isdisjoint(owner.done):
            return owner  # the values of a packed sequence
        if name == "data":
            view = owner.like(deps=NOTHING, number=owner.number)
            view.done, view.how = (*view.done, "<data>"), Way("<data>", (owner,))
            view.of = owner  # type: ignore[attr-defined]
            return view
        if name == "name" and isinstance(owner, Weight):
            return owner.name
        if name in ("requires_grad", "is_leaf"):
            return owner.trains if isinstance(owner, Weight) else bool(owner.deps)
        if name in ("dtype", "device", "grad_fn", "is_cuda", "layout"):
            return Unknown(name)
        if name == "grad":
            machine.gradients_read = True
            return Unknown("grad")
        if name == "ndim":
            if isinstance(owner, Weight):
                return owner.ndim if owner.ndim is not None else Unknown("ndim")
            return owner.number.ndim if isinstance(owner.number, np.ndarray) else Unknown("ndim")
        return None
    if isinstance(owner, Net):
        from .networks import net_field

        return net_field(machine, owner, name)
    if isinstance(owner, Optimizer):
        if name == "param_groups":
            return owner.groups
        if name == "parameters":
            return owner.weights if owner.weights is not None else Unknown(name)
        return Unknown(name) if name in ("state", "defaults", "learning_rate", "lr", "iterations") else None
    if isinstance(owner, Loader):
        if name in ("dataset", "ds"):
            return owner.data
        if name in ("sampler", "batch_sampler"):
            return owner.named.get(name) or Unknown(name)
        if name == "batch_size":
            return owner.named.get("batch_size", Unknown(name))
    if isinstance(owner, Fitted):
        return fitted_field(owner, name)
    if isinstance(owner, Data):
        from .samples import data_field

        return data_field(machine, owner, name)
    if isinstance(owner, Thing):
        return owner.fields.get(name)
    return None


def set_field(machine: Machine, owner: Any, name: str, value: Any, node: ast.AST) -> None:
    """Give a field of one of our objects a value."""
    if isinstance(owner, Weight):
        if name == "requires_grad":
            owner.trains = value is not False if isinstance(value, bool) else owner.trains
            owner.unsure = not isinstance(value, bool)  # type: ignore[attr-defined]
        elif name == "data":
            machine.written(owner, [value], "data", node)
        elif name == "grad":
            if value is None:
                machine.clear([owner], node)
    elif isinstance(owner, Data):
        owner.__dict__[name] = value
    elif isinstance(owner, Thing):
        owner.fields[name] = value


def item_of(machine: Machine, owner: Any, index: Any, node: ast.AST) -> Any:
    """A part of one of our objects, or `NotImplemented`."""
    if isinstance(owner, Places):
        return owner.item(machine, index)
    if isinstance(owner, Frame):
        return frame_item(machine, owner, index)
    if isinstance(owner, Tensor):
        return part(machine, owner, index)
    if isinstance(owner, Data):
        from .samples import sample

        return sample(machine, owner, index, node)
    if isinstance(owner, Net):
        from .networks import net_item

        return net_item(machine, owner, index)
    if isinstance(owner, State):
        return Unknown("weights")
    return NotImplemented


def items_of(machine: Machine, value: Any) -> list[Any] | None:
    """The items of one of our objects, or None."""
    from .listings import lines

    if isinstance(value, Groups):
        return value.items(machine)
    if (held := lines(machine, value)) is not None:
        return held
    if isinstance(value, Frame):
        return None
    if isinstance(value, Tensor):
        if isinstance(value.number, np.ndarray) and value.number.ndim == 1 and len(value.number) <= 10_000:
            if value.rows is None and not value.asked:
                return list(value.number.tolist())
        if machine.numbers is not None and (each := each_of(value)) is not None:
            return each
        if value.asked or value.rows is None:
            return marks.numbered([value.then("item") for _ in range(2)])
        few = range(min(len(value.rows), 3))
        return marks.numbered([value.then("item", rows=value.rows[i : i + 1]) for i in few])
    if isinstance(value, Thing) and "predictions" in value.fields:
        return [value.fields["predictions"], value.fields.get("label_ids")]
    if isinstance(value, Net):
        from .networks import net_items

        return net_items(value)
    if isinstance(value, Data):
        return None
    return None


def part_of(machine: Machine, value: Any, place: int) -> Any:
    """One of several names' part of a value that has no known items."""
    if isinstance(value, Tensor):
        made = value.then(f"[{place}]")
        made.held = frozenset(f"{h}.{place}" for h in value.held) or frozenset((f".{place}",))
        return made
    if isinstance(value, PLAIN):
        return Unknown("part")
    return Unknown(f"{getattr(value, 'key', '')}.{place}")
