"""What libraries give in a rehearsal: Python's own, arrays, networks, samples."""

from . import (
    columns,
    containers,
    draws,
    frames,
    frameworks,
    graph,
    listings,
    modules,
    networks,
    python,
    samples,
    sklearn,
    tables,
    tensors,
    training,
)
from .columns import masked
from .fields import field_of, item_of, items_of, part_of, set_field
from .frames import as_array, as_column, take_out
from .given import of_its_place, set_item
from .known_numbers import counted_at, place_of
from .networks import layer
from .parts import item_by_tensor
from .python import Lazy
from .samples import batches

__all__ = [
    "Lazy",
    "as_array",
    "as_column",
    "batches",
    "columns",
    "containers",
    "counted_at",
    "draws",
    "field_of",
    "frames",
    "frameworks",
    "graph",
    "item_by_tensor",
    "item_of",
    "items_of",
    "layer",
    "listings",
    "masked",
    "modules",
    "networks",
    "of_its_place",
    "part_of",
    "place_of",
    "python",
    "samples",
    "set_field",
    "set_item",
    "sklearn",
    "tables",
    "take_out",
    "tensors",
    "training",
]
