"""Settings that follow from others: precision from its switches, the global batch from its factors, ..."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...engine.model import Scalar
from ..run import Configured, Event, Setting
from .counts import class_counts, class_names
from .names import parts_of
from .values import Value, integral, number, precision_word


def derive(
    found: dict[str, Configured],
    settings: tuple[Setting, ...],
    events: Iterable[Event],
    facts: Mapping[str, Scalar],
) -> None:
    """Add to `found`, in place, what follows from the settings in it."""
    _derive_yolo(found, settings)
    _derive_decay_form(found, settings)
    _derive_betas(found)
    _derive_dropout(found)
    _derive_clipping(found)
    _derive_counts(found, settings)
    _derive_told(found, facts)
    _derive_precision(found)
    _derive_scale(found)
    _derive_resume(found, events)
    _derive_world(found, facts)
    _derive_accumulation(found, settings)
    _derive_batch(found)


def _as(source: Configured, key: str, value: Value) -> Configured:
    return replace(source, key=key, value=value)


def _derive_yolo(found: dict[str, Configured], settings: tuple[Setting, ...]) -> None:
    """Ultralytics: `optimizer: auto` ignores lr0 and momentum; cos_lr is its schedule."""
    for setting in settings:
        if (
            setting.key in ("cos_lr", "cos-lr")
            and isinstance(setting.value, bool)
            and "lr_scheduler" not in found
        ):
            word = "cosine" if setting.value else "linear"
            found["lr_scheduler"] = Configured(
                "lr_scheduler", word, setting.key, setting.file, setting.line, setting.trust
            )
    if any(s.key == "optimizer" and s.value == "auto" for s in settings):
        for key in ("learning_rate", "momentum"):
            if key in found and found[key].raw in ("lr0", "momentum"):
                del found[key]


_DECOUPLED_ADAM = (
    (
        frozenset(("lr_decay_style", "adam_beta2")),
        "decoupled_weight_decay",
        False,
    ),  # Megatron-LM: fused, in W mode
    (frozenset(("train_micro_batch_size_per_gpu",)), "adam_w_mode", False),  # DeepSpeed: `adam_w_mode` is on
    (frozenset(("zero_optimization",)), "adam_w_mode", False),
)


def _derive_decay_form(found: dict[str, Configured], settings: tuple[Setting, ...]) -> None:
    """What Megatron-LM and DeepSpeed call Adam decays weights apart from the gradient, unless told not to."""
    optimizer = found.get("optimizer")
    if optimizer is None or optimizer.value != "adam":
        return
    beside = {
        part.replace("-", "_").lower(): s.value
        for s in settings
        if s.file == optimizer.file
        for part in s.key.split(".")
    }
    if beside.get("torch_adam") is True:
        return
    for keys, switch, coupled in _DECOUPLED_ADAM:
        if keys <= set(beside) and beside.get(switch) is not coupled:
            found["optimizer"] = replace(optimizer, value="adamw")
            return


def _derive_betas(found: dict[str, Configured]) -> None:
    betas = found.get("adam_betas")
    if betas is None or not isinstance(betas.value, tuple):
        return
    for at, key in enumerate(("adam_beta1", "adam_beta2")):
        if key not in found and len(betas.value) > at and number(betas.value[at]) is not None:
            found[key] = _as(betas, key, betas.value[at])


def _derive_dropout(found: dict[str, Configured]) -> None:
    keep = found.get("keep_prob")
    kept = number(keep.value) if keep and not isinstance(keep.value, tuple) else None
    if keep and kept is not None and "dropout" not in found and 0 <= kept <= 1:
        found["dropout"] = _as(keep, "dropout", round(1 - kept, 9))


def _derive_clipping(found: dict[str, Configured]) -> None:
    switch = found.get("use_clip_grad")
    if switch and switch.value is False:
        found["max_grad_norm"] = _as(switch, "max_grad_norm", None)


def _derive_counts(found: dict[str, Configured], settings: tuple[Setting, ...]) -> None:
    counts = class_counts(settings)
    if counts:
        numbers, at = counts
        source = Configured("", None, at.key, at.file, at.line, at.trust)
        found.setdefault("data_num_classes", _as(source, "data_num_classes", len(numbers)))
        if sum(numbers) > 1.5:  # shares add up to one
            found.setdefault("train_samples", _as(source, "train_samples", integral(sum(numbers))))
    listed = class_names(settings)
    if listed is not None and isinstance(listed.value, tuple) and "num_classes" not in found:
        count = len(listed.value)
        found["num_classes"] = Configured(
            "num_classes", count, listed.key, listed.file, listed.line, listed.trust
        )
    labels = [s for s in settings if re.search(r"(?:^|\.)id2label\.[^.]+$", s.key)]
    if labels and "num_classes" not in found:
        at = labels[0]
        count = len({s.key for s in labels if s.file == at.file})
        found["num_classes"] = Configured("num_classes", count, "id2label", at.file, at.line, at.trust)


_TOLD = {"epochs": "epochs_planned", "train_samples": "samples_train", "eval_samples": "samples_eval"}


def _derive_told(found: dict[str, Configured], facts: Mapping[str, Scalar]) -> None:
    """What a log says in passing stands in where no setting says it."""
    for key, name in _TOLD.items():
        told = number(facts.get(name))
        if told is not None and key not in found:
            found[key] = Configured(key, integral(told), name, "", None, 40)
    listed = number(facts.get("samples_found"))
    if listed is not None and "train_samples" not in found:
        found["train_samples"] = Configured("train_samples", integral(listed), "samples_found", "", None, 40)
    word = precision_word(str(facts.get("precision") or ""))
    if word and not any(
        k in found for k in ("precision", "fp16", "bf16", "amp", "amp_level", "mixed_precision")
    ):
        found["precision"] = Configured("precision", word, "precision", "", None, 40)
    counted = found.get("data_num_classes")
    if counted is not None and "num_classes" not in found and "vocab_size" not in found:
        found["num_classes"] = _as(counted, "num_classes", counted.value)


def _flag(found: Mapping[str, Configured], key: str) -> bool | None:
    setting = found.get(key)
    return setting.value if setting is not None and isinstance(setting.value, bool) else None


# Ascend's graph engine. `allow_fp32_to_fp16` is left out: it lowers only what the hardware cannot compute.
_GRAPH_PRECISION = {
    "allow_mix_precision": "fp16",
    "allow_mix_precision_fp16": "fp16",
    "allow_mix_precision_bf16": "bf16",
    "force_fp16": "fp16",
    "mixed_float16": "fp16",
    "mixed_bfloat16": "bf16",
    "fp16": "fp16",
    "must_keep_origin_dtype": "fp32",
    "force_fp32": "fp32",
    "origin": "fp32",
}


_KEEPS = ("must_keep_origin_dtype", "origin")
_HALF = ("fp16", "bf16", "fp8")


def _switched_off(found: Mapping[str, Configured], level: Configured) -> bool:
    """`Namespace(amp=False, opt_level='O1')` in a log: the level of a switch that was off when it ran."""
    return (
        _flag(found, "amp") is False
        and found["amp"].file == level.file
        and not level.file.endswith((".py", ".yaml", ".yml", ".json"))
    )


def _flagged_off(found: Mapping[str, Configured]) -> bool:
    """`fp16: false` beside a cast to fp16 that the switch is for."""
    return _flag(found, str(found["amp_dtype"].value)) is False


def _derive_precision(found: dict[str, Configured]) -> None:
    """One word for the number format of the forward and backward pass."""
    if "precision" in found:
        return
    mode = found.get("graph_precision")
    halves = [found[k] for k in ("amp_dtype", "mixed_precision") if k in found and found[k].value in _HALF]
    if (
        mode is not None
        and str(mode.value).lower() in _KEEPS
        and (halves or any(_flag(found, k) for k in _HALF))
    ):
        mode = None  # it keeps the formats that the program asks for
    if mode is not None and str(mode.value).lower() in _GRAPH_PRECISION:
        found["precision"] = _as(mode, "precision", _GRAPH_PRECISION[str(mode.value).lower()])
        return
    level = found.get("amp_level")
    for key, word in (("fp8", "fp8"), ("bf16", "bf16"), ("fp16", "fp16")):
        if _flag(found, key):
            found["precision"] = _as(found[key], "precision", word)
            return
    mixed = found.get("mixed_precision")
    if mixed is not None:
        found["precision"] = _as(mixed, "precision", mixed.value)
    elif level is not None and _switched_off(found, level):
        found["precision"] = _as(found["amp"], "precision", "fp32")
    elif level is not None and re.fullmatch(r"(?i)o[0-3]|auto", str(level.value)):
        word = "fp32" if str(level.value).lower() == "o0" else "fp16"
        own = next((h for h in halves if h.file == level.file), None) if word == "fp32" else None
        found["precision"] = _as(
            own or level, "precision", own.value if own else word
        )  # a model casts by itself
    elif _flag(found, "amp"):
        dtype = found.get("amp_dtype") or found.get("dtype")
        half = dtype is not None and dtype.value in ("fp16", "bf16", "fp8")
        device = found.get("device")
        if half and dtype is not None:
            found["precision"] = _as(dtype, "precision", dtype.value)
        elif device is None or "cpu" not in str(device.value):
            # torch.autocast on accelerators, mindspore O2/O3 and YOLO all mean fp16 when nothing else is said
            found["precision"] = _as(found["amp"], "precision", "fp16")
    elif "amp_dtype" in found and _flag(found, "amp") is None and not _flagged_off(found):
        found["precision"] = _as(found["amp_dtype"], "precision", found["amp_dtype"].value)
    elif "dtype" in found and not any(k in found for k in ("fp16", "bf16", "amp")):
        # torch_dtype is how a checkpoint is stored, not how it was trained
        if parts_of(found["dtype"].raw)[-1] != "torch_dtype":
            found["precision"] = _as(found["dtype"], "precision", found["dtype"].value)
    else:
        for key in ("fp16", "bf16", "amp"):
            if _flag(found, key) is False:
                found["precision"] = _as(found[key], "precision", "fp32")
                return


def _derive_scale(found: dict[str, Configured]) -> None:
    power = found.get("initial_scale_power")
    exponent = number(power.value) if power and not isinstance(power.value, tuple) else None
    if power and exponent is not None and 0 <= exponent <= 64:
        found.setdefault("initial_loss_scale", _as(power, "initial_loss_scale", integral(2.0**exponent)))
    kind = found.get("loss_scale_type")
    scale = found.get("loss_scale")
    if kind and "dynamic" in str(kind.value).lower():
        if scale is not None and number(scale.value) is not None:
            found.setdefault("initial_loss_scale", _as(scale, "initial_loss_scale", scale.value))
        found["loss_scale"] = _as(kind, "loss_scale", "dynamic")
    elif scale is None and _flag(found, "dynamic_loss_scale"):
        found["loss_scale"] = _as(found["dynamic_loss_scale"], "loss_scale", "dynamic")


def _derive_resume(found: dict[str, Configured], events: Iterable[Event]) -> None:
    for event in events:
        if event.kind == "resume" and "resume_from" not in found:
            found["resume_from"] = Configured("resume_from", True, "resume", event.file, event.line, 40)


def _count(setting: Configured | None) -> int | None:
    if setting is None:
        return None
    value = setting.value
    if isinstance(value, tuple):
        return len(value)
    found = number(value)
    if found is not None and not (isinstance(value, str) and "," in value):
        return int(found) if 1 <= found < math.inf else None
    if isinstance(value, str) and re.fullmatch(r"\d+(?:,\d+)+,?", value.replace(" ", "")):
        return len([p for p in value.split(",") if p.strip()])
    return None


def device_count(settings: Mapping[str, Configured]) -> tuple[int, Configured] | None:
    """Return how many processes or devices the configuration asks for, and the setting that says so."""
    size, per_node = settings.get("world_size"), settings.get("processes_per_node")
    counted = _count(size)
    if size is not None and counted:
        return counted, size
    counted = _count(per_node)
    if per_node is not None and counted:
        return counted * (_count(settings.get("nodes")) or 1), per_node
    listed = settings.get("devices")
    if listed is not None and "visible" in listed.raw.lower():
        return None  # what a process may see: one may take all (DataParallel, device_map), or one of them
    if listed is not None and (isinstance(listed.value, tuple) or "," in str(listed.value)):
        counted = _count(listed)
        if counted:
            return counted, listed
    return None


def _derive_world(found: dict[str, Configured], facts: Mapping[str, Scalar]) -> None:
    if "world_size" in found:
        return
    per_node = found.get("processes_per_node")
    counted = _count(per_node)
    if per_node is not None and counted:
        size = counted * (_count(found.get("nodes")) or 1)
        found["world_size"] = _as(per_node, "world_size", size)
        return
    seen = number(facts.get("world_size"))
    if seen is not None and seen >= 1:
        found["world_size"] = Configured("world_size", int(seen), "world_size", "", None, 40)


_SPLIT = re.compile(
    r"(?:tensor|pipeline|context|model|expert|sequence)\w*_parallel\w*_size$|^(?:tp|pp|cp)_size$"
)


MADE_OF_BATCHES = "global batch / micro batch / replicas"


def _derive_accumulation(found: dict[str, Configured], settings: tuple[Setting, ...]) -> None:
    """Megatron and its kin are told the global and the micro batch, and accumulate what lies between them."""
    micro, whole = found.get("batch_size"), found.get("global_batch_size")
    if micro is None or whole is None or "gradient_accumulation_steps" in found:
        return
    if "micro" not in str(micro.raw):
        return
    named = {s.key.replace("-", "_").rpartition(".")[2]: s.value for s in settings}
    replicas = named.get("data_parallel_size")
    if not isinstance(replicas, int):
        split = any(_SPLIT.search(key) and value != 1 for key, value in named.items())
        replicas = None if split else _count(found.get("world_size"))
    one, all_of_them = _count(micro), _count(whole)
    if not replicas or not one or not all_of_them or all_of_them % (one * replicas):
        return
    steps = all_of_them // (one * replicas)
    found["gradient_accumulation_steps"] = replace(
        micro, key="gradient_accumulation_steps", value=steps, raw=MADE_OF_BATCHES
    )


def _derive_batch(found: dict[str, Configured]) -> None:
    """Batch per device x accumulation x processes; `raw` names the factors that are known."""
    if "global_batch_size" in found or "batch_size" not in found:
        return
    factors = [found[k] for k in ("batch_size", "gradient_accumulation_steps", "world_size") if k in found]
    numbers = [number(f.value) if not isinstance(f.value, tuple) else None for f in factors]
    product = 1.0
    for value in numbers:
        if value is None or value <= 0:
            return
        product *= value
    raw = " x ".join(f.key for f in factors)
    found["global_batch_size"] = replace(
        factors[0], key="global_batch_size", value=integral(product), raw=raw
    )
