#!/usr/bin/env python
"""Fine-tune a BERT-like encoder for named entities with the Trainer.

Data: train.jsonl / dev.jsonl / test.jsonl, one {"tokens": [...], "tags": [...]} per line.
"""
import os
from dataclasses import dataclass, field
from typing import Optional

import numpy as np
import torch
from datasets import load_dataset
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    EarlyStoppingCallback,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

from metrics import entity_scores


@dataclass
class ScriptArguments:
    data_dir: str = field(default="data/ner")
    model_name: str = field(default="bert-base-cased")
    output_dir: str = field(default="out/ner")
    max_length: int = field(default=192)
    learning_rate: float = field(default=3e-5)
    epochs: float = field(default=4)
    batch_size: int = field(default=16)
    accumulation: int = field(default=2)
    outside_weight: float = field(default=0.5, metadata={"help": "loss weight of the tag O"})
    bf16: bool = field(default=False)
    max_train_samples: Optional[int] = field(default=None)
    seed: int = field(default=13)


class TaggingTrainer(Trainer):
    """Trainer whose loss counts the tag O less."""

    def __init__(self, *args, class_weights=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.class_weights = class_weights

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        outputs = model(**{k: v for k, v in inputs.items() if k != "labels"})
        logits = outputs.logits.float()
        criterion = nn.CrossEntropyLoss(
            weight=self.class_weights.to(logits.device), ignore_index=-100, reduction="sum"
        )
        loss = criterion(logits.view(-1, logits.size(-1)), labels.view(-1))
        count = num_items_in_batch if num_items_in_batch is not None else (labels != -100).sum().clamp(min=1)
        loss = loss / count
        return (loss, outputs) if return_outputs else loss


def main():
    (args,) = HfArgumentParser(ScriptArguments).parse_args_into_dataclasses()
    set_seed(args.seed)

    raw = load_dataset(
        "json",
        data_files={s: os.path.join(args.data_dir, f"{s}.jsonl") for s in ("train", "dev", "test")},
    )
    if args.max_train_samples is not None:
        raw["train"] = raw["train"].shuffle(seed=args.seed).select(range(args.max_train_samples))

    label_list = sorted({tag for tags in raw["train"]["tags"] for tag in tags})
    label2id = {name: i for i, name in enumerate(label_list)}
    id2label = {i: name for name, i in label2id.items()}

    tokenizer = AutoTokenizer.from_pretrained(args.model_name)
    config = AutoConfig.from_pretrained(
        args.model_name, num_labels=len(label_list), label2id=label2id, id2label=id2label
    )
    model = AutoModelForTokenClassification.from_pretrained(args.model_name, config=config)

    def tokenize_and_align(examples):
        encoded = tokenizer(
            examples["tokens"],
            is_split_into_words=True,
            truncation=True,
            max_length=args.max_length,
        )
        all_labels = []
        for i, tags in enumerate(examples["tags"]):
            previous, row = None, []
            for word in encoded.word_ids(batch_index=i):
                if word is None:
                    row.append(-100)
                elif word != previous:
                    row.append(label2id[tags[word]])
                else:
                    row.append(-100)
                previous = word
            all_labels.append(row)
        encoded["labels"] = all_labels
        return encoded

    tokenized = raw.map(tokenize_and_align, batched=True, remove_columns=raw["train"].column_names)

    def compute_metrics(p):
        predictions = np.argmax(p.predictions, axis=-1)
        references, hypotheses = [], []
        for pred_row, label_row in zip(predictions, p.label_ids):
            keep = label_row != -100
            references.append([id2label[int(t)] for t in label_row[keep]])
            hypotheses.append([id2label[int(t)] for t in pred_row[keep]])
        return entity_scores(references, hypotheses)

    weights = torch.ones(len(label_list))
    weights[label2id["O"]] = args.outside_weight

    training_args = TrainingArguments(
        output_dir=args.output_dir,
        learning_rate=args.learning_rate,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=args.accumulation,
        weight_decay=0.01,
        warmup_steps=100,
        lr_scheduler_type="linear",
        max_grad_norm=1.0,
        bf16=args.bf16,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="f1",
        greater_is_better=True,
        logging_steps=25,
        report_to="none",
        seed=args.seed,
    )

    trainer = TaggingTrainer(
        model=model,
        args=training_args,
        train_dataset=tokenized["train"],
        eval_dataset=tokenized["dev"],
        processing_class=tokenizer,
        data_collator=DataCollatorForTokenClassification(tokenizer, pad_to_multiple_of=8),
        compute_metrics=compute_metrics,
        class_weights=weights,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
    )

    last = get_last_checkpoint(args.output_dir) if os.path.isdir(args.output_dir) else None
    trainer.train(resume_from_checkpoint=last)
    trainer.save_model()

    test_metrics = trainer.evaluate(tokenized["test"], metric_key_prefix="test")
    trainer.log_metrics("test", test_metrics)
    trainer.save_metrics("test", test_metrics)


if __name__ == "__main__":
    main()
