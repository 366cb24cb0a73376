"""Names of a script followed to constants: assignments, options, fields of classes that hold settings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .._tree import of, unparse
from .calls import OPTIMIZERS, argument, first_given, keyword, last_name

Value = bool | int | float | str | None | tuple[bool | int | float | str | None, ...]


@dataclass(eq=False)
class Values:
    """The constants that names, members and options of a script stand for."""

    tree: ast.Module
    file: str
    names: dict[str, tuple[ast.expr, int]] = field(default_factory=dict)
    members: dict[str, tuple[ast.expr, int]] = field(
        default_factory=dict
    )  # class attributes, dict keys, argparse

    parameters: dict[str, ast.expr] = field(default_factory=dict)  # of constructors, where one value is known
    options: set[str] = field(default_factory=set)  # members that the command line declares
    open: set[str] = field(default_factory=set)  # members that a command line or a configuration file may set

    classes: dict[str, ast.ClassDef] = field(init=False)

    def __post_init__(self) -> None:
        self.classes = {n.name: n for n in reversed(of(self.tree, ast.ClassDef))}
        self.parameters = _constructed(self.tree)
        self.open = {name for name, _ in declared(self.classes.values())}
        kept = _kept_to_functions(self.tree)
        for node in of(self.tree, ast.Assign, ast.AnnAssign, ast.Call):
            if isinstance(node, ast.Assign):
                if len(node.targets) == 1:
                    self._remember(node.targets[0], node.value, kept.get(node, frozenset()))
            elif isinstance(node, ast.AnnAssign):
                if node.value is not None:
                    self._remember(node.target, node.value)
            elif last_name(node.func) == "add_argument":
                self._argument(node)
            elif last_name(node.func) in _FLAGS and len(node.args) > 1:
                flag = node.args[0]
                if isinstance(flag, ast.Constant) and isinstance(flag.value, str):
                    self.members[flag.value] = (node.args[1], node.lineno)
                    self.open.add(flag.value)
        self._filled_in()
        for name, given in _handed_on(self.tree, self.classes).items():
            told = [self.value(g) for g in given]
            if all(known for known, _, _ in told) and len({value for _, value, _ in told}) == 1:
                self.parameters[name] = given[0]

    def _filled_in(self) -> None:
        """Fields that the program itself gives one constant, as in `Config(lr=0.1)`: no longer a default."""
        given: dict[str, list[ast.expr]] = {}
        for node in of(self.tree, ast.Call):
            owner = self.classes.get(last_name(node.func))
            if owner is not None and _holds_settings(owner):
                for word in node.keywords:
                    if word.arg:
                        given.setdefault(word.arg, []).append(word.value)
        for name, values in given.items():
            if name in self.open and len(values) == 1 and isinstance(values[0], ast.Constant):
                self.members[name] = (values[0], values[0].lineno)
                self.open.discard(name)

    def _remember(self, target: ast.expr, value: ast.expr, kept: frozenset[str] = frozenset()) -> None:
        """What a name is given; those of `kept` are no member of anything."""
        if isinstance(target, ast.Name):
            self.names.setdefault(target.id, (value, value.lineno))
            if target.id not in kept:
                self.members.setdefault(target.id, (value, value.lineno))
            if isinstance(value, ast.Dict):
                keys = {k.value for k in value.keys if isinstance(k, ast.Constant)}
                plateau = bool(keys & {"patience", "threshold_mode"})
                if _is_table_of_ranges(value):
                    return
                for key, item in zip(value.keys, value.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        if plateau and key.value == "eps":
                            continue  # of a scheduler, which waits for a plateau
                        self.members.setdefault(key.value, (item, item.lineno))
            elif isinstance(value, ast.Call) and last_name(value.func).lower() in _HOLDERS:
                for word in value.keywords:
                    if word.arg:
                        self.members.setdefault(word.arg, (word.value, word.value.lineno))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, item in zip(target.elts, value.elts, strict=False):
                self._remember(one, item, kept)

    def _argument(self, call: ast.Call) -> None:
        flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        default = keyword(call, "default")
        if flags and default is not None:
            name = max(flags, key=len).lstrip("-").replace("-", "_")
            if name not in self.options:  # the entry's own comes first
                self.members[name] = (default, call.lineno)
                self.options.add(name)
            self.open.add(name)

    # -------------------------------------------------------------------------------------- values

    def value(self, node: ast.expr | None, depth: int = 0) -> tuple[bool, Value, bool]:
        """Return (known, value, is a default that the command line or a configuration file may replace)."""
        if node is None or depth > 8:
            return False, None, False
        if isinstance(node, ast.Constant):
            return _plain(node.value)
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.value(self.names[node.id][0], depth + 1)
        if isinstance(node, ast.Attribute) and node.attr in self.members:
            known, value, _ = self.value(self.members[node.attr][0], depth + 1)
            return known, value, node.attr in self.open and last_name(node.value) not in self.classes
        if isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) in self.parameters:
            known, value, _ = self.value(self.parameters[last_name(node)], depth + 1)
            return known, value, True
        if isinstance(node, ast.Call) and (rest := self._unless_said(node)) is not None:
            known, value, _ = self.value(rest, depth + 1)
            return known, value, True
        if isinstance(node, ast.Call):
            given = self._stands_for(node)
            return self.value(given, depth + 1) if given is not None else (False, None, False)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key = node.slice.value
            if isinstance(key, str) and key in self.members:
                return self.value(self.members[key][0], depth + 1)
            return False, None, False
        if isinstance(node, (ast.Tuple, ast.List)):
            parts = [self.value(e, depth + 1) for e in node.elts]
            if all(p[0] and not isinstance(p[1], tuple) for p in parts):
                return True, tuple(p[1] for p in parts), any(p[2] for p in parts)  # type: ignore[misc]
            return False, None, False
        return self._computed(node, depth)

    def _unless_said(self, call: ast.Call) -> ast.expr | None:
        """What is in force unless a file says otherwise: `config.get("lr", 0.1)`, `getattr(args, "n", 1)`."""
        if isinstance(call.func, ast.Name) and call.func.id in ("float", "int") and len(call.args) == 1:
            inner = call.args[0]
            return self._unless_said(inner) if isinstance(inner, ast.Call) else None
        place = 1 if isinstance(call.func, ast.Name) and call.func.id == "getattr" else 0
        if place == 0 and not (isinstance(call.func, ast.Attribute) and call.func.attr == "get"):
            return None
        if len(call.args) != place + 2 or call.keywords:
            return None
        key, rest = call.args[place], call.args[place + 1]
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None
        said = self.members.get(key.value)
        return rest if said is None or said[0] is call or call in of(said[0], ast.Call) else said[0]

    def _stands_for(self, call: ast.Call) -> ast.expr | None:
        """The default of a dataclass field, or the first rate of a schedule that is given as a rate."""
        name = last_name(call.func)
        if name in ("field", "Field"):
            return keyword(call, "default") or (first_given(call) if name == "Field" else None)
        if name in _KERAS_SCHEDULES:
            warm = keyword(call, "warmup_target")  # where it is given, the first rate is that of the warm-up
            return warm or keyword(call, "initial_learning_rate") or first_given(call)
        if name in _MINDSPORE_SCHEDULES and name not in self.classes:
            place, word = _MINDSPORE_SCHEDULES[name]
            return argument(call, word, position=place)
        owner = self.classes.get(name)
        if owner is None or not any(last_name(b) == "LearningRateSchedule" for b in owner.bases):
            return None
        made = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
        names = [a.arg for a in made.args.args[1:]] if made is not None else []
        given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
        if any(_WIDTH.search(k) for k in given):
            return (
                None  # a factor of the schedule of Vaswani et al. (2017), which divides by the width's root
            )
        rates = [v for k, v in given.items() if re.search(r"peak|rate|(?:^|_)lr|base|initial|max_l", k)]
        return rates[0] if len(rates) == 1 else None

    def _computed(self, node: ast.expr, depth: int) -> tuple[bool, Value, bool]:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            known, value, default = self.value(node.operand, depth + 1)
            good = known and isinstance(value, (int, float))
            return good, -value if good else None, default  # type: ignore[operator]
        if isinstance(node, ast.BinOp):
            left = self.value(node.left, depth + 1)
            right = self.value(node.right, depth + 1)
            if (
                left[0]
                and right[0]
                and isinstance(left[1], (int, float))
                and isinstance(right[1], (int, float))
            ):
                result = _arithmetic(node.op, left[1], right[1])
                return result is not None, result, left[2] or right[2]
        return False, None, False


_FLAGS = frozenset(
    {"DEFINE_float", "DEFINE_integer", "DEFINE_string", "DEFINE_bool", "DEFINE_boolean", "DEFINE_enum"}
)
# where MindSpore's schedules, as cells and as lists, take their highest rate
_MINDSPORE_SCHEDULES = {
    **dict.fromkeys(("CosineDecayLR", "cosine_decay_lr"), (1, "max_lr")),
    **dict.fromkeys(
        (
            *("ExponentialDecayLR", "PolynomialDecayLR", "NaturalExpDecayLR", "InverseDecayLR", "WarmUpLR"),
            *("exponential_decay_lr", "polynomial_decay_lr", "natural_exp_decay_lr", "inverse_decay_lr"),
            "warmup_lr",
        ),
        (0, "learning_rate"),
    ),
}
_KERAS_SCHEDULES = frozenset(
    {"CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "PolynomialDecay", "InverseTimeDecay"}
)


def _kept_to_functions(tree: ast.Module) -> dict[ast.AST, frozenset[str]]:
    """By assignment in a function: the names that the function hands to no class and by no keyword.

    The `lr` of `ll, lr = 0, 0`, an end of a window, is not what `self.lr` of a class elsewhere stands for.
    """
    found: dict[ast.AST, frozenset[str]] = {}
    for function in of(tree, ast.FunctionDef):
        given = of(function, ast.Assign)
        if not given:
            continue
        handed: set[str] = set()
        for call in of(function, ast.Call):
            parts = [k.value for k in call.keywords]
            parts += call.args if last_name(call.func)[:1].isupper() else []
            handed |= {p.id for p in parts if isinstance(p, ast.Name)}
        shared = {n for g in of(function, ast.Global) for n in g.names}
        names = {n.id for g in given for t in g.targets for n in of(t, ast.Name)}
        for one in given:
            found[one] = frozenset(names - handed - shared)
    return found


def _build_optimizers(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions of the module that build an optimizer: their parameters are settings of the training."""
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(last_name(c.func).lower() in OPTIMIZERS for c in of(node, ast.Call))
    }


def _constructed(tree: ast.Module) -> dict[str, ast.expr]:
    """Parameters of constructors here that have one constant value: as passed by name, else by default."""
    defaults: dict[str, list[ast.expr]] = {}
    passed: dict[str, list[ast.expr]] = {}
    classes = {n.name: n for n in of(tree, ast.ClassDef)}
    for owner in classes.values():
        for made in owner.body:
            if isinstance(made, ast.FunctionDef) and made.name == "__init__":
                names = [a.arg for a in made.args.args]
                given = zip(reversed(names), reversed(made.args.defaults), strict=False)
                for name, value in given:
                    defaults.setdefault(name, []).append(value)
                for arg, default in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True):
                    if default is not None:
                        defaults.setdefault(arg.arg, []).append(default)
    functions = _build_optimizers(tree)
    for function in functions.values():
        names = [a.arg for a in function.args.args]
        for name, value in zip(reversed(names), reversed(function.args.defaults), strict=False):
            defaults.setdefault(name, []).append(value)
    for node in of(tree, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in functions:
            for arg, value in zip(functions[node.func.id].args.args, node.args, strict=False):
                passed.setdefault(arg.arg, []).append(value)
        if last_name(node.func) in (*classes, *functions):
            for word in node.keywords:
                same = isinstance(word.value, (ast.Name, ast.Attribute)) and last_name(word.value) == word.arg
                if word.arg and not same:
                    passed.setdefault(word.arg, []).append(word.value)
    found = {}
    for name, values in defaults.items():
        values = passed.get(name, values)
        if all(isinstance(v, ast.Constant) for v in values) and len({unparse(v) for v in values}) == 1:
            found[name] = values[0]
    return found


def _handed_on(tree: ast.Module, classes: Mapping[str, ast.ClassDef]) -> dict[str, list[ast.expr]]:
    """What constructors here are given for parameters with a default, by place or by name: `Net(args.drop)`.

    Without what only hands on its own parameter: `Block(drop=drop)`, `Block(self.drop)`.
    """
    found: dict[str, list[ast.expr]] = {}
    for node in of(tree, ast.Call) if classes else ():
        owner = classes.get(last_name(node.func))
        made = (
            next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
            if owner is not None
            else None
        )
        if made is None or any(isinstance(a, ast.Starred) for a in node.args):
            continue
        names = [a.arg for a in made.args.args]
        usual = set(names[len(names) - len(made.args.defaults) :])
        usual |= {a.arg for a, d in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True) if d}
        pairs = [*zip(names[1:], node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
        for name, value in pairs:
            handed = isinstance(value, ast.Name) and value.id == name
            if name in usual and not handed and not unparse(value).startswith("self."):
                found.setdefault(name, []).append(value)
    return found


_HOLDERS = frozenset({"dict", "namespace", "simplenamespace", "easydict", "configdict", "attrdict", "munch"})


def _holds_settings(node: ast.ClassDef) -> bool:
    """A dataclass, a named tuple, a pydantic model, or a class whose name says that it holds settings."""
    marks = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    if any(last_name(d) == "dataclass" for d in marks):
        return True
    if any(last_name(b) in ("NamedTuple", "BaseModel", "BaseSettings") for b in node.bases):
        return True
    return node.name.lower().endswith(
        ("config", "cfg", "args", "arguments", "hparams", "options", "settings")
    )


def declared(classes: Iterable[ast.ClassDef]) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """The fields of the classes that hold settings: name, and where it gets its default."""
    for node in classes:
        for one in node.body if _holds_settings(node) else ():
            if not isinstance(one, (ast.Assign, ast.AnnAssign)):
                continue
            target = one.targets[0] if isinstance(one, ast.Assign) else one.target
            if isinstance(target, ast.Name):
                yield target.id, one


_WIDTH = re.compile(r"(?i)hidden_(?:size|dim)|d_?model|model_(?:dim|size)|embed(?:ding)?_dim")
_FEW = 3  # entries from which a dict of tuples is a table
_MANY = 24  # entries from which a dict of fractions alone is one: settings have counts and words among them


def _is_table_of_ranges(node: ast.Dict) -> bool:
    """No settings in force: tuples alone (bounds for a search), numbers in a row, or many fractions."""
    whole = [v.value for v in node.values if isinstance(v, ast.Constant) and type(v.value) is int]
    if len(whole) == len(node.values) > _FEW and len(whole) == len(set(whole)) == max(whole) - min(whole) + 1:
        return True  # chemical elements, words of a vocabulary, names of classes
    if len(node.values) >= _MANY and all(_is_fraction(v) for v in node.values):
        return True  # measured of each pair of letters, of each class
    rows = [v.elts for v in node.values if isinstance(v, (ast.Tuple, ast.List))]
    if len(rows) == len(node.values) >= _FEW and any(len(r) > 1 for r in rows):
        return True  # what each setting is tried with
    same = len(rows) == len(node.values) and len({len(r) for r in rows}) == 1
    return same and len(rows) >= _FEW and len(rows[0]) > 1


def _is_fraction(node: ast.expr) -> bool:
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(number, ast.Constant) and type(number.value) is float


def _plain(value: object) -> tuple[bool, Value, bool]:
    if isinstance(value, int) and value.bit_length() > 1_000:
        return False, None, False  # beyond what a float holds
    if value is None or isinstance(value, (bool, int, float, str)):
        return True, value, False
    return False, None, False


def _arithmetic(op: ast.operator, left: float, right: float) -> float | None:
    try:
        left, right = float(left), float(right)
        if isinstance(op, ast.Add):
            return left + right
        if isinstance(op, ast.Sub):
            return left - right
        if isinstance(op, ast.Mult):
            return left * right
        if isinstance(op, ast.Div):
            return left / right
        if isinstance(op, ast.FloorDiv):
            return left // right
        if isinstance(op, ast.Pow) and abs(right) <= 64:
            return float(left**right)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None
