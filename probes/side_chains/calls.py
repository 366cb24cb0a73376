"""Calls: functions and classes of the script are gone into, others stay what they are."""

from __future__ import annotations

import ast
import re

from ..readers._tree import unparse
from ..readers.script import last_name
from .machine import LIBRARIES, Left, Machine
from .values import Env, Func, Obj, Term

_DEEP = 9
_IN_PLACE = {
    "sub_": "op:-",
    "div_": "op:/",
    "mul_": "op:*",
    "add_": "op:+",
    "sub": "op:-",
    "subtract": "op:-",
    "div": "op:/",
    "divide": "op:/",
    "true_divide": "op:/",
    "mul": "op:*",
    "multiply": "op:*",
}
_GENERATORS = re.compile(r"(?:^|\.)random\.(?!\w*(?:flip|crop|shuffle|permut|choice|sample))[a-z_]+$")
_SEEDS = ("seed", "manual_seed", "default_rng", "set_seed", "get_state", "set_state", "stateless_fold_in")


_PREPARES = ("prepare", "setup", "setup_dataloaders")
_SAVES = ("save", "dump", "to_csv", "to_parquet", "to_pickle", "to_feather")
_LOADS = ("load", "read_csv", "read_parquet", "read_pickle", "read_feather")


_PLACES = {
    "random_split": ("dataset", "lengths"),
    "Subset": ("dataset", "indices"),
    "DataLoader": ("dataset",),
}


def _by_place(
    name: str, args: tuple[Term, ...], kw: dict[str, Term]
) -> tuple[tuple[Term, ...], dict[str, Term]]:
    """Arguments that come first and are handed over by name, at their places."""
    places = _PLACES.get(name, ())[len(args) :]
    led: list[Term] = []
    for one in places:
        if one not in kw:
            break
        led.append(kw[one])
    moved = places[: len(led)]
    return (*args, *led), {k: v for k, v in kw.items() if k not in moved}


def _path(held: Term) -> Term:
    """The path of a file, as it is written or opened."""
    return held.args[0] if held.head == "call:open" and held.args else held


class Calls(Machine):
    """The values of calls."""

    def call_of(self, node: ast.Call, env: Env) -> Term:
        """The value of a call."""
        args: list[Term] = []
        for a in node.args:
            if isinstance(a, ast.Starred):
                held = self.of(a.value, env)
                args += held.args if held.head == "tuple" else [self.make("starred", a, (held,))]
            else:
                args.append(self.of(a, env))
        kw: dict[str, Term] = {}
        for k in node.keywords:
            value = self.of(k.value, env)
            if k.arg:
                kw[k.arg] = value
            elif value.head == "dict":
                kw.update({str(n): v for n, v in value.value.items()})
            else:
                kw["**"] = value
        name = last_name(node.func)
        if isinstance(node.func, ast.Attribute) and unparse(node.func.value) not in LIBRARIES:
            held = self.of(node.func.value, env)
            if held.head == "obj":
                return self.call(self.attribute(held, name, node), tuple(args), kw, node)
            if held.head == "dict" and name == "get" and args and args[0].head == "const":
                found: Term = held.value.get(args[0].value) or self.make("item", node, (held, args[0]))
                return found
            if held.head == "leaf" and str(held.value).split(".")[0] in self.imported:
                mine = self.attribute(held, name, node)
                if mine.head in ("func", "class"):
                    return self.call(mine, tuple(args), kw, node)
                return self.known(name, tuple(args), kw, node)
            return self.known(name, (held, *args), kw, node)
        if isinstance(node.func, ast.Attribute):
            return self.known(name, tuple(args), kw, node)
        return self.call(self.of(node.func, env), tuple(args), kw, node)

    def known(self, name: str, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term:
        """A call of a library's function or method, in one form."""
        if isinstance(node, ast.Call) and _GENERATORS.search(unparse(node.func)) and name not in _SEEDS:
            name = f"drawn_{name}"
        args, kw = _by_place(name, args, kw)
        if name in _IN_PLACE and len(args) == 2 and not kw:
            return self.make(_IN_PLACE[name], node, args)
        if name == "fit_transform" and len(args) >= 2:
            fitted = self.make("call:fit", node, args[:2])
            return self.make("call:transform", node, (fitted, args[1]))
        if name == "partial" and args:
            return self._partial(args, kw, node)
        if name in _PREPARES and len(args) > 1 and args[0].head in ("call:Accelerator", "call:Fabric"):
            return args[1] if len(args) == 2 else self.make("tuple", node, args[1:])
        if name == "cond" and len(args) >= 3 and args[1].head == args[2].head == "func":
            no = self.call(args[2], args[3:], {}, node)  # at once: its names may mean something else later
            if args[0].drawn:
                return no
            return self.phi(str(args[0].key), self.call(args[1], args[3:], {}, node), no, node)
        if (loaded := self._from_file(name, args, kw, node)) is not None:
            return loaded
        made = self.make(f"call:{name or 'called'}", node, args, kw)
        if isinstance(node, ast.Call) and len(self.calls) < 4000:
            self.calls.append((node, made))
        return made

    def _from_file(
        self, name: str, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST
    ) -> Term | None:
        """What was saved under the path that is read; what is saved is put down."""
        if name in _LOADS and args:
            return self.files.get(_path(args[0]).key)
        if name in ("savez", "savez_compressed") and len(args) == 1:
            self.files[_path(args[0]).key] = self.make("dict", node, value=dict(kw))
        elif name in _SAVES and len(args) >= 2:
            first = name == "save" and unparse(getattr(node, "func", node)).split(".")[0] in (
                "np",
                "numpy",
                "jnp",
            )
            path, content = args[:2] if first else args[1::-1]
            self.files[_path(path).key] = content
        return None

    def _partial(self, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term:
        held = args[0]
        if held.head != "func":
            return self.make("call:partial", node, args, kw)
        f: Func = held.value
        more = Func(f.node, f.env, f.bound, (*f.given, *args[1:]), {**f.named, **kw})
        return self.make("func", node, value=more)

    def call(self, held: Term, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term:
        """Call a value: functions and classes of the script are gone into. Raises OutOfSteps."""
        if held.head == "func":
            out = self._enter(held.value, args, kw, node)
            name = held.value.node.name if not isinstance(held.value.node, ast.Lambda) else "lambda"
            return out if out is not None else self.known(name, args, kw, node)
        if held.head == "class":
            return self.instance(held.value, args, kw, node)
        if held.head == "obj":
            method = self.method(held.value, "__call__")
            if method is not None:
                return self.call(method, args, kw, node)
        if held.head == "leaf":
            return self.known(str(held.value).rpartition(".")[2], args, kw, node)
        if held.head == "phi":
            pair = [self.call(a, args, kw, node) for a in held.args]
            return self.phi(held.value, pair[0], pair[1], node)
        cuts = held.name == "from_pretrained" or "okenizer" in held.name
        return self.known("tokenize" if cuts else "called", (held, *args), kw, node)

    def instance(self, name: str, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term:
        """An instance of a class of the script; modules of a network are not gone into."""
        owner = self.source.classes.get(name)
        if owner is None or owner in self.source.modules:
            return self.known(name, args, kw, node)
        obj = Obj(owner, self.top)
        self.objects.append(obj)
        made = self.make("obj", node, value=obj)
        init = self.method(obj, "__init__")
        if init is not None:
            self.call(init, args, kw, node)
        else:
            fields = [
                n.target.id
                for n in owner.body
                if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
            ]
            obj.attrs.update(zip(fields, args, strict=False))
            obj.attrs.update(kw)
        return made

    def _enter(self, f: Func, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term | None:
        """Run a function of the script; None where it is not gone into."""
        if f.node in self.stack or len(self.stack) >= _DEEP or f.node in self.learning:
            return None
        if any(a.head == "starred" for a in args) or "**" in kw:
            return None
        env = self.bind(f, args, kw, node)
        self.stack.append(f.node)
        self.entered.add(f.node)
        try:
            if isinstance(f.node, ast.Lambda):
                return self.of(f.node.body, env)
            out = self.run(f.node.body, env)
        except Left:
            out = None
        finally:
            self.stack.pop()
        self.frames.append(env)
        out = env.names.get("<yielded>", out)
        return out if out is not None else self.const(None, node)

    def bind(self, f: Func, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Env:
        """The names that a call gives to the parameters of a function."""
        spec = f.node.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        given = (*((f.bound,) if f.bound is not None else ()), *f.given, *args)
        found: dict[str, Term] = dict(zip(names, given, strict=False))
        found.update({**f.named, **kw})
        defaults = dict(zip(names[::-1], spec.defaults[::-1], strict=False))
        defaults.update(
            {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
        )
        for name in (*names, *(a.arg for a in spec.kwonlyargs)):
            if name not in found:
                found[name] = self.of(defaults[name], f.env) if name in defaults else self.leaf(name, node)
        if spec.vararg is not None:
            found[spec.vararg.arg] = self.make("tuple", node, given[len(names) :])
        return Env(found, f.env)
