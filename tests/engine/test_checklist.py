"""Passed, Failed, Not checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from traindoctor.engine.checklist import check_all
from traindoctor.engine.load import RuleError, load_rules, with_own_checklist
from traindoctor.engine.model import (
    CheckedItem,
    ChecklistItem,
    ChecklistPart,
    CrosswalkEntry,
    Reading,
    Result,
    RuleBase,
    State,
)

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Make = Callable[..., RuleBase]
ITEM = ChecklistItem("3", "It is plugged in", ("a.x", "a.gone"), ("s",), ("s", "t"), "Look behind it", "src")


def check(make: Make, p: float, states: dict[str, State], status: str = "stable") -> CheckedItem:
    rules = make(
        {"a.x": 0.05},
        [("a.x", "s", 0.5), ("a.x", "t", 0.5)],
        checklists={"list": (ITEM,)},
        fields={"a.x": {"status": status}},
    )
    evidence = {s: Reading(s, v, f"it is {v}") for s, v in states.items()}
    return check_all(rules, "list", evidence, {"a.x": p})[0]


@pytest.mark.parametrize(
    ("p", "states", "result", "decided_by"),
    [
        (0.01, {}, Result.NOT_CHECKED, ()),
        (0.01, {"s": U, "t": U}, Result.NOT_CHECKED, ()),
        (0.01, {"t": P}, Result.NOT_CHECKED, ()),
        (0.01, {"t": A}, Result.PASSED, ("t",)),
        (0.05, {"s": A, "t": A}, Result.PASSED, ("s", "t")),
        (0.06, {"s": A, "t": A}, Result.NOT_CHECKED, ()),
        (0.01, {"s": P, "t": A}, Result.FAILED, ("s",)),
        (0.49, {"s": U}, Result.NOT_CHECKED, ()),
        (0.50, {}, Result.FAILED, ("a.x",)),
        (0.90, {"s": P}, Result.FAILED, ("s", "a.x")),
        (0.90, {"s": A}, Result.FAILED, ("a.x",)),
    ],
)
def test_three_results(
    make: Make, p: float, states: dict[str, State], result: Result, decided_by: tuple[str, ...]
) -> None:
    """Failed by a deciding symptom or a probable cause; Passed only when looked at and improbable."""
    item = check(make, p, states)

    assert (item.result, item.decided_by) == (result, decided_by)


def test_an_experimental_cause_fails_nothing(make: Make) -> None:
    """A cause on trial does not fail an item, and it keeps the item from passing."""
    assert check(make, 0.9, {"s": A}, status="experimental").result is Result.NOT_CHECKED


def test_reasons_are_sentences(make: Make) -> None:
    """Every result says why; what was not checked says how to."""
    failed, passed, open_ = (
        check(make, 0.7, {"s": P}),
        check(make, 0.01, {"t": A}),
        check(make, 0.2, {"t": A}),
    )

    assert failed.why == "It is present. Title of a.x: 70 %."
    assert passed.why == "It is absent."
    assert open_.why == "Nothing failed, but “Title of a.x” (20 %) cannot be ruled out."
    assert check(make, 0.01, {}).why == "Nothing that decides it could be read."
    assert open_.check == "Look behind it"


def test_an_unknown_checklist_is_empty(make: Make) -> None:
    """A rule base without the checklist gives no items."""
    assert check_all(make({"a.x": 0.05}, []), "none", {}, {"a.x": 0.05}) == ()


PARTS = ChecklistItem(
    "3",
    "Both",
    (),
    ("s",),
    (),
    "Look",
    "src",
    (ChecklistPart("One", ("s",)), ChecklistPart("Two", ("t", "u"))),
)


@pytest.mark.parametrize(
    ("states", "result", "why"),
    [
        ({"s": A, "t": A}, Result.PASSED, "One: it is absent. Two: it is absent."),
        ({"s": A, "u": A}, Result.PASSED, "One: it is absent. Two: it is absent."),
        ({"s": A, "t": U}, Result.NOT_CHECKED, "One: it is absent. Two, not known: it is unknown."),
        ({"s": A, "t": P}, Result.NOT_CHECKED, "One: it is absent. Two: it is present."),
        ({"s": P, "t": A}, Result.FAILED, "It is present."),
        ({}, Result.NOT_CHECKED, "Nothing that decides it could be read."),
    ],
)
def test_every_part_has_to_be_clear(make: Make, states: dict[str, State], result: Result, why: str) -> None:
    """An item with parts passes only when each of them does, and says which one is missing."""
    rules = make({"a.x": 0.05}, [("a.x", s, 0.5) for s in "stu"], checklists={"list": (PARTS,)})
    rules = replace(rules, symptoms={k: replace(v, probe="p.q") for k, v in rules.symptoms.items()})
    item = check_all(
        rules, "list", {s: Reading(s, v, f"it is {v}") for s, v in states.items()}, {"a.x": 0.01}
    )[0]

    assert (item.result, item.why) == (result, why)


def test_what_was_missing_is_said(make: Make) -> None:
    """Not checked says what the probes lacked, not only that they lacked something."""
    assert check(make, 0.01, {"s": U, "t": U}).why == "it is unknown."


def test_items_of_other_lists(make: Make) -> None:
    """The crosswalk names the items of other lists that ask for the same, never an item itself."""
    rows = (CrosswalkEntry("r", "R", ("a.x",), {"list": ("3",), "other": ("o1", "o2")}),)
    rules = replace(make({"a.x": 0.05}, [("a.x", "s", 0.5)], checklists={"list": (ITEM,)}), crosswalk=rows)

    assert check_all(rules, "list", {}, {"a.x": 0.01})[0].same_as == (("other", "o1"), ("other", "o2"))


OWN = """title: What we look at before a release
results: {passed: fine, failed: broken, unchecked: open}
items:
  - id: R1
    title: Gradients are finite
    causes: [operator.overflow]
    fails_on: [grad-norm-not-finite]
    passes_on: [grad-norm-not-finite]
    check: Log the gradient norm
"""


def own(tmp_path: Path, text: str, name: str = "release.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_checklist_of_ones_own(tmp_path: Path) -> None:
    """One file, no source needed; it goes by the name of its file and has words of its own."""
    rules, name = with_own_checklist(load_rules(), own(tmp_path, OWN))
    found = check_all(rules, name, {}, {"operator.overflow": 0.01})

    assert name == "release"
    assert rules.heads[name].results[Result.NOT_CHECKED] == "open"
    assert [(i.id, i.result) for i in found] == [("R1", Result.NOT_CHECKED)]


def test_a_checklist_does_not_replace_another(tmp_path: Path) -> None:
    """A file called like a checklist of the rules gets a name beside it."""
    rules, name = with_own_checklist(load_rules(), own(tmp_path, OWN, "ascend.yaml"))

    assert name == "ascend-own" and len(rules.checklists["ascend"]) == 9


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "fails_on: [grad-norm-not-finite]",
            "fails_on: [grad-norm]",
            ":7: there is no symptom 'grad-norm'; did you mean",
        ),
        ("operator.overflow", "operator.over", ":6: there is no cause 'operator.over'; did you mean"),
        ("    check: Log the gradient norm\n", "", ":4: items.0.check: this field is missing"),
        ("title: Gradients", "titel: Gradients", ":5: items.0.titel: unknown field"),
        ("items:", "items: []\nrest:", ":3: items: "),
        ("title: What", "{", ":2: not valid YAML"),
    ],
)
def test_what_is_wrong_with_it(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """Each error names file and line."""
    path = own(tmp_path, OWN.replace(old, new, 1))

    with pytest.raises(RuleError) as caught:
        with_own_checklist(load_rules(), path)

    assert any(p.startswith(f"{path}{problem}") for p in caught.value.problems), caught.value.problems


@pytest.mark.parametrize("name", ["ascend", "mindspore", "mindformers"])
def test_nothing_passes_unread(name: str) -> None:
    """With no reading at all no item of any checklist passes, however improbable its causes."""
    rules = load_rules()
    found = check_all(rules, name, {}, dict.fromkeys(rules.causes, 0.0))

    assert {i.result for i in found} == {Result.NOT_CHECKED}
    assert all(i.check for i in found)


def test_the_mindspore_ids() -> None:
    """The ids of the table, in its order."""
    ids = [i.id for i in load_rules().checklists["mindspore"]]

    wanted = {"ds": 4, "dp": 5, "hp": 3, "api": 2, "cg": 4, "wi": 2, "mp": 4}
    assert ids == [f"{area}.{n:02}" for area, count in wanted.items() for n in range(1, count + 1)]


def test_the_crosswalk_joins_all_ascend_items() -> None:
    """Every item of the Ascend list has its fellows."""
    rules = load_rules()

    assert {i for row in rules.crosswalk for i in row.items.get("ascend", ())} == {
        item.id for item in rules.checklists["ascend"]
    }
