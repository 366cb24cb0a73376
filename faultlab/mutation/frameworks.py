"""Faults of scripts that leave the loop, or a part of it, to Keras, Lightning, a Trainer or MindSpore."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from traindoctor.probes.readers._tree import walk

from .code import Code, Operator, Site, called, keyword, owner

_CROSS_ENTROPY = re.compile(r"^(?:sparse_?)?(?:categorical|binary)_?crossentropy$", re.IGNORECASE)
_PRETRAINED = re.compile(r"Model|For[A-Z]|LMHead")
_KEPT = 0.5  # shares of dropout below this can be taken for shares that are kept


def _uses(code: Code, *packages: str) -> bool:
    """Whether one of these packages is imported."""
    return not code.packages.isdisjoint(packages)


def _keras(code: Code) -> bool:
    return _uses(code, "tensorflow", "keras", "tf_keras")


def _steps(code: Code, *names: str) -> Iterator[ast.FunctionDef]:
    """Methods of a Lightning module with one of these names."""
    for node in code.of(ast.ClassDef):
        methods = [f for f in node.body if isinstance(f, ast.FunctionDef)]
        if {"training_step", "configure_optimizers"} <= {f.name for f in methods}:
            yield from (f for f in methods if f.name in names)


def _constant(node: ast.AST | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


# ------------------------------------------------------------------------------------------------ Keras


def logits_flag_lost(code: Code) -> Iterator[Site]:
    """A loss of Keras takes logits for probabilities."""
    for call in code.calls(*{called(c) for c in code.calls(*_names(code))}):
        flag = keyword(call, "from_logits")
        if flag is not None and _constant(flag) is True:
            yield (code.replace(flag, "False"),)


def logits_flag_added(code: Code) -> Iterator[Site]:
    """A loss of Keras takes probabilities for logits."""
    softmax = re.search(r"""activation\s*=\s*["']softmax["']|Activation\(["']softmax["']""", code.text)
    prefix = next((p for p in ("tf.keras", "keras") if re.search(rf"\b{re.escape(p)}\.", code.text)), None)
    for call in code.calls("compile") if softmax and prefix and _keras(code) else ():
        loss = keyword(call, "loss")
        kind = {
            "categorical_crossentropy": "Categorical",
            "sparse_categorical_crossentropy": "SparseCategorical",
        }
        name = kind.get(str(_constant(loss)))
        if loss is not None and name:
            yield (code.replace(loss, f"{prefix}.losses.{name}Crossentropy(from_logits=True)"),)


def regression_loss(code: Code) -> Iterator[Site]:
    """Classes are trained with a squared error."""
    for call in code.calls("compile") if _keras(code) else ():
        loss = keyword(call, "loss")
        name = (
            _constant(loss)
            if isinstance(loss, ast.Constant)
            else called(loss)
            if isinstance(loss, ast.Call)
            else ""
        )
        if isinstance(loss, ast.Attribute):
            name = loss.attr
        if loss is not None and isinstance(name, str) and _CROSS_ENTROPY.match(name):
            yield (code.replace(loss, '"mse"'),)


def layers_frozen(code: Code) -> Iterator[Site]:
    """All layers but the last stand still."""
    for call in code.calls("compile") if _keras(code) else ():
        statement = code.parents.get(call)
        if isinstance(statement, ast.Expr) and code.alone(statement) and keyword(call, "loss") is not None:
            freeze = f"for layer in {owner(call)}.layers[:-1]:\n    layer.trainable = False"
            yield (code.before(statement, freeze),)


def tape_over_part(code: Code) -> Iterator[Site]:
    """Only the last layer's variables get gradients."""
    for applied in code.calls("apply_gradients"):
        pairs = applied.args[0] if applied.args else None
        if not (isinstance(pairs, ast.Call) and called(pairs) == "zip" and len(pairs.args) == 2):
            continue
        variables = pairs.args[1]
        for gradient in code.calls("gradient"):
            if len(gradient.args) > 1 and ast.unparse(gradient.args[1]) == ast.unparse(variables):
                if isinstance(variables, ast.Attribute):
                    yield (
                        code.replace(variables, f"{code.source(variables)}[-2:]"),
                        code.replace(gradient.args[1], f"{code.source(gradient.args[1])}[-2:]"),
                    )
                    break


def inference_in_tape(code: Code) -> Iterator[Site]:
    """The model runs in inference mode under the tape."""
    for node in code.of(ast.With):
        if any("GradientTape" in ast.unparse(i) for i in node.items):
            flags = [
                flag
                for call in walk(node)
                if isinstance(call, ast.Call)
                and (flag := keyword(call, "training")) is not None
                and _constant(flag) is True
            ]
            if flags:
                yield tuple(code.replace(f, "False") for f in flags)


def validated_on_training_data(code: Code) -> Iterator[Site]:
    """What is told of validation is the training data's."""
    for call in code.calls("fit", "fit_generator"):
        held = keyword(call, "validation_data", "val_dataloaders")
        given = [a for a in call.args if not isinstance(a, ast.Starred)]
        if held is not None and not isinstance(held, ast.Constant):
            if any(k.arg == "val_dataloaders" for k in call.keywords):
                trained = keyword(call, "train_dataloaders", "train_dataloader") or (given[1:2] or [None])[0]
                if trained is not None:
                    yield (code.replace(held, code.source(trained)),)
            else:
                x = keyword(call, "x") or (given[0] if given else None)
                y = keyword(call, "y") or (given[1] if len(given) > 1 else None)
                if x is not None and isinstance(held, ast.Tuple) and y is not None:
                    yield (code.replace(held, f"({code.source(x)}, {code.source(y)})"),)
                elif x is not None and y is None and not isinstance(held, ast.Tuple):
                    yield (code.replace(held, code.source(x)),)
        elif held is None and owner(call).endswith("rainer") and len(given) == 3:
            yield (code.replace(given[2], code.source(given[1])),)
    for call in [*code.calls("dict"), *code.calls(*{n for n in _names(code) if n.endswith("Trainer")})]:
        train, held = keyword(call, "train_dataset"), keyword(call, "eval_dataset")
        if (
            train is not None
            and held is not None
            and isinstance(held, (ast.Name, ast.Subscript, ast.Attribute))
        ):
            yield (code.replace(held, code.source(train)),)


def dataset_not_shuffled(code: Code) -> Iterator[Site]:
    """A buffer of one sample, or a dataset told not to shuffle."""
    if _keras(code):
        for call in code.calls("shuffle"):
            size = call.args[0] if call.args else keyword(call, "buffer_size")
            about = owner(call)
            if (
                size is not None
                and isinstance(call.func, ast.Attribute)
                and not re.match(r"(?:np|random|rng)", about)
            ):
                if re.search(r"from_tensor_slices|dataset|_ds|map\(|train", about):
                    yield (code.replace(size, "1"),)
    for call in (
        code.calls(*{n for n in _names(code) if n.endswith("Dataset")}) if _uses(code, "mindspore") else ()
    ):
        flag = keyword(call, "shuffle")
        if flag is not None and _constant(flag) is True:
            yield (code.replace(flag, "False"),)


def dropped_for_kept(code: Code) -> Iterator[Site]:
    """Dropout is given the share that it should keep."""
    for call in code.calls("Dropout", "Dropout2d", "SpatialDropout1D", "SpatialDropout2D"):
        rate = keyword(call, "p", "rate") or (call.args[0] if call.args else None)
        value = _constant(rate)
        if rate is not None and isinstance(value, float) and 0 < value < 0.3:
            yield (code.replace(rate, f"{1 - value:g}"),)


# --------------------------------------------------------------------------------------------- Lightning


def step_returns_nothing(code: Code) -> Iterator[Site]:
    """The loss is logged and not handed to the trainer, which then skips the batch."""
    for step in _steps(code, "training_step"):
        returns = [n for n in walk(step) if isinstance(n, ast.Return) and n.value is not None]
        last = step.body[-1]
        if len(step.body) > 1 and returns == [last] and isinstance(last, ast.Return) and code.alone(last):
            if isinstance(last.value, ast.Name) or (
                isinstance(last.value, ast.Dict)
                and not any(isinstance(n, ast.Call) for n in walk(last.value))
            ):
                if "automatic_optimization" not in code.text:
                    yield (code.without(last),)


def optimizer_over_part(code: Code) -> Iterator[Site]:
    """The optimizer of a Lightning module gets one of its submodules only."""
    for method in _steps(code, "configure_optimizers"):
        owned = code.parents[method]
        parts = list(
            dict.fromkeys(
                target.attr
                for node in walk(owned)
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
                if re.search(r"(?:^|\.)nn\.(?!Module|.*Loss)\w+$", ast.unparse(node.value.func))
                for target in node.targets
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
            )
        )
        weighted = [p for p in parts if not re.search(r"loss|criteri|relu|drop|act|pool|soft", p)]
        for call in walk(method):
            if (
                isinstance(call, ast.Call)
                and ast.unparse(call) == "self.parameters()"
                and len(parts) > 1
                and weighted
            ):
                yield (code.replace(call, f"self.{weighted[-1]}.parameters()"),)


def features_detached(code: Code) -> Iterator[Site]:
    """The output of a submodule goes on without its gradient."""
    names = ("training_step", "shared_step", "_shared_step", "forward", "step", "_step")
    for step in _steps(code, *names):
        for at, statement in enumerate(step.body[:-1]):
            if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
                continue
            call, name = statement.value, statement.targets[0].id
            if isinstance(call, ast.Call) and re.match(r"self\.(?!log|hparams)\w+$", ast.unparse(call.func)):
                rest = "\n".join(ast.unparse(s) for s in step.body[at + 1 :])
                if re.search(rf"self\.(?!log)\w+\((?:[^()]*\b)?{name}\b", rest) and not re.search(
                    r"\b(?:batch|get|sample|loss|no_grad|generate_)", ast.unparse(call.func)
                ):
                    if call.args and f"def {ast.unparse(call.func)[5:]}(" not in code.text:
                        yield (code.replace(call, f"{code.source(call)}.detach()"),)


def schedule_by_epoch(code: Code) -> Iterator[Site]:
    """A schedule that counts in steps is advanced once in an epoch."""
    for node in code.of(ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if _constant(key) == "interval" and _constant(value) == "step":
                yield (code.replace(value, '"epoch"'),)


def watched_turned(code: Code) -> Iterator[Site]:
    """A callback waits for the loss to rise, or for the score to fall."""
    for call in code.calls("EarlyStopping", "ModelCheckpoint"):
        best = _constant(keyword(call, "save_best_only", "save_top_k"))
        if called(call) == "ModelCheckpoint" and (not best or best == -1):
            continue  # every state is kept
        monitor, mode = keyword(call, "monitor"), keyword(call, "mode")
        watched = str(_constant(monitor) or "")
        better = "min" if "loss" in watched else "max" if re.search(r"acc|auc|f1|iou", watched) else ""
        if better and not (isinstance(mode, ast.expr) and _constant(mode) != better):
            worse = "max" if better == "min" else "min"
            if mode is not None:
                yield (code.replace(mode, f'"{worse}"'),)
            elif monitor is not None:
                yield (code.replace(monitor, f'{code.source(monitor)}, mode="{worse}"'),)


# ---------------------------------------------------------------------------------- Trainer, Accelerate


def ignored_counts(code: Code) -> Iterator[Site]:
    """Nothing is left out of the loss: padding and prompts count as targets."""
    found = []
    for node in code.of(ast.Assign):
        if isinstance(node.targets[0], ast.Subscript) and code.alone(node):
            value = ast.unparse(node.value)
            if value == "-100" or re.search(r"(?i)ignore_(?:token_id|index)$", value):
                found.append(node)
    if found:
        yield tuple(code.without(n) for n in found)


def config_for_pretrained(code: Code) -> Iterator[Site]:
    """The model starts at random: its configuration is read, not its weights."""
    for call in code.calls("from_pretrained"):
        model, config = owner(call), keyword(call, "config")
        if config is None or not _PRETRAINED.search(model) or not re.match(r"(?:\w+\.)?[A-Z]\w+$", model):
            continue
        if re.search(r"Tokenizer|Config|Processor|Extractor", model):
            continue
        auto = model.rpartition(".")[2].startswith("Auto")
        yield (code.replace(call, f"{model}{'.from_config' if auto else ''}({code.source(config)})"),)


def not_prepared(code: Code) -> Iterator[Site]:
    """The model is used without Accelerate's wrapper."""
    for call in code.calls("prepare"):
        statement = code.parents.get(call)
        if "accelerator" in owner(call) and isinstance(statement, ast.Assign) and code.alone(statement):
            targets = (
                statement.targets[0].elts
                if isinstance(statement.targets[0], ast.Tuple)
                else statement.targets
            )
            if [ast.unparse(t) for t in targets] == [ast.unparse(a) for a in call.args]:
                if any(re.search(r"model|net", ast.unparse(t)) for t in targets):
                    yield (code.without(statement),)


def plain_backward(code: Code) -> Iterator[Site]:
    """The loss's own backward, past the scaling of the framework."""
    for call in code.calls("backward"):
        statement = code.parents.get(call)
        if re.search(r"accelerator|engine|fabric", owner(call)) and len(call.args) == 1 and not call.keywords:
            if isinstance(statement, ast.Expr) and isinstance(call.args[0], (ast.Name, ast.Attribute)):
                yield (code.replace(call, f"{code.source(call.args[0])}.backward()"),)


# --------------------------------------------------------------------------------------------- MindSpore


def set_train_off(code: Code) -> Iterator[Site]:
    """A MindSpore cell trains in inference mode."""
    found = [c for c in code.calls("set_train") if not c.args or _constant(c.args[0]) is True]
    if found and _uses(code, "mindspore"):
        yield tuple(code.replace(c, f"{owner(c)}.set_train(False)") for c in found)


def gradient_of_part(code: Code) -> Iterator[Site]:
    """Only the last parameters get gradients."""
    for call in code.calls("value_and_grad") if _uses(code, "mindspore") else ():
        weights = keyword(call, "weights") or (call.args[2] if len(call.args) > 2 else None)
        if weights is not None and "param" in ast.unparse(weights).lower():
            yield (code.replace(weights, f"{code.source(weights)}[-2:]"),)


def never_unscaled(code: Code) -> Iterator[Site]:
    """Gradients of the scaled loss go to the optimizer as they are."""
    for call in code.calls("unscale") if _uses(code, "mindspore") else ():
        if len(call.args) == 1 and "grad" in ast.unparse(call.args[0]):
            yield (code.replace(call, code.source(call.args[0])),)


# ---------------------------------------------------------------------------------------------- of all


def mode_not_told(code: Code) -> Iterator[Site]:
    """The model under the tape is not told that it trains; its own default says that it does not."""
    named = [c for c in code.calls("call") if owner(c).startswith("super")]
    for node in code.nodes if _keras(code) and not named else ():
        if isinstance(node, ast.With) and any("GradientTape" in ast.unparse(i) for i in node.items):
            calls = [c for c in walk(node) if isinstance(c, ast.Call) and len(c.args) == 1]
            told = [c for c in calls if _constant(keyword(c, "training")) is True and len(c.keywords) == 1]
            if told and re.search(r"Dropout|BatchNorm", code.text):
                yield tuple(code.replace(c, f"{ast.unparse(c.func)}({code.source(c.args[0])})") for c in told)


def gradients_not_applied(code: Code) -> Iterator[Site]:
    """Gradients are taken, and nothing moves the weights."""
    applied = [code.parents.get(c) for c in code.calls("apply_gradients")]
    plain = [s for s in applied if isinstance(s, ast.Expr) and code.alone(s)]
    if plain and len(plain) == len(applied):
        yield tuple(code.without(s) for s in plain)


def epochs_cut_short(code: Code) -> Iterator[Site]:
    """A setting from trying the script out is left in."""
    for call in code.calls("fit") if _keras(code) else ():
        epochs = keyword(call, "epochs")
        if epochs is not None and keyword(call, "steps_per_epoch") is None and not owner(call).endswith("er"):
            yield (code.replace(epochs, f"{code.source(epochs)}, steps_per_epoch=10"),)
    for call in code.calls("Trainer") if _uses(code, "lightning", "pytorch_lightning") else ():
        epochs = keyword(call, "max_epochs")
        if epochs is not None and not {k.arg for k in call.keywords} & {"limit_train_batches", None}:
            yield (code.replace(epochs, f"{code.source(epochs)}, limit_train_batches=10"),)


def watched_in_training(code: Code) -> Iterator[Site]:
    """The best state is chosen, or training stopped, by what the training data say."""
    for call in code.calls("EarlyStopping", "ModelCheckpoint"):
        monitor = keyword(call, "monitor")
        watched = _constant(monitor)
        if monitor is not None and isinstance(watched, str) and re.match(r"val[_/]", watched):
            keras = _keras(code) and not _uses(code, "lightning", "pytorch_lightning")
            name = watched[4:] if keras else f"train{watched[3:]}"
            yield (code.replace(monitor, f'"{name}"'),)


def optimization_left_to_nobody(code: Code) -> Iterator[Site]:
    """Automatic optimization is switched off, and the step does none itself."""
    for step in _steps(code, "__init__"):
        calls = [
            s
            for s in step.body
            if isinstance(s, ast.Expr) and ast.unparse(s).startswith("super(") and code.alone(s)
        ]
        if calls and not re.search(r"manual_backward|\.backward\(|automatic_optimization", code.text):
            yield (code.after(calls[0], "self.automatic_optimization = False"),)


def _names(code: Code) -> set[str]:
    """The last names of everything that is called."""
    return {called(n) for n in code.of(ast.Call)}


_HELD = frozenset({"data.leakage", "evaluation.logic"})
_FEW = frozenset({"data.insufficient-samples", "hyperparameter.epochs-too-few"})
_IDLE = frozenset({"graph.weight-frozen", "graph.optimizer"})
OPERATORS = (
    Operator("logits-flag-lost", "graph.loss-function", logits_flag_lost),
    Operator("logits-flag-added", "graph.loss-function", logits_flag_added),
    Operator("regression-loss", "graph.loss-function", regression_loss),
    Operator("layers-frozen", "graph.weight-frozen", layers_frozen),
    Operator("tape-over-part", "graph.weight-frozen", tape_over_part),
    Operator("inference-in-tape", "graph.node-mode", inference_in_tape),
    Operator("validated-on-training-data", "evaluation.logic", validated_on_training_data, _HELD),
    Operator("dataset-not-shuffled", "processing.not-shuffled", dataset_not_shuffled),
    Operator(
        "dropped-for-kept",
        "api.misuse",
        dropped_for_kept,
        frozenset({"hyperparameter.regularization-too-strong"}),
    ),
    Operator(
        "step-returns-nothing",
        "porting.training-procedure",
        step_returns_nothing,
        frozenset({"graph.weight-frozen", "graph.connection"}),
    ),
    Operator("optimizer-over-part", "graph.weight-frozen", optimizer_over_part),
    Operator("features-detached", "graph.connection", features_detached, frozenset({"graph.weight-frozen"})),
    Operator("schedule-by-epoch", "hyperparameter.schedule-wrong", schedule_by_epoch),
    Operator(
        "watched-turned",
        "evaluation.wrong-checkpoint",
        watched_turned,
        frozenset({"hyperparameter.epochs-too-few", "evaluation.logic"}),
    ),
    Operator("ignored-counts", "processing.label-masking", ignored_counts),
    Operator("config-for-pretrained", "init.pretrained-not-loaded", config_for_pretrained),
    Operator(
        "not-prepared",
        "porting.distributed-not-enabled",
        not_prepared,
        frozenset({"porting.mixed-precision-disabled", "state.replica-desync", "porting.training-procedure"}),
    ),
    Operator(
        "plain-backward",
        "porting.loss-scale-missing",
        plain_backward,
        frozenset({"state.gradient-accumulation", "porting.mixed-precision-disabled"}),
    ),
    Operator("set-train-off", "graph.node-mode", set_train_off),
    Operator("gradient-of-part", "graph.weight-frozen", gradient_of_part),
    Operator(
        "never-unscaled",
        "hyperparameter.loss-scale",
        never_unscaled,
        frozenset({"hyperparameter.learning-rate-too-large"}),
    ),
    Operator("mode-not-told", "graph.node-mode", mode_not_told),
    Operator("gradients-not-applied", "porting.training-procedure", gradients_not_applied, _IDLE),
    Operator("epochs-cut-short", "data.incomplete", epochs_cut_short, _FEW),
    Operator("watched-in-training", "evaluation.wrong-checkpoint", watched_in_training),
    Operator("optimization-left-to-nobody", "porting.training-procedure", optimization_left_to_nobody, _IDLE),
)
