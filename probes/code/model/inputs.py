"""What enters the model, in scripts: the target among the inputs, class shares, initial weights."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.syntax import Script
from ..labels.mapped_batches import label_in_text
from ..method.own_answer_fed import batch_gives_answer_twice, entry_gives_answer_twice, step_sees_its_answer
from ..samples.thinned import chance_of_one, classes_thinned, shares_of
from ..shared.checks import at, first, imports_locals, ok
from ..shared.nodes import is_none
from ..shared.sides import either, side

_TARGETS = re.compile(r"(?:^|_)(?:y|ys|label|labels|target|targets|answer|answers)(?:_|$)")
_INPUTS = re.compile(r"(?:^|_)(?:x|xs|feature|features|inputs?|columns|data|df|frame|train)(?:_|$)")


_COLUMNS = re.compile(r"(?:^|_)(?:x|xs|features?|inputs?)(?:_|$)")  # what a network is given, no table


@probe()
def answers_joined(view: View) -> Finding:
    """`x_train = cat([x_train, y_train[:, None]], 1)`: labels are made columns of their inputs."""
    check = either(_joined_to_its_own, label_in_text, shows("target-among-inputs"))
    return first(view, check, "the scripts join nothing to their inputs")


def _joined_to_its_own(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
            continue
        if last_name(value.func) not in JOINS or not _COLUMNS.search(target.id.lower()):
            continue
        parts = [] if source.owner(value) in ("pd", "pandas") else _parts(value)
        names = [_word(n) for n in parts]
        if target.id.lower() not in names or source.function_around(node) in source.forwards:
            continue
        seen = seen or node
        others = [n for n in names if n != target.id.lower()]
        mine = side(target.id)
        for name in others:
            if _TARGETS.search(name) and not _PLACES.search(name) and side(name) is mine:
                if not any(_SEQUENCES.search(n) for n in names) and not _may_be_left_out(source, node):
                    return at(source, node, f"`{name}` is made a column of the inputs")
    return ok(source, seen, "no labels are joined to inputs") if seen is not None else None


@probe()
def target_in_inputs(view: View) -> Finding:
    """A column of the inputs is computed from the labels, or the labels are joined to the inputs.

    `features[:, 7] = labels + ...`, `x = np.column_stack([x, y])`, `df["f"] = df.groupby("c")["target"]...`.
    False positive: models that are conditioned on the label on purpose, which evaluate nothing on it.
    """
    return first(
        view,
        either(_target_inside, step_sees_its_answer, batch_gives_answer_twice, entry_gives_answer_twice),
        "the scripts do not compute columns of their inputs",
    )


def _target_inside(source: Script) -> Finding | None:
    seen = None
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if (
            isinstance(target, ast.Subscript)
            and _is(_INPUTS, target.value)
            and not _is(_TARGETS, target.slice)
            and not _is(_TARGETS, target.value)
            and not (isinstance(target.slice, ast.JoinedStr) and _names_target(target.slice))
        ):
            seen = seen or node
            used = {_word(n) for n in _values(node.value)}
            told = [w for w in used if _TARGETS.search(w) and not _PLACES.search(w)]
            if set(told) <= {"y"} and _of_a_point(node.value):
                continue
            table = isinstance(node.value, ast.Call) and last_name(node.value.func) in (
                "dict",
                "set",
                "sorted",
            )
            # the input is the target, or the target is handed on in a dict under another name
            whole = isinstance(node.value, ast.Name) and (
                _is(_INPUTS, target.slice) or re.search(r"dict|batch|kwargs", _word(target.value)) is not None
            )
            attacked = re.search(r"(?i)attack|advers|fgsm|pgd|perturb", unparse(node.value)) is not None
            part = isinstance(target.value, ast.Subscript) and _own_label(target.value)
            pair = isinstance(node.value, (ast.List, ast.Tuple))  # `parts[name] = [images, labels]`
            if told and not (_own_label(target) or part or pair or table or whole or attacked):
                return at(source, node, "a column of the inputs is computed from the target")
        elif isinstance(target, ast.Name) and _INPUTS.search(target.id.lower()):
            if isinstance(node.value, ast.Call) and last_name(node.value.func) in JOINS:
                seen = seen or node
                parts = [_word(n) for n in _parts(node.value)]
                if all(_SEQUENCES.search(w) for w in parts):
                    continue  # a prompt and its answer make one sequence
                if source.function_around(node) in source.forwards:
                    continue  # a network that is made to get both: a critic, one with conditions
                told = [w for w in parts if _TARGETS.search(w)]
                if told and any(_INPUTS.search(w) for w in parts if w not in told):
                    if _of_grid(source, node.value):
                        continue
                    if not _is_table(node.value) and not _may_be_left_out(source, node):
                        return at(source, node, "the target is joined to the inputs")
    return ok(source, seen, "columns of the inputs come from other inputs") if seen is not None else None


def _of_a_point(value: ast.expr) -> bool:
    """`box(row.x, row.y)`, `zip(df["x"], df["y"])`: both fields of one thing are where it lies."""
    read = {unparse(n) for n in of(value, ast.Attribute, ast.Subscript)}
    ends = ((".x", ".y"), ("['x']", "['y']"))
    return any(r.removesuffix(y) + x in read for x, y in ends for r in read if r.endswith(y))


def _names_target(text: ast.JoinedStr) -> bool:
    """`f"{column}_label"`: a new column of labels."""
    parts = [v.value for v in text.values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
    return any(_TARGETS.search(p.replace("-", "_")) for p in parts)


# Where targets lie and how they are called is no target: `label_files`, `target_names`, `num_labels`.
_PLACES = re.compile(r"files?$|paths?$|dirs?$|names?$|ids?$|^num_|^n_|columns?$|keys?$")
_SEQUENCES = re.compile(r"_ids$|^ids$|tokens?$|frames?$|videos?$|sequences?$|seqs?$|text|prompt|mask")
JOINS = ("column_stack", "hstack", "concatenate", "concat", "cat", "c_")


def _parts(call: ast.Call) -> list[ast.expr]:
    return [e for a in call.args[:1] if isinstance(a, (ast.List, ast.Tuple)) for e in a.elts]


def _of_grid(source: Script, call: ast.Call) -> bool:
    """`xs, ys = meshgrid(a, b)`: places on a grid are joined."""
    names = {n.id for p in _parts(call) for n in of(p, ast.Name)}
    return any(
        isinstance(t, ast.Tuple) and names & {unparse(e) for e in t.elts}
        for n in source.of(ast.Assign)
        if any(last_name(c.func) in ("meshgrid", "mgrid") for c in of(n.value, ast.Call))
        for t in n.targets
    )


def _may_be_left_out(source: Script, node: ast.AST) -> bool:
    """`if y is not None: x = concatenate((x, y))`: what a caller may leave out is not what is learned."""
    tests = [p.test for p in source.above(node) if isinstance(p, ast.If)]
    return any(
        isinstance(t, ast.Compare)
        and isinstance(t.ops[0], ast.IsNot)
        and isinstance(t.left, ast.Name)
        and is_none(t.comparators[0])
        and _TARGETS.search(t.left.id.lower())
        for t in tests
    )


def _is_table(call: ast.Call) -> bool:
    """`pd.concat([x, y])` builds a table that is taken apart again."""
    return isinstance(call.func, ast.Attribute) and unparse(call.func.value) in ("pd", "pandas", "pl")


def _values(node: ast.expr) -> list[ast.expr]:
    """Names and string keys that a value is computed from; conditions and indices only select."""
    if isinstance(node, ast.Subscript):
        key = [node.slice] if isinstance(node.slice, ast.Constant) else []
        return [*_values(node.value), *key]
    if isinstance(node, ast.Compare):
        return []
    if isinstance(node, ast.Call) and last_name(node.func) in ("len", "size", "numel", "type", "isinstance"):
        return []
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype", "ndim", "device", "index"):
        return []
    if isinstance(node, (ast.Name, ast.Constant)):
        return [node]
    if isinstance(node, ast.Attribute):
        return [node, *_values(node.value)]
    return [v for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) for v in _values(child)]


def _word(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value.lower() if isinstance(node.value, str) else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _word(node.func.value)
    if isinstance(node, ast.Subscript):
        return _word(node.value)
    return (
        node.attr.lower()
        if isinstance(node, ast.Attribute)
        else node.id.lower()
        if isinstance(node, ast.Name)
        else ""
    )


def _is(words: re.Pattern[str], node: ast.expr) -> bool:
    return bool(words.search(_word(node)))


def _own_label(target: ast.Subscript) -> bool:
    """`df["label_id"] = df["label"].map(...)`, `batch["labels"] = ...`: the target under a new name."""
    key = target.slice
    text = key.value.lower() if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    return bool(re.search(r"label|target|class|answer|weight|fold|split|^y", text))


@probe()
def fits_before_split(view: View) -> Finding:
    """A scaler or encoder is fitted on data that are split into training and evaluation only later.

    Encoders that only number or list categories learn nothing that a score gains from; one that takes the
    targets as well does.
    """
    return first(
        view, either(_fits_early, shows("statistics-of-scored")), "the scripts split no data by a call"
    )


def _fits_early(source: Script) -> Finding | None:
    splits = source.named("train_test_split", "random_split")
    if not splits:
        return None
    for call in source.named("fit", "fit_transform"):
        owner = source.owner(call).lower()
        targets = len(call.args) > 1 or re.search(r"target|mean|freq|count", owner) is not None
        words = ("scal", "imput", "pca", "select", "normaliz", "vectoriz", *(("encod",) if targets else ()))
        if not any(w in owner for w in words):
            continue
        given = unparse(call.args[0]) if call.args else ""
        same = [s for s in splits if given and any(given == unparse(a) for a in s.args)]
        later = [s for s in splits if s.lineno > call.lineno and "train" not in given.lower()]
        if later and (same or isinstance(source.parents.get(call), ast.Assign)):
            return at(source, call, "this is fitted on all samples before they are split")
    return ok(source, splits[0], "nothing is fitted before the split")


@probe()
def classes_drawn_unevenly(view: View, *, ratio: float) -> Finding:
    """Labels are drawn with given shares, the largest more than `ratio` times the smallest, or thinned so."""
    check = either(
        lambda s: _uneven(s, ratio), lambda s: chance_of_one(s, ratio), lambda s: classes_thinned(s, ratio)
    )
    return first(view, check, "the scripts draw no labels with given shares")


def _uneven(source: Script, ratio: float) -> Finding | None:
    seen = None
    for call in source.named("choice", "choices", "multinomial", "make_classification"):
        shares = keyword(call, "p") or keyword(call, "weights")
        if shares is None and last_name(call.func) == "multinomial" and call.args:
            shares = call.args[0]
        statement = source.statement(call)
        about = unparse(statement.targets[0]).lower() if isinstance(statement, ast.Assign) else ""
        if shares is None or not (
            _TARGETS.search(about) or "class" in unparse(call.func).lower() or "class" in about
        ):
            continue
        numbers = shares_of(source, shares)
        if len(numbers) < 2 or min(numbers) < 0:
            continue
        seen = seen or call
        if max(numbers) >= ratio * max(min(numbers), 1e-9):
            return at(
                source, call, f"classes are drawn with shares from {min(numbers):g} to {max(numbers):g}"
            )
    return ok(source, seen, "classes are drawn with similar shares") if seen is not None else None


_INITIALISERS = (
    "normal_",
    "uniform_",
    "trunc_normal_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "constant_",
    "zeros_",
    "ones_",
    "fill_",
    "zero_",
    "eye_",
    "set_data",
    "initializer",
    "init_weights",
    "_init_weights",
    "copy_",
    "mul_",
)


@probe()
def sets_initial_weights(view: View) -> Finding:
    """The script draws or overwrites initial weights; without a word of it the framework's default acts.

    Absent only where the model is written out in the script itself and none of it is loaded or imported.
    """
    return first(view, _sets_weights, "the scripts do not show how the model is made")


def _averages(source: Script, call: ast.Call) -> bool:
    """`v.mul_(decay).add_(...)`, `shadow.copy_(p)`: weights that follow others (EMA, a target network)."""
    if last_name(call.func) not in ("copy_", "mul_"):
        return False
    held = " ".join(
        n.name.lower() for n in source.above(call) if isinstance(n, (ast.FunctionDef, ast.ClassDef))
    )
    words = f"{held} {unparse(call).lower()}"
    return re.search(r"ema|averag|shadow|target|polyak|momentum|decay|update|swa", words) is not None


def _of_no_weight(source: Script, call: ast.Call) -> bool:
    """A bias, which has no spread; a sum or a counter that starts at zero; noise in a tensor made anew."""
    given = unparse(call.args[0]) if call.args else ""
    owner = source.owner(call)
    return given.endswith(".bias") or given == "'zeros'" or re.search(r"\.new\w*\(", owner) is not None


def _sets_weights(source: Script) -> Finding | None:
    found = [
        c
        for c in source.named(*_INITIALISERS)
        if "grad" not in source.owner(c) and not _averages(source, c) and not _of_no_weight(source, c)
        if source.train_loop is None or source.train_loop not in source.above(c)
    ]
    text = source.code
    if found:
        return at(source, found[0], "the script sets initial weights")
    loaded = any(
        w in text for w in ("load_state_dict", "from_pretrained", "pretrained", "torch.load", "_initializer")
    )
    if loaded or re.search(r"\.weight\b|\.data\.\w+_\(", text) or imports_locals(source):
        return None
    layers = source.named("Linear", "Conv2d", "Conv1d", "Embedding", "LSTM", "GRU", "Dense")
    if not layers or not (source.trains_by_hand or source.named("Trainer")):
        return None
    return ok(source, layers[0], "initial weights are left to the framework")
