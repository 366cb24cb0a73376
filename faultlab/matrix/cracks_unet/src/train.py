"""Segmentation of cracks in concrete (research code)."""
import argparse
import json
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import yaml
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEFAULTS = {
    "data": "data/cracks", "crop": 256, "batch_size": 8, "epochs": 80, "lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4,
    "power": 0.9, "width": 32, "dice_weight": 1.0, "seed": 0, "workers": 4, "val_fraction": 0.15, "out": "exp/cracks",
}


def get_cfg():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--set", nargs="*", default=[])
    args = parser.parse_args()
    cfg = dict(DEFAULTS)
    if args.config:
        cfg.update(yaml.safe_load(open(args.config)))
    for pair in args.set:
        key, value = pair.split("=", 1)
        cfg[key] = yaml.safe_load(value)
    return cfg


class CrackData(Dataset):
    def __init__(self, names, root, crop, train):
        self.names, self.root, self.crop, self.train = names, Path(root), crop, train

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        img = np.load(self.root / "img" / self.names[i]).astype(np.float32) / 255.0
        msk = np.load(self.root / "msk" / self.names[i]).astype(np.float32)
        img = (img - 0.46) / 0.21
        if self.train:
            y = random.randint(0, img.shape[0] - self.crop)
            x = random.randint(0, img.shape[1] - self.crop)
            img = img[y:y + self.crop, x:x + self.crop]
            msk = msk[y:y + self.crop, x:x + self.crop]
            if random.random() < 0.5:
                img, msk = img[:, ::-1], msk[:, ::-1]
            img = img + np.random.normal(0, 0.05, img.shape).astype(np.float32)
        return torch.from_numpy(img.copy())[None], torch.from_numpy(msk.copy())[None]


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.enc1, self.enc2, self.enc3 = conv_block(1, w), conv_block(w, 2 * w), conv_block(2 * w, 4 * w)
        self.up2 = nn.ConvTranspose2d(4 * w, 2 * w, 2, stride=2)
        self.dec2 = conv_block(4 * w, 2 * w)
        self.up1 = nn.ConvTranspose2d(2 * w, w, 2, stride=2)
        self.dec1 = conv_block(2 * w, w)
        self.out = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        e3 = self.enc3(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat([self.up2(e3), e2], dim=1))
        d1 = self.dec1(torch.cat([self.up1(d2), e1], dim=1))
        return self.out(d1)


def dice_loss(logits, target, smooth=1.0):
    p = torch.sigmoid(logits).flatten(1)
    t = target.flatten(1)
    inter = (p * t).sum(1)
    return (1 - (2 * inter + smooth) / (p.sum(1) + t.sum(1) + smooth)).mean()


def compute_loss(cfg, logits, target):
    return F.binary_cross_entropy_with_logits(logits, target) + cfg["dice_weight"] * dice_loss(logits, target)


def train_one_epoch(cfg, model, loader, optimizer, epoch, total, device):
    model.train()
    meters = defaultdict(list)
    for i, (img, msk) in enumerate(loader):
        it = epoch * len(loader) + i
        lr = cfg["lr"] * (1 - it / total) ** cfg["power"]
        for group in optimizer.param_groups:
            group["lr"] = lr
        img, msk = img.to(device), msk.to(device)
        loss = compute_loss(cfg, model(img), msk)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meters["loss"].append(loss.item())
        meters["lr"].append(lr)
    return {k: float(np.mean(v)) for k, v in meters.items()}


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    inter = union = 0
    for img, msk in loader:
        pred = model(img.to(device)) > 0
        msk = msk.to(device) > 0.5
        inter += (pred & msk).sum().item()
        union += (pred | msk).sum().item()
    return {"iou": inter / max(union, 1)}


def main():
    cfg = get_cfg()
    random.seed(cfg["seed"])
    np.random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out = Path(cfg["out"])
    out.mkdir(parents=True, exist_ok=True)
    json.dump(cfg, open(out / "config.json", "w"), indent=2)
    names = sorted(p.name for p in (Path(cfg["data"]) / "img").glob("*.npy"))
    random.shuffle(names)
    n_val = int(len(names) * cfg["val_fraction"])
    train_set = CrackData(names[n_val:], cfg["data"], cfg["crop"], True)
    val_set = CrackData(names[:n_val], cfg["data"], cfg["crop"], False)
    train_loader = DataLoader(train_set, cfg["batch_size"], shuffle=True, num_workers=cfg["workers"], drop_last=True)
    val_loader = DataLoader(val_set, 1, num_workers=cfg["workers"])
    model = UNet(cfg["width"]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=cfg["momentum"], weight_decay=cfg["weight_decay"])
    total = cfg["epochs"] * len(train_loader)
    best = 0.0
    for epoch in range(cfg["epochs"]):
        stats = train_one_epoch(cfg, model, train_loader, optimizer, epoch, total, device)
        stats.update(validate(model, val_loader, device))
        print(json.dumps({"epoch": epoch, **stats}))
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, out / "last.pth")
        if stats["iou"] > best:
            best = stats["iou"]
            torch.save(model.state_dict(), out / "best.pth")


if __name__ == "__main__":
    main()
