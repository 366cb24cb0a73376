"""Train the surface defect classifier.

Single device:  python train.py --data_path /dataset/surface
Eight devices:  msrun --worker_num=8 --local_worker_num=8 train.py --run_distribute True
"""
import argparse
import math
import os

import mindspore as ms
from mindspore import nn
from mindspore.amp import FixedLossScaleManager
from mindspore.communication import get_group_size, get_rank, init
from mindspore.train import Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint, TimeMonitor

from config import config as cfg
from dataset import create_dataset
from network import CrossEntropySmooth, DefectNet

parser = argparse.ArgumentParser()
parser.add_argument("--data_path", default="./data")
parser.add_argument("--device_target", default="Ascend", choices=["Ascend", "GPU", "CPU"])
parser.add_argument("--run_distribute", type=lambda v: v.lower() == "true", default=False)
parser.add_argument("--pre_trained", default="")
parser.add_argument("--out", default="./output")
parser.add_argument("--sink", type=lambda v: v.lower() == "true", default=True)
parser.add_argument("--epoch_size", type=int, default=cfg.epoch_size)


def get_lr(total_epochs, warmup_epochs, steps_per_epoch):
    """One value per step: linear warm-up, then cosine."""
    total_steps = total_epochs * steps_per_epoch
    warmup_steps = warmup_epochs * steps_per_epoch
    lr = []
    for i in range(total_steps):
        if i < warmup_steps:
            lr.append(cfg.lr_init + (cfg.lr_max - cfg.lr_init) * i / warmup_steps)
        else:
            ratio = (i - warmup_steps) / max(total_steps - warmup_steps, 1)
            lr.append(0.5 * cfg.lr_max * (1 + math.cos(math.pi * ratio)))
    return lr


def group_params(net):
    no_decay = [p for p in net.trainable_params() if "beta" in p.name or "gamma" in p.name or "bias" in p.name]
    names = {p.name for p in no_decay}
    decay = [p for p in net.trainable_params() if p.name not in names]
    return [
        {"params": decay, "weight_decay": cfg.weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
        {"order_params": net.trainable_params()},
    ]


class EvalCallback(Callback):
    """Evaluate after every epoch and keep the best weights."""

    def __init__(self, model, net, eval_set, path):
        super().__init__()
        self.model, self.net, self.eval_set, self.path = model, net, eval_set, path
        self.best = 0.0

    def on_train_epoch_end(self, run_context):
        acc = self.model.eval(self.eval_set, dataset_sink_mode=False)["acc"]
        epoch = run_context.original_args().cur_epoch_num
        print(f"epoch {epoch} eval acc {acc:.4f} best {max(acc, self.best):.4f}", flush=True)
        if acc > self.best:
            self.best = acc
            ms.save_checkpoint(self.net, self.path)


def main():
    args = parser.parse_args()
    ms.set_seed(cfg.seed)
    ms.set_context(mode=ms.GRAPH_MODE, device_target=args.device_target)
    rank_id, device_num = 0, 1
    if args.run_distribute:
        init()
        rank_id, device_num = get_rank(), get_group_size()
        ms.set_auto_parallel_context(
            device_num=device_num,
            parallel_mode=ms.ParallelMode.DATA_PARALLEL,
            gradients_mean=True,
        )

    train_set = create_dataset(os.path.join(args.data_path, "train"), cfg, True, rank_id, device_num)
    eval_set = create_dataset(os.path.join(args.data_path, "val"), cfg, False)
    steps = train_set.get_dataset_size()

    net = DefectNet(cfg.num_classes, drop_path=cfg.drop_path)
    if args.pre_trained:
        param_dict = ms.load_checkpoint(args.pre_trained)
        for key in [k for k in param_dict if k.startswith("fc.")]:
            del param_dict[key]
        ms.load_param_into_net(net, param_dict)

    lr = ms.Tensor(get_lr(args.epoch_size, cfg.warmup_epochs, steps), ms.float32)
    opt = nn.Momentum(group_params(net), lr, momentum=cfg.momentum, loss_scale=cfg.loss_scale)
    loss = CrossEntropySmooth(cfg.label_smooth, cfg.num_classes)
    loss_scale = FixedLossScaleManager(cfg.loss_scale, drop_overflow_update=False)

    model = Model(
        net,
        loss_fn=loss,
        optimizer=opt,
        metrics={"acc"},
        amp_level=cfg.amp_level,
        loss_scale_manager=loss_scale,
        keep_batchnorm_fp32=True,
    )

    callbacks = [TimeMonitor(steps), LossMonitor(max(steps // 5, 1))]
    if rank_id == 0:
        os.makedirs(args.out, exist_ok=True)
        ckpt = CheckpointConfig(save_checkpoint_steps=5 * steps, keep_checkpoint_max=cfg.keep_checkpoint_max)
        callbacks.append(ModelCheckpoint("defect", directory=args.out, config=ckpt))
        callbacks.append(EvalCallback(model, net, eval_set, os.path.join(args.out, "best.ckpt")))
    model.train(args.epoch_size, train_set, callbacks=callbacks, dataset_sink_mode=args.sink)


if __name__ == "__main__":
    main()
