import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from text import BOS, EOS, PAD


class Encoder(nn.Module):
    def __init__(self, nv, d, h, p):
        super().__init__()
        self.emb = nn.Embedding(nv, d, padding_idx=PAD)
        self.rnn = nn.GRU(d, h // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(h, h)
        self.drop = nn.Dropout(p)

    def forward(self, src, slen):
        x = pack_padded_sequence(self.drop(self.emb(src)), slen.cpu(), batch_first=True, enforce_sorted=False)
        out, last = self.rnn(x)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return self.drop(out), torch.tanh(self.bridge(torch.cat([last[0], last[1]], -1)))


class Attention(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.wk, self.wq, self.v = nn.Linear(h, h), nn.Linear(h, h, bias=False), nn.Linear(h, 1, bias=False)

    def forward(self, q, keys, vals, mask):
        e = self.v(torch.tanh(keys + self.wq(q)[:, None])).squeeze(-1)
        a = e.masked_fill(~mask, float("-inf")).softmax(-1)
        return torch.bmm(a[:, None], vals)[:, 0]


class Decoder(nn.Module):
    def __init__(self, nv, d, h, p):
        super().__init__()
        self.emb = nn.Embedding(nv, d, padding_idx=PAD)
        self.att = Attention(h)
        self.cell = nn.GRUCell(d + h, h)
        self.read = nn.Linear(h + h + d, d)
        self.out = nn.Linear(d, nv)
        self.out.weight = self.emb.weight
        self.drop = nn.Dropout(p)

    def step(self, y, s, keys, vals, mask):
        e = self.drop(self.emb(y))
        c = self.att(s, keys, vals, mask)
        s = self.cell(torch.cat([e, c], -1), s)
        r = torch.tanh(self.read(torch.cat([s, c, e], -1)))
        return self.out(self.drop(r)), s


class Seq2Seq(nn.Module):
    def __init__(self, nsrc, ntgt, d=256, h=512, p=0.2, vectors=None):
        super().__init__()
        self.enc = Encoder(nsrc, d, h, p)
        self.dec = Decoder(ntgt, d, h, p)
        for q in self.parameters():
            if q.dim() > 1:
                nn.init.xavier_uniform_(q)
            else:
                nn.init.zeros_(q)
        if vectors is not None:
            self.enc.emb = nn.Embedding.from_pretrained(vectors, freeze=False, padding_idx=PAD)

    def forward(self, src, slen, tgt_in, force=1.0):
        vals, s = self.enc(src, slen)
        keys, mask = self.dec.att.wk(vals), src != PAD
        y, outs = tgt_in[:, 0], []
        for t in range(tgt_in.size(1)):
            if t > 0:
                own = torch.rand(len(src), device=src.device) >= force
                y = torch.where(own, outs[-1].argmax(-1), tgt_in[:, t]) if self.training else tgt_in[:, t]
            o, s = self.dec.step(y, s, keys, vals, mask)
            outs.append(o)
        return torch.stack(outs, 1)

    @torch.no_grad()
    def beam(self, src, slen, k=5, max_len=60, alpha=0.8):
        """One sentence (1, S) -> list of target ids without BOS."""
        vals, s = self.enc(src, slen)
        keys, mask = self.dec.att.wk(vals), src != PAD
        live, done = [(0.0, [BOS], s)], []
        for _ in range(max_len):
            n = len(live)
            y = torch.tensor([ids[-1] for _, ids, _ in live], device=src.device)
            o, st = self.dec.step(y, torch.cat([s for _, _, s in live]), keys.expand(n, -1, -1),
                                  vals.expand(n, -1, -1), mask.expand(n, -1))
            lp, w = F.log_softmax(o.float(), -1).topk(k, -1)
            cand = [(live[i][0] + lp[i, j].item(), live[i][1] + [w[i, j].item()], st[i:i + 1])
                    for i in range(n) for j in range(k)]
            cand.sort(key=lambda c: -c[0])
            live = []
            for c in cand[:k]:
                (done if c[1][-1] == EOS else live).append(c)
            if not live or len(done) >= k:
                break
        return max(done or live, key=lambda c: c[0] / len(c[1]) ** alpha)[1][1:]
