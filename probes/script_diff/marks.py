"""Words for what an edit does to a structure: no names of the program, but what is the matter with it.

Each stands in rules/porting/edits.yaml; all are asked of what only one of the two programs has.
"""

from __future__ import annotations

from collections.abc import Iterator

from .lines import Line
from .roles import Roles
from .terms import Term
from .vocabulary import STATELESS, word_set

_LISTS = word_set("Sequential SequentialCell ModuleList CellList ModuleDict LayerList")
_WRAPPERS = word_set("DistributedDataParallel DataParallel FullyShardedDataParallel")
_REMAKES = word_set(
    "apply reset_parameters init_weights normal_ uniform_ trunc_normal_ xavier_uniform_ xavier_normal_ "
    "kaiming_uniform_ kaiming_normal_ orthogonal_"
)
OPTIMIZERS = word_set(
    "SGD Adam AdamW RMSprop RMSProp Adagrad Adadelta NAdam RAdam Adamax LBFGS Lamb Lion Adafactor Momentum "
    "AdamWeightDecay"
)


def marks(
    line: Line, roles: Roles, other: Line | None, before: Term | None, after: Term | None
) -> frozenset[str]:
    """The words for what is new in a line; `other` is the line that it was, if it was one."""
    found = set(remade_late(line) - (remade_late(other) if other is not None else frozenset()))
    if shares_module(line, roles, other, after):
        found.add("shared-module")
    constants = before is not None and after is not None and {before.kind, after.kind} == {"constant"}
    if constants and _within_another(line, roles):
        found.add("inner-block")
    if undivided(line, before, after):
        found.add("undivided")
    if over_border(line, before, after):
        found.add("over-border")
    return frozenset(found)


STRUCTURE = frozenset(
    {"shared-module", "wrapped-model", "after-optimizer", "undivided", "over-border", "one-layer-each-round"}
)


def lost(before: Term | None, after: Term | None) -> frozenset[str]:
    """The words for what was there and is gone: "masked-mean", the mean of what a mask lets through."""
    if before is None or after is None:
        return frozenset()
    masks = _means_of_known(before) - _means_of_known(after)
    left = masks & {t.key for t in after.walk()} - _means_of_all(after)
    return frozenset({"masked-mean"}) if masks and not left else frozenset()


def _means_of_all(term: Term) -> set[int]:
    """Of `(x * mask).mean()`: the keys of what is multiplied and counted all the same."""
    means = [t.parts[0][1] for t in term.walk() if t.kind == "call" and t.label == "mean" and t.parts]
    return {part.key for t in means if t.label == "*" for _, part in t.parts}


def _means_of_known(term: Term) -> set[int]:
    """Of `(x * mask).sum() / mask.sum()`, also with a floor: the keys of the masks."""
    found = set()
    for one in term.walk():
        over, under = one.part("left"), one.part("right")
        if one.kind != "operation" or one.label != "/" or over is None or under is None:
            continue
        summed = [t for t in under.walk() if t.kind == "call" and t.label == "sum" and t.parts]
        masks = {t.parts[0][1].key for t in summed}
        for t in over.walk():
            if t.kind == "call" and t.label == "sum" and t.parts and t.parts[0][1].label == "*":
                found |= {part.key for _, part in t.parts[0][1].parts} & masks
    return found


def weighty(name: str, line: Line, user: Term) -> bool:
    """Whether a name stands several times in a term and holds a layer with weights: it is one each time."""
    value = line.term.part("value")
    if value is None or value.kind != "call" or not value.label[:1].isupper() or value.label in STATELESS:
        return False
    return sum(t.kind == "name" and t.label == name for t in user.walk()) > 1


def _within_another(line: Line, roles: Roles) -> bool:
    """Whether a line stands in a class of layers that another class of the program is made of."""
    owner = line.unit.owner
    return bool(owner) and "model" in roles.place(line) and roles.part_of_another(owner)


def shares_module(line: Line, roles: Roles, other: Line | None, after: Term | None) -> bool:
    """One module with weights at several places of a list: `[block] * n`, `Sequential(one, act, one)`."""
    if after is None:
        return False
    old = {t.key for t in other.term.walk()} if other is not None else set()
    return any(
        t.key not in old and (_twice(t, line, roles) or _repeated(t, line, roles))
        for t in _of_line(line, after)
    ) or _appended(line, roles)


def _of_line(line: Line, after: Term) -> Iterator[Term]:
    """What changed, and the calls around it: an argument of a list of layers shows nothing by itself."""
    yield from after.walk()
    yield from (t for t in line.term.walk() if t.kind == "call" and t.label in _LISTS)


def _twice(term: Term, line: Line, roles: Roles) -> bool:
    if term.kind != "call" or term.label not in _LISTS:
        return False
    given = [
        p
        for _, part in term.parts
        for p in ([q for _, q in part.parts] if part.kind == "sequence" else [part])
    ]
    keys = [p.key for p in given if p.kind in ("name", "attribute") and _is_module(p, line, roles)]
    return len(keys) > len(set(keys))


def _repeated(term: Term, line: Line, roles: Roles) -> bool:
    """`[block] * n`, or `[block for _ in range(n)]` with a block that was made before."""
    if term.kind == "operation" and term.label == "*":
        lists = [p for _, p in term.parts if p.kind == "sequence"]
        return any(_makes_module(q, line, roles) for p in lists for _, q in p.parts)
    if term.kind == "comprehension" and term.label == "list":
        value = term.part("value")
        return value is not None and value.kind in ("name", "attribute") and _is_module(value, line, roles)
    return False


def _appended(line: Line, roles: Roles) -> bool:
    """`blocks.append(block)` in a loop, of a block that was made before the loop."""
    value = line.term.part("value")
    loops = [h for h in line.around if h.term.kind == "for"]
    if value is None or value.kind != "call" or value.label != "append" or not loops:
        return False
    given = value.part("#0")
    if given is None or given.kind != "name" or not _is_module(given, line, roles):
        return False
    made = [x for x in line.unit.lines if given.label in x.targets]
    return bool(made) and all(loops[-1] not in x.around for x in made)


def _is_module(term: Term, line: Line, roles: Roles) -> bool:
    """A name of this function, or an attribute, that holds a module with weights."""
    if term.kind == "name":
        values = [x.term.part("value") for x in line.unit.lines if term.label in x.targets]
        return bool(values) and all(v is not None and _makes_module(v, line, roles) for v in values)
    made = roles.layers.get(term.label, "")
    return made[:1].isupper() and made not in STATELESS


def _makes_module(term: Term, line: Line, roles: Roles) -> bool:
    if term.kind in ("name", "attribute"):
        return _is_module(term, line, roles)
    if term.kind != "call" or not term.label[:1].isupper() or term.label in STATELESS:
        return False
    return "model" in roles.place(line) or term.label in _LISTS


def remade_late(line: Line) -> frozenset[str]:
    """ "wrapped-model", "after-optimizer": weights drawn, layers exchanged after what took them over."""
    value, target = line.term.part("value"), line.term.part("target")
    if value is None:
        return frozenset()
    exchanged = target is not None and target.kind in ("attribute", "item") and _layer_made(value)
    calls = {t.label for t in value.walk() if t.kind == "call"}
    if not exchanged and not (line.term.kind == "do" and calls & _REMAKES):
        return frozenset()
    found = set()
    about = line.term.names | {t.label for t in line.term.walk() if t.kind == "attribute"}
    for h in line.around:
        about |= h.term.names
    for other in line.unit.lines:
        if other is line:
            break
        given = other.term.part("value")
        made = {t.label for t in given.walk() if t.kind == "call"} if given is not None else set()
        if made & _WRAPPERS and about & {t.removeprefix("self.") for t in other.targets}:
            found.add("wrapped-model")
        if made & OPTIMIZERS and given is not None and about & given.names - {"self"}:
            found.add("after-optimizer")
    return frozenset(found)


def _layer_made(value: Term) -> bool:
    """`Linear(8, 2)`, also on a device at once."""
    while (
        value.kind == "call"
        and value.label in ("to", "cuda", "npu")
        and (of := value.part("self")) is not None
    ):
        value = of
    return value.kind == "call" and value.label[:1].isupper() and value.label not in STATELESS


def undivided(line: Line, before: Term | None, after: Term | None) -> bool:
    """A part became the whole, and the other part is still taken: `x[:n]`, `x[n:]` -> `x`, `x[n:]`."""
    if before is None or after is None:
        return False
    for term in before.walk():
        of, index = term.part("of"), term.part("index")
        if term.kind != "item" or of is None or index is None or index.kind != "slice" or of.kind != "name":
            continue
        if len(index.parts) != 1 or after.key != of.key:
            continue
        edge, end = index.parts[0]
        other = "to" if edge == "from" else "from"
        for x in line.unit.lines:
            for t in x.term.walk():
                beside = t.part("index")
                if (
                    t.kind == "item"
                    and beside is not None
                    and beside.kind == "slice"
                    and t.part("of") is not None
                ):
                    same = t.part("of").key == of.key and len(beside.parts) == 1  # type: ignore[union-attr]
                    if same and beside.parts[0][0] == other and beside.parts[0][1].key == end.key:
                        return True
    return False


def over_border(line: Line, before: Term | None, after: Term | None) -> bool:
    """A border that others of the function keep to is crossed.

    `items[:p]`, `items[p]` -> `items[:p + 1]`, `items[p]`: the inputs now hold what is to be told from them.
    `range(1, n - 2)` -> `range(1, n)` beside `items[n - 2]`: training takes what is held out.
    """
    if before is None or after is None or before.size > 6 or after.size > 6:
        return False
    ends = {before.key}
    if before.kind == "slice" and after.kind == "slice":
        old, new = before.part("to"), after.part("to")
        if old is None or new is None or before.part("from") is not None:
            return False
        ends, grown = {old.key}, _beyond(old, new)
    else:
        grown = _beyond(before, after)
    if not grown:
        return False
    for x in line.unit.lines:
        for t in x.term.walk():
            index = t.part("index")
            if t.kind != "item" or index is None:
                continue
            begins = index if index.kind != "slice" else index.part("from")
            if begins is not None and begins.key in ends:
                return True
    return False


def _beyond(old: Term, new: Term) -> bool:
    """`p` -> `p + 1`, `n - 2` -> `n`, `n - 2` -> `n - 1`."""
    if new.kind == "operation" and new.label == "+":
        return any(p.key == old.key for _, p in new.parts)
    if old.kind == "operation" and old.label == "-":
        base, less = old.part("left"), old.part("right")
        if base is None or less is None or less.kind != "number":
            return False
        if new.key == base.key:
            return True
        left, right = new.part("left"), new.part("right")
        same = new.label == "-" and left is not None and left.key == base.key
        return (
            same and right is not None and right.kind == "number" and float(right.label) < float(less.label)
        )
    return False


_MODES = ("train", "eval", "set_train", "requires_grad_")


def puts_mode_back(line: Line) -> bool:
    """`net.train(was)`, `if was: net.train()`, with `was = net.training` from before."""
    value = line.term.part("value")
    if line.term.kind != "do" or value is None or value.label not in ("train", "set_train"):
        return False
    asked = value.part("mode")
    if asked is None and line.around and line.branch == "body":
        head = line.around[-1].term
        asked = head.part("test") if head.kind == "if" else None
    if asked is None or asked.kind != "name":
        return False
    for x in line.unit.lines:
        made = x.term.part("value")
        if asked.label in x.targets:
            return made is not None and made.kind == "attribute" and made.label == "training"
        if any(t.kind == "call" and t.label in _MODES for t in x.term.walk()):
            return False
    return False


_ADDS = word_set("append extend update add_ index_add_ scatter_add_")
_EMPTY = word_set("zeros zeros_like list dict set Counter defaultdict empty")


def starts_anew(line: Line, roles: Roles) -> bool:
    """`self.hits = 0`, `self.counts = dict(a=0, b=0)` outside of the constructor, of what is added up."""
    value = line.term.part("value")
    if line.term.kind != "assign" or value is None or line.unit.last == "__init__" or len(line.targets) != 1:
        return False
    calls = {t.label for t in value.walk() if t.kind == "call"}
    plain = all(t.kind not in ("name", "attribute", "operation") for t in value.walk())
    numbers = {t.label for t in value.walk() if t.kind == "number"}
    if not plain or calls - _EMPTY or (numbers - {"0.0"} and not calls):
        return False
    name = line.targets[0]
    return any(
        x is not line and name in x.targets and _adds_up(x, name.rpartition(".")[2])
        for x in roles.program.lines
        if "." in name or x.unit is line.unit
    )


def _adds_up(line: Line, name: str) -> bool:
    """`self.hits += n`, `self.counts["hit"] += n`, `self.rows.append(r)`."""
    value = line.term.part("value")
    if value is None:
        return False
    if line.term.kind == "do":
        return value.kind == "call" and value.label in _ADDS
    return (
        line.term.kind == "assign"
        and value.kind == "operation"
        and value.label == "+"
        and any(t.label == name for t in value.walk() if t.kind in ("name", "attribute"))
    )
