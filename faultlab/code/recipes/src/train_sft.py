"""Instruction tuning of a small causal LM on recipes; launch with run.sh."""
import argparse
import json
import math
import os
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator, DeepSpeedPlugin
from accelerate.utils import GradientAccumulationPlugin, set_seed
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

from lora import inject_lora, lora_groups, trainable_state
from sft_data import CHAT_TOKENS, IGNORE, PackedDataset, collate, is_val, read_jsonl

TARGETS = {"q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "gate_proj", "down_proj"}


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True)
    p.add_argument("--data", required=True)
    p.add_argument("--out", default="out")
    p.add_argument("--ds_config", default=None)
    p.add_argument("--seq_len", type=int, default=2048)
    p.add_argument("--micro_batch", type=int, default=2)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--embed_lr", type=float, default=2e-5)
    p.add_argument("--wd", type=float, default=0.0)
    p.add_argument("--warmup", type=float, default=0.03)
    p.add_argument("--rank", type=int, default=16)
    p.add_argument("--eval_every", type=int, default=100)
    p.add_argument("--seed", type=int, default=1234)
    p.add_argument("--resume", default=None)
    return p.parse_args()


def token_nll(logits, labels):
    """Sum of the negative log likelihood over the answer tokens."""
    logits = logits[:, :-1].float()
    labels = labels[:, 1:]
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), labels.reshape(-1), ignore_index=IGNORE, reduction="sum")


def n_targets(batch):
    return (batch["labels"][:, 1:] != IGNORE).sum()


def in_groups(loader, k):
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) == k:
            yield group
            group = []


def forward(model, batch):
    return model(
        input_ids=batch["input_ids"],
        attention_mask=batch["attention_mask"],
        position_ids=batch["position_ids"],
        use_cache=False,
    ).logits


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    nll = torch.zeros((), device=accelerator.device)
    count = torch.zeros((), device=accelerator.device)
    for batch in loader:
        nll += token_nll(forward(model, batch), batch["labels"])
        count += n_targets(batch)
    model.train()
    nll, count = accelerator.reduce(nll, "sum"), accelerator.reduce(count, "sum")
    return (nll / count).item()


def build_model(args, tokenizer):
    model = AutoModelForCausalLM.from_pretrained(args.model, attn_implementation="sdpa")
    model.resize_token_embeddings(len(tokenizer))
    n = inject_lora(model, TARGETS, r=args.rank, alpha=2 * args.rank)
    return model, n


def main():
    args = get_args()
    plugin = DeepSpeedPlugin(hf_ds_config=args.ds_config) if args.ds_config else None
    accelerator = Accelerator(
        deepspeed_plugin=plugin,
        gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=args.accum, sync_with_dataloader=False),
    )
    set_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)

    tokenizer = AutoTokenizer.from_pretrained(args.model)
    tokenizer.add_special_tokens({"additional_special_tokens": CHAT_TOKENS})
    if tokenizer.pad_token_id is None:
        tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
    model, n_adapters = build_model(args, tokenizer)

    rows = read_jsonl(args.data)
    train_set = PackedDataset([r for r in rows if not is_val(r)], tokenizer, args.seq_len, args.seed)
    val_set = PackedDataset([r for r in rows if is_val(r)], tokenizer, args.seq_len, args.seed)
    train_loader = DataLoader(train_set, args.micro_batch, shuffle=True, drop_last=True, collate_fn=collate)
    val_loader = DataLoader(val_set, args.micro_batch, collate_fn=collate)
    accelerator.print(f"{n_adapters} adapters, {len(train_set)} packs, dropped {train_set.dropped} long rows")

    steps_per_epoch = len(train_loader) // (accelerator.num_processes * args.accum)
    total = steps_per_epoch * args.epochs
    optimizer = torch.optim.AdamW(lora_groups(model, args.lr, args.embed_lr, args.wd), betas=(0.9, 0.95))
    # a prepared scheduler is stepped once per process
    scheduler = get_cosine_schedule_with_warmup(
        optimizer, int(args.warmup * total) * accelerator.num_processes, total * accelerator.num_processes
    )
    model, optimizer, train_loader, val_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, val_loader, scheduler
    )
    trainable = [p for p in model.parameters() if p.requires_grad]

    step, first_epoch = 0, 0
    if args.resume:
        accelerator.load_state(args.resume)
        with open(os.path.join(args.resume, "progress.json")) as f:
            step = json.load(f)["step"]
        first_epoch = step // steps_per_epoch

    model.train()
    best, t0 = math.inf, time.time()
    for epoch in range(first_epoch, args.epochs):
        train_loader.set_epoch(epoch)
        done = step - epoch * steps_per_epoch
        loader = accelerator.skip_first_batches(train_loader, done * args.accum) if done > 0 else train_loader
        for group in in_groups(loader, args.accum):
            total_targets = accelerator.reduce(sum(n_targets(b) for b in group), "sum").clamp(min=1)
            group_nll = 0.0
            for batch in group:
                with accelerator.accumulate(model):
                    nll = token_nll(forward(model, batch), batch["labels"])
                    # backward() divides by accum, the gradient all-reduce by the number of processes
                    accelerator.backward(nll * args.accum * accelerator.num_processes / total_targets)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(trainable, 1.0)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
                group_nll = group_nll + nll.detach()
            step += 1
            if step % 10 == 0:
                loss = accelerator.reduce(group_nll, "sum") / total_targets
                accelerator.print(f"step {step}/{total} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e} "
                                  f"{time.time() - t0:.0f}s", flush=True)
            if step % args.eval_every == 0 or step == total:
                val = evaluate(accelerator, model, val_loader)
                accelerator.print(f"step {step} val_loss {val:.4f} ppl {math.exp(val):.2f}", flush=True)
                folder = os.path.join(args.out, "last")
                accelerator.save_state(folder)
                if accelerator.is_main_process:
                    with open(os.path.join(folder, "progress.json"), "w") as f:
                        json.dump({"step": step, "val_loss": val}, f)
                    if val < best:
                        torch.save(trainable_state(accelerator.unwrap_model(model)), os.path.join(args.out, "adapter.pt"))
                best = min(best, val)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        tokenizer.save_pretrained(args.out)


if __name__ == "__main__":
    main()
