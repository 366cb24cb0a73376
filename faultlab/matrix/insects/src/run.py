"""Ported from train.py of the PyTorch repository."""
import os

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from data import loaders
from model import VisionTransformer

CONFIG = {
    "root": "insects",
    "out": "runs/vit",
    "image": 224,
    "batch": 64,
    "epochs": 100,
    "warmup": 10,
    "lr": 5e-4,
    "min_lr": 1e-6,
    "weight_decay": 0.05,
    "clip": 1.0,
    "smoothing": 0.1,
    "seed": 42,
}


def rates(cfg, per_epoch):
    """One rate a step: linear warm-up, then cosine."""
    warm = cfg["warmup"] * per_epoch
    total = cfg["epochs"] * per_epoch
    steps = np.arange(total)
    ramp = cfg["lr"] * (steps + 1) / warm
    wave = cfg["min_lr"] + 0.5 * (cfg["lr"] - cfg["min_lr"]) * (1 + np.cos(np.pi * (steps - warm) / (total - warm)))
    return np.where(steps < warm, ramp, wave).astype(np.float32).tolist()


def no_decay(param):
    return param.ndim == 1 or param.name.endswith(("pos_embed", "cls_token"))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.train_set, self.val_set, self.test_set = loaders(cfg["root"], cfg["image"], cfg["batch"])
        self.model = VisionTransformer(cfg["image"])
        params = self.model.trainable_params()
        groups = [{"params": [p for p in params if not no_decay(p)], "weight_decay": cfg["weight_decay"]},
                  {"params": [p for p in params if no_decay(p)], "weight_decay": 0.0}]
        self.optimizer = nn.AdamWeightDecay(groups, rates(cfg, self.train_set.get_dataset_size()),
                                            beta1=0.9, beta2=0.999, eps=1e-8)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=cfg["smoothing"])
        self.grad_fn = ms.value_and_grad(self.forward, None, self.optimizer.parameters, has_aux=True)
        self.best = 0.0

    def forward(self, image, label):
        logits = self.model(image)
        return self.criterion(logits, label), logits

    def step(self, image, label):
        (loss, logits), grads = self.grad_fn(image, label)
        grads = ops.clip_by_global_norm(grads, self.cfg["clip"])
        self.optimizer(grads)
        return loss, logits

    def train_epoch(self, epoch):
        self.model.set_train()
        losses, hits, count = 0.0, 0, 0
        for i, (image, label) in enumerate(self.train_set.create_tuple_iterator()):
            loss, logits = self.step(image, label)
            losses += loss.asnumpy().item() * len(label)
            hits += (logits.argmax(axis=1) == label).sum().asnumpy().item()
            count += len(label)
        print(f"[{epoch}] train loss {losses / count:.4f} acc {hits / count:.4f}")

    def evaluate(self, data):
        self.model.set_train(False)
        losses, hits, count = 0.0, 0, 0
        for image, label in data.create_tuple_iterator():
            logits = self.model(image)
            losses += self.criterion(logits, label).asnumpy().item() * len(label)
            hits += (logits.argmax(axis=1) == label).sum().asnumpy().item()
            count += len(label)
        return losses / count, hits / count

    def fit(self):
        path = os.path.join(self.cfg["out"], "vit_best.ckpt")
        for epoch in range(self.cfg["epochs"]):
            self.train_epoch(epoch)
            loss, acc = self.evaluate(self.val_set)
            print(f"[{epoch}] val loss {loss:.4f} acc {acc:.4f}")
            if acc > self.best:
                self.best = acc
                ms.save_checkpoint(self.model, path)
        ms.load_param_into_net(self.model, ms.load_checkpoint(path))
        print("test", self.evaluate(self.test_set))


if __name__ == "__main__":
    ms.set_seed(CONFIG["seed"])
    ms.set_context(mode=ms.PYNATIVE_MODE)
    os.makedirs(CONFIG["out"], exist_ok=True)
    Trainer(CONFIG).fit()
