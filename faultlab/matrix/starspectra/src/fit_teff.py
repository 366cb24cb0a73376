import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# temperature, gravity and metallicity of stars from their spectra
rng = np.random.default_rng(3)
torch.manual_seed(3)

d = np.load('spectra.npz')
x, y = d['flux'].astype('f4'), d['params'].astype('f4')      # (N, 1024), (N, 3)
idx = rng.permutation(len(x))
x, y = x[idx], y[idx]
n = int(0.85 * len(x))
xt, yt, xv, yv = x[:n], y[:n], x[n:], y[n:]
mx, sx = xt.mean(0), xt.std(0) + 1e-6
my, sy = yt.mean(0), yt.std(0) + 1e-6
xt, xv = (xt - mx) / sx, (xv - mx) / sx
yt, yv = (yt - my) / sy, (yv - my) / sy


class Res(nn.Module):
    def __init__(self, ci, co, s=1):
        super().__init__()
        self.c1 = nn.Conv1d(ci, co, 7, stride=s, padding=3)
        self.b1 = nn.BatchNorm1d(co)
        self.c2 = nn.Conv1d(co, co, 7, padding=3)
        self.b2 = nn.BatchNorm1d(co)
        self.sc = nn.Identity() if ci == co and s == 1 else nn.Conv1d(ci, co, 1, stride=s)

    def forward(self, x):
        h = F.relu(self.b1(self.c1(x)))
        h = self.b2(self.c2(h))
        return F.relu(h + self.sc(x))


class Net(nn.Module):
    def __init__(self, nf=24):
        super().__init__()
        self.stem = nn.Conv1d(1, nf, 11, stride=2, padding=5)
        self.r = nn.ModuleList([Res(nf, nf), Res(nf, 2 * nf, 2), Res(2 * nf, 2 * nf), Res(2 * nf, 4 * nf, 2)])
        self.gate = nn.Sequential(nn.Linear(4 * nf, 8), nn.ReLU(), nn.Linear(8, 4 * nf))
        self.l1 = nn.Linear(8 * nf, 64)
        self.l2 = nn.Linear(64, 3)
        nn.init.normal_(self.l2.weight, std=0.01)
        nn.init.zeros_(self.l2.bias)

    def forward(self, x):
        h = F.relu(self.stem(x.unsqueeze(1)))
        for r in self.r:
            h = r(h)
        g = torch.sigmoid(self.gate(h.mean(-1)))
        h = h * g.unsqueeze(-1)
        h = torch.cat([h.mean(-1), h.amax(-1)], 1)
        h = F.gelu(self.l1(h))
        return self.l2(h)


net = Net()
w = [p for p in net.parameters() if p.ndim > 1]
b = [p for p in net.parameters() if p.ndim <= 1]
opt = torch.optim.AdamW([{'params': w, 'weight_decay': 1e-3}, {'params': b, 'weight_decay': 0.0}], lr=1e-3)
nb, ne = 64, 40
best = np.inf
for e in range(ne):
    net.train()
    p = rng.permutation(n)
    tot = 0.0
    for k in range(0, n - nb + 1, nb):
        i = p[k:k + nb]
        xb = torch.from_numpy(xt[i] + 0.01 * rng.standard_normal(xt[i].shape).astype('f4'))
        yb = torch.from_numpy(yt[i])
        yh = net(xb)
        loss = F.smooth_l1_loss(yh, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        yh = net(torch.from_numpy(xv)).numpy()
    err = np.abs((yh - yv) * sy).mean(0)
    v = float(((yh - yv) ** 2).mean())
    print(f'{e:3d} train {tot / (n // nb):.4f} val {v:.4f} mae Teff {err[0]:.1f} logg {err[1]:.3f} feh {err[2]:.3f}')
    if v < best:
        best = v
        torch.save(net.state_dict(), 'teff.pt')
