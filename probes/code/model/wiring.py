"""How a model is wired, in scripts: what it makes and never uses, and the stream that a block replaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..optimizer.cover import layers_of
from ..shared.checks import at, first, ok
from ..shared.nodes import chosen, raises
from ..shared.sides import either
from .compact_values import compact_value_lost
from .handed_masks import mask_handed_and_unread
from .lists_gone_through import left_out_of_rounds
from .piles import pile_unread, unread_key
from .reach import layers_with_weights
from .skips_lost import skip_gathered_and_unread

NORM = re.compile(r"norm", re.IGNORECASE)
_WEIGHTS = frozenset(
    [
        "Linear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose2d",
        "Embedding",
        "LSTM",
        "GRU",
        "RNN",
        "MultiheadAttention",
        "MultiHeadAttention",
        "Parameter",
        "Dense",
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "Bilinear",
        "EmbeddingBag",
    ]
)
_AXES = re.compile(
    r"^(?:_\w*|b|bs|bsz|batch\w*|n|t|c|h|w|d|l|s|seq_?len|height|width|channels?|dims?|shape)$", re.I
)


# ---------------------------------------------------------------------------------- computed and never used


@probe()
def value_unused(view: View) -> Finding:
    """A forward method keeps a value (the shortcut, the positions) under a name that nothing reads.

    Only values that are made of the input or by a layer count; sizes unpacked from a shape do not.
    """
    return first(
        view,
        either(
            *(_value_unused, pile_unread, compact_value_lost, skip_gathered_and_unread),
            mask_handed_and_unread,
        ),
        "the scripts hold no model",
    )


def _value_unused(source: Script) -> Finding | None:
    seen = None
    for function in source.passes:
        owner = source.parents.get(function)
        if owner not in source.modules or raises(function):
            continue
        seen = seen or function
        read = _read(function)
        if read & {"locals", "vars", "eval", "exec"}:
            continue
        for node in of(function, ast.Assign):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if re.search(r"(?i)quant|observ|stub", unparse(node.value)):
                    continue  # called for what it notes
                axis = _AXES.match(name) and not unparse(node.value).startswith("self.")
                mask = re.search(r"(?i)(?:^|_)masks?(?:$|_)", name) and isinstance(node.value, ast.Call)
                if (
                    name.strip("_") == ""
                    or _stands_in(function, node)
                    or _computed_again(function, node, read)
                ):
                    continue
                if name not in read and not axis and (mask or is_made(function, node.value)):
                    return at(
                        source, node, f"the value {name} is computed in the forward pass and never used"
                    )
    return ok(source, seen, "what the forward pass computes is used") if seen is not None else None


def _read(function: Function) -> set[str]:
    """Names that are read, but for what only gives a name itself anew: `identity = self.down(identity)`."""
    own = {
        n
        for node in of(function, ast.Assign)
        if len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        for n in of(node.value, ast.Name)
        if n.id == node.targets[0].id
    }
    return {n.id for n in of(function, ast.Name) if isinstance(n.ctx, ast.Load) and n not in own}


def _computed_again(function: Function, node: ast.Assign, read: set[str]) -> bool:
    """The same is computed under another name, which is read: a second copy that nobody misses."""
    return isinstance(node.value, ast.Call) and any(
        n is not node and unparse(n.value) == unparse(node.value) and read & {unparse(t) for t in n.targets}
        for n in of(function, ast.Assign)
    )


def _stands_in(function: Function, node: ast.Assign) -> bool:
    """A left-over second name of the input (`residual = x`) where other residuals or streams are kept."""
    if not isinstance(node.value, ast.Name):
        return False
    names = {n.id if isinstance(n, ast.Name) else n.attr for n in of(function, ast.Name, ast.Attribute)}
    own = unparse(node.targets[0])
    return any(re.search(r"(?i)residual|shortcut|streams?$", n) and n != own for n in names)


def is_made(function: Function, value: ast.expr) -> bool:
    """The value is the input itself, or computed of it, or by a layer, or are positions."""
    if isinstance(value, ast.IfExp):
        return is_made(function, value.body) or is_made(function, value.orelse)
    given = {a.arg for a in function.args.args[1:]}
    if isinstance(value, ast.Name):
        return value.id in given
    if not isinstance(value, (ast.Call, ast.BinOp)):
        return False
    if isinstance(value, ast.Call):
        name = last_name(value.func)
        if name in ("arange", "range"):
            return name == "arange"
        if name in (
            "size",
            "len",
            "int",
            "float",
            "getattr",
            "get",
            "pop",
            "print",
            "get_shape",
            "type",
            "dim",
        ):
            return False
        return unparse(value.func).startswith("self.") or _about(value, given)
    return _about(value, given)


def _about(value: ast.AST, names: set[str]) -> bool:
    """The names take part as values, not by their sizes."""
    for node in of(value, ast.Attribute):
        if node.attr in ("shape", "device", "dtype", "ndim"):
            return False
    return any(n.id in names for n in of(value, ast.Name))


# --------------------------------------------------------------------------------------- made and never used


@probe()
def layer_unused(view: View) -> Finding:
    """A module makes a layer with weights that none of its methods, and nothing else, ever uses.

    Left aside: modules whose methods look attributes up by name, and those that are not in the script.
    """
    looks = either(lambda s: _unused(s, norms=False), lambda s: left_out_of_rounds(s, norms=False))
    return first(view, looks, "the scripts hold no model with layers")


@probe()
def norm_unused(view: View) -> Finding:
    """A module makes a normalisation layer that none of its methods ever uses."""
    looks = either(lambda s: _unused(s, norms=True), lambda s: left_out_of_rounds(s, norms=True))
    return first(view, looks, "the scripts hold no model with normalisation layers")


def _unused(source: Script, norms: bool) -> Finding | None:
    seen = None
    for owner in source.classes.values():
        if owner not in source.modules or not any(f in owner.body for f in source.forwards):
            continue
        if any(last_name(b) in source.classes for b in owner.bases) or _looks_up(owner):
            continue
        if all(raises(f) for f in source.forwards if f in owner.body):
            continue  # it only holds weights for others
        stacks = {n for n, v in layers_with_weights(source, owner).items() if _is_stack(v)}
        for name, made in held(owner):
            norm = (
                bool(NORM.search(last_name(made.func))) and last_name(made.func) != "Norm"
            )  # a vector's length
            weighty = last_name(made.func) in _WEIGHTS or _class_with_weights(source, made) or name in stacks
            weighty = weighty or _built_by_function(source, made)
            shortcut = _SHORTCUT.match(name) is not None
            weighty = weighty or (shortcut and last_name(made.func) in ("Sequential", "SequentialCell"))
            if norm is not norms or not (norm or weighty) or (chosen(source, made) and not shortcut):
                continue
            seen = seen or made
            # a network that gives features has a head that is left from the classifier it was
            if (
                not _HEAD.match(name)
                and not is_read(source, owner, name)
                and not _has_twin(owner, name, made)
            ):
                return at(source, made, f"the layer {name} is made and never used")
        if not norms and (left := unread_key(source, owner, _WEIGHTS)) is not None:
            return at(source, left, f"the layer {left.value!s} is made and never used")
    return ok(source, seen, "every layer that is made is used") if seen is not None else None


def _built_by_function(source: Script, made: ast.Call) -> bool:
    """`head(128, 512)` of a function of the script that gives back a stack of layers."""
    ends = [r for f in flow(source).called(made) for r in returns(f)]
    return bool(ends) and all(
        _is_stack(r) and any(last_name(c.func) in _WEIGHTS for c in of(r, ast.Call)) for r in ends
    )


# what is made under a condition all the same, and is nothing but a way round the block
_SHORTCUT = re.compile(r"^(?:short|shortcut|skip|skip_?(?:conn|connection|proj|layer)|downsample|residual)$")
_HEAD = re.compile(r"^(?:fc|head|heads|classifier|last_linear)$")


def held(owner: ast.ClassDef) -> Iterator[tuple[str, ast.Call]]:
    """Attributes of self with the call that makes each, tuples taken apart."""
    for node in of(owner, ast.Assign):
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
        ):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for one, made in pairs:
            if isinstance(one, ast.Attribute) and unparse(one.value) == "self":
                if isinstance(made, ast.IfExp) and _SHORTCUT.match(one.attr):
                    made = made.body if isinstance(made.body, ast.Call) else made.orelse
                if isinstance(made, ast.Call):
                    yield one.attr, made


def _is_stack(made: ast.expr) -> bool:
    return isinstance(made, ast.Call) and last_name(made.func) in ("Sequential", "SequentialCell")


def _class_with_weights(source: Script, made: ast.Call) -> bool:
    owner = source.classes.get(last_name(made.func))
    if owner is None:
        return False
    stack = any(last_name(b).startswith("Sequential") for b in owner.bases)
    if owner not in source.modules and not stack:
        return False
    above = [c for c in of(owner, ast.Call) if unparse(c.func) == "super().__init__"]  # a stack of layers
    handed = [a for c in above for a in of(c, ast.Call)]
    return any(last_name(c.func) in _WEIGHTS for c in (*layers_of(owner).values(), *handed))


def _looks_up(owner: ast.ClassDef) -> bool:
    words = ("getattr", "children", "modules", "__dict__", "named_children", "_modules", "vars")
    inside = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name != "__init__"]
    return any(
        (isinstance(n, ast.Name) and n.id in words) or (isinstance(n, ast.Attribute) and n.attr in words)
        for f in inside
        for n in walk(f)
    )


def is_read(source: Script, owner: ast.ClassDef, name: str) -> bool:
    """The attribute is read anywhere but in what only prepares it (its weights set, a tie)."""
    for node in source.mentions.get(name, ()):
        if isinstance(node, ast.Constant):
            if _looked_up(source, node):
                return True
            continue
        if not isinstance(node.ctx, ast.Load):
            continue
        function = source.function_around(node)
        parent = source.parents.get(node)
        around = source.class_around(node)
        if around is not None and around is not owner and unparse(node.value) == "self":
            continue  # the attribute of another class
        prepares = function is not None and function.name.lower().startswith(
            ("__init__", "_init", "init", "reset")
        )
        if prepares and isinstance(parent, (ast.Attribute, ast.Call)):
            weight = isinstance(parent, ast.Attribute) and parent.attr in ("weight", "bias", "data")
            if weight or (isinstance(parent, ast.Call) and last_name(parent.func).endswith("_")):
                continue
        return True
    return False


def _has_twin(owner: ast.ClassDef, name: str, made: ast.Call) -> bool:
    """A layer made alike is called twice: it stands in the place of this one."""
    for other, call in held(owner):
        if other != name and unparse(call) == unparse(made):
            uses = [n for n in of(owner, ast.Call) if unparse(n.func) == f"self.{other}"]
            if len(uses) > 1:
                return True
    return False


def _looked_up(source: Script, node: ast.Constant) -> bool:
    """The text may name an attribute: in `getattr(net, "head")`, or in a list where `getattr` takes one."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Call):
        name = last_name(parent.func)
        if re.search(r"attr|get_submodule|get_parameter|module", name):
            return True
        if name not in ("append", "extend", "update", "set", "list", "tuple"):
            return False
    by_name = [
        c for c in source.named("getattr", "attrgetter", "get_submodule") if len(c.args) > 1 or not c.args
    ]
    return isinstance(parent, (ast.List, ast.Tuple, ast.Set, ast.Assign)) and any(
        not isinstance(c.args[1], ast.Constant) for c in by_name if len(c.args) > 1
    )


# ------------------------------------------------------------------------------------- the residual stream


@probe()
def stream_replaced(view: View) -> Finding:
    """A block adds one of its branches to the stream, and puts another one, of its kind, in its place.

    `x = x + attn(norm1(x))`, then `x = mlp(norm2(x))`: the input is lost. A branch counts where it starts
    from a normalised stream and the block hands the stream on as it is.
    """
    return first(view, _replaced, "the scripts hold no block that adds its branches to a stream")


def _replaced(source: Script) -> Finding | None:
    seen = None
    for function in source.passes:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef):
            continue
        norms = {n for n, made in held(owner) if NORM.search(last_name(made.func))}
        if (lost := _left_behind_norm(function, norms)) is not None:
            return at(
                source, lost, "the norm gets this branch alone, where the others are added to the stream"
            )
        for stream in streams_of(function):
            seen = seen or function
            returned = [n for n in function.body if isinstance(n, ast.Return)]
            last = returned[-1].value if returned else None
            if not _hands_on(last, stream):
                many = stacked(source, owner) or any(source.loops_around(c) for c in source.named(owner.name))
                if last is not None and many and _ends_without(function, last, stream, norms):
                    why = f"the last branch is given back without {stream}, to which another is added"
                    return at(source, returned[-1], why)
                continue
            for node in function.body:
                if isinstance(node, ast.Assign) and _replaces(node, stream, norms):
                    return at(
                        source, node, f"this branch takes the place of {stream}, where another is added to it"
                    )
    return ok(source, seen, "each branch is added to the stream") if seen is not None else None


def stacked(source: Script, owner: ast.ClassDef) -> bool:
    """Instances are made in a loop, a comprehension or a repeated list."""
    for call in source.named(owner.name):
        for parent in source.above(call):
            if isinstance(parent, (ast.ListComp, ast.GeneratorExp, ast.For)):
                return True
            if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult):
                return True
            if isinstance(parent, ast.stmt):
                break
    return False


def _ends_without(function: Function, last: ast.expr, stream: str, norms: set[str]) -> bool:
    """`x = x + f(norm1(x))`, and at the end `return g(norm2(x))`, also by a name: the stream is lost."""
    if isinstance(last, ast.Call) and len(last.args) and isinstance(last.args[0], ast.Name):
        made = [
            n for n in function.body if isinstance(n, ast.Assign) and unparse(n.targets[0]) == last.args[0].id
        ]
        if last.args[0].id != stream and made:
            last = made[-1].value
    node = ast.copy_location(ast.Assign([ast.Name(stream, ast.Store())], last), last)
    return _replaces(node, stream, norms)


def _left_behind_norm(function: Function, norms: set[str]) -> ast.stmt | None:
    """`x = self.n1(x + f(x))`, and then `return self.n2(g(x))`: a norm after each sum, and once no sum."""
    sums: list[ast.stmt] = []
    bare: list[ast.stmt] = []
    for node in function.body:
        value = node.value if isinstance(node, (ast.Assign, ast.Return)) else None
        if not isinstance(value, ast.Call) or last_name(value.func) not in norms or len(value.args) != 1:
            continue
        inner, own = value.args[0], unparse(value.func).startswith("self.")
        if isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name):
            continue
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add) and own:
            sides = [s for s in (inner.left, inner.right) if isinstance(s, ast.Name)]
            runs = [s for s in (inner.left, inner.right) if isinstance(s, ast.Call)]
            if len(sides) == len(runs) == 1 and _runs_self(runs[0], sides[0].id):
                sums.append(node)
        elif isinstance(inner, ast.Call) and own and unparse(inner.func).startswith("self."):
            if not any(isinstance(n.op, ast.Add) for n in of(inner, ast.BinOp)):
                bare.append(node)
    return bare[0] if sums and len(bare) == 1 and bare[0].lineno > sums[0].lineno else None


def streams_of(function: Function) -> list[str]:
    """Names that a branch of themselves is added to: `x = x + f(x)`, `x += f(x)`, `return x + f(x)`."""
    found = []
    for node in walk(function):
        if (
            isinstance(node, ast.AugAssign)
            and isinstance(node.op, ast.Add)
            and isinstance(node.target, ast.Name)
        ):
            if isinstance(node.value, ast.Call) and _runs_self(node.value, node.target.id):
                found.append(node.target.id)
        elif isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.BinOp):
            sides = (node.value.left, node.value.right)
            names = [s.id for s in sides if isinstance(s, ast.Name)]
            target = node.targets[0] if isinstance(node, ast.Assign) else ast.Name(names[0] if names else "")
            if isinstance(target, ast.Name) and isinstance(node.value.op, ast.Add):
                branch = any(_is_branch(function, s, target.id) for s in sides)
                if target.id in names and branch:
                    found.append(target.id)
    return list(dict.fromkeys(found))


def _is_branch(function: Function, side: ast.expr, stream: str) -> bool:
    """`f(norm(x))`, or of what is made of the stream above: `h = f(norm(x))`, then `x + drop(h)`."""
    if not isinstance(side, ast.Call):
        return False
    names = names_in(side)
    if stream in names or not _asks_layer(side):
        return _runs_self(side, stream)
    above = [n for n in function.body if isinstance(n, ast.Assign) and n.lineno < side.lineno]
    for node in reversed(above):
        made = {n.id for t in node.targets for n in of(t, ast.Name)}
        if made & names and stream not in made:
            names |= names_in(node.value)
            if stream in names and any(_asks_layer(c) for c in of(node.value, ast.Call)):
                return True
    return False


def _runs_self(call: ast.Call, name: str) -> bool:
    of_self = any(_asks_layer(n) for n in of(call, ast.Call))
    return of_self and any(n.id == name for n in of(call, ast.Name))


def _asks_layer(call: ast.Call) -> bool:
    """`self.mlp(x)`, or `Mlp(8)(x)` of a layer that is made where it is asked."""
    return _is_made_here(call) or unparse(call.func).startswith("self.")


def _is_made_here(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Call) and last_name(call.func.func)[:1].isupper()


def _layer_asked(call: ast.Call) -> ast.expr:
    return call.func.func if isinstance(call.func, ast.Call) else call.func


def _hands_on(value: ast.expr | None, stream: str) -> bool:
    if isinstance(value, ast.Tuple) and value.elts:
        value = value.elts[0]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return any(_hands_on(side, stream) for side in (value.left, value.right))
    return isinstance(value, ast.Name) and value.id == stream


def _replaces(node: ast.Assign, stream: str, norms: set[str]) -> bool:
    """`x = self.drop(self.mlp(self.norm(x)))`: a branch of the normalised stream that keeps none of it."""
    value = node.value
    if isinstance(value, ast.Subscript) and unparse(value.slice) == "0":
        value = value.value  # `self.attend(q, k, k)[0]`: the answer beside the weights
    if unparse(node.targets[0]) != stream or not isinstance(value, ast.Call):
        return False
    calls = [n for n in of(value, ast.Call) if _asks_layer(n)]
    names = [last_name(_layer_asked(c)) for c in calls]
    normal = [
        c
        for c in calls
        if last_name(c.func) in norms or (_is_made_here(c) and NORM.search(last_name(_layer_asked(c))))
    ]
    inner = [c for c in normal if c.args and isinstance(c.args[0], ast.Name) and c.args[0].id == stream]
    kept = any(isinstance(n.op, ast.Add) for n in of(value, ast.BinOp))
    ends = any(re.search(r"head|final|proj|pool|out|logit|embed|lm_", n) for n in names)
    rest = {n.id for a in value.args[1:] for n in of(a, ast.Name)}
    return bool(inner) and len(calls) > 1 and not kept and not ends and stream not in rest


# ------------------------------------------------------------------------------ blocks without normalisation
