"""Kinds of cuneiform tablets by a small residual network on several Ascend devices."""
import argparse
import math
import os

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.transforms as C
import mindspore.dataset.vision as V
import numpy as np
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init
from mindspore.train import CheckpointConfig, LossMonitor, Model, ModelCheckpoint, TimeMonitor


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="tablets")
    p.add_argument("--epochs", type=int, default=90)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--warm", type=int, default=5)
    p.add_argument("--start", type=int, default=0, help="epochs that the checkpoint has behind it")
    p.add_argument("--ckpt", default="")
    p.add_argument("--parallel", action="store_true")
    return p.parse_args()


def create_dataset(folder, batch, training, size, rank):
    if training:
        data = ds.ImageFolderDataset(os.path.join(folder, "train"), num_parallel_workers=8, shuffle=True, num_shards=size, shard_id=rank)
        ops = [V.RandomCropDecodeResize(128, scale=(0.5, 1.0)), V.RandomHorizontalFlip()]
    else:
        data = ds.ImageFolderDataset(os.path.join(folder, "valid"), num_parallel_workers=8, shuffle=False)
        ops = [V.Decode(), V.Resize(146), V.CenterCrop(128)]
    ops += [V.Normalize([127.5] * 3, [64.0] * 3), V.HWC2CHW()]
    data = data.map(ops, "image", num_parallel_workers=8)
    data = data.map(C.TypeCast(ms.int32), "label")
    return data.batch(batch, drop_remainder=training)


class Block(nn.Cell):
    def __init__(self, i, o, stride):
        super().__init__()
        self.a = nn.SequentialCell(nn.Conv2d(i, o, 3, stride), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3), nn.BatchNorm2d(o))
        self.s = nn.SequentialCell(nn.Conv2d(i, o, 1, stride), nn.BatchNorm2d(o))
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.a(x) + self.s(x))


class Net(nn.Cell):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.SequentialCell(Block(3, 32, 2), Block(32, 64, 2), Block(64, 128, 2), Block(128, 256, 2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.SequentialCell(nn.Flatten(), nn.Dense(256, classes))

    def construct(self, x):
        return self.head(self.pool(self.body(x)))


def rates(peak, warm, epochs, steps, begin):
    """One rate per step from step begin on."""
    out = []
    for i in range(epochs * steps):
        if i < warm * steps:
            out.append(peak * (i + 1) / (warm * steps))
        else:
            out.append(0.5 * peak * (1 + math.cos(math.pi * (i - warm * steps) / ((epochs - warm) * steps))))
    return ms.Tensor(np.array(out[begin:], np.float32))


def groups(net, decay):
    plain = [p for p in net.trainable_params() if p.name.endswith((".gamma", ".beta", ".bias"))]
    names = {p.name for p in plain}
    rest = [p for p in net.trainable_params() if p.name not in names]
    return [{"params": rest, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}, {"order_params": net.trainable_params()}]


def main():
    args = parse()
    ms.set_seed(5)
    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
    size, rank = 1, 0
    if args.parallel:
        init()
        size, rank = get_group_size(), get_rank()
        ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=size)

    train = create_dataset(args.data, args.batch, True, size, rank)
    valid = create_dataset(args.data, args.batch, False, size, rank)
    steps = train.get_dataset_size()
    net = Net(24)
    lr = rates(args.lr * size * args.batch / 256, args.warm, args.epochs, steps, args.start * steps)
    opt = nn.Momentum(groups(net, 1e-4), lr, 0.9, loss_scale=1024)
    if args.ckpt:
        state = ms.load_checkpoint(args.ckpt)
        ms.load_param_into_net(net, state)
        ms.load_param_into_net(opt, {k: v for k, v in state.items() if k != "global_step"})

    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss, opt, metrics={"top1": nn.Top1CategoricalAccuracy()}, amp_level="O2", loss_scale_manager=ms.FixedLossScaleManager(1024, False))
    calls = [LossMonitor(100), TimeMonitor(steps)]
    if rank == 0:
        calls.append(ModelCheckpoint("tablets", "out", CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=3)))
    model.train(args.epochs - args.start, train, callbacks=calls, dataset_sink_mode=True)
    print("top1", model.eval(valid, dataset_sink_mode=False))


if __name__ == "__main__":
    main()
