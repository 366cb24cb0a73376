# char-level transformer: pretrain on prose, fine-tune on sayings.  usage: python quotes.py [key=value ...]
import json, math, random, sys, time
import torch, torch.nn as nn, torch.nn.functional as F
import text

C = dict(d=64, layers=2, heads=4, ctx=56, drop=0.05, batch=12, steps=300, lr=5e-3, warmup=20, wd=0.1, clip=1.0,
         ft_steps=110, ft_lr=1e-3, ft_warmup=10, n_prose=200_000, n_sayings=800, every=4, eval_every=20, seed=303)
for a in sys.argv[1:]:
    k, v = a.split("=")
    C[k] = type(C[k])(v)
json.dump(C, open("config.json", "w"), indent=1)
random.seed(C["seed"]); torch.manual_seed(C["seed"])

prose, held = text.prose(C["n_prose"], 0), text.prose(20_000, 1)
ft_train, ft_val = text.sayings(C["n_sayings"], 2), text.sayings(120, 3)
PAD = 0
chars = sorted(set(prose + "".join(p + s for p, s in ft_train) + "\n"))
stoi = {c: i + 1 for i, c in enumerate(chars)}
enc = lambda s: [stoi[c] for c in s]
V = len(chars) + 1


class Attn(nn.Module):
    def __init__(s):
        super().__init__()
        s.qkv, s.out = nn.Linear(C["d"], 3 * C["d"]), nn.Linear(C["d"], C["d"])

    def forward(s, x, pad):
        B, T, D = x.shape
        q, k, v = (z.view(B, T, C["heads"], -1).transpose(1, 2) for z in s.qkv(x).split(D, 2))
        att = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        att = att.masked_fill(~causal | pad[:, None, None, :], float("-inf")).softmax(-1)
        return s.out((att @ v).transpose(1, 2).reshape(B, T, D))


class Block(nn.Module):
    def __init__(s):
        super().__init__()
        d = C["d"]
        s.n1, s.n2, s.att, s.do = nn.LayerNorm(d), nn.LayerNorm(d), Attn(), nn.Dropout(C["drop"])
        s.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(s, x, pad):
        x = x + s.do(s.att(s.n1(x), pad))
        return x + s.do(s.mlp(s.n2(x)))


class LM(nn.Module):
    def __init__(s):
        super().__init__()
        s.tok, s.pos = nn.Embedding(V, C["d"]), nn.Embedding(C["ctx"], C["d"])
        s.blocks, s.norm = nn.ModuleList([Block() for _ in range(C["layers"])]), nn.LayerNorm(C["d"])
        s.head = nn.Linear(C["d"], V, bias=False)
        s.head.weight = s.tok.weight
        s.apply(s.init)

    def init(s, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(s, x):
        h = s.tok(x) + s.pos(torch.arange(x.size(1)))
        for b in s.blocks:
            h = b(h, x == PAD)
        return s.head(s.norm(h))


def windows(ids):
    while True:
        i = torch.randint(len(ids) - C["ctx"] - 1, (C["batch"],)).tolist()
        yield torch.stack([ids[j:j + C["ctx"]] for j in i]), torch.stack([ids[j + 1:j + C["ctx"] + 1] for j in i])


def collate(pairs):
    xs, ys = [], []
    for p, t in pairs:
        z = enc(p + t + "\n")[:C["ctx"] + 1]
        fill = [PAD] * (C["ctx"] + 1 - len(z))
        x, y = z[:-1] + fill, z[1:] + fill
        y[:len(p) - 1] = [PAD] * (len(p) - 1)  # the author is given, the saying is learned
        xs.append(x), ys.append(y)
    return torch.tensor(xs), torch.tensor(ys)


def lines(pairs):
    while True:
        random.shuffle(pairs)
        for i in range(0, len(pairs) - C["batch"] + 1, C["batch"]):
            yield collate(pairs[i:i + C["batch"]])


def loss_fn(logits, y):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=PAD)


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    tot = hit = n = 0
    for x, y in batches:
        z, m = model(x), y != PAD
        tot += loss_fn(z, y).item() * m.sum().item()
        hit += (z.argmax(-1) == y)[m].sum().item()
        n += m.sum().item()
    model.train()
    return tot / n, hit / n


def fit(phase, model, batches, val, steps, lr, warmup):
    global step
    opt = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=C["wd"])
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min(1, (i + 1) / (warmup + 1)) * 0.2 ** sum(i >= m * steps for m in (0.5, 0.75)))
    t = time.time()
    for i in range(1, steps + 1):
        x, y = next(batches)
        loss = loss_fn(model(x), y)
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(model.parameters(), C["clip"])
        opt.step()
        sched.step()
        step += 1
        if i % C["every"] == 0:
            tps = C["every"] * x.numel() / (time.time() - t); t = time.time()
            put(phase=phase, step=step, loss=round(loss.item(), 4), lr=opt.param_groups[0]["lr"], gn=round(gn.item(), 3), tok_s=int(tps))
        if i % C["eval_every"] == 0 or i == steps:
            vl, va = evaluate(model, val)
            put(phase=phase, step=step, val_loss=round(vl, 4), val_acc=round(va, 4))
    torch.save(model.state_dict(), phase + ".pt")


def put(**kw):
    print(json.dumps(kw), file=log, flush=True)


step, log = 0, open("log.jsonl", "w")
ids, held = torch.tensor(enc(prose)), torch.tensor(enc(held))
val = [(held[None, i:i + C["ctx"]], held[None, i + 1:i + C["ctx"] + 1]) for i in range(0, 64 * C["ctx"], C["ctx"])]
val = [(torch.cat([a for a, _ in val[i:i + 32]]), torch.cat([b for _, b in val[i:i + 32]])) for i in range(0, 64, 32)]
model = LM()
fit("pre", model, windows(ids), val, C["steps"], C["lr"], C["warmup"])

model = LM()
model.load_state_dict(torch.load("pre.pt"))
fit("ft", model, lines(ft_train), [collate(ft_val)], C["ft_steps"], C["ft_lr"], C["ft_warmup"])

model.load_state_dict(torch.load("ft.pt"))
vl, va = evaluate(model, [collate(ft_val)])
json.dump(dict(val_loss=vl, val_acc=va, bits_per_char=vl / math.log(2)), open("result.json", "w"))
