"""What scripts make ready for their inputs and then leave: figures, fitted scalers, values handed over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import left_to_heirs

_SPREAD = re.compile(r"(?i)^_*(?:\w+_)?(?:std|stdev|stddev|sd|sigma|deviation|scale_?)s?$")
_CENTRE = re.compile(r"(?i)^_*(?:\w+_)?(?:mean|mu|avg|centre|center)s?_?$")
_OF_OTHERS = re.compile(
    r"(?i)loss|weight|init|grad|reward|target|label|^y_|noise|time|speed|score|running|resid|error|pred|latent"
)
_SCALER = re.compile(r"(?i)^_*(?:\w+_)?(?:scaler|normali[sz]er|standardi[sz]er)$")


def figures_left(source: Script) -> Finding | None:
    """Mean and deviation stand at the head of a file, or are kept by a class, and are read nowhere.

    Asked of each file and each class by itself: another class may have a `mean` of its own that is used.
    Left aside: what is read as an attribute of something else, or by a name made at run time.
    """
    if source.loose:
        return None
    for pair in (*_of_module(source), *_of_classes(source)):
        return at(source, pair, "mean and deviation of the inputs are there, and nothing uses them")
    return None


def _of_module(source: Script) -> Iterator[ast.AST]:
    made: dict[str, tuple[str, ast.stmt]] = {}
    for node in (*source.tree.body, *source.left_out):
        for name, value in _assigned(node):
            plain = isinstance(value, (ast.Tuple, ast.List, ast.Constant)) or (
                isinstance(value, ast.Call) and last_name(value.func) in ("array", "tensor", "constant")
            )
            text = isinstance(value, ast.Constant) and isinstance(value.value, str)
            if plain and not text and not _OF_OTHERS.search(name):
                made[name] = (source.place(node).file, node)
    read = {n.id for n in source.of(ast.Name) if isinstance(n.ctx, ast.Load)}
    told = _beyond_constants(source)
    for name, (file, node) in made.items():
        if not _SPREAD.match(name) or name in read or name in source.mentions:
            continue
        if file not in told and node in source.left_out:
            continue  # a module of constants alone that others import as well
        others = [n for n, (f, _) in made.items() if f == file and _CENTRE.match(n)]
        if sum(f == file and bool(_SPREAD.match(n)) for n, (f, _) in made.items()) > 2:
            continue  # figures of several sets: a store that others take from
        if others and not any(n in read or n in source.mentions for n in others):
            if not _standardises(source):
                yield node


def _beyond_constants(source: Script) -> set[str]:
    """The files that hold more than constants: a function, a class, or what is run at their top."""
    kinds = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.For,
        ast.While,
        ast.With,
        ast.Expr,
        ast.If,
    )
    texts = (ast.Expr,)
    return {
        source.place(n).file
        for n in (*source.tree.body, *source.left_out)
        if isinstance(n, kinds) and not (isinstance(n, texts) and isinstance(n.value, ast.Constant))
    }


def _standardises(source: Script) -> bool:
    """The program standardises its inputs in another way."""
    layers = [n for n in ("Normalize", "Normalization", "Rescaling", "Rescale") if n not in source.classes]
    scalers = ("fit_transform", "per_image_standardization", "normalize_image")
    return bool(source.named(*layers, *scalers)) or _by_itself(source)


def _by_itself(source: Script) -> bool:
    """Something is standardised by figures of its own."""
    return bool(re.search(r"(\w+) - (?:\1\.mean\(|(?:np|torch)\.(?:nan)?mean\(\1\b)", source.code))


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that a statement gives values, tuples taken apart."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(one, ast.Name):
                    yield one.id, value
        elif isinstance(target, ast.Name):
            yield target.id, node.value


def _of_classes(source: Script) -> Iterator[ast.AST]:
    """A class works out, or is given, the deviation to divide by, and no method divides by it."""
    for owner in source.classes.values():
        kept = dict(_kept(owner))
        spreads = {n: made for n, made in kept.items() if _SPREAD.match(n) and not _OF_OTHERS.search(n)}
        if not spreads or not any(_CENTRE.match(n) for n in kept):
            continue
        if any(last_name(b) in source.classes for b in owner.bases) or _opened(source, owner):
            continue
        if left_to_heirs(owner):
            continue
        if _by_itself(source):
            continue
        if _under_key(owner):
            continue
        for name, made in spreads.items():
            if not any(_reads(source, n) for n in source.mentions.get(name, ())):
                yield made


def _kept(owner: ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    """Figures that a class keeps: attributes with what they are set to, and registered buffers."""
    for node in walk(owner):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if _OF_OTHERS.search(unparse(node.value)):
                        continue
                    if isinstance(one, ast.Attribute) and unparse(one.value) == "self":
                        yield one.attr, node
        elif isinstance(node, ast.Call) and last_name(node.func) == "register_buffer" and node.args:
            if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                yield node.args[0].value, node


def _reads(source: Script, node: ast.Attribute | ast.Constant) -> bool:
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load) or _is_method(source, node):
        return False
    return unparse(node.value) == "self" or not _stored(source, node)


def _stored(source: Script, node: ast.AST) -> bool:
    """It is only written down: an item of a dict, or an argument of what saves."""
    for parent in source.above(node):
        if isinstance(parent, ast.Dict):
            return True
        if isinstance(parent, ast.Call) and re.search(r"save|dump|log|print|write", last_name(parent.func)):
            return True
        if isinstance(parent, ast.stmt):
            break
    return False


def _is_method(source: Script, node: ast.Attribute) -> bool:
    """`x.std()`, where x is no `self`: most often the method of an array."""
    above = source.parents.get(node)
    called = isinstance(above, ast.Call) and above.func is node
    return called and unparse(node.value) != "self" and node.attr in ("std", "mean")


def _under_key(owner: ast.ClassDef) -> bool:
    """The class is asked for its attributes as a whole, or by names made at run time."""
    words = ("getattr", "__dict__", "vars", "asdict", "buffers", "state_dict", "namedtuple")
    return any(
        (isinstance(n, ast.Name) and n.id in words) or (isinstance(n, ast.Attribute) and n.attr in words)
        for n in walk(owner)
    )


def _opened(source: Script, owner: ast.ClassDef) -> bool:
    """Something else inherits from the class, or it is a layer of a network that others fill."""
    return any(last_name(b) == owner.name for c in source.classes.values() for b in c.bases)


# --------------------------------------------------------------------------------- fitted and never applied


def fitted_left(source: Script) -> Finding | None:
    """A scaler is fitted, and what would apply it is never called; or it is handed over and not looked at."""
    if source.loose:
        return None
    for owner in source.classes.values():
        applies = [f for f in _methods(owner) if _divides(f) and not f.name.startswith("__")]
        fits = [f for f in _methods(owner) if re.match(r"(?:partial_)?fit", f.name)]
        if len(applies) != 1 or not fits or not source.named(owner.name):
            continue
        name = applies[0].name
        if not _called_from_outside(source, owner, name) and not _opened(source, owner):
            return at(source, fits[0], f"this scaler is fitted, and its {name} is never called")
    for function in source.of(ast.FunctionDef):
        for given in function.args.args:
            of_loss = any(source.named("GradScaler", "ShardedGradScaler")) or "amp" in given.arg
            of_loss = of_loss or any(
                last_name(c.func) in ("backward", "autocast") for c in of(function, ast.Call)
            )
            if (
                _SCALER.match(given.arg)
                and not of_loss
                and _ignored(function, given.arg)
                and _handed(source, function)
            ):
                return at(source, function, f"{given.arg} is handed over and not looked at")
    return None


def _called_from_outside(source: Script, owner: ast.ClassDef, name: str, depth: int = 4) -> bool:
    """Something outside the class reads a method of it, or a method of the class that calls this one."""
    for node in source.mentions.get(name, ()):
        if source.class_around(node) is not owner:
            return True
        around = source.function_around(node)
        if depth and around is not None and around.name != name:
            if around.name.startswith("__") or _called_from_outside(source, owner, around.name, depth - 1):
                return True
    return False


def _methods(owner: ast.ClassDef) -> list[Function]:
    return [f for f in owner.body if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _divides(function: Function) -> bool:
    """`(x - self.mean) / self.std`"""
    for node in of(function, ast.BinOp):
        if isinstance(node.op, ast.Div):
            below = node.right
            names = {n.attr for n in of(below, ast.Attribute)}
            if any(_SPREAD.match(n) for n in names) and "self." in unparse(node.left):
                return True
    return False


def _ignored(function: Function, name: str) -> bool:
    """Nothing in the body reads the parameter, and the body does something."""
    if len(function.body) == 1 and isinstance(function.body[0], (ast.Pass, ast.Raise, ast.Expr)):
        return False
    return not any(n.id == name for n in of(function, ast.Name))


def _handed(source: Script, function: Function) -> bool:
    """One version of the function exists, and somebody calls it."""
    same = [f for f in source.of(ast.FunctionDef) if f.name == function.name]
    return len(same) == 1 and bool(source.named(function.name))


def divided_before_taken_off(source: Script) -> Finding | None:
    """`x - mean / std`: the division comes first, so that inputs are moved a little and never scaled."""
    for node in source.of(ast.BinOp):
        by = node.right
        if (
            not isinstance(node.op, ast.Sub)
            or not isinstance(by, ast.BinOp)
            or not isinstance(by.op, ast.Div)
        ):
            continue
        names = [unparse(by.left), unparse(by.right)]
        plain = all(isinstance(n, (ast.Name, ast.Attribute)) for n in (by.left, by.right, node.left))
        if not plain or f"({names[0]} / {names[1]})" in source.line(node):
            continue
        mean, std = (re.search(p, n) for p, n in zip((_MEAN_LAST, _SPREAD_LAST), names, strict=True))
        same = mean is not None and std is not None and names[0][: mean.start()] == names[1][: std.start()]
        if same and not re.search(_MEAN_LAST, unparse(node.left)):
            return at(source, node, "the mean is divided by the deviation before it is taken off")
    return None


_MEAN_LAST, _SPREAD_LAST = r"(?i)(?:mean|mu|avg)s?$", r"(?i)(?:std|stdev|sd|sigma|spread)s?$"
