"""What a rehearsal shows: judges read the journal and speak where all that they rest on is known."""

from __future__ import annotations

from functools import lru_cache

from ...code.shared.checks import Check, at
from ...registry import Finding
from ...scripts.syntax import Script
from ..machine import rehearsed, rehearsed_late
from . import (
    actors,
    copies,
    duels,
    figures,
    floors,
    futures,
    kept,
    losses,
    modes,
    noisings,
    orders,
    pairs,
    places,
    preferences,
    rates,
    recipes,
    rows,
    schedules,
    shapes,
    spreads,
    steps,
    terms,
    units,
    worked,
)
from .verdict import Verdict

_JUDGES = (
    figures.last_batch_only,
    figures.never_reset,
    floors.logarithm_of_nought,
    losses.answers_own_targets,
    losses.given_otherwise,
    losses.scores_bent_twice,
    kept.best_not_taken_back,
    kept.best_that_moves_on,
    kept.kept_for_more_loss,
    modes.scored_in_training,
    modes.trained_in_evaluation,
    orders.folder_by_folder,
    places.tokens_apart,
    recipes.linear_only,
    recipes.moved_apart,
    rates.risen_again,
    rates.same_in_every_epoch,
    rows.held_out_by_label,
    rows.labels_apart,
    rows.mostly_unread,
    rows.moved_on_one_side,
    rows.one_scale_for_columns,
    rows.parts_overlap,
    rows.scaled_apart,
    rows.scored_rows_taught,
    rows.statistics_of_scored,
    rows.target_among_inputs,
    schedules.made_for_other_moves,
    schedules.nought_at_first,
    schedules.plateau_the_wrong_way,
    shapes.columns_meet_rows,
    steps.divided_for_nothing,
    steps.left_out,
    steps.lost_gradients,
    steps.reaches_nothing,
    steps.stale_gradients,
    steps.undivided,
    steps.unreached,
    steps.used_twice,
    terms.held_against_itself,
    terms.of_no_answer,
    terms.without_end,
    units.augmented_while_scored,
    units.held_out_changed,
    units.scaled_on_one_side,
    units.scored_in_other_units,
    worked.worked_otherwise,
)

# of programs that put training off, too
_OF_METHODS = (
    actors.greater_of_two,
    actors.values_pushed_down,
    copies.learner_overwritten,
    copies.shares_exchanged,
    copies.shares_not_one,
    noisings.added_back,
    noisings.even_noise,
    noisings.nothing_noised,
    noisings.shares_otherwise,
    noisings.steps_left_out,
    noisings.target_otherwise,
    noisings.time_untold,
    spreads.never_drawn,
    spreads.spread_and_divergence,
    duels.maker_cut_off,
    duels.mixed_wrongly,
    duels.moved_alike,
    duels.one_kind_only,
    duels.penalty_turned,
    duels.stepped_by_the_other,
    futures.copy_unasked,
    futures.future_of_the_same,
    futures.future_unmasked,
    futures.holds_another,
    futures.takes_its_own,
    pairs.itself_not_masked,
    pairs.labels_of_pairs,
    pairs.one_view_alone,
    pairs.same_way_twice,
    pairs.scaled_on_one_side,
    preferences.chances_for_logs,
    preferences.held_to_itself,
    preferences.same_twice,
    preferences.turned,
)


@lru_cache(maxsize=16)
def verdicts(source: Script) -> tuple[Verdict, ...]:
    """All verdicts over a program."""
    machine, late = rehearsed(source), rehearsed_late(source)
    of_methods = (v for judge in _OF_METHODS for v in judge(late))
    return (*(v for judge in _JUDGES for v in judge(machine)), *of_methods)


def unless_apart(check: Check) -> Check:
    """A check that is silent where a rehearsal shows that what is scored was never learnt from."""

    def asked(source: Script) -> Finding | None:
        found = check(source)
        return None if found is not None and rows.scored_apart(rehearsed(source)) else found

    return asked


def runs_alike(source: Script) -> bool:
    """A rehearsal understood the network, and it runs alike in training and in evaluation."""
    return modes.same_in_both(rehearsed(source))


def shows(*kinds: str) -> Check:
    """A check that speaks where a rehearsal of the program gave a verdict of one of these kinds."""

    def check(source: Script) -> Finding | None:
        found = next((v for v in verdicts(source) if v.kind in kinds), None)
        return at(source, found.node, found.why) if found is not None else None

    return check
