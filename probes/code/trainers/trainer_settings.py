"""What the Trainer of transformers is told, and what a class that derives from it does in its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, loss_name
from ...registry import Finding
from ...scripts.flow import flow, losses, returns
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_negative, is_true
from ..shared.sides import literal
from .hooks import hugging_face, methods, training_arguments

_ADAPTS = re.compile(
    r"(?i)\blora|peft|adapter|quantiz|load_in_[48]bit|BitsAndBytes|deepspeed|freeze|requires_grad"
)
_SHAPED = ("view", "reshape", "flatten", "float", "contiguous", "squeeze", "transpose", "permute")


def own_trainers(source: Script) -> Iterator[ast.ClassDef]:
    """Classes of the script that derive from a Trainer of transformers and are used."""
    made = {last_name(c.func) for c in hugging_face(source)}
    for name, owner in source.classes.items():
        if name in made and any(last_name(b).endswith("Trainer") for b in owner.bases):
            yield owner


def _plain(node: ast.expr) -> ast.expr:
    """A value without what changes its shape or takes a part of it: `x.logits[:, :-1].flatten(0, 1)`."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPED
        ):
            node = node.func.value
        else:
            return node


# ------------------------------------------------------------------------------------------------ the loss


def nll_of_logits(source: Script) -> Finding | None:
    """`nll_loss(outputs.logits, labels)`: the models of transformers give raw scores under this name."""
    seen: ast.AST | None = None
    for call, kind in losses(source):
        if not kind.startswith("nll") or not call.args:
            continue
        given = _plain(call.args[0])
        ends = {_plain(v) for v in flow(source).values(given, 6)} | {given}
        ends = {e for e in ends if not isinstance(e, ast.Name)}
        seen = seen or call
        if ends and all(isinstance(e, ast.Attribute) and e.attr == "logits" for e in ends):
            return at(
                source, call, f"{loss_name(kind)} expects the logarithm of chances, and gets raw scores"
            )
    return None


def output_made_anew(source: Script) -> Finding | None:
    """A step that a trainer runs cuts its output or loss off, and tells the copy to take gradients.

    `outputs.logits.detach().requires_grad_()`, `return torch.tensor(loss.item(), requires_grad=True)`. Left
    aside: steps that read gradients, which they hand on by hand, and inputs, which attacks climb.
    """
    for method in source.loss_methods:
        if ".grad" in unparse(method).replace(".grad_fn", "") or re.search(r"backward\(", unparse(method)):
            continue
        for call in of(method, ast.Call):
            name, cut = last_name(call.func), None
            if name == "requires_grad_" and isinstance(call.func, ast.Attribute):
                cut = call.func.value
            elif name in ("tensor", "as_tensor", "from_numpy", "Variable") and call.args:
                cut = call.args[0] if is_true(keyword(call, "requires_grad")) else None
            if cut is not None and _CUT.search(unparse(cut)) and _OUTPUT.search(unparse(cut)):
                return at(source, call, "what is learned from is a copy that no gradient leads back from")
    return None


_CUT = re.compile(r"\.detach\(|\.item\(|\.numpy\(|\.data\b|\.tolist\(|argmax\(")
_OUTPUT = re.compile(r"(?i)^(?:self\.)?\w*(?:logit|output|loss|pred)")


_CLIMBS = re.compile(r"(?i)adv|attack|unlearn|forget|ascen|ascent|invert|confus|domain|reward|max")


def own_loss_negated(source: Script) -> Finding | None:
    """`compute_loss` hands `-outputs.loss` over, in a class that is not named after what climbs."""
    for owner in own_trainers(source):
        method = methods(owner).get("compute_loss")
        if method is None or _CLIMBS.search(owner.name):
            continue
        for value in returns(method):
            first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
            for one in [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]:
                one = one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one
                for end in [one, *flow(source).values(one, 2)]:
                    if is_negative(end) and is_own_loss(end.operand):
                        return at(
                            source, end, "the loss is handed over with its sign turned: it is maximised"
                        )
    return None


def is_own_loss(node: ast.expr) -> bool:
    """`outputs.loss`, `outputs["loss"]`: what a model of a library worked out itself."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "loss"
    return isinstance(node, ast.Attribute) and node.attr == "loss"


def clipped_in_compute_loss(source: Script) -> Finding | None:
    """`clip_grad_norm_` in `compute_loss`, whose gradients the Trainer takes after it."""
    for owner in own_trainers(source):
        method = methods(owner).get("compute_loss")
        for call in of(method, ast.Call) if method is not None and "backward" not in unparse(owner) else ():
            if last_name(call.func) in ("clip_grad_norm_", "clip_grad_value_"):
                return at(source, call, "the Trainer takes the gradients after this: those are not clipped")
    return None


def micro_losses_summed(source: Script) -> Finding | None:
    """`training_step` of an own Trainer takes gradients of whole losses where several are accumulated.

    Accelerate's backward is left aside, which may divide.
    """
    count = training_arguments(source).get("gradient_accumulation_steps")
    number = literal(source, count) if count is not None else None
    if not isinstance(number, int) or number < 2:
        return None
    for owner in own_trainers(source):
        method = methods(owner).get("training_step")
        if method is None:
            continue
        text = "\n".join(map(unparse, method.body))
        if re.search(r"gradient_accumulation|num_items_in_batch|super\(\)\.training_step| / |/=", text):
            continue
        for call in of(method, ast.Call):
            if last_name(call.func) == "backward" and not call.args and "loss" in unparse(call.func):
                return at(source, call, f"the losses of {number} batches are summed up, and not divided")
    return None


# -------------------------------------------------------------------------------------------- the precision


def half_weights(source: Script) -> Finding | None:
    """`from_pretrained(name, torch_dtype=torch.float16)`, `model.half()`: fp16 weights are trained."""
    made = hugging_face(source)
    told = training_arguments(source)
    if len(made) != 1 or not told or "fp16" in told or _ADAPTS.search(source.code):
        return None
    given = argument(made[0], "model", position=0)
    if given is None:
        return None
    for end in [given, *flow(source).values(given, 6)]:
        if isinstance(end, ast.Call) and last_name(end.func) == "from_pretrained":
            kind = keyword(end, "torch_dtype") or keyword(end, "dtype")
            if kind is not None and re.fullmatch(r"torch\.(?:float16|half)|['\"]float16['\"]", unparse(kind)):
                return at(source, end, "fp16 training without a gradient scaler: small gradients become zero")
    for call in source.named("half"):
        if source.owner(call) == unparse(given) and not call.args and call.lineno < made[0].lineno:
            if source.function_around(call) is source.function_around(made[0]) and _always(source, call):
                return at(
                    source, call, "fp16 training without a gradient scaler: small gradients become zero"
                )
    return None


def _always(source: Script, call: ast.Call) -> bool:
    return not any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call))


def bfloat_weights(source: Script) -> Finding | None:
    """`model.to(torch.bfloat16)` of what the Trainer gets. Adapters beside the weights are left aside."""
    made = hugging_face(source)
    if len(made) != 1 or _ADAPTS.search(source.code):
        return None
    given = argument(made[0], "model", position=0)
    casts = [
        c
        for c in source.named("to", "bfloat16")
        if last_name(c.func) == "bfloat16" or any(unparse(a) == "torch.bfloat16" for a in c.args)
    ]
    for call in casts if given is not None else ():
        if source.function_around(call) is not source.function_around(made[0]) or not _always(source, call):
            continue
        whole = call in flow(source).values(given, 4) if given is not None else False
        same = source.owner(call) == unparse(given) if given is not None else False
        if call.lineno < made[0].lineno and (whole or same):
            return at(source, call, "the parameters themselves are bf16, without fp32 master copies")
    return None


# ------------------------------------------------------------------------------------------------- the best


def best_not_loaded(source: Script) -> Finding | None:
    """A metric for the best model is named, the best is not loaded, and the last weights are scored."""
    told = training_arguments(source)
    if "metric_for_best_model" not in told or not hugging_face(source):
        return None
    loads = told.get("load_best_model_at_end")
    value = literal(source, loads) if loads is not None else None
    if value is True:
        return ok(source, loads, "the best weights are loaded at the end")
    if loads is not None and value is not False:
        return None
    if loads is None and (_spread(source) or "HfArgumentParser" in source.code):
        return None
    if re.search(r"best_model_checkpoint|EarlyStopping|load_best_model_at_end=True", source.code):
        return None
    for train in source.named("train"):
        for call in source.named("evaluate", "predict", "save_model"):
            same = source.owner(call) == source.owner(train) and call.lineno > train.lineno
            if same and source.function_around(call) is source.function_around(train):
                return at(source, call, "the best is asked for and not loaded: these are the last weights")
    return None


def _spread(source: Script) -> bool:
    made = [c for c in source.calls if last_name(c.func).endswith("TrainingArguments")]
    return any(k.arg is None for c in made for k in c.keywords)


_ERRORS = re.compile(r"(?i)(?:^|_)(?:wer|cer|mae|mse|rmse|mape|ppl|perplexity|error|eer)$")


def best_by_default(source: Script) -> Finding | None:
    """The Trainer takes the greatest of a metric for the best unless it is a loss, or is told otherwise."""
    told = training_arguments(source)
    name = told.get("metric_for_best_model")
    metric = literal(source, name) if name is not None else None
    if name is None or not isinstance(metric, str) or not hugging_face(source) or _spread(source):
        return None
    greater = told.get("greater_is_better")
    said = literal(source, greater) if greater is not None else None
    lower = _ERRORS.search(metric) is not None or metric in ("loss", "eval_loss")
    higher = re.search(
        r"(?i)(?:^|_)(?:acc|accuracy|f1|auc|auroc|bleu|rouge\w*|map|iou)(?:_macro|_micro)?$", metric
    )
    if greater is None:
        used = literal(source, told.get("load_best_model_at_end")) is True
        if used and _ERRORS.search(metric) and "HfArgumentParser" not in source.code:
            return at(source, name, f"{metric} is better when it is lower, and the Trainer takes the highest")
        return None
    if (lower and said is True) or (higher and said is False):
        way = "lower" if lower else "higher"
        return at(source, greater, f"{metric} is better when it is {way}, and the other way is asked for")
    return None


# --------------------------------------------------------------------------------------------------- resume


def resumed_from_weights(source: Script) -> Finding | None:
    """Checkpoints without the optimizer are resumed from, or the weights of one alone are taken up."""
    told = training_arguments(source)
    trains = [c for c in source.named("train") if hugging_face(source)]
    asked = [k for c in trains for k in [keyword(c, "resume_from_checkpoint")] if k is not None]
    asked = [a for a in asked if not (isinstance(a, ast.Constant) and not a.value)]
    if asked:
        if "save_only_model" in told and literal(source, told["save_only_model"]) is True:
            why = "checkpoints hold the weights alone, and training is resumed from them"
            return at(source, told["save_only_model"], why)
        return ok(source, asked[0], "the trainer is given the checkpoint")
    for call in source.named("from_pretrained"):
        if not call.args or not isinstance(call.args[0], (ast.IfExp, ast.BoolOp)) or not trains:
            continue
        model = re.search(r"Model|For[A-Z]", unparse(call.func)) is not None
        if model and re.search(r"(?i)resum", unparse(call.args[0])) and not any(c.args for c in trains):
            return at(source, call, "only the weights are taken up: the trainer is not given the checkpoint")
    return None


def flag_unread(source: Script) -> Finding | None:
    """`add_argument("--resume", default=True)` that nothing reads: a run that is to go on begins anew.

    Not of an option that is off unless it is asked for: most runs never ask.
    """
    if source.loose or not source.trains or re.search(r"vars\(|__dict__|getattr\(|\*\*", source.code):
        return None
    for call in source.named("add_argument"):
        flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        names = [f.lstrip("-").replace("-", "_") for f in flags if f.startswith("--")]
        default = keyword(call, "default")
        if default is None or (isinstance(default, ast.Constant) and not default.value):
            continue
        if keyword(call, "dest") is not None or not any(
            re.fullmatch(r"resume(?:_from\w*)?", n) for n in names
        ):
            continue
        read = {n.attr for n in source.of(ast.Attribute)}
        texts = {n.value for n in source.of(ast.Constant) if isinstance(n.value, str)} - set(flags)
        if not set(names) & (read | texts):
            return at(source, call, "the flag is read nowhere, so that training begins anew")
    return None


# --------------------------------------------------------------------------------------------------- labels

_LABELLED = re.compile(
    r"For(?:CausalLM|TokenClassification|Seq2SeqLM|ConditionalGeneration|MaskedLM)\b|LMHeadModel"
)
_LEAVES_OUT = re.compile(r"DataCollatorFor(?:LanguageModeling|Completion)|ignore_index|reduction=['\"]none")
USUAL = -100


def filled_labels(source: Script) -> Finding | None:
    """`row["labels"] + [0] * gap` for a model of transformers, whose loss leaves out -100 alone."""
    if not hugging_face(source) or not _LABELLED.search(source.code) or _LEAVES_OUT.search(source.code):
        return None
    if any("compute_loss" in methods(o) for o in own_trainers(source)) or _written_over(source):
        return None
    seen: ast.AST | None = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Add) or not isinstance(node.right, ast.BinOp):
            continue
        filled = node.right
        if not isinstance(filled.op, ast.Mult) or not isinstance(filled.left, ast.List):
            continue
        if len(filled.left.elts) != 1 or not _of_labels(source, node):
            continue
        value = filled.left.elts[0]
        number = literal(source, value)
        seen = seen or node
        padded = re.search(r"(?i)pad(?:_token)?_?id$|pad$|pad_token_id", unparse(value)) is not None
        if (padded and number is None) or (isinstance(number, int) and number != USUAL):
            return at(source, value, f"labels are filled with {unparse(value)}, and the loss leaves out -100")
    return ok(source, seen, "labels are filled with what the loss leaves out") if seen is not None else None


def _of_labels(source: Script, node: ast.BinOp) -> bool:
    """What is filled up is labels by name, and goes to labels by name: not `labels = ids + [eos] * n`."""
    statement = source.statement(node)
    told = re.search(r"(?i)(?:^|[^a-z])labels?['\"\]]*$", unparse(node.left)) is not None
    text = unparse(statement) if statement is not None else ""
    return told and text.lower().count("label") > 1


def _written_over(source: Script) -> bool:
    """-100 is put over labels somewhere: `labels[labels == pad] = -100`, `where(...)`, a comprehension."""
    for node in source.of(ast.Assign):
        if isinstance(node.targets[0], ast.Subscript) and literal(source, node.value) == USUAL:
            return True
    for call in source.named("where", "masked_fill", "masked_fill_"):
        if any(literal(source, a) == USUAL for a in call.args):
            return True
    return any(USUAL in (literal(source, n.body), literal(source, n.orelse)) for n in source.of(ast.IfExp))


def classes_over_words(source: Script) -> Finding | None:
    """`predictions.argmax(1)` of a model that names the class of each token: 1 is the axis of the tokens."""
    if "ForTokenClassification" not in source.code:
        return None
    for function in source.of(ast.FunctionDef):
        if function.name != "compute_metrics":
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) == "argmax" and _axis(source, call) == 1 and "[" not in unparse(call):
                return at(source, call, "the class is looked for along the tokens, not along the classes")
    return None


def _axis(source: Script, call: ast.Call) -> object:
    owner = source.owner(call)
    given = call.args[1:] if owner in ("np", "numpy", "torch") else call.args
    return literal(source, given[0] if given else keyword(call, "axis") or keyword(call, "dim"))


def layers_after_optimizer(source: Script) -> Finding | None:
    """`trainer.create_optimizer()`, then `trainer.model.head = nn.Linear(...)`, then `trainer.train()`."""
    for call in source.named("create_optimizer", "create_optimizer_and_scheduler"):
        function = source.function_around(call)
        owner = source.owner(call)
        trains = [c for c in source.named("train") if source.owner(c) == owner and c.lineno > call.lineno]
        if not hugging_face(source) or owner.startswith(("self", "super")) or not trains:
            continue
        for node in source.of(ast.Assign):
            target, value = node.targets[0], node.value
            between = call.lineno < node.lineno < trains[0].lineno
            if not between or source.function_around(node) is not function:
                continue
            inside = isinstance(target, ast.Attribute) and re.search(r"(?:^|\.)model\.", unparse(target))
            layers = [c for c in of(value, ast.Call) if last_name(c.func) in _LAYERS]
            if inside and layers:
                return at(source, node, "this layer is made after the optimizer, which does not hold it")
    return None


_LAYERS = ("Linear", "Sequential", "Embedding", "Conv1d", "Conv2d", "LayerNorm", "MultiheadAttention")
