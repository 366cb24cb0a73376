"""What one sample of a data set or a loader is, as a term."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .values import Term

if TYPE_CHECKING:
    from .evaluate import Evaluator

_SAME = frozenset(
    (
        *(
            "shuffle",
            "batch",
            "prefetch",
            "repeat",
            "cache",
            "take",
            "skip",
            "with_options",
            "padded_batch",
            "shard",
        ),
        *(
            "Subset",
            "ConcatDataset",
            "enumerate",
            "select",
            "with_format",
            "set_format",
            "iter",
            "apply",
            "rebatch",
        ),
        *(
            "create_dict_iterator",
            "create_tuple_iterator",
            "prepare",
            "astype",
            "ragged_batch",
            "list",
            "unbatch",
        ),
        *(
            "remove_columns",
            "rename_column",
            "tqdm",
            "deepcopy",
            "train_test_split",
            "ignore_errors",
            "project",
        ),
    )
)
_ROWS = frozenset(
    ("from_tensor_slices", "TensorDataset", "ArrayDataset", "NumpySlicesDataset", "from_tensors")
)
_STEPS = frozenset(("Compose", "Sequential", "ComposeMany"))


def sample(run: Evaluator, held: Term, depth: int = 10) -> Term:
    """One sample of what a data set, a loader or an array holds. Raises OutOfSteps."""
    run.tick()
    node = held.node
    if depth == 0:
        return run.make("each", node, (held,))
    if held.head == "obj":
        for name in ("__getitem__", "__iter__"):
            if (method := run.method(held.value, name)) is not None:
                out = run.call(method, (run.leaf("<n>", node),) if name == "__getitem__" else (), {}, node)
                return out if name == "__getitem__" else run.each(out, node)
        return run.make("each", node, (held,))
    if held.head == "func":
        return sample(run, run.call(held, (), {}, node), depth - 1)
    if held.head == "phi":
        first, second = (sample(run, a, depth - 1) for a in held.args)
        return run.phi(held.value, first, second, node)
    if held.head == "tuple":
        return run.make("tuple", node, tuple(sample(run, a, depth - 1) for a in held.args))
    if held.head == "dict":
        return run.make("dict", node, value={k: sample(run, v, depth - 1) for k, v in held.value.items()})
    if held.head == "list_of" and not held.kw:
        return held.args[0]
    if held.head.startswith("call:"):
        return _of_call(run, held, depth)
    if held.head == "item" and held.args[0].head == "call:random_split" and held.args[0].args:
        return sample(run, held.args[0].args[0], depth - 1)  # a part of a data set is made as all of it
    if (whole := _parted(held) or _one_of_list(held)) is not None:
        return sample(run, whole, depth - 1)
    return run.make("each", node, (held,))


def _one_of_list(held: Term) -> Term | None:
    """`sets[0]`, `[... for s in sets[1:]]` of `sets = [Rows(p) for p in parts]`: all are made alike."""
    whole = held.args[0] if held.head in ("each", "item") and held.args else None
    while whole is not None and whole.head == "slice":
        whole = whole.args[0]
    if (
        whole is None
        or whole.head != "list_of"
        or whole.kw
        or whole.args[0].head not in ("obj", "call:DataLoader")
    ):
        return None
    return whole.args[0]


def _parted(held: Term) -> Term | None:
    """`train_test_split(x, y)`: what each of its parts is taken of."""
    if held.head != "item" or held.args[0].head != "call:train_test_split":
        return None
    place, arrays = held.args[1].value, held.args[0].args
    return arrays[place // 2] if isinstance(place, int) and 0 <= place < 2 * len(arrays) else None


def _of_call(run: Evaluator, held: Term, depth: int) -> Term:
    name, node, args, kw = held.name, held.node, held.args, held.kw
    data = kw.get("dataset") or kw.get("source") or (args[0] if args else None)
    if (
        name.lower().endswith(("dataloader", "loader", "generatordataset", "dataloader2"))
        and data is not None
    ):
        one = sample(run, data, depth - 1)
        joins = kw.get("collate_fn")
        if joins is not None and joins.head in ("func", "obj"):
            return run.call(joins, (run.make("list_of", node, (one,)),), {}, node)
        if joins is not None and joins.head != "const":
            return run.make("call:" + _named(joins), node, (one,))
        return one
    if name in _SAME and data is not None:
        return sample(run, data, depth - 1)
    if name in _ROWS and args:
        items = tuple(sample(run, a, depth - 1) for a in args)
        return items[0] if len(items) == 1 else run.make("tuple", node, items)
    if name == "zip" and args:
        return run.make("tuple", node, tuple(sample(run, a, depth - 1) for a in args))
    if name == "map" and len(args) + len(kw) >= 2 and args:
        return _mapped(run, held, depth)
    if name in _STEPS:
        return apply(run, held, (run.leaf("<samples>", node),), node)
    if "transform" not in kw and (given := _handed_transform(held)) is not None:
        kw = {**kw, "transform": given}  # `ImageFolder(root, pipeline)`
    if "transform" in kw or "target_transform" in kw:
        raw = run.leaf("<samples>", node)
        both = []
        for i, key in enumerate(("transform", "target_transform")):
            part = run.make("item", node, (raw, run.const(i, node)))
            both.append(apply(run, kw[key], (part,), node) if key in kw else part)
        return run.make("tuple", node, tuple(both))
    return run.make("each", node, (held,))


def _handed_transform(held: Term) -> Term | None:
    """The pipeline that a data set of a library is given by its place."""
    found = [a for a in held.args if a.head == "call:Compose" or (a.head == "obj" and _is_step(a))]
    return found[0] if len(found) == 1 and held.name[:1].isupper() else None


def _is_step(held: Term) -> bool:
    """An object of the program that is called with a sample: `Twice(transform)`."""
    return any(getattr(n, "name", "") == "__call__" for n in held.value.owner.body)


def _mapped(run: Evaluator, held: Term, depth: int) -> Term:
    """`ds.map(f)`, and `ds.map(operations=[...], input_columns="image")`."""
    kw, node = held.kw, held.node
    if held.args[0].head in ("func", "class") and len(held.args) > 1:  # map(f, rows)
        return apply(run, held.args[0], (sample(run, held.args[1], depth - 1),), node)
    f = kw.get("operations") or kw.get("function") or (held.args[1] if len(held.args) > 1 else None)
    one = sample(run, held.args[0], depth - 1)
    if f is None:
        return one
    columns = kw.get("input_columns")
    if columns is not None or (f.head not in ("func", "obj", "phi") and f.head != "leaf"):
        told = (
            [columns]
            if columns is not None and columns.head == "const"
            else list(columns.args if columns else ())
        )
        if any(isinstance(c.value, str) and c.value in ("label", "labels", "target") for c in told):
            return run.make("setitem", node, (one, run.const("label", node), apply(run, f, (one,), node)))
        if len(told) < 2:
            return apply(run, f, (one,), node)
    given = one.args if one.head == "tuple" else (one,)
    if f.head == "func" and len(f.value.node.args.args) - (f.value.bound is not None) < len(given):
        given = (one,)
    return apply(run, f, given, node)


def apply(run: Evaluator, f: Term, given: tuple[Term, ...], node: ast.AST) -> Term:
    """What a function, a transform or a pipeline of them makes of values. Raises OutOfSteps."""
    if not given or (f.head == "const" and f.value is None):
        return given[0] if given else f
    if f.head in ("func", "obj"):
        return run.call(f, given, {}, node)
    if f.head == "phi":
        first, second = (apply(run, a, given, node) for a in f.args)
        return run.phi(f.value, first, second, node)
    steps = f.args if f.head == "tuple" else ()
    if f.head == "call:Compose" or (f.head.startswith("call:") and f.name in _STEPS):
        inner = f.args[0] if f.args else f.kw.get("transforms")
        steps = inner.args if inner is not None and inner.head == "tuple" else f.args
        if inner is not None and inner.head != "tuple" and len(f.args) == 1:
            return run.make("call:" + _named(inner), node, given)
    if steps:
        out = given[0]
        for step in steps:
            out = apply(run, step, (out,), step.node)
        return out
    if f.head == "call:Lambda" and f.args:
        return apply(run, f.args[0], given, f.node)
    if f.head.startswith("call:"):
        return run.make("call:" + f.name, f.node, (*given, *f.args), {**f.kw})
    if f.head == "class":
        return run.make("call:" + str(f.value), f.node, given)
    return run.make("call:" + _named(f), node, given)


def _named(f: Term) -> str:
    """A name for a function that is not known."""
    if f.head == "leaf":
        return str(f.value).rpartition(".")[2]
    return f.name or f.head
