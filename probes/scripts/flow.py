"""Where values in a script come from: through names, methods, functions, dicts and tuples.

`Flow.sources(node)` follows one expression backwards to what it is made of; nothing is executed. What cannot
be followed (a helper of another package, a value chosen at run time) ends the way and is left as it is.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ..readers._tree import below, of, unparse
from ..readers.script import LOSSES, argument, last_name, receiver
from .asked import answers
from .begun import library_call
from .branches import never_together
from .callables import entry_of, runs
from .graph_facts import descents, graph_losses
from .syntax import Function, Script, moved

MAX_DEPTH = 12
# what gives back the module that it is called on or with
_WRAPS = (
    "to",
    "cuda",
    "train",
    "eval",
    "DistributedDataParallel",
    "DataParallel",
    "DDP",
    "compile",
    "prepare",
    "auto_mixed_precision",
    "to_float",
    "to_bfloat16",
)


MAX_VISITED = 4000  # expressions that are gone through for one question
Places = tuple[int | str, ...]  # the items of a tuple or dict that are meant, outermost first
_Ends = list[tuple[ast.expr, Places]]
_Known = dict[tuple[ast.expr, Places, int], _Ends]


@dataclass(frozen=True)
class Given:
    """One assignment: its statement, the value, and the places in a tuple that the name takes."""

    statement: ast.AST
    value: ast.expr
    places: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Flow:
    """Questions on the flow of values in one script."""

    source: Script

    @cached_property
    def functions(self) -> dict[str, list[Function]]:
        """Functions and methods by name."""
        found: dict[str, list[Function]] = defaultdict(list)
        for node in of(self.source.tree, ast.FunctionDef, ast.AsyncFunctionDef):
            found[node.name].append(node)
        return dict(found)

    @cached_property
    def _given(self) -> dict[tuple[ast.AST | None, str], list[Given]]:
        """Assignments by scope and target; attributes of self belong to their class."""
        found: dict[tuple[ast.AST | None, str], list[Given]] = defaultdict(list)
        for node in self.source.of(ast.Assign, ast.AnnAssign, ast.withitem, ast.NamedExpr):
            pairs: list[tuple[ast.expr, ast.expr]] = []
            if isinstance(node, ast.Assign):
                pairs = [(t, node.value) for t in node.targets]
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                pairs = [(node.target, node.value)]
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                pairs = [(node.optional_vars, node.context_expr)]
            elif isinstance(node, ast.NamedExpr):
                pairs = [(node.target, node.value)]
            for target, value in pairs:
                for one, places in _parts(target):
                    scope = self._scope(node, one)
                    given = _unpacked(value, places)
                    found[scope, unparse(one)].append(Given(node, *given))
        # nodes come level by level: what stands in a loop would come after what follows the loop
        return {key: sorted(each, key=_place) for key, each in found.items()}

    def _scope(self, node: ast.AST, target: ast.expr) -> ast.AST | None:
        if isinstance(target, ast.Attribute) and _is_self(target.value):
            return self.class_around(node)
        return self.source.function_around(node)

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """The class that a node stands in."""
        return self.source.class_around(node)

    # ------------------------------------------------------------------------------------- one step back

    def given(self, node: ast.expr) -> Given | None:
        """The assignment that a name or attribute has its value from; the last one above it, if any."""
        found = self.all_given(node)
        return found[0] if found else None

    def whole_given(self, node: ast.expr) -> ast.expr | None:
        """The value that a name was given last, where that is all of it: no part of a tuple."""
        found = self.given(node)
        return found.value if found is not None and not found.places else None

    def all_given(self, node: ast.expr) -> list[Given]:
        """The assignments that may have given a name its value, the last first: one for each branch."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return []
        text = unparse(node)
        if isinstance(node, ast.Attribute):
            if _is_self(node.value):
                return self._given.get((self.class_around(node), text), [])[-1:]
            return self._last((self.source.function_around(node), text), node)
        scope: ast.AST | None = self.source.function_around(node)
        if scope is None:
            return self._last((None, text), node)
        while scope is not None:
            found = self._last((scope, text), node)
            if found or text in _parameters(scope):
                return found
            scope = self.source.function_around(scope)
        return self._given.get((None, text), [])[-1:]

    def _last(self, key: tuple[ast.AST | None, str], node: ast.AST) -> list[Given]:
        place = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        around = set(self.source.above(node))
        found: list[Given] = []
        each = self._given.get(key, [])
        before = bisect_right(each, place, key=_end)  # `a = f(); g(a)` may stand on one line
        for given in reversed(each[:before]):
            above = list(self.source.above(given.statement))
            if any(isinstance(p, ast.If) for p in above) and never_together(
                self.source, given.statement, node
            ):
                continue
            found.append(given)
            if not any(isinstance(p, ast.If) and p not in around for p in above):
                break  # it runs whatever the conditions say, so that what stands before it does not count
        return found

    def arguments(self, node: ast.expr) -> list[ast.expr]:
        """What callers hand over for a name that is a parameter of a function around it."""
        function = self.source.function_around(node)
        if not isinstance(node, ast.Name):
            return []
        while function is not None and node.id not in _parameters(function):
            if (function, node.id) in self._given:
                return []
            function = self.source.function_around(function)
        if function is None:
            return []
        names = _parameters(function)
        at = names.index(node.id)
        owner = self.class_around(function)
        method = owner is not None and bool(names) and _is_self_name(names[0])
        called = owner.name if owner is not None and function.name == "__init__" else function.name
        found = []
        calls = [(c, 0) for c in self.source.named(called)]
        if owner is not None and function in self.source.forwards:
            calls += [(c, 0) for c in self._calls_of.get(owner, ())]
        calls += self._calls_behind.get(function, [])
        for call, bound in calls:
            if function in self.source.above(call) or self._of_another(call, function):
                continue
            named = next((k.value for k in call.keywords if k.arg == node.id), None)
            place = (at - 1 if method else at) - bound
            if named is not None:
                found.append(named)
            elif 0 <= place < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args):
                found.append(call.args[place])
        return found

    def calls_of(self, function: Function) -> tuple[ast.Call, ...]:
        """The calls that may run a function, by its name; not another thing's method that is called alike."""
        return tuple(c for c in self.source.named(function.name) if not self._of_another(c, function))

    def _of_another(self, call: ast.Call, function: Function) -> bool:
        """Whether another thing's method of the same name is called: `vocab.decode(ids)`, `net.decode(y)`."""
        if library_call(self.source, call):
            return True  # `torch.save(state, path)`, whatever the script's own `save` does
        if self.class_around(function) is None and self._is_method(call, function.name):
            return True
        alike = self.functions.get(function.name, [])
        if len(alike) < 2 or not isinstance(call.func, ast.Attribute) or call.func.attr != function.name:
            return False  # `self.block(x)` runs the `forward` of what stands there
        if call not in self._receivers:
            self._receivers[call] = None  # what asks for itself on the way is not known
            owner = call.func.value
            self._receivers[call] = self.class_around(call) if _is_self(owner) else self.made(owner)
        held = self._receivers[call]
        mine = self.class_around(function)
        if held is None or mine is None or held is mine or not any(f in held.body for f in alike):
            return False
        bases = [
            {last_name(b) for b in one.bases if last_name(b) in self.source.classes} for one in (held, mine)
        ]
        return not any(bases)  # a method may be one of a class that is derived from the other

    def _is_method(self, call: ast.Call, name: str) -> bool:
        """Whether `scaler.fit(x)` is called, and not the function of this name in a module: `lib.fit(x)`."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != name:
            return False
        root = call.func.value
        while isinstance(root, ast.Attribute):
            root = root.value
        return not (isinstance(root, ast.Name) and root.id in self.imported)

    @cached_property
    def imported(self) -> frozenset[str]:
        """Names that imports give."""
        plain = [a for node in self.source.of(ast.Import) for a in node.names]
        parts = [a for node in self.source.of(ast.ImportFrom) for a in node.names]
        return frozenset((a.asname or a.name).split(".")[0] for a in (*plain, *parts))

    @cached_property
    def _receivers(self) -> dict[ast.Call, ast.ClassDef | None]:
        """The classes of the objects whose methods are called, as far as they were asked for."""
        return {}

    @cached_property
    def _calls_of(self) -> dict[ast.ClassDef, list[ast.Call]]:
        """The calls of instances of each class of this script."""
        found: dict[ast.ClassDef, list[ast.Call]] = defaultdict(list)
        # `made` asks for this very thing: on the way it sees what is known so far, or it would never end
        self.__dict__["_calls_of"] = found
        for call in self.source.calls:
            if (
                isinstance(call.func, (ast.Name, ast.Attribute))
                and last_name(call.func) not in self.functions
            ):
                if (made := self.made(call.func)) is not None:
                    found[made].append(call)
        return dict(found)

    @cached_property
    def _calls_behind(self) -> dict[Function, list[tuple[ast.Call, int]]]:
        """Calls of functions by another name than their own, with how many arguments were bound before."""
        found: dict[Function, list[tuple[ast.Call, int]]] = defaultdict(list)
        self.__dict__["_calls_behind"] = found  # as for `_calls_of`
        for call in self.source.calls:
            if last_name(call.func) not in self.functions and last_name(call.func) not in self.source.classes:
                for function, bound in runs(self, call.func):
                    found[function].append((call, bound))
        return dict(found)

    def is_function_name(self, node: ast.Name) -> bool:
        """Whether a name that nothing is assigned to is no parameter of a function around it."""
        scope = self.source.function_around(node)
        while scope is not None:
            if node.id in _parameters(scope):
                return False
            scope = self.source.function_around(scope)
        return True

    def given_back(self, function: Function) -> tuple[ast.expr, ...]:
        """What a function gives back."""
        return returns(function)

    def called(self, call: ast.Call) -> list[Function]:
        """The functions of this script that a call may run: by name, a method, or a module's forward."""
        name = last_name(call.func)
        if isinstance(call.func, ast.Name) and name in self.source.classes:
            return []
        if _is_self(call.func):  # `self(x)` of a module runs its own forward
            around = self.class_around(call)
            return [f for f in self.source.forwards if around is not None and f in around.body]
        if isinstance(call.func, ast.Attribute) and _is_self(call.func.value):
            owner = self.class_around(call)
            mine = [f for f in self.functions.get(name, []) if self.class_around(f) is owner]
            if mine:
                return mine
        elif name in self.functions:
            return [f for f in self.functions[name] if not self._of_another(call, f)]
        made = self.made(call.func)
        if made is None:
            return [f for f, _ in runs(self, call.func)]
        return [f for f in self.source.forwards if f in made.body]

    def made(self, node: ast.expr, depth: int = 4) -> ast.ClassDef | None:
        """The class of this script that a name or attribute holds an instance of."""
        if depth == 0:
            return None
        if isinstance(node, ast.Call):
            found = self.source.classes.get(last_name(node.func))
            if isinstance(node.func, ast.Name) and node.func.id in self.functions:
                return found  # `train(model, loader)` of the script gives back what it likes
            if found is None and last_name(node.func) in _WRAPS:
                inner = node.args[0] if node.args and not isinstance(node.func, ast.Attribute) else None
                inner = inner or receiver(node)
                held = self.made(inner, depth - 1) if inner is not None else None
                if held is None and node.args and last_name(node.func) == "auto_mixed_precision":
                    return self.made(node.args[0], depth - 1)  # `amp.auto_mixed_precision(net, "O2")`
                return held
            return found
        found_given = self.given(node)
        if found_given is not None and not found_given.places:
            return self.made(found_given.value, depth - 1)
        if found_given is not None and isinstance(found_given.value, ast.Call):
            inner = handed_through(found_given.value, found_given.places)
            return self.made(inner, depth - 1) if inner is not None else None
        for one in self.arguments(node):
            if (held := self.made(one, depth - 1)) is not None:
                return held
        return None

    # ---------------------------------------------------------------------------------- all the way back

    def values(self, node: ast.expr, depth: int = MAX_DEPTH) -> list[ast.expr]:
        """What an expression stands for, names and calls of the script's own functions followed.

        At most MAX_VISITED expressions are gone through; where the way goes on it is left as it is.
        """
        key = (node, depth)
        if key not in self._known_values:
            self._known_values[key] = [v for v, _ in self._values(node, (), depth, {})]
        return list(self._known_values[key])

    @cached_property
    def literals(self) -> dict[tuple[ast.expr, int], object]:
        """What was found to be the constant behind an expression, by how deep it was looked for."""
        return {}

    @cached_property
    def _known_values(self) -> dict[tuple[ast.expr, int], list[ast.expr]]:
        return {}

    def _values(self, node: ast.expr, places: Places, depth: int, known: _Known) -> _Ends:
        """Pairs of an end and the places of it that are meant, each once."""
        key = (node, places, depth)
        if key in known:
            return known[key]
        following = self.step(node, places) if depth and len(known) < MAX_VISITED else []
        known[key] = [(node, places)]
        if following:
            ends = [e for value, left in following for e in self._values(value, left, depth - 1, known)]
            # an item that could not be found in what it is taken out of is left as it is
            if not isinstance(node, ast.Subscript) or any(len(left) <= len(places) for _, left in ends):
                known[key] = list(dict.fromkeys(ends))
        return known[key]

    def step(self, node: ast.expr, places: Places) -> list[tuple[ast.expr, Places]]:
        """One step back: what a name, an item or a call of the script's own functions stands for."""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if isinstance(node.slice.value, (int, str)):
                return [(node.value, (node.slice.value, *places))]
        elif isinstance(node, ast.Subscript) and (entry := entry_of(self, node)) is not None:
            return [(entry, places)]
        elif isinstance(node, (ast.Tuple, ast.List)) and places and isinstance(places[0], int):
            return [(node.elts[places[0]], places[1:])] if places[0] < len(node.elts) else []
        elif isinstance(node, (ast.Dict, ast.Call)) and places and isinstance(places[0], str):
            if (item := _item(node, places[0])) is not None:
                return [(item, places[1:])]
        elif isinstance(node, ast.IfExp):
            return [(node.body, places), (node.orelse, places)]
        elif isinstance(node, ast.Await):
            return [(node.value, places)]
        elif isinstance(node, (ast.Name, ast.Attribute)):
            found = [(g.value, (*g.places, *places)) for g in self.all_given(node)]
            return found or [(a, places) for a in self.arguments(node)]
        if isinstance(node, ast.Call):
            if (inner := handed_through(node, places)) is not None:
                return [(inner, places[1:])]
            return [(r, places) for f in self.called(node) for r in answers(self.source, node, f, returns(f))]
        return []


def handed_through(call: ast.Call, places: Places) -> ast.expr | None:
    """What a library wraps and gives back at a place of its tuple, as the script handed it over.

    `model, optimizer = accelerator.prepare(model, optimizer)`, `fabric.setup`, apex's `amp.initialize`, and
    `engine, optimizer, _, scheduler = deepspeed.initialize(model=net, ...)`.
    """
    if not places or not isinstance(places[0], int) or not isinstance(call.func, ast.Attribute):
        return None
    name, owner, place = call.func.attr, unparse(call.func.value).split(".")[-1].lower(), places[0]
    engine = name == "initialize" and owner in ("deepspeed", "ds")
    if engine and place in _ENGINE:
        return next((k.value for k in call.keywords if k.arg == _ENGINE[place]), None)
    library = (name == "prepare" and "accelerator" in owner) or (name == "setup" and "fabric" in owner)
    if library or (name == "initialize" and owner == "amp"):
        plain = not any(isinstance(a, ast.Starred) for a in call.args)
        return call.args[place] if plain and 0 <= place < len(call.args) else None
    return None


_ENGINE = {0: "model", 1: "optimizer", 3: "lr_scheduler"}


@lru_cache(maxsize=64)
def flow(source: Script) -> Flow:
    """The flow of a script, made once."""
    return Flow(source)


def returns(function: Function) -> tuple[ast.expr, ...]:
    """What a function gives back, those of functions inside it left out; kept with the function."""
    kept: tuple[ast.expr, ...] | None = function.__dict__.get("_returns")
    if kept is None:
        kept = function.__dict__["_returns"] = tuple(_returns(function))
    return kept


def _returns(function: Function) -> list[ast.expr]:
    found: list[ast.expr] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node.value)
        waiting += below(node)
    return found


def _item(node: ast.expr, key: str) -> ast.expr | None:
    """The value of a key in `{...}` or `dict(...)`."""
    if isinstance(node, ast.Dict):
        for name, value in zip(node.keys, node.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == key:
                return value
    elif isinstance(node, ast.Call) and last_name(node.func) == "dict":
        return next((k.value for k in node.keywords if k.arg == key), None)
    return None


def _place(given: Given) -> tuple[int, int]:
    """Where the value of an assignment stands: line and column."""
    return given.value.lineno, given.value.col_offset


def _end(given: Given) -> tuple[int, int]:
    """Where an assignment ends, or what a loop goes over: line and column."""
    whole = isinstance(given.statement, (ast.Assign, ast.AnnAssign, ast.AugAssign))
    node = given.statement if whole else given.value  # `a, b = a[5:], a[:5]` reads `a` as it was before
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _parts(target: ast.expr, places: tuple[int, ...] = ()) -> Iterator[tuple[ast.expr, tuple[int, ...]]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for i, one in enumerate(target.elts):
            yield from _parts(one, (*places, i))
    elif not isinstance(target, ast.Starred):
        yield target, places


def _unpacked(value: ast.expr, places: tuple[int, ...]) -> tuple[ast.expr, tuple[int, ...]]:
    """`a, b = 1, 2`: the part of a tuple that is written out."""
    while places and isinstance(value, (ast.Tuple, ast.List)) and places[0] < len(value.elts):
        value, places = value.elts[places[0]], places[1:]
    return value, places


def _parameters(scope: ast.AST | None) -> list[str]:
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return []
    return [a.arg for a in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)]


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and _is_self_name(node.id)


def _is_self_name(name: str) -> bool:
    return name in ("self", "cls")


# ------------------------------------------------------------------------------------------- the objective


@lru_cache(maxsize=16)
def losses(source: Script) -> tuple[tuple[ast.Call, str], ...]:
    """Calls of a standard loss with its kind, "" where a table or a setting chooses it."""
    known = dict(source.losses) | {g.call: g.kind for g in graph_losses(source)}
    mine = flow(source)
    for call in source.calls:
        if call in known or len(call.args) < 2 or last_name(call.func) in mine.functions:
            continue
        if not isinstance(call.func, (ast.Name, ast.Attribute, ast.Subscript)):
            continue
        for made in _behind(mine, call.func):
            built = moved(made)
            if isinstance(built, ast.Call) and (kind := _loss_class(built.func, mine)) is not None:
                known[call] = kind
            elif isinstance(made, ast.Attribute) and made is not call.func and made.attr in LOSSES:
                known[call] = made.attr  # `criterion = F.cross_entropy`
    return tuple(sorted(known.items(), key=lambda k: (k[0].lineno, k[0].col_offset)))


def _behind(mine: Flow, called: ast.expr) -> list[ast.expr]:
    """What a called name stands for; of what a registry or a function of the script made, what it gave."""
    found = mine.values(called, 5)
    made = [m for m in map(moved, found) if isinstance(m, ast.Call) and not isinstance(m.func, ast.Name)]
    return [*found, *(v for m in made for v in mine.values(m, 4) if v is not m)]


def predicted(source: Script, call: ast.Call) -> ast.expr | None:
    """What a standard loss is given as prediction: those of TensorFlow and Keras take it second."""
    graph = next((g for g in graph_losses(source) if g.call is call), None)
    if graph is not None:
        return graph.scores
    named = next((k.value for k in call.keywords if k.arg == "y_pred"), None)
    if named is not None:
        return named
    if answers_first(source, call):
        return argument(call, position=1)
    return argument(call, position=0)


_KERAS = re.compile(r"(?:sparse|binary|categorical)_?(?:focal_?)?(?:categorical_?)?crossentropy$")


def answers_first(source: Script, call: ast.Call) -> bool:
    """A loss of Keras, or of `tf.nn` by place, which takes the answers before the predictions."""
    if source.owner(call) in ("tf.nn", "tensorflow.nn", "tf.compat.v2.nn"):
        return last_name(call.func).endswith("_cross_entropy_with_logits")
    kind = dict(losses(source)).get(call, last_name(call.func).lower())
    return _KERAS.search(kind.lower()) is not None and bool({"keras", "tensorflow"} & set(source.frameworks))


def _loss_class(made: ast.expr, mine: Flow, depth: int = 3) -> str | None:
    """The kind of loss that a call builds: by class, by a name of torch.nn, by a table."""
    if (name := last_name(made).lower()) in LOSSES:
        return name
    if depth == 0:
        return None
    if isinstance(made, ast.Subscript):
        return _loss_class(made.value, mine, depth - 1)
    if isinstance(made, ast.Dict):
        return "" if any(_loss_class(v, mine, 1) is not None for v in made.values) else None
    if isinstance(made, ast.Call) and last_name(made.func) == "get" and isinstance(made.func, ast.Attribute):
        return _loss_class(made.func.value, mine, depth - 1)
    if isinstance(made, ast.Name) and (found := mine.given(made)) is not None:
        return _loss_class(found.value, mine, depth - 1)
    return None


@lru_cache(maxsize=16)
def objectives(source: Script) -> tuple[tuple[ast.Call, ast.expr], ...]:
    """What gradients are taken of, with the call that takes them.

    `loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`,
    `autograd.grad(loss, p)`, `tape.gradient(loss, p)`, what the function of `value_and_grad(f)` returns, and
    TensorFlow's `optimizer.minimize(loss)`.
    """
    found: list[tuple[ast.Call, ast.expr]] = []
    for call in source.backwards:
        takes = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        by_hand = last_name(call.func) == "manual_backward"
        handed = call.args and (by_hand or not isinstance(call.func, ast.Attribute) or _carries_out(takes))
        if handed:
            found.append((call, call.args[0]))
        elif isinstance(call.func, ast.Attribute):
            found.append((call, call.func.value))
    for call in source.named("grad", "gradient"):
        owner = source.owner(call).split(".")[-1]
        if call.args and (owner in ("autograd", "self") or "tape" in owner or len(call.args) > 1):
            found.append((call, call.args[0]))
    mine = flow(source)
    for call in source.named("value_and_grad"):
        if call.args and isinstance(call.args[0], ast.Name):
            for function in mine.functions.get(call.args[0].id, []):
                found += [(call, first_of(r)) for r in returns(function)]
    found += [(d.call, d.objective) for d in descents(source)]
    return tuple(found)


def _carries_out(owner: str) -> bool:
    return any(
        w in owner.lower() for w in ("engine", "accelerat", "fabric", "model", "scaler", "manager", "amp")
    )


def first_of(value: ast.expr) -> ast.expr:
    """The first of a tuple, or the value itself."""
    return value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
