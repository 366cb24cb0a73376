import os
import random
import numpy as np
import pandas as pd
import cv2
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from torch.utils.data import DataLoader, Dataset
import albumentations as A
from albumentations.pytorch import ToTensorV2


class CFG:
    seed = 42
    size = 224
    bs = 32
    epochs = 12
    n_fold = 5
    trn_fold = [0, 1]
    n_class = 18
    lr = 3e-4
    head_lr = 1e-3
    wd = 1e-2
    emb = 256
    freeze_epochs = 1
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def seed_everything(seed):
    random.seed(seed)
    os.environ['PYTHONHASHSEED'] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


seed_everything(CFG.seed)
df = pd.read_csv('../input/cheese/train.csv')
skf = StratifiedKFold(n_splits=CFG.n_fold, shuffle=True, random_state=CFG.seed)
for f, (_, v) in enumerate(skf.split(df, df.label)):
    df.loc[v, 'fold'] = f

norm = dict(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
tfm = {
    'train': A.Compose([A.RandomResizedCrop(size=(CFG.size, CFG.size), scale=(0.6, 1.0)), A.HorizontalFlip(p=0.5), A.Normalize(**norm), ToTensorV2()]),
    'valid': A.Compose([A.Resize(CFG.size, CFG.size), A.Normalize(**norm), ToTensorV2()]),
}


class CheeseDataset(Dataset):
    def __init__(self, df, tfm):
        self.files = df.file.values
        self.labels = df.label.values
        self.tfm = tfm

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        img = cv2.cvtColor(cv2.imread(f'../input/cheese/img/{self.files[i]}'), cv2.COLOR_BGR2RGB)
        return self.tfm(image=img)['image'], torch.tensor(self.labels[i]).long()


class GeM(nn.Module):
    def __init__(self, p=3.0, eps=1e-6):
        super().__init__()
        self.p = nn.Parameter(torch.ones(1) * p)
        self.eps = eps

    def forward(self, x):
        x = x.clamp(min=self.eps).pow(self.p)
        return F.avg_pool2d(x, (x.size(-2), x.size(-1))).pow(1.0 / self.p).flatten(1)


class CheeseModel(nn.Module):
    def __init__(self):
        super().__init__()
        net = torchvision.models.resnet34(weights=torchvision.models.ResNet34_Weights.IMAGENET1K_V1)
        self.backbone = nn.Sequential(*list(net.children())[:-2])
        self.pool = GeM()
        self.neck = nn.Sequential(nn.Linear(512, CFG.emb), nn.BatchNorm1d(CFG.emb), nn.PReLU())
        self.drop = nn.ModuleList([nn.Dropout(0.3) for _ in range(5)])
        self.head = nn.Linear(CFG.emb, CFG.n_class)

    def forward(self, x):
        x = self.pool(self.backbone(x))
        x = self.neck(x)
        return torch.stack([self.head(d(x)) for d in self.drop], dim=0).mean(dim=0)


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, val, n):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def set_backbone(model, flag):
    for p in model.backbone.parameters():
        p.requires_grad = flag


def train_fn(loader, model, criterion, optimizer, scheduler):
    model.train()
    losses = AverageMeter()
    for x, y in loader:
        x, y = x.to(CFG.device), y.to(CFG.device)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.update(loss.item(), x.size(0))
    return losses.avg


@torch.no_grad()
def valid_fn(loader, model):
    model.eval()
    preds, targets = [], []
    for x, y in loader:
        preds.append(model(x.to(CFG.device)).softmax(1).cpu().numpy())
        targets.append(y.numpy())
    return np.concatenate(preds), np.concatenate(targets)


def run_fold(fold):
    trn, val = df[df.fold != fold], df[df.fold == fold]
    trn_loader = DataLoader(CheeseDataset(trn, tfm['train']), batch_size=CFG.bs, shuffle=True, drop_last=True, num_workers=4)
    val_loader = DataLoader(CheeseDataset(val, tfm['valid']), batch_size=CFG.bs * 2, shuffle=False, num_workers=4)
    model = CheeseModel().to(CFG.device)
    optimizer = torch.optim.AdamW([
        {'params': model.backbone.parameters(), 'lr': CFG.lr},
        {'params': model.pool.parameters(), 'lr': CFG.head_lr},
        {'params': model.neck.parameters(), 'lr': CFG.head_lr},
        {'params': model.head.parameters(), 'lr': CFG.head_lr},
    ], weight_decay=CFG.wd)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[CFG.lr, CFG.head_lr, CFG.head_lr, CFG.head_lr], total_steps=CFG.epochs * len(trn_loader))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    best = 0
    for epoch in range(CFG.epochs):
        set_backbone(model, epoch >= CFG.freeze_epochs)
        tl = train_fn(trn_loader, model, criterion, optimizer, scheduler)
        p, t = valid_fn(val_loader, model)
        score = f1_score(t, p.argmax(1), average='macro')
        print(f'fold {fold} epoch {epoch} loss {tl:.4f} f1 {score:.4f}')
        if score > best:
            best = score
            torch.save(model.state_dict(), f'fold{fold}.pth')
    return best


if __name__ == '__main__':
    print('cv', np.mean([run_fold(f) for f in CFG.trn_fold]))
