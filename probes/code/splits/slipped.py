"""Rows and parts that slipped in scripts: unlike orders, unlike cuts, parts that overlap, lost steps."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_handed_to
from ..shared.sides import side, words

_DRAWN = re.compile(r"permutation|randperm|\bchoice\(|randint\(|argsort\(|shuffle")


# ------------------------------------------------------------------------------------- rows that go together


def rows_handed_apart(source: Script) -> Finding | None:
    """`yield x[rows], y[i * n : (i + 1) * n]` where `rows` are drawn: labels in their stored order.

    Also `images[cut:], labels[:-cut]` of two that are cut alike beside it, and `x[train], y[: len(train)]`
    of drawn rows where others of them are taken by `y[test]`.
    """
    if (found := _whole_beside_drawn(source)) is not None:
        return found
    for node in source.of(ast.Tuple):
        if not isinstance(node.ctx, ast.Load) or len(node.elts) % 2:
            continue
        for first_, second in zip(node.elts[::2], node.elts[1::2], strict=True):
            if (found := _cut_of_drawn(source, first_, second)) is not None:
                return found
        if len(node.elts) != 2:
            continue
        one, other = (_taken(source, e) for e in node.elts)
        if one is None or other is None or unparse(one.value) == unparse(other.value):
            continue
        if _SHIFTED.search(unparse(node)):
            continue
        for drawn, plain in ((one, other), (other, one)):
            if not isinstance(drawn.slice, ast.Name) or not isinstance(plain.slice, ast.Slice):
                continue
            rows = [v for v in flow(source).values(drawn.slice, 1) if isinstance(v, ast.Subscript)]
            if any(
                v is not plain  # `return idx, d[idx]`: the rows themselves
                and isinstance(v.slice, ast.Slice)
                and unparse(v.slice) == unparse(plain.slice)
                and _is_drawn(source, v.value)
                for v in rows
            ):
                return at(source, node, f"`{unparse(drawn)}` is in another order than `{unparse(plain)}`")
        if (found := _cut_apart(source, node, one, other)) is not None:
            return found
    return None


_AS_A_TEST = re.compile(r"(?i)perm|null|shuf|control|importan|baseline|random|noise")


def _whole_beside_drawn(source: Script) -> Finding | None:
    """`x, y = prepare(images[order]), tensor(labels)` of `images, labels = load()`: one side is reordered.

    The order is of all rows, and nothing else is put into it. What is called a permutation may be a test.
    """
    pairs = [list(node.elts) for node in source.of(ast.Tuple) if isinstance(node.ctx, ast.Load)]
    pairs += [list(call.args) for call in source.named("TensorDataset")]
    for pair in pairs:
        if len(pair) != 2 or not all(isinstance(e, (ast.Subscript, ast.Call, ast.Name)) for e in pair):
            continue
        for one, other in (pair, pair[::-1]):
            taken = [s for s in of(one, ast.Subscript) if isinstance(s.slice, ast.Name)]
            if len(taken) != 1 or of(other, ast.Subscript) or not isinstance(taken[0].value, ast.Name):
                continue
            order, rows = taken[0].slice, taken[0].value
            given = flow(source).all_given(rows)
            if len(given) != 1 or not given[0].places or not _orders_all(source, order):
                continue
            partners = names_in(given[0].statement) & names_in(other) - {rows.id}
            statement = source.statement(taken[0])
            if statement is None:
                continue
            told = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
            mine = [g for n in of(other, ast.Name) if n.id in partners for g in flow(source).all_given(n)]
            if not mine or any(g.statement is not given[0].statement for g in mine):
                continue
            if not _AS_A_TEST.search(told) and not _SHIFTED.search(unparse(statement)):
                return at(
                    source, taken[0], f"`{unparse(taken[0])}` is in another order than `{unparse(other)}`"
                )
    return None


def _orders_all(source: Script, order: ast.expr) -> bool:
    """An order of all rows that is used in one place."""
    made = flow(source).values(order, 1)
    uses = [n for n in source.of(ast.Name) if n.id == unparse(order) and isinstance(n.ctx, ast.Load)]
    calls = [v for v in made if isinstance(v, ast.Call) and last_name(v.func) in ("permutation", "randperm")]
    return len(made) == len(calls) == 1 and len(uses) == 1


def _cut_of_drawn(source: Script, first_: ast.expr, second: ast.expr) -> Finding | None:
    """`x[train], y[: len(train)]`: one by drawn rows, one by a cut, and elsewhere by such rows as well."""
    if not (isinstance(first_, ast.Subscript) and isinstance(second, ast.Subscript)):
        return None
    for drawn, plain in ((first_, second), (second, first_)):
        whole = unparse(plain.value)
        if not isinstance(plain.slice, ast.Slice) or plain.slice.step or whole == unparse(drawn.value):
            continue
        if not _rows_drawn(source, drawn.slice) or _SHIFTED.search(f"{unparse(drawn)} {unparse(plain)}"):
            continue
        scope = source.function_around(drawn) or source.tree
        others = [s for s in of(scope, ast.Subscript) if unparse(s.value) == whole and s is not plain]
        if any(_rows_drawn(source, s.slice) for s in others):
            return at(source, plain, f"`{unparse(drawn)}` is in another order than `{unparse(plain)}`")
    return None


def _rows_drawn(source: Script, index: ast.expr) -> bool:
    """`order[n:]`, or a name of it, of an order that is drawn."""
    made = flow(source).values(index, 1) if isinstance(index, ast.Name) else [index]
    return bool(made) and all(
        isinstance(v, ast.Subscript) and isinstance(v.slice, ast.Slice) and _is_drawn(source, v.value)
        for v in made
    )


_SHIFTED = re.compile(
    r"(?i)next|prev|lag|shift|horizon|window|lookback|token|ids\b|context|past|future|history"
)


def _taken(source: Script, node: ast.expr) -> ast.Subscript | None:
    """`self.y[rows]`, under a name or with steps behind it that leave the rows: `x[rows].copy()`."""
    for _ in range(4):
        if isinstance(node, ast.Subscript):
            return node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        elif isinstance(node, ast.Name):
            given = [g for g in flow(source).all_given(node) if not g.places]
            whole = [g.value for g in given if isinstance(_inner(g.value), ast.Subscript)]
            if not whole or any(g.places for g in flow(source).all_given(node)):
                return None
            node = whole[0]
        else:
            return None
    return None


def _inner(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    return node


def _is_drawn(source: Script, node: ast.expr) -> bool:
    values = flow(source).values(node, 3)
    return bool(values) and all(_DRAWN.search(unparse(v)) for v in values)


def _cut_apart(source: Script, node: ast.Tuple, one: ast.Subscript, other: ast.Subscript) -> Finding | None:
    """Two of one length are cut by one bound at unlike places, and alike in the tuple beside it."""
    if not (isinstance(one.slice, ast.Slice) and isinstance(other.slice, ast.Slice)):
        return None
    a, b = one.slice, other.slice
    if unparse(a) == unparse(b) or not (names_in(a) & names_in(b)) or a.step or b.step:
        return None
    beside = source.parents.get(node)
    parts = beside.elts if isinstance(beside, (ast.Tuple, ast.List)) else []
    for part in parts:
        if part is node or not isinstance(part, ast.Tuple) or len(part.elts) != 2:
            continue
        first_, second = part.elts
        if not (isinstance(first_, ast.Subscript) and isinstance(second, ast.Subscript)):
            continue
        alike = unparse(first_.slice) == unparse(second.slice)
        if (
            alike
            and unparse(first_.value) == unparse(one.value)
            and unparse(second.value) == unparse(other.value)
        ):
            return at(source, other, f"`{unparse(one)}` goes with these, and they are cut at another place")
    return None


def permuted_alone(source: Script) -> Finding | None:
    """`paths = [paths[i] for i in order]` of a drawn order, and the list that was filled beside it stays."""
    for node in source.of(ast.Assign):
        value = node.value
        if not isinstance(value, ast.ListComp) or len(value.generators) != 1 or len(node.targets) != 1:
            continue
        loop, taken = value.generators[0], value.elt
        if not (isinstance(taken, ast.Subscript) and isinstance(loop.iter, ast.Name) and not loop.ifs):
            continue
        name = unparse(node.targets[0])
        if unparse(taken.value) != name or unparse(taken.slice) != unparse(loop.target):
            continue
        scope = source.function_around(node) or source.tree
        order = loop.iter
        shuffled = any(
            last_name(c.func) == "shuffle" and c.args and unparse(c.args[0]) == order.id
            for c in of(scope, ast.Call)
        )
        if not shuffled and not _is_drawn(source, order):
            continue
        uses = [n for n in of(scope, ast.Name) if n.id == order.id and isinstance(n.ctx, ast.Load)]
        if sum(not is_handed_to(source, n, "shuffle") for n in uses) != 1:
            continue
        for partner in _filled_beside(scope, name):
            again = [
                n
                for n in of(scope, ast.Assign)
                if n.lineno > node.lineno and partner in {unparse(t) for t in n.targets}
            ]
            kept = not any(order.id in names_in(n.value) for n in again)
            cut = {
                unparse(s.slice)
                for s in of(scope, ast.Subscript)
                if unparse(s.value) == name and isinstance(s.slice, ast.Slice)
            } & {
                unparse(s.slice)
                for s in of(scope, ast.Subscript)
                if unparse(s.value) == partner and isinstance(s.slice, ast.Slice)
            }
            if kept and cut:
                return at(
                    source, node, f"`{name}` is put into a drawn order, and `{partner}` beside it is not"
                )
    return None


def _filled_beside(scope: ast.AST, name: str) -> list[str]:
    """Lists that one loop fills together with a list: `paths.extend(...)`, `labels.extend(...)`."""
    found: list[str] = []
    for loop in of(scope, ast.For):
        filled = [
            unparse(c.func.value)
            for c in of(loop, ast.Call)
            if isinstance(c.func, ast.Attribute) and c.func.attr in ("append", "extend")
        ]
        if name in filled:
            found += [f for f in dict.fromkeys(filled) if f != name]
    return found


# ------------------------------------------------------------------------------------- parts that overlap


def parts_from_one_end(source: Script) -> Finding | None:
    """`(x[:cut], y[:cut]), (x[:-cut], y[:-cut])` of a function that splits: both parts hold the first rows.

    Also `order[:b], order[a:b]`, which end at one place. Parts are told by the names that they get: keys of a
    dict, the names that callers give them, a function that is called `split`.
    """
    for node in source.of(ast.Tuple, ast.Dict, ast.List):
        parts = _named_parts(source, node)
        if len(parts) < 2 or source.loops_around(node):
            continue  # in a loop: the history of each user, which all parts begin with
        for i, (one, a) in enumerate(parts):
            for other, b in parts[i + 1 :]:
                if one == other or unparse(a.value) != unparse(b.value):
                    continue
                if (why := _overlapping(a.slice, b.slice)) is not None:
                    return at(source, b, f"`{one}` and `{other}` {why}")
    return None


def _named_parts(source: Script, node: ast.Tuple | ast.Dict | ast.List) -> list[tuple[str, ast.Subscript]]:
    if isinstance(node, ast.Dict):
        pairs = [
            (k.value, v)
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        ]
    else:
        names = _names_of(source, node)
        if len(names) != len(node.elts):
            return []
        pairs = list(zip(names, node.elts, strict=True))
    if len({side(n) for n, _ in pairs} - {None}) < 2:
        return []
    found = []
    for name, value in pairs:
        first_ = value.elts[0] if isinstance(value, (ast.Tuple, ast.List)) and value.elts else value
        if not (
            isinstance(first_, ast.Subscript)
            and isinstance(first_.slice, ast.Slice)
            and side(name) is not None
        ):
            return []
        found.append((name, first_))
    return found


def _names_of(source: Script, node: ast.Tuple | ast.List) -> list[str]:
    """What the parts of a tuple are called: by its own assignment, or by those who call the function."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], (ast.Tuple, ast.List)):
        return [unparse(e) for e in parent.targets[0].elts]
    returned = isinstance(parent, ast.Return)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        scope = source.function_around(node)
        if scope is not None:
            for back in of(scope, ast.Return):
                value = back.value
                listed = isinstance(value, ast.ListComp) and unparse(value.generators[0].iter) == name
                returned = returned or listed or (value is not None and unparse(value) == name)
    if not returned:
        return []
    for call in source.named(source.function_name(node)):
        holder = source.parents.get(call)
        if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], (ast.Tuple, ast.List)):
            return [unparse(e) for e in holder.targets[0].elts]
    return []


def _overlapping(a: ast.expr, b: ast.expr) -> str | None:
    if not (isinstance(a, ast.Slice) and isinstance(b, ast.Slice)) or a.step or b.step:
        return None
    low, high = (
        (unparse(a.lower) if a.lower else "", unparse(b.lower) if b.lower else ""),
        (
            unparse(a.upper) if a.upper else "",
            unparse(b.upper) if b.upper else "",
        ),
    )
    low = tuple("" if x == "0" else x for x in low)  # type: ignore[assignment]
    if low[0] == low[1] and high[0] != high[1]:
        return "begin at the same row: they have rows in common"
    if high[0] == high[1] and low[0] != low[1]:
        return "end at the same row: they have rows in common"
    return None


def other_held_out_part(source: Script) -> Finding | None:
    """`y_test = val_table["label"]` beside `test_table`: the answers of another part."""
    for node in source.of(ast.Assign):
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            continue
        mine, value = _part(node.targets[0].id), _plain(node.value)
        if mine is None or value is None:
            continue
        theirs = _part(value.id)
        if theirs is None or theirs == mine:
            continue
        scope = source.function_around(node)
        wanted = _twin(value.id, theirs, mine)
        known = {n.id for n in source.of(ast.Name) if isinstance(n.ctx, ast.Store)}
        if wanted and wanted & known and node.targets[0].id not in wanted:
            twin = sorted(wanted & known)[0]
            alike = [
                n
                for n in source.of(ast.Assign)
                if n is not node
                and source.function_around(n) is scope
                and (p := _plain(n.value)) is not None
                and isinstance(n.targets[0], ast.Name)
                and _part(n.targets[0].id) == _part(p.id) is not None
            ]
            if alike:
                return at(source, node, f"this is taken from `{value.id}`, and `{twin}` is there")
    return None


_WORDS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val", "test": "test"}


def _part(name: str) -> str | None:
    found = {_WORDS[w] for w in words(name) if w in _WORDS}
    return found.pop() if len(found) == 1 else None


def _twin(name: str, old: str, new: str) -> set[str]:
    forms = [w for w, kind in _WORDS.items() if kind == new]
    return {
        re.sub(rf"(?<![a-z]){w}(?![a-z])", f, name)
        for w, kind in _WORDS.items()
        if kind == old and re.search(rf"(?<![a-z]){w}(?![a-z])", name)
        for f in forms
    }


def _plain(node: ast.expr) -> ast.Name | None:
    """The table that a column is taken of, nothing computed: `table["y"].to_numpy(dtype="float32")`."""
    column = False
    for _ in range(5):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in ("to_numpy", "astype", "copy", "tolist", "reshape", "ravel"):
                return None
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in ("values", "loc", "iloc"):
            node = node.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            column, node = True, node.value
        else:
            break
    return node if isinstance(node, ast.Name) and column else None


# ------------------------------------------------------------------------------------- pipelines


_STEPS = (
    "shuffle",
    "batch",
    "map",
    "repeat",
    "prefetch",
    "cache",
    "padded_batch",
    "filter",
    "interleave",
    "shard",
)


def step_thrown_away(source: Script) -> Finding | None:
    """`ds.shuffle(1000)` as a statement: a pipeline of tf.data is not changed in place."""
    if "tf.data" not in source.code and "tfds" not in source.code:
        return None
    for node in source.of(ast.Expr):
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr != "shuffle" or not (call.args or keyword(call, "buffer_size")):
            continue
        made = flow(source).values(call.func.value, 6)
        if any(_is_pipeline(m) for m in made):
            return at(source, call, "the shuffled pipeline is thrown away: shuffle changes nothing in place")
    return None


def _is_pipeline(node: ast.expr) -> bool:
    text = unparse(node)
    if re.search(r"tf\.data\.|tfds\.load|TFRecordDataset|from_tensor_slices|list_files", text):
        return True
    return isinstance(node, ast.Call) and last_name(node.func) in _STEPS and _is_pipeline_call(node)


def _is_pipeline_call(node: ast.Call) -> bool:
    return last_name(node.func) in ("prefetch", "padded_batch", "interleave", "batch")


_FLAG = re.compile(r"(?i)^(?:is_?)?(?:train(?:ing)?|augment(?:ation)?|split|mode|subset|phase|part)$")
_ASIDE = re.compile(r"(?i)tta|test_time|monte|mc_|calib|contrast|pretrain|unlabel|pair|triplet|neg")


def drawn_for_both_sides(source: Script) -> Finding | None:
    """A pipeline that one function makes for both sides draws at random, though it knows the side.

    `ds = ds.map(augment)` beside `if training: ds = ds.shuffle(...)`. Left aside: where the flag goes into
    the step, the draw stands under any condition, or anything is meant for several views.
    """
    from ..tensorflow.data import draws, uses_pipelines

    if not uses_pipelines(source):
        return None
    for function in source.of(ast.FunctionDef):
        flag = _flag(function)
        held_alone = flag is None and side(function.name) is False
        if (flag is None and not held_alone) or _ASIDE.search(function.name):
            continue
        if flag is not None and not _for_both(source, function, flag):
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) != "map" or not call.args or not isinstance(call.func, ast.Attribute):
                continue
            above = [p for p in source.above(call) if isinstance(p, (ast.If, ast.IfExp))]
            if above or _ASIDE.search(unparse(call)):
                continue
            if flag is not None and (
                flag in names_in(call.args[0]) or _told(source, function, call.args[0], flag)
            ):
                continue
            if not draws(source, call.args[0]) or _is_noise(call.args[0]):
                continue
            if _leaves_before(source, function, call):
                continue
            return at(source, call, "held-out samples are changed at random, too")
    return None


def _flag(function: Function) -> str | None:
    """A parameter that tells the side, and that a condition of the function asks."""
    names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs) if _FLAG.match(a.arg)]
    local = {
        unparse(n.targets[0])
        for n in of(function, ast.Assign)
        if isinstance(n.value, ast.Compare) and names and names_in(n.value) & set(names)
    }
    for name in names:
        asked = [p.test for p in of(function, ast.If, ast.IfExp) if names_in(p.test) & ({name} | local)]
        if asked:
            return name
    return None


def _told(source: Script, function: Function, step: ast.expr, flag: str) -> bool:
    """The step is chosen, or made, by the flag: under a name, in a function inside this one."""
    local = {
        t
        for n in of(function, ast.Assign)
        if flag in names_in(n.value)
        or any(flag in names_in(p.test) for p in source.above(n) if isinstance(p, ast.If))
        for target in n.targets
        for t in names_in(target)
    }
    if names_in(step) & local - {"ds", "dataset"}:
        return True
    inner = [f for f in of(function, ast.FunctionDef) if f is not function and f.name in names_in(step)]
    return any(flag in names_in(f) or names_in(f) & local - {"ds", "dataset"} for f in inner)


def _is_noise(step: ast.expr) -> bool:
    """What is drawn is the input of a generative model, or its masks: meant for evaluation as well."""
    return re.search(r"(?i)noise|latent|diffus|mlm|corrupt|sample", unparse(step)) is not None


def _leaves_before(source: Script, function: Function, call: ast.Call) -> bool:
    """`if not training: return ds` above."""
    return any(
        isinstance(n, ast.Return)
        and n.lineno < call.lineno
        and any(isinstance(p, ast.If) for p in source.above(n))
        for n in of(function, ast.Return)
    )


def _for_both(source: Script, function: Function, flag: str) -> bool:
    """Callers tell it both sides: True and False, "train" and another name."""
    names = [a.arg for a in function.args.args]
    said: set[bool | None] = set()
    for call in flow(source).calls_of(function):
        place = names.index(flag) if flag in names else -1
        given = keyword(call, flag) or (call.args[place] if 0 <= place < len(call.args) else None)
        if given is None:
            continue
        if isinstance(given, ast.Constant) and isinstance(given.value, bool):
            said.add(given.value)
        elif isinstance(given, ast.Constant) and isinstance(given.value, str):
            said.add(side(given.value))
        elif isinstance(given, ast.Attribute):
            said.add(side(given.attr))
    return {True, False} <= said
