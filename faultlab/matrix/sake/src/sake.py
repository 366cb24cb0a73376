# grade sake 0..5 from the taste sensor (ordinal, cumulative thresholds)
import numpy as np
import torch
import torch.nn as nn

rs = np.random.RandomState(3)
torch.manual_seed(3)

d = np.load('sake.npz')
x, g = d['x'].astype(np.float32), d['g'].astype(np.int64)
n = len(x)
p = rs.permutation(n)
x, g = x[p], g[p]
n1, n2 = int(.7 * n), int(.85 * n)
xt, gt = x[:n1], g[:n1]
xv, gv = x[n1:n2], g[n1:n2]
xe, ge = x[n2:], g[n2:]
mu, sd = xt.mean(0), xt.std(0) + 1e-6
xt, xv, xe = (xt - mu) / sd, (xv - mu) / sd, (xe - mu) / sd

K = 6
yt = (gt[:, None] > np.arange(K - 1)[None]).astype(np.float32)   # K-1 thresholds passed or not

net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(.2),
                    nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, K - 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
nb, ne = 64, 60


def grade(x):
    net.eval()
    out = []
    with torch.no_grad():
        for i in range(0, len(x), 256):
            z = net(torch.from_numpy(x[i:i + 256]))
            out.append((torch.sigmoid(z) > .5).sum(1).numpy())
    net.train()
    return np.concatenate(out)


def kappa(a, b):
    o = np.zeros((K, K))
    for i, j in zip(a, b):
        o[i, j] += 1
    w = (np.arange(K)[:, None] - np.arange(K)[None]) ** 2 / (K - 1) ** 2
    e = np.outer(o.sum(1), o.sum(0)) / o.sum()
    return 1 - (w * o).sum() / (w * e).sum()


best, kept = -1., None
for ep in range(ne):
    q = rs.permutation(len(xt))
    tot = 0.
    for i in range(0, len(q), nb):
        k = q[i:i + nb]
        opt.zero_grad()
        l = bce(net(torch.from_numpy(xt[k])), torch.from_numpy(yt[k]))
        l.backward()
        opt.step()
        tot += l.item() * len(k)
    pv = grade(xv)
    acc = (pv == gv).mean()
    mae = np.abs(pv - gv).mean()
    kap = kappa(gv, pv)
    if kap > best:
        best = kap
        kept = {a: b.clone() for a, b in net.state_dict().items()}
    print('ep %d loss %.4f acc %.3f mae %.3f kappa %.3f' % (ep, tot / len(xt), acc, mae, kap))

net.load_state_dict(kept)
pe = grade(xe)
print('test acc %.3f mae %.3f kappa %.3f' % ((pe == ge).mean(), np.abs(pe - ge).mean(), kappa(ge, pe)))
