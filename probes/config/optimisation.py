"""Optimizer, schedule, batch, regularisation and length in the configuration."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from ...engine.model import State
from .. import settings as names
from ..curves import situation
from ..curves.learned import learned_by_heart, learned_well
from ..readers.notebook import file_of
from ..readers.script import DEFAULT
from ..registry import Finding, View, absent, any_of, present, probe, unknown
from ..run import Configured, Run
from .values import carried, not_recorded, number_of, raw_value, says, value_of

_ENOUGH_TOKENS = 4096  # tokens per batch from which a small number of sequences is no small batch


_COUPLED = ("sgd", "momentum", "adam", "rmsprop", "nadam", "radam", "adagrad")  # L2, not decoupled decay
# What these call adam is Apex' FusedAdam, DeepSpeed's or fairseq's own, whose decay is decoupled by default
_DECOUPLING = frozenset(("text-megatron", "text-nemo", "text-deepspeed", "text-fairseq"))


@probe()
def setting_above(view: View, setting: str, limit: float, limit_sgd: float | None = None) -> Finding:
    """A number above `limit` (`limit_sgd` instead where decay is part of the gradient: SGD, plain Adam)."""
    found = view.run.settings.get(setting)
    value = number_of(view.run, setting)
    if found is None or value is None:
        return not_recorded(setting)
    optimizer = value_of(view.run, "optimizer")
    decoupled = optimizer == "adam" and not _DECOUPLING.isdisjoint(view.run.info.formats)
    if limit_sgd is not None and optimizer in _COUPLED and not decoupled:
        if not _of_two_modules(found, view.run.settings["optimizer"]):
            limit = limit_sgd
    if value > limit and setting == "dropout" and _may_keep(view.run, found):
        return unknown(f"{says(found)}: in this program that may be the share to keep")
    if value >= 1 and setting == "label_smoothing":
        return unknown(f"{says(found)}: a share of the labels is below one, so this smooths something else")
    if value > limit:
        said = _no_harm(view, setting, value) if setting in _HOLDS_BACK else ""
        if said:
            return unknown(f"{says(found)}, above {limit:g}; {said}", **carried(found, threshold=limit))
        return present(f"{says(found)}, above {limit:g}", **carried(found, threshold=limit))
    return absent(f"{says(found)}, not above {limit:g}", **carried(found, threshold=limit))


_HOLDS_BACK = frozenset(("weight_decay", "dropout", "label_smoothing"))
_DECOUPLED = ("adamw", "lion", "adamweightdecay", "lamb", "sophia", "muon")
_LEFT = 0.5  # of a weight that nothing moves, after all steps of decay


def _no_harm(view: View, setting: str, value: float) -> str:
    """In words, that the run learned all the same, or that all steps of decay take little; else ""."""
    if said := learned_well(view.run) or learned_by_heart(view.run):
        return said
    rate, loss = number_of(view.run, "learning_rate"), view.run.series.get("train/loss")
    counted = loss is not None and loss.unit in ("step", "iteration") and len(loss) > 0
    if setting != "weight_decay" or loss is None or not counted or rate is None:
        return ""
    decoupled = str(value_of(view.run, "optimizer")) in _DECOUPLED
    left = math.exp(-rate * value * float(loss.steps[-1]))
    if not decoupled or left < _LEFT:
        return ""
    return f"with a rate of {rate:g} all of {loss.steps[-1]:g} steps leave {left:.0%} of a weight"


def _of_two_modules(one: Configured, other: Configured) -> bool:
    """A default of one module, and another optimizer in another module: not known to go together."""
    return one.trust <= DEFAULT and one.file.endswith(".py") and one.file != other.file


@probe()
def regularisation_large(
    view: View, weight_decay: float, sgd: float, dropout: float, smoothing: float
) -> Finding:
    """Weight decay (`sgd`: its limit under SGD), dropout or label smoothing above its limit.

    What learns its training data to the last one all the same is not held back by any of them.
    """
    found = any_of(
        (
            setting_above(view, "weight_decay", weight_decay, sgd),
            setting_above(view, "dropout", dropout),
            setting_above(view, "label_smoothing", smoothing),
        )
    )
    right = view.run.series.get("train/accuracy")
    if found.state is State.PRESENT and right is not None and len(right.values) >= 5:
        level = float(np.median(right.values[-max(1, len(right.values) // 5) :]))
        if level >= FITTED:
            return replace(
                found, state=State.UNKNOWN, why=f"{found.why}; and yet train/accuracy ends at {level:.4g}"
            )
    return found


_FIRST_GRAPH = re.compile(r"\btf\.(?:placeholder|Session|InteractiveSession)\(|keep_prob")


def _may_keep(run: Run, found: Configured) -> bool:
    """A program of TensorFlow 1 may call a share `dropout` and keep it."""
    written = file_of(found.file).endswith((".py", ".ipynb"))
    return written and any(_FIRST_GRAPH.search(code) for code in run.scripts.values())


FITTED = 0.995  # nearly all training samples are answered right


@probe("config:max_grad_norm")
def clipping_off(view: View) -> Finding:
    """Gradient clipping is explicitly off."""
    setting = view.run.settings["max_grad_norm"]
    value = number_of(view.run, "max_grad_norm")
    if value is None or value <= 0 or value > 1e6:
        return present(f"gradients are not clipped ({says(setting)})", **carried(setting))
    return absent(f"gradients are clipped at {value:g}", **carried(setting))


@probe("config:max_grad_norm")
def clipping_very_small(view: View, limit: float) -> Finding:
    """A clipping threshold so small that it rules the step size."""
    setting = view.run.settings["max_grad_norm"]
    value = number_of(view.run, "max_grad_norm")
    if value is not None and 0 < value < limit:
        return present(f"gradients are clipped at {value:g}", **carried(setting, threshold=limit))
    shown = "not clipped" if value is None or value <= 0 else f"clipped at {value:g}"
    return absent(f"gradients are {shown}", **carried(setting, threshold=limit))


@probe()
def warmup_absent(view: View, steps: float = 5.0) -> Finding:
    """Warm-up is configured as zero everywhere it is named, or as fewer than `steps` steps."""
    run = view.run
    named = [run.settings[k] for k in ("warmup_steps", "warmup_ratio", "warmup_epochs") if k in run.settings]
    values = [(s, names.number(s.value)) for s in named if not isinstance(s.value, tuple)]
    known = [(s, v) for s, v in values if v is not None]
    for setting, value in known:
        # `warmup = 2` says no unit: it may be of epochs
        counted = setting.key == "warmup_steps" and names.parts_of(setting.raw)[-1] != "warmup"
        counted = counted and not 0 < value < 1  # a share of all steps, since transformers 5
        if value >= (steps if counted else 1e-12):
            return absent(f"warm-up is configured ({says(setting)})", **carried(setting))
    if value_of(run, "lr_scheduler") == "onecycle":
        return absent("the one-cycle schedule warms up", **carried(run.settings["lr_scheduler"]))
    if known:
        return present(f"no warm-up ({', '.join(says(s) for s, _ in known)})", **carried(known[0][0]))
    return unknown("no warm-up setting is recorded")


@probe("config:global_batch_size|config:batch_size|config:batch_tokens")
def batch_size_below(view: View, limit: float) -> Finding:
    """The batch per optimizer step is below `limit` samples."""
    key = "global_batch_size" if number_of(view.run, "global_batch_size") is not None else "batch_size"
    value = number_of(view.run, key)
    if value is None and number_of(view.run, "batch_tokens"):
        return _few_tokens(view.run, limit)
    if value is None or value <= 0:
        return not_recorded("batch_size")
    setting = view.run.settings[key]
    tokens = value * (number_of(view.run, "max_sequence_length") or 1)
    if value >= limit:
        return absent(f"{value:g} samples per optimizer step", **carried(setting, threshold=limit))
    if tokens >= _ENOUGH_TOKENS:
        text = f"{value:g} sequences, yet {tokens:g} tokens per optimizer step"
        return absent(text, **carried(setting, threshold=limit))
    if _one_of_several_factors(view.run):
        text = f"{value:g} samples per device; accumulation and the number of devices are not both recorded"
        return unknown(text, **carried(setting, threshold=limit))
    if any(_BY_ITSELF.search(code) for code in view.run.scripts.values()):
        text = f"{value:g} samples per optimizer step; the network normalises each by itself, place by place"
        return unknown(text, **carried(setting, threshold=limit))
    return present(f"{value:g} samples per optimizer step", **carried(setting, threshold=limit))


# whole pictures or volumes that are translated or cut up: recipes take one or two of them (pix2pix, nnU-Net)
_BY_ITSELF = re.compile(r"(?i)\binstance_?norm(?:ali[sz]ation)?(?:[123]d)?\b")
# samples are rows of identities, of which millions make a table: recipes take tens of thousands at a time
_OF_IDENTITIES = re.compile(
    r"(?i)\b(?:ctr|criteo|avazu|dlrm|deep_?fm|wide_?(?:and_?)?deep|ftrl|lazy_?adam|feat_ids|factori[sz]ation_?machine)\b"
    r"|\b(?:user|item)_(?:tower|emb\w*|id)s?\b|in.?batch.?negatives?|\binfo_?nce\b|\bnt_?xent\b"
)


def _few_tokens(run: Run, limit: float) -> Finding:
    """A batch that is counted in tokens: fewer than `limit` sentences hold."""
    setting = run.settings["batch_tokens"]
    value = number_of(run, "batch_tokens") or 0
    for factor in ("gradient_accumulation_steps", "world_size"):
        value *= number_of(run, factor) or 1
    few = value < limit * SENTENCE
    say = present if few else absent
    return say(f"{value:g} tokens per optimizer step", **carried(setting, threshold=limit * SENTENCE))


def _one_of_several_factors(run: Run) -> bool:
    """A batch that is written as one device's share, where the other factors are not recorded."""
    size = run.settings.get("batch_size")
    if size is None or ("gradient_accumulation_steps" in run.settings and "world_size" in run.settings):
        return False
    share = re.search(r"per_|micro|device|gpu|local", "_".join(names.parts_of(size.raw)))
    return bool(share) or size.file.endswith("trainer_state.json")


@probe("config:global_batch_size")
def batch_size_huge(view: View, share: float, absolute: float, least: float = 128) -> Finding:
    """The batch is a large share of the training set, or very large in itself."""
    run = view.run
    setting = run.settings["global_batch_size"]
    value = number_of(run, "global_batch_size")
    if value is None:
        return not_recorded("global_batch_size")
    samples = number_of(run, "train_samples")
    wide = value_of(run, "optimizer") in ("lamb", "lars") or any(
        _OF_IDENTITIES.search(code) for code in run.scripts.values()
    )
    if value >= absolute and not wide:
        return present(f"{value:g} samples per optimizer step", **carried(setting, threshold=absolute))
    if samples is None or samples <= 0:
        return unknown("the size of the training set is not recorded")
    text = f"{value:g} of {samples:g} training samples per optimizer step ({value / samples:.0%})"
    if value >= least and value >= share * samples:
        return present(text, **carried(setting, threshold=share))
    return absent(text, **carried(setting, threshold=share))


SENTENCE = 25  # tokens of a usual one
MANY_STEPS = 500  # of a language model that reads its text once


# Reward models and preference tuning (InstructGPT, TRL): one pass, a second one overfits
_PREFERS = re.compile(r"\b(?:DPO|Reward|ORPO|KTO)(?:Trainer|Config)\b")


def _reads_pairs(code: str) -> bool:
    chosen = min((at for q in "\"'" if (at := code.find(f"{q}chosen{q}")) >= 0), default=-1)
    pairs = chosen >= 0 and any(code.find(f"{q}rejected{q}", chosen) >= 0 for q in "\"'")
    return pairs or _PREFERS.search(code) is not None


@probe("config:epochs|config:max_steps")
def epochs_below(view: View, limit: float) -> Finding:
    """Fewer passes over the data than `limit`.

    Language models are trained on more text than they come to read twice (GPT-3 and LLaMA: one pass or less):
    many steps in a single pass are a length of their own.
    """
    run = view.run
    steps, per_epoch = number_of(run, "max_steps"), number_of(run, "steps_per_epoch")
    samples, batch = number_of(run, "train_samples"), number_of(run, "global_batch_size")
    if per_epoch is None and samples and batch:
        per_epoch = samples / batch
    epochs = number_of(run, "epochs")
    if steps is not None and steps > 0:
        if not per_epoch:
            return unknown("the length is given in steps; steps per epoch are not recorded")
        epochs = steps / per_epoch
        setting = run.settings["max_steps"]
    elif epochs is None or epochs <= 0:
        return not_recorded("epochs")
    else:
        setting = run.settings["epochs"]
    text = f"{epochs:.3g} passes over the data are configured"
    if epochs >= limit:
        return absent(text, **carried(setting, threshold=limit))
    told = run.info.context
    reads = told.get("inputs") == "tokens" or told.get("task") == "language-model"
    if reads and (run.info.steps or 0) >= MANY_STEPS:
        return unknown(f"{text}: a language model reads most of its text once", **carried(setting))
    if situation.preferred(run) or any(map(_reads_pairs, run.scripts.values())):
        return unknown(
            f"{text}: pairs of answers are read once, twice is learnt by heart", **carried(setting)
        )
    return present(text, **carried(setting, threshold=limit))


@probe()
def no_regularization(view: View) -> Finding:
    """Weight decay and dropout (or augmentation) are recorded and all of them are off."""
    run = view.run
    keys = (
        "weight_decay",
        "dropout",
        "label_smoothing",
        "augmentation",
        "mixup",
        "cutmix",
        "drop_path",
        "adapter",
    )
    recorded = {k: run.settings[k] for k in keys if k in run.settings}
    for setting in recorded.values():
        if setting.value not in (None, 0, False, "none", "no", "false", "off", ""):
            return absent(f"{says(setting)}", **carried(setting))
    if "weight_decay" not in recorded or not {"dropout", "augmentation", "drop_path"} & recorded.keys():
        return unknown("weight decay and a second means (dropout, augmentation) are not both recorded")
    text = ", ".join(says(s) for s in recorded.values())
    return present(f"nothing regularises: {text}", **carried(recorded["weight_decay"]))


# ------------------------------------------------------------------------------------ optimizer, numbers

_FP16_TINY = 6e-8  # smaller numbers are zero in fp16


def _acts(run: Run) -> bool:
    """A policy is trained: its epsilon bounds ratios, or is how often an action is drawn at random."""
    return any(re.search(r"(?i)\bppo|grpo|greedy|policy_", code) for code in run.scripts.values())


@probe("config:adam_epsilon|config:layer_norm_epsilon|config:batch_norm_epsilon|config:loss_epsilon")
def epsilon_extreme(view: View, large: float) -> Finding:
    """An epsilon is zero, vanishes in fp16 where fp16 computes with it, or is very large."""
    run = view.run
    keys = ("adam_epsilon", "layer_norm_epsilon", "batch_norm_epsilon", "loss_epsilon")
    known = [(run.settings[k], v) for k in keys if (v := number_of(run, k)) is not None]
    pure = raw_value(run, r"(?:16|fp16|float16)-true") is not None
    for setting, value in known:
        if value == 0:
            return present(
                f"{says(setting)}: nothing keeps a division from zero", **carried(setting, threshold=0.0)
            )
        vanishes = value_of(run, "precision") == "fp16" and (setting.key == "loss_epsilon" or pure)
        vanishes |= setting.key == "layer_norm_epsilon" and _norms_in_fp16(run)
        if vanishes and value < _FP16_TINY:
            text = f"{says(setting)} is zero in fp16 (least value {_FP16_TINY:g})"
            return present(text, **carried(setting, threshold=_FP16_TINY))
        bare = names.parts_of(setting.raw)[-1] in ("eps", "epsilon") and "optimizer" not in run.settings
        bare = bare or (names.parts_of(setting.raw)[-1].lower() in ("eps", "epsilon") and _acts(run))
        if value > large and setting.key == "adam_epsilon" and not bare and _is_adam(run):
            return present(f"{says(setting)} damps every step", **carried(setting, threshold=large))
    if not known:
        return not_recorded("epsilon")
    return absent(", ".join(says(s) for s, _ in known), **carried(known[0][0]))


def _norms_in_fp16(run: Run) -> bool:
    """MindFormers' `layernorm_compute_type: float16` and its like: a norm adds its epsilon in fp16."""
    return any(
        re.search(r"(?i)norm_?(?:compute_?)?d?type$", s.key) and str(s.value).lower() in ("float16", "fp16")
        for s in run.raw_settings
    )


def _is_adam(run: Run) -> bool:
    return str(value_of(run, "optimizer") or "").startswith("adam")


# `loss.beta1`, `diffusion.beta1`: what else is called so.
_OF_ANOTHER = re.compile(
    r"(?i)(?:^|[._])(?:loss\w*|criterion|vae|kld?|diffusion|noise\w*|dpo|smooth\w*|f_?beta|schedule)\."
)


_BIASES = ("b1", "b2")  # two biases of a small net are called so as well
_NO_BETA = 0.5


@probe("config:momentum|config:adam_beta1|config:adam_beta2")
def momentum_extreme(view: View, high: float, beta2_low: float) -> Finding:
    """Momentum or beta1 close to one (or outside 0..1), or beta2 below its usual range."""
    run = view.run
    known = [
        (run.settings[k], v)
        for k in ("momentum", "adam_beta1", "adam_beta2")
        if (v := number_of(run, k)) is not None
    ]
    for setting, value in known:
        if _OF_ANOTHER.search(setting.raw):
            continue
        second = setting.key == "adam_beta2"
        if setting.raw in _BIASES and value < _NO_BETA:
            continue
        if value < 0 or value >= 1 or (not second and value >= high):
            return present(says(setting), **carried(setting, threshold=1.0 if second else high))
        if second and value < beta2_low:
            return present(says(setting), **carried(setting, threshold=beta2_low))
    if not known:
        return not_recorded("momentum")
    return absent(", ".join(says(s) for s, _ in known), **carried(known[0][0], threshold=high))


@probe("config:adam_beta1", "config:adam_beta2")
def betas_swapped(view: View) -> Finding:
    """The first beta of Adam is above the second: the mean of gradients is slower than that of squares."""
    run = view.run
    mean, squares = number_of(run, "adam_beta1"), number_of(run, "adam_beta2")
    if mean is None or squares is None:
        return not_recorded("adam_beta1")
    text = f"{says(run.settings['adam_beta1'])}, {says(run.settings['adam_beta2'])}"
    biases = run.settings["adam_beta2"].raw in _BIASES and squares < _NO_BETA
    if _OF_ANOTHER.search(run.settings["adam_beta1"].raw) or mean >= 1 or biases:
        return unknown(f"{text}: weights of something else than moments of an optimizer")
    rest = carried(run.settings["adam_beta1"], threshold=squares)
    return present(text, **rest) if mean > squares else absent(text, **rest)
