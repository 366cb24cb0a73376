"""Which files of a directory belong to one run: homes, ranks, checkpoints.

A file's *home* is its directory with neutral parts taken off its end (`logs/`, `tensorboard/`, `train/`,
`checkpoint-500/`, `rank_0/`, ...). Files with one home are one run; several homes are several runs.
"""

from __future__ import annotations

import re

_NEUTRAL = re.compile(
    r"^(?:logs?|tb|tb_logs|tensorboard(?:_logs?)?|tfevents|events?|summar(?:y|ies)|summary_dir|vis_data|outputs?|"
    r"results?|metrics|plots|dvclive|train(?:ing)?(?:_logs?)?|learn|val(?:id(?:ation)?)?|eval(?:uation)?|test|dev|fit|heldout|held[-_]out|holdout|hold[-_]out|csv(?:_logs?)?|"
    r"lightning_logs|\.?hydra|files|config|configs|ckpts?|checkpoints?|msrun_log|log_dir|logging|"
    r"monitor(?:_outputs?)?|checkpoint-\d+|global_step\d+|\d{10}\.\d+|[a-z_]*loss_[a-z_]*(?:train|val\w*))$",
    re.IGNORECASE,
)
_RANK_DIR = re.compile(r"^(?:rank|worker|proc|process|device|node|train_parallel)[_-]?(\d+)$", re.IGNORECASE)
_RANK_FILE = re.compile(
    r"(?:^|(?<=[._-]))(?:rank|worker|globalrank|proc|process|node)[._-]?(\d+)(?=[._-]|$)", re.IGNORECASE
)
_WANDB_RUN = re.compile(r"^(?:offline-)?run-\d{8}_\d{6}-\w+$")
_MLFLOW_RUN = re.compile(r"^[0-9a-f]{32}$")
_MLFLOW_PARTS = frozenset({"metrics", "params", "tags", "artifacts"})
_MONITOR_RUN = re.compile(r"^[A-Z][a-z]{2}\d{1,2}_\d{2}-\d{2}-\d{2}-(?:rank(\d{1,9})-)?\w+$")  # of msprobe
_HF_RUNS = re.compile(r"^[A-Z][a-z]{2}\d{1,2}_\d{2}-\d{2}-\d{2}_.+$")


def home(path: str) -> str:
    """Return the home of a file: "exp/logs/train/events..." -> "exp"."""
    parts = path.split("/")[:-1]
    if tracked := _tracked(parts):
        return "/".join(parts[:tracked])
    for k in range(len(parts) - 1):  # DVCLive keeps one file per metric below plots/metrics/<group>/
        if parts[k : k + 2] == ["plots", "metrics"]:
            parts = parts[:k]
            break
    while parts and (_is_neutral(parts[-1]) or _is_hf_runs(parts)):
        if _is_hf_runs(parts):
            parts.pop()
        parts.pop()
    return "/".join(parts)


def _is_neutral(part: str) -> bool:
    return any(kind.match(part) for kind in (_NEUTRAL, _RANK_DIR, _MONITOR_RUN))


def _tracked(parts: list[str]) -> int:
    """How many folders lead to the run that a tracker keeps: `wandb/run-...`, `mlruns/<experiment>/<run>`."""
    for k, part in enumerate(parts):
        if _WANDB_RUN.match(part):
            return k + 1
        if part == "mlruns" and len(parts) > k + 2:
            return k + 3
        if _MLFLOW_RUN.match(part) and k + 1 < len(parts) and parts[k + 1] in _MLFLOW_PARTS:
            return k + 1
    return 0


def _is_wandb(unit: str) -> bool:
    return bool(_WANDB_RUN.match(unit.rpartition("/")[2]))


def _is_hf_runs(parts: list[str]) -> bool:
    return len(parts) >= 2 and parts[-2] == "runs" and bool(_HF_RUNS.match(parts[-1]))


def rank(path: str) -> int | None:
    """Return the rank that a path names: "log/rank_3/info.log" -> 3, "log.txt.rank1" -> 1."""
    *folders, name = path.split("/")
    for part in reversed(folders):
        match = _RANK_DIR.match(part) or _MONITOR_RUN.match(part)
        if match and match.group(1):
            return int(match.group(1))
    found = _RANK_FILE.findall(name)  # "worker-0-proc-3": the process on that node
    return int(found[-1]) if found else None


def belongs(path: str, unit: str, units: list[str]) -> bool:
    """Say whether a file without metrics (a configuration) belongs to the run whose home is `unit`."""
    folder = path.rpartition("/")[0]
    if _is_wandb(home(path)) and not _is_wandb(unit):
        tracked = [u for u in units if _is_wandb(u) and (not unit or u.startswith(unit + "/"))]
        if tracked:  # a log beside one W&B run is about the same run; beside several it is anybody's guess
            return tracked == [home(path)]
    if folder == unit or unit.startswith(folder + "/") or folder == "":
        return True
    if unit and not folder.startswith(unit + "/"):
        return False
    nearest = max(
        (u for u in units if folder == u or folder.startswith(u + "/") or not u), key=len, default=unit
    )
    return nearest == unit


_VERSION = re.compile(r"^version_\d+$")  # of a Lightning logger, below whatever name it was given
_PAIR = ("metrics.csv", "hparams.yaml")  # of one logger of Lightning's
_STAMPED = re.compile(r"^\d{8}_\d{6}$")
TRACKERS = frozenset(
    {"wandb", "mlruns", "lightning_logs", "runs", "tb_logs", "csv_logs", "tensorboard", "logs"}
)


def by_lightning(paths: list[str], root: str) -> str | None:
    """Return a file that shows by its place that Lightning's loggers wrote it; `root` is the run's folder."""
    named = [p for p in paths if p.rpartition("/")[2] in _PAIR]
    for path in named:
        folder = f"{root}/{path}".split("/")[-2]
        if _VERSION.match(folder) or {f"{path.rpartition('/')[0]}/{n}".lstrip("/") for n in _PAIR} <= set(
            named
        ):
            return path
    return None


def merged(units: list[str]) -> dict[str, str]:
    """Which homes are one run: a tracker's only run below a home that has curves of its own belongs to it.

    `train.log` beside `lightning_logs/version_0/metrics.csv` or `wandb/run-.../` is one run seen twice;
    beside two versions it is anybody's guess which one it logs.
    """
    found = {unit: unit for unit in units}
    for parent in units:
        below = [u for u in units if u != parent and (not parent or u.startswith(parent + "/"))]
        kept = [u for u in below if _by_tracker(u[len(parent) :].strip("/").split("/"))]
        if len(below) == len(kept) == 1:
            found[kept[0]] = parent
    return found


def _by_tracker(parts: list[str]) -> bool:
    """`lightning_logs/version_0`, `wandb/run-x`, mmengine's `20240501_100000`: not made by a person."""
    below = len(parts) >= 2 and any(p in TRACKERS for p in parts[:-1])
    return below or bool(_STAMPED.match(parts[0]) or _VERSION.match(parts[-1]))


def numberless(path: str) -> str:
    """A path with "#" for each number: what the parts of one run have in common."""
    return re.sub(r"\d+", "#", path)


def natural(text: str) -> list[tuple[int, int | str]]:
    """Sort key under which version_10 comes after version_9."""
    return [(0, int(p)) if p.isdigit() else (1, p) for p in re.split(r"(\d+)", text)]
