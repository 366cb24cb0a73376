"""Pretrained weights in scripts: read and not used, overwritten, or never asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, argument, keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..loss.distilled import teacher_at_random
from ..shared.checks import at, first, ok
from ..shared.nodes import is_false, is_none
from ..trainers.fastai_learner import frozen_at_random
from .drawn_again import drawn_again, loaded_on_the_spot, root_of
from .renamed_keys import keys_renamed_away

_MODEL = re.compile(r"(?:^|_)(?:model|net|network|module|backbone|encoder|resnet|bert|unet)\d*$")
_READS = ("load_checkpoint", "load_file", "load_state_dict_from_url")
_FINE_TUNED = re.compile(
    r"AutoModelFor(?:Sequence|Token|Image|Audio)\w*Classification|AutoModelForQuestionAnswering"
)


@probe()
def pretrained_lost(view: View) -> Finding:
    """Weights are read and reach no model, or a copy, or a model that is then made anew.

    Also: a classifier built `from_config` beside a pretrained tokenizer, a backbone frozen at random.
    """
    return first(view, _lost, "the scripts load no weights")


_HEAD = re.compile(
    r"(?i)^['\"](?:module\.)?(?:cls_?)?(?:head|fc|classifier|classify|logits|output)s?\.?['\"]$"
)


def _head_alone(source: Script) -> Finding | None:
    """`{k: v for k, v in state.items() if k.startswith("head.")}`: the head alone is taken of a file.

    The condition that leaves the head out lost its `not`; `strict=False` says nothing of what is missing.
    """
    for made in source.of(ast.DictComp):
        tests = made.generators[0].ifs
        test = tests[0] if len(tests) == 1 and len(made.generators) == 1 else None
        word: ast.expr | None = None
        if isinstance(test, ast.Call) and last_name(test.func) == "startswith" and len(test.args) == 1:
            word = test.args[0]
        elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In):
            word = test.left
        if not isinstance(word, ast.Constant) or not _HEAD.match(repr(word.value)):
            continue
        statement = source.parents.get(made)
        names = {unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
        for call in source.named("load_state_dict"):
            given = call.args[0] if call.args else None
            strict = keyword(call, "strict")
            mine = given is made or (given is not None and unparse(given) in names)
            whole = isinstance(call.func, ast.Attribute) and not re.search(
                r"(?i)head|fc|class|logit", unparse(call.func.value)
            )
            if mine and whole and strict is not None and is_false(strict):
                return at(source, made, f"of the file only what belongs to {word.value!r} is taken")
    return None


def _lost(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    looks = (
        _never_put,
        _made_anew,
        drawn_again,
        loaded_on_the_spot,
        _into_dict,
        _into_copy,
        keys_renamed_away,
        _from_config,
        _frozen_at_random,
        _head_alone,
        frozen_at_random,
        teacher_at_random,
    )
    for look in looks:
        found = look(source)
        if isinstance(found, Finding):
            return found
        seen = seen or found
    return ok(source, seen, "the weights that are read reach the model") if seen is not None else None


def _never_put(source: Script) -> Finding | ast.AST | None:
    """What a checkpoint holds is only counted, printed or cut down."""
    seen = None
    for node in source.of(ast.Assign):
        call = _read(node.value)
        if call is None:
            continue
        if not isinstance(node.targets[0], ast.Name):
            continue
        named = node.targets[0].id
        if not (last_name(call.func) in _READS or _reads_weights(call, named)):
            continue
        if last_name(call.func) == "load_checkpoint" and (
            len(call.args) > 1 or keyword(call, "net") is not None
        ):
            continue
        owner = receiver(call)
        if owner is not None and (unparse(owner) == "self" or not (call.args or call.keywords)):
            continue  # a method that knows by itself what it reads, and where it goes
        if call.args and saved_here(source, call.args[0]):
            continue  # of its own training: the best epoch, or where it goes on
        seen = seen or call
        name = node.targets[0].id
        if unused(source, node, name):
            return at(source, node, "the weights are read and never put into the model")
    return seen


_WEIGHTS = re.compile(r"(?i)pretrain|backbone|weights|checkpoint|ckpt|state_dict|init_from")


def _read(value: ast.expr) -> ast.Call | None:
    """`torch.load(path)["state_dict"]`: the call that reads."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return value if isinstance(value, ast.Call) else None


_VECTORS = re.compile(r"(?i)vectors|glove|word2vec|fasttext|embedding_?(?:matrix|weights)")
_STATE = re.compile(r"(?i)^(?:state(?:_?dict)?|weights|ckpt|checkpoint|pretrained)$")


def _reads_weights(call: ast.Call, name: str) -> bool:
    """`torch.load(cfg.backbone)`, `state = torch.load(path)`: weights by a name, no data; word vectors."""
    reader = unparse(call.func)
    if reader not in ("torch.load", "np.load", "numpy.load") or not call.args:
        return False
    path = unparse(call.args[0])
    if _VECTORS.search(name) and _VECTORS.search(path):
        return True
    return reader == "torch.load" and bool(_WEIGHTS.search(path) or _STATE.search(name))


def unused(source: Script, node: ast.Assign, name: str, depth: int = 3) -> bool:
    """What a statement assigns to a name is handed on to nothing: only counted, printed or cut down."""
    scope = source.function_around(node) or source.tree
    uses = [n for n in of(scope, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return not any(_hands_on(source, use) and not _cut_down(source, use, depth) for use in uses)


def _cut_down(source: Script, use: ast.Name, depth: int) -> bool:
    """`body = {k: v for k, v in saved.items() if ...}`, of which nothing is used either."""
    line = source.statement(use)
    if depth == 0 or not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Name):
        return False
    inner = next((p for p in source.above(use) if isinstance(p, ast.DictComp)), None)
    if inner is None or line.value is not inner:
        return False
    # under its own name it is looked at with the other reads
    return line.targets[0].id == use.id or unused(source, line, line.targets[0].id, depth - 1)


def saved_here(source: Script, path: ast.expr) -> bool:
    """The program itself writes weights to this path."""
    saves = source.named("save_checkpoint", "save", "save_weights", "save_model", "torch_save")
    given = [a for c in saves for a in all_arguments(c)]
    named = {n.value for a in given for n in of(a, ast.Constant) if isinstance(n.value, str)}
    return unparse(path) in map(unparse, given) or (isinstance(path, ast.Constant) and path.value in named)


def own_weights(source: Script, call: ast.Call, place: int = 0) -> bool:
    """What `load_state_dict` gets comes from this training: a file that it writes, a state that it took."""
    given = argument(call, position=place)
    while isinstance(given, ast.Subscript):
        given = given.value
    if given is None:
        return False
    ways = [given, *flow(source).values(given, 4)]
    inside = [c for w in ways for c in of(w, ast.Call)]
    read = [c for c in inside if last_name(c.func) in ("load", "load_file", "load_checkpoint") and c.args]
    if read:
        return all(saved_here(source, c.args[0]) for c in read)
    # `key.load_state_dict(query.state_dict())` is a copy of another net, which goes on learning
    return any(last_name(c.func) == "state_dict" and source.owner(c) == source.owner(call) for c in inside)


def _hands_on(source: Script, use: ast.Name) -> bool:
    """Anything but its size, its keys, an entry taken out, or a test."""
    for parent in source.above(use):
        if isinstance(parent, ast.Call):
            name = last_name(parent.func)
            return name not in ("len", "print", "info", "keys", "pop", "debug", "list", "sorted")
        if isinstance(parent, (ast.Delete, ast.comprehension)):
            return False
        if isinstance(parent, (ast.For,)):
            return False
        if isinstance(parent, (ast.Return, ast.Assign, ast.Yield)):
            inner = unparse(parent.value) if parent.value is not None else ""
            return not inner.startswith("len(")
        if isinstance(parent, ast.stmt):
            return False
    return False


def _made_anew(source: Script) -> Finding | ast.AST | None:
    """`net.load_state_dict(...)`, and then `net = resnet18(...)` in the same function."""
    seen = None
    for call, owner in _filled(source):
        if not _MODEL.search(owner.id.lower()):
            continue
        seen = seen or call
        scope = source.function_around(call) or source.tree
        around = [p for p in (call, *source.above(call)) if isinstance(p, ast.stmt)]
        block = [source.parents.get(p) for p in around]
        for node in walk(scope):
            later = isinstance(node, ast.Assign) and node.lineno > call.lineno
            if not later or not isinstance(node, ast.Assign) or source.parents.get(node) not in block:
                continue
            same = any(isinstance(t, ast.Name) and t.id == owner.id for t in node.targets)
            used = any(n.id == owner.id for n in of(node.value, ast.Name))
            between = any(
                n.id == owner.id and isinstance(n.ctx, ast.Load)
                and call.lineno < n.lineno < node.lineno
                for n in of(scope, ast.Name)
            )  # fmt: skip
            loops, outer = source.loops_around(call), source.loops_around(node)
            if isinstance(call, ast.Assign) and len(loops) == len(outer) + 1:
                loops = loops[1:]  # row by row
            built = isinstance(node.value, ast.Call) and outer == loops
            if same and built and not used and not between and not _has_it(source, node.value, owner.id):
                return at(
                    source,
                    node,
                    f"the model is made anew after the weights of line {call.lineno} were loaded",
                )
    return seen


def _filled(source: Script) -> Iterator[tuple[ast.Call | ast.Assign, ast.Name]]:
    """Where weights are put into a model or a part of it, and the name of the model.

    `net.load_state_dict(...)`, `net.get_layer("words").set_weights(...)`, `net.words.weight[i] = vector`.
    """
    for call in source.named("load_state_dict", "load_weights", "load_param_into_net", "set_weights"):
        owner: ast.expr | None = receiver(call)
        if last_name(call.func) == "load_param_into_net" and call.args:
            owner = call.args[0]
        elif last_name(call.func) == "set_weights" and owner is not None:
            owner = root_of(owner)
        if isinstance(owner, ast.Name):
            yield call, owner
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if re.search(r"\.weight(?:\.data)?(?:\[.*\])?$", unparse(target)):
            root = root_of(target)
            if isinstance(root, ast.Name) and root.id != "self":
                yield node, root


def _has_it(source: Script, made: ast.expr, name: str) -> bool:
    """`model = trainer.train()` of a `trainer = Trainer(model, ...)`: it gives back what it was given."""
    root = made.func if isinstance(made, ast.Call) else made
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and any(
        isinstance(n.value, ast.Call) and any(unparse(a) == name for a in all_arguments(n.value))
        for n in source.of(ast.Assign)
        if any(unparse(t) == root.id for t in n.targets)
    )


def _into_dict(source: Script) -> Finding | ast.AST | None:
    """`net.state_dict().update(saved)`: a dict that nobody keeps is changed, and no weight of the network."""
    for call in source.named("update"):
        inner = receiver(call)
        if isinstance(inner, ast.Call) and last_name(inner.func) == "state_dict" and call.args:
            if isinstance(source.parents.get(call), ast.Expr) and not inner.args:
                return at(
                    source, call, "the weights go into a dict that nobody keeps, and not into the model"
                )
    return None


def _into_copy(source: Script) -> Finding | ast.AST | None:
    """Weights are written into `model.emb.weight.clone()`, which nobody keeps."""
    mine = flow(source)
    for call in source.calls:
        for place, given in enumerate(call.args):
            if not (
                isinstance(given, ast.Call) and last_name(given.func) in ("clone", "copy", "numpy", "tolist")
            ):
                continue
            if ".weight" not in unparse(given):
                continue
            for function in mine.called(call):
                names = [a.arg for a in function.args.args]
                if (
                    place < len(names)
                    and _writes(function, names[place])
                    and not _gives_back(function, names[place])
                ):
                    return at(source, call, "the weights are written into a copy, which nobody keeps")
    return None


def _writes(function: ast.AST, name: str) -> bool:
    return any(isinstance(n.ctx, ast.Store) and unparse(n.value) == name for n in of(function, ast.Subscript))


def _gives_back(function: ast.AST, name: str) -> bool:
    given = [n.value for n in of(function, ast.Return) if n.value is not None]
    return any(n.id == name for value in given for n in of(value, ast.Name))


_HEADS = re.compile(
    r"^[A-Z]\w*For(?:(?:Sequence|Token|Image|Audio)\w*Classification|QuestionAnswering|MultipleChoice)$"
)


def _head_at_random(source: Script) -> Finding | None:
    """`BertForTokenClassification(config)`, configured as a checkpoint that is read for more.

    Left aside: programs that load weights in any way, or say that they train from scratch.
    """
    read = [c for c in source.named("from_pretrained") if source.owner(c).endswith("Config") and c.args]
    loaded = [c for c in source.named("from_pretrained") if not _OTHERS.search(source.owner(c))]
    if not read or loaded or source.named(*_LOADS) or source.loose or re.search(r"(?i)scratch", source.text):
        return None
    for call in source.calls:
        if not _HEADS.match(last_name(call.func)) or len(call.args) != 1:
            continue
        made = flow(source).values(call.args[0], 4)
        mine = [c for c in read if c in made and not any(k.arg in _SIZES for k in c.keywords)]
        if any(_read_besides(source, c) for c in mine):
            return at(source, call, "the model is built from its configuration alone: its weights are random")
    return None


def _read_besides(source: Script, config: ast.Call) -> bool:
    """What names the checkpoint of a configuration is read for more: its tokenizer, its vocabulary."""
    name = unparse(config.args[0])
    uses = [n for n in source.of(ast.Name, ast.Attribute, ast.Constant) if unparse(n) == name]
    return sum(isinstance(getattr(n, "ctx", ast.Load()), ast.Load) for n in uses) > 1


def _from_config(source: Script) -> Finding | ast.AST | None:
    if (found := _head_at_random(source)) is not None:
        return found
    if not re.search(r"Tokenizer\w*\.from_pretrained", source.code):
        return None
    if (found := _named_model_at_random(source)) is not None:
        return found
    if not _FINE_TUNED.search(source.text):
        return None
    for call in source.named("from_config"):
        if _FINE_TUNED.search(source.owner(call)) and not source.named("load_state_dict", "load_model"):
            return at(source, call, "the model is built from its configuration alone: its weights are random")
    return next((c for c in source.named("from_pretrained") if _FINE_TUNED.search(source.owner(c))), None)


_OTHERS = re.compile(r"(?:Tokenizer|Config|Processor|Extractor)\w*$")
_LOADS = ("load_state_dict", "load_model", "load_checkpoint", "load_weights", "load_adapter")
_NAMES_MODEL = re.compile(r"(?i)model_(?:name|path|id)|base_model|pretrained|checkpoint")


def _named_model_at_random(source: Script) -> Finding | None:
    """`AutoModel.from_config(config)`, with configuration and tokenizer of a model that a setting names.

    Left aside: configurations that are changed, scripts that load weights in any way, or say that they train
    from scratch.
    """
    loaded = [c for c in source.named("from_pretrained") if not _OTHERS.search(source.owner(c))]
    if loaded or source.named(*_LOADS) or source.loose or re.search(r"(?i)scratch", source.text):
        return None
    read = [c for c in source.named("from_pretrained") if c.args and _NAMES_MODEL.search(unparse(c.args[0]))]
    configs = [c for c in read if source.owner(c).endswith("Config")]
    tokens = {unparse(c.args[0]) for c in read if "Tokenizer" in source.owner(c)}
    for call in source.named("from_config"):
        if not call.args or _OTHERS.search(source.owner(call)):
            continue
        made = flow(source).values(call.args[0], 4)
        mine = [c for c in configs if c in made and unparse(c.args[0]) in tokens]
        if mine and not any(k.arg in _SIZES for c in mine for k in c.keywords):
            return at(source, call, "the model is built from its configuration alone: its weights are random")
    return None


_SIZES = ("vocab_size", "hidden_size", "n_embd", "num_hidden_layers", "n_layer", "n_head")


def _frozen_at_random(source: Script) -> Finding | ast.AST | None:
    """`weights=None` on a backbone that is then frozen: it hands on noise."""
    for node in source.of(ast.Assign):
        if not isinstance(node.value, ast.Call):
            continue
        given = keyword(node.value, "weights")
        if given is None or not isinstance(node.targets[0], ast.Name):
            continue
        if not is_none(given):
            continue
        name = node.targets[0].id
        loaded = re.search(rf"\b{re.escape(name)}\.(?:load_weights|load_state_dict)\(", source.code)
        if f"{name}.trainable = False" in source.code and not loaded:
            return at(
                source, node, "this backbone is frozen and no weights are loaded into it: it stays random"
            )
    return None
