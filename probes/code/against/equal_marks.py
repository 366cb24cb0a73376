"""Labels left out, orders and weights in other spellings: another mark, a mask turned twice, a default."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from math import prod

from ...script_diff.edit import Edit
from .equal_ways import both_ways, close_by

_MARK = re.compile(
    r"(?i)(?:^|_)(?:pad|ignored?|void|no_?label|no_?data|unlabel\w*|missing|unknown|unsure)(?:_|$)"
)
_NUMBER = re.compile(r"^-?\d+(?:\.\d+)?$")
_MIXES = 1000  # samples of a buffer that mixes well enough, whatever another program takes


def equal_marks(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that leave the same labels out, mix as well, or only say what holds anyway."""
    return [
        *(
            e
            for e in edits
            if _says_default(e)
            or _sorted_within(e)
            or _not_nan(e)
            or _negative_left_out(e)
            or _put_where(e)
            or _large_buffer(e)
            or _sampled_whole(e)
        ),
        *_another_mark(edits),
        *_turned_twice(edits),
        *_drawn_by_sampler(edits),
        *_shuffled_behind(edits),
        *_filled_behind(edits),
        *_balanced_by_draws(edits),
    ]


def _says_default(edit: Edit) -> bool:
    """`label_pad_token_id=-100`, `nrows=None`: written out, or left to the library."""
    if edit.kind not in ("argument-added", "argument-removed") or not edit.within:
        return False
    told = edit.new or edit.gone
    name = edit.within[0].rpartition(".")[2]
    if name in ("label_pad_token_id", "ignore_index"):
        return told == {"-100.0"}
    if name == "shuffle" and edit.within[0].startswith(_SHUFFLED_ANYWAY):
        return edit.kind == "argument-removed" or told == {"True"}
    return told == {"None"} and name in ("nrows", "sampler", "batch_sampler", "weight", "limit")


# data sets of MindSpore come in an order by chance where nothing is said
_SHUFFLED_ANYWAY = ("GeneratorDataset.", "ImageFolderDataset.", "MindDataset.", "NumpySlicesDataset.")


def _sorted_within(edit: Edit) -> bool:
    """`sorted((rows[k] for k in order[i:j]), key=len)`: the samples of one batch, whose order is nothing."""
    code = edit.mine_code if "sorted()" in edit.new - edit.gone else edit.theirs_code
    return (
        "sorted()" in edit.new ^ edit.gone and re.search(r"sorted\(.*\[[^\[\]]+:[^\[\]]+\]", code) is not None
    )


def _not_nan(edit: Edit) -> bool:
    """`isfinite(y)` for `~isnan(y)`, or `nan_to_num(y, nan=v)` for `where(mask, y, v)`; or back."""
    for one, other in both_ways(edit):
        if {"isnan()", "not"} <= one and {"isfinite()"} <= other and len(one | other) == 3:
            return True
        if edit.kind == "replaced" and "where()" in one and "nan_to_num()" in other:
            return True
    return edit.kind == "name" and edit.within[:1] == ("nan_to_num.#0",)


def _negative_left_out(edit: Edit) -> bool:
    """`labels >= 0` for `labels != -100`, or back: no class has a negative number."""
    codes = [edit.mine_code, edit.theirs_code]
    for one, other in (codes, codes[::-1]):
        first, second = re.search(r"(\w+) != -1(?:00)?\b", one), re.search(r"(\w+) (?:>= 0|> -1)\b", other)
        if first and second and first[1] == second[1]:
            return one.replace(first[0], "") == other.replace(second[0], "")
    return False


def _put_where(edit: Edit) -> bool:
    """`x = where(x < 0, v, x)` for `x[x < 0] = v`, or back."""
    codes = [edit.mine_code, edit.theirs_code]
    for one, other in (codes, codes[::-1]):
        put = re.fullmatch(r"(\w+)\[(.+)\] = (.+)", one)
        if put and re.fullmatch(
            rf"{put[1]} = (?:\w+\.)*where\({re.escape(put[2])}, {re.escape(put[3])}, {put[1]}\)", other
        ):
            return True
    return False


def _large_buffer(edit: Edit) -> bool:
    """`shuffle(20 * BATCH)` for `shuffle(len(files))`, or back: both mix well."""
    if edit.within[:1] not in (("shuffle.#0",), ("shuffle.buffer_size",)) or edit.kind not in (
        "expression",
        "constant",
    ):
        return False
    numbers = [float(w) for w in edit.new if _NUMBER.match(w)]
    plain = edit.new <= {"*", "len()"} | {w for w in edit.new if _NUMBER.match(w) or w[:1] == "$"}
    return plain and bool(numbers) and prod(numbers) >= _MIXES


def _sampled_whole(edit: Edit) -> bool:
    """`random.sample(x, len(x))` for `random.shuffle(x)`, or back."""
    codes = [edit.mine_code, edit.theirs_code]
    drawn = any(re.search(r"\bsample\((\w+), (?:k=)?len\(\1\)\)", c) for c in codes)
    return drawn and bool({"shuffle()", "sample()"} & (edit.gone | edit.new))


def _another_mark(edits: Sequence[Edit]) -> list[Edit]:
    """What has no label is marked by another value wherever it is put, and the loss leaves out that one."""
    found: list[Edit] = []
    for e in edits:  # a name that all read: a negative number is no class
        constant = e.kind == "constant" and e.within == ("assign.value",)
        if (
            constant
            and _MARK.search(e.key)
            and all(_negative(w) for w in e.new)
            and all(map(_NUMBER.match, e.gone))
        ):
            found.append(e)
    marks = [e for e in edits if e.kind == "constant" and len(e.gone) == len(e.new) == 1 and e not in found]
    told = [e for e in edits if e.within and e.within[0].endswith((".ignore_index", ".mask_value"))]
    for pair in {(w, v) for e in marks for w in e.gone for v in e.new}:
        old, new = pair
        put = [e for e in marks if (*e.gone, *e.new) == pair]
        left_out = [e for e in told if (e.gone or {"-100.0"}) == {old} and (e.new or {"-100.0"}) == {new}]
        named = any(_MARK.search(w) for e in put for w in re.findall(r"\w+", e.mine_code + e.theirs_code))
        if left_out and any(e not in left_out for e in put) and (_negative(new) or named):
            found += [*put, *left_out]
    return found


def _negative(word: str) -> bool:
    return _NUMBER.match(word) is not None and float(word) < 0


def _turns(edit: Edit) -> bool:
    """A mask's turning: `~`, `not`, `1 -`, ones for zeros, or back."""
    alone = edit.gone ^ edit.new
    if edit.kind in ("wrapped", "unwrapped"):
        return "not" in alone or ({"1.0", "-"} <= alone and "/" not in alone)
    return edit.kind == "replaced" and {"zeros()", "ones()"} <= alone


def _turned_twice(edits: Sequence[Edit]) -> list[Edit]:
    """A mask that tells the others from the start, and is turned where it is used; with what is put in it."""
    turned = [e for e in edits if _turns(e)]
    if len({(e.mine, e.theirs) for e in turned}) != 2:
        return []
    beside = [e for e in edits if e.kind == "constant" and e.gone | e.new == {"True", "False"}]
    swapped = [e for e in edits if e.within[:1] in (("where.#1",), ("where.#2",))]
    return [*turned, *beside, *swapped]


def _drawn_by_sampler(edits: Sequence[Edit]) -> list[Edit]:
    """`sampler=RandomSampler(data)` for `shuffle=True`, or back; weighted draws are by chance as well."""
    found = []
    for e in edits:
        if not e.within or not e.within[0].endswith(".sampler"):
            continue
        if not {"RandomSampler()", "WeightedRandomSampler()"} & (e.gone | e.new):
            continue
        beside = [o for o in edits if o.within and o.within[0].endswith(".shuffle") and _one_line(o, e)]
        found += [*beside, *([e] if "RandomSampler()" in e.gone | e.new else [])]
    return found


def _one_line(a: Edit, b: Edit) -> bool:
    return (a.mine, a.theirs) == (b.mine, b.theirs) or close_by(a, b, 1)


def _shuffled_behind(edits: Sequence[Edit]) -> list[Edit]:
    """`data = data.shuffle(n)` for `shuffle=True` where the data are made, or back."""
    for e in edits:
        if not e.within or not e.within[0].endswith(".shuffle"):
            continue
        forward = e.new <= {"False"}
        for o in edits:
            words = o.new - o.gone if forward else o.gone - o.new
            sizes = [float(w) for w in words if _NUMBER.match(w)]
            kept = re.match(r"(\w+) = \1\b.*\.shuffle\(", o.mine_code if forward else o.theirs_code)
            if "shuffle()" in words and kept and all(s > 100 for s in sizes) and close_by(o, e, 8):
                return [e, o]
    return []


def _filled_behind(edits: Sequence[Edit]) -> list[Edit]:
    """`x = zeros(n)` and `x[:] = v` for `x = full(n, v)`, or back."""
    for e in edits:
        if e.kind != "replaced" or not {"full()"} & (e.gone | e.new):
            continue
        for o in edits:
            code = o.mine_code if o.kind == "added" else o.theirs_code
            put = (
                re.fullmatch(r"(\w+)\[(?::|\.\.\.)\] = (.+)", code)
                if o.kind in ("added", "removed")
                else None
            )
            made = f"{e.mine_code} {e.theirs_code}"
            if put and re.search(rf"\b{put[1]} = (?:\w+\.)*full\(.*, {re.escape(put[2])}\b", made):
                return [e, o]
    return []


def _balanced_by_draws(edits: Sequence[Edit]) -> list[Edit]:
    """Classes weighed by how often their samples are drawn, and before that in the loss; or back."""
    draws = [e for e in edits if "WeightedRandomSampler()" in e.gone ^ e.new]
    weighs = [e for e in edits if _weighs(e)]
    other = [e for e in weighs if any(("WeightedRandomSampler()" in d.new) != bool(e.new) for d in draws)]
    return list(chain(draws, weighs)) if draws and other and len(other) == len(weighs) else []


def _weighs(edit: Edit) -> bool:
    one_sided = edit.kind in ("argument-added", "argument-removed")
    return one_sided and bool(edit.within) and edit.within[0].endswith((".weight", ".pos_weight"))
