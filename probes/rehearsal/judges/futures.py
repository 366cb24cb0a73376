"""Values of what is to come: what a loss holds answers to that were asked of a copy, or of the net itself.

A target is a part of the loss that is made of an answer without a gradient and of something that is added to
it, as a reward is; the answer that learns has no part in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ...readers.script import last_name
from ..journal import Backward, Loaded, Stepped, Written
from ..machine import Machine
from ..meaning import Leaf, Meaning, is_field, key_of, parts_of
from ..values import Bound, Net, State, Tensor, Unknown, Weight
from .copies import mixtures
from .verdict import Verdict

_SLIGHT = 1e-6
MOST = 60  # parts of a loss that are looked at
_ENDS = re.compile(
    r"(?i)(?<![a-z])(?:dones?|term(?:inal|inated|s)?|not_?dones?|ends?|masks?|is_last|finished)(?![a-z])"
)


@dataclass(eq=False)
class Target:
    """What a loss holds an answer to: the part of it, and the answers on both sides."""

    event: Backward
    meaning: Meaning
    future: list[Leaf]
    learnt: list[Leaf]


def _answers(meaning: Meaning) -> list[Leaf]:
    return [leaf for leaf in meaning.leaves.values() if leaf.answer is not None]


def targets(machine: Machine) -> Iterator[Target]:
    """The targets of losses that look ahead."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        if not isinstance(event.loss, Tensor):
            continue
        whole = [x for x in _answers(Meaning(event.loss)) if x.value.deps]
        for part in islice(parts_of(event.loss), MOST) if whole else ():
            found = _looks_ahead(event, part, whole)
            if found is not None:
                yield found
                break


def _looks_ahead(event: Backward, part: Tensor, whole: list[Leaf]) -> Target | None:
    if part is event.loss or part.how is None or part.how.name not in ("add", "sub", "iadd"):
        return None
    made = Meaning(part)
    future = _answers(made)
    learnt = [x for x in whole if x.key not in {f.key for f in future}]
    if not future or not learnt or made.hidden:
        return None
    none = {x.key: 0.0 for x in future}
    slopes = [made.slope(x.key) for x in future]
    bent = [made.slope(x.key, {x.key: v}) for x in future for v in (0.1, 0.9)]
    pairs = zip(bent[::2], bent[1::2], strict=True)  # of the lesser of two values one alone counts
    if max(slopes) < 0.05 or any(abs(a - b) > 1e-4 and min(abs(a), abs(b)) > 1e-4 for a, b in pairs):
        return None
    added = [k for k in made.leaves if k not in none and abs(made.slope(k, none) - 1) < 1e-4]
    return Target(event, made, future, learnt) if added else None


def future_unmasked(machine: Machine) -> Iterator[Verdict]:
    """`reward + gamma * value`: nothing takes the future away where an episode ends."""
    if not _ENDS.search(machine.source.code) or not re.search(r"(?i)reward|\bgym", machine.source.code):
        return
    for one in targets(machine):
        made = one.meaning
        keys = [x.key for x in one.future]
        keys = [k for k in keys if made.slope(k) > _SLIGHT]
        here = sum(made.slope(k) for k in keys)
        others = [k for k in made.leaves if k not in keys]
        moved = [
            k
            for k in others
            for end in (0.0, 1.0)
            if abs(sum(made.slope(x, {k: end}) for x in keys) - here) > 1e-4
        ]
        ends = [k for k in dict.fromkeys(moved) if _is_end(made.leaves[k])]
        if len(ends) == 1 and abs(sum(made.slope(x, {ends[0]: 0.0}) for x in keys)) < _SLIGHT:
            why = "the value of what comes next counts where an episode ends, and nowhere else"
            yield Verdict("future-unmasked", one.event.node, why)
        if not moved and 0.5 < here < 1.0:
            why = f"what comes next counts with {here:.3g} everywhere, past the end of an episode, too"
            yield Verdict("future-unmasked", one.event.node, why)


def _is_end(leaf: Leaf) -> bool:
    """`batch.done`: a field that tells where episodes end."""
    return _END.match(_field(leaf.value)) is not None


def _field(value: object) -> str:
    """The name of a field of what is not known: `batch.done` -> "done"."""
    if isinstance(value, Bound):
        return value.name
    return value.key.rpartition(".")[2] if isinstance(value, Unknown) and is_field(value) else ""


_END = re.compile(r"^(?:dones?|ends?|term|terms|terminals?|terminated|is_done|finished)$")


def future_of_the_same(machine: Machine) -> Iterator[Verdict]:
    """The value to come is asked of the very states that the answer which learns is of."""
    for one in targets(machine):
        mine = {_given(x) for x in one.learnt}
        theirs = {_given(x) for x in one.future}
        if mine and theirs and theirs <= mine and None not in theirs:
            why = "the value of what comes next is asked of the same states as the value that learns"
            yield Verdict("future-of-same", one.event.node, why)


def copy_unasked(machine: Machine) -> Iterator[Verdict]:
    """A slow copy is kept up to date, and the values to come are asked of the network that learns."""
    if not re.search(r"(?i)reward|\bgym", machine.source.code):
        return
    asked = {id(a.net) for a in machine.asks.values()}
    found = [t for t in targets(machine) if {id(x.answer.net) for x in t.future} <= asked]
    learners = {id(x.answer.net) for t in found for x in t.learnt}
    ahead = [x for t in found for x in t.future if t.meaning.slope(x.key) > 0.05]
    if not found or any(id(x.answer.net) not in learners for x in ahead):
        return
    learn = {w.serial for a in machine.asks.values() if id(a.net) in learners for w in a.net.parameters()}
    for mixture in mixtures(machine):
        own = mixture.event.weight
        slow = [n for n in machine.nets if any(w is own for w in n.parameters())]
        if (
            mixture.source in learn
            and own.serial not in learn
            and slow
            and not any(id(n) in asked for n in slow)
        ):
            why = "the copy that is averaged here is asked of nothing: the learner is, in its place"
            yield Verdict("copy-unasked", mixture.event.node, why)
            return
    for event in machine.journal.of(Loaded):
        source = event.state.net if isinstance(event.state, State) else None
        copy = event.net
        if (
            isinstance(copy, Net)
            and id(source) in learners
            and id(copy) not in asked | learners
            and event.loops
        ):
            why = "the copy that is brought up to date here is asked of nothing: the learner is, in its place"
            yield Verdict("copy-unasked", event.node, why)
            return


def _states(value: object) -> object:
    """States, in whichever format and on whichever device."""
    for _ in range(6):
        how = getattr(value, "how", None)
        if how is None or how.name not in ("to", "float", "as_tensor", "from_numpy", "tensor"):
            return value
        value = how.given[0]
    return value


def _given(leaf: Leaf) -> object:
    given = [g for g in leaf.answer.given if g is not None]
    given = [_states(g) for g in given]
    if not given or not all(_field(g) or getattr(g, "how", None) is not None for g in given):
        return None
    return tuple(key_of(g) for g in given)


def takes_its_own(machine: Machine) -> Iterator[Verdict]:
    """A network takes over its own weights, or is averaged with itself: the copy is the network."""
    for event in machine.journal.of(Loaded):
        state = event.state
        own = isinstance(state, State) and isinstance(event.net, Net) and state.net is event.net
        own = own and bool(event.net.kind or event.net.children) and not event.net.opaque
        given = event.node.args[:1] if isinstance(event.node, ast.Call) else []
        own = own and any(isinstance(g, ast.Call) and last_name(g.func) == "state_dict" for g in given)
        if own and not state.copied and state.kind == "net" and event.calls and not event.guessed:
            why = "a network takes over its own weights: the copy that should be slower is the network itself"
            yield Verdict("copy-is-itself", event.node, why)
            return
    stepped = {s for e in machine.journal.of(Stepped) for s, used in e.gradients.items() if used}
    for event in machine.journal.of(Written):
        if not isinstance(event.weight, Weight):
            continue  # what stands in the place of one
        if event.weight.serial not in stepped or (event.way is None and event.how not in ("data", "copy_")):
            continue
        if _with_itself(event):
            why = "weights are averaged with themselves: the copy is the network itself"
            yield Verdict("copy-is-itself", event.node, why)
            return


def _with_itself(event: Written) -> bool:
    """`p.lerp_(p, 0.01)`, `p.copy_(0.9 * p + 0.1 * p)` under two names."""
    if event.how in ("data", "copy_"):
        value = event.values[0] if event.values else None
        terms = [t.how for t in parts_of(value) if t.how is not None and t.how.name == "mul"]
        both = [t for t in terms if any(_is_weight(g, event.weight) for g in t.given)]
        return len(both) == 2
    way = event.way
    return way is not None and way.name == "lerp" and any(_is_weight(g, event.weight) for g in way.given[1:2])


def _is_weight(value: object, weight: Weight) -> bool:
    for _ in range(6):
        if value is weight:
            return True
        how = getattr(value, "how", None)
        if how is None or how.name not in ("<data>", "detach", "clone", "to"):
            return False
        value = how.given[0]
    return False


def holds_another(machine: Machine) -> Iterator[Verdict]:
    """No gradient reaches what an optimizer holds, and none holds what the gradients reach."""
    steps = machine.journal.of(Stepped)
    losses = machine.journal.of(Backward)
    if not steps or not losses or any(o.weights is None or o.late for o in machine.optimizers):
        return
    reached = frozenset().union(*(e.reached for e in losses))
    if not reached or any(not e.reached or not isinstance(e.loss, Tensor) for e in losses):
        return
    held = {w.serial for o in machine.optimizers for w in o.weights or ()}
    sets = [frozenset(w.serial for w in o.weights or ()) for o in machine.optimizers]
    for optimizer in {id(e.optimizer): e.optimizer for e in steps}.values():
        mine = {w.serial for w in optimizer.weights or () if not w.buffer}
        lost = {s for s in reached if s not in held and machine.weights[s].name}
        whole = [n for n in machine.nets if n.parameters() and {w.serial for w in n.parameters()} <= lost]
        lone = not mine & reached or sets.count(frozenset(mine)) > 1
        if mine and lone and whole and not any(n.escaped or (n.opaque and not _is_whole(n)) for n in whole):
            why = (
                "no loss reaches the weights that this optimizer holds, and it holds none of those that learn"
            )
            yield Verdict("holds-another", optimizer.node, why)
            return


def _is_whole(net: Net) -> bool:
    """A network of transformers, `AutoModelForCausalLM`: its weights are one, and nothing is added."""
    return not net.children and re.match(r"[A-Z]\w+(?:For[A-Z]\w+|Model)$", net.layer or "") is not None
