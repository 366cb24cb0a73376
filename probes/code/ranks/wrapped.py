"""Models in wrappers, in scripts: what joins gradients around them, and training that goes past it.

`DistributedDataParallel(net)`, `FSDP(net)`, `deepspeed.initialize(model=net)`, `accelerator.prepare(net)` and
`fabric.setup(net)` give back what is to be run in training. The module within still runs, and its gradients
are neither exchanged nor scaled as the wrapper's are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import taken
from ...scripts.syntax import Function, Script
from ...scripts.untaped import untaped_function, without_gradients
from ..shared.checks import at

_DIRECT = ("DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP")
_TAKES_OUT = ("unwrap_model", "unwrap", "_unwrap")
_NO_MODEL = re.compile(r"(?i)load|data|(?:^|[._])dl$|sched|opt|iter|sampler|criterion|loss|ema|tokeni")


@dataclass(frozen=True)
class Wrap:
    """One wrapper around a model: the call, the name of the model within and that of what is to be run."""

    call: ast.Call
    inner: str
    outer: str
    scope: Function | None


@lru_cache(maxsize=16)
def wraps(source: Script) -> tuple[Wrap, ...]:
    """Every wrapper that is given a name, in source order."""
    return tuple(sorted(_wraps(source), key=lambda w: w.call.lineno))


def _wraps(source: Script) -> Iterator[Wrap]:
    for call in source.named(*_DIRECT):
        statement = source.statement(call)
        if call.args and isinstance(statement, ast.Assign) and statement.value is call:
            yield _wrap(source, call, call.args[0], statement.targets[0])
        elif call.args and isinstance(statement, ast.Return) and statement.value is call:
            yield from _through(source, call.args[0])
    for call in source.named("initialize"):
        statement = source.statement(call)
        given = argument(call, "model", position=1)
        if source.owner(call) in ("deepspeed", "ds") and given is not None:
            if isinstance(statement, ast.Assign):
                target = statement.targets[0]
                first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
                yield _wrap(source, call, given, first)
    for call in source.named("prepare", "setup"):
        statement = source.statement(call)
        if not re.search(r"(?i)accelerator|fabric", source.owner(call)) or not isinstance(
            statement, ast.Assign
        ):
            continue
        target = statement.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(names) != len(call.args) or any(isinstance(a, ast.Starred) for a in (*names, *call.args)):
            continue
        for name, given in zip(names, call.args, strict=True):
            if isinstance(given, (ast.Name, ast.Attribute)) and _is_model(source, given):
                yield _wrap(source, call, given, name)


def _through(source: Script, inner: ast.expr) -> Iterator[Wrap]:
    """`def wrap(self, model): return DDP(model)` and `self.model = world.wrap(model)`."""
    function = source.function_around(inner)
    names = [a.arg for a in function.args.args if a.arg != "self"] if function is not None else []
    if function is None or not isinstance(inner, ast.Name) or inner.id not in names:
        return
    for call in flow(source).calls_of(function):
        statement, place = source.statement(call), names.index(inner.id)
        given = argument(call, inner.id, position=place)
        if given is not None and isinstance(statement, ast.Assign) and statement.value is call:
            yield _wrap(source, call, given, statement.targets[0])


def _wrap(source: Script, call: ast.Call, inner: ast.expr, outer: ast.expr) -> Wrap:
    return Wrap(call, unparse(inner), unparse(outer), source.function_around(call))


def _is_model(source: Script, given: ast.expr) -> bool:
    if flow(source).made(given) in source.modules:
        return True
    text = unparse(given)
    return not _NO_MODEL.search(text) and re.search(r"(?i)model|net$|module|unet|encoder", text) is not None


def past_the_wrapper(source: Script) -> Finding | None:
    """The forward pass whose gradients are taken is the inner module's, and the wrapper never runs there.

    `net(x)` beside `engine = initialize(model=net)`, `ddp = DDP(net)`, `prepared = accelerator.prepare(net)`;
    `engine.module(x)`, `unwrap_model(model)(x)`. Left aside: what runs without gradients, and programs that
    average gradients by hand.
    """
    mine = wraps(source)
    if not mine or source.loose or any(_of_gradients(c) for c in source.named("all_reduce")):
        return None
    found: ast.Call | None = None
    for call in _forward_passes(source):
        ways = [call.func, *_handed(source, call.func)]
        ways += [v for w in ways for v in _kept_as(source, w)]
        for one in mine:
            if any(_is(source, w, one.outer, one) for w in ways):
                if one.outer != one.inner:
                    return None  # the wrapper runs here as well
                continue
            inside = any(_within(source, w, one) for w in ways)
            bare = one.outer != one.inner and any(_is(source, w, one.inner, one) for w in ways)
            if inside or bare or any(_kept_before(source, w, one) for w in ways[:1]):
                found = found or call
    if found is None:
        return None
    return at(source, found, f"training runs `{unparse(found.func)}`, the module inside its wrapper")


def _of_gradients(call: ast.Call) -> bool:
    return bool(call.args) and "grad" in unparse(call.args[0])


def _forward_passes(source: Script) -> Iterator[ast.Call]:
    """Calls with gradients in the loops, or else the functions, that gradients are taken in.

    And in methods and functions of the script that are called there for the loss or the output.
    """
    seen: set[ast.AST] = set()
    for backward in taken(source):
        loops = source.loops_around(backward)
        around = loops[0] if loops else source.function_around(backward)
        if around is not None:
            yield from _passes_in(source, around, seen, 2)


def _passes_in(source: Script, around: ast.AST, seen: set[ast.AST], depth: int) -> Iterator[ast.Call]:
    if around in seen:
        return
    seen.add(around)
    for call in of(around, ast.Call):
        if without_gradients(source, call) or not (call.args or call.keywords):
            continue
        yield call
        if depth and _OF_STEP.search(last_name(call.func)):
            for function in flow(source).called(call):
                if not untaped_function(function):
                    yield from _passes_in(source, function, seen, depth - 1)


# functions that a step asks for its loss, by their names
_OF_STEP = re.compile(r"(?i)loss|forward|step|objective|criterion")


def _kept_as(source: Script, node: ast.expr) -> list[ast.expr]:
    """What a name of the step was given right there: `net = model.module if hasattr(...) else model`."""
    given = flow(source).all_given(node) if isinstance(node, ast.Name) else []
    if len(given) != 1 or given[0].places:
        return []
    value = given[0].value
    if isinstance(value, ast.IfExp):
        return [value.body] if re.search(r"hasattr|isinstance", unparse(value.test)) else []
    return [value] if isinstance(value, (ast.Attribute, ast.Call)) else []


def _kept_before(source: Script, node: ast.expr, one: Wrap) -> bool:
    """A second name for the module, from above its wrapper: `net = model`, `model = prepare(model)`."""
    given = flow(source).all_given(node) if isinstance(node, ast.Name) else []
    if len(given) != 1 or given[0].places or unparse(node) == one.outer:
        return False
    value, line = given[0].value, getattr(given[0].statement, "lineno", 0)
    return unparse(value) == one.inner and line < one.call.lineno and _shares_scope(source, value, one)


def _shares_scope(source: Script, node: ast.expr, one: Wrap) -> bool:
    return source.function_around(node) is one.scope


def _handed(source: Script, node: ast.expr) -> list[ast.expr]:
    """What callers hand over for a parameter that is called: `def step(model, x): model(x)`."""
    first = flow(source).arguments(node) if isinstance(node, ast.Name) else []
    return [*first, *(a for f in first if isinstance(f, ast.Name) for a in flow(source).arguments(f))]


def _is(source: Script, node: ast.expr, name: str, one: Wrap) -> bool:
    """A name of the wrapper's own scope, below it."""
    if unparse(node) != name:
        return False
    if "." in name:
        return True
    around = source.function_around(node)
    below = getattr(node, "lineno", 0) > one.call.lineno
    return around is one.scope and below if around is one.scope else one.scope is None


def _within(source: Script, node: ast.expr, one: Wrap) -> bool:
    """`model.module`, `unwrap_model(model)` of a wrapped model."""
    if isinstance(node, ast.Attribute) and node.attr == "module":
        ways = [node.value, *_handed(source, node.value)]
        return any(_is(source, w, one.outer, one) for w in ways)
    if isinstance(node, ast.Call) and last_name(node.func) in _TAKES_OUT and node.args:
        ways = [node.args[0], *_handed(source, node.args[0])]
        return any(_is(source, w, one.outer, one) for w in ways)
    return False


def loader_not_shared(source: Script) -> Finding | None:
    """The loader that Accelerate trains from was never prepared: each process reads all of the data."""
    if source.loose or not source.named("prepare"):
        return None
    prepared = [
        c for c in source.named("prepare", "prepare_data_loader") if "accelerator" in source.owner(c).lower()
    ]
    given = [a for c in prepared for a in c.args]
    if not prepared or any(not isinstance(a, (ast.Name, ast.Attribute)) for a in given):
        return None
    names = {unparse(a) for a in given}
    backwards = [c for c in source.backwards if "accelerator" in source.owner(c).lower()]
    for loop in (p for c in backwards for p in source.loops_around(c)[:1] if isinstance(p, ast.For)):
        for name in of(loop.iter, ast.Name):
            made = [v for v in flow(source).values(name, 3) if isinstance(v, ast.Call)]
            if name.id in names or not made or any(last_name(v.func) != "DataLoader" for v in made):
                continue
            if any(source.function_around(v) is not source.function_around(prepared[0]) for v in made):
                continue  # of rows that each process has been handed
            if not any(k.arg in ("sampler", "batch_sampler", None) for v in made for k in v.keywords):
                return at(
                    source, prepared[0], f"`{name.id}` is not prepared: each process reads all of the data"
                )
    return None


def past_the_engine(source: Script) -> Finding | None:
    """DeepSpeed's engine is made and neither its backward nor its step runs: the loss's own do."""
    made = [w for w in wraps(source) if last_name(w.call.func) == "initialize"]
    if not made or source.loose:
        return None
    names = {w.outer.split(".")[-1] for w in made}
    methods = [c for c in source.named("backward", "step") if source.owner(c).split(".")[-1] in names]
    plain = [c for c in source.backwards if not c.args and re.search(r"(?i)loss|nll", source.owner(c))]
    if methods or not plain or not source.steps:
        return None
    if any("engine" in source.owner(c).lower() for c in source.named("backward", "step")):
        return None
    return at(
        source, plain[0], "DeepSpeed's engine is made, and training goes past its backward and its step"
    )
