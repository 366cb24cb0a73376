# ruff: noqa: E501 -- the edits are texts
"""A sequence tagger on two workers that average their gradients by hand; torchrun, one output for both."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Archetype, Case, literally, unseen

from .also import KEPT, SLOW, TOO_FEW
from .project import Project

PROJECT = Project(
    Archetype(
        "shards",
        {
            "seed": 17,
            "lr": 0.01,
            "batch": 32,
            "steps": 300,
            "warmup": 20,
            "hidden": 32,
            "sentences": 3000,
            "clip": 1.0,
            "log_every": 10,
            "eval_every": 30,
        },
        {"a": ("workers", "project")},
        "holdout",
        ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "main.py"),
    )
)
healthy, faulty, TWIN = PROJECT.healthy, PROJECT.faulty, PROJECT.twin
_AVERAGE = "        worker.average([p.grad for p in model.parameters()])\n"


def cases() -> Iterator[Case]:
    yield TWIN
    yield healthy("seed", 321, benchmark=TWIN.name)
    yield healthy("small-batches", 322, batch=6, lr=0.004, steps=500, log_every=20, eval_every=50)
    yield healthy("short", 323, steps=150, eval_every=15)
    yield healthy("other-interval", 324, benchmark=TWIN.name, log_every=20, eval_every=60)
    apart = "state.replica-desync"
    alone = "porting.distributed-not-enabled"
    yield faulty(
        "never-averages",
        alone,
        (_AVERAGE, ""),
        check="any",
        accept=literally("the replicas drift apart, their gradients never meet", "state.replica-desync"),
        sentences=240,
    )
    yield faulty(
        "chief-alone-updates",
        apart,
        ("        optimizer.step()\n", "        if worker.chief:\n            optimizer.step()\n"),
        check="any",
        accept=literally("the weights of the other worker stand still", "graph.weight-frozen"),
    )
    yield faulty(
        "averages-after-the-step",
        apart,
        (_AVERAGE, ""),
        ("        optimizer.step()\n", "        optimizer.step()\n" + _AVERAGE),
        check="any",
        accept=literally("each worker steps with its own gradient", "porting.distributed-not-enabled"),
        sentences=240,
    )
    yield faulty(
        "no-broadcast",
        "init.differs-across-nodes",
        ("    worker.broadcast(model)\n", ""),
        check="any",
        accept=literally("replicas that should be equal are not", "state.replica-desync"),
    )
    yield faulty(
        "same-half",
        "porting.sharding-differs",
        ("t[worker.rank :: worker.world]", "t[: len(t) // 8]"),
        check="any",
        accept=unseen(
            "both workers do the same work, as if each trained alone", "porting.distributed-not-enabled"
        )
        + literally("both learn from a fraction of the samples", "data.insufficient-samples"),
    )
    for strength, lr in (("medium", 6.0), ("strong", 40.0)):
        yield faulty("lr-large", "hyperparameter.learning-rate-too-large", strength=strength, lr=lr)
    for strength, lr in (("mild", 0.0003), ("medium", 0.00003)):
        yield faulty(
            "lr-small",
            "hyperparameter.learning-rate-too-small",
            strength=strength,
            accept=SLOW if strength == "mild" else (),
            lr=lr,
        )
    yield faulty(
        "padding-counts",
        "processing.label-masking",
        ("np.where(outside, -100, tags)", "np.where(outside, 0, tags)"),
        check="any",
        quiet=True,
    )
    yield faulty(
        "keeps-gradients",
        "state.gradients-not-cleared",
        ("        optimizer.zero_grad()\n", ""),
        check="any",
        accept=KEPT,
    )
    yield faulty(
        "only-tags",
        "graph.weight-frozen",
        ("torch.optim.Adam(model.parameters()", "torch.optim.Adam(model.tags.parameters()"),
    )
    start = "    ends = rng.randint(6"
    yield faulty(
        "careless-annotators",
        "data.label-errors",
        (
            start,
            "    picked = rng.rand(n, LENGTH) < (0.35 if n == opt.sentences else 0)\n    tags = np.where(picked, rng.randint(0, TAGS, tags.shape), tags)\n"
            + start,
        ),
        strength="medium",
    )
    yield faulty(
        "few-sentences",
        "data.insufficient-samples",
        check="gap",
        accept=TOO_FEW,
        sentences=90,
        hidden=64,
        steps=500,
    )
