"""Hugging Face Trainer with what it writes by itself: its state, TensorBoard, checkpoints, its output."""

import sys

import task
import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

case, out = sys.argv[1:]
set_seed(task.SETTINGS["seed"])
torch.set_num_threads(1)
train_x, train_y, eval_x, eval_y = task.samples(case)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(task.FEATURES, 64), nn.Tanh(), nn.Linear(64, task.CLASSES))

    def forward(self, x, labels=None):
        scores = self.layers(x)
        return {"loss": nn.functional.cross_entropy(scores, labels), "logits": scores}


def metrics(found):
    return {"accuracy": float((found.predictions.argmax(-1) == found.label_ids).mean())}


trainer = Trainer(
    model=Network(),
    args=TrainingArguments(
        out,
        learning_rate={"rate": 5.0}.get(case, 0.002),
        num_train_epochs=task.SETTINGS["epochs"],
        per_device_train_batch_size=task.SETTINGS["batch_size"],
        weight_decay=0.01,
        warmup_steps=30,
        logging_steps=5,
        logging_nan_inf_filter=False,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        report_to="tensorboard",
        use_cpu=True,
        seed=task.SETTINGS["seed"],
    ),
    train_dataset=[{"x": x, "labels": y} for x, y in zip(train_x, train_y, strict=True)],
    eval_dataset=[{"x": x, "labels": y} for x, y in zip(eval_x, eval_y, strict=True)],
    compute_metrics=metrics,
)
trainer.train()
trainer.save_model()
trainer.save_state()
