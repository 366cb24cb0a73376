"""Training and evaluation data in scripts: what is done to one and not to the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ....engine.model import State
from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..labels.one_side import classes_exchanged
from ..method.written import asked_without_template
from ..model.inputs import JOINS
from ..samples.batches import batches_differ
from ..shared.checks import at, first, ok
from ..shared.nodes import assigned
from ..shared.roles import (
    EVALUATION,
    base,
    inputs,
    is_random,
    is_training_only,
    split_flags,
    split_of,
    targets,
    trains,
)
from ..shared.sides import either, words
from ..tensorflow.generators import asked_raw, generators_apart
from .cut_otherwise import cut_otherwise
from .done import LAYS_OUT, Change, doing, done_to, plain_words
from .fit_apart import fit_apart
from .flags import labelled_by_switch
from .handed_apart import setting_left_out
from .masks_apart import mask_left_out
from .sides_apart import labels_apart, scaled_back
from .simulated import changed
from .split_steps import left_out_of_loop, one_not_transformed
from .written_side_by_side import part_left_unscaled


@probe()
def splits_processed_differently(view: View, *, labels: bool) -> Finding:
    """The data of one split are changed, and those of the other are not, or in another way.

    Told by names (`val_x = val_x / 255`, `test_set.labels = ...`), by a parameter that tells the splits apart
    (`if train: x = (x - mean) / std`), and by what is computed on a batch before the model is called on it.
    `labels`: look at labels instead of inputs. What belongs to training alone is passed over: statements with
    random parts, augmentation, selection and order of samples; so are padding and crops.
    """
    checks = (
        _split_mismatch,
        _by_flag,
        labelled_by_switch if labels else batches_differ,
        fit_apart,
        left_out_of_loop,
        one_not_transformed,
        part_left_unscaled,
        _setting_left,
        _labels_apart,
        _mask_left_out,
        _exchanged,
        _generators_apart,
        asked_without_template,
    )

    def check(source: Script) -> Finding | None:
        found = [f for f in (c(source, labels) for c in checks) if f is not None]
        return next((f for f in found if f.state is State.PRESENT), found[0] if found else None)

    return first(view, check, "the scripts do not process splits by name")


def _labels_apart(source: Script, labels: bool) -> Finding | None:
    return labels_apart(source) if labels else None


def _mask_left_out(source: Script, labels: bool) -> Finding | None:
    return None if labels else mask_left_out(source)


def _generators_apart(source: Script, labels: bool) -> Finding | None:
    return None if labels else either(generators_apart, asked_raw)(source)


def _exchanged(source: Script, labels: bool) -> Finding | None:
    return classes_exchanged(source) if labels else None


def _setting_left(source: Script, labels: bool) -> Finding | None:
    return None if labels else setting_left_out(source)


_SCALES = re.compile(r" / |transform\(|\blog")


def _counts(source: Script, node: ast.AST) -> bool:
    """`train_split = int(0.8 * len(rows))`, `train_split += rest`: a number of rows is changed."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = {unparse(t) for t in targets if isinstance(t, ast.expr)}
    given = [n.value for n in source.of(ast.Assign) if {unparse(t) for t in n.targets} & names]
    return bool(given) and all(
        isinstance(v, ast.Call)
        and unparse(v.func).strip("()") in ("int", "round", "len", "math.ceil", "math.floor")
        for v in given
    )


def _split_mismatch(source: Script, labels: bool) -> Finding | None:
    processed = _processing(source, labels)
    seen = None
    for (split, stem), nodes in processed.items():
        for other in _counterparts(split):
            if not _is_assigned(source, stem, other):
                continue
            seen = nodes[0]
            theirs = {done_to(n, split, other) for n in processed.get((other, stem), [])}
            for node in nodes:
                if _taken_from(source, stem, split, other, node) or _of_another_function(
                    source, node, stem, split, other
                ):
                    continue
                if _columns_set(source, node, split, other) or _counts(source, node):
                    continue
                if cut_otherwise(source, node, stem.replace("*", other)):
                    continue
                if labels and scaled_back(source) and _SCALES.search(unparse(node)):
                    continue
                theirs |= {
                    done_to(n, split, second)
                    for second in _aliases(source, stem, other)
                    for n in processed.get((second, stem), [])
                }
                if done_to(node, split, other) not in theirs and not _where_used(source, node, split, other):
                    return at(source, node, f"this is done to the {split} data and not to the {other} data")
    return ok(source, seen, "both splits are processed alike") if seen is not None else None


def _columns_set(source: Script, node: Change, split: str, other: str) -> bool:
    """Columns are standardised on one side, and those of the other are set in another way of writing."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if not isinstance(target, ast.Subscript):
        return False
    name = _whole(target).lower().replace(split, other)
    parts = [t for n in source.of(ast.Assign) for t in n.targets if isinstance(t, ast.Subscript)]
    return any(
        _whole(t).lower() in (f"{name}.loc", f"{name}.iloc", name)
        and unparse(target.slice) in unparse(t.slice)
        for t in parts
    )


def _aliases(source: Script, stem: str, split: str) -> list[str]:
    """`x_test = x_val`: another word that the same data go by."""
    name = stem.replace("*", split)
    given = [pair for n in source.of(ast.Assign) for pair in assigned(n)]
    called = [unparse(t).lower() for t, v in given if isinstance(v, ast.Name) and v.id.lower() == name]
    return [s for c in called if (s := split_of(c)) and c == stem.replace("*", s)]


def _where_used(source: Script, node: Change, split: str, other: str) -> bool:
    """The other side goes through the same where it is used: `Rows((test_x - mean) / std)`."""
    text = unparse(node.value).replace(split, other)
    return any(unparse(n) == text for n in source.of(ast.BinOp, ast.Call) if n is not node.value)


def _processing(source: Script, labels: bool) -> dict[tuple[str, str], list[Change]]:
    """Statements that change a split's data in place (`val_x = (val_x - mean) / std`), by split and stem."""
    found: dict[tuple[str, str], list[Change]] = {}
    for node in source.of(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Tuple):
            _pairs(node, labels, found)
            continue
        name = _whole(target)
        split = split_of(name)
        if not split or not name:
            continue
        passed = _legitimate(node.value) if isinstance(node, ast.Assign) else is_training_only(node.value)
        if passed or not _changes(node, name, labels):
            continue
        if isinstance(node, ast.AugAssign) and (_grows(source, node) or _is_number(source, name)):
            continue
        if isinstance(node, ast.AugAssign) and _is_size(node.value):
            continue  # `report.nb_test += data.size(0)`
        if _is_path(node.value):
            continue
        is_label = _names_labels(name) or (base(target) in targets(source) and "." in name)
        if is_label == labels and not _is_figure(name):
            found.setdefault((split, _stem(name, split)), []).append(node)
    return found


def _stem(name: str, split: str) -> str:
    """A name without its split."""
    return plain_words(name).replace(split, "*")


def _is_size(value: ast.expr) -> bool:
    """`data.size(0)`, `len(y)`, `x.shape[0]`: how many there are."""
    inner = value.value if isinstance(value, ast.Subscript) else value
    called = isinstance(inner, ast.Call) and last_name(inner.func) in ("size", "len", "numel")
    return called or (isinstance(inner, ast.Attribute) and inner.attr == "shape")


def _is_path(value: ast.expr) -> bool:
    """`args.train + "/numpy/"`: a text is put to it."""
    return any(
        isinstance(n.op, ast.Add)
        and any(
            isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and isinstance(s.value, str))
            for s in (n.left, n.right)
        )
        for n in of(value, ast.BinOp)
    )


def _whole(target: ast.expr) -> str:
    """`train_x`, `val_set.data`; of a part (`train_x[:, 0]`) the whole."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute) and isinstance(target.value, (ast.Name, ast.Attribute)):
        return unparse(target).removeprefix("self.")
    return ""


def _changes(node: Change, name: str, labels: bool) -> bool:
    """The new value is computed from the old one."""
    if isinstance(node, ast.AugAssign):
        text = isinstance(node.value, ast.JoinedStr) or (
            isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        return not isinstance(node.target, ast.Subscript) and not text and isinstance(node.op, _SCALING)
    if isinstance(node.targets[0], ast.Subscript):
        return _standardises(node.targets[0], node.value)
    old = of(node.value, ast.Name, ast.Attribute)
    if not any(unparse(n).removeprefix("self.") == name for n in old):
        return False
    calls = labels and any(isinstance(n, ast.Call) for n in walk(node.value)) and "." in name
    if any(last_name(c.func) in JOINS for c in of(node.value, ast.Call)):
        # columns are put beside it: how those are computed is not done to it
        sums = [n for b in of(node.value, ast.BinOp) for n in of(b, ast.Name, ast.Attribute)]
        return calls or any(unparse(n).removeprefix("self.") == name for n in sums)
    return calls or _calculates(node.value)


def _standardises(columns: ast.Subscript, value: ast.expr) -> bool:
    """`train[NUMERIC] = (train[NUMERIC] - mean) / std` of columns that go by a name."""
    if not isinstance(columns.slice, ast.Name) or not isinstance(value, ast.BinOp):
        return False
    inner = value.left
    scaled = isinstance(value.op, ast.Div) and isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub)
    return scaled and isinstance(inner, ast.BinOp) and unparse(inner.left) == unparse(columns)


def _calculates(node: ast.AST) -> bool:
    """There is arithmetic on values in it: not that of indices and counts, as in `data[i:i + n]`."""
    if isinstance(node, ast.BinOp):
        return True
    if isinstance(node, ast.Subscript):
        return _calculates(node.value)
    if isinstance(node, ast.Call) and last_name(node.func) in ("range", "arange", "len"):
        return False
    if isinstance(node, ast.Call) and last_name(node.func) in LAYS_OUT:
        return isinstance(node.func, ast.Attribute) and _calculates(node.func.value)  # sizes are no values
    return any(_calculates(child) for child in ast.iter_child_nodes(node))


def _grows(source: Script, node: ast.AugAssign) -> bool:
    """`train_hooks += more_hooks()`: a list that gets longer, or a sum that was begun with zeros."""
    if not isinstance(node.op, ast.Add):
        return False
    if _is_list(node.value):
        return True
    return any(
        _is_list(given.value) or _is_nothing(given.value) for given in flow(source).all_given(node.target)
    )


def _is_number(source: Script, name: str) -> bool:
    """`if self.val < self.final: self.val += step`: what is held against a bound is one number, no data.

    So is what begins at one: `engine.state.count = 0`.
    """
    begins = any(
        unparse(t).removeprefix("self.") == name
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Constant) and isinstance(n.value.value, (int, float))
        for t in n.targets
    )
    return begins or any(
        unparse(n).removeprefix("self.") == name
        for test in (p.test for p in source.of(ast.If, ast.While, ast.IfExp))
        for compared in of(test, ast.Compare)
        if isinstance(compared.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        for n in (compared.left, *compared.comparators)
    )


def _is_nothing(value: ast.expr) -> bool:
    """`0.0`, `np.zeros(n)`: where a sum begins."""
    if isinstance(value, ast.Call):
        return last_name(value.func) in ("zeros", "zeros_like", "new_zeros")
    return isinstance(value, ast.Constant) and not isinstance(value.value, str) and not value.value


def _is_list(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_list(value.body) or _is_list(value.orelse)
    made = isinstance(value, ast.Call) and last_name(value.func) in ("list", "sorted")
    return made or isinstance(value, (ast.List, ast.ListComp))


_FIGURES = re.compile(
    r"loss|acc|metric|score|count|total|correct|time|steps?$|size|len|num|hits|error|batches|epoch|prob|idx|indices"
    r"|results?$|stats?$|summary$|history$"
)


def _is_figure(name: str) -> bool:
    """`val_loss += loss.item()`, `val_correct += hits`: figures, no data."""
    return _FIGURES.search(name.lower()) is not None


def _legitimate(value: ast.expr) -> bool:
    """What may be done to one split alone: selection, augmentation, anything random."""
    return _selects(value) or is_training_only(value)


def _by_flag(source: Script, labels: bool) -> Finding | None:
    """Statements under a parameter that differs between the call for training and that for held-out data."""
    wanted = targets(source) if labels else inputs(source)
    meant = {getattr(n, "lineno", 0) for n in changed(source)}  # to be data of another kind: no processing
    for owner, flags in split_flags(source).items():
        for node in walk(owner):
            if getattr(node, "lineno", 0) in meant:
                continue
            if isinstance(node, ast.If) and _tests(node.test, flags) and not is_random(node.test):
                done = [
                    [s for s in way if _scales(source, s, wanted, labels)] for way in (node.body, node.orelse)
                ]
                if any(done) and not all(done):
                    return at(
                        source,
                        (done[0] or done[1])[0],
                        f"this is done where `{unparse(node.test)}` says so, to one split",
                    )
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp):
                choice = node.value
                if (
                    _tests(choice.test, flags)
                    and not is_random(choice.test)
                    and base(node.targets[0]) in wanted
                ):
                    name = base(node.targets[0])
                    sides = [_computes(s, name, labels) for s in (choice.body, choice.orelse)]
                    if sides[0] != sides[1]:
                        return at(source, node, "the values depend on the split")
    return None


def _tests(test: ast.expr, flags: frozenset[str]) -> bool:
    return any(
        (n.id if isinstance(n, ast.Name) else n.attr) in flags for n in of(test, ast.Name, ast.Attribute)
    )


def _scales(source: Script, node: ast.stmt, wanted: frozenset[str], labels: bool) -> bool:
    """`x = (x - mean) / std`, `x *= 255`, without anything random; no figure that is added up."""
    if isinstance(node, ast.AugAssign):
        if _grows(source, node) or _is_figure(base(node.target)):
            return False
        plain = not isinstance(node.target, ast.Subscript) and isinstance(node.op, _SCALING)
        return plain and base(node.target) in wanted and not is_training_only(node.value)
    if not isinstance(node, ast.Assign) or isinstance(node.targets[0], (ast.Subscript, ast.Tuple)):
        return False
    name = base(node.targets[0])
    return name in wanted and _computes(node.value, name, labels)


_SCALING = (ast.Mult, ast.Div, ast.Sub, ast.Add, ast.FloorDiv)


def _computes(value: ast.expr, name: str, labels: bool) -> bool:
    """Arithmetic on the old value, or for labels another numbering."""
    if _legitimate(value):
        return False
    for node in of(value, ast.BinOp):
        if isinstance(node.op, _SCALING):
            if any(base(n) == name for n in of(node, ast.Name, ast.Attribute)):
                return True
    return labels and any(last_name(n.func) in ("index", "map") for n in of(value, ast.Call))


def _selects(value: ast.expr) -> bool:
    """`train_x[train_y < 4]`, `train_x[:100]`, `data.train_x`: other samples, processed as they were."""
    if isinstance(value, (ast.Subscript, ast.Name, ast.Attribute)):
        return True
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):  # `[texts[i] for i in train_ids]`
        return isinstance(value.elt, ast.Name) or (
            isinstance(value.elt, ast.Subscript) and isinstance(value.elt.slice, ast.Name)
        )
    if isinstance(value, ast.BinOp):  # `train_mask + val_mask` of the nodes of a graph: more samples
        return all(words(unparse(s))[-1:] == ["mask"] for s in (value.left, value.right))
    return isinstance(value, ast.Call) and last_name(value.func) in (
        "ConcatDataset",
        "ChainDataset",
        "concatenate_datasets",
        "Subset",
        "filter",
        "select",
        "sample",
        "head",
        "take",
        "dropna",
    )


_LABELS = ("label", "target", "_y", "y_")


def _names_labels(name: str) -> bool:
    """`train_labels`, `val_y`, `y_test`: labels by their name."""
    lower = name.lower()
    return any(w in lower for w in _LABELS) or lower.endswith("y")


_HANDS_OUT = re.compile(r"(?:Loader|Dataset|Sampler|Subset)$")


def _pairs(node: Change, labels: bool, found: dict[tuple[str, str], list[Change]]) -> None:
    """`train_y, val_y = f(train_labels), g(val_labels)`: each half as a statement of its own."""
    if not isinstance(node, ast.Assign):
        return
    target, value = node.targets[0], node.value
    if not (
        isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    ):
        return
    if len({doing(v) for v in value.elts}) == 1:
        return  # one thing is done to all
    parts = {trains(split_of(t.id)) for t in target.elts if isinstance(t, ast.Name)}
    if not {True, False} <= parts and parts not in ({True}, {False}):
        return  # `pred, valid = model(x), mask_of(y)`: a word alone may mean something else
    for one, made in zip(target.elts, value.elts, strict=True):
        split = split_of(one.id) if isinstance(one, ast.Name) else None
        if isinstance(made, ast.Call) and (
            last_name(made.func) in JOINS or _HANDS_OUT.search(last_name(made.func))
        ):
            continue  # more rows of its own, or what hands them out
        if split and isinstance(one, ast.Name) and _takes_data_of(made, split) and not _legitimate(made):
            if _names_labels(one.id) == labels and not _is_figure(one.id):
                half = ast.copy_location(ast.Assign(targets=[one], value=made), node)
                found.setdefault((split, _stem(one.id, split)), []).append(half)


_SIZES = re.compile(
    r"rows|size|len|num|count|(?:^|_)n(?:_|$)|samples|seed|frac|ratio|share|path|dir|file|name"
)


def _takes_data_of(made: ast.expr, split: str) -> bool:
    """The value is made of data that are called like the split, not of their number, seed or place."""
    called = {c.func for c in of(made, ast.Call)}  # `run.train_epoch(), run.validate()`: figures
    nodes = [n for n in of(made, ast.Name, ast.Attribute) if n not in called]
    names = [n.id if isinstance(n, ast.Name) else n.attr for n in nodes]
    return any(split in name.lower() and not _SIZES.search(name.lower()) for name in names)


def _counterparts(split: str) -> tuple[str, ...]:
    return EVALUATION if split == "train" else ("train",)


def _is_assigned(source: Script, stem: str, split: str) -> bool:
    """The other split's data exist under the same name: `val_set.data` beside `train_set`."""
    wanted = stem.replace("*", split).split(".")[0]
    named: Iterable[ast.Name | ast.Attribute] = source.of(ast.Name, ast.Attribute)
    if stem == "*":  # `val` beside a method `train()` is a value; `train` must hold something, too
        if _is_printed_number(source, wanted):
            return False
        named = [n for n in named if isinstance(n.ctx, ast.Store)]
        if any(a.arg.lower() == wanted for a in source.of(ast.arg)):
            return True
    return any((n.id if isinstance(n, ast.Name) else n.attr).lower() == wanted for n in named)


def _of_another_function(source: Script, node: Change, stem: str, split: str, other: str) -> bool:
    """The function holds both splits of its own by other words: a program by itself beside another one."""
    function = source.function_around(node)
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if function is None or not isinstance(target, ast.Name):
        return False
    own = {n.id.lower() for n in of(function, ast.Name)}
    held = {stem.replace("*", word).split(".")[0]: word for word in _counterparts(split)}
    return stem.replace("*", other).split(".")[0] not in own and bool(own & held.keys())


_AS_NUMBER = re.compile(r"[\d.,+ ]*[efgEG%]")


def _is_printed_number(source: Script, name: str) -> bool:
    """`f"val={val:.4f}"`, `val = loss.item()`: the figure of an evaluation, not its data."""
    for shown in source.of(ast.FormattedValue):
        spec = "".join(str(p.value) for p in of(shown.format_spec, ast.Constant)) if shown.format_spec else ""
        if (
            isinstance(shown.value, ast.Name)
            and shown.value.id.lower() == name
            and _AS_NUMBER.fullmatch(spec)
        ):
            return True
    given = [n.value for n in source.of(ast.Assign) for t in n.targets if unparse(t).lower() == name]
    return bool(given) and all(
        isinstance(v, ast.Call) and last_name(v.func) in ("item", "float") for v in given
    )


def _taken_from(source: Script, stem: str, split: str, other: str, node: ast.AST) -> bool:
    """The other split is cut out of this one behind the statement: `self.x_val = x_train[-n:]`."""
    mine, theirs = (stem.replace("*", s).split(".")[-1] for s in (split, other))
    scope = source.function_around(node) or source.tree
    return any(
        last_name(one).lower() == theirs
        and any(plain_words(n.id) == mine for n in of(value, ast.Name))
        and one.lineno > getattr(node, "lineno", 0)
        for made in of(scope, ast.Assign)
        for target, value in assigned(made)
        for one in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(one, (ast.Name, ast.Attribute))
    )
