"""Values that leave the framework on their way to the loss, in scripts: through NumPy, or by a comparison."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.minimised import objectives
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from .cuts import of_model, reached

_BY_NUMPY = ("asnumpy", "numpy")
_BACK = ("Tensor", "tensor", "convert_to_tensor", "constant", "from_numpy", "as_tensor", "array")
_PYTHON = ("py_function", "numpy_function", "py_func")


def through_numpy(source: Script) -> Finding | None:
    """The forward pass turns what a layer gives into an array and back: `Tensor(self.conv(x).asnumpy())`.

    Also `tf.numpy_function`, and `tf.py_function` of a function that asks for arrays itself.
    """
    for function in _of_models(source):
        for call in of(function, ast.Call):
            name = last_name(call.func)
            if name in _PYTHON and source.owner(call).split(".")[0] in ("tf", "tensorflow"):
                arrays = name != "py_function" or ".numpy()" in unparse(call)
                fed = [n for a in call.args[1:2] for n in of(a, ast.Name, ast.Call)]
                if arrays and any(_of_layer(source, function, n) for n in fed):
                    return at(source, call, "Python works on arrays here, and no gradient comes back")
            elif name in _BY_NUMPY and not call.args and isinstance(call.func, ast.Attribute):
                back = [
                    p for p in source.above(call) if isinstance(p, ast.Call) and last_name(p.func) in _BACK
                ]
                if back and _of_layer(source, function, call.func.value):
                    return at(source, call, "an array has no gradient: what stands before this never trains")
    return None


def _of_models(source: Script) -> list[Function]:
    """The passes of models, and the methods that Keras's own training steps go through."""
    found = [f for f in source.passes if source.parents.get(f) in source.modules]
    for owner in source.modules:
        methods = [f for f in owner.body if isinstance(f, ast.FunctionDef)]
        steps = [unparse(f) for f in methods if f.name == "train_step"]
        found += [f for f in methods if f not in found and any(f"self.{f.name}(" in s for s in steps)]
    return found


def _of_layer(source: Script, function: Function, node: ast.expr) -> bool:
    """A layer of the model gave it: `self.conv(x)`, at once or under a name."""
    if isinstance(node, ast.Call):
        return unparse(node.func).startswith("self.") and bool(node.args)
    if not isinstance(node, ast.Name):
        return False
    given = flow(source).given(node)
    within = given is not None and source.function_around(given.statement) is function
    return within and given is not None and _of_layer(source, function, given.value)


def only_compared(source: Script) -> Finding | None:
    """All that the objective knows of the model is a comparison: `tf.cast(probability > 0.5, tf.float32)`."""
    mine = flow(source)
    for _, objective in objectives(source):
        known = reached(mine, objective)
        compared = (n for n in known if isinstance(n, ast.Compare))  # few, so asked first
        cut = [n for n in compared if of_model(mine, n.left)]
        if cut and not any(isinstance(n, ast.Call) and of_model(mine, n) for n in known):
            return at(source, cut[0], "a comparison has no slope, and nothing else reaches the loss")
    return None
