"""The gate as CI systems run it: exit codes, waivers, the baseline, and the files that they read."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft202012Validator

from traindoctor.cli.app import run_command_line
from traindoctor.engine.gate import decide
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import (
    Diagnosis,
    Gate,
    GateFinding,
    Place,
    Profile,
    Reading,
    RunInfo,
    State,
    Waiver,
)
from traindoctor.engine.policy import profile
from traindoctor.reports import ci_formats, gate_report
from traindoctor.reports.ci_formats import Origin

HERE = Path(__file__).resolve().parents[2]
BROKEN = HERE / "examples" / "fp16-collapse"
SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
# What the schema leaves to the text of SARIF 2.1.0 and to GitHub's code scanning.
RESULT = {
    "type": "object",
    "required": ["message", "ruleId", "ruleIndex", "locations", "partialFingerprints", "kind", "level"],
    "properties": {"locations": {"minItems": 1}},
    # 3.27.10: level is "none" where kind is anything but "fail"
    "if": {"properties": {"kind": {"const": "fail"}}},
    "else": {"properties": {"level": {"const": "none"}}},
}


def valid_sarif(document: Any) -> Any:
    """Return the only run of a SARIF document that keeps to the schema and to what GitHub asks for."""
    Draft4Validator.check_schema(SCHEMA)
    Draft4Validator(SCHEMA).validate(document)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({r["id"] for r in rules}) == len(rules) <= 25_000 and len(run["results"]) <= 25_000
    assert all(len(r["properties"]["tags"]) <= 20 for r in rules)
    for result in run["results"]:
        Draft202012Validator(RESULT).validate(result)
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"(?!/|\.\.|[a-z]+:)[A-Za-z0-9/._~!$&'()*+,;=@%-]+", uri), uri
    return run


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a broken port, its benchmark, and a copy of the benchmark for a port."""
    shutil.copytree(BROKEN / "run", tmp_path / "runs" / "port")
    shutil.copytree(BROKEN / "benchmark", tmp_path / "runs" / "benchmark")
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "GITHUB_STEP_SUMMARY", "SOURCE_DATE_EPOCH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def gate(*arguments: str, port: str = "runs/port") -> int:
    return run_command_line(["gate", port, "--benchmark", "runs/benchmark", "--quiet", *arguments])


def decided(repository: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    code = gate(*arguments, "-f", "json", "-o", "gate.json")
    found: dict[str, Any] = json.loads((repository / "gate.json").read_text())
    return code, found


# ----------------------------------------------------------------------------------------- exit codes


def test_a_broken_port_fails_and_says_why(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate() == 1
    told = capsys.readouterr().out
    assert told.startswith("Gate failed: 1 demand of profile default not met.")
    assert "numerics.half-precision-range" in told and "config.yaml:2" in told


def test_the_benchmark_as_its_own_port_passes(repository: Path) -> None:
    """Nothing fails where nothing differs; the benchmark itself trains well."""
    shutil.copytree(repository / "runs" / "benchmark", repository / "runs" / "same")
    assert gate("--profile", "minimal", port="runs/same") == 0


def test_not_checked_is_inconclusive_unless_allowed(repository: Path) -> None:
    """Without a benchmark nothing can be said of the hyperparameters: item 10 stays open."""
    alone = ["gate", "runs/benchmark", "--quiet"]
    assert run_command_line(alone) == 3
    assert run_command_line([*alone, "--allow-unchecked"]) == 0
    assert run_command_line([*alone, "--profile", "minimal"]) == 0
    own = repository / "own.yaml"
    own.write_text("profiles:\n  - {name: hard, extends: default, unchecked: fail}\n")
    assert run_command_line([*alone, "--profile", "own.yaml"]) == 1


def test_bad_input(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "bad.yaml").write_text("waivers: [{rule: x}]\n")
    assert gate("--profile", "lenient") == 2
    assert gate("--waivers", "bad.yaml") == 2
    assert gate("--baseline", "none.json") == 2
    assert gate("--now", "tomorrow") == 2
    assert gate("--format", "html") == 2
    assert run_command_line(["gate", "nowhere"]) == 4
    told = capsys.readouterr()
    assert not told.out and len(told.err.splitlines()) == 6


def test_no_item_passes_for_lack_of_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of three losses decides no item of the checklist."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("step,loss\n1,2.0\n2,1.9\n3,1.8\n")
    run_command_line(["gate", "log.csv", "--quiet", "-f", "json", "-o", "gate.json"])
    found = json.loads((tmp_path / "gate.json").read_text())["findings"]
    assert {f["outcome"] for f in found if f["rule"].startswith("ascend-")} == {"open"}


# -------------------------------------------------------------------------------- waivers and baseline

WAIVER = """
waivers:
  - {rule: "numerics.*", scope: "runs/*", owner: accuracy-team, reason: known here, expires: 2026-12-31}
"""


@pytest.mark.parametrize(
    ("now", "code", "warning"),
    [
        ("2026-11-21", 0, ""),
        ("2026-12-20", 0, "ends on 2026-12-31"),
        ("2026-12-31", 0, "ends on"),
        ("2027-01-01", 1, "expired on 2026-12-31"),
    ],
)
def test_a_waiver_holds_until_its_day(repository: Path, now: str, code: int, warning: str) -> None:
    (repository / "waivers.yaml").write_text(WAIVER)
    exit_code, found = decided(repository, "--waivers", "waivers.yaml", "--now", now)

    assert exit_code == code
    assert warning in " ".join(found["warnings"]) and bool(found["warnings"]) == bool(warning)
    (cause,) = [f for f in found["findings"] if f["rule"] == "numerics.half-precision-range"]
    assert (cause["waived"] is not None) == (code == 0) and cause["outcome"] == "fail"


def test_a_waiver_of_something_else_warns_and_waives_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "waivers.yaml").write_text(WAIVER.replace("runs/*", "other/*"))
    code, found = decided(repository, "--waivers", "waivers.yaml", "--now", "2026-11-21")

    assert code == 1 and "waives nothing here" in found["warnings"][0]
    loud = ["gate", "runs/port", "--benchmark", "runs/benchmark", "--waivers", "waivers.yaml"]
    assert run_command_line([*loud, "--now", "2026-11-21"]) == 1
    assert "waivers.yaml:3: the waiver of numerics.*" in capsys.readouterr().err


FINE = "rule: numerics.*, scope: '*', owner: me, reason: because it is so"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "w.yaml:1: the file is empty"),
        ("# nothing\n", "w.yaml:1: the file is empty"),
        ("waivers:\n", "w.yaml:1: waivers: must be a list"),
        ("- a\n", "w.yaml:1: must hold `name: value` lines"),
        (f"waiver: [{{{FINE}}}]\n", "w.yaml:1: waivers: this field is missing (and 1 more problem)"),
        (f"waivers:\n  - {{{FINE}}}\n", "w.yaml:2: waivers.0.expires: this field is missing"),
        (f"waivers:\n  - {{{FINE}, expires: 2026-13-45}}\n", "w.yaml:2: waivers.0.expires: is no day; write"),
        (f"waivers:\n  - {{{FINE}, expires: soon}}\n", "w.yaml:2: waivers.0.expires: is no day; write"),
        (f"waivers:\n  - {{{FINE}, expires: 2028-01-01}}\n", "expires 2028-01-01 is more than 180 days away"),
        (
            f"waivers:\n  - {{{FINE}, expires: 2026-12-01, until: x}}\n",
            "w.yaml:2: waivers.0.until: unknown field",
        ),
        (f"waivers:\n  - {{{FINE.replace('me', '')}, expires: 2026-12-01}}\n", "waivers.0.owner: must "),
        (f"waivers:\n  - {{{FINE}\n", "w.yaml:3: not valid YAML"),
        ("waivers:\n\t- x\n", "w.yaml:2: not valid YAML"),
    ],
)
def test_what_is_wrong_with_waivers(
    repository: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """One sentence with file and line, exit code 2, before the run is read."""
    (repository / "w.yaml").write_text(text)
    assert gate("--waivers", "w.yaml", "--now", "2026-11-21") == 2
    told = capsys.readouterr()

    assert said in told.err and not told.out and told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("rule", "expires", "said"),
    [
        (
            "numerics.half-precision-rang",
            "2026-12-30",
            "there is no item or cause numerics.half-precision-rang; did",
        ),
        ("ascend-77", "2026-12-30", "there is no item or cause ascend-77; did you mean ascend-7?"),
        ("data.leakage", "2026-12-30", "the waiver of data.leakage waives nothing here"),
        ("data.leakage", "2026-11-01", "the waiver of data.leakage expired and waives nothing here"),
        ("numerics.*", "2026-11-20", "the waiver of numerics.* expired on 2026-11-20"),
        ("numerics.*", "2026-11-21", "the waiver of numerics.* (accuracy-team) ends on 2026-11-21"),
    ],
)
def test_what_waivers_are_warned_of(repository: Path, rule: str, expires: str, said: str) -> None:
    """One sentence each: mistyped, unused, expired, ending today."""
    text = WAIVER.replace("numerics.*", rule).replace("2026-12-31", expires)
    (repository / "waivers.yaml").write_text(text)
    (warning,) = decided(repository, "--waivers", "waivers.yaml", "--now", "2026-11-21")[1]["warnings"]

    assert warning.startswith("waivers.yaml:3: ") and said in warning


def test_what_fails_says_what_to_do_and_what_is_open_which_command(repository: Path) -> None:
    """A failed item has its cause's remedy, an open one the command with the paths of this run."""
    config = repository / "runs" / "port" / "config.yaml"
    config.write_text(config.read_text() + "\nadam_beta2: 0.5\n")
    other = repository / "runs" / "benchmark" / "config.yaml"
    other.write_text(other.read_text() + "\nadam_beta2: 0.9\n")
    rows = {f["rule"]: f for f in decided(repository, "--profile", "strict")[1]["findings"]}

    assert rows["ascend-10"]["outcome"] == "fail" and not rows["ascend-10"]["command"]
    assert "make every difference either equal or deliberate" in rows["ascend-10"]["check"]
    assert rows["ascend-1"]["outcome"] == "open"
    assert rows["ascend-1"]["command"] == (
        "diagnose checklist runs/port --benchmark runs/benchmark --benchmark SECOND_RUN"
    )


def test_the_clock_can_be_set_from_outside(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "waivers.yaml").write_text(WAIVER)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1798761600")  # 2027-01-01
    assert gate("--waivers", "waivers.yaml") == 1


def test_only_new_failures_fail(repository: Path) -> None:
    assert gate("--write-baseline", "known.json") == 1
    code, found = decided(repository, "--baseline", "known.json")
    assert code == 0 and any(f["known"] for f in found["findings"]) and not found["fixed"]

    config = repository / "runs" / "port" / "config.yaml"
    config.write_text(config.read_text() + "\n# a comment moves no failure\n")
    assert decided(repository, "--baseline", "known.json")[0] == 0

    (repository / "known.json").write_text('{"schema_version": "1", "failures": []}')
    assert decided(repository, "--baseline", "known.json")[0] == 1


def test_what_no_longer_fails_is_told(repository: Path) -> None:
    rows = [{"fingerprint": "0" * 64, "rule": "graph.optimizer", "title": "x"}]
    (repository / "known.json").write_text(json.dumps({"schema_version": "1", "failures": rows}))
    assert decided(repository, "--baseline", "known.json")[1]["fixed"] == ["graph.optimizer"]


# --------------------------------------------------------------------------------------------- formats


def sarif(repository: Path, *arguments: str) -> Any:
    gate(*arguments, "-o", "out.sarif")
    found = json.loads((repository / "out.sarif").read_text())
    return valid_sarif(found)


def test_sarif(repository: Path) -> None:
    """Valid, at the setting's file and line as the repository names it, with a stable fingerprint."""
    run = sarif(repository)
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]

    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
    assert place["artifactLocation"]["uri"] == "runs/port/config.yaml" and place["region"]["startLine"] == 2
    assert result["partialFingerprints"] == sarif(repository)["results"][0]["partialFingerprints"]
    assert "baselineState" not in result and "suppressions" not in result


def test_sarif_with_waiver_and_baseline(repository: Path) -> None:
    (repository / "waivers.yaml").write_text(WAIVER)
    gate("--write-baseline", "known.json")
    found = sarif(repository, "--waivers", "waivers.yaml", "--now", "2026-11-21", "--baseline", "known.json")
    (result,) = found["results"]
    assert result["baselineState"] == "unchanged" and result["suppressions"][0]["kind"] == "external"


def test_sarif_of_runs_outside_the_checkout(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code scanning takes files of the repository only: the policy stands in."""
    (repository / "repo").mkdir()
    (repository / "repo" / "gate.yaml").write_text("profiles:\n  - {name: ours, extends: default}\n")
    monkeypatch.chdir(repository / "repo")
    run_command_line(["gate", "../runs/port", "--quiet", "--profile", "gate.yaml", "-o", "out.sarif"])
    found = json.loads(Path("out.sarif").read_text())
    uris = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in found["runs"][0]["results"]
    }
    assert uris == {"gate.yaml"}


def test_junit(repository: Path) -> None:
    """A test case per item and failing cause; Not checked is skipped."""
    gate("-o", "out.xml")
    suite = ElementTree.parse(repository / "out.xml").getroot()[0]  # noqa: S314 - our own file
    cases = suite.findall("testcase")

    assert suite.get("tests") == str(len(cases)) and len(cases) >= 10
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == "1"
    assert suite.get("skipped") == str(len(suite.findall("testcase/skipped"))) != "0"
    assert {c.get("classname") for c in cases} == {"traindoctor.checklist", "traindoctor.causes"}


def test_gitlab(repository: Path) -> None:
    gate("-f", "gitlab", "-o", "quality.json")
    (row,) = json.loads((repository / "quality.json").read_text())
    assert set(row) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert row["severity"] == "critical" and len(row["fingerprint"]) == 64
    assert row["location"] == {"path": "runs/port/config.yaml", "lines": {"begin": 2}}


def test_github(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Annotations on stdout, the report appended to the job's summary."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(repository / "summary.md"))
    (repository / "summary.md").write_text("before\n")
    assert gate("-f", "github") == 1
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].startswith(
        "::error file=runs/port/config.yaml,line=2,title=numerics.half-precision-range%3A "
    )
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)
    assert (repository / "summary.md").read_text().startswith("before\n## ❌ Gate failed")


def test_what_a_log_says_is_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text of the run reaches no CI system unescaped."""
    evil = "\n::set-output name=x::y\r\n%0A\x1b[31m<script>"
    place = Place("a,b:c\n\x1b[2J::x.py", 3)
    finding = GateFinding("graph.optimizer", evil, "fail", "error", evil, evil, (place,), (), "f" * 64)
    profile = Profile("p", "P", "ascend", {}, (), "allow")
    made = Gate(profile, "failed", (finding,))
    diagnosis = Diagnosis(RunInfo("r"), None, (), (), (), (), {}, 0.0, True, "v")
    origin = ci_formats.Origin("runs", None, "README.md", "1")

    lines = ci_formats.github(made, diagnosis, origin).splitlines()
    assert len(lines) == 2 and "\x1b" not in lines[0] and "%250A" in lines[0]
    ElementTree.fromstring(ci_formats.junit(made, diagnosis))  # noqa: S314
    valid_sarif(json.loads(ci_formats.sarif(made, diagnosis, origin)))


# --------------------------------------------------------------------------------------------- limits


def gate_of(*findings: GateFinding) -> tuple[Gate, Diagnosis]:
    profile = Profile("p", "P", "ascend", {}, (), "allow")
    diagnosis = Diagnosis(RunInfo("r"), None, (), (), (), (), {}, 0.0, True, "v")
    return Gate(profile, "failed", findings), diagnosis


def found(n: int, level: str = "error", outcome: str = "fail", size: int = 300, **rest: Any) -> GateFinding:
    text = f"{n} " + "w" * size
    place = Place(f"runs/a b{n}#?.yaml", n + 1)
    made = GateFinding(f"graph.x{n}", text, outcome, level, text, text, (place,), (), f"{n:064x}")  # type: ignore[arg-type]
    return replace(made, **rest)


ORIGIN = Origin("", None, "README.md", "1")


def test_limits_of_github() -> None:
    """Ten annotations of each level; titles, comments and summaries below their size."""
    many = [found(n, level) for n in range(400) for level in ("warning", "error")]
    gate, diagnosis = gate_of(*many)
    lines = ci_formats.github(gate, diagnosis, ORIGIN).splitlines()
    titles = [unescaped(m.group(1)) for line in lines if (m := re.search(r"title=([^:]*)::", line))]

    assert [sum(x.startswith(f"::{k} ") for x in lines) for k in ("error", "warning", "notice")] == [
        10,
        10,
        1,
    ]
    assert max(map(len, titles)) <= 255
    assert len(gate_report.render_markdown(gate, diagnosis)) < 65_000
    assert len(ci_formats.summary("x\n" * 10**6).encode()) < 1024 * 1024
    assert len(ci_formats.summary("é" * 10**6).encode()) < 1024 * 1024


def unescaped(text: str) -> str:
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def test_limits_of_code_scanning() -> None:
    """At most 5000 results, the blocking ones kept; below 10 MB when packed; paths are URIs."""
    gate, diagnosis = gate_of(*(found(n, "warning" if n % 2 else "error", size=900) for n in range(6000)))
    text = ci_formats.sarif(gate, diagnosis, ORIGIN)
    document = json.loads(text)
    results = document["runs"][0]["results"]
    driver = document["runs"][0]["tool"]["driver"]
    # As many as the schema is held against in a second: it holds each rule against each other one.
    document["runs"][0]["results"], driver["rules"] = results[::100], driver["rules"][::100]
    run = valid_sarif(document)

    assert [r["level"] for r in results].count("error") == 3000 and len(results) == 5000
    assert len(gzip.compress(text.encode())) < 10 * 1024**2
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == "runs/a b0#?.yaml"


WAIVED = Waiver("graph.*", "*", "me", "why", "2027-01-01", "w.yaml:1")


@pytest.mark.parametrize(
    ("finding", "sarif", "github", "gitlab"),
    [
        (found(0), ("fail", "error"), "error", "critical"),
        (found(0, "warning"), ("fail", "warning"), "warning", "major"),
        (found(0, known=True), ("fail", "error"), "warning", "minor"),
        (found(0, outcome="open"), ("review", "none"), "warning", "minor"),
        (found(0, waived=WAIVED), ("fail", "error"), "", None),
        (found(0, "note", "open"), None, "", None),
        (found(0, "note", "pass"), None, "", None),
    ],
)
def test_levels(finding: GateFinding, sarif: tuple[str, str] | None, github: str, gitlab: str | None) -> None:
    """How a finding is told to each system: what blocks, what is known, what is open, what is waived."""
    gate, diagnosis = gate_of(finding)
    results = valid_sarif(json.loads(ci_formats.sarif(gate, diagnosis, ORIGIN)))["results"]
    line = ci_formats.github(gate, diagnosis, ORIGIN).splitlines()[0]
    rows = json.loads(ci_formats.gitlab(gate, diagnosis, ORIGIN))

    assert [(r["kind"], r["level"]) for r in results] == ([sarif] if sarif else [])
    assert line.startswith(f"::{github} " if github else "::notice ")
    assert [r["severity"] for r in rows] == ([gitlab] if gitlab else [])


def test_a_probe_that_crashed_is_an_error_of_its_item() -> None:
    """A crash passes and fails nothing: the item is open, and JUnit tells the error."""
    rules = load_rules()
    broken = Reading("benchmark-unstable", State.UNKNOWN, "probe error: ValueError: boom")
    diagnosis = Diagnosis(RunInfo("r"), None, (), (broken,), (), (), {}, 0.0, True, "v")
    made = decide(rules, diagnosis, profile("strict", rules), today=date(2026, 11, 21))
    first = next(f for f in made.findings if f.rule == "ascend-1")
    suite = ElementTree.fromstring(ci_formats.junit(made, diagnosis))[0]  # noqa: S314

    assert (first.outcome, first.error) == ("open", "probe error: ValueError: boom")
    assert suite.get("errors") == "1" and "boom" in (suite.find("testcase/error").get("message") or "")  # type: ignore[union-attr]


def test_limits_of_gitlab() -> None:
    """Every row has its own fingerprint, a severity that GitLab knows and a path below the repository."""
    gate, diagnosis = gate_of(*(found(n, "warning" if n % 3 else "error") for n in range(300)))
    rows = json.loads(ci_formats.gitlab(gate, diagnosis, ORIGIN))

    assert len({r["fingerprint"] for r in rows}) == len(rows) == 300
    assert {r["severity"] for r in rows} <= {"info", "minor", "major", "critical", "blocker"}
    assert not any(r["location"]["path"].startswith(("/", ".")) for r in rows)
    assert all(r["location"]["lines"]["begin"] >= 1 and r["description"] for r in rows)


@given(st.text(max_size=200))
def test_any_text_is_harmless(text: str) -> None:
    """Whatever a run says: one line per annotation, well-formed XML, valid SARIF, JSON that reads back."""
    gate, diagnosis = gate_of(
        found(0, title=text, why=text, check=text, where=(Place(text or "x", 3),)),
        found(1, outcome="open", title=text, why=text),
    )
    lines = ci_formats.github(gate, diagnosis, ORIGIN).split("\n")

    assert len(lines) == 4 and not lines[-1]
    assert all(re.match(r"::(?:error|warning|notice) [^\r\n]*::", line) for line in lines[:-1])
    ElementTree.fromstring(ci_formats.junit(gate, diagnosis))  # noqa: S314
    Draft4Validator(SCHEMA).validate(json.loads(ci_formats.sarif(gate, diagnosis, ORIGIN)))
    assert len(json.loads(ci_formats.gitlab(gate, diagnosis, ORIGIN))) == 2


# ------------------------------------------------------------------------- the files that CI systems read


def environment(repository: Path, **more: str) -> dict[str, str]:
    """An environment in which `diagnose` and `python3` are this interpreter's."""
    tools = repository / "tools-of-ci"
    tools.mkdir(exist_ok=True)
    code = "import sys; from traindoctor.cli import main; sys.exit(main())"
    (tools / "diagnose").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")
    (tools / "diagnose").chmod(0o755)
    (tools / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tools / "python3").chmod(0o755)
    path = os.pathsep.join(p for p in sys.path if p)
    return {"PATH": f"{tools}:/usr/bin:/bin", "PYTHONPATH": path, "HOME": str(repository), **more}


@pytest.mark.parametrize(("port", "code", "decision"), [("port", 1, "failed"), ("benchmark", 0, "passed")])
def test_the_github_action(repository: Path, port: str, code: int, decision: str) -> None:
    """Its command line, with the inputs as GitHub hands them over."""
    action = yaml.safe_load((HERE / "action.yml").read_text())
    step = action["runs"]["steps"][1]
    given = {"run": f"runs/{port}", "benchmark": "" if code == 0 else "runs/benchmark", "profile": "minimal"}
    inputs = {name: given.get(name, row.get("default", "")) for name, row in action["inputs"].items()}
    names = {
        variable: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for variable, value in step["env"].items()
    }
    more = {"GITHUB_ACTION_PATH": str(HERE), "GITHUB_OUTPUT": str(repository / "outputs"), **names}
    done = subprocess.run(
        ["bash", "-c", step["run"]],
        env=environment(repository, **more),
        cwd=repository,
        capture_output=True,
        text=True,
    )

    assert done.returncode == code, done.stderr
    assert f"decision={decision}" in (repository / "outputs").read_text()
    valid_sarif(json.loads((repository / inputs["sarif-file"]).read_text()))
    assert (repository / inputs["report-file"]).read_text().startswith("## ")


def test_the_gitlab_job(repository: Path) -> None:
    job = yaml.safe_load((HERE / "docs" / "ci" / "gitlab.yml").read_text())["traindoctor"]
    command = job["script"][-1]
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment(repository, **job["variables"]),
        cwd=repository,
        capture_output=True,
    )

    assert done.returncode == 1
    for report in (*job["artifacts"]["reports"].values(), *job["artifacts"]["paths"]):
        assert (repository / report).stat().st_size > 0


def test_the_pre_commit_hooks(repository: Path) -> None:
    hooks = {h["id"]: h for h in yaml.safe_load((HERE / ".pre-commit-hooks.yaml").read_text())}
    for name, arguments in (
        ("diagnose-rules-lint", []),
        ("diagnose-config", ["runs/port", "--benchmark", "runs/benchmark"]),
    ):
        done = subprocess.run(
            [*hooks[name]["entry"].split(), *arguments],
            env=environment(repository),
            cwd=repository,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
