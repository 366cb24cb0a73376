from __future__ import print_function

import argparse
import math
import os

import torch
import torch.nn as nn
from torch.autograd import Variable

parser = argparse.ArgumentParser(description="Word language model of old verses (PyTorch 0.3)")
parser.add_argument("--data", default="verses")
parser.add_argument("--nhid", type=int, default=400)
parser.add_argument("--lr", type=float, default=20)
parser.add_argument("--clip", type=float, default=0.25)
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--bptt", type=int, default=35)
parser.add_argument("--batch_size", type=int, default=20)
parser.add_argument("--resume", action="store_true")
parser.add_argument("--save", default="model.pt")
args = parser.parse_args()

torch.manual_seed(1111)
torch.cuda.manual_seed(1111)


class Corpus(object):
    def __init__(self, path):
        self.index = {}
        self.train = self.read(os.path.join(path, "train.txt"), True)
        self.valid = self.read(os.path.join(path, "valid.txt"), False)

    def read(self, path, grow):
        ids = []
        for line in open(path):
            for w in line.split() + ["<eos>"]:
                if grow:
                    self.index.setdefault(w, len(self.index))
                ids.append(self.index.get(w, self.index["<unk>"]))
        return torch.LongTensor(ids)


class Model(nn.Module):
    def __init__(self, ntoken, nhid):
        super(Model, self).__init__()
        self.encoder = nn.Embedding(ntoken, nhid)
        self.drop = nn.Dropout(0.5)
        self.rnn = nn.LSTM(nhid, nhid, 2, dropout=0.5)
        self.decoder = nn.Linear(nhid, ntoken)
        self.encoder.weight.data.uniform_(-0.1, 0.1)
        self.decoder.weight.data.uniform_(-0.1, 0.1)
        self.decoder.bias.data.fill_(0)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        out = self.drop(out)
        return self.decoder(out.view(out.size(0) * out.size(1), -1)), hidden

    def init_hidden(self, bsz):
        w = next(self.parameters()).data
        return tuple(Variable(w.new(2, bsz, self.rnn.hidden_size).zero_()) for _ in range(2))


def batchify(data, bsz):
    n = data.size(0) // bsz
    return data[:n * bsz].view(bsz, -1).t().contiguous().cuda()


def get_batch(source, i, evaluation=False):
    n = min(args.bptt, len(source) - 1 - i)
    return Variable(source[i:i + n], volatile=evaluation), Variable(source[i + 1:i + 1 + n].view(-1))


corpus = Corpus(args.data)
ntokens = len(corpus.index)
train_data, val_data = batchify(corpus.train, args.batch_size), batchify(corpus.valid, 10)
model = Model(ntokens, args.nhid).cuda()
criterion = nn.CrossEntropyLoss()


def evaluate(source):
    model.eval()
    total, hidden = 0, model.init_hidden(10)
    for i in range(0, source.size(0) - 1, args.bptt):
        x, y = get_batch(source, i, evaluation=True)
        out, hidden = model(x, hidden)
        total += len(x) * criterion(out, y).data[0]
        hidden = tuple(Variable(h.data) for h in hidden)
    return total / (len(source) - 1)


def train(epoch, lr):
    model.train()
    total, hidden = 0, model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        x, y = get_batch(train_data, i)
        hidden = tuple(Variable(h.data) for h in hidden)
        model.zero_grad()
        out, hidden = model(x, hidden)
        loss = criterion(out, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(-lr, p.grad.data)
        total += loss.data[0]
        if batch % 200 == 199:
            print("| epoch %3d | %5d batches | lr %.3f | loss %.2f | ppl %.1f" % (epoch, batch + 1, lr, total / 200, math.exp(total / 200)))
            total = 0


lr, best, first = args.lr, None, 1
if args.resume:
    state = torch.load("last.pt")
    model.load_state_dict(state["model"])
    lr, best, first = state["lr"], state["best"], state["epoch"] + 1
for epoch in range(first, args.epochs + 1):
    train(epoch, lr)
    val = evaluate(val_data)
    print("| end of epoch %3d | valid loss %.3f | ppl %.2f" % (epoch, val, math.exp(val)))
    if best is None or val < best:
        best = val
        with open(args.save, "wb") as f:
            torch.save(model.state_dict(), f)
    else:
        lr /= 4.0
    torch.save({"model": model.state_dict(), "lr": lr, "best": best, "epoch": epoch}, "last.pt")
