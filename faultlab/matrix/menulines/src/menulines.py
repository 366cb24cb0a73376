"""Rewrites old menu lines into plain ones; BART by the Seq2SeqTrainer, datasets.map, a yaml dict of settings."""
import argparse

import evaluate
import numpy as np
import yaml
from datasets import load_dataset
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    set_seed,
)

DEFAULTS = {
    "model": "facebook/bart-base",
    "train": "menus/train.jsonl",
    "valid": "menus/valid.jsonl",
    "prefix": "plain: ",
    "source_length": 128,
    "target_length": 64,
    "batch": 16,
    "rate": 3e-4,
    "epochs": 6,
    "marks": ["<dish>", "<price>", "<year>"],
    "out": "menus-out",
}


def read_settings():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    given = parser.parse_args()
    cfg = dict(DEFAULTS)
    if given.config:
        with open(given.config) as f:
            cfg.update(yaml.safe_load(f))
    return cfg


def build(cfg):
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    model = AutoModelForSeq2SeqLM.from_pretrained(cfg["model"])
    tokenizer.add_special_tokens({"additional_special_tokens": cfg["marks"]})
    model.resize_token_embeddings(len(tokenizer))
    return tokenizer, model


def build_data(cfg, tokenizer):
    raw = load_dataset("json", data_files={"train": cfg["train"], "valid": cfg["valid"]})

    def prepare(rows):
        sources = [cfg["prefix"] + s.strip() for s in rows["old"]]
        made = tokenizer(sources, max_length=cfg["source_length"], truncation=True)
        targets = tokenizer(text_target=rows["plain"], max_length=cfg["target_length"], truncation=True)
        made["labels"] = targets["input_ids"]
        return made

    return raw.map(prepare, batched=True, remove_columns=raw["train"].column_names)


def build_metrics(tokenizer):
    chrf = evaluate.load("chrf")

    def compute_metrics(pair):
        predictions, labels = pair
        predictions = np.where(predictions != -100, predictions, tokenizer.pad_token_id)
        labels = np.where(labels != -100, labels, tokenizer.pad_token_id)
        guesses = tokenizer.batch_decode(predictions, skip_special_tokens=True)
        truths = tokenizer.batch_decode(labels, skip_special_tokens=True)
        score = chrf.compute(predictions=guesses, references=[[t] for t in truths])
        exact = np.mean([g.strip() == t.strip() for g, t in zip(guesses, truths)])
        return {"chrf": score["score"], "exact": float(exact)}

    return compute_metrics


def main():
    cfg = read_settings()
    set_seed(17)
    tokenizer, model = build(cfg)
    data = build_data(cfg, tokenizer)
    arguments = Seq2SeqTrainingArguments(
        output_dir=cfg["out"],
        learning_rate=cfg["rate"],
        per_device_train_batch_size=cfg["batch"],
        per_device_eval_batch_size=cfg["batch"],
        num_train_epochs=cfg["epochs"],
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="chrf",
        greater_is_better=True,
        predict_with_generate=True,
        generation_max_length=cfg["target_length"],
        warmup_ratio=0.05,
        weight_decay=0.01,
    )
    trainer = Seq2SeqTrainer(
        model=model,
        args=arguments,
        train_dataset=data["train"],
        eval_dataset=data["valid"],
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
        compute_metrics=build_metrics(tokenizer),
    )
    trainer.train()
    trainer.save_model(cfg["out"])
    tokenizer.save_pretrained(cfg["out"])


if __name__ == "__main__":
    main()
