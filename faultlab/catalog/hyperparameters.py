"""Learning rate, schedule, batch, warm-up, clipping and regularisation."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case

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
    slow = ("hyperparameter.epochs-too-few",)
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
                archetype, style, "lr-small", small, strength=strength, lr=lr, accept_alone=slow, **extra
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
    slow = ("hyperparameter.learning-rate-too-small",)
    yield from faulty("images", "b", "epochs-few", few, epochs=1, accept_alone=slow)
    yield from faulty("tabular", "a", "epochs-few", few, epochs=2, accept_alone=slow)
    yield from faulty(
        "lm",
        "ac",
        "epochs-few",
        few,
        max_steps=90,
        warmup_steps=10,
        log_every=2,
        eval_interval=30,
        accept_alone=slow,
    )
    yield from faulty("hf", "a", "epochs-few", few, epochs=1, warmup_steps=5, accept_alone=slow)
    yield from faulty("sentences", "b", "epochs-few", few, epochs=2, accept_alone=slow)
    many, twins = (
        "hyperparameter.epochs-too-many",
        ("hyperparameter.regularization-too-weak", "data.insufficient-samples"),
    )
    yield from faulty(
        "tabular", "b", "epochs-many", many, epochs=150, log_every=40, check="turns-up", accept_alone=twins
    )
    yield from faulty("tabular", "c", "epochs-many", many, epochs=200, check="turns-up", accept_alone=twins)
    yield from faulty("hf", "b", "epochs-many", many, epochs=30, check="turns-up", accept_alone=twins)
    yield from faulty("sentences", "b", "epochs-many", many, epochs=60, check="turns-up", accept_alone=twins)
    big, tiny = "hyperparameter.batch-size-too-large", "hyperparameter.batch-size-too-small"
    yield from faulty("images", "a", "batch-large", big, batch_size=1200, log_every=1, accept_alone=slow)
    yield from faulty("tabular", "b", "batch-large", big, batch_size=2000, log_every=1, accept_alone=slow)
    yield from faulty(
        "sentences", "b", "batch-large", big, batch_size=1200, warmup_steps=1, accept_alone=slow
    )
    yield from faulty(
        "tabular",
        "b",
        "batch-small",
        tiny,
        batch_size=1,
        log_every=400,
        check="noisy",
        accept_alone=("hyperparameter.learning-rate-too-large",),
    )
    yield from faulty("lm", "a", "batch-small", tiny, batch_size=1, check="noisy")
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
        accept_alone=("hyperparameter.learning-rate-too-large",),
    )
    clip, rate = "hyperparameter.gradient-clipping-missing", ("hyperparameter.learning-rate-too-large",)
    unclipped = (
        "norm = nn.utils.clip_grad_norm_(model.parameters(), {{grad_clip}})",
        "norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()",
    )
    fast = healthy("series", "b", 109, "fast", lr=0.4, grad_clip=0.1)
    yield fast
    yield from faulty(
        "series", "b", "clipping-missing", clip, unclipped, twin=fast, accept_alone=rate, check="any"
    )
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
        accept=("hyperparameter.learning-rate-too-small",),
    )
    yield from faulty(
        "lm",
        "c",
        "adam-epsilon",
        differ,
        ("betas=(0.9, {{beta2}})", "betas=(0.9, {{beta2}}), eps=0.1"),
        alone=False,
        accept=("graph.optimizer",),
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
    alike = ("hyperparameter.epochs-too-many", "data.insufficient-samples")
    for archetype, styles, extra in (
        ("tabular", "ac", {"hidden": 512, "dropout": 0.0, "weight_decay": 0.0}),
        ("hf", "a", {"dropout": 0.0, "weight_decay": 0.0, "hidden_size": 192}),
        ("sentences", "a", {"dropout": 0.0, "weight_decay": 0.0, "dim": 256}),
    ):
        yield from faulty(archetype, styles, "overfits", weak, check="turns-up", accept_alone=alike, **extra)
    few = "data.insufficient-samples"
    alike = ("hyperparameter.epochs-too-many", weak)
    for archetype, style, strength, extra in (
        ("images", "b", "medium", {"train_size": 70, "epochs": 60, "step_size": 50, "log_every": 2}),
        ("images", "c", "mild", {"train_size": 80, "epochs": 50, "step_size": 30}),
        ("tabular", "b", "medium", {"train_size": 100, "epochs": 150, "log_every": 5}),
        ("lm", "c", "strong", {"train_size": 4000, "max_steps": 900, "log_every": 10}),
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
            accept_alone=alike,
            accept=(
                "porting.dataset-differs",
                "hyperparameter.epochs-too-many",
            ),  # few samples take more epochs
            **extra,
        )
