"""What mode scripts put the model into where they train."""

from __future__ import annotations

import ast
import re

from ....engine.model import State
from ...readers._tree import names_bound, names_in, of, unparse, walk
from ...readers.script import all_arguments, keyword, last_name, moves_one_tensor, receiver
from ...registry import Finding, View, probe
from ...rehearsal.judges import runs_alike, shows
from ...scripts.flow import flow, returns
from ...scripts.learning import taken
from ...scripts.syntax import Function, Script
from ..shared.checks import (
    at,
    first,
    gets_false,
    ok,
    outer_loop,
    runs_in,
    teaching,
)
from ..shared.nodes import is_false
from ..shared.sides import either


@probe()
def eval_mode_while_training(view: View) -> Finding:
    """`.eval()` is called in or before the epoch loop and `.train()` never brings the model back.

    False positive: a frozen teacher or feature extractor that is put into eval mode on purpose.
    """
    checks = either(_eval_while_training, shows("trained-in-eval", "trained-in-eval-later"))
    return first(view, checks, "the scripts never switch the model's mode")


_COPIES = (
    "teacher",
    "vae_enc",
    "text_enc",
    "feature_extractor",
    "dist_model",
    "distil",
    "ema",
    "vgg",
    "ref",
    "target",
    "old",
    "lpips",
    "percept",
    "reward",
)


def _eval_while_training(source: Script) -> Finding | None:
    if source.trains and not source.backwards:
        return _functional_mode(source)
    taped = _mode_under_tape(source) if source.named("GradientTape") else None
    if taped is not None and taped.state is State.PRESENT:
        return taped
    switches = [c for c in (switch_of(source, call) for call in source.calls) if c is not None]
    switches = [(c, on) for c, on in switches if not _is_copy(source, c)]
    evals, trains = [c for c, on in switches if not on], [c for c, on in switches if on]
    if not source.trains_by_hand or not evals:
        return None
    epoch_loop = outer_loop(source)
    if epoch_loop is None or _trains_no_model(source):
        return None
    if trains and all(_trains_first(source, b, trains, evals) for b in teaching(source)):
        return ok(source, trains[0], "the function that trains puts the model into training mode itself")
    last = _last_before_training(source, switches)
    if last is not None and not last[1] and not _switched_back(source, last[0], trains):
        return at(source, last[0], "the model is put into evaluation mode right before it trains")
    if trains and any(runs_in(source, c, epoch_loop) for c in trains):
        return ok(source, trains[0], "the model is put back into training mode in each epoch")
    told = [c for c in source.named("train") if _asks_mode(c)]
    if any(runs_in(source, c, epoch_loop) for c in told):
        return ok(source, told[0], "the mode is set in each epoch, as it is asked for")
    evals = [c for c in evals if not _is_finished(source, c)]
    # what is switched off above the loop and on again below that, before it begins, is on when it does
    back = last[0].lineno if last is not None and last[1] else 0
    reached = [
        c
        for c in evals
        if runs_in(source, c, epoch_loop) or (_before(source, c, epoch_loop) and c.lineno > back)
    ]
    if reached and ".training" not in source.code and runs_alike(source):
        return None  # no layer of the network knows of modes
    if reached:
        return at(
            source, reached[0], "the model is put into evaluation mode and never back before training goes on"
        )
    return None


def _asks_mode(call: ast.Call) -> bool:
    """`net.train(training)`; a function of the program that trains, `train(loader, net, ...)`, sets none."""
    asked = isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords
    return asked and not isinstance(call.args[0], ast.Constant)


def _trains_no_model(source: Script) -> bool:
    """All that optimizers are given are single tensors: a mask that explains a finished model, an image."""
    given = [c for c in source.optimizer_calls if c.args]
    return bool(given) and all(map(moves_one_tensor, given))


def _is_finished(source: Script, switch: ast.Call) -> bool:
    """The model was made and trained above, in the same round: the next round makes another."""
    owner = receiver(switch)
    return isinstance(owner, ast.Name) and _is_over(source, owner)


def _is_over(source: Script, model: ast.Name, depth: int = 4) -> bool:
    """The model that stands here was trained, and nothing trains it any more."""
    given = flow(source).given(model)
    function = source.function_around(model)
    made = source.loops_around(given.statement) if given is not None else []
    again = set(source.loops_around(model)) - set(made)
    trains = _training_of(source, model, given.value if given is not None else None)
    if any(c.lineno > model.lineno or again & set(source.loops_around(c)) for c in trains):
        return False
    if given is None:  # a parameter: all that is handed over for it
        handed = flow(source).arguments(model)
        return bool(handed and depth) and all(
            isinstance(a, ast.Name) and _is_over(source, a, depth - 1) for a in handed
        )
    if source.function_around(given.statement) is not function:
        return False
    # `net = net.cuda()` in a loop: it was made elsewhere
    return bool(trains) and not (made and any(n.id == model.id for n in of(given.value, ast.Name)))


def _training_of(source: Script, model: ast.Name, made: ast.expr | None) -> list[ast.Call]:
    """What trains a model in the function that it stands in: backward calls, calls of what holds those."""
    function = source.function_around(model)
    learning = {f for b in source.backwards if (f := source.function_around(b)) is not None}
    learning |= {f for g in learning for c in flow(source).calls_of(g) if (f := source.function_around(c))}
    found = [b for b in source.backwards if source.function_around(b) is function]
    for call in source.calls:
        if source.function_around(call) is function and learning & set(flow(source).called(call)):
            told = {n.id for a in all_arguments(call) for n in of(a, ast.Name)}
            if model.id in told or call is made:
                found.append(call)
    return found


def _trains_first(source: Script, backward: ast.Call, trains: list[ast.Call], evals: list[ast.Call]) -> bool:
    """Training mode is set in the function of a backward call before it; nothing evaluates in between."""
    around = source.function_around(backward)
    loops = source.loops_around(backward)
    for switch in trains:
        if source.function_around(switch) is not around or switch.lineno > backward.lineno or around is None:
            continue
        mine = source.loops_around(switch)
        if mine == loops:
            return True
        if mine == loops[1:] and not any(runs_in(source, e, loops[0], depth=1) for e in evals):
            return True
    return False


def switch_of(source: Script, call: ast.Call) -> tuple[ast.Call, bool] | None:
    """A call that switches a module's mode, and to which: `.train()`, `.train(False)`, `.eval()`.

    A method of the same name of the script's own trainer (`self.train()`) is none.
    """
    name = last_name(call.func)
    if not isinstance(call.func, ast.Attribute) or name not in ("train", "eval", "set_train"):
        return None
    owner = call.func.value
    if re.search(r"(?i)(?:^|[._])envs?(?:_\w+)?$", unparse(owner)):
        return None  # an environment of reinforcement learning, its transforms
    if isinstance(owner, ast.Name) and owner.id == "self":
        around = source.class_around(call)
        if around is not None and around not in source.modules:
            return None
    made = flow(source).made(owner)
    own = (f for f in made.body if isinstance(f, ast.FunctionDef)) if made is not None else ()
    if any(f.name == name and f"super().{name}(" not in unparse(f) for f in own):
        return None
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
    if name == "eval":
        return (call, False) if not given and not call.keywords else None
    if given and not isinstance(given[0], ast.Constant):
        return None
    return call, not (given and is_false(given[0]))


def _is_copy(source: Script, call: ast.Call) -> bool:
    """The mode is that of a teacher, a copy, a model that only measures, or a part that is looped over."""
    if any(w in source.owner(call).lower() for w in _COPIES) or _of_another(source, call):
        return True
    if re.search(r"(?i)(?:^|[._])(?:eval|valid|test)_\w|_(?:eval|valid|test)$", source.owner(call)):
        return True  # `actor_eval.eval()`: made for evaluations
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    if _restored(source, call):
        return True
    parent = source.parents.get(call)
    while isinstance(parent, (ast.Attribute, ast.Call)):  # `.eval().requires_grad_(False)`
        parent = source.parents.get(parent)
    if isinstance(parent, ast.Assign):  # `teacher = deepcopy(model).eval()`
        while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
            if last_name(owner.func) in ("deepcopy", "copy"):
                return True
            owner = owner.func.value  # `deepcopy(model).to(device).eval()`
        if isinstance(owner, ast.Call) and last_name(owner.func) in ("deepcopy", "copy"):
            return True
        if any(w in unparse(t).lower() for t in parent.targets for w in _COPIES):
            return True
    loops = [p for p in source.above(call) if isinstance(p, ast.For)]
    return isinstance(owner, ast.Name) and any(
        n.id == owner.id for loop in loops for n in of(loop.target, ast.Name)
    )


def _restored(source: Script, call: ast.Call) -> bool:
    """The function puts the mode back that it found: `was = net.training` ... `net.train(was)`."""
    function = source.function_around(call)
    return any(
        c.lineno > call.lineno
        and source.function_around(c) is function
        and any(not isinstance(a, ast.Constant) for a in all_arguments(c))
        and source.owner(c) == source.owner(call)
        for c in source.named("train", "set_train")
    )


def _of_another(source: Script, call: ast.Call) -> bool:
    """A part of an object that trains nothing (`self.inception.eval()` of what measures quality)."""
    owner = receiver(call)
    around = source.class_around(call)
    function = source.function_around(call)
    loop = source.train_loop
    if isinstance(owner, ast.Name) and loop is not None and function is source.function_around(loop):
        # a model that the training loop does not run: it only prepared what is trained on
        return not any(n.id == owner.id for n in of(loop, ast.Name)) and not _asked_within(
            source, loop, owner.id
        )
    rounds = outer_loop(source) if loop is None else None
    if isinstance(owner, ast.Name) and rounds is not None and function is source.function_around(rounds):
        # its steps stand in functions inside this one: those may run it as well
        inside = [f for f in walk(function) if isinstance(f, Function)] if function is not None else []
        parts = [rounds, *(f for f in inside if f is not function)]
        return bool(parts[1:]) and not any(n.id == owner.id for p in parts for n in of(p, ast.Name))
    if isinstance(owner, ast.Name) and _held_elsewhere(source, owner):
        return True
    if around is None or not isinstance(owner, ast.Attribute):
        return False
    root = unparse(owner).split(".")[0]
    if function is not None and root in {a.arg for a in function.args.args} - {"self", "cls"}:
        return True  # `strategy.model.eval()`: who trains that one sets its mode
    if unparse(owner.value) != "self":
        return False
    learning = (*source.backwards, *source.steps, *taken(source))
    trains = any(around in source.above(c) for c in learning)
    name = owner.attr
    elsewhere = [
        n
        for n in source.mentions.get(name, ())
        if isinstance(n, ast.Attribute) and around not in source.above(n)
    ]
    return not trains and not elsewhere


def _asked_within(source: Script, node: ast.AST, name: str, depth: int = 3) -> bool:
    """A function of the program that is called here reads the name from outside: `def embed(x): net(x)`."""
    for call in of(node, ast.Call):
        for function in flow(source).called(call):
            if name in {a.arg for a in function.args.args} | names_bound(function):
                continue
            if name in names_in(function):
                return True
            if depth and _asked_within(source, function, name, depth - 1):
                return True
    return False


def _held_elsewhere(source: Script, name: ast.Name, most: int = 20) -> bool:
    """A function is handed the model of an object of another file, which trains nothing: `run(self.net, x)`.

    The file of the training loop does not know that attribute.
    """
    mine, loop = flow(source), source.train_loop
    waiting: list[ast.expr] = [name]
    seen: list[ast.expr] = []
    roots: list[ast.Attribute] = []
    while waiting and len(seen) < most:
        node = waiting.pop()
        if node in seen:
            continue
        seen.append(node)
        handed = mine.arguments(node) if isinstance(node, ast.Name) else []
        if not handed and not (isinstance(node, ast.Attribute) and unparse(node.value) == "self"):
            return False
        waiting += handed
        roots += [node] if isinstance(node, ast.Attribute) else []
    if loop is None or waiting or not roots:
        return False
    file = source.place(loop).file
    learning = (*source.backwards, *source.steps, *taken(source))
    for root in roots:
        held = source.class_around(root)
        if held is None or source.place(root).file == file or any(held in source.above(c) for c in learning):
            return False
        known = (n for n in source.mentions.get(root.attr, ()) if isinstance(n, ast.Attribute))
        if any(source.place(n).file == file for n in known):
            return False
    return True


# what runs on a condition only, be it a statement or a part of one: `net.train() if learns else net.eval()`
_CHOICES = (ast.If, ast.IfExp, ast.BoolOp, ast.Match)


def _last_before_training(
    source: Script, switches: list[tuple[ast.Call, bool]]
) -> tuple[ast.Call, bool] | None:
    """The last switch above the training loop, in the same function, whatever else happens."""
    loop = source.train_loop or outer_loop(source)
    if source.train_loop is None:  # the step stands in a function: look at the loop that calls it
        function = source.train_scope
        calls = flow(source).calls_of(function) if isinstance(function, ast.FunctionDef) else ()
        loop = next((loops[0] for c in calls if (loops := source.loops_around(c))), None)
    if loop is None or (source.steps and not any(runs_in(source, s, loop) for s in source.steps)):
        return None  # gradients that no optimizer applies: of inputs, of a measure
    around = set(source.above(loop)) | {loop}
    before = [
        (c, on)
        for c, on in switches
        if source.function_around(c) is source.function_around(loop)
        and c.lineno < getattr(loop, "lineno", 0)
        and source.loops_around(c) == source.loops_around(loop)
        and not any(isinstance(p, _CHOICES) and p not in around for p in source.above(c))
    ]
    return before[-1] if before else None


def _switched_back(source: Script, off: ast.Call, trains: list[ast.Call]) -> bool:
    """`net.eval()`, a loop that takes gradients of inputs, `net.train()`, and only then what steps.

    Sampling by Langevin dynamics and attacks take gradients too, which no optimizer applies.
    """
    loops, function = source.loops_around(off), source.function_around(off)

    def beside(call: ast.Call) -> bool:
        return source.function_around(call) is function and source.loops_around(call) == loops

    steps = [c for c in source.steps if beside(c)]
    return any(
        beside(on)
        and source.owner(on) == source.owner(off)
        and off.lineno < on.lineno
        and any(beside(b) and b.lineno > on.lineno for b in source.backwards)
        and bool(steps)
        and all(s.lineno > on.lineno for s in steps)
        for on in trains
    )


def _functional_mode(source: Script) -> Finding | None:
    """Mode in functional training: `model(x, training=False)` under a tape, `net.set_train(False)`."""
    if (found := _mode_under_tape(source)) is not None:
        return found
    modes = tuple(c for c in source.named("set_train") if not _is_copy(source, c))
    if (left := _left_in_evaluation(source, modes)) is not None:
        return at(
            source, left, "the evaluation leaves the model in its mode, and the next epoch trains in it"
        )
    if modes and _trained_by_model(source):
        return ok(source, modes[0], "MindSpore's Model puts the network into training mode itself")
    modes = tuple(c for c in modes if not _handed_out(source, c))
    loops = [c for c in modes if source.loops_around(c) or len(modes) == 1]
    if loops and all(gets_false(c) for c in loops):
        return at(source, loops[0], "the model is put into evaluation mode and trains in it")
    return ok(source, modes[0], "the model is put into training mode") if modes else None


def _handed_out(source: Script, call: ast.Call) -> bool:
    """`from_pretrained` gives back a model in evaluation mode, as its users expect."""
    function = source.function_around(call)
    return (
        function is not None
        and re.match(r"from_pretrained$|_?load", function.name) is not None
        and any(source.owner(call) in names_in(r) for r in returns(function))
    )


def _trained_by_model(source: Script) -> bool:
    """MindSpore: `Model(net, loss_fn=..., optimizer=...).train(...)` sets the mode at its start."""
    made = {
        last_name(t)
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and last_name(n.value.func) == "Model"
        if keyword(n.value, "optimizer") is not None or len(n.value.args) > 2
        for t in n.targets
        if isinstance(t, (ast.Name, ast.Attribute))
    }
    return any(source.owner(c).rpartition(".")[2] in made for c in source.named("train"))


def _left_in_evaluation(source: Script, modes: tuple[ast.Call, ...]) -> ast.Call | None:
    """MindSpore: the loop that takes gradients switches to evaluation, and nothing in it switches back."""
    trains = list(taken(source)) if "mindspore" in source.frameworks else []
    for call in modes if trains and not source.loose else ():
        if not gets_false(call):
            continue
        for loop in source.of(ast.For, ast.While):
            if not any(runs_in(source, t, loop) for t in trains) or not runs_in(source, call, loop):
                continue
            back = [m for m in modes if not gets_false(m) and runs_in(source, m, loop)]
            return None if back else call
    return None


def _mode_under_tape(source: Script) -> Finding | None:
    """The mode of the model under each tape whose gradients are applied."""
    seen = None
    for block in source.of(ast.With):
        if "GradientTape" not in unparse(block.items[0].context_expr):
            continue
        if re.search(r"watch_accessed_variables=False", unparse(block.items[0].context_expr)):
            continue  # the slope of inputs or actions, not that of weights
        calls = [c for c in of(block, ast.Call) if keyword(c, "training") is not None]
        off = [c for c in calls if is_false(keyword(c, "training"))]
        if calls and len(off) == len(calls) and _applies(source, block):
            return at(source, off[0], "the model is run in evaluation mode where its gradient is taken")
        if calls and len(off) < len(calls) and _applies(source, block):
            if (quiet := _trained_quietly(source, block, off, calls)) is not None:
                return at(source, quiet, "the model is run in evaluation mode where its gradient is taken")
        bare = next((c for c in of(block, ast.Call) if _mode_left_open(source, c)), None)
        if bare is not None and not calls and _applies(source, block):
            return at(source, bare, "nothing tells the model that it trains where its gradient is taken")
        seen = seen or (calls[0] if calls else None)
    return ok(source, seen, "the model is run in training mode where its gradient is taken") if seen else None


def _trained_quietly(
    source: Script, tape: ast.With, off: list[ast.Call], calls: list[ast.Call]
) -> ast.Call | None:
    """`self(x, training=False)` under a tape for the variables of `self`, which no call runs otherwise.

    Beside it other parts run with training=True. Left aside: what is cut off, and targets by their names.
    """
    scope = source.function_around(tape) or source.tree
    owners = {
        unparse(n.value)
        for n in of(scope, ast.Attribute)
        if n.attr in ("trainable_variables", "trainable_weights")
    }
    loud = {unparse(c.func) for c in calls if c not in off}
    for call in off:
        name, statement = unparse(call.func), source.statement(call)
        told = unparse(statement).lower() if statement is not None else ""
        cut = re.search(r"stop_gradient|target|teacher|pseudo|clean|prior|reference", told)
        if owners == {name} and name not in loud and cut is None:
            return call
    return None


def _mode_left_open(source: Script, call: ast.Call) -> bool:
    """A Keras model that drops or normalises is called without `training=`, whose default is off.

    Not within a model's own `call`: what is called there takes the mode of the call around it.
    """
    if len(call.args) != 1 or any(k.arg is None for k in call.keywords) or last_name(call.func)[:1].isupper():
        return False
    if not source.named("Dropout", "BatchNormalization", "SpatialDropout2D", "GaussianDropout"):
        return False
    function = source.function_around(call)
    around = source.class_around(call)
    if function in source.forwards or (
        function is not None and function.name == "train_step" and around in source.modules
    ):
        return False  # `train_step` of a Keras model is run by `fit`
    made = flow(source).made(call.func)
    if made is None:
        built = flow(source).values(call.func, 4) if isinstance(call.func, (ast.Name, ast.Attribute)) else []
        return bool(built) and all(
            isinstance(b, ast.Call)
            and unparse(b.func).endswith(("Sequential", "keras.Model", "models.Model"))
            for b in built
        )
    for own in (f for f in made.body if isinstance(f, ast.FunctionDef) and f.name == "call"):
        plain, defaults = own.args.args, own.args.defaults
        told = dict(zip([a.arg for a in plain][len(plain) - len(defaults) :], defaults, strict=True))
        default = told.get("training")
        return isinstance(default, ast.Constant) and not default.value
    return False


def _asks_slopes(call: ast.Call) -> bool:
    return last_name(call.func) == "gradient" and len(call.args) > 1


def _applies(source: Script, tape: ast.With) -> bool:
    """The function, or the model's class, around a tape updates weights: no gradient of an attack."""
    function = source.function_around(tape)
    given = {a.arg for a in function.args.args} if function is not None else set()
    asked = [c.args[1] for c in of(function, ast.Call) if _asks_slopes(c)] if function is not None else []
    if asked and all(isinstance(a, (ast.List, ast.Tuple)) and names_in(a) <= given for a in asked):
        return False  # slopes of masks or inputs that it was handed
    if asked and all(isinstance(a, (ast.List, ast.Tuple)) and _are_variables(source, a) for a in asked):
        return False  # a mask or an image is searched for, and the model is finished
    around = [function, *(p for p in source.above(tape) if isinstance(p, ast.ClassDef))]
    scopes = [a for a in around if a is not None and (isinstance(a, ast.FunctionDef) or a in source.modules)]
    updates = source.named("apply_gradients", "minimize", "apply")
    return not scopes or any(scope in source.above(c) for c in updates for scope in scopes)


def _are_variables(source: Script, asked: ast.List | ast.Tuple) -> bool:
    """Each of them is a variable that stands for itself: `tf.Variable(mask)`."""
    return bool(asked.elts) and all(
        any(isinstance(v, ast.Call) and last_name(v.func) == "Variable" for v in flow(source).values(e, 3))
        for e in asked.elts
    )


def _before(source: Script, node: ast.AST, loop: ast.AST) -> bool:
    same = source.function_around(node) is source.function_around(loop)
    return same and getattr(node, "lineno", 0) < getattr(loop, "lineno", 0)
