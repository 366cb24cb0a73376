"""What a setting says and where it stands, for all who judge settings."""

from __future__ import annotations

import re
from typing import Any

from ...engine.model import Place, Scalar
from .. import settings as names
from ..registry import Finding, place_of, unknown
from ..run import Configured, Event, Run

HALF = ("fp16", "bf16", "fp8")


def value_of(run: Run, key: str) -> Scalar | tuple[Scalar, ...]:
    """Return the value in force of a setting; None also when it is not recorded."""
    return run.settings[key].value if key in run.settings else None


def number_of(run: Run, key: str) -> float | None:
    """Return a setting as a number, or None."""
    value = value_of(run, key)
    return None if isinstance(value, tuple) else names.number(value)


def amp_disabled(run: Run) -> Event | None:
    """The framework's own word that mixed precision was switched off."""
    told = (e for e in run.events_of("known-warning") if e.data == "amp-disabled")
    return next((e for e in told if not only_a_context(run, e)), None)


_CONTEXT = re.compile(r"(?i)device_type of '?\w+'?, but")
# Who makes the number format without such a context: Megatron and DeepSpeed keep the weights in it.
_KEEPS_HALF = re.compile(
    r"(?:^|\.)(?:tensor_model_parallel_size|params_dtype|(?:bf16|fp16|bfloat16)\.enabled)$"
)
_OWN_DEVICE = ("transformers", "accelerate", "lightning")


def only_a_context(run: Run, event: Event) -> bool:
    """Whether it is one context of autocast that is off, while others make the number format of the training.

    PyTorch's own code for recomputation and layers of libraries open one for CUDA wherever they run.
    """
    if _CONTEXT.search(event.text) is None:
        return False
    library = str(run.facts.get("trainer") or "").lower().startswith(_OWN_DEVICE)
    return library or any(
        _KEEPS_HALF.search(s.key) and s.value not in (None, False) for s in run.raw_settings
    )


_WHOLE = (None, False, 0, "full", "none", "")


def trains_adapters(run: Run) -> bool:
    """Whether settings say that adapters are trained beside a frozen model."""
    return any(k in run.settings and run.settings[k].value not in _WHOLE for k in ("adapter", "lora_rank"))


def says(setting: Configured) -> str:
    """A setting as the file has it: "lr = 0.1"."""
    value = setting.value
    if setting.key == "precision" and names.parts_of(setting.raw)[-1] != "precision":
        return f"{value}, from {setting.raw}"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{setting.raw} = {shown}" + (", by default" if setting.unsaid else "")


def scalar_of(setting: Configured) -> Scalar:
    """The value of a setting for a finding, of a list its text."""
    return str(setting.value) if isinstance(setting.value, tuple) else setting.value


def carried(setting: Configured, **rest: Any) -> dict[str, Any]:
    """What every finding about a setting carries."""
    where = (place_of(setting),) if setting.file else ()
    return {"value": scalar_of(setting), "where": where, **rest}


def not_recorded(key: str) -> Finding:
    """Unknown, as nobody wrote the setting down."""
    return unknown(f"{key.replace('_', ' ')} is not recorded")


def of_torchtune(run: Run) -> bool:
    """Whether a recipe of torchtune trains: it goes on from the weights in its `checkpoint_dir`."""
    return any(isinstance(s.value, str) and s.value.startswith("torchtune.") for s in run.raw_settings)


def raw_value(run: Run, pattern: str) -> tuple[str, Place] | None:
    """The first raw setting whose text is all of this pattern, with its place."""
    for setting in run.raw_settings:
        if isinstance(setting.value, str) and re.fullmatch(pattern, setting.value.strip(), re.IGNORECASE):
            return f"{setting.key} = {setting.value}", Place(setting.file, setting.line)
    return None
