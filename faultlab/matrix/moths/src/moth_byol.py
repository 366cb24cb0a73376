"""Self-supervised features of moth photos: an online and a target network, in functions."""
from copy import deepcopy
from functools import partial, reduce
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

setting = {"size": 64, "batch": 128, "rate": 3e-4, "steps": 20_000, "tau": 0.99, "width": 48, "dim": 128, "seed": 5}


def conv(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


def mlp(cin, hidden, cout):
    return nn.Sequential(nn.Linear(cin, hidden), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, cout))


def make_encoder(width, dim):
    widths = [width, width * 2, width * 4, width * 4]
    pairs = zip([3] + widths[:-1], widths)
    body = [block for a, b in pairs for block in (conv(a, b), conv(b, b, 2))]
    return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), mlp(widths[-1], 4 * dim, dim))


def start(net, gain=1.0):
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_normal_(module.weight, gain=gain)
            nn.init.zeros_(module.bias)
    return net


def crop(gen, x):
    size = setting["size"]
    top, left = (int(gen.integers(0, x.shape[-1] - size + 1)) for _ in range(2))
    x = x[..., top:top + size, left:left + size]
    return x.flip(-1) if gen.random() < 0.5 else x


def tone(gen, x):
    gain = torch.from_numpy(gen.uniform(0.7, 1.3, (3, 1, 1)).astype("float32"))
    return (x * gain).clamp(0, 1)


def noise(gen, x):
    return x + 0.02 * torch.from_numpy(gen.standard_normal(tuple(x.shape)).astype("float32"))


def view(gen, x):
    return reduce(lambda y, f: f(gen, y), (crop, tone, noise), x) - 0.5


def pictures(folder, gen, batch):
    files = sorted(Path(folder).glob("*.npy"))
    while True:
        for rows in np.array_split(gen.permutation(len(files)), max(1, len(files) // batch)):
            xs = [torch.from_numpy(np.load(files[i])).float().div(255).permute(2, 0, 1) for i in rows]
            yield torch.stack([view(gen, x) for x in xs]), torch.stack([view(gen, x) for x in xs])


def regression(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()


def follow(target, online, tau):
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters()):
            t.mul_(tau).add_(o, alpha=1 - tau)


def make_step(online, predictor, target, optimizer, tau):
    def step(a, b):
        za, zb = online(a), online(b)
        pa, pb = predictor(za), predictor(zb)
        with torch.no_grad():
            ta, tb = target(a), target(b)
        loss = regression(pa, tb) + regression(pb, ta)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        follow(target, online, tau)
        return loss.item()

    return step


def main():
    torch.manual_seed(setting["seed"])
    gen = np.random.default_rng(setting["seed"])
    online = start(make_encoder(setting["width"], setting["dim"]))
    target = deepcopy(online)
    for p in target.parameters():
        p.requires_grad_(False)
    predictor = start(mlp(setting["dim"], 4 * setting["dim"], setting["dim"]))
    parts = (online, predictor)
    optimizer = torch.optim.AdamW([p for m in parts for p in m.parameters()], lr=setting["rate"], weight_decay=1e-4)
    step = make_step(online, predictor, target, optimizer, setting["tau"])
    for m in (*parts, target):
        m.train()
    stream = partial(pictures, "moths", gen)(setting["batch"])
    sums = 0.0
    for k, (a, b) in enumerate(islice(stream, setting["steps"]), 1):
        sums += step(a, b)
        if k % 100 == 0:
            print(f"{k} {sums / 100:.4f}")
            sums = 0.0
    torch.save({"encoder": online.state_dict(), "setting": setting}, "moths.pt")


if __name__ == "__main__":
    main()
