"""Gradients and steps: what is cleared too late or too early, and weights that nothing moves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...code.shared.numbers import known
from ...readers.script import last_name
from ..journal import Backward, Cleared, Stepped
from ..machine import Machine
from ..values import Net, Optimizer, Tensor, Weight
from .verdict import Verdict, optimizers, trains


def stale_gradients(machine: Machine) -> Iterator[Verdict]:
    """A step moves weights by gradients that an earlier step has used already: they are not cleared."""
    steps = [e for e in machine.journal.of(Stepped) if not _searches(e.optimizer)]
    again = [e for e in steps if e.stale]
    if machine.gradients_read:
        return  # they may be set to zero by hand
    if again and optimizers(machine) is not None and not any(e.guessed for e in again[:1]):
        cleared = machine.journal.of(Cleared)
        if len(again) >= len(steps) - 2 or not cleared:
            yield Verdict("stale", again[0].node, "gradients that an earlier step has used are still there")


def _searches(optimizer: Optimizer) -> bool:
    """Whether an optimizer computes gradients itself, as often as its search along a line asks for them."""
    return "lbfgs" in optimizer.name.lower()


def lost_gradients(machine: Machine) -> Iterator[Verdict]:
    """Gradients that are cleared before any step used them."""
    if optimizers(machine) is None and machine.journal.of(Stepped):
        return
    if any(e.guessed for e in machine.journal.of(Stepped)):
        return  # a step that is skipped where gradients overflow
    used = {n for e in machine.journal.of(Stepped) for n in e.used}
    backwards = machine.journal.of(Backward)
    lost = [e for e in machine.journal.of(Cleared) if e.lost and not e.lost & used]
    if machine.gradients_read:  # they may have been carried over to copies that the optimizer has
        held = {w.serial for o in machine.optimizers for w in o.weights or ()}
        lost = [e for e in lost if e.weights is None or any(w.serial in held for w in e.weights)]
    gone = {n for e in lost for n in e.lost}
    if lost and len(gone) * 2 >= len(backwards) and not lost[0].guessed and machine.journal.of(Stepped):
        held_back = any(getattr(o.gate, "every", 1) != 1 for o in machine.optimizers)
        kind = "gathered-lost" if held_back and used else "lost"  # without any used, no step has a gradient
        yield Verdict(kind, lost[0].node, "gradients are cleared before a step has used them")


def left_out(machine: Machine) -> Iterator[Verdict]:
    """Weights that a gradient reaches and no optimizer has, beside others of their network that are moved."""
    known = optimizers(machine)
    if known is None or not trains(machine):
        return
    held = {w.serial for o in machine.optimizers for w in o.weights or ()}
    reached = {s for e in machine.journal.of(Backward) for s in e.reached}
    for net in {id(a.net): a.net for a in machine.asks.values()}.values():
        mine = [w for w in net.parameters() if w.trains]
        moved = [w for w in mine if w.serial in held]
        missed = [w for w in mine if w.serial in reached and w.serial not in held and not w.escaped]
        missed = [w for w in missed if id(w) not in _rests(net)]
        if moved and missed and not any(n.escaped for n in net.nets()):
            owner = owner_of(net, missed[0])
            optimizer = next((o for o in known if any(w in moved for w in o.weights or ())), known[0])
            yield Verdict(
                "left-out",
                optimizer.node,
                f"a gradient reaches {len(missed)} of {len(mine)} weights of the network"
                f" that no optimizer moves ({owner})",
            )


def _rests(net: Net) -> set[int]:
    """What stands for the layers of a library's network that were not asked for: it may have no others."""
    return {id(w) for n in net.nets() if n.opaque and n.children for w in n.weights.values()}


def unreached(machine: Machine) -> Iterator[Verdict]:
    """Layers that an answer goes through and no gradient reaches, though an optimizer has their weights."""
    known = optimizers(machine)
    if known is None or not trains(machine):
        return
    held = {w.serial for o in known for w in o.weights or ()}
    backwards = machine.journal.of(Backward)
    if any(not e.reached and _half_known(machine, e.loss) for e in backwards):
        return  # the way back may lie in what is not known
    reached = {s for e in backwards for s in e.reached}
    told = {s for a in machine.asks.values() for s in a.reaches}  # cut outside of the network, on purpose
    for net in {id(a.net): a.net for a in machine.asks.values() if not a.opaque}.values():
        if any(n.opaque for n in net.nets()):
            continue
        live = {id(n.node) for n in net.nets() if any(w.serial in reached for w in n.weights.values())}
        for inner in net.nets():
            if id(inner.node) in live:
                continue  # the last block's way on to a block that is none
            mine = [w for w in inner.weights.values() if w.trains and not w.buffer and w.serial in held]
            if not mine or not getattr(inner, "used", 0) or inner.opaque:
                continue
            if any(w.serial in machine.kept_elsewhere or w.serial in told for w in mine):
                continue
            if not any(w.serial in reached for w in mine) and not any(n.escaped for n in net.nets()):
                others = [w for w in net.parameters() if w.serial in reached]
                if others and inner.node is not None:
                    yield Verdict(
                        "unreached", inner.node, f"no gradient reaches this {inner.layer or 'layer'}"
                    )


def _half_known(machine: Machine, loss: object) -> bool:
    """A loss that is not known, or that something made which is not."""
    return not isinstance(loss, Tensor) or bool(machine.not_known & set(loss.done))


def reaches_nothing(machine: Machine) -> Iterator[Verdict]:
    """Every loss is made of answers, and its gradient reaches no weight: cut, or computed beside the tape."""
    backwards = [e for e in machine.journal.of(Backward) if isinstance(e.loss, Tensor)]
    if len(backwards) < 2 or any(e.reached or not e.loss.asked or e.guessed for e in backwards):
        return
    if len(backwards) != len(machine.journal.of(Backward)) or not machine.journal.of(Stepped):
        return
    if any(machine.not_known & set(e.loss.done) for e in backwards):
        return  # what is not known may hold weights
    asks = [machine.asks[n] for e in backwards for n in e.loss.asked if n in machine.asks]
    nets = {id(a.net): a.net for a in asks}.values()
    known = all(any(w.trains for w in n.parameters()) for n in nets)
    # layers that are not known, and networks made of such
    unknown = [i for n in nets for i in n.nets() if i.opaque and (i.children or "unknown" in i.weights)]
    known = known and not unknown
    if known and not any(a.opaque for a in asks) and not any(i.escaped for n in nets for i in n.nets()):
        yield Verdict("reaches-nothing", backwards[0].node, "the gradient of this loss reaches no weight")


def owner_of(net: Net, weight: Weight) -> str:
    """The layer that a weight stands in, by its dotted name."""
    waiting: list[tuple[str, Net]] = [("", net)]
    while waiting:
        name, one = waiting.pop(0)
        if any(w is weight for w in one.weights.values()):
            return name or one.layer or "itself"
        waiting += [(f"{name}.{k}".lstrip("."), c) for k, c in one.children.items() if isinstance(c, Net)]
    return "a layer"


_HALF = re.compile(r"(?<![\w.])0?\.5 ?\*|\* ?0?\.5(?!\d)|/ ?2(?:\.0)?(?![\w.])")


def undivided(machine: Machine) -> Iterator[Verdict]:
    """Gradients of several batches are gathered, and their losses, which are means, are not divided."""
    if optimizers(machine) is None or machine.gradients_read:
        return
    by_number = {e.number: e for e in machine.journal.of(Backward)}
    counts: list[int] = []
    around: list[tuple[object, ...]] = []
    scales: list[float] = []
    node = None
    for event in machine.journal.of(Stepped):
        mine = [by_number[n] for n in event.used if n in by_number]
        if not mine or event.stale or len({m.node for m in mine}) != 1 or event.guessed:
            return
        counts.append(len(mine))
        around.append(event.loops[:-1])
        for one in mine:
            loss = one.loss
            if not isinstance(loss, Tensor) or loss.scale is None or not loss.scalar or "sum" in loss.done:
                return
            scales.append(loss.scale)
        node = mine[0].node
    if len(counts) < 3 or node is None or max(counts) < 2:
        return
    usual = _written(machine, node) or max(set(counts), key=counts.count)
    counts = [usual if c == max(counts) else c for c in counts]
    if usual < 2 or counts.count(usual) * 2 < len(counts) or len({round(s, 9) for s in scales}) != 1:
        return
    if abs(scales[0] - 1.0) < 1e-9:
        yield Verdict(
            "undivided", node, f"gradients of {usual} batches are gathered, and no loss is divided by {usual}"
        )
    elif any("add" in e.loss.done[-3:] for e in by_number.values() if isinstance(e.loss, Tensor)):
        return  # the mean of several losses is divided as well
    elif abs(scales[0] * usual - 0.5) < 1e-6 and _HALF.search(machine.source.code):
        return  # half a square: a likelihood, or an error whose slope has no factor
    elif len(set(around)) < len(around) and scales[0] < 1 and abs(scales[0] * usual - 1.0) > 0.01:
        yield Verdict(
            "divided-otherwise",
            node,
            f"gradients of {usual} batches are gathered, each loss is divided by {1 / scales[0]:g}",
        )


def _written(machine: Machine, backward: ast.AST) -> int | None:
    """How many rounds `for micro in range(steps):` has: a rehearsal takes few of them."""
    loop = next(iter(machine.source.loops_around(backward)), None)
    over = loop.iter if isinstance(loop, ast.For) else None
    if not isinstance(over, ast.Call) or last_name(over.func) not in ("range", "trange"):
        return None
    if any(loop in machine.source.loops_around(e.node) for e in machine.journal.of(Stepped)):
        return None
    rounds = known(machine.source, over.args[0]) if len(over.args) == 1 else None
    return int(rounds) if rounds is not None and rounds >= 1 else None


def divided_for_nothing(machine: Machine) -> Iterator[Verdict]:
    """Each loss is divided for gathering, and every step is taken on one batch alone."""
    used = [e for e in machine.journal.of(Stepped) if e.gradients]
    counts = {len(e.used) for e in used}
    losses = [e for e in machine.journal.of(Backward) if isinstance(e.loss, Tensor) and e.loss.scalar]
    scales = {e.loss.scale for e in losses}
    lost = [e for e in machine.journal.of(Cleared) if e.lost and (e.weights is None or len(e.weights) > 1)]
    if counts == {1} and len(scales) == 1 and lost and optimizers(machine) is not None:
        scale = scales.pop()
        if (
            scale is not None
            and 0 < scale <= 0.5
            and abs(1 / scale - round(1 / scale)) < 1e-9
            and not lost[0].guessed
        ):
            yield Verdict(
                "micro-lost",
                lost[0].node,
                f"each loss is divided by {1 / scale:g}, and gradients are cleared after each",
            )


def used_twice(machine: Machine) -> Iterator[Verdict]:
    """An optimizer steps again on gradients that it has used, or one loss is derived twice for a step.

    `optimizer.step(); optimizer.step()`, `loss.backward(retain_graph=True); loss.backward()`.
    """
    if optimizers(machine) is None or machine.gradients_read:
        return
    steps = [e for e in machine.journal.of(Stepped) if not _searches(e.optimizer)]
    if any(e.guessed for e in steps):
        return
    last: dict[int, frozenset[int]] = {}  # of each optimizer, the gradients that its last step used
    again: list[Stepped] = []
    for event in steps:
        used = event.used
        if used and used == last.get(id(event.optimizer)) and used <= event.stale:
            again.append(event)
        last[id(event.optimizer)] = used
    if len(again) >= 3 and len(again) * 2 >= len(steps) - 1:
        yield Verdict(
            "used-twice", again[0].node, "this step uses the gradients of the step before once more"
        )
    losses = {e.number: e for e in machine.journal.of(Backward)}
    twice: list[Backward] = []
    for event in steps:
        mine = [losses[n] for n in sorted(event.used - event.stale) if n in losses]
        first = {id(e.loss): e for e in reversed(mine) if isinstance(e.loss, Tensor)}
        twice += [e for e in mine if isinstance(e.loss, Tensor) and first[id(e.loss)] is not e][:1]
    if len(twice) >= 3 and len(twice) * 2 >= len(steps):
        yield Verdict(
            "used-twice", twice[0].node, "the gradient of this loss is taken a second time for one step"
        )
