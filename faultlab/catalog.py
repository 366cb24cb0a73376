"""The cases: which fault, put into which script, how strongly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generate import Archetype, Case, Edit

ARCHETYPES = {
    a.name: a
    for a in (
        Archetype(
            "images",
            dict(seed=1, noise=40.0, train_size=1200, batch_size=32, width=8, dropout=0.1, label_smoothing=0.0, lr=0.05,
                 momentum=0.9, weight_decay=0.0005, step_size=8, epochs=12, log_every=8),
            {"a": ("tensorboard", "args"), "b": ("logging", "yaml"), "c": ("keras", "constants")},
        ),
        Archetype(
            "tabular",
            dict(seed=2, train_size=2000, hidden=64, dropout=0.1, label_smoothing=0.0, lr=0.002, weight_decay=0.0001,
                 batch_size=64, epochs=20, log_every=5),
            {"a": ("epochs", "constants"), "b": ("csv", "hparams"), "c": ("epoch-jsonl", "json")},
        ),
        Archetype(
            "lm",
            dict(seed=3, train_size=200000, block_size=32, batch_size=12, n_embd=48, n_layer=2, dropout=0.0, init_std=0.02,
                 lr=0.003, min_lr=0.0003, warmup_steps=40, max_steps=400, beta2=0.95, weight_decay=0.1, grad_clip=1.0,
                 eval_interval=50, log_every=5),
            {"a": ("jsonl", "yaml"), "b": ("nano", "constants"), "c": ("csv", "json")},
        ),
        Archetype(
            "amp",
            dict(seed=4, precision="fp16", width=32, layers=2, lr=0.004, weight_decay=0.01, init_scale=65536.0,
                 growth_interval=2000, warmup_steps=30, max_steps=400, batch_size=24, grad_clip=1.0, eval_interval=50, log_every=5),
            {"a": ("kv", "yaml"), "b": ("jsonl", "args"), "c": ("tensorboard", "json")},
        ),
        Archetype(
            "ddp",
            dict(seed=5, train_size=1600, hidden=64, lr=0.1, momentum=0.9, weight_decay=0.0005, batch_size=32, epochs=10, log_every=5),
            {"a": ("ranks", "constants"), "b": ("ranks-jsonl", "shell")},
        ),
    )
}


def healthy(archetype: str, style: str, seed: int, name: str = "plain", *, edits: tuple[Edit, ...] = (), half: str = "dev",
            check: str = "", grad_norm: bool = True, **settings: Any) -> Case:
    """A run with nothing wrong."""
    return Case(archetype, style, f"healthy-{name}-{seed}", None, set={"seed": seed, **settings}, edits=edits, half=half,
                check=check, grad_norm=grad_norm)


def twins(half: str = "dev") -> dict[tuple[str, str], Case]:
    """One healthy run per archetype and style: the benchmark of its faulty runs."""
    return {
        (a.name, style): healthy(a.name, style, 100 + 7 * i, half="holdout" if style == "c" else "dev")
        for a in ARCHETYPES.values() for i, style in enumerate(a.styles)
    }


TWINS = twins()


def faulty(archetype: str, styles: str, fault: str, cause: str, *, edits: tuple[Edit, ...] = (), accept: tuple[str, ...] = (),
           check: str = "worse", strength: str = "", alone: bool = True, grad_norm: bool = True, **settings: Any) -> Iterator[Case]:
    """The fault in each of the given styles; style c is held out."""
    for style in styles:
        yield Case(archetype, style, fault, cause, strength, settings, edits, accept, check, grad_norm,
                   "holdout" if style == "c" else "dev", TWINS[archetype, style].name, alone)


def _cases() -> Iterator[Case]:
    yield from TWINS.values()
    yield from _learning_rate()


def _learning_rate() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    for strength, lr, style in (("mild", 0.8, "a"), ("medium", 3.0, "b"), ("strong", 20.0, "c")):
        yield from faulty("images", style, "lr-large", large, strength=strength, lr=lr)
    for strength, lr, style in (("mild", 0.06, "b"), ("medium", 0.3, "c"), ("strong", 2.0, "a")):
        yield from faulty("tabular", style, "lr-large", large, strength=strength, lr=lr)
    for strength, lr, style in (("mild", 0.03, "c"), ("medium", 0.1, "a"), ("strong", 1.0, "b")):
        yield from faulty("lm", style, "lr-large", large, strength=strength, lr=lr)
    for strength, lr, style in (("mild", 0.001, "c"), ("medium", 0.0003, "a"), ("strong", 0.00003, "b")):
        yield from faulty("images", style, "lr-small", small, strength=strength, lr=lr)
    for strength, lr, style in (("mild", 0.0002, "a"), ("medium", 0.00005, "b"), ("strong", 0.000005, "c")):
        yield from faulty("tabular", style, "lr-small", small, strength=strength, lr=lr)
    yield from faulty("lm", "b", "lr-small", small, strength="medium", lr=0.00003, min_lr=0.000003)


CASES = list(_cases())
