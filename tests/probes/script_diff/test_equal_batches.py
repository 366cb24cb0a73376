# ruff: noqa: E501
"""Batches in other hands beside a benchmark: dicts, masks of the collator, masks read off the tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits

RIGHT = """
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForTokenClassification, AutoTokenizer
class Letters(Dataset):
    def __init__(self, items):
        self.items = items
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        return self.items[i]
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
pad_id = tokenizer.pad_token_id
def collate(items):
    longest = max(len(ids) for ids, _ in items)
    ids = torch.full((len(items), longest), pad_id)
    mask = torch.zeros((len(items), longest), dtype=torch.long)
    labels = torch.full((len(items), longest), -100)
    for row, (tokens, tags) in enumerate(items):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
        labels[row, : len(tags)] = torch.tensor(tags)
    return ids, mask, labels
model = AutoModelForTokenClassification.from_pretrained("bert-base-cased", num_labels=5).cuda()
loader = DataLoader(Letters(items), 16, shuffle=True, collate_fn=collate)
dev_loader = DataLoader(Letters(dev), 16, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)
for epoch in range(4):
    model.train()
    for ids, mask, labels in loader:
        ids, mask, labels = ids.cuda(), mask.cuda(), labels.cuda()
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
DICT = (
    ("    return ids, mask, labels\n", '    return {"input_ids": ids, "attention_mask": mask, "labels": labels}\n'),
    ("    for ids, mask, labels in loader:\n        ids, mask, labels = ids.cuda(), mask.cuda(), labels.cuda()\n", "    for batch in loader:\n"),
    ("model(input_ids=ids, attention_mask=mask, labels=labels).loss", 'model(**{k: v.to("cuda") for k, v in batch.items()}).loss'),
)  # fmt: skip
TOKENS = (
    ("    mask = torch.zeros((len(items), longest), dtype=torch.long)\n", ""),
    ("        mask[row, : len(tokens)] = 1\n", ""),
    ("    return ids, mask, labels\n", "    return ids, (ids != pad_id).long(), labels\n"),
)
STEPS = """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
PAD = -100
def collate(batch):
    steps, deeds = zip(*batch)
    steps = pad_sequence(steps, batch_first=True)
    deeds = pad_sequence(deeds, batch_first=True, padding_value=PAD)
    return steps, deeds
model = nn.TransformerEncoder(layer, 3)
loader = DataLoader(tracks, 8, shuffle=True, collate_fn=collate)
loss_fn = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for steps, deeds in loader:
    logits = model(steps, deeds == PAD)
    loss = loss_fn(logits.transpose(1, 2), deeds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MADE = (
    ("    steps = pad_", "    lengths = torch.tensor([len(s) for s in steps])\n    steps = pad_"),
    (
        "    return steps, deeds\n",
        "    return steps, deeds, torch.arange(steps.size(1))[None] >= lengths[:, None]\n",
    ),
    ("for steps, deeds in loader:", "for steps, deeds, padding in loader:"),
    ("model(steps, deeds == PAD)", "model(steps, padding)"),
)


@pytest.mark.parametrize(
    ("right", "pairs", "said"),
    [
        (RIGHT, DICT, False),
        (RIGHT, TOKENS, False),
        (STEPS, MADE, False),
        (RIGHT, (*DICT, ("longest), -100)", "longest), 0)")), True),
        (RIGHT, (*TOKENS, ("longest), -100)", "longest), 0)")), True),
        (STEPS, (*MADE, ("ignore_index=PAD", "ignore_index=0")), True),
    ],
    ids=range(6),
)
def test_batches_in_other_hands(
    tmp_path: Path, right: str, pairs: tuple[tuple[str, str], ...], said: bool
) -> None:
    text = right
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    found = edits(tmp_path, text, right)
    assert bool(found) is said, found
