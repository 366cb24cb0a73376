"""An edit in words: what a term is made of, the setting that it is about, the code that is quoted."""

from __future__ import annotations

import ast
from collections import Counter

from ..settings import canonical_key
from .changes import Change
from .lines import Line
from .roles import Roles
from .terms import Term
from .vocabulary import FUNCTIONAL, word_set

MAX_QUOTE = 160


FITTED = ("fit.#0", "fit.#1", "fit.x", "fit.y")  # Keras: beside it stands `validation_data`


# kinds of edits that say that something is gone, or new
REWRITING = ("added", "removed", "wrapped", "unwrapped", "expression", "replaced")


def work_in(words: frozenset[str]) -> frozenset[str]:
    """Calls and operators among words."""
    return frozenset(
        w for w in words if w.endswith("()") or (w and not w[0].isalnum() and w[0] not in "$'_-") or w == "-"
    )


def words_of(term: Term | None, roles: Roles) -> Counter[str]:
    """What a term is made of, as words: calls, operators, arguments, attributes, constants; no plain names.

    A layer or helper is told by what it was made of, too: `self.bn1(x)` -> "bn1", "BatchNorm2d".
    """
    found: Counter[str] = Counter()
    if term is None:
        return found
    for one in term.walk():
        if one.kind in (
            "call",
            "operation",
            "api",
            "attribute",
            "key",
            "number",
            "constant",
            "lambda",
            "slice",
            "name",
            "choice",
        ):
            label = one.label or one.kind
            found[_AS_WORD.get(one.kind, "%s") % label] += 1
            if label in roles.layers and one.kind in ("call", "attribute", "name"):
                made = roles.layers[label]
                found["$:" + made if one.kind == "name" else made + "()"] += 1
        for edge, _ in one.parts:
            if one.kind == "call" and not edge.startswith("#") and edge != "self":
                found[f"{one.label}.{edge}"] += 1
    called = {t.label for t in term.walk() if t.kind == "call"}
    called |= {roles.layers[c] for c in called if c in roles.layers}
    for unit in roles.program.units:
        if unit.last in called and unit.name and unit.last not in _METHODS_OF_LIBRARIES:
            found["own()"] += 1
            for line in unit.lines[:40]:
                for one in line.term.walk():
                    if one.kind == "call":
                        found[one.label + "()"] += 1
            break
    return found


# what changes nothing where its value is not taken
PURE = word_set(
    "relu gelu silu tanh sigmoid softmax log_softmax elu leaky_relu softplus dropout layer_norm normalize "
    "masked_fill transpose permute view squeeze unsqueeze flatten"
)


# methods that classes of libraries have, too: a call of one says little about the program's own function
_METHODS_OF_LIBRARIES = word_set(
    "forward __init__ construct train eval step update fit transform log reset load_state_dict "
    "state_dict zero_grad backward parameters named_parameters to cuda save load set_epoch"
)


_AS_WORD = {"call": "%s()", "name": "$%s"}


def ratio_of(change: Change) -> float | None:
    """Mine divided by theirs, of a number that was changed; None of anything else."""
    if change.before is None or change.after is None or change.kind != "constant":
        return None
    try:
        before, after = float(change.before.label), float(change.after.label)
    except ValueError:
        return None
    if before == after:
        return 1.0
    return after / before if before else (float("inf") if after > 0 else float("-inf"))


def key_of(line: Line, within: tuple[str, ...]) -> str:
    """The setting that a constant belongs to: an option's name, a field, a key of a dict, an argument."""
    for pair in within:
        call, _, edge = pair.partition(".")
        if call == "mapping" and not edge.startswith("#"):
            return edge
        if call == "add_argument":
            break
    if line.term.kind in ("assign", "default", "do") and len(line.targets) == 1:
        if line.term.kind != "do" or any(
            w.startswith(("add_argument", "add_option", "option")) for w in within
        ):
            return line.targets[0].removeprefix("self.")
    return ""


OF_TRAINERS = ("automatic_optimization",)  # attributes that the framework of a hook reads


def target_words(term: Term) -> frozenset[str]:
    """Attributes that a line sets: `parameter.requires_grad = False`."""
    target = term.part("target")
    return (
        frozenset(t.label for t in target.walk() if t.kind in ("attribute", "key")) if target else frozenset()
    )


def setting_of(key: str, within: tuple[str, ...]) -> str:
    """The canonical name of the setting that a change is about, by the argument it is, or the name it has."""
    first = within[0].split(".", 1)[-1] if within else ""
    for name in ("" if first in _NO_SETTING else first, key):
        if name and (known := canonical_key(name)) is not None:
            return known[0]
    return ""


_NO_SETTING = (
    "value",
    "default",
    "operand",
    "self",
    "dim",
    "input",
    "target",
    "size",
    "left",
    "right",
    "p",
    "params",
)


LOSSES = frozenset(FUNCTIONAL.values()) & word_set(
    "cross_entropy mse_loss l1_loss smooth_l1_loss huber_loss nll_loss binary_cross_entropy kl_div "
    "binary_cross_entropy_with_logits"
)


# what is done to the model or its gradients once, or each time, by the function that it stands in
SWITCHES = word_set("train eval set_train zero_grad clear_gradients requires_grad_ reset reset_state")


def quoted(node: ast.AST) -> str:
    """The first line of a node as Python writes it, at most MAX_QUOTE characters."""
    text = (
        ast.unparse(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        else ""
    )
    if not text and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        text = (
            "@" + ", @".join(ast.unparse(d) for d in node.decorator_list)
            if node.decorator_list
            else f"def {node.name}"
        )
    first = text.split("\n", 1)[0]
    return first if len(first) <= MAX_QUOTE else first[: MAX_QUOTE - 3] + "..."
