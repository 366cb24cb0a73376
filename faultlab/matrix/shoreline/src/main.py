"""Water segmentation of satellite tiles, MindSpore 2.x functional style."""
import argparse
import glob
import os

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from mindspore.amp import DynamicLossScaler, all_finite

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="tiles")
parser.add_argument("--out", default="out")
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--accum", type=int, default=4)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--resume", default="")
args = parser.parse_args()

ms.set_seed(args.seed)
np.random.seed(args.seed)
os.makedirs(args.out, exist_ok=True)

files = sorted(glob.glob(os.path.join(args.data, "*.npz")))
order = np.random.RandomState(0).permutation(len(files))
cut = int(0.8 * len(files))
train_files = [files[i] for i in order[:cut]]
val_files = [files[i] for i in order[cut:]]

train_images = np.stack([np.load(f)["image"] for f in train_files]).astype(np.float32)
MEAN = train_images.mean(axis=(0, 1, 2))
STD = train_images.std(axis=(0, 1, 2)) + 1e-6


class Tiles:
    """Images HWC of four bands and masks HW of 0 (land), 1 (water) and 255 (cloud)."""

    def __init__(self, names, training):
        self.names = names
        self.training = training

    def __getitem__(self, index):
        z = np.load(self.names[index])
        image = (z["image"].astype(np.float32) - MEAN) / STD
        mask = z["mask"].astype(np.int32)
        if self.training:
            if np.random.rand() < 0.5:
                image, mask = image[:, ::-1], mask[:, ::-1]
            turns = np.random.randint(4)
            image, mask = np.rot90(image, turns), np.rot90(mask, turns)
        return np.ascontiguousarray(image.transpose(2, 0, 1)), np.ascontiguousarray(mask)

    def __len__(self):
        return len(self.names)


train_ds = ds.GeneratorDataset(Tiles(train_files, True), ["image", "mask"], shuffle=True,
                               num_parallel_workers=4).batch(args.batch_size, drop_remainder=True)
val_ds = ds.GeneratorDataset(Tiles(val_files, False), ["image", "mask"], shuffle=False).batch(args.batch_size)


class Double(nn.Cell):
    def __init__(self, cin, cout):
        super().__init__()
        self.body = nn.SequentialCell(
            nn.Conv2d(cin, cout, 3, has_bias=False), nn.BatchNorm2d(cout), nn.ReLU(),
            nn.Conv2d(cout, cout, 3, has_bias=False), nn.BatchNorm2d(cout), nn.ReLU())

    def construct(self, x):
        return self.body(x)


class UNet(nn.Cell):
    def __init__(self, bands=4, width=16, classes=2):
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.down = nn.CellList([Double(bands, widths[0]), Double(widths[0], widths[1])])
        self.bottom = Double(widths[1], widths[2])
        self.up = nn.CellList([
            nn.Conv2dTranspose(widths[2], widths[1], 2, stride=2),
            nn.Conv2dTranspose(widths[1], widths[0], 2, stride=2)])
        self.merge = nn.CellList([Double(2 * widths[1], widths[1]), Double(2 * widths[0], widths[0])])
        self.pool = nn.MaxPool2d(2, 2)
        self.drop = nn.Dropout(p=0.1)
        self.head = nn.Conv2d(widths[0], classes, 1, has_bias=True)

    def construct(self, x):
        skip0 = self.down[0](x)
        skip1 = self.down[1](self.pool(skip0))
        x = self.drop(self.bottom(self.pool(skip1)))
        x = self.merge[0](ops.cat((self.up[0](x), skip1), axis=1))
        x = self.merge[1](ops.cat((self.up[1](x), skip0), axis=1))
        return self.head(x)


net = UNet()
updates = args.epochs * (train_ds.get_dataset_size() // args.accum)
schedule = nn.cosine_decay_lr(1e-6, args.lr, updates, updates // args.epochs, args.epochs)
optimizer = nn.AdamWeightDecay(net.trainable_params(), schedule, weight_decay=0.01)
criterion = nn.CrossEntropyLoss(ignore_index=255)
scaler = DynamicLossScaler(scale_value=2 ** 15, scale_factor=2, scale_window=1000)
ms.amp.auto_mixed_precision(net, "O2")

first_epoch = 0
best = 0.0
if args.resume:
    state = ms.load_checkpoint(args.resume)
    ms.load_param_into_net(net, state)
    ms.load_param_into_net(optimizer, state)
    first_epoch = int(state["epoch"])


def forward_fn(image, mask):
    logits = net(image)
    loss = criterion(logits.astype(ms.float32), mask) / args.accum
    return scaler.scale(loss), logits


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
sums = optimizer.parameters.clone(prefix="sum", init="zeros")


@ms.jit
def accumulate(image, mask):
    (loss, _), grads = grad_fn(image, mask)
    for total, grad in zip(sums, grads):
        ops.assign_add(total, grad)
    return scaler.unscale(loss)


@ms.jit
def update():
    grads = scaler.unscale(sums)
    finite = all_finite(grads)
    if finite:
        grads = ops.clip_by_global_norm(grads, 1.0)
        optimizer(grads)
    scaler.adjust(finite)
    for total in sums:
        ops.assign(total, ops.zeros_like(total))
    return finite


def train_epoch(epoch):
    net.set_train(True)
    total = 0.0
    for step, (image, mask) in enumerate(train_ds.create_tuple_iterator()):
        loss = accumulate(image, mask)
        total += float(loss.asnumpy()) * args.accum
        if (step + 1) % args.accum == 0:
            update()
        if step % 20 == 0:
            print(f"epoch {epoch} step {step} loss {total / (step + 1):.4f}")


def evaluate(dataset):
    """Intersection over union of water, clouds left out."""
    net.set_train(False)
    inter = union = 0
    for image, mask in dataset.create_tuple_iterator():
        pred = net(image).argmax(axis=1).asnumpy()
        mask = mask.asnumpy()
        seen = mask != 255
        inter += ((pred == 1) & (mask == 1) & seen).sum()
        union += (((pred == 1) | (mask == 1)) & seen).sum()
    return inter / max(union, 1)


best_file = os.path.join(args.out, "best.ckpt")
for epoch in range(first_epoch, args.epochs):
    train_epoch(epoch)
    iou = evaluate(val_ds)
    print(f"epoch {epoch} IoU {iou:.4f}")
    if iou > best:
        best = iou
        ms.save_checkpoint(net, best_file)
    saved = [{"name": p.name, "data": p} for p in [*net.get_parameters(), *optimizer.get_parameters()]]
    saved = list({p["name"]: p for p in saved}.values())
    ms.save_checkpoint(saved, os.path.join(args.out, "last.ckpt"), append_dict={"epoch": epoch + 1})

ms.load_param_into_net(net, ms.load_checkpoint(best_file))
print("best model, IoU on validation:", evaluate(val_ds))
