# -*- coding: utf-8 -*-
"""Idioms into plain language: GRU encoder-decoder with dot attention (PyTorch 0.4)"""
import math
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

USE_CUDA = torch.cuda.is_available()
PAD, SOS, EOS = 0, 1, 2
HID, EMB, LAYERS, BATCH, EPOCHS = 256, 128, 2, 64, 20


class Lang(object):
    def __init__(self):
        self.word2id = {'<pad>': PAD, '<s>': SOS, '</s>': EOS, '<unk>': 3}

    def add(self, words):
        for w in words:
            self.word2id.setdefault(w, len(self.word2id))

    def ids(self, words):
        return [self.word2id.get(w, 3) for w in words] + [EOS]


def read_pairs(path):
    with open(path, encoding='utf-8') as fh:
        return [tuple(side.lower().split() for side in line.rstrip('\n').split('\t')) for line in fh]


def pad(seqs):
    longest = max(len(s) for s in seqs)
    out = torch.LongTensor([s + [PAD] * (longest - len(s)) for s in seqs])
    return Variable(out.cuda() if USE_CUDA else out)


def batches(pairs, src, trg, shuffle):
    order = list(range(len(pairs)))
    if shuffle:
        random.shuffle(order)
    for k in range(0, len(order), BATCH):
        chunk = [(src.ids(pairs[i][0]), trg.ids(pairs[i][1])) for i in order[k:k + BATCH]]
        chunk.sort(key=lambda p: len(p[0]), reverse=True)
        yield pad([c[0] for c in chunk]), [len(c[0]) for c in chunk], pad([c[1] for c in chunk])


class Encoder(nn.Module):
    def __init__(self, vocab):
        super(Encoder, self).__init__()
        self.embedding = nn.Embedding(vocab, EMB, padding_idx=PAD)
        self.gru = nn.GRU(EMB, HID // 2, LAYERS, batch_first=True, bidirectional=True, dropout=0.2)

    def forward(self, src, lengths):
        packed = pack_padded_sequence(self.embedding(src), lengths, batch_first=True)
        outputs, hidden = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True)
        hidden = torch.cat([hidden[0::2], hidden[1::2]], dim=2)
        return outputs, hidden


class Decoder(nn.Module):
    def __init__(self, vocab):
        super(Decoder, self).__init__()
        self.embedding = nn.Embedding(vocab, EMB, padding_idx=PAD)
        self.gru = nn.GRU(EMB, HID, LAYERS, batch_first=True, dropout=0.2)
        self.concat = nn.Linear(HID * 2, EMB)
        self.out = nn.Linear(EMB, vocab)
        self.out.weight = self.embedding.weight

    def forward(self, word, hidden, memory, mask):
        output, hidden = self.gru(self.embedding(word).unsqueeze(1), hidden)
        scores = torch.bmm(output, memory.transpose(1, 2)) / math.sqrt(HID)
        scores = scores.masked_fill(mask.unsqueeze(1), -1e9)
        weights = F.softmax(scores, dim=2)
        context = torch.bmm(weights, memory)
        joined = F.tanh(self.concat(torch.cat([output, context], dim=2)))
        return self.out(joined.squeeze(1)), hidden


def run_batch(encoder, decoder, src, lengths, trg, teacher=0.5):
    memory, hidden = encoder(src, lengths)
    mask = src == PAD
    word = Variable(trg.data.new(trg.size(0)).fill_(SOS))
    loss, words = 0, 0
    for t in range(trg.size(1)):
        logits, hidden = decoder(word, hidden, memory, mask)
        loss = loss + F.cross_entropy(logits, trg[:, t], ignore_index=PAD, reduction='sum')
        words += (trg[:, t] != PAD).sum().item()
        if random.random() < teacher:
            word = trg[:, t]
        else:
            word = logits.data.max(1)[1]
    return loss / words


def main():
    torch.manual_seed(1)
    random.seed(1)
    train, dev = read_pairs('idioms.train.tsv'), read_pairs('idioms.dev.tsv')
    src, trg = Lang(), Lang()
    for a, b in train:
        src.add(a)
        trg.add(b)
    encoder, decoder = Encoder(len(src.word2id)), Decoder(len(trg.word2id))
    if USE_CUDA:
        encoder.cuda()
        decoder.cuda()
    enc_opt = torch.optim.Adam(encoder.parameters(), lr=5e-4)
    dec_opt = torch.optim.Adam(decoder.parameters(), lr=5e-4)
    best = float('inf')
    for epoch in range(1, EPOCHS + 1):
        start, total, steps = time.time(), 0, 0
        encoder.train()
        decoder.train()
        for s, lengths, t in batches(train, src, trg, True):
            enc_opt.zero_grad()
            dec_opt.zero_grad()
            loss = run_batch(encoder, decoder, s, lengths, t)
            loss.backward()
            nn.utils.clip_grad_norm_(encoder.parameters(), 5.0)
            nn.utils.clip_grad_norm_(decoder.parameters(), 5.0)
            enc_opt.step()
            dec_opt.step()
            total += loss.item()
            steps += 1
        encoder.eval()
        decoder.eval()
        with torch.no_grad():
            dev_losses = [run_batch(encoder, decoder, s, lengths, t, teacher=1.0).item() for s, lengths, t in batches(dev, src, trg, False)]
        dev_loss = sum(dev_losses) / len(dev_losses)
        print('epoch %d (%ds) train %.3f dev %.3f' % (epoch, time.time() - start, total / steps, dev_loss))
        if dev_loss < best:
            best = dev_loss
            torch.save({'enc': encoder.state_dict(), 'dec': decoder.state_dict()}, 'idioms.pt')


if __name__ == '__main__':
    main()
