"""Grading of coffee beans with MindSpore on Ascend (PyNative)."""
import argparse
import os
import time

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
import numpy as np
from mindspore import Tensor, amp, nn, ops
from mindspore.communication import get_group_size, get_rank, init

parser = argparse.ArgumentParser(description="coffee beans")
parser.add_argument("--data_dir", default="/cache/beans")
parser.add_argument("--num_classes", type=int, default=17)
parser.add_argument("--image_size", type=int, default=160)
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=90)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weight_decay", type=float, default=1e-4)
parser.add_argument("--warmup_epochs", type=int, default=5)
parser.add_argument("--smoothing", type=float, default=0.1)
parser.add_argument("--distribute", action="store_true")
parser.add_argument("--ckpt_dir", default="./ckpt")
args = parser.parse_args()

ms.set_seed(1)
ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
rank, world = 0, 1
if args.distribute:
    init()
    rank, world = get_rank(), get_group_size()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=world)

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def create_dataset(split):
    training = split == "train"
    data = ds.ImageFolderDataset(
        os.path.join(args.data_dir, split), shuffle=training, num_parallel_workers=8, num_shards=world, shard_id=rank
    )
    if training:
        ops_list = [
            vision.RandomCropDecodeResize(args.image_size, scale=(0.3, 1.0)),
            vision.RandomHorizontalFlip(0.5),
        ]
    else:
        ops_list = [vision.Decode(), vision.Resize(int(args.image_size / 0.875)), vision.CenterCrop(args.image_size)]
    ops_list += [vision.Normalize(MEAN, STD), vision.HWC2CHW()]
    data = data.map(ops_list, "image", num_parallel_workers=8)
    data = data.map(lambda x: x.astype(np.int32), "label")
    return data.batch(args.batch_size, drop_remainder=training)


class ResBlock(nn.Cell):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, pad_mode="pad", padding=1)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, pad_mode="pad", padding=1)
        self.bn2 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU()
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.SequentialCell([nn.Conv2d(cin, cout, 1, stride), nn.BatchNorm2d(cout)])

    def construct(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.down is not None:
            identity = self.down(x)
        return self.relu(out + identity)


class BeanNet(nn.Cell):
    def __init__(self, num_classes):
        super().__init__()
        self.stem = nn.SequentialCell([nn.Conv2d(3, 32, 3, 2, pad_mode="pad", padding=1), nn.BatchNorm2d(32), nn.ReLU()])
        blocks = []
        cin = 32
        for cout, stride in ((64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
            blocks.append(ResBlock(cin, cout, stride))
            cin = cout
        self.blocks = nn.SequentialCell(blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.dropout = nn.Dropout(p=0.2)
        self.fc = nn.Dense(cin, num_classes)

    def construct(self, x):
        x = self.blocks(self.stem(x))
        x = self.flatten(self.pool(x))
        return self.fc(self.dropout(x))


def get_lr(steps):
    total, warm = args.epochs * steps, args.warmup_epochs * steps
    rates = []
    for i in range(total):
        if i < warm:
            rates.append(args.lr * (i + 1) / warm)
        else:
            rates.append(0.5 * args.lr * (1 + np.cos(np.pi * (i - warm) / (total - warm))))
    return np.array(rates, np.float32)


train_data = create_dataset("train")
val_data = create_dataset("val")
steps = train_data.get_dataset_size()
net = BeanNet(args.num_classes)
decayed = [p for p in net.trainable_params() if "beta" not in p.name and "gamma" not in p.name and "bias" not in p.name]
rest = [p for p in net.trainable_params() if "beta" in p.name or "gamma" in p.name or "bias" in p.name]
groups = [{"params": decayed, "weight_decay": args.weight_decay}, {"params": rest, "weight_decay": 0.0}]
opt = nn.Momentum(groups, learning_rate=Tensor(get_lr(steps)), momentum=args.momentum)
net = amp.auto_mixed_precision(net, "O2")
loss_fn = nn.CrossEntropyLoss(label_smoothing=args.smoothing)
scaler = amp.DynamicLossScaler(2 ** 16, 2, 2000)
reducer = nn.DistributedGradReducer(opt.parameters) if args.distribute else ops.identity


def forward(image, label):
    logits = net(image)
    loss = loss_fn(logits.astype(ms.float32), label)
    return scaler.scale(loss), logits


grad_fn = ms.value_and_grad(forward, None, opt.parameters, has_aux=True)


def train_step(image, label):
    (loss, _), grads = grad_fn(image, label)
    grads = reducer(grads)
    finite = amp.all_finite(grads)
    if finite:
        opt(scaler.unscale(grads))
    scaler.adjust(finite)
    return scaler.unscale(loss)


def evaluate():
    net.set_train(False)
    counts = np.zeros(2, np.float32)
    for image, label in val_data.create_tuple_iterator():
        hit = net(image).argmax(1) == label
        counts += [hit.sum().asnumpy(), label.shape[0]]
    if args.distribute:
        counts = ops.AllReduce()(Tensor(counts)).asnumpy()
    return counts[0] / counts[1]


best = 0.0
for epoch in range(args.epochs):
    net.set_train(True)
    start, total = time.time(), 0.0
    for image, label in train_data.create_tuple_iterator():
        total += float(train_step(image, label))
    accuracy = evaluate()
    if rank == 0:
        print(f"epoch {epoch + 1}: loss {total / steps:.4f} accuracy {accuracy:.4f} {time.time() - start:.1f}s", flush=True)
        if accuracy > best:
            best = accuracy
            os.makedirs(args.ckpt_dir, exist_ok=True)
            ms.save_checkpoint(net, os.path.join(args.ckpt_dir, "best.ckpt"))
