"""Train a sequence tagger on several workers. Gradients are averaged in buckets after backward."""
import argparse
import itertools
from contextlib import suppress

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=6.0)
parser.add_argument("--batch", type=int, default=32, help="per worker")
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--warmup", type=int, default=20)
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--sentences", type=int, default=3000)
parser.add_argument("--clip", type=float, default=1.0)
parser.add_argument("--log-every", type=int, default=10)
parser.add_argument("--eval-every", type=int, default=30)
parser.add_argument("--seed", type=int, default=17)
opt = parser.parse_args()

LENGTH, WORDS, TAGS = 14, 120, 7


def corpus(n, seed):
    """The tag follows from the word and from the kind of the word before it."""
    grammar = np.random.RandomState(77)
    kind = grammar.randint(0, TAGS, WORDS)
    rewrite = grammar.randint(0, TAGS, (TAGS, TAGS))
    rng = np.random.RandomState(seed)
    words = rng.zipf(1.3, (n, LENGTH)) % (WORDS - 1) + 1
    tags = kind[words]
    tags[:, 1:] = rewrite[kind[words[:, :-1]], tags[:, 1:]]
    slip = rng.rand(n, LENGTH) < 0.06
    tags = np.where(slip, rng.randint(0, TAGS, tags.shape), tags)
    ends = rng.randint(6, LENGTH + 1, (n, 1))
    outside = np.arange(LENGTH) >= ends
    return torch.from_numpy(np.where(outside, 0, words)), torch.from_numpy(np.where(outside, -100, tags))


class Worker:
    def __init__(self):
        dist.init_process_group("gloo")
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    @property
    def chief(self):
        return self.rank == 0

    def say(self, text):
        print(f"[worker {self.rank}] {text}\n", end="", flush=True)

    def average(self, tensors):
        bucket = torch.cat([t.flatten() for t in tensors])
        dist.all_reduce(bucket)
        bucket /= self.world
        for tensor, part in zip(tensors, bucket.split([t.numel() for t in tensors])):
            tensor.copy_(part.view_as(tensor))

    def broadcast(self, module):
        for tensor in itertools.chain(module.parameters(), module.buffers()):
            dist.broadcast(tensor.data, 0)


class Tagger(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.words = nn.Embedding(WORDS, hidden, padding_idx=0)
        self.mix = nn.Conv1d(hidden, hidden, 3, padding=1)
        self.norm = nn.LayerNorm(hidden)
        self.tags = nn.Linear(hidden, TAGS)

    def forward(self, x):
        h = self.words(x)
        h = self.norm(h + F.relu(self.mix(h.transpose(1, 2)).transpose(1, 2)))
        return self.tags(h)


def shard(data, worker):
    """Every world-th sentence, another one per worker."""
    return tuple(t[worker.rank :: worker.world] for t in data)


def stream(data, size, seed):
    for epoch in itertools.count():
        generator = torch.Generator().manual_seed(1000 * seed + epoch)
        for rows in torch.randperm(len(data[0]), generator=generator).split(size):
            if len(rows) == size:
                yield data[0][rows], data[1][rows]


def criterion(scores, tags):
    return F.cross_entropy(scores.flatten(0, 1), tags.flatten(), ignore_index=-100)


def validate(model, data):
    model.eval()
    with torch.no_grad():
        scores = model(data[0])
    model.train()
    known = data[1] != -100
    return criterion(scores, data[1]).item(), (scores.argmax(-1) == data[1])[known].float().mean().item()


def run(worker):
    torch.set_num_threads(1)
    torch.manual_seed(opt.seed + worker.rank)
    model = Tagger(opt.hidden)
    worker.broadcast(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    data, held_out = shard(corpus(opt.sentences, 1), worker), corpus(600, 2)
    worker.say(f"{worker.world} workers, {len(data[0])} sentences here, batch {opt.batch} per worker, lr {opt.lr}")
    batches = stream(data, opt.batch, opt.seed)
    for step in range(1, opt.steps + 1):
        lr = opt.lr * min(1.0, step / opt.warmup) * (1 - step / (opt.steps + 1))
        for group in optimizer.param_groups:
            group["lr"] = lr
        words, tags = next(batches)
        loss = criterion(model(words), tags)
        optimizer.zero_grad()
        loss.backward()
        worker.average([p.grad for p in model.parameters()])
        norm = nn.utils.clip_grad_norm_(model.parameters(), opt.clip)
        optimizer.step()
        if step % opt.log_every == 0:
            worker.say(f"step {step}/{opt.steps} loss={loss.item():.4f} lr={lr:.3e} gnorm={norm.item():.3f}")
        if step % opt.eval_every == 0:
            value, accuracy = validate(model, held_out)
            worker.say(f"step {step}/{opt.steps} val_loss={value:.4f} val_acc={accuracy:.4f}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        run(Worker())
    dist.destroy_process_group()
