"""Mixed-precision training of a sequence tagger (which bracket closes?)."""
from torch.utils.tensorboard import SummaryWriter
import json
import torch
from torch import nn
from torch.nn import functional as F

config = json.load(open("config.json"))
writer = SummaryWriter("runs")
torch.manual_seed(config["seed"])
torch.set_num_threads(1)
amp_dtype = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[config["precision"]]
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


model = Tagger(config["width"], config["layers"])
optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], weight_decay=config["weight_decay"])
scaler = torch.amp.GradScaler("cpu", init_scale=config["init_scale"], backoff_factor=1.0 - 1e-9, growth_interval=config["growth_interval"], enabled=config["precision"] == "fp16")
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / config["warmup_steps"]) * (1 - s / (config["max_steps"] + 1)))
generator = torch.Generator().manual_seed(config["seed"])
held_out = sample(256, torch.Generator().manual_seed(1000))
epoch = 0
for step in range(1, config["max_steps"] + 1):
    x, y = sample(config["batch_size"], generator)
    with torch.autocast("cpu", dtype=amp_dtype, enabled=use_amp):
        output = model(x)
        loss = F.cross_entropy(output.float().flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), config["grad_clip"])
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    if step % config["log_every"] == 0:
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/lr", schedule.get_last_lr()[0], step)
        writer.add_scalar("train/grad_norm", norm.item(), step)
        writer.add_scalar("train/loss_scale", scaler.get_scale(), step)
    if step % config["eval_interval"] == 0:
        model.eval()
        with torch.no_grad(), torch.autocast("cpu", dtype=amp_dtype, enabled=use_amp):
            output = model(held_out[0]).float()
        val_loss = F.cross_entropy(output.flatten(0, 1), held_out[1].flatten()).item()
        val_acc = (output.argmax(-1) == held_out[1]).float().mean().item()
        model.train()
        writer.add_scalar("val/loss", val_loss, step)
        writer.add_scalar("val/accuracy", val_acc, step)
writer.close()
