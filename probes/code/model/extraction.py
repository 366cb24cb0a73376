"""Trained features that stay as they are, on purpose, under something new that is trained."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import all_arguments, keyword, last_name
from ...scripts.flow import flow
from ...scripts.syntax import Script
from .drawn_again import root_of
from .pretrained import own_weights

_PARAMETERS = ("parameters", "named_parameters", "modules", "named_modules", "children", "named_children")
_HEADED = re.compile(r"For\w*(?:Classification|QuestionAnswering|MultipleChoice)\b")
_HEAD = re.compile(r"(?i)classifier|head|score|qa_outputs|\bfc\d?\b|\bcls\b|out_proj|pooler")
_TRAINED = re.compile(
    r"(?:from_pretrained|from_preset|load_model|hub\.load|hub\.KerasLayer|load_state_dict)$"
)


def extracts_features(source: Script, node: ast.AST, owner: ast.expr) -> bool:
    """Say whether what is frozen at `node` was trained before, and something beside it is trained.

    It is a part of a pretrained model that is chosen by name, or a pretrained model that gets a new layer or
    stands beside others; or another module's parameters alone go to the optimizer that is built afterwards.
    """
    held, chosen = _model(source, node, owner)
    if held is None:
        return False
    if _another_is_trained(source, node, held):
        return True
    name = unparse(held)
    if _is_body(source, held):
        return True
    if not _part_is_pretrained(source, held):
        return False
    return chosen or "." in name or _gets_layer(source, node, name) or _lies_under(source, node, name)


_LOWER = re.compile(
    r"(?:embeddings|embed_tokens|word_embeddings|wte|wpe|patch_embed|stem|conv1|bn1|layer1|feature_extractor)$"
)


def keeps_lower_layers(source: Script, node: ast.AST, owner: ast.expr, value: ast.expr) -> bool:
    """Say whether what is frozen at `node` is the lower end of a pretrained model, and the rest trains.

    Its embeddings or stem, the first layers of a list (`base.layers[:-20]`), or all but the names of its last
    block and its head (`requires_grad = name.startswith(("layer4", "fc"))`).
    """
    held, _ = _model(source, node, owner)
    if held is None or not _part_is_pretrained(source, held):
        return False
    if _LOWER.search(unparse(held)):
        return True
    loops = [p for p in source.above(node) if isinstance(p, ast.For)]
    if loops and isinstance(loops[0].iter, ast.Subscript) and isinstance(loops[0].iter.slice, ast.Slice):
        return loops[0].iter.slice.lower is None
    if not isinstance(value, ast.Call) or last_name(value.func) != "startswith" or not value.args:
        return False
    kept = value.args[0]
    names = [e.value for e in kept.elts if isinstance(e, ast.Constant)] if isinstance(kept, ast.Tuple) else []
    return len(names) > 1 and any(_HEAD.search(str(n)) for n in names)


def _part_is_pretrained(source: Script, held: ast.expr) -> bool:
    """A module that was made with weights, or a part of one that is not its head."""
    part: ast.expr = held
    while True:
        if _is_pretrained(source, part):
            return True
        if not isinstance(part, ast.Attribute) or _HEAD.search(part.attr):
            return False
        part = part.value
        if unparse(part) in ("self", "cls"):
            return False


def _model(source: Script, node: ast.AST, owner: ast.expr) -> tuple[ast.expr | None, bool]:
    """The module whose parameters are frozen; whether only some of them are, chosen by a test in the loop."""
    chosen = False
    for parent in source.above(node):
        if isinstance(parent, ast.If):
            chosen = True
        elif isinstance(parent, ast.For):
            over = parent.iter
            bound = names_in(parent.target)
            if isinstance(owner, ast.Name) and owner.id in bound:
                owner = over
            break
        elif isinstance(parent, (ast.FunctionDef, ast.ClassDef)):
            break
    while True:
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
            owner = owner.func.value
        elif isinstance(owner, ast.Call) and last_name(owner.func) in ("list", "tuple") and owner.args:
            owner = owner.args[0]
        elif isinstance(owner, ast.Subscript):
            owner, chosen = owner.value, True
        else:
            break
    return (owner, chosen) if isinstance(owner, (ast.Name, ast.Attribute)) else (None, chosen)


def _is_body(source: Script, held: ast.expr) -> bool:
    """A part, that is no head, of a model of transformers that comes with a head of its own.

    `model.distilbert` of `AutoModelForSequenceClassification.from_pretrained(...)`.
    """
    if not isinstance(held, ast.Attribute) or _HEAD.search(unparse(held)):
        return False
    root: ast.expr = held
    while isinstance(root, ast.Attribute):
        root = root.value
    return any(
        last_name(call.func) == "from_pretrained" and _HEADED.search(unparse(call.func))
        for value in flow(source).values(root, 6)
        for call in of(value, ast.Call)
    )


def _is_pretrained(source: Script, held: ast.expr, depth: int = 2) -> bool:
    """It was made with weights, in the script: `resnet50(weights="DEFAULT")`, `from_pretrained(...)`.

    Or cut out of such a one: `Model(inputs=base.input, outputs=base.layers[-2].output)`.
    """
    for value in [held, *flow(source).values(held, 4), *_of_class(source, held)]:
        for call in of(value, ast.Call):
            if depth and last_name(call.func) == "Model":
                parts = [n for a in all_arguments(call) for n in of(a, ast.Attribute) if n.attr in _ENDS]
                if any(_is_pretrained(source, root, depth - 1) for root in map(root_of, parts)):
                    return True
            if _TRAINED.search(unparse(call.func)):
                return True
            for name in ("weights", "pretrained", "weights_backbone"):
                given = keyword(call, name)
                if given is not None and not (isinstance(given, ast.Constant) and not given.value):
                    return True
            if "applications" in unparse(call.func) and keyword(call, "weights") is None:
                return True
    text = unparse(held)
    filled = [source.owner(c) for c in source.named("copy_")]
    filled += [
        unparse(t)
        for n in source.of(ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Attribute) and t.attr in ("data", "weight")
    ]
    if any(re.fullmatch(rf"{re.escape(text)}(?:\.weight)?(?:\.data)?", f) for f in filled):
        return True  # rows that were trained elsewhere are written into a table
    moved = [
        unparse(t)
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Attribute)
        for t in n.targets
        if isinstance(t, ast.Attribute)
    ]
    if any(f"{text}.".startswith(f"{g}.") for g in moved):
        return True  # `net.encoder = masked.encoder`, which was trained before
    # a table of an encoder whose weights are loaded: `net.encoder.tok`, `net.encoder.load_state_dict`
    calls = source.named("load_state_dict", "set_state_dict")
    into = [source.owner(c) for c in calls if not own_weights(source, c)]
    # MindSpore names the net first: `load_param_into_net(net, load_checkpoint("imagenet.ckpt"))`
    nets = [c for c in source.named("load_param_into_net") if len(c.args) > 1]
    into += [unparse(c.args[0]) for c in nets if not own_weights(source, c, 1)]
    return any(f"{text}.".startswith(f"{owner}.") for owner in into if owner)


_ENDS = ("input", "inputs", "output", "outputs")  # of a model of Keras


def _of_class(source: Script, held: ast.expr) -> list[ast.expr]:
    """What the class of `net` makes its attribute of: `net.eye` of `self.eye = resnet18(...)`."""
    if not isinstance(held, ast.Attribute) or (owner := flow(source).made(held.value)) is None:
        return []
    made = source.attribute(owner, held.attr)
    return [made] if made is not None else []


def _lies_under(source: Script, node: ast.AST, name: str) -> bool:
    """A model is put together on top of it: `Dense(5)(base(x))`, `Sequential(base, Linear(512, 5))`.

    Or of what it takes to what a new layer makes of its output: `Model(inputs=base.input, outputs=x)`.
    """
    function = source.function_around(node)
    calls = of(function or source.tree, ast.Call)
    new = [c for c in calls if last_name(c.func) in ("Dense", "Linear", "Sequential", "Model")]
    used = any(
        unparse(c.func) == name or any(unparse(n) == name for a in all_arguments(c) for n in walk(a))
        for c in calls
        if unparse(c.func) == name or last_name(c.func) in ("Sequential", "Model")
    )
    return bool(new) and used and any(c.lineno > getattr(node, "lineno", 0) for c in new)


def _gets_layer(source: Script, node: ast.AST, name: str) -> bool:
    """A new layer is put into it further down: `net.fc = nn.Linear(...)`."""
    return any(
        isinstance(n.value, ast.Call)
        and n.lineno > getattr(node, "lineno", 0)
        and source.function_around(n) is source.function_around(node)
        and any(unparse(t).startswith(f"{name}.") for t in n.targets)
        for n in source.of(ast.Assign)
    )


def _another_is_trained(source: Script, node: ast.AST, held: ast.expr) -> bool:
    """Every optimizer built after it in the same function gets the parameters of other modules by name."""
    function, name = source.function_around(node), unparse(held)
    after = [
        c
        for c in source.optimizer_calls
        if source.function_around(c) is function and c.lineno > getattr(node, "lineno", 0) and c.args
    ]
    owners: list[ast.expr] = []
    for call in after:
        given = call.args[0]
        if not (isinstance(given, ast.Call) and last_name(given.func) in _PARAMETERS):
            return False
        if isinstance(given.func, ast.Attribute):
            owners.append(given.func.value)
    parts = _parts(source, node, held)
    return bool(owners) and not any(_holds(source, o, p) for o in owners for p in (name, *parts))


def _parts(source: Script, node: ast.AST, held: ast.expr) -> list[str]:
    """What a loop variable stands for: `for part in (net.stem, net.body):`."""
    if not isinstance(held, ast.Name):
        return []
    return [
        unparse(e)
        for p in source.above(node)
        if isinstance(p, ast.For)
        and held.id in names_in(p.target)
        and isinstance(p.iter, (ast.Tuple, ast.List))
        for e in p.iter.elts
    ]


_SAME_MODULE = ("to", "cuda", "npu", "train", "eval", "float", "half", "bfloat16")


def _holds(source: Script, owner: ast.expr, name: str, depth: int = 3) -> bool:
    """A module is, is within or holds another one: by its path, or by what it was wrapped around."""
    text = unparse(owner)
    if text == name or text.startswith(f"{name}.") or name.startswith(f"{text}."):
        return True
    found = flow(source).given(owner) if depth else None
    if found is None or not isinstance(found.value, ast.Call):
        return False
    inner = [*found.value.args, *(k.value for k in found.value.keywords)]
    if isinstance(found.value.func, ast.Attribute) and found.value.func.attr in _SAME_MODULE:
        inner.append(found.value.func.value)
    return any(_holds(source, a, name, depth - 1) for a in inner if isinstance(a, (ast.Name, ast.Attribute)))
