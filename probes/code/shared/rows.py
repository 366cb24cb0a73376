"""Which rows of which table an expression of a script holds, worked out on a stand-in of a thousand rows.

A table is what one call reads or one list is made of; every list of files, groups or samples is one. Slices,
index lists, conditions, sets, splits, the script's own functions and what keeps rows are followed. What
cannot be told is None: no check may take it for anything.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import lru_cache

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name, receiver
from ...scripts.flow import Given, flow, returns
from ...scripts.syntax import Function, Script
from .nodes import whole_number
from .row_conditions import Env, Known, condition, cut_somewhere, ends_early, number, set_of
from .row_sets import (
    ALL,
    COLUMNS,
    DEPTH,
    FIGURES,
    JOINS,
    LESS,
    MOST,
    NO_DATA,
    NO_ROWS,
    OF_ROWS,
    ORDER,
    READS,
    ROWS,
    TWO_PARTS,
    Rows,
    groups,
    inner,
    joined,
    names_a_side,
    one,
    reaches_back,
    root,
    within,
    without,
)
from .sides import side

_LIBRARIES = frozenset({"np", "torch", "pd", "tf", "random", "itertools"})


@lru_cache(maxsize=16)
def rows_of(source: Script) -> Reader:
    """The reader of a script, made once."""
    return Reader(source)


class Reader:
    """Asks for the rows of expressions of one script."""

    def __init__(self, source: Script) -> None:
        self.source = source
        self.asked = 0
        self.cut = 0  # how often an answer was given up for depth: no guess may stand in for it
        self.kept: dict[ast.expr, Rows | None] = {}

    def rows(self, node: ast.expr) -> Rows | None:
        """The rows that an expression holds; None where that cannot be told."""
        return self.rows_in(node, {}, DEPTH)

    def given(self, value: ast.expr, places: tuple[int, ...] = ()) -> Rows | None:
        """The rows that a name gets of a value, at the places of its tuple."""
        return self._place(value, places, {}, DEPTH)

    # --------------------------------------------------------------------------------------- expressions

    def rows_in(self, node: ast.expr, env: Env, depth: int) -> Rows | None:
        """The rows that an expression holds in a call, `depth` steps deep at most."""
        if depth <= 0 or self.asked > MOST:
            self.cut += 1
            return None
        if env:
            return self._found(node, env, depth)
        if node not in self.kept:
            self.kept[node] = None  # what is made of itself is not known
            self.kept[node] = self._found(node, env, depth)
        return self.kept[node]

    def _found(self, node: ast.expr, env: Env, depth: int) -> Rows | None:
        self.asked += 1
        if isinstance(node, ast.Starred):
            return self.rows_in(node.value, env, depth - 1)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name(node, env, depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, env, depth)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return self._comprehension(node, env, depth)
        if isinstance(node, ast.Call):
            return self._call(node, env, depth)
        if isinstance(node, ast.BinOp):
            return self._both(node, env, depth)
        if isinstance(node, (ast.Tuple, ast.List)):
            return one([self.rows_in(e, env, depth - 1) for e in node.elts])
        if isinstance(node, ast.NamedExpr):
            return self.rows_in(node.value, env, depth - 1)
        return None

    def _name(self, node: ast.Name | ast.Attribute, env: Env, depth: int) -> Rows | None:
        known, value = self.bound(node, env)
        if known:
            return value if isinstance(value, Rows) and value.table != "numbers" else None
        if isinstance(node, ast.Attribute) and node.attr in ("iloc", "loc", "values", "index", "data"):
            return self.rows_in(node.value, env, depth - 1)
        given = flow(self.source).all_given(node)
        if not given:
            handed = flow(self.source).arguments(node)
            if len(handed) == 1:
                return self.rows_in(handed[0], {}, depth - 1)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not handed:
                inner = (
                    None
                    if node.value.id in ("self", "np", "torch")
                    else self._name(node.value, env, depth - 1)
                )
                return inner if node.attr not in NO_ROWS else None
            return None
        if len(given) > 1 or self._made_in_another_loop(given[0], node):
            return None
        before = self.cut
        found = self._place(given[0].value, given[0].places, env, depth - 1, given[0])
        if (
            self.cut == before
            and (found is None or not found.whole)
            and not given[0].places
            and root(given[0].value) == unparse(node)
        ):
            return self._cleaned(given[0], env, depth)
        return found

    def _cleaned(self, given: Given, env: Env, depth: int) -> Rows | None:
        """`table = table[table["fee"] > 0]`: what stays is the table from there on."""
        text = root(given.value)
        first = next((n for n in of(given.value, ast.Name, ast.Attribute) if unparse(n) == text), None)
        held = self.rows_in(first, env, depth - 1) if first is not None else None
        name = last_name(given.value.func) if isinstance(given.value, ast.Call) else ""
        if held is None or not held.whole or name in FIGURES:
            return None
        return replace(held, table=f"{held.table}~{given.value.lineno}")

    def _made_in_another_loop(self, given: Given, node: ast.AST) -> bool:
        mine = self.source.loops_around(given.statement)
        return bool(mine) and not set(mine) <= set(self.source.loops_around(node))

    def bound(self, node: ast.expr, env: Env) -> tuple[bool, Known]:
        """What a parameter is bound to in the call that is followed."""
        if not isinstance(node, ast.Name) or not env:
            return False, None
        for parent in self.source.above(node):
            if (parent, node.id) in env:
                return True, env[parent, node.id]
        return False, None

    def _place(
        self, value: ast.expr, places: tuple[int, ...], env: Env, depth: int, given: Given | None = None
    ) -> Rows | None:
        if depth <= 0:
            self.cut += 1
            return None
        for at, place in enumerate(places):
            if isinstance(value, (ast.Tuple, ast.List)) and place < len(value.elts):
                value = value.elts[place]
                continue
            return self._part_of_call(value, places[at:], env, depth, given)
        return self.rows_in(value, env, depth - 1)

    def _table(self, call: ast.Call) -> Rows:
        name = f"{unparse(call)[:200]}@{self._first(call)}"
        return Rows(name, ALL, name, self.source.function_around(call))

    def _first(self, call: ast.Call) -> int:
        """The line of the first call that is written alike in the same function: it reads the same."""
        around, text = self.source.function_around(call), unparse(call)
        if not call.args:
            return call.lineno  # `next_batch()`
        alike = [
            c.lineno
            for c in self.source.named(last_name(call.func))
            if c.lineno < call.lineno and self.source.function_around(c) is around and unparse(c) == text
        ]
        return min(alike, default=call.lineno)

    def _reads(self, call: ast.Call, env: Env, depth: int) -> bool:
        """A call that makes a table of nothing that is known: it reads, lists or gathers."""
        name = last_name(call.func)
        if not READS.search(name) or NO_DATA.search(name):
            return False
        given = [*call.args, *(k.value for k in call.keywords)]
        if name in self.source.classes and not (
            given and isinstance(given[0], (ast.Constant, ast.Attribute))
        ):
            return False  # a data set of what is not known
        return all(
            self.rows_in(a, env, depth - 2) is None
            for a in given
            if not isinstance(a, (ast.Starred, ast.Lambda))
        )

    def _part_of_call(
        self, value: ast.expr, places: tuple[int, ...], env: Env, depth: int, given: Given | None
    ) -> Rows | None:
        """An item of a tuple that a call gives."""
        if not isinstance(value, ast.Call):
            return self.rows_in(value, env, depth - 1)
        name = last_name(value.func)
        if name == "next" and value.args and isinstance(value.args[0], ast.Call):
            value = value.args[0]
            name = last_name(value.func)
        if name == "map" and len(value.args) == 2:  # `train, val = map(part, np.split(ids, [a, b]))`
            inner = self._part_of_call(value.args[1], places, env, depth - 1, given)
            return None if inner is None else self._applied(value.args[0], [inner], env, depth)
        if name in TWO_PARTS and value.args:
            return self._split(value, places, env, depth)
        if cut_somewhere(self, value, env, depth):
            return None
        for function in flow(self.source).called(value):
            ends = returns(function)
            if len(ends) != 1:
                return None
            before = self.cut
            bound = self._bind(function, value, env, depth)
            found = self._windows(function, bound, depth) or self._place(ends[0], places, bound, depth - 1)
            if found is None and self.cut == before and not names_a_side(value):
                mine = {b for b in bound.values() if isinstance(b, Rows) and b.table != "numbers"}
                found = next(iter(mine)) if len(mine) == 1 else None
            return self._from_outside(found, function, value)
        if given is not None and isinstance(given.statement, ast.Assign):
            names = [unparse(t) for t in of(given.statement.targets[0], ast.Name, ast.Attribute)]
            if any(side(n) is not None for n in names):
                return None  # each item is another table
        if self._reads(value, env, depth) and not flow(self.source).called(value):
            return self._table(value)
        return None

    def _split(self, call: ast.Call, places: tuple[int, ...], env: Env, depth: int) -> Rows | None:
        """A part of `train_test_split(rows)`, `random_split(rows, ...)`, `splitter.split(rows)`."""
        whole = self.rows_in(call.args[0], env, depth - 1)
        name = last_name(call.func)
        if whole is None or len(places) != 1:
            return None
        items, place = sorted(whole.rows), places[0]
        if name in ("split", "array_split") and len(call.args) > 1 and isinstance(call.args[1], ast.List):
            bounds = [number(self, e, env, depth - 1) for e in call.args[1].elts]
            if any(b is None for b in bounds):
                return None
            ends = [0, *(int(b or 0) for b in bounds), len(items)]
            return replace(whole, rows=frozenset(items[ends[place] : ends[place + 1]]))
        if name == "train_test_split":
            cut = int(0.8 * len(items))
            part = items[:cut] if place % 2 == 0 else items[cut:]  # `x_train, x_test, y_train, y_test`
            return replace(whole, rows=frozenset(part))
        if name == "random_split" or name == "split":
            if name == "split" and not isinstance(call.func, ast.Attribute):
                return None
            third = len(items) // 3
            return replace(whole, rows=frozenset(items[place * third : (place + 1) * third]))
        return None

    # ---------------------------------------------------------------------------------------- selections

    def _subscript(self, node: ast.Subscript, env: Env, depth: int) -> Rows | None:
        if unparse(node.value) in ("np.c_", "np.r_"):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return one([self.rows_in(e, env, depth - 1) for e in inner])
        key = node.slice
        if isinstance(key, ast.Constant):
            if isinstance(key.value, (str, int)):
                item = self._item(node, env, depth)
                if item is not None:
                    return item
            return self._field(node.value, key.value, env, depth) if isinstance(key.value, str) else None
        if isinstance(key, ast.Tuple) and key.elts:
            if isinstance(node.value, ast.Attribute) and node.value.attr in ("loc", "iloc"):
                key = key.elts[0]
            elif not isinstance(key.elts[0], ast.Slice) or unparse(key.elts[0]) == ":":
                return self.rows_in(node.value, env, depth - 1) if unparse(key.elts[0]) == ":" else None
            else:
                key = key.elts[0]
        if isinstance(key, ast.Slice):
            held = self.rows_in(node.value, env, depth - 1)
            return None if held is None else self._slice(held, key, env, depth)
        if isinstance(key, ast.List) or self._columns(key):
            return self.rows_in(node.value, env, depth - 1)
        return self._picked(node.value, key, env, depth)

    def _field(self, of_what: ast.expr, name: str, env: Env, depth: int) -> Rows | None:
        """A column of a table; of an archive of arrays, `file["x_val"]`, rows of their own for each side."""
        whole, told = self.rows_in(of_what, env, depth - 1), side(name)
        if whole is None or told is None or not whole.whole:
            return whole
        return replace(whole, table=f"{whole.table} {'learned from' if told else 'held out'}")

    def _columns(self, key: ast.expr) -> bool:
        """The names of columns: `table[NUMBERS]`, `table[CFG.target]`."""
        if not isinstance(key, (ast.Name, ast.Attribute)):
            return False
        if COLUMNS.search(last_name(key)):
            return True
        ends = [v for v in flow(self.source).values(key, 4) if v is not key]
        texts = [e for v in ends if isinstance(v, (ast.List, ast.Tuple)) for e in v.elts]
        texts += [v for v in ends if isinstance(v, ast.Constant)]
        return bool(texts) and all(isinstance(t, ast.Constant) and isinstance(t.value, str) for t in texts)

    def _item(self, node: ast.Subscript, env: Env, depth: int) -> Rows | None:
        """`parts["train"]`, `windows[0]` of what is a dict or a tuple in the script."""
        place = whole_number(node.slice)
        if place is not None and place >= 0:
            given = flow(self.source).all_given(node.value)
            if len(given) != 1 or isinstance(given[0].value, ast.Subscript):
                return None
            return self._place(given[0].value, (*given[0].places, place), env, depth - 1)
        found = [v for v in flow(self.source).values(node, 6) if v is not node]
        ends = [v for v in found if not isinstance(v, ast.Subscript)]
        return self.rows_in(ends[0], env, depth - 1) if len(ends) == 1 else None

    def _slice(self, held: Rows, cut: ast.Slice, env: Env, depth: int) -> Rows | None:
        bounds = [
            None if b is None else number(self, b, env, depth - 1) for b in (cut.lower, cut.upper, cut.step)
        ]
        if any(
            (b is None) != (e is None) for b, e in zip(bounds, (cut.lower, cut.upper, cut.step), strict=True)
        ):
            return None
        if reaches_back(cut) or any(b is not None and abs(b) > ROWS for b in bounds):
            return None  # more rows than the stand-in has: how many that are of the real ones is not known
        low, high, step = (None if b is None else int(b) for b in bounds)
        if step == 0:
            return None
        return replace(held, rows=frozenset(sorted(held.rows)[slice(low, high, step)]))

    def _picked(self, whole: ast.expr, key: ast.expr, env: Env, depth: int) -> Rows | None:
        """`table[mask]`, `x[index]`."""
        held = self.rows_in(whole, env, depth - 1)
        chosen = condition(self, key, "", held, env, depth - 1)
        if chosen is not None:
            return within(held, chosen)
        if isinstance(key, ast.Call) and last_name(key.func) in ("isin", "is_in", "between"):
            return None  # some rows of the table: which, is not known
        index = self.rows_in(key, env, depth - 1)
        if index is None or held is None:
            return None
        if index.table == held.table:
            return replace(held, rows=held.rows & index.rows) if not held.whole else index
        return index if held.whole else None

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, env: Env, depth: int
    ) -> Rows | None:
        over = node.generators[0]
        held = self.rows_in(inner(over.iter), env, depth - 1)
        if held is None:
            return None
        names = names_in(over.target)
        if not isinstance(node, ast.DictComp) and ends_early(node.elt, names):
            return None  # a part of each series: other rows of the same ones
        for test in over.ifs:
            chosen = condition(self, test, next(iter(names), ""), held, env, depth - 1)
            if chosen is None:
                return None
            kept = within(held, chosen)
            if kept is None:
                return None
            held = kept
        if isinstance(node, ast.SetComp):
            return groups(held, unparse(node.elt))
        return held

    # ---------------------------------------------------------------------------------------------- calls

    def _call(self, call: ast.Call, env: Env, depth: int) -> Rows | None:
        name = last_name(call.func)
        owner = receiver(call)
        library = isinstance(owner, ast.Name) and owner.id in _LIBRARIES
        if name == "zip" and owner is None:
            side_by_side = [self.rows_in(a, env, depth - 1) for a in call.args]
            return one(side_by_side) if None not in side_by_side else None
        if name in FIGURES or name in TWO_PARTS:
            return None
        if name in ORDER and call.args:
            return self._ordered(call, env, depth)
        if name in JOINS:
            given = [e for a in call.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]
            return joined(
                [self.rows_in(e, env, depth - 1) for e in ([owner] if owner and not library else []) + given],
                False,
            )
        if name in LESS and call.args:
            first, second = (
                (call.args[0], call.args[1]) if library and len(call.args) > 1 else (owner, call.args[0])
            )
            return without(
                self.rows_in(first, env, depth - 1) if first is not None else None,
                self.rows_in(second, env, depth - 1),
            )
        if owner is not None and not library:
            if (found := self._method(call, owner, name, env, depth)) is not None:
                return found
        if name in ("set", "unique", "unique_values") and (call.args or owner is not None):
            about = call.args[0] if call.args else owner
            inner = self.rows_in(about, env, depth - 1) if about is not None else None
            return None if inner is None or about is None else groups(inner, unparse(about))
        functions = flow(self.source).called(call)
        given_rows = [self.rows_in(a, env, depth - 1) for a in call.args]
        for k in call.keywords:  # `remove_columns=names` has none
            given_rows.append(None if "col" in (k.arg or "") else self.rows_in(k.value, env, depth - 1))
        if cut_somewhere(self, call, env, depth):
            return None
        for function in functions[:1]:
            return self._from_function(function, call, env, depth, given_rows)
        if isinstance(call.func, ast.Name):
            known, bound = self.bound(call.func, env)
            if (known and isinstance(bound, ast.Lambda)) or self._lambda(call.func) is not None:
                made = bound if isinstance(bound, ast.Lambda) else self._lambda(call.func)
                return self._applied(
                    made or call.func, [self._known(a, env, depth) for a in call.args], env, depth
                )
        found = None if _part_unknown(call, given_rows) else one(given_rows)
        if found is None and owner is not None and not library and any(g is not None for g in given_rows):
            return None
        return self._table(call) if found is None and self._reads(call, env, depth) else found

    def _method(self, call: ast.Call, owner: ast.expr, name: str, env: Env, depth: int) -> Rows | None:
        """A method of what holds rows."""
        if flow(self.source).called(call):
            return None
        held = self.rows_in(owner, env, depth - 1)
        if name in ("unique", "unique_values"):
            return None if held is None else groups(held, unparse(owner))
        if held is None:
            return None
        if name == "filter" and call.args and isinstance(call.args[0], ast.Lambda):
            test = call.args[0]
            chosen = condition(self, test.body, "", held, env, depth - 1)
            return None if chosen is None else within(held, chosen)
        if name in ("take", "skip", "head", "tail") and call.args:
            count = number(self, call.args[0], env, depth - 1)
            if count is None:
                index = self.rows_in(call.args[0], env, depth - 1)
                return index if name == "take" and held.whole else None
            items, n = sorted(held.rows), int(count)
            part = items[:n] if name in ("take", "head") else items[n:] if name == "skip" else items[-n:]
            return replace(held, rows=frozenset(part))
        if name in ("drop", "select", "sample", "query", "nlargest", "nsmallest", "choice", "pop", "shard"):
            whole = keyword(call, "frac")
            if name == "sample" and isinstance(whole, ast.Constant) and whole.value in (1, 1.0):
                return held
            if name == "drop" and keyword(call, "columns") is not None:
                return held
            if name == "drop" and call.args:
                less = self.rows_in(call.args[0], env, depth - 1)
                return None if less is None else without(held, less)
            return None
        if name in ("dropna", "drop_duplicates"):
            return held
        others = [self.rows_in(a, env, depth - 2) for a in call.args]
        if name in ("transform", "map", "isin", "get", "index", "split", "encode", "apply") and any(others):
            return None
        return held

    def _ordered(self, call: ast.Call, env: Env, depth: int) -> Rows | None:
        """`randperm(len(x))`, `np.arange(n)`: the places of as many rows."""
        over = call.args[-1]
        if isinstance(over, ast.Call) and last_name(over.func) == "len" and over.args:
            about = self.rows_in(over.args[0], env, depth - 1)
            count: float | None = float(len(about.rows)) if about is not None else float(ROWS)
        else:
            about = self.rows_in(over, env, depth - 1)
            if about is not None:
                return about  # `np.random.permutation(ids)`
            count = number(self, over, env, depth - 1)
        if count is None or len(call.args) > 1 or count < 100:  # fewer are no rows of a table
            return None
        name = f"{unparse(call)[:80]}@{call.lineno}"
        root = about.root if about is not None else ""
        return Rows(name, frozenset(range(min(int(count), ROWS))), root, self.source.function_around(call))

    def _lambda(self, node: ast.expr) -> ast.Lambda | None:
        given = flow(self.source).all_given(node)
        value = given[0].value if len(given) == 1 and not given[0].places else None
        return value if isinstance(value, ast.Lambda) else None

    def _applied(self, maker: ast.expr, given: list[Known], env: Env, depth: int) -> Rows | None:
        """What a lambda gives of what is handed to it."""
        made = maker if isinstance(maker, ast.Lambda) else self._lambda(maker)
        if made is None:
            functions = flow(self.source).functions.get(last_name(maker), [])
            alone = given[0] if len(functions) == 1 and given else None
            return alone if isinstance(alone, Rows) else None
        names = [a.arg for a in made.args.args]
        bound: dict[tuple[ast.AST, str], Known] = {}
        bound |= {(made, n): g for n, g in zip(names, given, strict=False)}
        return self.rows_in(made.body, {**env, **bound}, depth - 1)

    def _bind(self, function: Function, call: ast.Call, env: Env, depth: int) -> Env:
        """The parameters of a function in one call of it."""
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        if names[:1] == ["self"] and self.source.class_around(function) is not None:
            names = names[1:]
        bound: dict[tuple[ast.AST, str], Known] = {}
        spread = next((i for i, a in enumerate(call.args) if isinstance(a, ast.Starred)), None)
        if spread is not None:
            held = self.rows_in(call.args[spread], env, depth - 1)
            told = {k.arg for k in call.keywords}
            bound |= {(function, n): held for n in names[spread:] if n not in told}
        pairs = [*zip(names, call.args[:spread], strict=False)]
        pairs += [(k.arg, k.value) for k in call.keywords if k.arg]
        for name, value in pairs:
            bound[function, name] = self._known(value, env, depth)
        return bound

    def _known(self, value: ast.expr, env: Env, depth: int) -> Known:
        if isinstance(value, ast.Lambda):
            return value
        if (numbers := set_of(self, value, env, depth - 1)) is not None:
            return Rows("numbers", numbers)
        found = self.rows_in(value, env, depth - 1)
        return found if found is not None else number(self, value, env, depth - 1)

    def _from_function(
        self, function: Function, call: ast.Call, env: Env, depth: int, given: list[Rows | None]
    ) -> Rows | None:
        bound = self._bind(function, call, env, depth)
        ends = returns(function)
        found = self._windows(function, bound, depth)
        if found is None:
            found = self._place(ends[0], (), bound, depth - 1) if len(ends) == 1 else None
        if found is not None:
            return self._from_outside(found, function, call)
        mine = [b for b in bound.values() if isinstance(b, Rows) and b.table != "numbers"]
        unsure = names_a_side(call) or _part_unknown(call, given)
        found = None if unsure else one([*given, *mine])
        if found is None and not mine and self._reads(call, env, depth):
            return self._table(call)
        return found

    def _windows(self, function: Function, bound: Env, depth: int) -> Rows | None:
        """`def cut(a, b): for t in range(a, b): ... x[t]`: the rows between two bounds."""
        handed = [n for (_, n), v in bound.items() if isinstance(v, float)]
        loops = [n for n in function.body if isinstance(n, ast.For)]
        if len(handed) < 2 or len(loops) != 1:
            return None
        over = loops[0].iter
        if not (isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 2):
            return None
        names = [names_in(a) for a in over.args]
        if not all(n & set(handed) for n in names):
            return None
        bounds = [number(self, a, bound, depth - 1) for a in over.args]
        if any(b is None for b in bounds):
            return None
        low, high = (int(b or 0) for b in bounds)
        rows = frozenset(range(max(low, 0), min(high, ROWS)))
        for read in of(loops[0], ast.Subscript):
            held = self.rows_in(read.value, bound, depth - 1) if isinstance(read.value, ast.Name) else None
            if held is not None and held.whole:
                return replace(held, rows=rows)
        return None

    def _from_outside(self, found: Rows | None, function: Function, call: ast.Call) -> Rows | None:
        """A table that the function itself reads is another one in each call."""
        if found is None:
            return None
        inner = found.made_in
        while inner is not None:
            if inner is function:
                here = f"{unparse(call)[:120]}@{self._first(call)}"
                return replace(
                    found,
                    table=f"{here}:{found.table}",
                    root=f"{here}:{found.root}",
                    made_in=self.source.function_around(call),
                )
            inner = self.source.function_around(inner)
        return found

    def _both(self, node: ast.BinOp, env: Env, depth: int) -> Rows | None:
        left, right = self.rows_in(node.left, env, depth - 1), self.rows_in(node.right, env, depth - 1)
        if left is not None and right is not None:
            if isinstance(node.op, ast.BitAnd):
                return joined([left, right], True)
            if isinstance(node.op, ast.Sub) and left.table == right.table and left.rows != right.rows:
                return without(left, right)
            return joined([left, right], False)
        return None if isinstance(node.op, (ast.BitOr, ast.BitAnd)) else left or right


def _part_unknown(call: ast.Call, given: list[Rows | None]) -> bool:
    """`ReviewSet(valid, vocab)`: the part is not known, and its rows are not the vocabulary's."""
    handed = [*call.args, *(k.value for k in call.keywords)]
    plain = [(a, g) for a, g in zip(handed, given, strict=True) if isinstance(a, (ast.Name, ast.Attribute))]
    told = [last_name(a) for a, g in plain if g is None]
    return any(side(name) is not None or OF_ROWS.search(name) for name in told)
