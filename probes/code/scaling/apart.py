"""Scaling of inputs in scripts: in one branch alone, or fitted again on rows of another side."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok, scripts
from ..shared.roles import is_random
from ..shared.sides import development_names, either, side
from ..shared.transforms import telling
from ..splits.flags import scaled_by_switch
from ..splits.settings_of_sides import read_by_other_settings
from ..splits.split_steps import own_figures
from .columns_turned import columns_in_another_order
from .drawn import TRAINING_FLAG
from .kept_figures import figures_worked_out_anew
from .own_fits import one_part_left, own_fits
from .ranges import number_written


@probe()
@unframed
def scaled_apart(view: View) -> Finding:
    """Inputs are scaled for one split alone, or held-out data by statistics of their own."""
    return figures_worked_out_anew(scripts(view.run)) or first(
        view,
        either(
            _in_one_branch,
            _refitted,
            scaled_by_switch,
            one_part_left,
            read_by_other_settings,
            columns_in_another_order,
            shows("scaled-apart", "scaled-one-side", "held-out-changed"),
        ),
        "the scripts scale no inputs by split",
    )


def _in_one_branch(source: Script) -> Finding | None:
    """Inputs are scaled by fixed figures only where a switch says that they are for training."""
    seen: ast.AST | None = None
    for node in source.of(ast.If):
        if not _is_flag(node.test):
            continue
        function = source.function_around(node)
        if (
            function is None
            or function in source.forwards
            or (source.backwards and takes_gradients(source, function))
        ):
            continue
        mine, other = _scalings(source, node.body), _scalings(source, node.orelse)
        rest = [s for s in function.body if node not in walk(s)]
        also = _scalings(source, rest)
        if mine or other or also:
            seen = seen or node
        if bool(mine) != bool(other) and not (also and _same_kind((mine or other)[0], also)):
            who = "training" if mine else "held-out data"
            return at(source, (mine or other)[0], f"this scaling is done for {who} alone")
    text = _text_in_one_branch(source)
    if text is not None:
        return at(source, text, "this is done to the text of training alone")
    return ok(source, seen, "both branches scale alike") if seen is not None else None


def _text_in_one_branch(source: Script) -> ast.AST | None:
    """`text.lower() if lower else text`, where callers hand over the switch for training as `lower`."""
    for node in source.of(ast.IfExp):
        if not isinstance(node.test, ast.Name):
            continue
        changed, plain = node.body, node.orelse
        if not isinstance(changed, ast.Call) or last_name(changed.func) not in (
            "lower",
            "upper",
            "casefold",
            "strip",
        ):
            continue
        if source.owner(changed) != unparse(plain):
            continue
        handed = [k.value for c in source.calls for k in c.keywords if k.arg == node.test.id]
        if any(_is_flag(v) for v in handed):
            return node
    return None


def _is_flag(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        text = unparse(test)
        return re.search(r"(?:split|mode|phase|stage|subset) == '(?:train|training)'", text) is not None
    return isinstance(test, (ast.Name, ast.Attribute)) and TRAINING_FLAG.match(unparse(test)) is not None


def _same_kind(one: ast.AST, others: list[ast.AST]) -> bool:
    """The same scaling stands outside of the branch, too."""
    return any(unparse(one) == unparse(o) for o in others)


_FIXED = re.compile(r"(?i)^(?:\w+\.)*(?:\w*_)?(?:means?|stds?|mu|sigma)(?:_\w*)?$")


_SCALERS = ("preprocess_input", "per_image_standardization", "Normalize", "Rescaling", "Standardize")


def _scalings(source: Script, body: list[ast.stmt], depth: int = 2) -> list[ast.AST]:
    """Divisions and subtractions by fixed figures, and calls that scale, in statements and what they call."""
    found: list[ast.AST] = []
    # `augment(image / 255) * 255`: back to the scale that it came in
    undone = {number_written(n.right) for s in body for n in of(s, ast.BinOp) if isinstance(n.op, ast.Mult)}
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Sub)):
                if isinstance(node.op, ast.Div) and number_written(node.right) in undone - {None}:
                    continue
                if (
                    _by_numbers(node)
                    or (_FIXED.match(unparse(node.right)) and not is_random(node))
                    or (
                        isinstance(node.op, ast.Div) and (number_written(node.right) or 0.0) in (255.0, 127.5)
                    )
                ):
                    found.append(node)
            elif isinstance(node, ast.Call):
                if last_name(node.func) in _SCALERS:
                    found.append(node)
                elif depth:
                    handed = [a for a in node.args if isinstance(a, (ast.Name, ast.Attribute))]
                    names = [last_name(node.func)] if last_name(node.func) != "map" else []
                    names += (
                        [unparse(h).split(".")[-1] for h in handed] if last_name(node.func) == "map" else []
                    )
                    for name in names:
                        known = flow(source).functions.get(name, [])
                        for function in known if len(known) == 1 else ():
                            if name not in ("forward", "__init__"):
                                found += _scalings(source, function.body, depth - 1)
    return found


def _by_numbers(node: ast.BinOp) -> bool:
    """`(x - 0.45) / 0.22`."""
    inner = node.left
    if (
        not isinstance(node.op, ast.Div)
        or not isinstance(inner, ast.BinOp)
        or not isinstance(inner.op, ast.Sub)
    ):
        return False
    figures = [number_written(inner.right), number_written(node.right)]
    return all(f is not None and 0 < f < 1 for f in figures)


# what a model has answered may be brought to a scale of its own: it is no input
_ANSWERS = re.compile(r"(?i)(?:^|_)(?:prob\w*|preds?|predictions?|scores?|logits?|outputs?)(?:_|$)")


def _refitted(source: Script) -> Finding | None:
    """Held-out data are scaled by their own statistics."""
    seen: ast.AST | None = None
    for call in source.named("fit", "fit_transform", "adapt"):
        owner = receiver(call)
        if owner is None or not call.args:
            continue
        names = " ".join([unparse(owner), *(unparse(v) for v in flow(source).values(owner, 3))])
        if not re.search(
            r"(?i)scal|normaliz|standard|pipeline|preproc|feature|imput|pca|transformer\(", telling(names)
        ):
            continue
        learns = side(unparse(_whole(call.args[0])))
        seen = seen or call
        if isinstance(call.args[0], ast.Name) and _ANSWERS.search(call.args[0].id):
            continue
        if learns is False and not any(side(n) for n in names_in(source.tree)):
            continue  # `x[valid_rows]` of a program without parts: rows without gaps
        if learns is False and not names_in(call.args[0]) & development_names(source):
            return at(source, call, "held-out data are scaled by what is learned from themselves")
    own = _own_statistics(source) or own_figures(source) or own_fits(source)
    if own is not None:
        return at(source, own, "each set is scaled by its own statistics, not by those of training")
    return ok(source, seen, "scaling is learned from the training data") if seen is not None else None


def _whole(rows: ast.expr) -> ast.expr:
    """What rows are cut from: `x[:n_val]` may be all rows before the held-out ones."""
    cuts = [n for n in of(rows, ast.Subscript) if isinstance(n.slice, ast.Slice)]
    return cuts[-1].value if cuts else rows


def _own_statistics(source: Script) -> ast.AST | None:
    """`(x - x.mean()) / x.std()` in a transform of tables, whose fit keeps statistics of its own."""
    for owner in source.classes.values():
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        if "fit" not in methods or "transform" not in methods:
            continue
        stored = re.search(r"self\.\w*(?:mean|std|scale|mu|sigma)\w* =", unparse(methods["fit"])) is not None
        if not stored:
            continue
        for node in of(methods["transform"], ast.BinOp):
            if isinstance(node.op, ast.Div):
                text = unparse(node)
                if re.search(r"(\w+) - \1\.mean\(", text) and re.search(r"\w+\.std\(", unparse(node.right)):
                    return node
    return None
