"""What is wrong with a network by what it answers, whatever the spelling: only where all was understood."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..by_hand.sizes import Unfit
from ..code.shared.checks import Check, at
from ..readers.script import keyword, last_name
from ..registry import Finding
from ..rehearsal.judges.verdict import Verdict, taught
from ..rehearsal.machine import Machine, rehearsed
from ..rehearsal.values import Routine, Tensor
from ..scripts.syntax import Script
from .asked import ROWS, again, layers_of, parts_of, traced
from .facts import Facts, apart, facts, first_row, moves, same
from .network import FORWARD
from .tensors import Tensor as Worked

_MET = 1e-6  # of the largest answer: sums in another order stay far below it
_SEEDS = (1, 2)  # of other weights, by which what an answer can be is told from chance
_HARMLESS = re.compile(
    r"^(?:view|reshape|squeeze|unsqueeze|flatten|float|permute|transpose|contiguous|to|item|part.*|chunk|split"
    r"|unbind|answer|collate|stack|cat|masked_select)$"
)
_SCORES = ("cross_entropy", "CrossEntropyLoss", "SoftmaxCrossEntropyWithLogits")
_SINGLE = ("binary_cross_entropy_with_logits", "BCEWithLogitsLoss")
_CHANCES = ("binary_cross_entropy", "BCELoss")
_LOGS = ("nll_loss", "NLLLoss")
_SHAPES = frozenset(
    ("view", "reshape", "flatten", "unflatten", "reshape_as", "view_as", "resize_", "chunk", "split")
)
_LAYERS = re.compile(r"^(?:LSTM|GRU|RNN|MultiheadAttention|Transformer(?:(?:En|De)coder(?:Layer)?)?)$")
_PARTS = 24  # networks within one that are asked alone
_ATTENDS = re.compile(r"(?i)softmax|scaled_dot_product")
_PLACES = re.compile(
    r"(?i)rot(?:ary|ate)|rope|relative|alibi|posit|(?<![a-z])pos|freq|window|shift|conv|roll|arange"
)
_POSITIONS = re.compile(r"(?i)posit|(?<![a-z])pos(?![a-z])|(?<![a-z])pe(?![a-z])")
_PLAIN = re.compile(r"^(?:Linear|Dropout\w*|LayerNorm|RMSNorm|Identity|Softmax|GELU|ReLU|SiLU|step)$")
_OF_SETS = re.compile(
    r"(?i)discriminator|critic|graph|gnn|gcn|gat|node|edge|memory|queue|contrast|set_?encoder|cross_?sample|pool"
)


@lru_cache(maxsize=16)
def verdicts(source: Script) -> tuple[Verdict, ...]:
    """All verdicts over the networks of a program."""
    machine = rehearsed(source)
    return tuple(v for one in facts(source) for judge in _ALL for v in judge(machine, one))


def answers_show(*kinds: str) -> Check:
    """A check that speaks where the answers of a network gave a verdict of one of these kinds."""

    def check(source: Script) -> Finding | None:
        found = next((v for v in verdicts(source) if v.kind in kinds), None)
        return at(source, found.node, found.why) if found is not None else None

    return check


# ------------------------------------------------------------------------------------------------ samples


def samples_meet(_machine: Machine, one: Facts) -> Iterator[Verdict]:
    """The answer to one sample moves with another sample of its batch, in evaluation mode.

    "met-in-layer": a layer that takes the batch elsewhere; "met-by-shape": a reshape mixes them; "met".
    Not judged: networks of whole sets (graphs, critics), and where the first axis may not be that of samples.
    """
    event, source = one.question.event, one.question.network.source
    if one.meet <= _MET or _OF_SETS.search(event.net.kind.node.name) or event.guessed:
        return
    tensors = [g for g in event.given if isinstance(g, Tensor)]
    if not tensors or any(t.rows is None or t.vague or t.mixed for t in tensors):
        return
    if any(a.shape[:1] != (ROWS,) or ROWS in a.shape[1:] for a in one.question.answers):
        return
    if any(last_name(c.func) == "pad_sequence" and keyword(c, "batch_first") is None for c in source.calls):
        return  # batches that come with their steps first
    steps = _until_meeting(one)
    if not steps:
        return
    node, step = steps[-1], _called(one, steps[-1])
    if _LAYERS.match(step) and len(steps) > 1 and _called(one, steps[-2]) in _SHAPES:
        node, step = steps[-2], _called(one, steps[-2])  # it is handed what was cut anew
    alike = "one sample's answer moves with another one's"
    if _LAYERS.match(step):
        yield Verdict("met-in-layer", node, f"this {step} takes samples for steps: {alike}")
    elif step in _SHAPES:
        yield Verdict("met-by-shape", node, f"this puts numbers of several samples together: {alike}")
    else:
        why = "from here on the answer to one sample depends on the other samples of its batch"
        yield Verdict("met", node, why)


def _until_meeting(one: Facts) -> list[ast.expr]:
    """The steps within a network until the first one that another sample moves; none where they differ."""
    question = one.question
    whole, other = question.drawn(), question.drawn(12)
    mixed = [
        first_row(a, b) if isinstance(a, np.ndarray) and moves(made) else a
        for made, a, b in zip(question.inputs, whole, other, strict=True)
    ]
    try:
        first, second = traced(question, whole), traced(question, mixed)
    except Unfit:
        return []
    nodes = [n for n, _ in first]
    if nodes != [n for n, _ in second]:
        return []
    met = (i for i, (a, b) in enumerate(zip(first, second, strict=True)) if _others_moved(a[1], b[1]))
    return nodes[: next(met, -1) + 1]


def _others_moved(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether rows behind the first one are other ones."""
    if a.shape != b.shape or not a.ndim or len(a) % ROWS:
        return False
    off = np.abs(a.astype(float) - b).reshape(ROWS, -1).max(axis=1)
    return bool((off[1:] > _MET * (np.abs(a).max() + 1e-12)).any())


def _called(one: Facts, node: ast.AST) -> str:
    """The name of a function, or of the kind of layer, that is called."""
    if not isinstance(node, ast.Call):
        return ""
    name = last_name(node.func)
    held = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(held, ast.Name) and held.id == "self":
        children = (net.children.get(name) for net in one.question.event.net.nets())
        return next((str(kind) for c in children if (kind := getattr(c, "layer", ""))), name)
    return name


# ------------------------------------------------------------------------------------------------ outputs


def unfit_for_loss(machine: Machine, one: Facts) -> Iterator[Verdict]:
    """What the answers can be, against what the loss expects that they go into without a bend in between.

    "bent-twice": chances before a loss on scores; "rectified": scores that are never below zero; "not-logs":
    scores before a loss on chances or on logarithms.
    """
    event, learnt = one.question.event, taught(machine)
    if len(event.done) != len(one.question.answers) or one.question.network.mode_asked:
        return  # what is answered in training is not known
    for name, given in machine.losses:
        held = [g for g in given if g.asked & learnt]
        if len(held) != 1 or held[0].asked != frozenset((event.number,)):
            continue
        place = next((i for i, d in enumerate(event.done) if held[0].done[: len(d)] == d), None)
        if place is not None and all(_HARMLESS.match(b) for b in held[0].done[len(event.done[place]) :]):
            yield from _against(name, one, place)


def _against(name: str, one: Facts, place: int) -> Iterator[Verdict]:
    low, high, node = one.low[place], one.high[place], _output(one)
    many = one.question.answers[place].ndim > 1
    if name in _SCORES and many and one.shares[place]:
        yield Verdict("bent-twice", node, f"the answers are chances already, and {name} makes chances itself")
    elif (
        name in _SINGLE
        and low >= 0
        and high <= 1
        and _always(one, place, lambda a: a.min() >= 0 <= 1 - a.max())
    ):
        yield Verdict("bent-twice", node, f"the answers lie between 0 and 1, and {name} bends them once more")
    elif name in (*_SCORES, *_SINGLE) and low == 0 < high and _always(one, place, lambda a: a.min() >= 0):
        yield Verdict("rectified", node, f"no answer is ever below zero, and {name} expects either sign")
    elif name in _CHANCES and (low < 0 or high > 1):
        yield Verdict("not-logs", node, f"{name} expects chances, and gets numbers outside of 0 to 1")
    elif name in _LOGS and high > _MET:
        yield Verdict("not-logs", node, f"{name} expects logarithms of chances, and gets numbers above zero")


def _always(one: Facts, place: int, holds: Callable[[np.ndarray], Any]) -> bool:
    """Whether something holds of an answer with other weights as well."""
    for seed in _SEEDS:
        found = again(one.question, seed)
        if found is None or len(found) <= place or not holds(found[place]):
            return False
    return True


def _output(one: Facts) -> ast.AST:
    """What is handed back last, or all of the network."""
    found = _forward(one)
    if found is None:
        return one.question.event.net.kind.node
    returned = [n for n in ast.walk(found) if isinstance(n, ast.Return) and n.value is not None]
    return returned[-1] if returned else found


def _forward(one: Facts) -> ast.FunctionDef | None:
    kind = one.question.event.net.kind
    found = next((f[1] for n in FORWARD if (f := kind.find(n)) is not None), None)
    node = found.node if isinstance(found, Routine) else None
    return node if isinstance(node, ast.FunctionDef) else None


# ------------------------------------------------------------------------------------------------- places


def order_unknown(_machine: Machine, one: Facts) -> Iterator[Verdict]:
    """Attention over tokens, and their order changes nothing of the answer: "orderless".

    Only where the program speaks of positions: a bag of tokens may be meant.
    """
    if one.orderless and _POSITIONS.search(ast.unparse(one.question.network.source.tree)):
        why = "tokens in another order get the same answer: nothing tells attention where they stand"
        yield Verdict("orderless", _output(one), why)


def heads_not_turned(_machine: Machine, one: Facts) -> Iterator[Verdict]:
    """Attention whose answers do not go where its tokens go: heads are cut out of the steps ("unturned").

    Of a part that is given tokens alone and holds nothing that knows places: attention that lets each token
    look at all of them answers tokens in another order with the same answers in that order.
    """
    net = one.question.network
    try:
        parts = parts_of(one.question)
    except Unfit:
        return
    told: set[int] = set()
    for part, given, answer in parts[:_PARTS]:
        source = ast.unparse(part.kind.node)
        known = id(part.kind) in told or len(given) != 1
        if known or _PLACES.search(source) or not _ATTENDS.search(source):
            continue
        told.add(id(part.kind))
        x = given[0]
        if not isinstance(x, Worked) or not isinstance(answer, Worked) or x.a.ndim != 3 or x.a.shape[1] < 4:
            continue
        if answer.a.shape[:2] != x.a.shape[:2] or not all(_PLAIN.match(n.name) for n in layers_of(part)):
            continue
        order = np.roll(np.arange(x.a.shape[1]), 1)
        try:
            net.begin()
            turned, moved = (net.answer(part, [net.tensor(v)]).a for v in (x.a[:, order], _one_moved(x.a)))
        except Unfit:
            continue
        hidden = (
            apart(answer.a[:, :1], moved[:, :1], answer.a) <= _MET
        )  # the first token does not see the last
        if not hidden and apart(answer.a[:, order], turned, answer.a) > _MET:
            forward = part.kind.method("forward") or part.kind.node
            why = "tokens in another order get other answers: heads are cut out of the steps, and not turned"
            yield Verdict("unturned", forward, why)


def _one_moved(x: np.ndarray) -> np.ndarray:
    made = x.copy()
    made[:, -1] += 1.0
    return made


def sees_what_follows(machine: Machine, one: Facts) -> Iterator[Verdict]:
    """Each place of a network that is to say the next element sees the next element: "follows".

    Only where the inputs are all but the last and the targets all but the first of the same, in a rehearsal.
    """
    targets = [t for _, given in machine.losses for t in given if not t.asked]
    if one.meet > _MET or not any(_cut(t, "part 1:") for t in targets):
        return
    for place, tables in one.effects.items():
        given = one.question.event.given[place]
        if not isinstance(given, Tensor) or not _cut(given, "part :-1:"):
            continue
        for table in tables:
            square = table.ndim == 2 and table.shape[0] == table.shape[1] > 2
            if square and all(table[t, t + 1] for t in range(len(table) - 1)):
                yield Verdict("follows", _output(one), "each place sees the element that it has to say")
                return


def _cut(tensor: Tensor, what: str) -> bool:
    return any(step.startswith(what) for step in tensor.done[-6:])


_MODE = re.compile(r"self\.training\b")


def input_unheard(_machine: Machine, one: Facts) -> Iterator[Verdict]:
    """An input that comes from the data changes no answer: "deaf"."""
    question, forward = one.question, _forward(one)
    data = [i for i, made in enumerate(question.inputs) if moves(made)]
    if len(question.answers) != 1 or forward is None or len(one.deaf) == len(data):
        return  # an answer that nothing changes has no single place
    if _MODE.search(ast.unparse(forward)):
        return  # it is asked in evaluation mode: labels may be wanted in training alone
    names = [a.arg for a in forward.args.args[1:]]
    for place in one.deaf:
        given = question.event.given[place]
        known = isinstance(given, Tensor) and given.rows is not None and place < len(names)
        if known and all(_is_deaf(one, place, seed) for seed in _SEEDS):
            why = f"no answer depends on `{names[place]}`, which the network is given"
            yield Verdict("deaf", _output(one), why)


def _is_deaf(one: Facts, place: int, seed: int) -> bool:
    """Whether an input changes nothing with other weights, either, of answers that are not all one."""
    whole, other = one.question.drawn(), one.question.drawn(12)
    first = again(one.question, seed)
    second = again(
        one.question,
        seed,
        [b if i == place else a for i, (a, b) in enumerate(zip(whole, other, strict=True))],
    )
    if not first or not second or not same(first, second):
        return False
    return float(np.ptp(first[0])) > 0


_ALL = (samples_meet, unfit_for_loss, order_unknown, heads_not_turned, sees_what_follows, input_unheard)
