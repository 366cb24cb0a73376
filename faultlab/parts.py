"""Long scores in parts: what was diagnosed is kept in a file; a score that is cut off loses nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

Job = TypeVar("Job")
Seen = TypeVar("Seen")
ROOT = Path(__file__).resolve().parents[1]
SOURCES = tuple(ROOT / name for name in ("engine", "probes", "rules", "faultlab"))


def fingerprint(names: Iterable[str], sources: Sequence[Path] = SOURCES) -> str:
    """A hash of what a score rests on: the probes, the rules, the fault lab, and what is diagnosed."""
    made = hashlib.sha256()
    for folder in sources:
        for file in sorted(f for f in folder.rglob("*") if f.suffix in (".py", ".yaml")):
            made.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    made.update("\n".join(names).encode())
    return made.hexdigest()


def each(
    look: Callable[[Job], Seen],
    jobs: Sequence[Job],
    workers: int,
    file: Path | None,
    name: Callable[[Job], str],
    pack: Callable[[Seen], dict[str, Any]],
    unpack: Callable[[Job, dict[str, Any]], Seen],
) -> list[Seen]:
    """`look` at all jobs, in `workers` processes, and give what it gave in their order.

    With a `file` each result is written there as soon as it is known, as one line of JSON (`pack`), and
    those that stand there already are not made again (`unpack`), provided that the probes, the rules, the
    fault lab and the jobs (by `name`) are the same as then; otherwise the file is begun anew.
    """
    if file is None:
        return list(_looked(look, jobs, workers))
    known = _kept(file, fingerprint(map(name, jobs)))
    seen = [unpack(job, row) for job, row in zip(jobs, known, strict=False)]
    rest = jobs[len(seen) :]
    with file.open("a", encoding="utf-8") as out:
        for result in _looked(look, rest, workers):
            out.write(json.dumps(pack(result)) + "\n")
            out.flush()
            seen.append(result)
    return seen


def _looked(look: Callable[[Job], Seen], jobs: Sequence[Job], workers: int) -> Iterator[Seen]:
    if workers == 1:
        yield from map(look, jobs)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(look, jobs, chunksize=4)


def _kept(file: Path, mark: str) -> list[dict[str, Any]]:
    """The results that a file keeps of the same score; of another one, or none, it is begun anew."""
    if file.is_file():
        head, *lines = file.read_text(encoding="utf-8").splitlines(keepends=True) or [""]
        if head.strip() == mark:
            whole = [line for line in lines if line.endswith("\n")]  # the last may have been cut off
            file.write_text(head + "".join(whole), encoding="utf-8")
            return [json.loads(line) for line in whole]
    file.write_text(f"{mark}\n", encoding="utf-8")
    return []
