"""A program worked out on made numbers: what it minimises, and the figures that it tells.

The program's statements are gone through once, in order: a loop over batches twice, one of epochs once. What
the model says and what is true are made numbers (`world.World`); everything else that comes from outside is
unknown, and so is all that is made of it. Nothing of the program is executed.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import Any

import numpy as np

from ..scripts.conditions import is_main
from ..scripts.syntax import Script
from .arrays import Unfit
from .calls import Calls
from .things import (
    Asked,
    Env,
    Instance,
    Kind,
    Left,
    Library,
    Made,
    Returned,
    Routine,
    Unknown,
)
from .world import ROWS, World

ODD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, MemoryError)
MOST = 200  # rounds of a loop whose number is written out


class Run(Calls):
    """One program in one world. `losses` and `figures` hold what was found."""

    def __init__(self, source: Script, world: World) -> None:
        super().__init__(source, world)
        self.names: Env = {}
        self.lines: set[int] = set()

    def run(self) -> None:
        """Go through the program.

        Raises TooLong.
        """
        self.block(self.source.tree.body, self.names)
        for value in list(self.names.values()):
            if isinstance(value, Kind) and value.method("training_step"):
                self._lightning(value)
            elif isinstance(value, Kind) and value.method("compute_loss"):
                with suppress(Unfit, *ODD):
                    self.note_loss(self.method(Instance(value), "compute_loss", 3), value.node)
        for function in self.asked_metrics:
            rows = Asked(self.world.answers(0, None), self.world.truth(None))
            with suppress(Unfit, *ODD):
                self.note_all(self.invoke(function, [rows], {}), function)

    # ------------------------------------------------------------------------------------ statements

    def block(self, body: list[ast.stmt], env: Env) -> None:
        """Go through statements."""
        for statement in body:
            self.count()
            self.statement(statement, env)

    def statement(self, node: ast.stmt, env: Env) -> None:
        """Go through one statement."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                env[node.name] = Routine(node, env)
            case ast.ClassDef():
                env[node.name] = Kind(node, env)
            case ast.Import() | ast.ImportFrom():
                for a in node.names:
                    env[a.asname or a.name.split(".")[0]] = Library(
                        a.name.rpartition(".")[2] if a.asname or isinstance(node, ast.ImportFrom) else a.name,
                        getattr(node, "module", "") or "",
                    )
            case ast.Assign():
                value = self.value(node.value, env)
                self.note_lines(node, value)
                for target in node.targets:
                    self.bind(target, value, env)
            case ast.AnnAssign() if node.value is not None:
                self.bind(node.target, self.value(node.value, env), env)
            case ast.AugAssign():
                whole = ast.BinOp(_loaded(node.target), node.op, node.value)
                ast.copy_location(whole, node)
                value = self.value(whole, env)
                self.note_lines(node, value)
                self.bind(node.target, value, env)
            case ast.Expr():
                value = self.value(node.value, env)
                called = node.value.func if isinstance(node.value, ast.Call) else None
                if (
                    isinstance(called, ast.Attribute)
                    and called.attr[-1:] == "_"
                    and isinstance(value, np.ndarray)
                ):
                    self.bind(called.value, value, env)  # in place
                    self.note_lines(node, value)
            case ast.If():
                self._choice(node, env)
            case ast.For() | ast.AsyncFor():
                self._loop(node, env)
            case ast.While():
                with suppress(Left):
                    self.block(node.body, env)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    made = self.value(item.context_expr, env)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, made, env)
                self.block(node.body, env)
            case ast.Try():
                self.block(node.body, env)
            case ast.Return():
                value = self.value(node.value, env) if node.value is not None else None
                self.note_lines(node, value)
                raise Returned(value)
            case ast.Continue() | ast.Break():
                raise Left

    def note_lines(self, node: ast.stmt, value: Any) -> None:
        """Which lines give numbers."""
        plain = (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, (tuple, list))
            else [value]
        )
        if any(isinstance(v, (int, float, np.generic, np.ndarray, Made)) for v in plain):
            self.lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def _choice(self, node: ast.If, env: Env) -> None:
        test = node.test
        if is_main(test):
            self.block(node.body, env)
            return
        truth = self.truth_of(self.value(test, env))
        if truth is None:
            self.guessed = True
        if truth is not False:
            self.block(node.body, env)
        else:
            self.block(node.orelse, env)

    def _loop(self, node: ast.For | ast.AsyncFor, env: Env) -> None:
        over = self.value(node.iter, env)
        self.lines.add(node.lineno)
        rounds = self.rounds(over)
        if rounds is not None:
            inner = any(isinstance(n, (ast.For, ast.While)) for s in node.body for n in ast.walk(s))
            trains = any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in ast.walk(node))
            if isinstance(over, range) and (inner or trains):
                rounds = rounds[:1]
            for item in rounds[:MOST]:
                self.bind(node.target, item, env)
                with suppress(Left):
                    self.block(node.body, env)
            return
        for _ in self.batches(node.target, over, env):
            with suppress(Left):
                self.block(node.body, env)

    # ----------------------------------------------------------------------------------------- names

    def bind(self, target: ast.expr, value: Any, env: Env) -> None:
        """Give a name, an attribute or several names a value."""
        if isinstance(target, ast.Name):
            env[target.id] = value.renamed(target.id) if isinstance(value, Unknown) else value
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, env)
            if isinstance(owner, Instance):
                owner.attributes[target.attr] = value
        elif isinstance(target, ast.Subscript):
            owner, key = self.value(target.value, env), self.value(target.slice, env)
            held = isinstance(owner, dict) and isinstance(key, (str, int))
            held = held or (isinstance(owner, list) and isinstance(key, int) and abs(key) < len(owner))
            if held:
                owner[key] = value
            elif isinstance(target.value, ast.Name):
                env[target.value.id] = Unknown(f"{target.value.id}@{target.lineno}")
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = self.unpacked(value, len(target.elts))
            for one, part in zip(target.elts, parts, strict=True):
                self.bind(one.value if isinstance(one, ast.Starred) else one, part, env)

    def unpacked(self, value: Any, count: int) -> list[Any]:
        """The parts of what is unpacked."""
        if isinstance(value, Asked) and count == 2:
            return [value.answers, value.truth]
        if isinstance(value, (list, tuple)) and len(value) == count:
            return list(value)
        if isinstance(value, Unknown):
            return [
                Unknown(f"{value.key}.{i}", truth=value.pair and count == 2 and i == 1) for i in range(count)
            ]
        return [Unknown(f"part {i} of {id(value)}") for i in range(count)]

    # ------------------------------------------------------------------------------------- Lightning

    def _lightning(self, kind: Kind) -> None:
        """The steps of a LightningModule, in the order in which the Trainer takes them."""
        made = next((i for i in self.instances if i.kind is kind), None)
        if made is None:
            made = self.instance(kind, [], {})
        model = Unknown(kind.node.name, model=True)
        made.attributes.setdefault("__model__", model)
        self.batch = 0
        with suppress(Unfit, *ODD):
            found = self.method(made, "training_step", 2)
            self.note_loss(found, kind.method("training_step") or kind.node)
        start = len(self.figures)
        for batch in range(len(ROWS)):
            self.batch = batch
            for step in ("validation_step", "test_step"):
                if kind.method(step):
                    with suppress(Unfit, *ODD):
                        self.method(made, step, 2)
                    break
        self.batch = None
        for end in ("on_validation_epoch_end", "on_test_epoch_end", "validation_epoch_end"):
            if kind.method(end):
                with suppress(Unfit, *ODD):
                    self.method(made, end, 0)
        self.average(start)


def _loaded(node: ast.expr) -> ast.expr:
    """A target as it is read."""
    match node:
        case ast.Name():
            found: ast.expr = ast.Name(node.id, ast.Load())
        case ast.Attribute():
            found = ast.Attribute(node.value, node.attr, ast.Load())
        case ast.Subscript():
            found = ast.Subscript(node.value, node.slice, ast.Load())
        case _:
            found = node
    return ast.copy_location(found, node)
