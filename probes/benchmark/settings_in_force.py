"""All hyperparameters in force of both sides, held against one another; see `config_diff`."""

from __future__ import annotations

from ...engine.model import Place, SettingDifference, SettingValue
from .. import settings
from ..registry import Finding, View, absent, present, probe, unknown
from ..settings.effective import settings_of
from .config_diff import compare

MOST_NAMED = 8
_DERIVED = ("weight_decay_form",)
_BATCH = ("batch_size", "gradient_accumulation_steps")  # differ only where their product does


@probe("benchmark")
def hyperparameter_differs(view: View, least: int) -> Finding:
    """A hyperparameter in force differs, whatever it is called and whoever set it; all are told, worst first.

    What is recorded on one side alone, without a known default, is no difference. Absent needs at least
    `least` hyperparameters that both sides have.
    """
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    found = compare(view.run, view.benchmark)
    hyper = {*settings.table().hyperparameters, *_DERIVED, *_BATCH}
    differ = [d for d in found.differences if d.key in hyper]
    one_sided = [k for k in (*found.only_run, *found.only_benchmark) if k in hyper]
    if differ:
        named = "; ".join(_said(d) for d in differ[:MOST_NAMED])
        more = f"; and {len(differ) - MOST_NAMED} more" if len(differ) > MOST_NAMED else ""
        where = tuple(p for d in differ for p in _places(d))
        return present(f"{named}{more}", value=len(differ), threshold=0, where=where)
    theirs = settings_of(view.benchmark)
    mine = {k for k, v in found.settings.items() if v.origin != "default"}
    shared = sorted(hyper & mine & theirs.keys())
    if len(shared) < least:
        names = ", ".join(k.replace("_", " ") for k in sorted(one_sided)[:4])
        only = f" (on one side only: {names})" if names else ""
        return unknown(f"{len(shared)} hyperparameters are recorded on both sides{only}")
    left = f"; {len(one_sided)} recorded on one side only" if one_sided else ""
    return absent(f"{len(shared)} hyperparameters are in force on both sides, and equal{left}", value=0)


def _said(found: SettingDifference) -> str:
    name = found.key.replace("_", " ")
    return f"{name} {_side(found.run)}, in the benchmark {_side(found.benchmark)}"


def _side(value: SettingValue) -> str:
    shown = f"{value.value:g}" if isinstance(value.value, float) else str(value.value)
    if value.file:
        return f"{shown} ({value.file}" + (f":{value.line})" if value.line is not None else ")")
    return f"{shown} ({value.note or value.origin})"


def _places(found: SettingDifference) -> list[Place]:
    sides: tuple[tuple[SettingValue, str], ...] = ((found.run, "run"), (found.benchmark, "benchmark"))
    return [Place(v.file, v.line, side=s) for v, s in sides if v.file]  # type: ignore[arg-type]
