"""Adapter fine-tuning of a causal language model, without Trainer.

torchrun is not needed: one card, fp16 autocast, accumulation.
"""
import argparse
import json
import math
import os
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

from lora import adapter_state, inject
from prompts import Pairs, PadTo

cfg = argparse.ArgumentParser()
cfg.add_argument("--base", default="Qwen/Qwen2.5-0.5B")
cfg.add_argument("--data", default="data/rhymes")
cfg.add_argument("--save", default="adapters/rhymes")
cfg.add_argument("--bsz", type=int, default=4)
cfg.add_argument("--accum", type=int, default=8)
cfg.add_argument("--epochs", type=int, default=3)
cfg.add_argument("--lr", type=float, default=2e-4)
cfg.add_argument("--max_len", type=int, default=512)
cfg.add_argument("--rank", type=int, default=8)
cfg.add_argument("--resume", action="store_true")
cfg.add_argument("--seed", type=int, default=11)
cfg = cfg.parse_args()

random.seed(cfg.seed)
np.random.seed(cfg.seed)
torch.manual_seed(cfg.seed)
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
half = dev.type == "cuda"

tok = AutoTokenizer.from_pretrained(cfg.base)
if tok.bos_token_id is None:
    tok.bos_token = tok.eos_token
pad_id = tok.pad_token_id if tok.pad_token_id is not None else tok.eos_token_id

lm = AutoModelForCausalLM.from_pretrained(cfg.base, dtype=torch.float32)
lm.config.use_cache = False
lm = inject(lm, r=cfg.rank, alpha=2.0 * cfg.rank).to(dev)
weights = [p for p in lm.parameters() if p.requires_grad]
print(f"{sum(p.numel() for p in weights):,} of {sum(p.numel() for p in lm.parameters()):,} weights train")

train = DataLoader(
    Pairs(f"{cfg.data}/train.jsonl", tok, cfg.max_len), cfg.bsz, shuffle=True, collate_fn=PadTo(pad_id)
)
heldout = DataLoader(Pairs(f"{cfg.data}/heldout.jsonl", tok, cfg.max_len), cfg.bsz, collate_fn=PadTo(pad_id))

updates = math.ceil(len(train) / cfg.accum) * cfg.epochs
opt = torch.optim.AdamW(weights, lr=cfg.lr, weight_decay=0.0, betas=(0.9, 0.95))
sched = get_cosine_schedule_with_warmup(opt, num_warmup_steps=int(0.05 * updates), num_training_steps=updates)
scaler = torch.amp.GradScaler(enabled=half)


def token_loss(batch):
    """Summed loss over the answer tokens, and their number."""
    batch = {k: v.to(dev) for k, v in batch.items()}
    with torch.autocast(dev.type, dtype=torch.float16, enabled=half):
        logits = lm(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    logits = logits[:, :-1].float()
    labels = batch["labels"][:, 1:]
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), labels.reshape(-1), ignore_index=-100, reduction="sum")
    return loss, (labels != -100).sum()


@torch.no_grad()
def perplexity():
    lm.eval()
    nll, n = 0.0, 0
    for batch in heldout:
        loss, count = token_loss(batch)
        nll += loss.item()
        n += count.item()
    lm.train()
    return math.exp(nll / max(n, 1))


def groups(loader, size):
    chunk = []
    for batch in loader:
        chunk.append(batch)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


os.makedirs(cfg.save, exist_ok=True)
first, best = 0, float("inf")
state_file = f"{cfg.save}/state.pt"
if cfg.resume and os.path.exists(state_file):
    state = torch.load(state_file, map_location="cpu")
    lm.load_state_dict(state["adapter"], strict=False)
    opt.load_state_dict(state["opt"])
    sched.load_state_dict(state["sched"])
    scaler.load_state_dict(state["scaler"])
    first, best = state["epoch"] + 1, state["best"]

lm.train()
for epoch in range(first, cfg.epochs):
    for step, chunk in enumerate(groups(train, cfg.accum)):
        answer_tokens = sum(int((b["labels"][:, 1:] != -100).sum()) for b in chunk)
        total = 0.0
        for batch in chunk:
            loss, _ = token_loss(batch)
            loss = loss / answer_tokens
            scaler.scale(loss).backward()
            total += loss.item()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad(set_to_none=True)
        sched.step()
        if step % 10 == 0:
            print(json.dumps({"epoch": epoch, "step": step, "loss": round(total, 4), "lr": sched.get_last_lr()[0]}))
    ppl = perplexity()
    print(json.dumps({"epoch": epoch, "heldout_ppl": round(ppl, 3)}), flush=True)
    if ppl < best:
        best = ppl
        torch.save(adapter_state(lm), f"{cfg.save}/best.pt")
    torch.save(
        {
            "adapter": adapter_state(lm),
            "opt": opt.state_dict(),
            "sched": sched.state_dict(),
            "scaler": scaler.state_dict(),
            "epoch": epoch,
            "best": best,
        },
        state_file,
    )

lm.load_state_dict(torch.load(f"{cfg.save}/best.pt", map_location=dev), strict=False)
print(json.dumps({"final_ppl": round(perplexity(), 3)}))
