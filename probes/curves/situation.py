"""What kind of run it is, for judging its curves: classes, a trained start, metrics, how much was seen."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from ..assembly import names
from ..config.values import of_torchtune
from ..run import Configured, Floats, Run, Series
from ..settings import last_part
from . import stats
from .shapes import Shape, shape

REGRESSION = (
    "mse",
    "l1",
    "l2",
    "mae",
    "huber",
    "smooth",
    "rmse",
    "regress",
    "squared",
    "gaussian",
    "charbonnier",
)
FRACTIONS = ("accuracy", "f1", "auc", "map", "map50", "iou", "dice", "precision", "recall", "pck")
OTHERS = ("r2", "bleu", "rouge", "chrf", "psnr", "ssim", "auprc", "correlation", "reward")
# Less is better; none of them is the loss in another unit, as a perplexity or a squared error is.
ERRORS: tuple[str, ...] = (
    *("wer", "eer", "min_dcf", "fid", "lpips", "mpjpe", "abs_rel", "hd95", "mcd", "epe", "nme"),
    *("displacement", "crps", "mape", "mae", "error"),
)
ADVERSARIAL = frozenset({"g", "d", "gen", "disc", "generator", "discriminator", "gan", "adv", "adversarial"})
REINFORCED = frozenset(
    {"policy", "actor", "critic", "act", "cri", "ppo", "vf", "pg", "td", "qf", "qf1", "qf2", "q", "value"}
)
ACTING = frozenset({"policy", "actor", "ppo"})  # one of these is enough: nothing else has a loss of that name
STEPS = ("step", "iteration")
ANY_CLASSES = (*range(2, 201), 365, 500, 1000)
USUAL_CLASSES = (*range(2, 21), 50, 100, 1000)  # far enough apart for a first loss to tell which


@dataclass(frozen=True, slots=True)
class Classes:
    """The number of classes (or words) the loss chooses among, and where that is known from."""

    count: int
    setting: Configured


def main_loss(run: Run) -> Series | None:
    """The training loss; where only terms of it were logged, the one with the most points."""
    if "train/loss" in run.series:
        return run.series["train/loss"]
    terms = [s for n, s in sorted(run.series.items()) if n.startswith("train/loss/")]
    return max(terms, key=len, default=None)


def no_loss(run: Run) -> str:
    """Why there is no training loss to look at."""
    if any(n.startswith("eval/loss") for n in run.series):
        return "only eval/loss was logged; this is about the training loss"
    return "the run has no train/loss"


def terms(run: Run, split: str = "train") -> dict[str, Series]:
    """The terms of the loss, by canonical name."""
    return {n: s for n, s in sorted(run.series.items()) if n.startswith(f"{split}/loss/")}


def summed_by_design(run: Run) -> bool:
    """Whether the settings ask for sums over the batch, and the run learns well with them."""
    asked = any(
        last_part(s.key) in ("reduction", "loss_reduction", "ctc_loss_reduction") and s.value == "sum"
        for s in run.raw_settings
    )
    judged = quality(run) if asked else None
    return judged is not None and judged[0] == "good"


_OF_SEQUENCES = re.compile(r"\bcrf_log_likelihood\(|\bCRF\(|\b(?:Linear|Conditional)\w*CRF\w*\(|\bcrf_loss\(")


def is_sum(run: Run, split: str = "train") -> bool:
    """Whether the loss is a sum: several of its terms were logged, or one that is another number.

    That of a whole sequence (a conditional random field) is one over parts that accuracy counts singly.
    """
    if any(_OF_SEQUENCES.search(code) for code in run.scripts.values()):
        return True
    total, parts = run.series.get(f"{split}/loss"), list(terms(run, split).values())
    if summed_by_design(run):
        return True
    if total is None or len(parts) != 1:
        return len(parts) > 1
    return not np.array_equal(total.values, parts[0].values, equal_nan=True)


def number(run: Run, key: str) -> float | None:
    """A numeric setting, or None."""
    value = run.settings[key].value if key in run.settings else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def text(run: Run, key: str) -> str:
    """A setting in lower-case letters; "" where it is not known."""
    return str(run.settings[key].value).lower() if key in run.settings else ""


def switched_on(run: Run, key: str) -> bool:
    """Whether a setting is known and neither off, empty nor zero."""
    return text(run, key) not in ("", "false", "none", "no", "0", "0.0", "scratch", "random", "null")


def regression(run: Run) -> bool:
    """Whether the loss is known to be one without an absolute scale."""
    loss = text(run, "loss_function")
    if any(word in loss for word in REGRESSION) and "entropy" not in loss:  # label_smoothed_cross_entropy
        return True
    return run.info.context.get("task") == "regression"


_BINARY = re.compile(
    r"(?:.*\.)?(?:bce_?(?:with_?)?(?:logits)?_?(?:loss)?|binary_?cross_?entropy_?(?:with_?logits)?_?(?:loss)?)"
)


def binary(run: Run) -> bool:
    """Whether the loss is known to be a binary cross-entropy (also one over several labels)."""
    return _BINARY.fullmatch(text(run, "loss_function")) is not None


def classes(run: Run) -> Classes | None:
    """How many classes the loss chooses among, where a setting says so and the loss is a cross-entropy."""
    if regression(run):
        return None
    if binary(run):
        return Classes(2, run.settings["loss_function"])
    if any(name.endswith("/contrastive") for name in terms(run)) and not is_sum(run):
        size = number(run, "global_batch_size")  # each sample is told from the others of its batch
        return Classes(int(size), run.settings["global_batch_size"]) if size and size >= 2 else None
    for key in ("num_classes", "vocab_size"):
        count = number(run, key)
        if count is not None and 1 <= count < 1e7:
            return Classes(max(2, int(count)), run.settings[key])
    return None


def chance_loss(run: Run, count: int) -> float:
    """Cross-entropy of a uniform guess among `count` classes, in the unit the run logs."""
    bits = run.facts.get("loss_base") == 2
    return math.log(count) / (math.log(2) if bits else 1.0)


def classes_by_start(
    run: Run, first: float, *, low: float = 0.99, among: tuple[int, ...] = ANY_CLASSES
) -> tuple[int, ...]:
    """The K for which this first loss is that of a guess: from `low` to 1.01 times ln K."""
    return tuple(k for k in among if low <= first / chance_loss(run, k) <= 1.01)


def objective(run: Run) -> str | None:
    """Why the course of this loss says nothing of convergence (adversarial, reinforcement), or None."""
    words: set[str] = set()
    for name in terms(run):
        words |= set(name.rpartition("/")[2].split("_"))
    if (
        words & {"gan", "adversarial", "discriminator", "disc"}
        or {"g", "d"} <= words
        or {"gen", "d"} <= words
    ):
        return "adversarial losses need not fall"
    raw = " ".join(s.raw.lower() for s in run.all_series)
    rollout = any(w in raw for w in ("approx_kl", "clip_frac", "rollout/", "ep_rew", "episode"))
    answers = any(
        n.endswith("/accuracy") for n in run.series
    )  # a model of rewards says how many it gets right
    rewarded = any(n.endswith("/reward") for n in run.series) and not answers
    if rollout or rewarded or len(words & REINFORCED) >= 2 or words & ACTING:
        return "in reinforcement learning the return tells, not the loss"
    return None


_DIFFUSES = frozenset(
    (
        "snr_gamma",
        "min_snr_gamma",
        "noise_offset",
        "num_train_timesteps",
        "unet_lr",
        "train_unet",
        "beta_schedule",
    )
)
_DIFFUSION = re.compile(
    r"(?i)stable-?diffusion|sd_?xl|\bddpm|networks\.lora|\bflux\.?1|^(?:t2v|i2v|t2i|i2i)\w{0,8}$|\bopen-?sora"
    r"|\bhunyuan-?video|\bcogvideo|\bwan-?2\.\d|\bflow[_-]?match|\brectified[_-]?flow"
)


_NOISE_KNOWN = 0.5  # of the variance of the noise, which an untrained model is left with


def diffuses(run: Run) -> str | None:
    """Say that noise is learned to be taken away; None where it is not.

    What a step costs is ruled by how much noise was drawn for it, and hardly falls in fine-tuning.
    """
    told = any(
        s.key.rpartition(".")[2] in _DIFFUSES or (isinstance(s.value, str) and _DIFFUSION.search(s.value))
        for s in run.raw_settings
    )
    return "the loss of a diffusion model is ruled by the noise that was drawn" if told else None


def aligned(run: Run) -> bool:
    """Whether the loss sums over alignments of frames and labels (CTC), as names, settings or scripts say."""
    words = [s.raw for s in run.all_series]
    words += [f"{s.key} {s.value}" for s in run.raw_settings if isinstance(s.value, (str, bool))]
    told = " ".join(words).lower()
    if re.search(r"(?<![a-z])(?:for)?ctc(?![a-z])|forctc|ctcloss|rnnt", told):
        return True
    return any(re.search(r"CTCLoss|ctc_loss|ctc_batch_cost", text) for text in run.scripts.values())


def reinforced(run: Run) -> str | None:
    """Say that a policy is trained by its return; None where it is not."""
    why = objective(run)
    return why if why is not None and "reinforcement" in why else None


def preferred(run: Run) -> str | None:
    """Say that a policy is trained by preferences (DPO and its kin); None where no log says so."""
    told = any(n.endswith(("/preference_margin", "/reward_chosen")) for n in run.series)
    return "a policy is trained by preferences" if told else None


def moves_a_policy(run: Run) -> str | None:
    """Say that a policy is trained, by its return or by preferences; None where neither is told."""
    return reinforced(run) or preferred(run)


def bottomless(series: Series) -> str | None:
    """Say that a loss runs away below zero, where no level is left to jump from; None where it does not.

    The log-likelihood of a density falls below zero as well, but not to many times what it began with.
    """
    values = series.values[np.isfinite(series.values)]
    if len(values) < 6 or np.mean(values < 0) < 0.1:
        return None
    first, low = float(np.median(np.abs(values[:3]))), float(np.min(values))
    return f"{series.name} falls to {low:.4g}, without a floor" if low < -10 * max(1.0, first) else None


NAMES_MODEL = frozenset(("base_model", "model_name_or_path", "pretrained_model_name_or_path"))
_OF_LANGUAGE = re.compile(r"(?i)\blm[ _-]?loss\b")  # Megatron and its relatives
LEAST_GUESS = math.log(32)  # a model of single letters has about so many: no vocabulary is smaller


def trained_start(run: Run, curve: Shape | None = None) -> str | None:
    """Why this run probably started from trained weights, or None."""
    own = resumed_itself(run)
    for key in ("resume_from", "pretrained", "adapter", "lora_rank"):
        if switched_on(run, key) and not (own and key == "resume_from"):
            return f"{key} is set"
    if any(s.key.endswith("pretrained_model_name_or_path") and s.value for s in run.raw_settings):
        return "a pretrained model is named"
    if any(s.key.rpartition(".")[2] == "finetuning_type" and s.value for s in run.raw_settings):
        return "finetuning_type is set"
    if of_torchtune(run):
        return "torchtune trains models further"
    told = ("weights-newly-initialized",) if own else ("resume", "weights-newly-initialized")
    if any(e.kind in told for e in run.events):
        return "the log says that trained weights were loaded"
    framework = str(run.facts.get("framework") or "").lower()
    if any(word in framework for word in ("transformers", "hugging", "hf", "llamafactory", "llama-factory")):
        return "the Hugging Face Trainer usually fine-tunes"
    if "text-hf" in run.info.formats and any(k == "version:transformers" for k in run.facts):
        return "the lines of the Hugging Face Trainer are there, which usually fine-tunes"
    known = classes(run)
    if curve is not None and known is not None and known.setting.key == "vocab_size":
        if curve.start.value < 0.6 * chance_loss(run, known.count):
            return f"the first loss {curve.start.value:.3g} is far below ln {known.count}"
    if curve is not None and _OF_LANGUAGE.search(curve.series.raw) and curve.start.value < LEAST_GUESS:
        return f"the first {curve.series.raw} {curve.start.value:.3g} is below a guess among 32 letters"
    worded = any(f"{split}/perplexity" in run.series for split in ("train", "eval"))
    if curve is not None and worded and _hardly_begun(run, curve) and curve.start.value < LEAST_GUESS:
        return f"the first loss {curve.start.value:.3g} of a language model is below a guess among 32 letters"
    if curve is not None and worded and curve.start.value < math.log(2) and curve.best_progress < 0.2:
        return f"the loss of a language model is {curve.start.value:.3g} from the first row on"
    if curve is not None and diffuses(run) and curve.start.value < _NOISE_KNOWN:
        return f"the first loss {curve.start.value:.3g} is far below that of noise that nothing is known of"
    judged = quality(run)
    if curve is not None and judged and judged[0] == "good" and curve.best_progress < 0.5:
        return f"{judged[1]} though the loss fell by {max(curve.best_progress, 0):.0%} only"
    if curve is not None and _starts_late(curve):
        return f"the log begins at step {curve.step(0):g}"
    return None


_MOVED = (
    2e-3  # how far Adam can have moved a weight by then; first weights of language models are ten times that
)


def _hardly_begun(run: Run, curve: Shape) -> bool:
    """The first value of a loss is of steps that can have taught an untrained model next to nothing."""
    if curve.step(0) <= 20:
        return True
    rate = run.series.get("learning_rate")
    peak = float(np.nanmax(rate.values)) if rate is not None and len(rate) else number(run, "learning_rate")
    return curve.series.unit in STEPS and peak is not None and peak * curve.step(0) <= _MOVED


def resumed_itself(run: Run) -> bool:
    """Whether what was resumed is this very run, and its log holds the beginning: it started untrained."""
    loss = main_loss(run)
    resumes = [e for e in run.events if e.kind in ("resume", "rewind")]
    if loss is None or not resumes or len(loss) < 2 or loss.unit not in (*STEPS, "epoch"):
        return False
    gaps = np.diff(loss.steps)
    interval = float(np.median(gaps[gaps > 0])) if np.any(gaps > 0) else 1.0
    first = float(loss.steps[0])
    return first <= 5 * interval + 1 and all(e.step is not None and e.step >= first for e in resumes)


def turned_up(run: Run, rise: float = 0.05) -> str | None:
    """Says that the evaluation loss was best long before the end and has risen by `rise` since; else None.

    Then neither longer training nor larger steps are what is missing.
    """
    series = run.series.get("eval/loss")
    held = shape(series) if series is not None else None
    if held is None or held.count < 5 or not held.positive:
        return None
    at = int(np.argmin(held.y))
    end = float(np.median(held.y[-max(2, held.count // 5) :]))
    best = float(held.y[at])
    if at > 0.6 * (held.count - 1) or end < (1 + rise) * best or end - best < 3 * held.sigma_tail:
        return None
    return f"{held.name} was best at step {held.step(at):g} ({best:.4g}) and has risen to {end:.4g} since"


def _starts_late(curve: Shape) -> bool:
    if curve.series.unit not in (*STEPS, "epoch") or curve.count < 5:
        return False
    interval = float(np.median(np.diff(curve.series.steps[curve.index])))
    return interval > 0 and curve.step(0) > 5 * interval + 1


def metric(run: Run, split: str, kinds: tuple[str, ...] = FRACTIONS) -> Series | None:
    """The main metric of a split where higher is better: the first of `kinds` that was logged."""
    for kind in kinds:
        found = run.series.get(f"{split}/{kind}")
        if found is not None and np.any(np.isfinite(found.values)):
            return found
    return None


def error_metric(run: Run, split: str, kinds: tuple[str, ...] = ERRORS) -> Series | None:
    """The main metric of a split where less is better; not what follows its loss or its accuracy."""
    loss = run.series.get(f"{split}/loss")
    for kind in kinds:
        found = run.series.get(f"{split}/{kind}")
        if found is None or not np.any(np.isfinite(found.values)):
            continue
        if loss is not None and kind in ("mae", "mape"):
            continue  # it says once more what the loss of a regression says
        if kind != "error" or f"{split}/accuracy" not in run.series:
            return found
    return None


def metric_or_error(run: Run, split: str, kinds: tuple[str, ...]) -> Series | None:
    """The main metric of a split, of `kinds`; where none of these was logged, one where less is better."""
    return metric(run, split, kinds) or error_metric(run, split)


def less_is_better(series: Series) -> bool:
    """Whether a metric is an error, by the table of names."""
    quantity = names.base(series.name)
    return quantity is not None and quantity.lower


def right_by_eer(run: Run, split: str = "eval") -> Series | None:
    """One less the equal error rate: of those accepted and those refused, so many are told apart.

    Speaker verification logs it in percent as often as not. Guessing gives one half.
    """
    series = run.series.get(f"{split}/eer")
    finite = series.values[np.isfinite(series.values)] if series is not None else np.empty(0)
    if series is None or not len(finite) or float(np.min(finite)) < 0:
        return None
    whole = 100.0 if float(np.max(finite)) > 1 else 1.0
    return replace(series, values=1.0 - series.values / whole)


def reached(series: Series, part: float = 0.2) -> float:
    """The median of the last part of a metric's finite values."""
    values = series.values[np.isfinite(series.values)]
    return float(np.median(values[-max(1, round(part * len(values))) :]))


def quality(run: Run, splits: tuple[str, ...] = ("train", "eval")) -> tuple[str, str] | None:
    """("good" | "poor", sentence) by a metric of these data; None where no metric says either."""
    chance = 1.0 / known.count if (known := classes(run)) and known.setting.key == "num_classes" else None
    for split in splits:
        series = metric(run, split)
        if series is None:
            continue
        value = reached(series)
        if value >= 0.8:
            return "good", f"{series.name} reaches {value:.3g}"
        guess = 0.5 if series.name.endswith("/auc") else chance
        if guess is not None and value <= guess + 0.15 * (1 - guess):
            return "poor", f"{series.name} is only {value:.3g}, a guess gives {guess:.3g}"
        if guess is None and value < 0.3 and not series.name.endswith(("map", "map50")):
            return "poor", f"{series.name} is only {value:.3g}"
    for split in splits:
        found = run.series.get(f"{split}/r2")
        if found is not None and np.any(np.isfinite(found.values)):
            value = reached(found)
            return ("good" if value > 0.5 else "poor"), f"{found.name} is {value:.3g}"
    return None


RANKS = 0.75  # of pairs in the right order; a guess has half of them


def ranks_well(run: Run) -> str | None:
    """Say that scores of evaluation data tell the classes apart, whatever a threshold makes of them."""
    series = run.series.get("eval/auc")
    if series is None or not np.any(np.isfinite(series.values)):
        return None
    level = reached(series) / (100.0 if float(np.nanmax(series.values)) > 1 else 1.0)
    return f"{series.name} is {level:.3g}" if RANKS <= level <= 1 else None


def scored_on_nothing(run: Run) -> bool:
    """Whether every evaluation has a loss of exactly zero: it is of no samples, or stands for none."""
    loss = run.series.get("eval/loss")
    return loss is not None and len(loss) >= 3 and bool(np.all(loss.values == 0))


def planned_share(run: Run, series: Series) -> float | None:
    """How much of the planned run this curve covers (may exceed 1); None where the plan is not known."""
    last = float(np.max(series.steps)) if len(series.steps) else 0.0
    epochs, steps = number(run, "epochs"), number(run, "max_steps")
    if steps and steps > 0 and series.unit in STEPS:
        return last / steps
    if epochs and epochs > 0:
        if series.unit == "epoch":
            return (last - min(float(np.min(series.steps)), 1.0) + 1) / epochs
        if series.epochs is not None and len(series.epochs):
            return float(np.nanmax(series.epochs)) / epochs
        per_epoch = number(run, "steps_per_epoch")
        if per_epoch and series.unit in STEPS:
            return last / (per_epoch * epochs)
    return None


def too_early(run: Run, curve: Shape, points: int = 8) -> str | None:
    """Why convergence cannot be judged yet, or None: few points, few steps, little of the plan, warm-up."""
    if curve.count < (min(points, 5) if curve.series.unit == "epoch" else points):
        return f"{curve.name} has only {curve.count} points; {points} would be needed"
    if curve.series.unit in STEPS and curve.step(-1) - curve.step(0) < 19:
        return f"only {curve.step(-1) - curve.step(0) + 1:g} steps were logged"
    share = planned_share(run, curve.series)
    if share is not None and share < 0.3:
        return f"only {share:.0%} of the planned run was seen"
    if warming_up(run):
        return "the learning rate was still in its warm-up when the log ends"
    return None


def warming_up(run: Run) -> bool:
    """Whether the logged learning rate still rises at the end."""
    rate = run.series.get("learning_rate")
    if rate is None or len(rate.values) < 5:
        return False
    values = rate.values[np.isfinite(rate.values)]
    if len(values) < 5:
        return False
    earlier = float(values[int(0.8 * (len(values) - 1))])
    return bool(values[-1] >= np.max(values) and values[-1] > 1.05 * earlier)


def rate_jumps(run: Run, low: float, high: float, factor: float = 1.5) -> bool:
    """Whether the logged learning rate goes up by `factor` between these steps (a restart, a resume)."""
    rate = run.series.get("learning_rate")
    if rate is None:
        return False
    keep = np.isfinite(rate.values) & (rate.steps >= low) & (rate.steps <= high)
    values = rate.values[keep]
    if len(values) < 2:
        return False
    return bool(np.max(values / np.maximum(np.minimum.accumulate(values), 1e-300)) >= factor)


def effort(run: Run, curve: Shape) -> Floats | None:
    """The sum of the learning rates up to each point of a curve, [count] from 0 to 1.

    As long as updates are small, a loss falls with this sum, whatever the schedule. None where the learning
    rate was not logged over the whole curve, in its unit.
    """
    found = _rates(run, curve)
    if found is None:
        return None
    steps, values = found
    grid = np.union1d(steps, curve.x)
    rates = np.interp(grid, steps, values)
    total = np.concatenate([[0.0], np.cumsum(np.diff(grid) * (rates[1:] + rates[:-1]) / 2)])
    at = np.interp(curve.x, grid, total)
    span = float(at[-1] - at[0])
    return np.asarray((at - at[0]) / span) if span > 0 else None


def rate_left(run: Run, curve: Shape, tail: float) -> float | None:
    """The mean learning rate over the last part of a curve as a share of its peak; None where not logged."""
    found = _rates(run, curve)
    if found is None or float(np.max(found[1])) <= 0:
        return None
    steps, values = found
    since = curve.x[-1] - tail * (curve.x[-1] - curve.x[0])
    late = np.interp(np.linspace(since, curve.x[-1], 20), steps, values)
    return float(np.mean(late) / np.max(values))


def _rates(run: Run, curve: Shape, points: int = 5) -> tuple[Floats, Floats] | None:
    """Steps and values of the learning rate, where they cover the curve in its unit."""
    rate = run.series.get("learning_rate")
    if rate is None or rate.unit != curve.series.unit:
        return None
    kept = np.isfinite(rate.values) & np.isfinite(rate.steps)
    steps, values = rate.steps[kept], rate.values[kept]
    if len(steps) < points or np.any(np.diff(steps) <= 0):
        return None
    slack = 0.1 * (curve.x[-1] - curve.x[0])
    covered = steps[0] <= curve.x[0] + slack and steps[-1] >= curve.x[-1] - slack
    return (steps, values) if covered else None


def restarts_configured(run: Run) -> bool:
    """Whether the schedule is one that restarts."""
    name = text(run, "lr_scheduler")
    return any(word in name for word in ("restart", "cyclic", "sgdr", "warm_restarts", "warmrestarts"))


def metric_shape(series: Series) -> Shape | None:
    """The shape of a metric, turned so that falling is improving."""
    return shape(series if less_is_better(series) else replace(series, values=-series.values))


def scatter(series: Series) -> float:
    """The scatter of one point of a series."""
    return stats.noise(series.values[np.isfinite(series.values)])
