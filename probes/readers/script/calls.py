"""What calls are named and given, and the names of what trains."""

from __future__ import annotations

import ast
import re

from .._tree import of, unparse, walk

OPTIMIZERS = frozenset(
    [
        "sgd",
        "adam",
        "adamw",
        "rmsprop",
        "adagrad",
        "adadelta",
        "nadam",
        "radam",
        "adamax",
        "lbfgs",
        "lamb",
        "momentum",
        "adamweightdecay",
        "lion",
        "adafactor",
        "asgd",
        "sparseadam",
        "muon",
        "rprop",
    ]
)
LOSSES = frozenset(
    [
        "crossentropyloss",
        "bcewithlogitsloss",
        "bceloss",
        "mseloss",
        "nllloss",
        "l1loss",
        "smoothl1loss",
        "huberloss",
        "kldivloss",
        "cross_entropy",
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy",
        "mse_loss",
        "nll_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "softmaxcrossentropywithlogits",
        "sparsecategoricalcrossentropy",
        "categoricalcrossentropy",
        "binarycrossentropy",
    ]
)
_CLASSES = (
    *("CrossEntropyLoss", "BCEWithLogitsLoss", "BCELoss", "MSELoss", "NLLLoss", "L1Loss", "SmoothL1Loss"),
    *("HuberLoss", "KLDivLoss", "SoftmaxCrossEntropyWithLogits", "SparseCategoricalCrossentropy"),
    *("CategoricalCrossentropy", "BinaryCrossentropy"),
)
_WRITTEN = {name.lower(): name for name in _CLASSES}
SCHEDULERS = frozenset(
    [
        "steplr",
        "multisteplr",
        "exponentiallr",
        "cosineannealinglr",
        "cosineannealingwarmrestarts",
        "onecyclelr",
        "lambdalr",
        "linearlr",
        "reducelronplateau",
        "polynomiallr",
        "cycliclr",
        "constantlr",
        "get_linear_schedule_with_warmup",
        "get_cosine_schedule_with_warmup",
        "get_constant_schedule_with_warmup",
        "cosinedecaylr",
        "exponentialdecay",
        "cosinedecay",
        "piecewiseconstantdecay",
    ]
)
UNTAPED = ("no_grad", "inference_mode")


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name: `torch.optim.SGD` -> "SGD"."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def all_arguments(call: ast.Call) -> list[ast.expr]:
    """All that a call is given, by place and by name."""
    return [*call.args, *(k.value for k in call.keywords)]


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def receiver(call: ast.Call) -> ast.expr | None:
    """What a method is called on: `x` of `x.mean()`; None of a plain function."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def argument(call: ast.Call, *names: str, position: int | None = None) -> ast.expr | None:
    """An argument by the first of its names that is written, or by its place."""
    for name in names:
        if (found := keyword(call, name)) is not None:
            return found
    return call.args[position] if position is not None and position < len(call.args) else None


def is_of_the_script(call: ast.Call, tree: ast.Module) -> bool:
    """Whether a loader is a function of the program's own: `for rows in dataloader(data, size, key)`.

    A framework's is a class and so is named like one.
    """
    name = last_name(call.func)
    return name.islower() or any(
        n.name == name for n in walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))
    )


_FOR_TRAINING = re.compile(r"train|(?<![a-z])(?:tr|trn|fit)(?![a-z])")
_FOR_EVALUATION = re.compile(
    r"val|test|eval|holdout|(?<![a-z])(?:va|vl|te|ts|tst|ev|ho|dev|infer|inference|pred|predict|query|gallery)(?![a-z])"
)


def is_training_loader(call: ast.Call, tree: ast.Module) -> bool:
    """Say whether a loader is for training: by the name it is given and the data it takes.

    Where neither says so, a loader in fixed order beside one of its kind that shuffles is for evaluation.
    """
    words = unparse(call.args[0]).lower() if call.args else ""
    others: list[ast.Call] = []
    for node in walk(tree):
        if isinstance(node, ast.Assign) and any(n is call for n in walk(node.value)):
            words = unparse(node.targets[0]).lower() + " " + words
        elif isinstance(node, ast.Call) and last_name(node.func) == last_name(call.func):
            others.append(node)
    if _FOR_EVALUATION.search(words):
        return False
    if _FOR_TRAINING.search(words) or _shuffles(call):
        return True
    return not any(_shuffles(other) for other in others)


def _shuffles(call: ast.Call) -> bool:
    """Whether a loader may draw in random order: its shuffle is not off, or a sampler draws for it."""
    chosen = keyword(call, "shuffle") or nth_given(call, 2)
    if chosen is None:
        return keyword(call, "sampler") is not None or keyword(call, "batch_sampler") is not None
    return not (isinstance(chosen, ast.Constant) and not chosen.value)


def is_stream(call: ast.Call, tree: ast.Module) -> bool:
    """The loader is given a data set of the script that iterates by itself: PyTorch shuffles none."""
    given = call.args[0] if call.args else keyword(call, "dataset")
    made = [given] if isinstance(given, ast.Call) else []
    if isinstance(given, (ast.Name, ast.Attribute)):
        name = unparse(given)
        made = [
            n.value
            for n in of(tree, ast.Assign)
            if isinstance(n.value, ast.Call) and any(unparse(t) == name for t in n.targets)
        ]
    owners = {c.name: c for c in of(tree, ast.ClassDef)}
    found = [owners.get(last_name(m.func)) for m in made]
    return bool(found) and all(c is not None and _iterates(c) for c in found)


def _iterates(owner: ast.ClassDef) -> bool:
    methods = {f.name for f in owner.body if isinstance(f, ast.FunctionDef)}
    named = any(unparse(b).rpartition(".")[2] == "IterableDataset" for b in owner.bases)
    return named or ("__iter__" in methods and "__getitem__" not in methods)


# One tensor that is sought with a finished model: what explains it, what excites it, what fools it.
SOUGHT_TENSOR = re.compile(
    r"(?i)mask|prompt|noise|delta|image|latent|z$|perturb|embed|\binputs?_|\binputs?$|seed_input"
)


OWN_WEIGHTS = re.compile(
    r"(?i)param|group|variables|vars$|weight|kernels$|^[wb]\d?$|bias"
)  # names of a model's own
_MADE = ("tensor", "zeros", "ones", "empty", "rand", "randn", "Parameter")  # a tensor, out of numbers alone


def moves_one_tensor(call: ast.Call) -> bool:
    """Whether an optimizer gets single tensors alone, none of them a network's: `Adam([self.mask], lr=0.3)`.

    One that is made on the spot is nobody's weight: `SGD([torch.zeros(1, requires_grad=True)], lr=0)`. One
    alone makes no network, unless it is named as weights are: `Adam([physics.filter], lr=0.1)`.
    """

    def single(node: ast.expr) -> bool:
        if isinstance(node, ast.Dict):
            return any(single(v) for v in node.values if not isinstance(v, ast.Constant))
        if isinstance(node, ast.Call):
            return last_name(node.func) in _MADE
        return isinstance(node, (ast.Name, ast.Attribute)) and bool(SOUGHT_TENSOR.search(last_name(node)))

    given = call.args[0] if call.args else keyword(call, "params")
    if not isinstance(given, (ast.List, ast.Tuple)) or not given.elts:
        return False
    only = given.elts[0] if len(given.elts) == 1 else None
    alone = isinstance(only, (ast.Name, ast.Attribute)) and not OWN_WEIGHTS.search(last_name(only))
    return alone or all(map(single, given.elts))


def first_given(call: ast.Call) -> ast.expr | None:
    """The first argument given by place."""
    return nth_given(call, 0)


def nth_given(call: ast.Call, position: int) -> ast.expr | None:
    """The argument given at a place, counted from 0."""
    return call.args[position] if len(call.args) > position else None


def loss_name(kind: str) -> str:
    """A loss of `LOSSES` as its framework writes it: "CrossEntropyLoss"; others as they are."""
    return _WRITTEN.get(kind, kind)
