"""Mixed-precision training of a sequence tagger (which bracket closes?)."""
import yaml
import torch
from torch import nn
from torch.nn import functional as F

cfg = yaml.safe_load(open("config.yaml"))
torch.manual_seed(cfg["seed"])
torch.set_num_threads(1)
amp_dtype = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[cfg["precision"]]
use_amp = amp_dtype != torch.float32


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


model = Tagger(cfg["width"], cfg["layers"])
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["learning_rate"], weight_decay=cfg["weight_decay"])
scaler = torch.amp.GradScaler("cpu", init_scale=cfg["init_scale"], growth_interval=cfg["growth_interval"], enabled=cfg["precision"] == "fp16")
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / cfg["warmup_steps"]) * (1 - s / (cfg["max_steps"] + 1)))
generator = torch.Generator().manual_seed(cfg["seed"])
held_out = sample(256, torch.Generator().manual_seed(1000))
epoch = 0
for step in range(1, cfg["max_steps"] + 1):
    x, y = sample(cfg["batch_size"], generator)
    with torch.autocast("cpu", dtype=amp_dtype, enabled=use_amp):
        output = model(x)
        loss = F.cross_entropy(output.float().flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    if step % cfg["log_every"] == 0:
        print("step %d loss %.4f lr %.3e grad_norm %.4f" % (step, loss.item(), schedule.get_last_lr()[0], norm.item()))
    if step % cfg["eval_interval"] == 0:
        model.eval()
        with torch.no_grad(), torch.autocast("cpu", dtype=amp_dtype, enabled=use_amp):
            output = model(held_out[0]).float()
        val_loss = F.cross_entropy(output.flatten(0, 1), held_out[1].flatten()).item()
        val_acc = (output.argmax(-1) == held_out[1]).float().mean().item()
        model.train()
        print("step %d val_loss %.4f val_acc %.4f" % (step, val_loss, val_acc))
