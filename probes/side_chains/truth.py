"""Conditions: known, random, or neither."""

from __future__ import annotations

import ast

from .machine import RANDOMLY, Machine
from .values import Env, Term


class Truth(Machine):
    """Tells whether conditions hold."""

    def truth(self, test: ast.expr, env: Env) -> bool | str | None:
        """Whether a condition holds: RANDOMLY by random numbers, None where it is not known."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            told = self.truth(test.operand, env)
            return not told if isinstance(told, bool) else told
        if isinstance(test, ast.BoolOp):
            parts = [self.truth(v, env) for v in test.values]
            ends = isinstance(test.op, ast.Or)
            if ends in parts:
                return ends
            if RANDOMLY in parts:
                return RANDOMLY
            return not ends if all(p is (not ends) for p in parts) else None
        if isinstance(test, ast.Compare):
            return self._compared(test, env) if len(test.ops) == 1 else None
        return self._true(self.of(test, env))

    def _true(self, held: Term) -> bool | str | None:
        if held.drawn:
            return RANDOMLY
        if held.head == "const" and not isinstance(held.value, str):
            return bool(held.value)
        if held.head in ("obj", "func", "class") or (held.head == "tuple" and held.args):
            return True
        if held.head == "const":
            return {"True": True, "False": False}.get(held.value, bool(held.value))
        if held.head.startswith("other:Compare"):
            return None
        return None

    def _compared(self, test: ast.Compare, env: Env) -> bool | str | None:
        left, right = self.of(test.left, env), self.of(test.comparators[0], env)
        op = test.ops[0]
        if (left.drawn or right.drawn) and not isinstance(op, (ast.Is, ast.IsNot)):
            return RANDOMLY
        if isinstance(op, (ast.Is, ast.IsNot)) and right.head == "const" and right.value is None:
            if left.head == "const":
                return (left.value is None) == isinstance(op, ast.Is)
            if left.head in ("obj", "func", "class", "tuple", "dict") or left.head.startswith(
                ("call:", "op:")
            ):
                return isinstance(op, ast.IsNot)
            return None
        if isinstance(op, (ast.In, ast.NotIn)) and right.head == "tuple" and left.head == "const":
            if all(a.head == "const" for a in right.args):
                inside = left.value in [a.value for a in right.args]
                return inside == isinstance(op, ast.In)
        if left.head == right.head == "const":
            if isinstance(op, ast.Eq):
                return bool(left.value == right.value)
            if isinstance(op, ast.NotEq):
                return bool(left.value != right.value)
            if left.is_number and right.is_number:
                order = {ast.Gt: left.value > right.value, ast.Lt: left.value < right.value}
                order |= {ast.GtE: left.value >= right.value, ast.LtE: left.value <= right.value}
                return order.get(type(op))
        return None
