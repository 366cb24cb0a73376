import gc
import os
import random

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import StratifiedKFold
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, Dataset


class CFG:
    seed = 42
    size = 256
    n_grades = 5
    n_fold = 5
    trn_fold = [0, 1, 2]
    epochs = 12
    lr = 3e-4
    wd = 1e-2
    batch_size = 8
    accum = 4
    max_norm = 10.0
    lam = 0.2
    root = "../input/retinas"


device = torch.device("cuda")


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class RetinaDataset(Dataset):
    def __init__(self, df, train):
        self.files = df["image"].values
        self.grades = df["grade"].values
        self.train = train

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        img = Image.open(os.path.join(CFG.root, self.files[i])).convert("RGB").resize((CFG.size, CFG.size))
        x = (np.asarray(img, dtype=np.float32) / 255.0 - 0.5) / 0.25
        if self.train and random.random() < 0.5:
            x = x[:, ::-1]
        x = torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))
        grade = int(self.grades[i])
        # grade 3 of 0..4 -> [1, 1, 1, 0]
        y = (torch.arange(CFG.n_grades - 1) < grade).float()
        return x, y, grade


class GeM(nn.Module):
    def __init__(self, p=3.0, eps=1e-6):
        super().__init__()
        self.p = nn.Parameter(torch.ones(1) * p)
        self.eps = eps

    def forward(self, x):
        x = x.float().clamp(min=self.eps).pow(self.p)
        return F.adaptive_avg_pool2d(x, 1).pow(1.0 / self.p).flatten(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        ch, layers = 3, []
        for c in (32, 64, 128, 256):
            layers += [nn.Conv2d(ch, c, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU()]
            ch = c
        self.body = nn.Sequential(*layers)
        self.pool = GeM()
        self.head = nn.Linear(ch, CFG.n_grades - 1)
        self.aux = nn.Linear(ch, 1)

    def forward(self, x):
        h = self.pool(self.body(x))
        return self.head(h), self.aux(h).squeeze(1)


def criterion(logits, value, y, grade):
    bce = F.binary_cross_entropy_with_logits(logits, y)
    reg = F.smooth_l1_loss(value, grade)
    return bce + CFG.lam * reg


def train_fn(loader, model, optimizer, scheduler, scaler):
    model.train()
    losses = AverageMeter()
    optimizer.zero_grad()
    for step, (x, y, grade) in enumerate(loader):
        x, y, grade = x.to(device), y.to(device), grade.to(device).float()
        with autocast():
            logits, value = model(x)
            loss = criterion(logits, value, y, grade)
        losses.update(loss.item(), x.size(0))
        loss = loss / CFG.accum
        scaler.scale(loss).backward()
        if (step + 1) % CFG.accum == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), CFG.max_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scheduler.step()
    return losses.avg


def valid_fn(loader, model):
    model.eval()
    losses, preds, truth = AverageMeter(), [], []
    for x, y, grade in loader:
        x, y = x.to(device), y.to(device)
        with torch.no_grad():
            logits, value = model(x)
            loss = criterion(logits, value, y, grade.to(device).float())
        losses.update(loss.item(), x.size(0))
        preds.append((logits.sigmoid() > 0.5).sum(1).cpu().numpy())
        truth.append(grade.numpy())
    preds, truth = np.concatenate(preds), np.concatenate(truth)
    return losses.avg, cohen_kappa_score(truth, preds, weights="quadratic")


def train_loop(df, fold):
    trn = df[df.fold != fold].reset_index(drop=True)
    val = df[df.fold == fold].reset_index(drop=True)
    trn_loader = DataLoader(RetinaDataset(trn, True), CFG.batch_size, shuffle=True, num_workers=4, drop_last=True)
    val_loader = DataLoader(RetinaDataset(val, False), CFG.batch_size * 2, shuffle=False, num_workers=4)
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=CFG.wd)
    steps = len(trn_loader) // CFG.accum * CFG.epochs
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    scaler = GradScaler()
    best = -1.0
    for epoch in range(CFG.epochs):
        avg = train_fn(trn_loader, model, optimizer, scheduler, scaler)
        val_loss, kappa = valid_fn(val_loader, model)
        print(f"fold {fold} epoch {epoch} train {avg:.4f} valid {val_loss:.4f} kappa {kappa:.4f}")
        if kappa > best:
            best = kappa
            torch.save(model.state_dict(), f"net_fold{fold}.pth")
    del model
    gc.collect()
    return best


if __name__ == "__main__":
    seed_everything(CFG.seed)
    df = pd.read_csv(f"{CFG.root}/train.csv")
    df["fold"] = -1
    skf = StratifiedKFold(n_splits=CFG.n_fold, shuffle=True, random_state=CFG.seed)
    for k, (_, idx) in enumerate(skf.split(df, df.grade)):
        df.loc[idx, "fold"] = k
    print("mean kappa", np.mean([train_loop(df, k) for k in CFG.trn_fold]))
