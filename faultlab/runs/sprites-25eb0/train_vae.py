import importlib
import itertools
import sys

import numpy as np
import torch
import yaml
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

from sprites import draw
from vae import SpriteVAE, elbo_terms


def load_config(path, overrides):
    with open(path) as f:
        cfg = yaml.safe_load(f)
    for item in overrides:  # group.key=value
        key, value = item.split("=", 1)
        node = cfg
        *groups, last = key.split(".")
        for g in groups:
            node = node[g]
        node[last] = yaml.safe_load(value)
    return cfg


def instantiate(spec, *args):
    spec = dict(spec)
    module, name = spec.pop("_target_").rsplit(".", 1)
    return getattr(importlib.import_module(module), name)(*args, **spec)


@torch.no_grad()
def validate(model, loader, beta):
    model.eval()
    sums, n = np.zeros(3), 0
    for (x,) in loader:
        logits, mu, logvar = model(x)
        recon, kl = elbo_terms(logits, x, mu, logvar)
        mae = (torch.sigmoid(logits) - x).abs().mean()
        sums += np.array([recon.item(), kl.item(), mae.item()]) * len(x)
        n += len(x)
    model.train()
    recon, kl, mae = sums / n
    return recon + beta * kl, recon, kl, mae


def main(argv):
    cfg = load_config("conf/config.yaml", argv)
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    gen = np.random.default_rng(cfg["seed"])
    d = cfg["data"]
    train_images = draw(d["n_train"], d["side"], d["noise"], gen)
    val_images = draw(d["n_val"], d["side"], d["noise"], gen)
    train_loader = DataLoader(TensorDataset(train_images), batch_size=d["batch_size"], shuffle=True, drop_last=True)
    val_loader = DataLoader(TensorDataset(val_images), batch_size=200)

    model = SpriteVAE(d["side"] ** 2, **cfg["model"])
    optimizer = instantiate(cfg["optim"], model.parameters())
    t = cfg["trainer"]
    lr_sched = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=t["max_steps"], power=1.0)
    writer = SummaryWriter(t["logdir"])

    endless = itertools.chain.from_iterable(itertools.repeat(train_loader))
    model.train()
    for step in range(1, t["max_steps"] + 1):
        (x,) = next(endless)
        logits, mu, logvar = model(x)
        recon, kl = elbo_terms(logits, x, mu, logvar)
        beta = cfg["loss"]["beta"] * min(1.0, step / cfg["loss"]["anneal_steps"])
        loss = recon + beta * kl

        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), t["clip_norm"])
        optimizer.step()
        lr_sched.step()

        if step % t["log_every"] == 0:
            writer.add_scalar("train/neg_elbo", loss.item(), step)
            writer.add_scalar("train/recon", recon.item(), step)
            writer.add_scalar("train/kl", kl.item(), step)
            writer.add_scalar("train/grad_norm", norm.item(), step)
            writer.add_scalar("lr", optimizer.param_groups[0]["lr"], step)
        if step % t["val_every"] == 0:
            total, recon, kl, mae = validate(model, val_loader, cfg["loss"]["beta"])
            writer.add_scalar("val/neg_elbo", total, step)
            writer.add_scalar("val/recon", recon, step)
            writer.add_scalar("val/kl", kl, step)
            writer.add_scalar("val/pixel_mae", mae, step)
    writer.close()
    print(f"step {step}: validation -ELBO {total:.2f}, pixel error {mae:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
