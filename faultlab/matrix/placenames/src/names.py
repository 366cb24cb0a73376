from functools import partial
from itertools import chain

import torch
from torch import nn
from torch.nn import functional as F

PAD, BOS, EOS, UNK = range(4)


def read(path):
    with open(path, encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        yield from ((region, src, dst) for region, src, dst in rows if src and dst)


def by_region(rows, held, tested):
    part = lambda keep: [(s, d) for r, s, d in rows if keep(r)]
    return (part(lambda r: r not in held | tested), part(lambda r: r in held), part(lambda r: r in tested))


def unseen(rows, known):
    known = {s for s, _ in known}
    return [(s, d) for s, d in rows if s not in known]


def alphabet(words):
    letters = sorted(set(chain.from_iterable(words)))
    table = {c: i + 4 for i, c in enumerate(letters)}
    return len(letters) + 4, lambda w: [BOS] + [table.get(c, UNK) for c in w] + [EOS]


def batches(rows, enc_src, enc_dst, size, shuffle):
    order = torch.randperm(len(rows)) if shuffle else torch.arange(len(rows))
    pad = lambda seqs: nn.utils.rnn.pad_sequence([torch.tensor(q) for q in seqs], batch_first=True, padding_value=PAD)
    for chunk in order.split(size):
        picked = [rows[i] for i in chunk.tolist()]
        yield pad([enc_src(s) for s, _ in picked]), pad([enc_dst(d) for _, d in picked])


class Speller(nn.Module):
    def __init__(self, n_src, n_dst, width=96, longest=64):
        super().__init__()
        self.src = nn.Embedding(n_src, width, padding_idx=PAD)
        self.dst = nn.Embedding(n_dst, width, padding_idx=PAD)
        self.place = nn.Parameter(torch.randn(longest, width) * 0.02)
        self.body = nn.Transformer(width, 4, 2, 2, 192, 0.1, batch_first=True)
        self.out = nn.Linear(width, n_dst)

    def forward(self, src, given):
        n = given.shape[1]
        ahead = torch.triu(torch.ones(n, n, dtype=torch.bool, device=given.device), diagonal=1)
        a = self.src(src) + self.place[:src.shape[1]]
        b = self.dst(given) + self.place[:n]
        h = self.body(a, b, tgt_mask=ahead, src_key_padding_mask=src == PAD,
                      tgt_key_padding_mask=given == PAD, memory_key_padding_mask=src == PAD)
        return self.out(h)


def letter_loss(net, src, dst):
    logits = net(src, dst[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), dst[:, 1:].flatten(), ignore_index=PAD)


@torch.no_grad()
def spell(net, src, longest=40):
    out = torch.full((len(src), 1), BOS)
    while out.shape[1] < longest and not (out == EOS).any(1).all():
        out = torch.cat([out, net(src, out)[:, -1:].argmax(-1)], 1)
    return out


def exact(net, stream):
    cut = lambda row: row[1:row.index(EOS)] if EOS in row else row[1:]
    hits = [cut(g) == cut(w) for src, dst in stream for g, w in zip(spell(net, src).tolist(), dst.tolist())]
    return sum(hits) / len(hits)


def fit(net, train_stream, held_stream, epochs):
    opt = torch.optim.AdamW(net.parameters(), 5e-4)

    def step(batch):
        loss = letter_loss(net, *batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    best = (-1.0, None)
    for epoch in range(epochs):
        net.train()
        losses = [step(batch) for batch in train_stream()]
        net.eval()
        score = exact(net, held_stream())
        print(f"{epoch} loss {sum(losses) / len(losses):.3f} exact {score:.3f}")
        if score > best[0]:
            best = (score, {k: v.clone() for k, v in net.state_dict().items()})
    net.load_state_dict(best[1])
    return net


def main(path="names.tsv", size=64, epochs=12):
    torch.manual_seed(0)
    rows = list(read(path))
    train, held, tested = by_region(rows, {"Karelia", "Savo"}, {"Kainuu"})
    held, tested = unseen(held, train), unseen(tested, train)
    n_src, enc_src = alphabet(s for s, _ in train)
    n_dst, enc_dst = alphabet(d for _, d in train)
    stream = partial(batches, enc_src=enc_src, enc_dst=enc_dst, size=size)
    net = fit(Speller(n_src, n_dst), partial(stream, train, shuffle=True), partial(stream, held, shuffle=False), epochs)
    net.eval()
    print("test exact", exact(net, stream(tested, shuffle=False)))


if __name__ == "__main__":
    main()
