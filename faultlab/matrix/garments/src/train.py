"""Train the garment classifier."""
import argparse
import os

from mindspore import Tensor, context, load_checkpoint, load_param_into_net, save_checkpoint, set_seed
import mindspore.nn as nn
from mindspore.train.callback import Callback, CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor
from mindspore.train.loss_scale_manager import FixedLossScaleManager
from mindspore.train.model import Model

from config import cfg
from dataset import create_dataset
from lr_generator import get_lr
from network import GarmentNet


class EvalCallback(Callback):
    """Evaluate after each epoch and keep the best weights."""

    def __init__(self, model, eval_set, path):
        super().__init__()
        self.model = model
        self.eval_set = eval_set
        self.path = path
        self.best = 0.0

    def epoch_end(self, run_context):
        cb_params = run_context.original_args()
        acc = self.model.eval(self.eval_set, dataset_sink_mode=False)["acc"]
        print(f"epoch {cb_params.cur_epoch_num} accuracy {acc:.4f}")
        if acc > self.best:
            self.best = acc
            save_checkpoint(cb_params.network, self.path)


def parse_args():
    parser = argparse.ArgumentParser(description="garments")
    parser.add_argument("--data_path", type=str, required=True)
    parser.add_argument("--output", type=str, default="./ckpt")
    parser.add_argument("--pre_trained", type=str, default="")
    parser.add_argument("--device_target", type=str, default="Ascend", choices=["Ascend", "GPU", "CPU"])
    return parser.parse_args()


def group_params(net):
    decayed, plain = [], []
    for param in net.trainable_params():
        if "beta" in param.name or "gamma" in param.name or "bias" in param.name:
            plain.append(param)
        else:
            decayed.append(param)
    return [{"params": decayed, "weight_decay": cfg.weight_decay},
            {"params": plain, "weight_decay": 0.0},
            {"order_params": net.trainable_params()}]


def main():
    args = parse_args()
    set_seed(cfg.seed)
    context.set_context(mode=context.GRAPH_MODE, device_target=args.device_target)
    train_set = create_dataset(os.path.join(args.data_path, "train"), True, cfg.batch_size)
    eval_set = create_dataset(os.path.join(args.data_path, "val"), False, cfg.batch_size)
    steps = train_set.get_dataset_size()

    net = GarmentNet(cfg.num_classes, cfg.keep_prob)
    if args.pre_trained:
        load_param_into_net(net, load_checkpoint(args.pre_trained))

    lr = get_lr(cfg.lr_max, cfg.warmup_epochs, cfg.epochs, steps)
    opt = nn.Momentum(group_params(net), Tensor(lr), cfg.momentum, loss_scale=cfg.loss_scale)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    manager = FixedLossScaleManager(cfg.loss_scale, drop_overflow_update=False)
    model = Model(net, loss_fn=loss, optimizer=opt, metrics={"acc"}, amp_level="O2",
                  loss_scale_manager=manager, keep_batchnorm_fp32=False)

    best_path = os.path.join(args.output, "best.ckpt")
    ckpt = ModelCheckpoint("garments", args.output,
                           CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=5))
    callbacks = [TimeMonitor(data_size=steps), LossMonitor(), ckpt, EvalCallback(model, eval_set, best_path)]
    model.train(cfg.epochs, train_set, callbacks=callbacks, dataset_sink_mode=True)

    load_param_into_net(net, load_checkpoint(best_path))
    test_set = create_dataset(os.path.join(args.data_path, "test"), False, cfg.batch_size)
    print("test:", model.eval(test_set, dataset_sink_mode=False))


if __name__ == "__main__":
    main()
