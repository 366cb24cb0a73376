"""Profiles, waivers and baselines: what they mean, and one sentence for each that cannot be used."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import RuleBase
from traindoctor.engine.policy import PolicyError, baseline, baseline_text, profile, waivers

TODAY = date(2026, 11, 21)
WAIVER = "waivers:\n  - {rule: ascend-10, scope: '*', owner: team, reason: agreed, expires: %s}\n"


@pytest.fixture(scope="module")
def rules() -> RuleBase:
    return load_rules()


def written(tmp_path: Path, text: str, name: str = "file.yaml") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_the_three_profiles(rules: RuleBase) -> None:
    minimal, default, strict = (profile(name, rules) for name in ("minimal", "default", "strict"))

    assert minimal.items == {"*": "sound"} and minimal.unchecked == "allow"
    assert default.items["10"] == "pass" and default.unchecked == "inconclusive"
    assert strict.items == {"*": "pass"} and strict.checklist == "ascend"
    assert [line.start for line in strict.causes if line.level == "error"] == [0.5]


def test_an_own_profile_extends_ours(tmp_path: Path, rules: RuleBase) -> None:
    own = written(tmp_path, "profiles:\n  - {name: ours, extends: strict, unchecked: fail}\n")
    found = profile(str(own), rules)

    assert (found.name, found.unchecked, found.items) == ("ours", "fail", {"*": "pass"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("profiles:\n  - {name: a, extends: nowhere}\n", "extends nowhere, which does not exist"),
        ("profiles:\n  - {name: a, extends: b}\n  - {name: b, extends: a}\n", "extends itself"),
        ("profiles:\n  - {name: a, items: {'5': pass}}\n", "checklist ascend has no item 5"),
        ("profiles:\n  - {name: a, checklist: nasa}\n", "there is no checklist nasa"),
        ("profiles:\n  - {name: a, causes: [{match: 'x.*', from: 0.5}]}\n", "no cause fits x.*"),
        ("profiles:\n  - {name: a, causes: [{match: '*', from: 50}]}\n", "file.yaml:2"),
        ("profiles:\n  - {name: a, itemz: {}}\n", "unknown field"),
        ("profiles: []\n", "profiles: must not be empty"),
        ("]", "file.yaml:1"),
    ],
)
def test_a_profile_that_cannot_be_used(tmp_path: Path, rules: RuleBase, text: str, said: str) -> None:
    with pytest.raises(PolicyError) as error:
        profile(str(written(tmp_path, text)), rules)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_profile_that_is_not_there(tmp_path: Path, rules: RuleBase) -> None:
    with pytest.raises(PolicyError, match="choose minimal, default, strict"):
        profile("lenient", rules)
    with pytest.raises(PolicyError, match="there is no such file"):
        profile(str(tmp_path / "none.yaml"), rules)


def test_waivers_know_their_line(tmp_path: Path) -> None:
    (found,) = waivers(written(tmp_path, WAIVER % "2027-01-31"), TODAY)
    assert (found.rule, found.owner, found.expires) == ("ascend-10", "team", "2027-01-31")
    assert found.at.endswith("file.yaml:2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WAIVER % "2027-12-31", "more than 180 days away"),
        (WAIVER.replace(", expires: %s", ""), "this field is missing"),
        (WAIVER.replace("owner: team, ", "") % "2027-01-31", "owner"),
        (WAIVER.replace("reason: agreed", "reason: ' '") % "2027-01-31", "must not be empty"),
        (WAIVER % "soon", "expires"),
        ("waivers: 3\n", "waivers"),
    ],
)
def test_a_waiver_that_cannot_be_used(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PolicyError) as error:
        waivers(written(tmp_path, text), TODAY)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_baseline_comes_back(tmp_path: Path) -> None:
    text = baseline_text([("b" * 64, "ascend-10", "x"), ("a" * 64, "graph.optimizer", "y")])
    found = baseline(written(tmp_path, text, "known.json"))
    assert found.failures == {"a" * 64: "graph.optimizer", "b" * 64: "ascend-10"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema_version": "1"}', '{"schema_version": "9", "failures": []}']
)
def test_a_baseline_that_cannot_be_used(tmp_path: Path, text: str) -> None:
    with pytest.raises(PolicyError, match=r"baseline|schema_version"):
        baseline(written(tmp_path, text, "known.json"))
