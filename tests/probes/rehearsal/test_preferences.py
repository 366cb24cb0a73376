"""Losses of preferences and terms that teach nothing: told by how a loss hangs on what it is made of."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

PAIRS = """
import torch
import torch.nn.functional as F
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained("m")
rows = load_dataset("json", data_files="pairs.jsonl", split="train")


def encode(row):
    c = tok(row["prompt"] + row["chosen"], truncation=True, max_length=512, padding="max_length")
    r = tok(row["prompt"] + row["rejected"], truncation=True, max_length=512, padding="max_length")
    return {"chosen_ids": c["input_ids"], "chosen_mask": c["attention_mask"],
            "rejected_ids": r["input_ids"], "rejected_mask": r["attention_mask"]}


rows = rows.map(encode, remove_columns=rows.column_names)
rows.set_format("torch")
loader = DataLoader(rows, batch_size=4, shuffle=True)
model = AutoModelForCausalLM.from_pretrained("m").cuda()
ref = AutoModelForCausalLM.from_pretrained("m").cuda().eval()
for p in ref.parameters():
    p.requires_grad = False
opt = torch.optim.AdamW(model.parameters(), lr=1e-6)


def logps(net, ids, mask):
    scores = F.log_softmax(net(ids, attention_mask=mask).logits[:, :-1, :], dim=-1)
    each = torch.gather(scores, 2, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return (each * mask[:, 1:]).sum(-1)


for epoch in range(2):
    for batch in loader:
        batch = {k: v.cuda() for k, v in batch.items()}
        pc = logps(model, batch["chosen_ids"], batch["chosen_mask"])
        pr = logps(model, batch["rejected_ids"], batch["rejected_mask"])
        with torch.no_grad():
            rc = logps(ref, batch["chosen_ids"], batch["chosen_mask"])
            rr = logps(ref, batch["rejected_ids"], batch["rejected_mask"])
        logits = (pc - pr) - (rc - rr)
        loss = -F.logsigmoid(0.1 * logits).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
SAYS = "loss = -F.logsigmoid(0.1 * logits).mean()"
REWARDS = """
import json
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from transformers import AutoModel, AutoTokenizer


class Pairs(Dataset):
    def __init__(self, path, tok):
        self.rows = [json.loads(line) for line in open(path)]
        self.tok = tok

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        w = self.tok(row["prompt"] + row["chosen"], return_tensors="pt", padding="max_length")
        l = self.tok(row["prompt"] + row["rejected"], return_tensors="pt", padding="max_length")
        return w["input_ids"][0], w["attention_mask"][0], l["input_ids"][0], l["attention_mask"][0]


class Reward(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = AutoModel.from_pretrained("m")
        self.head = nn.Linear(768, 1)

    def forward(self, ids, mask):
        h = self.body(ids, attention_mask=mask).last_hidden_state
        return self.head(h[torch.arange(len(ids)), mask.sum(1) - 1]).squeeze(-1)


net = Reward().cuda()
opt = torch.optim.AdamW(net.parameters(), 1e-5)
for epoch in range(2):
    for a, am, b, bm in DataLoader(Pairs("pairs.jsonl", AutoTokenizer.from_pretrained("m")), 8, shuffle=True):
        good = net(a.cuda(), am.cuda())
        bad = net(b.cuda(), bm.cuda())
        loss = -torch.log(torch.sigmoid(good - bad)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    "text",
    [
        PAIRS,
        REWARDS,
        PAIRS.replace(SAYS, "loss = F.softplus(-0.1 * logits).mean()"),
        PAIRS.replace("(pc - pr) - (rc - rr)", "(pc - rc) - (pr - rr)"),
        PAIRS.replace("(pc - pr) - (rc - rr)", "pc - pr - 1.0"),  # without a reference
        PAIRS.replace("ref, batch", "model, batch").replace(
            "with torch.no_grad():", "with torch.no_grad(), model.disable_adapter():"
        ),
        PAIRS.replace(SAYS, f"{SAYS} - 0.01 * pc.mean()"),
    ],
)
def test_right_preferences_are_left_alone(text: str) -> None:
    for symptom in ("script-loss-wrong", "script-gradient-path-cut", "script-label-padding-counts"):
        assert state(symptom, text) != "present"


@pytest.mark.parametrize(
    "text",
    [
        PAIRS.replace("loss = -F", "loss = F"),
        PAIRS.replace("(pc - pr) - (rc - rr)", "(pr - pc) - (rr - rc)"),
        PAIRS.replace("(pc - pr) - (rc - rr)", "(pc - pr) - (rr - rc)"),
        PAIRS.replace("(pc - pr) - (rc - rr)", "(pc - rr) - (pr - rr)"),
        PAIRS.replace("F.log_softmax(", "F.softmax("),
        PAIRS.replace('pr = logps(model, batch["rejected_ids"]', 'pr = logps(model, batch["chosen_ids"]'),
        PAIRS.replace("[:, :-1, :]", "").replace("ids[:, 1:]", "ids").replace("mask[:, 1:]", "mask"),
        REWARDS.replace("good - bad", "bad - good"),
        REWARDS.replace("net(b.cuda(), bm.cuda())", "net(a.cuda(), am.cuda())"),
    ],
)
def test_preferences_that_pull_another_way(text: str) -> None:
    assert state("script-loss-wrong", text) == "present"


def test_a_reference_that_learns() -> None:
    assert state("script-gradient-path-cut", PAIRS.replace("ref, batch", "model, batch")) == "present"


def test_an_optimizer_of_the_reference() -> None:
    text = PAIRS.replace("AdamW(model.parameters()", "AdamW(ref.parameters()")
    assert state("script-optimizer-other-model", text) == "present"
    assert state("script-optimizer-other-model", PAIRS) != "present"


def test_a_mask_that_is_cut_at_the_other_end() -> None:
    assert state("script-label-padding-counts", PAIRS.replace("mask[:, 1:]", "mask[:, :-1]")) == "present"


PLAIN = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.load("x.pt"), torch.load("y.pt")
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    for a, b in DataLoader(TensorDataset(x, y), 32, shuffle=True):
        out = net(a)
        {loss}
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    "loss",
    [
        "loss = (b - out).abs().mean()",
        "loss = F.mse_loss(out, b) + 0.1 * F.l1_loss(out[:, 1:] - out[:, :-1], b[:, 1:] - b[:, :-1])",
        "loss = ((out - out.mean(0)) ** 2).mean() + F.mse_loss(out, b)",
        "loss = F.relu(b - out).mean()",
        "d = out - b; loss = (d * d).mean()",
        "loss = F.mse_loss(out, b) / F.mse_loss(b.mean(0, keepdim=True).expand_as(b), b).clamp(min=1e-6)",
        "loss = F.mse_loss(out, b) + 0.0 * sum(p.sum() for p in net.parameters())",
        "loss = (out - net(a.flip(0))).pow(2).mean()",
    ],
)
def test_right_terms_are_left_alone(loss: str) -> None:
    assert state("script-loss-wrong", PLAIN.format(loss=loss)) != "present"


@pytest.mark.parametrize(
    "loss",
    [
        "loss = (b - out).mean()",
        "loss = torch.mean(out - b)",
        "loss = (out - out).abs().mean()",
        "loss = F.mse_loss(out, out)",
        "loss = F.mse_loss(out, b) + 10 * F.l1_loss(a, b)",
    ],
)
def test_terms_that_teach_nothing(loss: str) -> None:
    assert state("script-loss-wrong", PLAIN.format(loss=loss)) == "present"
