"""The value in force of each setting: of several sources the one with the highest trust wins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ...engine.model import Scalar
from ..run import Configured, Event, Setting
from .derived import derive
from .names import canonical_key, parts_of, table
from .values import Unusable, Value, normal, number


def candidates(settings: Iterable[Setting]) -> dict[str, list[Configured]]:
    """Return all that was said of each canonical setting, in force first."""
    settings = tuple(settings)
    inactive = _inactive(settings)
    deepspeed = {
        s.file for s in settings if s.key.startswith(("zero_optimization", "train_micro_batch_size_per_gpu"))
    }
    found: dict[str, list[tuple[tuple[float, ...], Configured]]] = defaultdict(list)
    for order, setting in enumerate(settings):
        match = canonical_key(setting.key)
        if match is None or (setting.file, setting.key) in inactive:
            continue
        key, at, negated = match
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
    return {key: [c for _, c in sorted(rows, key=lambda r: r[0])] for key, rows in found.items()}


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
