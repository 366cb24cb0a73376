"""Train the cases that are missing or changed, check that each shows its fault, and write cases.yaml.

Usage: python faultlab/make.py [--force] [--only TEXT]      Needs requirements.txt.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

from catalog import ARCHETYPES, CASES
from check import Summary, shows, summarise
from conventions import LOGS
from generate import Case, render

HERE = Path(__file__).resolve().parent
RUNS = HERE / "runs"
LABELS = HERE / "cases.yaml"
LIMIT = 240.0  # seconds for one training
PATHS = {sys.prefix: "/opt/venv", sys.base_prefix: "/usr"}


def train(case: Case, folder: Path) -> float:
    """Run the case's script in an empty folder and keep what it left. Returns the seconds it took."""
    archetype = ARCHETYPES[case.archetype]
    log = LOGS[archetype.styles[case.style][0]]
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "run"
        work.mkdir()
        for name, text in render(case, archetype).items():
            (work / name).write_text(text, encoding="utf-8")
        script = (work / "train.py").read_text(encoding="utf-8")
        start = time.monotonic()
        printed = ""
        for arguments in case.commands:
            done = subprocess.run(
                [sys.executable, "train.py", *arguments.split()],
                cwd=work,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
            )
            printed += done.stdout + done.stderr
        took = time.monotonic() - start
        if log.stdout:
            (work / log.stdout).write_text(printed, encoding="utf-8")
        elif done.returncode:
            (work / "error.txt").write_text(done.stderr, encoding="utf-8")
        if case.commands != ("",):
            lines = "".join(f"python train.py {arguments}\n" for arguments in case.commands)
            (work / "history.sh").write_text(lines, encoding="utf-8")
        assert (work / "train.py").read_text(encoding="utf-8") == script
        tidy(work, scratch)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(work, folder)
    return took


def tidy(work: Path, scratch: str) -> None:
    """Take this machine's names and paths out, and drop what users do not keep (caches, big files)."""
    for path in sorted(work.rglob("*"), reverse=True):  # children before their folders
        if path.is_dir():
            if path.name == "__pycache__" or not any(path.iterdir()):
                shutil.rmtree(path)
        elif ".tfevents." in path.name:
            number = sorted(p.name for p in path.parent.iterdir()).index(path.name)
            path.rename(path.with_name(f"events.out.tfevents.17000000{number:02d}.host.1.0"))
        elif path.suffix in (".pt", ".pth", ".safetensors", ".bin", ".npy", ".npz"):
            path.unlink()
        else:
            text = path.read_text(encoding="utf-8")
            for place, neutral in {str(work): "/home/user/run", scratch: "/home/user", **PATHS}.items():
                text = text.replace(place, neutral)
            path.write_text(text, encoding="utf-8")


def changed(case: Case, folder: Path) -> bool:
    """Whether the stored run came from another script or other configuration files."""
    files = render(case, ARCHETYPES[case.archetype])
    return any(
        not (folder / n).is_file() or (folder / n).read_text(encoding="utf-8") != t for n, t in files.items()
    )


def label(case: Case, measured: Summary, twin: Summary | None) -> dict[str, Any]:
    """What cases.yaml says of a run."""
    archetype = ARCHETYPES[case.archetype]
    log, config = archetype.styles[case.style]
    row: dict[str, Any] = {
        "cause": case.cause or "healthy",
        "archetype": case.archetype,
        "half": case.half,
        "log": log,
        "config": config,
        "fault": case.fault,
    }
    row |= {"strength": case.strength} if case.strength else {}
    row |= {"accept": list(case.accept)} if case.accept else {}
    row |= {"accept_alone": list(case.accept_alone)} if case.accept_alone else {}
    row |= {"benchmark": case.benchmark} if case.benchmark else {}
    row |= {"alone": False} if not case.alone else {}
    row |= {"quiet": True} if case.cause and measured.quiet else {}
    row["measured"] = measured.text()
    if twin is not None:
        row["healthy_twin"] = twin.text()
    return row


def main() -> None:
    """Make what is missing; report cases that do not show their fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    names = [c.name for c in CASES]
    assert len(set(names)) == len(names), "two cases with one name"
    labels: dict[str, Any] = {}
    dropped: list[str] = []
    summaries: dict[str, Summary] = {}
    for case in CASES:
        folder = RUNS / case.name
        wanted = options.only in f"{case.archetype} {case.fault} {case.name}"
        if wanted and (options.force or changed(case, folder)):
            try:
                seconds = train(case, folder)
            except subprocess.TimeoutExpired:
                dropped.append(f"{case.name} {case.fault}: took longer than {LIMIT:.0f} s")
                continue
            print(f"{case.name} {case.fault} {case.strength}: {seconds:.0f} s", flush=True)
        if folder.is_dir():
            summaries[case.name] = summarise(folder, LOGS[ARCHETYPES[case.archetype].styles[case.style][0]])
    for case in CASES:
        if case.name in summaries:
            twin = summaries.get(case.benchmark or "")
            problem = shows(case, summaries[case.name], twin)
            if problem:
                dropped.append(
                    f"{case.name} {case.fault} {case.strength} ({case.archetype} {case.style}): {problem}"
                )
            else:
                labels[case.name] = label(case, summaries[case.name], twin)
    LABELS.write_text(
        "# Made by faultlab/make.py: what each run in runs/ is. Scored by faultlab/score.py.\n"
        + yaml.safe_dump(labels, sort_keys=False, width=200, allow_unicode=True),
        encoding="utf-8",
    )
    for folder in sorted(RUNS.iterdir()):
        if folder.name not in names:
            shutil.rmtree(folder)
    print(f"{len(labels)} cases, {len(dropped)} do not show their fault:")
    print("\n".join(dropped))


if __name__ == "__main__":
    main()
