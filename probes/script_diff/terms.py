"""Expressions in normal form: two ways to write one thing become one term.

A term is a labelled tree. Imports are resolved to their last name, positional arguments of known calls get
their keyword, tensor methods and functions are one (`x.softmax(1)`, `F.softmax(x, dim=1)`), devices, progress
bars and defaults that are written out are looked through.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .vocabulary import (
    DEFAULTS,
    FIRST_OF,
    FUNCTIONAL,
    FUNCTIONS,
    LOOKED_THROUGH,
    NO_MATTER,
    OF_FUNCTIONAL,
    SAME,
    SIGNATURES,
    STATELESS,
    WRAPPERS,
)

MAX_NESTING = 120  # what is nested deeper is one opaque term


@dataclass(frozen=True, eq=False)
class Term:
    """A node: its kind, what it is called, and its parts by edge. `node` is where it was written."""

    kind: str
    label: str
    parts: tuple[tuple[str, Term], ...] = ()
    node: ast.AST | None = None

    @cached_property
    def key(self) -> int:
        """Equal for equal terms; the operands of commutative operations in any order."""
        return hash((self.kind, self.label, self._part_keys()))

    def _part_keys(self) -> tuple[tuple[str, int], ...]:
        keys = tuple((edge, part.key) for edge, part in self.parts)
        if self.kind == "operation" and self.label in _COMMUTATIVE:
            if self.label == "+" and any(part.kind in _JOINED for _, part in self.parts):
                return keys  # lists are put one behind the other
            return tuple(sorted(keys))
        return keys

    @cached_property
    def shape(self) -> int:
        """Equal for terms that differ in names only."""
        label = "" if self.kind in ("name", "attribute", "key") else self.label
        return hash((self.kind, label, tuple((edge, part.shape) for edge, part in self.parts)))

    @cached_property
    def size(self) -> int:
        """The number of terms in it."""
        return 1 + sum(part.size for _, part in self.parts)

    @cached_property
    def words(self) -> Counter[tuple[str, str]]:
        """What it is made of: (kind, label) -> how often."""
        found: Counter[tuple[str, str]] = Counter()
        for term in self.walk():
            found[term.kind, term.label] += 1
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """The plain names in it."""
        return frozenset(t.label for t in self.walk() if t.kind == "name")

    def walk(self) -> Iterator[Term]:
        """The term and all below it, from the outside in."""
        waiting = [self]
        while waiting:
            term = waiting.pop()
            yield term
            waiting += [part for _, part in reversed(term.parts)]

    def part(self, edge: str) -> Term | None:
        """The part at an edge."""
        for e, p in self.parts:
            if e == edge:
                return p
        return None


_JOINED = ("sequence", "comprehension")
_COMMUTATIVE = ("+", "*", "and", "or", "==", "!=", "&", "|")


def likeness(a: Term, b: Term) -> float:
    """How alike two terms are, 0 to 1: the share of what they are made of that both have."""
    if a.key == b.key:
        return 1.0
    common = sum((a.words & b.words).values())
    return 2 * common / (a.size + b.size)


_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.And: "and",
    ast.Or: "or",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "==",
    ast.IsNot: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Not: "not",
    ast.USub: "negative",
    ast.UAdd: "+",
    ast.Invert: "not",
}
_FLIPPED = {"<": ">", "<=": ">="}
_OF_MODEL = ("parameters", "named_parameters", "trainable_params", "modules", "children", "buffers")
_OF_BARS = ("total", "position", "unit")  # of a function of the program they may matter
_DEVICES = ("device", "dev", "cuda", "npu", "gpu", "local_rank", "rank", "accelerator")


class Normaliser:
    """Makes terms of one program's expressions."""

    def __init__(
        self,
        nodes: Iterable[ast.AST],
        signatures: Mapping[str, tuple[str, ...]] | None = None,
        made: Mapping[str, ast.Call] | None = None,
        held: Mapping[ast.AST, tuple[str, ...]] | None = None,
        functions: frozenset[str] = frozenset(),
    ) -> None:
        """`signatures`: parameters of the program's functions; `made`: stateless objects by expression.

        `held`: batches that are dicts, and their entries, by the names that stand for them.
        """
        self.held = held or {}
        self.imported = _imports(nodes)
        self.own = frozenset(signatures or ())
        self.signatures = {**SIGNATURES, **(signatures or {})}
        self.made = made or {}
        self.functions = functions  # the program's own, which are no methods
        self._depth = 0

    def term(self, node: ast.AST | None) -> Term:
        """The normal form of an expression."""
        if node is None:
            return Term("constant", "None")
        if self._depth >= MAX_NESTING:
            return Term("other", type(node).__name__, node=node)
        self._depth += 1
        try:
            return self._term(node)
        finally:
            self._depth -= 1

    def _term(self, node: ast.AST) -> Term:
        make = getattr(self, "_" + type(node).__name__.lower(), None)
        if make is not None:
            found: Term = make(node)
            return found
        children = [
            c for c in ast.iter_child_nodes(node) if not isinstance(c, (ast.expr_context, ast.operator))
        ]
        parts = tuple((f"#{i}", self.term(c)) for i, c in enumerate(children))
        return Term("other", type(node).__name__, parts, node)

    # ------------------------------------------------------------------------------------------- leaves

    def _constant(self, node: ast.Constant) -> Term:
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return Term("number", repr(float(value)) if abs(value) < 1e300 else repr(value), node=node)
        return Term("constant", repr(value), node=node)

    def _name(self, node: ast.Name) -> Term:
        if node in self.held:
            parts = tuple((f"#{i}", Term("name", n, node=node)) for i, n in enumerate(self.held[node]))
            return Term("sequence", "", parts, node)
        if node.id in self.imported:
            return Term("api", SAME.get(last := self.imported[node.id].split(".")[-1], last), node=node)
        return Term("name", node.id, node=node)

    def _attribute(self, node: ast.Attribute) -> Term:
        if self._of_module(node):
            if is_functional(node):
                return Term("call", node.attr, (), node)  # the function itself is what `nn.MSELoss()` makes
            return Term("api", SAME.get(node.attr, node.attr), node=node)
        if node.attr in ("T", "mT"):
            return Term("call", "transpose", (("#0", self.term(node.value)),), node)
        if node.attr == "data" and isinstance(node.value, ast.Name):
            return Term("call", "data", (("#0", self.term(node.value)),), node)
        return Term("attribute", node.attr, (("of", self.term(node.value)),), node)

    def _of_module(self, node: ast.expr) -> bool:
        """Whether a dotted name stands in an imported module."""
        while isinstance(node, ast.Attribute):
            node = node.value
        # `from npu_bridge.npu_init import *` binds npu_ops
        return isinstance(node, ast.Name) and (node.id in self.imported or node.id == "npu_ops")

    def _joinedstr(self, node: ast.JoinedStr) -> Term:
        text = "".join(str(v.value) for v in node.values if isinstance(v, ast.Constant))
        return Term("constant", repr(text), node=node)

    # --------------------------------------------------------------------------------------- operations

    def _binop(self, node: ast.BinOp) -> Term:
        left, right = self.term(node.left), self.term(node.right)
        label = _OPERATORS[type(node.op)]
        if label == "**" and right.label == "0.5":
            return Term("call", "sqrt", (("#0", left),), node)
        return Term("operation", label, (("left", left), ("right", right)), node)

    def _unaryop(self, node: ast.UnaryOp) -> Term:
        inner = self.term(node.operand)
        label = _OPERATORS[type(node.op)]
        if label == "negative" and inner.kind == "number":
            return Term("number", inner.label[1:] if inner.label[0] == "-" else "-" + inner.label, node=node)
        if label == "+":
            return inner
        return Term("operation", label, (("left", inner),), node)

    def _boolop(self, node: ast.BoolOp) -> Term:
        parts = tuple((f"#{i}", self.term(v)) for i, v in enumerate(node.values))
        return Term("operation", _OPERATORS[type(node.op)], parts, node)

    def _compare(self, node: ast.Compare) -> Term:
        if len(node.ops) > 1:
            parts = tuple((f"#{i}", self.term(v)) for i, v in enumerate([node.left, *node.comparators]))
            return Term("operation", " ".join(_OPERATORS[type(o)] for o in node.ops), parts, node)
        left, right = self.term(node.left), self.term(node.comparators[0])
        label = _OPERATORS[type(node.ops[0])]
        if label in _FLIPPED:
            label, left, right = _FLIPPED[label], right, left
        return Term("operation", label, (("left", left), ("right", right)), node)

    def _ifexp(self, node: ast.IfExp) -> Term:
        parts = (("test", node.test), ("then", node.body), ("else", node.orelse))
        made = tuple((e, self.term(n)) for e, n in parts)
        if made[1][1].key == made[2][1].key:
            return made[1][1]
        return Term("choice", "", made, node)

    # --------------------------------------------------------------------------------------- containers

    def _subscript(self, node: ast.Subscript) -> Term:
        if node in self.held:
            return Term("name", self.held[node][0], node=node)
        of = node.value
        if isinstance(of, ast.Attribute) and of.attr == "shape" and not self._of_module(of):
            return Term("call", "size", (("#0", self.term(of.value)), ("dim", self.term(node.slice))), node)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            index = Term("key", node.slice.value, node=node.slice)
        else:
            index = self.term(node.slice)
        return Term("item", "", (("of", self.term(of)), ("index", index)), node)

    def _slice(self, node: ast.Slice) -> Term:
        ends = (("from", node.lower), ("to", node.upper), ("step", node.step))
        return Term("slice", "", tuple((e, self.term(n)) for e, n in ends if n is not None), node)

    def _tuple(self, node: ast.Tuple | ast.List) -> Term:
        return Term("sequence", "", tuple((f"#{i}", self.term(e)) for i, e in enumerate(node.elts)), node)

    _list = _tuple

    def _set(self, node: ast.Set) -> Term:
        return Term("sequence", "set", tuple((f"#{i}", self.term(e)) for i, e in enumerate(node.elts)), node)

    def _dict(self, node: ast.Dict) -> Term:
        parts = []
        for i, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            named = isinstance(key, ast.Constant)
            edge = str(key.value) if isinstance(key, ast.Constant) else f"#{i}"
            if node in self.held:
                edge = f"#{i}"
            parts.append((edge, self.term(value)))
            if key is not None and not named:
                parts.append((f"{edge}-key", self.term(key)))
        if node in self.held:
            return Term("sequence", "", tuple(parts), node)
        return Term("mapping", "", tuple(sorted(parts, key=lambda p: p[0])), node)

    def _lambda(self, node: ast.Lambda) -> Term:
        names = [a.arg for a in node.args.args]
        body = _renamed(self.term(node.body), {n: f"lambda-{i}" for i, n in enumerate(names)})
        return Term("lambda", str(len(names)), (("body", body),), node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Term:
        parts = []
        for i, gen in enumerate(node.generators):
            parts += [(f"for{i}", self.term(gen.target)), (f"in{i}", self.term(gen.iter))]
            parts += [(f"if{i}.{j}", self.term(test)) for j, test in enumerate(gen.ifs)]
        if isinstance(node, ast.DictComp):
            parts += [("key", self.term(node.key)), ("value", self.term(node.value))]
        else:
            parts += [("value", self.term(node.elt))]
        label = "set" if isinstance(node, ast.SetComp) else "list"
        bound = [n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        made = Term("comprehension", label, tuple(parts), node)
        each = {n: f"each-{i}" for i, n in enumerate(dict.fromkeys(bound))}
        return _called_anew(_renamed(made, each), each)

    _listcomp = _setcomp = _generatorexp = _dictcomp = _comprehension

    def _starred(self, node: ast.Starred) -> Term:
        return Term("star", "", (("of", self.term(node.value)),), node)

    def _await(self, node: ast.Await) -> Term:
        return self.term(node.value)

    def _namedexpr(self, node: ast.NamedExpr) -> Term:
        return self.term(node.value)

    # -------------------------------------------------------------------------------------------- calls

    def _call(self, node: ast.Call) -> Term:
        func = node.func
        if (made := self.made.get(_dotted(func))) is not None:
            return self._functional(made, node)
        if isinstance(func, ast.Call):  # nn.CrossEntropyLoss()(a, b)
            name = self._name_of(func.func)
            if name in STATELESS or name in FUNCTIONAL:
                return self._functional(func, node)
        name = self._name_of(func)
        method = isinstance(func, ast.Attribute) and not self._of_module(func)
        owner = self.term(func.value) if isinstance(func, ast.Attribute) and method else None
        if owner is not None and self._looked_through(name, node):
            return owner
        if owner is None and name in WRAPPERS and node.args:
            return self.term(node.args[0])
        if owner is None and (inside := self._same_value(name, node)) is not None:
            return self.term(inside)
        if name == "gather" and _along_axis(node):
            name = "take_along"  # elements by their places; `gather` alone is what ranks do
        given = list(node.args)
        if name == "trange":
            name = "range"
        if name == "super":
            given = []
        if name == "size" and owner is not None and not node.args:
            return Term("attribute", "shape", (("of", owner),), node)
        if owner is not None and name not in FUNCTIONS:
            return self._arguments(name, [("self", owner)], given, node)
        first = [("", owner)] if owner is not None else []
        if name == "range" and len(given) == 2 and isinstance(given[0], ast.Constant):
            given = given[1:] if given[0].value == 0 else given
        if name == "dict" and not given and all(k.arg for k in node.keywords):
            named = sorted(node.keywords, key=lambda k: k.arg or "")
            parts = [(k.arg or "", self.term(k.value)) for k in named]
            return Term("mapping", "", tuple(parts), node)
        if not isinstance(func, (ast.Name, ast.Attribute)):
            first = [("self", self.term(func))]
        return self._arguments(name, first, given, node)

    def _same_value(self, name: str, node: ast.Call) -> ast.expr | None:
        """What a call gives that only asks for another way to keep it: `checkpoint(f, x)` is `f(x)`."""
        if name == "checkpoint" and len(node.args) > 1 and not isinstance(node.args[0], ast.Starred):
            written = (
                self.imported.get(node.func.id, "") if isinstance(node.func, ast.Name) else _dotted(node.func)
            )
            if "checkpoint" in written.rpartition(".")[0]:
                return ast.copy_location(ast.Call(func=node.args[0], args=node.args[1:], keywords=[]), node)
        if name == "list" and len(node.args) == 1 and not node.keywords:
            of = node.args[0]
            if isinstance(of, ast.Call) and isinstance(of.func, ast.Attribute) and of.func.attr in _OF_MODEL:
                return of
        return None

    def _functional(self, made: ast.Call, call: ast.Call) -> Term:
        """`criterion(a, b)` of an object without state: the function that it stands for."""
        name = self._name_of(made.func)
        given = list(call.args)
        settings = list(made.keywords)
        positional = self.signatures.get(name, ())
        both = ast.Call(
            func=made.func,
            args=call.args,
            keywords=[
                *call.keywords,
                *settings,
                *(ast.keyword(p, a) for p, a in zip(positional, made.args, strict=False)),
            ],
        )
        ast.copy_location(both, call)
        return self._arguments(FUNCTIONAL.get(name, name), [], given, both, call)

    def _name_of(self, func: ast.expr) -> str:
        if isinstance(func, ast.Attribute):
            name = func.attr
        elif isinstance(func, ast.Name):
            name = self.imported.get(func.id, func.id).split(".")[-1]
        else:
            return ""
        return SAME.get(name, name)

    def _looked_through(self, name: str, node: ast.Call) -> bool:
        if name in LOOKED_THROUGH:
            return True
        if name == "to" and (node.args or node.keywords):
            given = [
                *node.args,
                *(k.value for k in node.keywords if k.arg not in NO_MATTER or k.arg == "device"),
            ]
            return all(_is_device(g) for g in given)
        return False

    def _arguments(
        self,
        name: str,
        first: Sequence[tuple[str, Term]],
        given: Sequence[ast.expr],
        node: ast.Call,
        origin: ast.AST | None = None,
    ) -> Term:
        names = (SIGNATURES if first and name in self.functions else self.signatures).get(name, ())
        if (
            name == "dropout"
            and isinstance(node.func, ast.Attribute)
            and _dotted(node.func.value) == "npu_ops"
        ):
            names = ("#0", "keep_prob")  # as that of TensorFlow 1, whose place it takes on Ascend
        owned = first[0] if first and first[0][0] == "self" else None
        terms: list[Term] = [t for e, t in first if e != "self"] + [self.term(a) for a in given]
        parts: list[tuple[str, Term]] = [("self", owned[1])] if owned else []
        plain = any(t.kind == "star" for t in terms)
        for i, term in enumerate(terms):
            if owned and name == "map" and term.label == "AUTOTUNE":
                continue  # num_parallel_calls
            parts.append((names[i] if i < len(names) and not plain else f"#{i}", term))
        for keyword in node.keywords:
            edge = SAME.get(keyword.arg or "**", keyword.arg or "**")
            if edge in NO_MATTER and not (edge in _OF_BARS and (name in self.own or name == "partial")):
                continue
            if owned and not given and edge in FIRST_OF.get(name, ()):
                edge = "#0"
            parts.append((edge, self.term(keyword.value)))
        defaults = {**DEFAULTS.get("*", {}), **DEFAULTS.get(name, {})}
        kept = [(e, t) for e, t in parts if defaults.get(e) != t.label or t.parts or t.kind == "name"]
        kept.sort(key=lambda p: (p[0] != "self", not p[0].startswith("#"), p[0] if p[0][:1] != "#" else ""))
        return Term("call", FUNCTIONAL.get(name, name), tuple(kept), origin or node)


def _renamed(term: Term, names: Mapping[str, str]) -> Term:
    """The term with names replaced; places stay."""
    if not names or not (term.names & names.keys()):
        return term
    if term.kind == "name" and term.label in names:
        return Term("name", names[term.label], node=term.node)
    parts = tuple((edge, _renamed(part, names)) for edge, part in term.parts)
    return Term(term.kind, term.label, parts, term.node)


renamed = _renamed


def _called_anew(term: Term, names: Mapping[str, str]) -> Term:
    """The term with calls of a bound name renamed: `[layer(x) for layer in layers]`."""
    parts = tuple((edge, _called_anew(part, names)) for edge, part in term.parts)
    func = term.node.func if term.kind == "call" and isinstance(term.node, ast.Call) else None
    bound = isinstance(func, ast.Name) and func.id == term.label and term.label in names
    if not bound and all(a is b for (_, a), (_, b) in zip(parts, term.parts, strict=True)):
        return term
    return Term(term.kind, names[term.label] if bound else term.label, parts, term.node)


def _along_axis(node: ast.Call) -> bool:
    """`x.gather(1, places)`: an axis is told."""
    told: list[ast.expr] = [*node.args, *(k.value for k in node.keywords if k.arg in ("dim", "axis"))]
    return any(
        isinstance(n.operand if isinstance(n, ast.UnaryOp) else n, ast.Constant)
        and isinstance(ast.literal_eval(n), int)
        for n in told
        if isinstance(n, (ast.Constant, ast.UnaryOp))
    )


def is_functional(node: ast.expr) -> bool:
    """`F.mse_loss`, `nn.functional.relu`: a function that a class without parameters stands for."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in OF_FUNCTIONAL
        and _dotted(node.value).rpartition(".")[2] in ("F", "functional")
    )


def _dotted(node: ast.expr) -> str:
    """`self.act` -> "self.act"; "" for what is no dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (inner := _dotted(node.value)):
        return f"{inner}.{node.attr}"
    return ""


def _is_device(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, int, bool))
    text = ast.unparse(node).lower()
    return any(w in text for w in _DEVICES) and "dtype" not in text


def _imports(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Names that imports of other packages bind -> what they stand for."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
    return found
