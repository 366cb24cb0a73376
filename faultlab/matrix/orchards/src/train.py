"""Data-parallel training on eight devices: mpirun -n 8 python train.py --data_dir ..."""
import argparse
import os
import time

import mindspore as ms
from mindspore import nn, ops
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model
from mindspore.train.callback import Callback, CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor

from data import build, split_files
from model import OrchardNet


def setup(args):
    ms.set_seed(args.seed)
    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
    if not args.distribute:
        return 0, 1
    init()
    rank, size = get_rank(), get_group_size()
    ms.set_auto_parallel_context(device_num=size, parallel_mode=ms.ParallelMode.DATA_PARALLEL,
                                 gradients_mean=True, parameter_broadcast=True)
    return rank, size


class SumOverRanks(nn.Cell):
    """Sum of a tensor over all ranks."""

    def __init__(self):
        super(SumOverRanks, self).__init__()
        self.reduce = ops.AllReduce(ops.ReduceOp.SUM)

    def construct(self, x):
        return self.reduce(x)


class Validate(Callback):
    """Accuracy over the shards of all ranks after each epoch; rank 0 keeps the best weights."""

    def __init__(self, net, data, rank, size, path):
        super(Validate, self).__init__()
        self.net, self.data, self.rank, self.size, self.path = net, data, rank, size, path
        self.sum = SumOverRanks() if size > 1 else None
        self.best = -1.0

    def on_train_epoch_end(self, run_context):
        self.net.set_train(False)
        hits, count = 0, 0
        for image, label in self.data.create_tuple_iterator():
            hits += int((self.net(image).argmax(1) == label).sum())
            count += label.shape[0]
        if self.sum is not None:
            hits, count = self.sum(ms.Tensor([hits, count], ms.float32)).asnumpy()
        accuracy = hits / count
        self.net.set_train(True)
        epoch = run_context.original_args().cur_epoch_num
        if self.rank == 0:
            print(f"epoch {epoch}: accuracy {accuracy:.4f}", flush=True)
            if accuracy > self.best:
                self.best = accuracy
                ms.save_checkpoint(self.net, self.path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--ckpt_dir", default="ckpt")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--base_lr", type=float, default=0.0125, help="for one device")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--distribute", action="store_true")
    parser.add_argument("--resume", default="")
    args = parser.parse_args()

    rank, size = setup(args)
    train_rows, valid_rows, names = split_files(args.data_dir)
    train_set = build(train_rows, 224, args.batch_size, True, rank, size)
    valid_set = build(valid_rows, 224, args.batch_size, False, rank, size)
    steps = train_set.get_dataset_size()

    net = OrchardNet(len(names))
    peak = args.base_lr * size
    warm = [peak * (i + 1) / (args.warmup * steps) for i in range(args.warmup * steps)]
    rest = nn.cosine_decay_lr(1e-5, peak, (args.epochs - args.warmup) * steps, steps, args.epochs - args.warmup)
    decayed = [p for p in net.trainable_params() if p.ndim > 1]
    others = [p for p in net.trainable_params() if p.ndim <= 1]
    optimizer = nn.SGD([{"params": decayed, "weight_decay": 5e-5}, {"params": others}], warm + rest,
                       momentum=0.9, nesterov=True)
    first = 0
    if args.resume:
        saved = ms.load_checkpoint(args.resume)
        ms.load_param_into_net(net, saved)
        ms.load_param_into_net(optimizer, saved)
        first = int(saved["epoch_num"])

    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    scale = ms.amp.DynamicLossScaleManager(init_loss_scale=2 ** 16)
    model = Model(net, loss_fn=criterion, optimizer=optimizer, loss_scale_manager=scale, amp_level="O2")
    best = os.path.join(args.ckpt_dir, "best.ckpt")
    callbacks = [TimeMonitor(steps), LossMonitor(steps), Validate(net, valid_set, rank, size, best)]
    if rank == 0:
        config = CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=3,
                                  append_info=["epoch_num", "step_num"])
        callbacks.append(ModelCheckpoint("orchards", args.ckpt_dir, config))
    begin = time.time()
    model.train(args.epochs, train_set, callbacks=callbacks, dataset_sink_mode=True, initial_epoch=first)
    print(f"rank {rank}: {time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
