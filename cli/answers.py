"""What the user knows: answers on the command line, in a file, and in the run's own answers.yaml.

A user's answer stands: it fills what no probe could read, and where it contradicts a reading both are told.
The run's own `answers.yaml` came with the run and may be older than its logs: it only fills what is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .stop import usage

if TYPE_CHECKING:
    from ..engine.model import Evidence, Reading, RuleBase, State

NAME = "answers.yaml"
MAX_GIVEN = 1024 * 1024  # bytes of a file that the user names
MAX_OWN = 64 * 1024  # bytes of the file in the run directory, which a stranger wrote
WORDS = {
    "present": "present",
    "yes": "present",
    "true": "present",
    "absent": "absent",
    "no": "absent",
    "false": "absent",
    "unknown": "unknown",
}


class Refused(Exception):
    """An answer or a file of answers that cannot be used; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The states that were answered, and whether they stand against a reading."""

    states: Mapping[str, State]
    by: str = "by the user"
    firm: bool = True


def given(rules: RuleBase, said: Sequence[str], file: Path | None) -> Answered:
    """Return what --answers and --answer say; the command line wins. Raises `Stop` (exit code 2)."""
    try:
        found = _of_file(rules, file, str(file), MAX_GIVEN) if file is not None else {}
        for text in said:
            symptom, _, word = text.partition("=")
            if word.strip().lower() not in WORDS:
                raise Refused(f"--answer {text}: say SYMPTOM=present, SYMPTOM=absent or SYMPTOM=unknown")
            found[symptom.strip()] = _state(rules, symptom.strip(), word)
    except Refused as refused:
        raise usage(str(refused)) from refused
    return Answered(found)


def own(rules: RuleBase, run: Path) -> tuple[Answered, str]:
    """Return what the run's own answers.yaml says; and why it is not used ("" when it is, or is not there).

    Only a regular file directly in the run directory counts, never a link.
    """
    path = run / NAME
    nothing = Answered({}, f"in {NAME}", firm=False)
    if path.is_symlink():
        return nothing, f"{NAME} in the run directory is a link and is not used"
    if not path.is_file():
        return nothing, ""
    try:
        return replace(nothing, states=_of_file(rules, path, NAME, MAX_OWN)), ""
    except Refused as refused:
        return nothing, f"{NAME} in the run directory is not used: {refused}"


def _of_file(rules: RuleBase, path: Path, name: str, limit: int) -> dict[str, State]:
    """Read `symptom: state` lines. Raises `Refused` with the first thing that is wrong, and its line."""
    import yaml

    from ..engine.document import DocumentError, parse

    try:
        document = parse(name, _read(path, name, limit))
    except OSError as error:
        raise Refused(f"{name}: {error.strerror or 'cannot be read'}") from error
    except (DocumentError, yaml.YAMLError, RecursionError) as error:
        raise Refused(str(error).splitlines()[0].replace(" in rule files", " here")) from error
    if not isinstance(document.data, dict):
        raise Refused(f"{name}: answers are written as `symptom: present`, one to a line")
    found = {}
    for symptom, word in document.data.items():
        if str(word).lower() not in WORDS:
            where = document.at(symptom)
            raise Refused(f"{where}: the answer to {symptom} must be present, absent or unknown")
        found[symptom] = _state(rules, symptom, str(word), f"{document.at(symptom)}: ")
    return found


def _read(path: Path, name: str, limit: int) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise Refused(f"{name}: larger than {limit // 1024} KiB, which no list of answers is")
    return raw


def _state(rules: RuleBase, symptom: str, word: str, where: str = "") -> State:
    from ..engine.model import State

    if symptom not in rules.symptoms:
        known = suggest(symptom, rules.symptoms)
        raise Refused(f"{where}{symptom}: the rules have no such symptom{known}")
    return State(WORDS[word.strip().lower()])


def suggest(word: str, known: Mapping[str, object]) -> str:
    """Return "; did you mean ...?" where something is spelt alike."""
    from difflib import get_close_matches

    close = get_close_matches(word, sorted(known), 3, 0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""


# --------------------------------------------------------------------------------------------- evidence


def answer(evidence: Evidence, answered: Answered) -> tuple[Evidence, tuple[str, ...]]:
    """Return the readings with the answers in them, and a sentence for each that contradicts a reading."""
    changed, contradictions = dict(evidence), []
    for symptom, state in answered.states.items():
        before = evidence[symptom]
        if _contradicts(before, state, answered.firm):
            wins = "taking yours" if answered.firm else "the reading stays"
            who = "you say" if answered.firm else f"{NAME} says"
            read = f"the run was read as {before.state} ({before.why})"
            contradictions.append(f"{symptom}: {who} {state}, {read}; {wins}")
        changed[symptom] = _answered(before, state, answered)
    return changed, tuple(contradictions)


def _contradicts(before: Reading, state: State, firm: bool) -> bool:
    """Whether an answer and a measurement differ; a stored "unknown" is only older than the measurement."""
    if before.answered or before.state == "unknown" or (state == "unknown" and not firm):
        return False
    return before.state is not state


def _answered(before: Reading, state: State, answered: Answered) -> Reading:
    if before.answered or before.state == "unknown":
        word = "left open" if state == "unknown" else "answered"
        return type(before)(before.symptom, state, f"{word} {answered.by}", answered=True)
    if before.state is state:
        return replace(before, why=f"{before.why}; confirmed {answered.by}")
    if not answered.firm:
        said = "" if state == "unknown" else f"; answered otherwise ({state}) {answered.by}"
        return replace(before, why=before.why + said)
    why = f"answered {answered.by}; the run was read as {before.state} ({before.why})"
    return type(before)(before.symptom, state, why, answered=True)
