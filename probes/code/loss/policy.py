"""Policy gradients in scripts: the clipped surrogate of PPO, its ratio, and the entropy that is rewarded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_negative, signed_terms

_OLD = re.compile(r"(?i)(?:^|[_.])(?:old|behaviou?r|prev|previous)(?:[_.]|$)|old_|_old")
_ENTROPY = re.compile(r"(?i)^(?:\w+_)?ent(?:ropy|ropies)?(?:_\w+)?$")
_POLICY = re.compile(
    r"(?i)^(?:\w+_)?(?:pi|pg|policy|actor|action|surr\w*|clip)_?loss\w*$|^l(?:oss)?_(?:pi|pg|policy|actor|clip|surr\w*)$"
)
_CLAMPS = ("clamp", "clip", "clip_by_value")
_REDUCES = ("mean", "sum", "reduce_mean", "reduce_sum")


def surrogate_wrong(source: Script) -> Finding | None:
    """The larger of PPO's two surrogates, their mean climbed the wrong way, or the ratio upside down."""
    mine = flow(source)
    for call, clamp in _surrogates(mine):
        ratio = clamp.args[0] if len(clamp.args) > 2 else _owner(clamp) or (clamp.args or [clamp])[0]
        if (wrong := _upside_down(mine, ratio)) is not None:
            return at(source, wrong, "the ratio is that of the old policy to the new one")
        if (wrong := _of_logarithms(mine, ratio)) is not None:
            return at(source, wrong, "the ratio is made of logarithms, not of the probabilities themselves")
        turned = any(_has_minus(mine, a) for a in call.args)
        if last_name(call.func) in ("max", "maximum"):
            if not turned and not _under_minus(source, call):
                continue  # nothing is descended here that could be told
            if not turned:
                return at(source, call, "the larger of the two surrogates is taken: nothing bounds the step")
        elif turned and not _under_minus(source, call):
            return at(source, call, "of losses the smaller is taken: nothing bounds the step")
        elif not turned and _climbs_down(source, call):
            return at(source, call, "the surrogate is made small, and it should grow")
    return None


def _surrogates(mine: Flow) -> Iterator[tuple[ast.Call, ast.Call]]:
    """`min(ratio * adv, clamp(ratio, ...) * adv)` with the clamp."""
    for call in mine.source.named("min", "max", "minimum", "maximum"):
        if len(call.args) != 2:
            continue
        clamps = [c for a in call.args if (c := _clamped(mine, a)) is not None]
        if len(clamps) == 1:
            yield call, clamps[0]


def _ends(mine: Flow, node: ast.expr) -> list[ast.expr]:
    return [node, *mine.values(node, 2)]


def _clamped(mine: Flow, node: ast.expr) -> ast.Call | None:
    """The clamp of `clamp(ratio, 1 - e, 1 + e) * adv`, by way of a name, or with a minus."""
    for end in _ends(mine, node):
        end = end.operand if isinstance(end, ast.UnaryOp) else end
        if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Mult):
            for part in (end.left, end.right):
                for one in _ends(mine, part.operand if isinstance(part, ast.UnaryOp) else part):
                    if isinstance(one, ast.Call) and last_name(one.func) in _CLAMPS and "1" in unparse(one):
                        return one
            left = end.left if isinstance(end.left, ast.BinOp) else None
            if left is not None and (found := _clamped(mine, left)) is not None:
                return found
    return None


def _owner(call: ast.Call) -> ast.expr | None:
    return receiver(call)


def _has_minus(mine: Flow, node: ast.expr) -> bool:
    """A factor has a minus: `-adv * ratio`, `-(ratio * adv)`, also by way of names."""
    for end in _ends(mine, node):
        if is_negative(end):
            return True
        if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Mult):
            if _has_minus(mine, end.left) or _has_minus(mine, end.right):
                return True
    return False


def _under_minus(source: Script, call: ast.Call) -> bool:
    """A minus stands before it in its statement, or before the name that holds it."""
    for parent in source.above(call):
        if is_negative(parent):
            return True
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub) and call in walk(parent.right):
            return True
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Div)):
            if is_negative(parent.left) or is_negative(parent.right):
                return True  # `-share * min(one, other).mean()`
        if isinstance(parent, ast.stmt):
            break
    return any(_subtracted(source, n) for n in _uses(source, call))


def _uses(source: Script, call: ast.Call) -> list[ast.Name]:
    """Where the name is read that a statement gives the value of a call to."""
    statement = source.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return []
    scope = source.function_around(call) or source.tree
    return [n for n in of(scope, ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Load)]


def _subtracted(source: Script, node: ast.AST) -> bool:
    child: ast.AST = node
    for parent in source.above(node):
        if is_negative(parent):
            return True
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub) and parent.right is child:
            return True
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult):
            other = parent.left if parent.right is child else parent.right
            if isinstance(other, ast.UnaryOp):
                return True
        if isinstance(parent, ast.stmt):
            return False
        child = parent
    return False


def _climbs_down(source: Script, call: ast.Call, depth: int = 3) -> bool:
    """No minus on the way, and its name is a term of a sum, or gradients are taken of it."""
    if _under_minus(source, call):
        return False
    for name in _uses(source, call):
        parent = source.parents.get(name)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Sub)):
            return not _turned_later(source, parent)
        if isinstance(parent, ast.Attribute) and parent.attr == "backward":
            return True
        reduced = _reduced(source, name)
        if reduced is not None and depth and _POLICY.search(_target(source, reduced)):
            return _climbs_down(source, reduced, depth - 1)
    return False


def _reduced(source: Script, name: ast.Name) -> ast.Call | None:
    """`surrogate.mean()`, `torch.mean(surrogate)` as all that a name is given."""
    parent = source.parents.get(name)
    call = source.parents.get(parent) if isinstance(parent, ast.Attribute) else parent
    if not isinstance(call, ast.Call) or last_name(call.func) not in _REDUCES:
        return None
    return call if isinstance(source.parents.get(call), ast.Assign) else None


def _target(source: Script, call: ast.Call) -> str:
    statement = source.statement(call)
    return last_name(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def _turned_later(source: Script, node: ast.AST) -> bool:
    """A minus stands before a sum or the name that holds it, or what is given back is called no loss."""
    statement = source.statement(node)
    if _subtracted(source, node) or not isinstance(statement, (ast.Assign, ast.Return, ast.Expr)):
        return True
    if isinstance(statement, ast.Return):
        return re.search(r"(?i)loss|step", source.function_name(node)) is None
    if not isinstance(statement, ast.Assign) or not isinstance(target := statement.targets[0], ast.Name):
        return re.search(r"(?i)loss", unparse(statement)) is None
    scope = source.function_around(node) or source.tree
    uses = [n for n in of(scope, ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Load)]
    return (
        any(_subtracted(source, n) for n in uses) or re.search(r"(?i)maximi[sz]e ?=", source.code) is not None
    )


def _upside_down(mine: Flow, ratio: ast.expr) -> ast.expr | None:
    """`exp(old - new)`: one side is called old and the other not, or it was kept and the other is new."""
    for end in _ends(mine, ratio):
        if not (isinstance(end, ast.Call) and last_name(end.func) == "exp"):
            continue
        inner = end.args[0] if end.args else _owner(end)
        for one in _ends(mine, inner) if inner is not None else ():
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub):
                if _OLD.search(unparse(one.left)) and not _OLD.search(unparse(one.right)):
                    return end
                if _kept(one.left) and _asked_now(mine, one.right):
                    return end
    return None


def _kept(node: ast.expr) -> bool:
    """`batch["logp"]`, `flat["logp"][rows]`, `batch.logp`: it comes out of what was collected."""
    held = node
    while isinstance(held, ast.Subscript):
        held = held.value
    stored = isinstance(held, ast.Attribute) and re.search(r"(?i)batch|buf|roll|memory|traj", unparse(held))
    return (held is not node and "logp" in unparse(node).lower().replace("_", "")) or bool(stored)


def _asked_now(mine: Flow, node: ast.expr) -> bool:
    """A name that a call in the loop around it gives, which asks the network once more."""
    given = mine.given(node) if isinstance(node, ast.Name) else None
    loops = mine.source.loops_around(node)
    return (
        given is not None
        and isinstance(given.value, ast.Call)
        and bool(loops)
        and loops[0] in mine.source.loops_around(given.statement)
        and re.search(r"(?i)no_grad|detach|old|ref|behav|target|prev", unparse(given.statement)) is None
    )


_LOG = re.compile(r"(?i)^(?:\w+_)?(?:log_?p\w*|lp|log_?prob\w*)$")


def _of_logarithms(mine: Flow, ratio: ast.expr) -> ast.expr | None:
    """`new_logp / old_logp`, `new_logp - old_logp` without `exp`, where it is held within 1 - e and 1 + e."""
    for end in _ends(mine, ratio):
        if isinstance(end, ast.BinOp) and isinstance(end.op, (ast.Div, ast.Sub)):
            if _is_kept_log(end.left) and _is_kept_log(end.right):
                return end
    return None


def _is_kept_log(node: ast.expr) -> bool:
    """`logp`, `flat["logp"][rows]`, `batch.log_prob`."""
    while isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        node = node.value
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _LOG.match(str(node.slice.value)) is not None
    return isinstance(node, (ast.Name, ast.Attribute)) and _LOG.match(last_name(node)) is not None


def mean_over_actions(source: Script) -> Finding | None:
    """`Normal(m, s).log_prob(a).mean(-1)`: of several actions at once the logarithms are summed."""
    if "Normal" not in source.text or not re.search(r"(?i)ratio|advantage|\badv|polic", source.code):
        return None
    averaged: dict[ast.expr, ast.Call] = {}
    for call in source.named("mean"):
        owner = _owner(call)
        axis = call.args[0] if call.args else keyword(call, "dim") or keyword(call, "axis")
        asked = isinstance(owner, ast.Call) and last_name(owner.func) == "log_prob"
        if owner is not None and asked and axis is not None and unparse(axis) in ("-1", "1"):
            averaged[owner] = call
    # not `policy.log_prob(states, actions)`
    asked_of = {c for c in source.named("log_prob") if len(c.args) == 1}
    if averaged and not (len(averaged) > 1 and set(averaged) == asked_of):
        call = next(iter(averaged.values()))
        return at(source, call, "the probability of several actions at once is the sum of these logarithms")
    return None  # averaged on both sides of each ratio, it is the ratio's root


def ratio_cut_off(source: Script) -> Finding | None:
    """`(logp.detach() - old).exp()` in PPO's surrogate: no gradient reaches the policy."""
    mine = flow(source)
    for _, clamp in _surrogates(mine):
        ratio = clamp.args[0] if len(clamp.args) > 2 else _owner(clamp) or (clamp.args or [clamp])[0]
        for end in _ends(mine, ratio):
            inner = (end.args[0] if end.args else _owner(end)) if isinstance(end, ast.Call) else None
            for one in _ends(mine, inner) if inner is not None else ():
                new = one.left if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) else None
                if isinstance(new, ast.Call) and last_name(new.func) == "detach":
                    return at(source, new, "the new policy is cut off from its own surrogate")
    return None


# ---------------------------------------------------------------------------------------------- entropy


def entropy_punished(source: Script) -> Finding | None:
    """The entropy of a policy is added to its loss, or what is taken off has the entropy's sign turned.

    Counts beside a term that is named as the policy's, where the program draws actions: elsewhere a small
    entropy may be what is meant.
    """
    if not re.search(r"(?i)ratio|log_prob|multinomial|Categorical|advantage|\badv", source.code):
        return None
    mine = flow(source)
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, (ast.Add, ast.Sub)) or isinstance(source.parents.get(node), ast.BinOp):
            continue
        terms = list(signed_terms(node, 1))
        named = any(s > 0 and _POLICY.search(n) for s, t in terms for n in _names(t))
        if not named and not any((s < 0) != is_negative(t) and _is_gain(mine, t) for s, t in terms):
            continue
        for sign, term in terms:
            names = [
                n
                for n in _names(term)
                if _ENTROPY.match(n) and not re.search(r"(?i)coef|weight|loss|cross|_c$|^c_", n)
            ]
            if len(names) == 2:  # `self.ent * entropy.mean()`: the shorter one is its weight
                names = [n for n in names if "entrop" in n.lower()]
            if len(names) != 1 or any(isinstance(n, ast.USub) for n in walk(term)):
                continue
            kept = next(n for n in of(term, ast.Name, ast.Attribute) if last_name(n) == names[0])
            asked = source.parents.get(kept)
            by_call = isinstance(asked, ast.Call) and asked.func is kept  # `dist.entropy()`
            polarity = 1 if by_call else _polarity(mine, kept)
            if polarity and sign * polarity > 0 and not _turned_later(source, node):
                return at(source, node, f"the entropy `{names[0]}` of the policy is made small")
    return None


def _is_gain(mine: Flow, node: ast.expr) -> bool:
    """What is taken off a loss is the gain of a policy: advantages times a ratio or a log probability."""
    texts = [unparse(v) for n in of(node, ast.Name) for v in (n, *mine.values(n, 3))]
    return any(re.search(r"(?i)\badv\w*|advantage", t) and "*" in t for t in [unparse(node), *texts])


def _names(node: ast.expr) -> list[str]:
    return [last_name(n) for n in of(node, ast.Name, ast.Attribute)]


def _polarity(mine: Flow, node: ast.expr) -> int:
    """1: an entropy; -1: an entropy with its sign turned; 0: it cannot be told."""
    ends = [v for v in mine.values(node, 4) if v is not node]
    found = {_sign(mine, v, 1) for v in ends}
    return found.pop() if len(found) == 1 else 0


def _sign(mine: Flow, node: ast.expr, sign: int) -> int:
    if is_negative(node):
        return _sign(mine, node.operand, -sign)
    if isinstance(node, ast.Call) and last_name(node.func) == "entropy":
        return sign
    if isinstance(node, ast.Call) and last_name(node.func) in _REDUCES:
        owner = _owner(node)
        library = owner is None or unparse(owner) in ("torch", "tf", "ops", "np", "tf.math", "mint")
        inner = argument(node, position=0) if library else owner
        return _sign(mine, inner, sign) if inner is not None else 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        if isinstance(node.left, ast.UnaryOp):
            return _sign(
                mine, ast.copy_location(ast.BinOp(node.left.operand, ast.Mult(), node.right), node), -sign
            )
        logs = [_is_log(mine, p) for p in (node.left, node.right)]
        return -sign if logs.count(True) == 1 else 0
    if isinstance(node, ast.Name):
        ends = [v for v in mine.values(node, 1) if v is not node]
        return _sign(mine, ends[0], sign) if len(ends) == 1 else 0
    return 0


def _is_log(mine: Flow, node: ast.expr) -> bool:
    """`log(p)`, `log_softmax(x)`, or a name of such."""
    if isinstance(node, ast.Name) and re.match(r"(?i)^(?:lp|logp\w*|log_\w+)$", node.id):
        return True
    return any(
        isinstance(v, ast.Call) and last_name(v.func) in ("log", "log_softmax") for v in _ends(mine, node)
    )
