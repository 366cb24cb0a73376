"""What a LightningModule exchanges after its optimizers were built, by the order of its hooks."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok

# run after `configure_optimizers`: a layer that is made there is in no optimizer
_LATER = (
    *("on_fit_start", "on_train_start", "on_train_epoch_start", "on_train_batch_start", "training_step"),
    *("on_sanity_check_start", "on_validation_start", "on_train_epoch_end"),
)
_LAYERS = (
    "Linear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Embedding",
    "Sequential",
    "ModuleList",
    "LSTM",
    "GRU",
    "Parameter",
)


def _is_layer(source: Script, call: ast.Call) -> bool:
    """A layer of torch, or a module of the script."""
    name = last_name(call.func)
    return name in _LAYERS or source.classes.get(name) in source.modules


def layers_made_later(source: Script) -> Finding | None:
    """`def on_fit_start(self): self.head = nn.Linear(8, 2)`: the optimizers hold what was there before."""
    seen: ast.AST | None = None
    for owner in source.classes.values():
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        if "configure_optimizers" not in methods or source.named("add_param_group"):
            continue
        seen = seen or methods["configure_optimizers"]
        for name in _LATER:
            for node in of(methods[name], ast.Assign) if name in methods else ():
                made = [c for c in of(node.value, ast.Call) if _is_layer(source, c)]
                kept = any(unparse(t).startswith("self.") for t in node.targets)
                if (
                    made
                    and kept
                    and not any(last_name(c.func) == "requires_grad_" for c in of(node.value, ast.Call))
                ):
                    return at(
                        source,
                        node,
                        f"{name} runs after the optimizers were built: they do not hold this layer",
                    )
    return ok(source, seen, "the layers are made before the optimizers") if seen is not None else None
