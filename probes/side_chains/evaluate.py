"""Symbolic execution of a script: no number is computed, but what is made of what is written down.

Functions and classes of the script are gone into, branches on known switches are chosen, branches on random
numbers are passed by, other branches are kept side by side. All of it within a budget of steps.
"""

from __future__ import annotations

import ast
from contextlib import suppress

from ..scripts.syntax import Function
from .calls import Calls
from .expressions import Expressions
from .items import apply
from .machine import Left
from .statements import Statements
from .truth import Truth
from .values import Env, Func, Term


class Evaluator(Statements, Expressions, Calls, Truth):
    """Runs parts of one script on terms."""

    def call(self, held: Term, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term:
        """Call a value; a pipeline of transforms step by step. Raises OutOfSteps."""
        if held.head == "call:Compose":
            if len(args) == 1 and not kw:
                return apply(self, held, args, node)
            if not args and "image" in kw:  # Albumentations takes and gives names
                made = {**kw, "image": apply(self, held, (kw["image"],), node)}
                return self.make("dict", node, value=made)
        return super().call(held, args, kw, node)

    def run_module(self) -> None:
        """Run what stands at the top of the script."""
        self.frames.append(self.top)
        with suppress(Left):
            self.run(self.source.tree.body, self.top)

    def run_function(self, function: Function, held: Term | None = None) -> Env:
        """Run a function on parameters of which nothing is known; its names afterwards."""
        f = Func(function, self.top, held)
        env = self.bind(f, (), {}, function)
        self.stack.append(function)
        self.entered.add(function)
        try:
            out = self.run(function.body, env)
            if out is not None:
                env.names["<returned>"] = out
        except Left:
            pass
        finally:
            self.stack.pop()
        self.frames.append(env)
        return env
