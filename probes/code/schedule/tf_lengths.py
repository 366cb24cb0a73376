"""Lengths of schedules in scripts: warm-ups longer than the training, and samples counted as steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fractions import Fraction

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.factors import Product, product
from ..shared.sides import default

_WARM = re.compile(r"(?i)^(?:n_|num_)?warm(?:_?up)?(?:_?(?:steps?|epochs?|iters?|updates|batches))?$")
_ALL = re.compile(
    r"(?i)^(?:n_|num_|max_)?(?:total|train|training|num_train|num_training|all)_?(?:steps|epochs|iters|updates)$"
    r"|^(?:n_|num_|max_)?(?:epochs|steps|iters|iterations|total)$"
)


# ------------------------------------------------------------------------------------- warm-up and whole


def warmup_outlasts_training(source: Script) -> Finding | None:
    """The settings of a script give a warm-up that is longer than the training.

    `Noam(rate, warmup_steps, epochs * steps_per_epoch)` of a class or function that makes rates,
    `total - warmup` in one, and `{"warmup_steps": 9000, "train_steps": 4000}`. Told where both are numbers.
    """
    for node, warm, whole in _pairs(source):
        share = _share(source, warm, whole)
        if share is not None and share > 1:
            return at(source, node, f"the warm-up is {float(share):.3g} times as long as the whole training")
    return None


def _pairs(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    for node in source.of(ast.BinOp):
        if isinstance(node.op, ast.Sub) and _WARM.match(_name(node.right)) and _ALL.match(_name(node.left)):
            if _unit(_name(node.left)) == _unit(_name(node.right)):
                yield node, node.right, node.left
    for call in source.calls:
        made = parameters_of(source, call)
        warm = next((v for n, v in made if _WARM.match(n)), None)
        whole = next((v for n, v in made if _ALL.match(n)), None)
        if warm is not None and whole is not None and _RATES.search(last_name(call.func)):
            yield call, warm, whole
    for told in source.of(ast.Dict):
        names = {
            k.value: v
            for k, v in zip(told.keys, told.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        }
        warm = next((v for n, v in names.items() if _WARM.match(n) and "step" in n), None)
        whole = next((v for n, v in names.items() if _ALL.match(n) and "step" in n), None)
        if warm is not None and whole is not None:
            yield warm, warm, whole
        warm = next((v for n, v in names.items() if _WARM.match(n) and "epoch" in n), None)
        whole = next((v for n, v in names.items() if _ALL.match(n) and "epoch" in n), None)
        if warm is not None and whole is not None:
            yield warm, warm, whole


_RATES = re.compile(r"(?i)sched|warm|noam|decay|cosine|anneal|(?:^|_)lr|rate")


def _unit(name: str) -> str:
    found = re.search(r"(?i)epoch|step|iter|update|batch", name)
    return found.group(0).lower() if found else ""


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def parameters_of(source: Script, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """What a class or function of the script is given, by the names of its parameters."""
    name = last_name(call.func)
    owner = source.classes.get(name)
    if owner is not None:
        made = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
        names = [a.arg for a in made.args.args][1:] if made is not None else []
    else:
        found = flow(source).functions.get(name, [])
        names = [a.arg for a in found[0].args.args] if len(found) == 1 else []
    if not names or any(isinstance(a, ast.Starred) for a in call.args):
        return []
    pairs = list(zip(names, call.args, strict=False))
    return pairs + [(k.arg, k.value) for k in call.keywords if k.arg]


def _share(source: Script, warm: ast.expr, whole: ast.expr) -> Fraction | None:
    mine = flow(source)
    one, other = product(mine, warm), product(mine, whole)
    if one is None or other is None or other.constant == 0:
        return None
    left = filled(source, one.times(other, -1))
    return left.constant if left is not None and not left.atoms else None


def filled(source: Script, found: Product) -> Product | None:
    """A product whose settings are put in by their defaults, as far as they are told."""
    rest: list[tuple[str, int]] = []
    constant = found.constant
    for text, power in found.atoms:
        value = _default(source, text)
        if value is None or value <= 0:
            rest.append((text, power))
        else:
            constant *= Fraction(str(value)) ** power
    return Product(constant, tuple(rest))


def _default(source: Script, text: str) -> float | None:
    """The number of a setting by how it is read: `args.epochs`, `cfg["warmup_steps"]`, `settings.epochs`."""
    item = re.fullmatch(r"[\w.]+\[['\"](\w+)['\"]\]", text)
    if item is None:
        tree = ast.parse(text, mode="eval").body if re.fullmatch(r"[\w.]+", text) else None
        value = default(source, tree) if tree is not None else None
        if value is None and isinstance(tree, ast.Attribute) and unparse(tree.value) != "self":
            return _item(source, tree.attr)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return _item(source, item.group(1))


def _item(source: Script, name: str) -> float | None:
    """The number of a key that one table of the script holds, and that nothing sets anew."""
    values = {
        v.value
        for d in source.of(ast.Dict)
        for k, v in zip(d.keys, d.values, strict=True)
        if isinstance(k, ast.Constant) and k.value == name and isinstance(v, ast.Constant)
    }
    every = [
        k for d in source.of(ast.Dict) for k in d.keys if isinstance(k, ast.Constant) and k.value == name
    ]
    written = [
        n
        for n in source.of(ast.Subscript)
        if isinstance(n.ctx, ast.Store) and isinstance(n.slice, ast.Constant) and n.slice.value == name
    ]
    if len(values) != 1 or len(every) != 1 or written:
        return None
    value = values.pop()
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# ------------------------------------------------------------------------------------- samples for steps

_STEPS = re.compile(
    r"(?i)^(?:n_|num_)?(?:steps_per_epoch|(?:train|total|decay|training|max|all)_?steps|batches_per_epoch|steps)$"
)
_SAMPLES = re.compile(
    r"(?i)(?:^|[._'\"\[])(?:n_|num_)?(?:train(?:ing)?_)?(?:examples|samples|clips|images|rows|records|sentences)(?:['\"\]]|$)"
    r"|^len\(\w*(?:train|parts)\w*(?:\[['\"]\w+['\"]\])?\[0\]\)$|^len\((?:x|y)_train\)$|^len\(train_(?:x|y|images|labels)\)$"
)


def steps_of_samples(source: Script) -> Finding | None:
    """`steps_per_epoch = settings.train_examples`: nothing divides the samples by the size of a batch.

    Only where a schedule, an Estimator or `fit` takes the number. Batches of one sample are left aside.
    """
    if not {"keras", "tensorflow"} & set(source.frameworks) or not re.search(r"(?i)batch", source.code):
        return None
    mine = flow(source)
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, (ast.Name, ast.Attribute)) or not _STEPS.match(last_name(target)):
            continue
        if re.search(r"(?i)batch|\bbs\b|steps|loader|iter", unparse(node.value)):
            continue
        found = product(mine, node.value)
        if found is None or found.constant != 1:
            continue
        samples = [t for t, p in found.atoms if p == 1 and _SAMPLES.search(t)]
        others = [
            t for t, p in found.atoms if t not in samples and not (p == 1 and re.search(r"(?i)epoch", t))
        ]
        if len(samples) == 1 and not others and _is_a_length(source, last_name(target)):
            return at(source, node, "these are samples: nothing divides them by the size of a batch")
    return None


def _is_a_length(source: Script, name: str) -> bool:
    """A schedule, an Estimator or `fit` is told the number, alone or times the epochs, also by a dict."""
    words = re.compile(rf"\b{re.escape(name)}\b")
    for call in source.calls:
        if re.search(r"(?i)decay|sched|warm|cosine|noam|TrainSpec$|^fit$|^train$", last_name(call.func)):
            given = [*call.args, *(k.value for k in call.keywords)]
            if any(words.search(unparse(g)) for g in given):
                return True
    return any(
        isinstance(k, ast.Constant)
        and isinstance(k.value, str)
        and _STEPS.match(k.value)
        and words.search(unparse(v))
        for d in source.of(ast.Dict)
        for k, v in zip(d.keys, d.values, strict=True)
    )


def epochs_as_steps(source: Script) -> Finding | None:
    """`TrainSpec(fn, max_steps=args.epochs)`, `{"train_steps": args.epochs}`: epochs for steps."""
    if "tensorflow" not in source.frameworks:
        return None
    for call in source.named("TrainSpec", "train"):
        told = keyword(call, "max_steps") or keyword(call, "steps")
        if told is not None and _bare_epochs(told):
            return at(source, told, "the training ends after as many batches as there are epochs")
    for told in source.of(ast.Dict):
        for key, value in zip(told.keys, told.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and _STEPS.match(key.value):
                if _bare_epochs(value) and "per_epoch" not in key.value:
                    return at(source, value, f"`{key.value}` counts steps, and is given the epochs")
    return None


def _bare_epochs(node: ast.expr) -> bool:
    name = _name(node)
    return re.fullmatch(r"(?i)(?:n_|num_|train_|max_)?epochs", name) is not None


# ------------------------------------------------------------------------------------- metrics that go on


def metric_goes_on(source: Script) -> Finding | None:
    """`self.mae.update_state(...)` in each batch, `self.mae.result()` in each epoch, and it is never reset.

    Only metrics of Keras in loops of the script's own. Left aside where anything resets metrics by another
    name, or makes them anew in the loop.
    """
    if not {"keras", "tensorflow"} & set(source.frameworks) or source.loose:
        return None
    resets = source.named("reset_state", "reset_states")
    owners = {source.owner(c) for c in resets}
    made = {
        unparse(n.targets[0]): n
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call)
        and re.search(r"metrics\.\w+$", unparse(n.value.func))
        and isinstance(n.targets[0], (ast.Name, ast.Attribute))
    }
    if owners - set(made) or source.named("reset_metrics", "compile"):
        return None
    for name, node in made.items():
        if name in owners or source.loops_around(node):
            continue
        updates = [c for c in source.calls if unparse(c.func) in (name, f"{name}.update_state")]
        shown = [
            (c, loop)
            for c in source.named("result")
            if source.owner(c) == name
            for loop in source.loops_around(c)
            if isinstance(loop, ast.For) and re.search(r"(?i)^(?:epoch|ep|e)$", unparse(loop.target))
        ]
        if not updates or not shown:
            continue
        call, loop = shown[0]
        again = [n for n in of(loop, ast.Assign) if unparse(n.targets[0]) == name]
        inner = [x for x in of(loop, ast.For) if x is not loop]
        if inner and not again and all(x not in source.loops_around(call) for x in inner):
            return at(source, call, f"`{name}` is never reset: it is a mean over all epochs so far")
    return None
