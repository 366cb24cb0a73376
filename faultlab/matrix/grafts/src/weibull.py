import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)
torch.manual_seed(3)

# 14 measurements, months followed, failed (1) or still working at the last visit (0)
d = np.loadtxt("grafts.csv", delimiter=",", skiprows=1)
rng.shuffle(d)
n = int(0.8 * len(d))
xa, ta, ea = d[:n, :14], d[:n, 14], d[:n, 15]
xv, tv, ev = d[n:, :14], d[n:, 14], d[n:, 15]

mu, sd = xa.mean(0), xa.std(0)
sd[sd < 1e-6] = 1.0
xa, xv = (xa - mu) / sd, (xv - mu) / sd
xa, ta, ea = [torch.tensor(v, dtype=torch.float32) for v in (xa, ta, ea)]
xv = torch.tensor(xv, dtype=torch.float32)

net = nn.Sequential(
    nn.Linear(14, 64), nn.SiLU(), nn.Dropout(0.2), nn.Linear(64, 32), nn.SiLU(), nn.Linear(32, 2)
)
nn.init.zeros_(net[-1].bias)


def nll(o, t, e):
    """Negative log likelihood of a Weibull law with log scale o[:, 0] and log shape o[:, 1]."""
    a, b = o[:, 0], o[:, 1].clamp(-2.0, 2.0)
    lt = torch.log(t.clamp(min=0.03))
    z = b.exp() * (lt - a)
    z = z.clamp(max=20.0)
    ll = e * (b - lt + z) - z.exp()
    return -ll.mean()


def order(o, t, e):
    """A graft that failed first should have the smaller scale."""
    a = o[:, 0]
    m = e[:, None] * (t[:, None] < t[None, :]).float()
    p = nn.functional.softplus(a[:, None] - a[None, :])
    return (m * p).sum() / m.sum().clamp(min=1.0)


def concordance(r, t, e):
    good = pairs = 0.0
    for i in range(len(t)):
        if e[i] < 0.5:
            continue
        for j in range(len(t)):
            if t[j] > t[i]:
                pairs += 1
                good += 1.0 if r[j] > r[i] else 0.5 if r[j] == r[i] else 0.0
    return good / max(pairs, 1.0)


opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
nb = len(xa) // 64
best = 0.0
for ep in range(120):
    net.train()
    q = torch.randperm(len(xa))
    tot = 0.0
    for k in range(nb):
        i = q[k * 64:(k + 1) * 64]
        o = net(xa[i])
        l1 = nll(o, ta[i], ea[i])
        l2 = order(o, ta[i], ea[i])
        l = l1 + 0.3 * l2
        opt.zero_grad()
        l.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        tot += l.item()
    net.eval()
    with torch.no_grad():
        r = net(xv)[:, 0].numpy()
    c = concordance(r, tv, ev)
    if c > best:
        best = c
        torch.save(net.state_dict(), "weibull.pt")
    print(f"{ep:3d} loss {tot / nb:.4f} concordance {c:.4f}")
