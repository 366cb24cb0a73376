"""Fine-tune a small ResNet on crops of platelets from stained blood smears.

    python finetune.py --root smears/ --out runs/a

root/<slide>/<kind>/<crop>.png ; slides, not crops, are split, so that no slide is on both sides.
"""
import argparse
import json
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

KINDS = ["discoid", "activated", "giant", "clump", "debris"]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Crops(Dataset):
    def __init__(self, root, slides, tfm):
        self.tfm = tfm
        self.items = []
        for slide in slides:
            for k, kind in enumerate(KINDS):
                folder = os.path.join(root, slide, kind)
                if os.path.isdir(folder):
                    self.items += [(os.path.join(folder, f), k) for f in sorted(os.listdir(folder)) if f.endswith(".png")]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, k = self.items[i]
        return self.tfm(Image.open(path).convert("RGB")), k


def split_slides(root, fold, n_folds=5):
    slides = sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))
    random.Random(0).shuffle(slides)
    held = slides[fold::n_folds]
    return [s for s in slides if s not in held], held


def transforms_for(size):
    train = transforms.Compose([
        transforms.RandomResizedCrop(size, scale=(0.7, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.RandomVerticalFlip(),
        transforms.ColorJitter(0.2, 0.2, 0.1, 0.02),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    plain = transforms.Compose([
        transforms.Resize(int(size * 1.14)),
        transforms.CenterCrop(size),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    return train, plain


def build(dropout):
    net = models.resnet18(weights=models.ResNet18_Weights.IMAGENET1K_V1)
    net.fc = nn.Sequential(nn.Dropout(dropout), nn.Linear(net.fc.in_features, len(KINDS)))
    return net


def groups(net, lr, wd):
    head = list(net.fc.parameters())
    known = {id(p) for p in head}
    body = [p for p in net.parameters() if id(p) not in known]
    return [{"params": body, "lr": lr * 0.1, "weight_decay": wd}, {"params": head, "lr": lr, "weight_decay": wd}]


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    hits = torch.zeros(len(KINDS))
    seen = torch.zeros(len(KINDS))
    total = 0.0
    for x, y in loader:
        logits = net(x.to(device)).float().cpu()
        total += F.cross_entropy(logits, y, reduction="sum").item()
        for k in range(len(KINDS)):
            hits[k] += ((logits.argmax(1) == y) & (y == k)).sum()
            seen[k] += (y == k).sum()
    recall = hits / seen.clamp(min=1)
    return total / int(seen.sum()), recall[seen > 0].mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True)
    ap.add_argument("--out", default="runs/a")
    ap.add_argument("--fold", type=int, default=0)
    ap.add_argument("--size", type=int, default=160)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--wd", type=float, default=1e-2)
    ap.add_argument("--dropout", type=float, default=0.2)
    ap.add_argument("--seed", type=int, default=11)
    args = ap.parse_args()

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    amp = device == "cuda"

    train_tfm, plain_tfm = transforms_for(args.size)
    ours, held = split_slides(args.root, args.fold)
    train_set, held_set = Crops(args.root, ours, train_tfm), Crops(args.root, held, plain_tfm)
    train_loader = DataLoader(train_set, args.batch, shuffle=True, num_workers=4, drop_last=True)
    held_loader = DataLoader(held_set, args.batch * 2, num_workers=4)

    net = build(args.dropout).to(device)
    opt = torch.optim.AdamW(groups(net, args.lr, args.wd))
    steps = args.epochs * len(train_loader)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=[args.lr * 0.1, args.lr], total_steps=steps, pct_start=0.1)
    scaler = torch.amp.GradScaler(device, enabled=amp)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

    best = 0.0
    for epoch in range(args.epochs):
        net.train()
        running = 0.0
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            opt.zero_grad()
            with torch.autocast(device, dtype=torch.float16, enabled=amp):
                loss = criterion(net(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            sched.step()
            running += loss.item()
        val_loss, val_recall = evaluate(net, held_loader, device)
        print(json.dumps({"epoch": epoch, "train_loss": running / len(train_loader), "val_loss": val_loss,
                          "val_recall": val_recall, "lr": sched.get_last_lr()[1]}))
        if val_recall > best:
            best = val_recall
            torch.save(net.state_dict(), os.path.join(args.out, "best.pt"))

    net.load_state_dict(torch.load(os.path.join(args.out, "best.pt"), map_location=device))
    final_loss, final_recall = evaluate(net, held_loader, device)
    print(f"best model: loss {final_loss:.4f} mean recall {final_recall:.4f}")


if __name__ == "__main__":
    main()
