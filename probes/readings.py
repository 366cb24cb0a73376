"""All readings of a run: the one call that the command line makes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import ModuleType

from ..engine.model import Evidence, Symptom
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
    "code_accumulation",
    "code_activations",
    "code_axes",
    "code_arguments",
    "code_augment",
    "code_averages",
    "code_best",
    "code_calls",
    "code_causes",
    "code_clipping",
    "code_ctc",
    "code_data",
    "code_diff",
    "code_edits",
    "code_evaluation",
    "code_feeding",
    "code_handed",
    "code_field",
    "code_floors",
    "code_idle",
    "code_inputs",
    "code_joins",
    "code_labels",
    "code_leaks",
    "code_limits",
    "code_loss",
    "code_masking",
    "code_metrics",
    "code_missing",
    "code_model",
    "code_modes",
    "code_modes_shared",
    "code_numbering",
    "code_objective",
    "code_operators",
    "code_order",
    "code_overlaps",
    "code_path",
    "code_pipelines",
    "code_precision",
    "code_pretrained",
    "code_quotients",
    "code_ranks",
    "code_registered",
    "code_replaced",
    "code_resume",
    "code_scale",
    "code_scaling",
    "code_schedule",
    "code_sequence",
    "code_shapes",
    "code_sorted",
    "code_splits",
    "code_starts",
    "code_spoiled",
    "code_step.accumulation",
    "code_step.clearing",
    "code_step.modes",
    "code_step.scheduling",
    "code_step.stepping",
    "code_switches",
    "code_tape",
    "code_terms",
    "code_tf_data",
    "code_traced",
    "code_trainable",
    "code_unswitched",
    "code_wiring",
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

    What stands in the scripts of both sides is unknown: it cannot be why one of them trains worse.
    """
    view, asked, probes = View(run, benchmark, repeats), tuple(symptoms), all_probes()
    return without_shared(view, collect(view, asked, probes), asked, probes)
