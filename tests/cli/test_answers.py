"""What the user knows: which answer stands, where it may be written, and what is said of bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.cli import answers, main
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading, State
from traindoctor.probes.assembly.assemble import open_run

Captured = pytest.CaptureFixture[str]
P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
ASKED = "inputs-have-nan"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose loss becomes NaN."""
    folder = tmp_path / "exp"
    folder.mkdir()
    rows = [{"step": i, "loss": 2.0 * 0.97**i if i < 45 else float("nan"), "lr": 0.001} for i in range(1, 61)]
    (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


def finding(capsys: Captured, symptom: str, *line: str) -> tuple[dict[str, object], str]:
    """Run the command; return one reading and stderr."""
    assert main([*line, "-f", "json"]) == 0
    out, err = capsys.readouterr()
    return next(f for f in json.loads(out)["findings"] if f["symptom"] == symptom), err


# ------------------------------------------------------------------------------------------ which stands

MEASURED = Reading("s", P, "seen at step 3", value=1.0)
OPEN = Reading("s", U, "it is a question to you")


@pytest.mark.parametrize(
    ("before", "state", "firm", "expected", "why", "contradicts"),
    [
        (OPEN, P, True, P, "answered by the user", False),
        (OPEN, U, True, U, "left open by the user", False),
        (OPEN, A, False, A, "answered in answers.yaml", False),
        (MEASURED, P, True, P, "seen at step 3; confirmed by the user", False),
        (MEASURED, A, True, A, "answered by the user; the run was read as present (seen at step 3)", True),
        (MEASURED, U, True, U, "answered by the user; the run was read as present (seen at step 3)", True),
        (MEASURED, A, False, P, "seen at step 3; answered otherwise (absent) in answers.yaml", True),
        (MEASURED, U, False, P, "seen at step 3", False),
    ],
)
def test_which_stands(
    before: Reading, state: State, firm: bool, expected: State, why: str, contradicts: bool
) -> None:
    """A user's answer fills and stands; a stored one only fills; where two differ both are told."""
    by = "by the user" if firm else "in answers.yaml"
    changed, said = answers.answer({"s": before}, answers.Answered({"s": state}, by, firm))

    assert (changed["s"].state, changed["s"].why) == (expected, why)
    assert bool(said) is contradicts


def test_the_command_line_beats_the_file_beats_the_run(run: Path, tmp_path: Path, capsys: Captured) -> None:
    """The nearer to the user, the more it counts; no contradiction is claimed between answers."""
    (run / "answers.yaml").write_text(f"{ASKED}: present\n")
    given = tmp_path / "mine.yaml"
    given.write_text(f"{ASKED}: no\n")

    assert finding(capsys, ASKED, str(run))[0]["state"] == "present"
    assert finding(capsys, ASKED, str(run), "--answers", str(given))[0]["state"] == "absent"
    found, err = finding(capsys, ASKED, str(run), "--answers", str(given), "--answer", f"{ASKED}=unknown")
    assert (found["state"], found["answered"], err) == ("unknown", True, "")


def test_what_nobody_can_tell_is_not_asked_again(run: Path, capsys: Captured) -> None:
    """An answer of unknown takes the question off the list."""
    asked = []
    for line in ([], ["--answer", f"{ASKED}=unknown"]):
        main([str(run), *line, "-f", "json"])
        asked.append({c["symptom"] for c in json.loads(capsys.readouterr().out)["next_checks"]})

    assert ASKED in asked[0]
    assert ASKED not in asked[1]


def test_a_next_check_gives_the_line_to_paste(run: Path, capsys: Captured) -> None:
    """The command of a next check is one that works, with what was answered before."""
    main([str(run), "--answer", "lower-lr-cures=absent", "-f", "json"])
    found = json.loads(capsys.readouterr().out)["next_checks"]
    said = next(c["command"] for c in found if c["symptom"] == ASKED)

    assert said == f"diagnose {run} --answer=lower-lr-cures=absent --answer {ASKED}=present"
    assert finding(capsys, ASKED, *said.split()[1:])[0]["state"] == "present"


def test_answers_count_in_the_checklist(run: Path, capsys: Captured) -> None:
    """An item that only a user can answer is decided by the answer."""
    (run / "answers.yaml").write_text("files-missing: present\n")
    assert main(["checklist", str(run), "-f", "json"]) == 0
    items = {i["id"]: i for i in json.loads(capsys.readouterr().out)["checklist"]}

    assert items["6"]["result"] == "Failed"
    assert items["6"]["decided_by"][0] == "files-missing"


# ----------------------------------------------------------------------------------- the run's own file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "inputs-have-nam: present\n",
            "answers.yaml:1: inputs-have-nam: the rules have no such symptom; did you mean",
        ),
        (
            f"{ASKED}: maybe\n",
            "answers.yaml:1: the answer to inputs-have-nan must be present, absent or unknown",
        ),
        ("- 42\n", "one to a line"),
        ("a: &x [*x]\n", "aliases are not used here"),
        ("x: !!python/object/apply:os.system [id]\n", "is not used here"),
        (f"{ASKED}: present\n" * 2, "twice"),
        ("# " + "x" * 70_000, "larger than 64 KiB"),
    ],
)
def test_a_bad_file_in_the_run_costs_itself(run: Path, text: str, said: str, capsys: Captured) -> None:
    """A stranger's file is used whole or not at all; why not is said, and the diagnosis goes on."""
    (run / "answers.yaml").write_text(f"lower-lr-cures: present\n{text}" if text.startswith("x:") else text)
    found, err = finding(capsys, "lower-lr-cures", str(run))

    assert err.startswith("diagnose: answers.yaml in the run directory is not used: ")
    assert said in err
    assert err.count("\n") == 1
    assert found["state"] == "unknown"


def test_a_link_is_not_followed(run: Path, tmp_path: Path, capsys: Captured) -> None:
    """A link to a file elsewhere is not read."""
    (tmp_path / "elsewhere.yaml").write_text(f"{ASKED}: present\n")
    (run / "answers.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    found, err = finding(capsys, ASKED, str(run))

    assert "is a link and is not used" in err
    assert found["state"] == "unknown"


def test_the_file_is_no_configuration(run: Path) -> None:
    """answers.yaml is not taken for settings of the run."""
    (run / "answers.yaml").write_text(f"{ASKED}: present\n")

    assert open_run(run).info.files_read == ("log.jsonl",)
    assert not any(s.file == "answers.yaml" for s in open_run(run).raw_settings)


# -------------------------------------------------------------------------------------------- questions


def test_every_question_can_be_answered_in_one_sitting() -> None:
    """A question asks for the fault, says how to look, takes at most two hours, and separates causes."""
    rules = load_rules()
    asked = [s for s in rules.symptoms.values() if s.question is not None]
    nodes = (*rules.causes.values(), *rules.mechanisms.values())
    shown = {link.to for node in nodes for link in node.shows}

    assert len(asked) >= 20
    for symptom in asked:
        assert symptom.question and symptom.question.endswith("?"), symptom.id
        assert symptom.how and len(symptom.how) >= 60, symptom.id
        assert 0 < symptom.minutes <= 120, symptom.id
        assert symptom.id in shown, symptom.id
