"""Fine-tune an encoder on help-desk requests (five queues)."""

import numpy as np
from datasets import load_dataset
from sklearn.metrics import accuracy_score, f1_score
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    EarlyStoppingCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)

CONFIG = {
    "model": "distilbert-base-uncased",
    "files": "requests/*.jsonl",
    "queues": ["access", "hardware", "network", "printer", "software"],
    "max_length": 192,
    "batch": 16,
    "lr": 3e-5,
    "epochs": 4,
    "seed": 23,
    "out": "runs/helpdesk",
}


def prepare(config, tokenizer):
    """Read the requests, split them and turn them into token ids."""
    label2id = {name: i for i, name in enumerate(config["queues"])}
    raw = load_dataset("json", data_files=config["files"], split="train")
    raw = raw.filter(lambda r: r["text"] is not None and r["queue"] in label2id)
    parts = raw.train_test_split(test_size=0.2, seed=config["seed"])
    held = parts["test"].train_test_split(test_size=0.5, seed=config["seed"])

    def encode(rows):
        enc = tokenizer(rows["text"], truncation=True, max_length=config["max_length"])
        enc["labels"] = [label2id[q] for q in rows["queue"]]
        return enc

    drop = raw.column_names
    train = parts["train"].map(encode, batched=True, remove_columns=drop)
    val = held["train"].map(encode, batched=True, remove_columns=drop)
    test = held["test"].map(encode, batched=True, remove_columns=drop)
    return train, val, test


def compute_metrics(pred):
    logits, labels = pred
    guesses = np.argmax(logits, axis=-1)
    return {
        "accuracy": accuracy_score(labels, guesses),
        "f1": f1_score(labels, guesses, average="macro"),
    }


def build(config):
    names = config["queues"]
    return AutoModelForSequenceClassification.from_pretrained(
        config["model"],
        num_labels=len(names),
        id2label=dict(enumerate(names)),
        label2id={n: i for i, n in enumerate(names)},
    )


def main(config):
    set_seed(config["seed"])
    tokenizer = AutoTokenizer.from_pretrained(config["model"])
    train, val, test = prepare(config, tokenizer)
    model = build(config)
    arguments = TrainingArguments(
        output_dir=config["out"],
        learning_rate=config["lr"],
        per_device_train_batch_size=config["batch"],
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=2,
        num_train_epochs=config["epochs"],
        weight_decay=0.01,
        lr_scheduler_type="linear",
        warmup_ratio=0.06,
        max_grad_norm=1.0,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="f1",
        greater_is_better=True,
        save_total_limit=2,
        fp16=True,
        seed=config["seed"],
        logging_steps=50,
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=train,
        eval_dataset=val,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
    )
    trainer.train()
    result = trainer.evaluate(test, metric_key_prefix="test")
    print(result)
    trainer.save_model(config["out"] + "/final")


if __name__ == "__main__":
    main(CONFIG)
