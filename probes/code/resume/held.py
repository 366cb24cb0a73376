"""Checkpoints in scripts, what is put into them against what is taken out: states, counts, the best so far.

Only where training is taken up again: the state of an optimizer or of a schedule is given back. What reads
weights alone evaluates, or starts another training.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import of, unparse
from ...readers.script import SCHEDULERS, argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok, outer_loop
from ..shared.nodes import assigned
from ..shared.units import loops_of_step

KINDS = (
    ("scaler", re.compile(r"scaler")),
    ("scheduler", re.compile(r"sched|lr_decay|warmup")),
    ("optimizer", re.compile(r"(?:^|_)(?:opt|optim\w*|optimi[sz]er\w*)(?:$|_)")),
    ("average", re.compile(r"(?:^|_)(?:ema|swa|averag\w*|shadow)(?:$|_)")),
)
_COUNT = re.compile(r"(?i)(?:^|_)(?:epochs?|steps?|iters?|iteration|update|round)(?:_|$)")
_BEST = re.compile(r"(?i)(?:^|_)best(?:_|$)")


@dataclass(frozen=True)
class Checkpoint:
    """A dict with states that is written to disk: its keys with their values."""

    node: ast.expr
    items: dict[str, ast.expr]

    def kinds(self, source: Script) -> dict[str, str]:
        """Keys of states -> whose they are."""
        calls = {k: v for k, v in self.items.items() if isinstance(v, ast.Call)}
        return {
            k: whose(source, v) for k, v in calls.items() if last_name(v.func) in ("state_dict", "get_state")
        }


def whose(source: Script, call: ast.Call) -> str:
    """Whose state a call is about, by the name that it is called on, or by what that name was given."""
    owner = source.owner(call)
    if (kind := kind_of(owner)) != "model":
        return kind
    if owner.lower() in source.optimizers:
        return "optimizer"
    return "scaler" if source.is_scaler(call.func) else kind


def kinds_of_call(source: Script, call: ast.Call) -> set[str]:
    """As `whose`; of a name that a loop gives, of all: `for part, key in ((opt, "o"), (scaler, "s"))`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    held = looped(source, owner) if isinstance(owner, ast.Name) else []
    return {kind_of(unparse(h)) for h in held} or {whose(source, call)}


def looped(source: Script, name: ast.Name) -> list[ast.expr]:
    """What a loop, or a comprehension, over a written-out tuple, list or dict gives a name."""
    for outer in source.above(name):
        loops = getattr(outer, "generators", [outer] if isinstance(outer, ast.For) else [])
        for loop in loops:
            rows = _rows(source, loop.iter)
            target = loop.target
            if isinstance(target, ast.Name) and target.id == name.id:
                return rows
            if isinstance(target, ast.Tuple) and name.id in (places := [unparse(e) for e in target.elts]):
                at = places.index(name.id)
                parts = [r.elts for r in rows if isinstance(r, (ast.Tuple, ast.List))]
                if len(parts) == len(rows) and all(len(p) > at for p in parts):
                    return [p[at] for p in parts]
    return []


def _rows(source: Script, over: ast.expr) -> list[ast.expr]:
    items = isinstance(over, ast.Call) and last_name(over.func) in ("items", "values")
    about = (
        over.func.value
        if items and isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute)
        else over
    )
    for value in (about, *flow(source).values(about, 3)):
        if isinstance(value, (ast.Tuple, ast.List)):
            return list(value.elts)
        if isinstance(value, ast.Dict) and items and last_name(over.func) == "values":  # type: ignore[attr-defined]
            return list(value.values)
        if isinstance(value, ast.Dict) and items:
            pairs = zip(value.keys, value.values, strict=True)
            return [ast.Tuple([k, v], ast.Load()) for k, v in pairs if k is not None]
    return []


def kind_of(owner: str) -> str:
    """Whose state it is, by the last name: "self.opt", "unwrap(self.opt)" -> "optimizer"; else a model's."""
    name = owner.rstrip("()[]'\"").split(".")[-1].lower()
    return next((k for k, word in KINDS if word.search(name)), "model")


def states_astray(source: Script) -> Finding | None:
    """What a checkpoint holds and what is taken out of it disagree."""
    seen = None
    for kept in _checkpoints(source):
        kinds = kept.kinds(source)
        loads = source.named("load_state_dict", "set_state")
        given = {k: c for c in loads for k in kinds_of_call(source, c)}
        back = next((given[k] for k in ("optimizer", "scheduler") if k in given), None)
        if back is None or source.loose or not _is_read(source):
            continue
        seen = seen or back
        read = _keys_read(source)
        for why in (
            _weights_left(kinds, given, read),
            _no_optimizer(source, kinds),
            _schedule_left(source, kinds, given),
        ):
            if why:
                return at(source, back, why)
        for node, why in (*_count_left(source, kept, read), *_best_left(source, kept, read)):
            return at(source, node, why)
    for node, why in (*_client_left(source), *_states_unread(source)):
        return at(source, node, why)
    for node, name in _taken_up_in_vain(source):
        return at(source, node, f"{name} is taken out of the checkpoint, and training does not go on from it")
    return ok(source, seen, "what is saved is given back") if seen is not None else None


def left_out_of_state(source: Script) -> ast.Call | None:
    """A schedule that training moves, and that neither `prepare` nor `register_for_checkpointing` knows of.

    `accelerator.load_state(folder)` takes training up again; a schedule that is told where it is, or whose
    own state is loaded, is left aside.
    """
    back = [c for c in source.named("load_state") if "accelerator" in source.owner(c).lower()]
    saved = [c for c in source.named("save_state") if "accelerator" in source.owner(c).lower()]
    if not back or not saved or source.loose or "last_epoch" in source.code:
        return None
    known = [
        a for c in source.named("prepare", "prepare_scheduler", "register_for_checkpointing") for a in c.args
    ]
    if any(not isinstance(a, (ast.Name, ast.Attribute)) for a in known):
        return None
    names = {last_name(a) for a in known}
    moved = [c for c in source.named("step") if whose(source, c) == "scheduler"]
    if any(c.args or c.keywords for c in moved):
        return None
    given = {source.owner(c).split(".")[-1] for c in source.named("load_state_dict")}
    for node in source.of(ast.Assign):
        made = node.value if isinstance(node.value, ast.Call) else None
        if made is None or len(node.targets) != 1 or last_name(made.func).lower() not in SCHEDULERS:
            continue
        name = last_name(node.targets[0])
        if name not in names | given and any(source.owner(c).split(".")[-1] == name for c in moved):
            return made
    return None


def _checkpoints(source: Script) -> Iterator[Checkpoint]:
    """Dicts with the state of a model."""
    for found in _dicts(source):
        if "model" in found.kinds(source).values():
            yield found


def _dicts(source: Script) -> Iterator[Checkpoint]:
    """Dicts of several items, all of which are known."""
    for node in source.of(ast.Dict, ast.Call):
        items: dict[str, ast.expr] = {}
        if isinstance(node, ast.Dict):
            spread = [_dict(source, v) for k, v in zip(node.keys, node.values, strict=True) if k is None]
            if None in spread:
                continue  # more may come with `**rest`
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    items[key.value] = value
            for more in spread:
                items |= more or {}
        elif isinstance(node, ast.Call) and last_name(node.func) == "dict" and not node.args:
            if all(k.arg for k in node.keywords):
                items = {str(k.arg): k.value for k in node.keywords}
        found = Checkpoint(node, items)
        if len(items) > 1 and not _grows(source, node):
            yield found


def _dict(source: Script, node: ast.expr) -> dict[str, ast.expr] | None:
    """The items of a dict that a name was given, as written; None where it is not known."""
    given = flow(source).whole_given(node) if isinstance(node, ast.Name) else None
    value = given or node
    if not isinstance(value, ast.Dict) or not all(isinstance(k, ast.Constant) for k in value.keys):
        return None
    return {
        str(k.value): v for k, v in zip(value.keys, value.values, strict=True) if isinstance(k, ast.Constant)
    }


def _states_unread(source: Script) -> Iterator[tuple[ast.AST, str]]:
    """The state of the optimizer or of the schedule is saved, and only other states are given back.

    Counts where a function gives back several states of one file, and the key stands nowhere else.
    """
    kept = [d for d in _dicts(source) if len({*d.kinds(source).values()}) > 1]
    read = _keys_read(source)
    for scope in source.of(ast.FunctionDef) if kept and not source.loose else ():
        back = [c for c in of(scope, ast.Call) if last_name(c.func) == "load_state_dict"]
        taken = {k for c in back for a in c.args for k in _item_keys(a)}
        kinds = {whose(source, c) for c in back}
        if len(taken) < 2 or not kinds & {"optimizer", "scheduler", "scaler"}:
            continue
        for one in kept:
            if len(taken & set(one.items)) < 2:
                continue
            for key in one.items:
                kind = kind_of(key)
                once = source.text.count(f'"{key}"') + source.text.count(f"'{key}'") < 2
                if kind in ("optimizer", "scheduler") and kind not in kinds and once and key not in read:
                    yield back[0], f"{key!r} is saved, and resuming gives back other states only"


def _client_left(source: Script) -> Iterator[tuple[ast.AST, str]]:
    """DeepSpeed's `client_state={"epoch": e, "best": b}`, of which a resumed run reads another part only."""
    backs = [c for c in source.named("load_checkpoint") if isinstance(source.statement(c), ast.Assign)]
    read = _keys_read(source)
    for call in source.named("save_checkpoint") if backs else ():
        given = keyword(call, "client_state")
        items = _dict(source, given) if given is not None else None
        if not items or not set(items) & read:
            continue
        kept = Checkpoint(call, items)
        yield from (*_count_left(source, kept, read), *_best_left(source, kept, read))


def _grows(source: Script, node: ast.AST) -> bool:
    """Items are put into the dict later: `state["scaler"] = scaler.state_dict()`, `state.update(...)`."""
    statement = source.statement(node)
    if not isinstance(statement, ast.Assign):
        return False
    name = unparse(statement.targets[0])
    items = (t for n in source.of(ast.Assign) for t in n.targets if isinstance(t, ast.Subscript))
    return any(unparse(t.value) == name for t in items) or any(
        source.owner(c) == name for c in source.named("update", "setdefault")
    )


def _is_read(source: Script) -> bool:
    """A checkpoint is opened, and what is in it is taken by its names, not in a loop over all of them."""
    loops = (unparse(n) for n in source.of(ast.For))
    if any(source.owner(c) == "super()" for c in source.named("load", "load_checkpoint", "load_state")):
        return False  # a base class that is not seen reads the rest
    return bool(source.named("load", "load_checkpoint", "safe_load")) and not any(
        "load_state_dict(" in text and "setattr" in text for text in loops
    )


def _keys_read(source: Script) -> set[str]:
    found = set()
    for node in source.of(ast.Subscript, ast.Call, ast.Compare):
        value: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            value = node.slice
        elif isinstance(node, ast.Call) and last_name(node.func) in ("get", "pop", "getattr", "attrgetter"):
            value = argument(node, position=0)
        elif isinstance(node, ast.Compare):
            value = node.left
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.add(value.value)
    return found


def _weights_left(kinds: dict[str, str], given: dict[str, ast.Call], read: set[str]) -> str:
    weights = [k for k, kind in kinds.items() if kind == "model"]
    if "optimizer" in given and "model" not in given and not any(k in read for k in weights):
        return "resuming gives the optimizer its state back, and not the model its weights"
    return ""


def _no_optimizer(source: Script, kinds: dict[str, str]) -> str:
    if "scheduler" in kinds.values() and "optimizer" not in kinds.values() and source.optimizer_calls:
        if not any(whose(source, c) == "optimizer" for c in source.named("state_dict")):
            return "the checkpoint holds the state of the schedule, and not that of the optimizer"
    return ""


def _schedule_left(source: Script, kinds: dict[str, str], given: dict[str, ast.Call]) -> str:
    """The optimizer comes back, and a schedule that counts its own steps starts anew."""
    if "optimizer" not in given or "optimizer" not in kinds.values() or "scheduler" in given:
        return ""
    if any(whose(source, c) == "scheduler" for c in source.named("state_dict", "step_update")):
        return ""
    built = [c for c in source.calls if last_name(c.func).lower() in SCHEDULERS]
    steps = [c for c in source.named("step") if whose(source, c) == "scheduler"]
    counts = steps and not any(c.args or c.keywords for c in steps)
    if not built or not counts or "last_epoch" in source.code or _by_choice(source, steps):
        return ""
    for call in steps:  # gone through up to where training was
        over = [unparse(n.iter) for n in source.loops_around(call) if isinstance(n, ast.For)]
        if any(re.search(r"range\([^,]*(?:start|first|begin|resum|init)[^,]*\)", o) for o in over):
            return ""
    return "resuming gives the optimizer its state back, and the schedule, which is not saved, starts anew"


def _by_choice(source: Script, steps: list[ast.Call]) -> bool:
    """`schedule = None`, and one only `if hp["restart_every"]:`: whether there is any is not known."""
    for call in steps:
        owner = receiver(call)
        given = flow(source).all_given(owner) if owner is not None else []
        values = [v for g in given for v in _branches(g.value)]
        if any(isinstance(v, ast.Constant) and v.value is None for v in values):
            return True
    return False


def _branches(value: ast.expr) -> tuple[ast.expr, ...]:
    return (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)


def _count_left(source: Script, kept: Checkpoint, read: set[str]) -> Iterator[tuple[ast.AST, str]]:
    """The epoch is saved and nothing reads it: the loop starts at a name that is only ever a constant."""
    counts = [k for k, v in kept.items.items() if _COUNT.search(k) and not isinstance(v, ast.Constant)]
    if not counts or any(k in read for k in counts):
        return
    for loop in source.of(ast.For):
        over = loop.iter
        while (
            isinstance(over, ast.Call) and last_name(over.func) in ("tqdm", "trange", "track") and over.args
        ):
            over = over.args[0]
        if not isinstance(over, ast.Call) or last_name(over.func) != "range" or len(over.args) != 2:
            continue
        start = over.args[0]
        if isinstance(start, (ast.Name, ast.Attribute)) and _is_ever_constant(source, start):
            yield loop, f"{counts[0]!r} is saved and never read: a resumed run counts from the start again"


def _is_ever_constant(source: Script, start: ast.expr) -> bool:
    name = last_name(start)
    given = [
        n.value
        for n in source.of(ast.Assign, ast.AnnAssign)
        for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
        if n.value is not None and last_name(t) == name
    ]
    for node in source.of(ast.Assign):
        for target in node.targets:
            for i, one in enumerate(target.elts if isinstance(target, ast.Tuple) else ()):
                if last_name(one) == name:  # `start, best = 0, 0.0`; what a call gives back is not known
                    parts = node.value.elts if isinstance(node.value, ast.Tuple) else []
                    given.append(parts[i] if i < len(parts) else node.value)
    changed = any(last_name(n.target) == name for n in source.of(ast.AugAssign))
    return bool(given) and not changed and all(isinstance(v, ast.Constant) for v in given)


def _best_left(source: Script, kept: Checkpoint, read: set[str]) -> Iterator[tuple[ast.AST, str]]:
    """The best figure so far is saved, nothing reads it, and a comparison decides by it what is kept."""
    for key, value in kept.items.items():
        if not _BEST.search(key) or key in read or not isinstance(value, (ast.Name, ast.Attribute)):
            continue
        name = last_name(value)
        for node in source.of(ast.Compare):
            sides = [node.left, *node.comparators]
            judged = any(isinstance(s, (ast.Name, ast.Attribute)) and last_name(s) == name for s in sides)
            if judged and any(isinstance(p, ast.If) for p in source.above(node)):
                yield node, f"{key!r} is saved and never read: a resumed run keeps worse weights for the best"
                break


def _taken_up_in_vain(source: Script) -> Iterator[tuple[ast.AST, str]]:
    """`start = state["epoch"] + 1` that nothing reads, or that is set to a number again right after."""
    loop = outer_loop(source)
    counted = isinstance(loop, ast.For) and "range(" in unparse(loop.iter)
    if not counted or len(loops_of_step(source)) < 2:
        return  # the loop over epochs may stand in another program, which reads it
    pairs = [(n, t, v) for n in source.of(ast.Assign) for t, v in assigned(n)]
    for node, target, value in pairs:
        key = next((k for k in _item_keys(value) if _COUNT.search(k)), None)
        if key is None or len(node.targets) != 1 or not _gives_state_back(source, node):
            continue
        own = isinstance(target, ast.Attribute) and unparse(target.value) == "self"
        if not (isinstance(target, ast.Name) or own):
            continue  # what another object is told
        name = last_name(target)
        read = [
            n
            for n in source.of(ast.Name, ast.Attribute)
            if last_name(n) == name and isinstance(n.ctx, ast.Load) and not _is_logged(source, n)
        ]
        told = any(isinstance(m, ast.Constant) for m in source.mentions.get(name, ())) and name != key
        if not read and not told:
            yield node, name
        elif (again := _set_again(source, node, target)) is not None:
            yield again, name


def _item_keys(value: ast.expr) -> Iterator[str]:
    for n in of(value, ast.Subscript, ast.Call):
        inner = (
            n.slice
            if isinstance(n, ast.Subscript)
            else n.args[0]
            if n.args and last_name(n.func) == "get"
            else None
        )
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def _gives_state_back(source: Script, node: ast.AST) -> bool:
    scope = source.function_around(node) or source.tree
    return any(
        whose(source, c) in ("optimizer", "scheduler")
        for c in of(scope, ast.Call)
        if last_name(c.func) == "load_state_dict"
    )


def _is_logged(source: Script, node: ast.AST) -> bool:
    """It stands in a line for a log: `logger.info(f"at {epoch}")`, `print(epoch)`."""
    for parent in source.above(node):
        if isinstance(parent, ast.stmt):
            break
        if isinstance(parent, ast.Call) and re.search(
            r"(?i)print|log|info|write|format|echo", last_name(parent.func)
        ):
            return True
    return False


def _set_again(source: Script, node: ast.Assign, target: ast.expr) -> ast.AST | None:
    """`self.load(path)` gives the count, and the statements after it set it to a number."""
    function = source.function_around(node)
    if function is None or function.name == "__init__" or not unparse(target).startswith("self."):
        return None
    for call in flow(source).calls_of(function):
        if source.owner(call) != "self" or source.class_around(call) is not source.class_around(node):
            continue
        place: ast.AST | None = source.statement(call)
        while place is not None and not isinstance(source.parents.get(place), (ast.FunctionDef, ast.Module)):
            place = source.parents.get(place)
        around = source.parents.get(place) if place is not None else None
        body = around.body if isinstance(around, ast.FunctionDef) else []
        for later in body[body.index(place) + 1 :] if place in body else []:
            if isinstance(later, ast.Assign) and isinstance(later.value, ast.Constant):
                if any(unparse(t) == unparse(target) for t in later.targets):
                    return later
    return None
