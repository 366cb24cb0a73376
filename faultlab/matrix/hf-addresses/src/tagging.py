"""Labels, alignment and the trainer for finding the parts of postal addresses in running text."""

import numpy as np
import torch
from torch import nn
from transformers import Trainer

TAGS = ["O", "B-STREET", "I-STREET", "B-NUMBER", "B-TOWN", "I-TOWN", "B-CODE"]
TAG2ID = {t: i for i, t in enumerate(TAGS)}


def read(path):
    """Sentences of (words, tags) from a file with a word and its tag per line."""
    words, tags, rows = [], [], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if not line:
                if words:
                    rows.append({"words": words, "tags": tags})
                words, tags = [], []
                continue
            word, tag = line.split("\t")
            words.append(word)
            tags.append(TAG2ID[tag])
    if words:
        rows.append({"words": words, "tags": tags})
    return rows


def encode(rows, tokenizer, max_length):
    out = []
    for row in rows:
        enc = tokenizer(row["words"], is_split_into_words=True, truncation=True, max_length=max_length)
        labels, before = [], None
        for word in enc.word_ids():
            if word is None or word == before:
                labels.append(-100)
            else:
                labels.append(row["tags"][word])
            before = word
        enc["labels"] = labels
        out.append(dict(enc))
    return out


def weights(rows, smooth=10.0):
    """Inverse frequencies of the tags, their mean is 1."""
    counts = np.bincount([t for r in rows for t in r["tags"]], minlength=len(TAGS)) + smooth
    w = counts.sum() / counts
    return torch.tensor(w / w.mean(), dtype=torch.float32)


def spans(tags):
    """The (kind, start, end) of a tag sequence."""
    found, start, kind = set(), None, None
    for i, tag in enumerate([*tags, "O"]):
        if start is not None and not (tag.startswith("I-") and tag[2:] == kind):
            found.add((kind, start, i))
            start = None
        if tag.startswith("B-"):
            start, kind = i, tag[2:]
    return found


def compute_metrics(pred):
    logits, labels = pred.predictions, pred.label_ids
    guesses = logits.argmax(-1)
    right = guessed = true = 0
    for guess, label in zip(guesses, labels):
        keep = label != -100
        a = spans([TAGS[i] for i in guess[keep]])
        b = spans([TAGS[i] for i in label[keep]])
        right += len(a & b)
        guessed += len(a)
        true += len(b)
    precision = right / max(1, guessed)
    recall = right / max(1, true)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1}


class WeightedTrainer(Trainer):
    """Cross entropy with a weight for each tag; a higher rate for the head."""

    def __init__(self, *args, tag_weights=None, head_lr=1e-3, **kwargs):
        super().__init__(*args, **kwargs)
        self.tag_weights = tag_weights
        self.head_lr = head_lr

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits
        criterion = nn.CrossEntropyLoss(weight=self.tag_weights.to(logits.device), ignore_index=-100)
        loss = criterion(logits.view(-1, logits.size(-1)), labels.view(-1))
        return (loss, outputs) if return_outputs else loss

    def create_optimizer(self):
        if self.optimizer is None:
            head = [p for n, p in self.model.named_parameters() if n.startswith("classifier")]
            body = [p for n, p in self.model.named_parameters() if not n.startswith("classifier")]
            self.optimizer = torch.optim.AdamW(
                [{"params": body, "lr": self.args.learning_rate}, {"params": head, "lr": self.head_lr}],
                weight_decay=self.args.weight_decay,
            )
        return self.optimizer
