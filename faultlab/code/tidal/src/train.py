# torchrun --nproc_per_node=4 train.py gauges/ out/
import math
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from data import Scaler, Windows, cut_in_time, load_gauges
from model import TideNet

EPOCHS, BATCH, LR, WARM = 30, 64, 2e-3, 200
SEED = 20


def setup():
    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo")
    local = int(os.environ["LOCAL_RANK"])
    if gpu:
        torch.cuda.set_device(local)
    torch.manual_seed(SEED + dist.get_rank())
    return torch.device("cuda", local) if gpu else torch.device("cpu")


def rate(step, total):
    if step < WARM:
        return LR * (step + 1) / WARM
    done = (step - WARM) / max(1, total - WARM)
    return LR * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def validate(net, loader, scaler, device):
    net.eval()
    sums = torch.zeros(3, device=device)
    with torch.no_grad():
        for past, future, target in loader:
            past, future, target = past.to(device), future.to(device), target.to(device)
            guess = net(past, future)
            err = (guess - target) * float(scaler.std[0])
            sums += torch.stack([err.abs().sum(), err.square().sum(), torch.tensor(float(err.numel()), device=device)])
    dist.all_reduce(sums)
    net.train()
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).sqrt().item()


def main(folder, out):
    device = setup()
    early, late = cut_in_time(load_gauges(folder))
    scaler = Scaler(early)
    train_set, val_set = Windows(early, scaler), Windows(late, scaler, stride=24)
    sampler = DistributedSampler(train_set, shuffle=True, seed=SEED)
    train_loader = DataLoader(train_set, BATCH, sampler=sampler, num_workers=2, drop_last=True)
    val_loader = DataLoader(val_set, BATCH, sampler=DistributedSampler(val_set, shuffle=False), num_workers=2)

    net = DistributedDataParallel(TideNet().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    opt = torch.optim.AdamW(net.parameters(), lr=LR, weight_decay=1e-3)
    total = EPOCHS * len(train_loader)
    step, best, best_file = 0, float("inf"), os.path.join(out, "tide_best.pt")
    os.makedirs(out, exist_ok=True)

    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        start, summed = time.time(), 0.0
        for past, future, target in train_loader:
            for group in opt.param_groups:
                group["lr"] = rate(step, total)
            guess = net(past.to(device), future.to(device))
            loss = F.smooth_l1_loss(guess, target.to(device), beta=0.5)
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            summed += loss.item()
            step += 1
        mae, rmse = validate(net, val_loader, scaler, device)
        if dist.get_rank() == 0:
            print(f"{epoch:3d} loss {summed / len(train_loader):.4f} mae {mae:.4f} m rmse {rmse:.4f} m "
                  f"lr {rate(step, total):.2e} {time.time() - start:.0f}s", flush=True)
            if mae < best:
                torch.save(net.module.state_dict(), best_file)
        best = min(best, mae)

    dist.barrier()
    net.module.load_state_dict(torch.load(best_file, map_location=device))
    mae, rmse = validate(net, val_loader, scaler, device)
    if dist.get_rank() == 0:
        print(f"best: mae {mae:.4f} m rmse {rmse:.4f} m")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
