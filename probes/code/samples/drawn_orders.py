"""Orders by chance in scripts that change nothing: drawn and left, sorted again, or alike in each epoch."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, gone_over, ok, outer_loop, runs_in
from ..shared.nodes import is_handed_to
from ..shared.sides import literal, side, stem

_DRAWS = ("permutation", "randperm")
_KEEPS = ("tolist", "numpy", "to", "cuda", "long", "list", "cpu", "astype")


def order_left(source: Script) -> Finding | None:
    """`order = randperm(n)`, and nothing reads `order`: samples come as they are stored."""
    seen: ast.AST | None = None
    for call in source.named(*_DRAWS):
        made = source.statement(call)
        if not isinstance(made, ast.Assign) or not isinstance(made.targets[0], ast.Name):
            continue
        name, scope = made.targets[0].id, source.function_around(made)
        if not _plain(made.value, call):
            continue
        seen = seen or call
        around = scope or source.tree
        reads = [n for n in of(around, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        read = any(not is_handed_to(source, n, "len") for n in reads)
        shared = any(name in n.names for n in of(around, ast.Global, ast.Nonlocal))
        indirect = any(isinstance(c.func, ast.Name) and c.func.id in _INDIRECT for c in source.calls)
        if read or shared or indirect or not _feeds(source, made):
            continue
        return at(source, call, f"`{name}` is drawn and never used: samples come as they are stored")
    return ok(source, seen, "the order that is drawn is used") if seen is not None else None


_INDIRECT = ("locals", "globals", "vars", "eval", "exec")


def _feeds(source: Script, made: ast.Assign) -> bool:
    """The order is drawn for batches: in the training loop, or in a generator of batches."""
    loop = outer_loop(source)
    if loop is not None and runs_in(source, made, loop):
        return True
    scope = source.function_around(made)
    return scope is not None and any(True for _ in of(scope, ast.Yield))


def _plain(value: ast.expr, call: ast.Call) -> bool:
    """The draw alone, in whatever type: `torch.randperm(n).tolist()`."""
    while value is not call:
        if not isinstance(value, ast.Call) or last_name(value.func) not in _KEEPS:
            return False
        owner = receiver(value)
        value = owner if isinstance(owner, ast.Call) else value.args[0] if value.args else call
    return True


def order_sorted_again(source: Script) -> Finding | None:
    """`sorted(torch.randperm(n).tolist())`: all places in their order, as without the draw."""
    for call in source.named("sorted", "sort"):
        held = call.args[0] if call.args else getattr(call.func, "value", None)
        if not isinstance(held, ast.Call) or any(k.arg == "key" for k in call.keywords):
            continue
        draws = [c for c in of(held, ast.Call) if last_name(c.func) in _DRAWS]
        if len(draws) == 1 and _plain(held, draws[0]) and len(draws[0].args) == 1:
            return at(source, call, "the order that was drawn is sorted again")
    return None


def seeded_each_epoch(source: Script) -> Finding | None:
    """`np.random.seed(1)` in the loop over epochs, before an order is drawn: each epoch has the same."""
    loop = outer_loop(source)
    if not isinstance(loop, ast.For) or not takes_gradients(source, loop):
        return None
    changing = names_in(loop.target)
    inside = [n for s in loop.body for n in walk(s)]
    written = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for call in loop.body:
        seed = call.value if isinstance(call, ast.Expr) else None
        if not isinstance(seed, ast.Call) or not re.fullmatch(
            r"(?:np|numpy|random|torch)(?:\.random)?\.(?:seed|manual_seed)", unparse(seed.func)
        ):
            continue
        used = {n.id for a in seed.args for n in of(a, ast.Name)}
        calls = any(True for a in seed.args for _ in of(a, ast.Call))
        if not seed.args or calls or used & (changing | written):
            continue
        library = unparse(seed.func).split(".")[0]
        draws = [
            n
            for n in inside
            if isinstance(n, ast.Call)
            and last_name(n.func) in (*_DRAWS, "shuffle")
            and unparse(n.func).split(".")[0] == library
            and n.lineno > seed.lineno
        ]
        if draws and not any(n.lineno < draws[0].lineno for n in _inner(loop) if n.lineno > seed.lineno):
            return at(source, seed, "the seed is set anew in each epoch, so that all have the same order")
    return None


_SEEDS = re.compile(
    r"^(?:manual_seed|set_seed|seed_everything|seed_all|fix_seed|set_random_seed|setup_seed)$"
)
_EPOCHS = re.compile(r"(?i)epoch")


def loader_seeded_each_epoch(source: Script) -> Finding | None:
    """`torch.manual_seed(0)` in the loop over epochs, before the loader that shuffles is gone over.

    Also the loader's own generator, and generators made anew in each epoch, which all draw one order:
    `DataLoader(data, shuffle=True, generator=Generator().manual_seed(0))`, `default_rng(0).permutation(n)`.
    """
    loop = outer_loop(source)
    if not isinstance(loop, ast.For) or not (
        _EPOCHS.search(unparse(loop.target)) or _EPOCHS.search(unparse(loop.iter))
    ):
        return None
    asked = [c for c in source.calls if _SEEDS.match(last_name(c.func)) or _fresh_order(source, c)]
    inside = [c for c in asked if _in_round(source, c, loop)]
    for call in inside:
        name = last_name(call.func)
        if _fresh_order(source, call) and not _held_out_order(source, call):
            return at(source, call, "the generator is made anew in each epoch: all have the same order")
        if (
            not _SEEDS.match(name)
            or not isinstance(source.parents.get(call), ast.Expr)
            or not _steady(source, call)
        ):
            continue
        for inner in source.of(ast.For):
            if inner is loop or not _in_round(source, inner, loop) or not takes_gradients(source, inner):
                continue
            around = source.function_around(inner)
            same = source.function_around(call) is around
            if same and (inner in source.above(call) or call.lineno > inner.lineno):
                continue
            if _shuffled_by(source, gone_over(inner.iter), call):
                return at(source, call, "the seed is set anew in each epoch, so that all have the same order")
    return None


def _in_round(source: Script, node: ast.AST, loop: ast.For) -> bool:
    """It stands in the loop over epochs, or in a function that this loop calls by its plain name.

    `model.train()` calls no function `train` of the script.
    """
    if loop in source.above(node):
        return True
    function = source.function_around(node)
    outside = function is not None and function not in source.above(loop)
    calls = flow(source).calls_of(function) if function is not None and outside else ()
    return any(loop in source.above(c) and source.owner(c) in ("", "self") for c in calls)


def _steady(source: Script, call: ast.Call) -> bool:
    """The seed is a number or a setting: nothing of the epoch, or of a count, is in it."""
    given = [*call.args, *(k.value for k in call.keywords)]
    if len(given) != 1 or of(given[0], ast.Call, ast.BinOp):
        return False
    if isinstance(given[0], ast.Constant):
        return True
    if isinstance(given[0], ast.Attribute):
        return re.fullmatch(r"(?i)seed|random_?seed|random_state", given[0].attr) is not None
    ways = flow(source).values(given[0], 4)
    return bool(ways) and all(isinstance(w, (ast.Constant, ast.Attribute)) for w in ways)


def _shuffled_by(source: Script, over: ast.expr, seed: ast.Call) -> bool:
    """The loader shuffles by what is seeded: the library's generator, or its own where that is meant."""
    made = [v for v in flow(source).values(over, 5) if isinstance(v, ast.Call)]
    loaders = [m for m in made if last_name(m.func) == "DataLoader"]
    if len(loaders) != 1:
        return False
    given = {k.arg: k.value for k in loaders[0].keywords}
    if "sampler" in given or "batch_sampler" in given or None in given:
        return False
    shuffle = given.get("shuffle") or argument(loaders[0], position=2)
    if literal(source, shuffle) is not True:
        return False
    owner = source.owner(seed)
    if "generator" in given:
        return owner != "" and unparse(given["generator"]) == owner
    return owner in ("", "torch", "torch.random") or owner.split(".")[-1] in ("utils", "pl", "L", "lightning")


def _fresh_order(source: Script, call: ast.Call) -> bool:
    """An order by a generator that is made there, with a number: `default_rng(0).permutation(n)`."""
    name = last_name(call.func)
    if name == "DataLoader":
        made = keyword(call, "generator")
        shuffles = literal(source, keyword(call, "shuffle")) is True
        return shuffles and made is not None and _seeded_there(source, made)
    if name in (*_DRAWS, "shuffle"):
        made = keyword(call, "generator") or (receiver(call))
        return isinstance(made, ast.Call) and _seeded_there(source, made)
    return False


def _seeded_there(source: Script, made: ast.expr) -> bool:
    if not isinstance(made, ast.Call) or not _steady(source, made):
        return False
    if last_name(made.func) in ("default_rng", "RandomState", "Random"):
        return True
    built = receiver(made)
    return last_name(made.func) == "manual_seed" and isinstance(built, ast.Call)


def _held_out_order(source: Script, call: ast.Call) -> bool:
    """What is drawn is for held-out data, or a part of them that is looked at."""
    statement = source.statement(call)
    told = " ".join(unparse(t) for t in getattr(statement, "targets", ()))
    return (
        side(told) is False
        or re.search(r"(?i)eval|val|test|plot|show|vis|sampl", source.function_name(call)) is not None
    )


def _inner(loop: ast.For) -> list[ast.stmt]:
    """Loops in the loop over epochs: what they draw comes after the batches."""
    return [s for s in loop.body if isinstance(s, (ast.For, ast.While))]


def copy_shuffled(source: Script) -> Finding | None:
    """`random.shuffle(list(batches))`: a copy is shuffled, and nobody gets it."""
    for call in source.named("shuffle"):
        if source.owner(call) not in ("random", "np.random", "numpy.random") or len(call.args) != 1:
            continue
        held = call.args[0]
        copies = isinstance(held, ast.Call) and last_name(held.func) in (
            "list",
            "sorted",
            "copy",
            "deepcopy",
            "tolist",
        )
        if copies and isinstance(source.parents.get(call), ast.Expr):
            return at(source, call, "a copy is shuffled and thrown away: samples come as they were")
    return None


def held_out_list_shuffled(source: Script) -> Finding | None:
    """`random.shuffle(dev_batches)` in the loop over epochs, and nothing shuffles what it trains on."""
    loop = outer_loop(source)
    if loop is None:
        return None
    inside = [n for s in loop.body for n in walk(s)]
    calls = [c for c in source.named(*_DRAWS, "shuffle", "sample", "choice", "RandomSampler") if c.args]
    mixes = [c for c in calls if c in inside and isinstance(source.parents.get(c), ast.Expr)]
    if len(mixes) != 1 or source.loose or "shuffle=" in source.code or "ampler" in source.code:
        return None
    if not isinstance(mixes[0].args[0], ast.Name) or any(c is not mixes[0] and c in inside for c in calls):
        return None
    held = mixes[0].args[0].id
    trained = [
        n.iter.id
        for n in inside
        if isinstance(n, ast.For) and isinstance(n.iter, ast.Name) and takes_gradients(source, n)
    ]
    if side(held) is not False or len(trained) != 1 or trained[0] == held:
        return None
    others = [c for c in calls if c is not mixes[0] and trained[0] in unparse(c)]
    if others or stem(held) != stem(trained[0]):
        return None
    return at(source, mixes[0], f"`{held}` is shuffled, and `{trained[0]}`, which is trained on, is not")
