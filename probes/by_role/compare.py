"""All facts of two programs, held against each other; bounded, and never in the way of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from ..scripts.syntax import Script
from . import course, data, figures, judged, model, parts, rows, same_calls, start, update, worked
from .happened import happened_otherwise
from .side import Side, Told

_FACTS: tuple[Callable[[Side, Side], Iterator[Told]], ...] = (
    update.clipping_differs,
    update.optimizer_differs,
    update.parts_differ,
    update.groups_differ,
    update.schedule_differs,
    course.course_differs,
    update.counted_in_epochs,
    update.accumulated_differs,
    judged.loss_differs,
    judged.weights_differ,
    judged.metric_differs,
    worked.worked_out_differs,
    judged.best_differs,
    judged.average_differs,
    model.activation_differs,
    model.start_differs,
    model.ties_differ,
    model.norms_differ,
    model.padding_differs,
    model.scale_differs,
    model.attends_along,
    parts.skip_differs,
    parts.activations_gone,
    parts.unit_length_differs,
    parts.cuts_differ,
    parts.time_first,
    start.pretrained_differs,
    start.frozen_differs,
    start.rate_differs,
    data.order_differs,
    data.augmentation_differs,
    data.interpolation_differs,
    data.lengths_differ,
    data.scaling_differs,
    data.range_differs,
    data.filling_differs,
    rows.statistics_differ,
    figures.all_figures,
    same_calls.same_calls_differ,
    same_calls.logarithm_differs,
    same_calls.root_differs,
    same_calls.strata_differ,
)


@lru_cache(maxsize=16)
def told(mine: Script, theirs: Script) -> tuple[Told, ...]:
    """What `mine` does otherwise than `theirs`, by role."""
    here, there = Side(mine), Side(theirs)
    return tuple(found for fact in _FACTS for found in fact(here, there))


@lru_cache(maxsize=16)
def in_effect(mine: Script, theirs: Script) -> tuple[Told, ...]:
    """What `mine` does otherwise than `theirs` when both are rehearsed."""
    return tuple(happened_otherwise(Side(mine), Side(theirs)))


@lru_cache(maxsize=16)
def same_course(mine: Script, theirs: Script) -> bool:
    """Whether the learning rates of both take the same course, however it is written."""
    return course.same_course(Side(mine), Side(theirs))
