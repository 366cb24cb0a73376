# ruff: noqa: E501 -- the edits are texts
"""Weights, connections, operators and modes of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generate import REFERENCE, Case, literally, unseen

from .also import mute
from .common import after_model, faulty, healthy


def model() -> Iterator[Case]:
    frozen = "graph.weight-frozen"
    yield from faulty(
        "images",
        "abc",
        "head-only",
        frozen,
        ("torch.optim.SGD(model.parameters()", "torch.optim.SGD(model.head.parameters()"),
    )
    yield from faulty(
        "tabular",
        "ab",
        "frozen",
        frozen,
        after_model("tabular", "for layer in model[:-1]:\n    layer.requires_grad_(False)\n"),
    )
    yield from faulty(
        "lm",
        "c",
        "frozen",
        frozen,
        after_model(
            "lm",
            'for name, parameter in model.named_parameters():\n    parameter.requires_grad = name.startswith("wte")\n',
        ),
    )
    yield from faulty(
        "sentences",
        "a",
        "frozen",
        frozen,
        after_model(
            "sentences",
            'for name, parameter in model.named_parameters():\n    if not name.startswith("classify"):\n        parameter.requires_grad = False\n',
        ),
    )
    yield from faulty(
        "hf",
        "a",
        "frozen",
        frozen,
        after_model(
            "hf",
            'for name, parameter in model.named_parameters():\n    parameter.requires_grad = name.startswith("classifier")\n',
        ),
    )
    cut = "graph.connection"
    yield from faulty(
        "images",
        "b",
        "detached",
        cut,
        ("x = self.dropout(x.flatten(1))", "x = self.dropout(x.flatten(1).detach())"),
        accept=unseen("the layers before the cut do not train", frozen),
    )
    yield from faulty(
        "lm",
        "a",
        "skip-left-out",
        cut,
        ("x = x + self.drop(self.proj(", "x = self.drop(self.proj("),
        ("x = x + self.drop(self.out(", "x = self.drop(self.out("),
        check="slower",
        accept=literally(
            "the residual paths that the depth needs are missing", "graph.normalization-missing"
        ),
        n_layer=4,
    )
    mode = "graph.node-mode"
    yield from faulty("images", "ac", "eval-mode", mode, ("    model.train()\n", "    model.eval()\n"))
    yield from faulty("images", "b", "mode-not-restored", mode, ("    model.train()\n", ""))
    dropped = healthy("tabular", "b", 141, "half-dropped", dropout=0.5)
    yield replace(dropped, cause=REFERENCE)
    yield from faulty(
        "tabular",
        "b",
        "train-mode-in-evaluation",
        mode,
        ("    model.eval()\n", ""),
        twin=dropped,
        accept=unseen(
            "losses and accuracy as under too much dropout",
            "hyperparameter.regularization-too-strong",
            benchmark=False,
        ),
    )
    operator = "graph.wrong-operator"
    yield from faulty(
        "images",
        "a",
        "rounded-output",
        operator,
        ("return self.head(x)", "return self.head(x).round()"),
        accept=unseen("no gradient reaches a weight, for whatever reason", frozen, cut),
    )
    yield from faulty(
        "images",
        "b",
        "integer-division",
        operator,
        (
            "train_x = (train_x - mean) / std\nval_x = (val_x - mean) / std",
            "train_x = (train_x - mean) // (4 * std)\nval_x = (val_x - mean) // (4 * std)",
        ),
        accept=literally("the division stands in the processing", "processing.algorithm")
        + unseen("coarse inputs: by the operation or by its parameter", "processing.parameters"),
    )
    dead = "graph.dead-activation"
    for style, alike in (("b", ()), ("c", mute("graph.dead-activation"))):
        yield from faulty(
            "tabular",
            style,
            "dead-units",
            dead,
            after_model(
                "tabular",
                "for layer in model[:-1]:\n    if isinstance(layer, nn.Linear):\n        nn.init.constant_(layer.bias, -12.0)\n",
            ),
            accept=literally("the initial biases kill the units", "hyperparameter.weight-init") + alike,
        )
    yield from faulty(
        "tabular",
        "a",
        "deep-sigmoid",
        dead,
        (
            "    nn.Linear({{hidden}}, 4),\n)",
            "    *[m for _ in range(8) for m in (nn.Linear({{hidden}}, {{hidden}}), nn.Sigmoid())],\n    nn.Linear({{hidden}}, 4),\n)",
        ),
        accept=literally("nine saturating layers without normalisation", "graph.normalization-missing")
        + mute(dead),
    )
    deep = (
        "    nn.Linear({{hidden}}, 4),\n)",
        "    *[m for _ in range(30) for m in (nn.Linear({{hidden}}, {{hidden}}), nn.Tanh())],\n    nn.Linear({{hidden}}, 4),\n)",
    )
    yield from faulty(
        "tabular",
        "b",
        "deep-plain",
        "graph.normalization-missing",
        deep,
        accept=unseen("vanishing gradients", dead),
    )
    yield from faulty(
        "images",
        "ab",
        "bn-small-batch",
        "graph.batch-norm-small-batch",
        batch_size=2,
        log_every=60,
        epochs=8,
        accept=literally("two samples a batch", "hyperparameter.batch-size-too-small"),
    )
