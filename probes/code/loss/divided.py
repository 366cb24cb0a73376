"""Whether a loss that is summed is divided on its way to backward, however far away that happens.

The value is followed forwards: through names, attributes, parameters, what functions give back, closures,
lists and dicts. The way is told by names, so that it is wide rather than exact: it answers "divided
somewhere on the way", never "certainly not".
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script

MAX_FOLLOWED = 3000  # expressions
_PLAIN = frozenset(("item", "detach", "numpy", "tolist", "float", "len", "print", "isinstance", "no_grad"))
_DIVIDES = re.compile(r"(?i)^(?:true_)?div(?:ide)?_?$|^mean$|^_?(?:normali[sz]e|average)(?:_\w+)?$|_mean$")
_ENDS = frozenset(("backward", "manual_backward", "minimize", "gradient"))
_BY_HAND = re.compile(
    r"grad(?:\.data)?\.(?:true_)?(?:div|mul)_?\(|grad(?:\.data)? (?:/|\*)= "
    r"|grad(?:\.data)? = [^\n]*grad[^\n]* [/*] "
    r"|_foreach_(?:div|mul)_|multiply_grads|scale_grad(?:ient)?s?\("
)
_ACCUMULATES = re.compile(r"(?i)accum|micro")
_COUNTS = re.compile(r"(?i)len\(|size|shape|tok|numel|sample|batch(?!es)|count|target")


def gradients_divided_by_hand(source: Script) -> bool:
    """Gradients are multiplied or divided between backward and the step: `p.grad.div_(tokens)`."""
    return _BY_HAND.search(source.code) is not None


def is_accumulation(node: ast.expr) -> bool:
    """A division by the number of accumulated batches alone does not make a mean of a batch's sum."""
    text = unparse(node)
    return _ACCUMULATES.search(text) is not None and _COUNTS.search(text) is None


def divided_on_its_way(source: Script, start: ast.expr) -> bool:
    """What `start` gives (or what is made of the loss it builds) is divided before gradients are taken."""
    way = _Way(source)
    way.follow(start)
    return way.ended_divided or (not way.ended and way.seen_divided)


@dataclass(eq=False)
class _Way:
    source: Script
    seen: set[tuple[ast.AST, bool]] = field(default_factory=set)
    named: set[tuple[ast.AST | None, str, bool]] = field(default_factory=set)
    waiting: list[tuple[ast.AST, bool]] = field(default_factory=list)
    ended: bool = False
    ended_divided: bool = False
    seen_divided: bool = False

    def __post_init__(self) -> None:
        self.loads: dict[str, list[ast.AST]] = defaultdict(list)
        for node in self.source.of(ast.Name, ast.Attribute):
            if isinstance(node, ast.Name):
                self.loads[node.id].append(node)
            else:
                self.loads["." + node.attr].append(node)

    def follow(self, start: ast.expr) -> None:
        self.waiting.append((start, False))
        while self.waiting and len(self.seen) < MAX_FOLLOWED:
            node, divided = self.waiting.pop()
            if (node, divided) not in self.seen:
                self.seen.add((node, divided))
                self._up(node, divided)

    def _up(self, node: ast.AST, divided: bool) -> None:
        """One step on: what the expression around a value, or its statement, makes of it."""
        parent = self.source.parents.get(node)
        if divided:
            self.seen_divided = True
        if isinstance(parent, ast.BinOp):
            self._on(parent, divided or self._divides(parent, node))
        elif isinstance(parent, ast.Attribute):
            outer = self.source.parents.get(parent)
            called = isinstance(outer, ast.Call) and outer.func is parent
            if parent.attr in _ENDS and called and isinstance(outer, ast.Call):
                self._end(divided or bool(outer.args))
            elif parent.attr not in _PLAIN:
                now = divided or (called and _DIVIDES.search(parent.attr) is not None)
                if now and parent.attr.endswith("_"):
                    self._name(node, True)
                if called and isinstance(outer, ast.Call):
                    self._on(outer, now)
                else:
                    self._on(parent, now)
        elif isinstance(parent, ast.keyword):
            call = self.source.parents.get(parent)
            if isinstance(call, ast.Call):
                self._handed(call, node, parent.arg, divided)
        elif isinstance(parent, ast.Call):
            if parent.func is node:
                self._on(parent, divided)
            else:
                self._handed(parent, node, None, divided)
        elif isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            if isinstance(parent, ast.AugAssign) and node is parent.target:
                if isinstance(parent.op, ast.Div) and not is_accumulation(parent.value):
                    self._name(node, True)
                return
            if node in targets:
                return
            for target in targets:
                self._name(target, divided)
            if isinstance(parent, ast.NamedExpr):
                self._on(parent, divided)
        elif isinstance(parent, (ast.Return, ast.Yield)):
            self._given_back(parent, divided)
        elif isinstance(parent, ast.Lambda):
            self._on(parent, divided)
        elif isinstance(parent, (ast.For, ast.comprehension)) and node is parent.iter:
            self._name(parent.target, divided)
        elif isinstance(parent, ast.expr) and not isinstance(parent, ast.Compare):
            self._on(parent, divided)

    def _on(self, node: ast.AST, divided: bool) -> None:
        self.waiting.append((node, divided))

    def _end(self, divided: bool) -> None:
        self.ended = True
        self.ended_divided |= divided

    def _divides(self, node: ast.BinOp, part: ast.AST) -> bool:
        if isinstance(node.op, ast.Div):
            return part is node.left and not is_accumulation(node.right)
        if isinstance(node.op, ast.Mult):
            other = node.right if part is node.left else node.left
            return any(
                isinstance(n.op, ast.Div) and not is_accumulation(n.right)
                for value in flow(self.source).values(other, 3)
                for n in of(value, ast.BinOp)
            )
        return False

    def _handed(self, call: ast.Call, node: ast.AST, keyword: str | None, divided: bool) -> None:
        name = last_name(call.func)
        if name in _ENDS:
            self._end(divided or (len(call.args) > 1 and name == "backward"))
            return
        if name in _PLAIN:
            return
        if name == "append" and isinstance(call.func, ast.Attribute):
            self._name(call.func.value, divided)
            return
        for function in self._functions(call):
            for parameter in _parameter(function, call, node, keyword):
                self._everywhere(function, parameter, divided)
        self._on(call, divided or _DIVIDES.search(name) is not None)

    def _functions(self, call: ast.Call) -> list[Function]:
        owner = self.source.classes.get(last_name(call.func))
        if owner is not None:
            return [s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"]
        return flow(self.source).called(call) or flow(self.source).functions.get(last_name(call.func), [])

    def _given_back(self, node: ast.AST, divided: bool) -> None:
        function = self.source.function_around(node)
        if function is None:
            return
        if function in self.source.loss_methods:
            self._end(divided)
        owner = self.source.parents.get(function)
        if isinstance(owner, ast.ClassDef):
            if function.name in ("forward", "__call__", "construct", "call"):
                self._everywhere(None, owner.name, divided)
                self._everywhere(owner, "self", divided, called=True)
            else:
                self._everywhere(None, "." + function.name, divided)
        else:
            self._everywhere(None, function.name, divided)

    def _name(self, target: ast.AST, divided: bool) -> None:
        """All uses of what a value is put into."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._name(part, divided)
        elif isinstance(target, (ast.Starred, ast.Subscript)):
            self._name(target.value, divided)
        elif isinstance(target, ast.Attribute):
            self._everywhere(None, "." + target.attr, divided)
        elif isinstance(target, ast.Name):
            self._everywhere(self.source.function_around(target), target.id, divided)

    def _everywhere(self, scope: ast.AST | None, name: str, divided: bool, called: bool = False) -> None:
        if (scope, name, divided) in self.named:
            return
        self.named.add((scope, name, divided))
        for node in self.loads.get(name, ()):
            parent = self.source.parents.get(node)
            if scope is not None and scope not in self.source.above(node):
                continue
            if called and not (isinstance(parent, ast.Call) and parent.func is node):
                continue
            self._on(node, divided)


def _parameter(function: Function, call: ast.Call, node: ast.AST, keyword: str | None) -> Iterator[str]:
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if keyword is not None:
        yield keyword
    elif node in call.args:
        place = call.args.index(node)
        place += 1 if names[:1] in (["self"], ["cls"]) else 0
        if place < len(names):
            yield names[place]
        elif function.args.vararg is not None:
            yield function.args.vararg.arg
