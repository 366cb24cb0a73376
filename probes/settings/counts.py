"""How many samples each class has, where a configuration records it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from ..run import Setting
from .names import canonical_key, snake
from .values import number

_COUNTS = re.compile(
    r"(?:train_)?(?:num_)?(?:class|label)_(?:counts?|distribution|histogram)"
    r"|(?:num_)?(?:samples|counts?)_per_(?:class|label)|per_class_counts?"
)


def class_counts(settings: Iterable[Setting]) -> tuple[tuple[float, ...], Setting] | None:
    """Return the recorded number of samples per class, and the setting where it stands first."""
    settings = tuple(settings)
    outputs = {str(s.value) for s in settings if re.fullmatch(r".*output_features\.\d+\.name", s.key)}
    groups: dict[tuple[str, str], list[tuple[float, Setting]]] = defaultdict(list)
    for setting in settings:
        raw = setting.key.split(".")
        at = next((i for i, p in enumerate(raw) if _COUNTS.fullmatch(snake(p))), None)
        if at is None and len(raw) == 3 and raw[1] == "str2freq" and raw[0] in outputs:
            if raw[2].startswith("<"):
                continue  # Ludwig's own words, as that for what it does not know
            at = 1
        if at is None or {"val", "eval", "test", "valid", "validation"} & {p.lower() for p in raw}:
            continue
        values = setting.value if isinstance(setting.value, tuple) else (setting.value,)
        numbers = [n for n in map(number, values) if n is not None and n >= 0]
        groups[(setting.file, ".".join(raw[: at + 1]))].extend((n, setting) for n in numbers)
    for rows in groups.values():
        if len(rows) >= 2:
            return tuple(n for n, _ in rows), rows[0][1]
    return _counts_in_turn(settings)


def class_names(settings: Iterable[Setting]) -> Setting | None:
    """The list of the names of the classes, where one is set."""
    for setting in settings:
        if setting.key.rpartition(".")[2].lower() in ("class_names", "classes", "label_names", "categories"):
            value = setting.value
            if isinstance(value, tuple) and len(value) >= 2 and len(set(value)) == len(value):
                if all(isinstance(v, str) for v in value):
                    return setting
    return None


def _counts_in_turn(settings: tuple[Setting, ...]) -> tuple[tuple[float, ...], Setting] | None:
    """Counts of training samples in a list as long as that of the classes: one for each of them."""
    named = class_names(settings)
    if named is None or not isinstance(named.value, tuple):
        return None
    for setting in settings:
        match = canonical_key(setting.key)
        if match is None or match[0] != "train_samples" or not isinstance(setting.value, tuple):
            continue
        numbers = [n for n in map(number, setting.value) if n is not None and n >= 0]
        if len(numbers) == len(setting.value) == len(named.value):
            return tuple(numbers), setting
    return None
