"""Options of Ascend's graph engine that a TensorFlow script hands over, one assignment or argument each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...run import Setting
from .._tree import of
from .calls import keyword

_KEPT = ("precision_mode", "precision_mode_v2")  # what changes results, and is known by name
_WRITTEN = 60  # the code that lies there most likely ran


def graph_options(tree: ast.Module, file: str) -> Iterator[Setting]:
    """`op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")`, or a keyword."""
    for node in of(tree, ast.Assign):
        name = _option(node.targets[0])
        value = _text(node.value)
        if name in _KEPT and value is not None:
            yield Setting(name, value, file, node.lineno, _WRITTEN)
    for call in of(tree, ast.Call):
        for name in _KEPT:
            value = _text(keyword(call, name))
            if value is not None:
                yield Setting(name, value, file, call.lineno, _WRITTEN)


def _option(target: ast.expr) -> str | None:
    """The option that `….parameter_map["option"].s` or `npu_device.global_options().option` names."""
    if isinstance(target, ast.Attribute) and target.attr in _KEPT:
        return target.attr
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Subscript):
        return None
    of_map, key = target.value.value, target.value.slice
    if not isinstance(of_map, ast.Attribute) or of_map.attr != "parameter_map":
        return None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _text(node: ast.expr | None) -> str | None:
    """A text, as it stands or made to bytes."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    if not isinstance(node, ast.Constant):
        return None
    if isinstance(node.value, bytes):
        return node.value.decode("utf-8", "replace")
    return node.value if isinstance(node.value, str) else None
