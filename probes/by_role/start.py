"""What training starts from and what of it moves: trained weights, frozen parts, the rate of many devices."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..readers._tree import of, unparse, walk
from ..readers.script import argument, last_name
from .side import Side, Told
from .update import optimizers

_LOADS = r"^load|^from_pretrained$|^restore|^get_pretrained|^from_checkpoint$|^hub$"


def pretrained_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark starts from trained weights; here they are switched off, and nothing is loaded."""
    there = _weights(theirs)
    off: list[ast.AST] = [n for on, n in _weights(mine) if not on] or _by_default(mine, theirs)
    if mine.source.loose or not any(on for on, _ in there) or not off or any(on for on, _ in _weights(mine)):
        return
    after = [
        c
        for c in mine.matching(_LOADS)
        if not re.match(r"load_dataset|load_data|loads$|loader", last_name(c.func)) and not _own_file(mine, c)
    ]
    if any(not _after_training(mine, c) for c in after):
        return
    where = next(n for on, n in there if on)
    text = "the benchmark starts from trained weights, this script from weights drawn by chance"
    yield Told("pretrained", text, mine.place(off[0]), theirs.place(where))


def _after_training(side: Side, node: ast.stmt | ast.expr) -> bool:
    """Whether a node stands behind the loop that trains, in the same function."""
    loop = side.source.train_loop
    if loop is None or side.source.function_around(node) is not side.source.function_around(loop):
        return False
    return node.lineno > loop.lineno


_ZOO = re.compile(
    r"(?:(?:wide_|se_)?resnet|resnext|densenet|vgg|mobilenet|efficientnet|convnext|regnet|vit|swin|squeezenet)_?\w*"
)


def _by_default(mine: Side, theirs: Side) -> list[ast.AST]:
    """`resnet18()`, where the benchmark asks for trained weights of that very network: none by default.

    Those of Keras come with trained weights.
    """
    asked = set()
    for on, node in _weights(theirs):
        call = next((p for p in theirs.source.above(node) if isinstance(p, ast.Call)), None)
        if on and call is not None:
            asked.add(last_name(call.func))
    return [
        c
        for c in mine.calls(*asked)
        if _ZOO.fullmatch(last_name(c.func))
        and not c.args
        and {k.arg for k in c.keywords} <= {"num_classes", "progress", "in_channels"}
    ]


def _own_file(side: Side, call: ast.Call) -> bool:
    """Whether what is loaded was saved by the program itself: its best weights."""
    saves = [c for c in side.source.calls if re.match(r"save|ModelCheckpoint$", last_name(c.func))]
    saved = {ast.dump(a) for c in saves for a in (*c.args[:2], *(k.value for k in c.keywords))}
    read = [a for a in call.args[:1] for a in (a, *(x for c in of(a, ast.Call) for x in c.args[:1]))]
    if any(ast.dump(a) in saved for a in read):
        return True
    texts = [a.value for a in read if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    handed = [
        a.value
        for c in side.source.calls
        for a in (*c.args, *(k.value for k in c.keywords))
        if isinstance(a, ast.Constant) and c is not call and call not in side.source.above(c)
    ]
    return bool(saves) and any(x in handed for x in texts)  # `train(keep="best.h5")`, which saves it


def _weights(side: Side) -> list[tuple[bool, ast.AST]]:
    """`weights=` and `pretrained=` of functions that make a model: whether they ask for trained weights."""
    found: list[tuple[bool, ast.AST]] = []
    for name in ("weights", "pretrained", "weights_backbone"):
        for word in side.keywords.get(name, []):
            value = word.value
            constant = value.value if isinstance(value, ast.Constant) else value
            if constant is None or constant is False:
                found.append((False, value))
            elif (
                constant is True
                or (isinstance(constant, str) and constant)
                or isinstance(value, ast.Attribute)
            ):
                found.append((True, value))
    return found


# ------------------------------------------------------------------------------------- frozen parts


def frozen_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Other parts of the model are frozen than in the benchmark."""
    here, there = _frozen(mine), _frozen(theirs)
    if here is None or there is None or set(here) == set(there) or mine.source.loose:
        return
    only, gone = sorted(set(here) - set(there)), sorted(set(there) - set(here))
    first = f"{only[0] if only else 'none'} here, {gone[0] if gone else 'none'} in the benchmark"
    places = mine.place(here[only[0]]) if only else None, theirs.place(there[gone[0]]) if gone else None
    kind = "frozen" if only else "regularisation-lowered"  # more of it trains than in the benchmark
    yield Told(kind, f"parts whose weights are held fixed: {first}", *places)


def _frozen(side: Side) -> dict[str, ast.AST] | None:
    """Parts of a model whose gradients are switched off, as written behind its name; None: not seen."""
    found: dict[str, ast.AST] = {}
    for node in side.source.of(ast.Assign, ast.Call):
        owner: ast.expr | None = None
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr in ("requires_grad", "trainable"):
                owner, value = target.value, node.value
        elif last_name(node.func) == "requires_grad_" and isinstance(node.func, ast.Attribute):
            owner, value = node.func.value, (node.args or [ast.Constant(True)])[0]
        if owner is None or value is None or _is_copy(side, node, owner):
            continue
        if not isinstance(value, ast.Constant):
            return None
        if value.value is not False:
            return None  # opened again, later or in part
        part = _part(side, node, owner)
        if part == _WHOLE and _beside_the_model(side, node, owner):
            continue
        if part is None or _after_training(side, node):
            return None
        found[part] = node
    return found


_COPIES = re.compile(r"(?i)teacher|(?:^|_)ema(?:_|$)|averag|shadow|momentum|polyak|(?:^|_)target(?:_|$)")


def _is_copy(side: Side, node: ast.AST, owner: ast.expr) -> bool:
    """Whether what is held fixed is a copy beside the model: an average of its weights, a teacher."""
    held: ast.expr = owner
    for loop in side.source.loops_around(node):
        if isinstance(loop, ast.For) and isinstance(owner, ast.Name) and last_name(loop.target) == owner.id:
            held = loop.iter
    while isinstance(held, (ast.Call, ast.Attribute)):
        if isinstance(held, ast.Call) and last_name(held.func) in (
            "deepcopy",
            "clone_model",
            "AveragedModel",
        ):
            return True
        if isinstance(held, ast.Attribute) and last_name(held.value) == "self":
            break
        inner = held.func if isinstance(held, ast.Call) else held.value
        if isinstance(held, ast.Call) and isinstance(inner, ast.Name):
            break
        held = inner
    name = last_name(held)
    made = [n for value in side.given.get(name, ()) for n in walk(value) if isinstance(n, ast.Call)]
    return _COPIES.search(name) is not None or any(last_name(c.func) == "deepcopy" for c in made)


def _part(side: Side, node: ast.AST, owner: ast.expr) -> str | None:
    """`features[:4]` of `for p in model.features[:4].parameters(): p.requires_grad = False`."""
    if isinstance(owner, ast.Name):
        loops = [x for x in side.source.loops_around(node) if isinstance(x, ast.For)]
        loop = next((x for x in loops if isinstance(x.target, ast.Name) and x.target.id == owner.id), None)
        if loop is None:
            return None
        if len(loop.body) != 1 or not isinstance(loop.iter, ast.Call):
            return None
        if last_name(loop.iter.func) not in ("parameters", "trainable_params", "get_parameters"):
            return None
        owner = loop.iter.func.value if isinstance(loop.iter.func, ast.Attribute) else owner
    text = re.sub(r"^(?:self\.)?\w+\.?", "", unparse(owner))
    return text or _WHOLE


_WHOLE = "the whole model"


def _beside_the_model(side: Side, node: ast.AST, owner: ast.expr) -> bool:
    """Whether no optimizer is given anything of what is held fixed: it is not the trained network."""
    loops = [x for x in side.source.loops_around(node) if isinstance(x, ast.For)]
    held: ast.AST = next((x.iter for x in loops if last_name(x.target) == last_name(owner)), owner)
    names = {n.id for n in walk(held) if isinstance(n, ast.Name)} - {"self"}
    made = optimizers(side)
    given = {
        n.id for c in made for a in (*c.args, *c.keywords) for n in side.follow(a) if isinstance(n, ast.Name)
    }
    return bool(names and given) and names.isdisjoint(given)


# ----------------------------------------------------------------------------------------- the rate of many

_WORLD = re.compile(
    r"(?i)^(?:get_)?world_?size$|^world$|^get_group_size$|^n(?:um)?_?(?:gpus?|npus?|devices|replicas|ranks)$"
    r"|^device_count$|^num_replicas_in_sync$|^rank_size$|^nprocs$|^device_num$"
)
_RANKS = r"^DistributedDataParallel$|^DDP$|^init_process_group$|^DistributedOptimizer$|^DistributedSampler$"


def rate_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The rate is multiplied by the number of devices more often than the samples of one update are."""
    here, there = _excess(mine), _excess(theirs)
    if here is None or there is None or not here[0] >= 1 > there[0] or mine.source.loose:
        return
    text = (
        "the learning rate is multiplied by the number of devices more often than the batch grows with them"
    )
    yield Told("rate-raised", text, mine.place(here[1]), theirs.place(there[1]))


def _excess(side: Side) -> tuple[float, ast.AST] | None:
    """How often the number of devices is a factor of the rate, less how often it is one of the batch."""
    made = side.matching(r"^(?:SGD|AdamW?|Momentum|LAMB|Lamb|RMSprop|AdamWeightDecay|NpuFused\w+)$")
    made = tuple(c for c in made if c.args or c.keywords)
    if len(made) != 1:
        return None
    rate = argument(made[0], "lr", "learning_rate", position=1)
    power = _power(side, rate) if rate is not None else 0.0
    if power is None:
        return None
    if not side.matching(_RANKS):
        return (power, made[0]) if power == 0 else None
    sizes = [w.value for w in side.keywords.get("batch_size", [])]
    sizes += [c.args[1] for c in side.calls("DataLoader") if len(c.args) > 1]
    powers = {_power(side, s) for s in sizes}
    if len(powers) != 1 or None in powers:
        return None
    return power - 1 - next(iter(powers)), made[0]  # type: ignore[operator]


def _power(side: Side, node: ast.expr | None, depth: int = 5) -> float | None:
    """How often the number of devices is a factor of an expression; None where that is not seen."""
    if node is None or depth == 0:
        return None
    if isinstance(node, ast.Constant):
        return 0.0
    if isinstance(node, ast.Call):
        if _WORLD.match(last_name(node.func)):
            return 1.0
        if last_name(node.func) in ("int", "float", "max") and node.args:
            return _power(side, node.args[-1] if last_name(node.func) == "max" else node.args[0], depth - 1)
        if last_name(node.func) == "sqrt" and len(node.args) == 1:
            inner = _power(side, node.args[0], depth - 1)
            return inner / 2 if inner is not None else None
        return None if any(_WORLD.match(w) for w in side.said(node)) else 0.0
    if isinstance(node, ast.BinOp):
        left, right = _power(side, node.left, depth - 1), _power(side, node.right, depth - 1)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left + right
        if isinstance(node.op, (ast.Div, ast.FloorDiv)):
            return left - right
        return None
    if isinstance(node, (ast.Name, ast.Attribute)):
        if _WORLD.match(last_name(node)):
            return 1.0
        ways = side.given.get(last_name(node), [])
        if len(ways) == 1:
            return _power(side, ways[0], depth - 1)
        return 0.0 if not ways and not _augmented(side, last_name(node)) else None
    return None


def _augmented(side: Side, name: str) -> bool:
    """`args.lr *= world`."""
    return any(last_name(n.target) == name for n in side.source.of(ast.AugAssign))
