# ruff: noqa: E501
"""Right programs of clusters: MindSpore on Ascend and DeepSpeed, each in another hand; with files beside them."""

from __future__ import annotations

PROGRAMS: dict[str, str] = {
    # a class around the engine, config as a dict in the file, schedule and optimizer of its own
    "ds-class": """
import argparse, os
import deepspeed, torch
import torch.distributed as dist
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, DistributedSampler

MICRO, GAS = 16, 8
DS = {
    "train_micro_batch_size_per_gpu": MICRO,
    "gradient_accumulation_steps": GAS,
    "gradient_clipping": 0.5,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2},
}


class Runner:
    def __init__(self, net, train_set, val_set, epochs):
        self.sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
        self.loader = DataLoader(train_set, MICRO, sampler=self.sampler, num_workers=4, drop_last=True)
        self.val_loader = DataLoader(val_set, MICRO)
        total = epochs * len(self.loader) // GAS
        opt = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.05)
        sched = LambdaLR(opt, lambda s: min((s + 1) / 100, max(0.0, 1 - s / total)))
        self.engine, _, _, _ = deepspeed.initialize(model=net, optimizer=opt, lr_scheduler=sched, config=DS)
        self.criterion = nn.CrossEntropyLoss()
        self.epochs = epochs

    def one_epoch(self, epoch):
        self.engine.train()
        self.sampler.set_epoch(epoch)
        for img, cls in self.loader:
            out = self.engine(img.to(self.engine.device, torch.bfloat16))
            loss = self.criterion(out.float(), cls.to(self.engine.device))
            self.engine.backward(loss)
            self.engine.step()

    @torch.no_grad()
    def accuracy(self):
        self.engine.eval()
        right = count = 0
        for img, cls in self.val_loader:
            pred = self.engine(img.to(self.engine.device, torch.bfloat16)).argmax(1).cpu()
            right += (pred == cls).sum().item()
            count += cls.numel()
        return right / count

    def fit(self, folder):
        start = 0
        if os.path.exists(os.path.join(folder, "latest")):
            _, state = self.engine.load_checkpoint(folder)
            start = state["epoch"] + 1
        for epoch in range(start, self.epochs):
            self.one_epoch(epoch)
            acc = self.accuracy()
            if dist.get_rank() == 0:
                print(epoch, acc)
            self.engine.save_checkpoint(folder, client_state={"epoch": epoch})
""",
    # one function, a JSON file beside it, hand-made boundary asked only for the log
    "ds-function": """
import sys
import json
import deepspeed
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from transformers import AutoModelForCausalLM


def run(train_ids, cfg_path, out, epochs=3):
    deepspeed.init_distributed()
    torch.manual_seed(7)
    cfg = json.load(open(cfg_path))
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    sampler = DistributedSampler(train_ids, seed=7)
    loader = DataLoader(train_ids, batch_size=cfg["train_micro_batch_size_per_gpu"], sampler=sampler)
    updates = epochs * (len(loader) // cfg["gradient_accumulation_steps"])
    cfg["scheduler"] = {"type": "WarmupDecayLR", "params": {"total_num_steps": updates, "warmup_num_steps": 50}}
    model_engine, optimizer, _, lr_scheduler = deepspeed.initialize(
        model=model, model_parameters=[p for p in model.parameters() if p.requires_grad], config=cfg
    )
    for ep in range(epochs):
        sampler.set_epoch(ep)
        model_engine.train()
        for ids in loader:
            ids = ids.to(model_engine.local_rank)
            logits = model_engine(ids[:, :-1]).logits
            loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1))
            model_engine.backward(loss)
            if model_engine.is_gradient_accumulation_boundary() and model_engine.global_rank == 0:
                print(model_engine.global_steps, loss.item(), lr_scheduler.get_last_lr()[0])
            model_engine.step()
        model_engine.save_checkpoint(out, tag=f"epoch{ep}")


if __name__ == "__main__":
    run(torch.load(sys.argv[1]), "ds.json", sys.argv[2])
""",
    # a hand-written MindSpore step in a class, dict iterator
    "ms-class": """
import numpy as np
import mindspore as ms
from mindspore import nn, ops, dataset as ds
from mindspore.amp import DynamicLossScaler, all_finite, auto_mixed_precision


class Mlp(nn.Cell):
    def __init__(self, width, classes):
        super().__init__()
        self.body = nn.SequentialCell(
            nn.Dense(40, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(width, classes)
        )

    def construct(self, feats):
        return self.body(feats)


class Learner:
    def __init__(self, net, steps):
        self.net = auto_mixed_precision(net, "O2")
        rates = nn.cosine_decay_lr(1e-5, 2e-3, steps * 30, steps, 30)
        self.opt = nn.AdamWeightDecay(net.trainable_params(), rates, weight_decay=0.01)
        self.crit = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        self.scaler = DynamicLossScaler(scale_value=1024, scale_factor=2, scale_window=200)
        self.grads_of = ms.value_and_grad(self.cost, None, self.opt.parameters)

    def cost(self, feats, cls):
        return self.scaler.scale(self.crit(self.net(feats).astype(ms.float32), cls))

    def update(self, feats, cls):
        cost, grads = self.grads_of(feats, cls)
        grads = self.scaler.unscale(grads)
        good = all_finite(grads)
        if good:
            grads = ops.clip_by_global_norm(grads, 1.0)
            self.opt(grads)
        self.scaler.adjust(good)
        return self.scaler.unscale(cost)

    def accuracy(self, data):
        self.net.set_train(False)
        right, seen = 0, 0
        for row in data.create_dict_iterator(num_epochs=1):
            guess = self.net(row["feats"]).argmax(1)
            right += int((guess == row["cls"]).sum().asnumpy())
            seen += row["cls"].shape[0]
        return right / seen


def pipeline(feats, cls, training):
    data = ds.NumpySlicesDataset({"feats": feats, "cls": cls}, shuffle=training)
    return data.batch(64, drop_remainder=training)


def main(path):
    ms.set_seed(3)
    pack = np.load(path)
    mean, std = pack["xtr"].mean(0), pack["xtr"].std(0) + 1e-6
    train = pipeline(((pack["xtr"] - mean) / std).astype(np.float32), pack["ytr"].astype(np.int32), True)
    valid = pipeline(((pack["xva"] - mean) / std).astype(np.float32), pack["yva"].astype(np.int32), False)
    learner = Learner(Mlp(128, 5), train.get_dataset_size())
    best = 0.0
    for epoch in range(30):
        learner.net.set_train(True)
        for row in train.create_dict_iterator(num_epochs=1):
            cost = learner.update(row["feats"], row["cls"])
        acc = learner.accuracy(valid)
        print(epoch, cost, acc)
        if acc > best:
            best = acc
            ms.save_checkpoint(learner.net, "best.ckpt")


if __name__ == "__main__":
    main("table.npz")
""",
    # Model.train with callbacks and a shard of ImageFolder for each device
    "ms-model": """
import argparse
import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
import mindspore.dataset.transforms as transforms
from mindspore import nn
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model, CheckpointConfig, ModelCheckpoint, LossMonitor, TimeMonitor
from mindspore.amp import FixedLossScaleManager
from mindcv.models import resnet50


def create(folder, batch, training, rank_id=0, rank_size=1):
    data = ds.ImageFolderDataset(folder, num_parallel_workers=8, shuffle=training, num_shards=rank_size, shard_id=rank_id)
    norm = vision.Normalize(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375])
    if training:
        steps = [vision.RandomCropDecodeResize(224), vision.RandomHorizontalFlip(0.5), norm, vision.HWC2CHW()]
    else:
        steps = [vision.Decode(), vision.Resize(256), vision.CenterCrop(224), norm, vision.HWC2CHW()]
    data = data.map(operations=steps, input_columns="image", num_parallel_workers=8)
    data = data.map(operations=transforms.TypeCast(ms.int32), input_columns="label")
    return data.batch(batch, drop_remainder=training)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--data")
    p.add_argument("--val")
    args = p.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
    init()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_seed(1)
    train = create(args.data, 32, True, get_rank(), get_group_size())
    valid = create(args.val, 32, False)
    net = resnet50(num_classes=20)
    per_epoch = train.get_dataset_size()
    lr = nn.cosine_decay_lr(0.0, 0.1, 90 * per_epoch, per_epoch, 90)
    decayed = [p for p in net.trainable_params() if "beta" not in p.name and "gamma" not in p.name and "bias" not in p.name]
    rest = [p for p in net.trainable_params() if "beta" in p.name or "gamma" in p.name or "bias" in p.name]
    opt = nn.Momentum([{"params": decayed, "weight_decay": 1e-4}, {"params": rest}, {"order_params": net.trainable_params()}],
                      learning_rate=lr, momentum=0.9, loss_scale=1024)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    manager = FixedLossScaleManager(1024, drop_overflow_update=False)
    model = Model(net, loss_fn=loss, optimizer=opt, metrics={"acc"}, amp_level="O2", loss_scale_manager=manager)
    keep = ModelCheckpoint(prefix="r50", directory=f"ckpt_{get_rank()}", config=CheckpointConfig(save_checkpoint_steps=per_epoch))
    model.train(90, train, callbacks=[LossMonitor(), TimeMonitor(), keep], dataset_sink_mode=True)
    print(model.eval(valid))
""",
    # a TrainOneStep cell of its own, GradOperation, sentences
    "ms-cell": """
import mindspore as ms
import mindspore.numpy as mnp
from mindspore import nn, ops, Tensor, ParameterTuple
from mindspore.common.initializer import Normal, initializer
from mindspore.dataset import GeneratorDataset


class Tagger(nn.Cell):
    def __init__(self, vocab, tags, dim=96):
        super(Tagger, self).__init__()
        self.table = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim // 2, bidirectional=True, batch_first=True)
        self.drop = nn.Dropout(p=0.5)
        self.out = nn.Dense(dim, tags, weight_init=Normal(0.02))

    def construct(self, words):
        states, _ = self.lstm(self.table(words))
        return self.out(self.drop(states))


class MaskedLoss(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net
        self.ce = nn.CrossEntropyLoss(ignore_index=-1)

    def construct(self, words, tags):
        scores = self.net(words)
        return self.ce(scores.reshape((-1, scores.shape[-1])), tags.reshape((-1,)))


class OneStep(nn.Cell):
    def __init__(self, network, optimizer):
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = ops.GradOperation(get_by_list=True)

    def construct(self, words, tags):
        loss = self.network(words, tags)
        grads = self.grad(self.network, self.weights)(words, tags)
        grads = ops.clip_by_global_norm(grads, 5.0)
        return ops.depend(loss, self.optimizer(grads))


def train(sentences, dev, vocab, tags):
    ms.set_seed(5)
    ms.set_context(mode=ms.GRAPH_MODE)
    feed = GeneratorDataset(sentences, ["words", "tags"], shuffle=True).batch(32)
    check = GeneratorDataset(dev, ["words", "tags"], shuffle=False).batch(32)
    net = Tagger(vocab, tags)
    step = OneStep(MaskedLoss(net), nn.Adam(net.trainable_params(), learning_rate=1e-3))
    for epoch in range(20):
        step.set_train(True)
        for words, gold in feed.create_tuple_iterator(num_epochs=1):
            loss = step(words, gold)
        net.set_train(False)
        hit = total = 0
        for words, gold in check.create_tuple_iterator(num_epochs=1):
            known = gold != -1
            hit += ((net(words).argmax(-1) == gold) & known).sum().asnumpy()
            total += known.sum().asnumpy()
        print(epoch, float(loss.asnumpy()), hit / total)
""",
    # torch-like mint API, several tags, every decision at a probability
    "ms-mint": """
import os
import mindspore as ms
from mindspore import mint, nn, value_and_grad
from mindspore.mint import optim
from mindspore.dataset import GeneratorDataset, vision


class Net(nn.Cell):
    def __init__(self, tags):
        super().__init__()
        self.c1 = mint.nn.Conv2d(3, 32, 3, padding=1)
        self.c2 = mint.nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.n1, self.n2 = mint.nn.BatchNorm2d(32), mint.nn.BatchNorm2d(64)
        self.head = mint.nn.Linear(64, tags)

    def construct(self, x):
        x = mint.nn.functional.relu(self.n1(self.c1(x)))
        x = mint.nn.functional.relu(self.n2(self.c2(x)))
        return self.head(mint.mean(x, dim=(2, 3)))


def loaders(root, batch):
    names = sorted(os.listdir(root))
    cut = len(names) // 10
    out = []
    for part, training in ((names[cut:], True), (names[:cut], False)):
        data = GeneratorDataset(Tiles(root, part), ["tile", "tags"], shuffle=training)
        ops_ = [vision.RandomHorizontalFlip()] if training else []
        data = data.map(ops_ + [vision.Rescale(1 / 255.0, 0.0), vision.HWC2CHW()], "tile")
        out.append(data.batch(batch, drop_remainder=training))
    return out


net = Net(12)
bce = mint.nn.BCEWithLogitsLoss()
optimizer = optim.AdamW(net.trainable_params(), lr=2e-3, weight_decay=0.02)


def forward(tile, tags):
    logits = net(tile)
    return bce(logits, tags), logits


grad_fn = value_and_grad(forward, None, optimizer.parameters, has_aux=True)


def fit(root, epochs=25):
    ms.set_seed(0)
    train, held = loaders(root, 64)
    for epoch in range(epochs):
        net.set_train()
        for tile, tags in train.create_tuple_iterator():
            (loss, _), grads = grad_fn(tile, tags)
            optimizer(grads)
        net.set_train(False)
        good = every = 0
        for tile, tags in held.create_tuple_iterator():
            said = mint.sigmoid(net(tile)) > 0.5
            good += int((said == (tags > 0.5)).sum())
            every += tags.size
        print(epoch, good / every)
""",
    # data parallel by hand, python loop in PyNative mode
    "ms-parallel": """
import math
import os
from pathlib import Path
import numpy as np
import mindspore as ms
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init
from mindspore.dataset import GeneratorDataset


class Clips:
    def __init__(self, files):
        self.files = files

    def __getitem__(self, i):
        pack = np.load(self.files[i])
        return pack["mel"].astype(np.float32), np.int32(pack["word"])

    def __len__(self):
        return len(self.files)


class Speech(nn.Cell):
    def __init__(self, words):
        super().__init__()
        self.conv = nn.SequentialCell(
            nn.Conv1d(80, 128, 5, stride=2, pad_mode="same", has_bias=False), nn.BatchNorm1d(128), nn.ReLU(),
            nn.Conv1d(128, 128, 5, stride=2, pad_mode="same", has_bias=False), nn.BatchNorm1d(128), nn.ReLU(),
        )
        self.fc = nn.Dense(128, words)

    def construct(self, mel):
        return self.fc(self.conv(mel).mean(-1))


def main():
    init()
    rank, size = get_rank(), get_group_size()
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    ms.set_seed(42)
    files = sorted(Path("mels").glob("*.npz"))
    files, held = files[200:], files[:200]
    train = GeneratorDataset(Clips(files), ["mel", "word"], shuffle=True, num_shards=size, shard_id=rank).batch(32, True)
    test = GeneratorDataset(Clips(held), ["mel", "word"], shuffle=False).batch(32)
    net = Speech(35)
    steps = train.get_dataset_size() * 40
    rates = [0.2 * min(1.0, (i + 1) / 300) * 0.5 * (1 + math.cos(math.pi * i / steps)) for i in range(steps)]
    opt = nn.SGD(net.trainable_params(), rates, momentum=0.9, nesterov=True)
    reducer = nn.DistributedGradReducer(opt.parameters)
    loss_of = nn.CrossEntropyLoss()
    both = ms.value_and_grad(lambda mel, word: loss_of(net(mel), word), None, opt.parameters)
    for epoch in range(40):
        net.set_train(True)
        for mel, word in train.create_tuple_iterator(num_epochs=1):
            loss, grads = both(mel, word)
            opt(reducer(grads))
        net.set_train(False)
        if rank == 0:
            right = sum(int((net(m).argmax(1) == w).sum()) for m, w in test.create_tuple_iterator(num_epochs=1))
            print(epoch, float(loss), right / len(held))


if __name__ == "__main__":
    main()
""",
    # draws with the framework's own operations in construct; mixed precision in bf16
    "ms-graph": """
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.amp import auto_mixed_precision


class Noisy(nn.Cell):
    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = nn.CellList([nn.Dense(dim, dim, activation="gelu") for _ in range(depth)])
        self.norms = nn.CellList([nn.LayerNorm((dim,)) for _ in range(depth)])
        self.gain = Parameter(Tensor(1.0, ms.float32), name="gain")
        self.sigma = 0.1

    def construct(self, x):
        if self.training:
            x = x + self.sigma * ops.standard_normal(x.shape).astype(x.dtype)
        for i in range(len(self.blocks)):
            x = x + self.blocks[i](self.norms[i](x))
        return self.gain * x


def fit(pairs, width, epochs):
    ms.set_context(mode=ms.GRAPH_MODE)
    net = auto_mixed_precision(Noisy(width, 4), "O2", ms.bfloat16)
    mse = nn.MSELoss()
    opt = nn.AdamWeightDecay(net.trainable_params(), learning_rate=1e-3)

    def forward(x, y):
        return mse(net(x).astype(ms.float32), y)

    grad = ms.value_and_grad(forward, None, opt.parameters)

    @ms.jit
    def step(x, y):
        loss, g = grad(x, y)
        opt(g)
        return loss

    for epoch in range(epochs):
        net.set_train()
        total, count = 0.0, 0
        for x, y in pairs.create_tuple_iterator(num_epochs=1):
            total += float(step(x, y))
            count += 1
        print(epoch, total / count)
""",
}
BESIDE: dict[str, dict[str, str]] = {
    "ds-function": {
        "ds.json": '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8, "gradient_clipping": 1.0,\n'
        '"fp16": {"enabled": true, "loss_scale": 0}, "zero_optimization": {"stage": 1},\n'
        '"optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}}\n'
    }
}
