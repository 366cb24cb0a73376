"""Weights that are loaded and then drawn at random again, or loaded into a model that nobody keeps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import block_of

_LOADS = ("load_state_dict", "load_weights", "load_param_into_net", "load_checkpoint", "from_pretrained")
_OTHERS = re.compile(r"(?i)opt|sched|scaler|ema|swa|teacher|target|average|processor|tokenizer|config")
_STARTS = re.compile(
    r"(?i)^_?(?:weights?_init|init(?:iali[sz]e)?_?(?:weights?|params?|parameters)?|reset_parameters)_?$"
)
_MOVES = ("to", "cuda", "npu", "cpu", "float", "eval", "train")
_OVER = ("modules", "named_modules", "cells_and_names", "cells", "parameters", "named_parameters")
_DRAWS = re.compile(
    r"^(?:(?:xavier|kaiming|trunc)_(?:normal|uniform)_|normal_|uniform_|orthogonal_|reset_parameters|_init_weights)$"
)


def drawn_again(source: Script) -> Finding | None:
    """`net.load_state_dict(...)`, and then `net.apply(init_weights)`, or a loop that draws all its layers.

    Followed into functions of the script that load into, or draw, the model that they are handed. Left aside:
    what stands in another branch, what goes over a part of the model, and starts that ask for names.
    """
    for statement, owner, line in _loaded(source):
        block = block_of(source, statement)
        place = block.index(statement) if statement in block else None
        for later in block[place + 1 :] if place is not None else ():
            if isinstance(later, (ast.FunctionDef, ast.ClassDef)):
                continue
            if unparse(later).startswith(f"{owner} = "):
                break
            for node in _drawn(source, later, owner):
                if not _asked(source, node, later):
                    return at(source, node, f"the weights of line {line} are drawn at random again")
    return None


def _asked(source: Script, node: ast.AST, statement: ast.stmt) -> bool:
    """A condition within the statement lets it run or not."""
    if node is statement:
        return False
    above = list(source.above(node))
    inner = above[: above.index(statement) + 1] if statement in above else above
    return any(isinstance(p, ast.If) for p in inner) and not isinstance(statement, ast.For)


def _loaded(source: Script) -> Iterator[tuple[ast.stmt, str, int]]:
    """Statements after which a model holds loaded weights, the model's text, and the line of the call.

    A condition that only asks whether there is anything to load counts as a statement of its block.
    """
    for call in source.named(*_LOADS):
        statement = source.statement(call)
        owner = _model_of(source, call)
        if statement is None or not owner or _OTHERS.search(owner):
            continue
        yield from outwards(source, statement, owner, call.lineno)
        function = source.function_around(call)
        names = _parameters(function) if function is not None else []
        if owner not in names or function is None:
            continue
        for use in flow(source).calls_of(function):
            place = names.index(owner)
            line = source.statement(use)
            given = argument(use, position=place)
            if line is not None and isinstance(given, (ast.Name, ast.Attribute)):
                yield from outwards(source, line, unparse(given), use.lineno)


def outwards(
    source: Script, statement: ast.stmt, owner: str, line: int
) -> Iterator[tuple[ast.stmt, str, int]]:
    """A statement and those around it that only ask whether it runs: after each, `owner` is loaded."""
    yield statement, owner, line
    around = source.parents.get(statement)
    while isinstance(around, (ast.If, ast.With, ast.Try)):
        if isinstance(around, ast.If) and statement not in around.body:
            return
        yield around, owner, line
        statement, around = around, source.parents.get(around)


def _model_of(source: Script, call: ast.Call) -> str:
    """What gets the weights: `net` of `net.load_state_dict(...)`, `load_param_into_net(net, ...)`."""
    name = last_name(call.func)
    if name == "from_pretrained":
        parent = source.parents.get(call)
        made = isinstance(parent, ast.Assign) and len(parent.targets) == 1
        model = re.search(r"Model|Net|For[A-Z]", source.owner(call)) is not None
        return unparse(parent.targets[0]) if made and model and isinstance(parent, ast.Assign) else ""
    if name == "load_param_into_net":
        return unparse(call.args[0]) if call.args else ""
    owner = receiver(call)
    if name == "load_checkpoint":
        return f"{unparse(owner)}.module" if owner is not None and "engine" in unparse(owner) else ""
    return unparse(owner) if isinstance(owner, (ast.Name, ast.Attribute)) else ""


def _parameters(function: Function) -> list[str]:
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args)]


def _drawn(source: Script, statement: ast.stmt, owner: str) -> Iterator[ast.AST]:
    """Where a statement draws all the weights of a model."""
    for call in of(statement, ast.Call):
        held = source.owner(call) if isinstance(call.func, ast.Attribute) else ""
        whole = bool(held) and f"{owner}.".startswith(f"{held}.") and held != "self"
        given = call.args[0] if len(call.args) == 1 else None
        if last_name(call.func) == "apply" and whole and isinstance(given, (ast.Name, ast.Attribute)):
            functions = flow(source).functions.get(last_name(given), [])
            if any(_draws(source, f) for f in functions) or (
                not functions and _STARTS.match(last_name(given))
            ):
                yield call
        elif last_name(call.func) == "apply" and whole and isinstance(given, ast.Lambda):
            drawn = any(last_name(c.func) == "reset_parameters" for c in of(given, ast.Call))
            if drawn and not any(last_name(c.func) == "isinstance" for c in of(given, ast.Call)):
                yield call
        elif isinstance(call.func, ast.Name) and call.args and unparse(call.args[0]) == owner:
            for function in flow(source).called(call):
                names = _parameters(function)
                if names and any(_goes_over(source, n, names[0]) for n in of(function, ast.For)):
                    yield call
    for loop in of(statement, ast.For):
        if _goes_over(source, loop, owner):
            yield loop


def _draws(source: Script, function: Function) -> bool:
    """It draws weights, and asks for no name and for nothing that it was told apart from the module."""
    names = [n for n in _parameters(function) if n not in ("self", "cls")]
    if len(names) != 1 or _of_own_kinds(source, function):
        return False
    return any(_DRAWS.match(last_name(c.func)) for c in of(function, ast.Call))


def _of_own_kinds(source: Script, node: ast.AST) -> bool:
    """It asks for a class of the script or for an attribute: an adapter that was put in."""
    for call in of(node, ast.Call):
        if last_name(call.func) == "hasattr" or "lora" in unparse(call).lower():
            return True
        if last_name(call.func) == "isinstance" and len(call.args) == 2:
            if any(last_name(n) in source.classes for n in of(call.args[1], ast.Name, ast.Attribute)):
                return True
    return False


def _goes_over(source: Script, loop: ast.For, owner: str) -> bool:
    """`for m in net.modules(): ... normal_(m.weight)`: every layer of a kind, whatever its name."""
    over = loop.iter
    if not (isinstance(over, ast.Call) and last_name(over.func) in _OVER):
        return False
    held = receiver(over)
    if held is None or not f"{owner}.".startswith(f"{unparse(held)}.") or unparse(held) == "self":
        return False
    if _of_own_kinds(source, loop):
        return False
    tests = [unparse(n.test) for n in of(loop, ast.If)]
    if any(re.search(r"\bname\b|\bn\b|\bin\b|==|requires_grad|startswith|endswith", t) for t in tests):
        return False
    names = names_in(loop.target)
    for call in of(loop, ast.Call):
        used = names_in(call) & names
        if _DRAWS.match(last_name(call.func)) and used:
            return True
        drawn = last_name(call.func) == "set_data" and re.search(r"initializer\(", unparse(call))
        if drawn and used and not re.search(r"initializer\(['\"](?:zeros|ones)", unparse(call)):
            return True
    return False


def root_of(node: ast.expr) -> ast.expr:
    """What a chain begins with: `net` of `net.get_layer("words").weight[0]`, `build()` of `build().words`."""
    while True:
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return node


def _made_by_function(source: Script, made: ast.expr) -> bool:
    """`build_model(...)`, a function of the script that gives back what it makes anew."""
    name = made.func.id if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) else ""
    functions = flow(source).functions.get(name, [])
    return len(functions) == 1 and any(
        isinstance(v, ast.Call) and re.search(r"Model|Net|Sequential", last_name(v.func)) is not None
        for r in of(functions[0], ast.Return)
        if r.value is not None
        for v in [r.value, *flow(source).values(r.value, 2)]
    )


def loaded_on_the_spot(source: Script) -> Finding | None:
    """`resnet50().load_state_dict(state)`: the model that gets the weights is thrown away."""
    for call in source.named("load_state_dict", "load_weights", "set_weights"):
        made = receiver(call)
        if made is None:
            continue
        if isinstance(source.parents.get(call), ast.Expr) and _made_by_function(source, root_of(made)):
            return at(source, call, "the weights go into a model that is made for it, and nobody keeps it")
        if not isinstance(made, ast.Call) or last_name(call.func) == "set_weights":
            continue
        while last_name(made.func) in _MOVES and isinstance(made.func, ast.Attribute):
            if not isinstance(made.func.value, ast.Call):
                break
            made = made.func.value  # `Net().to(device)`
        name = last_name(made.func)
        of_script = name in source.classes and source.classes[name] in source.modules
        of_library = re.match(
            r"^(?:resnet|resnext|wide_resnet|vgg|densenet|efficientnet|convnext|vit|swin)", name
        )
        if not (of_script or of_library) or (source.loose and not of_library):
            continue
        if isinstance(made.func, ast.Attribute) and re.search(r"self|get|unwrap", unparse(made.func)):
            continue
        return at(source, call, "the weights go into a model that is made for it, and nobody keeps it")
    return None
