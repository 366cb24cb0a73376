"""Train a small residual net to tell which stickers are on a picture."""

import runpy
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from runner import Logbook
from scenes import STICKERS, StickerDataset


class Residual(nn.Module):
    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.shortcut = nn.Conv2d(n_in, n_out, 1, stride, bias=False)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.shortcut(x))


class MiniResNet(nn.Module):
    def __init__(self, width, num_classes, norm_eval):
        super().__init__()
        self.norm_eval = norm_eval
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.layer1 = Residual(width, 2 * width, 2)
        self.layer2 = Residual(2 * width, 4 * width, 2)
        self.head = nn.Linear(4 * width, num_classes)

    def train(self, mode=True):
        super().train(mode)
        if mode and self.norm_eval:
            for m in self.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.eval()
        return self

    def forward(self, x):
        x = self.layer2(self.layer1(F.relu(self.stem(x))))
        return self.head(x.amax(dim=(2, 3)))


def build_scheduler(optimizer, configs, per_epoch):
    """The factor of the rate at each iteration."""
    warm, steps = configs
    unit = per_epoch if steps["by_epoch"] else 1

    def factor(it):
        start = warm["start_factor"]
        value = min(1.0, start + (1 - start) * it / warm["end"])
        return value * steps["gamma"] ** sum(it >= m * unit for m in steps["milestones"])

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    loss, outputs, labels = 0.0, [], []
    for x, y in loader:
        out = model(x)
        loss += F.binary_cross_entropy_with_logits(out, y).item()
        outputs.append(out)
        labels.append(y)
    found, wanted = torch.cat(outputs) > 0, torch.cat(labels) > 0
    hits = (found & wanted).sum(0)
    f1 = 2 * hits / (found.sum(0) + wanted.sum(0)).clamp(min=1)
    return {"val_loss": loss / len(loader), "multi-label/f1-score": 100 * f1.mean().item()}


def main(config_path):
    cfg = runpy.run_path(config_path)
    torch.manual_seed(cfg["randomness"]["seed"])
    data = cfg["data"]
    train_set = StickerDataset(data["num_train"], 1, data["mean"], data["std"], flip=True)
    val_set = StickerDataset(data["num_val"], 2, data["mean"], data["std"])
    train_loader = DataLoader(train_set, data["batch_size"], shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, 100)

    settings = {k: v for k, v in cfg["model"].items() if k != "type"}
    model = MiniResNet(**settings)
    settings = {k: v for k, v in cfg["optim_wrapper"]["optimizer"].items() if k != "type"}
    optimizer = torch.optim.SGD(model.parameters(), **settings)
    scheduler = build_scheduler(optimizer, cfg["param_scheduler"], len(train_loader))
    clip = cfg["optim_wrapper"]["clip_grad"]["max_norm"]
    interval = cfg["default_hooks"]["logger"]["interval"]
    log = Logbook(config_path)
    log.logger.info(f"classes: {STICKERS}")

    step = 0
    for epoch in range(1, cfg["train_cfg"]["max_epochs"] + 1):
        model.train()
        window, norms, start = [], [], time.time()
        for it, (x, y) in enumerate(train_loader, 1):
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
            lr = optimizer.param_groups[0]["lr"]
            optimizer.step()
            scheduler.step()
            step += 1
            window.append(loss.item())
            norms.append(norm.item())
            if it % interval == 0:
                seconds = (time.time() - start) / it
                log.train(epoch, it, len(train_loader), step, lr, sum(window) / len(window), norms[-1], seconds)
                window = []
        log.val(epoch, len(val_loader), **validate(model, val_loader))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "configs/stickers_resnet.py")
