"""Graphs in scripts: which edges carry messages, which pairs are asked for, which nodes are learnt."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import whole_number
from ..shared.origins import origins

_JOINS = ("cat", "concat", "concatenate", "hstack", "stack", "vstack")
_UNDIRECTED = ("Planetoid", "CitationFull", "Coauthor", "Amazon", "Reddit", "KarateClub", "WikiCS", "Twitch")


def asked_edges_carry_messages(source: Script) -> Finding | None:
    """`encode(x, data.edge_label_index)`: the pairs that are to be foretold are edges of the graph."""
    for node in source.of(ast.Attribute):
        if node.attr != "edge_label_index" or not isinstance(node.ctx, ast.Load):
            continue
        call, handed = _handed_to(source, node)
        if call is None or handed is None:
            continue
        for function in flow(source).called(call):
            name = _parameter(function, call, handed)
            if name is not None and _carries(function, name):
                return at(source, node, "the pairs that are asked for are handed over as edges of the graph")
    return None


def _handed_to(source: Script, node: ast.expr) -> tuple[ast.Call | None, ast.expr | None]:
    """The call of the program that a value is an argument of, by itself or joined with others."""
    inner: ast.expr = node
    for parent in source.above(node):
        if isinstance(parent, ast.Call) and inner in (*parent.args, *(k.value for k in parent.keywords)):
            if last_name(parent.func) not in _JOINS:
                return parent, inner
        elif not isinstance(parent, (ast.List, ast.Tuple, ast.keyword)):
            return None, None
        if isinstance(parent, ast.expr):
            inner = parent
    return None, None


def _parameter(function: Function, call: ast.Call, handed: ast.expr) -> str | None:
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    for word in call.keywords:
        if word.value is handed:
            return word.arg
    place = next((i for i, a in enumerate(call.args) if a is handed), None)
    return names[place] if place is not None and place < len(names) else None


def _carries(function: Function, name: str) -> bool:
    """A parameter is what layers of a graph get beside their inputs: `self.conv(x, edge_index)`."""
    return any(
        re.search(r"(?i)conv|gcn|sage|gat|gin|layer|prop", last_name(c.func))
        and any(unparse(a) == name for a in (*c.args[1:], *(k.value for k in c.keywords)))
        for c in of(function, ast.Call)
    )


def other_direction_left(source: Script) -> Finding | None:
    """The edges of an undirected graph are split as if they had one direction."""
    if not source.named(*_UNDIRECTED):
        return None
    for call in source.named("RandomLinkSplit"):
        undirected = argument(call, "is_undirected", position=2)
        if undirected is None or (isinstance(undirected, ast.Constant) and undirected.value is False):
            if not any(k.arg is None for k in call.keywords) and "to_directed" not in source.code:
                return at(source, call, "each edge is there in both directions, and they are split apart")
    return None


def pairs_answered_otherwise(source: Script) -> Finding | None:
    """`cat([drawn, edges])` is answered by `cat([ones, zeros])`, or the drawn pairs are answered by ones."""
    for scope in (*source.of(ast.FunctionDef), source.tree):
        joins = [c for c in of(scope, ast.Call) if last_name(c.func) in _JOINS and _two(c)]
        joins = [c for c in joins if (source.function_around(c) or source.tree) is scope]
        answers = [(c, kinds) for c in joins if (kinds := [_answer(p) for p in _two(c)]) and any(kinds)]
        for pairs in joins:
            drawn = [_is_drawn(source, p) for p in _two(pairs)]
            if drawn.count(True) != 1 or pairs in [c for c, _ in answers]:
                continue
            place = drawn.index(True)
            for answer, kinds in answers:
                if not names_in(answer) & names_in(pairs) and len(answers) > 1:
                    continue
                if kinds[place] == "1" or kinds[1 - place] == "0":
                    return at(source, answer, "pairs that were drawn are answered as if they were edges")
    return None


def _two(call: ast.Call) -> list[ast.expr]:
    parts = call.args[0] if call.args else None
    return parts.elts if isinstance(parts, (ast.List, ast.Tuple)) and len(parts.elts) == 2 else []


def _is_drawn(source: Script, node: ast.expr) -> bool:
    names = ("negative_sampling", "batched_negative_sampling", "structured_negative_sampling")
    return any(
        isinstance(o, ast.Call) and last_name(o.func) in names for o in origins(source, node, 5)
    ) and not any(_answer(o) for o in (node,))


def _answer(node: ast.expr) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    if name in ("ones", "ones_like", "new_ones"):
        return "1"
    return "0" if name in ("zeros", "zeros_like", "new_zeros") else None


def one_end_with_itself(source: Script) -> Finding | None:
    """`(z[e[0]] * z[e[0]]).sum(-1)`: a pair is scored by one of its ends, and the other is never read."""
    for function in source.of(ast.FunctionDef):
        for node in of(function, ast.BinOp, ast.Call):
            sides = _sides(node)
            if (
                len(sides) != 2
                or unparse(sides[0]) != unparse(sides[1])
                or not isinstance(sides[0], ast.Subscript)
            ):
                continue
            place = sides[0].slice
            if not isinstance(place, ast.Subscript) or not isinstance(place.slice, ast.Constant):
                continue
            end = whole_number(place.slice)
            if end not in (0, 1):
                continue
            other = f"{unparse(place.value)}[{1 - end}]"
            if other not in unparse(function):
                return at(source, node, f"both factors are read at the same end, and `{other}` is never read")
    return None


def _sides(node: ast.BinOp | ast.Call) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right] if isinstance(node.op, ast.Mult) else []
    return _two(node) if last_name(node.func) in _JOINS else []


def loss_of_held_out_nodes(source: Script) -> Finding | None:
    """`cross_entropy(out, y)` of all nodes, where `y[valid]` and `y[test]` are scored apart."""
    for call, _ in source.losses:
        if len(call.args) < 2 or not all(isinstance(a, (ast.Name, ast.Attribute)) for a in call.args[:2]):
            continue
        said, truth = call.args[:2]
        if not _learnt(source, call) or not _whole_graph(source, said):
            continue
        if _scored_by_sets(source, unparse(truth)) and not _filled(source, truth):
            return at(source, call, "the loss is of all nodes, and some of them are held out")
    return None


def _learnt(source: Script, call: ast.Call) -> bool:
    loops = source.loops_around(call)
    around: ast.AST = source.function_around(call) or (loops[-1] if loops else source.tree)
    return takes_gradients(source, around) and not any(
        isinstance(p, ast.With) and "no_grad" in unparse(p.items[0].context_expr) for p in source.above(call)
    )


def _whole_graph(source: Script, said: ast.expr) -> bool:
    """What the network says of the whole graph: it is called on a matrix of edges, and not in batches."""
    if re.search(r"Loader|Sampler|ClusterData|GraphSAINT", source.code):
        return False  # parts of the graph, which are cut by their masks
    for value in flow(source).values(said, 3):
        if isinstance(value, ast.Call) and len(value.args) >= 2:
            told = " ".join(unparse(o) for a in value.args for o in origins(source, a, 8))
            if re.search(r"sparse|edge_index|adj", told):
                return True
    return False


def _scored_by_sets(source: Script, truth: str) -> bool:
    """`y[rows]` is asked for where nothing is learnt: in a function that scores."""
    for node in source.of(ast.Subscript):
        if unparse(node.value) == truth and isinstance(node.slice, (ast.Name, ast.Attribute)):
            scope = source.function_around(node)
            if scope is not None and not takes_gradients(source, scope):
                return True
    return False


def _filled(source: Script, truth: ast.expr) -> bool:
    """Labels of held-out nodes were overwritten by a mark: `y[held] = -100`."""
    return any(
        isinstance(t, ast.Subscript) and unparse(t.value) == unparse(truth)
        for n in source.of(ast.Assign)
        for t in n.targets
    )


def degrees_never_applied(source: Script) -> Finding | None:
    """`d = diags(degree ** -0.5)`, and the matrix goes on without it: its scale is never applied."""
    for scope in (*source.of(ast.FunctionDef), source.tree):
        for node in of(scope, ast.Assign):
            target = node.targets[0]
            if (source.function_around(node) or source.tree) is not scope or not isinstance(target, ast.Name):
                continue
            if not isinstance(node.value, ast.Call) or last_name(node.value.func) not in ("diags", "diag"):
                continue
            if not _of_degrees(source, node.value):
                continue
            around = source.tree if isinstance(scope, ast.Module) else scope
            if not any(n.id == target.id and isinstance(n.ctx, ast.Load) for n in of(around, ast.Name)):
                return at(
                    source, node, f"`{target.id}` is never applied: the neighbours are summed as they are"
                )
    return None


def _of_degrees(source: Script, value: ast.Call) -> bool:
    """An inverse or an inverse root of sums along a matrix."""
    made = [o for a in value.args for o in origins(source, a, 8)]
    inverse = any(
        (isinstance(o, ast.BinOp) and isinstance(o.op, (ast.Div, ast.Pow)))
        or (isinstance(o, ast.Call) and last_name(o.func) in ("power", "rsqrt", "pow", "reciprocal", "sqrt"))
        for o in made
    )
    return inverse and any(isinstance(o, ast.Call) and last_name(o.func) == "sum" for o in made)


def loop_ends_in_relu(source: Script) -> Finding | None:
    """`for layer in self.layers: h = relu(layer(h))`, and `h` itself is what the cross-entropy gets."""
    losses = source.named(
        "cross_entropy", "CrossEntropyLoss", "BCEWithLogitsLoss", "binary_cross_entropy_with_logits"
    )
    if not losses:
        return None
    for function in source.forwards:
        ends = [r.value for r in of(function, ast.Return)]
        loops = [s for s in function.body if isinstance(s, ast.For)]
        if (
            len(ends) != 1
            or not isinstance(ends[0], ast.Name)
            or not loops
            or function.body[-2:-1] != [loops[-1]]
        ):
            continue
        name, loop = ends[0].id, loops[-1]
        last = loop.body[-1]
        if not (
            isinstance(last, ast.Assign)
            and unparse(last.targets[0]) == name
            and isinstance(last.value, ast.Call)
        ):
            continue
        relu = last_name(last.value.func) in ("relu", "relu_", "leaky_relu", "elu", "gelu")
        layers = loop.iter.args[0] if isinstance(loop.iter, ast.Call) and loop.iter.args else loop.iter
        made = flow(source).given(layers)
        sizes = unparse(made.value) if made is not None else ""
        if relu and re.search(r"zip\((\w+)\[:-1\], \1\[1:\]\)", sizes) and _asked_by_loss(source, function):
            return at(source, last, "the last layer's output is rectified, and the loss takes it for scores")
    return None


def _asked_by_loss(source: Script, function: Function) -> bool:
    """The network of this forward is what the program makes, and not a part of another one."""
    owner = source.class_around(function)
    makers = [c for c in source.calls if owner is not None and last_name(c.func) == owner.name]
    return bool(makers) and all(
        (around := source.class_around(m)) is None or around not in source.models for m in makers
    )
