"""The model that an optimizer holds runs without gradients wherever it is trained."""

from __future__ import annotations

import ast

from ...readers._tree import names_read, of, unparse
from ...readers.script import all_arguments, argument, last_name
from ...registry import Finding
from ...script_diff.vocabulary import word_set
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ...scripts.untaped import untaped_block, untaped_in
from ..shared.checks import at

_PARAMETERS = ("parameters", "named_parameters")
# methods of a model that compute nothing
_IDLE = word_set(
    "train eval zero_grad parameters named_parameters state_dict load_state_dict to cuda cpu half float "
    "bfloat16 modules named_modules children buffers requires_grad_ apply no_sync named_children"
)


def trained_without_gradients(source: Script) -> Finding | None:
    """Each run of the model that the optimizer holds stands under `no_grad` in the function that steps.

    `with torch.no_grad(): goal = teacher(x); guess = student(x)`, and outputs that a list of copies takes the
    place of: `out = [o.detach().float() for o in out]`.
    """
    for function in dict.fromkeys(source.function_around(b) for b in source.backwards):
        if function in source.forwards:
            continue
        for name in _held(source):
            block = _always_quiet(source, function, name)
            if block is not None:
                return at(source, block, f"`{name}` is what the optimizer holds, and runs without gradients")
        copied = _copied_outputs(source, function)
        if copied is not None:
            return at(source, copied, "the loss is computed on values cut off from the model")
    return None


def _held(source: Script) -> list[str]:
    """The models, as they are written, that the only optimizer of the program is built over as a whole."""
    if len(source.optimizer_calls) != 1:
        return []
    handed = [
        v for a in all_arguments(source.optimizer_calls[0])[:1] for v in (a, *flow(source).values(a, 3))
    ]
    calls = [c for v in handed for c in of(v, ast.Call) if last_name(c.func) in _PARAMETERS]
    # parameters that a loop shares out into the lists that the optimizer gets
    loops = [n for n in source.of(ast.For) if any(last_name(c.func) == "append" for c in of(n, ast.Call))]
    calls += [n.iter for n in loops if isinstance(n.iter, ast.Call) and last_name(n.iter.func) in _PARAMETERS]
    owners = [c.func.value for c in calls if isinstance(c.func, ast.Attribute)]
    return list(dict.fromkeys(unparse(o) for o in owners if isinstance(o, ast.Name)))[:1]


def _always_quiet(source: Script, function: Function | None, name: str) -> ast.AST | None:
    """The block without gradients, where the model runs in one and nothing else is done with it."""
    found: ast.AST | None = None
    for node in of(function or source.tree, ast.Name):
        if (
            node.id != name
            or not isinstance(node.ctx, ast.Load)
            or source.function_around(node) is not function
        ):
            continue
        above = source.parents.get(node)
        if isinstance(above, ast.Attribute):
            if above.attr in _IDLE or not _is_run(source, above):
                continue
            return None
        if not (isinstance(above, ast.Call) and above.func is node):
            if _is_handed_aside(source, node):
                continue
            return None
        statement = source.statement(above)
        block = next((p for p in source.above(above) if isinstance(p, ast.With) and untaped_block(p)), None)
        if block is None:
            return None
        if isinstance(statement, ast.Assign) and _reaches_backward(source, function, statement):
            found = found or block
    return found


def _is_run(source: Script, part: ast.AST) -> bool:
    """A part that is called or handed on may compute; the size of a layer and a layer that is set do not."""
    while isinstance(source.parents.get(part), ast.Attribute):
        part = source.parents[part]
    holder = source.parents.get(part)
    stored = isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
    size = isinstance(part, ast.Attribute) and part.attr.endswith(("features", "channels", "size", "dim"))
    return not stored and not (isinstance(holder, ast.Call) and holder.func is not part and size)


def _is_handed_aside(source: Script, node: ast.Name) -> bool:
    """Handed to a function of the script that takes no gradients, `evaluate(model, loader)`, or copied."""
    call = next((p for p in source.above(node) if isinstance(p, ast.Call)), None)
    if call is None:
        return False
    made = flow(source).functions.get(last_name(call.func), [])
    if made:
        return not any(b in set(of(f, ast.Call)) for f in made for b in source.backwards) and all(
            untaped_in(f) for f in made
        )
    return last_name(call.func) in ("deepcopy", "Adam", "AdamW", "SGD", "print", "save", "isinstance")


def _reaches_backward(source: Script, function: Function | None, statement: ast.Assign) -> bool:
    """A loop around the run holds a backward, too: it is a run of training."""
    loops = source.loops_around(statement)
    names = {n.id for t in statement.targets for n in of(t, ast.Name)}
    inside: ast.AST = loops[0] if loops else function or source.tree
    read = names_read(inside)
    later = [n for n in of(inside, ast.Name) if n.lineno > (statement.end_lineno or statement.lineno)]
    if any(n.id in names and isinstance(n.ctx, ast.Store) for n in later):
        return False  # `out = model(x)`, then `out = scale(out)`: what comes after the block may learn
    return any(inside in source.above(b) for b in source.backwards) and bool(names & read)


def _copied_outputs(source: Script, function: Function | None) -> ast.AST | None:
    """`out = [o.detach() for o in out]` before a loss of `out` that gradients are taken of."""
    for node in of(function or source.tree, ast.Assign):
        value, target = node.value, node.targets[0]
        if not isinstance(value, (ast.ListComp, ast.GeneratorExp)) or not isinstance(target, ast.Name):
            continue
        cut = [c for c in of(value.elt, ast.Call) if last_name(c.func) == "detach"]
        if not cut or unparse(value.generators[0].iter) != target.id:
            continue
        for call in of(function or source.tree, ast.Call):
            first = argument(call, position=0)
            if isinstance(first, ast.Name) and first.id == target.id and call.lineno > node.lineno:
                statement = source.statement(call)
                if isinstance(statement, ast.Assign) and "loss" in unparse(statement.targets[0]).lower():
                    if any(
                        last_name(b.func.value) == unparse(statement.targets[0])
                        or unparse(statement.targets[0]) in unparse(b)
                        for b in source.backwards
                        if isinstance(b.func, ast.Attribute) and source.function_around(b) is function
                    ):
                        return value
    return None


def output_always_cut(source: Script) -> Finding | None:
    """`fake = generator(z).detach()`, and the step of the generator scores the same `fake`.

    A network that an optimizer of its own holds, all of whose runs beside a `backward` are cut off where
    they are made: it gets no gradient at all.
    """
    if len(source.backwards) < 2 or len(source.optimizer_calls) < 2 or source.loose:
        return None
    around = {id(p) for b in source.backwards for p in source.loops_around(b)}
    for handed in source.optimizer_calls:
        holder = handed.args[0] if len(handed.args) else None
        if not isinstance(holder, ast.Call) or last_name(holder.func) != "parameters" or not around:
            continue
        name = unparse(holder.func.value) if isinstance(holder.func, ast.Attribute) else ""
        runs = [c for c in source.calls if unparse(c.func) == name]
        runs = [c for c in runs if any(id(p) in around for p in source.loops_around(c))]
        if runs and all(_cut_where_made(source, c) for c in runs):
            return at(source, runs[0], f"`{name}` is cut off here from all that its optimizer steps by")
    return None


def _cut_where_made(source: Script, run: ast.Call) -> bool:
    parent = source.parents.get(run)
    cut = isinstance(parent, ast.Attribute) and parent.attr in ("detach", "data")
    return cut or any(isinstance(p, ast.With) and untaped_block(p) for p in source.above(run))
