"""How scripts feed training: in which order samples come, and how many of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....engine.model import State
from ...readers._tree import of, unparse
from ...readers.script import all_arguments, argument, keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.branches import never_together
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..ranks.sampler_order import sampler_keeps_order
from ..shared.checks import at, first, ok
from ..shared.nodes import is_true
from ..shared.sides import either, given, literal, setting, side, words
from ..splits.side_switches import shuffled_other_side
from ..splits.sides_crossed import trains_on_held_out_loop
from ..splits.slipped import step_thrown_away
from ..splits.turned_flags import order_by_turned_flag
from ..tensorflow.data import order_kept
from ..tensorflow.graph_data import fed_in_stored_order, piped_in_stored_order
from ..tensorflow.keras_slips import fit_in_order
from ..trainers.fastai_learner import order_kept_by_learner
from .asked import shuffle_not_asked
from .chance_unused import files_in_order, graph_loader_keeps_order, source_never_handed
from .counted_orders import order_counted_up
from .drawn_orders import (
    copy_shuffled,
    held_out_list_shuffled,
    loader_seeded_each_epoch,
    order_left,
    order_sorted_again,
    seeded_each_epoch,
)
from .orders_kept import same_order_each_epoch


@probe()
def loader_keeps_order(view: View) -> Finding:
    """The training loader hands samples out in their stored order, and nothing mixed them before."""
    return first(
        view,
        either(
            _loader,
            shuffle_not_asked,
            sampler_keeps_order,
            fed_in_stored_order,
            piped_in_stored_order,
            graph_loader_keeps_order,
            order_kept_by_learner,
        ),
        "the scripts build no training loader",
    )


@probe()
@unframed
def order_is_fixed(view: View) -> Finding:
    """Training samples come in the same order, or in the same batches, however it was meant.

    A shuffle after the batch or with a tiny buffer, files read in order, an overridden loader, fixed windows.
    """
    return first(
        view,
        either(
            _pipeline,
            step_thrown_away,
            order_kept,
            same_order_each_epoch,
            fit_in_order,
            _own_loader,
            _first_windows,
            shuffled_other_side,
            order_by_turned_flag,
            order_left,
            *(source_never_handed, files_in_order),
            order_counted_up,
            order_sorted_again,
            seeded_each_epoch,
            loader_seeded_each_epoch,
            copy_shuffled,
            held_out_list_shuffled,
            _folder_by_folder,
        ),
        "the scripts show no order of samples",
    )


def _folder_by_folder(source: Script) -> Finding | None:
    """Of training's own loader: one of held-out data that is learnt from keeps its order by right."""
    crossed = trains_on_held_out_loop(source)
    if crossed is not None and crossed.state is State.PRESENT:
        return None
    return shows("folder-by-folder")(source)


# ------------------------------------------------------------------------------------- PyTorch, MindSpore


def _loader(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for call, name in _loaders(source):
        spread = [_spread(source, k.value) for k in call.keywords if k.arg is None]
        if None in spread:
            continue
        words = {k.arg for k in call.keywords} | {w for s in spread for w in s or ()}
        if words & {"sampler", "batch_sampler"} or len(call.args) > 3:
            continue
        shuffle = argument(call, "shuffle", position=2)
        if shuffle is None and "shuffle" in words:
            continue
        value = False if shuffle is None else literal(source, shuffle)
        seen = seen or call
        if value is False and not _shuffled_before(source) and not _no_order(source, call):
            return at(source, call, f"the training loader ({name}) keeps the stored order")
    return ok(source, seen, "the training loader shuffles") if seen is not None else None


def _spread(source: Script, node: ast.expr) -> set[str] | None:
    """The words that `**options` may hold, a dict of this function; None where they are not known."""
    if not isinstance(node, ast.Name):
        return None
    scope = source.function_around(node) or source.tree
    made = [n.value for n in of(scope, ast.Assign) for t in n.targets if unparse(t) == node.id]
    put = [c for c in of(scope, ast.Call) if unparse(c.func) == f"{node.id}.update"]
    keys: list[ast.expr | None] = []
    found = {k.arg for c in put for k in c.keywords}
    for part in [*made, *(a for c in put for a in c.args)]:
        inner = [n.value for n in of(scope, ast.Assign) for t in n.targets if unparse(t) == unparse(part)]
        held = inner[0] if isinstance(part, ast.Name) and len(inner) == 1 else part
        if isinstance(held, ast.Call) and unparse(held.func) == "dict" and not held.args:
            found |= {k.arg for k in held.keywords}
        elif isinstance(held, ast.Dict):
            keys += held.keys
        else:
            return None
    stored = (n for n in of(scope, ast.Subscript) if isinstance(n.ctx, ast.Store))
    keys += [n.slice for n in stored if unparse(n.value) == node.id]
    found |= {str(k.value) if isinstance(k, ast.Constant) else None for k in keys}
    known = {str(w) for w in found if w is not None}
    return known if made and None not in found else None


def _loaders(source: Script) -> Iterator[tuple[ast.Call, str]]:
    """DataLoader calls for training: by the name they are given to, through a helper of the script."""
    evaluated = {c for c in source.named("DataLoader") if side(source.function_name(c)) is False}
    for call in source.named("DataLoader"):
        statement = source.parents.get(call)
        target = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        if call.args and side(unparse(call.args[0])) is True and target and side(target) is None:
            yield call, target
    yield from _given_back(source)
    for one in given(source):
        if not one.learns or re.search(r"eval|metric|stat|proto|memory|bank|gallery", one.name.lower()):
            continue
        value = one.value
        if not isinstance(value, ast.Call):
            continue
        if last_name(value.func) == "DataLoader" and value not in evaluated:
            yield value, one.name
            continue
        for function in flow(source).called(value):
            inner = [c for c in of(function, ast.Call) if last_name(c.func) == "DataLoader"]
            if len(inner) != 1 or keyword(inner[0], "sampler") is not None:
                continue
            flag = keyword(inner[0], "shuffle")
            if isinstance(flag, ast.Name):
                passed = _passed(function, value, flag.id)
                if passed is not None and literal(source, passed) is False:
                    made = ast.copy_location(
                        ast.Call(func=ast.Name("DataLoader"), args=[], keywords=[]), value
                    )
                    made.keywords = [ast.keyword("shuffle", ast.Constant(False))]
                    yield made, one.name


def _given_back(source: Script) -> Iterator[tuple[ast.Call, str]]:
    """The loader that a function gives back which is named after training: `getTrainLoader`."""
    for function in source.of(ast.FunctionDef):
        if words(function.name)[-1:] != ["loader"] or side(function.name) is not True:
            continue
        made = returns(function)
        call = made[0] if len(made) == 1 else None
        if isinstance(call, ast.Call) and last_name(call.func) == "DataLoader":
            if not (call.args and side(unparse(call.args[0])) is False):
                yield call, function.name


def _passed(function: Function, call: ast.Call, name: str) -> ast.expr | None:
    named = keyword(call, name)
    if named is not None:
        return named
    names = [a.arg for a in function.args.args if a.arg != "self"]
    if name in names and names.index(name) < len(call.args):
        return call.args[names.index(name)]
    defaults = dict(
        zip(reversed([a.arg for a in function.args.args]), reversed(function.args.defaults), strict=False)
    )
    return defaults.get(name)


def _shuffled_before(source: Script) -> bool:
    """The samples were put into a random order somewhere: the order of the loader may be that one."""
    if re.search(
        r"Iterable|Streaming|WebDataset|Sampler|random_split|DPDataLoader|make_private", source.code
    ):
        return True
    mixes = re.compile(r"^(?:shuffle_?|permutation|permuted|randperm|sample|shuffled)$")
    inside = re.compile(r"(?i)mix|aug|forward|loss|jigsaw|drop|mask")
    return any(
        mixes.match(last_name(c.func)) and not inside.search(source.function_name(c)) for c in source.calls
    )


def _no_order(source: Script, call: ast.Call) -> bool:
    """Nothing is trained over several samples: one batch is the whole set, or samples are drawn inside."""
    data = call.args[0] if call.args else keyword(call, "dataset")
    if data is None:
        return False
    made = flow(source).made(data)
    if made is None:
        return False
    draws = re.search(r"random\.|randint|rand\(|choice", unparse(made))
    infinite = not re.search(r"self\.\w+\[", unparse(made))
    return bool(draws) and infinite


# ------------------------------------------------------------------------------------- tf.data, MindSpore


def _pipeline(source: Script) -> Finding | None:
    """tf.data: a shuffle after the batch, with a buffer of next to nothing, or none at all on file data."""
    seen: ast.AST | None = None
    tensorflow = re.search(r"tf\.data|TFRecordDataset|from_tensor_slices|mindspore", source.code) is not None
    for call in source.named("shuffle"):
        if (
            not tensorflow
            or not isinstance(call.func, ast.Attribute)
            or source.owner(call) in ("random", "np.random")
        ):
            continue
        size = call.args[0] if call.args else keyword(call, "buffer_size")
        if size is None:
            continue
        seen = seen or call
        number = literal(source, size) if not isinstance(size, ast.Attribute) else setting(source, size)
        if isinstance(number, int) and not isinstance(number, bool) and 0 < number <= 16:
            return at(source, call, f"a buffer of {number} mixes next to nothing")
        if (kept := _cached_after(source, call)) is not None and not _of_files(source, call):
            return at(source, kept, "the order is drawn before the cache, which repeats it in every epoch")
        if _batched_before(source, call):
            return at(
                source, call, "the batches are shuffled, not their samples, which stay together for good"
            )
    files = source.named("TFRecordDataset", "TextLineDataset", "interleave")
    samples = [c for c in source.named("shuffle") if isinstance(c.func, ast.Attribute) and all_arguments(c)]
    maps = [c for c in samples if not _of_files(source, c)]
    if files and not maps and re.search(r"(?i)train", source.code) and source.trains:
        made = source.named("batch", "map_and_batch", "padded_batch")
        batches = [c for c in made if isinstance(c.func, ast.Attribute)]
        if batches and not source.loose and not source.named("sample_from_datasets"):
            return at(source, batches[0], "the samples in the files are not shuffled")
    for call in source.calls:
        name = last_name(call.func)
        if re.search(
            r"ImageFolderDataset|MindDataset|(?:Generator|TFRecord|NumpySlices|Mnist|Cifar\d+)Dataset",
            name,
        ):
            flag = keyword(call, "shuffle")
            if flag is None:
                continue
            seen = seen or call
            learns = _branch(source, call)
            learns = learns or (True if learns is None and _serves_both(source, call) else learns)
            if literal(source, flag) is False and learns is True and keyword(call, "sampler") is None:
                if not any(c.args for c in samples) and not _beside_shuffled(source, call):
                    return at(source, call, "the training data are read in the order of the files")
    return ok(source, seen, "samples are shuffled") if seen is not None else None


def _serves_both(source: Script, call: ast.Call) -> bool:
    """It stands under no condition in a function that a flag tells to train: `make(path, do_train=True)`."""
    function = source.function_around(call)
    if function is None or any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call)):
        return False
    flags = [a.arg for a in function.args.args if _TRAINS.match(a.arg)]
    asked = [_passed(function, c, flag) for c in flow(source).calls_of(function) for flag in flags]
    return any(is_true(a) for a in asked)


_TRAINS = re.compile(r"(?i)^(?:do_|is_|for_)?train(?:ing)?(?:_mode)?$")


def _beside_shuffled(source: Script, call: ast.Call) -> bool:
    """The function that the call stands in makes data of this kind that are shuffled, and trained on."""
    scope = source.function_around(call) or source.tree
    others = [c for c in of(scope, ast.Call) if c is not call and last_name(c.func) == last_name(call.func)]
    flags = [keyword(c, "shuffle") for c in others]
    return any(is_true(f) for f in flags)


def _cached_after(source: Script, call: ast.Call) -> ast.Call | None:
    """`ds.shuffle(n).cache()`, or `ds = ds.cache()` after it in one function, with no shuffle behind it."""
    scope = source.function_around(call)
    name = source.owner(call).split(".")[0]
    chain = [c for c in source.above(call) if isinstance(c, ast.Call)]
    later = [
        c
        for c in source.named("cache", "shuffle")
        if source.function_around(c) is scope and source.owner(c).split(".")[0] == name
        if c in chain or _end(c) > _end(call)
    ]
    around = set(source.above(call))
    caches = [
        c
        for c in later
        if last_name(c.func) == "cache"
        and not any(isinstance(p, ast.If) and p not in around for p in source.above(c))
    ]
    again = [c for c in later if last_name(c.func) == "shuffle" and c is not call]
    return caches[0] if caches and not again else None


def _end(call: ast.Call) -> tuple[int, int]:
    """Where a call ends: a chain of calls has one beginning, on whatever lines its links stand."""
    return call.end_lineno or call.lineno, call.end_col_offset or 0


def _batched_before(source: Script, call: ast.Call) -> bool:
    node: ast.expr = call.func.value if isinstance(call.func, ast.Attribute) else call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if last_name(node.func) in ("batch", "padded_batch"):
            return True
        if last_name(node.func) == "unbatch":
            return False
        node = node.func.value
    if not isinstance(node, ast.Name):
        return False
    scope = source.function_around(call)
    above = [
        c
        for c in source.named("batch", "padded_batch", "unbatch", "shuffle")
        if source.function_around(c) is scope
        and c.lineno < call.lineno
        and source.owner(c).split(".")[0] == node.id
        and isinstance(given_to := source.statement(c), (ast.Assign, ast.AnnAssign))
        and node.id
        in map(unparse, given_to.targets if isinstance(given_to, ast.Assign) else [given_to.target])
    ]
    names = [last_name(c.func) for c in above]
    return bool({"batch", "padded_batch"} & set(names)) and "shuffle" not in names and "unbatch" not in names


def _of_files(source: Script, call: ast.Call) -> bool:
    """`Dataset.list_files(p).shuffle(n)`, or before the files are read."""
    owner = source.owner(call)
    if "list_files" in owner or re.search(r"file|shard|path", owner):
        return True
    scope = source.function_around(call)
    reads = [
        c
        for c in source.named("interleave", "TFRecordDataset", "flat_map")
        if source.function_around(c) is scope and c.lineno > call.lineno
        if not never_together(source, c, call)
    ]
    size = unparse(call.args[0]) if call.args else ""
    return bool(reads) or "file" in size or "shard" in size


def _branch(source: Script, node: ast.AST) -> bool | None:
    """Whether a node runs for training: by the name it is given to, or by `if do_train:`."""
    child: ast.AST = node
    for parent in source.above(node):
        if isinstance(parent, ast.Assign) and side(unparse(parent.targets[0])) is not None:
            return side(unparse(parent.targets[0]))
        if isinstance(parent, ast.If):
            learns = side(unparse(parent.test))
            if learns is not None:
                negated = isinstance(parent.test, ast.UnaryOp)
                return (child in parent.body) == (learns and not negated)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return side(parent.name)
        child = parent
    return None


# ------------------------------------------------------------------------------------- other ways


def _own_loader(source: Script) -> Finding | None:
    """Hugging Face: an overridden `get_train_dataloader` without a sampler."""
    for function in flow(source).functions.get("get_train_dataloader", []):
        calls = [c for c in of(function, ast.Call) if last_name(c.func) == "DataLoader"]
        for call in calls:
            words = {k.arg for k in call.keywords}
            if None in words:
                continue
            if not words & {"shuffle", "sampler", "batch_sampler"} and "ampler" not in unparse(function):
                return at(
                    source, call, "this loader takes the place of one that shuffles, and keeps the order"
                )
            return ok(source, call, "the loader has an order of its own")
    return None


def _first_windows(source: Script) -> Finding | None:
    """Windows of a token file start at fixed positions: `arange(batch) * length`."""
    for function in source.of(ast.FunctionDef):
        if not re.search(r"batch", function.name):
            continue
        text = unparse(function)
        starts = [
            n
            for n in of(function, ast.Assign)
            if isinstance(n.targets[0], ast.Name) and "arange" in unparse(n.value)
        ]
        advancing = {a.arg for a in function.args.args} - {"split", "self", "data", "mode", "name"}
        for node in starts:
            name = unparse(node.targets[0])
            used = re.search(rf"for \w+ in {name}\b|\[{name}", text)
            moves = any(n.id in advancing for n in of(node.value, ast.Name))
            drawn = re.search(r"rand|perm|shuffle|step|offset|pos|nonlocal|global|self\.", text)
            if used and not moves and not drawn:
                return at(source, node, "the same windows are taken in each step")
    return None
