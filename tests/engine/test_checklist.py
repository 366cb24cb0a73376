"""Passed, Failed, Not checked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traindoctor.engine.checklist import check_all
from traindoctor.engine.model import CheckedItem, ChecklistItem, Reading, Result, RuleBase, State

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
