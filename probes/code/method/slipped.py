"""Methods written out by hand, taken together by what they point to."""

from __future__ import annotations

from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ..evaluation.decoded import before_left_in_samples
from ..labels.keras_words import text_for_texts
from ..labels.spans import (
    features_for_samples,
    length_of_the_list,
    one_end_twice,
    one_past_the_token,
    part_truncated_and_asked,
)
from ..labels.tags import pieces_of_one_row, tags_by_place, tags_off_by_a_mark
from ..samples.cycles import turn_of_another_part
from ..samples.negatives import negatives_are_positives
from ..samples.recommended import all_are_wanted, drawn_item_preferred, drawn_without_asking, padding_is_drawn
from ..scaling.fitted_alone import divided_by_square
from ..shared.checks import first
from ..shared.sides import either
from .box_forms import mirrored_about_other_side, sizes_for_corners
from .contrasts import (
    itself_among_candidates,
    match_stands_first,
    one_side_scaled,
    one_view_twice,
    scaled_over_the_batch,
)
from .conversions import (
    degrees_as_radians,
    freezing_point_misplaced,
    half_of_the_spectrum,
    mel_turned_back_wrongly,
    waves_of_half_a_period,
)
from .decoding import all_pairs_are_right, first_answer_taken
from .drawn_codes import divided_by_itself
from .graphs import degrees_never_applied, pairs_answered_otherwise
from .groups import edges_not_turned, letter_is_the_blank, shifted_over_groups
from .masked_words import labels_are_inputs, most_words_masked
from .memory import changed_in_place, stored_exchanged
from .noise import (
    last_beta_above_one,
    multiplied_up_wrongly,
    sampled_forwards,
    shares_wrong,
    step_drawn_twice,
    target_is_fresh_noise,
)
from .noised import alphas_not_multiplied, one_step_alone, shares_without_roots, target_is_input
from .places import (
    exchange_never_used,
    mirrored_about_old_side,
    mirrored_alone,
    mirrored_along_other_axis,
    mirrored_ends_kept,
    mirrored_in_helper,
    moved_part_thrown_away,
    one_axis_scaled,
    places_exchanged,
    scaled_by_other_side,
)
from .played_states import state_never_moved
from .replay import discount_above_one, stored_after_moving_on
from .returns import added_up_forwards, end_counted_in_one, sum_runs_over_ends
from .sequence_targets import frequencies_grow, one_wave_twice, target_not_next, temperature_multiplied
from .shifted import shifted_in_both, shifted_twice, targets_are_inputs
from .sound import (
    bins_to_whole_rate,
    frames_do_not_fit,
    mel_of_two_formulas,
    resampled_backwards,
    stored_sound_overwritten,
)
from .text_lengths import text_cut_short
from .written import answers_never_end, prompt_without_turn

_METHODS = (
    state_never_moved,
    stored_after_moving_on,
    stored_exchanged,
    changed_in_place,
    multiplied_up_wrongly,
    shares_wrong,
    alphas_not_multiplied,
    one_step_alone,
    shares_without_roots,
    target_is_input,
    target_is_fresh_noise,
    step_drawn_twice,
    sampled_forwards,
    target_not_next,
    targets_are_inputs,
    shifted_twice,
    shifted_in_both,
    one_wave_twice,
    frequencies_grow,
    temperature_multiplied,
    bins_to_whole_rate,
    mel_of_two_formulas,
    mel_turned_back_wrongly,
    half_of_the_spectrum,
    degrees_as_radians,
    freezing_point_misplaced,
    first_answer_taken,
    all_pairs_are_right,
    edges_not_turned,
    shifted_over_groups,
    letter_is_the_blank,
    resampled_backwards,
    stored_sound_overwritten,
    itself_among_candidates,
    one_view_twice,
    scaled_over_the_batch,
    text_for_texts,
    divided_by_itself,
    labels_are_inputs,
    negatives_are_positives,
    added_up_forwards,
    end_counted_in_one,
    sum_runs_over_ends,
    before_left_in_samples,
    *(pieces_of_one_row, tags_by_place, tags_off_by_a_mark, answers_never_end, prompt_without_turn),
    *(drawn_without_asking, padding_is_drawn, pairs_answered_otherwise, degrees_never_applied),
    *(features_for_samples, part_truncated_and_asked, length_of_the_list, one_past_the_token, one_end_twice),
    shows("noise-otherwise", "noise-shares"),
)
_PLACES = (
    mirrored_ends_kept,
    mirrored_along_other_axis,
    mirrored_alone,
    mirrored_in_helper,
    scaled_by_other_side,
    places_exchanged,
    one_axis_scaled,
    mirrored_about_old_side,
    moved_part_thrown_away,
    exchange_never_used,
    sizes_for_corners,
    mirrored_about_other_side,
)


@probe()
def method_slipped(view: View) -> Finding:
    """A method is written out otherwise than its formula: rewards, noise, next tokens, positions, sound."""
    return first(view, either(*_METHODS), "the scripts write out no method that is known")


@probe()
def pairs_misjudged(view: View) -> Finding:
    """A loss over pairs asks for another answer than the right one, or scales only one side to length one."""
    told = ("pairs-labels", "pairs-itself", "pairs-scaled", "pairs-twice")
    look = either(match_stands_first, one_side_scaled, drawn_item_preferred, all_are_wanted, shows(*told))
    return first(view, look, "the scripts hold no answers of two networks against each other")


@probe()
def places_left(view: View) -> Finding:
    """Boxes or points do not move as their picture does: mirrored, scaled or turned otherwise."""
    return first(view, either(*_PLACES), "the scripts move no pictures with places in them")


@probe()
def figures_impossible(view: View) -> Finding:
    """Figures of a processing step cannot be right: a hop over its window, a band above half the rate."""
    checks = either(
        *(frames_do_not_fit, last_beta_above_one, discount_above_one, most_words_masked),
        divided_by_square,
        *(waves_of_half_a_period, turn_of_another_part, lambda s: text_cut_short(view, s)),
    )
    return first(view, checks, "the scripts hold no such figures")
