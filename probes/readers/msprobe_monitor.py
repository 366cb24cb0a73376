"""What msprobe's monitor keeps of gradients: CSV files per kind of tensor and range of steps, for each rank.

`<time>-rank<r>-<id>/grad_reduced_<a>-<b>.csv` with a row per parameter and step: `vpp_stage,name,step` and
any of `min,max,mean,norm,nans,zeros,shape,dtype`. Most files hold one step, so those of a folder are read
together (`read_folder`). That `norm` is the L2 norm is held against the extremes and the shape beside it:
it lies between the largest element and the square root of the count times that.

The second version writes `rank_<r>/<monitor>_step<a>-<b>.csv` with the same figures, and what a row is of in
a column: `vpp_stage,step,module_name,scope[,micro_step]`. `KINDS` are its scopes in the words of the first.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..assembly import layout
from ..files import RunFile
from ..run import RANK_PART, FileContent, Series
from . import Gives
from ._values import number

FORMAT = "msprobe-monitor"
GIVES = Gives(
    title="msprobe monitor",
    files="`grad_reduced_*.csv`, `actv_*.csv`, `param_*.csv`, `exp_avg*.csv` below `<time>-rank<r>-<id>/`;"
    " `weight_grad_step*.csv` and its like below `rank_<r>/`",
    lacks="The loss; whether a gradient was taken before or after clipping and unscaling. Gradients become"
    " curves; activations, weights and moments are looked at as a dump is.",
    scalars="some",
    steps="some",
    environment="some",
    ranks="some",
)
MAX_ROWS = 2_000_000
MAX_CSV = 256 * 1024**2
LONG_LINE = 4096
GRADIENTS = "grad_reduced"
SECOND = "vpp_stage,step,module_name,scope"  # how a file of the second version begins
KINDS = {
    "unreduced": "grad_unreduced",
    "reduced": GRADIENTS,
    "forward": "actv",
    "backward": "actv_grad",
    "param_origin": "param_origin",
    "param_updated": "param_updated",
    "exp_avg": "exp_avg",
    "exp_avg_sq": "exp_avg_sq",
}
_SECOND_NAME = re.compile(r"^(\w+)_step\d+-\d+\.csv$")
_SECOND_GRADIENTS = "weight_grad"
_NAME = re.compile(
    r"^(actv|actv_grad|grad_unreduced|grad_reduced|param_origin|param_updated|exp_avg|exp_avg_sq)_\d+-\d+\.csv$"
)
_SLACK = 0.01  # relative, of figures rounded to some digits
_DIGITS = 1e-5  # absolute: the least number of digits that the monitor is set to in practice is 6
_HOLDS = 0.9  # share of the rows in which the column has to be an L2 norm


@dataclass(slots=True)
class _Parameter:
    """The norms of one parameter's gradient by step, and how many elements it has."""

    elements: int | None = None
    norms: dict[float, float] = field(default_factory=dict)
    rounded: set[float] = field(default_factory=set)  # steps where a zero is no more than a small number


@dataclass(slots=True)
class _Gradients:
    """What the files of one folder say."""

    parameters: dict[tuple[str, str], _Parameter] = field(default_factory=dict)
    rows: int = 0
    tested: int = 0
    failed: int = 0
    torch: bool = False

    def add(self, text: str) -> None:
        rows = _rows(text)
        header = [cell.strip() for cell in next(rows, [])]
        at = {name: i for i, name in enumerate(header)}
        scope = at.get("scope")
        if scope is not None and "module_name" in at:
            at["name"] = at["module_name"]
        if not {"name", "step", "norm"} <= at.keys():
            return
        for row in rows:
            if self.rows >= MAX_ROWS:
                return
            if scope is not None and (len(row) <= scope or KINDS.get(row[scope].strip()) != GRADIENTS):
                continue
            self.rows += 1
            if len(row) == len(header):
                self._row(row, at)

    def _row(self, row: Sequence[str], at: dict[str, int]) -> None:
        step, norm, name = number(row[at["step"]]), number(row[at["norm"]]), row[at["name"]].strip()
        if step is None or not math.isfinite(step) or norm is None or not name:
            return
        shape = row[at["shape"]].strip() if "shape" in at else None
        if shape is not None and shape[:1] not in ("[", "("):
            return  # a placeholder: there was no tensor
        key = (row[at["vpp_stage"]].strip() if "vpp_stage" in at else "", name[:300])
        found = self.parameters.setdefault(key, _Parameter())
        if found.elements is None and shape is not None:
            found.elements = min(math.prod(map(int, re.findall(r"\d{1,12}", shape)[:16])), 10**18)
        found.norms[step] = norm
        zeros = number(row[at["zeros"]]) if "zeros" in at else None
        if norm == 0 and zeros is not None and zeros < 1:
            found.rounded.add(step)
        if "dtype" in at and row[at["dtype"]].startswith("torch."):
            self.torch = True
        if found.elements and "min" in at and "max" in at:
            self._test(norm, number(row[at["min"]]), number(row[at["max"]]), found.elements)

    def _test(self, norm: float, low: float | None, high: float | None, elements: int) -> None:
        """Whether this can be the L2 norm of so many elements between these."""
        if low is None or high is None or not all(map(math.isfinite, (norm, low, high))):
            return
        most = max(abs(low), abs(high))
        root = math.sqrt(elements)
        self.tested += 1
        least = most * (1 - _SLACK) - _DIGITS
        self.failed += not least <= norm <= root * (most * (1 + _SLACK) + _DIGITS)

    @property
    def euclidean(self) -> bool:
        return self.failed <= (1 - _HOLDS) * self.tested


def _rows(text: str) -> Iterator[list[str]]:
    """The rows; a line that is none costs itself."""
    for line in text.split("\n"):
        line = line.replace("\0", "").replace("\r", "") if "\0" in line or "\r" in line else line
        if not line or len(line) > LONG_LINE:
            continue
        if '"' not in line:
            yield line.split(",")
        else:
            yield next(csv.reader([line]), [])


def sniff(file: RunFile) -> bool:
    """Say whether this is a file of the monitor."""
    return is_second(file) or (
        _NAME.match(file.name) is not None and file.head_text.startswith("vpp_stage,name,step")
    )


def is_second(file: RunFile) -> bool:
    """Whether the second version of the monitor wrote a file. Raises OSError."""
    return _SECOND_NAME.match(file.name) is not None and file.head_text.startswith(SECOND)


def read(file: RunFile) -> FileContent:
    """Read one file alone. Raises OSError."""
    contents, lost = read_folder([file])
    if lost:
        raise OSError(lost[0][1])
    return contents[file.path]


def by_name(file: RunFile) -> bool:
    """Whether a file is called like one of the monitor's."""
    named = _NAME.match(file.name) or _SECOND_NAME.match(file.name)
    return named is not None and file.size <= MAX_CSV


def _of_gradients(file: RunFile) -> bool:
    return file.name.startswith((GRADIENTS, _SECOND_GRADIENTS))


def folders(files: Iterable[RunFile]) -> list[list[RunFile]]:
    """The files folder by folder, in order of their steps."""
    found: dict[str, list[RunFile]] = {}
    for file in files:
        found.setdefault(file.path.rpartition("/")[0], []).append(file)
    return [sorted(found[f], key=lambda f: layout.natural(f.path)) for f in sorted(found)]


def read_folder(
    files: Sequence[RunFile],
) -> tuple[dict[str, FileContent], list[tuple[str, str]]]:
    """Read one rank's files; the curves stand in the content of the first of gradients.

    Returns the contents by path, and which files could not be read, each with the reason.
    """
    contents = {file.path: FileContent(FORMAT) for file in files}
    lost: list[tuple[str, str]] = []
    gradients = _Gradients()
    for file in filter(_of_gradients, files):
        try:
            gradients.add(file.read_text())
        except OSError as error:
            lost.append((file.path, error.strerror or "cannot be read"))
            del contents[file.path]
    if not gradients.parameters:
        return contents, lost
    first = next(f.path for f in files if _of_gradients(f) and f.path in contents)
    notes: list[str] = []
    series: tuple[Series, ...] = ()
    if gradients.euclidean:
        # a curve runs through all the files: it is said to stand in their folder
        series = tuple(_series(gradients, first.rpartition("/")[0] or first, notes))
    else:
        notes.append(
            f"the column norm of {GRADIENTS} is no L2 norm of its rows: no gradient norm is made of it"
        )
    facts = {"framework": "pytorch"} if gradients.torch else {}
    contents[first] = FileContent(FORMAT, series, facts=facts, notes=tuple(notes))
    return contents, lost


def _series(gradients: _Gradients, file: str, notes: list[str]) -> Iterable[Series]:
    """The norm over all parameters, and that of each."""
    of = gradients.parameters
    staged = len({stage for stage, _ in of}) > 1
    steps = sorted({s for p in of.values() for s in p.norms})
    whole = [s for s in steps if all(s in p.norms for p in of.values())]
    told = [
        s
        for s in whole
        if any(p.norms[s] != 0 for p in of.values()) or not any(s in p.rounded for p in of.values())
    ]
    with np.errstate(all="ignore"):
        values = [float(np.sqrt(np.sum(np.square([p.norms[s] for p in of.values()])))) for s in told]
    notes.append(
        f"grad_norm is the root of the summed squares of the L2 norms of the {len(of)} parameters that"
        f" msprobe's monitor watched ({GRADIENTS}), per rank: where ranks share a model out, of the part that"
        " a rank holds; whether before or after clipping and unscaling is not told"
    )
    if len(whole) < len(steps):
        notes.append(
            f"{len(steps) - len(whole)} of {len(steps)} steps lack some parameters: no grad_norm there"
        )
    yield _one("grad_norm", told, values, file)
    for (stage, name), found in of.items():
        there = sorted(s for s in found.norms if s not in found.rounded)
        label = f"grad_norm/vpp{stage}.{name}" if staged else f"grad_norm/{name}"
        yield _one(label, there, [found.norms[s] for s in there], file)


def _one(raw: str, steps: Sequence[float], values: Sequence[float], file: str) -> Series:
    return Series(
        name=raw,
        raw=raw,
        file=file,
        steps=np.array(steps, dtype=np.float64),
        values=np.array(values, dtype=np.float64),
        unit="step",
        window="point",
        rank=layout.rank(file),
        group=RANK_PART,
    )
