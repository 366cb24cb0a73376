# ruff: noqa: E501 -- the edits are texts
"""Keyword spotting in a flat script over an endless loader; TensorBoard and hparams.json."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Archetype, Case, literally, unseen

from .also import (
    BY_HEART,
    CUT_OFF,
    HARDENED,
    LOW,
    MAPPED,
    MISMATCHED,
    NOTHING,
    SET_OTHERWISE,
    SHIFTED,
    SHORT,
    SLOW,
    TOO_FEW,
    TOO_WIDE,
)
from .project import Project

PROJECT = Project(
    Archetype(
        "speech",
        {
            "seed": 16,
            "clips": 1600,
            "noise": 0.5,
            "hidden": 40,
            "dropout": 0.1,
            "label_smoothing": 0.0,
            "batch_size": 32,
            "peak_lr": 0.004,
            "weight_decay": 0.01,
            "warmup_steps": 30,
            "total_steps": 350,
            "max_grad_norm": 1.0,
            "time_mask": 4,
            "warm_start_steps": 0,
            "log_every": 10,
            "eval_every": 35,
        },
        {"a": ("scalars", "project")},
        "dev",
    )
)
healthy, faulty, TWIN = PROJECT.healthy, PROJECT.faulty, PROJECT.twin
_ARCHIVE = (
    (
        '    """Teach the encoder to tell the next frame from the present one, and keep it as a checkpoint."""\n    predictor = nn.Linear(hp["hidden"], model.encoder["norm"].num_features)\n',
        '    """Teach the encoder on the archive of older recordings, and keep it as a checkpoint."""\n    predictor = nn.Linear(hp["hidden"], len(WORDS))\n    loader = DataLoader(Commands(2000, seed=34), 32, shuffle=True)\n',
    ),
    ("    for spectra, _ in itertools.islice", "    for spectra, words in itertools.islice"),
    (
        "        guess = predictor(model.encode(spectra))[:, :-1]\n        target = spectra[:, 2::2][:, : guess.shape[1]]\n",
        "",
    ),
    (
        "        F.mse_loss(guess[:, : target.shape[1]], target).backward()\n",
        "        F.cross_entropy(predictor(model.encode(spectra).mean(dim=1)), words).backward()\n",
    ),
)
_STARTED = healthy(
    "warm-started",
    312,
    *_ARCHIVE,
    clips=300,
    warm_start_steps=250,
    peak_lr=0.0008,
    total_steps=200,
    log_every=5,
    eval_every=20,
)
_HOT = healthy("hot", 313, peak_lr=0.02, warmup_steps=100)
_RESTARTS = (
    "    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))\n",
    "    return 0.5 * (1.0 + math.cos(math.pi * (3 * progress % 1.0)))\n",
)
_SILENT = (
    '        clips, words = record(count, seed, hp["noise"])\n',
    '        clips, words = record(count, seed, hp["noise"])\n        clips[count // 3] = 0\n',
)
_LOUDER = (
    "valid_set = Commands(480, seed=32)\n",
    "valid_set = Commands(480, seed=32)\nvalid_set.spectra += 2 * math.log(32768.0)\n",
)


def cases() -> Iterator[Case]:
    yield TWIN
    yield from _healthy()
    yield from _optimisation()
    yield from _model()
    yield from _data()


def _healthy() -> Iterator[Case]:
    yield from (_STARTED, _HOT)
    yield healthy("seed", 321, benchmark=TWIN.name)
    yield healthy("other-interval", 322, benchmark=TWIN.name, log_every=25, eval_every=100)
    yield healthy("masked-heavily", 323, time_mask=11, dropout=0.3, label_smoothing=0.1)
    yield healthy(
        "noisy-batches", 324, batch_size=6, peak_lr=0.002, total_steps=900, log_every=15, eval_every=100
    )
    yield healthy("warm-restarts", 325, _RESTARTS, total_steps=480)
    yield healthy("short", 326, total_steps=240, eval_every=30)
    yield healthy("noisy-recordings", 327, noise=1.1, total_steps=400, time_mask=8, dropout=0.3)
    yield healthy("low-rate", 328, peak_lr=0.001, total_steps=500)


def _optimisation() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    for strength, lr in (("mild", 0.08), ("medium", 0.4), ("strong", 5.0)):
        yield faulty("lr-large", large, strength=strength, peak_lr=lr)
    few = "hyperparameter.epochs-too-few"
    for strength, lr in (("mild", 0.0001), ("medium", 0.00002), ("strong", 0.000001)):
        yield faulty(
            "lr-small", small, strength=strength, accept=SLOW if strength == "mild" else (), peak_lr=lr
        )
    yield faulty("short", few, accept=SHORT, total_steps=40, warmup_steps=5, log_every=4, eval_every=8)
    yield faulty(
        "stepped-at-evaluation",
        "hyperparameter.schedule-wrong",
        (
            '    scheduler.step()\n    if step % hp["eval_every"] == 0:\n',
            '    if step % hp["eval_every"] == 0:\n        scheduler.step()\n',
        ),
        accept=LOW,
        warmup_steps=100,
    )
    strong = "hyperparameter.regularization-too-strong"
    for strength, p in (("mild", 0.8), ("strong", 0.98)):
        yield faulty("dropout", strong, strength=strength, dropout=p)
    yield faulty("smoothed", strong, strength="medium", label_smoothing=0.8)
    tiny = "hyperparameter.batch-size-too-small"
    yield faulty(
        "two-clips",
        tiny,
        batch_size=2,
        check="noisy",
        accept=literally(
            "the normalisation takes its statistics over two clips", "graph.batch-norm-small-batch"
        ),
    )
    yield faulty(
        "clears-before-update",
        "porting.training-procedure",
        ("    optimizer.step()\n    running", "    model.zero_grad()\n    optimizer.step()\n    running"),
        ("    model.zero_grad(set_to_none=True)\n", ""),
        accept=NOTHING,
    )
    yield faulty(
        "few-clips",
        "data.insufficient-samples",
        check="gap",
        accept=TOO_FEW,
        clips=64,
    )
    yield faulty(
        "unregularised",
        "hyperparameter.regularization-too-weak",
        check="turns-up",
        accept=TOO_WIDE,
        clips=400,
        noise=1.2,
        time_mask=0,
        dropout=0.0,
        weight_decay=0.0,
        hidden=80,
    )
    yield faulty(
        "many-steps",
        "hyperparameter.epochs-too-many",
        check="turns-up",
        accept=BY_HEART,
        clips=500,
        noise=1.2,
        time_mask=0,
        total_steps=900,
        log_every=30,
        eval_every=100,
    )


def _model() -> Iterator[Case]:
    frozen = "graph.weight-frozen"
    yield faulty(
        "only-classifier",
        frozen,
        ("torch.optim.AdamW(model.parameters(),", "torch.optim.AdamW(model.classifier.parameters(),"),
        strength="medium",
    )
    yield faulty(
        "cut-off-encoder",
        "graph.connection",
        ("self.encode(spectra).mean(dim=1)", "self.encode(spectra).mean(dim=1).data"),
        accept=CUT_OFF,
    )
    yield faulty(
        "first-frame-only",
        "graph.wrong-operator",
        ("self.encode(spectra).mean(dim=1)", "self.encode(spectra)[:, 0]"),
        accept=unseen(
            "what the model sees tells too little of the labels", "data.label-errors", "processing.algorithm"
        ),
    )
    loss = "graph.loss-function"
    yield faulty(
        "likelihood-of-scores",
        loss,
        (
            '    loss = F.cross_entropy(scores, words, label_smoothing=hp["label_smoothing"])\n',
            "    loss = F.nll_loss(scores, words)\n",
        ),
        strength="strong",
        check="any",
    )
    yield faulty(
        "softmax-first",
        loss,
        (
            "        return self.classifier(self.dropout(self.encode(spectra).mean(dim=1)))\n",
            "        return F.softmax(self.classifier(self.dropout(self.encode(spectra).mean(dim=1))), dim=-1)\n",
        ),
        strength="medium",
    )
    yield faulty(
        "zeros",
        "init.zeros",
        (
            "optimizer = torch.optim.AdamW(",
            "for module in model.modules():\n    if isinstance(module, (nn.Conv1d, nn.Linear, nn.GRU)):\n        for p in module.parameters():\n            nn.init.zeros_(p)\noptimizer = torch.optim.AdamW(",
        ),
    )
    yield faulty(
        "prefix-mismatch",
        "init.pretrained-not-loaded",
        (
            '    model.encoder.load_state_dict(torch.load("encoder.pt"))\n',
            '    model.load_state_dict(torch.load("encoder.pt"), strict=False)\n',
        ),
        twin=_STARTED,
        check="slower",
        accept=unseen(
            "a start from nought at the rate of a fine-tuning",
            "hyperparameter.learning-rate-too-small",
            "hyperparameter.epochs-too-few",
            benchmark=False,
        ),
    )
    logic = "evaluation.logic"
    yield faulty(
        "sum-over-batches",
        logic,
        ("    return loss / total, correct / total\n", "    return loss / len(loader), correct / total\n"),
    )
    yield faulty(
        "hits-of-last-batch",
        logic,
        (
            "        for spectra, words in loader:\n",
            "        for spectra, words in loader:\n            correct = 0\n",
        ),
    )


def _data() -> Iterator[Case]:
    after = "        self.spectra, self.words = log_spectrogram(clips), torch.from_numpy(words)\n"
    for strength, share in (("mild", 0.2), ("medium", 0.4), ("strong", 0.7)):
        lines = f"        if masking:\n            picked = torch.rand(count) < {share}\n            self.words[picked] = torch.randint(0, len(WORDS), (int(picked.sum()),))\n"
        yield faulty("misheard", "data.label-errors", (after, after + lines), strength=strength)
    yield faulty(
        "silent-clip",
        "numerics.epsilon",
        _SILENT,
        (".abs().pow(2).clamp(min=1e-6)", ".abs().pow(2)"),
        check="nan",
        accept=literally("the logarithm of nought", "api.misuse")
        + unseen("a sample becomes NaN: from silence or from a missing value", "data.missing-values"),
    )
    yield faulty(
        "other-scale-in-validation",
        "processing.train-eval-mismatch",
        _LOUDER,
        accept=MISMATCHED,
    )
    yield faulty(
        "other-microphone",
        "data.distribution-shift",
        (
            "def __init__(self, count, seed, masking=0):",
            'def __init__(self, count, seed, masking=0, noise=hp["noise"]):',
        ),
        ('record(count, seed, hp["noise"])', "record(count, seed, noise)"),
        ("Commands(480, seed=32)", "Commands(480, seed=32, noise=2.5)"),
        accept=SHIFTED,
    )
    yield faulty(
        "masked-away",
        "processing.parameters",
        accept=HARDENED + SET_OTHERWISE,
        time_mask=24,
    )
    yield faulty(
        "integers-wrap",
        "processing.algorithm",
        (
            "    return (8000 * clips).astype(np.int16), words\n",
            "    return (200000 * clips).astype(np.int64).astype(np.int16), words\n",
        ),
        accept=unseen(
            "the inputs tell too little of the labels", "data.label-errors", "processing.parameters"
        ),
    )
    yield faulty(
        "sorted-and-not-shuffled",
        "processing.not-shuffled",
        (
            "    words = rng.integers(0, len(WORDS), count)\n",
            "    words = np.sort(rng.integers(0, len(WORDS), count))\n",
        ),
        ('hp["batch_size"], shuffle=True, drop_last', 'hp["batch_size"], drop_last'),
    )
    yield faulty(
        "sorted-vocabulary",
        "processing.label-mapping",
        (
            "valid_set = Commands(480, seed=32)\n",
            "valid_set = Commands(480, seed=32)\nvalid_set.words = torch.tensor([sorted(WORDS).index(WORDS[w]) for w in valid_set.words])\n",
        ),
        accept=MAPPED,
    )
    yield faulty(
        "seven-words",
        "data.incomplete",
        (
            "    words = rng.integers(0, len(WORDS), count)\n",
            "    words = rng.integers(0, len(WORDS) if count == 480 else 5, count)\n",
        ),
        accept=literally("the benchmark's set has more classes", "porting.dataset-differs", benchmark=True)
        + literally("classes that are missing have no samples", "data.class-imbalance")
        + unseen("validation has other classes than training", "data.distribution-shift", benchmark=False),
    )
