"""Slips that were written into published notebooks and not seen there, each beside its right neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probes._pairs import evidence, present
from tests.probes._scripts import state
from traindoctor.engine.model import State

TWO_HEADS = """
import torch
from torch import nn
from torch.utils.data import DataLoader
from own import Pairs, Net

train = DataLoader(Pairs("train.npz"), batch_size=64, shuffle=True)
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.BCELoss()
share = 0.3
for epoch in range(10):
    for x, y in train:
        opt.zero_grad()
        out = model(x)
        first = loss_fn(out["a"], y[:, :3])
        second = loss_fn(out["b"], y[:, 3:])
        LOSS
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ("loss = first + second.item()", "present"),
        ("loss = first + 0.5 * second.item()", "present"),
        ("loss = first + share * float(second)", "present"),
        ("total = second.detach() + first; loss = total", "present"),
        ("loss = first; loss += second.item()", "present"),
        ("loss = first + second", "absent"),
        ("loss = first + second / second.item()", "absent"),
        ("loss = first + first.item() * second", "absent"),
        ("loss = first + second.item() - second.item() + second", "absent"),
        ("w = first.detach() / second.detach(); loss = first + w * second", "absent"),
        ("loss = first + (first.item() / second.item()) * second", "absent"),
    ],
)
def test_a_term_that_is_a_number(loss: str, told: str) -> None:
    assert state("script-gradient-path-cut", TWO_HEADS.replace("LOSS", loss)) == told


FITTED = """
import gpytorch
import torch
from own import Exact

x = torch.linspace(0, 1, 100)
y = torch.sin(6 * x) + 0.2 * torch.randn(100)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(x, y, likelihood)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
opt = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(50):
    opt.zero_grad()
BODY
    opt.step()
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "with torch.no_grad():\n    out = model(x)\nloss = -mll(out, y)\nloss.requires_grad_(True)",
            "present",
        ),
        (
            "with torch.no_grad():\n    out = model(x)\nloss = -mll(out, y)\nloss.requires_grad = True",
            "present",
        ),
        ("out = model(x)\nloss = -mll(out, y)\nloss.requires_grad_(True)", "absent"),
        ("with torch.no_grad():\n    out = model(x)\nout = model(x)\nloss = -mll(out, y)", "absent"),
    ],
)
def test_a_loss_that_is_told_to_take_gradients(body: str, told: str) -> None:
    lines = "".join(f"    {line}\n" for line in [*body.split("\n"), "loss.backward()"])
    found = state("script-gradient-path-cut", FITTED.replace("BODY\n", lines))
    assert (found == "present") == (told == "present")


@pytest.mark.parametrize(
    ("taken", "told"),
    [
        ("loss = -mll(out, y)\n    (-loss).backward()", True),
        ("loss = -mll(out, y)\n    loss.backward()", False),
        ("loss = mll(out, y)\n    (-loss).backward()", False),
    ],
)
def test_the_sign_of_a_likelihood(taken: str, told: bool) -> None:
    text = FITTED.replace("BODY\n", f"    out = model(x)\n    {taken}\n")
    assert (state("script-loss-negated", text) == "present") == told


CLOSURE = """
import torch
from own import Base


class Model(Base):
    def closure(self, points):
        self.losses(points)
        total_loss = 0
        for name, loss in self.loss_values.items():
            total_loss += self.weights[name] * loss
        self.optimizer.zero_grad()
        TAKEN.backward()
        return total_loss
"""


@pytest.mark.parametrize(("taken", "told"), [("(-total_loss)", True), ("total_loss", False)])
def test_the_sign_in_a_closure(taken: str, told: bool) -> None:
    assert (state("script-loss-negated", CLOSURE.replace("TAKEN", taken)) == "present") == told


ATTENTION = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.Wa = nn.Linear(size, size)
        self.Ua = nn.Linear(size, size)
        self.fc_h = nn.Linear(2 * size, size)
        self.fc_c = nn.Linear(2 * size, size)
        self.Va = nn.Linear(size, 1)

    def forward(self, query, keys, h, c):
        h = torch.tanh(self.fc_h(torch.cat([h[-2], h[-1]], 1)))
        c = torch.tanh(self.fc_c(torch.cat([c[-2], c[-1]], 1)))
        return self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))), h, c


model = Attention(32)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("self.Ua(keys)", "self.Wa(keys)", "present"),
        ("self.fc_c(torch", "self.fc_h(torch", "present"),
        ("", "", "absent"),
    ],
)
def test_the_other_of_two_layers(old: str, new: str, told: str) -> None:
    assert state("script-wiring-wrong", ATTENTION.replace(old, new, 1)) == told


NUMBERS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from own import Curve


def f(x):
    return torch.sin(x[:, 0]) - x[:, 1]


x = torch.randn(1000, 2)
y = MADE
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = Curve(2)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(100):
    for xb, yb in loader:
        loss = loss_fn(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("f(x) + 0.3 * torch.randn(1000)", True),
        ("(f(x) + torch.randn_like(f(x)) * 0.3).unsqueeze(1)", True),
        ("(f(x) + 0.3 * torch.randn(1000) > 0).long()", False),
        ("torch.randint(0, 3, (1000,))", False),
        ("torch.bucketize(f(x) + torch.randn(1000), torch.tensor([-1.0, 1.0]))", False),
    ],
)
def test_classes_of_numbers_with_noise(made: str, told: bool) -> None:
    assert (state("script-class-loss-on-numbers", NUMBERS.replace("MADE", made)) == "present") == told


DEALT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler, SequentialSampler, random_split
from transformers import AutoModelForCausalLM, AutoTokenizer


class Lines(Dataset):
    def __init__(self, lines, tokenizer):
        made = [tokenizer(line, padding="max_length", return_tensors="pt") for line in lines]
        self.rows = [one.input_ids[0] for one in made]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.rows[i]


tokenizer = AutoTokenizer.from_pretrained("gpt2")
data = Lines(open("lines.txt").read().split("\\n"), tokenizer)
train, val = random_split(data, [900, 100])
loader = DataLoader(train, DEALT, batch_size=16)
held = DataLoader(val, sampler=SequentialSampler(val), batch_size=16)
model = AutoModelForCausalLM.from_pretrained("gpt2")
opt = torch.optim.AdamW(model.parameters(), lr=5e-5)
for epoch in range(3):
    model.train()
    for step, batch in enumerate(loader):
        loss = model(batch[0], labels=batch[1])[0]
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    total = 0.0
    for batch in held:
        with torch.no_grad():
            total += model(batch[0], labels=batch[1])[0].item()
    print(epoch, total / len(held))
"""
MIXED = DEALT.replace("DEALT", "sampler=RandomSampler(train)")


def test_a_part_drawn_once_and_gone_through_in_one_order(tmp_path: Path) -> None:
    mine = DEALT.replace("DEALT", "sampler=SequentialSampler(train)")
    assert "edit-shuffling" in present(tmp_path, mine, MIXED)


def test_a_sampler_in_place_of_a_flag(tmp_path: Path) -> None:
    assert "edit-shuffling" not in present(tmp_path, DEALT.replace("DEALT", "shuffle=True"), MIXED)


DROPPING = """
import torch
from torch import nn
from own import TabModel, loader

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(FIRST), nn.Linear(64, 64), nn.ReLU(),
                      nn.Dropout(0.2), nn.Linear(64, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (DROPPING.replace("FIRST", "0.95"), True),
        (DROPPING.replace("FIRST", "0.7"), False),  # as GoogLeNet beside its main way
        (
            DROPPING.replace("FIRST", "0.2").replace(
                "model = nn", "model = TabModel(20, dropout=0.95)\nold = nn"
            ),
            True,
        ),
        (
            DROPPING.replace("FIRST", "0.2").replace(
                "model = nn", "model = TabModel(20, dropout=0.5)\nold = nn"
            ),
            False,
        ),
    ],
)
def test_one_layer_that_drops_next_to_all(tmp_path: Path, text: str, told: bool) -> None:
    found = evidence(tmp_path, text, DROPPING.replace("FIRST", "0.2"))
    assert (found["regularization-large"].state is State.PRESENT) == told


EPOCHS = """
import torch
from torch import nn
from own import Net, loader, check

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
BEFORE
for epoch in range(20):
    model.train()
    INSIDE
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    AFTER
"""


def epochs(before: str, inside: str, after: str) -> str:
    return EPOCHS.replace("BEFORE", before).replace("INSIDE", inside).replace("AFTER", after)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (epochs("total_loss = 0", "pass", 'print(f"{epoch}: {total_loss:.2f}")'), True),
        (epochs("total_loss = 0.0", "pass", 'print("epoch %d loss %.2f" % (epoch, total_loss))'), True),
        (epochs("total_loss = 0", "total_loss = 0", 'print(f"{epoch}: {total_loss:.2f}")'), False),
        (epochs("total_loss = 0", "pass", "print(total_loss / (epoch + 1))"), False),
        (epochs("total_loss = 0", "pass", "print(total_loss); total_loss = 0"), False),
        (epochs("total_loss = seen = 0", "seen += 1", "print(total_loss - seen)"), False),
        (epochs("total_loss = 0", "pass", "pass") + "print(total_loss)\n", False),
    ],
)
def test_a_sum_of_losses_that_goes_on(text: str, told: bool) -> None:
    assert (state("script-metric-miscounts", text) == "present") == told


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ('figures = check(model)\n    if figures["LAS"] < best:', True),
        ('figures = check(model)\n    if figures["LAS"] > best:', False),
        ('figures = check(model)\n    if figures["nll"] < best:', False),
        ("drift = check(model)\n    if drift < best or epoch == 0:", False),
    ],
)
def test_nothing_is_below_the_first_best(after: str, told: bool) -> None:
    kept = f"{after}\n        best = 1\n        torch.save(model.state_dict(), 'best.pt')"
    key = after.split("if ")[1].split(" ")[0]
    text = epochs("best = 0.0\ntotal_loss = 0", "pass", kept.replace("best = 1", f"best = {key}"))
    assert (state("script-best-chosen-wrongly", text) == "present") == told


NORMED = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn_norm = NORM
        self.qkv = nn.Linear(width, 3 * width)
        self.mlp_norm = NORM
        self.up = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.attn_norm(x)).chunk(3, -1)
        x = x + nn.functional.scaled_dot_product_attention(q, k, v)
        return x + self.up(self.mlp_norm(x))
"""


@pytest.mark.parametrize(("norm", "told"), [("nn.Identity()", "present"), ("nn.LayerNorm(width)", "absent")])
def test_norms_by_what_they_stand_before(norm: str, told: str) -> None:
    assert state("script-norm-is-identity", NORMED.replace("NORM", norm)) == told


CHARS = """
import torch
from torch import nn


class Chars(nn.Module):
    def __init__(self, size, hidden, classes):
        super().__init__()
        self.i2h = nn.Linear(size + hidden, hidden)
        self.i2o = nn.Linear(size + hidden, classes)
        self.softmax = nn.LogSoftmax(dim=AXIS)

    def forward(self, x, hidden):
        joined = torch.cat((x, hidden), 1)
        return self.softmax(self.i2o(joined)), self.i2h(joined)
"""


@pytest.mark.parametrize(("axis", "told"), [("0", "present"), ("1", "absent"), ("-1", "absent")])
def test_the_axis_of_a_softmax_that_is_a_layer(axis: str, told: str) -> None:
    assert state("script-softmax-axis", CHARS.replace("AXIS", axis)) == told


TAGGED = """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from own import Tagger, sentences, word2idx, tag2idx

PAD = "<PAD>"


def collate(batch):
    words, tags = zip(*batch)
    words = pad_sequence(words, batch_first=True, padding_value=word2idx[PAD])
    tags = pad_sequence(tags, batch_first=True, padding_value=tag2idx[PAD])
    return words, tags


loader = DataLoader(sentences, batch_size=32, shuffle=True, collate_fn=collate)
model = Tagger(len(word2idx), len(tag2idx))
criterion = nn.CrossEntropyLoss(IGNORED)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for words, tags in loader:
        optimizer.zero_grad()
        scores = model(words)
        loss = criterion(scores.flatten(0, 1), tags.flatten())
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("ignored", "told"),
    [
        ("", True),
        ("ignore_index=-100", True),
        ("ignore_index=tag2idx[PAD]", False),
        ("reduction='none'", False),
    ],
)
def test_tags_padded_by_a_table(ignored: str, told: bool) -> None:
    found = state("script-label-padding-counts", TAGGED.replace("IGNORED", ignored))
    assert (found == "present") == told


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [("batch_label", "logit", True), ("logit", "batch_label", False), ("outputs", "targets", False)],
)
def test_answers_by_longer_names(first: str, second: str, told: bool) -> None:
    text = f"""
from torch.nn import functional as F
from own import model, loader
for x, {second if told is False else first} in loader:
    {first if told is False else second} = model(x)
    loss = F.binary_cross_entropy_with_logits({first}, {second})
    loss.backward()
"""
    assert (state("script-loss-arguments-swapped", text) == "present") == told


REBUILT = """
import torch
from torch import nn
from own import AutoEncoder, loader

model = AutoEncoder()
loss_fn = nn.LOSS()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(50):
    for (x,) in loader:
        optimizer.zero_grad()
        x_hat = model(x)
        loss = loss_fn(x_hat, x)
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "told"), [("CrossEntropyLoss", True), ("MSELoss", False), ("BCELoss", False)]
)
def test_inputs_for_classes(loss: str, told: bool) -> None:
    assert (state("script-class-loss-on-numbers", REBUILT.replace("LOSS", loss)) == "present") == told


def test_a_measure_that_is_updated_is_no_step() -> None:
    text = epochs("from own import parity\ntotal_loss = 0", "parity.reset()", "print(parity.compute())")
    text = text.replace("        optimizer.step()\n", "        parity.update(model(x), y)\n")
    assert state("script-step-missing", text) == "present"
    assert (
        state("script-step-missing", text.replace("parity.update", "optimizer.step(); parity.update"))
        == "absent"
    )


CHANCES = """
import torch
from own import Net, loader

model = Net()
optimizer = torch.optim.Adam(model.parameters())


def run(loader, train):
    found = []
    for x, y in loader:
        outputs = model.forward(x)
        loss = torch.nn.functional.nll_loss(outputs, y)
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        chances = torch.exp(outputs)
        found.append((chances.max(dim=AXIS)[1] == y).float().mean())
    return sum(found) / len(found)


for epoch in range(5):
    print(run(loader, True))
"""


@pytest.mark.parametrize(("axis", "told"), [("0", True), ("1", False)])
def test_the_axis_of_chances_by_another_name(axis: str, told: bool) -> None:
    assert (state("script-metric-wrong", CHANCES.replace("AXIS", axis)) == "present") == told


CLOSING = """
import torch
from torch import nn
from own import Net, loader

model = Net()
opt = torch.optim.LBFGS(model.parameters(), lr=0.1)
for epoch in range(5):
    for x, y in loader:
        BEFORE

        def closure():
            INSIDE
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return loss

        opt.step(closure)
"""


@pytest.mark.parametrize(
    ("before", "inside", "told"),
    [
        ("pass", "opt.zero_grad()", False),
        ("pass", "pass", True),
        ("opt.zero_grad()", "pass", True),  # which LBFGS asks several times
    ],
)
def test_a_closure_clears(before: str, inside: str, told: bool) -> None:
    text = CLOSING.replace("BEFORE", before).replace("INSIDE", inside)
    assert (state("script-gradients-not-cleared", text) == "present") == told
    once = text.replace("LBFGS", "SGD")
    assert (state("script-gradients-not-cleared", once) == "present") == (told and before == "pass")


DECODER = """
import torch
from torch import nn


class Decoder(nn.TransformerDecoderLayer):
    def forward(self, tgt, ASKED, tgt_mask=None, memory_mask=None, tgt_padding=None, memory_padding=None):
        inner = self.self_attn(tgt, tgt, tgt, attn_mask=tgt_mask)[0]
        tgt = self.norm1(tgt + self.dropout1(inner))
        inner, weights = self.multihead_attn(tgt, READ, READ, attn_mask=memory_mask)
        return self.norm2(tgt + self.dropout2(inner))
"""


@pytest.mark.parametrize(
    ("asked", "read", "told"),
    [
        ("memory", "tgt", True),
        ("enc_out", "tgt", True),
        ("memory", "memory", False),
        ("context=None", "tgt", False),  # a way to call it that all layers share
    ],
)
def test_the_other_sequence_is_read(asked: str, read: str, told: bool) -> None:
    text = DECODER.replace("ASKED", asked).replace("READ", read)
    assert (state("script-branch-lost", text) == "present") == told


FINAL = """
import torch
from own import Net, rows, targets, step, score

train, val, test = rows[:800], rows[800:900], rows[900:]
FIGURES
model = Net()
optimizer = torch.optim.Adam(model.parameters())
best = float("inf")
for epoch in range(30):
    for x, y in train:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), (y - mean) / std)
        loss.backward()
        optimizer.step()
    error = score(model, CHOSEN, std)
    if error < best:
        best = error
        torch.save(model.state_dict(), "best.pt")
model.load_state_dict(torch.load("best.pt"))
print(score(model, test, std))
"""


@pytest.mark.parametrize(
    "figures",
    [
        "mean, std = float(targets[:800].mean()), float(targets[:800].std())",
        "mean, std = torch.tensor(targets[:800].mean()), torch.tensor(targets[:800].std())",
    ],
)
@pytest.mark.parametrize(("chosen", "told"), [("val", False), ("test", True)])
def test_figures_are_no_parts_that_nobody_scores(figures: str, chosen: str, told: bool) -> None:
    text = FINAL.replace("FIGURES", figures).replace("CHOSEN", chosen)
    assert (state("script-training-sees-evaluation", text) == "present") == told


RESUMED = """
import os
import torch
from own import Net, loader, score, load_checkpoint

model = Net()
optimizer = torch.optim.Adam(model.parameters())
tuning = None
if tuning is None:
    tuning = {"rank": 8}
first, best, total_loss = 0, 0.0, 0.0
if os.path.exists("last.pt"):
    OPENED
    first, best = state["epoch"] + 1, state["best"]
for epoch in range(first, 20):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    figure = score(model)
    if figure > best:
        best = figure
    kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "best": best,
            "tuning": tuning, "loss": total_loss}
    torch.save(kept, "last.pt")
"""
PLAIN = 'state = torch.load("last.pt"); model.load_state_dict(state["model"])'


@pytest.mark.parametrize(
    ("opened", "told"),
    [
        (f'{PLAIN}; optimizer.load_state_dict(state["optimizer"])', False),  # settings and sums are left
        ('state = load_checkpoint("last.pt", model, optimizer)', False),
        (PLAIN, True),
    ],
)
def test_parts_of_a_checkpoint_that_are_left(opened: str, told: bool) -> None:
    assert (state("script-resume-incomplete", RESUMED.replace("OPENED", opened)) == "present") == told


PAIRED = """
import torch
from own import Net, series

train_data, val_data, test_data = series[:800], series[800:900], series[900:]


def pairs(data):
    inputs = data[:-1]
    answers = data[1:]
    return inputs, answers


X_train, y_train = pairs(train_data)
X_val, y_val = pairs(val_data)
X_test, y_test = pairs(test_data)
model = Net()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(30):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(X_train), y_train).backward()
    optimizer.step()
    print(torch.nn.functional.mse_loss(model(X_val), y_val).item())
"""


def test_a_function_that_makes_pairs_of_each_part() -> None:
    assert state("script-training-sees-evaluation", PAIRED) != "present"
