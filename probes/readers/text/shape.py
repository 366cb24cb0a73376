"""What a line of a log says, found out once for all lines of the same shape.

A log repeats a few templates many times. Two lines have the same shape when they are equal but for digits,
signs, points and blanks. The first line of a shape is analysed (which number is the step, which are metrics,
what are they called); a regular expression made of it reads the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from ... import names
from .numbers import TOKEN, to_float

DELETE = b"0123456789.+- \t"
MAX_NUMBERS = 400
MAX_METRIC_LINE = 8192
StepKind = Literal["step", "iteration", "batch", "bare", "sample"]

_LEVEL = rb"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|NOTICE)"
_STAMP = rb"(?:\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d|\d\d[-/]\d\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
PREFIX = re.compile(
    rb"^\s*(?:"
    rb"[-\\|/]{0,40}[\[(]?" + _STAMP + rb"[\])]?[\s,:|-]*"
    rb"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w.]+:\d+\]\s?"
    rb"|DLL \S+ \S+ - "
    rb"|\[?" + _LEVEL + rb"\b\]?[\s:|-]*(?:tensorflow:)?"
    rb"|\[[\w./-]{1,80}\.py:\d+(?::\w+)?\][\s:-]*"
    rb"|\[Rank \d+\]\s*|\(\d+\) |\[\d{4,8}\]\s+"
    rb"|[\w.]+:[\w<>]+:\d+ - "
    rb"|(?:\w[\w.]*)?\[[\w./]+\.py:\d+\][\s:-]*"
    rb"|[\w./]{1,60}(?: -|: )\s*(?=\[?" + _LEVEL + rb"\b)"
    rb"|[\w./]{1,40}\s+(?=\[?" + _LEVEL + rb"\b)"
    rb")+"
)
_FULL_STAMP = re.compile(rb"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")

_TRAIN = "train|training|trn"
_EVAL = "val|valid|validation|validating|eval|evaluation|evaluating|evaluated|dev|evalcallback"
_TEST = "test|testing|tests"
_SPLIT = re.compile(
    rf"(?<![\w/.\-])(?:({_TRAIN}|train_inner)|({_EVAL})|({_TEST}))(?![\w/\-]|\.\w)", re.IGNORECASE
)
_OWN_SPLIT = frozenset(f"{_TRAIN}|{_EVAL}|{_TEST}".split("|"))
_SAVING = re.compile(r"saving dict for", re.IGNORECASE)

_WRAPPER = re.compile(
    r"(?:tensor|array|parameter|float(?:16|32|64)?|bfloat16|item|scalar)\s*\($", re.IGNORECASE
)
_DELIMITER = re.compile(
    r"[,;|\[\]{}\t!?\"'<>*#=]|  +|:\s|:$|\s[-–—~]+\s|^\s*[-–—>~]+\s?|\)\s|[-=]>|…|\.\s|\(\s"
)
_BRACKET_END = re.compile(r"\s*\(([^()]*)\)$")
_STOP = frozenset(
    "the with and a an of for in on to from my our this that has had have got new now new: done finished after"
    " model diverged results result summary set average: metric metrics scores score: - -- -> --> at end is was"
    " epoch-level reached by as be all".split()
)
# Said of one number out of a curve, or of a setting.
_REJECT = frozenset(
    "best max min maximum minimum lowest highest target threshold previous prev initial init final patience"
    " improved improvement delta warmup decay factor old expected peak weight weights coef coeff coefficient"
    " weighting lambda gamma alpha beta type fn smoothing interval freq frequency every schedule scheduler size"
    " window num count id port pid gpu gpus cpu memory mem time timing seconds sec ms per rate/ total_params diff"
    " difference tolerance tol name version index bound limit avg_time class".split()
)
_EPOCH = frozenset("epoch ep epoch_num epoch_id cur_epoch current_epoch epoch_idx trainer/epoch e".split())
_STEPS: dict[str, tuple[int, StepKind]] = {
    "global_step": (0, "step"),
    "global step": (0, "step"),
    "globalstep": (0, "step"),
    "trainer/global_step": (0, "step"),
    "train/global_step": (0, "step"),
    "num_updates": (0, "step"),
    "total_step": (0, "step"),
    "train_step": (0, "step"),
    "step": (1, "step"),
    "steps": (3, "step"),
    "current_steps": (1, "step"),
    "current_step": (1, "step"),
    "cur_step": (1, "step"),
    "step_num": (1, "step"),
    "step_idx": (1, "step"),
    "iteration": (2, "iteration"),
    "iterations": (3, "iteration"),
    "training iteration": (2, "iteration"),
    "iter": (2, "iteration"),
    "iters": (3, "iteration"),
    "itr": (2, "iteration"),
    "it": (2, "iteration"),
    "n_iter": (2, "iteration"),
    "cur_iter": (2, "iteration"),
    "iter_num": (2, "iteration"),
    "update": (3, "step"),
    "updates": (3, "step"),
    "batch": (4, "batch"),
    "batch_id": (4, "batch"),
    "batch_idx": (4, "batch"),
    "batch idx": (4, "batch"),
    "minibatch": (4, "batch"),
    "mini-batch": (4, "batch"),
    "episode": (2, "step"),
    "round": (2, "step"),
}
_BEFORE_STEP = frozenset(
    "global training train current cur completed opt optimizer optim finished mini local total done eval valid"
    " validation val test evaluation update inner outer round inner: server".split()
)
# Words that mean a metric only where a separator and a step stand beside them.
_AMBIGUOUS = frozenset(
    "error err scale scaler norm grad map precision cost return skip skipped l1 value entropy recall objective"
    " criterion overflow top1 total r2 reward score nll".split()
)
# Quantities of the optimizer: alone on a line before the first step they are settings.
_OPTIMIZER = frozenset(
    {"learning_rate", "loss_scale", "grad_norm", "weight_norm", "update_norm", "overflow", "skipped"}
)
_CONFIG = re.compile(
    r"\bconfig(?:s|uration)?\b|namespace\(|\bargs\b|\barguments\b|hyper-?param|\w(?:Config|Args|Arguments)\(|_target_",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^\s*(?:def |class |import |from \w|return\b|if .*:$|for .*:$|while .*:$|assert |print\(|self\.|@|#[^#]|//|>>>? ?\w+ =|elif |else:|raise )"
    r"|\w\(self\b|torch\.|np\.(?!float|nan)|\bnn\.|\+=|-=|\s\*\s|==\s*\w"
)
_WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a line that is a metric."""

    slot: int  # which of the captured tokens
    raw: str
    split: Literal["", "train", "eval"]
    canonical: str
    percent: bool = False
    whole: int | None = None  # "9912/10000": the slot of the second number


@dataclass(slots=True)
class Shape:
    """What lines of one shape say. Slots count the captured tokens of a line."""

    texts: tuple[bytes, ...]  # the text between the numbers, without blanks
    needed: tuple[int, ...]  # tokens to capture
    step: int | None = None
    total: int | None = None
    step_kind: StepKind = "step"
    epoch: int | None = None
    epoch_total: int | None = None
    metrics: tuple[Metric, ...] = ()
    header_split: str = ""  # "Validation:" on a line of its own
    stamped: bool = False
    bar: bool = False
    strong: bool = False  # says enough to be a row where no step is known
    flags: frozenset[str] = frozenset()
    uses: int = 0
    pattern: re.Pattern[bytes] | None = field(default=None, repr=False)

    def tokens(self, line: bytes) -> tuple[bytes, ...] | None:
        """Return the needed tokens of a line of this shape, or None when it differs in more than numbers."""
        if self.pattern is not None:
            match = self.pattern.match(line)
            if match is not None:
                return match.groups()
        parts = TOKEN.split(line)
        if len(parts) // 2 != len(self.texts) - 1:
            return None
        if tuple(map(_bare, parts[0::2])) != self.texts:
            return None
        self.uses += 1
        if self.uses == 3 and self.pattern is None:
            self.pattern = _compile(self, parts)
        found = parts[1::2]
        return tuple(found[i] for i in self.needed)


def _bare(text: bytes) -> bytes:
    return text.translate(None, b" \t")


def _compile(shape: Shape, parts: list[bytes]) -> re.Pattern[bytes] | None:
    """Make the regular expression of a shape: its texts, with a group for each needed number."""
    out = [rb"^\s*"]
    last = max(shape.needed, default=-1)
    for at, token in enumerate(parts[1::2]):
        if at > last:
            break
        out.append(_literal(shape.texts[at]))
        if at in shape.needed:
            out.append(rb"([\d,.eE+-]+)" if b"," in token else rb"([^\s,;|\]})\"'/%]+)")
        else:
            out.append(rb"[^\s|;)\]}]*")
    out.append(_literal(shape.texts[last + 1][:2]) if last >= 0 else b"")
    try:
        return re.compile(rb"\s*".join(p for p in out if p))
    except re.error:
        return None


def _literal(text: bytes) -> bytes:
    return rb"\s*".join(re.escape(bytes((c,))) if c < 128 else bytes((c,)) for c in text)


@lru_cache(maxsize=8192)
def _canonical(key: str) -> str | None:
    return names.canonical(key)


# ------------------------------------------------------------------------------------------- analysis


def analyse(line: bytes) -> Shape | None:
    """Find out what a line says; None when it holds neither a step nor a metric."""
    if len(line) > MAX_METRIC_LINE:
        return None
    parts = TOKEN.split(line)
    if len(parts) < 3:
        return _header_only(line)
    if len(parts) // 2 > MAX_NUMBERS:
        return None
    return _Analysis(line, parts).shape()


def _header_only(line: bytes) -> Shape | None:
    """A line without numbers that says what the next ones are about: "Validation:"."""
    if len(line) > 60:
        return None
    text = line.decode("utf-8", "replace")
    found = _SPLIT.search(text)
    if not found or len(_WORD.findall(text)) > 4 or "=" in text or "/" in text or "." in text.strip(". "):
        return None
    return Shape((_bare(line),), (), header_split=_which(found))


def _which(match: re.Match[str]) -> str:
    return "train" if match.group(1) else "eval" if match.group(2) else "test"


class _Analysis:
    """The analysis of one line; lives only inside `analyse`."""

    def __init__(self, line: bytes, parts: list[bytes]) -> None:
        self.parts = parts
        self.texts = [p.decode("utf-8", "replace") for p in parts[0::2]]
        self.tokens = parts[1::2]
        prefix = PREFIX.match(line)
        self.start = prefix.end() if prefix else 0
        self.stamped = bool(prefix) and bool(_FULL_STAMP.search(line[: self.start]))
        self.prefix = line[: self.start].decode("utf-8", "replace")
        self.body = line[self.start :].decode("utf-8", "replace")
        self.offsets: list[int] = []
        at = 0
        for text, token in zip(parts[0::2], self.tokens, strict=False):
            self.offsets.append(at + len(text))
            at += len(text) + len(token)
        self.steps: list[tuple[int, int, StepKind]] = []  # (priority, token, kind)
        self.epoch: int | None = None
        self.totals: dict[int, int] = {}
        self.metrics: list[Metric] = []
        self.keys = 0
        self.split = ""

    def shape(self) -> Shape | None:
        if _CODE.search(self.body) or _CONFIG.search(self.body):
            return None
        if re.search(r"\[(?:train|train_inner)\]|\| (?:train|train_inner) \|", self.prefix):
            self.split = "train"
        elif re.search(r"\[(?:valid|eval|test)\w*\]|\| (?:valid|eval|test)\w* \|", self.prefix):
            self.split = "eval"
        for at in range(len(self.tokens)):
            if self.offsets[at] >= self.start:
                self._look(at)
        return self._make()

    def _look(self, at: int) -> None:
        before = self._before(at)
        stripped = before.strip()
        if at and stripped in ("/", "of", "out of", "|/"):
            self.totals[at - 1] = at
            return
        self._note_split(before)
        key, separator = _key(before)
        if key:
            self.keys += 1
            self._keyed(at, key, separator)
        elif separator != "none" or not stripped or stripped[-1] in "[(|:":
            self._bare_number(at, stripped)

    def _before(self, at: int) -> str:
        text = self.texts[at]
        if self.offsets[at] - len(self.parts[2 * at]) < self.start:
            text = (
                self.parts[2 * at][-(self.offsets[at] - self.start) :].decode("utf-8", "replace")
                if self.offsets[at] > self.start
                else ""
            )
        return text[-200:]

    def _note_split(self, text: str) -> None:
        found = None
        for found in _SPLIT.finditer(text):
            pass
        if found:
            self.split = _which(found)
        elif _SAVING.search(text):
            self.split = "eval"

    def _keyed(self, at: int, key: str, separator: str) -> None:
        low = key.lower().lstrip("([")
        words = low.split()
        if words[-1] in _EPOCH and separator != "none" and (words[-1] != "e" or len(words) == 1):
            if self.epoch is None:
                self.epoch = at
            return
        step = _step(words)
        if step is not None:
            self.steps.append((step[0], at, step[1]))
            return
        self._metric(at, key, words, separator)

    def _bare_number(self, at: int, before: str) -> None:
        """`[100/1000]`, `| 44/6400 [`: a count without a name."""
        after = self.texts[at + 1].lstrip() if at + 1 < len(self.texts) else ""
        if after.startswith("/") and at + 1 < len(self.tokens) and self.texts[at + 1].strip() == "/":
            beyond = self.texts[at + 2].lstrip() if at + 2 < len(self.texts) else ""
            whole = to_float(self.tokens[at + 1])
            if whole is None or whole <= 0 or to_float(self.tokens[at]) is None:
                return
            sample = (
                beyond.startswith("(") and self.texts[at + 3 : at + 4] and self.texts[at + 3].startswith("%")
            )
            self.steps.append((6 if sample else 5, at, "sample" if sample else "bare"))
        elif before.endswith("][") or (before == "[" and at == 0 and after.startswith("]")):
            self.steps.append((7, at, "bare"))
        elif at == 0 and not before and after.startswith(":") and b"." not in self.tokens[at]:
            self.steps.append((8, at, "bare"))

    def _metric(self, at: int, key: str, words: list[str], separator: str) -> None:
        found = _quantity(key, separator)
        if found is None:
            return
        raw, canonical = found
        if canonical.endswith("iou") and "avg iou" in raw.lower():
            return  # darknet prints -nan there for layers that saw no object
        token = self.tokens[at]
        if to_float(token) is None:
            return
        after = self.texts[at + 1].lstrip() if at + 1 < len(self.texts) else ""
        whole = None
        quantity = names.base(canonical)
        if (
            after.startswith("/")
            and self.texts[at + 1].strip() == "/"
            and quantity is not None
            and quantity.fraction
        ):
            whole = at + 1 if at + 1 < len(self.tokens) else None
        own = any(w.strip(".:()") in _OWN_SPLIT for w in re.split(r"[\s/_\-.]+", raw.lower()))
        split: Literal["", "train", "eval"] = ""
        if not own and self.split:
            if self.split == "test":
                raw = f"Test {raw}"
                canonical = _canonical(raw) or canonical
            else:
                split = "train" if self.split == "train" else "eval"
        if any(m.raw == raw and m.split == split for m in self.metrics):
            return
        self.metrics.append(Metric(at, raw, split, canonical, after.startswith("%"), whole))

    def _make(self) -> Shape | None:
        step = min(self.steps, default=None)
        if not self.metrics and step is None and self.epoch is None:
            return self._plain_header()
        words = len(_WORD.findall(self.body))
        if words > 30 + 6 * self.keys or (self.keys <= 2 and words > 24):
            return None
        metrics = self.metrics
        if step is None and self.epoch is None:
            metrics = [m for m in metrics if not _ambiguous(m)] or []
            if (
                metrics
                and all(m.canonical in _OPTIMIZER for m in metrics)
                and len(metrics) == len(self.metrics)
            ):
                pass
        if not metrics and step is None and self.epoch is None:
            return None
        total = self.totals.get(step[1]) if step else None
        epoch_total = self.totals.get(self.epoch) if self.epoch is not None else None
        wanted = [step[1] if step else None, total, self.epoch, epoch_total]
        needed = sorted(
            {w for w in wanted if w is not None}
            | {m.slot for m in metrics}
            | {m.whole for m in metrics if m.whole is not None}
        )
        place = {token: slot for slot, token in enumerate(needed)}
        where = lambda token: None if token is None else place[token]  # noqa: E731
        return Shape(
            texts=tuple(_bare(p) for p in self.parts[0::2]),
            needed=tuple(needed),
            step=where(step[1]) if step else None,
            total=where(total),
            step_kind=step[2] if step else "step",
            epoch=where(self.epoch),
            epoch_total=where(epoch_total),
            metrics=tuple(
                Metric(place[m.slot], m.raw, m.split, m.canonical, m.percent, where(m.whole)) for m in metrics
            ),
            header_split="" if metrics else self.split,
            stamped=self.stamped,
            bar="%|" in self.body
            or "[=" in self.body
            or "ETA:" in self.body
            or "it/s" in self.body
            or "s/step" in self.body,
            strong=any(
                names.quantities()[_base(m.canonical)].split
                for m in metrics
                if _base(m.canonical) in names.quantities()
            )
            or any("/loss" in m.canonical for m in metrics),
            flags=_flags(self.body, self.prefix),
        )

    def _plain_header(self) -> Shape | None:
        if self.split and len(self.body) <= 60 and len(_WORD.findall(self.body)) <= 4:
            return Shape(tuple(_bare(p) for p in self.parts[0::2]), (), header_split=self.split)
        return None


def _base(canonical: str) -> str:
    return canonical.rsplit("/", 1)[-1]


def _ambiguous(metric: Metric) -> bool:
    words = re.split(r"[\s/_\-.]+", metric.raw.lower())
    rest = [w for w in words if w not in _OWN_SPLIT]
    return len(rest) == 1 and rest[0] in _AMBIGUOUS


def _key(before: str) -> tuple[str, str]:
    """Split the text before a number into the name of the number and the separator.

    Returns ("", separator) when no name stands there; separator is ":", "=", "is", " ", "bracket" ("Batch [50]") or "none".
    """
    text = before.rstrip(" \t\"'[({<~$*#")
    wrapper = _WRAPPER.search(before.rstrip(" \t\"'[{<"))
    if wrapper:
        text = before.rstrip(" \t\"'[{<")[: wrapper.start()].rstrip(" \t\"'[({<~$*#")
        text = re.sub(r"(?:\b(?:np|numpy|jnp|torch|mindspore|ms)\.)$", "", text).rstrip(" \t\"'[({<~$*#")
    separator = " "
    if text.endswith(("->", "=>")):
        return "", ":"
    if text.endswith((":", "=")):
        separator = text[-1]
        text = text[:-1].rstrip(" \t\"':=*")
    elif re.search(r"\b(?:is|was)$", text):
        separator = "is"
        text = text[: text.rfind(" ")] if " " in text else ""
    elif text == before:
        return "", "none"
    elif before[len(text)] in "([{<$*":
        separator = "bracket"
    text = text.rstrip(" \t\"']*`")
    inner = _BRACKET_END.search(text)
    if inner:
        text = text[: inner.start()]
        if inner.group(1).lower() in _OWN_SPLIT:
            text = f"{text} {inner.group(1)}" if text.lower().endswith("epoch") is False else text
    segment = _DELIMITER.split(text)[-1] if text else ""
    words = segment.split()
    for at in range(len(words) - 1, -1, -1):
        if words[at].lower() in _STOP:
            words = words[at + 1 :]
            break
    return " ".join(words[-6:]).strip("()*`"), separator


def _step(words: list[str]) -> tuple[int, StepKind] | None:
    last = words[-1].strip("*")
    pair = " ".join(words[-2:])
    if pair in _STEPS:
        return _STEPS[pair]
    if last not in _STEPS or any(w not in _BEFORE_STEP for w in words[:-1]):
        return None
    if "total" in words[:-1] and last.endswith("s"):
        return None
    return _STEPS[last]


def _quantity(key: str, separator: str) -> tuple[str, str] | None:
    """Return (raw name, canonical name) of a metric, or None."""
    if (
        separator in ("none", "bracket")
        or len(key) > 80
        or re.search(r"\.(?:py|cc|cpp|c|h|go|rs|ipynb)$", key)
    ):
        return None
    words = key.split()
    parts = [w for w in re.split(r"[\s/_\-.]+", key.lower()) if w]
    if any(p in _REJECT for p in parts) and not _known(key):
        return None
    if len(words) <= 5:
        canonical = _canonical(key)
        if canonical is not None and _allowed(canonical, words, separator):
            return key, canonical
    for size in range(min(len(words) - 1, 3), 0, -1):
        short = " ".join(words[-size:])
        canonical = _canonical(short)
        if (
            canonical is not None
            and "/loss" not in canonical
            and _allowed(canonical, words[-size:], separator)
        ):
            return short, canonical
    return None


def _known(key: str) -> bool:
    canonical = _canonical(key)
    return (
        canonical is not None
        and "/loss/" not in canonical
        and not re.search(
            r"\b(?:best|max|min|final|target|initial|previous|prev)", key.lower().replace("_", " ")
        )
    )


def _allowed(canonical: str, words: list[str], separator: str) -> bool:
    if (
        separator == " "
        and len(words) == 1
        and words[0].lower() in _AMBIGUOUS - {"reward", "entropy", "top1"}
    ):
        return False
    if "/loss/" in canonical and separator == " ":
        return len(words) <= 3
    return True


_FLAG_WORDS = {
    "loss is": "mindspore",
    "per_step_time": "mindformers",
    "elapsed time per iteration": "megatron",
    "consumed samples": "megatron",
    "number of skipped iterations": "megatron",
    "reduced_train_loss": "nemo",
    "skipped=": "deepspeed",
    "num_updates": "fairseq",
    "'loss':": "hf",
    "'eval_loss':": "hf",
    "s/step": "keras",
    "ms/step": "keras",
    "us/step": "keras",
    "s/sample": "keras",
    " - loss: ": "keras-like",
    "val_loss:": "",
    "tokens_per_second_per_gpu": "torchtune",
    "tps:": "torchtitan",
    "mfu": "nanogpt",
    "step_avg:": "modded-nanogpt",
    "loss_rpn": "detection",
    "data_time": "openmmlab",
    "imgsize": "mindyolo",
    "batch_cost": "paddle",
    "reader_cost": "paddle",
    "ips:": "paddle",
    "sec/step": "tf-slim",
    "completed step:": "maxtext",
    "loss lm": "",
    "train net output": "caffe",
}


def _flags(body: str, prefix: str) -> frozenset[str]:
    found = {flag for word, flag in _FLAG_WORDS.items() if flag and word in body}
    overflow = re.search(r"overflow(?: cond)?[:=]\s*(True|False)", body)
    if overflow:
        found.add(f"overflow-{overflow.group(1).lower()}")
    if "tensorflow:" in prefix:
        found.add("tensorflow")
    if "max_mem:" in body and "eta:" in body:
        found.add("detectron2")
    if "solver.cpp" in prefix:
        found.add("caffe")
    if "ppgan" in prefix or "ppdet" in prefix or "paddle" in prefix.lower():
        found.add("paddle")
    return frozenset(found)


def wall_of(line: bytes) -> float:
    """Return the seconds since the epoch of a line's time stamp (taken as UTC), or NaN."""
    match = _FULL_STAMP.search(line[:120])
    if match is None:
        return float("nan")
    day = _day(match.group(1), match.group(2), match.group(3))
    hour, minute, second = int(match.group(4)), int(match.group(5)), int(match.group(6))
    fraction = match.group(7)
    return day + 3600.0 * hour + 60.0 * minute + second + (float(b"0." + fraction) if fraction else 0.0)


@lru_cache(maxsize=512)
def _day(year: bytes, month: bytes, day: bytes) -> float:
    from datetime import datetime, timezone

    try:
        return datetime(int(year), int(month), int(day), tzinfo=timezone.utc).timestamp()
    except ValueError:
        return float("nan")
