"""Scaling of inputs in scripts that is made ready and never used, and figures taken of each row alone."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_called
from ..shared.sides import either
from ..splits.joined_fit import one_figure_for_columns
from ..tensorflow.keras_slips import never_adapted
from .fitted_alone import scaler_never_asked
from .left_over import figures_left, fitted_left
from .never_read import figures_never_read
from .one_way import turned_back_alone

_SPREAD = re.compile(r"(?i)(?:^|_)(?:std|stdev|stddev|sigma|scale)(?:_|$)")


_CENTRE = re.compile(r"(?i)(?:^|_)(?:mean|mu|avg)(?:_|$)")


@probe()
@unframed
def scaling_unused(view: View) -> Finding:
    """Mean and deviation of the inputs, or a scaling function, are there, and none of it is used."""
    return first(
        view,
        either(
            *(_figures_unused, _function_unused, figures_left, fitted_left, never_adapted),
            figures_never_read,
            scaler_never_asked,
            turned_back_alone,
        ),
        "the scripts prepare no scaling of inputs",
    )


_FIGURES_OF = re.compile(r"(?i)score|loss|resid|decision|error|pred|reward|time|grad|param|latent|\blog")


_LAYERS = re.compile(r"^(?:Linear|Dense|Conv\w*|Embedding)$")


def _figures_unused(source: Script) -> Finding | None:
    made: dict[str, ast.AST] = {}
    for node in source.of(ast.Assign, ast.keyword):
        targets: list[ast.expr] = []
        named = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if isinstance(node, ast.Assign) and not named and not _FIGURES_OF.search(unparse(node.value)):
            if isinstance(node.value, ast.Call) and _LAYERS.match(last_name(node.value.func)):
                continue  # `self.std = nn.Linear(...)`: a layer that answers it
            for target in node.targets:
                targets += target.elts if isinstance(target, ast.Tuple) else [target]
        for target in targets:
            name = (
                target.id
                if isinstance(target, ast.Name)
                else target.attr
                if isinstance(target, ast.Attribute)
                else ""
            )
            inside = isinstance(target, ast.Name) and source.function_around(node) is not None
            if (
                name
                and not inside
                and not re.search(
                    r"(?i)loss|weight|init|grad|reward|y_|_y|target|label|val_|_val|pred|resid|score", name
                )
            ):
                if _SPREAD.search(name) or _CENTRE.search(name):
                    made.setdefault(name, node)
        if (
            isinstance(node, ast.keyword)
            and node.arg in ("mean", "std")
            and isinstance(node.value, (ast.List, ast.Tuple))
        ):
            holder = source.parents.get(node)
            if isinstance(holder, ast.Call) and re.search(
                r"(?i)config|dict|cfg|namespace", last_name(holder.func)
            ):
                if _handed_on_whole(source, holder):
                    return None
                made.setdefault(node.arg, node.value)
    spreads = [n for n in made if _SPREAD.search(n) and not re.search(r"(?i)scale", n)]
    centres = [n for n in made if _CENTRE.search(n)]
    if not spreads or not centres or len(spreads) > 2:  # of many sets: a store that others take from
        return None
    read = {
        n.id if isinstance(n, ast.Name) else n.attr
        for n in source.of(ast.Name, ast.Attribute)
        if isinstance(n.ctx, ast.Load)
        if not is_called(source, n)
    }
    read |= {
        n.slice.value
        for n in source.of(ast.Subscript)
        if isinstance(n.slice, ast.Constant)
        and isinstance(n.slice.value, str)
        and isinstance(n.ctx, ast.Load)
    }
    looked_up = [a for c in source.named("get", "getattr", "pop") for a in c.args]
    read |= {a.value for a in looked_up if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    used = [n for n in (*spreads, *centres) if n in read]
    if used:
        return ok(source, made[used[0]], "mean and deviation are used")
    if source.loose or re.search(r"(\w+) - \1\.mean\(", source.code):
        return None
    return at(source, made[spreads[0]], "mean and deviation of the inputs are there, and nothing uses them")


def _handed_on_whole(source: Script, made: ast.Call) -> bool:
    """`norm = dict(mean=..., std=...)`, then `Normalize(**norm)`, which is read with its entries written."""
    entries = {(k.arg, unparse(k.value)) for k in made.keywords}
    return any(
        call is not made
        and last_name(call.func) != last_name(made.func)
        and entries <= {(k.arg, unparse(k.value)) for k in call.keywords}
        for call in source.calls
    )


_ROWS = re.compile(
    r"(?i)norm|instance|image|img|signal|window|spectr|utter|cmvn|audio|wave|pixel|embed|feat_vec|l2"
)


@probe()
@unframed
def one_scale_for_columns(view: View) -> Finding:
    """One mean and one deviation of a whole table scale its columns, which stand for different things."""
    look = either(shows("one-scale"), one_figure_for_columns)
    return first(view, look, "the scripts scale no table by its own figures")


@probe()
@unframed
def scaled_by_row(view: View) -> Finding:
    """A table's rows are standardised one by one, over columns that stand for different things.

    `(x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)` in a program that takes statistics by column
    of a table elsewhere. Images, signals and embeddings, whose rows are of one kind, are left aside by name.
    """
    return first(view, _by_row, "the scripts standardise no table")


def _by_row(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        shape = re.fullmatch(
            r"\((\w+) - \1\.mean\((.*?)\)\) / \(?\1\.std\((.*?)\)(?: \+ \S+\))?", unparse(node)
        )
        function = source.function_around(node)
        if shape is None or function is None or function in source.forwards:
            continue
        axes = [re.sub(r"(?:axis|dim)=|, ?keep\w+=True", "", shape.group(i)).strip() for i in (2, 3)]
        if axes == ["0", "0"]:
            seen = seen or node
        if axes not in (["1", "1"], ["-1", "-1"]) or _ROWS.search(function.name + shape.group(1)):
            continue
        columns = re.search(r"(?:nan)?(?:mean|std|median|quantile|percentile)\([^()]*axis=0\)", source.code)
        if columns and source.function_name(node) != "forward":
            return at(
                source, node, "each row is standardised over its columns, which stand for different things"
            )
    return ok(source, seen, "tables are standardised by column") if seen is not None else None


def _function_unused(source: Script) -> Finding | None:
    """`def scale(img): return preprocess_input(img)` that nobody calls."""
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        if len(function.body) > 3 or source.class_around(function) is not None:
            continue
        text = unparse(function)
        if not re.search(r"preprocess_input|per_image_standardization|/ 255|/ 127\.5", text):
            continue
        used = [
            n
            for n in source.of(ast.Name, ast.Attribute)
            if (n.id if isinstance(n, ast.Name) else n.attr) == function.name and isinstance(n.ctx, ast.Load)
        ]
        seen = seen or function
        others = len(re.findall(r"preprocess_input|/ 255|/ 127\.5|Rescaling|Normalization", source.code))
        if (
            not used
            and others <= len(re.findall(r"preprocess_input|/ 255|/ 127\.5", text))
            and not source.loose
        ):
            return at(source, function, "this scaling is written and nobody calls it")
    return ok(source, seen, "the scaling is called") if seen is not None else None
