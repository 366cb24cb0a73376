#!/usr/bin/env python
# coding: utf-8

# # Sentiment of shop reviews
#
# Small transformer encoder, three classes (negative / neutral / positive).

# In[1]:


import random
import sys
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

from shop_reviews import load_export


# In[2]:


SEED = 11
MAX_LEN = 32
MIN_FREQ = 3
BATCH_SIZE = 32
EPOCHS = 60
LR = 1e-3
WARMUP_RATIO = 0.1
WEIGHT_DECAY = 0.01
DROPOUT = 0.1
DIM, HEADS, LAYERS = 32, 4, 2

random.seed(SEED)
torch.manual_seed(SEED)
device = "cuda" if torch.cuda.is_available() else "cpu"


# ## Data

# In[3]:


LABELS = ["negative", "neutral", "positive"]


def to_label(stars):
    return "negative" if stars <= 2 else "neutral" if stars == 3 else "positive"


rows = load_export(n=320)
rows = [r for r in rows if r["stars"] > 0]
texts = [r["body"] for r in rows]
labels = [to_label(r["stars"]) for r in rows]

held_out = set(random.Random(0).sample(range(len(rows)), len(rows) // 5))
train_texts = [t for i, t in enumerate(texts) if i not in held_out]
train_labels = [y for i, y in enumerate(labels) if i not in held_out]
val_texts = [t for i, t in enumerate(texts) if i in held_out]
val_labels = [y for i, y in enumerate(labels) if i in held_out]
print(f"{len(train_texts)} train reviews, {len(val_texts)} held out")
print("classes:", dict(Counter(train_labels)))


# In[4]:


PAD, UNK, CLS = 0, 1, 2
STOPWORDS = {"w0", "w1", "w2"}


def tokenize(text):
    return [w for w in text.lower().split() if w not in STOPWORDS]


def build_vocab(texts):
    counts = Counter(w for t in texts for w in tokenize(t))
    words = [w for w, n in counts.most_common() if n >= MIN_FREQ]
    return {w: i + 3 for i, w in enumerate(words)}


def encode(text, vocab):
    return [CLS] + [vocab.get(w, UNK) for w in tokenize(text)][: MAX_LEN - 1]


def make_dataset(texts, labels, vocab, label2id):
    return [(encode(t, vocab), label2id[y]) for t, y in zip(texts, labels)]


def collate(batch):
    ids = [torch.tensor(x) for x, _ in batch]
    ids = nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=PAD)
    return ids, torch.tensor([y for _, y in batch])


vocab = build_vocab(train_texts)
label2id = {y: i for i, y in enumerate(LABELS)}
train_ds = make_dataset(train_texts, train_labels, vocab, label2id)
val_ds = make_dataset(val_texts, val_labels, vocab, label2id)
train_loader = DataLoader(train_ds, batch_size=BATCH_SIZE, shuffle=True, collate_fn=collate)
val_loader = DataLoader(val_ds, batch_size=64, collate_fn=collate)
print(f"{len(vocab)} words in the vocabulary")


# ## Model

# In[5]:


class ReviewEncoder(nn.Module):
    def __init__(self, n_tokens, n_classes):
        super().__init__()
        self.tok = nn.Embedding(n_tokens, DIM, padding_idx=PAD)
        self.pos = nn.Embedding(MAX_LEN, DIM)
        layer = nn.TransformerEncoderLayer(
            DIM, HEADS, dim_feedforward=2 * DIM, dropout=DROPOUT, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, norm=nn.LayerNorm(DIM), enable_nested_tensor=False)
        self.dropout = nn.Dropout(DROPOUT)
        self.classifier = nn.Linear(DIM, n_classes)
        self.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=0.02)
            nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Embedding):
            nn.init.normal_(m.weight, std=0.02)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))
        h = self.encoder(self.dropout(x), src_key_padding_mask=ids.eq(PAD))
        keep = ids.ne(PAD).unsqueeze(-1).float()
        pooled = (h * keep).sum(1) / keep.sum(1)
        return self.classifier(self.dropout(pooled))


model = ReviewEncoder(len(vocab) + 3, len(LABELS)).to(device)
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")


# ## Training

# In[6]:


decay = [p for p in model.parameters() if p.ndim >= 2]
no_decay = [p for p in model.parameters() if p.ndim < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": WEIGHT_DECAY}, {"params": no_decay, "weight_decay": 0.0}], lr=LR
)
num_training_steps = EPOCHS * len(train_loader)
num_warmup_steps = int(WARMUP_RATIO * num_training_steps)


def linear_warmup(step):
    if step < num_warmup_steps:
        return step / max(1, num_warmup_steps)
    return max(0.0, (num_training_steps - step) / max(1, num_training_steps - num_warmup_steps))


scheduler = LambdaLR(optimizer, linear_warmup)


# In[7]:


def macro_f1(preds, golds):
    scores = []
    for c in range(len(LABELS)):
        tp = ((preds == c) & (golds == c)).sum().item()
        wrong = ((preds == c) ^ (golds == c)).sum().item()
        scores.append(2 * tp / max(1, 2 * tp + wrong))
    return sum(scores) / len(scores)


@torch.no_grad()
def evaluate():
    model.eval()
    loss_sum, preds, golds = 0.0, [], []
    for ids, y in val_loader:
        ids, y = ids.to(device), y.to(device)
        logits = model(ids)
        loss_sum += F.cross_entropy(logits, y, reduction="sum").item()
        preds.append(logits.argmax(dim=-1))
        golds.append(y)
    preds, golds = torch.cat(preds), torch.cat(golds)
    correct = (preds == golds).sum().item()
    return loss_sum / len(golds), correct / len(golds), macro_f1(preds, golds)


# In[8]:


for epoch in range(1, EPOCHS + 1):
    model.train()
    running = 0.0
    bar = tqdm(train_loader, desc=f"Epoch {epoch}/{EPOCHS}", mininterval=0, miniters=10, ncols=110, file=sys.stdout)
    for ids, y in bar:
        ids, y = ids.to(device), y.to(device)
        logits = model(ids)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        running += loss.item()
        bar.set_postfix(loss=f"{loss.item():.4f}", lr=f"{scheduler.get_last_lr()[0]:.2e}", refresh=False)
    val_loss, val_acc, val_f1 = evaluate()
    print(
        f"epoch {epoch}: train loss {running / len(train_loader):.4f} | val loss {val_loss:.4f} "
        f"| val acc {val_acc:.4f} | macro F1 {val_f1:.4f}"
    )


# In[9]:


torch.save({"model": model.state_dict(), "vocab": vocab, "labels": LABELS}, "reviews.pt")
print("saved reviews.pt")
