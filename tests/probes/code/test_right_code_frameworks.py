# ruff: noqa: E501
"""Right programs that a naive check would blame, in frameworks and fields that other tests have few of.

MindSpore, Keras, functional PyTorch, engines, sharding, GANs, reinforcement and self-supervised learning. The
report on each must hold no finding and no cause at 0.5 or above.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from traindoctor.cli.script_work import load, report
from traindoctor.engine.model import RuleBase
from traindoctor.probes.scripts import files as script_files

LIKELY = 0.5
PROGRAMS: dict[str, str] = {
    # State in tf.Variables, a metric reset at the head of a while loop, a schedule whose length is epochs by rounds.
    "tf-tape-variables": """
import tensorflow as tf

EPOCHS, PEAK = 40, 2e-3

def windows(files, batch, training):
    ds = tf.data.TFRecordDataset(sorted(files)).map(parse).cache()
    if training:
        ds = ds.shuffle(4096)
    return ds.batch(batch).prefetch(tf.data.AUTOTUNE)

def parse(record):
    row = tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([64], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)})
    return row["x"], row["y"]

def accuracy(net, ds):
    hits = seen = 0
    for x, y in ds:
        hits += int(tf.reduce_sum(tf.cast(tf.argmax(net(x), 1) == y, tf.int32)))
        seen += len(y)
    return hits / seen

def main(train_files, val_files):
    tf.keras.utils.set_random_seed(1)
    train, val = windows(train_files, 64, True), windows(val_files, 64, False)
    net = tf.keras.Sequential([tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dropout(0.1), tf.keras.layers.Dense(9)])
    in_epoch = sum(1 for _ in train)
    rate = tf.keras.optimizers.schedules.CosineDecay(0.0, (EPOCHS - 3) * in_epoch, warmup_target=PEAK, warmup_steps=3 * in_epoch)
    opt = tf.keras.optimizers.Adam(rate)
    ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def update(x, y):
        with tf.GradientTape() as tape:
            loss = ce(y, net(x, training=True))
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    done, top = tf.Variable(0), tf.Variable(0.0)
    last = tf.train.CheckpointManager(tf.train.Checkpoint(net=net, opt=opt, done=done, top=top), "last", max_to_keep=1)
    best = tf.train.CheckpointManager(tf.train.Checkpoint(net=net), "best", max_to_keep=1)
    last.checkpoint.restore(last.latest_checkpoint)
    mean = tf.keras.metrics.Mean()
    while int(done) < EPOCHS:
        mean.reset_state()
        for x, y in train:
            mean.update_state(update(x, y))
        score = accuracy(net, val)
        print(int(done), float(mean.result()), score)
        if score > top:
            top.assign(score)
            best.save()
        done.assign_add(1)
        last.save()
    best.checkpoint.restore(best.latest_checkpoint).expect_partial()
""",
    # A gathering function without gradients is no evaluation.
    "moco-v3": """
import copy
import math
import torch
from torch import nn
import torch.nn.functional as F
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, models, transforms as T

class Two:
    def __init__(self, a, b):
        self.a, self.b = a, b
    def __call__(self, im):
        return self.a(im), self.b(im)

def mlp(sizes, last_bn=True):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b, bias=False))
        if i < len(sizes) - 2:
            layers += [nn.BatchNorm1d(b), nn.ReLU(inplace=True)]
        elif last_bn:
            layers.append(nn.BatchNorm1d(b, affine=False))
    return nn.Sequential(*layers)

class MoCo(nn.Module):
    def __init__(self, dim=256, hidden=4096, tau=1.0):
        super().__init__()
        self.base = models.resnet50(zero_init_residual=True)
        width = self.base.fc.in_features
        self.base.fc = mlp([width, hidden, dim])
        self.momentum = copy.deepcopy(self.base)
        for p in self.momentum.parameters():
            p.requires_grad = False
        self.pred = mlp([dim, hidden, dim], last_bn=False)
        self.tau = tau

    @torch.no_grad()
    def move(self, m):
        for a, b in zip(self.base.parameters(), self.momentum.parameters()):
            b.data = b.data * m + a.data * (1 - m)

    def nce(self, q, k):
        q, k = F.normalize(q, dim=1), F.normalize(k, dim=1)
        k = gather(k)
        logits = q @ k.T / self.tau
        n = logits.shape[0]
        labels = torch.arange(n, device=q.device) + n * dist.get_rank()
        return F.cross_entropy(logits, labels) * (2 * self.tau)

    def forward(self, x1, x2, m):
        q1, q2 = self.pred(self.base(x1)), self.pred(self.base(x2))
        with torch.no_grad():
            self.move(m)
            k1, k2 = self.momentum(x1), self.momentum(x2)
        return self.nce(q1, k2) + self.nce(q2, k1)

@torch.no_grad()
def gather(t):
    out = [torch.ones_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(out, t, async_op=False)
    return torch.cat(out)

def rate(opt, epoch, base, epochs, warm=10):
    lr = base * epoch / warm if epoch < warm else base * 0.5 * (1 + math.cos(math.pi * (epoch - warm) / (epochs - warm)))
    for g in opt.param_groups:
        g["lr"] = lr

def main(rank, epochs=300, batch=128):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    norm = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    def views(blur, solar):
        return T.Compose([T.RandomResizedCrop(224, (0.2, 1)), T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), T.RandomGrayscale(0.2),
                          T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], blur), T.RandomSolarize(128, solar), T.RandomHorizontalFlip(), T.ToTensor(), norm])
    data = datasets.ImageFolder("imagenet/train", Two(views(1.0, 0.0), views(0.1, 0.2)))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch, sampler=sampler, num_workers=8, drop_last=True, pin_memory=True)
    net = nn.SyncBatchNorm.convert_sync_batchnorm(MoCo()).cuda()
    net = nn.parallel.DistributedDataParallel(net, [rank])
    base = 0.6 * batch * dist.get_world_size() / 256
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], base, momentum=0.9, weight_decay=1e-6)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        net.train()
        for i, ((a, b), _) in enumerate(loader):
            at = epoch + i / len(loader)
            rate(opt, at, base, epochs)
            m = 1 - 0.5 * (1 + math.cos(math.pi * at / epochs)) * (1 - 0.99)
            with torch.amp.autocast("cuda"):
                loss = net(a.cuda(non_blocking=True), b.cuda(non_blocking=True), m)
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        if rank == 0:
            torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "scaler": scaler.state_dict(), "epoch": epoch}, "moco.pt")
""",
    # The target network stays in evaluation mode; `q` trains.
    "ms-dqn-functional": """
import random
from collections import deque
import gymnasium as gym
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

def net(n, m):
    return nn.SequentialCell(nn.Dense(n, 128), nn.ReLU(), nn.Dense(128, 128), nn.ReLU(), nn.Dense(128, m))

env = gym.make("CartPole-v1")
q, target = net(4, 2), net(4, 2)
ms.load_param_into_net(target, {k: v.clone() for k, v in q.parameters_dict().items()}, strict_load=False)
for old, new in zip(target.get_parameters(), q.get_parameters()):
    old.set_data(new.data)
target.set_train(False)
opt = nn.Adam(q.trainable_params(), 5e-4)
huber = nn.HuberLoss()

def loss_fn(s, a, y):
    value = ops.gather_elements(q(s), 1, a.expand_dims(1)).squeeze(1)
    return huber(value, y)

step_fn = ms.value_and_grad(loss_fn, None, opt.parameters)
memory = deque(maxlen=50_000)
step = 0
for episode in range(400):
    s, _ = env.reset(seed=episode)
    done, total = False, 0.0
    while not done:
        eps = max(0.05, 1 - step / 10_000)
        if random.random() < eps:
            a = env.action_space.sample()
        else:
            a = int(q(Tensor(s[None], ms.float32)).argmax(1)[0].asnumpy())
        s2, r, ended, cut, _ = env.step(a)
        memory.append((s, a, r, s2, ended))
        s, done, total, step = s2, ended or cut, total + r, step + 1
        if len(memory) > 1000:
            cols = list(zip(*random.sample(memory, 64)))
            bs, bn = (Tensor(np.stack(cols[i]), ms.float32) for i in (0, 3))
            ba = Tensor(np.array(cols[1]), ms.int32)
            br, bd = (Tensor(np.array(cols[i]), ms.float32) for i in (2, 4))
            y = ops.stop_gradient(br + 0.99 * (1 - bd) * target(bn).max(1))
            loss, grads = step_fn(bs, ba, y)
            grads = ops.clip_by_global_norm(grads, 10.0)
            opt(grads)
            if step % 500 == 0:
                for old, new in zip(target.get_parameters(), q.get_parameters()):
                    old.set_data(new.data)
    print(episode, total)
ms.save_checkpoint(q, "dqn.ckpt")
""",
    # The layer of log variances starts at zero.
    "keras-vae-subclass": """
import keras
import tensorflow as tf
from keras import layers

class Sampling(layers.Layer):
    def call(self, inputs):
        mean, logvar = inputs
        return mean + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mean))

class VAE(keras.Model):
    def __init__(self, dim=16, beta=1.0):
        super().__init__()
        self.encoder = keras.Sequential([layers.Conv2D(32, 3, 2, "same", activation="relu"), layers.Conv2D(64, 3, 2, "same", activation="relu"), layers.Flatten(), layers.Dense(128, "relu")])
        self.mean, self.logvar = layers.Dense(dim), layers.Dense(dim, kernel_initializer="zeros", bias_initializer="zeros")
        self.sample = Sampling()
        self.decoder = keras.Sequential([layers.Dense(7 * 7 * 64, "relu"), layers.Reshape((7, 7, 64)), layers.Conv2DTranspose(64, 3, 2, "same", activation="relu"), layers.Conv2DTranspose(32, 3, 2, "same", activation="relu"), layers.Conv2DTranspose(1, 3, padding="same")])
        self.beta = beta
        self.trackers = {k: keras.metrics.Mean(k) for k in ("loss", "rec", "kl")}

    @property
    def metrics(self):
        return list(self.trackers.values())

    def parts(self, x, training):
        h = self.encoder(x, training=training)
        mean, logvar = self.mean(h), tf.clip_by_value(self.logvar(h), -10.0, 10.0)
        z = self.sample([mean, logvar]) if training else mean
        logits = self.decoder(z, training=training)
        rec = tf.reduce_mean(tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), axis=(1, 2, 3)))
        kl = tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + logvar - tf.square(mean) - tf.exp(logvar)), axis=1))
        return rec, kl

    def _step(self, x, training):
        rec, kl = self.parts(x, training)
        loss = rec + self.beta * kl
        for k, v in (("loss", loss), ("rec", rec), ("kl", kl)):
            self.trackers[k].update_state(v)
        return loss

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = self._step(x, True)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {k: m.result() for k, m in self.trackers.items()}

    def test_step(self, x):
        self._step(x, False)
        return {k: m.result() for k, m in self.trackers.items()}

(x, _), (xt, _) = keras.datasets.mnist.load_data()
x, xt = (a[..., None].astype("float32") / 255.0 for a in (x, xt))
train = tf.data.Dataset.from_tensor_slices(x[:-5000]).shuffle(55000).batch(128)
val = tf.data.Dataset.from_tensor_slices(x[-5000:]).batch(256)
vae = VAE()
vae.compile(keras.optimizers.Adam(1e-3))
vae.fit(train, epochs=30, validation_data=val, callbacks=[keras.callbacks.EarlyStopping("val_loss", patience=4, restore_best_weights=True)])
vae.save_weights("vae.weights.h5")
""",
    # Sums of all processes are put together in the function that trains.
    "fsdp-native": """
import functools
import os
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision, ShardingStrategy, FullStateDictConfig, StateDictType
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.utils.data import DataLoader, DistributedSampler

def setup():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))

def wrap(model, block):
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={block})
    mp = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16)
    return FSDP(model, auto_wrap_policy=policy, mixed_precision=mp, sharding_strategy=ShardingStrategy.FULL_SHARD, device_id=torch.cuda.current_device())

def save(model, path):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
        state = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, path)

def train(model, block, data, val, epochs=3, accum=4, lr=3e-4):
    setup()
    torch.manual_seed(1234)
    sampler = DistributedSampler(data, shuffle=True, seed=1)
    loader = DataLoader(data, 8, sampler=sampler, drop_last=True, num_workers=4)
    val_loader = DataLoader(val, 8, sampler=DistributedSampler(val, shuffle=False))
    model = wrap(model, block)
    opt = torch.optim.AdamW(model.parameters(), lr, betas=(0.9, 0.95), weight_decay=0.1)
    total = epochs * (len(loader) // accum)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, lr, total_steps=total, pct_start=0.02, cycle_momentum=False)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        model.train()
        usable = len(loader) // accum * accum
        for i, (x, y) in enumerate(loader):
            if i >= usable:
                break
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            last = (i + 1) % accum == 0
            with torch.enable_grad() if last else model.no_sync():
                logits = model(x)
                loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten()) / accum
                loss.backward()
            if last:
                model.clip_grad_norm_(1.0)
                opt.step()
                sched.step()
                opt.zero_grad(set_to_none=True)
        model.eval()
        stats = torch.zeros(2, device="cuda")
        with torch.no_grad():
            for x, y in val_loader:
                logits = model(x.cuda())
                stats[0] += F.cross_entropy(logits.float().flatten(0, 1), y.cuda().flatten(), reduction="sum")
                stats[1] += y.numel()
        dist.all_reduce(stats)
        if dist.get_rank() == 0:
            print(epoch, (stats[0] / stats[1]).item())
        save(model, f"model_{epoch}.pt")
    dist.destroy_process_group()
""",
    # A penalty joins every sixteenth round with a step of its own.
    "stylegan-lazy-reg": """
import copy
import math
import torch
from torch import nn, autograd
import torch.nn.functional as F
from torch.utils.data import DataLoader

class EqualLinear(nn.Module):
    def __init__(self, i, o, lr_mul=1.0, bias_init=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) / lr_mul)
        self.bias = nn.Parameter(torch.full((o,), float(bias_init)))
        self.scale, self.lr_mul = lr_mul / math.sqrt(i), lr_mul

    def forward(self, x):
        return F.linear(x, self.weight * self.scale, self.bias * self.lr_mul)

def d_logistic(real, fake):
    return F.softplus(-real).mean() + F.softplus(fake).mean()

def r1(real_pred, real):
    (g,) = autograd.grad(real_pred.sum(), real, create_graph=True)
    return g.pow(2).flatten(1).sum(1).mean()

def path_length(fake, w, mean, decay=0.01):
    noise = torch.randn_like(fake) / math.sqrt(fake.shape[2] * fake.shape[3])
    (g,) = autograd.grad((fake * noise).sum(), w, create_graph=True)
    lengths = g.pow(2).sum(2).mean(1).sqrt()
    mean = mean + decay * (lengths.mean().detach() - mean)
    return (lengths - mean).pow(2).mean(), mean

def toggle(net, on):
    for p in net.parameters():
        p.requires_grad_(on)

@torch.no_grad()
def accumulate(avg, net, decay):
    own = dict(net.named_parameters())
    for k, p in avg.named_parameters():
        p.mul_(decay).add_(own[k], alpha=1 - decay)

def train(gen, disc, data, iters=100000, batch=16, z=512, d_every=16, g_every=4):
    loader = DataLoader(data, batch, shuffle=True, drop_last=True, num_workers=8)
    avg = copy.deepcopy(gen).eval()
    g_ratio, d_ratio = g_every / (g_every + 1), d_every / (d_every + 1)
    g_opt = torch.optim.Adam(gen.parameters(), lr=0.002 * g_ratio, betas=(0.0, 0.99 ** g_ratio))
    d_opt = torch.optim.Adam(disc.parameters(), lr=0.002 * d_ratio, betas=(0.0, 0.99 ** d_ratio))
    mean = torch.zeros((), device="cuda")
    it = iter(loader)
    gen.train()
    disc.train()
    for i in range(iters):
        try:
            real = next(it).cuda()
        except StopIteration:
            it = iter(loader)
            real = next(it).cuda()
        toggle(gen, False)
        toggle(disc, True)
        fake, _ = gen(torch.randn(batch, z, device="cuda"))
        loss = d_logistic(disc(real), disc(fake))
        disc.zero_grad()
        loss.backward()
        d_opt.step()
        if i % d_every == 0:
            real.requires_grad_(True)
            pred = disc(real)
            penalty = 10 / 2 * r1(pred, real) * d_every + 0 * pred[0]
            disc.zero_grad()
            penalty.mean().backward()
            d_opt.step()
        toggle(gen, True)
        toggle(disc, False)
        fake, _ = gen(torch.randn(batch, z, device="cuda"))
        loss_g = F.softplus(-disc(fake)).mean()
        gen.zero_grad()
        loss_g.backward()
        g_opt.step()
        if i % g_every == 0:
            fake, w = gen(torch.randn(batch // 2, z, device="cuda"), return_latents=True)
            pl, mean = path_length(fake, w, mean)
            gen.zero_grad()
            (2 * g_every * pl + 0 * fake[0, 0, 0, 0]).backward()
            g_opt.step()
        accumulate(avg, gen, 0.5 ** (32 / 10000))
        if i % 5000 == 0:
            torch.save({"g": gen.state_dict(), "d": disc.state_dict(), "avg": avg.state_dict(), "g_opt": g_opt.state_dict(), "d_opt": d_opt.state_dict(), "mean": mean}, f"{i:06d}.pt")
""",
    # Two frozen copies are gone through in one list.
    "sac-continuous": """
import copy
import gymnasium as gym
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, o))

class Actor(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.net = mlp(n, 2 * m)

    def forward(self, s):
        mean, logstd = self.net(s).chunk(2, -1)
        logstd = -5 + 3.5 * (torch.tanh(logstd) + 1)
        d = torch.distributions.Normal(mean, logstd.exp())
        u = d.rsample()
        a = u.tanh()
        logp = (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1)
        return a, logp, mean.tanh()

env = gym.make("Pendulum-v1")
n, m = env.observation_space.shape[0], env.action_space.shape[0]
high = float(env.action_space.high[0])
actor, q1, q2 = Actor(n, m), mlp(n + m, 1), mlp(n + m, 1)
t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
for p in [*t1.parameters(), *t2.parameters()]:
    p.requires_grad = False
log_alpha = torch.zeros(1, requires_grad=True)
a_opt = torch.optim.Adam(actor.parameters(), 3e-4)
q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], 3e-4)
e_opt = torch.optim.Adam([log_alpha], 3e-4)
size = 100_000
S, A, R, N, D = (np.zeros((size, k), np.float32) for k in (n, m, 1, n, 1))
count = 0
s, _ = env.reset(seed=0)
for step in range(50_000):
    if step < 5000:
        a = env.action_space.sample() / high
    else:
        with torch.no_grad():
            a = actor(torch.as_tensor(s)[None])[0][0].numpy()
    s2, r, ended, cut, _ = env.step(a * high)
    i = count % size
    S[i], A[i], R[i], N[i], D[i] = s, a, r, s2, ended
    count += 1
    s = env.reset()[0] if ended or cut else s2
    if step < 5000:
        continue
    idx = np.random.randint(0, min(count, size), 256)
    bs, ba, br, bn, bd = (torch.from_numpy(x[idx]) for x in (S, A, R, N, D))
    with torch.no_grad():
        na, nlp, _ = actor(bn)
        x = torch.cat([bn, na], 1)
        y = br + 0.99 * (1 - bd) * (torch.min(t1(x), t2(x)) - log_alpha.exp() * nlp[:, None])
    x = torch.cat([bs, ba], 1)
    q_loss = F.mse_loss(q1(x), y) + F.mse_loss(q2(x), y)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()
    pa, lp, _ = actor(bs)
    x = torch.cat([bs, pa], 1)
    a_loss = (log_alpha.exp().detach() * lp[:, None] - torch.min(q1(x), q2(x))).mean()
    a_opt.zero_grad()
    a_loss.backward()
    a_opt.step()
    e_loss = -(log_alpha * (lp + -m).detach()).mean()
    e_opt.zero_grad()
    e_loss.backward()
    e_opt.step()
    with torch.no_grad():
        for t, q in ((t1, q1), (t2, q2)):
            for a_, b_ in zip(t.parameters(), q.parameters()):
                a_.lerp_(b_, 0.005)
torch.save(actor.state_dict(), "sac.pt")
""",
    # The weights of the losses get their gradient by hand, after it was cleared.
    "multi-uncertainty-gradnorm": """
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

class Trunk(nn.Module):
    def __init__(self, n, tasks):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU())
        self.shared = nn.Linear(128, 128)
        self.heads = nn.ModuleDict({k: nn.Linear(128, o) for k, o in tasks.items()})
        self.weights = nn.Parameter(torch.ones(len(tasks)))

    def forward(self, x):
        h = self.shared(self.body(x)).relu()
        return {k: f(h) for k, f in self.heads.items()}

def losses(out, y):
    return torch.stack([
        F.cross_entropy(out["kind"], y["kind"]),
        F.mse_loss(out["price"].squeeze(-1), y["price"]),
        F.binary_cross_entropy_with_logits(out["sold"].squeeze(-1), y["sold"].float())])

def train(net, loader, val, epochs=40, alpha=1.5):
    body = [p for n, p in net.named_parameters() if n != "weights"]
    opt = torch.optim.Adam(body, 1e-3)
    w_opt = torch.optim.Adam([net.weights], 2.5e-2)
    first = None
    for epoch in range(epochs):
        net.train()
        for x, y in loader:
            each = losses(net(x), y)
            if first is None:
                first = each.detach()
            total = (net.weights.detach() * each).sum()
            opt.zero_grad()
            total.backward(retain_graph=True)
            norms = torch.stack([torch.autograd.grad(net.weights[i] * each[i], net.shared.weight, retain_graph=True, create_graph=True)[0].norm() for i in range(len(each))])
            rate = (each / first).detach()
            rate = rate / rate.mean()
            aim = (norms.mean() * rate ** alpha).detach()
            w_opt.zero_grad()
            net.weights.grad = torch.autograd.grad((norms - aim).abs().sum(), net.weights)[0]
            opt.step()
            w_opt.step()
            with torch.no_grad():
                net.weights.clamp_(min=1e-3)
                net.weights.mul_(len(each) / net.weights.sum())
        net.eval()
        with torch.no_grad():
            held = torch.stack([losses(net(x), y) for x, y in val]).mean(0)
        print(epoch, held.tolist(), net.weights.tolist())
        torch.save(net.state_dict(), "multi.pt")
""",
    # Loss scale fixed at 1024, decay for some weights, gamma of each branch from zero.
    "ms-model-train-o2": """
import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
import mindspore.dataset.transforms as transforms
from mindspore import nn, Model
from mindspore.train import LossMonitor, TimeMonitor, CheckpointConfig, ModelCheckpoint, Accuracy
from mindspore.amp import FixedLossScaleManager

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
ms.set_seed(1)

def create_dataset(path, batch_size, training):
    data = ds.Cifar10Dataset(path, usage="train" if training else "test", shuffle=training)
    ops = []
    if training:
        ops += [vision.RandomCrop((32, 32), (4, 4, 4, 4)), vision.RandomHorizontalFlip(0.5)]
    ops += [vision.Rescale(1.0 / 255.0, 0.0),
            vision.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
            vision.HWC2CHW()]
    data = data.map(ops, input_columns="image", num_parallel_workers=8)
    data = data.map(transforms.TypeCast(ms.int32), input_columns="label")
    return data.batch(batch_size, drop_remainder=training)

class Block(nn.Cell):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, pad_mode="same", has_bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, pad_mode="same", has_bias=False)
        self.bn2 = nn.BatchNorm2d(cout, gamma_init="zeros")
        self.relu = nn.ReLU()
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.SequentialCell(nn.Conv2d(cin, cout, 1, stride, has_bias=False), nn.BatchNorm2d(cout))

    def construct(self, x):
        short = x if self.down is None else self.down(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + short)

class Net(nn.Cell):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, 32, 3, pad_mode="same", has_bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.body = nn.SequentialCell(Block(32, 32), Block(32, 64, 2), Block(64, 128, 2))
        self.head = nn.Dense(128, num_classes)

    def construct(self, x):
        x = self.body(self.stem(x))
        return self.head(x.mean((2, 3)))

epochs = 60
train = create_dataset("data/cifar", 128, True)
test = create_dataset("data/cifar", 128, False)
steps = train.get_dataset_size()
net = Net()
lr = nn.cosine_decay_lr(0.0, 0.1, epochs * steps, steps, epochs)
decayed = [p for p in net.trainable_params() if "gamma" not in p.name and "beta" not in p.name and "bias" not in p.name]
plain = [p for p in net.trainable_params() if "gamma" in p.name or "beta" in p.name or "bias" in p.name]
groups = [{"params": decayed, "weight_decay": 5e-4}, {"params": plain, "weight_decay": 0.0}, {"order_params": net.trainable_params()}]
scale = FixedLossScaleManager(1024, drop_overflow_update=False)
opt = nn.Momentum(groups, learning_rate=lr, momentum=0.9, loss_scale=1024)
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
model = Model(net, loss, opt, metrics={"acc": Accuracy()}, amp_level="O2", loss_scale_manager=scale)
saver = ModelCheckpoint("net", directory="out", config=CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=3))
model.train(epochs, train, callbacks=[LossMonitor(steps), TimeMonitor(), saver], dataset_sink_mode=True)
print(model.eval(test, dataset_sink_mode=False))
""",
    # Scaled and unscaled by hand, steps left out where not all is finite.
    "ms-value-and-grad-scaler": """
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.amp import DynamicLossScaler, all_finite, auto_mixed_precision
import mindspore.dataset as ds

class Encoder(nn.Cell):
    def __init__(self, vocab, dim, heads, depth, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 4, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, depth)
        self.out = nn.Dense(dim, classes)

    def construct(self, ids):
        pad = ids == 0
        h = self.enc(self.emb(ids), src_key_padding_mask=pad)
        keep = (~pad).astype(h.dtype).expand_dims(-1)
        return self.out((h * keep).sum(1) / ops.clamp(keep.sum(1), min=1.0))

def load(path, batch, shuffle):
    blob = np.load(path)
    data = ds.NumpySlicesDataset({"ids": blob["ids"].astype(np.int32), "label": blob["label"].astype(np.int32)}, shuffle=shuffle)
    return data.batch(batch, drop_remainder=False)

net = auto_mixed_precision(Encoder(20000, 256, 8, 4, 5), "O1")
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
schedule = nn.WarmUpLR(2e-4, 500)
opt = nn.AdamWeightDecay(net.trainable_params(), learning_rate=schedule, weight_decay=0.01)
scaler = DynamicLossScaler(2 ** 16, 2, 1000)

def forward(ids, label):
    logits = net(ids)
    return scaler.scale(criterion(logits, label)), logits

grad = ops.value_and_grad(forward, None, opt.parameters, has_aux=True)

@ms.jit
def step(ids, label):
    (loss, _), grads = grad(ids, label)
    loss = scaler.unscale(loss)
    ok = all_finite(grads)
    if ok:
        grads = ops.clip_by_global_norm(scaler.unscale(grads), 1.0)
        loss = ops.depend(loss, opt(grads))
    scaler.adjust(ok)
    return loss

def accuracy(data):
    net.set_train(False)
    good = total = 0
    for ids, label in data.create_tuple_iterator():
        good += int((net(ids).argmax(1) == label).sum().asnumpy())
        total += label.shape[0]
    return good / total

train, dev = load("train.npz", 64, True), load("dev.npz", 64, False)
best = 0.0
for epoch in range(8):
    net.set_train(True)
    for ids, label in train.create_tuple_iterator():
        loss = step(ids, label)
    acc = accuracy(dev)
    if acc > best:
        best = acc
        ms.save_checkpoint(net, "best.ckpt")
""",
    # Gradients held, scaled, reduced once, cleared after the step.
    "ms-train-one-step-accum": """
import mindspore as ms
from mindspore import nn, ops, Parameter, ParameterTuple, Tensor
import mindspore.common.dtype as mstype
import mindspore.dataset as ds
from mindspore.communication import init, get_rank, get_group_size
from mindspore.context import ParallelMode

init()
ms.set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True)

class WithLoss(nn.Cell):
    def __init__(self, net, loss):
        super().__init__(auto_prefix=False)
        self.net, self.loss = net, loss

    def construct(self, x, y):
        return self.loss(self.net(x), y)

class AccumulateStep(nn.Cell):
    def __init__(self, network, optimizer, every):
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = self.optimizer.parameters
        self.every = every
        self.held = self.weights.clone(prefix="held", init="zeros")
        self.counter = Parameter(Tensor(0, mstype.int32), name="counter", requires_grad=False)
        self.grad = ops.GradOperation(get_by_list=True, sens_param=False)
        self.reducer = nn.DistributedGradReducer(self.weights, True, get_group_size())
        self.map = ops.HyperMap()
        self.add = ops.MultitypeFuncGraph("add")

    def construct(self, x, y):
        loss = self.network(x, y)
        grads = self.grad(self.network, self.weights)(x, y)
        grads = self.map(ops.partial(_scale, 1.0 / self.every), grads)
        loss = ops.depend(loss, self.map(_add, self.held, grads))
        self.counter += 1
        if self.counter % self.every == 0:
            total = self.reducer(self.held)
            loss = ops.depend(loss, self.optimizer(total))
            loss = ops.depend(loss, self.map(_clear, self.held))
        return loss

_scale = ops.MultitypeFuncGraph("scale")
@_scale.register("Number", "Tensor")
def _scale_one(k, g):
    return g * ops.cast(k, ops.dtype(g))

_add = ops.MultitypeFuncGraph("add")
@_add.register("Tensor", "Tensor")
def _add_one(held, g):
    return ops.assign_add(held, g)

_clear = ops.MultitypeFuncGraph("clear")
@_clear.register("Tensor")
def _clear_one(held):
    return ops.assign(held, ops.zeros_like(held))

def mlp():
    return nn.SequentialCell(nn.Flatten(), nn.Dense(784, 512), nn.ReLU(), nn.Dropout(p=0.2), nn.Dense(512, 10))

data = ds.MnistDataset("mnist", usage="train", shuffle=True, num_shards=get_group_size(), shard_id=get_rank())
data = data.map(lambda im: (im.astype("float32") / 255.0), "image").map(lambda y: y.astype("int32"), "label").batch(32, True)
net = mlp()
opt = nn.Momentum(net.trainable_params(), 0.05, 0.9)
step = AccumulateStep(WithLoss(net, nn.CrossEntropyLoss()), opt, 4)
step.set_train()
for epoch in range(10):
    for x, y in data.create_tuple_iterator():
        loss = step(x, y)
    print(epoch, loss)
    if get_rank() == 0:
        ms.save_checkpoint(net, f"mlp_{epoch}.ckpt")
""",
    # The base thaws after five epochs with another optimizer; its batch norm stays.
    "tf-distribute-strategy": """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
PER = 64
GLOBAL = PER * strategy.num_replicas_in_sync

def pipeline(files, training):
    ds = tf.data.Dataset.from_tensor_slices(files)
    if training:
        ds = ds.shuffle(len(files)).repeat()
    ds = ds.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE, deterministic=not training)
    spec = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(raw):
        ex = tf.io.parse_single_example(raw, spec)
        im = tf.cast(tf.io.decode_png(ex["image"], 3), tf.float32)
        im = tf.image.resize_with_pad(im, 224, 224)
        if training:
            im = tf.image.random_flip_left_right(im)
            im = tf.image.random_brightness(im, 16)
        return tf.keras.applications.resnet50.preprocess_input(im), ex["label"]

    ds = ds.map(parse, tf.data.AUTOTUNE)
    if training:
        ds = ds.shuffle(10000)
    return ds.batch(GLOBAL, drop_remainder=training).prefetch(tf.data.AUTOTUNE)

with strategy.scope():
    base = tf.keras.applications.ResNet50(include_top=False, weights="imagenet", pooling="avg")
    base.trainable = False
    inp = tf.keras.Input((224, 224, 3))
    out = tf.keras.layers.Dense(37)(tf.keras.layers.Dropout(0.4)(base(inp, training=False)))
    model = tf.keras.Model(inp, out)
    head = tf.keras.optimizers.Adam(1e-3)
    tune = tf.keras.optimizers.Adam(1e-5)
    ask = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=tf.keras.losses.Reduction.NONE)
    acc = tf.keras.metrics.SparseCategoricalAccuracy()

def make_step(opt):
    def inner(x, y):
        with tf.GradientTape() as tape:
            per = ask(y, model(x, training=True))
            loss = tf.nn.compute_average_loss(per, global_batch_size=GLOBAL)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    @tf.function
    def outer(batch):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(inner, args=batch), axis=None)
    return outer

@tf.function
def evaluate(batch):
    def inner(x, y):
        acc.update_state(y, model(x, training=False))
    strategy.run(inner, args=batch)

train = strategy.experimental_distribute_dataset(pipeline(tf.io.gfile.glob("data/train-*"), True))
val = strategy.experimental_distribute_dataset(pipeline(tf.io.gfile.glob("data/val-*"), False))
step = make_step(head)
it = iter(train)
for epoch in range(20):
    if epoch == 5:
        base.trainable = True
        for layer in base.layers:
            if isinstance(layer, tf.keras.layers.BatchNormalization):
                layer.trainable = False
        step = make_step(tune)
    for _ in range(500):
        loss = step(next(it))
    acc.reset_state()
    for batch in val:
        evaluate(batch)
    print(epoch, float(loss), float(acc.result()))
    model.save_weights(f"ck/{epoch}.weights.h5")
""",
    # Adam written out over stacked parameters of eight models.
    "torch-func-ensemble": """
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call, stack_module_state, vmap, grad, grad_and_value
from torch.utils.data import DataLoader, TensorDataset

def mlp(n):
    return nn.Sequential(nn.Linear(n, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

def main(x, y, xt, yt, members=8, epochs=200, lr=1e-3):
    mean, std = x.mean(0), x.std(0).clamp_min(1e-6)
    x, xt = (x - mean) / std, (xt - mean) / std
    models = [mlp(x.shape[1]) for _ in range(members)]
    params, buffers = stack_module_state(models)
    shell = mlp(x.shape[1]).to("meta")

    def loss(p, b, xs, ys):
        out = functional_call(shell, (p, b), (xs,))
        return F.mse_loss(out.squeeze(-1), ys)

    gv = vmap(grad_and_value(loss), in_dims=(0, 0, 0, 0))
    m = {k: torch.zeros_like(v) for k, v in params.items()}
    v = {k: torch.zeros_like(w) for k, w in params.items()}
    params = {k: w.detach() for k, w in params.items()}
    t = 0
    for epoch in range(epochs):
        orders = torch.stack([torch.randperm(len(x)) for _ in range(members)])
        for i in range(0, len(x), 128):
            idx = orders[:, i:i + 128]
            g, value = gv(params, buffers, x[idx], y[idx])
            t += 1
            for k in params:
                m[k] = 0.9 * m[k] + 0.1 * g[k]
                v[k] = 0.999 * v[k] + 0.001 * g[k] ** 2
                mh, vh = m[k] / (1 - 0.9 ** t), v[k] / (1 - 0.999 ** t)
                params[k] = params[k] - lr * mh / (vh.sqrt() + 1e-8)
    with torch.no_grad():
        preds = vmap(lambda p, b: functional_call(shell, (p, b), (xt,)).squeeze(-1))(params, buffers)
    print("rmse", (preds.mean(0) - yt).pow(2).mean().sqrt().item(), "spread", preds.std(0).mean().item())
    torch.save({"params": params, "mean": mean, "std": std}, "ensemble.pt")

if __name__ == "__main__":
    blob = torch.load("houses.pt")
    main(*blob)
""",
    # Two optimizers, toggled, accumulated and clipped by hand.
    "lightning-manual": """
import lightning as L
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, random_split
from torchvision import datasets, transforms

class VAEGAN(L.LightningModule):
    def __init__(self, z=64, lr=3e-4, accumulate=2, kl_end=1.0, warm=5000):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.enc = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.BatchNorm2d(128), nn.LeakyReLU(0.2), nn.Flatten())
        self.mu, self.logvar = nn.Linear(128 * 256, z), nn.Linear(128 * 256, z)
        self.dec = nn.Sequential(nn.Linear(z, 128 * 256), nn.Unflatten(1, (128, 16, 16)), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh())
        self.disc = nn.Sequential(nn.utils.spectral_norm(nn.Conv2d(3, 64, 4, 2, 1)), nn.LeakyReLU(0.2), nn.utils.spectral_norm(nn.Conv2d(64, 128, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128 * 256, 1))

    def encode(self, x):
        h = self.enc(x)
        return self.mu(h), self.logvar(h).clamp(-8, 8)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.dec(z), mu, logvar

    def training_step(self, batch, i):
        x, _ = batch
        opt_g, opt_d = self.optimizers()
        n = self.hparams.accumulate
        rec, mu, logvar = self(x)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        beta = self.hparams.kl_end * min(1.0, self.global_step / self.hparams.warm)
        self.toggle_optimizer(opt_g)
        loss_g = F.l1_loss(rec, x, reduction="none").sum((1, 2, 3)).mean() + beta * kl + F.softplus(-self.disc(rec)).mean()
        self.manual_backward(loss_g / n)
        if (i + 1) % n == 0:
            self.clip_gradients(opt_g, 1.0, "norm")
            opt_g.step()
            opt_g.zero_grad()
        self.untoggle_optimizer(opt_g)
        self.toggle_optimizer(opt_d)
        loss_d = F.softplus(-self.disc(x)).mean() + F.softplus(self.disc(rec.detach())).mean()
        self.manual_backward(loss_d / n)
        if (i + 1) % n == 0:
            opt_d.step()
            opt_d.zero_grad()
        self.untoggle_optimizer(opt_d)
        self.log_dict({"g": loss_g, "d": loss_d, "kl": kl, "beta": beta})

    def on_train_epoch_end(self):
        for s in self.lr_schedulers():
            s.step()

    def validation_step(self, batch, i):
        x, _ = batch
        rec, mu, logvar = self(x)
        self.log("val_l1", F.l1_loss(rec, x), prog_bar=True)

    def configure_optimizers(self):
        g = torch.optim.Adam([*self.enc.parameters(), *self.mu.parameters(), *self.logvar.parameters(), *self.dec.parameters()], self.hparams.lr, betas=(0.5, 0.9))
        d = torch.optim.Adam(self.disc.parameters(), self.hparams.lr, betas=(0.5, 0.9))
        return [g, d], [torch.optim.lr_scheduler.ExponentialLR(o, 0.99) for o in (g, d)]

tf = transforms.Compose([transforms.CenterCrop(148), transforms.Resize(64), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
full = datasets.CelebA("data", "train", transform=tf)
val = datasets.CelebA("data", "valid", transform=tf)
L.seed_everything(1)
trainer = L.Trainer(max_epochs=50, accelerator="auto", devices=1, precision="32-true", callbacks=[L.pytorch.callbacks.ModelCheckpoint(monitor="val_l1", mode="min")])
trainer.fit(VAEGAN(), DataLoader(full, 64, shuffle=True, num_workers=8, drop_last=True), DataLoader(val, 128, num_workers=8))
""",
    # Observers and statistics are frozen on the way.
    "qat-eager": """
import copy
import torch
from torch import nn
from torch.ao.quantization import QuantStub, DeQuantStub, fuse_modules_qat, get_default_qat_qconfig, prepare_qat, convert
import torch.ao.quantization as tq
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T

class ConvBN(nn.Sequential):
    def __init__(self, i, o, s=1):
        super().__init__(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o, momentum=0.1), nn.ReLU(inplace=False))

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.body = nn.Sequential(ConvBN(3, 32), ConvBN(32, 64, 2), ConvBN(64, 128, 2), nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Linear(128, 10)

    def forward(self, x):
        x = self.body(self.quant(x)).flatten(1)
        return self.dequant(self.fc(x))

    def fuse(self):
        for m in self.modules():
            if type(m) is ConvBN:
                fuse_modules_qat(m, ["0", "1", "2"], inplace=True)

def evaluate(net, loader):
    net.eval()
    hit = n = 0
    with torch.inference_mode():
        for x, y in loader:
            hit += (net(x).argmax(1) == y).sum().item()
            n += y.numel()
    return hit / n

mean, std = (0.491, 0.482, 0.447), (0.247, 0.243, 0.262)
train = DataLoader(datasets.CIFAR10("d", True, T.Compose([T.RandomCrop(32, 4), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(mean, std)])), 128, shuffle=True, num_workers=4)
test = DataLoader(datasets.CIFAR10("d", False, T.Compose([T.ToTensor(), T.Normalize(mean, std)])), 256)
net = Small()
net.load_state_dict(torch.load("float.pt", map_location="cpu"))
net.train()
net.fuse()
net.qconfig = get_default_qat_qconfig("fbgemm")
prepare_qat(net, inplace=True)
opt = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()
best, kept = 0, None
for epoch in range(8):
    net.train()
    if epoch > 3:
        net.apply(tq.disable_observer)
    if epoch > 2:
        net.apply(nn.intrinsic.qat.freeze_bn_stats)
    for x, y in train:
        opt.zero_grad()
        loss_fn(net(x), y).backward()
        opt.step()
    frozen = convert(copy.deepcopy(net).eval(), inplace=False)
    acc = evaluate(frozen, test)
    print(epoch, acc)
torch.save(frozen.state_dict(), "int8.pt")
""",
    # Rates and decays from tables, the last layer waits for an epoch.
    "dino-multi-crop": """
import copy
import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms as T

class Crops:
    def __init__(self, n_local=6):
        flip = T.Compose([T.RandomHorizontalFlip(), T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), T.RandomGrayscale(0.2)])
        norm = T.Compose([T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
        self.g = T.Compose([T.RandomResizedCrop(224, (0.4, 1.0)), flip, T.GaussianBlur(23), norm])
        self.l = T.Compose([T.RandomResizedCrop(96, (0.05, 0.4)), flip, norm])
        self.n = n_local

    def __call__(self, im):
        return [self.g(im), self.g(im), *(self.l(im) for _ in range(self.n))]

class Head(nn.Module):
    def __init__(self, i, o=65536, hidden=2048, neck=256):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(i, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, neck))
        self.last = nn.utils.weight_norm(nn.Linear(neck, o, bias=False))
        self.last.weight_g.data.fill_(1)
        self.last.weight_g.requires_grad = False

    def forward(self, x):
        return self.last(F.normalize(self.mlp(x), dim=-1))

class Loss(nn.Module):
    def __init__(self, o, st=0.1, tt=0.04, momentum=0.9):
        super().__init__()
        self.st, self.tt, self.momentum = st, tt, momentum
        self.register_buffer("center", torch.zeros(1, o))

    def forward(self, student, teacher, crops):
        s = [x / self.st for x in student.chunk(crops)]
        t = F.softmax((teacher - self.center) / self.tt, -1).detach().chunk(2)
        terms = [-(a * F.log_softmax(b, -1)).sum(-1).mean() for i, a in enumerate(t) for j, b in enumerate(s) if i != j]
        self.update(teacher)
        return sum(terms) / len(terms)

    @torch.no_grad()
    def update(self, teacher):
        self.center = self.center * self.momentum + teacher.mean(0, keepdim=True) * (1 - self.momentum)

def encoder():
    net = models.resnet50()
    net.fc = nn.Identity()
    return nn.Sequential(net, Head(2048))

def forward(net, crops):
    return torch.cat([net(torch.cat(g)) for g in (crops[:2], crops[2:]) if g])

def cosine(a, b, total, warm=0):
    up = [a * i / max(1, warm) for i in range(warm)]
    return up + [b + 0.5 * (a - b) * (1 + math.cos(math.pi * i / (total - warm))) for i in range(total - warm)]

def main(epochs=100, batch=64):
    loader = DataLoader(datasets.ImageFolder("train", Crops()), batch, shuffle=True, num_workers=10, drop_last=True)
    student, teacher = encoder().cuda(), encoder().cuda()
    teacher.load_state_dict(student.state_dict())
    teacher.requires_grad_(False)
    criterion = Loss(65536).cuda()
    plain = [p for p in student.parameters() if p.requires_grad and p.ndim <= 1]
    decayed = [p for p in student.parameters() if p.requires_grad and p.ndim > 1]
    opt = torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}], lr=5e-4)
    n = len(loader)
    lrs, wds, ms = cosine(5e-4 * batch / 256, 1e-6, epochs * n, 10 * n), cosine(0.04, 0.4, epochs * n), cosine(0.996, 1.0, epochs * n)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for i, (crops, _) in enumerate(loader):
            it = epoch * n + i
            for j, g in enumerate(opt.param_groups):
                g["lr"] = lrs[it]
                if j == 0:
                    g["weight_decay"] = wds[it]
            crops = [c.cuda(non_blocking=True) for c in crops]
            with torch.autocast("cuda"):
                with torch.no_grad():
                    t = teacher(torch.cat(crops[:2]))
                loss = criterion(forward(student, crops), t, len(crops))
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(student.parameters(), 3.0)
            if epoch < 1:
                for name, p in student.named_parameters():
                    if ".last." in name:
                        p.grad = None
            scaler.step(opt)
            scaler.update()
            with torch.no_grad():
                for a, b in zip(student.parameters(), teacher.parameters()):
                    b.data.mul_(ms[it]).add_((1 - ms[it]) * a.detach().data)
        torch.save({"student": student.state_dict(), "teacher": teacher.state_dict(), "opt": opt.state_dict(), "scaler": scaler.state_dict(), "criterion": criterion.state_dict(), "epoch": epoch}, "dino.pt")

main()
""",
    # A frozen teacher on the same inputs without labels.
    "hf-distill-trainer": """
import torch
import torch.nn.functional as F
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments

class DistilTrainer(Trainer):
    def __init__(self, *args, teacher=None, temperature=2.0, alpha=0.5, **kw):
        super().__init__(*args, **kw)
        self.teacher = teacher.to(self.args.device).eval()
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.temperature, self.alpha = temperature, alpha

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        out = model(**inputs)
        with torch.no_grad():
            guide = self.teacher(**{k: v for k, v in inputs.items() if k != "labels"}).logits
        t = self.temperature
        soft = F.kl_div(F.log_softmax(out.logits / t, -1), F.log_softmax(guide / t, -1), log_target=True, reduction="batchmean") * t * t
        loss = self.alpha * out.loss + (1.0 - self.alpha) * soft
        return (loss, out) if return_outputs else loss

tok = AutoTokenizer.from_pretrained("bert-base-uncased")
data = load_dataset("glue", "sst2").map(lambda b: tok(b["sentence"], truncation=True, max_length=128), batched=True)
student = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2)
teacher = AutoModelForSequenceClassification.from_pretrained("textattack/bert-base-uncased-SST-2")
args = TrainingArguments("out", learning_rate=5e-5, per_device_train_batch_size=32, per_device_eval_batch_size=128, num_train_epochs=4, warmup_ratio=0.1,
                         weight_decay=0.01, eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="accuracy", fp16=True)
trainer = DistilTrainer(student, args, train_dataset=data["train"], eval_dataset=data["validation"], data_collator=DataCollatorWithPadding(tok), tokenizer=tok,
                        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}, teacher=teacher)
trainer.train()
print(trainer.evaluate())
""",
    # A state of parameters that each update gives anew.
    "jax-style-torch-state": """
import torch
from torch import nn
from torch.func import functional_call, grad_and_value
import torch.nn.functional as F
from torch.utils.data import DataLoader
from typing import NamedTuple

class State(NamedTuple):
    params: dict
    buffers: dict
    m: dict
    step: int

def init(net):
    params = {k: p.detach().clone() for k, p in net.named_parameters()}
    return State(params, {k: b.clone() for k, b in net.named_buffers()}, {k: torch.zeros_like(p) for k, p in params.items()}, 0)

def make_update(net, schedule, decay=5e-4, momentum=0.9):
    def loss_fn(params, buffers, x, y):
        logits = functional_call(net, (params, buffers), (x,))
        return F.cross_entropy(logits, y), logits

    grads_of = grad_and_value(loss_fn, has_aux=True)

    def update(state, x, y):
        grads, (loss, logits) = grads_of(state.params, state.buffers, x, y)
        lr = schedule(state.step)
        m, params = {}, {}
        for k, p in state.params.items():
            g = grads[k] + (decay * p if p.ndim > 1 else 0.0)
            m[k] = momentum * state.m[k] + g
            params[k] = p - lr * m[k]
        return State(params, state.buffers, m, state.step + 1), loss

    return update

def run(net, train, test, epochs=30, top=0.1):
    total = epochs * len(train)
    schedule = lambda s: top * min(1.0, (s + 1) / 500) * (1 - s / total)
    net.train()
    update = make_update(net, schedule)
    state = init(net)
    for epoch in range(epochs):
        net.train()
        for x, y in train:
            state, loss = update(state, x, y)
        net.eval()
        hit = n = 0
        with torch.no_grad():
            for x, y in test:
                hit += (functional_call(net, (state.params, state.buffers), (x,)).argmax(1) == y).sum().item()
                n += len(y)
        print(epoch, loss.item(), hit / n)
        torch.save(state.params, "params.pt")

if __name__ == "__main__":
    from torchvision import datasets, transforms as T
    t = T.Compose([T.ToTensor(), T.Normalize((0.1307,), (0.3081,))])
    mk = lambda train: datasets.MNIST("d", train, transform=t, download=True)
    net = nn.Sequential(nn.Conv2d(1, 32, 3), nn.GroupNorm(4, 32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.GroupNorm(4, 64), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10))
    run(net, DataLoader(mk(True), 128, shuffle=True, drop_last=True), DataLoader(mk(False), 512))
""",
}


@lru_cache(maxsize=1)
def _rules() -> RuleBase:
    return load((), quiet=True)


@pytest.mark.parametrize("slug", sorted(PROGRAMS))
def test_right_code_is_not_blamed(slug: str, tmp_path: Path) -> None:
    """Neither a finding nor a cause that is held likely."""
    compile(PROGRAMS[slug], slug, "exec")
    script = tmp_path / "train.py"
    script.write_text(PROGRAMS[slug], encoding="utf-8")
    told = report(_rules(), script_files.read(script), "train.py")
    assert [f.symptom for f in told.faults if f.kind == "finding"] == []
    assert [cause for cause, _, p in told.ranking if p >= LIKELY] == []
