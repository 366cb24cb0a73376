"""The name of a number: what the text before it says, and whether that is a step, an epoch or a metric."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from ...assembly import names

StepKind = Literal["step", "iteration", "batch", "bare", "sample"]
Separator = Literal[":", "=", "is", " ", "bracket", "none"]

TRAIN = frozenset({"train", "training", "trn", "tr", "fit"})
EVAL = frozenset(
    {
        "val",
        "valid",
        "validation",
        "validating",
        "validate",
        "validated",
        "eval",
        "evaluation",
        "evaluating",
        "evaluated",
        "dev",
        "evalcallback",
        "devel",
        "vld",
        "vali",
        "va",
        "heldout",
        "held-out",
        "held out",
    }
)
TEST = frozenset({"test", "testing", "tests", "te", "tst", "holdout", "hold-out"})
SPLITS = TRAIN | EVAL | TEST

_OPENING = " \t\"'[({<~$*#"
_WRAPPER = re.compile(
    r"(?:tensor|array|parameter|float(?:16|32|64)?|bfloat16|item|scalar)\s*\($", re.IGNORECASE
)
_MODULE = re.compile(r"\b(?:np|numpy|jnp|torch|mindspore|ms)\.$")
# What ends the text that belongs to something else. "Val. Loss" and "Avg. Acc" are names.
_DELIMITER = re.compile(
    r"[,;|•·\[\]{}\t!?\"'<>*#=]|  +|:\s|:$|\s[-–—~]+\s|^\s*[-–—>~]+\s?|\)\s|[-=]>|…|\(\s"
    r"|[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]"  # arrows, pictures
    r"|(?<!\bVal)(?<!\bval)(?<!\bAvg)(?<!\bavg)(?<!\bAcc)\.\s"
)
_CELL = re.compile(r"^\s*[|│┃║]\s*([A-Za-z][^|│┃║\d]{0,60}?)\s*[|│┃║]\s*$")  # "| val/acc | 0.91 |"
_IN_BRACKETS = re.compile(r"\s*\(([^()]*)\)$")
_OPENED = re.compile(r"(?:^|\s)(?:\w+ )?\(([A-Za-z][\w@ .-]{1,30})$")  # "valid (NDCG@10: 0.3, HR@10: 0.5)"
_SPREAD = frozenset({"std", "stddev", "deviation", "variance", "var"})
_SOURCE_FILE = re.compile(r"\.(?:py|cc|cpp|c|h|go|rs|ipynb)$")
_GLUED = re.compile(r"(?:\bepoch|\bep|^\[?e)$", re.IGNORECASE)
_PARTS = re.compile(r"[\s/_\-.]+")
_DASHED = re.compile(r"(?:^|[,;|\[(]\s*)[A-Za-z]\w* -$")


_SPELLED = ("mAP",)  # as nothing but the metric is written


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A name does not reach back over these.
_STOP = _words(
    """
    the with and a an of for in on to from my our this that has had have got new now new: done finished after
    model diverged results result summary set average: metric metrics scores score: - -- -> --> at end is was
    epoch-level reached by as be all
    """
)
# Said of one number out of a curve, or of a setting.
_REJECT = _words(
    """
    best max min maximum minimum lowest highest target threshold previous prev initial init final patience
    improved improvement delta warmup decay factor old expected peak weight weights coef coeff coefficient
    weighting lambda gamma alpha beta type fn smoothing interval freq frequency every schedule scheduler size
    window num count id port pid gpu gpus cpu memory mem time timing seconds sec ms per total_params diff
    difference tolerance tol name version index bound limit avg_time class
    """
)
_OF_COSTS = frozenset({"cost", "avg", "average", "mean", "training"}) | {
    "train",
    "val",
    "valid",
    "validation",
    "test",
}
_OF_IDENTITIES = frozenset({"id_loss", "loss_id"})  # of trackers: which one it is
_NOT_OF_A_CURVE = re.compile(r"\b(?:best|max|min|final|target|initial|previous|prev)")
_EPOCH = _words("epoch ep ep. epoch_num epoch_id cur_epoch current_epoch epoch_idx trainer/epoch e")
_NUMBER = frozenset({"number", "num", "no", "no.", "nr", "nr."})
# The lower the number, the more it is the step that counts when a line names several.
_STEPS: dict[str, tuple[int, StepKind]] = {
    **dict.fromkeys(
        _words(
            "global_step globalstep trainer/global_step train/global_step num_updates total_step train_step"
        ),
        (0, "step"),
    ),
    "global step": (0, "step"),
    **dict.fromkeys(
        _words("step current_steps current_step cur_step step_num step_idx completed_steps"), (1, "step")
    ),
    **dict.fromkeys(_words("iteration iter itr it n_iter cur_iter iter_num"), (2, "iteration")),
    **dict.fromkeys(_words("episode round"), (2, "step")),
    **dict.fromkeys(_words("iterations iters"), (3, "iteration")),
    **dict.fromkeys(_words("steps update updates upd"), (3, "step")),
    **dict.fromkeys(_words("batch batch_id batch_idx minibatch mini-batch"), (4, "batch")),
    "batch idx": (4, "batch"),
}
PLURAL = 3  # the priority of plural names: they are as often settings as steps
_BEFORE_STEP = _words(
    """
    global training train current cur completed opt optimizer optim finished mini local total done eval valid
    iteration validation val test evaluation update inner outer round inner: server learner actor env agent
    environment gradient
    """
)
# Words that mean a metric only where a separator and a step stand beside them.
_AMBIGUOUS = _words(
    """
    error err scale scaler norm grad map precision cost return skip skipped l1 value entropy recall objective
    criterion overflow top1 total r2 reward score nll
    """
)
_OF_SCALES = _words("loss grad gradient fp16 amp scaler dynamic current cur new mixed precision parameter")
_BARE_AMBIGUOUS = _AMBIGUOUS - {"reward", "return", "entropy", "top1"}


@lru_cache(maxsize=8192)
def canonical(key: str) -> str | None:
    """The canonical name of a quantity; see `names.canonical`."""
    return names.canonical(key)


def key_of(before: str) -> tuple[str, Separator]:
    """Split the text before a number into the name of the number and the separator.

    Returns ("", separator) when no name stands there; the separator is "bracket" in "Batch [50]".
    """
    cell = _CELL.match(before)
    if cell is not None:
        return _last_words(cell.group(1)), ":"
    text = _unwrapped(before)
    separator: Separator = " "
    if text.endswith(("->", "=>")):
        return "", ":"
    if text.endswith("epoch_") or (text == before and _GLUED.search(text)):
        return "epoch", " "  # "epoch_3", "E03"
    if text.endswith((":", "=")):
        separator = ":" if text[-1] == ":" else "="
        text = text[:-1].rstrip(" \t\"':=*")
    elif re.search(r"\b(?:is|was|of)$", text):
        separator = "is"
        text = text[: text.rfind(" ")] if " " in text else ""
    elif _DASHED.search(text):
        separator = "="  # "dice_loss - 0.2156, iou_score - 0.6585"
        text = text[:-1].rstrip()
    elif text == before:
        return "", "none"
    elif before[len(text)] in "([{<$*":
        separator = "bracket"
    return _last_words(_unbracketed(text.rstrip(" \t\"']*`"))), separator


def _unwrapped(before: str) -> str:
    """Take what opens before a number off the text: "loss: tensor(" -> "loss:"."""
    text = before.rstrip(" \t\"'[{<")
    wrapper = _WRAPPER.search(text)
    if wrapper is None:
        return before.rstrip(_OPENING)
    return _MODULE.sub("", text[: wrapper.start()].rstrip(_OPENING)).rstrip(_OPENING)


def _unbracketed(text: str) -> str:
    """ "Loss (train)" -> "Loss train", "acc (higher is better)" -> "acc"."""
    inner = _IN_BRACKETS.search(text)
    if inner is None:
        return text
    text = text[: inner.start()]
    split = inner.group(1).lower() in SPLITS and not text.lower().endswith("epoch")
    return f"{text} {inner.group(1)}" if split else text


def _last_words(text: str) -> str:
    text = names.without_bars(text)  # bars part names elsewhere
    opened = _OPENED.search(text)
    text = opened.group(1) if opened else text
    words = _DELIMITER.split(text)[-1].split() if text else []
    if any(w.lower() in _SPREAD and after.lower() == "of" for w, after in pairwise(words)):
        return ""  # "Std of Reward"
    for at in range(len(words) - 1, -1, -1):
        if words[at].lower() in _STOP or not words[at].strip("-~"):
            words = words[at + 1 :]
            break
    found = " ".join(words[-6:]).strip("()*`")
    return found if any(c.isalpha() for c in found) else ""


def _without_number(words: list[str]) -> list[str]:
    """`epoch number 3`, `iteration no. 20`: the words that say what is counted."""
    return words[:-1] if len(words) > 1 and words[-1] in _NUMBER else words


def is_epoch(words: list[str], separator: Separator) -> bool:
    """Say whether the name of a number is that of an epoch (a lone "e" too)."""
    words = _without_number(words)
    return words[-1] in _EPOCH and separator != "none" and (words[-1] != "e" or len(words) == 1)


def side_of(words: list[str]) -> Literal["", "train", "eval"]:
    """The data set that a number is of whose name is nothing else: `train 2.31  val 2.40`."""
    word = words[0].strip(".:") if len(words) == 1 else ""
    return "train" if word in TRAIN else "eval" if word in EVAL or word in TEST else ""


def step_of(words: list[str]) -> tuple[int, StepKind] | None:
    """Return (priority, kind) of the name of a step, or None."""
    words = _without_number(words)
    last = words[-1].strip("*")
    pair = " ".join(words[-2:])
    if pair in _STEPS:
        return _STEPS[pair]
    if last not in _STEPS or any(w not in _BEFORE_STEP for w in words[:-1]):
        return None
    if "total" in words[:-1] and last.endswith("s"):
        return None
    return _STEPS[last]


def quantity_of(key: str, separator: Separator) -> tuple[str, str] | None:
    """Return (raw name, canonical name) of a metric, or None."""
    if separator in ("none", "bracket") or len(key) > 80 or _SOURCE_FILE.search(key) or "...." in key:
        return None
    if key.isupper() and "_" in key:
        return None  # a line of a configuration: BASE_LR
    if key.lower().endswith(" ppl"):
        key = key[-3:]  # "lm loss PPL"
    if _rejected(key):
        return None
    words = key.split()
    for size in (len(words), *range(min(len(words) - 1, 3), 0, -1)):
        short = " ".join(words[-size:])
        found = canonical(short) if size <= 5 else None
        if found is None or not _allowed(found, words[-size:], words[:-size], separator):
            continue
        if size == len(words) or "/loss" not in found:
            return short, found
    return None


def needs_company(key: str) -> bool:
    """Say whether a word before a number is the name of a metric only where others stand beside it."""
    return key.lower() in _BARE_AMBIGUOUS and key not in _SPELLED


def _rejected(key: str) -> bool:
    parts = [w for w in _PARTS.split(key.lower()) if w]
    if "cost" in parts and not _OF_COSTS.issuperset(parts):
        return True  # batch_cost, reader_cost: seconds
    if not any(p in _REJECT for p in parts) or key.lower().split()[-1] in _OF_IDENTITIES:
        return False
    found = canonical(key)
    known = found is not None and "/loss/" not in found
    return not known or bool(_NOT_OF_A_CURVE.search(key.lower().replace("_", " ")))


def _allowed(found: str, words: list[str], before: list[str], separator: Separator) -> bool:
    """Whether the last words of a name may stand for a quantity, with those `before` them left out."""
    if separator == " " and len(words) == 1 and words[0].lower() in _BARE_AMBIGUOUS:
        return words[0] in _SPELLED
    whole = _OF_SCALES.intersection(p for w in words for p in _PARTS.split(w.lower()))  # "loss_scale" itself
    if found == "loss_scale" and not whole and before and before[-1].lower() not in _OF_SCALES:
        return False  # "Logit Scale: 14.3"; but "overflow: True loss_scale: 1.0"
    if "/loss/" in found:
        return "scale" not in found and (separator != " " or len(words) <= 3)
    return True


def names_split(raw: str) -> bool:
    """Say whether the name of a metric itself tells the data set: `val_acc`, `TestAcc`."""
    return any(w.strip(".:()") in SPLITS for w in _PARTS.split(raw.lower())) or names.tells_split(raw)


def is_ambiguous(raw: str) -> bool:
    """Say whether a name means a metric only beside a step."""
    rest = [w for w in _PARTS.split(raw.lower()) if w and w not in SPLITS]
    return len(rest) == 1 and rest[0] in _AMBIGUOUS
