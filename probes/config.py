"""What the configuration alone tells: each probe judges one setting, or two that must fit.

A setting that nobody wrote down is unknown, not absent: a framework's default may be in force.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..engine.model import Place, Scalar, State
from . import settings as names
from .code_feeding import loader_keeps_order
from .registry import Finding, View, absent, any_of, place_of, present, probe, unknown
from .run import Configured, Run

HALF = ("fp16", "bf16", "fp8")
_BF16_MODELS = re.compile(
    r"(?:^|[-_/])(?:llama[-_]?[23]|mistral|mixtral|qwen[-_]?[123]|gemma|t5|mt5|byt5|flan[-_]?t5|ul2|pegasus|deepseek"
    r"|phi[-_]?[34]|falcon|glm[-_]?4|internlm[-_]?[23]|olmo|bloomz?|yi[-_]\d|baichuan[-_]?2|smollm)(?![a-z])",
    re.IGNORECASE,
)
_ENOUGH_TOKENS = 4096  # tokens per batch from which a small number of sequences is no small batch


def value_of(run: Run, key: str) -> Scalar | tuple[Scalar, ...]:
    """Return the value in force of a setting; None also when it is not recorded."""
    return run.settings[key].value if key in run.settings else None


def number_of(run: Run, key: str) -> float | None:
    """Return a setting as a number, or None."""
    value = value_of(run, key)
    return None if isinstance(value, tuple) else names.number(value)


def says(setting: Configured) -> str:
    """A setting as the file has it: "lr = 0.1"."""
    value = setting.value
    if setting.key == "precision" and names.parts_of(setting.raw)[-1] != "precision":
        return f"{value}, from {setting.raw}"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{setting.raw} = {shown}"


def _scalar(setting: Configured) -> Scalar:
    return str(setting.value) if isinstance(setting.value, tuple) else setting.value


def _found(setting: Configured, **rest: Any) -> dict[str, Any]:
    """What every finding about a setting carries."""
    where = (place_of(setting),) if setting.file else ()
    return {"value": _scalar(setting), "where": where, **rest}


def _not_recorded(key: str) -> Finding:
    return unknown(f"{key.replace('_', ' ')} is not recorded")


# --------------------------------------------------------------------------------------------- precision


@probe("config:precision")
def precision_is(view: View, precision: str) -> Finding:
    """Training runs in this number format."""
    setting = view.run.settings["precision"]
    if setting.value == precision:
        return present(f"the number format is {precision} ({says(setting)})", **_found(setting))
    return absent(f"the number format is {setting.value} ({says(setting)})", **_found(setting))


@probe("config:precision")
def fp16_without_scaling(view: View) -> Finding:
    """fp16 with the loss scale switched off or fixed at 1."""
    run = view.run
    setting = run.settings["precision"]
    if setting.value != "fp16":
        return absent(f"the number format is {setting.value}, which needs no loss scale", **_found(setting))
    pure = _raw_value(run, r"(?:16|fp16|float16)-true")
    if pure is not None:
        return present(
            f"{pure[0]} trains in pure fp16, which has no loss scale", value=pure[0], where=(pure[1],)
        )
    logged = _fixed_scale(run)
    if logged == 1.0:
        return present("fp16 is in use and the logged loss scale is 1 throughout", value=1.0, threshold=1.0)
    if "loss_scale" in run.series or run.events_of("loss-scale", "overflow", "scale-at-minimum"):
        return absent("the log shows a loss scale")
    scale = run.settings.get("loss_scale")
    switch = run.settings.get("dynamic_loss_scale")
    scaled = number_of(run, "loss_scale")
    off = scale is not None and (scale.value is None or scaled == 1)
    if scale is not None and not off:
        return absent(f"a loss scale is configured ({says(scale)})", **_found(scale))
    if number_of(run, "initial_loss_scale") is not None and not off:
        return absent("an initial loss scale is configured", **_found(run.settings["initial_loss_scale"]))
    if switch is not None and switch.value is True:
        return absent(f"a scaler is configured ({says(switch)})", **_found(switch))
    if scale is not None:
        return present(f"fp16 is in use and the loss scale is off ({says(scale)})", **_found(scale))
    if switch is not None and switch.value is False:
        return present(f"fp16 is in use and the scaler is off ({says(switch)})", **_found(switch))
    return unknown("fp16 is in use; nothing records whether the loss is scaled")


def _fixed_scale(run: Run, points: int = 10) -> float | None:
    """The logged loss scale, if it never changes over `points` values."""
    series = run.series.get("loss_scale")
    if series is None or len(series) < points or not np.all(series.values == series.values[0]):
        return None
    return float(series.values[0])


def _raw_value(run: Run, pattern: str) -> tuple[str, Place] | None:
    for setting in run.raw_settings:
        if isinstance(setting.value, str) and re.fullmatch(pattern, setting.value.strip(), re.IGNORECASE):
            return f"{setting.key} = {setting.value}", Place(setting.file, setting.line)
    return None


@probe("config:precision")
def fp16_on_bf16_model(view: View) -> Finding:
    """A model that was trained in bf16 is trained on in fp16."""
    setting = view.run.settings["precision"]
    if setting.value != "fp16":
        return absent(f"the number format is {setting.value}", **_found(setting))
    dtype = view.run.settings.get("dtype")
    if dtype is not None and dtype.value == "bf16":
        return present(f"fp16 training of a model stored in bf16 ({says(dtype)})", **_found(dtype))
    if dtype is not None and dtype.value == "fp16":
        return absent(f"the model is stored in fp16 ({says(dtype)})", **_found(dtype))
    model = view.run.settings.get("model")
    pretrained = view.run.settings.get("pretrained")
    for candidate in (model, pretrained):
        if candidate is not None and _BF16_MODELS.search(str(candidate.value)):
            text = f"fp16 training of {candidate.value}, which was trained in bf16"
            return present(text, **_found(candidate))
    if model is None:
        return _not_recorded("model")
    if pretrained is not None and pretrained.value is False:
        return absent("the model starts from scratch", **_found(pretrained))
    return unknown(f"nothing says in which number format {model.value} was trained")


@probe("config:precision")
def pure_bf16_weights(view: View) -> Finding:
    """Weights kept in bf16 without an fp32 copy."""
    run = view.run
    setting = run.settings["precision"]
    if setting.value != "bf16":
        return absent(f"the number format is {setting.value}", **_found(setting))
    pure = _raw_value(run, r"(?:bf16|bfloat16)[-_](?:true|pure|full)|pure[-_]bf16|bf16_full")
    if pure is not None:
        return present(f"{pure[0]}: weights and updates are both in bf16", value=pure[0], where=(pure[1],))
    masters = run.settings.get("master_weights")
    if masters is not None and masters.value is False:
        return present(f"bf16 without fp32 master weights ({says(masters)})", **_found(masters))
    if masters is not None:
        return absent(f"fp32 master weights are kept ({says(masters)})", **_found(masters))
    mixed = _raw_value(run, r"bf16-mixed|mixed_bfloat16|amp_bf16")
    if mixed is not None or (run.facts.get("trainer") == "transformers" and "bf16" in run.settings):
        return absent("mixed precision keeps the weights in fp32", **_found(setting))
    return unknown("nothing records in which format the weights are kept")


@probe()
def mixed_precision_not_in_force(view: View) -> Finding:
    """Half precision is asked for and something shows that it is not used."""
    run = view.run
    asked = next(
        (run.settings[k] for k in ("fp16", "bf16", "amp") if value_of(run, k) is True),
        run.settings.get("precision"),
    )
    if asked is None:
        return _not_recorded("precision")
    if asked.value in ("fp32", "fp64", False):
        return absent(f"mixed precision is not asked for ({says(asked)})", **_found(asked))
    level = run.settings.get("amp_level")
    if level is not None and str(level.value).lower() == "o0":
        return present(f"{says(asked)}, and {says(level)} switches it off", **_found(level))
    seen = str(run.facts.get("precision") or "").lower()
    if seen in ("fp32", "float32"):
        return present(f"{says(asked)}, and the log says that training runs in {seen}", **_found(asked))
    if "loss_scale" in run.series or run.events_of("loss-scale", "overflow") or seen in HALF:
        return absent("the log shows half precision at work", **_found(asked))
    return unknown("nothing in the log shows which number format is in force")


@probe("config:precision")
def mixed_precision_off_on_npu(view: View) -> Finding:
    """Full precision on an Ascend device."""
    setting = view.run.settings["precision"]
    if setting.value in HALF:
        return absent(f"the number format is {setting.value}", **_found(setting))
    told = view.run.settings.get("device")
    device = f"{told.value if told else ''} {view.run.facts.get('device') or ''}".lower()
    if re.search(r"ascend|npu|910|davinci", device):
        return present(f"full precision on {device.strip()} ({says(setting)})", **_found(setting))
    if re.search(r"cuda|gpu|cpu|mps|tpu|a100|h100|v100|t4", device):
        return absent(f"the device is {device.strip()}", **_found(setting))
    return unknown("the device is not recorded")


# -------------------------------------------------------------------------------------------- loss scale


@probe("config:loss_scale|config:initial_loss_scale|config:precision")
def fixed_loss_scale_large(view: View, limit: float, logged: float) -> Finding:
    """A static loss scale of at least `limit`, or one that the log shows standing at `logged` or more.

    A dynamic scale may stand at its usual first value of 2^16 for a whole short run; far above that the first
    overflow brings it down, so one that stands there is fixed.
    """
    run = view.run
    precision = run.settings.get("precision")
    if precision is not None and precision.value != "fp16":
        return absent(f"the number format is {precision.value}: no loss scale is used", **_found(precision))
    standing = _fixed_scale(run)
    if standing is not None and standing >= logged:
        text = f"the logged loss scale stands at {standing:.4g} throughout"
        return present(text, value=standing, threshold=logged, series=("loss_scale",))
    scale = run.settings.get("loss_scale")
    if scale is None:
        return _not_recorded("loss_scale")
    value = number_of(run, "loss_scale")
    if value is None:
        return absent(f"the loss scale is not fixed ({says(scale)})", **_found(scale))
    if value >= limit:
        return present(f"the fixed loss scale is {value:g}", **_found(scale, threshold=limit))
    return absent(f"the fixed loss scale is {value:g}, below {limit:g}", **_found(scale, threshold=limit))


@probe("config:loss_scale_window")
def loss_scale_growth_eager(view: View, interval: float) -> Finding:
    """A dynamic scale that grows after fewer than `interval` good steps."""
    setting = view.run.settings["loss_scale_window"]
    value = number_of(view.run, "loss_scale_window")
    precision = value_of(view.run, "precision")
    if value is None:
        return _not_recorded("loss_scale_window")
    if number_of(view.run, "loss_scale") is not None or precision in ("fp32", "bf16"):
        return absent("the loss scale is fixed or not used", **_found(setting))
    if value < interval:
        text = f"the loss scale grows after {value:g} good steps, usual are 1000 to 2000"
        return present(text, **_found(setting, threshold=interval))
    return absent(f"the loss scale grows after {value:g} good steps", **_found(setting, threshold=interval))


@probe()
def loss_scale_unfit(view: View, large: float, logged: float, tiny: float) -> Finding:
    """The loss scale is fixed far too high, or below one; see each."""
    from .scaler import loss_scale_tiny

    return any_of((fixed_loss_scale_large(view, large, logged), loss_scale_tiny(view, limit=tiny)))


# --------------------------------------------------------------------------------------- plain thresholds


_COUPLED = ("sgd", "momentum", "adam", "rmsprop", "nadam", "radam", "adagrad")  # L2, not decoupled decay


@probe()
def setting_above(view: View, setting: str, limit: float, limit_sgd: float | None = None) -> Finding:
    """A number above `limit` (`limit_sgd` instead where decay is part of the gradient: SGD, plain Adam)."""
    found = view.run.settings.get(setting)
    value = number_of(view.run, setting)
    if found is None or value is None:
        return _not_recorded(setting)
    if limit_sgd is not None and value_of(view.run, "optimizer") in _COUPLED:
        limit = limit_sgd
    if value > limit:
        return present(f"{says(found)}, above {limit:g}", **_found(found, threshold=limit))
    return absent(f"{says(found)}, not above {limit:g}", **_found(found, threshold=limit))


@probe()
def regularisation_large(
    view: View, weight_decay: float, sgd: float, dropout: float, smoothing: float
) -> Finding:
    """Weight decay (`sgd`: its limit under SGD), dropout or label smoothing above its limit."""
    return any_of(
        (
            setting_above(view, "weight_decay", weight_decay, sgd),
            setting_above(view, "dropout", dropout),
            setting_above(view, "label_smoothing", smoothing),
        )
    )


@probe("config:max_grad_norm")
def clipping_off(view: View) -> Finding:
    """Gradient clipping is explicitly off."""
    setting = view.run.settings["max_grad_norm"]
    value = number_of(view.run, "max_grad_norm")
    if value is None or value <= 0 or value > 1e6:
        return present(f"gradients are not clipped ({says(setting)})", **_found(setting))
    return absent(f"gradients are clipped at {value:g}", **_found(setting))


@probe("config:max_grad_norm")
def clipping_very_small(view: View, limit: float) -> Finding:
    """A clipping threshold so small that it rules the step size."""
    setting = view.run.settings["max_grad_norm"]
    value = number_of(view.run, "max_grad_norm")
    if value is not None and 0 < value < limit:
        return present(f"gradients are clipped at {value:g}", **_found(setting, threshold=limit))
    shown = "not clipped" if value is None or value <= 0 else f"clipped at {value:g}"
    return absent(f"gradients are {shown}", **_found(setting, threshold=limit))


@probe()
def warmup_absent(view: View, steps: float = 5.0) -> Finding:
    """Warm-up is configured as zero everywhere it is named, or as fewer than `steps` steps."""
    run = view.run
    named = [run.settings[k] for k in ("warmup_steps", "warmup_ratio", "warmup_epochs") if k in run.settings]
    values = [(s, names.number(s.value)) for s in named if not isinstance(s.value, tuple)]
    known = [(s, v) for s, v in values if v is not None]
    for setting, value in known:
        if value >= (steps if setting.key == "warmup_steps" else 1e-12):
            return absent(f"warm-up is configured ({says(setting)})", **_found(setting))
    if value_of(run, "lr_scheduler") == "onecycle":
        return absent("the one-cycle schedule warms up", **_found(run.settings["lr_scheduler"]))
    if known:
        return present(f"no warm-up ({', '.join(says(s) for s, _ in known)})", **_found(known[0][0]))
    return unknown("no warm-up setting is recorded")


@probe("config:global_batch_size|config:batch_size")
def batch_size_below(view: View, limit: float) -> Finding:
    """The batch per optimizer step is below `limit` samples."""
    key = "global_batch_size" if number_of(view.run, "global_batch_size") is not None else "batch_size"
    value = number_of(view.run, key)
    if value is None or value <= 0:
        return _not_recorded("batch_size")
    setting = view.run.settings[key]
    tokens = value * (number_of(view.run, "max_sequence_length") or 1)
    if value >= limit:
        return absent(f"{value:g} samples per optimizer step", **_found(setting, threshold=limit))
    if tokens >= _ENOUGH_TOKENS:
        text = f"{value:g} sequences, yet {tokens:g} tokens per optimizer step"
        return absent(text, **_found(setting, threshold=limit))
    if _one_of_several_factors(view.run):
        text = f"{value:g} samples per device; accumulation and the number of devices are not both recorded"
        return unknown(text, **_found(setting, threshold=limit))
    return present(f"{value:g} samples per optimizer step", **_found(setting, threshold=limit))


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
        return _not_recorded("global_batch_size")
    samples = number_of(run, "train_samples")
    if value >= absolute and value_of(run, "optimizer") not in ("lamb", "lars"):
        return present(f"{value:g} samples per optimizer step", **_found(setting, threshold=absolute))
    if samples is None or samples <= 0:
        return unknown("the size of the training set is not recorded")
    text = f"{value:g} of {samples:g} training samples per optimizer step ({value / samples:.0%})"
    if value >= least and value >= share * samples:
        return present(text, **_found(setting, threshold=share))
    return absent(text, **_found(setting, threshold=share))


@probe("config:epochs|config:max_steps")
def epochs_below(view: View, limit: float) -> Finding:
    """Fewer passes over the data than `limit`."""
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
        return _not_recorded("epochs")
    else:
        setting = run.settings["epochs"]
    text = f"{epochs:.3g} passes over the data are configured"
    if epochs < limit:
        return present(text, **_found(setting, threshold=limit))
    return absent(text, **_found(setting, threshold=limit))


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
            return absent(f"{says(setting)}", **_found(setting))
    if "weight_decay" not in recorded or not {"dropout", "augmentation", "drop_path"} & recorded.keys():
        return unknown("weight decay and a second means (dropout, augmentation) are not both recorded")
    text = ", ".join(says(s) for s in recorded.values())
    return present(f"nothing regularises: {text}", **_found(recorded["weight_decay"]))


@probe("config:shuffle")
def shuffle_off(view: View) -> Finding:
    """Training data are read in a fixed order.

    Where a training loader of a script says so, `script-loader-keeps-order` tells it, and it counts once.
    """
    setting = view.run.settings["shuffle"]
    if setting.value is False and setting.file in view.run.scripts:
        told = loader_keeps_order(view)
        if told.state is State.PRESENT:
            return unknown(f"{says(setting)}: {told.why}, which is judged by itself", **_found(setting))
    return _switched_off(setting, "shuffling")


@probe("config:normalize")
def normalization_off(view: View) -> Finding:
    """Inputs are not normalised."""
    return _switched_off(view.run.settings["normalize"], "input normalisation")


def _switched_off(setting: Configured, what: str) -> Finding:
    if setting.value is False:
        return present(f"{what} is off ({says(setting)})", **_found(setting))
    return absent(f"{what} is on ({says(setting)})", **_found(setting))


# ------------------------------------------------------------------------------------ optimizer, numbers

_FP16_TINY = 6e-8  # smaller numbers are zero in fp16


@probe("config:adam_epsilon|config:layer_norm_epsilon|config:batch_norm_epsilon|config:loss_epsilon")
def epsilon_extreme(view: View, large: float) -> Finding:
    """An epsilon is zero, vanishes in fp16 where fp16 computes with it, or is very large."""
    run = view.run
    keys = ("adam_epsilon", "layer_norm_epsilon", "batch_norm_epsilon", "loss_epsilon")
    known = [(run.settings[k], v) for k in keys if (v := number_of(run, k)) is not None]
    pure = _raw_value(run, r"(?:16|fp16|float16)-true") is not None
    for setting, value in known:
        if value == 0:
            return present(
                f"{says(setting)}: nothing keeps a division from zero", **_found(setting, threshold=0.0)
            )
        vanishes = value_of(run, "precision") == "fp16" and (setting.key == "loss_epsilon" or pure)
        if vanishes and value < _FP16_TINY:
            text = f"{says(setting)} is zero in fp16 (least value {_FP16_TINY:g})"
            return present(text, **_found(setting, threshold=_FP16_TINY))
        bare = names.parts_of(setting.raw)[-1] in ("eps", "epsilon") and "optimizer" not in run.settings
        if value > large and setting.key == "adam_epsilon" and not bare and _is_adam(run):
            return present(f"{says(setting)} damps every step", **_found(setting, threshold=large))
    if not known:
        return _not_recorded("epsilon")
    return absent(", ".join(says(s) for s, _ in known), **_found(known[0][0]))


def _is_adam(run: Run) -> bool:
    return str(value_of(run, "optimizer") or "").startswith("adam")


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
        second = setting.key == "adam_beta2"
        if value < 0 or value >= 1 or (not second and value >= high):
            return present(says(setting), **_found(setting, threshold=1.0 if second else high))
        if second and value < beta2_low:
            return present(says(setting), **_found(setting, threshold=beta2_low))
    if not known:
        return _not_recorded("momentum")
    return absent(", ".join(says(s) for s, _ in known), **_found(known[0][0], threshold=high))


@probe("config:adam_beta1", "config:adam_beta2")
def betas_swapped(view: View) -> Finding:
    """The first beta of Adam is above the second: the mean of gradients is slower than that of squares."""
    run = view.run
    mean, squares = number_of(run, "adam_beta1"), number_of(run, "adam_beta2")
    if mean is None or squares is None:
        return _not_recorded("adam_beta1")
    text = f"{says(run.settings['adam_beta1'])}, {says(run.settings['adam_beta2'])}"
    rest = _found(run.settings["adam_beta1"], threshold=squares)
    return present(text, **rest) if mean > squares else absent(text, **rest)


# --------------------------------------------------------------------------------------- model and start


@probe("config:freeze")
def layers_frozen(view: View) -> Finding:
    """Part of the model is frozen by configuration."""
    setting = view.run.settings["freeze"]
    value = setting.value
    if isinstance(value, tuple):
        frozen = any(v not in (0, -1, None, False, "", "none") for v in value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        # the usual detection recipes keep the stem (mmdetection: 1, detectron2: 2) of a trained backbone
        usual = {"frozen_stages": 1, "freeze_at": 2}.get(names.parts_of(setting.raw)[-1], 0)
        frozen = value > usual
    else:
        frozen = value not in (None, False, "", "none", "no", "false", "null", "[]")
    if "adapter" in view.run.settings:
        return unknown("adapters are trained, so the rest is frozen by design")
    if frozen:
        return present(f"part of the model is frozen ({says(setting)})", **_found(setting))
    return absent(f"nothing is frozen ({says(setting)})", **_found(setting))


@probe("config:init_std")
def init_extreme(view: View, large: float, small: float) -> Finding:
    """The standard deviation of the initial weights is far from what is used."""
    setting = view.run.settings["init_std"]
    value = number_of(view.run, "init_std")
    if value is None or value < 0:
        return _not_recorded("init_std")
    mine = [s for s in view.run.raw_settings if s.key == "init_std" and s.file == setting.file]
    drawn = [(float(s.value), s) for s in mine if isinstance(s.value, (int, float))]  # of each kind of layer
    widest, at = max(drawn, key=lambda x: x[0], default=(value, None))
    if at is not None and widest > max(value, large):
        text = f"init_std = {widest:g} in {at.file}"
        if min(v for v, _ in drawn) <= small * widest:
            return unknown(
                f"{text} beside ones of a ten-thousandth of it: layers are scaled against each other"
            )
        where = (Place(at.file, at.line),)
        return present(f"{text}, above {large:g}", value=widest, threshold=large, where=where)
    if value > large:
        return present(f"{says(setting)}, above {large:g}", **_found(setting, threshold=large))
    if value < small:
        return present(f"{says(setting)}, below {small:g}", **_found(setting, threshold=small))
    return absent(says(setting), **_found(setting, threshold=large))


@probe("config:initializer|config:init_std")
def init_zero(view: View) -> Finding:
    """All weights start at one value."""
    setting = view.run.settings.get("initializer")
    if setting is not None and re.fullmatch(
        r"(?:all_?)?(?:zeros?|ones?|const(?:ant)?)_?(?:init|initializer)?", str(setting.value)
    ):
        return present(f"weights start at one value ({says(setting)})", **_found(setting))
    spread = number_of(view.run, "init_std")
    if spread == 0:
        return present("the spread of the initial weights is zero", **_found(view.run.settings["init_std"]))
    shown = setting or view.run.settings["init_std"]
    return absent(says(shown), **_found(shown))


@probe("config:vocab_size", "config:tokenizer_vocab_size")
def vocab_mismatch(view: View) -> Finding:
    """The tokenizer has more tokens than the model has embeddings."""
    run = view.run
    model, tokens = number_of(run, "vocab_size"), number_of(run, "tokenizer_vocab_size")
    if model is None or tokens is None:
        return _not_recorded("vocab_size")
    text = f"the tokenizer has {tokens:g} tokens, the model {model:g} embeddings"
    rest = _found(run.settings["tokenizer_vocab_size"], threshold=model)
    # more embeddings than tokens is usual: they are padded to a multiple of 64 or 128
    return present(text, **rest) if tokens > model else absent(text, **rest)


@probe("config:num_classes", "config:data_num_classes")
def num_classes_mismatch(view: View) -> Finding:
    """Data and model have different numbers of classes."""
    run = view.run
    model, data = number_of(run, "num_classes"), number_of(run, "data_num_classes")
    if model is None or data is None:
        return _not_recorded("num_classes")
    if run.settings["num_classes"].raw == run.settings["data_num_classes"].raw:
        return unknown("the number of classes is known from the data only")
    text = f"the data have {data:g} classes, the model {model:g}"
    rest = _found(run.settings["num_classes"], threshold=data)
    # one more is a background class; one output is enough for two classes
    fits = model in (data, data + 1) or (model == 1 and data == 2)
    return absent(text, **rest) if fits else present(text, **rest)


@probe("config:pad_token_id|config:pad_token")
def pad_equals_eos(view: View) -> Finding:
    """Padding and the end of a text are one token."""
    run = view.run
    for pad, eos in (("pad_token", "eos_token"), ("pad_token_id", "eos_token_id")):
        first, second = run.settings.get(pad), run.settings.get(eos)
        if first is None or second is None:
            continue
        ends = second.value if isinstance(second.value, tuple) else (second.value,)
        equal = any(names.same(first.value, e) for e in ends)
        text = f"{says(first)}, {says(second)}"
        return present(text, **_found(first)) if equal else absent(text, **_found(first))
    return unknown("the end token is not recorded")


@probe("config:activation")
def activation_unfit(view: View, layers: float) -> Finding:
    """Sigmoid or tanh between the layers of a deep model."""
    setting = view.run.settings["activation"]
    if setting.value not in ("sigmoid", "tanh", "hardsigmoid", "hard_sigmoid", "softsign", "hardtanh"):
        return absent(says(setting), **_found(setting))
    depth = number_of(view.run, "num_layers")
    if depth is None:
        return unknown(f"{says(setting)}; the number of layers is not recorded")
    text = f"{says(setting)} in {depth:g} layers"
    rest = _found(setting, threshold=layers)
    return present(text, **rest) if depth >= layers else absent(text, **rest)


@probe("config:normalization_layer")
def norm_layers_missing(view: View, layers: float) -> Finding:
    """A deep model without normalisation layers."""
    setting = view.run.settings["normalization_layer"]
    if setting.value != "none":
        return absent(says(setting), **_found(setting))
    depth = number_of(view.run, "num_layers")
    if depth is None:
        return unknown("no normalisation layers; the number of layers is not recorded")
    text = f"{depth:g} layers without normalisation ({says(setting)})"
    rest = _found(setting, threshold=layers)
    return present(text, **rest) if depth >= layers else absent(text, **rest)


_BATCH_NORM_MODELS = re.compile(
    r"^(?:wide_?)?(?:resnet|resnext|mobilenet|efficientnet|densenet|shufflenet|regnet)"
)


@probe("config:batch_size")
def batch_norm_small_batch(view: View, limit: float) -> Finding:
    """Batch normalisation over fewer than `limit` samples per device."""
    run = view.run
    size = number_of(run, "batch_size")
    if size is None:
        return _not_recorded("batch_size")
    norm = value_of(run, "normalization_layer")
    setting = run.settings["batch_size"]
    rest = _found(setting, threshold=limit)
    if size >= limit:
        return absent(f"{size:g} samples per device", **rest)
    if any(names.parts_of(r.key)[-1:] == ["norm_eval"] and r.value is True for r in run.raw_settings):
        return absent("the statistics of batch normalisation are not updated (norm_eval)", **rest)
    if norm is not None and any(names.parts_of(r.key)[-1:] == ["frozen_stages"] for r in run.raw_settings):
        return unknown("detection backbones often keep their batch statistics; not recorded here", **rest)
    if norm == "batchnorm" or (norm is None and _BATCH_NORM_MODELS.match(str(value_of(run, "model") or ""))):
        return present(f"batch normalisation over {size:g} samples per device", **rest)
    if norm is not None:
        return absent(f"normalisation is {norm}", **rest)
    return unknown("the kind of normalisation layers is not recorded")


# -------------------------------------------------------------------------------------------------- data


@probe("config:train_samples")
def train_samples_few(view: View, samples: float) -> Finding:
    """Fewer training samples than `samples`, where the model is not merely adapted."""
    setting = view.run.settings["train_samples"]
    value = number_of(view.run, "train_samples")
    if value is None:
        return _not_recorded("train_samples")
    rest = _found(setting, threshold=samples)
    if value >= samples:
        return absent(f"{value:g} training samples", **rest)
    theirs = number_of(view.benchmark, "train_samples") if view.benchmark is not None else None
    if theirs is not None and theirs <= value:
        return unknown(f"{value:g} training samples, and the benchmark has no more ({theirs:g})")
    if "adapter" in view.run.settings or value_of(view.run, "pretrained") not in (None, False):
        return unknown(f"{value:g} training samples, and the model starts from trained weights")
    return present(f"{value:g} training samples", **rest)


@probe()
def classes_imbalanced(view: View, ratio: float) -> Finding:
    """The largest class has many times the samples of the smallest."""
    found = names.class_counts(view.run.raw_settings)
    if found is None:
        return unknown("class counts are not recorded")
    counts, setting = found
    least, most = min(counts), max(counts)
    value = most / least if least > 0 else float("inf")
    where = (Place(setting.file, setting.line),)
    text = f"{len(counts)} classes with {least:g} to {most:g} samples"
    if value >= ratio and most > 0:
        return present(text, value=value, threshold=ratio, where=where)
    return absent(text, value=value, threshold=ratio, where=where)


# ------------------------------------------------------------------------------------------- the system


@probe()
def world_size_one(view: View) -> Finding:
    """More devices are configured than processes train."""
    run = view.run
    asked = names.device_count({k: v for k, v in run.settings.items() if v.trust > 40})
    if asked is None:
        switch = run.settings.get("distributed")
        if switch is not None and switch.value is False:
            return absent(f"one process is configured ({says(switch)})", **_found(switch))
        return unknown("the number of devices is not recorded")
    count, setting = asked
    if count <= 1:
        return absent("one process is configured", **_found(setting))
    seen = names.number(run.facts.get("world_size"))
    logged = max(len(run.ranks), int(seen) if seen else 0)
    if logged >= 2:
        return absent(f"{logged} processes train", **_found(setting))
    if logged == 1 and seen == 1:
        return present(
            f"{count} devices are configured ({says(setting)}), one process trains", **_found(setting)
        )
    switch = run.settings.get("distributed")
    if switch is not None and switch.value is False:
        text = f"{count} devices are configured ({says(setting)}), and {says(switch)}"
        return present(text, **_found(setting))
    return unknown(f"{count} devices are configured; the log does not say how many processes train")


@probe("config:zero_stage")
def zero2_overlap(view: View) -> Finding:
    """DeepSpeed ZeRO-2 with overlap_comm on several processes."""
    run = view.run
    stage, overlap = run.settings["zero_stage"], run.settings.get("zero_overlap_comm")
    if number_of(run, "zero_stage") != 2:
        return absent(says(stage), **_found(stage))
    if overlap is None:
        return _not_recorded("overlap_comm")
    if overlap.value is False:
        return absent(says(overlap), **_found(overlap))
    size = number_of(run, "world_size")
    if size is None:
        return unknown("ZeRO-2 with overlap_comm; the number of processes is not recorded")
    text = f"{says(stage)}, {says(overlap)}, {size:g} processes"
    return present(text, **_found(overlap)) if size > 1 else absent(text, **_found(overlap))


@probe()
def seed_not_set(view: View) -> Finding:
    """The seed is recorded, and it is none."""
    setting = view.run.settings.get("seed")
    if setting is None:
        return _not_recorded("seed")
    value = number_of(view.run, "seed")
    if value is None or value < 0:
        return present(f"no seed is set ({says(setting)})", **_found(setting))
    return absent(f"the seed is {value:g}", **_found(setting))


@probe()
def number_as_text(view: View) -> Finding:
    """A number such as 1e-5 in YAML, which the usual reader hands to the program as text.

    A run that trained has converted it (an optimizer refuses text), so it counts only where nothing was
    trained or the run ended with an exception.
    """
    run = view.run
    written = run.facts.get("number_as_text")
    if written is None:
        if any(s.file.endswith((".yaml", ".yml")) for s in run.raw_settings):
            return absent("all numbers are written as numbers")
        return unknown("there is no YAML configuration")
    if not any(n.endswith("/loss") for n in run.series) or run.events_of("traceback"):
        return present(f"{written} is text to the usual YAML reader", value=str(written))
    return unknown(f"{written} is text to the usual YAML reader, yet training went on")


_OVERRIDABLE = (
    "batch_size",
    "dropout",
    "epochs",
    "gradient_accumulation_steps",
    "label_smoothing",
    "learning_rate",
    "lr_scheduler",
    "max_grad_norm",
    "momentum",
    "optimizer",
    "warmup_ratio",
    "warmup_steps",
    "weight_decay",
)


@probe()
def setting_conflict(view: View) -> Finding:
    """One hyperparameter, named at the top level of two files (or twice in one), has two values."""
    direct = [s for s in view.run.raw_settings if len(names.parts_of(s.key)) <= 2]
    every = names.candidates(direct)
    compared = 0
    for key in _OVERRIDABLE:
        rows = [
            c
            for c in every.get(key, ())
            if c.trust > 40 and not c.file.endswith(("trainer_state.json", ".py"))
        ]
        taken = {c.file for c in rows if names.same(c.value, rows[0].value)}
        for other in rows[1:]:
            equal = names.same(rows[0].value, other.value)
            if not _rivals(rows[0], other) or (not equal and _other_launch(rows[0], other, taken)):
                continue
            compared += 1
            if not equal:
                text = f"{says(rows[0])} ({rows[0].file}) and {says(other)} ({other.file})"
                where = (place_of(rows[0]), place_of(other))
                return present(text, value=_scalar(rows[0]), threshold=_scalar(other), where=where)
    if compared:
        return absent(f"{compared} settings stand in more than one place, with the same values")
    return unknown("no hyperparameter stands in two places")


def _other_launch(first: Configured, other: Configured, taken: set[str]) -> bool:
    """Another command of a launch script that has the value in force, too: an earlier or later stage."""
    one_line = first.file == other.file and first.line == other.line
    return other.file.endswith((".sh", ".bash")) and other.file in taken and not one_line


def _rivals(first: Configured, other: Configured) -> bool:
    """Two names in one file are two settings (`batch_size`, `train_batch_size`); one name is a conflict."""
    if first.value is None or other.value is None:
        return False
    folders = [c.file[: c.file.rfind("/") + 1] for c in (first, other)]
    if not folders[0].startswith(folders[1]) and not folders[1].startswith(folders[0]):
        return False  # two runs' records
    suffixes = {c.file.rpartition(".")[2] for c in (first, other)}
    if first.file != other.file and len(suffixes) == 1 and suffixes & {"sh", "log", "txt", "out", "bash"}:
        return False  # two launch scripts or two logs are two runs
    last = [names.parts_of(c.raw)[-1] for c in (first, other)]
    return last[0] == last[1] or (first.file != other.file and first.key != "batch_size")
