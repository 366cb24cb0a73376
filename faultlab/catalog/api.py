# ruff: noqa: E501 -- the edits are texts
"""Framework calls outside of their constraints, and code that tracing turns into something else."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, literally

from .common import after_model, faulty, healthy


def api() -> Iterator[Case]:
    cause = "api.misuse"
    yield from faulty(
        "hf",
        "ab",
        "batch-first",
        cause,
        ("{{dropout}}, batch_first=True, norm_first=True)", "{{dropout}}, norm_first=True)"),
        check="any",
    )
    yield from faulty(
        "series", "a", "batch-first", cause, ("nn.GRU(1, size, batch_first=True)", "nn.GRU(1, size)")
    )
    yield from faulty(
        "images",
        "b",
        "keep-probability",
        cause,
        ("nn.Dropout({{dropout}})", "nn.Dropout({{keep_prob}})"),
        keep_prob=0.95,
        accept=literally(
            "what is kept is dropped: the dropout is too strong", "hyperparameter.regularization-too-strong"
        ),
    )
    logs = (
        "        loss = criterion(output, y)\n",
        "        p, target = output.softmax(1), nn.functional.one_hot(y, 6)\n        loss = -(target * p.log() + (1 - target) * (1 - p).log()).sum(1).mean()\n",
    )
    for style in "ab":
        yield from faulty(
            "images",
            style,
            "log-of-zero",
            cause,
            logs,
            check="nan",
            accept=literally("a logarithm without a floor", "numerics.epsilon"),
        )
    small = healthy("images", "a", 143, "small-batches", batch_size=4, lr=0.01, epochs=6, log_every=60)
    yield small
    momentum = ("self.bn1 = nn.BatchNorm2d(width)", "self.bn1 = nn.BatchNorm2d(width, momentum=0.99)")
    second = ("self.bn2 = nn.BatchNorm2d(2 * width)", "self.bn2 = nn.BatchNorm2d(2 * width, momentum=0.99)")
    yield from faulty(
        "images",
        "a",
        "norm-momentum",
        cause,
        momentum,
        second,
        twin=small,
    )

    traced = "api.graph-constraint"
    standard = (
        "model = nn.Sequential(\n",
        '''class Standard(nn.Module):
    """Standardises a batch by its own mean and deviation."""

    def forward(self, x):
        return (x - x.mean().item()) / x.std().item()


model = nn.Sequential(
    Standard(),
''',
    )
    raw = (
        "x_train = (x_train - mu) / sigma\nx_test = (x_test - mu) / sigma\n",
        "x_train, x_test = x_train / sigma, x_test / sigma\n",
    )
    own = healthy("tabular", "a", 141, "own-standard", edits=(standard, raw))
    yield own
    yield from faulty(
        "tabular",
        "a",
        "trace",
        traced,
        after_model("tabular", "model = torch.jit.trace(model, torch.randn({{batch_size}}, 18) * 0.01)\n"),
        twin=own,
        check="any",
    )
    trim = (
        "        vectors = self.embedding(ids)\n",
        "        longest = int((ids != PAD).sum(1).max())\n        ids = ids[:, :longest]  # no work for padding\n        vectors = self.embedding(ids)\n",
    )
    trims = healthy("sentences", "a", 142, "trims", edits=(trim,))
    yield trims
    yield from faulty(
        "sentences",
        "a",
        "trace",
        traced,
        after_model(
            "sentences", "model = torch.jit.trace(model, train_x[:1, :3].repeat(2, 1), check_trace=False)\n"
        ),
        twin=trims,
        check="any",
    )
