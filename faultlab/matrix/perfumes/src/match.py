import json
from functools import partial, reduce
from itertools import islice

import torch
from torch import nn
from torch.nn import functional as F

SETTINGS = dict(notes=600, words=8000, dim=128, batch=256, epochs=15, lr=5e-4, heat=3.0, alpha=0.4)


def read(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def pad(rows, width):
    out = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        out[i, : len(row[:width])] = torch.tensor(row[:width], dtype=torch.long)
    return out


def batches(table, size, generator=None):
    order = torch.randperm(len(table["notes"]), generator=generator)
    for part in order.split(size):
        if len(part) == size:
            yield {k: v[part] for k, v in table.items()}


def mean_of_words(embed, ids):
    """Mean of the embeddings of the ids that are not padding (0)."""
    mask = (ids > 0).float().unsqueeze(-1)
    return (embed(ids) * mask).sum(1) / mask.sum(1).clamp(min=1.0)


class Tower(nn.Module):
    def __init__(self, size, dim):
        super().__init__()
        self.embed = nn.Embedding(size, dim, padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, 256), nn.GELU(), nn.Linear(256, dim))

    def forward(self, ids):
        return F.normalize(self.mlp(mean_of_words(self.embed, ids)), dim=-1)


def make_model(s):
    model = nn.ModuleDict({"notes": Tower(s["notes"], s["dim"]), "review": Tower(s["words"], s["dim"])})
    model.register_parameter("log_scale", nn.Parameter(torch.tensor(1 / 0.07).log()))
    return model


def similarity(model, batch):
    a, b = model["notes"](batch["notes"]), model["review"](batch["review"])
    return model.log_scale.exp().clamp(max=100.0) * a @ b.t()


def contrast(sim):
    own = torch.arange(sim.size(0), device=sim.device)
    return 0.5 * (F.cross_entropy(sim, own) + F.cross_entropy(sim.t(), own))


def distill(heat, sim, taught):
    soft = F.softmax(taught / heat, dim=1)
    mine = F.log_softmax(sim / heat, dim=1)
    return F.kl_div(mine, soft, reduction="batchmean") * heat**2


def objective(alpha, terms):
    def loss(sim, taught):
        return (1 - alpha) * terms["contrast"](sim) + alpha * terms["distill"](sim, taught)

    return loss


def stepper(model, teacher, opt, loss):
    def step(batch):
        with torch.no_grad():
            taught = similarity(teacher, batch)
        value = loss(similarity(model, batch), taught)
        opt.zero_grad()
        value.backward()
        opt.step()
        return value.item()

    return step


@torch.no_grad()
def recall(model, table, k=5):
    sim = similarity(model, table)
    top = sim.topk(k, dim=1).indices
    own = torch.arange(len(sim)).unsqueeze(1)
    return (top == own).any(1).float().mean().item()


def main(s=SETTINGS):
    torch.manual_seed(11)
    rows = read("perfumes.jsonl")
    table = lambda part: {"notes": pad([r["notes"] for r in part], 16), "review": pad([r["review"] for r in part], 64)}
    held, train = table(rows[:1000]), table(rows[1000:])
    model, teacher = make_model(s), make_model({**s, "dim": 512})
    teacher.load_state_dict(torch.load("teacher.pt"))
    teacher.eval()
    opt = torch.optim.AdamW(model.parameters(), lr=s["lr"])
    terms = {"contrast": contrast, "distill": partial(distill, s["heat"])}
    step = stepper(model, teacher, opt, objective(s["alpha"], terms))
    for epoch in range(s["epochs"]):
        model.train()
        losses = [step(b) for b in batches(train, s["batch"])]
        model.eval()
        print(epoch, sum(losses) / len(losses), recall(model, held))
        torch.save(model.state_dict(), "perfumes.pt")


if __name__ == "__main__":
    main()
