"""Where a run stands in a documented flow: nothing is done for lack of evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from traindoctor.engine.advise import BAND, by_promise
from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import RuleError, load_rules
from traindoctor.engine.model import (
    CheckedItem,
    ChecklistItem,
    Flow,
    Look,
    NextCheck,
    Reading,
    Result,
    RuleBase,
    RunInfo,
    State,
    Step,
    Symptom,
)
from traindoctor.engine.workflow import Order, looked_at_in, standing

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Make = Callable[..., RuleBase]


def step(name: str, *looks: Look, **rest: Any) -> Step:
    return Step(name, f"Title of {name}", "something", "src", "Do it", "diagnose RUN", looks=looks, **rest)


@pytest.fixture
def rules(make: Make) -> RuleBase:
    """Two causes and four symptoms; flows are put in by the tests."""
    arrows = [("a.x", s, 0.8) for s in ("s", "t", "u")] + [("b.y", "v", 0.8)]
    return make({"a.x": 0.1, "b.y": 0.1}, arrows)


def looked(
    rules: RuleBase, look: Look, states: Mapping[str, State], benchmark: bool = False, **context: Any
) -> tuple[str, str]:
    """Return (state of the look, state of its step)."""
    flow = Flow("f", "A flow", "src", False, (step("one", look),))
    evidence = {s: Reading(s, state, f"why {s}") for s, state in states.items()}
    found = standing(replace(rules, flows=(flow,)), evidence, {}, context, benchmark)[0].steps[0]
    return found.looks[0].state, found.state


@pytest.mark.parametrize(
    ("look", "states", "expected"),
    [
        (Look("l", any=("s", "t")), {}, ("open", "next")),
        (Look("l", any=("s", "t")), {"s": U, "t": U}, ("open", "next")),
        (Look("l", any=("s", "t")), {"s": A, "t": U}, ("clear", "done")),
        (Look("l", any=("s", "t")), {"s": A, "t": P}, ("found", "next")),
        (Look("l", all=("s", "t")), {"s": A, "t": U}, ("open", "next")),
        (Look("l", all=("s", "t")), {"s": A, "t": A}, ("clear", "done")),
        (Look("l", all=("s", "t")), {"s": P, "t": U}, ("found", "next")),
        (Look("l", any=("s",), finds=("t",)), {"s": U, "t": A}, ("open", "next")),
        (Look("l", any=("s",), finds=("t",)), {"s": A, "t": P}, ("found", "next")),
        (Look("l", reads=("s", "t")), {"s": P}, ("clear", "done")),
        (Look("l", reads=("s", "t")), {"s": U}, ("open", "next")),
        (Look("l", any=("s",), only_after=("t",)), {"t": P}, ("open", "next")),
        (Look("l", any=("s",), only_after=("t",)), {"t": A}, ("not needed", "next")),
        (Look("l", any=("s",), only_after=("t",)), {}, ("not needed", "next")),
        (Look("l", any=("s",), if_benchmark=True), {"s": A}, ("not needed", "next")),
        (Look("l", any=("s",), applies_when={"precision": "fp16"}), {"s": U}, ("open", "next")),
    ],
)
def test_a_look(rules: RuleBase, look: Look, states: dict[str, State], expected: tuple[str, str]) -> None:
    """Unknown leaves a look open, and a step with nothing but unneeded looks is not done either."""
    assert looked(rules, look, states) == expected


def test_facts_and_benchmark_decide_what_is_needed(rules: RuleBase) -> None:
    """A known fact that rules a look out makes it unneeded; a benchmark makes its look needed."""
    half = Look("l", any=("s",), applies_when={"precision": "fp16"})

    assert looked(rules, half, {"s": A}, precision="fp32")[0] == "not needed"
    assert looked(rules, half, {"s": A}, precision="fp16") == ("clear", "done")
    assert looked(rules, Look("l", any=("s",), if_benchmark=True), {"s": A}, True) == ("clear", "done")


def test_the_first_undone_step_is_next(rules: RuleBase) -> None:
    """Steps are done, next or open, each with the readings that decided it."""
    steps = tuple(step(s, Look(f"look at {s}", any=(s,))) for s in ("s", "t", "u", "v"))
    flow = Flow("f", "A flow", "src", False, steps)
    evidence = {s: Reading(s, state, f"why {s}") for s, state in {"s": A, "t": P, "u": A}.items()}
    found = standing(replace(rules, flows=(flow,)), evidence, {}, {}, False)[0].steps

    assert [s.state for s in found] == ["done", "next", "done", "open"]
    assert found[1].looks[0].decided_by == ("t",)
    assert found[1].looks[0].why == "why t"
    assert found[3].looks[0].decided_by == ()


def test_checklist_items_are_looks(rules: RuleBase) -> None:
    """Passed is clear, Failed is found, Not checked is open, with what would check it."""
    flow = Flow("f", "A flow", "src", True, (step("one", checklist="c"),))
    items = tuple(
        CheckedItem(str(n), f"Title {n}", result, "why", (), "Look it up")
        for n, result in enumerate((Result.PASSED, Result.FAILED, Result.NOT_CHECKED), 1)
    )
    found = standing(replace(rules, flows=(flow,)), {}, {"c": items}, {}, True)[0].steps[0]

    assert [look.state for look in found.looks] == ["clear", "found", "open"]
    assert found.looks[2].why == "why To check: Look it up"


def test_an_open_look_says_what_it_lacks_and_how_to_look(rules: RuleBase) -> None:
    """The reason of the probe, and what a person can do."""
    asked = Symptom("s", "S", "test", 0.01, probe="a.b", how="Count them")
    changed = replace(rules, symptoms={**rules.symptoms, "s": asked})
    flow = Flow("f", "A flow", "src", False, (step("one", Look("l", any=("s",))),))
    evidence = {"s": Reading("s", U, "the run has no counts")}
    found = standing(replace(changed, flows=(flow,)), evidence, {}, {}, False)[0].steps[0]

    assert found.looks[0].why == "the run has no counts; to look: Count them"


# ---------------------------------------------------------------------------------------------- order


def test_the_flow_that_fits_comes_first(rules: RuleBase) -> None:
    """With a benchmark the flow that compares names the step, without one the other; causes fill gaps."""
    alone = Flow("alone", "Alone", "src", False, (step("a"), step("b", Look("l", any=("s",)))))
    beside = Flow(
        "beside", "Beside", "src", True, (step("c", Look("l", any=("s",))), step("d", causes=("b.y",)))
    )
    both = replace(rules, flows=(alone, beside))

    assert Order(both, False).of("s", None) == (0, 1, "Alone, step 2: Title of b")
    assert Order(both, True).of("s", None) == (0, 0, "Beside, step 1: Title of c")
    assert Order(both, True).of("v", "b.y") == (0, 1, "Beside, step 2: Title of d")
    assert Order(both, False).of("t", None) == (2, 0, "")


def check(name: str, gain: float, minutes: float = 9.0) -> NextCheck:
    return NextCheck(name, name, f"Do {name}", minutes, gain, "", "")


def test_the_flow_breaks_ties_only() -> None:
    """Within the band the earlier step comes first; a clearly better check stays before it."""
    near, far = 1.0 - BAND / 2, 1.0 - 2 * BAND
    checks = [check("late", 1.0), check("early", near), check("first", far), check("tiny", 0.1)]
    place = {"late": (0, 5), "early": (0, 1), "first": (0, 0), "tiny": (0, 0)}

    assert [c.symptom for c in by_promise(checks, place)] == ["early", "late", "first", "tiny"]


def test_a_next_check_names_its_step(rules: RuleBase) -> None:
    """What to check next says to which documented step it belongs."""
    asked = Symptom("t", "T", "test", 0.01, question="Is it?", how="Look", minutes=5)
    flow = Flow("f", "The flow", "src", False, (step("one", Look("l", any=("t",))),))
    changed = replace(rules, symptoms={**rules.symptoms, "t": asked}, flows=(flow,))
    found = diagnose(changed, {"s": Reading("s", P, "seen")}, run=RunInfo("run"))

    assert [c.step for c in found.next_checks] == ["The flow, step 1: Title of one"]
    assert found.workflow[0].steps[0].state == "next"


def test_items_of_a_checklist_belong_to_its_step(rules: RuleBase) -> None:
    """The symptoms that decide an item are looked at in the step of the checklist."""
    item = ChecklistItem("1", "Item", (), ("s",), ("t",), "Look", "src")
    flow = Flow("f", "A flow", "src", True, (step("one", checklist="c"),))
    found = looked_at_in(replace(rules, flows=(flow,), checklists={"c": (item,)}))

    assert found == {"s": [(flow, 0)], "t": [(flow, 0)]}


# ---------------------------------------------------------------------------------------------- loading

FLOW = """\
flows:
  - id: garage
    title: What the garage does
    source: manual
    compares: false
    steps:
      - id: listen
        title: Listen
        excludes: slipping gears
        source: manual
        categories: [parts]
        looks:
          - {title: "It is quiet", any: [noise]}
        do: "Start it and listen"
        command: diagnose RUN
"""


def test_a_flow_is_loaded(folder: Callable[..., Path]) -> None:
    """Categories become causes; everything else is as written."""
    found = load_rules(folder({"workflow.yaml": FLOW})).flows

    assert [f.id for f in found] == ["garage"]
    assert found[0].steps[0].causes == ("parts.worn",)
    assert found[0].steps[0].looks == (Look("It is quiet", any=("noise",)),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[noise]", "[noize]", "workflow.yaml:13: there is no symptom 'noize'; did you mean 'noise'?"),
        ("[parts]", "[engine]", "there is no cause of the category 'engine'"),
        ("categories: [parts]", "causes: [parts.warn]", "did you mean 'parts.worn'?"),
        ("categories: [parts]", "checklist: nope", "there is no checklist 'nope'"),
        ("        source: manual", "        source: manuel", "there is no source 'manuel'"),
        ("any: [noise]", "any: [noise], all: [smell]", "exactly one of any, all and reads"),
        ('          - {title: "It is quiet", any: [noise]}\n', "", "looks"),
        (
            'looks:\n          - {title: "It is quiet", any: [noise]}',
            "looks: []",
            "needs looks or a checklist",
        ),
        ("compares: false", "compares: false\n    bogus: 1", "unknown field"),
    ],
)
def test_a_broken_flow(folder: Callable[..., Path], old: str, new: str, said: str) -> None:
    """Every reference exists and every step can be done, or the rules do not load."""
    assert old in FLOW
    with pytest.raises(RuleError, match=r"workflow\.yaml:") as caught:
        load_rules(folder({"workflow.yaml": FLOW.replace(old, new, 1)}))

    assert said in str(caught.value)
