# chord labels of frames: one file per piece, features [T, 24], labels [T]
import os
import sys
import numpy as np
import torch
import torch.nn as nn

DIR = sys.argv[1] if len(sys.argv) > 1 else "chroma"
N_FEAT = 24
N_CLASS = 25          # 24 chords and "no chord"
NOLABEL = 25          # frames that nobody labelled
MAXT = 400
BATCH = 16
EPOCHS = 30
SEED = 11

np.random.seed(SEED)
torch.manual_seed(SEED)
dev = "cuda" if torch.cuda.is_available() else "cpu"

files = sorted(f for f in os.listdir(DIR) if f.endswith(".npz"))
n = len(files)
X = np.zeros((n, MAXT, N_FEAT), dtype=np.float32)
Y = np.full((n, MAXT), NOLABEL, dtype=np.int64)
L = np.zeros(n, dtype=np.int64)
for i in range(n):
    z = np.load(os.path.join(DIR, files[i]))
    t = min(len(z["chroma"]), MAXT)
    X[i, :t] = z["chroma"][:t]
    lab = z["chord"][:t].astype(np.int64)
    lab[lab < 0] = NOLABEL
    Y[i, :t] = lab
    L[i] = t

idx = np.random.permutation(n)
n_tr = int(0.8 * n)
tr = idx[:n_tr]
va = idx[n_tr:]

count = np.zeros(N_CLASS)
for c in range(N_CLASS):
    count[c] = (Y[tr] == c).sum()
weight = torch.tensor(count.sum() / (N_CLASS * np.maximum(count, 1)), dtype=torch.float32).clamp(max=10.0).to(dev)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(N_FEAT, 96)
        self.rnn = nn.GRU(96, 96, 2, batch_first=True, bidirectional=True, dropout=0.2)
        self.out = nn.Linear(192, N_CLASS)

    def forward(self, x, lens):
        h = torch.relu(self.inp(x))
        p = nn.utils.rnn.pack_padded_sequence(h, lens.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = self.rnn(p)
        h, _ = nn.utils.rnn.pad_packed_sequence(h, batch_first=True, total_length=x.shape[1])
        return self.out(h)


net = Net().to(dev)
crit = nn.CrossEntropyLoss(weight=weight, ignore_index=NOLABEL)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
best = 0.0

for ep in range(EPOCHS):
    net.train()
    perm = np.random.permutation(len(tr))
    tot = 0.0
    nb = 0
    for s in range(0, len(tr), BATCH):
        b = tr[perm[s:s + BATCH]]
        xb = torch.from_numpy(X[b]).to(dev)
        yb = torch.from_numpy(Y[b]).to(dev)
        lb = torch.from_numpy(L[b])
        out = net(xb, lb)
        loss = crit(out.reshape(-1, N_CLASS), yb.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        nb += 1

    net.eval()
    right = 0
    total = 0
    with torch.no_grad():
        for s in range(0, len(va), BATCH):
            b = va[s:s + BATCH]
            xb = torch.from_numpy(X[b]).to(dev)
            yb = torch.from_numpy(Y[b]).to(dev)
            pred = net(xb, torch.from_numpy(L[b])).argmax(-1)
            m = yb != NOLABEL
            right += (pred[m] == yb[m]).sum().item()
            total += m.sum().item()
    acc = right / total
    print("epoch %d loss %.4f frame accuracy %.4f" % (ep, tot / nb, acc))
    if acc > best:
        best = acc
        torch.save(net.state_dict(), "chords.pt")
