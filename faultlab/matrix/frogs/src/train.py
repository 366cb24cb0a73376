import os
import random

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import GroupKFold
from torch.utils.data import DataLoader, Dataset


class CFG:
    seed = 77
    n_fold = 4
    trn_fold = [0, 1, 2, 3]
    n_label = 12
    epochs = 8
    lr = 2e-3
    batch_size = 48
    out = './out'
    device = 'cuda' if torch.cuda.is_available() else 'cpu'


os.makedirs(CFG.out, exist_ok=True)
random.seed(CFG.seed)
np.random.seed(CFG.seed)
torch.manual_seed(CFG.seed)

train = pd.read_csv('ponds.csv')
label_cols = [f'frog{i}' for i in range(CFG.n_label)]
for fold, (_, val_idx) in enumerate(GroupKFold(CFG.n_fold).split(train, groups=train['pond'])):
    train.loc[val_idx, 'fold'] = fold


class PondDataset(Dataset):
    def __init__(self, df):
        self.files = df['file'].values
        self.labels = df[label_cols].values.astype(np.float32)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        mel = np.load(f'mel/{self.files[idx]}.npy').astype(np.float32)
        mel = (mel + 40.) / 40.
        return torch.from_numpy(mel)[None], torch.from_numpy(self.labels[idx])


class FrogNet(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 1
        for d in (16, 32, 64):
            layers += [nn.Conv2d(c, d, 3, padding=1, bias=False), nn.BatchNorm2d(d), nn.ReLU(), nn.MaxPool2d(2)]
            c = d
        self.body = nn.Sequential(*layers)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(c, CFG.n_label)

    def forward(self, x):
        return self.fc(self.drop(self.body(x).mean((2, 3))))


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def get_score(y_true, y_prob):
    return {'map': average_precision_score(y_true, y_prob, average='macro'),
            'auc': roc_auc_score(y_true, y_prob, average='macro'),
            'f1': f1_score(y_true, y_prob > 0.5, average='macro')}


def train_fn(loader, model, criterion, optimizer):
    model.train()
    losses = AverageMeter()
    for images, labels in loader:
        images, labels = images.to(CFG.device), labels.to(CFG.device)
        loss = criterion(model(images), labels)
        losses.update(loss.item(), labels.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses.avg


def valid_fn(loader, model, criterion):
    model.eval()
    losses = AverageMeter()
    preds, trues = [], []
    for images, labels in loader:
        images, labels = images.to(CFG.device), labels.to(CFG.device)
        with torch.no_grad():
            y_preds = model(images)
        losses.update(criterion(y_preds, labels).item(), labels.size(0))
        preds.append(y_preds.sigmoid().cpu().numpy())
        trues.append(labels.cpu().numpy())
    return losses.avg, np.concatenate(preds), np.concatenate(trues)


def train_loop(fold):
    trn_df = train[train['fold'] != fold].reset_index(drop=True)
    val_df = train[train['fold'] == fold].reset_index(drop=True)
    train_loader = DataLoader(PondDataset(trn_df), batch_size=CFG.batch_size, shuffle=True, drop_last=True)
    valid_loader = DataLoader(PondDataset(val_df), batch_size=CFG.batch_size * 2, shuffle=False)
    model = FrogNet().to(CFG.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=CFG.epochs)
    criterion = nn.BCEWithLogitsLoss()
    best_score = 0.
    path = f'{CFG.out}/fold{fold}_best.pth'
    for epoch in range(CFG.epochs):
        avg_loss = train_fn(train_loader, model, criterion, optimizer)
        avg_val_loss, preds, trues = valid_fn(valid_loader, model, criterion)
        scheduler.step()
        score = get_score(trues, preds)
        print(f'[{fold}] {epoch} loss {avg_loss:.4f} val {avg_val_loss:.4f} map {score["map"]:.4f} auc {score["auc"]:.4f}')
        if score['map'] > best_score:
            best_score = score['map']
            torch.save({'model': model.state_dict(), 'preds': preds}, path)
    return torch.load(path, weights_only=False)['preds']


oof = np.zeros((len(train), CFG.n_label), dtype=np.float32)
for fold in CFG.trn_fold:
    oof[(train['fold'] == fold).values] = train_loop(fold)
result = get_score(train[label_cols].values, oof)
print('CV', result)
np.save(f'{CFG.out}/oof.npy', oof)
