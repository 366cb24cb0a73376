"""One program as the facts read it: its calls, what names stand for, and which words stand in it at all."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...engine.model import Place
from ..code.shared.checks import extractor
from ..code.shared.nodes import paired
from ..readers._tree import walk
from ..readers.script import last_name
from ..scripts.syntax import Script

_LIBRARIES = ("F", "nn", "functional", "tf", "torch", "ops", "losses", "layers", "optim")
MAX_DEPTH = 4  # names that stand for names


@dataclass(frozen=True)
class Told:
    """A difference of a known kind (rules/porting/edits.yaml) that no pair of lines shows."""

    kind: str
    text: str
    mine: Place | None
    theirs: Place | None


class Side:
    """Questions on one program."""

    def __init__(self, source: Script) -> None:
        self.source = source
        self.own = {n.name for n in source.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)}

    def calls(self, *names: str) -> tuple[ast.Call, ...]:
        """Calls of these names that are not the program's own."""
        return tuple(c for c in self.source.named(*names) if not self._is_own(c) and self.runs(c))

    def _is_own(self, call: ast.Call) -> bool:
        """Whether the program calls what it defines: `cross_entropy(x)`, and not `F.cross_entropy(x)`."""
        library = isinstance(call.func, ast.Attribute) and last_name(call.func.value) in _LIBRARIES
        return last_name(call.func) in self.own and not library

    def runs(self, node: ast.AST) -> bool:
        """Whether a node stands in no function that nothing of the program names."""
        function = self.source.function_around(node)
        while function is not None:
            if function in self._unused:
                return False
            function = self.source.function_around(function)
        return True

    @cached_property
    def _loaded(self) -> frozenset[str]:
        """Names and attributes that are read somewhere, and texts that may name one."""
        found = {last_name(n) for n in self.source.of(ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Load)}
        return frozenset(
            found | {str(n.value) for n in self.source.of(ast.Constant) if isinstance(n.value, str)}
        )

    @cached_property
    def _unused(self) -> frozenset[ast.AST]:
        """Functions, methods aside, that nothing names."""
        return frozenset(
            f
            for f in self.source.of(ast.FunctionDef, ast.AsyncFunctionDef)
            if f.name not in self._loaded
            and f.name != "main"  # which TensorFlow's and absl's `app.run()` call
            and not f.decorator_list
            and not isinstance(self.source.parents.get(f), ast.ClassDef)
        )

    def matching(self, pattern: str) -> tuple[ast.Call, ...]:
        """Calls whose last name is matched, but the program's own."""
        ask = re.compile(pattern)
        return tuple(
            c
            for c in self.source.calls
            if ask.search(last_name(c.func)) and not self._is_own(c) and self.runs(c)
        )

    def place(self, node: ast.AST | None) -> Place | None:
        """Where a node stands."""
        return self.source.place(node) if node is not None else None

    def value(self, node: ast.expr | None) -> object:
        """The constant that an expression stands for, or None."""
        known, value, _ = extractor(self.source).value(node)
        return value if known else None

    def number(self, node: ast.expr | None) -> float | None:
        """The number that an expression stands for, or None."""
        value = self.value(node)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    @cached_property
    def keywords(self) -> dict[str, list[ast.keyword]]:
        """Arguments by name, of all calls."""
        found: dict[str, list[ast.keyword]] = defaultdict(list)
        for call in self.source.calls:
            for word in call.keywords:
                if word.arg and self.runs(call):
                    found[word.arg].append(word)
        return found

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name, attribute, argument and text of one word that stands in the program."""
        found: set[str] = set()
        for node in self.source.of(ast.Name, ast.Attribute, ast.keyword, ast.arg, ast.Constant, ast.alias):
            if not self.runs(node):
                continue
            match node:
                case ast.Name():
                    if isinstance(node.ctx, ast.Load) or node.id in self._loaded:
                        found.add(node.id)
                case ast.Attribute():
                    found.add(node.attr)
                case ast.keyword() | ast.arg():
                    found.add(node.arg or "")
                case ast.alias() if node.asname:
                    found.add(node.name.rpartition(".")[2])
                case ast.Constant(value=str() as text) if len(text) < 60 and " " not in text:
                    found.add(text)
        return frozenset(found | (self.own & self._loaded))

    def mentions(self, pattern: str) -> bool:
        """Whether a name, argument or word of the program is matched; case does not matter."""
        ask = re.compile(pattern, re.IGNORECASE)
        return any(ask.search(w) for w in self.words)

    @cached_property
    def given(self) -> dict[str, list[ast.expr]]:
        """What names and attributes are assigned, by their last name."""
        found: dict[str, list[ast.expr]] = defaultdict(list)
        for node in self.source.of(ast.Assign):
            for target in node.targets:
                pairs = paired(target, node.value)
                for one, value in pairs:
                    if isinstance(one, (ast.Name, ast.Attribute)):
                        found[last_name(one)].append(value)
        return found

    def follow(self, node: ast.AST, depth: int = MAX_DEPTH) -> Iterator[ast.AST]:
        """All nodes of an expression, and of what its names were assigned once."""
        for part in walk(node):
            yield part
            if depth and isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
                made = self.given.get(last_name(part), [])
                if len(made) == 1 and made[0] is not node:
                    yield from self.follow(made[0], depth - 1)

    def said(self, node: ast.AST) -> frozenset[str]:
        """Names and attributes of an expression and of what its names stand for."""
        return frozenset(last_name(n) for n in self.follow(node) if isinstance(n, (ast.Name, ast.Attribute)))

    def imported_from(self, module: str) -> frozenset[str]:
        """The names that are imported from a module: `from torch.distributions import Normal`."""
        return frozenset(
            a.asname or a.name
            for n in self.source.of(ast.ImportFrom)
            if module in (n.module or "").split(".")
            for a in n.names
        )

    @property
    def by_trainer(self) -> bool:
        """Whether a Trainer of transformers trains, with its arguments' defaults."""
        return bool(self.matching(r"TrainingArguments$|^SFTConfig$"))

    @cached_property
    def framework(self) -> str:
        """torch, keras, mindspore, or "" where it is none or several of them."""
        known = {"torch": "torch", "pytorch": "torch", "tensorflow": "keras", "keras": "keras"}
        found = {known.get(f.lower(), f.lower()) for f in self.source.frameworks}
        found &= {"torch", "keras", "mindspore"}
        return next(iter(found)) if len(found) == 1 else ""
