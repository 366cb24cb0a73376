"""Next-token targets and what tells positions apart, where a script writes them out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import whole_number
from ..shared.sides import number

_TARGET = re.compile(r"(?i)^(?:\w+_)?(?:y|ys|yb|targets?|tgts?|labels?|next\w*|wanted|gold|truth)(?:_\w+)?$")
_INPUT = re.compile(r"(?i)^(?:\w+_)?(?:x|xs|xb|inputs?|inp|src|source|tokens|ids|context)(?:_\w+)?$")
_CAUSAL = re.compile(
    r"\btril\b|\btriu\b|is_causal|causal|\bLSTM\b|\bGRU\b|\bRNN\b|generate_square_subsequent_mask"
)
_OTHER_TASK = re.compile(
    r"(?i)auto_?enc|denois|\bmlm\b|mask_token|\[mask\]|reconstruct|\bbert|\bvae\b|transformers|copy_task|tagg|GPT2LMHead|AutoModel"
)
_SHIFTED = re.compile(
    r"\[(?:\.\.\.|:), ?1:(?:, ?:)?\]|\[(?:\.\.\.|:), ?:-1(?:, ?:)?\]|\[1:\]|\[:-1\]|\bshift|\.roll\(|\broll\("
)


@dataclass(frozen=True)
class Cut:
    """A slice of a sequence that is given to a name: `x[b] = ids[s:s + LEN]`."""

    node: ast.Assign
    name: str
    base: str
    low: tuple[tuple[str, ...], int]
    high: tuple[tuple[str, ...], int]


def _sum(node: ast.expr | None, sign: int = 1) -> tuple[dict[str, int], int]:
    """A sum as its terms and the number that is added."""
    if node is None:
        return {}, 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        terms, more = _sum(node.left, sign)
        others, rest = _sum(node.right, sign if isinstance(node.op, ast.Add) else -sign)
        for name, times in others.items():
            terms[name] = terms.get(name, 0) + times
        return terms, more + rest
    if (number := whole_number(node)) is not None:
        return {}, sign * number
    return {unparse(node): sign}, 0


def _place(node: ast.expr | None) -> tuple[tuple[str, ...], int]:
    terms, more = _sum(node)
    return tuple(sorted(f"{k}*{v}" for k, v in terms.items() if v)), more


def _pairs(source: Script) -> Iterator[tuple[ast.expr, ast.expr, ast.Assign]]:
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            if len(target.elts) == len(node.value.elts):
                yield from ((t, v, node) for t, v in zip(target.elts, node.value.elts, strict=True))
        else:
            yield target, node.value, node


def _cuts(source: Script) -> Iterator[Cut]:
    for target, value, node in _pairs(source):
        name = target.value if isinstance(target, ast.Subscript) else target
        if not isinstance(name, ast.Name):
            continue
        rounds = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else value
        each = (
            rounds.elt if isinstance(rounds, ast.ListComp) else value
        )  # of `stack([ids[s:s + n] for s in ...])`
        slices = [
            s
            for s in of(each, ast.Subscript)
            if isinstance(s.slice, ast.Slice) and s.slice.lower is not None and s.slice.upper is not None
        ]
        if len(slices) == 1 and isinstance(slices[0].slice, ast.Slice):
            cut = slices[0].slice
            yield Cut(node, name.id, unparse(slices[0].value), _place(cut.lower), _place(cut.upper))


def target_not_next(source: Script) -> Finding | None:
    """`x, y = ids[s:s + n], ids[s:s + n]` of a causal model: the target is the input, or lies before it.

    Where the loss or a collator shifts (a slice `[:, 1:]` anywhere), and for tasks that restore their input,
    nothing is said.
    """
    if not _CAUSAL.search(source.code) or not re.search(r"(?i)embedding", source.code):
        return None
    if (
        not re.search(r"(?i)cross_?entropy|nll_?loss", source.code)
        or _OTHER_TASK.search(source.code)
        or source.loose
    ):
        return None
    if _SHIFTED.search(source.code.replace("np.roll", "np.moved").replace("torch.roll", "torch.moved")):
        return None
    return _rolled(source) or _cut_apart(source)


def _apart(source: Script) -> Iterator[tuple[int, Cut]]:
    """Windows of targets that are cut beside one of inputs, and how many places further."""
    found = list(_cuts(source))
    for one in found:
        for other in found:
            if (
                one is other
                or one.base != other.base
                or not _INPUT.match(one.name)
                or not _TARGET.match(other.name)
            ):
                continue
            if source.function_around(one.node) is not source.function_around(other.node):
                continue
            if source.parents.get(one.node) is not source.parents.get(other.node):
                continue
            if one.low[0] != other.low[0] or one.high[0] != other.high[0]:
                continue
            first, last = other.low[1] - one.low[1], other.high[1] - one.high[1]
            if first != last:
                continue
            yield first, other


def next_cuts(source: Script) -> list[tuple[int, Cut]]:
    """Windows of targets that are cut one place further than that of the inputs."""
    return [(first, cut) for first, cut in _apart(source) if first == 1]


def _cut_apart(source: Script) -> Finding | None:
    apart = list(_apart(source))
    seen = apart[0][1].node if apart else None
    for first, other in apart:
        if first == 0:
            return at(
                source, other.node, "the target is cut from the very places of the input, not one further"
            )
        if first < 0:
            return at(source, other.node, "the target lies before the input: it has been seen already")
    steps = {first for first, _ in apart}
    if steps > {1} and len(steps) == 2:
        wrong = next(c for first, c in apart if first != 1)
        return at(source, wrong.node, "the target is not the next place here, where elsewhere it is")
    return ok(source, seen, "the target is the next place") if seen is not None else None


def _rolled(source: Script) -> Finding | None:
    """`y = np.roll(x, 1)`: each target is the token before."""
    for target, value, node in _pairs(source):
        name = target.value if isinstance(target, ast.Subscript) else target
        if not isinstance(name, ast.Name) or not _TARGET.match(name.id):
            continue
        if not isinstance(value, ast.Call) or last_name(value.func) != "roll":
            continue
        method = isinstance(value.func, ast.Attribute) and unparse(value.func.value) not in (
            "np",
            "numpy",
            "torch",
            "tf",
            "ops",
            "jnp",
            "mnp",
        )
        rest = value.args if method else value.args[1:]
        base = (
            value.func.value
            if method and isinstance(value.func, ast.Attribute)
            else argument(value, position=0)
        )
        given = next(
            (k.value for k in value.keywords if k.arg in ("shift", "shifts")), rest[0] if rest else None
        )
        if base is None or not any(_INPUT.match(n) for n in names_in(base)):
            continue
        step = number(source, given)
        if step is not None and step > 0:
            return at(
                source, node, "rolled forwards, each target is the token before: it has been seen already"
            )
    return None


# --------------------------------------------------------------------------------------------- positions


def _wave(node: ast.expr) -> tuple[str, str] | None:
    """`torch.sin(a)`, `a.cos()` -> ("sin", "a")."""
    if not isinstance(node, ast.Call) or last_name(node.func).lower() not in ("sin", "cos"):
        return None
    inner = node.args[0] if node.args else receiver(node)
    return (last_name(node.func).lower(), unparse(inner)) if inner is not None else None


def one_wave_twice(source: Script) -> Finding | None:
    """`pe[:, 0::2] = sin(a)` and `pe[:, 1::2] = sin(a)`: the odd columns say what the even ones say."""
    seen: ast.AST | None = None
    stored: dict[tuple[ast.AST | None, str], list[tuple[str, tuple[str, str], ast.Assign]]] = {}
    for node in source.of(ast.Assign):
        target, wave = node.targets[0], _wave(node.value)
        if wave is None or not isinstance(target, ast.Subscript):
            continue
        slices = [s for s in of(target.slice, ast.Slice) if s.lower or s.upper or s.step]
        if len(slices) == 1:
            key = (source.function_around(node), unparse(target.value))
            stored.setdefault(key, []).append((unparse(slices[0]), wave, node))
    for pieces in stored.values():
        if len(pieces) == 2 and pieces[0][0] != pieces[1][0]:
            seen = seen or pieces[0][2]
            if pieces[0][1] == pieces[1][1]:
                return at(source, pieces[1][2], f"both halves hold the {pieces[0][1][0]}e of the same angle")
        elif len(pieces) == 2 and pieces[0][1][0] != pieces[1][1][0]:
            (_, _, before), (_, _, after) = pieces
            if source.parents.get(before) is source.parents.get(after):
                return at(source, after, "the second wave is written over the first one, in the same columns")
    for joined in source.named("cat", "concat", "concatenate", "stack", "hstack"):
        parts = (
            joined.args[0].elts if joined.args and isinstance(joined.args[0], (ast.List, ast.Tuple)) else []
        )
        waves = [_wave(p) for p in parts]
        if len(waves) == 2 and all(waves):
            seen = seen or joined
            if waves[0] == waves[1] and waves[0] is not None and not _turns(source, joined, waves[0][0]):
                return at(source, joined, "both halves hold the same wave of the same angle")
    return ok(source, seen, "positions are told by sine and cosine") if seen is not None else None


def _turns(source: Script, call: ast.Call, wave: str) -> bool:
    """Sines and cosines are held apart, each of them twice: rotations of pairs need just that."""
    other = "cos" if wave == "sin" else "sin"
    scope = source.class_around(call) or source.function_around(call) or source.tree
    return re.search(rf"\b{other}\b", unparse(scope)) is not None


def frequencies_grow(source: Script) -> Finding | None:
    """`exp(arange(0, d, 2) * (log(10000) / d))` times the position: the rates grow from 1 to 10000.

    Right where the position is divided by it, or its reciprocal is taken.
    """
    seen = None
    for call in source.named("exp"):
        inner = argument(call, position=0)
        if (
            inner is None
            or not re.search(r"\blog\(|\blog1p\(", unparse(inner))
            or "arange" not in _text(source, inner)
        ):
            continue
        scope = source.function_around(call)
        if scope is None or not re.search(r"\bsin\b|\bSin\b", unparse(scope)):
            continue
        seen = seen or call
        if re.search(r"(?<![\w)\]] )-(?! ?1\b)|- 1\b|-1\b|neg", _text(source, inner)):
            continue
        if not _divides(source, call, scope):
            return at(
                source, call, "the rates of the positions grow: the minus before the logarithm is missing"
            )
    return ok(source, seen, "the rates of the positions fall") if seen is not None else None


def _text(source: Script, node: ast.expr) -> str:
    """An expression with what its names stand for within the function."""
    given = [flow(source).given(n) for n in of(node, ast.Name)]
    return " ".join([unparse(node), *(unparse(g.value) for g in given if g is not None and not g.places)])


def _divides(source: Script, node: ast.expr, scope: ast.AST) -> bool:
    """The value, or the name that it is given to, is what something is divided by."""
    parent = source.parents.get(node)
    while isinstance(parent, (ast.Call, ast.Attribute, ast.Subscript)):
        node, parent = (parent, source.parents.get(parent)) if isinstance(parent, ast.expr) else (node, None)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Div, ast.Pow)):
        return True
    holder = source.statement(node)
    names = {unparse(t) for t in holder.targets} if isinstance(holder, ast.Assign) else set()
    for name in names:
        if re.search(
            rf"/ \(?{re.escape(name)}\b|{re.escape(name)} \*\* -|reciprocal|truediv|\bdiv\("
            rf"|-{re.escape(name)}\b",
            unparse(source.class_around(node) or scope),
        ):
            return True
    return isinstance(holder, ast.Return)


# ------------------------------------------------------------------------------------------- temperatures


def temperature_multiplied(source: Script) -> Finding | None:
    """`softmax(logits * temperature)` of a temperature below one: it flattens where it should sharpen.

    A learnt scale, and a name that says that it is the inverse, are left out.
    """
    seen = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, (ast.Mult, ast.Div)):
            continue
        sides = [node.right] if isinstance(node.op, ast.Div) else [node.left, node.right]
        for side in sides:
            if not isinstance(side, (ast.Name, ast.Attribute)) or not re.fullmatch(
                r"(?i)(?:softmax_)?temp(?:erature)?|tau", last_name(side)
            ):
                if unparse(side) != "self.T":  # of a loss, where it is a number; the check of the value tells
                    continue
            value = number(source, side)
            if value is None and isinstance(side, ast.Name):
                from .noise import _default

                value = _default(source, side) or _looked_up(source, side)
            if value is None and isinstance(side, ast.Attribute):
                from .noise import _default

                name = flow(source).whole_given(side)  # `self.T`, as `__init__` was given it
                value = _default(source, name) if isinstance(name, ast.Name) else None
            if value is None or not 0 < value < 1:
                continue
            seen = seen or node
            other = node.left if side is node.right else node.right
            if (
                isinstance(node.op, ast.Mult)
                and re.search(
                    r"(?i)logit|score|sim|near|matmul|@|dot|einsum|\bmm\(|l_?pos|l_?neg", unparse(other)
                )
                and not re.search(r"(?i)loss", unparse(other))
            ):
                return at(
                    source,
                    node,
                    f"the scores are multiplied with a temperature of {value:g}, not divided by it",
                )
    return ok(source, seen, "scores are divided by their temperature") if seen is not None else None


def _looked_up(source: Script, node: ast.Name) -> float | None:
    """The default of `settings.get("tau", 0.2)` behind a name."""
    call = flow(source).whole_given(node)
    if isinstance(call, ast.Call) and last_name(call.func) == "get" and len(call.args) == 2:
        return number(source, call.args[1])
    return None
