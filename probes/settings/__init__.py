"""Settings under one name and in one form, with the value in force: names, values, what follows from them."""

from .counts import class_counts
from .derived import device_count
from .names import canonical_key, is_harmless, last_part, make_table, parts_of, table
from .resolve import candidates, resolve
from .values import NO_LAYER_IS_MEANT, number, precision_word, same

__all__ = [
    "NO_LAYER_IS_MEANT",
    "candidates",
    "canonical_key",
    "class_counts",
    "device_count",
    "is_harmless",
    "last_part",
    "make_table",
    "number",
    "parts_of",
    "precision_word",
    "resolve",
    "same",
    "table",
]
