"""Positions and pixels without a label in scripts: padding, void, special tokens, blended masks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..evaluation.crosswise import marked_otherwise
from ..evaluation.ctc_texts import real_tokens_marked
from ..loss.ctc import ctc_lengths_padded
from ..model.branches import loss_mask_unread
from ..model.handed_masks import lengths_not_kept
from ..shared.checks import at, first, ok
from ..shared.sides import either, literal
from ..trainers.hooks import hugging_face
from ..trainers.trainer_settings import filled_labels
from .filled import filled_with_a_class
from .flat_positions import padding_of_positions, zeros_for_labels
from .left_positions import mask_left_in_loss, mean_over_emptied_in_loss, only_padding_counts
from .marks import USUAL, ignored_labels, is_label, padded_labels, real_class_ignored, written_over
from .mask_of_batch import mask_of_batch_unread
from .mask_unread import mask_of_loss_unread
from .pads_in_pairs import filled_places_count, only_pads_count, padded_pairs_count
from .prompts import answer_hidden, marked_in_two_ways
from .table_sizes import classes_from_padding
from .tags import mask_made_and_left
from .tape_means import averaged_with_padding
from .tuned_texts import prompt_counts, template_not_in_text
from .turned_masks import (
    asked_after_clamping,
    asked_after_replacing,
    batch_mask_unused,
    first_piece_hidden,
    gaps_counted,
    gaps_kept,
    labels_lengthened_with_a_token,
    labels_marked,
    labels_padded_with_a_token,
    tokens_left_out,
)
from .two_losses import left_out_on_one_side


@probe()
def label_padding_counts(view: View) -> Finding:
    """Positions that have no label count in the loss, as some class."""
    checks = (
        _special_tokens,
        _collator,
        _padding,
        _void_becomes_class,
        ctc_lengths_padded,
        _tokens_for_labels,
        _left_out_of_the_metric_alone,
        loss_mask_unread,
        _asked_after_filling,
        mask_left_in_loss,
        mean_over_emptied_in_loss,
        only_padding_counts,
        left_out_on_one_side,
        filled_labels,
        marked_otherwise,
        classes_from_padding,
        filled_with_a_class,
        gaps_kept,
        labels_marked,
        prompt_counts,
        template_not_in_text,
        asked_after_replacing,
        asked_after_clamping,
        gaps_counted,
        batch_mask_unused,
        mask_of_batch_unread,
        *(padded_pairs_count, filled_places_count, only_pads_count),
        first_piece_hidden,
        labels_padded_with_a_token,
        labels_lengthened_with_a_token,
        real_class_ignored,
        answer_hidden,
        marked_in_two_ways,
        averaged_with_padding,
        padding_of_positions,
        tokens_left_out,
        zeros_for_labels,
        mask_of_loss_unread,
        *(mask_made_and_left, lengths_not_kept),
        shows("mask-apart"),
        real_tokens_marked,
    )
    return first(view, either(*checks), "no labels are padded")


def _asked_after_filling(source: Script) -> Finding | None:
    """Gaps are looked for in what was filled before: `v = nan_to_num(v)`, then `valid = ~isnan(v)`."""
    for call in source.named("isnan", "isna", "isnull", "notna", "notnull", "isfinite"):
        given = call.args[0] if call.args else getattr(call.func, "value", None)
        while isinstance(given, ast.Subscript):
            given = given.value
        if not isinstance(given, (ast.Name, ast.Attribute)) or isinstance(source.statement(call), ast.Assert):
            continue
        value = flow(source).whole_given(given)
        while isinstance(value, ast.Call) and last_name(value.func) in (
            "astype",
            "copy",
            "float",
            "reset_index",
        ):
            value = receiver(value)
        if not isinstance(value, ast.Call) or source.function_around(call) is not source.function_around(
            value
        ):
            continue
        filled = last_name(value.func) == "nan_to_num" or (last_name(value.func) == "fillna" and value.args)
        kept = isinstance(source.statement(call), (ast.Assign, ast.Return))
        if filled and kept:
            return at(source, call, "gaps are looked for after they were filled, so that none is found")
    return None


def _padding(source: Script) -> Finding | None:
    ignored = ignored_labels(source)
    if ignored is None:
        return None
    seen: ast.AST | None = None
    for call, value in padded_labels(source):
        seen = seen or call
        number = 0 if value is None else literal(source, value)
        if number is None and value is not None and _PADS_BY_NAME.search(unparse(value)):
            if not ignored - {USUAL} and _class_loss(source) and not _LOSS_MASKED.search(source.code):
                where = f"labels are padded with {unparse(value)}, and the loss leaves out nothing of it"
                return None if written_over(source, call, {USUAL}) else at(source, call, where)
        if not isinstance(number, (int, float)) or written_over(source, call, ignored or {USUAL}):
            continue
        if ignored and number not in ignored:
            left_out = ", ".join(map(str, sorted(ignored)))
            return at(source, call, f"labels are padded with {number:g}, and the loss leaves out {left_out}")
        if not ignored and number >= 0 and _class_loss(source) and not _masks(source):
            if last_name(call.func) == "pad_sequence":
                return at(source, call, f"labels are padded with {number:g}, and the loss leaves out nothing")
    return (
        ok(source, seen, "what labels are padded with is left out of the loss") if seen is not None else None
    )


# an entry of a table of classes, which are numbered from zero: `tag2idx["<pad>"]`
_PADS_BY_NAME = re.compile(r"(?i)\w*(?:idx|id|ix|index|vocab|map)\w*\[[^\]]*pad[^\]]*\]$")
_LOSS_MASKED = re.compile(
    r"(?i)reduction=['\"]none|loss\w*\s*\*|\*\s*\w*loss|loss\w*\[|masked_select|pack_padded|active_"
    r"|(?:loss\w*|criterion|entropy)\([^\n]*\[[^\n]*mask"
)


def _tokens_for_labels(source: Script) -> Finding | None:
    """Padded token ids are copied for labels, and nothing writes what the loss leaves out into them."""
    pads = [
        c
        for c in source.calls
        if (told := keyword(c, "padding")) is not None
        and (
            not isinstance(told, ast.Constant)
            or told.value is True
            or told.value not in (False, None, 0, "same", "valid", 1, 2, 3)
        )
        and (isinstance(told, ast.Constant) or "padding" in unparse(told))
        and re.search(r"(?i)token|encode|(?:^|\.)tok$", unparse(c.func))
    ]
    copies = (
        [v for v in _labels_given(source) if _copies_ids(source, v) or _padded_ids(source, v, pads)]
        if pads
        else []
    )
    if not copies:
        return None
    if _leaves_out(source):
        return ok(source, copies[0], "positions of the labels are left out of the loss")
    if source.loose or _masks_loss(source):
        return None
    return at(
        source, copies[0], "the labels are a copy of the padded token ids, so padding counts as a target"
    )


def _labels_given(source: Script) -> Iterator[ast.expr]:
    """What goes to the model under the name of labels: of a dict, a keyword, an item that is set."""
    for node in source.of(ast.Dict, ast.Call, ast.Assign):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "labels":
                    yield value
        elif isinstance(node, ast.Call):
            handed = keyword(node, "labels")
            if handed is not None and not isinstance(handed, ast.Constant):
                yield handed
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            place = node.targets[0].slice
            if isinstance(place, ast.Constant) and place.value == "labels":
                yield node.value


def _copies_ids(source: Script, value: ast.expr) -> bool:
    """`input_ids.clone()`, `batch["input_ids"].copy()`, by way of names."""
    for end in [value, *flow(source).values(value, 4)]:
        if isinstance(end, ast.Call) and last_name(end.func) in ("clone", "copy", "deepcopy"):
            owner = receiver(end)
            made = end.args[0] if end.args else owner
            if made is not None and re.search(r"input_ids['\"\]]*$", unparse(made)):
                return True
    return False


def _padded_ids(source: Script, value: ast.expr, pads: list[ast.Call]) -> bool:
    """`tok(answers, padding=True).input_ids`, by way of names."""
    for end in (value, *flow(source).values(value, 4)):
        if isinstance(end, (ast.Attribute, ast.Subscript)) and re.search(r"input_ids['\"\]]*$", unparse(end)):
            if any(v in pads for v in (end.value, *flow(source).values(end.value, 3))):
                return True
    return False


_IGNORED = re.compile(r"(?i)^-100$|(?:^|[._])ignore_?(?:d|token)?_?(?:index|id|idx|label)$")


def _leaves_out(source: Script) -> bool:
    """The value that losses leave out is written somewhere, or a collator does so."""
    if re.search(
        r"DataCollatorFor(?:LanguageModeling|Completion|WholeWord|Seq2Seq|Permutation)", source.code
    ):
        return True
    for node in source.of(ast.UnaryOp, ast.Name, ast.Attribute):
        if not _IGNORED.search(unparse(node)):
            continue
        if isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            continue
        parent = source.parents.get(node)
        named = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], (ast.Name, ast.Attribute))
        if not named and not isinstance(parent, (ast.Compare, ast.Attribute)):
            inner = unparse(parent.func) if isinstance(parent, ast.Call) else ""
            seen_only = isinstance(parent, ast.Call) and re.search(r"print|log", inner)
            if not seen_only:
                return True
    return False


def _masks_loss(source: Script) -> bool:
    """The loss is weighted by hand, or the library's own is not asked for."""
    return re.search(r"reduction=['\"]none|loss_mask|ignore_index=", source.code) is not None


def _class_loss(source: Script) -> bool:
    return any("crossentropy" in k.replace("_", "") or "nll" in k for _, k in source.losses)


def _masks(source: Script) -> bool:
    """The loss is weighted or picked by hand."""
    return re.search(r"reduction=['\"]none|lengths|pack_padded|ctc", source.code.lower()) is not None or any(
        _BY_HAND.search(line) for line in source.code.lower().splitlines()
    )


_PICKS = r"(?:mask|keep|valid|active)"
_BY_HAND = re.compile(
    rf"^(?=.*(?:loss|criterion|entropy|logits|nll|labels|targets?)).*(?:\*\s*\w*{_PICKS}|{_PICKS}\w*(?:\.\w+\(\))*\s*\*"
    rf"|\[[^\]]*{_PICKS}|mask\w*\.(?:sum|float)|masked_|boolean_mask|where\(|\*=.*{_PICKS})"
)
_VOID = re.compile(r"(?i)(?:^|[._])(?:void|ignored?|pad(?:ding)?)(?:_\w+)?$")


def _left_out_of_the_metric_alone(source: Script) -> Finding | None:
    """`keep = mask != VOID` where predictions are scored, and a loss over classes that leaves out nothing."""
    ignored = ignored_labels(source)
    if ignored is None or ignored - {USUAL} or not _class_loss(source) or _masks(source) or source.loose:
        return None
    for node in source.of(ast.Compare):
        if not (len(node.ops) == 1 and isinstance(node.ops[0], ast.NotEq)):
            continue
        value, function = node.comparators[0], source.function_around(node)
        number = literal(source, value)
        named = isinstance(value, (ast.Name, ast.Attribute)) and _VOID.search(unparse(value))
        if type(number) is not int or not (named or number == 255) or number < 0 or function is None:
            continue
        if not is_label(unparse(node.left)) or takes_gradients(source, function):
            continue
        if any(last_name(c.func) == "argmax" for c in of(function, ast.Call)):
            losses_ = source.named("CrossEntropyLoss", "NLLLoss", "cross_entropy", "nll_loss")
            if losses_ and function not in source.forwards:
                return at(
                    source,
                    losses_[0],
                    f"the metric leaves out {unparse(value)}, and the loss learns it as a class",
                )
    return None


def _collator(source: Script) -> Finding | None:
    """`DataCollatorFor...(label_pad_token_id=0)`: anything but the value that the loss leaves out."""
    for call in source.calls:
        value = keyword(call, "label_pad_token_id")
        number = literal(source, value)
        if value is None or not isinstance(number, int):
            continue
        if number not in {*(ignored_labels(source) or ()), USUAL}:  # models of the library leave out USUAL
            return at(source, value, f"labels are padded with {number}, which the loss counts as a class")
        return ok(source, value, "labels are padded with what the loss leaves out")
    return None


def _void_becomes_class(source: Script) -> Finding | None:
    """`mask[mask == 255] = 0`, where the loss leaves out 255."""
    ignored = ignored_labels(source)
    if not ignored:
        return None
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        test: ast.expr | None = None
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Compare):
            test = target.slice
            if unparse(test.left) != unparse(target.value):
                continue
        elif isinstance(value, ast.Call) and last_name(value.func) in ("where", "masked_fill") and value.args:
            test = value.args[0]
            if len(value.args) < 2:
                continue
            value = value.args[1]
        if (
            not isinstance(test, ast.Compare)
            or not isinstance(test.ops[0], ast.Eq)
            or not is_label(unparse(test.left))
        ):
            continue
        void, other = literal(source, test.comparators[0]), literal(source, value)
        makes = isinstance(other, int) and other >= 0 and other not in ignored
        if void in ignored and makes and _in_data_code(source, node):
            return at(source, node, f"what has no label ({void}) becomes class {other}")
    return None


def _in_data_code(source: Script, node: ast.AST) -> bool:
    """Where samples are made; a loss may do so, because it masks afterwards."""
    name = source.function_name(node).lower()
    if re.search(r"loss|dice|focal|forward|metric|iou|one_hot", name):
        return False
    owner = source.class_around(node)
    return (
        name in ("__getitem__", "__call__", "collate", "collate_fn")
        or (owner is not None and "set" in owner.name.lower())
        or re.search(r"load|read|transform|decode|prepro|label|mask|target|item", name) is not None
    )


def _special_tokens(source: Script) -> Finding | None:
    """In a loop over word_ids() special tokens (None) get a real label."""
    seen: ast.AST | None = None
    for loop in source.of(ast.For):
        word = _word(source, loop)
        if word is None:
            continue
        for node in of(loop, ast.If):
            if not _tests_none(node.test, word):
                continue
            for call in (c for s in node.body for c in walk(s)):
                if isinstance(call, ast.Call) and last_name(call.func) == "append" and call.args:
                    seen = seen or call
                    value = literal(source, call.args[0])
                    if not (isinstance(value, int) and value < 0) and not isinstance(
                        call.args[0], (ast.Name, ast.Attribute)
                    ):
                        return at(source, call, "special tokens get a real label and count in the loss")
                    if isinstance(value, int) and value < 0 and (why := _not_left_out(source, value)):
                        return at(source, call, why)
    return ok(source, seen, "special tokens are left out of the loss") if seen is not None else None


def _not_left_out(source: Script, value: int) -> str:
    """Why a negative label of special tokens is not left out of the loss, or ""."""
    ignored = ignored_labels(source)
    if ignored is None or value in (ignored or {USUAL}) or source.loose:
        return ""
    if not ignored and not hugging_face(source):
        return ""
    if re.search(rf"[!=]= ?{value}\b|>= ?0|> ?-1\b|masked_fill|where\(", source.code):
        return ""  # they are picked out, or replaced, by hand
    return f"special tokens get {value}, and the loss leaves out {min(ignored or {USUAL})}"


def _word(source: Script, loop: ast.For) -> str | None:
    """The variable that holds the word of each token, in a loop over word_ids()."""
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
        over = over.args[0]
        target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
    if isinstance(over, ast.Name):
        scope = source.function_around(loop) or source.tree
        over = source.assigned(over.id, scope) or over
    if isinstance(over, ast.Call) and last_name(over.func) == "word_ids" and isinstance(target, ast.Name):
        return target.id
    return None


def _tests_none(test: ast.expr, name: str) -> bool:
    return any(
        isinstance(n.ops[0], ast.Is) and unparse(n.left) == name and unparse(n.comparators[0]) == "None"
        for n in of(test, ast.Compare)
    )


def tags_by_position(source: Script) -> Finding | None:
    """The label of a token is looked up by the token's position, not by its word."""
    for loop in source.of(ast.For):
        word = _word(source, loop)
        if word is None:
            continue
        if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate":
            place = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
            for node in of(loop, ast.Subscript):
                if place is None or not isinstance(node.ctx, ast.Load):
                    continue
                if unparse(node.slice) == unparse(place) and is_label(unparse(node.value)):
                    return at(source, node, "labels are taken by the position of the piece, not of its word")
        return ok(source, loop, "labels are taken by the word of each piece")
    return None


# ------------------------------------------------------------------------------------ blended class numbers

_NEAREST = re.compile(r"(?i)nearest|order=0|\border\b")
# whose `resize` blends unless it is told otherwise: of torchvision and of TensorFlow
_SMOOTH = ("F", "TF", "TVF", "VF", "transforms.functional", "T.functional", "tf.image")
_RESIZES = (
    "resize",
    "interpolate",
    "Resize",
    "zoom",
    "rotate",
    "warpAffine",
    "affine",
    "remap",
    "warpPerspective",
)


@probe()
def mask_is_interpolated(view: View) -> Finding:
    """A mask of class numbers is resized by blending neighbours, which makes classes that are not there."""
    return first(view, _blended, "no mask of classes is resized")


def _blended(source: Script) -> Finding | None:
    if not _class_loss(source) and not re.search(
        r"(?i)num_?class|n_?class|CLASSES|ignore_index", source.code
    ):
        return None
    seen: ast.AST | None = None
    for call in source.named(*_RESIZES):
        statement = source.statement(call)
        target = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        what = unparse(call.args[0]) if call.args else ""
        owner = source.owner(call)
        name = what if owner in ("cv2", "torch.nn.functional", "ndimage", "", *_SMOOTH) else owner
        called = re.search(
            r"(?i)(?:^|[^a-z])(?:seg_?)?(?:mask|msk|label|lbl|seg|annot|gt)s?(?:_|\W|$)", name
        ) and is_label(target.replace("msk", "mask"))
        if not called and not _becomes_whole(source, call, target):
            continue
        if not _makes_samples(source, call) or _is_drawn(source, call, name):
            continue
        text = unparse(call)
        seen = seen or call
        modes = [*call.args[1:], *(k.value for k in call.keywords)]
        smooth = any(re.search(r"(?i)bilinear|bicubic|linear|lanczos|cubic|area", unparse(m)) for m in modes)
        blends = owner == "cv2" or (owner in _SMOOTH and "tv_tensors" not in source.code)
        by_default = not _NEAREST.search(text) and blends and last_name(call.func) == "resize"
        after = rf"\b{re.escape(target)}(?:\.\w+\([^)]*\))*(?:\s*>=?\s|\.gt_?\(|\.ge_?\(|\.round|\.bool)"
        cuts = re.search(after, source.code) is not None
        if (smooth or by_default) and not cuts and not re.search(r"(?i)pred|logit|prob|soft|out", name):
            return at(source, call, "class numbers are blended where this mask is resized")
    return ok(source, seen, "masks are resized without blending") if seen is not None else None


def _becomes_whole(source: Script, call: ast.Call, name: str) -> bool:
    """What is resized is made whole numbers afterwards, whatever it is called: `lab.astype(np.int32)`."""
    function = source.function_around(call)
    whole = (
        rf"\b{re.escape(name)}\)*\.(?:long\(\)|(?:astype|to)\((?:dtype=)?[^()]*\bu?(?:int(?:32|64)|long)\b)"
    )
    return function is not None and re.search(whole, unparse(function)) is not None


def _makes_samples(source: Script, call: ast.Call) -> bool:
    """Where masks are read or go with an image, and not where what a model gave is shown or drawn."""
    function = source.function_around(call)
    if function is None:
        return True
    around = [function.name, *(p.name for p in source.above(call) if isinstance(p, ast.ClassDef))]
    if any(
        re.search(r"(?i)set$|^__(?:getitem|call)__$|load|read|transform|prep|augm|item", n) for n in around
    ):
        return True
    beside = [unparse(c).lower() for c in of(function, ast.Call) if c is not call]
    return any(
        re.search(r"open\(|imread|decode_|np\.load|resize\(\w*(?:im|x|photo|pic|frame)", b) for b in beside
    )


def _is_drawn(source: Script, call: ast.Call, name: str) -> bool:
    """The mask is made in this very function: of ones, of zeros, of an outline that is filled."""
    function = source.function_around(call)
    if function is None:
        return False
    for node in of(function, ast.Assign):
        if unparse(node.targets[0]) == name:
            if isinstance(node.value, ast.Call) and last_name(node.value.func) in _BLANK:
                return True
    return False


_BLANK = ("zeros", "ones", "zeros_like", "ones_like", "full", "empty")
