"""Water, land, quays and vessels in aerial tiles of harbours. Functional training loop in graph mode."""
import argparse
import os

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import ops

from tiles import CLASSES, UNLABELLED, create_dataset

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="harbors")
parser.add_argument("--size", type=int, default=256)
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--ckpt", default="harbors_best.ckpt")
args = parser.parse_args()


class ConvBlock(nn.Cell):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.conv1 = nn.Conv2d(in_ch, out_ch, 3, pad_mode="same", weight_init="HeNormal")
        self.bn1 = nn.BatchNorm2d(out_ch)
        self.conv2 = nn.Conv2d(out_ch, out_ch, 3, pad_mode="same", weight_init="HeNormal")
        self.bn2 = nn.BatchNorm2d(out_ch)
        self.relu = nn.ReLU()

    def construct(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)))


class HarborNet(nn.Cell):
    def __init__(self, num_classes, widths=(24, 48, 96, 128)):
        super().__init__()
        self.stem = ConvBlock(3, widths[0])
        self.down = nn.CellList([ConvBlock(a, b) for a, b in zip(widths[:-1], widths[1:])])
        back = widths[::-1]
        self.up = nn.CellList([nn.Conv2dTranspose(a, b, 2, stride=2) for a, b in zip(back[:-1], back[1:])])
        self.merge = nn.CellList([ConvBlock(2 * b, b) for b in back[1:]])
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.dropout = nn.Dropout(p=0.2)
        self.classify = nn.Conv2d(widths[0], num_classes, 1, has_bias=True)

    def construct(self, x):
        feats = [self.stem(x)]
        for block in self.down:
            feats.append(block(self.pool(feats[-1])))
        x = self.dropout(feats[-1])
        for i in range(len(self.up)):
            skip = feats[-2 - i]
            x = self.merge[i](ops.cat((self.up[i](x), skip), axis=1))
        return self.classify(x)


def dice_loss(logits, mask):
    valid = (mask != UNLABELLED).astype(ms.float32).expand_dims(1)
    truth = ops.stack([(mask == c).astype(ms.float32) for c in range(len(CLASSES))], axis=1)
    prob = ops.softmax(logits, axis=1) * valid
    both = (prob * truth).sum(axis=(0, 2, 3))
    total = prob.sum(axis=(0, 2, 3)) + truth.sum(axis=(0, 2, 3))
    return 1.0 - ((2.0 * both + 1.0) / (total + 1.0)).mean()


def evaluate(network, dataset):
    network.set_train(False)
    n = len(CLASSES)
    confusion = np.zeros((n, n), dtype=np.int64)
    for image, mask in dataset.create_tuple_iterator():
        guess = network(image).asnumpy().argmax(axis=1)
        truth = mask.asnumpy()
        labelled = truth != UNLABELLED
        confusion += np.bincount(truth[labelled] * n + guess[labelled], minlength=n * n).reshape(n, n)
    hit = np.diag(confusion)
    union = confusion.sum(axis=0) + confusion.sum(axis=1) - hit
    iou = hit / np.maximum(union, 1)
    return iou[union > 0].mean(), hit.sum() / confusion.sum()


def main():
    ms.set_seed(2024)
    np.random.seed(2024)
    ms.set_context(mode=ms.GRAPH_MODE)
    train_data = create_dataset(args.data, "train", args.size, args.batch_size, training=True)
    val_data = create_dataset(args.data, "val", args.size, args.batch_size, training=False)
    steps = train_data.get_dataset_size()

    network = HarborNet(len(CLASSES))
    cross_entropy = nn.CrossEntropyLoss(ignore_index=UNLABELLED)
    lr = nn.cosine_decay_lr(args.lr * 0.01, args.lr, args.epochs * steps, steps, args.epochs)
    optimizer = nn.AdamWeightDecay(network.trainable_params(), learning_rate=lr, weight_decay=1e-4)

    def forward_fn(image, mask):
        logits = network(image)
        return cross_entropy(logits, mask) + 0.5 * dice_loss(logits, mask)

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)

    @ms.jit
    def train_step(image, mask):
        loss, grads = grad_fn(image, mask)
        grads = ops.clip_by_global_norm(grads, 5.0)
        optimizer(grads)
        return loss

    best = 0.0
    for epoch in range(args.epochs):
        network.set_train()
        losses = []
        for image, mask in train_data.create_tuple_iterator():
            losses.append(float(train_step(image, mask).asnumpy()))
        miou, accuracy = evaluate(network, val_data)
        print(f"epoch {epoch + 1}/{args.epochs} loss {np.mean(losses):.4f} mIoU {miou:.4f} acc {accuracy:.4f}")
        if miou > best:
            best = miou
            ms.save_checkpoint(network, args.ckpt)

    if os.path.exists(args.ckpt):
        ms.load_param_into_net(network, ms.load_checkpoint(args.ckpt))
    test_data = create_dataset(args.data, "test", args.size, args.batch_size, training=False)
    miou, accuracy = evaluate(network, test_data)
    print(f"test mIoU {miou:.4f} acc {accuracy:.4f}")


if __name__ == "__main__":
    main()
