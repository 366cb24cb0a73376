"""All readings of a run: the one call that the command line makes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from ..engine.model import Evidence, Symptom
from .registry import (
    NO_DATA,
    NO_SCRIPT,
    Finding,
    ProbeFunction,
    View,
    collect,
    probe,
    probes_of,
    stem_of,
    unknown,
)
from .run import Run

MODULES = (
    "benchmark.acceptance",
    "benchmark.course",
    "benchmark.data_paths",
    "benchmark.decayed",
    "benchmark.end",
    "benchmark.flags",
    "benchmark.fragile",
    "benchmark.gradients",
    "benchmark.late_end",
    "benchmark.norm_joined",
    "benchmark.rate_result",
    "benchmark.rates",
    "benchmark.relations",
    "benchmark.repeats",
    "benchmark.samples",
    "benchmark.settings",
    "benchmark.settings_in_force",
    "benchmark.stack",
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
    "code.evaluation.training_scored",
    "code.labels.ends",
    "code.labels.masking",
    "code.labels.numbering",
    "code.labels.values",
    "code.loss.calls",
    "code.loss.ctc",
    "code.loss.floors",
    "code.loss.left_out",
    "code.loss.masked_mean",
    "code.loss.negated",
    "code.loss.objective",
    "code.loss.path",
    "code.loss.rounded",
    "code.loss.shapes",
    "code.loss.summed",
    "code.loss.terms",
    "code.loss.unsafe",
    "code.method.slipped",
    "code.method.tokens",
    "code.mindspore.in_graph",
    "code.mode.layers",
    "code.mode.loops",
    "code.mode.one_function",
    "code.mode.switches",
    "code.mode.unswitched",
    "code.mode.while_evaluating",
    "code.model.activations",
    "code.model.axes",
    "code.model.body",
    "code.model.bounded",
    "code.model.constant_starts",
    "code.model.inputs",
    "code.model.joins",
    "code.model.operators",
    "code.model.pretrained",
    "code.model.recurrent",
    "code.model.registered",
    "code.model.sequence",
    "code.model.silenced",
    "code.model.starts",
    "code.model.wiring",
    "code.model.without_norm",
    "code.optimizer.betas",
    "code.optimizer.own_moments",
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
    "code.samples.extremes",
    "code.samples.feeding",
    "code.samples.limits",
    "code.samples.kept_keys",
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
    "code.scaling.raw_pixels",
    "code.scaling.unused",
    "code.schedule.course",
    "code.schedule.formulas",
    "code.schedule.idle",
    "code.schedule.lengths",
    "code.splits.alike",
    "code.splits.leaks",
    "code.splits.overlaps",
    "code.splits.one_end",
    "code.splits.simulated",
    "code.splits.sorted",
    "code.settings.unread",
    "code.settings.uncalled",
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
    "config.contradictions",
    "config.data",
    "config.deployed",
    "config.in_force",
    "config.model",
    "config.optimisation",
    "config.precision",
    "config.pretrained",
    "config.recipes",
    "config.sources",
    "config.splits",
    "config.surroundings",
    "config.versions",
    "curves.beyond",
    "curves.by_recipe",
    "curves.course",
    "curves.decoded",
    "curves.epochs",
    "curves.eval_relations",
    "curves.floors",
    "curves.gaps",
    "curves.gradients",
    "curves.labels_counted",
    "curves.leaps",
    "curves.learning_rate",
    "curves.levels",
    "curves.out_of_scale",
    "curves.metrics",
    "curves.numerics",
    "curves.objective",
    "curves.pace",
    "curves.pairs_turned",
    "curves.policies",
    "curves.progress",
    "curves.rate_course",
    "curves.rate_size",
    "curves.relations",
    "curves.residuals",
    "curves.restarted",
    "curves.rounding",
    "curves.sampled",
    "curves.scaler",
    "curves.stuck",
    "curves.tested",
    "curves.untrained_start",
    "curves.with_rate",
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
    "operators.checks",
    "operators.ckpt_compare",
    "operators.config_check",
    "operators.dumps",
    "operators.falls",
    "operators.first_batch",
    "operators.layers",
    "operators.flags",
    "operators.limits",
    "operators.origins",
    "operators.ranks",
    "operators.searched",
    "operators.standing",
    "weights.held",
    "weights.moved",
    "weights.shared",
)


class Probes(Mapping[str, ProbeFunction]):
    """Probes by their names in the rules; a package is imported when the first of its probes is asked for."""

    def __init__(self) -> None:
        self._modules: dict[str, list[str]] = {}
        for name in MODULES:
            self._modules.setdefault(stem_of(name), []).append(name)
        self._known: dict[str, Mapping[str, ProbeFunction]] = {}

    def __getitem__(self, name: str) -> ProbeFunction:
        """Return the probe of a name, e.g. "curves.diverges"; KeyError where there is none."""
        return self._of(name.rpartition(".")[0])[name]

    def __iter__(self) -> Iterator[str]:
        return (name for stem in self._modules for name in self._of(stem))

    def __len__(self) -> int:
        return sum(len(self._of(stem)) for stem in self._modules)

    def _of(self, stem: str) -> Mapping[str, ProbeFunction]:
        if stem not in self._known:
            names = self._modules.get(stem, ())
            self._known[stem] = probes_of(*(importlib.import_module(f".{n}", __package__) for n in names))
        return self._known[stem]


class _Without(Mapping[str, ProbeFunction]):
    """The same for a run without a script or data: what their checks would all say, none of them imported."""

    def __init__(self, probes: Mapping[str, ProbeFunction], run: Run) -> None:
        self._probes, self._script, self._data = probes, bool(run.scripts), run.data is not None

    def __getitem__(self, name: str) -> ProbeFunction:
        if name.startswith("data_files.") and not self._data:
            return _no_data
        if self._script or not name.startswith("code."):
            return self._probes[name]
        if name.startswith("code.against."):
            return _no_comparison
        return _no_division if name in _OF_DIVISIONS else _no_check

    def __iter__(self) -> Iterator[str]:
        return iter(self._probes)

    def __len__(self) -> int:
        return len(self._probes)


@probe()
def _no_check(_: View, **params: object) -> Finding:
    """What every check of a script says where there is none."""
    del params
    return unknown(NO_SCRIPT)


@probe()
def _no_data(_: View, **params: object) -> Finding:
    """What every check of data files says where there are none."""
    del params
    return unknown(NO_DATA)


@probe("benchmark")
def _no_comparison(_: View, **params: object) -> Finding:
    """The same of the checks that hold a script against the benchmark's."""
    del params
    return unknown(NO_SCRIPT)


@probe()
def _no_division(view: View, **params: object) -> Finding:
    """The same of divisions that lack a floor: losses that stay numbers rule them out without any script."""
    from .curves.finite import never_zero

    del params
    return never_zero(view.run) or unknown(NO_SCRIPT)


_OF_DIVISIONS = ("code.loss.unsafe_division", "code.loss.division_without_floor")


@cache
def all_probes() -> Mapping[str, ProbeFunction]:
    """Every probe by its name in the rules, e.g. "curves.diverges"."""
    return Probes()


def readings(
    run: Run, benchmark: Run | None, symptoms: Iterable[Symptom], repeats: tuple[Run, ...] = ()
) -> Evidence:
    """Read every symptom of the rule base on this run; `repeats` are further runs of the benchmark.

    What stands in the scripts of both sides is unknown: it cannot be why one of them trains worse. So is what
    stands deep in a package.
    """
    view, asked, probes = View(run, benchmark, repeats), tuple(symptoms), all_probes()
    found = collect(view, asked, _Without(probes, run))
    if not run.scripts:
        return found
    from .scripts.packages import without_deep
    from .scripts.shared_code import without_shared

    return without_shared(view, without_deep(run, found), asked, probes)
