"""Chained data sets in a rehearsal: `tf.data` and `mindspore.dataset`, step after step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...script_diff.vocabulary import word_set
from ..libraries import Call, function, method
from ..values import Data, Loader, Tensor, Unknown
from .parts import cut_at
from .samples import fixed, length, sample

if TYPE_CHECKING:
    from ..machine import Machine

TF = ("tensorflow.data.",)
MS = ("mindspore.dataset.",)
_FOLDERS = ("tensorflow.keras.", "keras.", "tensorflow_datasets.")


@dataclass(eq=False)
class Flow(Loader):
    """A chained data set. `steps`: what is done, in order; `columns`: names of the parts of a sample.

    `gives` is "tuple" or "dict": what a sample of named columns comes as.
    """

    steps: tuple[tuple[Any, ...], ...] = ()
    columns: tuple[str, ...] = ()
    gives: str = "tuple"

    def then(self, *step: Any, **changed: Any) -> Flow:
        """The same with one more step."""
        made = replace(self, steps=(*self.steps, step), rounds=0, **changed)
        made.shuffles = made.shuffles or step[0] == "shuffle"
        return made


def flow(machine: Machine, data: Any, node: ast.AST, **fields: Any) -> Flow:
    """A new chain over a data set."""
    made = Flow(data, node, **fields)
    machine.loaders.append(made)
    return made


def flow_batches(machine: Machine, held: Flow, node: ast.AST) -> Iterator[Any]:
    """The batches of a chain: its samples in the order in which its steps leave them."""
    from ..machine import BATCHES

    order = np.arange(length(machine, held.data, node))
    for step in held.steps:
        order = _ordered(machine, order, step)
    for places in np.array_split(order, BATCHES):
        if len(places):
            given = sample(machine, held.data, Tensor(places, -1, number=places), node)
            yield fixed(machine, _mapped(machine, held, given, node), held.data, places)


def _ordered(machine: Machine, order: np.ndarray, step: tuple[Any, ...]) -> np.ndarray:
    """The places that a step leaves, in its order."""
    name = step[0]
    if name == "shuffle":
        again, seed = step[1], step[2]
        drawn = machine.draw() if again else np.random.default_rng(seed)
        return order[drawn.permutation(len(order))]
    if name in ("take", "skip"):
        cut = _cut(step[1], len(order))
        return order[:cut] if name == "take" else order[cut:]
    if name == "between":
        return order[int(step[1] * len(order)) : int(step[2] * len(order))]
    return order


def _cut(count: Any, of: int) -> int:
    """Where a number of samples cuts; a larger number cuts later, also where there are not so many."""
    if not isinstance(count, int) or isinstance(count, bool):
        return of // 4
    if count < 0:
        return of
    return cut_at(count, of)


def _mapped(machine: Machine, held: Flow, given: Any, node: ast.AST) -> Any:
    """A batch after the functions that the chain maps over it."""
    named = {}
    if held.columns:
        parts = list(given) if isinstance(given, (tuple, list)) else [given]
        parts += [Unknown("column")] * (len(held.columns) - len(parts))
        named = dict(zip(held.columns, parts, strict=False))
    for step in held.steps:
        if step[0] == "map":
            given = _applied(machine, step[1], given, node)
        elif step[0] == "columns":
            _over_columns(machine, named, step, node)
        elif step[0] == "enumerate":
            given = (Unknown("count"), given)
        elif step[0] == "zip":
            others = [sample(machine, o.data, _places(given), node) for o in step[1]]
            given = (given, *others)
        elif step[0] == "project":
            named = {k: v for k, v in named.items() if k in step[1]}
        elif step[0] == "rename":
            named = {step[1].get(k, k): v for k, v in named.items()}
    if held.columns:
        return dict(named) if held.gives == "dict" else tuple(named.values())
    return given


def _places(given: Any) -> Any:
    held = given
    while isinstance(held, (tuple, list)) and held:
        held = held[0]
    return Tensor(held.rows, -1, number=held.rows) if isinstance(held, Tensor) else held


def _applied(machine: Machine, mapped: Any, given: Any, node: ast.AST) -> Any:
    return machine.call(mapped, list(given) if isinstance(given, tuple) else [given], {}, node)


def _over_columns(machine: Machine, named: dict[str, Any], step: tuple[Any, ...], node: ast.AST) -> None:
    _, mapped, takes, gives = step
    takes = takes or list(named)[:1]
    held = [named.get(t, Unknown(str(t))) for t in takes]
    for one in mapped:
        answer = machine.call(one, held, {}, node)
        held = list(answer) if isinstance(answer, (tuple, list)) else [answer]
    if gives != takes:
        for old in takes:
            named.pop(old, None)
    named.update(zip(gives or takes, held, strict=False))


# ------------------------------------------------------------------------------------ what begins a chain


@function("from_tensor_slices", "from_tensors", of=TF)
def _slices(call: Call) -> Any:
    held = call.given[0] if call.given else call.named.get("tensors")
    parts = held if isinstance(held, tuple) else (held,)
    first = next((t for t in call.machine.tensors(list(parts)) if t.rows is not None), None)
    count = len(first.rows) if first is not None and first.rows is not None else call.machine.made_rows
    if isinstance(held, tuple) and all(isinstance(h, Tensor) for h in held):
        return flow(call.machine, Data(np.arange(count), 0, call.node, held, "slices"), call.node)
    return flow(call.machine, Data(np.arange(count), 0, call.node, Structure(held), "slices"), call.node)


class Structure:
    """Tensors in tuples and mappings that are cut together."""

    def __init__(self, held: Any) -> None:
        self.held = held


def structured(machine: Machine, held: Structure, index: Any, node: ast.AST) -> Any:
    """The parts at places, in the same structure."""
    return _cut_out(machine, held.held, index, node)


def _cut_out(machine: Machine, held: Any, index: Any, node: ast.AST) -> Any:
    if isinstance(held, tuple):
        return tuple(_cut_out(machine, h, index, node) for h in held)
    if isinstance(held, dict):
        return {k: _cut_out(machine, v, index, node) for k, v in held.items()}
    return machine.item(held, index, node) if isinstance(held, (Tensor, list)) else Unknown("part")


@function("load_data", of=_FOLDERS)
def _known_arrays(call: Call) -> Any:
    """A data set of Keras: arrays of inputs and labels to learn from, and others to test."""
    parts = call.callee.name.split(".")
    if "datasets" not in parts:
        return NotImplemented
    found = []
    for side in ("train", "test"):
        table = call.machine.table(f"{parts[-2]}:{side}")
        rows = np.arange(call.machine.tables[table][1])
        found.append(tuple(Tensor(rows, table, held=frozenset((f"{side} {f}",))) for f in ("input", "label")))
    return tuple(found)


@function("from_generator", "list_files", "TFRecordDataset", "TextLineDataset", "CsvDataset", of=TF)
@function("image_dataset_from_directory", "text_dataset_from_directory", of=_FOLDERS)
@function("audio_dataset_from_directory", "load", "timeseries_dataset_from_array", of=_FOLDERS)
@function("make_csv_dataset", "range", of=("tensorflow.data.",))
def _read(call: Call) -> Any:
    if call.callee.last == "load" and call.callee.root != "tensorflow_datasets":
        return NotImplemented
    held = call.given[0] if call.given else next(iter(call.named.values()), Unknown("data"))
    if call.callee.last == "load" and (split := call.named.get("split")) is not None:
        splits = list(split) if isinstance(split, (list, tuple)) else [split]
        flows = [_split_of(call, held, one) for one in splits]
        return tuple(flows) if isinstance(split, (list, tuple)) else flows[0]
    table = call.machine.table(f"flow {_key(held)}")
    made = Data(np.arange(call.machine.tables[table][1]), table, call.node, None, call.callee.last)
    chain = flow(call.machine, made, call.node)
    share, part = call.named.get("validation_split"), call.named.get("subset")
    if "directory" in call.callee.last and call.named.get("shuffle") is not False:
        chain = chain.then("shuffle", True, None)
    if isinstance(share, float) and part in ("training", "validation"):
        ends = (0.0, 1 - share) if part == "training" else (1 - share, 1.0)
        return replace(chain, steps=(("between", *ends), *chain.steps))
    return chain if "directory" in call.callee.last else chain.then("single")


_SPLIT = re.compile(r"(\w+)(?:\[(?:(\d+)(%?))?:(?:(\d+)(%?))?\])?")
_THOUSAND = 1000
_KNOWN_ROWS = 12_000  # of arrays that are cut into batches by hand: more than one batch of any usual size


def _split_of(call: Call, held: Any, split: Any) -> Any:
    """`tfds.load(name, split="train[:80%]")`: a part of a data set, each split rows of its own."""
    told = _SPLIT.fullmatch(split) if isinstance(split, str) else None
    if told is None:
        return Unknown("samples")
    arrays = call.named.get("batch_size") == -1
    name = f"{'arrays' if arrays else 'flow'} {_key(held)}:{told[1]}"
    table = call.machine.table(name, *([_KNOWN_ROWS] if arrays else []))
    made = Data(np.arange(call.machine.tables[table][1]), table, call.node, None, call.callee.last)
    chain = flow(call.machine, made, call.node).then("single")
    low, high = _end(told[2], told[3], 0.0), _end(told[4], told[5], 1.0)
    if arrays:
        rows = np.arange(len(made.rows))[int(low * len(made.rows)) : int(high * len(made.rows))]
        parts = {f: Tensor(rows, table, held=frozenset((f"{told[1]} {f}",))) for f in ("image", "label")}
        return tuple(parts.values()) if call.named.get("as_supervised") is True else parts
    return (
        replace(chain, steps=(("between", low, high), *chain.steps)) if (low, high) != (0.0, 1.0) else chain
    )


def _end(number: str | None, percent: str | None, whole: float) -> float:
    """Where a part begins or ends, of one: `80%`, or a number of samples."""
    if not number:
        return whole
    return int(number) / 100 if percent else cut_at(int(number), _THOUSAND) / _THOUSAND


@function("as_numpy", of=("tensorflow_datasets.",))
def _as_numpy(call: Call) -> Any:
    return call.given[0] if call.given else NotImplemented


def _key(held: Any) -> str:
    if isinstance(held, str):
        return held
    known = isinstance(held, Unknown) or type(held).__name__ == "Path"
    return str(getattr(held, "key", getattr(held, "name", "?"))) if known else "?"  # a generator's own data


_MADE_OF = "GeneratorDataset NumpySlicesDataset MindDataset TFRecordDataset CSVDataset TextFileDataset"


@function(*_MADE_OF.split(), of=MS)
@function("ImageFolderDataset", "MnistDataset", "Cifar10Dataset", "Cifar100Dataset", of=MS)
def _generated(call: Call) -> Any:
    names = ("source", "column_names", "num_samples", "num_parallel_workers", "shuffle")
    given = {**dict(zip(names, call.given, strict=False)), **call.named}
    source = given.get("source", given.get("data", given.get("dataset_dir", given.get("dataset_files"))))
    asked = given.get("column_names")
    held = [asked] if isinstance(asked, str) else call.machine.items_known(asked) or []
    columns = tuple(c for c in held if isinstance(c, str))
    if call.callee.last == "NumpySlicesDataset" and isinstance(source, dict):
        columns, source = tuple(source), tuple(source.values())
    if isinstance(source, (tuple, list)) and any(isinstance(s, Tensor) for s in source):
        count = next((len(s.rows) for s in source if isinstance(s, Tensor) and s.rows is not None), 0)
        source = Data(np.arange(count or call.machine.made_rows), 0, call.node, tuple(source), "slices")
    elif isinstance(source, (str, Unknown)) or type(source).__name__ == "Path":
        usage, sampler = given.get("usage", ""), given.get("sampler")
        # rows that a sampler of a subset gives are rows of their own: which ones is not looked at
        part = f":{_number(call.machine, sampler)}" if sampler is not None and not _all_rows(sampler) else ""
        table = call.machine.table(f"flow {_key(source)}:{usage if isinstance(usage, str) else '?'}{part}")
        source = Data(np.arange(call.machine.tables[table][1]), table, call.node, None, call.callee.last)
        columns = columns or ("image", "label")
    chain = flow(call.machine, source, call.node, columns=columns)
    mixes = given.get("shuffle")
    if mixes is None or mixes is True:
        return chain.then("shuffle", True, None)
    return chain if mixes is False else chain.then("maybe shuffle")


def _number(machine: Machine, sampler: Any) -> int:
    """Each sampler has a number of its own."""
    if not any(s is sampler for s in machine.samplers):
        machine.samplers.append(sampler)
    return next(i for i, s in enumerate(machine.samplers) if s is sampler)


def _all_rows(sampler: Any) -> bool:
    return (
        re.search(
            r"(?:^|\.)(?:Random|Sequential|Distributed|PK)Sampler",
            str(getattr(sampler, "key", getattr(sampler, "name", ""))),
        )
        is not None
    )


# ------------------------------------------------------------------------------------ steps

_SAME = word_set(
    "prefetch cache repeat batch padded_batch with_options apply unbatch ragged_batch shard snapshot "
    "rebatch device_que create_tuple_iterator as_numpy_iterator ignore_errors bucket_by_sequence_length "
    "filter interleave flat_map group_by_window rejection_resample get_iterator set_dynamic_columns"
)


@method(Flow, "*")
def _step(call: Call) -> Any:
    owner, name = call.callee.owner, call.callee.name
    if name in _SAME:
        return owner.then(name)
    if name == "map":
        return _map(call, owner)
    if name == "shuffle":
        again, seed = call.named.get("reshuffle_each_iteration"), call.named.get("seed")
        return owner.then("shuffle", again is not False, seed if isinstance(seed, int) else 7)
    if name in ("take", "skip"):
        count = call.given[0] if call.given else call.named.get("count", Unknown("count"))
        return owner.then(name, count)
    if name == "split":
        return _split(call, owner)
    if name == "create_dict_iterator":
        return owner.then(name, gives="dict")
    if name == "enumerate":
        return owner.then(name)
    if name in ("project", "rename"):
        return _renamed(call, owner)
    if name == "__iter__":
        return owner
    return Unknown(name)


def _map(call: Call, owner: Flow) -> Flow:
    given = {
        **dict(zip(("operations", "input_columns", "output_columns"), call.given, strict=False)),
        **call.named,
    }
    mapped = given.get("operations", given.get("map_func"))
    if not owner.columns:
        return owner.then("map", mapped)
    takes = given.get("input_columns")
    takes = [takes] if isinstance(takes, str) else list(call.machine.items_known(takes) or [])
    gives = given.get("output_columns")
    gives = [gives] if isinstance(gives, str) else list(call.machine.items_known(gives) or takes)
    return owner.then("columns", mapped if isinstance(mapped, list) else [mapped], takes, gives)


def _split(call: Call, owner: Flow) -> Any:
    held = call.machine.items_known(call.given[0] if call.given else call.named.get("sizes"))
    shares = [s for s in held or () if isinstance(s, (int, float))]
    if not held or len(shares) != len(held):
        return Unknown("split")
    whole = float(sum(shares)) or 1.0
    ends = np.concatenate([[0.0], np.cumsum(shares) / whole])
    if call.named.get("randomize", call.given[1] if len(call.given) > 1 else True) is not False:
        owner = owner.then("shuffle", False, 7)
    return [owner.then("between", float(a), float(b)) for a, b in pairwise(ends)]


def _renamed(call: Call, owner: Flow) -> Flow:
    held = call.machine.items_known(call.given[0]) if call.given and call.given[0] is not None else []
    if call.callee.name == "project":
        return owner.then("project", held or list(owner.columns))
    new = call.machine.items_known(call.given[1]) if len(call.given) > 1 else []
    return owner.then("rename", dict(zip(held or (), new or (), strict=False)))


@function("zip", of=TF)
def _zipped(call: Call) -> Any:
    held = call.given[0] if len(call.given) == 1 else tuple(call.given)
    if isinstance(held, tuple) and held and all(isinstance(h, Flow) for h in held):
        return held[0].then("zip", held[1:])
    return Unknown("zip")


@method(Flow, "get_dataset_size", "cardinality", "num_batches", "__len__", "get_batch_size")
def _size(call: Call) -> Any:
    from ..machine import BATCHES

    return BATCHES if call.callee.name != "get_batch_size" else Unknown("size")


__all__ = ["Flow", "Structure", "flow", "flow_batches", "structured"]
