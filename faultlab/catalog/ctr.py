# ruff: noqa: E501 -- the edits are texts
"""Click prediction with DeepFM: functional steps, lines of MindSpore's LossMonitor."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Archetype, Case, literally, unseen

from .also import (
    BY_HEART,
    KEPT,
    MISMATCHED,
    OTHER_OPTIMIZER,
    RARE,
    SHIFTED,
    SHORT,
    SLOW,
    SMALL_STEPS,
    STALE,
    SUBSET,
    TOO_FEW,
    TOO_WIDE,
)
from .project import Project

PROJECT = Project(
    Archetype(
        "ctr",
        {
            "seed": 15,
            "train_rows": 30000,
            "emb_dim": 8,
            "hidden_units": 32,
            "keep_prob": 0.9,
            "init_range": 0.05,
            "optimizer": "adam",
            "learning_rate": 0.002,
            "l2_coef": 2e-5,
            "epsilon": 1e-8,
            "decay_rate": 0.8,
            "epochs": 5,
            "batch_size": 128,
            "print_step": 20,
        },
        {"a": ("loss-monitor", "project")},
        "holdout",
    )
)
healthy, faulty, TWIN = PROJECT.healthy, PROJECT.faulty, PROJECT.twin
_RARE = (" - 1.3\n", " - 4.6\n")
_STEPS = "        for step, (ids, numeric, label) in enumerate(dataset.batches(train_data"


def cases() -> Iterator[Case]:
    yield TWIN
    yield from _healthy()
    yield from _optimisation()
    yield from _model()
    yield from _data()


def _healthy() -> Iterator[Case]:
    yield healthy("seed", 321, benchmark=TWIN.name)
    yield healthy("other-interval", 322, benchmark=TWIN.name, print_step=47)
    yield healthy("noisy-batches", 323, batch_size=16, learning_rate=0.0005, epochs=3, print_step=150)
    yield healthy("rare-clicks", 324, _RARE, train_rows=40000)
    yield healthy("short", 325, epochs=2, train_rows=60000)
    yield healthy("adagrad", 326, optimizer="adagrad", learning_rate=0.05, decay_rate=1.0)
    yield healthy("low-rate", 327, learning_rate=0.001, epochs=8, decay_rate=0.9)


def _optimisation() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    for strength, lr in (("mild", 0.2), ("medium", 0.5), ("strong", 20.0)):
        yield faulty("lr-large", large, strength=strength, learning_rate=lr)
    few = "hyperparameter.epochs-too-few"
    for strength, lr in (("mild", 0.00005), ("medium", 0.00001), ("strong", 0.0000005)):
        yield faulty(
            "lr-small", small, strength=strength, accept=SLOW if strength == "mild" else (), learning_rate=lr
        )
    yield faulty(
        "decays-per-step",
        "hyperparameter.schedule-wrong",
        (
            _STEPS + ", cfg.batch_size, rng), 1):\n",
            _STEPS
            + ', cfg.batch_size, rng), 1):\n            for group in optimizer.param_groups:\n                group["lr"] *= cfg.decay_rate\n',
        ),
    )
    yield faulty(
        "many-epochs",
        "hyperparameter.epochs-too-many",
        check="turns-up",
        accept=BY_HEART,
        epochs=25,
        decay_rate=1.0,
        train_rows=12000,
        l2_coef=0.0,
        keep_prob=1.0,
    )
    yield faulty(
        "no-l2",
        "hyperparameter.regularization-too-weak",
        check="turns-up",
        accept=TOO_WIDE,
        l2_coef=0.0,
        keep_prob=1.0,
        emb_dim=48,
        hidden_units=128,
        train_rows=15000,
        decay_rate=1.0,
        epochs=8,
    )
    yield faulty(
        "few-rows",
        "data.insufficient-samples",
        check="gap",
        accept=TOO_FEW,
        train_rows=1200,
        epochs=40,
        decay_rate=1.0,
        print_step=5,
    )
    strong = "hyperparameter.regularization-too-strong"
    for strength, l2 in (("mild", 0.009), ("medium", 0.02), ("strong", 0.5)):
        yield faulty("l2", strong, strength=strength, l2_coef=l2)
    yield faulty(
        "short",
        few,
        (
            "    steps = math",
            "    train_data = {k: v[:6000] for k, v in train_data.items()}\n    steps = math",
        ),
        accept=SHORT + literally("only a fifth of the rows is used", "data.insufficient-samples"),
        epochs=1,
        print_step=4,
    )
    yield faulty(
        "epsilon-of-another-framework",
        "porting.hyperparameters-differ",
        epsilon=0.1,
        same_seed=True,
        alone=False,
        accept=OTHER_OPTIMIZER + SMALL_STEPS,
    )
    yield faulty(
        "adds-to-old-gradients",
        "state.gradients-not-cleared",
        ("            p.grad = g\n", "            p.grad = g if p.grad is None else p.grad + g\n"),
        check="any",
        accept=KEPT,
    )
    yield faulty(
        "rmsprop-defaults",
        "porting.hyperparameters-differ",
        optimizer="adagrad",
        same_seed=True,
        alone=False,
        accept=OTHER_OPTIMIZER + SMALL_STEPS,
    )


def _model() -> Iterator[Case]:
    yield faulty(
        "sigmoid-twice",
        "graph.loss-function",
        (
            "        return linear + square + self.out(deep).squeeze(1)\n",
            "        return torch.sigmoid(linear + square + self.out(deep).squeeze(1))\n",
        ),
        strength="medium",
    )
    yield faulty(
        "squared-error-of-logits",
        "graph.loss-function",
        (
            "        return F.binary_cross_entropy_with_logits(net(ids, numeric), label)\n",
            "        return F.mse_loss(net(ids, numeric), label)\n",
        ),
        strength="mild",
        check="any",
    )
    yield faulty(
        "wrong-sign",
        "graph.loss-function",
        (
            "        return F.binary_cross_entropy_with_logits(net(ids, numeric), label)\n",
            "        return -F.binary_cross_entropy_with_logits(net(ids, numeric), label)\n",
        ),
        strength="strong",
    )
    yield faulty(
        "embeddings-fixed",
        "graph.weight-frozen",
        (
            "    return nn.Parameter(torch.empty(*shape).uniform_(-scope, scope))\n",
            "    return nn.Parameter(torch.empty(*shape).uniform_(-scope, scope), requires_grad=False)\n",
        ),
        strength="medium",
    )
    yield faulty(
        "only-output",
        "graph.weight-frozen",
        (
            "    params = [p for p in net.parameters() if p.requires_grad]\n",
            "    params = list(net.out.parameters())\n",
        ),
        strength="strong",
    )
    yield faulty("wide-tables", "hyperparameter.weight-init", strength="medium", init_range=1.0)
    yield faulty("wide-tables", "hyperparameter.weight-init", strength="strong", init_range=8.0)
    yield faulty(
        "one-table-for-both",
        "graph.weight-sharing",
        (
            "        linear = self.w[ids].sum((1, 2))\n        emb = self.v[ids]\n",
            "        ids = ids % self.w.shape[0] // 10\n        linear = self.w[ids].sum((1, 2))\n        emb = self.v[ids]\n",
        ),
        alone=False,
    )
    yield faulty(
        "input-left-out",
        "graph.connection",
        (
            "        return linear + square + self.out(deep).squeeze(1)\n",
            "        return 0 * linear + self.out(0 * deep).squeeze(1) + self.num(numeric).sum(1)\n",
        ),
        accept=unseen("the inputs tell too little of the targets", "data.label-errors"),
    )
    yield faulty(
        "scores-turned",
        "evaluation.logic",
        (
            '    order = np.argsort(scores, kind="mergesort")\n',
            '    order = np.argsort(-scores, kind="mergesort")\n',
        ),
    )
    yield faulty(
        "frozen-first-weights",
        "evaluation.wrong-checkpoint",
        ("    step_fn = build_train_step", "    served = copy.deepcopy(net)\n    step_fn = build_train_step"),
        ("import math\n", "import copy\nimport math\n"),
        ("{evaluate(net, eval_data)}", "{evaluate(served, eval_data)}"),
        accept=STALE,
    )


def _data() -> Iterator[Case]:
    fine = '        part["numeric"] = np.log1p(part["numeric"]).astype(np.float32)\n'
    yield faulty(
        "minus-one-for-missing",
        "data.missing-values",
        (fine, '        part["numeric"][::173, 2] = -1\n' + fine),
        check="nan",
        accept=literally(
            "the logarithm of nought that the missing value makes", "api.misuse", "numerics.epsilon"
        ),
    )
    start = "    for part in (train, held):\n"
    for strength, share in (("mild", 0.2), ("medium", 0.3), ("strong", 0.45)):
        lines = f'    picked = np.random.default_rng(3).random(cfg.train_rows) < {share}\n    train["label"] = np.where(picked, 1 - train["label"], train["label"])\n'
        yield faulty("clicks-misattributed", "data.label-errors", (start, lines + start), strength=strength)
    yield faulty(
        "minus-one-for-no",
        "data.invalid-labels",
        ('"label": label.astype(np.float32)}', '"label": 2 * label.astype(np.float32) - 1}'),
        ("    positive = labels == 1\n", "    positive = labels > 0\n"),
        check="any",
        accept=unseen("the loss falls below nought: its labels or the loss itself", "graph.loss-function"),
    )
    yield faulty(
        "counter-of-the-click",
        "data.leakage",
        (
            '    return {"ids": ids',
            '    counters[:, 3] = np.where(label, counters[:, 3] + 9, counters[:, 3])\n    return {"ids": ids',
        ),
        check="better",
    )
    yield faulty(
        "hardly-a-click",
        "data.class-imbalance",
        (
            start,
            '    kept = (train["label"] == 0) | (np.random.default_rng(4).random(cfg.train_rows) < 0.01)\n    train = {k: v[kept] for k, v in train.items()}\n'
            + start,
        ),
        accept=RARE,
    )
    yield faulty(
        "offsets-forgotten",
        "processing.train-eval-mismatch",
        (start, '    held["ids"] = held["ids"] % cfg.vocab_per_field\n' + start),
        accept=MISMATCHED
        + literally("ids that do not fit the model's table", "processing.tokenizer-mismatch"),
    )
    yield faulty(
        "in-order",
        "processing.not-shuffled",
        (
            start,
            '    by_label = np.argsort(train["label"], kind="stable")\n    train = {k: v[by_label] for k, v in train.items()}\n'
            + start,
        ),
        (
            "dataset.batches(train_data, cfg.batch_size, rng)",
            "dataset.batches(train_data, cfg.batch_size, None)",
        ),
    )
    yield faulty(
        "another-market",
        "data.distribution-shift",
        (
            "    train, held = draw(cfg, cfg.train_rows, 1), draw(cfg, cfg.eval_rows, 2)\n",
            "    train, held = draw(cfg, cfg.train_rows, 1), draw(cfg, cfg.eval_rows, 2, market=0.9)\n",
        ),
        ("def draw(cfg, rows, seed):", "def draw(cfg, rows, seed, market=0.0):"),
        (
            "    vectors = taste[field, ids]\n",
            "    taste = (1 - market) * taste + market * np.random.default_rng(98).normal(0, 0.32, taste.shape)\n    bias = (1 - market) * bias + market * np.random.default_rng(97).normal(0, 0.5, bias.shape)\n    vectors = taste[field, ids]\n",
        ),
        accept=SHIFTED,
    )
    yield faulty(
        "a-tenth-of-the-log",
        "porting.dataset-differs",
        same_seed=True,
        alone=False,
        train_rows=3000,
        print_step=4,
        accept=SUBSET,
    )
