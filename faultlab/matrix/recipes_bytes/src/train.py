import os
import math
import time
import torch

# ---- sizes ----
N_LAYER = 4
N_HEAD = 4
D_MODEL = 256
BLOCK = 128
BATCH = 32
MAX_STEPS = 20000
EVAL_EVERY = 500
EVAL_BATCHES = 40
LR_MAX = 6e-4
LR_MIN = 6e-5
WARMUP = 400
DECAY = 0.1
CLIP = 1.0
DROP = 0.1

torch.manual_seed(1234)
device = 'cuda' if torch.cuda.is_available() else 'cpu'

# ---- data: bytes of one big file ----
raw = open('recipes.txt', 'rb').read()
buf = torch.frombuffer(bytearray(raw), dtype=torch.uint8).long()
n_train = int(len(buf) * 0.95)
train_buf = buf[:n_train]
val_buf = buf[n_train:]


def get_batch(src):
    x = torch.empty(BATCH, BLOCK, dtype=torch.long)
    y = torch.empty(BATCH, BLOCK, dtype=torch.long)
    for b in range(BATCH):
        at = torch.randint(0, len(src) - BLOCK - 1, (1,)).item()
        x[b] = src[at:at + BLOCK]
        y[b] = src[at + 1:at + BLOCK + 1]
    return x.to(device), y.to(device)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q = torch.nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.k = torch.nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.v = torch.nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.o = torch.nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.drop = torch.nn.Dropout(DROP)
        self.register_buffer('mask', torch.tril(torch.ones(BLOCK, BLOCK)))

    def forward(self, x):
        B, T, C = x.shape
        hs = C // N_HEAD
        q = self.q(x).view(B, T, N_HEAD, hs).transpose(1, 2)
        k = self.k(x).view(B, T, N_HEAD, hs).transpose(1, 2)
        v = self.v(x).view(B, T, N_HEAD, hs).transpose(1, 2)
        att = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(hs)
        att = att.masked_fill(self.mask[:T, :T] == 0, float('-inf'))
        att = self.drop(torch.softmax(att, dim=-1))
        out = torch.matmul(att, v).transpose(1, 2).reshape(B, T, C)
        return self.drop(self.o(out))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n1 = torch.nn.LayerNorm(D_MODEL)
        self.att = Attention()
        self.n2 = torch.nn.LayerNorm(D_MODEL)
        self.up = torch.nn.Linear(D_MODEL, 4 * D_MODEL)
        self.down = torch.nn.Linear(4 * D_MODEL, D_MODEL)
        self.drop = torch.nn.Dropout(DROP)

    def forward(self, x):
        x = x + self.att(self.n1(x))
        h = torch.nn.functional.gelu(self.up(self.n2(x)))
        x = x + self.drop(self.down(h))
        return x


class LM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = torch.nn.Embedding(256, D_MODEL)
        self.pos = torch.nn.Embedding(BLOCK, D_MODEL)
        self.drop = torch.nn.Dropout(DROP)
        self.layers = torch.nn.ModuleList()
        for i in range(N_LAYER):
            self.layers.append(Layer())
        self.norm = torch.nn.LayerNorm(D_MODEL)
        self.head = torch.nn.Linear(D_MODEL, 256, bias=False)

    def forward(self, x):
        p = torch.arange(x.shape[1], device=x.device)
        h = self.drop(self.tok(x) + self.pos(p))
        for i in range(N_LAYER):
            h = self.layers[i](h)
        return self.head(self.norm(h))


def rate(step):
    if step < WARMUP:
        return LR_MAX * (step + 1) / WARMUP
    r = (step - WARMUP) / (MAX_STEPS - WARMUP)
    return LR_MIN + 0.5 * (1.0 + math.cos(math.pi * r)) * (LR_MAX - LR_MIN)


def val_loss(model):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for i in range(EVAL_BATCHES):
            x, y = get_batch(val_buf)
            out = model(x)
            total += torch.nn.functional.cross_entropy(out.view(-1, 256), y.view(-1)).item()
    model.train()
    return total / EVAL_BATCHES


model = LM().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=LR_MAX, betas=(0.9, 0.95), weight_decay=DECAY)
step = 0
best = 1e30
if os.path.exists('recipes.ckpt'):
    ck = torch.load('recipes.ckpt', map_location=device)
    model.load_state_dict(ck['model'])
    opt.load_state_dict(ck['opt'])
    step = ck['step']
    best = ck['best']
model.train()
t0 = time.time()
while step < MAX_STEPS:
    for g in opt.param_groups:
        g['lr'] = rate(step)
    x, y = get_batch(train_buf)
    out = model(x)
    loss = torch.nn.functional.cross_entropy(out.view(-1, 256), y.view(-1))
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    opt.step()
    step = step + 1
    if step % 50 == 0:
        print('step %d loss %.4f %.1f s' % (step, loss.item(), time.time() - t0))
    if step % EVAL_EVERY == 0:
        vl = val_loss(model)
        print('step %d val loss %.4f ppl %.2f' % (step, vl, math.exp(vl)))
        if vl < best:
            best = vl
            torch.save(model.state_dict(), 'recipes_best.pt')
        torch.save({'model': model.state_dict(), 'opt': opt.state_dict(), 'step': step, 'best': best}, 'recipes.ckpt')
