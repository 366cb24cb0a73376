"""Training in functional style.  msrun --worker_num=4 main.py --distributed, or python main.py"""
import argparse
import os
import time

import mindspore as ms
import numpy as np
from mindspore import amp, nn, ops
from mindspore.communication import get_group_size, get_rank, init

from dataset import IGNORE, build_loader
from losses import CEDiceLoss
from unet import UNet


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default="data/parcels")
    p.add_argument("--save_dir", default="ckpt")
    p.add_argument("--device", default="Ascend")
    p.add_argument("--distributed", action="store_true")
    p.add_argument("--classes", type=int, default=8)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--crop", type=int, default=256)
    p.add_argument("--batch_size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=80)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--weight_decay", type=float, default=1e-4)
    p.add_argument("--amp_level", default="O2")
    p.add_argument("--resume", default="")
    return p.parse_args()


def confusion(pred, mask, classes):
    keep = mask != IGNORE
    index = mask[keep].astype(np.int64) * classes + pred[keep]
    return np.bincount(index, minlength=classes**2).reshape(classes, classes)


def evaluate(net, loader, classes):
    net.set_train(False)
    matrix = np.zeros((classes, classes), np.int64)
    for image, mask in loader.create_tuple_iterator(num_epochs=1):
        pred = net(image).argmax(axis=1).asnumpy()
        matrix += confusion(pred, mask.asnumpy(), classes)
    hit = np.diag(matrix)
    union = matrix.sum(0) + matrix.sum(1) - hit
    present = union > 0
    return float((hit[present] / union[present]).mean())


def main():
    args = get_args()
    ms.set_seed(42)
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target=args.device)
    rank, world = 0, 1
    if args.distributed:
        init()
        rank, world = get_rank(), get_group_size()
        ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)

    train_loader = build_loader(args.root, "train", args.batch_size, args.crop, rank, world)
    valid_loader = build_loader(args.root, "valid", 1)
    steps = train_loader.get_dataset_size()

    net = UNet(classes=args.classes, width=args.width)
    net = amp.auto_mixed_precision(net, args.amp_level)
    loss_fn = CEDiceLoss(args.classes)
    lr = nn.cosine_decay_lr(1e-6, args.lr, args.epochs * steps, steps, args.epochs)
    optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=lr, weight_decay=args.weight_decay)
    scaler = amp.DynamicLossScaler(scale_value=2**14, scale_factor=2, scale_window=1000)
    reducer = nn.DistributedGradReducer(optimizer.parameters) if args.distributed else ops.identity

    first, best = 0, 0.0
    if args.resume:
        saved = ms.load_checkpoint(args.resume)
        first = int(saved.pop("epoch").asnumpy())
        best = float(saved.pop("best").asnumpy())
        scaler.scale_value.set_data(saved.pop("scale"))
        ms.load_param_into_net(net, saved)
        ms.load_param_into_net(optimizer, saved)

    def forward_fn(image, mask):
        loss = loss_fn(net(image), mask)
        return scaler.scale(loss), loss

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

    def train_step(image, mask):
        (_, loss), grads = grad_fn(image, mask)
        grads = reducer(grads)
        grads = scaler.unscale(grads)
        finite = amp.all_finite(grads)
        if finite:
            grads = ops.clip_by_global_norm(grads, 1.0)
            optimizer(grads)
        scaler.adjust(finite)
        return loss

    os.makedirs(args.save_dir, exist_ok=True)
    for epoch in range(first, args.epochs):
        net.set_train(True)
        start, losses = time.time(), []
        for image, mask in train_loader.create_tuple_iterator(num_epochs=1):
            losses.append(float(train_step(image, mask).asnumpy()))
        miou = evaluate(net, valid_loader, args.classes)
        print(f"epoch {epoch} loss {np.mean(losses):.4f} mIoU {miou:.4f} time {time.time() - start:.0f}s", flush=True)
        if rank != 0:
            continue
        if miou > best:
            best = miou
            ms.save_checkpoint(net, os.path.join(args.save_dir, "best.ckpt"))
        last = [{"name": p.name, "data": p} for p in optimizer.get_parameters()]
        last += [{"name": p.name, "data": p} for p in net.get_parameters() if not p.requires_grad]
        last += [{"name": "epoch", "data": ms.Tensor(epoch + 1)}, {"name": "best", "data": ms.Tensor(best)}]
        last += [{"name": "scale", "data": scaler.scale_value}]
        ms.save_checkpoint(last, os.path.join(args.save_dir, "last.ckpt"))


if __name__ == "__main__":
    main()
