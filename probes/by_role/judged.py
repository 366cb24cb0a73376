"""What is minimised and how a model is judged: loss, metric, which weights."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..readers._tree import of, unparse, walk
from ..readers.script import argument, last_name, receiver
from .side import Side, Told
from .worked import same_loss

_LOSSES = {
    "cross-entropy": (
        r"^(?:cross_entropy|CrossEntropyLoss|nll_loss|NLLLoss|Sparse\w*Crossentropy|sparse_\w*crossentropy"
        r"|CategoricalCrossentropy|categorical_crossentropy|SoftmaxCrossEntropyWithLogits"
        r"|s\w*softmax_cross_entropy\w*)$"
    ),
    "binary cross-entropy": (
        r"^(?:BCE\w*Loss|binary_cross_?entropy\w*|BinaryCrossentropy|binary_crossentropy"
        r"|sigmoid_cross_entropy\w*)$"
    ),
    "squared error": r"^(?:mse_loss|MSELoss|MeanSquaredError|mean_squared_error|mse)$",
    "absolute error": r"^(?:l1_loss|L1Loss|MeanAbsoluteError|mean_absolute_error|mae)$",
    "Huber's loss": r"^(?:huber_loss|HuberLoss|Huber|huber|smooth_l1_loss|SmoothL1Loss)$",
}


def _families(side: Side) -> dict[str, ast.AST]:
    """Losses by family, those of metrics aside."""
    found: dict[str, ast.AST] = {}
    for name, ask in _LOSSES.items():
        calls = [c for c in side.matching(ask) if not _measures(side, c)]
        texts = [
            w.value
            for w in side.keywords.get("loss", [])
            if isinstance(w.value, ast.Constant) and re.match(ask, str(w.value.value))
        ]
        nodes: list[ast.AST] = [*calls, *texts]
        if nodes:
            found[name] = nodes[0]
    return found


def _measures(side: Side, call: ast.Call) -> bool:
    around = side.source.function_around(call)
    return (
        around is not None
        and re.match(r"(?i)(?:val|test|eval|on_val|on_test|predict|metric|score)", around.name) is not None
    )


def loss_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Another loss, a term of it left out, a weight or smoothing that is gone."""
    here, there = _families(mine), _families(theirs)
    if len(here) == len(there) == 1 and set(here) != set(there):
        if same_loss(mine.source, theirs.source):
            return
        (a, at), (b, beside) = *here.items(), *there.items()
        yield Told("loss-function", f"{a} here, {b} in the benchmark", mine.place(at), theirs.place(beside))
        return
    if mine.source.loose or (here and there and same_loss(mine.source, theirs.source)):
        return
    smooth = _smoothing(theirs)
    if smooth is not None and here and not mine.mentions("smooth"):
        text = f"the benchmark smooths the labels ({smooth[0]:g}), this script does not"
        yield Told(
            "regularisation-lowered", text, mine.place(next(iter(here.values()))), theirs.place(smooth[1])
        )
    terms, others = _terms(theirs), _terms(mine)
    if terms is not None and others is None and here and len(mine.source.backwards) < 2 and not _sums(mine):
        text = "the benchmark minimises a sum of losses, this script one alone"
        yield Told("loss-function", text, mine.place(next(iter(here.values()))), theirs.place(terms))


def _sums(side: Side) -> bool:
    """A loss and something else are added or taken from each other, by whatever names: `ce + 1 - dice`.

    A count that is added up (`total + loss.item()`) is taken for a sum, too.
    """
    for node in side.source.of(ast.BinOp):
        if not isinstance(node.op, (ast.Add, ast.Sub)):
            continue
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if _said_by_loss(side, one) and side.number(other) is None:
                if _said_by_loss(side, other) or isinstance(other, (ast.Call, ast.BinOp)):
                    return True
    return False


def _said_by_loss(side: Side, node: ast.expr) -> bool:
    return any(_OF_LOSS.search(word) for word in side.said(node))


def _smoothing(side: Side) -> tuple[float, ast.AST] | None:
    for word in side.keywords.get("label_smoothing", []) + side.keywords.get("smooth_factor", []):
        value = side.number(word.value)
        if value:
            return value, word.value
    return None


_OF_LOSS = re.compile(
    r"(?i)loss|dice|(?:^|_)b?ce(?:_|$)|cross_?entropy|criterion|aux|penal|kl(?:d|$)|jaccard|tversky"
)


def _terms(side: Side) -> ast.AST | None:
    """A sum of two losses, each with or without a weight: `0.5 * ce + 0.5 * dice`."""
    for node in side.source.of(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        if all(_is_loss(part) for part in (node.left, node.right)):
            return node
    for adds in side.source.of(ast.AugAssign):
        if isinstance(adds.op, ast.Add) and _is_loss(adds.target) and _is_loss(adds.value):
            return adds
    for call in side.source.named("sum"):
        over = call.args[0] if len(call.args) == 1 else None
        if not isinstance(over, (ast.GeneratorExp, ast.ListComp)):
            continue
        read = {last_name(c.func) for c in of(over.elt, ast.Call)} & {
            "item",
            "float",
            "detach",
            "cpu",
            "numpy",
        }
        if not read and any(map(_is_loss, _operands(over.elt))):
            return call
    return None


def _operands(node: ast.expr) -> list[ast.expr]:
    return [node, *of(node, ast.Call)]


def _is_loss(node: ast.expr) -> bool:
    """A loss by its name, or the call of one; a count or a sum over batches is none."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        sides = [x for x in (node.left, node.right) if not isinstance(x, ast.Constant)]
        node = next(
            (x for x in sides if _OF_LOSS.search(last_name(x.func if isinstance(x, ast.Call) else x))),
            sides[-1] if sides else node.left,
        )
    name = last_name(node.func) if isinstance(node, ast.Call) else last_name(node)
    if re.search("(?i)total|running|sum|item|epoch|avg|mean", name):
        return False
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call)) and bool(_OF_LOSS.search(name))


# ------------------------------------------------------------------------------------ class weights


def weights_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """Classes are weighed in the benchmark's loss and not here, or the other way round."""
    here, there = _weight(mine), _weight(theirs)
    if there is None:
        return
    if here is None:
        if (
            not mine.source.loose and not mine.mentions(r"weight(?!_decay)|alpha|balanc|Weighted|sampler")
        ) or _only_decay(mine):
            text = "the benchmark's loss weighs the classes, this one does not"
            yield Told("loss-weight", text, None, theirs.place(there))
        return
    first, second = _ratio(mine, here), _ratio(theirs, there)
    if first and second and first != second:
        text = "classes are weighed by the inverse of the benchmark's ratio"
        yield Told("loss-weight", text, mine.place(here), theirs.place(there))


def _only_decay(side: Side) -> bool:
    words = {w for w in side.words if re.search("(?i)weight|alpha|balanc|sampler", w)}
    return (
        all(re.search("(?i)decay|^weights?$|_weights?\\.|load", w) for w in words) and not side.source.loose
    )


_WEIGHS = re.compile(r"(?i)weight|balance")


def _weight(side: Side) -> ast.expr | None:
    for name in ("pos_weight", "class_weight", "class_weights", "sample_weight"):
        for word in side.keywords.get(name, []):
            if not (isinstance(word.value, ast.Constant) and word.value.value is None):
                return word.value
    for call in side.calls("from_tensor_slices"):
        given = argument(call, position=0)
        if isinstance(given, ast.Tuple) and len(given.elts) == 3 and _WEIGHS.search(unparse(given.elts[2])):
            return given.elts[2]  # Keras: one weight for each sample
    for call in side.calls(
        *("CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss", "BCELoss", "BCEWithLogitsLoss"),
        *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
    ):
        functional = last_name(call.func).islower()
        given = argument(call, "weight", position=2 if functional else 0)
        if given is not None and not isinstance(given, ast.Constant):
            return given
    return _multiplied(side)


def _multiplied(side: Side) -> ast.expr | None:
    """What losses of single samples are multiplied by: `losses * weights[labels]`, `losses.mul(weight)`."""
    pairs = [
        pair
        for n in side.source.of(ast.BinOp)
        if isinstance(n.op, ast.Mult)
        for pair in ((n.left, n.right), (n.right, n.left))
    ]
    pairs += [
        (c.func.value, c.args[0])
        for c in side.calls("mul", "mul_")
        if c.args and isinstance(c.func, ast.Attribute)
    ]
    for losses, factor in pairs:
        held = factor.value if isinstance(factor, ast.Subscript) else factor
        if isinstance(factor, ast.Subscript) and isinstance(factor.slice, (ast.Constant, ast.Slice)):
            continue
        picked = isinstance(factor, ast.Subscript) or side.mentions("^none$")
        named = isinstance(held, (ast.Name, ast.Attribute)) and any(map(_WEIGHS.search, side.said(held)))
        if named and picked:
            if any(_OF_LOSS.search(word) for word in side.said(losses)):
                return factor
    return None


def _ratio(side: Side, node: ast.expr) -> str:
    """ "rare up" where the many are divided by the few (negatives / positives), "rare down" the other way."""
    for part in side.follow(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
            above, below = (_kind(side, x) for x in (part.left, part.right))
            if {above, below} == {"negative", "positive"}:
                return f"{above} by {below}"
    for part in side.follow(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
            counts = [_counts(side, x) for x in (part.left, part.right)]
            shared = any(
                isinstance(p, ast.BinOp) and isinstance(p.op, ast.Sub) for p in side.source.above(part)
            )
            if counts[0] != counts[1] and not shared:
                return "counts by a number" if counts[0] else "a number by counts"
    return ""


def _counts(side: Side, node: ast.expr) -> bool:
    """Whether an operand holds the counts of classes, not their sum: `counts`, `n * counts`, `c` of them."""
    for part in walk(node):
        if isinstance(part, ast.Call) and last_name(part.func) in ("sum", "len", "max", "mean", "median"):
            return False
        if isinstance(part, ast.Name):
            if re.search(r"(?i)(?:^|_)(?:counts?|freqs?|frequenc\w*|hist(?:ogram)?)(?:_|$)", part.id):
                return True
            loops = [c for p in side.source.above(part) for c in getattr(p, "generators", [])]
            made = [
                c.iter for c in loops if part.id in {n.id for n in walk(c.target) if isinstance(n, ast.Name)}
            ]
            last = [n for m in made for n in walk(m) if isinstance(n, ast.Name)]
            if any(re.search(r"(?i)(?:^|_)(?:counts?|freqs?)(?:_|$)", n.id) for n in last):
                targets = [t for c in loops for t in [c.target] if isinstance(t, ast.Tuple)]
                if not targets or any(last_name(t.elts[-1]) == part.id for t in targets):
                    return True
    return False


def _kind(side: Side, node: ast.expr) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _kind(side, node.right) == "positive":
        return "negative"  # all but the positives
    for part in side.follow(node, 2):
        if isinstance(part, (ast.Name, ast.Attribute)):
            if re.search(r"(?i)(?:^|_)neg(?:s|atives?)?(?:_|$)", last_name(part)):
                return "negative"
            if re.search(r"(?i)(?:^|_)pos(?:itives?)?(?:_|$)", last_name(part)):
                return "positive"
        if (
            isinstance(part, ast.Compare)
            and isinstance(part.ops[0], ast.Eq)
            and isinstance(part.comparators[0], ast.Constant)
        ):
            return {"0": "negative", "1": "positive"}.get(str(part.comparators[0].value), "")
    return ""


# ------------------------------------------------------------------------------------------ metric


def metric_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """A score that is averaged over classes in another way, or text that is decoded in another way."""
    for names, says in (
        (("average",), "the score is averaged"),
        (("num_beams", "beam_size"), "texts are searched with beams"),
    ):
        here, there = (
            {side.value(w.value): w.value for n in names for w in side.keywords.get(n, [])}
            for side in (mine, theirs)
        )
        here.pop(None, None)
        there.pop(None, None)
        if here and there and set(here).isdisjoint(there):
            (a, at), (b, beside) = next(iter(here.items())), next(iter(there.items()))
            yield Told(
                "metric", f"{says}: {a} here, {b} in the benchmark", mine.place(at), theirs.place(beside)
            )
        elif there and not here and "average" not in names and mine.calls("generate"):
            b, beside = next(iter(there.items()))
            if not mine.mentions("beam|GenerationConfig|generation_config"):
                text = f"texts are searched with {b} beams in the benchmark, one word after the other here"
                yield Told("metric", text, mine.place(mine.calls("generate")[0]), theirs.place(beside))


# ----------------------------------------------------------------------------------- which weights

_LOADS = (
    "load_state_dict",
    "load_param_into_net",
    "load_weights",
    "load_from_checkpoint",
    "load_checkpoint",
    "restore",
    "load_model",
    "load_pretrained",
)


def _takes_back_best(side: Side) -> ast.AST | None:
    """Where the best weights of training are taken up again before the end."""
    for name, good in (
        ("restore_best_weights", True),
        ("load_best_model_at_end", True),
        ("ckpt_path", "best"),
    ):
        for word in side.keywords.get(name, []):
            if side.value(word.value) == good:
                return word.value
    loop = side.source.train_loop
    if loop is None:
        return None
    outer = [loop, *side.source.loops_around(loop)][-1]
    end = getattr(outer, "end_lineno", 0) or 0
    for call in side.source.named(*_LOADS):
        if call.lineno > end and side.source.function_around(call) is side.source.function_around(outer):
            return call
    return None


def best_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark judges or hands on its best weights, this script those of the last epoch."""
    there = _takes_back_best(theirs)
    if there is None or mine.source.loose or _takes_back_best(mine) is not None:
        return
    if (
        mine.mentions(r"restore_best|load_best|ckpt_path|from_pretrained$|BestCheckpoint|EarlyStopping$")
        and not mine.by_trainer
    ):
        return
    if mine.source.named(*_LOADS) and mine.source.train_loop is None and not mine.by_trainer:
        return
    late = [
        c
        for c in mine.source.named(*_LOADS)
        if mine.source.train_loop is not None and c.lineno > mine.source.train_loop.lineno
    ]
    if late:
        return
    text = "the benchmark takes its best weights back at the end, this script goes on with the last ones"
    yield Told("best-checkpoint", text, None, theirs.place(there))


_AVERAGES = (
    r"(?i)(?:^|_)ema(?:_|$)|AveragedModel|ExponentialMovingAverage|ModelEma|(?:^|_)swa(?:_|$)|shadow|polyak"
)


_WEIGHTS_OF = re.compile(r"parameters|state_dict|variables|weights|get_parameters|params")


def averages_by_hand(side: Side) -> bool:
    """Whether weights are blended with others, under any name: `slow.lerp_(fast, t)`, `d * a + (1 - d) * b`.

    Seen in loops over weights, and over numbers where weights are read by their place.
    """
    for node in side.source.of(ast.For, ast.ListComp, ast.DictComp):
        over = node.iter if isinstance(node, ast.For) else node.generators[0].iter
        if any(_WEIGHTS_OF.search(word) for word in side.said(over)) and any(map(_blends, walk(node))):
            return True
    return bool(side.calls("_foreach_lerp_"))


def _blends(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        inner = receiver(node)
        scaled = isinstance(inner, ast.Call) and last_name(inner.func) in ("mul_", "mul")
        return last_name(node.func) in ("lerp_", "lerp") or (
            scaled and last_name(node.func) in ("add_", "add")
        )
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and all(isinstance(x, ast.BinOp) and isinstance(x.op, ast.Mult) for x in (node.left, node.right))
    )


def average_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark keeps an average of its weights, and this script none, or one that nothing moves."""
    if mine.source.loose or not theirs.mentions(_AVERAGES):
        return
    there = next((c for c in theirs.source.calls if re.search(_AVERAGES, ast.unparse(c.func))), None)
    if not mine.mentions(_AVERAGES + "|averag"):
        if averages_by_hand(mine):
            return
        text = "the benchmark keeps a moving average of its weights, this script does not"
        yield Told("average-left-out", text, None, theirs.place(there))
        return
    made = [
        n
        for n in mine.source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and last_name(n.value.func) == "AveragedModel"
    ]
    for one in made:
        name = last_name(one.targets[0])
        moved = [
            c
            for c in mine.source.named("update_parameters")
            if last_name(getattr(c.func, "value", c.func)) == name
        ]
        if not moved:
            text = "the average of the weights is made and nothing moves it"
            yield Told("average-left-out", text, mine.place(one), theirs.place(there))
            return
        aside = {n for c in (*moved, *mine.calls("AveragedModel")) for n in ast.walk(c)}
        reads = [n for n in mine.source.of(ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Load)]
        if not any(last_name(n) == name and n not in aside for n in reads):
            text = "the average of the weights is kept, and neither judged nor saved: the model itself is"
            yield Told("average-left-out", text, mine.place(one), theirs.place(there))
            return
