#!/usr/bin/env python
# coding: utf-8

# In[1]:

import glob
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy.io import wavfile
from scipy.signal import resample_poly

sr = 16000
n_fft = 512
win = 400
hop = 160
n_mels = 64
fmin, fmax = 40.0, 7600.0
np.random.seed(5)
torch.manual_seed(5)

# In[2]:

files = sorted(glob.glob("whistles/*.wav"))
letters = "-ABCDEFGHIJ"          # the blank, then ten whistled signs


def read(f):
    rate, x = wavfile.read(f)
    x = x.astype(np.float32) / 32768.0
    if rate != sr:
        x = resample_poly(x, sr, rate)
    return x


def hz_to_mel(f):
    return 2595.0 * np.log10(1.0 + f / 700.0)


def mel_to_hz(m):
    return 700.0 * (10.0 ** (m / 2595.0) - 1.0)


def filters():
    edges = mel_to_hz(np.linspace(hz_to_mel(fmin), hz_to_mel(fmax), n_mels + 2))
    bins = np.fft.rfftfreq(n_fft, 1.0 / sr)
    fb = np.zeros((n_mels, len(bins)), dtype=np.float32)
    for m in range(n_mels):
        a, b, c = edges[m], edges[m + 1], edges[m + 2]
        fb[m] = np.maximum(0, np.minimum((bins - a) / (b - a), (c - bins) / (c - b)))
    return fb


fb = filters()

# In[3]:


def logmel(x):
    n = 1 + (len(x) - win) // hop
    frames = np.stack([x[i * hop:i * hop + win] for i in range(n)])
    spec = np.abs(np.fft.rfft(frames * np.hanning(win), n=n_fft)) ** 2
    return np.log(spec @ fb.T + 1e-6).astype(np.float32)


X, Y = [], []
for f in files:
    X.append(logmel(read(f)))
    sign = f.split("_")[-1][:-4]
    Y.append([letters.index(c) for c in sign])

idx = np.random.permutation(len(X))
k = int(len(idx) * 0.85)
tr, va = idx[:k], idx[k:]
mu = np.concatenate([X[i] for i in tr]).mean(axis=0)
sd = np.concatenate([X[i] for i in tr]).std(axis=0)
X = [(x - mu) / sd for x in X]

# In[4]:


def masked(x):
    x = x.copy()
    w = np.random.randint(0, 10)
    s = np.random.randint(0, n_mels - w)
    x[:, s:s + w] = 0
    w = np.random.randint(0, min(20, len(x) // 4))
    s = np.random.randint(0, len(x) - w)
    x[s:s + w] = 0
    return x


def collate(rows, train):
    xs = [masked(X[i]) if train else X[i] for i in rows]
    lx = torch.tensor([len(x) for x in xs])
    ly = torch.tensor([len(Y[i]) for i in rows])
    xb = torch.zeros(len(rows), int(lx.max()), n_mels)
    for j, x in enumerate(xs):
        xb[j, :len(x)] = torch.from_numpy(x)
    yb = torch.tensor([c for i in rows for c in Y[i]])
    return xb, lx, yb, ly


# In[5]:


class Net(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.conv = nn.Conv1d(n_mels, h, 5, stride=2, padding=2)
        self.rnn = nn.GRU(h, h, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * h, len(letters))

    def forward(self, x, n):
        x = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        n = (n + 1) // 2
        p = nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False)
        x, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(p)[0], batch_first=True)
        return self.out(x).log_softmax(-1), n


def read_out(lp, n):
    best = lp.argmax(-1).tolist()
    out = []
    for row, m in zip(best, n.tolist()):
        s, last = [], 0
        for c in row[:m]:
            if c != last and c != 0:
                s.append(c)
            last = c
        out.append(s)
    return out


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)

# In[6]:

for epoch in range(60):
    net.train()
    np.random.shuffle(tr)
    tot = 0.0
    for i in range(0, len(tr), 16):
        xb, lx, yb, ly = collate(tr[i:i + 16], True)
        lp, n = net(xb, lx)
        loss = ctc(lp.transpose(0, 1), yb, n, ly)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        tot += loss.item() * len(ly)
    net.eval()
    right = 0
    with torch.no_grad():
        for i in range(0, len(va), 16):
            xb, lx, yb, ly = collate(va[i:i + 16], False)
            lp, n = net(xb, lx)
            for j, s in enumerate(read_out(lp, n)):
                right += s == Y[va[i + j]]
    print(epoch, tot / len(tr), right / len(va))
torch.save(net.state_dict(), "whistles.pt")
