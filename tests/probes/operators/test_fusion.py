"""The search for a guilty fusion rule: one, two, none, and noise; and the files it reads and writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.files import walk
from traindoctor.probes.operators.search import (
    BadState,
    Measure,
    Progress,
    Search,
    Trial,
    from_json,
    progress,
    to_json,
)
from traindoctor.probes.tensors.fusion_result import Rule, effective, switch_file

from ..tensors._dumps import SHARED

RULES: list[Rule] = [("GraphFusion" if n % 2 else "UBFusion", f"Rule{n}Pass") for n in range(21)]
Oracle = Callable[[frozenset[Rule]], float]


def search(rules: list[Rule], oracle: Oracle, most: int = 400) -> tuple[Progress, int]:
    """Go on until the search is over; every step goes through the state file's form."""
    state = Search(Measure("eval/accuracy", False, 0.6, 0.8, 0.01), list(rules))
    for count in range(most):
        where = progress(state)
        if where.state != "ask":
            return where, count
        share = oracle(frozenset(where.off))
        state.trials.append(Trial(where.off, 0.6 + 0.2 * share, share, f"run{count}"))
        state = from_json(json.loads(json.dumps(to_json(state))))
    raise AssertionError("the search does not end")


@pytest.mark.parametrize("guilty", RULES)
def test_any_one_rule_is_found(guilty: Rule) -> None:
    where, runs = search(RULES, lambda off: 1.0 if guilty in off else 0.0)

    assert (where.state, where.found) == ("found", (guilty,))
    assert runs <= 13  # at most two per halving of 21, and three to confirm


@pytest.mark.parametrize("pair", [(0, 1), (0, 20), (5, 6), (9, 14)])
def test_two_rules_that_each_harm_are_both_found(pair: tuple[int, int]) -> None:
    guilty = {RULES[n] for n in pair}
    where, _ = search(RULES, lambda off: 1.0 if guilty <= off else 0.0)

    assert (where.state, set(where.found)) == ("found", guilty)


def test_two_rules_that_each_harm_a_half_are_both_found() -> None:
    guilty = {RULES[3], RULES[17]}
    where, _ = search(RULES, lambda off: len(guilty & off) / 2)

    assert (where.state, set(where.found)) == ("found", guilty)


def test_a_little_noise_does_no_harm() -> None:
    rng = np.random.default_rng(0)
    for guilty in RULES:
        where, _ = search(
            RULES, lambda off, g=guilty: (1.0 if g in off else 0.0) + float(rng.normal(0, 0.08))
        )

        assert where.found == (guilty,)


def test_pure_noise_names_no_single_rule() -> None:
    named = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        where, _ = search(RULES, lambda _, r=rng: float(r.uniform(0, 1)))
        named += where.state == "found" and len(where.found) == 1

    assert named <= 10


def test_results_that_contradict_each_other_name_no_rule() -> None:
    where, _ = search(RULES, lambda _: 1.0)  # better whatever is off: chance, not a rule

    assert where.state == "contradiction"
    assert where.found == ()


def test_a_result_in_between_is_asked_for_again_and_wild_repeats_are_noise() -> None:
    results = iter([0.5, 0.95, 0.1])
    where, runs = search(RULES, lambda _: next(results))

    assert (where.state, runs) == ("noise", 3)


@pytest.mark.parametrize("guilty", [RULES[0], RULES[7], RULES[20]])
def test_one_wrong_answer_anywhere_names_no_wrong_rule(guilty: Rule) -> None:
    """A run that ended well or badly by chance costs the search, or time, never an innocent rule."""
    states = set()
    for wrong in range(20):
        asked = iter(range(1000))

        def oracle(off: frozenset[Rule], wrong: int = wrong, asked: Iterator[int] = asked) -> float:
            right = 1.0 if guilty in off else 0.0
            return 1.0 - right if next(asked) == wrong else right

        where, _ = search(RULES, oracle)
        states.add(where.state)
        assert where.state != "found" or where.found == (guilty,)
    assert states <= {"found", "contradiction", "noise"} and "found" in states


def test_one_rule_alone_needs_no_search() -> None:
    assert search(RULES[:1], lambda _: 0.0)[0].found == (RULES[0],)


def test_a_state_that_cannot_be_used_says_why() -> None:
    good = to_json(Search(Measure("x", True, 1.0, 0.5, 0.1), RULES[:4]))
    bad = [
        [],
        {},
        {**good, "schema_version": "9"},
        {**good, "rules": []},
        {**good, "rules": [["a", "b"], ["a", "b"]]},
        {**good, "measure": {**good["measure"], "on": float("nan")}},
        {**good, "measure": {**good["measure"], "on": 0.5}},
        {**good, "trials": [{"off": [["q", "q"]], "value": 1, "share": 1, "run": "r"}]},
        {**good, "trials": 7},
        {k: v for k, v in good.items() if k != "trials"},
    ]

    assert from_json(good).rules == RULES[:4]
    for state in bad:
        with pytest.raises(BadState):
            from_json(state)


# ---------------------------------------------------------------------------------------------- files


def rules_of(tmp_path: Path, text: str) -> tuple[list[Rule], list[str]]:
    (tmp_path / "fusion_result.json").write_text(text)
    return effective(walk(tmp_path)[0])


def test_all_forms_of_the_result_file_are_read(tmp_path: Path) -> None:
    one = {"graphId": "0_1", "graph_fusion": {"A": {"effect_times": "3"}, "B": {"effect_times": "0"}}}
    two = {"session_and_graph_id": "0_2", "ub_fusion": {"C": {"effect_times": 7, "match_times": 9}}}
    expected = [("UBFusion", "C"), ("GraphFusion", "A")]

    assert rules_of(tmp_path, json.dumps([one, two]))[0] == expected
    assert rules_of(tmp_path, json.dumps(one) + "\n" + json.dumps(two))[0] == expected
    assert rules_of(tmp_path, json.dumps(one))[0] == [("GraphFusion", "A")]
    cut, notes = rules_of(tmp_path, json.dumps(one) + json.dumps(two)[:-9])
    assert cut == [("GraphFusion", "A")]
    assert "damaged" in notes[0]


def test_the_switch_file_turns_off_what_is_asked_and_no_more() -> None:
    written = json.loads(switch_file([("UBFusion", "C"), ("GraphFusion", "A"), ("GraphFusion", "B")]))

    assert written == {"Switch": {"GraphFusion": {"A": "off", "B": "off"}, "UBFusion": {"C": "off"}}}


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
def test_the_sample_of_the_toolkit() -> None:
    found, _ = effective(walk(SHARED / "precision_tool_synthetic")[0])

    assert found == [("UBFusion", "TbeMultiOutputFusionPass"), ("GraphFusion", "AddNFusionPass")]
