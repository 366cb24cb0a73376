"""Parameters that a script switches off, and those it is right to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....engine.model import State
from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Script, lines_of
from ..model.extraction import extracts_features
from ..model.pretrained import saved_here
from ..shared.checks import at, first, ok
from ..shared.nodes import block_of, is_false, is_true
from ..shared.sides import either
from ..shared.uses import never_run
from ..tensorflow.keras_slips import new_layer_untrained
from ..tensorflow.slips import made_untrainable

# copies and judges that are not meant to train
# A model that another one is held against: `ref_model`, `_setup_reference_model`, `teacher`.
_REFERENCE = re.compile(r"(?i)(?:^|_|\.)(?:ref|reference|teacher|frozen)(?:_|\b)")


_ASIDE = (
    "teacher",
    "ema",
    "target",
    "momentum",
    "vgg",
    "lpips",
    "percept",
    "reward",
    "old",
    "swa",
    "average",
)


@probe()
def freezes_parameters(view: View) -> Finding:
    """`requires_grad = False` (Keras: `trainable = False`) on parameters that nothing switches on again.

    Copies of the model by their usual names (teacher, EMA, target, ...) and by `deepcopy` are left aside.
    False positive: fine-tuning that freezes on purpose.
    """
    return first(
        view, either(_freezes, made_untrainable, new_layer_untrained), "the scripts show no training step"
    )


def _freezes(source: Script) -> Finding | None:
    if not source.trains:
        return None
    mine, seen, reopened = flow(source), [], False
    for node, owner, value in switches(source):
        if never_run(source, node):
            continue  # a helper that nothing calls
        ways = mine.values(value, 4) if isinstance(value, ast.Name) else [value]
        off = [v for v in ways if switches_off(v) and not _of_settings(source, node, v)]
        reopened = reopened or any(is_true(v) for v in ways)
        if (
            off
            and not _at_rest(owner)
            and not _is_single(owner)
            and not _aside(mine, owner)
            and not _optional(source, node)
        ):
            spared = (
                _wrapped,
                _rate_of_zero,
                _loaded_before,
                _loaded_whole,
                _trained_before,
                _first_layers,
                _put_to_rest,
                _given_weights,
                _given_table,
            )
            if not any(check(source, node) for check in spared):
                seen.append(node)
    if seen and reopened and not _all_but_a_part(source, seen):
        return None  # what is frozen at first may train later
    if seen:
        return at(source, seen[0], "gradients are switched off for parameters")
    first_backward = source.backwards[0] if source.backwards else None
    return ok(source, first_backward, "no parameter's gradient is switched off")


_TRAINED = re.compile(
    r"(?i)load_|pretrain|from_(?!numpy|buffer)|\bweights *=|hub\.|checkpoint|ckpt|resume|timm|backbone"
    r"|transfer"
)


def _all_but_a_part(source: Script, frozen: list[ast.AST]) -> bool:
    """`net.requires_grad_(False)`, then `net.head.requires_grad_(True)`, of a network that starts at random.

    Nothing in the program may look like trained weights: then that is how a head is put on them.
    """
    if _TRAINED.search(source.code):
        return False
    classes = {c.name for c in source.of(ast.ClassDef)}
    opened = [_outermost(source, n) for n, _, value in switches(source) if is_true(value)]
    parts = [(_switched(n), source.statement(n)) for n in opened]
    for node in (_outermost(source, n) for n in frozen):
        whole, statement = _switched(node), source.statement(node)
        if whole is None or statement is None:
            continue
        made = [v for v in flow(source).values(whole, 3) if isinstance(v, ast.Call)]
        if not any(last_name(v.func) in classes for v in made):
            continue
        block = block_of(source, statement)
        if parts and all(p is not None and _part_of(p, whole) and s in block for p, s in parts):
            return True
    return False


def _outermost(source: Script, node: ast.AST) -> ast.AST:
    """The loop over parameters in which they are switched, or the node itself."""
    return next((p for p in source.above(node) if isinstance(p, ast.For)), node)


def _switched(node: ast.AST) -> ast.expr | None:
    """Whose parameters: `net` of `net.requires_grad_(False)` and of a loop over `net.parameters()`."""
    call = node.iter if isinstance(node, ast.For) else node
    return call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None


def _part_of(part: ast.expr, whole: ast.expr) -> bool:
    return unparse(part).startswith((f"{unparse(whole)}.", f"{unparse(whole)}["))


def _of_settings(source: Script, node: ast.AST, value: ast.expr) -> bool:
    """`x.requires_grad = "force" in targets`: what is trained for decides, no name of a parameter."""
    bound = {n.id for p in source.above(node) if isinstance(p, ast.For) for n in of(p.target, ast.Name)}
    return isinstance(value, ast.Compare) and bool(bound) and not bound & names_in(value)


def _wrapped(source: Script, node: ast.AST) -> bool:
    """A finished model is handed over and frozen, and what is made around it trains: a calibrator, LoRA.

    It is put into evaluation mode, or its class makes weights of its own beside it.
    """
    function = source.function_around(node)
    if function is None or function.name != "__init__":
        return False
    given = {a.arg for a in function.args.args} - {"self"}
    given -= {unparse(t) for n in of(function, ast.Assign) for t in n.targets}  # made anew here
    loops = [p for p in source.above(node) if isinstance(p, ast.For)]
    quiet = {
        source.owner(c).removeprefix("self.") for c in of(function, ast.Call) if last_name(c.func) == "eval"
    }
    if {n.id for p in loops for n in of(p.iter, ast.Name)} & given & quiet:
        return True
    statement = source.statement(node)
    places = [*(p.iter for p in loops), *([statement] if statement is not None else [])]
    frozen = {unparse(n) for place in places for n in _parts(place)}
    handed = given & frozen
    for kept in of(function, ast.Assign):
        if frozen & {unparse(t) for t in kept.targets}:
            root: ast.expr = kept.value  # `base`, `base.eval()`: itself, and nothing that is made of a size
            while isinstance(root, (ast.Call, ast.Attribute)):
                root = root.func if isinstance(root, ast.Call) else root.value
            handed |= given & {unparse(root)}
    own = [
        n
        for n in of(function, ast.Assign)
        if isinstance(n.value, ast.Call) and _NEW_WEIGHTS.search(last_name(n.value.func))
        if not handed & {unparse(a) for a in n.value.args} and unparse(n.targets[0]).startswith("self.")
    ]
    return bool(handed and own)


_NEW_WEIGHTS = re.compile(
    r"^(?:Parameter|Linear|Conv[123]d|Embedding|Sequential|ModuleList|ModuleDict|GRU|LSTM)$"
)


def _parts(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """Names and attributes of self: `self.base.weight` -> `self.base`."""
    for part in of(node, ast.Name, ast.Attribute):
        if isinstance(part, ast.Name) or unparse(part.value) == "self":
            yield part


def _loaded_before(source: Script, node: ast.AST) -> bool:
    """`net.encoder.load_state_dict(...)`, then its parameters: a part that was trained elsewhere is kept."""
    frozen = [unparse(p.iter) for p in source.above(node) if isinstance(p, ast.For)]
    statement = source.statement(node)
    frozen += [unparse(statement)] if statement is not None else []
    around, line = source.function_around(node), getattr(node, "lineno", 0)
    loaded = [
        source.owner(c)
        for c in source.named("load_state_dict")
        if c.lineno < line and source.function_around(c) is around
    ]
    parts = [f"{owner}." for owner in loaded if "." in owner.removeprefix("self.")]
    return any(text.startswith(part) for text in frozen for part in parts)


def _loaded_whole(source: Script, node: ast.AST) -> bool:
    """`caller = maker.load_model(path)` beside `model = Model()`: one that was trained elsewhere."""
    frozen = [unparse(p.iter) for p in source.above(node) if isinstance(p, ast.For)]
    own = {c.name for c in source.modules}
    made = [(n, n.value) for n in source.of(ast.Assign) if isinstance(n.value, ast.Call)]
    loaded = [n for n, call in made if re.match(r"load_(?:model|net|pretrained)", last_name(call.func))]
    still = [n for n in loaded if any(t.startswith(f"{unparse(x)}.") for x in n.targets for t in frozen)]
    return bool(still) and any(last_name(call.func) in own for _, call in made)


def _given_weights(source: Script, node: ast.AST) -> bool:
    """A whole network takes over weights, is frozen, and no optimizer gets it: another one learns by it."""
    frozen = {unparse(p.iter) for p in source.above(node) if isinstance(p, ast.For)}
    if not frozen and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        frozen = {f"{unparse(node.func.value)}.parameters()"}
    found = [m for text in frozen if (m := _ALL_OF.fullmatch(text))]
    if not found:
        return False
    name = found[0][1]
    given = {source.owner(c) for c in source.named("load_state_dict", "load_weights")}
    given |= {unparse(c.args[0]) for c in source.named("load_param_into_net") if c.args}
    held = re.compile(rf"(?<![\w.]){re.escape(name)}\.(?:{_LISTS})\(")
    taken = [
        c for c in source.calls if last_name(c.func) not in ("zip", "list", "enumerate", "requires_grad_")
    ]
    return name in given and not any(held.search(unparse(a)) for c in taken for a in _all_given(c))


def _given_table(source: Script, node: ast.AST) -> bool:
    """`Embedding(n, d, embedding_table=Tensor(vectors))`, whose table stays as it was given."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    table = target.value if isinstance(target, ast.Attribute) else None
    if not isinstance(table, ast.Attribute) or table.attr not in ("embedding_table", "weight"):
        return False
    made = flow(source).whole_given(table.value)
    if not isinstance(made, ast.Call) or last_name(made.func) != "Embedding":
        return False
    given = keyword(made, "embedding_table") or keyword(made, "_weight")
    drawn = isinstance(given, ast.Constant) or re.search(
        r"(?i)normal|uniform|initializer|xavier|he_", unparse(given or table)
    )
    return given is not None and not drawn


def _all_given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


_LISTS = "parameters|named_parameters|get_parameters|trainable_params"
_ALL_OF = re.compile(rf"((?:self\.)?\w+)\.(?:{_LISTS})\(\)")
_LEARNT = re.compile(r"weights\s*=\s*['\"]imagenet|load_weights\(|\bapplications\.|Backbone\(|from_preset\(")


def _first_layers(source: Script, node: ast.AST) -> bool:
    """`for layer in base.layers[:100]:` of a network that was trained elsewhere: the usual fine-tuning."""
    parts = [
        p.iter for p in source.above(node) if isinstance(p, ast.For) and isinstance(p.iter, ast.Subscript)
    ]
    of_layers = any(isinstance(p.value, ast.Attribute) and p.value.attr == "layers" for p in parts)
    above = "\n".join(lines_of(source.text)[: getattr(node, "lineno", 0)])
    return of_layers and _LEARNT.search(above) is not None


def _put_to_rest(source: Script, node: ast.AST) -> bool:
    """`model.eval()`, then all of its parameters are switched off: something beside it is trained."""
    loops = [p for p in source.above(node) if isinstance(p, ast.For)]
    whole = re.fullmatch(r"([\w.]+)\.parameters\(\)", unparse(loops[0].iter)) if loops else None
    if whole is None:
        return False
    block = block_of(source, loops[0])
    before = block[block.index(loops[0]) - 1] if loops[0] in block and block.index(loops[0]) else None
    return before is not None and unparse(before) == f"{whole[1]}.eval()" and "from_pretrained" in source.code


def _trained_before(source: Script, node: ast.AST) -> bool:
    """`train(model, old)`, then layers are frozen, then `train(model, new)`: what it learned is kept."""
    around, line = source.function_around(node), getattr(node, "lineno", 0)
    if any(isinstance(p, (ast.For, ast.While)) and _trains(source, p) for p in source.above(node)):
        return False
    beside = [c for c in source.calls if source.function_around(c) is around and c.lineno != line]
    trains: dict[str, set[bool]] = {}  # the same call on either side: `model.fit`, `train`
    for call in beside:
        if _trains(source, call):
            trains.setdefault(unparse(call.func), set()).add(call.lineno < line)
    return {True, False} in trains.values()


def _trains(source: Script, node: ast.AST) -> bool:
    """It fits a model or steps, in itself or in a function that it calls."""
    calls = of(node, ast.Call)
    inside = [c for call in calls for f in flow(source).called(call) for c in of(f, ast.Call)]
    return any(last_name(c.func) in ("fit", "fit_generator", "backward") for c in (*calls, *inside))


def _rate_of_zero(source: Script, node: ast.AST) -> bool:
    """`if lr == 0:`: a rate of nothing that was asked for, spelled out."""
    tests = [unparse(p.test) for p in source.above(node) if isinstance(p, ast.If)]
    return any(re.search(r"(?i)(?:\blr|_lr|rate)\w*(?:\[.*\])? [=!]= 0", t) for t in tests)


# One tensor that is kept as it is, for a reason of its own: a bias before batch norm, a table of positions.
_SINGLE = re.compile(
    r"(?i)\.(?:bias|weight_g|gamma|beta|temperature|logit_scale|running_\w+)$|pos(?:ition)?(?:al)?_?emb|_pe$"
)


def _at_rest(owner: ast.expr) -> bool:
    """`model.eval().requires_grad_(False)`: in one breath a model is made ready to answer, not to learn."""
    while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
        if owner.func.attr == "eval":
            return True
        owner = owner.func.value
    return False


def _is_single(owner: ast.expr) -> bool:
    """`self.neck.bias`: one tensor that stays as it is by design."""
    return _SINGLE.search(unparse(owner)) is not None


_ADAPTS = re.compile(r"(?i)(?<![a-z])lora|adapter|peft|prefix_?tun|prompt_?tun|linear_?(?:prob|eval)")


def freezes_untrained(source: Script) -> Finding | None:
    """Something is frozen, and no adapters or probes stand beside it that are trained in its place."""
    found = _freezes(source)
    if found is not None and found.state is State.PRESENT:
        off = [(n, o) for n, o, _ in switches(source) if source.place(n) in found.where]
        if _ADAPTS.search(source.code) or any(extracts_features(source, n, o) for n, o in off):
            return None
        if off and all(_everything(source, n) for n, _ in off) and _takes_what_is_on(source):
            return None  # nothing would train, had not something new been put in its place
    return found


def _everything(source: Script, node: ast.AST) -> bool:
    """In `for p in model.parameters():`, on no condition: all of a model is switched off."""
    around = list(source.above(node))
    loops = [p for p in around if isinstance(p, ast.For)]
    tested = any(isinstance(p, ast.If) for p in around[: around.index(loops[0])]) if loops else True
    return not tested and re.fullmatch(r"\w+\.(?:named_)?parameters\(\)", unparse(loops[0].iter)) is not None


def _takes_what_is_on(source: Script) -> bool:
    """`[p for p in model.parameters() if p.requires_grad]` is what trains."""
    picked = [n for n in source.of(ast.comprehension) if any("requires_grad" in unparse(i) for i in n.ifs)]
    return bool(picked) or any("requires_grad" in unparse(c) for c in source.named("filter"))


def switches(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """Everything that sets whether parameters train: where, of what, to what."""
    for node in source.of(ast.Assign, ast.Call):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr in ("requires_grad", "trainable"):
                    yield node, target.value, node.value
        else:
            name = last_name(node.func)
            if name == "requires_grad_" and isinstance(node.func, ast.Attribute):
                yield node, node.func.value, node.args[0] if node.args else ast.Constant(True)
            elif name == "setattr" and len(node.args) == 3 and isinstance(node.args[1], ast.Constant):
                if node.args[1].value == "requires_grad":
                    yield node, node.args[0], node.args[2]
            elif _KERAS_LAYER.match(name) and (told := keyword(node, "trainable")) is not None:
                if not _comes_with_weights(source, node):
                    yield node, node.func, told


# layers of Keras that start at random
_KERAS_LAYER = re.compile(
    r"^(?:Dense|Embedding|LSTM|GRU|SimpleRNN|(?:Separable|Depthwise)?Conv[123]D(?:Transpose)?)$"
)


def _comes_with_weights(source: Script, layer: ast.Call) -> bool:
    """It is given weights of another training: a matrix, an initializer of its own, `set_weights`."""
    told = ("weights", "embeddings_initializer", "kernel_initializer")
    loads = [c for c in source.named("load_weights") if not (c.args and saved_here(source, c.args[0]))]
    return any(keyword(layer, name) is not None for name in told) or bool(
        loads or source.named("set_weights", "from_pretrained")
    )


_COPIES = ("deepcopy", "clone", "copy", "detach")


def _optional(source: Script, node: ast.AST, depth: int = 3) -> bool:
    """An option, a pattern or a list from elsewhere decides what is frozen: `if args.freeze_encoder:`.

    A function that freezes is followed to where it is called: `if freeze: freeze_params(self)`.
    """
    above = list(source.above(node))
    tests = [p.test for p in above if isinstance(p, ast.If)]
    if any(_OPTION.search(unparse(test)) for test in tests):
        return True
    function = source.function_around(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    if any(_asks(function, test) for test in tests):
        return True
    calls = flow(source).calls_of(function)
    chosen = {a.arg for a in _arguments(function)} & {
        n.id
        for part in [*tests, *(p.iter for p in above if isinstance(p, ast.For))]
        for n in of(part, ast.Name)
    }
    if calls and all(any(_OPTION.search(v) for v in _passed(function, c, chosen)) for c in calls):
        return True
    return bool(depth and calls) and all(_optional(source, call, depth - 1) for call in calls)


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _asks(function: ast.FunctionDef | ast.AsyncFunctionDef, test: ast.expr) -> bool:
    """A test of nothing but a switch that the function takes: `if not learn_recurrent:`, `if self.fixed:`."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Attribute):
        kept = [a.value for a in of(function, ast.Assign) if unparse(test) in map(unparse, a.targets)]
        test = kept[0] if len(kept) == 1 else test
    names = function.args
    some = [*names.posonlyargs, *names.args][::-1]
    pairs = [
        *zip(some, names.defaults[::-1], strict=False),
        *zip(names.kwonlyargs, names.kw_defaults, strict=True),
    ]
    options = {a.arg for a, d in pairs if isinstance(d, ast.Constant) and isinstance(d.value, bool)}
    return isinstance(test, ast.Name) and test.id in options


def _passed(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, names: set[str]) -> list[str]:
    """What a call gives for these parameters of a function, as text."""
    places = [a.arg for a in _arguments(function) if a.arg not in ("self", "cls")]
    given = dict(zip(places, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    return [unparse(v) for k, v in given.items() if k in names]


_OPTION = re.compile(
    r"(?i)\b(?:args?|opts?|cfg|config|conf|hparams|params)\.|freez|frozen|fine_?tun|re\.(?:search|match)"
    r"|\.get\(['\"]requires_grad|fixed_param"
)


def judges(text: str) -> bool:
    """A model that another one is held against, by what it is written as."""
    return any(w in text.lower() for w in _ASIDE) or _REFERENCE.search(text) is not None


_LOSS_CLASS = re.compile(r"(?:Loss(?:es)?|Criterion|Metric)$")


def _aside(mine: Flow, owner: ast.expr) -> bool:
    """The parameters are those of a copy or of a model that only judges, as one that a loss holds."""
    if _REFERENCE.search(mine.source.function_name(owner)):
        return True
    if (held := mine.source.class_around(owner)) is not None and _LOSS_CLASS.search(held.name):
        return True
    for _ in range(4):
        if judges(unparse(owner)) or _is_written(mine, owner):
            return True
        loop = next(
            (
                p
                for p in mine.source.above(owner)
                if isinstance(p, ast.For) and isinstance(owner, ast.Name) and owner.id in names_in(p.target)
            ),
            None,
        )
        if loop is not None:
            owner = next((g for n, g in _pairs_of(loop) if unparse(n) == unparse(owner)), loop.iter)
        several = _several(owner)
        if several:
            return all(_aside(mine, one) for one in several)
        while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
            if last_name(owner.func) in _COPIES:
                return True
            owner = owner.func.value
        if judges(unparse(owner)) or _is_written(mine, owner):
            return True
        handed = mine.given(owner) if isinstance(owner, (ast.Name, ast.Attribute)) else None
        if handed is None:
            given = mine.arguments(owner)
            return bool(given) and all(_aside(mine, g) for g in given if g is not owner)
        made = handed.value
        while isinstance(made, ast.Call) and last_name(made.func) in ("eval", "to", "cuda", "train"):
            if not isinstance(made.func, ast.Attribute):
                break
            made = made.func.value
        if isinstance(made, ast.Call) and last_name(made.func) in _COPIES:
            return True
        owner = made
    return False


def _pairs_of(loop: ast.For) -> list[tuple[ast.expr, ast.expr]]:
    """`for q, k in zip(a.parameters(), b.parameters())`: each name with what it goes over."""
    over = loop.iter
    if not (
        isinstance(over, ast.Call) and last_name(over.func) == "zip" and isinstance(loop.target, ast.Tuple)
    ):
        return []
    return list(zip(loop.target.elts, over.args, strict=False))


def _several(value: ast.expr) -> list[ast.expr]:
    """What is gone through in turn: `[*a.parameters(), *b.parameters()]`, `chain(a, b)`, `a + b`."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return [e.value if isinstance(e, ast.Starred) else e for e in value.elts]
    if isinstance(value, ast.Call) and last_name(value.func) in ("chain", "list"):
        return list(value.args)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return [value.left, value.right]
    return []


# a part gets its values from a table: `self.reference.initialize_from("MPtrj")`
_FILLS = re.compile(r"(?i)^(?:init(?:ialize)?|copy|fill)_from")


def _is_written(mine: Flow, owner: ast.expr) -> bool:
    """Values are written into it beside the optimizer, as into a momentum encoder or from a table."""
    text = unparse(owner)
    if isinstance(owner, ast.Attribute):
        calls = [c for c in mine.source.calls if mine.source.owner(c) == text]
        if any(_FILLS.search(last_name(c.func)) for c in calls):
            return True
        return any(
            unparse(given).startswith(f"{text}.") and _is_written(mine, name)
            for loop in mine.source.of(ast.For)
            for name, given in _pairs_of(loop)
            if isinstance(name, ast.Name)
        )
    function = mine.source.function_around(owner)
    if not isinstance(owner, ast.Name) or function is None:
        return False
    into = (f"{owner.id}.data", owner.id)
    written = {unparse(t) for n in of(function, ast.Assign) for t in n.targets}
    return into[0] in written or any(
        mine.source.owner(call) in into and mine.source.function_around(call) is function
        for call in mine.source.named("copy_", "detach_")
    )


def switches_off(value: ast.expr) -> bool:
    """False, or a condition on the parameter's name: some are switched off."""
    if isinstance(value, ast.Compare):
        return any(isinstance(op, (ast.In, ast.NotIn)) for op in value.ops)
    if isinstance(value, ast.Call):
        if last_name(value.func) == "bool" and value.args:
            return switches_off(value.args[0])
        return last_name(value.func) in ("startswith", "endswith", "any", "match", "search", "fullmatch")
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return switches_off(value.operand)
    if isinstance(value, ast.BoolOp):
        return any(switches_off(v) for v in value.values)
    return is_false(value)
