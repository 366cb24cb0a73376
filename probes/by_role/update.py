"""How weights are updated: clipping, optimizer, groups of parameters, schedule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..readers._tree import of, unparse
from ..readers.script import argument, last_name
from .side import Side, Told

Known = tuple[str, ast.AST | None]
_CLIPS = r"clip_?(?:grad|norm|val|by|delta)|grad\w*_?clip|max_(?:grad_)?norm|Clip(?:By|Grad)|agc"
_NORMS = ("clip_grad_norm_", "clip_grad_norm", "clip_by_global_norm", "clip_by_norm", "clip_grad_by_norm")
_BY_NORM = ("global_clipnorm", "clipnorm", "gradient_clip_val", "max_grad_norm", "gradient_clipping")


def clipping(side: Side) -> Known | None:
    """How gradients are clipped: "norm", "value" or "none"; None where that is not seen."""
    for word in side.keywords.get("gradient_clip_algorithm", []):
        if side.value(word.value) == "value":
            return "value", word.value
    by_value = [
        c
        for c in side.calls("clip_grad_value_", "clip_by_value")
        if "value_" in last_name(c.func) or any("grad" in w for w in side.said(c))
    ]
    norms: list[ast.AST] = list(side.calls(*_NORMS))
    for name in _BY_NORM:
        norms += [w.value for w in side.keywords.get(name, []) if side.value(w.value) not in (None, 0, 0.0)]
    values = [*by_value, *(w.value for w in side.keywords.get("clipvalue", []))]
    if norms:
        return None if values else ("norm", norms[0])
    if values:
        return "value", values[0]
    if side.by_trainer and "max_grad_norm" not in side.keywords:
        return "norm", None  # 1.0 by default
    unseen = side.source.loose or side.mentions(_CLIPS) or _scaled_by_hand(side)
    return None if unseen else ("none", None)


def _scaled_by_hand(side: Side) -> bool:
    """Whether gradients are multiplied by what is computed: `p.grad.mul_(limit / norm)`."""
    for node in side.source.of(ast.Call, ast.AugAssign, ast.Assign):
        held: ast.expr
        if isinstance(node, ast.Call):
            if last_name(node.func) not in ("mul_", "div_", "copy_", "clamp_") or not node.args:
                continue
            held, factor = getattr(node.func, "value", node.func), node.args[0]
        elif isinstance(node, ast.AugAssign):
            held, factor = node.target, node.value
        else:
            held, factor = node.targets[0], node.value
            if not isinstance(factor, ast.BinOp):
                continue
        named = [
            n
            for n in of(held, ast.Attribute, ast.Name)
            if re.match(r"^(?:grads?|gradients?|g)$", last_name(n))
        ]
        if named and not isinstance(factor, ast.Constant):
            return True
    return any(  # `gradients = [g * scale for g in gradients]`
        isinstance(n.elt, ast.BinOp) and re.search(r"(?i)(?:^|_)grad", last_name(n.generators[0].iter))
        for n in side.source.of(ast.ListComp)
    )


def clipping_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Gradients are cut by their norm in the benchmark, and not, or each value by itself, here."""
    here, there = clipping(mine), clipping(theirs)
    if here is None or there is None or there[0] != "norm" or here[0] == "norm":
        return
    if here[0] == "none":
        text = "the benchmark clips the norm of the gradients, this script does not clip"
        yield Told("clipping-left-out", text, None, theirs.place(there[1]))
    else:
        text = "each value of a gradient is clipped by itself here, the norm of all in the benchmark"
        yield Told("clipping-by-value", text, mine.place(here[1]), theirs.place(there[1]))


# ------------------------------------------------------------------------------------------------- optimizer

_FAMILY = {
    **dict.fromkeys(
        ("SGD", "Momentum", "GradientDescentOptimizer", "MomentumOptimizer", "NpuFusedSGD"), "SGD"
    ),
    **dict.fromkeys(("Adam", "AdamOptimizer", "NpuFusedAdam"), "Adam"),
    **dict.fromkeys(("AdamW", "NpuFusedAdamW", "AdamWeightDecay", "AdamWeightDecayOptimizer"), "AdamW"),
    **dict.fromkeys(("RMSprop", "RMSProp", "RMSPropOptimizer"), "RMSprop"),
    **dict.fromkeys(("Adagrad", "AdagradOptimizer"), "Adagrad"),
    **dict.fromkeys(("Lion", "Adafactor", "LBFGS", "NAdam", "RAdam"), ""),
}
_DECAY = {"torch": 0.01, "keras": 0.004, "mindspore": 0.0, "": 0.01}  # AdamW's default


def optimizers(side: Side) -> list[ast.Call]:
    """Where optimizers are made."""
    return [c for c in side.calls(*_FAMILY) if c.args or c.keywords]


def optimizer(side: Side) -> tuple[str, float | None, ast.Call] | None:
    """The only optimizer: its family, its weight decay (None: not known), where it is made."""
    made = optimizers(side)
    if len(made) != 1 or side.by_trainer or side.source.loose:
        return None
    call = made[0]
    family = _FAMILY[last_name(call.func)]
    asked = argument(call, "weight_decay")
    decay = side.number(asked) if asked is not None else None
    if asked is None:
        decay = _DECAY[side.framework] if family == "AdamW" else 0.0
    if "value='weight_decay'" in ast.dump(call) or _groups(side, "weight_decay"):
        decay = None
    if family == "Adam" and side.framework == "keras" and decay:
        family = "AdamW"  # Keras' decay is decoupled
    return family, decay, call


def optimizer_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Another family of optimizer, another form of weight decay, other momentum."""
    here, there = optimizer(mine), optimizer(theirs)
    if here is None or there is None or not here[0] or not there[0]:
        return
    places = mine.place(here[2]), theirs.place(there[2])
    if here[0] != there[0]:
        if {here[0], there[0]} == {"Adam", "AdamW"} and not (here[1] != 0 or there[1] != 0):
            return
        text = f"{here[0]} updates the weights here, {there[0]} in the benchmark"
        if {here[0], there[0]} == {"Adam", "AdamW"}:
            text += ": weight decay is coupled to the gradient in one of them, decoupled in the other"
        yield Told("optimizer", text, *places)
        return
    if here[0] == "SGD":
        first, second = (_momentum(s, c[2]) for s, c in ((mine, here), (theirs, there)))
        if first is not None and second is not None:
            near = max(1 - first[0], 0.001) / max(1 - second[0], 0.001)
            if not 0.6 < near < 1.7:
                yield Told(
                    "optimizer-details",
                    f"momentum {first[0]:g} here, {second[0]:g} in the benchmark",
                    *places,
                )
            elif first[1] != second[1]:
                has = "here" if first[1] else "in the benchmark"
                yield Told("optimizer-details", f"Nesterov momentum only {has}", *places)


def _momentum(side: Side, call: ast.Call) -> tuple[float, bool] | None:
    asked = argument(call, "momentum")
    if asked is None and last_name(call.func) in ("Momentum", "MomentumOptimizer"):
        return None
    if asked is None and any(k.arg is None for k in call.keywords):
        return None
    value = side.number(asked) if asked is not None else (0.0 if len(call.args) < 3 else None)
    nesterov = side.value(argument(call, "nesterov", "use_nesterov")) is True
    return (value, nesterov) if value is not None else None


def _groups(side: Side, key: str) -> list[ast.Dict]:
    """Groups of parameters that are given a setting of their own."""
    return [
        d
        for d in side.source.of(ast.Dict)
        if side.runs(d) and {"params", key} <= {k.value for k in d.keys if isinstance(k, ast.Constant)}
    ]


_WHOLE = ("parameters", "trainable_params", "trainable_variables", "get_parameters")


def _of_all(side: Side, given: ast.expr) -> bool:
    """`model.parameters()`, `[p for p in net.parameters()]`: those of the whole, not of a part of it."""
    calls = [n for n in side.follow(given) if isinstance(n, ast.Call) and last_name(n.func) in _WHOLE]
    owners = [c.func.value for c in calls if isinstance(c.func, ast.Attribute)]
    return bool(owners) and all(
        isinstance(o, ast.Name) or last_name(o) in ("model", "net", "network", "module") for o in owners
    )


def parts_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """The optimizer gets some parts of the model here, and more of them in the benchmark."""
    here, there = _parts(mine), _parts(theirs)
    if here is not None and there is not None and here[0] < there[0]:
        left = ", ".join(sorted(there[0] - here[0]))
        text = f"the optimizer gets no parameters of {left} here, and does in the benchmark"
        yield Told("optimizer-parameters", text, mine.place(here[1]), theirs.place(there[1]))


def _parts(side: Side) -> tuple[frozenset[str], ast.Call] | None:
    """Parts of a model of which the only optimizer gets the parameters: `model.head.parameters()`."""
    made = optimizers(side)
    given = argument(made[0], "params", "parameters", position=0) if len(made) == 1 else None
    if given is None or side.source.loose or side.mentions("^requires_grad_?$|^add_param_group$"):
        return None
    calls = [n for n in side.follow(given) if isinstance(n, ast.Call) and last_name(n.func) in _WHOLE]
    owners = [c.func.value for c in calls if isinstance(c.func, ast.Attribute)]
    if not owners or not all(isinstance(o, ast.Attribute) for o in owners):
        return None
    return frozenset(last_name(o) for o in owners), made[0]


def groups_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """All parameters have one weight decay or rate here, and groups of them others in the benchmark."""
    if mine.source.loose or mine.mentions(r"no_?decay|param_?groups?$|layer_?wise|exclude_from_weight_decay"):
        return
    made = optimizers(mine)
    if len(made) != 1 or any(
        "params" in {getattr(k, "value", "") for k in d.keys}
        for d in mine.source.of(ast.Dict)
        if mine.runs(d)
    ):
        return
    given = argument(made[0], "params", "parameters", position=0)
    if given is None or not _of_all(mine, given):
        return
    if any(isinstance(n, ast.If) or (isinstance(n, ast.comprehension) and n.ifs) for n in mine.follow(given)):
        return  # those that train, or another choice
    for key, says in (("weight_decay", "weight decay"), ("lr", "learning rate")):
        there = _groups(theirs, key)
        if there:
            off = any(
                theirs.number(v) == 0
                for d in there
                for k, v in zip(d.keys, d.values, strict=True)
                if getattr(k, "value", "") == key
            )
            if key == "weight_decay" and not off:
                continue
            what = (
                "some parameters (norms, biases) have none"
                if key == "weight_decay"
                else "some parameters have another"
            )
            text = f"one {says} for all parameters here; in the benchmark {what}"
            yield Told("groups-left-out", text, mine.place(made[0]), theirs.place(there[0]))
            return


# -------------------------------------------------------------------------------------------------- schedule

_SCHEDULES = (
    r"(?:^|_)lr_?sched|LR$|Scheduler$|Schedule$|^\w+Decay$|get_\w*schedule|cosine|warm_?up|param_groups"
    r"|_decay_lr$|_lr$|decay_?(?:rate|steps)|exponential_decay|piecewise|polynomial|anneal|set_value|assign"
    r"|adjust_\w*(?:lr|rate)|lr_lambda|plateau"
)
_COURSES = re.compile(  # words of programs whose rate changes while they train, told by their capitals, too
    r"\wLR$|[Ss]chedul|Decay$|_decay_lr$|[Cc]osine|param_groups|lr_lambda|anneal|exponential_decay|piecewise"
    r"|rates$|lrs$|(?:get|set|update|adjust|compute|calc)_?(?:\w+_)?(?:lr|rate)|(?:lr|rate)_?(?:at|for|of|fn|func|"
    r"factor|scale|mult)|[Ww]arm_?[Uu]p_?(?:cos|lin|lr|rate|factor)"
)


def schedule_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The rate follows a course in the benchmark and stays as it is here; or the warm-up is gone."""
    if mine.source.loose:
        return
    made = theirs.matching(
        r"LR$|Schedule$|_schedule(?:_with_warmup)?$|^get_scheduler$|_decay_lr$|^\w+Decay(?:LR)?$"
    )
    made = tuple(c for c in made if last_name(c.func) not in _FAMILY)
    if made and not mine.by_trainer and not mine.mentions(_SCHEDULES):
        text = "the learning rate stays as it is here; in the benchmark it follows a schedule"
        yield Told("schedule-length", text, None, theirs.place(made[0]))
        return
    there = _warm(theirs)
    if there is None:
        return
    if not mine.mentions("warm|OneCycle|ramp") and not mine.mentions(
        r"^LambdaLR$|LearningRateSchedule$|^param_groups$"
    ):
        text = "the learning rate starts at its full height here; the benchmark warms it up"
        yield Told("warmup", text, None, theirs.place(there))
        return
    zeros = _warm_values(mine)
    if zeros and all(v == 0 for v, _ in zeros):
        yield Told("warmup", "the warm-up takes no steps here", mine.place(zeros[0][1]), theirs.place(there))


def _warm_values(side: Side) -> list[tuple[float, ast.AST]]:
    """Lengths of warm-ups: constants by that name, arguments, defaults."""
    found: list[tuple[float, ast.AST]] = []
    ask = re.compile(r"(?i)^(?:n_|num_)?warm(?!\w*(?:target|factor|lr|rate|start|power|mode|bias))\w*$")
    for name, nodes in side.given.items():
        if ask.match(name):
            found += [(v, n) for n in nodes if (v := side.number(n)) is not None]
    for name, words in side.keywords.items():
        if ask.match(name):
            found += [(v, w.value) for w in words if (v := side.number(w.value)) is not None]
    for node in side.source.of(ast.AnnAssign):
        if isinstance(node.target, ast.Name) and ask.match(node.target.id):
            value = side.number(node.value)
            found += [(value, node)] if value is not None else []
    for call in side.matching(r"^get_\w+_schedule_with_warmup$"):
        given = side.number(call.args[1]) if len(call.args) > 1 else None
        found += [(given, call)] if given is not None else []
    return found


def _warm(side: Side) -> ast.AST | None:
    """Where a warm-up of the rate stands, of some length: a memory or a queue may be warmed up as well."""
    lengths = [n for v, n in _warm_values(side) if v > 0]
    if lengths and not side.by_trainer and not any(map(_COURSES.search, side.words)):
        if not any(
            "lr" in (to := unparse(c.func)) or "rate" in to for c in side.calls("assign", "set_value")
        ):
            return None
    made = side.matching(r"with_warmup$|^OneCycleLR$|Warm[Uu]p\w*(?:LR|Schedule)")
    if any(v == 0 for v, _ in _warm_values(side)) and not lengths:
        return None
    return lengths[0] if lengths else (made[0] if made else None)


_STEPS = re.compile(
    r"(?i)steps|len$|get_dataset_size|cardinality|num_batches|iters|updates|total|per_epoch|batches"
)
_HORIZON = (
    "decay_steps",
    "T_max",
    "total_steps",
    "boundaries",
    "milestone",
    "first_decay_steps",
    "step_size",
)


def counted_in_epochs(mine: Side, theirs: Side) -> Iterator[Told]:
    """A schedule that the framework moves with every batch is given its points in epochs."""
    if mine.framework not in ("keras", "mindspore") or theirs.source.loose:
        return
    for call in mine.matching(
        r"^(?:\w+Decay(?:LR)?|piecewise_constant_lr|PiecewiseConstantDecay|CosineDecayRestarts)$"
    ):
        if last_name(call.func) == "AdamWeightDecay":
            continue
        place = {"CosineDecayLR": 2, "PolynomialDecayLR": 2, "PiecewiseConstantDecay": 0}.get(
            last_name(call.func), 1
        )
        horizon = argument(call, *_HORIZON, position=place)
        if horizon is None or any(_STEPS.search(w) for w in mine.said(horizon)):
            continue
        epochs = epochs_of(mine)
        said = {w for w in mine.said(horizon) if re.search("(?i)epoch", w)}
        value = mine.value(horizon)
        numbers = [
            v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, (int, float))
        ]
        if said or (epochs and numbers and max(numbers) <= epochs):
            text = "the schedule is moved with every batch, and its length is counted in epochs"
            yield Told("schedule-stepped", text, mine.place(call), None)
            return


def epochs_of(side: Side) -> float | None:
    """How many epochs the program trains, by names and arguments that say so; the most of several."""
    found = [
        v
        for n, nodes in side.given.items()
        if re.match(r"(?i)^(?:n_|num_|max_)?epochs?$", n)
        for e in nodes
        if (v := side.number(e))
    ]
    found += [v for w in side.keywords.get("epochs", []) if (v := side.number(w.value))]
    return max(found) if found else None


# ---------------------------------------------------------------------------------------------- accumulation


def accumulated_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Gradients of several batches are summed here, and averaged in the benchmark."""
    there = _averaged(theirs)
    gated = _gated(mine)
    if there is None or gated is None or mine.source.loose or mine.by_trainer:
        return
    if mine.calls("accumulate") or mine.mentions(
        "^Accelerator$|^Fabric$|deepspeed|^accumulate_grad_batches$|^reduction$"
    ):
        return
    count = ast.dump(gated[1])
    for node in mine.source.of(ast.BinOp, ast.AugAssign):
        if isinstance(node.op, (ast.Div, ast.Mult)) and not _of_lengths(node):
            value = node.right if isinstance(node, ast.BinOp) else node.value
            if any(ast.dump(n) == count for n in mine.follow(value)) or ast.dump(value) == count:
                return
    text = "gradients of several batches are summed here: the loss is not divided by their number"
    yield Told("loss-divided", text, mine.place(gated[0]), theirs.place(there))


_LENGTH = re.compile(r"(?i)^(?:n|num|len|total)(?:_|$)|steps|epoch|batch|samples|updates|size|world")


def _of_lengths(node: ast.BinOp | ast.AugAssign) -> bool:
    """`len(loader) / 4`, `EPOCHS * updates`: no loss."""
    left = node.left if isinstance(node, ast.BinOp) else node.target
    if isinstance(left, ast.Call):
        return last_name(left.func) in ("len", "int", "ceil", "floor", "float", "get_dataset_size")
    return isinstance(left, ast.Constant) or _LENGTH.search(last_name(left)) is not None


def _averaged(side: Side) -> ast.AST | None:
    """Where gradients are averaged over batches: a trainer that is told their number, a division by it."""
    for word in side.keywords.get("gradient_accumulation_steps", []):
        call = side.source.parents.get(word)
        if (side.number(word.value) or 0) > 1 and isinstance(call, ast.Call) and side.by_trainer:
            return word.value
    gated = _gated(side)
    if gated is None:
        return None
    divided = [n for n in side.source.of(ast.BinOp, ast.AugAssign) if isinstance(n.op, ast.Div)]
    for node in divided:
        value = node.right if isinstance(node, ast.BinOp) else node.value
        if ast.dump(value) == ast.dump(gated[1]) and not _of_lengths(node):
            return node
    return None


def _gated(side: Side) -> tuple[ast.If, ast.expr] | None:
    """`if i % COUNT == 0: ... optimizer.step()`, with the count of batches."""
    for node in side.source.of(ast.If):
        steps = [c for s in node.body for c in of(s, ast.Call) if last_name(c.func) == "step"]
        counts = [n.right for n in of(node.test, ast.BinOp) if isinstance(n.op, ast.Mod)]
        backwards = [c for s in node.body for c in of(s, ast.Call) if last_name(c.func) == "backward"]
        if steps and not backwards and len(counts) == 1 and side.runs(node):
            owners = {last_name(c.func.value) for c in steps if isinstance(c.func, ast.Attribute)}
            if any(re.search(r"(?i)^opt|optim|^scaler$", o) for o in owners):
                return node, counts[0]
        if (
            len(node.body) == 1
            and isinstance(node.body[0], ast.Continue)
            and len(counts) == 1
            and side.runs(node)
        ):
            loop = side.source.parents.get(node)
            after = (
                loop.body[loop.body.index(node) + 1 :]
                if isinstance(loop, ast.For) and node in loop.body
                else []
            )
            later = {last_name(c.func) for s in after for c in of(s, ast.Call)}
            if "step" in later and "backward" not in later:
                return node, counts[0]  # `if i % COUNT: continue`
    return None
