#!/usr/bin/env python
"""Segment kelp forests in satellite tiles (U-Net, mixed precision)."""

import argparse
import logging
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("kelp")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("kelp_out"))
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=2, help="batches per update")
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--warmup-epochs", type=int, default=2)
    parser.add_argument("--weight-decay", type=float, default=1e-2)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--crop", type=int, default=256)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--resume", type=Path, default=None)
    return parser.parse_args()


def list_tiles(folder):
    return sorted((folder / "images").glob("*.npy"))


class KelpTiles(Dataset):
    def __init__(self, tiles, mean, std, crop, train):
        self.tiles = tiles
        self.mean = torch.tensor(mean).view(-1, 1, 1)
        self.std = torch.tensor(std).view(-1, 1, 1)
        self.crop = crop
        self.train = train

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, index):
        path = self.tiles[index]
        image = torch.from_numpy(np.load(path).astype(np.float32)).permute(2, 0, 1)
        mask = torch.from_numpy(np.load(path.parent.parent / "masks" / path.name).astype(np.float32))[None]
        image = (image - self.mean) / self.std
        if self.train:
            image, mask = self.augment(image, mask)
        else:
            image, mask = image[:, : self.crop, : self.crop], mask[:, : self.crop, : self.crop]
        return image, mask

    def augment(self, image, mask):
        height, width = image.shape[-2:]
        top = random.randint(0, height - self.crop)
        left = random.randint(0, width - self.crop)
        image = image[:, top : top + self.crop, left : left + self.crop]
        mask = mask[:, top : top + self.crop, left : left + self.crop]
        if random.random() < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        if random.random() < 0.5:
            image, mask = image.flip(-2), mask.flip(-2)
        return image.contiguous(), mask.contiguous()


def band_statistics(tiles):
    total, squares, pixels = 0.0, 0.0, 0
    for path in tiles:
        bands = np.load(path).astype(np.float64).reshape(-1, 4)
        total = total + bands.sum(axis=0)
        squares = squares + (bands**2).sum(axis=0)
        pixels += len(bands)
    mean = total / pixels
    std = np.sqrt(np.maximum(squares / pixels - mean**2, 1e-6))
    return mean.astype(np.float32), std.astype(np.float32)


def double_conv(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, bands=4, widths=(32, 64, 128, 256)):
        super().__init__()
        self.downs = nn.ModuleList()
        before = bands
        for width in widths:
            self.downs.append(double_conv(before, width))
            before = width
        self.pool = nn.MaxPool2d(2)
        self.ups = nn.ModuleList()
        self.merges = nn.ModuleList()
        for width in reversed(widths[:-1]):
            self.ups.append(nn.ConvTranspose2d(before, width, 2, stride=2))
            self.merges.append(double_conv(2 * width, width))
            before = width
        self.drop = nn.Dropout2d(0.1)
        self.head = nn.Conv2d(before, 1, 1)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.downs):
            x = down(x)
            if i < len(self.downs) - 1:
                kept.append(x)
                x = self.pool(x)
        for up, merge in zip(self.ups, self.merges):
            x = merge(torch.cat([up(x), kept.pop()], dim=1))
        return self.head(self.drop(x))


def dice_loss(logits, masks, smooth=1.0):
    probs = torch.sigmoid(logits.float()).flatten(1)
    masks = masks.flatten(1)
    overlap = (probs * masks).sum(dim=1)
    return 1 - ((2 * overlap + smooth) / (probs.sum(dim=1) + masks.sum(dim=1) + smooth)).mean()


def train_epoch(model, loader, optimizer, scheduler, scaler, device, args):
    model.train()
    total, seen = 0.0, 0
    optimizer.zero_grad()
    for step, (images, masks) in enumerate(loader, start=1):
        images, masks = images.to(device, non_blocking=True), masks.to(device, non_blocking=True)
        with autocast():
            logits = model(images)
            loss = F.binary_cross_entropy_with_logits(logits, masks) + dice_loss(logits, masks)
        scaler.scale(loss / args.accumulate).backward()
        if step % args.accumulate == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scheduler.step()
        total += loss.item() * images.size(0)
        seen += images.size(0)
    return total / seen


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    overlap, union, total, seen = 0.0, 0.0, 0.0, 0
    for images, masks in loader:
        images, masks = images.to(device), masks.to(device)
        with autocast():
            logits = model(images)
        total += F.binary_cross_entropy_with_logits(logits.float(), masks).item() * images.size(0)
        seen += images.size(0)
        found = torch.sigmoid(logits.float()) > 0.5
        truth = masks > 0.5
        overlap += (found & truth).sum().item()
        union += (found | truth).sum().item()
    return total / seen, overlap / max(union, 1.0)


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2**32
    random.seed(seed)
    np.random.seed(seed)


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO)
    args.out.mkdir(parents=True, exist_ok=True)
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda")

    tiles = list_tiles(args.data)
    random.Random(args.seed).shuffle(tiles)
    cut = int(0.85 * len(tiles))
    train_tiles, val_tiles = tiles[:cut], tiles[cut:]
    mean, std = band_statistics(train_tiles)
    train_set = KelpTiles(train_tiles, mean, std, args.crop, train=True)
    val_set = KelpTiles(val_tiles, mean, std, args.crop, train=False)
    train_loader = DataLoader(
        train_set, args.batch_size, shuffle=True, num_workers=args.workers, pin_memory=True,
        drop_last=True, worker_init_fn=seed_worker,
    )
    val_loader = DataLoader(val_set, args.batch_size, shuffle=False, num_workers=args.workers)

    model = UNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    updates = len(train_loader) // args.accumulate
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=updates * args.epochs, pct_start=args.warmup_epochs / args.epochs
    )
    scaler = GradScaler()
    first, best = 0, 0.0
    if args.resume is not None:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        scaler.load_state_dict(state["scaler"])
        first, best = state["epoch"] + 1, state["best"]

    for epoch in range(first, args.epochs):
        train_loss = train_epoch(model, train_loader, optimizer, scheduler, scaler, device, args)
        val_loss, iou = evaluate(model, val_loader, device)
        log.info("epoch %d train %.4f val %.4f iou %.4f", epoch, train_loss, val_loss, iou)
        if iou > best:
            best = iou
            torch.save(model.state_dict(), args.out / "best.pth")
        torch.save(
            {
                "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "scaler": scaler.state_dict(),
                "epoch": epoch, "best": best,
            },
            args.out / "last.pth",
        )
    model.load_state_dict(torch.load(args.out / "best.pth"))
    val_loss, iou = evaluate(model, val_loader, device)
    log.info("best weights: val %.4f iou %.4f", val_loss, iou)


if __name__ == "__main__":
    main()
