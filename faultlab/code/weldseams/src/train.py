# -*- coding: utf-8 -*-
"""Train the seam classifier on Ascend, alone or with 8 devices."""
import argparse
import math
import os

import mindspore as ms
from mindspore import nn
from mindspore.common.initializer import HeNormal, Normal
from mindspore.communication import get_group_size, get_rank, init
from mindspore.train import Accuracy, Callback, LossMonitor, Model, TimeMonitor
from mindspore.amp import FixedLossScaleManager

from seam_data import KINDS, create_dataset, read_list, split_list

LOSS_SCALE = 1024.0


def conv(cin, cout, kernel, stride=1):
    return nn.Conv2d(cin, cout, kernel, stride=stride, pad_mode="pad", padding=kernel // 2,
                     weight_init=HeNormal(mode="fan_out", nonlinearity="relu"))


class Block(nn.Cell):
    def __init__(self, cin, cout, stride):
        super(Block, self).__init__()
        self.conv1 = conv(cin, cout, 3, stride)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = conv(cout, cout, 3)
        self.bn2 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU()
        self.has_down = stride != 1 or cin != cout
        if self.has_down:
            self.down = nn.SequentialCell([conv(cin, cout, 1, stride), nn.BatchNorm2d(cout)])

    def construct(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.has_down:
            identity = self.down(x)
        out = self.relu(out + identity)
        return out


class SeamNet(nn.Cell):
    def __init__(self, class_num, widths=(64, 128, 256, 512), depth=2):
        super(SeamNet, self).__init__()
        self.stem = nn.SequentialCell([conv(3, widths[0], 7, 2), nn.BatchNorm2d(widths[0]), nn.ReLU(),
                                       nn.MaxPool2d(3, 2, pad_mode="same")])
        blocks = []
        cin = widths[0]
        for i, width in enumerate(widths):
            for j in range(depth):
                blocks.append(Block(cin, width, 2 if i > 0 and j == 0 else 1))
                cin = width
        self.blocks = nn.SequentialCell(blocks)
        self.dropout = nn.Dropout(p=0.2)
        self.fc = nn.Dense(cin, class_num, weight_init=Normal(0.01))

    def construct(self, x):
        x = self.blocks(self.stem(x))
        x = x.mean((2, 3))
        x = self.dropout(x)
        return self.fc(x)


def get_lr(max_lr, warmup_steps, total_steps):
    lrs = []
    for step in range(total_steps):
        if step < warmup_steps:
            lrs.append(max_lr * (step + 1) / warmup_steps)
        else:
            ratio = (step - warmup_steps) / (total_steps - warmup_steps)
            lrs.append(0.5 * max_lr * (1 + math.cos(math.pi * ratio)))
    return lrs


def group_params(net, weight_decay):
    decay, no_decay = [], []
    for p in net.trainable_params():
        if p.name.endswith((".gamma", ".beta", ".bias")):
            no_decay.append(p)
        else:
            decay.append(p)
    return [{"params": decay, "weight_decay": weight_decay},
            {"params": no_decay, "weight_decay": 0.0},
            {"order_params": net.trainable_params()}]


class EvalCallback(Callback):
    """Evaluate after each epoch and keep the best parameters."""

    def __init__(self, model, net, valid_set, path):
        super(EvalCallback, self).__init__()
        self.model = model
        self.net = net
        self.valid_set = valid_set
        self.path = path
        self.best = 0.0

    def on_train_epoch_end(self, run_context):
        epoch = run_context.original_args().cur_epoch_num
        acc = self.model.eval(self.valid_set, dataset_sink_mode=False)["acc"]
        print("epoch %d valid acc %.4f best %.4f" % (epoch, acc, self.best), flush=True)
        if acc > self.best:
            self.best = acc
            ms.save_checkpoint(self.net, self.path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_path", default="seams")
    parser.add_argument("--output", default="output")
    parser.add_argument("--pretrained", default="")
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--warmup_epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--weight_decay", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()

    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
    rank_size, rank_id = 1, 0
    if args.distributed:
        init()
        rank_size, rank_id = get_group_size(), get_rank()
        ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True,
                                     device_num=rank_size)
    ms.set_seed(args.seed)
    os.makedirs(args.output, exist_ok=True)

    train_items, valid_items = split_list(read_list(args.data_path, "train.txt"), 0.1, args.seed)
    test_items = read_list(args.data_path, "test.txt")
    train_set = create_dataset(train_items, True, args.batch_size, rank_size, rank_id)
    valid_set = create_dataset(valid_items, False, args.batch_size)
    test_set = create_dataset(test_items, False, args.batch_size)

    net = SeamNet(len(KINDS))
    if args.pretrained:
        params = ms.load_checkpoint(args.pretrained)
        for name in list(params):
            if name.startswith("fc."):
                del params[name]
        ms.load_param_into_net(net, params)

    steps = train_set.get_dataset_size()
    lr = get_lr(args.lr, args.warmup_epochs * steps, args.epochs * steps)
    loss = nn.CrossEntropyLoss()
    opt = nn.Momentum(group_params(net, args.weight_decay), lr, momentum=0.9, loss_scale=LOSS_SCALE)
    manager = FixedLossScaleManager(LOSS_SCALE, drop_overflow_update=False)
    model = Model(net, loss_fn=loss, optimizer=opt, metrics={"acc": Accuracy()}, amp_level="O2",
                  loss_scale_manager=manager)

    best_path = os.path.join(args.output, "best_%d.ckpt" % rank_id)
    callbacks = [TimeMonitor(steps), LossMonitor(steps), EvalCallback(model, net, valid_set, best_path)]
    model.train(args.epochs, train_set, callbacks=callbacks, dataset_sink_mode=True)

    ms.load_param_into_net(net, ms.load_checkpoint(best_path))
    print("test acc %.4f" % model.eval(test_set, dataset_sink_mode=False)["acc"])


if __name__ == "__main__":
    main()
