"""Faults of the loss and of the evaluation: what is minimised, what is counted, which model is kept."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from traindoctor.probes.readers._tree import walk

from .code import Code, Operator, Site, called, keyword, owner
from .settings import numbers

_LOGITS = {
    "cross_entropy": "softmax(-1)",
    "CrossEntropyLoss": "softmax(-1)",
    "binary_cross_entropy_with_logits": "sigmoid()",
    "BCEWithLogitsLoss": "sigmoid()",
}
_EVALUATES = re.compile(r"(?i)(?:^|[^a-z])(?:eval|valid|(?:val|test|dev)(?![a-z]))")
_LOSS = re.compile(r"(?i)loss|entropy|nll|penalty|regulari|(?:^|[^a-z])kl(?:[^a-z]|$)")


def _functions(code: Code, node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    at = code.parents.get(node)
    while at is not None:
        if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield at
        at = code.parents.get(at)


def _scope(code: Code, node: ast.AST) -> ast.AST:
    return next(_functions(code, node), code.tree)


def _evaluates(code: Code, node: ast.AST) -> bool:
    """Whether a node stands in a function that evaluates by its name."""
    return any(_EVALUATES.search("_" + f.name) for f in _functions(code, node))


def _scores(code: Code, node: ast.AST) -> bool:
    """Whether a node is part of an evaluation, by the function or by what is assigned."""
    return _evaluates(code, node) or bool(_EVALUATES.search("_" + _loss_targets(code.statement(node))))


def _of_torch(call: ast.Call) -> bool:
    return owner(call) == "F" or owner(call).endswith(("functional", "nn"))


def _losses(code: Code, *kinds: str) -> Iterator[tuple[ast.Call, str]]:
    """Calls of these losses with a prediction and a target, as a function or by the object's name."""
    made: dict[str, list[str]] = defaultdict(list)
    for node in code.of(ast.Assign):
        for target in node.targets:
            given = node.value
            made[ast.unparse(target)].append(called(given) if isinstance(given, ast.Call) else "")
    for node in code.of(ast.Call):
        if len(node.args) >= 2 and not _scores(code, node):
            one = made.get(ast.unparse(node.func), [])
            if called(node) in kinds and _of_torch(node):
                yield node, called(node)
            elif len(one) == 1 and one[0] in kinds:
                yield node, one[0]


def activation_twice(code: Code) -> Iterator[Site]:
    """Softmax or sigmoid before a loss that applies its own."""
    for call, kind in _losses(code, *_LOGITS):
        given = call.args[0]
        if not isinstance(given, ast.Starred):
            text = code.source(given)
            whole = text if isinstance(given, (ast.Name, ast.Attribute, ast.Call)) else f"({text})"
            yield (code.replace(given, f"{whole}.{_LOGITS[kind]}"),)


def activation_left_out(code: Code) -> Iterator[Site]:
    """No log-softmax before a negative log-likelihood, no sigmoid before a loss of probabilities."""
    for losses, names in (
        (("nll_loss", "NLLLoss"), ("log_softmax", "LogSoftmax")),
        (("BCELoss", "binary_cross_entropy"), ("sigmoid", "Sigmoid")),
    ):
        if any(code.calls(*losses)):
            every = list(code.calls(*names))
            if len(every) == 1 and not any(code.calls("softmax", "Softmax")):
                call = every[0]
                if names.index(called(call)):
                    yield (code.replace(call, re.sub(r"\w+\(.*\)$", "Identity()", code.source(call))),)
                else:
                    if call.args and (_of_torch(call) or owner(call) == "torch") and not _scores(code, call):
                        yield (code.replace(call, code.source(call.args[0])),)


def _loss_targets(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Assign):
        return " ".join(ast.unparse(t) for t in statement.targets)
    return ast.unparse(statement.target) if isinstance(statement, (ast.AugAssign, ast.AnnAssign)) else ""


def _used(code: Code, made: ast.Call) -> bool:
    """Whether what a call makes is called somewhere else under the name it is given."""
    name = _loss_targets(code.statement(made))
    return any(ast.unparse(c.func) == name for c in code.of(ast.Call))


def loss_summed(code: Code) -> Iterator[Site]:
    """The loss of a batch is summed where it was averaged."""
    for call in code.calls("CrossEntropyLoss", "MSELoss", "NLLLoss", "BCEWithLogitsLoss", "SmoothL1Loss"):
        if _scores(code, call):
            continue
        if keyword(call, "reduction", "reduce") is None and _of_torch(call) and _used(code, call):
            more = ", " if call.args or call.keywords else ""
            text = code.source(call)
            if text.endswith(")") and not text[:-1].rstrip().endswith(","):
                yield (code.replace(call, text[:-1] + more + 'reduction="sum")'),)
    for call in code.calls("cross_entropy", "mse_loss", "nll_loss", "binary_cross_entropy_with_logits"):
        statement = code.statement(call)
        about = isinstance(statement, ast.Assign) and re.search("loss", _loss_targets(statement))
        if keyword(call, "reduction") is None and about and not _scores(code, call):
            if _of_torch(call):
                text = code.source(call)
                if not text[:-1].rstrip().endswith(","):
                    yield (code.replace(call, text[:-1] + ', reduction="sum")'),)
    for call in code.calls("mean"):
        statement = code.statement(call)
        target = _loss_targets(statement)
        if isinstance(statement, ast.Assign) and re.search("loss$", target) and statement.value is call:
            # `loss = loss.mean()` is over devices
            if not call.args and not call.keywords and not _scores(code, call) and owner(call) != target:
                yield (code.replace(call, code.source(call)[: -len("mean()")] + "sum()"),)


def cross_entropy_for_values(code: Code) -> Iterator[Site]:
    """The loss of a classifier for numbers that are fitted."""
    if re.search(r"(?i)one_?hot", code.text):
        return  # probabilities of classes are fitted
    for call in code.calls("mse_loss", "MSELoss"):
        if _of_torch(call) and not _scores(code, call) and (call.args or _used(code, call)):
            name = {"mse_loss": "cross_entropy", "MSELoss": "CrossEntropyLoss"}[called(call)]
            yield (code.replace(call.func, f"{owner(call)}.{name}"),)


def arguments_turned(code: Code) -> Iterator[Site]:
    """Target and prediction stand in each other's place."""
    names = "kl_div KLDivLoss binary_cross_entropy BCELoss BCEWithLogitsLoss binary_cross_entropy_with_logits"
    for call, _ in _losses(code, *names.split()):
        one, other = call.args[:2]
        yield (code.replace(one, code.source(other)), code.replace(other, code.source(one)))


def padding_learned(code: Code) -> Iterator[Site]:
    """Positions that were to be ignored are learned: no mark any more, or the loss does not know it."""
    for node in code.of(ast.UnaryOp):
        if ast.unparse(node) == "-100":
            statement = code.statement(node)
            around = code.parents.get(node)
            if isinstance(around, ast.keyword) and around.arg == "ignore_index":
                continue
            if isinstance(around, ast.Compare) or _evaluates(code, node):
                continue
            if statement is not None and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                if re.search(r"(?i)label|target", ast.unparse(statement)):
                    yield (code.replace(node, "0"),)
    for call in code.calls("CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss"):
        value = keyword(call, "ignore_index")
        if value is not None and ast.unparse(value) != "-100":
            yield (code.replace(value, "-100"),)


def padding_not_masked(code: Code) -> Iterator[Site]:
    """The loss of a padded position counts like any other."""
    mask = re.compile(r"(?i)mask|is_pad|non_?pad")
    for node in code.of(ast.BinOp):
        if isinstance(node.op, ast.Mult):
            statement = code.statement(node)
            if not re.search("(?i)loss|nll", _loss_targets(statement)):
                continue
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if mask.search(ast.unparse(one)) and not mask.search(ast.unparse(other)):
                    if re.search("(?i)loss|entropy|nll", ast.unparse(other)):
                        yield (code.replace(node, f"({code.source(other)})"),)


def smoothing_too_strong(code: Code) -> Iterator[Site]:
    """Labels smoothed to nearly nothing."""
    for node, value in numbers(code, re.compile(r"^-*label[-_]smoothing(?:[-_]factor)?$")):
        if value <= 0.3:
            yield (code.replace(node, "0.95"),)


def _terms(code: Code) -> Iterator[ast.BinOp]:
    """Sums of terms of a loss that is trained on."""
    for node in code.of(ast.BinOp):
        if isinstance(node.op, ast.Add):
            statement = code.statement(node)
            if not isinstance(statement, ast.Assign) or not re.search("loss$", _loss_targets(statement)):
                continue
            outer: ast.AST = node
            while isinstance(parent := code.parents.get(outer), ast.BinOp):
                if not isinstance(parent.op, (ast.Add, ast.Sub)):
                    break
                outer = parent
            if outer is not statement.value or _scores(code, node):
                continue
            if _LOSS.search(ast.unparse(node.left)) and _LOSS.search(ast.unparse(node.right)):
                yield node


def term_turned(code: Code) -> Iterator[Site]:
    """A term of the loss is taken off where it was added."""
    for node in _terms(code):
        right = code.source(node.right)
        right = f"({right})" if isinstance(node.right, ast.BinOp) else right
        if not isinstance(node.left, ast.BinOp) or isinstance(node.left.op, (ast.Mult, ast.Add, ast.Sub)):
            yield (code.replace(node, f"{code.source(node.left)} - {right}"),)


def term_left_out(code: Code) -> Iterator[Site]:
    """A term of the loss is forgotten."""
    for node in _terms(code):
        yield (code.replace(node, code.source(node.left)),)


def class_weights_dropped(code: Code) -> Iterator[Site]:
    """The loss counts all classes alike."""
    for call in code.calls(*_LOGITS, "NLLLoss", "nll_loss"):
        value = keyword(call, "weight", "pos_weight")
        if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            yield (code.replace(value, "None"),)


def floor_left_out(code: Code) -> Iterator[Site]:
    """Nothing keeps a divisor, a logarithm or a root from zero."""
    for node in code.of(ast.BinOp):
        if isinstance(node.op, ast.Add):
            around = code.parents.get(node)
            small = isinstance(node.right, ast.Constant) and isinstance(node.right.value, float)
            tiny = small and 0 < node.right.value <= 1e-4  # type: ignore[attr-defined]
            tiny = tiny or bool(re.search(r"(?i)(?:^|[._])eps(?:ilon)?$", ast.unparse(node.right)))
            below = isinstance(around, ast.BinOp) and isinstance(around.op, ast.Div) and around.right is node
            if tiny and (below or (isinstance(around, ast.Call) and called(around) in ("log", "sqrt"))):
                text = code.source(node.left)
                yield (
                    code.replace(node, f"({text})" if below and isinstance(node.left, ast.BinOp) else text),
                )


# ------------------------------------------------------------------------------------------- evaluation

_ANSWERS = re.compile(r"(?i)out|logit|pred|prob|score|y_hat")


def argmax_over_batch(code: Code) -> Iterator[Site]:
    """The predicted class is looked for along the batch."""
    if not re.search("(?i)acc|correct", code.text):
        return
    for call in code.calls("argmax", "max"):
        statement = code.statement(call)
        if statement is None or isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
            continue
        axis = keyword(call, "dim", "axis") or (call.args[-1] if call.args else None)
        text = ast.unparse(axis) if axis is not None else ""
        library = owner(call) in ("torch", "np", "jnp", "numpy", "jax.numpy")
        given = ast.unparse(call.args[0]) if library and call.args else owner(call)
        if text not in ("1", "-1") or axis is None or not _ANSWERS.search(given) or "[" in given:
            continue
        parent = code.parents.get(call)
        taken = isinstance(parent, ast.Subscript) and ast.unparse(parent.slice) == "0"
        about = ast.unparse(statement)
        if taken or re.search(r"(?i)action|\bq_|value|reward|advers", about):
            continue
        if re.search(r"(?i)pred|correct|acc|==|\.eq\(", about):
            yield (code.replace(axis, "0"),)


def metric_not_reset(code: Code) -> Iterator[Site]:
    """What counts over an evaluation goes on counting in the next."""
    found = []
    for call in code.calls("reset", "reset_states", "reset_state"):
        statement = code.parents.get(call)
        if re.search(r"(?i)metric|meter|acc|loss|avg|score|auc|f1", owner(call)) and not call.args:
            if re.search(rf"(?m)^ *(?:from .*)?import .*\b{owner(call)}\b", code.text):
                return  # a module of all of them
            if not isinstance(statement, ast.Expr) or not code.alone(statement):
                return
            found.append(statement)
    if found:
        yield tuple(code.without(s) for s in found)


def sums_over_epochs(code: Code) -> Iterator[Site]:
    """A sum begins before the first epoch, and no epoch begins anew."""
    for loop in code.of(ast.For):
        if "epoch" not in ast.unparse(loop.target).lower():
            continue
        for place, statement in enumerate(loop.body):
            if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
                continue
            name, value = statement.targets[0].id, statement.value
            if not (isinstance(value, ast.Constant) and value.value == 0 and code.alone(statement)):
                continue
            inner = [n for s in loop.body[place:] if isinstance(s, ast.For) for n in walk(s)]
            added = [n for n in inner if isinstance(n, ast.AugAssign) and ast.unparse(n.target) == name]
            again = [n for n in inner if isinstance(n, ast.Assign) and name in map(ast.unparse, n.targets)]
            if added and not again and re.search("(?i)loss|acc|correct|total|hits", name):
                yield (code.before(loop, code.source(statement)), code.without(statement))


def _learns(node: ast.AST) -> bool:
    names = ("backward", "step", "apply_gradients", "train_step", "update_model")
    return any(isinstance(n, ast.Call) and called(n) in names for n in walk(node))


def _scored(code: Code) -> Iterator[ast.For]:
    """Loops over data of which a metric is computed."""
    for node in code.of(ast.For):
        if not _learns(node):
            if _EVALUATES.search("_" + ast.unparse(node.iter)) or _evaluates(code, node):
                yield node


def last_batch_only(code: Code) -> Iterator[Site]:
    """The sum holds no more than the last batch."""
    for loop in _scored(code):
        for node in walk(loop):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and code.alone(node):
                name = ast.unparse(node.target)
                if re.search(r"(?i)loss|correct|acc|score|hits|metric", name) and isinstance(
                    node.target, ast.Name
                ):
                    yield (code.replace(node, f"{name} = {code.source(node.value)}"),)


def batches_for_samples(code: Code) -> Iterator[Site]:
    """A sum over samples divided by the number of batches."""
    for node in code.of(ast.BinOp, ast.AugAssign):
        if isinstance(node.op, ast.Div):
            right = node.right if isinstance(node, ast.BinOp) else node.value
            for call in walk(right):
                if isinstance(call, ast.Call) and called(call) == "len" and call.args:
                    text = ast.unparse(call.args[0])
                    top = node.left if isinstance(node, ast.BinOp) else node.target
                    counted = bool(re.search("(?i)correct|hits|acc(?!um)", ast.unparse(top)))
                    if counted and text.endswith(".dataset") and "loader" in text:
                        yield (code.replace(call, f"len({text[: -len('.dataset')]})"),)
    for loop in _scored(code):
        for node in walk(loop):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and code.alone(node):
                name, value = ast.unparse(node.target), ast.unparse(node.value)
                counted = bool(re.search(r"(?:^|_)(?:total|count|num|n|seen|samples)(?:_|$)", name))
                divides = [
                    n.right
                    for n in walk(_scope(code, node))
                    if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)
                ]
                counted = counted and name in {ast.unparse(n) for d in divides for n in walk(d)}
                if counted and re.search(r"^len\(\w+\)$|\.size\(0\)$|\.shape\[0\]$|numel\(\)$", value):
                    yield (code.replace(node.value, "1"),)


def _twin(code: Code, node: ast.expr) -> str:
    """The name that the training data have where these are for evaluation, if it is bound as these are."""
    text = ast.unparse(node)
    found = re.sub(
        r"(?<![a-z])(?:validation|valid|val|test|eval|evaluation|dev)(?=[^a-z]|loader|_|$)", "train", text
    )
    if found == text or not re.search("(?i)(?:loader|data|dataset|_iter|_ds)$", found):
        return ""
    for other in code.of(ast.Name, ast.Attribute):
        if isinstance(other.ctx, ast.Store):
            if ast.unparse(other) == found:
                attribute = isinstance(other, ast.Attribute)
                if attribute or _scope(code, other) in (code.tree, _scope(code, node)):
                    return found
    scope = _scope(code, node)
    names = [a.arg for a in scope.args.args] if isinstance(scope, ast.FunctionDef) else []
    return found if found in names else ""


def trained_data_scored(code: Code) -> Iterator[Site]:
    """The score is that of the data it was trained on."""
    for loop in _scored(code):
        for node in walk(loop.iter) if not re.search(r"\.items\(|range\(", ast.unparse(loop.iter)) else ():
            if isinstance(node, (ast.Name, ast.Attribute)) and (twin := _twin(code, node)):
                yield (code.replace(node, twin),)
                break
    for node in code.of(ast.Call):
        if _EVALUATES.search("_" + called(node)):
            every = (*node.args, *(k.value for k in node.keywords))
            if re.search("train|fit|load", called(node).lower()):
                continue
            for given in every:
                if isinstance(given, (ast.Name, ast.Attribute)) and (twin := _twin(code, given)):
                    if twin not in map(ast.unparse, every):
                        yield (code.replace(given, twin),)


def best_turned(code: Code) -> Iterator[Site]:
    """The worst model is kept as the best."""
    turned = {ast.Gt: "<", ast.GtE: "<=", ast.Lt: ">", ast.LtE: ">="}
    for node in code.of(ast.Compare):
        if len(node.ops) == 1 and type(node.ops[0]) in turned:
            around = code.parents.get(node)
            right = node.comparators[0]
            names = [ast.unparse(n).rpartition(".")[2] for n in (node.left, right)]
            bests = [n for n in (node.left, right) if re.search(r"(?i)(?:^|[_.])best", ast.unparse(n))]
            if (
                isinstance(around, ast.If)
                and len(bests) == 1
                and isinstance(bests[0], ast.Name | ast.Attribute)
            ):
                best = ast.unparse(bests[0])
                kept = [n for s in around.body for n in walk(s) if isinstance(n, ast.Assign)]
                if any(ast.unparse(t) == best for a in kept for t in a.targets) and "epoch" not in names[0]:
                    sign = turned[type(node.ops[0])]
                    yield (code.replace(node, f"{code.source(node.left)} {sign} {code.source(right)}"),)


def best_not_raised(code: Code) -> Iterator[Site]:
    """The best score so far is never written down, so that each model that beats the start is the best."""
    for node in code.of(ast.If):
        if isinstance(node.test, ast.Compare) and len(node.body) > 1:
            sides = {ast.unparse(n) for n in (node.test.left, *node.test.comparators)}
            ordered = isinstance(node.test.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE))
            for statement in node.body if ordered else ():
                if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                    name = ast.unparse(statement.targets[0])
                    if name in sides and re.search(r"(?i)(?:^|[_.])best", name) and code.alone(statement):
                        yield (code.without(statement),)


def another_heads_output(code: Code) -> Iterator[Site]:
    """The loss of one head is computed of another head's output: a line that was copied."""
    by_block: dict[tuple[ast.AST, str], list[ast.Call]] = defaultdict(list)
    for node in code.nodes:
        statement = code.statement(node) if isinstance(node, ast.Call) else None
        if isinstance(statement, ast.Assign) and len(node.args) >= 2 and not _scores(code, node):
            if all(isinstance(a, (ast.Name, ast.Attribute)) for a in node.args[:2]):
                if re.search(r"(?i)loss|crit|entropy", called(node)):
                    by_block[code.parents[statement], ast.unparse(node.func)].append(node)
    for calls in by_block.values():
        for one, other in pairwise(calls):
            mine, theirs = (ast.unparse(c.args[0]) for c in (one, other))
            answers = {ast.unparse(c.args[1]) for c in (one, other)}
            if mine != theirs and len(answers) == 2 and not answers & {mine, theirs}:
                yield (code.replace(other.args[0], code.source(one.args[0])),)


def factor_left_out(code: Code) -> Iterator[Site]:
    """A term of the loss loses its factor."""
    for node in _terms(code):
        right = node.right
        if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Mult):
            sides = [s for s in (right.left, right.right) if _LOSS.search(ast.unparse(s))]
            whole = isinstance(sides[0], (ast.Name, ast.Attribute, ast.Call)) if sides else False
            if whole and "weight" not in ast.unparse(sides[0]):
                yield (code.replace(right, code.source(sides[0])),)


def term_is_a_number(code: Code) -> Iterator[Site]:
    """A term of the loss is logged and added in one: it has become a number."""
    for node in _terms(code):
        right = node.right
        sides = [right.left, right.right] if isinstance(right, ast.BinOp) else [right]
        for side in sides:
            if isinstance(side, (ast.Name, ast.Attribute)) and re.search(r"(?i)loss|kl", ast.unparse(side)):
                if not re.search(r"(?i)weight|coef|lambda|alpha|beta|scale", ast.unparse(side)):
                    yield (code.replace(side, f"{code.source(side)}.item()"),)


def term_twice(code: Code) -> Iterator[Site]:
    """One term of the loss is added twice, in the place of another."""
    for node in _terms(code):
        plain = (ast.Name, ast.Attribute)
        if isinstance(node.left, plain) and isinstance(node.right, plain):
            yield (code.replace(node.right, code.source(node.left)),)


OPERATORS = (
    Operator("activation-twice", "graph.loss-function", activation_twice, frozenset({"api.misuse"})),
    Operator("activation-left-out", "graph.loss-function", activation_left_out, frozenset({"api.misuse"})),
    Operator(
        "loss-summed",
        "graph.loss-function",
        loss_summed,
        frozenset({"hyperparameter.learning-rate-too-large"}),
    ),
    Operator("cross-entropy-for-values", "graph.loss-function", cross_entropy_for_values),
    Operator("arguments-turned", "graph.loss-function", arguments_turned, frozenset({"api.misuse"})),
    Operator("padding-learned", "processing.label-masking", padding_learned),
    Operator(
        "padding-not-masked",
        "processing.label-masking",
        padding_not_masked,
        frozenset({"graph.loss-function"}),
    ),
    Operator(
        "smoothing-too-strong",
        "hyperparameter.regularization-too-strong",
        smoothing_too_strong,
        frozenset({"graph.loss-function"}),
    ),
    Operator("term-turned", "graph.loss-function", term_turned),
    Operator("term-left-out", "graph.loss-function", term_left_out, pair_only=True),
    Operator(
        "class-weights-dropped",
        "data.class-imbalance",
        class_weights_dropped,
        frozenset({"graph.loss-function"}),
        pair_only=True,
    ),
    Operator("floor-left-out", "numerics.epsilon", floor_left_out),
    Operator("argmax-over-batch", "evaluation.logic", argmax_over_batch),
    Operator("metric-not-reset", "evaluation.logic", metric_not_reset),
    Operator("sums-over-epochs", "evaluation.logic", sums_over_epochs),
    Operator("last-batch-only", "evaluation.logic", last_batch_only),
    Operator("batches-for-samples", "evaluation.logic", batches_for_samples),
    Operator("trained-data-scored", "data.leakage", trained_data_scored, frozenset({"evaluation.logic"})),
    Operator("best-turned", "evaluation.wrong-checkpoint", best_turned),
    Operator("best-not-raised", "evaluation.wrong-checkpoint", best_not_raised),
    Operator(
        "another-heads-output",
        "graph.loss-function",
        another_heads_output,
        frozenset({"graph.connection", "processing.algorithm"}),
    ),
    Operator(
        "factor-left-out",
        "graph.loss-function",
        factor_left_out,
        frozenset({"porting.hyperparameters-differ"}),
        pair_only=True,
    ),
    Operator("term-is-a-number", "graph.connection", term_is_a_number, frozenset({"graph.loss-function"})),
    Operator("term-twice", "graph.loss-function", term_twice, frozenset({"graph.connection"})),
)
