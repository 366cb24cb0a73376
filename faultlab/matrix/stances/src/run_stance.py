import argparse

import numpy as np
from datasets import DatasetDict, load_dataset
from sklearn.metrics import f1_score
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding,
                          EarlyStoppingCallback, Trainer, TrainingArguments, set_seed)

LABELS = ["against", "neither", "for"]


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="distilbert-base-uncased")
    parser.add_argument("--data", default="letters.jsonl")
    parser.add_argument("--out", default="out")
    parser.add_argument("--max_length", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def swap_words(text, rng):
    words = text.split()
    if len(words) > 3:
        i = int(rng.integers(len(words) - 1))
        words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words)


def load_splits(path, seed):
    letters = load_dataset("json", data_files=path, split="train")
    seen = set()
    letters = letters.filter(lambda r: not (r["text"] in seen or seen.add(r["text"])))
    authors = sorted(set(letters["author"]))
    rng = np.random.default_rng(seed)
    rng.shuffle(authors)
    cut = len(authors) // 10
    dev, test = set(authors[:cut]), set(authors[cut:2 * cut])
    return DatasetDict({
        "train": letters.filter(lambda r: r["author"] not in dev and r["author"] not in test),
        "dev": letters.filter(lambda r: r["author"] in dev),
        "test": letters.filter(lambda r: r["author"] in test),
    })


def augment(batch, rng):
    out = {key: [] for key in batch}
    for i, text in enumerate(batch["text"]):
        for variant in (text, swap_words(text, rng)):
            for key in batch:
                out[key].append(variant if key == "text" else batch[key][i])
    return out


def compute_metrics(pred):
    logits, labels = pred
    guess = logits.argmax(-1)
    return {"accuracy": float((guess == labels).mean()), "f1": f1_score(labels, guess, average="macro")}


def main():
    args = get_args()
    set_seed(args.seed)
    splits = load_splits(args.data, args.seed)
    rng = np.random.default_rng(args.seed)
    splits["train"] = splits["train"].map(lambda b: augment(b, rng), batched=True)
    tokenizer = AutoTokenizer.from_pretrained(args.model)

    def encode(batch):
        enc = tokenizer(batch["proposal"], batch["text"], truncation="only_second", max_length=args.max_length)
        enc["labels"] = [LABELS.index(s) for s in batch["stance"]]
        return enc

    columns = splits["train"].column_names
    splits = splits.map(encode, batched=True, remove_columns=columns)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=len(LABELS))
    training = TrainingArguments(
        output_dir=args.out, num_train_epochs=args.epochs, learning_rate=3e-5, warmup_ratio=0.06, weight_decay=0.01,
        per_device_train_batch_size=16, per_device_eval_batch_size=64, eval_strategy="epoch", save_strategy="epoch",
        load_best_model_at_end=True, metric_for_best_model="f1", greater_is_better=True, seed=args.seed)
    trainer = Trainer(
        model=model, args=training, train_dataset=splits["train"], eval_dataset=splits["dev"],
        data_collator=DataCollatorWithPadding(tokenizer), compute_metrics=compute_metrics,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)])
    trainer.train()
    print(trainer.evaluate(splits["test"], metric_key_prefix="test"))
    trainer.save_model(args.out)


if __name__ == "__main__":
    main()
