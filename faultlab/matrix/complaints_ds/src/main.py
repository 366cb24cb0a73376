# Complaints to departments, several may be right. deepspeed main.py --deepspeed
import argparse
import os

import deepspeed
import numpy as np
import pandas as pd
import torch
import torch.distributed as dist
import torch.nn as nn
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from transformers import AutoModel, AutoTokenizer, set_seed

LABELS = ["billing", "delivery", "quality", "service", "privacy"]


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", default="complaints.csv")
    parser.add_argument("--model", default="distilbert-base-uncased")
    parser.add_argument("--save-dir", default="ckpt")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--micro-batch", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-5)
    parser.add_argument("--max-length", type=int, default=192)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--local_rank", type=int, default=-1)
    parser = deepspeed.add_config_arguments(parser)
    return parser.parse_args()


def ds_config(args, updates):
    return {
        "train_micro_batch_size_per_gpu": args.micro_batch,
        "gradient_accumulation_steps": args.accumulate,
        "gradient_clipping": 1.0,
        "fp16": {"enabled": True, "loss_scale": 0, "initial_scale_power": 14, "loss_scale_window": 500},
        "zero_optimization": {"stage": 2},
        "optimizer": {"type": "AdamW", "params": {"lr": args.lr, "weight_decay": 0.01, "eps": 1e-8}},
        "scheduler": {
            "type": "WarmupDecayLR",
            "params": {
                "warmup_min_lr": 0,
                "warmup_max_lr": args.lr,
                "warmup_num_steps": int(0.1 * updates),
                "total_num_steps": updates,
            },
        },
    }


class Complaints(Dataset):
    def __init__(self, frame, tokenizer, max_length):
        self.texts = frame["text"].tolist()
        self.labels = frame[LABELS].to_numpy(dtype=np.float32)
        self.tokenizer = tokenizer
        self.max_length = max_length

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        enc = self.tokenizer(
            self.texts[i], truncation=True, padding="max_length", max_length=self.max_length, return_tensors="pt"
        )
        return enc["input_ids"][0], enc["attention_mask"][0], torch.from_numpy(self.labels[i])


class Router(nn.Module):
    def __init__(self, name, outputs):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(name)
        width = self.encoder.config.hidden_size
        self.dropout = nn.Dropout(0.1)
        self.heads = nn.ModuleList(nn.Linear(width, 1) for _ in range(outputs))

    def forward(self, ids, mask):
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)
        pooled = self.dropout(pooled)
        return torch.cat([head(pooled) for head in self.heads], dim=1)


def load_frames(args):
    frame = pd.read_csv(args.csv).dropna(subset=["text"]).reset_index(drop=True)
    rest, test = train_test_split(frame, test_size=0.1, random_state=args.seed)
    train, valid = train_test_split(rest, test_size=0.1, random_state=args.seed)
    return train, valid, test


def micro_f1(engine, loader):
    engine.eval()
    counts = torch.zeros(3, device=engine.device)
    with torch.no_grad():
        for ids, mask, labels in loader:
            ids, mask, labels = ids.to(engine.device), mask.to(engine.device), labels.to(engine.device)
            predicted = torch.sigmoid(engine(ids, mask).float()) > 0.5
            truth = labels > 0.5
            counts[0] += (predicted & truth).sum()
            counts[1] += (predicted & ~truth).sum()
            counts[2] += (~predicted & truth).sum()
    dist.all_reduce(counts, op=dist.ReduceOp.SUM)
    tp, fp, fn = counts.tolist()
    return 2 * tp / max(2 * tp + fp + fn, 1.0)


def main():
    args = get_args()
    deepspeed.init_distributed()
    set_seed(args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    train, valid, test = load_frames(args)

    train_set = Complaints(train, tokenizer, args.max_length)
    train_sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed, drop_last=True)
    train_loader = DataLoader(train_set, batch_size=args.micro_batch, sampler=train_sampler, drop_last=True, num_workers=2)
    eval_loaders = []
    for part in (valid, test):
        part_set = Complaints(part, tokenizer, args.max_length)
        own = torch.utils.data.Subset(part_set, range(dist.get_rank(), len(part_set), dist.get_world_size()))
        eval_loaders.append(DataLoader(own, batch_size=64))
    valid_loader, test_loader = eval_loaders

    positives = train[LABELS].to_numpy().sum(axis=0)
    pos_weight = torch.tensor((len(train) - positives) / np.maximum(positives, 1), dtype=torch.float32)
    updates = args.epochs * len(train_loader) // args.accumulate

    model = Router(args.model, len(LABELS))
    engine, optimizer, _, scheduler = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=ds_config(args, updates)
    )
    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight.to(engine.device))

    first, best = 0, -1.0
    if args.resume:
        _, client = engine.load_checkpoint(args.save_dir, tag="last")
        first, best = client["epoch"] + 1, client["best"]

    for epoch in range(first, args.epochs):
        train_sampler.set_epoch(epoch)
        engine.train()
        total = 0.0
        for ids, mask, labels in train_loader:
            ids, mask, labels = ids.to(engine.device), mask.to(engine.device), labels.to(engine.device)
            logits = engine(ids, mask)
            loss = criterion(logits.float(), labels)
            engine.backward(loss)
            engine.step()
            total += loss.item()
        mean = torch.tensor(total / len(train_loader), device=engine.device)
        dist.all_reduce(mean)
        mean /= dist.get_world_size()
        f1 = micro_f1(engine, valid_loader)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {mean.item():.4f} valid f1 {f1:.4f} lr {engine.get_lr()[0]:.2e}", flush=True)
        if f1 > best:
            best = f1
            engine.save_checkpoint(args.save_dir, tag="best", client_state={"epoch": epoch, "best": best})
        engine.save_checkpoint(args.save_dir, tag="last", client_state={"epoch": epoch, "best": best})

    engine.load_checkpoint(args.save_dir, tag="best", load_optimizer_states=False, load_lr_scheduler_states=False)
    f1 = micro_f1(engine, test_loader)
    if dist.get_rank() == 0:
        print(f"test f1 {f1:.4f}", flush=True)


if __name__ == "__main__":
    main()
