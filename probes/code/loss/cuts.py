"""Where a value of a script is cut off from what it was computed from, and what reaches back to the model."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...scripts.flow import MAX_VISITED, Flow, Places, losses, predicted
from ...scripts.syntax import Script, outermost_call

# what is meant to be a constant: targets, other networks, masks, states carried on, advantages
_CONSTANTS = re.compile(
    r"target|teacher|ema|mask|weight|state|hidden|memory|momentum|key|queue|advant|\badv|return|reward|baseline|"
    r"old|ref|anchor|codebook|quant|log|metric|acc|fake|prior|scale|_max\b|\bmax_(?!pool)|amax|detach\b(?!\()"
    r"|_(?:no|without|stop|stopped|cut)_?grad(?:ient)?s?\b(?!\()|_sg\b"
)


MADE_ANEW = ("tensor", "from_numpy", "as_tensor", "Tensor", "array", "asarray")
# rows of data carry no gradient: what a loader was made of is no way back to a model
_FEEDS = re.compile(r"(?:Loader|Dataset|Subset)$|^(?:train_test_split|random_split|array_split|batch_iter)$")
_CUTS = ("detach", "stop_gradient", "numpy", "item", "detach_", "stop_grad", "asnumpy", "tolist")
# what a simulated world answers carries none either
_WORLD = re.compile(r"(?i)(?:^|[._])(?:envs?|environment|gym|sim|simulator)\.(?:step|reset)$")


def _carried(mine: Flow, call: ast.Call) -> set[str]:
    """What a call gets back from its own last run: `out, h = model(x, h)`."""
    parent = mine.source.parents.get(call)
    if not isinstance(parent, ast.Assign):
        return set()
    return {unparse(n) for t in parent.targets for n in of(t, ast.Name, ast.Attribute)}


def walked(mine: Flow, start: ast.expr) -> tuple[list[ast.expr], list[tuple[ast.expr, ast.expr]]]:
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
        if (inside := cut_by(node)) is not None:
            cut.append((node, inside))
            continue
        uncut.append(node)
        if isinstance(node, ast.Call) and (
            _FEEDS.search(last_name(node.func)) or _WORLD.search(unparse(node.func))
        ):
            continue
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
        return [*owner, *node.args, *(k.value for k in node.keywords)]
    if isinstance(node, (ast.Compare, ast.Lambda)):
        return []
    if isinstance(node, ast.Subscript):
        return [node.value]
    return [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]


def is_size(mine: Flow, node: ast.expr, depth: int = 4) -> bool:
    """A whole number that was read off a shape, or a list of such: `b.shape[0]`, `[t, h]` of `b, t, h`."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(is_size(mine, e, depth) for e in node.elts)
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim"):
        return True
    if isinstance(node, ast.Subscript):
        return is_size(mine, node.value, depth)
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("len", "size", "numel", "dim", "get_shape")
    if isinstance(node, ast.BinOp):
        return is_size(mine, node.left, depth) and is_size(mine, node.right, depth)
    if isinstance(node, ast.Name) and depth:
        found = mine.all_given(node)
        return bool(found) and all(is_size(mine, g.value, depth - 1) for g in found)
    # a setting of the module (`self.patch`) beside sizes
    return isinstance(node, ast.Attribute) and unparse(node.value) == "self" and depth < 4


def cut_by(node: ast.expr) -> ast.expr | None:
    """What is cut off here: `x` of `x.detach()`, `x.data`, `torch.tensor(x)`, `stop_gradient(x)`."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return node.value
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    owner = receiver(node)
    library = isinstance(owner, ast.Name) and owner.id in ("torch", "ops", "tf", "np", "numpy", "mindspore")
    if name in _CUTS:
        return node.args[0] if node.args and (owner is None or library) else owner
    return node.args[0] if name in MADE_ANEW and node.args and (library or owner is None) else None


_PACKS = ("pack_padded_sequence", "pack_sequence")


def is_packed(mine: Flow, node: ast.AST) -> bool:
    """`.data` of a PackedSequence: of what packs, or of what a recurrent layer makes of a packed one."""
    if not (isinstance(node, ast.Attribute) and node.attr == "data"):
        return False
    ends = [node.value, *mine.values(node.value, 3)]
    for call in (e for e in ends if isinstance(e, ast.Call)):
        given = [call, *(g for a in call.args[:1] for g in (a, *mine.values(a, 3)))]
        if any(isinstance(g, ast.Call) and last_name(g.func) in _PACKS for g in given):
            return True
    return False


def origin(mine: Flow, node: ast.Name | ast.Attribute) -> tuple[str, ast.AST | None]:
    """A name with the assignment that it has its value from."""
    found = mine.given(node)
    return unparse(node), found.statement if found is not None else mine.source.function_around(node)


def of_model(mine: Flow, node: ast.expr, depth: int = 3) -> bool:
    """A value comes out of the model, cuts on the way looked through.

    What `from_numpy` gets is an array, which comes out of a model only where something made one of a tensor.
    """
    array = False
    while (inside := cut_by(node)) is not None:
        array = isinstance(node, ast.Call) and last_name(node.func) == "from_numpy"
        node = inside
    uncut, cut = walked(mine, node)
    if array and depth:
        return any(of_model(mine, c, depth - 1) for c, _ in cut)
    return any(isinstance(u, ast.Call) and runs_model(mine, u) for u in uncut)


def reached(mine: Flow, objective: ast.expr) -> list[ast.expr]:
    """Expressions that an objective is computed from, as far as nothing cuts the way back."""
    return walked(mine, objective)[0]


def runs_model(mine: Flow, call: ast.Call) -> bool:
    """A call of a module, or of a layer of one."""
    if any(owner_class(mine.source, f) in mine.source.modules for f in mine.called(call)):
        return True
    around = mine.class_around(call)
    if around not in mine.source.modules or not isinstance(call.func, (ast.Attribute, ast.Subscript)):
        return False
    return unparse(call.func).startswith("self.") and mine.given(_base(call.func)) is not None


def _base(node: ast.expr) -> ast.expr:
    return _base(node.value) if isinstance(node, ast.Subscript) else node


def owner_class(source: Script, function: ast.AST) -> ast.ClassDef | None:
    """The class that a method stands in; None for a function."""
    parent = source.parents.get(function)
    return parent if isinstance(parent, ast.ClassDef) else None


def is_cut(value: ast.expr) -> bool:
    """A value that is cut off as it is given: `loss_fn(out.detach(), y)`."""
    outer = outermost_call(value)
    return outer in ("detach", "numpy", "item") or (isinstance(value, ast.Attribute) and value.attr == "data")


def straight_through(call: ast.expr) -> bool:
    """`x + (q - x).detach()` passes the gradient straight through."""
    cut = cut_by(call)  # `tf.stop_gradient(q - x)` as well
    return isinstance(cut, ast.BinOp) and isinstance(cut.op, ast.Sub)


def on_purpose(line: str) -> bool:
    """Targets, teachers, masks and states are meant to be constants."""
    text = re.sub(r"log_?softmax|logits|logsumexp|self\.training|return ", "", line.lower())
    return bool(_CONSTANTS.search(text))


STEPS = ("round", "floor", "ceil", "sign", "trunc", "argmax", "long", "int", "heaviside", "bool")
