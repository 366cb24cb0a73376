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
    r"[,;|\[\]{}\t!?\"'<>*#=]|  +|:\s|:$|\s[-–—~]+\s|^\s*[-–—>~]+\s?|\)\s|[-=]>|…|(?<!\bVal)(?<!\bval)(?<!\bAvg)(?<!\bavg)(?<!\bAcc)\.\s|\(\s"
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
_JSON_LINE = re.compile(r"^\s*[\"'][\w.\- ]+[\"']\s*:\s*[^{}]*,?\s*$")
_COCO = re.compile(rb"Average Precision\s+\(AP\) @\[ IoU=0\.50(:0\.95)?\s*\| area=\s*all \|.*\] = (-?[\d.]+)")
_PROSE = re.compile(
    r"\b(?:the|that|which|was|were|had|we|than|because|but|our|they|would|should|this|these|when|also|not|it|if|so)\b",
    re.IGNORECASE,
)
_OPTIONS = re.compile(r"\.py\b.*\s-{1,2}[A-Za-z]|(?:\s--[A-Za-z][\w-]*[ =]\S+.*){2}")
_DARKNET = re.compile(rb"^\s*(\d+): (\S+), (\S+) avg(?: loss)?, (\S+) rate,")
_LAST_ROW = re.compile(r"train_runtime|train_samples_per_second")
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
    places: bool = False  # the step is one that lines below may stand at
    stamped: bool = False
    bar: bool = False
    strong: bool = False  # says enough to be a row where no step is known
    flags: frozenset[str] = frozenset()
    plain: bool = False  # all values are taken as they stand
    evaluating: bool = False  # only metrics of an evaluation
    uses: int = 0
    pattern: re.Pattern[bytes] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        special = {"megatron", "overflow-true"} & self.flags
        odd = any(m.percent or m.whole is not None or m.canonical == "skipped" for m in self.metrics)
        self.plain = not special and not odd
        splits = {m.split or m.canonical.partition("/")[0] for m in self.metrics}
        self.evaluating = bool(splits & {"eval", "test"}) and "train" not in splits

    @property
    def placed(self) -> bool:
        """Whether the line itself names a step or an epoch."""
        return self.step is not None or self.epoch is not None

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
    out = []
    last = max(shape.needed, default=-1)
    for at, token in enumerate(parts[1::2]):
        if at > last:
            break
        out.append(_literal(parts[2 * at]))
        if at in shape.needed:
            out.append(rb"([\d,.eE+-]+)" if b"," in token else rb"([^\s,;|\]})\"'/%]+)")
        else:
            out.append(rb"[^\s|;)\]}]*")
    if last >= 0:
        out.append(_literal(parts[2 * last + 2][:2]))
    try:
        return re.compile(b"".join(out))
    except re.error:
        return None


def _literal(text: bytes) -> bytes:
    """The text as a pattern; blanks at its ends may be missing or more (numbers are padded), inside only more."""
    words = [re.escape(w) for w in text.split()]
    inside = rb"\s+".join(words)
    before = rb"\s*" if not words or text[:1].isspace() else b""
    return (before or rb"\s*") + inside + (rb"\s*" if words else b"")


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
    if b" rate, " in line and _DARKNET.match(line):
        return _darknet(parts)
    if b"@[ IoU=" in line:
        return _coco(line, parts)
    if len(parts) // 2 > MAX_NUMBERS:
        return None
    return _Analysis(line, parts).shape()


def _darknet(parts: list[bytes]) -> Shape:
    """`100: 8.3, 9.1 avg loss, 0.001 rate, 3.5 seconds, 6400 images`: the numbers stand before their names."""
    texts = tuple(_bare(p) for p in parts[0::2])
    metrics = (
        Metric(1, "loss", "", "train/loss"),
        Metric(2, "avg loss", "", "train/loss"),
        Metric(3, "rate", "", "learning_rate"),
    )
    return Shape(
        texts, (0, 1, 2, 3), step=0, step_kind="iteration", metrics=metrics, strong=True, places=True
    )


def _coco(line: bytes, parts: list[bytes]) -> Shape | None:
    """The two rows of the COCO summary that stand for all sizes."""
    match = _COCO.search(line)
    if match is None:
        return None
    raw, canonical = ("mAP50-95", "eval/map") if match.group(1) else ("mAP50", "eval/map50")
    texts = tuple(_bare(p) for p in parts[0::2])
    return Shape(texts, (len(texts) - 2,), metrics=(Metric(0, raw, "eval", canonical),), strong=True)


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
        if _CODE.search(self.body) or _JSON_LINE.match(self.body) or _OPTIONS.search(self.body):
            return None
        if len(_PROSE.findall(self.body[:2000])) >= 3:
            return None
        if _CONFIG.search(self.body):
            end = self.body.rfind("}")
            if end < 0 or end > len(self.body) - 12:
                return None
            self.start = (
                self.offsets[-1]
                + len(self.tokens[-1])
                + len(self.parts[-1])
                - len(self.body[end + 1 :].encode())
            )
            self.body = self.body[end + 1 :]
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
        if to_float(token) is None or (raw == "train_loss" and _LAST_ROW.search(self.body)):
            return  # the Trainer's last row holds the mean over the whole run
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
        if not own and self.split and (quantity is None or quantity.split):
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
            places=bool(step) and step[0] <= 4 and step[0] != 3 and self.split not in ("eval", "test"),
            stamped=self.stamped,
            bar="%|" in self.body
            or "[=" in self.body
            or "ETA:" in self.body
            or "it/s" in self.body
            or "s/step" in self.body
            or bool(_KERAS_BAR.search(self.body)),
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
    if key.isupper() and "_" in key:
        return None  # a line of a configuration: BASE_LR
    if key.lower().endswith(" ppl"):
        key = key[-3:]
    words = key.split()
    parts = [w for w in re.split(r"[\s/_\-.]+", key.lower()) if w]
    if "cost" in parts and len(parts) > 1:
        return None  # batch_cost, reader_cost: seconds
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
    if "/loss/" in canonical:
        return (
            "scale" not in canonical
            and "...." not in " ".join(words)
            and (separator != " " or len(words) <= 3)
        )
    return "...." not in " ".join(words)


_KERAS_BAR = re.compile(r"^\s*\d+/\d+\s+(?:\[[=>.]*\]\s*)?- (?:ETA: )?[\d:]+(?:m?s|us)?\b")
_FLAG_WORDS = {
    ", loss is ": "mindspore",
    "per_step_time": "mindformers",
    "elapsed time per iteration": "megatron",
    "consumed samples": "megatron",
    "number of skipped iterations": "megatron",
    "reduced_train_loss": "nemo",
    "skipped=": "deepspeed",
    "num_updates": "fairseq",
    "wps=": "fairseq",
    "optim/total_grad_norm": "olmo",
    "train/CrossEntropyLoss": "olmo",
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
    "step_avg:": "modded-nanogpt",
    "loss_rpn": "detection",
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
    if "data_time" in body and re.search(r"Epoch(?:\(\w+\))? ?\[|Iter(?:\(\w+\))? ?\[", body):
        found.add("openmmlab")
    if "mindspore" in found and "step: " not in body:
        found.discard("mindspore")
    if "mfu" in body and "iter " in body:
        found.add("nanogpt")
    if _KERAS_BAR.search(body):
        found.add("keras")
    if "max_mem:" in body and "eta:" in body:
        found.add("detectron2")
    if "solver.cpp" in prefix:
        found.add("caffe")
    if "ppgan" in prefix or "ppdet" in prefix or "paddle" in prefix.lower():
        found.add("paddle")
    return frozenset(found)


def wall_of(line: bytes) -> float:
    """Return the seconds since the epoch of a line's time stamp (taken as UTC), or NaN."""
    at = 1 if line[:1] in b"[(" else 0
    try:
        if line[at + 13] == 58 and line[at + 16] == 58:
            second = float(line[at + 17 : at + 23].rstrip(b" ,.]").replace(b",", b"."))
            return (
                _day(line[at : at + 10])
                + 3600 * int(line[at + 11 : at + 13])
                + 60 * int(line[at + 14 : at + 16])
                + second
            )
    except (ValueError, IndexError):
        pass  # the stamp stands elsewhere in the line
    match = _FULL_STAMP.search(line[:160])
    if match is None:
        return float("nan")
    hour, minute, second = int(match.group(4)), int(match.group(5)), int(match.group(6))
    fraction = match.group(7)
    day = _day(b"-".join(match.group(1, 2, 3)))
    return day + 3600.0 * hour + 60.0 * minute + second + (float(b"0." + fraction) if fraction else 0.0)


@lru_cache(maxsize=512)
def _day(date: bytes) -> float:
    from datetime import datetime, timezone

    year, month, day = date[:4], date[5:7], date[8:10]
    try:
        return datetime(int(year), int(month), int(day), tzinfo=timezone.utc).timestamp()
    except ValueError:
        return float("nan")
