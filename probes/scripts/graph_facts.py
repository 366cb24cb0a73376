"""TensorFlow's graph mode: which loss is descended, over which variables, and how losses take their scores.

Nothing but the syntax is looked at. `flow.losses` and `flow.objectives` hold what is found here, too, so that
checks of losses see graphs as well.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from ..readers.script import argument, last_name
from .syntax import Script


@dataclass(frozen=True)
class Takes:
    """What a loss function of TensorFlow takes: the names of its first two arguments, and their form."""

    labels: str
    scores: str
    of: str  # "classes" (one-hot), "indices", "binary" or "numbers"
    logits: bool
    reduces: bool  # gives one number, and not one for each sample


LOSSES: dict[str, Takes] = {
    "sparse_softmax_cross_entropy_with_logits": Takes("labels", "logits", "indices", True, False),
    "softmax_cross_entropy_with_logits": Takes("labels", "logits", "classes", True, False),
    "softmax_cross_entropy_with_logits_v2": Takes("labels", "logits", "classes", True, False),
    "sigmoid_cross_entropy_with_logits": Takes("labels", "logits", "binary", True, False),
    "sparse_softmax_cross_entropy": Takes("labels", "logits", "indices", True, True),
    "softmax_cross_entropy": Takes("onehot_labels", "logits", "classes", True, True),
    "sigmoid_cross_entropy": Takes("multi_class_labels", "logits", "binary", True, True),
    "log_loss": Takes("labels", "predictions", "binary", False, True),
    "mean_squared_error": Takes("labels", "predictions", "numbers", False, True),
    "absolute_difference": Takes("labels", "predictions", "numbers", False, True),
    "huber_loss": Takes("labels", "predictions", "numbers", False, True),
}


@dataclass(frozen=True)
class GraphLoss:
    """One call of such a function, with what it is given."""

    call: ast.Call
    kind: str
    takes: Takes
    labels: ast.expr
    scores: ast.expr


@lru_cache(maxsize=16)
def graph_losses(source: Script) -> tuple[GraphLoss, ...]:
    """Calls of TensorFlow's functional losses, of `tf.nn` and of `tf.losses`, in source order."""
    if "tensorflow" not in source.frameworks:
        return ()
    found = []
    for call in source.named(*LOSSES):
        kind = last_name(call.func)
        takes = LOSSES[kind]
        owner = source.owner(call).split(".")
        if "sklearn" in owner or "mtf" in owner or (takes.reduces and owner[-1] not in ("losses", "v1")):
            continue
        if not owner[0]:
            continue
        labels = argument(call, takes.labels, position=0)
        scores = argument(call, takes.scores, position=1)
        if labels is not None and scores is not None:
            found.append(GraphLoss(call, kind, takes, labels, scores))
    return tuple(found)


@dataclass(frozen=True)
class Descent:
    """A call that takes gradients in a graph: of what, and of which variables (None: of all)."""

    call: ast.Call
    objective: ast.expr
    over: ast.expr | None


@lru_cache(maxsize=16)
def descents(source: Script) -> tuple[Descent, ...]:
    """`optimizer.minimize(loss)`, `optimizer.compute_gradients(loss)`, `tf.gradients(loss, variables)`."""
    if "tensorflow" not in source.frameworks:
        return ()
    found = []
    for call in source.named("minimize", "compute_gradients"):
        objective = argument(call, "loss", position=0)
        if objective is None or isinstance(objective, ast.Lambda) or not _of_optimizer(source, call):
            continue
        place = 2 if last_name(call.func) == "minimize" else 1
        over = argument(call, "var_list", position=place)
        found.append(Descent(call, objective, over))
    for call in source.named("gradients"):
        objective = argument(call, "ys", position=0)
        if objective is not None and source.owner(call).split(".")[0] in ("tf", "tensorflow"):
            over = argument(call, "xs", position=1)
            found.append(Descent(call, objective, over))
    return tuple(sorted(found, key=lambda d: (d.call.lineno, d.call.col_offset)))


def _of_optimizer(source: Script, call: ast.Call) -> bool:
    """The method is one of an optimizer of the script, and not a library's function to minimise."""
    if not isinstance(call.func, ast.Attribute):
        return False
    owner = source.owner(call)
    if owner.lower() in source.optimizers or "Optimizer" in owner:
        return True
    last = owner.split(".")[-1].lower()
    return last.startswith(("opt", "train")) and not last.endswith("optimize")
