import argparse
import math
import os
import time
from types import SimpleNamespace

import numpy as np
import yaml
import mindspore as ms
from mindspore import nn, ops, amp
from mindspore.communication import init, get_rank, get_group_size

from dataset import FEATURES, create_dataset, load_csv, split_by_time
from model import PowerNet


def parse_cfg():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--device_target", default="Ascend")
    parser.add_argument("--distribute", action="store_true")
    parser.add_argument("--resume", default="")
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = SimpleNamespace(**yaml.safe_load(f))
    for k, v in vars(args).items():
        setattr(cfg, k, v)
    return cfg


class MaskedHuberLoss(nn.Cell):
    def __init__(self, delta=1.0):
        super().__init__()
        self.delta = delta

    def construct(self, pred, target, mask):
        diff = ops.abs(pred - target)
        quad = ops.clamp(diff, max=self.delta)
        loss = 0.5 * quad * quad + self.delta * (diff - quad)
        return (loss * mask).sum() / ops.clamp(mask.sum(), min=1.0)


def get_lr(cfg, steps_per_epoch):
    """lr of every step: linear warmup, then cosine (the GPU version did this with LambdaLR)"""
    total = cfg.num_epochs * steps_per_epoch
    warmup = cfg.warmup_epochs * steps_per_epoch
    lrs = []
    for i in range(total):
        if i < warmup:
            lrs.append(cfg.lr * (i + 1) / warmup)
        else:
            lrs.append(cfg.lr * 0.5 * (1 + math.cos(math.pi * (i - warmup) / (total - warmup))))
    return lrs


def group_params(net, weight_decay):
    decay, no_decay = [], []
    for p in net.trainable_params():
        if p.name.endswith("weight"):
            decay.append(p)
        else:
            no_decay.append(p)
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
        {"order_params": net.trainable_params()},
    ]


def make_train_step(cfg, net, optimizer, loss_fn, loss_scaler):
    def forward_fn(x, cal, y, mask):
        pred = net(x, cal)
        loss = loss_fn(pred, y, mask)
        return loss_scaler.scale(loss)

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)
    reducer = nn.DistributedGradReducer(optimizer.parameters) if cfg.distribute else nn.Identity()

    def train_step(x, cal, y, mask):
        loss, grads = grad_fn(x, cal, y, mask)
        grads = reducer(grads)
        is_finite = amp.all_finite(grads)
        if is_finite:
            grads = loss_scaler.unscale(grads)
            grads = ops.clip_by_global_norm(grads, cfg.clip_norm)
            optimizer(grads)
        loss_scaler.adjust(is_finite)
        return loss_scaler.unscale(loss), is_finite

    return train_step


def evaluate(net, dataset, scaler):
    """mae and rmse in MW over all valid hours"""
    net.set_train(False)
    abs_sum, sq_sum, count = 0.0, 0.0, 0.0
    for x, cal, y, mask in dataset.create_tuple_iterator(num_epochs=1):
        pred = scaler.restore_target(net(x, cal).asnumpy())
        real = scaler.restore_target(y.asnumpy())
        mask = mask.asnumpy()
        err = (pred - real) * mask
        abs_sum += np.abs(err).sum()
        sq_sum += (err ** 2).sum()
        count += mask.sum()
    return abs_sum / count, math.sqrt(sq_sum / count)


def main():
    cfg = parse_cfg()
    ms.set_seed(cfg.seed)
    np.random.seed(cfg.seed)
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target=cfg.device_target)
    rank_id, rank_size = 0, 1
    if cfg.distribute:
        init()
        rank_id, rank_size = get_rank(), get_group_size()
        ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    os.makedirs(cfg.output_dir, exist_ok=True)

    values, hours = load_csv(cfg.data_path)
    (train_set, val_set, test_set), scaler = split_by_time(cfg, values, hours)
    train_loader = create_dataset(train_set, cfg.batch_size, True, rank_id, rank_size)
    val_loader = create_dataset(val_set, cfg.batch_size, False)
    test_loader = create_dataset(test_set, cfg.batch_size, False)
    steps_per_epoch = train_loader.get_dataset_size()

    net = PowerNet(cfg, len(FEATURES))
    net = amp.auto_mixed_precision(net, cfg.amp_level)
    loss_fn = MaskedHuberLoss()
    lrs = get_lr(cfg, steps_per_epoch)
    optimizer = nn.AdamWeightDecay(group_params(net, cfg.weight_decay), learning_rate=lrs, beta2=0.98, eps=1e-8)
    loss_scaler = amp.DynamicLossScaler(cfg.init_loss_scale, 2, 1000)

    start_epoch, best = 0, float("inf")
    if cfg.resume:
        ckpt = ms.load_checkpoint(cfg.resume)
        start_epoch = int(ckpt.pop("epoch").asnumpy())
        best = float(ckpt.pop("best").asnumpy())
        ms.load_param_into_net(net, ckpt)
        ms.load_param_into_net(optimizer, ckpt)
        print(f"resume from epoch {start_epoch}")

    train_step = make_train_step(cfg, net, optimizer, loss_fn, loss_scaler)
    for epoch in range(start_epoch, cfg.num_epochs):
        net.set_train(True)
        losses, begin, skipped = [], time.time(), 0
        for x, cal, y, mask in train_loader.create_tuple_iterator(num_epochs=1):
            loss, is_finite = train_step(x, cal, y, mask)
            losses.append(float(loss.asnumpy()))
            skipped += 0 if is_finite else 1
        mae, rmse = evaluate(net, val_loader, scaler)
        if rank_id == 0:
            print(f"epoch {epoch + 1}/{cfg.num_epochs} loss {np.mean(losses):.5f} val_mae {mae:.4f} val_rmse {rmse:.4f} "
                  f"skipped {skipped} scale {float(loss_scaler.scale_value.asnumpy()):.0f} time {time.time() - begin:.1f}s",
                  flush=True)
            state = [{"name": p.name, "data": p} for p in optimizer.get_parameters()]
            names = {s["name"] for s in state}
            state += [{"name": p.name, "data": p} for p in net.get_parameters() if p.name not in names]
            if mae < best:
                best = mae
                ms.save_checkpoint(net, os.path.join(cfg.output_dir, "best.ckpt"))
            state += [{"name": "epoch", "data": ms.Tensor(epoch + 1)}, {"name": "best", "data": ms.Tensor(best)}]
            ms.save_checkpoint(state, os.path.join(cfg.output_dir, "last.ckpt"))

    if rank_id == 0:
        ms.load_checkpoint(os.path.join(cfg.output_dir, "best.ckpt"), net)
        mae, rmse = evaluate(net, test_loader, scaler)
        print(f"test_mae {mae:.4f} test_rmse {rmse:.4f}")


if __name__ == "__main__":
    main()
