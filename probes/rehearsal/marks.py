"""How a value was made, as one number: programs that make a value in the same way give it the same number.

Layers and the functions that do the same are one; arguments have their names; what is written out although it
is the default is left out. Weights are known by the order in which a question to a network first comes upon
them, so that a weight that is used twice is told from two weights. What is not known is like nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..script_diff.vocabulary import DEFAULTS, FUNCTIONAL, NO_MATTER, SAME, SIGNATURES, word_set
from ..scripts.bounds import is_small_nest
from .values import STRANGE, Bound, Library, Net, Tensor, Unknown, Way, Weight, mixed

if TYPE_CHECKING:
    from .machine import Machine

Named = dict[str, Any]
# follows from what a layer is given
_FOLLOWS = word_set("in_features in_channels num_features input_size input_dim input_shape name dtype")
_EITHER_WAY = frozenset(("add", "mul", "and", "or", "eq", "noteq"))
_DROPOUT = frozenset(("Dropout", "dropout"))
_POOL = "pool"
_LARGEST = 4096  # items of an array whose values are looked at


def of_tensor(machine: Machine, one: Tensor) -> int:
    """The mark of a tensor; of a weight it is when it was first come upon."""
    if isinstance(one, Weight):
        return mixed("weight", first_use(machine, ("weight", one.serial)), one.done)
    if one.mark:
        return one.mark
    number = np.asarray(one.number) if one.number is not None and one.rows is None else None
    told = (str(number.dtype), number.tobytes()) if number is not None and number.size <= _LARGEST else None
    return mixed("made", one.done, one.held, one.table > 0, told)


def first_use(machine: Machine, key: tuple[str, int]) -> str:
    """Which one of the weights and layers it is that were come upon in this question."""
    return str(machine.first_uses.setdefault(key, len(machine.first_uses)))


def of_input(place: int) -> int:
    """The mark of what a network is asked of."""
    return mixed("input", str(place))


def of_answer(machine: Machine, net: Net, inputs: tuple[int, ...], place: int) -> int:
    """The mark of what a network answers: to which one of the questions that it was asked in other ways."""
    asked = machine.questions.setdefault((net.serial, inputs), len(machine.questions))
    return mixed("answer", str(asked), str(place))


def plain(machine: Machine, value: Any) -> Any:
    """A value as part of a mark; each that is not known is one of its own."""
    if isinstance(value, Tensor):
        return of_tensor(machine, value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)):
        return repr(float(value))  # -1 and -2 have the same hash
    if isinstance(value, slice):
        return ("slice", *(plain(machine, e) for e in (value.start, value.stop, value.step)))
    if isinstance(value, (list, tuple, dict)) and not is_small_nest(value):
        return STRANGE
    if isinstance(value, (list, tuple, range)) and len(value) <= 4096:
        return tuple(plain(machine, v) for v in value)
    if isinstance(value, dict):
        return tuple((k, plain(machine, v)) for k, v in value.items() if isinstance(k, str))
    if isinstance(value, Library):
        return SAME.get(value.last, value.last)
    if isinstance(value, Unknown) and id(value) in machine.unknown_inputs:
        return of_input(machine.unknown_inputs[id(value)])
    if isinstance(value, Unknown) and value.mark:
        return value.mark
    if isinstance(value, Unknown) and value.key and not machine.is_nameless(value.key):
        return ("?", value.key)
    if isinstance(value, Bound):
        return ("field", type(value.owner).__name__, value.name)
    if value is Ellipsis:
        return "..."
    return STRANGE


def settings(machine: Machine, name: str, given: list[Any], named: Named) -> tuple[Any, ...]:
    """Arguments by their names, without those that say nothing."""
    signature = SIGNATURES.get(name, ())
    found = {signature[i] if i < len(signature) else f"#{i}": g for i, g in enumerate(given)}
    found.update({SAME.get(k, k): v for k, v in named.items()})
    defaults = _DEFAULTS.get(name, DEFAULTS["*"])
    if _CONVOLUTION.match(name):
        _whole_border(found)
    if _POOL in name.lower() and _same_number(found.get("stride"), found.get("kernel_size")):
        found.pop("stride", None)
    kept = []
    for key, value in found.items():
        if key in NO_MATTER or key in _FOLLOWS or (key in defaults and _label(value) == defaults[key]):
            continue
        kept.append((key, plain(machine, value)))
    return tuple(sorted(kept, key=lambda k: repr(k[0])))  # a key may be anything that was computed


def _own_settings(machine: Machine, name: str, net: Net, named: Named) -> tuple[Any, ...]:
    """What a layer was made with. Layers are asked often, and most are made with plain numbers and words."""
    keys, values = tuple(named), (*net.given, *named.values())
    kinds = tuple(map(type, values))
    if not _PLAIN.issuperset(kinds):
        return settings(machine, name, list(net.given), named)
    whole = (name, keys, values, kinds)  # the kinds: `True`, `1` and `1.0` are equal
    if whole not in machine.layer_settings:
        machine.layer_settings[whole] = settings(machine, name, list(net.given), named)
    return machine.layer_settings[whole]


_PLAIN = frozenset((bool, int, float, str, type(None)))
_DEFAULTS = {name: {**DEFAULTS["*"], **held} for name, held in DEFAULTS.items()}
_CONVOLUTION = re.compile(r"^Conv[123]d$")


def _whole_border(found: Named) -> None:
    """`padding="same"`, `pad_mode="same"` and half of an odd kernel are one border."""
    size, mode = found.get("kernel_size"), found.pop("pad_mode", None)
    asked = found.get("padding")
    steps = all(found.get(k, 1) in (1, (1, 1)) for k in ("stride", "strides", "dilation"))
    if mode == "same" or (isinstance(asked, str) and asked.lower() == "same"):
        found["padding"] = "same"
    elif mode not in (None, "pad"):
        found["pad_mode"] = mode
    elif steps and isinstance(size, int) and size % 2 == 1 and asked == size // 2 and size > 1:
        found["padding"] = "same"


def follows(name: str, place: int | str) -> bool:
    """Whether an argument of a layer follows from what the layer is given: how many numbers these are."""
    signature = SIGNATURES.get(name, ())
    if isinstance(place, int):
        place = signature[place] if place < len(signature) else ""
    return place in _FOLLOWS - {"name", "dtype"}


def _same_number(one: Any, other: Any) -> bool:
    return one is None or (isinstance(one, (int, tuple, list)) and one == other)


def _label(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(float(value))
    return repr(value)


_LOOKED_THROUGH = word_set(
    "to cuda cpu npu contiguous clone copy numpy asnumpy as_tensor from_numpy tensor asarray array item "
    "tolist requires_grad_ pin_memory convert_to_tensor share_memory_ ascontiguousarray identity float "
    "float32 FloatTensor Tensor copy_to_host values to_numpy"
)
_FORMAT = re.compile(r"^(?:half|long|double|bool|u?int\d*|float16|bfloat\w*|float64)$")


def _retyped(given: list[Any], named: Named) -> bool:
    """Whether numbers are put into another format: not of single precision."""
    asked = [g.last for g in (*given, *named.values()) if isinstance(g, Library)]
    return any(_FORMAT.match(a) for a in asked)


@lru_cache(maxsize=4096)
def name_of(name: str) -> str:
    """One name for a function and the class that stands for it, in whichever of the frameworks."""
    name = _axes_small(name)
    name = SAME.get(name, name)
    return FUNCTIONAL.get(name, name)


@lru_cache(maxsize=4096)
def _axes_small(name: str) -> str:
    """`Conv2D` and `Conv2d` are one."""
    return re.sub(r"([123])D$", r"\1d", name)


def of_loss(machine: Machine, net: Net, given: list[Any], named: Named, made: Any) -> Any:
    """What a loss that is an object gives, marked by its settings, too."""
    if isinstance(made, Tensor):
        own = dict(settings(machine, net.layer, list(net.given), net.named))
        name = name_of(net.layer)
        made.mark = mixed(name, settings(machine, name, given, {**named, **own}))
        made.how = Way(net.layer, tuple(given), {**net.named, **named})
    return made


def called(machine: Machine, name: str, given: list[Any], named: Named) -> int:
    """The mark of what a function of tensors gives."""
    if name in _LOOKED_THROUGH and given and isinstance(given[0], Tensor) and not _retyped(given[1:], named):
        return of_tensor(machine, given[0])
    name = name_of(name)
    if name == "view" and len(given) == 3 and given[2] == -1:
        name, given = "flatten", [given[0], 1]  # all axes but the rows'
    if name == "flatten" and len(given) < 2 and not named:
        given = [*given, 0]
    if name in _EITHER_WAY and len(given) == 2 and not named:
        return mixed(name, *sorted(mixed(plain(machine, g)) for g in given))
    named = {k: v for k, v in named.items() if name not in _DROPOUT or k != "training" or v is not True}
    return mixed(name, settings(machine, name, given, named))


def modes_told(net: Net, named: Named) -> list[tuple[str, bool]]:
    """The mode in which a layer acts; flax tells it when a layer is made or asked, or not at all."""
    if net.home != "flax":
        return [(net.layer, net.mode)]
    for word in ("deterministic", "use_running_average"):
        told = named.get(word, net.named.get(word))
        if isinstance(told, bool):
            return [(net.layer, not told)]
    return []


# where PyTorch's layers with dropout of their own are told its share, and what it is where they are not
_DROPS = {
    "LSTM": (5, 0.0), "GRU": (5, 0.0), "RNN": (6, 0.0), "MultiheadAttention": (2, 0.0),
    "TransformerEncoderLayer": (3, 0.1), "TransformerDecoderLayer": (3, 0.1), "Transformer": (5, 0.1),
}  # fmt: skip


def drops_within(net: Net) -> bool:
    """Whether a layer of PyTorch drops by itself while it trains; recurrent ones do between their layers."""
    if net.layer in ("TransformerEncoder", "TransformerDecoder"):
        inner = net.given[0] if net.given else net.named.get("encoder_layer", net.named.get("decoder_layer"))
        return isinstance(inner, Net) and drops_within(inner)
    if net.layer not in _DROPS:
        return False
    place, usual = _DROPS[net.layer]
    share = net.named.get("dropout", net.given[place] if len(net.given) > place else usual)
    if net.layer in ("LSTM", "GRU", "RNN"):
        layers = net.named.get("num_layers", net.given[2] if len(net.given) > 2 else 1)
        if not isinstance(layers, int) or layers < 2:
            return False
    return isinstance(share, float) and share > 0


def may_drop(net: Net) -> bool:
    """A layer that drops by a share, or between a number of layers, that a setting tells: it is not known."""
    if net.layer not in _DROPS or net.home:
        return False
    place, usual = _DROPS[net.layer]
    share = net.named.get("dropout", net.given[place] if len(net.given) > place else usual)
    return not isinstance(share, (int, float))


def layer(machine: Machine, net: Net, given: list[Any], named: Named, *, modal: bool) -> int:
    """The mark of what a layer of a library gives; Keras asks for the mode at each call."""
    modal = modal and net.home != "keras"
    name = _axes_small(net.layer)
    asked = tuple(plain(machine, g) for g in (*given, *named.values()))
    inner = dict(net.named)
    bent = inner.pop("activation", None) if net.home == "keras" else None
    if name == "Activation" and net.given:
        made = mixed(plain(machine, net.given[0]), (("#0", asked[0] if asked else None),))
    elif name_of(name) != SAME.get(name, name) or name in _DROPOUT:
        # named as the function names them, which has what it works on first
        own = dict(_own_settings(machine, name, net, inner))
        name = "dropout" if name in _DROPOUT else name_of(name)
        made = mixed(name, tuple(sorted({"#0": asked[0] if asked else None, **own}.items(), key=repr)))
        if modal and not net.mode:
            made = mixed("not training", made)
    else:
        which = first_use(machine, ("layer", net.serial)) if net.weights else None
        mode = net.mode if modal else None
        made = mixed(name, _own_settings(machine, name, net, inner), which, mode, asked)
    return made if bent in (None, "linear") else mixed(plain(machine, bent), (("#0", made),))


def unknown(machine: Machine, key: str, parts: Sequence[Any], named: Named | None = None) -> Unknown:
    """What is not known, made of these parts."""
    rest = tuple((k, plain(machine, v)) for k, v in (named or {}).items())
    return Unknown(key, mixed("?", key, *(plain(machine, p) for p in parts), rest))


def part(machine: Machine, held: Tensor, index: Any) -> int:
    """The mark of a part of an array."""
    return mixed("part", of_tensor(machine, held), plain(machine, index))


def of_set(machine: Machine, held: Tensor, index: Any, value: Any) -> int:
    """The mark of an array a part of which is given other values."""
    return mixed("set", part(machine, held, index), plain(machine, value))


def numbered(parts: list[Tensor]) -> list[Tensor]:
    """Parts that are told apart by their places."""
    for place, one in enumerate(parts):
        one.mark = mixed(one.mark, str(place), str(len(parts)))
        if one.how is not None:
            one.how = Way(one.how.name, one.how.held, {**one.how.named, "place": place})
    return parts
