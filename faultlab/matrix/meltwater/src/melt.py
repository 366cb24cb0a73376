import numpy as np
import torch
import torch.nn as nn

np.random.seed(4)
torch.manual_seed(4)

# columns: hour, temp, sun, rain, snow, wind, pressure, discharge
d = np.genfromtxt("data/stream.csv", delimiter=",", skip_header=1)
d = d[np.argsort(d[:, 0])]
x = d[:, 1:7]
y = d[:, 7]
nt = len(x)
n1 = int(0.7 * nt)
n2 = int(0.85 * nt)
L, H = 48, 6
nb = 64

m = np.nanmean(x[:n1], axis=0)
s = np.nanstd(x[:n1], axis=0) + 1e-6
x = np.where(np.isnan(x), m, x)
x = (x - m) / s
my, sy = y[:n1].mean(), y[:n1].std()
z = (y - my) / sy


def win(a, b):
    p, q = [], []
    for t in range(a + L, b - H):
        p.append(np.concatenate([x[t - L:t], z[t - L:t, None]], axis=1))
        q.append(z[t + H])
    return torch.tensor(np.array(p), dtype=torch.float32), torch.tensor(np.array(q), dtype=torch.float32)


xa, ya = win(0, n1)
xv, yv = win(n1, n2)
xt, yt = win(n2, nt)
print("windows", len(xa), len(xv), len(xt))


class Net(nn.Module):
    def __init__(self, k, h=48):
        super().__init__()
        self.g = nn.GRU(k, h, batch_first=True)
        self.o = nn.Sequential(nn.Linear(h, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u):
        r, _ = self.g(u)
        return self.o(r[:, -1]).squeeze(-1)


f = Net(xa.shape[2])
opt = torch.optim.Adam(f.parameters(), lr=1e-3)
best, keep = np.inf, None
for ep in range(40):
    f.train()
    pi = torch.randperm(len(xa))
    tot = 0.0
    for i in range(0, len(xa), nb):
        j = pi[i:i + nb]
        e = ((f(xa[j]) - ya[j]) ** 2).mean()
        opt.zero_grad()
        e.backward()
        nn.utils.clip_grad_norm_(f.parameters(), 1.0)
        opt.step()
        tot += e.item() * len(j)
    f.eval()
    with torch.no_grad():
        ev = ((f(xv) - yv) ** 2).mean().item()
    if ev < best:
        best = ev
        keep = {k: v.clone() for k, v in f.state_dict().items()}
    print(f"{ep:3d} train {tot / len(xa):.4f} val {ev:.4f}")

f.load_state_dict(keep)
f.eval()
with torch.no_grad():
    r = f(xt) * sy + my
    g = yt * sy + my
print("test rmse", float(((r - g) ** 2).mean().sqrt()), "m3/s")
