"""Train the cases that are missing or changed, check that each shows its fault, and write cases.yaml.

Usage: python faultlab/make.py [--force] [--only TEXT] [--jobs N]      Needs requirements.txt.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

from catalog import ARCHETYPES, CASES
from check import Summary, shows, summarise
from conventions import LOGS
from generate import Also, Case, render
from programs import SAFE

HERE = Path(__file__).resolve().parent
RUNS = HERE / "runs"
LABELS = HERE / "cases.yaml"
BY_NAME = {case.name: case for case in CASES}
LIMIT = 240.0  # seconds for one training
INSTALLING = Lock()
PATHS = {sys.prefix: "/opt/venv", sys.base_prefix: "/usr"}


def train(case: Case, folder: Path) -> float:
    """Run the case's script in an empty folder and keep what it left. Returns the seconds it took."""
    archetype = ARCHETYPES[case.archetype]
    log = LOGS[archetype.styles[case.style][0]]
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "run"
        work.mkdir()
        for name, text in render(case, archetype).items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text, encoding="utf-8")
        environment = _environment(case, Path(scratch))
        start = time.monotonic()
        printed = ""
        for arguments in case.commands:
            done = subprocess.run(
                [sys.executable, *archetype.launch, *arguments.split()],
                cwd=work,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
                env=environment,
            )
            printed += done.stdout + done.stderr
        took = time.monotonic() - start
        if log.stdout:
            (work / log.stdout).write_text(printed, encoding="utf-8")
        elif done.returncode:
            (work / "error.txt").write_text(done.stderr, encoding="utf-8")
        if case.commands != ("",):
            command = " ".join(("python", *archetype.launch))
            lines = "".join(f"{command} {arguments}".rstrip() + "\n" for arguments in case.commands)
            (work / "history.sh").write_text(lines, encoding="utf-8")
        if case.freeze:
            (work / "requirements.txt").write_text(_versions(environment), encoding="utf-8")
        assert not changed(case, work), "the script rewrote itself"
        tidy(work, scratch)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(work, folder)
    return took


def _environment(case: Case, scratch: Path) -> dict[str, str]:
    """The variables of the training's process: its packages, and what acts on it from outside."""
    path = []
    if case.preload:
        (scratch / "site").mkdir()
        shutil.copy(HERE / "preload" / f"{case.preload}.py", scratch / "site" / "sitecustomize.py")
        path.append(str(scratch / "site"))
    for packages, options in ((case.packages, ("--no-deps",)), (case.requires, ())):
        if packages:
            path.append(str(_installed(packages, options)))
    return {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "MASTER_PORT": str(29600 + int(hashlib.sha256(case.name.encode()).hexdigest(), 16) % 300),
        "PYTHONPATH": os.pathsep.join([*path, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }


def _installed(packages: tuple[str, ...], options: tuple[str, ...]) -> Path:
    """The folder that holds the packages, made by the first case that asks for it."""
    folder = Path(tempfile.gettempdir()) / "faultlab-packages" / "-".join(packages)
    with INSTALLING:
        if not folder.is_dir():
            install = [sys.executable, "-m", "pip", "install", "-q", *options, "--target"]
            subprocess.run([*install, str(folder), *packages], check=True)
    return folder


def _versions(environment: dict[str, str]) -> str:
    """What pip freeze says of the packages that the training used."""
    listing = (
        "import importlib.metadata as m; "
        "print({d.metadata['Name']: d.version for d in reversed(list(m.distributions()))})"
    )
    done = subprocess.run(
        [sys.executable, "-c", listing], env=environment, capture_output=True, text=True, check=True
    )
    found = ast.literal_eval(done.stdout)
    return "".join(f"{k}=={v.split('+')[0]}\n" for k, v in sorted(found.items(), key=lambda x: x[0].lower()))


def tidy(work: Path, scratch: str) -> None:
    """Take this machine's names and paths out, and drop what users do not keep (caches, big files)."""
    for path in sorted(work.rglob("*"), reverse=True):  # children before their folders
        if path.is_dir():
            if path.name == "__pycache__" or not any(path.iterdir()):
                shutil.rmtree(path)
        elif ".tfevents." in path.name:
            number = sorted(p.name for p in path.parent.iterdir()).index(path.name)
            path.rename(path.with_name(f"events.out.tfevents.17000000{number:02d}.host.1.0"))
        elif path.suffix in (".pyc", ".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".npy", ".npz"):
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


def _also(also: Also) -> dict[str, Any]:
    return {k: v for k, v in asdict(also).items() if v is not None}


def label(case: Case, measured: Summary, twin: Summary | None) -> dict[str, Any]:
    """What cases.yaml says of a run."""
    archetype = ARCHETYPES[case.archetype]
    log, config = archetype.styles[case.style]
    row: dict[str, Any] = {
        "cause": case.cause or "healthy",
        "archetype": case.archetype,
        "half": archetype.half,
        "log": log,
        "config": config,
        "fault": case.fault,
    }
    row |= {"strength": case.strength} if case.strength else {}
    row |= {"accept": [_also(a) for a in case.accept]} if case.accept else {}
    row |= {"benchmark": case.benchmark} if case.benchmark else {}
    row |= {"repeats": list(case.repeats)} if case.repeats else {}
    row |= {"alone": False} if not case.alone else {}
    row |= {"quiet": True} if case.cause and (case.quiet or measured.quiet) else {}
    row["measured"] = measured.text()
    if twin is not None:
        row["healthy_twin"] = twin.text()
    return row


def _made(case: Case) -> str:
    try:
        seconds = train(case, RUNS / case.name)
    except subprocess.TimeoutExpired:
        return f"{case.name} {case.fault}: took longer than {LIMIT:.0f} s"
    print(f"{case.name} {case.fault} {case.strength}: {seconds:.0f} s", flush=True)
    return ""


def main() -> None:
    """Make what is missing; report cases that do not show their fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--force", action="store_true")
    help_only = (
        "cases whose archetype, fault or name holds this text; labels and runs of others stay as they are"
    )
    parser.add_argument("--only", default="", help=help_only)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    names = [c.name for c in CASES]
    assert len(set(names)) == len(names), "two cases with one name"
    labels: dict[str, Any] = {}
    dropped: list[str] = []
    summaries: dict[str, Summary] = {}
    chosen = [case for case in CASES if options.only in f"{case.archetype} {case.fault} {case.name}"]
    wanted = [case for case in chosen if options.force or changed(case, RUNS / case.name)]
    with ThreadPoolExecutor(options.jobs) as pool:
        dropped += [problem for problem in pool.map(_made, wanted) if problem]
    twins = {case.benchmark for case in chosen} | {name for case in chosen for name in case.repeats}
    for case in (c for c in CASES if c in chosen or c.name in twins):
        folder = RUNS / case.name
        if folder.is_dir():
            summaries[case.name] = summarise(folder, LOGS[ARCHETYPES[case.archetype].styles[case.style][0]])
    stored = yaml.load(LABELS.read_text(encoding="utf-8"), SAFE) if options.only else {}
    for case in CASES:
        if case not in chosen:
            labels |= {case.name: stored[case.name]} if case.name in stored else {}
        elif case.name in summaries:
            twin = summaries.get(case.benchmark or "")
            problem = shows(case, summaries[case.name], twin)
            if case.repeats:
                ends = [summaries[n].val_loss for n in (str(case.benchmark), *case.repeats)]
                problem = problem or (
                    None if max(ends) > 1.1 * min(ends) else f"the benchmark repeats: {ends}"
                )
            if case.check in ("departs", "not-repeated"):
                assert case.set["seed"] == BY_NAME[str(case.benchmark)].set["seed"], "needs the twin's seed"
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
    for folder in sorted(RUNS.iterdir()) if not options.only else ():
        if folder.name not in names:
            shutil.rmtree(folder)
    print(f"{len(labels)} cases, {len(dropped)} do not show their fault:")
    print("\n".join(dropped))


if __name__ == "__main__":
    main()
