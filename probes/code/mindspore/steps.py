"""MindSpore's step written by hand: loss scale, clipping, reducers, precision, what a graph fixes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.learning import gradient_makers, updates
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_false, same_value
from ..shared.sides import literal


def of_mindspore(source: Script) -> bool:
    """A program of MindSpore, whose own modules are all at hand."""
    return "mindspore" in source.frameworks and not source.loose


# ------------------------------------------------------------------------------------------- the loss scale


def never_adjusted(source: Script) -> Finding | None:
    """`DynamicLossScaler` whose scale is used and taken out again, and that is never told of overflow."""
    if not of_mindspore(source):
        return None
    for call in source.named("DynamicLossScaler", "DynamicLossScaleUpdateCell"):
        if last_name(call.func) != "DynamicLossScaler":
            return None
        adjusted = source.named("adjust")
        if adjusted:
            return ok(source, adjusted[0], "the scale is adjusted")
        told = {n for c in source.named("all_finite") for n in _kept_as(source, c)}
        handed = [
            r
            for r in source.of(ast.Return)
            if r.value is not None and told & names_in(r.value) and _result_used(source, r)
        ]
        if source.named("unscale") and source.named("scale") and not handed:
            unscaled = source.named("unscale")[0]
            return at(source, unscaled, "the loss scale is never adjusted: where it overflows it stays so")
    return None


def _result_used(source: Script, node: ast.Return) -> bool:
    """Somebody takes what the function gives back, or nobody of the script calls it."""
    function = source.function_around(node)
    calls = flow(source).calls_of(function) if function is not None else ()
    return not calls or any(not isinstance(source.parents.get(c), ast.Expr) for c in calls)


def _kept_as(source: Script, call: ast.Call) -> set[str]:
    """The names that what a call gives is assigned to."""
    statement = source.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {n.id for t in targets for n in of(t, ast.Name)}


def clipped_while_scaled_ms(source: Script) -> Finding | None:
    """Clipped gradients reach `scaler.unscale`, by way of names, reducers and calls within calls."""
    if not of_mindspore(source):
        return None
    mine = flow(source)
    for call in source.named("unscale"):
        if call.args and (clip := _clip_beneath(mine, call.args[0], 6)) is not None:
            return at(source, clip, "gradients are clipped while they are still multiplied by the loss scale")
    return None


def _clip_beneath(mine: Flow, node: ast.expr, depth: int) -> ast.Call | None:
    """A clip that a value comes from."""
    if isinstance(node, ast.Call):
        if re.match(r"clip(?:_grad)?_?by|clip_grad", last_name(node.func)):
            return node
        if last_name(node.func) in ("unscale", "value_and_grad"):
            return None
        return _clip_beneath(mine, node.args[0], depth - 1) if node.args and depth else None
    if isinstance(node, ast.Name) and depth:
        given = mine.given(node)
        return _clip_beneath(mine, given.value, depth - 1) if given is not None and not given.places else None
    return None


_HALF = re.compile(r"(?<!b)float16\b")


def half_without_scale(source: Script) -> Finding | None:
    """fp16 by `auto_mixed_precision(net, "O2")` or `to_float(float16)`, and nothing scales the loss.

    Where the training step is written out, or a cell of one step or `Model` runs it: `Model` scales by itself
    at O2. A fixed scale of one is none. bf16 needs no scale.
    """
    if not of_mindspore(source) or not (gradient_makers(source) or source.trains):
        return None
    by_hand = bool(gradient_makers(source))
    half = list(_half(source, by_hand))
    if not half:
        return None
    for call in source.named("FixedLossScaleUpdateCell", "FixedLossScaleManager"):
        given = (
            call.args[0] if call.args else keyword(call, "loss_scale_value") or keyword(call, "loss_scale")
        )
        if given is not None and literal(source, given) in (1, 1.0):
            return at(source, call, "the network computes in fp16, and a scale of one scales nothing")
    made = {last_name(c.func) for c in source.calls}
    idle = {
        n
        for name, c in source.classes.items()
        if name not in made and any(last_name(b).startswith("TrainOneStep") for b in c.bases)
        for n in walk(c)
    }  # a step of the script's own that nothing makes
    used = {last_name(c.func) for c in source.calls if c not in idle}
    used |= {k.arg or "" for k in source.of(ast.keyword) if k not in idle}
    used |= {last_name(a) for a in source.of(ast.Attribute, ast.Name) if a not in idle}
    if any(re.search(r"(?i)loss_?scal|scale_?sense|scaler|WithLossScale", u) for u in used):
        return None
    if _scaled_by_hand(source):
        return None
    return at(source, half[0], "the network computes in fp16 and nothing scales the loss")


def _scaled_by_hand(source: Script) -> bool:
    """Gradients start from a number of the script (`sens_param=True`), or the loss is multiplied by one."""
    told = [k for c in source.named("GradOperation") for k in c.keywords if k.arg == "sens_param"]
    if any(not is_false(k.value) for k in told):
        return not re.search(r"sens\w* = \S*ones(?:_like)?\([^*]*$", source.code, re.MULTILINE)
    return any(
        isinstance(n.op, ast.Mult)
        and re.search(r"(?i)loss", unparse(source.statement(n) or n)) is not None
        and re.search(r"(?i)scal|sens|factor", unparse(n)) is not None
        for n in source.of(ast.BinOp)
    )


def _half(source: Script, by_hand: bool) -> Iterator[ast.Call]:
    """What puts the network, or three layers and more of it, into fp16."""
    layers = []
    for call in source.named("auto_mixed_precision", "to_float", "build_train_network"):
        text = unparse(call)
        if "bfloat16" in text:
            continue
        if last_name(call.func) == "to_float":
            if not call.args or not _is_half(source, call.args[0]):
                continue
            if _is_network(source, call) or any(
                "cells_and_names" in unparse(p.iter)
                for p in source.loops_around(call)
                if isinstance(p, ast.For)
            ):
                yield call
            elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
                layers.append(call)
            continue
        levels = [literal(source, a) for a in (*call.args[1:2], keyword(call, "amp_level")) if a is not None]
        if by_hand and any(v in ("O2", "O3") for v in levels):
            yield call
    if len(layers) > 2:
        yield layers[0]


def _is_half(source: Script, node: ast.expr) -> bool:
    """`ms.float16`, also where a class of settings or a name holds it."""
    if _HALF.search(unparse(node)):
        return True
    ends = [v for v in flow(source).values(node, 6) if v is not node]
    last = ends or [node]
    for end in list(last):
        if isinstance(end, ast.Attribute):
            ends += [
                n.value
                for c in source.classes.values()
                if c not in source.modules
                for n in c.body
                if isinstance(n, ast.Assign) and any(unparse(t) == end.attr for t in n.targets)
            ]
    kinds = {_HALF.search(unparse(e)) is not None for e in ends if "float" in unparse(e)}
    return kinds == {True}


def _is_network(source: Script, call: ast.Call) -> bool:
    return re.search(r"(?i)(?:^|\.)(?:net|network|model|backbone)$", source.owner(call)) is not None


# ------------------------------------------------------------------------------------- gradients of all ranks


def reducer_idle(source: Script) -> Finding | None:
    """`reducer = DistributedGradReducer(weights)` is made, and the gradients never go through it."""
    if not of_mindspore(source):
        return None
    for call in source.named("DistributedGradReducer"):
        statement = source.statement(call)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        name = last_name(target)
        uses = [
            n
            for n in source.of(ast.Name, ast.Attribute)
            if last_name(n) == name and isinstance(n.ctx, ast.Load)
        ]
        if not uses and updates(source):
            return at(
                source, call, "the reducer is made and no gradient goes through it: each rank trains alone"
            )
        asked = [p for n in uses if isinstance(p := source.parents.get(n), ast.Call) and p.func is n]
        if asked and all(isinstance(source.parents.get(c), ast.Expr) for c in asked) and updates(source):
            return at(source, asked[0], "nothing takes what the reducer gives: each rank trains alone")
        if uses:
            return ok(source, uses[0], "gradients go through the reducer")
    return None


# --------------------------------------------------------------------------------------------- the data


_LISTINGS = ("listdir", "glob", "iglob", "rglob", "iterdir", "scandir")
_SORTS = ("sorted", "natsorted", "sort")


def shards_of_unsorted(source: Script) -> Finding | None:
    """A listing nobody sorts is what a data set is made of that processes divide by position.

    `GeneratorDataset(Tiles(root), num_shards=n, shard_id=rank)`, `DistributedSampler(Windows(files), ...)`.
    """
    parts = [
        c
        for c in source.calls
        if (keyword(c, "num_shards") is not None and keyword(c, "shard_id") is not None)
        or last_name(c.func) == "DistributedSampler"
    ]
    parts = [c for c in parts if not isinstance(keyword(c, "num_shards"), ast.Constant)]
    if not parts or source.loose:
        return None
    for call in source.named(*_LISTINGS):
        if not _reads_tables(source, call) and not _sorted_later(source, call):
            return at(
                source, call, "the order of a listing differs between machines, and shards are taken by it"
            )
    return None


def _sorted_later(source: Script, call: ast.Call) -> bool:
    """The listing is sorted at once, or what it fills is sorted."""
    if any(isinstance(p, ast.Call) and last_name(p.func) in _SORTS for p in source.above(call)):
        return True
    names: set[str] = set()
    for parent in source.above(call):
        if isinstance(parent, ast.Assign):
            names |= {last_name(t) for t in parent.targets if isinstance(t, (ast.Name, ast.Attribute))}
        elif isinstance(parent, ast.For) and call in walk(parent.iter):
            for inner in of(parent, ast.Call):
                if last_name(inner.func) in ("append", "extend", "add"):
                    names.add(source.owner(inner).split(".")[-1])
        elif isinstance(parent, ast.Return):
            function = source.function_around(call)
            uses = flow(source).calls_of(function) if function is not None else ()
            names |= {
                last_name(t)
                for use in uses
                if isinstance(s := source.statement(use), ast.Assign)
                for t in s.targets
                if isinstance(t, (ast.Name, ast.Attribute))
            }
            if any(
                isinstance(p, ast.Call) and last_name(p.func) in _SORTS
                for use in uses
                for p in source.above(use)
            ):
                return True
    if not names:
        return bool(source.named(*_SORTS))
    for sort in source.named(*_SORTS):
        about = [*sort.args[:1], *([sort.func.value] if isinstance(sort.func, ast.Attribute) else [])]
        if any(last_name(a) in names for a in about):
            return True
    return False


def _reads_tables(source: Script, call: ast.Call) -> bool:
    """A listing for checkpoints, or of which one file is taken or only the number counts."""
    statement = source.statement(call)
    text = unparse(statement) if statement is not None else ""
    return re.search(
        r"(?i)ckpt|checkpoint|len\(|max\(|remove|unlink|\bset\(|Counter|\.stat", text
    ) is not None or _one_taken(source, call)


def _one_taken(source: Script, call: ast.Call) -> bool:
    """Of the names that a listing is given in its function one place alone is read."""
    statement, function = source.statement(call), source.function_around(call)
    if function is None or not isinstance(statement, ast.Assign):
        return False
    names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
    read = [n for n in of(function, ast.Name) if n.id in names and isinstance(n.ctx, ast.Load)]
    taken = 0
    for node in read:
        parent, around = source.parents.get(node), source.statement(node)
        if isinstance(parent, ast.Subscript) and isinstance(parent.slice, (ast.Constant, ast.UnaryOp)):
            taken += 1
        elif isinstance(parent, ast.If):
            continue  # whether there is any
        elif not (isinstance(around, ast.Assign) and {unparse(t) for t in around.targets} <= names):
            return False
    return taken > 0


def shares_not_asked(source: Script) -> Finding | None:
    """A function divides data by parameters whose defaults mean one process, and no call gives them.

    Counts where the program starts several processes: `init()` and `get_rank()` or a parallel mode.
    """
    if not of_mindspore(source) or not source.named("init"):
        return None
    if not source.named("get_rank", "set_auto_parallel_context"):
        return None
    for function in source.of(ast.FunctionDef):
        args = function.args.args
        optional = {a.arg for a in args[len(args) - len(function.args.defaults) :]}
        parts = [
            given.id
            for c in of(function, ast.Call)
            if isinstance(given := keyword(c, "num_shards"), ast.Name) and given.id in optional
        ]
        calls = [c for c in flow(source).calls_of(function) if source.function_around(c) is not function]
        if not parts or not calls:
            continue
        place = [a.arg for a in args].index(parts[0])
        if any(len(c.args) > place or keyword(c, parts[0]) is not None for c in calls):
            continue
        if not any(k.arg is None for c in calls for k in c.keywords):
            return at(source, calls[0], f"{parts[0]} is not handed over: every process reads all of the data")
    return _one_share_for_all(source)


def _one_share_for_all(source: Script) -> Finding | None:
    """Data-parallel processes, and all data that are divided are divided by a constant: `num_shards=1`."""
    joined = [c for c in source.named("set_auto_parallel_context") if "DATA_PARALLEL" in unparse(c).upper()]
    divided = [c for c in source.calls if keyword(c, "num_shards") is not None]
    fixed = [c for c in divided if all(_is_number(keyword(c, k)) for k in ("num_shards", "shard_id"))]
    if joined and not divided:
        return _no_share_at_all(source)
    if not joined or not divided or len(fixed) != len(divided):
        return None
    return at(source, fixed[0], "every process asks for the same share of the data, whatever its rank")


_DATA_SETS = re.compile(
    r"^(?:ImageFolder|Mind|Generator|TFRecord|NumpySlices|Mnist|FashionMnist|Cifar10+|Coco|VOC|CelebA|CSV|TextFile)Dataset$"
)


def _no_share_at_all(source: Script) -> Finding | None:
    """Data-parallel processes, and neither a shard nor a sampler nor a rank anywhere near the data."""
    if source.loose or not source.trains or re.search(r"(?i)shard|sampler", source.code):
        return None
    made = [c for c in source.calls if _DATA_SETS.match(last_name(c.func))]
    by_rank = [n for n in source.of(ast.Subscript) if "rank" in unparse(n.slice)]
    handed = [c for c in source.calls if last_name(c.func) in source.classes and "rank" in unparse(c)]
    if not made or by_rank or handed:
        return None
    return at(source, made[0], "every process reads all samples: nothing divides them")


def _is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def scored_where_trained(source: Script) -> Finding | None:
    """`model.train(epochs, data)` and `model.eval(data)`: no other data are ever evaluated."""
    if not of_mindspore(source):
        return None
    models = {unparse(t) for n in source.of(ast.Assign) if _makes_model(n.value) for t in n.targets}
    learnt = [
        given
        for c in source.named("train", "fit")
        if source.owner(c) in models
        if (given := argument(c, "train_dataset", position=1)) is not None
    ]
    scored = [c for c in source.named("eval") if source.owner(c) in models and c.args]
    if scored and learnt and all(any(same_value(source, g, c.args[0]) for g in learnt) for c in scored):
        return at(source, scored[0], "what is evaluated is what the model was trained on")
    return None


def _makes_model(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) == "Model"


# ------------------------------------------------------------------------------------ what a graph fixes


_DRAWS = re.compile(
    r"^(?:np\.random|numpy\.random|random)\.(?:random|rand|randn|randint|uniform|normal|choice|choices|sample"
    r"|randrange|gauss|beta|binomial|shuffle|permutation|random_sample|standard_normal)$|^time\.(?:time|perf_counter)$"
)


def drawn_in_construct(source: Script) -> Finding | None:
    """Python's or NumPy's own random numbers in `construct`, which graph mode runs once, when it compiles."""
    if not of_mindspore(source):
        return None
    for function in compiled(source):
        for call in of(function, ast.Call):
            if _DRAWS.match(unparse(call.func)):
                return at(
                    source, call, "this number is drawn once, when the graph is compiled, and then stays"
                )
    return None


def compiled(source: Script) -> list[ast.AST]:
    """What is compiled to a graph: functions under `jit`, every `construct` once a graph is asked for.

    With them the functions of the script that they run, by name or by way of `value_and_grad`.
    """
    whole = "GRAPH_MODE" in source.code or re.search(r"set_context\(mode=0\b", source.code) is not None
    compiles = bool(source.named("jit", "ms_function"))
    found: dict[ast.AST, None] = {}
    for function in source.of(ast.FunctionDef):
        made = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
        own = any(
            last_name(d) in ("jit", "ms_function") for d in made if isinstance(d, (ast.Name, ast.Attribute))
        )
        compiles = compiles or own
        if own:
            found[function] = None
    if whole or compiles:
        found |= dict.fromkeys(f for f in source.passes if f not in source.forwards or f.name == "construct")
    waiting = list(found)
    while waiting:
        for run in _run_by(source, waiting.pop()):
            if run not in found:
                found[run] = None
                waiting.append(run)
    return list(found)


_GRADIENTS = ("value_and_grad", "grad", "vmap", "GradOperation")


def _run_by(source: Script, function: ast.AST) -> Iterator[ast.AST]:
    """Functions of the module that a function calls, itself or as what a gradient is taken of."""
    mine = flow(source)
    for call in of(function, ast.Call):
        if not isinstance(call.func, ast.Name):
            continue
        makers = [v for v in mine.values(call.func, 3) if isinstance(v, ast.Call)]
        asked = [m.args[0] for m in makers if last_name(m.func) in _GRADIENTS and m.args]
        for name in [call.func, *asked]:
            for one in mine.functions.get(last_name(name), []):
                inner = isinstance(source.parents.get(one), ast.ClassDef)
                if not inner and not any(
                    "constexpr" in unparse(d) or "primexpr" in unparse(d) for d in one.decorator_list
                ):
                    yield one


# ------------------------------------------------------------------------------------------------- the loss


def vector_minimised(source: Script) -> Finding | None:
    """`SoftmaxCrossEntropyWithLogits` reduces nothing by default: what is minimised is the sum of a batch."""
    if not of_mindspore(source):
        return None
    for call in source.named("SoftmaxCrossEntropyWithLogits"):
        if keyword(call, "reduction") is not None or len(call.args) > 1:
            continue
        if any(k.arg is None for k in call.keywords) or "tensorflow" in source.frameworks:
            continue
        if re.search(r"(?i)mean|reduce|/ |average", _around_loss(source, call)):
            continue
        return at(
            source, call, "this loss reduces nothing unless told: the gradient is that of the batch's sum"
        )
    return None


def _around_loss(source: Script, made: ast.Call) -> str:
    """The statements that call what a loss object is kept as, and those that use what it gave."""
    statement = source.statement(made)
    if not isinstance(statement, ast.Assign):
        return "mean"  # handed on at once, or given back: who knows
    names = {last_name(t) for t in statement.targets if isinstance(t, (ast.Name, ast.Attribute))}
    found: list[str] = []
    for call in source.calls:
        if last_name(call.func) in names:
            scope = source.function_around(call) or source.tree
            around = source.statement(call)
            given = (
                {n.id for t in around.targets for n in of(t, ast.Name)}
                if isinstance(around, ast.Assign)
                else set()
            )
            found += [unparse(around)] if around is not None else []
            found += [
                unparse(s)
                for s in walk(scope)
                if isinstance(s, (ast.Assign, ast.Return, ast.AugAssign)) and given & names_in(s)
            ]
    return " ".join(found)


def competing_tags(source: Script) -> Finding | None:
    """The loss makes classes compete in one softmax, and evaluation takes each one by its own sigmoid."""
    if not of_mindspore(source) and "pytorch" not in source.frameworks:
        return None
    kinds = {k for _, k in source.losses}
    if not kinds or not kinds <= {"crossentropyloss", "cross_entropy"} or source.loose:
        return None
    if source.named("argmax", "softmax", "Softmax", "topk", "log_softmax", "argsort", "Argmax"):
        return None
    judged = [
        c
        for node in source.of(ast.Compare)
        for c in of(node.left, ast.Call)
        if last_name(c.func) in ("sigmoid", "Sigmoid") and isinstance(node.ops[0], (ast.Gt, ast.GtE))
    ]
    inside = [
        c for f in source.forwards for c in of(f, ast.Call) if last_name(c.func) in ("sigmoid", "Sigmoid")
    ]
    if judged and not inside:
        loss = source.losses[0][0]
        return at(
            source, loss, "classes compete in one softmax here, and each is taken by its own sigmoid later"
        )
    return None


# --------------------------------------------------------------------------------------------- the schedule


_PARTS = re.compile(r"(?i)rank|world|shard|replica|device|group_size|\bsize\b|ngpu|num_gpus")


def length_of_all_ranks(source: Script) -> Finding | None:
    """`len(rows) // batch * epochs` steps, where each process reads its share of the rows alone."""
    divided = [c for c in source.calls if keyword(c, "num_shards") is not None or _samples(c)]
    divided = [c for c in divided if not isinstance(keyword(c, "num_shards"), ast.Constant)]
    if not divided or source.loose:
        return None
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not re.search(r"(?i)steps?|updates|iters|total", target.id):
            continue
        text = unparse(value)
        counts = re.search(r"len\((\w+)\) // [\w.]*batch\w*", text)
        if counts is None or "epoch" not in text or _PARTS.search(text) or "load" in counts.group(1):
            continue
        if _is_global_batch(source, text):
            continue
        return at(source, node, "steps are counted from all samples, and each process trains on its share")
    return None


def _samples(call: ast.Call) -> bool:
    return last_name(call.func) == "DistributedSampler"


def _is_global_batch(source: Script, text: str) -> bool:
    """The batch is that of all processes together: it is divided by them somewhere, or called so."""
    return re.search(r"(?i)global|total_batch|effective", text) is not None or (
        re.search(r"batch\w* // [\w.]*(?:world|size|rank|devices|ranks)", source.code) is not None
    )
