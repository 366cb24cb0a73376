"""Where a script takes no gradients: blocks and functions under `no_grad`, `inference_mode` and the like."""

from __future__ import annotations

import ast
import re

from ..readers._tree import of, unparse
from ..readers.script import UNTAPED, last_name
from .syntax import Function, Script

_UNTAPED = re.compile("|".join((*UNTAPED, r"set_grad_enabled\(False", "stop_recording")))


def untaped(head: ast.expr) -> bool:
    """A context or a decorator that surely takes no gradients: `torch.no_grad()`, `inference_mode`."""
    return last_name(head.func if isinstance(head, ast.Call) else head) in UNTAPED


def maybe_untaped(head: ast.expr) -> bool:
    """The same, also where it is chosen: `no_grad() if held_out else nullcontext()`."""
    return _UNTAPED.search(unparse(head)) is not None


def untaped_block(block: ast.With) -> bool:
    """A block under `with torch.no_grad():` or the like."""
    return any(untaped(i.context_expr) for i in block.items)


def maybe_untaped_block(block: ast.With) -> bool:
    """The same, also where it is chosen."""
    return any(maybe_untaped(i.context_expr) for i in block.items)


def untaped_function(function: Function) -> bool:
    """A decorator of the function takes no gradients: `@torch.no_grad()`."""
    return any(maybe_untaped(d) for d in function.decorator_list)


def untaped_in(function: Function) -> bool:
    """The function or a block in it takes no gradients."""
    return untaped_function(function) or any(maybe_untaped_block(w) for w in of(function, ast.With))


def without_gradients(source: Script, node: ast.AST) -> bool:
    """Say whether a node stands in a `with torch.no_grad():` or the like."""
    return any(isinstance(p, ast.With) and maybe_untaped_block(p) for p in source.above(node))
