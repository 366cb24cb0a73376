"""Helpers that a program writes and never calls: they clip, start the weights, set the rate, fill a memory.

A helper that lies in a module of tools and is imported by nobody says nothing. Told are methods of classes
that are made, functions that are imported by name, and functions of the script that is started;
and only where nothing else in the program does what the helper does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first
from ..shared.uses import brought_and_left, never_run

_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_by_global_norm", "clip_by_norm")
_STARTS = re.compile(r"(?i)^_?(?:(?:re)?init(?:iali[sz]e)?(?:_\w+)?|weights?_init|\w+_init)$")
_DRAWS = re.compile(r"\binit\.\w+_?\(|initializer\(|\.data\.(?:normal_|uniform_|fill_)|set_data\(")
_RATES = re.compile(
    r"(?i)^_?(?:(?:adjust|set|update|decay|get|step)_?(?:lr|learning_rate|rate)|warm_?up\w*"
    r"|lr_(?:at|for|schedule|lambda)"
    r"|(?:adjust|update)_?lr_\w+|\w*warm_?up(?:_lr)?)$"
)
_SETS_RATE = re.compile(r"\[['\"]lr['\"]\]\s*=[^=]|\.lr\.assign\(|learning_rate\.assign\(|\.set_lr\(")
_LOADS = re.compile(
    r"(?i)^_?(?:load|restore|init_from|use)_?(?:pre_?trained|backbone|encoder|base|imagenet)\w*$"
)
_LOADERS = ("load_state_dict", "load_weights", "load_param_into_net", "load_pretrained", "set_state_dict")
_FILLS = re.compile(
    r"(?i)^_?(?:(?:de|en)?queue\w*|\w*enqueue|update_\w+|push\w*|refresh\w*|store\w*|write\w*)$"
)
_STEPPED = re.compile(
    r"lr_scheduler|LambdaLR|LearningRateSchedul|get_\w+_schedule|ReduceLROnPlateau|_decay_schedule"
)


@probe()
def never_called(view: View, *, kind: str) -> Finding:
    """A helper of this kind stands in the program, and nothing calls it."""
    look = _KINDS[kind]
    return first(
        view, lambda s: _idle(s, kind, look), f"the scripts hold no helper of {kind} whose use can be told"
    )


def idle(kind: str) -> Callable[[Script], Finding | None]:
    """The same as a check, beside that of settings of the kind that nothing reads."""
    look = _KINDS.get(kind)
    return lambda source: _idle(source, kind, look) if look is not None else None


def _idle(source: Script, kind: str, look: Callable[[Script, Function], bool]) -> Finding | None:
    for function in _alone(source):
        if look(source, function):
            return at(source, function, f"nothing calls `{function.name}`, the {kind} of this program")
    return None


@lru_cache(maxsize=16)
def _alone(source: Script) -> tuple[Function, ...]:
    """Functions that are meant to be called and are not, also those imported and never named."""
    mine = [f for f in source.of(ast.FunctionDef) if never_run(source, f.body[-1]) and _is_meant(source, f)]
    return (*mine, *brought_and_left(source))


def _is_meant(source: Script, function: Function) -> bool:
    owner = source.class_around(function)
    if owner is not None:
        return bool(source.named(owner.name))
    return len(source.pieces) < 2 or function.lineno > source.pieces[-1][0]


def _elsewhere(source: Script, nodes: list[ast.Call], function: Function) -> bool:
    """One of these calls stands outside of the helper, where it runs."""
    return any(function not in source.above(n) and not never_run(source, n) for n in nodes)


def _inside(function: Function, names: tuple[str, ...]) -> list[ast.Call]:
    return [c for c in of(function, ast.Call) if last_name(c.func) in names]


def _clips(source: Script, function: Function) -> bool:
    calls = list(source.named(*_CLIPS))
    return bool(_inside(function, _CLIPS)) and not _elsewhere(source, calls, function)


def _starts(source: Script, function: Function) -> bool:
    if not _STARTS.match(function.name) or not _DRAWS.search(unparse(function)) or "post_init" in source.code:
        return False
    others = [
        f
        for f in source.of(ast.FunctionDef)
        if f is not function and f not in source.above(function) and function not in source.above(f)
    ]
    rest = " ".join(unparse(f) for f in others if not never_run(source, f.body[-1]))
    return _DRAWS.search(rest) is None


def _rates(warm: bool) -> Callable[[Script, Function], bool]:
    def look(source: Script, function: Function) -> bool:
        if not _RATES.match(function.name) or ("warm" in function.name.lower()) is not warm:
            return False
        text = unparse(function)
        if not _SETS_RATE.search(text) and not _gives_rate(function):
            return False
        inside = len(_SETS_RATE.findall(text)) + len(_STEPPED.findall(text))
        whole = len(_SETS_RATE.findall(source.code)) + len(_STEPPED.findall(source.code))
        return whole == (0 if function in source.left_out else inside)

    return look


def _gives_rate(function: Function) -> bool:
    """It takes where training stands, and gives a number worked out of it."""
    names = {a.arg for a in function.args.args}
    counts = any(re.search(r"(?i)^(?:cur_|global_)?(?:step|it|iter|epoch|i|t)\w*$", n) for n in names)
    backs = [r.value for r in of(function, ast.Return)]
    return counts and bool(backs) and all(isinstance(b, (ast.BinOp, ast.Call, ast.Name)) for b in backs)


def _loads(source: Script, function: Function) -> bool:
    names = (*_LOADERS, "from_pretrained")
    loads = _LOADS.match(function.name) and _inside(function, names)
    return bool(loads) and not _elsewhere(source, list(source.named(*names)), function)


def _fills(source: Script, function: Function) -> bool:
    """A method writes a buffer that the loss is made with: a queue, centres, prototypes."""
    owner = source.class_around(function)
    if owner is None or owner not in source.modules or not _FILLS.match(function.name):
        return False
    held = {
        str(c.args[0].value)
        for c in of(owner, ast.Call)
        if last_name(c.func) == "register_buffer" and c.args and isinstance(c.args[0], ast.Constant)
    }
    written = _written(function) & held
    others = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f is not function]
    again = {w for f in others if f.name != "__init__" for w in _written(f)}
    read = {n.attr for f in others for n in of(f, ast.Attribute) if isinstance(n.ctx, ast.Load)}
    return bool(written & read - again) and not any(flow(source).functions[function.name][1:])


def _written(function: Function) -> set[str]:
    targets = [t for n in of(function, ast.Assign) for t in n.targets]
    bare = [t.value if isinstance(t, ast.Subscript) else t for t in targets]
    places = [b.value if isinstance(b, ast.Attribute) and b.attr == "data" else b for b in bare]
    places += [
        c.func.value
        for c in of(function, ast.Call)
        if isinstance(c.func, ast.Attribute) and c.func.attr.endswith("_")
    ]
    places = [p.value if isinstance(p, ast.Subscript) else p for p in places]
    return {p.attr for p in places if isinstance(p, ast.Attribute)}


_KINDS: dict[str, Callable[[Script, Function], bool]] = {
    "clipping": _clips,
    "start of the weights": _starts,
    "warm-up": _rates(True),
    "schedule": _rates(False),
    "pre-trained weights": _loads,
    "memory": _fills,
}
