"""The order of samples in scripts: shuffling and sorting."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, probe, unframed
from ...scripts.flow import flow
from ...scripts.learning import taken, takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, first, imports_locals, ok, outer_loop, runs_in
from ..shared.nodes import is_false
from ..shared.roles import base, targets
from ..shared.sides import either
from .asked import shuffle_switched_off
from .orders_kept import pipeline_keeps_order
from .streams_in_order import stream_in_order

_SHUFFLES = (
    "shuffle",
    "shuffle_",
    "randperm",
    "permutation",
    "permuted",
    "RandomSampler",
    "WeightedRandomSampler",
)
_DRAWS = ("choice", "choices", "randint", "integers", "sample", "randrange", "multinomial")


@probe()
@unframed
def no_shuffling(view: View) -> Finding:
    """A loop over slices of the data, and nothing in the script that puts them into another order.

    Draws of random indices count where batches are made: in the training loop, or in what it loops over.
    """
    return first(
        view,
        either(_no_shuffling, pipeline_keeps_order, stream_in_order, shuffle_switched_off),
        "the scripts do not show how batches are drawn",
    )


def _no_shuffling(source: Script) -> Finding | None:
    if not source.trains_by_hand or source.named("DataLoader"):
        return None
    scopes = _where_batches_are_made(source)
    shuffled = [*source.named(*_SHUFFLES), *(c for c in source.calls if _is_true(keyword(c, "shuffle")))]
    shuffled += [c for c in source.calls if "shuffle" in last_name(c.func).lower()]  # a function of its own
    drawn = [c for c in source.named(*_DRAWS) if any(c in walk(s) for s in scopes)]
    if shuffled or drawn:
        return ok(source, (shuffled or drawn)[0], "the script draws batches at random")
    if not scopes or imports_locals(source) or "sampler" in source.text.lower():
        return None
    if any(_carries_on(n) for s in scopes for n in walk(s)):
        return None  # the state of one batch goes into the next: their order is that of the text
    loops = [n for s in scopes for n in of(s, ast.For, ast.comprehension) if _strides(n.iter)]
    found = next((n for n in loops if _steps_in(source, n)), None)
    if found is None:
        return None
    place = found.iter if isinstance(found, ast.comprehension) else found
    return at(source, place, "batches are taken in file order and nothing shuffles them")


def _carries_on(node: ast.AST) -> bool:
    """`out, state = model(x, state)`: what comes out is given in again."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.value.args) > 1):
        return False
    if not isinstance(node.targets[0], ast.Tuple):
        return False
    out = {n.id for n in node.targets[0].elts if isinstance(n, ast.Name)}
    return any(isinstance(a, ast.Name) and a.id in out for a in node.value.args[1:])


def _where_batches_are_made(source: Script) -> list[ast.AST]:
    """The loops around the training step, and the functions that such a loop goes over."""
    outer, inner = outer_loop(source), source.train_loop
    found: list[ast.AST] = [s for s in (inner, outer) if s is not None]
    functions = {n.name: n for n in source.of(ast.FunctionDef)}
    steps = {source.function_name(b) for b in taken(source)} - {""}
    loops = [n for n in source.of(ast.For) if any(last_name(c.func) in steps for c in of(n, ast.Call))]
    found += loops
    over = [n.iter for s in found for n in of(s, ast.For, ast.comprehension)]
    for call in [c for o in over for c in of(o, ast.Call)]:
        name = _handed_on(source, call)
        if name in functions:
            found.append(functions[name])
    found += [f for o in over if isinstance(o, ast.Name) for f in _listed_by(source, o)]
    return found


def _listed_by(source: Script, over: ast.Name) -> Iterator[ast.AST]:
    """The function that lists the batches which a training loop goes over: `batches = chunks(rows)`."""
    loop = source.parents.get(over)
    if not isinstance(loop, ast.For) or not takes_gradients(source, loop):
        return
    for end in flow(source).values(over, 4):
        around = source.function_around(end)
        if isinstance(end, ast.ListComp) and around is not None:
            yield around


def _handed_on(source: Script, call: ast.Call) -> str:
    """The function that a call runs: `feed()` of `feed = partial(batches, rows)` runs `batches`."""
    made = flow(source).whole_given(call.func)
    if isinstance(made, ast.Call) and last_name(made.func) == "partial" and made.args:
        return last_name(made.args[0])
    return last_name(call.func)


def _steps_in(source: Script, loop: ast.For | ast.comprehension) -> bool:
    """Not so where gradients are taken in the loop and used behind it: pieces of one whole, in any order."""
    within = [b for b in source.backwards if loop in source.above(b)]
    return not within or not source.steps or any(runs_in(source, s, loop) for s in source.steps)


def _strides(node: ast.expr) -> bool:
    """`range(0, len(x), batch)`."""
    return isinstance(node, ast.Call) and last_name(node.func) == "range" and len(node.args) == 3


def _first_key_is_no_label(call: ast.Call) -> bool:
    """`df.sort_values([IMAGE, CLASS])`: by something else first."""
    keys = call.args[0] if last_name(call.func) == "sort_values" and call.args else None
    return (
        isinstance(keys, (ast.List, ast.Tuple))
        and len(keys.elts) > 1
        and not re.search(r"(?i)label|target|class", unparse(keys.elts[0]))
    )


def _of_set(source: Script, call: ast.Call) -> bool:
    """`names = list(set(labels))`, `names.sort()`, `sorted(list(seen))` of a set: the names of classes."""
    owner = receiver(call)
    about = [owner] if isinstance(owner, ast.Name) else []
    if isinstance(call.func, ast.Name):
        about += [n for a in call.args[:1] for n in of(a, ast.Name)]
    ends = [e for n in about for e in flow(source).values(n, 3)]
    return any(re.search(r"\bset\(|unique\(|\.keys\(\)", unparse(e)) for e in ends)


_FILES = re.compile(r"(?i)\b(?:r?glob|scandir|walk)\(|\bpath\.join\(|(?:file|path)(?:name)?s?\b")


def _of_files(source: Script, call: ast.Call) -> bool:
    """`sorted(target_path.glob("*.tif"))`, `label_files.sort()`: files by their names, to be read in step.

    The folder's name is that of a class at times: a key that asks for it, or for a label, still counts.
    """
    key = keyword(call, "key")
    if key is not None and re.search(r"(?i)label|class|target|parent|dirname", unparse(key)):
        return False
    sorted_ = call.args[0] if last_name(call.func) == "sorted" and call.args else None
    given = sorted_ or receiver(call)
    if given is None:
        return False
    return any(_FILES.search(unparse(e)) for e in (given, *flow(source).values(given, 2)))


def _along_rows(call: ast.Call) -> bool:
    """`t.sort(dim=-1)`: each row for itself, the samples stay where they are."""
    along = keyword(call, "dim") or keyword(call, "axis")
    return (
        along is not None and unparse(along) != "0" and last_name(call.func) in ("sort", "argsort", "sort_")
    )


def _is_true(node: ast.expr | None) -> bool:
    return node is not None and not is_false(node)


@probe()
@unframed
def sorts_training_data(view: View) -> Finding:
    """Training samples are put into the order of their labels, and nothing shuffles them afterwards."""
    return first(view, _sorts, "the scripts do not order samples")


def _sorts(source: Script) -> Finding | None:
    names = targets(source)
    for call in source.named("argsort", "sort", "sorted", "sort_values", "sort_"):
        text = unparse(call).lower()
        parent = source.parents.get(call)
        kept = (
            isinstance(parent, ast.Assign)
            and base(parent.targets[0]) in names
            and last_name(call.func) in ("sort", "sort_values")
        )
        labelled = any(w in text for w in ("label", "target", "y_train", "train_y", "ytr", "class"))
        if not (labelled or kept):
            continue
        if any(w in text for w in ("set(", "unique", "pred", "logit", "score", ".keys(", ".items(", "dir(")):
            continue
        if re.search(r"classes|labels?_?(?:list|names|set|vocab)|class_names", text) and not kept:
            continue
        if _first_key_is_no_label(call) or _of_set(source, call):
            continue
        if re.search(r"variables?\b|param|weight|\.name\b", text) or _along_rows(call):
            continue  # variables by their names; the columns of one row
        if _of_files(source, call) or _only_looked_at(source, call):
            continue
        if _within_batch(source, call):
            continue
        loop = outer_loop(source)
        shuffles = [*source.named(*_SHUFFLES), *(c for c in source.calls if _is_true(keyword(c, "shuffle")))]
        later = [c for c in shuffles if c.lineno > call.lineno]
        if later and not (loop is not None and runs_in(source, call, loop)):
            return ok(source, later[0], "samples are sorted and shuffled later")
        return at(source, call, "samples are put into the order of their labels")
    return None


def _only_looked_at(source: Script, call: ast.Call) -> bool:
    """`if sorted(found) != sorted(known)`, `print(sorted(labels))`."""
    for parent in source.above(call):
        if isinstance(parent, (ast.Compare, ast.FormattedValue)):
            return True
        if isinstance(parent, ast.Call) and _TELLS.search(last_name(parent.func)):
            return True
    return False


_TELLS = re.compile(r"(?i)^(?:print|info|debug|warn\w*|log|echo|write)$|Error$|Exception$")


def _within_batch(source: Script, call: ast.Call) -> bool:
    """`torch.sort(labels)` of one batch in a training step, where order means nothing."""
    function = source.function_around(call)
    if source.owner(call) not in ("torch", "ops", "tf", "mint") or function is None:
        return False
    owner = source.class_around(call)
    steps = owner is not None and bool(source.loss_methods) and owner in source.modules
    return steps or (source.train_loop is not None and runs_in(source, call, source.train_loop))
