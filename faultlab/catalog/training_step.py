"""Loss, optimizer, and the order of the training step."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, literally, unseen

from .common import faulty, healthy


def loss_and_step() -> Iterator[Case]:
    loss = "graph.loss-function"
    yield from faulty(
        "images",
        "ac",
        "double-softmax",
        loss,
        ("        return self.head(x)\n", "        return self.head(x).softmax(1)\n"),
    )
    yield from faulty(
        "sentences",
        "b",
        "double-softmax",
        loss,
        (
            "return self.classify(self.dropout(hidden))",
            "return self.classify(self.dropout(hidden)).softmax(-1)",
        ),
    )
    yield from faulty(
        "tabular",
        "b",
        "double-softmax",
        loss,
        ("    nn.Linear({{hidden}}, 4),\n)", "    nn.Linear({{hidden}}, 4),\n    nn.Softmax(dim=1),\n)"),
    )
    yield from faulty(
        "tabular",
        "ac",
        "sign",
        loss,
        ("        loss = criterion(output, y)\n", "        loss = -criterion(output, y)\n"),
    )
    yield from faulty(
        "tabular",
        "b",
        "nll-of-logits",
        loss,
        ("criterion = nn.CrossEntropyLoss(label_smoothing={{label_smoothing}})", "criterion = nn.NLLLoss()"),
        check="any",
    )
    yield from faulty(
        "images",
        "b",
        "sum",
        loss,
        ("nn.CrossEntropyLoss(label_smoothing={{label_smoothing}})", 'nn.CrossEntropyLoss(reduction="sum")'),
    )
    yield from faulty(
        "series",
        "b",
        "sign",
        loss,
        ("        loss = criterion(output, y)\n", "        loss = -criterion(output, y)\n"),
    )
    optimizer = "graph.optimizer"
    yield from faulty(
        "images",
        "a",
        "other-model",
        optimizer,
        ("torch.optim.SGD(model.parameters()", "torch.optim.SGD(Net({{width}}).parameters()"),
        accept=literally("the weights were not handed to the optimizer", "graph.weight-frozen")
        + unseen("nothing trains, for whatever reason", "porting.training-procedure"),
    )
    yield from faulty(
        "series",
        "a",
        "other-model",
        optimizer,
        ("torch.optim.SGD(model.parameters()", "torch.optim.SGD(Forecaster({{hidden}}).parameters()"),
        accept=literally("the weights were not handed to the optimizer", "graph.weight-frozen")
        + unseen("nothing trains, for whatever reason", "porting.training-procedure"),
    )
    yield from faulty(
        "tabular",
        "a",
        "maximises",
        optimizer,
        ("weight_decay={{weight_decay}})", "weight_decay={{weight_decay}}, maximize=True)"),
        accept=unseen("the loss climbs: its sign or the optimizer's", loss),
    )
    piled = "state.gradients-not-cleared"
    kept = literally("state not cleared between steps, its definition says", "porting.training-procedure")
    for archetype, styles in (("images", "abc"), ("tabular", "bc"), ("series", "ab")):
        yield from faulty(
            archetype, styles, "no-zero-grad", piled, ("        optimizer.zero_grad()\n", ""), accept=kept
        )
    yield from faulty(
        "lm", "ab", "no-zero-grad", piled, ("    optimizer.zero_grad(set_to_none=True)\n", ""), accept=kept
    )
    order = "porting.training-procedure"
    nothing = unseen("nothing trains, for whatever reason", "graph.weight-frozen", "graph.optimizer")
    yield from faulty(
        "images",
        "b",
        "cleared-before-step",
        order,
        ("        optimizer.zero_grad()\n", ""),
        ("        optimizer.step()\n", "        optimizer.zero_grad()\n        optimizer.step()\n"),
        accept=nothing,
        grad_norm=False,
    )
    yield from faulty(
        "tabular",
        "c",
        "cleared-before-step",
        order,
        ("        optimizer.zero_grad()\n", ""),
        ("        optimizer.step()\n", "        optimizer.zero_grad()\n        optimizer.step()\n"),
        accept=nothing,
        grad_norm=False,
    )
    yield from faulty("sentences", "a", "no-step", order, ("        optimizer.step()\n", ""), accept=nothing)
    clear, act = (
        ("        optimizer.zero_grad()\n", ""),
        (
            "        optimizer.step()\n",
            "        if step % 8 == 7:\n            optimizer.step()\n            optimizer.zero_grad()\n",
        ),
    )
    part = ("        loss.backward()\n", "        (loss / 8).backward()\n")
    gathers = healthy(
        "images", "a", 121, "accumulates", edits=(clear, act, part), batch_size=8, lr=0.08, log_every=40
    )
    yield gathers
    undivided = Case(
        "images",
        "a",
        "not-divided",
        "state.gradient-accumulation",
        "",
        dict(gathers.set),
        (clear, act),
        accept=unseen("steps that are too long", "hyperparameter.learning-rate-too-large", benchmark=False),
        benchmark=gathers.name,
        check="any",
    )
    yield undivided
    constant = (
        "    scale = np.logspace(-2, 4, 18)\n",
        "    scale = np.logspace(-2, 4, 18)\n    columns[:, 9] = 0\n",
    )
    exact = (
        "    return columns * scale + 3 * scale, target",
        "    return (columns * scale + 3 * scale) * (columns != 0), target",
    )
    yield from faulty(
        "tabular",
        "bc",
        "constant-column",
        "numerics.epsilon",
        constant,
        exact,
        check="nan",
        accept=literally("a division that meets zero", "api.misuse")
        + unseen("samples become NaN: from the division or from missing values", "data.missing-values"),
    )
