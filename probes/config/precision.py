"""Precision and loss scale in the configuration."""

from __future__ import annotations

import re

import numpy as np

from ...engine.model import Place
from ..readers._tree import unparse
from ..readers.script import DEFAULT
from ..registry import Finding, View, absent, any_of, present, probe, unknown
from ..run import Configured, Run
from .values import (
    HALF,
    amp_disabled,
    carried,
    not_recorded,
    number_of,
    of_torchtune,
    raw_value,
    says,
    value_of,
)

_INITIALISED = re.compile(r"(?i)(?:^|\.)param_init_(?:d?type)$")  # MindFormers: weights are made in it
_SCALED = re.compile(r"(?i)loss_?scal|LossScale")
_TRAINS_GRAPH = re.compile(r"\.(?:minimize|apply_gradients|compute_gradients)\(")
_BF16_MODELS = re.compile(
    r"(?:^|[-_/])(?:llama[-_]?[23]|mistral|mixtral|qwen[-_]?[123]|gemma|t5|mt5|byt5|flan[-_]?t5|ul2|pegasus|deepseek"
    r"|phi[-_]?[34]|falcon|glm[-_]?4|internlm[-_]?[23]|olmo|bloomz?|yi[-_]\d|baichuan[-_]?2|smollm)(?![a-z])",
    re.IGNORECASE,
)


@probe("config:precision")
def precision_is(view: View, precision: str) -> Finding:
    """Training runs in this number format."""
    setting = view.run.settings["precision"]
    if setting.value == precision and precision in HALF and (off := amp_disabled(view.run)) is not None:
        return unknown(f"{says(setting)} is asked for, and the log says: {off.text}")
    if setting.value == precision:
        return present(f"the number format is {precision} ({says(setting)})", **carried(setting))
    return absent(f"the number format is {setting.value} ({says(setting)})", **carried(setting))


@probe("config:precision")
def fp16_without_scaling(view: View) -> Finding:
    """fp16 with the loss scale switched off or fixed at 1."""
    run = view.run
    setting = run.settings["precision"]
    if setting.value != "fp16":
        return absent(f"the number format is {setting.value}, which needs no loss scale", **carried(setting))
    if (told := amp_disabled(run)) is not None and "scaler" not in told.text.lower():
        return unknown(f"fp16 is asked for and not at work: {told.text}")
    pure = raw_value(run, r"(?:16|fp16|float16)-true")
    if pure is not None:
        return present(
            f"{pure[0]} trains in pure fp16, which has no loss scale", value=pure[0], where=(pure[1],)
        )
    if (off_by := _amp_off(run, setting)) is not None:
        return unknown(f"mixed precision is switched off by default ({off_by})", **carried(setting))
    logged = _fixed_scale(run)
    if logged == 1.0:
        return present("fp16 is in use and the logged loss scale is 1 throughout", value=1.0, threshold=1.0)
    seen = [e for e in run.events_of("loss-scale", "overflow", "scale-at-minimum") if e.value != 1]
    if "loss_scale" in run.series or seen:
        return absent("the log shows a loss scale")
    scale = run.settings.get("loss_scale")
    switch = run.settings.get("dynamic_loss_scale")
    scaled = number_of(run, "loss_scale")
    off = scale is not None and (scale.value is None or scaled == 1)
    if scale is not None and scale.value is None and scale.trust <= DEFAULT:
        return unknown("fp16 is in use; no loss scale unless one is asked for", **carried(scale))
    if scale is not None and not off:
        return absent(f"a loss scale is configured ({says(scale)})", **carried(scale))
    initial = number_of(run, "initial_loss_scale")
    if (
        initial == 1 and switch is not None and switch.value is False
    ):  # Paddle: `scale_loss: 1.0`, and it stays
        said = run.settings["initial_loss_scale"]
        return present(f"fp16 is in use and the loss scale is fixed at 1 ({says(said)})", **carried(said))
    if initial is not None and not off:
        return absent("an initial loss scale is configured", **carried(run.settings["initial_loss_scale"]))
    if switch is not None and switch.value is True:
        return absent(f"a scaler is configured ({says(switch)})", **carried(switch))
    if scale is not None:
        return present(f"fp16 is in use and the loss scale is off ({says(scale)})", **carried(scale))
    if switch is not None and switch.value is False:
        return present(f"fp16 is in use and the scaler is off ({says(switch)})", **carried(switch))
    if setting.raw.startswith("precision_mode") and (by := _unscaled_graph(run)) is not None:
        return present(f"{says(setting)}, and {by} scales no loss", **carried(setting))
    return unknown("fp16 is in use; nothing records whether the loss is scaled")


def _unscaled_graph(run: Run) -> str | None:
    """A script that trains by TensorFlow on Ascend, where no script speaks of a loss scale."""
    if any(_SCALED.search(text) for text in run.scripts.values()):
        return None
    return next((path for path, text in run.scripts.items() if _TRAINS_GRAPH.search(text)), None)


def _amp_off(run: Run, setting: Configured) -> str | None:
    """`use_amp = False` beside `opt_level = "O2"`, where nothing but defaults is known: the switch."""
    switches = ("use_amp", "amp", "use_fp16", "enable_amp", "mixed_precision", "use_mixed_precision")
    off = (
        s.key for s in run.raw_settings if s.key in switches and s.value is False and s.file == setting.file
    )
    return next(off, None) if setting.trust <= DEFAULT else None


def _fixed_scale(run: Run, points: int = 10) -> float | None:
    """The logged loss scale, if it never changes over `points` values."""
    series = run.series.get("loss_scale")
    if series is None or len(series) < points or not np.all(series.values == series.values[0]):
        return None
    return float(series.values[0])


@probe("config:precision")
def fp16_on_bf16_model(view: View) -> Finding:
    """A model that was trained in bf16 is trained on in fp16."""
    setting = view.run.settings["precision"]
    if setting.value != "fp16":
        return absent(f"the number format is {setting.value}", **carried(setting))
    dtype = view.run.settings.get("dtype")
    if dtype is not None and dtype.value == "bf16":
        return present(f"fp16 training of a model stored in bf16 ({says(dtype)})", **carried(dtype))
    if dtype is not None and dtype.value == "fp16":
        return absent(f"the model is stored in fp16 ({says(dtype)})", **carried(dtype))
    model = view.run.settings.get("model")
    pretrained = view.run.settings.get("pretrained")
    for candidate in (model, pretrained):
        if candidate is not None and _BF16_MODELS.search(str(candidate.value)):
            text = f"fp16 training of {candidate.value}, which was trained in bf16"
            return present(text, **carried(candidate))
    if model is None:
        return not_recorded("model")
    if pretrained is not None and pretrained.value is False:
        return absent("the model starts from scratch", **carried(pretrained))
    return unknown(f"nothing says in which number format {model.value} was trained")


_PURE = ("pure_bf16", "pure_bf16_training", "full_bf16", "use_pure_bf16")  # LLaMA-Factory and its kin


def _switched(run: Run, keys: tuple[str, ...]) -> tuple[str, Place] | None:
    """The first of these switches that is on, with its place."""
    for setting in run.raw_settings:
        if setting.key.rpartition(".")[2].lower() in keys and str(setting.value).lower() == "true":
            return f"{setting.key} = {setting.value}", Place(setting.file, setting.line)
    return None


@probe()
def pure_bf16_weights(view: View) -> Finding:
    """Weights kept in bf16 without an fp32 copy.

    MindFormers makes its parameters in `param_init_type`, and its optimizers update them in that format.
    torchtune has no mixed precision: what its `dtype` says holds for the weights as well.
    """
    run = view.run
    setting = run.settings.get("precision")
    if setting is None:  # LLaMA-Factory's `pure_bf16` stands alone
        alone = _switched(run, _PURE)
        if alone is None:
            return not_recorded("precision")
        return present(f"{alone[0]}: weights and updates are both in bf16", value=alone[0], where=(alone[1],))
    if setting.value != "bf16":
        return absent(f"the number format is {setting.value}", **carried(setting))
    pure = raw_value(run, r"(?:bf16|bfloat16)[-_](?:true|pure|full)|pure[-_]bf16|bf16_full")
    pure = pure or _switched(run, _PURE)
    if pure is not None:
        return present(f"{pure[0]}: weights and updates are both in bf16", value=pure[0], where=(pure[1],))
    masters = run.settings.get("master_weights")
    kept = run.settings.get("dtype")
    if masters is None and kept is not None and kept.value == "bf16" and _INITIALISED.search(kept.raw):
        return present(f"weights are made and updated in bf16 ({says(kept)})", **carried(kept))
    if masters is None and setting.raw == "dtype" and of_torchtune(run):
        return present(f"torchtune makes and updates weights in bf16 ({says(setting)})", **carried(setting))
    if masters is not None and masters.value is False:
        return present(f"bf16 without fp32 master weights ({says(masters)})", **carried(masters))
    if masters is not None:
        return absent(f"fp32 master weights are kept ({says(masters)})", **carried(masters))
    mixed = raw_value(run, r"bf16-mixed|mixed_bfloat16|amp_bf16")
    if mixed is not None or (run.facts.get("trainer") == "transformers" and "bf16" in run.settings):
        return absent("mixed precision keeps the weights in fp32", **carried(setting))
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
        return not_recorded("precision")
    if asked.value in ("fp32", "fp64", False):
        return absent(f"mixed precision is not asked for ({says(asked)})", **carried(asked))
    level = run.settings.get("amp_level")
    if level is not None and str(level.value).lower() == "o0":
        return present(f"{says(asked)}, and {says(level)} switches it off", **carried(level))
    off = amp_disabled(run)
    if off is not None and "scaler" not in off.text.lower():
        return present(f"{says(asked)}, and the log says: {off.text}", **carried(asked))
    seen = str(run.facts.get("precision") or "").lower()
    if seen in ("fp32", "float32"):
        return present(f"{says(asked)}, and the log says that training runs in {seen}", **carried(asked))
    scales = run.series.get("loss_scale")
    scaled = scales is not None and bool(np.any(scales.values > 1))
    if scaled or run.events_of("loss-scale", "overflow") or seen in HALF:
        return absent("the log shows half precision at work", **carried(asked))
    return unknown("nothing in the log shows which number format is in force")


@probe("config:precision")
def mixed_precision_off_on_npu(view: View) -> Finding:
    """Full precision on an Ascend device."""
    setting = view.run.settings["precision"]
    if setting.value in HALF:
        return absent(f"the number format is {setting.value}", **carried(setting))
    told = view.run.settings.get("device")
    device = f"{told.value if told else ''} {view.run.facts.get('device') or ''}".lower()
    if re.search(r"ascend|npu|910|davinci", device):
        return present(f"full precision on {device.strip()} ({says(setting)})", **carried(setting))
    if re.search(r"cuda|gpu|cpu|mps|tpu|a100|h100|v100|t4", device):
        return absent(f"the device is {device.strip()}", **carried(setting))
    return unknown("the device is not recorded")


@probe("config:loss_scale|config:initial_loss_scale|config:precision")
def fixed_loss_scale_large(view: View, limit: float, logged: float) -> Finding:
    """A static loss scale of at least `limit`, or one that the log shows standing at `logged` or more.

    A dynamic scale may stand at its usual first value of 2^16 for a whole short run; far above that the first
    overflow brings it down, so one that stands there is fixed.
    """
    run = view.run
    precision = run.settings.get("precision")
    if precision is not None and precision.value != "fp16":
        return absent(f"the number format is {precision.value}: no loss scale is used", **carried(precision))
    standing = _fixed_scale(run)
    if standing is not None and standing >= logged:
        text = f"the logged loss scale stands at {standing:.4g} throughout"
        return present(text, value=standing, threshold=logged, series=("loss_scale",))
    scale = run.settings.get("loss_scale")
    if scale is None:
        return not_recorded("loss_scale")
    value = number_of(run, "loss_scale")
    if value is None:
        return absent(f"the loss scale is not fixed ({says(scale)})", **carried(scale))
    if value >= limit and _is_moved(run, scale):
        return absent(f"a scaler begins with {says(scale)} and moves it", **carried(scale))
    if value >= limit:
        return present(f"the fixed loss scale is {value:g}", **carried(scale, threshold=limit))
    return absent(f"the fixed loss scale is {value:g}, below {limit:g}", **carried(scale, threshold=limit))


_FIRST_SCALES = re.compile(r"^init(?:ial)?_(?:loss_)?scal(?:e|ing)$|^init_loss_scaling$")


def _is_moved(run: Run, setting: Configured) -> bool:
    """`GradScaler(init_scale=args.loss_scale)`: a scaler that moves its scale begins with it."""
    from ..code.shared.checks import scripts

    name = setting.raw.rpartition(".")[2].lstrip("-")
    return any(
        k.arg is not None
        and _FIRST_SCALES.match(k.arg)
        and re.search(rf"\b{re.escape(name)}\b", unparse(k.value))
        for source in scripts(run)
        for call in source.calls
        for k in call.keywords
    )


@probe("config:loss_scale_window")
def loss_scale_growth_eager(view: View, interval: float) -> Finding:
    """A dynamic scale that grows after fewer than `interval` good steps."""
    setting = view.run.settings["loss_scale_window"]
    value = number_of(view.run, "loss_scale_window")
    precision = value_of(view.run, "precision")
    if value is None:
        return not_recorded("loss_scale_window")
    if number_of(view.run, "loss_scale") is not None or precision in ("fp32", "bf16"):
        return absent("the loss scale is fixed or not used", **carried(setting))
    if value < interval:
        text = f"the loss scale grows after {value:g} good steps, usual are 1000 to 2000"
        return present(text, **carried(setting, threshold=interval))
    return absent(f"the loss scale grows after {value:g} good steps", **carried(setting, threshold=interval))


@probe()
def loss_scale_unfit(view: View, large: float, logged: float, tiny: float) -> Finding:
    """The loss scale is fixed far too high, or below one; see each."""
    from ..curves.scaler import loss_scale_tiny

    return any_of((fixed_loss_scale_large(view, large, logged), loss_scale_tiny(view, limit=tiny)))
