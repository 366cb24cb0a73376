"""Ranks, sharding and seeds in the configuration."""

from __future__ import annotations

from .. import settings as names
from ..registry import Finding, View, absent, present, probe, unknown
from .values import carried, not_recorded, number_of, says


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
    if count <= 1:
        return absent("one process is configured", **carried(setting))
    seen = names.number(run.facts.get("world_size"))
    logged = max(len(run.ranks), int(seen) if seen else 0)
    if logged >= 2:
        return absent(f"{logged} processes train", **carried(setting))
    if logged == 1 and seen == 1:
        return present(
            f"{count} devices are configured ({says(setting)}), one process trains", **carried(setting)
        )
    switch = run.settings.get("distributed")
    if switch is not None and switch.value is False:
        text = f"{count} devices are configured ({says(setting)}), and {says(switch)}"
        return present(text, **carried(setting))
    return unknown(f"{count} devices are configured; the log does not say how many processes train")


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
