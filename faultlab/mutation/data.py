"""Faults of the data and of what is done to them: labels, parts, amounts, scaling, order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from traindoctor.probes.readers._tree import walk

from .code import Code, Operator, Site, called, keyword

_LABELS = re.compile(r"(?:^|_)(?:targets?|labels?|y|ys|classes)(?:_var|_batch|_b)?$|^batch_y$|^mb_y$")
_INPUTS = re.compile(r"^(?:images?|imgs?|inputs?|data|x|batch_x|samples?|features?|batch_data)$")
_CLASSES = ("cross_entropy", "nll_loss")
_TRAINS = re.compile(r"train")
_HELD_OUT = re.compile(r"(?:^|_)(?:val|valid|validation|test|eval|dev)(?:_|$|data|loader|set)")


def _around(code: Code, node: ast.AST) -> ast.AST:
    """The function around a node, or the module."""
    at: ast.AST = node
    while at in code.parents:
        at = code.parents[at]
        if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return at
    return at


def _trained(code: Code, loss: ast.Call) -> bool:
    """Whether a backward pass follows a loss in its blocks, or it is a framework's training step."""
    around = _around(code, loss)
    if getattr(around, "name", "") == "training_step":
        return True
    at: ast.AST | None = code.statement(loss)
    while at is not None and at is not around:
        block = code.parents.get(at)
        body = getattr(block, "body", [])
        after = body[body.index(at) :] if at in body else []
        if any(isinstance(n, ast.Call) and called(n) == "backward" for s in after for n in walk(s)):
            return True
        at = block
    return False


def _losses(code: Code) -> Iterator[tuple[ast.Call, ast.Name, ast.stmt]]:
    """Losses of class numbers that are trained on: the call, its labels, its statement on its own line."""
    if "torch" not in code.text:
        return
    classifies = any(n in code.text for n in ("CrossEntropyLoss", "NLLLoss", *_CLASSES))
    for call in code.of(ast.Call):
        if len(call.args) != 2:
            continue
        known = called(call) in _CLASSES
        named = classifies and re.search(r"criterion|^_?loss$|loss_?fn|loss_?func(?:tion)?$", called(call))
        labels, statement = call.args[1], code.statement(call)
        if not (known or named) or not isinstance(labels, ast.Name) or not _LABELS.search(labels.id):
            continue
        if isinstance(statement, ast.Assign) and code.alone(statement) and _trained(code, call):
            if "one_hot" in labels.id:
                continue
            yield call, labels, statement


def labels_shuffled_alone(code: Code) -> Iterator[Site]:
    """The labels of a batch in another order than its inputs."""
    for _, labels, statement in _losses(code):
        y = labels.id
        yield (code.before(statement, f"{y} = {y}[torch.randperm({y}.size(0))]"),)


def labels_one_on(code: Code) -> Iterator[Site]:
    """Each input with the label of the one before it."""
    for _, labels, statement in _losses(code):
        y = labels.id
        yield (code.before(statement, f"{y} = torch.roll({y}, shifts=1, dims=0)"),)


def labels_random(code: Code) -> Iterator[Site]:
    """Labels that are drawn by chance."""
    for call, labels, statement in _losses(code):
        y, answers = labels.id, call.args[0]
        if isinstance(answers, ast.Name):
            drawn = f"torch.randint(0, {answers.id}.size(1), {y}.shape, device={y}.device)"
            yield (code.before(statement, f"{y} = {drawn}"),)
        yield (code.before(statement, f"{y} = torch.randint_like({y}, int({y}.max()) + 1)"),)


def labels_flipped(code: Code) -> Iterator[Site]:
    """A share of the labels is made up."""
    for _, labels, statement in _losses(code):
        y = labels.id
        noise = (
            f"flip = torch.rand({y}.shape, device={y}.device) < 0.4\n"
            f"{y} = torch.where(flip, torch.randint_like({y}, int({y}.max()) + 1), {y})"
        )
        yield (code.before(statement, noise),)


def labels_renumbered(code: Code) -> Iterator[Site]:
    """Training numbers the classes otherwise than evaluation."""
    for _, labels, statement in _losses(code):
        y = labels.id
        if re.search(r"\.eval\(\)", code.text) and not code.text.count("def training_step"):
            yield (code.before(statement, f"{y} = ({y} + 1) % ({y}.max() + 1)"),)


def classes_left_out(code: Code) -> Iterator[Site]:
    """Samples of most classes never reach training."""
    for loop, inputs, labels in _loops(code):
        y, x = labels.id, inputs.id
        first = loop.body[0]
        if code.alone(first) or not code.indent(first).strip():
            yield (code.before(first, f"keep = {y} < 5\n{x}, {y} = {x}[keep], {y}[keep]"),)


def _loops(code: Code) -> Iterator[tuple[ast.For, ast.Name, ast.Name]]:
    """Loops over batches that train: the loop, the names of inputs and labels."""
    for loop in code.of(ast.For):
        if not _backward(loop):
            continue
        target: ast.expr = loop.target
        over = loop.iter
        if isinstance(over, ast.Call) and called(over) == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[-1]
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            inputs, labels = target.elts
            if (
                isinstance(inputs, ast.Name)
                and isinstance(labels, ast.Name)
                and _INPUTS.search(inputs.id)
                and _LABELS.search(labels.id)
                and "torch" in code.text
            ):
                yield loop, inputs, labels


def _backward(loop: ast.For) -> bool:
    """Whether a loop's own body runs the backward pass."""
    return any(isinstance(n, ast.Call) and called(n) == "backward" for n in walk(loop))


def _over(loop: ast.For) -> ast.expr:
    """What a loop goes through, without what counts it or shows its progress."""
    node: ast.expr = loop.iter
    while (
        isinstance(node, ast.Call) and called(node) in ("enumerate", "tqdm", "trange", "iter") and node.args
    ):
        node = node.args[0]
    return node


def _train_loaders(code: Code) -> Iterator[tuple[ast.For, ast.expr]]:
    """Loops that train over something called a loader: the loop, and what it goes through."""
    for loop in code.of(ast.For):
        if _backward(loop):
            over = _over(loop)
            if isinstance(over, (ast.Name, ast.Attribute)) and re.search(r"loader", ast.unparse(over)):
                if not any(isinstance(n, ast.For) and n is not loop and _backward(n) for n in walk(loop)):
                    yield loop, over


def one_batch(code: Code) -> Iterator[Site]:
    """A few batches only, left over from trying the script out."""
    for _, over in _train_loaders(code):
        text = code.source(over)
        yield (code.replace(over, f"[next(iter({text}))]"),)
        yield (code.replace(over, f"list({text})[:5]"),)


def stops_after_batches(code: Code) -> Iterator[Site]:
    """The loop over batches is left after a few, as one does while looking for something else."""
    for loop, _ in _train_loaders(code):
        target, first = loop.target, loop.body[0]
        counted = isinstance(loop.iter, ast.Call) and called(loop.iter) == "enumerate"
        if counted and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
            if not code.indent(first).strip():
                yield (code.before(first, f"if {target.elts[0].id} >= 10:\n    break"),)


def _loaders(code: Code, training: bool) -> Iterator[tuple[ast.Call, ast.expr]]:
    """DataLoaders of the training part, or of the others: the call, and the data set it is given."""
    for call in code.calls("DataLoader"):
        data = keyword(call, "dataset") or (call.args[0] if call.args else None)
        if isinstance(data, (ast.Name, ast.Attribute)):
            name = ast.unparse(data).rpartition(".")[2].lower()
            if bool(_TRAINS.search(name)) == training and bool(_HELD_OUT.search(name)) != training:
                yield call, data


def debug_subset(code: Code) -> Iterator[Site]:
    """A handful of the training samples, left over from trying the script out."""
    for call, data in _loaders(code, training=True):
        if keyword(call, "sampler", "batch_sampler") is None:
            text = code.source(data)
            yield (code.replace(data, f"torch.utils.data.Subset({text}, range(64))"),)
    for call in code.nodes:
        data = keyword(call, "train_dataset") if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and "Trainer" in called(call) and isinstance(data, ast.Name):
            yield (code.replace(data, f"{data.id}.select(range(64))"),)
    for call in code.calls("fit"):
        x, y = [*call.args, None, None][:2]
        if isinstance(x, ast.Name) and isinstance(y, ast.Name) and re.search("train", x.id):
            if re.search("val|loader|test", x.id + y.id):
                continue
            yield (code.replace(x, f"{x.id}[:100]"), code.replace(y, f"{y.id}[:100]"))


def trains_on_held_out(code: Code) -> Iterator[Site]:
    """The loop that trains goes through the held-out data."""
    names = {n.id for n in code.of(ast.Name)}
    for loop, over in _train_loaders(code):
        if not isinstance(over, ast.Name) or not _TRAINS.search(over.id):
            continue
        around = _around(code, loop)
        arguments = {a.arg for a in around.args.args} if isinstance(around, ast.FunctionDef) else set()
        for word in ("val", "valid", "test"):
            other = re.sub("train", word, over.id)
            if other in names and (over.id not in arguments or other in arguments):
                yield (code.replace(over, other),)
    for call, data in _loaders(code, training=True):
        others = {ast.unparse(d) for _, d in _loaders(code, training=False)}
        if len(others) == 1 and _around(code, call) in {
            _around(code, c) for c, _ in _loaders(code, training=False)
        }:
            yield (code.replace(data, others.pop()),)


def evaluates_training_data(code: Code) -> Iterator[Site]:
    """The held-out data are the training data."""
    switches: dict[str, list[tuple[ast.Call, ast.expr]]] = {"train": [], "held out": []}
    for call in code.nodes:
        value = keyword(call, "train", "split") if isinstance(call, ast.Call) else None
        if isinstance(value, ast.Constant) and isinstance(call, ast.Call):
            if keyword(call, "root", "transform", "download") is None and not re.search(
                "data", ast.unparse(call)
            ):
                continue
            if value.value in (True, "train"):
                switches["train"].append((call, value))
            elif value.value in (False, "test", "val", "validation"):
                switches["held out"].append((call, value))
    if len(switches["train"]) == 1 and len(switches["held out"]) == 1:
        (first, value), (second, other) = switches["train"][0], switches["held out"][0]
        if ast.unparse(first.func) == ast.unparse(second.func):
            yield (code.replace(other, code.source(value)),)
    for call, data in _loaders(code, training=False):
        mine = [d for c, d in _loaders(code, training=True) if _around(code, c) is _around(code, call)]
        if mine:
            yield (code.replace(data, code.source(mine[0])),)


def held_out_joined(code: Code) -> Iterator[Site]:
    """The held-out samples are trained on, too."""
    for call, data in _loaders(code, training=True):
        others = [d for c, d in _loaders(code, training=False) if _around(code, c) is _around(code, call)]
        if others and keyword(call, "sampler", "batch_sampler") is None:
            both = f"[{code.source(data)}, {code.source(others[0])}]"
            yield (code.replace(data, f"torch.utils.data.ConcatDataset({both})"),)


def _chains(code: Code) -> Iterator[tuple[ast.Call, ast.List]]:
    """Compose calls with their steps."""
    for call in code.calls("Compose"):
        if call.args and isinstance(call.args[0], ast.List):
            yield call, call.args[0]


def _normalizing(code: Code) -> list[tuple[ast.List, ast.expr]]:
    """Lists of steps with the step that normalises, by its class or its name."""
    return [
        (steps, e)
        for _, steps in _chains(code)
        for e in steps.elts
        if (isinstance(e, ast.Call) and called(e) == "Normalize")
        or (isinstance(e, ast.Name) and e.id.startswith("normali"))
    ]


def _listed(code: Code, steps: ast.List, without: ast.expr) -> str:
    return "[" + ", ".join(code.source(e) for e in steps.elts if e is not without) + "]"


def normalisation_left_out(code: Code) -> Iterator[Site]:
    """No part of the data is normalised any more."""
    found = _normalizing(code)
    if found:
        yield tuple(code.replace(steps, _listed(code, steps, step)) for steps, step in found)


def normalisation_one_side(code: Code) -> Iterator[Site]:
    """One part of the data is normalised, the other is not."""
    found = _normalizing(code)
    if len(found) == 2:
        for steps, step in found:
            yield (code.replace(steps, _listed(code, steps, step)),)


def normalised_twice(code: Code) -> Iterator[Site]:
    """Every input is normalised twice over."""
    found = _normalizing(code)
    if found:
        yield tuple(code.replace(step, f"{code.source(step)}, {code.source(step)}") for _, step in found)


def figures_of_another_range(code: Code) -> Iterator[Site]:
    """Mean and deviation of 0 to 255 for inputs of 0 to 1."""
    found = []
    for call in code.calls("Normalize"):
        parts = [keyword(call, "mean") or (call.args or [None])[0]]
        parts.append(keyword(call, "std") or (call.args[1] if len(call.args) > 1 else None))
        if all(_figures(p) for p in parts) and "ToTensor" in code.text:
            for part in parts:
                assert isinstance(part, (ast.List, ast.Tuple))
                values = [float(ast.literal_eval(e)) * 255 for e in part.elts]
                found.append(code.replace(part, f"({', '.join(f'{v:.6g}' for v in values)},)"))
    if found:
        yield tuple(found)


def _figures(node: ast.expr | None) -> bool:
    return isinstance(node, (ast.List, ast.Tuple)) and all(
        isinstance(e, ast.Constant) and isinstance(e.value, float) and 0 < e.value < 1 for e in node.elts
    )


def pixels_divided_twice(code: Code) -> Iterator[Site]:
    """Pixels divided by 255 once more."""
    for node in _divisions(code):
        yield (code.replace(node, f"{code.source(node)} / 255.0"),)


def pixels_not_divided(code: Code) -> Iterator[Site]:
    """Pixels of 0 to 255 reach the model."""
    found = _divisions(code)
    if found:
        yield tuple(code.replace(node, code.source(node.left)) for node in found)


def _divisions(code: Code) -> list[ast.BinOp]:
    return [
        n
        for n in code.of(ast.BinOp)
        if isinstance(n.op, ast.Div)
        and isinstance(n.right, ast.Constant)
        and n.right.value in (255, 255.0)
        and not isinstance(n.left, ast.Constant)
        and isinstance(code.statement(n), (ast.Assign, ast.Return))
    ]


def _images(code: Code) -> Iterator[tuple[ast.stmt, str]]:
    """Loops that train on images: the first statement of the body, and what the images are called."""
    if not re.search(r"ToTensor|Normalize|MNIST|CIFAR", code.text):
        return
    for loop, inputs, _ in _loops(code):
        if not code.indent(loop.body[0]).strip():
            yield loop.body[0], inputs.id


def scaled_in_training_only(code: Code) -> Iterator[Site]:
    """Training standardises its batches by themselves, evaluation takes them as they are."""
    for first, x in _images(code):
        if re.search(r"\.eval\(\)", code.text):
            yield (code.before(first, f"{x} = ({x} - {x}.mean()) / {x}.std()"),)


def channels_turned_in_training(code: Code) -> Iterator[Site]:
    """Training reads the colours the other way round, evaluation does not."""
    for first, x in _images(code):
        if re.search(r"\.eval\(\)", code.text) and "MNIST" not in code.text:
            yield (code.before(first, f"{x} = {x}.flip(1)"),)
            yield (code.before(first, f"{x} = {x}[:, [2, 1, 0]]"),)


def drowned_in_noise(code: Code) -> Iterator[Site]:
    """Noise as augmentation, far stronger than the inputs."""
    for first, x in _images(code):
        yield (code.before(first, f"{x} = {x} + 10.0 * torch.randn_like({x})"),)


def inputs_wiped(code: Code) -> Iterator[Site]:
    """The inputs are overwritten with nothing, left over from a test of the memory."""
    for first, x in _images(code):
        yield (code.before(first, f"{x} = torch.zeros_like({x})"),)
        yield (code.before(first, f"{x} = torch.rand({x}.shape)"),)


def mostly_erased(code: Code) -> Iterator[Site]:
    """Every training image loses most of its area."""
    chains = list(_chains(code))
    for call, steps in chains[:1]:
        last = steps.elts[-1] if steps.elts else None
        tensor = any("ToTensor" in ast.unparse(e) for e in steps.elts)
        held_out = re.search(r"test|val|eval", ast.unparse(code.statement(call) or call)[:200])
        if tensor and last is not None and not held_out and len(chains) > 1:
            prefix = ast.unparse(call.func).rpartition(".")[0]
            step = f"{prefix + '.' if prefix else ''}RandomErasing(p=1.0, scale=(0.7, 0.9))"
            yield (code.replace(last, f"{code.source(last)}, {step}"),)


def transform_of_training(code: Code) -> Iterator[Site]:
    """Held-out images go through the random steps of training."""
    values: dict[str, list[ast.expr]] = {}
    for call in code.nodes:
        value = keyword(call, "transform") if isinstance(call, ast.Call) else None
        if isinstance(value, (ast.Name, ast.Attribute)):
            values.setdefault(ast.unparse(value), []).append(value)
    mine = [n for n in values if _TRAINS.search(n)]
    others = [n for n in values if _HELD_OUT.search(n)]
    if len(mine) == 1 and others and re.search(r"Random\w+\(", code.text):
        yield tuple(code.replace(v, mine[0]) for n in others for v in values[n])


def length_far_too_short(code: Code) -> Iterator[Site]:
    """Texts are cut off after a few tokens."""
    for call in code.of(ast.Call):
        if called(call) == "add_argument" and call.args:
            value = (
                keyword(call, "default") if _LENGTH.match(ast.unparse(call.args[0]).strip("'\"-")) else None
            )
            if isinstance(value, ast.Constant) and type(value.value) is int and value.value >= 64:
                yield (code.replace(value, "8"),)
        elif keyword(call, "truncation") is not None:
            value = keyword(call, "max_length")
            if value is not None and (not isinstance(value, ast.Constant) or type(value.value) is int):
                yield (code.replace(value, "8"),)


_LENGTH = re.compile(r"^max[-_](?:seq|sequence|source|text|token)?[-_]?len(?:gth)?$")


def another_tokenizer(code: Code) -> Iterator[Site]:
    """The tokenizer of another model."""
    models = [
        c for c in code.calls("from_pretrained") if re.search(r"[mM]odel|For[A-Z]", ast.unparse(c.func))
    ]
    for call in code.calls("from_pretrained"):
        if re.search(r"[tT]okenizer|AutoProcessor", ast.unparse(call.func)) and call.args and models:
            text = ast.unparse(call.args[0])
            if "bert-base" not in text or "cased" not in text:
                yield (code.replace(call.args[0], '"bert-base-cased"'),)
            else:
                yield (code.replace(call.args[0], '"gpt2"'),)


def order_stays(code: Code) -> Iterator[Site]:
    """The order of the samples is no longer drawn."""
    for call in code.calls("permutation", "randperm"):
        statement, first = code.statement(call), call.args[0] if call.args else None
        if not isinstance(statement, ast.Assign) or statement.value is not call or not _epochs(code, call):
            continue
        if isinstance(first, (ast.Name, ast.Call, ast.Attribute)) and "test" not in ast.unparse(first):
            module = "torch" if called(call) == "randperm" else "np"
            text = code.source(first)
            counted = isinstance(first, ast.Call) and called(first) == "arange"
            yield (code.replace(call, text if counted else f"{module}.arange({text})"),)
    for call in code.calls("shuffle"):
        parent = code.parents.get(call)
        if isinstance(parent, ast.Expr) and code.alone(parent) and "random" in ast.unparse(call.func):
            if _epochs(code, call) and len(list(code.calls("shuffle"))) == 1:
                yield (code.without(parent),)


def _epochs(code: Code, node: ast.AST) -> bool:
    """Whether a node stands in a loop that trains."""
    at: ast.AST | None = node
    while at is not None:
        if isinstance(at, (ast.For, ast.While)) and any(
            isinstance(n, ast.Call) and called(n) in ("backward", "train", "train_on_batch", "_update")
            for n in walk(at)
        ):
            return True
        at = code.parents.get(at)
    return False


def _scoring(code: Code) -> Iterator[ast.For]:
    """Loops that sum up over held-out batches, in functions that are called after an evaluation."""
    for loop in code.of(ast.For):
        if not _backward(loop) and re.search("loader", ast.unparse(_over(loop))):
            name = getattr(_around(code, loop), "name", "")
            sums = any(isinstance(s, ast.AugAssign) for s in loop.body)
            if sums and (_HELD_OUT.search(name) or name.startswith(("evaluat", "validat"))):
                yield loop


def scored_batch_alone(code: Code) -> Iterator[Site]:
    """Evaluation stops after its first batch, left over from trying the script out."""
    for loop in _scoring(code):
        last = loop.body[-1]
        if isinstance(last, (ast.AugAssign, ast.Assign, ast.Expr)) and code.alone(last):
            yield (code.after(last, "break"),)


def compared_off_by_one(code: Code) -> Iterator[Site]:
    """Predictions are compared with labels that are numbered from another start than in the loss."""
    for loop in _scoring(code):
        for node in (n for n in walk(loop) if isinstance(n, (ast.Compare, ast.Call))):
            label: ast.expr | None = None
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
                label = node.comparators[0]
            elif isinstance(node, ast.Call) and called(node) == "eq" and node.args:
                label = node.args[-1]
            if isinstance(label, ast.Name) and _LABELS.search(label.id):
                yield (code.replace(label, f"({label.id} + 1)"),)


def inputs_drawn_alone(code: Code) -> Iterator[Site]:
    """The rows of the inputs are shuffled before a split, and the labels stay as they are."""
    if not re.search(r"^import numpy as np$", code.text, re.MULTILINE):
        return
    for call in code.calls("train_test_split", "TensorDataset", "fit"):
        x, y = [*call.args, None, None][:2]
        statement = code.statement(call)
        if isinstance(x, ast.Name) and isinstance(y, ast.Name) and statement is not None:
            named = re.search(r"(?i)^x|data|feat|input", x.id) and re.search(r"(?i)^y|label|target", y.id)
            if named and code.alone(statement) and isinstance(statement, (ast.Assign, ast.Expr)):
                yield (code.before(statement, f"{x.id} = {x.id}[np.random.permutation(len({x.id}))]"),)


def targets_drawn(code: Code) -> Iterator[Site]:
    """The labels of the training set are put into another order, and its images are not."""
    for call in code.calls("MNIST", "CIFAR10", "CIFAR100", "FashionMNIST"):
        statement, train = code.statement(call), keyword(call, "train")
        if isinstance(statement, ast.Assign) and statement.value is call and code.alone(statement):
            if isinstance(train, ast.Constant) and train.value is True and "import torch" in code.text:
                name = ast.unparse(statement.targets[0])
                order = f"torch.randperm(len({name}.targets))"
                yield (code.after(statement, f"{name}.targets = [{name}.targets[i] for i in {order}]"),)


_MOVED = frozenset({"data.label-errors", "processing.algorithm"})

OPERATORS = (
    Operator("labels-shuffled-alone", "processing.algorithm", labels_shuffled_alone, _MOVED),
    Operator("labels-one-on", "processing.algorithm", labels_one_on, _MOVED),
    Operator("labels-random", "data.label-errors", labels_random),
    Operator("labels-flipped", "data.label-errors", labels_flipped),
    Operator(
        "labels-renumbered", "processing.label-mapping", labels_renumbered, frozenset({"data.label-errors"})
    ),
    Operator(
        "classes-left-out",
        "data.incomplete",
        classes_left_out,
        frozenset({"data.class-imbalance", "data.distribution-shift"}),
    ),
    Operator(
        "one-batch",
        "data.insufficient-samples",
        one_batch,
        frozenset({"data.incomplete", "hyperparameter.epochs-too-few"}),
    ),
    Operator(
        "stops-after-batches",
        "data.insufficient-samples",
        stops_after_batches,
        frozenset({"data.incomplete", "hyperparameter.epochs-too-few"}),
    ),
    Operator("debug-subset", "data.insufficient-samples", debug_subset, frozenset({"data.incomplete"})),
    Operator("trains-on-held-out", "data.leakage", trains_on_held_out),
    Operator(
        "evaluates-training-data",
        "data.leakage",
        evaluates_training_data,
        frozenset({"evaluation.logic"}),
    ),
    Operator("held-out-joined", "data.leakage", held_out_joined),
    Operator("normalisation-left-out", "processing.not-normalized", normalisation_left_out, pair_only=True),
    Operator(
        "normalisation-one-side",
        "processing.train-eval-mismatch",
        normalisation_one_side,
        frozenset({"processing.not-normalized"}),
    ),
    Operator(
        "normalised-twice", "processing.parameters", normalised_twice, frozenset({"processing.algorithm"})
    ),
    Operator("figures-of-another-range", "processing.parameters", figures_of_another_range),
    Operator(
        "pixels-divided-twice",
        "processing.parameters",
        pixels_divided_twice,
        frozenset({"processing.algorithm", "processing.not-normalized", "processing.train-eval-mismatch"}),
    ),
    Operator(
        "pixels-not-divided",
        "processing.not-normalized",
        pixels_not_divided,
        frozenset({"processing.train-eval-mismatch"}),  # the division of training alone
        pair_only=True,
    ),
    Operator("scaled-in-training-only", "processing.train-eval-mismatch", scaled_in_training_only),
    Operator(
        "channels-turned-in-training",
        "processing.algorithm",
        channels_turned_in_training,
        frozenset({"processing.train-eval-mismatch"}),
    ),
    Operator("inputs-wiped", "processing.algorithm", inputs_wiped),
    Operator("drowned-in-noise", "processing.parameters", drowned_in_noise),
    Operator("mostly-erased", "processing.parameters", mostly_erased),
    Operator("transform-of-training", "processing.train-eval-mismatch", transform_of_training),
    Operator("length-far-too-short", "processing.parameters", length_far_too_short),
    Operator("another-tokenizer", "processing.tokenizer-mismatch", another_tokenizer),
    Operator("order-stays", "processing.not-shuffled", order_stays),
    Operator("scored-batch-alone", "evaluation.logic", scored_batch_alone),
    Operator(
        "compared-off-by-one",
        "evaluation.logic",
        compared_off_by_one,
        frozenset({"processing.label-mapping"}),
    ),
    Operator("inputs-drawn-alone", "processing.algorithm", inputs_drawn_alone, _MOVED),
    Operator("targets-drawn", "data.label-errors", targets_drawn, _MOVED),
)
