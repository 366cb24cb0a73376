"""All readings of a run: the one call that the command line makes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import ModuleType

from ..engine.model import Evidence, Symptom
from .registry import ProbeFunction, View, collect, probes_of
from .run import Run
from .scripts.packages import without_deep
from .scripts.shared_code import without_shared

MODULES = (
    "benchmark.acceptance",
    "benchmark.course",
    "benchmark.end",
    "benchmark.gradients",
    "benchmark.late_end",
    "benchmark.rates",
    "benchmark.relations",
    "benchmark.repeats",
    "benchmark.settings",
    "benchmark.settings_in_force",
    "benchmark.start",
    "benchmark.unnamed",
    "code.against.diff",
    "code.against.edits",
    "code.calls.arguments",
    "code.calls.axes_and_keys",
    "code.calls.field",
    "code.calls.old_device",
    "code.causes",
    "code.evaluation.averages",
    "code.evaluation.best",
    "code.evaluation.loops",
    "code.evaluation.metrics",
    "code.evaluation.quotients",
    "code.labels.masking",
    "code.labels.numbering",
    "code.labels.values",
    "code.loss.calls",
    "code.loss.ctc",
    "code.loss.floors",
    "code.loss.left_out",
    "code.loss.negated",
    "code.loss.objective",
    "code.loss.path",
    "code.loss.rounded",
    "code.loss.shapes",
    "code.loss.summed",
    "code.loss.terms",
    "code.loss.unsafe",
    "code.method.slipped",
    "code.mindspore.in_graph",
    "code.mode.layers",
    "code.mode.loops",
    "code.mode.one_function",
    "code.mode.switches",
    "code.mode.unswitched",
    "code.model.activations",
    "code.model.axes",
    "code.model.body",
    "code.model.inputs",
    "code.model.joins",
    "code.model.operators",
    "code.model.pretrained",
    "code.model.recurrent",
    "code.model.registered",
    "code.model.sequence",
    "code.model.starts",
    "code.model.wiring",
    "code.optimizer.averages",
    "code.optimizer.frozen",
    "code.optimizer.part",
    "code.optimizer.replaced",
    "code.optimizer.trainable",
    "code.precision.half",
    "code.precision.scale",
    "code.ranks.collectives",
    "code.ranks.parts",
    "code.resume.given_back",
    "code.samples.augment",
    "code.samples.changed",
    "code.samples.counts_of_machine",
    "code.samples.feeding",
    "code.samples.limits",
    "code.samples.listings",
    "code.samples.missing",
    "code.samples.order",
    "code.samples.seeds",
    "code.samples.spoiled",
    "code.samples.traced",
    "code.scaling.apart",
    "code.scaling.drawn",
    "code.scaling.pipelines",
    "code.scaling.ranges",
    "code.scaling.unused",
    "code.schedule.course",
    "code.schedule.formulas",
    "code.schedule.idle",
    "code.schedule.lengths",
    "code.splits.alike",
    "code.splits.leaks",
    "code.splits.overlaps",
    "code.splits.sorted",
    "code.step.accumulated",
    "code.step.accumulation",
    "code.step.clearing",
    "code.step.clipping",
    "code.step.scheduling",
    "code.step.stepping",
    "code.tensorflow.applied",
    "code.tensorflow.data",
    "code.tensorflow.half",
    "code.tensorflow.session",
    "code.trainers.handed",
    "config.data",
    "config.in_force",
    "config.model",
    "config.optimisation",
    "config.precision",
    "config.recipes",
    "config.sources",
    "config.splits",
    "config.surroundings",
    "config.versions",
    "curves.course",
    "curves.epochs",
    "curves.eval_relations",
    "curves.floors",
    "curves.gaps",
    "curves.gradients",
    "curves.learning_rate",
    "curves.levels",
    "curves.metrics",
    "curves.numerics",
    "curves.objective",
    "curves.pace",
    "curves.rate_course",
    "curves.rate_size",
    "curves.relations",
    "curves.residuals",
    "curves.restarted",
    "curves.rounding",
    "curves.scaler",
    "data_compare",
    "data_files.amount",
    "data_files.answers",
    "data_files.beside",
    "data_files.boxes",
    "data_files.chats",
    "data_files.coded",
    "data_files.contents",
    "data_files.files",
    "data_files.labels",
    "data_files.parted",
    "data_files.repeated",
    "data_files.scaling",
    "data_files.token_rows",
    "data_files.values",
    "data_files.volumes",
    "data_lists",
    "events",
    "operators.dumps",
    "operators.flags",
    "operators.searched",
    "weights.held",
    "weights.moved",
    "weights.shared",
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
