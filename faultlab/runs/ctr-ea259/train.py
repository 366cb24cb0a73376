"""Train DeepFM on click logs; the progress lines follow LossMonitor."""
import math
import time
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F
import yaml
from torch import nn

import dataset


def init_uniform(shape, scope):
    return nn.Parameter(torch.empty(*shape).uniform_(-scope, scope))


class DeepFM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        total = cfg.fields * cfg.vocab_per_field
        self.w = init_uniform((total, 1), cfg.init_range)
        self.v = init_uniform((total, cfg.emb_dim), cfg.init_range)
        self.num = nn.Linear(4, cfg.emb_dim)
        sizes = [(cfg.fields + 1) * cfg.emb_dim, *cfg.hidden_units]
        self.dense = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.out = nn.Linear(sizes[-1], 1)
        self.drop = nn.Dropout(1 - cfg.keep_prob)

    def forward(self, ids, numeric):
        linear = self.w[ids].sum((1, 2))
        emb = self.v[ids]
        square = 0.5 * (emb.sum(1).pow(2) - emb.pow(2).sum(1)).sum(1)
        deep = torch.cat([emb.flatten(1), self.num(numeric)], 1)
        for layer in self.dense:
            deep = self.drop(F.relu(layer(deep)))
        return linear + square + self.out(deep).squeeze(1)


def auc_score(labels, scores):
    order = np.argsort(scores, kind="mergesort")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    positive = labels == 1
    n1, n0 = positive.sum(), (~positive).sum()
    return (ranks[positive].sum() - n1 * (n1 + 1) / 2) / (n1 * n0)


def build_train_step(net, optimizer):
    params = [p for p in net.parameters() if p.requires_grad]

    def forward_fn(ids, numeric, label):
        return F.binary_cross_entropy_with_logits(net(ids, numeric), label)

    def train_step(ids, numeric, label):
        loss = forward_fn(ids, numeric, label)
        grads = torch.autograd.grad(loss, params)
        for p, g in zip(params, grads):
            p.grad = g
        optimizer.step()
        return loss.detach()

    return train_step


def evaluate(net, data, batch=1000):
    net.eval()
    logits = torch.cat([net(ids, numeric) for ids, numeric, _ in dataset.batches(data, batch, None)])
    label = data["label"]
    loss = F.binary_cross_entropy_with_logits(logits, torch.from_numpy(label)).item()
    net.train()
    return {"auc": round(float(auc_score(label, logits.numpy())), 5), "loss": round(loss, 5)}


def get_optimizer(cfg, net):
    kinds = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop, "adagrad": torch.optim.Adagrad}
    return kinds[cfg.optimizer](net.parameters(), lr=cfg.learning_rate, eps=float(cfg.epsilon), weight_decay=float(cfg.l2_coef))


def run(cfg):
    rng = np.random.default_rng(cfg.seed)
    torch.manual_seed(cfg.seed)
    train_data, eval_data = dataset.create(cfg)
    net = DeepFM(cfg)
    optimizer = get_optimizer(cfg, net)
    step_fn = build_train_step(net, optimizer)
    steps = math.ceil(len(train_data["label"]) / cfg.batch_size)
    net.train()
    for epoch in range(1, cfg.epochs + 1):
        begin = time.time()
        for group in optimizer.param_groups:
            group["lr"] = cfg.learning_rate * cfg.decay_rate ** (epoch - 1)
        for step, (ids, numeric, label) in enumerate(dataset.batches(train_data, cfg.batch_size, rng), 1):
            loss = step_fn(ids, numeric, label)
            if step % cfg.print_step == 0 or step == steps:
                print(f"epoch: {epoch} step: {step}, loss is {loss.item()}", flush=True)
        spent = (time.time() - begin) * 1000
        print(f"Train epoch time: {spent:5.3f} ms, per step time: {spent / steps:5.3f} ms", flush=True)
        with torch.no_grad():
            print(f"epoch: {epoch} EvalCallBack metric {evaluate(net, eval_data)}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(SimpleNamespace(**yaml.safe_load(open("default_config.yaml"))))
