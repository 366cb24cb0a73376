"""A network that a script makes, runs and hands to no optimizer, while others beside it are handed to one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.nodes import paired

_WEIGHTS = re.compile(
    r"\b(?:Linear|Conv[123]d|ConvTranspose[123]d|Embedding|LSTM|GRU|RNN|MultiheadAttention)\("
)
# what is not meant to learn: copies, judges, what is drawn once and kept
_ASIDE = re.compile(
    r"(?i)teacher|ema|target|momentum|ref|frozen|fixed|random|vgg|lpips|percep|reward|old|swa|avg|average|noise"
    r"|aug|transform|loss|criterion|metric|feature|extract|pretrain|inception|fid|best|copy|expert|oracle|judge"
)
_COUNTS = ("clip_grad_norm_", "clip_grad_value_", "sum", "print", "len", "numel")


def network_without_optimizer(source: Script) -> Finding | None:
    """Of several networks made in one place one is run, never frozen or loaded, and in no optimizer.

    `encoder, decoder = Encoder(), Decoder()`, and both optimizers get `decoder.parameters()`. Left aside:
    what another module holds, what is put into evaluation mode, and copies and judges by their names.
    """
    built = source.optimizer_calls
    scopes = {source.function_around(c) for c in built}
    if len(scopes) != 1 or not source.backwards or source.named("add_param_group") or source.loose:
        return None
    scope = next(iter(scopes))
    made = dict(_networks(source, scope))
    handed = {n for c in built for a in all_arguments(c) for n in _behind(source, a)}
    if len(made) < 2 or not handed & set(made):
        return None
    for name in made:
        if name not in handed and not _ASIDE.search(name) and _learns(source, name) and _runs(source, name):
            return at(source, built[-1], f"no optimizer gets the parameters of {name}")
    return None


def _networks(source: Script, scope: ast.AST | None) -> Iterator[tuple[str, ast.expr]]:
    """Names that get a network with weights, at random, in this scope and once."""
    mine, counts = flow(source), [n.id for n in source.of(ast.Name) if isinstance(n.ctx, ast.Store)]
    for node in source.of(ast.Assign):
        if source.function_around(node) is not scope or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        pairs = paired(target, value)
        for one, given in pairs:
            if isinstance(one, ast.Name) and counts.count(one.id) == 1 and isinstance(given, ast.Call):
                if any(_has_weights(source, v) for v in (given, *mine.values(given, 5))):
                    yield one.id, given


def _has_weights(source: Script, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    name = last_name(value.func)
    owner = source.classes.get(name)
    if owner is not None:
        return owner in source.modules and _WEIGHTS.search(unparse(owner)) is not None
    return name == "Sequential" and _WEIGHTS.search(unparse(value)) is not None


def _behind(source: Script, node: ast.expr) -> set[str]:
    """The names that an argument is made of, those of lists and groups on the way as well."""
    found, waiting = set[str](), [node]
    while waiting and len(found) < 200:
        one = waiting.pop()
        for name in of(one, ast.Name):
            if name.id not in found:
                found.add(name.id)
                waiting += _made_of(source).get(name.id, [])
                filled = [c for c in source.named("append", "extend", "update") if source.owner(c) == name.id]
                waiting += [a for c in filled for a in c.args]
    return found


@lru_cache(maxsize=16)
def _made_of(source: Script) -> dict[str, list[ast.expr]]:
    """What each name is given or goes over, in any assignment or loop of the script: name -> values."""
    found: dict[str, list[ast.expr]] = {}
    for node in source.of(ast.Assign, ast.For):
        targets = [node.target] if isinstance(node, ast.For) else node.targets
        given = node.iter if isinstance(node, ast.For) else node.value
        for name in {n for t in targets for n in names_in(t)}:
            found.setdefault(name, []).append(given)
    return found


def _learns(source: Script, name: str) -> bool:
    """Nothing says that it should stay as it is, and nothing else may hold its parameters."""
    for node in source.of(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        parent = source.parents.get(node)
        if isinstance(parent, ast.Attribute):
            if parent.attr in ("requires_grad_", "load_state_dict", "requires_grad", "weight", "data"):
                return False
            if "parameters" in parent.attr and not _counted(source, parent):
                return False
        elif isinstance(parent, ast.Call) and node in parent.args:
            called = last_name(parent.func)
            known = called in flow(source).functions and called not in source.classes
            if not known and called not in ("print", "info", "count_parameters"):
                return False  # a wrapper, a loader of weights, another module
            if any("parameters" in unparse(f) for f in flow(source).functions.get(called, ())):
                return False
        elif not isinstance(parent, ast.Call):
            return False  # an item of a list, a value that is handed on
    switched = [c for c in source.named("eval") if source.owner(c) == name]
    return not switched or any(source.owner(c) == name for c in source.named("train"))


def _counted(source: Script, node: ast.AST) -> bool:
    """`clip_grad_norm_(net.parameters(), 1.0)`, `sum(p.numel() for p in net.parameters())`."""
    return any(isinstance(p, ast.Call) and last_name(p.func) in _COUNTS for p in source.above(node))


def _runs(source: Script, name: str) -> bool:
    """It is called, or handed to a function of the script that calls it, and not to score it."""
    if any(unparse(c.func) == name and not is_evaluation(source, c) for c in source.calls):
        return True
    for call in source.calls:
        if any(isinstance(a, ast.Name) and a.id == name for a in call.args):
            functions = flow(source).functions.get(last_name(call.func), [])
            if any(not is_evaluation(source, f.body[-1]) for f in functions):
                return True
    return False
