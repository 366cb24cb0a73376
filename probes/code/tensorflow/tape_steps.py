"""Steps under a GradientTape in scripts: what runs beside the tape, and what becomes of gradients."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, names_read, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false
from ..shared.sides import literal
from .tape import Taken, taken

_CLIPS = ("clip_by_global_norm", "clip_by_norm", "clip_by_value", "clip_by_average_norm")
_CONSTANT = re.compile(
    r"(?i)target|teacher|ema|momentum|old|pseudo|ref|frozen|fake|real|generat|noise|mask|prior"
)


# ------------------------------------------------------------------------------------- clipped and left


def clip_left_under_tape(source: Script) -> Finding | None:
    """`clipped, _ = tf.clip_by_global_norm(grads, 1.0)`, and the update gets `grads`.

    Also a clip whose result is thrown away: it works in a copy. Left aside where the norm alone is asked for.
    """
    if gradients_never_applied(source) is not None:
        return None
    for one in taken(source):
        scope = one.function
        for call in of(scope, ast.Call):
            if last_name(call.func) not in _CLIPS or call.lineno < one.call.lineno or not call.args:
                continue
            if not names_in(call.args[0]) & _gradients(one) and not _in_comprehension(source, call):
                continue
            statement = source.statement(call)
            if isinstance(statement, ast.Expr) and not _is_inside_call(source, call):
                return at(source, call, "the clipped gradients are thrown away: nothing is clipped in place")
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            if not _carries(source, call, statement):
                continue
            target = statement.targets[0]
            names = [unparse(e) for e in (target.elts if isinstance(target, ast.Tuple) else [target])]
            if not all(n.isidentifier() for n in names):
                continue
            read = {
                n.id
                for n in of(scope, ast.Name)
                if isinstance(n.ctx, ast.Load) and n.lineno > (statement.end_lineno or statement.lineno)
            }
            if not set(names) & read:
                return at(
                    source, call, "the clipped gradients are used nowhere: the update gets those before"
                )
            told = last_name(call.func) == "clip_by_global_norm" and len(names) == 2
            if told and names[0] not in read and names[0] != "_":
                return at(
                    source, call, "the clipped gradients are used nowhere: the update gets those before"
                )
    return None


def _gradients(one: Taken) -> set[str]:
    """Names that hold gradients of a tape, or what is made of them, in its function."""
    names: set[str] = set()
    for node in sorted(of(one.function, ast.Assign), key=lambda n: n.lineno):
        if node.lineno < one.call.lineno:
            continue
        if any(c is one.call for c in of(node.value, ast.Call)) or names & names_in(node.value):
            names |= {n for t in node.targets for n in names_in(t)}
    return names


def _in_comprehension(source: Script, call: ast.Call) -> bool:
    return any(
        isinstance(p, (ast.ListComp, ast.GeneratorExp)) and "grad" in unparse(p.generators[0].iter).lower()
        for p in source.above(call)
    )


def _is_inside_call(source: Script, call: ast.Call) -> bool:
    return any(isinstance(p, ast.Call) for p in source.above(call))


def _carries(source: Script, call: ast.Call, statement: ast.Assign) -> bool:
    """The statement keeps what the clip gives, alone or in a list of it: no norm, sum or histogram."""
    for parent in source.above(call):
        if parent is statement:
            return True
        if isinstance(parent, (ast.Call, ast.Subscript, ast.Attribute)):
            return False
    return False


# ------------------------------------------------------------------------------------- beside the tape


def run_beside_tape(source: Script) -> Finding | None:
    """`prediction = model(x)` above `with tf.GradientTape()`, and the loss of `prediction` within it.

    Counts where gradients are taken for the variables of what runs, and it runs under no tape: the tape knows
    nothing of it. Also what runs under `tape.stop_recording()`. Left aside: targets and what teachers give.
    """
    if source.named("watch"):
        return None
    under = {unparse(c.func) for t in _tapes(source) for c in of(t, ast.Call) if not _stopped(source, c)}
    for one in taken(source):
        owner = _owner(source, one.variables)
        if not owner:
            continue
        inside = names_read(one.tape)
        for node in of(one.function, ast.Assign):
            if node.lineno > one.call.lineno or source.function_around(node) is not source.function_around(
                one.call
            ):
                continue
            call = node.value
            quiet = _stopped(source, node)
            before = node.lineno < one.tape.lineno
            if not isinstance(call, ast.Call) or not (quiet or before) or _taped(source, node, quiet):
                continue
            name = unparse(call.func)
            runs = name == owner or (name.startswith(f"{owner}.") and _is_method(source, call, owner))
            if not runs or name in under or not call.args:
                continue
            told = keyword(call, "training")
            if is_false(told) and not quiet:
                continue
            names = {n for t in node.targets for n in names_in(t)}
            if _CONSTANT.search(" ".join(names)) or _CONSTANT.search(name):
                continue
            if names & inside:
                return at(source, call, "the tape does not record this: no gradient goes back through it")
    return None


def _tapes(source: Script) -> Iterator[ast.With]:
    for node in source.of(ast.With):
        if any("GradientTape" in unparse(i.context_expr) for i in node.items):
            yield node


def _stopped(source: Script, node: ast.AST) -> bool:
    return any(
        isinstance(p, ast.With) and any("stop_recording" in unparse(i.context_expr) for i in p.items)
        for p in source.above(node)
    )


def _taped(source: Script, node: ast.AST, quiet: bool) -> bool:
    """Another tape is open around it."""
    return not quiet and any(t in source.above(node) for t in _tapes(source))


def _owner(source: Script, variables: ast.expr) -> str:
    """Whose variables gradients are taken for: "self.model" of `self.model.trainable_variables`."""
    ends = flow(source).values(variables, 4) if isinstance(variables, ast.Name) else [variables]
    found = {m[1] for e in ends if (m := re.fullmatch(r"(.+)\.trainable_(?:variables|weights)", unparse(e)))}
    return found.pop() if len(found) == 1 == len(ends) else ""


_OF_KERAS = ("compiled_loss", "compute_loss", "loss", "add_loss", "reset_metrics", "evaluate", "predict")


def _is_method(source: Script, call: ast.Call, owner: str) -> bool:
    """A method of this program, or a layer of the model, that gives outputs."""
    name = last_name(call.func)
    if name in _OF_KERAS or name.startswith("_") or "loss" in name or "sample" in name or "augment" in name:
        return False
    functions = flow(source).called(call)
    return owner == "self" and (bool(functions) and any("self." in unparse(f) for f in functions))


# ------------------------------------------------------------------------------------- never applied


def gradients_never_applied(source: Script) -> Finding | None:
    """Gradients for the variables of a model are taken by a tape, and nothing of the program applies any."""
    if source.loose or not taken(source) or "grad" not in source.code:
        return None
    if source.named(*_STEPS, "set_weights", "scatter_sub", "assign_sub"):
        return None
    if any(re.search(r"(?i)apply\w*grad|update_(?:weights|params)", last_name(c.func)) for c in source.calls):
        return None
    if any(re.search(r"(?i)opt", source.owner(c)) for c in source.named("update", "step")):
        return None
    written = source.named("assign", "assign_add")
    if any(not re.search(r"(?i)iterations|step|epoch|loss|metric", source.owner(c)) for c in written):
        return None
    for one in taken(source):
        if _owner(source, one.variables):
            name = source.function_name(one.call)
            if _hands_on(source, one):
                continue
            if re.search(r"(?i)train|fit|learn|step|update", name) or source.loops_around(one.call):
                return at(source, one.call, "these gradients are taken and never applied: nothing is updated")
    return None


def _hands_on(source: Script, one: Taken) -> bool:
    """The function returns the gradients, and nobody here calls it: who does so may apply them."""
    name = source.function_name(one.call)
    if not name or source.named(name):
        return False
    returned = [r.value for r in of(one.function, ast.Return) if r.value is not None]
    return any(names_in(r) & _gradients(one) or one.call in of(r, ast.Call) for r in returned)


_STEPS = ("apply_gradients", "apply", "minimize", "update_step", "apply_gradient")


# ------------------------------------------------------------------------------------- metrics of Keras


def metric_not_listed(source: Script) -> Finding | None:
    """A model's own `metrics` leaves out one that its `train_step` updates: Keras never empties it."""
    if "keras" not in source.text:
        return None
    for owner in source.classes.values():
        listed = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "metrics"), None)
        steps = [
            f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name in ("train_step", "test_step")
        ]
        if listed is None or not steps or "super()" in unparse(listed):
            continue
        helped = {last_name(c.func) for s in steps for c in of(s, ast.Call) if unparse(c.func)[:5] == "self."}
        steps += [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name in helped - {"metrics"}]
        kept = {unparse(a) for a in of(listed, ast.Attribute)}
        returned = [r.value for r in of(listed, ast.Return)]
        if len(returned) != 1 or not isinstance(returned[0], (ast.List, ast.Tuple)):
            continue
        emptied = {
            source.owner(c)
            for c in of(owner, ast.Call)
            if last_name(c.func) in ("reset_state", "reset_states")
        }
        for step in steps:
            for call in of(step, ast.Call):
                name = source.owner(call)
                if last_name(call.func) != "update_state" or not re.fullmatch(r"self\.\w+", name):
                    continue
                made = flow(source).values(call.func.value, 3) if isinstance(call.func, ast.Attribute) else []
                metric = any(isinstance(m, ast.Call) and "metrics." in unparse(m.func) for m in made)
                if metric and name not in kept and name not in emptied:
                    return at(
                        source,
                        call,
                        f"`{name}` is not among the model's metrics: it goes on from epoch to epoch",
                    )
    return None


def weights_left_in_test(source: Script) -> Finding | None:
    """`acc.update_state(hits, sample_weight=mask)` in `train_step`, and without it in `test_step`."""
    for owner in source.classes.values():
        steps = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        if not {"train_step", "test_step"} <= set(steps):
            continue
        weighed: dict[str, ast.Call] = {}
        for call in of(steps["train_step"], ast.Call):
            if last_name(call.func) == "update_state" and keyword(call, "sample_weight") is not None:
                weighed[_fed(source, call)] = call
        for call in of(steps["test_step"], ast.Call):
            plain = last_name(call.func) == "update_state" and len(call.args) < 3 and not call.keywords
            if plain and _fed(source, call) in weighed:
                return at(source, call, "this is weighed in training, and here all places count alike")
    return None


def _fed(source: Script, call: ast.Call) -> str:
    return f"{source.owner(call)}({', '.join(map(unparse, call.args[:2]))})"


_RECURRENT = ("LSTM", "GRU", "SimpleRNN")


def argmax_over_time(source: Script) -> Finding | None:
    """`tf.argmax(logits, axis=1)` where every recurrent layer gives whole sequences: time, not classes.

    Left aside: programs that pool, flatten, attend, or take one step of a sequence.
    """
    if "keras" not in source.text and "tensorflow" not in source.frameworks:
        return None
    layers = source.named(*_RECURRENT)
    whole = [literal(source, keyword(c, "return_sequences")) is True for c in layers]
    if not layers or not all(whole) or _ONE_STEP.search(source.code):
        return None
    for call in source.named("argmax"):
        axis = argument(call, "axis", position=1)
        given = unparse(call.args[0]) if call.args else ""
        if (
            axis is None
            or literal(source, axis) != 1
            or not re.search(r"(?i)logit|pred|prob|out|score", given)
        ):
            continue
        return at(source, call, "axis 1 of these outputs is time, and the classes stand behind it")
    return None


_ONE_STEP = re.compile(
    r"Pooling|Flatten\(|reduce_(?:mean|max|sum)\([^()]*axis=1|Attention|\[:, ?-1|Conv[12]D|squeeze"
    r"|reshape|Reshape"
)


# ------------------------------------------------------------------------------------- strategies


def averaged_by_replica(source: Script) -> Finding | None:
    """What a strategy sums is divided by one replica's batch, averaged once more, or averaged twice.

    `compute_average_loss(..., global_batch_size=per_replica_batch)`; a loss object without `reduction` whose
    mean goes into `compute_average_loss`; shares of the global mean that `strategy.reduce(MEAN)` averages.
    """
    shares = source.named("compute_average_loss")
    if not shares:
        return None
    for call in shares:
        size = argument(call, "global_batch_size", position=2)
        if size is not None and re.search(r"(?i)per_(?:replica|device|gpu|worker|core)", unparse(size)):
            if "num_replicas" not in unparse(size):
                return at(
                    source,
                    call,
                    "the batch of one replica is divided by, and gradients of replicas are summed",
                )
        for end in flow(source).values(call.args[0], 3) if call.args else ():
            made = flow(source).values(end.func, 3) if isinstance(end, ast.Call) else []
            for loss in made:
                if not isinstance(loss, ast.Call) or "losses." not in unparse(loss.func):
                    continue
                if not last_name(loss.func)[:1].isupper():
                    continue  # `losses.get("mse")` gives a function of single samples
                if keyword(loss, "reduction") is None and not any(k.arg is None for k in loss.keywords):
                    return at(
                        source,
                        loss,
                        "this loss is a mean already, and it is divided by the global batch again",
                    )
    return None


def reduced_by_mean(source: Script) -> Finding | None:
    """`strategy.reduce(MEAN, losses)` of `compute_average_loss`: too small by the number of replicas."""
    if not source.named("compute_average_loss"):
        return None
    for call in source.named("reduce"):
        if not re.search(r"ReduceOp\.MEAN|^'mean'$", unparse(call.args[0]) if call.args else ""):
            continue
        if (len(call.args) > 1 and "loss" in f"{source.function_name(call)} {source.line(call)}".lower()) or (
            len(call.args) > 1 and _from_training(source, call.args[1])
        ):
            return at(source, call, "each replica gives its share of the mean already: shares are summed")
    return None


def _from_training(source: Script, node: ast.expr) -> bool:
    """`strategy.run(train_step, ...)`, or a name for it."""
    for end in flow(source).values(node, 3):
        if isinstance(end, ast.Call) and last_name(end.func) in ("run", "experimental_run_v2") and end.args:
            if re.search(r"(?i)train|_step$|^step", last_name(end.args[0])):
                return "eval" not in last_name(end.args[0]) and "test" not in last_name(end.args[0])
    return False


def _ends(owner: str, names: list[str]) -> bool:
    return owner in names or owner.rpartition(".")[2] in names or "strategy" in owner.lower()


_STRATEGIES = (
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "TPUStrategy",
    "CentralStorageStrategy",
    "experimental.TPUStrategy",
)


def outside_scope(source: Script) -> Finding | None:
    """A strategy is made, and the model is made beside its scope, or its step is run without it."""
    made = source.named(*_STRATEGIES)
    if not made or source.loose:
        return None
    statement = source.statement(made[0])
    if not isinstance(statement, ast.Assign):
        return None
    scopes = [n for n in source.of(ast.With) if any("scope()" in unparse(i.context_expr) for i in n.items)]
    if not scopes:
        if source.named("scope"):
            return None
        fits = [c for c in source.named("fit") if isinstance(c.func, ast.Attribute)]
        name = unparse(statement.targets[0])
        used = sum(name == unparse(n) for n in source.of(ast.Name, ast.Attribute))
        if fits and used <= 1 and "RunConfig" not in source.code:
            return at(
                source, made[0], "nothing is made in the scope of this strategy: one device trains alone"
            )
        return None
    within = [c for s in scopes for c in of(s, ast.Call)]
    optimizers = [c for c in source.optimizer_calls if c in within]
    for call in source.calls:
        owner = source.classes.get(last_name(call.func))
        if owner is None or not any(re.search(r"Model$", unparse(b)) for b in owner.bases):
            continue
        if call in within or not optimizers or source.class_around(call) is owner:
            continue
        mine = source.function_around(call)
        if any(source.function_around(s) is mine for s in scopes):
            return at(source, call, "the model is made outside of the scope that its optimizer is made in")
    spread = source.named("experimental_distribute_dataset", "distribute_datasets_from_function")
    owners = [unparse(statement.targets[0]), last_name(statement.targets[0])]
    runs = [c for c in source.named("run", "experimental_run_v2") if _ends(source.owner(c), owners)]
    if spread and taken(source) and not runs and not source.named("compile"):
        return at(source, taken(source)[0].call, "the step is run without the strategy: replicas do not join")
    return None
