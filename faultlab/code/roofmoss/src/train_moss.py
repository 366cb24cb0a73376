# U-Net for moss and lichen on roofs. One GPU, fp16, several small batches per step.
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from moss_data import UNKNOWN, RoofTiles, split_tiles


def double_conv(a, b):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
        nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
    )  # fmt: skip


class MossNet(nn.Module):
    def __init__(self, kinds=3, widths=(32, 64, 128, 256)):
        super().__init__()
        self.down = nn.ModuleList(double_conv(a, b) for a, b in zip((3, *widths), widths))
        self.up, self.mix = nn.ModuleList(), nn.ModuleList()
        for wide, slim in zip(widths[:0:-1], widths[-2::-1]):
            self.up.append(nn.ConvTranspose2d(wide, slim, 2, stride=2))
            self.mix.append(double_conv(2 * slim, slim))
        self.head = nn.Conv2d(widths[0], kinds, 1)

    def forward(self, x):
        skips = []
        for n, block in enumerate(self.down):
            x = block(x if n == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for up, mix in zip(self.up, self.mix):
            x = mix(torch.cat([up(x), skips.pop()], dim=1))
        return self.head(x)


def seg_loss(logits, y):
    ce = F.cross_entropy(logits, y, ignore_index=UNKNOWN)
    seen = (y != UNKNOWN).unsqueeze(1)
    prob = logits.softmax(dim=1) * seen
    true = F.one_hot(y.clamp(max=logits.shape[1] - 1), logits.shape[1]).permute(0, 3, 1, 2) * seen
    both = (prob * true).sum(dim=(0, 2, 3))
    dice = (2 * both + 1.0) / (prob.sum(dim=(0, 2, 3)) + true.sum(dim=(0, 2, 3)) + 1.0)
    return ce + (1 - dice.mean())


def make_optimizer(net, opt):
    decay = [p for p in net.parameters() if p.ndim > 1]
    plain = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": opt.wd}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=opt.lr)


@torch.no_grad()
def mean_iou(net, loader, dev, kinds=3):
    net.eval()
    table = torch.zeros(kinds, kinds, dtype=torch.long)
    for x, y in loader:
        guess = net(x.to(dev)).argmax(dim=1).cpu()
        ok = y != UNKNOWN
        table += torch.bincount(kinds * y[ok] + guess[ok], minlength=kinds**2).view(kinds, kinds)
    hit = table.diag()
    union = table.sum(0) + table.sum(1) - hit
    return (hit / union.clamp(min=1)).mean().item()


def main(opt):
    random.seed(opt.seed)
    np.random.seed(opt.seed)
    torch.manual_seed(opt.seed)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    amp = dev.type == "cuda"
    tiles, val_tiles, test_tiles = split_tiles(opt.root)
    train_dl = DataLoader(RoofTiles(tiles, augment=True), opt.batch, shuffle=True, num_workers=opt.workers, drop_last=True)
    val_dl = DataLoader(RoofTiles(val_tiles), opt.batch, num_workers=opt.workers)
    test_dl = DataLoader(RoofTiles(test_tiles), opt.batch, num_workers=opt.workers)

    net = MossNet().to(dev)
    optim = make_optimizer(net, opt)
    steps = opt.epochs * (len(train_dl) // opt.accum)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=steps)
    scaler = torch.amp.GradScaler(dev.type, enabled=amp)

    best = 0.0
    for epoch in range(opt.epochs):
        net.train()
        seen_loss = 0.0
        optim.zero_grad(set_to_none=True)
        for i, (x, y) in enumerate(train_dl):
            x, y = x.to(dev, non_blocking=True), y.to(dev, non_blocking=True)
            with torch.autocast(dev.type, dtype=torch.float16, enabled=amp):
                logits = net(x)
            loss = seg_loss(logits.float(), y)
            scaler.scale(loss / opt.accum).backward()
            seen_loss += loss.item()
            if (i + 1) % opt.accum == 0:
                scaler.unscale_(optim)
                nn.utils.clip_grad_norm_(net.parameters(), opt.clip)
                scaler.step(optim)
                scaler.update()
                optim.zero_grad(set_to_none=True)
                sched.step()
        iou = mean_iou(net, val_dl, dev)
        print(f"epoch {epoch:3d}  loss {seen_loss / len(train_dl):.4f}  val mIoU {iou:.4f}")
        if iou > best:
            best = iou
            torch.save(net.state_dict(), opt.out)

    net.load_state_dict(torch.load(opt.out, map_location=dev))
    print(f"test mIoU {mean_iou(net, test_dl, dev):.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("root")
    ap.add_argument("--out", default="moss_best.pt")
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--wd", type=float, default=1e-2)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=3)
    ap.add_argument("--workers", type=int, default=4)
    main(ap.parse_args())
