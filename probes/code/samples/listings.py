"""Files in the order of a listing, where that order decides on a split, a share or a class number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_false
from .seeds import sets_seed

_LISTS = ("listdir", "glob", "iglob", "rglob", "iterdir", "scandir", "walk")
_SORTS = ("sorted", "natsorted", "sort", "os_sorted", "sort_values")
_NO_DATA = re.compile(r"(?i)ckpt|checkpoint|weights|\.pth?\b|\.pt['\"]|\.log|snapshot|\.onnx|events")
# what keeps the order of the list that it is given
_KEEPS = (
    *("list", "tuple", "filter", "map", "reversed", "array", "asarray", "chain", "from_iterable", "copy"),
    *("deepcopy", "Subset", "ConcatDataset", "Series", "DataFrame", "concatenate", "concat", "cat", "stack"),
    "vstack",
)
_CHAIN = (
    "dropna",
    "sample",
    "reset_index",
    "copy",
    "drop_duplicates",
    "tolist",
    "astype",
    "to_list",
    "numpy",
)
_POSITIONS = ("permutation", "randperm", "range", "arange", "sample", "list", "tuple")
_DRAWS = ("permutation", "randperm", "sample")
_SPLITS = ("train_test_split", "random_split", "StratifiedKFold", "KFold", "Subset")
_HELD_OUT = re.compile(r"(?i)val|test|dev|held|fold|eval|train")


@probe()
def split_in_listing_order(view: View) -> Finding:
    """Files listed without sorting are divided by position, or by a seeded draw, into splits or shares.

    `files = glob(...)`, then `files[:n]` and `files[n:]`, `train_test_split(files, random_state=0)` or
    `files[worker::n]`. Silent where the list is sorted anywhere, and for checkpoints and logs. False
    positive: the split is stored and read back, or the data never leave their file system.
    """
    return first(view, _divided, "the scripts list no files that they divide")


@probe()
def classes_in_listing_order(view: View) -> Finding:
    """Class numbers follow the order in which the file system lists folders.

    Silent where the list is sorted or where the classes are stored with the model.
    """
    return first(view, _numbered, "the scripts list no classes")


def _divided(source: Script) -> Finding | None:
    listings = source.named(*_LISTS)
    if not source.trains or not listings:
        return None
    mine = _loose(source)
    for node, divided in _divisions(source):
        if mine.holds(divided) and not (
            (_drawn(node) or _mixed_before(source, node, divided)) and not mine.seeded
        ):
            return _told(source, mine, node, "divides by position")
    return ok(source, listings[0], "what is listed is sorted, or not divided by position")


def _drawn(node: ast.AST) -> bool:
    """A split that draws, and says no seed of its own: `random_split(rows, parts)`."""
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    if name == "train_test_split":
        kept = keyword(node, "shuffle")
        fixed = is_false(kept)
        return keyword(node, "random_state") is None and not fixed
    return name == "random_split"


def _mixed_before(source: Script, node: ast.AST, divided: ast.expr) -> bool:
    """The list is shuffled above the cut in its function: `random.shuffle(files)`."""
    text, function = unparse(divided), source.function_around(node)
    return any(
        any(unparse(a) == text for a in c.args)
        and source.function_around(c) is function
        and c.lineno < getattr(node, "lineno", 0)
        for c in source.named("shuffle")
    )


def _told(source: Script, mine: _Loose, node: ast.AST, what: str) -> Finding:
    """The place is the listing: there it is mended."""
    line = source.place(node).line
    return at(source, mine.origin, f"the listing has no fixed order, and line {line} {what}")


def _divisions(source: Script) -> Iterator[tuple[ast.AST, ast.expr]]:
    """What divides a list, and the list: parts of a cut, every n-th item, splits, choices by number."""
    cuts: dict[tuple[str, str], set[str]] = {}
    slices = [(n, n.slice) for n in source.of(ast.Subscript) if isinstance(n.slice, ast.Slice)]
    for node, part in slices:
        for bound, side in ((part.lower, "low"), (part.upper, "high")):
            if bound is not None:
                cuts.setdefault((unparse(node.value), unparse(bound)), set()).add(side)
    for node, part in slices:
        bounds = [b for b in (part.lower, part.upper) if b is not None]
        both = any(len(cuts[unparse(node.value), unparse(b)]) == 2 for b in bounds)
        if both or (part.step is not None and not isinstance(part.step, (ast.Constant, ast.UnaryOp))):
            yield node, node.value
    for call in source.named(*_SPLITS):
        if call.args:
            yield call, call.args[0]
    for loop, name in _counted(source):
        if _splits_by(loop, name):
            yield loop, loop.iter
    for listed in source.of(ast.ListComp):
        for part_ in listed.generators:
            if _by_number(part_):
                yield listed, part_.iter


def _counted(source: Script) -> Iterator[tuple[ast.For, str]]:
    """`for i, x in enumerate(...)`: the loop and the name of the number."""
    for loop in source.of(ast.For):
        target = loop.target
        numbered = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate"
        if numbered and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
            yield loop, target.elts[0].id


def _by_number(part: ast.comprehension) -> bool:
    """`for i, x in enumerate(...) if i % n`."""
    numbered = isinstance(part.iter, ast.Call) and last_name(part.iter.func) == "enumerate"
    if not numbered or not isinstance(part.target, ast.Tuple):
        return False
    number = unparse(part.target.elts[0])
    return any(isinstance(n, ast.Name) and n.id == number for test in part.ifs for n in walk(test))


def _splits_by(loop: ast.For, name: str) -> bool:
    """The number is compared, and what follows from it goes by the name of a split."""
    for node in of(loop, ast.If, ast.IfExp):
        compared = [c for c in walk(node.test) if isinstance(c, ast.Compare)]
        left = [n for c in compared for n in walk(c.left) if isinstance(n, ast.Name)]
        if any(n.id == name for n in left) and _HELD_OUT.search(unparse(node)):
            # `if i == 0: continue`, `if i % 100 == 0: print(...)` divide nothing
            fills = [c for c in of(loop, ast.Call) if last_name(c.func) in ("append", "extend", "add")]
            if fills or of(node, ast.AugAssign):
                return True
    return False


def _numbered(source: Script) -> Finding | None:
    if not source.trains or not source.named(*_LISTS):
        return None
    mine, seen = _loose(source), None
    for call in source.named("enumerate"):
        if not call.args or not _becomes_label(source, call):
            continue
        seen = seen or call
        if mine.holds(call.args[0]) and not _stored(source, call.args[0]):
            return _told(source, mine, call, "numbers classes by it")
    for call in source.named("index"):
        if not isinstance(call.func, ast.Attribute) or not isinstance(
            call.func.value, (ast.Name, ast.Attribute)
        ):
            continue
        seen = seen or call
        if mine.holds(call.func.value) and not _stored(source, call.func.value):
            return _told(source, mine, call, "numbers classes by it")
    return ok(source, seen, "classes are numbered in a fixed order") if seen is not None else None


_LABEL = re.compile(r"(?i)class|label|target|categor|species|^y$|idx|index|2id|to_?id|number|cls")


def _becomes_label(source: Script, call: ast.Call) -> bool:
    """The number is kept as the class of something: `{c: i ...}`, `append((path, i))`, `labels.append(i)`."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.comprehension):
        holder = source.parents.get(parent)
        target = parent.target
        if not isinstance(holder, ast.DictComp) or not isinstance(target, ast.Tuple):
            return False
        statement = source.statement(call)
        kept = " ".join(map(unparse, getattr(statement, "targets", [])))
        return unparse(holder.value) == unparse(target.elts[0]) and bool(_LABEL.search(kept or "label"))
    if not isinstance(parent, ast.For) or not isinstance(parent.target, ast.Tuple):
        return False
    number = unparse(parent.target.elts[0])
    inner = [n for n in of(parent, ast.For) if n is not parent]  # files of a class: folders, not the files
    for fill in of(parent, ast.Call):
        if last_name(fill.func) not in ("append", "extend") or not fill.args:
            continue
        given = fill.args[0]
        parts = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
        pair = len(parts) > 1 and bool(inner)
        named = _LABEL.search(source.owner(fill).rsplit(".", 1)[-1])
        if (pair or named) and any(unparse(p) == number for p in parts):
            return True
    return any(
        isinstance(n.targets[0], ast.Subscript)
        and unparse(n.value) == number
        and _LABEL.search(unparse(n.targets[0]))
        for n in of(parent, ast.Assign)
    )


def _stored(source: Script, node: ast.expr) -> bool:
    """The classes are written down, so that the numbers are found again."""
    text = last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else unparse(node)
    saves = source.named(
        "dump", "dumps", "save", "savetxt", "write", "write_text", "writelines", "to_csv", "save_checkpoint"
    )
    return any(re.search(rf"\b{re.escape(text)}\b", unparse(c)) for c in saves)


class _Loose:
    """Names and functions of a script that hold a listing in the order of the file system."""

    def __init__(self, source: Script) -> None:
        self.source = source
        self.sorted = self._sorted_names()
        self.names: set[tuple[ast.AST | None, str]] = set()
        self.functions: set[Function] = set()
        self.classes: set[str] = set()
        for _ in range(6):
            before = len(self.names), len(self.functions), len(self.classes)
            self._pass()
            if before == (len(self.names), len(self.functions), len(self.classes)):
                break

    def _sorted_names(self) -> set[str]:
        found: set[str] = set()
        for sort in self.source.named(*_SORTS):
            about = [*sort.args[:1], *([sort.func.value] if isinstance(sort.func, ast.Attribute) else [])]
            found |= {unparse(a) for a in about if isinstance(a, (ast.Name, ast.Attribute))}
            statement = self.source.statement(sort)
            found |= {
                unparse(t)
                for t in getattr(statement, "targets", [])
                if isinstance(t, (ast.Name, ast.Attribute))
            }
        return found

    def _scope(self, node: ast.AST, target: ast.expr) -> ast.AST | None:
        if isinstance(target, ast.Attribute):
            return self.source.class_around(node)
        return self.source.function_around(node)

    def _add(self, node: ast.AST, target: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for one in target.elts:
                self._add(node, one)
        elif isinstance(target, (ast.Name, ast.Attribute)) and unparse(target) not in self.sorted:
            self.names.add((self._scope(node, target), unparse(target)))
            if isinstance(target, ast.Attribute) and (owner := self.source.class_around(node)) is not None:
                self.classes.add(owner.name)

    def _pass(self) -> None:
        for node in self.source.of(ast.Assign, ast.AnnAssign, ast.AugAssign):
            value = node.value
            if value is None or _NO_DATA.search(unparse(node)) or not self.holds(value):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._add(node, target)
        for loop in self.source.of(ast.For):
            if _NO_DATA.search(unparse(loop.iter)) or not self.holds(loop.iter):
                continue
            for fill in of(loop, ast.Call):
                if last_name(fill.func) in ("append", "extend") and isinstance(fill.func, ast.Attribute):
                    self._add(fill, fill.func.value)
            for more in of(loop, ast.AugAssign):
                if isinstance(more.op, ast.Add) and isinstance(
                    more.value, (ast.List, ast.ListComp, ast.Call)
                ):
                    self._add(more, more.target)
        for item in self.source.of(ast.withitem):
            if item.optional_vars is not None and self.holds(item.context_expr):
                self._add(item.context_expr, item.optional_vars)
        for fill in self.source.named("append", "extend"):
            if not isinstance(fill.func, ast.Attribute) or not fill.args or not self.holds(fill.args[0]):
                continue
            into = fill.func.value
            for owner in (into.body, into.orelse) if isinstance(into, ast.IfExp) else (into,):
                self._add(fill, owner)
        for back in self.source.of(ast.Return):
            function = self.source.function_around(back)
            if function is not None and back.value is not None:
                values = back.value.elts if isinstance(back.value, ast.Tuple) else [back.value]
                if any(self.holds(v) for v in values):
                    self.functions.add(function)
        for call in self.source.calls:
            given = [a for a in call.args if self.holds(a)]
            if given:
                self._hand_over(call)

    def _hand_over(self, call: ast.Call) -> None:
        """What is handed over to a function or class of the script is loose in it too."""
        name = last_name(call.func)
        for function in self.source.of(ast.FunctionDef):
            owner = self.source.class_around(function)
            mine = function.name == name and owner is None
            built = function.name == "__init__" and owner is not None and owner.name == name
            if not mine and not built:
                continue
            names = [a.arg for a in function.args.args][1 if built else 0 :]
            for place, argument in enumerate(call.args[: len(names)]):
                if self.holds(argument) and names[place] not in self.sorted:
                    self.names.add((function, names[place]))

    def holds(self, node: ast.expr, depth: int = 8) -> bool:
        """The value is a list in no fixed order."""
        if depth == 0:
            return False
        if isinstance(node, (ast.Name, ast.Attribute)):
            text = unparse(node)
            if text in self.sorted:
                return False
            if isinstance(node, ast.Attribute):
                return (self.source.class_around(node), text) in self.names
            scope: ast.AST | None = self.source.function_around(node)
            while scope is not None:
                if (scope, text) in self.names:
                    return True
                scope = self.source.function_around(scope)
            return (None, text) in self.names
        if isinstance(node, ast.Call):
            return self._of_call(node, depth)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return any(self.holds(g.iter, depth - 1) for g in node.generators)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.holds(node.left, depth - 1) or self.holds(node.right, depth - 1)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return self.holds(node.value, depth - 1)
        if isinstance(node, ast.Starred):
            return self.holds(node.value, depth - 1)
        if isinstance(node, ast.IfExp):
            return self.holds(node.body, depth - 1) or self.holds(node.orelse, depth - 1)
        return False

    @property
    def origin(self) -> ast.Call:
        """The first call that lists without an order."""
        calls = self.source.named(*_LISTS)
        loose = [
            c
            for c in calls
            if self.holds(c)
            and not any(isinstance(p, ast.Call) and last_name(p.func) in _SORTS for p in self.source.above(c))
        ]
        return (loose or list(calls))[0]

    def _counts(self, node: ast.expr, depth: int) -> bool:
        """`len(files)`: positions in the list are drawn."""
        counted = isinstance(node, ast.Call) and last_name(node.func) == "len" and bool(node.args)
        return counted and isinstance(node, ast.Call) and self.holds(node.args[0], depth - 1)

    @cached_property
    def seeded(self) -> bool:
        """Something is seeded: else what is drawn differs between runs whatever the order of the list."""
        own = self.source.named("RandomState", "default_rng", "Random", "Generator")
        given = any(c.args or keyword(c, "seed") is not None for c in own)  # without a seed they draw anew
        return self.source.loose or given or any(sets_seed(self.source, c) for c in self.source.calls)

    def _of_call(self, node: ast.Call, depth: int) -> bool:
        name = last_name(node.func)
        if name in _LISTS:
            if name == "walk" and "os" not in unparse(node.func):
                return False
            of_folder = bool(node.args) or isinstance(node.func, ast.Attribute)
            return of_folder and not _NO_DATA.search(unparse(node))
        if name in _SORTS:
            return False
        if name in _POSITIONS and any(self._counts(a, depth) for a in node.args):
            return name not in _DRAWS or self.seeded
        if name in _CHAIN and isinstance(node.func, ast.Attribute):
            return self.holds(node.func.value, depth - 1)
        if name in (*_KEEPS, "enumerate", "tqdm"):
            return any(self.holds(a, depth - 1) for a in node.args)
        if name in self.classes and name in self.source.classes:
            return True
        return any(f.name == name for f in self.functions)


@lru_cache(maxsize=4)
def _loose(source: Script) -> _Loose:
    return _Loose(source)
