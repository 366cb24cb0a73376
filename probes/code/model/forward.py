"""Values that go astray in a forward pass, in scripts: thrown away, overwritten, not known to train."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_true
from .wiring import held

_LAYER = re.compile(
    r"^(?:Linear|Dense|Conv\w*|Embedding|Sequential|SequentialCell|\w*(?:Norm|Normalization)(?:[123]d)?|Dropout\w*"
    r"|ReLU6?|GELU|SiLU|ELU|SELU|LeakyReLU|Tanh|Sigmoid|Softmax|MultiheadAttention|MultiHeadAttention)$"
)
_PURE = re.compile(
    r"^(?:relu|gelu|silu|tanh|sigmoid|softmax|log_softmax|elu|leaky_relu|softplus|dropout|layer_norm|normalize"
    r"|masked_fill|transpose|permute|unsqueeze|squeeze|flatten)$"
)
_OF_TENSORS = frozenset(["masked_fill", "transpose", "permute", "unsqueeze", "squeeze", "softmax", "clamp"])
_LIBRARIES = ("F", "torch", "ops", "tf.nn", "mint", "nn.functional", "torch.nn.functional", "functional")


@probe()
def result_thrown_away(view: View) -> Finding:
    """A forward pass runs a layer, a pure function or a sum, and leaves what it gives.

    `self.norm(x)` where `x = self.norm(x)` was meant, `x + self.positions` on a line of its own. Left aside:
    what works in place, unknown modules.
    """
    return first(view, _thrown, "the scripts hold no model")


def _thrown(source: Script) -> Finding | None:
    seen = None
    for owner, function in _passes(source):
        seen = seen or function
        made = dict(held(owner))
        for node in walk(function):
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and _gives_only(source, function, made, call):
                return at(source, call, "what this call gives is thrown away: the value goes on as it was")
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.BinOp):
                return at(source, node, "what is computed here is thrown away: the value goes on as it was")
    return ok(source, seen, "what layers give is taken") if seen is not None else None


def _passes(source: Script) -> Iterator[tuple[ast.ClassDef, Function]]:
    for function in source.passes:
        owner = source.parents.get(function)
        if isinstance(owner, ast.ClassDef) and owner in source.modules:
            yield owner, function


def _gives_only(source: Script, function: Function, made: dict[str, ast.Call], call: ast.Call) -> bool:
    """The call has no effect but its value."""
    values = {n.id for a in call.args for n in of(a, ast.Name)}
    if (
        _in_place(call)
        or not isinstance(call.func, ast.Attribute)
        or source.function_around(call) is not function
    ):
        return False
    owner, name = unparse(call.func.value), call.func.attr
    if owner == "self":
        kind = made.get(name)
        return kind is not None and bool(values) and _layer(kind) and not _in_place(kind)
    if owner in _LIBRARIES:
        return bool(values) and _PURE.match(name) is not None
    # a method of a tensor that the forward pass was given, or made, or of what it holds (`attn.data`)
    base = call.func.value
    if isinstance(base, ast.Attribute) and base.attr == "data":
        base = base.value
    return isinstance(base, ast.Name) and name in _OF_TENSORS


def _layer(made: ast.Call) -> bool:
    whole = unparse(made.func)
    library = whole.startswith(("nn.", "torch.nn.", "layers.", "keras.", "tf.", "mint.nn."))
    if not library or _LAYER.match(last_name(made.func)) is None:
        return False
    if not last_name(made.func).startswith("Sequential"):
        return True
    return bool(made.args) and all(isinstance(a, ast.Call) and _layer(a) for a in made.args)


def _in_place(call: ast.Call) -> bool:
    """In-place: `inplace=True` of the call, or of anything that a Sequential holds."""
    return "inplace=True" in unparse(call) or keyword(call, "out") is not None


# ------------------------------------------------------------------------------------------ only the last one


@probe()
def only_last_layer(view: View) -> Finding:
    """Each layer of a list gets the same input, and each one's output takes the place of the one before.

    `for layer in self.layers: h = layer(x)`: all but the last layer compute for nothing.
    """
    return first(view, _only_last, "the scripts hold no model that runs through a list of layers")


def _only_last(source: Script) -> Finding | None:
    seen = None
    for _, function in _passes(source):
        for loop in of(function, ast.For):
            if not _over_layers(loop):
                continue
            seen = seen or loop
            each = names_in(loop.target)
            run = loop.body[0] if len(loop.body) == 1 else None
            if not isinstance(run, ast.Assign) or not isinstance(run.value, ast.Call):
                continue
            target = run.targets[0]
            names = names_in(run.value)
            layer = isinstance(run.value.func, ast.Name) and run.value.func.id in each
            if isinstance(target, ast.Name) and layer and target.id not in names:
                given = {n.id for a in run.value.args for n in of(a, ast.Name)}
                if given and not given & each:
                    return at(
                        source, run, "each layer gets the same input, and only the last one's output is kept"
                    )
    return ok(source, seen, "what one layer gives goes into the next") if seen is not None else None


def _over_layers(loop: ast.For) -> bool:
    over = loop.iter
    if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
        over = over.args[0]
    if isinstance(over, ast.Subscript) and isinstance(over.slice, ast.Slice):
        over = over.value  # `self.blocks[:2]`
    return isinstance(over, ast.Attribute) and unparse(over.value) == "self"


# --------------------------------------------------------------------------------- tensors that should train

_DRAWN = ("randn", "rand", "normal", "empty")
_FIXED = re.compile(
    r"(?i)noise|fixed|random|frozen|basis|freq|proj|buffer|mask|target|const|hash|cache|grid|anchor"
)


@probe()
def tensor_not_registered(view: View) -> Finding:
    """A module keeps a tensor that asks for gradients, or is drawn and worked with, and is no parameter.

    `self.scale = torch.ones(n, requires_grad=True)`, `self.pos = torch.randn(...)` that the forward pass
    adds: no optimizer gets it from `parameters()`. Left aside: what is read from outside of the class (it may
    be handed to the optimizer by name), and fixed noise, bases and projections by their names.
    """
    return first(view, _plain, "the scripts hold no module of PyTorch")


def _plain(source: Script) -> Finding | None:
    seen = None
    for owner, function in _passes(source):
        bases = " ".join(unparse(b) for b in owner.bases)
        if "mindspore" in source.frameworks and re.search(r"Cell\b", bases):
            seen = seen or function
            if (drawn_cell := _drawn_in_cell(source, owner, function)) is not None:
                return drawn_cell
            continue
        if "torch" not in source.text or not re.search(r"Module\b", bases):
            continue
        seen = seen or function
        for name, made in _tensors(owner):
            asks = keyword(made, "requires_grad")
            gradient = is_true(asks)
            drawn = last_name(made.func) in _DRAWN and not _FIXED.search(name)
            if not unparse(made.func).startswith("torch.") or last_name(made.func) == "Parameter":
                continue
            used = _added(function, name) or _put_before(owner, name)
            if (gradient or (drawn and used)) and not _leaves(source, owner, name):
                return at(source, made, f"{name} is a plain tensor, no parameter: no optimizer gets it")
    return ok(source, seen, "what should train is registered") if seen is not None else None


_INITIALISED = re.compile(r"\binitializer\(|\brandn\(|StandardNormal|random\.(?:randn|normal|uniform)\(")


def _drawn_in_cell(source: Script, owner: ast.ClassDef, function: Function) -> Finding | None:
    """`self.query = initializer(Normal(0.02), shape).init_data()` in a cell, without Parameter."""
    for name, made in _tensors(owner):
        text = unparse(made)
        if "Parameter" in text or not _INITIALISED.search(text) or _FIXED.search(name):
            continue
        if any(
            last_name(c.func)[:1].isupper() and last_name(c.func) not in _MAKES for c in of(made, ast.Call)
        ):
            continue  # a layer that takes its initial weights so
        used = _added(function, name) or any(
            unparse(a) == f"self.{name}"
            for c in of(function, ast.Call)
            if last_name(c.func) in ("matmul", "dot", "bmm", "mm", "einsum", "tensordot")
            for a in c.args
        )
        if used and not _leaves(source, owner, name):
            return at(source, made, f"{name} is a plain tensor, no parameter: no optimizer gets it")
    for name, made in _tensors(owner):
        constant = re.fullmatch(
            r"(?:ops|mnp|mindspore|ms|mint)\.(?:ops\.)?(?:ones|zeros)", unparse(made.func)
        )
        if constant and _LEARNT.match(name) and _added(function, name) and not _leaves(source, owner, name):
            return at(source, made, f"{name} is a plain tensor, no parameter: no optimizer gets it")
    return None


_LEARNT = re.compile(r"^(?:gamma|beta|weight|bias|gain|layer_scale)$")
_MAKES = (
    *("Tensor", "Normal", "Uniform", "TruncatedNormal", "XavierUniform", "XavierNormal", "HeNormal"),
    *("HeUniform", "StandardNormal"),
)


def _tensors(owner: ast.ClassDef) -> Iterator[tuple[str, ast.Call]]:
    """Attributes of self with the call that makes each, also of `torch.randn(n) * 0.02`."""
    yield from held(owner)
    for node in of(owner, ast.Assign):
        if isinstance(node.value, ast.BinOp):
            target, sides = node.targets[0], (node.value.left, node.value.right)
            drawn = [s for s in sides if isinstance(s, ast.Call)]
            if isinstance(target, ast.Attribute) and unparse(target.value) == "self" and len(drawn) == 1:
                yield target.attr, drawn[0]


def _added(function: Function, name: str) -> bool:
    """The forward pass adds the tensor to values, or multiplies them with it, element by element."""
    for node in of(function, ast.BinOp):
        if isinstance(node.op, (ast.Add, ast.Mult)):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                inner: ast.expr = side
                while isinstance(inner, (ast.Subscript, ast.Call)):
                    inner = inner.value if isinstance(inner, ast.Subscript) else inner.func
                    if isinstance(inner, ast.Attribute) and isinstance(side, ast.Call) and inner.attr != name:
                        inner = inner.value
                if unparse(inner) == f"self.{name}" and not isinstance(other, ast.Constant):
                    return True
    return False


_TOKEN = re.compile(
    r"(?i)(?:^|_)(?:cls|root|mask|class|query|queries|prompt|token|pos|latents?)(?:_|$)|embed"
)


def _put_before(owner: ast.ClassDef, name: str) -> bool:
    """`self.root_embedding.expand(n, 1, d)`: one vector for all samples, joined to what they hold."""
    return _TOKEN.search(name) is not None and any(
        unparse(c.func) in (f"self.{name}.expand", f"self.{name}.repeat", f"self.{name}.expand_as")
        for c in of(owner, ast.Call)
    )


def _leaves(source: Script, owner: ast.ClassDef, name: str) -> bool:
    """The attribute is registered after all, set anew, or read outside of its class."""
    inside = set(walk(owner))
    stores = 0
    for node in source.mentions.get(name, ()):
        if isinstance(node, ast.Constant) and _asked_in_names(source, node):
            continue
        if node not in inside:
            return True
        if isinstance(node, ast.Constant):
            return True
        stores += isinstance(node.ctx, ast.Store)
    return stores > 1


def _asked_in_names(source: Script, node: ast.AST) -> bool:
    """`p.name.endswith(("pos_embed", "bias"))`, `"pos_embed" in p.name`: a name is looked through."""
    for parent in source.above(node):
        if isinstance(parent, ast.Call):
            return last_name(parent.func) in ("endswith", "startswith") and "name" in unparse(parent.func)
        if isinstance(parent, ast.Compare):
            return "name" in unparse(parent.comparators[-1])
        if not isinstance(parent, (ast.Tuple, ast.List)):
            return False
    return False


# ---------------------------------------------------------------------------------------- a scale left behind


@probe()
def scale_unused(view: View) -> Finding:
    """A module works out a root of a width, as the scale of its attention, and never reads it."""
    return first(view, _left_behind, "the scripts work out no scale of attention")


_FUSED = re.compile(r"(?i)flash|scaled_dot_product|sdpa|memory_efficient|xformers")


def _left_behind(source: Script) -> Finding | None:
    seen = None
    for owner, function in _passes(source):
        text = unparse(owner)
        if not re.search(r"softmax|attn|attention", text, re.IGNORECASE):
            continue
        for node in of(owner, ast.Assign):
            target = node.targets[0]
            if not (isinstance(target, ast.Attribute) and unparse(target.value) == "self"):
                continue
            root = re.search(r"\*\* ?\(?-0\.5|r?sqrt\(|\*\* ?0\.5", unparse(node.value))
            if root is None or "scal" not in target.attr.lower():
                continue
            seen = seen or node
            reads = [
                n
                for n in source.mentions.get(target.attr, ())
                if isinstance(n, ast.Constant) or isinstance(n.ctx, ast.Load)
            ]
            others = [
                n
                for n in reads
                if isinstance(n, ast.Constant)
                or unparse(n.value) != "self"
                or source.class_around(n) is owner
            ]
            heirs = any(last_name(b) == owner.name for c in source.classes.values() for b in c.bases)
            given = {a.arg for f in of(owner, ast.FunctionDef) for a in f.args.args}
            fused = any(_FUSED.search(last_name(c.func)) for c in of(owner, ast.Call))  # scale by themselves
            if not others and not heirs and not fused and target.attr not in given:
                return at(
                    source, function, f"the scale {target.attr} is worked out and never used on the scores"
                )
    return ok(source, seen, "the scale of attention is used") if seen is not None else None
