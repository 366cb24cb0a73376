"""State that is loaded and lost: made anew below, put elsewhere, or never part of a checkpoint."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..model.drawn_again import outwards
from ..shared.checks import at
from ..shared.nodes import assigned, block_of
from ..shared.uses import never_run

_STATE = re.compile(r"(?i)(?:^|[._])(?:opt\w*|sched\w*|lr_sched\w*|scaler|optim\w*)$")
_AVERAGE = re.compile(r"(?i)(?:^|[._])(?:ema|avg|averaged?|swa|teacher|shadow)(?:_?\w*)?(?:$|\.)")


def made_anew(source: Script) -> Finding | None:
    """`opt.load_state_dict(state)`, and then `opt = AdamW(...)` before anything steps it.

    Followed out of the method that loads: `self.load(path)` and `self.opt = AdamW(...)` below it.
    """
    for statement, owner, line in _given_back(source):
        block = block_of(source, statement)
        for later in block[block.index(statement) + 1 :] if statement in block else ():
            if not isinstance(later, ast.Assign):
                if isinstance(later, (ast.For, ast.While)) or _trains_on(source, later, owner):
                    break
                continue
            if any(owner in map(unparse, c.args) and flow(source).called(c) for c in of(later, ast.Call)):
                break  # `error = adapt(learner, opt)`: it has done its work
            for target, value in assigned(later):
                again = re.search(rf"(?<![\w.]){re.escape(owner)}(?!\w)", unparse(value))
                anew = isinstance(value, ast.Call) and again is None
                if unparse(target) == owner and anew and last_name(value) != "prepare":
                    return at(source, later, f"`{owner}` is made anew after line {line} gave its state back")
    return None


def _trains_on(source: Script, statement: ast.stmt, owner: str) -> bool:
    """A function of the script runs, or gets what was given back: another stage begins below it."""
    for call in of(statement, ast.Call):
        if flow(source).called(call) or any(unparse(a) == owner for a in all_arguments(call)):
            return True
    return False


def _given_back(source: Script) -> Iterator[tuple[ast.stmt, str, int]]:
    for call in source.named("load_state_dict"):
        owner = source.owner(call)
        statement = source.statement(call)
        if statement is None or not _STATE.search(owner):
            continue
        yield from outwards(source, statement, owner, call.lineno)
        function = source.function_around(call)
        if function is None or not owner.startswith("self."):
            continue
        for use in flow(source).calls_of(function):
            line = source.statement(use)
            same = source.class_around(use) is source.class_around(call)
            if line is not None and same and source.owner(use) == "self":
                yield from outwards(source, line, owner, use.lineno)


def into_the_average(source: Script) -> Finding | None:
    """The state that was saved of the model goes into its average, and the model itself gets none.

    `{"model": model.state_dict(), "ema": ema.state_dict()}` and `ema.load_state_dict(s["model"])`.
    """
    saved = {
        k.value: source.owner(v)
        for d in source.of(ast.Dict)
        for k, v in zip(d.keys, d.values, strict=True)
        if isinstance(k, ast.Constant) and isinstance(v, ast.Call) and last_name(v.func) == "state_dict"
    }
    loads = [c for c in source.named("load_state_dict") if c.args]
    resumed = any(_STATE.search(source.owner(c)) for c in loads)
    names = {_plain(source.owner(c)) for c in loads}
    for call in loads if resumed else ():
        key = call.args[0].slice if isinstance(call.args[0], ast.Subscript) else None
        of_ = saved.get(key.value) if isinstance(key, ast.Constant) else None
        if of_ is None or _AVERAGE.search(of_) or _plain(of_) in names:
            continue
        if _AVERAGE.search(source.owner(call)) and not source.loose:
            return at(source, call, f"the state of `{of_}` goes into the average, and `{of_}` gets none")
    return None


def _plain(owner: str) -> str:
    return re.sub(r"\.module$", "", owner).split(".")[-1]


def average_unregistered(source: Script) -> Finding | None:
    """Accelerate: an average of weights with a state of its own that `save_state` does not know of."""
    if not source.named("load_state") or not source.named("save_state") or source.loose:
        return None
    if source.named("register_save_state_pre_hook", "register_load_state_pre_hook"):
        return None
    known = [a for c in source.named("prepare", "register_for_checkpointing") for a in c.args]
    if any(isinstance(a, ast.Starred) for a in known):
        return None
    names = {last_name(a) for a in known}
    alone = {source.owner(c).split(".")[-1] for c in source.named("state_dict", "load_state_dict")}
    for node in source.of(ast.Assign):
        made = node.value
        owner = source.classes.get(last_name(made.func)) if isinstance(made, ast.Call) else None
        name = last_name(node.targets[0])
        if owner is None or name in names | alone:
            continue
        methods = {s.name for s in owner.body if isinstance(s, ast.FunctionDef)}
        moved = [c for c in source.named("step", "update") if source.owner(c).split(".")[-1] == name]
        if {"state_dict", "load_state_dict"} <= methods and any(source.loops_around(c) for c in moved):
            return at(
                source, node, "save_state does not know of this average: it starts anew after a restart"
            )
    return None


def counter_outside(source: Script) -> Finding | None:
    """`for epoch in range(int(done), n)` of a variable that the restored checkpoint does not hold."""
    made = [c for c in source.named("Checkpoint") if c.keywords and "train" in unparse(c.func)]
    if len(made) != 1 or not source.named("restore", "restore_or_initialize"):
        return None
    if any(k.arg is None for k in made[0].keywords):
        return None
    held = " ".join(unparse(k.value) for k in made[0].keywords)
    variables = {
        unparse(t)
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and unparse(n.value.func) in ("tf.Variable", "tensorflow.Variable")
        for t in n.targets
    }
    for loop in source.of(ast.For):
        over = loop.iter
        if not (
            isinstance(over, ast.Call) and last_name(over.func) in ("range", "trange") and len(over.args) > 1
        ):
            continue
        for name in variables:
            asked = re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", unparse(over.args[0]))
            moved = [c for c in source.named("assign_add", "assign") if source.owner(c) == name]
            if asked and moved and not re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", held):
                return at(
                    source, made[0], f"the checkpoint does not hold `{name}`, which training counts on from"
                )
    return None


def keras_begun_again(source: Script) -> Finding | None:
    """A Keras model that is loaded to go on is compiled anew, built anew, or fit from epoch 0 again."""
    fits = [c for c in source.named("fit") if isinstance(c.func, ast.Attribute)]
    if not {"keras", "tensorflow"} & set(source.frameworks) or not fits:
        return None
    for call in source.named("load_model"):
        line = source.statement(call)
        if not isinstance(line, ast.Assign) or len(line.targets) != 1:
            continue
        name = unparse(line.targets[0])
        mine = [c for c in fits if source.owner(c) == name and c.lineno > call.lineno]
        asked = next((p for p in source.above(call) if isinstance(p, ast.If)), None)
        if not mine or asked is None or line not in asked.body:
            continue
        counted = any(keyword(c, "initial_epoch") is not None for c in mine)
        for later in _below(source, asked, mine[0]):
            for target, value in assigned(later) if isinstance(later, ast.Assign) else ():
                names = (
                    [unparse(e) for e in target.elts] if isinstance(target, ast.Tuple) else [unparse(target)]
                )
                if name in names and isinstance(value, ast.Call) and name not in unparse(value):
                    return at(source, later, f"the model is made anew after line {call.lineno} loaded it")
            for one in of(later, ast.Call) if counted else ():
                if (
                    last_name(one.func) == "compile"
                    and source.owner(one) == name
                    and "optimizer" in unparse(one)
                ):
                    return at(source, one, "the loaded model gets a new optimizer: its moments are lost")
                if one.args and unparse(one.args[0]) == name and _compiles(source, one):
                    return at(source, one, "the loaded model gets a new optimizer: its moments are lost")
        timed = bool(source.named("LearningRateScheduler")) and _numbered(source)
        timed = timed and bool(asked.orelse)
        if not counted and timed and not source.named("BackupAndRestore"):
            return at(source, mine[0], "the loaded model begins with epoch 0 again, and its schedule with it")
    return None


def keras_weights_alone(source: Script) -> Finding | None:
    """`model.load_weights(last)`, then `fit(..., initial_epoch=done)`: the moments of the optimizer are new.

    Left aside: what reads whole models or states of optimizers as well.
    """
    if not {"keras", "tensorflow"} & set(source.frameworks) or source.loose:
        return None
    if source.named("load_model", "BackupAndRestore", "restore") or "optimizer.set_weights" in source.code:
        return None
    if "latest_checkpoint" in source.code:
        return None  # weights in TensorFlow's own format hold the optimizer as well
    for fit in source.named("fit", "fit_generator"):
        begun = keyword(fit, "initial_epoch")
        if begun is None or (isinstance(begun, ast.Constant) and begun.value == 0):
            continue
        for call in source.named("load_weights"):
            if call.lineno < fit.lineno and source.owner(call) == source.owner(fit):
                return at(source, call, "weights alone are taken up: the optimizer begins anew, and its rate")
    return None


def _numbered(source: Script) -> bool:
    """The epochs done are read: `state["epoch"]`, or from the names of files by `re` and `int`."""
    if re.search(r"\[['\"](?:last_)?epoch['\"]\]", source.code):
        return True
    return any(
        last_name(c.func) == "int" and re.search(r"group\(|split\(", unparse(c)) for c in source.named("int")
    )


def _below(source: Script, statement: ast.stmt, end: ast.AST) -> list[ast.stmt]:
    block = block_of(source, statement)
    last = getattr(end, "lineno", 0)
    return [s for s in block[block.index(statement) + 1 :] if s.lineno < last] if statement in block else []


def _compiles(source: Script, call: ast.Call) -> bool:
    """A function of the script that compiles the model that it is handed."""
    for function in flow(source).called(call):
        names = [a.arg for a in function.args.args]
        if names and any(
            source.owner(c) == names[0] for c in of(function, ast.Call) if last_name(c.func) == "compile"
        ):
            return True
    return False


_MAKES = re.compile(r"^(?:zeros|ones|randn|rand|empty|full|normalize)$")
_PASSING = re.compile(
    r"(?i)hidden|state|hx|cx|mask|cache|grad|total|count|sum|loss|correct|hook|feature|activ|attn"
)


def tensor_unregistered(source: Script) -> Finding | None:
    """A module keeps what it learns on the way in a plain tensor, which no checkpoint holds.

    `self.queue = randn(...)` that `self.queue[:, i:j] = keys` fills, in a program that saves and takes up the
    state of the module: the queue, and where it stands, start at random again.
    """
    if source.loose or "pytorch" not in source.frameworks:
        return None
    resumed = any(_STATE.search(source.owner(c)) for c in source.named("load_state_dict"))
    resumed = resumed or any(keyword(c, "ckpt_path") is not None for c in source.named("fit"))
    for owner in source.modules if resumed else ():
        for node in of(owner, ast.Assign):
            for target, value in assigned(node):
                text = unparse(target)
                function = source.function_around(node)
                starts = function is not None and function.name == "__init__"
                if not starts or not re.fullmatch(r"self\.\w+", text) or _PASSING.search(text):
                    continue
                made = [c for c in of(value, ast.Call) if _MAKES.match(last_name(c.func))]
                if not made or "Parameter" in unparse(value) or _is_saved(source, text):
                    continue
                if _written_in_parts(source, owner, text):
                    why = f"`{text}` is no buffer: a restarted run begins with another one"
                    return at(source, node, why)
    return None


def _is_saved(source: Script, text: str) -> bool:
    """Something hands the attribute on, or writes it beside the state of the module."""
    last = text.split(".")[-1]
    dicts = [v for d in source.of(ast.Dict) for v in d.values]
    given = [a for c in source.named("save", "register_buffer", "load") for a in all_arguments(c)]
    return any(last in unparse(v) for v in (*dicts, *given))


def _written_in_parts(source: Script, owner: ast.ClassDef, text: str) -> bool:
    """`self.queue[at : at + n] = keys`, where the method runs."""
    for node in of(owner, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and unparse(target.value) == text:
                function = source.function_around(node)
                if function is not None and function.name != "__init__" and not never_run(source, node):
                    return True
    return False
