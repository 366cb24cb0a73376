"""The way back from the loss to the parameters, in scripts: where it is cut, or has no slope."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import MAX_VISITED, Flow, Places, flow, losses, objectives, predicted
from ...scripts.syntax import Function, Script, outermost_call
from ..shared.checks import at, first, is_evaluation, ok
from ..shared.nodes import factors
from ..shared.rounds import Round, rounds
from ..shared.sides import either
from ..tensorflow.applied import output_taken_for_loss
from ..tensorflow.graph_gradient import cut_in_graph
from ..tensorflow.graph_loss import one_class_softmax
from ..tensorflow.keras_model import softmax_of_one
from ..tensorflow.keras_slips import array_under_tape
from ..tensorflow.tape import loss_beside_tape
from ..tensorflow.tape_steps import run_beside_tape
from ..trainers.trainer_settings import output_made_anew
from .divergence import drawn_without_slope
from .left_graph import only_compared, through_numpy
from .quiet_runs import trained_without_gradients

# what is meant to be a constant: targets, other networks, masks, states carried on, advantages
_CONSTANTS = re.compile(
    r"target|teacher|ema|mask|weight|state|hidden|memory|momentum|key|queue|advant|\badv|return|reward|baseline|"
    r"old|ref|anchor|codebook|quant|log|metric|acc|fake|prior|scale|_max\b|\bmax_|amax|detach\b(?!\()"
)

_CUTS = ("detach", "stop_gradient", "numpy", "item", "detach_", "stop_grad", "asnumpy", "tolist")
_MADE_ANEW = ("tensor", "from_numpy", "as_tensor", "Tensor", "array", "asarray")


@probe()
def gradient_path_cut(view: View) -> Finding:
    """detach, no_grad, .data, numpy or item between the parameters and what gradients are taken of.

    Followed back from the objective through names, methods and functions. Left aside: straight-through
    estimators, a value that takes part uncut as well, targets, teachers, states and advantages by their
    names, and objectives of several networks.
    """
    checks = either(
        _path_cut,
        loss_beside_tape,
        output_taken_for_loss,
        array_under_tape,
        run_beside_tape,
        cut_in_graph,
        through_numpy,
        only_compared,
        output_made_anew,
        trained_without_gradients,
        drawn_without_slope,
    )
    return first(view, checks, "the scripts hold no model or loss")


def _path_cut(source: Script) -> Finding | None:
    if not source.forwards and not source.losses:
        ends = (_cut_at_the_end(source, one) for one in rounds(source))
        cut = next((c for c in ends if c is not None), None)
        return at(source, cut, _CUT_OFF) if cut is not None else None
    for function in source.forwards:
        owner = _owner(source, function)
        if owner not in source.modules and (function.name == "__call__" or _is_trainer(owner)):
            continue
        if _own_gradient(owner):
            continue
        for node in _run(function):
            if isinstance(node, ast.Call) and last_name(node.func) in ("detach", "stop_gradient"):
                asked = any(
                    re.search(r"(?i)detach|froz|freez|fixed|stop_grad", unparse(p.test))
                    for p in source.above(node)
                    if isinstance(p, ast.If)
                )
                if not (
                    asked
                    or isinstance(source.parents.get(node), ast.Expr)  # what it gives back is not used
                    or _straight_through(node)
                    or _meant(source, node)
                    or _goes_nowhere(source, function, node)
                    or _beside(source, node)
                    or _copied_input(source, node)
                    or _fixed_table(source, node)
                    or _kept_to_be_told(source, function, node)
                    or _slope_by_inputs(source, function, node)
                    or _takes_part(source, node)
                ):
                    return at(source, node, "the gradient path is cut inside the model")
            if isinstance(node, ast.With) and _without_gradient(node):
                if not (
                    any(_on_purpose(unparse(s)) for s in node.body)
                    or _prepares(node)
                    or _changes_in_place(node)
                    or _keeps_to_itself(function, node)
                    or _runs_twin(function, node)
                    or _runs_frozen(source, node)
                    or _says_pretrained(source, node)
                ):
                    return at(source, node, "part of the forward pass runs without gradients")
    for call, _ in source.losses:
        value = source.loss_input(call)
        if value is None or is_evaluation(source, call):
            continue
        if re.search(r"(?i)target|teacher", unparse(value)):
            continue  # `mse_loss(target.detach(), output)`: what is aimed at stands first
        if _is_cut(value) and not _is_packed(flow(source), value):
            return at(source, value, "the loss is computed on a value cut off from the model")
    for one in rounds(source):
        if (cut := _cut_at_the_end(source, one)) is not None:
            return at(source, cut, _CUT_OFF)
    taken = objectives(source)
    if len({call for call, _ in taken}) == 1:
        for _, objective in taken:
            for node, why in _cuts(source, objective):
                return at(source, node, why)
    node = source.forwards[0] if source.forwards else source.losses[0][0]
    return ok(source, node, "nothing cuts the gradient path")


_CUT_OFF = "what gradients are taken of has been cut off from the model"


def _cut_at_the_end(source: Script, one: Round) -> ast.AST | None:
    """The objective of a function that steps is itself a copy, or a loss of an output without gradients.

    `loss.detach().requires_grad_()`, `tensor(loss.item(), requires_grad=True)`; an output that comes out of a
    block without gradients. Asked function by function, so that other training steps of the program do not
    matter. Left aside where gradients are read (`.grad`): they are handed on by hand.
    """
    function = source.function_around(one.backward)
    if not one.steps or _reads_gradients(function or source.tree):
        return None
    mine, standard = flow(source), {c for c, _ in losses(source)}
    for objective in [o for c, o in objectives(source) if c is one.backward]:
        ends = [objective] if not isinstance(objective, ast.Name) else _given_here(mine, objective)
        for end in ends:
            inside = _copied(end)
            if inside is not None and not _on_purpose(unparse(inside).replace("loss", "")):
                return end
            if isinstance(end, ast.Call) and (end in standard or _is_loss(end)) and end.args:
                output = _same_values(end.args[0])
                if (block := _made_without_gradient(source, mine, output, function)) is not None:
                    if not any(_has_gradient(mine, a) for a in end.args[1:]):
                        return block
    return None


def _same_values(node: ast.expr) -> ast.expr:
    """What is given to a loss before it got another shape: `out.flatten(0, 1).float()` -> `out`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPED:
        node = node.func.value
    return node


_SHAPED = ("view", "reshape", "flatten", "float", "contiguous", "squeeze", "transpose", "permute", "double")


def _reads_gradients(function: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Attribute) and n.attr == "grad" and isinstance(n.ctx, ast.Load)
        for n in walk(function)
        if not (isinstance(n, ast.Attribute) and unparse(n.value) in ("torch.autograd", "autograd"))
    )


def _given_here(mine: Flow, name: ast.Name) -> list[ast.expr]:
    """What a name was given last, divisions and scalings of itself looked through."""
    found: list[ast.expr] = []
    for given in mine.all_given(name):
        if given.places:
            continue
        value = given.value
        while isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Div, ast.Mult)):
            value = value.left
        again = isinstance(value, ast.Name) and value.id == name.id
        found += [g.value for g in mine.all_given(value)] if again else [value]
    return found


def _copied(node: ast.expr) -> ast.expr | None:
    """What was cut off and told to take gradients again: `x` of `x.detach().requires_grad_()`."""
    told = False
    inside: ast.expr | None = None
    while isinstance(node, (ast.Call, ast.Attribute)):
        name = last_name(node.func) if isinstance(node, ast.Call) else node.attr
        if isinstance(node, ast.Call) and name == "requires_grad_" and isinstance(node.func, ast.Attribute):
            told, node = True, node.func.value
            continue
        if isinstance(node, ast.Call) and name in ("Variable", *_MADE_ANEW) and node.args:
            if not any(k.arg == "requires_grad" for k in node.keywords):
                return None
            told, inside, node = True, node.args[0], node.args[0]
            continue
        following = _cut_by(node)
        if following is None:
            break
        inside, node = following, following
    calls = inside is not None and isinstance(inside, (ast.Name, ast.Attribute, ast.Call))
    return inside if told and calls and re.search(r"(?i)loss", unparse(inside) if inside else "") else None


def _is_loss(call: ast.Call) -> bool:
    return re.search(r"(?i)criterion|loss", last_name(call.func)) is not None


def _made_without_gradient(
    source: Script, mine: Flow, node: ast.expr, function: Function | None
) -> ast.AST | None:
    """The block without gradients that an output comes out of, or where it is cut off before the loss."""
    if isinstance(node, ast.Call) and last_name(node.func) == "requires_grad_":
        return node if _cut_by(_base_of(node)) is not None and not _meant(source, _base_of(node)) else None
    if not isinstance(node, ast.Name):
        return None
    for given in mine.all_given(node)[:1]:
        if source.function_around(given.value) is not function or not isinstance(given.value, ast.Call):
            continue
        if _given_again(function or source.tree, node, given.statement):
            continue
        for above in source.above(given.statement):
            if isinstance(above, ast.With) and _without_gradient(above):
                inside = any(n is node for n in walk(above))
                purpose = _on_purpose(unparse(given.statement)) or _on_purpose(unparse(node))
                return above if not inside and not purpose else None
    return None


def _given_again(function: ast.AST, name: ast.Name, statement: ast.AST) -> bool:
    """The name gets another value between a statement and where it is used."""
    first_line = getattr(statement, "lineno", 0)
    return any(
        n.id == name.id and isinstance(n.ctx, ast.Store) and first_line < n.lineno < name.lineno
        for n in of(function, ast.Name)
    )


def _base_of(call: ast.Call) -> ast.expr:
    return call.func.value if isinstance(call.func, ast.Attribute) else call


def _has_gradient(mine: Flow, node: ast.expr) -> bool:
    """The other side of a loss is an output, too: made by a call that is not cut off."""
    if isinstance(node, ast.Call):
        return True
    found = mine.all_given(node) if isinstance(node, (ast.Name, ast.Attribute)) else []
    return any(isinstance(g.value, ast.Call) and not _is_moved(g.value) for g in found)


def _is_moved(call: ast.Call) -> bool:
    """`y.to(device)`, `y.long()`: the same numbers elsewhere or in another format."""
    return last_name(call.func) in ("to", "cuda", "long", "float", "view", "squeeze", "unsqueeze", "reshape")


# Signal processing that has nothing to train: spectra, filter banks, augmentation, scaling.
_PREPARES = re.compile(r"(?i)spec|mel|mfcc|stft|fbank|filter_?bank|augment|norm|preprocess|resample|pad\b")


# What may stand beside it: other shapes and formats of the same numbers.
_SHAPES = (
    "squeeze",
    "unsqueeze",
    "size",
    "to",
    "transpose",
    "permute",
    "view",
    "reshape",
    "float",
    "autocast",
)


def _says_pretrained(source: Script, block: ast.With) -> bool:
    """The method asserts that what runs without gradients is never in training: a codec of elsewhere."""
    function = source.function_around(block)
    return function is not None and any(
        re.search(r"not [\w.]+\.training", unparse(n.test)) for n in of(function, ast.Assert)
    )


def _prepares(block: ast.With) -> bool:
    """Everything that a block without gradients calls prepares the inputs."""
    calls = [unparse(c.func) for s in block.body for c in of(s, ast.Call)]
    worked = [c for c in calls if not c.rsplit(".", 1)[-1].startswith(_SHAPES)]
    return bool(worked) and all(_PREPARES.search(c) for c in worked)


def _changes_in_place(block: ast.With) -> bool:
    """`torch.clamp_max_(c, 1.0)`: values are kept in range, and their gradient is left as it was."""
    return all(
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and last_name(s.value.func).endswith("_")
        for s in block.body
    )


_FIGURE = re.compile(
    r"(?i)\[['\"](?:\w*_)?(?:rmse|mae|mse|acc|loss|norm|err(?:or)?|metric|psnr|kl)(?:_\w+)?['\"]\]$"
)


def _kept_to_be_told(source: Script, function: Function, node: ast.AST) -> bool:
    """What is cut off is kept as an attribute that the method itself never reads: a figure for the log."""
    statement = source.statement(node)
    if isinstance(statement, ast.Assign) and all(
        isinstance(t, ast.Subscript) and _FIGURE.search(unparse(t)) for t in statement.targets
    ):
        return True  # `more["rmse"] = shown(rmse.detach())`: a figure among figures
    outer = source.parents.get(node)
    if not isinstance(outer, ast.Assign) or not all(isinstance(t, ast.Attribute) for t in outer.targets):
        return False
    kept = {unparse(t) for t in outer.targets}
    return not any(isinstance(n.ctx, ast.Load) and unparse(n) in kept for n in of(function, ast.Attribute))


def _goes_nowhere(source: Script, function: Function, node: ast.Call) -> bool:
    """What is cut off is written into a buffer (`s.copy_(x.detach().mean())`), or gradients are asked of it.

    A copy that takes gradients beside `autograd.grad` in the same function is a start of its own, as in
    implicit layers.
    """
    for outer in source.above(node):
        if isinstance(outer, ast.Call) and last_name(outer.func) == "requires_grad_":
            return any(last_name(n.func) == "grad" for n in of(function, ast.Call))
        if isinstance(outer, ast.stmt):
            value = outer.value if isinstance(outer, ast.Expr) else None
            written = ("copy_", "fill_", "mul_", "add_", "lerp_")
            return isinstance(value, ast.Call) and last_name(value.func) in written
    return False


def _slope_by_inputs(source: Script, function: Function, node: ast.expr) -> bool:
    """The method makes leaves of its inputs (`x.detach().requires_grad_()`): it is derived by them.

    As energies by positions. What is cut is an argument as it came, or such a leaf that no layer gave.
    """
    leaves = [
        c
        for c in of(function, ast.Call)
        if last_name(c.func) == "requires_grad_"
        and isinstance(c.func, ast.Attribute)
        and (inside := _cut_by(c.func.value)) is not None
        and isinstance(inside, ast.Name)
        and not _of_model(flow(source), inside)
    ]
    if not leaves:
        return False
    inner = _cut_by(node)
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    mine = {n for leaf in leaves for n in walk(leaf)}
    return node in mine or (isinstance(inner, ast.Name) and inner.id in given)


def _runs_frozen(source: Script, block: ast.With) -> bool:
    """All modules that the block calls are copies, or switched off where they are made: `self.slow(x)`."""
    owner = source.class_around(block)
    called = {
        unparse(c.func)
        for s in block.body
        for c in of(s, ast.Call)
        if re.fullmatch(r"self\.\w+", unparse(c.func))
    }
    if owner is None or not called:
        return False
    methods = {f"self.{s.name}" for s in owner.body if isinstance(s, ast.FunctionDef)}
    text = unparse(owner)
    return bool(called - methods) and all(
        _plain_function(owner, name)
        or re.search(
            rf"{re.escape(name)} = (?:copy\.)?deepcopy\("
            rf"|{re.escape(name)}(?:\.eval\(\))?\.requires_grad_\(False\)"
            rf"|in {re.escape(name)}\.parameters\(\):\n\s+\w+\.requires_grad(?:_\(| = )False",
            text,
        )
        for name in called - methods
    )


def _plain_function(owner: ast.ClassDef, name: str) -> bool:
    """`self.embed = partial(encode, name=...)`: a function of elsewhere, no layer of this module."""
    made = [n.value for n in of(owner, ast.Assign) if any(unparse(t) == name for t in n.targets)]
    return bool(made) and all(
        isinstance(m, ast.Call)
        and last_name(m.func) == "partial"
        and bool(m.args)
        and isinstance(m.args[0], (ast.Name, ast.Attribute))
        and not unparse(m.args[0]).startswith("self.")
        and last_name(m.args[0])[:1].islower()
        for m in made
    )


def _keeps_to_itself(function: Function, block: ast.With) -> bool:
    """Nothing that is computed in the block is used after it: running averages, counters, logging."""
    inside = {n for s in block.body for n in walk(s)}
    if any(isinstance(n, (ast.Return, ast.Yield)) for n in inside):
        return False
    made = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return not any(
        isinstance(n, ast.Name) and n.id in made and isinstance(n.ctx, ast.Load) and n not in inside
        for n in walk(function)
        if getattr(n, "lineno", 0) > block.lineno
    )


def _runs_twin(function: Function, block: ast.With) -> bool:
    """`self.encoder_k(b)` without gradients beside `self.encoder_q(a)` with them: a slow copy.

    Or the very same call with them on another way.
    """
    inside = {n for s in block.body for n in walk(s)}
    mine: set[str] = set()
    others: set[str] = set()
    for node in of(function, ast.Call):
        if unparse(node.func).startswith("self."):
            (mine if node in inside else others).add(unparse(node.func))
    return any(
        a == b or ("_" in a and "_" in b and a.rsplit("_", 1)[0] == b.rsplit("_", 1)[0])
        for a in mine
        for b in others
    )


def _calls_in(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) for n in walk(node))


_MADE_UP = ("arange", "zeros", "ones", "zeros_like", "ones_like", "linspace", "eye", "full", "rand", "randn")


def _takes_part(source: Script, node: ast.Call) -> bool:
    """What is cut has no slope anyway, is the target of a loss, or is joined to values that are not cut."""
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(inner, ast.Compare) or (isinstance(inner, ast.Call) and last_name(inner.func) in _STEPS):
        return True
    if isinstance(inner, ast.Call) and last_name(inner.func) in _MADE_UP:
        return True
    parent = source.parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.attr in ("numpy", "item", "tolist"):
        return True  # handed out of the graph as plain numbers
    share = source.parents.get(parent) if isinstance(parent, ast.BinOp) else None
    if isinstance(share, ast.BinOp) and isinstance(share.op, ast.Add) and isinstance(inner, ast.Name):
        other = share.left if share.right is parent else share.right
        if any(n.id == inner.id for n in of(other, ast.Name)):
            return True  # `m * v + (1 - m) * v.detach()`: a part of it keeps its gradient
    if isinstance(parent, ast.BinOp) and inner is not None and not _calls_in(inner):
        other = parent.left if parent.right is node else parent.right
        names = {unparse(n) for n in of(inner, ast.Name, ast.Attribute)}
        if unparse(other) in names:
            return True  # `v = v - (v / tau).detach()`
    if inner is not None and _mixed_in(source, node, unparse(inner)):
        return True
    if isinstance(parent, ast.Call) and node in parent.args[1:]:
        return last_name(parent.func).lower().endswith("loss") or "loss" in last_name(parent.func).lower()
    joined = source.parents.get(parent) if isinstance(parent, (ast.List, ast.Tuple)) else None
    return (
        isinstance(joined, ast.Call)
        and last_name(joined.func) in ("cat", "concat", "concatenate")
        and isinstance(parent, (ast.List, ast.Tuple))
        and any(isinstance(e, (ast.Name, ast.Attribute)) for e in parent.elts)
    )


def _mixed_in(source: Script, node: ast.expr, inner: str) -> bool:
    """`m * v + (1 - m) * v.detach()`: only a part of the values is cut."""
    part: ast.AST = node
    for parent in source.above(node):
        if not isinstance(parent, ast.BinOp):
            return False
        other = parent.left if parent.right is part else parent.right
        if isinstance(parent.op, ast.Add) and inner in {unparse(n) for n in factors(other)}:
            return True
        part = parent
    return False


def _fixed_table(source: Script, node: ast.expr) -> bool:
    """The module says of its own weights that they need no gradient: what it gives has none anyway."""
    owner = source.class_around(node)
    return owner is not None and re.search(r"requires_grad(?:_\(|=| = )False", unparse(owner)) is not None


def _cuts(source: Script, objective: ast.expr) -> Iterator[tuple[ast.AST, str]]:
    """Where the values that make up the objective are cut off from the model."""
    mine = flow(source)
    uncut, cut = _walk(mine, objective)
    if "jax" in source.frameworks and "pytorch" not in source.frameworks:
        # what is differentiated is traced: only stop_gradient cuts there, all else would raise
        cut = [c for c in cut if isinstance(c[0], ast.Call) and last_name(c[0].func) == "stop_gradient"]
    roots = {_origin(mine, u) for u in uncut if isinstance(u, (ast.Name, ast.Attribute))}
    for node, inside in cut:
        if _straight_through(node) or _beside(source, node) or _meant(source, node):
            continue
        if isinstance(inside, (ast.Name, ast.Attribute)) and _origin(mine, inside) in roots:
            continue  # it takes part uncut as well
        if isinstance(inside, ast.Call) and _runs_elsewhere(mine, inside, uncut):
            continue  # one of two views is what the other is drawn to
        if _had_none(mine, inside) or _compared(mine, node) or _is_size(mine, inside):
            continue
        around = source.function_around(node)
        if around is not None and any(_without(d) for d in around.decorator_list):
            continue  # a summary that is taken beside the loss: no gradient passes here in any case
        tests = [unparse(p.test) for p in source.above(node) if isinstance(p, ast.If)]
        if any(re.search(r"(?i)ndarray|detach|froz|freez|fixed|stop_grad", t) for t in tests):
            continue  # an array comes from no model; a switch asks for it
        if _is_packed(mine, node):
            continue  # the values of a packed sequence, whole
        if _of_model(mine, inside):
            yield node, "the gradient path is cut between the model and the loss"
    for call in [u for u in uncut if isinstance(u, ast.Call)]:
        for function in mine.called(call):
            if (
                _owner(source, function) in source.modules
                and any(_without(d) for d in function.decorator_list)
                and any(_runs_model(mine, c) for c in of(function, ast.Call))
            ):
                yield function, "this part of the model runs without gradients"
        block = next(
            (p for p in source.above(call) if isinstance(p, ast.With) and _without_gradient(p)), None
        )
        if is_evaluation(source, call):
            continue  # the same loss, called by an evaluation too
        frozen = block is not None and re.search(
            r"(?i)set_training|eval|froz", " ".join(unparse(i.context_expr) for i in block.items)
        )
        if frozen:
            continue  # a part that is kept as it is says so
        if block is not None and (_runs_elsewhere(mine, call, uncut) or _runs_frozen(source, block)):
            continue
        if block is not None and _runs_model(mine, call) and not _on_purpose(unparse(block)):
            yield block, "part of the forward pass runs without gradients"


def _own_gradient(owner: ast.ClassDef | None) -> bool:
    """A class that writes its gradient itself (`bprop`, `backward`), or whose weights are set to constants.

    `self.proj.weight = Parameter(torch.ones(shape))`: a fixed sum over each patch of a mask.
    """
    if owner is None:
        return False
    if any(isinstance(s, ast.FunctionDef) and s.name in ("bprop", "backward") for s in owner.body):
        return True
    return any(
        isinstance(n.targets[0], ast.Attribute)
        and n.targets[0].attr == "weight"
        and any(last_name(c.func) == "ones" for c in of(n.value, ast.Call))
        for n in of(owner, ast.Assign)
    )


def _runs_elsewhere(mine: Flow, call: ast.Call, uncut: list[ast.expr]) -> bool:
    """The same model runs with gradients as well: what it gave without them is data, or what is aimed at."""
    functions = set(mine.called(call))
    return any(
        other is not call
        and isinstance(other, ast.Call)
        and functions & set(mine.called(other))
        and not any(isinstance(p, ast.With) and _without_gradient(p) for p in mine.source.above(other))
        for other in uncut
    )


def _had_none(mine: Flow, node: ast.expr) -> bool:
    """The value was made in a block without gradients: cutting it off once more changes nothing."""
    return any(
        isinstance(p, ast.With) and _without_gradient(p)
        for given in (mine.all_given(node) if isinstance(node, (ast.Name, ast.Attribute)) else [])
        for p in mine.source.above(given.statement)
    )


def _compared(mine: Flow, node: ast.expr) -> bool:
    """One of two that are compared, of which the other is not cut off: `similarity(p, z.detach())`."""
    parent = mine.source.parents.get(node)
    if not (isinstance(parent, ast.Call) and len(parent.args) > 1 and node in parent.args):
        return False
    similar = re.search(r"(?i)simil|loss|mse|l1|kl|dist|entropy|criterion", last_name(parent.func))
    others = [a for a in parent.args if a is not node]
    return similar is not None and any(_cut_by(a) is None and _of_model(mine, a) for a in others)


def _carried(mine: Flow, call: ast.Call) -> set[str]:
    """What a call gets back from its own last run: `out, h = model(x, h)`."""
    parent = mine.source.parents.get(call)
    if not isinstance(parent, ast.Assign):
        return set()
    return {unparse(n) for t in parent.targets for n in of(t, ast.Name, ast.Attribute)}


def _walk(mine: Flow, start: ast.expr) -> tuple[list[ast.expr], list[tuple[ast.expr, ast.expr]]]:
    """Expressions that the objective is computed from: those reached uncut, and the cuts with what they cut.

    Of a standard loss only its prediction is followed.
    """
    standard = {c for c, _ in losses(mine.source)}
    seen: set[tuple[ast.AST, Places]] = set()
    cut: list[tuple[ast.expr, ast.expr]] = []
    uncut: list[ast.expr] = []
    waiting: list[tuple[ast.expr, Places]] = [(start, ())]
    while waiting and len(seen) < MAX_VISITED:
        node, places = waiting.pop()
        if (node, places) in seen or len(places) > 4:
            continue
        seen.add((node, places))
        if (inside := _cut_by(node)) is not None:
            cut.append((node, inside))
            continue
        uncut.append(node)
        following = mine.step(node, places)
        if isinstance(node, ast.Call) and node in standard:
            given = predicted(mine.source, node)
            following = [(given, ())] if given is not None else []
        states = _carried(mine, node) if isinstance(node, ast.Call) else set()
        waiting += following or [(p, ()) for p in _parts(node) if unparse(p) not in states]
    return uncut, cut


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*owner, *node.args]
    if isinstance(node, (ast.Compare, ast.Lambda)):
        return []
    if isinstance(node, ast.Subscript):
        return [node.value]
    return [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]


def _is_size(mine: Flow, node: ast.expr, depth: int = 4) -> bool:
    """A whole number that was read off a shape, or a list of such: `b.shape[0]`, `[t, h]` of `b, t, h`."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(_is_size(mine, e, depth) for e in node.elts)
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim"):
        return True
    if isinstance(node, ast.Subscript):
        return _is_size(mine, node.value, depth)
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("len", "size", "numel", "dim", "get_shape")
    if isinstance(node, ast.BinOp):
        return _is_size(mine, node.left, depth) and _is_size(mine, node.right, depth)
    if isinstance(node, ast.Name) and depth:
        found = mine.all_given(node)
        return bool(found) and all(_is_size(mine, g.value, depth - 1) for g in found)
    # a setting of the module (`self.patch`) beside sizes
    return isinstance(node, ast.Attribute) and unparse(node.value) == "self" and depth < 4


def _cut_by(node: ast.expr) -> ast.expr | None:
    """What is cut off here: `x` of `x.detach()`, `x.data`, `torch.tensor(x)`, `stop_gradient(x)`."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return node.value
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    library = isinstance(owner, ast.Name) and owner.id in ("torch", "ops", "tf", "np", "numpy", "mindspore")
    if name in _CUTS:
        return node.args[0] if node.args and (owner is None or library) else owner
    return node.args[0] if name in _MADE_ANEW and node.args and (library or owner is None) else None


_PACKS = ("pack_padded_sequence", "pack_sequence")


def _is_packed(mine: Flow, node: ast.AST) -> bool:
    """`.data` of a PackedSequence: of what packs, or of what a recurrent layer makes of a packed one."""
    if not (isinstance(node, ast.Attribute) and node.attr == "data"):
        return False
    ends = [node.value, *mine.values(node.value, 3)]
    for call in (e for e in ends if isinstance(e, ast.Call)):
        given = [call, *(g for a in call.args[:1] for g in (a, *mine.values(a, 3)))]
        if any(isinstance(g, ast.Call) and last_name(g.func) in _PACKS for g in given):
            return True
    return False


def _origin(mine: Flow, node: ast.Name | ast.Attribute) -> tuple[str, ast.AST | None]:
    """A name with the assignment that it has its value from."""
    found = mine.given(node)
    return unparse(node), found.statement if found is not None else mine.source.function_around(node)


def _of_model(mine: Flow, node: ast.expr) -> bool:
    """The value comes out of the model."""
    while (inside := _cut_by(node)) is not None:
        node = inside
    uncut, _ = _walk(mine, node)
    return any(isinstance(u, ast.Call) and _runs_model(mine, u) for u in uncut)


def of_model(mine: Flow, node: ast.expr) -> bool:
    """A value comes out of the model, without cuts on the way."""
    return _of_model(mine, node)


def reached(mine: Flow, objective: ast.expr) -> list[ast.expr]:
    """Expressions that an objective is computed from, as far as nothing cuts the way back."""
    return _walk(mine, objective)[0]


def _runs_model(mine: Flow, call: ast.Call) -> bool:
    """A call of a module, or of a layer of one."""
    if any(_owner(mine.source, f) in mine.source.modules for f in mine.called(call)):
        return True
    around = mine.class_around(call)
    if around not in mine.source.modules or not isinstance(call.func, (ast.Attribute, ast.Subscript)):
        return False
    return unparse(call.func).startswith("self.") and mine.given(_base(call.func)) is not None


def _base(node: ast.expr) -> ast.expr:
    return _base(node.value) if isinstance(node, ast.Subscript) else node


def _owner(source: Script, function: ast.AST) -> ast.ClassDef | None:
    parent = source.parents.get(function)
    return parent if isinstance(parent, ast.ClassDef) else None


def _run(function: Function) -> Iterator[ast.AST]:
    yield from walk(function)


def _without_gradient(block: ast.With) -> bool:
    return any(_without(i.context_expr) for i in block.items)


def _without(node: ast.expr) -> bool:
    name = last_name(node.func if isinstance(node, ast.Call) else node)
    return name in ("no_grad", "inference_mode")


def _is_cut(value: ast.expr) -> bool:
    outer = outermost_call(value)
    return outer in ("detach", "numpy", "item") or (isinstance(value, ast.Attribute) and value.attr == "data")


def _straight_through(call: ast.expr) -> bool:
    """`x + (q - x).detach()` passes the gradient straight through."""
    cut = _cut_by(call)  # `tf.stop_gradient(q - x)` as well
    return isinstance(cut, ast.BinOp) and isinstance(cut.op, ast.Sub)


def _beside(source: Script, node: ast.AST) -> bool:
    """What is cut is handed back beside the output: a state for the next call, figures for the log."""
    inner: ast.AST = node
    for parent in source.above(node):
        if isinstance(parent, ast.Tuple) and isinstance(source.parents.get(parent), ast.Return):
            return bool(parent.elts) and parent.elts[0] is not inner
        if isinstance(parent, ast.stmt):
            break
        inner = parent
    return False


def _meant(source: Script, node: ast.expr) -> bool:
    """What is cut, or what alone it is kept as, has the name of a constant."""
    inside: ast.expr | None = node
    while inside is not None and (deeper := _cut_by(inside)) is not None:
        inside = deeper
    if inside is not None and _on_purpose(unparse(inside)):
        return True
    parent = source.parents.get(node)
    kept = parent.targets if isinstance(parent, ast.Assign) else []
    if isinstance(parent, ast.Tuple) and isinstance(outer := source.parents.get(parent), ast.Assign):
        # `real, fake = x, out.detach()`: its own name of several
        place = parent.elts.index(node)
        kept = [t.elts[place] for t in outer.targets if isinstance(t, ast.Tuple) and place < len(t.elts)]
    return any(_on_purpose(unparse(t)) for t in kept)


def _is_trainer(owner: ast.ClassDef | None) -> bool:
    """A class that trains a model, whose `forward` is a step of it."""
    names = [owner.name, *map(unparse, owner.bases)] if owner is not None else []
    return any(n.endswith(("Trainer", "Learner", "Engine")) for n in names)


def _copied_input(source: Script, node: ast.expr) -> bool:
    """`x.clone().detach()` of what the function is given: a copy of the data."""
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if not (isinstance(inner, ast.Call) and last_name(inner.func) == "clone"):
        return False
    of = inner.func.value if isinstance(inner.func, ast.Attribute) else None
    function = source.function_around(node)
    given = {a.arg for a in function.args.args} if function is not None else set()
    return isinstance(of, ast.Name) and of.id in given


def _on_purpose(line: str) -> bool:
    """Targets, teachers, masks and states are meant to be constants."""
    text = re.sub(r"log_?softmax|logits|logsumexp|self\.training|return ", "", line.lower())
    return bool(_CONSTANTS.search(text))


@probe()
def output_without_gradient(view: View) -> Finding:
    """The model's output, or what the loss gets, is rounded, cut to a sign or replaced by an index.

    These have a gradient of zero, or none. False positive: straight-through estimators (skipped where the
    value is added to something), outputs of functions that only predict.
    """
    return first(
        view, either(_no_slope, softmax_of_one, one_class_softmax), "the scripts hold no model or loss"
    )


_STEPS = ("round", "floor", "ceil", "sign", "trunc", "argmax", "long", "int", "heaviside", "bool")


def _no_slope(source: Script) -> Finding | None:
    known = losses(source)
    if not source.models and not known:
        return None
    if any(last_name(b) == "Function" for c in source.classes.values() for b in c.bases):
        return None  # a slope of its own may be given to what has none
    outputs = [o for m in source.models for f in source.forwards if f in m.body for o in source.output_of(f)]
    for value in outputs:
        if outermost_call(value) in _STEPS:
            return at(source, value, "the model's output has no slope, so no gradient reaches its weights")
    mine = flow(source)
    for call, _ in known:
        output = predicted(source, call)
        if is_evaluation(source, call) or output is None:
            continue
        for given in mine.values(output):
            if outermost_call(given) in _STEPS:
                return at(source, given, "what the loss gets has no slope, so no gradient reaches the model")
    node = known[0][0] if known else source.models[0]
    return ok(source, node, "the output passes its gradient on")
