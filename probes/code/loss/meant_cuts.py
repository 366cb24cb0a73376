"""Gradients that scripts cut on purpose: copies, figures, frozen parts, inputs, states for a next call."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name, receiver
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Function, Script
from ..shared.checks import is_evaluation
from ..shared.nodes import factors
from .cuts import STEPS, cut_by, of_model, on_purpose

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


def says_pretrained(source: Script, block: ast.With) -> bool:
    """The method asserts that what runs without gradients is never in training: a codec of elsewhere."""
    function = source.function_around(block)
    return function is not None and any(
        re.search(r"not [\w.]+\.training", unparse(n.test)) for n in of(function, ast.Assert)
    )


def prepares_inputs(block: ast.With) -> bool:
    """Everything that a block without gradients calls prepares the inputs."""
    calls = [unparse(c.func) for s in block.body for c in of(s, ast.Call)]
    worked = [c for c in calls if not c.rsplit(".", 1)[-1].startswith(_SHAPES)]
    return bool(worked) and all(_PREPARES.search(c) for c in worked)


def changes_in_place(block: ast.With) -> bool:
    """`torch.clamp_max_(c, 1.0)`: values are kept in range, and their gradient is left as it was."""
    return all(
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and last_name(s.value.func).endswith("_")
        for s in block.body
    )


_FIGURE = re.compile(
    r"(?i)\[['\"](?:\w*_)?(?:rmse|mae|mse|acc|loss|norm|err(?:or)?|metric|psnr|kl)(?:_\w+)?['\"]\]$"
)


def kept_to_be_told(source: Script, function: Function, node: ast.AST) -> bool:
    """What is cut off is kept as an attribute that the method itself never reads: a figure for the log."""
    statement = source.statement(node)
    if isinstance(statement, ast.Assign) and all(
        isinstance(t, ast.Subscript) and _FIGURE.search(unparse(t)) for t in statement.targets
    ):
        return True  # `more["rmse"] = shown(rmse.detach())`: a figure among figures
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Attribute):
        return True  # `self.mean += rate * (mean.detach() - self.mean)`: figures that run along
    outer = source.parents.get(node)
    if not isinstance(outer, ast.Assign) or not all(isinstance(t, ast.Attribute) for t in outer.targets):
        return False
    kept = {unparse(t) for t in outer.targets}
    return not any(isinstance(n.ctx, ast.Load) and unparse(n) in kept for n in of(function, ast.Attribute))


def goes_nowhere(source: Script, function: Function, node: ast.Call) -> bool:
    """What is cut off is written into a buffer (`s.copy_(x.detach().mean())`), or gradients are asked of it.

    Or it is put into a list that the module keeps: one that held gradients would keep every step's graph.

    A copy that takes gradients beside `autograd.grad` in the same function is a start of its own, as in
    implicit layers.
    """
    for outer in source.above(node):
        if isinstance(outer, ast.Call) and last_name(outer.func) == "requires_grad_":
            return any(last_name(n.func) == "grad" for n in of(function, ast.Call))
        if isinstance(outer, ast.stmt):
            value = outer.value if isinstance(outer, ast.Expr) else None
            written = ("copy_", "fill_", "mul_", "add_", "lerp_")
            return isinstance(value, ast.Call) and (last_name(value.func) in written or _remembers(value))
    return False


def _remembers(call: ast.Call) -> bool:
    """`self.history.append(...)`"""
    return last_name(call.func) in ("append", "appendleft", "extend", "push") and unparse(
        call.func
    ).startswith("self.")


def slope_by_inputs(source: Script, function: Function, node: ast.expr) -> bool:
    """The method makes leaves of its inputs (`x.detach().requires_grad_()`): it is derived by them.

    As energies by positions. What is cut is an argument as it came, or such a leaf that no layer gave.
    """
    leaves = [
        c
        for c in of(function, ast.Call)
        if last_name(c.func) == "requires_grad_"
        and isinstance(c.func, ast.Attribute)
        and (inside := cut_by(c.func.value)) is not None
        and isinstance(inside, ast.Name)
        and not of_model(flow(source), inside)
    ]
    if not leaves:
        return False
    inner = cut_by(node)
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    mine = {n for leaf in leaves for n in walk(leaf)}
    return node in mine or (isinstance(inner, ast.Name) and inner.id in given)


def runs_frozen(source: Script, block: ast.With) -> bool:
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
    quiet = {
        source.owner(c)
        for f in owner.body
        if isinstance(f, ast.FunctionDef) and f.name != "__init__" and not is_evaluation(source, f)
        for c in of(f, ast.Call)
        if last_name(c.func) == "eval"
    }
    return bool(called - methods) and all(
        name in quiet  # `on_train_epoch_start` puts it into evaluation mode: it is kept as it is
        or _plain_function(owner, name)
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


def keeps_to_itself(function: Function, block: ast.With) -> bool:
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


def runs_twin(function: Function, block: ast.With) -> bool:
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


_LAID_OUT = ("squeeze", "unsqueeze", "view", "reshape", "flatten", "long", "to", "t", "contiguous")
_WITH_PLACES = ("topk", "max", "min", "sort", "median")


def is_place(source: Script, node: ast.expr) -> bool:
    """`_, best = scores.topk(1)`, and `best.squeeze(-1)`: where something stands has no slope."""
    while isinstance(node, ast.Call) and last_name(node.func) in _LAID_OUT and receiver(node) is not None:
        node = receiver(node) or node
    given = flow(source).all_given(node) if isinstance(node, ast.Name) else []
    return bool(given) and all(
        isinstance(g.value, ast.Call) and last_name(g.value.func) in _WITH_PLACES and tuple(g.places) == (1,)
        for g in given
    )


_ON_THE_WAY = (*_LAID_OUT, "softmax", "log_softmax", "sigmoid", "float", "cpu", "view", "reshape")
_CHOOSES = (*STEPS, "argsort", "argmin", "multinomial", "Categorical", "eq", "gt", "ge", "lt", "le")


def is_chosen_by(source: Script, node: ast.expr) -> bool:
    """What is cut is read for a choice alone: `scores.detach().argmax(-1)`, `multinomial(p.detach(), 1)`.

    No slope passes a choice, with or without the cut.
    """
    parent = source.parents.get(node)
    call = source.parents.get(parent) if isinstance(parent, ast.Attribute) else parent
    if isinstance(parent, ast.Compare):
        return True
    if not isinstance(call, ast.Call) or not (call.func is parent or node in call.args[:1]):
        return False
    name = last_name(call.func)
    return name in _CHOOSES or (name in _ON_THE_WAY and is_chosen_by(source, call))


_COMPARES = frozenset(("ge", "gt", "le", "lt", "eq", "ne", "greater", "greater_equal", "less", "less_equal"))


def only_aims(source: Script, node: ast.expr) -> bool:
    """`p, guess = z.detach().softmax(-1).max(-1)`: the one is compared, the other is what a loss aims at."""
    statement, scope = source.statement(node), source.function_around(node) or source.tree
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
        return False
    target = statement.targets[0]
    names = {
        e.id for e in (target.elts if isinstance(target, ast.Tuple) else [target]) if isinstance(e, ast.Name)
    }
    uses = [n for n in of(scope, ast.Name) if n.id in names and isinstance(n.ctx, ast.Load)]
    aimed = [n for n in uses if _aimed_at(source, n)]
    return bool(aimed) and all(n in aimed or _compared_here(source, n) for n in uses)


def _aimed_at(source: Script, use: ast.Name) -> bool:
    """It is the second argument, or the target, of a standard loss."""
    call = next((p for p in source.above(use) if isinstance(p, ast.Call)), None)
    standard = {c for c, _ in source.losses}
    if call is None or call not in standard:
        return False
    return (len(call.args) > 1 and call.args[1] is use) or any(
        k.value is use and k.arg in ("target", "labels") for k in call.keywords
    )


def _compared_here(source: Script, use: ast.Name) -> bool:
    above = source.parents.get(use)
    method = isinstance(above, ast.Attribute) and above.attr in _COMPARES
    return method or isinstance(above, ast.Compare)


def takes_part(source: Script, node: ast.Call) -> bool:
    """What is cut has no slope anyway, is the target of a loss, or is joined to values that are not cut."""
    if is_chosen_by(source, node):
        return True
    inner = receiver(node)
    if isinstance(inner, ast.Compare) or (isinstance(inner, ast.Call) and last_name(inner.func) in STEPS):
        return True
    if inner is not None and is_place(source, inner):
        return True
    if isinstance(inner, ast.Call) and last_name(inner.func) in _MADE_UP:
        return True
    parent = source.parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.attr in ("numpy", "item", "tolist", "cpu"):
        return True  # handed out of the graph as plain numbers, or off the device to be kept
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


_PLAIN = re.compile(r"torch\.(?:zeros|ones|empty|arange|linspace|tensor|eye)\(")


def is_fixed_table(source: Script, node: ast.expr) -> bool:
    """The module says of its own weights that they need no gradient: what it gives has none anyway.

    Nor has a plain tensor that is made beside them: `self.places = torch.zeros(n, d)`.
    """
    owner = source.class_around(node)
    if owner is None:
        return False
    if re.search(r"requires_grad(?:_\(|=| = )False", unparse(owner)):
        return True
    held = receiver(node) if isinstance(node, ast.Call) else None
    while isinstance(held, ast.Subscript):
        held = held.value
    if not isinstance(held, ast.Attribute) or unparse(held.value) != "self":
        return False
    given = [n.value for n in of(owner, ast.Assign) for t in n.targets if unparse(t) == unparse(held)]
    return (
        bool(given)
        and any(_PLAIN.match(unparse(v)) for v in given)
        and "Parameter(" not in "".join(map(unparse, given))
    )


def handed_beside(source: Script, node: ast.AST) -> bool:
    """What is cut is handed back beside the output: a state for the next call, figures for the log."""
    inner: ast.AST = node
    for parent in source.above(node):
        if isinstance(parent, ast.Tuple) and isinstance(source.parents.get(parent), ast.Return):
            return bool(parent.elts) and parent.elts[0] is not inner
        if isinstance(parent, ast.stmt):
            break
        inner = parent
    return False


def made_of_other_side(source: Script, function: Function | None, node: ast.AST) -> bool:
    """`mse_loss(quantized.detach(), z)`, and what is quantized is `z`: the other side takes the gradient."""
    call = source.parents.get(node)
    if function is None or not isinstance(call, ast.Call) or len(call.args) < 2 or node not in call.args:
        return False
    if not _LOSSES.search(last_name(call.func)):
        return False
    made: dict[str, set[str]] = {}
    for given in of(function, ast.Assign):
        for target in given.targets:
            for name in names_in(target):
                made.setdefault(name, set()).update(names_in(given.value))
    mine, waiting = set(names_in(node)), list(names_in(node))
    while waiting:
        new = made.get(waiting.pop(), set()) - mine
        mine |= new
        waiting += new
    others = {n for a in call.args if a is not node for n in names_in(a)} - {"self"}
    return bool(others & (mine - set(names_in(node))))


_LOSSES = re.compile(r"(?i)loss$|^mse|^l1$|criterion|distance")


def is_meant(source: Script, node: ast.expr) -> bool:
    """What is cut, or what alone it is kept as, has the name of a constant."""
    inside: ast.expr | None = node
    while inside is not None and (deeper := cut_by(inside)) is not None:
        inside = deeper
    if inside is not None and on_purpose(unparse(inside)):
        return True
    parent = source.parents.get(node)
    kept = parent.targets if isinstance(parent, ast.Assign) else []
    if isinstance(parent, ast.Tuple) and isinstance(outer := source.parents.get(parent), ast.Assign):
        # `real, fake = x, out.detach()`: its own name of several
        place = parent.elts.index(node)
        kept = [t.elts[place] for t in outer.targets if isinstance(t, ast.Tuple) and place < len(t.elts)]
    return any(on_purpose(unparse(t)) for t in kept)


_WORTH = re.compile(
    r"(?i)^(?:self\.)?(?:(?:action|state)_?(?:q_?)?values?|q_?(?:vals?|values?)|q[s12]?|critic\w*)$"
)
_CHANCES = re.compile(r"(?i)polic(?:y|ies)|log_?prob|log_?pi|(?:^|_)pi$")


def is_worth_of_actions(source: Script, node: ast.expr, inside: ast.expr) -> bool:
    """`q_values.detach()` in a loss of a policy: the gradient goes by the chances, not by the worth."""
    function = source.function_around(node)
    if function is None or not _WORTH.search(unparse(inside)):
        return False
    return any(_CHANCES.search(a.arg) for a in of(function.args, ast.arg))


def copies_input(source: Script, node: ast.expr) -> bool:
    """`x.clone().detach()` of what the function is given: a copy of the data."""
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if not (isinstance(inner, ast.Call) and last_name(inner.func) == "clone"):
        return False
    of = receiver(inner)
    function = source.function_around(node)
    given = {a.arg for a in function.args.args} if function is not None else set()
    return isinstance(of, ast.Name) and of.id in given


def drawn_to_other(mine: Flow, node: ast.expr, inside: ast.expr) -> bool:
    """`def loss(p, z): ... z.detach() ...` of two answers of models: one is what the other is drawn to.

    Only where the other argument is cut nowhere in the function, and comes out of a model itself.
    """
    function = mine.source.function_around(node)
    names = [a.arg for a in function.args.args] if function is not None else []
    if function is None or not isinstance(inside, ast.Name) or inside.id not in names:
        return False
    cut = {unparse(c) for n in of(function, ast.Call, ast.Attribute) if (c := cut_by(n)) is not None}
    others = [n for n in of(function, ast.Name) if n.id in names and n.id not in cut and n.id != inside.id]
    return any(of_model(mine, given) for n in others for given in mine.arguments(n))
