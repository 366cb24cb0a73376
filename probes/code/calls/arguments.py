"""Arguments of framework calls in scripts that mean the opposite of what is handed over."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..labels.tags import words_taken_for_texts
from ..mindspore.cells import padding_refused
from ..mindspore.ports import gradient_of_other, shape_wanted, share_to_drop_kept
from ..model.causal import own_place_hidden, past_hidden
from ..model.drop_by_hand import kept_share_misplaced
from ..model.handed_masks import padding_is_seen
from ..model.recurrent import recurrent_keeps
from ..model.transformers import layers_behind
from ..shared.checks import at, first, ok
from ..shared.shares import DROP, KEEP, complement_of_drop, is_turned, names_keep, plain
from ..shared.sides import behind, either
from .old_device import wrapped_before_initialized


@probe()
def argument_inverted(view: View) -> Finding:
    """A dropout gets the share to keep, or a mask marks the tokens instead of the padding, or the past.

    PyTorch and Keras take the share to drop (TensorFlow 1 and MindSpore's first argument that to keep), and
    PyTorch's `key_padding_mask` is True where nothing is to be seen. MindSpore's `LayerNorm` refuses a
    number, and its `value_and_grad` takes gradients of the inputs unless it is told of weights. Apex's
    `initialize` refuses a model that is wrapped already. False
    positive: names that mean the opposite of what they say.
    """
    return first(
        view,
        either(
            *(padding_refused, _keeps, recurrent_keeps, _cells_kept, _shows_padding),
            *(past_hidden, own_place_hidden, words_taken_for_texts, padding_is_seen),
            *(
                kept_share_misplaced,
                share_to_drop_kept,
                shape_wanted,
                gradient_of_other,
                wrapped_before_initialized,
            ),
        ),
        "the scripts call no dropout and hand over no mask",
    )


_DROPOUTS = re.compile(r"^(?:Alpha|Feature|Spatial|Variational)?_?[Dd]rop(?:out)?(?:[123][dD])?$|^DropPath$")


def _keeps(source: Script) -> Finding | None:
    if not {"pytorch", "keras", "mindspore", "tensorflow"} & set(source.frameworks):
        return None
    seen = None
    for call in source.calls:
        name = last_name(call.func)
        if source.owner(call) in ("tf.nn", "tf.layers", "layers") and name == "dropout":
            if (why := _in_graph(source, call)) is not None:
                return at(source, call, why)
            continue
        if name in _AMONG_OTHERS and (found := _among_others(source, call)) is not None:
            return found
        if not _DROPOUTS.match(name) or name in source.classes or source.owner(call) in ("tf.nn", "ops", "P"):
            continue
        if name in flow(source).functions:
            continue
        if "mindspore" in source.frameworks and keyword(call, "p") is None:
            continue  # before 2.0 the first argument was the share to keep; `p` has always been that to drop
        layer = name[0].isupper()
        rate = keyword(call, "p") or keyword(call, "rate")
        place = 0 if layer else 1
        rate = rate or argument(call, position=place)
        if rate is None or isinstance(rate, ast.Constant):
            continue
        seen = seen or call
        if names_keep(source, rate):
            return at(source, call, "this takes the share to drop, and is given the share to keep")
        if complement_of_drop(rate):
            return at(source, call, "this takes the share to drop, and is given what is left of it")
    return ok(source, seen, "dropout is given the share to drop") if seen is not None else None


# layers of PyTorch that take a share to drop beside other things: the place of it, and its name
_AMONG_OTHERS = {
    "TransformerEncoderLayer": (3, "dropout"),
    "TransformerDecoderLayer": (3, "dropout"),
    "Transformer": (5, "dropout"),
    "MultiheadAttention": (2, "dropout"),
    "scaled_dot_product_attention": (4, "dropout_p"),
}


def _among_others(source: Script, call: ast.Call) -> Finding | None:
    name = last_name(call.func)
    if "pytorch" not in source.frameworks or name in source.classes or name in flow(source).functions:
        return None
    place, word = _AMONG_OTHERS[name]
    rate = argument(call, word, position=place)
    if rate is not None and not isinstance(rate, ast.Constant) and names_keep(source, rate):
        return at(source, call, f"`{word}` is the share to drop, and is given the share to keep")
    return None


def _in_graph(source: Script, call: ast.Call) -> str | None:
    """TensorFlow 1 has both: `rate=` is the share to drop, `keep_prob=` that to keep."""
    rate, keep = keyword(call, "rate"), keyword(call, "keep_prob")
    second = argument(call, position=1)
    if source.owner(call) == "tf.layers" or (source.owner(call) == "layers" and "contrib" not in source.code):
        rate = rate or second
    elif source.owner(call) == "tf.nn" and _ONLY_FIRST.search(source.code):
        keep = keep or second
    if keep is not None and _complement_of_keep(source, keep):
        return "this takes the share to keep, and is given what is left of it"
    if rate is not None and not isinstance(rate, ast.Constant):
        text = plain(rate)
        if KEEP.search(text) and not is_turned(source, rate):
            return "`rate` is the share to drop, and is given the share to keep"
        if re.fullmatch(r"1(?:\.0)? - .*", text) and DROP.search(text) and "keep" not in text.lower():
            return "`rate` is the share to drop, and is given what is left of it"
    if keep is not None and not isinstance(keep, ast.Constant):
        much = any(
            isinstance(v, ast.Constant) and isinstance(v.value, float) and v.value > 0.5
            for v in flow(source).values(keep, 3)
        )  # `dropout = 0.8`: what is kept, whatever its name
        named = re.fullmatch(r"[\w.]+", plain(keep)) and DROP.search(plain(keep))
        if named and not much and not is_turned(source, keep):
            return "`keep_prob` is the share to keep, and is given the share to drop"
    return None


# what TensorFlow 2 does not have: there the second argument of `tf.nn.dropout` is the share to drop
_ONLY_FIRST = re.compile(
    r"\btf\.(?:placeholder|Session|get_variable|app\.flags|contrib|train\.\w+Optimizer)\b"
)


def _complement_of_keep(source: Script, node: ast.expr) -> bool:
    """`1 - keep_prob` of a share that is fed or told as the share to keep."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)):
        return False
    text = plain(node.right)
    return (
        unparse(node.left) in ("1", "1.0")
        and KEEP.search(text) is not None
        and not is_turned(source, node.right)
    )


def _cells_kept(source: Script) -> Finding | None:
    """`DropoutWrapper(cell, output_keep_prob=1 - keep_prob)`, also where the share is handed on."""
    if "tensorflow" not in source.frameworks:
        return None
    seen = None
    for call in source.named("DropoutWrapper"):
        for told in call.keywords:
            if told.arg not in ("input_keep_prob", "output_keep_prob", "state_keep_prob"):
                continue
            seen = seen or call
            for end in behind(source, told.value):
                parts = [end.body, end.orelse] if isinstance(end, ast.IfExp) else [end]
                wrong = [p for p in parts if _complement_of_keep(source, p)]
                if wrong:
                    return at(
                        source, wrong[0], "this takes the share to keep, and is given what is left of it"
                    )
                names = [p for p in parts if isinstance(p, (ast.Attribute, ast.Subscript))]
                for name in names:
                    text = plain(name)
                    if DROP.search(text) and not KEEP.search(text) and not is_turned(source, name):
                        return at(
                            source, name, "this takes the share to keep, and is given the share to drop"
                        )
    return ok(source, seen, "cells are given the share to keep") if seen is not None else None


_MASKS = ("key_padding_mask", "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask")
_PAD = re.compile(r"(?i)(?:^|[._])(?:\w+_)?pad(?:ding)?(?:_?(?:id|idx|index|token|token_id|value))?$|^0$")


def _shows_padding(source: Script) -> Finding | None:
    seen = None
    for call in source.calls:
        if last_name(call.func) in source.classes or last_name(call.func) == "forward":
            continue
        for word in _MASKS:
            given = keyword(call, word)
            if given is None or not _of_torch(source, call):
                continue
            seen = seen or call
            for value in [given, *flow(source).values(given, 4)]:
                if _marks_tokens(source, value):
                    return at(
                        source, call, f"{word} is True where nothing is to be seen, and marks the tokens"
                    )
    return ok(source, seen, "padding masks mark the padding") if seen is not None else None


def _of_torch(source: Script, call: ast.Call) -> bool:
    """The mask goes to a layer of PyTorch, not to one of the script whose mask may mean the opposite."""
    if isinstance(call.func, ast.Subscript):  # `net["encoder"](h, src_key_padding_mask=m)`
        named = isinstance(call.func.slice, ast.Constant) and isinstance(call.func.slice.value, str)
        own = {a.arg for f in source.of(ast.FunctionDef) for a in of(f.args, ast.arg)}
        return named and bool(source.named("TransformerEncoderLayer")) and not own & set(_MASKS)
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return False
    made = layers_behind(source, call.func)
    return any(
        re.fullmatch(r"MultiheadAttention|Transformer(?:Encoder|Decoder)?(?:Layer)?", last_name(m.func))
        and last_name(m.func) not in source.classes
        for m in made
    )


def _marks_padding(value: ast.expr) -> bool:
    """`ids == PAD`, `ids.eq(PAD)`."""
    if isinstance(value, ast.Compare) and len(value.ops) == 1 and isinstance(value.ops[0], ast.Eq):
        other, left = unparse(value.comparators[0]), unparse(value.left)
    elif isinstance(value, ast.Call) and last_name(value.func) == "eq" and len(value.args) == 1:
        other, left = unparse(value.args[0]), unparse(value.func)
    else:
        return False
    return _PAD.search(other) is not None and "mask" not in left.lower()


def _marks_tokens(source: Script, value: ast.expr) -> bool:
    """`ids != PAD`, `ids.ne(PAD)`, `attention_mask.bool()`, `attention_mask == 1`; not their opposite."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Invert):
        return any(_marks_padding(v) for v in (value.operand, *flow(source).values(value.operand, 3)))
    if isinstance(value, ast.Compare) and len(value.ops) == 1:
        other, left = unparse(value.comparators[0]), unparse(value.left)
        if isinstance(value.ops[0], ast.NotEq) and _PAD.search(other):
            return not re.search(r"(?i)mask", left)
        about_mask = re.search(r"(?i)attention_mask|(?:^|_)attn_mask$", left) is not None
        return about_mask and (
            (isinstance(value.ops[0], ast.Eq) and other in ("1", "True"))
            or (isinstance(value.ops[0], (ast.NotEq, ast.Gt)) and other == "0")
        )
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "ne" and value.args and _PAD.search(unparse(value.args[0])):
            return not re.search(r"(?i)mask", unparse(value.func.value))
        if value.func.attr == "bool":
            return re.search(r"(?i)(?:^|[._'\[])attention_mask['\]]*$", unparse(value.func.value)) is not None
    return False
