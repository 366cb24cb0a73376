"""Classify 8x8 digits with a small residual network. Settings: config.yaml; output: train.log."""
import logging
import time

import torch
import yaml
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

cfg = yaml.safe_load(open("config.yaml"))
logging.basicConfig(filename="train.log", filemode="w", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
torch.set_num_threads(1)
torch.manual_seed(cfg["seed"])

digits = load_digits()
x_train, x_val, y_train, y_val = train_test_split(digits.images, digits.target, test_size=400, random_state=0, stratify=digits.target)
mean, std = x_train.mean(), x_train.std()
x_train, x_val = (torch.tensor((x - mean) / std, dtype=torch.float32).unsqueeze(1) for x in (x_train, x_val))
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
        )

    def forward(self, x):
        return torch.relu(x + self.body(x))


width = cfg["model"]["width"]
model = nn.Sequential(
    nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), *[Residual(width) for _ in range(cfg["model"]["blocks"])],
    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(cfg["model"]["dropout"]), nn.Linear(4 * width, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=cfg["optimizer"]["lr"], momentum=cfg["optimizer"]["momentum"], weight_decay=cfg["optimizer"]["weight_decay"])
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, cfg["scheduler"]["milestones"], cfg["scheduler"]["gamma"])

for epoch in range(1, cfg["epochs"] + 1):
    model.train()
    start, total, correct = time.time(), 0.0, 0
    for ids in torch.randperm(len(x_train)).split(cfg["batch_size"]):
        x, y = x_train[ids], y_train[ids]
        if cfg["augment"]:
            x = torch.roll(x, tuple(torch.randint(-1, 2, (2,)).tolist()), (2, 3))
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(ids)
        correct += (out.argmax(1) == y).sum().item()
    lr = optimizer.param_groups[0]["lr"]
    scheduler.step()
    model.eval()
    with torch.no_grad():
        out = model(x_val)
        val_loss = nn.functional.cross_entropy(out, y_val).item()
        val_acc = (out.argmax(1) == y_val).float().mean().item()
    logging.info(
        "epoch=%d lr=%.5f train_loss=%.4f train_acc=%.4f val_loss=%.4f val_acc=%.4f time=%.1fs",
        epoch, lr, total / len(x_train), correct / len(x_train), val_loss, val_acc, time.time() - start,
    )
