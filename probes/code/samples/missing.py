"""Missing values in scripts: tables read, and statistics taken, without dealing with empty fields."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...scripts.syntax import Script
from ..shared.checks import at, first, imports_locals, is_evaluation, ok
from ..shared.nodes import is_own
from ..shared.roles import INPUT_WORDS, TARGET_WORDS, base, inputs, targets
from ..shared.sides import either

_SKIPPING = (
    "nanmean",
    "nanstd",
    "nanvar",
    "nanmedian",
    "nanmin",
    "nanmax",
    "nanpercentile",
    "nanquantile",
    "nansum",
)
_ARRAYS = ("", "np", "numpy", "bn", "bottleneck", "cp", "cupy", "jnp", "onp")
_TABLES = ("read_csv", "read_table", "read_excel", "read_parquet", "read_feather", "read_sql", "genfromtxt")
_DEALT_WITH = (
    "dropna",
    "fillna",
    "nan_to_num",
    "isnan",
    "isna",
    "isnull",
    "notna",
    "notnull",
    "isfinite",
    "imput",
    "interpolate",
    "ffill",
    "bfill",
    "na_filter",
    "filling_values",
    "masked_invalid",
    "drop_nulls",
    "fill_null",
    "fill_nan",
)


@probe()
@unframed
def statistics_skip_missing(view: View) -> Finding:
    """Statistics pass over NaN (`np.nanmean`), so somebody knew of it, and nothing removes it from the data.

    False positive: an array whose NaNs are replaced by a helper of another name.
    """
    return first(view, _skips, "the scripts take no statistics that pass over NaN")


_NAN = frozenset(
    ("np.nan", "numpy.nan", "float('nan')", "math.nan", "torch.nan", "np.NaN", "numpy.NaN", "nan")
)


_INFINITE = frozenset(
    ("np.inf", "numpy.inf", "float('inf')", "math.inf", "torch.inf", "np.Inf", "float('infinity')", "inf")
)
_ENDS = ("isfinite", "isinf", "nan_to_num", "replace(", "clip(", "clamp(", "masked_invalid", "use_inf_as_na")
_FAR_APART = re.compile(
    r"(?i)dist|cost|path|mask|attn|attention|score|logit|best|min|max|loss|bound|thresh|edge"
)


def _no_data(source: Script, node: ast.AST, name: str) -> bool:
    """Infinity may stand for what is never chosen: in a network, among distances, in a search."""
    function = source.function_around(node)
    inside = f"{name} {function.name if function is not None else ''}"
    return _FAR_APART.search(inside) is not None or source.class_around(node) in source.modules


@probe()
@unframed
def nan_written(view: View) -> Finding:
    """NaN or infinity is written into some of the inputs or targets, and nothing deals with it.

    `x[::50, 3] = np.nan`, `x = np.where(lost, np.nan, x)`. False positive: a helper drops such rows.
    """
    return first(view, either(_read_as_none, _written), "the scripts write no NaN into their data")


def _read_as_none(source: Script) -> Finding | None:
    """`float(row["age"] or "nan")`: empty fields of a file become NaN, and nothing deals with them."""
    for call in source.named("float"):
        given = call.args[0] if call.args else None
        parent = source.parents.get(call)
        empty = isinstance(given, ast.BoolOp) and isinstance(given.op, ast.Or) and _says_nan(given.values[-1])
        if isinstance(parent, ast.IfExp) and parent.body is call and given is not None:
            empty = _says_nan(parent.orelse) and unparse(given) in unparse(parent.test)
        if not empty or is_evaluation(source, call) or not source.named("reader", "DictReader", "split"):
            continue
        if not (_deals(source) or imports_locals(source) or source.named(*_SKIPPING)):
            return at(source, call, "empty fields become NaN here, and nothing takes it out")
    return None


def _says_nan(node: ast.expr) -> bool:
    told = unparse(node).lower().strip("'\"")
    return told == "nan" or told in {m.lower() for m in _NAN}


def _written(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    data = inputs(source) | targets(source)
    for node in source.of(ast.Assign, ast.AugAssign):
        target, value = node.targets[0] if isinstance(node, ast.Assign) else node.target, node.value
        name = base(target)
        column = isinstance(target, ast.Subscript) and last_name(target.value) in ("loc", "iloc", "at", "iat")
        column = column and source.trains
        if not (
            column
            or name in data
            or name == "tensors"
            or INPUT_WORDS.search(name)
            or TARGET_WORDS.search(name)
        ):
            continue
        marks = _NAN if _no_data(source, node, name) else _NAN | _INFINITE
        some = isinstance(target, ast.Subscript) and unparse(value) in marks
        if (
            isinstance(value, ast.Call)
            and last_name(value.func) in ("where", "masked_fill")
            and len(value.args) > 1
        ):
            some = some or any(unparse(a) in marks for a in value.args[1:])
        if not some or is_evaluation(source, node):
            continue  # an evaluator passes over answers that are none
        seen = seen or node
        endless = any(m in unparse(value) for m in _INFINITE)
        dealt = any(w in source.code for w in _ENDS) if endless else _deals(source)
        if not (dealt or imports_locals(source) or source.named(*_SKIPPING)):
            what = "infinity is" if endless else "NaN is"
            return at(source, node, f"{what} written into the data here, and nothing takes it out")
    return ok(source, seen, "missing values are dropped or filled") if seen is not None else None


def _marked(source: Script) -> Finding | None:
    """Data code writes NaN into what it hands on (`column[bad] = np.nan`), and nothing deals with it."""
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], ast.Subscript):
            continue
        if unparse(node.value) not in ("np.nan", "numpy.nan", "float('nan')", "math.nan", "torch.nan"):
            continue
        function = source.function_around(node)
        name = unparse(node.targets[0]).lower()
        if function is None or re.search(
            r"loss|metric|score|acc|attn|attention", name + function.name.lower()
        ):
            continue
        if not re.search(
            r"(?:clean|prepar|preproc|load|filter|read|simul|acqui|sensor|table|row|colum|feature)",
            name + function.name.lower(),
        ):
            continue
        if _deals(source):
            return ok(source, node, "missing values are dropped or filled")
        if not imports_locals(source) and not source.named(*_SKIPPING):
            return at(source, node, "values are marked as missing here, and stay in the data")
    return None


def _skips(source: Script) -> Finding | None:
    if (marked := _marked(source)) is not None:
        return marked
    calls = [
        c
        for c in source.named(*_SKIPPING)
        if not _is_metric(source, c)
        and source.owner(c) in _ARRAYS  # a tensor's is on its way through a network
    ]
    if not calls:
        return None
    if _deals(source):
        return ok(source, calls[0], "missing values are dropped or filled")
    if imports_locals(source):
        return None
    return at(source, calls[0], "the statistics pass over missing values, which stay in the data")


_MEASURES = (
    r"(?i)(?:^|_)(?:measure\w*|eval\w*|valid\w*|test|metric\w*|score\w*|acc\w*|[mf]?_?iou|confusion)(?:_|$)"
)


def _is_metric(source: Script, call: ast.Call) -> bool:
    """`np.nanmean(losses)` sums up what was measured; it does not scale the inputs."""
    text = unparse(call).lower()
    if "np.where(" in text and re.search(r"\bnan\b", text):
        return True  # the missing values are made here: classes that do not occur
    if "metric" in unparse(source.statement(call) or call).lower():
        return True
    if any(
        w in text
        for w in (
            "loss",
            "acc",
            "score",
            "metric",
            "iou",
            "norm",
            "time",
            "dice",
            "per_class",
            "sdr",
            "err",
            "skill",
        )
    ):
        return True
    return re.search(_MEASURES, source.function_name(call)) is not None


@probe()
def table_read_unguarded(view: View) -> Finding:
    """A table is read, and no word of dropping, filling or testing for empty fields follows."""
    return first(view, _reads_unguarded, "the scripts read no table")


def _of_texts(call: ast.Call) -> bool:
    """All columns are read as texts: `dtype=str`, `dtype={"user": str, "item": "category"}`."""
    told = keyword(call, "dtype")
    kinds = told.values if isinstance(told, ast.Dict) else [told]
    return all(
        k is not None and unparse(k).strip("'\"") in ("str", "string", "category", "object") for k in kinds
    )


def _reads_unguarded(source: Script) -> Finding | None:
    reads = [c for c in source.named(*_TABLES) if "log" not in unparse(c).lower() and not _of_texts(c)]
    reads = [c for c in reads if not is_own(source, c)]
    if not reads:
        return None
    if _deals(source):
        return ok(source, reads[0], "empty fields are dropped, filled or tested for")
    if imports_locals(source) or _lists_files(source):
        return None
    return at(source, reads[0], "nothing deals with empty fields of this table")


def _lists_files(source: Script) -> bool:
    """Each sample is read from a file of its own: the table holds names and labels."""
    return any(
        last_name(c.func) in _OPENS
        or (last_name(c.func) == "open" and source.owner(c) in ("Image", "PIL.Image"))
        or (last_name(c.func) == "load" and f.name == "__getitem__" and _puts_together(c))
        for f in source.of(ast.FunctionDef)
        if source.class_around(f) is not None
        for c in of(f, ast.Call)
    )


def _puts_together(call: ast.Call) -> bool:
    """`np.load(f"{folder}/{name}.npy")`, `torch.load(join(root, name))`: the name of the sample is in it."""
    given = call.args[0] if call.args else None
    joined = isinstance(given, ast.Call) and last_name(given.func) in ("join", "str", "joinpath")
    return joined or isinstance(given, (ast.JoinedStr, ast.BinOp))


_OPENS = frozenset(
    (
        "imread",
        "read_image",
        "decode_image",
        "decode_jpeg",
        "load_image",
        "load_img",
        "default_loader",
        "dcmread",
    )
)


@probe()
@unframed
def fill_values_unused(view: View) -> Finding:
    """Values to fill gaps with are computed (`self.fill = table.median()`), and nobody reads them."""
    return first(view, _fill_unused, "the scripts compute no fill values")


def _fill_unused(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            continue
        target = node.targets[0]
        name = target.attr if isinstance(target, ast.Attribute) else target.id
        computed = any(
            last_name(c.func) in ("median", "mean", "mode", "nanmedian") for c in of(node.value, ast.Call)
        )
        if not computed or not re.search(r"(?i)fill|imput|median", name):
            continue
        read = any(
            (n.attr if isinstance(n, ast.Attribute) else n.id) == name
            for n in source.of(ast.Name, ast.Attribute)
            if isinstance(n.ctx, ast.Load)
            if not (isinstance(source.parents.get(n), ast.Call) and source.parents[n].func is n)  # type: ignore[attr-defined]
        )
        seen = seen or node
        if not read:
            return at(source, node, "these fill values are computed, and no gap is filled with them")
    return ok(source, seen, "gaps are filled with what was computed for it") if seen is not None else None


def _deals(source: Script) -> bool:
    text = source.code.lower()
    return any(w in text for w in _DEALT_WITH)
