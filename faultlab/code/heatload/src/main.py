import sys
from pathlib import Path

import lightning as L
import torch
from omegaconf import OmegaConf

from net import PinballLoss, Seq2Quantiles
from windows import make_loaders


def get_config():
    base = OmegaConf.load(Path(__file__).parent / "conf" / "config.yaml")
    return OmegaConf.merge(base, OmegaConf.from_cli(sys.argv[1:]))


def train_epoch(fabric, net, loader, criterion, opt, sched, cfg):
    net.train()
    mean = 0.0
    usable = len(loader) // cfg.accumulate * cfg.accumulate
    for i, (past, future, target) in enumerate(loader):
        if i >= usable:
            break
        partial = (i + 1) % cfg.accumulate != 0
        with fabric.no_backward_sync(net, enabled=partial):
            loss = criterion(net(past, future), target)
            fabric.backward(loss / cfg.accumulate)
        if not partial:
            fabric.clip_gradients(net, opt, max_norm=cfg.clip)
            opt.step()
            opt.zero_grad()
            sched.step()
        mean += loss.item() / usable
    return mean


@torch.no_grad()
def validate(fabric, net, loader, criterion, scale, quantiles):
    net.eval()
    mid = list(quantiles).index(0.5)
    total = torch.zeros(3, device=fabric.device)
    for past, future, target in loader:
        pred = net(past, future).float()
        y, y_hat = scale.to_mw(target), scale.to_mw(pred[..., mid])
        n = target.numel()
        total += torch.stack([criterion(pred, target) * n, (y - y_hat).abs().sum(), target.new_tensor(float(n))])
    total = fabric.all_reduce(total, reduce_op="sum")
    return (total[0] / total[2]).item(), (total[1] / total[2]).item()


def main():
    cfg = get_config()
    L.seed_everything(cfg.seed)
    fabric = L.Fabric(accelerator="auto", devices=cfg.devices, precision=cfg.precision)
    fabric.launch()

    train_loader, valid_loader, test_loader, scale = make_loaders(cfg.data)
    n_features = train_loader.dataset.values.shape[1]
    net = Seq2Quantiles(n_features, **cfg.net)
    criterion = PinballLoss(cfg.net.quantiles).to(fabric.device)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.optim.lr, weight_decay=cfg.optim.weight_decay)
    net, opt = fabric.setup(net, opt)
    train_loader, valid_loader, test_loader = fabric.setup_dataloaders(train_loader, valid_loader, test_loader)

    steps = len(train_loader) // cfg.optim.accumulate * cfg.optim.epochs
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, cfg.optim.lr, total_steps=steps, pct_start=0.1)

    out = Path(cfg.out)
    state = {"net": net, "opt": opt, "sched": sched, "epoch": 0, "best": float("inf")}
    if cfg.resume:
        fabric.load(out / "last.ckpt", state)

    for epoch in range(state["epoch"], cfg.optim.epochs):
        loss = train_epoch(fabric, net, train_loader, criterion, opt, sched, cfg.optim)
        val_loss, val_mae = validate(fabric, net, valid_loader, criterion, scale, cfg.net.quantiles)
        fabric.print(f"{epoch:3d} train {loss:.4f} valid {val_loss:.4f} MAE {val_mae:.2f} MW")
        state["epoch"] = epoch + 1
        if val_loss < state["best"]:
            state["best"] = val_loss
            fabric.save(out / "best.ckpt", {"net": net})
        fabric.save(out / "last.ckpt", state)

    fabric.load(out / "best.ckpt", {"net": net})
    _, test_mae = validate(fabric, net, test_loader, criterion, scale, cfg.net.quantiles)
    fabric.print(f"test MAE {test_mae:.2f} MW")


if __name__ == "__main__":
    main()
