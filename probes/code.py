"""Probes that read training scripts. Each finding names file and line and quotes the code.

A reading is absent only where the script holds the construct that the fault would stand in. The documented
false positives stand in each docstring.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterator

from ..engine.model import Place, State
from .readers.script import keyword, last_name
from .registry import Finding, View, absent, present, probe, unknown
from .run import Run
from .syntax import Script, outermost_call, script

_MISSING = "no training script in the run directory"
_CLEARS = ("zero_grad", "clear_grad", "clear_gradients", "zero_grads")
_SOFT = ("softmax", "Softmax", "sigmoid", "Sigmoid", "softmax_", "LogSigmoid")
_ON_LOGITS = ("crossentropyloss", "cross_entropy", "bcewithlogitsloss", "binary_cross_entropy_with_logits")
_SUPPLEMENT = ("softmaxcrossentropywithlogits",)

Check = Callable[[Script], Finding | None]


def scripts(run: Run) -> list[Script]:
    """The parsed scripts of a run; those that do not parse are left out (the reader has said so)."""
    found = []
    for path, text in sorted(run.scripts.items()):
        try:
            found.append(script(path, text))
        except ValueError:
            continue
    return found


def first(view: View, check: Check, nothing: str) -> Finding:
    """Present in any script wins, then absent in any, else unknown with the reason."""
    if not view.run.scripts:
        return unknown(_MISSING)
    found = [f for f in (check(s) for s in scripts(view.run)) if f is not None]
    for state in (State.PRESENT, State.ABSENT):
        for finding in found:
            if finding.state is state:
                return finding
    return unknown(nothing)


def at(source: Script, node: ast.AST, why: str) -> Finding:
    """A finding with its place and the code it is about."""
    line = getattr(node, "lineno", None)
    return present(
        f"{why}: `{source.line(node)[:120]}`",
        value=source.line(node)[:120],
        where=(Place(source.path, line),),
    )


def ok(source: Script, node: ast.AST | None, why: str) -> Finding:
    """The construct is there and right."""
    return absent(why, where=(Place(source.path, getattr(node, "lineno", None)),))


# ------------------------------------------------------------------------------------------ training step


@probe()
def gradients_not_cleared(view: View) -> Finding:
    """Backward and step in a loop, and nothing that clears gradients (or only outside that loop).

    False positive: gradients cleared by a helper of another file.
    """
    return first(view, _not_cleared, "no hand-written training step in the scripts")


def _not_cleared(source: Script) -> Finding | None:
    if not source.trains_by_hand or source.train_scope is None:
        return None
    clears = list(source.named(*_CLEARS))
    clears_by_hand = [
        n
        for n in ast.walk(source.tree)
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Attribute) and t.attr == "grad" for t in n.targets)
        and isinstance(n.value, ast.Constant)
        and n.value.value is None
    ]
    if not clears and not clears_by_hand:
        if _imports_locals(source):
            return None
        return at(source, source.backwards[0], "gradients pile up: no call clears them")
    if source.train_loop is None or clears_by_hand:
        return ok(source, (clears or clears_by_hand)[0], "gradients are cleared")
    loop = source.train_loop
    inside = [c for c in clears if loop in source.loops_around(c)]
    steps_inside = [s for s in source.steps if loop in source.loops_around(s)]
    in_helpers = [c for c in clears if source.function_around(c) is not source.function_around(loop)]
    if not inside and steps_inside and not in_helpers:
        return at(
            source, clears[0], "gradients are cleared outside the loop that steps, so they pile up inside it"
        )
    return ok(source, clears[0], "gradients are cleared in the training step")


def _imports_locals(source: Script) -> bool:
    """Helpers of this project's other files may do what is missing here."""
    return any(isinstance(n, ast.ImportFrom) and n.level > 0 for n in ast.walk(source.tree))


@probe()
def cleared_before_step(view: View) -> Finding:
    """zero_grad stands after backward and before step in one block of statements."""
    return first(view, _cleared_early, "no hand-written training step in the scripts")


def _cleared_early(source: Script) -> Finding | None:
    if not source.trains_by_hand or not source.named(*_CLEARS):
        return None
    for backward in source.backwards:
        scope = source.function_around(backward) or source.tree
        block = [c for c in ast.walk(scope) if isinstance(c, ast.Call)]
        steps = [c for c in block if c in source.steps and _position(c) > _position(backward)]
        clears = [c for c in block if last_name(c.func) in _CLEARS and _position(c) > _position(backward)]
        same = [c for c in clears if source.loops_around(c) == source.loops_around(backward)]
        if steps and same and min(map(_position, same)) < min(map(_position, steps)) and not _several(source):
            return at(source, same[0], "gradients are cleared between backward and the optimizer step")
    return ok(source, source.backwards[0], "gradients are not cleared between backward and step")


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _several(source: Script) -> bool:
    """Several backward calls (GAN) interleave on purpose."""
    return len(source.backwards) > 1


@probe()
def step_missing(view: View) -> Finding:
    """Backward in a loop and no optimizer step anywhere.

    False positive: weights updated by hand (`p -= lr * p.grad`), which is looked for.
    """
    return first(view, _step_missing, "no hand-written training step in the scripts")


def _step_missing(source: Script) -> Finding | None:
    if not source.backwards or source.train_loop is None:
        return None
    if source.steps:
        return ok(source, source.steps[0], "the optimizer steps")
    by_hand = ".grad" in source.text and (
        "-=" in source.text or ".sub_(" in source.text or ".add_(" in source.text
    )
    if by_hand or not source.optimizers or source.named("step") or _imports_locals(source):
        return None
    return at(source, source.backwards[0], "an optimizer is built and never steps")


# ------------------------------------------------------------------------------------------------- loss


@probe()
def double_softmax(view: View) -> Finding:
    """The loss applies softmax or sigmoid itself, and its input has been through one already.

    False positive: none known for softmax; a bounded output trained with cross-entropy on purpose.
    """
    return first(view, _double_softmax, "no loss on logits in the scripts")


def _double_softmax(source: Script) -> Finding | None:
    calls = [(c, k) for c, k in source.losses if k in _ON_LOGITS + _SUPPLEMENT]
    if not calls:
        return _keras_double(source)
    for call, kind in calls:
        value = source.loss_input(call)
        if value is not None and outermost_call(value) in _SOFT:
            return at(
                source, value, f"{kind} applies its own softmax or sigmoid, and its input has one already"
            )
    for model in source.models:
        found = _model_ends_soft(source, model)
        if found is not None:
            return at(
                source, found, f"the model ends in softmax or sigmoid and {calls[0][1]} applies its own"
            )
    if not source.models:
        found = _sequential_ends_soft(source)
        if found is not None:
            return at(
                source, found, f"the model ends in softmax or sigmoid and {calls[0][1]} applies its own"
            )
    return ok(source, calls[0][0], f"what reaches {calls[0][1]} is not a softmax output")


def _model_ends_soft(source: Script, model: ast.ClassDef) -> ast.expr | None:
    for function in [f for f in source.forwards if f in model.body]:
        for output in source.output_of(function):
            if outermost_call(output) in _SOFT:
                return output
            if isinstance(output, ast.Call) and ast.unparse(output.func).startswith("self."):
                built = (
                    source.attribute(model, output.func.attr)
                    if isinstance(output.func, ast.Attribute)
                    else None
                )
                found = _ends_soft(built)
                if found is not None:
                    return found
    return None


def _ends_soft(built: ast.expr | None) -> ast.expr | None:
    if isinstance(built, ast.Call):
        if last_name(built.func) in _SOFT:
            return built
        if last_name(built.func) in ("Sequential", "SequentialCell") and built.args:
            last = built.args[-1]
            if isinstance(last, (ast.List, ast.Tuple)) and last.elts:
                last = last.elts[-1]
            return _ends_soft(last)
    return None


def _sequential_ends_soft(source: Script) -> ast.expr | None:
    for call in source.named("Sequential", "SequentialCell"):
        found = _ends_soft(call)
        if found is not None:
            return found
    return None


def _keras_double(source: Script) -> Finding | None:
    flags = [c for c in source.calls if _is_true(keyword(c, "from_logits"))]
    if not flags:
        return None
    for call in source.named("Dense"):
        activation = keyword(call, "activation")
        if isinstance(activation, ast.Constant) and activation.value in ("softmax", "sigmoid"):
            if call is source.named("Dense")[-1]:
                return at(
                    source, call, "the last layer applies an activation and the loss says from_logits=True"
                )
    return ok(source, flags[0], "the last layer gives logits, as the loss expects")


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


@probe()
def activation_missing(view: View) -> Finding:
    """NLLLoss without log-softmax, BCELoss without sigmoid anywhere in the script."""
    return first(view, _activation_missing, "no loss on probabilities in the scripts")


def _activation_missing(source: Script) -> Finding | None:
    wanted = {
        "nllloss": ("log_softmax", "LogSoftmax", "logsoftmax"),
        "nll_loss": ("log_softmax", "LogSoftmax", "logsoftmax"),
        "bceloss": ("sigmoid", "Sigmoid", "softmax", "Softmax"),
        "binary_cross_entropy": ("sigmoid", "Sigmoid", "softmax", "Softmax"),
    }
    for call, kind in source.losses:
        if kind in wanted:
            if (
                not source.named(*wanted[kind])
                and "activation=" not in source.text
                and not _imports_locals(source)
            ):
                return at(source, call, f"{kind} expects {wanted[kind][0]} outputs, and nothing applies it")
            return ok(source, call, f"{kind} receives {wanted[kind][0]} outputs")
    return None


@probe()
def loss_negated(view: View) -> Finding:
    """A standard loss enters backward with its sign turned. False positive: adversarial terms (skipped)."""
    return first(view, _loss_negated, "no standard loss in the scripts")


def _loss_negated(source: Script) -> Finding | None:
    if not source.losses or not source.backwards:
        return None
    if len(source.backwards) > 1:
        return None
    kinds = {c for c, _ in source.losses}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = node.operand
            if inner in kinds or (isinstance(inner, ast.Name) and inner.id == _loss_name(source)):
                if _reaches_backward(source, node):
                    return at(source, node, "the sign of the loss is turned, so training maximises it")
    return ok(source, source.backwards[0], "the loss is minimised")


def _loss_name(source: Script) -> str:
    owner = source.owner(source.backwards[0])
    return owner.split(".")[0].split("(")[0] if owner else ""


def _reaches_backward(source: Script, node: ast.AST) -> bool:
    for parent in source.above(node):
        if isinstance(parent, ast.Call) and parent in source.backwards:
            return True
        if isinstance(parent, ast.Assign):
            targets = {ast.unparse(t) for t in parent.targets}
            return any(source.owner(b) in targets for b in source.backwards)
    return False


@probe()
def regression_loss_on_classes(view: View) -> Finding:
    """Mean squared (or absolute) error on one-hot labels or on labels that accuracy is computed with."""
    return first(view, _regression_on_classes, "no loss in the scripts")


def _regression_on_classes(source: Script) -> Finding | None:
    if not source.losses:
        return None
    kinds = ("mseloss", "mse_loss", "l1loss", "l1_loss", "smoothl1loss", "huberloss", "smooth_l1_loss")
    found = [c for c, k in source.losses if k in kinds]
    if not found:
        return ok(source, source.losses[0][0], "the loss is made for classes")
    classes = bool(source.named("one_hot", "argmax", "to_categorical")) and "acc" in source.text.lower()
    if classes and len(found) == len(source.losses):
        return at(source, found[0], "a regression loss is used although accuracy over classes is computed")
    return None


@probe()
def loss_summed(view: View) -> Finding:
    """`reduction="sum"`, and nothing divides afterwards."""
    return first(view, _loss_summed, "no loss in the scripts")


def _loss_summed(source: Script) -> Finding | None:
    if not source.losses:
        return None
    for call in source.calls:
        reduction = keyword(call, "reduction")
        if (
            isinstance(reduction, ast.Constant)
            and reduction.value == "sum"
            and last_name(call.func).lower() != "kldivloss"
        ):
            if not _is_evaluation(source, call) and not _divided(source, call):
                return at(source, call, "the loss is summed over the batch")
    return ok(source, source.losses[0][0], "the loss is a mean")


def _divided(source: Script, node: ast.AST) -> bool:
    for parent in source.above(node):
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div):
            return True
        if (
            isinstance(parent, ast.Assign)
            and "/" in source.text.split(ast.unparse(parent.targets[0]), 2)[-1][:2000]
        ):
            return " / " in source.text
    return False


def _is_evaluation(source: Script, node: ast.AST) -> bool:
    return any(w in source.function_name(node).lower() for w in ("eval", "valid", "test", "val"))


# ------------------------------------------------------------------------------------------------- modes


@probe()
def eval_mode_while_training(view: View) -> Finding:
    """`.eval()` is called in or before the epoch loop and `.train()` never brings the model back.

    False positive: a frozen teacher or feature extractor that is put into eval mode on purpose.
    """
    return first(view, _eval_while_training, "the scripts never switch the model's mode")


def _eval_while_training(source: Script) -> Finding | None:
    evals = [c for c in source.named("eval") if isinstance(c.func, ast.Attribute) and not c.args]
    evals = [
        c
        for c in evals
        if not any(w in source.owner(c).lower() for w in ("teacher", "ema", "vgg", "ref", "target"))
    ]
    trains = [c for c in source.named("train") if isinstance(c.func, ast.Attribute)]
    trains += [c for c in source.named("set_train") if not _is_false(c)]
    if not source.trains_by_hand or not evals:
        return None
    if any(c.args and _is_false_node(c.args[0]) for c in source.named("train")) and not [
        c for c in trains if not c.args
    ]:
        return at(source, source.named("train")[0], "train(False) puts the model into evaluation mode")
    epoch_loop = _epoch_loop(source)
    if epoch_loop is None:
        return None
    if trains and any(_runs_in(source, c, epoch_loop) for c in trains):
        return ok(source, trains[0], "the model is put back into training mode in each epoch")
    reached = [c for c in evals if _runs_in(source, c, epoch_loop) or _before(source, c, epoch_loop)]
    if reached:
        return at(
            source, reached[0], "the model is put into evaluation mode and never back before training goes on"
        )
    return None


def _is_false(call: ast.Call) -> bool:
    return bool(call.args) and _is_false_node(call.args[0])


def _is_false_node(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _epoch_loop(source: Script) -> ast.For | ast.While | None:
    """The outermost loop that training runs in, also when the step stands in a helper."""
    for backward in source.backwards:
        loops = source.loops_around(backward)
        function = source.function_around(backward)
        if function is not None:
            for call in source.named(function.name):
                outer = source.loops_around(call)
                if outer:
                    return outer[-1]
        if loops:
            return loops[-1]
    return None


def _runs_in(source: Script, node: ast.AST, loop: ast.AST) -> bool:
    """The node stands in the loop, or in a function that is called in it."""
    if loop in source.above(node):
        return True
    function = source.function_around(node)
    return function is not None and any(loop in source.above(c) for c in source.named(function.name))


def _before(source: Script, node: ast.AST, loop: ast.AST) -> bool:
    same = source.function_around(node) is source.function_around(loop)
    return same and getattr(node, "lineno", 0) < getattr(loop, "lineno", 0)


@probe()
def train_mode_while_evaluating(view: View) -> Finding:
    """The model holds dropout or batch norm, the script evaluates, and `.eval()` is never called."""
    return first(view, _train_while_evaluating, "the scripts hold no evaluation of a model with modes")


def _train_while_evaluating(source: Script) -> Finding | None:
    modal = [
        c for c in source.calls if last_name(c.func).startswith(("Dropout", "BatchNorm", "SyncBatchNorm"))
    ]
    evaluates = list(source.named("no_grad", "inference_mode"))
    if not source.trains_by_hand or not modal or not evaluates:
        return None
    if source.named("eval") or "train(False)" in source.text:
        return ok(
            source,
            source.named("eval")[0] if source.named("eval") else None,
            "the model is put into evaluation mode",
        )
    if _imports_locals(source):
        return None
    return at(
        source,
        evaluates[0],
        "evaluation runs with dropout and batch norm in training mode: eval() is never called",
    )


# ------------------------------------------------------------------------------------------------- data


@probe()
def no_shuffling(view: View) -> Finding:
    """A loop over slices of the data, and no word of shuffling, permutation or sampling in the script."""
    return first(view, _no_shuffling, "the scripts do not show how batches are drawn")


def _no_shuffling(source: Script) -> Finding | None:
    words = (
        "shuffle",
        "randperm",
        "permutation",
        "randint",
        "sampler",
        "random_split",
        "choice",
        "iterabledataset",
    )
    lower = source.text.lower()
    if not source.trains_by_hand or source.named("DataLoader"):
        return None
    if any(w in lower for w in words):
        return ok(source, None, "the script draws batches at random")
    loop = source.train_loop
    if loop is None or _imports_locals(source):
        return None
    sliced = (
        isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range"
    )
    sliced = (
        sliced and isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 3
    )
    return at(source, loop, "batches are taken in file order and nothing shuffles them") if sliced else None


@probe()
def labels_permuted_alone(view: View) -> Finding:
    """`y = y[randperm]` where no other array is indexed by the same permutation."""
    return first(view, _labels_alone, "the scripts do not reorder labels")


def _labels_alone(source: Script) -> Finding | None:
    reordered = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            target = ast.unparse(node.targets[0]).lower()
            if any(w == target or w in target for w in ("label", "target")) or target in (
                "y",
                "y_train",
                "ys",
            ):
                reordered.append((node, ast.unparse(node.value.slice)))
    for node, index in reordered:
        if "randperm" in index or "permutation" in index:
            return at(source, node, "labels are reordered without their inputs")
    return None


@probe()
def evaluates_training_data(view: View) -> Finding:
    """A loader with an evaluation name is built over the training data."""
    return first(view, _evaluates_training, "the scripts show no evaluation loader")


def _evaluates_training(source: Script) -> Finding | None:
    seen = None
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        target = ast.unparse(node.targets[0]).lower()
        if last_name(node.value.func) != "DataLoader" or not node.value.args:
            continue
        if any(w in target for w in ("val", "test", "eval")) and "train" not in target:
            seen = node
            data = ast.unparse(node.value.args[0]).lower()
            if "train" in data and not any(w in data for w in ("val", "test", "eval")):
                return at(source, node, "the evaluation loader reads the training data")
    return ok(source, seen, "the evaluation loader reads its own data") if seen is not None else None


@probe()
def normalises_one_split(view: View) -> Finding:
    """Normalisation stands in the pipeline of one split and not of the other."""
    return first(view, _one_split, "the scripts show no pair of pipelines")


def _one_split(source: Script) -> Finding | None:
    pipelines: dict[str, ast.Assign] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if last_name(node.value.func) == "Compose":
                pipelines[ast.unparse(node.targets[0]).lower()] = node
    train = [n for t, n in pipelines.items() if "train" in t]
    other = [n for t, n in pipelines.items() if any(w in t for w in ("val", "test", "eval"))]
    if not train or not other:
        return None
    has = ["Normalize" in ast.unparse(n.value) for n in (train[0], other[0])]
    if has[0] != has[1]:
        return at(
            source,
            other[0] if has[0] else train[0],
            "this pipeline does not normalise and the other one does",
        )
    return ok(source, train[0], "both pipelines treat normalisation alike") if has[0] else None


# ------------------------------------------------------------------------------------------------ weights


@probe()
def freezes_parameters(view: View) -> Finding:
    """`requires_grad = False` on parameters. Normal in fine-tuning, GANs and teachers."""
    return first(view, _freezes, "the scripts show no training step")


def _freezes(source: Script) -> Finding | None:
    if not source.backwards:
        return None
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and node.value.value is False
        ):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                    return at(source, node, "gradients are switched off for parameters")
    for call in source.named("requires_grad_"):
        if _is_false(call):
            return at(source, call, "gradients are switched off for parameters")
    return ok(source, source.backwards[0], "no parameter's gradient is switched off")


@probe()
def optimizer_gets_part(view: View) -> Finding:
    """The optimizer receives the parameters of a part: `model.head.parameters()`, a slice of the list."""
    return first(view, _optimizer_part, "the scripts build no optimizer")


def _optimizer_part(source: Script) -> Finding | None:
    from .readers.script import OPTIMIZERS

    built = [c for c in source.calls if last_name(c.func).lower() in OPTIMIZERS and c.args]
    if len(built) != 1:
        return None
    (call,) = built
    given = call.args[0]
    text = ast.unparse(given)
    if isinstance(given, ast.Call) and last_name(given.func) in ("parameters", "trainable_params"):
        owner = ast.unparse(given.func.value) if isinstance(given.func, ast.Attribute) else ""
        owner = owner.removeprefix("self.").removesuffix(".module")
        if "." in owner:
            return at(source, call, f"the optimizer receives only the parameters of {owner}")
        return ok(source, call, "the optimizer receives all parameters")
    if isinstance(given, ast.Subscript) and "parameters()" in text:
        return at(source, call, "the optimizer receives a slice of the parameters")
    return None


@probe()
def layer_replaced_after_optimizer(view: View) -> Finding:
    """`model.fc = Linear(...)` after the optimizer was built over `model.parameters()`."""
    return first(view, _replaced_after, "the scripts build no optimizer")


def _replaced_after(source: Script) -> Finding | None:
    from .readers.script import OPTIMIZERS

    built = [c for c in source.calls if last_name(c.func).lower() in OPTIMIZERS and c.args]
    if not built:
        return None
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
            continue
        owner = ast.unparse(node.targets[0].value)
        for call in built:
            taken = ast.unparse(call.args[0]).startswith(f"{owner}.parameters")
            same = source.function_around(node) is source.function_around(call)
            layer = isinstance(node.value, ast.Call) and last_name(node.value.func)[:1].isupper()
            if taken and same and layer and node.lineno > call.lineno and owner != "self":
                return at(
                    source, node, f"this layer replaces one that the optimizer of line {call.lineno} holds"
                )
    return ok(source, built[0], "no layer is replaced after the optimizer was built")


@probe()
def gradient_path_cut(view: View) -> Finding:
    """detach, no_grad, .data, numpy or item inside a forward method or on the loss's input.

    False positive: straight-through estimators, targets, momentum encoders (names with target/ema/teacher).
    """
    return first(view, _path_cut, "the scripts hold no model or loss")


def _path_cut(source: Script) -> Finding | None:
    if not source.forwards and not source.losses:
        return None
    for function in source.forwards:
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and last_name(node.func) in ("detach", "stop_gradient"):
                if not _on_purpose(source.line(node)):
                    return at(source, node, "the gradient path is cut inside the model")
            if isinstance(node, ast.With) and "no_grad" in ast.unparse(node.items[0].context_expr):
                return at(source, node, "part of the forward pass runs without gradients")
    for call, _ in source.losses:
        value = source.loss_input(call)
        if value is not None and not _is_evaluation(source, call) and _is_cut(value):
            return at(source, value, "the loss is computed on a value cut off from the model")
    node = source.forwards[0] if source.forwards else source.losses[0][0]
    return ok(source, node, "nothing cuts the gradient path")


def _is_cut(value: ast.expr) -> bool:
    outer = outermost_call(value)
    return outer in ("detach", "numpy", "item") or (isinstance(value, ast.Attribute) and value.attr == "data")


def _on_purpose(line: str) -> bool:
    """`x + (q - x).detach()` passes the gradient straight through; targets are meant to be constants."""
    straight_through = re.search(r"\(\s*[^()]+ - [^()]+\)\s*\.detach\(\)", line)
    return bool(straight_through) or any(
        w in line.lower() for w in ("target", "teacher", "ema", "mask", "weight")
    )


@probe()
def zero_init(view: View) -> Finding:
    """Weights set to zero or one constant. Normal for biases, norm layers, LoRA's B and last layers."""
    return first(view, _zero_init, "the scripts do not initialise weights themselves")


def _zero_init(source: Script) -> Finding | None:
    seen = None
    for call in source.named("zeros_", "constant_", "zero_", "fill_", "ones_"):
        target = ast.unparse(call.args[0]) if call.args else source.owner(call)
        if last_name(call.func) in ("zero_", "fill_"):
            target = source.owner(call)
        seen = call
        if "weight" not in target and target not in ("p", "p.data", "param", "param.data", "parameter"):
            continue
        around = " ".join(source.line(p) for p in source.above(call) if isinstance(p, (ast.If, ast.For)))
        line = source.line(call).lower() + around.lower()
        if "grad" in target or any(
            w in line for w in ("norm", "bias", "lora", "bn", "residual", "proj", "pad", "dim() == 1")
        ):
            continue
        return at(source, call, "weights start at zero or one constant, so units stay alike")
    for call in source.named(
        "normal_", "xavier_uniform_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "trunc_normal_"
    ):
        seen = seen or call
    return ok(source, seen, "weights are initialised at random") if seen is not None else None


@probe()
def weights_shared(view: View) -> Finding:
    """`a.weight = b.weight`. Normal for embedding and output layer of a language model."""
    return first(view, _shared, "the scripts hold no model")


def _shared(source: Script) -> Finding | None:
    if not source.forwards:
        return None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            target, value = node.targets[0], node.value
            if target.attr == "weight" and isinstance(value, ast.Attribute) and value.attr == "weight":
                return at(source, node, "two layers share one weight")
    return ok(source, source.forwards[0], "no weight is shared by assignment")


@probe()
def batch_norm_momentum(view: View) -> Finding:
    """Momentum above one half or zero (PyTorch: weight of the new batch), or no running statistics."""
    return first(view, _bn_momentum, "the scripts hold no batch norm")


def _bn_momentum(source: Script) -> Finding | None:
    calls = [c for c in source.calls if last_name(c.func).startswith("BatchNorm")]
    if not calls or "torch" not in source.text:
        return None
    for call in calls:
        momentum = keyword(call, "momentum")
        if isinstance(momentum, ast.Constant) and isinstance(momentum.value, (int, float)):
            if momentum.value > 0.5 or momentum.value == 0:
                return at(source, call, "PyTorch's momentum is the weight of the new batch")
    return ok(source, calls[0], "batch-norm momentum is in its usual range")


# ---------------------------------------------------------------------------------------------- precision


@probe()
def clip_before_unscale(view: View) -> Finding:
    """A scaler scales the loss and gradients are clipped without, or before, `unscale_`."""
    return first(view, _clip_before, "the scripts do not clip scaled gradients")


def _clip_before(source: Script) -> Finding | None:
    clips = source.named("clip_grad_norm_", "clip_grad_value_")
    scaled = [c for c in source.named("scale") if "scaler" in source.owner(c).lower()]
    if not clips or not scaled:
        return None
    unscales = source.named("unscale_")
    if not unscales or min(c.lineno for c in unscales) > min(c.lineno for c in clips):
        return at(source, clips[0], "gradients are clipped while they are still multiplied by the loss scale")
    return ok(source, clips[0], "gradients are unscaled before they are clipped")


@probe()
def scaler_not_updated(view: View) -> Finding:
    """`scaler.step` without `scaler.update`."""
    return first(view, _no_update, "the scripts use no gradient scaler")


def _no_update(source: Script) -> Finding | None:
    steps = [c for c in source.named("step") if "scaler" in source.owner(c).lower()]
    if not steps:
        return None
    updates = [c for c in source.named("update") if "scaler" in source.owner(c).lower()]
    if not updates:
        return at(source, steps[0], "the scaler steps and is never updated, so its scale never changes")
    return ok(source, updates[0], "the scaler is updated")


@probe()
def half_without_scaler(view: View) -> Finding:
    """`.half()` or fp16 autocast while training, and no scaler in the script."""
    return first(view, _half_unscaled, "the scripts use no half precision")


def _half_unscaled(source: Script) -> Finding | None:
    half = [
        c
        for c in source.named("half")
        if isinstance(c.func, ast.Attribute) and "model" in source.owner(c).lower()
    ]
    half += [
        c
        for c in source.named("autocast")
        if "float16" in ast.unparse(c) and "bfloat16" not in ast.unparse(c)
    ]
    half += [
        c
        for c in source.named("to")
        if "torch.float16" in ast.unparse(c) and "model" in source.owner(c).lower()
    ]
    if not half or not source.backwards:
        return None
    scalers = source.named("GradScaler", "DynamicLossScaler", "LossScaleOptimizer", "FixedLossScaleManager")
    if scalers:
        return ok(source, scalers[0], "a gradient scaler is used")
    if "loss_scale" in source.text or _imports_locals(source):
        return None
    return at(source, half[0], "fp16 training without a gradient scaler: small gradients become zero")


@probe()
def pure_bf16(view: View) -> Finding:
    """Parameters cast to bf16 (not autocast): updates below half a unit in the last place are lost."""
    return first(view, _pure_bf16, "the scripts do not cast the model")


def _pure_bf16(source: Script) -> Finding | None:
    if not source.backwards:
        return None
    for call in source.named("to", "bfloat16", "set_default_dtype"):
        owner = source.owner(call).lower()
        text = ast.unparse(call)
        whole = last_name(call.func) == "set_default_dtype" or any(w in owner for w in ("model", "net"))
        if whole and ("torch.bfloat16" in text or last_name(call.func) == "bfloat16"):
            return at(source, call, "the parameters themselves are bf16, without fp32 master copies")
    casts = source.named("autocast")
    return ok(source, casts[0], "parameters stay in fp32 under autocast") if casts else None


# ------------------------------------------------------------------------------------- schedule, accumulation


@probe()
def scheduler_wrong_loop(view: View) -> Finding:
    """A length in epochs and a step per batch, or a length in batches and a step per epoch."""
    return first(view, _wrong_loop, "the scripts build no scheduler with a length")


def _wrong_loop(source: Script) -> Finding | None:
    built = [
        (c, k)
        for c in source.calls
        for name in ("T_max", "total_steps", "num_training_steps", "step_size")
        if (k := keyword(c, name)) is not None
    ]
    steps = [c for c in source.named("step") if any(w in source.owner(c).lower() for w in ("sched", "lr_"))]
    if len(built) != 1 or len(steps) != 1 or source.train_loop is None or not steps:
        return None
    length = built[0][1]
    words = ast.unparse(length).lower()
    per_batch = source.train_loop in source.loops_around(steps[0])
    nested = len(source.loops_around(source.backwards[0])) > 1
    epochs = (
        words == _epoch_count(source)
        or "epoch" in words
        and not any(w in words for w in ("step", "len(", "iter", "batch", "*"))
    )
    batches = "len(" in words or "total_steps" in words
    if epochs and per_batch and nested:
        return at(
            source,
            steps[0],
            f"the scheduler's length is in epochs ({ast.unparse(length)}) and it steps per batch",
        )
    if batches and not per_batch and nested:
        return at(
            source,
            steps[0],
            f"the scheduler's length is in batches ({ast.unparse(length)}) and it steps per epoch",
        )
    return (
        ok(source, steps[0], "the scheduler steps in the unit of its length") if epochs or batches else None
    )


def _epoch_count(source: Script) -> str | None:
    """The bound of the epoch loop as written: `for epoch in range(10)` -> "10"."""
    loop = _epoch_loop(source)
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range":
        return ast.unparse(loop.iter.args[-1]).lower() if loop.iter.args else None
    return None


@probe()
def scheduler_never_stepped(view: View) -> Finding:
    """A scheduler object is built and no step is called on it."""
    return first(view, _never_stepped, "the scripts build no scheduler")


def _never_stepped(source: Script) -> Finding | None:
    from .readers.script import SCHEDULERS

    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if last_name(node.value.func).lower() in SCHEDULERS and source.trains_by_hand:
                name = ast.unparse(node.targets[0])
                if source.text.count(name) == 1:
                    return at(source, node, "this scheduler is built and never used")
                return ok(source, node, "the scheduler is used")
    return None


@probe()
def accumulation_not_divided(view: View) -> Finding:
    """The optimizer steps every N batches and the loss is not divided by N."""
    return first(view, _not_divided, "the scripts do not accumulate gradients by hand")


def _not_divided(source: Script) -> Finding | None:
    for step in source.steps:
        for parent in source.above(step):
            if isinstance(parent, ast.If):
                gates = [
                    n for n in ast.walk(parent.test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)
                ]
                if not gates:
                    continue
                count = ast.unparse(gates[0].right)
                divided = [
                    n
                    for n in ast.walk(source.tree)
                    if isinstance(n, (ast.BinOp, ast.AugAssign))
                    and isinstance(n.op, ast.Div)
                    and ast.unparse(n.right if isinstance(n, ast.BinOp) else n.value) == count
                ]
                if divided:
                    return ok(source, divided[0], f"the loss is divided by {count}")
                return at(
                    source,
                    step,
                    f"the optimizer steps every {count} batches and the loss is not divided by {count}",
                )
    return None


# --------------------------------------------------------------------------------------------- distributed


@probe()
def set_epoch_missing(view: View) -> Finding:
    """DistributedSampler over several epochs without set_epoch: the same order in every epoch."""
    return first(view, _no_set_epoch, "the scripts use no distributed sampler")


def _no_set_epoch(source: Script) -> Finding | None:
    samplers = source.named("DistributedSampler")
    if not samplers or _imports_locals(source):
        return None
    if source.named("set_epoch"):
        return ok(source, source.named("set_epoch")[0], "set_epoch is called")
    return at(source, samplers[0], "set_epoch is never called, so every epoch has the same order")


@probe()
def no_gradient_synchronisation(view: View) -> Finding:
    """A process group is made, and neither a wrapper nor an all-reduce joins the gradients."""
    return first(view, _no_sync, "the scripts train in one process")


def _no_sync(source: Script) -> Finding | None:
    groups = source.named("init_process_group")
    if not groups or not source.backwards:
        return None
    names = (
        "DistributedDataParallel",
        "DDP",
        "FullyShardedDataParallel",
        "FSDP",
        "all_reduce",
        "fully_shard",
        "initialize",
        "prepare",
    )
    joined = [c for c in source.named(*names) if not _is_metric_reduce(source, c)]
    if joined:
        return ok(source, joined[0], "gradients are synchronised")
    if _imports_locals(source):
        return None
    return at(source, groups[0], "processes are started and nothing synchronises their gradients")


def _is_metric_reduce(source: Script, call: ast.Call) -> bool:
    if last_name(call.func) != "all_reduce" or not call.args:
        return False
    return ".grad" not in ast.unparse(call.args[0]) and "grad" not in source.function_name(call).lower()


@probe()
def wrapper_bypassed(view: View) -> Finding:
    """The training loop calls `model.module(x)`: the wrapper never sees the forward pass."""
    return first(view, _bypassed, "the scripts wrap no model")


def _bypassed(source: Script) -> Finding | None:
    wrapped = source.named("DistributedDataParallel", "DDP")
    if not wrapped:
        return None
    for call in source.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "module" and call.args:
            if source.train_loop is not None and source.train_loop in source.loops_around(call):
                return at(source, call, "training calls the inner module, so gradients are not synchronised")
    return ok(source, wrapped[0], "training calls the wrapped model")


# ------------------------------------------------------------------------------------------------ numerics


@probe()
def unsafe_math(view: View) -> Finding:
    """log, sqrt or a division in a forward method or a loss function without a floor in its argument."""
    return first(view, _unsafe_math, "the scripts hold no arithmetic of their own")


def _unsafe_math(source: Script) -> Finding | None:
    scopes: list[ast.AST] = list(source.forwards)
    scopes += [
        n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef) and "loss" in n.name.lower()
    ]
    scopes += [source.train_loop] if source.train_loop is not None else []
    seen = None
    for scope in scopes:
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and last_name(node.func) in ("log", "sqrt", "rsqrt"):
                argument = node.args[0] if node.args else getattr(node.func, "value", None)
                if argument is None or _constant(argument) or ast.unparse(argument) in ("math", "np"):
                    continue
                seen = node
                if not _floored(argument):
                    return at(source, node, f"{last_name(node.func)} has no floor under its argument")
    return ok(source, seen, "logarithms and roots have a floor") if seen is not None else None


def _constant(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return (
        isinstance(node, ast.Constant)
        or not any(isinstance(n, ast.Name) for n in ast.walk(node))
        or "size" in text
    )


def _floored(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return True
    text = ast.unparse(node)
    safe = (
        "clamp",
        "clip",
        "softmax",
        "exp(",
        "eps",
        "max(",
        "sigmoid",
        "maximum",
        "dim",
        "head",
        "d_k",
        "shape",
        "len(",
        "math.",
    )
    return any(w in text.lower() for w in safe)


# ------------------------------------------------------------------------------------------- script against script

_ROLES: dict[str, tuple[str, ...]] = {
    "init": (
        "init.",
        "init_",
        "normal_",
        "uniform_",
        "zeros_",
        "load_state_dict",
        "from_pretrained",
        "manual_seed",
    ),
    "evaluation": ("eval", "valid", "test", "accuracy", "metric", "best"),
    "loss": ("loss", "criterion", "cross_entropy", "softmax", "mse"),
    "step": (
        "backward",
        "zero_grad",
        "optimizer",
        "opt.",
        "scheduler",
        "sched",
        "clip",
        "scaler",
        "step()",
        "accum",
    ),
    "data": (
        "data",
        "loader",
        "transform",
        "normalize",
        "mean",
        "std",
        "shuffle",
        "label",
        "batch",
        "token",
        "sample",
        "perm",
        "crop",
        "resize",
        "flip",
    ),
    "model": (
        "nn.",
        "self.",
        "forward",
        "conv",
        "linear",
        "layer",
        "relu",
        "norm",
        "dropout",
        "embedding",
        "attention",
    ),
}
_NOISE = (
    "print(",
    "log",
    "path",
    "dir",
    "writer",
    "json",
    "csv",
    "open(",
    "save",
    "import ",
    "time",
    "parser",
    "__name__",
    "def main",
)


@probe("benchmark")
def differs(view: View, *, role: str) -> Finding:
    """Statements of one role that stand in only one of the two scripts, layout and comments ignored.

    A statement's role is told by its words, first match in the order of `_ROLES`; logging, paths and
    imports do not count. Numbers alone are the settings' business and count too: they stand in code here.
    """
    theirs = scripts(view.benchmark) if view.benchmark else []
    mine = scripts(view.run)
    if not mine or not theirs:
        return unknown(_MISSING if not mine else "no training script beside the benchmark")
    pair = _pair(mine, theirs)
    lines = list(_differences(*pair))
    found = [(n, t) for n, t in lines if _role(t) == role]
    if not found:
        return absent(f"{pair[0].path} and the benchmark's {pair[1].path} agree in their {role} code")
    number, text = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return present(
        f"{pair[0].path} differs from the benchmark's script: `{text[:110]}`{more}",
        value=len(found),
        where=(Place(pair[0].path, number),),
    )


def _pair(mine: list[Script], theirs: list[Script]) -> tuple[Script, Script]:
    """The two scripts that most resemble each other."""
    return max(
        ((a, b) for a in mine for b in theirs),
        key=lambda p: (len(set(_statements(p[0])) & set(_statements(p[1]))), p[0].path),
    )


def _statements(source: Script) -> dict[str, int]:
    """Statements in normal form -> line; compound statements by their heads."""
    found: dict[str, int] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt):
            text = ast.unparse(node).split("\n", 1)[0]
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                found.setdefault(text, node.lineno)
    return found


def _differences(mine: Script, theirs: Script) -> Iterator[tuple[int | None, str]]:
    """Statements of mine that are not theirs, then those of theirs that I lack (without a line)."""
    here, there = _statements(mine), _statements(theirs)
    for text, line in sorted(here.items(), key=lambda item: item[1]):
        if text not in there and not _noise(text):
            yield line, text
    for text in there:
        if text not in here and not _noise(text):
            near = difflib.get_close_matches(text, list(here), 1, 0.75)
            if not near or near[0] in there:
                yield None, "missing: " + text


def _noise(text: str) -> bool:
    return any(w in text.lower() for w in _NOISE)


def _role(text: str) -> str:
    lower = text.lower()
    return next((role for role, words in _ROLES.items() if any(w in lower for w in words)), "other")
