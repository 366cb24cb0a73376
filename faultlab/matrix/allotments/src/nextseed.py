import numpy as np
import torch
import torch.nn as nn

MAXH = 20
NNEG = 100
BATCH = 256
EPOCHS = 15

rng = np.random.default_rng(1)
torch.manual_seed(1)

raw = np.load("orders.npz")  # user, item, time, spent (cents), sorted by nothing
order = np.lexsort((raw["time"], raw["user"]))
user, item, spent = raw["user"][order], raw["item"][order] + 1, raw["spent"][order].astype(np.float64)
n_rows = len(user)
n_items = int(item.max()) + 1

# first row of every user
first = np.flatnonzero(np.r_[True, user[1:] != user[:-1]])
last = np.r_[first[1:], n_rows] - 1
n_users = len(first)

# the last purchase is the test, the one before it the validation, the rest is trained on
n_train = 0
for u in range(n_users):
    n_train += max(0, last[u] - first[u] - 2)
hist = np.zeros((n_train, MAXH), dtype=np.int64)
money = np.zeros((n_train, 1), dtype=np.float32)
goal = np.zeros(n_train, dtype=np.int64)
k = 0
seen_sum, seen_sq, seen_n = 0.0, 0.0, 0
for u in range(n_users):
    for r in range(first[u] + 1, last[u] - 1):
        lo = max(first[u], r - MAXH)
        hist[k, MAXH - (r - lo):] = item[lo:r]
        money[k, 0] = spent[lo:r].mean()
        goal[k] = item[r]
        k += 1
    for r in range(first[u], last[u] - 1):
        seen_sum += spent[r]
        seen_sq += spent[r] ** 2
        seen_n += 1
mean = seen_sum / seen_n
dev = (seen_sq / seen_n - mean ** 2) ** 0.5
money = ((money - mean) / dev).astype(np.float32)


def held(back):
    """History, money and goal of every user at the purchase `back` places before the end."""
    h = np.zeros((n_users, MAXH), dtype=np.int64)
    m = np.zeros((n_users, 1), dtype=np.float32)
    g = np.zeros(n_users, dtype=np.int64)
    j = 0
    for u in range(n_users):
        r = last[u] - back
        if r <= first[u]:
            continue
        lo = max(first[u], r - MAXH)
        h[j, MAXH - (r - lo):] = item[lo:r]
        m[j, 0] = (spent[lo:r].mean() - mean) / dev
        g[j] = item[r]
        j += 1
    return torch.from_numpy(h[:j]), torch.from_numpy(m[:j]), torch.from_numpy(g[:j])


class Shelf(nn.Module):
    def __init__(self, n, d=64):
        super().__init__()
        self.emb = nn.Embedding(n, d, padding_idx=0)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.mix = nn.Linear(d + 1, d)

    def forward(self, h, m):
        s = self.gru(self.emb(h))[0][:, -1]
        return self.mix(torch.cat([s, m], 1))

    def score(self, h, m, cand):
        return (self.forward(h, m).unsqueeze(1) * self.emb(cand)).sum(-1)


def hit_rate(net, data, top=10):
    net.eval()
    h, m, g = data
    hits = 0
    gen = np.random.default_rng(99)
    with torch.no_grad():
        for i in range(0, len(g), BATCH):
            cand = torch.from_numpy(gen.integers(1, n_items, (len(g[i:i + BATCH]), NNEG + 1)))
            cand[:, 0] = g[i:i + BATCH]
            s = net.score(h[i:i + BATCH], m[i:i + BATCH], cand)
            hits += ((s[:, 1:] >= s[:, :1]).sum(1) < top).sum().item()
    return hits / len(g)


valid, test = held(1), held(0)
hist, money, goal = torch.from_numpy(hist), torch.from_numpy(money), torch.from_numpy(goal)
net = Shelf(n_items)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
best = -1.0
for epoch in range(EPOCHS):
    net.train()
    perm = torch.from_numpy(rng.permutation(n_train))
    total = 0.0
    for i in range(0, n_train, BATCH):
        b = perm[i:i + BATCH]
        cand = torch.from_numpy(rng.integers(1, n_items, (len(b), 8)))
        cand[:, 0] = goal[b]
        loss = nn.functional.cross_entropy(net.score(hist[b], money[b], cand), torch.zeros(len(b), dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
    hr = hit_rate(net, valid)
    print(epoch, total / n_train, hr)
    if hr > best:
        best = hr
        torch.save(net.state_dict(), "shelf.pt")
net.load_state_dict(torch.load("shelf.pt"))
print("test", hit_rate(net, test))
