# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Support tickets -> queue
# BiGRU + attention over words, own vocabulary, fastText style vectors if the file is there.

# %%
import copy
import os
import random
import re
from collections import Counter

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

SEED = 2021
DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
CSV = "tickets.csv"
VEC_FILE = "vectors.vec"
EMB_DIM = 100
HIDDEN = 128
KEEP = 0.7
MAX_LEN = 120
MIN_FREQ = 2
BS = 64
LR = 1e-3
N_EPOCHS = 15

def seed_everything(s):
    random.seed(s)
    np.random.seed(s)
    torch.manual_seed(s)

seed_everything(SEED)

# %%
df = pd.read_csv(CSV)
df = df.dropna(subset=["text", "queue"])
df = df.drop_duplicates("text").reset_index(drop=True)
print(df.shape)
df.queue.value_counts()

# %% [markdown]
# Split inside each queue, so that rare queues are on both sides.

# %%
parts_tr, parts_va = [], []
for q, g in df.groupby("queue"):
    g = g.sample(frac=1.0, random_state=SEED)
    k = max(1, int(0.15 * len(g)))
    parts_va.append(g.iloc[:k])
    parts_tr.append(g.iloc[k:])
df_tr = pd.concat(parts_tr).reset_index(drop=True)
df_va = pd.concat(parts_va).reset_index(drop=True)

queues = sorted(df_tr.queue.unique())
q2i = {q: i for i, q in enumerate(queues)}
df_tr["y"] = df_tr.queue.map(q2i)
df_va["y"] = df_va.queue.map(q2i)
len(df_tr), len(df_va), len(queues)

# %%
PAD, UNK = 0, 1
TOKEN = re.compile(r"[a-z0-9äöüß]+|[!?]")

def tokenize(s):
    return TOKEN.findall(str(s).lower())

def build_vocab(texts, min_freq=MIN_FREQ):
    cnt = Counter()
    for t in texts:
        cnt.update(tokenize(t))
    words = [w for w, c in cnt.most_common() if c >= min_freq]
    return {w: i + 2 for i, w in enumerate(words)}

vocab = build_vocab(df_tr.text)
print("words:", len(vocab))

# %%
class TicketDS(Dataset):
    def __init__(self, frame, vocab):
        self.ids = []
        for t in frame.text:
            ids = [vocab.get(w, UNK) for w in tokenize(t)][:MAX_LEN]
            self.ids.append(torch.tensor(ids if ids else [UNK]))
        self.y = torch.tensor(frame.y.values)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.ids[i], self.y[i]

def collate(batch):
    seqs, ys = zip(*batch)
    lens = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True, padding_value=PAD), lens, torch.stack(ys)

ds_tr = TicketDS(df_tr, vocab)
ds_va = TicketDS(df_va, vocab)
dl_tr = DataLoader(ds_tr, batch_size=BS, shuffle=True, collate_fn=collate)
dl_va = DataLoader(ds_va, batch_size=BS, shuffle=False, collate_fn=collate)

# %%
class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, 1, bias=False)

    def forward(self, h, mask):
        e = self.v(torch.tanh(self.proj(h))).squeeze(-1)
        e = e.masked_fill(~mask, -1e4)
        a = torch.softmax(e, dim=1)
        return torch.bmm(a.unsqueeze(1), h).squeeze(1)

class TicketGRU(nn.Module):
    def __init__(self, n_words, n_out):
        super().__init__()
        self.emb = nn.Embedding(n_words, EMB_DIM, padding_idx=PAD)
        self.gru = nn.GRU(EMB_DIM, HIDDEN, batch_first=True, bidirectional=True)
        self.att = Attention(2 * HIDDEN)
        self.drop = nn.Dropout(1 - KEEP)
        self.out = nn.Linear(2 * HIDDEN, n_out)

    def forward(self, x, lens):
        e = self.drop(self.emb(x))
        packed = pack_padded_sequence(e, lens.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = self.gru(packed)
        h, _ = pad_packed_sequence(h, batch_first=True)
        z = self.att(h, x != PAD)
        return self.out(self.drop(z))

model = TicketGRU(len(vocab) + 2, len(queues))

# %%
def read_vectors(path, vocab, weight):
    found = 0
    with open(path, encoding="utf-8") as f:
        for line in f:
            w, *vals = line.rstrip().split(" ")
            if w in vocab and len(vals) == EMB_DIM:
                weight[vocab[w]] = torch.tensor([float(v) for v in vals])
                found += 1
    return found

if os.path.exists(VEC_FILE):
    with torch.no_grad():
        n = read_vectors(VEC_FILE, vocab, model.emb.weight)
    print(f"{n} of {len(vocab)} vectors found")

model = model.to(DEVICE)

# %% [markdown]
# Queues are uneven: weights ~ 1/sqrt(count), mean 1.

# %%
cnt = df_tr.y.value_counts().sort_index().values
w = 1.0 / np.sqrt(cnt)
w = torch.tensor(w / w.mean(), dtype=torch.float32, device=DEVICE)
criterion = nn.CrossEntropyLoss(weight=w)
optimizer = torch.optim.Adam(model.parameters(), lr=LR)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=1)

# %%
def macro_f1(y, p, n):
    f = []
    for c in range(n):
        tp = ((p == c) & (y == c)).sum()
        fp = ((p == c) & (y != c)).sum()
        fn = ((p != c) & (y == c)).sum()
        f.append(2 * tp / max(1, 2 * tp + fp + fn))
    return float(np.mean(f))

def predict(loader):
    model.eval()
    res = []
    with torch.no_grad():
        for x, lens, _ in loader:
            res.append(model(x.to(DEVICE), lens).argmax(dim=1).cpu())
    return torch.cat(res).numpy()

def run_epoch():
    model.train()
    losses = []
    for x, lens, y in dl_tr:
        x, y = x.to(DEVICE), y.to(DEVICE)
        optimizer.zero_grad()
        loss = criterion(model(x, lens), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses)

# %%
best_f1, best_state = -1.0, None
y_va = df_va.y.values
for epoch in range(N_EPOCHS):
    tr_loss = run_epoch()
    f1 = macro_f1(y_va, predict(dl_va), len(queues))
    scheduler.step(f1)
    print(f"ep {epoch:02d} | loss {tr_loss:.4f} | val f1 {f1:.4f} | lr {optimizer.param_groups[0]['lr']:.1e}")
    if f1 > best_f1:
        best_f1 = f1
        best_state = copy.deepcopy(model.state_dict())

# %%
model.load_state_dict(best_state)
p_va = predict(dl_va)
print("final macro f1:", macro_f1(y_va, p_va, len(queues)))
pd.crosstab(df_va.queue, pd.Series(p_va).map(dict(enumerate(queues))))

# %%
torch.save({"state": best_state, "vocab": vocab, "queues": queues}, "ticket_gru.pt")
