"""A library call by hand, a step done elsewhere, a layer extracted: no edits; slips beside them are."""

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import compare, sorted_out
from traindoctor.probes.run import Run

TORCH = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset
from transformers import get_linear_schedule_with_warmup


class Reader(nn.Module):
    def __init__(self, words, width, classes):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.conv1 = nn.Conv1d(width, width, 3, padding=1)
        self.norm1 = nn.BatchNorm1d(width)
        self.head = nn.Linear(width, classes)
        for part in self.modules():
            if isinstance(part, nn.Conv1d):
                nn.init.kaiming_normal_(part.weight)

    def pool(self, states, mask):
        mask = mask.unsqueeze(-1).to(states.dtype)
        return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)

    def forward(self, ids, mask):
        x = self.pool(self.words(ids), mask)
        x = F.relu(self.norm1(self.conv1(x)))
        return F.log_softmax(self.head(x), dim=1)


def train(model, loader, optimizer, scheduler):
    model.train()
    for ids, mask, label in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(ids, mask), label)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()


def evaluate(model, loader):
    model.eval()
    hits = 0
    found = 0
    with torch.no_grad():
        for ids, mask, label in loader:
            pred = model(ids, mask).exp() > 0.5
            truth = label > 0
            hits = hits + (pred & truth).sum(0).float()
            found = found + pred.sum(0).float()
    return hits / found


def main():
    whole = Pairs("pairs.txt")
    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(1)).tolist()
    held, kept = Subset(whole, order[:500]), Subset(whole, order[500:])
    train_loader = DataLoader(kept, batch_size=32, shuffle=True)
    val_loader = DataLoader(held, batch_size=64)
    model = Reader(1000, 64, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 100, 5000)
    best = 0.0
    for epoch in range(20):
        train(model, train_loader, optimizer, scheduler)
        score = evaluate(model, val_loader).mean()
        if score > best:
            best = score
            torch.save(model.state_dict(), "best.pt")


main()
"""

KERAS = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

past = keras.Input((72, 7))
x = layers.Dense(48)(past)
for rate in (1, 2, 4):
    y = layers.Conv1D(48, 3, dilation_rate=rate, padding="causal", activation="relu")(x)
    x = layers.Add()([x, y])
    x = layers.LayerNormalization()(x)
x = layers.GRU(64)(x)
model = keras.Model(past, layers.Dense(24)(x))
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=keras.losses.Huber(), metrics=["mae"])
ds = tf.data.Dataset.from_tensor_slices(load("train")).shuffle(1000).batch(64)
model.fit(ds, epochs=10)
"""

Edit = tuple[str, str]
CLEARED = "        optimizer.zero_grad()\n"
STEPPED = "        optimizer.step()\n        scheduler.step()\n"
POOLED = (
    "        mask = mask.unsqueeze(-1).to(states.dtype)\n"
    "        return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)\n"
)
SHARES = (
    "        share = mask.to(states.dtype)\n"
    "        share = share / share.sum(dim=1, keepdim=True).clamp(min=1.0)\n"
)
LAYERS = (
    "        self.conv1 = nn.Conv1d(width, width, 3, padding=1)\n        self.norm1 = nn.BatchNorm1d(width)\n"
)
APPLIED = "        x = F.relu(self.norm1(self.conv1(x)))\n"
BLOCK = (
    "        self.block = conv_norm(width)\n        self.act = nn.ReLU()\n",
    "class Reader",
    "def conv_norm(n):\n"
    "    return nn.Sequential(nn.Conv1d(n, n, 3, padding=1), nn.BatchNorm1d(n))\n\n\nclass Reader",
)
SPLIT = (
    "    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(1)).tolist()\n"
    "    held, kept = Subset(whole, order[:500]), Subset(whole, order[500:])\n"
)
IN_KERAS = (
    '    y = layers.Conv1D(48, 3, dilation_rate=rate, padding="causal", activation="relu")(x)\n'
    "    x = layers.Add()([x, y])\n    x = layers.LayerNormalization()(x)\n"
)

EQUAL: dict[str, tuple[str, list[Edit]]] = {
    "cross entropy of scores": (
        TORCH,
        [
            ("return F.log_softmax(self.head(x), dim=1)", "return self.head(x)"),
            ("F.nll_loss(model(ids, mask), label)", "F.cross_entropy(model(ids, mask), label)"),
            ("model(ids, mask).exp() > 0.5", "F.log_softmax(model(ids, mask), dim=1).exp() > 0.5"),
        ],
    ),
    "cleared after the step and once before": (
        TORCH,
        [
            (CLEARED, ""),
            ("    model.train()\n", "    model.train()\n    optimizer.zero_grad()\n"),
            (STEPPED, STEPPED + "        optimizer.zero_grad(set_to_none=True)\n"),
        ],
    ),
    "cleared between the forward pass and backward": (
        TORCH,
        [(CLEARED, ""), ("        loss.backward()\n", CLEARED + "        loss.backward()\n")],
    ),
    "cleared after the step, before the schedule's": (
        TORCH,
        [
            (CLEARED, ""),
            (STEPPED, "        optimizer.step()\n        optimizer.zero_grad()\n        scheduler.step()\n"),
        ],
    ),
    "split by the library": (
        TORCH,
        [
            (
                SPLIT,
                "    held, kept = random_split(whole, [500, len(whole) - 500], "
                "generator=torch.Generator().manual_seed(1))\n",
            ),
            ("DataLoader, Subset", "DataLoader, random_split"),
        ],
    ),
    "layers in a block": (
        TORCH,
        [(LAYERS, BLOCK[0]), (APPLIED, "        x = self.act(self.block(x))\n"), BLOCK[1:]],
    ),
    "mean over the mask by a product": (
        TORCH,
        [(POOLED, SHARES + '        return torch.einsum("bt,bth->bh", share, states)\n')],
    ),
    "the schedule by its name": (
        TORCH,
        [
            (
                "get_linear_schedule_with_warmup(optimizer, 100, 5000)",
                'get_scheduler("linear", optimizer, num_warmup_steps=100, num_training_steps=5000)',
            ),
            ("import get_linear_schedule_with_warmup", "import get_scheduler"),
        ],
    ),
    "both of two by a product": (
        TORCH,
        [("(pred & truth).sum(0).float()", "(pred * truth).float().sum(dim=0)")],
    ),
    "a block of Keras layers": (
        KERAS,
        [
            (IN_KERAS, "    x = dilated(x, rate)\n"),
            (
                "past = keras.Input((72, 7))\n",
                "def dilated(x, rate):\n"
                '    conv = layers.Conv1D(48, 3, dilation_rate=rate, padding="causal", name=f"conv_{rate}")\n'
                "    y = layers.ReLU()(conv(x))\n"
                '    return layers.LayerNormalization(name=f"norm_{rate}")(x + y)\n\n\n'
                "past = keras.Input((72, 7))\n",
            ),
        ],
    ),
    "shuffled anew, as ever": (KERAS, [("shuffle(1000)", "shuffle(1000, reshuffle_each_iteration=True)")]),
}

FAULTS: dict[str, tuple[str, list[Edit]]] = {
    "scores into the likelihood": (
        TORCH,
        [("return F.log_softmax(self.head(x), dim=1)", "return self.head(x)")],
    ),
    "cleared between backward and the step": (
        TORCH,
        [(CLEARED, ""), ("        optimizer.step()\n", CLEARED + "        optimizer.step()\n")],
    ),
    "cleared once before the loop": (
        TORCH,
        [(CLEARED, ""), ("    model.train()\n", "    model.train()\n    optimizer.zero_grad()\n")],
    ),
    "never cleared": (TORCH, [(CLEARED, "")]),
    "parts of the split changed over": (
        TORCH,
        [
            (
                SPLIT,
                "    kept, held = random_split(whole, [500, len(whole) - 500], "
                "generator=torch.Generator().manual_seed(1))\n",
            )
        ],
    ),
    "a block without its activation": (
        TORCH,
        [(LAYERS, BLOCK[0]), (APPLIED, "        x = self.block(x)\n"), BLOCK[1:]],
    ),
    "mean over all by a product": (
        TORCH,
        [
            (
                POOLED,
                SHARES.replace("share / share", "share / mask.new_ones(mask.shape)")
                + '        return torch.einsum("bt,bth->bh", share, states)\n',
            )
        ],
    ),
    "another schedule by its name": (
        TORCH,
        [
            (
                "get_linear_schedule_with_warmup(optimizer, 100, 5000)",
                'get_scheduler("constant", optimizer, num_warmup_steps=100, num_training_steps=5000)',
            )
        ],
    ),
    "either of two": (TORCH, [("(pred & truth).sum(0).float()", "(pred | truth).float().sum(dim=0)")]),
    "a Keras block without the way past": (
        KERAS,
        [(IN_KERAS, IN_KERAS.replace("layers.Add()([x, y])", "y"))],
    ),
    "shuffled once": (KERAS, [("shuffle(1000)", "shuffle(1000, reshuffle_each_iteration=False)")]),
}


def kinds(text: str, pairs: list[Edit], turned: bool = False) -> set[str]:
    """The kinds of edits that a rewritten program has."""
    mine = text
    for old, new in pairs:
        assert old in mine
        mine = mine.replace(old, new, 1)
    two = [Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": t}) for t in (mine, text)]
    found = sorted_out(compare(*(reversed(two) if turned else two)))
    return {kind for kind, edits in found.items() if edits}


@pytest.mark.parametrize(("text", "pairs"), EQUAL.values(), ids=EQUAL)
def test_an_equal_way_is_no_edit_of_a_kind(text: str, pairs: list[Edit]) -> None:
    assert kinds(text, pairs) == set()
    assert kinds(text, pairs, turned=True) == set()


@pytest.mark.parametrize(("text", "pairs"), FAULTS.values(), ids=FAULTS)
def test_a_slip_in_it_is_an_edit_of_a_kind(text: str, pairs: list[Edit]) -> None:
    assert kinds(text, pairs) != set()


def test_a_line_under_another_condition_is_an_edit() -> None:
    """A run that takes one side of the condition only says nothing of a line that came under it."""
    text = """
from torch.utils.data import DataLoader, Dataset


class Spoken(Dataset):
    def __init__(self, waves, train):
        self.waves = waves
        self.train = train

    def __getitem__(self, i):
        feats = self.waves[i]
        feats = (feats - feats.mean(0)) / (feats.std(0) + 1e-5)
        if self.train:
            feats = mask_bands(feats)
        return feats


loaders = [DataLoader(Spoken(read(part), part == "train"), 32) for part in ("train", "val")]
"""
    line = "        feats = (feats - feats.mean(0)) / (feats.std(0) + 1e-5)\n"

    assert (
        kinds(text, [(line, ""), ("        if self.train:\n", "        if self.train:\n    " + line)])
        != set()
    )
