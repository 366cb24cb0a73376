"""What labels are filled with, masks that keep the wrong ones, orders that change nothing."""

from __future__ import annotations

import pytest

from .._scripts import state

COUNTS, FIXED, KEPT = "script-label-padding-counts", "script-order-fixed", "script-loader-keeps-order"
COLLATE = """
import torch
import torch.nn.functional as F
PAD = 0
def collate(rows):
    longest = max(len(r) for r, _ in rows)
    ids = torch.full((len(rows), longest), PAD)
    labels = {MADE}
    for k, (x, y) in enumerate(rows):
        ids[k, : len(x)] = x
        labels[k, : len(y)] = y{REST}
    return ids, labels
for ids, labels in loader:
    loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(){LEFT})
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("made", "rest", "left", "found"),
    [
        ("torch.full((len(rows), longest), -100)", "", ", ignore_index=-100", "absent"),
        ("torch.full((len(rows), longest), PAD)", "", ", ignore_index=-100", "present"),
        ("torch.full((len(rows), longest), PAD)", "", ", ignore_index=PAD", "absent"),
        ("torch.zeros(len(rows), longest).long()", "", ", ignore_index=-100", "unknown"),
        ("torch.zeros(len(rows), longest, dtype=torch.long)", "", ", ignore_index=-100", "present"),
        (
            "torch.zeros(9, longest, dtype=torch.long)",
            "\n        labels[k, len(y):] = -100",
            ", ignore_index=-100",
            "",
        ),
        ("torch.zeros(9, longest, dtype=torch.long)", "", "", "unknown"),
    ],
)
def test_what_arrays_of_labels_are_filled_with(made: str, rest: str, left: str, found: str) -> None:
    code = COLLATE.replace("{MADE}", made).replace("{REST}", rest).replace("{LEFT}", left)
    told = state(COUNTS, code)
    assert told == found or (not found and told != "present")


@pytest.mark.parametrize(("mark", "found"), [("-100", False), ("0", True)])
def test_what_stands_for_the_prompt(mark: str, found: bool) -> None:
    code = f"""
import torch.nn.functional as F
def encode(prompt, answer):
    labels = ([{mark}] * len(prompt) + answer)[:64]
    return prompt + answer, labels
def loss_of(logits, labels):
    return F.cross_entropy(logits, labels, ignore_index=-100)
"""
    assert (state(COUNTS, code) == "present") is found


FILL = """
import numpy as np
import torch
class Rows(torch.utils.data.Dataset):
    def __init__(self, df):
        y = df[["clay", "sand"]].values
        self.mask = {MASK}
        self.y = np.where({WHERE})
"""


@pytest.mark.parametrize(
    ("mask", "where", "found"),
    [
        ("~np.isnan(y)", "self.mask, y, -1.0", False),
        ("np.isnan(y)", "self.mask, -1.0, y", False),
        ("np.isnan(y)", "self.mask, y, -1.0", True),
        ("~np.isnan(y)", "self.mask, -1.0, y", True),
        ("y > 3", "self.mask, y, -1.0", False),
    ],
)
def test_gaps_that_are_kept(mask: str, where: str, found: bool) -> None:
    assert (state(COUNTS, FILL.replace("{MASK}", mask).replace("{WHERE}", where)) == "present") is found


PIXELS = """
import mindspore.nn as nn
import mindspore.ops as ops
class Loss(nn.Cell):
    def __init__(self, ignore):
        super().__init__()
        self.ignore = ignore
        self.ce = nn.CrossEntropyLoss(reduction="none")
    def construct(self, logits, label):
        {LINES}
        return (self.ce(logits, safe) * known).sum() / known.sum()
"""
SAFE, KNOWN = (
    "safe = ops.select(label {OP} self.ignore, label, ops.zeros_like(label))",
    "known = ({OF} != self.ignore).float()",
)


@pytest.mark.parametrize(
    ("op", "asked", "found"), [("!=", "label", False), ("==", "label", True), ("!=", "safe", True)]
)
def test_pixels_without_a_label(op: str, asked: str, found: bool) -> None:
    lines = "\n        ".join([SAFE.replace("{OP}", op), KNOWN.replace("{OF}", asked)])
    assert (state(COUNTS, PIXELS.replace("{LINES}", lines)) == "present") is found


@pytest.mark.parametrize(("op", "found"), [("< 0", False), (">= 0", True), ("> -1", True), (">= 3", False)])
def test_labels_that_are_written_over(op: str, found: bool) -> None:
    code = f"""
import torch
crit = torch.nn.CrossEntropyLoss(ignore_index=25)
def read(path):
    label = load(path)
    label[label {op}] = 25
    return label
"""
    assert (state(COUNTS, code) == "present") is found


FOLD = """
import torch
def train_fn(loader, model, opt, meter):
    for x, y, mask in loader:
        x, y, mask = x.cuda(), y.cuda(), mask.cuda()
        loss = {LOSS}
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.update(loss.item(), int(mask.sum()))
def valid_fn(loader, model):
    for x, y, mask in loader:
        total += ((model(x) - y) ** 2 * mask).sum() / mask.sum()
{READ}
"""


@pytest.mark.parametrize(
    ("loss", "read", "found"),
    [
        ("masked(model(x), y, mask)", "", False),
        ("((model(x) - y).abs() * mask).sum() / mask.sum()", "", False),
        ("mse(model(x), y)", "", True),
        ("mse(model(x), y)", "df = df.dropna(subset=TARGETS)", False),
    ],
)
def test_a_mask_that_comes_with_each_batch(loss: str, read: str, found: bool) -> None:
    assert (state(COUNTS, FOLD.replace("{LOSS}", loss).replace("{READ}", read)) == "present") is found


PIECES = """
from transformers import AutoTokenizer, DataCollatorForTokenClassification, Trainer
def align(rows):
    encoded = tokenizer(rows["words"], is_split_into_words=True)
    for i, tags in enumerate(rows["tags"]):
        previous, row = None, []
        for word in encoded.word_ids(batch_index=i):
            if word is None:
                row.append(-100)
            elif word {OP} previous:
                row.append(tags[word])
            else:
                row.append(-100)
            previous = word
    return encoded
collator = DataCollatorForTokenClassification(tokenizer{PAD})
Trainer(model=model, args=args, data_collator=collator).train()
"""


@pytest.mark.parametrize(
    ("op", "pad", "found"),
    [
        ("!=", "", False),
        ("!=", ", label_pad_token_id=-100", False),
        ("==", "", True),
        ("!=", ", label_pad_token_id=tokenizer.pad_token_id", True),
    ],
)
def test_pieces_of_words(op: str, pad: str, found: bool) -> None:
    assert (state(COUNTS, PIECES.replace("{OP}", op).replace("{PAD}", pad)) == "present") is found


BY_HAND = """
import numpy as np
import torch
for epoch in range(9):
    net.train()
    {ORDER}
    for s in range(0, len(x), 16):
        b = {TAKE}
        loss = crit(net(x[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
"""


@pytest.mark.parametrize(
    ("order", "take", "found"),
    [
        ("order = np.random.permutation(len(x))", "order[s:s + 16]", False),
        ("order = np.random.permutation(len(x))", "slice(s, s + 16)", True),
        ("order = sorted(torch.randperm(len(x)).tolist())", "order[s:s + 16]", True),
        ("order = torch.randperm(len(x)).tolist()", "sorted(order[s:s + 16])", False),
        ("np.random.seed(1)\n    order = np.random.permutation(len(x))", "order[s:s + 16]", True),
        ("np.random.seed(1 + epoch)\n    order = np.random.permutation(len(x))", "order[s:s + 16]", False),
    ],
)
def test_orders_that_change_nothing(order: str, take: str, found: bool) -> None:
    assert (state(FIXED, BY_HAND.replace("{ORDER}", order).replace("{TAKE}", take)) == "present") is found


@pytest.mark.parametrize(("test", "found"), [("training", False), ("not training", True)])
def test_the_side_that_a_function_shuffles(test: str, found: bool) -> None:
    code = f"""
import tensorflow as tf
def make(arrays, training):
    ds = tf.data.Dataset.from_tensor_slices(arrays)
    if {test}:
        ds = ds.shuffle(9999)
    return ds.batch(32)
model.fit(make(train, True), validation_data=make(valid, False))
"""
    assert (state(FIXED, code) == "present") is found


@pytest.mark.parametrize(
    ("name", "how", "found"),
    [
        ("getTrainLoader", "shuffle=True", "absent"),
        ("getTrainLoader", "num_workers=2", "present"),
        ("get_train_loader", "shuffle=False", "present"),
        ("getTrainLoader", "sampler=self.sampler", "unknown"),
        ("getValidLoader", "num_workers=2", "unknown"),
    ],
)
def test_a_loader_that_a_method_gives_back(name: str, how: str, found: str) -> None:
    code = f"""
from torch.utils.data import DataLoader
class Manager:
    def {name}(self):
        return DataLoader(self.m_data, batch_size=16, {how})
"""
    assert state(KEPT, code) == found


@pytest.mark.parametrize(
    ("order", "found"), [("list(range(len(rows)))", True), ("torch.randperm(len(rows))", False)]
)
def test_batches_of_a_generator_by_partial(order: str, found: bool) -> None:
    code = f"""
from functools import partial
import torch
def batches(rows, size):
    order = {order}
    for start in range(0, len(rows), size):
        yield rows[order[start:start + size]]
def step(x, y):
    loss = crit(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
def fit(rows):
    feed = partial(batches, rows, 16)
    for epoch in range(9):
        losses = [step(*batch) for batch in feed()]
"""
    assert (state("script-no-shuffling", code) == "present") is found


CHECKED = """
import torch
import torch.nn.functional as F
def loss_of(logits, target):
    {BEFORE}checked = target {OP}
    each = F.binary_cross_entropy_with_logits(logits, target.clamp(min=0), reduction="none")
    return {OUT}
for x, target in loader:
    loss = loss_of(net(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("before", "op", "out", "found"),
    [
        ("", ">= 0", "each[checked].mean()", False),
        ("", "!= -1", "(each * checked).sum() / checked.sum()", False),
        ("", "== -1", "each[~checked].mean()", False),
        ("", ">= 0", "each.mean()", True),
        ("", ">= 0", "each[~checked].mean()", True),
        ("", "== -1", "each[checked].mean()", True),
        ("target = target.clamp(min=0)\n    ", ">= 0", "each[checked].mean()", True),
        ("target = target.clamp(min=-1)\n    ", ">= 0", "each[checked].mean()", False),
        ("", "> 0", "each[checked].mean()", False),
    ],
)
def test_targets_that_nobody_checked(before: str, op: str, out: str, found: bool) -> None:
    code = CHECKED.replace("{BEFORE}", before).replace("{OP}", op).replace("{OUT}", out)
    assert (state(COUNTS, code) == "present") is found


TRANSLATE = """
import torch
import torch.nn as nn
PAD, UNK = 0, 3
def tensorize(batch):
    tgt = torch.LongTensor(len(batch), 9).fill_(PAD)
    for i, t in enumerate(batch):
        tgt[i, :len(t)] = torch.LongTensor(t)
    return tgt
weight = torch.ones(99)
{ZERO}
criterion = nn.CrossEntropyLoss({GIVEN})
for batch in batches:
    tgt = tensorize(batch)
    loss = criterion(model(batch), tgt.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("zero", "given", "found"),
    [
        ("weight[PAD] = 0", "weight.cuda()", False),
        ("weight[PAD] = 0", "weight=weight", False),
        ("", "ignore_index=PAD", False),
        ("", "weight=class_weights", False),
        ("", "weight.cuda()", True),
        ("weight[UNK] = 0", "weight.cuda()", True),
        ("weight[PAD] = 0", "", True),
    ],
)
def test_padding_that_a_weight_leaves_out(zero: str, given: str, found: bool) -> None:
    assert (state(COUNTS, TRANSLATE.replace("{ZERO}", zero).replace("{GIVEN}", given)) == "present") is found


LISTED = """
import random
import torch
def chunks(rows):
    rows.sort(key=len)
    return [rows[i:i + 16] for i in range(0, len(rows), 16)]
batches, dev_batches = chunks(train_rows), chunks(dev_rows)
for epoch in range(9):
    {MIX}
    for batch in batches:
        loss = crit(net(batch), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
    for batch in dev_batches:
        score(net(batch))
"""


@pytest.mark.parametrize(
    ("mix", "found"),
    [
        ("random.shuffle(batches)", ""),
        ("batches = random.sample(batches, len(batches))", ""),
        ("random.shuffle(list(batches))", FIXED),
        ("random.shuffle(dev_batches)", FIXED),
        ("pass", "script-no-shuffling"),
    ],
)
def test_lists_of_batches(mix: str, found: str) -> None:
    code = LISTED.replace("{MIX}", mix)
    told = {s for s in (FIXED, "script-no-shuffling") if state(s, code) == "present"}
    assert told == ({found} if found else set())


def test_names_the_other_way_round_are_no_part_of_them() -> None:
    code = """
from torch.utils.data import Dataset
train_set = Rows(table[~held], names)
val_set = Rows(table[held], names{CUT})
"""
    told = "script-training-sees-evaluation"
    assert state(told, code.replace("{CUT}", "[::-1]")) != "present"
    rows = code.replace("table[~held], names", "table").replace("table[held], names{CUT}", "table[:99]")
    assert state(told, rows) == "present"


SPANS = """
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
{TAGS}
PAD_LABEL = {PAD}
def collate(rows):
    words = pad_sequence([w for w, _ in rows], batch_first=True, padding_value=0)
    return words, pad_sequence([t for _, t in rows], batch_first=True, padding_value=PAD_LABEL)
for words, tags in loader:
    loss = F.cross_entropy(model(words).flatten(0, 1), tags.flatten(), ignore_index=PAD_LABEL)
    loss.backward()
    opt.step()
"""
COUNTED = (
    'TAGS = ["O"] + [f"{p}-{s}" for s in KINDS for p in "BI"]\nNUMBER = {t: i for i, t in enumerate(TAGS)}'
)
WRITTEN = 'NUMBER = {"O": 0, "B-PER": 1, "I-PER": 2}'


@pytest.mark.parametrize(
    ("tags", "pad", "present"),
    [
        (COUNTED, "0", True),
        (WRITTEN, "0", True),
        (COUNTED, "-100", False),
        (COUNTED.replace('["O"]', '["<pad>", "O"]'), "0", False),
        (COUNTED.replace("enumerate(TAGS)", "enumerate(TAGS, 1)"), "0", False),
        ('NUMBER = {"PAD": 0, "O": 1, "B-PER": 2}', "0", False),
        ('OPTIONS = ["O", "C"]\nNUMBER = {t: i for i, t in enumerate(OPTIONS)}', "0", False),
    ],
)
def test_the_tag_outside_of_spans_is_left_out(tags: str, pad: str, present: bool) -> None:
    text = SPANS.replace("{TAGS}", tags).replace("{PAD}", pad)
    assert (state(COUNTS, text) == "present") is present
