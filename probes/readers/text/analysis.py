"""Finds out what a line says: see `shape`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from ...assembly import names
from . import families, keys
from .keys import StepKind
from .numbers import TOKEN, to_float
from .shape import EPOCH_FIRST, SUMMARY, Metric, Shape, texts_of
from .stamps import FULL_STAMP, PREFIX

MAX_NUMBERS = 400
MAX_METRIC_LINE = 8192
_LOOK_BACK = 200  # characters before a number
COMPANY = 2  # metrics named without ":" or "=" that make a word such as "scale" beside them a name as well

_SPLIT = re.compile(
    rf"(?<![\w/.\-])(?:({'|'.join(sorted(keys.TRAIN))}|train_inner)|({'|'.join(sorted(keys.EVAL))})"
    rf"|({'|'.join(sorted(keys.TEST))}))(?![\w/\-]|\.\w)",
    re.IGNORECASE,
)
_PREFIX_SPLIT = re.compile(r"\[(train|train_inner|valid|eval|test)\w*\]|\| (train|train_inner|valid|test) \|")
# "loss at step 100: 2.3"
_AT_STEP = re.compile(
    r"([A-Za-z][\w @./-]{0,60}?)\s+(?:at|after|for|in|on|over|during|of|@)\s+"
    r"(?:the )?(?:end of )?(?:the )?\w+\s*[#:]?\s*$"
)
_EPOCH_AND_BATCH = re.compile(rb"\[\s*\d+\s*,\s*\d+\s*\]\s*[A-Za-z]")  # PyTorch's tutorial
_ESPNET = re.compile(rb"(?:^|\s)(?=\d+epoch(?::\w+:\d+-\d+batch| results): )")
_ESPNET_PART = re.compile(r"\d+epoch:\w+:")
_EPOCH_MEANS = re.compile(r"^(?:\d+epoch results: |train \| epoch \d+ \|)")  # ESPnet, fairseq
_SUMMARY = re.compile(r"^\s*\*\s+(?:Acc|Prec)@1\b")  # PyTorch's ImageNet example
_WIDE = str.maketrans({"：": ": ", "，": ", ", "＝": "=", "（": "(", "）": ")", "│": "|", "┃": "|", "║": "|"})
_SAVING = re.compile(r"saving dict for", re.IGNORECASE)
_CONFIG = re.compile(
    r"\bconfig(?:s|uration)?\b|namespace\(|\bargs\b|\barguments\b|hyper-?param|\w(?:Config|Args|Arguments)\("
    r"|_target_",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^\s*(?:def |class |import |from \w|return\b|if .*:$|for .*:$|while .*:$|assert |print\(|self\.|@|#[^#]"
    r"|//|>>>? ?\w+ =|elif |else:|raise )"
    r"|\w\(self\b|\btorch\.(?!float|bfloat|int|device|Size)|\bnp\.(?!float|nan)|\bnn\.|\w\s*[-+*/]=\s|\w\s\*\s(?!(?:Acc|Prec)@)\w"
    r"|\w\s*==\s*\w|\d\s+[/*]\s+(?!(?:Acc|Prec)@)[A-Za-z_]"
)
_JSON_LINE = re.compile(r"^\s*[\"'][\w.\- ]+[\"']\s*:\s*[^{}]*,?\s*$")
_OPTIONS = re.compile(r"\.py\b.*\s-{1,2}[A-Za-z]|(?:\s--[A-Za-z][\w-]*[ =]\S+.*){2}")
_PROSE = re.compile(
    r"\b(?:the|that|which|was|were|had|we|than|because|but|our|they|would|should|this|these|when)\b",
    re.IGNORECASE,
)
# What Python writes behind a line printed without an end: "iter 10 Loss: 8.1 /x.py:238: UserWarning: ..."
_WARNED = re.compile(r"\s?(?:[A-Za-z]:)?[\w./\\~+-]{1,300}\.py:\d+: \w{0,60}Warning: ")
_ALONE = re.compile(r"\](?![A-Za-z])")  # "[0]Valid loss: 2.1" begins with the number of a process
_OF_AN_EPOCH = re.compile(r"%\)\s*\[")  # "Train: 1/80 (1%) [20/100 (20%)]"
_ONE_WORD = re.compile(r"\W*[A-Za-z]+\W*$")
_TIMED = re.compile(r"(?:m|u|µ|n)?s(?:ec)?\b|min\b")  # the unit of a time, behind its number
_LETTERS = (["b"], ["i"], ["s"])  # batch, iteration, step, where an epoch stands before
_OF_LOSSES = frozenset({"loss", "losses", "done", "end", "finished"})
_SMALL = re.compile(rb"\d\.\d+e-\d+", re.IGNORECASE)  # "step=1.954e-03": the size of a step, and no count
_LAST_ROW = re.compile(r"train_runtime|train_samples_per_second")
_WORD = re.compile(r"[A-Za-z]{3,}")
_DARKNET = re.compile(rb"^\s*\d+: \S+, \S+ avg(?: loss)?, \S+ rate,")
_COCO = re.compile(rb"Average Precision\s+\(AP\) @\[ IoU=0\.50(:0\.95)?\s*\| area=\s*all \|.*\] = (-?[\d.]+)")
_BOTH_COUNTED = frozenset({"precision", "recall"})
_COMPARED = re.compile(r"(?:^|\s)[<>\u2264\u2265]=?\s*$")  # "Target: Brier <0.18"
_IMPROVED = re.compile(r"\b(?:improv|increas|decreas|reduc|drop)\w*", re.IGNORECASE)
_ARROW = re.compile(r"-{1,3}>|=>|\u2192")
_SCORES = frozenset({"accuracy", "error", "f1", "auc", "map", "iou", "dice", "bleu", "r2"})


def analyse(line: bytes) -> Shape | None:
    """Find out what a line says; None when it holds neither a step nor a metric."""
    if len(line) > MAX_METRIC_LINE:
        return None
    parts = TOKEN.split(line)
    if len(parts) < 3:
        return _words_only(line)
    if b" rate, " in line and _DARKNET.match(line):
        return _darknet(parts)
    if b"@[ IoU=" in line:
        return _coco(line, parts)
    return _Analysis(line, parts).shape() if len(parts) // 2 <= MAX_NUMBERS else None


def _words_only(line: bytes) -> Shape | None:
    """A line without numbers that says what the next ones are about: "Validation:"."""
    if len(line) > 60:
        return None
    text = line.decode("utf-8", "replace")
    found = _SPLIT.search(text)
    if not found or len(_WORD.findall(text)) > 4 or "=" in text or "/" in text or "." in text.strip(". "):
        return None
    if _of_both(text):
        return None
    return Shape(texts_of([line]), (), header_split=_which(found))


def _of_both(text: str) -> bool:
    """`train: 1600 images, val: 500 images`: what a line says of both data sets heads neither."""
    return len({bool(found.group(1)) for found in _SPLIT.finditer(text)}) > 1


def _darknet(parts: list[bytes]) -> Shape:
    """`100: 8.3, 9.1 avg loss, 0.001 rate, 3.5 seconds`: the numbers stand before their names."""
    metrics = (
        Metric(1, "loss", "", "train/loss"),
        Metric(2, "avg loss", "", "train/loss"),
        Metric(3, "lr", "", "learning_rate"),
    )
    return Shape(
        texts_of(parts), (0, 1, 2, 3), 0, step_kind="iteration", metrics=metrics, strong=True, places=True
    )


def _coco(line: bytes, parts: list[bytes]) -> Shape | None:
    """The two rows of the COCO summary that stand for objects of all sizes."""
    match = _COCO.search(line)
    if match is None:
        return None
    raw, canonical = ("mAP50-95", "eval/map") if match.group(1) else ("mAP50", "eval/map50")
    texts = texts_of(parts)
    return Shape(texts, (len(texts) - 2,), metrics=(Metric(0, raw, "eval", canonical),), strong=True)


def _which(match: re.Match[str]) -> str:
    return "train" if match.group(1) else "eval" if match.group(2) else "test"


class _Analysis:
    """The analysis of one line; lives only inside `analyse`."""

    def __init__(self, line: bytes, parts: list[bytes]) -> None:
        self.parts = parts
        self.tokens = parts[1::2]
        prefix = PREFIX.match(line)
        espnet = _ESPNET.search(line[:400]) if b"epoch" in line[:400] else None
        self.start = espnet.end() if espnet else prefix.end() if prefix else 0
        self.prefix = line[: self.start].decode("utf-8", "replace")
        self.body = line[self.start :].decode("utf-8", "replace")
        self.stamped = bool(FULL_STAMP.search(line[: self.start]))
        self.length = len(line)
        warned = _WARNED.search(self.body) if "Warning: " in self.body else None
        if warned is not None and warned.start():
            self.body = self.body[: warned.start()]
            self.tokens = TOKEN.split(line[: self.start] + self.body.encode("utf-8", "replace"))[1::2]
        self.before, self.first = self._texts()
        self.steps: list[tuple[int, int, StepKind]] = []  # (priority, token, kind)
        self.epoch: int | None = None
        self.totals: dict[int, int] = {}
        self.metrics: list[Metric] = []
        self.keys = 0
        self.counts_epochs = False  # a bar over epochs
        self.split = ""
        self.sides: dict[str, int] = {}  # numbers whose name is only that of a data set
        self.bare: list[
            tuple[int, str]
        ] = []  # (token, name) of what is a metric only among others: "scale 65536"
        self.plain = 0  # metrics with nothing but a blank between name and number

    def _texts(self) -> tuple[list[str], int]:
        """The text before each number (without the prefix), and the first number after the prefix."""
        found, end, first = [], 0, len(self.tokens)
        for at, token in enumerate(self.tokens):
            begin = end + len(self.parts[2 * at])
            text = self.parts[2 * at][max(self.start - end, 0) :].decode("utf-8", "replace")
            found.append(text[-_LOOK_BACK:].translate(_WIDE))
            if begin >= self.start:
                first = min(first, at)
            end = begin + len(token)
        return found, first

    def after(self, at: int) -> str:
        """The text after a number."""
        return self.parts[2 * at + 2].decode("utf-8", "replace").lstrip() if at < len(self.tokens) else ""

    # -------------------------------------------------------------------------------- each number

    def shape(self) -> Shape | None:
        if self._is_no_log() or not self._past_config():
            return None
        told = _PREFIX_SPLIT.search(self.prefix)
        if told:
            self.split = "train" if (told.group(1) or told.group(2)).startswith("train") else "eval"
        if _SUMMARY.match(self.body):
            self.split = "eval"
        for at in range(self._pair(), len(self.tokens)):
            self._look(at)
        if self.first == len(self.tokens) and _ONE_WORD.match(self.body):
            self._note_split(self.body)  # a time stamp before "valid:"
        return self._made()

    def _pair(self) -> int:
        """`[2,  4000] loss: 1.9`, `3epoch:train:1-50batch:`: returns the first number behind."""
        if _ESPNET.match(self.body.encode("utf-8", "replace")):
            self.epoch = self.first
            if not _ESPNET_PART.match(self.body):
                return self.first + 1
            self.split = "eval" if ":valid:" in self.body[:24] else "train"
            self.steps.append((4, self.first + 2, "batch"))
            return self.first + 3
        if not _EPOCH_AND_BATCH.match(self.body.encode("utf-8", "replace")) or self.first + 1 >= len(
            self.tokens
        ):
            return self.first
        self.epoch = self.first
        self.steps.append((4, self.first + 1, "batch"))
        return self.first + 2

    def _is_no_log(self) -> bool:
        """Source text, command lines, JSON, sentences."""
        body = self.body
        if _CODE.search(body) or _JSON_LINE.match(body) or _OPTIONS.search(body):
            return True
        return len(_PROSE.findall(body[:2000])) >= 3

    def _past_config(self) -> bool:
        """Go on behind a printed configuration; False when the line is nothing else."""
        if not _CONFIG.search(self.body):
            return True
        end = self.body.rfind("}") + 1
        if not end or end > len(self.body) - 12:
            return False
        self.body = self.body[end:]
        self.start = self.length - len(self.body.encode("utf-8", "replace"))
        self.before, self.first = self._texts()
        return True

    def _look(self, at: int) -> None:
        before = self.before[at]
        stripped = before.strip()
        if at > self.first and stripped in ("/", "of", "out of"):
            self.totals[at - 1] = at
            return
        if _COMPARED.search(before) and not self.after(at).startswith(">"):
            return
        self._note_split(before)
        if stripped.endswith("](") and self.after(at).startswith("/"):  # "[Train](100/24000)"
            self._count(at, "[")
            return
        key, separator = keys.key_of(before)
        if key:
            self.keys += 1
            self._named(at, key, separator)
        elif separator in (":", "=") and self._of_step(at):
            return
        elif separator != "none" or not stripped or stripped[-1] in "[(|:" or self._ends_bar(at):
            self._count(at, stripped)

    def _ends_bar(self, at: int) -> bool:
        """`[===>..]  Loss: 0.5 | Acc: 81.3% (104/128) 1/391`: the count behind all that a bar shows."""
        return at + 2 == len(self.tokens) and families.is_bar(self.body)

    def _of_step(self, at: int) -> bool:
        """`train loss after epoch 3: 0.5`: the name stands before the step."""
        before = at - 1
        if before < self.first or (before != self.epoch and all(s[1] != before for s in self.steps)):
            return False
        match = _AT_STEP.search(self.before[before])
        key = keys.key_of(match.group(1) + " ")[0] if match else ""
        found = len(self.metrics)
        if key:
            self._metric(at, key, ":")
        return len(self.metrics) > found

    def _note_split(self, text: str) -> None:
        found = list(_SPLIT.finditer(text))
        if found:
            self.split = _which(found[-1])
        elif _SAVING.search(text):
            self.split = "eval"

    def _named(self, at: int, key: str, separator: keys.Separator) -> None:
        words = key.lower().lstrip("([").split()
        if not words:
            return
        after = self.after(at)
        if keys.is_epoch(words, separator) or (words == ["train"] and self._before_batches(at)):
            self.counts_epochs = after.startswith("%")
            if self.epoch is None and not self.counts_epochs:
                self.epoch = at
            return
        step = keys.step_of(words)
        if step is None and self.epoch is not None and words in _LETTERS and after.startswith("/"):
            step = (4, "batch")  # "[E 01/8] [B 010/40]"
        if words == ["epochs"] and after.startswith("%"):
            self.counts_epochs = True
        elif step is not None and _SMALL.fullmatch(self.tokens[at]):
            self._metric(at, "lr", ":")
        elif step is not None:
            if not after.startswith("%") and self._counts(at, after):
                self.steps.append((step[0], at, step[1]))
        elif len(words) == 1 and words[0] in keys.SPLITS and self.before[at].rstrip().endswith("["):
            self._count(at, "[")  # "Test: [0/48]"
        elif keys.side_of(words):
            same = self._same_of_other_side(at, words[0].strip(".:"))
            if same:
                self._metric(at, same, ":")
            else:
                self.sides.setdefault(keys.side_of(words), at)
        else:
            self._metric(at, key, separator)

    def _before_batches(self, at: int) -> bool:
        """`Train: 3 [20/100]`, `Train: 3/80 (4%) [20/100]`: the epoch, with its batches behind it."""
        after = self.after(at)
        return after.startswith("[") or (
            after.rstrip() == "/" and bool(_OF_AN_EPOCH.match(self.after(at + 2)))
        )

    def _counts(self, at: int, after: str) -> bool:
        """Whether a number named "step" or "batch" counts: `Step: 21ms` and `Batch (t): 2.345` are times."""
        value = to_float(self.tokens[at])
        return value is not None and value == value // 1 and not _TIMED.match(after)

    def _same_of_other_side(self, at: int, word: str) -> str:
        """`train loss 0.5, val 0.6`: the second number is what the first one is, of the other data set."""
        last = self.metrics[-1] if self.metrics else None
        if last is None or last.slot != at - 1:
            return ""
        words = last.raw.split()
        sides = [i for i, w in enumerate(words) if keys.side_of([w.lower()])]
        if (
            len(sides) != 1
            or len(words) < 2
            or keys.side_of([words[sides[0]].lower()]) == keys.side_of([word])
        ):
            return ""
        words[sides[0]] = word
        return " ".join(words)

    def _count(self, at: int, before: str) -> None:
        """`[100/1000]`, `| 44/6400 [`, `[640/60000 (1%)]`: a count without a name."""
        after = self.after(at)
        if after.rstrip() == "/" and at + 1 < len(self.tokens):
            whole, part = to_float(self.tokens[at + 1]), to_float(self.tokens[at])
            if part is None or whole is None or whole <= 0 or before == "% (":
                return  # "Acc: 81.3% (104/128)" says what the share is of
            if before == "(" and self._is_share(at, part / whole):
                return
            if self.counts_epochs and self.epoch is None:
                self.epoch = at
            else:
                sample = self.after(at + 1).startswith("(") and self.after(at + 2).startswith("%")
                self.steps.append((6 if sample else 5, at, "sample" if sample else "bare"))
        elif before.endswith("][") or (before == "[" and at == self.first and _ALONE.match(after)):
            self.steps.append((7, at, "bare"))
        elif at == self.first and not before and after.startswith((":", "|")) and b"." not in self.tokens[at]:
            self.steps.append((8, at, "bare"))

    def _is_share(self, at: int, share: float) -> bool:
        """`accuracy: 0.444 (2727 / 6144)`: the count says what the number before it is a share of."""
        last = self.metrics[-1] if self.metrics else None
        value = to_float(self.tokens[at - 1]) if last is not None and last.slot == at - 1 else None
        return value is not None and any(
            abs(value - one) <= 0.006 * max(one, 0.01) for one in (share, 100 * share)
        )

    def _metric(self, at: int, key: str, separator: keys.Separator) -> None:
        if separator == " " and self.after(at).startswith("%"):
            separator = ":"  # "err 5.3%": the unit says that this is a value
        found = keys.quantity_of(key, separator)
        if found is None and separator == " " and keys.needs_company(key):
            self.bare.append((at, key))
        if found is None or to_float(self.tokens[at]) is None:
            return
        self.plain += separator == " "
        raw, canonical = found
        if _IMPROVED.search(self.before[at]) and _ARROW.match(self.after(at)):
            return  # "Model is improving ppl: 5.45 --> 2.44": what it was, and no row of its own
        if "avg iou" in raw.lower():
            return  # darknet prints -nan there for layers that saw no object
        if raw in ("train_loss", "training_loss") and _LAST_ROW.search(self.body):
            return  # the Trainer's last row holds the mean over the whole run
        raw, canonical, split = self._with_split(raw, canonical)
        side = self._side_before(at)
        for i, same in enumerate(self.metrics):
            if same.raw != raw or same.split != split:
                continue
            # "train_loss 1.3 acc 0.5 | val_loss 1.2 acc 0.6": each is of the loss that stands before it
            first = self._side_before(same.slot)
            if split or not side or not first or side == first or not _of_a_data_set(canonical):
                return
            self.metrics[i] = replace(same, split=first)
            split = side
            break
        self.metrics.append(
            Metric(at, raw, split, canonical, self.after(at).startswith("%"), self._whole(at, canonical))
        )

    def _side_before(self, at: int) -> Literal["", "train", "eval"]:
        """The data set that the name of the last loss before a number tells."""
        told = [m for m in self.metrics if m.slot < at and "/loss" in m.canonical and keys.names_split(m.raw)]
        return "" if not told else "train" if told[-1].canonical.startswith("train/") else "eval"

    def _with_split(self, raw: str, canonical: str) -> tuple[str, str, Literal["", "train", "eval"]]:
        """A name that does not tell the data set gets that of the last word before it that does."""
        quantity = names.base(canonical)
        if not self.split or keys.names_split(raw) or (quantity is not None and not quantity.split):
            return raw, canonical, ""
        if self.split == "test":
            return f"Test {raw}", keys.canonical(f"Test {raw}") or canonical, ""
        return raw, canonical, "train" if self.split == "train" else "eval"

    def _whole(self, at: int, canonical: str) -> int | None:
        """`Accuracy: 9912/10000`: the number of the whole."""
        quantity = names.base(canonical)
        ratio = self.after(at).rstrip() == "/" and at + 1 < len(self.tokens)
        return at + 1 if ratio and quantity is not None and quantity.fraction else None

    # ---------------------------------------------------------------------------------- the whole

    def _pair_of_losses(self) -> Iterator[Metric]:
        """`epoch 3  train 2.31  val 2.40`: losses, where a score stands beside them or by their size.

        A fraction and a percentage are no losses; a number from 1 to 10 is neither.
        """
        if not (self.steps or self.epoch is not None):
            return
        if set(self.sides) == {"eval"}:
            yield from self._loss_beside(self.sides["eval"])
        if set(self.sides) != {"train", "eval"}:
            return
        told = [set(_WORD.findall(self.before[at].lower())) - keys.SPLITS for at in self.sides.values()]
        if any("/loss" in m.canonical for m in self.metrics) or any(w - _OF_LOSSES for w in told):
            return  # "time: train 2.1 val 1.3"
        values = [to_float(self.tokens[at]) for at in self.sides.values()]
        percent = any(self.after(at).startswith("%") for at in self.sides.values())
        scored = any(w & {"loss", "losses"} for w in told) or any(
            _of_a_data_set(m.canonical) for m in self.metrics
        )
        if percent or None in values or not (scored or all(1 < v < 10 for v in values if v is not None)):
            return
        for side, at in self.sides.items():
            yield Metric(at, f"{side} loss", "", f"{side}/loss")

    def _loss_beside(self, at: int) -> Iterator[Metric]:
        """`loss 0.5 val 0.6 acc 0.8`: a loss of training, of evaluation, and a score that bears its name."""
        losses = [m for m in self.metrics if "/loss" in m.canonical]
        scores = [m for m in self.metrics if m.canonical.partition("/")[2] in _SCORES]
        if [(m.slot, m.canonical, m.split) for m in losses] != [(at - 1, "train/loss", "")] or not scores:
            return
        if not self.after(at).startswith("%") and to_float(self.tokens[at]) is not None:
            yield Metric(at, "val loss", "", "eval/loss")

    def _in_company(self) -> None:
        """`step 5 loss 1.12 scale 65536 lr 0.01`: the line parts names and numbers by blanks alone."""
        if self.plain >= COMPANY and (self.steps or self.epoch is not None):
            for at, key in self.bare:
                self._metric(at, key, ":")
            self.metrics.sort(key=lambda m: m.slot)

    def _epoch_before(self, step: tuple[int, int, StepKind]) -> int | None:
        """`[2/7] step 45/280`: a count at the beginning of which the steps are a multiple."""
        first = next((s for s in self.steps if s[1] == self.first and s[2] == "bare"), None)
        if first is None or step[0] > keys.PLURAL or self.before[self.first].strip() != "[":
            return None
        if first[1] not in self.totals or step is first:
            return None
        whole = to_float(self.tokens[self.totals[first[1]]])
        if step[1] not in self.totals:
            return first[1]
        steps = to_float(self.tokens[self.totals[step[1]]])
        return first[1] if whole and steps and steps > whole and steps % whole == 0 else None

    def _epoch_count(self, step: tuple[int, int, StepKind]) -> int | None:
        """`[3/25][150/782] Loss_D: 0.5`, `[3/25][150]`: the first of two counts is that of epochs."""
        counts = [s[1] for s in self.steps if s[2] == "bare"][:2]
        if step[2] != "bare" or len(counts) != 2 or counts[0] != self.first or counts[1] != self.first + 2:
            return None
        if counts[0] not in self.totals:
            return None
        between = self.after(self.totals[counts[0]]).replace(" ", "")
        return counts[0] if self.before[counts[0]].strip() == "[" and between == "][" else None

    def _averages(self, step: tuple[int, int, StepKind] | None) -> Iterator[Metric]:
        """`Test: [48/48] Loss: 0.9 (1.1)`: a batch's value, and in brackets the mean so far, which counts."""
        counting = step is not None and step[2] == "bare" and step[1] in self.totals
        scored = all(m.split == "eval" or m.canonical.startswith(("eval/", "test/")) for m in self.metrics)
        for metric in self.metrics:
            at = metric.slot + 1
            mean = counting and scored and at < len(self.tokens) and self.after(at).startswith(")")
            if mean and self.before[at].strip() == "(" and to_float(self.tokens[at]) is not None:
                metric = replace(metric, slot=at)
            yield metric

    def _made(self) -> Shape | None:
        self._in_company()
        self.metrics += self._pair_of_losses()
        step = min(self.steps, default=None)
        counted = self._epoch_before(step) if step is not None and self.epoch is None else None
        self.epoch = counted if self.epoch is None else self.epoch
        if step is not None and self.epoch is None and (first := self._epoch_count(step)) is not None:
            self.epoch = first
            step = min(s for s in self.steps if s[1] != first)
        self.metrics = list(self._averages(step))
        if step is None and self.epoch is None:
            counted = {m.raw.lower() for m in self.metrics} >= _BOTH_COUNTED  # together they are no settings
            self.metrics = [
                m
                for m in self.metrics
                if (counted and m.raw.lower() in _BOTH_COUNTED) or not self._is_ambiguous(m)
            ]
            if not self.metrics:
                return self._heading()
        words = len(_WORD.findall(self.body))
        if words > 30 + 6 * self.keys or (self.keys <= 2 and words > 24):
            return None  # a sentence
        total = self.totals.get(step[1]) if step else None
        wanted = [step[1] if step else None, total, self.epoch]
        wanted += [m.slot for m in self.metrics] + [m.whole for m in self.metrics]
        needed = sorted({w for w in wanted if w is not None})
        slot = {token: at for at, token in enumerate(needed)}
        return Shape(
            texts=texts_of(self.parts),
            needed=tuple(needed),
            step=slot[step[1]] if step else None,
            total=None if total is None else slot[total],
            step_kind=step[2] if step else "step",
            epoch=None if self.epoch is None else slot[self.epoch],
            metrics=tuple(
                Metric(
                    slot[m.slot],
                    m.raw,
                    m.split,
                    m.canonical,
                    m.percent,
                    None if m.whole is None else slot[m.whole],
                )
                for m in self.metrics
            ),
            header_split="" if self.metrics else self.split,
            places=self._places(step),
            stamped=self.stamped,
            bar=families.is_bar(self.body),
            strong=any(_of_a_data_set(m.canonical) for m in self.metrics),
            flags=families.marks(self.body, self.prefix)
            | ({EPOCH_FIRST} if counted is not None else set())
            | ({SUMMARY} if _EPOCH_MEANS.match(self.body) else set()),
        )

    def _is_ambiguous(self, metric: Metric) -> bool:
        """`Val metrics: {'mAP': 0.2}` and a logger's `mAP: 76.1%` need no step."""
        told = metric.split == "eval" or (metric.percent and bool(self.prefix.strip()))
        spelled = metric.raw == "mAP" and told
        return not spelled and keys.is_ambiguous(metric.raw)

    def _places(self, step: tuple[int, int, StepKind] | None) -> bool:
        """Whether lines below may stand at this step: a named one, and not one of an evaluation."""
        if step is None or self.split in ("eval", "test"):
            return False
        return step[0] <= 4 and step[0] != keys.PLURAL

    def _heading(self) -> Shape | None:
        """`Evaluation 3:`: no step, no metric, but what the next lines are about."""
        if not self.split or len(self.body) > 60 or len(_WORD.findall(self.body)) > 4 or _of_both(self.body):
            return None
        return Shape(texts_of(self.parts), (), header_split=self.split)


def _of_a_data_set(canonical: str) -> bool:
    quantity = names.base(canonical)
    return "/loss" in canonical or (quantity is not None and quantity.split)
