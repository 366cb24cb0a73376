"""Expressions of a script as terms."""

from __future__ import annotations

import ast
from typing import Any

from ..readers._tree import below, unparse
from ..readers.script import last_name
from ..scripts.bounds import is_small
from .machine import LIBRARIES, RANDOMLY, Machine
from .values import Env, Func, Obj, Term

_SHOWN = ("tqdm", "track", "iter", "list", "tuple", "sorted", "reversed", "trange")
_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


class Expressions(Machine):
    """The values of expressions."""

    def of(self, node: ast.expr, env: Env) -> Term:
        """The value of an expression. Raises OutOfSteps."""
        self.tick()
        if isinstance(node, ast.Constant):
            value = node.value
            return self.const(
                value if isinstance(value, (str, int, float, type(None))) else repr(value), node
            )
        if isinstance(node, ast.Name):
            return env.get(node.id) or self._global(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, env)
        if isinstance(node, ast.Call):
            return self.call_of(node, env)
        if isinstance(node, ast.BinOp):
            return self.operation(node.op, (self.of(node.left, env), self.of(node.right, env)), node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, env)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            items: list[Term] = []
            for one in node.elts:
                if isinstance(one, ast.Starred):
                    held = self.of(one.value, env)
                    items += held.args if held.head == "tuple" else [self.make("starred", one, (held,))]
                else:
                    items.append(self.of(one, env))
            return self.make("tuple", node, tuple(items))
        if isinstance(node, ast.Dict):
            return self._dict(node, env)
        if isinstance(node, ast.IfExp):
            told = self.truth(node.test, env)
            if told == RANDOMLY:
                told = False
            if isinstance(told, bool):
                return self.of(node.body if told else node.orelse, env)
            return self.phi(unparse(node.test), self.of(node.body, env), self.of(node.orelse, env), node)
        if isinstance(node, ast.JoinedStr):
            return self._joined(node, env)
        if isinstance(node, ast.Lambda):
            return self.make("func", node, value=Func(node, env))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            return self._comprehension(node, env)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.of(node.operand, env)
            return (
                self.const(-inner.value, node) if inner.is_number else self.make("call:neg", node, (inner,))
            )
        if isinstance(node, ast.NamedExpr):
            value_ = self.of(node.value, env)
            self.assign(node.target, value_, env)
            return value_
        if isinstance(node, (ast.Starred, ast.Await)):
            return self.of(node.value, env)
        if isinstance(node, ast.BoolOp):
            return self._one_of(node, env)
        if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            told = self.truth(node, env)
            if isinstance(told, bool):
                return self.const(told, node)
        parts = tuple(self.of(c, env) for c in below(node) if isinstance(c, ast.expr))
        return self.make(f"other:{type(node).__name__}", node, parts)

    def _one_of(self, node: ast.BoolOp, env: Env) -> Term:
        """`given or default`, `condition and value`: the operand that decides, as far as it is known."""
        ends = isinstance(node.op, ast.Or)
        for at, operand in enumerate(node.values[:-1]):
            told = self.truth(operand, env)
            if told is ends:
                return self.of(operand, env)
            if told is not (not ends):
                parts = tuple(self.of(v, env) for v in node.values[at:])
                return self.make(f"other:{type(node).__name__}", node, parts)
        return self.of(node.values[-1], env)

    def operation(self, op: ast.operator, both: tuple[Term, Term], node: ast.AST) -> Term:
        """`a + b`; numbers that are written out are computed."""
        sign = _SIGNS[type(op)]
        left, right = both
        if left.is_number and right.is_number:
            small = is_small(type(op), left.value, right.value)
            found = _computed(sign, left.value, right.value) if small else None
            if found is not None:
                return self.const(found, node)
        if sign == "+" and left.head == right.head == "tuple" and is_small(ast.Add, left.args, right.args):
            return self.make("tuple", node, (*left.args, *right.args))
        if sign in "+*" and left.head in ("tuple", "list_of"):
            if not (left.head == "tuple" and not left.args):
                return left if sign == "*" else self.make("call:concatenate", node, both)
            return right
        return self.make(f"op:{sign}", node, both)

    def _global(self, node: ast.Name) -> Term:
        if node.id in self.source.classes:
            return self.make("class", node, value=node.id)
        return self.leaf(node.id, node)

    def _attribute(self, node: ast.Attribute, env: Env) -> Term:
        held = self.of(node.value, env)
        return self.attribute(held, node.attr, node)

    def attribute(self, held: Term, name: str, node: ast.AST) -> Term:
        """`held.name`: what an instance was given, a method of its, or a part of something unknown."""
        if held.head == "obj":
            obj: Obj = held.value
            if name in obj.attrs:
                return obj.attrs[name]
            for part in self._methods(obj.owner):
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and part.name == name:
                    made = self.make("func", part, value=Func(part, obj.env, held))
                    told = {last_name(d) for d in part.decorator_list}
                    if told & {"property", "cached_property"}:
                        return self.call(made, (), {}, node)
                    if "staticmethod" in told:
                        return self.make("func", part, value=Func(part, obj.env))
                    return made
                if isinstance(part, (ast.Assign, ast.AnnAssign)) and part.value is not None:
                    goal = part.targets[0] if isinstance(part, ast.Assign) else part.target
                    if isinstance(goal, ast.Name) and goal.id == name:
                        return self._field(self.of(part.value, obj.env), node)
        if held.head == "leaf":
            if held.value in self.imported and held.value not in LIBRARIES and name in self.top.names:
                return self.top.names[name]  # a module of the same program
            return self.leaf(f"{held.value}.{name}", node)
        return self.make(f"attr:{name}", node, (held,))

    def _field(self, held: Term, node: ast.AST) -> Term:
        """`field(default=...)` of a dataclass is its default."""
        if held.head != "call:field":
            return held
        made = held.kw.get("default_factory")
        return held.kw.get("default") or (self.call(made, (), {}, node) if made is not None else held)

    def _methods(self, owner: ast.ClassDef) -> list[ast.stmt]:
        found = list(owner.body)
        for base in owner.bases[:3]:
            above = self.source.classes.get(last_name(base))
            if above is not None and above is not owner:
                found += above.body
        return found

    def _subscript(self, node: ast.Subscript, env: Env) -> Term:
        held = self.of(node.value, env)
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(p, ast.Slice) for p in parts):
                inner = tuple(self.of(c, env) for p in parts for c in below(p) if isinstance(c, ast.expr))
                return self.make("slice", node, (held, *inner), value=unparse(node.slice))
        return self.item(held, self.of(node.slice, env), node)

    def item(self, held: Term, place: Term, node: ast.AST) -> Term:
        """`held[place]`."""
        at = place.value if place.head == "const" else None
        if held.head == "tuple" and type(at) is int and -len(held.args) <= at < len(held.args):
            return held.args[at]
        if held.head == "dict" and at in held.value:
            found: Term = held.value[at]
            return found
        if held.head == "dict" and held.args and at is not None:
            return self.item(held.args[0], place, node)
        if held.head == "setitem" and place.head == "const" and held.args[1].head == "const":
            if held.args[1].value == at:
                return held.args[2]
            return self.item(held.args[0], place, node)
        if held.head == "list_of" and type(at) is int and isinstance(held.value, tuple):
            comp, env, over = held.value
            inner = Env({}, env)
            self.assign(comp.generators[0].target, self.item(over, place, node), inner)
            return self.of(comp.elt, inner)
        if held.head == "obj" and (method := self.method(held.value, "__getitem__")) is not None:
            return self.call(method, (place,), {}, node)
        if held.head == "phi":
            parts = [self.item(a, place, node) for a in held.args]
            return self.phi(held.value, parts[0], parts[1], node)
        return self.make("item", node, (held, place))

    def method(self, obj: Obj, name: str) -> Term | None:
        """A method of an instance, if its class has one of that name."""
        made = any(isinstance(p, ast.FunctionDef) and p.name == name for p in self._methods(obj.owner))
        return self.attribute(self.make("obj", obj.owner, value=obj), name, obj.owner) if made else None

    def _joined(self, node: ast.JoinedStr, env: Env) -> Term:
        """`f"{mark}{text}"` as the sum of its parts."""
        out = self.const("", node)
        for part in node.values:
            one = self.of(part.value if isinstance(part, ast.FormattedValue) else part, env)
            out = one if out.value == "" and out.head == "const" else self.make("op:+", node, (out, one))
        return out

    def _dict(self, node: ast.Dict, env: Env) -> Term:
        items: dict[Any, Term] = {}
        base: tuple[Term, ...] = ()
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                held = self.of(value, env)
                if held.head == "dict":
                    items.update(held.value)
                    base = held.args
                else:
                    base = (held,)
                continue
            name = self.of(key, env)
            items[name.value if name.head == "const" else unparse(key)] = self.of(value, env)
        return self.make("dict", node, base, value=items)

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, env: Env
    ) -> Term:
        inner = Env({}, env)
        over: Term | None = None
        first = True
        asks: dict[str, Term] = {}
        for one in node.generators:
            went = self.of(one.iter, inner)
            over = went if first else None
            first = False
            self.assign(one.target, self.each(went, one.iter), inner)
            asks.update({f"if{len(asks) + i}": self.of(c, inner) for i, c in enumerate(one.ifs)})
        if isinstance(node, ast.DictComp):
            made = (self.of(node.key, inner), self.of(node.value, inner))
            return self.make("dict_of", node, made, asks)
        known = (node, env, over) if over is not None and not isinstance(node, ast.SetComp) else None
        listed = self.make("list_of", node, (self.of(node.elt, inner),), asks, value=known)
        return self.make("call:set", node, (listed,)) if isinstance(node, ast.SetComp) else listed

    def each(self, over: Term, node: ast.AST) -> Term:
        """What a loop gets of what it goes over."""
        if over.head.startswith("call:"):
            name, args = over.name, over.args
            if name == "enumerate" and args:
                place = self.make("count", node, args[:1])
                return self.make("tuple", node, (place, self.each(args[0], node)))
            if name == "zip":
                return self.make("tuple", node, tuple(self.each(a, node) for a in args))
            if (name in _SHOWN or name == "list") and args:
                return self.each(args[0], node)
            if name == "items" and args:
                return self.make("tuple", node, (self.leaf("<key>", node), self.make("each", node, args[:1])))
            if name in ("range", "arange"):
                return self.leaf("<n>", node)
        if over.head == "list_of" and not over.kw:
            return over.args[0]
        if over.head == "slice" and over.args and over.args[0].head == "call:list":
            return self.each(over.args[0], node)  # `list(batches)[:-1]`: fewer of the same
        return self.make("each", node, (over,))


def _computed(sign: str, a: float, b: float) -> float | None:
    """The result of an operation on two numbers; None where it is none of the plain ones."""
    try:
        if sign == "+":
            return a + b
        if sign == "-":
            return a - b
        if sign == "*":
            return a * b
        if sign == "/":
            return a / b
        if sign == "**" and abs(b) < 64:
            raised = a**b
            return raised if isinstance(raised, (int, float)) else None
    except ArithmeticError:
        return None
    return None
