"""Where a call writes to or reads from: the path that it is given, and none of what it writes."""

from __future__ import annotations

import ast

from ...readers._tree import names_in, of
from ...readers.script import all_arguments, keyword, last_name
from ...scripts.flow import flow
from ...scripts.syntax import Script

_WRITES = ("save", "save_weights", "save_checkpoint", "save_pretrained", "dump")
_READS = ("load", "load_weights", "load_checkpoint", "load_model", "restore", "from_pretrained")
_OTHER = frozenset(("map_location", "strict", "weights_only", "device", "pickle_module", "custom_objects"))


def places(source: Script, call: ast.Call) -> list[ast.expr]:
    """What a writing or reading call may have for its path.

    Not the dict that is written, nor the first of two; of a function of the script what it hands on as the
    path of a file of its own, where it does: `save("last.pt", net, best)`.
    """
    own = _of_function(source, call)
    if own:
        return own
    if last_name(call.func) in _WRITES:
        given = [keyword(call, "f"), *call.args[1:]] if len(call.args) > 1 else list(all_arguments(call))
    else:
        given = [*call.args, *(k.value for k in call.keywords if k.arg not in _OTHER)]
    held = [(g, [g, *flow(source).values(g, 3)]) for g in given if g is not None]
    return [g for g, ways in held if not any(isinstance(w, ast.Dict) for w in ways)]


def _of_function(source: Script, call: ast.Call) -> list[ast.expr]:
    found: list[ast.expr] = []
    for function in flow(source).called(call):
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        names = names[1:] if names[:1] in (["self"], ["cls"]) else names
        handed = dict(zip(names, call.args, strict=False))
        handed |= {k.arg: k.value for k in call.keywords if k.arg}
        for inner in of(function, ast.Call):
            if last_name(inner.func) not in (*_WRITES, *_READS) or flow(source).called(inner):
                continue
            path = {n for p in places(source, inner) for n in names_in(p)}
            found += [a for n, a in handed.items() if n in path and a not in found]
    return found
