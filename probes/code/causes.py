"""Checks of scripts taken together by what they point to: present where any of them is.

One cause has many faces in code, and a script shows one of them: what else is absent says nothing against it.
"""

from __future__ import annotations

from ..by_hand.class_losses import broken_class_loss
from ..forward.judged import answers_show
from ..registry import Finding, View, any_of, probe
from ..rehearsal.judges import shows
from .calls.field import set_train_missing
from .evaluation.formulas import score_minimised
from .labels.pooled import pooled_over_padding
from .labels.tuned_texts import adapters_for_inference
from .loss.bounded_targets import standardised_pixels_as_shares
from .loss.calls import loss_wrong as standard_loss_wrong
from .loss.ctc import ctc_input_wrong
from .loss.distilled import divergence_astray
from .loss.divergence import divergence_of_wrong_kind, gaussian_divergence_wrong, mean_beside_sum
from .loss.emptied import loss_emptied
from .loss.likelihood_arguments import (
    certain_weighs_most,
    keras_rate_linear,
    rate_of_wrong_kind,
    target_for_variance,
    weights_left_out,
)
from .loss.likelihoods import gaussian_likelihood_wrong, pinball_wrong, temperature_multiplied, term_twice
from .loss.objective import (
    class_loss_on_numbers,
    class_weights_upside_down,
    keras_output_activated,
    loss_arguments_swapped,
    overlap_loss_wrong,
)
from .loss.outputs import chances_into_scores, last_layer_squashed
from .loss.path import gradient_path_cut
from .loss.rounded import output_without_gradient
from .loss.scored_unlike import loss_unlike_evaluation
from .loss.soft_targets import soft_target_slipped
from .loss.terms import term_taken_off
from .method.drawn_codes import code_drawn_wrongly
from .method.replay import end_on_wrong_side, future_of_same_state, part_of_batch_unread
from .method.target_nets import copy_never_asked
from .mindspore.steps import length_of_all_ranks
from .mode import while_evaluating
from .mode.layers import batch_statistics_off, dropout_always_on, eval_in_training_step, mode_fixed_in_call
from .mode.one_function import shared_function
from .mode.switches import switched_astray
from .mode.unswitched import never_switched_off
from .model.activations import layers_unbent, softmax_misplaced
from .model.attention import mask_times_scores, mask_turned_round
from .model.attention_parts import mask_too_small, part_unread
from .model.axes import (
    normalised_over_batch,
    softmax_over_samples,
    torn_in_model,
    weights_over_other_axis,
    weights_over_other_ends,
)
from .model.blank_branches import zeros_for_branch
from .model.body import deep_without_normalisation, integer_division
from .model.branches import (
    added_to_itself,
    branch_unjoined,
    kept_mask_unread,
    mask_unread,
    memory_unread,
    overwritten_unread,
    twin_called_twice,
)
from .model.causal import masked_after_softmax, padding_shown, zero_before_softmax
from .model.cut_layers import layer_without_value
from .model.dead_values import last_value_unread, value_reaches_nothing
from .model.each_round import every_round_from_the_start, state_not_carried
from .model.forward import only_last_layer, result_thrown_away, scale_unused, tensor_not_registered
from .model.joins import joined_with_itself
from .model.lost_sums import residual_without_sum, sum_without_reader
from .model.made_when_called import layers_made_when_called
from .model.misasked import nought_times, operators_misasked
from .model.only_one import one_block_of_stack, one_of_list_asked
from .model.operators import attention_unscaled, output_rectified, reshape_for_transpose, softmax_axis
from .model.recurrent import last_of_batch
from .model.registered import layers_in_plain_list, new_head_frozen, trainable_undone
from .model.rounds_lost import round_begins_anew
from .model.states import padded_end, state_misread
from .model.transformers import half_unused, memory_shown, positions_of_samples
from .model.turned_places import no_rotation, turned_on_one_side
from .model.unread import handed_over_unread
from .model.wiring import layer_unused, norm_unused, stream_replaced, value_unused
from .model.without_norm import blocks_without_norm, norm_is_identity
from .optimizer import trainable
from .optimizer.decay_groups import groups_exchanged, optax_mask_turned
from .optimizer.optax_steps import new_state_dropped
from .optimizer.replaced import layer_replaced_after_optimizer, optimizer_gets_other_model
from .optimizer.unheld import network_without_optimizer
from .optimizer.untrained import (
    decay_turned_round,
    frozen_with_the_new,
    gathered_in_vain,
    group_overwritten,
    left_by_the_tape,
    method_without_gradients,
    one_part_given,
)
from .ranks.by_hand import summed_over_processes
from .ranks.replicas import exchanged_too_early
from .schedule.counts import counted_otherwise
from .schedule.course import plateau_direction, rate_not_applied
from .schedule.formulas import formula_wrong
from .schedule.idle import schedule_idle
from .schedule.lengths import unit_wrong
from .shared.checks import first, told_at
from .shared.sides import either
from .step.accumulated import accumulation_without_effect, cleared_between, divided_twice, mean_of_parts
from .step.accumulation import accumulation_not_divided
from .step.scheduling import scheduler_wrong_loop
from .tensorflow.keras_model import branch_left
from .tensorflow.tape import part_without_step
from .tensorflow.taped import block_drops_mode, taped_in_inference
from .trainers.fastai_learner import stays_frozen


@probe()
def branch_lost(view: View) -> Finding:
    """A branch of the model leads nowhere: overwritten, never joined, joined with itself, not looked at."""
    return first(view, either(*_BRANCHES), "the scripts hold no model")


_BRANCHES = (
    overwritten_unread,
    memory_unread,
    twin_called_twice,
    added_to_itself,
    branch_unjoined,
    value_reaches_nothing,
    last_value_unread,
    state_not_carried,
    every_round_from_the_start,
    mask_unread,
    kept_mask_unread,
    branch_left,
    layer_without_value,
    sum_without_reader,
    state_misread,
    padded_end,
    handed_over_unread,
    one_of_list_asked,
    zeros_for_branch,
    part_unread,
    half_unused,
    one_block_of_stack,
    copy_never_asked,
    shows("copy-unasked", "pairs-one-view"),
    nought_times,
    residual_without_sum,
)


@probe()
def wiring_wrong(view: View) -> Finding:
    """The model is wired otherwise than designed: a branch left out, a stream replaced, the way back cut."""
    return any_of(
        look(view)
        for look in (
            stream_replaced,
            value_unused,
            layer_unused,
            gradient_path_cut,
            joined_with_itself,
            result_thrown_away,
            only_last_layer,
            branch_lost,
            _unheard,
        )
    )


def _unheard(view: View) -> Finding:
    """Of what a network is given, something changes none of its answers; or of its rounds all but one."""
    look = either(answers_show("orderless", "deaf"), round_begins_anew)
    return first(view, look, "the scripts ask no network that can be worked out")


@probe()
def norm_missing(view: View, *, layers: int) -> Finding:
    """Normalisation that the model should have is missing or has no effect."""
    return any_of(
        (
            norm_unused(view),
            norm_is_identity(view),
            blocks_without_norm(view, surely=True),
            deep_without_normalisation(view, layers=layers),
        )
    )


@probe()
def schedule_counted_otherwise(view: View) -> Finding:
    """The length of the schedule is counted in samples or epochs, while it goes on with each step."""
    return first(
        view, either(counted_otherwise, length_of_all_ranks), "the scripts count no steps of a schedule"
    )


@probe()
def schedule_wrong(view: View) -> Finding:
    """The schedule of the learning rate has a wrong length, formula or direction, or is never applied."""
    return any_of(
        look(view)
        for look in (
            unit_wrong,
            scheduler_wrong_loop,
            formula_wrong,
            plateau_direction,
            rate_not_applied,
            schedule_idle,
            schedule_counted_otherwise,
        )
    )


@probe()
def inference_while_training(view: View) -> Finding:
    """TensorFlow: the model, or a part of a block, trains in the mode of inference."""
    return first(
        view, either(taped_in_inference, block_drops_mode), "the scripts take no gradients by a tape"
    )


@probe()
def mode_wrong(view: View) -> Finding:
    """The model, or one of its layers, trains in evaluation mode or is evaluated in training mode."""
    return any_of(
        look(view)
        for look in (
            set_train_missing,
            dropout_always_on,
            mode_fixed_in_call,
            eval_in_training_step,
            batch_statistics_off,
            switched_astray,
            never_switched_off,
            shared_function,
            inference_while_training,
            while_evaluating.mode_wrong,  # last: others know the line where the model runs
        )
    )


@probe()
def left_untrained(view: View) -> Finding:
    """Parameters are in no group of the optimizer, frozen with others, or without gradients."""
    return first(view, either(*_UNTRAINED), "the scripts build no optimizer")


_UNTRAINED = (
    left_by_the_tape,
    one_part_given,
    group_overwritten,
    gathered_in_vain,
    frozen_with_the_new,
    method_without_gradients,
    part_without_step,
    network_without_optimizer,
    new_state_dropped,
    adapters_for_inference,
    stays_frozen,
)


@probe()
def part_not_trained(view: View) -> Finding:
    """Parameters are frozen, not registered, left out of the optimizer, or replaced after it was built."""
    return any_of(
        look(view)
        for look in (
            layers_in_plain_list,
            layers_made_when_called,
            tensor_not_registered,
            trainable_undone,
            new_head_frozen,
            layer_replaced_after_optimizer,
            optimizer_gets_other_model,
            trainable.part_not_trained,
            left_untrained,
        )
    )


@probe()
def axis_wrong(view: View) -> Finding:
    """The model works along another axis than its shapes tell: a sum, a length, a reshape."""
    return first(view, either(*_AXES, *_TURNS), "the scripts hold no model")


_TURNS = (no_rotation, turned_on_one_side)
_AXES = (
    weights_over_other_axis,
    weights_over_other_ends,
    softmax_over_samples,
    normalised_over_batch,
    torn_in_model,
    last_of_batch,
    positions_of_samples,
    answers_show("met", "met-by-shape"),
)
_ATTENTION = (
    *(mask_times_scores, mask_turned_round, mask_too_small),
    *(masked_after_softmax, zero_before_softmax, padding_shown),
    memory_shown,
)


@probe()
def mask_astray(view: View) -> Finding:
    """The mask of attention hides what may be seen, or is multiplied with the scores and hides nothing."""
    return first(view, either(*_ATTENTION), "the scripts hold no model")


def padding_pooled(view: View) -> Finding:
    """Sequences are averaged over their padding."""
    return first(view, pooled_over_padding, "the scripts hold no model")


@probe()
def codes_drawn_wrongly(view: View) -> Finding:
    """The codes of a variational model are drawn with another spread than their divergence takes."""
    look = either(shows("spread-otherwise"), code_drawn_wrongly)
    return first(view, look, "the scripts draw no codes of a variational model")


@probe()
def operator_wrong(view: View) -> Finding:
    """The model uses an operator that is usually meant otherwise: activation, axis, scale, or reshape."""
    return any_of(
        look(view)
        for look in (
            output_rectified,
            softmax_axis,
            attention_unscaled,
            scale_unused,
            reshape_for_transpose,
            output_without_gradient,
            integer_division,
            softmax_misplaced,
            layers_unbent,
            axis_wrong,
            mask_astray,
            operators_misasked,
            padding_pooled,
            codes_drawn_wrongly,
        )
    )


@probe()
def early_exchange(view: View) -> Finding:
    """Gradients are exchanged for the wrong micro-batches, or summed over processes and not divided."""
    return first(
        view,
        either(exchanged_too_early, summed_over_processes),
        "the scripts exchange no gradients by hand",
    )


@probe()
def accumulation_wrong(view: View) -> Finding:
    """Gradients of several batches, replicas or devices are put together wrongly."""
    return any_of(
        look(view)
        for look in (
            divided_twice,
            accumulation_without_effect,
            cleared_between,
            mean_of_parts,
            accumulation_not_divided,
            early_exchange,
        )
    )


@probe()
def output_squashed(view: View) -> Finding:
    """The last layer of the model gives probabilities, and the losses of the program take raw scores."""
    return first(view, either(last_layer_squashed, chances_into_scores), "no loss takes raw scores")


@probe()
def score_is_minimised(view: View) -> Finding:
    """What is minimised is a score of which more is better (PSNR, accuracy, overlap)."""
    return first(view, score_minimised, "no hand-written training step in the scripts")


@probe()
def decay_astray(view: View) -> Finding:
    """Weight decay goes to the parameters that are listed to be left without it, and not to the others."""
    looks = either(decay_turned_round, groups_exchanged, optax_mask_turned)
    return first(view, looks, "the scripts choose no weight decay by name")


@probe()
def divergence_wrong(view: View) -> Finding:
    """A divergence gets arguments of the wrong kind, or the Gaussians' one has a term with the wrong sign."""
    checks = either(divergence_of_wrong_kind, gaussian_divergence_wrong, mean_beside_sum, divergence_astray)
    return first(view, checks, "the scripts compute no divergence that is wrong")


@probe()
def objective_wrong(view: View) -> Finding:
    """What is minimised is written out wrongly: a likelihood, quantiles, a term twice, a temperature."""
    checks = either(
        *(gaussian_likelihood_wrong, pinball_wrong, term_twice, temperature_multiplied),
        soft_target_slipped,
        *(weights_left_out, rate_of_wrong_kind, keras_rate_linear, target_for_variance, certain_weighs_most),
        standardised_pixels_as_shares,
        loss_unlike_evaluation,
        told_at(broken_class_loss),
    )
    return first(view, checks, "the scripts write out no objective that is wrong")


@probe()
def worked_wrong(view: View) -> Finding:
    """A rehearsal shows that the loss pulls another way than its method means it to."""
    checks = either(shows(*_PULLS), part_of_batch_unread, end_on_wrong_side, future_of_same_state)
    return first(view, checks, "no rehearsed loss of several networks in the scripts")


_PULLS = (
    *("duel-alike", "duel-one-kind", "penalty-turned", "mixed-wrongly"),
    *("divergence-turned", "noise-target"),
    *("future-unmasked", "future-of-same", "actor-turned", "greater-of-two"),
    *("preference-turned", "preference-same", "preference-crossed", "preference-chances"),
    *("term-of-data", "term-of-itself", "term-without-end", "tokens-unshifted"),
)


@probe()
def loss_wrong(view: View) -> Finding:
    """The loss is computed in a way that is usually wrong: standard losses, overlaps, weights, arguments."""
    return any_of(
        look(view)
        for look in (
            standard_loss_wrong,
            keras_output_activated,
            overlap_loss_wrong,
            class_weights_upside_down,
            loss_arguments_swapped,
            class_loss_on_numbers,
            term_taken_off,
            loss_emptied,
            ctc_input_wrong,
            output_squashed,
            score_is_minimised,
            divergence_wrong,
            objective_wrong,
            worked_wrong,
        )
    )
