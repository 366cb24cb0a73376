"""What scripts train on against what they measure: other places, other numbers, other shapes of one name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....engine.model import State
from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...script_diff.vocabulary import word_set
from ...scripts.flow import flow
from ...scripts.learning import differentiated, taken, takes_gradients
from ...scripts.syntax import Script
from ..model.sequence import input_again
from ..shared.checks import at, is_evaluation, ok
from ..shared.nodes import whole_number

_SAME = word_set(
    "to cuda cpu long int float double view reshape flatten ravel detach numpy contiguous clone item type "
    "astype asnumpy requires_grad_ data squeeze unsqueeze"
)
_CHOOSES = word_set("argmax argmin topk max softmax sigmoid round exp expm1 log log1p abs")
_PLACES = word_set("argmax argmin topk")
_FLATTENS = word_set("squeeze flatten ravel view reshape")
_LIBRARIES = word_set("torch np numpy F tf jnp ops mint paddle math")


@dataclass(frozen=True)
class _Form:
    """A value as it is compared: its name, what is added, where a slice begins, if an axis is dropped."""

    base: str
    added: int = 0
    start: int | None = 0  # None: not a number
    flat: bool = False
    called: bool = False  # what a model gave, as it is


def compared_unlike_trained(source: Script) -> Finding | None:
    """The metric holds a prediction against another label, or another place of it, than the loss does.

    `criterion(z, y)` and `z.argmax(1) == y - 1`; `criterion(model(x).squeeze(1), y)` and `model(x) - y`,
    which is a table of all differences.
    """
    learning = [
        s
        for s in (
            source.train_loop,
            *(source.function_around(b) for b in taken(source)),
            *differentiated(source),
        )
        if s
    ]
    scoring = {  # functions within `main` that evaluate
        n
        for s in learning
        for f in of(s, ast.FunctionDef)
        if f is not s and is_evaluation(source, f.body[0])
        for n in walk(f)
    }
    inside = {n for s in learning for n in walk(s)} - scoring
    trained = [
        (_form(source, call.args[0]), _form(source, call.args[1]))
        for call, _ in source.losses
        if len(call.args) > 1 and call in inside
    ]
    wrong = input_again(source)
    if not trained or (wrong is not None and wrong.state is State.PRESENT):
        return None
    seen: ast.AST | None = None
    for node, answer, label in _comparisons(source):
        if node in inside or any(f in source.above(node) for f in source.forwards):
            continue
        mine = (_form(source, answer), _form(source, label))
        for pair in (mine, mine[::-1]):
            alike = [t for t in trained if t[1].base == pair[1].base and pair[1].base]
            if not alike or pair[0].base == pair[1].base:
                continue
            seen = seen or node
            if all(_shift(t) is not None and _shift(pair) not in (None, _shift(t)) for t in alike):
                return at(source, node, "the metric compares with other labels, or places, than the loss")
            table = pair[0].called and not pair[0].flat and not pair[1].flat
            if table and isinstance(node, ast.BinOp) and all(t[0].flat and not t[1].flat for t in alike):
                return at(
                    source, node, "predictions of one column meet labels without: all pairs are compared"
                )
    return ok(source, seen, "the metric compares what the loss compares") if seen is not None else None


def _shift(pair: tuple[_Form, _Form]) -> tuple[int, int] | None:
    """What is added to the label, and how far it is moved, against the prediction."""
    answer, label = pair
    if answer.start is None or label.start is None:
        return None
    return label.added - answer.added, label.start - answer.start


_MARKS = re.compile(r"(?i)(?:^|_)(?:pad(?:ding)?|bos|eos|sos|unk|sep|ignored?)(?:_|$)")


def _is_mark(node: ast.expr) -> bool:
    """`tgt == PAD`, `ids == tokenizer.pad_token_id`: a value that marks places, and no prediction."""
    name = last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
    return _MARKS.search(name) is not None


def _comparisons(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    for node in source.of(ast.Compare, ast.BinOp):
        if isinstance(node, ast.Compare) and any(map(_is_mark, (node.left, *node.comparators))):
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            yield node, node.left, node.comparators[0]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            yield node, node.left, node.right
    for call in source.named("eq", "equal"):
        if any(map(_is_mark, call.args)):
            continue
        if isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            yield call, call.func.value, call.args[0]
        elif len(call.args) == 2:
            yield call, call.args[0], call.args[1]


def _form(source: Script, node: ast.expr) -> _Form:
    added, start, flat = 0, 0, False
    known: int | None = 0
    chosen: ast.Call | None = None
    for _ in range(14):
        if isinstance(node, ast.Name):
            found = flow(source).given(node)
            if found is None or found.places or node.id in names_in(found.value):
                if found is not None and not found.places and node.id in unparse(found.value):
                    node = found.value  # `y = y.to(device)`: one step, to see what is done to it
                    inner = _peeled(node)
                    return _Form(
                        inner.base, added + inner.added, _sum(known, start, inner.start), flat or inner.flat
                    )
                return _Form(node.id, added, _sum(known, start, 0), flat)
            node = found.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            number = whole_number(node.right)
            if number is None:
                break
            added += number if isinstance(node.op, ast.Add) else -number
            node = node.left
        elif isinstance(node, ast.Subscript):
            begins, drops = _begins(node.slice)
            flat = flat or drops
            if chosen is not None and begins:  # of the classes from this one on: places are counted anew
                on_classes = _on_classes(chosen, node.slice)
                added -= begins if on_classes else 0
                begins = 0 if on_classes else begins if on_classes is False else None
            known = None if begins is None else known
            start += begins or 0
            node = node.value
        elif isinstance(node, ast.Attribute) and node.attr in ("data", "logits"):
            node = node.value
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            flat = flat or name in _FLATTENS
            owner = receiver(node)
            chosen = node if name in _PLACES else chosen
            if name in _SAME | _CHOOSES and owner is not None and unparse(owner) not in _LIBRARIES:
                node = owner
            elif name in _SAME | _CHOOSES and node.args:
                node = node.args[0]
            else:
                calls = isinstance(node.func, ast.Name) and re.search(r"(?i)model|net$", node.func.id)
                return _Form(unparse(node.func), added, _sum(known, start, 0), flat, bool(calls))
        else:
            break
    return _Form("", 0, None)


def _on_classes(chosen: ast.Call, index: ast.expr) -> bool | None:
    """Whether `scores[:, 1:].argmax(1)` cuts the axis that is chosen along; None where not known."""
    given = [k.value for k in chosen.keywords if k.arg in ("dim", "axis")] or chosen.args[-1:]
    axis = whole_number(given[0]) if given else None
    if not isinstance(index, ast.Tuple) or axis is None:
        return None
    cut = [i for i, e in enumerate(index.elts) if isinstance(e, ast.Slice) and e.lower is not None]
    if axis == -1:  # the last one that is written may be the last one
        return None if len(index.elts) - 1 in cut else False
    return axis in cut


def _peeled(node: ast.expr) -> _Form:
    """The form of `y = y.to(device) - 1`, by its own name."""
    added, flat = 0, False
    for _ in range(8):
        if isinstance(node, ast.BinOp):
            number = whole_number(node.right)
            if number is None or not isinstance(node.op, (ast.Add, ast.Sub)):
                break
            added += number if isinstance(node.op, ast.Add) else -number
            node = node.left
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _SAME:
                break
            flat = flat or node.func.attr in _FLATTENS
            node = node.func.value
        elif isinstance(node, ast.Name):
            return _Form(node.id, added, 0, flat)
        else:
            break
    return _Form("", 0, None)


def _sum(known: int | None, start: int, more: int | None) -> int | None:
    return None if known is None or more is None else start + more


def _begins(index: ast.expr) -> tuple[int | None, bool]:
    """Where the slices of an index begin, in all, and whether it takes one place of an axis."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    begins: int | None = 0
    drops = False
    for part in parts:
        if isinstance(part, ast.Slice):
            if part.lower is None:
                continue
            lower = whole_number(part.lower)
            if lower is not None and lower >= 0 and part.step is None:
                begins = None if begins is None else begins + lower
            else:
                begins = None
        elif whole_number(part) is not None and len(parts) > 1:
            drops = True
        elif not (isinstance(part, ast.Constant) and part.value is Ellipsis):
            begins = None
    return begins, drops


# --------------------------------------------------------------------------------- a loop left at once


def left_at_once(source: Script) -> Finding | None:
    """The loop that scores held-out data ends in its first round: `break` or `return` under no condition."""
    seen: ast.AST | None = None
    for loop in source.of(ast.For):
        if takes_gradients(source, loop) or not _over_batches(loop):
            continue
        sums = [
            s
            for s in loop.body
            if isinstance(s, ast.AugAssign)
            or (
                isinstance(s, ast.Expr)
                and isinstance(s.value, ast.Call)
                and last_name(s.value.func) == "append"
            )
        ]
        if not sums:
            continue
        seen = seen or loop
        ends = [s for s in loop.body if isinstance(s, (ast.Break, ast.Return))]
        if ends and not any(isinstance(p, (ast.Try, ast.While)) for p in source.above(ends[0])):
            return at(source, ends[0], "the loop that sums this up ends after its first batch")
    return ok(source, seen, "evaluation goes through all batches") if seen is not None else None


def _over_batches(loop: ast.For) -> bool:
    return re.search(r"(?i)load|batch|(?:^|[_.(])(?:dl|ds|data|iter)", unparse(loop.iter)) is not None


# ---------------------------------------------------------------------------------------- an idle mask

_KEEPS = re.compile(
    r"(?i)^(?:keep|kept|valid|active|mask|(?:not_?|non_?)?(?:pad|void|ignore)\w*|\w+_mask|\w*valid\w*)$"
)


def mask_unused(source: Script) -> Finding | None:
    """A metric's function finds out which places have a label, and then counts all of them."""
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        if not isinstance(node.value, ast.Compare):
            continue
        target, function = node.targets[0], source.function_around(node)
        if not isinstance(target, ast.Name) or not _KEEPS.match(target.id) or function is None:
            continue
        if len(node.value.ops) != 1 or any(
            isinstance(n, ast.FunctionDef) for n in walk(function) if n is not function
        ):
            continue
        scores = any(last_name(c.func) in ("argmax", "eq", "no_grad") for c in of(function, ast.Call))
        if not scores or function in source.forwards or takes_gradients(source, function):
            continue
        seen = seen or node
        if not any(n.id == target.id and isinstance(n.ctx, ast.Load) for n in of(function, ast.Name)):
            return at(source, node, f"`{target.id}` is found out and never used: what has no label counts")
    return ok(source, seen, "what has no label is left out of the metric") if seen is not None else None
