"""Statements of a script, run on terms: both sides of a branch that is not known are kept."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..readers._tree import unparse
from .machine import RANDOMLY, Left, Machine
from .values import Env, Func, Term


class Statements(Machine):
    """Runs statements."""

    def run(self, body: Sequence[ast.stmt], env: Env) -> Term | None:
        """Run statements; what is returned, or None where the end is reached. Raises Left, OutOfSteps."""
        for i, node in enumerate(body):
            self.tick()
            if isinstance(node, ast.Return):
                given = self.of(node.value, env) if node.value is not None else self.const(None, node)
                if isinstance(node.value, ast.Tuple) and given.head == "tuple" and len(self.returned) < 50:
                    self.returned.append((node.value, given))
                return given
            if isinstance(node, (ast.Raise, ast.Continue, ast.Break)):
                raise Left
            if isinstance(node, ast.If):
                done, out = self._branch(node, body[i + 1 :], env)
                if done:
                    return out
            elif (found := self._statement(node, env)) is not None:
                return found
        return None

    def _branch(self, node: ast.If, rest: Sequence[ast.stmt], env: Env) -> tuple[bool, Term | None]:
        """Run one side of an `if`, or both and what follows."""
        told = self.truth(node.test, env)
        if told == RANDOMLY:
            told = False
        if isinstance(told, bool):
            out = self.run(node.body if told else node.orelse, env)
            return out is not None, out
        test = unparse(node.test)
        kept, before = [dict(o.attrs) for o in self.objects], dict(env.names)
        first, left = self._side(node.body, env)
        there, after = dict(env.names), [dict(o.attrs) for o in self.objects]
        env.names.clear()
        env.names.update(before)
        for o, attrs in zip(self.objects, kept, strict=False):
            o.attrs = dict(attrs)
        second, gone = self._side(node.orelse, env)
        if left and gone:
            raise Left
        if gone:  # only the first side goes on
            env.names.clear()
            env.names.update(there)
            for o, attrs in zip(self.objects, after, strict=False):
                o.attrs = attrs
            return first is not None, first
        if left:
            return second is not None, second
        if first is not None and second is not None:
            return True, self.phi(test, first, second, node)
        if first is None and second is None:
            self._merge(test, node, there, env, after)
            return False, None
        if second is not None:
            env.names.clear()
            env.names.update(there)
            for o, attrs in zip(self.objects, after, strict=False):
                o.attrs = attrs
        try:
            other = self.run(rest, env)
        except Left:
            return True, first if first is not None else second
        other = other if other is not None else self.const(None, node)
        pair = (first, other) if first is not None else (other, second)
        return True, self.phi(test, pair[0] or other, pair[1] or other, node)

    def _side(self, body: Sequence[ast.stmt], env: Env) -> tuple[Term | None, bool]:
        try:
            return self.run(body, env), False
        except Left:
            return None, True

    def _merge(
        self, test: str, node: ast.AST, there: dict[str, Term], env: Env, after: list[dict[str, Term]]
    ) -> None:
        for name, value in there.items():
            mine = env.names.get(name)
            env.names[name] = value if mine is None else self.phi(test, value, mine, node)
        for o, attrs in zip(self.objects, after, strict=False):
            for name, value in attrs.items():
                mine = o.attrs.get(name)
                o.attrs[name] = value if mine is None else self.phi(test, value, mine, node)

    def _statement(self, node: ast.stmt, env: Env) -> Term | None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            env.names[node.name] = self.make("func", node, value=Func(node, env))
        elif isinstance(node, ast.ClassDef):
            env.names[node.name] = self.make("class", node, value=node.name)
        elif isinstance(node, ast.Assign):
            value = self.of(node.value, env)
            for target in node.targets:
                self.assign(target, value, env)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, self.of(node.value, env), env)
        elif isinstance(node, ast.AugAssign):
            both = (self.of(node.target, env), self.of(node.value, env))
            self.assign(node.target, self.operation(node.op, both, node), env)
        elif isinstance(node, ast.Expr):
            self._alone(node.value, env)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            return self._loop(node, env)
        elif isinstance(node, ast.While):
            return self._side(node.body, env)[0]
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                value = self.of(item.context_expr, env)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, value, env)
            return self.run(node.body, env)
        elif isinstance(node, ast.Try):
            out, left = self._side(node.body, env)
            return out if out is not None or left else self.run([*node.orelse, *node.finalbody], env)
        return None

    def _loop(self, node: ast.For | ast.AsyncFor, env: Env) -> Term | None:
        over = self.of(node.iter, env)
        rounds = list(over.args) if over.head == "tuple" and 0 < len(over.args) <= 16 else []
        if not rounds:
            rounds = [self.each(over, node.iter)]
        named = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else []
        for i, one in enumerate(rounds):
            self.assign(node.target, one, env)
            out, _ = self._side(node.body, env)
            if out is not None:
                return out
            if len(named) == len(rounds) and isinstance(node.target, ast.Name):
                self._changed_in_place(named[i], one, env.names.get(node.target.id), env)
        return None

    def _changed_in_place(self, place: ast.expr, before: Term, after: Term | None, env: Env) -> None:
        """`for part in (train, test): part["fee"] = f(part["fee"])` changes `train` and `test` themselves."""
        inner = after
        while inner is not None and inner.head == "setitem" and inner.key != before.key:
            inner = inner.args[0]
        if isinstance(place, ast.Name) and after is not None and inner is not None:
            if inner.key == before.key:
                env.names[place.id] = after

    def _alone(self, node: ast.expr, env: Env) -> None:
        """A call for what it changes: `names.append(x)`, `scaler.fit(x)`, `x.sub_(mean)`."""
        if isinstance(node, (ast.Yield, ast.YieldFrom)) and node.value is not None:
            value = self.of(node.value, env)
            env.names["<yielded>"] = self.make("list_of", node, (value,))
            return
        value = self.of(node, env)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return
        name, owner = node.func.attr, node.func.value
        if name in ("append", "add", "extend") and node.args:
            item = self.of(node.args[0], env)
            held = self.of(owner, env)
            if held.head == "tuple" and held.args and name != "add" and self._grows_once(node):
                more = item.args if item.head == "tuple" and name == "extend" else (item,)
                new = self.make("tuple", node, (*held.args, *more))
            elif name == "extend":
                new = item
            elif held.head == "list_of" and held.args:
                new = held
            else:
                new = self.make("list_of", node, (item,))
            self.assign(owner, new, env)
        elif (name in ("fit", "adapt", "partial_fit") and value.head.startswith("call:")) or (
            name.endswith("_") and value.head.startswith("op:")
        ):
            self.assign(owner, value, env)

    def _grows_once(self, node: ast.AST) -> bool:
        """Not in each round of a loop."""
        return not self.source.loops_around(node)

    def assign(self, target: ast.expr, value: Term, env: Env) -> None:
        """Give a value to a name, an attribute of an instance, an item, or to several."""
        if isinstance(target, ast.Name):
            env.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for i, one in enumerate(target.elts):
                if isinstance(one, ast.Starred):
                    break
                self.assign(one, self.item(value, self.const(i, one), one), env)
        elif isinstance(target, ast.Attribute):
            held = self.of(target.value, env)
            if held.head == "obj":
                held.value.attrs[target.attr] = value
        elif isinstance(target, ast.Subscript):
            target = _of_all_rows(target)
            held, place = self.of(target.value, env), self.of(target.slice, env)
            if held.head == "dict" and place.head == "const":
                new = self.make("dict", target, held.args, value={**held.value, place.value: value})
            else:
                new = self.make("setitem", target, (held, place, value))
            if isinstance(target.value, (ast.Name, ast.Attribute)):
                self.assign(target.value, new, env)


def _of_all_rows(target: ast.Subscript) -> ast.Subscript:
    """`frame.loc[:, names] = ...` sets the columns that `frame[names] = ...` sets."""
    frame, place = target.value, target.slice
    if not isinstance(frame, ast.Attribute) or frame.attr != "loc" or not isinstance(place, ast.Tuple):
        return target
    rows = place.elts[0]
    if len(place.elts) != 2 or ast.unparse(rows) != ":":
        return target
    return ast.copy_location(ast.Subscript(frame.value, place.elts[1], target.ctx), target)
