"""What recommenders in scripts draw, hide and rank: negatives, known items, padding as an item."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_false, whole_number
from ..shared.origins import origins

_DRAWS = (
    "randint",
    "integers",
    "choice",
    "randrange",
    "sample",
    "random_integers",
    "randint_like",
    "multinomial",
)
_RANKS = ("topk", "top_k", "argsort", "argpartition")
_LOW = re.compile(r"^-(?:(?:torch|np|math|jnp)\.inf|1e\+?\d+|float\('inf'\)|10{4,}(?:\.0)?)$")


def _sets(source: Script, node: ast.expr) -> bool:
    """A value is made of sets: `set(items)`, `{u: set(...)}`, `groupby("u")["i"].agg(set)`."""
    return any(
        isinstance(o, (ast.Set, ast.SetComp))
        or (isinstance(o, ast.Name) and o.id in ("set", "frozenset"))
        or (isinstance(o, ast.Call) and last_name(o.func) in ("set", "frozenset"))
        for o in origins(source, node, 8)
    )


def drawn_without_asking(source: Script) -> Finding | None:
    """A function draws items and never looks at the set that it is handed or that its object keeps."""
    for function in source.of(ast.FunctionDef):
        draws = [c for c in of(function, ast.Call) if last_name(c.func) in _DRAWS]
        if not draws or any(
            last_name(c.func) in ("isin", "in1d", "setdiff1d") for c in of(function, ast.Call)
        ):
            continue
        read = {n.id for n in of(function, ast.Name) if isinstance(n.ctx, ast.Load)}
        for one in function.args.args:
            if one.arg in read or one.arg in ("self", "cls"):
                continue
            given = flow(source).arguments(ast.copy_location(ast.Name(one.arg, ast.Load()), one))
            given = given or _handed(source, function, one.arg)
            if given and all(_sets(source, g) for g in given):
                return at(
                    source, draws[0], f"`{one.arg}` is not asked: what is drawn may be among the positives"
                )
        if (found := _kept_unread(source, function, draws[0])) is not None:
            return found
    return None


def _handed(source: Script, function: Function, name: str) -> list[ast.expr]:
    names = [a.arg for a in function.args.args]
    place = names.index(name) - (1 if names[:1] == ["self"] else 0)
    found = [argument(c, name, position=place) for c in flow(source).calls_of(function)]
    return [f for f in found if f is not None]


def _kept_unread(source: Script, function: Function, draw: ast.Call) -> Finding | None:
    """`self.liked = pairs.groupby("u").agg(set)`, and no method of the class that draws asks for it."""
    owner = source.class_around(function)
    if owner is None or not _draws_items(source, function, draw):
        return None
    for node in of(owner, ast.Assign):
        target = node.targets[0]
        if not (isinstance(target, ast.Attribute) and unparse(target.value) == "self"):
            continue
        if not _sets(source, node.value):
            continue
        read = [n for n in of(owner, ast.Attribute) if n.attr == target.attr and isinstance(n.ctx, ast.Load)]
        if not read:
            return at(source, draw, f"`{target.attr}` is not asked: what is drawn may be among the positives")
    return None


def _draws_items(source: Script, function: Function, draw: ast.Call) -> bool:
    """What is drawn is given back beside a pair: (user, item, other item)."""
    statement = source.statement(draw)
    names = {unparse(t) for t in getattr(statement, "targets", [])}
    ends = [y.value for y in of(function, ast.Yield) if y.value is not None]
    ends += [r.value for r in of(function, ast.Return) if r.value is not None]
    return any(isinstance(e, ast.Tuple) and len(e.elts) > 2 and names & names_in(e) for e in ends)


def padding_is_drawn(source: Script) -> Finding | None:
    """`randint(0, n)` beside `Embedding(n + 1, d, padding_idx=0)`: items begin at 1, and 0 is no item."""
    tables = list(_padded_tables(source))
    for call in source.calls:
        if last_name(call.func) not in ("randint", "integers", "randrange"):
            continue
        bounds = [a for a in call.args if not isinstance(a, (ast.Tuple, ast.List))]
        low = whole_number(bounds[0]) if len(bounds) > 1 else 0
        high = bounds[1] if len(bounds) > 1 else bounds[0] if len(bounds) == 1 else None
        if low != 0 or not isinstance(high, (ast.Name, ast.Attribute)):
            continue
        parent = source.parents.get(call)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add):
            continue
        scope = source.function_around(call)
        if scope is not None and re.search(r"\+ 1\b", " ".join(unparse(r) for r in of(scope, ast.Return))):
            continue
        if any(last_name(high) == name for name, _ in tables):
            return at(source, call, "0 is drawn as an item, where the table of items keeps it for padding")
    return None


def _padded_tables(source: Script) -> Iterator[tuple[str, ast.Call]]:
    """`Embedding(n + 1, d, padding_idx=0)`: what n is called, and the call."""
    for call in source.named("Embedding"):
        size = argument(call, "num_embeddings", position=0)
        if whole_number(keyword(call, "padding_idx")) != 0 or not isinstance(size, ast.BinOp):
            continue
        if isinstance(size.op, ast.Add) and whole_number(size.right) == 1:
            if isinstance(size.left, (ast.Name, ast.Attribute)):
                yield last_name(size.left), call


def first_item_is_padding(source: Script) -> Finding | None:
    """Items are numbered from 0, `ids.setdefault(x, len(ids))`, where the table keeps 0 for padding."""
    for _, call in _padded_tables(source):
        size = argument(call, "num_embeddings", position=0)
        made = origins(source, size, 10) if size is not None else ()
        counted = {
            unparse(o.args[0])
            for o in made
            if isinstance(o, ast.Call) and last_name(o.func) == "len" and len(o.args) == 1
        }
        for node in source.calls:
            if last_name(node.func) != "setdefault" or len(node.args) != 2:
                continue
            table = node.func.value if isinstance(node.func, ast.Attribute) else None
            if (
                table is not None
                and unparse(table) in counted
                and unparse(node.args[1]) == f"len({unparse(table)})"
            ):
                return at(source, node, "the first item gets 0, which the table of items keeps for padding")
    return None


# ------------------------------------------------------------------------------------------------ rankings


def known_items_ranked(source: Script) -> Finding | None:
    """A function that ranks is handed sets of items, or makes one, and asks for none of them."""
    for function in source.of(ast.FunctionDef):
        if not _ranks(function) or takes_part_in_training(function):
            continue
        loads: dict[str, list[ast.Name]] = {}
        for name in of(function, ast.Name):
            if isinstance(name.ctx, ast.Load):
                loads.setdefault(name.id, []).append(name)
        for one in function.args.args:
            if one.arg not in loads and one.arg not in ("self", "cls"):
                given = _handed(source, function, one.arg)
                if any(_sets(source, g) for g in given):
                    return at(
                        source, one, f"`{one.arg}` is handed over, and what it holds is ranked with the rest"
                    )
        for node in of(function, ast.Assign):
            target = node.targets[0]
            if not isinstance(target, ast.Name) or not _sets(source, node.value):
                continue
            if all(_only_changed(source, n) for n in loads.get(target.id, [])):
                return at(
                    source,
                    node,
                    f"`{target.id}` is made and never asked: known items are ranked with the rest",
                )
    return None


def takes_part_in_training(function: Function) -> bool:
    """A loss is learnt in the function itself."""
    return any(last_name(c.func) in ("backward", "step", "fit") for c in of(function, ast.Call))


def _ranks(function: Function) -> bool:
    """The best are taken, or it is counted how many score above one."""
    if any(last_name(c.func) in _RANKS for c in of(function, ast.Call)):
        return True
    counted = [
        c.func.value
        for c in of(function, ast.Call)
        if isinstance(c.func, ast.Attribute) and c.func.attr == "sum"
    ]
    counted += [a for c in of(function, ast.Call) if last_name(c.func) == "sum" for a in c.args]
    return any(isinstance(c, ast.Compare) and isinstance(c.ops[0], (ast.Gt, ast.GtE)) for c in counted)


def _only_changed(source: Script, name: ast.Name) -> bool:
    """`known.discard(x)` as a line of its own."""
    parent = source.parents.get(name)
    call = source.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    changes = isinstance(parent, ast.Attribute) and parent.attr in ("discard", "add", "remove", "update")
    return changes and isinstance(source.parents.get(call) if call is not None else None, ast.Expr)


def worst_are_taken(source: Script) -> Finding | None:
    """`scores[known] = -inf`, and the lowest are taken: `topk(k, largest=False)`, `argsort(s)[:k]`."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not _LOW.match(unparse(node.value)):
            continue
        scope = source.function_around(node) or source.tree
        name = unparse(target.value).split("[")[0]
        for call in of(scope, ast.Call):
            if call.lineno < node.lineno or last_name(call.func) not in ("topk", "argsort", "argpartition"):
                continue
            own = isinstance(call.func, ast.Attribute) and unparse(call.func.value).split("[")[0] == name
            first = unparse(call.args[0]).split("[")[0] if call.args else ""
            if not own and first != name:
                continue
            if last_name(call.func) == "topk":
                if is_false(keyword(call, "largest")):
                    return at(source, call, "the lowest scores are taken, which were left to what is known")
            elif keyword(call, "descending") is None and _first_taken(source, call):
                return at(source, call, "the lowest scores come first, which were left to what is known")
    return None


def _first_taken(source: Script, call: ast.Call) -> bool:
    """`[:k]`, `[:, :k]` right behind it."""
    parent = source.parents.get(call)
    if not isinstance(parent, ast.Subscript):
        return False
    cut = parent.slice.elts[-1] if isinstance(parent.slice, ast.Tuple) and parent.slice.elts else parent.slice
    if not isinstance(cut, ast.Slice) or cut.lower is not None or cut.upper is None or cut.step is not None:
        return False
    return not unparse(cut.upper).startswith("-")


# ---------------------------------------------------------------------------------------------------- losses


def drawn_item_preferred(source: Script) -> Finding | None:
    """`-logsigmoid(score(u, drawn) - score(u, liked))`: the loss asks for the item that was drawn."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Sub):
            continue
        sense = _sense(source, node)
        if sense is None:
            continue
        wanted, other = (node.left, node.right) if sense else (node.right, node.left)
        if _is_drawn(source, wanted) and not _is_drawn(source, other):
            return at(source, node, "the loss asks for more of what was drawn than of what was chosen")
    return None


def _is_drawn(source: Script, node: ast.expr) -> bool:
    return any(
        isinstance(o, ast.Call) and last_name(o.func) in (*_DRAWS[:4], "randint_like", "negative_sampling")
        for o in origins(source, node)
    )


def _sense(source: Script, node: ast.BinOp) -> bool | None:
    """True where the loss gets smaller as the difference grows, by what it is put through."""
    taker = _taker(source, node)
    if taker is None:
        return None
    name = last_name(taker.func)
    if name == "softplus":
        return _negative_above(source, node, taker)
    negative = _negative_above(source, taker, None)
    if name in ("logsigmoid", "LogSigmoid", "log_sigmoid"):
        return negative
    if name == "sigmoid":
        outer = source.parents.get(taker)
        while isinstance(outer, (ast.BinOp, ast.Attribute)):
            outer = source.parents.get(outer)
        if isinstance(outer, ast.Call) and last_name(outer.func) == "log":
            return _negative_above(source, outer, None)
    return None


def _taker(source: Script, node: ast.BinOp) -> ast.Call | None:
    """The call that takes the difference: at once, or under the name that it is given."""
    names = ("logsigmoid", "LogSigmoid", "log_sigmoid", "softplus", "sigmoid")
    for parent in source.above(node):
        if isinstance(parent, ast.Call) and last_name(parent.func) in names:
            return parent
        if not isinstance(parent, (ast.UnaryOp, ast.BinOp, ast.Attribute)):
            break
    statement = source.statement(node)
    if (
        isinstance(statement, ast.Assign)
        and statement.value is node
        and isinstance(statement.targets[0], ast.Name)
    ):
        scope = source.function_around(node) or source.tree
        name = statement.targets[0].id
        takers = [c for c in of(scope, ast.Call) if last_name(c.func) in names and names_in(c) & {name}]
        takers = [c for c in takers if len(c.args) == 1 and unparse(c.args[0]) in (name, f"-{name}")]
        return takers[0] if len(takers) == 1 and not unparse(takers[0].args[0]).startswith("-") else None
    return None


def _negative_above(source: Script, node: ast.AST, end: ast.AST | None) -> bool:
    """An odd number of signs stands before an expression, up to the end of its statement."""
    turned = False
    for parent in source.above(node):
        if parent is end or isinstance(parent, ast.stmt):
            break
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
            turned = not turned
    return turned


def all_are_wanted(source: Script) -> Finding | None:
    """`bce(p, ones_like(p)) + bce(n, ones_like(n))` of `p, n = net(seq, pos, neg)`: none is wrong."""
    for node in source.of(ast.BinOp):
        sides = node.left, node.right
        if not isinstance(node.op, ast.Add) or not all(
            isinstance(s, ast.Call) and len(s.args) == 2 for s in sides
        ):
            continue
        answers = [_filled(s.args[1]) for s in sides]  # type: ignore[attr-defined]
        if answers[0] is None or answers[0] != answers[1]:
            continue
        if unparse(sides[0].func) != unparse(sides[1].func):  # type: ignore[attr-defined]
            continue
        roots = [_root(s.args[0]) for s in sides]  # type: ignore[attr-defined]
        given = [flow(source).given(r) if r is not None else None for r in roots]
        if None in given or roots[0] is None or unparse(roots[0]) == unparse(roots[1]):  # type: ignore[arg-type]
            continue
        one, other = given
        if (
            one is not None
            and other is not None
            and one.statement is other.statement
            and one.places != other.places
        ):
            return at(
                source,
                node,
                f"both answers of one call are asked to be {answers[0]}: nothing tells them apart",
            )
    return None


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def _filled(node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and last_name(node.func) in ("ones_like", "ones"):
        return "1"
    return "0" if isinstance(node, ast.Call) and last_name(node.func) in ("zeros_like", "zeros") else None
