"""OpenMMLab's Runner with its default hooks: text log, JSON lines, configuration, checkpoint."""

import sys

import task
import torch
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import nn

case, out = sys.argv[1:]
torch.set_num_threads(1)
train_x, train_y, eval_x, eval_y = task.samples(case)


class Network(BaseModel):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(task.FEATURES, 64), nn.Tanh(), nn.Linear(64, task.CLASSES))

    def forward(self, x, y, mode):
        scores = self.layers(x)
        return {"loss": nn.functional.cross_entropy(scores, y)} if mode == "loss" else (scores, y)


class Accuracy(BaseMetric):
    def process(self, data_batch, data_samples):
        scores, y = data_samples
        self.results.append({"size": len(y), "right": (scores.argmax(1) == y).sum().item()})

    def compute_metrics(self, results):
        return {"accuracy": sum(r["right"] for r in results) / sum(r["size"] for r in results)}


def loader(x, y, shuffle):
    data = torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y))
    return {
        "batch_size": task.SETTINGS["batch_size"],
        "dataset": data,
        "sampler": {"type": "DefaultSampler", "shuffle": shuffle},
        "collate_fn": {"type": "default_collate"},
    }


keys = ("momentum", "weight_decay")
optim_wrapper = {
    "optimizer": {"type": "SGD", "lr": task.RATES[case]} | {key: task.SETTINGS[key] for key in keys},
    "clip_grad": {"max_norm": 1e9},
}
train_cfg = {"by_epoch": True, "max_epochs": task.SETTINGS["epochs"]}
Runner(
    model=Network(),
    work_dir=out,
    train_dataloader=loader(train_x, train_y, True),
    val_dataloader=loader(eval_x, eval_y, False),
    val_evaluator={"type": Accuracy},
    train_cfg=train_cfg,
    val_cfg={},
    optim_wrapper=optim_wrapper,
    default_hooks={"logger": {"type": "LoggerHook", "interval": 5}},
    randomness={"seed": task.SETTINGS["seed"]},
    cfg={"optim_wrapper": optim_wrapper, "train_cfg": train_cfg},  # what `Runner.from_cfg` keeps
).train()
