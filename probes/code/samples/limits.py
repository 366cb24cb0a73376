"""How many samples training reads, in scripts."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.syntax import Script
from ..evaluation.watched import stops_while_improving
from ..shared.checks import at, first, ok
from ..shared.sides import either, given, literal, setting, side
from .few import few_batches, few_by_setting, few_in_a_call, meant, rest_is_taken, small
from .few_drawn import few_at_random, few_drawn, read_short, returned_in_first_round
from .one_batch import begun_again, one_batch_kept
from .shares import few_of_all

_JOINS = ("concat", "concatenate", "append", "cat", "vstack", "ConcatDataset", "extend")


@probe()
@unframed
def training_data_cut(view: View, *, few: int, batches: int) -> Finding:
    """Training reads a fixed, small number of samples, as one does to try a script out.

    At most `few` samples, or `batches` batches in each round.
    """
    check = either(
        lambda s: _cut(s, few),
        lambda s: few_in_a_call(s, few),
        lambda s: few_batches(s, batches),
        lambda s: few_by_setting(s, batches),
        few_of_all,
        *(few_drawn, returned_in_first_round),
        lambda s: read_short(s, few),
        one_batch_kept,
        begun_again,
        lambda s: few_at_random(s, few),
        shows("mostly-unread"),
    )
    return first(view, check, "the scripts do not limit the training data")


def _cut(source: Script, few: int) -> Finding | None:
    seen: ast.AST | None = None
    for call in source.calls:
        name = last_name(call.func)
        if name in ("read_csv", "read_table", "read_json", "read_parquet", "read_excel"):
            rows = keyword(call, "nrows")
            if rows is None:
                continue
            seen = seen or call
            if small(literal(source, rows), few) and not meant(source, call) and not _eval(source, call):
                return at(source, call, f"only {literal(source, rows)} rows are read")
        elif name in ("select", "take", "head", "sample", "Subset") and isinstance(
            call.func, (ast.Attribute, ast.Name)
        ):
            args = call.args
            count = args[1] if name == "Subset" and len(args) > 1 else args[0] if args else keyword(call, "n")
            if isinstance(count, ast.Call) and last_name(count.func) == "range" and len(count.args) == 1:
                count = count.args[0]
            elif name in ("select", "Subset"):
                continue
            if any(isinstance(p, ast.Call) and last_name(p.func) in _JOINS for p in source.above(call)):
                continue  # a few rows of another table are put to it
            statement = next((p for p in source.above(call) if isinstance(p, ast.Assign)), None)
            target = unparse(statement.targets[0]) if statement is not None else ""
            if count is None or not (side(target) is True or (statement and _just_read(call))):
                continue
            if name == "take" and any(last_name(c.func) in _IN_BATCHES for c in of(call.func, ast.Call)):
                continue  # so many batches
            if name == "sample" and source.owner(call) != target and not _just_read(call):
                continue  # a batch, or what is looked at
            seen = seen or call
            number = literal(source, count)
            if isinstance(count, ast.Attribute) and number is None:
                number = setting(source, count)
            if small(number, few) and not meant(source, call) and not rest_is_taken(source, number):
                return at(source, call, f"training keeps only {number} samples")
    for one in given(source):
        value = one.value
        if one.learns and isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
            upper = value.slice.upper
            if value.slice.lower is None and upper is not None and value.slice.step is None:
                seen = seen or value
                same = unparse(value.value).removesuffix(".iloc").split(".")[-1] == one.name
                if _held_out_cut_alike(source, upper):
                    continue
                if same and small(literal(source, upper), few) and not meant(source, value):
                    return at(source, value, f"training keeps only {literal(source, upper)} samples")
    return ok(source, seen, "training keeps what it reads") if seen is not None else None


_IN_BATCHES = ("batch", "padded_batch", "image_dataset_from_directory", "text_dataset_from_directory")


def _just_read(call: ast.Call) -> bool:
    """`pd.read_csv(path).sort_values("time").head(300)`: all that is read is cut before it has a name."""
    node: ast.expr = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if last_name(node.func) in ("read_csv", "read_table", "read_json", "read_parquet", "read_excel"):
            return node is not call
        node = node.func.value
    return False


def _held_out_cut_alike(source: Script, upper: ast.expr) -> bool:
    """A number with a name cuts both sides, for a small example: `x_train[:SIZE]` and `x_test[:SIZE]`."""
    return isinstance(upper, ast.Name) and any(
        one.learns is False
        and isinstance(one.value, ast.Subscript)
        and isinstance(one.value.slice, ast.Slice)
        and one.value.slice.upper is not None
        and unparse(one.value.slice.upper) == upper.id
        for one in given(source)
    )


def _eval(source: Script, node: ast.AST) -> bool:
    statement = next((p for p in source.above(node) if isinstance(p, ast.Assign)), None)
    return statement is not None and side(unparse(statement.targets[0])) is False


@probe()
def epochs_capped(view: View, *, few: int) -> Finding:
    """The loop over epochs ends after a written-out small number whatever the settings say.

    `range(min(args.epochs, 2))`, `while epoch <= min(self.max_epoch, 2)`, `if epoch == 1: break` without a
    switch for trying out.
    """
    checks = either(lambda s: _capped(s, few), _of_keras_1, _stops_at_once, stops_while_improving)
    return first(view, checks, "the scripts hold no loop over epochs")


_KERAS_2 = ("kernel_initializer", "kernel_regularizer", "units", "padding", "kernel_size", "epochs")


def _of_keras_1(source: Script) -> Finding | None:
    """`KerasClassifier(build_fn=f, nb_epoch=200)` in a program of Keras 2: it is let pass, and 1 is trained.

    Keras 2 takes `epochs` (https://stackoverflow.com/questions/59278771); that it is no program of Keras 1 is
    seen from other arguments that Keras 1 had under other names.
    """
    if not any(k.arg in _KERAS_2 for c in source.calls for k in c.keywords):
        return None
    for call in source.named("KerasClassifier", "KerasRegressor"):
        given = {k.arg for k in call.keywords}
        if "nb_epoch" in given and "epochs" not in given and None not in given:
            return at(
                source,
                call,
                "`nb_epoch` is the name of Keras 1: `epochs` is not given, and one is trained",
            )
    return None


def _stops_at_once(source: Script) -> Finding | None:
    """`EarlyStopping(patience=0)`: the first epoch that is no better ends the training.

    Keras stops at `wait >= patience`, Transformers at a count that starts at 0 and is compared alike.
    """
    for call in source.named("EarlyStopping", "EarlyStoppingCallback"):
        said = keyword(call, "patience") or keyword(call, "early_stopping_patience")
        if said is not None and literal(source, said) == 0 and not isinstance(literal(source, said), bool):
            return at(source, call, "training ends with the first epoch that is no better than the best one")
    return None


_EPOCHS = re.compile(r"(?i)epoch")


def _capped(source: Script, few: int) -> Finding | None:
    seen: ast.AST | None = None
    for loop in source.of(ast.For, ast.While):
        bound = loop.test if isinstance(loop, ast.While) else loop.iter
        told = unparse(bound) + (unparse(loop.target) if isinstance(loop, ast.For) else "")
        if not _EPOCHS.search(told):
            continue
        seen = seen or loop
        for call in of(bound, ast.Call):
            if last_name(call.func) == "min" and len(call.args) == 2:
                number = next((a.value for a in call.args if isinstance(a, ast.Constant)), None)
                if small(number, few) and _EPOCHS.search(unparse(call)) and not meant(source, loop):
                    return at(
                        source, loop, f"training ends after {number!r} epochs whatever the settings say"
                    )
    return ok(source, seen, "the settings say how many epochs there are") if seen is not None else None
