"""Train the letter model: python run_letters.py --data folder [--distribute]."""
import argparse
import math
import os

import mindspore as ms
from mindspore import nn
from mindspore.communication.management import get_group_size, get_rank, init
from mindspore.nn.wrap.loss_scale import DynamicLossScaleUpdateCell
from mindspore.train import Callback, CheckpointConfig, Model, ModelCheckpoint, TimeMonitor

from data import letters
from model import Config, LetterLM, LMWithLoss


class Schedule(nn.learning_rate_schedule.LearningRateSchedule):
    """Warm-up by steps and linear decay to a tenth."""

    def __init__(self, peak, warmup_steps, total_steps):
        super().__init__()
        self.warmup = nn.WarmUpLR(peak, warmup_steps)
        self.decay = nn.PolynomialDecayLR(peak, 0.1 * peak, total_steps, 1.0)
        self.warmup_steps = warmup_steps

    def construct(self, step):
        ramp = ms.ops.cast(step < self.warmup_steps, ms.float32)
        return ramp * self.warmup(step) + (1.0 - ramp) * self.decay(step)


class Perplexity(Callback):
    """Perplexity of the held-out letters; keeps the best weights."""

    def __init__(self, loss_net, data, path):
        super().__init__()
        self.loss_net, self.data, self.path = loss_net, data, path
        self.best = math.inf

    def on_train_epoch_end(self, run_context):
        self.loss_net.set_train(False)
        total, tokens = 0.0, 0
        for (ids,) in self.data.create_tuple_iterator(num_epochs=1):
            n = int((ids[:, 1:] != self.loss_net.pad).sum())
            total += float(self.loss_net(ids)) * n
            tokens += n
        self.loss_net.set_train(True)
        mean = total / max(tokens, 1)
        print(f"epoch {run_context.original_args().cur_epoch_num} perplexity {math.exp(mean):.2f}")
        if mean < self.best:
            self.best = mean
            ms.save_checkpoint(self.loss_net.network, self.path)


def param_groups(net, decay):
    """No decay for norms and biases."""
    plain = [p for p in net.trainable_params() if p.name.endswith(("gamma", "beta", "bias"))]
    names = {p.name for p in plain}
    rest = [p for p in net.trainable_params() if p.name not in names]
    return [{"params": rest, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0},
            {"order_params": net.trainable_params()}]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--output", default="output")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--warmup_ratio", type=float, default=0.03)
    parser.add_argument("--distribute", action="store_true")
    parser.add_argument("--load", default="")
    args = parser.parse_args()

    ms.set_seed(1234)
    ms.set_context(mode=ms.GRAPH_MODE)
    rank, size = 0, 1
    if args.distribute:
        init()
        rank, size = get_rank(), get_group_size()
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=size)

    config = Config()
    train_set = letters(args.data, "train", config, args.batch_size, rank, size)
    eval_set = letters(args.data, "eval", config, args.batch_size)
    steps = train_set.get_dataset_size()
    total_steps = steps * args.epochs

    net = LetterLM(config)
    loss_net = LMWithLoss(net, config)
    schedule = Schedule(args.lr, int(args.warmup_ratio * total_steps), total_steps)
    optimizer = nn.AdamWeightDecay(param_groups(net, 0.1), schedule, beta1=0.9, beta2=0.95, eps=1e-8)
    first = 0
    if args.load:
        saved = ms.load_checkpoint(args.load)
        ms.load_param_into_net(net, saved)
        ms.load_param_into_net(optimizer, saved)
        first = int(saved["epoch_num"])
    scale = DynamicLossScaleUpdateCell(loss_scale_value=2 ** 12, scale_factor=2, scale_window=1000)
    step = nn.TrainOneStepWithLossScaleCell(loss_net, optimizer, scale_sense=scale)
    model = Model(step)
    callbacks = [TimeMonitor(steps)]
    if rank == 0:
        config_ck = CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=2, append_info=["epoch_num"])
        callbacks.append(ModelCheckpoint("letters", args.output, config=config_ck))
        callbacks.append(Perplexity(loss_net, eval_set, os.path.join(args.output, "best.ckpt")))
    model.train(args.epochs, train_set, callbacks=callbacks, dataset_sink_mode=False, initial_epoch=first)


if __name__ == "__main__":
    main()
