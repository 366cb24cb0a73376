"""Heads of attention in scripts that are split off, or put back, by a reshape alone: the axes of each value.

An axis is the text of its size (`b`, `t`), or "" where nothing tells it.
"""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok

Axes = list[str]
_KEEPS = ("contiguous", "softmax", "dropout", "relu", "gelu", "float", "to", "half", "clone", "masked_fill")
_LAST = ("Linear", "Dense", "LayerNorm", "Dropout", "RMSNorm", "Identity", "ReLU", "GELU", "Softmax")
_PARTS = ("split", "chunk", "unbind", "tensor_split")
_LIBRARY = ("torch", "F", "ops", "mint", "nn", "mnp", "tf", "functional")


def heads_misplaced(source: Script) -> Finding | None:
    """`view(b, heads, t, d)` of what is (b, t, c), and `view(b, t, c)` of what is (b, heads, t, d).

    Both read the numbers in the order in which they lie in memory, so that steps and heads are mixed. Told
    where the sizes are unpacked by name, and layers, parts and transposes on the way keep them known.
    """
    seen: ast.AST | None = None
    for function in source.passes:
        owner = source.parents.get(function)
        layers = _layers(owner) if isinstance(owner, ast.ClassDef) else set()
        walk = _Walk(function, layers)
        walk.run()
        seen = seen or walk.seen
        if walk.wrong is not None:
            return at(source, *walk.wrong)
    return ok(source, seen, "steps and heads keep their places") if seen is not None else None


def _layers(owner: ast.ClassDef) -> set[str]:
    """Attributes that hold a layer which changes the last axis alone."""
    found = set()
    for node in of(owner, ast.Assign):
        pairs = [(t, node.value) for t in node.targets]
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
        for target, value in pairs:
            if isinstance(target, ast.Attribute) and isinstance(value, ast.Call):
                if last_name(value.func) in _LAST:
                    found.add(target.attr)
        if isinstance(node.targets[0], ast.Tuple) and isinstance(
            node.value, (ast.GeneratorExp, ast.ListComp)
        ):
            made = node.value.elt  # `self.q, self.k, self.v = (nn.Linear(w, w) for _ in range(3))`
            if isinstance(made, ast.Call) and last_name(made.func) in _LAST:
                found |= {t.attr for t in node.targets[0].elts if isinstance(t, ast.Attribute)}
    return found


class _Walk:
    """The axes of the names of one forward pass, statement by statement."""

    def __init__(self, function: Function, layers: set[str]) -> None:
        self.function = function
        self.layers = layers
        self.known: dict[str, Axes] = {}
        self.seen: ast.AST | None = None
        self.wrong: tuple[ast.AST, str] | None = None
        self.heads: set[str] = set()  # what steps were split into on the way

    def run(self) -> None:
        for node in sorted(of(self.function, ast.Assign, ast.Return), key=lambda n: n.lineno):
            if isinstance(node, ast.Return):
                if node.value is not None:
                    self.axes(node.value)
                continue
            target = node.targets[0]
            if isinstance(target, ast.Tuple):
                self._unpacked(target, node.value)
                continue
            found = self.axes(node.value)
            name = unparse(target)
            self.known.pop(name, None)
            if found is not None:
                self.known[name] = found

    def _unpacked(self, target: ast.Tuple, value: ast.expr) -> None:
        text, names = unparse(value), [unparse(t) for t in target.elts]
        whole = text.removesuffix("()").rpartition(".")
        if whole[2] in ("shape", "size") and whole[0].isidentifier() and len(names) == 3:
            self.known[whole[0]] = names
            return
        if isinstance(value, ast.GeneratorExp) and len(value.generators) == 1:
            loop = value.generators[0]
            inner = self._part(loop.iter)
            if inner is not None:
                self.known[unparse(loop.target)] = inner
            found = self.axes(value.elt)
        elif isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            for name, one in zip(names, [self.axes(e) for e in value.elts], strict=True):
                self.known.pop(name, None)
                if one is not None:
                    self.known[name] = one
            return
        else:
            found = self._part(value)
        for name in names:
            self.known.pop(name, None)
            if found is not None:
                self.known[name] = list(found)

    def _part(self, value: ast.expr) -> Axes | None:
        """What a value is cut into along its last axis: `self.qkv(x).chunk(3, dim=-1)`."""
        if isinstance(value, ast.Tuple) and value.elts:
            every = [self.axes(e) for e in value.elts]
            return every[0] if all(e is not None and e == every[0] for e in every) else None
        whole = self.axes(value)
        if whole is not None and len(whole) == 5 and whole[0] == "3":
            return whole[1:]  # `q, k, v = qkv.permute(2, 0, 3, 1, 4)`
        if not isinstance(value, ast.Call) or last_name(value.func) not in _PARTS:
            return None
        about = self._about(value)
        rest = value.args if self._is_method(value) else value.args[1:]
        given = keyword(value, "dim") or keyword(value, "axis") or (rest[1] if len(rest) > 1 else None)
        held = self.axes(about) if about is not None else None
        if held is None or given is None or unparse(given) not in ("-1", str(len(held) - 1)):
            return None
        return [*held[:-1], ""]

    @staticmethod
    def _is_method(call: ast.Call) -> bool:
        owner = receiver(call)
        return owner is not None and unparse(owner).split(".")[-1] not in _LIBRARY

    def _about(self, call: ast.Call) -> ast.expr | None:
        if self._is_method(call) and isinstance(call.func, ast.Attribute):
            return call.func.value
        return argument(call, position=0)

    def axes(self, node: ast.expr) -> Axes | None:
        """The axes of an expression, where they are known."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.known.get(unparse(node))
        if isinstance(node, ast.BinOp):
            left, right = self.axes(node.left), self.axes(node.right)
            if isinstance(node.op, ast.MatMult):
                return None if right is None or len(right) < 4 else [*right[:-2], "", right[-1]]
            if isinstance(node.op, (ast.Add, ast.Mult, ast.Div, ast.Sub)):
                return left if right is None else right if left is None or left == right else None
            return None
        if not isinstance(node, ast.Call):
            return None
        return self._of_call(node)

    def _of_call(self, node: ast.Call) -> Axes | None:
        name = last_name(node.func)
        for given in (*node.args, *(k.value for k in node.keywords)):
            if isinstance(given, (ast.Call, ast.BinOp)):
                self.axes(given)
        if isinstance(node.func, ast.Attribute) and node.func.attr in self.layers and node.args:
            if isinstance(node.func.value, ast.Name):
                held = self.axes(node.args[0])
                return None if held is None else [*held[:-1], ""]
        about = self._about(node)
        if about is None:
            return None
        rest = list(node.args if self._is_method(node) else node.args[1:])
        if name in ("matmul", "bmm") and not self._is_method(node) and len(node.args) == 2:
            right = self.axes(node.args[1])
            return None if right is None or len(right) < 4 else [*right[:-2], "", right[-1]]
        if name == "scaled_dot_product_attention":
            return self.axes(node.args[0]) if node.args else None
        held = self.axes(about)
        if held is None:
            return None
        if name == "softmax":
            self._normalised(node, held, rest)
        if name in _KEEPS:
            return held
        if name in ("transpose", "permute", "swapaxes"):
            return _turned(held, rest)
        if name in ("view", "reshape") and rest:
            sizes = rest[0].elts if isinstance(rest[0], (ast.Tuple, ast.List)) else rest
            return self._reshaped(node, held, [unparse(s) for s in sizes])
        return None

    def _normalised(self, node: ast.Call, held: Axes, rest: list[ast.expr]) -> None:
        """`scores.softmax(1)` of what is (b, heads, t, t): the shares are of the keys, the last axis."""
        given = keyword(node, "dim") or keyword(node, "axis") or (rest[0] if rest else None)
        if len(held) == 4 and held[1] in self.heads and held[3] in self._steps():
            self.seen = self.seen or node
            if given is not None and unparse(given) in ("0", "1", "-3", "-4"):
                self.wrong = self.wrong or (
                    node,
                    "the shares of attention are taken over another axis than the keys",
                )

    def _reshaped(self, node: ast.Call, held: Axes, sizes: Axes) -> Axes | None:
        if len(held) == 3 and len(sizes) == 4 and held[0] and sizes[0] == held[0] and held[1]:
            self.seen = self.seen or node
            if sizes[2] == held[1] and sizes[1] not in (held[1], "1", "-1"):
                self.wrong = self.wrong or (
                    node,
                    f"this takes heads before the steps `{held[1]}`, which mixes the two",
                )
        if len(held) == 4 and len(sizes) == 3 and held[0] and sizes[0] == held[0]:
            self.seen = self.seen or node
            steps = [a for a in self._steps() if a == sizes[1]]
            if steps and held[1] not in ("", "1") and held[1] != sizes[1] and held[1] in self.heads:
                self.wrong = self.wrong or (
                    node,
                    f"`{held[1]}` stands before the steps here: this mixes the two",
                )
        if len(held) == 3 and len(sizes) == 4 and sizes[1] == held[1]:
            self.heads.add(sizes[2])
        if len(held) == 3 and len(sizes) == 5 and sizes[1] == held[1] and sizes[2] == "3":
            self.heads.add(sizes[3])
        return sizes

    def _steps(self) -> set[str]:
        return {a[1] for a in self.known.values() if len(a) == 3 and a[1]}


def _turned(held: Axes, given: list[ast.expr]) -> Axes | None:
    """The axes after `transpose(1, 2)` or `permute(0, 2, 1, 3)`."""
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = list(given[0].elts)
    try:
        places = [int(unparse(g)) for g in given]
        if len(places) == len(held) and len(held) > 2:
            return [held[p] for p in places]
        if len(places) == 2:
            turned = list(held)
            turned[places[0]], turned[places[1]] = held[places[1]], held[places[0]]
            return turned
    except (ValueError, IndexError):
        return None
    return None
