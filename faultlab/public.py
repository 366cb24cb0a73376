"""False alarms of `diagnose script` over training scripts that others have published and that run well.

Usage: python faultlab/public.py [--folder DIR] [--only TEXT] [--part NAME]
           [--rest [N]] [--notebooks] [--offline] [--jobs N] [--findings] [--table FILE.md]

The source distributions of public_sources.yaml are downloaded once into --folder (by `unearth`, which runs
nothing of them: pip install unearth) and unpacked, and every script in them that trains is judged, or with
--notebooks every notebook. No line of
theirs is executed and none belongs in this repository; CI does not run this. What has been read and is a
fault in truth is listed in public_sources.yaml, so that what is left over is a false alarm.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

from traindoctor.cli.script_work import report  # noqa: E402
from traindoctor.engine.load import load_rules  # noqa: E402
from traindoctor.engine.model import RuleBase  # noqa: E402
from traindoctor.probes import readers  # noqa: E402
from traindoctor.probes.files import RunUnreadable  # noqa: E402
from traindoctor.probes.readers import notebook  # noqa: E402
from traindoctor.probes.readers.script import frameworks, parse  # noqa: E402
from traindoctor.probes.scripts import files as script_files  # noqa: E402
from traindoctor.probes.scripts import syntax  # noqa: E402
from traindoctor.probes.scripts.syntax import Script  # noqa: E402

SOURCES = HERE / "public_sources.yaml"
LISTED = "scripts.json"  # in the folder of downloads
MAX_SIZE = 512 * 1024  # of a file, as the command has it
MOST = 25  # scripts of one package, evenly chosen: recipes of one author are much alike
REST = 12  # of one package, of those left out
NOTEBOOKS = 6  # of one package: tutorials of one author are much alike
# lists of public_sources.yaml
PARTS = (
    "packages",
    "later",
    "latest",
    "last",
    "fresh",
    "newest",
    "wide",
    "far",
    "farther",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twentyfirst",
    "twentysecond",
    "started",
)
FEW = {
    "ninth": 4,
    "tenth": 4,
    "eleventh": 4,
    "twelfth": 4,
    "thirteenth": 8,
    "fourteenth": 6,
    "fifteenth": 6,
    "sixteenth": 6,
    "seventeenth": 6,
    "eighteenth": 6,
    "nineteenth": 6,
    "twentieth": 6,
    "twentyfirst": 6,
    "twentysecond": 6,
    "started": 8,
}  # scripts of one package where a part takes fewer, for many authors with a few each
ALARM = 0.5  # probability from which a cause is claimed
_TRAINS = re.compile(
    r"backward\(|\.fit\(|Trainer|train_step|training_step|GradientTape|value_and_grad|import.*train"
)
_NO_SCRIPT = re.compile(
    r"(?:^|/)(?:tests?|testing|docs?|benchmarks?|build)/|(?:^|/)(?:test_|conftest)|_test\.py$"
)


@dataclass(frozen=True)
class Judged:
    """What was said of one script. `label` names package and path."""

    label: str
    findings: tuple[tuple[str, str, str], ...]  # (symptom, file:line, why)
    remarks: tuple[str, ...]  # symptoms
    claimed: tuple[tuple[str, float], ...]  # causes at ALARM and above
    seconds: float
    refused: str = ""


@lru_cache(maxsize=1)
def rules() -> RuleBase:
    """The rules, loaded once in each process."""
    return load_rules()


def sources() -> dict[str, Any]:
    """What public_sources.yaml says."""
    found: dict[str, Any] = yaml.safe_load(SOURCES.read_text(encoding="utf-8"))
    return found


def fetch(package: str, folder: Path) -> Path:
    """Download and unpack one pinned package, unless it is there; return its folder. Raises OSError."""
    target = folder / "src" / package.replace("==", "-")
    if not target.is_dir():
        _unpack(_archive(package, folder), target)
    return target


def _archive(package: str, folder: Path) -> Path:
    """The distribution of one pinned package, downloaded unless it is there. Raises OSError."""
    name = package.partition("==")[0]
    parcel = folder / "download" / name
    parcel.mkdir(parents=True, exist_ok=True)
    for kind in (["--no-binary"], []):
        if not any(parcel.iterdir()):
            command = [sys.executable, "-m", "unearth", *kind, "-d", str(parcel), package]
            subprocess.run(command, capture_output=True, check=False)
    archives = sorted(p for p in parcel.iterdir() if p.suffix in (".gz", ".zip", ".whl"))
    if not archives:
        raise OSError(f"{package}: cannot be downloaded")
    return archives[0]


def _unpack(archive: Path, target: Path, ending: str = ".py") -> None:
    """Only files with this ending, and none that would land outside."""
    if archive.suffix == ".gz":
        with tarfile.open(archive) as tar:
            members = [m for m in tar.getmembers() if m.isfile() and m.name.endswith(ending)]
            _write(((m.name, tar.extractfile(m)) for m in members), target)
    else:
        with zipfile.ZipFile(archive) as parcel:
            names = [n for n in parcel.namelist() if n.endswith(ending)]
            _write(((n, parcel.open(n)) for n in names), target)


def _write(files: Iterable[tuple[str, Any]], target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    root = target.resolve()
    for name, handle in files:
        path = (target / name).resolve()
        if handle is not None and root in path.parents:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(handle.read())


def training_scripts(folder: Path) -> Iterator[Path]:
    """The files of a package that train: scripts that somebody would start, and modules that hold a loop."""
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).as_posix()
        inside = inside.partition("/")[2] or inside
        if _NO_SCRIPT.search(inside) or not path.is_file() or path.stat().st_size > MAX_SIZE:
            continue
        try:
            text = path.read_text(encoding="utf-8")
            if _TRAINS.search(text) and _is_training(inside, text):
                yield path
        except ValueError:
            continue


def scripts(folder: Path, parts: Sequence[str] = PARTS, rest: int = 0, offline: bool = False) -> list[Path]:
    """At most MOST (or FEW) scripts of each package that these lists name; what is missing is downloaded.

    With `rest` at most REST (or FEW) of those that this choice leaves out, which nobody has looked at; with 2
    of those that this second choice leaves out, and so on. With `offline` what is missing is left out.
    What trains in a package is told once and kept beside the downloads, until the code that tells it changes.
    """
    wanted = sources()
    store = folder / LISTED
    listed = _listed(store)
    known = len(listed)
    chosen: list[Path] = []
    for part, package in [(name, p) for name in parts for p in wanted[name]]:
        if offline and not (folder / "src" / package.replace("==", "-")).is_dir():
            continue
        try:
            home = fetch(package, folder)
        except OSError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if package not in listed:
            listed[package] = [p.relative_to(home).as_posix() for p in training_scripts(home)]
        found = listed[package]
        few = FEW.get(part, MOST)
        chosen += [home / name for name in _choice(found, few, min(few, REST), rest)]
    if len(listed) > known:
        store.write_text(json.dumps({"told_by": _telling(), "packages": listed}), encoding="utf-8")
    return chosen


def _choice(found: Sequence[str], most: int, further: int, rest: int) -> list[str]:
    """At most `most` of these; with `rest` at most `further` of what so many choices before it leave out."""
    names = _evenly(found, most)
    taken = set(names)
    for _ in range(rest):
        names = _evenly([n for n in found if n not in taken], further)
        taken.update(names)
    return names


def notebooks(folder: Path, parts: Sequence[str] = PARTS, rest: int = 0, offline: bool = False) -> list[Path]:
    """At most NOTEBOOKS of each package of these lists: those that train, in `folder`/notebooks."""
    wanted = sources()
    chosen: list[Path] = []
    for package in [p for part in parts for p in wanted[part]]:
        home = folder / "notebooks" / package.replace("==", "-")
        if offline and not (home.is_dir() or (folder / "download" / package.partition("==")[0]).is_dir()):
            continue
        try:
            if not home.is_dir():
                _unpack(_archive(package, folder), home, notebook.SUFFIX)
        except OSError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        found = [p.as_posix() for p in sorted(home.rglob("*" + notebook.SUFFIX)) if _teaches(p)]
        chosen += map(Path, _choice(found, NOTEBOOKS, NOTEBOOKS, rest))
    return chosen


def _teaches(path: Path) -> bool:
    """Whether a notebook trains."""
    try:
        code, _ = notebook.python_of(path.read_bytes())
        return bool(_TRAINS.search(code)) and Script(path.name, code, parse(code)).trains
    except ValueError:
        return False


def _evenly(names: Sequence[str], most: int) -> list[str]:
    """At most this many, in their order, spread over all."""
    return list(names[:: max(1, -(-len(names) // most))])


def _listed(store: Path) -> dict[str, list[str]]:
    """The training scripts of each package that were told before by the same code."""
    try:
        kept = json.loads(store.read_text(encoding="utf-8"))
        return dict(kept["packages"]) if kept["told_by"] == _telling() else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _telling() -> str:
    """What stands for the code that tells which file trains."""
    files = [__file__, *(str(m.__file__) for m in (syntax, readers.script, readers._tree))]
    return hashlib.sha256(b"".join(Path(f).read_bytes() for f in files)).hexdigest()


def _is_training(path: str, text: str) -> bool:
    """Whether a file trains by itself, or is started and hands over to what trains. Raises ValueError."""
    tree = parse(text)
    if not frameworks(tree):
        return False
    script = Script(path, text, tree)
    if script.trains_by_hand or _writes_its_step(script):
        return True
    started = any(isinstance(n, ast.If) and "__main__" in ast.unparse(n.test) for n in tree.body)
    top = [n for n in tree.body if isinstance(n, (ast.For, ast.With, ast.Expr))]
    called = any(re.search(r"\.(?:fit|train)\(", ast.unparse(n)) for n in top)
    return (started or called) and (
        script.trains or bool(re.search(r"(?:^|/)(?:train|main|run)\w*\.py$", path))
    )


def _writes_its_step(script: Script) -> bool:
    """Whether a training step of TensorFlow, MindSpore or Lightning is written out."""
    taped = bool(script.named("GradientTape")) and bool(script.named("apply_gradients"))
    traced = "mindspore" in script.frameworks and bool(script.named("value_and_grad", "TrainOneStepCell"))
    methods = [{f.name for f in c.body if isinstance(f, ast.FunctionDef)} for c in script.classes.values()]
    return taped or traced or any({"training_step", "configure_optimizers"} <= m for m in methods)


def judge(path: Path, root: Path) -> Judged:
    """Run the script command on one script."""
    label = path.relative_to(root).as_posix()
    begin = time.perf_counter()
    try:
        found = report(rules(), script_files.read(path), label)
    except RunUnreadable as error:
        return Judged(label, (), (), (), time.perf_counter() - begin, str(error).partition(": ")[2])
    told = [
        (f.symptom, f"{p.file}:{p.line}", f.why) for f in found.faults for p in f.where[:1] or [None] if p
    ]
    told += [(f.symptom, "", f.why) for f in found.faults if not f.where]
    return Judged(
        label,
        tuple(told),
        tuple(f.symptom for f in found.remarks),
        tuple((c, round(p, 2)) for c, _, p in found.ranking if p >= ALARM),
        time.perf_counter() - begin,
    )


def known(judged: Judged, symptom: str, faults: Sequence[dict[str, str]]) -> bool:
    """Whether a finding has been read and is true."""
    return any(f["symptom"] == symptom and judged.label.endswith(f["script"]) for f in faults)


def lines(judged: Sequence[Judged], faults: Sequence[dict[str, str]], findings: bool) -> Iterator[str]:
    """The report: each finding if asked for, then totals."""
    if findings:
        for one in judged:
            for symptom, place, why in one.findings:
                mark = "true " if known(one, symptom, faults) else "ALARM"
                yield f"{mark} {one.label}\n      {symptom} [{place}] {why[:220]}"
            if one.claimed and not one.findings:
                yield f"claim {one.label}\n      {one.claimed}"
    read = [j for j in judged if not j.refused]
    alarms = [(j, s) for j in read for s, _, _ in j.findings if not known(j, s, faults)]
    true = sum(len(j.findings) for j in read) - len(alarms)
    claims = sum(bool(j.claimed) for j in read)
    times = sorted(j.seconds for j in read) or [0.0]
    yield f"{len(read)} scripts read, {len(judged) - len(read)} refused"
    yield f"{len(alarms)} false alarms in {len({j.label for j, _ in alarms})} scripts, {true} true findings"
    yield f"{len(alarms) / max(1, len(read)):.3f} false alarms for each script"
    yield f"{claims} scripts of which a cause is claimed at {ALARM}"
    yield f"{sum(len(j.remarks) for j in read)} remarks"
    yield f"seconds for each: median {times[len(times) // 2]:.2f}, most {times[-1]:.1f}"
    for symptom, n in Counter(s for _, s in alarms).most_common():
        yield f"  {n:4d}  {symptom}"


def table(judged: Sequence[Judged], faults: Sequence[dict[str, str]]) -> str:
    """A markdown table: package, scripts, findings that are true, false alarms."""
    rows: dict[str, list[int]] = {}
    for one in judged:
        row = rows.setdefault(one.label.partition("/")[0], [0, 0, 0])
        row[0] += not one.refused
        for symptom, _, _ in one.findings:
            row[1 if known(one, symptom, faults) else 2] += 1
    out = ["| package | scripts | true findings | false alarms |", "| --- | ---: | ---: | ---: |"]
    out += [f"| {name} | {n} | {true} | {false} |" for name, (n, true, false) in sorted(rows.items())]
    total = [sum(r[i] for r in rows.values()) for i in range(3)]
    out.append(f"| **all** | {total[0]} | {total[1]} | {total[2]} |")
    return "\n".join(out) + "\n"


def main() -> int:
    """Download what is missing, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=HERE / "public", help="where downloads are kept")
    parser.add_argument("--only", default="", help="only scripts whose label holds this")
    parser.add_argument("--part", choices=PARTS, help="one list of public_sources.yaml alone")
    parser.add_argument(
        "--rest", nargs="?", type=int, const=1, default=0, help="scripts that the even choice leaves out"
    )
    parser.add_argument("--notebooks", action="store_true", help="notebooks instead of scripts")
    parser.add_argument("--offline", action="store_true", help="leave out what is not downloaded yet")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--findings", action="store_true", help="print every finding")
    parser.add_argument("--table", type=Path, help="write the table of docs/scripts.md")
    parser.add_argument("--log", type=Path, help="append each result as a JSON line")
    given = parser.parse_args()
    wanted = sources()
    root = given.folder / ("notebooks" if given.notebooks else "src")
    parts = [part for part in PARTS if given.part in (None, part)]
    if given.notebooks:
        found = notebooks(given.folder, parts, given.rest, given.offline)
    else:
        found = scripts(given.folder, parts, given.rest, given.offline)
    chosen = [s for s in found if given.only in s.as_posix()]
    with ProcessPoolExecutor(given.jobs) as pool:
        judged = []
        for one in pool.map(partial(judge, root=root), chosen):
            judged.append(one)
            if given.log:
                with given.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(asdict(one)) + "\n")
    faults = wanted.get("faults") or []
    print("\n".join(lines(judged, faults, given.findings)))
    if given.table:
        given.table.write_text(table(judged, faults), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
