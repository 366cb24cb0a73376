"""Next song by a masked model of listening histories (functions only)."""
from functools import partial
from itertools import count

import torch
import torch.nn.functional as F
from torch import nn

PAD, MASK, FIRST = 0, 1, 2


def read_histories(path, min_length=5):
    with open(path) as lines:
        rows = ([int(s) + FIRST for s in line.split()] for line in lines)
        return [r for r in rows if len(r) >= min_length]


def split_last(histories):
    train = [h[:-1] for h in histories]
    valid = [(h[:-1], h[-1]) for h in histories]
    return train, valid


def pad(rows, length, value=PAD):
    out = torch.full((len(rows), length), value, dtype=torch.long)
    for k, row in enumerate(rows):
        row = row[-length:]
        out[k, length - len(row):] = torch.as_tensor(row)
    return out


def hide(ids, share, generator):
    """Hidden input, and targets that are PAD wherever nothing was hidden."""
    hidden = (torch.rand(ids.shape, generator=generator) < share) & (ids != PAD)
    hidden[:, -1] |= ~hidden.any(1)
    return ids.masked_fill(hidden, MASK), ids.masked_fill(~hidden, PAD)


def batches(rows, size, length, share, generator):
    order = torch.randperm(len(rows), generator=generator).tolist()
    for start in range(0, len(order) - size + 1, size):
        chunk = [rows[k] for k in order[start:start + size]]
        yield hide(pad(chunk, length), share, generator)


def make_net(n_items, width, length, heads=4, depth=2):
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(width, heads, 4 * width, 0.2, batch_first=True), depth, enable_nested_tensor=False
    )
    return nn.ModuleDict(
        {
            "songs": nn.Embedding(n_items, width, padding_idx=PAD),
            "places": nn.Embedding(length, width),
            "encoder": encoder,
            "out": nn.Linear(width, n_items),
        }
    )


def apply(net, ids):
    h = net["songs"](ids) + net["places"].weight
    return net["out"](net["encoder"](h, src_key_padding_mask=ids == PAD))


def objective(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)


def make_step(net, optimizer, clip):
    def step(ids, targets):
        net.train()
        loss = objective(apply(net, ids), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        return loss.item()

    return step


@torch.no_grad()
def recall_at(net, valid, length, k=10, size=256):
    net.eval()
    hits = 0
    for start in range(0, len(valid), size):
        past, nxt = zip(*valid[start:start + size])
        ids = pad([p + [MASK] for p in past], length)
        scores = apply(net, ids)[:, -1]
        scores[:, :FIRST] = -float("inf")
        hits += (scores.topk(k).indices == torch.tensor(nxt)[:, None]).any(1).sum().item()
    return hits / len(valid)


def fit(path, width=64, length=50, epochs=40, size=128, share=0.2, seed=0):
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    histories = read_histories(path)
    train, valid = split_last(histories)
    n_items = max(max(h) for h in histories) + 1
    net = make_net(n_items, width, length)
    step = make_step(net, torch.optim.Adam(net.parameters(), lr=1e-3), clip=1.0)
    feed = partial(batches, train, size, length, share, generator)
    best = 0.0
    for epoch in count():
        losses = [step(*batch) for batch in feed()]
        score = recall_at(net, valid, length)
        print(epoch, f"loss {sum(losses) / len(losses):.3f} recall {score:.4f}")
        if score > best:
            best = score
            torch.save(net.state_dict(), "playlists.pt")
        if epoch + 1 == epochs:
            return best


if __name__ == "__main__":
    fit("histories.txt")
