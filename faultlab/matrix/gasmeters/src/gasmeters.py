import gc
import os
import random

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torchvision.transforms as T
from PIL import Image
from sklearn.model_selection import StratifiedKFold
from torch.utils.data import DataLoader, Dataset


class CFG:
    seed = 42
    n_fold = 4
    size = 64
    epochs = 12
    bs = 64
    lr = 1e-3
    wd = 1e-2
    mix_p = 0.5
    alpha = 0.4
    n_classes = 10
    device = "cuda" if torch.cuda.is_available() else "cpu"


def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class AverageMeter:
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def get_transforms(data):
    if data == "train":
        return T.Compose([
            T.RandomResizedCrop(CFG.size, scale=(0.8, 1.0)),
            T.RandomRotation(8),
            T.ColorJitter(0.2, 0.2, 0.2),
            T.ToTensor(),
            T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            T.RandomErasing(p=0.25, scale=(0.02, 0.1)),
        ])
    return T.Compose([
        T.Resize((CFG.size, CFG.size)),
        T.ToTensor(),
        T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])


class DigitDataset(Dataset):
    """Single wheels of gas meters, digits 0 to 9."""

    def __init__(self, df, transform):
        self.files = df["file"].values
        self.labels = df["digit"].values
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        image = Image.open(f"../input/meters/{self.files[idx]}").convert("RGB")
        return self.transform(image), torch.tensor(self.labels[idx]).long()


def rand_bbox(h, w, lam):
    ratio = np.sqrt(1.0 - lam)
    ch, cw = int(h * ratio), int(w * ratio)
    cy, cx = np.random.randint(h), np.random.randint(w)
    y1, y2 = np.clip(cy - ch // 2, 0, h), np.clip(cy + ch // 2, 0, h)
    x1, x2 = np.clip(cx - cw // 2, 0, w), np.clip(cx + cw // 2, 0, w)
    return y1, y2, x1, x2


def mix(images, labels):
    perm = torch.randperm(images.size(0), device=images.device)
    lam = np.random.beta(CFG.alpha, CFG.alpha)
    if np.random.rand() < 0.5:
        images = lam * images + (1 - lam) * images[perm]
    else:
        h, w = images.shape[2:]
        y1, y2, x1, x2 = rand_bbox(h, w, lam)
        mixed = images.clone()
        mixed[:, :, y1:y2, x1:x2] = images[perm][:, :, y1:y2, x1:x2]
        lam = 1.0 - (y2 - y1) * (x2 - x1) / (h * w)
        images = mixed
    return images, labels, labels[perm], lam


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 3
        for n in (32, 64, 128):
            layers += [nn.Conv2d(c, n, 3, padding=1, bias=False), nn.BatchNorm2d(n), nn.ReLU(), nn.MaxPool2d(2)]
            c = n
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.fc = nn.Linear(c * 4, CFG.n_classes)

    def forward(self, x):
        return self.fc(self.body(x))


def train_fn(loader, model, criterion, optimizer, scheduler):
    model.train()
    losses = AverageMeter()
    for images, labels in loader:
        images, labels = images.to(CFG.device), labels.to(CFG.device)
        if np.random.rand() < CFG.mix_p:
            images, la, lb, lam = mix(images, labels)
            preds = model(images)
            loss = lam * criterion(preds, la) + (1 - lam) * criterion(preds, lb)
        else:
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.update(loss.item(), labels.size(0))
    return losses.avg


def valid_fn(loader, model):
    model.eval()
    preds = []
    with torch.no_grad():
        for images, _ in loader:
            preds.append(model(images.to(CFG.device)).softmax(1).cpu().numpy())
    return np.concatenate(preds)


def train_loop(df, fold):
    tr, va = df[df.fold != fold].reset_index(drop=True), df[df.fold == fold].reset_index(drop=True)
    train_loader = DataLoader(DigitDataset(tr, get_transforms("train")), batch_size=CFG.bs, shuffle=True, num_workers=4, drop_last=True)
    valid_loader = DataLoader(DigitDataset(va, get_transforms("valid")), batch_size=CFG.bs * 2, shuffle=False, num_workers=4)
    model = Net().to(CFG.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=CFG.wd)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=CFG.lr, total_steps=CFG.epochs * len(train_loader))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    best = 0.0
    for epoch in range(CFG.epochs):
        avg_loss = train_fn(train_loader, model, criterion, optimizer, scheduler)
        preds = valid_fn(valid_loader, model)
        score = (preds.argmax(1) == va["digit"].values).mean()
        print(f"fold {fold} epoch {epoch} loss {avg_loss:.4f} acc {score:.4f}")
        if score > best:
            best = score
            torch.save({"model": model.state_dict(), "preds": preds}, f"fold{fold}.pth")
    va["pred"] = torch.load(f"fold{fold}.pth", weights_only=False)["preds"].argmax(1)
    gc.collect()
    return va


if __name__ == "__main__":
    seed_everything(CFG.seed)
    df = pd.read_csv("../input/meters/train.csv")
    df["fold"] = -1
    for f, (_, v) in enumerate(StratifiedKFold(CFG.n_fold, shuffle=True, random_state=CFG.seed).split(df, df["digit"])):
        df.loc[v, "fold"] = f
    oof = pd.concat([train_loop(df, f) for f in range(CFG.n_fold)])
    print("CV", (oof["pred"] == oof["digit"]).mean())
