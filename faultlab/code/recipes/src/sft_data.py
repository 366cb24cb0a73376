import hashlib
import json
import random

import torch
from torch.utils.data import Dataset

IGNORE = -100
USER, ASSISTANT, END = "<|user|>", "<|assistant|>", "<|end|>"
CHAT_TOKENS = [USER, ASSISTANT, END]


def read_jsonl(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def is_val(row, share=0.02):
    """By the dish, so that two wordings of one recipe never part."""
    h = int(hashlib.md5(row["dish"].lower().encode()).hexdigest(), 16)
    return h % 10_000 < share * 10_000


def encode(row, tokenizer, max_len):
    prompt = f"{USER}{row['instruction'].strip()}\n{row.get('input', '').strip()}{ASSISTANT}"
    answer = row["output"].strip() + END
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    answer_ids = tokenizer(answer, add_special_tokens=False)["input_ids"]
    if tokenizer.bos_token_id is not None:
        prompt_ids = [tokenizer.bos_token_id] + prompt_ids
    if len(prompt_ids) + len(answer_ids) > max_len:
        return None
    ids = prompt_ids + answer_ids
    labels = [IGNORE] * len(prompt_ids) + answer_ids
    return ids, labels


class PackedDataset(Dataset):
    """First-fit packing of whole conversations into rows of seq_len tokens."""

    def __init__(self, rows, tokenizer, seq_len, seed=0):
        self.pad_id = tokenizer.pad_token_id
        self.seq_len = seq_len
        items = [e for e in (encode(r, tokenizer, seq_len) for r in rows) if e is not None]
        self.dropped = len(rows) - len(items)
        random.Random(seed).shuffle(items)
        self.packs = []
        open_packs = []
        for ids, labels in items:
            for pack in open_packs:
                if pack["used"] + len(ids) <= seq_len:
                    break
            else:
                pack = {"docs": [], "used": 0}
                open_packs.append(pack)
                if len(open_packs) > 64:
                    self.packs.append(open_packs.pop(0))
            pack["docs"].append((ids, labels))
            pack["used"] += len(ids)
        self.packs += open_packs

    def __len__(self):
        return len(self.packs)

    def __getitem__(self, i):
        ids, labels, doc, pos = [], [], [], []
        for d, (x, y) in enumerate(self.packs[i]["docs"]):
            ids += x
            # the first token of a conversation is not predicted from the end of the one before
            labels += [IGNORE] + y[1:]
            doc += [d] * len(x)
            pos += list(range(len(x)))
        room = self.seq_len - len(ids)
        ids += [self.pad_id] * room
        labels += [IGNORE] * room
        doc += [-1] * room
        pos += list(range(room))
        return {
            "input_ids": torch.tensor(ids),
            "labels": torch.tensor(labels),
            "doc": torch.tensor(doc),
            "position_ids": torch.tensor(pos),
        }


def collate(samples):
    batch = {k: torch.stack([s[k] for s in samples]) for k in samples[0]}
    doc = batch.pop("doc")
    n = doc.shape[1]
    same = doc[:, :, None] == doc[:, None, :]
    causal = torch.tril(torch.ones(n, n, dtype=torch.bool))
    batch["attention_mask"] = (same & causal)[:, None]
    return batch
