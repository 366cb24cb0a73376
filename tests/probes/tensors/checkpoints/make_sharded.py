"""Makes the sharded checkpoints beside this file: short real trainings, saved as the tools lay them out.

    python make_sharded.py    # needs torch 2.13.0; the tests do not

fsdp: fully_shard over two gloo ranks, torch.distributed.checkpoint at steps 0 and 6.
deepspeed: ZeRO stage 1, tags global_step0 and global_step6, `fc1` left out of the optimizer by mistake.
zero3: ZeRO stage 3, weights as flat fp32 groups of two ranks; in global_step6 the second holds a NaN.
megatron: two tensor-parallel times two pipeline ranks; at iteration 6 the norm of one rank went its own way.
DeepSpeed and Megatron are not installed: names and nesting are theirs, what writes is torch.save.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

HERE = Path(__file__).parent


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(torch.relu(self.norm(self.fc1(x))))


def steps(net: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for _ in range(count):
        x = torch.randn(8, 6)
        loss = (net(x) - x[:, :4]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def fsdp(rank: int, world: int) -> None:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    os.environ |= {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29617",
        "RANK": str(rank),
        "WORLD_SIZE": str(world),
    }
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    net = Net()
    fully_shard(net, mesh=init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
    for at in (0, 6):
        steps(net, optimizer, at)
        weights, state = get_state_dict(net, optimizer)
        whole = {"model": weights, "step": at} | ({"optim": state} if at else {})
        dcp.save(whole, checkpoint_id=str(HERE / "fsdp" / f"step_{at}"))
    dist.destroy_process_group()


def save(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(content, path)


def deepspeed() -> None:
    torch.manual_seed(0)
    net = Net()
    trained = [p for n, p in net.named_parameters() if not n.startswith("fc1")]
    optimizer = torch.optim.AdamW(trained, lr=1e-2)
    for at in (0, 6):
        steps(net, optimizer, at)
        tag = HERE / "deepspeed" / f"global_step{at}"
        save(
            tag / "mp_rank_00_model_states.pt",
            {"module": net.state_dict(), "global_steps": at, "mp_world_size": 1},
        )
        state = {"optimizer_state_dict": {"zero_stage": 1, "state": optimizer.state_dict()}}
        save(tag / "zero_pp_rank_0_mp_rank_00_optim_states.pt", state)


def zero3() -> None:
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for at in (0, 6):
        steps(net, optimizer, at)
        tag = HERE / "zero3" / f"global_step{at}"
        flat = torch.cat([p.detach().flatten() for p in net.parameters()])
        halves = list(flat.clone().chunk(2))
        if at:
            halves[1] = halves[1].clone()
            halves[1][3] = float("nan")
        for rank, half in enumerate(halves):
            label = f"zero_pp_rank_{rank}_mp_rank_00"
            empty = {n: torch.empty(0) for n, _ in net.named_parameters()}
            shapes = [{n: p.shape for n, p in net.named_parameters()}]
            save(
                tag / f"{label}_model_states.pt",
                {"module": empty, "param_shapes": shapes, "global_steps": at},
            )
            groups = {"zero_stage": 3, "partition_count": 2, "fp32_flat_groups": [half.clone()]}
            save(tag / f"{label}_optim_states.pt", {"optimizer_state_dict": groups})


def megatron() -> None:
    torch.manual_seed(0)
    stages = [Net(), Net()]
    for at in (0, 6):
        for pp, net in enumerate(stages):
            steps(net, torch.optim.SGD(net.parameters(), lr=1e-2), at)
            for tp in (0, 1):
                rows = {
                    n: p.detach().chunk(2)[tp].clone() if n.startswith("fc") else p.detach().clone()
                    for n, p in net.named_parameters()
                }
                if at and tp and not pp:
                    rows["norm.weight"] += 1e-3  # as without the all-reduce that sequence parallelism needs
                content = {"model": {"language_model": rows}, "iteration": at, "optimizer": {"step": at}}
                save(
                    HERE / "megatron" / f"iter_{at:07d}" / f"mp_rank_{tp:02d}_{pp:03d}/model_optim_rng.pt",
                    content,
                )


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:] != ["single"]:
        mp.spawn(fsdp, args=(2,), nprocs=2)
    deepspeed()
    zero3()
    megatron()
