import random
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, Dataset


class CFG:
    seed = 2023
    n_fold = 5
    epochs = 8
    lr = 2e-3
    bs = 256
    target = "missed"
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


random.seed(CFG.seed)
np.random.seed(CFG.seed)
torch.manual_seed(CFG.seed)

# appointment_id, patient_id, clinic, weekday, age, distance_m, fee_cents, days_ahead, reminder_hours, missed
train = pd.read_csv("input/train.csv", parse_dates=["slot"]).sort_values("slot").reset_index(drop=True)
test = pd.read_csv("input/test.csv", parse_dates=["slot"])
for df in (train, test):
    df["hour"] = df["slot"].dt.hour
    df["fee_cents"] = np.log1p(df["fee_cents"])
CATS = ["clinic", "weekday"]
NUMS = ["age", "distance_m", "fee_cents", "days_ahead", "reminder_hours", "hour"]
print("patients", train["patient_id"].nunique(), "visits", len(train))

train["fold"] = -1
folds = GroupKFold(n_splits=CFG.n_fold)
for f, (_, idx) in enumerate(folds.split(train, train[CFG.target], groups=train["patient_id"])):
    train.loc[idx, "fold"] = f


def encode(tr, va, te, col):
    prior = tr[CFG.target].mean()
    enc = np.full(len(tr), prior)
    for a, b in KFold(5, shuffle=True, random_state=CFG.seed).split(tr):
        means = tr.iloc[a].groupby(col)[CFG.target].mean()
        enc[b] = tr.iloc[b][col].map(means).fillna(prior)
    means = tr.groupby(col)[CFG.target].mean()
    return enc, va[col].map(means).fillna(prior).values, te[col].map(means).fillna(prior).values


class VisitDataset(Dataset):
    def __init__(self, x, y=None):
        self.x = torch.tensor(x, dtype=torch.float32)
        self.y = None if y is None else torch.tensor(y, dtype=torch.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return (self.x[i], self.y[i]) if self.y is not None else self.x[i]


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, v, n):
        self.sum += v * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def train_fn(model, loader, opt, sched, crit):
    model.train()
    losses = AverageMeter()
    for x, y in loader:
        x, y = x.to(CFG.device), y.to(CFG.device)
        loss = crit(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        losses.update(loss.item(), len(y))
    return losses.avg


def valid_fn(model, loader):
    model.eval()
    out = []
    with torch.no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            out.append(model(x.to(CFG.device)).squeeze(1).sigmoid().cpu().numpy())
    return np.concatenate(out)


oof = np.zeros(len(train))
sub = np.zeros(len(test))
for fold in range(CFG.n_fold):
    tr = train[train["fold"] != fold].reset_index(drop=True)
    va = train[train["fold"] == fold]
    med = tr[NUMS].median()
    scaler = StandardScaler().fit(tr[NUMS].fillna(med))
    x_tr = scaler.transform(tr[NUMS].fillna(med))
    x_va = scaler.transform(va[NUMS].fillna(med))
    x_te = scaler.transform(test[NUMS].fillna(med))
    for col in CATS:
        e_tr, e_va, e_te = encode(tr, va, test, col)
        x_tr, x_va, x_te = np.c_[x_tr, e_tr], np.c_[x_va, e_va], np.c_[x_te, e_te]
    train_loader = DataLoader(VisitDataset(x_tr, tr[CFG.target].values), batch_size=CFG.bs, shuffle=True, drop_last=True)
    valid_loader = DataLoader(VisitDataset(x_va, va[CFG.target].values), batch_size=CFG.bs)
    test_loader = DataLoader(VisitDataset(x_te), batch_size=CFG.bs)
    model = nn.Sequential(nn.Linear(x_tr.shape[1], 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))
    model.to(CFG.device)
    opt = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, CFG.lr, total_steps=CFG.epochs * len(train_loader))
    best = 0.0
    for epoch in range(CFG.epochs):
        loss = train_fn(model, train_loader, opt, sched, nn.BCEWithLogitsLoss())
        pred = valid_fn(model, valid_loader)
        auc = roc_auc_score(va[CFG.target], pred)
        print(f"fold {fold} epoch {epoch} loss {loss:.4f} auc {auc:.4f}")
        if auc > best:
            best = auc
            oof[va.index] = pred
            torch.save(model.state_dict(), f"fold{fold}.pth")
    model.load_state_dict(torch.load(f"fold{fold}.pth"))
    sub += valid_fn(model, test_loader) / CFG.n_fold
print("cv", roc_auc_score(train[CFG.target], oof))
test.assign(missed=sub)[["appointment_id", "missed"]].to_csv("submission.csv", index=False)
