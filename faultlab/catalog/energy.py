# ruff: noqa: E501 -- the edits are texts
"""Heat demand of buildings: a regression with Lightning and its CSVLogger."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Archetype, Case, literally, unseen

from .also import (
    BY_HEART,
    HOT,
    MISMATCHED,
    OTHER_OPTIMIZER,
    SHIFTED,
    SHORT,
    SLOW,
    SMALL_STEPS,
    TOO_FEW,
    TOO_WIDE,
    WRONG_LABELS,
)
from .project import Project

PROJECT = Project(
    Archetype(
        "energy",
        {
            "seed": 14,
            "train_size": 2400,
            "batch_size": 64,
            "hidden": 64,
            "layers": 3,
            "dropout": 0.0,
            "lr": 0.002,
            "weight_decay": 0.0001,
            "patience_lr": 4,
            "optimizer": "Adam",
            "max_epochs": 20,
            "log_every_n_steps": 10,
            "gradient_clip_val": 1.0,
            "patience": 8,
        },
        {"a": ("lightning", "project")},
        "holdout",
    )
)
healthy, faulty, TWIN = PROJECT.healthy, PROJECT.faulty, PROJECT.twin
_NOISE = ("rng.lognormal(0, 0.06, n)", "rng.lognormal(0, 0.45, n)")
_SCALING = (
    "        x_train, x_val = (x_train - self.x_mean) / self.x_std, (x_val - self.x_mean) / self.x_std\n"
)
_SPLIT = "        x_train, x_val = x[:-800], x[-800:]\n"
_AFTER = "        self.net = nn.Sequential(*blocks, nn.Linear(hidden, 1))\n"
_MOMENTUM = (
    "getattr(torch.optim, hp.optimizer)(self.parameters(), lr=hp.lr, weight_decay",
    "getattr(torch.optim, hp.optimizer)(self.parameters(), lr=hp.lr, momentum=0.9, weight_decay",
)
_SGD = healthy("sgd", 312, _MOMENTUM, optimizer="SGD", lr=0.3, gradient_clip_val=0.1, weight_decay=0.0)


def _initial(call: str) -> tuple[str, str]:
    return _AFTER, _AFTER + f"        for p in self.net.parameters():\n            {call}\n"


def cases() -> Iterator[Case]:
    yield TWIN
    yield from _healthy()
    yield from _optimisation()
    yield from _model()
    yield from _data()


def _healthy() -> Iterator[Case]:
    yield _SGD
    yield healthy("seed", 321, benchmark=TWIN.name)
    yield healthy("other-interval", 322, benchmark=TWIN.name, log_every_n_steps=19)
    yield healthy("early-stopping", 323, max_epochs=60, patience=6, train_size=1200)
    yield healthy("small-batches", 324, batch_size=8, lr=0.0005, max_epochs=10, log_every_n_steps=60)
    yield healthy("loss-floor", 325, _NOISE, max_epochs=15, patience_lr=2)
    yield healthy("dropout", 326, dropout=0.2)
    yield healthy("short", 327, max_epochs=12, lr=0.004)
    yield healthy("low-rate", 328, lr=0.0006, max_epochs=30)


def _optimisation() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    for strength, lr in (("mild", 0.08), ("medium", 0.5), ("strong", 5.0)):
        yield faulty("lr-large", large, strength=strength, lr=lr, patience=40, patience_lr=20)
    few = "hyperparameter.epochs-too-few"
    for strength, lr in (("mild", 0.00006), ("medium", 0.00001), ("strong", 0.000001)):
        yield faulty("lr-small", small, strength=strength, accept=SLOW if strength == "mild" else (), lr=lr)
    yield faulty(
        "plateau-upside-down",
        "hyperparameter.schedule-wrong",
        ("ReduceLROnPlateau(optimizer, patience", 'ReduceLROnPlateau(optimizer, mode="max", patience'),
        patience_lr=0,
    )
    yield faulty(
        "patience-without-end",
        "hyperparameter.epochs-too-many",
        _NOISE,
        check="turns-up",
        accept=BY_HEART,
        train_size=500,
        hidden=128,
        max_epochs=150,
        patience=1000,
        patience_lr=1000,
        log_every_n_steps=8,
    )
    yield faulty(
        "too-wide",
        "hyperparameter.regularization-too-weak",
        _NOISE,
        check="turns-up",
        accept=TOO_WIDE,
        train_size=700,
        hidden=320,
        layers=4,
        weight_decay=0.0,
        max_epochs=60,
        patience=1000,
        patience_lr=1000,
        log_every_n_steps=10,
    )
    yield faulty(
        "few-buildings",
        "data.insufficient-samples",
        check="worse",
        accept=TOO_FEW,
        train_size=40,
        batch_size=16,
        max_epochs=150,
        patience=1000,
        patience_lr=1000,
        log_every_n_steps=3,
    )
    strong = "hyperparameter.regularization-too-strong"
    for strength, decay in (("mild", 0.03), ("medium", 0.2), ("strong", 2.0)):
        yield faulty("weight-decay", strong, strength=strength, weight_decay=decay)
    yield faulty("dropout", strong, strength="medium", dropout=0.8)
    yield faulty(
        "whole-set",
        "hyperparameter.batch-size-too-large",
        accept=SHORT + SLOW,
        batch_size=2400,
        log_every_n_steps=1,
    )
    yield faulty("short", few, accept=SHORT, max_epochs=1, log_every_n_steps=2, batch_size=128)
    yield faulty(
        "not-clipped",
        "hyperparameter.gradient-clipping-missing",
        twin=_SGD,
        check="any",
        accept=HOT,
        gradient_clip_val=0.0,
    )
    yield faulty(
        "another-optimizer",
        "porting.hyperparameters-differ",
        optimizer="SGD",
        same_seed=True,
        alone=False,
        accept=OTHER_OPTIMIZER + SMALL_STEPS,
    )


def _model() -> Iterator[Case]:
    loss = "graph.loss-function"
    yield faulty(
        "broadcasts",
        loss,
        ("        return self.net(x).squeeze(1)\n", "        return self.net(x)\n"),
        accept=unseen(
            "the best answer is the mean, as with targets of other samples",
            "processing.algorithm",
            "data.label-errors",
        ),
        strength="strong",
    )
    yield faulty(
        "logarithm-of-negatives",
        "api.misuse",
        (
            "        loss = nn.functional.mse_loss(self(x), y)\n",
            "        loss = nn.functional.mse_loss(torch.log1p(self(x)), torch.log1p(y.clamp(min=-0.99)))\n",
        ),
        check="nan",
        accept=literally("a logarithm without a floor", "numerics.epsilon"),
    )
    yield faulty(
        "ends-in-relu",
        "graph.wrong-operator",
        ("nn.Linear(hidden, 1))", "nn.Linear(hidden, 1), nn.ReLU())"),
        strength="mild",
    )
    yield faulty(
        "ends-in-sigmoid",
        "graph.wrong-operator",
        ("nn.Linear(hidden, 1))", "nn.Linear(hidden, 1), nn.Sigmoid())"),
        strength="medium",
    )
    yield faulty(
        "all-alike",
        "init.zeros",
        _initial("nn.init.constant_(p, 0.01)"),
        accept=literally("a spread of nought is an unreasonable one", "hyperparameter.weight-init"),
    )
    for strength, std in (("mild", 0.6), ("medium", 2.0), ("strong", 9.0)):
        yield faulty(
            "wide",
            "hyperparameter.weight-init",
            _initial(f"nn.init.normal_(p, std={std})"),
            strength=strength,
        )
    yield faulty(
        "tiny",
        "hyperparameter.weight-init",
        _initial("nn.init.normal_(p, std=1e-4)"),
        accept=unseen("weights this small start as if at zero", "init.zeros"),
        layers=5,
    )
    yield faulty(
        "saturated",
        "graph.dead-activation",
        (
            "            blocks += [nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout)]\n",
            "            blocks += [nn.Linear(hidden, hidden), nn.Sigmoid(), nn.Dropout(dropout)]\n",
        ),
        accept=unseen(
            "gradients vanish in a deep stack: by its activations or for want of norms",
            "graph.normalization-missing",
        ),
        layers=9,
    )
    yield faulty(
        "only-output",
        "graph.weight-frozen",
        ("hp.optimizer)(self.parameters(), lr", "hp.optimizer)(self.net[-1].parameters(), lr"),
    )
    yield faulty(
        "detached-input-block",
        "graph.connection",
        (
            "        return self.net(x).squeeze(1)\n",
            "        return self.net[2:](torch.relu(self.net[0](x[:, :3].repeat(1, 4)[:, :10]))).squeeze(1)\n",
        ),
        accept=unseen(
            "the inputs tell too little of the targets", "data.label-errors", "processing.algorithm"
        ),
    )
    yield faulty(
        "deep-without-norms",
        "graph.normalization-missing",
        ("nn.ReLU(), nn.Dropout(dropout)]", "nn.Tanh(), nn.Dropout(dropout)]"),
        layers=30,
        accept=unseen(
            "gradients vanish in a deep stack: by its activations or for want of norms",
            "graph.dead-activation",
        ),
    )


def _data() -> Iterator[Case]:
    yield faulty(
        "raw-columns",
        "processing.not-normalized",
        (_SCALING, ""),
    )
    yield faulty(
        "gaps",
        "data.missing-values",
        (_SPLIT, "        x[40::611, 3] = np.nan\n" + _SPLIT),
        ("x_train.mean(0), x_train.std(0)", "np.nanmean(x_train, 0), np.nanstd(x_train, 0)"),
        check="nan",
    )
    yield faulty(
        "units-mixed-up",
        "data.outliers",
        (_SCALING, _SCALING + "        y_train[11::500] *= 1000.0\n        self.y_std = np.float32(60.0)\n"),
        (
            "        self.y_mean, self.y_std = y_train.mean(), y_train.std()\n",
            "        self.y_mean = np.median(y_train)\n",
        ),
        check="spikes",
    )
    for strength, share in (("mild", 0.15), ("medium", 0.4), ("strong", 0.8)):
        lines = f"        picked = np.random.rand(len(y_train)) < {share}\n        y_train[picked] = np.random.permutation(y_train[picked])\n"
        yield faulty(
            "meters-swapped",
            "data.label-errors",
            (_SCALING, lines + _SCALING),
            (
                "        y_train, y_val = y[:-800], y[-800:]\n",
                "        y_train, y_val = y[:-800].copy(), y[-800:]\n",
            ),
            strength=strength,
        )
    yield faulty(
        "newer-buildings",
        "data.distribution-shift",
        (
            _SPLIT,
            "        order = np.argsort(-x[:, 0])\n        x, y = x[order][::-1], y[order][::-1]\n        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)\n"
            + _SPLIT,
        ),
        accept=SHIFTED,
    )
    yield faulty(
        "not-centred-in-validation",
        "processing.train-eval-mismatch",
        ("(x_val - self.x_mean) / self.x_std", "x_val / self.x_std"),
        accept=MISMATCHED,
    )
    yield faulty(
        "bill-in-the-input",
        "data.leakage",
        (_SPLIT, "        x[:, 8] = 118.0 * y\n" + _SPLIT),
        check="better",
    )
    yield faulty(
        "rows-out-of-step",
        "processing.algorithm",
        (_SCALING, '        x_train = x_train[np.argsort(x_train[:, 1], kind="stable")]\n' + _SCALING),
        accept=WRONG_LABELS,
    )
    yield faulty(
        "wrong-deviation",
        "processing.parameters",
        ("x_train.mean(0), x_train.std(0)", "x_train.mean(0), x_train.std(0) ** 2 * 40"),
        accept=literally("the inputs' scales differ by orders of magnitude", "processing.not-normalized"),
    )
    yield faulty(
        "in-order",
        "processing.not-shuffled",
        (
            _SPLIT,
            "        order = np.argsort(y[:-800])\n        x[:-800], y[:-800] = x[order], y[order]\n"
            + _SPLIT,
        ),
        ("batch_size=self.batch_size, shuffle=True)", "batch_size=self.batch_size)"),
        lr=0.004,
    )
