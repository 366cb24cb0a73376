"""The program's own classes of networks: how they are made, and what they answer."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..by_hand.calls import BUILTINS
from ..by_hand.interpreter import ODD, Interpreter
from ..by_hand.sizes import TooLong, Unfit
from ..by_hand.things import Dotted, Kind, Method, Names, Object, Own
from ..scripts.syntax import Script
from . import calls
from .functions import of_tensor
from .layers import Layer, Maker
from .tensors import Room, Tensor, array
from .things import Chain, Class, Listed, Mapped, Missing, Super

FORWARD = ("forward", "construct", "__call__")
_STEPS = 60_000
_OPTIONS = {
    "in_features": 0,
    "out_features": 1,
    "num_embeddings": 0,
    "embedding_dim": 1,
    "in_channels": 0,
    "out_channels": 1,
    "input_size": 0,
    "hidden_size": 1,
    "num_layers": 2,
    "padding_idx": 2,
    "kernel_size": 2,
    "stride": 3,
    "num_features": 0,
    "normalized_shape": 0,
    "embed_dim": 0,
    "num_heads": 1,
}
_KEPT = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "eval",
        "train",
        "float",
        "half",
        "double",
        "bfloat16",
        "npu",
        "apply",
        "requires_grad_",
        "compile",
        "share_memory",
    ]
)
_ITSELF = "<self>"
_CLASS = "<class>"


class Network(Interpreter):
    """The networks of one program, made and asked. All raises Unfit for what is not understood."""

    def __init__(self, source: Script, seed: int = 0, scope: Any = None) -> None:
        super().__init__(source)
        self.scope = scope  # names of the program that a rehearsal knows
        self.converted: Callable[[Any], Any] | None = None
        self.seed = seed
        self.room_left = Room()
        self.maker = Maker(self.room_left, seed)
        self.making = 0
        self.parameters: list[Tensor] = []  # those of the program's own
        self.mode_asked = False  # a network does one thing in training and another one elsewhere
        self.visited: set[ast.AST] = set()  # expressions that were worked out
        self.asked_parts: list[tuple[Object, list[Any], Any]] | None = None  # networks within, when kept
        self.trace: list[tuple[ast.expr, np.ndarray]] | None = None  # what each step came to, when it is kept
        self._classes: dict[ast.ClassDef, Class] = {}
        self.begin()

    def begin(self) -> None:
        """A new question: its room, its steps, and the same chance as before."""
        self.room_left.begin()
        self.left, self.room = _STEPS, 10**9
        self.scored: list[Tensor] = []  # what a loss inside of the network was given
        self.chance = np.random.default_rng([self.seed, 5])

    # ------------------------------------------------------------------------------------------ classes

    def class_of(self, node: ast.ClassDef) -> Class:
        """A class by where it stands."""
        if node not in self._classes:
            made = self._classes[node] = Class(node)
            for base in node.bases:
                try:
                    made.bases.append(self.value(base, [self.module]))
                except (Unfit, *ODD):
                    made.bases.append(Missing())
        return self._classes[node]

    def _of_module(self, name: str) -> Any:
        node = self._defined[name]
        if isinstance(node, ast.ClassDef):
            return self.class_of(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return imported(node, name)
        return super()._of_module(name)

    def answer(self, net: Any, given: list[Any], named: Names | None = None) -> Any:
        """What a network answers. Raises Unfit."""
        self.begin()
        return self._guarded(lambda: self.apply(net, given, dict(named or {})))

    def tensor(self, a: Any) -> Tensor:
        """Numbers as a tensor of this question."""
        return Tensor(a, self.room_left)

    def parameter(self, value: Any, named: Names) -> Tensor:
        """A weight of the program's own; one that starts at zero would hide what is behind it."""
        made = value if isinstance(value, Tensor) else self.tensor(array(value))
        if made.a.dtype.kind == "f" and not made.a.any():
            made = self.tensor(np.full(made.a.shape, 0.3))
        if named.get("requires_grad") is not False:
            self.parameters.append(made)
        return made

    def _instance(self, kind: Kind, given: list[Any], named: Names) -> Object:
        if not isinstance(kind, Class):
            raise Unfit
        made = Object(kind)
        self.making += 1
        try:
            start = kind.find("__init__")
            if start is not None:
                self._invoke(self.method_of(made, *start), given, named)
            elif kind.is_network:
                if any(
                    isinstance(b, Dotted) and b.last == "Sequential" for k in kind.line() for b in k.bases
                ):
                    raise Unfit
            else:
                self._fields(kind, made, given, named)
        finally:
            self.making -= 1
        return made

    def _fields(self, kind: Class, made: Object, given: list[Any], named: Names) -> None:
        fields = [
            s
            for k in reversed(list(kind.line()))
            for s in k.node.body
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        names = [s.target.id for s in fields if isinstance(s.target, ast.Name)]
        for one, name in zip(fields, names, strict=True):
            if one.value is not None:
                made.held[name] = self.value(one.value, [self.module])
        if len(given) > len(names) or set(named) - set(names):
            raise Unfit
        made.held.update(zip(names, given, strict=False))
        made.held.update(named)
        after = kind.find("__post_init__")
        if after is not None:
            self._invoke(self.method_of(made, *after), [], {})

    def method_of(self, owner: Object, of: Class, node: ast.FunctionDef) -> Own:
        """A method, bound, that knows the class in which it stands."""
        return Own(node, [self.module, {_ITSELF: owner, _CLASS: of}], owner)

    # --------------------------------------------------------------------------------------- statements

    def _statement(self, node: ast.stmt, names: list[Names]) -> None:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))))):
                self.value(node.value, names)
            case ast.ClassDef():
                names[-1][node.name] = self.class_of(node)
            case ast.Try():
                self._block(node.body, names)
            case ast.With():
                if any("grad" not in (t := ast.unparse(i)) and "autocast" not in t and "inference" not in t
                       and "record_function" not in t for i in node.items):  # fmt: skip
                    raise Unfit
                self._block(node.body, names)
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    name = alias.asname or alias.name.split(".")[0]
                    names[-1][name] = imported(node, name)
            case ast.Delete() | ast.Global() | ast.Nonlocal():
                pass
            case ast.Assign(targets=[ast.Attribute(value=ast.Name())]) if self.making:
                self._kept(node, names)
            case ast.Expr() if self.making:
                try:
                    super()._statement(node, names)
                except TooLong:
                    raise
                except (Unfit, *ODD):
                    pass  # what is set up beside the layers
            case _:
                super()._statement(node, names)

    def _kept(self, node: ast.Assign, names: list[Names]) -> None:
        """An attribute; one that is not understood is only missing where it is used."""
        try:
            value = self.value(node.value, names)
        except TooLong:
            raise
        except (Unfit, *ODD):
            value = Missing()
        self._bind(node.targets[0], value, names)

    def _bind(self, target: ast.expr, value: Any, names: list[Names]) -> None:
        if isinstance(target, ast.Attribute):
            owner = self.value(target.value, names)
            if isinstance(owner, Layer) and isinstance(value, Tensor):
                owner.weights[target.attr] = value
                return
            if isinstance(owner, (Tensor, Layer)):
                return  # `weight.data = ...`, a note on a layer
            if isinstance(owner, Mapped):
                owner[target.attr] = value
                return
        if isinstance(target, ast.Subscript):
            owner = self.value(target.value, names)
            if isinstance(owner, Tensor):
                owner[self._slice(target.slice, names)] = value
                return
        super()._bind(target, value, names)

    # -------------------------------------------------------------------------------------- expressions

    def value(self, node: ast.expr, names: list[Names]) -> Any:
        """The value of an expression. Raises Unfit, or what Python raises."""
        found = super().value(node, names)
        self.visited.add(node)
        if self.trace is not None and isinstance(node, (ast.Call, ast.BinOp)):
            first = found[0] if isinstance(found, tuple) and found else found
            if isinstance(first, Tensor):
                self.trace.append((node, first.a.copy()))
        return found

    def _value(self, node: ast.expr, names: list[Names]) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            owner, of = self._name(_ITSELF, names), self._name(_CLASS, names)
            return Super(owner, of)
        if isinstance(node, ast.Subscript):
            owner = self.value(node.value, names)
            at = self._slice(node.slice, names)
            if isinstance(owner, Tensor):
                return owner[at]
            if isinstance(owner, (list, tuple)) and isinstance(at, Tensor):
                at = int(at)
            if isinstance(owner, Chain) and isinstance(at, slice):
                return Chain(owner[at])
            if isinstance(owner, (list, tuple, dict, str)):
                found = owner[at]
                return Listed(found) if isinstance(owner, Listed) and isinstance(at, slice) else found
            raise Unfit
        if isinstance(node, ast.NamedExpr):
            value = self.value(node.value, names)
            self._bind(node.target, value, names)
            return value
        return super()._value(node, names)

    def _name(self, name: str, names: list[Names]) -> Any:
        try:
            found = super()._name(name, names)
        except (Unfit, *ODD):
            found = self._rehearsed(name, names)
            if found is not None:
                return found
            if name in ("getattr", "hasattr", "callable", "type", "object", "super", "property"):
                return Dotted(name)
            raise
        if isinstance(found, Missing):
            raise Unfit
        return found

    def _rehearsed(self, name: str, names: list[Names]) -> Any:
        """What a rehearsal knows of a name that is not worked out here, or None."""
        scopes = [h[_CLASS].scope for h in names if _CLASS in h and h[_CLASS].scope is not None]
        for scope in (*reversed(scopes), self.scope):
            found = scope.find(name) if scope is not None else None
            if found is not None and self.converted is not None:
                return self.converted(found)
        return None

    def _unary(self, node: ast.UnaryOp, names: list[Names]) -> Any:
        if isinstance(node.op, ast.Invert):
            value = self.value(node.operand, names)
            if isinstance(value, Tensor):
                return ~value
        return super()._unary(node, names)

    def _attribute(self, node: ast.Attribute, names: list[Names]) -> Any:
        owner, name = self.value(node.value, names), node.attr
        return self.attribute(owner, name)

    def attribute(self, owner: Any, name: str) -> Any:
        """What stands behind a dot. Raises Unfit."""
        if isinstance(owner, Dotted):
            constants = {"nan": math.nan, "inf": math.inf, "pi": math.pi, "e": math.e, "newaxis": None}
            return constants[name] if name in constants else Dotted(f"{owner.path}.{name}")
        if isinstance(owner, Tensor):
            return self._of_a_tensor(owner, name)
        if isinstance(owner, Object):
            return self._of_an_object(owner, name)
        if isinstance(owner, Super):
            found = owner.owner.kind.find(name, owner.of) if isinstance(owner.owner.kind, Class) else None
            return self.method_of(owner.owner, *found) if found is not None else Method(owner, name)
        if isinstance(owner, Layer):
            if name in owner.weights or name in ("weight", "bias"):
                return owner.weights.get(name)
            if name in owner.children:
                return owner.children[name]
            if name in _OPTIONS:
                return owner.option(_OPTIONS[name], name)
            if name == "training":
                return False
        if isinstance(owner, Chain) and name in getattr(owner, "names", {}):
            return owner[owner.names[name]]
        if isinstance(owner, Mapped) and name in owner:
            return owner[name]
        if isinstance(owner, tuple) and name in ("values", "indices") and len(owner) == 2:
            return owner[name == "indices"]
        return Method(owner, name)

    @staticmethod
    def _of_a_tensor(owner: Tensor, name: str) -> Any:
        if name in ("shape", "ndim"):
            return getattr(owner.a, name)
        if name == "dtype":
            return Dotted(f"torch.{owner.a.dtype.name}")
        if name == "device":
            return "cpu"
        if name in ("T", "mT"):
            return owner.like(owner.a.T if name == "T" else owner.a.swapaxes(-1, -2))
        if name == "data":
            return owner
        if name in ("is_cuda", "requires_grad", "is_nested"):
            return False
        return Method(owner, name)

    def _of_an_object(self, owner: Object, name: str) -> Any:
        if name in owner.held:
            found = owner.held[name]
            if isinstance(found, Missing):
                raise Unfit
            return found
        kind = owner.kind
        if not isinstance(kind, Class):
            raise Unfit
        method = kind.find(name)
        if method is not None:
            made = self.method_of(owner, *method)
            decorated = [ast.unparse(d) for d in method[1].decorator_list]
            return self._invoke(made, [], {}) if any("property" in d for d in decorated) else made
        if name == "training":
            self.mode_asked = True
            return False
        if name in ("device", "dtype") and kind.is_network:
            return "cpu"
        for one in kind.line():
            for s in one.node.body:
                targets = (
                    s.targets
                    if isinstance(s, ast.Assign)
                    else [s.target]
                    if isinstance(s, ast.AnnAssign)
                    else []
                )
                if any(isinstance(t, ast.Name) and t.id == name for t in targets) and s.value is not None:  # type: ignore[attr-defined]
                    return self.value(s.value, [self.module])  # type: ignore[attr-defined]
        return Method(owner, name)

    # -------------------------------------------------------------------------------------------- calls

    def _call(self, node: ast.Call, names: list[Names]) -> Any:
        callee = self.value(node.func, names)
        given = list(self._elements(node.args, names))
        named: Names = {}
        for k in node.keywords:
            value = self.value(k.value, names)
            if k.arg is None:
                if not isinstance(value, dict):
                    raise Unfit
                named.update(value)
            else:
                named[k.arg] = value
        return self.apply(callee, given, named)

    def _invoke(self, own: Own, given: list[Any], named: Names) -> Any:
        extra = own.node.args.kwarg
        if extra is not None:
            known = {
                a.arg for a in (*own.node.args.posonlyargs, *own.node.args.args, *own.node.args.kwonlyargs)
            }
            rest = {k: v for k, v in named.items() if k not in known}
            named = {**{k: v for k, v in named.items() if k in known}, extra.arg: rest}
        return super()._invoke(own, given, named)

    def apply(self, callee: Any, given: list[Any], named: Names) -> Any:
        """What anything that is called gives."""
        self._count()
        if isinstance(callee, Layer):
            if callee.step is None:
                raise Unfit
            return callee.step(*given, **named)
        if isinstance(callee, Chain):
            for one in callee:
                given = [self.apply(one, given, named)]
            return given[0] if given else None
        if isinstance(callee, Object) and isinstance(callee.kind, Class):
            method = next((f for n in FORWARD if (f := callee.kind.find(n))), None)
            if method is None:
                raise Unfit
            found = self._invoke(self.method_of(callee, *method), given, named)
            if self.asked_parts is not None and not named:
                self.asked_parts.append((callee, given, found))
            return found
        if isinstance(callee, Class):
            return self._instance(callee, given, named)
        return super().apply(callee, given, named)

    def items(self, over: Any) -> Iterator[Any]:  # type: ignore[override]
        """The items that a loop goes over. Raises Unfit."""
        if isinstance(over, Tensor):
            if not over.a.ndim or len(over.a) > 2_000:
                raise Unfit
            return (over[i] for i in range(len(over.a)))
        return super().items(over)

    def holds(self, value: Any) -> bool:  # type: ignore[override]
        """Whether a value is true. Raises Unfit where that is not known."""
        if isinstance(value, (Object, Layer, Chain, Listed, Missing)):
            return not isinstance(value, (Chain, Listed)) or bool(len(value))
        return super().holds(value)

    def library(self, callee: Dotted, given: list[Any], named: Names) -> Any:
        """What a function or a layer of a library gives. Raises Unfit."""
        name = callee.last
        if callee.path in ("getattr", "hasattr"):
            try:
                found = self.attribute(given[0], given[1])
            except Unfit:
                found = Missing()
            known = not isinstance(found, (Missing, Method))
            if callee.path == "hasattr":
                return known
            if not known and len(given) < 3:
                raise Unfit
            return found if known else given[2]
        if callee.path == "isinstance":
            return self._is_a(*given)
        if callee.path in BUILTINS:
            return self._of_python(name, given, named)
        made = calls.called(self, callee, given, named)
        return super().library(callee, given, named) if made is NotImplemented else made

    def function(self, name: str, given: list[Any], named: Names) -> Any:
        """What a function of PyTorch of this name gives. Raises Unfit."""
        return self.library(Dotted(f"torch.{name}"), given, named)

    def _of_python(self, name: str, given: list[Any], named: Names) -> Any:
        if name == "list" and given and isinstance(given[0], (Chain, Listed)):
            return list(given[0])
        if name in ("int", "float", "bool") and given and isinstance(given[0], Tensor):
            return {"int": int, "float": float, "bool": bool}[name](given[0])
        if name in ("abs", "sum", "max", "min") and given and isinstance(given[0], Tensor):
            return of_tensor(name, given[0], given[1:], {})
        if (
            name == "sum"
            and given
            and isinstance(given[0], list)
            and any(isinstance(g, Tensor) for g in given[0])
        ):
            total = given[0][0]
            for one in given[0][1:]:
                total = total + one
            return total
        if name == "len" and given and isinstance(given[0], Tensor):
            return len(given[0].a)
        if name == "len" and given and isinstance(given[0], Dotted) and self.making:
            return 6  # of what stands in a file that is not here
        return self._builtin(name, given, named)

    def _is_a(self, value: Any, kinds: Any) -> bool:
        for kind in kinds if isinstance(kinds, tuple) else (kinds,):
            if isinstance(kind, Class):
                if (
                    isinstance(value, Object)
                    and isinstance(value.kind, Class)
                    and kind in list(value.kind.line())
                ):
                    return True
                continue
            if not isinstance(kind, Dotted):
                raise Unfit
            plain = {
                "int": int,
                "float": float,
                "str": str,
                "list": list,
                "tuple": tuple,
                "dict": dict,
                "bool": bool,
            }
            if kind.path in plain:
                if isinstance(value, plain[kind.path]):
                    return True
            elif kind.last == "Tensor":
                if isinstance(value, Tensor):
                    return True
            elif kind.last in ("Module", "ModuleList", "Sequential") or isinstance(value, Layer):
                found = {"ModuleList": Listed, "Sequential": Chain}.get(kind.last)
                if isinstance(value, found or (Layer, Object, Chain)) and (
                    found or not isinstance(value, Layer) or kind.last in ("Module", value.name)
                ):
                    return True
        return False

    def of_method(self, owner: Any, name: str, given: list[Any], named: Names) -> Any:
        """What a method gives. Raises Unfit."""
        if isinstance(owner, Tensor):
            return calls.method(self, owner, name, given, named)
        if isinstance(owner, Super):
            return (
                None
                if name.startswith("__") and name.endswith("__")
                else self._of_network(owner.owner, name, given, named)
            )
        if isinstance(owner, (Object, Layer, Chain, Listed)) and not (
            isinstance(owner, Listed) and name in ("append", "extend", "insert")
        ):
            if isinstance(owner, Chain) and name == "append":
                owner.append(given[0])
                return owner
            return self._of_network(owner, name, given, named)
        if isinstance(owner, Listed):
            getattr(owner, name)(*given)
            return owner
        return super().of_method(owner, name, given, named)

    def _of_network(self, owner: Any, name: str, given: list[Any], named: Names) -> Any:
        if name in _KEPT or name in ("save_hyperparameters", "init_weights", "reset_parameters", "post_init"):
            return owner
        if name in FORWARD:
            return self.apply(owner, given, named)
        if isinstance(owner, Object):
            if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
                owner.held[str(given[0])] = given[1] if len(given) > 1 else named.get("tensor")
                return None
        if self.making and name in (
            "modules",
            "parameters",
            "named_parameters",
            "named_modules",
            "children",
            "flatten_parameters",
        ):
            return []
        if name in ("flatten_parameters", "log", "log_dict"):
            return None
        if name in ("items", "keys", "values") and isinstance(owner, dict):
            return list(getattr(owner, name)())
        raise Unfit


def imported(node: ast.Import | ast.ImportFrom, name: str) -> Dotted:
    """What a name that is imported stands for, with all its dots."""
    for alias in node.names:
        if (alias.asname or alias.name.split(".")[0]) == name:
            if isinstance(node, ast.ImportFrom):
                return Dotted(f"{node.module}.{alias.name}" if node.module else alias.name)
            return Dotted(alias.name if alias.asname else name)
    raise Unfit
