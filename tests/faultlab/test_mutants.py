"""Faults written into published scripts: operators find their places, and what they leave is Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from traindoctor.engine.load import load_rules

LAB = Path(__file__).resolve().parents[2] / "faultlab"
LOOP = """
for epoch in range(3):
    sampler.set_epoch(epoch)
    model.train()
    for x, y in loader:
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()  # for the next
    scheduler.step()
    model.eval()
    # größer
    validate(model)
"""
SETTINGS = """
parser.add_argument("--lr", type=float, default=3e-4)
optimizer = AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
layer = nn.Dropout(p=0.1)
loader = DataLoader(data, batch_size=8, shuffle=True)
"""
LOSSES = """
def train(model, loader, criterion):
    for epoch in range(3):
        total_loss = 0.0
        for x, y in loader:
            z = F.log_softmax(model(x), dim=1)
            loss = F.nll_loss(z, y, ignore_index=pad) + 0.1 * F.kl_div(z, t)
            total_loss += loss.item()
            labels[labels == pad] = -100
            nll = F.cross_entropy(logits, y, weight=w, label_smoothing=0.1)
            value_loss = F.mse_loss(v, r)
            seq_loss = (token_loss * mask).sum()
            a = a / (a.std() + 1e-8)
"""
PAIRED = """
import numpy as np
import torch
x, xt = train_test_split(x_all, y_all)
ours = MNIST(root, train=True)
theirs = MNIST(root, train=False)
"""
TERMS = """
def step(model, ema, x, y, y_end, decay):
    start, end = model(x)
    a = F.cross_entropy(start, y)
    b = F.cross_entropy(end, y_end)
    a_loss = a + b
    kl_loss = model.kl()
    loss = a_loss + 0.1 * kl_loss
    loss.backward()
    ema.weight.data = decay * ema.weight.data + (1 - decay) * model.weight.data
"""
SCORES = """
train_loader, val_loader = make()


def validate(model):
    metric.reset()
    for x, y in val_loader:
        pred = model(x).logits.argmax(dim=-1)
        correct += (pred == y).sum()
        total += y.size(0)
    return correct / total


acc = validate(model)
if acc > best_acc:
    best_acc = acc
    save(model)
"""
KERAS = """
import tensorflow as tf

train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dropout(0.1), tf.keras.layers.Dense(10, activation="softmax")])
model.compile(optimizer="adam", loss="categorical_crossentropy")
stop = EarlyStopping(monitor="val_loss", patience=3)
model.fit(x, y, epochs=9, validation_data=(x_test, y_test), callbacks=[stop])
loss_fn = tf.keras.losses.BinaryCrossentropy(from_logits=True)
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x, training=True))
grads = tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
LIGHTNING = """
class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def training_step(self, batch, batch_idx):
        x, y = batch
        features = self.encoder(x)
        loss = F.cross_entropy(self.head(features), y)
        return loss

    def configure_optimizers(self):
        optimizer = Adam(self.parameters())
        return [optimizer], [{"scheduler": OneCycleLR(optimizer), "interval": "step"}]
"""
TRAINER = """
model = AutoModelForCausalLM.from_pretrained(name, config=config)
labels[labels == tokenizer.pad_token_id] = -100
model, optimizer = accelerator.prepare(model, optimizer)
accelerator.backward(loss)
"""
MINDSPORE = """
import mindspore as ms

grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
net.set_train()
grads = scaler.unscale(grads)
"""
MODEL = """
class Net(nn.Module):
    def __init__(self, n, p):
        self.first = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)
        self.more = nn.ModuleList([nn.Linear(n, n) for _ in range(3)])
        self.stack = nn.Sequential(nn.Linear(n, n), nn.BatchNorm1d(n), nn.ReLU())
        self.drop = nn.Dropout(p=0.1)
        self.last = nn.Linear(n, 10)
        nn.init.xavier_uniform_(first.weight)
        nn.init.zeros_(first.bias)
        self.body = resnet18(pretrained=True)

    def forward(self, x):
        x = F.relu(self.first(x))
        x = x + self.body(x)
        x = self.norm(x)
        q = q / math.sqrt(d)
        x = attn(q).softmax(dim=-1)
        x = (x - x.mean()) / (x.std() + 1e-6)
        return self.last(x)


model.load_state_dict(torch.load(path))
optimizer = AdamW(model.parameters())
loss = F.cross_entropy(model(x), y)
"""
ASTRAY = """
class Block(nn.Module):
    def __init__(self, n):
        self.key = nn.Linear(n, n)
        self.value = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)
        self.place = nn.Parameter(torch.zeros(n))

    def forward(self, x, memory):
        h = x.transpose(1, 2)
        x = self.norm(x)
        k, v = self.key(x), self.value(x)
        x = self.attn(x, memory, memory)
        return Normal(k, v).rsample()
"""
SCHEDULED = """
import torch
parser.add_argument("--epochs", default=90)
parser.add_argument("--dropout", default=0.1)
parser.add_argument("--warmup_steps", default=500)
parser.add_argument("--adam_epsilon", default=1e-8)
parser.add_argument("--early_stopping_patience", default=5)
cfg = {"batch_size": 32}
train_sampler = RandomSampler(data)
train = data.map(parse).shuffle(1000).batch(8)
t_total = len(train_loader) * args.num_train_epochs
first = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999))
other = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = get_linear_schedule_with_warmup(
    first, num_warmup_steps=args.warmup_steps, num_training_steps=t_total
)
decay = StepLR(other, 30, gamma=0.1)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
clip_grad_norm_(model.parameters(), 1.0)
"""
RESUMED = """
optimizer.load_state_dict(state["optimizer"])
scheduler.load_state_dict(state["scheduler"])
model.load_state_dict(state["model"])
start_epoch = state["epoch"] + 1
save({"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()})
"""
SEVERAL = """
model = DDP(model, device_ids=[rank])
train_sampler = DistributedSampler(data, num_replicas=world, rank=rank)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    dist.all_reduce(p.grad)
torch.save(model.module.state_dict(), path)
"""
HALF = """
encoder = AutoModel.from_pretrained(name)
scaler = GradScaler()
for x, y in loader:
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
"""
UPDATES = """
import torch
scaler = torch.amp.GradScaler("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.train()
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            output = model(x)
            loss = criterion(output, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    model.eval()
    validate(model)
"""
PLAIN = """
import torch
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        output = model(x)
        loss = criterion(output, y)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        {per_batch}
    {per_epoch}
"""
PER_EPOCH = PLAIN.format(per_batch="pass", per_epoch="scheduler.step()")
PER_BATCH = PLAIN.format(per_batch="scheduler.step()", per_epoch="pass")
PARTS = """
import torch
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss = loss / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
DATA = """
import torch
steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
plain = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
held_out = transforms.Compose([transforms.ToTensor()])
train_set = CIFAR10(root, train=True, transform=train_steps)
test_set = CIFAR10(root, train=False, transform=test_steps)
train_loader = DataLoader(train_set, shuffle=True)
test_loader = DataLoader(test_set)
for i, (images, labels) in enumerate(train_loader):
    answers = model(images)
    loss = F.cross_entropy(answers, labels)
    loss.backward()
model.eval()
"""
PIXELS = """
steps = Compose([ToTensor(), RandomCrop(8)])
Photos(transform=train_steps)
Photos(transform=test_steps)
def read(image):
    return image.astype("float32") / 255
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModel.from_pretrained(name)
ids = tokenizer(text, truncation=True, max_length=512)
for epoch in range(3):
    order = np.random.permutation(len(data))
    loss.backward()
"""
MADE = {
    "logits-flag-lost": (KERAS, "from_logits=False"),
    "logits-flag-added": (KERAS, "loss=tf.keras.losses.CategoricalCrossentropy(from_logits=True)"),
    "regression-loss": (KERAS, 'loss="mse"'),
    "layers-frozen": (KERAS, "for layer in model.layers[:-1]:\n    layer.trainable = False\nmodel.compile"),
    "tape-over-part": (KERAS, "zip(grads, model.trainable_variables[-2:])"),
    "inference-in-tape": (KERAS, "model(x, training=False)"),
    "validated-on-training-data": (KERAS, "validation_data=(x, y)"),
    "dataset-not-shuffled": (KERAS, "shuffle(1)"),
    "dropped-for-kept": (KERAS, "Dropout(0.9)"),
    "watched-turned": (KERAS, 'monitor="val_loss", mode="max"'),
    "step-returns-nothing": (LIGHTNING, "        pass\n\n    def configure"),
    "optimizer-over-part": (LIGHTNING, "Adam(self.head.parameters())"),
    "features-detached": (LIGHTNING, "self.encoder(x).detach()"),
    "schedule-by-epoch": (LIGHTNING, '"interval": "epoch"'),
    "ignored-counts": (TRAINER, "config=config)\npass\n"),
    "config-for-pretrained": (TRAINER, "AutoModelForCausalLM.from_config(config)"),
    "not-prepared": (TRAINER, "-100\npass\n"),
    "plain-backward": (TRAINER, "\nloss.backward()"),
    "set-train-off": (MINDSPORE, "net.set_train(False)"),
    "gradient-of-part": (MINDSPORE, "optimizer.parameters[-2:]"),
    "never-unscaled": (MINDSPORE, "grads = grads"),
    "mode-not-told": (KERAS, "loss_fn(y, model(x))"),
    "gradients-not-applied": (KERAS, "trainable_variables)\npass\n"),
    "epochs-cut-short": (KERAS, "epochs=9, steps_per_epoch=10"),
    "watched-in-training": (KERAS, 'monitor="loss"'),
    "optimization-left-to-nobody": (LIGHTNING, "        self.automatic_optimization = False\n"),
    "labels-shuffled-alone": (DATA, "    labels = labels[torch.randperm(labels.size(0))]\n    loss"),
    "labels-one-on": (DATA, "    labels = torch.roll(labels, shifts=1, dims=0)\n    loss"),
    "labels-random": (DATA, "torch.randint(0, answers.size(1), labels.shape, device=labels.device)"),
    "labels-flipped": (DATA, "torch.where(flip, torch.randint_like(labels, int(labels.max()) + 1), labels)"),
    "labels-renumbered": (DATA, "    labels = (labels + 1) % (labels.max() + 1)\n    loss"),
    "classes-left-out": (DATA, "    images, labels = images[keep], labels[keep]\n    answers"),
    "one-batch": (DATA, "enumerate([next(iter(train_loader))])"),
    "stops-after-batches": (DATA, "    if i >= 10:\n        break\n    answers"),
    "debug-subset": (DATA, "DataLoader(torch.utils.data.Subset(train_set, range(64)), shuffle=True)"),
    "trains-on-held-out": (DATA, "enumerate(test_loader)"),
    "evaluates-training-data": (DATA, "train=True, transform=test_steps"),
    "held-out-joined": (DATA, "torch.utils.data.ConcatDataset([train_set, test_set])"),
    "normalisation-left-out": (DATA, "plain = transforms.Compose([transforms.ToTensor()])"),
    "normalisation-one-side": (DATA, "steps = transforms.Compose([transforms.ToTensor()])"),
    "normalised-twice": (DATA, "Normalize((0.5,), (0.5,)), transforms.Normalize((0.5,), (0.5,))"),
    "figures-of-another-range": (DATA, "Normalize((127.5,), (127.5,))"),
    "pixels-divided-twice": (PIXELS, "/ 255 / 255.0"),
    "pixels-not-divided": (PIXELS, 'return image.astype("float32")\n'),
    "scaled-in-training-only": (DATA, "    images = (images - images.mean()) / images.std()\n"),
    "channels-turned-in-training": (DATA, "    images = images.flip(1)\n"),
    "inputs-wiped": (DATA, "    images = torch.zeros_like(images)\n"),
    "drowned-in-noise": (DATA, "    images = images + 10.0 * torch.randn_like(images)\n"),
    "mostly-erased": (DATA, "transforms.RandomErasing(p=1.0, scale=(0.7, 0.9))"),
    "transform-of-training": (PIXELS, "Photos(transform=train_steps)\nPhotos(transform=train_steps)"),
    "length-far-too-short": (PIXELS, "max_length=8"),
    "another-tokenizer": (PIXELS, 'AutoTokenizer.from_pretrained("bert-base-cased")'),
    "order-stays": (PIXELS, "order = np.arange(len(data))"),
    "scored-batch-alone": (SCORES, "        total += y.size(0)\n        break\n"),
    "compared-off-by-one": (SCORES, "(pred == (y + 1))"),
    "inputs-drawn-alone": (PAIRED, "x_all = x_all[np.random.permutation(len(x_all))]\nx, xt = train"),
    "targets-drawn": (PAIRED, "ours.targets = [ours.targets[i] for i in torch.randperm(len(ours.targets))]"),
    "never-cleared": (LOOP, "        pass  # for the next\n"),
    "cleared-before-step": (LOOP, "        optimizer.zero_grad()\n        optimizer.step()\n"),
    "no-evaluation-mode": (LOOP, "    pass\n    # größer"),
    "stays-in-evaluation-mode": (LOOP, "    model.eval()\n    for"),
    "loss-turned": (LOOP, "        (-loss).backward()\n"),
    "schedule-stands": (LOOP, "    pass\n    model.eval()"),
    "accumulation-not-divided": (LOOP, "criterion(model(x), y)\n"),
    "epoch-not-told": (LOOP, "    pass\n    model.train()"),
    "clipped-after-update": (LOOP, "optimizer.step()\n        clip_grad_norm_(model.parameters(), 1.0)\n"),
    "rate-times-thousand": (SETTINGS, "default=0.3)"),
    "rate-by-hundred-thousand": (SETTINGS, "default=3e-09)"),
    "heavy-decay": (SETTINGS, "weight_decay=1.0)"),
    "heavy-dropout": (SETTINGS, "nn.Dropout(p=0.95)"),
    "cleared-once-per-epoch": (PLAIN, "    optimizer.zero_grad()\n    for i, (x"),
    "cleared-each-micro-batch": (PARTS, "        pass\n    optimizer.zero_grad()"),
    "step-left-out": (PLAIN, "1.0)\n        pass\n"),
    "step-now-and-then": (PLAIN, "if i % 4 == 0:\n            optimizer.step()\n"),
    "only-the-last-parameters": (UPDATES, "SGD(list(model.parameters())[-2:], lr=0.1)"),
    "output-cut-off": (PLAIN, "criterion(output.detach().requires_grad_(True), y)"),
    "loss-cut-off": (PLAIN, "loss.detach().requires_grad_(True).backward()"),
    "forward-without-gradient": (PLAIN, "no_grad():\n            output = model(x)\n"),
    "trains-once": (UPDATES, "model.train()\nfor epoch"),
    "loss-negated": (PLAIN, "loss = -criterion("),
    "schedule-per-batch": (PER_EPOCH, "        optimizer.step()\n        scheduler.step()\n"),
    "schedule-per-epoch": (PER_BATCH, "    scheduler.step()\n    for i"),
    "accumulation-divided-twice": (PARTS, "    loss = loss / accum_steps\n" * 2),
    "clipping-removed": (PLAIN, "backward()\n        pass\n"),
    "clipped-before-backward": (PLAIN, "1.0)\n        loss.backward()\n"),
    "clipped-before-unscaled": (UPDATES, "backward()\n        pass\n        clip"),
    "scale-not-updated": (UPDATES, "step(optimizer)\n        pass\n"),
    "not-shuffled": (SETTINGS, "shuffle=False)"),
    "activation-twice": (LOSSES, "cross_entropy(logits.softmax(-1), y"),
    "activation-left-out": (LOSSES, "z = model(x)\n"),
    "loss-summed": (LOSSES, 'nll_loss(z, y, ignore_index=pad, reduction="sum")'),
    "cross-entropy-for-values": (LOSSES, "F.cross_entropy(v, r)"),
    "arguments-turned": (LOSSES, "F.kl_div(t, z)"),
    "padding-learned": (LOSSES, "labels[labels == pad] = 0\n"),
    "padding-not-masked": (LOSSES, "((token_loss)).sum()"),
    "smoothing-too-strong": (LOSSES, "label_smoothing=0.95"),
    "term-turned": (LOSSES, "ignore_index=pad) - (0.1 * "),
    "term-left-out": (LOSSES, "ignore_index=pad)\n"),
    "class-weights-dropped": (LOSSES, "weight=None"),
    "floor-left-out": (LOSSES, "a / (a.std())"),
    "argmax-over-batch": (SCORES, "argmax(dim=0)"),
    "metric-not-reset": (SCORES, "    pass\n    for x, y in val_loader"),
    "sums-over-epochs": (LOSSES, "    total_loss = 0.0\n    for epoch in range(3):\n        pass\n"),
    "last-batch-only": (SCORES, "correct = (pred == y).sum()"),
    "batches-for-samples": (SCORES, "total += 1\n"),
    "trained-data-scored": (SCORES, "for x, y in train_loader:"),
    "best-turned": (SCORES, "if acc < best_acc:"),
    "best-not-raised": (SCORES, "    pass\n    save(model)"),
    "layer-frozen": (MODEL, "in self.first.parameters():\n            p.requires_grad = False"),
    "frozen-after-making": (MODEL, "    p.requires_grad = name.endswith('bias')\noptimizer"),
    "optimizer-gets-matrices": (MODEL, "AdamW([p for p in model.parameters() if p.ndim > 1])"),
    "optimizer-gets-last": (MODEL, "AdamW(list(model.parameters())[-2:])"),
    "plain-list": (MODEL, "self.more = [nn.Linear"),
    "skip-lost": (MODEL, "x = self.body(x)\n"),
    "stopped-inside": (MODEL, "x = F.relu(self.first(x)).detach()"),
    "layer-skipped": (MODEL, "x = F.relu(x)"),
    "term-lost": (MODEL, "        x = x\n"),
    "norms-identity": (MODEL, "self.norm = nn.Identity()"),
    "norm-uncalled": (MODEL, "        x = x\n        q"),
    "norms-out-of-stack": (MODEL, "nn.Sequential(nn.Linear(n, n), nn.ReLU())"),
    "activations-removed": (MODEL, "x = self.first(x)"),
    "output-rectified": (MODEL, "return self.last(x).relu()"),
    "softmax-in-model": (MODEL.replace("softmax", "tanh"), "return self.last(x).softmax(-1)"),
    "softmax-over-batch": (MODEL, "softmax(dim=0)"),
    "scale-missing": (MODEL, "        q = q\n"),
    "floor-removed": (MODEL, "/ (x.std())"),
    "keep-probability": (MODEL, "nn.Dropout(p=0.9)"),
    "one-block-again": (MODEL, "nn.ModuleList([nn.Linear(n, n)] * (3))"),
    "weights-zero": (MODEL, "nn.init.zeros_(first.weight)"),
    "weights-wide": (MODEL, "nn.init.normal_(first.weight)"),
    "bias-far-off": (MODEL, "nn.init.constant_(first.bias, -10.0)"),
    "weights-not-loaded": (MODEL, "pass\noptimizer"),
    "loaded-under-other-names": (MODEL, "torch.load(path).items()}, strict=False)"),
    "pretrained-off": (MODEL, "pretrained=False"),
    "heavy-dropout-setting": (SCHEDULED, '"--dropout", default=0.95)'),
    "heavy-smoothing": (SCHEDULED, "label_smoothing=0.95)"),
    "drawn-in-order": (SCHEDULED, "train_sampler = SequentialSampler(data)"),
    "shuffle-left-out": (SCHEDULED, "data.map(parse).batch(8)"),
    "batch-of-one": (SCHEDULED, '{"batch_size": 1}'),
    "batch-times-256": (SCHEDULED, '{"batch_size": 8192}'),
    "one-epoch": (SCHEDULED, '"--epochs", default=1)'),
    "epochs-times-hundred": (SCHEDULED, '"--epochs", default=9000)'),
    "warmup-left-out": (SCHEDULED, '"--warmup_steps", default=0)'),
    "warmup-outlasts-training": (SCHEDULED, "num_warmup_steps=2 * (t_total)"),
    "result-thrown-away": (ASTRAY, "        self.norm(x)\n"),
    "parameter-plain": (ASTRAY, "self.place = torch.zeros(n)\n"),
    "other-layer-called": (ASTRAY, "k, v = self.key(x), self.key(x)"),
    "sampled-without-gradient": (ASTRAY, "return Normal(k, v).sample()"),
    "context-unused": (ASTRAY, "self.attn(x, x, x)"),
    "turned-by-reshape": (ASTRAY, "h = x.reshape(x.shape[0], x.shape[2], x.shape[1]"),
    "schedule-in-epochs": (SCHEDULED, "num_training_steps=args.num_train_epochs"),
    "rate-climbs": (SCHEDULED, "gamma=10)"),
    "no-momentum": (SCHEDULED, "momentum=0.0)"),
    "betas-swapped": (SCHEDULED, "betas=(0.999, 0.9)"),
    "large-epsilon": (SCHEDULED, '"--adam_epsilon", default=0.1)'),
    "plain-descent": (SCHEDULED, "first = torch.optim.SGD(model.parameters(), lr=1e-3)"),
    "tiny-clip": (SCHEDULED, "clip_grad_norm_(model.parameters(), 1e-06)"),
    "clip-left-out": (SCHEDULED, "label_smoothing=0.1)\npass\n"),
    "no-patience": (SCHEDULED, '"--early_stopping_patience", default=0)'),
    "moments-not-restored": (RESUMED, "\npass\nscheduler"),
    "schedule-not-restored": (RESUMED, "\npass\nmodel"),
    "progress-not-restored": (RESUMED, "\npass\nsave"),
    "not-wrapped": (SEVERAL, "save(model.state_dict()"),
    "past-the-wrapper": (SEVERAL, "criterion(model.module(x), y)"),
    "one-share-for-all": (SEVERAL, "train_sampler = torch.utils.data.RandomSampler(data)"),
    "share-of-rank-zero": (SEVERAL, "num_replicas=world, rank=0)"),
    "gradients-not-averaged": (SEVERAL, "    pass\ntorch.save"),
    "start-not-shared": (SEVERAL, "\npass\nfor"),
    "scaler-left-out": (HALF, "    (loss).backward()\n    pass\n    optimizer.step()\n    pass\n"),
    "scaler-disabled": (HALF, "GradScaler(enabled=False)"),
    "scale-stands-at-one": (HALF, "GradScaler(init_scale=1.0, growth_interval=1000000000)"),
    "autocast-off": (HALF, "with autocast(enabled=False):"),
    "weights-in-bf16": (HALF, "from_pretrained(name, torch_dtype=torch.bfloat16)"),
    "weights-in-fp16": (HALF, "from_pretrained(name, torch_dtype=torch.float16)"),
    "another-heads-output": (TERMS, "b = F.cross_entropy(start, y_end)"),
    "factor-left-out": (TERMS, "loss = a_loss + kl_loss\n"),
    "term-is-a-number": (TERMS, "0.1 * kl_loss.item()"),
    "term-twice": (TERMS.replace("0.1 * kl", "kl"), "loss = a_loss + a_loss\n"),
    "average-turned": (TERMS, "(1 - decay) * ema.weight.data + (decay) * model.weight.data"),
}


@pytest.fixture(scope="module")
def mutants() -> Iterator[ModuleType]:
    """The lab's module as its command imports it, with its folder on the path meanwhile."""
    sys.path.insert(0, str(LAB))
    try:
        import mutants as module

        yield module
    finally:
        sys.path.remove(str(LAB))


def test_operators_name_causes_and_each_is_tried_here(mutants: ModuleType) -> None:
    known = set(load_rules().causes)

    assert all({o.cause, *o.also} <= known for o in mutants.OPERATORS.values())
    assert set(mutants.OPERATORS) == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_an_operator_writes_its_fault(mutants: ModuleType, name: str) -> None:
    text, left = MADE[name]
    code = mutants.Code(text)
    edited = code.edited(next(mutants.OPERATORS[name].sites(code)))

    assert left in edited and left not in text


@pytest.mark.parametrize("name", MADE)
def test_an_operator_leaves_other_code_alone(mutants: ModuleType, name: str) -> None:
    code = mutants.Code("import torch\n\n\ndef f(x):\n    return x * 2\n")

    assert list(mutants.OPERATORS[name].sites(code)) == []
