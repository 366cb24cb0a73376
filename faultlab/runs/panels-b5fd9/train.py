import argparse
import logging
import os

import numpy as np
import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader

from panels import FINDINGS, PanelDataset, simulate

log = logging.getLogger("panels")


def conv(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class PanelNet(nn.Module):
    def __init__(self, width, dropout, n_out):
        super().__init__()
        self.backbone = nn.Sequential(conv(1, width), conv(width, 2 * width, 2), conv(2 * width, 2 * width),
                                      conv(2 * width, 4 * width, 2))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(4 * width * 6, n_out))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.backbone(x)
        return self.head(x.mean(3))  # findings depend on the height, not on the column


def loaders(cfg):
    d = cfg["data"]
    train = PanelDataset(*simulate(d["train"], 100), d["norm"], d["augment"], seed=cfg["seed"])
    val = PanelDataset(*simulate(d["val"], 200), d["norm"])
    return (DataLoader(train, d["batch_size"], shuffle=True, drop_last=True),
            DataLoader(val, 80, shuffle=False))


def set_lr(optimizer, cfg, epoch, it):
    o = cfg["optim"]
    lr = o["lr"] * o["gamma"] ** sum(epoch >= m for m in o["milestones"])
    lr *= min(1.0, (it + 1) / o["warmup_iters"])
    for group in optimizer.param_groups:
        group["lr"] = lr
    return lr


@torch.no_grad()
def validate(net, loader, criterion):
    net.eval()
    losses, probs, targets = [], [], []
    for image, target in loader:
        out = net(image)
        losses.append(criterion(out, target).item() * len(image))
        probs.append(out.sigmoid())
        targets.append(target)
    pred, true = torch.cat(probs) > 0.5, torch.cat(targets) > 0.5
    tp = (pred & true).sum(0).float()
    f1 = 2 * tp / (pred.sum(0) + true.sum(0)).clamp(min=1)
    return sum(losses) / len(true), f1.mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    cfg = yaml.safe_load(open(parser.parse_args().config))
    os.makedirs("work", exist_ok=True)
    logging.basicConfig(filename="train.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    torch.manual_seed(cfg["seed"])
    np.random.seed(cfg["seed"])

    train_loader, val_loader = loaders(cfg)
    net = PanelNet(cfg["model"]["width"], cfg["model"]["dropout"], len(FINDINGS))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(net.head.parameters(), lr=cfg["optim"]["lr"], momentum=cfg["optim"]["momentum"],
                                weight_decay=cfg["optim"]["weight_decay"], nesterov=True)
    start, it, best = 0, 0, -1.0
    if cfg["resume"]:
        ckpt = torch.load(cfg["resume"])
        net.load_state_dict(ckpt["net"])
        optimizer.load_state_dict(ckpt["optimizer"])
        start, it, best = ckpt["epoch"], ckpt["it"], ckpt["best"]
        log.info("resumed from %s at epoch %d", cfg["resume"], start)
    log.info("%s: %d train / %d val images", cfg["name"], len(train_loader.dataset), len(val_loader.dataset))

    for epoch in range(start, cfg["epochs"]):
        net.train()
        for i, (image, target) in enumerate(train_loader):
            lr = set_lr(optimizer, cfg, epoch, it)
            loss = criterion(net(image), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            it += 1
            if it % 5 == 0:
                log.info("epoch [%d/%d] iter %d loss: %.4f lr: %.6f", epoch + 1, cfg["epochs"], it, loss.item(), lr)
        val_loss, val_f1 = validate(net, val_loader, criterion)
        log.info("epoch [%d/%d] val loss: %.4f macro-F1: %.4f", epoch + 1, cfg["epochs"], val_loss, val_f1)
        state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1, "it": it}
        if val_f1 > best:
            best = val_f1
            torch.save(net.state_dict(), "work/best.pt")
        torch.save({**state, "best": best}, f"work/{cfg['name']}.pt")
    net.load_state_dict(torch.load("work/best.pt"))
    val_loss, val_f1 = validate(net, val_loader, criterion)
    log.info("best model: val loss: %.4f macro-F1: %.4f", val_loss, val_f1)


if __name__ == "__main__":
    main()
