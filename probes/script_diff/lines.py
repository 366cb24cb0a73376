"""A program as units (module, functions, classes) of lines: its statements in normal form, without noise.

A line is a simple statement or the head of a compound one; `around` are the heads that it stands in. Logging,
paths, imports, documentation and type hints are left out: they change nothing that is trained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from ..readers.script import last_name
from ..scripts.conditions import is_main
from ..scripts.syntax import Function, Script
from .batches import entries, in_tuples, unpacked
from .equal import rewritten
from .terms import Normaliser, Term, is_functional, renamed
from .vocabulary import FUNCTIONAL, STATELESS, word_set

MAX_LINES = 20_000
Nodes = tuple[ast.AST, ...]
_SILENT = word_set(
    "print info debug warning warn error log exception add_scalar add_scalars add_histogram add_image "
    "add_text add_figure set_description set_postfix set_postfix_str log_metrics log_dict writerow writerows "
    "makedirs mkdir write flush basicConfig setLevel getLogger StreamHandler FileHandler addHandler finish "
    "savefig show plot figure imshow legend title xlabel ylabel close pprint display filterwarnings "
    "simplefilter dump collect empty_cache synchronize update_pbar watch echo secho rule track_metrics "
    "getLogger set_verbosity_info add_argument_group print_trainable_parameters summary barrier save_metrics "
    "init_trackers end_training log_metric log_params log_param log_scalar log_artifact add_hparams"
)
_KEPT_MODULES = ("torch", "nn", "F", "np", "numpy", "random", "tf", "ops", "mindspore", "dist", "jax", "jnp")


@dataclass(eq=False)
class Line:
    """One statement: its normal form, where it stands, what it gives values to."""

    term: Term
    node: ast.stmt
    unit: Unit
    around: tuple[Line, ...]
    branch: str = ""
    targets: tuple[str, ...] = ()

    @property
    def head(self) -> bool:
        """Whether other lines stand in it."""
        return self.term.kind in ("for", "while", "if", "with", "try")


@dataclass(eq=False)
class Unit:
    """A function, a class body or the module: what is compared with its counterpart."""

    name: str
    node: ast.AST
    parameters: tuple[str, ...] = ()
    lines: list[Line] = field(default_factory=list)

    @property
    def last(self) -> str:
        """The name without its class."""
        return self.name.rsplit(".", 1)[-1]

    @property
    def owner(self) -> str:
        """The class that a method belongs to, or ""."""
        return self.name.rpartition(".")[0]


@dataclass(eq=False)
class Program:
    """A script's units by name, in source order."""

    source: Script
    units: list[Unit]
    cut: bool = False  # it has more lines than are compared

    @property
    def lines(self) -> Iterator[Line]:
        """All lines."""
        for unit in self.units:
            yield from unit.lines

    @cached_property
    def called_names(self) -> frozenset[str]:
        """Last names of all that is called."""
        return frozenset(t.label for x in self.lines for t in x.term.walk() if t.kind == "call")

    @cached_property
    def read_names(self) -> frozenset[str]:
        """The same, and of all attributes that are read."""
        read = frozenset(t.label for x in self.lines for t in x.term.walk() if t.kind == "attribute")
        return self.called_names | read


@lru_cache(maxsize=16)
def program(source: Script, tuples: bool = False) -> Program:
    """The program in normal form, made once. `tuples`: batches that are dicts are read as if unpacked."""
    return _Reader(source, tuples).read()


def programs(mine: Script, theirs: Script) -> tuple[Program, Program]:
    """Both programs in normal form, with batches in the form of the other one."""
    return program(mine, _unlike(mine, theirs)), program(theirs, _unlike(theirs, mine))


def _unlike(source: Script, other: Script) -> bool:
    """Whether batches are dicts in a program, and tuples in the other one."""
    return bool(unpacked(source)) and not entries(other) and in_tuples(other)


class _Reader:
    def __init__(self, source: Script, tuples: bool = False) -> None:
        self.source = source
        nodes = tuple(ast.walk(source.tree))
        held = unpacked(source) if tuples else {}
        self.normal = Normaliser(nodes, _signatures(source, nodes), _made(nodes), held, _functions(source))
        self.scoped = _made_apart(nodes)
        self.units: list[Unit] = []
        self.count = 0
        self.local = _local_modules(source, nodes)

    def read(self) -> Program:
        for name in self.local:
            self.normal.imported.pop(name, None)
        top = Unit("", self.source.tree)
        self.units.append(top)
        self._block(self.source.tree.body, top, (), "")
        return Program(self.source, self.units, self.count > MAX_LINES)

    def _block(self, body: list[ast.stmt], unit: Unit, around: tuple[Line, ...], branch: str) -> None:
        for i, node in enumerate(body):
            if self.count > MAX_LINES or len(around) > 40:
                return
            if isinstance(node, ast.If) and _skips_rounds(node) and body[i + 1 :]:
                test = self.normal.term(_contrary(node.test))
                head = self._line("if", (("test", test),), node, unit, around, branch)
                self._block(body[i + 1 :], unit, (*around, head), "body")
                return
            self._statement(node, unit, around, branch)

    def _unit(self, node: Function | ast.ClassDef, unit: Unit) -> None:
        name = f"{unit.name}.{node.name}" if unit.name else node.name
        parameters: tuple[str, ...] = ()
        if not isinstance(node, ast.ClassDef):
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            parameters = tuple(a.arg for a in every)
        made = Unit(name, node, parameters)
        self.units.append(made)
        outer = self.normal.made
        if node in self.scoped:
            self.normal.made = {**outer, **self.scoped[node]}
        for decorator in node.decorator_list:
            self._line("decorator", (("value", self.normal.term(decorator)),), node, made, ())
        if not isinstance(node, ast.ClassDef):
            plain = [*given.posonlyargs, *given.args]
            pairs = list(zip(plain[len(plain) - len(given.defaults) :], given.defaults, strict=False))
            pairs += [
                (a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None
            ]
            for argument, default in pairs:
                parts = (("target", Term("name", argument.arg)), ("value", self.normal.term(default)))
                line = self._line("default", parts, node, made, ())
                line.targets = (argument.arg,)
        self._block(node.body, made, (), "")
        self.normal.made = outer

    def _line(
        self,
        kind: str,
        parts: tuple[tuple[str, Term], ...],
        node: ast.stmt,
        unit: Unit,
        around: tuple[Line, ...],
        branch: str = "",
    ) -> Line:
        parts = tuple((edge, rewritten(part)) for edge, part in parts)
        line = Line(Term(kind, "", parts, node), node, unit, around, branch)
        unit.lines.append(line)
        self.count += 1
        return line

    def _statement(self, node: ast.stmt, unit: Unit, around: tuple[Line, ...], branch: str) -> None:
        term = self.normal.term
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._unit(node, unit)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            target, over = _counted_off(node.target, node.iter)
            parts = (("target", term(target)), ("value", term(over)))
            head = self._line("for", parts, node, unit, around, branch)
            head.targets = self.normal.held.get(target) or _targets(node.target)
            self._block(node.body, unit, (*around, head), "body")
            self._block(node.orelse, unit, around, branch)
        elif isinstance(node, ast.While):
            head = self._line("while", (("test", term(node.test)),), node, unit, around, branch)
            self._block(node.body, unit, (*around, head), "body")
        elif isinstance(node, ast.If):
            if is_main(node.test):
                self._block(node.body, unit, around, branch)
                return
            if all(self._silent(s) for s in (*node.body, *node.orelse)):
                return
            head = self._line("if", (("test", term(node.test)),), node, unit, around, branch)
            self._block(node.body, unit, (*around, head), "body")
            self._block(node.orelse, unit, (*around, head), "else")
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            inner = around
            for item in node.items:
                value = term(item.context_expr)
                if value.kind == "call" and value.label in (
                    "open",
                    "set_detect_anomaly",
                    "profile",
                    "record_function",
                    "as_default",  # of a writer, or of a graph
                ):
                    continue
                head = self._line("with", (("value", value),), node, unit, inner, branch)
                if item.optional_vars is not None:
                    head.targets = _targets(item.optional_vars)
                inner = (*inner, head)
            self._block(node.body, unit, inner, "body" if inner != around else branch)
        elif isinstance(node, ast.Try):
            self._block(node.body, unit, around, branch)
            for handler in node.handlers:
                if not all(self._silent(s) or isinstance(s, ast.Raise) for s in handler.body):
                    head = self._line("try", (), node, unit, around, branch)
                    self._block(handler.body, unit, (*around, head), "else")
            self._block([*node.orelse, *node.finalbody], unit, around, branch)
        elif not self._silent(node):
            self._simple(node, unit, around, branch)

    def _simple(self, node: ast.stmt, unit: Unit, around: tuple[Line, ...], branch: str) -> None:
        term = self.normal.term
        if isinstance(node, ast.Assign) and node.targets:
            if self._pairs(node, unit, around, branch):
                return
            first = node.targets[0]
            if (
                isinstance(first, ast.Attribute)
                and first.attr == "grad"
                and isinstance(node.value, ast.Constant)
            ):
                cleared = Term("call", "zero_grad", (("self", term(first.value)),), node)  # p.grad = None
                self._line("do", (("value", cleared),), node, unit, around, branch)
                return
            parts = (("target", term(node.targets[0])), ("value", term(node.value)))
            line = self._line("assign", parts, node, unit, around, branch)
            line.targets = tuple(name for t in node.targets for name in _targets(t))
        elif isinstance(node, ast.AnnAssign):
            if node.value is None:
                return
            parts = (("target", term(node.target)), ("value", term(node.value)))
            line = self._line("assign", parts, node, unit, around, branch)
            line.targets = _targets(node.target)
        elif isinstance(node, ast.AugAssign):
            summed = term(ast.copy_location(ast.BinOp(node.target, node.op, node.value), node))
            parts = (("target", term(node.target)), ("value", summed))
            line = self._line("assign", parts, node, unit, around, branch)
            line.targets = _targets(node.target)
        elif isinstance(node, ast.Return):
            value = node.value if node.value is not None else ast.Constant(None)
            self._line("return", (("value", term(value)),), node, unit, around, branch)
        elif isinstance(node, ast.Expr):
            line = self._line("do", (("value", term(node.value)),), node, unit, around, branch)
            line.targets = _filled(node.value)
        elif isinstance(node, (ast.Break, ast.Continue)):
            self._line(type(node).__name__.lower(), (), node, unit, around, branch)
        elif isinstance(node, ast.Delete):
            return
        else:
            inner = tuple((f"#{i}", term(c)) for i, c in enumerate(ast.iter_child_nodes(node)))
            self._line("other", inner, node, unit, around, branch)

    def _pairs(self, node: ast.Assign, unit: Unit, around: tuple[Line, ...], branch: str) -> bool:
        """`a, b = f(x), g(x)` as two lines, where neither needs the other."""
        target, value = node.targets[0], node.value
        if len(node.targets) > 1 or not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
            return False
        if len(target.elts) != len(value.elts) or any(
            isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)
        ):
            return False
        given = {n for t in target.elts for n in _targets(t)}
        for i, one in enumerate(value.elts):
            used = {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
            if used & (given - set(_targets(target.elts[i]))):
                return False
        for t, v in zip(target.elts, value.elts, strict=True):
            parts = (("target", self.normal.term(t)), ("value", self.normal.term(v)))
            line = self._line("assign", parts, node, unit, around, branch)
            line.targets = _targets(t)
        return True

    def _silent(self, node: ast.stmt) -> bool:
        if isinstance(
            node, (ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.Assert, ast.Raise)
        ):
            return True
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant):
                return True
            return isinstance(node.value, ast.Call) and self._is_log(node.value)
        if isinstance(node, ast.If):
            return all(self._silent(s) for s in (*node.body, *node.orelse))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = last_name(node.value.func)
            return name in (
                "SummaryWriter",
                "create_file_writer",
                "getLogger",
                "time",
                "perf_counter",
                "tqdm",
                "ArgumentParser",
                "parse_args",
            ) and (name != "tqdm" or not node.value.args)
        return False

    def _is_log(self, call: ast.Call) -> bool:
        name = last_name(call.func)
        if name in ("step", "backward", "zero_grad", "eval", "train"):
            return False
        if name in _SILENT:
            owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            return owner.split(".")[0] not in _KEPT_MODULES or name in (
                "empty_cache",
                "synchronize",
                "barrier",
            )
        return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).split(".")[-1] in (
            "logger",
            "logging",
            "wandb",
            "writer",
            "summary",
            "console",
            "warnings",
            "plt",
        )


def _skips_rounds(node: ast.If) -> bool:
    """`if i % n: continue`: what follows is done in one round of n, as under the contrary condition."""
    alone = len(node.body) == 1 and isinstance(node.body[0], ast.Continue) and not node.orelse
    return alone and any(isinstance(n, ast.Mod) for n in ast.walk(node.test))


_CONTRARY: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.GtE(),
    ast.GtE: ast.Lt(),
    ast.Gt: ast.LtE(),
    ast.LtE: ast.Gt(),
}


def _contrary(test: ast.expr) -> ast.expr:
    """The condition that holds where this one does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _CONTRARY:
        made = ast.Compare(test.left, [_CONTRARY[type(test.ops[0])]], test.comparators)
        return ast.copy_location(made, test)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):  # `if i % n: continue`
        return ast.copy_location(ast.Compare(test, [ast.Eq()], [ast.Constant(0)]), test)
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _targets(node: ast.expr) -> tuple[str, ...]:
    """What an assignment gives values to: "x", "self.head", and "group" for `group["lr"]`."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(name for e in node.elts for name in _targets(e))
    if isinstance(node, ast.Starred):
        return _targets(node.value)
    if isinstance(node, ast.Attribute):
        return (ast.unparse(node),)
    if isinstance(node, ast.Subscript):
        return _targets(node.value)
    return ()


def _counted_off(target: ast.expr, over: ast.expr) -> tuple[ast.expr, ast.expr]:
    """`for i, batch in enumerate(loader)`: the loop over the batches. A count from elsewhere than 0 stays."""
    while isinstance(over, ast.Call) and last_name(over.func) in ("tqdm", "enumerate") and over.args:
        if last_name(over.func) == "enumerate":
            pair = target.elts if isinstance(target, ast.Tuple) else []
            if len(pair) != 2 or len(over.args) > 1 or over.keywords:
                break
            target = pair[1]
        over = over.args[0]
    return target, over


def _filled(node: ast.expr) -> tuple[str, ...]:
    """What a call puts something into, or in order: the list of `losses.append(...)`, of `shuffle(rows)`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "shuffle" and len(node.args) == 1:
        return _targets(node.args[0])
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ()
    if node.func.attr in ("sort", "reverse") and not node.args:
        return _targets(node.func.value)
    if node.func.attr in ("append", "extend", "insert", "add"):
        into = node.func.value  # `groups.setdefault(key, []).append(p)` fills `groups`
        if isinstance(into, ast.Call) and isinstance(into.func, ast.Attribute):
            into = into.func.value if into.func.attr in ("setdefault", "get") else into
        return _targets(into)
    if node.func.attr in ("add_argument", "add_option", "option") and node.args:
        names = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        long = next((n for n in names if n.startswith("--")), names[0] if names else "")
        return (long.lstrip("-").replace("-", "_"),)
    return ()


def _signatures(source: Script, nodes: Nodes) -> dict[str, tuple[str, ...]]:
    """Parameters of the program's own functions and classes, where a name stands for one of them only."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args))
            parent = source.parents.get(node)
            if isinstance(parent, ast.ClassDef):
                names = names[1:]
                if node.name == "__init__":
                    found.setdefault(parent.name, set()).add(names)
                    continue
                if node.name.startswith("__") or node.name in ("forward", "construct", "call"):
                    continue
            found.setdefault(node.name, set()).add(names)
    plain = {name: next(iter(every)) for name, every in found.items() if len(every) == 1}
    if {"keras", "tensorflow", "tf_keras"} & set(source.frameworks):
        plain.setdefault("Dense", ("in_features", "activation"))  # `Dense(7, "softmax")`
    return plain


def _functions(source: Script) -> frozenset[str]:
    """Names of the program's functions that no class of it has as a method."""
    every = [(n.name, isinstance(source.parents.get(n), ast.ClassDef)) for n in source.of(ast.FunctionDef)]
    return frozenset(n for n, _ in every) - {n for n, method in every if method}


def _made(nodes: Nodes) -> dict[str, ast.Call]:
    """Names that hold one object without parameters everywhere: `criterion = nn.CrossEntropyLoss()`."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, (ast.Name, ast.Attribute)):
                    found.setdefault(ast.unparse(target), []).append(node.value)
    for node in nodes:
        if isinstance(node, ast.arg):
            found.setdefault(node.arg, []).append(ast.Constant(None))
    made = {}
    for name, values in found.items():
        first = _stateless(values[0])
        if first is not None and len({ast.dump(v) for v in values}) == 1:
            made[name] = first
    return made


def _stateless(node: ast.expr) -> ast.Call | None:
    """The call that makes an object without parameters: `nn.MSELoss()`; None of anything else."""
    first = _unplaced(node)
    if is_functional(first):
        first = ast.copy_location(ast.Call(func=first, args=[], keywords=[]), first)
    if isinstance(first, ast.Call):
        if last_name(first.func) in STATELESS | FUNCTIONAL.keys() or is_functional(first.func):
            return first
    return None


def _made_apart(nodes: Nodes) -> dict[ast.AST, dict[str, ast.Call]]:
    """The same by function, of names that functions give objects of their own: `criterion` in two of them.

    A name that is a parameter, is global or is given twice in one of them is left out.
    """
    found: dict[str, dict[ast.AST, list[ast.expr]]] = {}
    passed = {n.arg for n in nodes if isinstance(n, ast.arg)}
    passed |= {name for n in nodes if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    for function in nodes:
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in _inside(function):
                targets = node.targets if isinstance(node, ast.Assign) else []
                for target in targets:
                    if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                        found.setdefault(target.id, {}).setdefault(function, []).append(node.value)
    top = {t.id for n in nodes if isinstance(n, ast.Module) for x in n.body if isinstance(x, ast.Assign)
           for t in x.targets if isinstance(t, ast.Name)}  # fmt: skip
    scoped: dict[ast.AST, dict[str, ast.Call]] = {}
    for name, by in found.items():
        made = {f: _stateless(values[0]) for f, values in by.items() if len(values) == 1}
        if name in passed | top or len(by) < 2 or len(made) < len(by) or None in made.values():
            continue
        for function, call in made.items():
            if call is not None:
                scoped.setdefault(function, {})[name] = call
    return scoped


def _inside(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's own body, without those of functions and classes in it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _inside(child)


def _unplaced(node: ast.expr) -> ast.expr:
    """`nn.ReLU().to(device)` -> `nn.ReLU()`."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("to", "cuda", "npu")
        and isinstance(node.func.value, ast.Call)
    ):
        node = node.func.value
    return node


def _local_modules(source: Script, nodes: Nodes) -> list[str]:
    """Names that are imported from a file of the program itself: they are its own, no library's."""
    mine = {path.rsplit("/", 1)[-1].removesuffix(".py") for _, path in source.pieces} | {
        source.path.rsplit("/", 1)[-1].removesuffix(".py")
    }
    found = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            local = node.level > 0 or (node.module or "").split(".")[-1] in mine
            if local:
                found += [a.asname or a.name for a in node.names]
    return found


__all__ = ["Line", "Program", "Unit", "program", "renamed"]
