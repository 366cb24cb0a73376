"""Runs that lie beside one another and say by their names what they are to each other.

Ports leave both sides in one folder: `npu/` beside `gpu/`, `npu.log` beside `gpu.log`, `910b/` beside
`baseline/`. The one that ran on the new device is looked at, the others are what it is held against. In the
same way a run without operator fusion lies beside the one with it (`fusion_on/`, `fusion_off/`).

The word nearest to the file counts. Of two folders side by side whose names do not tell (`v1/`, `v2/`), what
their files say of the device does. Nothing is split where a curve of neither side lies there, or where the
two sides have no quantity in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..run import FileContent
from . import layout, names
from .contents import Read

Role = Literal["run", "benchmark"]
MOST_SIDES = 6  # benchmarks that are opened
_DEVICE_KEYS = frozenset(
    {"device", "device_target", "device_type", "device_name", "accelerator", "backend", "dist_backend"}
)
_RUN = re.compile(
    r"^(?:npus?|cann|(?:npu|ascend)?(?:910(?:[a-d]?\d?|pro[ab]?)|310p?\d?)|ascend|d910|atlas)\d*$"
)
_BENCHMARK = re.compile(
    r"^(?:(?:gpus?|nvidia|cuda)?(?:[avhp][1-9]00s?|[ah]800|h20|l40s?|t4|rtx[2-5]0[6-9]0|[34]090(?:ti)?)"
    r"|gpus?|nvidia|cuda|[dh]gx|sxm|ref|reference|bench|benchmark|baseline|golden)\d*$"
)
_FUSED = r"fus(?:ion|ed)|graph[-_]?kernel|gk|flash[-_]?att(?:ention|n)"
_UNFUSED = re.compile(
    rf"(?:^|[_\W])(?:no|un|non|without|wo)[-_]?(?:{_FUSED})(?![a-z])"
    rf"|(?:^|[_\W])(?:\w+[-_])?(?:{_FUSED})[-_]?(?:off|disabled|false)(?![a-z])|小算子"
)


@dataclass(frozen=True, slots=True)
class Sides:
    """Which files are not the run's; the runs beside it by name, each with the files not theirs."""

    foreign: frozenset[str]
    others: tuple[tuple[str, frozenset[str]], ...]
    fusion: bool = False  # the only other run is the one without operator fusion


def of(path: str) -> Role | None:
    """What a path says of the file: of the run, of a benchmark, or nothing."""
    for part in reversed(path.lower().split("/")):
        for word in reversed(re.split(r"[^a-z0-9]+", part)):
            if _RUN.match(word):
                return "run"
            if _BENCHMARK.match(word):
                return "benchmark"
    return None


def unfused(path: str) -> bool:
    """Whether a path says that operator fusion was off."""
    return _UNFUSED.search(path.lower()) is not None


def sides(reads: Sequence[Read], paths: Iterable[str]) -> Sides | None:
    """Tell the run from its benchmarks, or from the run without fusion; None where names do not tell.

    `paths`: every file of the directory.
    """
    curves = [r for r in reads if _curves(r.content)]
    if len(curves) < 2:
        return None
    every = frozenset(paths)
    roles = [of(r.path) for r in curves]
    told = _by_devices(reads, curves) if set(roles) != {"run", "benchmark"} else None
    if told is not None and _common(*(([r for r in curves if layout.home(r.path) == h]) for h in told)):
        foreign = frozenset(p for p in every if p.startswith(f"{told[1]}/"))
        ours = frozenset(p for p in every if p.startswith(f"{told[0]}/"))
        return Sides(foreign, ((told[1], ours),))
    if set(roles) == {"run", "benchmark"}:
        mine = [r for r, role in zip(curves, roles, strict=True) if role == "run"]
        theirs = _groups([r for r, role in zip(curves, roles, strict=True) if role == "benchmark"])
        if len(theirs) <= MOST_SIDES and all(_common(mine, found) for found in theirs.values()):
            ours = frozenset(p for p in every if of(p) == "run")
            foreign = frozenset(p for p in every if of(p) == "benchmark")
            rest = {name: foreign - _near(name, found, foreign) for name, found in theirs.items()}
            if len(theirs) == 1:  # `conf_gpu.yaml` at the top is of the only benchmark
                rest = dict.fromkeys(theirs, frozenset())
            return Sides(foreign, tuple((name, ours | rest[name]) for name in theirs))
    curves = [r for r in curves if _goes_over(r.content)]
    off = [r for r in curves if unfused(r.path)]
    on = [r for r in curves if not unfused(r.path)]
    if len(_groups(off)) == len(_groups(on)) == 1 and _common(on, off):
        foreign = frozenset(p for p in every if unfused(p))
        home = layout.home(on[0].path)
        ours = frozenset(p for p in every - foreign if home and p.startswith(f"{home}/"))
        return Sides(
            foreign, ((next(iter(_groups(off))), ours or frozenset(r.path for r in on)),), fusion=True
        )
    return None


def _by_devices(reads: Sequence[Read], curves: Sequence[Read]) -> tuple[str, str] | None:
    """The folder of the NPU's run and that of the GPU's, where two lie side by side and files tell."""
    homes = sorted({layout.home(r.path) for r in curves})
    if len(homes) != 2 or not all(homes) or len({h.rpartition("/")[0] for h in homes}) != 1:
        return None
    files = [{r.path.rpartition("/")[2] for r in reads if r.path.startswith(f"{h}/")} for h in homes]
    if files[0].isdisjoint(files[1]):
        return None  # two programs
    on = {h: _device_of(r.content for r in reads if r.path.startswith(f"{h}/")) or of(h) for h in homes}
    if set(on.values()) != {"run", "benchmark"}:
        return None
    mine, theirs = sorted(homes, key=lambda h: on[h] != "run")
    return mine, theirs


def _device_of(contents: Iterable[FileContent]) -> Role | None:
    """Whose device the files of a folder name; scripts keep "cuda" after a port: the NPU counts first."""
    said = set()
    for content in contents:
        for setting in content.settings:
            if re.match(r"(?:HCCL|ASCEND)_", setting.key):
                said.add("run")
            elif re.match(r"(?:NCCL|CUDA)_", setting.key):
                said.add("benchmark")
            elif setting.key.rpartition(".")[2].lower() in _DEVICE_KEYS:
                said.add(_named(str(setting.value)))
        said.add(_named(str(content.facts.get("device", ""))))
    return "run" if "run" in said else "benchmark" if "benchmark" in said else None


def _named(device: str) -> str:
    low = device.lower()
    if re.search(r"npu|ascend|hccl|(?<!\d)910[a-d]?", low):
        return "run"
    return "benchmark" if re.search(r"cuda|gpu|nvidia|geforce|nccl", low) or of(low) == "benchmark" else ""


def _groups(reads: Sequence[Read]) -> dict[str, list[Read]]:
    """Reads by run: those of one home; where the files themselves tell the sides, each file."""
    found: dict[str, list[Read]] = {}
    for read in reads:
        home = layout.home(read.path)
        told = home and (of(home) is not None or unfused(home) or not unfused(read.path))
        found.setdefault(home if told else read.path, []).append(read)
    return {name: found[name] for name in sorted(found, key=layout.natural)}


def _near(name: str, found: Sequence[Read], foreign: frozenset[str]) -> frozenset[str]:
    """Files of one benchmark: its curves, and what lies in its folder."""
    return frozenset(r.path for r in found) | frozenset(p for p in foreign if p.startswith(f"{name}/"))


def _common(mine: Sequence[Read], theirs: Sequence[Read]) -> bool:
    """Whether both log a loss or a metric of one name."""
    a, b = ({n for r in side for n in _curves(r.content)} for side in (mine, theirs))
    return any(n.startswith(("train/", "eval/")) for n in a & b)


def _goes_over(content: FileContent) -> bool:
    """Whether it holds a curve: a note beside the logs may tell a single figure."""
    return any(len(s) > 1 for s in content.series)


def _curves(content: FileContent) -> set[str]:
    return {n for s in content.series if len(s) and (n := names.canonical(s.raw, s.split))}
