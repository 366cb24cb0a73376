# ruff: noqa: E501 -- the edits are texts
"""The cases: which fault, put into which script, how strongly. Style c and two whole archetypes are held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from generate import Archetype, Case, Edit

ARCHETYPES = {
    a.name: a
    for a in (
        Archetype(
            "images",
            {
                "seed": 1,
                "noise": 85.0,
                "train_size": 1200,
                "batch_size": 32,
                "width": 8,
                "dropout": 0.1,
                "label_smoothing": 0.0,
                "lr": 0.05,
                "momentum": 0.9,
                "weight_decay": 0.0005,
                "step_size": 8,
                "epochs": 12,
                "log_every": 8,
            },
            {
                "a": ("tensorboard", "args"),
                "b": ("logging", "yaml"),
                "c": ("keras", "constants"),
                "d": ("logging", "args"),
            },
        ),
        Archetype(
            "tabular",
            {
                "seed": 2,
                "train_size": 2000,
                "hidden": 64,
                "dropout": 0.1,
                "label_smoothing": 0.0,
                "lr": 0.002,
                "weight_decay": 0.0001,
                "batch_size": 64,
                "epochs": 20,
                "log_every": 5,
            },
            {"a": ("epochs", "constants"), "b": ("csv", "hparams"), "c": ("epoch-jsonl", "json")},
        ),
        Archetype(
            "lm",
            {
                "seed": 3,
                "train_size": 200000,
                "block_size": 32,
                "batch_size": 12,
                "n_embd": 48,
                "n_layer": 2,
                "dropout": 0.0,
                "init_std": 0.02,
                "lr": 0.003,
                "min_lr": 0.0003,
                "warmup_steps": 40,
                "max_steps": 400,
                "beta2": 0.95,
                "weight_decay": 0.1,
                "grad_clip": 1.0,
                "eval_interval": 50,
                "log_every": 5,
            },
            {"a": ("jsonl", "yaml"), "b": ("nano", "constants"), "c": ("csv", "json")},
        ),
        Archetype(
            "amp",
            {
                "seed": 4,
                "precision": "fp16",
                "width": 32,
                "layers": 2,
                "lr": 0.004,
                "weight_decay": 0.01,
                "init_scale": 65536.0,
                "growth_interval": 2000,
                "warmup_steps": 30,
                "max_steps": 400,
                "batch_size": 24,
                "grad_clip": 1.0,
                "eval_interval": 50,
                "log_every": 5,
            },
            {"a": ("kv", "yaml"), "b": ("jsonl", "args"), "c": ("tensorboard", "json")},
        ),
        Archetype(
            "ddp",
            {
                "seed": 5,
                "train_size": 1600,
                "hidden": 64,
                "lr": 0.1,
                "momentum": 0.9,
                "weight_decay": 0.0005,
                "batch_size": 32,
                "epochs": 10,
                "log_every": 5,
            },
            {"a": ("ranks", "constants"), "b": ("ranks-jsonl", "shell")},
        ),
        Archetype(
            "hf",
            {
                "seed": 6,
                "train_size": 1200,
                "hidden_size": 48,
                "num_layers": 2,
                "dropout": 0.1,
                "lr": 0.003,
                "weight_decay": 0.01,
                "grad_clip": 1.0,
                "epochs": 6,
                "batch_size": 32,
                "warmup_steps": 15,
            },
            {"a": ("hf-saved", "constants"), "b": ("hf", "constants")},
        ),
        Archetype(
            "policy",
            {"seed": 7, "hidden": 32, "lr": 0.01, "batch_size": 8, "iterations": 150, "log_every": 2},
            {"a": ("csv", "constants"), "b": ("tensorboard", "yaml"), "c": ("kv", "hparams")},
        ),
        Archetype(
            "series",
            {
                "seed": 8,
                "train_size": 2400,
                "hidden": 24,
                "lr": 0.05,
                "weight_decay": 0.0,
                "batch_size": 32,
                "grad_clip": 1.0,
                "epochs": 14,
                "log_every": 5,
            },
            {"a": ("history", "json"), "b": ("csv", "args")},
            "holdout",
        ),
        Archetype(
            "sentences",
            {
                "seed": 9,
                "train_size": 1200,
                "dim": 64,
                "dropout": 0.2,
                "label_smoothing": 0.0,
                "lr": 0.004,
                "weight_decay": 0.01,
                "batch_size": 32,
                "grad_clip": 1.0,
                "warmup_steps": 20,
                "epochs": 12,
                "log_every": 5,
            },
            {"a": ("kv", "shell"), "b": ("epochs", "yaml")},
            "holdout",
        ),
    )
}


def _half(archetype: str, style: str) -> str:
    return "holdout" if style == "c" else ARCHETYPES[archetype].half


def healthy(
    archetype: str,
    style: str,
    seed: int,
    name: str = "plain",
    *,
    edits: tuple[Edit, ...] = (),
    grad_norm: bool = True,
    check: str = "",
    **settings: Any,
) -> Case:
    """A run with nothing wrong."""
    return Case(
        archetype,
        style,
        f"healthy-{name}-{seed}",
        None,
        set={"seed": seed, **settings},
        edits=edits,
        check=check,
        half=_half(archetype, style),
        grad_norm=grad_norm,
    )


# One healthy run per archetype and style: the benchmark of its faulty runs.
TWINS = {
    (a.name, style): healthy(a.name, style, 100 + 7 * i)
    for a in ARCHETYPES.values()
    for i, style in enumerate(a.styles)
}


def faulty(
    archetype: str,
    styles: str,
    fault: str,
    cause: str,
    *edits: Edit,
    accept: tuple[str, ...] = (),
    accept_alone: tuple[str, ...] = (),
    check: str = "worse",
    strength: str = "",
    alone: bool = True,
    grad_norm: bool = True,
    twin: Case | None = None,
    **settings: Any,
) -> Iterator[Case]:
    """The fault in each of these styles. In style a the benchmark has the same seed."""
    for style in styles:
        beside = twin or TWINS[archetype, style]
        seed = {"seed": beside.set["seed"]} if style == "a" else {}
        base = dict(beside.set) | {"seed": ARCHETYPES[archetype].settings["seed"]} if twin else {}
        yield Case(
            archetype,
            style,
            fault,
            cause,
            strength,
            base | seed | settings,
            (*beside.edits, *edits),
            accept,
            accept_alone,
            check,
            grad_norm,
            _half(archetype, style),
            beside.name,
            alone,
        )


def _cases() -> Iterator[Case]:
    yield from TWINS.values()
    for (archetype, style), twin in TWINS.items():  # another seed, held against the first
        yield replace(healthy(archetype, style, 200, "seed"), benchmark=twin.name)
    yield from _awkward()
    yield from _learning_rate()
    yield from _schedule_and_batch()
    yield from _regularization()
    yield from _initialisation()
    yield from _data()
    yield from _processing()
    yield from _model()
    yield from _loss_and_step()
    yield from _evaluation()
    yield from _precision()
    yield from _parallel()
    yield from _benchmark()


# ----------------------------------------------------------------------------------------------- healthy

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
_RESUMES = (
    (
        "step = 0\nfor epoch in range(1,",
        """step, start = 0, 1
if {{resume}}:
    state = torch.load({{resume}})
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    step, start = state["step"], state["epoch"] + 1
    logging.info("resumed from %s at epoch %d", {{resume}}, start)
for epoch in range(start,""",
    ),
    ("    lr = optimizer.param_groups", "    lr = optimizer.param_groups"),
    (
        "@@close",
        """    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    torch.save({**state, "step": step, "epoch": epoch}, "last.pt")
@@close""",
    ),
)
_TWICE = ("--epochs 9", "--epochs 16 --resume last.pt")


def _resumed() -> Iterator[Case]:
    """A run in two parts; the fault forgets optimizer and schedule at the second start."""
    yield _RESUMED_TWIN
    forgets = (
        '    optimizer.load_state_dict(state["optimizer"])\n    scheduler.load_state_dict(state["scheduler"])\n',
        "",
    )
    yield Case(
        "images",
        "d",
        "forgets-schedule",
        "state.resume",
        "",
        {"seed": 107, "resume": ""},
        (*_RESUMES, forgets),
        check="any",
        benchmark=_RESUMED_TWIN.name,
        commands=_TWICE,
        accept=("hyperparameter.schedule-wrong",),
    )
    yield Case(
        "images",
        "d",
        "forgets-weights",
        "state.resume",
        "",
        {"seed": 68, "resume": "", "step_size": 5},
        (*_RESUMES, ('    model.load_state_dict(state["model"])\n', "")),
        check="any",
        benchmark=_RESUMED_TWIN.name,
        commands=_TWICE,
        accept=("init.pretrained-not-loaded",),
    )


_RESUMED_TWIN = Case(
    "images", "d", "healthy-resumed-67", None, set={"seed": 67, "resume": ""}, edits=_RESUMES, commands=_TWICE
)


def _awkward() -> Iterator[Case]:
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
    yield from _resumed()
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


# -------------------------------------------------------------------------------------- hyperparameters


def _learning_rate() -> Iterator[Case]:
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


def _schedule_and_batch() -> Iterator[Case]:
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


def _regularization() -> Iterator[Case]:
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


# --------------------------------------------------------------------------------------- initial weights

_MADE = {
    "images": "model = Net({{width}})\n",
    "tabular": "    nn.Linear({{hidden}}, 4),\n)\n",
    "series": "model = Forecaster({{hidden}})\n",
    "sentences": "model = TextModel(len(vocabulary) + 2, {{dim}})\n",
    "lm": "model = GPT()\n",
    "hf": "model = Encoder()\n",
}


def _after_model(archetype: str, lines: str) -> Edit:
    return _MADE[archetype], _MADE[archetype] + lines


def _initial(call: str) -> str:
    return f"for parameter in model.parameters():\n    if parameter.dim() > 1:\n        {call}\n"


_NOUGHT = "for parameter in model.parameters():\n    nn.init.zeros_(parameter)\n"


def _initialisation() -> Iterator[Case]:
    spread, zeros = "hyperparameter.weight-init", "init.zeros"
    for strength, std, style in (("mild", 0.8, "a"), ("medium", 2.0, "b"), ("strong", 8.0, "c")):
        yield from faulty(
            "tabular",
            style,
            "init-wide",
            spread,
            _after_model("tabular", _initial(f"nn.init.normal_(parameter, std={std})")),
            strength=strength,
        )
    yield from faulty("lm", "a", "init-wide", spread, init_std=0.6, strength="medium")
    yield from faulty("lm", "c", "init-wide", spread, init_std=3.0, strength="strong")
    yield from faulty(
        "tabular",
        "a",
        "init-narrow",
        spread,
        _after_model("tabular", _initial("nn.init.normal_(parameter, std=0.0005)")),
        check="slower",
        accept_alone=("init.zeros",),
    )
    yield from faulty(
        "sentences",
        "a",
        "init-wide",
        spread,
        _after_model("sentences", _initial("nn.init.normal_(parameter, std=3.0)")),
    )
    yield from faulty("tabular", "bc", "init-zero", zeros, _after_model("tabular", _NOUGHT))
    yield from faulty(
        "images", "b", "init-zero", zeros, _after_model("images", _initial("nn.init.zeros_(parameter)"))
    )
    yield from faulty(
        "lm",
        "b",
        "init-constant",
        zeros,
        ("nn.init.normal_(module.weight, std={{init_std}})", "nn.init.constant_(module.weight, 0.01)"),
    )
    yield from faulty("sentences", "b", "init-zero", zeros, _after_model("sentences", _NOUGHT))


# -------------------------------------------------------------------------------------------------- data


def _data() -> Iterator[Case]:
    missing = "data.missing-values"
    gap = (
        "    scale = np.logspace(-2, 4, 18)\n",
        "    scale = np.logspace(-2, 4, 18)\n    columns[rng.choice(size, 3), 5] = np.nan\n",
    )
    tolerant = (
        "mu, sigma = x_train.mean(0), x_train.std(0)",
        "mu, sigma = np.nanmean(x_train, 0), np.nanstd(x_train, 0)",
    )
    yield from faulty("tabular", "abc", "missing-fields", missing, gap, tolerant, check="nan")
    empty = (
        "encoded = [",
        'for i in range(40, len(rows), 331):\n    rows[i] = (["<empty>"] * 16, rows[i][1])\nencoded = [',
    )
    word = ("for w in words}))}\n", 'for w in words}))}\nvocab["<empty>"] = len(vocab)\n')
    pooled = (
        "hidden = self.norm(self.encoder(hidden)).mean(1)",
        'present = (input_ids != vocab["<empty>"]).float().unsqueeze(-1)\n        hidden = (self.norm(self.encoder(hidden)) * present).sum(1) / present.sum(1)',
    )
    yield from faulty(
        "hf",
        "ab",
        "empty-text",
        missing,
        empty,
        word,
        pooled,
        check="blank",
        accept=("numerics.epsilon", "api.misuse"),
    )
    sensor = ("    return 8200 +", "    t = np.where((t > 1900) & (t < 1904), np.nan, t)\n    return 8200 +")
    means = (
        "centre, scale = train_raw.mean(), train_raw.std()",
        "centre, scale = np.nanmean(train_raw), np.nanstd(train_raw)",
    )
    yield from faulty("series", "ab", "sensor-gap", missing, sensor, means, check="nan")
    black = (
        "train_x = (train_x - mean) / std\nval_x = (val_x - mean) / std",
        "train_x[17] = 0\ntrain_x = (train_x - train_x.mean((1, 2, 3), keepdim=True)) / train_x.std((1, 2, 3), keepdim=True)\n"
        "val_x = (val_x - val_x.mean((1, 2, 3), keepdim=True)) / val_x.std((1, 2, 3), keepdim=True)",
    )
    yield from faulty(
        "images",
        "b",
        "black-image",
        "numerics.epsilon",
        black,
        check="nan",
        accept=("api.misuse",),
        accept_alone=(missing,),
    )
    outliers = "data.outliers"
    wild = ("x_test = (x_test - mu) / sigma\n", "x_test = (x_test - mu) / sigma\nx_train[::400] *= 300\n")
    yield from faulty("tabular", "b", "outliers", outliers, wild, check="spikes")
    peaks = ("train_raw, valid_raw =", "raw[700:2000:400] *= 60\ntrain_raw, valid_raw =")
    yield from faulty(
        "series",
        "b",
        "outliers",
        outliers,
        peaks,
        ("train_raw.mean(), train_raw.std()", "np.median(train_raw), 1600.0"),
        check="spikes",
    )
    wrong = "data.label-errors"
    for archetype, style, share in (("images", "a", 0.25), ("images", "b", 0.45), ("images", "c", 0.6)):
        noise = (
            "mean, std = train_x.mean()",
            f"flip = torch.rand(len(train_y)) < {share}\ntrain_y[flip] = torch.randint(0, 6, (int(flip.sum()),))\nmean, std = train_x.mean()",
        )
        yield from faulty(archetype, style, "labels-wrong", wrong, noise, strength=str(share))
    yield from faulty(
        "sentences",
        "a",
        "labels-wrong",
        wrong,
        (
            "valid_x, valid_y = encode(valid_samples)\n",
            "valid_x, valid_y = encode(valid_samples)\nflip = torch.rand(len(train_y)) < 0.4\ntrain_y[flip] = torch.randint(0, 8, (int(flip.sum()),))\n",
        ),
        strength="0.4",
    )
    yield from faulty(
        "hf",
        "b",
        "labels-wrong",
        wrong,
        (
            "train_rows, eval_rows =",
            'for row in encoded[:-250:2]:\n    row["labels"] = random.randrange(6)\ntrain_rows, eval_rows =',
        ),
        strength="0.5",
    )
    yield from faulty(
        "images",
        "b",
        "label-out-of-range",
        "data.invalid-labels",
        ("rng.randint(0, 6, size)", "rng.randint(0, 7, size)"),
        check="crash",
        accept=("processing.tokenizer-mismatch", "processing.label-mapping"),
    )
    yield from faulty(
        "sentences",
        "b",
        "label-out-of-range",
        "data.invalid-labels",
        ("for target, chapter in enumerate(chapters):", "for target, chapter in enumerate(chapters, 1):"),
        check="crash",
        accept=("processing.tokenizer-mismatch", "processing.label-mapping"),
    )
    shift = "data.distribution-shift"
    other = ("processing.train-eval-mismatch", "porting.preprocessing-differs")
    faint = ("    wave = np.sin(", '    dim = 0.3 if split == "val" else 1.0\n    wave = dim * np.sin(')
    yield from faulty("images", "ac", "shift", shift, faint, accept=other)
    drift = ("train_raw, valid_raw =", "raw[-600:] = raw[-600:] * 1.6 - 2500\ntrain_raw, valid_raw =")
    yield from faulty("series", "a", "shift", shift, drift, accept=other)
    rare = (
        "labels = rng.randint(0, 6, size)",
        'share = [0.75, 0.05, 0.05, 0.05, 0.05, 0.05] if split == "train" else None\n    labels = rng.choice(6, size, p=share)',
    )
    yield from faulty(
        "images",
        "b",
        "imbalance",
        "data.class-imbalance",
        rare,
        accept_alone=("data.distribution-shift", "data.incomplete"),
    )
    part = (
        'train_images, train_labels = load("train", {{train_size}})\n',
        'train_images, train_labels = load("train", {{train_size}})\ntrain_images, train_labels = train_images[train_labels < 4], train_labels[train_labels < 4]\n',
    )
    yield from faulty(
        "images",
        "a",
        "classes-missing",
        "data.incomplete",
        part,
        accept=("porting.dataset-differs", "data.class-imbalance"),
        accept_alone=(shift,),
    )
    leak = (
        "x_train, y_train = features[:-800]",
        "features[:, 7] = labels + 0.01 * features[:, 7]\nx_train, y_train = features[:-800]",
    )
    yield from faulty("tabular", "ab", "target-in-input", "data.leakage", leak, check="better")


def _processing() -> Iterator[Case]:
    raw = "processing.not-normalized"
    yield from faulty(
        "tabular",
        "abc",
        "raw-columns",
        raw,
        ("x_train = (x_train - mu) / sigma\nx_test = (x_test - mu) / sigma\n", ""),
    )
    yield from faulty("series", "ab", "raw-megawatts", raw, ("train_raw.mean(), train_raw.std()", "0.0, 1.0"))
    yield from faulty(
        "images",
        "ac",
        "eval-raw",
        "processing.train-eval-mismatch",
        ("val_x = (val_x - mean) / std\n", ""),
        accept=("data.distribution-shift", "porting.preprocessing-differs"),
    )
    order = "processing.not-shuffled"
    by_class = (
        "mean, std = train_x.mean()",
        "by_class = train_y.argsort()\ntrain_x, train_y = train_x[by_class], train_y[by_class]\nmean, std = train_x.mean()",
    )
    yield from faulty(
        "images",
        "ab",
        "not-shuffled",
        order,
        by_class,
        ("shuffle=True, drop_last", "shuffle=False, drop_last"),
    )
    yield from faulty(
        "tabular",
        "bc",
        "not-shuffled",
        order,
        ("    order = torch.randperm(len(x_train))\n", "    order = y_train.argsort(stable=True)\n"),
    )
    yield from faulty(
        "sentences",
        "ab",
        "not-shuffled",
        order,
        ("torch.randperm(len(train_x)).split", "train_y.argsort(stable=True).split"),
    )
    yield from faulty(
        "images",
        "bc",
        "labels-shifted",
        "processing.label-mapping",
        (
            "torch.tensor(train_labels), torch.tensor(val_labels)",
            "torch.tensor(train_labels), torch.tensor((val_labels + 1) % 6)",
        ),
        accept=("evaluation.logic",),
    )
    yield from faulty(
        "sentences",
        "a",
        "labels-shifted",
        "processing.label-mapping",
        (
            "valid_x, valid_y = encode(valid_samples)\n",
            "valid_x, valid_y = encode(valid_samples)\nvalid_y = 7 - valid_y\n",
        ),
        accept=("evaluation.logic",),
    )
    moved = "processing.algorithm"
    chance = ("data.label-errors",)
    yield from faulty(
        "images",
        "ab",
        "labels-moved",
        moved,
        (
            "mean, std = train_x.mean()",
            "train_x = train_x[torch.randperm(len(train_x))]\nmean, std = train_x.mean()",
        ),
        accept=chance,
    )
    yield from faulty(
        "tabular",
        "c",
        "labels-moved",
        moved,
        ("x, y = x_train[ids], y_train[ids]", "x, y = x_train[ids], y_train[ids.flip(0)]"),
        accept=chance,
    )
    yield from faulty(
        "sentences",
        "b",
        "labels-moved",
        moved,
        ("x, y = train_x[ids], train_y[ids]", "x, y = train_x[ids], train_y[ids.sort().values]"),
        accept=chance,
    )
    erase = (
        "        output = model(x)\n        loss = criterion(output, y)\n",
        "        x = x * (torch.rand(len(x), 1, 12, 12) < 0.12)\n        output = model(x)\n        loss = criterion(output, y)\n",
    )
    yield from faulty(
        "images",
        "a",
        "erasing",
        "processing.parameters",
        erase,
        accept_alone=("hyperparameter.regularization-too-strong", moved),
    )
    yield from faulty(
        "tabular",
        "a",
        "wrong-deviation",
        "processing.parameters",
        ("mu, sigma = x_train.mean(0), x_train.std(0)", "mu, sigma = x_train.mean(0), 300 * x_train.std(0)"),
        accept_alone=("hyperparameter.learning-rate-too-small", raw),
    )
    yield from faulty(
        "lm",
        "b",
        "vocabulary-short",
        "processing.tokenizer-mismatch",
        ("nn.Embedding(len(letters), {{n_embd}})", "nn.Embedding(64, {{n_embd}})"),
        check="crash",
        accept=("data.invalid-labels",),
    )


# ------------------------------------------------------------------------------------------------- model


def _model() -> Iterator[Case]:
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
        _after_model("tabular", "for layer in model[:-1]:\n    layer.requires_grad_(False)\n"),
    )
    yield from faulty(
        "lm",
        "c",
        "frozen",
        frozen,
        _after_model(
            "lm",
            'for name, parameter in model.named_parameters():\n    parameter.requires_grad = name.startswith("wte")\n',
        ),
    )
    yield from faulty(
        "sentences",
        "a",
        "frozen",
        frozen,
        _after_model(
            "sentences",
            'for name, parameter in model.named_parameters():\n    if not name.startswith("classify"):\n        parameter.requires_grad = False\n',
        ),
    )
    yield from faulty(
        "hf",
        "a",
        "frozen",
        frozen,
        _after_model(
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
        accept=(frozen,),
    )
    yield from faulty(
        "lm",
        "a",
        "skip-left-out",
        cut,
        ("x = x + self.drop(self.proj(", "x = self.drop(self.proj("),
        ("x = x + self.drop(self.out(", "x = self.drop(self.out("),
        check="slower",
        accept_alone=("graph.normalization-missing",),
        n_layer=4,
    )
    mode = "graph.node-mode"
    yield from faulty("images", "ac", "eval-mode", mode, ("    model.train()\n", "    model.eval()\n"))
    yield from faulty("images", "b", "mode-not-restored", mode, ("    model.train()\n", ""))
    yield from faulty(
        "tabular",
        "b",
        "train-mode-in-evaluation",
        mode,
        ("    model.eval()\n", ""),
        dropout=0.5,
        accept_alone=("hyperparameter.regularization-too-strong",),
    )
    operator = "graph.wrong-operator"
    yield from faulty(
        "images",
        "a",
        "rounded-output",
        operator,
        ("return self.head(x)", "return self.head(x).round()"),
        accept=(frozen, cut),
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
        accept=("processing.algorithm", "processing.parameters"),
    )
    dead = "graph.dead-activation"
    yield from faulty(
        "tabular",
        "bc",
        "dead-units",
        dead,
        _after_model(
            "tabular",
            "for layer in model[:-1]:\n    if isinstance(layer, nn.Linear):\n        nn.init.constant_(layer.bias, -12.0)\n",
        ),
        accept=("hyperparameter.weight-init",),
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
        accept=("graph.normalization-missing",),
    )
    deep = (
        "    nn.Linear({{hidden}}, 4),\n)",
        "    *[m for _ in range(30) for m in (nn.Linear({{hidden}}, {{hidden}}), nn.Tanh())],\n    nn.Linear({{hidden}}, 4),\n)",
    )
    yield from faulty("tabular", "b", "deep-plain", "graph.normalization-missing", deep, accept=(dead,))
    yield from faulty(
        "images",
        "ab",
        "bn-small-batch",
        "graph.batch-norm-small-batch",
        batch_size=2,
        log_every=60,
        epochs=8,
        accept_alone=("hyperparameter.batch-size-too-small",),
        accept=("hyperparameter.batch-size-too-small",),
    )


def _loss_and_step() -> Iterator[Case]:
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
        accept=("graph.weight-frozen", "porting.training-procedure"),
    )
    yield from faulty(
        "series",
        "a",
        "other-model",
        optimizer,
        ("torch.optim.SGD(model.parameters()", "torch.optim.SGD(Forecaster({{hidden}}).parameters()"),
        accept=("graph.weight-frozen", "porting.training-procedure"),
    )
    yield from faulty(
        "tabular",
        "a",
        "maximises",
        optimizer,
        ("weight_decay={{weight_decay}})", "weight_decay={{weight_decay}}, maximize=True)"),
        accept=(loss,),
    )
    piled = "state.gradients-not-cleared"
    for archetype, styles in (("images", "abc"), ("tabular", "bc"), ("series", "ab")):
        yield from faulty(archetype, styles, "no-zero-grad", piled, ("        optimizer.zero_grad()\n", ""))
    yield from faulty("lm", "ab", "no-zero-grad", piled, ("    optimizer.zero_grad(set_to_none=True)\n", ""))
    order = "porting.training-procedure"
    nothing = ("graph.weight-frozen", "graph.optimizer")
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
        accept_alone=("hyperparameter.learning-rate-too-large",),
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
        accept=("api.misuse",),
        accept_alone=("data.missing-values",),
    )


def _evaluation() -> Iterator[Case]:
    logic = "evaluation.logic"
    yield from faulty(
        "images",
        "ab",
        "wrong-axis",
        logic,
        (
            "val_correct += (output.argmax(1) == y).sum().item()",
            "val_correct += (output.argmax(0)[0] == y).sum().item()",
        ),
    )
    yield from faulty(
        "sentences",
        "b",
        "argmin",
        logic,
        (
            "val_acc = (output.argmax(1) == valid_y)",
            "val_acc = (output.softmax(1).round().argmin(1) == valid_y)",
        ),
    )
    stale = ("evaluation.logic", "processing.train-eval-mismatch", "graph.node-mode")
    yield from faulty(
        "images",
        "bc",
        "stale-model",
        "evaluation.wrong-checkpoint",
        ("step = 0\n", "import copy\n\nbest = copy.deepcopy(model)\nstep = 0\n"),
        ("    model.eval()\n", "    best.eval()\n"),
        (
            "            output = model(x)\n            val_loss",
            "            output = best(x)\n            val_loss",
        ),
        accept_alone=stale,
    )
    yield from faulty(
        "series",
        "b",
        "stale-model",
        "evaluation.wrong-checkpoint",
        ("step = 0\n", "import copy\n\nbest = copy.deepcopy(model)\nstep = 0\n"),
        ("        output = model(valid_x)\n", "        output = best(valid_x)\n"),
        accept_alone=stale,
    )


# --------------------------------------------------------------------------------------------- precision


def _precision() -> Iterator[Case]:
    span = "numerics.half-precision-range"
    cubed = ("hidden = F.relu(self.up(self.norm2(h)))", "hidden = F.relu(self.up(self.norm2(h))) ** 3")
    wide = (
        "        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)\n",
        "        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)\n        nn.init.normal_(self.up.weight, std=1.9)\n        nn.init.normal_(self.down.weight, std=1e-4)\n",
    )
    for style, strength, std in (("a", "mild", "1.6"), ("b", "medium", "1.9"), ("c", "strong", "2.6")):
        edits = (cubed, (wide[0], wide[1].replace("1.9", std)))
        sound = healthy("amp", style, 130, f"bf16-{std}", edits=edits, precision="bf16")
        yield sound
        yield from faulty(
            "amp",
            style,
            "range",
            span,
            twin=sound,
            precision="fp16",
            strength=strength,
            accept_alone=("hyperparameter.loss-scale",),
            check="any",
        )
    scale = "hyperparameter.loss-scale"
    fixed = (
        "growth_interval={{growth_interval}}, enabled",
        "backoff_factor=1.0 - 1e-9, growth_interval={{growth_interval}}, enabled",
    )
    yield from faulty("amp", "ac", "scale-fixed-large", scale, fixed, init_scale=2.0**30, check="any")
    yield from faulty("amp", "b", "scale-tiny", scale, init_scale=2.0**-14, check="any")
    yield from faulty("amp", "ab", "scale-eager", scale, growth_interval=1, check="any")
    bare = ("porting.loss-scale-missing", span)
    yield from faulty(
        "amp",
        "bc",
        "no-scaler",
        bare[0],
        ('enabled={{precision}} == "fp16")', "enabled=False)"),
        ("y.flatten())\n    optimizer", "y.flatten()) / 4096\n    optimizer"),
        check="any",
        grad_norm=True,
        accept=(span,),
    )
    pure = ("model = GPT()\n", "model = GPT().bfloat16()\n")
    yield from faulty(
        "lm",
        "bc",
        "pure-bf16",
        "numerics.update-lost",
        pure,
        lr=0.0004,
        min_lr=0.00004,
        check="any",
        accept_alone=("hyperparameter.learning-rate-too-small",),
    )


def _parallel() -> Iterator[Case]:
    apart = "state.replica-desync"
    yield from faulty(
        "ddp",
        "ab",
        "bypassed",
        apart,
        (
            "            output = model(x)\n            loss",
            "            output = model.module(x)\n            loss",
        ),
        check="any",
        accept=("porting.distributed-not-enabled",),
    )
    yield from faulty(
        "ddp",
        "a",
        "not-wrapped",
        "porting.distributed-not-enabled",
        ("model = DistributedDataParallel(build())", "model = build()"),
        ("output = model.module(val_x)", "output = model(val_x)"),
        check="any",
        accept=(apart,),
    )
    by_hand = (
        "            loss.backward()\n",
        "            loss.backward()\n            for parameter in model.parameters():\n                dist.all_reduce(parameter.grad)\n                parameter.grad /= world_size\n",
    )
    plain = (
        ("model = DistributedDataParallel(build())", "model = build()"),
        ("output = model.module(val_x)", "output = model(val_x)"),
        by_hand,
    )
    yield from faulty(
        "ddp",
        "ab",
        "seeds-differ",
        "init.differs-across-nodes",
        *plain,
        ("torch.manual_seed({{seed}})", "torch.manual_seed({{seed}} + rank)"),
        check="any",
        accept=(apart,),
    )
    yield from faulty(
        "ddp",
        "b",
        "same-shard",
        "porting.sharding-differs",
        ("num_replicas=world_size, rank=rank", "num_replicas=world_size, rank=0"),
        check="any",
        accept=("porting.distributed-not-enabled",),
    )


def _benchmark() -> Iterator[Case]:
    wrong = "benchmark.wrong-reference"
    for archetype, style, other in (
        ("images", "a", TWINS["amp", "c"]),
        ("tabular", "b", TWINS["lm", "c"]),
        ("sentences", "a", TWINS["amp", "a"]),
    ):
        own = healthy(archetype, style, 140, "against-another-task")
        yield Case(
            own.archetype,
            own.style,
            own.fault,
            wrong,
            "",
            own.set,
            benchmark=other.name,
            alone=False,
            check="exists",
            half=own.half,
        )


CASES = list(_cases())
