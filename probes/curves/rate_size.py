"""Learning rates far above or below what optimizers are used with, as logged or configured.

What counts as large depends on the optimizer; where that is unknown only values beyond the limits of both
families are judged.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...engine.model import State
from ..config.values import number_of, of_torchtune, says, value_of
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run, Series
from . import fitted, situation
from .learned import learned_all, learned_well, trains_little
from .learning_rate import CURVE, curve, seen_at, where, whole
from .no_number import broken
from .rate_course import vanishes
from .shapes import shape

_ADAM = frozenset(
    ["adam", "adamw", "adamweightdecay", "nadam", "radam", "rmsprop", "amsgrad", "adamax", "adabelief"]
)


_LANGUAGE = re.compile(
    r"bert|gpt|llama|qwen|mistral|gemma|t5|glm|bloom|opt-|phi|falcon|baichuan|deepseek|internlm|pangu"
)


_REFERENCE_BATCH = 256  # the linear scaling rule starts here


_NEAR = 0.1  # how far weights may have moved and still be those they were drawn as: half a usual spread


# Where a decay of second moments lies: 0.95 to 0.999 in what is published; LSTM GANs go down to 0.9
_MOMENTS = (0.9, 1.0)


def _second_moment(run: Run) -> bool:
    """Whether two decays of moments are configured, which only Adam and its kin have.

    Many configurations have no word for the optimizer because the program knows but one (nanoGPT, Megatron).
    The first of a diffusion's noise rates is called beta1 as well, and is far smaller.
    """
    first, second = number_of(run, "adam_beta1"), number_of(run, "adam_beta2")
    return first is not None and second is not None and 0 <= first < 1 and _MOMENTS[0] <= second < _MOMENTS[1]


def family(run: Run) -> str | None:
    """Return "adam", "sgd", or None when the optimizer is unknown or neither."""
    name = value_of(run, "optimizer")
    if name in _ADAM:
        return "adam"
    if name is None and "momentum" in run.settings and not {"adam_beta1", "adam_beta2"} & set(run.settings):
        return "sgd"  # a momentum and no betas
    if name is None and "momentum" not in run.settings and _second_moment(run):
        return "adam"
    if name is None and run.facts.get("trainer") == "transformers":
        return "adam"  # `optim` of TrainingArguments is AdamW where nothing else is said
    if name is None and situation.diffuses(run) and "pretrained_model_name_or_path" in _keys(run):
        return "adam"  # the scripts of diffusers take AdamW where `--use_8bit_adam` and the like say nothing
    return "sgd" if name == "sgd" else None


def _keys(run: Run) -> set[str]:
    return {s.key.rpartition(".")[2] for s in run.raw_settings}


def _peak(run: Run) -> tuple[float, str, dict[str, Any]] | None:
    """The largest learning rate in use: as logged, else as configured; with a sentence and its place."""
    lr = curve(run)
    setting = run.settings.get("learning_rate")
    value = number_of(run, "learning_rate")
    if lr is not None and lr.peak > 0 and (value is None or lr.peak >= value or whole(lr)):
        at = int(np.argmax(lr.values))
        return lr.peak, f"the learning rate reaches {lr.peak:.4g} at step {lr.steps[at]:g}", seen_at(lr, at)
    if setting is None or value is None or (lr is None and _is_factor(run, value)):
        return None
    if (lr is None or lr.peak == 0) and (peak := _noam_peak(run, value)) is not None:
        text = f"noam makes a peak of {peak:.3g} of the configured {value:g}"
        return peak, text, {"where": where(setting)}
    return value, f"the learning rate is configured as {value:g}", {"where": where(setting)}


def _noam_peak(run: Run, factor: float) -> float | None:
    """The largest rate of the schedule `noam`, which multiplies by sizes of its own (Vaswani et al. 2017)."""
    width, warm = number_of(run, "hidden_size"), number_of(run, "warmup_steps")
    named = any(isinstance(s.value, str) and s.value.lower().startswith("noam") for s in run.raw_settings)
    if not named or not width or not warm or width < 1 or warm < 1:
        return None
    return float(factor * width**-0.5 * warm**-0.5)


_SHRINKS = re.compile(
    r"(?i)\b(?:\w*step\w*|s|t|n|it|i|n_iter|num)(?:\s*\+\s*1(?:\.0?)?)?\)*\s*(?:\*\*\s*\(?|,)\s*-\s*(?:0?\.5|1\s*/\s*2)|rsqrt\("
)


def _is_factor(run: Run, value: float) -> bool:
    """The schedule multiplies the configured rate by a size of its own, as d_model ** -0.5 * step ** -0.5.

    A rate of 1 under a LambdaLR leaves the size of the rate to its function.
    """
    texts = [t for t in run.scripts.values() if "LambdaLR(" in t]
    return any(value == 1 or _SHRINKS.search(text) for text in texts)


def _peak_until_broken(run: Run) -> tuple[float, str, dict[str, Any]] | None:
    """The largest rate that is logged up to where the loss stays no number; None where it does not."""
    lr, bad = curve(run), broken(run)
    if lr is None or bad is None or not bad.lasting or bad.step is None:
        return None
    before = int(np.count_nonzero(lr.steps <= bad.step))
    if not before or before == len(lr.steps) or float(np.max(lr.values[:before])) <= 0:
        return None
    at = int(np.argmax(lr.values[:before]))
    text = (
        f"the learning rate reaches {lr.values[at]:.4g} at step {lr.steps[at]:g} and the loss breaks after it"
    )
    return float(lr.values[at]), text, seen_at(lr, at)


def _hardly_moved(run: Run, rate: float) -> str | None:
    """Says that no weight can have moved far when the loss broke; None where that is not known.

    Adam and its kin move no weight by more than about the rate in an update. Needs a loss that is logged by
    updates, and what is logged of it up to there.
    """
    bad = broken(run)
    if bad is None or bad.step is None or family(run) != "adam":
        return None
    loss = run.series.get(bad.name)
    if loss is None or loss.unit not in ("step", "iteration") or rate * (bad.step + 1) > _NEAR:
        return None
    return (
        f"up to step {bad.step:g}, where the loss breaks, Adam with {rate:g} has moved no weight by more than"
        f" about {rate * (bad.step + 1):.2g}"
    )


# a language model out of a hub that is trained as a whole, and what trains but a part of it
_TUNED = re.compile(
    r"\b(?:Auto|TFAuto|Bert|Roberta|XLMRoberta|DistilBert|Deberta\w*|Electra|T5|Bart|GPT2)"
    r"\w*(?:For(?!Image|Audio|Video|Object)\w+|LMHeadModel|Model)\.from_pretrained\("
)


_PARTLY = re.compile(
    r"(?i)requires_grad|trainable = False|peft|lora|adapter|no_grad\(\):\s*\w+ = \w*(?:bert|encoder|backbone)"
    r"|\.detach\(\)|freeze|\bvit|whisper|wav2vec|\bclip(?:model|vision|text)"
)


def _fine_tunes_language(run: Run) -> bool:
    """A trained language model goes on training: its learning rates are ten times smaller."""
    model = str(value_of(run, "model") or "").lower()
    if of_torchtune(run):
        return not any("lora" in str(s.value) for s in run.raw_settings if s.key.startswith("model."))
    start = value_of(run, "pretrained")
    named = f"{model} {start.lower() if isinstance(start, str) else ''}"
    language = "vocab_size" in run.settings or bool(_LANGUAGE.search(named))
    from_hub = any(
        s.key.rpartition(".")[2] in situation.NAMES_MODEL and isinstance(s.value, str) and s.value
        for s in run.raw_settings
    )
    adapted = "adapter" in run.settings or situation.switched_on(run, "lora_rank")
    if not adapted and any(_TUNED.search(code) and not _PARTLY.search(code) for code in run.scripts.values()):
        return True
    return language and not adapted and (from_hub or (start is not None and start is not False))


# DPO: 1e-6 by default in TRL, 5e-7 in the recipe of Zephyr, 5e-6 in examples with adapters; a few times more
# makes it degenerate (Razin et al. 2024 train with 1e-6 and less).
_BY_PREFERENCE = 0.01


def _limits(run: Run, adam: float, sgd: float, upper: bool) -> dict[str, float]:
    scale = 0.1 if _fine_tunes_language(run) else 1.0
    if upper and situation.preferred(run) and "adapter" not in run.settings:
        scale = _BY_PREFERENCE
    batch = number_of(run, "global_batch_size") or 0.0
    larger = max(1.0, batch / _REFERENCE_BATCH) if upper else 1.0
    if upper and value_of(run, "optimizer") == "adamax":
        adam *= 2.0  # its rate is 0.002 by default, twice Adam's
    clipped = number_of(run, "max_grad_norm") or 1.0  # a step of SGD is no longer than rate times norm
    room = 1.0 / clipped if upper and 0 < clipped < 1 else 1.0
    return {"adam": adam * scale * larger**0.5, "sgd": sgd * scale * larger * room}


# Graph networks: Adam at 0.01 (Kipf and Welling 2017, and the examples of these libraries).
_GRAPHS = re.compile(
    r"(?m)^[ \t]*(?:import|from)[ \t]+(?:torch_geometric|dgl|spektral|deeprobust)\b"
    r"|^[ \t]*class \w*(?:GCN|GAT|GIN|SAGE|Graph(?:Conv|Att|Sage|Iso)\w*)\("
)
_OF_GRAPHS = 0.01


# The largest rate that recurrent language models are known to be trained with, by SGD with gradients clipped
# at 0.25: 20 in PyTorch's own example (word_language_model), 30 in AWD-LSTM (Merity et al. 2017).
_CLIPPED = 30.0


# Optimizers whose rate is a factor of steps that they find themselves, 1 by default: torch.optim.Adadelta and
# LBFGS, Prodigy (Mishchenko and Defazio 2023), D-Adaptation.
_OF_ONE = frozenset(
    {"adadelta", "lbfgs", "prodigy", "dadaptadam", "dadaptsgd", "dadaptadagrad", "dadaptlion"}
)


# rate times clipping threshold: how far one of those steps goes at most (TensorFlow's example 6_lstm)
_REACH = 10.0 * 1.25


_RECURRENT = re.compile(r"(?i)\b(?:LSTM|GRU|RNN)\(")
_OF_WORDS = re.compile(r"(?i)\b(?:ppl|perplexity|bptt)\b")


def _reads_words(code: str) -> bool:
    """A recurrent net, and behind it a word of language models."""
    first = _RECURRENT.search(code)
    return first is not None and _OF_WORDS.search(code, first.end()) is not None


def _models_language(run: Run, rate: float) -> bool:
    """Whether a recurrent net foretells words, by clipped steps as short as usual."""
    told = any(n.endswith("/perplexity") for n in run.series)
    told = told or any(map(_reads_words, run.scripts.values()))
    clipped = number_of(run, "max_grad_norm")
    if clipped is None or clipped <= 0:
        return told and "max_grad_norm" not in run.settings and family(run) is None
    return told and rate * clipped <= _REACH


_CALM = 20  # updates in a row


def _comes_down(run: Run) -> str | None:
    """Says that the loss gets smaller at each update, as far as it is printed: no step goes too far.

    So it is where all samples make one batch. Batches that are drawn scatter more than an update brings, and
    means of epochs hide what single steps do.
    """
    loss = situation.main_loss(run)
    if situation.objective(run) or situation.preferred(run):
        return None  # what they lose says little of what becomes of the model
    if loss is None or loss.unit not in ("step", "iteration") or len(loss) < _CALM:
        return None
    falls = -np.diff(loss.values)
    size = float(loss.values[0] - loss.values[-1])
    if not np.all(np.isfinite(falls)) or np.max(np.diff(loss.steps)) > 1 or size <= 0:
        return None
    if np.mean(falls >= 0) < 0.9 or float(np.min(falls)) < -0.05 * size:
        return None
    return f"{loss.name} comes down in each of its {len(falls)} steps: none of them goes too far"


def above_usual(view: View, adam: float, sgd: float, what: str, until_broken: bool = False) -> Finding:
    """Whether the largest rate in use is at or above these limits, where they fit optimizer and task."""
    peak = (_peak_until_broken(view.run) if until_broken else None) or _peak(view.run)
    if peak is None:
        return unknown("the learning rate is neither logged nor configured")
    value, text, rest = peak
    if fitted.process(view.run):
        return unknown(f"{text}; Gaussian processes are fitted with rates of 0.1", value=value, **rest)
    if fitted.tensors(view.run):
        return unknown(f"{text}; what is fitted are single tensors, no network", value=value, **rest)
    if value <= _OF_GRAPHS and any(_GRAPHS.search(code) for code in view.run.scripts.values()):
        return unknown(f"{text}; graph networks are trained with rates up to 0.01", value=value, **rest)
    if (calm := _comes_down(view.run)) is not None:
        return unknown(f"{text}; {calm}", value=value, **rest)
    limits = _limits(view.run, adam, sgd, upper=True)
    kind = family(view.run)
    if (own := value_of(view.run, "optimizer")) in _OF_ONE and value <= 1.0:
        return absent(
            f"{text}; {own} finds its own steps, and 1 leaves them as they are", value=value, **rest
        )
    low, high = (limits[kind], limits[kind]) if kind else (min(limits.values()), max(limits.values()))
    name = kind or "any optimizer"
    if kind != "adam" and high <= value <= _CLIPPED and _models_language(view.run, value):
        return unknown(f"{text}; SGD with clipped gradients trains recurrent language models so", **rest)
    if value >= high:
        return present(f"{text}, {what} for {name} (from {high:g} on)", value=value, threshold=high, **rest)
    if value < low:
        return absent(f"{text}, below {low:g} ({name})", value=value, threshold=low, **rest)
    return unknown(
        f"{text}; whether that is much depends on the optimizer, which is not recorded", value=value, **rest
    )


# The peak of one cycle lies above a rate that is kept: the run is at it for a moment (Smith and Topin 2018).
_CYCLE = re.compile(r"\bOneCycleLR\(|fit_one_cycle\(")
_OF_CYCLES = 3.0


@probe()
def lr_very_large(view: View, adam: float, sgd: float) -> Finding:
    """The largest learning rate is far above what the optimizer is used with."""
    found = above_usual(view, adam, sgd, "far above what is used")
    said = ""
    if found.state is State.PRESENT:
        said = trains_little(view.run) or learned_well(view.run) or learned_all(view.run)
    return unknown(f"{found.why}; {said}", value=found.value, where=found.where) if said else found


@probe()
def lr_large(view: View, adam: float, sgd: float, far: float) -> Finding:
    """The largest learning rate is at or above the upper end of what the optimizer is used with.

    Once the loss stays no number, rates that are logged after that say nothing of how it came about. From
    `far` times the limits on `lr_very_large` tells the same rate, and one observation counts once: unknown,
    as where the loss breaks before steps of that rate can have moved the weights.
    """
    cycle = _OF_CYCLES if any(_CYCLE.search(code) for code in view.run.scripts.values()) else 1.0
    found = above_usual(view, adam * cycle, sgd, "at or above the upper end", until_broken=True)
    if found.state is State.PRESENT:
        beyond = above_usual(view, adam * far, sgd * far, "far above what is used", until_broken=True)
        if beyond.state is State.PRESENT:
            return unknown(f"{beyond.why}: more than large", value=beyond.value, where=beyond.where)
        if isinstance(found.value, float) and (near := _hardly_moved(view.run, found.value)):
            return unknown(f"{found.why}; {near}", value=found.value, where=found.where)
    return found


@probe()
def not_finite_at_usual_rate(view: View, adam: float, sgd: float) -> Finding:
    """The loss stops being a number although the learning rate up to there is one that its optimizer bears.

    A large learning rate needs steps to drive the loss out of range, and is large; a bad sample, a quotient
    or a number format needs neither. What counts is the largest rate logged up to that step, else the
    configured one. The limits are those of `lr_large`; a larger rate counts as well where the loss breaks
    before it can have moved the weights.
    """
    bad = broken(view.run)
    if bad is None:
        if situation.main_loss(view.run) is None:
            return unknown(situation.no_loss(view.run))
        return unknown("all values of the training loss are numbers: the question does not arise")
    lr, step = curve(view.run), bad.step
    seen = lr.values[lr.steps <= step] if lr is not None and step is not None else np.empty(0)
    peak = _peak(view.run)
    if len(seen):
        value, rest = float(np.max(seen)), {"series": (CURVE, bad.name)}
    elif peak is not None:
        value, rest = peak[0], peak[2]
    else:
        return unknown(f"{bad.said}; the learning rate is neither logged nor configured")
    limits = _limits(view.run, adam, sgd, upper=True)
    kind = family(view.run)
    low, high = (limits[kind], limits[kind]) if kind else (min(limits.values()), max(limits.values()))
    text = f"{bad.said}; the learning rate was at most {value:g} until then"
    if value < low:
        return present(f"{text}, below {low:g}", value=value, threshold=low, step=step, **rest)
    if near := _hardly_moved(view.run, value):
        return present(f"{text}; {near}", value=value, threshold=low, step=step, **rest)
    if value >= high:
        return absent(f"{text}, at or above {high:g}", value=value, threshold=high, **rest)
    return unknown(f"{text}; whether that is much depends on the optimizer, which is not recorded")


# Boxes are trained by SGD with 0.02 for 16 images a step, and in proportion for fewer (Detectron; mmdetection
# has 0.01 for 8, 0.08 for 64). Single-stage detectors use half of it.
_PER_IMAGE = 0.02 / 16
_OF_BOXES = re.compile(r"(?i)\brpn|_bbox\b|_box_reg\b|_rpn_|_box\b")


@probe("config:learning_rate", "config:global_batch_size")
def lr_large_for_boxes(view: View, times: float) -> Finding:
    """A detector is trained with `times` the rate per image that detectors are trained with.

    Recipes are written for eight devices. Where the number of devices is not known their batch is not either.
    """
    run = view.run
    if not any(_OF_BOXES.search(s.raw) for s in run.all_series) or family(run) != "sgd":
        return unknown("no detector is trained by SGD here, as far as is known")
    peak, batch = _peak_until_broken(run) or _peak(run), number_of(run, "global_batch_size")
    if peak is None or not batch:
        return unknown("rate and batch are not both known")
    told = "ims_per_batch" in run.settings["global_batch_size"].raw.lower()  # of all devices
    if not told and "world_size" not in run.facts and "world_size" not in run.settings:
        return unknown(f"{peak[1]}; on how many devices is not recorded")
    bound = times * _PER_IMAGE * batch
    text = f"{peak[1]}, for {batch:g} images a step; detectors are trained with {_PER_IMAGE * batch:.3g}"
    judged = present if peak[0] >= bound else absent
    return judged(text, value=peak[0], threshold=bound, **peak[2])


_OF_POLICIES = 0.005


@probe()
def lr_very_small(view: View, adam: float, sgd: float) -> Finding:
    """Even the largest learning rate is far below what the optimizer is used with.

    Policies are trained further by returns and preferences with rates of 1e-6 and less (the default of GRPO
    and DPO in TRL; 5e-7 in the recipe of Zephyr): there the limit is `_OF_POLICIES` times as high.
    """
    why = situation.moves_a_policy(view.run)
    found = _below(view, adam, sgd, "far below what is used")
    if why is None or found.state is not State.PRESENT:
        return found
    far = _below(view, _OF_POLICIES * adam, _OF_POLICIES * sgd, "far below what policies are trained with")
    if far.state is State.PRESENT:
        return far
    return unknown(f"{why}: rates far smaller than elsewhere are usual there", value=found.value)


@probe()
def lr_small(view: View, adam: float, sgd: float) -> Finding:
    """The largest learning rate is below what untrained models are trained with; fine-tuning uses less."""
    loss = situation.main_loss(view.run)
    trained = situation.trained_start(view.run, None if loss is None else shape(loss))
    if trained and _peak(view.run) is not None:
        return unknown(f"{trained}: small learning rates are usual there")
    if any(_LOADS_MODEL.search(text) for text in view.run.scripts.values()) and _peak(view.run) is not None:
        return unknown("a script trains a pretrained model further: small learning rates are usual there")
    why = situation.moves_a_policy(view.run) or _names_trained(view.run)
    if why and _peak(view.run) is not None:
        return unknown(f"{why}: small learning rates are usual there")
    found = _below(view, adam, sgd, "below what untrained models are trained with")
    if found.state is State.PRESENT and view.run.facts.get("trainer") == "transformers":
        return unknown(
            f"{found.why}; the Trainer of transformers trains with 5e-05 where nothing else is said"
        )
    return found


# `bert-base-uncased`, `google/vit-base-patch16-224`, `Qwen2.5-7B`: as hubs write the names of trained models
_SIZES = re.compile(r"(?i)(?:base|large|small|tiny|xl|xxl|[\d.]+[bm])")


def _names_trained(run: Run) -> str | None:
    """Says that a model is named as those of hubs are, of which the trained weights are read; else None."""
    for setting in run.raw_settings:
        last = setting.key.rpartition(".")[2]
        if not isinstance(setting.value, str) or not setting.value:
            continue
        sized = last == "model" and any(map(_SIZES.fullmatch, setting.value.split("-")[1:]))
        if sized or last in situation.NAMES_MODEL:
            return f"{setting.key} names a trained model ({setting.value})"
    return None


def _goes_on(run: Run) -> bool:
    """A trained model is trained further, as settings or scripts say."""
    return "pretrained" in run.settings or any("from_pretrained(" in text for text in run.scripts.values())


_LOADS_MODEL = re.compile(
    r"(?<![\w.])(?!\w*(?:Token|Processor|Config|Extractor|Scheduler))[A-Z]\w*\.from_pretrained\("
    r"|\binit_from_checkpoint\(|\bSaver\(\s*var_list\s*="  # a part of the variables
)


_STAGES = frozenset(
    ("dpo", "simpo", "ipo", "cpo", "orpo", "kto", "rlhf", "ppo", "grpo", "rloo", "online_dpo")
)


def _prefers(run: Run, usual: bool) -> str:
    """In words, that settings ask for training by preferences, which goes on with small rates; else ""."""
    for setting in run.raw_settings if usual else ():
        last = setting.key.rpartition(".")[2]
        if (
            last in ("stage", "rlhf_type", "rl", "trainer_type", "train_type")
            and str(setting.value) in _STAGES
        ):
            return f"{setting.key} = {setting.value}: preferences are learned with so little"
    return ""


_LANGUAGE_MODEL = re.compile(r"LM\w*\.from_pretrained\(")


_PREFERENCES = re.compile(r"(?i)dpo|logsigmoid|reward|chosen|kto|orpo")


def _aligns_language(run: Run) -> bool:
    """A script trains a language model further, against preferences or rewards (5e-7 is usual for DPO)."""
    return any(_LANGUAGE_MODEL.search(text) and _PREFERENCES.search(text) for text in run.scripts.values())


_OF_MINDSPEED = 1e-6  # its launch lines for nearly all language models say `--lr 1.25e-6`


_STILL = 0.03  # of a loss that training from nothing has to lower at once


def _stands_still(loss: Series | None) -> bool:
    """Whether a loss is known to end where it began."""
    if loss is None or len(loss) < 20:
        return False
    few = max(3, len(loss) // 10)
    first, last = np.median(loss.values[:few]), np.median(loss.values[-few:])
    return bool(np.isfinite(first) and first > 0 and last > (1.0 - _STILL) * first)


def _is_megatron(run: Run) -> bool:
    """Whether a log or a launch line is that of Megatron-LM, which MindSpeed-LLM is built on."""
    asked = any(s.key.rpartition(".")[2] == "tensor_model_parallel_size" for s in run.raw_settings)
    return asked or "text-megatron" in run.info.formats


def _plain(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


_SUMMED = re.compile(
    r"Loss\(reduction ?= ?['\"]sum['\"]\)"
)  # one loss of a whole script, not of an evaluation


def _below(view: View, adam: float, sgd: float, what: str) -> Finding:
    peak = _peak(view.run)
    if peak is None:
        return unknown("the learning rate is neither logged nor configured")
    value, text, rest = peak
    if value == 0:
        return unknown(f"{text}: it is zero, not small", value=value, **rest)
    if value < 0:
        return unknown(f"{text}: it is below zero, not small", value=value, **rest)
    if any(_SUMMED.search(code) for code in view.run.scripts.values()):
        return unknown(f"{text}; the loss of a script is a sum, which asks for less", value=value, **rest)
    lr = curve(view.run)
    wanted = number_of(view.run, "learning_rate")
    if lr is not None and wanted is not None and lr.peak == value < 0.2 * wanted:
        return unknown(
            f"{text}; configured is {wanted:g}, and the schedule keeps it below", value=value, **rest
        )
    more = [
        n for s in view.run.raw_settings if s.key == "learning_rate" if (n := _plain(s.value)) is not None
    ]
    if lr is None and value in more and max(more) > value:
        return unknown(
            f"{text}; another optimizer of the scripts is given {max(more):g}", value=value, **rest
        )
    if vanishes(view.run) is not None:
        return unknown(
            f"{text}, and then vanishes: what was logged first may be its rest", value=value, **rest
        )
    if "learning_rate" not in view.run.settings and lr is not None and not whole(lr):
        return unknown(f"{text}; its peak may lie outside of what is logged", value=value, **rest)
    limits = _limits(view.run, adam, sgd, upper=False)
    kind = family(view.run)
    low, high = (limits[kind], limits[kind]) if kind else (min(limits.values()), max(limits.values()))
    name = kind or "any optimizer"
    theirs = _peak(view.benchmark) if view.benchmark is not None else None
    if value < low and theirs is not None and abs(theirs[0] - value) <= 0.01 * value:
        # what both sides have in common is not why one of them stays behind
        return unknown(f"{text}; the benchmark trains with the same rate", value=value, **rest)
    if value < low and kind is None and lr is None and value >= 0.1 * low and _goes_on(view.run):
        return unknown(
            f"{text}; trained models go on with so little, and the optimizer is not recorded", **rest
        )
    said = (
        learned_well(view.run, settled=True) or _prefers(view.run, value >= 0.01 * low) if value < low else ""
    )
    if said:
        return unknown(f"{text}; {said}", value=value, **rest)
    if value < low and value >= 0.1 * low and _aligns_language(view.run):
        return unknown(f"{text}; language models are aligned with so little", **rest)
    loss = situation.main_loss(view.run)
    if value < low and value >= _OF_MINDSPEED and _is_megatron(view.run):
        if _goes_on(view.run) or not _stands_still(loss):
            return unknown(f"{text}; the scripts of MindSpeed-LLM train with 1.25e-06", value=value, **rest)
    if value < low and loss is not None and len(loss) and not np.isfinite(loss.values[-1]):
        return unknown(f"{text}; {loss.name} ends as no number, which larger steps do not mend", **rest)
    if value < low:
        return present(f"{text}, {what} for {name}", value=value, threshold=low, **rest)
    if value >= high:
        return absent(f"{text}, not below {high:g} ({name})", value=value, threshold=high, **rest)
    return unknown(
        f"{text}; whether that is little depends on the optimizer, which is not recorded", value=value, **rest
    )


@probe()
def lr_zero(view: View) -> Finding:
    """Every logged learning rate is zero, or zero is configured."""
    lr = curve(view.run)
    configured = number_of(view.run, "learning_rate")
    if lr is not None and np.any(lr.values > 0):
        return absent(
            f"the learning rate reaches {lr.peak:.4g}",
            value=lr.peak,
            threshold=0.0,
            **seen_at(lr, int(np.argmax(lr.values))),
        )
    if lr is not None and len(lr.values) >= 3:
        if configured is not None and 0 < configured < 1e-3:
            # "lr: 0.000" is how a log with three decimals writes 5e-5
            return unknown(
                f"{len(lr.values)} zeros are logged; {configured:g} is configured and may be rounded away"
            )
        text = f"the learning rate is zero in all {len(lr.values)} logged points"
        return present(text, value=0.0, threshold=0.0, step=float(lr.steps[0]), **seen_at(lr, 0))
    if configured == 0:
        setting = view.run.settings["learning_rate"]
        return present(
            f"zero is configured ({says(setting)})", value=0.0, threshold=0.0, where=where(setting)
        )
    if configured is not None:
        setting = view.run.settings["learning_rate"]
        return absent(
            f"the learning rate is configured as {configured:g}",
            value=configured,
            threshold=0.0,
            where=where(setting),
        )
    return unknown("the learning rate is neither configured nor logged in three points")
