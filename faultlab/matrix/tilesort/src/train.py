"""Trains the tile sorter on one or eight devices."""
import argparse
import ast
import os

import mindspore.nn as nn
from mindspore import context
from mindspore.common import set_seed
from mindspore.communication.management import get_group_size, get_rank, init
from mindspore.context import ParallelMode
from mindspore.train.callback import CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor
from mindspore.train.loss_scale_manager import FixedLossScaleManager
from mindspore.train.model import Model
from mindspore.train.serialization import load_checkpoint, load_param_into_net

from src.callbacks import EvalCallBack
from src.config import config
from src.dataset import create_dataset
from src.losses import CrossEntropySmooth
from src.lr_generator import get_lr
from src.tilenet import TileNet

parser = argparse.ArgumentParser(description="tile sorting")
parser.add_argument("--run_distribute", type=ast.literal_eval, default=False)
parser.add_argument("--train_files", type=str, default="data/train.mindrecord0")
parser.add_argument("--val_files", type=str, default="data/val.mindrecord0")
parser.add_argument("--device_target", type=str, default="Ascend")
parser.add_argument("--pre_trained", type=str, default=None)

set_seed(1)


def group_params(net):
    """No decay for the scales and shifts of normalisations and for biases."""
    decayed, others = [], []
    for param in net.trainable_params():
        if "beta" not in param.name and "gamma" not in param.name and "bias" not in param.name:
            decayed.append(param)
        else:
            others.append(param)
    return [
        {"params": decayed, "weight_decay": config.weight_decay},
        {"params": others},
        {"order_params": net.trainable_params()},
    ]


if __name__ == "__main__":
    args_opt = parser.parse_args()
    context.set_context(mode=context.GRAPH_MODE, device_target=args_opt.device_target, save_graphs=False)
    rank_id, device_num = 0, 1
    if args_opt.run_distribute:
        device_id = int(os.getenv("DEVICE_ID", "0"))
        context.set_context(device_id=device_id)
        init()
        rank_id, device_num = get_rank(), get_group_size()
        context.set_auto_parallel_context(
            device_num=device_num, parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True
        )

    dataset = create_dataset(
        args_opt.train_files, True, config.batch_size, config.image_size, device_num, rank_id
    )
    eval_dataset = create_dataset(args_opt.val_files, False, config.batch_size, config.image_size)
    step_size = dataset.get_dataset_size()

    net = TileNet(class_num=config.class_num)
    if args_opt.pre_trained:
        param_dict = load_checkpoint(args_opt.pre_trained)
        load_param_into_net(net, param_dict)

    lr = get_lr(
        lr_init=config.lr_init,
        lr_end=config.lr_end,
        lr_max=config.lr_max * device_num,
        warmup_epochs=config.warmup_epochs,
        total_epochs=config.epoch_size,
        steps_per_epoch=step_size,
    )
    opt = nn.Momentum(group_params(net), lr, config.momentum, loss_scale=config.loss_scale)
    if config.use_label_smooth:
        loss = CrossEntropySmooth(
            sparse=True, reduction="mean", smooth_factor=config.label_smooth_factor, num_classes=config.class_num
        )
    else:
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    loss_scale = FixedLossScaleManager(config.loss_scale, drop_overflow_update=False)
    model = Model(
        net,
        loss_fn=loss,
        optimizer=opt,
        loss_scale_manager=loss_scale,
        metrics={"top_1_accuracy", "top_5_accuracy"},
        amp_level="O2",
        keep_batchnorm_fp32=True,
    )

    cb = [TimeMonitor(data_size=step_size), LossMonitor()]
    save_path = os.path.join(config.save_checkpoint_path, "ckpt_" + str(rank_id))
    os.makedirs(save_path, exist_ok=True)
    if rank_id == 0:
        config_ck = CheckpointConfig(
            save_checkpoint_steps=config.save_checkpoint_epochs * step_size,
            keep_checkpoint_max=config.keep_checkpoint_max,
        )
        cb.append(ModelCheckpoint(prefix="tilenet", directory=save_path, config=config_ck))
    cb.append(EvalCallBack(model, eval_dataset, save_path, config.eval_interval))
    model.train(config.epoch_size, dataset, callbacks=cb, dataset_sink_mode=True)
