"""Learning from rewards: what a batch of the memory holds, and what the value to reach is made of.

A batch is recognised where one value is taken apart into states, actions, rewards, next states and ends.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import names_in, of, unparse
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.nodes import block_of, factors
from ..shared.sides import words

_REWARDS = {"r", "rew", "rews", "reward", "rewards"}
ENDS = {
    *("d", "done", "dones", "end", "ends", "ended", "over", "terminal", "terminals"),
    *("terminated", "terminateds", "finished", "absorbing"),
}
_NEXT = {"next", "nxt", "ns", "new", "following", "after", "successor", "prime", "later", "s2", "s1", "sp"}
_ACTIONS = {"a", "act", "acts", "action", "actions"}
_GAMMA = re.compile(r"(?i)(?:^|[._])(?:gamma|discount(?:_?(?:factor|rate))?)$")
NOT_END = re.compile(r"(?i)not|non|mask|cont|alive|goes")


@dataclass(frozen=True)
class Batch:
    """The names that a batch of the memory is taken apart into."""

    node: ast.Assign
    scope: Function
    first: str
    reward: str
    following: str
    end: str
    action: str | None = None
    names: tuple[str, ...] = ()


def _word(name: str, known: set[str]) -> bool:
    found = set(words(name)) | {name.lower()}
    return bool(found & known)


def is_reward(name: str) -> bool:
    """Whether a name is that of a reward."""
    return _word(name, _REWARDS)


def is_following(name: str) -> bool:
    """Whether a name is that of the state that follows."""
    return _word(name, _NEXT)


def batches(source: Script) -> Iterator[Batch]:
    """`states, actions, rewards, following, dones = batch` in a function that discounts."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or not 5 <= len(target.elts) <= 7:
            continue
        names = [t.id for t in target.elts if isinstance(t, ast.Name)]
        scope = source.function_around(node)
        if len(names) != len(target.elts) or scope is None or isinstance(node.value, ast.Tuple):
            continue
        same = int(len({n[0] for n in names}) == 1)  # the letter of `bs, ba, br, bn, bd`
        bare = {n: n[same:] if 0 < same < min(map(len, names)) else n for n in names}
        rewards = [n for n in names if _word(bare[n], _REWARDS)]
        ends = [n for n in names if _word(bare[n], ENDS)]
        following = [n for n in names if _word(bare[n], _NEXT) and n not in rewards and n not in ends]
        if not following and len(names) == 5 and names[2] in rewards and names[4] in ends:
            following = [names[3]]  # in the order that everybody stores: s, a, r, n, d
        if len(rewards) == len(ends) == len(following) == 1 and list(discounted(scope)):
            action = names[1] if _word(bare[names[1]], _ACTIONS) else None
            yield Batch(node, scope, names[0], rewards[0], following[0], ends[0], action, tuple(names))


def is_gamma(node: ast.expr) -> bool:
    """The name of a discount: `gamma`, `self.gamma`, `discount_factor`."""
    return (
        isinstance(node, (ast.Name, ast.Attribute))
        and _GAMMA.search(unparse(node).replace("m_", "")) is not None
    )


def discounted(scope: ast.AST) -> Iterator[ast.BinOp]:
    """Sums of which one side is discounted: `rewards + gamma * future * (1 - dones)`."""
    for node in of(scope, ast.BinOp):
        if isinstance(node.op, ast.Add):
            sides = [any(is_gamma(f) for f in factors(s)) for s in (node.left, node.right)]
            if sum(sides) == 1:
                yield node


def _read(batch: Batch, name: str) -> bool:
    """The name is read after the batch was taken apart."""
    return any(
        n.id == name and isinstance(n.ctx, ast.Load) and n.lineno >= batch.node.lineno
        for n in of(batch.scope, ast.Name)
    )


def part_of_batch_unread(source: Script) -> Finding | None:
    """The ends, the next states or the rewards of a batch are taken from the memory and never read.

    Without the ends, what would follow an end counts; an environment without ends gives none to the memory.
    Names that begin with an underscore are left out on purpose.
    """
    seen = None
    for batch in batches(source):
        seen = seen or batch.node
        for name, why in (
            (batch.end, "the ends are taken from the memory and not used: what follows an end is counted"),
            (batch.following, "the next states are taken from the memory and not used"),
            (batch.reward, "the rewards are taken from the memory and not used"),
            (
                batch.action or "_",
                "the actions are taken from the memory and not used: their values are not learnt",
            ),
        ):
            if not name.startswith("_") and not _read(batch, name):
                return at(source, batch.node, why)
    return ok(source, seen, "all parts of the batch are used") if seen is not None else None


def end_on_wrong_side(source: Script) -> Finding | None:
    """`(1 - dones) * rewards + gamma * future`, or `gamma * future * dones`.

    An end cuts off the future, not the reward of its step, and not where there is no end. Memories that store
    `not done` are left out, and so are names that say so.
    """
    for batch in batches(source):
        if NOT_END.search(batch.end) or _stored_turned(source):
            continue
        if any(
            n.id == batch.end and isinstance(n.ctx, ast.Store) and n.lineno > batch.node.lineno
            for n in of(batch.scope, ast.Name)
        ):
            continue
        for node in discounted(batch.scope):
            left = any(is_gamma(f) for f in factors(node.left))
            future, rest = (node.left, node.right) if left else (node.right, node.left)
            if any(isinstance(f, ast.Name) and f.id == batch.end for f in factors(future)):
                return at(
                    source, node, "only ends look ahead: the future is multiplied with the ends themselves"
                )
            used = [n for n in of(batch.scope, ast.Name) if n.id == batch.end and isinstance(n.ctx, ast.Load)]
            inside = [f for f in factors(rest) if batch.end in names_in(f)]
            if (
                inside
                and len(used) == 1
                and batch.reward in names_in(rest)
                and batch.end not in names_in(future)
            ):
                return at(
                    source, node, "an end takes away the reward of its step, and not what would follow it"
                )
    return None


def _stored_turned(source: Script) -> bool:
    """`memory.add(..., not done)`, `self.ends[index] = 1 - done`: what is stored says that it goes on."""
    for node in source.of(ast.Assign):
        turned = re.match(r"not |~|1(?:\.0)? - ", unparse(node.value))
        kept = turned and isinstance(node.targets[0], ast.Subscript)
        if kept and any(_word(n, ENDS) for n in names_in(node.value)):
            return True
    for call in source.calls:
        for one in (*call.args, *(k.value for k in call.keywords)):
            for each in one.elts if isinstance(one, (ast.Tuple, ast.List)) else [one]:
                text = unparse(each)
                if re.search(r"^(?:not |~|\(?1(?:\.0)? - )|logical_not", text) and any(
                    _word(n, ENDS) for n in names_in(each)
                ):
                    return True
    return False


def future_of_same_state(source: Script) -> Finding | None:
    """`gamma * target(states)`: the discounted value is that of the state itself, not of the next one."""
    mine = flow(source)
    for batch in batches(source):
        if batch.first == batch.following:
            continue  # stored in another order
        if any(
            n.id == batch.first and isinstance(n.ctx, ast.Store) and n.lineno > batch.node.lineno
            for n in of(batch.scope, ast.Name)
        ):
            continue
        for node in discounted(batch.scope):
            for side in (node.left, node.right):
                if not any(is_gamma(f) for f in factors(side)):
                    continue
                for factor in factors(side):
                    given = mine.whole_given(factor) if isinstance(factor, ast.Name) else None
                    value = given or factor
                    asked = _asked(value)
                    if asked is not None and len(asked.args) == 1 and unparse(asked.args[0]) == batch.first:
                        return at(
                            source,
                            asked,
                            "what is discounted is the value of the state itself, not of the next one",
                        )
    return None


def _asked(node: ast.expr) -> ast.Call | None:
    """The innermost call of a chain of methods: `net(s).gather(1, a).squeeze(1)` -> `net(s)`."""
    found: ast.Call | None = None
    while isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Call):
            found, node = node, node.func
        else:
            node = node.value
    return found


def stored_after_moving_on(source: Script) -> Finding | None:
    """`state = following` before `memory.add(state, action, reward, following, done)`: both are the same."""
    for call in source.calls:
        given = (
            call.args[0].elts
            if len(call.args) == 1 and isinstance(call.args[0], (ast.Tuple, ast.List))
            else call.args
        )
        names = [g.id for g in given if isinstance(g, ast.Name)]
        if len(names) < 4 or not any(_word(n, _REWARDS) for n in names):
            continue
        following = [n for n in names[1:] if _word(n, _NEXT)]
        statement = source.statement(call)
        block = block_of(source, statement) if statement is not None else []
        if len(following) != 1 or statement not in block:
            continue
        made = False
        for before in block[: block.index(statement)]:
            if not isinstance(before, ast.Assign):
                continue
            targets = {n.id for t in before.targets for n in of(t, ast.Name) if isinstance(n.ctx, ast.Store)}
            if following[0] in targets:
                made = True
            elif made and names[0] in targets and following[0] in names_in(before.value):
                return at(source, before, "the state is replaced by the next one before both are stored")
    return None


def _too_large(node: ast.expr) -> float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, (int, float)) and value > 1 else None


def discount_above_one(source: Script) -> Finding | None:
    """`gamma=1.98` in a program that discounts rewards: values grow without end."""
    if not re.search(r"(?i)reward|\bgym", source.code) or not list(discounted(source.tree)):
        return None
    for function in source.of(ast.FunctionDef):
        some = function.args.defaults
        given = [*zip(function.args.args[len(function.args.args) - len(some) :], some, strict=True)]
        given += [
            (n, d)
            for n, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
            if d is not None
        ]
        for name, value in given:
            if _GAMMA.search(name.arg) and (large := _too_large(value)) is not None:
                return at(source, value, f"rewards are discounted by {large:g}: values grow without end")
    for node in source.of(ast.Assign):
        if _GAMMA.search(unparse(node.targets[0])) and (large := _too_large(node.value)) is not None:
            return at(source, node, f"rewards are discounted by {large:g}: values grow without end")
    return None
