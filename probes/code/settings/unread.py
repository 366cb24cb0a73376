"""Settings that a script defines and never reads: a warm-up, a clipping, a decay that are asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache, partial

from ...readers._tree import of
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.syntax import Script
from ..shared.checks import at, first, imports_locals, ok
from ..shared.nodes import is_true
from ..shared.sides import either
from .uncalled import idle

# PPO and the like clip ratios, and CLIP is a network
_KINDS = {
    "warm-up": re.compile(r"warm_?up"),
    "clipping": re.compile(
        r"^(?!clip_(?:eps|range|param|ratio|model|len|dur))"
        r".*(?:grad\w*_?clip|clip_?(?:grad|norm|value|max|$)|max_?grad_?norm)"
    ),
    "regularisation": re.compile(
        r"weight_?decay|drop_?out|drop_?path|label_?smooth|(?:^|_)wd$|(?:^|_)l2(?:_|$)"
    ),
    "schedule": re.compile(
        r"min_?lr|lr_?min|eta_?min|lr_?(?:decay|gamma|step|drop)|decay_?(?:steps|iters|epochs|rate)"
        r"|mile_?stones"
    ),
    "accumulation": re.compile(r"accum"),
    "class weights": re.compile(r"(?:class|pos|label)_?weights?$"),
    "pre-trained weights": re.compile(
        r"pre_?trained|init_?(?:from|checkpoint|ckpt|weights)|finetune_?from"
        r"|^teacher(?:_(?:path|ckpt|checkpoint|weights|file))?$"
    ),
}
_HOLDERS = re.compile(r"(?i)^(?:args|cfgs?|conf(?:ig)?s?|options|h_?params?|hp|hps|settings|flags)$")
_CLASSES = re.compile(r"(?i)conf|cfg|args|argument|hparam|hyper|setting|option|param")
# what shows or keeps settings, and reads none
_SHOWS = re.compile(
    r"(?i)^(?:print|pprint|dumps?|safe_dump|info|debug|log\w*|write\w*|str|repr|format|init|update|save\w*|"
    r"asdict|vars|dict|add_hparams|add_text|deepcopy|copy|to_yaml|to_json|len|isinstance|parse_args|Namespace)$"
)
_BY_NAME = ("getattr", "attrgetter", "HfArgumentParser", "exec", "eval", "globals", "locals")
_OFF = (None, 0, False, "")
_ONCE = ("accumulation", "class weights")  # of one batch, of weight one: nothing is asked for


@probe()
def never_read(view: View, *, kind: str) -> Finding:
    """A setting of this kind is defined and switched on, and no line of the script reads it.

    Settings are arguments of a command line, fields of a configuration class, keys of a configuration dict
    and constants in capitals. Unknown where settings are handed on whole to what is not at hand.
    Also: a helper of this kind that nothing calls.
    """
    why = f"the scripts define no setting of {kind} whose use can be told"
    return first(view, either(partial(_never_read, kind), idle(kind)), why)


def _never_read(kind: str, source: Script) -> Finding | None:
    words, seen = _KINDS[kind], None
    mine = [(n, node) for n, node in _settings(source) if words.search(n.lower())]
    if kind in _ONCE:
        mine = [(n, node) for n, node in mine if 1 not in [c.value for c in of(node, ast.Constant)]]
    if not mine or not (source.backwards or source.steps) or source.loose or imports_locals(source):
        return None
    if _handed_on(source):
        return None
    for name, node in mine:
        seen = seen or node
        if not _is_read(source, name, node) and not _among_stale(source, node):
            return at(source, node, f"`{name}` is set, and nothing reads it")
    return ok(source, seen, "what is set is read") if seen is not None else None


@lru_cache(maxsize=16)
def _settings(source: Script) -> tuple[tuple[str, ast.AST], ...]:
    """Names of settings that are switched on, with the place of each."""
    return tuple((name, node) for name, node in _defined(source) if name)


def _defined(source: Script) -> Iterator[tuple[str, ast.AST]]:
    for call in source.named("add_argument"):
        flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        long = next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
        dest = keyword(call, "dest")
        name = dest.value if isinstance(dest, ast.Constant) else long.lstrip("-").replace("-", "_")
        asked = is_true(keyword(call, "required")) and keyword(call, "default") is None
        if keyword(call, "action") is None and (asked or not _is_off(keyword(call, "default"))):
            yield str(name), call
    for owner in source.classes.values():
        methods = {n.name for n in owner.body if isinstance(n, ast.FunctionDef)}
        if _CLASSES.search(owner.name) and "forward" not in methods:
            for node in owner.body:
                target: ast.expr | None = node.target if isinstance(node, ast.AnnAssign) else None
                if isinstance(node, ast.Assign) and len(node.targets) == 1:
                    target = node.targets[0]
                if isinstance(target, ast.Name) and not _is_off(getattr(node, "value", None)):
                    yield target.id, node
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper() and not _is_off(node.value):
                yield name, node
    for node in source.of(ast.Assign):
        if isinstance(node.value, ast.Dict) and _HOLDERS.match(last_name(node.targets[0])):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and not _is_off(value):
                    yield key.value, key


def _is_off(value: ast.expr | None) -> bool:
    """Nothing is asked for, or it cannot be told what is: no value, `None`, zero, another name."""
    if isinstance(value, ast.Call) and last_name(value.func) in ("field", "get", "getenv", "int", "float"):
        numbers = [n.value for n in of(value, ast.Constant) if isinstance(n.value, (int, float))]
        return not numbers or numbers[-1] in _OFF
    if isinstance(value, (ast.List, ast.Tuple)):
        return not value.elts
    if isinstance(value, ast.BinOp):
        return False
    return not isinstance(value, ast.Constant) or value.value in _OFF


def _among_stale(source: Script, node: ast.AST) -> bool:
    """Other options of the command line are read by nothing either: they came with what was copied."""
    if not (isinstance(node, ast.Call) and last_name(node.func) == "add_argument"):
        return False
    return any(
        isinstance(other, ast.Call)
        and last_name(other.func) == "add_argument"
        and not any(words.search(name.lower()) for words in _KINDS.values())
        and not _is_read(source, name, other)
        for name, other in _settings(source)
        if other is not node
    )


def _is_read(source: Script, name: str, node: ast.AST) -> bool:
    argument = isinstance(node, ast.Call)
    # `teacher = resnet50()`: a name of the program's own is not `args.teacher`
    own = argument and any(n.id == name for n in source.of(ast.Name) if isinstance(n.ctx, ast.Store))
    for one in source.of(ast.Name, ast.Attribute):
        if isinstance(one.ctx, ast.Load) and last_name(one) == name:
            if not (own and isinstance(one, ast.Name)):
                return True
    inside = set(of(node, ast.Constant))
    for text in source.of(ast.Constant):
        if text.value == name and text is not node and text not in inside:
            return True
    # `train(**config)`: what it is handed by name, it takes by name
    spread = any(k.arg is None for c in source.calls for k in c.keywords)
    return (spread or not own) and any(a.arg == name for a in source.of(ast.arg))


def _holders(source: Script) -> frozenset[str]:
    """Names that hold settings: those of `parse_args()` and of configuration classes, and usual ones."""
    made = [
        last_name(n.targets[0])
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call)
        and (
            last_name(n.value.func) in ("parse_args", "parse_known_args")
            or (last_name(n.value.func) in source.classes and _CLASSES.search(last_name(n.value.func)))
        )
    ]
    named = [last_name(n) for n in source.of(ast.Name, ast.Attribute)]
    return frozenset((*made, *(n for n in named if _HOLDERS.match(n)))) - source.classes.keys()


@lru_cache(maxsize=16)
def _handed_on(source: Script) -> bool:
    """Settings go whole to something whose text is not at hand, or are asked for by a name that varies."""
    holders = _holders(source)
    own = {f.name for f in source.of(ast.FunctionDef, ast.AsyncFunctionDef)} | set(source.classes)
    for call in source.calls:
        name = last_name(call.func)
        if isinstance(call.func, ast.Name) and name in _BY_NAME:
            if name != "getattr" or len(call.args) < 2 or not isinstance(call.args[1], ast.Constant):
                return True
        if name in own or _SHOWS.match(name):
            continue
        given = [*call.args, *(k.value for k in call.keywords)]
        for one in given:
            one = one.value if isinstance(one, ast.Starred) else one
            if isinstance(one, ast.Call) and last_name(one.func) in ("vars", "asdict", "dict") and one.args:
                one = one.args[0]
            if isinstance(one, ast.Attribute) and one.attr == "__dict__":
                one = one.value
            if isinstance(one, (ast.Name, ast.Attribute)) and last_name(one) in holders:
                return True
    for node in source.of(ast.Subscript):
        if isinstance(node.value, (ast.Name, ast.Attribute)) and last_name(node.value) in holders:
            if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Constant):
                return True
    return False
