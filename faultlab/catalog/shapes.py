# ruff: noqa: E501 -- the edits are texts
"""A small ResNet on coloured shapes under a runner class; logs of OpenMMLab."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Archetype, Case, literally, unseen

from .also import (
    CUT_OFF,
    HARDENED,
    KEPT,
    MAPPED,
    MISMATCHED,
    NOTHING,
    RARE,
    SET_OTHERWISE,
    SHORT,
    SLOW,
    STALE,
    SUBSET,
)
from .gpt import TWIN as OTHER_TASK
from .project import Project

PROJECT = Project(
    Archetype(
        "shapes",
        {
            "seed": 12,
            "base_channels": 8,
            "dropout": 0.0,
            "label_smooth": 0.0,
            "samples_per_gpu": 32,
            "train_size": 960,
            "padding": 1,
            "jitter": 0.15,
            "lr": 0.08,
            "momentum": 0.9,
            "weight_decay": 0.0005,
            "warmup_iters": 30,
            "step": "[6, 8]",
            "gamma": 0.1,
            "max_epochs": 10,
            "interval": 10,
        },
        {"a": ("openmmlab", "project")},
        "dev",
    )
)
healthy, faulty, TWIN = PROJECT.healthy, PROJECT.faulty, PROJECT.twin
_RESUMED = ("--max-epochs 5", "--max-epochs 10 --resume-from work_dirs/resnet_shapes/latest.pth")
_RESUMED_TWIN = healthy("resumed", 313, commands=_RESUMED)
_RESTARTS = (
    '        lr = self.base_lr * config["gamma"] ** sum(self.epoch >= s for s in config["step"])\n',
    "        lr = 0.5 * self.base_lr * (1 + np.cos(np.pi * (self.epoch % 4 + 0.5) / 4))\n",
)
_SHARES = (
    (
        "        self.labels = rng.randint(0, len(CLASSES), size)\n",
        "        self.labels = rng.choice(len(CLASSES), size, p=share)\n",
    ),
    (
        "def __init__(self, size, seed):\n        rng",
        "def __init__(self, size, seed, share=None):\n        rng",
    ),
)


def _train_share(share: str) -> tuple[str, str]:
    return "seed=2021)", f"seed=2021, share={share})"


def cases() -> Iterator[Case]:
    yield TWIN
    yield from _healthy()
    yield from _optimisation()
    yield from _model()
    yield from _data()
    yield from _evaluation()
    yield from _resume()


def _healthy() -> Iterator[Case]:
    yield healthy("seed", 321, benchmark=TWIN.name)
    yield healthy("other-interval", 322, benchmark=TWIN.name, interval=20)
    yield healthy("three-drops", 323, step="[4, 7, 10]", gamma=0.3, max_epochs=13)
    yield healthy("noisy-batches", 324, samples_per_gpu=8, lr=0.02, interval=40, max_epochs=9, step="[5, 8]")
    yield healthy("warm-restarts", 325, _RESTARTS, max_epochs=12)
    yield healthy("short", 326, max_epochs=5, step="[3, 4]")
    yield healthy(
        "heavy-augmentation",
        327,
        padding=3,
        jitter=0.4,
        label_smooth=0.1,
        dropout=0.2,
        max_epochs=12,
        step="[8, 11]",
    )
    yield healthy(
        "imbalanced-but-fine",
        328,
        *_SHARES,
        _train_share("[0.3, 0.2, 0.1, 0.1, 0.1, 0.2]"),
        train_size=1920,
        max_epochs=10,
        step="[6, 8]",
    )
    yield healthy("low-rate", 329, lr=0.02, warmup_iters=10)


def _optimisation() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    for strength, lr in (("mild", 3.0), ("medium", 20.0), ("strong", 300.0)):
        yield faulty("lr-large", large, strength=strength, lr=lr)
    few = "hyperparameter.epochs-too-few"
    for strength, lr in (("mild", 0.001), ("medium", 0.0001), ("strong", 0.000005)):
        yield faulty("lr-small", small, strength=strength, accept=SLOW if strength == "mild" else (), lr=lr)
    wrong = "hyperparameter.schedule-wrong"
    yield faulty("drops-at-once", wrong, strength="medium", step="[1, 2]", gamma=0.03)
    yield faulty(
        "counts-iterations",
        wrong,
        ("sum(self.epoch >= s", "sum(self.iter >= s"),
        strength="strong",
        warmup_iters=1,
    )
    yield faulty("short", few, accept=SHORT, max_epochs=2, step="[6, 8]")
    yield faulty(
        "whole-set",
        "hyperparameter.batch-size-too-large",
        accept=SHORT + SLOW,
        samples_per_gpu=960,
        warmup_iters=1,
        interval=1,
    )
    yield faulty(
        "two-per-device",
        "graph.batch-norm-small-batch",
        accept=literally(
            "two samples are too few for the gradient, too", "hyperparameter.batch-size-too-small"
        ),
        samples_per_gpu=2,
        interval=160,
        max_epochs=6,
    )
    strong = "hyperparameter.regularization-too-strong"
    yield faulty("weight-decay", strong, strength="medium", weight_decay=0.1)
    yield faulty("smoothed-away", strong, strength="mild", label_smooth=0.7)
    yield faulty("head-dropout", strong, strength="strong", dropout=0.97)
    differ = "porting.hyperparameters-differ"
    yield faulty(
        "framework-momentum",
        differ,
        momentum=0.0,
        lr=0.01,
        same_seed=True,
        alone=False,
        accept=literally(
            "the rate is a tenth of the benchmark's, too", "hyperparameter.learning-rate-too-small"
        ),
    )
    yield faulty(
        "norm-momentum-of-another-framework",
        differ,
        (
            "        self.bn2 = nn.BatchNorm2d(planes)\n",
            "        self.bn2 = nn.BatchNorm2d(planes, momentum=0.001)\n",
        ),
        (
            "        self.bn1 = nn.BatchNorm2d(planes)\n",
            "        self.bn1 = nn.BatchNorm2d(planes, momentum=0.001)\n",
        ),
        accept=unseen(
            "evaluation is off while training is sound: statistics that do not follow",
            "graph.node-mode",
            "evaluation.logic",
            "processing.train-eval-mismatch",
        ),
        alone=False,
    )


def _model() -> Iterator[Case]:
    frozen = "graph.weight-frozen"
    after = "        self.out_channels = planes\n"
    yield faulty(
        "frozen-stages",
        frozen,
        (
            after,
            after
            + "        for stage in self.stages:\n            for p in stage.parameters():\n                p.requires_grad = False\n",
        ),
        strength="mild",
    )
    yield faulty(
        "only-head",
        frozen,
        ("(self.model.parameters(), **optimizer)", "(self.model.head.parameters(), **optimizer)"),
        strength="medium",
    )
    yield faulty(
        "never-eval",
        "graph.node-mode",
        ("        self.model.eval()\n", ""),
        ("        size = 100\n", "        size = 4\n"),
    )
    loss = "graph.loss-function"
    yield faulty(
        "softmax-twice",
        loss,
        (
            "        return self.fc(self.dropout(x.mean((2, 3))))\n",
            "        return self.fc(self.dropout(x.mean((2, 3)))).softmax(dim=1)\n",
        ),
        strength="medium",
    )
    yield faulty(
        "squared-error",
        loss,
        (
            "loss = F.cross_entropy(score, gt_label, label_smoothing=self.label_smooth)",
            "loss = F.mse_loss(score.argmax(1).float() + 0 * score.sum(1), gt_label.float())",
        ),
        strength="strong",
    )
    yield faulty(
        "wrong-sign",
        loss,
        ("loss = F.cross_entropy(score,", "loss = -F.cross_entropy(score,"),
        strength="strong",
    )
    yield faulty(
        "steps-before-backward",
        "porting.training-procedure",
        (
            '        self.optimizer.zero_grad()\n        losses["loss"].backward()\n',
            '        losses["loss"].backward()\n        self.optimizer.zero_grad(set_to_none=False)\n',
        ),
        accept=NOTHING,
    )
    yield faulty(
        "keeps-gradients",
        "state.gradients-not-cleared",
        ("        self.optimizer.zero_grad()\n", ""),
        accept=KEPT,
    )
    yield faulty(
        "dead-units",
        "graph.dead-activation",
        (
            "            elif isinstance(m, nn.Linear):\n",
            "            elif isinstance(m, nn.BatchNorm2d):\n                nn.init.constant_(m.bias, -6.0)\n            elif isinstance(m, nn.Linear):\n",
        ),
        accept=literally("it is the start that makes the units dead", "hyperparameter.weight-init"),
    )
    yield faulty(
        "pools-to-one-pixel",
        "graph.wrong-operator",
        ("self.dropout(x.mean((2, 3)))", "self.dropout(x[:, :, 0, 0])"),
        check="any",
    )
    yield faulty(
        "branch-unused",
        "graph.connection",
        (
            "        for stage in self.stages:\n            x = stage(x)\n        return x\n",
            "        for stage in self.stages:\n            x = stage(x.detach())\n        return x\n",
        ),
        accept=CUT_OFF,
    )


def _data() -> Iterator[Case]:
    after = '        self.train_set = ShapeDataset(**cfg["data"]["train"])\n'
    for strength, share in (("mild", 0.2), ("medium", 0.4), ("strong", 0.65)):
        lines = f"        picked = np.random.rand(len(self.train_set)) < {share}\n        self.train_set.labels[picked] = np.random.randint(0, 6, picked.sum())\n"
        yield faulty("labels-random", "data.label-errors", (after, after + lines), strength=strength)
    yield faulty(
        "rare-classes",
        "data.class-imbalance",
        *_SHARES,
        _train_share("[0.9, 0.02, 0.02, 0.02, 0.02, 0.02]"),
        accept=RARE,
    )
    yield faulty(
        "colours-swapped-at-random",
        "processing.algorithm",
        ("        return image[:, ::-1] if", "        return image[..., ::-1] if"),
        accept=unseen(
            "training stays hard: its inputs are made so, or the model is held back",
            "hyperparameter.regularization-too-strong",
        )
        + unseen(
            "training inputs are unlike the held-out ones",
            "processing.train-eval-mismatch",
            "processing.parameters",
        ),
    )
    yield faulty(
        "wraps-around",
        "processing.algorithm",
        (
            "        return np.clip(image.astype(np.float32) * factor, 0, 255)\n",
            "        return (image * (1 + factor)).astype(np.uint8)\n",
        ),
        accept=unseen(
            "training inputs are unlike the held-out ones",
            "processing.train-eval-mismatch",
            "processing.parameters",
            "data.distribution-shift",
        ),
    )
    yield faulty(
        "crops-away",
        "processing.parameters",
        strength="medium",
        padding=12,
        accept=HARDENED + SET_OTHERWISE,
    )
    yield faulty(
        "other-normalisation-in-test",
        "processing.train-eval-mismatch",
        (
            '    test_pipeline=[dict(type="Normalize", **img_norm_cfg)]',
            '    test_pipeline=[dict(type="Normalize", mean=[0, 0, 0], std=[255, 255, 255])]',
        ),
        accept=MISMATCHED,
    )
    yield faulty(
        "half-resolution",
        "porting.preprocessing-differs",
        (
            "        image = (image.astype(np.float32) - self.mean)",
            "        image = image[::3, ::3].repeat(3, 0).repeat(3, 1)[:16, :16]\n        image = (image.astype(np.float32) - self.mean)",
        ),
        same_seed=True,
        alone=False,
        accept=literally(
            "a step that the benchmark lacks and that is wrong",
            "processing.algorithm",
            "processing.parameters",
        ),
    )
    yield faulty(
        "a-fifth-of-the-set",
        "porting.dataset-differs",
        train_size=160,
        same_seed=True,
        interval=2,
        alone=False,
        accept=SUBSET,
    )
    order = (
        "        self.labels = rng.randint(0, len(CLASSES), size)\n",
        "        self.labels = np.sort(rng.randint(0, len(CLASSES), size))\n",
    )
    yield faulty(
        "in-order",
        "processing.not-shuffled",
        order,
        ("torch.randperm(len(self.train_set)).tolist()", "list(range(len(self.train_set)))"),
    )
    yield faulty(
        "alphabetical-in-validation",
        "processing.label-mapping",
        (
            "            gt_label = torch.tensor([label for _, label in pairs])\n",
            "            gt_label = torch.tensor([sorted(CLASSES).index(CLASSES[label]) for _, label in pairs])\n",
        ),
        ("from shapes import ShapeDataset", "from shapes import CLASSES, ShapeDataset"),
        accept=MAPPED,
    )


def _evaluation() -> Iterator[Case]:
    yield faulty(
        "wrong-count",
        "evaluation.logic",
        ("        count = len(self.val_set)\n", "        count = len(self.train_set)\n"),
    )
    yield faulty(
        "stale-weights",
        "evaluation.wrong-checkpoint",
        (
            '        torch.save(state, os.path.join(self.work_dir, "latest.pth"))\n',
            '        filename = os.path.join(self.work_dir, "latest.pth")\n        if not os.path.exists(filename):\n            torch.save(state, filename)\n',
        ),
        (
            "        self.model.eval()\n        total",
            '        saved = torch.load(os.path.join(self.work_dir, "latest.pth"))["state_dict"]\n        tested = ImageClassifier(**self.cfg["model"])\n        tested.load_state_dict(saved)\n        tested.eval()\n        total',
        ),
        (
            "            score = self.model.simple_test(img)\n",
            "            score = tested.simple_test(img)\n",
        ),
        accept=STALE,
    )
    own = healthy("against-another-task", 340)
    yield Case(
        own.archetype,
        own.style,
        own.fault,
        "benchmark.wrong-reference",
        set=own.set,
        benchmark=OTHER_TASK.name,
        alone=False,
        check="exists",
    )


def _resume() -> Iterator[Case]:
    yield _RESUMED_TWIN
    yield faulty(
        "forgets-epoch",
        "state.resume",
        ('        self.epoch, self.iter = checkpoint["meta"]["epoch"], checkpoint["meta"]["iter"]\n', ""),
        twin=_RESUMED_TWIN,
        check="exists",  # the second part begins at epoch 1 with warm-up and the full rate: 15 epochs are logged
        accept=literally("the schedule restarts on resume", "hyperparameter.schedule-wrong"),
    )
    yield faulty(
        "forgets-weights",
        "state.resume",
        ('        self.model.load_state_dict(checkpoint["state_dict"])\n', ""),
        twin=_RESUMED_TWIN,
        check="exists",  # the loss jumps back to its start at epoch 8
        accept=literally("a checkpoint meant to be loaded was not", "init.pretrained-not-loaded"),
        commands=("--max-epochs 7", "--max-epochs 10 --resume-from work_dirs/resnet_shapes/latest.pth"),
    )
