"""Parts of a program that were written anew as a whole: much is gone there and much else is new.

Slips are small: a constant, an argument, a call for another. Where one part has several calls and operators
that the benchmark has not, and the benchmark several that are gone, it was thought through again: its lines
cannot be held against each other one by one, and none of the differences stands out.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable

from .align import Alignment, their_term
from .library import PURE
from .lines import Line, Program, Unit
from .rewrites import structure_of
from .roles import Roles
from .terms import Term
from .values import COMPUTED
from .vocabulary import word_set

# distinct calls, operators, attributes that only one side has: (the side with fewer, the other one)
ENOUGH = 2, 3
WRITTEN_OUT = 5  # so many on one side, where the other has a single call of a library that does as much
# calls of a library that do a single thing each: what is new beside one of them is no longer way to write it
_SINGLE = word_set(
    "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy kl_div Huber "
    "binary_cross_entropy_with_logits sigmoid_cross_entropy_with_logits choice shuffle permutation hash "
    "randint randperm parameters trainable_variables trainable_params train eval Identity enumerate zip"
)
_NAMED = ("name", "attribute", "call", "key")
Node = tuple[Unit, Line | None]


def written_anew(aligned: Alignment) -> frozenset[Line]:
    """The lines of both programs that stand in a part that was written anew."""
    found: set[Line] = set()
    own = {u.last for p in (aligned.mine, aligned.theirs) for u in p.units}
    for mine, theirs in parts(aligned):
        new, gone = made_of(aligned, mine, theirs)
        fewer, more = sorted((new, gone), key=len)
        enough = len(fewer) >= ENOUGH[0] and len(more) >= ENOUGH[1]
        if enough or (len(more) >= WRITTEN_OUT and _does_much(fewer, mine if fewer is new else theirs, own)):
            found.update(mine, theirs)
    return frozenset(found)


Made = tuple[str, str]


def made_of(
    aligned: Alignment, mine: Iterable[Line], theirs: Iterable[Line]
) -> tuple[frozenset[Made], frozenset[Made]]:
    """The kinds of calls, operators, attributes that are new, and that are gone."""
    here = sum((structure_of(line.term) for line in mine), Counter())
    there = sum((structure_of(their_term(aligned, line)) for line in theirs), Counter())
    return frozenset(here - there), frozenset(there - here)


def _does_much(made: frozenset[Made], lines: Iterable[Line], own: set[str]) -> bool:
    """Whether one of these is a call of a library for more than one operation: a schedule, a scaler."""
    if ("attribute", "loss") in made:
        return True  # what a model of transformers computes by itself
    labels = {label for kind, label in made if kind == "call"} - COMPUTED - _SINGLE - PURE
    calls = (t for line in lines for t in line.term.walk() if t.kind == "call" and t.label in labels)
    return any(not _elementary(t) and (t.label not in own or _of_module(t)) for t in calls)


def _elementary(term: Term) -> bool:
    """A function of numpy, of a tensor's shape, of chance, or one that writes a tensor in place."""
    return (
        _of_module(term) in ("np", "numpy")
        or f"{term.label}()" in _OF_SHAPES
        or term.label.endswith("_")
        or "random" in term.label
    )


def _of_module(term: Term) -> str:
    """What stands before the name of the function that is called: `torch` of `torch.load(...)`, or ""."""
    func = getattr(term.node, "func", None)
    module = func.value if isinstance(func, ast.Attribute) else None
    return module.id if isinstance(module, ast.Name) and module.id != "self" else ""


def parts(aligned: Alignment) -> list[tuple[list[Line], list[Line]]]:
    """Lines that are not equal on both sides, put together where they share what one side alone has.

    A stretch between two unchanged lines is one part, a function of one side another; those that have a name
    of one side in common belong together: a function and where it is called, a value and where it is used.
    """
    back = {b: a for table in (aligned.same, aligned.moved) for a, b in table.items()}
    their_units = {b: a for a, b in aligned.units.items()}
    mine: dict[Node, list[Line]] = defaultdict(list)
    theirs: dict[Node, list[Line]] = defaultdict(list)
    node_of: dict[Line, Node] = {}

    def deal(unit: Unit, key: Unit, whole: bool, known: Iterable[Line], into: dict[Node, list[Line]]) -> None:
        last: Line | None = None
        for line in unit.lines:
            if line in known:
                last = None if whole else back.get(line, line)
                continue
            node_of[line] = (key, last)
            into[key, last].append(line)

    same = {*aligned.same, *aligned.moved}
    for unit in aligned.mine.units:
        deal(unit, unit, unit not in aligned.units, same, mine)
    for unit in aligned.theirs.units:
        deal(unit, their_units.get(unit, unit), unit not in their_units, back.keys(), theirs)

    joined: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        while joined.get(node, node) != node:
            node = joined[node]
        return node

    for a, b in aligned.changed.items():
        joined[root(node_of[a])] = root(node_of[b])
    here, there = _every_name(aligned.mine.lines), _every_name(aligned.theirs.lines)
    there = {aligned.attributes.get(n, n) for n in there}
    names: dict[str, Node] = {}
    for lines, alone, program, units in (
        (mine, here - there, aligned.mine, aligned.units),
        (theirs, there - here, aligned.theirs, their_units),
    ):
        for node, held in lines.items():
            for line in held:
                term = line.term if lines is mine else their_term(aligned, line)
                for name in {t.label for t in term.walk() if t.kind in _NAMED} & alone:
                    joined[root(node)] = root(names.setdefault(name, node))
        called = {
            t.label: n for n, held in lines.items() for x in held for t in x.term.walk() if t.kind in _NAMED
        }
        for unit in program.units:
            if unit not in units and (at := called.get(unit.last)) is not None and (unit, None) in lines:
                joined[root((unit, None))] = root(at)
    found: dict[Node, tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
    for i, lines in enumerate((mine, theirs)):
        for node, held in lines.items():
            found[root(node)][i].extend(held)
    return list(found.values())


def _every_name(lines: Iterable[Line]) -> set[str]:
    return {t.label for line in lines for t in line.term.walk() if t.kind in _NAMED}


class Totals:
    """How often both programs do a thing: what is gone in one place and done as often elsewhere was moved."""

    def __init__(self, aligned: Alignment, mine: Roles, theirs: Roles) -> None:
        self.mine, self.theirs = _totals(aligned.mine, mine), _totals(aligned.theirs, theirs)
        own = _own(aligned.mine, mine) ^ _own(aligned.theirs, theirs)
        self.own = frozenset(f"{name}()" for name in own) | _OF_SHAPES | {"own()"}

    def kept(self, gone: frozenset[str], new: frozenset[str]) -> bool:
        """Whether all calls and operators that are gone in one place, or new, are done as often as before."""
        gone, new = _done(gone - new) - self.own, _done(new - gone) - self.own
        if not gone | new:
            return False
        return all(self.mine[w] == self.theirs[w] for x in gone | new for w in (x, _TAKEN + x))


_TAKEN = "= "  # before a call whose value is taken: `self.norm(x)` as a line of its own does nothing
_OF_SHAPES = frozenset(
    f"{name}()"
    for name in word_set(
        "view reshape flatten squeeze unsqueeze transpose permute size contiguous item detach float numel "
        "len to"
    )
)


def _done(words: frozenset[str]) -> frozenset[str]:
    """Calls and operators among words."""
    return frozenset(
        w for w in words if w.endswith("()") or (w and not w[0].isalnum() and w[0] not in "$'_-")
    )


def _totals(program: Program, roles: Roles) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in program.lines:
        top = line.term.part("value") if line.term.kind == "do" else None
        for term in line.term.walk():
            words = []
            if term.kind == "call":
                words.append(f"{term.label}()")
            if term.kind in ("call", "attribute") and term.label in roles.layers:
                owner = term.part("self")  # `net.train()` is no call of the layer `train`
                if owner is None or owner.label == "self":
                    words.append(f"{roles.layers[term.label]}()")
            elif term.kind == "operation":
                words.append(term.label)
            found.update(words if term is top else [x for w in words for x in (w, _TAKEN + w)])
    return found


def _own(program: Program, roles: Roles) -> set[str]:
    """Functions and layers of a program, by name."""
    return {u.last for u in program.units} | set(roles.layers)
