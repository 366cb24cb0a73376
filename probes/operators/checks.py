"""What msprobe's tests of single operators say: acc_check (run_ut), two of them compared, free_benchmark.

`accuracy_checking_details_*.csv` has a row per output with its cosine against a CPU of high precision,
`accuracy_checking_result_*.csv` and `api_precision_compare_result_*.csv` a verdict per operator;
`free_benchmark.csv` names the operators alone that did not agree with themselves once their inputs were
changed a little, or not at all (`no_change`). Columns are found by name, in the words of every version.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...engine.model import Place, Subject
from ..files import RunFile
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..tensors.knowledge import knowledge
from ..tensors.names import CHECKED
from ..tensors.npy import Unreadable
from ..tensors.sheet import rows

_OUTPUT = re.compile(r"\.(?:forward|backward)\.(?:input|output)\.\d+$|\.(?:forward|backward)$")
_COSINE = ("余弦相似度", "Cosine", "cosine similarity")
_NOT_FINITE = ("inf/nan错误率", "inf/nan 错误率", "inf/nan error rate")


_NO_TEST = "no test of single operators (msprobe acc_check) lies in the run directory"


@dataclass(frozen=True, slots=True)
class Failed:
    """One operator that fails its test: how, and where it is told."""

    name: str
    words: str
    file: str
    value: float | None = None


@dataclass(slots=True)
class Checked:
    """What the tables say: how many operators they test, and which fail."""

    tested: int
    failed: list[Failed]


def _tables(run: Run) -> Iterator[tuple[RunFile, list[dict[str, str]]]]:
    for file in run.dump_files:
        if not CHECKED.match(file.name):
            continue
        try:
            table = rows(file)
            header = [cell.strip("\ufeff ") for cell in next(table, [])]
            yield file, [dict(zip(header, map(str.strip, cells), strict=False)) for cells in table]
        except (Unreadable, OSError):
            continue


@lru_cache(maxsize=2)
def checked(run: Run) -> Checked | None:
    """The tests of single operators, those that compare with another device first; None: there are none."""
    tables = [(f, r) for f, r in _tables(run) if f.name != "free_benchmark.csv"]
    if not tables:
        return None
    against = [t for t in tables if t[0].name.startswith("api_precision_compare")]
    details = [t for t in tables if t[0].name.startswith("accuracy_checking_details")]
    tested: set[str] = set()
    failed: dict[str, Failed] = {}
    for file, listed in against or details or tables:
        for row in listed:
            name = next((row[k] for k in row if k.lower() == "api name"), "")
            if not name:
                continue
            operator = _OUTPUT.sub("", name)
            tested.add(operator)
            found = _by_figures(row) if file in [f for f, _ in details] else _by_verdict(row)
            if found is not None and operator not in failed:
                failed[operator] = Failed(name, found[0], file.path, found[1])
    return Checked(len(tested), list(failed.values())) if tested else None


def _by_figures(row: dict[str, str]) -> tuple[str, float | None] | None:
    """What fails by the figures of one output: the guide's cosine, or what is not finite here alone.

    Of values near zero a cosine says little: the tool has standards of its own, and tells what passes.
    """
    if row.get("Status", "").lower() == "pass":
        return None
    cosine = next((c for k in _COSINE if (c := finite(row.get(k))) is not None), None)
    broken = next((c for k in _NOT_FINITE if (c := finite(row.get(k))) is not None), None)
    if cosine is not None and cosine < knowledge().tolerances.cosine:
        return f"cosine {cosine:.4g} against the CPU", cosine
    if broken:
        return f"a share of {broken:.2g} is not finite where the CPU's is, or the other way round", broken
    return None


def _by_verdict(row: dict[str, str]) -> tuple[str, float | None] | None:
    for side in ("Forward", "Backward"):
        if row.get(f"{side} Test Success", "").lower() == "error":
            return f"the {side.lower()} pass fails its test", None
    return None


def finite(text: str | None) -> float | None:
    """The number of a cell of a table; None where it holds none, or no finite one."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@probe()
def unit_test_fails(view: View) -> Finding:
    """A test of single operators finds one whose result is another than that of the CPU or GPU."""
    found = checked(view.run)
    if found is None:
        return unknown(_NO_TEST)
    if not found.failed:
        return absent(f"none of {found.tested} operators fails its test", value=0)
    if any(f.value is not None for f in found.failed):
        return unknown("figures tell how far it is off")
    return _failed(found)


@probe()
def unit_test_far(view: View) -> Finding:
    """The figures of a test of single operators lie beyond rounding: below the guide's cosine."""
    found = checked(view.run)
    if found is None:
        return unknown(_NO_TEST)
    far = Checked(found.tested, [f for f in found.failed if f.value is not None])
    if far.failed:
        return _failed(far)
    return unknown("no figures are recorded, or none is far off")


def _failed(found: Checked) -> Finding:
    first = found.failed[0]
    more = f", and {len(found.failed) - 1} more" if len(found.failed) > 1 else ""
    return present(
        f"{first.name} fails its test ({first.words}) among {found.tested} operators{more}",
        value=len(found.failed) if first.value is None else first.value,
        where=(Place(first.file),),
        subject=Subject(_OUTPUT.sub("", first.name)),
    )


@probe()
def not_itself(view: View) -> Finding:
    """free_benchmark ran operators twice on the same inputs (`no_change`): it lists those that differ."""
    said = ""
    for file, listed in _tables(view.run):
        if file.name != "free_benchmark.csv":
            continue
        for row in listed:
            mode = row.get("pert_mode") or row.get("pert_type") or ""
            if mode != "no_change":
                said = f"free_benchmark changed the inputs ({mode or 'how is not told'})"
                continue
            ratio = finite(row.get("max_rel"))
            name = row.get("api_name") or "an operator"
            if ratio is None or ratio != 1.0:
                times = f" (a ratio of {ratio:.6g})" if ratio is not None else ""
                return present(
                    f"{name} gives other values when it is run twice on the same inputs{times}",
                    value=ratio,
                    step=finite(row.get("step")),
                    where=(Place(file.path),),
                    subject=Subject(name, finite(row.get("step"))),
                )
    return unknown(said or "no free_benchmark.csv lies in the run directory")
