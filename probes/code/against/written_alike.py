"""Edits that are one thing in two spellings: counting down, masks written in, byte pictures, resampling."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...script_diff.edit import Edit

_INNER = r"(?:[^(),]|\((?:[^()]|\([^()]*\))*\))+"  # one argument, with calls of two levels in it
_FORMS = (
    (rf"reversed\(range\(({_INNER})\)\)", r"range(\1 - 1, -1, -1)"),
    # `labels[~chosen] = -100`; where only: a mask that is a condition or turned, so no row or column
    (
        r"^(\w+)\[(~\w+|[\w.]+ (?:==|!=|<|<=|>|>=) [\w.]+)\] = (\S+)$",
        r"\1 = \1.masked_fill(\2, \3)",
    ),
    (r"^(\w+)\.masked_fill_\(", r"\1 = \1.masked_fill("),
    (r"^(\w+) = (?:torch|np|tf|ops|F)\.where\((~\w+), (\S+), \1\)$", r"\1 = \1.masked_fill(\2, \3)"),
    # of pictures as bytes (tf.image, torchvision): divided by the largest value of the type
    (
        rf"(?:tf\.)?image\.convert_image_dtype\((?!\S*resize)({_INNER}), (?:dtype=)?tf\.float32\)",
        r"tf.cast(\1, tf.float32) / 255.0",
    ),
    # an image with its rows first, mirrored left to right or upside down
    (r"np\.ascontiguousarray\((\w+\[(?::, )?::-1\])\)", r"\1"),
    (r"\b(\w+)\[:, ::-1\](?:\.copy\(\))?", r"cv2.flip(\1, 1)"),
    (r"\b(\w+)\[::-1\](?:\.copy\(\))?", r"cv2.flip(\1, 0)"),
    (r"np\.fliplr\((\w+)\)(?:\.copy\(\))?", r"cv2.flip(\1, 1)"),
    (r"np\.flipud\((\w+)\)(?:\.copy\(\))?", r"cv2.flip(\1, 0)"),
    # MindSpore: figures of bytes behind a division, and channels put first
    (
        r"((?:\w+\.)*)Rescale\(1(?:\.0)? / 255(?:\.0)?, 0(?:\.0)?\), (?:\w+\.)*Normalize\("
        r"mean=\[(\w+) / 255(?:\.0)? for \2 in ([\w.]+)\], std=\[(\w+) / 255(?:\.0)? for \4 in ([\w.]+)\]",
        r"\1Normalize(mean=\3, std=\5",
    ),
    (
        r"((?:\w+\.)*)HWC2CHW\(\), (?:\w+\.)*Normalize\(([^()]*), is_hwc=False\)",
        r"\1Normalize(\2), \1HWC2CHW()",
    ),
    # torchaudio: an object and a function of one name
    (
        rf"(?:torchaudio\.transforms\.|T\.)?Resample\(({_INNER}), ({_INNER})\)\(({_INNER})\)",
        r"torchaudio.functional.resample(\3, \1, \2)",
    ),
    (r"\b(?:AF|TAF|F)\.resample\(", "torchaudio.functional.resample("),
    # folds of whole groups, by the shares of the classes or not
    (
        r"\b(?:Stratified)?GroupKFold\((?:n_splits=)?([\w.]+)(?:, (?:shuffle|random_state)=[\w.]+)*\)",
        r"GroupKFold(\1)",
    ),
)


def written_alike(edit: Edit) -> bool:
    """The two lines of an edit are equal once known spellings are one."""
    mine, theirs = edit.mine_code, edit.theirs_code
    return bool(mine and theirs) and mine != theirs and _one(mine) == _one(theirs)


def _one(code: str) -> str:
    for form, plain in _FORMS:
        code = re.sub(form, plain, code)
    return code


def alike_together(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that make up one thing written otherwise, or change nothing that is read."""
    return [
        *(e for e in edits if _row_more(e) or _softened_ones(e)),
        *_diagonal_filled(edits),
        *_all_words(edits),
        *_turned_by_a_draw(edits),
        *_cropped_by_offset(edits),
        *_fitted_when_transformed(edits),
        *(e for e in edits if _all_but_the_target(e)),
    ]


_FITTED = re.compile(r"^(\w+) = (\w+\(.*?\))\.fit\((.+)\)$")


def _fitted_when_transformed(edits: Sequence[Edit]) -> list[Edit]:
    """`s = Scaler().fit(x)`, `x = s.transform(x)` for `s = Scaler()`, `x = s.fit_transform(x)`; or back."""
    for one in edits:
        for apart, made in ((one.theirs_code, one.mine_code), (one.mine_code, one.theirs_code)):
            told = _FITTED.match(apart)
            if told is None or made != f"{told[1]} = {told[2]}":
                continue
            two = f"{told[1]}.transform({told[3]})", f"{told[1]}.fit_transform({told[3]})"
            for other in edits:
                codes = [other.theirs_code, other.mine_code]
                codes = codes if apart == one.theirs_code else codes[::-1]
                if two[0] in codes[0] and codes[0].replace(*two) == codes[1]:
                    return [one, other]
    return []


_BUT_TARGET = re.compile(
    r"(?i)\bfor (\w+) in \S.* if \1 (?:not in [(\[{].*|!= ?)\b(?:\w+\.)?(?:target|label)\w*\b"
)


def _all_but_the_target(edit: Edit) -> bool:
    """Names of columns written out, or all columns but the target: `[c for c in table if c != TARGET]`."""
    for listed, chosen in ((edit.theirs_code, edit.mine_code), (edit.mine_code, edit.theirs_code)):
        names = re.match(r"^(\w+) = \[(?:'\w+'(?:, )?)+\]$", listed)
        if names is not None and chosen.startswith(f"{names[1]} = [") and _BUT_TARGET.search(chosen):
            return edit.kind == "expression"
    return False


def _row_more(edit: Edit) -> bool:
    """A table of words with rows that no word asks for."""
    if edit.kind != "wrapped" or edit.within[:1] != ("Embedding.num_embeddings",) or "+" not in edit.new:
        return False
    return not edit.gone and len(edit.new) == 2 and all(_number(w) > 0 for w in edit.new - {"+"})


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return 0.0


def _softened_ones(edit: Edit) -> bool:
    """The judge of two rival networks is asked for 0.9 in place of 1."""
    if edit.kind != "wrapped" or edit.gone or not edit.within[:1] or not edit.within[0].endswith(".target"):
        return False
    numbers = [_number(w) for w in edit.new - {"*"}]
    return "*" in edit.new and len(numbers) == 1 and 0.8 <= numbers[0] < 1 and "ones" in edit.mine_code


def _diagonal_filled(edits: Sequence[Edit]) -> list[Edit]:
    """`sim.fill_diagonal_(-1e9)` for `sim = sim.masked_fill(eye(n).bool(), -inf)`, or back."""
    plain = [e for e in edits if "fill_diagonal_()" in e.gone | e.new and e.kind in ("added", "removed")]
    masked = [
        e for e in edits if {"eye()", "masked_fill()"} <= e.gone | e.new and e.kind in ("added", "removed")
    ]
    for one in plain:
        for other in masked:
            name = (one.mine_code or one.theirs_code).partition(".")[0]
            code = other.mine_code or other.theirs_code
            if one.kind != other.kind and code.startswith(f"{name} = {name}.masked_fill("):
                return [one, other]
    return []


def _all_words(edits: Sequence[Edit]) -> list[Edit]:
    """No bound on the words of a tokenizer, and a table of as many rows as it has words."""
    bounds = [e for e in edits if e.kind == "argument-removed" and e.within[:1] == ("Tokenizer.num_words",)]
    tables = [
        e
        for e in edits
        if e.within[:1] == ("Embedding.num_embeddings",) and {"len()", "word_index", "+"} <= e.new
    ]
    return [*bounds, *tables] if bounds and tables else []


def _turned_by_a_draw(edits: Sequence[Edit]) -> list[Edit]:
    """`random_flip_left_right(x)` for a flip under a number that is drawn, of a picture and its mask."""
    for way in ("left_right", "up_down"):
        drawn = [e for e in edits if e.kind == "removed" and f"random_flip_{way}()" in e.gone]
        plain = [
            e
            for e in edits
            if e.kind == "added" and f"flip_{way}()" in e.new and {"uniform()", "random()"} & set(e.within)
        ]
        if drawn and plain:
            return [*drawn, *plain]
    return []


def _cropped_by_offset(edits: Sequence[Edit]) -> list[Edit]:
    """`x[r:r + 224, c:c + 224]` at a place that is drawn, for `random_crop(x)`; a picture and its mask alike.

    Both have to be cut at the same places: what is cut is compared as it is written.
    """
    cropped = [e for e in edits if "random_crop()" in e.gone and {"slice", "uniform()"} <= e.new]
    for edit in cropped:
        cuts = [
            tuple(m)
            for m in re.findall(
                r"\w+\[(\w+(?:\[\d\])?:[^,\]]+(?:\[\d\])?[^,\]]*), (.+?:[^,]+?)[,\]]", edit.mine_code
            )
        ]
        if len(cuts) == 2 and cuts[0] == cuts[1]:
            return [e for e in edits if (e.mine, e.theirs) == (edit.mine, edit.theirs)]
    return []
