"""Losses in scripts that fit something else than what is scored: numbers for classes, classes for numbers.

Also losses whose form does not fit the answers: indices for one-hot rows, several labels that a softmax makes
compete, predictions where answers belong.
"""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import answers_first, flow
from ...scripts.minimised import handed, loss_objects, losses
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import factors, is_false, is_true, signed_terms
from ..tensorflow.keras import Compiled, compiled
from .cuts import MADE_ANEW, of_model, runs_model
from .output_kind import width
from .shapes import kept_targets

_OF_NUMBERS = re.compile(
    r"^(?:mse|mae|rmse|msle|mape|mean_?squared_?(?:logarithmic_?)?error|mean_?absolute_?(?:percentage_?)?error|huber(?:loss)?"
    r"|log_?cosh|l1_?loss|mse_?loss|smooth_?l1_?loss|mae_?loss|rmse_?loss|root_?mean_?squared_?error|r2_?score)$",
    re.I,
)
_OF_CLASSES = re.compile(
    r"^(?:sparse_?)?(?:categorical|binary)_?(?:focal_?)?crossentropy$|^cross_?entropy(?:_?loss)?$|^nll_?loss$"
    r"|^bce(?:_?with_?logits)?_?loss$|^binary_cross_entropy(?:_with_logits)?$|^softmax_?cross_?entropy_?with_?logits$"
    r"|^(?:sparse_)?(?:softmax|sigmoid)_cross_entropy_with_logits(?:_v2)?$",
    re.I,
)
_COUNTED = re.compile(
    r"^(?:acc|accuracy|(?:sparse_?)?(?:top_?k_?)?(?:categorical|binary)_?accuracy|auc|top_?\d\w*|f1\w*|fbeta\w*|precision"
    r"|recall|confusion_?matrix\w*|top_?\d_?categorical_?accuracy)$",
    re.I,
)
# scores of two classes by chances or by what is decided, as scikit-learn calls them
_OF_RANKS = (
    *("roc_auc_score", "average_precision_score", "f1_score", "accuracy_score"),
    *("balanced_accuracy_score", "precision_recall_fscore_support", "matthews_corrcoef"),
)
# rows are told apart by how far they are from what was expected
_BY_DISTANCE = re.compile(r"(?i)anomal|novelt|outlier|residual|distill|calibrat|brier")
_ONE_HOT = re.compile(
    r"(?i)to_categorical|one_?hot|get_dummies|\beye\(|label_binarize|LabelBinarizer|label_mode"
)


def _loss_kinds(source: Script) -> dict[str, ast.AST]:
    """Every loss that the script names in training, with its place."""
    found: dict[str, ast.AST] = {}
    for call, kind in (*loss_objects(source), *losses(source)):
        if kind:
            found.setdefault(kind, call)
    for _, loss in handed(source):
        if isinstance(loss, ast.Constant) and isinstance(loss.value, str):
            found.setdefault(loss.value, loss)
    return found


def _metric_names(source: Script) -> set[str]:
    """Metrics by their names: what `compile` and MindSpore's `Model` are told, and objects of metrics."""
    found: set[str] = set()
    for call in source.named("compile", "Model", "Trainer"):
        told = keyword(call, "metrics")
        if told is None:
            continue
        for node in (told, *flow(source).values(told, 3)):
            found |= {n.value for n in of(node, ast.Constant) if isinstance(n.value, str)}
            found |= {last_name(c.func) for c in of(node, ast.Call)}
    for call in source.calls:
        if source.owner(call).endswith(("metrics", "tfm")) and last_name(call.func)[:1].isupper():
            found.add(last_name(call.func))
    return found


def _measured(source: Script) -> tuple[bool, bool]:
    """Whether the script scores numbers, and whether it scores classes."""
    names = _metric_names(source)
    numbers = any(_OF_NUMBERS.match(n) for n in names)
    classes = any(_COUNTED.match(n) for n in names)
    for node in source.of(ast.Compare):
        if any(isinstance(op, ast.Eq) for op in node.ops):
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Constant) for side in sides):
                continue  # which action was chosen is asked, not whether an answer is right
            ends = [e for s in sides for e in (s, *flow(source).values(s, 3))]
            classes = classes or any(
                last_name(c.func) in ("argmax", "Argmax") for e in ends for c in of(e, ast.Call)
            )
    squashed = source.named("sigmoid", "Sigmoid", "softmax", "Softmax")
    if squashed and not _BY_DISTANCE.search(source.code):
        classes = classes or bool(source.named(*_OF_RANKS))
    for call in source.named("abs", "square"):
        apart = [n for a in call.args[:1] for n in of(a, ast.BinOp) if isinstance(n.op, ast.Sub)]
        if apart and not re.search(r"median|speed|time|memory", unparse(apart[0])):
            if re.search(r"(?i)mae|error|eval|valid|test|score|metric", source.function_name(call)):
                numbers = True
    return numbers, classes


def classes_for_numbers(source: Script) -> Finding | None:
    """All losses fit classes, and all that is scored are numbers."""
    return _apart(source, by_numbers=True)


def numbers_for_classes(source: Script) -> Finding | None:
    """All losses fit numbers, and all that is scored are classes."""
    return _apart(source, by_numbers=False)


def noise_for_classes(source: Script) -> Finding | None:
    """`F.cross_entropy(model(noisy, t), noise)` after `noise = torch.randn(...)`: no classes in it.

    Nor in the targets of a data set that are made as `f(x) + 0.1 * torch.randn(n)`.
    """
    for call, kind in losses(source):
        target = argument(call, "target", position=1) if re.match("cross_?entropy", kind) else None
        if target is None:
            continue
        made = flow(source).values(target, 3)
        drawn = [v for v in made if isinstance(v, ast.Call) and last_name(v.func) in ("randn", "randn_like")]
        if drawn and len(drawn) == len(made):
            return at(source, call, "a loss for classes is given noise to fit, which takes a squared error")
        if _is_input(source, call, target):
            return at(
                source, call, "a loss for classes is given the inputs to fit, which takes a squared error"
            )
        kept = kept_targets(source) if _of_a_loader(source, target) else []
        if kept and all(_is_noisy(source, k) for k in kept):
            return at(source, call, "a loss for classes is given numbers with noise, which no classes are")
    return None


_TOKENS = re.compile(r"(?i)embed|token|vocab|one_?hot|char|(?<![a-z])codes?\b|long\(|int64")


def _is_input(source: Script, call: ast.Call, target: ast.expr) -> bool:
    """`loss_fn(model(x), x)` of a program without tokens: what the model got is to come out again."""
    output = argument(call, "input", position=0)
    if not isinstance(target, ast.Name) or output is None or _TOKENS.search(source.code):
        return False
    ends = [output, flow(source).whole_given(output)]
    return any(
        isinstance(e, ast.Call)
        and [unparse(a) for a in e.args] == [target.id]
        and not e.keywords
        and (runs_model(flow(source), e) or last_name(e.func) in ("model", "net", "autoencoder", "ae", "vae"))
        for e in ends
    )


def _of_a_loader(source: Script, node: ast.expr) -> bool:
    """`yb` of `for xb, yb in loader`, whose data set the script makes itself."""
    return isinstance(node, ast.Name) and any(
        node.id in {n.id for n in of(loop.target, ast.Name)}
        for loop in source.loops_around(node)
        if isinstance(loop, ast.For)
    )


_NOISE = re.compile(r"^(?:randn(?:_like)?|normal|standard_normal)$")


def _is_noisy(source: Script, node: ast.expr) -> bool:
    """`f(x) + 0.1 * torch.randn(n)`: numbers with noise added, whatever their form."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        same = node.func.attr in ("float", "to", "unsqueeze", "view", "reshape", "astype", "double")
        if not same and not (node.func.attr in MADE_ANEW and node.args):
            return False
        node = node.func.value if same else node.args[0]
    if isinstance(node, ast.Name):
        given = flow(source).whole_given(node)
        return given is not None and not isinstance(given, ast.Name) and _is_noisy(source, given)
    return isinstance(node, ast.BinOp) and any(
        isinstance(f, ast.Call) and _NOISE.match(last_name(f.func))
        for _, term in signed_terms(node, 1)
        if term is not node
        for f in factors(term)
    )


_OPEN_ENDS = ("linear", "relu", "elu", "softplus")


def gives_number(source: Script, one: Compiled) -> bool:
    """The model ends in one output that no activation bounds: a number is predicted, whatever is scored.

    Accuracy beside it is often asked for, and says nothing (https://stackoverflow.com/questions/48934338).
    """
    return one.layer is not None and one.ends in _OPEN_ENDS and width(source, one.layer) == 1


_FITTED = re.compile(r"(?i)value|return|reward|(?:\b|_)(?:q|td)_|advantage|bbox|boxes|depth")


def _apart(source: Script, *, by_numbers: bool) -> Finding | None:
    if source.loose:
        return None
    kinds = _loss_kinds(source)
    if not kinds or re.search(
        r"(?i)\bbins?\b|expectation|ordinal|histogram|one_?hot|recon|autoenc|\bgan\b|spik", source.code
    ):
        return None
    if not by_numbers and re.search(r"(?i)cross_?entropy|nll_?loss|\bbce", source.code):
        return None  # which one is in force is told at run time
    numbers, classes = _measured(source)
    of_numbers = [n for k, n in kinds.items() if _OF_NUMBERS.match(k)]
    of_classes = [n for k, n in kinds.items() if _OF_CLASSES.match(k)]
    if by_numbers and len(of_classes) == len(kinds) and numbers and not classes:
        if not any(c.ends in ("sigmoid", "softmax") for c in compiled(source)):
            return at(source, of_classes[0], "this loss is for classes, and what is scored are numbers")
    if not by_numbers and len(of_numbers) == len(kinds) and classes and not numbers:
        if any(_FITTED.search(unparse(n)) for n in of_numbers):
            return None  # values and returns are fitted beside actions that are classes
        if any(gives_number(source, c) for c in compiled(source)):
            return None
        return at(source, of_numbers[0], "this loss is for numbers, and what is scored are classes")
    return None


def form_of_answers(source: Script) -> Finding | None:
    """One-hot rows are expected and indices given; labels that stand together compete."""
    return _indices_for_rows(source) or _competing(source) or _competing_by_hand(source)


def _indices_for_rows(source: Script) -> Finding | None:
    """A loss on one-hot rows in a script that makes none, and whose labels are indices."""
    if source.loose or _ONE_HOT.search(source.code):
        return None
    if "mindspore" in source.frameworks:
        for call in source.named("SoftmaxCrossEntropyWithLogits"):
            sparse = argument(call, "sparse", position=0)
            dense = sparse is None or is_false(sparse)
            indices = source.named(*_FOLDERS) or re.search(
                r"TypeCast\((?:\w+\.)*int32\)|astype\(np\.int32\)", source.code
            )
            if dense and indices and not any(k.arg is None for k in call.keywords):
                return at(
                    source, call, "this loss takes one-hot rows unless sparse=True, and labels are indices"
                )
    if {"keras", "tensorflow"} & set(source.frameworks):
        for kind, node in _loss_kinds(source).items():
            if any(k.lower().startswith("sparse") for k in _loss_kinds(source)):
                continue  # that one gets the indices, and this one distributions
            if re.match(r"(?i)^categorical_?crossentropy$", kind) and _are_indices(source):
                return at(source, node, "this loss takes one-hot rows, and the labels are indices")
    return None


_FOLDERS = ("ImageFolderDataset", "Cifar10Dataset", "MnistDataset", "Cifar100Dataset", "FashionMnistDataset")


def _are_indices(source: Script) -> bool:
    """Labels come as indices: of Keras' own data sets, counted by `enumerate`, or scored as indices."""
    if any(n.startswith(("SparseCategorical", "SparseTopK", "sparse_")) for n in _metric_names(source)):
        return True
    if any("datasets" in source.owner(c) for c in source.named("load_data")):
        return True
    counted = {
        n.id
        for loop in source.of(ast.For)
        if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate"
        if isinstance(loop.target, ast.Tuple) and isinstance(n := loop.target.elts[0], ast.Name)
    }
    return any(
        isinstance(a, ast.Name) and a.id in counted and re.search(r"(?i)label|target|class", source.owner(c))
        for c in source.named("append")
        for a in c.args
    )


def _competing(source: Script) -> Finding | None:
    """A softmax over labels that stand together: before a binary loss, or where several are scored."""
    several = any(
        is_true(k.value) for c in source.calls for k in c.keywords if k.arg in ("multi_label", "multilabel")
    )
    for one in compiled(source):
        if one.ends == "softmax" and one.layer is not None:
            if one.takes == "binary":
                return at(
                    source, one.layer, "a softmax makes classes compete, and this loss takes each by itself"
                )
            if one.takes == "classes" and several:
                return at(source, one.layer, "a softmax makes labels compete that are scored each by itself")
    return None


_SEVERAL = re.compile(
    r"(?i)multi_?-?label|multi_?-?hot|MultiLabelBinarizer|average=['\"]samples|up to \w+ (?:tags|labels)"
)


def _competing_by_hand(source: Script) -> Finding | None:
    """`binary_cross_entropy(softmax(logits), tags)`, where each label is scored by a sigmoid of its own."""
    alone = any(
        isinstance(c.func, ast.Attribute) and not _in_loss(source, c)
        for c in source.named("sigmoid", "Sigmoid")
    )
    if source.loose or not (alone or _SEVERAL.search(source.text)):
        return None
    mine = flow(source)
    for call in source.calls:
        if not re.match(r"(?i)^(?:bce_?loss|binary_cross_entropy)$", _kind_of(source, call)) or not call.args:
            continue
        for end in (call.args[0], *mine.values(call.args[0], 3)):
            if isinstance(end, ast.Call) and last_name(end.func).lower() == "softmax":
                return at(source, call, "a softmax makes labels compete, and this loss takes each by itself")
    return None


def _kind_of(source: Script, call: ast.Call) -> str:
    """The loss that a call computes: its function, or the class of the object that is called."""
    made = [v for v in flow(source).values(call.func, 2) if isinstance(v, ast.Call)]
    return last_name(made[0].func) if made else last_name(call.func)


def _in_loss(source: Script, call: ast.Call) -> bool:
    return any(_OF_CLASSES.match(last_name(p.func)) for p in source.above(call) if isinstance(p, ast.Call))


def exchanged(source: Script) -> Finding | None:
    """A loss gets the model's output where it takes the answers, and data where it takes the output."""
    mine = flow(source)
    for call, kind in losses(source):
        if (
            len(call.args) < 2
            or not _OF_CLASSES.match(kind)
            or any(k.arg for k in call.keywords if k.arg in _NAMED)
        ):
            continue
        output, answer = call.args[:2][::-1] if answers_first(source, call) else call.args[:2]
        if any(
            isinstance(e, ast.Call) and last_name(e.func) in ("arange", "range", "eye")
            for e in (answer, *mine.values(answer, 3))
        ):
            continue  # numbers of places, whose count the output gives
        if of_model(mine, answer) and not of_model(mine, output) and _is_data(source, output):
            return at(source, call, "answers and predictions are swapped")
    return None


_NAMED = ("input", "target", "labels", "logits", "y_true", "y_pred")


def _is_data(source: Script, node: ast.expr) -> bool:
    """What a loop or a parameter brings, without a call on the way."""
    ends = [node, *flow(source).values(node, 5)]
    return isinstance(node, ast.Name) and not any(isinstance(e, ast.Call) for e in ends)
