"""Checkpoints of a run: which files are some, what each holds, at which step, of which rank.

torch.save (zip form), safetensors, MindSpore .ckpt, .npz, torch.distributed.checkpoint; one that was split is
put together (`shards`). Nothing is unpickled; only headers are read until a `Weight` is asked for its values.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np

from ..assembly import kinds, layout
from ..files import RunFile
from .dcp import METADATA, read_folder
from .mindspore_ckpt import is_mindspore_ckpt, read_ckpt, whole_shape
from .npy import Unreadable, read_npz
from .numbers import Array, ElementType
from .pickle_walk import Opaque
from .safetensors import is_safetensors, read_safetensors
from .shards import FLAT, SHARD, Part, described, folder_of, indexed, part_of
from .stored import Stored
from .torch_file import is_torch, is_torch_zip, read_torch

WINDOW = 1 << 18  # elements that are looked at together: a MiB of float32
WHOLE = 1 << 24  # a weight whose elements do not stand in order is loaded as a whole up to this size
MAX_DEPTH = 12
MAX_CHECKPOINTS = 64  # headers with optimizer state are long: of more, the first and the last are read
Unit = Literal["step", "epoch", ""]

# What stands in a checkpoint beside the weights.
_NOT_WEIGHTS = re.compile(
    r"optim|^opt(?:_|$)|sched|scaler|rng|random|^ema|_ema$|ema_|amp|callback|loops|hparam|hyper_param|^args$|"
    r"config|metric|history|loss|criterion|^best_(?:acc|score)",
    re.I,
)
_OPTIMIZER = re.compile(r"optim|^opt(?:_|$)", re.I)
_WRAPPERS = ("module.", "_orig_mod.", "model.", "state_dict.", "net.", "network.", "model_state_dict.")
_BUFFER = re.compile(
    r"(?:^|[._])(?:running_(?:mean|var)|num_batches_tracked|moving_(?:mean|variance|var)|position_ids|inv_freq|"
    r"attn_mask|causal_mask|mask|masked_bias|rotary_emb.*|relative_position_index|anchors?|anchor_grid|stride|"
    r"global_step|epoch_num|step_num|loss_scale|scale_sense|current_iterator_step|last_overflow_iterator_step|"
    r"learning_rate|momentum|beta[12]_power|weight_decay|cur_step|num_updates)$",
    re.I,
)
_MINDSPORE_STATE = re.compile(
    r"^(?:moments?\d?|accum(?:ulation)?|adam_[mv]|moment[12]|exp_avg(?:_sq)?|stat|mean_square|mg|v_hat|square_sum)\.",
    re.I,
)
# Beside the weights in a folder of its own: the state of the optimizer, of schedules, of random generators.
_STATE_FILE = re.compile(
    r"^(?:optimizer|optim|.*optim_states|distrib_optim)\b.*\.(?:pt|pth|bin|safetensors)$", re.I
)
_OTHER_FILE = re.compile(
    r"^(?:training_args|scheduler|scaler|rng_state|random_states|trainer_state|sampler|dataloader)\b.*$", re.I
)
_FLAT_GROUPS = ("fp32_flat_groups", "single_partition_of_fp32_groups")
_SHARDED = re.compile(r"(?:^|[/_.-])(?:mp_rank|tp_rank|pp_rank|zero_pp_rank|fsdp|tp|pp|ep)_?\d+", re.I)
_AT: tuple[tuple[Unit, re.Pattern[str]], ...] = (
    (
        "step",
        re.compile(
            r"(?:global_?step|steps?|iter(?:ation)?s?|checkpoint|updates?)[=_-]?0*(\d{1,12})(?!\d)", re.I
        ),
    ),
    ("epoch", re.compile(r"(?:epochs?|ep)[=_-]?0*(\d{1,9})(?!\d)", re.I)),
)
_MINDSPORE_NAME = re.compile(r"-(\d{1,9})_(\d{1,12})\.(?:ckpt|safetensors)$")
_LAST_NUMBER = re.compile(r"[_.-]0*(\d{1,12})\.(?:pt|pth|ckpt|safetensors|npz|bin|pth\.tar|tar)$")
_INITIAL = re.compile(r"(?:^|[_.-])(?:init|initial|start|before|step0|untrained)(?:[_.-]|$)", re.I)
_INSIDE: tuple[tuple[Unit, tuple[str, ...]], ...] = (
    ("step", ("global_step", "step", "iteration", "iter", "steps", "num_updates", "global_steps", "n_iter")),
    ("epoch", ("epoch", "epochs", "last_epoch", "epoch_num")),
)


@dataclass(frozen=True, slots=True, eq=False)
class Weight:
    """One parameter or buffer of a checkpoint; `parts` follow each other."""

    name: str
    type: ElementType
    shape: tuple[int, ...]
    parts: tuple[Stored, ...]
    layout: tuple[tuple[int, ...], ...] = ()  # how it was cut, where parts in a row are not its C order

    @property
    def count(self) -> int:
        """Number of elements."""
        return sum(p.count for p in self.parts)

    @property
    def bytes(self) -> int:
        """Size on disk."""
        return self.count * self.type.width

    @property
    def trains(self) -> bool:
        """Whether it looks like something that an optimizer updates: real numbers that are no buffer."""
        return self.type.kind == "float" and self.count > 0 and not _BUFFER.search(self.name)

    @property
    def matrix(self) -> bool:
        """Whether it has two or more dimensions of more than one element: a weight, not a bias or a scale."""
        return sum(n > 1 for n in self.shape) >= 2

    def windows(self, most: int | None = None) -> list[tuple[int, int]]:
        """(start, length) of what to look at: everything, or about `most` elements spread evenly."""
        total = self.count
        if any(not p.in_order or p.member for p in self.parts):
            return [(0, total)] if total <= WHOLE else []
        if most is None or total <= most:
            return [(at, min(WINDOW, total - at)) for at in range(0, total, WINDOW)]
        pieces = max(1, most // 65_536)
        size = most // pieces
        return [(round(i * (total - size) / max(1, pieces - 1)), size) for i in range(pieces)]

    def values(self, start: int, length: int) -> Array:
        """`length` elements from `start` on, as real numbers, flat. Raises OSError or ValueError."""
        found: list[Array] = []
        first = 0
        for piece in self.parts:
            begin, end = max(start, first), min(start + length, first + piece.count)
            if begin < end:
                part = piece.located()
                if not part.in_order or part.member:
                    whole = np.concatenate([b.copy() for b in part.blocks()])
                    found.append(whole[begin - first : end - first])
                else:
                    moved = part.offset + (begin - first) * part.storage.itemsize
                    found.extend(replace(part, offset=moved, shape=(end - begin,)).blocks(end - begin))
            first += piece.count
        return found[0] if len(found) == 1 else np.concatenate(found) if found else np.empty(0, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The weights of one model at one moment. `at` is counted in `unit`; None: the files do not tell."""

    path: str
    format: str
    weights: Mapping[str, Weight]
    at: float | None = None
    unit: Unit = ""
    rank: int | None = None
    sharded: bool = False  # a part of the model (tensor, pipeline or ZeRO shards): ranks differ by design
    optimizer: bool | None = None  # whether optimizer state lies in it or beside it; None: cannot be told
    resumable: bool = False  # made to go on from: it carries an epoch, a schedule, ... beside the weights
    notes: tuple[str, ...] = ()
    stored: frozenset[str] = frozenset()  # names of the tensors as they stand in the files
    members: tuple[str, ...] = ()  # labels of the ranks that it was put together from, which begin its names

    @property
    def trained(self) -> dict[str, Weight]:
        """What an optimizer may update, by name."""
        return {n: w for n, w in self.weights.items() if w.trains}

    @property
    def bytes(self) -> int:
        """Size of all weights on disk."""
        return sum(w.bytes for w in self.weights.values())

    @property
    def said(self) -> str:
        """Its path, with where it stands in training."""
        return self.path if self.at is None else f"{self.path} ({self.unit} {self.at:g})"


@dataclass(frozen=True, slots=True)
class Found:
    """All checkpoints of a directory, in order of training, and the files that cannot be used, with why."""

    checkpoints: tuple[Checkpoint, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


def candidate(file: RunFile) -> bool:
    """Whether a file may hold weights, by its name alone."""
    if file.name == METADATA:
        return True
    if file.suffix not in kinds.WEIGHTS or file.size < 16 or _OTHER_FILE.match(file.name):
        return False
    return "dump_tensor_data/" not in file.path and not _STATE_FILE.match(file.name)


def is_checkpoint(file: RunFile) -> bool:
    """Whether a file is one, by its first bytes. Raises OSError."""
    if not candidate(file):
        return False
    head = file.read_bytes(256)
    if file.name == METADATA:
        return b"torch.distributed.checkpoint" in head
    return is_torch(head) or is_safetensors(head) or is_mindspore_ckpt(head)


def find(files: Iterable[RunFile]) -> Found:
    """Read the headers of all checkpoints among these files."""
    every = list(files)
    states = {folder_of(f.path) for f in every if _STATE_FILE.match(f.name)}
    resumable = {folder_of(f.path) for f in every if f.name == "trainer_state.json"}
    folders, indices = described(every), indexed(every)
    states |= {folder_of(f) for f in folders if _OPTIMIZER.search(PurePosixPath(f).name)}
    groups: dict[str, list[tuple[str, RunFile]]] = defaultdict(list)
    flat: dict[str, list[RunFile]] = defaultdict(list)
    for file in every:
        if FLAT.match(file.name):
            flat[folder_of(file.path) or "."].append(file)
        part = part_of(file, folders) if candidate(file) else None
        if part is not None:
            groups[part.checkpoint].append((part.label, file))
    found: list[Checkpoint] = []
    refused: list[tuple[str, str]] = []
    paths = sorted(groups, key=layout.natural)
    if len(paths) > MAX_CHECKPOINTS:
        half = MAX_CHECKPOINTS // 2
        refused.append((f"{len(paths) - 2 * half} more checkpoints", f"only {2 * half} are looked at"))
        paths = [*paths[:half], *paths[-half:]]
    for path in paths:
        members = groups[path]
        try:
            one = _read(path, members, indices.get(path, frozenset()))
            if one is not None and path in flat and not one.trained:
                one = _from_flat(one, flat[path])
        except (Unreadable, OSError, ValueError, RecursionError, MemoryError) as error:
            refused.append((path, getattr(error, "strerror", None) or str(error)[:160] or "cannot be read"))
            continue
        if one is None:
            continue
        folder = folder_of(path)
        beside: bool | None = one.optimizer or bool({folder, path} & states) or None
        if not beside and folder in resumable:
            beside = False
        found.append(
            replace(
                one,
                optimizer=beside if beside is not None else one.optimizer,
                resumable=one.resumable or folder in resumable,
            )
        )
    found.sort(key=lambda c: (c.at is None, c.unit, c.at or 0.0, layout.natural(c.path)))
    return Found(tuple(found), tuple(refused))


def _read(path: str, members: list[tuple[str, RunFile]], named: frozenset[str]) -> Checkpoint | None:
    """Read one checkpoint (all its parts); None for a file that is none. `named`: what an index lists."""
    listed = sorted(members, key=lambda m: (m[0], m[1].path))
    files = [f for _, f in listed]
    if any(f.name == METADATA for f in files):
        parts = [("", c) for c in (_of_folder(path, files),) if c is not None]
    else:
        parts = [(label, c) for label, f in listed if (c := _read_file(f)) is not None]
    if not parts:
        return None
    many = len({label for label, _ in parts}) > 1
    weights = {f"{label}.{n}" if many else n: w for label, p in parts for n, w in p.weights.items()}
    notes = list(dict.fromkeys(n for _, p in parts for n in p.notes))
    shard = SHARD.match(files[0].name)
    if shard and len(files) < int(shard["of"]):
        notes.append(f"{len(files)} of {int(shard['of'])} shards are here")
    gone = named - {n for _, p in parts for n in p.stored}
    if gone and named:
        notes.append(f"its index names {len(gone)} weights that no shard holds, e.g. {min(gone)}")
    first = parts[0][1]
    at, unit = (first.at, first.unit) if first.at is not None else _position(path)
    if _INITIAL.search(PurePosixPath(path).name.rsplit(".", 1)[0]):
        at, unit = 0.0, unit or "step"
    sharded = not many and len(files) == 1 and not _alone(files[0]) and bool(_SHARDED.search(path))
    return replace(
        first,
        path=path,
        weights=weights,
        at=at,
        unit=unit,
        notes=tuple(notes),
        optimizer=any(p.optimizer for _, p in parts) or first.optimizer,
        sharded=sharded,
        rank=None if sharded or many else layout.rank(path),
        members=tuple(label for label, _ in parts) if many else (),
    )


def _from_flat(empty: Checkpoint, files: list[RunFile]) -> Checkpoint:
    """ZeRO stage 3: the weights are split over ranks, and stand as flat fp32 groups with the optimizer."""
    weights: dict[str, Weight] = {}
    for file in sorted(files, key=lambda f: layout.natural(f.path)):
        match = FLAT.match(file.name)
        content = read_torch(file)
        state: Any = content.get("optimizer_state_dict") if isinstance(content, dict) else None
        for key in _FLAT_GROUPS:
            groups = state.get(key) if isinstance(state, dict) else None
            for n, group in enumerate(groups if isinstance(groups, list) else ()):
                if isinstance(group, Stored) and match is not None:
                    name = f"{match['label']}.group{n}"
                    weights[name] = Weight(name, group.type, group.shape, (group,))
    if not weights:
        return empty
    note = f"ZeRO stage 3: weights are looked at as the flat fp32 groups of {len(files)} ranks"
    return replace(empty, weights=weights, notes=(*empty.notes, note), optimizer=True)


def _alone(file: RunFile) -> bool:
    """Whether a file that is named like a rank's is all there is: the only rank that splits the model."""
    return part_of(file, frozenset()) != Part(file.path)


def _position(path: str) -> tuple[float | None, Unit]:
    mindspore = _MINDSPORE_NAME.search(path)
    if mindspore:  # epoch and step of that epoch: a day that grows, whatever the length of an epoch
        return float(mindspore[1]), "epoch"
    name, folder = PurePosixPath(path).name, PurePosixPath(path).parent.name
    for text in (name, folder):
        for unit, pattern in _AT:
            hits = pattern.findall(text)
            if hits:
                return float(hits[-1]), unit
    last = _LAST_NUMBER.search(name)
    return (
        (float(last[1]), "step") if last and not _SHARDED.search(name) and "rank" not in name else (None, "")
    )


def _read_file(file: RunFile) -> Checkpoint | None:
    head = file.read_bytes(256)
    if is_torch_zip(head) and file.suffix == ".npz":
        return _of_npz(file)
    if is_torch(head):
        return _of_torch(file)
    if is_safetensors(head):
        stored, refused = read_safetensors(file)
        return _made(file, "safetensors", {n: (s,) for n, s in stored.items()}, notes=refused)
    if file.suffix == ".ckpt" and is_mindspore_ckpt(head):
        return _of_mindspore(file)
    if file.suffix in (".bin", ".tar"):
        return None
    if head[:1] == b"\x80":
        raise Unreadable("a bare pickle, which is never opened")
    raise Unreadable("no checkpoint of a known format")


def _made(
    file: RunFile,
    form: str,
    pieces: Mapping[str, tuple[Stored, ...]],
    *,
    notes: Iterable[str] = (),
    at: float | None = None,
    unit: Unit = "",
    optimizer: bool | None = None,
    resumable: bool = False,
) -> Checkpoint | None:
    weights = {
        name: Weight(name, parts[0].type, whole_shape(parts), parts)
        for name, parts in _stripped(pieces).items()
    }
    if not weights:
        return None
    return Checkpoint(
        file.path,
        form,
        weights,
        at,
        unit,
        None,
        False,
        optimizer,
        resumable,
        tuple(notes),
        stored=frozenset(pieces),
    )


def _stripped(pieces: Mapping[str, tuple[Stored, ...]]) -> dict[str, tuple[Stored, ...]]:
    """Take off what wrappers put before all names, so that two checkpoints of one model agree."""
    return {n: pieces[old] for old, n in _unwrapped(pieces).items()}


def _unwrapped(names: Iterable[str]) -> dict[str, str]:
    """Name -> the name without wrappers."""
    found = {n: n for n in names}
    while found:
        prefix = next((p for p in _WRAPPERS if all(n.startswith(p) for n in found.values())), None)
        if prefix is None or any(len(n) == len(prefix) for n in found.values()):
            return found
        found = {old: n[len(prefix) :] for old, n in found.items()}
    return found


# --------------------------------------------------------------------------------------------- formats


def _of_folder(path: str, files: list[RunFile]) -> Checkpoint | None:
    """A folder of torch.distributed.checkpoint."""
    told = read_folder(files)
    weights: dict[str, Weight] = {}
    state = False
    for name, tensor in told.tensors.items():
        parts = told.paths.get(name, (name,))
        top = parts[0] if len(parts) > 1 else name.partition(".")[0]
        if _OPTIMIZER.search(top):
            state = True
        elif len(parts) < 2 or not _NOT_WEIGHTS.search(top):
            weights[name] = Weight(name, tensor.type, tensor.shape, tensor.chunks, tensor.layout)
    if not weights:
        if told.notes:
            raise Unreadable(told.notes[0])
        return None
    at, unit = _inside(told.scalars)
    names = _unwrapped(weights)
    return Checkpoint(
        path,
        "torch-dcp",
        {n: replace(weights[old], name=n) for old, n in names.items()},
        at,
        unit,
        optimizer=True if state else None,
        resumable=state,
        notes=told.notes,
        stored=frozenset(told.tensors),
    )


# Inputs and labels: a batch that was dumped, or a data set
_BATCH_FIELD = re.compile(
    r"^(?:x|y|data|inputs?|images?|img|pixel_values|features?|labels?|targets?|masks?|ids|input_ids|attention_mask"
    r"|token_type_ids|position_ids|text|audio|waveform|mel|index|idx|boxes|length|lengths)"
    r"(?:_?(?:train|test|val|valid|dev|eval))?$",
    re.IGNORECASE,
)
_OF_BATCHES = re.compile(r"(?:^|/)batch(?:es)?(?:[/_.-]|\d)", re.IGNORECASE)


def _of_npz(file: RunFile) -> Checkpoint | None:
    pieces: dict[str, tuple[Stored, ...]] = {}
    notes = []
    for name, stored in read_npz(file):
        if isinstance(stored, Stored):
            pieces[name] = (stored,)
        else:
            notes.append(f"{name}: {stored}")
    if _OF_BATCHES.search(file.path) or all(map(_BATCH_FIELD.match, pieces)):
        return None
    return _made(file, "npz", pieces, notes=notes)


def _of_mindspore(file: RunFile) -> Checkpoint | None:
    pieces, notes = read_ckpt(file)
    state = {n for n in pieces if _MINDSPORE_STATE.match(n)}
    weights = {n: p for n, p in pieces.items() if n not in state}
    counters = {"learning_rate", "momentum", "global_step", "epoch_num", "step_num"}
    resumable = bool(counters & set(weights))
    optimizer = True if state else False if resumable else None
    return _made(file, "mindspore-ckpt", weights, notes=notes, optimizer=optimizer, resumable=resumable)


def _of_torch(file: RunFile) -> Checkpoint | None:
    content = read_torch(file)
    if isinstance(content, Opaque):
        raise Unreadable(f"a pickled object, not a state dict ({content.name})")
    if not isinstance(content, dict):
        return None
    notes: list[str] = []
    pieces: dict[str, tuple[Stored, ...]] = {}
    for name, stored in _tensors(content, "", notes, 0):
        pieces.setdefault(name, (stored,))
    if not pieces:
        if any(_OPTIMIZER.search(str(k)) for k in content) or "param_groups" in content:
            return None
        held = next((v.name for v in content.values() if isinstance(v, Opaque)), "")
        raise Unreadable(f"no weights in it that can be read{f' (it holds {held})' if held else ''}")
    plain = all(isinstance(v, (Stored, Opaque)) for v in content.values())
    at, unit = _inside(content)
    optimizer = None if plain else _optimizer_state(content)
    extra = any(re.search(r"epoch|step|iter|sched|rng|scaler", str(k), re.I) for k in content)
    return _made(
        file,
        "torch",
        pieces,
        notes=notes[:5],
        at=at,
        unit=unit,
        optimizer=optimizer,
        resumable=not plain and (extra or bool(optimizer)),
    )


def _tensors(
    content: Mapping[Any, Any], at: str, notes: list[str], depth: int
) -> Iterator[tuple[str, Stored]]:
    for key, value in content.items():
        word = str(key)
        if (
            depth < 2
            and isinstance(value, (Mapping, Stored))
            and "." not in word
            and _NOT_WEIGHTS.search(word)
        ):
            continue
        name = f"{at}{word}"
        if isinstance(value, Stored):
            yield name, value
        elif isinstance(value, Mapping) and depth < MAX_DEPTH:
            yield from _tensors(value, f"{name}.", notes, depth + 1)
        elif isinstance(value, Opaque) and value.name.startswith("a tensor"):
            notes.append(f"{name}: {value.name}")


def _inside(content: Mapping[Any, Any]) -> tuple[float | None, Unit]:
    for unit, keys in _INSIDE:
        for key in keys:
            value = content.get(key)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
                return float(value), unit
    return None, ""


def _optimizer_state(content: Mapping[Any, Any]) -> bool:
    return any(
        _OPTIMIZER.search(str(k)) and bool(v) and not isinstance(v, (Stored, str, int, float))
        for k, v in content.items()
    )
