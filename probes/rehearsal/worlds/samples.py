"""Data sets, their parts and loaders in a rehearsal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import marks
from ..libraries import Call, function, method
from ..units import unknown
from ..values import Data, Instance, Loader, Tensor, Thing, Unknown, mixed
from .modules import Path
from .parts import several

if TYPE_CHECKING:
    from ..machine import Machine

Named = dict[str, Any]
_DATA = ("torch.utils.data.", "paddle.io.", "torch_geometric.loader", "torch_geometric.data", "monai.data.")


@function("TensorDataset", of=_DATA)
def _tensors(call: Call) -> Any:
    first = next((g for g in call.given if isinstance(g, Tensor) and g.rows is not None), None)
    if first is not None and first.rows is not None:
        return Data(np.arange(len(first.rows)), 0, call.node, tuple(call.given), "TensorDataset")
    return Data(np.arange(call.machine.made_rows), 0, call.node, tuple(call.given), "TensorDataset")


@function("Subset", of=_DATA)
def _subset(call: Call) -> Any:
    of, places = call.given[0], call.given[1] if len(call.given) > 1 else call.named.get("indices")
    return Data(_places(places), 0, call.node, of, "Subset")


def _places(value: Any) -> np.ndarray:
    """Places as numbers; empty where they are not known."""
    if isinstance(value, (tuple, set)):
        value = list(value)
    if isinstance(value, Tensor):
        value = value.number
    if isinstance(value, range):
        value = list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        return value
    if isinstance(value, list) and value and all(isinstance(v, (int, np.integer)) for v in value):
        return np.asarray(value)
    return np.zeros(0, dtype=int)


@function("random_split", of=_DATA)
def _split(call: Call) -> Any:
    of, sizes = call.given[0], call.given[1] if len(call.given) > 1 else call.named.get("lengths")
    count = length(call.machine, of, call.node)
    parts = call.machine.items_known(sizes) or []
    plain = [p if isinstance(p, (int, float)) else None for p in parts]
    if not plain:
        return NotImplemented
    if any(p is None for p in plain):
        known = sum(p for p in plain if p)
        rest = max(count - int(known if known > 1 else known * count), 0) // max(plain.count(None), 1)
        plain = [rest if p is None else p for p in plain]
    shares = [float(p or 0) for p in plain]
    if sum(shares) > 1.5:
        shares = [s / sum(shares) for s in shares]
    order = call.machine.draw().permutation(count)
    cuts = np.cumsum([round(s * count) for s in shares])[:-1]
    return [Data(p, 0, call.node, of, "random_split") for p in np.split(order, cuts)]


def length(machine: Machine, held: Any, node: ast.AST) -> int:
    """How many samples there are; a made number where that is not known."""
    if isinstance(held, Data):
        return len(held.rows)
    if isinstance(held, Tensor) and held.rows is not None:
        return len(held.rows)
    if isinstance(held, (list, tuple)):
        return len(held)
    if isinstance(held, Instance) and held.kind is not None and (found := held.kind.find("__len__")):
        told = machine.call(machine._bound_routine(found[1], held, found[0]), [], {}, node)
        if isinstance(told, int) and 0 < told <= 100_000:
            return told
        for one in held.attributes.values():  # as many as there are of what it holds
            if isinstance(one, (Tensor, list)) and (count := _count(one)) > 1:
                return count
    return machine.made_rows


def _count(held: Tensor | list[Any]) -> int:
    if isinstance(held, list):
        return len(held)
    return len(held.rows) if held.rows is not None and not held.scalar else 0


@function("ConcatDataset", "ChainDataset", of=_DATA)
def _concat(call: Call) -> Any:
    parts = call.machine.items_known(call.given[0]) or []
    total = sum(length(call.machine, p, call.node) for p in parts)
    return Data(np.arange(total), 0, call.node, list(parts), "ConcatDataset")


@function("*", of=("torchvision.datasets.", "torchaudio.datasets.", "torchtext.datasets.", "medmnist."))
def _known_set(call: Call) -> Any:
    if not call.callee.last[:1].isupper():
        return NotImplemented
    side = call.named.get("train", call.named.get("split", call.given[1] if len(call.given) > 1 else True))
    root = call.given[0] if call.given else call.named.get("root", "")
    folder = getattr(root, "name", getattr(root, "key", root)) if call.callee.last == "ImageFolder" else ""
    if call.callee.last == "ImageFolder" and not folder:
        folder = f"folder {len(call.machine.tables)}"
    table = call.machine.table(
        f"{call.callee.last}:{folder}:{side if isinstance(side, (bool, str)) else '?'}"
    )
    made = Data(np.arange(call.machine.tables[table][1]), table, call.node, None, call.callee.last)
    place = 1 if call.callee.last == "ImageFolder" else 2
    given = call.given[place] if len(call.given) > place else None
    made.transform = call.named.get("transform", given)  # type: ignore[attr-defined]
    return made


def data_field(machine: Machine, owner: Data, name: str) -> Any:
    """A field of a data set."""
    if name in owner.__dict__ and name not in ("rows", "table", "node", "of", "name"):
        return owner.__dict__[name]
    if name in ("data", "targets", "labels", "imgs", "samples", "tensors"):
        if name == "tensors" and isinstance(owner.of, tuple):
            return owner.of
        if owner.table:
            return Tensor(owner.rows, owner.table, held=frozenset((name,)))
        return Unknown(name)
    if name == "dataset":
        return owner.of
    if name == "indices":
        return Tensor(number=owner.rows)
    if name in ("classes", "class_to_idx"):
        return Unknown(name) if machine.numbers is None else [str(k) for k in range(machine.numbers.kinds)]
    return None


@method(Data, "__len__", "__getitem__")
def _of_data(call: Call) -> Any:
    if call.callee.name == "__len__":
        return len(call.callee.owner.rows)
    return sample(call.machine, call.callee.owner, call.given[0], call.node)


# ------------------------------------------------------------------------------------ samples


def sample(machine: Machine, data: Any, index: Any, node: ast.AST) -> Any:
    """A sample at a place, or samples at several places at once (a tensor of places)."""
    if isinstance(data, Data):
        places = index.number if isinstance(index, Tensor) else index
        if isinstance(data.of, tuple):
            return tuple(_at(machine, t, index, node) for t in data.of)
        if data.of is None:
            return _of_known(machine, data, places)
        if type(data.of).__name__ == "Structure":
            from .flows import structured

            return structured(machine, data.of, index, node)
        if isinstance(data.of, list):
            return _of_parts(machine, data.of, places, index, node)
        try:
            inner = (
                data.rows[np.asarray(places)]
                if places is not None and not isinstance(places, Unknown)
                else None
            )
        except (IndexError, TypeError, ValueError):
            inner = None
        if inner is None:
            return sample(machine, data.of, index, node)
        rows = np.atleast_1d(inner)
        return sample(machine, data.of, Tensor(rows, -1, number=rows), node)
    if isinstance(data, Instance) and data.kind is not None:
        found = data.kind.find("__getitem__")
        if found is not None:
            machine.sampling += 1
            try:
                return machine.call(machine._bound_routine(found[1], data, found[0]), [index], {}, node)
            finally:
                machine.sampling -= 1
    return _at(machine, data, index, node)


def _of_parts(machine: Machine, parts: list[Any], places: Any, index: Any, node: ast.AST) -> Any:
    """Samples of data sets that are joined: each place belongs to one of them."""
    if not parts or not isinstance(places, (int, np.ndarray)):
        return sample(machine, parts[0], index, node) if parts else Unknown("sample")
    ends = np.cumsum([length(machine, p, node) for p in parts])
    found = []
    for one, end, start in zip(parts, ends, [0, *ends[:-1]], strict=True):
        mine = np.atleast_1d(places)
        mine = mine[(mine >= start) & (mine < end)] - start
        if len(mine):
            found.append(sample(machine, one, Tensor(mine, -1, number=mine), node))
    return found[0] if len(found) == 1 else several(machine, found) if found else Unknown("sample")


def _at(machine: Machine, held: Any, index: Any, node: ast.AST) -> Any:
    if isinstance(held, (Tensor, list, tuple, Data)):
        return machine.item(held, index, node)
    if isinstance(index, Tensor) and isinstance(index.number, np.ndarray):
        machine.by_name[f"object {id(held)}"] = held
        table = machine.table(f"object {id(held)}")
        mark = mixed("sample", marks.plain(machine, held))
        name = f"{getattr(held, 'key', 'data')}[]"
        # what was done to something of which nothing is known any more is not known either
        lost = (unknown("lost"),) if isinstance(held, Unknown) else ()
        return Tensor(index.number, table, held=frozenset((name,)), mark=mark, units=lost)
    return Unknown("sample", mixed("sample", marks.plain(machine, held)))


def _of_known(machine: Machine, data: Data, places: Any) -> Any:
    try:
        rows = np.atleast_1d(data.rows[np.asarray(places)])
    except (IndexError, TypeError, ValueError):
        rows = None
    name = machine.tables.get(data.table, ("",))[0]
    picture: Any = Tensor(rows, data.table, held=frozenset(("input",)), mark=mixed("input of", name))
    label: Any = Tensor(rows, data.table, held=frozenset(("label",)), mark=mixed("label of", name))
    transform = getattr(data, "transform", None)
    if transform is not None:
        made = machine.call(transform, [picture], {}, data.node)
        if isinstance(made, Tensor):
            picture = made
    return (picture, label)


# ------------------------------------------------------------------------------------ loaders


@dataclass(eq=False)
class Sampler(Thing):
    """What draws places of a data set: of all (`whole`), or of `places` alone, in their order or not."""

    places: Any = None
    whole: bool = False
    shuffles: bool | None = None


@function("RandomSampler", "SequentialSampler", "WeightedRandomSampler", "DistributedSampler", of=_DATA)
def _whole_sampler(call: Call) -> Any:
    shuffles = {"RandomSampler": True, "SequentialSampler": False}.get(call.callee.name.split(".")[-1])
    return Sampler(whole=True, shuffles=shuffles)


@function("SubsetRandomSampler", of=_DATA)
def _sampler_of_places(call: Call) -> Any:
    return Sampler(places=call.given[0] if call.given else call.named.get("indices"))


@function("BatchSampler", of=_DATA)
def _sampler_of_batches(call: Call) -> Any:
    of = call.given[0] if call.given else call.named.get("sampler")
    return (
        Sampler(places=of.places, whole=of.whole, shuffles=of.shuffles)
        if isinstance(of, Sampler)
        else Sampler()
    )


@method(Sampler, "*")
def _of_sampler(call: Call) -> Any:
    return Unknown(call.callee.name)


@function("DataLoader", "MultiEpochsDataLoader", of=_DATA)
def _loader(call: Call) -> Any:
    data = call.given[0] if call.given else call.named.get("dataset")
    names = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn")
    settings = {**dict(zip(names, call.given, strict=False)), **call.named}
    asked = settings.get("shuffle", False)
    shuffles: bool | None = asked if isinstance(asked, bool) else None
    sampler = settings.get("sampler")
    sampler = settings.get("batch_sampler") if sampler is None else sampler
    vague = False
    while isinstance(data, Data) and data.name == "Subset" and not len(data.rows) and data.of is not None:
        data, vague = data.of, True  # no program makes a part without samples: its places are not known
    if sampler is not None:
        shuffles = sampler.shuffles if isinstance(sampler, Sampler) else None
        places = _places(sampler.places) if isinstance(sampler, Sampler) else np.zeros(0, dtype=int)
        vague = not (isinstance(sampler, Sampler) and sampler.whole) and not len(places)
        data = Data(places, 0, call.node, data, "Subset") if len(places) else data
    made = Loader(data, call.node, settings, shuffles, vague=vague)
    call.machine.loaders.append(made)
    return made


def batches(machine: Machine, loader: Loader, node: ast.AST) -> Iterator[Any]:
    """The batches of a loader: all samples of its data in a few batches, or one iterator's items."""
    from ..machine import BATCHES
    from .flows import Flow, flow_batches

    if isinstance(loader, Flow):
        yield from flow_batches(machine, loader, node)
        return
    data = loader.data
    if isinstance(data, Instance) and data.kind is not None and not data.kind.find("__getitem__"):
        if data.kind.find("__iter__"):
            held = list(machine.iterated(data, node))[:BATCHES]
            yield from held or _not_understood(machine, data)
            return
    count = length(machine, data, node)
    machine.by_name[f"data {id(data)}"] = data  # its number is its own as long as it is kept
    order = np.arange(count)
    if loader.shuffles is not False:
        order = machine.draw().permutation(count)
    collate = loader.named.get("collate_fn")
    for places in np.array_split(order, BATCHES):
        if not len(places):
            continue
        index = Tensor(places, -1, number=places)
        held = sample(machine, data, index, node)
        if collate is not None:
            held = machine.call(collate, [[held]], {}, node)
        held = fixed(machine, held, data, places)
        if loader.vague:
            for one in machine.tensors([held]):
                one.vague = True
        yield held


def _not_understood(machine: Machine, data: Instance) -> Iterator[Any]:
    """Batches of a stream of which nothing came: as many parts as stand behind its `yield`."""
    from ..machine import BATCHES

    found = data.kind.find("__iter__")
    gives = next((n for n in ast.walk(found[1].node) if isinstance(n, ast.Yield)), None) if found else None
    parts = gives.value.elts if gives is not None and isinstance(gives.value, ast.Tuple) else []
    table = machine.table(f"data {id(data)}")
    for places in np.array_split(np.arange(machine.made_rows), BATCHES):
        made = [Tensor(places, table, held=frozenset((f"<{i}>",))) for i in range(max(len(parts), 1))]
        yield made if parts else made[0]


def fixed(machine: Machine, held: Any, data: Any, places: np.ndarray) -> Any:
    """A batch whose tensors know their rows: those of the data set, where nothing nearer is known."""
    table = 0
    for one in machine.tensors([held]):
        if one.rows is None or one.table == -1:
            table = table or machine.table(f"data {id(data)}")
            one.rows, one.table = places, table
        one.scalar = False
        if one.number is not None and one.table == table:
            one.number = None
    parts = (
        held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, (tuple, list)) else ()
    )
    if machine.numbers is not None:  # answers and truth of a sample go together wherever they come from
        for one in machine.tensors([held]):
            one.rows, one.table = places, machine.table(f"data {id(data)}")
    for name, one in parts:
        if isinstance(one, Tensor):
            one.held = one.held | {f"<{name}>"}
            if (
                machine.numbers is not None
                and machine.numbers.truth_mark == f"<{name}>"
                and one.rows is not None
            ):
                one.number = machine.numbers.truth(one.rows)
    if isinstance(held, tuple):
        return list(held)
    if isinstance(held, Unknown):
        table = machine.table(f"data {id(data)}")
        mark = mixed("sample", marks.plain(machine, held))
        return Tensor(places, table, held=frozenset(("sample",)), mark=mark)
    return held


@method(Loader, "*")
def _of_loader(call: Call) -> Any:
    if call.callee.name == "__iter__":
        return call.callee.owner
    return Unknown(call.callee.name)


# ------------------------------------------------------------------------------------ what is read


def read_array(call: Call) -> Any:
    """An array of a file: a table of its own for each file."""
    held = call.given[0] if call.given else ""
    if isinstance(held, Tensor):
        return held.then("load")
    name = (
        held.name
        if isinstance(held, Path)
        else held
        if isinstance(held, str)
        else getattr(held, "key", "") or "?"
    )
    table = call.machine.table(f"file {name}")
    return Tensor(np.arange(call.machine.tables[table][1]), table, held=frozenset((f"file {name}",)))


@function("genfromtxt", "loadtxt", "fromfile", "memmap", of=("numpy.",))
def _read(call: Call) -> Any:
    return read_array(call)
