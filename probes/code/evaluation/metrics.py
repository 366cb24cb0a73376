"""Metrics in scripts: sums that start anew or never, wrong denominators, unlike pairs, parts of the data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...by_hand.box_codes import broken_box_codes
from ...by_hand.inverses import turned_back_otherwise
from ...by_hand.keras_metrics import broken_keras_metric
from ...by_hand.meters import broken_meter, broken_pairs, broken_ranks
from ...by_hand.promises import first_broken
from ...by_hand.running_means import broken_mean
from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.learning import taken, takes_gradients
from ...scripts.syntax import Script
from ..labels.left_positions import mask_left_in_metric, mean_over_emptied_in_metric, metric_counts_padding
from ..labels.together import answers_reordered
from ..loss.ctc import ctc_blank_kept
from ..method.kept_boxes import suppressed_wrongly
from ..model.activations import activated_twice
from ..schedule.tf_lengths import metric_goes_on
from ..shared.checks import at, first, ok, outer_loop, runs_in, told_at
from ..shared.nodes import paired
from ..shared.sides import either, literal, side
from ..splits.slipped import other_held_out_part
from ..splits.unlike import compared_unlike_trained, left_at_once, mask_unused
from ..tensorflow.answers import metric_of_other_answers
from ..tensorflow.generators import answers_in_drawn_order
from ..tensorflow.slips import argmax_over_batch
from ..tensorflow.tape_parts import peak_of_other_range, scores_into_metric_of_chances
from ..tensorflow.tape_steps import argmax_over_time, metric_not_listed, reduced_by_mean, weights_left_in_test
from ..trainers.fastai_learner import answers_over_rows
from .back_on_one_side import turned_back_on_one_side
from .by_batch import (
    among_the_likeliest,
    batches_for_rows,
    classes_left_out,
    hits_without_labels,
    one_batch_scored,
    rows_over_batches,
    rows_permuted,
)
from .compared import (
    held_against_itself,
    ignored_counts,
    one_side_converted,
    other_order,
    threshold_on_scores,
)
from .counts import logged_without_reset, normalised_over_batch, other_batch_size
from .crosswise import metric_crosswise, power_of_nats
from .ctc_texts import ctc_texts_misread
from .exchanged import figures_exchanged
from .figure_slips import first_place_by_nought, range_of_another, recall_by_cut, scored_against_inputs
from .figures import area_of_decisions, emptied_with_each_batch, largest_of_one, size_with_sign
from .figures_of_rows import figure_of_another_name, means_over_rows
from .formulas import formula_wrong, half_converted, reduced_unlike
from .handed_names import answers_asked_second, handed_by_wrong_name, one_for_two
from .handed_unread import best_batch_told, data_unread, known_unread
from .kept_sums import logits_as_chances, metric_keeps_one_batch, one_of_two_sums, sums_over_batches
from .library_figures import library_figure_of_another_name
from .lightning_scores import lists_of_hooks, one_metric_for_both
from .meters import meters_go_on
from .misread import softmax_of_two_axes, wrong_kind
from .named_figures import other_than_named
from .never_added import asked_and_never_filled
from .of_tasks import OF_TASKS
from .other_kind import mean_of_batch_scores, softmax_of_many_labels
from .own_measure import errors_cancel_out, measures_itself
from .parts_named import parts_crossed, share_of_all
from .parts_scored import along_samples, hits_over_batches, part_of_held_out
from .played import played_at_random
from .put_together import (
    divided_by_last_batch,
    first_place_without_logarithm,
    kept_as_default,
    meter_never_filled,
    size_of_summed_errors,
)
from .ranked import marks_never_asked, ranked_from_the_worst, unknown_left_out
from .reduced import PUT_TOGETHER, put_together, scoring_functions, shared_for_scoring
from .rows_apart import filtered_apart, scored_in_another_order
from .said_test import answers_of_other_rows, scored_against_itself, test_of_other_rows
from .scores_misread import scores_misread
from .shares import counted_above_alone
from .size_unread import counted_and_divided_by_batches
from .squashed import squashed_twice
from .tensor_sums import (
    COUNTERS,
    anew_in_each_batch,
    most_of_counts,
    padding_in_divisor,
    repeated_rows_counted,
    tensors_go_on,
)
from .totals import (
    emptied_each_round,
    goes_on_to_held_out,
    kept_between_evaluations,
    last_count_only,
    last_round_only,
    never_begun_anew,
)
from .twice_alike import one_value_under_two_names
from .units_apart import truth_turned_alone
from .units_unlike import one_side_turned_back, truth_scaled_in_training_alone
from .worked_out import worked_out_otherwise

Loops = (ast.For, ast.AsyncFor, ast.While)


@probe()
@unframed
def metric_miscounts(view: View) -> Finding:
    """Counts of a metric are wrong whatever the model does."""
    return first(
        view,
        either(
            data_unread,
            best_batch_told,
            known_unread,
            _starts_anew,
            _never_reset,
            _union_without_overlap,
            _counted_twice,
            threshold_on_scores,
            ignored_counts,
            one_side_converted,
            half_converted,
            formula_wrong,
            reduced_unlike,
            other_order,
            activated_twice,
            ctc_blank_kept,
            other_batch_size,
            logged_without_reset,
            shows("last-batch", "not-reset", "worked-otherwise", "column-row-scored", "units-apart"),
            shows("noise-added"),
            normalised_over_batch,
            last_round_only,
            last_count_only,
            never_begun_anew,
            metric_crosswise,
            *(handed_by_wrong_name, one_for_two, answers_asked_second, share_of_all, parts_crossed),
            *(answers_over_rows, figure_of_another_name, means_over_rows),
            library_figure_of_another_name,
            power_of_nats,
            ctc_texts_misread,
            *(first_place_by_nought, recall_by_cut, range_of_another, scored_against_inputs),
            goes_on_to_held_out,
            kept_between_evaluations,
            metric_not_listed,
            metric_of_other_answers,
            weights_left_in_test,
            argmax_over_time,
            *(area_of_decisions, largest_of_one, size_with_sign, emptied_with_each_batch),
            metric_goes_on,
            argmax_over_batch,
            other_held_out_part,
            reduced_by_mean,
            one_metric_for_both,
            lists_of_hooks,
            scores_misread,
            emptied_each_round,
            measures_itself,
            errors_cancel_out,
            compared_unlike_trained,
            *(left_at_once, part_of_held_out, along_samples, answers_reordered),
            hits_over_batches,
            mask_unused,
            mask_left_in_metric,
            mean_over_emptied_in_metric,
            metric_counts_padding,
            held_against_itself,
            *(rows_permuted, classes_left_out, hits_without_labels, batches_for_rows, rows_over_batches),
            *(among_the_likeliest, one_batch_scored),
            anew_in_each_batch,
            tensors_go_on,
            padding_in_divisor,
            repeated_rows_counted,
            most_of_counts,
            wrong_kind,
            softmax_of_two_axes,
            *(mean_of_batch_scores, softmax_of_many_labels, turned_back_on_one_side),
            *(logits_as_chances, metric_keeps_one_batch, sums_over_batches, one_of_two_sums),
            other_than_named,
            *(
                ranked_from_the_worst,
                marks_never_asked,
                unknown_left_out,
                filtered_apart,
                answers_in_drawn_order,
                scored_in_another_order,
                one_side_turned_back,
                truth_scaled_in_training_alone,
            ),
            worked_out_otherwise,
            told_at(first_broken),
            *(told_at(broken_meter), told_at(broken_ranks), told_at(broken_pairs), told_at(broken_mean)),
            told_at(broken_keras_metric),
            *(counted_above_alone, truth_turned_alone, asked_and_never_filled),
            *(counted_and_divided_by_batches, one_value_under_two_names),
            *(peak_of_other_range, scores_into_metric_of_chances, suppressed_wrongly),
            told_at(broken_box_codes),
            told_at(turned_back_otherwise),
            figures_exchanged,
            played_at_random,
            squashed_twice,
            meters_go_on,
            test_of_other_rows,
            answers_of_other_rows,
            scored_against_itself,
            *(divided_by_last_batch, first_place_without_logarithm, size_of_summed_errors),
            *(kept_as_default, meter_never_filled),
            *OF_TASKS,
        ),
        "the scripts count no metric by hand",
    )


def _own(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run once per round of a loop: those of inner loops and functions left out."""
    for statement in body:
        yield statement
        if isinstance(statement, (*Loops, ast.FunctionDef, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _own(getattr(statement, part, []))


def _zeroed(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement sets to a start: `n = 0`, `hits, seen = 0, 0`, `a = b = 0.0`."""
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        pairs = paired(target, statement.value)
        for one, value in pairs:
            empty = isinstance(value, (ast.List, ast.Dict)) and not unparse(value).strip("[]{}")
            if empty or (
                isinstance(value, ast.Constant) and value.value in (0, 0.0) and value.value is not False
            ):
                yield unparse(one)


def _added(statement: ast.stmt) -> str:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return unparse(statement.target)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and last_name(call.func) in ("append", "extend"):
        return unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return ""


def _starts_anew(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for loop in source.of(ast.For):
        scope = source.function_around(loop)
        if scope is None or takes_gradients(source, loop):
            continue
        inner = [n for n in walk(loop) if isinstance(n, Loops) and n is not loop]
        nested = {_added(s) for i in inner for s in of(i, ast.stmt)}
        added = {_added(s) for s in _own(loop.body)} - nested - {""}
        if not added:
            continue
        end = loop.end_lineno or loop.lineno
        later = {unparse(n) for n in of(scope, ast.Name) if n.lineno > end}
        if added & later:
            seen = seen or loop
        for statement in loop.body:
            names = set(_zeroed(statement)) & added & later
            if names:
                return at(
                    source, statement, f"`{min(names)}` starts anew in each round of the loop that sums it up"
                )
    return ok(source, seen, "sums start before their loop") if seen is not None else None


# --------------------------------------------------------------------------------------- objects that count

_COUNTERS = re.compile(
    r"^(?:Mean|Sum|AUC|F1\w*|Accuracy|\w*Accuracy|Precision|Recall|MeanIoU|Mean\w*Error|\w*Meter|\w*Metrics?|Confusion\w*)$"
)


def _never_reset(source: Script) -> Finding | None:
    loop = outer_loop(source) or _main_loop(source)
    if loop is None or any("LightningModule" in unparse(b) for c in source.classes.values() for b in c.bases):
        return None
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        if not isinstance(node.value, ast.Call):
            continue
        made = node.value
        name = last_name(made.func)
        own = source.classes.get(name)
        resets = own is not None and any(
            isinstance(f, ast.FunctionDef) and f.name.startswith("reset") for f in own.body
        )
        counting = own is not None and COUNTERS.match(name) is not None and _adds_up(own)
        library = own is None and _COUNTERS.match(name) and "metric" in unparse(made.func).lower()
        if (
            not (resets or counting or library)
            or runs_in(source, node, loop)
            or not isinstance(node.targets[0], ast.Name)
        ):
            continue
        names = _aliases(source, node.targets[0].id)
        used = [
            c for c in source.named("update", "update_state", "add", "add_batch") if source.owner(c) in names
        ]
        if not any(runs_in(source, c, loop) or _in_called(source, c, loop) for c in used):
            continue
        if any(takes_gradients(source, s) for c in used for s in source.loops_around(c)[:1]):
            continue
        reads = [c for c in source.calls if isinstance(c.func, ast.Attribute) and source.owner(c) in names]
        shown = [c for c in reads if c not in used and not last_name(c.func).startswith("reset")]
        seen = seen or node
        around = source.function_around(loop)
        again = any(
            _may_reset(source, c, names)
            and (loop in source.above(c) or source.function_around(c) is not around)
            for c in source.calls
        )
        anew = any(
            isinstance(g.value, ast.Call) and last_name(g.value.func) == name and runs_in(source, g, loop)
            for g in source.of(ast.Assign)
            if {unparse(t) for t in g.targets} & names
        )
        if shown and not (again or anew) and not _set_back(source, names):
            return at(source, node, "this counts on over all evaluations, because nothing resets it")
    return ok(source, seen, "metrics are reset") if seen is not None else None


def _adds_up(own: ast.ClassDef) -> bool:
    """A method of the class adds to what its instance holds, and not to a running mean."""
    methods = [
        f for f in own.body if isinstance(f, ast.FunctionDef) and f.name in ("update", "add", "add_batch")
    ]
    added = [n for f in methods for n in of(f, ast.AugAssign) if unparse(n.target).startswith("self.")]
    return bool(added) and not any("avg" in unparse(f) or "/" in unparse(f) for f in methods)


def _main_loop(source: Script) -> ast.For | ast.While | None:
    """Without backward (TensorFlow): the loop that calls what applies gradients, or its function."""
    for call in source.named("apply_gradients", "minimize"):
        function = source.function_around(call)
        for _ in range(4):
            if function is None:
                break
            name = function.name
            calls = [c for c in source.calls if last_name(c.func) == name or _hands_over(c, name)]
            loops = [x for c in calls for x in source.loops_around(c) if isinstance(x, (ast.For, ast.While))]
            if loops:
                return loops[-1]
            function = next((f for c in calls if (f := source.function_around(c)) is not function), None)
    return None


def _hands_over(call: ast.Call, name: str) -> bool:
    return any(isinstance(a, ast.Name) and a.id == name for a in call.args)


def _in_called(source: Script, call: ast.Call, loop: ast.AST, depth: int = 3) -> bool:
    """The call stands in a function that the loop hands over or runs (`strategy.run(step, ...)`)."""
    function = source.function_around(call)
    if function is None or depth == 0:
        return False
    users = [c for c in source.calls if last_name(c.func) == function.name or _hands_over(c, function.name)]
    return any(loop in source.above(c) or _in_called(source, c, loop, depth - 1) for c in users)


def _aliases(source: Script, name: str) -> set[str]:
    """The name and the parameters that it is handed over as."""
    found = {name}
    for call in source.calls:
        for function in flow(source).called(call):
            names = [a.arg for a in function.args.args]
            shift = 1 if names[:1] == ["self"] else 0
            for i, value in enumerate(call.args):
                if isinstance(value, ast.Name) and value.id == name and i + shift < len(names):
                    found.add(names[i + shift])
            found |= {
                k.arg for k in call.keywords if k.arg and isinstance(k.value, ast.Name) and k.value.id == name
            }
    return found


def _may_reset(source: Script, call: ast.Call, names: set[str]) -> bool:
    """On the object itself, on a field of it, or on what a loop goes over."""
    owner, name = source.owner(call), last_name(call.func)
    if name in ("zero_", "fill_", "clear", "fill") and owner.rpartition(".")[0] in names:
        return True
    loops = [x for x in source.above(call) if isinstance(x, ast.For)]
    over = {n.id for x in loops for n in of(x.target, ast.Name)}
    return name.startswith("reset") and (owner in names or owner in over)


def _set_back(source: Script, names: set[str]) -> bool:
    """`meter.total = 0`."""
    return any(
        isinstance(t, ast.Attribute) and unparse(t.value) in names
        for n in source.of(ast.Assign)
        for t in n.targets
    )


# --------------------------------------------------------------------------------------- denominators


def _union_without_overlap(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for node in source.of(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        base = target.value if isinstance(target, ast.Subscript) else target
        if not isinstance(base, ast.Name) or (
            isinstance(node, ast.AugAssign) and not isinstance(node.op, ast.Add)
        ):
            continue
        name, value = base.id, _bare(node.value)
        if not re.search(r"(?:^|_)union", name.lower()):
            continue
        seen = seen or node
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            continue
        smooth = isinstance(literal(source, value.right), (int, float)) or unparse(value.left) == unparse(
            target
        )
        scope = source.function_around(node) or source.tree
        less = any(
            isinstance(n.op, ast.Sub) and unparse(n.target) == name for n in of(scope, ast.AugAssign)
        ) or re.search(rf"\b{name}(?:\[[^\]]*\])? - |- inter", unparse(scope))
        doubled = re.search(r"\b2(?:\.0?)? \*|\* 2\b|dice", unparse(scope).lower())
        if not smooth and not less and not doubled:
            sums = [n for n in walk(value) if isinstance(n, ast.Sub | ast.BitOr)]
            if not sums:
                return at(source, node, "the overlap is counted twice in this union")
    return ok(source, seen, "the overlap is taken off the union") if seen is not None else None


def _bare(value: ast.expr) -> ast.expr:
    """`(a + b).cpu()` -> `a + b`"""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not value.args:
        if value.func.attr not in ("cpu", "item", "float", "numpy", "detach"):
            break
        value = value.func.value
    return value


def _counted_twice(source: Script) -> Finding | None:
    """Two counts that are denominators add up the same."""
    seen: ast.AST | None = None
    for loop in source.of(ast.For):
        scope = source.function_around(loop)
        if scope is None:
            continue
        adds = [s for s in _own(loop.body) if isinstance(s, ast.AugAssign) and isinstance(s.op, ast.Add)]
        divides = {
            n.id for d in of(scope, ast.BinOp) if isinstance(d.op, ast.Div) for n in of(d.right, ast.Name)
        }
        counts = [a for a in adds if isinstance(a.target, ast.Name) and a.target.id in divides]
        if len(counts) < 2:
            continue
        seen = seen or counts[0]
        for i, one in enumerate(counts):
            for other in counts[i + 1 :]:
                same = unparse(one.value) == unparse(other.value)
                if same and unparse(one.target) != unparse(other.target):
                    if not isinstance(one.value, ast.Constant) and isinstance(one.value, ast.Call):
                        if source.parents.get(one) is source.parents.get(other):
                            return at(source, other, "two denominators count the same")
    return ok(source, seen, "denominators count different things") if seen is not None else None


# --------------------------------------------------------------------------------------- parts of the data


@probe()
def metric_of_a_share(view: View) -> Finding:
    """Each process evaluates its own share of the data, and the counts are not put together."""
    return first(view, _share, "the scripts share no evaluation data among processes")


def _counts_itself(source: Script) -> bool:
    """Metrics of a library that joins processes by itself."""
    return re.search(r"torchmetrics|evaluate\.load|load_metric|sync_dist", source.code) is not None


def _share(source: Script) -> Finding | None:
    shared: list[ast.AST] = []
    for call in source.named("DistributedSampler"):
        if call.args and side(unparse(call.args[0])) is False:
            shared.append(call)
    for call in source.named("prepare"):
        if not isinstance(call.func, ast.Attribute):
            continue  # a function of the script's own
        shared += [call for a in call.args if isinstance(a, ast.Name) and side(a.id) is False][:1]
    functions = scoring_functions(source)
    if functions and not source.loose:
        shared += shared_for_scoring(source)
        if shared and not _counts_itself(source) and not put_together(source, functions):
            why = "each process scores its own share of this, and nothing puts the counts together"
            return at(source, shared[0], why)
    if not shared or source.loose:
        return None
    batches = {loops[0] for b in taken(source) if (loops := source.loops_around(b))}
    text = [
        unparse(n)
        for n in source.of(ast.Call)
        if not (batches & set(source.loops_around(n)) and not _held(source, n))
    ]
    if any(PUT_TOGETHER.search(t) for t in text) or "torchmetrics" in source.code:
        return ok(source, shared[0], "counts of all processes are put together")
    return at(
        source, shared[0], "each process scores its own share of this, and nothing puts the counts together"
    )


def _held(source: Script, node: ast.AST) -> bool:
    return any(
        isinstance(x, ast.For) and any(side(n.id) is False for n in of(x.iter, ast.Name))
        for x in source.loops_around(node)
    )


@probe()
def evaluation_drops_samples(view: View) -> Finding:
    """The last, smaller batch of the evaluation data is left out."""
    return first(view, _drops, "the scripts do not say what happens to the last batch")


def _drops(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for call in source.calls:
        value = keyword(call, "drop_last") or keyword(call, "drop_remainder")
        if value is None or _cuts_windows(source, call):
            continue
        statement = source.statement(call) or call
        target = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        learns = side(target) if side(target) is not None else side(source.function_name(call))
        function = source.function_around(call)
        flags = [a.arg for a in function.args.args if _FLAG.match(a.arg)] if function is not None else []
        if function is not None and any(
            side(a.arg) is False for a in function.args.args
        ):  # `def fold(k, train, val)`: both parts are handed in
            flags = []
        if isinstance(value, ast.Name) and value.id in flags:
            seen = seen or call
            continue  # the caller says which side it is
        both = bool(flags) and not any(_FLAG.search(unparse(t)) for t in _conditions(source, call))
        seen = seen or call
        if literal(source, value) is True and (learns is False or (learns is None and both)):
            return at(source, call, "the samples of the last, smaller batch are never scored")
    return ok(source, seen, "evaluation keeps its last batch") if seen is not None else None


def _cuts_windows(source: Script, call: ast.Call) -> bool:
    """`window(n, drop_remainder=True)` of a series, and the batch that makes a tensor of each window."""
    return last_name(call.func) == "window" or any(
        isinstance(p, ast.Call) and last_name(p.func) in ("flat_map", "interleave")
        for p in source.above(call)
    )


_FLAG = re.compile(r"^(?:is_|do_|for_)?train(?:ing)?$")


def _conditions(source: Script, node: ast.AST) -> list[ast.expr]:
    return [p.test for p in source.above(node) if isinstance(p, ast.If)]
