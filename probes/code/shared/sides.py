"""Which data are for training and which are held out, by the names and places that values are given to."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ....engine.model import State
from ...readers._tree import unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from .nodes import is_negative
from .roles import parted

_TRAIN = frozenset(("train", "training", "trn", "tr"))
_HELD = frozenset(
    (
        *(
            "val",
            "valid",
            "validation",
            "validate",
            "vl",
            "va",
            "dev",
            "devel",
            "test",
            "testing",
            "te",
            "tst",
        ),
        *("eval", "evaluation", "evaluate", "heldout", "holdout", "oof"),
    )
)
# in the name of a variable, between underscores
OF_TRAINING = re.compile(r"(?i)(?:^|_)(?:train(?:ing)?|trn|tr)(?:_|$)")
HELD_OUT = re.compile(r"(?i)(?:^|_)(?:val(?:id)?(?:ation)?|test|held(?:_?out)?|dev|eval|holdout)(?:_|$)")
_TURNED = re.compile(r"~\s*\(?([\w.]+)")
_ALL_BUT = re.compile(r"!=|\bnot\b|logical_not|\b(?:delete|drop|difference|setdiff1d)\(|== (?:0|False)\b")
Check = Callable[[Script], Finding | None]


def either(*checks: Check) -> Check:
    """One check of several: the first that finds something wrong, else one that finds something right."""

    def check(source: Script) -> Finding | None:
        found = [f for f in (c(source) for c in checks) if f is not None]
        return next((f for f in found if f.state is State.PRESENT), found[0] if found else None)

    return check


def words(name: str) -> list[str]:
    """The words of a name or text: `trainSet`, `trainset`, "data/train-*.bin" -> ["train", ...]."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return [p for w in re.split(r"[^a-z]+", apart) if w for p in parted(w)]


@lru_cache(maxsize=8192)
def side(name: str) -> bool | None:
    """True of a name of training data, False of held-out data, None of neither or of both.

    `x[~is_val]` is of training.
    """
    if _ALL_BUT.search(name):
        return None  # `rows[fold != held]`: what is left when one side is taken away
    found, turned = set(words(_TURNED.sub(" ", name))), {w for t in _TURNED.findall(name) for w in words(t)}
    learns = bool(found & _TRAIN or turned & _HELD)
    held = bool(found & _HELD or turned & _TRAIN)
    return learns if learns != held else None


_DEVELOPMENT = frozenset(("dev", "devel", "development"))


@lru_cache(maxsize=16)
def development_names(source: Script) -> frozenset[str]:
    """Names that say `dev` of what stands beside a test part and no training part: `dev, test = split(rows)`.

    There `dev` is what models are developed on, training rows among it.
    """
    found: set[str] = set()
    for target in source.of(ast.Tuple):
        if isinstance(target.ctx, ast.Store):
            names = [n for n in map(_name, target.elts) if n]
            told = [n for n in names if set(words(n)) & _DEVELOPMENT]
            others = [side(n) for n in names if n not in told]
            if told and False in others and True not in others:
                found |= set(told)
    return frozenset(found)


def stem(name: str) -> str:
    """A name without the word of its split: `va_idx`, `self.tr_idx` -> "idx"."""
    return "_".join(w for w in words(name) if w not in _TRAIN and w not in _HELD and w != "self")


@dataclass(frozen=True)
class Given:
    """A value that is given to a place named after a split."""

    name: str
    learns: bool
    value: ast.expr
    node: ast.AST
    scope: Function | None


def _of_one_side(target: ast.Tuple, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """`valid_pairs, count = pairs("valid")`: all that is named after a side is of one."""
    names = [n for n in map(_name, target.elts) if side(n) is not None]
    return [(n, call) for n in names] if len({side(n) for n in names}) == 1 else []


def _handed_back(source: Script, target: ast.Tuple, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """`train, val = loaders()` of a function that makes both where it gives them back."""
    for one, value in given_back(source, target, call):
        if isinstance(value, ast.Call) and re.search(r"(?:Loader|Dataset|Subset)$", last_name(value.func)):
            yield _name(one), value


def given_back(source: Script, target: ast.Tuple, call: ast.Call) -> Iterator[tuple[ast.expr, ast.expr]]:
    """`a, b = parts(x)` of a function of the script with one end, a tuple: each target with its value."""
    functions = flow(source).functions.get(last_name(call.func), [])
    ends = returns(functions[0]) if len(functions) == 1 else ()
    if len(ends) == 1 and isinstance(ends[0], ast.Tuple) and len(ends[0].elts) == len(target.elts):
        yield from zip(target.elts, ends[0].elts, strict=True)


@lru_cache(maxsize=16)
def given(source: Script) -> tuple[Given, ...]:
    """Values by the split that the name they are given to tells.

    Names, attributes, halves of tuples, keys of dicts, keywords, what is appended to a list of a split, and
    what a method like `val_dataloader` returns.
    """
    return tuple(_given(source))


def _given(source: Script) -> Iterator[Given]:
    for node in source.of(ast.Assign, ast.AnnAssign, ast.Dict, ast.Call, ast.Return):
        pairs: list[tuple[str, ast.expr]] = []
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = [(_name(t), v) for t, v in zip(target.elts, node.value.elts, strict=False)]
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
                pairs = list(_handed_back(source, target, node.value)) or _of_one_side(target, node.value)
            elif not isinstance(target, ast.Tuple):
                pairs = [(_name(target), node.value)]
        elif isinstance(node, ast.Dict):
            pairs = [
                (k.value, v)
                for k, v in zip(node.keys, node.values, strict=True)
                if isinstance(k, ast.Constant) and isinstance(k.value, str)
            ]
        elif isinstance(node, ast.Call):
            pairs = [(k.arg, k.value) for k in node.keywords if k.arg]
            if last_name(node.func) == "append" and isinstance(node.func, ast.Attribute) and node.args:
                pairs.append((_name(node.func.value), node.args[0]))
        elif isinstance(node, ast.Return) and node.value is not None:
            name = source.function_name(node)
            if name.endswith(("_dataloader", "_dataset", "_loader")) and not name.startswith("get"):
                pairs = [(name, node.value)]
        for name, value in pairs:
            learns = side(name)
            if name and learns is not None and not isinstance(value, ast.Constant):
                yield Given(name, learns, value, node, source.function_around(node))


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return str(target.slice.value) if isinstance(target.slice.value, str) else ""
    return ""


# ------------------------------------------------------------------------------------- parts of the same data

_KEEPS = frozenset(
    (
        *(
            "reset_index",
            "copy",
            "to_numpy",
            "tolist",
            "numpy",
            "astype",
            "sort_values",
            "sort_index",
            "items",
        ),
        *("batch", "prefetch", "cache", "map", "repeat", "shuffle", "long", "to", "clone", "with_format"),
    )
)
_WRAPS = frozenset(
    (
        *(
            "sorted",
            "list",
            "tuple",
            "sort",
            "array",
            "asarray",
            "tensor",
            "as_tensor",
            "from_numpy",
            "permutation",
        ),
        *("DataLoader", "DataFrame", "shuffled", "deepcopy", "iter"),
        *("from_tensor_slices", "NumpySlicesDataset", "GeneratorDataset"),
    )
)
_PICKS = frozenset(
    (
        *("head", "tail", "query", "take", "skip", "select", "filter", "drop", "isin", "shard", "narrow"),
        *(
            "delete",
            "setdiff1d",
            "compress",
            "nlargest",
            "Subset",
            "islice",
            "choice",
            "loc",
            "iloc",
            "sample",
        ),
    )
)


@dataclass(frozen=True)
class Part:
    """What a value is of: the text of the whole, and whether only some of it was picked."""

    whole: str
    picked: bool


def part(source: Script, node: ast.expr, depth: int = 12) -> Part:
    """Follow a value back to the data it is of, through names, copies, sorting and selections."""
    picked = False
    for _ in range(depth):
        if isinstance(node, ast.Name):
            found = flow(source).all_given(node)
            if len(found) != 1 or found[0].places or not _follows(found[0].value):
                break
            node = found[0].value
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            owner = receiver(node)
            whole = name == "sample" and any(
                k.arg == "frac" and isinstance(k.value, ast.Constant) and k.value.value == 1
                for k in node.keywords
            )
            if owner is not None and (name in _KEEPS or whole):
                node = owner
            elif name in _WRAPS and node.args:
                node = node.args[0]
            elif name in _PICKS:
                picked = True
                library = owner is None or (
                    isinstance(owner, ast.Name) and owner.id in ("np", "torch", "random")
                )
                if (library and not node.args) or (owner is None and not node.args):
                    break
                node = node.args[0] if library else owner or node
            else:
                break
        elif isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant):
                break
            cut = node.slice if isinstance(node.slice, ast.Slice) else None
            # `names[::-1]` are all of them, the other way round
            whole = cut is not None and cut.lower is None and cut.upper is None
            whole = whole and cut is not None and (cut.step is None or unparse(cut.step) == "-1")
            picked = picked or not whole
            node = node.value
        elif isinstance(node, ast.Attribute) and node.attr in ("iloc", "loc", "values"):
            node = node.value
        elif isinstance(node, ast.Tuple) and node.elts:
            node = node.elts[0]  # `from_tensor_slices((x, y))`
        elif isinstance(node, ast.ListComp) and len(node.generators) == 1 and depth > 2:
            picked = picked or bool(node.generators[0].ifs)
            node = node.generators[0].iter
        else:
            break
    return Part(unparse(node), picked)


def _follows(value: ast.expr) -> bool:
    """A name stands for a part or a copy of something; anything else is a whole of its own."""
    if isinstance(value, (ast.Name, ast.Subscript, ast.ListComp)):
        return True
    return isinstance(value, ast.Call) and last_name(value.func) in (_KEEPS | _WRAPS | _PICKS)


# ------------------------------------------------------------------------------------------------- constants


def literal(source: Script, node: ast.expr | None, depth: int = 6) -> object:
    """The constant that an expression stands for; None where it is not known (or is None)."""
    if node is None or depth == 0:
        return None
    known = flow(source).literals
    if (node, depth) not in known:
        known[node, depth] = _literal(source, node, depth)
    return known[node, depth]


def _literal(source: Script, node: ast.expr, depth: int) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if is_negative(node):
        inner = literal(source, node.operand, depth - 1)
        return -inner if isinstance(inner, (int, float)) else None
    if isinstance(node, (ast.Name, ast.Attribute)):
        if (counted := _counted(source, node)) is not None:
            return counted
        ends = [v for v in flow(source).values(node, 6) if v is not node]
        found = {literal(source, v, depth - 1) for v in ends}
        if not ends:
            return default(source, node)
        return next(iter(found)) if len(found) == 1 else None
    return None


def _counted(source: Script, node: ast.expr) -> int | None:
    """`PAD, START, END = range(3)`: names that are numbered in a row."""
    given_ = flow(source).given(node)
    value = given_.value if given_ is not None else None
    if not isinstance(value, ast.Call) or last_name(value.func) != "range" or given_ is None:
        return None
    ends = [a.value for a in value.args if isinstance(a, ast.Constant) and isinstance(a.value, int)]
    if len(ends) != len(value.args) or len(given_.places) != 1 or not ends:
        return None
    told, place = range(*ends), given_.places[0]
    return told[place] if isinstance(place, int) and -len(told) <= place < len(told) else None


def setting(source: Script, node: ast.Attribute) -> object:
    """A setting by its name, also where a configuration object is built with it: `Config(buffer=8)`."""
    given_ = [k.value for c in source.calls for k in c.keywords if k.arg == node.attr]
    values = {literal(source, v) for v in given_}
    return next(iter(values)) if len(values) == 1 else literal(source, node)


def off_by_default(source: Script, node: ast.AST) -> bool:
    """The node runs only under a flag of the command line that is off unless it is given: `if args.half:`."""
    inner: ast.AST = node
    for parent in source.above(node):
        if isinstance(parent, ast.If) and inner in parent.body:
            test = parent.test
            if isinstance(test, ast.Attribute) and test.attr in _switches(source):
                return True
        inner = parent
    return False


@lru_cache(maxsize=16)
def _switches(source: Script) -> frozenset[str]:
    """`add_argument("--half", action="store_true")` -> "half"."""
    found = set()
    for call in source.named("add_argument"):
        flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        given_ = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
        if given_.get("action") == "store_true" and not given_.get("default"):
            named = given_.get("dest") or max(flags, key=len, default="").lstrip("-").replace("-", "_")
            found.add(str(named))
    return frozenset(found)


def default(source: Script, node: ast.expr) -> object:
    """The default of a setting by its name: `args.limit` of argparse, `cfg.limit` of a class or a dict."""
    if not isinstance(node, ast.Attribute):
        return None
    held = _held(source).get(last_name(node.value), {})
    return held[node.attr] if node.attr in held else _defaults(source).get(node.attr)


def number(source: Script, node: ast.expr | None) -> float | None:
    """The number of an expression: written out, behind names, or the default of a setting."""
    value = literal(source, node)
    if value is None and node is not None:
        value = default(source, node)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def behind(source: Script, value: ast.expr, rounds: int = 4) -> list[ast.expr]:
    """What an expression stands for, and what the arguments of its function stand for; itself first."""
    mine = flow(source)
    found: list[ast.expr] = [value]
    for _ in range(rounds):
        more = [v for e in found if isinstance(e, (ast.Name, ast.Attribute)) for v in mine.values(e, 3)]
        more += [a for e in found if isinstance(e, ast.Name) for a in mine.arguments(e)]
        new = [m for m in more if m not in found]
        if not new:
            break
        found += new
    return found


_HOLDS = re.compile(r"(?i)^(?:e|easy|attr|add|config|dot)_?dict$|namespace$|^munch$|^box$|^ed$|^edict$")


@lru_cache(maxsize=16)
def _held(source: Script) -> dict[str, dict[str, object]]:
    """What objects of settings are made with: `cfg = edict({"limit": 8})`, `Options(limit=8)` of a dict."""
    found: dict[str, dict[str, object]] = {}
    dicts = {n for n, c in source.classes.items() if any(last_name(b) in ("dict", "Dict") for b in c.bases)}
    for node in source.of(ast.Assign):
        made = node.value
        if not isinstance(made, ast.Call) or source.function_around(node) is not None:
            continue
        if not (last_name(made.func) in dicts or _HOLDS.search(last_name(made.func))):
            continue
        items = [(k.arg, k.value) for k in made.keywords]
        for table in made.args:
            if isinstance(table, ast.Dict):
                items += [
                    (str(k.value), v)
                    for k, v in zip(table.keys, table.values, strict=True)
                    if isinstance(k, ast.Constant)
                ]
        constants: dict[str, object] = {
            k: v.value for k, v in items if k is not None and isinstance(v, ast.Constant)
        }
        for target in node.targets:
            name = last_name(target)
            # a name that is given twice, or an item set later, tells nothing for sure
            found[name] = {} if name in found else constants
    for change in source.of(ast.Assign, ast.AugAssign):
        for target in change.targets if isinstance(change, ast.Assign) else [change.target]:
            if isinstance(target, ast.Attribute):
                found.get(last_name(target.value), {}).pop(target.attr, None)
    return found


@lru_cache(maxsize=16)
def _defaults(source: Script) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in source.of(ast.Call, ast.AnnAssign):
        if isinstance(node, ast.Call) and last_name(node.func) in ("add_argument", "option"):
            flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            value = next((k.value for k in node.keywords if k.arg == "default"), None)
            for flag in flags:
                key = flag.lstrip("-").replace("-", "_")
                if isinstance(value, ast.Constant):
                    found.setdefault(key, value.value)
                elif (parts := _numbers(value)) is not None:
                    found.setdefault(key, parts)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if isinstance(source.parents.get(node), ast.ClassDef):
                value = node.value
                if isinstance(value, ast.Call) and last_name(value.func) == "field":
                    value = next((k.value for k in value.keywords if k.arg == "default"), None)
                if isinstance(value, ast.Constant):
                    found.setdefault(node.target.id, value.value)
                elif isinstance(value, ast.Tuple) and (parts := _numbers(value)) is not None:
                    found.setdefault(node.target.id, parts)
    return found


def _numbers(value: ast.expr | None) -> tuple[float, ...] | None:
    """Numbers in a row: milestones, sizes."""
    if not isinstance(value, (ast.List, ast.Tuple)) or not value.elts:
        return None
    parts = [e.value for e in value.elts if isinstance(e, ast.Constant)]
    numbers = [v for v in parts if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return tuple(numbers) if len(numbers) == len(value.elts) else None
