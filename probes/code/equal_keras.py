"""Edits of Keras programs that make up for each other: one thing written in another documented way."""

from __future__ import annotations

from collections.abc import Sequence

from ..script_diff.edits import Edit

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
_TWO_SIDED = ("mobilenet", "inception", "xception", "nasnet", "resnet_v2")  # preprocess_input to -1 .. 1
_SAME = {"Concatenate()": "cat()", "Add()": "+", "ReLU()": "relu()", "concatenate()": "cat()"}


def equal_in_keras(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that are equal together."""
    return [
        *_spread_with_its_loss(edits),
        *_scaling_moved(edits),
        *_whole_buffer(edits),
        *_moved_into_function(edits),
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
