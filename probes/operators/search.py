"""Is operator fusion at fault, and which rule? The decision by where runs end; the search by bisection.

The search finds a smallest set of rules that has to be off for the accuracy of the run without fusion (delta
debugging, Zeller and Hildebrandt 2002). Then it is confirmed, twice each: with those rules alone off accuracy
is restored, with all others off it is not, and of several each is needed; else results contradict each other
and no rule is named.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..assembly import names as quantities
from ..benchmark.repeats import ends
from ..registry import View
from ..run import Run
from ..tensors.fusion_result import Rule

GOOD, BAD = 0.7, 0.3  # how much of the way from fusion on to fusion off a result must have gone
SPREAD = 0.4  # repeats of one configuration that lie further apart than this say nothing
MOST_REPEATS = 3
Outcome = Literal["good", "bad"]


@dataclass(frozen=True, slots=True)
class Measure:
    """Where two runs end, in the quantity that both log."""

    quantity: str
    lower: bool  # whether lower is better
    on: float
    off: float
    margin: float  # what chance and rounding do
    benchmark: float | None = None

    @property
    def gap(self) -> float:
        """By how much the run without fusion is better (negative: worse)."""
        if self.benchmark is not None:
            return abs(self.on - self.benchmark) - abs(self.off - self.benchmark)
        return self.on - self.off if self.lower else self.off - self.on

    def share(self, value: float) -> float:
        """How far a result has gone from fusion on (0) to fusion off (1)."""
        return (value - self.on) / (self.off - self.on)


def measure(on: Run, off: Run, benchmark: Run | None, *, absolute: float, relative: float) -> Measure | str:
    """Where the runs end; or why that cannot be compared.

    `absolute` is the tolerance of shares such as accuracy, `relative` that of every other quantity.
    """
    found = ends(View(on, on, (off,) if benchmark is None else (off, benchmark)))
    if found is None and benchmark is not None:
        return "the runs and the benchmark log no common quantity over the same length"
    if found is None:
        return "the two runs log no common quantity over the same length"
    base = quantities.base(found.name)
    lower = found.name.endswith("loss") or (base is not None and base.lower)
    tolerance = absolute if found.fraction else relative * max(abs(found.values[0]), abs(found.values[1]))
    reference = found.values[2] if len(found.values) > 2 else None
    return Measure(
        found.name, lower, found.values[0], found.values[1], max(tolerance, 3 * found.error), reference
    )


def end_of(on: Run, result: Run, quantity: str) -> float | str:
    """Where a further run ends in that quantity, or why it cannot be told."""
    found = ends(View(on, on, (result,)))
    if found is None:
        return "it logs no common quantity over the same length as the run with fusion on"
    if found.name != quantity:
        return f"it does not log {quantity}"
    return found.values[1]


# ---------------------------------------------------------------------------------------------- search


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: which rules were off, and how far it went towards the run without fusion."""

    off: tuple[Rule, ...]
    value: float
    share: float
    run: str


@dataclass(slots=True)
class Search:
    """The state of a search. It is all that the state file holds."""

    measure: Measure
    rules: list[Rule]
    trials: list[Trial] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search stands: what to run next, or what it found.

    "ask": run with the rules of `off` switched off; "found"; "contradiction": results do not fit together
    (nothing `left`: no listed rule does the harm); "noise": repeats of one configuration lie too far apart.
    """

    state: Literal["ask", "found", "contradiction", "noise"]
    off: tuple[Rule, ...] = ()
    found: tuple[Rule, ...] = ()
    again: bool = False  # the configuration was run before, and its result lies between good and bad
    confirming: bool = False
    left: tuple[Rule, ...] = ()  # suspects


def progress(search: Search) -> Progress:
    """Replay the trials and say what comes next."""
    if len(search.rules) == 1:
        return Progress("found", found=tuple(search.rules))
    walk = _search(search.rules)
    question = next(walk)
    answers = _answers(search.trials)
    for _ in range(10 * len(search.rules) ** 2 + 10):
        trials = answers.get(frozenset(question.off), [])
        outcome = _outcome(trials, question.times, GOOD if question.partly else BAD)
        if outcome == "noise":
            return Progress("noise", off=question.off, left=question.left)
        if outcome is None:
            return Progress(
                "ask",
                question.off,
                again=len(trials) >= question.times,
                confirming=question.confirming,
                left=question.left,
            )
        try:
            question = walk.send(outcome)
        except StopIteration as done:
            result: Progress = done.value
            return result
    return Progress("contradiction", left=tuple(search.rules))


def _answers(trials: Sequence[Trial]) -> Mapping[frozenset[Rule], list[float]]:
    found: dict[frozenset[Rule], list[float]] = {}
    for trial in trials:
        found.setdefault(frozenset(trial.off), []).append(trial.share)
    return found


def _outcome(shares: Sequence[float], times: int, line: float = BAD) -> Outcome | Literal["noise"] | None:
    """What the runs of one configuration say; None: not enough yet."""
    if len(shares) < times:
        return None
    if times > 1:
        return "good" if min(shares) >= GOOD else "bad" if max(shares) <= line else "noise"
    if len(shares) == 1:
        return "good" if shares[0] >= GOOD else "bad" if shares[0] <= BAD else None
    if max(shares) - min(shares) > SPREAD:
        return None if len(shares) < MOST_REPEATS else "noise"
    # All alike: what recovers a part of the gap only leaves another rule at work.
    return "good" if sorted(shares)[len(shares) // 2] >= GOOD else "bad"


@dataclass(frozen=True, slots=True)
class _Question:
    off: tuple[Rule, ...]
    left: tuple[Rule, ...]
    confirming: bool = False
    times: int = 1  # runs that it takes
    partly: bool = (
        False  # a part of the gap is an answer, too: each of several rules may do a part of the harm
    )


def _search(rules: Sequence[Rule]) -> Generator[_Question, Outcome, Progress]:
    suspects = list(rules)
    parts = 2
    while len(suspects) > 1:
        pieces = [
            suspects[i * len(suspects) // parts : (i + 1) * len(suspects) // parts] for i in range(parts)
        ]
        smaller = None
        for piece in pieces:
            if (yield _Question(tuple(piece), tuple(suspects))) == "good":
                smaller, parts = piece, 2
                break
        if smaller is None and len(suspects) == len(rules) and parts == 2 and len(rules) > 2:
            # Neither half alone: several rules, or one that no list tells; all of them off tells which.
            if (yield _Question(tuple(rules), tuple(suspects))) == "bad":
                return Progress("contradiction")
        if smaller is None and parts > 2:
            for piece in pieces:
                rest = [r for r in suspects if r not in piece]
                if (yield _Question(tuple(rest), tuple(suspects))) == "good":
                    smaller, parts = rest, max(parts - 1, 2)
                    break
        if smaller is not None:
            suspects = smaller
        elif parts >= len(suspects):
            break
        else:
            parts = min(len(suspects), 2 * parts)
    others = tuple(r for r in rules if r not in suspects)
    # What an answer rests on is run twice: a single lucky run must not name a rule.
    if others and (
        (yield _Question(tuple(suspects), tuple(suspects), True, 2)) == "bad"
        or (yield _Question(others, tuple(suspects), True, 2)) == "good"
    ):
        return Progress("contradiction", left=tuple(suspects))
    for innocent in suspects if len(suspects) > 1 else ():
        needed = tuple(r for r in suspects if r != innocent)  # a chance result may have kept it among them
        if (yield _Question(needed, tuple(suspects), True, 2, partly=True)) == "good":
            return Progress("contradiction", left=tuple(suspects))
    return Progress("found", found=tuple(suspects))


# ----------------------------------------------------------------------------------------------- state

SCHEMA_VERSION = "1"


class BadState(ValueError):
    """A state file that cannot be used; one phrase."""


def to_json(search: Search) -> dict[str, Any]:
    """The state as plain data."""
    m = search.measure
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "traindoctor-fusion-search",
        "measure": {
            "quantity": m.quantity,
            "lower": m.lower,
            "on": m.on,
            "off": m.off,
            "margin": m.margin,
            "benchmark": m.benchmark,
        },
        "rules": [list(r) for r in search.rules],
        "trials": [
            {"off": [list(r) for r in t.off], "value": t.value, "share": t.share, "run": t.run}
            for t in search.trials
        ],
    }


def from_json(content: Any) -> Search:
    """Read a state. Raises BadState."""
    if not isinstance(content, dict) or content.get("kind") != "traindoctor-fusion-search":
        raise BadState("it is not the state of a fusion search")
    if content.get("schema_version") != SCHEMA_VERSION:
        raise BadState(
            f"its schema_version is {str(content.get('schema_version'))[:20]}, not {SCHEMA_VERSION}"
        )
    try:
        m = content["measure"]
        reference = None if m["benchmark"] is None else _finite(m["benchmark"])
        made = Measure(
            str(m["quantity"]),
            m["lower"] is True,
            _finite(m["on"]),
            _finite(m["off"]),
            _finite(m["margin"]),
            reference,
        )
        rules = [_rule(r) for r in content["rules"]]
        trials = [
            Trial(tuple(_rule(r) for r in t["off"]), _finite(t["value"]), _finite(t["share"]), str(t["run"]))
            for t in content["trials"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise BadState("an entry is missing or damaged") from error
    if not rules or len(set(rules)) < len(rules) or made.on == made.off:
        raise BadState("its rules or figures make no sense")
    if any(not set(t.off) <= set(rules) for t in trials):
        raise BadState("a trial names a rule that is not searched")
    return Search(made, rules, trials)


def _finite(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or number != number or number in (float("inf"), float("-inf")):
        raise ValueError
    return number


def _rule(value: Any) -> Rule:
    group, name = value
    if not isinstance(group, str) or not isinstance(name, str):
        raise TypeError
    return group, name
