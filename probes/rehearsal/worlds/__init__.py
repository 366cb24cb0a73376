"""What libraries give in a rehearsal: Python's own, arrays, networks, samples."""

from . import networks, python, samples, tensors, training
from .networks import layer
from .python import Lazy
from .samples import batches
from .tensors import field_of, item_by_tensor, item_of, items_of, part_of, set_field, set_item

__all__ = [
    "Lazy",
    "batches",
    "field_of",
    "item_by_tensor",
    "item_of",
    "items_of",
    "layer",
    "networks",
    "part_of",
    "python",
    "samples",
    "set_field",
    "set_item",
    "tensors",
    "training",
]
