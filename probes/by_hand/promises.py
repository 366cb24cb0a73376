"""Functions that are named after a metric, worked out on made cases and held to its definition."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..readers.script import last_name
from ..scripts.syntax import Script
from .arrays import Tensor
from .cases import CUT, KINDS, MISSED, Case, cases
from .definitions import FAMILY, wanted
from .interpreter import Interpreter
from .sizes import TooLong, Unfit
from .things import Names

NEAR = 5e-4  # floors of a denominator stay below it; by chance one of many ways comes as near on both numbers
_WORDS = (
    ("smape", r"smape"),
    ("wape", r"wape|wmape"),
    ("mape", r"mape|mean_absolute_percentage_error"),
    ("rmsle", r"rmsle"),
    ("rmse", r"rmse|root_mean_squared?_error"),
    ("mse", r"mse|mean_squared_error"),
    ("mae", r"mae|mean_absolute_error"),
    ("r2", r"r_?2|r_?squared|r2_score"),
    ("pearson", r"pearson(?:r|_r|_corr\w*)?"),
    ("psnr", r"psnr"),
    ("nms", r"nms|non_?max(?:imum)?_?supp?ression"),
    ("balanced accuracy", r"balanced_acc(?:uracy)?|bacc"),
    ("auc", r"(?:roc_?)?auc(?:_?roc)?(?:_score)?|auroc|roc_auc_score"),
    ("ndcg", r"ndcg"),
    ("dcg", r"dcg"),
    ("mrr", r"mrr|reciprocal_rank"),
    ("hits", r"hit_?(?:rate|ratio)?|hr"),
    (
        "ap",
        r"pr_?auc|auprc|aupr|compute_ap|voc_ap|average_precision|avg_precision|ap|average_precision_score",
    ),
    ("log loss", r"log_?loss|logloss|binary_log_loss"),
    ("brier", r"brier(?:_score)?"),
    ("mcc", r"mcc|matthews\w*"),
    ("specificity", r"specificity|true_negative_rate"),
    ("f1", r"f_?1(?:_?scores?)?"),
    ("precision", r"precisions?"),
    ("recall", r"recalls?|sensitivity"),
    ("iou", r"m?(?:iou|jaccard)s?"),
    ("dice", r"dice(?:_(?:score|coef|coeff|coefficient))?s?"),
    ("accuracy", r"acc|accuracy|accuracies"),
    ("wer", r"wer|cer|(?:word|char|character)_error_rate"),
    ("edits", r"levenshtein(?:_distance)?|edit_?dist(?:ance)?|edits|lev(?:_?dist)?"),
)
_BEFORE = (
    r"(?:_*(?:compute|calc|calculate|get|my|mean|binary|masked|batch|macro|micro|eval|evaluate|val|np|pixel"
    r"|top_?1|score|seg|global|multiclass|multilabel|per_class|class|mask|box|bbox|bb|pair|image|token|word|char)_)*"
)
_AFTER = (
    r"(?:_*(?:score|metric|numpy|np|torch|fn|func|binary|multi|multiclass|multilabel|k|at_?k|at_?n|\d+|per_class"
    r"|by_class|per_image|macro|micro|from_logits|from_scores|from_probs|mean|value|for_user|one|single|coef))*s?"
)
_KINDS = [(kind, re.compile(rf"(?i)^{_BEFORE}(?:{ask}){_AFTER}$")) for kind, ask in _WORDS]
_TRUTH = re.compile(
    r"(?i)^_?(?:y|ys|t|gts?|true|truths?|targets?|tgts?|labels?|lbls?|refs?|references?|actuals?|gold|real|relevant"
    r"|masks?|y_?(?:true|test|val)|\w*_(?:true|labels?|targets?|gts?|truth|masks?|refs?)|(?:true|target|label|truth|gold"
    r"|gt|ref|actual|relevant|test|positive)_?\w+|positives?|gt\w*|pos_items?|ground\w*|observed|obs|hits?)$"
)
_SAID = re.compile(
    r"(?i)^_?(?:p|preds?|predictions?|predicted|y_?(?:hat|pred|prob|score)s?|yhat|probs?|scores?|logits?|outputs?|outs?"
    r"|guess(?:es)?|hyps?|hypothes[ie]s|estimates?|forecasts?|rank(?:ed|ing|s|list)?\w*|recs?|recommend\w*|recommended"
    r"|top_?k(?:_\w+)?|\w*_(?:preds?|probs?|logits?|hat|scores?|outputs?|list|hyp)|pred\w*|est|fake|sr|restored|rank_?list)$"
)
_TOTAL = re.compile(r"(?i)^(?:n|num|total|count)_?(?:truths?|gts?|pos|positives?|objects?|targets?)$|^npos$")
_CLASSES = re.compile(r"(?i)^(?:num_?|n_?)(?:classes|class|labels|cls)$|^(?:nc|k_classes|C)$")
_AT = re.compile(r"(?i)^(?:k|n|top_?k|topn|at|cutoff_k)$")
_OPTIONS: tuple[tuple[re.Pattern[str], Any], ...] = (
    (_CLASSES, KINDS),
    (re.compile(r"(?i)^(?:score|conf\w*)_?(?:thr|thresh|thres|threshold)$"), 0.0),
    (re.compile(r"(?i)^(?:\w+_)?(?:thr|thresh|thres|threshold|cutoff|th)$"), 0.5),
    (_AT, CUT),
    (re.compile(r"(?i)^(?:smooth|smoothing|eps|epsilon)$"), 1e-9),
    (_TOTAL, 0),  # as many as the case has
    (re.compile(r"(?i)^(?:max_?val|data_range|peak|max_?value|max_pixel)$"), 1.0),
)
_CURVE = (re.compile(r"(?i)^(?:prec|precisions?|p)$"), re.compile(r"(?i)^(?:rec|recalls?|r)$"))
_SCORES = re.compile(r"(?i)^_?(?:scores?|conf\w*|probs?)$")
_ANOTHER = re.compile(
    r"(?i)loss(?!$)|weight|adjust|smooth_|curve|plot|log_metric|update|best|giou|diou|ciou|soft|norm|print|delta|improve|within|exact"
)
_EITHER = re.compile(
    r"(?i)^(?:[a-z]|[a-z]{1,6}_?[12ab]|first|second|left|right|img|image|src|dst|one|other)$"
)
_BOXED = re.compile(r"(?i)box|bb|corner|x1|rect")


def kind_of(name: str) -> str:
    """The metric that a name promises; "" where it promises none."""
    if _ANOTHER.search(name) and not re.fullmatch(r"(?i)\w*log_?loss", name):
        return ""
    return next((kind for kind, ask in _KINDS if ask.match(name)), "")


def says(name: str) -> bool:
    """The name is one for what was said."""
    return _SAID.match(name) is not None


def tells(name: str) -> bool:
    """The name is one for what is true."""
    return _TRUTH.match(name) is not None


def broken_promises(source: Script) -> Iterator[tuple[ast.AST, str]]:
    """Functions, and figures that functions hand back by name, that are not what they are named after."""
    for function in source.of(ast.FunctionDef):
        if source.function_around(function) is not None or source.class_around(function) is not None:
            continue
        roles = _roles(function)
        if roles is None:
            continue
        own = kind_of(function.name)
        if own:
            kind = _kind_in(own, function, roles)
            if (why := _broken(source, function, roles, kind, None)) is not None:
                yield function, why
            continue
        for name, node in handed_back(function):
            kind = kind_of(name)
            if kind and (why := _broken(source, function, roles, _kind_in(kind, function, roles), name)):
                yield node, why


def first_broken(source: Script) -> tuple[ast.AST, str] | None:
    """The first of them."""
    return next(broken_promises(source), None)


def _kind_in(kind: str, function: ast.FunctionDef, roles: tuple[str, str]) -> str:
    """`recall` of a ranked list at k is another thing than that of decisions; so is `iou` of boxes."""
    names = [a.arg for a in function.args.args]
    at = any(_AT.match(n) for n in names)
    words = f"{function.name} {' '.join(roles)}"
    if kind == "ap" and re.search(r"(?i)rec", roles[1]) and re.search(r"(?i)prec", roles[0]):
        return "ap of curve"
    if kind == "ap" and any(_TOTAL.match(n) for n in names):
        return "ap of all"
    if kind in ("recall", "precision", "f1") and _of_items(function):
        return f"{kind} at"
    if kind in ("recall", "precision", "ap") and (at or re.search(r"(?i)rank|recomm|relevan|@|_at_", words)):
        return f"{kind} at"
    if kind == "iou" and (_BOXED.search(words) or _parts_of_boxes(function)):
        return "box iou"
    return kind


def _of_items(function: ast.FunctionDef) -> bool:
    """It takes what it is given for sets or bags of items."""
    called = {last_name(c.func) for c in ast.walk(function) if isinstance(c, ast.Call)}
    return bool(called & {"set", "Counter", "intersection"})


def _parts_of_boxes(function: ast.FunctionDef) -> bool:
    """It reads a fourth place (`box[3]`), halves (`a[:, :2]`, `a[:, 2:]`), or calls for corners."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _BOXED.search(last_name(node.func)):
            return True
        if isinstance(node, ast.Subscript):
            for part in ast.walk(node.slice):
                ends = (part.lower, part.upper) if isinstance(part, ast.Slice) else (part,)
                if any(isinstance(e, ast.Constant) and e.value == (2 if len(ends) == 2 else 3) for e in ends):
                    return True
    return False


def _roles(function: ast.FunctionDef) -> tuple[str, str] | None:
    """The parameters for what was said and for what is true, by their names."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if len(names) < 2 or names[0] in ("self", "cls") or function.args.kwarg is not None:
        return None
    boxes = [n for n in names if _BOXED.search(n)]
    if len(boxes) == 2 and names[:2] == boxes:
        return boxes[0], boxes[1]
    kind = kind_of(function.name)
    pairs = [(a, b) for a in names[:2] for b in names[:2] if _CURVE[0].match(a) and _CURVE[1].match(b)]
    if kind == "ap" and pairs:
        return pairs[0]
    if kind == "nms":
        return (names[0], names[1]) if _BOXED.search(names[0]) and _SCORES.match(names[1]) else None
    if kind in _EITHER_WAY and len(names) - len(function.args.defaults) == 2:
        if all(map(_EITHER.match, names[:2])):
            return names[0], names[1]
    said = [n for n in names if _SAID.match(n) and not _option(n)[0]]
    truth = [n for n in names if _TRUTH.match(n) and n not in said and not _option(n)[0]]
    if len(said) != 1 or len(truth) != 1:
        return None
    needed = names[: len(names) - len(function.args.defaults)]
    if any(n not in (said[0], truth[0]) and not _option(n)[0] for n in needed):
        return None
    if _takes_a_class(function) or _over_draws(function, said[0]) or _leaves_out(function, truth[0]):
        return None
    return said[0], truth[0]


def _takes_a_class(function: ast.FunctionDef) -> bool:
    """`(predictions == k) & (targets == k)`: k is a class, and not how many are looked at."""
    return any(
        isinstance(n, ast.Compare)
        and isinstance(n.ops[0], ast.Eq)
        and isinstance(n.comparators[0], ast.Name)
        and _AT.match(n.comparators[0].id) is not None
        for n in ast.walk(function)
    )


def _leaves_out(function: ast.FunctionDef, truth: str) -> bool:
    """`target != 0`, and the classes from 1 on: no answers are asked for where nothing is labelled."""
    masks = any(
        isinstance(n, ast.Compare)
        and isinstance(n.ops[0], ast.NotEq)
        and isinstance(n.left, ast.Name)
        and n.left.id == truth
        for n in ast.walk(function)
    )
    counted = (n for n in ast.walk(function) if isinstance(n, ast.Call) and last_name(n.func) == "range")
    return masks and any(len(c.args) > 1 and ast.unparse(c.args[0]) == "1" for c in counted)


def _over_draws(function: ast.FunctionDef, said: str) -> bool:
    """`pred.mean(0)`: the mean of many draws is what is said."""
    means = [f"{said}.mean({axis})" for axis in ("0", "dim=0", "axis=0")]
    return any(isinstance(n, ast.Call) and ast.unparse(n) in means for n in ast.walk(function))


_EITHER_WAY = ("edits", "iou", "dice", "mse", "rmse", "mae", "psnr", "pearson", "mcc")  # of which is which


def _option(name: str) -> tuple[bool, Any]:
    return next(((True, value) for ask, value in _OPTIONS if ask.match(name)), (False, None))


def handed_back(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Names of the figures that its one return hands back: keys of a mapping, names of a tuple."""
    ends = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    told = [e for e in ends if any(isinstance(n, ast.Name) for n in ast.walk(e))]  # others are of nothing
    if len(told) != 1:
        return
    value = told[0]
    if isinstance(value, ast.Dict):
        for key, one in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, one
    elif isinstance(value, ast.Tuple):
        for one in value.elts:
            inner = one.args[0] if isinstance(one, ast.Call) and len(one.args) == 1 else one  # `float(f1)`
            if isinstance(inner, ast.Name):
                yield inner.id, one


def _broken(
    source: Script, function: ast.FunctionDef, roles: tuple[str, str], kind: str, part: str | None
) -> str | None:
    """Why a figure is none of its definitions, in no layout that it can be worked out in."""
    long = 0
    wrong: list[tuple[np.ndarray, np.ndarray]] = []
    machine = Interpreter(source, _settings(source))
    cuts = any(
        type(n.value) is float and 0.02 < n.value < 0.98 and n.value != 0.5 for n in source.of(ast.Constant)
    )
    for at, both in enumerate(zip(_made(FAMILY[kind], 1), _made(FAMILY[kind], 2), strict=True)):
        try:
            values = [_told(machine, function, roles, case, part) for case in both]
        except TooLong:
            long += 1
            if long > 1:
                return None
            continue
        if any(v is None for v in values):
            continue
        ways = [_ways(kind, seed, at, cuts) for seed in (1, 2)]
        if not ways[0]:
            continue
        if any(
            all(_same(kind, v, w) for v, w in zip(values, pair, strict=True))
            for pair in zip(*ways, strict=False)
        ):
            return None
        wrong.append((np.asarray(values[0]), np.asarray(ways[0][0])))
    if not wrong:
        return None
    found, meant = max(wrong, key=lambda pair: bool(pair[0].any()))
    called = part or function.name
    if found.size > 1 or meant.size > 1:
        return f"worked out on made answers, `{called}` comes to something else than its name says"
    return (
        f"worked out on made answers, `{called}` comes to {float(found.reshape(-1)[0]):.4g}, where that is"
        f" {float(meant.reshape(-1)[0]):.4g}"
    )


@lru_cache(maxsize=16)
def _made(family: str, seed: int) -> tuple[Case, ...]:
    return tuple(cases(family, seed))


@lru_cache(maxsize=1024)
def _ways(kind: str, seed: int, at: int, cuts: bool) -> tuple[Any, ...]:
    return tuple(wanted(kind, _made(FAMILY[kind], seed)[at], cuts))


def _settings(source: Script) -> Names:
    """Numbers of classes that stand in the module are those of the made answers."""
    return {n.id: KINDS for n in source.of(ast.Name) if _CLASSES.match(n.id) and len(n.id) > 2}


def _told(
    machine: Interpreter, function: ast.FunctionDef, roles: tuple[str, str], case: Case, part: str | None
) -> Any:
    """What the function gives for a case, as numbers; None where it gives none."""
    named: Names = {roles[0]: _copied(case.said), roles[1]: _copied(case.truth)}
    needed = len(function.args.args) - len(function.args.defaults)
    for i, arg in enumerate((*function.args.args, *function.args.kwonlyargs)):
        known, value = _option(arg.arg)
        if known and arg.arg not in named:
            default = _default(function, arg.arg)
            if i < needed or isinstance(default, (int, float)) or default is None:
                named[arg.arg] = int(case.right.sum()) + MISSED if _TOTAL.match(arg.arg) else value
    try:
        found = machine.call(function, [], named)
        if part is not None:
            found = _picked(found, function, part)
        elif isinstance(found, tuple) and len(found) > 1:
            named_parts = [name for name, _ in handed_back(function)]
            mine = [i for i, name in enumerate(named_parts) if kind_of(name) == kind_of(function.name)]
            if len(named_parts) != len(found) or len(mine) != 1:
                return None  # several figures, and it is not said which is which
            found = found[mine[0]]
        if isinstance(found, (list, tuple)) and len(found) == 1:
            found = found[0]
        if isinstance(found, str):
            return None  # a text tells a figure with as many digits as it likes
        if isinstance(found, list) and len(found) > 1 and kind_of(function.name) in ("accuracy", "recall"):
            return None  # the hits among the first k, for several k
        made = np.asarray(found, float).view(np.ndarray)
        if kind_of(function.name) in ("iou", "dice") and made.ndim > 1 and not _BOXED.search(" ".join(roles)):
            return None  # of each with each
    except TooLong:
        raise
    except (Unfit, TypeError, ValueError, KeyError):
        return None
    unbound = np.isnan(made) if case.task == "one" else ~np.isfinite(made)  # a gain by a logarithm of one
    return None if made.size == 0 or unbound.any() else made


def _default(function: ast.FunctionDef, name: str) -> Any:
    args = function.args
    pairs = [*zip(reversed(args.args), reversed(args.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None]
    held = next((d for a, d in pairs if a.arg == name), None)
    return held.value if isinstance(held, ast.Constant) else (... if held is not None else None)


def _picked(found: Any, function: ast.FunctionDef, part: str) -> Any:
    if isinstance(found, dict):
        return found[part]
    names = [name for name, _ in handed_back(function)]
    if not isinstance(found, tuple) or len(found) != len(names):
        raise Unfit
    return found[names.index(part)]


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.copy()
    return value.copy() if isinstance(value, (np.ndarray, list, set)) else value


_TURNED = ("accuracy", "iou", "dice", "wer")  # an error rate, a distance


def _same(kind: str, value: Any, meant: Any) -> bool:
    meant = np.asarray(meant, float)
    held = np.asarray(value, float)
    if held.size == 1 and meant.size == 1:
        held, meant = held.reshape(-1), meant.reshape(-1)
    elif held.shape != meant.shape:
        return False
    ways = [meant, 100 * meant]
    ways += [1 - meant] if kind in _TURNED else [-meant] if kind == "log loss" else []
    if held.size == meant.size == 1 and held > 1 and held == np.round(100 * meant):
        return True  # in whole percent
    return any(bool((np.abs(held - way) <= NEAR * np.abs(way) + 1e-4).all()) for way in ways)
