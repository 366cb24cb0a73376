"""deepspeed pretrain.py --shards shards --deepspeed_config ds_config.json"""

import argparse
import json
import math
import random

import deepspeed
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import DataLoader

from gpt import GPT, GPTConfig
from shards import IGNORE, Documents, hold_out, list_shards


def arguments():
    parser = argparse.ArgumentParser(description="Pretrain a small language model on manuals.")
    parser.add_argument("--shards", default="shards")
    parser.add_argument("--out", default="checkpoints")
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--eval-every", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--local_rank", type=int, default=0)
    parser = deepspeed.add_config_arguments(parser)
    return parser.parse_args()


def batches(dataset, loader, first):
    epoch = first
    while True:
        dataset.set_epoch(epoch)
        for batch in loader:
            yield epoch, batch
        epoch += 1


def lm_loss(logits, labels):
    return F.cross_entropy(logits.view(-1, logits.size(-1)).float(), labels.view(-1), ignore_index=IGNORE)


@torch.no_grad()
def validation_loss(engine, loader):
    engine.eval()
    total = torch.zeros(2, dtype=torch.float64, device=engine.device)
    for ids, labels in loader:
        ids, labels = ids.to(engine.device), labels.to(engine.device)
        logits = engine(ids)
        count = (labels != IGNORE).sum()
        total[0] += lm_loss(logits, labels).double() * count
        total[1] += count
    dist.all_reduce(total)
    engine.train()
    return (total[0] / total[1].clamp(min=1)).item()


def main():
    args = arguments()
    deepspeed.init_distributed()
    rank, world = dist.get_rank(), dist.get_world_size()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    with open(args.deepspeed_config) as handle:
        micro = json.load(handle)["train_micro_batch_size_per_gpu"]
    config = GPTConfig()
    train_files, valid_files = hold_out(list_shards(args.shards))
    train_set = Documents(train_files, config.context, rank, world, seed=args.seed)
    valid_set = Documents(valid_files, config.context, rank, world, shuffle=False)
    train_loader = DataLoader(train_set, batch_size=micro, num_workers=args.workers, drop_last=True)
    valid_loader = DataLoader(valid_set, batch_size=micro)

    model = GPT(config)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())

    epoch, best = 0, math.inf
    if args.resume:
        _, state = engine.load_checkpoint(args.out, tag="latest_state")
        epoch, best = state["epoch"], state["best"]

    engine.train()
    stream = batches(train_set, train_loader, epoch)
    while engine.global_steps < args.steps:
        epoch, (ids, labels) = next(stream)
        ids, labels = ids.to(engine.device), labels.to(engine.device)
        loss = lm_loss(engine(ids), labels)
        engine.backward(loss)
        boundary = engine.is_gradient_accumulation_boundary()
        engine.step()
        if not boundary:
            continue
        if engine.global_steps % 50 == 0 and rank == 0:
            print(f"step {engine.global_steps} loss {loss.item():.4f} lr {engine.get_lr()[0]:.3e}", flush=True)
        if engine.global_steps % args.eval_every == 0:
            value = validation_loss(engine, valid_loader)
            if rank == 0:
                print(f"step {engine.global_steps} valid {value:.4f} ppl {math.exp(min(value, 20)):.2f}", flush=True)
            if value < best:
                best = value
                engine.save_checkpoint(args.out, tag="best", client_state={"epoch": epoch, "best": best})
            engine.save_checkpoint(args.out, tag="latest_state", client_state={"epoch": epoch, "best": best})

    engine.load_checkpoint(args.out, tag="best", load_module_only=True)
    value = validation_loss(engine, valid_loader)
    if rank == 0:
        print(f"final valid {value:.4f}", flush=True)


if __name__ == "__main__":
    main()
