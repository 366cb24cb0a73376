# ruff: noqa: E501
"""Equal rewrites of right programs, held against the original: a tagger, a segmentation, contrastive learning, a table, Q-learning.

Each says the same in another way: no finding and no cause at 0.5 or above may come of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ._rewrites import findings, likely, told

TAGGER = """
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, Dataset

PAD = 0

def read(path):
    rows, words, tags = [], [], []
    for line in open(path):
        parts = line.split()
        if not parts:
            if words:
                rows.append((words, tags))
            words, tags = [], []
        else:
            words.append(parts[0].lower())
            tags.append(parts[-1])
    if words:
        rows.append((words, tags))
    return rows

def number(values, first):
    found = dict(first)
    for v in values:
        found.setdefault(v, len(found))
    return found

class Rows(Dataset):
    def __init__(self, rows, words, tags):
        self.rows, self.words, self.tags = rows, words, tags

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        w, t = self.rows[i]
        return torch.tensor([self.words.get(x, 1) for x in w]), torch.tensor([self.tags[x] for x in t])

def collate(batch):
    lengths = torch.tensor([len(x) for x, _ in batch])
    x = pad_sequence([x for x, _ in batch], batch_first=True, padding_value=PAD)
    y = pad_sequence([y for _, y in batch], batch_first=True, padding_value=-100)
    return x, y, lengths

class Tagger(nn.Module):
    def __init__(self, words, tags, dim=100, hidden=200):
        super().__init__()
        self.emb = nn.Embedding(words, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, hidden, 2, batch_first=True, bidirectional=True, dropout=0.3)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, x, lengths):
        e = self.drop(self.emb(x))
        packed = pack_padded_sequence(e, lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = self.rnn(packed)
        h, _ = pad_packed_sequence(h, batch_first=True, total_length=x.size(1))
        return self.out(self.drop(h))

def run(net, loader, criterion, opt=None):
    train = opt is not None
    net.train(train)
    total = right = count = 0
    with torch.set_grad_enabled(train):
        for x, y, lengths in loader:
            logits = net(x, lengths)
            loss = criterion(logits.view(-1, logits.size(-1)), y.view(-1))
            if train:
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 5.0)
                opt.step()
            known = y != -100
            n = known.sum().item()
            total += loss.item() * n
            right += ((logits.argmax(-1) == y) & known).sum().item()
            count += n
    return total / count, right / count

def main():
    torch.manual_seed(3)
    train_rows, dev_rows, test_rows = (read(f"{s}.conll") for s in ("train", "dev", "test"))
    words = number((w for r, _ in train_rows for w in r), {"<pad>": PAD, "<unk>": 1})
    tags = number((t for _, r in train_rows for t in r), {})
    train = DataLoader(Rows(train_rows, words, tags), 32, shuffle=True, collate_fn=collate)
    dev = DataLoader(Rows(dev_rows, words, tags), 64, collate_fn=collate)
    test = DataLoader(Rows(test_rows, words, tags), 64, collate_fn=collate)
    net = Tagger(len(words), len(tags))
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.5, patience=2)
    best = -1.0
    for epoch in range(40):
        loss, _ = run(net, train, criterion, opt)
        dev_loss, acc = run(net, dev, criterion)
        sched.step(acc)
        print(epoch, loss, dev_loss, acc)
        if acc > best:
            best = acc
            torch.save(net.state_dict(), "tagger.pt")
    net.load_state_dict(torch.load("tagger.pt"))
    print("test", run(net, test, criterion))

if __name__ == "__main__":
    main()
"""
UNET = """
import glob
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

class Scans(Dataset):
    def __init__(self, files, train):
        self.files, self.train = files, train

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        image = np.asarray(Image.open(self.files[i]).convert("L"), dtype=np.float32) / 255.0
        mask = np.asarray(Image.open(self.files[i].replace("image", "mask")), dtype=np.int64)
        if self.train and np.random.rand() < 0.5:
            image, mask = image[:, ::-1], mask[:, ::-1]
        image = (image - 0.45) / 0.22
        return torch.from_numpy(image.copy())[None], torch.from_numpy(mask.copy())

def double(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(8, o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(8, o), nn.ReLU())

class UNet(nn.Module):
    def __init__(self, classes, base=32):
        super().__init__()
        self.d1, self.d2, self.d3 = double(1, base), double(base, 2 * base), double(2 * base, 4 * base)
        self.u2, self.u1 = double(6 * base, 2 * base), double(3 * base, base)
        self.out = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2, mode="nearest"), b], 1))
        a = self.u1(torch.cat([F.interpolate(b, scale_factor=2, mode="nearest"), a], 1))
        return self.out(a)

def dice_loss(logits, target, eps=1.0):
    prob = logits.softmax(1)
    hot = F.one_hot(target, logits.shape[1]).permute(0, 3, 1, 2).float()
    inter = (prob * hot).sum((0, 2, 3))
    total = prob.sum((0, 2, 3)) + hot.sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (total + eps)).mean()

def objective(logits, target):
    return F.cross_entropy(logits, target) + dice_loss(logits, target)

@torch.no_grad()
def mean_iou(net, loader, classes):
    net.eval()
    inter, union = torch.zeros(classes), torch.zeros(classes)
    for x, y in loader:
        pred = net(x.cuda()).argmax(1).cpu()
        for c in range(classes):
            inter[c] += ((pred == c) & (y == c)).sum()
            union[c] += ((pred == c) | (y == c)).sum()
    return (inter / union.clamp(min=1)).mean().item()

def main(classes=4, epochs=60):
    torch.manual_seed(0)
    files = sorted(glob.glob("scans/image_*.png"))
    rng = np.random.RandomState(0)
    rng.shuffle(files)
    cut = int(0.8 * len(files))
    train = DataLoader(Scans(files[:cut], True), 8, shuffle=True, num_workers=4)
    val = DataLoader(Scans(files[cut:], False), 8)
    net = UNet(classes).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=5e-4, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 5e-4, epochs=epochs, steps_per_epoch=len(train))
    best = 0.0
    for epoch in range(epochs):
        net.train()
        for x, y in train:
            loss = objective(net(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        score = mean_iou(net, val, classes)
        print(epoch, loss.item(), score)
        if score > best:
            best = score
            torch.save(net.state_dict(), "unet.pt")

if __name__ == "__main__":
    main()
"""
SIMCLR = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms as T

class Pair:
    def __init__(self, t):
        self.t = t

    def __call__(self, image):
        return self.t(image), self.t(image)

class Net(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.body = models.resnet18(num_classes=10)
        width = self.body.fc.in_features
        self.body.fc = nn.Identity()
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, dim))

    def forward(self, x):
        return F.normalize(self.head(self.body(x)), dim=1)

def nt_xent(a, b, tau=0.5):
    n = a.size(0)
    z = torch.cat([a, b])
    sim = z @ z.t() / tau
    sim.fill_diagonal_(-1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, target)

def main():
    torch.manual_seed(0)
    t = T.Compose([T.RandomResizedCrop(32, (0.2, 1.0)), T.RandomHorizontalFlip(), T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], 0.8), T.RandomGrayscale(0.2), T.ToTensor(), T.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26))])
    data = datasets.CIFAR10("data", True, Pair(t), download=True)
    loader = DataLoader(data, 512, shuffle=True, num_workers=8, drop_last=True)
    net = Net().cuda()
    opt = torch.optim.SGD(net.parameters(), 0.6, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 200)
    for epoch in range(200):
        net.train()
        for (a, b), _ in loader:
            loss = nt_xent(net(a.cuda()), net(b.cuda()))
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        print(epoch, loss.item())
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "epoch": epoch}, "simclr.pt")

main()
"""
TABULAR = """
import numpy as np
import pandas as pd
import torch
from torch import nn
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

def load():
    frame = pd.read_csv("loans.csv")
    y = frame.pop("default").to_numpy(np.float32)
    frame = pd.get_dummies(frame, columns=["purpose", "state"], dtype=float)
    return frame.to_numpy(np.float32), y

class MLP(nn.Module):
    def __init__(self, n, hidden=128, drop=0.2):
        super().__init__()
        self.fc1 = nn.Linear(n, hidden)
        self.bn1 = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.bn2 = nn.BatchNorm1d(hidden)
        self.out = nn.Linear(hidden, 1)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        x = self.drop(torch.relu(self.bn1(self.fc1(x))))
        x = self.drop(torch.relu(self.bn2(self.fc2(x))))
        return self.out(x).squeeze(1)

def main():
    torch.manual_seed(0)
    x, y = load()
    x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)
    x_tr, x_va, y_tr, y_va = train_test_split(x_tr, y_tr, test_size=0.125, random_state=0, stratify=y_tr)
    scaler = StandardScaler().fit(x_tr)
    x_tr, x_va, x_te = (torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (x_tr, x_va, x_te))
    loader = DataLoader(TensorDataset(x_tr, torch.tensor(y_tr)), 256, shuffle=True, drop_last=True)
    net = MLP(x_tr.shape[1])
    weight = torch.tensor((1 - y_tr).sum() / y_tr.sum())
    criterion = nn.BCEWithLogitsLoss(pos_weight=weight)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-5)
    best, wait = 0.0, 0
    for epoch in range(100):
        net.train()
        for xb, yb in loader:
            opt.zero_grad()
            loss = criterion(net(xb), yb)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            auc = roc_auc_score(y_va, torch.sigmoid(net(x_va)).numpy())
        if auc > best:
            best, wait = auc, 0
            torch.save(net.state_dict(), "mlp.pt")
        else:
            wait += 1
            if wait >= 10:
                break
    net.load_state_dict(torch.load("mlp.pt"))
    net.eval()
    with torch.no_grad():
        print("test auc", roc_auc_score(y_te, torch.sigmoid(net(x_te)).numpy()))

main()
"""
DQN = """
import copy
import random
from collections import deque
import gymnasium as gym
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

def net(n, m):
    return nn.Sequential(nn.Linear(n, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, m))

class Memory:
    def __init__(self, size):
        self.rows = deque(maxlen=size)

    def push(self, *row):
        self.rows.append(row)

    def draw(self, n):
        cols = zip(*random.sample(self.rows, n))
        return tuple(torch.as_tensor(np.array(c), dtype=torch.float32) for c in cols)

env = gym.make("CartPole-v1")
q = net(4, 2)
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=5e-4)
memory = Memory(50_000)
step = 0
for episode in range(500):
    s, _ = env.reset(seed=episode)
    done, total = False, 0.0
    while not done:
        eps = max(0.05, 1.0 - step / 10_000)
        if random.random() < eps:
            a = env.action_space.sample()
        else:
            with torch.no_grad():
                a = q(torch.as_tensor(s, dtype=torch.float32)).argmax().item()
        s2, r, ended, cut, _ = env.step(a)
        memory.push(s, a, r, s2, float(ended))
        s, done, total = s2, ended or cut, total + r
        step += 1
        if len(memory.rows) >= 1000:
            bs, ba, br, bn, bd = memory.draw(64)
            with torch.no_grad():
                best = q(bn).argmax(1, keepdim=True)
                y = br + 0.99 * (1 - bd) * target(bn).gather(1, best).squeeze(1)
            value = q(bs).gather(1, ba.long().unsqueeze(1)).squeeze(1)
            loss = F.smooth_l1_loss(value, y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(q.parameters(), 10.0)
            opt.step()
            if step % 500 == 0:
                target.load_state_dict(q.state_dict())
    print(episode, total)
torch.save(q.state_dict(), "dqn.pt")
"""
Rewrite = tuple[str, tuple[tuple[str, str], ...]]
REWRITES: dict[str, Rewrite] = {
    "tagger-masked-loss-by-hand": (
        TAGGER,
        (
            (
                """            loss = criterion(logits.view(-1, logits.size(-1)), y.view(-1))
""",
                """            each = nn.functional.cross_entropy(logits.transpose(1, 2), y, ignore_index=-100, reduction="none")
            mask = (y != -100).float()
            loss = (each * mask).sum() / mask.sum()
""",
            ),
        ),
    ),
    "tagger-masked-select": (
        TAGGER,
        (
            (
                """            loss = criterion(logits.view(-1, logits.size(-1)), y.view(-1))
""",
                """            keep = y != -100
            loss = nn.functional.cross_entropy(logits[keep], y[keep])
""",
            ),
        ),
    ),
    "tagger-padded-by-numpy": (
        TAGGER,
        (
            (
                """    x = pad_sequence([x for x, _ in batch], batch_first=True, padding_value=PAD)
    y = pad_sequence([y for _, y in batch], batch_first=True, padding_value=-100)
    return x, y, lengths
""",
                """    longest = int(lengths.max())
    x = torch.full((len(batch), longest), PAD)
    y = torch.full((len(batch), longest), -100)
    for i, (a, b) in enumerate(batch):
        x[i, :len(a)] = a
        y[i, :len(b)] = b
    return x, y, lengths
""",
            ),
        ),
    ),
    "tagger-sorted-lengths": (
        TAGGER,
        (
            (
                """        packed = pack_padded_sequence(e, lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = self.rnn(packed)
        h, _ = pad_packed_sequence(h, batch_first=True, total_length=x.size(1))
        return self.out(self.drop(h))
""",
                """        order = lengths.argsort(descending=True)
        packed = pack_padded_sequence(e[order], lengths[order].cpu(), batch_first=True)
        h = pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=x.size(1))[0]
        h = h[order.argsort()]
        return self.out(self.drop(h))
""",
            ),
        ),
    ),
    "unet-dice-flat": (
        UNET,
        (
            (
                """    prob = logits.softmax(1)
    hot = F.one_hot(target, logits.shape[1]).permute(0, 3, 1, 2).float()
    inter = (prob * hot).sum((0, 2, 3))
    total = prob.sum((0, 2, 3)) + hot.sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (total + eps)).mean()
""",
                """    classes = logits.size(1)
    prob = torch.softmax(logits, dim=1).transpose(0, 1).reshape(classes, -1)
    hot = torch.stack([target.reshape(-1) == c for c in range(classes)]).to(prob.dtype)
    inter = torch.einsum("cn,cn->c", prob, hot)
    dice = (2.0 * inter + eps) / (prob.sum(1) + hot.sum(1) + eps)
    return 1.0 - dice.mean()
""",
            ),
        ),
    ),
    "unet-criterion-class": (
        UNET,
        (
            (
                """def objective(logits, target):
    return F.cross_entropy(logits, target) + dice_loss(logits, target)
""",
                """class Objective(nn.Module):
    def __init__(self, ce=1.0, dice=1.0):
        super().__init__()
        self.ce, self.dice = ce, dice
        self.entropy = nn.CrossEntropyLoss()

    def forward(self, logits, target):
        return self.ce * self.entropy(logits, target) + self.dice * dice_loss(logits, target)

objective = Objective()
""",
            ),
        ),
    ),
    "unet-confusion-matrix": (
        UNET,
        (
            (
                """    inter, union = torch.zeros(classes), torch.zeros(classes)
    for x, y in loader:
        pred = net(x.cuda()).argmax(1).cpu()
        for c in range(classes):
            inter[c] += ((pred == c) & (y == c)).sum()
            union[c] += ((pred == c) | (y == c)).sum()
    return (inter / union.clamp(min=1)).mean().item()
""",
                """    table = torch.zeros(classes, classes)
    for x, y in loader:
        pred = net(x.cuda()).argmax(1).cpu()
        table += torch.bincount(classes * y.flatten() + pred.flatten(), minlength=classes ** 2).view(classes, classes)
    hit = table.diag()
    union = table.sum(0) + table.sum(1) - hit
    return (hit / union.clamp(min=1)).mean().item()
""",
            ),
        ),
    ),
    "unet-joint-transform": (
        UNET,
        (
            (
                """        if self.train and np.random.rand() < 0.5:
            image, mask = image[:, ::-1], mask[:, ::-1]
        image = (image - 0.45) / 0.22
        return torch.from_numpy(image.copy())[None], torch.from_numpy(mask.copy())
""",
                """        image, mask = torch.from_numpy(image.copy()), torch.from_numpy(mask.copy())
        if self.train and torch.rand(()) < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        return ((image - 0.45) / 0.22).unsqueeze(0), mask
""",
            ),
        ),
    ),
    "unet-module-list": (
        UNET,
        (
            (
                """        self.d1, self.d2, self.d3 = double(1, base), double(base, 2 * base), double(2 * base, 4 * base)
        self.u2, self.u1 = double(6 * base, 2 * base), double(3 * base, base)
        self.out = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2, mode="nearest"), b], 1))
        a = self.u1(torch.cat([F.interpolate(b, scale_factor=2, mode="nearest"), a], 1))
        return self.out(a)
""",
                """        widths = [base, 2 * base, 4 * base]
        self.down = nn.ModuleList([double(i, o) for i, o in zip([1, *widths], widths)])
        self.up = nn.ModuleList([double(a + b, b) for a, b in zip(widths[:0:-1], widths[-2::-1])])
        self.pool = nn.MaxPool2d(2)
        self.grow = nn.Upsample(scale_factor=2, mode="nearest")
        self.out = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else self.pool(x))
            kept.append(x)
        kept.pop()
        for block in self.up:
            x = block(torch.cat([self.grow(x), kept.pop()], dim=1))
        return self.out(x)
""",
            ),
        ),
    ),
    "unet-closures": (
        UNET,
        (
            (
                """        net.train()
        for x, y in train:
            loss = objective(net(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        score = mean_iou(net, val, classes)
""",
                """        loss = step_through(net, train, opt, sched)
        score = mean_iou(net, val, classes)
""",
            ),
            (
                """def main(classes=4, epochs=60):
""",
                """def step_through(net, loader, opt, sched):
    net.train()
    for images, masks in loader:
        images, masks = images.cuda(non_blocking=True), masks.cuda(non_blocking=True)
        opt.zero_grad(set_to_none=True)
        loss = objective(net(images), masks)
        loss.backward()
        opt.step()
        sched.step()
    return loss.detach()

def main(classes=4, epochs=60):
""",
            ),
        ),
    ),
    "simclr-one-pass": (
        SIMCLR,
        (
            (
                """            loss = nt_xent(net(a.cuda()), net(b.cuda()))
""",
                """            z = net(torch.cat([a, b]).cuda())
            loss = nt_xent(*z.chunk(2))
""",
            ),
        ),
    ),
    "simclr-masked-fill-diagonal": (
        SIMCLR,
        (
            (
                """    sim.fill_diagonal_(-1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, target)
""",
                """    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool, device=z.device), float("-inf"))
    target = torch.arange(2 * n, device=z.device).roll(n)
    return F.cross_entropy(sim, target)
""",
            ),
        ),
    ),
    "simclr-logsumexp-form": (
        SIMCLR,
        (
            (
                """    sim.fill_diagonal_(-1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, target)
""",
                """    sim.fill_diagonal_(float("-inf"))
    positive = (a * b).sum(1).repeat(2) / tau
    return (torch.logsumexp(sim, 1) - positive).mean()
""",
            ),
        ),
    ),
    "simclr-normalise-in-loss": (
        SIMCLR,
        (
            (
                """        return F.normalize(self.head(self.body(x)), dim=1)
""",
                """        return self.head(self.body(x))
""",
            ),
            (
                """    z = torch.cat([a, b])
""",
                """    z = F.normalize(torch.cat([a, b]), dim=1)
""",
            ),
        ),
    ),
    "tabular-scaler-by-hand": (
        TABULAR,
        (
            (
                """    scaler = StandardScaler().fit(x_tr)
    x_tr, x_va, x_te = (torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (x_tr, x_va, x_te))
""",
                """    mean, std = x_tr.mean(0), x_tr.std(0)
    std[std == 0] = 1.0
    x_tr, x_va, x_te = (torch.tensor((a - mean) / std, dtype=torch.float32) for a in (x_tr, x_va, x_te))
""",
            ),
        ),
    ),
    "tabular-rank-by-logits": (
        TABULAR,
        (
            (
                """            auc = roc_auc_score(y_va, torch.sigmoid(net(x_va)).numpy())
""",
                """            auc = roc_auc_score(y_va, net(x_va).numpy())
""",
            ),
            (
                """        print("test auc", roc_auc_score(y_te, torch.sigmoid(net(x_te)).numpy()))
""",
                """        print("test auc", roc_auc_score(y_te, net(x_te).numpy()))
""",
            ),
        ),
    ),
    "tabular-sequential": (
        TABULAR,
        (
            (
                """        self.fc1 = nn.Linear(n, hidden)
        self.bn1 = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.bn2 = nn.BatchNorm1d(hidden)
        self.out = nn.Linear(hidden, 1)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        x = self.drop(torch.relu(self.bn1(self.fc1(x))))
        x = self.drop(torch.relu(self.bn2(self.fc2(x))))
        return self.out(x).squeeze(1)
""",
                """        layers, width = [], n
        for _ in range(2):
            layers += [nn.Linear(width, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(drop)]
            width = hidden
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).flatten()
""",
            ),
        ),
    ),
    "tabular-batches-by-hand": (
        TABULAR,
        (
            (
                """    loader = DataLoader(TensorDataset(x_tr, torch.tensor(y_tr)), 256, shuffle=True, drop_last=True)
""",
                """    labels = torch.tensor(y_tr)
""",
            ),
            (
                """        for xb, yb in loader:
            opt.zero_grad()
            loss = criterion(net(xb), yb)
""",
                """        order = torch.randperm(len(x_tr))
        for i in range(0, len(order) - 255, 256):
            rows = order[i:i + 256]
            opt.zero_grad()
            loss = criterion(net(x_tr[rows]), labels[rows])
""",
            ),
        ),
    ),
    "tabular-decay-in-loss-free": (
        TABULAR,
        (
            (
                """    best, wait = 0.0, 0
    for epoch in range(100):
""",
                """    best, since = 0.0, 0
    for epoch in range(100):
        if since >= 10:
            break
""",
            ),
            (
                """            best, wait = auc, 0
            torch.save(net.state_dict(), "mlp.pt")
        else:
            wait += 1
            if wait >= 10:
                break
""",
                """            best, since = auc, 0
            torch.save(net.state_dict(), "mlp.pt")
        else:
            since += 1
""",
            ),
        ),
    ),
    "dqn-index-instead-of-gather": (
        DQN,
        (
            (
                """            value = q(bs).gather(1, ba.long().unsqueeze(1)).squeeze(1)
""",
                """            value = q(bs)[torch.arange(len(ba)), ba.long()]
""",
            ),
        ),
    ),
    "dqn-where-for-ended": (
        DQN,
        (
            (
                """                y = br + 0.99 * (1 - bd) * target(bn).gather(1, best).squeeze(1)
""",
                """                ahead = target(bn).gather(1, best).flatten()
                y = br + 0.99 * torch.where(bd.bool(), torch.zeros_like(ahead), ahead)
""",
            ),
        ),
    ),
    "dqn-class-agent": (
        DQN,
        (
            (
                """            loss = F.smooth_l1_loss(value, y)
""",
                """            loss = nn.SmoothL1Loss()(value, y.detach())
""",
            ),
            (
                """            if step % 500 == 0:
                target.load_state_dict(q.state_dict())
""",
                """            if step % 500 == 0:
                with torch.no_grad():
                    for old, new in zip(target.parameters(), q.parameters()):
                        old.copy_(new)
""",
            ),
        ),
    ),
    "dqn-array-memory": (
        DQN,
        (
            (
                """        self.rows = deque(maxlen=size)

    def push(self, *row):
        self.rows.append(row)
""",
                """        self.rows, self.size, self.at = [], size, 0

    def push(self, *row):
        if len(self.rows) < self.size:
            self.rows.append(row)
        else:
            self.rows[self.at] = row
        self.at = (self.at + 1) % self.size
""",
            ),
        ),
    ),
}


@pytest.mark.parametrize("slug", sorted(REWRITES))
def test_an_equal_rewrite_is_not_blamed(slug: str, tmp_path: Path) -> None:
    """Neither a finding nor a cause that is held likely."""
    said = told(tmp_path, *REWRITES[slug])

    assert findings(said) == []
    assert likely(said) == []
