"""Calls in a program on made numbers: its own functions, the model's answers, what is minimised and told."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..readers._tree import of
from ..readers.script import last_name
from ..scripts.syntax import Script
from . import figures, measures
from .arrays import SAME, Unfit, log_softmax, of_arrays, sigmoid
from .libraries import Libraries
from .things import (
    MODEL,
    Bound,
    Env,
    Instance,
    Kind,
    Library,
    Made,
    Returned,
    Routine,
    Unknown,
)
from .world import ROWS, World

_TELLS = (
    "print",
    "log",
    "info",
    "debug",
    "add_scalar",
    "log_dict",
    "write",
    "log_metrics",
    "log_metric",
    "report",
)
_DEEP = 12
_KERAS = re.compile(r"^(?:sparse_)?categorical_accuracy$|^binary_accuracy$|^acc(?:uracy)?$")


@dataclass(frozen=True)
class Note:
    """Something that is minimised or told: its kind, what it comes to if that is known, of which batch.

    `sure`: nothing on the way was guessed.
    """

    kind: str
    value: float | None
    node: ast.AST
    batch: int | None
    sure: bool


class Calls(Libraries):
    """The values of calls. `losses`: what is minimised; `figures`: what is told, by its label."""

    def __init__(self, source: Script, world: World) -> None:
        super().__init__(source, world)
        self.losses: list[Note] = []
        self.figures: list[Note] = []
        self.asked_metrics: list[Routine] = []
        self.instances: list[Instance] = []
        self._deep = 0
        self.coerced = _bounded(source)

    def call(self, node: ast.Call, env: Env) -> Any:
        """The value of a call. Raises Unfit."""
        callee = self.value(node.func, env)
        name = last_name(node.func)
        given = [
            v
            for a in node.args
            for v in (self._spread(a, env) if isinstance(a, ast.Starred) else [self.value(a, env)])
        ]
        named = {k.arg: self.value(k.value, env) for k in node.keywords if k.arg}
        if name == "compile" and "loss" in named:
            return self._compiled(named, node)
        if name in _TELLS or re.search(
            r"(?i)^(?:wandb|logger|logging|tf\.summary)\.", ast.unparse(node.func)
        ):
            self._told(node, env)
        if name in ("backward", "scale_loss") or (name == "gradient" and given):
            owner = callee.owner if isinstance(callee, Bound) else None
            loss = owner if isinstance(owner, (np.ndarray, float, int)) else given[0] if given else owner
            self.note_loss(loss, node)
            return None
        if name in ("value_and_grad", "grad") and given and isinstance(given[0], Routine):
            before, self.batch = self.batch, self.batch or 0
            with suppress(Unfit):
                self.note_loss(self.invoke(given[0], None, {}), node)
            self.batch = before
            return Unknown(f"gradient@{node.lineno}")
        if "compute_metrics" in named and isinstance(named["compute_metrics"], Routine):
            self.asked_metrics.append(named["compute_metrics"])
        if name == "Model" and isinstance(callee, Library):
            self._of_mindspore(given, named, node)
        return self.apply(callee, name, given, named, node)

    def _spread(self, node: ast.Starred, env: Env) -> list[Any]:
        held = self.value(node.value, env)
        if isinstance(held, Unknown) and held.pair:
            return [Unknown(f"{held.key}.0"), Unknown(f"{held.key}.1", truth=True)]
        if not isinstance(held, (list, tuple)):
            raise Unfit
        return list(held)

    # ---------------------------------------------------------------------------------- what is called

    def apply(self, callee: Any, name: str, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """What a callee gives. Raises Unfit."""
        if isinstance(callee, Routine):
            return self.invoke(callee, given, named)
        if isinstance(callee, Kind):
            return self.instance(callee, given, named)
        if isinstance(callee, Instance):
            if "__model__" in callee.attributes or callee.kind.is_net:
                return self._answer(
                    callee.attributes.get("__model__") or Unknown(callee.kind.node.name), given, named
                )
            for step in ("forward", "construct", "call", "__call__"):
                if (method := callee.kind.method(step)) is not None:
                    return self.invoke(Routine(method, callee.kind.around, callee), given, named)
            raise Unfit
        if isinstance(callee, Made):
            return self._of_made(callee, given, named)
        if isinstance(callee, Unknown):
            if callee.model or MODEL.match(name):
                return self._answer(callee, given, named)
            return Unknown(f"{callee.key}()", truth=False)
        if isinstance(callee, Bound):
            return self._of_bound(callee, given, named, node)
        if isinstance(callee, Library):
            return self._of_library(callee, given, named, node)
        raise Unfit

    def invoke(self, routine: Routine, given: list[Any] | None, named: dict[str, Any]) -> Any:
        """Run a function of the program; `given` None: on unknown arguments. Raises Unfit."""
        self.count()
        if self._deep >= _DEEP:
            raise Unfit
        args = routine.node.args
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        env: Env = {"__around__": routine.around}
        if routine.owner is not None and names[:1] in (["self"], ["cls"]):
            env[names.pop(0)] = routine.owner
        for place, default in zip(reversed(names), reversed(args.defaults), strict=False):
            env[place] = self.value(default, routine.around)
        for one, value in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if value is not None:
                env[one.arg] = self.value(value, routine.around)
        if any(isinstance(g, Instance) or (isinstance(g, Unknown) and g.model) for g in given or ()):
            self.questions.clear()
        known = dict(zip(names, given or (), strict=False))
        if args.vararg is not None:
            env[args.vararg.arg] = list((given or ())[len(names) :])
        for place in (*names, *(a.arg for a in args.kwonlyargs)):
            if place in known or place in named:
                held = known.get(place, named.get(place))
                env[place] = held.renamed(place) if isinstance(held, Unknown) else held
            elif place not in env:
                env[place] = Unknown(place, model=MODEL.match(place) is not None).renamed(place)
        if args.kwarg is not None:
            env[args.kwarg.arg] = {k: v for k, v in named.items() if k not in names}
        self._deep += 1
        try:
            if isinstance(routine.node, ast.Lambda):
                return self.value(routine.node.body, env)
            self.block(routine.node.body, env)
        except Returned as back:
            return back.value
        finally:
            self._deep -= 1
        return None

    def block(self, body: list[ast.stmt], env: Env) -> None:
        """Go through statements."""
        raise NotImplementedError

    def instance(self, kind: Kind, given: list[Any], named: dict[str, Any]) -> Any:
        """An object of a class of the program."""
        made = Instance(kind)
        if kind.is_net:
            made.attributes["__model__"] = Unknown(f"{kind.node.name}#{len(self.instances)}", model=True)
        self.instances.append(made)
        start = kind.method("__init__")
        if start is not None:
            self.invoke(Routine(start, kind.around, made), given, named)
        elif any("dataclass" in ast.unparse(d) for d in kind.node.decorator_list) or given or named:
            fields = [
                s.target.id
                for s in kind.node.body
                if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
            ]
            made.attributes.update(zip(fields, given, strict=False))
            made.attributes.update(named)
        return made

    def method(self, owner: Instance, name: str, unknown: int) -> Any:
        """The result of a method on unknown arguments."""
        method = owner.kind.method(name)
        if method is None:
            raise Unfit
        given = [
            Unknown(a.arg, model=MODEL.match(a.arg) is not None, pair=i == 0)
            for i, a in enumerate(method.args.args[1:])
        ]
        return self.invoke(
            Routine(method, owner.kind.around, owner), given[: max(unknown, 0)] if unknown < 3 else given, {}
        )

    # ---------------------------------------------------------------------------------------- answers

    def _answer(self, model: Unknown, given: list[Any], named: dict[str, Any]) -> Any:
        """What a model says to what it is given."""
        asked = [*given, *named.values()]
        if any(isinstance(a, np.ndarray) for a in asked):
            raise Unfit
        words = [a.key if isinstance(a, Unknown) else "" for a in asked]
        if "labels" in named:
            raise Unfit  # its own loss
        return self.question(f"{model.key}({','.join(words)})")

    def _of_bound(self, bound: Bound, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        owner, name = bound.owner, bound.name
        if isinstance(owner, Unknown):
            if name in ("predict", "forward", "construct") and (owner.model or MODEL.match(owner.key)):
                return self._answer(owner, given, named)
            if owner.model:
                if name in (
                    "to",
                    "cuda",
                    "train",
                    "eval",
                    "half",
                    "float",
                    "double",
                    "set_train",
                    "requires_grad_",
                ):
                    return owner
                if name in (
                    "parameters",
                    "state_dict",
                    "trainable_params",
                    "modules",
                    "named_parameters",
                    "fit",
                ):
                    return Unknown(f"{owner.key}.{name}()")
                if not given or any(isinstance(g, (str, bool, int, float)) or g is None for g in given):
                    return Unknown(f"{owner.key}.{name}()")
                return self._answer(Unknown(f"{owner.key}.{name}", model=True), given, named)
            if owner.truth and name not in (
                "to",
                "cuda",
                "cpu",
                "float",
                "long",
                "numpy",
                "asnumpy",
                "detach",
            ):
                return of_arrays(
                    name,
                    [self.numbers(owner), *map(self._number_or_none, given)],
                    self._numbers(named),
                    places=self._places,
                )
            if name in SAME | {
                "long",
                "int",
                "float",
                "astype",
                "type",
                "shuffle",
                "map",
                "batch",
                "prefetch",
                "cache",
            }:
                return owner
            if name in (
                "create_tuple_iterator",
                "create_dict_iterator",
                "split",
                "as_numpy_iterator",
                "iterrows",
            ):
                return Unknown(owner.key, pair=True)
            if name == "get_dataset_size":
                return len(ROWS)
            if name == "items":
                return Unknown(owner.key)
            if given and isinstance(given[0], str) and name == "get":
                return Unknown(f"{owner.key}[{given[0]}]").renamed(given[0])
            return Unknown(f"{owner.key}.{name}()@{getattr(node, 'lineno', 0)}").renamed(name)
        if isinstance(owner, Made):
            return self.of_metric(owner, name, given)
        if isinstance(owner, dict):
            return self._of_dict(owner, name, given)
        if isinstance(owner, list) and name in ("append", "extend") and len(given) == 1:
            owner.extend(
                given[0] if name == "extend" and isinstance(given[0], list) else [self._kept(given[0])]
            )
            return None
        if isinstance(owner, (str, Library)) or owner is None:
            return Unknown("text")
        if isinstance(owner, Bound):
            return self._of_bound(Bound(self.plain(owner), name), given, named, node)
        if name in ("size",) and not given and not named:
            return list(np.shape(owner))
        return self._computed(name, [owner, *given], named)

    def _kept(self, value: Any) -> Any:
        """What is put into a list: the truth of this batch."""
        return self.numbers(value) if isinstance(value, Unknown) and value.truth else value

    def _of_dict(self, owner: dict[Any, Any], name: str, given: list[Any]) -> Any:
        if name == "items":
            return [tuple(x) for x in owner.items()]
        if name in ("values", "keys"):
            return list(getattr(owner, name)())
        if name == "get" and given:
            return owner.get(given[0], given[1] if len(given) > 1 else None)
        if name == "update" and given and isinstance(given[0], dict):
            owner.update(given[0])
            return None
        raise Unfit

    def _compiled(self, named: dict[str, Any], node: ast.Call) -> Any:
        """Keras: the loss and the scores that are handed to `compile`."""
        loss = named["loss"]
        said, truth = self.world.answers(0, 0), self.world.truth(0)
        made = Made(loss, [], {}) if isinstance(loss, str) else loss
        ends = keras_end(self.source)
        self.batch, self.coerced = 0, False
        with suppress(Unfit, ValueError, IndexError):
            if ends is None:
                raise Unfit
            said = {"softmax": lambda x: np.exp(log_softmax(x, -1)), "sigmoid": sigmoid}.get(
                ends, lambda x: x
            )(said)
            if isinstance(made, (Routine, Instance)):
                self.note_loss(self.apply(made, "", [truth, said], {}, node), node)
            elif isinstance(made, Made) and measures.is_loss(made.name):
                self.note_loss(measures.loss(made.name, said, truth, self._settings(made.named)), node)
            else:
                self.losses.append(Note("loss", None, node, self.batch, False))
        self.batch = None
        for one in named.get("metrics", []) if isinstance(named.get("metrics"), list) else []:
            name = one if isinstance(one, str) else getattr(one, "name", "")
            label = "accuracy" if isinstance(one, str) and _KERAS.match(one) else name
            value: float | None = None
            with suppress(Unfit, ValueError, IndexError):
                settings = self._settings(one.named) if isinstance(one, Made) else {}
                settings.pop("name", None)
                value = measures.score(
                    label, self.world.truth(None), self.world.answers(0, None), settings, cuts=True
                )
            self.figures.append(Note(figures.kind_of(label), value, node, None, self.sure))
        return None

    def _of_mindspore(self, given: list[Any], named: dict[str, Any], node: ast.Call) -> None:
        """`Model(net, loss_fn, optimizer, metrics={...})`."""
        loss = named.get("loss_fn", given[1] if len(given) > 1 else None)
        if isinstance(loss, Made) and measures.is_loss(loss.name):
            with suppress(Unfit, ValueError, IndexError):
                said, truth = self.world.answers(0, 0), self.world.truth(0)
                self.batch = 0
                self.note_loss(measures.loss(loss.name, said, truth, self._settings(loss.named)), node)
            self.batch = None
        scores = named.get("metrics")
        for label, made in scores.items() if isinstance(scores, dict) else ():
            with suppress(Unfit, ValueError, IndexError):
                said, truth = self.world.answers(0, None), self.world.truth(None)
                self.note(
                    str(label),
                    measures.score(made.name, truth, said, self._settings(made.named), cuts=True),
                    node,
                )

    # ------------------------------------------------------------------------------------ what is told

    def _told(self, node: ast.Call, env: Env) -> None:
        for label, value in figures.labelled(node.args):
            if isinstance(value, ast.Constant):
                continue
            called = (
                label
                if figures.kind_of(label)
                else last_name(value)
                if not isinstance(value, ast.Call)
                else label
            )
            self.note(called, self.value(value, env), node)

    def note(self, label: str, value: Any, node: ast.AST) -> None:
        """A figure is told. Of a kind that is known by its name, whether it is worked out or not."""
        if isinstance(value, Made):
            with suppress(Unfit, ValueError, IndexError):
                value = self.of_metric(value, "compute", [])
        kind = figures.kind_of(label)
        if kind and kind != "loss" and not isinstance(value, str):
            self.figures.append(Note(kind, self._shown(value), node, self.batch, self.sure))

    def _shown(self, value: Any) -> float | None:
        """A single number, or None where it is none, or where a mask on the way was idle."""
        return None if self.flat else _scalar(value)

    def note_all(self, value: Any, routine: Routine) -> None:
        """The figures of a mapping."""
        for label, one in value.items() if isinstance(value, dict) else ():
            self.note(str(label), one, routine.node)

    def note_loss(self, value: Any, node: ast.AST) -> None:
        """Something is minimised."""
        if isinstance(value, (tuple, list)) and value:
            value = value[0]
        if isinstance(value, dict):
            value = value.get("loss")
        self.losses.append(Note("loss", self._shown(value), node, self.batch, self.sure))
        self.questions.clear()

    def average(self, start: int) -> None:
        """Figures that are logged for each batch, averaged over samples as Lightning does by default."""
        rows = self.figures[start:]
        del self.figures[start:]
        for kind, node in dict.fromkeys((r.kind, r.node) for r in rows):
            mine = [r for r in rows if (r.kind, r.node) == (kind, node)]
            values = [(r.value, ROWS[r.batch] if r.batch is not None else 1) for r in mine]
            sure = all(r.sure for r in mine)
            total: float | None = None
            if not any(v is None for v, _ in values):
                total = sum((v or 0.0) * n for v, n in values) / sum(n for _, n in values)
            self.figures.append(Note(kind, total, node, None, sure))


_ENDS = re.compile(r"(?i)^(?:log_?)?(?:softmax|sigmoid)$")


def _bounded(source: Script) -> bool:
    """Whether a network may end in a softmax or sigmoid: what it says is no plain number then."""
    inside = [c for f in source.forwards for c in of(f, ast.Call)]
    layers = [c for c in source.calls if last_name(c.func)[:1].isupper()]
    words = [k.value.value for c in source.calls for k in c.keywords if isinstance(k.value, ast.Constant)]
    return any(_ENDS.match(last_name(c.func)) for c in (*inside, *layers)) or any(
        isinstance(w, str) and _ENDS.match(w) for w in words
    )


def keras_end(source: Script) -> str | None:
    """The last activation of the program's networks: "softmax", "sigmoid", "" for none, None if not known."""
    found = [
        str(k.value.value)
        for c in source.of(ast.Call)
        if last_name(c.func) in ("Dense", "Conv2D", "Conv1D", "Activation", "Conv2DTranspose")
        for k in c.keywords
        if k.arg == "activation" and isinstance(k.value, ast.Constant)
    ]
    ends = [f for f in found if f in ("softmax", "sigmoid")]
    softs = [
        c
        for c in of(source.tree, ast.Call)
        if last_name(c.func) in ("Softmax", "softmax", "sigmoid", "Sigmoid")
    ]
    if softs or len(set(ends)) > 1:
        return None
    return ends[0] if ends else ""


def _scalar(value: Any) -> float | None:
    if isinstance(value, (bool, int, float, np.generic)) or (
        isinstance(value, np.ndarray) and value.size == 1
    ):
        held = float(np.asarray(value).reshape(-1)[0])
        return held if np.isfinite(held) else None
    return None
