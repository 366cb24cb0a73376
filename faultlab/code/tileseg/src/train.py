"""python train.py root=tiles epochs=80 batch_size=16"""
import logging
import sys
from pathlib import Path

import torch

from data import CLASSES, VOID, get_loaders
from losses import seg_loss
from model import TileUNet

CFG = dict(
    root="tiles", out="out", crop=256, batch_size=16, workers=4, epochs=80, base=32,
    lr=3e-4, encoder_lr=3e-4, weight_decay=1e-4, power=0.9,
)

log = logging.getLogger("tileseg")


def parse_overrides(argv, cfg):
    for arg in argv:
        key, value = arg.split("=", 1)
        cfg[key] = type(cfg[key])(value)
    return cfg


class IoUMeter:
    def __init__(self, n_classes, void):
        self.n, self.void = n_classes, void
        self.reset()

    def reset(self):
        self.mat = torch.zeros(self.n, self.n, dtype=torch.long)

    def update(self, pred, mask):
        keep = mask != self.void
        idx = mask[keep] * self.n + pred[keep]
        self.mat += torch.bincount(idx.cpu(), minlength=self.n**2).view(self.n, self.n)

    def iou(self):
        inter = self.mat.diag().float()
        union = self.mat.sum(0) + self.mat.sum(1) - self.mat.diag()
        return inter / union.clamp(min=1)


def build_optimizer(model, cfg):
    groups = [
        {"params": model.encoder.parameters(), "lr": cfg["encoder_lr"]},
        {"params": model.center.parameters()},
        {"params": model.decoder.parameters()},
        {"params": model.head.parameters()},
    ]
    return torch.optim.AdamW(groups, lr=cfg["lr"], weight_decay=cfg["weight_decay"])


def train_one_epoch(model, loader, optimizer, scheduler, device):
    model.train()
    total = 0.0
    for img, mask in loader:
        img, mask = img.to(device), mask.to(device)
        loss = seg_loss(model(img), mask, VOID)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def validate(model, loader, meter, device):
    model.eval()
    meter.reset()
    for img, mask in loader:
        pred = model(img.to(device)).argmax(dim=1).cpu()
        meter.update(pred, mask)
    return meter.iou()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    cfg = parse_overrides(sys.argv[1:], CFG)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out = Path(cfg["out"])
    out.mkdir(parents=True, exist_ok=True)

    train_loader, val_loader = get_loaders(cfg["root"], cfg["crop"], cfg["batch_size"], cfg["workers"])
    model = TileUNet(len(CLASSES), cfg["base"]).to(device)
    optimizer = build_optimizer(model, cfg)
    max_iter = cfg["epochs"] * len(train_loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda it: max(1e-4, 1 - it / max_iter) ** cfg["power"]
    )
    meter = IoUMeter(len(CLASSES), VOID)

    best = 0.0
    for epoch in range(cfg["epochs"]):
        loss = train_one_epoch(model, train_loader, optimizer, scheduler, device)
        iou = validate(model, val_loader, meter, device)
        miou = iou.mean().item()
        log.info("epoch %d loss %.4f miou %.4f %s", epoch, loss, miou,
                 " ".join(f"{c}={v:.3f}" for c, v in zip(CLASSES, iou.tolist())))
        if miou > best:
            best = miou
            torch.save({"model": model.state_dict(), "epoch": epoch, "miou": miou}, out / "best.pt")

    state = torch.load(out / "best.pt", map_location=device)
    model.load_state_dict(state["model"])
    log.info("best epoch %d, miou again %.4f", state["epoch"], validate(model, val_loader, meter, device).mean())


if __name__ == "__main__":
    main()
