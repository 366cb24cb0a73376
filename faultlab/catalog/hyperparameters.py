"""Learning rate, schedule, batch, warm-up, clipping and regularisation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generate import REFERENCE, Case, literally, unseen

from .common import faulty, healthy


def learning_rate() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    for archetype, rates, styles in (
        ("images", (1.5, 5.0, 30.0), "abc"),
        ("tabular", (0.2, 0.4, 3.0), "bca"),
        ("lm", (0.05, 0.2, 1.0), "cab"),
        ("hf", (0.1, 0.4), "ab"),
        ("series", (1.5, 6.0), "ab"),
        ("sentences", (0.15, 1.0), "ba"),
    ):
        for strength, lr, style in zip(("mild", "medium", "strong"), rates, styles, strict=False):
            yield from faulty(archetype, style, "lr-large", large, strength=strength, lr=lr)
    yield from faulty("ddp", "b", "lr-large", large, strength="medium", lr=3.0)
    yield from faulty("amp", "a", "lr-large", large, strength="medium", lr=0.3)
    slow = unseen(
        "the curve falls steadily to its end: a larger rate or more epochs would do",
        "hyperparameter.epochs-too-few",
        benchmark=False,
        script=None,
    )
    for archetype, rates, styles in (
        ("images", (0.001, 0.0002, 0.00002), "cab"),
        ("tabular", (0.0001, 0.00003, 0.000003), "abc"),
        ("lm", (0.0003, 0.00003), "ba"),
        ("hf", (0.0001, 0.00001), "ba"),
        ("series", (0.0005,), "a"),
        ("sentences", (0.0003, 0.00003), "ab"),
    ):
        for strength, lr, style in zip(("mild", "medium", "strong"), rates, styles, strict=False):
            extra = {"min_lr": lr / 10} if archetype == "lm" else {}
            yield from faulty(
                archetype,
                style,
                "lr-small",
                small,
                strength=strength,
                lr=lr,
                accept=slow if strength == "mild" else (),  # else the curve hardly moves
                **extra,
            )


def schedule_and_batch() -> Iterator[Case]:
    wrong = "hyperparameter.schedule-wrong"
    yield from faulty(
        "images",
        "ac",
        "scheduler-per-batch",
        wrong,
        ("    scheduler.step()\n", ""),
        ("        step += 1\n", "        step += 1\n        scheduler.step()\n"),
    )
    yield from faulty(
        "lm",
        "b",
        "decays-early",
        wrong,
        ("max(1, {{max_steps}} - {{warmup_steps}})", "60"),
        ("    done = ", "    done = min(1.0, "),
        ("- {{warmup_steps}}) / 60", "- {{warmup_steps}}) / 60)"),
        min_lr=1e-6,
    )
    yield from faulty(
        "sentences", "a", "decays-early", wrong, ("total = {{epochs}} *", "total ="), strength="medium"
    )
    few = "hyperparameter.epochs-too-few"
    yield from faulty("images", "b", "epochs-few", few, epochs=1)
    yield from faulty("tabular", "a", "epochs-few", few, epochs=2)
    yield from faulty(
        "lm",
        "ac",
        "epochs-few",
        few,
        max_steps=90,
        warmup_steps=10,
        log_every=2,
        eval_interval=30,
    )
    yield from faulty("hf", "a", "epochs-few", few, epochs=1, warmup_steps=5)
    yield from faulty("sentences", "b", "epochs-few", few, epochs=2)
    many = "hyperparameter.epochs-too-many"
    twins = unseen(
        "validation turns up and the training set is learned by heart",
        "hyperparameter.regularization-too-weak",
        benchmark=False,
        script=None,
    )
    yield from faulty(
        "tabular", "b", "epochs-many", many, epochs=150, log_every=40, check="turns-up", accept=twins
    )
    yield from faulty("tabular", "c", "epochs-many", many, epochs=200, check="turns-up", accept=twins)
    yield from faulty("hf", "b", "epochs-many", many, epochs=30, check="turns-up", accept=twins)
    yield from faulty("sentences", "b", "epochs-many", many, epochs=60, check="turns-up", accept=twins)
    big, tiny = "hyperparameter.batch-size-too-large", "hyperparameter.batch-size-too-small"
    yield from faulty("images", "a", "batch-large", big, batch_size=1200, log_every=1)
    yield from faulty("tabular", "b", "batch-large", big, batch_size=2000, log_every=1)
    yield from faulty("sentences", "b", "batch-large", big, batch_size=1200, warmup_steps=1)
    yield from faulty(
        "tabular",
        "b",
        "batch-small",
        tiny,
        batch_size=1,
        log_every=400,
        check="noisy",
    )
    yield from faulty("lm", "a", "batch-small", tiny, batch_size=1, check="noisy")
    rate = unseen(
        "a hot recipe without its safeguard: as it stands the rate is too large for it",
        "hyperparameter.learning-rate-too-large",
        benchmark=False,
        script=None,
    )
    hot = healthy("lm", "a", 108, "hot", lr=0.02, warmup_steps=120)
    yield hot
    yield from faulty(
        "lm",
        "a",
        "warmup-missing",
        "hyperparameter.warmup-missing",
        twin=hot,
        warmup_steps=1,
        check="slower",
        accept=rate,
    )
    clip = "hyperparameter.gradient-clipping-missing"
    unclipped = (
        "norm = nn.utils.clip_grad_norm_(model.parameters(), {{grad_clip}})",
        "norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()",
    )
    fast = healthy("series", "b", 109, "fast", lr=0.4, grad_clip=0.1)
    yield fast
    yield from faulty("series", "b", "clipping-missing", clip, unclipped, twin=fast, accept=rate, check="any")
    differ = "porting.hyperparameters-differ"
    yield from faulty(
        "images",
        "ab",
        "momentum",
        differ,
        momentum=0.0,
        lr=0.01,
        alone=False,
        check="slower",
        accept=literally(
            "the rate is a fifth of the benchmark's, too", "hyperparameter.learning-rate-too-small"
        ),
    )
    yield from faulty(
        "lm",
        "c",
        "adam-epsilon",
        differ,
        ("betas=(0.9, {{beta2}})", "betas=(0.9, {{beta2}}), eps=0.1"),
        alone=False,
        accept=unseen("the update is smaller and no file names the epsilon", "graph.optimizer"),
    )


def regularization() -> Iterator[Case]:
    strong, weak = "hyperparameter.regularization-too-strong", "hyperparameter.regularization-too-weak"
    yield from faulty("images", "a", "weight-decay", strong, weight_decay=0.15)
    yield from faulty("tabular", "a", "dropout", strong, strength="medium", dropout=0.85)
    yield from faulty("tabular", "c", "dropout", strong, strength="strong", dropout=0.95)
    yield from faulty("tabular", "b", "weight-decay", strong, weight_decay=0.2)
    yield from faulty("lm", "b", "dropout", strong, dropout=0.8)
    yield from faulty("lm", "a", "weight-decay", strong, weight_decay=150.0)
    yield from faulty("hf", "a", "dropout", strong, dropout=0.9)
    yield from faulty("sentences", "ab", "dropout", strong, dropout=0.93)
    alike = literally(
        "a model too large for the data is one with too few samples",
        "data.insufficient-samples",
        benchmark=False,
    )
    alike += unseen(
        "training goes on after validation turned up",
        "hyperparameter.epochs-too-many",
        benchmark=False,
        script=None,
    )
    for archetype, styles, extra in (
        ("tabular", "ac", {"hidden": 512, "dropout": 0.0, "weight_decay": 0.0}),
        ("hf", "a", {"dropout": 0.0, "weight_decay": 0.0, "hidden_size": 192}),
        ("sentences", "a", {"dropout": 0.0, "weight_decay": 0.0, "dim": 256}),
    ):
        yield from faulty(archetype, styles, "overfits", weak, check="turns-up", accept=alike, **extra)
    few = "data.insufficient-samples"
    alike = literally(
        "a set too small for the model is a model too large for the data", weak, benchmark=False
    )
    alike += unseen(
        "training goes on after validation turned up",
        "hyperparameter.epochs-too-many",
        benchmark=False,
        script=None,
    )
    alike += literally("a subset of the benchmark's set", "porting.dataset-differs", benchmark=True)
    longer = healthy("lm", "c", 143, "longer", max_steps=900, log_every=10)
    yield replace(longer, cause=REFERENCE)
    for archetype, style, strength, extra in (
        ("images", "b", "medium", {"train_size": 70, "epochs": 60, "step_size": 50, "log_every": 2}),
        ("images", "c", "mild", {"train_size": 80, "epochs": 50, "step_size": 30}),
        ("tabular", "b", "medium", {"train_size": 100, "epochs": 150, "log_every": 5}),
        ("lm", "c", "strong", {"train_size": 4000}),
        ("hf", "b", "medium", {"train_size": 80, "epochs": 60, "warmup_steps": 5}),
        ("sentences", "b", "medium", {"train_size": 100, "epochs": 60}),
    ):
        yield from faulty(
            archetype,
            style,
            "few-samples",
            few,
            check="gap",
            strength=strength,
            accept=alike,
            twin=longer if archetype == "lm" else None,
            **extra,
        )
