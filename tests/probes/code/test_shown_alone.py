"""Slips that a script alone shows: padding, masks, boxes, lengths of other loaders, shares."""

from __future__ import annotations

import pytest

from .._scripts import state

WORDS = """
import torch
import torch.nn as nn
import torch.nn.functional as F
PAD, EOS = 0, 1
ids = {c: i + 2 for i, c in enumerate(letters)}
V = len(ids) + 2
def fill(words):
    rows = [[ids[c] for c in w] + [EOS] for w in words]
    most = max(map(len, rows))
    return torch.tensor([r + [PAD] * (most - len(r)) for r in rows])
def batches(pairs):
    for part in pairs:
        yield fill([a for a, _ in part]), fill([b for _, b in part])
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.src, self.tgt = nn.Embedding(V, 32), nn.Embedding(V, 32)
        self.enc, self.dec = nn.GRU(32, 32, batch_first=True), nn.GRU(32, 32, batch_first=True)
        self.out = nn.Linear(32, V)
    def forward(self, src, tgt_in):
        memory, state = self.enc(self.src(src))
        h, _ = self.dec(self.tgt(tgt_in), state)
        score = torch.bmm(h, memory.transpose(1, 2)) / 32 ** 0.5
        score = score.masked_fill((src == PAD).unsqueeze(1), -1e9)
        return self.out(h + torch.bmm(F.softmax(score, dim=-1), memory))
def shifted(t):
    return torch.cat([torch.full((t.size(0), 1), EOS), t[:, :-1]], dim=1)
model = Net()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(9):
    for src, tgt in batches(train):
        logits = model(src, shifted(tgt))
        loss = F.cross_entropy(logits.reshape(-1, V), tgt.reshape(-1), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
COUNTS, SEES, SHARED = (
    "script-label-padding-counts",
    "script-training-sees-evaluation",
    "script-operator-wrong",
)


@pytest.mark.parametrize(
    ("symptom", "old", "new", "wanted"),
    [
        (COUNTS, "", "", "absent"),
        (COUNTS, ", ignore_index=PAD", "", "present"),
        (COUNTS, "ignore_index=PAD", "ignore_index=EOS", "present"),
        (COUNTS, ", ignore_index=PAD", ", reduction='none'", "unknown"),
        (SEES, "model(src, shifted(tgt))", "model(src, tgt)", "present"),
        ("script-words-numbered-apart", "i + 2 for", "i for", "present"),
        (SHARED, "src == PAD", "src != PAD", "present"),
    ],
)
def test_padding_by_hand(symptom: str, old: str, new: str, wanted: str) -> None:
    """Rows that were filled up by hand: the loss, the decoder's input, the numbers, the mask."""
    assert not old or WORDS.count(old) == 1
    assert state(symptom, WORDS.replace(old, new) if old else WORDS) == wanted


@pytest.mark.parametrize("symptom", [COUNTS, SEES, SHARED, "script-words-numbered-apart"])
def test_right_one_is_silent(symptom: str) -> None:
    """The right program shows none of these."""
    assert state(symptom, WORDS) != "present"


TUNED = """
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2")
def collate(rows):
    ids, labels = zip(*rows)
    labels = pad_sequence(labels, batch_first=True{VALUE})
    return {"input_ids": pad_sequence(ids, batch_first=True), "labels": labels}
"""


@pytest.mark.parametrize(("value", "wanted"), [("", "present"), (", padding_value=-100", "absent")])
def test_labels_of_a_library_model(value: str, wanted: str) -> None:
    """The loss within a model of transformers leaves out -100 alone."""
    assert state(COUNTS, TUNED.replace("{VALUE}", value)) == wanted


ATTEND = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class Attend(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.register_buffer("tril", torch.tril(torch.ones(n, n)))
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        att = q @ k.transpose(-2, -1) / c ** 0.5
        att = att.masked_fill(self.tril[:t, :t] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        return att @ v
"""
HIDE = '        att = att.masked_fill(self.tril[:t, :t] == 0, float("-inf"))\n'
SOFT = "        att = F.softmax(att, dim=-1)\n"
LATE = SOFT + "        att = att.masked_fill(self.tril[:t, :t] == 0, 0.0)\n"


def test_masks_of_order() -> None:
    """The triangle is applied before the softmax; after it, or not at all, is wrong."""
    late = ATTEND.replace(HIDE + SOFT, LATE)
    anew = ATTEND.replace(HIDE + SOFT, LATE + "        att = att / att.sum(-1, keepdim=True)\n")
    assert state(SHARED, late) == "present"
    assert state(SHARED, anew) != "present"
    assert state(SHARED, ATTEND) != "present"
    assert state(SEES, ATTEND.replace(HIDE, "")) == "present"
    assert state(SEES, ATTEND) != "present"
    ready = (
        ATTEND[: ATTEND.index("        att =")]
        + "        return F.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
    )
    assert state(SEES, ready) != "present"


BOXES = """
import torch, torchvision
class Set(torch.utils.data.Dataset):
    def __getitem__(self, i):
        image, found = self.items[i]
        boxes = torch.tensor([[b["x"], b["y"], b["x"] + b["w"], b["y"] + b["h"]] for b in found])
        if torch.rand(1) < 0.5:
            image = torchvision.transforms.functional.hflip(image)
            boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]
        return image, {"boxes": boxes, "labels": torch.ones(len(found))}
model = torchvision.models.detection.fasterrcnn_resnet50_fpn()
"""


def test_boxes() -> None:
    """A detector takes two corners, and x is mirrored within the width."""
    sizes = BOXES.replace('b["x"] + b["w"], b["y"] + b["h"]', 'b["w"], b["h"]')
    assert state("script-places-left", sizes) == "present"
    assert (
        state(
            "script-places-left",
            sizes.replace("if torch.rand", "boxes[:, 2:] += boxes[:, :2]\n        if torch.rand"),
        )
        != "present"
    )
    assert state("script-places-left", BOXES.replace("image.width", "image.height")) == "present"
    assert state("script-places-left", BOXES) != "present"


CODES = """
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
tf = transforms.Compose([transforms.ToTensor()])
train = DataLoader(datasets.MNIST("data", train=True, transform=tf), 64, shuffle=True)
test = DataLoader(datasets.MNIST("data", train=False, transform=tf), 64)
def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x.view(-1, 784), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld
for epoch in range(9):
    for x, _ in train:
        recon, mu, logvar = model(x)
        loss = loss_function(recon, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    total = 0.0
    with torch.no_grad():
        for x, _ in test:
            recon, mu, logvar = model(x)
            total += loss_function(recon, x, mu, logvar).item()
    print(total / len(test.dataset))
"""


def test_variational_codes() -> None:
    """Terms of one reduction, pictures from 0 to 1, a sum over the loader it is divided by."""
    loss, metric = "script-loss-wrong", "script-metric-wrong"
    assert state(loss, CODES.replace('reduction="sum"', 'reduction="mean"')) == "present"
    assert (
        state(loss, CODES.replace("ToTensor()", "ToTensor(), transforms.Normalize((0.13,), (0.31,))"))
        == "present"
    )
    assert state(metric, CODES.replace("len(test.dataset)", "len(train.dataset)")) == "present"
    assert state(loss, CODES) != "present"
    assert state(metric, CODES) != "present"


TAGS = """
import torch
from transformers import AutoModelForTokenClassification, DataCollatorForTokenClassification
model = AutoModelForTokenClassification.from_pretrained("bert-base-cased")
for epoch in range(3):
    for batch in train:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        for batch in valid:
            guess = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
"""


def test_mask_left_out_where_it_is_scored() -> None:
    """Training hands the attention mask over, and so does the evaluation."""
    apart = "script-splits-processed-differently"
    assert state(apart, TAGS.replace(', attention_mask=batch["attention_mask"]', "")) == "present"
    assert state(apart, TAGS) != "present"


def test_overlap_of_raw_scores() -> None:
    """Dice beside a loss of raw scores is taken of their sigmoid."""
    text = """
def dice(prob, target):
    return (2 * (prob * target).sum() + 1) / (prob.sum() + target.sum() + 1)
bce = torch.nn.BCEWithLogitsLoss()
for img, mask in train:
    out = model(img)
    loss = bce(out, mask) + 1 - dice(torch.sigmoid(out), mask)
    loss.backward()
    optimizer.step()
"""
    text = "import torch\n" + text
    assert state("script-overlap-loss-wrong", text) == "absent"
    assert (
        state("script-overlap-loss-wrong", text.replace("torch.sigmoid(out), mask", "out, mask")) == "present"
    )


TAGGED = """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
IGNORE = -100
def collate(rows):
    most = max(len(a) for a, _ in rows)
    words = [a + [0] * (most - len(a)) for a, _ in rows]
    labels = [b + [IGNORE] * (most - len(b)) for _, b in rows]
    return torch.tensor(words), torch.tensor(labels)
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(900, 100, padding_idx=0)
        self.rnn = nn.LSTM(100, 64, batch_first=True, bidirectional=True)
        self.out = nn.Linear(128, 9)
    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)
train = DataLoader(rows, 32, shuffle=True, collate_fn=collate)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
for epoch in range(15):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = criterion(model(x).transpose(1, 2), y)
        loss.backward()
        optimizer.step()
    model.eval()
    good = count = 0
    with torch.no_grad():
        for x, y in valid:
            guess = model(x).argmax(dim=-1)
            real = y != IGNORE
            good += (guess[real] == y[real]).sum().item()
            count += real.sum().item()
    print(good / count)
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        (COUNTS, "[IGNORE] *", "[0] *"),
        ("script-batch-first-missing", ", batch_first=True", ""),
        ("script-metric-miscounts", "count += real.sum().item()", "count += y.numel()"),
    ],
)
def test_positions_that_are_tagged(symptom: str, old: str, new: str) -> None:
    """Labels of padding, the axis of steps, and a count of all places, in a program without functions."""
    assert TAGGED.count(old) == 1
    assert state(symptom, TAGGED.replace(old, new)) == "present"
    assert state(symptom, TAGGED) != "present"


def test_steps_first_on_purpose() -> None:
    """Batches that are turned, or put together with steps first, fit a layer without `batch_first`."""
    bare = TAGGED.replace(", batch_first=True", "")
    assert (
        state(
            "script-batch-first-missing", bare.replace("self.rnn(self.emb(x))", "self.rnn(self.emb(x.t()))")
        )
        != "present"
    )
    padded = bare.replace("torch.tensor(words)", "nn.utils.rnn.pad_sequence(list(map(torch.tensor, words)))")
    assert state("script-batch-first-missing", padded) != "present"


def test_one_side_leaves_padding_out() -> None:
    """The criterion of training counts padding, the figure below `no_grad` leaves it out."""
    text = WORDS.replace(
        "loss = F.cross_entropy(logits.reshape(-1, V), tgt.reshape(-1), ignore_index=PAD)",
        "loss = criterion(logits.reshape(-1, V), tgt.reshape(-1))",
    )
    text = text.replace(
        "model = Net()", "model = Net()\ncriterion = nn.CrossEntropyLoss(label_smoothing=0.1)"
    )
    text += """    with torch.no_grad():
        for src, tgt in batches(valid):
            logits = model(src, shifted(tgt))
            total = F.cross_entropy(logits.transpose(1, 2), tgt, ignore_index=PAD)
"""
    assert state(COUNTS, text) == "present"
    assert state(COUNTS, text.replace("label_smoothing=0.1", "ignore_index=PAD")) != "present"


HANDED = """
import torch
import torch.nn as nn
import torch.nn.functional as F
PAD = 0
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k = nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x, mask):
        score = self.q(x) @ self.k(x).transpose(-1, -2) / 8.0
        score = score.masked_fill(~mask, float("-inf"))
        return F.softmax(score, dim=-1) @ x
class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.att = Attention(d)
    def forward(self, x, mask):
        return x + self.att(x, mask)
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.words = nn.Embedding(99, d)
        self.enc = nn.ModuleList([Layer(d) for _ in range(3)])
        self.dec = nn.ModuleList([Layer(d) for _ in range(3)])
    def forward(self, src, tgt):
        keep = (src != PAD)[:, None, :]
        order = torch.tril(torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool))
        x, y = self.words(src), self.words(tgt)
        for layer in self.enc:
            x = layer(x, keep)
        for layer in self.dec:
            y = layer(y, order)
        return x, y
"""


def test_masks_that_are_handed_over() -> None:
    """Each caller's mask is looked at by itself: one of padding, one of order."""
    assert state("script-training-sees-evaluation", HANDED.replace("torch.tril", "torch.triu")) == "present"
    assert state("script-training-sees-evaluation", HANDED) != "present"
    assert state(SHARED, HANDED.replace("src != PAD", "src == PAD")) == "present"
    assert state(SHARED, HANDED) != "present"


PICTURES = """
import random
import torchvision.transforms as T
import torchvision.transforms.functional as TF
from PIL import Image
from torch.utils.data import Dataset
class Pairs(Dataset):
    def __init__(self, files):
        self.files = files
        self.plain = T.Compose([T.Resize((96, 96)), T.ToTensor()])
    def __getitem__(self, i):
        rough = Image.open(self.files[i])
        clean = Image.open(self.files[i].replace("rough", "clean"))
        top = random.randint(0, 9)
        rough, clean = TF.crop(rough, top, 0, 96, 96), TF.crop(clean, top, 0, 96, 96)
        if random.random() < 0.5:
            rough, clean = TF.vflip(rough), TF.vflip(clean)
        return self.plain(rough), self.plain(clean)
"""
TORN = "script-sample-torn-apart"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rough, clean = TF.vflip(rough), TF.vflip(clean)", "rough = TF.vflip(rough)"),
        (
            "rough, clean = TF.crop(rough, top, 0, 96, 96), TF.crop(clean, top, 0, 96, 96)",
            "rough, clean = TF.crop(rough, top, 0, 96, 96), TF.crop(clean, random.randint(0, 9), 0, 96, 96)",
        ),
        ("T.Resize((96, 96))", "T.RandomHorizontalFlip()"),
    ],
)
def test_two_pictures_of_a_sample(old: str, new: str) -> None:
    """One is mirrored alone, cut at a place of its own, or each is sent through random steps."""
    assert PICTURES.count(old) == 1
    assert state(TORN, PICTURES.replace(old, new)) == "present"
    assert state(TORN, PICTURES) != "present"


def test_views_of_one_thing_are_no_pair() -> None:
    """With a third part, as a label that tells whether they are alike, each picture may move by itself."""
    views = PICTURES.replace("T.Resize((96, 96))", "T.RandomHorizontalFlip()")
    assert state(TORN, views.replace("self.plain(clean)", "self.plain(clean), 1")) != "present"
    seeded = views.replace("        return", "        torch.manual_seed(i)\n        return")
    assert state(TORN, seeded) != "present"


ANSWERS = """
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tok = AutoTokenizer.from_pretrained("t5-small")
model = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
def collate(rows):
    x = tok([r["long"] for r in rows], padding=True, return_tensors="pt")
    y = tok([r["short"] for r in rows], padding=True, return_tensors="pt").input_ids
    y[y == tok.pad_token_id] = -100
    return {"input_ids": x.input_ids, "attention_mask": x.attention_mask, "labels": y}
"""


def test_answers_that_are_padded() -> None:
    """Padded answers are labels with their padding left out: none of it, and not the words."""
    assert state(COUNTS, ANSWERS.replace("    y[y == tok.pad_token_id] = -100\n", "")) == "present"
    assert state(COUNTS, ANSWERS.replace("y[y == tok", "y[y != tok")) == "present"
    assert state(COUNTS, ANSWERS) != "present"
