"""A symbolic run that notes what training learns from and what the model is asked of without learning."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from ..readers._tree import below, names_in, of
from ..readers.script import last_name, receiver
from ..script_diff.vocabulary import word_set
from ..scripts.syntax import Script
from .evaluate import Evaluator
from .machine import Left, OutOfSteps
from .values import Env, Obj, Store, Term

_WRAPS = word_set(
    "to cuda npu cpu half float train eval DataParallel DistributedDataParallel DDP compile prepare "
    "channels_last requires_grad_ apply type convert_sync_batchnorm item set_train"
)
_WEIGHTS = ("parameters", "trainable_params", "named_parameters")
_GRADIENTS = ("value_and_grad", "grad")
MOST = 400  # of events of each kind


@dataclass(frozen=True)
class Event:
    """Something that happened: the call, what it is about, the loops around it, and its place in time."""

    node: ast.AST
    about: Term
    loops: tuple[ast.AST, ...]
    time: int
    model: Term | None = None
    told: str = ""  # of a part that is handed over by name: "validation_data"


class Watch(Evaluator):
    """Runs a script and notes losses, calls of models, and data that are handed to a trainer."""

    def __init__(self, source: Script, steps: int = 30_000) -> None:
        super().__init__(source, steps)
        self.store = Store(closures=True)
        self.make = self.store.make
        self.learning = frozenset()  # type: ignore[assignment]  # functions that learn are gone into as well
        self.losses: list[Event] = []
        self.asked: list[Event] = []
        self.learnt: list[Event] = []  # data handed to what trains by itself
        self.scored: list[Event] = []
        self.models: set[int] = set()  # keys of what weights are taken of
        self.compares: list[Term] = []
        self.tests: dict[ast.AST, Term] = {}
        self.around: list[ast.AST] = []
        self.clock = 0

    # ------------------------------------------------------------------------------------ what is noted

    def note(
        self, into: list[Event], node: ast.AST, about: Term, model: Term | None = None, told: str = ""
    ) -> None:
        """Put down something that happened."""
        self.clock += 1
        if len(into) < MOST:
            into.append(Event(node, about, tuple(self.around), self.clock, model, told))

    def known(self, name: str, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term:
        """A call that is not gone into: noted where it learns, scores, or asks a model."""
        made = super().known(name, args, kw, node)
        if not isinstance(node, ast.Call):
            return made
        if name in _WEIGHTS and args:
            self.models.add(base(args[0]).key)
        elif name == "backward" and args:
            for one in args:
                self.note(self.losses, node, one)
        elif name == "gradient" and len(args) >= 2:
            self.note(self.losses, node, args[1])
            for one in args[2:3]:
                self.models |= {base(t.args[0]).key for t in (one,) if t.head.startswith("attr:train")}
        elif name == "called" and args:
            self.note(self.asked, node, made, base(args[0]))
        elif name in ("fit", "train", "evaluate", "predict", "eval") and args:
            self._handed(name, args, kw, node)
        if "train_dataset" in kw and "eval_dataset" in kw and name.endswith("Trainer"):
            self.note(self.learnt, node, kw["train_dataset"], made, "train_dataset")
            self.note(self.scored, node, kw["eval_dataset"], made, "eval_dataset")
        return made

    def _handed(self, name: str, args: tuple[Term, ...], kw: dict[str, Term], node: ast.Call) -> None:
        model, rest = base(args[0]), args[1:]
        if not _trains_itself(model):
            return
        if (
            name == "fit"
            and rest
            and rest[0].head.startswith("call:")
            and rest[0].name in self.source.classes
        ):
            train, held = (  # Lightning: the trainer is handed the model
                next((v for v in (rest[i] if len(rest) > i else None, kw.get(key)) if v is not None), None)
                for i, key in ((1, "train_dataloaders"), (2, "val_dataloaders"))
            )
            for into, part, told in ((self.learnt, train, "fit"), (self.scored, held, "val_dataloaders")):
                if part is not None:
                    self.note(into, node, part, model, told)
        elif name == "fit":
            asked = (*rest[:2], kw.get("x"), kw.get("y"), kw.get("train_dataloaders"))
            data = [v for v in asked if v is not None]
            if data:
                self.note(self.learnt, node, self.make("tuple", node, tuple(data)), model, "fit")
            for key in ("validation_data", "val_dataloaders"):
                if key in kw:
                    self.note(self.scored, node, kw[key], model, key)
        elif name == "train" and len(rest) >= 2:
            self.note(self.learnt, node, rest[1], model, "train")
        elif name in ("evaluate", "predict", "eval"):
            data = [v for v in (*rest[:1], kw.get("x")) if v is not None]
            if data and data[0].head != "const":
                self.note(self.scored, node, data[0], model, name)

    def call(self, held: Term, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term:
        """Functions of gradients are gone into for the loss that they are of."""
        if held.head.startswith("call:") and held.name in _GRADIENTS and held.args:
            inner = held.args[0]
            if inner.head == "func":
                loss = self.call(inner, args, kw, node)
                self.note(self.losses, node, loss)
                return self.make("tuple", node, (loss, self.leaf("<gradients>", node)))
        return super().call(held, args, kw, node)

    def attribute(self, held: Term, name: str, node: ast.AST) -> Term:
        """The weights of a Keras model are asked for by an attribute."""
        if name in ("trainable_variables", "trainable_weights"):
            self.models.add(base(held).key)
        return super().attribute(held, name, node)

    # ------------------------------------------------------------------------------------ more than the base

    def truth(self, test: ast.expr, env: Env) -> bool | str | None:
        """Whether a condition holds; the value of one that is not known is kept."""
        told = super().truth(test, env)
        if told is None and isinstance(test, (ast.Compare, ast.UnaryOp, ast.BoolOp)):
            self.tests[test] = self._test(test, env)
        return told

    def _test(self, test: ast.expr, env: Env) -> Term:
        if isinstance(test, ast.Compare):
            parts = tuple(self.of(c, env) for c in below(test) if isinstance(c, ast.expr))
            return self._kept(self.make("other:Compare", test, parts, value=_signs(test)))
        if isinstance(test, ast.BoolOp):
            parts = tuple(self._test(v, env) for v in test.values)
            return self.make("other:BoolOp", test, parts, value=_signs(test))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, (ast.Not, ast.Invert)):
            return self.make("other:UnaryOp", test, (self._test(test.operand, env),), value=_signs(test))
        return self.of(test, env)

    def of(self, node: ast.expr, env: Env) -> Term:
        """The value of an expression; comparisons are kept."""
        if isinstance(node, ast.BoolOp) and all(isinstance(v, ast.Compare) for v in node.values):
            self.tick()
            return self._test(node, env)
        made = super().of(node, env)
        if made.head in ("other:Compare", "other:UnaryOp") and made.node is node:
            made = self.make(made.head, node, made.args, value=_signs(node))
            return self._kept(made) if isinstance(node, ast.Compare) else made
        return made

    def _subscript(self, node: ast.Subscript, env: Env) -> Term:
        """`rows[places, :3]` takes rows first, and columns of them."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if len(parts) > 1 and not isinstance(parts[0], (ast.Slice, ast.Constant)):
            if any(isinstance(p, ast.Slice) for p in parts[1:]):
                rows = self.item(self.of(node.value, env), self.of(parts[0], env), node)
                return self.make("slice", node, (rows,), value="columns")
        return super()._subscript(node, env)

    def _kept(self, made: Term) -> Term:
        if len(self.compares) < MOST:
            self.compares.append(made)
        return made

    def each(self, over: Term, node: ast.AST) -> Term:
        """What a loop gets; the count of a range keeps its bounds."""
        if over.head in ("call:range", "call:arange", "call:trange") and over.args:
            return self.make("count", node, over.args, value="range")
        return super().each(over, node)

    def _loop(self, node: ast.For | ast.AsyncFor, env: Env) -> Term | None:
        self.around.append(node)
        try:
            return super()._loop(node, env)
        finally:
            self.around.pop()

    def _statement(self, node: ast.stmt, env: Env) -> Term | None:
        """What a `while` asks for and changes is a count, not its first value."""
        if isinstance(node, ast.While):
            stored = {n.id for s in node.body for n in of(s, ast.Name) if isinstance(n.ctx, ast.Store)}
            for name in names_in(node.test) & stored:
                env.names[name] = self.make("count", node, value="while")
        return super()._statement(node, env)

    def _side(self, body: Sequence[ast.stmt], env: Env) -> tuple[Term | None, bool]:
        whiles = body and isinstance(parent := self.source.parents.get(body[0]), ast.While)
        if whiles:
            self.around.append(parent)  # type: ignore[arg-type]
        try:
            return super()._side(body, env)
        finally:
            if whiles:
                self.around.pop()

    def _alone(self, node: ast.expr, env: Env) -> None:
        """`random.shuffle(rows)`, `groups.setdefault(kind, []).append(row)` change what they are asked of."""
        super()._alone(node, env)
        inner = (
            node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        )
        if isinstance(inner, ast.Call) and last_name(inner.func) == "setdefault" and inner.args:
            self._grown(node, inner, env)
        if isinstance(node, ast.Call) and last_name(node.func) == "shuffle" and node.args:
            target = node.args[0]
            if isinstance(target, (ast.Name, ast.Attribute)):
                held = self.of(target, env)
                self.assign(target, self.make("call:shuffled", node, (held,)), env)

    def _grown(self, node: ast.expr, inner: ast.Call, env: Env) -> None:
        """`groups.setdefault(kind, []).append(row)`."""
        target = receiver(inner)
        if isinstance(target, (ast.Name, ast.Attribute)) and isinstance(node, ast.Call) and node.args:
            listed = self.make("list_of", node, (self.of(node.args[0], env),))
            parts = (self.of(target, env), self.of(inner.args[0], env), listed)
            self.assign(target, self.make("setitem", node, parts), env)


def _signs(test: ast.expr) -> str:
    """The operators of a condition."""
    if isinstance(test, ast.Compare):
        return " ".join(type(o).__name__ for o in test.ops)
    return type(test.op).__name__ if isinstance(test, (ast.BoolOp, ast.UnaryOp)) else ""


def base(held: Term) -> Term:
    """A model behind what moves or wraps it."""
    for _ in range(8):
        wraps = held.head == "attr:module" or (held.head.startswith("call:") and held.name in _WRAPS)
        if not wraps or not held.args:
            break
        held = held.args[0]
    return held


_NO_MODEL = (
    *("scal", "encod", "vector", "imput", "pca", "normal", "lookup", "token", "binar", "transform"),
    *("preproc", "reducer", "kmeans", "nearest"),
)


def _trains_itself(model: Term) -> bool:
    name = model.name if model.head.startswith("call:") else str(model.value) if model.head == "leaf" else ""
    return bool(name) and not any(w in name.lower() for w in _NO_MODEL)


@lru_cache(maxsize=16)
def watched(source: Script) -> Watch:
    """The run of a script's module, and of a class of loaders that a trainer would ask."""
    run = Watch(source)
    with suppress(OutOfSteps, RecursionError, Left):
        run.run_module()
    for owner in source.classes.values():
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        if {"train_dataloader", "val_dataloader"} <= set(methods):
            with suppress(OutOfSteps, RecursionError, Left):
                _loaders(run, owner, methods)
    return run


def set_up(run: Evaluator, owner: ast.ClassDef, methods: Mapping[str, ast.FunctionDef]) -> Term:
    """An object of a class of loaders, made and prepared as a trainer would do it."""
    held = run.instance(owner.name, (), {}, owner)
    if held.head != "obj":
        held = run.make("obj", owner, value=Obj(owner, run.top))
        run.objects.append(held.value)
        if "__init__" in methods:
            run.run_function(methods["__init__"], held)
    for name in ("prepare_data", "setup"):
        if name in methods:
            run.run_function(methods[name], held)
    return held


def _loaders(run: Watch, owner: ast.ClassDef, methods: dict[str, ast.FunctionDef]) -> None:
    run.steps = max(run.steps, 8_000)
    held = set_up(run, owner, methods)
    for name in ("train_dataloader", "val_dataloader", "test_dataloader"):
        if name not in methods:
            continue
        out = run.run_function(methods[name], held).names.get("<returned>")
        if out is not None:
            run.note(run.learnt if name.startswith("train") else run.scored, methods[name], out, held, name)
