"""Rates that a training loop works out by hand: hidden, only shown, or applied to themselves again."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.numbers import known
from ..shared.units import loops_of_step
from .written import sets_rate

_NAMED = re.compile(
    r"(?i)^(?:(?:cur|curr|new|current|now|this|epoch|step)_)?(?:lr|rate|learning_rate|eta)(?:_t|_now)?$"
)
_SHOWS = re.compile(r"(?i)print|log|info|write|format|scalar|echo|postfix|append|debug|report")
_READS = re.compile(r"param_groups|get_last_lr|get_lr\(|_last_lr|\.numpy\(\)|state_dict|learning_rate\b")


def rate_by_hand_slipped(source: Script) -> Finding | None:
    """A rate that is worked out and then overwritten, or shown and never used, or multiplied with itself."""
    for look in (_hidden_stair, _only_shown, _again_each_step, _of_other_optimizer, _in_both_phases):
        if (found := look(source)) is not None:
            return found
    return None


def _hidden_stair(source: Script) -> Finding | None:
    """`if e >= 60: lr = a` and below it `if e >= 40: lr = b`: the second overwrites the first."""
    blocks = [n.body for n in source.of(ast.For, ast.FunctionDef)] + [
        n.body for n in source.of(ast.While, ast.If)
    ]
    for block in blocks:
        above: list[tuple[str, str, bool, float]] = []
        for one in block:
            stair = _stair(source, one)
            if stair is None:
                above = []
                continue
            name, count, below, limit = stair
            for other in above:
                hides = limit > other[3] if below else limit < other[3]
                if other[:3] == (name, count, below) and hides:
                    return at(source, one, f"this overwrites what the condition above gave `{name}`")
            above.append(stair)
    return None


def _stair(source: Script, node: ast.stmt) -> tuple[str, str, bool, float] | None:
    """`if count >= limit: rate = ...` and nothing else: the rate, the count, whether below, the limit."""
    if not isinstance(node, ast.If) or node.orelse or len(node.body) != 1:
        return None
    test, inner = node.test, node.body[0]
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(inner, ast.Assign):
        return None
    target = inner.targets[0]
    limit = known(source, test.comparators[0])
    if limit is None or not _NAMED.match(last_name(target)) or last_name(target) in names_in(inner.value):
        return None
    if not isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
        return None
    below = isinstance(test.ops[0], (ast.Lt, ast.LtE))
    return unparse(target), unparse(test.left), below, limit


def _only_shown(source: Script) -> Finding | None:
    """The loop works out `lr` for its epoch, and nothing but the log reads it."""
    loops = loops_of_step(source)
    if not loops or source.loose:
        return None
    outer = loops[-1]
    scope = source.function_around(outer) or source.tree
    counters = {n for p in loops if isinstance(p, ast.For) for n in names_in(p.target)}
    for node in of(outer, ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or not _NAMED.match(target.id) or len(node.targets) != 1:
            continue
        mine = [n for n in of(outer, ast.Assign, ast.AugAssign) if target.id in _stored(n)]
        conditional = any(isinstance(p, ast.If) for n in mine for p in source.above(n))
        made = " ".join(unparse(n.value) for n in mine)
        counted = any(counters & names_in(n.value) for n in mine) or (conditional and len(mine) > 1)
        held = {n.lower() for n in names_in(node.value)} & source.optimizers or _sets_by_itself(
            source, node.value
        )
        if not counted or held or _READS.search(made) or re.search(r"\.step\(|optimizer|sched", made):
            continue
        read = [
            n
            for n in of(scope, ast.Name)
            if n.id == target.id
            and isinstance(n.ctx, ast.Load)
            and not any(m in source.above(n) for m in mine)
        ]
        if not any(not _is_shown(source, n) for n in read) and not _kept_elsewhere(scope, target.id):
            return at(source, node, f"`{target.id}` is worked out for each round and no update takes it")
    return None


def _sets_by_itself(source: Script, value: ast.expr) -> bool:
    """`rate = self.set_rate(epoch)`: a function of the program that writes the rate and gives it back."""
    called = {last_name(n.func) for n in of(value, ast.Call)}
    functions = [f for f in source.of(ast.FunctionDef) if f.name in called]
    return any(sets_rate(n) or ".step(" in unparse(n) for f in functions for n in of(f, ast.stmt))


def _stored(node: ast.Assign | ast.AugAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {t.id for t in targets if isinstance(t, ast.Name)}


def _is_shown(source: Script, node: ast.AST) -> bool:
    for parent in source.above(node):
        if isinstance(parent, ast.Call) and _SHOWS.search(last_name(parent.func)):
            return True
        if isinstance(parent, (ast.JoinedStr, ast.FormattedValue)):
            return True
        if isinstance(parent, ast.stmt):
            return False
    return False


def _kept_elsewhere(scope: ast.AST, name: str) -> bool:
    """Another scope may read it: `global lr`, a function within this one."""
    inner = [f for f in of(scope, ast.FunctionDef, ast.Lambda) if f is not scope]
    if isinstance(scope, ast.Module):
        return any(name in names_in(f) for f in inner) or any(name in n.names for n in of(scope, ast.Global))
    return any(name in names_in(f) for f in inner)


def _again_each_step(source: Script) -> Finding | None:
    """`group["lr"] = group["lr"] * (1 - step / total) ** 0.9` in each round: the decay of a decay."""
    for node in source.of(ast.Assign, ast.AugAssign):
        if not sets_rate(node) or any(isinstance(p, ast.If) for p in source.above(node)):
            continue
        value = node.value
        if isinstance(node, ast.AugAssign):
            factors = [value] if isinstance(node.op, ast.Mult) else []
        else:
            text = unparse(node.targets[0])
            sides = [value.left, value.right] if isinstance(value, ast.BinOp) else []
            whole = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult)
            own = [s for s in sides if unparse(s) == text]
            factors = [s for s in sides if s not in own] if whole and len(own) == 1 else []
        for factor in factors:
            inner = (
                factor.left if isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Pow) else factor
            )
            if _left_of_run(inner):
                return at(source, node, "each round multiplies the rate in force with the whole decay again")
    return None


def _left_of_run(node: ast.expr) -> bool:
    """`1 - step / total`."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.left, ast.Constant)
        and node.left.value == 1
        and isinstance(node.right, ast.BinOp)
        and isinstance(node.right.op, ast.Div)
        and not (names_in(node.right.left) & names_in(node.right.right))
    )


def _of_other_optimizer(source: Script) -> Finding | None:
    """`train(net, opt_b, StepLR(opt_a, 8))`: training steps one optimizer, and the schedule is another's."""
    mine = flow(source)
    for call in source.calls:
        if last_name(call.func) not in mine.functions:
            continue
        given = list(all_arguments(call))
        optimizers = {unparse(g) for g in given if unparse(g).lower() in source.optimizers}
        for one in given:
            made = [v for v in (one, *mine.values(one, 2)) if isinstance(v, ast.Call)]
            schedules = [m for m in made if re.search(r"LR$|Scheduler$|_with_warmup$", last_name(m.func))]
            for schedule in schedules[:1]:
                whose = unparse(schedule.args[0]) if schedule.args else ""
                other = whose.lower() in source.optimizers and whose not in optimizers
                if len(optimizers) == 1 and other:
                    return at(
                        source, call, f"this trains by `{optimizers.pop()}`, and the schedule is of `{whose}`"
                    )
    return None


def _in_both_phases(source: Script) -> Finding | None:
    """`for phase in ["train", "val"]: ...; scheduler.step()`: it moves twice an epoch."""
    for call in source.named("step"):
        if call.args or call.keywords or not re.search(r"(?i)sched", source.owner(call)):
            continue
        for loop in source.loops_around(call)[:1]:
            if not isinstance(loop, ast.For) or not isinstance(loop.iter, (ast.List, ast.Tuple)):
                continue
            words = [e.value for e in loop.iter.elts if isinstance(e, ast.Constant)]
            phases = len(words) > 1 and len(words) == len(loop.iter.elts) and "train" in words
            gated = any(isinstance(p, ast.If) and loop in source.above(p) for p in source.above(call))
            if phases and not gated:
                return at(
                    source, call, f"the schedule moves {len(words)} times an epoch: once for each phase"
                )
    return None
