"""What stands in a value that is scored: the truth, raw scores, chances, classes or decisions.

Followed through names, lists that are filled, arrays that are set by rows, functions of the script and what
callers hand over. What cannot be told has no kind; a check asks that all kinds that are known agree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...scripts.flow import Places, flow
from ...scripts.syntax import Script
from ..shared.nodes import is_true
from ..shared.roles import model_calls, targets

TRUTH, LOGITS, OUTPUTS, CHANCES, SHARES, CLASSES, DECISIONS = (
    *("truth", "logits", "outputs", "chances", "shares"),
    *("classes", "decisions"),
)
ANSWERS = frozenset((LOGITS, OUTPUTS, CHANCES, SHARES, CLASSES, DECISIONS))
_DEPTH = 24
_NEUTRAL = frozenset(
    (
        *("cpu", "cuda", "to", "numpy", "asnumpy", "detach", "float", "double", "half", "clone", "copy"),
        *("contiguous", "tolist", "item", "squeeze", "unsqueeze", "flatten", "ravel", "reshape", "view"),
        *("astype", "type", "long", "int", "concatenate", "cat", "concat", "vstack", "hstack", "stack"),
        *("array", "asarray", "tensor", "from_numpy", "as_tensor", "gather", "gather_for_metrics", "list"),
        *("expand_dims", "convert_to_tensor", "cast", "row_stack", "transpose", "permute", "nan_to_num"),
    )
)
_LIBRARY = re.compile(
    r"^(?:np|numpy|torch|tf|F|nn|ops|mint|keras|jnp|mnp|K|scipy|special|functional|math|accelerator)$"
)
_FILLS = ("append", "extend", "put", "insert", "add")
_ANSWER_NAME = re.compile(r"(?i)pred|prob|hat|logit|output|score|guess|answer")


def kinds(source: Script, node: ast.expr, places: Places = ()) -> frozenset[str]:
    """The kinds that a value may be of; empty where none can be told."""
    known: dict[tuple[ast.expr, Places], frozenset[str]] = source.__dict__.setdefault("_kinds", {})
    key = (node, places)
    if key not in known:
        known[key] = frozenset(_kinds(source, node, places, _DEPTH, set()))
    return known[key]


def _kinds(
    source: Script, node: ast.expr, places: Places, depth: int, seen: set[tuple[ast.expr, Places]]
) -> set[str]:
    if depth == 0 or (node, places) in seen or len(seen) > 400:
        return set()
    seen.add((node, places))

    def ask(one: ast.expr, left: Places = ()) -> set[str]:
        return _kinds(source, one, left, depth - 1, seen)

    if isinstance(node, (ast.Name, ast.Attribute)):
        return _of_name(source, node, places, depth, seen)
    if isinstance(node, ast.Compare):
        number = len(node.ops) == 1 and isinstance(node.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE))
        return {DECISIONS} if number and ask(node.left) & ANSWERS else set()
    if isinstance(node, ast.Subscript) and not places:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, (int, str)):
            stepped = flow(source).step(node, places)
            found = {k for value, left in stepped for k in ask(value, left)}
            if found or isinstance(node.slice.value, str):
                return found
        return ask(node.value)
    if isinstance(node, (ast.List, ast.ListComp)) and not places:
        if isinstance(node, ast.List):
            return {k for e in node.elts for k in ask(e)}
        return ask(node.elt)
    if isinstance(node, ast.Call):
        told = _of_call(source, node, places, depth, seen)
        if told is not None:
            return told
    return {k for value, left in flow(source).step(node, places) for k in ask(value, left)}


def _of_call(
    source: Script, call: ast.Call, places: Places, depth: int, seen: set[tuple[ast.expr, Places]]
) -> set[str] | None:
    """The kinds of what a call gives, None for a function of the script or of another package."""
    name = last_name(call.func)
    owner = receiver(call)
    plain = isinstance(owner, (ast.Name, ast.Attribute))  # `torch.sigmoid(z).cpu()` is a method of a value
    library = owner is None or (plain and _LIBRARY.match(unparse(owner).split(".")[0]) is not None)
    mine = flow(source).called(call) if name not in _NEUTRAL else []
    given = argument(call, position=0) if library else owner
    if call in _asked(source):
        return {LOGITS if _takes_raw(source) else OUTPUTS} if not places else set()
    if mine:
        return None
    if name in ("sigmoid", "expit", "sigmoid_"):
        return {CHANCES}
    if name == "softmax":
        return {SHARES}
    if name in ("argmax", "argmin", "predict_classes"):
        inner = _kinds(source, given, (), depth - 1, seen) if given is not None else set()
        return set() if inner == {TRUTH} else {CLASSES}
    if name in ("round", "rint") and given is not None:
        return {DECISIONS} if _kinds(source, given, (), depth - 1, seen) & {CHANCES} else set()
    if name == "predict_proba":
        return {SHARES}
    if name in _NEUTRAL and given is not None:
        if name in ("gather", "gather_for_metrics") and call.args:
            given = call.args[0]
        if isinstance(given, (ast.Tuple, ast.List)) and places and isinstance(places[0], int):
            return (
                _kinds(source, given.elts[places[0]], places[1:], depth - 1, seen)
                if places[0] < len(given.elts)
                else set()
            )
        return _kinds(source, given, places, depth - 1, seen)
    return None


def _of_name(
    source: Script,
    node: ast.Name | ast.Attribute,
    places: Places,
    depth: int,
    seen: set[tuple[ast.expr, Places]],
) -> set[str]:
    mine = flow(source)
    if isinstance(node, ast.Attribute):
        if node.attr == "label_ids":
            return {TRUTH}
        if node.attr in ("predictions", "logits"):
            return {LOGITS}
    found: set[str] = set()
    given = mine.all_given(node)
    for one in given:
        if _is_empty(one.value):
            for filled in _fillers(source, node):
                found |= _kinds(source, filled, places, depth - 1, seen)
        else:
            found |= _kinds(source, one.value, (*one.places, *places), depth - 1, seen)
    if given:
        pair = given[0]
        if len(pair.places) == 1 and isinstance(pair.value, ast.Name) and _of_trainer(source, pair.value):
            found |= {LOGITS} if pair.places[0] == 0 else {TRUTH}
        return found
    handed = mine.arguments(node)
    for value in handed:
        found |= _kinds(source, value, places, depth - 1, seen)
    if not handed and isinstance(node, ast.Name) and not places and _is_target(source, node):
        return {TRUTH}
    return found


def _is_target(source: Script, node: ast.Name) -> bool:
    """A name of a loop over batches, or a parameter, that holds targets by what reaches the loss."""
    if _ANSWER_NAME.search(node.id) or node.id.lower() not in targets(source):
        return False
    loops = [x for x in source.loops_around(node) if isinstance(x, ast.For)]
    looped = any(n.id == node.id for x in loops for n in of(x.target, ast.Name))
    function = source.function_around(node)
    return looped or (function is not None and any(a.arg == node.id for a in of(function.args, ast.arg)))


def _of_trainer(source: Script, name: ast.Name) -> bool:
    """The only argument of a function that a Trainer is handed as its `compute_metrics`."""
    function = source.function_around(name)
    if function is None or name.id not in [a.arg for a in function.args.args][:1]:
        return False
    return any(
        last_name(given) == function.name or _returns(source, given, function.name)
        for c in source.calls
        if (given := keyword(c, "compute_metrics")) is not None
    )


def _returns(source: Script, given: ast.expr, name: str) -> bool:
    """A call of a function of the script that gives back an inner function of that name."""
    made = flow(source).called(given) if isinstance(given, ast.Call) else []
    return any(isinstance(r.value, ast.Name) and r.value.id == name for f in made for r in of(f, ast.Return))


def _is_empty(value: ast.expr) -> bool:
    """`[]`, `list()`, `np.zeros(...)`: what is filled later."""
    if isinstance(value, ast.List):
        return not value.elts
    return isinstance(value, ast.Call) and last_name(value.func) in (
        *("list", "zeros", "empty", "full", "zeros_like", "deque"),
    )


def _fillers(source: Script, node: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
    """What is put into a list or array: `xs.append(v)`, `xs += [v]`, `xs[i:j] = v`."""
    name = unparse(node)
    scope: ast.AST | None = source.function_around(node)
    if isinstance(node, ast.Attribute):
        scope = source.class_around(node)
    for call in of(scope or source.tree, ast.Call):
        if last_name(call.func) in _FILLS and source.owner(call) == name and call.args:
            yield call.args[-1]
    for one in of(scope or source.tree, ast.AugAssign):
        if unparse(one.target) == name:
            yield one.value
    for put in of(scope or source.tree, ast.Assign):
        for target in put.targets:
            if isinstance(target, ast.Subscript) and unparse(target.value) == name:
                yield put.value


@lru_cache(maxsize=16)
def _asked(source: Script) -> frozenset[ast.Call]:
    return frozenset(model_calls(source))


@lru_cache(maxsize=16)
def _takes_raw(source: Script) -> bool:
    """The loss takes raw scores, and no network of the script ends in what makes chances of them."""
    raw = source.named(
        *("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "CrossEntropyLoss", "cross_entropy"),
        *("sigmoid_cross_entropy_with_logits", "sparse_softmax_cross_entropy_with_logits"),
        "MultiLabelSoftMarginLoss",
    )
    from_logits = any(is_true(v) for c in source.calls if (v := keyword(c, "from_logits")) is not None)
    returned = " ".join(unparse(v) for f in source.forwards for v in source.output_of(f))
    ends = re.search(r"(?i)sigmoid|softmax", returned) is not None or bool(
        source.named("Sigmoid", "Softmax", "LogSoftmax")
    )
    return bool(raw or from_logits) and not ends
