import sys

import torch
import yaml
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

from drawings import album
from network import CornerNet
from pipeline import KiteSet


def pck(pred, truth, radius):
    """Percentage of corners closer than `radius` to where they should be."""
    return ((pred - truth).norm(dim=-1) < radius).float().mean().item()


def make_loaders(cfg):
    d, seed = cfg["data"], cfg["random_state"]
    train = KiteSet(*album(d["train_pages"], seed), max_shift=d["max_shift"], mirror=d["mirror"], seed=seed)
    val = KiteSet(*album(d["val_pages"], seed + 1))
    batch = cfg["training"]["batch"]
    return DataLoader(train, batch_size=batch, shuffle=True), DataLoader(val, batch_size=64)


def main(path="config.yaml"):
    with open(path) as f:
        cfg = yaml.safe_load(f)
    tcfg = cfg["training"]
    torch.manual_seed(cfg["random_state"])
    torch.set_num_threads(1)

    train_loader, val_loader = make_loaders(cfg)
    net = CornerNet(**cfg["network"])
    optim = torch.optim.Adam(net.parameters(), lr=tcfg["learning_rate"], weight_decay=tcfg["weight_decay"])
    plan = torch.optim.lr_scheduler.MultiStepLR(optim, tcfg["lr_milestones"], gamma=tcfg["lr_gamma"])
    distance = torch.nn.MSELoss()
    board = SummaryWriter("tb")

    for epoch in range(tcfg["epochs"]):
        net.train()
        summed = 0.0
        for pictures, corners in train_loader:
            guess = net(pictures)
            loss = distance(guess, corners)
            optim.zero_grad()
            loss.backward()
            optim.step()
            summed += loss.item() * len(pictures)
        board.add_scalar("loss/train", summed / len(train_loader.dataset), epoch)
        board.add_scalar("lr", optim.param_groups[0]["lr"], epoch)
        plan.step()

        net.eval()
        summed, inside = 0.0, 0.0
        with torch.no_grad():
            for pictures, corners in val_loader:
                guess = net(pictures)
                summed += distance(guess, corners).item() * len(pictures)
                inside += pck(guess, corners, cfg["pck_radius"]) * len(pictures)
        n = len(val_loader.dataset)
        board.add_scalar("loss/val", summed / n, epoch)
        board.add_scalar("pck/val", inside / n, epoch)
    board.close()
    torch.save(net.state_dict(), "corners.pt")
    print(f"{cfg['experiment']}: val loss {summed / n:.5f}, pck {inside / n:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
