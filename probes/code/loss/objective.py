"""Losses in scripts: overlaps that are not turned round, weights upside down, swapped arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...by_hand.overlaps import broken_overlap
from ...by_hand.survival import broken_hazards
from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name, loss_name
from ...registry import Finding, View, probe
from ...scripts import graph_facts
from ...scripts.flow import flow, losses, returns
from ...scripts.syntax import Function, Script
from ..mindspore.steps import competing_tags
from ..model.operators import outputs_of
from ..shared.checks import at, first, ok
from ..shared.factors import without_floor
from ..shared.nodes import is_negative, is_true
from ..shared.sides import either, literal
from ..tensorflow.answers import loss_of_other_answers
from ..tensorflow.slips import classes_of_one_output, exclusive_by_sigmoid
from .kinds_apart import classes_for_numbers, exchanged, form_of_answers, noise_for_classes
from .one_hot_places import places_exchanged_in_one_hot, softmax_over_the_batch
from .weighed_by_shares import weighed_by_shares

_OVERLAP = re.compile(r"dice|jaccard|tversky|(?:^|_)iou|overlap", re.IGNORECASE)
_SCORES = re.compile(r"logit|score|pred|output", re.IGNORECASE)
_SQUASHES = ("softmax", "sigmoid", "log_softmax", "argmax", "exp", "Softmax", "Sigmoid", "activation", "tanh")


@probe()
def overlap_loss_wrong(view: View) -> Finding:
    """A Dice or IoU term that training adds up is not turned into 1 - x, or is taken of logits.

    Only functions that a loss adds up or hands to backward; a metric of the same name is left aside.
    """
    return first(
        view,
        either(_worked_out, _overlap, places_exchanged_in_one_hot, softmax_over_the_batch),
        "the scripts write out no loss of an overlap",
    )


def _worked_out(source: Script) -> Finding | None:
    """A class or function that is named after such a loss, worked out on made answers."""
    found = broken_overlap(source) or broken_hazards(source)
    return at(source, *found) if found is not None else None


def _overlap(source: Script) -> Finding | None:
    seen = None
    for function, calls in _overlap_losses(source):
        seen = seen or function
        for value in returns(function):
            if _falls(source, function, value) or any(_turned(source, c) for c in calls):
                continue
            if _is_ratio(source, value):
                return at(source, value, "the overlap itself is minimised: nothing turns it into 1 - x")
        names = [a.arg for a in function.args.args if "logit" in a.arg.lower()]
        names = names or [n for c in calls if (n := _scores_given(source, c))]
        used = _called(source, function)
        if names and not used & set(_SQUASHES):
            return at(
                source,
                function,
                f"the overlap is taken of {names[0]}, which no softmax or sigmoid has bounded",
            )
    return (
        ok(source, seen, "the overlap of probabilities is turned into a loss") if seen is not None else None
    )


def _called(source: Script, function: Function, depth: int = 2) -> set[str]:
    """What a function calls, and what functions of the program call for it: they may bound the scores."""
    names = {last_name(n.func) for n in of(function, ast.Call)}
    for name in sorted(names) if depth else ():
        for other in flow(source).functions.get(name, ()):
            if other is not function:
                names |= _called(source, other, depth - 1)
    return names


def _scores_given(source: Script, call: ast.Call) -> str:
    """The name of what a call is given first, where a loss of raw scores beside it is given the same."""
    name = unparse(call.args[0]) if call.args and isinstance(call.args[0], ast.Name) else ""
    function = source.function_around(call)
    for other, kind in losses(source):
        raw = "logits" in kind or kind.replace("_", "") in ("crossentropyloss", "crossentropy")
        if (
            raw
            and other.args
            and unparse(other.args[0]) == name
            and source.function_around(other) is function
        ):
            stored = [
                n
                for n in of(function or source.tree, ast.Name)
                if n.id == name and isinstance(n.ctx, ast.Store) and other.lineno < n.lineno <= call.lineno
            ]
            return "" if stored else name
    return ""


def _overlap_losses(source: Script) -> Iterator[tuple[Function, list[ast.Call]]]:
    """Functions of an overlap whose value is added up in a loss function, or that backward gets."""
    mine = flow(source)
    for name, functions in mine.functions.items():
        if not _OVERLAP.search(name):
            continue
        calls = [c for c in source.named(name) if any(_is_minimised(p) for p in source.above(c))]
        for function in functions:
            if calls:
                yield function, calls
    for name, owner in source.classes.items():
        told = re.search(r"(?i)loss", name) and _OVERLAP.search(name.lower().replace("loss", ""))
        if not told or re.search(r"(?i)softmax|sigmoid|activ|normali[sz]", unparse(owner)):
            continue  # what bounds the scores may be an attribute
        calls = [c for c in source.calls if mine.made(c.func) is owner and c.args]
        for function in source.forwards:
            if calls and function in owner.body:
                yield function, calls


def _is_minimised(node: ast.AST) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return bool(re.search(r"loss|criterion|objective|training_step", node.name.lower()))
    if isinstance(node, ast.Assign):
        return any("loss" in unparse(t).lower() for t in node.targets)
    return isinstance(node, ast.AugAssign) and "loss" in unparse(node.target).lower()


def _falls(source: Script, function: Function, value: ast.expr) -> bool:
    """`1 - x`, `-x`, `-log(x)`: somewhere in what is given back."""
    for end in (value, *flow(source).values(value, 4)):
        for node in walk(end):
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.Sub)
                and unparse(node.left) in ("1", "1.0")
            ):
                return True
            if is_negative(node) and not isinstance(node.operand, ast.Constant):
                return True
    return any(isinstance(n.op, ast.Sub) and unparse(n.left) in ("1", "1.0") for n in of(function, ast.BinOp))


def _turned(source: Script, call: ast.Call) -> bool:
    parent = source.parents.get(call)
    return (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub) and parent.right is call
    ) or isinstance(parent, ast.UnaryOp)


def _is_ratio(source: Script, value: ast.expr) -> bool:
    """What is given back is a quotient, or the mean of one."""
    ends = [value, *flow(source).values(value, 4)]
    for end in ends:
        inner = end.func.value if isinstance(end, ast.Call) and isinstance(end.func, ast.Attribute) else end
        for one in (inner, *flow(source).values(inner, 3)):
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
                return True
    return False


# ------------------------------------------------------------------------------------------- class weights


@probe()
def class_weights_upside_down(view: View) -> Finding:
    """Class weights that grow with the number of samples, or `pos_weight` as positives over negatives."""
    return first(
        view, either(_upside_down, weighed_by_shares), "the scripts weigh no classes by their counts"
    )


_WEIGHTS = re.compile(r"(?:class|pos|label)_?weights?$", re.IGNORECASE)
_COUNTS = re.compile(
    r"(?:^|_)(?:counts?|freq\w*|num_per_class|n_per_class|support|cnts?|histogram)(?:_|$)", re.IGNORECASE
)


def _upside_down(source: Script) -> Finding | None:
    seen = None
    for node, value in _weights_made(source):
        for quotient in (n for n in of(value, ast.BinOp) if isinstance(n.op, ast.Div)):
            above, below = _names_in(quotient.left), _names_in(quotient.right)
            seen = seen or node
            if _side(above) == "pos" and _side(below) == "neg" and "pos" in _label_of(node):
                return at(source, node, "positives over negatives: the rare side gets the smaller weight")
            if _over_the_rest(quotient) and "pos" in _label_of(node) and _of_ones(source, quotient.left):
                return at(source, node, "positives over negatives: the rare side gets the smaller weight")
            inverted = _inverted(value) or _turned_over(source, quotient)
            if [_counted(source, quotient.left), _counted(source, quotient.right)] == [1, 0]:
                if "pos" in _label_of(node) and not inverted:
                    return at(source, node, "positives over negatives: the rare side gets the smaller weight")
            if _bare(source, quotient.left) and not _bare(source, quotient.right) and not inverted:
                return at(
                    source, node, "the weight grows with the number of samples: common classes get more"
                )
    if (drawn := _drawn_by_counts(source)) is not None:
        return at(source, drawn, "samples are drawn the more often the more of their class there are")
    return ok(source, seen, "rare classes get the larger weights") if seen is not None else None


def _counted(source: Script, node: ast.expr) -> int | None:
    """The label whose samples are counted, of two: `(y == 1).sum()`, `np.sum(y == 0)`, `(y > 0).sum()`."""
    inner: ast.expr = node
    for _ in range(4):
        given_ = flow(source).whole_given(inner)
        if given_ is None:
            break
        inner = given_
    tests = list(of(inner, ast.Compare))
    if len(tests) != 1 or len(tests[0].ops) != 1 or not re.search(r"sum|count|len\(|mean", unparse(inner)):
        return None
    told = literal(source, tests[0].comparators[0])
    sign = tests[0].ops[0]
    if isinstance(sign, (ast.Eq, ast.NotEq)) and told in (0, 1):
        return int(told == 1) if isinstance(sign, ast.Eq) else int(told != 1)
    return 1 if isinstance(sign, ast.Gt) and told in (0, 0.5) else None


def _drawn_by_counts(source: Script) -> ast.AST | None:
    """`WeightedRandomSampler([counts[l] for l in labels], ...)`: the count itself, not one over it."""
    for call in source.named("WeightedRandomSampler"):
        first_ = call.args[0] if call.args else keyword(call, "weights")
        for value in [first_, *flow(source).values(first_, 4)] if first_ is not None else ():
            element = value.elt if isinstance(value, ast.ListComp) else value
            while isinstance(element, ast.Call) and (element.args or isinstance(element.func, ast.Attribute)):
                if last_name(element.func) not in (*_PLAIN, "item", "double", "tolist", "to"):
                    break
                handed = last_name(element.func) in _PLAIN and element.args
                element = element.args[0] if handed else element.func.value  # type: ignore[attr-defined]
            if isinstance(element, ast.Subscript) and isinstance(element.value, ast.Name):
                if not isinstance(element.slice, ast.Slice) and _counts_classes(source, element.value):
                    return call
    return None


_PLAIN = ("float", "int", "tensor", "as_tensor", "from_numpy", "asarray", "array", "DoubleTensor")
_COUNTERS = ("bincount", "Counter", "value_counts")


def _counts_classes(source: Script, name: ast.Name) -> bool:
    """The name holds the number of samples of each class, as they were counted."""
    given_ = flow(source).given(name)
    if given_ is None or any(unparse(n.target).startswith(name.id) for n in source.of(ast.AugAssign)):
        return False
    value: ast.expr = given_.value
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        called = last_name(value.func)
        if called in _COUNTERS:
            return True
        if called == "unique" and keyword(value, "return_counts") is not None:
            return given_.places == (1,)
        if called not in ("float", "double", "numpy", "to", "astype", "tolist", "to_dict", "cpu"):
            return False
        value = value.func.value
    return isinstance(value, ast.Call) and last_name(value.func) == "Counter"


def _weights_made(source: Script) -> Iterator[tuple[ast.AST, ast.expr]]:
    for node in source.of(ast.Assign, ast.Return):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            if _WEIGHTS.search(last_name(node.targets[0])):
                yield node, node.value
        elif isinstance(node, ast.Return) and node.value is not None:
            if _WEIGHTS.search(source.function_name(node)):
                yield node, node.value
                for end in flow(source).values(node.value, 3):
                    yield node, end
    for call in source.named("BCEWithLogitsLoss", "binary_cross_entropy_with_logits"):
        given = keyword(call, "pos_weight")
        if isinstance(given, ast.Name) and not _WEIGHTS.search(given.id):
            for end in flow(source).values(given, 3):
                yield call, end


def _of_ones(source: Script, counts: ast.expr) -> bool:
    """A sum or a mean of the labels as they are: how many of them are one. Not `(y == 0).sum()`."""
    ends = [counts, *flow(source).values(counts, 6)]
    texts = [unparse(e) for e in ends]
    summed = any(re.search(r"\.(?:sum|mean|count_nonzero)\(", t) for t in texts)
    other = any(re.search(r"1(?:\.0)? - |== 0|~|!= 1|logical_not|(?i:neg|zero|normal|< )", t) for t in texts)
    return summed and not other


def _over_the_rest(quotient: ast.BinOp) -> bool:
    """`n / (total - n)`, the one below maybe with a floor."""
    below = without_floor(quotient.right)
    return (
        isinstance(below, ast.BinOp)
        and isinstance(below.op, ast.Sub)
        and unparse(below.right) == unparse(quotient.left)
    )


def _label_of(node: ast.AST) -> str:
    if isinstance(node, ast.Assign):
        return last_name(node.targets[0]).lower()
    return "pos"  # of a function of weights, or handed over as `pos_weight`


def _names_in(node: ast.AST) -> list[str]:
    return [last_name(n).lower() for n in of(node, ast.Name, ast.Attribute)]


def _side(names: list[str]) -> str:
    pos = any(re.match(r"(?:n_|num_)?pos(?:itives?)?(?:$|_)", n) for n in names)
    neg = any(re.match(r"(?:n_|num_)?neg(?:atives?)?(?:$|_)", n) for n in names)
    return "pos" if pos and not neg else "neg" if neg and not pos else ""


def _bare(source: Script, node: ast.expr) -> bool:
    """Counts of classes take part one by one, not by their sum or their number."""
    for one in of(node, ast.Name, ast.Attribute):
        if _COUNTS.search(last_name(one)):
            around = [p for p in source.above(one) if isinstance(p, ast.Call)]
            inner = [c for c in around if any(n is c for n in walk(node))]
            if not any(last_name(c.func) in ("sum", "len", "max", "min", "mean") for c in inner):
                return True
    return False


def _turned_over(source: Script, node: ast.expr) -> bool:
    """The quotient is divided by, or raised to a power below zero, further out."""
    inner: ast.AST = node
    for parent in source.above(node):
        if isinstance(parent, ast.BinOp):
            power = isinstance(parent.op, ast.Pow) and unparse(parent.right).lstrip("(").startswith("-")
            if power or (isinstance(parent.op, (ast.Div, ast.Sub)) and parent.right is inner):
                return True
        if isinstance(parent, ast.stmt):
            break
        inner = parent
    return False


def _inverted(value: ast.expr) -> bool:
    """`1 / w`, `1 - w`, or a power below zero on the way."""
    text = unparse(value)
    return bool(re.search(r"1(?:\.0)? ?[/-]|\*\* ?-|reciprocal|power\(.*-", text))


# ----------------------------------------------------------------------------------------------- arguments


@probe()
def loss_arguments_swapped(view: View) -> Finding:
    """Arguments stand in another order than their names: `one_hot(y, n, off, on)`, `nll_loss(y, out)`."""
    checks = either(_swapped, exchanged)
    return first(view, checks, "the scripts call no function whose arguments are easily swapped")


_ANSWERS = re.compile(r"^(?:(?:batch_|train_|b_)?(?:labels?|targets?)|y|y_true|gt|y_batch|batch_y)$")
_SCORES = re.compile(r"^(?:(?:batch_|train_|b_)?(?:logits?|preds?|outputs?)|scores?|y_pred|y_hat|out)$")


def _swapped(source: Script) -> Finding | None:
    seen = None
    for call in source.named("one_hot", "OneHot"):
        if len(call.args) >= 4:
            seen = seen or call
            names = [last_name(a).lower() for a in call.args[2:4]]
            if "off" in names[0] and "on" in re.split(r"_", names[1]):
                return at(source, call, "the value for the class and the one for the others are swapped")
    for call, kind in losses(source):
        if (
            len(call.args) < 2
            or kind in graph_facts.LOSSES
            or kind in ("mseloss", "l1loss", "mse_loss", "l1_loss", "")
        ):
            continue
        seen = seen or call
        if kind.startswith(("bce", "binary_cross_entropy")) and _is_made(source, call.args[0]):
            if not _is_made(source, call.args[1]):
                return at(source, call, "the first argument is a constant, as only answers can be")
        names = [last_name(a).lower() for a in call.args[:2]]
        keras = "categorical" in kind or "binarycross" in kind
        first_, second = names if not keras else names[::-1]
        if _ANSWERS.match(first_) and _SCORES.match(second):
            return at(source, call, "answers and predictions are swapped")
    for one in graph_facts.graph_losses(source):
        if one.takes.of == "numbers":
            continue  # a squared error knows no order
        names = [last_name(e).lower() for e in (one.labels, one.scores)]
        told = isinstance(one.scores, ast.Call) and names[1] == "one_hot"
        if _SCORES.match(names[0]) and (_ANSWERS.match(names[1]) or told):
            return at(source, one.call, "answers and predictions are swapped")
    return ok(source, seen, "arguments stand in the order of their names") if seen is not None else None


_MAKES = (
    "ones_like",
    "zeros_like",
    "ones",
    "zeros",
    "full",
    "full_like",
    "new_full",
    "new_ones",
    "new_zeros",
)


def _is_made(source: Script, node: ast.expr) -> bool:
    """A tensor of one number, that nothing was filled into."""
    ends = flow(source).values(node, 3)
    for _ in range(3):
        ends = [
            v.func.value
            if isinstance(v, ast.Call)
            and isinstance(v.func, ast.Attribute)
            and last_name(v.func)
            in ("to", "cuda", "float", "detach", "type_as", "unsqueeze", "type", "double")
            else v
            for v in ends
        ]
    return bool(ends) and all(isinstance(v, ast.Call) and last_name(v.func) in _MAKES for v in ends)


@probe()
def class_loss_on_numbers(view: View) -> Finding:
    """A loss for classes is given returns, rewards or values that are fitted, by their names.

    False positive: values that are split into bins, which are left aside where something says so.
    """
    checks = either(
        *(_class_loss, competing_tags, classes_for_numbers, form_of_answers, noise_for_classes),
        *(classes_of_one_output, exclusive_by_sigmoid, loss_of_other_answers),
    )
    return first(view, checks, "the scripts compute no loss of returns or values")


_FITTED = re.compile(
    r"(?i)(?:^|_)(?:td_target|target_q|q_target|target_values?|target_q_values|current_q|returns?|rewards?|advantages?)"
    r"(?:_|\d|$)"
)
_OF_CLASSES = re.compile(
    r"(?i)logit|prob|dist|support|hot|bin|atom|token|ids?$|class|categ|label|log_pi|chosen|pmf"
)


def _class_loss(source: Script) -> Finding | None:
    seen = None
    for call, kind in losses(source):
        given = [*call.args[:2], *(k.value for k in call.keywords if k.arg in ("input", "target"))]
        names = [n for a in given for n in _names_in(a)]
        if not any(_FITTED.search(n) for n in names) or any(_OF_CLASSES.search(n) for n in names):
            continue
        seen = seen or call
        if kind in ("crossentropyloss", "cross_entropy"):
            return at(source, call, f"{loss_name(kind)} is for classes, and what is fitted here are numbers")
    return ok(source, seen, "numbers are fitted by a loss for numbers") if seen is not None else None


@probe()
def keras_output_activated(view: View) -> Finding:
    """A Keras output layer has an activation, and the loss is one on logits of TensorFlow's own."""
    return first(view, _activated, "no loss on logits of TensorFlow in the scripts")


_ON_LOGITS = (
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
)


def _made_for_logits(source: Script) -> list[ast.Call]:
    """Losses of a step of one's own, all made with `from_logits=True`; `compile` is judged elsewhere."""
    made = source.named("SparseCategoricalCrossentropy", "CategoricalCrossentropy", "BinaryCrossentropy")
    compiled = any(keyword(c, "loss") is not None for c in source.named("compile"))
    asked = [c for c in made if (told := keyword(c, "from_logits")) is not None and is_true(told)]
    return asked if asked and len(asked) == len(made) and not compiled else []


def _activated(source: Script) -> Finding | None:
    calls = source.named(*_ON_LOGITS) or _made_for_logits(source)
    if not calls:
        return None
    for call in calls:
        scores = keyword(call, "logits")
        for end in flow(source).values(scores, 4) if scores is not None else ():
            if isinstance(end, ast.Call) and last_name(end.func) in ("softmax", "sigmoid"):
                return at(source, end, "probabilities are given as logits, and the loss applies its own")
    for ends, node in outputs_of(source):
        made = flow(source).given(node.func) if isinstance(node, ast.Call) else None
        layer = made.value if made is not None else node
        given = keyword(layer, "activation") if isinstance(layer, ast.Call) else None
        word = given.value if isinstance(given, ast.Constant) else ends
        if word in ("sigmoid", "softmax"):
            return at(source, layer, f"the output goes through {word}, and the loss applies its own")
    return ok(source, calls[0], "the loss gets raw outputs")
