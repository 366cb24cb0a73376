"""Switches that tell training from evaluation in scripts, asked the wrong way round, or not at all.

A function that makes the data of both sides draws at random for the wrong one, shuffles the wrong one, or
reads the same part for both; a transform of evaluation is made and the one of training is used instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.sides import given, literal, side, stem

_RANDOM = re.compile(
    r"^(?:Rand(?!State|om$)\w+|RandAugment|TrivialAugment\w*|AutoAugment|ColorJitter|\w*Jitter|Cutout|Mixup|Cutmix"
    r"|random_(?:flip|crop|brightness|contrast|hue|saturation|rotation|zoom|erasing)\w*|stateless_random_\w+)$"
)


def condition_side(test: ast.expr) -> bool | None:
    """Whether a condition is true for training (True), for held-out data (False), or neither is told."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = condition_side(test.operand)
        return None if inner is None else not inner
    if isinstance(test, (ast.Name, ast.Attribute)):
        name = test.id if isinstance(test, ast.Name) else test.attr
        return side(name) if re.fullmatch(r"(?i)_?(?:is_?|for_?)?[a-z]+(?:_?mode)?", name) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        value = test.comparators[0]
        names = value.elts if isinstance(value, (ast.Tuple, ast.List, ast.Set)) else [value]
        texts = [n.value for n in names if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        found = {side(t) for t in texts}
        if len(texts) < len(names) or len(found) != 1 or None in found:
            return None
        true = found.pop()
        if isinstance(test.ops[0], (ast.Eq, ast.In)):
            return true
        return not true if isinstance(test.ops[0], (ast.NotEq, ast.NotIn)) else None
    return None


def augmented_on_other_side(source: Script) -> Finding | None:
    """`if not training: steps += [RandomCrop(32)]`, `tf = eval_tf if training else train_tf`."""
    seen: ast.AST | None = None
    for node in source.of(ast.If, ast.IfExp):
        true = condition_side(node.test)
        if true is None:
            continue
        body: list[ast.AST] = list(node.body) if isinstance(node, ast.If) else [node.body]
        other: list[ast.AST] = list(node.orelse) if isinstance(node, ast.If) else [node.orelse]
        trains, held = (body, other) if true else (other, body)
        if isinstance(node, ast.IfExp):
            names = [unparse(n) if isinstance(n, (ast.Name, ast.Attribute)) else "" for n in (*trains, *held)]
            if side(names[0]) is False and side(names[1]) is True and stem(names[0]) == stem(names[1]):
                return at(source, node, "each side is given what is named after the other")
        if not any(_draws(n) for n in (*trains, *held)):
            continue
        seen = seen or node
        if any(_draws(n) for n in trains) or _draws_around(source, node):
            continue
        drawn = next(c for n in held for c in _drawn(n))
        if not re.search(r"(?i)tta|test_?time", source.function_name(node)):
            return at(source, drawn, "held-out data are augmented at random, and the training data are not")
    return ok(source, seen, "training data are augmented, and held-out data are not") if seen else None


def _drawn(node: ast.AST) -> Iterator[ast.Call]:
    yield from (c for c in of(node, ast.Call) if _RANDOM.match(last_name(c.func)))


def _draws(node: ast.AST) -> bool:
    return any(_drawn(node))


def _draws_around(source: Script, node: ast.AST) -> bool:
    """What stands beside the condition in its function draws at random, for both sides or for training."""
    function = source.function_around(node)
    scope: ast.AST = function if function is not None else source.tree
    inside = set(of(node, ast.Call))
    return any(c not in inside for c in _drawn(scope)) if function is not None else True


def transform_unused(source: Script) -> Finding | None:
    """A transform for evaluation is made and never read, where both sides get the one of training."""
    for function in (None, *source.of(ast.FunctionDef)):
        body = (*source.tree.body, *source.left_out) if function is None else function.body
        scope: ast.AST = source.tree if function is None else function
        read: list[str] | None = None
        for node in body:
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name):
                continue
            if side(target.id) is not False or not _is_transform(node.value):
                continue
            if read is None:
                read = [n.id for n in of(scope, ast.Name) if isinstance(n.ctx, ast.Load)]
            twins = [n for n in set(read) if side(n) is True and stem(n) == stem(target.id)]
            if target.id not in read and any(read.count(n) > 1 for n in twins):
                if target.id not in source.mentions:
                    return at(source, node, f"{target.id} is made and never used: both sides get {twins[0]}")
    return _entry_unused(source)


def _entry_unused(source: Script) -> Finding | None:
    """`tf = {"train": ..., "val": ...}`, and `tf["train"]` is all that is ever read of it."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(node.value, ast.Dict) or not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        held = {
            k.value: v
            for k, v in zip(node.value.keys, node.value.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str) and _is_transform(v)
        }
        if len(held) < len(node.value.keys) or {side(k) for k in held} != {True, False}:
            continue
        name = last_name(target)
        reads = [n for n in source.of(ast.Name, ast.Attribute) if last_name(n) == name]
        reads = [n for n in reads if isinstance(n.ctx, ast.Load)]
        items = [source.parents.get(n) for n in reads]
        keys = [
            i.slice.value
            for n, i in zip(reads, items, strict=True)
            if isinstance(i, ast.Subscript) and i.value is n and isinstance(i.slice, ast.Constant)
        ]
        if not keys or len(keys) < len(reads) or {side(str(k)) for k in keys} != {True}:
            continue
        if len(keys) > 1 or any(_made_for_both(source, n) for n in reads):
            unread = next(k for k in held if side(k) is False)
            why = f"the transform {unread!r} is never used: both sides get {keys[0]!r}"
            return at(source, reads[0], why)
    return None


def _made_for_both(source: Script, node: ast.AST) -> bool:
    """It stands in a comprehension or a loop over the sides: `... for p in ("train", "val")`."""
    for parent in source.above(node):
        loops = [parent.iter] if isinstance(parent, ast.For) else []
        loops += [g.iter for g in getattr(parent, "generators", [])]
        for over in loops:
            names = over.elts if isinstance(over, (ast.Tuple, ast.List)) else []
            if {side(str(e.value)) for e in names if isinstance(e, ast.Constant)} >= {True, False}:
                return True
    return False


def _is_transform(value: ast.expr) -> bool:
    return (
        isinstance(value, (ast.Call, ast.List))
        and re.search(r"Compose|ToTensor|Resize|Normalize|CenterCrop|Sequential\(", unparse(value))
        is not None
    )


def one_part_for_both(source: Script) -> Finding | None:
    """A function makes the data of both sides by a switch, and asks for the training part whoever calls."""
    for function in source.of(ast.FunctionDef):
        flags = [
            a.arg
            for a in (*function.args.args, *function.args.kwonlyargs)
            if side(a.arg) is not None or a.arg in ("split", "mode", "phase", "subset", "part")
        ]
        if len(flags) != 1 or function.name == "__init__":
            continue
        parts = [(c, p) for c in of(function, ast.Call) if (p := _part(c)) is not None]
        if not parts or any(p is False for _, p in parts) or len(parts) > 1:
            continue
        call = parts[0][0]
        if any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call)):
            continue
        if not any(isinstance(n, ast.Name) and n.id == flags[0] for n in walk(function)):
            continue
        asked = [c for c in flow(source).calls_of(function) if function not in source.above(c)]
        values = {_switch(function, c, flags[0]) for c in asked}
        if len(asked) > 1 and len(values) > 1 and None not in values and _alike(function, asked, flags[0]):
            return at(source, call, "the training part of the data is read for both sides")
    return None


def _part(call: ast.Call) -> bool | None:
    for word in call.keywords:
        value = word.value.value if isinstance(word.value, ast.Constant) else None
        if word.arg in ("usage", "split", "subset", "image_set") and isinstance(value, str):
            return side(value) if "[" not in value else None
        if word.arg in ("train", "is_train") and isinstance(value, bool):
            return value
    return None


def _argument(function: Function, call: ast.Call, name: str) -> ast.expr | None:
    names = [a.arg for a in function.args.args]
    names = names[1:] if names[:1] == ["self"] else names
    defaults = dict(
        zip(reversed([a.arg for a in function.args.args]), reversed(function.args.defaults), strict=False)
    )
    found = keyword(call, name)
    if found is None and name in names and names.index(name) < len(call.args):
        found = call.args[names.index(name)]
    return found or defaults.get(name)


def _switch(function: Function, call: ast.Call, name: str) -> str | None:
    value = _argument(function, call, name)
    return repr(value.value) if isinstance(value, ast.Constant) else None


def _alike(function: Function, calls: list[ast.Call], flag: str) -> bool:
    """Both sides name the same place: what else is handed over is equal but for sizes of batches."""
    names = [
        a.arg for a in function.args.args if a.arg != flag and not re.search(r"batch|size|bs|work", a.arg)
    ]
    for name in names:
        found = {unparse(v) if (v := _argument(function, c, name)) is not None else "" for c in calls}
        if len(found) > 1:
            return False
    return True


def shuffled_other_side(source: Script) -> Finding | None:
    """`shuffle=not training`, `shuffle=split == "val"`; a training loader in order beside a shuffled one."""
    seen: ast.AST | None = None
    for call in source.calls:
        told = keyword(call, "shuffle")
        if told is None or isinstance(told, ast.Constant):
            continue
        true = condition_side(told)
        if true is None and isinstance(told, ast.Name):
            behind = flow(source).given(told)
            true = condition_side(behind.value) if behind is not None and not behind.places else None
        if true is None:
            continue
        seen = seen or call
        if true is False:
            return at(source, told, "held-out data are shuffled, and the training data are not")
    pairs = [
        (o.learns, c) for o in given(source) if (c := _loader(o.value)) is not None and _stays(source, o.name)
    ]
    shuffled: dict[bool, list[bool | None]] = {True: [], False: []}
    for learns, call in pairs:
        told = keyword(call, "shuffle")
        value = False if told is None else literal(source, told)
        plain = not any(k.arg in ("sampler", "batch_sampler", None) for k in call.keywords)
        shuffled[learns].append(value if isinstance(value, bool) and plain else None)
    if (
        shuffled[True]
        and set(shuffled[True]) == {False}
        and shuffled[False]
        and set(shuffled[False]) == {True}
    ):
        first = next(c for learns, c in pairs if learns)
        return at(source, first, "the held-out loader shuffles, and the training loader does not")
    return ok(source, seen, "the training data are shuffled") if seen is not None else None


def _stays(source: Script, name: str) -> bool:
    """What the name holds goes into no other loader: `net, loader = engine.make_private(net, loader)`."""
    held = [
        n
        for n in source.of(ast.Assign)
        for t in n.targets
        for e in of(t, ast.Name, ast.Attribute)
        if last_name(e) == name
    ]
    return len(held) == 1


def _loader(value: ast.expr) -> ast.Call | None:
    return value if isinstance(value, ast.Call) and last_name(value.func) == "DataLoader" else None


# -------------------------------------------------------------------------------------------- which samples


def both_from_one_end(source: Script) -> Finding | None:
    """`train, val = x[:n], x[:m]`: two parts that begin, or end, at the same place overlap."""
    named = [g for g in given(source) if isinstance(g.node, (ast.Assign, ast.AnnAssign)) and _is_data(g.name)]
    # histories of one user are cut in a loop, each longer by one
    ends = [(g, e) for g in named if not source.loops_around(g.node) and (e := _end(g.value)) is not None]
    for held, (base, *where) in ends:
        if held.learns or base in {n for c in of(held.node, ast.comprehension) for n in names_in(c.target)}:
            continue  # `{k: rows[:n] for k, rows in held.items()}`: the rows of another table
        for mine, (other, *there) in ends:
            if not mine.learns or mine.scope is not held.scope or other != base:
                continue
            if _given_between(source, base, mine.node, held.node):
                continue  # `loaded = fromfile(...)` once more: another file
            if stem(mine.name) == stem(held.name) and (where[0] == there[0] or where[1] == there[1]):
                end = "begin" if where[0] == there[0] else "end"
                return at(source, held.node, f"both parts of {base} {end} at the same place: they overlap")
    return None


def _given_between(source: Script, name: str, one: ast.AST, other: ast.AST) -> bool:
    """The name gets another value on a line between two statements of one function."""
    low, high = sorted(getattr(n, "lineno", 0) for n in (one, other))
    return any(
        unparse(target) == name
        for made in source.of(ast.Assign, ast.With)
        if low < made.lineno < high and source.function_around(made) is source.function_around(one)
        for target in (
            made.targets if isinstance(made, ast.Assign) else [i.optional_vars for i in made.items]
        )
        if target is not None
    )


_FIGURES = re.compile(r"(?i)loss|acc|metric|score|len|num|count|step|path|dir|file|curve|hist|log")


def _is_data(name: str) -> bool:
    return _FIGURES.search(name) is None


def _end(value: ast.expr) -> tuple[str, str, str] | None:
    """The one slice that a value is made of: the whole, and where the slice begins and ends."""
    cuts = [n for n in of(value, ast.Subscript) if isinstance(n.slice, ast.Slice)]
    if len(cuts) != 1 or not isinstance(cuts[0].value, (ast.Name, ast.Attribute)):
        return None
    cut = cuts[0].slice
    if not isinstance(cut, ast.Slice) or cut.step is not None:
        return None
    turns = [t.target for c in of(value, ast.ListComp, ast.GeneratorExp, ast.SetComp) for t in c.generators]
    if any(n.id in names_in(cuts[0].value) for t in turns for n in of(t, ast.Name)):
        return None  # `[h[:-1] for h in histories]`, `Path(f).stem[:8] in days`: of each row, no part of them
    lower, upper = (unparse(e) if e is not None else "" for e in (cut.lower, cut.upper))
    return (unparse(cuts[0].value), lower, upper) if lower or upper else None


_PARTS = ("skip", "take", "shard", "select", "filter")


def reads_other_source(source: Script) -> Finding | None:
    """`train = Folder(root / "val", augment)` beside `val = Folder(root / "val", plain)`."""
    held = [(g, c, t) for g in given(source) if not g.learns and (c := _made(g.value)) and (t := _places(c))]
    for mine in given(source):
        call = _made(mine.value)
        if not mine.learns or call is None or not _is_data(mine.name):
            continue
        places = _places(call)
        if any(last_name(c.func) in _PARTS for c in of(call, ast.Call)):
            continue  # `prepare(all.skip(n))` beside `prepare(all.take(n))`
        if not any(side(p) is False for p in places) or any(side(p) is True for p in places):
            continue
        for other, made, theirs in held:
            same = last_name(made.func) == last_name(call.func) and theirs == places and made is not call
            if same and stem(other.name) == stem(mine.name) and not re.search(r"(?i)adapt|calib", mine.name):
                return at(source, call, "the training data are read from the source of the held-out data")
    return None


def _made(value: ast.expr) -> ast.Call | None:
    if isinstance(value, ast.Call) and last_name(value.func) == "DataLoader" and value.args:
        value = value.args[0]
    if isinstance(value, ast.Call) and (value.args or value.keywords):
        name = last_name(value.func)
        return value if re.search(r"(?i)data|set|read|load|folder|images|mnist|cifar|corpus", name) else None
    return None


def _places(call: ast.Call) -> list[str]:
    """Texts and parts of paths among the first arguments of a call that reads data."""
    values = [*call.args, *(k.value for k in call.keywords if k.arg in ("root", "path", "split", "folder"))]
    return [n.value for v in values for n in of(v, ast.Constant) if isinstance(n.value, str)]


def fit_crossed(source: Script) -> Finding | None:
    """`trainer.fit(model, val_loader, train_loader)`, by what the loaders hold."""
    seen: ast.AST | None = None
    names = {g.name for g in given(source) if not g.learns} | {
        e.id for n in source.of(ast.Assign) for t in n.targets for e in of(t, ast.Name) if side(e.id) is False
    }
    for call in source.named("fit"):
        learns = keyword(call, "train_dataloaders") or keyword(call, "train_dataloader")
        held = keyword(call, "val_dataloaders")
        if "trainer" in source.owner(call).lower() and not any(isinstance(a, ast.Starred) for a in call.args):
            learns = learns or argument(call, position=1)
            held = held or argument(call, position=2)
        if learns is None or held is None:
            continue
        seen = seen or call
        sides = [_side_of(source, learns), _side_of(source, held)]
        if sides == [False, True]:
            return at(
                source,
                call,
                "the trainer gets the held-out data to train on, and evaluates the training data",
            )
        if sides == [True, True] and names:
            return at(source, held, "the training data are evaluated as held-out data")
    return ok(source, seen, "the trainer gets each side in its place") if seen is not None else None


def _side_of(source: Script, value: ast.expr) -> bool | None:
    """The side of what a loader holds, names followed to the call that makes it."""
    for one in [value, *flow(source).values(value, 3)]:
        if isinstance(one, ast.Call) and last_name(one.func) == "DataLoader":
            data = argument(one, "dataset", position=0)
            if isinstance(data, (ast.Name, ast.Attribute)):
                return side(unparse(data))
    return None
