# ruff: noqa: E501 -- the edits are texts
"""Several processes: gradients, weights and shards."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, literally

from .common import faulty


def parallel() -> Iterator[Case]:
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
        accept=literally(
            "no gradient is synchronised: each process trains alone", "porting.distributed-not-enabled"
        ),
    )
    yield from faulty(
        "ddp",
        "a",
        "not-wrapped",
        "porting.distributed-not-enabled",
        ("model = DistributedDataParallel(build())", "model = build()"),
        ("output = model.module(val_x)", "output = model(val_x)"),
        check="any",
        accept=literally("replicas that train alone drift apart", apart),
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
        accept=literally("the replicas are not equal, from the start on", apart),
    )
    yield from faulty(
        "ddp",
        "b",
        "same-shard",
        "porting.sharding-differs",
        ("num_replicas=world_size, rank=rank", "num_replicas=world_size, rank=0"),
        check="any",
    )
