"""MindSpore `Model.train` on a CPU: LossMonitor's lines, SummaryCollector, checkpoints."""

import sys
from pathlib import Path

import mindspore as ms
import task
from mindspore import nn
from mindspore.dataset import NumpySlicesDataset
from mindspore.train import CheckpointConfig, LossMonitor, Model, ModelCheckpoint, SummaryCollector

case, out = sys.argv[1:]
ms.set_seed(task.SETTINGS["seed"])
ms.set_device("CPU")
train_x, train_y, eval_x, eval_y = task.samples(case)
size = task.SETTINGS["batch_size"]


def dataset(x, y, shuffle):
    made = NumpySlicesDataset((x, y.astype("int32")), ["x", "y"], shuffle=shuffle)
    return made.batch(size, drop_remainder=True)


network = nn.SequentialCell(nn.Dense(task.FEATURES, 64), nn.Tanh(), nn.Dense(64, task.CLASSES))
optimizer = nn.Momentum(
    network.trainable_params(),
    task.RATES[case],
    task.SETTINGS["momentum"],
    weight_decay=task.SETTINGS["weight_decay"],
)
model = Model(
    network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer, {"accuracy", "loss"}
)
train, evaluation = dataset(train_x, train_y, True), dataset(eval_x, eval_y, False)
callbacks = [
    LossMonitor(5),
    SummaryCollector(str(Path(out) / "summary"), collect_freq=5),
    ModelCheckpoint(
        directory=str(Path(out) / "ckpt"),
        config=CheckpointConfig(train.get_dataset_size(), keep_checkpoint_max=2),
    ),
]
model.fit(task.SETTINGS["epochs"], train, evaluation, callbacks=callbacks, dataset_sink_mode=False)
