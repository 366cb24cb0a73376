"""Random draws that no seed reaches (none is set, or too late, or it is the time), and seeds of workers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok

_CLOCK = re.compile(r"\btime\b|urandom|getpid|datetime|secrets|uuid|SystemRandom|perf_counter")
# owners by which a seed is that of a library and not of one generator
_LIBRARIES = re.compile(
    r"(?:^|\.)(?:torch|th|cuda|npu|mps|random|np|numpy|tf|tensorflow|keras|utils|mindspore|ms|paddle|L|pl)$"
)
_ALL = re.compile(
    r"(?i)^(?:seed_everything|seed_all|set_seed|set_seeds|set_random_seed|set_global_seed\w*|fix_seed\w*|init_seeds?)$"
)
_SEEDS_ITSELF = ("TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig")


@probe()
def nothing_seeded(view: View) -> Finding:
    """A script trains, and its framework's random numbers are seeded nowhere, by the time, or too late.

    Seeding is any call that says so: `torch.manual_seed(0)`, `seed_everything(0)`, a helper of another
    module; not `torch.Generator().manual_seed(0)` or `random_state=0`, which seed one thing. Silent for what
    seeds itself (`TrainingArguments`) and where modules of the project are missing. False positive: runs are
    meant to differ.
    """
    return first(view, _unseeded, "the scripts do not train")


def _unseeded(source: Script) -> Finding | None:
    optimizers = source.optimizer_calls
    if not source.trains or source.loose or source.named(*_SEEDS_ITSELF) or "seed" in _words_given(source):
        return None
    if {"jax", "flax"} & set(source.frameworks):
        keys = source.named("PRNGKey", "key", "Rngs", "PRNGSequence")
        if keys:  # nothing is drawn there without a key
            return ok(source, keys[0], "the random numbers are drawn by keys")
    seeds = [c for c in source.calls if sets_seed(source, c)]
    mine = [c for c in seeds if _of_framework(source, c)]
    timed = [c for c in mine if not _fixed(source, c)]
    steady = [c for c in mine if c not in timed]
    if steady:
        late = _too_late(source, steady)
        if late is not None:
            return at(source, late, "this is drawn before the only seed is set")
        return ok(source, steady[0], "the random numbers are seeded")
    if timed:
        return at(source, timed[0], "the seed is another one in each run")
    listed = [n for n in source.of(ast.Attribute) if n.attr in _SETTERS and _is_listed(source, n)]
    if listed:
        return ok(source, listed[0], "the random numbers are seeded")
    start = next((c for c in source.calls if last_name(c.func) in {m.name for m in source.models}), None)
    place = start or (optimizers[0] if optimizers else None)
    if place is None:
        return None
    only = " (what is seeded is another library)" if seeds else ""
    return at(source, place, f"the weights are drawn, and nothing seeds the framework's random numbers{only}")


_SETTERS = ("manual_seed", "manual_seed_all", "set_random_seed", "set_seed")


def _is_listed(source: Script, setter: ast.AST) -> bool:
    """`for seed in (random.seed, torch.manual_seed): seed(0)`: what seeds is gone over, and called there."""
    return isinstance(source.parents.get(setter), (ast.Tuple, ast.List, ast.Set))


def _words_given(source: Script) -> set[str]:
    """Names of keywords that hand a seed to a trainer or a configuration of one."""
    calls = [
        c for c in source.calls if re.search(r"Trainer$|Engine$|Config$|Arguments$|Model$", last_name(c.func))
    ]
    return {k.arg for c in calls for k in c.keywords if k.arg}


def sets_seed(source: Script, call: ast.Call) -> bool:
    """The call sets a seed, and it is run: at the top, or in a function that something names."""
    name = last_name(call.func)
    if "seed" not in name.lower() or re.search(r"(?i)get_|worker|initial|split|next|seq$|_for_|from_", name):
        return False
    around = source.function_around(call)
    while around is not None:
        if _only_of_workers(source, around):
            return False
        around = source.function_around(around)
    return True


def _only_of_workers(source: Script, function: Function) -> bool:
    """The function seeds workers, or nothing calls it."""
    if source.class_around(function) is not None:
        return False
    uses = [n for n in source.of(ast.Name, ast.Attribute) if last_name(n) == function.name]
    if not uses and function.decorator_list:
        return False  # `@app.command()`, `@hydra.main()`: what it is handed to runs it
    given = [k.value for c in source.calls for k in c.keywords if k.arg == "worker_init_fn"]
    return all(any(use in walk(g) for g in given) for use in uses)


def _of_framework(source: Script, call: ast.Call) -> bool:
    """The seed is one for the library that draws the weights, or may be."""
    name = last_name(call.func)
    if name in ("seed", "manual_seed", "manual_seed_all"):
        owner = source.owner(call)
        if not owner:
            return True
        if name == "seed":
            of_torch = "torch" in owner and re.search(r"(?:^|\.)(?:torch|random)$", owner) is not None
            return of_torch or owner == "paddle"
        return bool(_LIBRARIES.search(_by_its_name(source, owner)))
    if name in {f.name for f in source.of(ast.FunctionDef)}:
        own = [f for f in source.of(ast.FunctionDef) if f.name == name]
        return any(not of(f, ast.Call) for f in own)  # what it calls is looked at by itself
    return True


def _by_its_name(source: Script, owner: str) -> str:
    """`t` of `import torch as t`: what it is called itself."""
    for one in source.of(ast.Import):
        for alias in one.names:
            if alias.asname == owner:
                return alias.name
    return owner


def _fixed(source: Script, call: ast.Call) -> bool:
    """The seed is given, and it is not the time."""
    given = [*call.args, *(k.value for k in call.keywords)]
    if not given:
        return last_name(call.func) not in ("seed",)
    texts = [unparse(g) for g in given]
    for argument in given:
        for name in of(argument, ast.Name):
            texts += [unparse(n.value) for n in source.of(ast.Assign) if unparse(n.targets[0]) == name.id]
            around = source.function_around(call)
            if around is not None and name.id in [a.arg for a in around.args.args]:
                texts += [unparse(a) for use in flow(source).calls_of(around) for a in use.args]
    return not any(_CLOCK.search(t) for t in texts)


def _too_late(source: Script, seeds: list[ast.Call]) -> ast.AST | None:
    """A model built in the same function or at the top before the first seed."""
    names = {m.name for m in source.models}
    return next((c for c in source.calls if last_name(c.func) in names and _before(source, c, seeds)), None)


def _before(source: Script, made: ast.Call, seeds: list[ast.Call]) -> bool:
    scope = source.function_around(made)
    if scope is None and source.class_around(made) is not None:
        return False
    lines = []
    for seed in seeds:
        line = _line_in(source, seed, scope)
        if line is None:
            return False
        lines.append(line)
    return bool(lines) and made.lineno < min(lines) and not _called_after(source, scope)


def _line_in(source: Script, seed: ast.Call, scope: Function | None, depth: int = 3) -> int | None:
    """The line of a scope at which a seed is set, there or by a function that it calls."""
    around = source.function_around(seed)
    if around is scope:
        return seed.lineno
    if around is None or not depth or source.class_around(around) is not None:
        return None
    uses = [c for c in flow(source).calls_of(around) if source.function_around(c) is scope]
    others = [c for c in flow(source).calls_of(around) if c not in uses]
    return min(c.lineno for c in uses) if uses and not others else None


def _called_after(source: Script, scope: Function | None) -> bool:
    """The function runs more than once, so that a seed of the first time may count."""
    if scope is None:
        return False
    return any(source.loops_around(c) for c in source.named(scope.name))


@probe()
def workers_repeat(view: View) -> Finding:
    """`worker_init_fn` seeds by the number of the worker alone: each epoch draws the same numbers again.

    Workers are started anew in each epoch unless `persistent_workers=True`. Silent where the seed holds
    anything that changes. False positive: one epoch is trained.
    """
    return first(view, _seeded_by_number, "the scripts seed no data-loader workers")


def same_seed(source: Script) -> Finding | None:
    """All workers get one seed: a number, a setting, or the state that all of them inherit."""
    seen: ast.AST | None = None
    for call, body, number in _of_workers(source):
        seen = seen or call
        for seeding in _sets(body):
            if seeding.args and _kind(source, body, number, seeding.args[0]) == "same":
                return at(source, seeding, "all workers draw the same random numbers")
    return ok(source, seen, "workers are seeded by their number") if seen is not None else None


def _seeded_by_number(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for call, body, number in _of_workers(source):
        seen = seen or call
        keywords = {k.arg: k.value for k in call.keywords}
        if "persistent_workers" in keywords or None in keywords:
            continue
        for seeding in _sets(body):
            if seeding.args and _kind(source, body, number, seeding.args[0]) == "number":
                return at(source, seeding, "each epoch starts the workers anew with these same seeds")
    return ok(source, seen, "seeds of workers change with the epoch") if seen is not None else None


def _of_workers(source: Script) -> Iterator[tuple[ast.Call, Function | ast.Lambda, str]]:
    """Loaders, the function that starts their workers, and the name of its number of the worker."""
    for call in source.named("DataLoader", "StatefulDataLoader"):
        given: ast.expr | None = next((k.value for k in call.keywords if k.arg == "worker_init_fn"), None)
        bound: list[str] = []
        placed = 0
        if isinstance(given, ast.Name) and not any(f.name == given.id for f in source.of(ast.FunctionDef)):
            ways = [n.value for n in source.of(ast.Assign) if unparse(n.targets[0]) == given.id]
            given = ways[0] if len(ways) == 1 else None
        if isinstance(given, ast.Call) and last_name(given.func) == "partial" and given.args:
            bound, placed = [k.arg for k in given.keywords if k.arg], len(given.args) - 1
            given = given.args[0]
        body: Function | ast.Lambda | None = given if isinstance(given, ast.Lambda) else None
        if isinstance(given, (ast.Name, ast.Attribute)):
            body = next((f for f in source.of(ast.FunctionDef) if f.name == last_name(given)), None)
        if body is None:
            continue
        names = [a.arg for a in body.args.args if a.arg not in (*bound, "self", "cls")][placed:]
        if names:
            yield call, body, names[0]


def _sets(body: Function | ast.Lambda) -> list[ast.Call]:
    """Seeds that are set in the function, in its order."""
    return [
        c
        for c in of(body, ast.Call)
        if last_name(c.func) in ("seed", "manual_seed", "seed_everything", "set_seed", "manual_seed_all")
    ]


_CHANGES = re.compile(r"(?i)epoch|step|iter|round|time|count")
_PLAIN = ("int", "abs", "str", "get_state", "hash", "tolist", "item", "min", "max", "len")


def _kind(source: Script, body: Function | ast.Lambda, number: str, seed: ast.expr, depth: int = 6) -> str:
    """What a seed follows: "same" in all workers, "number" of the worker, or "else", what nobody can tell."""
    kinds = set()
    for part in walk(seed):
        parent = source.parents.get(part)
        if isinstance(part, ast.Call) and last_name(part.func) not in _PLAIN:
            return "else"
        if isinstance(part, (ast.Name, ast.Attribute)) and _CHANGES.search(last_name(part)):
            return "else"
        if not isinstance(part, ast.Name) or (isinstance(parent, ast.Call) and parent.func is part):
            continue
        if part.id == number:
            kinds.add("number")
            continue
        given = [n.value for n in of(body, ast.Assign, ast.AugAssign, ast.AnnAssign) if _names(n, part.id)]
        counted = any(_names(n, part.id) for n in source.of(ast.AugAssign))
        if (given and not depth) or (counted and not given):
            return "else"
        kinds |= {_kind(source, body, number, one, depth - 1) for one in given if one is not None}
    return "else" if "else" in kinds else "number" if "number" in kinds else "same"


def _names(node: ast.Assign | ast.AugAssign | ast.AnnAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    told = [n for t in targets for n in walk(t)]
    return node.value is not None and any(isinstance(n, ast.Name) and n.id == name for n in told)
