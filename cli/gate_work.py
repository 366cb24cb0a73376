"""`diagnose gate`: the checklist and the causes decide the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Target, colored, columns, say, write_file
from .present import deliver
from .stop import GATE_FAILED, INCONCLUSIVE, OK, usage
from .work import Request, examine

if TYPE_CHECKING:
    from ..engine.model import Gate
    from ..reports.ci_formats import Origin
    from .work import Work

FORMATS = ("terminal", "markdown", "json", "junit", "sarif", "github", "gitlab")
SUFFIXES = {".xml": "junit", ".sarif": "sarif"}


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user demands, and what is forgiven."""

    profile: str = "default"
    waivers: Path | None = None
    baseline: Path | None = None
    write_baseline: Path | None = None
    allow_unchecked: bool = False
    now: str | None = None


def decide(request: Request, policy: Policy) -> tuple[Work, Gate]:
    """Diagnose and decide. Raises `Stop`; policy files are read before the run is."""
    from ..engine import gate
    from ..engine.policy import PolicyError, baseline, profile, waivers
    from .work import load

    today = _today(policy.now)
    try:
        wanted = profile(policy.profile, load(request.rule_packs))
        forgiven = waivers(policy.waivers, today) if policy.waivers else ()
        known = baseline(policy.baseline) if policy.baseline else None
    except PolicyError as error:
        raise usage(str(error)) from error
    work = examine(request)
    decided = gate.decide(
        work.rules,
        work.diagnosis,
        wanted,
        today=today,
        waivers=forgiven,
        baseline=known,
        allow_unchecked=policy.allow_unchecked,
    )
    return work, decided


def _today(now: str | None) -> date:
    """--now, SOURCE_DATE_EPOCH, or the day of the clock."""
    if now is not None:
        try:
            return date.fromisoformat(now)
        except ValueError as error:
            raise usage(f"--now {now}: say a day as YYYY-MM-DD") from error
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isdigit():
        return datetime.fromtimestamp(int(epoch), tz=timezone.utc).date()
    return datetime.now(tz=timezone.utc).date()


def tell(
    work: Work,
    gate: Gate,
    policy: Policy,
    wanted: Sequence[Target],
    *,
    verbose: bool,
    quiet: bool,
    no_color: bool,
) -> int:
    """Write the decision in every format that was asked for; return the exit code."""
    from ..engine.policy import baseline_text
    from ..reports.model import Document

    origin = _origin(work, policy)
    done = [
        (target, Document(_rendered(work, gate, policy, origin, target, verbose, no_color)))
        for target in wanted
    ]
    if policy.write_baseline is not None:
        failures = [
            (f.fingerprint, f.rule, f.title)
            for f in gate.findings
            if f.outcome == "fail" and f.level == "error" and not f.waived
        ]
        write_file(policy.write_baseline, baseline_text(failures))
        if not quiet:
            say(f"wrote {policy.write_baseline} ({len(failures)} known failures)")
    deliver(done, quiet)
    if any(target.format == "github" for target in wanted):
        _job_summary(work, gate)
    for warning in () if quiet else gate.warnings:
        say(warning)
    return {"passed": OK, "failed": GATE_FAILED, "inconclusive": INCONCLUSIVE}[gate.decision]


def _rendered(
    work: Work, gate: Gate, policy: Policy, origin: Origin, target: Target, verbose: bool, no_color: bool
) -> str:
    from ..reports import ci_formats, gate_report

    diagnosis = work.diagnosis
    if target.format == "markdown":
        return gate_report.render_markdown(gate, diagnosis)
    if target.format == "json":
        return gate_report.render_json(gate, diagnosis)
    if target.format == "junit":
        return ci_formats.junit(gate, diagnosis)
    if target.format == "sarif":
        return ci_formats.sarif(gate, diagnosis, origin, baseline=policy.baseline is not None)
    if target.format == "github":
        return ci_formats.github(gate, diagnosis, origin)
    if target.format == "gitlab":
        return ci_formats.gitlab(gate, diagnosis, origin)
    screen = target.path is None
    return gate_report.render_text(
        gate,
        diagnosis,
        width=columns(sys.stdout) if screen else 80,
        color=screen and colored(sys.stdout, no_color),
        verbose=verbose,
    )


def _origin(work: Work, policy: Policy) -> Origin:
    """Paths as the CI system names them: below the directory that it checked out."""
    from .. import __version__
    from ..reports.ci_formats import Origin, first_files, relative

    root = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or str(Path.cwd())

    def seen(path: str | Path | None) -> str | None:
        return None if path is None else relative(str(Path(path).resolve()), str(Path(root).resolve()))

    benchmark = work.diagnosis.benchmark
    run = Path(work.diagnosis.run.path)
    own = Path(policy.profile) if policy.profile.endswith((".yaml", ".yml")) else None
    fallback = first_files([seen(own) or "", seen(policy.waivers) or ""])
    return Origin(
        seen(run.parent if run.is_file() else run),
        seen(benchmark.path) if benchmark is not None else None,
        fallback,
        __version__,
    )


def _job_summary(work: Work, gate: Gate) -> None:
    """Append to the summary of a GitHub job, where there is one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    from ..reports import ci_formats, gate_report

    text = ci_formats.summary(gate_report.render_markdown(gate, work.diagnosis, limit=900_000))
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        say(f"{path}: the job summary cannot be written ({error.strerror})")
