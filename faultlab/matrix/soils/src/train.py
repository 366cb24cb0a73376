import gc
import random
import time

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import StratifiedKFold
from torch.utils.data import DataLoader, Dataset


class CFG:
    seed = 42
    n_fold = 5
    trn_fold = [0, 1, 2]
    epochs = 20
    batch_size = 128
    lr = 2e-3
    targets = ["clay", "carbon", "ph", "nitrogen"]
    missing = -1.0
    print_freq = 50
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class AverageMeter:
    def __init__(self):
        self.sum, self.count, self.avg = 0.0, 0, 0.0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n
        self.avg = self.sum / max(self.count, 1)


class SoilDataset(Dataset):
    def __init__(self, df, spectra):
        self.x = df[spectra].values.astype(np.float32)
        y = df[CFG.targets].values.astype(np.float32)
        self.mask = ~np.isnan(y)
        self.y = np.where(self.mask, y, CFG.missing)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        x = torch.tensor(self.x[idx]) - self.x[idx].mean().item()
        return x, torch.tensor(self.y[idx], dtype=torch.float), torch.tensor(self.mask[idx], dtype=torch.float)


class SoilModel(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 256), nn.BatchNorm1d(256), nn.SiLU(), nn.Dropout(0.2),
            nn.Linear(256, 128), nn.BatchNorm1d(128), nn.SiLU(), nn.Linear(128, len(CFG.targets)),
        )

    def forward(self, x):
        return self.net(x)


def masked_mse(preds, y, mask):
    err = (preds - y) ** 2
    return (err * mask).sum() / mask.sum().clamp(min=1.0)


def train_fn(loader, model, optimizer, scheduler, epoch):
    losses = AverageMeter()
    model.train()
    start = time.time()
    for step, (x, y, mask) in enumerate(loader):
        x, y, mask = x.to(CFG.device), y.to(CFG.device), mask.to(CFG.device)
        preds = model(x)
        loss = masked_mse(preds, y, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.update(loss.item(), int(mask.sum()))
        if step % CFG.print_freq == 0:
            print(f"epoch {epoch} step {step}/{len(loader)} loss {losses.avg:.4f} {time.time() - start:.0f}s")
    return losses.avg


def valid_fn(loader, model):
    model.eval()
    sq, n = torch.zeros(len(CFG.targets)), torch.zeros(len(CFG.targets))
    for x, y, mask in loader:
        with torch.no_grad():
            preds = model(x.to(CFG.device)).cpu()
        sq += ((preds - y) ** 2 * mask).sum(0)
        n += mask.sum(0)
    return torch.sqrt(sq / n.clamp(min=1)).mean().item()


def train_loop(df, spectra, fold):
    trn = df[df.fold != fold].reset_index(drop=True)
    val = df[df.fold == fold].reset_index(drop=True)
    mean, std = trn[CFG.targets].mean(), trn[CFG.targets].std()
    trn[CFG.targets] = (trn[CFG.targets] - mean) / std
    val[CFG.targets] = (val[CFG.targets] - mean) / std
    trn_loader = DataLoader(SoilDataset(trn, spectra), batch_size=CFG.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(SoilDataset(val, spectra), batch_size=CFG.batch_size * 2, shuffle=False)
    model = SoilModel(len(spectra)).to(CFG.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, CFG.lr, epochs=CFG.epochs, steps_per_epoch=len(trn_loader))
    best = np.inf
    for epoch in range(CFG.epochs):
        avg = train_fn(trn_loader, model, optimizer, scheduler, epoch)
        score = valid_fn(val_loader, model)
        print(f"fold {fold} epoch {epoch} train {avg:.4f} valid {score:.4f}")
        if score < best:
            best = score
            torch.save({"model": model.state_dict(), "mean": mean.values, "std": std.values}, f"soil_fold{fold}.pth")
    del model
    gc.collect()
    return best


if __name__ == "__main__":
    seed_everything(CFG.seed)
    train = pd.read_csv("soil_train.csv")
    spectra = [c for c in train.columns if c.startswith("wl_")]
    train["fold"] = -1
    skf = StratifiedKFold(n_splits=CFG.n_fold, shuffle=True, random_state=CFG.seed)
    for f, (_, v) in enumerate(skf.split(train, train["region"])):
        train.loc[v, "fold"] = f
    print("cv", np.mean([train_loop(train, spectra, f) for f in CFG.trn_fold]))
