"""Groups of parameters that are chosen by a condition: whether they have all parameters between them."""

from __future__ import annotations

import ast
import copy

from ..readers.script import argument, last_name
from .side import Side
from .update import optimizers

_OF_MODELS = ("parameters", "named_parameters", "trainable_params", "get_parameters", "parameters_and_names")
Asked = tuple[str, bool]  # a condition in normal form, and whether it is negated


def covers_all(side: Side) -> bool:
    """Whether the only optimizer gets groups chosen by a condition and by its contrary, of one list."""
    made = optimizers(side)
    given = argument(made[0], "params", "parameters", position=0) if len(made) == 1 else None
    if given is None:
        return False
    if _dealt_out(side, given):
        return True
    asked: set[Asked] = set()
    for node in side.follow(given):
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and _of_model(side, node.generators[0].iter):
            tests = [t for g in node.generators for t in g.ifs if not _trains(t)]
            if len(tests) != 1:
                return not tests and len(node.generators) == 1 and bool(asked)
            asked.add(_normal(tests[0], node.generators[0].target))
        elif isinstance(node, ast.Call) and last_name(node.func) == "filter" and len(node.args) == 2:
            if _of_model(side, node.args[1]):
                test = ast.Call(func=node.args[0], args=[ast.Name(id="p", ctx=ast.Load())], keywords=[])
                asked.add(_normal(test, ast.Name(id="p", ctx=ast.Store())))
    return any((test, not negated) in asked for test, negated in asked)


def _dealt_out(side: Side, given: ast.expr) -> bool:
    """`for p in net.parameters(): (rest if p.ndim < 2 else decay).append(p)`, and both lists are used."""
    names = {n.id for n in side.follow(given) if isinstance(n, ast.Name)}
    for loop in side.source.of(ast.For):
        if not _of_model(side, loop.iter):
            continue
        ways: list[ast.expr] = []
        for node in loop.body:
            if isinstance(node, ast.If) and node.orelse:
                ways += [c for s in (*node.body, *node.orelse) for c in _appended(s)]
            elif isinstance(node, ast.Expr):
                owners = _appended(node)
                ways += [e for o in owners if isinstance(o, ast.IfExp) for e in (o.body, o.orelse)]
        lists = {w.id for w in ways if isinstance(w, ast.Name)}
        if (
            len(lists) > 1
            and lists <= names
            and len(ways) == len([w for w in ways if isinstance(w, ast.Name)])
        ):
            return True
    return False


def _appended(node: ast.stmt) -> list[ast.expr]:
    """What a statement appends to."""
    return [
        n.func.value
        for n in ast.walk(node)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "append"
    ]


def _of_model(side: Side, node: ast.expr) -> bool:
    """`model.named_parameters()`, or a name that stands for a list of it."""
    return any(isinstance(n, ast.Call) and last_name(n.func) in _OF_MODELS for n in side.follow(node))


def _trains(test: ast.expr) -> bool:
    return isinstance(test, ast.Attribute) and test.attr == "requires_grad"


class _Renamed(ast.NodeTransformer):
    """Names of the loop as what they are in order, a function of one line as what it returns."""

    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)


def _normal(test: ast.expr, target: ast.expr) -> Asked:
    names: list[ast.expr] = list(target.elts) if isinstance(target, ast.Tuple) else [target]
    held: dict[str, ast.expr] = {
        n.id: ast.Name(id="name" if len(names) == 2 and i == 0 else "p", ctx=ast.Load())
        for i, n in enumerate(names)
        if isinstance(n, ast.Name)
    }
    return _asked(_Renamed(held).visit(copy.deepcopy(test)))


def _asked(test: ast.expr) -> Asked:
    """The condition without its negations: `not x`, `!=`, `not in`, `<`, and what is joined of them."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        text, negated = _asked(test.operand)
        return text, not negated
    if isinstance(test, ast.BoolOp):
        parts = [_asked(v) for v in test.values if not _trains(v)]
        if len(parts) == 1:
            return parts[0]
        every = isinstance(test.op, ast.And)  # a and b is not (not a or not b)
        joined = " or ".join(sorted(f"{'not ' if n != every else ''}{t}" for t, n in parts))
        return f"({joined})", every
    if isinstance(test, ast.Call) and last_name(test.func) == "all" and len(test.args) == 1:
        inner = test.args[0]
        if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) and not inner.generators[0].ifs:
            text, negated = _asked(inner.elt)
            over = ast.unparse(inner.generators[0].iter)
            return f"any {text} of {over}" if negated else f"all {text} of {over}", negated
    if isinstance(test, ast.Call) and last_name(test.func) == "any" and len(test.args) == 1:
        inner = test.args[0]
        if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) and not inner.generators[0].ifs:
            text, negated = _asked(inner.elt)
            over = ast.unparse(inner.generators[0].iter)
            return (f"all {text} of {over}", True) if negated else (f"any {text} of {over}", False)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test.left, test.ops[0], test.comparators[0])
    return ast.unparse(test), False


_AXES = ("ndim", "dim()", "ndimension()", "shape)", "size())")


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Asked:
    here, there = ast.unparse(left), ast.unparse(right)
    if isinstance(op, (ast.NotIn, ast.In)):
        return f"{here} in {there}", isinstance(op, ast.NotIn)
    if isinstance(right, ast.Constant) and isinstance(right.value, int):
        axes = here.endswith(_AXES)  # `len(p.shape)`, `p.dim()`: no parameter has none
        here = "axes" if axes else here
        limits = {ast.Gt: (1, False), ast.GtE: (0, False), ast.Lt: (0, True), ast.LtE: (1, True)}
        if type(op) in limits:
            more, negated = limits[type(op)]
            return f"{here} >= {right.value + more}", negated
        if axes and right.value == 1 and isinstance(op, (ast.Eq, ast.NotEq)):
            return f"{here} >= 2", isinstance(op, ast.Eq)
    if isinstance(op, (ast.Eq, ast.NotEq)):
        return f"{here} == {there}", isinstance(op, ast.NotEq)
    return f"{here} {type(op).__name__} {there}", False
