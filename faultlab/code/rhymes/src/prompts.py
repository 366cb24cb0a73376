"""prompt/answer pairs (jsonl) -> token ids; only the answer counts in the loss."""
import json

import torch
from torch.utils.data import Dataset

TEMPLATE = "### Request:\n{prompt}\n\n### Answer:\n"


class Pairs(Dataset):
    def __init__(self, path, tok, max_len):
        self.items = []
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                head = tok(TEMPLATE.format(prompt=row["prompt"]), add_special_tokens=False)["input_ids"]
                tail = tok(row["answer"], add_special_tokens=False)["input_ids"] + [tok.eos_token_id]
                head = [tok.bos_token_id] + head
                ids = (head + tail)[:max_len]
                labels = ([-100] * len(head) + tail)[:max_len]
                if any(t != -100 for t in labels):
                    self.items.append((ids, labels))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class PadTo:
    def __init__(self, pad_id):
        self.pad_id = pad_id

    def __call__(self, items):
        width = max(len(ids) for ids, _ in items)
        out = {"input_ids": [], "attention_mask": [], "labels": []}
        for ids, labels in items:
            gap = width - len(ids)
            out["input_ids"].append(ids + [self.pad_id] * gap)
            out["attention_mask"].append([1] * len(ids) + [0] * gap)
            out["labels"].append(labels + [-100] * gap)
        return {k: torch.tensor(v) for k, v in out.items()}
