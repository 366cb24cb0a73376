"""Ranks, sharding and seeds in the configuration."""

from __future__ import annotations

import re

from ...engine.model import Place
from .. import settings as names
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from .values import carried, not_recorded, number_of, only_a_context, says


@probe()
def world_size_one(view: View) -> Finding:
    """More devices are configured than processes train."""
    run = view.run
    asked = names.device_count({k: v for k, v in run.settings.items() if v.trust > 40})
    if asked is None:
        switch = run.settings.get("distributed")
        if switch is not None and switch.value is False and switch.trust > 40:  # no option's default
            return absent(f"one process is configured ({says(switch)})", **carried(switch))
        return unknown("the number of devices is not recorded")
    count, setting = asked
    seen = names.number(run.facts.get("world_size"))
    per_node = number_of(run, "processes_per_node")
    if count <= 1 and seen == 1 and per_node is not None and per_node > 1:  # started, and not told of
        count, setting = int(per_node), run.settings["processes_per_node"]
    if count <= 1:
        return absent("one process is configured", **carried(setting))
    logged = max(len(run.ranks), int(seen) if seen else 0)
    if logged >= 2 and seen != 1:  # logs of several ranks that each train alone are no processes together
        return absent(f"{logged} processes train", **carried(setting))
    if seen == 1:
        return present(
            f"{count} devices are configured ({says(setting)}), one process trains", **carried(setting)
        )
    switch = run.settings.get("distributed")
    if switch is not None and switch.value is False:
        text = f"{count} devices are configured ({says(setting)}), and {says(switch)}"
        return present(text, **carried(setting))
    return unknown(f"{count} devices are configured; the log does not say how many processes train")


_NO_CUDA = re.compile(r"CUDA is not available|not compiled with CUDA|no NVIDIA driver", re.IGNORECASE)
_ON_PROCESSOR = re.compile(r"\busing (?:the )?cpu\b|disabling gpu|device[=: ]{1,3}['\"]?cpu\b", re.IGNORECASE)
_ASCEND_VARIABLE = re.compile(r"(?:^|\.)(?:ASCEND|HCCL)_[A-Z_]+$")
_NAMES_NPU = re.compile(r"\btorch_npu\b|\bnpu\b|\bnpu_bridge\b|\bmindspore\b|\bAscend\b")


@probe()
def npu_passed_over(view: View) -> Finding:
    """On an Ascend machine the program looks for CUDA, finds none, and goes on with the processor.

    Silent where a script names NPUs: libraries beside it may still look for CUDA and say that there is none.
    """
    run = view.run
    told = [e for e in run.events if _NO_CUDA.search(e.text)]
    if not told:
        return unknown("no log says that a device was looked for and not found")
    variables = [s for s in run.raw_settings if _ASCEND_VARIABLE.search(s.key)]
    if not (variables or "version:cann" in run.facts or "version:torch-npu" in run.facts):
        return unknown("nothing says that the machine has NPUs")
    if any(_NAMES_NPU.search(text) for text in run.scripts.values()):
        return absent("the script itself names NPUs")
    if _NPU.search(_device(run)):
        return absent(f"the device of the training is {_device(run).strip()}")
    plain = [e for e in told if _ON_PROCESSOR.search(e.text)]
    if not plain and not run.scripts:
        return unknown("a library finds no CUDA; which device trains is not recorded")
    first = (plain or told)[0]
    return present(
        f"on a machine with NPUs the log says: {first.text}", where=(Place(first.file, first.line),)
    )


@probe()
def cuda_switched_off(view: View) -> Finding:
    """Mixed precision of CUDA is asked for on an Ascend device, and switches itself off."""
    run = view.run
    told = [e for e in run.events if e.data == "amp-disabled" and "cuda" in e.text.lower()]
    if not told:
        return unknown("no log says that mixed precision of CUDA was switched off")
    told = [e for e in told if not only_a_context(run, e)]
    if not told:
        return unknown(
            "contexts of autocast for CUDA switch themselves off; the number format is made elsewhere"
        )
    if not (_NPU.search(_device(run)) or any(_ASCEND_VARIABLE.search(s.key) for s in run.raw_settings)):
        return unknown("nothing says that an NPU trains")
    first = told[0]
    return present(f"on an NPU the log says: {first.text}", where=(Place(first.file, first.line),))


def _device(run: Run) -> str:
    """What settings and logs call the device."""
    device = run.settings.get("device")
    return f"{device.value if device else ''} {run.facts.get('device') or ''}"


_NPU = re.compile(r"(?i)\bnpu\b|ascend|davinci")


@probe("config:zero_stage")
def zero2_overlap(view: View) -> Finding:
    """DeepSpeed ZeRO-2 with overlap_comm on several processes."""
    run = view.run
    stage, overlap = run.settings["zero_stage"], run.settings.get("zero_overlap_comm")
    if number_of(run, "zero_stage") != 2:
        return absent(says(stage), **carried(stage))
    if overlap is None:
        return not_recorded("overlap_comm")
    if overlap.value is False:
        return absent(says(overlap), **carried(overlap))
    size = number_of(run, "world_size")
    if size is None:
        return unknown("ZeRO-2 with overlap_comm; the number of processes is not recorded")
    text = f"{says(stage)}, {says(overlap)}, {size:g} processes"
    return present(text, **carried(overlap)) if size > 1 else absent(text, **carried(overlap))


@probe()
def seed_not_set(view: View) -> Finding:
    """The seed is recorded, and it is none."""
    setting = view.run.settings.get("seed")
    if setting is None:
        return not_recorded("seed")
    value = number_of(view.run, "seed")
    if value is None or value < 0:
        return present(f"no seed is set ({says(setting)})", **carried(setting))
    return absent(f"the seed is {value:g}", **carried(setting))
