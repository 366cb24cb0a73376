"""Botanists' field notes (free text) and the herbarium records made of them, as sequences for a causal LM."""
import json
import random

import torch
from torch.utils.data import Dataset

NOTE, RECORD = "<|note|>", "<|record|>"


def read_notes(path, seed):
    """jsonl with botanist, note, record -> train, dev, test; nobody writes in two of them"""
    with open(path, encoding="utf-8") as fh:
        rows = [json.loads(line) for line in fh if line.strip()]
    writers = sorted({r["botanist"] for r in rows})
    random.Random(seed).shuffle(writers)
    k = max(1, len(writers) // 10)
    dev, test = set(writers[:k]), set(writers[k : 2 * k])
    return (
        [r for r in rows if r["botanist"] not in dev | test],
        [r for r in rows if r["botanist"] in dev],
        [r for r in rows if r["botanist"] in test],
    )


class FieldNotes(Dataset):
    def __init__(self, rows, tokenizer, max_len):
        self.items = []
        for r in rows:
            record = tokenizer(r["record"].strip())["input_ids"] + [tokenizer.eos_token_id]
            note = tokenizer(r["note"].strip())["input_ids"]
            note = note[: max_len - len(record) - 2]
            prompt = [tokenizer.convert_tokens_to_ids(NOTE), *note, tokenizer.convert_tokens_to_ids(RECORD)]
            self.items.append({"input_ids": prompt + record, "prompt_len": len(prompt)})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class RecordCollator:
    """Pads to the longest of the batch; only the record (with its end mark) is a target."""

    def __init__(self, tokenizer):
        self.pad = tokenizer.pad_token_id

    def __call__(self, items):
        longest = max(len(it["input_ids"]) for it in items)
        ids = torch.full((len(items), longest), self.pad)
        attention = torch.zeros_like(ids)
        labels = torch.full_like(ids, -100)
        for row, it in enumerate(items):
            end, start = len(it["input_ids"]), it["prompt_len"]
            ids[row, :end] = torch.tensor(it["input_ids"])
            attention[row, :end] = 1
            labels[row, start:end] = ids[row, start:end]
        return {"input_ids": ids, "attention_mask": attention, "labels": labels}
