"""Resuming in scripts: what a checkpoint holds and is not given back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..mindspore.resumed import count_in_vain, network_not_given_back, optimizer_not_given_back
from ..shared.checks import at, first, ok
from ..shared.nodes import assigned
from ..shared.sides import either
from ..tensorflow.keras_slips import counter_never_moved
from ..tensorflow.slips import (
    checkpoint_without_moments,
    counter_left_in_checkpoint,
    latest_never_restored,
)
from ..trainers.deepspeed import weights_alone_resumed
from ..trainers.trainer_settings import flag_unread, resumed_from_weights
from .asked_and_left import resume_unread
from .held import KINDS, kinds_of_call, left_out_of_state, states_astray, whose
from .made_again import (
    average_unregistered,
    counter_outside,
    into_the_average,
    keras_begun_again,
    keras_weights_alone,
    made_anew,
    tensor_unregistered,
)
from .parts_unread import part_never_read
from .pure_trees import tree_read_in_vain
from .taken_up import counter_not_taken_up, drawn_after_restoring, epoch_repeated, statistics_not_saved

_COUNTS = re.compile(r"(?i)epoch|step|iter")
_RESUMES = re.compile(r"resum|restart|continue_from|ckpt_path|last_ckpt|latest")


@probe()
def resume_incomplete(view: View) -> Finding:
    """Resuming gives the model back, and not what the script saves beside it: optimizer, schedule, scaler.

    Counted by the owners of `state_dict()` and `load_state_dict()`; frameworks by their own call for it.
    """
    return first(view, either(_incomplete, resume_unread), "the scripts resume nothing")


def _incomplete(source: Script) -> Finding | None:
    again = either(
        *(counter_not_taken_up, drawn_after_restoring, statistics_not_saved, epoch_repeated),
        *(count_in_vain, network_not_given_back, counter_never_moved),
        *(checkpoint_without_moments, counter_left_in_checkpoint, latest_never_restored, flag_unread),
        *(made_anew, into_the_average, average_unregistered, counter_outside),
        *(keras_begun_again, keras_weights_alone, tensor_unregistered, tree_read_in_vain),
    )(source)
    if again is not None:
        return again
    for look in (
        _accelerate,
        _lightning,
        either(_hugging_face, resumed_from_weights),
        _tensorflow,
        weights_alone_resumed,
        optimizer_not_given_back,
        either(_by_keys, _torch, states_astray, part_never_read),
    ):
        if (found := look(source)) is not None:
            return found
    return None


def _kind(source: Script, call: ast.Call) -> str:
    kind = whose(source, call)
    return "model" if kind == "average" else kind


def _torch(source: Script) -> Finding | None:
    loads = [c for c in source.named("load_state_dict") if _under_resume(source, c)]
    models = [c for c in loads if _kind(source, c) == "model"]
    if not models or not source.optimizer_calls:
        return None
    held = source.named("state_dict")
    saved = {_kind(source, c) for c in held if _is_saved_for(source, c, models[0])} - {"model"}
    given = {k for c in source.named("load_state_dict") for k in kinds_of_call(source, c)}
    given = {"model" if k == "average" else k for k in given} - {"model"}
    missing = sorted(saved - given)
    if missing:
        return at(source, models[0], f"resuming leaves the {missing[0]} out, whose state is saved")
    if not saved and not given:
        return None  # see `optimizer_not_saved`
    return ok(source, models[0], "what is saved is given back")


def _is_saved_for(source: Script, saved: ast.Call, resumed: ast.Call) -> bool:
    """The state is taken in the file that resumes, or by what this file imports and calls."""
    file = source.place(resumed).file
    if source.place(saved).file == file:
        return True
    function, owner = source.function_around(saved), source.class_around(saved)
    names = {f.name for f in (function, owner) if f is not None}
    own = {f.name for f in source.of(ast.FunctionDef, ast.ClassDef) if source.place(f).file == file}
    return any(source.place(c).file == file for n in names - own for c in source.named(n))


@probe()
def optimizer_not_saved(view: View) -> Finding:
    """Training goes on from weights and a count of epochs or steps alone: no checkpoint holds the optimizer.

    Common in published scripts, and felt only where a run is resumed. Left aside: an optimizer that is built
    anew in every round of the loop, which has no state to lose.
    """
    return first(view, _not_saved, "the scripts resume nothing")


def _not_saved(source: Script) -> Finding | None:
    loads = [c for c in source.named("load_state_dict") if _under_resume(source, c)]
    models = [c for c in loads if _kind(source, c) == "model"]
    if not models or not source.optimizer_calls:
        return None
    others = [c for c in source.named("state_dict", "load_state_dict") if _kind(source, c) != "model"]
    if others:
        return ok(source, others[0], "checkpoints hold more than the weights")
    if all(source.loops_around(c) for c in source.optimizer_calls):
        return None
    if not _takes_up_count(source, models[0]):
        return None
    return at(source, models[0], "training is resumed without the state of the optimizer, which is not saved")


def _by_keys(source: Script) -> Finding | None:
    """`{"model": ..., "scheduler": scheduler.state_dict()}` is saved, and one of its states is never read.

    Counts where the function that reads the model's weights also goes on counting (epoch, step) or gives the
    optimizer its state: it takes training up again. What evaluates or starts anew reads the weights alone.
    """
    saved = _saved_states(source)
    if not saved:
        return None
    for function in source.of(ast.FunctionDef):
        read = _read_keys(function)
        resumes = read & {k for k, kind in saved.items() if kind == "optimizer"} or any(
            re.search(r"epoch|step|update|iter", k) for k in read - saved.keys()
        )
        kinds = {saved.get(k) for k in read} - {None}
        if "model" not in kinds and kinds and resumes and any(source.named(function.name)):
            lost = [k for k, kind in saved.items() if kind == "model" and k not in _strings_read(source)]
            if lost and not _goes_over(function):
                return at(source, function, f"resuming leaves out {lost[0]!r}, the weights that are saved")
        if "model" not in kinds or not resumes:
            continue
        if not any(source.named(function.name)) or _goes_over(function):
            continue
        lost = [k for k, kind in saved.items() if k not in read and kind != "model"]
        elsewhere = _strings([n for n in source.nodes if not _of_best(source, n)])
        if lost and not any(k in elsewhere for k in lost):
            return at(source, function, f"resuming leaves out {sorted(lost)[0]!r}, which is saved")
        if not lost:
            return ok(source, function, "what is saved is given back")
    return None


def _of_best(source: Script, node: ast.AST) -> bool:
    """`best["ema"]` of `best = torch.load("best.pt")`: read for the last score, and not to go on."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return False
    given = flow(source).all_given(node.value)
    return bool(given) and all(
        isinstance(g.value, ast.Call) and last_name(g.value.func) == "load" and "best" in unparse(g.value)
        for g in given
    )


def _saved_states(source: Script) -> dict[str, str]:
    """Keys of what is saved with `state_dict()` of the model and of others -> what it is of."""
    for node in source.of(ast.Dict):
        found = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Call):
                if last_name(value.func) == "state_dict":
                    owner = source.owner(value).lower()
                    parts = owner.split(".")
                    kind = next((k for k, w in KINDS if any(w.search(p) for p in parts)), "model")
                    found[key.value] = kind
        if "model" in found.values() and len(found) > 1:
            return found
    return {}


def _read_keys(function: ast.FunctionDef) -> set[str]:
    """Keys that a function reads of what it loads: `state["model"]`, `ckpt.get("epoch")`."""
    if not any(last_name(n.func) in ("load", "load_checkpoint") for n in of(function, ast.Call)):
        return set()
    return _strings(walk(function))


def _strings(nodes: Iterable[ast.AST]) -> set[str]:
    found = set()
    for n in nodes:
        if (
            isinstance(n, ast.Subscript)
            and isinstance(n.slice, ast.Constant)
            and isinstance(n.slice.value, str)
        ):
            if isinstance(n.ctx, ast.Load):
                found.add(n.slice.value)
        elif isinstance(n, ast.Call) and last_name(n.func) in ("get", "pop") and n.args:
            if isinstance(n.args[0], ast.Constant) and isinstance(n.args[0].value, str):
                found.add(n.args[0].value)
    return found


def _strings_read(source: Script) -> set[str]:
    return _strings(source.nodes)


def _goes_over(function: ast.FunctionDef) -> bool:
    """Whatever the checkpoint holds is given back in a loop."""
    return any("load_state_dict" in unparse(n) for n in of(function, ast.For))


def _under_resume(source: Script, call: ast.Call) -> bool:
    """Under `if args.resume:`, in a function that is named so, or where the count of epochs is taken up."""
    blocks = [p for p in source.above(call) if isinstance(p, ast.If)]
    name = source.function_name(call).lower()
    if any(_RESUMES.search(unparse(p.test).lower()) for p in blocks) or _RESUMES.search(name):
        return True
    return any(_counts_on(source, block) for block in blocks)


def _counts_on(source: Script, block: ast.If) -> bool:
    """`start = ckpt["epoch"] + 1` in the block, and a loop over `range(start, ...)` below it that learns."""
    taken_up = {
        unparse(target)
        for node in of(block, ast.Assign)
        for target, value in assigned(node)
        if any(_COUNTS.search(key) for key in _strings([*walk(value)]))
    }
    return any(
        isinstance(loop.iter, ast.Call)
        and last_name(loop.iter.func) in ("range", "trange")
        and len(loop.iter.args) > 1
        and unparse(loop.iter.args[0]) in taken_up
        for loop in source.of(ast.For)
        if loop.lineno > block.lineno and takes_gradients(source, loop)
    )


def _takes_up_count(source: Script, call: ast.Call) -> bool:
    """The epoch or step goes on where it was."""
    block = next((p for p in source.above(call) if isinstance(p, (ast.If, ast.FunctionDef))), source.tree)
    return any(re.search(r"epoch|step|\bit", unparse(n).lower()) for n in of(block, ast.Assign))


def _accelerate(source: Script) -> Finding | None:
    saves = source.named("save_state")
    if not saves or not source.named("Accelerator"):
        return None
    if (left := left_out_of_state(source)) is not None:
        return at(source, left, "Accelerate saves what it prepared or was told to: this schedule starts anew")
    if source.named("load_state"):
        return ok(source, source.named("load_state")[0], "the whole state is given back")
    for call in source.named("load_state_dict", "load"):
        if _under_resume(source, call):
            return at(source, call, "save_state keeps optimizer, schedule and scaler, and nothing loads them")
    return None


def _lightning(source: Script) -> Finding | None:
    for call in source.named("load_from_checkpoint") if re.search("lightning", source.text) else ():
        fits = [c for c in source.named("fit") if c.lineno > call.lineno]
        last = _of_last_run(call) or _under_resume(source, call)
        if last and fits and keyword(fits[0], "ckpt_path") is None:
            return at(source, call, "only the weights are taken up: fit is not given the checkpoint")
    for call in source.named("load_state_dict") if re.search("lightning", source.text) else ():
        fits = [c for c in source.named("fit") if c.lineno > call.lineno]
        again = _of_last_run(call) or _under_resume(source, call)
        if again and fits and all(keyword(c, "ckpt_path") is None for c in fits):
            return at(source, call, "only the weights are taken up: fit is not given the checkpoint")
    fits = [c for c in source.named("fit") if keyword(c, "ckpt_path") is not None]
    return ok(source, fits[0], "fit is given the checkpoint") if fits else None


def _of_last_run(call: ast.Call) -> bool:
    """The file is called the last one: `load_from_checkpoint("last.ckpt")`."""
    texts = [n.value for n in of(call, ast.Constant) if isinstance(n.value, str)]
    return any(re.search(r"(?i)(?:^|[/_-])(?:last|latest|resume)\w*(?:\.|$)", t) for t in texts)


_TRAINERS = re.compile(r"Trainer$")
_GOES_ON = re.compile(r"(?i)resum|continue_from")  # a checkpoint's path alone may be one to begin with


def _hugging_face(source: Script) -> Finding | None:
    mine = flow(source)
    whole = [c for c in source.named("train") if keyword(c, "resume_from_checkpoint") is not None or c.args]
    trains = [c for c in source.named("train") if _is_trainer(source, c)]
    if not whole and trains and source.named("TrainingArguments", "parse_args_into_dataclasses"):
        for call in source.named("from_pretrained", "load_state_dict"):
            above = [p for p in source.above(call) if isinstance(p, ast.If)]
            asked = any(_GOES_ON.search(unparse(p.test)) and call not in walk(p.test) for p in above)
            if asked and call.lineno < trains[-1].lineno:
                why = "only the weights are taken up: `train` is not given the checkpoint"
                return at(source, call, why)
    if not source.named("get_last_checkpoint"):
        return None
    if whole:
        return ok(source, whole[0], "the trainer is given the checkpoint")
    for call in source.named("from_pretrained", "load_state_dict"):
        names = [n for a in call.args[:1] for n in of(a, ast.Name)]
        ends = [v for n in (*call.args[:1], *names) for v in mine.values(n, 4)]
        if any(last_name(v.func) == "get_last_checkpoint" for e in ends for v in of(e, ast.Call)):
            return at(
                source, call, "only the weights of the last checkpoint are taken up, and training starts anew"
            )
    for call in source.named("get_last_checkpoint"):
        statement = source.statement(call)
        name = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        reads = [n for n in source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        if name and not reads and source.named("Trainer", "Seq2SeqTrainer") and source.named("train"):
            return at(source, call, "the last checkpoint is looked for, and training is never given it")
    return None


def _is_trainer(source: Script, call: ast.Call) -> bool:
    """`trainer.train()` of transformers: what it is called on was built as one."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = [v for v in flow(source).values(owner, 3) if isinstance(v, ast.Call)] if owner is not None else []
    return any(_TRAINERS.search(last_name(v.func)) for v in made)


def _tensorflow(source: Script) -> Finding | None:
    made = [c for c in source.named("Checkpoint") if c.keywords and "train" in unparse(c.func)]
    if not made or not source.named("restore") or not source.optimizer_calls:
        return None
    names = [str(k.arg) + unparse(k.value) for k in made[0].keywords]
    if any("opt" in n.lower() for n in names):
        return ok(source, made[0], "the checkpoint holds the optimizer")
    counts = any(re.search(r"step|epoch", n.lower()) for n in names)
    return (
        at(source, made[0], "the checkpoint holds no optimizer, and training is resumed from it")
        if counts
        else None
    )
