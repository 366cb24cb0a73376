"""A script against the benchmark's: every statement that only one of them has, by role."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..engine.model import Place
from .code import MISSING, scripts
from .registry import Finding, View, absent, present, probe, unknown
from .syntax import Script

_ROLES: dict[str, tuple[str, ...]] = {
    "trainable": ("requires_grad", ".parameters()", "param_groups", "freeze"),
    "labels": ("label", "y_train", "ytr", "ytrain", "train_y", "targets["),
    "order": ("shuffle", "argsort", "sort(", "sorted(", "randperm", "permutation", "set_epoch"),
    "init": ("init.", "init_", "normal_", "uniform_", "zeros_", "load_state_dict", "from_pretrained"),
    "normalisation": ("normalize", "normalise", "std", "/ 255", "standardi", ".mean(0", "scale"),
    "evaluation": ("eval", "valid", "test", "accuracy", "metric", "best"),
    "loss": ("loss", "criterion", "cross_entropy", "log_softmax", "mse"),
    "step": ("backward", "zero_grad", "optimizer", "opt.", "sched", "clip", "scaler", "step()", "accum"),
    "activation": ("relu", "gelu", "tanh", "sigmoid", "silu", "swish", "elu(", "softmax", "activation"),
    "norm-layer": ("batchnorm", "layernorm", "groupnorm", "rmsnorm", "instancenorm", "norm("),
    "data": (
        "data",
        "loader",
        "transform",
        "batch",
        "token",
        "sample",
        "crop",
        "resize",
        "flip",
        "rank",
        "world",
    ),
    "model": ("nn.", "self.", "forward", "conv", "linear", "layer", "dropout", "embed", "attention"),
}
_COMPOUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With, ast.Try)
_NOISE = (
    "print(",
    "log",
    "path",
    "dir",
    "writer",
    "json",
    "csv",
    "open(",
    "save",
    "import ",
    "time",
    "parser",
    "__name__",
    "def main",
)


@probe("benchmark")
def differs(view: View, *, role: str) -> Finding:
    """Statements of one role that stand in only one of the two scripts, layout and comments ignored.

    A statement's role is told by its words, first match in the order of `_ROLES`; logging, paths and
    imports do not count. Numbers alone are the settings' business and count too: they stand in code here.
    """
    theirs = scripts(view.benchmark) if view.benchmark else []
    mine = scripts(view.run)
    if not mine or not theirs:
        return unknown(MISSING if not mine else "no training script beside the benchmark")
    pair = _pair(mine, theirs)
    if (common := shared(*pair)) < _SAME_PROGRAM:
        return unknown(f"the two scripts share {common:.0%} of their statements: too few to name differences")
    others = list(_statements(pair[1]))
    lines = list(_differences(*pair))
    found = [(n, t) for n, t in lines if _role(t, others) == role]
    if not found:
        return absent(f"{pair[0].path} and the benchmark's {pair[1].path} agree in their {role} code")
    number, text = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return present(
        f"{pair[0].path} differs from the benchmark's script: `{text[:110]}`{more}",
        value=len(found),
        where=(pair[0].place(number),),
    )


@probe("benchmark")
def removed(view: View, *, role: str) -> Finding:
    """The benchmark's script has statements of this role, and the run's has none in their place."""
    theirs = scripts(view.benchmark) if view.benchmark else []
    mine = scripts(view.run)
    if not mine or not theirs:
        return unknown(MISSING if not mine else "no training script beside the benchmark")
    pair = _pair(mine, theirs)
    if (common := shared(*pair)) < _SAME_PROGRAM:
        return unknown(f"the two scripts share {common:.0%} of their statements: too few to name differences")
    others = list(_statements(pair[1]))
    found = [(n, t) for n, t in _differences(*pair) if _role(t, others) == role]
    gone = [t for n, t in found if n is None]
    if gone and len(gone) == len(found):
        return present(f"the benchmark's script has what this one lacks: `{gone[0][9:119]}`", value=len(gone))
    return absent(f"no {role} code of the benchmark's script is missing", value=len(gone))


# Two versions of one script share nearly all statements, a refactored one at least half; two programs in one
# framework share their imports and the bare steps of a loop.
_SAME_PROGRAM = 0.3


def shared(mine: Script, theirs: Script) -> float:
    """The share of the shorter script's statements that stand in the other one, too."""
    here, there = set(_statements(mine)), set(_statements(theirs))
    return len(here & there) / max(1, min(len(here), len(there)))


_FRAMEWORKS = ("torch", "mindspore", "tensorflow", "keras", "jax", "paddle", "torch_npu", "flax")


def _frameworks(source: Script) -> set[str]:
    found = set()
    for node in source.nodes:
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found & set(_FRAMEWORKS)


@probe("benchmark")
def other_program(view: View, *, same: float, least: int) -> Finding:
    """The benchmark's script is another program: few statements in common, in the same framework.

    Below `_SAME_PROGRAM` of common statements it is another one, from `same` on a version of this one. A port
    to another framework shares little, too: then this is unknown, as for scripts of fewer than `least`
    statements.
    """
    theirs = scripts(view.benchmark) if view.benchmark else []
    mine = scripts(view.run)
    if not mine or not theirs:
        return unknown(MISSING if not mine else "no training script beside the benchmark")
    here, there = _pair(mine, theirs)
    common = shared(here, there)
    text = f"{here.path} and the benchmark's {there.path} share {common:.0%} of their statements"
    rest = {"value": round(common, 3), "threshold": _SAME_PROGRAM, "where": (Place(here.path, None),)}
    if common >= same:
        return absent(text, **rest)
    if common >= _SAME_PROGRAM or min(len(_statements(here)), len(_statements(there))) < least:
        return unknown(text, **rest)
    if not _frameworks(here) or _frameworks(here) != _frameworks(there):
        return unknown(f"{text}; they are written for different frameworks", **rest)
    return present(text, **rest)


@probe("benchmark")
def skip_differs(view: View) -> Finding:
    """A statement adds its input to what it computes in one script and not in the other.

    `x = x + self.block(x)` against `x = self.block(x)`: a residual connection that is left out or too much.
    """
    theirs = scripts(view.benchmark) if view.benchmark else []
    mine = scripts(view.run)
    if not mine or not theirs:
        return unknown(MISSING if not mine else "no training script beside the benchmark")
    pair = _pair(mine, theirs)
    if (common := shared(*pair)) < _SAME_PROGRAM:
        return unknown(f"the two scripts share {common:.0%} of their statements: too few to compare")
    here, there = _additions(pair[0]), _additions(pair[1])
    for (target, added), node in here.items():
        if (target, not added) in there and (target, added) not in there:
            what = "adds its input, which the benchmark's does not" if added else "leaves out its input"
            text = f"`{ast.unparse(node)[:110]}` {what}: `{ast.unparse(there[target, not added])[:110]}`"
            return present(text, value=added, where=(pair[0].place(node),))
    return absent("where values are passed on, both scripts add the input or leave it out alike")


def _additions(source: Script) -> dict[tuple[str, bool], ast.stmt]:
    """Of each statement that computes from a name: (the statement without the sum, whether it sums)."""
    found: dict[tuple[str, bool], ast.stmt] = {}
    for function in source.forwards:
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.Return)) and node.value is not None:
                value, summed = node.value, False
                if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
                    plain = [s for s in (value.left, value.right) if isinstance(s, ast.Name)]
                    rest = [s for s in (value.left, value.right) if not isinstance(s, ast.Name)]
                    if plain and rest:
                        value, summed = rest[0], True
                if isinstance(value, ast.Call):
                    found.setdefault((ast.unparse(value), summed), node)
    return found


def _pair(mine: Sequence[Script], theirs: Sequence[Script]) -> tuple[Script, Script]:
    """The two scripts that most resemble each other."""
    return max(
        ((a, b) for a in mine for b in theirs),
        key=lambda p: (len(set(_statements(p[0])) & set(_statements(p[1]))), p[0].path),
    )


@lru_cache(maxsize=16)
def _statements(source: Script) -> dict[str, int]:
    """Simple statements (and the heads of conditions) in normal form -> line."""
    found: dict[str, int] = {}
    for node in source.nodes:
        if isinstance(node, ast.stmt) and not isinstance(node, _COMPOUND):
            text = ast.unparse(node).split("\n", 1)[0]
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                found.setdefault(text, node.lineno)
    return found


def _differences(mine: Script, theirs: Script) -> Iterator[tuple[int | None, str]]:
    """Statements of mine that are not theirs, then those of theirs that I lack (without a line)."""
    here, there = _statements(mine), _statements(theirs)
    for text, line in sorted(here.items(), key=lambda item: item[1]):
        if text not in there and not _noise(text):
            yield line, text
    for text in there:
        if text not in here and not _noise(text):
            near = difflib.get_close_matches(text, list(here), 1, 0.75)
            if not near or near[0] in there:
                yield None, "missing: " + text


def _named_in_both(text: str, others: list[str], role: str) -> bool:
    """Whether the layer or function that gives a statement its role stands in its counterpart, too.

    `x = gelu(x)` against `x = x + gelu(x)` differ, and not in their activation.
    """
    if role not in ("activation", "norm-layer"):
        return False
    near = difflib.get_close_matches(text, others, 1, 0.6)
    words = _ROLES[role]
    return bool(near) and [text.lower().count(w) for w in words] == [near[0].lower().count(w) for w in words]


def _noise(text: str) -> bool:
    return any(w in text.lower() for w in _NOISE)


# `(x_train - mu) / sigma`: what is scaled has a name of inputs.
_STANDARDISES = re.compile(
    r"\((?:x|xs|x_\w+|\w+_x|\w*(?:image|img|feature|input|column|data)\w*) - [\w.\[\]]+(?:\(\w*\))?\) / "
)


def _role(text: str, others: list[str]) -> str:
    lower = text.lower()
    if _STANDARDISES.search(lower):
        return "normalisation"
    if "scaler" in lower or "clip" in lower:
        return "step"
    named = (role for role, words in _ROLES.items() if any(w in lower for w in words))
    return next((role for role in named if not _named_in_both(text, others, role)), "other")
