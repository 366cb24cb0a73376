"""Trees of Flax that are read and dropped: what reads them gives a new one."""

from __future__ import annotations

import ast

from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_READS = ("from_bytes", "from_state_dict", "restore_checkpoint", "msgpack_restore")


def tree_read_in_vain(source: Script) -> Finding | None:
    """`serialization.from_bytes(state, held)` as a statement of its own."""
    if "flax" not in source.code:
        return None
    for call in source.named(*_READS):
        if call.args and isinstance(source.parents.get(call), ast.Expr):
            return at(source, call, "this gives a new tree, which nothing takes: the old values go on")
    return None
