# ruff: noqa: E501
"""Equal rewrites of right programs, held against the original: parts that were thought through again as a whole.

A loss or attention in other words, functions taken out and put in, another library for the same thing: neither a
finding nor a cause at 0.5 or above may come of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ._rewrites import findings, likely, told

VIT = """
import math
import json
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

WIDTH, HEADS, DEPTH, PATCH = 192, 3, 6, 4
EPOCHS, BATCH, LR, WD, WARM = 60, 256, 1e-3, 0.05, 5


class SelfAttention(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(width, width * 3)
        self.proj = nn.Linear(width, width)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.to_qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        weights = scores.softmax(dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(b, n, c)
        return self.drop(self.proj(out))


class Layer(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = SelfAttention(width, heads, drop)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, width * 4), nn.GELU(), nn.Linear(width * 4, width), nn.Dropout(drop))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class ViT(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.embed = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.cls = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.pos = nn.Parameter(torch.randn(1, (32 // PATCH) ** 2 + 1, WIDTH) * 0.02)
        self.layers = nn.ModuleList([Layer(WIDTH, HEADS, 0.1) for _ in range(DEPTH)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def accuracy(model, loader, device):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            pred = model(images).argmax(dim=1)
            right += (pred == labels).sum().item()
            total += labels.size(0)
    return right / total


def main():
    torch.manual_seed(7)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    norm = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    train_t = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), norm])
    test_t = transforms.Compose([transforms.ToTensor(), norm])
    train_set = datasets.CIFAR10("data", train=True, download=True, transform=train_t)
    test_set = datasets.CIFAR10("data", train=False, transform=test_t)
    train_loader = DataLoader(train_set, batch_size=BATCH, shuffle=True, drop_last=True, num_workers=4)
    test_loader = DataLoader(test_set, batch_size=512, num_workers=4)
    model = ViT(10).to(device)
    decay, plain = [], []
    for name, p in model.named_parameters():
        if p.ndim < 2 or name in ("cls", "pos"):
            plain.append(p)
        else:
            decay.append(p)
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": WD}, {"params": plain, "weight_decay": 0.0}], lr=LR)

    def factor(epoch):
        if epoch < WARM:
            return (epoch + 1) / WARM
        return 0.5 * (1 + math.cos(math.pi * (epoch - WARM) / (EPOCHS - WARM)))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    best = 0.0
    history = []
    for epoch in range(EPOCHS):
        model.train()
        running = 0.0
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)
            logits = model(images)
            loss = F.cross_entropy(logits, labels, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        scheduler.step()
        acc = accuracy(model, test_loader, device)
        history.append({"epoch": epoch, "loss": running / len(train_loader), "acc": acc})
        if acc > best:
            best = acc
            torch.save(model.state_dict(), "vit.pt")
    json.dump(history, open("history.json", "w"))


if __name__ == "__main__":
    main()
"""
TABLE = """
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.model_selection import train_test_split
from sklearn.metrics import roc_auc_score

NUMERIC = ["age", "income", "tenure", "calls"]
CATEGORIC = ["region", "plan"]


def load(path):
    table = pd.read_csv(path)
    table["income"] = np.log1p(table["income"])
    y = table["churned"].astype(int)
    train, test = train_test_split(table, test_size=0.2, random_state=3, stratify=y)
    train, val = train_test_split(train, test_size=0.25, random_state=3, stratify=train["churned"])
    mean, std = train[NUMERIC].mean(), train[NUMERIC].std()
    codes = {c: {v: i + 1 for i, v in enumerate(sorted(train[c].unique()))} for c in CATEGORIC}
    parts = []
    for part in (train, val, test):
        x = torch.tensor(((part[NUMERIC] - mean) / std).values, dtype=torch.float32)
        c = torch.tensor(np.stack([part[k].map(codes[k]).fillna(0).astype(int) for k in CATEGORIC], axis=1))
        t = torch.tensor(part["churned"].values, dtype=torch.float32)
        parts.append(TensorDataset(x, c, t))
    return parts, [len(codes[k]) + 1 for k in CATEGORIC]


class Net(nn.Module):
    def __init__(self, sizes, hidden=128):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(n, 8) for n in sizes])
        self.bn = nn.BatchNorm1d(len(NUMERIC))
        self.fc1 = nn.Linear(len(NUMERIC) + 8 * len(sizes), hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        self.drop = nn.Dropout(0.2)

    def forward(self, x, c):
        parts = [t(c[:, i]) for i, t in enumerate(self.tables)]
        h = torch.cat([self.bn(x)] + parts, dim=1)
        h = self.drop(torch.relu(self.fc1(h)))
        h = self.drop(torch.relu(self.fc2(h)))
        return self.out(h).squeeze(1)


def predict(net, loader):
    net.eval()
    scores, truth = [], []
    with torch.no_grad():
        for x, c, y in loader:
            scores.append(torch.sigmoid(net(x, c)))
            truth.append(y)
    return torch.cat(scores).numpy(), torch.cat(truth).numpy()


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    (train, val, test), sizes = load("customers.csv")
    loader = DataLoader(train, batch_size=256, shuffle=True)
    val_loader = DataLoader(val, batch_size=1024)
    test_loader = DataLoader(test, batch_size=1024)
    net = Net(sizes)
    y = train.tensors[2]
    pos_weight = (len(y) - y.sum()) / y.sum()
    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
    best, patience = 0.0, 0
    for epoch in range(40):
        net.train()
        total = 0.0
        for x, c, t in loader:
            optimizer.zero_grad()
            loss = criterion(net(x, c), t)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(t)
        scheduler.step()
        scores, truth = predict(net, val_loader)
        auc = roc_auc_score(truth, scores)
        print("epoch %d loss %.4f auc %.4f" % (epoch, total / len(train), auc))
        if auc > best:
            best, patience = auc, 0
            torch.save(net.state_dict(), "net.pt")
        else:
            patience += 1
            if patience >= 6:
                break
    net.load_state_dict(torch.load("net.pt"))
    scores, truth = predict(net, test_loader)
    print("test auc", roc_auc_score(truth, scores))


main()
"""
GAN = """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.utils import save_image

NZ = 100


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(NZ, 256, 4, 1, 0, bias=False), nn.BatchNorm2d(256), nn.ReLU(True),
            nn.ConvTranspose2d(256, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.ReLU(True),
            nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(True),
            nn.ConvTranspose2d(64, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(64, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(128, 256, 4, 2, 1, bias=False), nn.BatchNorm2d(256), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(256, 1, 4, 1, 0, bias=False))

    def forward(self, x):
        return self.main(x).view(-1)


def main():
    torch.manual_seed(999)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    tf = transforms.Compose([transforms.Resize(32), transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
    loader = DataLoader(datasets.MNIST("data", download=True, transform=tf), batch_size=128, shuffle=True, num_workers=2)
    netG, netD = Generator().to(device), Discriminator().to(device)
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion = nn.BCEWithLogitsLoss()
    fixed = torch.randn(64, NZ, 1, 1, device=device)
    optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for epoch in range(25):
        for real, _ in loader:
            real = real.to(device)
            b = real.size(0)
            netD.zero_grad()
            label = torch.full((b,), 1.0, device=device)
            errD_real = criterion(netD(real), label)
            errD_real.backward()
            noise = torch.randn(b, NZ, 1, 1, device=device)
            fake = netG(noise)
            label.fill_(0.0)
            errD_fake = criterion(netD(fake.detach()), label)
            errD_fake.backward()
            optD.step()
            netG.zero_grad()
            label.fill_(1.0)
            errG = criterion(netD(fake), label)
            errG.backward()
            optG.step()
        with torch.no_grad():
            netG.eval()
            save_image(netG(fixed), f"fake_{epoch}.png", normalize=True)
            netG.train()
        torch.save({"g": netG.state_dict(), "d": netD.state_dict()}, "gan.pt")


main()
"""
DIFFUSION = """
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from model import UNet

T = 1000


def schedule(steps):
    beta = torch.linspace(1e-4, 0.02, steps)
    alpha = 1.0 - beta
    return beta, alpha, torch.cumprod(alpha, dim=0)


class Diffusion(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        beta, alpha, bar = schedule(T)
        self.register_buffer("beta", beta)
        self.register_buffer("alpha", alpha)
        self.register_buffer("bar", bar)

    def loss(self, x0):
        t = torch.randint(0, T, (x0.shape[0],), device=x0.device)
        noise = torch.randn_like(x0)
        bar = self.bar[t].view(-1, 1, 1, 1)
        xt = bar.sqrt() * x0 + (1 - bar).sqrt() * noise
        return F.mse_loss(self.net(xt, t), noise)

    @torch.no_grad()
    def sample(self, shape):
        x = torch.randn(shape, device=self.bar.device)
        for i in reversed(range(T)):
            t = torch.full((shape[0],), i, device=x.device)
            eps = self.net(x, t)
            mean = (x - self.beta[i] / (1 - self.bar[i]).sqrt() * eps) / self.alpha[i].sqrt()
            z = torch.randn_like(x) if i > 0 else 0.0
            x = mean + self.beta[i].sqrt() * z
        return x


def update(ema, net, decay):
    with torch.no_grad():
        for e, p in zip(ema.parameters(), net.parameters()):
            e.mul_(decay).add_(p, alpha=1 - decay)
        for e, b in zip(ema.buffers(), net.buffers()):
            e.copy_(b)


def main():
    torch.manual_seed(0)
    device = "cuda"
    tf = transforms.Compose([transforms.Resize(32), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Lambda(lambda x: x * 2 - 1)])
    loader = DataLoader(datasets.CIFAR10("data", transform=tf), batch_size=128, shuffle=True, drop_last=True, num_workers=4)
    model = Diffusion(UNet(3, 128)).to(device)
    ema = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    step = 0
    for epoch in range(200):
        for x, _ in loader:
            x = x.to(device)
            loss = model.loss(x)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            update(ema, model, 0.9995)
            step += 1
            if step % 100 == 0:
                print(step, loss.item())
        torch.save({"model": model.state_dict(), "ema": ema.state_dict(), "step": step}, "ddpm.pt")


main()
"""
SEGMENTS = """
import glob
import os
import cv2
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import Dataset, DataLoader
import segmentation_models_pytorch as smp

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
IGNORE = 255


class Roads(Dataset):
    def __init__(self, root, split, flip):
        self.images = sorted(glob.glob(os.path.join(root, split, "images", "*.png")))
        self.masks = sorted(glob.glob(os.path.join(root, split, "masks", "*.png")))
        assert len(self.images) == len(self.masks)
        self.flip = flip

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = cv2.cvtColor(cv2.imread(self.images[i]), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(self.masks[i], cv2.IMREAD_GRAYSCALE)
        if self.flip and np.random.rand() < 0.5:
            image, mask = image[:, ::-1], mask[:, ::-1]
        image = (image.astype(np.float32) / 255.0 - MEAN) / STD
        image = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
        return image, torch.from_numpy(np.ascontiguousarray(mask)).long()


def dice_loss(logits, target, eps=1.0):
    valid = target != IGNORE
    probs = logits.softmax(1)
    onehot = nn.functional.one_hot(target.clamp(max=logits.shape[1] - 1), logits.shape[1]).permute(0, 3, 1, 2)
    probs = probs * valid[:, None]
    onehot = onehot * valid[:, None]
    inter = (probs * onehot).sum((0, 2, 3))
    union = probs.sum((0, 2, 3)) + onehot.sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (union + eps)).mean()


def evaluate(model, loader, classes):
    model.eval()
    matrix = np.zeros((classes, classes), dtype=np.int64)
    with torch.no_grad():
        for image, mask in loader:
            pred = model(image.cuda()).argmax(1).cpu().numpy()
            mask = mask.numpy()
            keep = mask != IGNORE
            matrix += np.bincount(classes * mask[keep] + pred[keep], minlength=classes ** 2).reshape(classes, classes)
    inter = np.diag(matrix)
    union = matrix.sum(0) + matrix.sum(1) - inter
    return float(np.nanmean(inter / np.maximum(union, 1)))


def main():
    torch.manual_seed(5)
    np.random.seed(5)
    classes = 6
    train = DataLoader(Roads("data", "train", True), batch_size=8, shuffle=True, num_workers=4, drop_last=True)
    val = DataLoader(Roads("data", "val", False), batch_size=8, num_workers=4)
    model = smp.Unet("resnet34", encoder_weights="imagenet", classes=classes).cuda()
    ce = nn.CrossEntropyLoss(ignore_index=IGNORE)
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    total = 50 * len(train)
    scheduler = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=total, power=0.9)
    scaler = torch.cuda.amp.GradScaler()
    best = 0
    for epoch in range(50):
        model.train()
        for image, mask in train:
            image, mask = image.cuda(), mask.cuda()
            optimizer.zero_grad()
            with torch.cuda.amp.autocast():
                logits = model(image)
                loss = ce(logits, mask) + 0.5 * dice_loss(logits.float(), mask)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        miou = evaluate(model, val, classes)
        print(epoch, miou)
        if miou > best:
            best = miou
            torch.save(model.state_dict(), "best.pth")


main()
"""
KEYWORDS = """
import torch
import torch.nn.functional as F
import pytorch_lightning as pl
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, random_split
from pytorch_lightning.callbacks import ModelCheckpoint, EarlyStopping
from torchaudio.datasets import SPEECHCOMMANDS
from torchaudio.transforms import MelSpectrogram, AmplitudeToDB


class Commands(pl.LightningDataModule):
    def __init__(self, root, batch_size=64):
        super().__init__()
        self.root, self.batch_size = root, batch_size

    def setup(self, stage=None):
        self.train = SPEECHCOMMANDS(self.root, subset="training")
        self.val = SPEECHCOMMANDS(self.root, subset="validation")
        self.labels = sorted({self.train.get_metadata(i)[2] for i in range(len(self.train))})

    def collate(self, batch):
        waves = torch.zeros(len(batch), 16000)
        targets = []
        for i, (wave, rate, label, *_) in enumerate(batch):
            n = min(wave.shape[1], 16000)
            waves[i, :n] = wave[0, :n]
            targets.append(self.labels.index(label))
        return waves, torch.tensor(targets)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True, collate_fn=self.collate, num_workers=4)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=self.batch_size, collate_fn=self.collate, num_workers=4)


class KeywordNet(pl.LightningModule):
    def __init__(self, classes=35, lr=1e-3, weight_decay=1e-2, epochs=30):
        super().__init__()
        self.save_hyperparameters()
        self.mel = nn.Sequential(MelSpectrogram(16000, n_fft=512, hop_length=160, n_mels=64), AmplitudeToDB())
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(64)
        self.fc = nn.Linear(64, classes)
        self.acc = torchmetrics.Accuracy(task="multiclass", num_classes=classes)

    def forward(self, wave):
        x = self.mel(wave).unsqueeze(1)
        x = (x - x.mean((2, 3), keepdim=True)) / (x.std((2, 3), keepdim=True) + 1e-5)
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(x.mean((2, 3)))

    def training_step(self, batch, _):
        wave, y = batch
        loss = F.cross_entropy(self(wave), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        wave, y = batch
        logits = self(wave)
        self.acc(logits, y)
        self.log("val_loss", F.cross_entropy(logits, y), prog_bar=True)
        self.log("val_acc", self.acc, on_epoch=True, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.hparams.epochs)
        return [opt], [sched]


if __name__ == "__main__":
    pl.seed_everything(17)
    data = Commands("speech")
    model = KeywordNet()
    trainer = pl.Trainer(max_epochs=30, gradient_clip_val=1.0, callbacks=[ModelCheckpoint(monitor="val_acc", mode="max"), EarlyStopping(monitor="val_loss", patience=6)])
    trainer.fit(model, data)
"""
LOAD = """
import numpy as np
import pandas as pd
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

WINDOW, HORIZON = 48, 12
COLUMNS = ["load", "temp", "wind"]


def windows(values):
    x, y = [], []
    for i in range(len(values) - WINDOW - HORIZON + 1):
        x.append(values[i:i + WINDOW])
        y.append(values[i + WINDOW:i + WINDOW + HORIZON, 0])
    return np.array(x, np.float32), np.array(y, np.float32)


def build():
    model = keras.Sequential([
        layers.Input((WINDOW, len(COLUMNS))),
        layers.LSTM(64, return_sequences=True),
        layers.LSTM(32),
        layers.Dropout(0.2),
        layers.Dense(HORIZON),
    ])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="huber", metrics=["mae"])
    return model


def main():
    keras.utils.set_random_seed(4)
    frame = pd.read_csv("grid.csv", parse_dates=["time"]).sort_values("time")
    values = frame[COLUMNS].to_numpy(np.float32)
    n = len(values)
    train, val, test = values[:int(0.7 * n)], values[int(0.7 * n):int(0.85 * n)], values[int(0.85 * n):]
    mean, std = train.mean(axis=0), train.std(axis=0)
    train, val, test = (train - mean) / std, (val - mean) / std, (test - mean) / std
    x_train, y_train = windows(train)
    x_val, y_val = windows(val)
    x_test, y_test = windows(test)
    model = build()
    callbacks = [
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=8, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=3),
    ]
    model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=80, batch_size=128, callbacks=callbacks)
    pred = model.predict(x_test) * std[0] + mean[0]
    truth = y_test * std[0] + mean[0]
    print("test mae", np.abs(pred - truth).mean())


main()
"""
QLEARNING = """
import random
from collections import deque
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class QNet(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.fc1 = nn.Linear(obs, 128)
        self.fc2 = nn.Linear(128, 128)
        self.out = nn.Linear(128, act)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.out(x)


class Memory:
    def __init__(self, size):
        self.items = deque(maxlen=size)

    def push(self, *item):
        self.items.append(item)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.items, n))
        return (torch.tensor(np.array(s), dtype=torch.float32), torch.tensor(a), torch.tensor(r, dtype=torch.float32),
                torch.tensor(np.array(s2), dtype=torch.float32), torch.tensor(d, dtype=torch.float32))

    def __len__(self):
        return len(self.items)


GAMMA, TAU = 0.99, 0.005


def learn(q, target, opt, batch):
    s, a, r, s2, d = batch
    value = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        following = target(s2).max(1)[0]
        goal = r + GAMMA * following * (1 - d)
    loss = F.smooth_l1_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(q.parameters(), 100)
    opt.step()
    return loss.item()


def main():
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    env = gym.make("CartPole-v1")
    q, target = QNet(4, 2), QNet(4, 2)
    target.load_state_dict(q.state_dict())
    opt = torch.optim.AdamW(q.parameters(), lr=1e-4, amsgrad=True)
    memory = Memory(10000)
    steps = 0
    for episode in range(600):
        state, _ = env.reset(seed=episode)
        done, score = False, 0
        while not done:
            eps = 0.05 + 0.85 * np.exp(-steps / 1000)
            steps += 1
            if random.random() < eps:
                action = env.action_space.sample()
            else:
                with torch.no_grad():
                    action = q(torch.tensor(state).unsqueeze(0)).argmax(1).item()
            after, reward, ended, cut, _ = env.step(action)
            memory.push(state, action, reward, after, ended)
            state, done, score = after, ended or cut, score + reward
            if len(memory) >= 128:
                learn(q, target, opt, memory.sample(128))
                for t, p in zip(target.parameters(), q.parameters()):
                    t.data.copy_(TAU * p.data + (1 - TAU) * t.data)
        print(episode, score)
    torch.save(q.state_dict(), "q.pt")


main()
"""
TOWERS = """
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class Clicks(Dataset):
    def __init__(self, path):
        data = np.load(path)
        self.users, self.items = data["users"], data["items"]

    def __len__(self):
        return len(self.users)

    def __getitem__(self, i):
        return int(self.users[i]), int(self.items[i])


class Tower(nn.Module):
    def __init__(self, count, dim):
        super().__init__()
        self.table = nn.Embedding(count, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        nn.init.normal_(self.table.weight, std=0.05)

    def forward(self, ids):
        return F.normalize(self.mlp(self.table(ids)), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, users, items, dim=64, temperature=0.07):
        super().__init__()
        self.user, self.item = Tower(users, dim), Tower(items, dim)
        self.temperature = temperature

    def forward(self, u, i):
        return self.user(u), self.item(i)


def contrastive(a, b, temperature):
    logits = a @ b.t() / temperature
    labels = torch.arange(len(a), device=a.device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


@torch.no_grad()
def recall(model, loader, items, k, device):
    model.eval()
    table = model.item(torch.arange(items, device=device))
    hits = total = 0
    for u, i in loader:
        scores = model.user(u.to(device)) @ table.t()
        top = scores.topk(k, dim=1).indices
        hits += (top == i.to(device)[:, None]).any(1).sum().item()
        total += len(u)
    return hits / total


def main():
    torch.manual_seed(2)
    device = "cuda"
    train, val = Clicks("train.npz"), Clicks("val.npz")
    users, items = int(train.users.max()) + 1, int(train.items.max()) + 1
    loader = DataLoader(train, batch_size=1024, shuffle=True, drop_last=True, num_workers=4)
    val_loader = DataLoader(val, batch_size=2048)
    model = TwoTower(users, items).to(device)
    optimizer = torch.optim.Adagrad([
        {"params": model.user.parameters()},
        {"params": model.item.parameters()},
    ], lr=0.05)
    best = -1
    for epoch in range(20):
        model.train()
        for u, i in loader:
            u, i = u.to(device), i.to(device)
            a, b = model(u, i)
            loss = contrastive(a, b, model.temperature)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        r = recall(model, val_loader, items, 50, device)
        print(f"epoch {epoch} recall@50 {r:.4f}")
        if r > best:
            best = r
            torch.save(model.state_dict(), "towers.pt")


main()
"""
FLOWERS = """
import tensorflow as tf
from tensorflow.keras import layers

tf.random.set_seed(3)
BATCH, EPOCHS = 64, 20


def prepare(image, label):
    image = tf.image.resize(image, (64, 64))
    image = tf.cast(image, tf.float32) / 255.0
    return (image - 0.5) / 0.5, label


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.1)
    return image, label


def sets():
    import tensorflow_datasets as tfds
    train, val = tfds.load("tf_flowers", split=["train[:80%]", "train[80%:]"], as_supervised=True)
    train = train.map(prepare, num_parallel_calls=4).cache().shuffle(2000).map(augment).batch(BATCH).prefetch(1)
    val = val.map(prepare, num_parallel_calls=4).batch(BATCH).prefetch(1)
    return train, val


def build():
    inputs = layers.Input((64, 64, 3))
    x = inputs
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.3)(x)
    return tf.keras.Model(inputs, layers.Dense(5)(x))


model = build()
train, val = sets()
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(1e-3)
mean_loss = tf.keras.metrics.Mean()
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    grads, _ = tf.clip_by_global_norm(grads, 1.0)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    mean_loss.update_state(loss)


best = 0.0
for epoch in range(EPOCHS):
    mean_loss.reset_state()
    accuracy.reset_state()
    for x, y in train:
        train_step(x, y)
    for x, y in val:
        accuracy.update_state(y, model(x, training=False))
    score = float(accuracy.result())
    print(epoch, float(mean_loss.result()), score)
    if score > best:
        best = score
        model.save_weights("best.weights.h5")
"""
DISTIL = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, random_split
from torchvision import datasets, models, transforms

T, ALPHA = 4.0, 0.7


def kd(student, teacher, labels):
    soft = F.kl_div(F.log_softmax(student / T, dim=1), F.softmax(teacher / T, dim=1), reduction="batchmean") * T * T
    return ALPHA * soft + (1 - ALPHA) * F.cross_entropy(student, labels)


def loaders():
    size = transforms.Resize((224, 224))
    tf = transforms.Compose([size, transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    plain = transforms.Compose([size, transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    a, b = datasets.ImageFolder("pets/train", tf), datasets.ImageFolder("pets/val", plain)
    return DataLoader(a, 64, shuffle=True, num_workers=8), DataLoader(b, 128, num_workers=8)


def main():
    torch.manual_seed(12)
    train, val = loaders()
    teacher = models.resnet50()
    teacher.fc = nn.Linear(2048, 37)
    teacher.load_state_dict(torch.load("teacher.pt"))
    teacher.cuda().eval()
    for p in teacher.parameters():
        p.requires_grad = False
    student = models.mobilenet_v3_small(weights="DEFAULT")
    student.classifier[3] = nn.Linear(1024, 37)
    student.cuda()
    optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4, weight_decay=0.02)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-4, total_steps=30 * len(train))
    scaler = torch.amp.GradScaler("cuda")
    best = 0.0
    for epoch in range(30):
        student.train()
        for x, y in train:
            x, y = x.cuda(), y.cuda()
            with torch.autocast("cuda", dtype=torch.float16):
                out = student(x)
                with torch.no_grad():
                    ref = teacher(x)
            loss = kd(out.float(), ref.float(), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(student.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        student.eval()
        hits = 0
        with torch.no_grad():
            for x, y in val:
                hits += (student(x.cuda()).argmax(1).cpu() == y).sum().item()
        acc = hits / len(val.dataset)
        print(epoch, acc)
        if acc > best:
            best = acc
            torch.save(student.state_dict(), "student.pt")


main()
"""
REWRITES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "vit-mha": (
        VIT,
        (
            (
                """class SelfAttention(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(width, width * 3)
        self.proj = nn.Linear(width, width)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.to_qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        weights = scores.softmax(dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(b, n, c)
        return self.drop(self.proj(out))
""",
                """class SelfAttention(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.inner = nn.MultiheadAttention(width, heads, batch_first=True)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        out, _ = self.inner(x, x, x, need_weights=False)
        return self.drop(out)
""",
            ),
        ),
    ),
    "vit-einsum": (
        VIT,
        (
            (
                """        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        weights = scores.softmax(dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(b, n, c)
""",
                """        scale = (c // self.heads) ** -0.5
        scores = torch.einsum("bhid,bhjd->bhij", q * scale, k)
        weights = torch.softmax(scores, dim=-1)
        out = torch.einsum("bhij,bhjd->bihd", weights, v).flatten(2)
""",
            ),
        ),
    ),
    "vit-groups-by-set": (
        VIT,
        (
            (
                """    decay, plain = [], []
    for name, p in model.named_parameters():
        if p.ndim < 2 or name in ("cls", "pos"):
            plain.append(p)
        else:
            decay.append(p)
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": WD}, {"params": plain, "weight_decay": 0.0}], lr=LR)
""",
                """    no_decay = {"cls", "pos"} | {n for n, p in model.named_parameters() if p.ndim <= 1}
    params = dict(model.named_parameters())
    groups = [
        {"params": [params[n] for n in params if n not in no_decay], "weight_decay": WD},
        {"params": [params[n] for n in params if n in no_decay], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=LR)
""",
            ),
        ),
    ),
    "vit-smoothing-by-hand": (
        VIT,
        (
            (
                """            loss = F.cross_entropy(logits, labels, label_smoothing=0.1)
""",
                """            logp = F.log_softmax(logits, dim=-1)
            nll = -logp.gather(1, labels[:, None]).squeeze(1)
            uniform = -logp.mean(dim=-1)
            loss = (0.9 * nll + 0.1 * uniform).mean()
""",
            ),
        ),
    ),
    "vit-class-method-fit": (
        VIT,
        (
            (
                """    best = 0.0
    history = []
    for epoch in range(EPOCHS):
        model.train()
        running = 0.0
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)
            logits = model(images)
            loss = F.cross_entropy(logits, labels, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        scheduler.step()
        acc = accuracy(model, test_loader, device)
""",
                """    best = 0.0
    history = []
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to(device)
    model = torch.compile(model.to(memory_format=torch.channels_last))

    def one_step(batch):
        images = batch[0].to(device, non_blocking=True, memory_format=torch.channels_last)
        labels = batch[1].to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        return loss.detach()

    for epoch in range(EPOCHS):
        model.train()
        running = sum(one_step(batch).item() for batch in train_loader)
        scheduler.step()
        acc = accuracy(model, test_loader, device)
""",
            ),
            (
                """def accuracy(model, loader, device):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            pred = model(images).argmax(dim=1)
            right += (pred == labels).sum().item()
            total += labels.size(0)
    return right / total
""",
                """@torch.inference_mode()
def accuracy(model, loader, device):
    model.eval()
    hits = [(model(x.to(device)).argmax(1) == y.to(device)).float() for x, y in loader]
    return torch.cat(hits).mean().item()
""",
            ),
        ),
    ),
    "table-bce-by-hand": (
        TABLE,
        (
            (
                """    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
""",
                """    def criterion(logits, target):
        return -(pos_weight * target * nn.functional.logsigmoid(logits) + (1 - target) * nn.functional.logsigmoid(-logits)).mean()

""",
            ),
        ),
    ),
    "table-weights-by-hand": (
        TABLE,
        (
            (
                """    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
""",
                "",
            ),
            (
                """            loss = criterion(net(x, c), t)
""",
                """            losses = nn.functional.binary_cross_entropy_with_logits(net(x, c), t, reduction="none")
            loss = torch.where(t > 0.5, pos_weight * losses, losses).mean()
""",
            ),
        ),
    ),
    "table-index-split": (
        TABLE,
        (
            (
                """    train, test = train_test_split(table, test_size=0.2, random_state=3, stratify=y)
    train, val = train_test_split(train, test_size=0.25, random_state=3, stratify=train["churned"])
""",
                """    rows = np.arange(len(table))
    rest, held = train_test_split(rows, test_size=0.2, random_state=3, stratify=y)
    kept, checked = train_test_split(rest, test_size=0.25, random_state=3, stratify=y.iloc[rest])
    train, val, test = table.iloc[kept], table.iloc[checked], table.iloc[held]
""",
            ),
        ),
    ),
    "table-early-stop-class": (
        TABLE,
        (
            (
                """    best, patience = 0.0, 0
""",
                """    stopper = Stopper(6)
""",
            ),
            (
                """        if auc > best:
            best, patience = auc, 0
            torch.save(net.state_dict(), "net.pt")
        else:
            patience += 1
            if patience >= 6:
                break
    net.load_state_dict(torch.load("net.pt"))
""",
                """        if stopper.better(auc):
            kept = copy.deepcopy(net.state_dict())
        if stopper.over:
            break
    net.load_state_dict(kept)
    torch.save(kept, "net.pt")
""",
            ),
            (
                """def main():
""",
                """class Stopper:
    def __init__(self, patience):
        self.patience, self.waited, self.best = patience, 0, 0.0

    def better(self, value):
        if value > self.best:
            self.best, self.waited = value, 0
            return True
        self.waited += 1
        return False

    @property
    def over(self):
        return self.waited >= self.patience


def main():
""",
            ),
            (
                """import numpy as np
""",
                """import copy
import numpy as np
""",
            ),
        ),
    ),
    "gan-sum-then-backward": (
        GAN,
        (
            (
                """            label = torch.full((b,), 1.0, device=device)
            errD_real = criterion(netD(real), label)
            errD_real.backward()
            noise = torch.randn(b, NZ, 1, 1, device=device)
            fake = netG(noise)
            label.fill_(0.0)
            errD_fake = criterion(netD(fake.detach()), label)
            errD_fake.backward()
            optD.step()
            netG.zero_grad()
            label.fill_(1.0)
            errG = criterion(netD(fake), label)
""",
                """            noise = torch.randn(b, NZ, 1, 1, device=device)
            fake = netG(noise)
            on_real, on_fake = netD(real), netD(fake.detach())
            errD = criterion(on_real, torch.ones_like(on_real)) + criterion(on_fake, torch.zeros_like(on_fake))
            errD.backward()
            optD.step()
            netG.zero_grad()
            on_fake = netD(fake)
            errG = criterion(on_fake, torch.ones_like(on_fake))
""",
            ),
        ),
    ),
    "gan-softplus": (
        GAN,
        (
            (
                """    criterion = nn.BCEWithLogitsLoss()
""",
                "",
            ),
            (
                """            label = torch.full((b,), 1.0, device=device)
            errD_real = criterion(netD(real), label)
""",
                """            errD_real = nn.functional.softplus(-netD(real)).mean()
""",
            ),
            (
                """            label.fill_(0.0)
            errD_fake = criterion(netD(fake.detach()), label)
""",
                """            errD_fake = nn.functional.softplus(netD(fake.detach())).mean()
""",
            ),
            (
                """            label.fill_(1.0)
            errG = criterion(netD(fake), label)
""",
                """            errG = nn.functional.softplus(-netD(fake)).mean()
""",
            ),
        ),
    ),
    "gan-blocks": (
        GAN,
        (
            (
                """        self.main = nn.Sequential(
            nn.ConvTranspose2d(NZ, 256, 4, 1, 0, bias=False), nn.BatchNorm2d(256), nn.ReLU(True),
            nn.ConvTranspose2d(256, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.ReLU(True),
            nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(True),
            nn.ConvTranspose2d(64, 1, 4, 2, 1, bias=False), nn.Tanh())
""",
                """        def up(cin, cout, stride, pad):
            return [nn.ConvTranspose2d(cin, cout, 4, stride, pad, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True)]

        layers = up(NZ, 256, 1, 0) + up(256, 128, 2, 1) + up(128, 64, 2, 1)
        layers += [nn.ConvTranspose2d(64, 1, 4, 2, 1, bias=False), nn.Tanh()]
        self.main = nn.Sequential(*layers)
""",
            ),
        ),
    ),
    "diffusion-ema-util": (
        DIFFUSION,
        (
            (
                """    ema = copy.deepcopy(model)
""",
                """    ema = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9995))
""",
            ),
            (
                """            update(ema, model, 0.9995)
""",
                """            ema.update_parameters(model)
""",
            ),
            (
                """"ema": ema.state_dict()""",
                """"ema": ema.module.state_dict()""",
            ),
            (
                """def update(ema, net, decay):
    with torch.no_grad():
        for e, p in zip(ema.parameters(), net.parameters()):
            e.mul_(decay).add_(p, alpha=1 - decay)
        for e, b in zip(ema.buffers(), net.buffers()):
            e.copy_(b)


""",
                "",
            ),
        ),
    ),
    "diffusion-gather-q-sample": (
        DIFFUSION,
        (
            (
                """    def loss(self, x0):
        t = torch.randint(0, T, (x0.shape[0],), device=x0.device)
        noise = torch.randn_like(x0)
        bar = self.bar[t].view(-1, 1, 1, 1)
        xt = bar.sqrt() * x0 + (1 - bar).sqrt() * noise
        return F.mse_loss(self.net(xt, t), noise)
""",
                """    def q_sample(self, x0, t, noise):
        bar = self.bar.gather(0, t)[:, None, None, None]
        return torch.sqrt(bar) * x0 + torch.sqrt(1 - bar) * noise

    def loss(self, x0):
        b = x0.size(0)
        t = torch.randint(T, (b,), device=x0.device)
        noise = torch.randn(x0.shape, device=x0.device)
        pred = self.net(self.q_sample(x0, t, noise), t)
        return (pred - noise).pow(2).mean()
""",
            ),
        ),
    ),
    "segments-masked-ce": (
        SEGMENTS,
        (
            (
                """    ce = nn.CrossEntropyLoss(ignore_index=IGNORE)
""",
                """    def ce(logits, target):
        valid = target != IGNORE
        per_pixel = nn.functional.cross_entropy(logits, target.masked_fill(~valid, 0), reduction="none")
        return (per_pixel * valid).sum() / valid.sum()

""",
            ),
        ),
    ),
    "segments-poly-lambda": (
        SEGMENTS,
        (
            (
                """    scheduler = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=total, power=0.9)
""",
                """    scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda it: (1 - min(it, total) / total) ** 0.9)
""",
            ),
        ),
    ),
    "segments-miou-torch": (
        SEGMENTS,
        (
            (
                """    matrix = np.zeros((classes, classes), dtype=np.int64)
    with torch.no_grad():
        for image, mask in loader:
            pred = model(image.cuda()).argmax(1).cpu().numpy()
            mask = mask.numpy()
            keep = mask != IGNORE
            matrix += np.bincount(classes * mask[keep] + pred[keep], minlength=classes ** 2).reshape(classes, classes)
    inter = np.diag(matrix)
    union = matrix.sum(0) + matrix.sum(1) - inter
    return float(np.nanmean(inter / np.maximum(union, 1)))
""",
                """    inter = torch.zeros(classes, dtype=torch.long)
    union = torch.zeros(classes, dtype=torch.long)
    with torch.no_grad():
        for image, mask in loader:
            pred = model(image.cuda()).argmax(1).cpu()
            keep = mask != IGNORE
            for c in range(classes):
                p, t = (pred == c) & keep, (mask == c) & keep
                inter[c] += (p & t).sum()
                union[c] += (p | t).sum()
    return (inter / union.clamp(min=1)).mean().item()
""",
            ),
        ),
    ),
    "segments-norm-torch": (
        SEGMENTS,
        (
            (
                """        image = (image.astype(np.float32) / 255.0 - MEAN) / STD
        image = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
        return image, torch.from_numpy(np.ascontiguousarray(mask)).long()
""",
                """        image = torch.from_numpy(image.copy()).permute(2, 0, 1).float().div(255)
        image = (image - torch.from_numpy(MEAN)[:, None, None]) / torch.from_numpy(STD)[:, None, None]
        return image, torch.as_tensor(mask.copy(), dtype=torch.long)
""",
            ),
        ),
    ),
    "keywords-instance-norm": (
        KEYWORDS,
        (
            (
                """        x = (x - x.mean((2, 3), keepdim=True)) / (x.std((2, 3), keepdim=True) + 1e-5)
""",
                """        std, mean = torch.std_mean(x, dim=(2, 3), keepdim=True)
        x = (x - mean) / (std + 1e-5)
""",
            ),
        ),
    ),
    "keywords-two-loaders": (
        KEYWORDS,
        (
            (
                """    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True, collate_fn=self.collate, num_workers=4)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=self.batch_size, collate_fn=self.collate, num_workers=4)
""",
                """    def _loader(self, part, training):
        return DataLoader(
            part, batch_size=self.batch_size, shuffle=training, collate_fn=self.collate,
            num_workers=8, pin_memory=True, persistent_workers=True,
        )

    def train_dataloader(self):
        return self._loader(self.train, True)

    def val_dataloader(self):
        return self._loader(self.val, False)
""",
            ),
        ),
    ),
    "keywords-block-module": (
        KEYWORDS,
        (
            (
                """        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(64)
        self.fc = nn.Linear(64, classes)
""",
                """        sizes = [1, 32, 64]
        self.blocks = nn.Sequential(*[
            nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2))
            for a, b in zip(sizes, sizes[1:])
        ])
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(64, classes)
""",
            ),
            (
                """        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(x.mean((2, 3)))
""",
                """        x = self.pool(self.blocks(x)).flatten(1)
        return self.fc(x)
""",
            ),
        ),
    ),
    "load-functional": (
        LOAD,
        (
            (
                """    model = keras.Sequential([
        layers.Input((WINDOW, len(COLUMNS))),
        layers.LSTM(64, return_sequences=True),
        layers.LSTM(32),
        layers.Dropout(0.2),
        layers.Dense(HORIZON),
    ])
""",
                """    inputs = keras.Input(shape=(WINDOW, len(COLUMNS)))
    x = layers.LSTM(64, return_sequences=True)(inputs)
    x = layers.LSTM(32)(x)
    x = layers.Dropout(0.2)(x)
    outputs = layers.Dense(HORIZON)(x)
    model = keras.Model(inputs, outputs)
""",
            ),
        ),
    ),
    "load-tfdata": (
        LOAD,
        (
            (
                """    model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=80, batch_size=128, callbacks=callbacks)
""",
                """    fit_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(len(x_train)).batch(128).prefetch(tf.data.AUTOTUNE)
    val_ds = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(128).prefetch(tf.data.AUTOTUNE)
    model.fit(fit_ds, validation_data=val_ds, epochs=80, callbacks=callbacks)
""",
            ),
        ),
    ),
    "load-sliding-view": (
        LOAD,
        (
            (
                """    x, y = [], []
    for i in range(len(values) - WINDOW - HORIZON + 1):
        x.append(values[i:i + WINDOW])
        y.append(values[i + WINDOW:i + WINDOW + HORIZON, 0])
    return np.array(x, np.float32), np.array(y, np.float32)
""",
                """    both = np.lib.stride_tricks.sliding_window_view(values, WINDOW + HORIZON, axis=0)
    both = both.transpose(0, 2, 1)
    x, y = both[:, :WINDOW], both[:, WINDOW:, 0]
    return x.astype(np.float32), y.astype(np.float32)
""",
            ),
        ),
    ),
    "qlearning-huber-hand": (
        QLEARNING,
        (
            (
                """    loss = F.smooth_l1_loss(value, goal)
""",
                """    error = (value - goal).abs()
    loss = torch.where(error < 1, 0.5 * error ** 2, error - 0.5).mean()
""",
            ),
        ),
    ),
    "qlearning-policy-fn": (
        QLEARNING,
        (
            (
                """            eps = 0.05 + 0.85 * np.exp(-steps / 1000)
            steps += 1
            if random.random() < eps:
                action = env.action_space.sample()
            else:
                with torch.no_grad():
                    action = q(torch.tensor(state).unsqueeze(0)).argmax(1).item()
""",
                """            action = act(q, state, env, epsilon(steps))
            steps += 1
""",
            ),
            (
                """def main():
""",
                """def epsilon(step, first=0.9, last=0.05, decay=1000):
    return last + (first - last) * np.exp(-step / decay)


@torch.no_grad()
def act(q, state, env, eps):
    if random.random() < eps:
        return env.action_space.sample()
    return int(q(torch.from_numpy(state)[None]).argmax())


def main():
""",
            ),
        ),
    ),
    "towers-diag-loss": (
        TOWERS,
        (
            (
                """    logits = a @ b.t() / temperature
    labels = torch.arange(len(a), device=a.device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
""",
                """    logits = torch.einsum("id,jd->ij", a, b) / temperature
    matched = logits.diagonal()
    rows = torch.logsumexp(logits, dim=1) - matched
    columns = torch.logsumexp(logits, dim=0) - matched
    return 0.5 * (rows.mean() + columns.mean())
""",
            ),
        ),
    ),
    "flowers-clipnorm": (
        FLOWERS,
        (
            (
                """optimizer = tf.keras.optimizers.Adam(1e-3)
""",
                """optimizer = tf.keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
""",
            ),
            (
                """    grads, _ = tf.clip_by_global_norm(grads, 1.0)
""",
                "",
            ),
        ),
    ),
    "distil-kd-by-hand": (
        DISTIL,
        (
            (
                """    soft = F.kl_div(F.log_softmax(student / T, dim=1), F.softmax(teacher / T, dim=1), reduction="batchmean") * T * T
""",
                """    logs = F.log_softmax(student / T, dim=1)
    target = F.log_softmax(teacher / T, dim=1)
    soft = T ** 2 * (target.exp() * (target - logs)).sum(dim=1).mean()
""",
            ),
        ),
    ),
    "distil-kd-log-target": (
        DISTIL,
        (
            (
                """    soft = F.kl_div(F.log_softmax(student / T, dim=1), F.softmax(teacher / T, dim=1), reduction="batchmean") * T * T
""",
                """    soft = F.kl_div((student / T).log_softmax(1), (teacher / T).log_softmax(1), reduction="batchmean", log_target=True) * T ** 2
""",
            ),
        ),
    ),
    "distil-tf-list": (
        DISTIL,
        (
            (
                """    tf = transforms.Compose([size, transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    plain = transforms.Compose([size, transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
""",
                """    last = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    tf, plain = (transforms.Compose([size, *extra, *last]) for extra in ([transforms.RandomHorizontalFlip()], []))
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


SLIPS = {
    # what is written anew in these is told all the same: a number that is another, a formula that overflows
    "rate": (TABLE, (("lr=2e-3", "lr=2e-1"),)),
    "log-of-softmax": (
        DISTIL,
        (("F.cross_entropy(student, labels)", "F.nll_loss(torch.log(F.softmax(student, dim=1)), labels)"),),
    ),
    "smoothing-of-the-sum": (
        VIT,
        (
            (
                "loss = F.cross_entropy(logits, labels, label_smoothing=0.1)",
                "loss = F.cross_entropy(logits, labels, reduction='sum')",
            ),
        ),
    ),
    "huber-without-half": (
        QLEARNING,
        (("loss = F.smooth_l1_loss(value, goal)", "loss = (value - goal).abs().mean() * 100"),),
    ),
}


@pytest.mark.parametrize("slug", sorted(SLIPS))
def test_a_slip_is_still_told(slug: str, tmp_path: Path) -> None:
    """A small edit that changes what is trained is a finding."""
    assert findings(told(tmp_path, *SLIPS[slug]))
