"""Which chapter of the Python manual is a snippet from? Bag of embeddings with attention pooling."""
import argparse
import pydoc_data.topics
import random
import re

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=100)
parser.add_argument("--train-size", type=int, default=1200)
parser.add_argument("--dim", type=int, default=64)
parser.add_argument("--dropout", type=float, default=0.2)
parser.add_argument("--label-smoothing", type=float, default=0.0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--weight-decay", type=float, default=0.01)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--grad-clip", type=float, default=1.0)
parser.add_argument("--warmup", type=int, default=20)
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--log-every", type=int, default=5)
args = parser.parse_args()
random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
PAD = 0

chapters = sorted(sorted(pydoc_data.topics.topics, key=lambda k: -len(pydoc_data.topics.topics[k]))[8:16])
samples = []
for target, chapter in enumerate(chapters):
    words = re.findall(r"[a-z_]+|[0-9]+", pydoc_data.topics.topics[chapter].lower())
    position = 0
    while position + 30 < min(len(words), 4500):
        length = 10 + (position * 7) % 20
        samples.append((words[position : position + length], target))
        position += length
random.Random(0).shuffle(samples)
train_samples, valid_samples = samples[:-300][: args.train_size], samples[-300:]
vocabulary = {w: i + 2 for i, w in enumerate(sorted({w for s, _ in train_samples for w in s}))}


def encode(part):
    ids = torch.full((len(part), 30), PAD)
    for row, (words, _) in enumerate(part):
        ids[row, : len(words)] = torch.tensor([vocabulary.get(w, 1) for w in words])
    return ids, torch.tensor([target for _, target in part])


train_x, train_y = encode(train_samples)
valid_x, valid_y = encode(valid_samples)


class TextModel(nn.Module):
    def __init__(self, size, dim):
        super().__init__()
        self.embedding = nn.Embedding(size, dim, padding_idx=PAD)
        self.score = nn.Linear(dim, 1)
        self.dropout = nn.Dropout(args.dropout)
        self.hidden = nn.Linear(dim, dim)
        self.classify = nn.Linear(dim, 8)

    def forward(self, ids):
        vectors = self.embedding(ids)
        weights = self.score(vectors).squeeze(-1).masked_fill(ids == PAD, float("-inf")).softmax(-1)
        pooled = (weights.unsqueeze(-1) * vectors).sum(1)
        hidden = torch.relu(self.hidden(self.dropout(pooled)))
        return self.classify(self.dropout(hidden))


model = TextModel(len(vocabulary) + 2, args.dim)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
total = args.epochs * ((len(train_x) + args.batch_size - 1) // args.batch_size)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / args.warmup, max(0.0, 1 - s / total)))
criterion = nn.CrossEntropyLoss(label_smoothing=args.label_smoothing)
step = 0
for epoch in range(1, args.epochs + 1):
    model.train()
    total_loss, correct, count = 0.0, 0, 0
    for ids in torch.randperm(len(train_x)).split(args.batch_size):
        x, y = train_x[ids], train_y[ids]
        output = model(x)
        loss = criterion(output, y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        optimizer.step()
        scheduler.step()
        step += 1
        total_loss += loss.item() * len(y)
        correct += (output.argmax(1) == y).sum().item()
        count += len(y)
        if step % args.log_every == 0:
            print("step %d loss %.4f lr %.3e grad_norm %.4f" % (step, loss.item(), scheduler.get_last_lr()[0], norm.item()))
    model.eval()
    with torch.no_grad():
        output = model(valid_x)
        val_loss = criterion(output, valid_y).item()
        val_acc = (output.argmax(1) == valid_y).float().mean().item()
    print("step %d val_loss %.4f val_acc %.4f" % (step, val_loss, val_acc))
