"""Keys of random numbers in JAX that a training loop never changes: each step draws the same numbers.

A key is followed from where it is used (`rngs={"dropout": key}`) through splits, names and the arguments of
callers to the loop over the batches. Where anything on this way folds in the step, is assigned in the loop,
or is not understood, nothing is told.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Loop, Script
from ..shared.checks import at, first, is_evaluation, ok
from ..shared.units import chain, loops_of_step

_KEYWORDS = ("rngs", "rng", "key", "dropout_rng", "dropout_key")
_MAKES = ("PRNGKey", "key", "RngSeq", "make_rng")
_OWN_LOOPS = ("scan", "fori_loop", "while_loop")
_DRAWS = (
    *("bernoulli", "beta", "categorical", "choice", "gumbel", "normal", "permutation", "randint", "uniform"),
    *("truncated_normal", "laplace", "dirichlet", "gamma"),
)
_DERIVES = ("value_and_grad", "grad", "filter_value_and_grad", "filter_grad")
_MOST = 8  # names and callers that one key is followed through
_INITS = re.compile(r"(?i)init")


@probe()
def key_used_again(view: View) -> Finding:
    """A key of JAX goes into the model in each step, and no step changes it."""
    return first(view, _again, "the scripts hand no key of random numbers to a model")


def _again(source: Script) -> Finding | None:
    if not {"jax", "flax", "haiku", "equinox"} & set(source.frameworks) or source.named(*_OWN_LOOPS):
        return None
    loops = loops_of_step(source)
    if not loops:
        return None
    seen: ast.AST | None = None
    for call, key in _handed(source):
        if is_evaluation(source, call) or _INITS.search(unparse(call.func)):
            continue
        if loops[0] not in _around(source, call):
            continue
        seen = seen or call
        if _stays(source, key, loops[0], _MOST):
            return at(source, key, "each step gets the same key, and so draws the same numbers")
    return ok(source, seen, "each step gets a key of its own") if seen is not None else None


def _around(source: Script, node: ast.AST, left: int = 5) -> list[Loop]:
    """The loops that run this, through the functions around it and what differentiates or compiles them."""
    found = list(chain(source, node))
    function = source.function_around(node)
    if left and function is not None:
        for call in _runs(source, function):
            found += _around(source, call, left - 1)
        if not found:
            found = _around(source, function, left - 1)
    return found


_WRAPS = (
    *("value_and_grad", "grad", "jit", "pmap", "checkpoint", "remat"),
    *("filter_value_and_grad", "filter_grad", "filter_jit"),
)


def _runs(source: Script, function: Function) -> list[ast.Call]:
    """Calls that hand arguments on to the function: `value_and_grad(loss)(params, x, key)`, or by a name."""
    wraps = [c for c in source.named(*_WRAPS) if c.args and unparse(c.args[0]) == function.name]
    names = {
        unparse(t) for c in wraps if isinstance(s := source.parents.get(c), ast.Assign) for t in s.targets
    }
    return [c for c in source.calls if c.func in wraps or unparse(c.func) in names]


def _handed(source: Script) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that are handed a key by name, and the key."""
    for call in source.calls:
        if "random" in unparse(call.func):
            continue
        for name in _KEYWORDS:
            given = keyword(call, name)
            if isinstance(given, ast.Dict):
                yield from ((call, v) for v in given.values)
            elif isinstance(given, (ast.Name, ast.Attribute, ast.Call)) and name != "rngs":
                if last_name(call.func) in ("apply", "apply_fn") or name.startswith("dropout"):
                    yield call, given
        if (given := _by_place(source, call)) is not None:
            yield call, given
    for call in source.named(*_DRAWS):
        if call.args and "random" in unparse(call.func) and _of_step(source, call):
            yield call, call.args[0]


def _of_step(source: Script, node: ast.AST, left: int = 4) -> bool:
    """Whether this runs in what differentiates: noise, masks or crops of a training step."""
    function = source.function_around(node)
    if function is None or left == 0 or is_evaluation(source, node):
        return False
    if any(last_name(c.func) in _DERIVES for c in of(function, ast.Call)) or _runs(source, function):
        return True
    return any(_of_step(source, c, left - 1) for c in source.named(function.name))


def _by_place(source: Script, call: ast.Call) -> ast.expr | None:
    """Haiku's `net.apply(params, key, x)`; `vmap(net)(x, keys)` of one key for each sample."""
    if last_name(call.func) == "apply" and "haiku" in source.text:
        made = flow(source).whole_given(call.func.value) if isinstance(call.func, ast.Attribute) else None
        if not isinstance(made, ast.Call) or last_name(made.func) not in (
            "transform",
            "transform_with_state",
        ):
            return None  # `without_apply_rng` takes no key
        of_state = isinstance(made, ast.Call) and last_name(made.func) == "transform_with_state"
        place = 2 if of_state else 1
        given = call.args[place] if isinstance(made, ast.Call) and len(call.args) > place else None
        return given if isinstance(given, (ast.Name, ast.Attribute, ast.Call)) else None
    if isinstance(call.func, ast.Call) and last_name(call.func.func) in ("vmap", "filter_vmap"):
        keys = [a for a in call.args if re.search(r"(?i)(?:^|_)keys?$|rngs?$", unparse(a))]
        keys += [a for a in call.args if isinstance(a, ast.Call) and unparse(a.func).endswith("random.split")]
        return keys[-1] if keys else None
    return None


def _stays(source: Script, key: ast.expr, loop: Loop, left: int) -> bool:
    """The value of a key is the same in each round of the loop."""
    if left <= 0:
        return False
    mine = flow(source)
    while isinstance(key, (ast.Subscript, ast.Starred)):
        if isinstance(key, ast.Subscript) and not isinstance(key.slice, ast.Constant):
            return False  # `keys[step]`
        key = key.value
    if isinstance(key, ast.Call):
        name = last_name(key.func)
        if name in _MAKES:
            return bool(key.args) and all(isinstance(a, ast.Constant) for a in key.args)
        if name == "split" and key.args:
            return _stays(source, key.args[0], loop, left - 1)
        if name == "fold_in" and len(key.args) == 2 and isinstance(key.args[1], ast.Constant):
            return _stays(source, key.args[0], loop, left - 1)
        return False
    if isinstance(key, ast.Attribute):
        return _is_kept_field(source, key)
    if not isinstance(key, ast.Name):
        return False
    inside = loop in source.above(key)
    given = mine.all_given(key)
    if inside and not any(loop in source.above(g.statement) for g in given):
        return not _assigned_in(loop, key.id)
    if given:
        if any(_names_itself(g.statement, key.id) for g in given if inside):
            return False  # `key, sub = split(key)` in the loop: the next round has another
        return all(_stays(source, g.value, loop, left - 1) for g in given)
    handed = [*mine.arguments(key), *_through_gradient(source, key)]
    return bool(handed) and all(_stays(source, h, loop, left - 1) for h in handed)


def _through_gradient(source: Script, key: ast.Name) -> list[ast.expr]:
    """What `value_and_grad(loss)(params, x, key)` hands to the parameter of the loss."""
    function = source.function_around(key)
    names = [a.arg for a in function.args.args] if function is not None else []
    if function is None or key.id not in names:
        return []
    place = names.index(key.id)
    return [c.args[place] for c in _runs(source, function) if len(c.args) > place]


def _assigned_in(loop: Loop, name: str) -> bool:
    return any(n.id == name and not isinstance(n.ctx, ast.Load) for n in of(loop, ast.Name))


def _names_itself(statement: ast.AST, name: str) -> bool:
    return any(n.id == name and isinstance(n.ctx, ast.Store) for n in of(statement, ast.Name)) and any(
        n.id == name and isinstance(n.ctx, ast.Load) for n in of(statement, ast.Name)
    )


def _is_kept_field(source: Script, key: ast.Attribute) -> bool:
    """`state.key` of a field that is set where the state is made, and nowhere else."""
    stores = [n for n in source.of(ast.Attribute) if n.attr == key.attr and not isinstance(n.ctx, ast.Load)]
    if stores:
        return False
    given = [c for c in source.calls if any(k.arg == key.attr for k in c.keywords)]
    starred = [
        c for c in source.named("replace", "apply_gradients") if any(k.arg is None for k in c.keywords)
    ]
    return bool(given) and not starred and all(last_name(c.func) == "create" for c in given)
