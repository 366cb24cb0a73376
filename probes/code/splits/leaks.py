"""Held-out data that training sees, in scripts: overlapping parts, joined splits, shared statistics."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...by_hand.parts import parts_that_meet, targets_inside_windows
from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, any_of, probe, unframed, unknown
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..evaluation.best_kept import gradients_on_held_out
from ..evaluation.figures_of_rows import test_figure_chooses
from ..method.graphs import asked_edges_carry_messages, loss_of_held_out_nodes, other_direction_left
from ..method.written import told_what_is_asked
from ..model.sequence import target_is_input
from ..shared.checks import at, first, ok, told_at
from ..shared.nodes import is_true, refilled
from ..shared.sides import Given, Part, either, given, part, side, words
from ..shared.transforms import telling
from ..tensorflow.data import cut_from_moving_order
from ..tensorflow.graph_data import whole_table_given
from ..tensorflow.keras_slips import learned_from_whole
from ..tensorflow.slips import evaluated_by_training_input, held_out_pattern_of_training
from ..trainers.fastai_learner import split_not_asked
from .again import folds_meet, one_file_for_both, split_twice, whole_beside_part
from .by_ids import learned_beside_ids, one_cut_twice
from .chosen_by_final import chosen_by_final_part
from .columns_by_type import all_columns
from .cut_by_share import figures_before_cut
from .cuts_meet import cuts_meet
from .drawn_alike import drawn_with_one_seed, part_of_twin
from .files_of_settings import one_file_in_settings
from .groups_torn import groups_torn
from .held_items import held_items_kept, last_of_no_order, ranks_meet
from .history_held_out import held_out_of_history
from .joined_fit import figures_of_joined, fitted_to_both, series_parted_by_chance
from .joined_rows import held_out_rows_joined
from .learnt_and_scored import chosen_by_test
from .look_ahead import inputs_look_ahead
from .named_parts import name_of_part_unread, trains_on_named_part
from .net_of_folds import net_through_folds
from .node_masks import learns_other_nodes
from .one_part_twice import one_part_under_two_names
from .overlaps import overlap
from .part_of_trained import part_of_trained_set
from .part_unused import part_never_read, test_chooses
from .ranges_met import ranges_meet
from .rows_copied import rows_copied
from .rows_doubled import rows_doubled
from .rows_flowed import chosen_by_scored, figures_of_scored, scored_rows_learnt
from .rows_met import learned_from_both, rows_in_both
from .same_file import (
    figures_of_the_whole,
    scaler_of_the_whole,
    training_file_for_held_out,
    validated_on_the_test_part,
)
from .same_source import is_figure, same_source
from .sampled_nodes import learns_neighbours, masks_meet, starts_at_held_out
from .side_switches import both_from_one_end, fit_crossed, one_part_for_both, reads_other_source
from .sides_crossed import (
    loader_of_other_side,
    loaders,
    plain_loaders,
    same_part,
    sampled_from_other_side,
    trains_on_held_out_loop,
)
from .slipped import parts_from_one_end
from .split_steps import learned_after_split, of_all_rows
from .target_columns import target_among_inputs
from .target_means import means_of_own_target
from .tuned_on_test import tuned_on_test
from .tuples_meet import parts_share_an_element
from .wholes import figures_of_all, figures_of_whole, whole_for_a_part
from .windows_torn import overlapping_windows_divided


@probe()
@unframed
def training_sees_evaluation(view: View) -> Finding:
    """Held-out samples are trained on, are learned from, choose the model, or the target is an input."""
    return any_of(
        check(view)
        for check in (
            held_out_in_training,
            selected_on_test,
            all_columns_are_inputs,
            target_is_input,
            overlap,
            rows_shared,
            one_file_in_settings,
        )
    )


@probe()
@unframed
def fitted_and_learnt(view: View) -> Finding:
    """Figures of held-out samples make an evaluation a little better, and never one that stands still."""
    held = view.run.series.get("eval/loss")
    still = held is not None and len(held) > 2 and float(np.ptp(held.values)) == 0.0
    return unknown("the evaluation stands still: no help reaches it") if still else fitted_on_all(view)


@probe()
@unframed
def rows_shared(view: View) -> Finding:
    """Rows that a network learnt from are among those that a figure of held-out data is taken of."""
    return first(view, shows("scored-rows-taught"), "nothing is known of the rows that are scored")


@probe()
@unframed
def held_out_in_training(view: View) -> Finding:
    """Samples that are evaluated on are part of the training data.

    The evaluation set is a part of what is trained on as a whole (`val = x[:n]`, `train = x`); both are read
    from the training source; the training data are joined with the held-out data that are evaluated.
    """
    check = either(
        *(_overlap, same_source, _same_data, _fits_on_both, _joined),
        *(name_of_part_unread, trains_on_named_part),
        *(held_out_rows_joined, rows_copied, rows_doubled, drawn_with_one_seed, part_of_twin),
        *(same_part, loader_of_other_side, sampled_from_other_side, trains_on_held_out_loop),
        *(cuts_meet, both_from_one_end, reads_other_source, fit_crossed, one_part_for_both),
        one_cut_twice,
        chosen_by_final_part,
        *(cut_from_moving_order, gradients_on_held_out, parts_from_one_end, part_of_trained_set),
        *(evaluated_by_training_input, held_out_pattern_of_training),
        *(
            rows_in_both,
            groups_torn,
            net_through_folds,
            folds_meet,
            split_twice,
            whole_beside_part,
            one_file_for_both,
            whole_table_given,
            whole_for_a_part,
            scored_rows_learnt,
            learns_other_nodes,
            *(one_part_under_two_names, split_not_asked),
            *(masks_meet, learns_neighbours, starts_at_held_out),
            ranges_meet,
            told_at(parts_that_meet),
            told_at(targets_inside_windows),
            means_of_own_target,
            *(series_parted_by_chance, overlapping_windows_divided),
            *(parts_share_an_element, held_out_of_history),
            *(training_file_for_held_out, validated_on_the_test_part),
            *(held_items_kept, ranks_meet, last_of_no_order, told_what_is_asked),
            *(asked_edges_carry_messages, other_direction_left, loss_of_held_out_nodes),
        ),
    )
    return first(view, check, "the scripts show no two sets of data")


def _overlap(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for held in given(source):
        if held.learns or is_figure(held):
            continue
        for mine in given(source):
            if not mine.learns or mine.scope is not held.scope or is_figure(mine):
                continue
            if _cut_for_training(source, mine):
                continue
            pairs = list(_compared(mine, held))
            for ours, theirs in pairs:
                one, other = part(source, ours), part(source, theirs)
                if other.whole == mine.name and other.picked and isinstance(ours, (ast.Call, ast.Name)):
                    one = replace(one, whole=mine.name)  # `valid = train[:n]` of what is trained on
                if one.whole != other.whole or not other.picked:
                    continue
                seen = seen or held.node
                if refilled(source, re.split(r"[.\[]", one.whole)[0], ours, theirs):
                    continue  # other data of one name
                if one.picked or _thinned(source, mine) or _thinned(source, held, one.whole):
                    continue
                return at(source, held.node, "the held-out samples are a part of what is trained on")
    return ok(source, seen, "training and held-out samples are different parts") if seen is not None else None


def _cut_for_training(source: Script, pool: Given) -> bool:
    """Another name takes the training rows out of it: `tr = train[train["fold"] != fold]`."""
    whole = part(source, pool.value)
    return not whole.picked and any(
        g.learns
        and g.name != pool.name
        and g.scope is pool.scope
        and isinstance(g.node, (ast.Assign, ast.AnnAssign))
        and part(source, g.value) in (Part(whole.whole, True), Part(pool.name, True))
        for g in given(source)
    )


def _compared(mine: Given, held: Given) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The data of both sides: their values, or what the same function or class makes both of."""
    if isinstance(mine.value, ast.Call) and isinstance(held.value, ast.Call):
        if last_name(mine.value.func) == last_name(held.value.func):
            if (
                mine.value.args
                and held.value.args
                and last_name(mine.value.func) not in (*_LIBRARY, *_CHAINED)
            ):
                yield from zip(mine.value.args, held.value.args, strict=False)
                return
    if "".join(w for w in words(mine.name) if side(w) is None) == "".join(
        w for w in words(held.name) if side(w) is None
    ):
        yield mine.value, held.value


_LIBRARY = ("array", "asarray", "tensor", "sort", "list", "from_numpy", "sorted", "concat", "copy")


def _thinned(source: Script, one: Given, whole: str = "") -> bool:
    """What was taken for one side is taken out later: `train = train.drop(val.index)`, `pool.remove(i)`."""
    names = {one.name, whole} - {""}
    for node in source.of(ast.Call, ast.Assign, ast.AugAssign, ast.Delete):
        if isinstance(node, ast.Call) and last_name(node.func) in _TAKES_OUT:
            owner = source.owner(node)
            if owner.split(".")[-1] in names or owner in names:
                return True
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            again = node is not one.node or len(targets) > 1
            if again and any(unparse(t).split(".")[-1] in names for t in targets):
                if node.lineno > getattr(one.node, "lineno", 0) or (
                    node is one.node and whole in map(unparse, targets)
                ):
                    return True
        elif isinstance(node, ast.Delete) and any(n in unparse(node) for n in names):
            return True
    return False


_TAKES_OUT = ("drop", "remove", "pop", "difference_update", "discard", "difference", "drop_duplicates")


_CHAINED = ("batch", "map", "prefetch", "cache", "shuffle")


_EVALUATES = ("validation_data", "eval_dataset", "val_dataloaders", "valid_data", "eval_data", "val_loader")


def _same_data(source: Script) -> Finding | None:
    """`fit(x_train, y_train, validation_data=(x_train, y_train))`, a val_dataloader of the training set."""
    seen: ast.AST | None = None
    for held in given(source):
        method = isinstance(held.node, ast.Return)
        if held.learns or not (method or held.name in _EVALUATES):
            continue
        value = held.value
        if isinstance(value, ast.Call) and last_name(value.func) == "DataLoader" and value.args:
            if keyword(value, "sampler") is not None:
                continue  # which samples are drawn tells the sampler
            value = value.args[0]
        items = value.elts if isinstance(value, ast.Tuple) else [value]
        plain = [i for i in items if isinstance(i, (ast.Name, ast.Attribute, ast.Subscript))]
        if not plain or len(plain) < len(items):
            continue
        seen = seen or held.node
        cut = any(isinstance(i, ast.Subscript) and not isinstance(i.slice, ast.Constant) for i in plain)
        cut = cut or any(_of_held_out(source, i) for i in plain)
        if not cut and all(side(unparse(i)) is True for i in plain):
            return at(source, value, "the training data are evaluated as held-out data")
    return ok(source, seen, "other data are evaluated than trained on") if seen is not None else None


def _of_held_out(source: Script, node: ast.expr) -> bool:
    """`held["train"]` where `held = parts["test"].train_test_split()`: a part of what was held out."""
    made = flow(source).whole_given(node.value) if isinstance(node, ast.Subscript) else None
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
        return False
    return made.func.attr == "train_test_split" and side(unparse(made.func.value)) is False


def _of_training(held: ast.expr) -> bool:
    """Training data by name, or what a call makes of them: `encode(train_rows, tokenizer)`."""
    if isinstance(held, ast.Call):
        return any(side(unparse(a)) is True for a in held.args[:1])
    return side(unparse(held)) is True


def _fits_on_both(source: Script) -> Finding | None:
    """One call gets the same expression to train on and to evaluate: `fit(model, loader, loader)`."""
    seen: ast.AST | None = None
    for call in source.named("fit", "fit_generator"):
        given = [a for a in call.args if not isinstance(a, ast.Starred)]
        if len(given) < len(call.args):
            continue
        held = next((k.value for k in call.keywords if k.arg in _EVALUATES), None)
        trained = [k.value for k in call.keywords if k.arg in _TRAINED_ON]
        if trained or (held is not None and any(k.arg == "val_dataloaders" for k in call.keywords)):
            trained = trained[:1] or given[1:2]  # Lightning: the model comes first
        else:
            trained = [v for at_, name in ((0, "x"), (1, "y")) if (v := _place(call, given, at_, name))]
        if held is None and len(given) == 3 and source.owner(call).lower().endswith("trainer"):
            trained, held = given[1:2], given[2]
        if held is None or not trained:
            continue
        seen = seen or call
        theirs = held.elts if isinstance(held, ast.Tuple) else [held]
        if isinstance(held, (ast.Constant, ast.Dict)) or len(theirs) > len(trained):
            continue
        if [unparse(n) for n in theirs] == [unparse(n) for n in trained[: len(theirs)]]:
            return at(source, held, "the same data are trained on and evaluated as held-out data")
    for call in source.calls:
        mine, held = keyword(call, "train_dataset"), keyword(call, "eval_dataset")
        if mine is None or held is None or not last_name(call.func).endswith("Trainer"):
            continue
        seen = seen or call
        if unparse(mine) == unparse(held) and _of_training(held):
            return at(source, held, "the same data are trained on and evaluated as held-out data")
    return ok(source, seen, "other data are evaluated than trained on") if seen is not None else None


_TRAINED_ON = ("train_dataloaders", "train_dataloader", "train_loader")


def _place(call: ast.Call, given: list[ast.expr], place: int, name: str) -> ast.expr | None:
    """An argument by its name or its place."""
    return keyword(call, name) or (given[place] if place < len(given) else None)


_JOINS = (
    *("concatenate_datasets", "ConcatDataset", "concat", "concatenate", "vstack", "chain", "cat"),
    *("ChainDataset", "append", "interleave_datasets"),
)


def _joined(source: Script) -> Finding | None:
    """The training data are joined with held-out data that evaluation uses under the same name."""
    held = {unparse(g.value) for g in given(source) if not g.learns}
    held |= {g.name for g in given(source) if not g.learns}
    held |= {unparse(d) for g, d, _ in loaders(source) if not g.learns}
    seen: ast.AST | None = None
    for mine in (*given(source), *plain_loaders(source)):
        value: ast.AST = mine.value
        if isinstance(value, ast.Call) and last_name(value.func).endswith("DataLoader"):
            value = keyword(value, "dataset") or (value.args[0] if value.args else value)
        if not mine.learns or not isinstance(value, (ast.Call, ast.BinOp)) or is_figure(mine):
            continue
        if isinstance(value, ast.Call):
            if last_name(value.func) not in _JOINS or last_name(value.func) == "append":
                continue
            items = [e for a in value.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]
        elif isinstance(value.op, ast.Add):
            items = [value.left, value.right]
        else:
            continue
        texts = [unparse(i) for i in items]
        if not any(side(t) is True for t in texts):
            continue
        seen = seen or mine.node
        both = [t for t in texts if side(t) is False and (t in held or t.split(".")[-1] in held)]
        both = both or [t for t in texts if side(t) is False and _made_of(source, t)]
        taken = [t for t in texts if side(t) is False and t in _taken_apart(source)]
        if (both and (_evaluated(source, both[0]) or _made_of(source, both[0]))) or (
            taken and _read_below(source, taken[0], mine.node)
        ):
            both = both or taken
            return at(source, mine.node, f"`{both[0]}` is trained on, and evaluated as held-out data")
    return ok(source, seen, "what is joined for training is not evaluated on") if seen is not None else None


def _made_of(source: Script, text: str) -> bool:
    """Held-out data are made of it: `dev_set = Texts(dev_rows, vocab)`."""
    return any(
        not g.learns
        and isinstance(g.value, ast.Call)
        and g.value.args
        and unparse(g.value.args[0]) == text
        and re.search(r"(?i)set|data|_ds$|^ds_|loader|_dl$", g.name) is not None
        and last_name(g.value.func)[:1].isupper()
        for g in given(source)
    )


def _taken_apart(source: Script) -> set[str]:
    """Names that a split into several parts gives: one of a library, or a function of the script."""
    found: set[str] = set()
    for node in source.of(ast.Assign):
        if isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Tuple):
            names = {unparse(t) for t in of(node.targets[0], ast.Name)}
            mine = {side(n) for n in names} >= {True, False} and flow(source).called(node.value)
            if mine or last_name(node.value.func) in ("train_test_split", "random_split"):
                found |= names
    return found


def _read_below(source: Script, name: str, node: ast.AST) -> bool:
    """It is read once more after a statement, in the same function."""
    here = source.function_around(node)
    line = getattr(node, "lineno", 0)
    return any(
        n.id == name and n.lineno > line and source.function_around(n) is here and isinstance(n.ctx, ast.Load)
        for n in source.of(ast.Name)
    )


def _evaluated(source: Script, text: str) -> bool:
    """The data are handed to something that evaluates."""
    for call in source.calls:
        for word in call.keywords:
            held_out = word.arg and (side(word.arg) is False or last_name(call.func) == "DataLoader")
            if held_out and unparse(word.value) == text:
                return True
        evaluates = re.search(r"eval|valid|test|DataLoader|predict|score", last_name(call.func)) is not None
        if evaluates and any(unparse(a) == text for a in call.args):
            return True
    return False


# ------------------------------------------------------------------------------------- statistics, selection


@probe()
@unframed
def fitted_on_all(view: View) -> Finding:
    """Scales, fill values or components are learned from the samples of both splits."""
    return first(
        view,
        either(_fitted_on_all, figures_of_the_whole, scaler_of_the_whole),
        "the scripts fit no transform of the inputs",
    )


_LEARNS = re.compile(
    r"(?i)scal|imput|pca|svd|normaliz|normalis|standard|vectori|pipeline|feature|preproc|prep\b|whiten"
)


_NUMBERING = re.compile(r"(?:Label|Ordinal|OneHot)Encoder\b|LabelBinarizer\b")


def _learns(made: str) -> bool:
    """What goes by these names learns figures of its samples. LabelEncoder and its kin do not."""
    return _LEARNS.search(telling(made)) is not None


def _numbers_words(source: Script, node: ast.AST) -> bool:
    """`OrdinalEncoder().fit_transform(table)`: which number a word has tells nothing of the samples."""
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    made = _made_by(source, owner) if owner is not None else ""
    return _NUMBERING.search(made) is not None and not _learns(made)


def _fitted_on_all(source: Script) -> Finding | None:
    wholes = _split_up(source)
    seen: ast.AST | None = None
    if (both := fitted_to_both(source) or figures_of_joined(source)) is not None:
        return both
    figures = of_all_rows(source) or figures_of_all(source) or learned_from_both(source)
    figures = figures or figures_of_scored(source) or learned_beside_ids(source) or figures_before_cut(source)
    if figures is not None and not _numbers_words(source, figures):
        return at(source, figures, "these figures are of all samples, those held out among them")
    if (late := learned_after_split(source, _learns) or learned_from_whole(source)) is not None:
        return late
    for call in source.named("fit", "fit_transform", "adapt", "partial_fit"):
        owner = receiver(call)
        if owner is None or not call.args or not _learns(_made_by(source, owner)):
            continue
        seen = seen or call
        same = unparse(call.args[0]) in wholes and _cut_below(source, call)
        if same or (part(source, call.args[0]).whole in wholes and not part(source, call.args[0]).picked):
            if side(unparse(call.args[0])) is None:
                return at(source, call, "this is learned from all samples, those held out among them")
    if (own := figures_of_whole(source, wholes)) is not None:
        return at(source, own, "these figures are of all samples, those held out among them")
    return ok(source, seen, "transforms are fitted on one split") if seen is not None else None


def _cut_below(source: Script, call: ast.Call) -> bool:
    """`x = scaler.fit_transform(x)`: what is transformed is put in its own place, and taken apart below."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or not call.args:
        return False
    name = unparse(call.args[0])
    splits = [c for c in source.named("train_test_split", "random_split") if c.lineno > call.lineno]
    return unparse(statement.targets[0]) == name and any(name == unparse(a) for c in splits for a in c.args)


def _made_by(source: Script, owner: ast.expr) -> str:
    """The names that tell what an object is: its own and its class's."""
    found = flow(source).values(owner, 3)
    return " ".join([unparse(owner), *(last_name(v.func) for v in found if isinstance(v, ast.Call))])


def _split_up(source: Script) -> set[str]:
    """Data that are taken apart into training and held-out data."""
    found: set[str] = set()
    for node in source.of(ast.Assign):
        if isinstance(node.targets[0], ast.Tuple):
            sides = {side(unparse(t)) for t in node.targets[0].elts}
            value = node.value
            if isinstance(value, ast.Call) and {True, False} <= sides and "fit" not in last_name(value.func):
                found |= {unparse(a) for a in value.args if isinstance(a, (ast.Name, ast.Attribute))}
    picked: dict[bool, set[str]] = {True: set(), False: set()}
    for one in given(source):
        of = part(source, one.value)
        if of.picked:
            picked[one.learns].add(of.whole)
    return found | (picked[True] & picked[False])


@probe()
@unframed
def selected_on_test(view: View) -> Finding:
    """The best model is chosen, or training stopped, by the data that the final score is reported on."""
    return first(
        view,
        either(
            _on_test,
            chosen_by_test,
            test_chooses,
            test_figure_chooses,
            part_never_read,
            chosen_by_scored,
            tuned_on_test,
        ),
        "the scripts choose no model",
    )


def _on_test(source: Script) -> Finding | None:
    trainers = [c for c in source.calls if keyword(c, "eval_dataset") is not None]
    chooses = any(
        is_true(k.value) for c in source.calls for k in c.keywords if k.arg == "load_best_model_at_end"
    ) or bool(source.named("EarlyStoppingCallback", "EarlyStopping"))
    fits = [c for c in source.named("fit") if keyword(c, "validation_data") is not None]
    if not chooses or not (trainers or fits):
        return None
    for call in [*trainers, *fits]:
        value = keyword(call, "eval_dataset") or keyword(call, "validation_data")
        if value is None:
            continue
        text = unparse(value)
        final = [
            c
            for c in source.named("evaluate", "predict", "score")
            if c.lineno > call.lineno and any(unparse(a) in text for a in c.args)
        ]
        if "test" in words(text) and final and _has_another(source):
            return at(source, call, f"`{text}` chooses the model and gives the final score")
    return ok(source, (trainers or fits)[0], "other data give the final score than choose the model")


def _has_another(source: Script) -> bool:
    """There is held-out data beside the test set."""
    names = {n.value for n in source.of(ast.Constant) if isinstance(n.value, str)}
    return bool(names & {"dev", "val", "valid", "validation"}) or any(
        not g.learns and set(words(g.name)) & {"dev", "val", "valid"} for g in given(source)
    )


@probe()
@unframed
def all_columns_are_inputs(view: View) -> Finding:
    """All numeric columns of a table become inputs, or a list of columns, and the target is one of them."""
    return first(
        view,
        either(all_columns, target_among_inputs, inputs_look_ahead),
        "the scripts take no inputs by the type or the names of their columns",
    )
