"""Two networks against each other: which way each step moves the scores of real and of made samples.

Nothing is told by names. A critic is a network that is asked of what another trained network made; samples
that no trained network made are real. How a loss hangs on a score is measured (see `meaning`), so that
entropies, hinges, squares and plain differences are one thing.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ..journal import Asked, Backward, Stepped
from ..machine import Machine
from ..meaning import ANSWER, LAYER, Leaf, Meaning, all_parts, key_of
from ..values import Net, Tensor
from .verdict import Verdict

_SLIGHT = 1e-6

_ROUNDS = 4  # of one place, whose losses are looked at: the later ones are made alike


@dataclass(eq=False)
class Score:
    """A critic's score in a loss. `maker`: the network that made what it is a score of; None of real ones.

    `slope` is no number where its sign hangs on what is not known: labels that are smoothed by a setting.
    """

    leaf: Leaf
    critic: Net
    maker: Net | None
    slope: float


@dataclass(eq=False)
class Duel:
    """A critic and the network that it judges. Slopes are those of the losses that moved each one."""

    critic: Net
    maker: Net
    real: list[float] = field(default_factory=list)
    made: list[float] = field(default_factory=list)
    pulled: list[float] = field(default_factory=list)
    node: ast.AST | None = None  # the critic's loss
    pull: ast.AST | None = None  # the maker's loss


def _serials(net: Net) -> frozenset[int]:
    return frozenset(w.serial for w in net.parameters())


class Table:
    """Which networks a program trains, and which of them a layer stands in."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.meanings: dict[Backward, Meaning | None] = {}
        self.scores: dict[Backward, tuple[Score, ...] | None] = {}
        self.held = [frozenset(w.serial for w in o.weights or ()) for o in machine.optimizers]
        trained = frozenset().union(*self.held) if self.held else frozenset()
        found = {id(n): n for n in (*machine.nets, *(a.net for a in machine.asks.values()))}
        nets = [n for n in found.values() if _serials(n) and not self._holds_several(n)]
        nets = [n for n in nets if _serials(n) & trained]
        nets = [n for n in nets if not any(_serials(n) < _serials(m) for m in nets)]
        self.nets = list({_serials(n): n for n in reversed(nets)}.values())

    def _holds_several(self, net: Net) -> bool:
        """Whether several networks that have optimizers of their own stand in it."""
        mine = _serials(net)
        parts = [h & mine for h in self.held if h & mine and h & mine != mine]
        lightning = net.kind is not None and net.kind.derives("LightningModule", "pl.LightningModule")
        inner = [c for c in net.children.values() if isinstance(c, Net) and c.parameters()]
        return (len(parts) > 1 and not frozenset.intersection(*parts)) or (lightning and len(inner) > 1)

    def of(self, serials: frozenset[int]) -> Net | None:
        """The network that these weights stand in; None where there are several or none."""
        found = [n for n in self.nets if serials and serials <= _serials(n)]
        return found[0] if len(found) == 1 else None

    def opened(self, leaf: Leaf) -> bool:
        """An answer of what holds several networks: what happens within it is gone into."""
        return leaf.answer is not None and self.of(_serials(leaf.answer.net)) is None

    def asked(self, value: object) -> Net | None:
        """The network that gave a value, through layers without weights and changes of shape."""
        for _ in range(40):
            if not isinstance(value, Tensor) or value.how is None:
                return None
            how = value.how
            if how.name == ANSWER:
                net = self.of(_serials(how.given[0].net))
                if net is not None:
                    return net
                value = how.given[2]
                continue
            if LAYER in how.named and how.named[LAYER].parameters():
                return self.of(_serials(how.named[LAYER]))
            value = next((g for g in how.given if isinstance(g, Tensor)), None)
        return None

    def makers(self, value: object, but: Net) -> list[Net]:
        """Trained networks, but this one, that had a part in a value."""
        return list(_makers(self, value, but))


def _makers(table: Table, value: object, but: Net) -> Iterator[Net]:
    found: set[int] = set()
    for one in all_parts(value):
        how = one.how
        inner = how.given[0].net if how is not None and how.name == ANSWER else None
        if how is not None and LAYER in how.named:
            inner = how.named[LAYER]
        net = table.of(_serials(inner)) if inner is not None else None
        if net is not None and net is not but and id(net) not in found:
            found.add(id(net))
            yield net


@lru_cache(maxsize=16)
def table_of(machine: Machine) -> Table:
    """The networks of a program that was rehearsed."""
    return Table(machine)


def meaning_of(machine: Machine, event: Backward) -> Meaning | None:
    """What a loss comes to, within networks that hold several as well."""
    table = table_of(machine)
    if event not in table.meanings:
        known = isinstance(event.loss, Tensor)
        table.meanings[event] = Meaning(event.loss, table.opened) if known else None
    return table.meanings[event]


def scores_of(machine: Machine, event: Backward) -> tuple[Score, ...] | None:
    """The scores in a loss that samples of others were given; None where part of it is not understood."""
    table = table_of(machine)
    if event not in table.scores:
        table.scores[event] = _scores_in(machine, event)
    return table.scores[event]


def _scores_in(machine: Machine, event: Backward) -> tuple[Score, ...] | None:
    table = table_of(machine)
    meaning = meaning_of(machine, event)
    if meaning is None:
        return None
    found = []
    for key, leaf in list(meaning.leaves.items()):
        critic = table.asked(leaf.value)
        if critic is None or leaf.name == "gradient":
            continue
        if key in meaning.hidden:
            return None
        slope = meaning.slope(key)
        if slope != slope or abs(slope) < _SLIGHT:
            continue
        unsure = [k for k, x in list(meaning.leaves.items()) if k != key and table.asked(x.value) is None]
        ends = [meaning.slope(key, dict.fromkeys(unsure, v)) for v in (0.05, 0.95)]
        if any(e * slope <= 0 for e in ends):
            slope = math.nan
        makers = table.makers(leaf.value, critic)
        if len(makers) > 1:
            return None
        found.append(Score(leaf, critic, makers[0] if makers else None, slope))
    return tuple(found)


def _scores(machine: Machine) -> dict[int, tuple[Score, ...]] | None:
    """The scores in each loss, by its number; None where part of one is not understood."""
    scores: dict[int, tuple[Score, ...]] = {}
    for event in machine.journal.of(Backward):
        found = scores_of(machine, event)
        if found is None:
            return None
        scores[event.number] = found
    return scores


def _moves(event: Stepped, net: Net) -> frozenset[int]:
    mine = _serials(net)
    return frozenset(n for s, numbers in event.gradients.items() if s in mine for n in numbers)


@lru_cache(maxsize=16)
def duels(machine: Machine) -> tuple[Duel, ...]:
    """The duels of a program: all steps of both sides were understood."""
    if len(table_of(machine).nets) < 2:
        return ()
    losses = {e.number: e for e in machine.journal.of(Backward)}
    steps: list[Stepped] = machine.journal.of(Stepped)
    scores = _scores(machine)
    if not scores:
        return ()
    pairs = {
        (id(s.critic), id(s.maker)): (s.critic, s.maker)
        for ss in scores.values()
        for s in ss or ()
        if s.maker
    }
    found = []
    for critic, maker in pairs.values():
        if maker is None or (id(maker), id(critic)) in pairs:
            continue
        if any(math.isnan(s.slope) for ss in scores.values() for s in ss if s.critic is critic):
            continue
        duel = Duel(critic, maker)
        for event in steps:
            if event.stale:
                continue
            by_critic, by_maker = _moves(event, critic), _moves(event, maker)
            for number in sorted(by_critic - by_maker):
                for one in scores.get(number) or ():
                    if one.critic is critic:
                        (duel.made if one.maker is maker else duel.real).append(one.slope)
                        duel.node = losses[number].node
            for number in sorted(by_maker - by_critic):
                mine = [s for s in scores.get(number) or () if s.critic is critic]
                if mine and all(s.maker is maker for s in mine):
                    duel.pulled += [s.slope for s in mine]
                    duel.pull = losses[number].node
        found.append(duel)
    return tuple(found)


def _known(machine: Machine) -> bool:
    """Whether the weights of all optimizers are known, and one of them is stepped."""
    return bool(machine.journal.of(Stepped)) and all(o.weights is not None for o in machine.optimizers)


def _way(slopes: list[float]) -> int:
    """1 or -1 where all of them have this sign, 0 where they differ or there are none."""
    signs = {1 if s > 0 else -1 for s in slopes}
    return signs.pop() if len(signs) == 1 else 0


def moved_alike(machine: Machine) -> Iterator[Verdict]:
    """A critic moves real and made scores the same way, or its maker moves them as the critic does."""
    if not _known(machine):
        return
    for duel in duels(machine):
        real, made, pulled = _way(duel.real), _way(duel.made), _way(duel.pulled)
        if real and made and real == made and duel.node is not None:
            why = "the loss of the critic moves its scores of real and of made samples the same way"
            yield Verdict("duel-alike", duel.node, why)
        elif real and made and pulled and pulled == made and duel.pull is not None:
            why = "the network that makes samples and the critic move the scores of made samples the same way"
            yield Verdict("duel-alike", duel.pull, why)


def one_kind_only(machine: Machine) -> Iterator[Verdict]:
    """A critic is asked of one and the same samples as the real and as the made ones."""
    table = table_of(machine)
    if len(table.nets) < 2:
        return
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        scores = scores_of(machine, event)
        mine = [s for s in scores or () if len([t for t in scores or () if t.critic is s.critic]) == 2]
        if len(mine) != 2 or len(scores or ()) != 2 or not mine[0].slope * mine[1].slope < 0:
            continue
        first, second = (_input(table, s.leaf.value) for s in mine)
        if first is not None and first == second:
            why = "both scores of the critic are of the same samples: one should be of real, one of made ones"
            yield Verdict("duel-one-kind", event.node, why)
            return


def _input(table: Table, value: object) -> object:
    """What the network that gave a value was asked of."""
    for one in all_parts(value):
        if (
            one.how is not None
            and one.how.name == ANSWER
            and table.of(_serials(one.how.given[0].net)) is not None
        ):
            asked: Asked = one.how.given[0]
            given = [g for g in asked.given if g is not None]
            return tuple(_samples(g) for g in given)
    return None


def _samples(value: object) -> object:
    """Samples, whether or not they are cut off from what made them."""
    while isinstance(value, Tensor) and value.how is not None and value.how.name in ("detach", "to", "clone"):
        value = value.how.given[0]
    if isinstance(value, (list, tuple)):
        return tuple(_samples(v) for v in value)
    return key_of(value)


def maker_cut_off(machine: Machine) -> Iterator[Verdict]:
    """No loss reaches the network that makes samples: its samples are cut off before the critic sees them."""
    steps, nets = machine.journal.of(Stepped), table_of(machine).nets
    losses = [e for several in _by_place(machine).values() for e in several[:_ROUNDS]]
    for maker in nets if len(nets) > 1 else ():
        pulls = [e for e in losses if _only_made(machine, e, maker)]
        mine = _serials(maker)
        own = [o for o in machine.optimizers if o.weights and {w.serial for w in o.weights} <= mine]
        scored = [s for e in pulls for s in _of_others(scores_of(machine, e), maker)]
        if not pulls or any(s.leaf.value.deps & mine for s in scored):
            continue
        critics = {id(s.critic) for s in scored}
        others = [s for e in losses for s in scores_of(machine, e) or () if s.maker is None]
        if not any(id(s.critic) in critics for s in others):
            continue  # nothing real is scored: these are no duel
        if any(e.optimizer in own for e in steps):
            why = (
                "the critic's scores do not reach the network that makes samples: they are cut off before it"
            )
            yield Verdict("duel-cut", pulls[-1].node, why)
            return


def _by_place(machine: Machine) -> dict[ast.AST, list[Backward]]:
    """The losses that gradients are taken of, by where that is."""
    found: dict[ast.AST, list[Backward]] = {}
    for event in machine.journal.of(Backward):
        found.setdefault(event.node, []).append(event)
    return found


def _of_others(scores: tuple[Score, ...] | None, maker: Net) -> list[Score]:
    """What others say in a loss; not what a network's own samples are held to."""
    return [s for s in scores or () if s.critic is not maker]


def _only_made(machine: Machine, event: Backward, maker: Net) -> bool:
    scores = _of_others(scores_of(machine, event), maker)
    return bool(scores) and all(s.maker is maker for s in scores)


def stepped_by_the_other(machine: Machine) -> Iterator[Verdict]:
    """A critic is moved by the loss that is meant to move the maker, and by none of its own."""
    if not _known(machine) or len(table_of(machine).nets) < 2:
        return
    losses = {e.number: e for e in machine.journal.of(Backward)}
    scores = _scores(machine)
    if scores is None:
        return
    both = [
        (n, s.critic, t.maker)
        for n, ss in scores.items()
        for s in ss or ()
        for t in ss or ()
        if s.critic is t.critic and s.maker is None and t.maker is not None and s.slope * t.slope < 0
    ]
    steps = machine.journal.of(Stepped)
    for critic, maker in {(id(c), id(m)): (c, m) for _, c, m in both if m is not None}.values():
        own = {n for n, c, _ in both if c is critic}
        moved = [(e, _moves(e, critic)) for e in steps if _moves(e, critic)]
        wrong = [(e, used) for e, used in moved if used and not used & own]
        others = {n: _of_others(ss, maker) for n, ss in scores.items()}
        pulled = {
            n for n, ss in others.items() if ss and all(s.critic is critic and s.maker is maker for s in ss)
        }
        lost = len(wrong) == len(moved) or not any(_moves(e, maker) for e in steps)
        if wrong and lost and all(used <= pulled for _, used in wrong):
            why = "this step moves the critic by the loss of the network that makes samples"
            yield Verdict("duel-step", wrong[0][0].node, why)
        elif moved and all(
            used & own and used & pulled and max(used & pulled) > max(used & own) for _, used in moved
        ):
            why = "this step moves the critic by the loss of the network that makes samples, too"
            yield Verdict("duel-step", moved[0][0].node, why)
        elif not moved and own and any(_moves(e, maker) for e in steps):
            why = "no step moves the critic by its loss: the optimizer that is stepped holds another network"
            yield Verdict("duel-step", losses[min(own)].node, why)


def penalty_turned(machine: Machine) -> Iterator[Verdict]:
    """The penalty on a critic's slopes rewards steep ones, or pushes them without end in one direction."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        meaning = meaning_of(machine, event)
        slopes = [k for k, x in meaning.leaves.items() if x.name == "gradient"] if meaning else []
        if meaning is None or not slopes or not scores_of(machine, event):
            continue
        for key in slopes:
            if key in meaning.hidden:
                continue
            steep, flat = meaning.slope(key, {key: 2.0}), meaning.slope(key, {key: 0.5})
            if steep < -_SLIGHT:
                yield Verdict(
                    "penalty-turned", event.node, "the penalty falls where the critic's slopes are steep"
                )
            elif steep > _SLIGHT and abs(steep - flat) < 1e-6 * steep:
                why = (
                    "the distance of the slopes' norm from one is not squared: the penalty falls without end"
                )
                yield Verdict("penalty-turned", event.node, why)


def mixed_wrongly(machine: Machine) -> Iterator[Verdict]:
    """Samples between real and made ones, for a penalty: their shares have to add up to one."""
    table = table_of(machine)
    if len(table.nets) < 2 or not any(scores_of(machine, e) for e in machine.journal.of(Backward)):
        return
    for ask in {a.node: a for a in machine.asks.values()}.values():
        critic = table.of(_serials(ask.net))
        given = [g for one in ask.given for g in (one if isinstance(one, (list, tuple)) else [one])]
        for one in given if critic is not None else ():
            if not isinstance(one, Tensor) or one.how is None:
                continue
            meaning = Meaning(one, table.opened)
            made = [k for k, x in list(meaning.leaves.items()) if table.asked(x.value) not in (None, critic)]
            drawn = [k for k, x in list(meaning.leaves.items()) if x.name in _EVEN + _NORMAL]
            rest = [k for k in meaning.leaves if k not in made and k not in drawn]
            shares = {k: meaning.slope(k) for k in (*made, *rest)}
            live = [k for k, s in shares.items() if abs(s) > _SLIGHT]
            if len(made) != 1 or len(drawn) != 1 or len(live) != 2 or made[0] not in live or meaning.hidden:
                continue
            real = next(k for k in live if k != made[0])
            ends = [[meaning.slope(k, {drawn[0]: v}) for v in (0.0, 1.0)] for k in (made[0], real)]
            alike = (ends[0][0] > ends[0][1]) == (ends[1][0] > ends[1][1])
            if abs(min(ends[0])) > 0.02 or abs(max(ends[0]) - 1.0) > 0.02 or alike:
                why = "the shares of real and of made samples in this mixture do not add up to one"
                yield Verdict("mixed-wrongly", ask.node, why)
            elif meaning.leaves[drawn[0]].name in _NORMAL:
                why = "the share of real samples in this mixture is drawn from a normal distribution"
                yield Verdict("mixed-wrongly", ask.node, why)


_EVEN = ("rand", "rand_like", "uniform", "random", "random_sample")
_NORMAL = ("randn", "randn_like", "normal", "standard_normal")
