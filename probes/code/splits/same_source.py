"""Whether two data sets are made of the same rows by the same call, and nothing tells the two apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_true, texts_in
from ..shared.sides import Given, given, side

_COUNTS = re.compile(
    r"loss|acc|metric|score|size|len|num|count|steps|transform|tfm|aug|frac|ratio|path|dir|file"
)


def is_figure(one: Given) -> bool:
    """Whether what is handed in is a number of things (a size, a count), not data."""
    return _COUNTS.search(one.name.lower()) is not None


def same_source(source: Script) -> Finding | None:
    """`val_set = Tiles(root, "train", tf)` beside `train_set = Tiles(root, "train", tf)`."""
    seen: ast.AST | None = None
    if (one := _one_place_for_each(source)) is not None:
        return at(source, one, "every part is read from the place of the training data")
    if (wide := _matches_training(source)) is not None:
        return at(source, wide, "the pattern of the held-out files matches those of training, too")
    for held in given(source):
        if (taught := _whole_training_part(source, held)) is not None:
            return at(source, taught, "what is held out is asked for as the part for training")
        call = _maker(held.value) or _own_maker(source, held.value)
        if held.learns or call is None or is_figure(held) or _says_held_out(call):
            continue
        texts = list(_sources(source, call))
        if any(side(t) is False for t in (*texts, *rows_handed(call))):
            seen = seen or held.node
            continue
        mine = [t for t in texts if side(t) is True]
        if not mine or _cut_later(source, held) or any("[" in t for t in mine):
            continue
        if any(isinstance(n.slice, ast.Slice) for n in of(call, ast.Subscript)):
            continue
        if (rows := rows_drawn(source, call)) and all(
            rows != rows_drawn(source, c) for c in source.named(last_name(call.func)) if c is not call
        ):
            continue
        others = [c for c in source.named(last_name(call.func)) if c is not call and not _told_apart(c, call)]
        if any(set(mine) & set(_sources(source, c)) for c in others):
            return at(source, held.node, "the held-out data are read from the training data's source")
    return ok(source, seen, "held-out data have a source of their own") if seen is not None else None


def rows_handed(call: ast.Call) -> Iterator[str]:
    """Tables and lists that a data set is given by name: `Pictures(val_df, "train", tf)` reads one folder."""
    given = (*call.args, *(k.value for k in call.keywords if k.arg))
    for value in given:
        if isinstance(value, (ast.Name, ast.Attribute)) and _ROWS.search(last_name(value)):
            yield last_name(value)


def rows_drawn(source: Script, call: ast.Call) -> str:
    """How a call is told the rows that it takes of a source: `SubsetSampler(range(45000, 50000))`."""
    given = [*call.args, *(k.value for k in call.keywords if k.arg)]
    made = [v for g in given for v in (g, *flow(source).values(g, 2)) if isinstance(v, ast.Call)]
    return next((unparse(v) for v in made if re.search(r"Subset|^range$", last_name(v.func))), "")


_ROWS = re.compile(
    r"(?i)df$|(?:^|_)df_|frame|rows|table|files|paths|ids|index|indices|list|samples|names|keys|items|csv"
)


def _one_place_for_each(source: Script) -> ast.expr | None:
    """`{p: Folder(join(root, "train")) for p in ("train", "val")}`: the place does not go by the part."""
    for node in source.of(ast.DictComp):
        over, made = node.generators[0], node.value
        names = over.iter.elts if isinstance(over.iter, (ast.Tuple, ast.List)) else []
        if {side(str(e.value)) for e in names if isinstance(e, ast.Constant)} != {True, False}:
            continue
        if not isinstance(made, ast.Call) or not isinstance(over.target, ast.Name) or not made.args:
            continue
        place, *rest = [*made.args, *(k.value for k in made.keywords)]
        texts = [side(t) for t in texts_in(place)]
        goes_by = [over.target.id in names_in(a) for a in (place, *rest)]
        if True in texts and False not in texts and not goes_by[0] and _DATA.search(last_name(made.func)):
            return place
    return None


_LISTS = ("glob", "iglob", "rglob", "list_files")


def _matches_training(source: Script) -> ast.Call | None:
    """`val_files = glob("tiles/*/*.png")` beside `glob("tiles/train/*.png")`, and nothing takes any out."""
    patterns = {c: t[0] for c in source.named(*_LISTS) if len(t := list(map(str, texts_in(c)))) == 1}
    taught = [p.split("/") for p in patterns.values() if side(p) is True]
    for held in given(source):
        calls = [c for c in of(held.value, ast.Call) if c in patterns]
        others = [c for c in of(held.value, ast.Call) if last_name(c.func) not in (*_LISTS, "sorted", "list")]
        if held.learns or len(calls) != 1 or others or of(held.value, ast.comprehension, ast.BinOp):
            continue
        if _cut_later(source, held):
            continue
        mine = patterns[calls[0]].split("/")
        for other in taught if side(patterns[calls[0]]) is None and "*" in mine else ():
            if len(other) == len(mine) and all(o == m or m == "*" for o, m in zip(other, mine, strict=True)):
                return calls[0]
    return None


_DATA = re.compile(r"(?i)folder|data|set$|read|load|images|records")


def _whole_training_part(source: Script, held: Given) -> ast.Call | None:
    """`test_loader = DataLoader(MNIST(root, train=True))` beside a training loader of the same data."""
    if held.learns or not isinstance(held.value, ast.Call) or last_name(held.value.func) != "DataLoader":
        return None
    inner = argument(held.value, position=0)
    if not isinstance(inner, ast.Call) or any(
        k.arg != "batch_size" and k.arg not in _PLAIN for k in held.value.keywords
    ):
        return None
    asked = [
        c
        for c in source.named(last_name(inner.func))
        if isinstance(flag := keyword(c, "train"), ast.Constant)
        and flag.value is True
        and list(map(unparse, c.args)) == list(map(unparse, inner.args))  # else the rows are handed over
    ]
    return inner if inner in asked and len(asked) == 2 and not _cut_later(source, held) else None


_PLAIN = ("shuffle", "num_workers", "pin_memory", "drop_last")
_SPLIT_FLAG = re.compile(
    r"(?i)^(?:is_?|for_?)?(?:train\w*|eval\w*|valid\w*|val|test\w*|dev|predict\w*|infer\w*)$"
)


def _says_held_out(call: ast.Call) -> bool:
    """`load(path, evaluate=True)`."""
    return any(
        k.arg is not None
        and re.match(r"(?i)^(?:is_?)?(?:eval|valid|test|predict|infer)", k.arg) is not None
        and is_true(k.value)
        for k in call.keywords
    )


def _told_apart(one: ast.Call, other: ast.Call) -> bool:
    """A flag tells the two calls apart: `load(evaluate=True)` beside `load()`."""
    flags = [
        {k.arg: k.value.value for k in c.keywords if k.arg and isinstance(k.value, ast.Constant)}
        for c in (one, other)
    ]
    return any(
        _SPLIT_FLAG.match(name) and flags[0].get(name) != flags[1].get(name)
        for name in {*flags[0], *flags[1]}
        if isinstance(flags[0].get(name, flags[1].get(name)), bool)
    )


_NO_MAKER = re.compile(
    r"^(?:evaluate|validate|test|train|fit|score|predict|len|str|int|print|format|load_state_dict|loader|"
    r"DataLoader|prepare|get|join|split|partial|enumerate|zip|range|sum|max|min|list|sorted|append)\w*$"
)


def _maker(value: ast.expr) -> ast.Call | None:
    """The call that makes a data set; chained methods (`.batch(8)`) looked through."""
    for _ in range(6):
        if not isinstance(value, ast.Call):
            return None
        inner = receiver(value)
        if isinstance(inner, ast.Call) and last_name(value.func) in (
            "batch",
            "map",
            "prefetch",
            "cache",
            "shuffle",
        ):
            value = inner
            continue
        name = last_name(value.func)
        if (name == "DataLoader" or name.endswith("Sampler")) and value.args:
            value = value.args[0]
            continue
        if _NO_MAKER.match(name) or not (value.args or value.keywords):
            return None
        data = re.search(
            r"(?i)data|set|read|load|samples|folder|records|images|ds\b|mnist|cifar|corpus", name
        )
        return value if data or name[:1].isupper() else None
    return None


def _own_maker(source: Script, value: ast.expr) -> ast.Call | None:
    """A function of the script that makes data of a place that is written out: `pairs("tiles/train")`."""
    if not isinstance(value, ast.Call) or last_name(value.func) not in flow(source).functions:
        return None
    if _NO_MAKER.match(last_name(value.func)):
        return None
    told = [a for a in value.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return value if any(side(a.value) is True for a in told if isinstance(a.value, str)) else None


_OTHER = re.compile(
    r"transform|aug|tfm|_tf$|^tf_|cfg|config|args|mean|std|stat|scal|vocab|token|encod|class|label|map|mode|size|"
    r"^n_|_n$|batch|bs$|epoch|steps|model|state|workers|shuffle|ratio|frac|percent|sampler|len|num"
)


def _sources(source: Script, call: ast.Call) -> Iterator[str]:
    """Texts that say where a call reads its data from: names, strings, parts of a path."""
    for value in [*call.args, *(k.value for k in call.keywords if k.arg and not _OTHER.search(k.arg))]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value
        elif isinstance(value, (ast.Name, ast.Attribute)):
            name = value.id if isinstance(value, ast.Name) else value.attr
            if _OTHER.search(name.lower()):
                continue
            ends = [v for v in flow(source).values(value, 4) if v is not value]
            bounds = {n for v in ends for s in of(v, ast.Slice) for n in of(s, ast.Constant)}
            texts = [t for v in ends for c in of(v, ast.Constant) if c not in bounds for t in texts_in(c)]
            yield from texts or [name]
        elif isinstance(value, (ast.Call, ast.BinOp, ast.JoinedStr, ast.Subscript)):
            yield from texts_in(value)


def _cut_later(source: Script, held: Given) -> bool:
    """A subset is taken of it afterwards: `Subset(val_base, idx)`, a sampler, `val.select(...)`."""
    for call in source.calls:
        name = last_name(call.func)
        uses = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        mine = any(unparse(u).split(".")[-1] == held.name for u in uses)
        if mine and name in _CUTS:
            return True
        sampler = keyword(call, "sampler")
        if mine and sampler is not None:
            made = " ".join(map(unparse, flow(source).values(sampler, 3)))
            if re.search(r"Subset|idx|indices", made):
                return True
    taken = [
        unparse(n.value)
        for n in source.of(ast.Subscript)
        if not isinstance(n.slice, ast.Constant) or side(str(n.slice.value)) is not None  # `rows["text"]`
    ]
    return any(t.split(".")[-1] == held.name for t in taken)


_CUTS = ("Subset", "random_split", "train_test_split", "select", "skip", "take", "filter")
