"""Which names of a script hold inputs and which hold targets, by what reaches the model and the loss."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...scripts.syntax import Script
from .nodes import paired

TARGET_WORDS = re.compile(r"(?:^|_)(?:y|ys|yb|labels?|lbls?|targets?|answers?|gts?|truths?)(?:_|$)")
_SAID_OF = re.compile(
    r"_(?:encod(?:ing|er)|tokenizer|scaler|transform|name|key|col|columns?|type|kind|mode|size|dim|length|len|shape"
    r"|dtype|format|dir|path|lang|smoothing|fn)$"
)
INPUT_WORDS = re.compile(
    r"(?:^|_)(?:x|xs|features?|inputs?|images?|imgs?|pixels?|clips?|waves?|waveforms?|signals?|spectra|spectrum"
    r"|spectrograms?|frames?|data|samples?|series|windows?|rows?|columns?)(?:_|$)"
)
_MODEL = re.compile(r"(?:^|_)(?:model|net|network|module|classifier|regressor|backbone)$")
_MAKES = re.compile(r"(?:create|get|build|load|make|init|setup|save|add|new|export|freeze|compile|prepare)_")
_MODULE = re.compile(r"(?:Module|Cell|Model|Layer)$")
RANDOM = re.compile(
    r"\b(?:rand|randn|randint|randperm|random|randrange|choice|choices|integers|permutation|uniform|normal"
    r"|bernoulli|binomial|sample|shuffle|rand_like|randn_like|multinomial|standard_normal|beta|betavariate|gauss"
    r"|poisson|exponential|dirichlet)_?\b"
)


def base(node: ast.AST) -> str:
    """The name that an expression is about: `self.words[i].to(device)` -> "words"."""
    while True:
        if isinstance(node, ast.Subscript):
            if (column := _column(node)) is not None:
                return column
            node = node.value
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and not _library(node.func.value):
                node = node.func.value
            elif node.args:
                node = node.args[0]
            else:
                return ""
        elif isinstance(node, ast.Starred):
            node = node.value
        else:
            break
    if isinstance(node, ast.Attribute):
        return node.attr.lower()
    return node.id.lower() if isinstance(node, ast.Name) else ""


def _column(node: ast.Subscript) -> str | None:
    """`table["left"]`, `table[TARGET]`, `table.loc[rows, TARGET]`: a column by its name, or a name for it."""
    place = node.slice
    if isinstance(place, ast.Tuple) and place.elts and last_name(node.value) in ("loc", "at"):
        place = place.elts[-1]
    if isinstance(place, ast.Constant) and isinstance(place.value, str):
        return place.value.lower()
    if isinstance(place, ast.Name) and place.id.isupper() and TARGET_WORDS.search(place.id.lower()):
        return place.id.lower()
    return None


_LIBRARIES = (
    "torch",
    "nn",
    "np",
    "numpy",
    "F",
    "TF",
    "tf",
    "jnp",
    "jax",
    "mindspore",
    "ops",
    "mint",
    "paddle",
)


def _library(node: ast.expr) -> bool:
    """`torch.tensor(labels)`: the function of a library, not a method."""
    return unparse(node).split(".")[0] in _LIBRARIES


def is_random(node: ast.AST) -> bool:
    """Say whether an expression draws random numbers."""
    return any(RANDOM.search(last_name(n.func)) for n in of(node, ast.Call))


def model_calls(source: Script) -> Iterator[ast.Call]:
    """Calls of the model on a batch, outside of the forward methods of modules."""
    built = {c.name for c in source.models if any(_MODULE.search(unparse(b)) for b in c.bases)}
    names = {
        unparse(t)
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and last_name(n.value.func) in built
        for t in n.targets
    }
    for call in source.calls:
        if not call.args or isinstance(call.func, ast.Call):
            continue
        name = unparse(call.func)
        named = _MODEL.search(last_name(call.func).lower()) and not _MAKES.match(last_name(call.func))
        if name in names or (named and name not in source.classes):
            if source.function_around(call) not in source.forwards:
                yield call


# What belongs to training data alone: augmentation, soft labels, order.
_TRAINING_ONLY = ("rand", "augment", "noise", "jitter", "flip", "crop", "mixup", "smooth", "shuffle", "perm")


def is_training_only(value: ast.expr) -> bool:
    """Random, or named after what belongs to training data alone."""
    text = unparse(value).lower()
    return is_random(value) or any(w in text for w in _TRAINING_ONLY)


@lru_cache(maxsize=64)
def targets(source: Script) -> frozenset[str]:
    """Names of variables, fields and attributes that hold targets: second in a loss, last of a sample."""
    found = {base(call.args[1]) for call, _ in source.losses if len(call.args) > 1}
    for call in _what_is_minimised(source):
        found |= {base(a) for a in call.args[1:]}
    for pair in _samples(source):
        found.add(base(pair[-1]))
    for node in source.of(ast.Name, ast.Attribute):
        name = last_name(node).lower()
        if TARGET_WORDS.search(name) or name.endswith(("_y", "labels", "targets")):
            found.add(name)
    found |= set(_kept_as(source, found))
    return frozenset(n for n in found if n and not INPUT_WORDS.search(n) and n not in ("ids", "tokens"))


def _kept_as(source: Script, known: set[str]) -> Iterator[str]:
    """Columns and fields that a data set takes its targets of: `self.y = tensor(frame["left"].values)`.

    Also `pts = self.points[i].copy()` in a `__getitem__` that hands `pts` out last.
    """
    for owner in source.classes.values():
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        if "__getitem__" not in methods:
            continue
        last = {base(o.value.elts[-1]) for o in of(methods["__getitem__"], ast.Return)
                if isinstance(o.value, ast.Tuple) and len(o.value.elts) > 1} & known  # fmt: skip
        for node in of(owner, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = paired(target, value)
            for one, taken in pairs:
                if isinstance(one, (ast.Name, ast.Attribute)) and base(one) in last:
                    yield from _place(source, taken)


def _place(source: Script, value: ast.expr) -> Iterator[str]:
    """A column of a table, or an item of a field: `torch.tensor(frame["left"].values)`, `self.points[i]`."""
    places = [s for s in of(value, ast.Subscript) if not isinstance(s.slice, ast.Slice)]
    if len(places) == 1:
        if _column(places[0]) is not None or unparse(places[0].value).startswith("self."):
            yield base(places[0])
        for node in source.tree.body:
            if isinstance(node, ast.Assign) and unparse(node.targets[0]) == unparse(places[0].slice):
                if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                    yield node.value.value.lower()


def are_targets(name: str) -> bool:
    """A name is one of targets, and not of what is said of them: `y_train`; not `target_encoding`."""
    return TARGET_WORDS.search(name) is not None and not _SAID_OF.search(name)


@lru_cache(maxsize=64)
def inputs(source: Script) -> frozenset[str]:
    """Names that hold inputs: what the model is called on, first of a sample, or named so."""
    found = {base(call.args[0]) for call in model_calls(source)}
    for pair in _samples(source):
        found |= {base(p) for p in pair[:-1]}
    for node in source.of(ast.Name, ast.Attribute):
        name = last_name(node).lower()
        if INPUT_WORDS.search(name):
            found.add(name)
    return frozenset(found - targets(source) - {""})


def _what_is_minimised(source: Script) -> Iterator[ast.Call]:
    """Calls that give what backward is called on: `loss, parts = compute_loss(model(x), boxes, classes)`."""
    for backward in source.backwards:
        scope = source.function_around(backward) or source.tree
        given = backward.args[0] if backward.args else getattr(backward.func, "value", None)
        if isinstance(given, ast.Call) and last_name(given.func) == "scale" and given.args:
            given = given.args[0]  # scaler.scale(loss).backward()
        name = unparse(given) if given is not None else ""
        for node in of(scope, ast.Assign):
            if isinstance(node.value, ast.Call) and len(node.value.args) > 1:
                target = node.targets[0]
                places = target.elts if isinstance(target, ast.Tuple) else [target]
                if name in map(unparse, places):
                    yield node.value


def _samples(source: Script) -> Iterator[list[ast.expr]]:
    """(inputs ..., target) of a data set: what `__getitem__` returns, what a TensorDataset is made of."""
    for node in source.of(ast.FunctionDef):
        if node.name == "__getitem__":
            for out in of(node, ast.Return):
                if isinstance(out.value, ast.Tuple) and len(out.value.elts) > 1:
                    yield out.value.elts
    for call in source.named("TensorDataset", "ArrayDataset", "from_tensor_slices", "NumpySlicesDataset"):
        given = call.args[0].elts if call.args and isinstance(call.args[0], ast.Tuple) else call.args
        if len(given) > 1 and not any(isinstance(g, ast.Starred) for g in given):
            yield list(given)


_RUN_TOGETHER = re.compile(
    r"(train|val|valid|test|dev|eval)((?:data)?(?:loader|set|iter|gen)s?|data|d[sl]|df|generator|dir|path|file|folder"
    r"|image|img|label|target|sample|batch|feature|text|sentence|pair|frame|inds?|idxs?|indices|ids|x|y"
    r"|val|valid|dev)(s|es)?"  # `trainval`
)


@lru_cache(maxsize=4096)
def parted(word: str) -> tuple[str, ...]:
    """A word in lower case, taken apart where a side of the data is written together with what it is of.

    `trainloader` -> "train", "loader"; any other word stays as it is.
    """
    found = _RUN_TOGETHER.fullmatch(word)
    return (found[1], word[len(found[1]) :]) if found else (word,)


@lru_cache(maxsize=4096)
def split_of(name: str) -> str | None:
    """The part of the data that a name tells: `val_loader` -> "val"; "train" or a word of evaluation."""
    apart = re.split(r"[_\d.\[\]'\"]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    words = [part for word in apart for part in parted(word)]
    return next((w for w in ("train", "training", *EVALUATION) if w in words), None)


EVALUATION = (
    "val",
    "valid",
    "validation",
    "validate",
    "evaluate",
    "test",
    "testing",
    "eval",
    "evaluation",
    "dev",
    "heldout",
    "holdout",
)


def trains(split: str | None) -> bool | None:
    """True of the training data, False of held-out data, None without a word of it."""
    return None if split is None else split.startswith("train")


@lru_cache(maxsize=64)
def split_flags(source: Script) -> dict[ast.AST, frozenset[str]]:
    """Of each function or class that makes training and held-out data: parameters that tell them apart.

    `Samples(n, mask=8)` for the training set and `Samples(480)` for validation: "n" and "mask". Followed into
    functions that get such a parameter by its name.
    """
    functions = {n.name: n for n in source.of(ast.FunctionDef, ast.AsyncFunctionDef)}
    made: dict[str, dict[bool, list[ast.Call]]] = {}
    for node in source.of(ast.Assign):
        if isinstance(node.value, ast.Call):
            side = trains(split_of(unparse(node.targets[0])))
            name = last_name(node.value.func)
            if side is not None and (name in functions or name in source.classes):
                made.setdefault(name, {}).setdefault(side, []).append(node.value)
    found: dict[ast.AST, frozenset[str]] = {}
    queue: list[tuple[ast.AST, frozenset[str]]] = []
    for name, sides in made.items():
        if len(sides) == 2:
            owner: ast.AST = source.classes[name] if name in source.classes else functions[name]
            here, there = (_given(owner, sides[k][0]) for k in (True, False))
            apart = {p for p in {*here, *there} if here.get(p) != there.get(p)} - {"seed", "path", "root"}
            queue.append((owner, frozenset(apart)))
    while queue and len(found) < 50:
        owner, flags = queue.pop()
        if owner in found or not flags:
            continue
        found[owner] = flags
        for call in of(owner, ast.Call):
            if last_name(call.func) in functions:
                inner = functions[last_name(call.func)]
                passed = {p for p, v in _given(inner, call).items() if base_name(v) in flags}
                queue.append((inner, frozenset(passed)))
    return found


_TABLE_OF_WORDS = re.compile(
    r"(?i)(?:self\.)?(?:\w*vocab\w*|\w*stoi"
    r"|(?:w|word|tok|token|char|c)\w{0,2}_?(?:to|2)_?(?:i|id|idx|ix|index)\w*)$"
)


def is_table_of_words(source: Script, node: ast.AST) -> bool:
    """Whether an expression stands in an assignment to the numbers of words: `vocabulary = {w: i ...}`."""
    kept = source.statement(node)
    return isinstance(kept, ast.Assign) and any(_TABLE_OF_WORDS.match(unparse(t)) for t in kept.targets)


def base_name(text: str) -> str:
    """`self.train` -> "train"."""
    return text.rsplit(".", 1)[-1]


def _given(owner: ast.AST, call: ast.Call) -> dict[str, str]:
    """The arguments of a call by parameter, as text."""
    function: ast.AST | None = owner
    if isinstance(owner, ast.ClassDef):
        function = next(
            (f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None
        )
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {}
    names = [a.arg for a in function.args.args]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    defaults = dict(zip(reversed(names), map(unparse, reversed(function.args.defaults)), strict=False))
    given = dict(zip(names, map(unparse, call.args), strict=False))
    given |= {k.arg: unparse(k.value) for k in call.keywords if k.arg}
    return defaults | given
