"""Loops of reinforcement learning: the state that actions are chosen by, the copy that targets are of."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.sides import words


def state_never_moved(source: Script) -> Finding | None:
    """`after, reward, ... = env.step(act(obs))`, and `obs` gets another value by `reset` alone.

    Every action of an episode is chosen by its first observation.
    """
    for loop in source.of(ast.For, ast.While):
        for node in of(loop, ast.Assign):
            target, call = node.targets[0], node.value
            if not isinstance(target, ast.Tuple) or len(target.elts) not in (4, 5):
                continue
            if not isinstance(call, ast.Call) or last_name(call.func) != "step" or not call.args:
                continue
            after = unparse(target.elts[0])
            inner = source.loops_around(node)
            if not inner or (inner[0] is not loop and inner[-1] is not loop):
                continue
            told = [(unparse(t), v) for n in of(loop, ast.Assign) for t, v in _flat(n)]
            for state in _chosen_by(loop):
                given = [v for name, v in told if name == state]
                begun = [v for v in given if "reset" in unparse(v)]
                if state != after and begun and len(begun) == len(given) and _looks_alike(state, after):
                    why = f"actions are chosen by `{state}`, and `{after}` never takes its place"
                    return at(source, node, why)
    return None


def _flat(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    pairs = assigned(node)
    return [
        (inner, value)
        for target, value in pairs
        for inner in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]


def _chosen_by(loop: ast.AST) -> set[str]:
    """What actions are chosen by: the first argument of `act`, `select_action`, `policy`, `predict`."""
    found: set[str] = set()
    for call in of(loop, ast.Call):
        name = set(words(last_name(call.func)))
        if call.args and name & {"act", "action", "policy", "actor", "choose", "predict", "select"}:
            if isinstance(call.args[0], ast.Name):
                found.add(call.args[0].id)
    return found


def _looks_alike(state: str, after: str) -> bool:
    """Both are named after observations: `obs` and `nxt`, `state` and `next_state`."""
    known = {"obs", "observation", "state", "s", "next", "nxt", "new", "ns", "ob", "frame"}
    return bool(set(words(state)) & known or set(words(after)) & known)


def copy_is_the_net(source: Script) -> Finding | None:
    """`self.target = self.online`: the copy that is to stand still is the net that learns."""
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            plain = isinstance(value, (ast.Attribute, ast.Name)) and isinstance(
                target, (ast.Attribute, ast.Name)
            )
            if not plain or "target" not in words(last_name(target)) or "target" in words(last_name(value)):
                continue
            name, net = unparse(target), unparse(value)
            asked = [c for c in source.of(ast.Call) if unparse(c.func) in (name, f"{name}.forward")]
            made = [
                v
                for n in source.of(ast.Assign)
                for t, v in assigned(n)
                if unparse(t) == net
                and isinstance(v, ast.Call)
                and source.classes.get(last_name(v.func)) in source.modules
            ]
            if asked and made:
                return at(source, node, f"`{name}` is `{net}` itself and no copy: it learns with it")
    return None
