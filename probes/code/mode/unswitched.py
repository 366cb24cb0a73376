"""Evaluation in training mode: the training loop switches it on, and nothing switches it off."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import LOSSES, UNTAPED, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow, returns
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Loop, Script
from ...scripts.untaped import untaped_function, without_gradients
from ..optimizer.frozen import switches as frozen_switches
from ..optimizer.frozen import switches_off
from ..shared.checks import at, first, ok
from ..shared.rounds import top_level
from ..shared.sides import either, side
from ..step.stepping import over_batches
from .asked_by_method import scored_by_method
from .loops import switch_of
from .nnx_modes import nnx_mode_left

_SWITCHES = re.compile(r"(?i)^(?:eval|set_eval|set_train|freeze\w*|(?!inference)\w*_mode)$")
# layers that a mode changes, and models that are not written out here
_BY_MODE = re.compile(
    r"(?i)drop(?!\(|na\b|_dup|_last|_remainder|_first)|batch_?norm|\bbn|instance_?norm|transformer|pretrained|torchvision|timm|hub\.load|models\.|LSTM|GRU"
)
_IN_TRAINING = "the model is evaluated in training mode: nothing here or around calls eval()"
_UP = 3  # callers that are gone up
_OTHERS = re.compile(r"(?i)(?:^|[._])(?:teacher|ref|reference|frozen|vgg|lpips|perceptual)\w*$")


@probe()
def never_switched_off(view: View) -> Finding:
    """A model that `.train()` is called on runs over a loader without gradients, and nothing calls `.eval()`.

    Looked at: the function, those that call it, and what these call by name or on self. Left aside: a model
    that is written out without dropout or batch norm, whose mode changes nothing.
    """
    check = either(
        *(_never, _scored_whole, _scored_without_loop, _judge_in_training, nnx_mode_left), scored_by_method
    )
    return first(view, check, "the scripts switch no model into training mode, or evaluate none")


def _never(source: Script) -> Finding | None:
    if not source.trains_by_hand or (source.modules and not _BY_MODE.search(source.code)):
        return None
    switches = [c for c in source.named("train") if (s := switch_of(source, c)) is not None and s[1]]
    names = {last_name(c.func.value) for c in switches if isinstance(c.func, ast.Attribute)}
    names = {n for n in names if re.search(r"(?i)model|net|module|encoder|classifier|student", n)}
    names |= _copies(source, names)
    quiet = {f.name for f in _quiet_methods(source)}
    judged: ast.AST | None = None
    for loop in _evaluations(source) if names else ():
        run = [n for n in of(loop, ast.Call) if _runs(source, n, names, quiet)]
        if not any(_looked_at(source, c, loop) for c in run) or takes_gradients(source, loop):
            continue
        judges = {last_name(n.func) for n in run}
        judges |= {last_name(a) for n in run for a in flow(source).arguments(n.func)}
        if any(_switches(n, judges) and not _of_frozen(source, n, judges) for n in _around(source, loop)):
            judged = judged or loop
            continue
        return at(source, run[0], _IN_TRAINING)
    return (
        ok(source, judged, "the model is put into evaluation mode where it is evaluated") if judged else None
    )


_BY_CHANCE = re.compile(r"(?i)mc_?drop|monte.?carlo|uncertain|bayes")


def _scored_whole(source: Script) -> Finding | None:
    """`net(X_test)`, or `net(graph)` held against the rows of `test_mask`, and `.eval()` nowhere at all."""
    if not source.trains_by_hand or source.loose or not re.search(r"(?i)dropout|batch_?norm", source.code):
        return None
    if not source.modules or source.named("eval") or _BY_CHANCE.search(source.text):
        return None
    switches = [c for c in source.named("train") if (s := switch_of(source, c)) is not None and s[1]]
    names = {unparse(c.func.value) for c in switches if isinstance(c.func, ast.Attribute)}
    if len(switches) != len(source.named("train")) or any(_switches(n, names) for n in source.nodes):
        return None
    held = {last_name(n) for n in source.of(ast.Name, ast.Attribute) if side(last_name(n)) is False}
    for call in source.calls:
        if unparse(call.func) not in names or not call.args or source.class_around(call) in source.modules:
            continue
        statement = source.statement(call)
        if statement is None or any(b in source.above(statement) for b in source.forwards):
            continue
        if side(unparse(call.args[0])) is False:
            return at(source, call, _IN_TRAINING)
        made = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        for node in source.of(ast.Compare) if made else ():
            parts = [p for p in (node.left, *node.comparators) if isinstance(p, ast.Subscript)]
            cut = [p for p in parts if unparse(p.value) == made and held & {last_name(p.slice)}]
            if cut and source.function_around(node) is source.function_around(call):
                return at(source, call, _IN_TRAINING)
    return None


def _of_frozen(source: Script, switch: ast.AST, judges: set[str]) -> bool:
    """It switches a network that is judged nowhere and whose own weights are held still: one that teaches."""
    if not isinstance(switch, ast.Call) or not isinstance(switch.func, ast.Attribute):
        return False
    owner = switch.func.value
    while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
        owner = owner.func.value  # `teacher.to(device).eval()`
    name = unparse(owner)
    if not isinstance(owner, (ast.Name, ast.Attribute)) or last_name(owner) in judges:
        return False
    if any(unparse(c.func.value) == name for c in source.named("train") if isinstance(c.func, ast.Attribute)):
        return False
    return name in _held_still(source)


def _held_still(source: Script) -> set[str]:
    """The networks all of whose weights are switched off, as they are written."""
    found: set[str] = set()
    for node, held, value in frozen_switches(source):
        if not switches_off(value):
            continue
        loop = source.loops_around(node)[:1]
        if loop and isinstance(loop[0], ast.For) and isinstance(held, ast.Name):
            over = loop[0].iter
            if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Attribute) or over.args:
                continue
            if last_name(over.func) in ("parameters", "named_parameters"):
                tested = any(isinstance(p, ast.If) for p in source.above(node) if loop[0] in source.above(p))
                found |= set() if tested else {unparse(over.func.value)}
        elif isinstance(held, (ast.Name, ast.Attribute)):
            found.add(unparse(held))
    return found


def _judge_in_training(source: Script) -> Finding | None:
    """A teacher with weights of another training is asked with its dropout and batch norm on."""
    if not source.trains_by_hand or source.loose or _BY_CHANCE.search(source.text):
        return None
    for name in sorted(_held_still(source)):
        calls = [c for c in source.calls if isinstance(c.func, ast.Attribute) and last_name(c.func) != name]
        mine = [c for c in calls if re.match(rf"{re.escape(name)}\b(?!\.module\.\w)", unparse(c.func))]
        loads = [c for c in mine if last_name(c.func) == "load_state_dict"]
        last = name.rpartition(".")[2]
        asked = [c for c in source.calls if last_name(c.func) == last and source.loops_around(c)]
        asked += [c for c in source.calls if isinstance(c.func, ast.Name) and name in _handed(source, c.func)]
        quiet = [c for c in asked if without_gradients(source, c)]
        switched = {last_name(c.func) for c in mine} & {"eval", "train", "apply", "requires_grad_"} - {
            "requires_grad_"
        }
        if not loads or not quiet or switched or not _changed_by_mode(source, name):
            continue
        if _switched_where_handed(source, name):
            continue
        why = "its weights are held still, and nothing puts it into evaluation mode before it is asked"
        return at(source, quiet[0], why)
    return None


def _handed(source: Script, name: ast.Name) -> set[str]:
    return {unparse(a) for a in flow(source).arguments(name)}


def _switched_where_handed(source: Script, name: str) -> bool:
    """A function switches what it is given: `freeze(teacher)`."""
    for call in source.calls:
        if name not in map(unparse, call.args):
            continue
        for function in flow(source).called(call):
            places = [a.arg for a in function.args.args if a.arg != "self"]
            mine = {p for p, given in zip(places, call.args, strict=False) if unparse(given) == name}
            switches = [c for c in of(function, ast.Call) if last_name(c.func) in ("eval", "train")]
            if any(isinstance(c.func, ast.Attribute) and unparse(c.func.value) in mine for c in switches):
                return True
    return False


def _changed_by_mode(source: Script, name: str) -> bool:
    """It is built of a library of networks, or of a class with layers that a mode changes."""
    for node in source.of(ast.Assign):
        if any(unparse(t) == name for t in node.targets) and isinstance(node.value, ast.Call):
            built = unparse(node.value.func)
            owner = source.classes.get(last_name(node.value.func))
            text = unparse(owner) if owner is not None else ""
            if owner is None and re.search(r"(?i)resnet|densenet|mobilenet|efficientnet|vgg\w*_bn", built):
                return True
            if re.search(r"(?i)dropout|batchnorm", text):
                return True
    return False


def _scored_without_loop(source: Script) -> Finding | None:
    """`@torch.no_grad() def test(): z = net(x); return accuracy(z, held)`, and `.eval()` nowhere at all."""
    if not source.trains_by_hand or source.loose or not re.search(r"(?i)dropout|batch_?norm", source.code):
        return None
    if source.named("eval") or _BY_CHANCE.search(source.text):
        return None
    switches = [c for c in source.named("train") if (s := switch_of(source, c)) is not None and s[1]]
    names = {unparse(c.func.value) for c in switches if isinstance(c.func, ast.Attribute)}
    if len(switches) != len(source.named("train")) or any(_switches(n, names) for n in source.nodes):
        return None
    for function in source.of(ast.FunctionDef):
        if not untaped_function(function) or source.class_around(function) in source.modules:
            continue
        asked = [c for c in of(function, ast.Call) if unparse(c.func) in names and c.args]
        told = [e for r in of(function, ast.Return) if r.value is not None for e in of(r.value, ast.Call)]
        figures = [c for c in told if last_name(c.func) in ("item", "float") or _is_figure(source, c)]
        if asked and figures and not any(_taken_for_loss(source, c) for c in flow(source).calls_of(function)):
            return at(source, asked[0], _IN_TRAINING)
    return None


def _is_figure(source: Script, call: ast.Call) -> bool:
    """A function of the script that compares answers and gives one number."""
    return any(
        isinstance(e, ast.Call) and last_name(e.func) in ("item", "float") and of(e, ast.Compare)
        for f in flow(source).called(call)
        for e in returns(f)
    )


def _taken_for_loss(source: Script, call: ast.Call) -> bool:
    """What it gives is reached by a gradient: answers of a teacher, targets."""
    line = source.statement(call)
    made = {n.id for t in line.targets for n in of(t, ast.Name)} if isinstance(line, ast.Assign) else set()
    losses = [c for c in source.calls if last_name(c.func) in LOSSES]
    return any(made & names_in(c) for c in losses)


def _copies(source: Script, names: set[str]) -> set[str]:
    """`average = copy.deepcopy(model)`: a copy of a model starts in the mode that the model is in."""
    made = [n for n in source.of(ast.Assign) if isinstance(n.value, ast.Call)]
    return {
        last_name(n.targets[0])
        for n in made
        if isinstance(n.value, ast.Call) and last_name(n.value.func) == "deepcopy" and n.value.args
        if last_name(n.value.args[0]) in names
    } - {""}


def _quiet_methods(source: Script) -> Iterator[Function]:
    """Methods of modules that run under `@torch.no_grad()`: `translate`, `generate`."""
    for owner in source.modules:
        for f in owner.body:
            if isinstance(f, ast.FunctionDef) and not f.name.startswith("_") and untaped_function(f):
                yield f


def _runs(source: Script, call: ast.Call, names: set[str], quiet: set[str]) -> bool:
    """A call of the model, under its name or as a parameter, or of a method of it without gradients."""
    if last_name(call.func) in names or _runs_given(source, call, names):
        return True
    if isinstance(call.func, ast.Name):
        return any(last_name(a) in names for a in flow(source).arguments(call.func))
    return last_name(call.func) in quiet and source.owner(call).split(".")[-1] in names


def _runs_given(source: Script, call: ast.Call, names: set[str]) -> bool:
    """`step(model, batch)`: a function of the script runs the model that it is handed."""
    functions = flow(source).functions.get(call.func.id, []) if isinstance(call.func, ast.Name) else []
    if len(functions) != 1:
        return False
    handed = {
        a.arg
        for a, given in zip(functions[0].args.args, call.args, strict=False)
        if isinstance(given, (ast.Name, ast.Attribute)) and last_name(given) in names
    }
    return any(isinstance(c.func, ast.Name) and c.func.id in handed for c in of(functions[0], ast.Call))


def _looked_at(source: Script, call: ast.Call, loop: Loop) -> bool:
    """Whether something is made of an answer: a loop that measures only time has none of its own."""
    line = source.statement(call)
    if not isinstance(line, ast.Assign):
        return not isinstance(line, ast.Expr) or line.value is not call
    names = {n.id for t in line.targets for n in of(t, ast.Name)}
    return not names or any(n.id in names and isinstance(n.ctx, ast.Load) for n in of(loop, ast.Name))


def _evaluations(source: Script) -> Iterator[Loop]:
    """Loops over batches that run without gradients."""
    for call in source.named(*UNTAPED):
        holder = source.parents.get(call)
        block = source.parents.get(holder) if isinstance(holder, ast.withitem) else holder
        if not isinstance(block, (ast.With, ast.FunctionDef)):
            continue
        inside = [n for n in of(block, ast.For, ast.While) if over_batches(n)]
        around = [loop for loop in source.loops_around(block)[:1] if over_batches(loop)]
        yield from inside[:1] or around
    for method in _quiet_methods(source):
        for call in flow(source).calls_of(method):
            yield from [loop for loop in source.loops_around(call)[:1] if over_batches(loop)]


def _around(source: Script, node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of the functions around a node, of their callers, and of what these call by name."""
    scopes: list[ast.AST] = []
    waiting: list[tuple[ast.AST, int]] = [(node, _UP)]
    while waiting:
        here, left = waiting.pop()
        function = source.function_around(here)
        scope: ast.AST = function or source.tree
        if scope in scopes:
            continue
        scopes.append(scope)
        for call in flow(source).calls_of(function) if function is not None and left else ():
            waiting.append((call, left - 1))
    called: set[Function] = set()
    for scope in scopes:
        for one in walk(scope) if scope is not source.tree else top_level(source.tree):
            yield one
            if isinstance(one, ast.Call) and re.fullmatch(r"(?:self\.)?\w+", unparse(one.func)):
                called.update(flow(source).functions.get(last_name(one.func), ()))
    for helper in called - set(scopes):
        yield from walk(helper)


def _switches(node: ast.AST, judged: set[str]) -> bool:
    """`.eval()`, `.train(False)`, `.train(mode)`, `training=False`, `model.training = False`.

    `judged`: the names under which the model is run where it is evaluated.
    """
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if isinstance(node.func, ast.Attribute) and _OTHERS.search(unparse(node.func.value)):
            if last_name(node.func.value) not in judged:
                return False  # `teacher.eval()` says nothing of the model that learns
        if name == "train":
            given = node.args[0] if len(node.args) == 1 else keyword(node, "mode")
            return (
                given is not None and re.search(r"(?i)^False$|^True$|mode|train", unparse(given)) is not None
            )
        told = keyword(node, "training")  # `F.dropout(x, training=self.training)` asks for the mode
        asks = isinstance(told, ast.Attribute) and told.attr == "training"
        return _SWITCHES.search(name) is not None or (told is not None and not asks)
    return (
        isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Attribute) and t.attr == "training" for t in node.targets)
    ) or (isinstance(node, ast.Attribute) and node.attr == "eval" and "model" in unparse(node).lower())
