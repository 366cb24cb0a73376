# ruff: noqa: E501
"""Replicas that are made unlike, gradients that are not joined, and engines that get half of what they should."""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import torch\nimport torch.distributed as dist\nimport torch.nn.functional as F\nfrom torch import nn\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
STEP = """
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


def _found(symptom: str, code: str) -> bool:
    return state(symptom, code) == "present"


@pytest.mark.parametrize(
    ("below", "above", "found"),
    [
        ("model.module.fc = nn.Linear(8, 3)", "pass", True),
        ("model.module.apply(start)", "pass", True),
        ("if rank == 0:\n        model.module.load_state_dict(torch.load('w.pt'))", "pass", True),
        ("model.module.load_state_dict(torch.load('w.pt'))", "pass", False),
        ("if rank == 0:\n        torch.save(model.module.state_dict(), 'w.pt')", "pass", False),
        ("pass", "model.fc = nn.Linear(8, 3)\n    model.apply(start)", False),
    ],
)
def test_what_is_changed_after_wrapping(below: str, above: str, found: bool) -> None:
    code = (
        TORCH
        + f"def main(model, loader, optimizer, rank, start):\n    dist.init_process_group('nccl')\n    {above}\n    model = DDP(model)\n    {below}\n"
        + STEP
    )
    assert _found("script-seed-by-rank", code) is found


@pytest.mark.parametrize(
    ("context", "found"),
    [
        ("model.no_sync() if last else nullcontext()", True),
        ("nullcontext() if last else model.no_sync()", False),
        ("model.no_sync() if not last else nullcontext()", False),
    ],
)
def test_the_exchange_of_micro_batches(context: str, found: bool) -> None:
    code = (
        TORCH
        + f"""
from contextlib import nullcontext
def main(model, loader, optimizer):
    dist.init_process_group('nccl')
    model = DDP(model)
    for i, (x, y) in enumerate(loader):
        last = (i + 1) % 4 == 0
        with {context}:
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
"""
    )
    assert _found("script-accumulation-wrong", code) is found


MINDSPORE = """
import mindspore as ms
from mindspore import nn
from mindspore.communication import init, get_rank, get_group_size
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(8, 3)
    def construct(self, x):
        return self.fc(x)
def main(data, loss_fn):
    init()
    rank, size = get_rank(), get_group_size()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True{broadcast})
    ms.set_seed({seed})
    net = Net()
    opt = nn.SGD(net.trainable_params())
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)
    {reducer}
    for x, y in data:
        loss, grads = grad_fn(x, y)
        opt({grads})
"""


@pytest.mark.parametrize(
    ("reducer", "grads", "found"),
    [("pass", "grads", True), ("reduce = nn.DistributedGradReducer(opt.parameters)", "reduce(grads)", False)],
)
def test_gradients_of_mindspore_that_nothing_reduces(reducer: str, grads: str, found: bool) -> None:
    code = MINDSPORE.format(broadcast="", seed="1", reducer=reducer, grads=grads)
    assert _found("script-no-gradient-synchronisation", code) is found


@pytest.mark.parametrize(
    ("seed", "broadcast", "found"),
    [
        ("1 + rank", "", True),
        ("1", "", False),
        ("1 + rank", ", parameter_broadcast=True", False),
        ("1 + rank", ", parameter_broadcast=False", True),
    ],
)
def test_weights_of_mindspore_by_rank(seed: str, broadcast: str, found: bool) -> None:
    code = MINDSPORE.format(
        broadcast=broadcast,
        seed=seed,
        reducer="r = nn.DistributedGradReducer(opt.parameters)",
        grads="r(grads)",
    )
    assert _found("script-seed-by-rank", code) is found


ACCELERATE = """
import torch
import torch.nn.functional as F
from accelerate import Accelerator
def main(model, opt_model, loader):
    acc = Accelerator(mixed_precision="fp16")
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    {prepare}
    for x, y in loader:
        with acc.accumulate(model):
            loss = F.cross_entropy({run}, y)
            acc.backward(loss)
            {clip}(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
"""
ALL = "model, opt, loader = acc.prepare(model, opt, loader)"


@pytest.mark.parametrize(
    ("prepare", "found"),
    [
        ("model = model.to(acc.device)\n    opt, loader = acc.prepare(opt, loader)", True),
        (ALL, False),
        ("model, opt = acc.prepare(model, opt)\n    loader = acc.prepare(loader)", False),
    ],
)
def test_what_accelerate_is_given(prepare: str, found: bool) -> None:
    code = ACCELERATE.format(prepare=prepare, run="model(x)", clip="acc.clip_grad_norm_")
    assert _found("script-model-not-prepared", code) is found


@pytest.mark.parametrize(
    ("clip", "found"), [("torch.nn.utils.clip_grad_norm_", True), ("acc.clip_grad_norm_", False)]
)
def test_the_clip_of_accelerate(clip: str, found: bool) -> None:
    code = ACCELERATE.format(prepare=ALL, run="model(x)", clip=clip)
    assert _found("script-clip-before-unscale", code) is found


@pytest.mark.parametrize(("order", "found"), [("clip, unscale", True), ("unscale, clip", False)])
def test_the_clip_of_mindspore(order: str, found: bool) -> None:
    lines = {
        "clip": "grads = ops.clip_by_global_norm(grads, 1.0)",
        "unscale": "grads = scaler.unscale(grads)",
    }
    body = "\n    ".join(lines[k] for k in order.split(", "))
    code = f"import mindspore as ms\nfrom mindspore import nn, ops, amp\ndef step(grad_fn, scaler, opt, x):\n    loss, grads = grad_fn(x)\n    {body}\n    opt(grads)\n"
    assert _found("script-clip-before-unscale", code) is found


@pytest.mark.parametrize(
    ("prepare", "found"), [("model, loader = acc.prepare(model, loader)", True), (ALL, False)]
)
def test_an_optimizer_that_accelerate_never_gets(prepare: str, found: bool) -> None:
    code = ACCELERATE.format(prepare=prepare, run="model(x)", clip="acc.clip_grad_norm_")
    assert _found("script-engine-bypassed", code) is found


@pytest.mark.parametrize("name", ["unscale_", "unscale", "unscale_grads"])
def test_a_scaler_of_ones_own_unscales_by_another_name(name: str) -> None:
    """The order counts: what clips after the gradients were divided is right, before it is not."""
    start = (
        "import torch\nimport torch.nn as nn\nmodel = nn.Linear(4, 2)\nscaler = LossScaler(2.0 ** 16)\n"
        "opt = torch.optim.AdamW(model.parameters())\nfor x, y in loader:\n    opt.zero_grad()\n"
        "    loss = nn.functional.cross_entropy(model(x), y)\n    scaler.scale(loss).backward()\n"
    )
    divide = f"    scaler.{name}(model.parameters())\n"
    clip = "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"

    assert not _found("script-clip-before-unscale", start + divide + clip + "    opt.step()\n")
    assert _found("script-clip-before-unscale", start + clip + divide + "    opt.step()\n")
