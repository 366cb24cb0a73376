"""What a value comes to: the arithmetic that made it, gone through with plain numbers for what went in.

Each tensor stands for one of its numbers. Answers of networks, layers, draws and what is read of the data are
leaves that a judge may give values, so that the way in which a loss or a weight hangs on them is measured, in
whichever words it is written. What is not understood is a leaf as well, and all below it is `hidden`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import mul
from typing import Any

import numpy as np

from ..script_diff.vocabulary import word_set
from .values import Bound, Maybe, Tensor, Unknown, Way, Weight

ANSWER = "<answer>"
LAYER = "<layer>"
_MOST = 600  # values gone through for one question
_DEEPEST = 100  # calls within one another
_STEP = 1e-4
_VALUES = (Tensor, Unknown, Bound, Maybe, bool, int, float)
_LARGEST = 100_000  # places that are looked at

_SAME = word_set(
    "<data> GradScaler.scale Identity StopGradient T add_dim amax amin array array_of as_tensor "
    "asarray asnumpy astype atleast_1d average block_until_ready broadcast_in_dim broadcast_to cast "
    "clone contiguous convert_element_type convert_to_tensor copy cpu cuda data detach double expand "
    "expand_as expand_dims flatten float float32 from_numpy half identity item mean mean_all nanmean "
    "npu numpy permute pin_memory ravel rearrange reduce_mean reduce_sum repeat requires_grad_ "
    "reshape scale squeeze stop_gradient sum swapaxes t tensor tile to to_float transpose type "
    "type_as type_cast unsqueeze unsqueeze_ value view"
)
_ONE: dict[str, Callable[[float], float]] = {
    "neg": lambda x: -x,
    "negative": lambda x: -x,
    "square": lambda x: x * x,
    "sqrt": lambda x: math.sqrt(x) if x > 0 else 0.0,
    "rsqrt": lambda x: 1 / math.sqrt(x) if x > 0 else math.nan,
    "exp": lambda x: math.exp(min(x, 50.0)),
    "log": lambda x: math.log(x) if x > 0 else math.nan,
    "log1p": lambda x: math.log1p(x) if x > -1 else math.nan,
    "expm1": lambda x: math.expm1(min(x, 50.0)),
    "log2": lambda x: math.log2(x) if x > 0 else math.nan,
    "abs": abs,
    "absolute": abs,
    "norm": abs,
    "sigmoid": lambda x: 1 / (1 + math.exp(-max(min(x, 50.0), -50.0))),
    "tanh": math.tanh,
    "relu": lambda x: max(x, 0.0),
    "softplus": lambda x: math.log1p(math.exp(min(x, 50.0))),
    "logsigmoid": lambda x: -math.log1p(math.exp(min(-x, 50.0))),
    "log_sigmoid": lambda x: -math.log1p(math.exp(min(-x, 50.0))),
    "sin": math.sin,
    "cos": math.cos,
    "reciprocal": lambda x: 1 / x if x else math.nan,
    "ones_like": lambda _: 1.0,
    "zeros_like": lambda _: 0.0,
}
_TWO: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "iadd": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "subtract": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "multiply": lambda a, b: a * b,
    "div": lambda a, b: a / b if b else math.nan,
    "divide": lambda a, b: a / b if b else math.nan,
    "true_divide": lambda a, b: a / b if b else math.nan,
    "pow": lambda a, b: a**b if a >= 0 or float(b).is_integer() else math.nan,
    "power": lambda a, b: a**b if a >= 0 or float(b).is_integer() else math.nan,
    "minimum": min,
    "maximum": max,
    "min": min,
    "max": max,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "mse_loss": lambda a, b: (a - b) ** 2,
    "MSELoss": lambda a, b: (a - b) ** 2,
    "MeanSquaredError": lambda a, b: (a - b) ** 2,
    "mean_squared_error": lambda a, b: (a - b) ** 2,
    "l1_loss": lambda a, b: abs(a - b),
    "L1Loss": lambda a, b: abs(a - b),
    "MeanAbsoluteError": lambda a, b: abs(a - b),
    "smooth_l1_loss": lambda a, b: abs(a - b),
    "SmoothL1Loss": lambda a, b: abs(a - b),
    "huber_loss": lambda a, b: abs(a - b),
    "HuberLoss": lambda a, b: abs(a - b),
    "Huber": lambda a, b: abs(a - b),
    "l2_loss": lambda a, b: 0.5 * (a - b) ** 2,
}


def _entropy(chance: float, truth: float) -> float:
    chance = min(max(chance, 1e-6), 1 - 1e-6)
    return -(truth * math.log(chance) + (1 - truth) * math.log(1 - chance))


def _entropy_of_score(score: float, truth: float) -> float:
    return _entropy(_ONE["sigmoid"](score), truth)


_ENTROPIES: dict[str, Callable[[float, float], float]] = {
    "binary_cross_entropy": _entropy,
    "BCELoss": _entropy,
    "binary_cross_entropy_with_logits": _entropy_of_score,
    "BCEWithLogitsLoss": _entropy_of_score,
    "sigmoid_binary_cross_entropy": _entropy_of_score,
}
# Keras has the truth first
_OF_KERAS = ("BinaryCrossentropy", "binary_crossentropy")
_OF_TF = "sigmoid_cross_entropy_with_logits"


def is_field(value: Any) -> bool:
    """A field of what is not known, as `batch.done`: the same wherever it is asked for."""
    told = isinstance(value, Unknown) and "." in value.key
    return told and (not value.mark or value.key.startswith("namedtuple."))


def key_of(value: Any) -> Any:
    """What a leaf is known by: a part by what it is a part of, all others by how they were made."""
    if isinstance(value, Bound):
        return ("field", key_of(value.owner), value.name)
    if is_field(value):
        return ("field", value.key)
    if not isinstance(value, Tensor):
        return ("other", getattr(value, "key", ""), getattr(value, "mark", 0) or id(value))
    if isinstance(value, Weight):
        return ("weight", value.serial)
    how = value.how
    if how is None:
        return ("made", value.mark or id(value))
    if how.name == ANSWER:
        return (ANSWER, how.given[0].number, how.given[1])
    if how.name == "part" and len(how.given) == 2:
        held, index = how.given
        return ("part", key_of(held), key_of(index) if isinstance(index, (Tensor, Unknown)) else repr(index))
    return ("way", id(how))


@dataclass(eq=False)
class Leaf:
    """What the arithmetic began with. `name`: the layer, the draw or the function that gave it."""

    key: Any
    name: str
    value: Any

    @property
    def answer(self) -> Any:
        """The question that it answers, or None."""
        how = getattr(self.value, "how", None)
        return how.given[0] if how is not None and how.name == ANSWER else None


_Made = Callable[..., float]


@dataclass(eq=False)
class Meaning:
    """A value as a function of its leaves. `opened`: answers of networks whose arithmetic is gone into.

    The arithmetic is gone through once and kept as steps, each a function of the results of earlier ones.
    """

    value: Any
    opened: Callable[[Leaf], bool] = lambda _: False
    leaves: dict[Any, Leaf] = field(default_factory=dict)
    hidden: set[Any] = field(default_factory=set)  # keys of leaves below what is not understood
    kept: list[Any] = field(default_factory=list)  # so that no key is given twice
    _steps: list[tuple[_Made, tuple[int, ...]]] = field(default_factory=list, repr=False)
    _of_leaf: dict[int, Any] = field(default_factory=dict, repr=False)  # step -> key
    _known: dict[int, int] = field(default_factory=dict, repr=False)  # value -> step
    _usual: dict[Any, float] = field(default_factory=dict, repr=False)
    _hid: set[int] = field(default_factory=set, repr=False)  # values that were gone through to hide them
    _spent: int = field(default=0, repr=False)
    _deep: int = field(default=0, repr=False)
    _last: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        """Find the leaves, and the steps from them to the value."""
        self._last = self._of(self.value)

    def at(self, given: dict[Any, float]) -> float:
        """What it comes to where leaves have these values, and others values of their own."""
        worth: list[float] = []
        for place, (made, of) in enumerate(self._steps):
            if place in self._of_leaf:
                key = self._of_leaf[place]
                worth.append(given[key] if key in given else self._usual[key])
            else:
                worth.append(_result(made, [worth[i] for i in of]))
        return worth[self._last]

    def slope(self, key: Any, given: dict[Any, float] | None = None) -> float:
        """How fast it rises with one of its leaves there."""
        given = dict(given or {})
        here = given.get(key, self.usual(key))
        return (self.at({**given, key: here + _STEP}) - self.at({**given, key: here - _STEP})) / (2 * _STEP)

    def usual(self, key: Any) -> float:
        """The value that a leaf has if it is given none: between 0.3 and 0.7, another one for each."""
        if key not in self._usual:
            self._usual[key] = 0.3 + 0.4 * ((0.618034 * (len(self._usual) + 1)) % 1.0)
        return self._usual[key]

    # ------------------------------------------------------------------------------------ the way down

    def _step(self, made: _Made, *of: int) -> int:
        self._steps.append((made, of))
        return len(self._steps) - 1

    def _constant(self, value: float) -> int:
        return self._step(lambda: value)

    def _of(self, value: Any) -> int:
        if isinstance(value, (bool, int, float)):
            return self._constant(float(value))
        if id(value) not in self._known:
            self._spent += 1
            self._deep += 1
            self._known[id(value)] = self._constant(math.nan)  # of what is made of itself
            if self._spent < _MOST and self._deep < _DEEPEST:
                self._known[id(value)] = self._made(value)
            self._deep -= 1
        return self._known[id(value)]

    def _made(self, value: Any) -> int:
        if isinstance(value, Unknown) and value.how is not None and value.how.name in _TWO | _ONE:
            made = self._done(value.how)
            return made if made is not None else self._leaf(value, "unknown")
        if not isinstance(value, Tensor):
            return self._leaf(value, "unknown")
        plain = _plain(value)
        if plain is not None:
            return self._constant(plain)
        how = value.how
        if how is None or (isinstance(value, Weight) and not value.buffer):
            return self._leaf(value, value.done[-1] if value.done else "")
        if how.name == ANSWER:
            leaf = Leaf(key_of(value), ANSWER, value)
            return self._of(how.given[2]) if self.opened(leaf) else self._leaf(value, ANSWER)
        if LAYER in how.named:
            return self._layer(value, how)
        if how.name == "part" and _is_choice(how):
            return self._of(how.given[0])
        if how.name == "part" and len(how.given) == 2 and (inner := _of_parts(how)) is not None:
            self.kept.append(inner)
            return self._of(inner)
        if how.name in _GIVEN:
            return self._leaf(value, how.name)
        made = self._done(how)
        if made is not None:
            return made
        self._hide(value)
        return self._leaf(value, how.name)

    def _layer(self, value: Tensor, how: Way) -> int:
        """A layer without weights is what the function of its name is; others are leaves."""
        name = {"LogSigmoid": "logsigmoid"}.get(how.name, how.name.lower())
        inner = [g for g in how.given if isinstance(g, Tensor)]
        if not how.named[LAYER].parameters() and name in _ONE and len(inner) == 1:
            return self._step(_ONE[name], self._of(inner[0]))
        if how.name in ("Identity", "Flatten", "Reshape", "Unflatten") and len(inner) == 1:
            return self._of(inner[0])
        return self._leaf(value, how.name)

    def _leaf(self, value: Any, name: str) -> int:
        key = key_of(value)
        if key not in self.leaves:
            self.leaves[key] = Leaf(key, name, value)
            self.kept.append(value)
            self.usual(key)
            self.usual(key)
        place = self._constant(math.nan)
        self._of_leaf[place] = key
        return place

    def _hide(self, value: Tensor) -> None:
        for inner in parts_of(value, self._hid):
            self.hidden.add(key_of(inner))

    def _done(self, how: Way) -> int | None:
        name, given, named = how.name.rstrip("_"), list(how.given), how.named
        if name in _CHOICES and given and isinstance(given[0], Tensor):
            return self._of(given[0])
        worth = [self._of(g) for g in given if isinstance(g, _VALUES)]
        if not worth or len(worth) != len(
            [g for g in given if not isinstance(g, (str, type(None), list, tuple))]
        ):
            worth = worth[:1]
        tensors = [g for g in given if isinstance(g, Tensor)]
        plain = not any(isinstance(g, (list, dict)) for g in given)
        if name in ("min", "max") and len(tensors) == 1:
            return worth[0] if given and given[0] is tensors[0] and len(given) < 3 else None
        if name in _SAME and worth and isinstance(given[0], Tensor):
            return worth[0]
        if name in _ONE and worth and plain:
            return self._step(_ONE[name], worth[0])
        if name in _TWO and len(worth) == 2 and len(given) == 2:
            by = named.get("alpha", 1)
            other = self._step(mul, worth[1], self._of(by)) if name in ("add", "sub") else worth[1]
            return self._step(_TWO[name], worth[0], other)
        if name in ("sub", "add") and len(worth) == 1 and len(given) == 1:
            return None
        return self._other(name, given, named, worth)

    def _other(self, name: str, given: list[Any], named: Any, worth: list[int]) -> int | None:
        both = [
            *given,
            *(named[k] for k in ("input", "target", "labels", "logits", "y_true", "y_pred") if k in named),
        ]
        if name in _ENTROPIES and len(both) >= 2 and len(worth) >= 2:
            return self._step(_ENTROPIES[name], worth[0], worth[1])
        if name in _OF_KERAS and len(worth) >= 2:
            logits = named.get("from_logits") is True or (len(given) > 2 and given[2] is True)
            return self._step(_entropy_of_score if logits else _entropy, worth[1], worth[0])
        if name == _OF_TF:
            labels = named.get("labels", given[0] if given else None)
            logits = named.get("logits", given[1] if len(given) > 1 else None)
            if labels is not None and logits is not None:
                return self._step(_entropy_of_score, self._of(logits), self._of(labels))
            return None
        if name in ("clamp", "clip", "clip_by_value") and worth:
            return self._clamped(given, named, worth)
        if name == "lerp" and len(worth) == 3:
            return self._step(lambda a, b, share: a + share * (b - a), *worth)
        if name in ("full_like", "full") and len(given) > 1:
            value = named.get("fill_value", given[1])
            return self._of(value) if isinstance(value, (int, float, Tensor)) else None
        if name in ("ones", "zeros"):
            return self._constant(1.0 if name == "ones" else 0.0)
        return None

    def _clamped(self, given: list[Any], named: Any, worth: list[int]) -> int | None:
        ends = [
            next((named[k] for k in keys if k in named), given[i] if len(given) > i else None)
            for i, keys in ((1, ("min", "a_min", "clip_value_min")), (2, ("max", "a_max", "clip_value_max")))
        ]
        low, high = (None if e is None else self._of(e) for e in ends)
        made = worth[0]
        made = made if low is None else self._step(max, made, low)
        return made if high is None else self._step(min, made, high)


def _result(made: _Made, of: list[float]) -> float:
    try:
        return made(*of)
    except (ArithmeticError, ValueError):
        return math.nan


_CHOICES = ("gather", "gather_nd", "take_along_dim", "take_along_axis", "amax", "amin", "reduce_max")
_GIVEN = word_set(
    "arange linspace eye item normal "
    "Compose Input Normalize StandardNormal bernoulli chunk fold_in gradient integers "
    "open part rand rand_like randint randint_like randn randn_like random random_normal "
    "random_uniform split stack standard_normal uniform"
)


def _plain(value: Tensor) -> float | None:
    """The number that a tensor is, or that all of its places hold; labels and rows of data are none."""
    if value.number is None or value.asked or value.held or isinstance(value, Weight):
        return None
    held = np.asarray(value.number)
    if held.dtype.kind not in "biuf" or not held.size or held.size > _LARGEST or held.min() != held.max():
        return None
    return float(held.flat[0])


def _is_choice(how: Way) -> bool:
    """`q.max(1)[0]`, `q[rows, actions]`: one of the numbers of an answer."""
    held, index = how.given if len(how.given) == 2 else (None, None)
    of = held.how if isinstance(held, Tensor) else None
    if of is None or index is None:
        return False
    if of.name in ("max", "min", "topk", "sort"):
        return bool(index == 0)
    several = isinstance(index, tuple) and len(index) == 2
    return of.name == ANSWER and several and all(isinstance(i, (Tensor, Unknown, range)) for i in index)


def _of_parts(how: Way) -> Tensor | None:
    """`f(table)[i]` as `f(table[i])`, of functions of single numbers."""
    held, index = how.given
    if not isinstance(held, Tensor) or held.number is not None or held.rows is not None:
        return None  # rows of data are what they are
    of = held.how if isinstance(index, Tensor) else None
    if of is None or not (of.name in _ONE or of.name in _TWO or of.name in ("to", "float", "clamp")):
        return None
    parts = [
        Tensor(how=Way("part", (g, index))) if isinstance(g, Tensor) and not g.scalar else g for g in of.given
    ]
    return Tensor(how=Way(of.name, tuple(parts), of.named))


def parts_of(value: Any, met: set[int] | None = None) -> Iterator[Tensor]:
    """All tensors that one was made of, each once; not what is behind a network's answer.

    `met`: what was gone through before, which is not gone through again.
    """
    seen = set() if met is None else met
    most = len(seen) + _MOST
    waiting: list[Any] = [value]
    while waiting and len(seen) < most:
        one = waiting.pop()
        if isinstance(one, (list, tuple)):
            waiting += one
            continue
        if not isinstance(one, Tensor) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if one.how is not None and one.how.name != ANSWER:
            waiting += [*one.how.given, *(v for k, v in one.how.named.items() if k != LAYER)]


def all_parts(value: Any) -> Iterator[Tensor]:
    """All tensors that one was made of, also within networks and in what these were asked of."""
    seen: set[int] = set()
    waiting: list[Any] = [value]
    while waiting and len(seen) < 4 * _MOST:
        one = waiting.pop()
        if isinstance(one, (list, tuple)):
            waiting += one
            continue
        if not isinstance(one, Tensor) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if one.how is not None:
            waiting += [*one.how.given, *(v for k, v in one.how.named.items() if k != LAYER)]
            if one.how.name == ANSWER:
                waiting += one.how.given[0].given


def last_done(value: Any) -> str:
    """What was done last to a value, or to the answer of a network within it; changes of shape are none."""
    for _ in range(40):
        how = value.how if isinstance(value, Tensor) else None
        if how is None:
            return ""
        if how.name == ANSWER:
            value = how.given[2]
        elif how.name.rstrip("_") in _SAME or how.name in ("part", "Flatten", "Identity", "Reshape"):
            value = next((g for g in how.given if isinstance(g, Tensor)), None)
        else:
            return how.name
    return ""
