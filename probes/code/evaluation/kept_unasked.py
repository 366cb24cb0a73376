"""The best weights that a loop keeps, in a file or by a name, and a last score that is taken without them."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Loop, Script
from ..shared.checks import at
from ..shared.nodes import block_of, paired

_SAVES = re.compile(
    r"(?i)^(?:save|save_\w+|dump|dumps|write_bytes|export\w*|serialize|to_bytes|store\w*|write_checkpoint)$"
)
_READS = re.compile(
    r"(?i)^(?:load\w*|restore\w*|set_weights|set_state\w*|from_pretrained|from_bytes|from_state_dict|assign|recover\w*"
    r"|reload\w*|copy_|update_params|unpickle|read_bytes|swap_\w+|apply_best\w*)$"
)
_WEIGHTS = re.compile(
    r"(?i)state_dict\(|get_weights\(|\.params\b|parameters_dict|deepcopy\(|trainable_variables|\bparams\b|\.variables\b"
)
_TEST = re.compile(r"(?i)te?st|_te\b|final|held|holdout")


def kept_and_unasked(source: Script) -> Finding | None:
    """`if score > best: best = score; save(net, "best.ckpt")`, and the last test scores `net` as it is."""
    if source.loose:
        return None
    for node in source.of(ast.If):
        loops = source.loops_around(node)
        figure = _taken_over(node)
        if not loops or figure is None or node.orelse:
            continue
        outer = loops[-1]
        scorer = _scorer(source, outer, figure)
        last = _scored_after(source, outer, scorer) if scorer is not None else None
        if scorer is None or last is None:
            continue
        kept = _kept_names(node)
        saved = [c for s in node.body for c in of(s, ast.Call) if _SAVES.match(last_name(c.func))]
        if kept:
            if not _read_after(source, outer, last, kept) and not _read_elsewhere(source, outer):
                return at(
                    source, last, f"`{min(kept)}` holds the best weights, and the last ones are scored here"
                )
        elif saved and not _read_elsewhere(source, outer):
            return at(
                source, last, "the best weights were saved and are never read: the last ones are scored here"
            )
    return _never_restored(source)


def _taken_over(node: ast.If) -> str | None:
    """The figure of this round that becomes the best one: `score` of `if score > best: best = score`."""
    compares = [c for c in of(node.test, ast.Compare) if len(c.ops) == 1]
    for compare in compares:
        if not isinstance(compare.ops[0], (ast.Gt, ast.Lt, ast.GtE, ast.LtE)):
            continue
        sides = [compare.left, compare.comparators[0]]
        for new, old in (sides, sides[::-1]):
            for statement in (a for s in node.body for a in of(s, ast.Assign)):
                for target, value in paired(statement.targets[0], statement.value):
                    if unparse(target) == unparse(old) and unparse(value) == unparse(new):
                        return new.id if isinstance(new, ast.Name) else None
    return None


def _scorer(source: Script, outer: Loop, figure: str) -> ast.Call | None:
    """The call of the program's own function that gave the figure in the loop."""
    for node in of(outer, ast.Assign):
        target = node.targets[0]
        names = [n.id for n in of(target, ast.Name)]
        if figure in names and isinstance(node.value, ast.Call) and flow(source).called(node.value):
            return node.value
    return None


def _scored_after(source: Script, outer: Loop, scorer: ast.Call) -> ast.Call | None:
    """The same function is asked after the loop, of other data: the test set."""
    block = block_of(source, outer)
    after = block[block.index(outer) + 1 :] if outer in block else []
    for statement in after:
        for call in of(statement, ast.Call):
            if unparse(call.func) != unparse(scorer.func) or len(call.args) != len(scorer.args):
                continue
            unlike = [a for a, b in zip(call.args, scorer.args, strict=True) if unparse(a) != unparse(b)]
            same = [a for a, b in zip(call.args, scorer.args, strict=True) if unparse(a) == unparse(b)]
            if not unlike or not (same or isinstance(call.func, ast.Attribute) or _is_global(source, scorer)):
                continue
            if any(_TEST.search(unparse(a)) for a in unlike) or _TEST.search(unparse(statement)):
                return call
    return None


def _is_global(source: Script, scorer: ast.Call) -> bool:
    """Its function takes the network from around it: `score(valid_ds)`."""
    return all(source.class_around(f) is None for f in flow(source).called(scorer)) and len(scorer.args) == 1


def _kept_names(node: ast.If) -> set[str]:
    """Names that are given weights in the block: `best_params = state.params`."""
    found = set()
    for statement in (a for s in node.body for a in of(s, ast.Assign)):
        for target, value in paired(statement.targets[0], statement.value):
            if isinstance(target, ast.Name) and _WEIGHTS.search(unparse(value)):
                found.add(target.id)
    return found


def _read_after(source: Script, outer: Loop, last: ast.Call, kept: set[str]) -> bool:
    """Anything but what writes a file reads them after the loop, or the score is given them."""
    scope = source.function_around(outer) or source.tree
    saving = {
        id(n)
        for c in of(scope, ast.Call)
        if _SAVES.match(last_name(c.func)) or last_name(c.func) in ("device_get", "print")
        for n in of(c, ast.Name)
    }
    inside = {id(n) for n in of(outer, ast.Name)}
    return any(
        n.id in kept and isinstance(n.ctx, ast.Load) and id(n) not in saving and id(n) not in inside
        for n in of(scope, ast.Name)
    ) or bool(names_in(last) & kept)


def _read_elsewhere(source: Script, outer: Loop) -> bool:
    """Something reads weights, anywhere but where the run is taken up before the loop."""
    block = block_of(source, outer)
    before = block[: block.index(outer)] if outer in block else []
    taken_up = {id(c) for s in before if isinstance(s, ast.If) for c in of(s, ast.Call)}
    data = ("np", "numpy", "json", "yaml", "toml", "pd", "joblib")
    for call in source.calls:
        if not _READS.match(last_name(call.func)) or id(call) in taken_up or source.owner(call) in data:
            continue
        if isinstance(call.func, ast.Name) and flow(source).called(call):
            own = flow(source).called(call)
            if not any(_READS.match(last_name(c.func)) for f in own for c in of(f, ast.Call)):
                continue  # the program's own `load(path)` of a table
        return True
    return False


def _never_restored(source: Script) -> Finding | None:
    """`seen, restore = early(20)`, where `restore` would put the best weights back and is never called."""
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], ast.Tuple) or not isinstance(node.value, ast.Call):
            continue
        for function in flow(source).called(node.value):
            back = returns(function)
            if len(back) != 1 or not isinstance(back[0], ast.Tuple):
                continue
            for target, value in zip(node.targets[0].elts, back[0].elts, strict=False):
                body: ast.AST | None = value if isinstance(value, ast.Lambda) else None
                if isinstance(value, ast.Name):
                    body = next((f for f in of(function, ast.FunctionDef) if f.name == value.id), None)
                puts = body is not None and any(
                    last_name(c.func) in ("load_state_dict", "set_weights", "load_param_into_net")
                    for c in of(body, ast.Call)
                )
                if not puts or not isinstance(target, ast.Name):
                    continue
                scope = source.function_around(node) or source.tree
                if not any(n.id == target.id and isinstance(n.ctx, ast.Load) for n in of(scope, ast.Name)):
                    return at(
                        source, node, f"`{target.id}` would put the best weights back, and nothing calls it"
                    )
    return None
