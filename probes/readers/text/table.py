"""Tables that logs print: a line of column names, then lines of numbers under it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ...assembly import names
from . import keys
from .numbers import to_float

_PLACES = {
    "epoch": "epoch",
    "epochs": "epoch",
    "ep": "epoch",
    "step": "step",
    "steps": "step",
    "iter": "iteration",
    "iteration": "iteration",
    "it": "iteration",
    "global_step": "step",
    "update": "step",
    "updates": "step",
    "num_updates": "step",
    "iterations": "iteration",
    "iters": "iteration",
    "itr": "iteration",
}
_COUNTED = re.compile(r"^(?:total|global|train)(?:_train)?_(?:updates|steps)$")
_EVALUATED = re.compile(r"(?i)^(?:eval|val|valid|validation|test)[ _]?(?:time|duration|secs?|seconds)\b")
_RULE = re.compile(r"^[\s|+=:_*\u2500-\u257f-]*$")  # the block of box drawing
_BORDER = "|│┃║*"
_LINES = re.compile("[│┃║]")  # rich draws its header with other lines than its rows
MAX_COLUMNS = 64
_HINT = re.compile(
    r"loss|acc|mAP|gpu_mem|nll|xent|err|ppl|perplexity|rmse|mse|reward|(?<![a-z])(?:ce|bpc|wer|cer)(?![a-z])",
    re.IGNORECASE,
)
_DETECTION = re.compile(r"^\s*Class\s+Images\s+(?:Instances|Labels|Targets)\s+(\S.*mAP\S*)")


_YOLOV5 = ("epoch   gpu_mem       box       obj",)  # its later versions name the columns box_loss, ...


@dataclass(slots=True)
class Table:
    """The columns of a table: each one's name, its role ("" for no metric), and how cells are split."""

    names: list[str]
    roles: list[str]  # "epoch", "step", "iteration", "metric", ""
    separator: str  # "|", "," or "" for blanks
    skipped: int = 0
    side: str = ""  # the data set that the line above its header names
    wide: Table | None = None  # the same header read with names of several words

    @property
    def within(self) -> bool:
        """Whether it is the one row that an evaluation prints between two rows of another table."""
        return self.roles[0] == "all"

    def cells(self, line: str) -> list[str] | None:
        """Split a line into cells, or None when it is no row of this table."""
        found = _cells(line, self.separator)
        if self.separator == "" and len(found) > len(self.names):
            found = found[: len(self.names)] if _bar_follows(found, len(self.names)) else found
        if self.separator == "," and len(found) == 1:
            found = line.split()
        if self.wide is not None and len(found) == len(self.wide.names):
            self.names, self.roles, self.wide = self.wide.names, self.wide.roles, None
        if len(found) != len(self.names):
            return None
        for role, cell in zip(self.roles, found, strict=True):
            if role == "all" and cell != "all":
                return None
            if role in ("epoch", "step", "iteration") and _number(cell) is None:
                return None
        numbers = sum(_number(c) is not None for c in found)
        return found if numbers >= max(2, 0.6 * len(found)) else None

    def row(self, cells: list[str]) -> tuple[dict[str, float], dict[str, float]]:
        """Return (places, metrics) of a row."""
        places: dict[str, float] = {}
        metrics: dict[str, float] = {}
        side = self._side(cells)
        for name, role, cell in zip(self.names, self.roles, cells, strict=True):
            value = _number(cell.split("/")[0] if role in ("epoch", "step", "iteration") else cell)
            if value is None:
                continue
            if role == "all":
                continue
            if role == "metric":
                metrics[name if not side or names.tells_split(name) else f"{side} {name}"] = value
            elif role:
                places[role] = value
        return places, metrics

    def _side(self, cells: list[str]) -> str:
        """`! Validation  3  3.4 ...`: the data set that a cell of the row names, else its heading's."""
        for role, cell in zip(self.roles[:3], cells, strict=False):
            word = cell.lower()
            if not role and word in keys.SPLITS:
                return "train" if word in keys.TRAIN else "test" if word in keys.TEST else "eval"
        return self.side


def heading(text: str) -> str:
    """The data set that a line is the name of and nothing else: "validation", "valid:"; else empty."""
    words = re.findall(r"\w+", text.lower())
    if len(words) != 1 or words[0] not in keys.EVAL | keys.TEST:
        return ""
    return "test" if words[0] in keys.TEST else "eval"


def header(line: str) -> Table | None:
    """Read a line of column names; None when it is none."""
    if len(line) > 1000 or not _HINT.search(line):
        return None
    detection = _DETECTION.match(line)
    if detection:
        return _detection(detection.group(1))
    text = line.strip(" \t*#=")
    if text.lower().startswith(_YOLOV5):
        text = re.sub(r"\b(box|obj|cls)\b", r"\1_loss", text)
        return _make(_cells(text, ""), "")
    for separator in ("|", "│", "┃", "║", ","):
        if text.count(separator) >= 2:
            return _make(_cells(line, separator), separator)
    found, wide = _make(_cells(text, ""), ""), _make(re.split(r"\s{2,}", text.strip()), "")
    if found is None or (wide is not None and len(wide.names) < len(found.names)):
        return wide if found is None else replace(found, wide=wide)
    return found


def _detection(rest: str) -> Table:
    """Ultralytics' summary of an evaluation; the row "all" counts."""
    short = {"P": "precision", "R": "recall"}
    plain = rest.replace("@.5:.95", "50-95").replace("@.5", "50")  # YOLOv5 spells the bounds with a colon
    found = [short.get(c, c) for c in re.sub(r"(?:Box|Mask|Pose)\(|\)?:.*$|\)", " ", plain).split()]
    found = [c for c in found if not c.endswith("%") and "|" not in c]
    return Table(["Class", "Images", "Instances", *found], ["all", "", "", *["metric"] * len(found)], "")


def is_rule(line: str) -> bool:
    """Say whether a line only separates ("-----")."""
    return bool(_RULE.match(line))


def _make(found: list[str], separator: str) -> Table | None:
    if not 2 <= len(found) <= MAX_COLUMNS or any(re.search(r"[=:]|^-?\d", c) for c in found):
        return None
    roles = []
    for cell in found:
        low = cell.strip().lower().replace(" ", "_")
        role = _PLACES.get(low, "") or ("step" if _COUNTED.match(low) else "")
        if (
            not role
            and names.canonical(cell) is not None
            and low not in ("class", "size", "instances", "gpu_mem")
        ):
            role = "metric"
        roles.append(role)
    placed = any(r in ("epoch", "step", "iteration") for r in roles)
    metrics = roles.count("metric")
    if metrics < 1 or (not placed and (metrics < 2 or metrics < 0.7 * len(found))):
        return None
    return Table(_sides([c.strip() for c in found], roles), roles, separator)


def _sides(found: list[str], roles: list[str]) -> list[str]:
    """Bare scores in rows with the training's loss and the time of an evaluation are the evaluation's.

    mindcv's result.log: `Epoch TrainLoss Top_1_Accuracy ... TrainTime EvalTime TotalTime`.
    """
    known = {c: names.canonical(c) or "" for c, role in zip(found, roles, strict=True) if role == "metric"}
    told = [c for c in known if names.tells_split(c)]
    evaluated = any(_EVALUATED.search(c) for c, role in zip(found, roles, strict=True) if not role)
    if not evaluated or not told or any(known[c] != "train/loss" for c in told):
        return found
    return [f"eval {c}" if known.get(c, "").startswith("train/") and c not in told else c for c in found]


def _cells(line: str, separator: str) -> list[str]:
    if separator in ("│", "┃", "║"):
        line, separator = _LINES.sub("|", line), "|"
    if separator == "|":
        return [c.strip() for c in line.strip().strip(_BORDER).split(separator)]
    if separator == ",":
        return [c.strip(" *") for c in line.strip(" *\t\r\n").split(",")]
    return line.replace("%|", " %| ").split()


def _bar_follows(cells: list[str], width: int) -> bool:
    """The line goes on with a progress bar (Ultralytics)."""
    return any("|" in c or c.endswith("it/s") for c in cells[width:]) or cells[width].endswith("%")


def _number(cell: str) -> float | None:
    cell = cell.strip().rstrip("%").strip()
    if re.fullmatch(r"[\d.]+[GMk]i?B?", cell):
        return 0.0  # memory: a number, and no metric
    if re.fullmatch(r"\d+/\d+", cell):
        return float(cell.split("/")[0])
    return to_float(cell.rstrip(":").encode()) if cell else None
