"""How much of a model some parameters are: all, a part, or what nothing can tell."""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass, replace

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, keyword, last_name
from ...scripts.flow import Flow
from ...scripts.syntax import Script
from .frozen import judges


def is_slice(mine: Flow, weights: ast.expr) -> bool:
    """`optimizer.parameters[-2:]`, also by way of a name."""
    ends = [
        e.args[0]
        if isinstance(e, ast.Call) and last_name(e.func) in ("ParameterTuple", "tuple", "list") and e.args
        else e
        for e in mine.values(weights, 4)
    ]
    return bool(ends) and all(
        isinstance(e, ast.Subscript)
        and isinstance(e.slice, ast.Slice)
        and not (e.slice.lower is None and e.slice.upper is None)
        and "param" in unparse(e.value)
        for e in ends
    )


@dataclass(frozen=True)
class Cover:
    """How much of a model some parameters are. `part`: words for it; neither: it cannot be told."""

    whole: bool = False
    part: str = ""
    owner: str = ""  # the part is one module, by this name
    owners: tuple[str, ...] = ()  # or several
    chosen: bool = False  # the part is what a condition lets through
    cut: bool = False  # the part is a slice of the whole


def _rest_trained(mine: Flow, node: ast.AST, test: str) -> bool:
    """`p not in others`, where the function hands `others` to an optimizer of their own."""
    left = re.fullmatch(r"(?:id\()?\w+\)? not in ([\w.]+)", test)
    function = mine.source.function_around(node)
    return left is not None and any(
        re.search(r"(?i)optim|adam|sgd", last_name(c.func)) is not None
        and any(unparse(a) == left.group(1) for a in [*c.args, *(k.value for k in c.keywords)])
        for c in of(function or mine.source.tree, ast.Call)
    )


MOVES = ("to", "cuda", "cpu", "half", "float", "bfloat16", "requires_grad_")


_LISTS = ("list", "tuple", "iter", "set", "sorted", "chain", "filter", "from_iterable", "ParameterTuple")


PARAMETERS = ("parameters", "named_parameters", "trainable_params", "get_parameters", "parameters_and_names")


def cover_of(mine: Flow, node: ast.expr, depth: int) -> Cover:
    """How much of a model the parameters of an expression are, through `depth` assignments and calls."""
    if depth == 0:
        return Cover()
    if isinstance(node, ast.Call):
        return _of_call(mine, node, depth)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
        inner = cover_of(mine, node.generators[0].iter, depth - 1)
        tests = [unparse(t) for g in node.generators for i in g.ifs for t in _each_test(i)]
        tests = [t for t in tests if "requires_grad" not in t]
        tests = [t for t in tests if not _rest_trained(mine, node, t)]
        if inner.whole and tests:
            return Cover(part=f"the parameters for which `{tests[0][:60]}`", chosen=True)
        return replace(inner, chosen=False) if tests else inner
    if isinstance(node, (ast.List, ast.Tuple)):
        groups = [e for e in node.elts if not _still(e) and not _only_order(e)]
        if (words := _no_complement(mine, groups)) is not None:
            return Cover(part=words)
        return _together(mine, [cover_of(mine, e, depth - 1) for e in groups])
    if isinstance(node, ast.Starred):
        return cover_of(mine, node.value, depth - 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _together(mine, [cover_of(mine, e, depth - 1) for e in (node.left, node.right)])
    if isinstance(node, ast.Dict):
        inside = [
            v
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant) and k.value == "params"
        ]
        return cover_of(mine, inside[0], depth - 1) if inside else Cover()
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        inner = cover_of(mine, node.value, depth - 1)
        return Cover(part="a slice of the parameters", cut=True) if inner.whole else inner
    if isinstance(node, ast.Attribute) and node.attr in ("trainable_variables", "trainable_weights"):
        return _of_owner(mine, node.value, node)
    if isinstance(node, (ast.Name, ast.Attribute)) and _is_filled(mine.source, unparse(node)):
        return Cover()
    ends = [v for v in mine.values(node, 2) if v is not node]
    covers = [cover_of(mine, v, depth - 1) for v in ends]
    parts = [c for c in covers if c.part]
    if covers and len(parts) == len(covers):
        return parts[0]
    return Cover(whole=bool(covers) and all(c.whole for c in covers))


def _each_test(test: ast.expr) -> list[ast.expr]:
    """What all has to hold: `p.requires_grad and p.ndim > 1` asks two things."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _of_call(mine: Flow, node: ast.Call, depth: int) -> Cover:
    name = last_name(node.func)
    if name in PARAMETERS and isinstance(node.func, ast.Attribute):
        return _of_owner(mine, node.func.value, node)
    if name in ("items", "values") and isinstance(node.func, ast.Attribute):
        return cover_of(mine, node.func.value, depth - 1)
    if name in ("dict",) and keyword(node, "params") is not None:
        return cover_of(mine, node.keywords[0].value, depth - 1)
    if name in _LISTS and node.args:
        if name == "filter":
            test = unparse(node.args[0])
            inner = cover_of(mine, node.args[-1], depth - 1)
            if inner.whole and "requires_grad" not in test and not isinstance(node.args[0], ast.Constant):
                return Cover(part=f"the parameters for which `{test[:60]}`", chosen=True)
            return inner
        return _together(mine, [cover_of(mine, a, depth - 1) for a in node.args])
    ends = [v for v in mine.values(node, 2) if v is not node]
    found = cover_of(mine, ends[0], depth - 1) if len(ends) == 1 else Cover()
    return found if found.whole or found.part else _of_helper(mine, node)


def _of_helper(mine: Flow, call: ast.Call) -> Cover:
    """`groups(model.head, 0.01)` of a function that sorts the parameters of what it gets alone.

    Only that it is a part is told: what the function leaves out is not looked at.
    """
    functions = mine.called(call)
    if len(functions) != 1:
        return Cover()
    asked = [c.func for c in of(functions[0], ast.Call) if last_name(c.func) in PARAMETERS]
    names = {unparse(a.value) for a in asked if isinstance(a, ast.Attribute)}
    words = [a.arg for a in functions[0].args.args]
    if len(names) != 1 or (name := names.pop()) not in words or words.index(name) >= len(call.args):
        return Cover()
    given = call.args[words.index(name)]
    found = _of_owner(mine, given, call) if isinstance(given, ast.Attribute) else Cover()
    return found if found.part else Cover()


_WHOLE_NAMES = (
    "model",
    "net",
    "network",
    "networks",
    "neural_network",
    "neural_networks",
    "module",
    "self",
    "engine",
    "policy",
    "agent",
    "wrapped",
    "transformer",
    "student",
    "online",
)


_PLAIN = (
    "Linear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Embedding",
    "LSTM",
    "GRU",
    "RNN",
    "Sequential",
    "Dense",
    "Conv",
)


_SEVERAL = re.compile(r"(?i)(?:nets|models|networks|agents|learners|members|ensemble)$")


def _of_owner(mine: Flow, owner: ast.expr, node: ast.AST, depth: int = 4) -> Cover:
    """`model.parameters()` is all, `model.head.parameters()` a part; names of parts are followed."""
    text = unparse(owner)
    words = f"the parameters of {text}"
    if isinstance(owner, ast.Subscript):
        if isinstance(owner.slice, ast.Constant) and owner.slice.value in _WHOLE_NAMES:
            return Cover(whole=True)  # `args["model"]`: an entry among settings
        if isinstance(owner.slice, ast.UnaryOp) and _SEVERAL.search(unparse(owner.value)):
            return Cover(whole=True)  # `nets[-1]`: the newest of nets that are made one after the other
        return Cover(part=words, owner=text)
    if isinstance(owner, ast.Attribute):
        held = mine.class_around(node)
        of_self = isinstance(owner.value, ast.Name) and owner.value.id == "self"
        if not of_self:
            if owner.attr in _WHOLE_NAMES:
                return Cover(whole=True)
            base = mine.made(owner.value)
            if base is not None and base not in mine.source.modules:
                return Cover(whole=True)  # an attribute of what is no model: a trainer, a bundle
            if (base is None and _switched_alone(mine, owner)) or _handed_to_trainer(mine, owner):
                return Cover(whole=True)
            if base is not None and _holds_one(base) == owner.attr:
                return Cover(whole=True)  # the only layer of what wraps it
            return Cover(part=words, owner=text)
        # a trainer without a base class may have a method `forward` as well
        if held is not None and held.bases and any(f in held.body for f in mine.source.forwards):
            layers = layers_of(held)
            known = {last_name(v.func) for v in layers.values()}
            others = [n for n, call in layers.items() if n != text and _is_apart(mine, n, call, text)]
            if text in layers and others and known & {*_PLAIN, *mine.source.classes}:
                return Cover(part=words, owner=text)
            return Cover(whole=True)
    if depth and isinstance(owner, (ast.Name, ast.Attribute)):
        given = mine.given(owner)
        ways = [given.value] if given is not None and not given.places else mine.arguments(owner)
        ways = [
            w for w in ways if isinstance(w, (ast.Attribute, ast.Subscript, ast.Name)) and unparse(w) != text
        ]
        covers = [_of_owner(mine, w, w, depth - 1) for w in ways]
        if covers and all(c.part for c in covers):
            return covers[0]
    return Cover(whole=True)


def _switched_alone(mine: Flow, part: ast.Attribute) -> bool:
    """`train()` is called of the part, by this or another name, and never of what holds it: no model does."""
    text = unparse(part)
    names = {text} | {
        unparse(t) for n in mine.source.of(ast.Assign) if unparse(n.value) == text for t in n.targets
    }
    switched = {mine.source.owner(c) for c in mine.source.named("train")}
    held = unparse(part.value)
    run = {held, f"self.{held}"}
    called = {unparse(c.func) for c in mine.source.calls}
    return bool(names & switched) and not run & (switched | called)


def _handed_to_trainer(mine: Flow, part: ast.Attribute) -> bool:
    """The part goes as the model to what gets its optimizer: `Trainer(prior.flow, optimizer=opt)`."""
    text = unparse(part)
    names = {text} | {
        unparse(t) for n in mine.source.of(ast.Assign) if unparse(n.value) == text for t in n.targets
    }
    given = [{unparse(g) for g in all_arguments(c)} for c in mine.source.calls]
    return any(names & each and any(re.search(r"(?i)optim", g) for g in each) for each in given)


def _is_apart(mine: Flow, name: str, made: ast.Call, part: str) -> bool:
    """A layer beside a part: no copy that only judges, nothing built from the part, no plain object."""
    given = all_arguments(made)
    if any(unparse(n) == part for a in given for n in of(a, ast.expr)):
        return False  # `Agent(self.net)`, `Adam(self.net.parameters())`
    held = mine.source.classes.get(last_name(made.func))
    if held is not None and held not in mine.source.modules:
        return False
    if held is None and _WEIGHTLESS.search(last_name(made.func)):
        return False
    return not judges(name)


# What libraries call losses, figures, activations, shapes and data: nothing in them is trained.
_WEIGHTLESS = re.compile(
    r"Loss$|^(?:Smooth)?(?:L1|MSE|KLDiv|BCE)|Crossentropy$|^(?:\w*Accuracy|Mean\w*|F1Score|AUROC|Precision|Recall)$"
    r"|Metric(?:Collection)?$|^(?:Leaky|S)?(?:ReLU|GELU|SiLU|Tanh|Sigmoid|Softmax|LogSoftmax|Identity|Flatten)\d*$"
    r"|^(?:Compose|Resize|Normalize|ToTensor|\w*(?:Dataset|DataLoader|DataModule|Tokenizer|Processor|Generator))$"
    r"|^(?:Dropout|AvgPool|MaxPool|AdaptiveAvgPool|AdaptiveMaxPool|Upsample|Unfold|Pad)\w*$"
)


def layers_of(owner: ast.ClassDef) -> dict[str, ast.Call]:
    """What a class assigns to its attributes by calling something: `self.fc = nn.Linear(...)`."""
    return {
        unparse(node.targets[0]): node.value
        for node in of(owner, ast.Assign)
        if isinstance(node.value, ast.Call)
        and isinstance(node.targets[0], ast.Attribute)
        and last_name(node.value.func)[:1].isupper()
    }


def _holds_one(owner: ast.ClassDef) -> str | None:
    """The only attribute that a class makes by a call: `self.bert = BertModel.from_pretrained(name)`."""
    made = {
        t.attr
        for n in of(owner, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Attribute) and not isinstance(n.value, (ast.Constant, ast.Name, ast.Attribute))
    }
    return made.pop() if len(made) == 1 else None


def _together(mine: Flow, covers: list[Cover]) -> Cover:
    """Several lists or groups: all that have parts of one kind may make up the whole."""
    if not covers or all(c.whole for c in covers):
        return Cover(whole=bool(covers))
    if any(c.whole for c in covers):
        return Cover()  # all of one module and a part of another
    if any(not c.part for c in covers):
        return Cover()
    if len(covers) == 1:
        return covers[0]
    if all(c.chosen for c in covers):
        return Cover(whole=True)  # conditions that complete one another
    told = [c.owners or ((c.owner,) if c.owner else ()) for c in covers]
    owners = {o for each in told for o in each}
    joined = len(owners) > 1 and any("[" in o for o in owners)
    if joined:
        if not _makes_up(owners):
            return Cover()  # items of a list of layers: whether these are all cannot be told
        owners = {o.partition("[")[0] for o in owners}
        told = [(o,) for o in sorted(owners)]
    if len(owners) == 1 and all(told) and not joined:
        return covers[0]  # several groups of one part
    bases = {o.rpartition(".")[0] for o in owners}
    if (len(owners) > 1 or joined) and len(bases) == 1 and len(owners) == sum(map(len, told)) and all(told):
        base = next(iter(bases))
        held = _with_layers(mine, owners) if base == "self" else _class_named(mine, base)
        if held is not None:
            missing = _with_weights(mine, held) - {o.rpartition(".")[2] for o in owners}
            if missing:
                words = f"the parameters of {', '.join(sorted(owners))}, without {sorted(missing)[0]}"
                return Cover(part=words, owners=tuple(sorted(owners)))
            return Cover(whole=True)
    return Cover()


def _makes_up(owners: set[str]) -> bool:
    """Items of lists of layers are all of them: `all[0]` and `all[1:]`, `all[:k]` and `all[k:]`."""
    pieces: dict[str, set[str]] = {}
    for owner in owners:
        held, _, rest = owner.partition("[")
        if rest:
            pieces.setdefault(held, set()).add(rest.removesuffix("]"))
    for each in pieces.values():
        starts = [p.partition(":")[0] for p in each if p.endswith(":")]
        ahead = {p[1:] for p in each if p.startswith(":")} | ({"1"} if "0" in each else set())
        if not any(s in ahead for s in starts):
            return False
    return True


def _with_layers(mine: Flow, names: set[str]) -> ast.ClassDef | None:
    """The only class of modules that assigns layers to all of these attributes of its own."""
    held = [m for m in mine.source.modules if names <= layers_of(m).keys()]
    return held[0] if len(held) == 1 else None


def _class_named(mine: Flow, text: str) -> ast.ClassDef | None:
    """The class of what is written `text` somewhere in the script."""
    for node in of(mine.source.tree, ast.Name, ast.Attribute):
        if isinstance(node.ctx, ast.Load):
            if unparse(node) == text and (held := mine.made(node)) is not None:
                return held
    return None


def _with_weights(mine: Flow, owner: ast.ClassDef) -> set[str]:
    """The attributes of a class that hold layers with weights for sure."""
    return {
        name.removeprefix("self.")
        for name, call in layers_of(owner).items()
        if "." not in name.removeprefix("self.") and (_has_weights(mine, call) or _filled(mine, owner, name))
    }


def _filled(mine: Flow, owner: ast.ClassDef, name: str) -> bool:
    """`self.up = nn.ModuleList()`, then `self.up.append(Block(8))`."""
    added = [c.args[0] for c in of(owner, ast.Call) if unparse(c.func) == f"{name}.append" and c.args]
    return any(isinstance(a, ast.Call) and _has_weights(mine, a) for a in added)


def _has_weights(mine: Flow, call: ast.Call) -> bool:
    return (
        last_name(call.func) in _PLAIN
        or (
            last_name(call.func) in ("ModuleList", "CellList", "SequentialCell")
            and any(not _weightless(item) for item in call.args)
        )
        or (
            last_name(call.func) == "ModuleDict"
            and any(isinstance(a, ast.Dict) and any(_plain_call(v) for v in a.values) for a in call.args)
        )
        or (
            (held := mine.source.classes.get(last_name(call.func))) is not None
            and any(last_name(c.func) in _PLAIN for c in layers_of(held).values())
        )
    )


def _plain_call(made: ast.expr) -> bool:
    return isinstance(made, ast.Call) and last_name(made.func) in _PLAIN


def _weightless(given: ast.expr) -> bool:
    """A list of nothing but layers without weights: `[nn.Dropout(0.3) for _ in range(5)]`."""
    items = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [getattr(given, "elt", given)]
    return bool(items) and all(
        isinstance(item, ast.Call) and _WEIGHTLESS.search(last_name(item.func)) is not None for item in items
    )


def _only_order(group: ast.expr) -> bool:
    """MindSpore's `{"order_params": ...}`: no group of its own."""
    return isinstance(group, ast.Dict) and [k.value for k in group.keys if isinstance(k, ast.Constant)] == [
        "order_params"
    ]


def _no_complement(mine: Flow, groups: list[ast.expr]) -> str | None:
    """Two groups by tests on names that do not complete one another: what neither matches is left out."""
    if len(groups) != 2:
        return None
    tests = []
    for group in groups:
        given = (
            dict(zip(_keys(group), group.values, strict=True)).get("params")
            if isinstance(group, ast.Dict)
            else None
        )
        made = list(mine.values(given, 3)) if given is not None else []
        if len(made) != 1 or not isinstance(made[0], ast.ListComp) or len(made[0].generators[0].ifs) != 1:
            return None
        tests.append(unparse(made[0].generators[0].ifs[0]))
    if (left := _dimensions_left(mine, tests)) is not None:
        return f"the parameters for which `{tests[0][:40]}` or `{tests[1][:40]}`, none of {left} dimensions"
    by_name = all(re.search(r" in |startswith|endswith", t) for t in tests)
    turned = any(re.search(r"\bnot\b|!=|[<>]", t) for t in tests)
    if by_name and not turned and tests[0] != tests[1]:
        return f"the parameters for which `{tests[0][:40]}` or `{tests[1][:40]}`"
    return None


_DIMENSIONS = re.compile(r"(?:\w+\.(?:ndim|dim\(\))|len\(\w+\.shape\)) ([<>=!]=?) (\d)")


_OF_DIMENSIONS = {2: "Linear|Embedding|LSTM|GRU|RNN", 3: "Conv1d", 4: "Conv2d", 5: "Conv3d"}


def _dimensions_left(mine: Flow, tests: list[str]) -> int | None:
    """A number of dimensions of weights that neither `p.ndim == 2` nor `p.ndim < 2` takes."""
    found = [_DIMENSIONS.fullmatch(t) for t in tests]
    rules = [(m[1], int(m[2])) for m in found if m is not None]
    if len(rules) != len(tests):
        return None
    takes = {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }
    for size, layers in _OF_DIMENSIONS.items():
        made = [c for c in mine.source.calls if re.fullmatch(layers, last_name(c.func))]
        if made and not any(takes[sign](size, n) for sign, n in rules):
            return size
    return None


def _keys(group: ast.Dict) -> list[object]:
    return [k.value if isinstance(k, ast.Constant) else None for k in group.keys]


def _still(group: ast.expr) -> bool:
    """A group whose learning rate is zero does not train."""
    rate = None
    if isinstance(group, ast.Dict):
        named = zip(group.keys, group.values, strict=True)
        rate = next((v for k, v in named if isinstance(k, ast.Constant) and k.value == "lr"), None)
    elif isinstance(group, ast.Call):
        rate = keyword(group, "lr")
    return isinstance(rate, ast.Constant) and rate.value == 0 and rate.value is not False


def _is_filled(source: Script, name: str) -> bool:
    """A list that is filled in a loop: `params.append(p)`, `params += [...]`."""
    for call in source.named("append", "extend", "add", "update"):
        if source.owner(call).split("[")[0] == name:
            return True
    return any(unparse(n.target) == name for n in source.of(ast.AugAssign))
