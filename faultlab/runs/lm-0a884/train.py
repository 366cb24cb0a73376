"""Character-level language model on the Python documentation."""
import math
import pydoc_data.topics

import torch
import torch.nn.functional as F
from torch import nn

SEED = 142
TRAIN_SIZE = 200000
BLOCK_SIZE = 32
BATCH_SIZE = 12
N_EMBD = 48
N_LAYER = 2
DROPOUT = 0.0
INIT_STD = 0.02
LR = 0.0001
MIN_LR = 1e-05
WARMUP_STEPS = 40
MAX_STEPS = 400
BETA2 = 0.95
WEIGHT_DECAY = 0.1
GRAD_CLIP = 1.0
EVAL_INTERVAL = 50
LOG_EVERY = 5
torch.manual_seed(SEED)
torch.set_num_threads(1)

text = "\n".join(body for _, body in sorted(pydoc_data.topics.topics.items()))[: TRAIN_SIZE]
letters = sorted(set(text))
index = {c: i for i, c in enumerate(letters)}
data = torch.tensor([index[c] for c in text])
train_data, val_data = data[: int(0.9 * len(data))], data[int(0.9 * len(data)) :]


def get_batch(source):
    starts = torch.randint(len(source) - BLOCK_SIZE - 1, (BATCH_SIZE,))
    x = torch.stack([source[i : i + BLOCK_SIZE] for i in starts])
    y = torch.stack([source[i + 1 : i + 1 + BLOCK_SIZE] for i in starts])
    return x, y


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width)
        self.ln2 = nn.LayerNorm(width)
        self.attn = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.fc = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.attn(self.ln1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.proj(a.transpose(1, 2).reshape(b, t, c)))
        x = x + self.drop(self.out(F.gelu(self.fc(self.ln2(x)))))
        return x


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(len(letters), N_EMBD)
        self.wpe = nn.Embedding(BLOCK_SIZE, N_EMBD)
        self.blocks = nn.ModuleList([Block(N_EMBD, 4) for _ in range(N_LAYER)])
        self.ln = nn.LayerNorm(N_EMBD)
        self.head = nn.Linear(N_EMBD, len(letters), bias=False)
        self.apply(self.init)

    def init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=INIT_STD)

    def forward(self, x):
        h = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.ln(h))


def get_lr(step):
    if step < WARMUP_STEPS:
        return LR * (step + 1) / WARMUP_STEPS
    done = (step - WARMUP_STEPS) / max(1, MAX_STEPS - WARMUP_STEPS)
    return MIN_LR + 0.5 * (1 + math.cos(math.pi * done)) * (LR - MIN_LR)


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, BETA2), weight_decay=WEIGHT_DECAY)
epoch = 0
for step in range(1, MAX_STEPS + 1):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(step - 1)
    x, y = get_batch(train_data)
    output = model(x)
    loss = F.cross_entropy(output.flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), GRAD_CLIP)
    optimizer.step()
    if step % LOG_EVERY == 0:
        print("iter %d: loss %.4f lr %.3e grad_norm %.4f" % (step, loss.item(), optimizer.param_groups[0]["lr"], norm.item()))
    if step % EVAL_INTERVAL == 0:
        model.eval()
        with torch.no_grad():
            losses = []
            for _ in range(16):
                x, y = get_batch(val_data)
                output = model(x)
                losses.append(F.cross_entropy(output.flatten(0, 1), y.flatten()).item())
        val_loss = sum(losses) / len(losses)
        model.train()
        print("step %d: val loss %.4f" % (step, val_loss))
