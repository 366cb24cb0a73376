"""Edits that are another way to one thing: masks by lengths, causal masks, factors of a rate, lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...script_diff.edit import Edit
from .written_alike import alike_together, written_alike

_PADS = re.compile(r"^-?\d+\.0$|^\$?(?:\w*_)?(?:PAD|pad|IGNORE|ignore)\w*$")
_LENGTHS = re.compile(r"(?i)^\$?(?:\w*_)?len(?:gth)?s?$")
_RATES = re.compile(
    r"^\$?(?:\w*_)?(?:lr|rate|learning_rate)$|^\$(?:args|cfg|config|opt|self|hparams|settings)$"
)
_MADE = re.compile(r"\w+\(\)$|^\$:")


def equal_ways(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that are equal by themselves or together."""
    return [
        *(e for e in edits if _as_field(e) or _as_truth(e) or _loss_by_hand(e) or _metric_by_name(e)),
        *(e for e in edits if written_alike(e)),
        *alike_together(edits),
        *_masked_by_length(edits),
        *_causal(edits),
        *_factor(edits),
        *_padded_before(edits),
        *_collected_apart(edits),
        *_pooled_by_the_base(edits),
        *_augmented_when_read(edits),
        *_ordered_before(edits),
        *_last_axis(edits),
        *_untaped(edits),
        *_unpacked(edits),
        *_activated_apart(edits),
    ]


def both_ways(edit: Edit) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """What an edit takes away and what it brings, and the same read from the other script."""
    yield edit.gone, edit.new
    yield edit.new, edit.gone


def _as_field(edit: Edit) -> bool:
    """`weights` -> `self.weights`: kept by the object."""
    if edit.kind != "name":
        return False
    for one, other in both_ways(edit):
        plain = {w for w in one if not _MADE.search(w)}
        kept = {w for w in other if not _MADE.search(w)}
        if len(plain) == 1 and kept == {"$self", min(plain).removeprefix("$")}:
            return True
    return False


def _as_truth(edit: Edit) -> bool:
    """`target > 0.5` -> `target.astype(bool)`: labels of zeros and ones."""
    if edit.kind not in ("expression", "wrapped", "unwrapped") or edit.roles[:1] != ("labels",):
        return False
    return any(
        one and one <= {">", "0.5", "0.0"} and other and other <= {"$bool", "bool", "astype()", "bool()"}
        for one, other in both_ways(edit)
    )


def _loss_by_hand(edit: Edit) -> bool:
    """Keras: `compile(loss=Huber())` -> `compile(loss=my_loss)`: what such a function does is not read."""
    if edit.within[:1] != ("compile.loss",) or edit.kind != "expression":
        return False
    return any(
        len(one) == 1
        and min(one).startswith("$")
        and ":" not in min(one)
        and other
        and min(other).endswith("()")
        for one, other in both_ways(edit)
    )


_ACCURACY = {
    "'accuracy'",
    "'acc'",
    "'sparse_categorical_accuracy'",
    "SparseCategoricalAccuracy()",
    "SparseCategoricalAccuracy.name",
}


def _metric_by_name(edit: Edit) -> bool:
    """Keras: `metrics=["accuracy"]` -> `metrics=[SparseCategoricalAccuracy()]`."""
    return (
        "compile.metrics" in edit.within[:2]
        and bool(edit.gone | edit.new)
        and edit.gone | edit.new <= _ACCURACY
    )


def _masked_by_length(edits: Sequence[Edit]) -> Iterator[Edit]:
    """`tags != PAD` -> `arange(n) < lengths`: where padding stands behind what is there; or back."""
    for edit in edits:
        for by_value, rest in both_ways(edit):
            if "!=" not in by_value or not any(_PADS.match(w) for w in by_value):
                continue
            near = [e for e in edits if e is edit or (e.key == edit.key and e.kind in ("added", "removed"))]
            forward = by_value == edit.gone
            done = rest.union(*(e.new if forward else e.gone for e in near))
            if (
                {"arange()", ">"} <= done
                and any(_LENGTHS.match(w) for w in done)
                and not done & {"+", "-", ">="}
            ):
                yield from near


def _causal(edits: Sequence[Edit]) -> list[Edit]:
    """`masked_fill(tril(ones) == 0)` -> `masked_fill(triu(ones, diagonal=1))`: what comes later is hidden."""
    for edit in edits:
        for low, high in both_ways(edit):
            if "tril()" not in low or "triu()" not in high:
                continue
            code = edit.mine_code if high == edit.new else edit.theirs_code
            if not re.search(r"triu\(.*(?:diagonal=|, )1\)", code):
                continue
            turned = [
                e
                for e in edits
                if e.within[:1] in (("masked_fill.mask",), ("where.#0",))
                and any(w <= (e.gone if high == edit.new else e.new) for w in ({"==", "0.0"}, {"not"}))
            ]
            lines = {(e.mine, e.theirs) for e in (edit, *turned)}
            if turned:
                return [e for e in edits if (e.mine, e.theirs) in lines]
    return []


def _factor(edits: Sequence[Edit]) -> list[Edit]:
    """`group["lr"] = rate(step)` -> `LambdaLR(optimizer, factor)`: by the rate of the optimizer."""
    by_hand = any("param_groups" in (e.gone | e.new) and e.kind in ("added", "removed") for e in edits)
    by_class = any(w.endswith("LambdaLR") or w == "LambdaLR()" for e in edits for w in (*e.gone, *e.new))
    if not by_hand or not by_class:
        return []
    inside = [e for e in edits if "schedule" in e.roles and e.within[-1:] == ("return.value",)]
    plain = {"*", "/", "1.0", "1"}
    if all(_RATES.match(w) or w in plain for e in inside for w in (*e.gone, *e.new)):
        return inside
    return []


def _padded_before(edits: Sequence[Edit]) -> list[Edit]:
    """Samples padded by the tokenizer to one length, for a collator that pads; or back."""
    padding = [e for e in edits if e.within[:1] == ("tokenizer.padding",) and e.kind.startswith("argument")]
    collators = [
        e
        for e in edits
        if e.within[:1] == ("Trainer.data_collator",) and "DataCollatorWithPadding()" in e.gone | e.new
    ]
    for one in padding:
        for other in collators:
            if ("DataCollatorWithPadding()" in other.gone) == bool(one.new & {"'max_length'"}):
                return [one, other]
    return []


def _collected_apart(edits: Sequence[Edit]) -> Iterator[Edit]:
    """`out.append((score, label))` -> `scores.append(score)` and `labels.append(label)`; or back."""
    held = [e for e in edits if e.within[:1] in (("append.self",), ("append.#0",))]
    for edit in edits:
        if edit.kind not in ("added", "removed") or "append()" not in edit.gone | edit.new:
            continue
        beside = [e for e in held if close_by(e, edit, 2)]
        renamed = any(e.within[:1] == ("append.self",) for e in beside)
        if renamed:
            yield from (edit, *beside)


def close_by(a: Edit, b: Edit, lines: int = 4) -> bool:
    """Whether two edits stand within a few lines of one file, on either side."""
    return any(
        x is not None
        and y is not None
        and x.file == y.file
        and x.line is not None
        and y.line is not None
        and abs(x.line - y.line) <= lines
        for x, y in ((a.mine, b.mine), (a.theirs, b.theirs))
    )


_POOLS = {
    "'avg'": ("GlobalAveragePooling2D()", "GlobalAvgPool2D()"),
    "'max'": ("GlobalMaxPooling2D()", "GlobalMaxPool2D()"),
}


def _pooled_by_the_base(edits: Sequence[Edit]) -> list[Edit]:
    """Keras: `ResNet50(pooling="avg")` for a layer that pools behind it; or back."""
    for told in edits:
        if not told.within[:1] or not told.within[0].endswith(".pooling"):
            continue
        layers = {c for w in told.gone | told.new for c in _POOLS.get(w, ())}
        away = "removed" if told.kind == "argument-added" else "added"
        moved = [e for e in edits if e.kind == away and layers & (e.gone | e.new)]
        if moved:
            return [told, *moved]
    return []


_CUTS = re.compile(r"\[(-?\w*:-?\w*)\]")
_OF_ORDER = re.compile(
    r"^slice$|^\$:(?:randperm|permutation|sorted|argsort)$|^\$each-\d$|^(?:array|list|randperm)\(\)$"
)


def _ordered_before(edits: Sequence[Edit]) -> list[Edit]:
    """`[rows[i] for i in order[:n]]` of each part, for `rows = rows[order]` and `rows[:n]`; or back."""
    for one in edits:
        if one.kind not in ("added", "removed") or not one.gone | one.new:
            continue
        done = one.new or one.gone
        names = {w for w in done if w.startswith("$") and ":" not in w}
        ordered = re.search(r"\[\w+\]$", one.mine_code or one.theirs_code) is not None
        cut = [
            e
            for e in edits
            if e.kind == "expression"
            and (e.gone if one.new else e.new) & names
            and all(_OF_ORDER.match(w) or w in names for w in e.gone | e.new)
        ]
        ways = [sorted(set(_CUTS.findall(c))) for e in cut for c in (e.mine_code, e.theirs_code)]
        both = {"train", "eval"} <= {e.split for e in cut} or any(e.split == "" for e in cut)
        if ordered and both and _cut_alike(cut, ways):
            return [one, *cut]
    return []


def _cut_alike(cut: Sequence[Edit], ways: Sequence[Sequence[str]]) -> bool:
    """Whether the places where the rows are cut are the same before and after."""
    before = {c for e in cut for c in _CUTS.findall(e.theirs_code)}
    after = {c for e in cut for c in _CUTS.findall(e.mine_code)}
    return bool(before) and (before <= after or after <= before) and all(ways)


_SUBSCRIPTS = re.compile(r"einsum\(['\"]\s*(\w+)\s*,")


def _last_axis(edits: Sequence[Edit]) -> list[Edit]:
    """`softmax(x, -1)` -> `x.softmax(2)`, where an einsum beside it says that it has three axes."""
    ranks = {len(m) for e in edits for c in (e.mine_code, e.theirs_code) for m in _SUBSCRIPTS.findall(c)}
    axes = [e for e in edits if e.kind == "constant" and e.within and e.within[0].endswith(".dim")]
    if len(ranks) != 1:
        return []
    last = {"-1.0", f"{float(ranks.pop() - 1)}"}
    moved = [e for e in axes if {w for w in e.gone | e.new if re.match(r"-?\d", w)} == last]
    return moved if len(moved) > 1 else []


def _augmented_when_read(edits: Sequence[Edit]) -> list[Edit]:
    """Keras: layers that augment, in the model (`augment(x)`) or over the training data (`map`); or back."""
    for told in edits:
        for over, _ in both_ways(told):
            if not {"map()", "True"} <= over or told.split != "train":
                continue
            names = {w.removesuffix(".training") for w in over if w.endswith(".training")}
            moved = [
                e
                for e in edits
                if e is not told and any(f"{n}()" in (e.gone if over == told.new else e.new) for n in names)
            ]
            if moved:
                return [told, *moved]
    return []


def _untaped(edits: Sequence[Edit]) -> list[Edit]:
    """`fake = g(z).detach()` -> `with torch.no_grad(): fake = g(z)`, or back, of one statement."""
    found: list[Edit] = []
    for block in edits:
        whole = block.new if block.kind == "added" else block.gone if block.kind == "removed" else frozenset()
        if not whole or not whole <= _UNTAPED:
            continue
        for cut in edits:
            one, other = (cut.gone, cut.new) if block.kind == "added" else (cut.new, cut.gone)
            code = cut.mine_code if block.kind == "added" else cut.theirs_code
            alone = all(w.removesuffix("()") in code for w in block.within)
            if one == {"detach()"} and not other and alone and close_by(block, cut, 2):
                found += [block, cut]
    return found


_UNTAPED = frozenset({"no_grad()", "inference_mode()"})


def _unpacked(edits: Sequence[Edit]) -> list[Edit]:
    """`logits, labels = p` -> `logits, labels = p.predictions, p.label_ids`, or back."""
    for whole, single in (("removed", "added"), ("added", "removed")):
        for e in edits:
            held = e.gone | e.new
            if e.kind != whole or len(held) != 1:
                continue
            code = e.mine_code or e.theirs_code
            names = [n.strip() for n in code.partition("=")[0].split(",")]
            asked = zip(names, _FIELDS, strict=False)
            parts = [
                x
                for name, field in asked
                for x in edits
                if x.kind == single and x.key == name and x.gone | x.new == held | {field}
            ]
            if len(parts) == len(names) == len(_FIELDS):
                return [e, *parts]
    return []


_FIELDS = ("predictions", "label_ids")  # of what `compute_metrics` is handed (transformers' EvalPrediction)


def _activated_apart(edits: Sequence[Edit]) -> list[Edit]:
    """`Conv2D(n, 1, activation="softmax")(x)` -> `Softmax()(Conv2D(n, 1)(x))`, or back."""
    for e in edits:
        for one, other in both_ways(e):
            names = [w.strip("'") for w in one if w.startswith("'") and f"{w[1:-1]}()" in other]
            if names and any(w.endswith(".activation") for w in one):
                same = [x for x in edits if (x.mine, x.theirs) == (e.mine, e.theirs)]
                if all(x is e or x.within[:1] == (f"{names[0]}.#0",) for x in same):
                    return same
    return []
