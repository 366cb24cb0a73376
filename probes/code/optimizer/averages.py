"""Moving averages of weights that a script keeps itself: teachers, target networks, EMA copies.

Looked at is the update `copy = m * copy + (1 - m) * model`, in whatever way it is written, over two sets of
parameters side by side: which of both is written, with which shares, and how often.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..method.target_nets import copied_onto_the_learner, copy_never_updated
from ..shared.checks import at, first, ok
from ..shared.nodes import assigned, chosen
from ..shared.numbers import known
from ..shared.sides import either
from ..shared.sides import number as number_of
from ..shared.units import chain, loops_of_step
from ..shared.uses import brought_and_left, never_run
from .averages_by_epoch import followed_by_epochs
from .kept_averages import never_restored, statistics_left
from .tree_averages import state_field_left, trees_mixed_wrongly

_SAME = ("data", "value")  # attributes that stand for the weights themselves
_SAME_CALLS = (
    *("detach", "cpu", "cuda", "clone", "float", "to"),
    *("value", "read_value", "numpy", "asnumpy", "Tensor"),
)
_WEIGHTS = (
    *("parameters", "named_parameters", "get_parameters", "trainable_params", "parameters_and_names"),
    *("state_dict", "values", "items", "get_weights", "buffers"),
    *("weights", "variables", "trainable_variables", "trainable_weights"),
)
_MOST = 0.8  # share of the new weights from which on nothing is averaged
_SLOW = 0.9  # share of the old ones: one such step alone changes nothing
Shares = dict[str, float]


@dataclass(frozen=True)
class _Update:
    """One line that mixes two sets of weights: what is written, and the shares that it is made of."""

    node: ast.AST
    target: str
    shares: Shares
    owners: dict[str, ast.expr]  # whose weights a name goes over, as far as told


@probe()
def average_astray(view: View) -> Finding:
    """An average of weights goes into the model, has its shares exchanged, or is made once or never.

    Also: it is put into the model and not taken out again, or keeps the batch norm statistics of its start.
    """
    look = either(
        *(
            _astray,
            _named_exchanged,
            _lerp_exchanged,
            _momentum_exchanged,
            _never_moved,
            never_restored,
            statistics_left,
            copy_never_updated,
            copied_onto_the_learner,
        ),
        *(trees_mixed_wrongly, state_field_left, _one_object),
        shows("average-exchanged", "average-backwards"),
        partial(followed_by_epochs, view),
    )
    return first(view, look, "the scripts keep no average of weights by hand")


_SHARE_OF_OLD = re.compile(r"(?i)(?:^|[._])(?:ema_?)?decay$|(?:^|[._])ema_(?:momentum|rate)$")


def _named_exchanged(source: Script) -> Finding | None:
    """`a.mul_(1 - decay).add_(b, alpha=decay)`: a decay is the share of the old weights, whatever it is."""
    for call in source.named("add_"):
        inner = receiver(call)
        share = keyword(call, "alpha")
        if not isinstance(inner, ast.Call) or last_name(inner.func) != "mul_" or len(inner.args) != 1:
            continue
        around = source.loops_around(call)
        paired = any(isinstance(p, ast.For) and len(_pairs(p.target, p.iter)) == 2 for p in around)
        if share is not None and _same_share(inner.args[0], share, paired) and around:
            return at(source, call, "old and new weights get the same share: the shares do not make one")
        if share is None or not _SHARE_OF_OLD.search(unparse(share)):
            continue
        if unparse(inner.args[0]).replace("1.0", "1") == f"1 - {unparse(share)}" and source.loops_around(
            call
        ):
            return at(source, call, "the shares are exchanged: the average is nearly the newest weights")
    return None


def _lerp_exchanged(source: Script) -> Finding | None:
    """`slow.lerp_(fast, decay)` over weights: it moves by its last argument, a decay is what stays."""
    for loop in source.of(ast.For):
        owners = _pairs(loop.target, loop.iter)
        for call in of(loop, ast.Call) if len(owners) == 2 else ():
            mine = receiver(call)
            if last_name(call.func) != "lerp_" or len(call.args) != 2 or mine is None:
                continue
            owner, share = owners.get(_plain(mine)), call.args[1]
            if owner is None or not _SHARE_OF_OLD.search(unparse(share)) or _in_optimizer(source, owner):
                continue
            handed = flow(source).arguments(share)
            if known(source, share, left=400) is None and not any(_rest_of_one(a) for a in handed):
                return at(source, call, "the shares are exchanged: the average is nearly the newest weights")
    return None


def _rest_of_one(node: ast.expr) -> bool:
    """`1 - m`, as a caller may hand over a share."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def _momentum_exchanged(source: Script) -> Finding | None:
    """`slow = (1 - m) * slow + m * fast` over weights, where `m` is a momentum or decay without a number."""
    for loop in source.of(ast.For):
        owners = _pairs(loop.target, loop.iter)
        for node in of(loop, ast.Assign) if len(owners) == 2 and source.function_around(loop) else ():
            body = node.value
            if not isinstance(body, ast.BinOp) or not isinstance(body.op, ast.Add) or len(node.targets) != 1:
                continue
            shares: dict[str, ast.expr] = {}
            for side in (body.left, body.right):
                if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult):
                    for name, factor in ((side.left, side.right), (side.right, side.left)):
                        if _plain(name) in owners:
                            shares[_plain(name)] = factor
            old = _plain(node.targets[0])
            new = next((n for n in shares if n != old), None)
            if old not in shares or new is None or len(shares) != 2:
                continue
            given = flow(source).whole_given(shares[new]) if isinstance(shares[new], ast.Name) else None
            meant = given or shares[new]
            rest = unparse(shares[old]).replace("1.0", "1")
            if _MOMENTUM.search(unparse(meant)) and rest == f"1 - {unparse(shares[new])}":
                return at(source, node, "the shares are exchanged: the average is nearly the newest weights")
    return None


_MOMENTUM = re.compile(r"(?i)(?:^|[._])(?:ema_?|teacher_?)?(?:decay|momentum)$")


def _same_share(one: ast.expr, other: ast.expr, paired: bool) -> bool:
    """`a.mul_(1 - m).add_(b, alpha=1 - m)` of weights, which is right for a half alone."""
    text = unparse(one)
    if text != unparse(other) or isinstance(one, ast.Constant):
        return False
    if paired:
        return True
    return _SHARE_OF_OLD.search(text.removeprefix("1.0 - ").removeprefix("1 - ")) is not None


def _never_moved(source: Script) -> Finding | None:
    """The method that moves one set of weights towards another is called by nothing."""
    for function in brought_and_left(source):
        for loop in of(function, ast.For):
            if len(_pairs(loop.target, loop.iter)) == 2 and any(
                _moves(m) for m in of(loop, ast.Call, ast.Assign)
            ):
                return at(source, function, "nothing calls the function that updates the average")
    over = [n for n in source.of(ast.For) if len(_pairs(n.target, n.iter)) == 2]
    over = [n for n in over if any(_moves(m) for m in of(n, ast.Assign, ast.Call))]
    # where an object is made, both sets only begin alike
    over = [n for n in over if source.function_name(n) != "__init__"]
    copied = any(
        "state_dict()" in unparse(a)
        for c in source.named("load_state_dict")
        if not _begins_alike(source, c)
        for a in c.args
    )
    if (
        len({source.function_around(n) for n in over}) != 1
        or source.loops_around(over[0])
        or (source.class_around(over[0]) is None and not _slow_is_asked(source))
        or copied
    ):
        return None  # a helper that is left over beside the one in use
    if never_run(source, over[0]) or _called_by_none(source, over[0]) or _made_and_left(source, over[0]):
        return at(source, over[0], "nothing calls the function that updates the average")
    return None


def _begins_alike(source: Script, copy: ast.Call) -> bool:
    """Both sets only begin alike: where an object is made, or ahead of the loop of the same function."""
    function = source.function_around(copy)
    if function is not None and function.name == "__init__":
        return True
    later = [n for n in of(function or source.tree, ast.For, ast.While) if n.lineno > copy.lineno]
    return not source.loops_around(copy) and bool(later)


def _one_object(source: Script) -> Finding | None:
    """`teacher = student` without a copy, and `update(teacher, student)`: both are one network."""
    for node in source.of(ast.Assign):
        slow, fast = node.targets[0], node.value
        if not isinstance(slow, ast.Name) or not isinstance(fast, ast.Name) or source.loops_around(node):
            continue
        if not _SLOW_NAME.search(slow.id) or _SLOW_NAME.search(fast.id) or chosen(source, node):
            continue
        given = [n for n in source.of(ast.Name) if n.id == slow.id and isinstance(n.ctx, ast.Store)]
        for call in source.calls if len(given) == 1 else ():
            names = {a.id for a in call.args if isinstance(a, ast.Name)}
            moves = [f for f in flow(source).called(call) for n in of(f, ast.For) if _pairs(n.target, n.iter)]
            if {slow.id, fast.id} <= names and moves:
                return at(source, node, "the slow copy is the network itself: both are one object")
    return None


def _slow_is_asked(source: Script) -> bool:
    """A network that is named a slow copy is asked for values, so that a helper for it is not left over."""
    if any(_SLOW_NAME.search(last_name(c.func)) and c.args for c in source.calls):
        return True
    for call in source.calls:  # `evaluate(ema, loader)`, which asks what it is handed
        handed = [isinstance(a, ast.Name) and _SLOW_NAME.search(a.id) is not None for a in call.args]
        for function in flow(source).called(call) if any(handed) else ():
            names = [a.arg for a in function.args.args if a.arg != "self"]
            mine = {n for n, slow in zip(names, handed, strict=False) if slow}
            if any(isinstance(c.func, ast.Name) and c.func.id in mine for c in of(function, ast.Call)):
                return True
    return False


_SLOW_NAME = re.compile(
    r"(?i)^(?:\w+_)?(?:target|ema|teacher|slow|shadow)(?:_(?:net|model|network|critic|encoder|q))?$"
)


def _made_and_left(source: Script, node: ast.AST) -> bool:
    """`ema = Average(model)`: only what it holds is read of it, and none of its methods is called."""
    owner = source.class_around(node)
    made = [c for c in source.named(owner.name) if owner is not None] if owner is not None else []
    statement = source.statement(made[0]) if len(made) == 1 else None
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    if owner is None or owner.bases or statement.value is not made[0] or not source.trains_by_hand:
        return False
    name, function = statement.targets[0].id, source.function_around(node)
    reads = [n for n in source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    fields = [source.parents.get(n) for n in reads]
    methods = {n.name for n in of(owner, ast.FunctionDef)}
    called = {last_name(c.func) for c in of(owner, ast.Call)}
    return (
        bool(reads)
        and all(isinstance(f, ast.Attribute) and f.attr not in methods for f in fields)
        and function is not None
        and function.name not in called
    )


def _called_by_none(source: Script, node: ast.AST) -> bool:
    """A method of a module, called for what it does, that nothing in the program names."""
    function, owner = source.function_around(node), source.class_around(node)
    if function is None or owner not in source.modules or source.loose or not source.trains_by_hand:
        return False
    if function.decorator_list and "no_grad" not in unparse(function.decorator_list[0]):
        return False
    meant = re.search(r"(?i)ema|momentum|update|target|teacher|average", function.name)
    named = any(n.id == function.name for n in source.of(ast.Name)) or source.mentions.get(function.name)
    return meant is not None and not function.name.startswith("on_") and not named


def _moves(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Attribute) and t.attr == "data" for t in node.targets)
    return isinstance(node, ast.Call) and last_name(node.func) in (
        "mul_",
        "lerp_",
        "copy_",
        "assign",
        "set_data",
    )


def _astray(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for update in _updates(source):
        if update.target not in update.shares or len(update.shares) != 2:
            continue
        kept = update.shares[update.target]
        new = next(v for k, v in update.shares.items() if k != update.target)
        if not 0 < kept < 1 or not 0 < new < 1:
            continue
        seen = seen or update.node
        if (why := _wrong(source, update, kept, new)) is not None:
            return at(source, update.node, why)
    return ok(source, seen, "the average keeps most of itself") if seen is not None else None


def _wrong(source: Script, update: _Update, kept: float, new: float) -> str | None:
    if abs(kept + new - 1) > 1e-6:
        return f"the shares of this average are {kept:g} and {new:g}: they do not make one"
    mine = update.owners.get(update.target)
    other = next((o for t, o in update.owners.items() if t != update.target), None)
    trained = mine is not None and _in_optimizer(source, mine)
    if trained and other is not None and not _in_optimizer(source, other):
        if not _written_elsewhere(source, other):
            return "the average is written into the model that is trained, and its copy stays as it is"
        return None
    if new >= _MOST and not trained and not _seldom(source, update.node):
        return f"the average takes {new:g} of the new weights and keeps {kept:g}: the shares are exchanged"
    loops = loops_of_step(source)
    around = chain(source, update.node)
    outer = [p for p in around if p in loops]
    idle = never_run(source, update.node)
    if kept >= _SLOW and loops and not outer and not idle and _runs_once(source, update.node, around):
        return "the average is updated once and not in each step: it stays what it was at the start"
    return None


_OFTEN = 10  # steps up to which an average is kept in the place of copies


def _seldom(source: Script, node: ast.AST, depth: int = 2) -> bool:
    """`if step % every == 0:` around it or its calls: the weights are copied over, and smoothed a little."""
    for above in source.above(node):
        if isinstance(above, ast.If):
            for rest in of(above.test, ast.BinOp):
                every = _every(source, rest.right) if isinstance(rest.op, ast.Mod) else 0.0
                if every is None or every > _OFTEN:
                    return True
    function = source.function_around(node)
    calls = flow(source).calls_of(function) if function is not None and depth else ()
    return bool(calls) and all(_seldom(source, c, depth - 1) for c in calls)


def _every(source: Script, node: ast.expr) -> float | None:
    """The number of steps, also one that Lightning keeps: `step % self.hparams.every`."""
    told = number_of(source, node)
    return told if told is not None else known(source, node, left=400)


def _runs_once(source: Script, node: ast.AST, around: list[ast.For | ast.While]) -> bool:
    """No loop goes around it but the one over the parameters, and it belongs to no class or hook."""
    over = [p for p in around if isinstance(p, ast.For) and _pairs(p.target, p.iter)]
    return len(around) == len(over) and source.class_around(node) is None and not source.trains_by_trainer


def _updates(source: Script) -> Iterator[_Update]:
    for loop in source.of(ast.For):
        over = loop.iter
        if isinstance(over, ast.Name):  # `pairs = zip(slow.parameters(), net.parameters())`
            over = next((v for v in flow(source).values(over, 2) if isinstance(v, ast.Call)), over)
        owners = _pairs(loop.target, over)
        if len(owners) == 1:
            yield from _shadowed(source, loop, over, owners)
        yield from _by_name(source, loop, over)
        if len(owners) != 2:
            continue
        for node in of(loop, ast.Assign, ast.AugAssign, ast.Call):
            found = _written(source, node)
            if found is not None and found[0] in owners:
                yield _Update(node, found[0], found[1], owners)
    for made in source.of(ast.ListComp):
        call = source.parents.get(made)
        if not isinstance(call, ast.Call) or last_name(call.func) != "set_weights":
            continue
        if len(made.generators) != 1 or not isinstance(call.func, ast.Attribute):
            continue
        owners = _pairs(made.generators[0].target, made.generators[0].iter)
        target = next((t for t, o in owners.items() if unparse(o) == unparse(call.func.value)), None)
        shares = _linear(source, made.elt)
        if target is not None and shares is not None:
            yield _Update(call, target, shares, owners)
    for node in source.of(ast.Assign):  # `shadow[name] = m * shadow[name] + (1 - m) * p`
        if isinstance(node.targets[0], ast.Subscript) and _over_weights(source, node):
            found = _written(source, node)
            if found is not None:
                yield _Update(node, found[0], found[1], {})


def _shadowed(
    source: Script, loop: ast.For, over: ast.expr, owners: dict[str, ast.expr]
) -> Iterator[_Update]:
    """`for s, p in zip(self.shadow, net.parameters())`: a list of copies follows the parameters."""
    names = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    given = over.args if isinstance(over, ast.Call) else []
    for name, held in zip(names, given, strict=False):
        if not isinstance(name, ast.Name) or not isinstance(held, (ast.Name, ast.Attribute)):
            continue
        for node in of(loop, ast.Assign, ast.Call) if name.id not in owners else ():
            found = _written(source, node)
            if found is not None and found[0] == name.id and set(found[1]) == {name.id, *owners}:
                yield _Update(node, found[0], found[1], {**owners, name.id: held})


def _by_name(source: Script, loop: ast.For, over: ast.expr) -> Iterator[_Update]:
    """`for k, v in copy.state_dict().items(): v.mul_(m).add_(state[k], alpha=1 - m)`: one is asked by name.

    Also `for k, p in net.named_parameters(): self.shadow[k].mul_(m).add_(p, alpha=1 - m)`.
    """
    text = unparse(over)
    if not re.search(r"state_dict\(\)\.items\(\)$|named_(?:parameters|buffers)\(\)$", text):
        return
    if not isinstance(loop.target, ast.Tuple) or len(loop.target.elts) != 2:
        return
    key, value = (unparse(e) for e in loop.target.elts)
    for node in of(loop, ast.Call):
        found = _written(source, node)
        if found is None or len(found[1]) != 2 or found[0] not in found[1]:
            continue
        other = next(n for n in found[1] if n != found[0])
        asked = next((n for n in (found[0], other) if n.endswith(f"[{key}]")), None)
        if asked is not None and value in (found[0], other):
            yield _Update(node, found[0], found[1], {})


def _over_weights(source: Script, node: ast.AST) -> bool:
    """It stands in a loop over the parameters or the state of a model."""
    return any(
        last_name(n) in _WEIGHTS
        for p in source.loops_around(node)[:1]
        if isinstance(p, ast.For)
        for n in of(p.iter, ast.Attribute)
        if n.attr not in ("values", "items")
    )


def _pairs(target: ast.expr, over: ast.expr) -> dict[str, ast.expr]:
    """`for a, b in zip(A.parameters(), B.parameters())`: whose weights `a` and `b` are."""
    if not (isinstance(over, ast.Call) and last_name(over.func) == "zip" and isinstance(target, ast.Tuple)):
        return {}
    found: dict[str, ast.expr] = {}
    for one, given in zip(target.elts, over.args, strict=False):
        owner: ast.expr = given
        known = False
        while True:
            if isinstance(owner, ast.Call) and last_name(owner.func) in _WEIGHTS:
                owner, known = owner.func, True
            elif isinstance(owner, ast.Attribute) and owner.attr in _WEIGHTS:
                owner, known = owner.value, True
            else:
                break
        last = one.elts[-1] if isinstance(one, ast.Tuple) else one
        if known and isinstance(last, ast.Name):
            found[last.id] = owner
    return found


def _written(source: Script, node: ast.AST) -> tuple[str, Shares] | None:
    """What a statement or call writes, and as which mixture of which weights."""
    if isinstance(node, ast.Assign):
        shares = _linear(source, node.value)
        return (_plain(node.targets[0]), shares) if shares is not None and len(node.targets) == 1 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name, owner = node.func.attr, node.func.value
        if name in ("copy_", "assign", "set_data") and len(node.args) == 1:
            shares = _linear(source, node.args[0])
            return (_plain(owner), shares) if shares is not None else None
        if name == "assign" and len(node.args) == 2:  # `ops.assign(a, ...)`
            shares = _linear(source, node.args[1])
            return (_plain(node.args[0]), shares) if shares is not None else None
        if name in ("add_", "lerp_"):
            shares = _linear(source, node)
            while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
                owner = owner.func.value
            return (_plain(owner), shares) if shares is not None else None
    return None


def _plain(node: ast.expr) -> str:
    """A name of weights without what stands for the same: `p.data`, `p.detach()`."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr in _SAME:
            node = node.value
        elif isinstance(node, ast.Call) and last_name(node.func) in _SAME_CALLS:
            inner = receiver(node)
            if node.args and last_name(node.func) == "Tensor":
                inner = node.args[0]
            if inner is None:
                return unparse(node)
            node = inner
        else:
            return unparse(node)


def _linear(source: Script, node: ast.expr, depth: int = 6) -> Shares | None:
    """An expression as shares of names, None where it is none; numbers alone are under ""."""
    if depth == 0:
        return None
    number = _number(source, node)
    if number is not None:
        return {"": number}
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = _linear(source, node.left, depth - 1), _linear(source, node.right, depth - 1)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return _times(left, right)
        return _sum(left, right, 1 if isinstance(node.op, ast.Add) else -1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner, name = node.func.value, node.func.attr
        if name in ("mul_", "mul") and len(node.args) == 1:
            inner, share = _linear(source, owner, depth - 1), _linear(source, node.args[0], depth - 1)
            return _times(inner, share) if inner is not None and share is not None else None
        if name in ("add_", "add") and node.args:
            inner, more = _linear(source, owner, depth - 1), _linear(source, node.args[-1], depth - 1)
            scale = keyword(node, "alpha") or (node.args[0] if len(node.args) == 2 else None)
            share = _linear(source, scale, depth - 1) if scale is not None else {"": 1.0}
            if inner is None or more is None or share is None:
                return None
            scaled = _times(more, share)
            return _sum(inner, scaled, 1) if scaled is not None else None
        if name in ("lerp_", "lerp") and len(node.args) == 2:
            inner, more = _linear(source, owner, depth - 1), _linear(source, node.args[0], depth - 1)
            part = _number(source, node.args[1])
            if inner is None or more is None or part is None:
                return None
            return _sum(_scaled(inner, 1 - part), _scaled(more, part), 1)
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        plain = _plain(node)
        return {plain: 1.0} if not isinstance(node, ast.Call) or plain != unparse(node) else None
    return None


def _number(source: Script, node: ast.expr) -> float | None:
    if isinstance(node, ast.Name) and any(
        isinstance(p, (ast.For, ast.comprehension)) and node.id in names_in(p.target)
        for p in source.above(node)
    ):
        return None
    number = known(source, node, left=400)
    return number if number is not None else _by_default(source, node)


def _by_default(source: Script, node: ast.expr) -> float | None:
    """`self.m` of `def __init__(self, m=0.996): self.m = m`, where what callers hand over is not known."""
    owner = source.class_around(node)
    if owner is None or not (isinstance(node, ast.Attribute) and unparse(node.value) == "self"):
        return None
    pairs = [p for n in of(owner, ast.Assign) for p in assigned(n)]
    given = next((v for t, v in pairs if unparse(t) == unparse(node)), None)
    starts = [s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"]
    if not isinstance(given, ast.Name) or not starts:
        return None
    names = starts[0].args.args
    defaults = starts[0].args.defaults
    told = dict(zip((a.arg for a in names[len(names) - len(defaults) :]), defaults, strict=True))
    value = told.get(given.id)
    number = value.value if isinstance(value, ast.Constant) else None
    return float(number) if isinstance(number, float) and 0 < number < 1 else None


def _times(one: Shares, other: Shares) -> Shares | None:
    for number, rest in ((one, other), (other, one)):
        if set(number) == {""}:
            return _scaled(rest, number[""])
    return None


def _scaled(one: Shares, by: float) -> Shares:
    return {k: v * by for k, v in one.items()}


def _sum(one: Shares, other: Shares, sign: int) -> Shares:
    return {k: one.get(k, 0.0) + sign * other.get(k, 0.0) for k in {*one, *other}}


def _in_optimizer(source: Script, owner: ast.expr) -> bool:
    """An optimizer gets the parameters of this model, under this name or one that callers give it."""
    mine = flow(source)
    names = {unparse(owner), *(unparse(a) for a in mine.arguments(owner))}
    names |= {unparse(v) for v in mine.values(owner, 2) if isinstance(v, (ast.Name, ast.Attribute))}
    given = [a for c in source.optimizer_calls for a in all_arguments(c)]
    given += [v for a in given for v in mine.values(a, 3)]
    whole = [n.value for g in given for n in of(g, ast.Attribute) if n.attr in _WEIGHTS]
    texts = {unparse(n) for n in whole} | {unparse(v) for n in whole for v in mine.arguments(n)}
    return bool(names & texts)


def _written_elsewhere(source: Script, owner: ast.expr) -> bool:
    """Something else changes the copy: it is loaded, or copied into, more than once."""
    text = unparse(owner)
    loaded = [c for c in source.named("load_state_dict", "set_weights") if source.owner(c) == text]
    return any(source.loops_around(c) for c in loaded)
