"""Rows that scripts both train on and hold out, and figures that are learned from both, told by the rows.

Told by what `shared/rows.py` works out of slices, conditions, groups and splits, whatever the names are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import names_bound, names_in, of, unparse, walk
from ...readers.script import all_arguments, argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ...scripts.untaped import maybe_untaped_block, untaped_in
from ..shared.checks import at, ok
from ..shared.roles import TARGET_WORDS
from ..shared.row_names import Named, names_given
from ..shared.row_sets import Rows
from ..shared.rows import rows_of
from ..shared.sides import development_names, side, words

SHARE = 0.35  # of the held-out rows; a window of context that reaches back is less
_NO_ROWS = re.compile(
    r"(?i)loss|acc|metric|score|len|num|count|step|path|dir|curve|hist|log|mean|std|^n_|_n$|size|weight|pred|prob"
)
_EVERY = re.compile(r"(?i)(?:^|_)(?:all|full|whole|final|both|every|total|refit|orig\w*|raw)(?:_|$)")


@dataclass(frozen=True)
class Sided:
    """Rows that are learned from, or held out."""

    learns: bool
    name: str
    node: ast.AST
    rows: Rows
    scope: Function | None


@lru_cache(maxsize=16)
def sided(source: Script) -> tuple[Sided, ...]:
    """The names of a script whose rows are known, with their side: by their words, or by what reads them."""
    trained, quiet = _read_by_training(source), _read_without_gradients(source)
    found: list[Sided] = []
    called = {c.func.id for c in source.calls if isinstance(c.func, ast.Name)}
    for one in names_given(source):
        if one.name in called:
            continue  # a model or a scaler that was fitted on rows, and none of them
        if _made_into_another(source, one.node.value):
            continue
        told = _side(one.name.split(".")[-1])
        if _NO_ROWS.search(one.name) or _EVERY.search(one.name) or not one.rows.rows:
            continue
        if told is None:
            mine = (one.scope, one.name)
            learns, held = mine in trained, mine in quiet
            inside = bool(source.loops_around(one.node))  # what a round works out is no part of the data
            if learns == held or one.rows.whole or inside or not _plain_data(one):
                continue
            told = learns
        found.append(Sided(told, one.name, one.node, one.rows, one.scope))
    found += _under_keys(source)
    developed = development_names(source)
    return tuple(p for p in found if p.learns or not (p.name in developed or _divided_again(p, found)))


def _made_into_another(source: Script, value: ast.expr) -> bool:
    """`words = Vocab(texts)` of a plain class that gives no rows back: a table of words, a scaler."""
    owner = source.classes.get(last_name(value.func)) if isinstance(value, ast.Call) else None
    if owner is None or any(last_name(b) != "object" for b in owner.bases):
        return False
    return not any(isinstance(f, ast.FunctionDef) and f.name in _GIVES_ROWS for f in owner.body)


_GIVES_ROWS = (
    "__getitem__",
    "__iter__",
    "__next__",
    "__call__",
    "batches",
    "batch",
    "get_batch",
    "next_batch",
)


def _under_keys(source: Script) -> Iterator[Sided]:
    """`parts = {"train": rows[:cut], "val": rows[cut:]}`: rows that stand under the word for a side."""
    for table in source.of(ast.Dict):
        keys = [
            k.value if isinstance(k, ast.Constant) and isinstance(k.value, str) else "" for k in table.keys
        ]
        if {side(k) for k in keys if k} != {True, False} or any(_NO_ROWS.search(k) for k in keys):
            continue
        for key, value in zip(keys, table.values, strict=True):
            told, rows = side(key), None if isinstance(value, ast.Name) else rows_of(source).rows(value)
            if told is not None and rows is not None and rows.table != "numbers" and not rows.whole:
                yield Sided(told, key, value, rows, source.function_around(table))


def _made_together(source: Script, parts: tuple[Sided, ...], one: Sided) -> bool:
    """`tr, va = build(table)`: both sides come out of one call, and how it divides the rows is not known."""
    return any(
        p.rows == q.rows == one.rows and p.learns and not q.learns and _out_of_one_call(source, p, q)
        for p in parts
        for q in parts
        if p.scope is q.scope
    )


def _out_of_one_call(source: Script, one: Sided, other: Sided) -> bool:
    for node in source.of(ast.Assign):
        if isinstance(node.value, (ast.Call, ast.GeneratorExp)) and isinstance(node.targets[0], ast.Tuple):
            if source.function_around(node) is one.scope:
                names = {unparse(e) for e in node.targets[0].elts}
                if {one.name, other.name} <= names:
                    return True
    return False


def _divided_again(part: Sided, others: list[Sided]) -> bool:
    """Training rows and held-out rows are cut from it: it is what models are developed on."""
    inside = [o for o in others if o.rows.table == part.rows.table and o.rows.rows < part.rows.rows]
    mine, held = [o for o in inside if o.learns], [o for o in inside if not o.learns]
    if any(not m.rows.rows & h.rows.rows for m in mine for h in held):
        return True
    return bool(mine) and set(words(part.name)) & {"dev", "devel", "development"} != set()


def _side(name: str) -> bool | None:
    told = side(name)
    return False if told is None and set(words(name)) & {"held", "tested", "unseen"} else told


def _plain_data(one: Named) -> bool:
    return one.scope is None or isinstance(one.node.targets[0], (ast.Name, ast.Tuple))


def _read_by_training(source: Script) -> frozenset[tuple[Function | None, str]]:
    """Names that the innermost loops with gradients read, with the function that gives them."""
    found: set[tuple[Function | None, str]] = set()
    for loop in source.of(ast.For, ast.While):
        inner = [n for n in of(loop, ast.For, ast.While) if n is not loop]
        if takes_gradients(source, loop) and not any(takes_gradients(source, n) for n in inner):
            quiet = {n for w in of(loop, ast.With) if maybe_untaped_block(w) for n in of(w, ast.Name)}
            quiet |= {n for c in of(loop, ast.Call) if _only_scores(source, c) for n in of(c, ast.Name)}
            read = [n for n in of(loop, ast.Name) if isinstance(n.ctx, ast.Load) and n not in quiet]
            found |= {(_given_in(source, n), n.id) for n in read}
    return frozenset(found)


def _only_scores(source: Script, call: ast.Call) -> bool:
    """A function of the program is called that takes no gradients: what it is given is not learned from."""
    called = flow(source).called(call)
    return bool(called) and all(not takes_gradients(source, f) and untaped_in(f) for f in called)


def _read_without_gradients(source: Script) -> frozenset[tuple[Function | None, str]]:
    """Names that are read under `with torch.no_grad():`, with the function that gives them."""
    found: set[tuple[Function | None, str]] = set()
    for block in source.of(ast.With):
        if maybe_untaped_block(block):
            read = [n for n in of(block, ast.Name) if isinstance(n.ctx, ast.Load)]
            found |= {(_given_in(source, n), n.id) for n in read}
    return frozenset(found)


def _given_in(source: Script, name: ast.Name) -> Function | None:
    """The function that gives a name its value where it is read; None of the module."""
    for above in source.above(name):
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) and name.id in _own_names(above):
            return above
    return None


@lru_cache(maxsize=1024)
def _own_names(function: Function) -> frozenset[str]:
    given = function.args
    taken = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return frozenset(taken | names_bound(function))


# ---------------------------------------------------------------------- rows in both parts


_OUT_OF_FOLD = re.compile(r"(?i)oof(?:_?(?:pred|prob|score)\w*)?")  # answers for the rows of training


def rows_in_both(source: Script) -> Finding | None:
    """Rows that are held out are trained on, or validation and test share a part of theirs."""
    parts = sided(source)
    seen: ast.AST | None = None
    for held in parts:
        if held.learns or held.rows.whole or _OUT_OF_FOLD.fullmatch(held.name):
            continue
        for other in parts:
            if other.rows.table != held.rows.table or other is held:
                continue
            if _target_name(held.name) and _target_name(other.name):
                continue
            if _made_together(source, parts, other) or _made_together(source, parts, held):
                continue
            both = held.rows.rows & other.rows.rows
            if other.learns and _only_divided(source, parts, other, held):
                continue
            if other.learns:
                seen = seen or held.node
                if len(both) >= SHARE * len(held.rows.rows) and not _told_otherwise(source, other, held):
                    return at(source, held.node, f"`{held.name}` and `{other.name}` hold the same rows")
            elif _kinds(held.name) == "val" and _kinds(other.name) == "test":
                if both and held.rows.rows != other.rows.rows and not _told_otherwise(source, other, held):
                    if len(both) >= SHARE * min(len(held.rows.rows), len(other.rows.rows)):
                        return at(source, held.node, f"`{held.name}` and `{other.name}` share rows")
    return ok(source, seen, "the parts share no rows") if seen is not None else None


def _only_divided(source: Script, parts: tuple[Sided, ...], whole: Sided, held: Sided) -> bool:
    """`df = train_df.copy()` of a file named so, cut into what is learnt from and what is held out."""
    if not whole.rows.whole or (whole.scope, whole.name) in _read_by_training(source):
        return False
    learning = source.named("fit", "train", "DataLoader", "TensorDataset", *source.classes)
    handed = [a for c in learning for a in all_arguments(c)]
    if any(whole.name in names_in(a) for a in handed):
        return False
    return any(
        p.learns and p.rows.table == held.rows.table and p.rows.rows and not p.rows.rows & held.rows.rows
        for p in parts
    )


def _target_name(name: str) -> bool:
    return TARGET_WORDS.search(name.lower()) is not None


def _kinds(name: str) -> str:
    told = set(words(name))
    if told & {"test", "te", "tst", "testing"}:
        return "test"
    return "val" if told & {"val", "valid", "validation", "va", "vl", "dev"} else ""


def _told_otherwise(source: Script, mine: Sided, held: Sided) -> bool:
    """The rows are drawn by a sampler, taken out in place, or put into another order between two cuts."""
    last = {mine.name.split(".")[-1], held.name.split(".")[-1]}
    for call in source.calls:
        name = last_name(call.func)
        if name in _TAKE_OUT and source.owner(call).split(".")[-1] in last:
            return True
        given = {unparse(a).split(".")[-1] for a in call.args}
        if given & last and (name in _CUT or any(k.arg and "sampler" in k.arg for k in call.keywords)):
            return True
        between = sorted((getattr(mine.node, "lineno", 0), getattr(held.node, "lineno", 0)))
        if name == "shuffle" and between[0] < call.lineno < between[1]:
            return True
    if _exclusive(source, mine.node, held.node):
        return True
    deleted = {unparse(t).split("[")[0] for d in source.of(ast.Delete) for t in d.targets}
    return bool(deleted & {mine.name, held.name})


_TAKE_OUT = ("remove", "pop", "clear", "difference_update", "discard", "drop", "append", "extend", "update")
_CUT = ("Subset", "random_split", "train_test_split", "SubsetRandomSampler")


def _exclusive(source: Script, one: ast.AST, other: ast.AST) -> bool:
    """One of two statements runs in a function that the other does not: two programs in one file."""
    mine, theirs = source.function_around(one), source.function_around(other)
    if mine is theirs or mine is None or theirs is None:
        return False
    return source.class_around(one) is None or source.class_around(one) is not source.class_around(other)


# ---------------------------------------------------------------------- figures of both parts

_FITS = ("fit", "fit_transform", "adapt", "partial_fit")
_LEARNS = re.compile(
    r"(?i)scal|imput|pca|svd|normaliz|normalis|standard|vectori|whiten|quantile|lookup|discretiz"
)
_FIGURES = ("mean", "nanmean", "std", "nanstd", "median", "nanmedian", "var", "quantile")
OWN_FIGURES = re.compile(
    r"(?i)(?:^|_)(?:moments?|statistics|stats|mean_?(?:and_?)?std)(?:_|$)|fit_?(?:scal|norm|moment|stat)\w*"
)
_PER_SAMPLE = re.compile(r"(?:axis|dim)=(?:-1|\(?-?[1-9])")


def learned_from_both(source: Script) -> ast.AST | None:
    """A scale, a fill value or a vocabulary is learned from rows of training and of what is held out."""
    parts = sided(source)
    for call in source.calls:
        about = learned_from(source, call)
        if about is None:
            continue
        found = rows_of(source).rows(about)
        if found is None or not _mixed(found, parts):
            continue
        if last_name(call.func) in (*_FIGURES, "transform") and not reaches_inputs(source, call):
            continue
        if not found.whole and _fits_the_same(source, about):
            continue  # the last fit, on training and validation rows, before the test
        return call
    return None


def _fits_the_same(source: Script, about: ast.expr) -> bool:
    """What figures are learned of is handed to what trains, below: `fit(scale(x[dev]), y[dev])`."""
    text = unparse(about)
    for call in source.calls:
        handed = call.lineno > about.lineno and any(
            unparse(n) == text for a in call.args for n in of(a, type(about))
        )
        if handed and any(takes_gradients(source, f) for f in flow(source).called(call)):
            return True
    return False


def learned_from(source: Script, call: ast.Call) -> ast.expr | None:
    """What a call learns figures of: the data that are handed to it, or that it is asked of."""
    name = last_name(call.func)
    owner = receiver(call)
    if name in _FITS and owner is not None and call.args:
        made = [last_name(v.func) for v in flow(source).values(owner, 3) if isinstance(v, ast.Call)]
        return call.args[0] if _LEARNS.search(" ".join([unparse(owner), *made])) else None
    if name in _FIGURES and owner is not None:
        if _PER_SAMPLE.search(unparse(call)):
            return None
        library = isinstance(owner, ast.Name) and owner.id in ("np", "torch", "numpy")
        about = argument(call, position=0) if library else owner
        if about is None:
            return None
        grouped = next((c for c in of(about, ast.Call) if last_name(c.func) == "groupby"), None)
        if grouped is not None and isinstance(grouped.func, ast.Attribute):
            return grouped.func.value
        return None if TARGET_WORDS.search(unparse(about).lower()) else about
    if name == "transform" and owner is not None and call.args and isinstance(call.args[0], ast.Constant):
        grouped = next((c for c in of(owner, ast.Call) if last_name(c.func) == "groupby"), None)
        if (
            grouped is not None
            and call.args[0].value in _FIGURES
            and TARGET_WORDS.search(unparse(owner).lower())
        ):
            return receiver(grouped)
        return None
    functions = flow(source).called(call)
    if len(functions) == 1 and call.args and names_figures(source, call):
        learns = {last_name(c.func) for c in of(functions[0], ast.Call)}
        if learns & {*_FIGURES, "sqrt", "square", "reduce_sum", "sum", "reduce_mean"}:
            return call.args[0]
    return None


def names_figures(source: Script, call: ast.Call) -> bool:
    """`moments(rows)`, `Scale.of(rows)`: by its name, or by that of the class of the script it belongs to."""
    return OWN_FIGURES.search(last_name(call.func)) is not None or of_own_scale(source, call)


def of_own_scale(source: Script, call: ast.Call) -> bool:
    """`Scale.of(rows)` of a class of the script that is called after what it does."""
    owner = receiver(call)
    mine = isinstance(owner, ast.Name) and owner.id in source.classes
    return mine and isinstance(owner, ast.Name) and _SCALES.search(owner.id) is not None


_SCALES = re.compile(r"(?i)^(?:\w*[a-z_])?(?:scal(?:e|er|ing)|normali[sz]er|standardi[sz]er|stats|moments)$")


def _mixed(found: Rows, parts: tuple[Sided, ...]) -> bool:
    """Rows of training and of a held-out part that is not trained on."""
    mine = [p for p in parts if p.learns and _under(found, p.rows)]
    held = [p for p in parts if not p.learns and _under(found, p.rows) and not p.rows.whole]
    for one in held:
        apart = [m for m in mine if m.rows.table == one.rows.table and not m.rows.rows & one.rows.rows]
        whole = found.table != one.rows.table
        seen = one.rows.rows if whole else one.rows.rows & found.rows
        if apart and len(seen) >= SHARE * len(one.rows.rows):
            if whole or any(m.rows.rows & found.rows for m in apart):
                return True
    return False


def _under(found: Rows, part: Rows) -> bool:
    """The part is of these rows' table, or of groups of all of it."""
    return part.table == found.table or (found.whole and part.table.startswith(f"{found.table}|"))


def reaches_inputs(source: Script, call: ast.Call) -> bool:
    """Inputs are scaled by the figure, or stand for a group by it, below.

    A gap that is filled with it is not asked for: it tells next to nothing of the rows.
    """
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign):
        return False
    if any(isinstance(t, ast.Subscript) for t in statement.targets) and last_name(call.func) == "transform":
        return True
    if any(isinstance(t, ast.Subscript) for t in statement.targets):
        return False  # a column that is filled, or put in its own place
    names = {unparse(t) for target in statement.targets for t in of(target, ast.Name, ast.Attribute)}
    for node in source.of(ast.BinOp, ast.AugAssign):
        if isinstance(node.op, (ast.Sub, ast.Div)) and getattr(node, "lineno", 0) >= statement.lineno:
            by = node.right if isinstance(node, ast.BinOp) else node.value
            if names & {unparse(n) for n in walk(by) if isinstance(n, (ast.Name, ast.Attribute))}:
                return True
    for filled in source.named("map", "replace"):
        if filled.lineno >= statement.lineno and names & {unparse(a) for a in filled.args}:
            return True
    return False
