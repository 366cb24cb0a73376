"""Learn sentence and song embeddings side by side; functions all the way."""
import json
import math
from functools import partial

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader

HYPER = dict(dim=128, vocab=8000, mel=64, batch=128, epochs=40, lr=5e-4, decay=0.05, warm=500, clip=1.0, tau=0.07, seed=5)
DEVICE = "cuda:0" if torch.cuda.is_available() else "cpu"


def read(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def collate(rows, max_words=40, max_frames=400):
    words = [torch.tensor(r["tokens"][:max_words]) for r in rows]
    frames = [torch.tensor(r["mel"][:max_frames]) for r in rows]
    return {
        "words": nn.utils.rnn.pad_sequence(words, batch_first=True, padding_value=0),
        "frames": nn.utils.rnn.pad_sequence(frames, batch_first=True),
        "lengths": torch.tensor([len(f) for f in frames]),
    }


def text_tower(h):
    layer = nn.TransformerEncoderLayer(h["dim"], 4, 4 * h["dim"], dropout=0.1, batch_first=True, norm_first=True)
    parts = nn.ModuleDict({
        "embed": nn.Embedding(h["vocab"], h["dim"], padding_idx=0),
        "place": nn.Embedding(40, h["dim"]),
        "body": nn.TransformerEncoder(layer, 3),
        "out": nn.Linear(h["dim"], h["dim"]),
    })

    def apply(words):
        empty = words == 0
        x = parts["embed"](words) + parts["place"](torch.arange(words.size(1), device=words.device))
        x = parts["body"](x, src_key_padding_mask=empty)
        keep = (~empty).unsqueeze(-1).float()
        return F.normalize(parts["out"]((x * keep).sum(1) / keep.sum(1)), dim=-1)

    return parts, apply


def song_tower(h):
    parts = nn.ModuleDict({
        "conv": nn.Conv1d(h["mel"], h["dim"], 5, stride=2, padding=2),
        "rnn": nn.GRU(h["dim"], h["dim"], batch_first=True, bidirectional=True),
        "out": nn.Linear(2 * h["dim"], h["dim"]),
    })

    def apply(frames, lengths):
        x = F.gelu(parts["conv"](frames.transpose(1, 2))).transpose(1, 2)
        x, _ = parts["rnn"](x)
        steps = torch.arange(x.size(1), device=x.device)[None, :]
        keep = (steps < ((lengths + 1) // 2)[:, None]).unsqueeze(-1).float()
        return F.normalize(parts["out"]((x * keep).sum(1) / keep.sum(1)), dim=-1)

    return parts, apply


def contrast(a, b, scale):
    logits = scale.exp().clamp(max=100.0) * a @ b.t()
    goal = torch.arange(len(a), device=a.device)
    return (F.cross_entropy(logits, goal) + F.cross_entropy(logits.t(), goal)) / 2


def factor(step, warm, total):
    return step / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))


def encoder(text, song):
    def run(batch):
        batch = {k: v.to(DEVICE) for k, v in batch.items()}
        return text(batch["words"]), song(batch["frames"], batch["lengths"])
    return run


def recall(run, loader, k=10):
    with torch.no_grad():
        pairs = [run(batch) for batch in loader]
    a, b = (torch.cat(side) for side in zip(*pairs))
    ranked = (a @ b.t()).topk(k, dim=1).indices
    goal = torch.arange(len(a), device=a.device)[:, None]
    return (ranked == goal).any(dim=1).float().mean().item()


def main(h):
    torch.manual_seed(h["seed"])
    loader = partial(DataLoader, batch_size=h["batch"], collate_fn=collate, num_workers=2)
    train = loader(read("pairs.train.jsonl"), shuffle=True, drop_last=True)
    valid = loader(read("pairs.valid.jsonl"))
    text_parts, text = text_tower(h)
    song_parts, song = song_tower(h)
    net = nn.ModuleDict({"text": text_parts, "song": song_parts}).to(DEVICE)
    scale = nn.Parameter(torch.tensor(math.log(1 / h["tau"]), device=DEVICE))
    run = encoder(text, song)
    opt = optim.AdamW([*net.parameters(), scale], lr=h["lr"], weight_decay=h["decay"])
    sched = optim.lr_scheduler.LambdaLR(opt, partial(factor, warm=h["warm"], total=h["epochs"] * len(train)))
    best = 0.0
    for epoch in range(h["epochs"]):
        net.train()
        losses = []
        for batch in train:
            opt.zero_grad()
            loss = contrast(*run(batch), scale)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), h["clip"])
            opt.step()
            sched.step()
            losses.append(loss.item())
        net.eval()
        r = recall(run, valid)
        print(f"{epoch:3d} loss {sum(losses) / len(losses):.3f} recall@10 {r:.3f}")
        if r > best:
            best = r
            torch.save({"net": net.state_dict(), "scale": scale.detach()}, "towers.pt")


if __name__ == "__main__":
    main(HYPER)
