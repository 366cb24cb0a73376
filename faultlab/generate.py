"""A case -> the text of its script and the files beside it. What is written is exactly what runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conventions import CONFIGS, LOGS, Config, Fields, Log, yaml_value
from programs import PROGRAMS

REFERENCE = "reference"  # the "cause" of a run that is only part of a benchmark and is not scored itself
SCRIPTS = Path(__file__).resolve().parent / "scripts"
Edit = tuple[
    str, ...
]  # the text to replace (exactly once) -> its replacement; before them a file, if not the only one


@dataclass(frozen=True)
class Archetype:
    """A kind of training: its template, its settings, and the conventions that its runs use."""

    name: str
    settings: Mapping[str, Any]
    styles: Mapping[str, tuple[str, str]]  # style -> (log, config)
    half: str = "dev"
    launch: tuple[str, ...] = ("train.py",)  # what Python is started with


@dataclass(frozen=True)
class Also:
    """A cause that is right as well, and in which views (`benchmark`, `script`; None: with and without)."""

    cause: str
    because: str
    benchmark: bool | None = None
    script: bool | None = None


def literally(because: str, *causes: str, benchmark: bool | None = None) -> tuple[Also, ...]:
    """By their definitions these ids name the injected fault, too."""
    return tuple(Also(cause, because, benchmark) for cause in causes)


def unseen(
    because: str, *causes: str, benchmark: bool | None = None, script: bool | None = False
) -> tuple[Also, ...]:
    """No log can tell these from the injected fault; where the script lies beside it usually can."""
    return tuple(Also(cause, because, benchmark, script) for cause in causes)


@dataclass(frozen=True)
class Case:
    """One run to make. `cause` None: healthy. `edits` change the template, `set` the settings."""

    archetype: str
    style: str
    fault: str
    cause: str | None = None
    strength: str = ""
    set: Mapping[str, Any] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    accept: tuple[Also, ...] = ()
    check: str = "worse"
    grad_norm: bool = True
    benchmark: str | None = None  # name of a healthy case
    alone: bool = True  # its own files can show the fault
    quiet: bool = False  # nothing is wrong with the curves by themselves, whatever check.py's plain rule says
    commands: tuple[str, ...] = ("",)  # arguments of the script, one item per time that it was started
    repeats: tuple[str, ...] = ()  # further runs of the benchmark
    preload: str = ""  # a module of preload/ that acts on the training from outside of its script
    packages: tuple[str, ...] = ()  # installed for this run in place of the environment's
    requires: tuple[str, ...] = ()  # installed for this run with all that they need
    freeze: bool = False  # with the versions of the installed packages beside the logs

    @property
    def name(self) -> str:
        """A name that tells nothing: the archetype and four letters."""
        digest = hashlib.sha256(
            f"{self.archetype}/{self.style}/{self.fault}/{self.strength}".encode()
        ).hexdigest()
        return f"{self.archetype}-{digest[:5]}"


def render(case: Case, archetype: Archetype) -> dict[str, str]:
    """Return file name -> text: the script and its configuration files."""
    if (folder := _folder(archetype.name)).is_dir():
        return _project(case, archetype, folder)
    log_name, config_name = archetype.styles[case.style]
    log, config = LOGS[log_name], CONFIGS[config_name]
    settings = {**archetype.settings, **case.set}
    text = apply((SCRIPTS / f"{archetype.name}.tmpl").read_text(encoding="utf-8"), case.edits)
    named = {
        config.rename.get(k, k): v for k, v in settings.items() if f"{{{{{k}}}}}" in text or k == "log_every"
    }
    if "step %" not in "\n".join(log.step({"loss": "1"})):
        named.pop("log_every", None)
    text = _expand(text, log, config, named, case.grad_norm, settings.get("precision") == "fp16")
    text = re.sub(r"{{(\w+)}}", lambda m: _use(config, m.group(1)), text)
    files = config.files(named, f" > {log.stdout} 2>&1" if log.stdout else "")
    return {"train.py": text, **files}


def _folder(name: str) -> Path:
    """Where the files of a project stand."""
    program = PROGRAMS / name / "src"
    return program if program.is_dir() else SCRIPTS / name


def _project(case: Case, archetype: Archetype, folder: Path) -> dict[str, str]:
    """A project of several files: its own text in full, with the settings' values in it."""
    settings = {**archetype.settings, **case.set}
    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    for *where, old, new in case.edits:
        texts = {name: text for name, text in files.items() if where in ([], [name])}
        places = [name for name, text in texts.items() for _ in range(text.count(old))]
        if len(places) != 1:
            raise ValueError(f"{archetype.name}: {len(places)} places instead of one: {old!r}")
        files[places[0]] = files[places[0]].replace(old, new)
    for name, text in files.items():
        shown = yaml_value if name.endswith(".yaml") else str
        if settings:
            files[name] = re.sub(r"{{(\w+)}}", lambda m, shown=shown: shown(settings[m.group(1)]), text)
    return files


def apply(text: str, edits: tuple[Edit, ...]) -> str:
    """Replace each edit's text, which must stand there exactly once."""
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{text.count(old)} places instead of one: {old!r}")
        text = text.replace(old, new)
    return text


def _use(config: Config, name: str) -> str:
    key = config.rename.get(name, name)
    return config.use.format(key.upper() if config.use == "{}" else key)


def _expand(text: str, log: Log, config: Config, settings: dict[str, Any], norms: bool, scales: bool) -> str:
    has_open = "@@open" in text
    setup = [*config.lines(settings), *([] if has_open else log.open)]
    blocks = {
        "@@imports": sorted({*config.imports, *log.imports}),
        "@@settings": setup,
        "@@open": list(log.open),
        "@@close": [] if has_open else list(log.close),
    }
    columns: list[str] = ["step", "epoch"]
    lines: list[str] = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        stripped = line.strip()
        if stripped in blocks:
            deep = "    " if stripped == "@@open" else ""
            lines += [deep + x for x in blocks[stripped]]
        elif line.startswith("?g"):
            lines += [line[2:]] if norms else []
        elif stripped.startswith(("@step ", "@epoch ", "@eval ")):
            word, _, rest = stripped.partition(" ")
            fields = _fields(rest, norms, scales)
            rows = {"@step": log.step, "@epoch": log.epoch, "@eval": log.evaluation}[word]
            lines += [indent + x for x in rows(fields)]
            columns += [k for k in fields if k not in columns and (word != "@epoch" or k.startswith("val_"))]
        else:
            lines.append(line)
    return "\n".join(lines).replace("@@columns", json.dumps(columns)) + "\n"


def _fields(text: str, norms: bool, scales: bool) -> Fields:
    fields: Fields = {}
    for part in text.split(" | "):
        key, _, expression = part.strip().partition("=")
        if (key.startswith("?") and not norms) or (key.startswith("~") and not scales):
            continue
        fields[key.lstrip("?~")] = expression
    return fields
