# Continue GPT-2 on our cook book (plain text files), blocks of 512 tokens
import argparse
import math
import os
import random

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    get_cosine_schedule_with_warmup,
)


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class Instructions(Dataset):
    """Dishes: 'name of the dish' is the prompt, the text of the recipe is what is to be learned."""

    def __init__(self, folder, names, tokenizer, block):
        self.rows = []
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                title, _, text = f.read().partition("\n")
            prompt = tokenizer(f"Dish: {title}\nRecipe:")["input_ids"]
            answer = tokenizer(" " + text.strip())["input_ids"] + [tokenizer.eos_token_id]
            ids = (prompt + answer)[:block]
            labels = ([-100] * len(prompt) + answer)[:block]
            if len(ids) > len(prompt):
                self.rows.append((ids, labels))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids, labels = self.rows[i]
        return {"input_ids": ids, "labels": labels}


class PadCollator:
    def __init__(self, pad_id):
        self.pad_id = pad_id

    def __call__(self, rows):
        longest = max(len(r["input_ids"]) for r in rows)
        input_ids, masks, labels = [], [], []
        for r in rows:
            gap = longest - len(r["input_ids"])
            input_ids.append(r["input_ids"] + [self.pad_id] * gap)
            masks.append([1] * len(r["input_ids"]) + [0] * gap)
            labels.append(r["labels"] + [-100] * gap)
        return {
            "input_ids": torch.tensor(input_ids),
            "attention_mask": torch.tensor(masks),
            "labels": torch.tensor(labels),
        }


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("folder")
    ap.add_argument("--model", default="gpt2")
    ap.add_argument("--out", default="cookbook-gpt2")
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--accumulate", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-5)
    ap.add_argument("--block", type=int, default=512)
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--resume", action="store_true")
    args = ap.parse_args()

    seed_all(args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
    model = AutoModelForCausalLM.from_pretrained(args.model)
    model.resize_token_embeddings(len(tokenizer))
    model.config.pad_token_id = tokenizer.pad_token_id

    names = sorted(n for n in os.listdir(args.folder) if n.endswith(".txt"))
    random.shuffle(names)
    held = max(1, len(names) // 20)
    eval_set = Instructions(args.folder, names[:held], tokenizer, args.block)
    train_set = Instructions(args.folder, names[held:], tokenizer, args.block)
    print(len(train_set), "dishes to learn,", len(eval_set), "held out")

    steps_per_epoch = math.ceil(len(train_set) / (args.batch * args.accumulate))
    total_steps = steps_per_epoch * args.epochs
    no_decay = ("bias", "ln_1.weight", "ln_2.weight", "ln_f.weight")
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in named if not n.endswith(no_decay)], "weight_decay": 0.01},
            {"params": [p for n, p in named if n.endswith(no_decay)], "weight_decay": 0.0},
        ],
        lr=args.lr,
    )
    scheduler = get_cosine_schedule_with_warmup(
        optimizer, num_warmup_steps=int(0.05 * total_steps), num_training_steps=total_steps
    )

    training_args = TrainingArguments(
        output_dir=args.out,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch,
        per_device_eval_batch_size=args.batch,
        gradient_accumulation_steps=args.accumulate,
        max_grad_norm=1.0,
        bf16=True,
        eval_strategy="steps",
        eval_steps=200,
        save_strategy="steps",
        save_steps=200,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        seed=args.seed,
        data_seed=args.seed,
        dataloader_num_workers=2,
        logging_steps=20,
    )
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=train_set,
        eval_dataset=eval_set,
        data_collator=PadCollator(tokenizer.pad_token_id),
        optimizers=(optimizer, scheduler),
    )
    trainer.train(resume_from_checkpoint=args.resume or None)
    metrics = trainer.evaluate()
    metrics["perplexity"] = math.exp(metrics["eval_loss"])
    trainer.save_model()
    tokenizer.save_pretrained(args.out)
    trainer.log_metrics("eval", metrics)


if __name__ == "__main__":
    main()
