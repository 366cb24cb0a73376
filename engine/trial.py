"""Do the rules do what their authors meant? Examples, textbook cases and reach, tried by inference.

`lint` looks at one rule at a time and asks whether it is well made; a trial asks whether it works among all
the others. What fails is told as `Lint`s, so that both read alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .diagnose import ranked
from .graph import active_causes
from .infer import prior_of
from .lint import Lint, Places, Subject, examples_hold, located
from .model import Cause, RuleBase, State


@dataclass(frozen=True, slots=True)
class Trial:
    """What was tried, and what did not hold."""

    causes: int
    examples: int
    symptoms: int
    failures: tuple[Lint, ...]


def try_rules(rules: RuleBase, places: Places | None = None) -> Trial:
    """Try every cause's examples and textbook case, and whether every symptom tells anything."""
    subject = Subject(rules, active_causes(rules))
    failures = [*examples_hold(subject), *own_case(subject), *telling(subject)]
    examples = sum(len(c.examples) for c in subject.causes)
    return Trial(len(subject.causes), examples, len(rules.symptoms), tuple(located(failures, places)))


def own_case(subject: Subject) -> Iterator[Lint]:
    """With all its direct symptoms present a cause comes first, or after causes that it says it looks like.

    The more general causes that it refines may stand before it too: they are told as one chain with it.
    """
    for cause in subject.causes:
        states = dict.fromkeys((link.to for link in cause.shows), State.PRESENT)
        order = ranked(subject.rules, subject.probability(states, {}))
        before = order[: order.index(cause.id)]
        strangers = [c for c in before if c not in _kin(subject.rules, cause)]
        if states and strangers:
            what = f"with all its direct symptoms present, {', '.join(strangers[:3])} comes before it"
            yield Lint("own-case", cause.id, what, part=("shows",))


def _kin(rules: RuleBase, cause: Cause) -> set[str]:
    says_so = {c.id for c in rules.causes.values() if cause.id in c.looks_like}
    return {*cause.looks_like, *cause.refines} | says_so


def telling(subject: Subject) -> Iterator[Lint]:
    """A symptom that is present makes at least one cause more probable than it was, or decides an item."""
    rules = subject.rules
    deciding = {
        s for items in rules.checklists.values() for item in items for s in (*item.fails_on, *item.passes_on)
    }
    before = {c.id: prior_of(rules, c.id, {}) for c in subject.causes}
    for symptom in sorted(set(rules.symptoms) - deciding):
        after = subject.probability({symptom: State.PRESENT}, {})
        if not any(after[c] > before[c] * 1.001 for c in before):
            yield Lint("tells-nothing", symptom, "its presence makes no cause more probable", "warning")
