"""Right programs of other hands that were taken for faulty, each beside the slip that looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probes._scripts import state
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import readings

PAIRS = """import torch
from torch import nn
import torch.nn.functional as F


class Pairs(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.table = nn.Parameter(torch.randn(n, d))

    def forward(self, i, j):
        return (TAKEN * self.table[j]).sum(-1)


model = Pairs(100, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(100):
    i, j = torch.randint(0, 100, (32,)), torch.randint(0, 100, (32,))
    loss = F.mse_loss(model(i, j), torch.rand(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("taken", ["self.table[i]", "self.table[i, :]", "self.table[:32]", "-self.table[i]"])
def test_a_gradient_reaches_a_weight_by_its_rows(taken: str) -> None:
    """`weight[index]` is a part of the weight, as `F.embedding(index, weight)` is."""
    assert state("script-gradient-path-cut", PAIRS.replace("TAKEN", taken)) == "absent"


def test_rows_that_are_cut_off_are_told() -> None:
    """`weight.data[index]` holds no way back."""
    text = PAIRS.replace("TAKEN", "self.table.data[i]").replace("self.table[j]", "self.table.data[j]")
    assert state("script-gradient-path-cut", text) == "present"


ACTS = """import numpy as np
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)

    def forward(self, obs):
        return self.body(obs)


def rollout(world, policy):
    obs, seen, told = world.reset(), [], []
    for _ in range(100):
        seen.append(obs)
        told.append(world.expert(obs))
        ACT
        obs, reward = world.step(act)
    return np.stack(seen), np.stack(told)


def fit(policy, x, y):
    optimizer = torch.optim.Adam(policy.parameters())
    for rows in torch.randperm(len(x)).split(32):
        loss = ((OUT - y[rows]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


world, policy = World(0), Policy()
for _ in range(5):
    x, y = (torch.from_numpy(a) for a in rollout(world, policy))
    fit(policy, x, y)
"""
UNTAPED = "with torch.no_grad():\n            act = policy(torch.from_numpy(obs)[None])[0].numpy()"


@pytest.mark.parametrize("act", [UNTAPED, "act = policy(torch.from_numpy(obs)[None])[0].detach().numpy()"])
def test_what_a_world_answers_is_data(act: str) -> None:
    """Observations that a policy's own acts led to are no cut in its loss."""
    text = ACTS.replace("ACT", act, 1).replace("OUT", "policy(x[rows])")
    assert state("script-gradient-path-cut", text) != "present"


def test_an_answer_that_is_cut_off_in_the_loss_is_told() -> None:
    """The same program, and the loss is taken of what has no gradient."""
    text = ACTS.replace("ACT", UNTAPED, 1).replace("OUT", "policy(x[rows]).detach()")
    assert state("script-gradient-path-cut", text) == "present"


STEPS = """import torch

model = torch.nn.Linear(4, 1)
warmup_steps = args.max_steps // 2
lr = 0.01
optimizer = torch.optim.Adam(model.parameters(), lr=lr)
for step in range(args.max_steps):
    if step >= warmup_steps:
        lr = lr / 10
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        warmup_steps = MORE
    loss = ((model(torch.randn(8, 4)) - torch.randn(8, 1)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_place_of_the_next_change_is_no_warm_up() -> None:
    """`warmup_steps = warmup_steps * 3` where it is over moves the next change of the rate."""
    assert state("script-schedule-unit", STEPS.replace("MORE", "warmup_steps * 3")) != "present"
    assert state("script-schedule-unit", STEPS.replace("steps // 2", "steps * 2")) == "present"


SPLITS = """import numpy as np
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("distilbert-base-uncased")
encode = lambda b: tokenizer(b["text"], truncation=True)
raw = load_dataset("json", data_files="rows.jsonl", split="train")
first = raw.train_test_split(test_size=0.2, seed=1)
rest = first["test"].train_test_split(test_size=0.5, seed=1)
names = [c for c in raw.column_names if c != "label"]
train = first["train"].map(encode, batched=True, remove_columns=names)
valid = rest["train"].map(encode, batched=True, remove_columns=names)
model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=5)
Trainer(model, TrainingArguments("out"), train_dataset=train, eval_dataset=valid).train()
"""


def test_columns_that_are_dropped_are_no_rows() -> None:
    """`remove_columns=names` hands the names of columns, and not the rows of the table that has them."""
    assert state("script-training-sees-evaluation", SPLITS) != "present"
    both = SPLITS.replace("eval_dataset=valid", "eval_dataset=train")
    assert state("script-training-sees-evaluation", both) == "present"


TRANSLATES = """import torch
from torch import nn

PAD = 0


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 32, padding_idx=PAD)
        self.core = nn.Transformer(32, 4, 2, 2, batch_first=True)
        self.out = nn.Linear(32, 100)

    def forward(self, src, tgt):
        n = tgt.size(1)
        causal = torch.ones(n, n, dtype=torch.bool).triu(1)
        h = self.core(self.embed(src), self.embed(tgt), tgt_mask=causal, tgt_key_padding_mask=MASK)
        return self.out(h)


def accuracy(model, loader):
    model.eval()
    hits = seen = 0
    with torch.no_grad():
        for src, tgt in loader:
            said = model(src, tgt[:, :-1]).argmax(-1)
            keep = tgt[:, 1:] != PAD
            hits += ((said == tgt[:, FROM]) & keep).sum().item()
            seen += keep.sum().item()
    return hits / seen


model = Translator()
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    for src, tgt in train_loader:
        loss = criterion(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(accuracy(model, valid_loader))
"""


@pytest.mark.parametrize("mask", ["tgt == PAD", "tgt.eq(PAD)", "torch.eq(tgt, PAD)"])
def test_a_mark_of_places_is_no_prediction(mask: str) -> None:
    """`tgt == PAD` makes a mask; `said == tgt[:, :-1]` compares with the words that were handed in."""
    text = TRANSLATES.replace("MASK", mask)
    assert state("script-metric-miscounts", text.replace("FROM", "1:")) != "present"
    assert state("script-metric-miscounts", text.replace("FROM", ":-1")) == "present"


SEEDED = """import random
import numpy as np
import torch

SEEDS
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    loss = ((model(torch.randn(8, 4)) - torch.randn(8, 1)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "seeds",
    [
        "for f in (random.seed, np.random.seed, torch.manual_seed):\n    f(0)",
        "[f(0) for f in [random.seed, np.random.seed, torch.manual_seed]]",
    ],
)
def test_seeds_that_are_gone_over_are_set(seeds: str) -> None:
    """What seeds stands in a list and is called by another name."""
    assert state("script-nothing-seeded", SEEDED.replace("SEEDS", seeds)) == "absent"
    fewer = seeds.replace(", torch.manual_seed", "")
    assert state("script-nothing-seeded", SEEDED.replace("SEEDS", fewer)) == "present"


RANKS = """import torch
from torch import nn

model = nn.Linear(4, 50)
optimizer = torch.optim.Adam(model.parameters())


def evaluate(model, users):
    model.eval()
    hits = users_seen = total = 0
    with torch.no_grad():
        for x, y in users:
            scores = model(x)
            rank = (scores > scores[y]).sum().item()
            total += nn.functional.cross_entropy(scores, y).item()
            users_seen += 1
            if rank < 10:
                hits += 1
    return SHARE / users_seen


for epoch in range(10):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(evaluate(model, held))
"""


def test_hits_of_rounds_are_no_mean_of_means() -> None:
    """Users that were hit, by all users: each round is one of them."""
    assert state("script-batches-weighed-alike", RANKS.replace("SHARE", "hits")) != "present"
    assert state("script-batches-weighed-alike", RANKS.replace("SHARE", "total")) == "present"


FLOW = """import math
import torch
from torch import nn


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)

    def forward(self, x):
        z = self.body(x)
        return (-0.5 * (z**2 + torch.log(INSIDE))).sum(-1)


model = Flow()
optimizer = torch.optim.Adam(model.parameters())
for x in loader:
    loss = -model(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("inside", ["torch.tensor(2 * torch.pi)", "torch.as_tensor(2.0 * math.pi)"])
def test_a_logarithm_of_a_number_needs_no_floor(inside: str) -> None:
    """`torch.log(torch.tensor(2 * pi))` meets no zero; that of an input may."""
    assert state("script-unsafe-math", FLOW.replace("INSIDE", inside)) != "present"
    assert state("script-unsafe-math", FLOW.replace("INSIDE", "x")) == "present"


SCALES = """import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters())
low, high = torch.tensor([-9.0, 0.0]), torch.tensor([9.0, 50.0])
x = torch.load("points.pt")
for step in range(100):
    loss = ((model(GIVEN) - 1.0) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("given", ["2.0 * (x - low) / (high - low) - 1.0", "(x - low) / (high - low)"])
def test_points_that_are_moved_into_their_bounds_are_scaled(given: str) -> None:
    """`2 * (x - low) / (high - low) - 1` of the inputs of physics-informed networks."""
    assert state("script-no-normalisation", SCALES.replace("GIVEN", given)) != "present"
    assert state("script-no-normalisation", SCALES.replace("GIVEN", "x")) == "present"


@pytest.mark.parametrize(
    "read",
    [
        'x = AutoTokenizer.from_pretrained("a")(texts)["input_ids"]',
        "x, _ = env.reset()",
        "x = torch.randn(64, 2)",
    ],
)
def test_tokens_states_and_drawn_points_need_no_scaling(read: str) -> None:
    """Nothing is said of the scale of what is no table."""
    text = SCALES.replace('x = torch.load("points.pt")', read).replace("GIVEN", "x")
    assert state("script-no-normalisation", text) != "present"


PREFERS = """import copy
import torch
import torch.nn.functional as F

policy = make_policy()
reference = copy.deepcopy(policy).eval()
for p in reference.parameters():
    p.requires_grad = False


def logps(model, ids, mask):
    scores = model(input_ids=ids).logits[:, :-1].log_softmax(-1)
    said = torch.gather(scores, 2, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return (said * mask[:, 1:]).sum(-1)


optimizer = torch.optim.AdamW(policy.parameters(), lr=5e-7)
for ids, mask in loader:
    with torch.no_grad():
        known = logps(reference, ids, mask)
    chosen, rejected = logps(policy, ids, mask).chunk(2)
    chosen_before, rejected_before = known.chunk(2)
    margin = MARGIN
    loss = -F.logsigmoid(0.1 * margin).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_two_halves_of_one_answer_are_two_values() -> None:
    """`chosen, rejected = logps.chunk(2)`: no difference of one value."""
    right = "(chosen - chosen_before) - (rejected - rejected_before)"
    assert state("script-loss-wrong", PREFERS.replace("MARGIN", right)) != "present"
    twice = "(chosen - chosen) - (rejected - rejected_before)"
    assert state("script-loss-wrong", PREFERS.replace("MARGIN", twice)) == "present"


CODES = """import torch
from torch import nn
import torch.nn.functional as F


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(784, 100)
        self.mean, self.spread = nn.Linear(100, 8), nn.Linear(100, 8)
        self.back = nn.Linear(8, 784)

    def forward(self, x):
        h = torch.relu(self.body(x))
        mu, logvar = self.mean(h), self.spread(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return torch.sigmoid(self.back(z)), mu, logvar


def loss_of(out, x, mu, logvar):
    each = (SIGN0.5 * (1 + logvar - mu.pow(2) - logvar.exp())).mean(0)
    return F.binary_cross_entropy(out, x, reduction="sum") / len(x) + HELD


model = Coder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for x in loader:
    out, mu, logvar = model(x)
    loss = loss_of(out, x, mu, logvar)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_free_bits_hold_a_divergence_up() -> None:
    """`clamp(divergence, min=bits)` is level where the divergence is small, and meant to be."""
    text = CODES.replace("HELD", "torch.clamp(each, min=0.05).sum()")
    assert state("script-loss-wrong", text.replace("SIGN", "-")) != "present"
    text = CODES.replace("HELD", "each.sum()")
    assert state("script-loss-wrong", text.replace("SIGN", "-")) != "present"
    assert state("script-loss-wrong", text.replace("SIGN", "")) == "present"


DRAWS = """import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    def __init__(self, n=4000):
        rng, made = np.random.default_rng(0), []
        for _ in range(n):
            made.append(rng.random((8, 8)))
        self.x = np.stack(made)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]).float().flatten()


def cycle(loader):
    while True:
        for batch in loader:
            yield batch


batches = cycle(DataLoader(Shapes(), batch_size=32, shuffle=True))
model = nn.Linear(64, 64)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
while step < 1000:
    x = next(batches)
    loss = ((model(x) - x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
"""


def test_batches_that_go_on_are_no_epochs() -> None:
    """`next(batches)` of a generator without an end: each round has the next batch."""
    assert state("script-training-data-cut", DRAWS) != "present"


BY_DAY = """import csv
from collections import defaultdict
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clicks(Dataset):
    def __init__(self, rows, items):
        self.rows, self.items = rows, items

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        user, item = self.rows[i]
        return user, self.items[item]


items = torch.tensor([[float(v) for v in r[1:]] for r in csv.reader(open("items.csv"))])
days = defaultdict(list)
for r in csv.DictReader(open("clicks.csv")):
    days[int(r["day"])].append((int(r["user"]), int(r["item"])))
order = sorted(days)
make = lambda rows: Clicks(rows, items)
train_set = make([c for d in order[:-1] for c in days[d]])
valid_set = make(days[order[-1]])
model = nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters())
for user, x in DataLoader(train_set, batch_size=64, shuffle=True):
    loss = model(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print(sum(model(x).sum() for user, x in DataLoader(valid_set, batch_size=64)))
"""


def test_a_table_beside_the_rows_is_not_the_rows() -> None:
    """A data set of rows that are not known, and of the table that they point to."""
    assert state("script-training-sees-evaluation", BY_DAY) != "present"


def present(folder: Path, text: str) -> set[str]:
    """The symptoms that are present in a run of this script, with the settings that it gives."""
    (folder / "train.py").write_text(text, encoding="utf-8")
    found = readings(open_run(folder, scripts_alone=True), None, load_rules().symptoms.values())
    return {name for name, f in found.items() if f.state is State.PRESENT}


SCALED = """import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true", default=True)
parser.add_argument("--loss_scale", type=float, default=2.0**20)
args = parser.parse_args()
model = nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
SCALER
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.float16, enabled=args.amp):
        loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


def test_a_scale_that_a_scaler_begins_with_is_not_fixed(tmp_path: Path) -> None:
    """`GradScaler(init_scale=args.loss_scale)` moves it; a constant of that name stays."""
    moved = SCALED.replace("SCALER", "scaler = torch.amp.GradScaler('cuda', init_scale=args.loss_scale)")
    assert "loss-scale-fixed-large" not in present(tmp_path, moved)
    fixed = SCALED.replace("SCALER", "scaler = Scaler(args.loss_scale)")
    assert "loss-scale-fixed-large" in present(tmp_path, fixed)


SHARDS = """import torch
from torch import nn
from torch.utils.data import BASE, DataLoader


class Shards(BASE):
    BODY


data = Shards()
model = nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for x in DataLoader(data, 32):
        loss = ((model(x) - x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_no_loader_shuffles_an_iterable_set(tmp_path: Path) -> None:
    """An `IterableDataset` has its own order; one of places is read in theirs where nothing shuffles."""
    own = "def __iter__(self):\n        for i in torch.randperm(len(rows)):\n            yield rows[i]"
    stream = SHARDS.replace("BASE", "IterableDataset").replace("BODY", own)
    assert "shuffle-off" not in present(tmp_path, stream)
    places = "def __getitem__(self, i):\n        return rows[i]\n\n"
    places += "    def __len__(self):\n        return len(rows)"
    fixed = SHARDS.replace("BASE", "Dataset").replace("BODY", places)
    assert present(tmp_path, fixed) & {"shuffle-off", "script-loader-keeps-order"}


def test_logs_of_clicks_are_learned_in_large_batches(tmp_path: Path) -> None:
    """Tens of thousands of rows a step, of a log that has as many as that in a second."""
    text = "# CTR = 1\nimport torch\nglobal_batch_size = 16384\nmodel = torch.nn.Linear(4, 1)\n"
    text += "optimizer = torch.optim.Adam(model.parameters())\nfor x, y in loader:\n"
    text += "    loss = ((model(x) - y) ** 2).mean()\n    optimizer.zero_grad()\n"
    text += "    loss.backward()\n    optimizer.step()\n"
    assert "batch-size-huge" not in present(tmp_path, text.replace("CTR", "rows = 'criteo'"))
    assert "batch-size-huge" in present(tmp_path, text.replace("CTR", "rows"))


WORDS = """import torch
from torch import nn

bptt, lr, clip = 35, RATE, 0.25


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.core, self.out = nn.Embedding(999, 64), LAYER, nn.Linear(64, 999)

    def forward(self, x, state=None):
        h, state = self.core(self.table(x), state)
        return self.out(h), state


model = Words()
optimizer = torch.optim.SGD(model.parameters(), lr=lr)
for i in range(0, len(words) - 1, bptt):
    x, y = words[i : i + bptt], words[i + 1 : i + 1 + bptt]
    loss = nn.functional.cross_entropy(model(x)[0].flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
"""


def test_recurrent_nets_of_words_bear_clipped_rates(tmp_path: Path) -> None:
    """SGD with 20 and gradients clipped at 0.25; without a recurrent layer, or with 200, that is much."""
    right = WORDS.replace("LAYER", "nn.LSTM(64, 64)")
    assert "lr-very-large" not in present(tmp_path, right.replace("RATE", "20.0"))
    assert "lr-very-large" in present(tmp_path, right.replace("RATE", "200.0"))
    assert "lr-very-large" in present(tmp_path, WORDS.replace("LAYER", "Mixer()").replace("RATE", "20.0"))


GRAPH = """import torch
from torch import nn


class NAME(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(60, 16), nn.Linear(16, 5)

    def forward(self, x, adj):
        return adj @ self.b(torch.relu(adj @ self.a(x)))


model = NAME()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(200):
    loss = nn.functional.cross_entropy(model(x, adj)[known], y[known])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("name", ["GCN", "TwoLayerGAT", "GraphConvNet"])
def test_graph_networks_by_hand_bear_their_rate(name: str, tmp_path: Path) -> None:
    """Adam with 0.01, as where a library gives the layers; of another network it is much."""
    assert "lr-large" not in present(tmp_path, GRAPH.replace("NAME", name))
    assert "lr-large" in present(tmp_path, GRAPH.replace("NAME", "Mixer"))


ONCE = """import torch

epochs = 1
model = make_model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for epoch in range(epochs):
    for batch in loader:
        good, bad = model(batch["GOOD"]), model(batch["BAD"])
        loss = -torch.nn.functional.logsigmoid(good - bad).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_pairs_of_answers_are_read_once(tmp_path: Path) -> None:
    """One pass over preferences is the recipe; over other samples it is few."""
    pairs = ONCE.replace("GOOD", "chosen").replace("BAD", "rejected")
    assert "epochs-very-few" not in present(tmp_path, pairs)
    assert "epochs-very-few" in present(tmp_path, ONCE)
