"""What is known of a run as a whole: facts, framework, task, and settings that its curves tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from ...engine.model import Scalar
from ..readers.config_file import clean
from ..run import Configured, Event, Series, Setting
from . import layout
from .contents import Read

MIN_POINTS = 5  # of a curve that is worth judging
_LIGHTNING = ("version:lightning", "version:pytorch-lightning", "version:pytorch_lightning")
_OTHER_FRAMEWORKS = frozenset(
    {"version:tensorflow", "version:mindspore", "version:paddlepaddle", "version:jax"}
)


def facts_of(mine: list[Read], root: str) -> tuple[dict[str, Scalar], dict[str, str]]:
    """What is known of the run, and from which file. A log says what was in use, a list of packages what was
    meant: it is last.
    """
    facts: dict[str, Scalar] = {}
    files: dict[str, str] = {}
    for read in sorted(mine, key=lambda r: r.content.format == "packages"):
        for key, value in read.content.facts.items():
            if key not in facts:
                facts[key], files[key] = clean(key, value), read.path  # type: ignore[assignment]
    if "framework" not in facts and not facts.keys() & _OTHER_FRAMEWORKS:
        told = layout.by_lightning([r.path for r in mine], root)
        told = told or next((files[key] for key in _LIGHTNING if key in facts), None)
        if told is not None:
            facts["framework"], files["framework"] = "pytorch", told
    return facts, files


def context_of(
    curves: Mapping[str, Series],
    settings: Mapping[str, Configured],
    facts: Mapping[str, Scalar],
    ranks: Mapping[int, Mapping[str, Series]],
    events: tuple[Event, ...],
    formats: Iterable[str] = (),
) -> dict[str, Scalar]:
    """Facts that rules may depend on (`applies_when`): only what is known stands here."""
    found: dict[str, Scalar] = {}

    def setting(key: str) -> Scalar:
        value = settings[key].value if key in settings else None
        return None if isinstance(value, tuple) else value

    for key in ("precision", "world_size"):
        if setting(key) is not None:
            found[key] = setting(key)
    if len(ranks) > 1:
        size = found.get("world_size")
        found["world_size"] = max(len(ranks), int(size) if isinstance(size, (int, float)) else 0)
    optimizer = str(setting("optimizer") or "").lower()
    if optimizer:
        adam = ("adam", "lamb", "lion", "adafactor", "rmsprop", "adagrad", "adadelta", "muon", "sophia")
        found["optimizer_family"] = "adam" if any(a in optimizer for a in adam) else "sgd"
    for key in ("framework", "device"):
        if facts.get(key) is not None:
            found[key] = facts[key]
    if any(e.kind in ("resume", "rewind") for e in events):
        found["resumed"] = True
    task = _task(curves, settings)
    if task:
        found["task"] = task
    if (
        task == "language-model"
        or "vocab_size" in settings
        or "text-nanogpt" in formats
        or _reads_text(setting)
    ):
        found["inputs"] = "tokens"
    return dict(sorted(found.items()))


_OF_TEXT = re.compile(
    r"(?<![a-z])(?:(?:code|tiny|open|vicuna-)?llama|qwen|baichuan|chatglm|glm-|mi[sx]tral|gemma|phi-|gpt|bert|roberta|"
    r"deberta|distilbert|t5|mt5|bart|bloom|falcon|opt-|deepseek|internlm|yi-|minicpm|pythia|olmo|smollm)"
)
_OF_SIGHT = re.compile(r"vl\b|[-_]v\b|vision|visual|clip|llava|vit|image|audio|omni")


def _reads_text(setting: Callable[[str], Scalar]) -> bool:
    """Whether the settings name a model that reads text and nothing else."""
    name = str(setting("model") or "").lower().rpartition("/")[2]
    if _OF_SIGHT.search(name):
        return False
    return bool(_OF_TEXT.search(name))


def _task(curves: Mapping[str, Series], settings: Mapping[str, Configured]) -> str | None:
    def logged(*metrics: str) -> bool:
        return any(f"{s}/{m}" in curves for s in ("train", "eval") for m in metrics)

    tokens = logged("perplexity", "bits") or predicts_tokens(curves)
    words, classes = settings.get("vocab_size"), settings.get("num_classes")
    # whole texts are classified where the classes are not as many as the words, and the answers are scored
    labels = words is not None and classes is not None and classes.value != words.value
    if tokens or (words is not None and not (labels and logged("accuracy", "f1", "auc"))):
        return "language-model"
    if logged("accuracy", "f1", "auc", "error") or "num_classes" in settings:
        return "classification"
    if logged("mse", "rmse", "mae", "mape", "r2"):
        return "regression"
    return "reinforcement" if logged("reward") else None


_MONITORED = re.compile(r"lr-([A-Za-z]{2,20})(?:[-/]\w{1,20})?")  # Lightning's LearningRateMonitor


def optimizer_of(named: Iterable[Series]) -> Iterator[Setting]:
    """The optimizer that a learning rate is called after: "lr-AdamW"."""
    for series in named:
        match = _MONITORED.fullmatch(series.raw)
        if series.name == "learning_rate" and match is not None:
            line = int(series.lines[0]) if series.lines is not None and len(series.lines) else None
            yield Setting("optimizer", match.group(1), series.file, line, 90)
            return


MOVED = 40  # trust in a number format that nobody names: below any setting that does, above a default
_GROWN = 2.0  # from one logged scale to the next, by halves or doubles at least once


def format_of(curves: Mapping[str, Series]) -> Iterator[Setting]:
    """A loss scale that moves is a dynamic scaler's, and only fp16 needs one.

    A bare word such as "scale" may mean something else: the numbers must be of the size of a loss scale, and
    one must be the half or the double of the one before it.
    """
    series = curves.get("loss_scale")
    if series is None:
        return
    values = series.values[np.isfinite(series.values) & (series.values > 0)]
    if len(values) < MIN_POINTS or float(np.max(values)) < 64:
        return
    apart = np.abs(np.diff(np.log2(values)))  # of logarithms: a quotient of absurd scales is no float
    ratios = np.exp2(np.minimum(apart, 64))
    if np.any(np.isclose(ratios, _GROWN, rtol=1e-3)):
        line = int(series.lines[0]) if series.lines is not None and len(series.lines) else None
        yield Setting("precision", "fp16", series.file, line, MOVED)


def predicts_tokens(curves: Mapping[str, Series]) -> bool:
    """The training loss is called a language-model loss."""
    loss = curves.get("train/loss")
    return loss is not None and loss.raw.lower().replace("-", " ").replace("_", " ").startswith("lm loss")
