"""Loaders and loops of one side that are given the data of the other: training on held-out data, and back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import taken, takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, gone_over, ok
from ..shared.sides import Given, given, side, stem, words

_CUTS = re.compile(r"Subset|random_split|train_test_split|select|idx|indices")


def loader_of_other_side(source: Script) -> Finding | None:
    """`train_loader = DataLoader(test_set)`; `test_loader = DataLoader(train_set)` beside training's own."""
    seen: ast.AST | None = None
    made = list(loaders(source))
    for one, data, call in made:
        mine = side(unparse(data))
        if mine is None:
            continue
        seen = seen or data
        if mine == one.learns or keyword(call, "sampler") is not None:
            continue
        if one.learns:
            if _known(source, data, learns=False) and any(not o.learns for o, *_ in made):
                return at(source, data, "training is given the held-out data")
        elif any(o.learns and unparse(d) == unparse(data) for o, d, _ in made):
            return at(source, data, "the training data are evaluated as held-out data")
    return ok(source, seen, "each loader has the data of its side") if seen is not None else None


def sampled_from_other_side(source: Script) -> Finding | None:
    """`train_loader = DataLoader(val_set, sampler=train_sampler)`; the sampler was made for `train_set`.

    The loader is named for the side that its sampler counts, and reads the data of the other one.
    """
    mine = flow(source)
    for one in given(source):
        call = one.value
        if not isinstance(call, ast.Call) or not last_name(call.func).endswith("DataLoader"):
            continue
        data, sampler = argument(call, "dataset", position=0), keyword(call, "sampler")
        if sampler is None or not isinstance(data, (ast.Name, ast.Attribute)):
            continue
        if side(last_name(data)) is not (not one.learns):
            continue
        for made in mine.values(sampler, 4):
            if not isinstance(made, ast.Call) or not last_name(made.func).endswith("DistributedSampler"):
                continue
            other = argument(made, "dataset", position=0)
            if not isinstance(other, (ast.Name, ast.Attribute)) or side(last_name(other)) is not one.learns:
                continue
            if stem(last_name(other)) == stem(last_name(data)):
                why = f"this loader is given `{unparse(data)}`, and its sampler counts `{unparse(other)}`"
                return at(source, data, why)
    return None


def loaders(source: Script) -> Iterator[tuple[Given, ast.expr, ast.Call]]:
    """Values of DataLoader that a name of one side is given, with the data set by its name, and the call.

    A plain `dataloader` beside an `eval_dataloader` is the one of training.
    """
    for one in [*given(source), *plain_loaders(source)]:
        call = one.value
        if isinstance(call, ast.Call) and last_name(call.func).endswith("DataLoader"):
            data = argument(call, "dataset", position=0)
            named = isinstance(data, ast.Subscript) and isinstance(
                data.slice, ast.Constant
            )  # `data["train"]`
            if (
                (isinstance(data, (ast.Name, ast.Attribute)) or named)
                and data
                and not _ASIDE.search(one.name.lower())
            ):
                yield one, data, call


_ASIDE = re.compile(r"memory|feature|stat|bank|gallery|calib|adapt|probe|plot|vis")


def plain_loaders(source: Script) -> Iterator[Given]:
    """What a `loader` beside a `test_loader` is given: it is the one of training."""
    held = {(stem(g.name), g.scope) for g in given(source) if not g.learns and "loader" in g.name}
    for node in source.of(ast.Assign) if held else ():
        target = node.targets[0]
        if isinstance(target, (ast.Name, ast.Attribute)):
            name = target.id if isinstance(target, ast.Name) else target.attr
            scope = source.function_around(node)  # that of an evaluation may call its own one so
            if side(name) is None and "loader" in name and (stem(name), scope) in held:
                yield Given(name, True, node.value, node, scope)


def _known(source: Script, data: ast.expr, learns: bool) -> bool:
    """Both data sets are there under such names: the other one would have been at hand."""
    name = unparse(data).split(".")[-1]
    others = {g.name for g in given(source) if g.learns != learns and stem(g.name) == stem(name)}
    others |= {
        a.arg
        for n in source.of(ast.FunctionDef)
        for a in n.args.args
        if side(a.arg) is not learns and side(a.arg) is not None and stem(a.arg) == stem(name)
    }
    return bool(others)


def trains_on_held_out_loop(source: Script) -> Finding | None:
    """The loop that updates the weights goes through a held-out loader, and one of training is there, too."""
    seen: ast.AST | None = None
    names = {n.id for n in source.of(ast.Name)} | {n.attr for n in source.of(ast.Attribute)}
    for step in taken(source):
        loop = next((p for p in source.loops_around(step) if isinstance(p, ast.For)), None)
        if loop is None or not takes_gradients(source, loop):
            continue
        over = gone_over(loop.iter, "list")
        if not isinstance(over, (ast.Name, ast.Attribute)):
            continue
        seen = seen or loop
        name = unparse(over).split(".")[-1]
        if side(name) is not False or side(source.function_name(loop)) is False:
            continue
        beside = {n for n in names if side(n) is True and stem(n) == stem(name)}
        if beside and not {"adapt", "attack", "tta"} & set(words(source.function_name(loop))):
            return at(source, over, f"the loop that trains goes through held-out data, not `{min(beside)}`")
    return ok(source, seen, "training goes through its own data") if seen is not None else None


def same_part(source: Script) -> Finding | None:
    """`test_set = CIFAR10(root, train=True)` beside `train_set = CIFAR10(root, train=True)`."""
    seen: ast.AST | None = None
    made = [(g, *found) for g in given(source) if (found := _made(g)) is not None]
    for held, call, holder in made:
        if held.learns or (part := part_of(call)) is None:
            continue
        seen = seen or call
        if part is not True or keyword(holder, "sampler") is not None:
            continue
        others = [c for g, c, _ in made if g.learns and last_name(c.func) == last_name(call.func)]
        others = [c for c in others if not _other_samples(source, c, call)]
        if any(part_of(c) is True for c in others) and not _cut(source, held):
            return at(source, call, "the held-out data are the training part of the data set")
    return ok(source, seen, "held-out data are another part of the data set") if seen is not None else None


def _made(one: Given) -> tuple[ast.Call, ast.Call] | None:
    """The call that makes a data set, in a loader's call or alone, with the outer call."""
    value = one.value
    if not isinstance(value, ast.Call):
        return None
    inner = value
    if last_name(value.func).endswith("DataLoader"):
        data = argument(value, "dataset", position=0)
        if not isinstance(data, ast.Call):
            return None
        inner = data
    return inner, value


def part_of(call: ast.Call) -> bool | None:
    """Which part of a published data set is asked for: `train=True`, `split="test"`."""
    for word in call.keywords:
        value = word.value.value if isinstance(word.value, ast.Constant) else None
        if word.arg in ("train", "is_train") and isinstance(value, bool):
            return value
        if word.arg in ("split", "subset", "image_set") and isinstance(value, str) and "[" not in value:
            return side(value)
    return None


def _other_samples(source: Script, one: ast.Call, other: ast.Call) -> bool:
    """A class of the script is given other samples each time, so that its switch does not pick them."""
    same = {unparse(a) for a in all_arguments(one)}
    if any((_picks(a) or _names_held_out(a)) and unparse(a) not in same for a in all_arguments(other)):
        return True
    own = last_name(one.func) in source.classes
    return own and bool(one.args and other.args) and unparse(one.args[0]) != unparse(other.args[0])


def _names_held_out(node: ast.expr) -> bool:
    """`root / f"{name}_val0.h5"`: a file or folder of held-out samples."""
    texts = (n.value for n in of(node, ast.Constant) if isinstance(n.value, str))
    return any(side(text) is False for text in texts)


def _picks(node: ast.expr) -> bool:
    """`ids[cut:]`, `val_files`: which samples they are, not what is done to them."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice) or _picks(node.value)
    listed = re.search(
        r"(?i)(?:^|_)(?:ids?|idxs?|index|indices|files|paths|names|keys|rows|items|df|frame)$", unparse(node)
    )
    return isinstance(node, (ast.Name, ast.Attribute)) and listed is not None


def _cut(source: Script, held: Given) -> bool:
    """The held-out part is taken out of it afterwards, or in a loader with a sampler."""
    names = [n for n in source.of(ast.Name, ast.Attribute) if _is(n, held.name)]
    for name in names:
        for above in source.above(name):
            if isinstance(above, ast.Subscript) or (
                isinstance(above, ast.Call)
                and (_CUTS.search(last_name(above.func)) or keyword(above, "sampler") is not None)
            ):
                return True
            if isinstance(above, ast.stmt):
                break
    return any(_CUTS.search(unparse(v)) for n in names for v in flow(source).values(n, 2) if v is not n)


def _is(node: ast.AST, name: str) -> bool:
    return (node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")) == name
