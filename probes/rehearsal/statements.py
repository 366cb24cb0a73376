"""Statements of a program, gone through in the order of time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..readers._tree import of
from ..readers.script import last_name
from ..scripts.bounds import MOST_ITEMS
from ..scripts.conditions import is_first_process, is_main
from ..scripts.syntax import Script
from .expressions import Expressions, method_of
from .journal import Asked, Round
from .libraries import library
from .values import (
    Broken,
    Continued,
    Enough,
    Kind,
    Library,
    Loader,
    Net,
    Optimizer,
    Raised,
    Returned,
    Routine,
    Scope,
    Tensor,
    Unknown,
)

EPOCHS = 3  # rounds of a loop in which networks are asked of several batches
ROUNDS = 64  # of any other loop
LISTED = 2_000  # of a list of what is known
WHILES = 12
_NO_NAMES = ("typing", "__future__", "typing_extensions", "collections.abc")


class Statements(Expressions):
    """Goes through statements. `here`: the one that was begun last."""

    here: ast.stmt | None = None
    late = False  # what puts training off has an end already
    exact = False  # whether answers have values, so that every condition on them is known

    def block(self, body: list[ast.stmt], scope: Scope) -> None:
        """Go through statements one after the other."""
        for statement in body:
            self.statement(statement, scope)

    def statement(self, node: ast.stmt, scope: Scope) -> None:
        """Go through one statement."""
        self.tick()
        self.here = node
        known = getattr(self, method_of("_do_", type(node).__name__), None)
        if known is not None:
            known(node, scope)

    # ------------------------------------------------------------------------------------ definitions

    def _do_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        made: Any = Routine(node, scope)
        for one in reversed(node.decorator_list):
            made = self.decorated(made, one, scope)
        scope.put(node.name, made)

    _do_asyncfunctiondef = _do_functiondef

    def _do_classdef(self, node: ast.ClassDef, scope: Scope) -> None:
        bases = tuple(self.value(b, scope) for b in node.bases)
        kind = Kind(node, scope, bases)
        inner = Scope(scope)
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                made = Routine(statement, scope, of=kind)
                inner.names[statement.name] = made
            else:
                self.statement(statement, inner)
        kind.body = inner.names
        made_of: Any = kind
        for one in reversed(node.decorator_list):
            made_of = self.decorated(made_of, one, scope)
        scope.put(node.name, made_of if isinstance(made_of, Kind) else kind)

    def _do_import(self, node: ast.Import, scope: Scope) -> None:
        for one in node.names:
            name = one.asname or one.name.partition(".")[0]
            self._imported(name, one.name if one.asname else name, scope)

    def _do_importfrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = node.module or ""
        if module in _NO_NAMES:
            return
        for one in node.names:
            whole = f"{module}.{one.name}" if module else one.name
            held = self.top.names.get(one.name)
            if isinstance(held, (Routine, Kind)) and one.asname:
                scope.put(one.asname, held)  # of a file of the program
            else:
                self._imported(one.asname or one.name, whole, scope)

    def _imported(self, name: str, whole: str, scope: Scope) -> None:
        if isinstance(scope.find(name), (Routine, Kind)) or (scope is self.top and name in scope.names):
            if not isinstance(scope.find(name), Library):
                return  # what a file of the program defines: its files stand one after the other
        scope.put(name, library(whole))

    def _do_global(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        scope.shared.update(node.names)

    _do_nonlocal = _do_global

    # ------------------------------------------------------------------------------------ names and values

    def _do_assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.value(node.value, scope)
        if isinstance(value, Unknown) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            value = self.given_back(node.targets[0], node.value, value, scope)
        for target in node.targets:
            self.bind(target, value, scope)

    def given_back(self, target: ast.expr, call: ast.Call, value: Any, scope: Scope) -> Any:
        """`net, opt = lib.wrap(net, opt)`, `net = net.wrapped()`: what comes back under its name is the same.

        What was not known may have changed it.
        """
        owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        told = {ast.unparse(a): a for a in (*owner, *call.args, *(k.value for k in call.keywords))}
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        held: list[Any] = []
        for part in parts:
            same = told.get(ast.unparse(part))
            one = self.value(same, scope) if isinstance(same, (ast.Name, ast.Attribute)) else None
            if isinstance(one, (Net, Optimizer)):
                one.escaped = True
            held.append(one if isinstance(one, (Net, Optimizer, Loader)) else Unknown("part"))
        if all(isinstance(h, Unknown) for h in held):
            return value
        return held if isinstance(target, (ast.Tuple, ast.List)) else held[0]

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value, scope), scope)

    def _do_augassign(self, node: ast.AugAssign, scope: Scope) -> None:
        left = self.value(node.target, scope)
        right = self.value(node.value, scope)
        if isinstance(left, list) and isinstance(node.op, ast.Add):
            left.extend(self.items(right, node)[: max(0, MOST_ITEMS - len(left))])
            return
        self.bind(node.target, self.counted(self.operation(node.op, left, right, node)), scope)

    def counted(self, made: Any) -> Any:
        """A count that goes on by the answers to single rows (`if said == true: hits += 1`)."""
        asked = frozenset(n for one in self.single for n in one.asked)
        if not asked or isinstance(made, bool):
            return made
        if isinstance(made, (int, float)):
            return Tensor(asked=asked, number=made if self.exact else None, scalar=True, done=("count",))
        if isinstance(made, Tensor) and made.scalar:
            number = made.number if self.exact else None
            return made.like(asked=made.asked | asked, number=number)
        return made

    def _do_expr(self, node: ast.Expr, scope: Scope) -> None:
        self.value(node.value, scope)

    def _do_delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                owner, key = self.value(target.value, scope), self.value(target.slice, scope)
                self.delete_item(owner, key)

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Give a name, an attribute, an item or several of them a value."""
        if isinstance(target, ast.Name):
            scope.put(target.id, value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.value(target.value, scope), target.attr, value, target)
        elif isinstance(target, ast.Subscript):
            self.set_item(self.value(target.value, scope), self.index(target.slice, scope), value, target)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for one, part in zip(target.elts, self.unpacked(value, target), strict=False):
                self.bind(one, part, scope)

    def unpacked(self, value: Any, target: ast.Tuple | ast.List) -> list[Any]:
        """The parts of what several names are given."""
        count = len(target.elts)
        held = self.items_known(value)
        if held is None:
            return [self.part(value, i, target) for i in range(count)]
        star = next((i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)), None)
        if star is not None:
            after = count - star - 1
            middle = held[star : len(held) - after]
            return [*held[:star], middle, *held[len(held) - after :]]
        if len(held) < count:
            held = [*held, *(Unknown("part") for _ in range(count - len(held)))]
        return list(held[:count])

    # ------------------------------------------------------------------------------------ choices

    def _do_if(self, node: ast.If, scope: Scope) -> None:
        test = node.test
        if is_main(test):
            if self.is_entry(node):
                self.block(node.body, scope)
            return
        held = self.value(test, scope)
        told = self.truth(held)
        if self.late and (way := self.towards_training(node)) is not None:
            told = way
        if told is None and is_first_process(test):  # a program is rehearsed as its first process
            told = True
        row = isinstance(held, Tensor) and bool(held.asked) and (not held.scalar or held.rows is not None)
        if row:
            self.single.append(held)
        try:
            if told is not None:
                self.block(node.body if told else node.orelse, scope)
                return
            with self.guessing(node):
                self.block(node.body if self.choose(node) else node.orelse, scope)
        finally:
            if row:
                self.single.pop()

    def towards_training(self, node: ast.If) -> bool | None:
        """Which way a condition has to go for a gradient to be taken; None where it is no matter of that."""
        inside, beside = (self.trains_in(b) for b in (node.body, node.orelse))
        if inside != beside:
            return inside
        return False if _leaves(node.body) and not inside else None

    def trains_in(self, body: list[ast.stmt]) -> bool:
        """Whether a gradient is taken in these statements, or in a function that they call."""
        return any(
            c in self.source.backwards or last_name(c.func) in _training_names(self.source)
            for s in body
            for c in of(s, ast.Call)
        )

    def choose(self, node: ast.If) -> bool:
        """Which way a condition goes that is not known: in at first, then past it; never out of the way."""
        if _leaves(node.body):
            return False
        if node.orelse and _leaves(node.orelse):
            return True
        count = self.guesses.get(node, 0)
        self.guesses[node] = count + 1
        return count % 3 == 0

    def _do_match(self, node: ast.Match, scope: Scope) -> None:
        subject = self.value(node.subject, scope)
        for case in node.cases:
            pattern = case.pattern
            if isinstance(pattern, ast.MatchValue):
                held = self.value(pattern.value, scope)
                if isinstance(subject, (str, int, float, bool)) and held == subject:
                    self.block(case.body, scope)
                    return
            elif isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
                self.block(case.body, scope)
                return

    def _do_assert(self, node: ast.Assert, scope: Scope) -> None:
        self.value(node.test, scope)

    # ------------------------------------------------------------------------------------ loops

    def _do_for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        over = self.value(node.iter, scope)
        left = False
        self.loops.append((node, 0))
        try:
            for count, item in enumerate(self.rounds(over, node)):
                self.tick()
                self.loops[-1] = (node, count)
                self.bind(node.target, item, scope)
                try:
                    self.block(node.body, scope)
                except Continued:
                    continue
                except Broken:
                    left = True
                    break
        finally:
            self.loops.pop()
        if not left:
            self.block(node.orelse, scope)

    _do_asyncfor = _do_for

    def rounds(self, over: Any, node: ast.AST) -> Iterator[Any]:
        """What a loop goes over: all of it where that is short, the first rounds and the last of epochs."""
        held = self.iterated(over, node)
        whole = len(held) if isinstance(held, (list, range, tuple)) else None
        if whole is not None:
            self.lengths[node] = whole
            long = whole > ROUNDS and isinstance(held, range) and not self.exact
            self.shares[node] = whole / ROUNDS if long else 1.0
            if isinstance(over, list) and over:
                self.shares[node] = self.true_length(over) / len(over)
        heavy = 0
        last = None
        for count, item in enumerate(held):
            if (
                count
                >= (LISTED if whole is not None and (self.exact or not isinstance(held, range)) else ROUNDS)
                or heavy >= EPOCHS
            ):
                break
            before = len(self.journal.events)
            if heavy == EPOCHS - 1 and whole is not None and isinstance(held, range) and whole > EPOCHS:
                item = last = held[-1]
            yield item
            if last is not None:
                break
            if self.went_through_data(before) and not isinstance(over, Loader):
                heavy += 1

    def _do_while(self, node: ast.While, scope: Scope) -> None:
        self.loops.append((node, 0))
        heavy = 0
        try:
            for count in range(WHILES):
                self.tick()
                self.loops[-1] = (node, count)
                if self.truth(self.value(node.test, scope)) is False:
                    break
                before = len(self.journal.events)
                try:
                    self.block(node.body, scope)
                except Continued:
                    pass
                except Broken:
                    break
                heavy += self.went_through_data(before)
                if heavy >= EPOCHS:
                    break
        finally:
            self.loops.pop()

    def _do_break(self, node: ast.Break, scope: Scope) -> None:
        raise Broken

    def _do_continue(self, node: ast.Continue, scope: Scope) -> None:
        raise Continued

    # ------------------------------------------------------------------------------------ with, try, return

    def _do_with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        self._within(node, node.items, scope)

    _do_asyncwith = _do_with

    def _within(self, node: ast.With | ast.AsyncWith, items: list[ast.withitem], scope: Scope) -> None:
        if not items:
            self.block(node.body, scope)
            return
        first, rest = items[0], items[1:]
        held = self.value(first.context_expr, scope)
        with self.entered(held, first.context_expr) as given:
            if first.optional_vars is not None:
                self.bind(first.optional_vars, given, scope)
            self._within(node, rest, scope)

    def _do_try(self, node: ast.Try, scope: Scope) -> None:
        try:
            self.block(node.body, scope)
        except Raised:
            if node.handlers:
                self.block(node.handlers[0].body, scope)
            else:
                self.block(node.finalbody, scope)
                raise
        except (Returned, Broken, Continued, Enough):
            self.block(node.finalbody, scope)
            raise
        else:
            self.block(node.orelse, scope)
        self.block(node.finalbody, scope)

    def _do_raise(self, node: ast.Raise, scope: Scope) -> None:
        if self.guessed:
            return  # a guard whose condition is not known
        raise Raised(ast.unparse(node)[:80])

    def _do_return(self, node: ast.Return, scope: Scope) -> None:
        raise Returned(self.value(node.value, scope) if node.value is not None else None)

    # ------------------------------------------------------------------------------------ to be given

    def went_through_data(self, before: int) -> bool:
        """Whether a loader was gone through since so many events, or a network asked twice at one place."""
        seen: set[ast.AST] = set()
        for event in self.journal.events[before:]:
            if isinstance(event, Round) or (isinstance(event, Asked) and event.node in seen):
                return True
            if isinstance(event, Asked):
                seen.add(event.node)
        return False


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a branch ends what it stands in: `return`, `raise`, `continue`, `break`, `sys.exit()`."""
    if not body:
        return False
    end = body[-1]
    if isinstance(end, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    if isinstance(end, ast.Expr) and isinstance(end.value, ast.Call):
        return ast.unparse(end.value.func) in ("sys.exit", "exit", "quit", "os._exit", "parser.error")
    return False


@lru_cache(maxsize=16)
def _training_names(source: Script) -> frozenset[str]:
    """The names of functions in which a gradient is taken, or that call such."""
    inside = [source.function_around(c) for c in source.backwards]
    found = {f.name for f in inside if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for _ in range(4):
        found |= {
            f.name
            for f in source.of(ast.FunctionDef, ast.AsyncFunctionDef)
            if any(last_name(c.func) in found for c in of(f, ast.Call))
        }
    return frozenset(found)
