import copy
import json
import random
import sys

import numpy as np
import torch
import torch.nn.functional as F

from gnn import WireNet
from graphs import GraphSet, Scaler, load_npz, stratified_split

CFG = {
    "data": {"path": "circuits.npz", "fracs": (0.7, 0.15)},
    "net": {"width": 96, "depth": 4, "n_kinds": 5, "drop": 0.2},
    "opt": {"lr": 1e-3, "weight_decay": 1e-4, "batch": 64, "clip": 2.0},
    "stop": {"epochs": 200, "patience": 20},
    "seed": 11,
    "device": "cuda" if torch.cuda.is_available() else "cpu",
}


def override(cfg, args):
    # net.width=128 opt.lr=3e-4 ...
    for a in args:
        key, val = a.split("=", 1)
        *path, last = key.split(".")
        node = cfg
        for p in path:
            node = node[p]
        node[last] = type(node[last])(val)
    return cfg


def to_dev(batch, dev):
    return {k: v.to(dev) if torch.is_tensor(v) else v for k, v in batch.items()}


def macro_f1(pred, true, k):
    f1s = []
    for c in range(k):
        tp = ((pred == c) & (true == c)).sum().item()
        fp = ((pred == c) & (true != c)).sum().item()
        fn = ((pred != c) & (true == c)).sum().item()
        f1s.append(2 * tp / max(1, 2 * tp + fp + fn))
    return sum(f1s) / k


def train_epoch(net, data, opt, weights, cfg, rng):
    net.train()
    tot = cnt = 0
    for batch in data.batches(cfg["opt"]["batch"], shuffle=True, rng=rng):
        batch = to_dev(batch, cfg["device"])
        opt.zero_grad()
        loss = F.cross_entropy(net(batch), batch["y"], weight=weights)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), cfg["opt"]["clip"])
        opt.step()
        tot += loss.item() * batch["size"]
        cnt += batch["size"]
    return tot / cnt


@torch.no_grad()
def test(net, data, cfg, k):
    net.eval()
    pred, true = [], []
    for batch in data.batches(256):
        batch = to_dev(batch, cfg["device"])
        pred.append(net(batch).argmax(dim=1).cpu())
        true.append(batch["y"].cpu())
    pred, true = torch.cat(pred), torch.cat(true)
    return {"acc": (pred == true).float().mean().item(), "f1": macro_f1(pred, true, k)}


def main():
    cfg = override(CFG, sys.argv[1:])
    random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    rng = np.random.default_rng(cfg["seed"])

    graphs = load_npz(cfg["data"]["path"])
    families = sorted({g["family"] for g in graphs})
    class_of = {f: c for c, f in enumerate(families)}
    tr, va, te = stratified_split(graphs, cfg["data"]["fracs"], rng)
    scaler = Scaler().fit([graphs[i] for i in tr])
    train = GraphSet(graphs, tr, scaler, class_of)
    val = GraphSet(graphs, va, scaler, class_of)
    held = GraphSet(graphs, te, scaler, class_of)

    k = len(families)
    # some families are twenty times as frequent as others
    count = torch.bincount(train.labels(), minlength=k).float()
    weights = (count.sum() / (k * count.clamp(min=1))).sqrt().to(cfg["device"])

    net = WireNet(cfg["net"], graphs[0]["x"].shape[1], k).to(cfg["device"])
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["opt"]["lr"], weight_decay=cfg["opt"]["weight_decay"])
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.5, patience=6)

    best, best_state, bad = -1.0, None, 0
    for ep in range(cfg["stop"]["epochs"]):
        loss = train_epoch(net, train, opt, weights, cfg, rng)
        v = test(net, val, cfg, k)
        plateau.step(v["f1"])
        print(json.dumps({"epoch": ep, "loss": round(loss, 5), "val_acc": v["acc"], "val_f1": v["f1"],
                          "lr": opt.param_groups[0]["lr"]}))
        if v["f1"] > best:
            best, bad = v["f1"], 0
            best_state = copy.deepcopy(net.state_dict())
        else:
            bad += 1
            if bad >= cfg["stop"]["patience"]:
                break

    net.load_state_dict(best_state)
    res = test(net, held, cfg, k)
    print(json.dumps({"test_acc": res["acc"], "test_f1": res["f1"]}))
    torch.save({"net": net.state_dict(), "families": families, "mu": scaler.mu, "sd": scaler.sd}, "wirenet.pt")


if __name__ == "__main__":
    main()
