"""Layers that the framework does not know of, and freezing that does not do what it says, in scripts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import Flow, flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.nodes import assigned, is_false, is_true

_WEIGHTS = re.compile(
    r"^(?:Linear|Conv\w*|(?:SAGE|GCN|GAT|GATv2|GIN|Graph|Cheb|ARMA|RGCN|Transformer)Conv|Embedding|LSTM|GRU|RNN|MultiheadAttention|BatchNorm\w*|LayerNorm|Dense|TransformerEncoderLayer)$"
)
_REGISTERS = (
    "ModuleList",
    "ModuleDict",
    "Sequential",
    "CellList",
    "SequentialCell",
    "add_module",
    "register_module",
)
_ANY_REGISTERS = (*_REGISTERS, "insert_child_to_cell", "setattr", "ParameterList")


@probe()
def layers_in_plain_list(view: View) -> Finding:
    """A PyTorch module or a MindSpore cell keeps layers in a plain list or dict, which registers none.

    Their parameters are not in `parameters()`, so that no optimizer or checkpoint sees them. Left aside:
    lists that are handed on to a registering container. Keras tracks plain lists.
    """
    return first(view, _in_list, "the scripts hold no module of PyTorch or MindSpore")


def _in_list(source: Script) -> Finding | None:
    mine, seen = flow(source), None
    for owner in source.modules:
        bases = " ".join(_bases(source, owner))
        if not re.search(r"Module\b|Cell\b", bases) or not re.search(r"\b(?:torch|mindspore)\b", source.text):
            continue
        seen = seen or owner
        for node, attribute, value in ((n, *pair) for n in of(owner, ast.Assign) for pair in assigned(n)):
            if not isinstance(attribute, ast.Attribute):
                continue
            target = unparse(attribute)
            held = [*_items(value), *_appended(owner, target, value)]
            local = _local_list(source, owner, node, value)
            back, registers = _given_back(source, owner, value)
            held += local if registers else [*local, *back]
            if not target.startswith("self.") or not any(_is_layer(mine, c) for c in held):
                continue
            if not _handed_on(owner, target) and not (local and _handed_on(owner, _listed(value))):
                return at(
                    source, node, "these layers stand in a plain list: no optimizer gets their parameters"
                )
    return ok(source, seen, "layers stand where the framework finds them") if seen is not None else None


def _bases(source: Script, owner: ast.ClassDef, depth: int = 3) -> Iterator[str]:
    """What a class derives from, also by way of another class of the script."""
    for base in owner.bases:
        above = source.classes.get(last_name(base))
        if above is not None and above is not owner and depth:
            yield from _bases(source, above, depth - 1)
        else:
            yield unparse(base)


def _listed(value: ast.expr) -> str:
    """The name of the list that a value is, or that its comprehension goes through."""
    if isinstance(value, (ast.ListComp, ast.GeneratorExp, ast.DictComp)):
        item = value.value if isinstance(value, ast.DictComp) else value.elt
        through = value.generators[0].iter
        if not isinstance(item, ast.Name) or item.id not in names_in(value.generators[0].target):
            return ""
        if isinstance(through, ast.Call) and last_name(through.func) == "enumerate" and through.args:
            through = through.args[0]
        value = through
    if isinstance(value, ast.Call) and last_name(value.func) in ("list", "tuple") and value.args:
        value = value.args[0]
    return value.id if isinstance(value, ast.Name) else ""


def _local_list(source: Script, owner: ast.ClassDef, node: ast.Assign, value: ast.expr) -> list[ast.expr]:
    """What a list of the same method holds that is kept as it is: `self.blocks = blocks`."""
    name, method = _listed(value), source.function_around(node)
    made = source.assigned(name, method, node.lineno) if name and method is not None else None
    if made is None and name and method is not None:
        made = _unpacked(method, name, node.lineno)
    if made is None or isinstance(made, ast.Call):
        return []
    return [*_items(made), *_appended(owner, name, made)]


def _unpacked(method: ast.AST, name: str, before: int) -> ast.expr | None:
    """`layers, width = [], 64` -> the list."""
    found = None
    for node in of(method, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and node.lineno < before:
                pairs = zip(target.elts, node.value.elts, strict=False)
                found = next((v for t, v in pairs if unparse(t) == name), found)
    return found


def _given_back(source: Script, owner: ast.ClassDef, value: ast.expr) -> tuple[list[ast.expr], bool]:
    """The layers of a list that a method of the class gives back, and whether that registers them itself.

    `self.layer1 = self._make_layer(64, 2)` whose last line is `return blocks`, a list that was filled.
    """
    if not (isinstance(value, ast.Call) and unparse(value.func).startswith("self.")):
        return [], False
    methods = [f for f in of(owner, ast.FunctionDef) if f.name == last_name(value.func)]
    ends = [r for f in methods for r in of(f, ast.Return) if r.value is not None]
    if len(methods) != 1 or len(ends) != 1 or not isinstance(ends[0].value, (ast.Name, ast.List)):
        return [], False
    listed = ends[0].value
    if isinstance(listed, ast.List):
        return list(_items(listed)), False
    made = source.assigned(listed.id, methods[0], ends[0].lineno)
    made = made if made is not None else _unpacked(methods[0], listed.id, ends[0].lineno)
    if made is None or isinstance(made, ast.Call):
        return [], False
    inside = ast.ClassDef(owner.name, [], [], [methods[0]], [])
    return [*_items(made), *_appended(inside, listed.id, made)], _handed_on(inside, listed.id)


def _items(value: ast.expr) -> Iterator[ast.expr]:
    """What a list, a dict or a comprehension holds, repeated and joined lists taken apart."""
    if isinstance(value, (ast.List, ast.Tuple)):
        yield from value.elts
    elif isinstance(value, ast.Dict):
        yield from value.values
    elif isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        yield value.elt
    elif isinstance(value, ast.DictComp):
        yield value.value
    elif isinstance(value, ast.BinOp):
        yield from _items(value.left)
        yield from _items(value.right)
    elif isinstance(value, ast.Call) and last_name(value.func) in ("list", "tuple") and value.args:
        yield from _items(value.args[0])


def _appended(owner: ast.ClassDef, target: str, value: ast.expr) -> Iterator[ast.expr]:
    """What the class appends to a list that starts empty."""
    if not isinstance(value, ast.List) or value.elts:
        return
    for call in of(owner, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.args:
            if unparse(call.func.value) == target and call.func.attr == "append":
                yield call.args[0]
            elif unparse(call.func.value) == target and call.func.attr == "extend":
                yield from _items(call.args[0])
    for node in of(owner, ast.AugAssign):
        if isinstance(node.op, ast.Add) and unparse(node.target) == target:
            yield from _items(node.value)


def _is_layer(mine: Flow, item: ast.expr, depth: int = 3) -> bool:
    """A call that makes a layer with weights: by name, by a class or a function of the script."""
    if isinstance(item, ast.IfExp):
        return all(_is_layer(mine, c, depth) for c in (item.body, item.orelse))
    while isinstance(item, ast.Call) and last_name(item.func) in (
        "to",
        "cuda",
        "half",
        "float",
        "eval",
        "train",
    ):
        if not isinstance(item.func, ast.Attribute):
            return False
        item = item.func.value
    if isinstance(item, ast.Name) and depth and (made := mine.whole_given(item)) is not None:
        item = made
    if not isinstance(item, ast.Call) or depth == 0:
        return False
    name = last_name(item.func)
    if _WEIGHTS.match(name):
        return unparse(item.func).split(".")[0] in ("nn", "torch", "mindspore", name)
    owner = mine.source.classes.get(name)
    if owner is not None:
        return owner in mine.source.modules and _holds_weights(mine, owner, depth)
    if name in ("Sequential", "SequentialCell"):
        given = [a.value if isinstance(a, ast.Starred) else a for a in item.args]
        listed = [i for a in given for i in ([*_items(a)] or [a])]
        return any(_is_layer(mine, a, depth - 1) for a in listed)
    if name in ("ModuleList", "CellList", "ModuleDict") and item.args:
        return any(_is_layer(mine, c, depth - 1) for c in _items(item.args[0]))
    return any(_is_layer(mine, r, depth - 1) for f in mine.functions.get(name, []) for r in returns(f))


def _holds_weights(mine: Flow, owner: ast.ClassDef, depth: int) -> bool:
    """A module that makes layers with weights, itself or by modules of the script that it makes."""
    calls = of(owner, ast.Call)
    if any(_WEIGHTS.match(last_name(c.func)) for c in calls):
        return True
    parts = {mine.source.classes.get(last_name(c.func)) for c in calls} - {None, owner}
    return depth > 1 and any(
        p in mine.source.modules and _holds_weights(mine, p, depth - 1) for p in parts if p is not None
    )


def _handed_on(owner: ast.ClassDef, target: str) -> bool:
    for node in walk(owner):
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in _ANY_REGISTERS and (
                target in unparse(node) or name in ("add_module", "setattr", "register_module")
            ):
                return True
        if isinstance(node, ast.For) and target in unparse(node.iter):
            if any(w in unparse(node) for w in ("add_module", "setattr", "register_module", "requires_grad")):
                return True
    return False


# --------------------------------------------------------------------------------------- trainable in Keras


@probe()
def trainable_undone(view: View) -> Finding:
    """A Keras model is unfrozen and all its layers are frozen again, or it is unfrozen after `compile`.

    Keras takes `trainable` over at `compile`: what is set later does not count until the next one.
    """
    return first(view, _undone, "the scripts set `trainable` of nothing that they compile")


def _undone(source: Script) -> Finding | None:
    sets = [
        (n, t.value, n.value)
        for n in source.of(ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Attribute) and t.attr == "trainable"
    ]
    sets.sort(key=lambda s: s[0].lineno)
    opened = {unparse(o): n for n, o, v in sets if is_true(v)}
    if not sets or not source.named("compile"):
        return None
    for node, _, value in sets:
        loop = next((p for p in source.above(node) if isinstance(p, ast.For)), None)
        if loop is None or not is_false(value) or any(isinstance(p, ast.If) for p in source.above(node)):
            continue
        over = unparse(loop.iter)
        before = opened.get(over.removesuffix(".layers"))
        if over.endswith(".layers") and before is not None and _later(source, before, loop):
            return at(
                source, node, f"every layer is frozen again after {over.removesuffix('.layers')} was opened"
            )
    for node in opened.values():
        if any(isinstance(p, ast.If) for p in source.above(node)):
            continue
        calls = list(_compiled_and_fit(source, source.function_around(node)))
        before_ = [name for line, name in calls if line < node.lineno]
        after = [name for line, name in calls if line > node.lineno]
        if before_ and "compile" in before_ and after[:1] == ["fit"]:
            return at(source, node, "this is set after the model was compiled, so that it does not train")
    return ok(source, sets[0][0], "what is set to train is compiled afterwards")


def _compiled_and_fit(source: Script, scope: ast.AST | None) -> Iterator[tuple[int, str]]:
    """Where in a function, or at the top, a model is compiled or fit, also by a function that does it."""
    for call in source.calls:
        if source.function_around(call) is not scope:
            continue
        name = last_name(call.func)
        if name in ("compile", "fit") and isinstance(call.func, ast.Attribute):
            yield call.lineno, name
            continue
        for function in flow(source).called(call) if isinstance(call.func, ast.Name) else ():
            for inner in sorted(of(function, ast.Call), key=lambda c: c.lineno):
                if last_name(inner.func) in ("compile", "fit") and isinstance(inner.func, ast.Attribute):
                    yield call.lineno, last_name(inner.func)


def _later(source: Script, before: ast.stmt, after: ast.stmt) -> bool:
    """The loop follows in the same block, with no fit in between."""
    fits = [c.lineno for c in source.named("fit")]
    same = source.function_around(before) is source.function_around(after)
    return same and before.lineno < after.lineno and not any(before.lineno < f < after.lineno for f in fits)


# --------------------------------------------------------------------------------------------- a new head


@probe()
def new_head_frozen(view: View) -> Finding:
    """A test on names switches off all that is not in the body, also the head, which is made anew.

    `p.requires_grad = "encoder" in name` on a Hugging Face model for classification: its head is random.
    """
    return first(view, _head_frozen, "the scripts choose no parameters of a pretrained classifier by name")


_HEADED = re.compile(
    r"For(?:Sequence|Token|Image|Audio)\w*Classification|ForQuestionAnswering|ForMultipleChoice"
)
_HEAD_WORDS = re.compile(r"classifier|head|score|qa_outputs|fc|cls|out_proj")


def _all_but(source: Script, node: ast.Assign) -> str | None:
    """`if not name.startswith("bert"): p.requires_grad = False`: the name of what is left to train."""
    target, around = node.targets[0], source.parents.get(node)
    if not isinstance(target, ast.Attribute) or target.attr != "requires_grad":
        return None
    if not (is_false(node.value) and isinstance(around, ast.If)):
        return None
    test = around.test
    if node not in around.body or around.orelse:
        return None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        asked = test.operand
        if isinstance(asked, ast.Call) and last_name(asked.func) == "startswith" and len(asked.args) == 1:
            return str(asked.args[0].value) if isinstance(asked.args[0], ast.Constant) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.NotIn):
        return str(test.left.value) if isinstance(test.left, ast.Constant) else None
    return None


def _head_frozen(source: Script) -> Finding | None:
    if not _HEADED.search(source.text):
        return None
    seen = None
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], ast.Attribute):
            continue
        if node.targets[0].attr != "requires_grad" or not isinstance(
            node.value, (ast.Compare, ast.Call, ast.BoolOp)
        ):
            continue
        seen = seen or node
        words = [n.value for n in of(node.value, ast.Constant) if isinstance(n.value, str)]
        lets_in = any(isinstance(op, ast.In) for n in of(node.value, ast.Compare) for op in n.ops)
        starts = isinstance(node.value, ast.Call) and last_name(node.value.func) == "startswith"
        if words and (lets_in or starts) and not any(_HEAD_WORDS.search(w) for w in words):
            return at(source, node, "the head, which starts at random, is frozen by this test on names")
    for node in source.of(ast.Assign):
        if (test := _all_but(source, node)) is not None and not _HEAD_WORDS.search(test):
            return at(source, node, f"what is not in {test} is frozen, also the head, which starts at random")
    return ok(source, seen, "the test on names lets the head train") if seen is not None else None
