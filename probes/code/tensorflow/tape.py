"""Training steps under a GradientTape in scripts: what gradients are of, and who gets them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.sides import off_by_default

_VARIABLES = re.compile(r"^(?P<owner>.+)\.(?P<kind>trainable_variables|trainable_weights|variables|weights)$")
_DEPTH = 8


@dataclass(frozen=True)
class Taken:
    """Gradients that are taken: the tape, of what, for which variables, and the function where it stands."""

    tape: ast.With
    call: ast.Call
    objective: ast.expr
    variables: ast.expr
    function: Function | ast.Module


@lru_cache(maxsize=16)
def taken(source: Script) -> tuple[Taken, ...]:
    """Every `tape.gradient(loss, variables)` of a tape that stands in the same function."""
    return tuple(_taken(source)) if "GradientTape" in source.text else ()


def _taken(source: Script) -> Iterator[Taken]:
    tapes = [
        (unparse(item.optional_vars), node)
        for node in source.of(ast.With)
        for item in node.items
        if item.optional_vars is not None and "GradientTape" in unparse(item.context_expr)
    ]
    for call in source.named("gradient"):
        objective = call.args[0] if call.args else keyword(call, "target")
        variables = call.args[1] if len(call.args) > 1 else keyword(call, "sources")
        if objective is None or variables is None:
            continue
        scope = source.function_around(call)
        mine = [
            node
            for name, node in tapes
            if name == source.owner(call) and source.function_around(node) is scope
            if node.lineno < call.lineno
        ]
        if mine:
            yield Taken(mine[-1], call, objective, variables, scope or source.tree)


def gradients_reach_others(source: Script) -> Finding | None:
    """`apply_gradients(zip(grads, other.trainable_variables))`: gradients of one model go to another.

    Also `zip` with all variables where gradients are of those that train (they are paired by place), and an
    optimizer that steps two models while the one that was built for the second is never used.
    """
    seen: ast.AST | None = None
    for call in source.named("apply_gradients"):
        pair = call.args[0] if call.args else keyword(call, "grads_and_vars")
        if not isinstance(pair, ast.Call) or last_name(pair.func) != "zip" or len(pair.args) != 2:
            continue
        origins = _origins(source, pair.args[0], call)
        if len(origins) != 1:
            continue
        seen = seen or call
        given, to = _meaning(source, origins[0].variables), _meaning(source, pair.args[1])
        if given is None or to is None or given == to:
            continue
        if given[0] != to[0]:
            return at(source, call, f"the gradients are those of `{given[0]}`, and `{to[0]}` is given them")
        return at(
            source, call, "gradients and variables are paired by place, and these are two lists of variables"
        )
    if (idle := _idle_optimizer(source)) is not None:
        return idle
    return ok(source, seen, "gradients go to their variables") if seen is not None else None


def _meaning(source: Script, node: ast.expr) -> tuple[str, bool] | None:
    """Whose variables these are, and whether all of them or those that train."""
    ends = flow(source).values(node, 4) if isinstance(node, ast.Name) else [node]
    found = {m for e in ends if (m := _VARIABLES.match(unparse(e))) is not None}
    told = {(m["owner"], not m["kind"].startswith("trainable")) for m in found}
    return told.pop() if len(told) == 1 and len(found) == len(ends) else None


def _origins(source: Script, node: ast.expr, before: ast.AST) -> list[Taken]:
    """The `tape.gradient` calls that a list of gradients comes of, in one function."""
    calls = {t.call: t for t in taken(source)}
    scope = source.function_around(before) or source.tree
    found: dict[ast.Call, Taken] = {}
    waiting, seen = [node], set[str]()
    for _ in range(40):
        if not waiting:
            break
        inner = waiting.pop()
        direct = [c for c in of(inner, ast.Call) if c in calls]
        found.update({c: calls[c] for c in direct})
        if direct:
            continue
        for name in names_in(inner) - seen:
            seen.add(name)
            for given in of(scope, ast.Assign):
                if given.lineno < getattr(before, "lineno", 0) and any(
                    name in names_in(t) for t in given.targets
                ):
                    waiting.append(given.value)
    return list(found.values())


def _idle_optimizer(source: Script) -> Finding | None:
    """`g_opt` steps generator and discriminator, and `d_opt`, built beside it, is used nowhere."""
    owners: dict[str, dict[str, ast.Call]] = {}
    for call in source.named("apply_gradients"):
        for one in _origins(source, call.args[0], call) if call.args else ():
            told = _meaning(source, one.variables)
            if told is not None:
                owners.setdefault(source.owner(call), {}).setdefault(told[0], call)
    if not owners or source.loose:
        return None
    idle = [
        unparse(node.targets[0])
        for node in source.of(ast.Assign)
        if node.value in source.optimizer_calls and isinstance(node.targets[0], ast.Name)
    ]
    reads = [n.id for n in source.of(ast.Name) if isinstance(n.ctx, ast.Load) and not _is_kept(source, n)]
    idle = [n for n in idle if n not in reads and n not in owners]
    for name, parts in owners.items():
        if len(parts) > 1 and idle:
            call = max(parts.values(), key=lambda c: c.lineno)
            return at(source, call, f"`{name}` steps two models, and `{idle[0]}` is built and never used")
    return None


def _is_kept(source: Script, node: ast.AST) -> bool:
    """Handed to a checkpoint."""
    return any(isinstance(p, ast.Call) and "heckpoint" in unparse(p.func) for p in source.above(node))


def loss_beside_tape(source: Script) -> Finding | None:
    """What gradients are taken of is worked out when the tape records no more, or has no slope at all."""
    seen: ast.AST | None = None
    for one in taken(source):
        if not isinstance(one.objective, ast.Name):
            continue
        name = one.objective.id
        inside = set(of(one.tape, ast.Assign, ast.AugAssign, ast.AnnAssign))
        given = [
            n
            for n in of(one.function, ast.Assign, ast.AugAssign, ast.AnnAssign)
            if n.lineno < one.call.lineno and name in names_in(_target(n))
        ]
        if not given or source.function_around(given[-1]) is not source.function_around(one.call):
            continue
        last = max(given, key=lambda n: n.lineno)
        seen = seen or last
        other = any(isinstance(p, ast.With) and "Tape" in unparse(p) for p in source.above(last))
        if last not in inside and not other and last.lineno > one.tape.lineno and last.value is not None:
            if isinstance(last.value, ast.Subscript) and isinstance(last.value.slice, ast.Constant):
                continue  # one of several losses
            # a loss that comes of a call inside the tape may be regularised, or divided, outside: cut as well
            return at(source, last, "the tape has ended: it does not know how this came of the variables")
        if last in inside and last.value is not None and (flat := _flat(source, last.value)) is not None:
            return at(source, flat, "the objective has no slope here: no gradient reaches the model")
    return ok(source, seen, "the tape records the loss") if seen is not None else None


def _target(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> ast.expr:
    return node.targets[0] if isinstance(node, ast.Assign) else node.target


_REDUCES = ("reduce_mean", "mean", "reduce_sum", "sum", "cast", "abs", "square", "float")
_FLAT = ("argmax", "round", "sign", "equal", "not_equal", "greater", "less", "in_top_k")


def _flat(source: Script, node: ast.expr, depth: int = _DEPTH) -> ast.expr | None:
    """An index, a sign or a comparison behind nothing but means, sums and casts."""
    if depth == 0:
        return None
    if isinstance(node, ast.Compare):
        return node
    if isinstance(node, ast.BinOp):
        parts = [p for p in (node.left, node.right) if not isinstance(p, ast.Constant)]
        found = [_flat(source, p, depth - 1) for p in parts]
        return found[0] if found and None not in found else None
    if isinstance(node, ast.Name):
        ends = [v for v in flow(source).values(node, 3) if v is not node]
        flat = [_flat(source, v, depth - 1) for v in ends]
        return flat[0] if flat and None not in flat else None
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    if name in _FLAT and source.owner(node) in ("tf", "tf.math", "ops", "keras.ops", "K"):
        return node
    if name in _REDUCES and node.args:
        return _flat(source, node.args[0], depth - 1)
    if name == "numpy" and isinstance(node.func, ast.Attribute):
        return node
    return None


# ------------------------------------------------------------------------------------- parts of a model

_APART = re.compile(
    r"(?i)teacher|target|ema|vgg|frozen|pretrain|feature|augment|metric|loss|backbone|base|momentum"
)


def part_without_step(source: Script) -> Finding | None:
    """`train_step` of a model of several parts takes gradients for one part alone, none for the rest."""
    for owner in source.classes.values():
        mine = [t for t in taken(source) if source.class_around(t.call) is owner]
        told = [_meaning(source, t.variables) for t in mine]
        if not mine or None in told:
            continue
        owners = {m[0] for m in told if m is not None}
        if not all(re.fullmatch(r"self\.\w+", o) for o in owners):
            continue
        text = unparse(owner)
        if "trainable = False" in source.code or re.search(r"fit|pretrain", " ".join(_methods(owner))):
            continue
        used = dict.fromkeys(
            unparse(c.func)
            for c in of(owner, ast.Call)
            if isinstance(c.func, ast.Attribute) and unparse(c.func.value) == "self" and c.args
        )
        for name in used:
            if name in owners or _APART.search(name) or f"{name}.trainable" in text:
                continue
            if _has_weights(source, owner, name) and not any(
                source.class_around(t.call) is not owner for t in taken(source)
            ):
                return at(
                    source, mine[0].call, f"no gradients are taken for `{name}`, which is trained nowhere"
                )
    return None


def _methods(owner: ast.ClassDef) -> list[str]:
    return [f.name for f in owner.body if isinstance(f, ast.FunctionDef)]


_WEIGHTS = re.compile(r"^(?:Dense|Conv\w+|LSTM|GRU|Embedding|MultiHeadAttention|SeparableConv\w+)$")


def _has_weights(source: Script, owner: ast.ClassDef, name: str) -> bool:
    """What an attribute holds makes layers with weights, in a function of this script."""
    attribute = source.attribute(owner, name.removeprefix("self."))
    if attribute is None:
        return False
    for end in flow(source).values(attribute, 6):
        if any(_WEIGHTS.match(last_name(c.func)) for c in of(end, ast.Call)):
            return True
        if isinstance(end, ast.Call) and last_name(end.func) in ("Model", "Sequential"):
            scope = source.function_around(end)
            if scope is not None and any(_WEIGHTS.match(last_name(c.func)) for c in of(scope, ast.Call)):
                return True
    return False


# ------------------------------------------------------------------------------------- half precision


def scaled_and_left(source: Script) -> Finding | None:
    """`get_scaled_loss` (Keras 2) and gradients that reach the optimizer without `get_unscaled_gradients`."""
    scaled = source.named("get_scaled_loss")
    if not scaled or source.loose:
        return None
    back = source.named("get_unscaled_gradients")
    if not back:
        takes = [t.call for t in taken(source)]
        where = takes[0] if takes else scaled[0]
        return at(source, where, "the loss is scaled and nothing takes the scale out of these gradients")
    return ok(source, back[0], "the scale is taken out of the gradients")


def clipped_while_scaled(source: Script) -> Finding | None:
    """`clip_by_global_norm` on gradients of the scaled loss, before `get_unscaled_gradients`."""
    back = source.named("get_unscaled_gradients")
    clips = [c for c in source.calls if last_name(c.func).startswith("clip_by")]
    for call in back:
        mine = [c for c in clips if source.function_around(c) is source.function_around(call)]
        early = [c for c in mine if c.args and _feeds(source, c, call)]
        if early:
            return at(
                source, early[0], "gradients are clipped while they are still multiplied by the loss scale"
            )
        if mine:
            return ok(source, mine[0], "gradients are unscaled before they are clipped")
    return None


def _feeds(source: Script, clip: ast.Call, unscale: ast.Call) -> bool:
    """What the clip gives back is what is unscaled later."""
    if clip.lineno >= unscale.lineno:
        return clip in of(unscale, ast.Call)
    holder = source.statement(clip)
    names = names_in(_target(holder)) if isinstance(holder, ast.Assign) else set()
    return bool(unscale.args) and bool((names - {"_"}) & names_in(unscale.args[0]))


def half_under_tape(source: Script) -> Finding | None:
    """The policy mixed_float16, a step under a tape, and no loss scale: only `fit` scales by itself."""
    policies = [
        c
        for c in source.named("set_global_policy", "set_policy", "set_dtype_policy", "Policy")
        if any(isinstance(a, ast.Constant) and a.value == "mixed_float16" for a in c.args)
    ]
    if not policies or not taken(source) or source.loose:
        return None
    scales = source.named("LossScaleOptimizer", "get_scaled_loss", "scale_loss", "DynamicLossScale")
    scales = (*scales, *source.named("enable_mixed_precision_graph_rewrite"))
    if scales:
        return ok(source, scales[0], "the loss is scaled")
    if off_by_default(source, policies[0]):
        return None
    return at(source, policies[0], "training runs in fp16 and the loss of this step is not scaled")
