"""Equal ways to compute one thing, made one: what the frameworks document as the same."""

from __future__ import annotations

from .equal_calls import equal_call
from .equal_masks import extreme
from .terms import Term


def rewritten(term: Term) -> Term:
    """The term with known equal forms replaced by one of them, from the inside out."""
    parts = tuple((edge, rewritten(part)) for edge, part in term.parts)
    changed = any(new is not old for (_, new), (_, old) in zip(parts, term.parts, strict=True))
    return _one(Term(term.kind, term.label, parts, term.node) if changed else term)


def _one(term: Term) -> Term:
    term = equal_call(extreme(term) if term.kind in ("attribute", "item") else term)
    if term.kind == "comprehension":
        return _comprehension(term)
    if term.kind == "item":
        return _item(term)
    if term.kind == "operation" and term.label == "/" and (times := _times_exp(term)) is not None:
        return times
    if term.kind != "call":
        return term
    if (groups := term.part("params")) is not None and (plain := _one_group(groups)) is not None:
        return Term(
            "call", term.label, tuple((e, plain if e == "params" else p) for e, p in term.parts), term.node
        )
    first = term.parts[0][1] if term.parts else None
    if first is None:
        return term
    if term.label == "save" and first.kind == "comprehension" and (held := _same_entries(first)) is not None:
        return _with_first(term, "save", held)
    if term.label in ("hflip", "vflip") and len(term.parts) == 1:
        return Term(
            "call", "flip", (("#0", first), ("#1", _number(-1 if term.label == "hflip" else -2))), term.node
        )
    if term.label == "SoftmaxCrossEntropyWithLogits" and (sparse := term.part("sparse")) is not None:
        if sparse.label == "True":  # MindSpore; its reduction is "none" where none is named
            given = [p for p in term.parts if p[0] not in ("sparse", "reduction")]
            how = term.part("reduction") or Term("constant", "'none'")
            given += [("reduction", how)] if how.label != "'mean'" else []
            return Term("call", "cross_entropy", tuple(given), term.node)
    if term.label in ("Trainer", "Seq2SeqTrainer"):
        return _plain_collator(term)
    if term.label == "fit" and term.part("self") is not None:
        return _fitted(term)
    if term.label == "Compose":
        return _composed(term)
    if term.label in RANKS:
        return Term("call", term.label, tuple((e, _unbent(p)) for e, p in term.parts), term.node)
    if term.label == "argsort" and (down := _downwards(term, first)) is not None:
        return down
    if term.label == "argmax" and first.kind == "call" and first.label in ("softmax", "log_softmax"):
        over = [x.part("dim") for x in (term, first)]
        if over[0] is not None and over[1] is not None and over[0].key == over[1].key:
            return Term("call", "argmax", ((term.parts[0][0], first.parts[0][1]), *term.parts[1:]), term.node)
    if term.label == "nll_loss" and first.label == "log_softmax" and first.kind == "call":
        return _with_first(term, "cross_entropy", first.parts[0][1])
    if term.label == "binary_cross_entropy" and first.kind == "call" and first.label == "sigmoid":
        return _with_first(term, "binary_cross_entropy_with_logits", first.parts[0][1])
    if term.label in _SCHEDULES:
        named = ("name", Term("constant", repr(_SCHEDULES[term.label])))
        return Term("call", "get_scheduler", (named, *term.parts), term.node)
    if term.label in ("huber_loss", "smooth_l1_loss"):
        kept = tuple(p for p in term.parts if p[0] not in ("delta", "beta") or p[1].label != "1.0")
        bent = any(e in ("delta", "beta") for e, _ in kept)  # of another border they differ by a factor
        return Term("call", term.label if bent else "smooth_l1_loss", kept, term.node)
    if term.label == "any" and (asked := _one_of_several(first)) is not None and len(term.parts) == 1:
        return asked
    if term.label in ("item", "float") and first.kind == "call" and first.label in ("detach", "item", "data"):
        return _one(Term("call", "item", (("#0", first.parts[0][1]),), term.node))
    if term.label in ("detach", "data") and first.kind == "call" and first.label in ("detach", "data"):
        return first
    if (
        term.label in ("train", "set_train")
        and (mode := term.part("mode")) is not None
        and mode.label == "False"
    ):
        return Term("call", "eval", tuple(p for p in term.parts if p[0] != "mode"), term.node)
    if term.label == "add_" and first.kind == "call" and first.label == "mul_":
        return _average(term, first)
    if term.label in ("permute", "transpose") and (swapped := _swapped(term)):
        moved = [("#1", _number(swapped[0])), ("#2", _number(swapped[1]))]
        return Term("call", "transpose", (("#0", first), *moved), term.node)
    if term.label == "fliplr":
        return _flipped(first, 1, term)
    if term.label == "flipud":
        return _flipped(first, 0, term)
    if term.label == "flatten" and first.kind == "call" and first.label == "adaptive_avg_pool2d":
        size = first.part("output_size")
        if size is not None and {t.label for t in size.walk() if t.kind == "number"} == {"1.0"}:
            axes = Term("sequence", "", (("#0", _number(2)), ("#1", _number(3))))
            return Term("call", "mean", (("#0", first.parts[0][1]), ("dim", axes)), term.node)
    return term


def _times_exp(term: Term) -> Term | None:
    """`x / exp(y)` is `x * exp(-y)`."""
    left, right = term.part("left"), term.part("right")
    if left is None or right is None or right.kind != "call" or right.label != "exp" or len(right.parts) != 1:
        return None
    edge, inner = right.parts[0]
    if inner.kind == "operation" and inner.label == "negative":
        turned = inner.parts[0][1]
    else:
        turned = Term("operation", "negative", (("left", inner),), term.node)
    power = Term("call", "exp", ((edge, turned),), right.node)
    return Term("operation", "*", (("left", left), ("right", power)), term.node)


def _downwards(term: Term, first: Term) -> Term | None:
    """`argsort(-x)` is `argsort(x, descending=True)`."""
    if term.part("descending") is not None or first.kind != "operation":
        return None
    if first.label != "negative" or not first.parts:
        return None
    rest = (*term.parts[1:], ("descending", Term("constant", "True")))
    return Term("call", "argsort", ((term.parts[0][0], first.parts[0][1]), *rest), term.node)


def _same_entries(term: Term) -> Term | None:
    """The dict that `{k: v.cpu() for k, v in held.items()}` is a copy of."""
    over, key, value = term.part("in0"), term.part("key"), term.part("value")
    if over is None or key is None or value is None or over.label != "items" or len(term.parts) != 4:
        return None
    while value.kind == "call" and value.label in ("clone", "detach") and len(value.parts) == 1:
        value = value.parts[0][1]
    plain = key.kind == value.kind == "name" and (key.label, value.label) == ("each-0", "each-1")
    return over.part("self") if plain else None


def _one_of_several(term: Term) -> Term | None:
    """`any(name.endswith(x) for x in ends)` is `name.endswith(ends)`, of a tuple."""
    value, over = term.part("value"), term.part("in0")
    if term.kind != "comprehension" or value is None or over is None or value.kind != "call":
        return None
    if value.label not in ("endswith", "startswith") or term.part("in1") is not None or term.part("if0.0"):
        return None
    asked = [p for e, p in value.parts if e != "self"]
    if len(asked) != 1 or asked[0].kind != "name" or asked[0].label != "each-0":
        return None
    parts = tuple((e, p if e == "self" else over) for e, p in value.parts)
    return Term("call", value.label, parts, term.node)


# what transformers.get_scheduler(name, ...) makes (optimization.py, TYPE_TO_SCHEDULER_FUNCTION)
_SCHEDULES = {
    "get_linear_schedule_with_warmup": "linear",
    "get_cosine_schedule_with_warmup": "cosine",
    "get_cosine_with_hard_restarts_schedule_with_warmup": "cosine_with_restarts",
    "get_polynomial_decay_schedule_with_warmup": "polynomial",
    "get_constant_schedule": "constant",
    "get_constant_schedule_with_warmup": "constant_with_warmup",
}


# metrics that depend on the order of the scores alone
RANKS = ("roc_auc_score", "average_precision_score", "roc_curve")


def _plain_collator(term: Term) -> Term:
    """A Trainer pads with its tokenizer where it is told no collator (transformers, trainer.py)."""
    tokenizer = term.part("processing_class") or term.part("tokenizer")
    collator = term.part("data_collator")
    if tokenizer is None or collator is None or collator.label != "DataCollatorWithPadding":
        return term
    if len(collator.parts) != 1 or collator.parts[0][1].key != tokenizer.key:
        return term
    return Term("call", term.label, tuple(p for p in term.parts if p[0] != "data_collator"), term.node)


def _fitted(term: Term) -> Term:
    """Keras: `fit(from_tensor_slices((x, y)).shuffle(n).batch(b))` as `fit(x, y, batch_size=b)`."""
    edges = [e for e, _ in term.parts]
    parts = list(term.parts)
    first = next((e for e in ("#0", "x") if e in edges), None)
    if first is not None and "#1" not in edges and "y" not in edges and "batch_size" not in edges:
        given = _sliced(term.part(first))
        if given is not None and given[1] is not None:
            values, size, shuffled = given
            at = edges.index(first)
            more = [("batch_size", size)] + ([] if shuffled else [("shuffle", Term("constant", "False"))])
            parts = [*parts[:at], ("#0", values[0]), ("#1", values[1]), *parts[at + 1 :], *more]
    held = _sliced(term.part("validation_data"))
    if held is not None:
        both = Term("sequence", "", tuple((f"#{i}", x) for i, x in enumerate(held[0])))
        parts = [(e, both if e == "validation_data" else p) for e, p in parts]
    return Term("call", "fit", tuple(parts), term.node) if parts != list(term.parts) else term


def _sliced(term: Term | None) -> tuple[list[Term], Term, bool] | None:
    """Of a dataset of arrays in batches: the two arrays, the size of a batch, whether it is shuffled."""
    size: Term | None = None
    shuffled = False
    while (
        term is not None and term.kind == "call" and term.label in ("batch", "shuffle", "cache", "prefetch")
    ):
        if term.label == "batch":
            size = next((p for e, p in term.parts if e in ("#0", "batch_size")), None)
        shuffled = shuffled or term.label == "shuffle"
        term = term.part("self")
    if term is None or term.label != "from_tensor_slices" or size is None:
        return None
    pair = next((p for e, p in term.parts if e != "self"), None)
    if pair is None or pair.kind != "sequence" or len(pair.parts) != 2:
        return None
    return [p for _, p in pair.parts], size, shuffled


def _unbent(term: Term) -> Term:
    """Scores without the sigmoid that keeps their order."""
    if term.kind != "call" or not term.parts:
        return term
    edge, inner = term.parts[0]
    if term.label == "sigmoid":
        return inner
    if term.label in ("numpy", "detach", "tolist", "cpu", "float", "squeeze", "flatten"):
        return Term("call", term.label, ((edge, _unbent(inner)), *term.parts[1:]), term.node)
    return term


def _one_group(groups: Term) -> Term | None:
    """The parameters of `[{"params": parameters}]`, a single group without settings of its own."""
    if groups.kind != "sequence" or len(groups.parts) != 1:
        return None
    group = groups.parts[0][1]
    return (
        group.parts[0][1] if group.kind == "mapping" and [e for e, _ in group.parts] == ["params"] else None
    )


def _composed(term: Term) -> Term:
    """`ToImage(), ..., ToDtype(float32, scale=True)` is `ToTensor()` (torchvision, transforms v2)."""
    [(edge, steps), *more] = term.parts
    made = [p for _, p in steps.parts]
    if steps.kind != "sequence" or not any(p.label in ("ToImage", "PILToTensor") for p in made):
        return term
    scaled = [i for i, p in enumerate(made) if p.label == "ToDtype" and "True" in {t.label for t in p.walk()}]
    if len(scaled) != 1 or not any(t.label == "float32" for t in made[scaled[0]].walk()):
        return term
    made[scaled[0]] = Term("call", "ToTensor", (), made[scaled[0]].node)
    kept = [p for p in made if p.label not in ("ToImage", "PILToTensor")]
    whole = Term("sequence", steps.label, tuple((f"#{i}", p) for i, p in enumerate(kept)), steps.node)
    return Term("call", "Compose", ((edge, whole), *more), term.node)


def _average(term: Term, first: Term) -> Term:
    """`e.mul_(d).add_(p, alpha=1 - d)` is `e.lerp_(p, 1 - d)`."""
    of, share = first.part("self"), first.part("#0")
    other, rest = term.part("#0"), term.part("alpha")
    if of is None or share is None or other is None or rest is None or rest.label != "-":
        return term
    one, less = rest.part("left"), rest.part("right")
    if one is None or less is None or one.label != "1.0" or less.key != share.key:
        return term
    return Term("call", "lerp_", (("self", of), ("#0", other), ("#1", rest)), term.node)


def _swapped(term: Term) -> tuple[int, int] | None:
    """The two axes that `permute`, or MindSpore's `transpose(0, 2, 1)`, changes over and no other."""
    axes = [part for _, part in term.parts[1:]]
    if len(axes) == 1 and axes[0].kind == "sequence":
        axes = [part for _, part in axes[0].parts]
    if term.label == "transpose" and len(axes) < 3:
        return None  # two axes are changed over
    if any(a.kind != "number" for a in axes):
        return None
    order = [int(float(a.label)) for a in axes]
    moved = [i for i, a in enumerate(order) if a != i]
    if len(moved) == 2 and sorted(order) == list(range(len(order))):
        return moved[0], moved[1]
    return None


def _with_first(term: Term, label: str, first: Term) -> Term:
    return Term("call", label, ((term.parts[0][0], first), *term.parts[1:]), term.node)


def _number(value: int) -> Term:
    return Term("number", repr(float(value)))


def _flipped(of: Term, axis: int, term: Term) -> Term:
    turn = Term("slice", "", (("step", _number(-1)),))
    index = Term("sequence", "", (("#0", Term("slice", "")), ("#1", turn))) if axis else turn
    return Term("item", "", (("of", of), ("index", index)), term.node)


def _comprehension(term: Term) -> Term:
    """`(t for t in batch)` is batch; `{k: v.clone() for k, v in sd.items()}` is a deep copy of sd."""
    value, over = term.part("value"), term.part("in0")
    if value is None or over is None:
        return term
    rows = term.part("in1")
    if rows is not None and len(term.parts) == 5 and rows.label == "each-0" and value.label == "each-1":
        if rows.kind == value.kind == "name" and term.label == "list":  # `[x for row in rows for x in row]`
            return Term("call", "sum", (("#0", over), ("dim", Term("sequence", ""))), term.node)
    if len([e for e, _ in term.parts if e.startswith(("in", "if"))]) > 1:
        return term
    if term.label == "list" and term.part("key") is None and value.kind == "name" and value.label == "each-0":
        target = term.part("for0")
        return over if target is not None and target.kind == "name" else term
    if over.kind == "call" and over.label == "items" and value.kind == "call" and value.label == "clone":
        inner = over.part("self")
        if inner is not None:
            return Term("call", "deepcopy", (("#0", inner),), term.node)
    return term


def _item(term: Term) -> Term:
    """`x[:, 0]` and `x[..., 0]` as `x.squeeze(-1)`: where both are written, the axis has one element."""
    index, of = term.part("index"), term.part("of")
    if index is not None and of is not None and (axis := _new_axis(index)) is not None:
        return Term("call", "unsqueeze", (("#0", of), ("dim", _number(axis))), term.node)
    if index is not None and of is not None and index.kind == "sequence" and len(index.parts) > 3:
        first, *rest = (part for _, part in index.parts)  # one value per sample, spread over its axes
        if first.kind == "slice" and not first.parts and all(p.label == "None" for p in rest):
            ones = [(f"#{i}", _number(1)) for i in range(2, len(rest) + 2)]
            return Term("call", "view", (("#0", of), ("#1", _number(-1)), *ones), term.node)
    if index is None or of is None or index.kind != "sequence" or len(index.parts) != 2:
        return term
    (_, first), (_, second) = index.parts
    every = (first.kind == "slice" and not first.parts) or first.label == "Ellipsis"
    if every and second.label == "0.0" and of.kind == "call":
        return Term("call", "squeeze", (("#0", of), ("dim", Term("number", "-1.0"))), term.node)
    return term


def _new_axis(index: Term) -> int | None:
    """Where an index puts one axis of one element, and nothing else: 0 of `x[None]`, 1 of `x[:, None]`."""
    axes = [part for _, part in index.parts] if index.kind == "sequence" else [index]
    new = [i for i, part in enumerate(axes) if part.kind in ("constant", "api") and part.label in _NEW]
    whole = [part.kind == "slice" and not part.parts for part in axes]
    if len(new) != 1:
        return None
    at = new[0]
    if all(whole[:at]) and all(
        w or part.label == "Ellipsis" for w, part in zip(whole[at + 1 :], axes[at + 1 :], strict=True)
    ):
        return at
    if at and axes[0].label == "Ellipsis" and all(whole[1:at]) and all(whole[at + 1 :]):
        return at - len(axes)
    return None


_NEW = ("None", "newaxis")


# Keras: `compile(loss="mse")` and `compile(loss=MeanSquaredError())` are one, and metrics of the same name
# (keras-docs, losses and metrics)
_KERAS = {
    "MeanSquaredError": ("mse", "MSE", "mean_squared_error"),
    "MeanAbsoluteError": ("mae", "MAE", "mean_absolute_error"),
    "BinaryCrossentropy": ("binary_crossentropy",),
    "CategoricalCrossentropy": ("categorical_crossentropy",),
    "SparseCategoricalCrossentropy": ("sparse_categorical_crossentropy",),
    "RootMeanSquaredError": ("root_mean_squared_error",),
    "BinaryAccuracy": ("binary_accuracy",),
    "CategoricalAccuracy": ("categorical_accuracy",),
    "SparseCategoricalAccuracy": ("sparse_categorical_accuracy",),
    "AUC": ("auc", "AUC"),
}


def one_loss(a: Term, b: Term) -> bool:
    """Whether one is the name of the Keras loss, or metric, that the other one makes with its defaults."""
    return any(
        made.kind == "call"
        and given.label in [repr(n) for n in _KERAS.get(made.label, ())]
        and all(edge == "name" and part.key == given.key for edge, part in made.parts)
        for made, given in ((a, b), (b, a))
    )
