"""Numbers that a script takes from the machine, where they change the order of the data or the batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok

_COUNTS = ("cpu_count", "sched_getaffinity", "process_cpu_count", "virtual_memory", "getloadavg")
_WORKERS = ("num_workers", "num_parallel_workers", "n_workers", "workers", "dataloader_num_workers")
_BATCH = re.compile(
    r"(?i)^(?:\w*batch_size\w*|accumulat\w*|grad\w*accum\w*|buffer_size|shuffle_buffer|num_shards|shards)$"
)
_HELD_OUT = re.compile(r"(?i)val|test|eval|dev\b|infer|predict")
_RANDOM = re.compile(
    r"\bRandom[A-Z]\w+|ColorJitter|AutoAugment|TrivialAugment|RandAugment|\bA\.\w*Flip|GaussNoise|get_worker_info"
    r"|RandomCrop|RandomErasing|Mixup"
)
_Known = dict[tuple[ast.expr, int], bool]  # what was told of a value, by how deep it was looked into
_DRAWS = re.compile(
    r"(?:^|\.)random\.\w+$|^(?:torch|th)\.(?:rand\w*|normal|bernoulli)$|^(?:self\.)?rng\.\w+$"
)


@probe()
def counts_of_machine(view: View) -> Finding:
    """The number of workers, the batch or the shuffle buffer of training data comes from the number of cores.

    Workers count where samples are drawn or changed at random in them, or where they divide the files: the
    order of samples or the random numbers differ between machines. Silent for held-out data, for pools that
    only read, and for threads. False positive: results need not be the same on another machine.
    """
    return first(view, _of_machine, "the scripts take no number of workers or batch from the machine")


def _of_machine(source: Script) -> Finding | None:
    counts = source.named(*_COUNTS)
    if not source.trains or not counts:
        return None
    drawn = _random_in_workers(source)
    known: _Known = {}
    for call in source.calls:
        for key in call.keywords:
            if key.arg is None or not _from_machine(source, key.value, known):
                continue
            if key.arg in _WORKERS and drawn and not _holds_out(source, call) and _loads(call):
                why = "the number of workers is that of the machine's cores, and samples are drawn in them"
                return at(source, key.value, why)
            if _BATCH.search(key.arg) and not _holds_out(source, call):
                return at(
                    source, key.value, f"{key.arg} is taken from the machine: it differs on another one"
                )
    for node in source.of(ast.Assign, ast.Dict):
        for name, value in _named_values(node):
            if _BATCH.search(name) and _from_machine(source, value, known):
                return at(source, value, f"{name} is taken from the machine: it differs on another one")
    for call in source.named("shuffle", "repeat"):
        if last_name(call.func) == "shuffle" and any(_from_machine(source, a, known) for a in call.args):
            return at(source, call, "the shuffle buffer is taken from the machine")
    return ok(source, counts[0], "what is taken from the machine changes no order and no batch")


def _named_values(node: ast.Assign | ast.Dict) -> list[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        return [(last_name(t), node.value) for t in node.targets if isinstance(t, (ast.Name, ast.Attribute))]
    return [
        (str(k.value), v) for k, v in zip(node.keys, node.values, strict=False) if isinstance(k, ast.Constant)
    ]


def _loads(call: ast.Call) -> bool:
    """A loader of data, or settings of one, and no pool."""
    return not re.search(r"Pool|Executor|Process", last_name(call.func))


def _holds_out(source: Script, call: ast.Call) -> bool:
    statement = source.statement(call)
    targets = " ".join(map(unparse, getattr(statement, "targets", [])))
    first_ = unparse(call.args[0]) if call.args else ""
    named = f"{targets} {first_}"
    return bool(_HELD_OUT.search(named)) and not re.search(r"(?i)train", named)


def _random_in_workers(source: Script) -> bool:
    """Data sets draw random numbers, in `__getitem__`, `__iter__` or in the transforms that they apply."""
    if any(_RANDOM.search(unparse(c.func)) for c in source.calls):
        return True
    for owner in source.classes.values():
        methods = {n.name for n in owner.body if isinstance(n, ast.FunctionDef)}
        if methods & {"__getitem__", "__iter__"} and "forward" not in methods:
            if any(_DRAWS.search(unparse(c.func)) for c in of(owner, ast.Call)):
                return True
    return False


def _from_machine(source: Script, node: ast.expr, known: _Known, depth: int = 5) -> bool:
    """The value is computed from the number of cores, whatever way it takes there."""
    key = (node, depth)
    if key not in known:
        known[key] = _is_from_machine(source, node, known, depth)
    return known[key]


def _is_from_machine(source: Script, node: ast.expr, known: _Known, depth: int) -> bool:
    if any(isinstance(n, ast.Call) and last_name(n.func) in _COUNTS for n in walk(node)):
        return True
    if depth == 0:
        return False
    mine = flow(source)
    for part in walk(node):
        ways: Sequence[ast.expr]
        if isinstance(part, (ast.Name, ast.Attribute)):
            ways = [g.value for g in mine.all_given(part)] + mine.arguments(part) + _defaults(source, part)
            if isinstance(part, ast.Attribute) and not ways:
                ways = _settings(source).get(part.attr, ())
        elif isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant):
            ways = _settings(source).get(str(part.slice.value), ())
        else:
            continue
        if any(w is not node and _from_machine(source, w, known, depth - 1) for w in ways):
            return True
    return False


def _defaults(source: Script, node: ast.expr) -> list[ast.expr]:
    """What a parameter is where a caller does not say: `def loader(rows, workers=os.cpu_count())`."""
    function = source.function_around(node)
    if not isinstance(node, ast.Name) or function is None:
        return []
    args = function.args
    last = [*args.posonlyargs, *args.args][-len(args.defaults) :] if args.defaults else []
    pairs = [*zip(last, args.defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return [value for arg, value in pairs if arg.arg == node.id and value is not None]


@lru_cache(maxsize=16)
def _settings(source: Script) -> dict[str, list[ast.expr]]:
    """What each field of a data class, option and key of a configuration is given, by its name."""
    found: dict[str, list[ast.expr]] = {}
    for owner in source.classes.values():
        for node in owner.body:
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                found.setdefault(unparse(node.target), []).append(node.value)
    for call in source.named("add_argument"):
        flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        for name in dict.fromkeys(f.lstrip("-").replace("-", "_") for f in flags):
            found.setdefault(name, []).extend(k.value for k in call.keywords if k.arg == "default")
    for table in source.of(ast.Dict):
        for name, value in _named_values(table):
            found.setdefault(name, []).append(value)
    return found
