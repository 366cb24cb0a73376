"""What evaluations of language, speech, recommenders and graphs get wrong, for the probe of metrics."""

from __future__ import annotations

from ..labels.spans import features_for_scored_samples, one_end_read_twice, spans_misread
from ..labels.tags import mask_left_behind
from ..method.written import prompt_scored_along
from ..model.handed_masks import first_of_causal
from ..samples.recommended import known_items_ranked, worst_are_taken
from ..splits.held_items import placed_at_other_end
from .answer_order import answers_for_truth, told_the_truth
from .decoded import (
    count_beside_sum_unread,
    decision_stands_still,
    kept_and_never_asked,
    lengths_unread,
    next_from_first_place,
    rows_sorted_apart,
    slices_stand_still,
    state_left_behind,
)

OF_TASKS = (
    *(mask_left_behind, prompt_scored_along, first_of_causal),
    *(known_items_ranked, worst_are_taken, placed_at_other_end),
    *(answers_for_truth, told_the_truth),
    *(features_for_scored_samples, one_end_read_twice, spans_misread),
    *(slices_stand_still, count_beside_sum_unread, kept_and_never_asked, decision_stands_still),
    *(state_left_behind, lengths_unread, next_from_first_place, rows_sorted_apart),
)
