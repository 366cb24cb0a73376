"""What the script probes share: calling a check on every script, and saying what was found.

A reading is absent only where the script holds the construct that the fault would stand in. The documented
false positives stand in each probe's docstring.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache

from ....engine.model import State
from ...readers._secrets import redact
from ...readers._tree import of, unparse, walk
from ...readers.script import DEFAULT, Extractor, last_name
from ...registry import NO_SCRIPT, Finding, View, absent, present, unknown
from ...run import Run
from ...scripts.flow import flow
from ...scripts.learning import taken
from ...scripts.project import programs, unframed_programs
from ...scripts.syntax import Function, Script
from ...scripts.untaped import untaped_in
from .nodes import is_false

_SHOWN = ("enumerate", "tqdm", "track", "iter")
_NO_FRAMEWORK = "the scripts train without a framework, which this check does not read"
_MOST_CALLERS = 50  # functions that are gone through on the way up to a loop
Check = Callable[[Script], Finding | None]


def scripts(run: Run) -> tuple[Script, ...]:
    """The parsed scripts of a run, each with the modules of its project that it imports."""
    return programs(run.scripts) or (unframed_programs(run.scripts) if run.unframed else ())


@lru_cache(maxsize=16)
def extractor(source: Script) -> Extractor:
    """What names of a script stand for, made once."""
    return Extractor(source.tree, source.path)


def number(view: View, source: Script, node: ast.expr) -> float | None:
    """What number an expression stands for: a constant of the script, or what a configuration file says.

    `config["noise"]` and `args.noise` are looked up as `noise`; None where neither tells.
    """
    known, value, replaceable = extractor(source).value(node)
    if not known or replaceable:
        key = node.slice if isinstance(node, ast.Subscript) else node
        name = key.value if isinstance(key, ast.Constant) else last_name(key)
        said = [
            s
            for s in view.run.raw_settings
            if s.trust > DEFAULT and s.key.rpartition(".")[2] == name and not s.file.endswith(".py")
        ]
        value = max(said, key=lambda s: s.trust).value if said and name else value if known else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def script_and_loss(run: Run) -> str | None:
    """What a check of a script that its training loss must confirm lacks; None where both are there."""
    if not run.scripts:
        return NO_SCRIPT
    return None if "train/loss" in run.series else "the run has no train/loss"


def first(view: View, check: Check, nothing: str) -> Finding:
    """Present in any script wins, then absent in any, else unknown with the reason."""
    mine = scripts(view.run)
    if not mine:
        return unknown(_NO_FRAMEWORK if unframed_programs(view.run.scripts) else NO_SCRIPT)
    found = [f for f in (check(s) for s in mine) if f is not None]
    for state in (State.PRESENT, State.ABSENT):
        for finding in found:
            if finding.state is state:
                return finding
    return unknown(nothing)


def at(source: Script, node: ast.AST, why: str) -> Finding:
    """A finding with its place and the code it is about."""
    line = redact("", source.line(node))[:120]
    return present(
        f"{why}: `{line}`",
        value=line,
        where=(source.place(node),),
    )


def told_at(
    look: Callable[[Script], tuple[ast.AST, str] | None],
) -> Callable[[Script], Finding | None]:
    """A check of what was worked out by hand (`probes/by_hand/`), and where."""

    def check(source: Script) -> Finding | None:
        found = look(source)
        return None if found is None else at(source, *found)

    return check


def ok(source: Script, node: ast.AST | None, why: str) -> Finding:
    """The construct is there and right."""
    return absent(why, where=(source.place(node),))


def imports_locals(source: Script) -> bool:
    """Helpers of files that are not in the run directory may do what is missing here."""
    return source.loose


FRAMEWORKS = frozenset(
    (
        *("torch", "torchvision", "timm", "torch_geometric", "dgl", "transformers"),
        *("tensorflow", "keras", "mindspore", "paddle", "jax"),
    )
)


def of_other_package(source: Script, name: str) -> bool:
    """Whether a name is imported from a package that is no framework: what it does is not seen."""
    return any(
        one.module and one.module.split(".")[0] not in FRAMEWORKS and not one.level
        for one in source.of(ast.ImportFrom)
        if any((n.asname or n.name) == name for n in one.names)
    )


def holds_unseen_layers(source: Script, module: ast.ClassDef) -> bool:
    """A network makes parts of another package's classes: `LIFCell()`, `Discriminator(img_shape=...)`."""
    return any(
        c.func.id[:1].isupper() and c.func.id not in source.classes and of_other_package(source, c.func.id)
        for c in of(module, ast.Call)
        if isinstance(c.func, ast.Name)
    )


def is_evaluation(source: Script, node: ast.AST) -> bool:
    """Say whether a node stands in a function that evaluates, by its name or by what it does."""
    if any(w in source.function_name(node).lower() for w in ("eval", "valid", "test", "val")):
        return True
    outer = source.above(node)
    if any(isinstance(p, ast.FunctionDef) and _OF_EVALUATION.match(p.name) for p in outer):
        return True  # a function inside of `eval_step`
    function = source.function_around(node)
    return function is not None and _evaluates(function)


_OF_EVALUATION = re.compile(r"^_?(?:eval\w*|valid\w*|val|test)_?(?:step|epoch|loop|one_epoch|model)?$")


@lru_cache(maxsize=256)
def _evaluates(function: Function) -> bool:
    """The model is set to evaluation, never to training, and gradients are switched off."""
    modes = {c.func.attr for c in of(function, ast.Call) if isinstance(c.func, ast.Attribute)}
    if "eval" not in modes or modes & {"train", "backward"}:
        return False
    return untaped_in(function)


def gets_false(call: ast.Call) -> bool:
    """Say whether the first argument of a call is False: `net.train(False)`."""
    return bool(call.args) and is_false(call.args[0])


def is_constant(node: ast.expr) -> bool:
    """Say whether an expression holds no variable (or only a size): `torch.tensor(2 * math.pi)`."""
    text = unparse(node)
    made = all(last_name(n.func) in _NUMBERS for n in of(node, ast.Call))
    return (
        isinstance(node, ast.Constant)
        or not any(isinstance(n, ast.Name) and not (made and n.id in _LIBRARIES) for n in walk(node))
        or "size" in text
    )


_LIBRARIES = frozenset(("math", "torch", "np", "numpy", "jnp", "tf", "mindspore", "ms", "paddle"))
_NUMBERS = frozenset(
    ("tensor", "as_tensor", "to_tensor", "Tensor", "array", "asarray", "constant", "float32")
)


def on_other_sides(source: Script, one: ast.AST, other: ast.AST) -> bool:
    """Say whether two nodes stand on different sides of one condition: only one of them runs."""
    above = {*source.above(other), other}
    inner = one
    for parent in source.above(one):
        if isinstance(parent, ast.If) and parent in above:
            return (inner in parent.body) != any(n in above for n in parent.body)
        inner = parent
    return False


def runs_in(source: Script, node: ast.AST, loop: ast.AST, depth: int = 4) -> bool:
    """The node stands in the loop, or in a function that is called in it, directly or through others."""
    seen: set[ast.AST] = set()
    nodes = [node]
    for _ in range(depth + 1):
        if any(loop in source.above(n) for n in nodes):
            return True
        functions = {f for n in nodes if (f := source.function_around(n)) is not None} - seen
        seen |= functions
        nodes = [c for f in functions for c in flow(source).calls_of(f) if f not in source.above(c)]
    return False


def gone_over(over: ast.expr, *also: str) -> ast.expr:
    """What a loop goes over, without what counts it or shows how far it is: `tqdm(enumerate(x))` -> `x`.

    `also`: further functions that are looked through.
    """
    while isinstance(over, ast.Call) and over.args and last_name(over.func) in (*_SHOWN, *also):
        over = over.args[0]
    return over


def teaching(source: Script) -> tuple[ast.Call, ...]:
    """Backward calls of functions that take a step too; all, where no function does both.

    Others give slopes to look at: of a loss by an input, for how telling a sample is.
    """
    stepping = {source.function_around(s) for s in source.steps}
    return tuple(b for b in source.backwards if source.function_around(b) in stepping) or source.backwards


def outer_loop(source: Script) -> ast.For | ast.While | None:
    """The outermost loop that training runs in, also when the step stands in a helper of a helper."""
    for backward in (*teaching(source), *source.backwards) or taken(source):
        found = _outermost(source, backward, set())
        if found is not None:
            return found
    return None


def _outermost(source: Script, node: ast.AST, seen: set[ast.AST]) -> ast.For | ast.While | None:
    function = source.function_around(node)
    if function is not None and function not in seen and len(seen) < _MOST_CALLERS:
        seen.add(function)
        for call in flow(source).calls_of(function):
            if function not in source.above(call):
                found = _outermost(source, call, seen)
                if found is not None:
                    return found
    loops = source.loops_around(node)
    return loops[-1] if loops else None
