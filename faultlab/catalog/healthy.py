"""Healthy runs that look odd."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generate import Case

from .common import TWINS, healthy
from .resume import resumed

_CURRICULUM = (
    "    x, y = get_batch(train_data)\n    output",
    "    x, y = get_batch(train_data[:20000] if step < 200 else train_data)\n    output",
)
_RESTARTS = (
    "torch.optim.lr_scheduler.StepLR(optimizer, step_size={{step_size}}, gamma=0.1)",
    "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0={{step_size}})",
)
_ONE_CYCLE = (
    "torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={{epochs}})",
    "torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr={{lr}}, total_steps={{epochs}})",
)
_NOISY_TARGET = ("target = (score + 0.3 *", "target = (score + 1.6 *")


_WARM_START = (
    "criterion = nn.CrossEntropyLoss(label",
    '''

def pretrain(network):
    """Two passes over last year's images."""
    images, labels = load("train", 2000)
    x, y = torch.tensor(images, dtype=torch.float32).unsqueeze(1), torch.tensor(labels)
    x = (x - x.mean()) / x.std()
    warm = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(2):
        for ids in torch.randperm(len(x)).split(32):
            warm.zero_grad()
            nn.functional.cross_entropy(network(x[ids]), y[ids]).backward()
            warm.step()


pretrain(model)
criterion = nn.CrossEntropyLoss(label''',
)


def twins() -> Iterator[Case]:
    """The twins, and another seed of each held against it."""
    yield from TWINS.values()
    for (archetype, style), twin in TWINS.items():
        yield replace(healthy(archetype, style, 200, "seed"), benchmark=twin.name)


def awkward() -> Iterator[Case]:
    """Healthy runs that look odd."""
    yield healthy("images", "a", 21, "small-noisy-batches", batch_size=6, lr=0.01, epochs=8, log_every=25)
    yield healthy("images", "b", 22, "step-drops", step_size=4, epochs=14)
    yield healthy("images", "b", 23, "warm-restarts", edits=(_RESTARTS,), step_size=4, epochs=16)
    yield healthy("images", "c", 24, "warm-restarts", edits=(_RESTARTS,), step_size=5, epochs=15)
    yield healthy("images", "a", 25, "short", epochs=4, step_size=3)
    yield healthy("images", "c", 26, "more-data", train_size=3000, epochs=8, step_size=6)
    yield healthy("images", "b", 27, "no-norms", grad_norm=False, lr=0.02)
    yield healthy("images", "a", 28, "smoothed-labels", label_smoothing=0.1)
    yield healthy("tabular", "a", 31, "loss-floor", edits=(_NOISY_TARGET,), dropout=0.3, epochs=15)
    yield healthy("tabular", "b", 32, "loss-floor", edits=(_NOISY_TARGET,), dropout=0.3, epochs=15)
    yield healthy("tabular", "c", 33, "loss-floor", edits=(_NOISY_TARGET,), dropout=0.3, epochs=12)
    yield healthy("tabular", "b", 34, "one-cycle", edits=(_ONE_CYCLE,), lr=0.006)
    yield healthy("tabular", "a", 35, "strong-dropout", dropout=0.4, epochs=30)
    yield healthy("tabular", "b", 36, "small-noisy-batches", batch_size=8, lr=0.0005, epochs=10, log_every=20)
    yield healthy("tabular", "c", 37, "short", epochs=12)
    yield healthy("lm", "a", 41, "curriculum", edits=(_CURRICULUM,))
    yield healthy("lm", "b", 42, "curriculum", edits=(_CURRICULUM,))
    yield healthy("lm", "c", 43, "long-warmup", warmup_steps=150)
    yield healthy("lm", "b", 44, "longer", max_steps=800, log_every=10, eval_interval=100)
    yield healthy("lm", "a", 45, "low-rate", lr=0.0015, max_steps=700, log_every=10, eval_interval=100)
    yield healthy("lm", "c", 46, "tiny-batch", batch_size=4, max_steps=600, log_every=8, eval_interval=100)
    yield healthy("amp", "a", 51, "calibration", init_scale=2.0**24, check="calibrates")
    yield healthy("amp", "b", 52, "calibration", init_scale=2.0**32, check="calibrates")
    yield healthy("amp", "c", 53, "calibration", init_scale=2.0**20, check="calibrates")
    yield healthy("amp", "a", 54, "growing-scale", growth_interval=60, init_scale=2.0**20, check="calibrates")
    yield healthy("policy", "a", 64, "rewards", lr=0.003, iterations=200)
    yield healthy("policy", "b", 65, "rewards", batch_size=3, lr=0.003, iterations=300, log_every=4)
    yield healthy("policy", "c", 66, "rewards", batch_size=4, iterations=200)
    yield healthy("images", "c", 29, "fine-tuned", edits=(_WARM_START,), lr=0.003, epochs=8)
    yield healthy("images", "b", 30, "fine-tuned", edits=(_WARM_START,), lr=0.002, epochs=8)
    yield from resumed()
    yield healthy("amp", "b", 55, "bf16", precision="bf16", max_steps=500)
    yield healthy("amp", "a", 56, "plateau-left", lr=0.002, max_steps=500)
    yield healthy("ddp", "a", 61, "small-batches", batch_size=8, lr=0.03, epochs=6, log_every=15)
    yield healthy("ddp", "b", 62, "short", epochs=5)
    yield healthy("hf", "a", 71, "low-rate", lr=0.0015, epochs=8)
    yield healthy("hf", "b", 72, "no-warmup", warmup_steps=0, lr=0.002)
    yield healthy("series", "a", 81, "plain", epochs=10)
    yield healthy("series", "b", 82, "small-batches", batch_size=16, lr=0.02, epochs=8, log_every=10)
    yield healthy("series", "b", 83, "adapted", hidden=16)
    yield healthy("sentences", "a", 91, "short", epochs=6)
    yield healthy("sentences", "b", 92, "low-rate", lr=0.002)
    yield healthy("sentences", "a", 93, "smoothed-labels", label_smoothing=0.1)
