"""Training that goes past the wrapper of its model, in four libraries."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.ranks import wrapped
from traindoctor.probes.code.trainers import deepspeed as code_deepspeed
from traindoctor.probes.scripts.syntax import Script

DDP = """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 2)
    def forward(self, x):
        return self.fc(x)

def fit(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

def main(loader, val):
    net = Net()
    ddp_net = DDP(net)
    optimizer = torch.optim.SGD(ddp_net.parameters(), 0.1)
    fit(ddp_net, loader, optimizer)
    with torch.no_grad():
        for x, y in val:
            print(net(x).argmax(1))
    torch.save(ddp_net.module.state_dict(), "net.pt")
"""
ACCELERATE = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
accelerator = Accelerator()
model = build_model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
train_loader = DataLoader(rows, batch_size=8, shuffle=True)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)
for batch in train_loader:
    out = model(**batch)
    accelerator.backward(out.loss)
    optimizer.step()
    optimizer.zero_grad()
accelerator.unwrap_model(model).save_pretrained("out")
"""
DEEPSPEED = """
import deepspeed, torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
deepspeed.init_distributed()
rank = dist.get_rank()
net = build_network()
engine, optimizer, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=cfg)
sampler = DistributedSampler(rows)
loader = DataLoader(rows, batch_size=8, sampler=sampler)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()
"""
FSDP = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
model = FSDP(build())
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = torch.nn.functional.l1_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
RIGHT = (DDP, ACCELERATE, DEEPSPEED, FSDP)


def script(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


def edited(text: str, old: str, new: str) -> Script:
    assert text.count(old) == 1, old
    return script(text.replace(old, new))


@pytest.mark.parametrize(
    ("text", "old", "new", "line"),
    [
        (DDP, "fit(ddp_net, loader", "fit(net, loader", "model(x)"),
        (DDP, "fit(ddp_net, loader", "fit(ddp_net.module, loader", "model(x)"),
        (ACCELERATE, "model(**batch)", "model.module(**batch)", "model.module"),
        (ACCELERATE, "model(**batch)", "accelerator.unwrap_model(model)(**batch)", "unwrap_model(model)("),
        (
            ACCELERATE,
            "model, optimizer, train_loader = acc",
            "prepared, optimizer, train_loader = acc",
            "out = ",
        ),
        (DEEPSPEED, "engine(x)", "net(x)", "net(x)"),
        (DEEPSPEED, "engine(x)", "engine.module(x)", "engine.module(x)"),
        (FSDP, "model(x)", "model.module(x)", "model.module(x)"),
    ],
)
def test_the_module_within_is_trained(text: str, old: str, new: str, line: str) -> None:
    source = edited(text, old, new)
    found = wrapped.past_the_wrapper(source)
    assert found is not None
    assert found.state is State.PRESENT
    assert line in source.lines[(found.where[0].line or 0) - 1]


@pytest.mark.parametrize("text", RIGHT)
def test_the_wrapper_is_trained(text: str) -> None:
    source = script(text)
    assert wrapped.past_the_wrapper(source) is None
    assert wrapped.past_the_engine(source) is None
    assert wrapped.loader_not_shared(source) is None
    assert code_deepspeed.every_rank_reads_all(source) is None


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (
            DDP,
            "        loss.backward()\n",
            "        loss.backward()\n        dist.all_reduce(model.weight.grad)\n",
        ),
        (FSDP, "model(x)", "model(model.module.embed(x))"),
        (DEEPSPEED, "engine(x)", "engine(x) + prior(x)"),
    ],
)
def test_what_joins_gradients_otherwise_is_left_alone(text: str, old: str, new: str) -> None:
    assert wrapped.past_the_wrapper(edited(text, old, new)) is None


def test_an_engine_that_nothing_runs() -> None:
    text = DEEPSPEED.replace("engine.backward(loss)", "loss.backward()").replace(
        "engine.step()", "optimizer.step()"
    )
    found = wrapped.past_the_engine(script(text))
    assert found is not None and found.state is State.PRESENT


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)",
            "model, optimizer = accelerator.prepare(model, optimizer)",
            True,
        ),
        ("batch_size=8, shuffle=True)", "batch_size=8, sampler=by_rank)", False),
        (
            "model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)",
            "model, optimizer = accelerator.prepare(model, optimizer)\ntrain_loader = "
            + "accelerator.prepare(train_loader)",
            False,
        ),
    ],
)
def test_a_loader_that_was_not_prepared(old: str, new: str, said: bool) -> None:
    text = ACCELERATE.replace(old, new)
    assert text != ACCELERATE
    assert (wrapped.loader_not_shared(script(text)) is not None) is said


@pytest.mark.parametrize(
    ("given", "said"), [("shuffle=True", True), ("sampler=sampler", False), ("batch_sampler=mine", False)]
)
def test_a_sampler_that_no_loader_gets(given: str, said: bool) -> None:
    source = script(DEEPSPEED.replace("sampler=sampler", given))
    assert (code_deepspeed.every_rank_reads_all(source) is not None) is said
