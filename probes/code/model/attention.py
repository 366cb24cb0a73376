"""Attention that a script writes out: the axis of its softmax, its scale, its mask, its heads.

Scores are the product of queries and turned keys: `q @ k.transpose(-2, -1)`, `matmul(q, k.swapaxes(2, 3))`, a
layer `ops.BatchMatMul(transpose_b=True)`. Names are followed within the function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import literal

_PRODUCTS = re.compile(r"^(?:matmul|bmm|batch_matmul|BatchMatMul|einsum)$")
_TURNED = re.compile(r"transpose|swapaxes|permute|\.m?T\b|einsum|transpose_b")
_DESIGNS = re.compile(r"(?i)slot|rout|linear_?att|cluster|efficient|xca|channel")


def _softmaxes(source: Script) -> Iterator[tuple[Function, ast.Call, ast.expr, ast.expr | None]]:
    """Softmaxes over scores in a model: the function, the call, the scores, and the axis as it is told."""
    if not re.search(r"(?i)softmax", source.code):
        return
    mine = flow(source)
    for function in source.passes:
        if source.parents.get(function) not in source.modules or _DESIGNS.search(
            _owner_name(source, function)
        ):
            continue
        for call in of(function, ast.Call):
            made = _layer(mine, call)
            name = last_name(made.func) if made is not None else last_name(call.func)
            if name not in ("softmax", "Softmax"):
                continue
            method = isinstance(call.func, ast.Attribute) and made is None and _is_tensor(call.func.value)
            scores = call.func.value if method and isinstance(call.func, ast.Attribute) else None
            scores = scores or argument(call, position=0)
            told: ast.expr | None
            if made is not None:
                told = argument(made, "axis", "dim", position=0)
            else:
                rest = call.args if method else call.args[1:]
                told = keyword(call, "axis") or keyword(call, "dim") or (rest[0] if rest else None)
            if scores is not None and _product(mine, scores, 6) is not None:
                yield function, call, scores, told


def _owner_name(source: Script, function: Function) -> str:
    owner = source.parents.get(function)
    return owner.name if isinstance(owner, ast.ClassDef) else ""


def _is_tensor(node: ast.expr) -> bool:
    return unparse(node) not in (
        "F",
        "ops",
        "torch",
        "tf",
        "tf.nn",
        "nn.functional",
        "mint",
        "mnp",
        "P",
        "torch.nn.functional",
        "jax.nn",
        "jnp",
        "jax.numpy",
    )


def _layer(mine: Flow, call: ast.Call) -> ast.Call | None:
    """The call that made the layer that is called: `self.softmax(x)` -> `nn.Softmax(axis=-1)`."""
    if not (isinstance(call.func, ast.Attribute) and unparse(call.func.value) == "self"):
        return None
    given = mine.given(call.func)
    return given.value if given is not None and isinstance(given.value, ast.Call) else None


def _product(mine: Flow, node: ast.expr, depth: int) -> ast.expr | None:
    """The product of queries and keys that scores come from: through masks, scales, casts and names."""
    if depth <= 0:
        return None
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            return node if _TURNED.search(unparse(node)) else None
        sides = (node.left, node.right)
        found = [p for s in sides if (p := _product(mine, s, depth - 1)) is not None]
        return found[0] if found else None
    if isinstance(node, ast.Call):
        made = _layer(mine, node)
        if made is not None and last_name(made.func) == "BatchMatMul":
            return node if _TURNED.search(unparse(made)) or _TURNED.search(unparse(node)) else None
        if _PRODUCTS.match(last_name(node.func)):
            return node if _TURNED.search(unparse(node)) else None
        if made is not None:
            return None
        method = isinstance(node.func, ast.Attribute) and _is_tensor(node.func.value)
        inner = node.func.value if method and isinstance(node.func, ast.Attribute) else None
        inner = inner or argument(node, position=0)
        if last_name(node.func) == "where" and len(node.args) == 3:
            inner = node.args[1]  # `where(mask, scores, -1e9)`
        return _product(mine, inner, depth - 1) if inner is not None else None
    if isinstance(node, ast.Name):
        given = mine.given(node)
        return _product(mine, given.value, depth - 1) if given is not None and not given.places else None
    return None


# ------------------------------------------------------------------------------------------------- the axis


def weights_over_queries(source: Script) -> Finding | None:
    """The softmax of attention runs over the queries or the heads, where its weights go to values."""
    for function, call, _, told in _softmaxes(source):
        axis = literal(source, told) if told is not None else None
        if axis == -2 or axis == 1 or (axis == 2 and _four_axes(source, function, call)):
            if _weighs(function, call):
                what = "heads" if axis == 1 and _heads_apart(source, function) else "queries"
                return at(
                    source, call, f"the attention weights sum to one over the {what}, not over the keys"
                )
    return None


def _heads_apart(source: Script, function: Function) -> bool:
    """Scores have four axes: some transpose of the class names four places, or five and takes one out."""
    owner = source.parents.get(function)
    for call in of(owner, ast.Call) if owner is not None else ():
        if last_name(call.func) in ("transpose", "permute"):
            given = call.args[-1].elts if call.args and isinstance(call.args[-1], ast.Tuple) else call.args
            if len(given) >= 4:
                return True
    return False


def _four_axes(source: Script, function: Function, softmax: ast.Call) -> bool:
    """Heads stand in an axis of their own, and nothing before the softmax joins them with the batch."""
    if not _turns_heads(source, function) or re.search(r"\bbmm\b|baddbmm", unparse(function)):
        return False
    for call in of(function, ast.Call):
        if last_name(call.func) in ("view", "reshape", "flatten") and call.lineno <= softmax.lineno:
            sizes = call.args[-1].elts if call.args and isinstance(call.args[-1], ast.Tuple) else call.args
            if len(sizes) <= 3:
                return False
    return True


def _names_of(function: Function, call: ast.Call) -> frozenset[str]:
    """The names that are given what a call gives, or something made of it."""
    return frozenset(
        n.id
        for a in of(function, ast.Assign)
        if any(x is call for x in walk(a.value))
        for t in a.targets
        for n in of(t, ast.Name)
    )


def _weighs(function: Function, call: ast.Call) -> bool:
    """What the softmax gives, by name and behind a dropout or a cast, is the left side of another product."""
    names = _names_of(function, call)
    for node in walk(function):
        sides: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            sides = [node.left]
        elif isinstance(node, ast.Call) and re.search(r"matmul|bmm", last_name(node.func)) and node.args:
            sides = [node.args[0]]
        for one in sides:
            if any(x is call or (isinstance(x, ast.Name) and x.id in names) for x in walk(one)):
                return True
    return False


# ------------------------------------------------------------------------------------------------ the scale


def scores_scaled_up(source: Script) -> Finding | None:
    """`scores * sqrt(d)`: they are multiplied with the root of the width, where dividing is meant."""
    mine = flow(source)
    for function, call, _, _ in _softmaxes(source):
        for node in of(function, ast.BinOp):
            if not isinstance(node.op, ast.Mult) or node.lineno > call.lineno:
                continue
            for scores, factor in ((node.left, node.right), (node.right, node.left)):
                if _product(mine, scores, 3) is not None and _is_root(mine, factor):
                    return at(
                        source,
                        node,
                        "the scores are multiplied with the root of the width, not divided by it",
                    )
    return None


def dots_scaled_up(source: Script) -> Finding | None:
    """`(q * k).sum(-1) * sqrt(d)` before a softmax: the same of products summed by hand, as on graphs."""
    mine = flow(source)
    for function in source.passes:
        for node in of(function, ast.BinOp) if "softmax" in unparse(function) else ():
            for scores, factor in ((node.left, node.right), (node.right, node.left)):
                if isinstance(node.op, ast.Mult) and _is_dot(scores) and _is_root(mine, factor):
                    why = "the scores are multiplied with the root of the width, not divided by it"
                    return at(source, node, why)
    return None


def _is_dot(node: ast.expr) -> bool:
    """`(q * k).sum(-1)` of two names."""
    if (
        not isinstance(node, ast.Call)
        or last_name(node.func) != "sum"
        or not isinstance(node.func, ast.Attribute)
    ):
        return False
    inner = node.func.value
    plain = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult)
    return (
        plain
        and isinstance(inner, ast.BinOp)
        and isinstance(inner.left, ast.Name)
        and isinstance(inner.right, ast.Name)
        and inner.left.id != inner.right.id
    )


_HEADS = re.compile(r"(?i)^(?:\w+\.)*(?:m_)?(?:n|num|number)?_?(?:of_)?heads?$")


def scaled_by_heads(source: Script) -> Finding | None:
    """`scores / sqrt(n_heads)`: the number of heads stands where the width of one head is meant."""
    mine = flow(source)
    for function, call, _, _ in _softmaxes(source):
        for node in of(function, ast.BinOp):
            if not isinstance(node.op, ast.Div) or node.lineno > call.lineno:
                continue
            root = node.right
            inside = root.args[0] if isinstance(root, ast.Call) and root.args else None
            if inside is None or last_name(root.func if isinstance(root, ast.Call) else root) != "sqrt":
                continue
            many = re.search(r"(?i)s$|^(?:\w+\.)*(?:n|num)_?head$", unparse(inside)) is not None
            if many and _HEADS.match(unparse(inside)) and _product(mine, node.left, 3) is not None:
                return at(source, node, "the scores are divided by the root of the number of heads")
    return None


_WIDTHS = re.compile(r"(?i)dim|size|head|width|hidden|d_k|\b(?:h?d|dk|dh|d_h|c|ch|channels)\b")


def _is_root(mine: Flow, node: ast.expr) -> bool:
    """`math.sqrt(d)`, `d ** 0.5`, by way of names; not one over it."""
    if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and unparse(node.value) == "self"):
        given = mine.given(node)
        return given is not None and not given.places and _is_root(mine, given.value)
    if isinstance(node, ast.Call):
        if last_name(node.func) in ("float", "Tensor", "tensor") and node.args:
            return _is_root(mine, node.args[0])
        inner = unparse(node.args[0]) if node.args else ""
        return (
            last_name(node.func) == "sqrt"
            and _WIDTHS.search(inner) is not None
            and "/ " not in inner.replace("// ", "")
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = literal(mine.source, node.right)
        return power == 0.5 and _WIDTHS.search(unparse(node.left)) is not None
    return False


# ------------------------------------------------------------------------------------------------- the mask


def mask_times_scores(source: Script) -> Finding | None:
    """`softmax(scores * mask)`: a score of zero hides nothing, it is as likely as any."""
    for _, _, scores, _ in _softmaxes(source):
        given = flow(source).whole_given(scores) if isinstance(scores, ast.Name) else None
        value = given or scores
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            for mask, other in ((value.left, value.right), (value.right, value.left)):
                named = re.fullmatch(r"(?:\w+\.)*\w*mask\w*(?:\[.*\])?(?:\.\w+\([^()]*\))*", unparse(mask))
                if named and _product(flow(source), other, 5) is not None:
                    return at(
                        source,
                        value,
                        "a mask times the scores hides nothing: a zero score counts in the softmax",
                    )
    return None


_FAR = re.compile(
    r"^-(?:\d{4,}(?:\.\d*)?|\d+(?:\.\d*)?e\+?\d+)$|^float\(['\"]-inf['\"]\)$|-(?:np|math|torch)\.inf|finfo\(.*\)\.min"
)


def mask_turned_round(source: Script) -> Finding | None:
    """`scores + mask * -10000.0` of a mask that is one where something may be seen."""
    mine = flow(source)
    for node, mask in _hidden(source):
        if _meaning(mine, mask, 10) == "seen":
            return at(source, node, "this mask is one where something may be seen, and hides just that")
    return None


def future_shown(source: Script) -> Finding | None:
    """`(1 - mask) * -10000.0` of a mask that is one above the diagonal: each place sees what follows it."""
    mine = flow(source)
    for node, mask in _hidden(source):
        if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.Sub):
            if unparse(mask.left) in ("1", "1.0") and _meaning(mine, mask.right, 10) == "future":
                return at(
                    source, node, "what is left to be seen lies above the diagonal: what follows each place"
                )
    return None


def _hidden(source: Script) -> Iterator[tuple[ast.BinOp, ast.expr]]:
    """Products that are far below zero where a mask is one, and the mask."""
    for node in source.of(ast.BinOp):
        if isinstance(node.op, ast.Mult):
            for mask, value in ((node.left, node.right), (node.right, node.left)):
                if _FAR.search(unparse(value)) and not isinstance(mask, ast.Constant):
                    yield node, mask


_THROUGH = frozenset(
    [
        *(
            "cast",
            "astype",
            "float",
            "half",
            "to",
            "type",
            "int",
            "expand_dims",
            "unsqueeze",
            "reshape",
            "view",
        ),
        *(
            "Tensor",
            "tensor",
            "array",
            "asarray",
            "from_numpy",
            "broadcast_to",
            "expand",
            "repeat",
            "squeeze",
        ),
        *("type_as", "bool", "contiguous", "constant", "Parameter", "tile"),
    ]
)
_OTHER = {"seen": "hidden", "hidden": "seen"}
_PAD = re.compile(r"(?i)pad|^0$|^0\.0$")


_OF_TOKENIZERS = ("input_mask", "attention_mask")  # what tokenizers give: one where there is a token


def _meaning(mine: Flow, node: ast.expr, depth: int) -> str:
    """Where a mask is one: "seen", "hidden", "future" (on and above the diagonal), or "" where unknown."""
    if depth <= 0:
        return ""
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and node.slice.value in _OF_TOKENIZERS:
            return "seen"
        return _meaning(mine, node.value, depth - 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
        return _OTHER.get(_meaning(mine, node.operand, depth - 1), "")
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _of_comparison(type(node.ops[0]).__name__, node.left, node.comparators[0])
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Sub) and unparse(node.left) in ("1", "1.0"):
            return _OTHER.get(_meaning(mine, node.right, depth - 1), "")
        if isinstance(node.op, (ast.Mult, ast.BitAnd)):
            both = {_meaning(mine, s, depth - 1) for s in (node.left, node.right)} - {""}
            if both == {"future", "seen"}:
                return "future"
            return both.pop() if len(both) == 1 and both != {"hidden"} else ""
        return ""
    if isinstance(node, ast.Call):
        return _of_call(mine, node, depth)
    if isinstance(node, (ast.Name, ast.Attribute)):
        ways = [g.value for g in mine.all_given(node) if not g.places] or mine.arguments(node)
        ways = ways or list(_of_that_name(mine.source, node))
        kinds = {_meaning(mine, w, depth - 1) for w in ways}
        return kinds.pop() if len(kinds) == 1 else ""
    return ""


def _of_that_name(source: Script, node: ast.expr) -> Iterator[ast.expr]:
    """A mask that a block gets in a loop over layers: what other passes call by the same name."""
    if not isinstance(node, ast.Name) or "mask" not in node.id.lower():
        return
    function = source.function_around(node)
    if function not in source.passes:
        return
    for other in source.passes:
        if other is not function:
            for given in of(other, ast.Assign):
                if any(unparse(t) == node.id for t in given.targets):
                    yield given.value


def _of_call(mine: Flow, node: ast.Call, depth: int) -> str:
    name = last_name(node.func)
    method = isinstance(node.func, ast.Attribute) and unparse(node.func.value) not in (
        *(
            "ops",
            "torch",
            "np",
            "tf",
            "F",
            "P",
            "mnp",
            "mint",
            "tf.math",
            "tf.linalg",
            "mindspore",
            "ms",
            "self",
        ),
    )
    owner = node.func.value if method and isinstance(node.func, ast.Attribute) else None
    args = [owner, *node.args] if owner is not None else list(node.args)
    made = _layer(mine, node)
    if made is not None:
        name = {"NotEqual": "not_equal", "Equal": "equal", "Cast": "cast", "ExpandDims": "expand_dims"}.get(
            last_name(made.func), ""
        )
    if name in ("not_equal", "ne", "equal", "eq", "less") and len(args) > 1:
        kind = {"not_equal": "NotEq", "ne": "NotEq", "equal": "Eq", "eq": "Eq", "less": "Lt"}[name]
        return _of_comparison(kind, args[0], args[1])
    if name == "logical_not" and args:
        return _OTHER.get(_meaning(mine, args[0], depth - 1), "")
    if name == "sequence_mask":
        return "seen"
    if name in ("tril", "triu") and args and re.search(r"ones", unparse(args[0])):
        shift = keyword(node, "k") or keyword(node, "diagonal") or (args[1] if len(args) > 1 else None)
        offset = 0 if shift is None else literal(mine.source, shift)
        if name == "tril":
            return "seen" if offset == 0 else ""
        return "future" if offset == 0 else "hidden" if offset == 1 else ""
    if name in _THROUGH and args:
        return _meaning(mine, args[0], depth - 1)
    return ""


def _of_comparison(kind: str, left: ast.expr, right: ast.expr) -> str:
    """`ids != PAD` and `arange(n) < lengths` are true where something may be seen."""
    if kind in ("NotEq", "Eq") and _PAD.search(unparse(right).split(".")[-1]):
        if re.search(r"(?i)mask", unparse(left)):
            return ""
        return "seen" if kind == "NotEq" else "hidden"
    places = re.search(r"(?i)arange|range\(|places|positions|steps", unparse(left)) is not None
    if places and re.search(r"(?i)len", unparse(right)):
        return {"Lt": "seen", "GtE": "hidden"}.get(kind, "")
    return ""


_LIBRARIES = ("torch", "np", "numpy")
_ONES_IN_TRIANGLE = re.compile(r"\b(?:tril|triu)\(.*ones")


def order_mask_unread(source: Script) -> Finding | None:
    """A model keeps a triangle of ones, as what hides the following places, and nothing reads it."""
    for owner in source.modules:
        for call in source.named("register_buffer"):
            name = call.args[0] if len(call.args) > 1 and source.class_around(call) is owner else None
            if not isinstance(name, ast.Constant) or not isinstance(name.value, str) or source.loose:
                continue
            mentions = [
                n
                for n in source.mentions.get(name.value, ())
                if isinstance(n, ast.Constant) or unparse(n.value) not in _LIBRARIES  # torch.tril itself
            ]
            hidden = re.search(r"is_causal|mask|inf|-1e", unparse(owner).replace(unparse(call), ""))
            if _ONES_IN_TRIANGLE.search(unparse(call.args[1])) and mentions == [name] and not hidden:
                return at(source, call, "this mask hides what follows each place, and nothing reads it")
        for node in of(owner, ast.Assign):
            target = node.targets[0]
            if not (isinstance(target, ast.Attribute) and unparse(target.value) == "self"):
                continue
            if not _ONES_IN_TRIANGLE.search(unparse(node.value)):
                continue
            read = [
                n
                for n in source.mentions.get(target.attr, ())
                if isinstance(n, ast.Constant) or isinstance(n.ctx, ast.Load)
            ]
            if not read and not source.loose and len(source.mentions.get(target.attr, ())) == 1:
                return at(source, node, "this mask hides what follows each place, and nothing reads it")
    return None


# ------------------------------------------------------------------------------------------------ the heads


def heads_joined_without_turning(source: Script) -> Finding | None:
    """`(weights @ v).reshape(b, n, c)`: the heads stand before the places, and are not turned back."""
    mine = flow(source)
    for function, call, _, _ in _softmaxes(source):
        if not _turns_heads(source, function):
            continue
        for node in of(function, ast.Call):
            if last_name(node.func) not in ("reshape", "view") or node.lineno < call.lineno:
                continue
            owner = (
                node.func.value
                if isinstance(node.func, ast.Attribute) and _is_tensor(node.func.value)
                else None
            )
            args = node.args if owner is not None else node.args[1:]
            owner = owner if owner is not None else argument(node, position=0)
            if isinstance(owner, ast.Call) and last_name(owner.func) == "contiguous":
                owner = owner.func.value if isinstance(owner.func, ast.Attribute) else owner
            sizes = args[0].elts if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)) else args
            given = mine.whole_given(owner) if isinstance(owner, ast.Name) else None
            value = given or owner
            if value is None or len(sizes) != 3 or not _of_values(function, call, value):
                continue
            return at(
                source, node, "the heads stand before the places here: a reshape mixes them, and no transpose"
            )
    return None


def _turns_heads(source: Script, function: Function) -> bool:
    """Queries are turned so that heads come before places: `.transpose((0, 2, 1, 3))`."""
    owner = source.parents.get(function)
    for call in of(owner, ast.Call) if owner is not None else ():
        given = call.args[0].elts if call.args and isinstance(call.args[0], ast.Tuple) else call.args
        text = ", ".join(unparse(g) for g in given)
        turned = text in ("0, 2, 1, 3", "2, 0, 3, 1, 4") or (text == "1, 2" and _of_four(call))
        if last_name(call.func) in ("transpose", "permute") and turned:
            if not isinstance(
                source.parents.get(call), ast.Attribute
            ):  # not at once reshaped: that joins them
                return True
    return False


def _of_four(call: ast.Call) -> bool:
    """`x.view(b, n, heads, width).transpose(1, 2)`"""
    inner = receiver(call)
    return (
        isinstance(inner, ast.Call) and last_name(inner.func) in ("view", "reshape") and len(inner.args) == 4
    )


def _of_values(function: Function, call: ast.Call, value: ast.expr) -> bool:
    """A product of the weights with something, and nothing else."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult):
        first = value.left
    elif (
        isinstance(value, ast.Call)
        and re.search(r"matmul|bmm", last_name(value.func))
        and len(value.args) == 2
    ):
        first = value.args[0]
    else:
        return False
    names = _names_of(function, call)
    return any(x is call or (isinstance(x, ast.Name) and x.id in names) for x in walk(first))
