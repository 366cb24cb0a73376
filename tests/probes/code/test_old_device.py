"""Ports to NPUs: what still names CUDA, and apex's order."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.calls import old_device
from traindoctor.probes.code.precision.scaled import default_fp16_unscaled
from traindoctor.probes.code.scaling.left_over import fitted_left
from traindoctor.probes.scripts.syntax import Script

PORT = """
import torch
import torch_npu
import torch.distributed as dist
from torch_npu.npu import amp

device = torch.device("npu", rank)
torch_npu.npu.set_device(device)
dist.init_process_group(backend="hccl")
model = Net().to(device)
scaler = amp.GradScaler()
for x, y in loader:
    x, y = x.to(device), y.to(device)
    with amp.autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
APEX = """
import torch
import torch_npu
from apex import amp
from torch.nn.parallel import DistributedDataParallel as DDP

model = Net().npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
model = DDP(model, device_ids=[rank])
for x, y in loader:
    loss = criterion(model(x.npu()), y.npu())
    optimizer.zero_grad()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
"""


def script(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


def state(check: object, text: str, *edits: tuple[str, str]) -> State | None:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    found = check(script(text))  # type: ignore[operator]
    return found.state if found is not None else None


@pytest.mark.parametrize(
    "edit",
    [
        ('torch.device("npu", rank)', 'torch.device("cuda", rank)'),
        ('torch.device("npu", rank)', 'torch.device(f"npu:{rank}")\nother = torch.device("cuda:0")'),
        ("x, y = x.to(device), y.to(device)", "x, y = x.cuda(non_blocking=True), y.to(device)"),
        ("Net().to(device)", 'Net().to("cuda")'),
        ('backend="hccl"', '"nccl"'),
        ("from torch_npu.npu import amp", "from torch.cuda import amp"),
        ("amp.autocast()", 'torch.autocast("cuda")'),
        ("amp.autocast()", "torch.cuda.amp.autocast()"),
        ("torch_npu.npu.set_device(device)", "torch.cuda.set_device(rank)"),
    ],
)
def test_what_is_left_of_cuda(edit: tuple[str, str]) -> None:
    assert state(old_device._left, PORT) is State.ABSENT
    assert state(old_device._left, PORT, edit) is State.PRESENT


@pytest.mark.parametrize(
    "edit",
    [
        ("import torch_npu\n", "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"),
        ("import torch_npu\n", "try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None\n"),
        ("import torch_npu\n", "import mindspeed.megatron_adaptor\nimport torch_npu\n"),
    ],
)
def test_names_of_cuda_that_something_translates(edit: tuple[str, str]) -> None:
    left = ('torch.device("npu", rank)', 'torch.device("cuda", rank)')

    assert state(old_device._left, PORT, left, edit) is None


@pytest.mark.parametrize(
    "edit",
    [
        ('torch.device("npu", rank)', 'torch.device("npu" if torch.npu.is_available() else "cuda")'),
        ("import torch.distributed", "torch.cuda.manual_seed_all(1)\nimport torch.distributed"),
        ('torch.device("npu", rank)', 'device_of()\nif args.device == "cuda":\n    model.cuda()'),
    ],
)
def test_a_device_that_is_chosen_and_seeds_are_no_rest(edit: tuple[str, str]) -> None:
    assert state(old_device._left, PORT, edit) is State.ABSENT


def test_no_port() -> None:
    text = "import torch\nmodel = Net().cuda()\n"

    assert state(old_device._left, text) is None


def test_apex_takes_the_model_before_it_is_wrapped() -> None:
    wrap = "model = DDP(model, device_ids=[rank])\n"
    first = "optimizer = torch.optim.SGD(model"

    assert state(old_device.wrapped_before_initialized, APEX) is State.ABSENT
    early = ((wrap, ""), (first, wrap + first))
    assert state(old_device.wrapped_before_initialized, APEX, *early) is State.PRESENT


def test_an_optimizer_that_apex_does_not_know() -> None:
    wrap = "model = DDP(model, device_ids=[rank])\n"
    again = wrap + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"

    assert state(old_device.optimizer_unknown_to_apex, APEX) is None
    assert state(old_device.optimizer_unknown_to_apex, APEX, (wrap, again)) is State.PRESENT


def test_half_of_npus_without_any_scaler() -> None:
    plain = (
        ("scaler = amp.GradScaler()\n", ""),
        (
            "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()\n",
            "    loss.backward()\n    optimizer.step()\n",
        ),
    )

    assert state(default_fp16_unscaled, PORT) is None
    assert state(default_fp16_unscaled, PORT, *plain) is State.PRESENT
    assert (
        state(default_fp16_unscaled, PORT, *plain, ("autocast()", "autocast(dtype=torch.bfloat16)")) is None
    )
    assert state(default_fp16_unscaled, PORT, *plain, ("autocast()", "autocast(enabled=args.amp)")) is None


def test_a_gradient_scaler_handed_over_as_none_scales_no_inputs() -> None:
    text = """
    def train_epoch(model, loader, optimizer, scaler):
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()

    train_epoch(model, loader, optimizer, None)
    """

    assert state(fitted_left, text) is None
