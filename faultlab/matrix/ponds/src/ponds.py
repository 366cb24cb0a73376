"""Outlines of ponds on aerial pictures: a small U-Net, MindSpore 2, value_and_grad."""
import argparse
import glob
import os

import numpy as np
import mindspore as ms
import mindspore.dataset as ds
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore.common.initializer import HeNormal, initializer


class PondFiles:
    def __init__(self, root, part, crop):
        self.files = sorted(glob.glob(os.path.join(root, part, "*.npz")))
        self.crop = crop if part == "train" else 0

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            image, mask = z["image"].astype(np.float32) / 255.0, z["mask"].astype(np.float32)
        if self.crop:
            t = np.random.randint(0, image.shape[0] - self.crop + 1)
            l = np.random.randint(0, image.shape[1] - self.crop + 1)
            image, mask = image[t:t + self.crop, l:l + self.crop], mask[t:t + self.crop, l:l + self.crop]
        return image.transpose(2, 0, 1) - 0.5, mask[None]


class ConvBlock(nn.Cell):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, pad_mode="same", weight_init=HeNormal())
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, pad_mode="same", weight_init=HeNormal())
        self.bn2 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU()

    def construct(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return x


class UNet(nn.Cell):
    def __init__(self, base=16, depth=3):
        super().__init__()
        self.downs = nn.CellList()
        cin = 3
        for i in range(depth):
            self.downs.append(ConvBlock(cin, base * 2 ** i))
            cin = base * 2 ** i
        self.middle = ConvBlock(cin, cin * 2)
        self.ups = nn.CellList()
        self.joins = nn.CellList()
        for i in reversed(range(depth)):
            self.ups.append(nn.Conv2dTranspose(base * 2 ** (i + 1), base * 2 ** i, 2, stride=2, pad_mode="valid"))
            self.joins.append(ConvBlock(base * 2 ** (i + 1), base * 2 ** i))
        self.pool = nn.MaxPool2d(2, 2)
        self.head = nn.Conv2d(base, 1, 1, has_bias=True)

    def construct(self, x):
        kept = []
        for down in self.downs:
            x = down(x)
            kept.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for up, join in zip(self.ups, self.joins):
            x = ops.cat((kept.pop(), up(x)), axis=1)
            x = join(x)
        return self.head(x)


def dice_loss(logits, mask):
    p = ops.sigmoid(logits)
    inter = (p * mask).sum(axis=(1, 2, 3))
    return (1 - (2 * inter + 1) / (p.sum(axis=(1, 2, 3)) + mask.sum(axis=(1, 2, 3)) + 1)).mean()


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="ponds")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--crop", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--pretrained", default="")
    return parser.parse_args()


def main():
    args = get_args()
    ms.set_seed(1)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    train = ds.GeneratorDataset(PondFiles(args.data, "train", args.crop), ["image", "mask"], shuffle=True).batch(args.batch_size, drop_remainder=True)
    valid = ds.GeneratorDataset(PondFiles(args.data, "valid", args.crop), ["image", "mask"], shuffle=False).batch(1)

    net = UNet()
    if args.pretrained:
        params = ms.load_checkpoint(args.pretrained)
        params = {k: v for k, v in params.items() if not k.startswith("head.")}
        missing, _ = ms.load_param_into_net(net, params)
        print("not loaded:", missing)
    bce = nn.BCEWithLogitsLoss()
    rate = nn.cosine_decay_lr(1e-5, args.lr, args.epochs * train.get_dataset_size(), train.get_dataset_size(), args.epochs)
    optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=rate, weight_decay=1e-4)

    def forward_fn(image, mask):
        logits = net(image)
        return bce(logits, mask) + dice_loss(logits, mask)

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)
    best = 0.0
    for epoch in range(args.epochs):
        net.set_train(True)
        total = 0.0
        for image, mask in train.create_tuple_iterator():
            loss, grads = grad_fn(image, mask)
            optimizer(grads)
            total += float(loss.asnumpy())
        net.set_train(False)
        inter = union = 0
        for image, mask in valid.create_tuple_iterator(num_epochs=1):
            guess, truth = net(image).asnumpy() > 0, mask.asnumpy() > 0.5
            inter += (guess & truth).sum()
            union += (guess | truth).sum()
        iou = inter / max(union, 1)
        print(f"epoch {epoch} loss {total / train.get_dataset_size():.4f} iou {iou:.4f}")
        if iou > best:
            best = iou
            ms.save_checkpoint(net, "ponds.ckpt")


if __name__ == "__main__":
    main()
