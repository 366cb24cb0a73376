"""The loss that scripts call: an activation before it, missing or twice, and a loss for other labels."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ...forward.judged import answers_show
from ...readers._tree import of, unparse
from ...readers.script import all_arguments, argument, last_name, loss_name
from ...registry import Finding, View, any_of, probe
from ...rehearsal.judges import shows
from ...scripts.asked import caller_chooses, ruled_out
from ...scripts.flow import Flow, flow, losses
from ...scripts.learning import trainings
from ...scripts.minimised import handed
from ...scripts.syntax import Script, outermost_call
from ..shared.checks import at, first, holds_unseen_layers, imports_locals, is_evaluation, ok
from ..shared.nodes import not_in_training
from ..shared.sides import either
from ..tensorflow.graph_loss import activated_twice, activation_left_out
from ..tensorflow.keras import compiled
from ..tensorflow.slips import ends_unlike_loss
from ..trainers.fastai_learner import loss_of_another_block
from ..trainers.trainer_settings import nll_of_logits
from .kinds_apart import gives_number, numbers_for_classes
from .negated import loss_negated
from .output_kind import loss_of_another_task, of_unseen_model, raw_outputs_for_chances
from .summed import sum_in_the_way

_SOFT = ("softmax", "Softmax", "sigmoid", "Sigmoid", "softmax_", "LogSigmoid")
_ON_LOGITS = ("crossentropyloss", "cross_entropy", "bcewithlogitsloss", "binary_cross_entropy_with_logits")
_SUPPLEMENT = ("softmaxcrossentropywithlogits",)


@probe()
def double_softmax(view: View) -> Finding:
    """The loss applies softmax or sigmoid itself, and its input has been through one already.

    False positive: none known for softmax; a bounded output trained with cross-entropy on purpose.
    """
    return first(
        view,
        either(
            _double_softmax, activated_twice, _optax_double, shows("bent-twice"), answers_show("bent-twice")
        ),
        "no loss on logits in the scripts",
    )


def _double_softmax(source: Script) -> Finding | None:
    mine = flow(source)
    calls = [(c, k) for c, k in losses(source) if k in _ON_LOGITS + _SUPPLEMENT]
    calls = [(c, k) for c, k in calls if not is_evaluation(source, c)] or calls
    if not calls:
        return _cell_double(source) or _keras_double(source)
    for call, kind in calls:
        for value in _given(mine, call):
            owner = mine.class_around(value)
            if owner is not None and _is_log(source, owner, value):
                continue
            if outermost_call(value) in _SOFT and not not_in_training(source, value):
                if _not_asked_for(mine, value):
                    continue
                return at(
                    source,
                    value,
                    f"{loss_name(kind)} applies its own softmax or sigmoid, and its input has one already",
                )
            if isinstance(value, ast.Call):
                made = mine.values(value.func, 3) if not isinstance(value.func, ast.Call) else [value.func]
                for one in made:
                    if (found := _ends_soft(one)) is not None:
                        return at(
                            source,
                            found,
                            f"the model ends in softmax or sigmoid and {loss_name(kind)} applies its own",
                        )
    if source.named("logit"):
        return ok(source, calls[0][0], "probabilities are turned back into scores before the loss")
    of_loss = {p for call, _ in calls for p in source.above(call) if isinstance(p, ast.ClassDef)}
    models = [m for m in source.models if m not in of_loss] or list(source.models)
    for model in models:
        found = _model_ends_soft(source, model)
        if found is not None and len(models) == 1:
            return at(
                source, found, f"the model ends in softmax or sigmoid and {calls[0][1]} applies its own"
            )
    if not source.models:
        found = _sequential_ends_soft(source)
        if found is not None:
            return at(
                source, found, f"the model ends in softmax or sigmoid and {calls[0][1]} applies its own"
            )
    return ok(source, calls[0][0], f"what reaches {loss_name(calls[0][1])} is not a softmax output")


_OPTAX = (
    *("softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels"),
    *("sigmoid_binary_cross_entropy", "safe_softmax_cross_entropy"),
)


def _optax_double(source: Script) -> Finding | None:
    """`return nn.softmax(nn.Dense(9)(x))` of the one network of a program whose loss is optax' on logits.

    A loss that is written out takes them, too: `-mean(one_hot(y) * log_softmax(logits))`.
    """
    if "jax" not in source.frameworks:
        return None
    calls = [c for c in source.named(*_OPTAX, "log_softmax") if not is_evaluation(source, c)]
    calls = [c for c in calls if not any(isinstance(p, ast.ClassDef) for p in source.above(c))]
    for call in calls:
        given = argument(call, "logits", position=0)
        for value in flow(source).values(given) if given is not None else []:
            if outermost_call(value) in ("softmax", "sigmoid"):
                why = f"{last_name(call.func)} applies its own softmax or sigmoid, and its input has one"
                return at(source, value, why)
    if not calls or len(source.models) != 1:
        return None
    found = _model_ends_soft(source, source.models[0])
    if found is not None:
        why = f"the model ends in softmax or sigmoid and {last_name(calls[0].func)} applies its own"
        return at(source, found, why)
    return None


def _given(mine: Flow, call: ast.Call) -> list[ast.expr]:
    """What a loss gets as its prediction, views looked through: `criterion(logits.view(-1, n), y)`."""
    given = argument(call, position=0)
    while isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        if given.func.attr not in (
            "view",
            "reshape",
            "flatten",
            "contiguous",
            "transpose",
            "permute",
            "float",
        ):
            break
        given = given.func.value
    found = mine.values(given) if given is not None else []
    return [one for value in found for one in (value, *_piled(mine, value))]


def _piled(mine: Flow, value: ast.expr) -> list[ast.expr]:
    """What is put into a list step by step that is stacked at the end: `torch.stack(outputs, dim=1)`."""
    given = value.args[0] if isinstance(value, ast.Call) and value.args else None
    if not isinstance(value, ast.Call) or last_name(value.func) not in ("stack", "cat", "concat"):
        return []
    if not isinstance(given, ast.Name):
        return []
    scope = mine.source.function_around(value)
    added = [
        c.args[0]
        for c in mine.source.named("append")
        if c.args and mine.source.owner(c) == given.id and mine.source.function_around(c) is scope
    ]
    return [v for a in added for v in mine.values(a)]


def _not_asked_for(mine: Flow, value: ast.expr) -> bool:
    """A call that is trained with rules it out: `if not raw: z = z.softmax(-1)` and `net(x, raw=True)`."""
    source, function = mine.source, mine.source.function_around(value)
    if function is None or not caller_chooses(source, value):
        return False
    calls = [c for c in source.calls if function in mine.called(c) and not is_evaluation(source, c)]
    calls = [c for c in calls if trainings(source, source.function_around(c))] or calls
    return any(ruled_out(source, c, function, value) for c in calls)


def _model_ends_soft(source: Script, model: ast.ClassDef) -> ast.expr | None:
    for function in [f for f in source.forwards if f in model.body]:
        for output in source.output_of(function):
            if outermost_call(output) in _SOFT and not not_in_training(source, output):
                if not caller_chooses(source, output) and not _is_log(source, model, output):
                    return output
            if isinstance(output, ast.Call) and unparse(output.func).startswith("self."):
                built = (
                    source.attribute(model, output.func.attr)
                    if isinstance(output.func, ast.Attribute)
                    else None
                )
                found = _ends_soft(built)
                if found is not None:
                    return found
    return None


def _is_log(source: Script, model: ast.ClassDef, output: ast.expr) -> bool:
    """`self.softmax(x)` of an attribute that holds a LogSoftmax, which a second one does not change."""
    if not (isinstance(output, ast.Call) and isinstance(output.func, ast.Attribute)):
        return False
    if unparse(output.func.value) != "self":
        return False
    made = source.attribute(model, output.func.attr)
    return isinstance(made, ast.Call) and last_name(made.func) == "LogSoftmax"


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
    built = source.named("Sequential", "SequentialCell")
    ends = [_ends_soft(c) for c in built if not any(p in built for p in source.above(c))]
    return ends[0] if ends and None not in ends else None  # of several networks, which is asked is not seen


def _cell_double(source: Script) -> Finding | None:
    """`Model(net, loss)` of MindSpore, whose loss takes raw scores, and the only cell ends in a softmax."""
    cells = [m for m in source.modules if any(f in source.forwards for f in m.body)]
    for call, loss in handed(source):
        made = next((v for v in (loss, *flow(source).values(loss, 3)) if isinstance(v, ast.Call)), None)
        kind = last_name(made.func).lower() if made is not None else ""
        if kind not in _ON_LOGITS + _SUPPLEMENT or "mindspore" not in source.frameworks or len(cells) != 1:
            continue
        found = _model_ends_soft(source, cells[0])
        if found is not None:
            why = f"the model ends in softmax or sigmoid and {loss_name(kind)} applies its own"
            return _of_both(source, found, call, why)
    return None


def _keras_double(source: Script) -> Finding | None:
    told = [c for c in compiled(source) if c.takes in ("classes", "binary") and c.logits is not None]
    for one in told:
        if one.logits and one.ends in ("softmax", "sigmoid") and one.layer is not None:
            why = "the last layer applies an activation and the loss says from_logits=True"
            return _of_both(source, one.layer, one.loss, why)
    right = next((c for c in told if c.logits and c.ends == "linear"), None)
    return ok(source, right.call, "the last layer gives logits, as the loss expects") if right else None


def _of_both(source: Script, layer: ast.expr, loss: ast.expr, why: str) -> Finding:
    """Found at the output layer, with the place of the loss that does not fit it."""
    found = at(source, layer, why)
    return replace(found, where=(*found.where, source.place(loss)))


@probe()
def activation_missing(view: View) -> Finding:
    """NLLLoss without log-softmax, BCELoss without sigmoid anywhere in the script."""
    return first(
        view,
        either(
            raw_outputs_for_chances,
            nll_of_logits,
            _activation_missing,
            activation_left_out,
            ends_unlike_loss,
            shows("not-logs", "own-answers"),
            answers_show("not-logs"),
        ),
        "no loss on probabilities in the scripts",
    )


def _activation_missing(source: Script) -> Finding | None:
    wanted = {
        "nllloss": ("log_softmax", "LogSoftmax", "logsoftmax"),
        "nll_loss": ("log_softmax", "LogSoftmax", "logsoftmax"),
        "bceloss": ("sigmoid", "Sigmoid", "softmax", "Softmax"),
        "binary_cross_entropy": ("sigmoid", "Sigmoid", "softmax", "Softmax"),
    }
    for call, kind in source.losses:
        if kind in wanted:
            if kind.startswith("nll") and _is_logarithm(source, call):
                return ok(source, call, f"{loss_name(kind)} receives a logarithm")
            if (
                not source.named(*wanted[kind])
                and "activation=" not in source.text
                and not imports_locals(source)
            ):
                if not (source.modules or _built_here(source)) or of_unseen_model(source, call):
                    return None
                if any(holds_unseen_layers(source, m) for m in source.modules):
                    return None
                return at(
                    source,
                    call,
                    f"{loss_name(kind)} expects {wanted[kind][0]} outputs, and nothing applies it",
                )
            return ok(source, call, f"{loss_name(kind)} receives {wanted[kind][0]} outputs")
    return _keras_missing(source)


def _is_logarithm(source: Script, call: ast.Call) -> bool:
    """`nll_loss(torch.log(p), y)`, by way of names."""
    given = [_in_shape(v) for v in flow(source).values(call.args[0], 6)] if call.args else []
    return bool(given) and all(isinstance(g, ast.Call) and last_name(g.func) == "log" for g in given)


def _in_shape(node: ast.expr) -> ast.expr:
    """A value without what changes its shape alone: `log(p).view(-1, 3)` -> `log(p)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if last_name(node.func) not in (
            "view",
            "reshape",
            "flatten",
            "transpose",
            "permute",
            "squeeze",
            "float",
        ):
            break
        node = node.func.value
    return node


def _built_here(source: Script) -> bool:
    """The script makes the model, a stack of layers or one by a function, and is not handed it."""
    made = source.named("Sequential", "Linear", "LazyLinear", "SequentialCell", "Dense", "Conv2d")
    known = ("resnet", "create_model", "vgg")
    return bool(made) or any(last_name(c.func).startswith(known) for c in source.calls)


def _keras_missing(source: Script) -> Finding | None:
    """A Keras cross-entropy takes probabilities unless told otherwise; the last layer has no activation."""
    told = [c for c in compiled(source) if c.takes in ("classes", "binary") and c.logits is False]
    for one in told:
        if one.ends == "linear" and one.layer is not None:
            why = "the loss takes probabilities and the last layer gives raw outputs"
            return _of_both(source, one.layer, one.loss, why)
    right = next((c for c in told if c.ends in ("softmax", "sigmoid")), None)
    return ok(source, right.call, "the last layer gives probabilities") if right else None


@probe()
def regression_loss_on_classes(view: View) -> Finding:
    """Mean squared (or absolute) error on one-hot labels or on labels that accuracy is computed with."""
    checks = either(loss_of_another_block, _regression_on_classes, loss_of_another_task, numbers_for_classes)
    return first(view, checks, "no loss in the scripts")


# What is a number by its name: values, returns and differences of reinforcement learning, boxes, images.
_CONTINUOUS = re.compile(
    r"value|return|reward|q_|td_|advantage|bbox|boxes|recon|noise|depth|image|mask_weight|embedd|\bpsi|energy|force"
)


def _regression_on_classes(source: Script) -> Finding | None:
    if not source.losses:
        return _keras_regression(source)
    kinds = ("mseloss", "mse_loss", "l1loss", "l1_loss", "smoothl1loss", "huberloss", "smooth_l1_loss")
    found = [c for c, k in source.losses if k in kinds and not _CONTINUOUS.search(unparse(c).lower())]
    if not found and any(k in kinds for _, k in source.losses):
        return None
    if not found:
        return ok(source, source.losses[0][0], "the loss is made for classes")
    if _names_class_loss(source):
        return None  # which one is in force is told at run time
    if re.search(r"(?m)^ *(?:from|import) (?:spikingjelly|snntorch|norse)", source.text):
        return None  # rates of spikes are compared with classes so
    told = bool(source.named("one_hot", "to_categorical")) or _compares_classes(source)
    classes = told and _ACCURACY.search(source.code)
    if classes and len(found) == len(source.losses):
        return at(source, found[0], "a regression loss is used although accuracy over classes is computed")
    return None


def _compares_classes(source: Script) -> bool:
    """What argmax gives is held against labels: `(out.argmax(1) == y)`, `accuracy(pred, y)`.

    An argmax alone may choose an action, or a cluster.
    """
    asked = [
        n for c in source.of(ast.Compare) if isinstance(c.ops[0], ast.Eq) for n in (c.left, *c.comparators)
    ]
    asked += [
        a
        for c in source.calls
        if re.search(
            r"(?i)acc|f1|confusion|correct|^eq$|^equal|report|score|metric|hits?$", last_name(c.func)
        )
        for a in (*all_arguments(c), c.func)
    ]
    mine = flow(source)
    return any(
        last_name(c.func) == "argmax"
        for n in asked
        for v in (n, *(w for name in of(n, ast.Name) for w in mine.values(name, 3)))
        for c in of(v, ast.Call)
    )


def _keras_regression(source: Script) -> Finding | None:
    """`compile(loss="mse", metrics=["accuracy"])`, or on a softmax.

    Where one number is predicted accuracy is a metric that says nothing, and the loss is right.
    """
    for one in compiled(source):
        if one.takes == "squared" and (one.scores_classes or one.ends == "softmax"):
            if gives_number(source, one):
                continue
            return at(source, one.loss, "a regression loss is used on classes")
    right = next((c for c in compiled(source) if c.takes == "classes"), None)
    return ok(source, right.loss, "the loss is made for classes") if right else None


_ACCURACY = re.compile(r"(?i)(?:^|[^a-z])acc(?:urac(?:y|ies))?(?![a-z])")
_CLASS_LOSS = re.compile(r"(?i)cross_?entropy|nll_?loss|^bce")


def _names_class_loss(source: Script) -> bool:
    """A loss for classes is used somewhere under its own name, be it as a value: `loss_fn = F.nll_loss`."""
    return any(
        _CLASS_LOSS.search(n.id if isinstance(n, ast.Name) else n.attr)
        for n in source.of(ast.Name, ast.Attribute)
    )


@probe()
def loss_wrong(view: View) -> Finding:
    """The script gets its loss wrong in one of the ways that are looked for singly."""
    return any_of(
        look(view)
        for look in (
            double_softmax,
            loss_negated,
            sum_in_the_way,
            activation_missing,
            regression_loss_on_classes,
        )
    )
