import argparse
import json
import os
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

from dataset import CellDataset
from losses import criterion, dice_score
from unet import UNet


def get_args():
    p = argparse.ArgumentParser("U-Net for cell segmentation")
    p.add_argument("--exp", default="unet_bce_dice")
    p.add_argument("--n-train", type=int, default=96)
    p.add_argument("--n-val", type=int, default=36)
    p.add_argument("--img-size", type=int, default=40)
    p.add_argument("--snr", type=float, default=12.0, help="photons per unit of signal")
    p.add_argument("--aug-noise", type=float, default=0.1)
    p.add_argument("--width", type=int, default=8)
    p.add_argument("--keep-prob", type=float, default=0.9)
    p.add_argument("--epochs", type=int, default=16)
    p.add_argument("--batch-size", type=int, default=6)
    p.add_argument("--accum", type=int, default=1)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--wd", type=float, default=1e-4)
    p.add_argument("--sched", choices=["poly", "step", "restarts"], default="poly")
    p.add_argument("--dice-weight", type=float, default=1.0)
    p.add_argument("--log-every", type=int, default=2)
    p.add_argument("--seed", type=int, default=300)
    return p.parse_args()


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def make_scheduler(args, optimizer, steps_per_epoch):
    total = args.epochs * steps_per_epoch
    if args.sched == "poly":
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda it: max(0.0, 1 - it / total) ** 0.9)
    if args.sched == "step":
        return torch.optim.lr_scheduler.MultiStepLR(optimizer, [total * 6 // 10, total * 8 // 10], gamma=0.1)
    return torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, total // 3)


@torch.no_grad()
def evaluate(model, loader, args):
    model.eval()
    losses, scores = [], []
    for img, target, valid in loader:
        logits = model(img)
        losses.append(criterion(logits, target, valid, args.dice_weight).item())
        scores.append(dice_score(logits, target, valid))
    return float(np.mean(losses)), torch.cat(scores).mean().item()


def train_one_epoch(model, loader, optimizer, scheduler, writer, it, args):
    model.train()
    running = []
    optimizer.zero_grad()
    for i, (img, target, valid) in enumerate(loader):
        loss = criterion(model(img), target, valid, args.dice_weight)
        (loss / args.accum).backward()
        if (i + 1) % args.accum == 0:
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
        running.append(loss.item())
        if it % args.log_every == 0:
            writer.add_scalar("train/loss", loss.item(), it)
            writer.add_scalar("train/lr", optimizer.param_groups[0]["lr"], it)
        it += 1
    return float(np.mean(running)), it


def main():
    args = get_args()
    set_seed(args.seed)
    out = os.path.join("runs", args.exp)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "args.json"), "w") as f:
        json.dump(vars(args), f, indent=2)

    train_set = CellDataset("train", args.n_train, args.img_size, args.snr, args.aug_noise)
    val_set = CellDataset("val", args.n_val, args.img_size, args.snr)
    test_set = CellDataset("test", args.n_val, args.img_size, args.snr)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, 16)
    test_loader = DataLoader(test_set, 16)

    model = UNet(width=args.width, keep_prob=args.keep_prob)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e3:.1f}k parameters, "
          f"{len(train_set)} train / {len(val_set)} val images")
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.wd, nesterov=True
    )
    scheduler = make_scheduler(args, optimizer, len(train_loader))
    writer = SummaryWriter(out)

    best, it = 0.0, 0
    for epoch in range(args.epochs):
        t0 = time.time()
        train_loss, it = train_one_epoch(model, train_loader, optimizer, scheduler, writer, it, args)
        val_loss, val_dice = evaluate(model, val_loader, args)
        writer.add_scalar("val/loss", val_loss, it)
        writer.add_scalar("val/dice", val_dice, it)
        if val_dice > best:
            best = val_dice
            torch.save(model.state_dict(), os.path.join(out, "best.pth"))
        print(f"epoch {epoch + 1:3d}/{args.epochs}  train loss {train_loss:.4f}  val loss {val_loss:.4f}  "
              f"val dice {val_dice:.4f}  ({time.time() - t0:.1f}s)", flush=True)

    model.load_state_dict(torch.load(os.path.join(out, "best.pth")))
    test_loss, test_dice = evaluate(model, test_loader, args)
    print(f"best val dice {best:.4f}, test dice {test_dice:.4f}, test loss {test_loss:.4f}")
    writer.close()


if __name__ == "__main__":
    main()
