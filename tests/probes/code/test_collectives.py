# ruff: noqa: E501
"""What all processes must do together, what one does alone, gradients that no process exchanges."""

from __future__ import annotations

import pytest

from .._scripts import state
from ._several import ACCELERATE, DDP, edited, says

Pairs = list[tuple[str, str]]
SAVED = "            if rank == 0:\n                torch.save("
EVERY: list[tuple[str, Pairs]] = [
    ("absent", []),
    ("present", [(SAVED, "            if True:\n                torch.save(")]),
    ("present", [(SAVED, "            if epoch > 3:\n                torch.save(")]),
    ("absent", [(SAVED, "            if dist.get_rank() == 0:\n                torch.save(")]),
    ("absent", [(SAVED, "            if is_main:\n                torch.save(")]),
    ("absent", [(SAVED, "            if True:\n                torch.save("), ('"best.pt"', 'f"best{rank}.pt"')]),
    (
        "absent",
        [
            ("            if rank == 0:\n                torch.save(model.module.state_dict(), \"best.pt\")",
             "            keep(model, rank)"),
            ("def main(args):", "def keep(model, rank):\n    if rank != 0:\n        return\n"
             "    torch.save(model.module.state_dict(), 'best.pt')\n\ndef main(args):"),
        ],
    ),
    (
        "absent",
        [
            ("model.module.state_dict(), \"best.pt\"", "state, 'other.pt'"),
            ("def main(args):", "class Codec(torch.nn.Module):\n    def save(self, path):\n"
             "        torch.save(self.state_dict(), path)\n\ndef main(args):"),
        ],
    ),
    ("unknown", [("torch.save(model.module.state_dict(), \"best.pt\")", "pass")]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "pairs"), EVERY)
def test_one_process_writes_a_file(wanted: str, pairs: Pairs) -> None:
    assert says("script-every-rank-saves", DDP, *pairs) == wanted


def test_one_process_that_is_alone_writes_as_it_likes() -> None:
    text = edited(DDP, (SAVED, "            if True:\n                torch.save("))
    alone = text.replace('dist.init_process_group("nccl")', "pass").replace(
        "DDP(net, device_ids=[rank])", "net"
    )

    assert state("script-every-rank-saves", alone) == "unknown"


ENGINE = """
import deepspeed, torch
import torch.distributed as dist
from net import Net, rows
def main(args):
    engine, _, loader, _ = deepspeed.initialize(args=args, model=Net(), training_data=rows())
    rank = dist.get_rank()
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = engine(x, y)
            engine.backward(loss)
            engine.step()
        {SAVE}
main(read())
"""
ENGINES = [
    ("absent", "engine.save_checkpoint(args.out, tag=epoch)"),
    ("present", "if rank == 0: engine.save_checkpoint(args.out, tag=epoch)"),
    ("present", "if not dist.get_rank(): engine.save_checkpoint(args.out)"),
    ("present", "if epoch > 2 and args.local_rank == 0: engine.save_checkpoint(args.out)"),
    ("absent", "if epoch > 2: engine.save_checkpoint(args.out)"),
    ("absent", "if rank == 0 or args.shared: engine.save_checkpoint(args.out)"),
    ("absent", "if rank == 0: print(epoch)\n        engine.save_checkpoint(args.out)"),
    ("unknown", "if rank == 0: torch.save(engine.module.state_dict(), args.out)"),
]


@pytest.mark.parametrize(("wanted", "save"), ENGINES)
def test_all_processes_save_the_state_of_an_engine(wanted: str, save: str) -> None:
    assert state("script-one-rank-alone", ENGINE.replace("{SAVE}", save)) == wanted


SHARDS = """
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType, FullStateDictConfig
from net import Net, rows
def main(args):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = FSDP(Net(), {HOW})
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in rows(rank):
        model(x, y).backward()
        {CLIP}
        optimizer.step()
        optimizer.zero_grad()
    {SAVE}
main(read())
"""
KIND = (
    "with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):"
)
FULL = [
    (
        "absent",
        f"{KIND}\n        state = model.state_dict()\n    if rank == 0:\n        torch.save(state, 'a.pt')",
    ),
    ("present", f"if rank == 0:\n        {KIND}\n            torch.save(model.state_dict(), 'a.pt')"),
    ("present", "if rank == 0:\n        torch.save(FSDP.optim_state_dict(model, optimizer), 'o.pt')"),
    ("unknown", "pass"),
]


@pytest.mark.parametrize(("wanted", "save"), FULL)
def test_all_processes_gather_the_shards(wanted: str, save: str) -> None:
    text = SHARDS.replace("{SAVE}", save).replace("{HOW}", "").replace("{CLIP}", "pass")
    assert state("script-one-rank-alone", text) == wanted


CLIPS = [
    ("present", "", "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    ("absent", "", "model.clip_grad_norm_(1.0)"),
    ("absent", "sharding_strategy=ShardingStrategy.NO_SHARD",
     "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    ("unknown", "", "pass"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "how", "clip"), CLIPS)
def test_the_norm_of_shards_is_taken_by_fsdp(wanted: str, how: str, clip: str) -> None:
    text = SHARDS.replace("{SAVE}", "pass").replace("{HOW}", how).replace("{CLIP}", clip)
    assert state("script-clip-without-effect", text) == wanted


APEX = """
import torch
from apex import amp
def main(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net, optimizer = amp.initialize(net, optimizer, opt_level="{LEVEL}")
    for x, y in loader:
        optimizer.zero_grad()
        loss = net(x, y)
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        torch.nn.utils.clip_grad_norm_({WHAT}, 1.0)
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("wanted", "level", "what"),
    [
        ("present", "O2", "net.parameters()"),
        ("absent", "O1", "net.parameters()"),
        ("absent", "O2", "amp.master_params(optimizer)"),
    ],
)
def test_apex_clips_what_its_optimizer_steps(wanted: str, level: str, what: str) -> None:
    assert (
        state("script-clip-without-effect", APEX.replace("{LEVEL}", level).replace("{WHAT}", what)) == wanted
    )


EXCHANGE = "script-accumulation-wrong"
QUIET = "            with model.no_sync():\n                "
STEP = "            loss.backward()\n"
MIXED = ACCELERATE.replace(
    "            else:\n                loss = loss_of(model(x), y)\n                accelerator.backward(loss / every)\n",
    "            else:\n                with accelerator.no_sync(model):\n"
    "                    accelerator.backward(loss_of(model(x), y) / every)\n",
)
NEVER: list[tuple[str, str]] = [
    ("present", edited(DDP, (STEP, QUIET + "loss.backward()\n"))),
    ("present", MIXED),
    ("not", DDP),
    ("not", ACCELERATE),
    ("not", edited(DDP, (STEP, QUIET + "loss.backward()\n            average_gradients(model)\n"))),
    (
        "not",
        edited(
            DDP,
            (
                STEP,
                "            with model.no_sync() if epoch else nullcontext():\n                loss.backward()\n",
            ),
        ),
    ),
    ("not", edited(DDP, (STEP, "            if epoch < 3:\n    " + QUIET + "    loss.backward()\n"))),
]


@pytest.mark.parametrize(("wanted", "text"), NEVER)
def test_some_gradients_are_exchanged(wanted: str, text: str) -> None:
    assert (state(EXCHANGE, text) == "present") is (wanted == "present")
