"""Parameters that scripts leave without training: in no group, frozen with others, without gradients."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ...scripts.untaped import untaped_function
from ..model.wiring import held
from ..shared.checks import at

_FROZEN = re.compile(r"requires_grad(?:_\(False\)| = False)|freeze|trainable = False")


def one_part_given(source: Script) -> Finding | None:
    """The only optimizer of the program is given the parameters of one layer, and nothing is frozen.

    `Adam(self.model.head.parameters())`, where the model of this program has other layers with weights.
    """
    if len(source.optimizer_calls) != 1 or _FROZEN.search(source.code) or source.loose:
        return None
    call = source.optimizer_calls[0]
    given = argument(call, position=0)
    if not (isinstance(given, ast.Call) and last_name(given.func) in ("parameters", "trainable_params")):
        return None
    part = receiver(given)
    if not isinstance(part, ast.Attribute) or unparse(part.value) == "self":
        return None
    made = flow(source).made(part.value)
    if made is None or made not in source.modules:
        return None
    layers = {n for n, _ in _layers(made)}
    if part.attr in layers and len(layers) > 1:
        return at(
            source, call, f"the optimizer gets {part.attr} alone, and nothing says that the rest is frozen"
        )
    return None


def _layers(owner: ast.ClassDef) -> list[tuple[str, ast.Call]]:
    kinds = r"Linear|Dense|Conv|Embedding|LSTM|GRU|RNN|Attention|Transformer|Sequential|List$|Encoder"
    return [(n, c) for n, c in held(owner) if re.search(kinds, last_name(c.func))]


_APART = re.compile(
    r"(?i)teach|target|frozen|fixed|pretrain|vgg|percept|lpips|feature|ref|ema|shadow|slow|momentum|old"
    r"|disc|critic|augment|preproc|clip"
)


def left_by_the_tape(source: Script) -> Finding | None:
    """Under one tape `self.encoder` and `self.decoder` run, and the gradient is asked for the decoder alone.

    A method of a class that makes both, of one optimizer, and nothing says that the other one is kept.
    """
    if _FROZEN.search(source.code) or source.loose or "stop_gradient" in source.code:
        return None
    for owner in source.classes.values():
        made = {f"self.{n}" for n, _ in held(owner)}
        asked = [
            n for n in of(owner, ast.Attribute) if n.attr in ("trainable_variables", "trainable_weights")
        ]
        of_whom = {unparse(n.value) for n in asked}
        if not of_whom or not of_whom <= made or "get_weights" in unparse(owner):
            continue
        for tape in of(owner, ast.With):
            if not any("GradientTape" in unparse(i.context_expr) for i in tape.items):
                continue
            method = source.function_around(tape)
            called = _called_by(owner, tape)
            left = sorted((called & made) - of_whom)
            left = [n for n in left if not _APART.search(n) and _has_weights(source, owner, n)]
            if method is not None and left and called & of_whom and asked:
                why = f"the gradient is asked for {min(of_whom)} alone, and {left[0]} runs under the tape"
                return at(source, asked[0], why)
    return None


def _called_by(owner: ast.ClassDef, tape: ast.With) -> set[str]:
    """What is called under a tape, by its own lines and by methods of the class that these call."""
    methods = {f"self.{f.name}": f for f in owner.body if isinstance(f, ast.FunctionDef)}
    found: set[str] = set()
    nodes: list[ast.AST] = [tape]
    for _ in range(3):
        called = {unparse(c.func) for n in nodes for c in of(n, ast.Call)} - found
        found |= called
        nodes = [methods[n] for n in called if n in methods]
    return found


def _has_weights(source: Script, owner: ast.ClassDef, name: str) -> bool:
    """The attribute is made by a function or class of the program that makes layers with weights."""
    for key, call in held(owner):
        if f"self.{key}" == name:
            made = source.classes.get(last_name(call.func))
            bodies: list[ast.AST] = [made] if made is not None else [*flow(source).called(call)]
            return any(
                re.match(r"Dense|Conv|Embedding|LSTM|GRU", last_name(c.func))
                for b in bodies
                for c in of(b, ast.Call)
            )
    return False


def group_overwritten(source: Script) -> Finding | None:
    """In a loop over parameters each one replaces the list of its group: `groups[key] = [p]`."""
    for loop in of(source.tree, ast.For):
        if not re.search(r"parameters\(|trainable_params\(|\.items\(\)", unparse(loop.iter)):
            continue
        each = names_in(loop.target)
        if not re.search(r"param", unparse(loop.iter)) or not each:
            continue
        names = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        first = unparse(names[0])
        for node in of(loop, ast.Assign):
            target, value = node.targets[0], node.value
            if not (
                isinstance(target, ast.Subscript) and isinstance(value, ast.List) and len(value.elts) == 1
            ):
                continue
            one = value.elts[0]
            key = names_in(target.slice)
            guarded = any(isinstance(p, ast.If) and " not in " in unparse(p.test) for p in source.above(node))
            if isinstance(one, ast.Name) and one.id in each and first not in key and key and not guarded:
                return at(
                    source,
                    node,
                    "each parameter replaces the list of its group: only the last one is trained",
                )
    return None


def frozen_with_the_new(source: Script) -> Finding | None:
    """New layers are put into a model, and then all of its parameters are frozen, the new ones with them."""
    if re.search(r"requires_grad(?:_\((?:True)?\)| = True)|unfreeze", source.code):
        return None
    for function in of(source.tree, ast.FunctionDef):
        places = [a.arg for a in function.args.args]
        for at_place, statement in enumerate(function.body):
            if not isinstance(statement, ast.For) or not _freezes_all(statement):
                continue
            model = unparse(statement.iter).split(".")[0]
            before = function.body[:at_place]
            new = [
                c
                for s in before
                for c in of(s, ast.Call)
                if last_name(c.func) == "setattr" and len(c.args) == 3 and isinstance(c.args[2], ast.Call)
                if source.classes.get(last_name(c.args[2].func)) in source.modules
            ]
            if new and model in places:
                return at(
                    source, statement, "all parameters are frozen after the new layers were put in: these too"
                )
    return None


def _freezes_all(loop: ast.For) -> bool:
    if not re.fullmatch(r"\w+(?:\.\w+)*\.parameters\(\)", unparse(loop.iter)) or len(loop.body) != 1:
        return False
    return re.search(r"requires_grad(?:_\(False\)| = False)$", unparse(loop.body[0])) is not None


def method_without_gradients(source: Script) -> Finding | None:
    """A method that the forward pass is made of runs without gradients, and nothing is frozen."""
    if _FROZEN.search(source.code):
        return None
    for owner in source.modules:
        for method in (f for f in owner.body if isinstance(f, ast.FunctionDef)):
            if method in source.forwards or not untaped_function(method):
                continue
            if any("staticmethod" in unparse(d) for d in method.decorator_list):
                continue
            layers = [c for c in of(method, ast.Call) if re.fullmatch(r"self\.\w+", unparse(c.func))]
            used = {last_name(c.func) for c in layers}
            kept = {n for n, _ in _all_held(owner)}
            for forward in (f for f in owner.body if f in source.forwards):
                for call in of(forward, ast.Call):
                    taken = isinstance(
                        source.parents.get(call), (ast.Assign, ast.BinOp, ast.Call, ast.Return)
                    )
                    if unparse(call.func) == f"self.{method.name}" and taken and used & kept:
                        if not _before_others(source, forward, call):
                            return at(
                                source,
                                method,
                                "the forward pass runs this without gradients: it is not trained",
                            )
    return None


def _all_held(owner: ast.ClassDef) -> list[tuple[str, ast.AST]]:
    """Attributes that are set in `__init__`, also those handed in."""
    return [
        (t.attr, n)
        for n in of(owner, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Attribute) and unparse(t.value) == "self"
    ]


def _before_others(source: Script, forward: ast.AST, call: ast.Call) -> bool:
    """The result is only compared or counted: positions, masks, indices."""
    statement = source.statement(call)
    names = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    return (
        bool(re.search(r"(?i)mask|idx|index|pos|target|assign|code|teacher|ema|cluster", names))
        or forward is None
    )


def decay_turned_round(source: Script) -> Finding | None:
    """Weight decay goes to what is named to be left without: `wd if name.endswith(no_decay) else 0.0`."""
    for node in of(source.tree, ast.IfExp):
        zero = isinstance(node.orelse, ast.Constant) and node.orelse.value in (0, 0.0)
        if not zero or not re.search(r"(?i)decay|\bwd\b", unparse(node.body)):
            continue
        test = unparse(node.test)
        if re.search(r"\bnot\b|!=", test) or not re.search(r"endswith|\bin\b|any\(", test):
            continue
        words = test + " ".join(
            unparse(v) for n in of(node.test, ast.Name) for v in flow(source).values(n, 3) if v is not n
        )
        if re.search(r"(?i)'[\w.]*(?:bias|norm|gamma|beta|ln)[\w.]*'|no_?decay|skip", words):
            if re.search(r"(?i)name|\bn\b|key|\bk\b", test):
                return at(source, node, "decay goes to the names that are listed to be left without it")
    return None


_OVER = re.compile(r"\b(?:(?:named_|get_)?parameters|parameters_and_names|trainable_params)\(")


def gathered_in_vain(source: Script) -> Finding | None:
    """A loop shares out a model's parameters into lists, and one of them is never used again.

    `(plain if p.ndim == 1 else decayed).append(p)`, where the optimizer gets `decayed` alone.
    """
    for loop in source.of(ast.For):
        text = unparse(loop)
        if not _OVER.search(unparse(loop.iter)) or _FROZEN.search(text) or "requires_grad_(" in text:
            continue
        lists: dict[str, ast.Call] = {}
        for call in of(loop, ast.Call):
            if last_name(call.func) == "append" and isinstance(call.func, ast.Attribute):
                if call.args and names_in(call.args[0]) & names_in(loop.target):
                    lists.update(dict.fromkeys(_lists(call.func.value), call))
        scope = source.function_around(loop) or source.tree
        inside = {n for call in lists.values() for n in of(call, ast.Name)}
        read = {n.id for n in of(scope, ast.Name) if isinstance(n.ctx, ast.Load) and n not in inside}
        handed = [a for c in source.optimizer_calls for a in all_arguments(c)]
        used = {n for a in handed for v in (a, *flow(source).values(a, 2)) for n in names_in(v)} & set(lists)
        left = next((n for n in lists if n not in read), None)
        if used and left is not None and not source.named("add_param_group"):
            return at(source, lists[left], f"what is gathered in `{left}` is handed to no optimizer")
    return None


def _lists(node: ast.expr) -> list[str]:
    """The names of the lists that one is put into: one, or either of two."""
    if isinstance(node, ast.IfExp):
        return [*_lists(node.body), *_lists(node.orelse)]
    return [node.id] if isinstance(node, ast.Name) else []
