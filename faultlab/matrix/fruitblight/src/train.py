# Fungi on fruit: several diseases per photo, 5 folds, mixed precision
import gc
import os
import random

import cv2
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import timm
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset
from transformers import get_cosine_schedule_with_warmup


class CFG:
    model_name = "tf_efficientnet_b0"
    size = 320
    batch_size = 16
    valid_bs = 64
    n_accumulate = 4
    epochs = 8
    warmup_ratio = 0.1
    lr = 3e-4
    head_lr = 3e-3
    weight_decay = 1e-2
    max_grad_norm = 5.0
    n_fold = 5
    seed = 2022
    num_workers = 4
    labels = ["scab", "rot", "mildew", "rust", "healthy"]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)


class FruitDataset(Dataset):
    def __init__(self, df, train):
        self.files, self.y, self.train = df.file.values, df[CFG.labels].values.astype("float32"), train

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        img = cv2.cvtColor(cv2.imread(f"train/{self.files[i]}"), cv2.COLOR_BGR2RGB)
        img = cv2.resize(img, (CFG.size, CFG.size)).astype("float32") / 255.0
        if self.train and random.random() < 0.5:
            img = img[:, ::-1].copy()
        img = (img - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        return torch.tensor(img, dtype=torch.float32).permute(2, 0, 1), torch.tensor(self.y[i])


def get_optimizer(model):
    head = list(model.get_classifier().parameters())
    ids = {id(p) for p in head}
    body = [p for p in model.parameters() if id(p) not in ids]
    return torch.optim.AdamW(
        [{"params": body, "lr": CFG.lr}, {"params": head, "lr": CFG.head_lr}],
        lr=CFG.lr, weight_decay=CFG.weight_decay,
    )


def get_scheduler(optimizer, n_batches):
    n_steps = n_batches // CFG.n_accumulate * CFG.epochs
    return get_cosine_schedule_with_warmup(
        optimizer, num_warmup_steps=int(CFG.warmup_ratio * n_steps), num_training_steps=n_steps
    )


def train_fn(loader, model, ema, criterion, optimizer, scheduler, scaler):
    losses = AverageMeter()
    model.train()
    optimizer.zero_grad()
    full = len(loader) // CFG.n_accumulate * CFG.n_accumulate
    for step, (images, labels) in enumerate(loader):
        if step >= full:
            break
        images, labels = images.to(CFG.device), labels.to(CFG.device)
        with torch.cuda.amp.autocast():
            loss = criterion(model(images), labels)
        losses.update(loss.item(), len(labels))
        scaler.scale(loss / CFG.n_accumulate).backward()
        if (step + 1) % CFG.n_accumulate == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), CFG.max_grad_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            ema.update_parameters(model)
            scheduler.step()
    return losses.avg


@torch.no_grad()
def valid_fn(loader, model):
    model.eval()
    preds, targets = [], []
    for images, labels in loader:
        preds.append(model(images.to(CFG.device)).sigmoid().cpu().numpy())
        targets.append(labels.numpy())
    preds, targets = np.concatenate(preds), np.concatenate(targets)
    return roc_auc_score(targets, preds, average="macro"), preds


def train_loop(df, fold):
    trn, val = df[df.fold != fold].reset_index(drop=True), df[df.fold == fold].reset_index(drop=True)
    train_loader = DataLoader(FruitDataset(trn, True), CFG.batch_size, shuffle=True, drop_last=True, num_workers=CFG.num_workers)
    valid_loader = DataLoader(FruitDataset(val, False), CFG.valid_bs, shuffle=False, num_workers=CFG.num_workers)
    model = timm.create_model(CFG.model_name, pretrained=True, num_classes=len(CFG.labels)).to(CFG.device)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.998), use_buffers=True)
    optimizer = get_optimizer(model)
    scheduler = get_scheduler(optimizer, len(train_loader))
    scaler = torch.cuda.amp.GradScaler()
    criterion = nn.BCEWithLogitsLoss()
    best = 0.0
    for epoch in range(CFG.epochs):
        loss = train_fn(train_loader, model, ema, criterion, optimizer, scheduler, scaler)
        score, preds = valid_fn(valid_loader, ema)
        print(f"fold {fold} epoch {epoch + 1} loss {loss:.4f} auc {score:.4f} lr {scheduler.get_last_lr()[0]:.2e}")
        if score > best:
            best = score
            torch.save({"model": ema.module.state_dict(), "preds": preds}, f"fold{fold}_best.pth")
    val[CFG.labels] = torch.load(f"fold{fold}_best.pth", weights_only=False)["preds"]
    del model, ema
    gc.collect()
    torch.cuda.empty_cache()
    return val


if __name__ == "__main__":
    seed_everything(CFG.seed)
    df = pd.read_csv("train.csv")
    df["fold"] = -1
    for f, (_, v) in enumerate(GroupKFold(CFG.n_fold).split(df, groups=df.tree)):
        df.loc[v, "fold"] = f
    truth = df.set_index("file")[CFG.labels]
    oof = pd.concat([train_loop(df, f) for f in range(CFG.n_fold)])
    print("CV", roc_auc_score(truth.loc[oof.file].values, oof[CFG.labels].values, average="macro"))
