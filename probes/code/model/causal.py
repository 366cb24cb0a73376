"""Masks of order in scripts: which positions attention hides, by a triangle and how it is used.

A triangle is followed through names, buffers, negations and casts to the scores that it is written into. What
should be hidden is what lies above the diagonal: a position may look at itself and at what stands before it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal


@dataclass(frozen=True)
class Triangle:
    """Where a mask is true. `above`: where column - row >= `offset`; else where it is <= `offset`."""

    above: bool
    offset: int
    boolean: bool = False
    added: bool = False  # it holds minus infinity there, and is added to the scores

    def turned(self) -> Triangle:
        """The rest of the square."""
        return Triangle(not self.above, self.offset + (-1 if self.above else 1), True, False)


_NEGATIVE = re.compile(
    r"inf\b|^-(?:\d+\.?\d*e\+?\d+|\d{3,})|finfo\(|\.min\b|NEG|neg_|big_neg|mask_value", re.I
)
_FILLS = ("masked_fill", "masked_fill_", "where", "select")
_CASTS = frozenset(
    [
        *(
            "bool",
            "to",
            "type",
            "astype",
            "cuda",
            "float",
            "view",
            "reshape",
            "unsqueeze",
            "expand",
            "repeat",
        ),
        *(
            "cast",
            "expand_dims",
            "type_as",
            "contiguous",
            "clone",
            "detach",
            "asarray",
            "array",
            "from_numpy",
        ),
        *("squeeze", "tensor", "Tensor", "constant", "broadcast_to", "Parameter", "byte", "int", "half"),
    ]
)


def past_hidden(source: Script) -> Finding | None:
    """A layer or function is handed a mask the wrong way round: it hides what stands before a position."""
    return _past_hidden(source, by_hand=False)


def past_hidden_by_hand(source: Script) -> Finding | None:
    """Scores are filled by a mask the wrong way round: a position sees what follows it, and foretells it."""
    return _past_hidden(source, by_hand=True)


def _past_hidden(source: Script, by_hand: bool) -> Finding | None:
    seen = None
    for node, hidden in _hides(source):
        if (not isinstance(node, ast.Call) or last_name(node.func) in _FILLS) is not by_hand:
            continue
        seen = seen or node
        if not hidden.above:
            return at(
                source, node, "this mask hides what stands before a position, and shows what follows it"
            )
    return ok(source, seen, "what follows a position is hidden from it") if seen is not None else None


def next_is_seen(source: Script) -> Finding | None:
    """The diagonal of the mask is off: each position sees the next one, which it has to predict."""
    seen = None
    for node, hidden in _hides(source):
        seen = seen or node
        if hidden.above and hidden.offset > 1:
            return at(source, node, "the diagonal of this mask lets each position see what follows it")
    return ok(source, seen, "what follows a position is hidden from it") if seen is not None else None


def own_place_hidden(source: Script) -> Finding | None:
    """`triu(ones, diagonal=0)` hides each position from itself, and the first one sees nothing."""
    for node, hidden in _hides(source):
        if hidden.above and hidden.offset <= 0:
            return at(
                source, node, "this mask hides each position from itself: the first one sees nothing at all"
            )
    return None


def _hides(source: Script) -> Iterator[tuple[ast.AST, Triangle]]:
    """Where scores are hidden: the call or product, and the triangle of what is hidden."""
    if not re.search(r"tril|triu|band_part", source.code):
        return
    mine = flow(source)
    for call in source.calls:
        for mask, shown in _masks_of(mine, call):
            for one, turned in _ways(mine, mask, 6):
                found = _triangle(mine, one, 8)
                if found is not None:
                    yield call, found.turned() if shown is not turned else found
    for node in source.of(ast.BinOp):
        if isinstance(node.op, ast.Mult):
            for mask, value in ((node.left, node.right), (node.right, node.left)):
                if _is_negative(value) and not isinstance(mask, ast.Constant):
                    found = _triangle(mine, mask, 8)
                    if found is not None and not found.added and not _within_triangle(source, node):
                        yield node, found


def _ways(mine: Flow, mask: ast.expr, depth: int) -> Iterator[tuple[ast.expr, bool]]:
    """What a mask that is handed over may be, caller by caller, and whether it is turned round."""
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        yield from ((one, not turned) for one, turned in _ways(mine, mask.operand, depth))
        return
    if isinstance(mask, ast.Compare) and isinstance(mask.left, ast.Name) and len(mask.ops) == 1:
        value = mask.comparators[0]
        if isinstance(mask.ops[0], (ast.Eq, ast.NotEq)) and isinstance(value, ast.Constant):
            if value.value in (0, 1) and mine.given(mask.left) is None:  # `mask == 0` of what is handed over
                other = bool(value.value) is not isinstance(mask.ops[0], ast.Eq)
                yield from ((one, turned is not other) for one, turned in _ways(mine, mask.left, depth))
                return
    handed: list[ast.expr] = []
    if depth > 0 and isinstance(mask, ast.Name) and mine.given(mask) is None:
        handed = [*mine.arguments(mask), *_handed_to_blocks(mine, mask)]
    if not handed:
        yield mask, False
    for one in handed:
        yield from _ways(mine, one, depth - 1)


def _masks_of(mine: Flow, call: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    """Masks that a call applies to scores, and whether they are true where scores are seen."""
    name, args = last_name(call.func), call.args
    if name in ("masked_fill", "masked_fill_"):
        on = 0 if isinstance(call.func, ast.Attribute) and len(args) == 2 else 1
        if len(args) == on + 2 and _is_negative(args[on + 1]) and _near_softmax(mine.source, call):
            yield args[on], False
    elif name in ("where", "select") and len(args) == 3 and _near_softmax(mine.source, call):
        if _is_negative(args[2]):
            yield args[0], True
        elif _is_negative(args[1]):
            yield args[0], False
    elif name == "scaled_dot_product_attention":
        given = keyword(call, "attn_mask") or (args[3] if len(args) > 3 else None)
        if given is not None:
            found = _triangle(mine, given, 8)
            if found is not None and (found.boolean or found.added):
                yield given, not found.added
    elif (given := _layer_mask(mine, call)) is not None:
        found = _triangle(mine, given, 8)
        if found is not None and (found.boolean or found.added):
            yield given, False


_TRUE_HIDES = (
    *("MultiheadAttention", "TransformerEncoder", "TransformerEncoderLayer"),
    *("Transformer", "TransformerDecoder", "TransformerDecoderLayer"),
)


def _layer_mask(mine: Flow, call: ast.Call) -> ast.expr | None:
    """The mask that a layer of PyTorch gets whose masks are true where nothing is seen."""
    if mine.source.named("scaled_dot_product_attention") or not mine.source.named(*_TRUE_HIDES):
        return None
    given = keyword(call, "attn_mask") or keyword(call, "src_mask") or keyword(call, "tgt_mask")
    if given is None and isinstance(call.func, ast.Attribute):
        made = [v for v in mine.values(call.func, 3) if isinstance(v, ast.Call)]
        if made and all(last_name(v.func) == "TransformerEncoder" for v in made):
            given = argument(call, "mask", position=1)
    return given


def _is_negative(value: ast.expr) -> bool:
    """A number that a softmax makes zero of: `float("-inf")`, `-1e9`, `torch.finfo(t).min`."""
    text = unparse(value).replace("'", "").replace('"', "")
    return _NEGATIVE.search(text) is not None


def _near_softmax(source: Script, call: ast.Call) -> bool:
    """Scores are hidden here, and not pairs of samples or of boxes."""
    function = source.function_around(call)
    if function is None:
        return False
    return any(last_name(c.func).lower() == "softmax" for c in of(function, ast.Call))


def _within_triangle(source: Script, node: ast.AST) -> bool:
    """`torch.triu(ones * -inf, 1)`: the product is what the triangle is cut of."""
    return any(isinstance(p, ast.Call) and last_name(p.func) in ("tril", "triu") for p in source.above(node))


def _triangle(mine: Flow, node: ast.expr, depth: int) -> Triangle | None:
    """Where a mask is true, names and buffers followed; None of what is none, or joined with another."""
    if depth <= 0:
        return None
    if isinstance(node, ast.Subscript):
        return _triangle(mine, node.value, depth - 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
        found = _triangle(mine, node.operand, depth - 1)
        return found.turned() if found is not None else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(mine, node, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        # joined with a mask of another kind (padding), which leaves the side as it is
        sides = [f for s in (node.left, node.right) if (f := _triangle(mine, s, depth - 1)) is not None]
        return sides[0] if len(sides) == 1 and not sides[0].added else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        one = isinstance(node.left, ast.Constant) and node.left.value in (1, 1.0)
        found = _triangle(mine, node.right, depth - 1) if one else None
        return found.turned() if found is not None else None
    if isinstance(node, ast.Call):
        return _called(mine, node, depth)
    if isinstance(node, (ast.Name, ast.Attribute)):
        ways = [g.value for g in mine.all_given(node) if not g.places] or mine.arguments(node)
        ways = ways or list(_buffers(mine, node)) or list(_handed_to_blocks(mine, node))
        found_all = {_triangle(mine, w, depth - 1) for w in ways}
        return found_all.pop() if len(found_all) == 1 else None
    return None


def _compared(mine: Flow, node: ast.Compare, depth: int) -> Triangle | None:
    found, value = _triangle(mine, node.left, depth - 1), node.comparators[0]
    if found is None or not isinstance(value, ast.Constant) or value.value not in (0, 1):
        return None
    same = isinstance(node.ops[0], (ast.Eq, ast.Gt, ast.GtE))
    if not isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Gt)):
        return None
    holds = bool(value.value) == same if not isinstance(node.ops[0], ast.Gt) else not value.value
    true = Triangle(found.above, found.offset, True)
    return true if holds else true.turned()


def _called(mine: Flow, node: ast.Call, depth: int) -> Triangle | None:
    name = last_name(node.func)
    method = isinstance(node.func, ast.Attribute) and unparse(node.func.value) not in _LIBRARIES
    owner = node.func.value if method and isinstance(node.func, ast.Attribute) else None
    args = [owner, *node.args] if owner is not None else list(node.args)
    if name in ("tril", "triu") and args:
        shift = keyword(node, "diagonal") or keyword(node, "k") or (args[1] if len(args) > 1 else None)
        offset = 0 if shift is None else literal(mine.source, shift)
        inner = unparse(args[0])
        if type(offset) is not int or not re.search(r"ones|full|-inf|-1e", inner):
            return None
        return Triangle(name == "triu", offset, "bool" in unparse(node), _NEGATIVE.search(inner) is not None)
    if name == "band_part" and len(args) == 3:
        ends = [literal(mine.source, a) for a in args[1:]]
        if ends in ([-1, 0], [0, -1]):
            return Triangle(ends == [0, -1], 0)
        return None
    if name in ("logical_and", "logical_or") and len(args) == 2:
        sides = [f for s in args if (f := _triangle(mine, s, depth - 1)) is not None]
        return sides[0] if len(sides) == 1 and not sides[0].added else None
    if name == "logical_not" and args:
        found = _triangle(mine, args[0], depth - 1)
        return found.turned() if found is not None else None
    if name in _CASTS and args:
        found = _triangle(mine, args[0], depth - 1)
        if found is not None and "bool" in unparse(node):
            return Triangle(found.above, found.offset, True, found.added)
        return found
    for function in mine.called(node):
        ends_ = {_triangle(mine, r, depth - 1) for r in returns(function)}
        return ends_.pop() if len(ends_) == 1 else None
    return None


_LIBRARIES = (
    "torch",
    "np",
    "numpy",
    "tf",
    "tf.linalg",
    "ops",
    "F",
    "mnp",
    "mint",
    "jnp",
    "tf.math",
    "keras.ops",
)


def _handed_to_blocks(mine: Flow, node: ast.expr) -> Iterator[ast.expr]:
    """`x = block(x, mask)` in `for block in self.blocks`: what the blocks of a list get for a parameter."""
    function, owner = mine.source.function_around(node), mine.class_around(node)
    if owner is None or function is None or not isinstance(node, ast.Name):
        return
    names = [a.arg for a in function.args.args[1:]]
    if node.id not in names or function.name not in ("forward", "construct", "call"):
        return
    for loop in mine.source.of(ast.For):
        if not isinstance(loop.target, ast.Name) or not isinstance(loop.iter, ast.Attribute):
            continue
        lists = [n for n in mine.source.of(ast.Assign) if unparse(n.targets[0]) == unparse(loop.iter)]
        if not any(last_name(c.func) == owner.name for n in lists for c in of(n.value, ast.Call)):
            continue
        for call in of(loop, ast.Call):
            if unparse(call.func) == loop.target.id:
                place = names.index(node.id)
                given = argument(call, node.id, position=place)
                if given is not None:
                    yield given


def _buffers(mine: Flow, node: ast.expr) -> Iterator[ast.expr]:
    """`self.register_buffer("mask", torch.tril(...))` of the class around `self.mask`."""
    owner = mine.class_around(node)
    if owner is None or not isinstance(node, ast.Attribute) or unparse(node.value) != "self":
        return
    for call in of(owner, ast.Call):
        if last_name(call.func) == "register_buffer" and len(call.args) > 1:
            if isinstance(call.args[0], ast.Constant) and call.args[0].value == node.attr:
                yield call.args[1]


# ------------------------------------------------------------------------------------------- other masks


def masked_after_softmax(source: Script) -> Finding | None:
    """`weights.masked_fill(mask == 0, 0)` after the softmax: what is hidden has taken its share before."""
    mine = flow(source)
    for call in source.named("masked_fill", "masked_fill_"):
        args = call.args
        if (
            len(args) != 2
            or not isinstance(call.func, ast.Attribute)
            or literal(source, args[1]) not in (0, 0.0)
        ):
            continue
        if _triangle(mine, args[0], 8) is None or not _is_softmax(mine, call.func.value):
            continue
        function = source.function_around(call)
        if function is None or any(last_name(c.func) == "normalize" for c in of(function, ast.Call)):
            continue
        if not any(isinstance(n.op, ast.Div) and "sum" in unparse(n.right) for n in of(function, ast.BinOp)):
            return at(
                source, call, "the weights are masked after their softmax: what is hidden took part in it"
            )
    return None


def zero_before_softmax(source: Script) -> Finding | None:
    """`scores.masked_fill(mask == 0, 0)` before the softmax: what is hidden weighs as a score of zero."""
    mine = flow(source)
    for call in source.named("masked_fill", "masked_fill_"):
        if len(call.args) != 2 or literal(source, call.args[1]) not in (0, 0.0):
            continue
        if not isinstance(call.func, ast.Attribute) or _is_softmax(mine, call.func.value):
            continue
        function = source.function_around(call)
        for asked in source.named("softmax", "log_softmax"):
            if function is None or source.function_around(asked) is not function:
                continue
            owner = receiver(asked)
            library = owner is None or unparse(owner) in (
                "torch",
                "F",
                "nn.functional",
                "torch.nn.functional",
            )
            given = argument(asked, position=0) if library else owner
            if given is call or (isinstance(given, ast.expr) and call in mine.values(given, 3)):
                return at(source, call, "scores are masked with 0 before their softmax: nothing is hidden")
    return None


def _is_softmax(mine: Flow, node: ast.expr) -> bool:
    """What a softmax gave, and nothing else."""
    ends = [v for v in (node, *mine.values(node, 3)) if not isinstance(v, ast.Name)]
    return bool(ends) and all(isinstance(e, ast.Call) and last_name(e.func) == "softmax" for e in ends)


_PADDING = re.compile(r"(?i)(?:^|[._])pad(?:ding)?(?:_?(?:id|idx|index|token|token_id))?$")


def padding_shown(source: Script) -> Finding | None:
    """`scores.masked_fill(src != PAD, -inf)`: padding is attended to, and all else hidden."""
    seen: ast.AST | None = None
    for call in source.calls:
        ways = [
            (_test_of(flow(source), one), shown is not turned)
            for mask, shown in _masks_of(flow(source), call)
            for one, turned in _ways(flow(source), mask, 6)
        ]
        for test, shown in ways:
            if test is None or not _PADDING.search(unparse(test.comparators[0])):
                continue
            seen = seen or call
            if isinstance(test.ops[0], ast.Eq) == shown:
                return at(source, call, "this mask hides all but the padding")
    return ok(source, seen, "padding is hidden from attention") if seen is not None else None


def _test_of(mine: Flow, mask: ast.expr) -> ast.Compare | None:
    """The comparison that a mask is, axes put in and names followed."""
    for _ in range(6):
        if isinstance(mask, ast.Compare):
            plain = len(mask.ops) == 1 and isinstance(mask.ops[0], (ast.Eq, ast.NotEq))
            return mask if plain else None
        if isinstance(mask, ast.Subscript):
            mask = mask.value
        elif isinstance(mask, ast.Call) and isinstance(mask.func, ast.Attribute) and mask.func.attr in _CASTS:
            mask = mask.func.value
        elif isinstance(mask, ast.Name):
            found = mine.whole_given(mask)
            if found is None:
                return None
            mask = found
        else:
            return None
    return None
