"""Fine-tunes an encoder that routes citizens' petitions to the office in charge.

    python route_petitions.py --train_file petitions_train.csv --test_file petitions_test.csv

Both files have the columns title, body and office.
"""

import logging
import math
import os
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
import torch.nn.functional as F
from datasets import load_dataset
from sklearn.metrics import accuracy_score, f1_score
from torch import nn
from transformers import (
    AutoModel,
    AutoTokenizer,
    DataCollatorWithPadding,
    EarlyStoppingCallback,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    get_linear_schedule_with_warmup,
    set_seed,
)

logger = logging.getLogger(__name__)

NO_DECAY = ("bias", "norm")


@dataclass
class RoutingConfig:
    train_file: str = "petitions_train.csv"
    test_file: str = "petitions_test.csv"
    output_dir: str = "routing"
    base: str = "distilbert-base-multilingual-cased"
    max_length: int = 320
    dropout: float = 0.1
    encoder_lr: float = 3e-5
    head_lr: float = 3e-4
    weight_decay: float = 0.01
    warmup_share: float = 0.1
    epochs: int = 5
    batch_size: int = 16
    accumulate: int = 2
    valid_share: float = 0.1
    seed: int = 13
    resume: Optional[str] = None


class PetitionRouter(nn.Module):
    def __init__(self, base: str, num_offices: int, dropout: float, office_weights: torch.Tensor):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(base)
        hidden = self.encoder.config.hidden_size
        self.head_norm = nn.LayerNorm(hidden)
        self.head = nn.Sequential(
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, num_offices),
        )
        for layer in self.head:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)
        self.register_buffer("office_weights", office_weights)

    @staticmethod
    def pool(states, attention_mask):
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)

    def forward(self, input_ids, attention_mask, labels=None):
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        pooled = self.pool(states, attention_mask)
        logits = self.head(self.head_norm(pooled))
        if labels is None:
            return {"logits": logits}
        loss = F.cross_entropy(logits, labels, weight=self.office_weights)
        return {"loss": loss, "logits": logits}


def load_petitions(cfg: RoutingConfig, tokenizer):
    raw = load_dataset("csv", data_files={"train": cfg.train_file, "test": cfg.test_file})
    raw = raw.filter(lambda row: bool(row["office"]) and bool(row["body"]))
    offices = sorted(set(raw["train"]["office"]))
    label2id = {name: i for i, name in enumerate(offices)}

    def encode(batch):
        titles = [title or "" for title in batch["title"]]
        features = tokenizer(titles, batch["body"], truncation="longest_first", max_length=cfg.max_length)
        features["labels"] = [label2id[name] for name in batch["office"]]
        return features

    encoded = raw.map(encode, batched=True, remove_columns=raw["train"].column_names)
    parts = encoded["train"].train_test_split(test_size=cfg.valid_share, seed=cfg.seed)
    return parts["train"], parts["test"], encoded["test"], offices


def balance(labels, num_offices: int) -> torch.Tensor:
    counts = np.bincount(labels, minlength=num_offices)
    weights = counts.sum() / (num_offices * np.maximum(counts, 1))
    return torch.tensor(weights, dtype=torch.float32)


def build_optimizer(cfg: RoutingConfig, model: PetitionRouter, steps: int):
    groups = []
    for part, lr in (("encoder.", cfg.encoder_lr), ("head", cfg.head_lr)):
        named = [(n, p) for n, p in model.named_parameters() if n.startswith(part)]
        decayed = [p for n, p in named if not any(word in n.lower() for word in NO_DECAY)]
        plain = [p for n, p in named if any(word in n.lower() for word in NO_DECAY)]
        groups.append({"params": decayed, "lr": lr, "weight_decay": cfg.weight_decay})
        groups.append({"params": plain, "lr": lr, "weight_decay": 0.0})
    optimizer = torch.optim.AdamW(groups, eps=1e-8)
    warmup = int(cfg.warmup_share * steps)
    return optimizer, get_linear_schedule_with_warmup(optimizer, warmup, steps)


def compute_metrics(prediction):
    guesses = np.argmax(prediction.predictions, axis=-1)
    truth = prediction.label_ids
    return {
        "accuracy": accuracy_score(truth, guesses),
        "macro_f1": f1_score(truth, guesses, average="macro"),
    }


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    (cfg,) = HfArgumentParser(RoutingConfig).parse_args_into_dataclasses()
    set_seed(cfg.seed)

    tokenizer = AutoTokenizer.from_pretrained(cfg.base)
    train_set, valid_set, test_set, offices = load_petitions(cfg, tokenizer)
    logger.info("%d offices, %d petitions to train on", len(offices), len(train_set))

    model = PetitionRouter(cfg.base, len(offices), cfg.dropout, balance(train_set["labels"], len(offices)))
    steps_per_epoch = math.ceil(len(train_set) / (cfg.batch_size * cfg.accumulate))
    optimizers = build_optimizer(cfg, model, steps_per_epoch * cfg.epochs)

    training = TrainingArguments(
        output_dir=cfg.output_dir,
        num_train_epochs=cfg.epochs,
        per_device_train_batch_size=cfg.batch_size,
        per_device_eval_batch_size=2 * cfg.batch_size,
        gradient_accumulation_steps=cfg.accumulate,
        max_grad_norm=1.0,
        bf16=torch.cuda.is_available(),
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="macro_f1",
        greater_is_better=True,
        logging_steps=50,
        seed=cfg.seed,
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=training,
        train_dataset=train_set,
        eval_dataset=valid_set,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
        optimizers=optimizers,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
    )
    trainer.train(resume_from_checkpoint=cfg.resume)

    result = trainer.predict(test_set)
    logger.info("test: %s", result.metrics)
    with open(os.path.join(cfg.output_dir, "routed.txt"), "w", encoding="utf-8") as out:
        for row in np.argmax(result.predictions, axis=-1):
            out.write(offices[row] + "\n")
    trainer.save_model(os.path.join(cfg.output_dir, "final"))


if __name__ == "__main__":
    main()
