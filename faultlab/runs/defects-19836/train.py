"""Train the surface defect classifier: python train.py [--config_path default_config.yaml]"""
import argparse
import time

import mindspore as ms
import mindspore.nn as nn
import numpy as np
import yaml
from mindspore import ops
from mindspore.amp import StaticLossScaler

from dataset import create_dataset
from lr_generator import warmup_cosine_lr
from network import DefectNet


def group_params(network, weight_decay):
    """bias、gamma、beta 不做权重衰减."""
    no_decay = [p for p in network.trainable_params() if p.name.endswith((".bias", ".gamma", ".beta"))]
    names = {p.name for p in no_decay}
    decay = [p for p in network.trainable_params() if p.name not in names]
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
        {"order_params": network.trainable_params()},
    ]


class Evaluator:
    """Loss and top-1 accuracy over the whole validation set."""

    def __init__(self, network, loss_fn, dataset):
        self.network = network
        self.loss_fn = loss_fn
        self.dataset = dataset

    def run(self):
        self.network.set_train(False)
        total, correct, loss_sum = 0, 0, 0.0
        for image, label in self.dataset.create_tuple_iterator(num_epochs=1):
            logits = self.network(image)
            loss_sum += float(self.loss_fn(logits, label).asnumpy()) * label.shape[0]
            pred = np.argmax(logits.asnumpy(), axis=1)
            correct += int((pred == label.asnumpy()).sum())
            total += label.shape[0]
        self.network.set_train(True)
        return loss_sum / total, correct / total


def train(config):
    ms.set_seed(config["seed"])
    ms.set_device(config["device_target"])
    ms.set_context(mode=ms.GRAPH_MODE)

    train_set = create_dataset(config, training=True)
    val_set = create_dataset(config, training=False)
    steps_per_epoch = train_set.get_dataset_size()

    network = DefectNet(config)
    loss_fn = nn.CrossEntropyLoss()
    lr = warmup_cosine_lr(
        config["lr_init"],
        config["lr_max"],
        config["lr_end"],
        config["warmup_epochs"],
        config["epoch_size"],
        steps_per_epoch,
    )
    optimizer = nn.Momentum(group_params(network, config["weight_decay"]), lr, config["momentum"])
    scaler = StaticLossScaler(config["loss_scale"])
    evaluator = Evaluator(network, loss_fn, val_set)

    def forward_fn(image, label):
        logits = network(image)
        loss = loss_fn(logits, label)
        return scaler.scale(loss), loss

    grad_fn = ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

    @ms.jit
    def train_step(image, label):
        (_, loss), grads = grad_fn(image, label)
        grads = scaler.unscale(grads)
        grads = ops.clip_by_global_norm(grads, config["max_grad_norm"])
        optimizer(grads)
        return loss

    network.set_train(True)
    best = 0.0
    for epoch in range(1, config["epoch_size"] + 1):
        start = time.time()
        for step, (image, label) in enumerate(train_set.create_tuple_iterator(), 1):
            loss = train_step(image, label)
            if step % config["print_steps"] == 0:
                print(f"epoch: {epoch} step: {step}, loss is {float(loss.asnumpy())}", flush=True)
        cost = (time.time() - start) * 1000
        print(f"Train epoch time: {cost:.3f} ms, per step time: {cost / steps_per_epoch:.3f} ms")
        val_loss, acc = evaluator.run()
        print(f"epoch: {epoch}, val_loss: {val_loss:.4f}, accuracy: {acc:.4f}", flush=True)
        if acc > best:
            best = acc
            ms.save_checkpoint(network, "best.ckpt")
    print(f"training finished, best accuracy {best:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config_path", default="default_config.yaml")
    args = parser.parse_args()
    with open(args.config_path, encoding="utf-8") as f:
        train(yaml.safe_load(f))
