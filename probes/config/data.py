"""The data in the configuration: order, normalisation, number of samples and balance of classes."""

from __future__ import annotations

from ...engine.model import Place, State
from .. import settings as names
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Configured
from .values import carried, not_recorded, number_of, says, value_of


@probe("config:shuffle")
def shuffle_off(view: View) -> Finding:
    """Training data are read in a fixed order.

    Where a training loader of a script says so, `script-loader-keeps-order` tells it, and it counts once.
    """
    setting = view.run.settings["shuffle"]
    if setting.value is False and setting.file in view.run.scripts:
        from ..code.samples.feeding import loader_keeps_order

        told = loader_keeps_order(view)
        if told.state is State.PRESENT:
            return unknown(f"{says(setting)}: {told.why}, which is judged by itself", **carried(setting))
    return _switched_off(setting, "shuffling")


@probe("config:normalize")
def normalization_off(view: View) -> Finding:
    """Inputs are not normalised."""
    return _switched_off(view.run.settings["normalize"], "input normalisation")


def _switched_off(setting: Configured, what: str) -> Finding:
    if setting.value is False:
        return present(f"{what} is off ({says(setting)})", **carried(setting))
    return absent(f"{what} is on ({says(setting)})", **carried(setting))


@probe("config:train_samples")
def train_samples_few(view: View, samples: float) -> Finding:
    """Fewer training samples than `samples`, where the model is not merely adapted."""
    setting = view.run.settings["train_samples"]
    value = number_of(view.run, "train_samples")
    if value is None:
        return not_recorded("train_samples")
    rest = carried(setting, threshold=samples)
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
