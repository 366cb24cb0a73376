"""Replicas of a model in scripts: what makes them differ after they were made equal, or never joins them."""

from __future__ import annotations

import ast
import re

from ....engine.model import State
from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.conditions import asks_first_process, is_first_process
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..mindspore.one_step import step_of_one_rank
from ..mindspore.steps import reducer_idle
from ..shared.checks import at
from ..shared.gates import turn_of_test
from ..shared.nodes import is_false

_WRAPPERS = ("DistributedDataParallel", "DDP")


def apart_after_wrapping(source: Script) -> Finding | None:
    """The wrapper made replicas equal, and then one of them, or each for itself, is changed.

    `model.module.fc = nn.Linear(...)`, `model.module.apply(init)` below `DDP(model)`; weights that are read
    under `if rank == 0:` only.
    """
    wrapped = [w for w in source.named(*_WRAPPERS) if source.statement(w) is not None]
    if not wrapped or source.named("broadcast", "broadcast_object_list", "broadcast_parameters"):
        return None
    for call in wrapped:
        function = source.function_around(call) or source.tree
        statement = source.statement(call)
        if not isinstance(statement, ast.Assign):
            continue
        name = unparse(statement.targets[0])
        for node in of(function, ast.Assign, ast.Call):
            if node.lineno <= call.lineno:
                continue
            if isinstance(node, ast.Assign):
                target = unparse(node.targets[0])
                made = isinstance(node.value, ast.Call) and re.search(r"nn\.\w+\(", unparse(node.value))
                if target.startswith(f"{name}.module.") and made:
                    return at(
                        source, node, "this layer is made after the wrapper has made the replicas equal"
                    )
            elif unparse(node.func) == f"{name}.module.apply" and not _seeded(source, node):
                return at(source, node, "weights are drawn after the wrapper has made the replicas equal")
    for load in source.named("load_state_dict"):
        if not source.owner(load).endswith("module"):
            continue
        for parent in source.above(load):
            if (
                isinstance(parent, ast.If)
                and is_first_process(parent.test)
                and _in_body(source, load, parent)
            ):
                return at(
                    source, load, "one process alone reads the weights, and nothing hands them to the others"
                )
            if isinstance(parent, (ast.FunctionDef, ast.ClassDef)):
                break
        reads = source.function_around(load)
        calls = flow(source).calls_of(reads) if reads is not None else ()
        calls = tuple(c for c in calls if reads is not None and reads not in source.above(c))
        if calls and all(_first_alone(source, c) for c in calls):
            return at(source, calls[0], "one process alone reads the weights that the wrapper has made equal")
    return None


def _first_alone(source: Script, call: ast.Call) -> bool:
    """A call runs in the first process only: `if args.resume and is_main(): restore()`."""
    for parent in source.above(call):
        if isinstance(parent, ast.If) and _in_body(source, call, parent):
            if asks_first_process(parent.test):
                return True
    return False


def _seeded(source: Script, node: ast.Call) -> bool:
    """The same seed is set for all right above."""
    above = [c for c in source.named("manual_seed", "seed_everything", "set_seed") if c.lineno < node.lineno]
    return any(source.function_around(c) is source.function_around(node) for c in above)


def _in_body(source: Script, node: ast.AST, branch: ast.If) -> bool:
    statement = next(p for p in (node, *source.above(node)) if source.parents.get(p) is branch)
    return statement in branch.body


def exchanged_too_early(source: Script) -> Finding | None:
    """Gradients are exchanged for all micro-batches but the last, or for none of them.

    `no_sync() if last else ...`; every backward call under a `no_sync()` that hangs on nothing.
    """
    return _never_exchanged(source) or _all_but_last(source) or _switched_off_last(source)


def _switched_off_last(source: Script) -> Finding | None:
    """`net.require_backward_grad_sync = not last`, where `last` is the micro-batch that the step follows."""
    for node in source.of(ast.Assign):
        if last_name(node.targets[0]) != "require_backward_grad_sync":
            continue
        turn = turn_of_test(source, node.value)
        if turn is not None and turn.negated:
            why = "gradients are not exchanged for the micro-batch that the step follows"
            return at(source, node, why)
    return None


_JOINS_BY_HAND = re.compile(
    r"(?i)(?:reduce|sync|average|gather)\w*_(?:grad|param|weight|model)|(?:grad|param|weight|model)\w*_(?:reduce|sync|average)"
    r"|LocalSGD|PostLocalSGD"
)


def _never_exchanged(source: Script) -> Finding | None:
    """All gradients are taken under `with model.no_sync():`, the last micro-batch's as well.

    Left aside: conditions that choose the context, programs that reduce gradients or weights by hand.
    """
    if not source.backwards or source.loose or not source.steps or _JOINS_BY_HAND.search(source.code):
        return None
    if any(re.search(r"grad|param|\.data\b|weight|buffer", unparse(c)) for c in source.named("all_reduce")):
        return None
    quiet: list[ast.With] = []
    for backward in source.backwards:
        block = next(
            (p for p in source.above(backward) if isinstance(p, ast.With) and _is_quiet(source, p)), None
        )
        if block is None:
            return None
        quiet.append(block)
    if any(isinstance(p, ast.If) and not _has_other_way(p, quiet) for p in source.above(quiet[0])):
        return None
    if not any(source.function_around(s) is source.function_around(quiet[0]) for s in source.steps):
        return None
    return at(source, quiet[0], "no gradient is ever exchanged: each one is taken under no_sync")


def _is_quiet(source: Script, block: ast.With) -> bool:
    """`with model.no_sync():`, also where a name holds the context and nothing else."""
    for item in block.items:
        made = item.context_expr
        ways = [made]
        if isinstance(made, ast.Name):
            ways = [g.value for g in flow(source).all_given(made) if not g.places]
        if ways and all(isinstance(w, ast.Call) and last_name(w.func) == "no_sync" for w in ways):
            return True
    return False


def _has_other_way(branch: ast.If, quiet: list[ast.With]) -> bool:
    """Both arms of a condition take gradients, quietly on either side."""
    arms = [{n for s in arm for n in of(s, ast.With)} for arm in (branch.body, branch.orelse)]
    return all(arm & set(quiet) for arm in arms)


def _all_but_last(source: Script) -> Finding | None:
    for node in of(source.tree, ast.IfExp):
        quiet, loud = unparse(node.body), unparse(node.orelse)
        if (
            "no_sync()" not in quiet
            or "no_sync()" in loud
            or not isinstance(node.test, (ast.Name, ast.Attribute))
        ):
            continue
        test = unparse(node.test)
        loops = source.loops_around(node)
        for branch in of(loops[0] if loops else source.tree, ast.If):
            steps = [s for s in source.steps if any(s in of(b, ast.Call) for b in branch.body)]
            if unparse(branch.test) == test and steps:
                return at(
                    source, node, "gradients are not exchanged for the micro-batch that the step follows"
                )
    return None


def unreduced_on_mindspore(source: Script) -> Finding | None:
    """MindSpore takes gradients by hand in several processes, and nothing reduces them.

    `value_and_grad` with an optimizer that is called, data divided by rank, no `DistributedGradReducer`; or
    `init()` and ranks without `set_auto_parallel_context`.
    """
    if "mindspore" not in source.frameworks or source.loose:
        return None
    ranks = source.named("get_rank")
    if not ranks or not source.named("init", "get_group_size"):
        return None
    if (idle := reducer_idle(source)) is not None and idle.state is State.PRESENT:
        return idle
    if (alone := step_of_one_rank(source)) is not None:
        return alone
    if source.named("DistributedGradReducer", "AllReduce", "set_algo_parameters"):
        return None
    by_hand = source.named("value_and_grad", "GradOperation")
    if by_hand and not source.named("TrainOneStepCell", "TrainOneStepWithLossScaleCell"):
        return at(source, by_hand[0], "each process updates by gradients of its own: nothing reduces them")
    context = ("set_auto_parallel_context", "AutoParallel", "set_parallel_context")
    if not source.named(*context) and source.named("Model"):
        return at(source, ranks[0], "processes are started, and no parallel mode joins their gradients")
    return None


def drawn_by_rank_on_mindspore(source: Script) -> Finding | None:
    """MindSpore: the seed hangs on the rank when the network is made, and no parameter is broadcast."""
    if "mindspore" not in source.frameworks or not source.named("get_rank"):
        return None
    sent = [keyword(c, "parameter_broadcast") for c in source.named("set_auto_parallel_context")]
    if any(s is not None and not is_false(s) for s in sent):
        return None
    if source.named("Broadcast", "broadcast"):
        return None
    for call in source.named("set_seed"):
        given = unparse(call.args[0]) if call.args else ""
        if not re.search(r"(?i)rank", given) or re.search(
            r"(?:^|\.)(?:config|ds|dataset)$", source.owner(call)
        ):
            continue  # `ds.config.set_seed(rank)`: the order of the data
        around = source.function_around(call) or source.tree
        after = [
            c
            for c in of(around, ast.Call)
            if c.lineno > call.lineno
            and (source.classes.get(last_name(c.func)) in source.modules or _made_to_train(source, c))
        ]
        if after:
            return at(source, call, "each process draws weights of its own, and nothing makes them equal")
    return None


def _made_to_train(source: Script, made: ast.Call) -> bool:
    """What it gives hands its weights to an optimizer: `net = build()`, `Adam(net.trainable_params())`."""
    parent = source.parents.get(made)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    name = unparse(parent.targets[0])
    return any(source.owner(c) == name for c in source.named("trainable_params"))


def unwrapped_in_training(source: Script) -> Finding | None:
    """Training runs the module that was taken out of its wrapper: `forward(acc.unwrap_model(model), x)`."""
    for call in source.named("unwrap_model"):
        parent = source.parents.get(call)
        if not isinstance(parent, ast.Call) or call is parent.func:
            continue
        loops = source.loops_around(call)
        runs = parent.func is call or re.search(r"(?i)forward|loss|step|model", last_name(parent.func))
        if not runs or not loops or re.search(r"save|eval|valid|ema|copy|generate", unparse(parent.func)):
            continue
        if any(b in of(loops[0], ast.Call) for b in source.backwards) and "no_grad" not in unparse(loops[0]):
            return at(source, call, "training runs the inner module: its gradients are not exchanged")
    return None
