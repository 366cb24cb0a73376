"""Classify cropped road signs. Launch with `accelerate launch train.py --data signs/`."""

import argparse
import glob
import math
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

MEAN, STD = (0.34, 0.31, 0.32), (0.28, 0.26, 0.27)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="signs")
    p.add_argument("--output_dir", default="out")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch_size", type=int, default=64)
    p.add_argument("--accum", type=int, default=2)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--weight_decay", type=float, default=0.05)
    p.add_argument("--warmup_epochs", type=int, default=2)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--seed", type=int, default=17)
    p.add_argument("--resume", default=None)
    return p.parse_args()


class SignFolder(Dataset):
    def __init__(self, files, classes, transform):
        self.files = files
        self.index = {name: i for i, name in enumerate(classes)}
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path = self.files[i]
        image = Image.open(path).convert("RGB")
        label = self.index[os.path.basename(os.path.dirname(path))]
        return self.transform(image), label


def split_files(root, seed, held=0.15):
    files = sorted(glob.glob(os.path.join(root, "*", "*.png")))
    classes = sorted({os.path.basename(os.path.dirname(f)) for f in files})
    order = np.random.RandomState(seed).permutation(len(files))
    cut = int(len(files) * (1 - held))
    train = [files[i] for i in order[:cut]]
    val = [files[i] for i in order[cut:]]
    return train, val, classes


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Sequential()
        if stride != 1 or cin != cout:
            self.skip = nn.Sequential(nn.Conv2d(cin, cout, 1, stride=stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.skip(x))


class SignNet(nn.Module):
    def __init__(self, num_classes, widths=(32, 64, 128)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, padding=1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        self.stages = nn.ModuleList()
        cin = widths[0]
        for i, w in enumerate(widths):
            self.stages.append(Block(cin, w, stride=1 if i == 0 else 2))
            cin = w
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(cin, num_classes)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        x = x.mean(dim=(2, 3))
        return self.head(self.dropout(x))


def evaluate(model, loader, accelerator):
    model.eval()
    correct, seen, loss_sum = 0, 0, 0.0
    with torch.no_grad():
        for images, labels in loader:
            logits = model(images)
            logits, labels = accelerator.gather_for_metrics((logits, labels))
            loss_sum += F.cross_entropy(logits, labels, reduction="sum").item()
            correct += (logits.argmax(dim=-1) == labels).sum().item()
            seen += labels.size(0)
    return loss_sum / seen, correct / seen


def main():
    args = parse_args()
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=args.accum)
    set_seed(args.seed, device_specific=False)

    train_tf = transforms.Compose([
        transforms.RandomResizedCrop(48, scale=(0.7, 1.0)),
        transforms.ColorJitter(0.3, 0.3, 0.3),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    val_tf = transforms.Compose([
        transforms.Resize((48, 48)),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    train_files, val_files, classes = split_files(args.data, args.seed)
    train_set = SignFolder(train_files, classes, train_tf)
    val_set = SignFolder(val_files, classes, val_tf)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=256, shuffle=False, num_workers=args.workers)

    model = SignNet(len(classes))
    decay = [p for p in model.parameters() if p.ndim > 1]
    no_decay = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": args.weight_decay}, {"params": no_decay, "weight_decay": 0.0}], lr=args.lr
    )
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)

    updates_per_epoch = math.ceil(len(train_loader) / args.accum)
    total = args.epochs * updates_per_epoch
    warmup = args.warmup_epochs * updates_per_epoch

    def rate(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer.optimizer, rate)
    accelerator.register_for_checkpointing(scheduler)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    first, best = 0, 0.0
    if args.resume:
        accelerator.load_state(args.resume)
        first = int(args.resume.rstrip("/").split("_")[-1]) + 1

    for epoch in range(first, args.epochs):
        model.train()
        running = 0.0
        for step, (images, labels) in enumerate(train_loader):
            with accelerator.accumulate(model):
                logits = model(images)
                loss = criterion(logits, labels)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                if accelerator.sync_gradients:
                    scheduler.step()
                optimizer.zero_grad()
            running += loss.item()
        val_loss, val_acc = evaluate(model, val_loader, accelerator)
        accelerator.print(f"epoch {epoch} train {running / len(train_loader):.4f} val {val_loss:.4f} acc {val_acc:.4f}")
        accelerator.save_state(os.path.join(args.output_dir, f"epoch_{epoch}"))
        if val_acc > best:
            best = val_acc
            if accelerator.is_main_process:
                torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(args.output_dir, "best.pt"))

    accelerator.wait_for_everyone()
    state = torch.load(os.path.join(args.output_dir, "best.pt"), map_location="cpu")
    accelerator.unwrap_model(model).load_state_dict(state)
    val_loss, val_acc = evaluate(model, val_loader, accelerator)
    accelerator.print(f"best checkpoint: val {val_loss:.4f} acc {val_acc:.4f}")


if __name__ == "__main__":
    main()
