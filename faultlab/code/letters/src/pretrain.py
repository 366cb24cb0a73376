# character-level model of a shelf of old letters; `python pretrain.py texts/ run1/` and the same again to go on
import json
import math
import sys
from pathlib import Path

import torch

from gpt import LetterGPT

texts, run = Path(sys.argv[1]), Path(sys.argv[2])
ctx, micro, accum = 256, 16, 4
max_steps, warm, lr_max, lr_min = 6000, 200, 6e-4, 6e-5
eval_every, eval_batches = 250, 40
dev = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1847)
run.mkdir(parents=True, exist_ok=True)

text = "\n".join(f.read_text(encoding="utf-8") for f in sorted(texts.glob("*.txt")))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text], dtype=torch.long)
cut = int(0.9 * len(ids))
train_ids, val_ids = ids[:cut], ids[cut:]


def batch(src, gen):
    at = torch.randint(len(src) - ctx - 1, (micro,), generator=gen)
    x = torch.stack([src[i:i + ctx] for i in at])
    y = torch.stack([src[i + 1:i + 1 + ctx] for i in at])
    return x.to(dev), y.to(dev)


def lr_at(step):
    if step < warm:
        return lr_max * (step + 1) / warm
    t = (step - warm) / (max_steps - warm)
    return lr_min + 0.5 * (lr_max - lr_min) * (1 + math.cos(math.pi * min(t, 1.0)))


@torch.no_grad()
def val_loss(net):
    net.eval()
    gen = torch.Generator().manual_seed(0)
    total = 0.0
    for _ in range(eval_batches):
        x, y = batch(val_ids, gen)
        with torch.autocast(dev, dtype=torch.bfloat16, enabled=dev == "cuda"):
            total += net(x, y)[1].item()
    net.train()
    return total / eval_batches


net = LetterGPT(len(chars), ctx).to(dev)
matrices = [w for w in net.parameters() if w.dim() >= 2]
vectors = [w for w in net.parameters() if w.dim() < 2]
opt = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
                        lr=lr_max, betas=(0.9, 0.95))
gen = torch.Generator().manual_seed(7)
step, best = 0, float("inf")

last = run / "last.pt"
if last.exists():
    saved = torch.load(last, map_location=dev)
    net.load_state_dict(saved["net"])
    opt.load_state_dict(saved["opt"])
    step, best = saved["step"], saved["best"]
    gen.set_state(saved["gen"].cpu())
    print("going on at step", step)

net.train()
while step < max_steps:
    lr = lr_at(step)
    for group in opt.param_groups:
        group["lr"] = lr
    opt.zero_grad(set_to_none=True)
    seen = 0.0
    for _ in range(accum):
        x, y = batch(train_ids, gen)
        with torch.autocast(dev, dtype=torch.bfloat16, enabled=dev == "cuda"):
            loss = net(x, y)[1] / accum
        loss.backward()
        seen += loss.item()
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    step += 1

    if step % 20 == 0:
        print(json.dumps({"step": step, "loss": round(seen, 4), "norm": round(float(norm), 3), "lr": lr}), flush=True)
    if step % eval_every == 0:
        v = val_loss(net)
        print(json.dumps({"step": step, "val_loss": round(v, 4), "perplexity": round(math.exp(v), 3)}), flush=True)
        if v < best:
            best = v
            torch.save({"net": net.state_dict(), "chars": chars}, run / "best.pt")
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step, "best": best,
                    "gen": gen.get_state()}, last)

net.load_state_dict(torch.load(run / "best.pt", map_location=dev)["net"])
print(json.dumps({"best_val_loss": round(val_loss(net), 4)}))
