"""Edits that belong together and undo one another: what moved, what is written by hand on one side."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....engine.model import Place
from ...script_diff.edit import Edit, LeftOut
from ...script_diff.marks import STRUCTURE
from .equal_edits import making_up
from .topics import one_of


def paired_off(edits: Sequence[Edit]) -> list[Edit]:
    """An activation that moved between the last layer and a loss that is told of it: `from_logits`."""
    told = [e for e in edits if e.within and e.within[0].endswith(".from_logits")]
    moved = [
        e
        for e in edits
        if (e.within and e.within[0].endswith(".activation") and (e.gone | e.new) & _OUTPUTS)
        or (told and e.kind in _LAYER_EDITS and (e.gone | e.new) & _OUTPUT_CALLS and "loss" not in e.roles)
    ]
    moved = [e for e in moved if any(_hands_over(t, e) for t in told)]
    both = [*told, *moved] if moved else []
    both += [*_batches_by_hand(edits), *_drawn_again(edits), *_both_shaped(edits), *_rate_for_log(edits)]
    return [
        *both,
        *_averaged_by_hand(edits),
        *_accumulated(edits),
        *_attention(edits),
        *_rescheduled(edits),
        *_taken_apart(edits),
        *_scaled_elsewhere(edits),
        *_marked_later(edits),
        *making_up(edits),
    ]


_LAYER_EDITS = ("wrapped", "unwrapped", "added", "removed", "argument-added", "argument-removed")


_OUTPUT_CALLS = frozenset({"softmax()", "sigmoid()", "Softmax()", "Sigmoid()"})


def _hands_over(told: Edit, moved: Edit) -> bool:
    """Whether the loss no longer takes scores where the model got an activation, or the other way round."""
    activated = bool(moved.new & (_OUTPUTS | _OUTPUT_CALLS))
    scores = "True" in told.new  # the loss now takes scores
    return activated != scores


def _batches_by_hand(edits: Sequence[Edit]) -> list[Edit]:
    """Both names that a loader gave are items of arrays now: `x, y` -> `inputs[rows], labels[rows]`."""
    lines: dict[tuple[Place | None, Place | None], list[Edit]] = {}
    for e in edits:
        if e.kind == "name" and e.split != "eval":
            lines.setdefault((e.mine, e.theirs), []).append(e)
    found: list[Edit] = []
    for mine in lines.values():
        roles = {r for e in mine for r in e.roles[:1]}
        items = all(e.mine_code.count("[") >= 2 > e.theirs_code.count("[") for e in mine)
        if roles & {"loss.target", "labels"} and roles & {"inputs", "loss.prediction"} and items:
            found += mine
    return found


def _both_shaped(edits: Sequence[Edit]) -> list[Edit]:
    """An axis of size one that the prediction keeps, and that the target gets, or the other way round."""
    sides: dict[str, list[tuple[Edit, int]]] = {"loss.prediction": [], "loss.target": []}
    for e in edits:
        role = e.roles[:1]
        more = bool(e.new & _AXIS or e.gone & _NO_AXIS) - bool(e.gone & _AXIS or e.new & _NO_AXIS)
        if role and role[0] in sides and more and e.kind in ("wrapped", "unwrapped") and e.split != "eval":
            sides[role[0]].append((e, more))
    given, wanted = sides.values()
    found = [(a, b) for a, by in given for b, like in wanted if by == like]
    return [e for pair in found for e in pair]


_AXIS, _NO_AXIS = frozenset({"unsqueeze()", "expand_dims()"}), frozenset({"squeeze()"})


def _rate_for_log(edits: Sequence[Edit]) -> list[Edit]:
    """A Poisson loss that is told of rates, and a model that makes the rate itself: `log_input=False`."""
    told = [e for e in edits if e.within and e.within[0].endswith(".log_input")]
    made = [e for e in edits if e not in told and e.split != "eval" and (e.gone | e.new) & _POSITIVE]
    scored = [e for e in edits if e.split == "eval" and (e.gone | e.new) & _POSITIVE]
    fits = [m for t in told for m in made if ("False" in t.new) == bool(m.new & _POSITIVE)]
    return [*told, *fits, *scored] if fits else []


_POSITIVE = frozenset({"exp()", "softplus()"})


def _drawn_again(edits: Sequence[Edit]) -> list[Edit]:
    """Samples put into an order by chance in place, and now by their places, or back."""
    before = [e for e in edits if e.gone & _CHANCE and not e.new & _CHANCE]
    after = [e for e in edits if e.new & _CHANCE and not e.gone & _CHANCE]
    return [*before, *after] if before and after else []


_CHANCE = frozenset({"shuffle()", "permutation()", "randperm()"})


def _rescheduled(edits: Sequence[Edit]) -> list[Edit]:
    """A rate that was set by hand and now is by a schedule's object, or back: one course in two ways."""
    found: list[Edit] = []
    for side, other in (("gone", "new"), ("new", "gone")):
        by_hand = [
            e
            for e in edits
            if e.kind in ("added", "removed")
            and getattr(e, side) & _RATES
            and ({"schedule", "step"} & set(e.roles) or "param_groups" in getattr(e, side))
        ]
        stepped = [
            e
            for e in edits
            if getattr(e, other) & {"step()", "scheduler_step()"}
            and any(one_of(getattr(e, other), p) for p in _SCHEDULE)
        ]
        found += [*by_hand, *stepped] if by_hand and stepped else []
    for e in edits:
        if (
            e.kind == "replaced"
            and (e.gone | e.new) & _OWN_COURSE
            and (e.gone | e.new) & {"cos()", "/", "own()"}
        ):
            found.append(e)
    longer = [e for e in edits if e.kind in ("wrapped", "unwrapped") and {"*", "len()"} <= e.gone | e.new]
    longer = [e for e in longer if "schedule" in e.roles]
    handed = [
        e
        for e in edits
        if e.kind.startswith("argument-") and any(one_of(e.gone | e.new, p) for p in _SCHEDULE)
    ]
    return found + (longer + handed if longer and handed else [])


_RATES = {"lr", "learning_rate"}


_OWN_COURSE = {"LambdaLR()", "SequentialLR()", "ChainedScheduler()", "MultiplicativeLR()"}


_SCHEDULE = (
    "$:*LR",
    "*LR()",
    "$:*Scheduler*",
    "$:*schedul*",
    "$*sched*",
    "scheduler",
    "lr_scheduler",
    "sched",
)


def _taken_apart(edits: Sequence[Edit]) -> list[Edit]:
    """Axes that are parted, joined or named by another function than before: what stands where is not seen.

    Scores of (batch, classes, length) instead of flat ones, and labels that are not flattened, are one loss.
    """
    lines = {
        (e.mine, e.theirs)
        for e in edits
        if e.kind in ("replaced", "expression", "wrapped", "unwrapped", "name") and (e.gone | e.new) & _PARTED
        if core(e.gone) and core(e.new) and not (e.gone | e.new) & _SUMMED and not _scrambles(e)
    }
    for e in edits:
        if (
            e.kind == "replaced"
            and "loss.prediction" in e.roles
            and (e.gone | e.new) & {"transpose()", "permute()"}
        ):
            flat = [x for x in edits if (x.mine, x.theirs) == (e.mine, e.theirs) and "loss.target" in x.roles]
            if all((x.gone | x.new) & {"flatten()", "view()"} for x in (e, *flat)) and flat:
                lines.add((e.mine, e.theirs))
    return [e for e in edits if (e.mine, e.theirs) in lines]


def _scrambles(edit: Edit) -> bool:
    """The last axis taken apart, for a view that has it in front: `x.unbind(-1)` -> `x.view(2, *shape)`."""
    parted = {"unbind.dim", "chunk.dim", "split.dim"} & edit.gone and "-1.0" in edit.gone
    return bool(parted) and "view()" in edit.new and not {"transpose()", "permute()", "movedim()"} & edit.new


_SUMMED = frozenset(
    {"sum()", "mean()", "max()", "min()", "amax()", "std()", "var()", "norm()", "@", "matmul()", "bmm()"}
)


_PARTED = frozenset(
    {"chunk()", "split()", "unbind()", "tensor_split()", "unfold()", "rearrange()", "einsum()", "unstack()"}
)


def _attention(edits: Sequence[Edit]) -> list[Edit]:
    """Attention written out, for the operator that has the scale, the mask and the softmax in it."""
    fused = [e for e in edits if "scaled_dot_product_attention()" in e.gone | e.new]
    parts = [e for e in edits if (e.gone | e.new) & _OF_ATTENTION]
    if not fused or not any("softmax()" in e.gone | e.new or "$:softmax" in e.gone | e.new for e in parts):
        return []
    masks = [e for e in edits if (e.gone | e.new) & _TRIANGLES]
    masked = bool(masks) or any("masked_fill()" in e.gone | e.new for e in parts)
    told = any(w.endswith((".attn_mask", ".is_causal")) for e in fused for w in e.gone | e.new)
    return [*fused, *parts, *masks] if told or not masked else []


_TRIANGLES = {"tril()", "triu()", "$:tril", "$:triu"}


_OF_ATTENTION = {"softmax()", "$:softmax", "sqrt()", "masked_fill()", "@", "matmul()", "einsum()"}


def _averaged_by_hand(edits: Sequence[Edit]) -> list[Edit]:
    """A sum that is divided by its count, for a mean; a division of the loss for one of its gradients."""
    summed = [e for e in edits if e.kind == "wrapped" and {"/", "'sum'"} <= e.new]
    asked = [e for e in edits if "'sum'" in e.new and e.within and e.within[0].endswith(".reduction")]
    shared = [e for e in edits if "/" in e.new and "loss" in e.roles and e.new & _COUNTS]
    if asked and shared and all(e.split != "eval" for e in (*asked, *shared)):
        summed += [*asked, *shared]
    lines = {(e.mine, e.theirs) for e in summed}
    found = [e for e in edits if (e.mine, e.theirs) in lines]
    for a in edits:
        for b in edits:
            names = {w for w in a.new & b.gone if w.startswith("$") and ":" not in w}
            if "/" in a.new and {"grad"} <= b.gone and b.gone & {"div_()", "/"} and names:
                found += [a, b]
    return found


def _accumulated(edits: Sequence[Edit]) -> list[Edit]:
    """Batches in parts, rightly: `(loss / n).backward()`, and a step and a clearing once in n of them.

    A batch of an nth of the benchmark's belongs to it.
    """
    found: list[Edit] = []
    for divided in (e for e in edits if e.kind == "wrapped" and "/" in e.new and "backward.self" in e.within):
        for turn in (e for e in edits if e.kind == "condition-added" and "%" in e.new):
            counts = [_COUNT_OF_PARTS.search(e.mine_code) for e in (divided, turn)]
            if None in counts or len({c.group(1) for c in counts if c}) > 1:
                continue
            if not {"step()", "zero_grad()"} <= set(turn.within):
                continue
            cleared = [e for e in edits if e.kind == "moved" and {"zero_grad()", "after step()"} <= e.new]
            shares = [1.0 / float(c) for c in divided.new if c.replace(".", "", 1).isdigit()]
            parts = [e for e in edits if "batch_size" in e.text and e.ratio and e.ratio in shares]
            found += [divided, turn, *cleared, *parts]
    return found


_COUNT_OF_PARTS = re.compile(r"[/%] ?([\w.]+)\)?(?:\.backward| ?==)")


_COUNTS = {"size()", "numel()", "len()", "shape", "count_nonzero()", "nelement()"}


_OUTPUTS = {"'softmax'", "'sigmoid'"}


def _scaled_elsewhere(edits: Sequence[Edit]) -> list[Edit]:
    """Inputs of both sides that were scaled on their way and now are in the model; a scaling in two steps.

    `Normalize(MEAN, STD)` of values up to 255, and `Rescale(1 / 255, 0)` before figures divided by 255.
    """
    found: list[Edit] = []
    gone = [e for e in edits if e.gone & _SCALES and not e.new & _SCALES]
    new = [e for e in edits if e.new & _SCALES and not e.gone & _SCALES]
    sides = {e.split for e in gone}
    inside = [e for e in new if e.within and e.within[0].startswith(("Sequential", "SequentialCell"))]
    if inside and (sides >= {"train", "eval"} or sides == {""}):
        found += [*gone, *inside]
    for e in gone:
        here = [x for x in new if (x.mine, x.theirs) == (e.mine, e.theirs)]
        steps = {w for x in here for w in x.new}
        if "Rescale()" in steps and e.gone & {"Normalize()"} and {"Normalize()", "255.0", "/"} <= steps:
            if any({"Normalize()", "255.0", "/"} <= x.new for x in here):
                found += [e, *here]
    return found


_SCALES = frozenset({"Rescaling()", "Rescale()", "Normalization()", "Normalize()"})


def _marked_later(edits: Sequence[Edit]) -> list[Edit]:
    """Labels filled up with something else, and the filled positions marked by a line of their own after."""
    filled = [e for e in edits if _MARK in e.gone - e.new and e.within[:1] and "pad" in e.within[0]]
    marked = [e for e in edits if e.kind == "added" and _MARK in e.new and e.new & _MARKED_BY]
    return [*filled, *marked] if filled and marked else []


_MARK = "-100.0"  # of positions that the loss leaves out
_MARKED_BY = {"masked_fill()", "masked_fill_()", "where()", "fill"}


def turned(edit: Edit, other: Edit) -> bool:
    """The mark moved from one part of a list of labels to another: what counted is left out, and back."""
    same = (edit.mine, edit.theirs) == (other.mine, other.theirs)
    moved = (edit.gone, edit.new) == (other.new, other.gone)
    return same and moved and "label" in edit.key and _MARK in edit.gone | edit.new


def stands_elsewhere(edit: Edit, every: Sequence[Edit]) -> bool:
    """Whether all that is gone in one place is new in another, or the other way round: it was moved."""
    if edit.new & STRUCTURE:
        return False
    if edit.kind in ("argument-added", "argument-removed"):
        return any(_same_argument(edit, other) for other in every)
    if edit.kind not in ("added", "removed", "wrapped", "unwrapped", "expression"):
        return False
    gone, new = core(edit.gone), core(edit.new)
    for other in every:
        if other is not edit and other.kind != "moved" and not turned(edit, other):
            if gone and not new and gone <= core(other.new) - core(other.gone):
                return True
            if new and not gone and new <= core(other.gone) - core(other.new):
                return True
    return False


def made_before(edit: Edit, lines: Sequence[LeftOut]) -> bool:
    """Whether all that is new in one place stood, or gone now stands, where a layer or helper is made.

    `self.block(x)` and its layers called one by one: relu as a layer, and as a function.
    """
    if edit.kind not in ("added", "removed", "wrapped", "unwrapped", "expression", "replaced"):
        return False
    for mine, words, other in ((False, edit.new, edit.gone), (True, edit.gone, edit.new)):
        names = {n.lower().replace("_", "") + "()" for line in lines for n in line.layers} - _LAYERS
        names |= {"sequential()", "sequentialcell()", "modulelist()"}
        done = core(words) - core(other) - names
        held = {w for line in lines if line.mine is mine for w in core(line.words)}
        if not done & _LAYERS or not done <= held:
            continue
        if not core(other) - core(words) - names - _OF_SHAPES:
            return True
    return False


_LAYERS = frozenset(
    {"relu()", "gelu()", "silu()", "tanh()", "sigmoid()", "elu()", "leakyrelu()", "dropout()", "dropout2d()"}
    | {"maxpool2d()", "avgpool2d()", "maxpool1d()", "flatten()"}
)


def _same_argument(a: Edit, b: Edit) -> bool:
    """An argument of a line that is given at another place, or by its name, or to what is new for it."""
    for gone, new in ((a.gone, b.new), (a.new, b.gone)):
        single = {w for w in gone if w.startswith("$") and not w.startswith("$:")}
        if (
            len(single) == 1
            and single <= new
            and "own()" in new
            and gone <= {*single, *(w for w in gone if w[:2] == "$:")}
        ):
            return True
    if {a.kind, b.kind} != {"argument-added", "argument-removed"} or (a.mine, a.theirs) != (b.mine, b.theirs):
        return False
    mine, theirs = ({w for w in e.gone | e.new if w != "label-value"} for e in (a, b))
    named = any("$" in w for w in mine)
    other = [e.within[:1] and e.within[0].rpartition(".")[2] for e in (a, b)]
    return named and mine == theirs and other[0] != other[1] and any(str(o).startswith("#") for o in other)


def core(words: frozenset[str]) -> frozenset[str]:
    """Calls and operators among words."""
    done = {w for w in words if w.endswith("()") or (w and not w[0].isalnum() and w[0] not in "$'_-")}
    if {"train()", "eval()", "set_train()", "zero_grad()", "reset()"} & done:
        done = {w for w in done if not w[:1].isupper()}  # of what class the object is matters no more
    done = {w.lower().replace("_", "") for w in done}  # a layer, or the function that it calls
    done = {"shuffle()" if w in _SHUFFLES else w for w in done}
    return frozenset(done - _OF_SHAPES or done)


_SHUFFLES = ("permutation()", "randperm()", "permuted()", "shuffled()")


# axes and shapes are written in many ways around what matters
_OF_SHAPES = frozenset(
    {"view()", "reshape()", "flatten()", "squeeze()", "unsqueeze()", "transpose()", "permute()", "size()"}
    | {"contiguous()", "item()", "detach()", "float()"}
)
