# ruff: noqa: E501 -- the edits are texts
"""A one-object detector in functions, as YOLOv5 is written; results.csv, hyp.yaml and opt.yaml."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Archetype, Case, literally, unseen

from .also import (
    CUT_OFF,
    HARDENED,
    KEPT,
    MISMATCHED,
    RARE,
    SET_OTHERWISE,
    SHIFTED,
    SHORT,
    SLOW,
    STALE,
    TOO_FEW,
    TOO_WIDE,
    WRONG_LABELS,
)
from .project import Project

PROJECT = Project(
    Archetype(
        "boxes",
        {
            "seed": 13,
            "lr0": 0.05,
            "lrf": 0.05,
            "momentum": 0.9,
            "weight_decay": 0.0005,
            "warmup_epochs": 2.0,
            "warmup_bias_lr": 0.02,
            "box": 1.0,
            "cls": 1.0,
            "translate": 0.1,
            "mixup": 0.0,
            "epochs": 20,
            "batch_size": 32,
            "train_images": 640,
            "width": 4,
        },
        {"a": ("results-csv", "project")},
        "dev",
    )
)
healthy, faulty, TWIN = PROJECT.healthy, PROJECT.faulty, PROJECT.twin


def cases() -> Iterator[Case]:
    yield TWIN
    yield from _healthy()
    yield from _optimisation()
    yield from _model()
    yield from _data()


def _healthy() -> Iterator[Case]:
    yield healthy("seed", 321, benchmark=TWIN.name)
    yield healthy("heavy-augmentation", 322, translate=0.3, mixup=0.15, epochs=30)
    yield healthy("small-batches", 323, batch_size=8, lr0=0.015, epochs=15)
    yield healthy("short", 324, train_images=2000, epochs=10)
    yield healthy(
        "no-warmup", 325, warmup_epochs=0.0, lr0=0.03, benchmark=healthy("low-rate", 326, lr0=0.03).name
    )
    yield healthy("low-rate", 326, lr0=0.03)
    yield healthy("warm-bias", 327, warmup_bias_lr=0.1, warmup_epochs=3.0)
    yield healthy("constant-rate", 328, lrf=1.0, lr0=0.03)


def _optimisation() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    for strength, lr in (("mild", 1.0), ("medium", 4.0), ("strong", 60.0)):
        yield faulty("lr-large", large, strength=strength, lr0=lr)
    few = "hyperparameter.epochs-too-few"
    for strength, lr in (("mild", 0.001), ("medium", 0.0001)):
        yield faulty(
            "lr-small",
            small,
            strength=strength,
            accept=SLOW if strength == "mild" else (),
            lr0=lr,
            warmup_bias_lr=lr,
        )
    yield faulty("short", few, accept=SHORT, epochs=4, warmup_epochs=1.0)
    yield faulty(
        "scheduler-per-batch",
        "hyperparameter.schedule-wrong",
        ("            ema.update(model)\n", "            ema.update(model)\n            scheduler.step()\n"),
        ("        scheduler.step()\n        precision", "        precision"),
        (
            "lf = lambda x: (1 - x / opt.epochs) * (1.0 - hyp",
            "lf = lambda x: max(0.0, 1 - x / opt.epochs) * (1.0 - hyp",
        ),
        strength="strong",
    )
    yield faulty(
        "weight-decay", "hyperparameter.regularization-too-strong", strength="medium", weight_decay=0.3
    )
    yield faulty(
        "keeps-gradients",
        "state.gradients-not-cleared",
        ("            optimizer.zero_grad()\n", ""),
        accept=KEPT,
    )
    yield faulty(
        "few-images",
        "data.insufficient-samples",
        accept=TOO_FEW,
        train_images=40,
        epochs=80,
        batch_size=16,
    )
    yield faulty(
        "no-regularisation",
        "hyperparameter.regularization-too-weak",
        ("            imgs, boxes = augment(imgs, boxes, hyp)\n", ""),
        check="gap",
        accept=TOO_WIDE,
        train_images=300,
        width=12,
        epochs=45,
        weight_decay=0.0,
        translate=0.0,
    )


def _model() -> Iterator[Case]:
    frozen, loss = "graph.weight-frozen", "graph.loss-function"
    freeze = "    optimizer = smart_optimizer(model, hyp)\n"
    lines = "    freeze = [{}]\n    for k, v in model.named_parameters():\n        v.requires_grad = not any(x in k for x in freeze)\n"
    yield faulty(
        "freezes-backbone", frozen, (freeze, lines.format('"backbone."') + freeze), strength="medium"
    )
    yield faulty(
        "freezes-all-but-class",
        frozen,
        (freeze, lines.format('"backbone.", "box."') + freeze),
        strength="strong",
    )
    yield faulty(
        "sigmoid-twice",
        loss,
        ("return self.box(x).sigmoid(), self.cls(x)", "return self.box(x).sigmoid(), self.cls(x).sigmoid()"),
        strength="medium",
    )
    yield faulty(
        "iou-as-loss",
        loss,
        ("lbox = (1.0 - box_iou(pbox, boxes))", "lbox = box_iou(pbox, boxes)"),
        strength="strong",
    )
    yield faulty(
        "no-sigmoid-on-boxes",
        "graph.wrong-operator",
        ("return self.box(x).sigmoid(), self.cls(x)", "return self.box(x).relu(), self.cls(x)"),
        check="any",
    )
    yield faulty(
        "box-branch-detached",
        "graph.connection",
        ("return self.box(x).sigmoid()", "return self.box(x.detach() * 0).sigmoid()"),
        accept=CUT_OFF,
    )
    yield faulty(
        "zeros",
        "init.zeros",
        (
            "    optimizer = smart_optimizer(model, hyp)\n",
            "    for m in model.modules():\n        if isinstance(m, (nn.Conv2d, nn.Linear)):\n            m.weight.data.zero_()\n    optimizer = smart_optimizer(model, hyp)\n",
        ),
    )
    yield faulty(
        "average-never-updated",
        "evaluation.wrong-checkpoint",
        ("            ema.update(model)\n", ""),
        accept=STALE,
    )
    yield faulty(
        "boxes-in-pixels",
        "evaluation.logic",
        ("        iou = box_iou(pred[0], boxes)\n", "        iou = box_iou(pred[0], boxes * SIZE)\n"),
    )
    yield faulty(
        "metrics-pile-up",
        "porting.training-procedure",
        ("def val(model, loader, compute_loss):", "def val(model, loader, compute_loss, hits=[]):"),
        (
            "    losses, hits, seen, correct = torch.zeros(2), [], 0, 0\n",
            "    losses, seen, correct = torch.zeros(2), 0, 0\n",
        ),
        (
            "    hits = torch.cat(hits).mean(0)\n    return correct / seen, hits[0].item(), hits[0].item() * correct / seen, hits.mean().item(), (losses / seen).tolist()",
            "    share = torch.cat(hits).mean(0)\n    return correct / seen, share[0].item(), share[0].item() * correct / seen, share.mean().item(), (losses / seen).tolist()",
        ),
        accept=literally("the metric is computed over the wrong samples", "evaluation.logic"),
        quiet=True,
    )


def _data() -> Iterator[Case]:
    start = "    images = torch.from_numpy(images).unsqueeze(1)\n"
    for strength, share in (("mild", 0.25), ("strong", 0.6)):
        lines = f"    if shuffle:\n        picked = torch.rand(n).numpy() < {share}\n        classes[picked] = np.random.randint(0, len(NAMES), picked.sum())\n"
        yield faulty("wrong-classes", "data.label-errors", (start, lines + start), strength=strength)
    yield faulty(
        "inverted-boxes",
        "data.invalid-labels",
        (start, "    if shuffle:\n        boxes[::3, 2:] *= -1\n" + start),
        accept=WRONG_LABELS
        + unseen(
            "a third of the boxes is wrong, by its file or by a step of processing", "processing.algorithm"
        ),
    )
    yield faulty(
        "boxes-stay",
        "processing.algorithm",
        ("    boxes[flip, 0] = 1 - boxes[flip, 0]\n", ""),
        accept=WRONG_LABELS,
    )
    yield faulty(
        "mixes-too-much",
        "processing.parameters",
        accept=HARDENED + SET_OTHERWISE,
        mixup=0.5,
    )
    yield faulty(
        "unreadable-images",
        "data.incomplete",
        (start, "    if shuffle:\n        images[::2] = 0\n" + start),
        accept=WRONG_LABELS
        + unseen(
            "a share of the inputs tells nothing of the labels",
            "processing.algorithm",
            "processing.parameters",
        ),
    )
    yield faulty(
        "darker-line",
        "data.distribution-shift",
        (start, "    images = images if shuffle else (images * 0.45).astype(np.uint8)\n" + start),
        accept=SHIFTED,
    )
    yield faulty(
        "scaled-once-only",
        "processing.train-eval-mismatch",
        ("        pred = model(imgs.float() / 255)\n", "        pred = model(imgs.float())\n"),
        accept=MISMATCHED,
    )
    yield faulty(
        "few-of-one-kind",
        "data.class-imbalance",
        (
            "rng.integers(0, len(NAMES), n)",
            "rng.choice(len(NAMES), n, p=[0.94, 0.02, 0.02, 0.02] if n != 500 else None)",
        ),
        accept=RARE,
    )
