import argparse
import os
import random

import mindspore as ms
import numpy as np
from mindspore import amp, nn, ops

from data import make_loader, read_classes
from net import PlanktonNet, SmoothedLoss


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default="plankton")
    p.add_argument("--out", default="out")
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--warmup-epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--weight-decay", type=float, default=1e-4)
    p.add_argument("--seed", type=int, default=17)
    p.add_argument("--resume", default="")
    return p.parse_args()


def evaluate(net, loader):
    net.set_train(False)
    hits, seen = 0, 0
    for images, labels in loader.create_tuple_iterator(num_epochs=1):
        guess = net(images).argmax(axis=1)
        hits += int((guess == labels).sum().asnumpy())
        seen += labels.shape[0]
    return hits / seen


def main():
    args = arguments()
    random.seed(args.seed)
    np.random.seed(args.seed)
    ms.set_seed(args.seed)
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
    os.makedirs(args.out, exist_ok=True)

    classes = read_classes(os.path.join(args.root, "train"))
    train_loader = make_loader(os.path.join(args.root, "train"), classes, args.batch_size, training=True)
    val_loader = make_loader(os.path.join(args.root, "val"), classes, args.batch_size, training=False)
    steps = train_loader.get_dataset_size()

    net = PlanktonNet(len(classes))
    net = amp.auto_mixed_precision(net, "O2")
    criterion = SmoothedLoss(len(classes), smoothing=0.1)
    scaler = amp.DynamicLossScaler(scale_value=2**14, scale_factor=2, scale_window=1000)

    warm_steps = args.warmup_epochs * steps
    warm = [args.lr * (i + 1) / warm_steps for i in range(warm_steps)]
    rest = nn.cosine_decay_lr(
        0.0, args.lr, (args.epochs - args.warmup_epochs) * steps, steps, args.epochs - args.warmup_epochs
    )
    decayed = [p for p in net.trainable_params() if p.ndim > 1]
    plain = [p for p in net.trainable_params() if p.ndim <= 1]
    optimizer = nn.Momentum(
        [{"params": decayed, "weight_decay": args.weight_decay}, {"params": plain, "weight_decay": 0.0}],
        learning_rate=warm + rest,
        momentum=0.9,
    )

    start, best = 0, 0.0
    if args.resume:
        state = ms.load_checkpoint(args.resume)
        start = int(state.pop("epoch").asnumpy())
        best = float(state.pop("best").asnumpy())
        ms.load_param_into_net(net, state)
        ms.load_param_into_net(optimizer, state)

    def forward(images, labels):
        logits = net(images)
        loss = criterion(logits.astype(ms.float32), labels)
        return scaler.scale(loss), logits

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def train_step(images, labels):
        (loss, _), grads = grad_fn(images, labels)
        loss = scaler.unscale(loss)
        finite = amp.all_finite(grads)
        if finite:
            grads = scaler.unscale(grads)
            grads = ops.clip_by_global_norm(grads, 5.0)
            optimizer(grads)
        scaler.adjust(finite)
        return loss

    for epoch in range(start, args.epochs):
        net.set_train(True)
        total, count = 0.0, 0
        for images, labels in train_loader.create_tuple_iterator(num_epochs=1):
            loss = train_step(images, labels)
            total += float(loss.asnumpy())
            count += 1
        accuracy = evaluate(net, val_loader)
        print(f"epoch {epoch + 1}: loss {total / count:.4f} val accuracy {accuracy:.4f}")
        if accuracy > best:
            best = accuracy
            ms.save_checkpoint(net, os.path.join(args.out, "best.ckpt"))
        ms.save_checkpoint(
            optimizer,
            os.path.join(args.out, "last.ckpt"),
            append_dict={"epoch": epoch + 1, "best": best, **{p.name: p for p in net.get_parameters()}},
        )

    ms.load_checkpoint(os.path.join(args.out, "best.ckpt"), net)
    test_loader = make_loader(os.path.join(args.root, "test"), classes, args.batch_size, training=False)
    print(f"test accuracy {evaluate(net, test_loader):.4f}")


if __name__ == "__main__":
    main()
