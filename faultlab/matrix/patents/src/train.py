"""Finds materials, devices and figures in patent claims."""
import json

import numpy as np
from datasets import load_dataset
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)

CHECKPOINT = "distilbert-base-cased"
set_seed(17)

raw = load_dataset("json", data_files={"train": "claims_train.jsonl", "validation": "claims_valid.jsonl"})

names = sorted({tag for row in raw["train"]["tags"] for tag in row})
label2id = {name: i for i, name in enumerate(names)}
id2label = {i: name for name, i in label2id.items()}

tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)


def tokenize(rows):
    encoded = tokenizer(rows["words"], is_split_into_words=True, truncation=True, max_length=256)
    encoded["labels"] = []
    for i, tags in enumerate(rows["tags"]):
        previous, row = None, []
        for word in encoded.word_ids(batch_index=i):
            if word is None:
                row.append(-100)
            elif word != previous:
                row.append(label2id[tags[word]])
            else:
                row.append(-100)
            previous = word
        encoded["labels"].append(row)
    return encoded


ready = raw.map(tokenize, batched=True, remove_columns=raw["train"].column_names)


def spans(tags):
    """Set of (begin, end, kind) of a BIO sequence."""
    found, begin, kind = set(), None, None
    for i, tag in enumerate(list(tags) + ["O"]):
        if begin is not None and (tag == "O" or tag.startswith("B-") or tag[2:] != kind):
            found.add((begin, i, kind))
            begin = None
        if tag != "O" and begin is None:
            begin, kind = i, tag[2:]
    return found


def compute_metrics(output):
    guess = np.argmax(output.predictions, axis=-1)
    hit = told = meant = 0
    for g, l in zip(guess, output.label_ids):
        keep = l != -100
        a = spans([id2label[k] for k in g[keep]])
        b = spans([id2label[k] for k in l[keep]])
        hit, told, meant = hit + len(a & b), told + len(a), meant + len(b)
    precision, recall = hit / max(told, 1), hit / max(meant, 1)
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / max(precision + recall, 1e-9)}


model = AutoModelForTokenClassification.from_pretrained(
    CHECKPOINT, num_labels=len(names), id2label=id2label, label2id=label2id
)

args = TrainingArguments(
    output_dir="patents",
    learning_rate=3e-5,
    per_device_train_batch_size=16,
    per_device_eval_batch_size=32,
    num_train_epochs=4,
    weight_decay=0.01,
    warmup_ratio=0.1,
    eval_strategy="epoch",
    save_strategy="epoch",
    load_best_model_at_end=True,
    metric_for_best_model="f1",
    seed=17,
)

trainer = Trainer(
    model=model,
    args=args,
    train_dataset=ready["train"],
    eval_dataset=ready["validation"],
    data_collator=DataCollatorForTokenClassification(tokenizer),
    processing_class=tokenizer,
    compute_metrics=compute_metrics,
)
trainer.train()
trainer.save_model("patents/final")
json.dump(id2label, open("patents/final/labels.json", "w"))
