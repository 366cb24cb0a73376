"""Road extraction from aerial tiles: a small U-Net."""
import argparse
import csv
import json
import random

import numpy as np
import torch
from torch.utils.data import DataLoader

from losses import BCEDiceLoss, confusion
from tiles import RoadTiles, make_tiles
from unet import UNet


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--n-train", type=int, default=96)
    p.add_argument("--n-val", type=int, default=36)
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--batch-size", type=int, default=12)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--weight-decay", type=float, default=1e-4)
    p.add_argument("--base-channels", type=int, default=4)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--dice-weight", type=float, default=0.5)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


def train_one_epoch(model, loader, criterion, optimizer, scheduler):
    model.train()
    running, seen = 0.0, 0
    for images, masks in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, masks)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item() * images.size(0)
        seen += images.size(0)
    return running / seen


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    running, seen = 0.0, 0
    tp = fp = fn = 0
    for images, masks in loader:
        logits = model(images)
        running += criterion(logits, masks).item() * images.size(0)
        seen += images.size(0)
        a, b, c = confusion(logits, masks)
        tp, fp, fn = tp + a, fp + b, fn + c
    dice = 2 * tp / max(2 * tp + fp + fn, 1)
    iou = tp / max(tp + fp + fn, 1)
    return running / seen, dice, iou


def main():
    args = parse_args()
    with open("args.json", "w") as f:
        json.dump(vars(args), f, indent=2)
    torch.set_num_threads(1)
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    tr_img, tr_mask = make_tiles(args.n_train, seed=args.seed)
    va_img, va_mask = make_tiles(args.n_val, seed=args.seed + 1000)
    train_ds = RoadTiles(tr_img, tr_mask, augment=True, seed=args.seed)
    val_ds = RoadTiles(va_img, va_mask)
    train_loader = DataLoader(train_ds, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_ds, batch_size=48)

    model = UNet(base=args.base_channels, dropout=args.dropout)
    criterion = BCEDiceLoss(args.dice_weight)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=args.epochs * len(train_loader), pct_start=0.2
    )

    best = -1.0
    with open("metrics.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["epoch", "train_loss", "val_loss", "val_dice", "val_iou", "lr"])
        for epoch in range(1, args.epochs + 1):
            lr = optimizer.param_groups[0]["lr"]
            train_loss = train_one_epoch(model, train_loader, criterion, optimizer, scheduler)
            val_loss, dice, iou = validate(model, val_loader, criterion)
            writer.writerow([epoch, f"{train_loss:.5f}", f"{val_loss:.5f}", f"{dice:.4f}", f"{iou:.4f}", f"{lr:.3e}"])
            f.flush()
            if dice > best:
                best = dice
                torch.save(model.state_dict(), "unet_best.pt")
    print(f"best val dice {best:.4f}")


if __name__ == "__main__":
    main()
