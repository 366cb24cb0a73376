"""The decision of a gate for CI systems: JUnit, SARIF 2.1.0, GitHub annotations, GitLab code quality.

Limits and shapes: GitHub takes 10 errors and 10 warnings as annotations of a step, and 1 MiB of job summary;
SARIF results need a file of the repository to stand at; GitLab reads an array with stable fingerprints.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from ..engine.model import Diagnosis, Gate, GateFinding, Place
from .gate_report import verdict
from .text import location, plain, printable, sentence

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_ANNOTATIONS = 10  # of each level: GitHub shows no more for one step
MOST_RESULTS = 5000  # GitHub shows no more of a run, and takes no more than 25,000
LONGEST_TITLE = 250  # characters; GitHub takes 255 of an annotation's title
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Origin:
    """How files are named towards a CI system: relative to the directory it checked out.

    `run` and `benchmark` are the paths of the two directories as it sees them, with `/`; None where one lies
    outside. `fallback` is a file that stands in for a place outside.
    """

    run: str | None
    benchmark: str | None
    fallback: str
    version: str

    def file(self, place: Place) -> str | None:
        """The path of a place, or None where it lies outside."""
        base = self.run if place.side == "run" else self.benchmark
        return None if base is None else posixpath.normpath(posixpath.join(base, place.file))


def _shown(gate: Gate) -> list[GateFinding]:
    """What a reviewer has to see, what blocks first: failures, and what is demanded and open."""
    shown = [f for f in gate.findings if f.outcome == "fail" or (f.outcome == "open" and f.level == "error")]
    return sorted(shown, key=lambda f: not f.blocks)[:MOST_RESULTS]


def _told(f: GateFinding) -> str:
    do = f" {sentence(plain(f.check))}" if f.check else ""
    return f"{sentence(plain(f.title))} {sentence(plain(f.why))}{do}"


def _standing(f: GateFinding, origin: Origin) -> tuple[str, int]:
    for place in f.where:
        file = origin.file(place)
        if file is not None and not file.startswith(("..", "/")):
            return file, place.line or 1
    return origin.fallback, 1


# --------------------------------------------------------------------------------------------- JUnit


def junit(gate: Gate, diagnosis: Diagnosis) -> str:
    """Return JUnit XML: a test case per demand; Not checked is skipped, a broken probe an error."""
    cases = [*gate.findings]
    failures = sum(f.blocks for f in cases)
    errors = sum(bool(f.error) and not f.blocks for f in cases)
    skipped = sum(_is_skipped(f) for f in cases)
    counts = {"tests": len(cases), "failures": failures, "errors": errors, "skipped": skipped}
    suites = ElementTree.Element("testsuites", {"name": "traindoctor gate", **_texts(counts)})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": gate.profile.name, **_texts(counts)})
    properties = ElementTree.SubElement(suite, "properties")
    _property(properties, "decision", gate.decision)
    _property(properties, "run", diagnosis.run.path)
    if diagnosis.benchmark is not None:
        _property(properties, "benchmark", diagnosis.benchmark.path)
    for f in cases:
        _case(suite, f, gate.profile.checklist)
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _texts(counts: dict[str, int]) -> dict[str, str]:
    return {key: str(value) for key, value in counts.items()}


def _is_skipped(f: GateFinding) -> bool:
    return not f.blocks and not f.error and f.outcome != "pass"


def _xml(text: str) -> str:
    return _NO_XML.sub("", plain(text))


def _property(parent: ElementTree.Element, name: str, value: str) -> None:
    ElementTree.SubElement(parent, "property", {"name": name, "value": _xml(value)})


def _case(suite: ElementTree.Element, f: GateFinding, checklist: str) -> None:
    group = "checklist" if f.rule.startswith(f"{checklist}-") else "causes"
    case = ElementTree.SubElement(
        suite, "testcase", {"classname": f"traindoctor.{group}", "name": _xml(f"{f.rule}: {f.title}")}
    )
    if f.where:
        properties = ElementTree.SubElement(case, "properties")
        for place in f.where:
            _property(properties, "evidence", location(place))
    if f.blocks:
        node = ElementTree.SubElement(case, "failure", {"message": _xml(f.why), "type": f.rule})
        node.text = _xml(_told(f))
    elif f.error:
        ElementTree.SubElement(case, "error", {"message": _xml(f.error), "type": "probe"})
    elif f.outcome != "pass":
        reason = "in the baseline: " if f.known else ""
        if f.waived:
            reason = f"waived by {f.waived.owner} until {f.waived.expires}: "
        ElementTree.SubElement(case, "skipped", {"message": _xml(reason + f.why)})


# --------------------------------------------------------------------------------------------- SARIF


def sarif(gate: Gate, diagnosis: Diagnosis, origin: Origin, *, baseline: bool = False) -> str:
    """Return SARIF 2.1.0 with what failed or has to be reviewed; waived results are suppressed."""
    shown = _shown(gate)
    rules = [_rule(f) for f in {f.rule: f for f in shown}.values()]
    index = {rule["id"]: at for at, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "traindoctor",
                "semanticVersion": origin.version,
                "informationUri": "https://pypi.org/project/traindoctor/",
                "rules": rules,
            }
        },
        "invocations": [{"executionSuccessful": True, "exitCode": _exit_code(gate)}],
        "properties": {"decision": gate.decision, "profile": gate.profile.name, "verdict": verdict(gate)},
        "results": [_result(f, index[f.rule], origin, baseline) for f in shown],
    }
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    del diagnosis
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _exit_code(gate: Gate) -> int:
    return {"passed": 0, "failed": 1, "inconclusive": 3}[gate.decision]


def _rule(f: GateFinding) -> dict[str, Any]:
    return {
        "id": f.rule,
        "name": _camel(f.rule),
        "shortDescription": {"text": plain(f.title)},
        "help": {
            "text": sentence(plain(f.check)) if f.check else plain(f.title),
            "markdown": f"`diagnose explain {f.rule}`" if "." in f.rule else plain(f.title),
        },
        "properties": {"tags": ["training-accuracy"]},
    }


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", name) if part)


def _result(f: GateFinding, index: int, origin: Origin, baseline: bool) -> dict[str, Any]:
    file, line = _standing(f, origin)
    uri = quote(file, safe="/-._~!$&'()*+,;=@")
    result: dict[str, Any] = {
        "ruleId": f.rule,
        "ruleIndex": index,
        "message": {"text": _told(f)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": line},
                }
            }
        ],
        "partialFingerprints": {"traindoctor/v1": f.fingerprint},
    }
    if f.outcome == "fail":
        result |= {"kind": "fail", "level": f.level}
    else:
        result |= {"kind": "review", "level": "none"}
    if baseline:
        result["baselineState"] = "unchanged" if f.known else "new"
    if f.waived:
        reason = f"{plain(f.waived.reason)} ({plain(f.waived.owner)}, until {f.waived.expires})"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reason}]
    return result


# ------------------------------------------------------------------------------------- GitHub, GitLab


def github(gate: Gate, diagnosis: Diagnosis, origin: Origin) -> str:
    """Return workflow commands: annotations at the lines of what fails and is not waived, ten a level."""
    del diagnosis
    lines = []
    left = {"error": MOST_ANNOTATIONS, "warning": MOST_ANNOTATIONS}
    for f in _shown(gate):
        level = "error" if f.blocks else "warning"
        if f.waived or not left[level]:
            continue
        left[level] -= 1
        file, line = _standing(f, origin)
        title = _property_value(f"{f.rule}: {plain(f.title)}"[:LONGEST_TITLE])
        head = f"file={printable(_property_value(file))},line={line},title={title}"
        lines.append(f"::{level} {head}::{_message(_told(f))}")
    lines.append(f"::notice title=traindoctor gate::{_message(verdict(gate))}")
    return "\n".join(lines) + "\n"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property_value(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(gate: Gate, diagnosis: Diagnosis, origin: Origin) -> str:
    """Return a code-quality report of what fails or has to be reviewed."""
    del diagnosis
    rows = []
    for f in _shown(gate):
        if f.waived:
            continue
        file, line = _standing(f, origin)
        rows.append(
            {
                "description": _told(f),
                "check_name": f.rule,
                "fingerprint": f.fingerprint,
                "severity": _severity(f),
                "location": {"path": file, "lines": {"begin": line}},
            }
        )
    return json.dumps(rows, indent=2, sort_keys=True) + "\n"


def _severity(f: GateFinding) -> str:
    if f.outcome == "open" or f.known:
        return "minor"
    return "critical" if f.blocks else "major"


def summary(markdown_text: str, limit: int = 1024 * 1024 - 1024) -> str:
    """Return the markdown cut to what a GitHub job summary takes (1 MiB of UTF-8)."""
    raw = markdown_text.encode()
    if len(raw) <= limit:
        return markdown_text
    cut = raw[:limit].decode("utf-8", "ignore").rsplit("\n", 1)[0]
    return cut + "\n\n*Cut here: the full report is the job's artefact.*\n"


def relative(path: str, root: str) -> str | None:
    """Return a path as seen from the checked-out directory, with `/`; None where it lies outside."""
    there = posixpath.relpath(path.replace("\\", "/"), root.replace("\\", "/"))
    return None if there.startswith("..") else there


def first_files(paths: Sequence[str]) -> str:
    """Return the first of some paths that lies inside the checked-out directory; the README else."""
    return next((p for p in paths if p and not p.startswith(("..", "/"))), "README.md")
