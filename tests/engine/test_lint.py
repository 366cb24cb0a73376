"""Every lint has a rule base that it refuses, and a sound one that it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from traindoctor.engine.lint import BASE_LINTS, CAUSE_LINTS, Lint, Subject, lint, lint_cause, textbook_case
from traindoctor.engine.load import load_rules, load_with_places
from traindoctor.engine.model import ChecklistItem, CrosswalkEntry, Example, Link, Remedy, RuleBase, State

P, A = State.PRESENT, State.ABSENT
Make = Callable[..., RuleBase]
GOOD = Example({"s": P}, rank=1)


def sound(make: Make, **fields: dict[str, object]) -> RuleBase:
    """Two causes that look alike, each with a symptom of its own, and a mechanism they share."""
    arrows = [("a.x", "m", 0.8), ("a.y", "m", 0.8), ("m", "both", 0.8), ("a.x", "s", 0.8), ("a.y", "t", 0.8)]
    base = {
        "a.x": {"examples": (GOOD,), "looks_like": ("a.y",), "path": "causes/a/x.yaml"},
        "a.y": {"examples": (Example({"t": P}, rank=1),), "path": "causes/a/y.yaml"},
    }
    merged = {c: {**base[c], **fields.get(c.replace(".", "_"), {})} for c in base}
    return make({"a.x": 0.05, "a.y": 0.05}, arrows, {"m": 0.01}, fields=merged)


def names(rules: RuleBase) -> set[tuple[str, str]]:
    return {(x.name, x.subject) for x in lint(rules)}


def test_sound_rules_have_no_lints(make: Make) -> None:
    """Nothing is found where nothing is wrong."""
    assert lint(sound(make)) == ()


def test_sound_files_have_no_lints(folder: Callable[..., Path]) -> None:
    """The small rule folder of these tests is sound too."""
    assert lint(load_rules(folder())) == ()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"remedies": ()}, "no-remedies"),
        ({"provenance": ()}, "no-provenance"),
        ({"examples": ()}, "no-examples"),
        ({"leads_to": (), "shows": ()}, "no-symptom"),
        ({"shows": ()}, "no-direct-symptom"),
        ({"remedies": (Remedy("Undo it", 5, 0.8),)}, "no-confirmation"),
        ({"remedies": (Remedy("Undo it", 5, 0.8, confirms="it is gone", clears=("elsewhere",)),)}, "clears"),
        ({"remedies": (Remedy("Undo it", 5, 0.8, confirms="it is gone"),)}, "clears-nothing"),
        ({"summary": "No full stop"}, "summary"),
        ({"title": "A full stop."}, "title"),
        ({"path": "causes/a/z.yaml"}, "file-name"),
        ({"examples": (Example({"t": P}, rank=1),)}, "example"),
        ({"examples": (Example({"s": P}, below="prior"),)}, "example"),
        ({"examples": (Example({"s": P}, below=0.3),)}, "example"),
        ({"examples": (Example({"s": A}, above=0.04),)}, "example"),
    ],
)
def test_what_a_cause_lacks(make: Make, fields: dict[str, object], name: str) -> None:
    """A cause that is incomplete, invisible, misplaced or refuted by its own example is found."""
    found = names(sound(make, a_x=fields))

    assert (name, "a.x") in found
    assert {subject for _, subject in found} <= {"a.x", "s"}


@pytest.mark.parametrize(
    "example",
    [
        Example({"s": P}, above=0.5),
        Example({"s": A}, below="prior"),
        Example({"s": A}, below=0.04),
        Example({"s": A, "t": P}, rank=2),
    ],
)
def test_examples_that_hold(make: Make, example: Example) -> None:
    """An example that inference confirms is no lint."""
    assert lint(sound(make, a_x={"examples": (example,)})) == ()


def test_an_example_knows_its_context(make: Make) -> None:
    """The prior that an example compares with is that of its context."""
    fields = {
        "applies_when": {"side": "left"},
        "examples": (Example({"s": P}, context={"side": "right"}, below="prior"),),
    }
    messages = [x.message for x in lint(sound(make, a_x=fields)) if x.name == "example"]

    assert len(messages) == 1
    assert messages[0].endswith("not below 0.002")


def test_look_alikes_without_a_difference(make: Make) -> None:
    """Two causes that look alike and lead to the very same symptoms cannot be told apart."""
    arrows = [("a.x", "s", 0.8), ("a.y", "s", 0.5)]
    rules = make({"a.x": 0.05, "a.y": 0.05}, arrows, fields={"a.x": {"looks_like": ("a.y",)}})

    assert ("not-separable", "a.x") in names(rules)


def test_textbook_case_that_fails(make: Make) -> None:
    """A cause that its own strong symptom does not bring among the first five is found."""
    rivals = {f"b.r{i}": 0.05 for i in range(6)}
    rules = make({"a.x": 0.004, **rivals}, [("a.x", "s", 0.8), *((r, "s", 0.8) for r in rivals)])

    found = [x for x in lint(rules) if x.name == "textbook"]

    assert "a.x" in {x.subject for x in found}
    assert "its textbook case (s) puts it at rank 7" in {x.message for x in found}


def test_a_mechanism_that_no_cause_reaches(make: Make) -> None:
    """A mechanism behind one that nothing leads to is as idle as that one."""
    arrows = [("a.x", "s", 0.8), ("orphan", "behind", 0.8), ("behind", "s", 0.8)]
    found = names(make({"a.x": 0.05}, arrows, {"orphan": 0.01, "behind": 0.01}))

    assert ("mechanism-without-cause", "behind") in found


def test_sources_left_over_are_a_warning(make: Make) -> None:
    """A source that nothing cites is a warning; one that a checklist alone cites is used."""
    item = ChecklistItem("1", "It is on", ("a.x",), ("s",), ("s",), "Look", "book")
    rules = replace(sound(make), sources={"src": "A test", "book": "A book"})

    assert lint(rules) == (Lint("source-unused", "book", "nothing cites it", "warning"),)
    assert lint(replace(rules, checklists={"list": (item,)})) == ()


def test_thresholds_come_from_somewhere(make: Make) -> None:
    """A symptom that is decided by a number without a source is found; words alone need none."""
    rules = sound(make)
    bare = replace(rules.symptoms["s"], sources=(), params={"above": 3})
    words = replace(rules.symptoms["t"], sources=(), params={"name": "x"})

    assert names(replace(rules, symptoms={**rules.symptoms, "s": bare, "t": words})) == {
        ("threshold-source", "s")
    }


def test_a_correction_comes_with_its_reason_and_its_exceptions(make: Make) -> None:
    """Who says how code should read says why, and when it is right all the same."""
    rules = sound(make)
    bare = replace(rules.symptoms["s"], instead="x = 1")
    whole = replace(bare, matters="x counts", exceptions=("x is free",))

    assert names(replace(rules, symptoms={**rules.symptoms, "s": bare})) == {
        ("no-matters", "s"),
        ("no-exceptions", "s"),
    }
    assert lint(replace(rules, symptoms={**rules.symptoms, "s": whole})) == ()


def test_a_because_that_says_nothing_new(make: Make) -> None:
    """Two arrows of one node with the same words: a warning, once."""
    arrows = (Link("s", 0.8, "it is so", "src"), Link("t", 0.2, "it is so", "src"))
    found = [x for x in lint(sound(make, a_x={"shows": arrows})) if x.name == "because-repeated"]

    assert [(x.subject, x.level, x.part) for x in found] == [("a.x", "warning", ("shows", 0))]


def test_questions_ask(make: Make) -> None:
    """A question without a question mark is found."""
    rules = sound(make)
    asked = replace(rules.symptoms["s"], question="Look at it")

    assert names(replace(rules, symptoms={**rules.symptoms, "s": asked})) == {("question", "s")}


def test_lints_say_where(folder: Callable[..., Path], texts: dict[str, str]) -> None:
    """With the places of a folder a lint names file and line of what it is about."""
    name = "causes/parts/worn.yaml"
    rules, places = load_with_places(folder({name: texts[name].replace("rank: 1", "below: 0.001")}))

    assert [x.where for x in lint(rules, places)] == [f"{name}:14"]
    assert str(lint(rules, places)[0]).startswith(f"{name}:14: error: parts.worn: example 1: ")
    assert places.at("nothing") == ""


def test_what_a_textbook_says(make: Make) -> None:
    """The textbook case is what a cause shows directly and strongly; failing that, what it leads to best."""
    arrows = [
        ("a.x", "m", 0.95),
        ("m", "far", 0.95),
        ("a.x", "s", 0.8),
        ("a.x", "weak", 0.2),
        ("a.y", "m", 0.5),
    ]
    subject = Subject(make({"a.x": 0.05, "a.y": 0.05}, arrows, {"m": 0.01}))

    assert textbook_case(subject.paths["a.x"]) == ["s"]
    assert textbook_case(subject.paths["a.y"]) == ["far"]


def test_idle_mechanisms(make: Make) -> None:
    """A mechanism that nothing leads to, or that shows nothing, is found."""
    arrows = [("a.x", "dark", 0.8), ("a.x", "s", 0.8), ("orphan", "s", 0.8)]
    found = names(make({"a.x": 0.05}, arrows, {"dark": 0.01, "orphan": 0.01}))

    assert ("mechanism-without-symptom", "dark") in found
    assert ("mechanism-without-cause", "orphan") in found


def test_idle_symptoms_are_a_warning(make: Make) -> None:
    """A symptom that nothing shows is a warning only: it may be waiting for its cause."""
    rules = make({"a.x": 0.05}, [("a.x", "s", 0.8)], leaks={"idle": 0.01})

    assert Lint(
        "symptom-without-cause",
        "idle",
        "no cause and no mechanism shows it, and no checklist asks for it",
        "warning",
    ) in lint(rules)


@pytest.mark.parametrize(
    ("because", "fine"),
    [
        ("the teeth are worn", True),
        ("NaN in the input reaches the loss", True),
        ("TF32 rounds", True),
        ("a.b is off", True),
        ("1e-8 vanishes", True),
        ("The teeth are worn", False),
        ("the teeth are worn.", False),
        (" the teeth are worn", False),
        ("A tooth is worn", False),
    ],
)
def test_because_is_a_fragment(make: Make, because: str, fine: bool) -> None:
    """A because starts in lower case (names like NaN excepted) and has no full stop."""
    rules = sound(make, a_x={"shows": (Link("s", 0.8, because, "src"),)})

    assert (("because", "a.x") not in names(rules)) is fine


def test_checklists_name_causes_that_exist(make: Make) -> None:
    """A checklist item about a cause that is not in the rules is found."""
    item = ChecklistItem("1", "It is on", ("a.x", "a.gone"), ("s",), ("s",), "Look", "src")
    rules = replace(sound(make), checklists={"list": (item,)})

    assert names(rules) == {("checklist-cause", "list")}


def test_one_cause_alone(make: Make) -> None:
    """The lints of one cause do not speak of others."""
    rules = sound(make, a_x={"remedies": ()}, a_y={"examples": ()})
    subject = Subject(rules)

    assert [x.name for x in lint_cause(subject, "a.x")] == ["no-remedies"]
    assert [x.name for x in lint_cause(subject, "a.y")] == ["no-examples"]


def test_deprecated_causes_are_left_alone(make: Make) -> None:
    """A deprecated cause only keeps its page."""
    rules = sound(make, a_y={"status": "deprecated", "remedies": (), "examples": ()})

    assert {x.subject for x in lint(rules)} <= {"t", "a.x"}
    assert lint_cause(Subject(rules), "a.y") == ()


def test_rows_of_the_crosswalk_are_about_their_causes(make: Make) -> None:
    """An item that is about none of the causes of its row, or that stands in two rows, is found."""
    item = ChecklistItem("1", "It is on", ("a.x",), ("s",), ("s",), "Look", "src")
    rows = tuple(CrosswalkEntry(n, n, (c,), {"list": ("1",)}) for n, c in (("r1", "a.x"), ("r2", "a.y")))
    rules = replace(sound(make), checklists={"list": (item,)}, crosswalk=rows)

    assert {("crosswalk-causes", "r2"), ("crosswalk-twice", "r2")} <= names(rules)


def test_an_item_that_nothing_can_pass(make: Make) -> None:
    """An item without anything that clears it is found."""
    item = ChecklistItem("1", "It is on", ("a.x",), ("s",), (), "Look", "src")

    assert ("item-never-passes", "list") in names(replace(sound(make), checklists={"list": (item,)}))


def test_every_lint_is_named_here() -> None:
    """Nobody adds a lint without adding its failing example to this file."""
    tested = {
        "complete",
        "seen",
        "shown_directly",
        "confirmed",
        "clears_its_own",
        "separable",
        "named_by_file",
        "examples_hold",
        "textbook",
        "mechanisms_used",
        "symptoms_used",
        "sources_used",
        "thresholds_sourced",
        "fragments",
        "because_repeated",
        "titles",
        "checklist_causes",
        "crosswalk_causes",
        "items_decided",
        "corrected",
    }

    assert {check.__name__ for check in (*CAUSE_LINTS, *BASE_LINTS)} == tested


def test_lints_read_as_a_line() -> None:
    """A lint says its level, its subject, what is wrong and its own name."""
    assert str(Lint("no-remedies", "a.x", "has no remedies")) == "error: a.x: has no remedies [no-remedies]"
