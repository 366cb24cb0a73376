"""Which weights and counts of a Lightning module are scored: checkpoints, metrics, lists of an epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.sides import literal, side
from ..trainers.hooks import lightning, methods

# ---------------------------------------------------------------------------------------------------- best


def _logged(owner: ast.ClassDef, hooks: tuple[str, ...]) -> set[str] | None:
    """Names that the hooks log; None where one is not written out."""
    found: set[str] = set()
    for name in hooks:
        for call in of(methods(owner)[name], ast.Call) if name in methods(owner) else ():
            if last_name(call.func) == "log" and unparse(call.func) == "self.log":
                given = call.args[0] if call.args else keyword(call, "name")
                if not isinstance(given, ast.Constant):
                    return None
                found.add(str(given.value))
            elif last_name(call.func) == "log_dict":
                given = argument(call, position=0)
                if not isinstance(given, ast.Dict) or not all(
                    isinstance(k, ast.Constant) for k in given.keys
                ):
                    return None
                found |= {str(k.value) for k in given.keys if isinstance(k, ast.Constant)}
    return found


_TRAINS = ("training_step", "on_train_epoch_end", "on_train_batch_end")
_CHECKS = ("validation_step", "on_validation_epoch_end", "validation_epoch_end", "on_validation_end")


def _checkpoint(source: Script) -> ast.Call | None:
    """The one ModelCheckpoint, where its settings are written out and the class is Lightning's."""
    made = source.named("ModelCheckpoint")
    plain = len(made) == 1 and len(made[0].args) < 3 and all(k.arg for k in made[0].keywords)
    return made[0] if plain and lightning(source) and "keras" not in source.code else None


def monitored_in_training(source: Script) -> Finding | None:
    """`ModelCheckpoint(monitor="train_loss")` of a module that logs what validation says."""
    made = _checkpoint(source)
    name = literal(source, keyword(made, "monitor")) if made is not None else None
    if made is None or not isinstance(name, str):
        return None
    for owner in lightning(source):
        training, held = _logged(owner, _TRAINS), _logged(owner, _CHECKS)
        if training is None or held == set() or "validation_step" not in methods(owner):
            continue
        plain = name.removesuffix("_epoch").removesuffix("_step")
        if held is None:  # not all that validation logs is written out
            said = name in training and side(name) is True
            if said:
                return at(source, made, f"`{name}` is of the training data: held-out data choose nothing")
            continue
        if {name, plain} & held:
            return ok(source, made, "validation chooses the checkpoint")
        if {name, plain} & training:
            return at(source, made, f"`{name}` is of the training data: held-out data choose nothing")
    return None


def best_of_nothing(source: Script) -> Finding | None:
    """A ModelCheckpoint that monitors nothing keeps the latest weights, and they are scored as the best."""
    made = _checkpoint(source)
    if made is None or keyword(made, "monitor") is not None or ".monitor" in source.code:
        return None
    if literal(source, keyword(made, "save_top_k")) in (-1, 0):
        return None
    for owner in lightning(source):
        if "validation_step" in methods(owner) and _logged(owner, _CHECKS) != set():
            for call in _scoring(source):
                given = _weights(call)
                if given is not None and _is_best(source, given):
                    return at(
                        source, made, "nothing is monitored, so that what is scored as the best is the last"
                    )
    return None


def _scoring(source: Script) -> Iterator[ast.Call]:
    yield from source.named("test", "validate", "predict", "load_from_checkpoint")


def _weights(call: ast.Call) -> ast.expr | None:
    """The checkpoint that is scored, or read to be scored."""
    if last_name(call.func) == "load_from_checkpoint":
        return call.args[0] if call.args else keyword(call, "checkpoint_path")
    return keyword(call, "ckpt_path")


def _is_best(source: Script, node: ast.expr) -> bool:
    ends = [node, *flow(source).values(node, 3)]
    return any(
        (isinstance(e, ast.Constant) and e.value == "best")
        or (isinstance(e, ast.Attribute) and e.attr == "best_model_path")
        for e in ends
    )


def last_of_monitored(source: Script) -> Finding | None:
    """The best is kept, and `last_model_path` is scored; or the best is loaded, and nobody uses it."""
    made = _checkpoint(source)
    if made is None or keyword(made, "monitor") is None:
        return None
    best = "best_model_path" in source.code or re.search(r"ckpt_path=['\"]best", source.code) is not None
    for call in _scoring(source):
        loads = last_name(call.func) == "load_from_checkpoint"
        given = _weights(call)
        if isinstance(given, ast.Attribute) and given.attr == "last_model_path" and not best:
            return at(source, call, "the last weights are scored, and the best checkpoint was kept for it")
        if loads and given is not None and _is_best(source, given) and _dropped(source, call):
            return at(
                source, call, "the best weights are loaded here, and what they are loaded into is not used"
            )
    return None


def _dropped(source: Script, call: ast.Call) -> bool:
    """`best = Net.load_from_checkpoint(...)`, `best` is read nowhere, and the other is scored after it."""
    statement = source.parents.get(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    read = any(n.id == name and isinstance(n.ctx, ast.Load) for n in source.of(ast.Name))
    others = source.named("test", "validate", "predict")
    later = [c for c in others if c.lineno > call.lineno and keyword(c, "ckpt_path") is None and c.args]
    return not read and bool(later)


# -------------------------------------------------------------------------------------------------- scores


def one_metric_for_both(source: Script) -> Finding | None:
    """`self.log("acc", self.accuracy)` of one object of torchmetrics in training and in validation.

    Validation runs within an epoch of training: the object's counts are mixed, and cleared too early.
    """
    if "torchmetrics" not in source.code:
        return None
    seen: ast.AST | None = None
    for owner in lightning(source):
        training = _objects(owner, "training_step")
        for name, call in _objects(owner, "validation_step").items():
            seen = seen or call
            if name in training and _of_torchmetrics(source, owner, name):
                return at(source, call, f"{name} counts training and validation in one")
    return ok(source, seen, "training and validation are counted apart") if seen is not None else None


def _objects(owner: ast.ClassDef, hook: str) -> dict[str, ast.Call]:
    """Attributes that the hook logs as they are: `self.log("acc", self.acc)`."""
    made = methods(owner).get(hook)
    calls = [c for c in of(made, ast.Call) if unparse(c.func) == "self.log"] if made is not None else []
    return {unparse(c.args[1]): c for c in calls if len(c.args) > 1 and isinstance(c.args[1], ast.Attribute)}


def _of_torchmetrics(source: Script, owner: ast.ClassDef, name: str) -> bool:
    names = {
        a.asname or a.name
        for n in source.of(ast.ImportFrom)
        if (n.module or "").startswith("torchmetrics")
        for a in n.names
    }
    for node in of(owner, ast.Assign):
        if unparse(node.targets[0]) == name and isinstance(node.value, ast.Call):
            made = unparse(node.value.func)
            if made in names or made.startswith("torchmetrics."):
                return True
    return False


def lists_of_hooks(source: Script) -> Finding | None:
    """What `validation_step` appends to is never emptied, or its last entry alone is the epoch's score."""
    seen: ast.AST | None = None
    for owner in lightning(source):
        for step, end in (
            ("validation_step", "on_validation_epoch_end"),
            ("training_step", "on_train_epoch_end"),
        ):
            if not {step, end} <= set(methods(owner)):
                continue
            for name, call in _appended(methods(owner)[step]).items():
                reads = [
                    n
                    for n in of(methods(owner)[end], ast.Attribute)
                    if unparse(n) == name and isinstance(n.ctx, ast.Load)
                ]
                used = [n for n in reads if not _empties(source, n)]
                if not used or not _starts_empty(owner, name):
                    continue
                seen = seen or call
                if not _emptied(source, owner, name):
                    return at(source, call, f"{name} is never emptied: it holds the epochs before as well")
                if all(_last_entry(source, n) for n in used):
                    return at(source, used[0], f"of {name} the last batch alone counts")
    return ok(source, seen, "what is collected in an epoch is emptied after it") if seen is not None else None


def _appended(step: Function) -> dict[str, ast.Call]:
    found: dict[str, ast.Call] = {}
    for call in of(step, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend"):
            held = call.func.value
            while isinstance(held, ast.Subscript):  # `self.found[kind][0]`
                held = held.value
            if re.fullmatch(r"self\.\w+", unparse(held)):
                found[unparse(held)] = call
    return found


def _starts_empty(owner: ast.ClassDef, name: str) -> bool:
    made = methods(owner).get("__init__")
    if made is None:
        return False
    called = {last_name(c.func) for c in of(made, ast.Call) if unparse(c.func).startswith("self.")}
    for start in (made, *(f for n, f in methods(owner).items() if n in called)):
        for node in of(start, ast.Assign, ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if unparse(target) == name and node.value is not None and _is_empty(node.value):
                return True
    return False


def _is_empty(value: ast.expr) -> bool:
    """`[]`, `defaultdict(list)`, `{kind: ([], []) for kind in kinds}`"""
    if isinstance(value, ast.DictComp):
        parts = value.value.elts if isinstance(value.value, ast.Tuple) else [value.value]
        return all(_is_empty(p) for p in parts)
    return unparse(value) in ("[]", "list()", "defaultdict(list)")


def _empties(source: Script, node: ast.Attribute) -> bool:
    parent = source.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("clear", "append", "extend", "pop")


def _runs_again(source: Script, owner: ast.ClassDef, function: Function | None) -> bool:
    """Not only while the module is made: `reset`, which `__init__` alone calls, is called no more."""
    made = methods(owner).get("__init__")
    if function is made:
        return False
    if function is None or methods(owner).get(function.name) is not function:
        return True
    asked = [c for c in source.calls if last_name(c.func) == function.name]
    return not asked or any(source.function_around(c) is not made for c in asked)


def _emptied(source: Script, owner: ast.ClassDef, name: str) -> bool:
    """It is cleared, set anew or handed to a function somewhere outside of `__init__`."""
    attr = name.rsplit(".", 1)[-1]
    for node in source.of(ast.Attribute):
        if node.attr != attr:
            continue
        function = source.function_around(node)
        if not isinstance(node.ctx, ast.Load) and _runs_again(source, owner, function):
            return True
        parent = source.parents.get(node)
        if isinstance(parent, ast.Attribute) and parent.attr in ("clear", "pop", "popleft", "__init__"):
            return True
        if isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load):
            return True
        if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Slice):
            return True  # `self.errors[-n:]`: of this epoch only
        if isinstance(parent, ast.Call) and node in parent.args and unparse(parent.func).startswith("self."):
            return True
    return f"{attr!r}" in source.code or "setattr(self" in source.code


def _last_entry(source: Script, node: ast.Attribute) -> bool:
    parent = source.parents.get(node)
    return isinstance(parent, ast.Subscript) and unparse(parent.slice) == "-1"


def best_of_idle_callback(source: Script) -> Finding | None:
    """`best_model_path` of a ModelCheckpoint that no Trainer is given: it is empty."""
    made = _checkpoint(source)
    statement = source.parents.get(made) if made is not None else None
    if (
        made is None
        or not isinstance(statement, ast.Assign)
        or not isinstance(statement.targets[0], ast.Name)
    ):
        return None
    name = statement.targets[0].id
    reads = [n for n in source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    looks = [source.parents.get(n) for n in reads]
    paths = [p for p in looks if isinstance(p, ast.Attribute) and p.attr.startswith("best_")]
    if paths and len(paths) == len(reads):
        return at(source, made, "no Trainer is given this callback, so that it keeps nothing")
    return None
