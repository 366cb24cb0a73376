"""The cases: which fault, put into which script, how strongly.

The projects (one module each: gpt, shapes, boxes, energy, ctr, speech, shards) are held out; all else is for
fitting.

One module per family of faults. A new archetype is an entry in `archetypes.py`; a new family is a module with
a function that yields its cases, named in FAMILIES. A new project is a folder in `scripts/` and a module here
with `PROJECT` and `cases`, named in PROJECTS. A program of `code/` is trained where its project.yaml says how
(`written.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from generate import Case

from . import (
    api,
    benchmark,
    boxes,
    ctr,
    data,
    energy,
    evaluation,
    further,
    gpt,
    healthy,
    hyperparameters,
    initialisation,
    mild,
    model,
    operators,
    parallel,
    porting,
    precision,
    processing,
    shapes,
    shards,
    speech,
    surroundings,
    training_step,
    written,
)
from .archetypes import ARCHETYPES as SCRIPTED
from .unshown import NOT_SHOWN

__all__ = ["ARCHETYPES", "CASES", "NOT_SHOWN"]

FAMILIES: tuple[Callable[[], Iterator[Case]], ...] = (
    healthy.twins,
    healthy.awkward,
    hyperparameters.learning_rate,
    hyperparameters.schedule_and_batch,
    hyperparameters.regularization,
    initialisation.initialisation,
    data.data,
    processing.processing,
    model.model,
    training_step.loss_and_step,
    evaluation.evaluation,
    precision.precision,
    parallel.parallel,
    benchmark.benchmark,
    porting.porting,
    operators.operators,
    api.api,
    surroundings.surroundings,
    further.further,
    mild.mild,
)

PROJECTS = (gpt, shapes, boxes, energy, ctr, speech, shards)
ARCHETYPES = (
    SCRIPTED
    | {module.PROJECT.archetype.name: module.PROJECT.archetype for module in PROJECTS}
    | written.ARCHETYPES
)
FOUND = (*FAMILIES, *(module.cases for module in PROJECTS), written.cases)
CASES = [case for family in FOUND for case in family()]
