"""Columns of a table in scripts: the target, or what is computed from it, among the inputs."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_negative, is_true
from ..shared.roles import targets
from ..shared.sides import literal

_TARGET = re.compile(r"(?i)^(?:self\.)?(?:y|targets?|labels?)(?:_|$)")
_INPUT = re.compile(
    r"(?i)(?:^|[._])(?:x|inputs?|features?|feats?|feature_\w+|predictors?|numbers|numeric\w*)(?:_|$)"
)
# of later moments a table holds the target of earlier ones: it may be an input there
_FORECASTS = re.compile(r"(?i)forecast|horizon|look_?back|history|window|\blag|seq_?len|shift\(|autoreg")
# what Keras gives back
_OF_FIT = re.compile(r"[\w/]*history\.csv|\bhistory = \w+\.fit|\bhist(?:ory)?\.history\b")
_BY_ROW = re.compile(
    r"groupby|rolling|shift|expanding|ewm|diff\(|cumsum|merge|map\(|transform\(|rank\(|isna|isnull|notna"
)


def target_among_inputs(source: Script) -> Finding | None:
    """`features = ["age", "fee", "left"]` with `x = df[features]` and `y = df["left"]`.

    Also a column that is computed from the target of the same row. False positive: a table of moments, where
    the target of one row is an input of later ones, which is looked for.
    """
    made = _computed(source)
    wanted = _target_columns(source, made)
    lists = [
        n for n in source.of(ast.Assign) if isinstance(n.value, (ast.List, ast.Tuple)) and _names(n.value)
    ]
    seen: ast.AST | None = None
    code = _OF_FIT.sub("", source.code)
    if not wanted or _FORECASTS.search(code):
        return _of_later_rows(source, made, lists)
    for node in lists:
        name = unparse(node.targets[0])
        reads = [
            s for s in source.of(ast.Subscript) if unparse(s.slice) == name and isinstance(s.ctx, ast.Load)
        ]
        told = any(_is_input(source, s, name) or _scaled_whole(source, s) for s in reads)
        if not told and not _transformed(source, name):
            continue
        seen = seen or node
        held = [c for c in _names(node.value) if c in wanted]
        if held and not _taken_out(source, name, held[0]):
            return at(source, node, f"`{held[0]}` is among the inputs, and the target is computed from it")
    return ok(source, seen, "the target is not among the columns of the inputs") if seen is not None else None


def _names(node: ast.expr) -> list[str]:
    if not isinstance(node, (ast.List, ast.Tuple)):
        return []
    texts = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return texts if len(texts) == len(node.elts) else []


def _columns(node: ast.AST) -> set[str]:
    return {
        s.slice.value
        for s in of(node, ast.Subscript)
        if isinstance(s.slice, ast.Constant) and isinstance(s.slice.value, str)
    }


def _named(source: Script, node: ast.AST) -> set[str]:
    """The column that a name stands for: `target = "left"`, `y = table[target]`."""
    found = {
        literal(source, s.slice)
        for s in of(node, ast.Subscript)
        if isinstance(s.slice, (ast.Name, ast.Attribute))
    }
    return {f for f in found if isinstance(f, str)}


def _computed(source: Script) -> dict[str, tuple[set[str], ast.Assign]]:
    """Columns that a script computes from others: name -> (columns that it is computed from, statement)."""
    found: dict[str, tuple[set[str], ast.Assign]] = {}
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            name = target.slice.value
            if isinstance(name, str):
                found[name] = (_columns(node.value) - {name}, node)
    return found


def _target_columns(source: Script, made: dict[str, tuple[set[str], ast.Assign]]) -> set[str]:
    """The column that the target is read from, the one it is a form of, and what is computed from it."""
    found: set[str] = set()
    roles = targets(source)
    for node in source.of(ast.Assign):
        name = unparse(node.targets[0])
        columns = _columns(node.value) or _named(source, node.value)
        if len(columns) == 1 and (_TARGET.match(name) or name.lower() in roles):
            found |= columns
    if len(found) != 1:
        return set()
    for name in tuple(found):
        if name in made and len(made[name][0]) == 1 and not _BY_ROW.search(unparse(made[name][1].value)):
            found |= made[name][0]
    for name, (columns, node) in made.items():
        if columns & found and not _BY_ROW.search(unparse(node.value)):
            found.add(name)
    return found


def _is_input(source: Script, read: ast.Subscript, name: str) -> bool:
    """The columns are read as inputs: by the name of the list, or of what they are given to."""
    statement = source.statement(read)
    if isinstance(statement, ast.Assign):
        if any(unparse(t) == unparse(read) for t in statement.targets):
            return False  # scaled in place
        if any(isinstance(t, ast.Subscript) for t in statement.targets):
            return False
        if any(_INPUT.search(unparse(t)) for t in statement.targets):
            return True
        if any(
            last_name(c.func) in ("mean", "std", "min", "max", "isna") for c in of(statement.value, ast.Call)
        ):
            return False
    return _INPUT.search(name) is not None


def _scaled_whole(source: Script, read: ast.Subscript) -> bool:
    """`x[k] = scaler.transform(rows[columns].fillna(0))`, of which no columns are taken apart later."""
    node: ast.AST = read
    for parent in source.above(read):
        if isinstance(parent, ast.Call) and node in parent.args:
            if last_name(parent.func) not in ("transform", "fit_transform"):
                return False
            node = parent
            break
        if not isinstance(parent, (ast.Call, ast.Attribute)):
            return False
        node = parent
    statement = source.statement(read)
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return False
    held = statement.targets[0]
    while isinstance(held, ast.Subscript):
        held = held.value
    if not isinstance(held, ast.Name) or unparse(statement.targets[0]) == unparse(read):
        return False
    scope = source.function_around(read) or source.tree
    apart = [
        s for s in of(scope, ast.Subscript) if isinstance(s.ctx, ast.Load) and unparse(s.value) == held.id
    ]
    return held.id not in unparse(read) and not apart


def _transformed(source: Script, name: str) -> bool:
    """`ColumnTransformer([("cat", OneHotEncoder(), name)])`, whose columns are the inputs."""
    calls = source.named("ColumnTransformer", "make_column_transformer")
    return any(n.id == name for c in calls for n in of(c, ast.Name))


def _taken_out(source: Script, name: str, column: str) -> bool:
    """`features.remove("left")`, `[c for c in features if c != "left"]`, `df[features].drop(...)`."""
    calls = [c for c in source.named("remove", "drop", "difference", "pop") if column in unparse(c)]
    tests = [n for n in source.of(ast.Compare) if column in unparse(n) and name in unparse(source.parents[n])]
    return bool(calls or tests)


def _of_later_rows(
    source: Script, made: dict[str, tuple[set[str], ast.Assign]], lists: list[ast.Assign]
) -> Finding | None:
    """A column of the inputs is computed from later rows: `rolling(5, center=True)`, `shift(-1)`."""
    ahead = {name: node for name, (_, node) in made.items() if _looks_ahead(source, node)}
    seen: ast.AST | None = None
    for node in lists:
        name = unparse(node.targets[0])
        if not _INPUT.search(name):
            continue
        seen = seen or node
        held = [c for c in _names(node.value) if c in ahead and not _TARGET.match(c)]
        if held:
            return at(source, ahead[held[0]], f"`{held[0]}` is an input and is computed from later rows")
    return ok(source, seen, "inputs are computed from earlier rows") if seen is not None and made else None


def _looks_ahead(source: Script, node: ast.Assign) -> bool:
    for call in of(node.value, ast.Call):
        centre = keyword(call, "center")
        if last_name(call.func) == "rolling" and is_true(centre):
            return True
        if last_name(call.func) == "shift" and call.args:
            steps = flow(source).values(call.args[0], 2)
            if any(is_negative(s) for s in steps):
                return True
    return False


# ----------------------------------------------------------------------------------------------- windows


def windows_overlap(source: Script) -> Finding | None:
    """`return x[i:m + h], y[m:m + h]`: the window of the inputs reaches into what is to be forecast.

    Also a target's window that begins where that of the inputs begins and ends elsewhere. Windows that are
    the same (one label for each position) are another task.
    """
    seen: ast.AST | None = None
    for node in source.of(ast.Return):
        pair = node.value.elts if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2 else []
        cuts = [cut for e in pair if (cut := _cut(e)) is not None]
        if len(cuts) != 2 or source.function_name(node) != "__getitem__":
            continue
        (a, b), (c, d) = cuts
        seen = seen or node
        if not re.search(r"(?i)horizon|forecast|predict|ahead|future|target|next", source.code):
            continue
        if b == d and a != c:
            return at(source, node, "the inputs reach to the end of what is to be forecast")
        if a == c and b != d:
            return at(source, node, "the target begins where the inputs begin: it is among them")
    return ok(source, seen, "the target follows the inputs") if seen is not None else None


def _cut(node: ast.expr) -> tuple[str, str] | None:
    """Where the window of a value begins and ends, names looked up: `x[start:middle]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return None
    cut = node.slice
    if cut.lower is None or cut.upper is None or cut.step is not None:
        return None
    return unparse(cut.lower), unparse(cut.upper)
