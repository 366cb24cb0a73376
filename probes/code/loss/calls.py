"""The loss in scripts: activation before it, sign, reduction, floors."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding, View, any_of, probe
from ...scripts.flow import Flow, flow, losses, objectives, returns, signs
from ...scripts.minimised import loss_objects, makers
from ...scripts.syntax import Script, outermost_call
from ..mindspore.steps import vector_minimised
from ..shared.checks import at, first, imports_locals, is_constant, is_evaluation, ok
from ..shared.nodes import assigned, is_true
from ..shared.rounds import rounds
from ..shared.sides import either
from ..shared.spreads import of_itself
from ..tensorflow.graph_loss import activated_twice, activation_left_out, summed_over_batch
from ..tensorflow.keras import compiled
from ..tensorflow.slips import ends_unlike_loss
from ..trainers.trainer_settings import nll_of_logits, own_loss_negated
from .divided import divided_on_its_way, gradients_divided_by_hand
from .kinds_apart import numbers_for_classes
from .output_kind import loss_of_another_task, of_unseen_model, raw_outputs_for_chances
from .senses import of_attack, turned_round
from .shown import shown_per_sample
from .sums import summed_by_hand

_SOFT = ("softmax", "Softmax", "sigmoid", "Sigmoid", "softmax_", "LogSigmoid")
_ON_LOGITS = ("crossentropyloss", "cross_entropy", "bcewithlogitsloss", "binary_cross_entropy_with_logits")
_SUPPLEMENT = ("softmaxcrossentropywithlogits",)


@probe()
def double_softmax(view: View) -> Finding:
    """The loss applies softmax or sigmoid itself, and its input has been through one already.

    False positive: none known for softmax; a bounded output trained with cross-entropy on purpose.
    """
    return first(view, either(_double_softmax, activated_twice), "no loss on logits in the scripts")


def _double_softmax(source: Script) -> Finding | None:
    mine = flow(source)
    calls = [(c, k) for c, k in losses(source) if k in _ON_LOGITS + _SUPPLEMENT]
    calls = [(c, k) for c, k in calls if not is_evaluation(source, c)] or calls
    if not calls:
        return _keras_double(source)
    for call, kind in calls:
        for value in _given(mine, call):
            owner = mine.class_around(value)
            if owner is not None and _is_log(source, owner, value):
                continue
            if outermost_call(value) in _SOFT and not _guarded(source, value):
                return at(
                    source, value, f"{kind} applies its own softmax or sigmoid, and its input has one already"
                )
            if isinstance(value, ast.Call):
                made = mine.values(value.func, 3) if not isinstance(value.func, ast.Call) else [value.func]
                for one in made:
                    if (found := _ends_soft(one)) is not None:
                        return at(
                            source, found, f"the model ends in softmax or sigmoid and {kind} applies its own"
                        )
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
    return ok(source, calls[0][0], f"what reaches {calls[0][1]} is not a softmax output")


def _given(mine: Flow, call: ast.Call) -> list[ast.expr]:
    """What a loss gets as its prediction, views looked through: `criterion(logits.view(-1, n), y)`."""
    given = call.args[0] if call.args else None
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
    return mine.values(given) if given is not None else []


def _guarded(source: Script, value: ast.expr) -> bool:
    """`if not self.training: return x.softmax(-1)`: only where it does not train."""
    return any(
        isinstance(p, (ast.If, ast.IfExp)) and "training" in unparse(p.test) for p in source.above(value)
    )


def _model_ends_soft(source: Script, model: ast.ClassDef) -> ast.expr | None:
    for function in [f for f in source.forwards if f in model.body]:
        for output in source.output_of(function):
            if outermost_call(output) in _SOFT and not _guarded(source, output):
                if not _is_log(source, model, output):
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
    for call in source.named("Sequential", "SequentialCell"):
        found = _ends_soft(call)
        if found is not None:
            return found
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
            raw_outputs_for_chances, nll_of_logits, _activation_missing, activation_left_out, ends_unlike_loss
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
                return ok(source, call, f"{kind} receives a logarithm")
            if (
                not source.named(*wanted[kind])
                and "activation=" not in source.text
                and not imports_locals(source)
            ):
                if not (source.modules or _built_here(source)) or of_unseen_model(source, call):
                    return None
                return at(source, call, f"{kind} expects {wanted[kind][0]} outputs, and nothing applies it")
            return ok(source, call, f"{kind} receives {wanted[kind][0]} outputs")
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
def loss_negated(view: View) -> Finding:
    """A standard loss enters backward with its sign turned. False positive: adversarial terms (skipped)."""
    return first(
        view, either(_loss_negated, turned_round, own_loss_negated), "no standard loss in the scripts"
    )


def _loss_negated(source: Script) -> Finding | None:
    if source.loss_methods and not source.backwards:
        return _returns_negated(source) if source.losses else None
    taken = objectives(source)
    if (turned := _turned_at_backward(source)) is not None:
        return at(source, turned, "the sign of the loss is turned, so training maximises it")
    if not losses(source) or not taken or len({call for call, _ in taken}) > 1:
        return None  # several objectives: an adversary climbs what the other descends
    for call, objective in taken:
        if of_attack(source, objective):
            return None
        against = any(_is_minus(k.value) for k in call.keywords if k.arg == "gradient")
        found = signs(source, objective)
        if found and all((s.turned + against) % 2 for s in found):
            where = found[0].where or call
            return at(source, where, "the sign of the loss is turned, so training maximises it")
    return ok(source, taken[0][0], "the loss is minimised")


# What climbs a loss on purpose: adversaries and attacks, domains to confuse, bounds, what is to be unlearned.
_CLIMBS = re.compile(
    r"(?i)adv|attack|gan\b|gan_|disc|domain|fool|confus|unlearn|ascen|maximi|perturb|elbo|bound|mll|entropy_loss"
    r"|forget|invert|critic|\bgen|_gen|generator|policy|actor|alpha|\bpi_|likelihood|reward|ppo|surr"
)


def _turned_at_backward(source: Script) -> ast.expr | None:
    """The only objective of a function that also steps is a loss with a minus before it.

    `(-loss).backward()`, or every standard loss that a sum is made of. Asked function by function: a program
    of several files has several objectives that know nothing of each other.
    """
    taken = objectives(source)
    for one in rounds(source):
        function = source.function_around(one.backward)
        mine = [(c, o) for c, o in taken if source.function_around(c) is function]
        if not one.steps or len({c for c, _ in mine}) != 1 or not mine:
            continue
        owner = source.class_around(one.backward)
        named = function.name if function is not None else ""
        if _CLIMBS.search(named + (owner.name if owner is not None else "")):
            continue
        for call, objective in mine:
            if _CLIMBS.search(unparse(objective)) or any(_is_minus(k.value) for k in call.keywords):
                continue
            if of_attack(source, objective):
                continue
            minus = _minus_first(objective)
            if minus is not None and re.search(r"(?:^|_)loss$", last_name(minus.operand)):
                if not any(
                    _is_minus(v) for v in flow(source).values(minus.operand, 2) if v is not minus.operand
                ):
                    return minus
            found = signs(source, objective)
            if found and all(s.turned % 2 for s in found) and found[0].where is not None:
                where = found[0].where
                if source.function_around(where) is function and not _CLIMBS.search(source.line(where)):
                    return where
    return None


def _minus_first(node: ast.expr) -> ast.UnaryOp | None:
    """`-loss`, also within `scaler.scale(-loss)`."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("scale", "mean", "sum"):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node
        inner = node.args[0] if node.args else owner
        return _minus_first(inner) if inner is not node else None
    return node if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else None


def _is_minus(node: ast.expr) -> bool:
    """A negative number, or a tensor made of one."""
    return any(isinstance(n.op, ast.USub) for n in of(node, ast.UnaryOp))


def _returns_negated(source: Script) -> Finding:
    """A method that hands its loss to a trainer returns it with its sign turned."""
    for method in source.loss_methods:
        for value in returns(method):
            found = [s for v in _handed(value) for s in signs(source, v)]
            if found and all(s.turned % 2 for s in found):
                where = found[0].where or method
                return at(source, where, "the loss is handed over with its sign turned: it is maximised")
    return ok(source, source.loss_methods[0], "the loss is minimised")


def _handed(value: ast.expr) -> list[ast.expr]:
    """The loss of what a method gives back: itself, the first of a tuple, "loss" of a dict, on each way."""
    if isinstance(value, ast.Tuple) and value.elts:
        return _handed(value.elts[0])
    if isinstance(value, ast.Dict):
        return [
            v
            for k, v in zip(value.keys, value.values, strict=True)
            if isinstance(k, ast.Constant) and k.value == "loss"
        ]
    if isinstance(value, ast.IfExp):
        return [*_handed(value.body), *_handed(value.orelse)]
    return [value]


def _backward_names(source: Script) -> set[str]:
    """Names that backward is called on: `scaler.scale(loss).backward()` -> {"scaler", "loss"}.

    A method that hands its loss to a trainer has them in what it returns.
    """
    handed = [v for f in source.loss_methods for r in returns(f) for v in _handed(r)]
    return {n.id for b in (*source.backwards, *handed) for n in of(b, ast.Name)}


@probe()
def regression_loss_on_classes(view: View) -> Finding:
    """Mean squared (or absolute) error on one-hot labels or on labels that accuracy is computed with."""
    checks = either(_regression_on_classes, loss_of_another_task, numbers_for_classes)
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
    classes = bool(source.named("one_hot", "argmax", "to_categorical")) and _ACCURACY.search(source.code)
    if classes and len(found) == len(source.losses):
        return at(source, found[0], "a regression loss is used although accuracy over classes is computed")
    return None


def _keras_regression(source: Script) -> Finding | None:
    """`compile(loss="mse", metrics=["accuracy"])`, or on a softmax."""
    for one in compiled(source):
        if one.takes == "squared" and (one.scores_classes or one.ends == "softmax"):
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
def loss_summed(view: View) -> Finding:
    """`reduction="sum"`, and nothing divides afterwards."""
    checks = either(_loss_summed, vector_minimised, summed_over_batch, summed_by_hand)
    return first(view, checks, "no loss in the scripts")


def _loss_summed(source: Script) -> Finding | None:
    known = [c for c, _ in (*losses(source), *loss_objects(source))]
    if not known:
        return None
    mine = flow(source)
    for call in source.calls:
        reduction = keyword(call, "reduction")
        asked = [] if reduction is None else mine.values(reduction, 4)
        summed = any(isinstance(v, ast.Constant) and v.value == "sum" for v in asked)
        if summed and not isinstance(reduction, ast.Constant):
            summed = _asked_in_training(source, call)
        if summed and last_name(call.func).lower() not in ("kldivloss", "kl_div"):
            if (
                not is_evaluation(source, call)
                and _is_trained_on(source, call)
                and not _divided(source, call)
                and not gradients_divided_by_hand(source)
                and not shown_per_sample(source)
                and not _sums_every_term(source, call)
                and not divided_on_its_way(source, call)
            ):
                return at(source, call, "the loss is summed over the batch")
    return ok(source, known[0], "the loss is a mean")


def _asked_in_training(source: Script, call: ast.Call) -> bool:
    """A caller that trains asks for the sum: `nll(model, x, y, "sum")` outside of evaluations."""
    function = source.function_around(call)
    asking = [
        c
        for c in (source.named(function.name) if function is not None else ())
        if any(unparse(a) in ("'sum'", '"sum"') for a in all_arguments(c))
    ]
    return not asking or any(not is_evaluation(source, c) and _is_trained_on(source, c) for c in asking)


_DIVERGENCE = re.compile(r"(?i)\bkl|kld|elbo|log_?var|log_?sigma")


def _sums_every_term(source: Script, call: ast.Call) -> bool:
    """A negative ELBO, every term of which is summed over the batch: usual for autoencoders."""
    function = source.function_around(call)
    return function is not None and any(
        last_name(n.func) == "sum"
        and not [a for a in n.args[1:] if source.owner(n) in ("torch", "ops", "tf")]
        and not n.keywords
        and _DIVERGENCE.search(unparse(source.statement(n) or n))
        for n in of(function, ast.Call)
    )


def _is_trained_on(source: Script, call: ast.Call) -> bool:
    """The loss is not one that is only measured, without gradients or turned into a number at once."""
    blocks = [p for p in source.above(call) if isinstance(p, ast.With)]
    if any("no_grad" in unparse(i.context_expr) for b in blocks for i in b.items):
        return False
    outer = source.parents.get(call)
    return not (isinstance(outer, ast.Attribute) and outer.attr == "item")


def _divided(source: Script, node: ast.AST) -> bool:
    """The loss is divided where it is computed, or on its way to backward."""
    if any(isinstance(p, ast.BinOp) and isinstance(p.op, ast.Div) for p in source.above(node)):
        return True
    if any(
        re.search(r"(?i)loss", unparse(a))
        for c in source.calls
        if re.fullmatch(r"_?(?:normali[sz]e|average|mean)(?:_loss)?", last_name(c.func))
        and source.owner(c) not in ("np", "numpy", "statistics")  # a figure to be printed
        for a in c.args[:1]
    ):
        return True  # `batch.normalize(loss, tokens)`
    if _divided_under_its_name(source, node) or any(_averaged(source, c) for c in _calls_of(source, node)):
        return True
    names = _backward_names(source)
    handed = [a for c in source.named("add_loss", "gradient") for a in c.args[:1]]
    names |= {n.id for a in handed for n in of(a, ast.Name)}
    for method in source.loss_methods:
        names |= {n.id for r in returns(method) for n in of(r, ast.Name)}
    for statement in source.of(ast.Assign, ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        over = statement.value.right if isinstance(statement.value, ast.BinOp) else statement.value
        if _is_accumulation(over):
            continue
        if any(unparse(t) in names for t in targets) and "/" in unparse(statement.value):
            return True
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
            return any(unparse(t) in names for t in targets)
    taken = [b.func.value for b in source.backwards if isinstance(b.func, ast.Attribute)]
    given = [n for a in (*taken, *(a for b in source.backwards for a in b.args)) for n in of(a, ast.BinOp)]
    return any(isinstance(n.op, ast.Div) and not _is_accumulation(n.right) for n in given)


def _calls_of(source: Script, made: ast.AST) -> list[ast.Call]:
    """Where a loss object is called: `self.ce = CrossEntropyLoss(reduction="sum")`, then `self.ce(x, y)`."""
    statement = source.parents.get(made)
    if not isinstance(statement, ast.Assign):
        return []
    names = {unparse(t) for t in statement.targets}
    return [c for n in names for c in source.named(n.rpartition(".")[2]) if unparse(c.func) == n]


def _averaged(source: Script, call: ast.Call) -> bool:
    """What a loss object gives is divided: at once, `(ce(a, y) + ce(b, z)) / n`, or by way of a name."""
    inner: ast.AST = call
    for parent in source.above(call):
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and inner is parent.left:
            return not _is_accumulation(parent.right)
        if isinstance(parent, ast.stmt):
            break
        inner = parent
    return _divided_under_its_name(source, call)


def _divided_under_its_name(source: Script, node: ast.AST) -> bool:
    """`nll = cross_entropy(..., reduction="sum")` and `return nll / tokens` in one function."""
    statement = source.statement(node)
    scope = source.function_around(node)
    if not isinstance(statement, ast.Assign) or scope is None:
        return False
    names = {unparse(t) for t in statement.targets} - _backward_names(source)
    return any(
        isinstance(n.op, ast.Div)
        and not _is_accumulation(n.right)
        and isinstance(source.parents.get(n), (ast.Return, ast.Assign, ast.Tuple))
        and names & {unparse(v) for v in of(n.left, ast.Name)}
        for n in of(scope, ast.BinOp)
    )


def _is_accumulation(node: ast.expr) -> bool:
    """A division by the number of accumulated batches does not make a mean of a batch's sum."""
    return any(w in unparse(node).lower() for w in ("accum", "micro"))


@probe()
def unsafe_math(view: View) -> Finding:
    """log, sqrt or a division in a forward method or a loss function without a floor in its argument."""
    return first(view, _unsafe_math, "the scripts hold no arithmetic of their own")


def _unsafe_math(source: Script) -> Finding | None:
    scopes: list[ast.AST] = list(source.forwards)
    scopes += [n for n in source.of(ast.FunctionDef) if "loss" in n.name.lower() or n in makers(source)]
    scopes += [n for n in source.of(ast.Lambda) if _is_criterion(source, n)]
    seen = None
    for scope in scopes:
        for node in of(scope, ast.Call):
            if last_name(node.func) in ("log", "sqrt", "rsqrt"):
                argument = _argument(source, node)
                if argument is None or is_constant(argument):
                    continue
                seen = node
                if not _floored(argument):
                    return at(source, node, f"{last_name(node.func)} has no floor under its argument")
    return ok(source, seen, "logarithms and roots have a floor") if seen is not None else None


@probe()
def unsafe_division(view: View) -> Finding:
    """Samples are divided by a spread of their own, without a floor: zero for a constant sample."""
    return first(view, _unsafe_division, "the scripts divide no sample by its own spread")


_MEASURES = re.compile(r"(?i)psnr|ssim|corr|similar|metric|score|eval|cosine")  # functions that measure


def _unsafe_division(source: Script) -> Finding | None:
    for node in source.of(ast.BinOp):
        if isinstance(node.op, ast.Div) and _own_spread(node.right) and of_itself(source, node):
            if _MEASURES.search(source.function_name(node)):
                continue
            if re.search(r"axis=0\)", source.code) and re.search(
                r"\.std\((?:axis=)?1\b", unparse(node.right)
            ):
                return None  # rows of a table whose columns differ: their spread is not zero
            if _only_counted(source, node):
                continue
            return at(source, node, "each sample is divided by its own spread, which may be zero")
    return None


def _only_counted(source: Script, node: ast.AST) -> bool:
    """`z = (x - m) / s; z.unique(dim=0)`: a look at the values, which nothing is trained on."""
    parent, function = source.parents.get(node), source.function_around(node)
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1 and function is not None):
        return False
    name = unparse(parent.targets[0])
    uses = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    around = [next((p for p in source.above(n) if isinstance(p, ast.Call)), None) for n in uses]
    return bool(uses) and all(c is not None and last_name(c.func) in _COUNTS for c in around)


_COUNTS = ("unique", "isnan", "isinf", "isfinite", "len", "any", "print")


@probe()
def optimizer_maximises(view: View) -> Finding:
    """`maximize=True` on the optimizer of a loss."""
    return first(view, _maximises, "the scripts build no optimizer")


def _maximises(source: Script) -> Finding | None:
    built = source.optimizer_calls
    for call in built:
        if is_true(keyword(call, "maximize")) and losses(source):
            return at(source, call, "the optimizer climbs the loss instead of descending it")
    return ok(source, built[0], "the optimizer descends") if built else None


@probe()
def loss_wrong(view: View) -> Finding:
    """The script gets its loss wrong in one of the ways that are looked for singly."""
    return any_of(
        look(view)
        for look in (
            double_softmax,
            loss_negated,
            loss_summed,
            activation_missing,
            regression_loss_on_classes,
        )
    )


@probe()
def division_without_floor(view: View) -> Finding:
    """Inputs are divided by the spread of each of their columns, and nothing keeps it from being zero.

    `x / x.std(0)`, also by way of a name. Common, and harmless until one column is constant.
    """
    return first(view, _division_bare, "the scripts divide nothing by a spread")


def _division_bare(source: Script) -> Finding | None:
    spreads = _spread_names(source)
    seen = None
    for node in source.of(ast.BinOp, ast.Call):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            text = unparse(node.right)
            if _own_spread(node.right) and not of_itself(source, node):
                continue  # a score, or a ratio of signal to noise
            if _own_spread(node.right) or text in spreads:
                return at(source, node, "nothing keeps this spread from being zero")
            if _of_one_sample(source, node):
                return at(source, node, "nothing keeps the spread of a sample from being zero")
            if any(w in text for w in (".std(", ".norm(", *spreads)):
                seen = seen or node
        elif isinstance(node, ast.Call) and _log_of_data(source, node):
            return at(source, node, "nothing keeps what the logarithm is taken of from being zero")
    return ok(source, seen, "the spread that is divided by has a floor") if seen is not None else None


_MAY_BE_ZERO = re.compile(
    r"(?i)(?:^|[._])(?:power|spec\w*|mel\w*|stft|fft|energ\w*|magnitude|mag|hist\w*|counts?|intensit\w*)(?:$|[_(\[])"
)


def _log_of_data(source: Script, call: ast.Call) -> bool:
    """`np.log(power)` of spectra, counts or intensities, zero in silence, where samples are made."""
    if last_name(call.func) not in ("log", "log10", "log2") or len(call.args) != 1:
        return False
    function = source.function_around(call)
    if function is None or function in source.forwards or source.owner(call) not in ("np", "numpy", "torch"):
        return False
    given = [call.args[0], *flow(source).values(call.args[0], 2)]
    if any(isinstance(v, ast.BinOp) or _floored(v) for v in given) or not _MAY_BE_ZERO.search(
        unparse(given[0])
    ):
        return False
    return _makes_samples(source, function)


def _of_one_sample(source: Script, node: ast.BinOp) -> bool:
    """`(img - img.mean()) / img.std()` in what gives a sample."""
    shape = re.fullmatch(r"\((\w+) - \1\.mean\(\)\) / \1\.std\(\)", unparse(node))
    function = source.function_around(node)
    return shape is not None and function is not None and _makes_samples(source, function)


def _makes_samples(source: Script, function: ast.AST, depth: int = 3) -> bool:
    """`__getitem__`, or a function that it calls."""
    name = getattr(function, "name", "")
    if name == "__getitem__" or depth == 0:
        return name == "__getitem__"
    around = {source.function_around(c) for c in source.named(name)} - {function, None}
    return any(_makes_samples(source, f, depth - 1) for f in around if f is not None)


def _spread_names(source: Script) -> set[str]:
    """Names that hold the spread of each column and are given nothing else anywhere."""
    found: set[str] = set()
    changed: set[str] = set()
    for node in source.of(ast.AugAssign, ast.Assign):
        if isinstance(node, ast.AugAssign):
            changed.add(_root(node.target))  # `std += eps`
        else:
            for target, value in assigned(node):
                own = isinstance(target, (ast.Name, ast.Attribute)) and _own_spread(value)
                (found if own else changed).add(_root(target))  # `std[std == 0] = 1`
    return found - changed


def _root(target: ast.expr) -> str:
    return unparse(target.value if isinstance(target, ast.Subscript) else target)


def _own_spread(node: ast.expr) -> bool:
    """`x.std((1, 2, 3))`: taken over some axes of the data, so it is zero for a constant sample."""
    if not (isinstance(node, ast.Call) and last_name(node.func) in _SPREADS):
        return False
    if not isinstance(node.func, ast.Attribute):
        return False
    of = node.func.value if last_name(node.func.value) not in ("linalg", "np", "torch") else node.args[:1]
    if last_name(node.func) == "norm" and not (isinstance(of, ast.Name) and _INPUT.search(of.id)):
        return False  # features of a model, put onto the unit sphere, are not zero
    given = node.args[1:] if unparse(node.func.value) in ("torch", "np", "numpy", "ops") else node.args
    return bool(given or keyword(node, "dim") or keyword(node, "axis"))


_SPREADS = ("std", "norm", "var", "nanstd", "nanvar")
_INPUT = re.compile(r"(?i)^x$|^x_|_x$|image|img|input|sample|batch|signal|wave|audio|data|frame|row")


def _argument(source: Script, call: ast.Call) -> ast.expr | None:
    """What a tensor's log or sqrt is taken of; None for Python's own math on plain numbers."""
    owner = source.owner(call)
    if owner in ("math", "np", "numpy"):
        return None
    if call.args:
        return call.args[0]
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _is_criterion(source: Script, node: ast.Lambda) -> bool:
    parent = source.parents.get(node)
    names = [unparse(t).lower() for t in parent.targets] if isinstance(parent, ast.Assign) else []
    return any(w in n for n in names for w in ("loss", "crit"))


def _floored(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return True
    text = unparse(node)
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
