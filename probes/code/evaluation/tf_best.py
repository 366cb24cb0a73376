"""Best weights in TensorFlow's loops of scripts: kept by a saver or a checkpoint manager, and never read."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.graph_facts import descents
from ...scripts.learning import taken
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import words

_SAVES = ("save", "save_weights", "write")
_READS = (
    "restore",
    "load_weights",
    "load_model",
    "read",
    "set_weights",
    "load",
    "restore_or_initialize",
    "import_meta_graph",
)
_OF_DATA = ("np", "numpy", "json", "yaml", "toml", "joblib", "pickle", "pd", "tfds", "f")
_FIGURES = r"(?i)\bbest|_best|lowest|highest|\bmin_|\bmax_"


def best_never_restored(source: Script) -> Finding | None:
    """`if accuracy > best: saver.save(sess, path)` in the loop, and the test is run with the last weights.

    Counts where nothing reads weights back behind the loop, and what is scored there names a test set. Also
    `restore(manager.latest_checkpoint)` behind the loop of the manager that saves every epoch, while another
    keeps the best.
    """
    if "tensorflow" not in source.frameworks or source.loose or not (descents(source) or taken(source)):
        return None
    for save in source.named(*_SAVES):
        loops = source.loops_around(save)
        tests = [p for p in source.above(save) if isinstance(p, ast.If) and _is_better(p.test)]
        if not loops or not tests or not any(x in source.above(tests[0]) for x in loops):
            continue
        loop, scope = loops[-1], source.function_around(save)
        end = loop.end_lineno or loop.lineno
        reads = [c for c in source.named(*_READS) if source.owner(c).split(".")[0] not in _OF_DATA]
        behind = [c for c in reads if source.function_around(c) is not scope or c.lineno > end]
        own = source.owner(save)
        for call in behind:
            if (
                source.function_around(call) is scope
                and (last := _of_last(source, call, own, loop)) is not None
            ):
                return at(source, call, f"`{last}` holds the last weights; the best ones are never read")
        if behind or re.search(r"deepcopy|get_weights|assign\(", source.code):
            continue
        later = source.calls if scope is None else of(scope, ast.Call)
        for call in later:
            if call.lineno <= end or source.function_around(call) is not scope or source.loops_around(call):
                continue
            if _scores_test(source, call):
                return at(
                    source, call, "the last weights are scored, and the best were saved and are never read"
                )
    return None


def _is_better(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and re.search(_FIGURES, unparse(test)) is not None


def _of_last(source: Script, call: ast.Call, best: str, loop: ast.AST) -> str | None:
    """The manager that a restored checkpoint is the latest of, where it saves in every round."""
    given = unparse(call.args[0]) if call.args else ""
    found = re.fullmatch(r"([\w.]+)\.latest_checkpoint", given)
    if found is None or found[1] == best or last_name(call.func) not in ("restore", "read"):
        return None
    other = [c for c in source.named("restore", "read") if f"{best}.latest_checkpoint" in unparse(c)]
    saves = [
        c
        for c in source.named("save")
        if source.owner(c) == found[1] and loop in source.above(c) and "best" in best.lower()
    ]
    always = [
        c for c in saves if not any(isinstance(p, ast.If) and _is_better(p.test) for p in source.above(c))
    ]
    return found[1] if always and not other else None


_SCORES = re.compile(r"(?i)eval|test|score|predict|accuracy|valid|metric|infer")


def _scores_test(source: Script, call: ast.Call) -> bool:
    """`evaluate(model, test_ds)`: a function of the program, or a method, that gets test data."""
    name = last_name(call.func)
    known = name in {f.name for f in source.of(ast.FunctionDef)} or isinstance(call.func, ast.Attribute)
    if not known or not _SCORES.search(name):
        return False
    told = {w for a in all_arguments(call) for n in names_in(a) for w in words(n)}
    told |= {
        w
        for a in all_arguments(call)
        for n in of(a, ast.Constant)
        if isinstance(n.value, str)
        for w in words(n.value)
    }
    return "test" in told
