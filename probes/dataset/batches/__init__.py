"""Two folders of batches dumped before the model, held against each other."""

from __future__ import annotations

from .compare import compare
from .model import ATOL, KINDS, RTOL, Compared, Difference, Kind

__all__ = ["ATOL", "KINDS", "RTOL", "Compared", "Difference", "Kind", "compare"]
