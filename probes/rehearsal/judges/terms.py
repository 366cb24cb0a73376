"""Terms of a loss that teach nothing, or that have no lower end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..journal import Backward
from ..machine import Machine
from ..meaning import ANSWER, LAYER, Meaning, key_of, parts_of
from ..values import Bound, Tensor, Unknown, Weight
from .verdict import Verdict

_HELD_AGAINST = frozenset(
    (
        *(
            "l1_loss",
            "L1Loss",
            "mse_loss",
            "MSELoss",
            "smooth_l1_loss",
            "SmoothL1Loss",
            "huber_loss",
            "HuberLoss",
        ),
        *("MeanSquaredError", "MeanAbsoluteError", "Huber", "mean_squared_error", "mean_absolute_error"),
        *("squared_difference", "l2_loss", "huber", "absolute_difference"),
    )
)
_SUMS = frozenset(
    (
        *("mean", "sum", "reduce_mean", "reduce_sum", "div", "mul", "multiply", "divide", "neg", "scale"),
        *("GradScaler.scale", "average", "nanmean", "mean_all", "item"),
    )
)
_DRAWN = frozenset(
    (
        "dropout",
        "Dropout",
        "rand",
        "randn",
        "rand_like",
        "randn_like",
        "normal",
        "uniform",
        "randint",
        "rsample",
    )
)

_OF_PICTURES = frozenset(
    (
        *(
            "open",
            "convert",
            "crop",
            "resize",
            "hflip",
            "vflip",
            "to_tensor",
            "normalize",
            "read_image",
            "imread",
        ),
        *(
            "rotate",
            "pil_to_tensor",
            "convert_image_dtype",
            "center_crop",
            "pad",
            "cvtColor",
            "flip",
            "to_image",
        ),
    )
)


def _losses(machine: Machine) -> Iterator[Backward]:
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        if isinstance(event.loss, Tensor) and event.loss.deps and not event.guessed:
            yield event


def of_no_answer(machine: Machine) -> Iterator[Verdict]:
    """`l1(condition, target)`: a term that holds data against data, of which no weight hears."""
    for event in _losses(machine):
        for one in _terms(event.loss, 12):
            if one.how is None or one.how.name not in _HELD_AGAINST or one.deps or one.asked:
                continue
            sides = [g for g in one.how.given if isinstance(g, Tensor)]
            if len(sides) != 2 or any(_is_vague(machine, s) for s in sides):
                continue
            yield Verdict(
                "term-of-data", event.node, f"{one.how.name} holds data against data: no answer is in it"
            )
            return


def _terms(value: Any, deep: int) -> Iterator[Tensor]:
    """What a loss adds up: each term without its weight; not what terms are divided or multiplied by."""
    how = value.how if isinstance(value, Tensor) and deep else None
    if not isinstance(value, Tensor):
        return
    inner = [g for g in how.given if isinstance(g, Tensor)] if how is not None else []
    if how is not None and how.name in ("add", "iadd", "sub"):
        for one in inner:
            yield from _terms(one, deep - 1)
    elif how is not None and how.name in _SUMS and len(inner) == 1 and inner[0] is not value:
        yield from _terms(inner[0], deep - 1)
    else:
        yield value


def _is_vague(machine: Machine, value: Tensor) -> bool:
    """Not understood how it was made, or made of nothing that was read."""
    if (
        (value.rows is None and not value.held)
        or value.asked
        or machine.not_known & set(value.done) - _OF_PICTURES
    ):
        return True
    return any(isinstance(p, Weight) or (p.how is not None and LAYER in p.how.named) for p in parts_of(value))


def held_against_itself(machine: Machine) -> Iterator[Verdict]:
    """`abs(answer - answer)`: both sides are made in one and the same way, so that nothing is left."""
    for event in _losses(machine):
        for one in parts_of(event.loss):
            how = one.how
            if how is None or how.name not in (*_HELD_AGAINST, "sub", "subtract") or not one.deps:
                continue
            sides = [g for g in how.given if isinstance(g, Tensor)]
            if len(sides) == 2 and len(how.given) == 2 and _made_alike(sides[0], sides[1], 40):
                why = "both sides of a difference in the loss are the same value: it is always nought"
                yield Verdict("term-of-itself", event.node, why)
                return


def _made_alike(one: Any, other: Any, deep: int) -> bool:
    """Whether two values are made of the same things in the same way, without chance."""
    if one is other:
        return not isinstance(one, Tensor) or bool(one.how or isinstance(one, Weight))
    if deep == 0 or type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(
            _made_alike(a, b, deep - 1) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, (Unknown, Bound)):
        return key_of(one) == key_of(other) and bool(getattr(one, "mark", 1))
    if not isinstance(one, Tensor):
        return bool(one == other)
    if one.how is None or other.how is None or isinstance(one, Weight):
        return False
    if one.how.name != other.how.name or one.how.name in _DRAWN or len(one.how.given) != len(other.how.given):
        return False
    if one.how.name == ANSWER:
        return bool(one.how.given[:2] == other.how.given[:2])
    if set(one.how.named) != set(other.how.named) or LAYER in one.how.named:
        return False
    return all(
        _made_alike(a, b, deep - 1) for a, b in zip(one.how.given, other.how.given, strict=True)
    ) and all(_made_alike(v, other.how.named[k], deep - 1) for k, v in one.how.named.items())


def without_end(machine: Machine) -> Iterator[Verdict]:
    """`(target - answer).mean()`: a difference that is neither squared nor taken without its sign."""
    for event in _losses(machine):
        value: Any = event.loss
        for _ in range(12):
            how = value.how if isinstance(value, Tensor) else None
            if how is None or how.name not in _SUMS:
                break
            inner = [g for g in how.given if isinstance(g, Tensor)]
            value = inner[0] if len(inner) == 1 and how.given[0] is inner[0] else None
        how = value.how if isinstance(value, Tensor) else None
        if how is None or how.name not in ("sub", "subtract") or len(how.given) != 2:
            continue
        sides = [g for g in how.given if isinstance(g, Tensor)]
        answers = [s for s in sides if s.deps]
        truth = [s for s in sides if not s.deps and not s.asked and s.rows is not None]
        if len(answers) != 1 or len(truth) != 1 or len(answers[0].asked) != 1:
            continue
        meaning = Meaning(answers[0])
        plain = [x for x in meaning.leaves.values() if x.answer is not None]
        if len(plain) == 1 and len(meaning.leaves) == 1 and not meaning.hidden:
            why = "the difference of answer and target is averaged with its sign: the loss has no lower end"
            yield Verdict("term-without-end", event.node, why)
            return
