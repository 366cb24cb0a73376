"""Edits of Keras programs that make up for each other: one thing written in another documented way."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...script_diff.edit import Edit

_SPARSE = {"SparseCategoricalCrossentropy()", "'sparse_categorical_crossentropy'"}
_DENSE = {"CategoricalCrossentropy()", "'categorical_crossentropy'"}
_SPREADS = {"one_hot()", "to_categorical()", "'categorical'", "CategoryEncoding()"}
_METRICS = {
    "CategoricalAccuracy()",
    "SparseCategoricalAccuracy()",
    "'categorical_accuracy'",
    "'sparse_categorical_accuracy'",
}
_WHOLE = {"len()", "cardinality()"}
_SQUASHED = {"'sigmoid'", "'softmax'", "sigmoid()", "softmax()"}
_OF_SCALER = {"$:LossScaleOptimizer", "LossScaleOptimizer()", "get_scaled_loss()", "get_unscaled_gradients()"}
_TWO_SIDED = ("mobilenet", "inception", "xception", "nasnet", "resnet_v2")  # preprocess_input to -1 .. 1
_SAME = {"Concatenate()": "cat()", "Add()": "+", "ReLU()": "relu()", "concatenate()": "cat()"}


def equal_in_keras(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that are equal together."""
    return [
        *_spread_with_its_loss(edits),
        *_scaling_moved(edits),
        *_whole_buffer(edits),
        *_moved_into_function(edits),
        *_activation_in_loss(edits),
        *_loss_as_function(edits),
        *_wider_half(edits),
        *_same_for_evaluation(edits),
    ]


def _spread_with_its_loss(edits: Sequence[Edit]) -> list[Edit]:
    """Targets one-hot and the loss for such, instead of class numbers and the sparse loss; or back."""
    for new in (True, False):
        spread = [e for e in edits if (e.new - e.gone if new else e.gone - e.new) & _SPREADS]
        told = [
            e for e in edits if (e.new if new else e.gone) & _DENSE and (e.gone if new else e.new) & _SPARSE
        ]
        if told and spread:
            return [*told, *spread, *(e for e in edits if (e.new | e.gone) & _METRICS)]
    return []


def _scaling_moved(edits: Sequence[Edit]) -> list[Edit]:
    """A layer that scales is gone, and the data are scaled to the same range where both sides are read."""
    gone = [e for e in edits if e.kind in ("removed", "unwrapped") and _range(e.gone, e.theirs_code)]
    come = [e for e in edits if e.kind in ("added", "wrapped") and _range(e.new, e.mine_code)]
    if len(gone) != 1 or len(come) != 1 or any("map()" in e.new for e in edits):
        return []
    same = _range(gone[0].gone, gone[0].theirs_code) == _range(come[0].new, come[0].mine_code)
    return [gone[0], come[0]] if same and come[0].split == "" == gone[0].split else []


def _range(said: frozenset[str], code: str) -> str:
    """The range that a step brings pixels to: "-1 .. 1", "0 .. 1"; "" of another step."""
    if "preprocess_input()" in said:
        return "-1 .. 1" if any(name in code for name in _TWO_SIDED) else ""
    if "Rescaling()" in said or "/" in said:
        if "127.5" in said and said & {"-1.0", "1.0", "-"}:
            return "-1 .. 1"
        if "255.0" in said and "127.5" not in said and "Rescaling.offset" not in said:
            return "0 .. 1"
    return ""


def _whole_buffer(edits: Sequence[Edit]) -> list[Edit]:
    """`shuffle(len(table))` for `shuffle(ds.cardinality())`: the buffer holds all samples either way."""
    return [
        e
        for e in edits
        if e.within[:1] in (("shuffle.#0",), ("shuffle.buffer_size",))
        and e.kind in ("expression", "replaced", "name")
        and e.gone & _WHOLE
        and e.new & _WHOLE
        and not (e.gone | e.new) & {"//", "/", "*", "min()"}
    ]


def _moved_into_function(edits: Sequence[Edit]) -> list[Edit]:
    """Layers that stood in lines of their own, and now in a function that the program calls instead."""
    for call in edits:
        if "own()" not in call.new or call.kind not in ("replaced", "added", "expression"):
            continue
        held = {_SAME.get(w, w) for w in call.new}
        moved = [
            e
            for e in edits
            if e.kind == "removed" and "call()" in e.gone and (made := _layers(e.gone)) and made <= held
        ]
        if len(moved) > 1:
            return [call, *moved]
    return []


def _layers(said: frozenset[str]) -> set[str]:
    return {_SAME.get(w, w) for w in said if w.endswith("()") and w not in ("call()", "own()", "()")}


def _activation_in_loss(edits: Sequence[Edit]) -> list[Edit]:
    """The output has no activation any more, and the loss takes logits; or back.

    Thresholds of metrics and scores that are squashed by hand follow.
    """
    for new in (True, False):
        lost = [
            e
            for e in edits
            if (e.gone if new else e.new) & _SQUASHED
            and not (e.new if new else e.gone)
            and any(w.endswith(".activation") for w in e.within)
        ]
        told = [e for e in edits if _takes_logits(e.new if new else e.gone) and "compile.loss" in e.within]
        told = [e for e in told if _kind_of_loss(e.gone) == _kind_of_loss(e.new) != ""]
        if len(lost) == 1 and told:
            follow = [e for e in edits if _follows(e.new if new else e.gone, e.within)]
            return [*lost, *told, *follow]
    return []


def _takes_logits(said: frozenset[str]) -> bool:
    return any(w.endswith(".from_logits") for w in said) and "True" in said


def _kind_of_loss(said: frozenset[str]) -> str:
    """The loss that is named, in small letters: "binarycrossentropy"."""
    names = {re.sub(r"[^a-z]", "", w.lower()) for w in said if re.search(r"(?i)crossentropy['()]+$", w)}
    return names.pop() if len(names) == 1 else ""


def _follows(said: frozenset[str], within: tuple[str, ...]) -> bool:
    """A threshold at zero, a metric on logits, scores that are squashed where they are read."""
    place = within[0] if within else ""
    if place.endswith(".threshold"):
        return said == {"0.0"} or said == {"0"}
    if place.endswith(".from_logits"):
        return said == {"True"}
    by_hand = {"exp()", "negative", "/", "+"} <= said
    return by_hand or (bool(said) and said <= {"sigmoid()", "softmax()", "expit()"})


def _loss_as_function(edits: Sequence[Edit]) -> list[Edit]:
    """`lambda y, p: sparse_categorical_crossentropy(y, p, from_logits=True)` for the class; or back."""
    found = []
    for told in edits:
        if "compile.loss" not in told.within or _kind_of_loss(told.gone) != _kind_of_loss(told.new):
            continue
        options = [
            {w.rpartition(".")[2] for w in s if "." in w and w[:1] != "'"} for s in (told.gone, told.new)
        ]
        rest = [
            {w for w in s if "rossentropy" not in w and not w.startswith("$lambda") and w != "2"}
            for s in (told.gone, told.new)
        ]
        if _kind_of_loss(told.gone) and options[0] == options[1] and rest[0] == rest[1]:
            found.append(told)
    return found


def _wider_half(edits: Sequence[Edit]) -> list[Edit]:
    """`mixed_bfloat16` for `mixed_float16`: it has the range of single precision and needs no loss scale."""
    told = [e for e in edits if e.gone == {"'mixed_float16'"} and e.new == {"'mixed_bfloat16'"}]
    return (
        [*told, *(e for e in edits if e.gone & _OF_SCALER and "apply_gradients()" not in e.gone)]
        if told
        else []
    )


def _same_for_evaluation(edits: Sequence[Edit]) -> list[Edit]:
    """Held-out data that are kept in memory; chances in place of logits where the largest is asked for."""
    kept = [
        e for e in edits if e.new ^ e.gone == {"cache()"} and "evaluation" in e.roles and e.split != "train"
    ]
    largest = [
        e
        for e in edits
        if e.new ^ e.gone == {"softmax()"}
        and e.within[:1] == ("update_state.#1",)
        and re.search(r"(?i)acc\w*\.update_state", e.mine_code)
    ]
    return [*kept, *largest]
