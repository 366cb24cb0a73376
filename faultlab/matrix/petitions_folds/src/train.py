import gc
import os
import random
import time

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModel, AutoTokenizer, get_cosine_schedule_with_warmup


class CFG:
    model = "roberta-base"
    max_len = 256
    train_bs = 16
    valid_bs = 32
    epochs = 4
    lr = 2e-5
    head_lr = 1e-4
    wd = 0.01
    warmup = 0.1
    n_fold = 5
    trn_fold = [0, 1, 2, 3, 4]
    max_norm = 1.0
    accum = 2
    seed = 42
    out = "../output"


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = 0
        self.count = 0
        self.avg = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


tokenizer = AutoTokenizer.from_pretrained(CFG.model)


class PetitionDataset(Dataset):
    def __init__(self, df):
        self.texts = df["text"].values
        self.labels = df["success"].values

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        enc = tokenizer(self.texts[i], max_length=CFG.max_len, padding="max_length", truncation=True, return_tensors="pt")
        item = {k: v.squeeze(0) for k, v in enc.items()}
        return item, torch.tensor(self.labels[i], dtype=torch.float)


class PetitionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = AutoModel.from_pretrained(CFG.model)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(self.backbone.config.hidden_size, 1)
        nn.init.normal_(self.fc.weight, std=0.02)
        nn.init.zeros_(self.fc.bias)

    def forward(self, inputs):
        hidden = self.backbone(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).float()
        pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return self.fc(self.drop(pooled))


def train_fn(loader, model, criterion, optimizer, scheduler, scaler):
    model.train()
    losses = AverageMeter()
    for step, (inputs, labels) in enumerate(loader):
        inputs = {k: v.to(device) for k, v in inputs.items()}
        labels = labels.to(device)
        with autocast():
            y_preds = model(inputs)
            loss = criterion(y_preds.view(-1), labels)
        losses.update(loss.item(), labels.size(0))
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


def valid_fn(loader, model, criterion):
    model.eval()
    losses = AverageMeter()
    preds = []
    for inputs, labels in loader:
        inputs = {k: v.to(device) for k, v in inputs.items()}
        labels = labels.to(device)
        with torch.no_grad():
            y_preds = model(inputs)
        loss = criterion(y_preds.view(-1), labels)
        losses.update(loss.item(), labels.size(0))
        preds.append(y_preds.sigmoid().view(-1).cpu().numpy())
    return losses.avg, np.concatenate(preds)


def train_loop(df, fold):
    trn = df[df["fold"] != fold].reset_index(drop=True)
    val = df[df["fold"] == fold].reset_index(drop=True)
    train_loader = DataLoader(PetitionDataset(trn), batch_size=CFG.train_bs, shuffle=True, num_workers=4, pin_memory=True, drop_last=True)
    valid_loader = DataLoader(PetitionDataset(val), batch_size=CFG.valid_bs, shuffle=False, num_workers=4, pin_memory=True)
    model = PetitionModel().to(device)
    optimizer = torch.optim.AdamW([
        {"params": model.backbone.parameters(), "lr": CFG.lr},
        {"params": model.fc.parameters(), "lr": CFG.head_lr},
    ], weight_decay=CFG.wd)
    steps = len(train_loader) // CFG.accum * CFG.epochs
    scheduler = get_cosine_schedule_with_warmup(optimizer, int(steps * CFG.warmup), steps)
    criterion = nn.BCEWithLogitsLoss()
    scaler = GradScaler()
    best, best_preds = 0.0, None
    for epoch in range(CFG.epochs):
        t = time.time()
        tl = train_fn(train_loader, model, criterion, optimizer, scheduler, scaler)
        vl, preds = valid_fn(valid_loader, model, criterion)
        score = roc_auc_score(val["success"].values, preds)
        print(f"fold {fold} epoch {epoch + 1} train {tl:.4f} valid {vl:.4f} auc {score:.4f} time {time.time() - t:.0f}s")
        if score > best:
            best, best_preds = score, preds
            torch.save({"model": model.state_dict(), "preds": preds}, f"{CFG.out}/fold{fold}_best.pth")
    val["pred"] = best_preds
    del model, optimizer
    gc.collect()
    torch.cuda.empty_cache()
    return val


seed_everything(CFG.seed)
train = pd.read_csv("../input/petitions/train.csv")
train["fold"] = -1
skf = StratifiedKFold(n_splits=CFG.n_fold, shuffle=True, random_state=CFG.seed)
for n, (_, idx) in enumerate(skf.split(train, train["success"])):
    train.loc[idx, "fold"] = n
oof = pd.concat([train_loop(train, f) for f in CFG.trn_fold])
print("oof auc", roc_auc_score(oof["success"], oof["pred"]))
oof.to_csv(f"{CFG.out}/oof.csv", index=False)
