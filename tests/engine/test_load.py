"""Rule folders to rule bases: everything wrong is said at once, with file and line."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from traindoctor.engine.load import ENTRY_POINTS, RuleError, load_rules

Folder = Callable[..., Path]


def problems(root: Path) -> tuple[str, ...]:
    with pytest.raises(RuleError) as caught:
        load_rules(root)
    return caught.value.problems


def test_a_sound_folder_loads(folder: Folder) -> None:
    """Words become numbers and every part of a cause arrives."""
    rules = load_rules(folder())
    cause = rules.causes["parts.worn"]

    assert (cause.prior, cause.leads_to[0].strength, cause.leads_to[0].word) == (0.025, 0.8, "strong")
    assert (cause.path, cause.provenance, cause.remedies[0].works) == (
        "causes/parts/worn.yaml",
        ("manual",),
        0.5,
    )
    assert rules.symptoms["noise"].params == {"above": 1e-5}
    assert (rules.symptoms["noise"].area, rules.symptoms["smell"].question) == ("sound", "Does it smell?")
    assert rules.prior_min == 0.002


def test_no_causes_is_a_rule_base_too(folder: Folder) -> None:
    """A base without cause files loads."""
    assert load_rules(folder({"causes/parts/worn.yaml": None})).causes == {}


def test_all_errors_at_once(folder: Folder, texts: dict[str, str]) -> None:
    """Unknown field, wrong word, missing reference, duplicate key and syntax error, each with its line."""
    cause = texts["causes/parts/worn.yaml"]
    found = problems(
        folder(
            {
                "causes/parts/worn.yaml": cause.replace("title:", "titel:"),
                "causes/parts/bent.yaml": cause.replace("parts.worn", "parts.bent")
                .replace("prior: common", "prior: sometimes")
                .replace("symptom: smell", "symptom: smel")
                .replace("to: gears-slip", "to: gears-stop"),
                "causes/parts/lost.yaml": "id: parts.lost\nid: parts.gone\n",
                "symptoms/more.yaml": "area: [\n",
            }
        )
    )

    assert list(found) == [
        "causes/parts/bent.yaml:5: 'sometimes' is no word for prior; there are rare, common",
        "causes/parts/bent.yaml:7: there is no mechanism 'gears-stop'; did you mean 'gears-slip'?",
        "causes/parts/lost.yaml:2: the key 'id' stands twice in one mapping",
        "causes/parts/worn.yaml:1: title: this field is missing",
        "causes/parts/worn.yaml:2: titel: unknown field",
        "symptoms/more.yaml:2: not valid YAML: did not find expected node content",
    ]


def test_a_refused_file_causes_no_second_errors(folder: Folder, texts: dict[str, str]) -> None:
    """References into a file that is itself refused are not reported."""
    mechanisms = texts["mechanisms.yaml"].replace("    title: The gears slip\n", "")

    assert problems(folder({"mechanisms.yaml": mechanisms})) == (
        "mechanisms.yaml:2: mechanisms.0.title: this field is missing",
    )


CAUSE = "causes/parts/worn.yaml"
MECHANISMS, SYMPTOMS = "mechanisms.yaml", "symptoms/sound.yaml"
RUN_HOT = 'because: "worn parts run hot"'
CIRCLE = "leads_to: [{to: gears-slip, strength: weak, source: manual, because: x}]"
ERRORS = [
    (CAUSE, "strength: medium", "strength: 0.5", ":9: shows.0: a number in place of a word needs"),
    (CAUSE, "prior: common", "prior: 0.5", ":1: a number in place of a word needs estimated_from"),
    (CAUSE, "prior: common", "prior: [1]", ":5: prior: must be a word of scale.yaml"),
    (CAUSE, "prior: common", "prior: 0.001\nestimated_from: x", ":5: prior 0.001 is outside the bounds"),
    (CAUSE, "strength: strong", "strength: 0.99, estimated_from: x", ":7: strength 0.99 is outside"),
    (CAUSE, "works: often", "works: always", ":11: 'always' is no word for works"),
    (CAUSE, "source: manual, " + RUN_HOT, "source: book, " + RUN_HOT, ":9: there is no source 'book'"),
    (CAUSE, "[{source: manual}]", "[{source: book}]", ":12: there is no source 'book'"),
    (CAUSE, "provenance:", "refines: [parts.none]\nprovenance:", ":12: there is no cause 'parts.none'"),
    (CAUSE, "provenance:", "looks_like: [parts.worn]\nprovenance:", ":12: parts.worn stands in its own"),
    (CAUSE, "{noise: present, ", "{nose: present, ", ":14: there is no symptom 'nose'"),
    (CAUSE, "noise: present", "noise: maybe", ":14: examples.0.given.noise: must be 'present'"),
    (CAUSE, ", rank: 1", "", ":14: examples.0: must say what is expected"),
    (CAUSE, "id: parts.worn", "id: worn", ":1: id: String should match pattern"),
    (CAUSE, RUN_HOT, 'because: " "', ":9: shows.0.because: must not be empty"),
    (CAUSE, "status: stable", "status: fine", ":4: status: must be 'experimental'"),
    (MECHANISMS, "because: ", "extra: 1, because: ", ":6: mechanisms.0.shows.0.extra: unknown field"),
    (MECHANISMS, "shows:", CIRCLE + "\n    shows:", ":2: the mechanism 'gears-slip' runs in a circle"),
    (SYMPTOMS, "id: smell", "id: noise", ":4: the id 'noise' is already taken at symptoms/sound.yaml:3"),
    (SYMPTOMS, 'question: "Does it smell?", ', "", ":4: symptoms.1: needs a probe or a question"),
    (
        SYMPTOMS,
        "leak: rare, sources: [manual]",
        "leak: rare, sources: []",
        ":3: symptoms.0.sources: must not be",
    ),
    (SYMPTOMS, "leak: never", "leak: ever", ":4: 'ever' is no word for leak"),
    ("scale.yaml", "never: 0.002", "never: 0.0001", ":2: leak 0.0001 is outside the bounds"),
    ("scale.yaml", "rare: 0.004", "rare: 2", ":1: prior.rare: must be less than 1"),
    ("sources.yaml", '"The manual"', "3", ":2: sources.manual: must be text"),
]


@pytest.mark.parametrize(("file", "old", "new", "problem"), ERRORS)
def test_each_kind_of_error(
    folder: Folder, texts: dict[str, str], file: str, old: str, new: str, problem: str
) -> None:
    """One wrong thing in an otherwise sound folder is found, in its file and line."""
    assert old in texts[file]

    found = problems(folder({file: texts[file].replace(old, new, 1)}))

    assert any(p.startswith(file + problem) for p in found), found


def test_a_number_with_its_origin_is_welcome(folder: Folder, texts: dict[str, str]) -> None:
    """A number may stand for a word when it says where it was estimated."""
    cause = texts[CAUSE].replace("strength: medium", "strength: 0.37, estimated_from: 212 workshops")

    link = load_rules(folder({CAUSE: cause})).causes["parts.worn"].shows[0]

    assert (link.strength, link.word) == (0.37, "")


def test_a_missing_scale_is_said(folder: Folder) -> None:
    """Without scale.yaml nothing has a number."""
    assert problems(folder({"scale.yaml": None})) == (
        "scale.yaml: the file is missing, so no word has a number",
    )


def test_a_folder_without_rules(tmp_path: Path) -> None:
    """A folder that holds no rules, or is not there, is named."""
    assert "there are no rule files here" in problems(tmp_path / "nowhere")[0]


def test_a_file_that_cannot_be_read(folder: Folder) -> None:
    """What stands in the way of reading is said; the rest is still checked."""
    root = folder({"causes/parts/bent.yaml": "id: parts.bent\n"})
    (root / "mechanisms.yaml").unlink()
    (root / "mechanisms.yaml").mkdir()

    found = problems(root)

    assert "causes/parts/bent.yaml:1: title: this field is missing" in found
    assert found[-1] == "mechanisms.yaml:1: cannot be read: Is a directory"


def test_other_yaml_is_left_to_others(folder: Folder) -> None:
    """Tables that only probes read do not have to be rules, but they are part of the version."""
    plain = load_rules(folder())
    with_table = load_rules(folder({"porting/names.yaml": "anything: [goes, here]\n"}))

    assert plain.causes == with_table.causes
    assert plain.version != with_table.version


def test_the_version_is_that_of_the_bytes(folder: Folder, tmp_path: Path) -> None:
    """The same files give the same version anywhere; any change gives another."""
    root = folder()
    first = load_rules(root).version
    elsewhere = shutil.copytree(root, tmp_path / "elsewhere")
    same = load_rules(elsewhere).version
    (elsewhere / CAUSE).write_text((elsewhere / CAUSE).read_text() + "# a remark\n")

    assert first == same != load_rules(elsewhere).version


CHECKLIST = """\
title: Before you start
source: manual
items:
  - {id: "1", title: Q, causes: [parts.worn], fails_on: [noise], passes_on: [noise], check: C, source: manual}
"""


def test_checklists(folder: Folder) -> None:
    """A checklist is known by its file's name; its symptoms have to exist."""
    rules = load_rules(folder({"checklists/start.yaml": CHECKLIST}))
    broken = CHECKLIST.replace("fails_on: [noise]", "fails_on: [nose]")

    assert rules.checklists["start"][0].passes_on == ("noise",)
    assert problems(folder({"checklists/start.yaml": broken})) == (
        "checklists/start.yaml:4: there is no symptom 'nose'; did you mean 'noise'?",
    )


def test_conditions_may_be_alternatives(folder: Folder, texts: dict[str, str]) -> None:
    """A list in applies_when means any of."""
    cause = texts[CAUSE] + "applies_when: {fuel: [gas, oil], wheels: '>2'}\n"

    assert load_rules(folder({CAUSE: cause})).causes["parts.worn"].applies_when == {
        "fuel": ("gas", "oil"),
        "wheels": ">2",
    }


# ------------------------------------------------------------------------------------------------ packs


def test_a_pack_adds_to_the_base(folder: Folder, texts: dict[str, str]) -> None:
    """A pack's causes may use the base's mechanisms, symptoms and sources."""
    pack = folder({"causes/parts/bent.yaml": texts[CAUSE].replace("worn", "bent")}, name="pack", only=True)

    rules = load_rules(folder(), [pack])

    assert sorted(rules.causes) == ["parts.bent", "parts.worn"]
    assert rules.problems == ()
    assert rules.version != load_rules(folder()).version


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"causes/parts/worn.yaml": "SAME"}, "the id 'parts.worn' is already taken"),
        (
            {"causes/parts/bad.yaml": "id: parts.bad\n"},
            "causes/parts/bad.yaml:1: title: this field is missing",
        ),
        ({"scale.yaml": "SCALE"}, "does not bring its own scale"),
        ({"experience.yaml": "estimated_from: us\nmost: 1\nweights: {}\n"}, "does not bring weights"),
        ({"readme.txt": "nothing"}, "there are no rule files here"),
    ],
)
def test_a_bad_pack_costs_itself_only(
    folder: Folder, texts: dict[str, str], files: dict[str, str], problem: str
) -> None:
    """The base works without it, and the reason is told."""
    known = {"SAME": texts[CAUSE], "SCALE": texts["scale.yaml"]}
    pack = folder({k: known.get(v, v) for k, v in files.items()}, name="pack", only=True)
    base = load_rules(folder())

    rules = load_rules(folder(), [pack])

    assert (rules.causes, rules.version) == (base.causes, base.version)
    assert any(problem in p for p in rules.problems)


PACK = "name: mill\ntitle: The mill\n"
MORE = """\
area: mill
symptoms:
  - {id: mill.dust, title: It is dusty, question: "Is it dusty?", leak: rare, sources: [mill-book]}
"""


def mill(texts: dict[str, str], **changes: str) -> dict[str, str]:
    """The files of a pack whose ids all carry its name."""
    cause = texts[CAUSE].replace("parts.worn", "mill.worn").replace("smell", "mill.dust")
    files = {
        "pack.yaml": PACK,
        "causes/mill/worn.yaml": cause,
        "symptoms/mill.yaml": MORE,
        "sources.yaml": "sources:\n  mill-book: The book\n",
    }
    return {k: v.replace(*changes["swap"].split("->")) if "swap" in changes else v for k, v in files.items()}


def test_a_pack_has_a_name_space(folder: Folder, texts: dict[str, str]) -> None:
    """With a manifest every id carries the pack's name, also as a part of its own or of a category."""
    pack = folder(mill(texts), name="pack", only=True)
    other = folder(mill(texts, swap="mill.worn->parts.mill-worn"), name="other", only=True)

    rules = load_rules(folder(), [pack])
    assert (rules.problems, rules.packs) == ((), (str(pack),))
    assert rules.causes["mill.worn"].shows[0].to == "mill.dust"
    assert load_rules(folder(), [other]).problems == ()


@pytest.mark.parametrize("swap", ["mill.worn->parts.worn-2", "mill.dust->dust", "mill-book->book"])
def test_ids_outside_the_name_space(folder: Folder, texts: dict[str, str], swap: str) -> None:
    """A cause, symptom or source without the pack's name refuses the pack, with file and line."""
    pack = folder(mill(texts, swap=swap), name="pack", only=True)
    found = load_rules(folder(), [pack]).problems

    assert any(re.search(r"\.yaml:\d: the pack is called 'mill', so '", p) for p in found), found


def test_a_manifest_is_read_strictly(folder: Folder, texts: dict[str, str]) -> None:
    """A manifest with an unknown field refuses the pack."""
    pack = folder({**mill(texts), "pack.yaml": PACK + "requires: 3\n"}, name="pack", only=True)

    assert "pack.yaml:3: requires: unknown field" in load_rules(folder(), [pack]).problems[0]


@pytest.mark.parametrize(
    "text", ["[" * 100_000 + "]" * 100_000, "- " * 100_000, "? " * 100_000, "{a: " * 50_000]
)
def test_nesting_cannot_exhaust_the_stack(folder: Folder, text: str) -> None:
    """A file that is nested without end costs its pack and nothing else."""
    pack = folder({"causes/a/b.yaml": text}, name="pack", only=True)

    assert "nested deeper than 40 levels" in load_rules(folder(), [pack]).problems[0]


def test_a_missing_pack_is_told(folder: Folder, tmp_path: Path) -> None:
    """A pack folder that is not there is no reason to stop."""
    assert "no such folder" in load_rules(folder(), [tmp_path / "gone"]).problems[0]


def test_installed_packs(folder: Folder, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points bring packs; one that raises is listed and nothing else happens."""

    class Point:
        def __init__(self, name: str, target: Any) -> None:
            self.name, self.target = name, target

        def load(self) -> Any:
            if isinstance(self.target, Exception):
                raise self.target
            return self.target

    pack = folder({"causes/parts/bent.yaml": texts[CAUSE].replace("worn", "bent")}, name="pack", only=True)
    points = [Point("good", lambda: pack), Point("broken", ImportError("no such module"))]
    monkeypatch.setattr("traindoctor.engine.load.default_root", lambda: folder())
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: {ENTRY_POINTS: points}.get(group, [])
    )

    rules = load_rules()

    assert "parts.bent" in rules.causes
    assert rules.problems == ("rule pack broken: ImportError: no such module",)


def test_installed_rules_are_read_once_until_they_change(
    folder: Folder, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same object for the same files; another one, with what is new, after a file has changed."""
    root = folder()
    monkeypatch.setattr("traindoctor.engine.load.default_root", lambda: root)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    first = load_rules()

    assert load_rules() is first
    (root / CAUSE).with_name("bent.yaml").write_text(texts[CAUSE].replace("worn", "bent"), encoding="utf-8")
    assert load_rules() is not first and "parts.bent" in load_rules().causes
    (root / CAUSE).write_text("id: [", encoding="utf-8")
    with pytest.raises(RuleError):
        load_rules()
