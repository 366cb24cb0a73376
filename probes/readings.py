"""All readings of a run: the one call that the command line makes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import ModuleType

from ..engine.model import Evidence, Symptom
from .packages import without_deep
from .registry import ProbeFunction, View, collect, probes_of
from .run import Run
from .shared_code import without_shared

MODULES = (
    "acceptance",
    "benchmark",
    "benchmark_curves.course",
    "benchmark_curves.end",
    "benchmark_curves.gradients",
    "benchmark_curves.start",
    "benchmark_end",
    "benchmark_rates",
    "benchmark_relations",
    "code.accumulation",
    "code.activations",
    "code.axes",
    "code.arguments",
    "code.augment",
    "code.averages",
    "code.best",
    "code.calls",
    "code.causes",
    "code.clipping",
    "code.collectives",
    "code.ctc",
    "code.counts_of_machine",
    "code.data",
    "code.diff",
    "code.edits",
    "code.evaluation",
    "code.feeding",
    "code.handed",
    "code.field",
    "code.floors",
    "code.idle",
    "code.in_graph",
    "code.inputs",
    "code.joins",
    "code.labels",
    "code.leaks",
    "code.limits",
    "code.listings",
    "code.loss",
    "code.masking",
    "code.metrics",
    "code.missing",
    "code.model",
    "code.modes",
    "code.modes_shared",
    "code.numbering",
    "code.objective",
    "code.operators",
    "code.order",
    "code.overlaps",
    "code.path",
    "code.pipelines",
    "code.precision",
    "code.pretrained",
    "code.quotients",
    "code.ranks",
    "code.recurrent",
    "code.registered",
    "code.replaced",
    "code.resume",
    "code.scale",
    "code.scaling",
    "code.schedule",
    "code.seeds",
    "code.sequence",
    "code.shapes",
    "code.sorted",
    "code.splits",
    "code.starts",
    "code.spoiled",
    "code.step.accumulation",
    "code.step.clearing",
    "code.step.modes",
    "code.step.scheduling",
    "code.step.stepping",
    "code.switches",
    "code.tape",
    "code.tf_session",
    "code.terms",
    "code.tf_data",
    "code.traced",
    "code.trainable",
    "code.unswitched",
    "code.wiring",
    "config.data",
    "config.model",
    "config.optimisation",
    "config.precision",
    "config.sources",
    "config.surroundings",
    "curves",
    "data_compare",
    "data_files.amount",
    "data_files.answers",
    "data_files.beside",
    "data_files.boxes",
    "data_files.chats",
    "data_files.contents",
    "data_files.files",
    "data_files.labels",
    "data_files.parted",
    "data_files.repeated",
    "data_files.scaling",
    "data_files.values",
    "data_lists",
    "epochs",
    "eval_relations",
    "events",
    "floors",
    "fusion_runs",
    "gaps",
    "gradients",
    "in_force",
    "learning_rate",
    "levels",
    "metrics",
    "numerics",
    "objective",
    "operator_flags",
    "operators",
    "pace",
    "recipes",
    "relations",
    "repeats",
    "restarted",
    "rounding",
    "scaler",
    "settings_in_force",
    "split_settings",
    "versions",
    "weights",
    "weights_held",
    "weights_shared",
)


def modules() -> tuple[ModuleType, ...]:
    """The modules whose functions are probes."""
    return tuple(importlib.import_module(f".{name}", __package__) for name in MODULES)


@lru_cache(maxsize=1)
def all_probes() -> Mapping[str, ProbeFunction]:
    """Every probe by its name in the rules, e.g. "curves.diverges"."""
    return probes_of(*modules())


def readings(
    run: Run, benchmark: Run | None, symptoms: Iterable[Symptom], repeats: tuple[Run, ...] = ()
) -> Evidence:
    """Read every symptom of the rule base on this run; `repeats` are further runs of the benchmark.

    What stands in the scripts of both sides is unknown: it cannot be why one of them trains worse. So is what
    stands deep in a package.
    """
    view, asked, probes = View(run, benchmark, repeats), tuple(symptoms), all_probes()
    return without_shared(view, without_deep(run, collect(view, asked, probes)), asked, probes)
