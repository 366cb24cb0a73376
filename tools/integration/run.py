"""Train something tiny with real frameworks, and diagnose what they left: `make integration`.

Each framework has a virtual environment of its own, kept between runs (`--environments`, by default
`.venv-integration` in the project's root). It trains the cases of task.py with one script of trainers/; what
it leaves, with its captured output as `console.log`, is a run directory like any user's, outside of the
project (DVCLive writes into a Git repository around it). A case passes when the curves that were logged are
found, all their points are read, a healthy run names no cause, and a broken one names the right one first.
Frameworks that cannot be installed here are listed and do not count.

    python tools/integration/run.py                     # all
    python tools/integration/run.py --only keras --keep # one; its run directories stay
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Diagnosis
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunUnreadable
from traindoctor.probes.readings import readings
from traindoctor.probes.run import Run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXPECTED = {"healthy": "", "rate": "hyperparameter.learning-rate-too-large", "missing": "data.missing-values"}
NAMED = 0.5  # a cause is the answer from here on
LEAST = 0.2  # for a cause that is first where no log can tell more: a lone NaN, a stop after six steps
TRAIN_POINTS, EPOCHS = 148, 12  # 744 steps, one value each five; an evaluation after each epoch
LONGEST = 600  # seconds for one training
TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Framework:
    """What to install, which script trains, and the least number of points of each curve that it leaves."""

    name: str
    script: str
    packages: tuple[str, ...]
    curves: dict[str, int]
    settings: tuple[str, ...] = ("learning_rate",)
    variables: tuple[tuple[str, str], ...] = ()
    untold: tuple[
        str, ...
    ] = ()  # cases that its files cannot tell from others: among the first three is enough


ALL = {"train/loss": TRAIN_POINTS, "grad_norm": TRAIN_POINTS, "learning_rate": TRAIN_POINTS} | {
    "eval/loss": EPOCHS,
    "eval/accuracy": EPOCHS,
}
BY_EPOCH = dict.fromkeys(
    ("train/loss", "train/accuracy", "eval/loss", "eval/accuracy", "learning_rate"), EPOCHS
)
FRAMEWORKS = (
    Framework(
        "huggingface",
        "huggingface.py",
        (TORCH, "transformers==5.23.0", "accelerate", "tensorboard"),
        {**ALL, "train/loss": 150},
    ),
    Framework(
        "lightning",
        "lightning_logs.py",
        (TORCH, "lightning==2.6.6", "tensorboard"),
        {"train/loss": 140, "learning_rate": 140, "eval/loss": EPOCHS, "eval/accuracy": EPOCHS},
    ),
    Framework(
        "keras-jax", "keras_fit.py", ("keras==3.15.1", "jax==0.10.2"), BY_EPOCH, (), untold=("missing",)
    ),
    Framework(
        "keras-tensorflow",
        "keras_fit.py",
        ("tensorflow-cpu==2.21.0", "tensorboard"),
        BY_EPOCH,
        (),
        (("KERAS_BACKEND", "tensorflow"),),
        ("missing",),  # means of epochs, the first already NaN, and no optimizer
    ),
    Framework(
        "mindspore",
        "mindspore_model.py",
        ("mindspore==2.10.0", "numpy<2"),
        {"train/loss": 140, "eval/loss": EPOCHS, "eval/accuracy": EPOCHS},
        (),
        untold=("rate",),  # it stops at the first NaN, here after six steps
    ),
    Framework(
        "mmengine",
        "mmengine_runner.py",
        (TORCH, "mmengine==0.10.7", "numpy"),
        {"train/loss": 140, "grad_norm": 140, "learning_rate": 140, "eval/accuracy": EPOCHS},
    ),
    Framework("wandb", "wandb_offline.py", ("wandb==0.31.0", "numpy"), ALL),
    Framework("mlflow-files", "mlflow_files.py", ("mlflow==3.17.2", "numpy"), ALL),
    Framework("mlflow-sqlite", "mlflow_sqlite.py", ("mlflow==3.17.2", "numpy"), ALL),
    Framework("tensorboard", "tensorboard_torch.py", (TORCH, "tensorboard", "numpy"), ALL),
    Framework("dvclive", "dvclive_files.py", ("dvclive==3.49.1", "numpy"), ALL),
    Framework("sacred", "sacred_files.py", ("sacred==0.8.7", "setuptools<81", "numpy"), ALL),
)


def main() -> int:
    """Return 0 when every case of every framework that can be installed passes."""
    parser = argparse.ArgumentParser(description="Diagnose what real frameworks leave behind.")
    parser.add_argument("--only", metavar="TEXT", default="", help="frameworks whose name holds TEXT")
    parser.add_argument("--case", choices=sorted(EXPECTED), help="one case instead of all")
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-integration")
    parser.add_argument("--runs", type=Path, default=Path(gettempdir()) / "traindoctor-integration")
    parser.add_argument("--keep", action="store_true", help="keep the run directories that pass")
    parser.add_argument("--reuse", action="store_true", help="diagnose kept runs again, without training")
    chosen = parser.parse_args()
    cases = (chosen.case,) if chosen.case else tuple(EXPECTED)
    failed = left_out = 0
    for framework in FRAMEWORKS:
        if chosen.only not in framework.name:
            continue
        python = None if chosen.reuse else environment(chosen.environments, framework)
        if python is None and not chosen.reuse:
            print(f"{framework.name:17} not installable here: left out", flush=True)
            left_out += 1
            continue
        for case in cases:
            failed += not tried(framework, case, python, chosen.runs / framework.name / case, chosen.keep)
    print(f"{failed} failed, {left_out} frameworks left out")
    return 1 if failed else 0


def tried(framework: Framework, case: str, python: Path | None, out: Path, keep: bool) -> bool:
    """Train and diagnose one case; print one line, and one for each thing that is wrong."""
    started = time.monotonic()
    ended = train(framework, case, python, out) if python is not None else None
    trained = time.monotonic()
    if ended and case == "healthy":
        wrong = [f"training: {ended}"]
    else:  # a framework may well stop at a loss that is no number
        whole = ended is None and (python is not None or case == "healthy")
        wrong = list(problems(framework, case, out, whole=whole))
    took = f"trained in {trained - started:.0f} s, read in {time.monotonic() - trained:.1f} s"
    print(f"{framework.name:17} {case:8} {'FAILED' if wrong else 'passed'}  ({took})", flush=True)
    for line in wrong:
        print(f"    {line}", flush=True)
    if not wrong and not keep and python is not None:
        shutil.rmtree(out)
    return not wrong


def environment(home: Path, framework: Framework) -> Path | None:
    """Return the Python of the framework's environment, made where it is not there; None if that fails."""
    folder = home / "-".join(part.replace("=", "").replace("<", "") for part in framework.packages)
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *framework.packages]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1:], file=sys.stderr)
        return None
    (folder / "ready").touch()
    return python


def train(framework: Framework, case: str, python: Path, out: Path) -> str | None:
    """Train one case into `out`; return how it ended, if with an error."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    variables = {
        "PYTHONPATH": str(HERE),
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    with (out / "console.log").open("wb") as console:
        try:
            done = subprocess.run(
                [python, HERE / "trainers" / framework.script, case, out.resolve()],
                check=False,
                cwd=out,
                env=os.environ | variables | dict(framework.variables),
                stdout=console,
                stderr=subprocess.STDOUT,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            return f"not done after {LONGEST} s"
    printed = (out / "console.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"exit code {done.returncode}: {printed[-1] if printed else ''}" if done.returncode else None


def problems(framework: Framework, case: str, out: Path, *, whole: bool) -> Iterator[str]:
    """Say what the diagnosis of a run directory lacks or gets wrong."""
    try:
        run = open_run(out)
    except RunUnreadable as error:
        yield f"not read: {error}"
        return
    yield from unread(framework, run, whole)
    found = answer(run)
    for name, why in found.not_evaluated:
        if "error" in why:
            yield f"{name}: {why}"
    named = [h for h in found.hypotheses if h.probability >= NAMED]
    if case == "healthy":
        yield from (f"a false alarm: {h.cause} {h.probability:.2f}" for h in named)
    else:
        yield from missed(framework, case, found)


def missed(framework: Framework, case: str, found: Diagnosis) -> Iterator[str]:
    """Say that the cause is not named, or only faintly."""
    expected = EXPECTED[case]
    first = found.hypotheses[: 3 if case in framework.untold else 1]
    least = LEAST if case == "missing" else NAMED
    if expected not in [h.cause for h in first]:
        leading = ", ".join(f"{h.cause} {h.probability:.2f}" for h in found.hypotheses[:3])
        yield f"the cause is not first: {leading or 'nothing is'}"
    elif case not in framework.untold and first[0].probability < least:
        yield f"the cause is first, with {first[0].probability:.2f} only"


def unread(framework: Framework, run: Run, whole: bool) -> Iterator[str]:
    """Say which curves and settings are not there, or have too few points, and which reader stumbled."""
    for file, why in run.info.not_read:
        if "error" in why or "damaged" in why:
            yield f"{file}: {why}"
    for name, count in framework.curves.items() if whole else ():
        series = run.series.get(name)
        if series is None:
            yield f"no curve {name}"
        elif len(series) < count:
            yield f"{name} has {len(series)} points of {count} ({series.file}, {series.raw})"
    for key in framework.settings:
        if key not in run.settings:
            yield f"no setting {key}"


def answer(run: Run) -> Diagnosis:
    """Diagnose as the command line does, without a benchmark."""
    rules = load_rules()
    evidence = readings(run, None, rules.symptoms.values())
    return diagnose(rules, evidence, run=run.info, context=run.info.context)


if __name__ == "__main__":
    sys.exit(main())
