"""Faults of the model: what trains, how blocks are connected, operators, initial weights."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from traindoctor.probes.readers._tree import walk

from .code import Code, Edit, Operator, Site, called, keyword, owner

_FORWARD = ("forward", "construct", "call", "__call__")
_LAYER = re.compile(r"(?:Linear|Dense|Conv\dd|Conv\dD|Conv|LSTM|GRU|RNN|Embedding|MLP)$")
_NORM = re.compile(r"(?:(?:Batch|Layer|Group|Instance|RMS)Norm\w*|BatchNormalization|LayerNormalization)$")
_ACTIVATION = re.compile(r"(?:relu|gelu|silu|elu|selu|leaky_relu|ReLU|GELU|SiLU|ELU|SELU|LeakyReLU)$")
_OPTIMIZER = re.compile(r"(?:SGD|Adam\w*|RMSprop|Adagrad|NAdam|RAdam|Adadelta)$")
_NO_WEIGHTS = re.compile(r"optim|sched|scaler|loss|ema|metric|rng|average|sampler|loader|target|tracker")


def _functions(code: Code, *names: str) -> Iterator[ast.FunctionDef]:
    for node in code.of(ast.FunctionDef):
        if node.name in names:
            yield node


def _within(code: Code, node: ast.AST, *names: str) -> bool:
    """Whether a node stands in a method of one of these names."""
    at: ast.AST | None = node
    while at is not None:
        if isinstance(at, ast.FunctionDef):
            return at.name in names and isinstance(code.parents.get(at), ast.ClassDef)
        at = code.parents.get(at)
    return False


def _calls(code: Code, pattern: re.Pattern[str]) -> Iterator[ast.Call]:
    for node in code.of(ast.Call):
        if pattern.match(called(node)):
            yield node


def _held(code: Code, pattern: re.Pattern[str]) -> Iterator[tuple[ast.Assign, ast.Call, ast.ClassDef]]:
    """`self.fc = nn.Linear(...)` in the making of a class: the statement, the call and the class."""
    for call in _calls(code, pattern):
        statement = code.parents.get(call)
        maker = code.parents.get(statement) if statement is not None else None
        home = code.parents.get(maker) if maker is not None else None
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Attribute)
            and isinstance(maker, ast.FunctionDef)
            and maker.name == "__init__"
            and isinstance(home, ast.ClassDef)
            and code.alone(statement)
        ):
            yield statement, call, home


def _is_module(code: Code, node: ast.AST) -> bool:
    """Whether a node stands in a class of a model."""
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.ClassDef):
        at = code.parents.get(at)
    return at is not None and any(re.search(r"Module$|Net$|Cell$", ast.unparse(b)) for b in at.bases)


def _holds(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(node))


# --------------------------------------------------------------------------------------------- what trains


def layer_frozen(code: Code) -> Iterator[Site]:
    """A layer that starts from random weights is frozen."""
    for statement, call, _ in _held(code, _LAYER):
        if owner(call).split(".")[0] in ("nn", "torch"):
            name = code.source(statement.targets[0])
            yield (code.after(statement, f"for p in {name}.parameters():\n    p.requires_grad = False"),)


def _optimizers(code: Code) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Optimizers that are given all parameters of a model: the call and that argument."""
    for call in _calls(code, _OPTIMIZER):
        given = call.args[0] if call.args else keyword(call, "params")
        if isinstance(given, ast.Call) and called(given) == "parameters" and not given.args:
            yield call, given


def optimizer_gets_matrices(code: Code) -> Iterator[Site]:
    """Biases and the scales of norms are kept from the optimizer, as was meant for weight decay."""
    for _, given in _optimizers(code):
        yield (code.replace(given, f"[p for p in {code.source(given)} if p.ndim > 1]"),)


def optimizer_gets_last(code: Code) -> Iterator[Site]:
    """Only the last layer's parameters are handed to the optimizer."""
    for _, given in _optimizers(code):
        yield (code.replace(given, f"list({code.source(given)})[-2:]"),)


def frozen_after_making(code: Code) -> Iterator[Site]:
    """All but the biases are frozen before the optimizer is made."""
    for call, given in _optimizers(code):
        statement = code.statement(call)
        if isinstance(statement, ast.Assign) and code.alone(statement):
            text = (
                f"for name, p in {owner(given)}.named_parameters():\n"  # type: ignore[arg-type]
                "    p.requires_grad = name.endswith('bias')"
            )
            yield (code.before(statement, text),)


def plain_list(code: Code) -> Iterator[Site]:
    """Layers in a list that no optimizer sees."""
    for call in code.calls("ModuleList"):
        given = call.args[0] if call.args else None
        if not isinstance(code.statement(call), ast.Assign) or not _is_module(code, call):
            continue
        if isinstance(given, (ast.List, ast.ListComp)):
            yield (code.replace(call, code.source(given)),)
        elif isinstance(given, ast.Name):
            yield (code.replace(call, given.id),)
        elif not call.args and not call.keywords:
            yield (code.replace(call, "[]"),)


# ---------------------------------------------------------------------------------------------- connections


def skip_lost(code: Code) -> Iterator[Site]:
    """`x + f(x)` becomes `f(x)`."""
    for function in _functions(code, *_FORWARD):
        for node in walk(function):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                for kept, lost in ((node.left, node.right), (node.right, node.left)):
                    if isinstance(kept, ast.Call) and isinstance(lost, ast.Name) and _holds(kept, lost.id):
                        yield (code.replace(node, code.source(kept)),)
                        break
                    if isinstance(kept, ast.Call) and re.search(r"res|short|skip", ast.unparse(lost)):
                        yield (code.replace(node, code.source(kept)),)
                        break
                    if (
                        isinstance(kept, ast.Name)
                        and re.search(r"res|short|skip|identity", ast.unparse(lost))
                        and not re.search(r"res|short|skip|identity", kept.id)
                    ):
                        yield (code.replace(node, kept.id),)
                        break
            elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                if re.search(r"res|short|skip|identity", ast.unparse(node.value)) and code.alone(node):
                    yield (code.without(node),)


def stopped_inside(code: Code) -> Iterator[Site]:
    """The gradient stops in the midst of the forward pass."""
    for function in _functions(code, "forward"):
        streams = [
            s
            for s in function.body
            if isinstance(s, ast.Assign)
            and isinstance(s.targets[0], ast.Name)
            and isinstance(s.value, ast.Call)
            and any(isinstance(n, ast.Attribute) and ast.unparse(n).startswith("self.") for n in walk(s))
            and any(_holds(s.value, a.arg) for a in function.args.args[1:])
        ]
        if (
            len(function.body) > 1
            and _is_module(code, function)
            and not re.search("detach|no_grad", code.source(function))
        ):
            for s in streams[:2]:
                yield (code.replace(s.value, f"{code.source(s.value)}.detach()"),)


def layer_skipped(code: Code) -> Iterator[Site]:
    """A layer whose output has its input's size is made and not called."""
    for statement, call, home in _held(code, _LAYER):
        if len(call.args) < 2 or ast.unparse(call.args[0]) != ast.unparse(call.args[1]):
            continue
        name = ast.unparse(statement.targets[0])
        yield from _uncalled(code, home, name)


def _uncalled(code: Code, home: ast.ClassDef, name: str) -> Iterator[Site]:
    """The one call `self.fc(x)` in a class becomes `x`."""
    uses = [n for n in walk(home) if isinstance(n, ast.Attribute) and ast.unparse(n) == name]
    calls = [n for n in walk(home) if isinstance(n, ast.Call) and n.func in uses]
    if len(uses) == 2 and len(calls) == 1 and len(calls[0].args) == 1 and _within(code, calls[0], *_FORWARD):
        yield (code.replace(calls[0], code.source(calls[0].args[0])),)


def term_lost(code: Code) -> Iterator[Site]:
    """A layer's output, or the position embedding, is not added to the rest."""
    for function in _functions(code, *_FORWARD):
        for node in walk(function):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_module(code, function):
                for kept, lost in ((node.left, node.right), (node.right, node.left)):
                    text = ast.unparse(lost)
                    called_on = isinstance(lost, ast.Call) and text.startswith("self.")
                    if called_on or re.search(r"pos_?emb|\bpe\b", text):
                        yield (code.replace(node, code.source(kept)),)
                        break


# ------------------------------------------------------------------------------- normalisation, activations


def norms_identity(code: Code) -> Iterator[Site]:
    """Every normalisation layer of the script is replaced by the identity."""
    own = {n.name for n in code.of(ast.ClassDef)}
    found = [c for c in _calls(code, _NORM) if owner(c).split(".")[-1] == "nn" or called(c) in own]
    if found:
        yield tuple(code.replace(c, f"{owner(c) or 'nn'}.Identity()") for c in found)


def norm_uncalled(code: Code) -> Iterator[Site]:
    """A normalisation layer is made and not called."""
    for statement, _, home in _held(code, _NORM):
        yield from _uncalled(code, home, ast.unparse(statement.targets[0]))


def norms_out_of_stack(code: Code) -> Iterator[Site]:
    """Normalisation layers are left out of a Sequential or a model written with `model.add`."""
    edits: list[Edit] = []
    for call in code.calls("Sequential"):
        several = call.args[0].elts if call.args and isinstance(call.args[0], ast.List) else call.args
        for before, item in pairwise(several):
            if isinstance(item, ast.Call) and _NORM.match(called(item)):
                edits.append(Edit(code.span(before)[1], code.span(item)[1], ""))
    for call in code.calls("add"):
        statement = code.parents.get(call)
        if call.args and isinstance(call.args[0], ast.Call) and _NORM.match(called(call.args[0])):
            if isinstance(statement, ast.Expr) and code.alone(statement):
                edits.append(code.without(statement))
    if edits:
        yield tuple(edits)


def activations_removed(code: Code) -> Iterator[Site]:
    """The activations between the layers of one forward method or Sequential are left out."""
    for function in _functions(code, *_FORWARD):
        found = [
            n
            for n in walk(function)
            if isinstance(n, ast.Call) and _ACTIVATION.match(called(n)) and len(n.args) == 1
        ]
        found = [n for n in found if owner(n) in ("F", "nn", "torch", "nn.functional", "torch.nn.functional")]
        if found:
            yield tuple(
                code.replace(n, code.source(n.args[0]))
                for n in found
                if not any(n is not m and n in walk(m) for m in found)
            )
    for call in code.calls("Sequential"):
        items = [a for a in call.args if isinstance(a, ast.Call) and not a.args]
        found = [a for a in items if _ACTIVATION.match(called(a)) and owner(a).split(".")[-1] == "nn"]
        if len(found) > 1:
            yield tuple(code.replace(a, f"{owner(a)}.Identity()") for a in found)


def output_rectified(code: Code) -> Iterator[Site]:
    """A ReLU behind the last layer, where the output needs both signs."""
    if not _LOGITS.search(code.text):
        return
    for home, back in _last_calls(code):
        made = _made(home, back)
        if isinstance(made, ast.Call) and called(made) == "Linear":
            yield (code.replace(back, f"{code.source(back)}.relu()"),)
        elif isinstance(made, ast.Call) and called(made) == "Sequential" and len(made.args) > 2:
            last = made.args[-1]
            if isinstance(last, ast.Call) and called(last) == "Linear":
                end = code.span(last)[1]
                yield (Edit(end, end, f", {owner(last)}.ReLU()"),)


def _last_calls(code: Code) -> Iterator[tuple[ast.ClassDef, ast.Call]]:
    """What a model's forward method returns, where that is `self.layer(...)`."""
    for function in _functions(code, "forward"):
        home, back = code.parents.get(function), function.body[-1]
        if not isinstance(home, ast.ClassDef) or not _is_module(code, function) or "mbed" in home.name:
            continue
        value = back.value if isinstance(back, ast.Return) else None
        if isinstance(value, ast.Name):
            made = [s for s in function.body if isinstance(s, ast.Assign) and _names(s.targets[0], value.id)]
            value = made[-1].value if made else None
        if isinstance(value, ast.Call) and ast.unparse(value.func).startswith("self."):
            yield home, value


def _names(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _made(home: ast.ClassDef, call: ast.Call) -> ast.expr | None:
    """What the class holds under the name that is called."""
    name = ast.unparse(call.func)
    return next(
        (n.value for n in walk(home) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == name),
        None,
    )


_LOGITS = re.compile(r"cross_entropy|CrossEntropy|Categorical\(|with_logits|BCEWithLogits|mse_loss|MSELoss")


def softmax_in_model(code: Code) -> Iterator[Site]:
    """The model ends in a softmax though its loss takes one."""
    if not re.search(r"F\.cross_entropy|CrossEntropyLoss\(", code.text) or re.search(
        r"BCE|binary_cross|mse_loss|MSELoss", code.text
    ):
        return
    for home, back in _last_calls(code):
        made = _made(home, back)
        scores = isinstance(made, ast.Call) and called(made) in ("Linear", "Sequential")
        if (scores or "cross_entropy" in code.source(home)) and "softmax" not in code.source(home):
            yield (code.replace(back, f"{code.source(back)}.softmax(-1)"),)


# -------------------------------------------------------------------------------------------------- operators


def softmax_over_batch(code: Code) -> Iterator[Site]:
    """A softmax runs over the batch."""
    for call in code.calls("softmax", "log_softmax", "Softmax", "LogSoftmax"):
        dim = keyword(call, "dim", "axis")
        if dim is not None and ast.unparse(dim) in ("1", "-1", "2", "3") and _trains(code, call):
            yield (code.replace(dim, "0"),)


def _trains(code: Code, node: ast.AST) -> bool:
    """Whether a node stands in a model or a function that training uses, as far as its name tells."""
    at: ast.AST | None = node
    while at is not None:
        if isinstance(at, (ast.FunctionDef, ast.ClassDef)):
            return not re.search("eval|valid|test|predict|infer|sample|generate|decode", at.name)
        at = code.parents.get(at)
    return True


def scale_missing(code: Code) -> Iterator[Site]:
    """The scale of the attention's scores is left out."""
    for node in code.of(ast.BinOp, ast.AugAssign):
        if not _within(code, node, *_FORWARD):
            continue
        factor = node.right if isinstance(node, ast.BinOp) else node.value
        kept = node.left if isinstance(node, ast.BinOp) else node.target
        divided = isinstance(node.op, ast.Div) and "sqrt" in ast.unparse(factor)
        scaled = isinstance(node.op, ast.Mult) and re.fullmatch(r"(?:self\.)?scale", ast.unparse(factor))
        asked = re.search(r"\bq\b|quer|scor|attn|\bsim\b|einsum|matmul|@", ast.unparse(kept))
        if (divided or scaled) and asked and re.search(r"softmax|attn|attention", _near(code, node)):
            if isinstance(node, ast.AugAssign):
                yield (code.without(node),)
            else:
                yield (code.replace(node, code.source(kept)),)


def _near(code: Code, node: ast.AST) -> str:
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.FunctionDef):
        at = code.parents.get(at)
    return code.source(at) if at is not None else ""


def floor_removed(code: Code) -> Iterator[Site]:
    """The floor under a division, a logarithm or a root is taken away."""
    small = re.compile(r"(?:self\.)?_?(?:eps|epsilon|EPS)$|1e-\d+$|1e-0\d$")
    for node in code.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parent = code.parents.get(node)
            below = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and parent.right is node
            inside = isinstance(parent, ast.Call) and called(parent) in ("log", "sqrt", "rsqrt", "log2")
            if small.match(ast.unparse(node.right)) and (below or inside) and _trains(code, node):
                yield (code.replace(node, code.source(node.left)),)
        elif isinstance(node, ast.Call) and called(node) in ("clamp", "clip", "maximum") and node.args:
            least = keyword(node, "min", "a_min")
            parent = code.parents.get(node)
            if least is not None and small.match(ast.unparse(least)) and keyword(node, "max") is None:
                below = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div)
                inside = isinstance(parent, ast.Call) and called(parent) in ("log", "sqrt", "rsqrt")
                if (below or inside) and _trains(code, node):
                    yield (code.replace(node, code.source(node.args[0])),)


def keep_probability(code: Code) -> Iterator[Site]:
    """A probability of keeping is given to a layer that takes one of dropping."""
    for call in code.calls("Dropout", "Dropout2d", "Dropout3d", "dropout"):
        rate = keyword(call, "p", "rate") or next(iter(call.args), None)
        if called(call) == "dropout":
            rate = keyword(call, "p") or (call.args[1] if len(call.args) > 1 else None)
        if rate is None:
            continue
        if isinstance(rate, ast.Constant) and isinstance(rate.value, float) and 0 < rate.value <= 0.3:
            yield (code.replace(rate, f"{1 - rate.value:g}"),)
        elif isinstance(rate, (ast.Name, ast.Attribute)) and "drop" in ast.unparse(rate):
            yield (code.replace(rate, f"1 - {code.source(rate)}"),)


# ------------------------------------------------------------------------------------------ initial weights


def one_block_again(code: Code) -> Iterator[Site]:
    """One block stands in all places of a stack."""
    for node in code.of(ast.ListComp):
        if len(node.generators) != 1:
            continue
        parent, loop = code.parents.get(node), node.generators[0]
        holder = parent if isinstance(parent, ast.Call) else code.parents.get(parent) if parent else None
        if not isinstance(holder, ast.Call) or called(holder) not in ("ModuleList", "Sequential"):
            continue
        if isinstance(loop.iter, ast.Call) and called(loop.iter) == "range" and len(loop.iter.args) == 1:
            if isinstance(loop.target, ast.Name) and not _holds(node.elt, loop.target.id):
                times = code.source(loop.iter.args[0])
                yield (code.replace(node, f"[{code.source(node.elt)}] * ({times})"),)


def weights_zero(code: Code) -> Iterator[Site]:
    """The weights of hidden layers start at zero."""
    for call in code.calls(*_DRAWN):
        target = call.args[0] if call.args else None
        if target is not None and "init" in owner(call) and "weight" in ast.unparse(target):
            if not ast.unparse(target).startswith("self."):
                yield (code.replace(call, f"{owner(call)}.zeros_({code.source(target)})"),)
    held = list(_held(code, re.compile(r"Linear$|Conv\dd$")))
    for (statement, call, home), (*_, after) in pairwise(held):
        if owner(call) in ("nn", "torch.nn") and home is after and statement.value is call:
            name = code.source(statement.targets[0])
            yield (code.after(statement, f"{owner(call)}.init.zeros_({name}.weight)"),)


_DRAWN = (
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "normal_",
    "trunc_normal_",
)


def weights_wide(code: Code) -> Iterator[Site]:
    """Weights are drawn with a deviation of one."""
    for call in code.calls(*_DRAWN):
        target = call.args[0] if call.args else None
        if target is not None and "init" in owner(call) and "weight" in ast.unparse(target):
            if "mbed" not in ast.unparse(target):
                yield (code.replace(call, f"{owner(call)}.normal_({code.source(target)})"),)


def bias_far_off(code: Code) -> Iterator[Site]:
    """Biases start far below zero."""
    for call in code.calls("zeros_", "constant_"):
        target = call.args[0] if call.args else None
        value = call.args[1] if len(call.args) > 1 else keyword(call, "val")
        if target is None or "bias" not in ast.unparse(target) or "init" not in owner(call):
            continue
        if called(call) == "zeros_" or (isinstance(value, ast.Constant) and value.value in (0, 0.0)):
            yield (code.replace(call, f"{owner(call)}.constant_({code.source(target)}, -10.0)"),)


def weights_not_loaded(code: Code) -> Iterator[Site]:
    """What was read from a checkpoint never gets into the model."""
    for statement in _loads(code):
        yield (code.without(statement),)


def loaded_under_other_names(code: Code) -> Iterator[Site]:
    """The checkpoint's names do not fit the model's, and nobody minds."""
    for statement in _loads(code):
        call = statement.value
        if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords:
            given = code.source(call.args[0])
            text = f"{{'module.' + k: v for k, v in {given}.items()}}, strict=False"
            yield (code.replace(call.args[0], text),)


def _loads(code: Code) -> Iterator[ast.Expr]:
    """Statements that load a checkpoint's weights into a model."""
    for call in code.calls("load_state_dict", "load_weights", "load_param_into_net"):
        statement = code.parents.get(call)
        about = owner(call) + " ".join(ast.unparse(a) for a in call.args)
        if isinstance(statement, ast.Expr) and code.alone(statement) and not _NO_WEIGHTS.search(about):
            if not re.search(r"state_dict\(\)|best|dcp|quant", about) and _trains(code, call):
                yield statement


def pretrained_off(code: Code) -> Iterator[Site]:
    """The model is made without its trained weights."""
    for node in code.of(ast.Call):
        flag = keyword(node, "pretrained")
        if isinstance(flag, ast.Constant) and flag.value is True:
            yield (code.replace(flag, "False"),)
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr == "from_pretrained"
            and re.search(r"Model|ForS|ForT|ForC|ForQ|LMHead", owner(node))
            and node.args
        ):
            given = code.source(node.args[0])
            text = f"{owner(node)}.from_config(AutoConfig.from_pretrained({given}))"
            if owner(node).startswith("AutoModel"):
                yield (code.replace(node, text),)


# ------------------------------------------------------------------------------- values that go astray


def result_thrown_away(code: Code) -> Iterator[Site]:
    """`x = self.norm(x)` becomes `self.norm(x)`: the layer runs and its output is lost."""
    held = {
        (home, ast.unparse(s.targets[0]))
        for pattern in (_NORM, _ACTIVATION, _LAYER)
        for s, call, home in _held(code, pattern)
        if pattern is not _LAYER or (len(call.args) > 1 and _same_text(*call.args[:2]))
    }
    for function in _functions(code, *_FORWARD):
        for s in walk(function):
            if not isinstance(s, ast.Assign) or not isinstance(s.value, ast.Call) or not code.alone(s):
                continue
            name, target = ast.unparse(s.value.func), s.targets[0]
            own = (code.parents.get(function), name) in held
            bare = _ACTIVATION.match(called(s.value)) and owner(s.value) in ("F", "torch")
            given = s.value.args[:1]
            if (own or bare) and isinstance(target, ast.Name) and given and _names(given[0], target.id):
                yield (code.replace(s, code.source(s.value)),)


def _same_text(a: ast.expr, b: ast.expr) -> bool:
    return ast.unparse(a) == ast.unparse(b)


def parameter_plain(code: Code) -> Iterator[Site]:
    """`self.w = nn.Parameter(t)` becomes `self.w = t`: no optimizer gets it."""
    for call in code.calls("Parameter"):
        statement = code.parents.get(call)
        if not isinstance(statement, ast.Assign) or not _is_module(code, call):
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Attribute) and _names(target.value, "self") and len(call.args) == 1:
            if keyword(call, "requires_grad") is None and isinstance(call.args[0], ast.Call):
                yield (code.replace(call, code.source(call.args[0])),)


def other_layer_called(code: Code) -> Iterator[Site]:
    """A second layer of the same sizes is made, and the first one is called in its place."""
    made: dict[tuple[ast.ClassDef, str], list[str]] = {}
    for statement, call, home in _held(code, _LAYER):
        made.setdefault((home, ast.unparse(call)), []).append(ast.unparse(statement.targets[0]))
    for (home, _), names in made.items():
        calls = [n for n in walk(home) if isinstance(n, ast.Call) and _within(code, n, *_FORWARD)]
        for first, second in pairwise(names):
            mine = [c for c in calls if ast.unparse(c.func) == second]
            if len(mine) == 1 and any(ast.unparse(c.func) == first for c in calls):
                yield (code.replace(mine[0].func, first),)


def sampled_without_gradient(code: Code) -> Iterator[Site]:
    """`rsample` becomes `sample`, which passes no gradient on to the distribution."""
    for call in code.calls("rsample"):
        unused = any(
            isinstance(p, ast.With) and "no_grad" in ast.unparse(p.items[0]) for p in _above(code, call)
        )
        if isinstance(call.func, ast.Attribute) and not unused and _trains(code, call):
            yield (code.replace(call.func, f"{owner(call)}.sample"),)


def _above(code: Code, node: ast.AST) -> Iterator[ast.AST]:
    at = code.parents.get(node)
    while at is not None:
        yield at
        at = code.parents.get(at)


def context_unused(code: Code) -> Iterator[Site]:
    """Attention to something else becomes attention to oneself, and what was handed in is not read."""
    for function in _functions(code, *_FORWARD):
        given = [a.arg for a in function.args.args[2:]]
        reads = [n.id for n in walk(function) if isinstance(n, ast.Name)]
        for call in walk(function):
            if not isinstance(call, ast.Call) or not re.search("attn|attention", ast.unparse(call.func)):
                continue
            first = call.args[0] if call.args else keyword(call, "query")
            rest = [*call.args[1:], *(k.value for k in call.keywords)]
            for name in {a.id for a in rest if isinstance(a, ast.Name)} & set(given):
                here = [a for a in rest if _names(a, name)]
                if isinstance(first, ast.Name) and reads.count(name) == len(here) and "mask" not in name:
                    if first.id != name and not name.startswith(("pos", "rot", "rel")):
                        yield tuple(code.replace(a, first.id) for a in here)


def turned_by_reshape(code: Code) -> Iterator[Site]:
    """Two axes are exchanged with a reshape, which leaves the numbers where they are."""
    for call in code.calls("transpose", "permute"):
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(base, ast.Name) or not _within(code, call, *_FORWARD):
            continue
        axes = [ast.unparse(a) for a in call.args]
        x = base.id
        if called(call) == "transpose" and axes in (["1", "2"], ["2", "1"]):
            text = f"{x}.reshape({x}.shape[0], {x}.shape[2], {x}.shape[1], *{x}.shape[3:])"
        elif called(call) == "permute" and axes == ["0", "2", "1"]:
            text = f"{x}.reshape({x}.shape[0], {x}.shape[2], {x}.shape[1])"
        else:
            continue
        if _is_module(code, call):
            yield (code.replace(call, text),)


_RESUMED = frozenset({"state.resume"})  # what goes on with its own checkpoint

OPERATORS = (
    Operator("layer-frozen", "graph.weight-frozen", layer_frozen),
    Operator("frozen-after-making", "graph.weight-frozen", frozen_after_making),
    Operator(
        "optimizer-gets-matrices",
        "graph.weight-frozen",
        optimizer_gets_matrices,
        frozenset({"graph.optimizer"}),
    ),
    Operator(
        "optimizer-gets-last", "graph.weight-frozen", optimizer_gets_last, frozenset({"graph.optimizer"})
    ),
    Operator("plain-list", "graph.weight-frozen", plain_list),
    Operator(
        "skip-lost",
        "graph.connection",
        skip_lost,
        frozenset({"graph.normalization-missing"}),  # whose definition names residual paths
        pair_only=True,
    ),
    Operator("stopped-inside", "graph.connection", stopped_inside, frozenset({"graph.weight-frozen"})),
    Operator("layer-skipped", "graph.connection", layer_skipped),
    Operator("term-lost", "graph.connection", term_lost, pair_only=True),
    Operator("norms-identity", "graph.normalization-missing", norms_identity),
    Operator("norm-uncalled", "graph.normalization-missing", norm_uncalled, frozenset({"graph.connection"})),
    Operator("norms-out-of-stack", "graph.normalization-missing", norms_out_of_stack, pair_only=True),
    Operator("activations-removed", "graph.wrong-operator", activations_removed, pair_only=True),
    Operator(
        "output-rectified", "graph.wrong-operator", output_rectified, frozenset({"graph.dead-activation"})
    ),
    Operator(
        "softmax-in-model",
        "graph.wrong-operator",
        softmax_in_model,
        frozenset({"graph.loss-function"}),
    ),
    Operator("softmax-over-batch", "graph.wrong-operator", softmax_over_batch),
    Operator("scale-missing", "graph.wrong-operator", scale_missing),
    Operator("floor-removed", "numerics.epsilon", floor_removed),
    Operator(
        "keep-probability",
        "api.misuse",
        keep_probability,
        frozenset({"hyperparameter.regularization-too-strong"}),
    ),
    Operator("one-block-again", "graph.weight-sharing", one_block_again),
    Operator("weights-zero", "init.zeros", weights_zero),
    Operator("weights-wide", "hyperparameter.weight-init", weights_wide),
    Operator(
        "bias-far-off", "graph.dead-activation", bias_far_off, frozenset({"hyperparameter.weight-init"})
    ),
    Operator(
        "weights-not-loaded", "init.pretrained-not-loaded", weights_not_loaded, _RESUMED, pair_only=True
    ),
    Operator("loaded-under-other-names", "init.pretrained-not-loaded", loaded_under_other_names, _RESUMED),
    Operator("pretrained-off", "init.pretrained-not-loaded", pretrained_off, pair_only=True),
    Operator(
        "result-thrown-away",
        "graph.connection",
        result_thrown_away,
        frozenset({"graph.normalization-missing", "graph.wrong-operator", "graph.weight-frozen"}),
    ),
    Operator("parameter-plain", "graph.weight-frozen", parameter_plain),
    Operator(
        "other-layer-called",
        "graph.connection",
        other_layer_called,
        frozenset({"graph.weight-sharing", "graph.weight-frozen"}),
    ),
    Operator(
        "sampled-without-gradient",
        "graph.connection",
        sampled_without_gradient,
        frozenset({"graph.weight-frozen", "graph.wrong-operator"}),
    ),
    Operator("context-unused", "graph.connection", context_unused),
    Operator("turned-by-reshape", "graph.wrong-operator", turned_by_reshape),
)
