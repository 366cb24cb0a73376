"""Numbers that a script's expressions have during a run: sizes of data that are not known are stood in for.

What a count is made of is followed to its leaves (settings, sizes of data). Each leaf that has no number in
the script gets a made-up one, the same wherever it stands, so that two counts can be compared as long as they
are made of the same leaves. Functions of the script are carried out, with their branches.
"""

from __future__ import annotations

import ast
import math
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...readers._tree import unparse
from ...readers.script import argument, keyword, last_name
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from .sides import number

_DEPTH = 24
_MOST = 40_000  # expressions that are gone through for one question
_LOADERS = ("DataLoader", "DataLoaderX", "MultiEpochsDataLoader")
Frame = Mapping[str, float]
Lookup = Callable[[ast.expr], "float | None"]


class Unknown(Exception):
    """An expression that no number can be given to."""


_ONE: dict[str, Callable[[float], float]] = {
    "int": lambda x: float(math.trunc(x)),
    "float": lambda x: x,
    "round": lambda x: float(round(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)),
    "abs": abs,
    "fabs": abs,
    "cos": math.cos,
    "sin": math.sin,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "radians": math.radians,
    "cast": lambda x: x,
    "tensor": lambda x: x,
    "constant": lambda x: x,
    "convert_to_tensor": lambda x: x,
    "float32": lambda x: x,
    "item": lambda x: x,
}


@dataclass
class Numbers:
    """Gives expressions their numbers; `leaves` are what they were made of so far, `unknown` those made up.

    `lookup` is asked first what a name stands for at the moment that is looked at; `samples` is how many a
    data set holds at least whose size is not known.
    """

    source: Script
    samples: float = 40_000.0
    lookup: Lookup | None = None
    leaves: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    zeros: set[str] = field(default_factory=set)  # names that are given zero where they begin
    left: int = _MOST
    _frames: list[tuple[Function | ast.Lambda, Frame]] = field(default_factory=list)

    def of(self, node: ast.expr, depth: int = _DEPTH) -> float:
        """The number of an expression. Raises Unknown."""
        self.left -= 1
        if not depth or self.left < 0:
            raise Unknown(unparse(node))
        if isinstance(node, ast.Constant):
            if isinstance(node.value, (int, float)):
                return float(node.value)
        elif isinstance(node, ast.BinOp):
            return self._of_operation(node, depth)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            inner = self.of(node.operand, depth - 1)
            return -inner if isinstance(node.op, ast.USub) else inner
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return float(not self.of(node.operand, depth - 1))
        elif isinstance(node, ast.IfExp):
            return self.of(node.body if self.of(node.test, depth - 1) else node.orelse, depth - 1)
        elif isinstance(node, ast.Compare):
            return self._of_comparison(node, depth)
        elif isinstance(node, ast.BoolOp):
            values = [self.of(v, depth - 1) for v in node.values]
            return float(all(values) if isinstance(node.op, ast.And) else any(values))
        elif isinstance(node, ast.Call):
            return self._of_call(node, depth)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return self._of_name(node, depth)
        raise Unknown(unparse(node))

    # --------------------------------------------------------------------------------------- operations

    def _of_operation(self, node: ast.BinOp, depth: int) -> float:
        one, other = self.of(node.left, depth - 1), self.of(node.right, depth - 1)
        try:
            match node.op:
                case ast.Add():
                    return one + other
                case ast.Sub():
                    return one - other
                case ast.Mult():
                    return one * other
                case ast.Div():
                    return one / other
                case ast.FloorDiv():
                    return one // other
                case ast.Mod():
                    return one % other
                case ast.Pow():
                    found = one**other
                    if isinstance(found, float):
                        return found
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            raise Unknown(unparse(node)) from error
        raise Unknown(unparse(node))

    def _of_comparison(self, node: ast.Compare, depth: int) -> float:
        if len(node.ops) != 1:
            raise Unknown(unparse(node))
        one, other = self.of(node.left, depth - 1), self.of(node.comparators[0], depth - 1)
        match node.ops[0]:
            case ast.Lt():
                return float(one < other)
            case ast.LtE():
                return float(one <= other)
            case ast.Gt():
                return float(one > other)
            case ast.GtE():
                return float(one >= other)
            case ast.Eq():
                return float(one == other)
            case ast.NotEq():
                return float(one != other)
        raise Unknown(unparse(node))

    # ------------------------------------------------------------------------------------------- calls

    def _of_call(self, node: ast.Call, depth: int) -> float:
        name, given = last_name(node.func), node.args
        if name == "len" and len(given) == 1:
            return self.length(given[0], depth - 1)
        if name not in _ONE and (bound := self._bound(node.func)) is not None:
            return self._of_bound(bound, node, depth)
        functions = flow(self.source).called(node) if name not in _ONE else []
        if len(functions) == 1 and not any(isinstance(a, ast.Starred) for a in given):
            return self.run(functions[0], node, depth)
        if name in ("min", "minimum", "max", "maximum") and len(given) > 1:
            values = [self.of(a, depth - 1) for a in given]
            return min(values) if name.startswith("min") else max(values)
        if name == "where" and len(given) == 3:
            return self.of(given[1] if self.of(given[0], depth - 1) else given[2], depth - 1)
        if name in ("clip", "clamp", "clip_by_value") and len(given) == 3:
            value, low, high = (self.of(a, depth - 1) for a in given)
            return max(low, min(high, value))
        if name == "pow" and len(given) == 2:
            return self._of_operation(ast.BinOp(given[0], ast.Pow(), given[1]), depth)
        if name in _ONE and given:
            try:
                return _ONE[name](self.of(given[0], depth - 1))
            except (ValueError, OverflowError) as error:
                raise Unknown(unparse(node)) from error
        raise Unknown(unparse(node))

    def _bound(self, node: ast.expr) -> ast.Call | None:
        """`decay = partial(f, total)`: the call that binds arguments."""
        made = [v for v in flow(self.source).values(node, 3) if isinstance(v, ast.Call)]
        return made[0] if len(made) == 1 and last_name(made[0].func) == "partial" and made[0].args else None

    def _of_bound(self, bound: ast.Call, node: ast.Call, depth: int) -> float:
        functions = flow(self.source).functions.get(last_name(bound.args[0]), [])
        if len(functions) != 1:
            raise Unknown(unparse(node))
        words = [*bound.keywords, *node.keywords]
        call = ast.copy_location(ast.Call(bound.args[0], [*bound.args[1:], *node.args], words), node)
        return self.run(functions[0], call, depth)

    def length(self, node: ast.expr, depth: int = _DEPTH) -> float:
        """The number of batches of a loader, or of the samples of what is counted."""
        if isinstance(node, ast.Attribute) and node.attr in ("dataset", "sampler"):
            made = self._loader(node.value)
            if made is not None and made.args and node.attr == "dataset":
                return self._samples(made.args[0])
            raise Unknown(unparse(node))
        made = self._loader(node)
        if made is None:
            return self._samples(node)
        if keyword(made, "batch_sampler") is not None or not made.args:
            return self._made_up(f"len({unparse(node)})", 300.0)
        size = argument(made, "batch_size", position=1)
        rows = self._samples(made.args[0])
        return float(rows // self.of(size, depth - 1)) if size is not None else rows

    def _loader(self, node: ast.expr) -> ast.Call | None:
        ends = flow(self.source).values(node, 8)
        made = [e for e in ends if isinstance(e, ast.Call) and last_name(e.func) in _LOADERS]
        return made[0] if len(made) == len(ends) == 1 else None

    def _samples(self, node: ast.expr) -> float:
        ends = sorted({unparse(e) for e in flow(self.source).values(node, 8)})
        return self._made_up(f"len({' or '.join(ends)})", self.samples)

    def _made_up(self, leaf: str, least: float) -> float:
        self.leaves.add(leaf)
        self.unknown.add(leaf)
        return least + float(zlib.crc32(f"{leaf} {self.samples}".encode()) % int(least))

    # ---------------------------------------------------------------------------------------- functions

    def run(self, function: Function | ast.Lambda, call: ast.Call, depth: int = _DEPTH) -> float:
        """What a function of the script gives back for these arguments."""
        names = [a.arg for a in function.args.args]
        if names[:1] in (["self"], ["cls"]):
            names = names[1:]
        frame: dict[str, float] = {}
        pairs = [*zip(names, call.args, strict=False), *((str(k.arg), k.value) for k in call.keywords)]
        for name, value in pairs:
            try:
                frame[name] = self.of(value, depth - 1)
            except Unknown:
                continue  # it may be an optimizer, or not be needed
        return self.apply(function, frame, depth)

    def apply(self, function: Function | ast.Lambda, frame: Frame, depth: int = _DEPTH) -> float:
        """What a function gives back where its parameters have these numbers."""
        if depth <= 0:
            raise Unknown("too deep")
        usual = dict(frame)
        names = [a.arg for a in function.args.args]
        for name, value in zip(names[::-1], function.args.defaults[::-1], strict=False):
            if (
                name not in usual
                and isinstance(value, ast.Constant)
                and isinstance(value.value, (int, float))
            ):
                usual[name] = float(value.value)
        self._frames.append((function, usual))
        try:
            if isinstance(function, ast.Lambda):
                return self.of(function.body, depth - 1)
            found = self._body(function.body, usual, depth - 1)
        finally:
            self._frames.pop()
        if found is None:
            raise Unknown(function.name)
        return found

    def _body(self, body: list[ast.stmt], frame: dict[str, float], depth: int) -> float | None:
        for node in body:
            if isinstance(node, ast.Return) and node.value is not None:
                return self.of(node.value, depth)
            if isinstance(node, ast.If):
                taken = node.body if self.of(node.test, depth) else node.orelse
                if (found := self._body(taken, frame, depth)) is not None:
                    return found
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                if isinstance(node.targets[0], ast.Name):
                    frame[node.targets[0].id] = self.of(node.value, depth)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                load = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
                frame[node.target.id] = self._of_operation(load, depth)
            elif not isinstance(node, (ast.Expr, ast.Assert, ast.Pass, ast.Assign)):
                raise Unknown("a statement that is not carried out")
        return None

    # -------------------------------------------------------------------------------------------- names

    def _of_name(self, node: ast.expr, depth: int) -> float:
        if isinstance(node, ast.Attribute) and node.attr in ("pi", "e") and unparse(node.value) in _MATHS:
            return math.pi if node.attr == "pi" else math.e
        if isinstance(node, ast.Name):
            for function, frame in reversed(self._frames):
                if node.id in frame and (
                    function in self.source.above(node) or not _placed(self.source, node)
                ):
                    return frame[node.id]
        if self.lookup is not None and (found := self.lookup(node)) is not None:
            return found
        return self._behind(node, depth)

    def _setting(self, node: ast.expr) -> float | None:
        """`CFG.epochs` of a class with settings, `cfg["train"]["epochs"]` of a dict that is written out."""
        found: list[ast.expr] = []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self.source.classes.get(node.value.id)
            made = [v for v in flow(self.source).values(node.value, 3) if isinstance(v, ast.Call)]
            given = keyword(made[0], node.attr) if len(made) == 1 else None  # `Accelerator(steps=4).steps`
            found += [given] if isinstance(given, ast.Constant) else []
            for line in owner.body if owner is not None else ():
                targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
                if isinstance(line, (ast.Assign, ast.AnnAssign)) and line.value is not None:
                    found += [line.value for t in targets if t is not None and unparse(t) == node.attr]
        elif isinstance(node, ast.Attribute) and last_name(node.value) in ("hparams", "_hparams"):
            found += self._of_constructor(node)  # what Lightning's `save_hyperparameters` keeps
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            for written in self.source.of(ast.Dict):
                for key, value in zip(written.keys, written.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == node.slice.value:
                        found.append(value)
        if not found and isinstance(node, ast.Attribute):
            found = self._of_only_class(node.attr)
        values = {v.value for v in found if isinstance(v, ast.Constant)}
        only = values.pop() if len(values) == len(found) == 1 else None
        return float(only) if isinstance(only, (int, float)) and not isinstance(only, bool) else None

    def _of_only_class(self, name: str) -> list[ast.expr]:
        """The value of a field that one class of the script has and that nothing sets: `self.cfg.epochs`."""
        found: list[ast.expr] = []
        for owner in self.source.classes.values():
            for line in owner.body:
                targets = line.targets if isinstance(line, ast.Assign) else []
                for target in targets:
                    pairs = [(target, line.value)] if isinstance(line, ast.Assign) else []
                    if isinstance(target, ast.Tuple) and isinstance(pairs[0][1], ast.Tuple):
                        pairs = list(zip(target.elts, pairs[0][1].elts, strict=False))
                    found += [v for t, v in pairs if unparse(t) == name]
                if (
                    isinstance(line, ast.AnnAssign)
                    and unparse(line.target) == name
                    and line.value is not None
                ):
                    found.append(line.value)
        told = [n for n in self.source.of(ast.Attribute) if n.attr == name and isinstance(n.ctx, ast.Store)]
        return found if len(found) == 1 and not told else []

    def _of_constructor(self, node: ast.Attribute) -> list[ast.expr]:
        """What the class around is built with under a name, else its default."""
        owner = self.source.class_around(node)
        made = [f for f in owner.body if isinstance(f, ast.FunctionDef)] if owner is not None else []
        first = next((f for f in made if f.name == "__init__"), None)
        if owner is None or first is None:
            return []
        calls = self.source.named(owner.name)
        names = [a.arg for a in first.args.args][1:]
        given = [k for c in calls if (k := keyword(c, node.attr)) is not None]
        place = names.index(node.attr) if node.attr in names else len(names)
        given += [c.args[place] for c in calls if place < len(c.args)]
        pairs = zip(names[::-1], first.args.defaults[::-1], strict=False)
        return given or [d for n, d in pairs if n == node.attr]

    def _begins(self, node: ast.expr) -> float:
        """The number that an attribute begins with, where it is also read out of a checkpoint."""
        owner, text = self.source.class_around(node), unparse(node)
        if owner is not None and isinstance(node, ast.Attribute):
            for one in self.source.of(ast.Assign):
                if self.source.class_around(one) is owner and unparse(one.targets[0]) == text:
                    if isinstance(one.value, ast.Constant) and isinstance(one.value.value, (int, float)):
                        self.zeros |= {text} if one.value.value == 0 else set()
                        return float(one.value.value)
        raise Unknown(text)

    def _usual(self, node: ast.Name) -> float | None:
        """The default of a parameter that no caller gives."""
        function = self.source.function_around(node)
        if function is None:
            return None
        arguments = function.args
        for one, value in zip(arguments.args[::-1], arguments.defaults[::-1], strict=False):
            if one.arg == node.id and isinstance(value, ast.Constant):
                known = isinstance(value.value, (int, float)) and not isinstance(value.value, bool)
                return float(value.value) if known else None  # type: ignore[arg-type]
        return None

    def _behind(self, node: ast.expr, depth: int) -> float:
        """What a name was given, else what callers hand over, else a setting, else a made-up number."""
        mine = flow(self.source)
        given = mine.all_given(node)
        plain = [g.value for g in given if not g.places and g.value is not node]
        if given and len(plain) == len(given):
            fixed = [v for v in plain if isinstance(v, ast.Constant)]
            ways = plain if len(plain) == 1 else fixed
            if len(ways) == 1 and isinstance(ways[0], ast.Constant) and ways[0].value not in (0, 1, -1):
                self.leaves.add(_key(node))
            if len(ways) == 1:
                self.zeros |= (
                    {unparse(node)} if isinstance(ways[0], ast.Constant) and ways[0].value == 0 else set()
                )
                try:
                    return self.of(ways[0], depth - 1)
                except Unknown:
                    return self._begins(node)
            raise Unknown(unparse(node))
        value = number(self.source, node)
        if isinstance(node, ast.Subscript):
            ends = [e for e in mine.values(node, 8) if e is not node]
            if len(ends) == 1:
                self.leaves.add(_key(node))
                return self.of(ends[0], depth - 1)
        if value is None:
            value = self._setting(node)
        if value is not None:
            self.leaves |= {_key(node)} if abs(value) > 1 else set()
            return value
        handed = [a for a in mine.arguments(node) if unparse(a) != unparse(node)]
        if handed:
            values = {self.of(a, depth - 1) for a in handed}
            if len(values) == 1:
                return values.pop()
            raise Unknown(unparse(node))
        if isinstance(node, ast.Name) and (usual := self._usual(node)) is not None:
            return usual
        if given or not isinstance(node, ast.Attribute) or _SHARE.search(node.attr):
            raise Unknown(unparse(node))
        return self._made_up(unparse(node).removeprefix("self."), 20.0)


_SHARE = re.compile(r"(?i)ratio|frac|share|percent|pct|factor|gamma|rate|lr|power|momentum|decay$|eps|min")


def _key(node: ast.expr) -> str:
    """The name of a setting, however it is asked for: `cfg.epochs`, `cfg["epochs"]`, `self.epochs`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return last_name(node)


_MATHS = ("math", "np", "numpy", "torch", "m", "K", "tnp")


def _placed(source: Script, node: ast.AST) -> bool:
    return node in source.parents


def known(source: Script, node: ast.expr | None, left: int = _MOST) -> float | None:
    """The number of an expression, None where it is not told or made of sizes that are not known.

    Nor has it one where it is made of a count from zero on that is raised: `min(m, (1 + n) / (10 + n))`.

    `left`: how many expressions are gone through at most.
    """
    if node is None:
        return None
    numbers = Numbers(source, left=left)
    try:
        found = numbers.of(node)
    except (Unknown, RecursionError, OverflowError):
        return None
    if numbers.zeros and any(unparse(n.target) in numbers.zeros for n in source.of(ast.AugAssign)):
        return None
    return None if numbers.unknown else found
