# tide gauge: next 6 h water level from the last 48 h, one year of 10-min readings thinned to 1 h
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fn = sys.argv[1] if len(sys.argv) > 1 else "gauge.npy"
torch.manual_seed(3)
np.random.seed(3)
dev = "cuda" if torch.cuda.is_available() else "cpu"

L, H = 48, 6
bs = 64
lr = 1e-3
ne = 30
wd = 1e-4

z = np.load(fn).astype(np.float32)  # (T, 3): level, pressure, wind
T = len(z)
n1, n2 = int(0.7 * T), int(0.85 * T)
mu = z[:n1].mean(0)
sd = z[:n1].std(0) + 1e-6
z = (z - mu) / sd


def cut(a, b):
    xs, ys = [], []
    for i in range(a, b - L - H + 1):
        xs.append(z[i:i + L])
        ys.append(z[i + L:i + L + H, 0])
    return torch.from_numpy(np.stack(xs)), torch.from_numpy(np.stack(ys))


xt, yt = cut(0, n1)
xv, yv = cut(n1, n2)
xe, ye = cut(n2, T)
dl = DataLoader(TensorDataset(xt, yt), batch_size=bs, shuffle=True)
vl = DataLoader(TensorDataset(xv, yv), batch_size=bs)
el = DataLoader(TensorDataset(xe, ye), batch_size=bs)


class Net(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.rnn = nn.GRU(3, d, num_layers=2, batch_first=True, dropout=0.1)
        self.do = nn.Dropout(0.2)
        self.fc1 = nn.Linear(d, 32)
        self.fc2 = nn.Linear(32, H)

    def forward(self, x):
        h, _ = self.rnn(x)
        h = h[:, -1]
        h = torch.relu(self.fc1(self.do(h)))
        return self.fc2(h)


net = Net().to(dev)
opt = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=wd)
sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=ne)
lossf = nn.MSELoss()


def rmse(loader):
    net.eval()
    s, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(dev), y.to(dev)
            p = net(x)
            s += ((p - y) ** 2).sum().item()
            n += y.numel()
    return (s / n) ** 0.5 * float(sd[0])


best = 1e9
for ep in range(ne):
    t0 = time.time()
    net.train()
    tot = 0.0
    for x, y in dl:
        x, y = x.to(dev), y.to(dev)
        opt.zero_grad()
        p = net(x)
        loss = lossf(p, y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        tot += loss.item() * len(x)
    sch.step()
    v = rmse(vl)
    print("ep %d loss %.4f val rmse %.4f m (%.1fs)" % (ep, tot / len(xt), v, time.time() - t0))
    if v < best:
        best = v
        torch.save(net.state_dict(), "best.pt")

net.load_state_dict(torch.load("best.pt"))
print("test rmse %.4f m" % rmse(el))
