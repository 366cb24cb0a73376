"""The cases: which fault, put into which script, how strongly.

Style c of each archetype and two whole archetypes are held out.

One module per family of faults. A new archetype is an entry in `archetypes.py`; a new family is a module with
a function that yields its cases, named in FAMILIES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from generate import Case

from . import (
    benchmark,
    data,
    evaluation,
    healthy,
    hyperparameters,
    initialisation,
    model,
    parallel,
    precision,
    processing,
    training_step,
)
from .archetypes import ARCHETYPES
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
)

CASES = [case for family in FAMILIES for case in family()]
