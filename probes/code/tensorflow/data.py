"""Pipelines of tf.data in scripts: what is drawn, kept, shuffled and cut, and in which order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_true
from ..shared.sides import given, literal, side

_DEPTH = 24
_DATA = re.compile(r"tf\.data|TFRecordDataset|from_tensor_slices|image_dataset_from_directory|tfds\.load")
_DRAWS = re.compile(
    r"^(?:stateless_)?random_|^Random[A-Z]\w+$|^(?:normal|uniform|stateless_(?:normal|uniform))$"
)
_LAYERS = re.compile(r"^(?:Random[A-Z]\w+|GaussianNoise|AugMix|RandAugment)$")


def uses_pipelines(source: Script) -> bool:
    """Say whether the script builds pipelines of tf.data."""
    return _DATA.search(source.text) is not None


def steps(source: Script, node: ast.expr) -> list[ast.Call]:
    """The steps that a pipeline went through up to an expression, the last first: batch, map, shuffle, ...

    Followed through the names of one function; of a step under a condition the branch is taken.
    """
    found: list[ast.Call] = []
    for _ in range(_DEPTH):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found.append(node)
            node = node.func.value
        elif isinstance(node, ast.Name) and (one := flow(source).given(node)) is not None:
            if one.places or not isinstance(one.value, ast.Call):
                break
            node = one.value
        else:
            break
    return found


# ------------------------------------------------------------------------------------- kept draws


@probe()
def augmentation_kept(view: View) -> Finding:
    """Random changes of samples stand before the cache: every epoch sees the same draw."""
    return first(view, _kept, "the scripts cache no pipeline of tf.data")


def _kept(source: Script) -> Finding | None:
    if not uses_pipelines(source):
        return None
    seen: ast.AST | None = None
    for call in source.named("cache"):
        if not isinstance(call.func, ast.Attribute):
            continue
        seen = seen or call
        holder = source.statement(call)
        if isinstance(holder, ast.Assign) and side(unparse(holder.targets[0])) is False:
            continue
        for step in steps(source, call.func.value):
            if last_name(step.func) == "map" and step.args and draws(source, step.args[0]):
                return at(source, call, "the random changes before the cache are the same in every epoch")
    return ok(source, seen, "nothing is drawn before the cache") if seen is not None else None


def draws(source: Script, function: ast.expr) -> bool:
    """What a map applies draws at random: `tf.image.random_flip_left_right`, a layer of augmentation."""
    bodies: list[ast.AST] = [function] if isinstance(function, ast.Lambda) else []
    if isinstance(function, ast.Name):
        named: list[Function] = flow(source).functions.get(function.id, [])
        bodies += named
    for body in list(bodies):
        for call in of(body, ast.Call):
            bodies += [f for f in flow(source).called(call) if f not in bodies]
    for body in bodies[:20]:
        if any("train" in a.arg or "augment" in a.arg for a in _arguments(body)):
            return False  # it may be told not to
        for call in of(body, ast.Call):
            text = unparse(call.func)
            drawn = _DRAWS.match(last_name(call.func)) and re.match(r"(?:tf|K|keras)\.", text)
            if drawn or (_augments(source, call) and not _is_off(call)):
                return True
    return False


def _arguments(body: ast.AST) -> list[ast.arg]:
    return body.args.args if isinstance(body, (ast.FunctionDef, ast.AsyncFunctionDef)) else []


def _is_off(call: ast.Call) -> bool:
    told = keyword(call, "training")
    return told is not None and not is_true(told)


def _augments(source: Script, call: ast.Call) -> bool:
    """`augment(x, training=True)` of a layer, or a stack of layers, that change samples at random."""
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return isinstance(call.func, ast.Call) and _LAYERS.match(last_name(call.func.func)) is not None
    for end in flow(source).values(call.func, 3):
        if isinstance(end, ast.Call) and (
            _LAYERS.match(last_name(end.func))
            or (
                last_name(end.func) == "Sequential"
                and any(_LAYERS.match(last_name(c.func)) for c in of(end, ast.Call))
            )
        ):
            return True
    return False


def held_out_drawn(source: Script) -> Finding | None:
    """`val = val.map(lambda x, y: (augment(x, training=True), y))`: changed at random."""
    if not uses_pipelines(source):
        return None
    for one in given(source):
        if one.learns or not isinstance(one.value, ast.Call):
            continue
        for step in steps(source, one.value):
            if last_name(step.func) == "map" and step.args and draws(source, step.args[0]):
                told = side(unparse(step.func.value)) if isinstance(step.func, ast.Attribute) else None
                if told is not True:
                    return at(source, step, "held-out samples are changed at random, too")
    return None


_TURNS = ("random_flip_left_right", "random_flip_up_down", "random_crop", "random_rotation", "random_shift")


def flipped_apart(source: Script) -> Finding | None:
    """`x = tf.image.random_flip_left_right(x)` and the same of `y`: each draws for itself."""
    if "tensorflow" not in source.frameworks:
        return None
    for function in source.of(ast.FunctionDef):
        given = [a.arg for a in function.args.args]
        turned: dict[str, dict[str, ast.Call]] = {}
        for node in of(function, ast.Assign, ast.Return):
            for call in of(node, ast.Call) if len(given) > 1 else ():
                name = last_name(call.func)
                first_ = argument(call, position=0)
                if name in _TURNS and isinstance(first_, ast.Name) and first_.id in given:
                    if not any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call)):
                        turned.setdefault(name, {})[first_.id] = call
        for parts in turned.values():
            calls = list(parts.values())
            if len(calls) == 2 and _is_pair(list(parts)):
                return at(source, calls[1], f"`{'` and `'.join(parts)}` are turned by two draws")
    return None


_PAIRS = re.compile(
    r"(?i)^(?:y|masks?|targets?|labels?|seg\w*|\w*_masks?|heights?|depth\w*|gt|clean|output\w*|real\w*|hr)$"
)


def _is_pair(names: list[str]) -> bool:
    """One of two is what the other is judged by; two views of a picture are to be turned apart."""
    return sum(_PAIRS.match(n) is not None for n in names) == 1


# ------------------------------------------------------------------------------------- order


def order_kept(source: Script) -> Finding | None:
    """The only shuffle of the samples is drawn once (`reshuffle_each_iteration=False`), or hardly mixes.

    A buffer of the size of a batch fills each batch from next to the place before: counts where nothing else
    mixes the samples.
    """
    if not uses_pipelines(source) or not source.trains:
        return None
    calls = [c for c in source.named("shuffle") if isinstance(c.func, ast.Attribute) and _is_step(c)]
    cuts = source.named("take", "skip", "shard", "random_split", "split_dataset")
    if len(calls) == 1 and not cuts:
        flag = keyword(calls[0], "reshuffle_each_iteration")
        if flag is not None and literal(source, flag) is False:
            return at(
                source, calls[0], "the order is drawn once, and every epoch runs through the same batches"
            )
    mixed = re.search(r"\.sample\(|train_test_split|random\.shuffle|rng\.shuffle|list_files", source.code)
    if mixed or ("permutation" in source.code and not source.named("sort_values")):
        return None
    for call in source.named("batch", "padded_batch"):
        size = call.args[0] if call.args else keyword(call, "batch_size")
        if size is None or (isinstance(size, ast.Constant) and size.value == 1):
            continue
        made = steps(source, call)[1:]
        mixes = [s for s in made if last_name(s.func) == "shuffle" and _is_step(s)]
        if len(mixes) == 1 and unparse(_buffer(mixes[0]) or size) == unparse(size) and _buffer(mixes[0]):
            if not any(last_name(s.func) in ("interleave", "batch", "sample_from_datasets") for s in made):
                return at(
                    source,
                    mixes[0],
                    "the buffer holds a single batch: the stored order stays nearly as it is",
                )
    return None


def _buffer(call: ast.Call) -> ast.expr | None:
    return call.args[0] if call.args else keyword(call, "buffer_size")


def _is_step(call: ast.Call) -> bool:
    owner = unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return _buffer(call) is not None and not re.search(
        r"(?:^|\.)(?:random|rng)\b|default_rng|RandomState", owner
    )


def shuffled_in_place_alone(source: Script) -> Finding | None:
    """`rng.shuffle(paths)`, then `from_tensor_slices((paths, table["label"]))`: the others do not move."""
    drawn = [
        c
        for c in source.named("shuffle")
        if len(c.args) == 1
        and isinstance(c.args[0], ast.Name)
        and re.search(r"random|rng|RandomState|generator", source.owner(c))
    ]
    for sink in source.named("from_tensor_slices", "TensorDataset", "zip"):
        parts = sink.args[0].elts if sink.args and isinstance(sink.args[0], ast.Tuple) else sink.args
        scope = source.function_around(sink)
        mine = [c for c in drawn if source.function_around(c) is scope and c.lineno < sink.lineno]
        if len(parts) < 2 or len(mine) != 1 or not isinstance(mine[0].args[0], ast.Name):
            continue
        name = mine[0].args[0].id
        others = [p for p in parts if name not in names_in(p)]
        if len(others) != len(parts) - 1 or not any(isinstance(p, ast.Name) and p.id == name for p in parts):
            continue
        if not any(_follows(source, p, name) for p in others):
            return at(source, mine[0], f"`{name}` is shuffled alone, and joined with what keeps its order")
    return None


def _follows(source: Script, node: ast.expr, name: str) -> bool:
    """Worked out from what was shuffled, or nothing that can be followed."""
    ends = [node, *flow(source).values(node, 4)]
    return any(name in names_in(e) for e in ends) or isinstance(node, (ast.Constant, ast.Starred))


# ------------------------------------------------------------------------------------- cuts


def cut_from_moving_order(source: Script) -> Finding | None:
    """`ds.shuffle(n)` cut by `take` and `skip`: each epoch draws anew what is held out.

    Also a `skip` of less than the `take` of the other side. A cache, or `reshuffle_each_iteration=False`,
    keeps the order.
    """
    if not uses_pipelines(source):
        return None
    seen: ast.AST | None = None
    for owner, taken, skipped in _cuts(source):
        seen = seen or skipped
        one, other = (literal(source, c.args[0]) if c.args else None for c in (taken, skipped))
        if isinstance(one, int) and isinstance(other, int) and 0 < other < one:
            return at(source, skipped, f"the parts overlap: {one} samples are taken and {other} are skipped")
        for step in steps(source, owner):
            name = last_name(step.func)
            if name == "cache":
                break
            if name not in ("shuffle", "list_files") or (name == "shuffle" and not _is_step(step)):
                continue
            flag = keyword(step, "reshuffle_each_iteration" if name == "shuffle" else "shuffle")
            if flag is None or literal(source, flag) is True:
                if name == "shuffle" or not any(last_name(s.func) == "shuffle" for s in steps(source, owner)):
                    return at(
                        source, step, "the order is drawn anew in each epoch, so that the two parts mix"
                    )
            break
    return ok(source, seen, "the parts are cut from an order that stays") if seen is not None else None


def _cuts(source: Script) -> Iterator[tuple[ast.expr, ast.Call, ast.Call]]:
    """A pipeline, its `take` and its `skip`, where one is for training and the other is held out."""
    sides: dict[ast.Call, bool] = {}
    for one in given(source):
        for call in of(one.value, ast.Call):
            sides.setdefault(call, one.learns)
    for taken in source.named("take"):
        for skipped in source.named("skip"):
            if not (isinstance(taken.func, ast.Attribute) and isinstance(skipped.func, ast.Attribute)):
                continue
            same = unparse(taken.func.value) == unparse(skipped.func.value)
            if not same or source.function_around(taken) is not source.function_around(skipped):
                continue
            mine, theirs = sides.get(taken), sides.get(skipped)
            if mine is not theirs:
                yield taken.func.value, taken, skipped
