"""Edits of a program that was written anew: what is called, counted, loaded or guarded in an equal way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...script_diff.edit import Edit
from ...script_diff.vocabulary import word_set

_NETS = frozenset(f"{n}()" for n in word_set("model net network module ddp_model"))
_COUNTS = frozenset({"len()", "size()", "size.dim", "shape", "numel()", "shape.0", "0.0"})
_UNTAPED = frozenset({"no_grad()", "inference_mode()"})


def equal_anew(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that are equal by themselves or together."""
    return [
        *(e for e in edits if _another_name(e) or _another_count(e)),
        *_guarded(edits),
        *_loaded_by_hand(edits),
        *_by_default(edits),
        *_scale_taken_out(edits),
    ]


def _scale_taken_out(edits: Sequence[Edit]) -> Iterator[Edit]:
    """MindSpore: the optimizer's `loss_scale` goes where a manager now takes the scale out, or goes with it.

    `FixedLossScaleManager(s, drop_overflow_update=False)` alone leaves this to the optimizer.
    """
    told = [
        e for e in edits if e.kind == "argument-removed" and e.within and e.within[0].endswith(".loss_scale")
    ]
    drops = [e for e in edits if e.within and e.within[0] == "FixedLossScaleManager.drop_overflow_update"]
    others = [e for e in edits if "FixedLossScaleManager.drop_overflow_update" in e.gone]
    if told and (drops or others):
        yield from (*told, *(d for d in drops if d.kind == "argument-removed"))


def _another_name(edit: Edit) -> bool:
    """`net(x)` -> `model(x)`: the model by another name of the usual ones."""
    gone, new = edit.gone & _NETS, edit.new & _NETS
    rest = (edit.gone | edit.new) - _NETS
    calls = all(w.endswith("()") for w in rest)  # what made the model
    return (
        edit.kind in ("replaced", "name") and bool(gone and new) and gone != new and calls and len(rest) < 3
    )


def _another_count(edit: Edit) -> bool:
    """`n += len(y)` -> `n += y.size(0)`: the number of samples."""
    words = edit.gone | edit.new
    return edit.kind == "replaced" and words <= _COUNTS and "len()" in words and "numel()" not in words


def _guarded(edits: Sequence[Edit]) -> Iterator[Edit]:
    """`@torch.no_grad()` over a function for `with torch.no_grad():` in it, or back."""
    over = [e for e in edits if e.kind.startswith("decorator-") and (e.gone | e.new) & _UNTAPED]
    within = [
        e for e in edits if e.kind in ("added", "removed") and (e.gone | e.new) and e.gone | e.new <= _UNTAPED
    ]
    for one in over:
        beside = [e for e in within if e.kind != one.kind.removeprefix("decorator-")]
        if beside:
            yield from (one, *beside)


def _loaded_by_hand(edits: Sequence[Edit]) -> Iterator[Edit]:
    """`resnet50(weights=...)` -> `resnet50()` and `load_state_dict(torch.load(...))`, or back."""
    asked = [
        e
        for e in edits
        if e.kind in ("argument-removed", "argument-added", "constant")
        and e.within
        and e.within[0].endswith((".weights", ".pretrained"))
    ]
    for one in asked:
        off = one.kind == "argument-removed" or bool(one.new & {"None", "False"})
        loads = [
            e
            for e in edits
            if e.kind == ("added" if off else "removed")
            and {"load_state_dict()", "load()"} <= (e.new if off else e.gone)
        ]
        if loads:
            yield from (one, *loads)


def _by_default(edits: Sequence[Edit]) -> Iterator[Edit]:
    """A number written out, for an argument whose default it is, or back."""
    defaults = [e for e in edits if e.kind == "constant" and e.within[:1] == ("default.value",)]
    for one in edits:
        numbers = {w for w in one.gone | one.new if _number(w)}
        names = {w for w in one.gone | one.new if w.startswith("$") and ":" not in w}
        if one in defaults or len(numbers) != 1 or len(names) != 1 or len(one.gone | one.new) != 2:
            continue
        made = [e for e in defaults if numbers <= (e.new if names <= one.new else e.gone)]
        if made:
            yield from (one, *made)


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
