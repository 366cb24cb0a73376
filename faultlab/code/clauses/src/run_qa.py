"""Fine-tune a reader that finds the answer to a lawyer's question in a contract clause.

    python run_qa.py --train_file train.jsonl --model_name legal-bert --output_dir out
"""
from dataclasses import dataclass, field
import random

import torch
from datasets import load_dataset
from transformers import AutoModel, AutoTokenizer, HfArgumentParser, Trainer, TrainingArguments, set_seed

from features import best_spans, prepare, score
from reader import SpanReader


@dataclass
class RunArguments:
    train_file: str = field(default="train.jsonl")
    model_name: str = field(default="legal-bert")
    output_dir: str = field(default="out")
    max_length: int = field(default=384)
    stride: int = field(default=128)
    val_share: float = field(default=0.1, metadata={"help": "share of the contracts held out"})
    epochs: int = field(default=3)
    batch_size: int = field(default=16)
    accum: int = field(default=2)
    lr: float = field(default=3e-5)
    head_lr: float = field(default=3e-4)
    weight_decay: float = field(default=0.01)
    warmup: float = field(default=0.1)
    seed: int = field(default=42)
    bf16: bool = field(default=False)


@dataclass
class WindowCollator:
    tokenizer: object

    def __call__(self, features):
        masks = [f["context_mask"] for f in features]
        keys = ("input_ids", "attention_mask", "token_type_ids")
        batch = self.tokenizer.pad([{k: f[k] for k in keys} for f in features], return_tensors="pt")
        width = batch["input_ids"].shape[1]
        batch["context_mask"] = torch.tensor([m + [0] * (width - len(m)) for m in masks])
        for k in ("start_positions", "end_positions", "answerable"):
            batch[k] = torch.tensor([f[k] for f in features])
        return batch


def split_contracts(dataset, share, seed):
    """Questions on one contract stay on one side."""
    contracts = sorted(set(dataset["contract"]))
    random.Random(seed).shuffle(contracts)
    held_out = set(contracts[: max(1, int(len(contracts) * share))])
    train = dataset.filter(lambda x: x["contract"] not in held_out)
    val = dataset.filter(lambda x: x["contract"] in held_out)
    return train, val


class ReaderTrainer(Trainer):
    def __init__(self, *args, head_lr, **kwargs):
        super().__init__(*args, **kwargs)
        self.head_lr = head_lr

    def create_optimizer(self, *args, **kwargs):
        if self.optimizer is None:
            skip = ("bias", "LayerNorm.weight", "mix", "gamma", "span_head.2.weight")
            groups = {}
            for name, p in self.model.named_parameters():
                if not p.requires_grad:
                    continue
                decay = 0.0 if name.endswith(skip) else self.args.weight_decay
                lr = self.args.learning_rate if name.startswith("encoder.") else self.head_lr
                groups.setdefault((decay, lr), []).append(p)
            self.optimizer = torch.optim.AdamW(
                [{"params": ps, "weight_decay": decay, "lr": lr} for (decay, lr), ps in groups.items()],
                lr=self.args.learning_rate,
            )
        return self.optimizer


def main():
    (args,) = HfArgumentParser(RunArguments).parse_args_into_dataclasses()
    set_seed(args.seed)

    raw = load_dataset("json", data_files=args.train_file, split="train")
    train_raw, val_raw = split_contracts(raw, args.val_share, args.seed)

    tokenizer = AutoTokenizer.from_pretrained(args.model_name)
    encoder = AutoModel.from_pretrained(args.model_name)
    model = SpanReader(encoder)

    common = dict(tokenizer=tokenizer, max_length=args.max_length, stride=args.stride)
    train_set = train_raw.map(
        prepare, batched=True, remove_columns=train_raw.column_names, fn_kwargs={**common, "keep_offsets": False}
    )
    val_set = val_raw.map(
        prepare, batched=True, remove_columns=val_raw.column_names, fn_kwargs={**common, "keep_offsets": True}
    )
    print(f"{len(train_raw)} questions -> {len(train_set)} windows; held out {len(val_raw)} -> {len(val_set)}")

    def compute_metrics(p):
        start_logits, end_logits, answer_logits = p.predictions
        answers = best_spans(val_raw, val_set, start_logits, end_logits, answer_logits)
        return score(answers, val_raw)

    updates = len(train_set) // (args.batch_size * args.accum) * args.epochs
    train_args = TrainingArguments(
        output_dir=args.output_dir,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=args.batch_size * 2,
        gradient_accumulation_steps=args.accum,
        learning_rate=args.lr,
        weight_decay=args.weight_decay,
        lr_scheduler_type="linear",
        warmup_steps=int(args.warmup * updates),
        max_grad_norm=1.0,
        bf16=args.bf16,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="f1",
        greater_is_better=True,
        logging_steps=50,
        remove_unused_columns=False,
        label_names=["start_positions", "end_positions", "answerable"],
        report_to="none",
        seed=args.seed,
    )
    trainer = ReaderTrainer(
        model=model,
        args=train_args,
        train_dataset=train_set,
        eval_dataset=val_set,
        data_collator=WindowCollator(tokenizer),
        compute_metrics=compute_metrics,
        head_lr=args.head_lr,
    )
    trainer.train()
    metrics = trainer.evaluate()
    trainer.save_metrics("eval", metrics)
    torch.save(trainer.model.state_dict(), f"{args.output_dir}/reader.pt")
    tokenizer.save_pretrained(args.output_dir)
    print(metrics)


if __name__ == "__main__":
    main()
