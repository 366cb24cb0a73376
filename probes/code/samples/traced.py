"""Python's own random numbers in functions that a graph compiler runs once: drawn at tracing, then fixed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..mindspore.steps import drawn_in_construct
from ..shared.checks import at, first, ok

_DRAWS = re.compile(
    r"^(?:np\.random|numpy\.random|random)\.(?:random|rand|randn|randint|uniform|normal|choice|choices|sample"
    r"|randrange|gauss|beta|binomial|shuffle|permutation|random_sample|standard_normal)$"
)
_TRACERS = re.compile(
    r"^(?:tf\.function|jax\.jit|jit|jax\.pmap|ms\.jit|mindspore\.jit|ms_function|function)$"
)
_BY_PYTHON = ("py_function", "numpy_function", "py_func", "pure_callback", "io_callback")


@probe()
def drawn_at_tracing(view: View) -> Finding:
    """`random.uniform(...)` in a function that tf.data, tf.function or jax.jit traces: one number for ever.

    Left aside: what is wrapped with `tf.py_function` or `tf.numpy_function`, which Python runs each time.
    """
    return first(view, _drawn, "the scripts hand no function to a tracer")


@probe()
def drawn_at_compiling(view: View) -> Finding:
    """MindSpore: `random.random()` in a cell that graph mode compiles is drawn once, and then fixed."""
    return first(view, drawn_in_construct, "the scripts hold no model that is compiled to a graph")


def _drawn(source: Script) -> Finding | None:
    if not {"tensorflow", "keras", "jax", "flax"} & set(source.frameworks):
        return None
    wrapped = {n.id for c in source.named(*_BY_PYTHON) for a in all_arguments(c) for n in of(a, ast.Name)}
    seen: ast.AST | None = None
    for function in _traced(source):
        seen = seen or function
        if getattr(function, "name", "") in wrapped:
            continue
        for call in of(function, ast.Call):
            inner = source.function_around(call)
            if inner is not None and inner is not function and inner.name in wrapped:
                continue
            if _DRAWS.match(unparse(call.func)) and not _of_framework(source, call):
                why = (
                    "this number is drawn once, when the function is traced, and is the same for all samples"
                )
                return at(source, call, why)
    return ok(source, seen, "traced functions draw with the framework's own operations") if seen else None


def _of_framework(source: Script, call: ast.Call) -> bool:
    """`random` is a framework's own: `from jax import random`, `import jax.random as random`."""
    name = unparse(call.func).split(".")[0]
    for taken in source.of(ast.ImportFrom, ast.Import):
        for one in taken.names:
            whole = f"{taken.module}.{one.name}" if isinstance(taken, ast.ImportFrom) else one.name
            if (one.asname or one.name) == name and whole not in ("random", "numpy", "numpy.random"):
                return True
    return False


def _traced(source: Script) -> Iterator[ast.AST]:
    """Functions that a tracer gets: by a decorator, or handed to the `map` of a tf.data pipeline."""
    for node in source.of(ast.FunctionDef):
        made = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
        if any(_TRACERS.match(unparse(d)) for d in made):
            yield node
    if "run_eagerly" not in source.text and "run_functions_eagerly" not in source.text:
        for model in source.modules if {"keras", "tensorflow"} & set(source.frameworks) else ():
            for method in model.body:  # `fit` compiles them
                if isinstance(method, ast.FunctionDef) and method.name in ("train_step", "test_step"):
                    yield method
    pipelines = re.search(r"tf\.data|TFRecordDataset|from_tensor_slices|AUTOTUNE", source.code) is not None
    for call in source.named("map") if pipelines else ():
        if not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        owner = unparse(call.func.value)
        if not re.search(
            r"(?:^|[._])(?:ds|dataset|data|train_ds|val_ds)\b|Dataset|shuffle|batch|repeat", owner
        ):
            continue
        if isinstance(call.args[0], ast.Lambda):
            yield call.args[0]
        elif isinstance(call.args[0], (ast.Name, ast.Attribute)):
            yield from flow(source).functions.get(last_name(call.args[0]), [])[:1]
