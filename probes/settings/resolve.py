"""The value in force of each setting: of several sources the one with the highest trust wins."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from ...engine.model import Scalar
from ..run import Configured, Event, Setting
from .derived import derive
from .names import canonical_key, last_part, parts_of, table
from .values import NO_LAYER_IS_MEANT, Unusable, Value, normal, number


def candidates(settings: Iterable[Setting]) -> dict[str, list[Configured]]:
    """Return all that was said of each canonical setting, in force first."""
    settings = tuple(settings)
    inactive = _inactive(settings)
    deepspeed = {
        s.file for s in settings if s.key.startswith(("zero_optimization", "train_micro_batch_size_per_gpu"))
    }
    found: dict[str, list[tuple[tuple[float, ...], Configured]]] = defaultdict(list)
    counted = {s.file for s in settings if last_part(s.key) == "batch_type" and _in_tokens(s.value)}
    penalised = {s.file for s in settings if last_part(s.key) == "l1" and not _a_size(s.value)}
    of_policy = {s.file for s in settings if last_part(s.key) in _OF_POLICIES}
    for order, setting in enumerate(settings):
        if setting.file in of_policy and last_part(setting.key) in _MEANT_OTHERWISE:
            continue
        match = canonical_key(setting.key) or _optimizer_class(setting)
        if match is None or (setting.file, setting.key) in inactive:
            continue
        key, at, negated = match
        if last_part(setting.key) == "l2" and _a_size(setting.value) and setting.file not in penalised:
            continue  # of a network with the layers l1 and l2
        if last_part(setting.key) == "learner" and not _RECOMMENDERS.fullmatch(str(setting.value)):
            continue
        if key == "lora_rank" and (number(setting.value) or 0) % 1:
            continue  # `-r 0.1` of a launch line is a rate
        if key in ("batch_size", "global_batch_size") and setting.file in counted:
            key = "batch_tokens"
        if last_part(setting.key) == "worker_num" and setting.file.endswith((".yml", ".yaml")):
            key = "num_workers"  # Paddle's; of a launch line it counts processes
        if setting.key == "train_batch_size" and setting.file in deepspeed:
            key = "global_batch_size"  # DeepSpeed means the product of micro batch, accumulation and ranks
        key = _size_of_what(key, setting)
        try:
            value = normal(table().specs[key], setting.key, _summed(key, setting.value), negated)
        except (Unusable, OverflowError, ValueError):
            continue
        rank = (-setting.trust, setting.file.count("/"), len(parts_of(setting.key)), at, -order)
        configured = Configured(key, value, setting.key, setting.file, setting.line, setting.trust)
        found[key].append((rank, configured))
    ordered = {key: [c for _, c in sorted(rows, key=lambda r: r[0])] for key, rows in found.items()}
    if "dropout" in ordered:
        ordered["dropout"] = _strongest_first(ordered["dropout"])
    return ordered


def _strongest_first(rows: list[Configured]) -> list[Configured]:
    """Of the layers that drop values in one script the one that drops next to all is what counts."""
    trusted = [c for c in rows if c.trust == rows[0].trust and c.file == rows[0].file]
    strongest = max(trusted, key=lambda c: number(c.value) or 0.0)
    share = number(strongest.value) or 0.0
    return [strongest, *(c for c in rows if c is not strongest)] if share > NO_LAYER_IS_MEANT else rows


_RECOMMENDERS = re.compile(r"(?i)(?:sparse_)?adam|sgd|adagrad|rmsprop")  # what RecBole's `learner` may be


def _in_tokens(value: object) -> bool:
    """`batch_type: tokens` (OpenNMT), `batch_type: word` (Sockeye): batches are counted in tokens."""
    return str(value).strip().lower().rstrip("s") in ("token", "word", "max-word", "max_word")


def _a_size(value: object) -> bool:
    """Whether a number is one that no penalty has: the size of a layer."""
    found = number(value)
    return found is not None and found >= 2 and found == int(found)


# Settings that policy optimisation alone has, and those that mean something else beside them: the discount,
# steps of an environment to an update, passes over what one rollout gave.
_OF_POLICIES = frozenset(
    {"gae_lambda", "clip_range", "clip_coef", "n_timesteps", "total_timesteps", "target_kl"}
)
_MEANT_OTHERWISE = frozenset({"gamma", "n_steps", "num_steps", "n_epochs", "update_epochs", "train_freq"})

_CLASS_KEYS = ("_target_", "class_path", "_component_", "class_name", "class", "type")
_OPTIMIZER_CLASS = re.compile(r"(?:^|\.)(?:optim|optimizers|optimizer|optax)\.([A-Za-z]\w*)$")


def _optimizer_class(setting: Setting) -> tuple[str, int, bool] | None:
    """A class that a package of optimizers holds, whatever its part of the configuration is called."""
    if last_part(setting.key) not in _CLASS_KEYS or not isinstance(setting.value, str):
        return None
    found = _OPTIMIZER_CLASS.search(setting.value)
    return ("optimizer", 50, False) if found and not re.search(r"(?i)lr$|sched", found[1]) else None


def _summed(key: str, value: Value) -> Value:
    """Of a list of sample counts (`num_train: [1500, 710]`, one per class, site or file) the sum."""
    if key not in ("train_samples", "eval_samples") or not isinstance(value, tuple):
        return value
    counts = [number(v) for v in value]
    return sum(c for c in counts if c is not None) if None not in counts and counts else value


def _size_of_what(key: str, setting: Setting) -> str:
    """`train_size: 0.8` is a share of the data, `train_size: [640, 640]` an image; else it counts samples."""
    if key != "train_samples" or parts_of(setting.key)[-1] != "train_size":
        return key
    if isinstance(setting.value, tuple):
        return "image_size"
    found = number(setting.value)
    return "train_split" if found is not None and found <= 1 else key


def _inactive(settings: tuple[Setting, ...]) -> set[tuple[str, str]]:
    """Keys below a block that is switched off: `fp16: {enabled: false, loss_scale: 128}`."""
    off = {
        (s.file, s.key[: -len("enabled")])
        for s in settings
        if s.key.endswith(".enabled") and (s.value is False or str(s.value).lower() == "false")
    }
    if not off:
        return set()
    return {
        (s.file, s.key)
        for s in settings
        if not s.key.endswith(".enabled") and any(s.file == f and s.key.startswith(p) for f, p in off)
    }


def resolve(
    settings: Iterable[Setting], events: Iterable[Event] = (), facts: Mapping[str, Scalar] | None = None
) -> dict[str, Configured]:
    """Return the value in force of every canonical setting that was written, and of those that follow.

    `facts["world_size"]` (from the logs) stands in where no file says how many processes train.
    """
    settings = tuple(settings)
    found = {key: rows[0] for key, rows in candidates(settings).items()}
    derive(found, settings, events, facts or {})
    return dict(sorted(found.items()))
