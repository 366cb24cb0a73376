"""What was done to a value on its way: layers without a bend between them, pictures and masks moved apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..journal import Backward
from ..machine import Machine
from ..values import Tensor
from .verdict import Verdict, taught

_DENSE = re.compile(r"^(?:Lazy)?(?:Linear|Dense|Conv[123]d|ConvTranspose[123]d)$")
# what leaves a stack of linear layers linear once it is trained
_STRAIGHT = re.compile(
    r"^(?:Batch_?Norm\w*|Dropout\w*|dropout|Flatten|flatten|view|reshape|squeeze|unsqueeze|Identity|contiguous"
    r"|AvgPool\w*|AdaptiveAvgPool\w*|Unflatten)$"
)
FEWEST = 3  # layers: two may be a wide matrix that is written as two narrow ones


def linear_only(machine: Machine) -> Iterator[Verdict]:
    """Three or more layers follow one another with nothing that bends between them: one matrix would do."""
    learnt = taught(machine)
    for event in machine.journal.of(Backward):
        loss = event.loss
        if not isinstance(loss, Tensor) or len(loss.done) >= 40 or event.guessed:
            continue
        asks = [machine.asks[n] for n in loss.asked & learnt if n in machine.asks]
        layers = [i for i, name in enumerate(loss.done) if _DENSE.match(name)]
        if len(asks) != 1 or asks[0].opaque or len(layers) < FEWEST:
            continue
        between = loss.done[layers[0] : layers[-1] + 1]
        if not all(_DENSE.match(n) or _STRAIGHT.match(n) for n in between):
            continue
        nets = list(asks[0].net.nets())
        if any(n.home for n in nets):
            continue  # the layers of other libraries may bend by themselves
        if any(n.opaque or n.escaped for n in nets) or any(n.layer in _BENDS for n in nets):
            continue
        if sum(bool(_DENSE.match(n.layer or "")) for n in nets) == len(layers):
            node = next((n.node for n in nets if _DENSE.match(n.layer or "") and n.node), event.node)
            why = f"{len(layers)} layers follow one another, and no activation stands between them"
            yield Verdict("linear-only", node, why)
            return


_BENDS = frozenset(("ReLU", "GELU", "Tanh", "Sigmoid", "LeakyReLU", "ELU", "SiLU", "PReLU", "LSTM", "GRU"))
_OPENED = frozenset(("open", "imread", "read_image", "imdecode", "load", "decode_png", "decode_jpeg"))
# one name for what moves a picture's points; of arrays as they are read, whose last axis are colours
_MOVES = {
    **dict.fromkeys(("hflip", "fliplr", "part ::-1", "part ::-1,:", "flip_left_right"), "left and right"),
    **dict.fromkeys(("vflip", "flipud", "rows ::-1", "flip_up_down"), "up and down"),
    **dict.fromkeys(("flip", "mirror"), "mirrored"),
    **dict.fromkeys(("rot90", "rotate", "affine", "warpAffine", "elastic_transform"), "turned"),
}


def moved_apart(machine: Machine) -> Iterator[Verdict]:
    """A picture is mirrored or turned, and the picture of its labels, which is read as well, is not."""
    learnt = taught(machine)
    for met in machine.met:
        target = met.data
        if met.guessed or not met.asked & learnt or not _OPENED & set(target.done):
            continue
        for number in met.asked & learnt:
            for one in machine.tensors(machine.asks[number].given):
                if not _OPENED & set(one.done) or one.table != target.table:
                    continue
                mine, theirs = _moves(one), _moves(target)
                if mine != theirs and mine is not None and theirs is not None:
                    told = ", ".join(sorted(mine.symmetric_difference(theirs)))
                    yield Verdict(
                        "moved-apart", met.node, f"pictures and their labels are moved apart ({told})"
                    )
                    return


def _moves(held: Tensor) -> set[str] | None:
    """How a picture's points are moved; None where its whole way is not known."""
    done = held.done
    if len(done) >= 40:
        return None
    first = min(i for i, name in enumerate(done) if name in _OPENED)
    return {_MOVES[n] for n in done[first:] if n in _MOVES}
