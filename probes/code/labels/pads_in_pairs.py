"""Targets of scripts that a sample fills up with zeros, and losses that count them, or nothing but them."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at

_TARGET = re.compile(r"(?i)^(?:pos|positives?|targets?|tgt|labels?|nxt|next\w*)$")
_ASKS = re.compile(
    r"(?i)(?:pos\w*|neg\w*|target\w*|tgt|labels?|nxt|\by|\bx|seq\w*|ids) ?(?:!=|>) ?0\b|ne\(0|nonzero"
    r"|ignore_index|where\(|!= ?pad|mask(?![=\w])|PAD\b"
)


_HEEDED = re.compile(
    r"(?i)ignore_index|(?:!=|>) ?0\b|!= ?pad|ne\(0|nonzero|(?-i:PAD)\b|(?:loss|pad)\w*_?mask"
)


def padded_pairs_count(source: Script) -> Finding | None:
    """`pos = np.zeros(maxlen)` of a sequence that is shorter, and `-logsigmoid(p).mean()` over all of it."""
    padded = any(
        unparse(k.value) == "0"
        for c in source.named("Embedding")
        for k in c.keywords
        if k.arg == "padding_idx"
    )
    if not padded or _ASKS.search(source.code):
        return None
    filled = [
        n
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call)
        and last_name(n.value.func) in ("zeros", "full")
        and isinstance(n.targets[0], ast.Name)
        and _TARGET.match(n.targets[0].id)
        and re.search(r"(?i)len|max|steps|size", unparse(n.value.args[0]) if n.value.args else "")
    ]
    if not filled:
        return None
    for call in source.named("mean"):
        owner = receiver(call)
        if owner is None or call.args or keyword(call, "dim") is not None:
            continue
        if any(last_name(c.func) in ("logsigmoid", "softplus") for c in of(owner, ast.Call)):
            return at(source, call, "the places that a sequence is filled up with count in the loss")
    for call in source.named("binary_cross_entropy_with_logits"):
        if keyword(call, "weight") is None and keyword(call, "reduction") is None:
            return at(source, call, "the places that a sequence is filled up with count in the loss")
    return None


def filled_places_count(source: Script) -> Finding | None:
    """`return [0] * (n - len(seq)) + seq` for targets too, and `CrossEntropyLoss()` over every place."""
    padded = any(
        k.arg == "padding_idx" and unparse(k.value) == "0"
        for c in source.named("Embedding")
        for k in c.keywords
    )
    if not padded or _HEEDED.search(source.code):
        return None
    fillers = {f.name for f in source.of(ast.FunctionDef) if any(_fills(e) for e in returns(f))}
    targets = [
        out
        for f in source.of(ast.FunctionDef)
        if f.name == "__getitem__"
        for out in of(f, ast.Return)
        if isinstance(out.value, ast.Tuple)
        and len(out.value.elts) == 2
        and all(any(last_name(c.func) in fillers for c in of(e, ast.Call)) for e in out.value.elts)
    ]
    if not targets:
        return None
    for call in source.named("CrossEntropyLoss", "cross_entropy"):
        if any(k.arg in ("ignore_index", "weight", "reduction", None) for k in call.keywords):
            return None
    for call, kind in source.losses:
        every = len(call.args) == 2 and re.search(r"(?:view|reshape|flatten)\(", unparse(call.args[1]))
        if kind.replace("_", "") in ("crossentropyloss", "crossentropy") and every:
            return at(source, call, "the places that a sequence is filled up with count in the loss")
    return None


def _fills(value: ast.expr) -> bool:
    """`[0] * (n - len(seq)) + seq`, or behind it."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return False
    return any(re.match(r"\[0\] \* \(?.*len\(", unparse(s)) for s in (value.left, value.right))


def only_pads_count(source: Script) -> Finding | None:
    """`real = (pos == 0).float()`, and `(loss * real).sum() / real.sum()`: what is left is the padding."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or "sum(" not in unparse(node.right):
            continue
        scope = source.function_around(node)
        loops = source.loops_around(node)
        teaches = bool(loops) and takes_gradients(source, loops[0])
        if not teaches and (scope is None or "loss" not in scope.name.lower()):
            continue
        root = re.match(r"\(?(\w+)", unparse(node.right))
        if root is None or not re.search(rf"\* {root[1]}\b", unparse(node.left)):
            continue
        made = [
            g.value for n in of(node.right, ast.Name) if n.id == root[1] for g in flow(source).all_given(n)
        ]
        if len(made) == 1 and _keeps_zeros(made[0]) and not _other_part(source, made[0]):
            return at(source, node, "what is averaged is padding: the mask keeps the places without a target")
    return None


def _keeps_zeros(value: ast.expr) -> bool:
    tests = of(value, ast.Compare)
    if len(tests) != 1 or re.search(r"~|logical_not|1 - |1\.0 - ", unparse(value)):
        return False
    test = tests[0]
    name = last_name(test.left) if isinstance(test.left, (ast.Name, ast.Attribute)) else ""
    zero = unparse(test.comparators[0]) in ("0", "PAD", "pad_id", "pad", "PAD_ID")
    return isinstance(test.ops[0], ast.Eq) and zero and _TARGET.match(name) is not None


def _other_part(source: Script, value: ast.expr) -> bool:
    """The rest counts elsewhere: one of two terms."""
    test = of(value, ast.Compare)[0]
    left = re.escape(unparse(test.left))
    return re.search(rf"{left} (?:!=|> ?0|== ?1)", source.code) is not None
