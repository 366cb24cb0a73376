"""Habitat tags of reef tiles (several tags for one tile), data parallel on Ascend.

msrun --worker_num=8 --local_worker_num=8 train_corals.py --root /data/reef
One folder for each site: pictures as .npy, uint8, 128 x 128 x 3, and a tags.csv with the columns file, tags ("sand;rubble").
"""
import argparse
import csv
import math
import os

import mindspore as ms
import numpy as np
from mindspore import amp, nn, ops
from mindspore.communication import get_group_size, get_rank, init
from mindspore.dataset import GeneratorDataset, vision


def read_index(root):
    rows = []
    for site in sorted(os.listdir(root)):
        with open(os.path.join(root, site, "tags.csv"), newline="") as f:
            rows += [(site, os.path.join(root, site, r["file"]), r["tags"].split(";")) for r in csv.DictReader(f)]
    return rows


class Tiles:
    def __init__(self, rows, tags):
        self.rows = rows
        self.column = {t: i for i, t in enumerate(tags)}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        _, path, names = self.rows[i]
        target = np.zeros(len(self.column), np.float32)
        target[[self.column[t] for t in names]] = 1.0
        return np.load(path), target


def make_dataset(tiles, batch, training, rank=0, ranks=1):
    data = GeneratorDataset(
        tiles, ["tile", "target"], shuffle=training, num_shards=ranks, shard_id=rank, num_parallel_workers=4
    )
    steps = [vision.Normalize(mean=[76.2, 109.8, 117.3], std=[41.6, 44.1, 46.9]), vision.HWC2CHW()]
    if training:
        steps = [vision.RandomHorizontalFlip(), vision.RandomVerticalFlip(), vision.RandomColorAdjust(0.2, 0.2)] + steps
    return data.map(steps, input_columns="tile").batch(batch, drop_remainder=training)


def conv(cin, cout, size, stride=1):
    return nn.Conv2d(cin, cout, size, stride, pad_mode="pad", padding=size // 2)


class Unit(nn.Cell):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(cin, cout, 3, stride), nn.BatchNorm2d(cout)
        self.conv2, self.bn2 = conv(cout, cout, 3), nn.BatchNorm2d(cout)
        self.short = nn.SequentialCell(conv(cin, cout, 1, stride), nn.BatchNorm2d(cout))

    def construct(self, x):
        y = ops.relu(self.bn1(self.conv1(x)))
        return ops.relu(self.bn2(self.conv2(y)) + self.short(x))


class TagNet(nn.Cell):
    def __init__(self, tags, widths=(32, 64, 128, 256)):
        super().__init__()
        self.stem = nn.SequentialCell(conv(3, widths[0], 5, 2), nn.BatchNorm2d(widths[0]), nn.ReLU())
        self.units = nn.SequentialCell([Unit(a, b, 2) for a, b in zip(widths[:-1], widths[1:])])
        self.drop = nn.Dropout(p=0.2)
        self.head = nn.Dense(widths[-1], tags)

    def construct(self, x):
        x = ops.mean(self.units(self.stem(x)), (2, 3))
        return self.head(self.drop(x))


def macro_f1(net, data):
    net.set_train(False)
    hit, said, true = 0, 0, 0
    for tile, target in data.create_tuple_iterator(num_epochs=1):
        guess = ops.sigmoid(net(tile).astype(ms.float32)).asnumpy() > 0.5
        target = target.asnumpy() > 0.5
        hit, said, true = hit + (guess & target).sum(0), said + guess.sum(0), true + target.sum(0)
    return float(np.mean(2 * hit / np.maximum(said + true, 1)))


def learning_rates(peak, steps, warmup):
    return [peak * min((i + 1) / warmup, 0.5 + 0.5 * math.cos(math.pi * i / steps)) for i in range(steps)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", required=True)
    p.add_argument("--device", default="Ascend")
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch", type=int, default=64, help="for each device")
    p.add_argument("--lr", type=float, default=0.2)
    p.add_argument("--seed", type=int, default=11)
    args = p.parse_args()

    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device(args.device)
    rank, ranks = 0, 1
    if "MS_WORKER_NUM" in os.environ:
        init()
        rank, ranks = get_rank(), get_group_size()
        ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_seed(args.seed)

    rows = read_index(args.root)
    tags = sorted({t for _, _, names in rows for t in names})
    sites = sorted({site for site, _, _ in rows})
    np.random.default_rng(args.seed).shuffle(sites)
    held = max(1, len(sites) // 8)
    test_sites, val_sites = sites[:held], sites[held : 2 * held]
    train_rows = [r for r in rows if r[0] not in test_sites + val_sites]
    train_data = make_dataset(Tiles(train_rows, tags), args.batch, True, rank, ranks)
    val_data = make_dataset(Tiles([r for r in rows if r[0] in val_sites], tags), args.batch, False)
    test_data = make_dataset(Tiles([r for r in rows if r[0] in test_sites], tags), args.batch, False)

    net = TagNet(len(tags))
    if args.device == "Ascend":
        net = amp.auto_mixed_precision(net, "O2")
    share = np.mean([[t in names for t in tags] for _, _, names in train_rows], axis=0)
    pos_weight = ms.Tensor(np.sqrt((1 - share) / np.maximum(share, 0.01)), ms.float32)
    loss_fn = nn.BCEWithLogitsLoss(pos_weight=pos_weight)

    steps = train_data.get_dataset_size() * args.epochs
    decayed = [w for w in net.trainable_params() if w.ndim > 1]
    others = [w for w in net.trainable_params() if w.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": 1e-4}, {"params": others, "weight_decay": 0.0}]
    optimizer = nn.Momentum(groups, learning_rates(args.lr, steps, steps // 20 + 1), 0.9)
    scaler = amp.DynamicLossScaler(2.0**16, 2, 1000)

    def forward(tile, target):
        loss = loss_fn(net(tile).astype(ms.float32), target)
        return scaler.scale(loss), loss

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
    average = nn.DistributedGradReducer(optimizer.parameters) if ranks > 1 else nn.Identity()

    @ms.jit
    def train_step(tile, target):
        (_, loss), grads = grad_fn(tile, target)
        grads = scaler.unscale(average(grads))
        finite = amp.all_finite(grads)
        if finite:
            optimizer(ops.clip_by_global_norm(grads, 2.0))
        scaler.adjust(finite)
        return loss

    best = -1.0
    for epoch in range(args.epochs):
        net.set_train(True)
        losses = [train_step(*b) for b in train_data.create_tuple_iterator(num_epochs=1)]
        f1 = macro_f1(net, val_data)
        if rank == 0:
            print(f"epoch {epoch}: loss {np.mean([float(x.asnumpy()) for x in losses]):.4f}, val f1 {f1:.4f}", flush=True)
            if f1 > best:
                best = f1
                ms.save_checkpoint(net, "best.ckpt")
    if rank == 0:
        ms.load_param_into_net(net, ms.load_checkpoint("best.ckpt"), strict_load=True)
        print(f"test f1 {macro_f1(net, test_data):.4f}")


if __name__ == "__main__":
    main()
