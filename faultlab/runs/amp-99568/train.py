"""Mixed-precision training of a sequence tagger (which bracket closes?)."""
import argparse
import json
import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=107)
parser.add_argument("--precision", type=str, default='fp16')
parser.add_argument("--width", type=int, default=32)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--learning-rate", type=float, default=0.004)
parser.add_argument("--weight-decay", type=float, default=0.01)
parser.add_argument("--init-scale", type=float, default=65536.0)
parser.add_argument("--growth-interval", type=int, default=2000)
parser.add_argument("--warmup-steps", type=int, default=30)
parser.add_argument("--max-steps", type=int, default=400)
parser.add_argument("--batch-size", type=int, default=24)
parser.add_argument("--grad-clip", type=float, default=1.0)
parser.add_argument("--eval-interval", type=int, default=50)
parser.add_argument("--log-every", type=int, default=5)
args = parser.parse_args()
json.dump(vars(args), open("args.json", "w"), indent=2)
log = open("metrics.jsonl", "w")
torch.manual_seed(args.seed)
torch.set_num_threads(1)
amp_dtype = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[args.precision]
use_amp = torch.cuda.is_available() and amp_dtype != torch.float32


def sample(count, generator):
    """Sums over a window of a random digit string, modulo 5: learnable by attention."""
    x = torch.randint(0, 10, (count, 20), generator=generator)
    y = (x + x.roll(1, 1) * (torch.arange(20) > 0)) % 5
    return x, y


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, h):
        n = self.norm1(h)
        scores = self.query(n) @ self.key(n).transpose(1, 2) / n.shape[-1] ** 0.5
        h = h + scores.softmax(-1) @ self.value(n)
        hidden = F.relu(self.up(self.norm2(h)))
        return h + self.down(hidden)


class Tagger(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.symbol, self.place = nn.Embedding(10, width), nn.Embedding(20, width)
        self.layers = nn.ModuleList([Layer(width) for _ in range(layers)])
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        h = self.symbol(x) + self.place(torch.arange(20))
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


model = Tagger(args.width, args.layers)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=args.weight_decay)
scaler = torch.amp.GradScaler("cpu", init_scale=args.init_scale, growth_interval=args.growth_interval, enabled=use_amp)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / args.warmup_steps) * (1 - s / (args.max_steps + 1)))
generator = torch.Generator().manual_seed(args.seed)
held_out = sample(256, torch.Generator().manual_seed(1000))
epoch = 0
for step in range(1, args.max_steps + 1):
    x, y = sample(args.batch_size, generator)
    with torch.autocast("cpu", dtype=amp_dtype, enabled=use_amp):
        output = model(x)
        loss = F.cross_entropy(output.float().flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    if step % args.log_every == 0:
        log.write(json.dumps({"step": step, "epoch": epoch, "loss": loss.item(), "lr": schedule.get_last_lr()[0], "grad_norm": norm.item(), "loss_scale": scaler.get_scale()}) + "\n")
    if step % args.eval_interval == 0:
        model.eval()
        with torch.no_grad(), torch.autocast("cpu", dtype=amp_dtype, enabled=use_amp):
            output = model(held_out[0]).float()
        val_loss = F.cross_entropy(output.flatten(0, 1), held_out[1].flatten()).item()
        val_acc = (output.argmax(-1) == held_out[1]).float().mean().item()
        model.train()
        log.write(json.dumps({"step": step, "epoch": epoch, "val_loss": val_loss, "val_acc": val_acc}) + "\n")
log.close()
