"""Train the keyword spotter."""
import argparse
import os

import mindspore as ms
from mindspore import nn
from mindspore.amp import DynamicLossScaleManager

from data import Words, list_words, loader, statistics
from net import KeywordNet
from step import LossNet, TrainStep, WarmupCosine


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--out", default="out")
    parser.add_argument("--batch_size", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--warmup_epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--resume", default=None)
    return parser.parse_args()


def evaluate(net, data):
    net.set_train(False)
    right, seen = 0, 0
    for feats, length, label in data.create_tuple_iterator(num_epochs=1):
        pred = net(feats, length).argmax(-1)
        right += int((pred == label).sum())
        seen += label.shape[0]
    return right / seen


def main():
    args = get_args()
    ms.set_seed(2023)
    ms.set_context(mode=ms.GRAPH_MODE)
    os.makedirs(args.out, exist_ok=True)

    words = list_words(args.root)
    mean, std = statistics(args.root, "train.txt")
    train_data = loader(Words(args.root, "train.txt", words, mean, std, True), args.batch_size, True)
    valid_data = loader(Words(args.root, "valid.txt", words, mean, std), args.batch_size, False)
    test_data = loader(Words(args.root, "test.txt", words, mean, std), args.batch_size, False)

    net = KeywordNet(len(words))
    for _, cell in net.cells_and_names():
        if isinstance(cell, (nn.Conv2d, nn.Dense)):
            cell.to_float(ms.float16)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    steps = train_data.get_dataset_size()
    rate = WarmupCosine(args.lr, args.warmup_epochs * steps, args.epochs * steps)
    optimizer = nn.AdamWeightDecay(net.trainable_params(), rate, eps=1e-8, weight_decay=0.01)
    manager = DynamicLossScaleManager(init_loss_scale=2 ** 16, scale_factor=2, scale_window=1000)
    train_step = TrainStep(LossNet(net, criterion), optimizer, manager.get_update_cell(), 5.0)

    start = 0
    if args.resume:
        saved = ms.load_checkpoint(args.resume)
        ms.load_param_into_net(train_step, saved)
        start = int(saved["epoch_num"])

    best = 0.0
    for epoch in range(start, args.epochs):
        train_step.set_train(True)
        total = 0.0
        for feats, length, label in train_data.create_tuple_iterator(num_epochs=1):
            loss, overflow, scale = train_step(feats, length, label)
            total += float(loss)
        accuracy = evaluate(net, valid_data)
        print(f"epoch {epoch + 1} loss {total / steps:.4f} scale {float(scale):.0f} accuracy {accuracy:.4f}")
        ms.save_checkpoint(train_step, os.path.join(args.out, "last.ckpt"), append_dict={"epoch_num": epoch + 1})
        if accuracy > best:
            best = accuracy
            ms.save_checkpoint(net, os.path.join(args.out, "best.ckpt"))

    ms.load_param_into_net(net, ms.load_checkpoint(os.path.join(args.out, "best.ckpt")))
    print(f"test accuracy {evaluate(net, test_data):.4f}")


if __name__ == "__main__":
    main()
