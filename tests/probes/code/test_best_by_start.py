"""The best figure: in variables of a graph, of functions that give several, told by where it starts."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """
import torch
import torch.nn as nn
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters())
def judge(net, rows):
    recalls, ndcgs = [], []
    for x, y in rows:
        recalls.append((net(x).argmax(1) == y).float().mean().item())
        ndcgs.append((net(x).argmax(1) == y).float().sum().item() / len(y))
    return sum(recalls) / len(recalls), sum(ndcgs) / len(ndcgs)
def train(net, rows):
    total = 0.0
    for x, y in rows:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total
"""
TUPLE = """
best, wait = {start}, 0
for epoch in range(50):
    train(net, train_rows)
    r, n = judge(net, val_rows)
    if n {sign} best:
        best, wait = n, 0
        torch.save(net.state_dict(), "best.pt")
    else:
        wait += 1
net.load_state_dict(torch.load("best.pt"))
print(judge(net, test_rows))
"""
AT_ONCE = """
best = 0.0
for epoch in range(50):
    train(net, train_rows)
    f = judge(net, val_rows)[0]
    better, best = f {sign} best, {end}(best, f)
    torch.save(net.state_dict(), "last.pt")
    if better:
        torch.save(net.state_dict(), "best.pt")
"""
TF = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()
best_psnr = tf.Variable(0.0)
ckpt = tf.train.Checkpoint(model=model, optimizer=optimizer, best=best_psnr)
last = tf.train.CheckpointManager(ckpt, "last", max_to_keep=2)
best = tf.train.CheckpointManager(ckpt, "best", max_to_keep=1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(y - model(x)))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
def evaluate():
    return float(tf.reduce_mean([tf.image.psnr(y, model(x), 1.0) for x, y in valid]))
for i, (x, y) in enumerate(train):
    step(x, y)
    if i % 100 == 0:
        psnr = evaluate()
        if psnr {sign} float(best_psnr):
            {raised}
            best.save()
        last.save()
ckpt.restore({end}.latest_checkpoint)
print("test", evaluate())
"""
FOLDS = """
def fold_of(k, rows, test):
    best = 0.0
    for epoch in range(20):
        train(net, rows)
        score = judge(net, test)[0]
        if score > best:
            best = score
            torch.save(net.state_dict(), f"fold_{{k}}.pt")
    net.load_state_dict(torch.load({file}))
    return judge(net, test)
print([fold_of(k, rows[k], rows[-1]) for k in range(5)])
"""
RAISED = "best_psnr.assign(psnr)"


def tf(sign: str = ">", raised: str = RAISED, end: str = "best") -> str:
    return TF.format(sign=sign, raised=raised, end=end)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + TUPLE.format(start="-1.0", sign=">"),
        HEAD + TUPLE.format(start="0", sign=">"),
        HEAD + AT_ONCE.format(sign=">", end="max"),
        tf(),
        tf(raised="best_psnr.assign(tf.constant(psnr))"),
        HEAD + FOLDS.format(file='f"fold_{k}.pt"'),
        HEAD + FOLDS.format(file='"pretrained.pt"'),
    ],
)
def test_right_choices_are_left_alone(text: str) -> None:
    for symptom in ("script-best-chosen-wrongly", "script-last-instead-of-best"):
        assert state(symptom, text) != "present"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + TUPLE.format(start="-1.0", sign="<"),
        HEAD + TUPLE.format(start="1.0", sign="<"),
        HEAD + AT_ONCE.format(sign=">", end="min"),
        tf(sign="<"),
        tf(raised="pass"),
        HEAD + FOLDS.format(file='"fold_0.pt"'),
    ],
)
def test_choices_that_keep_another(text: str) -> None:
    assert state("script-best-chosen-wrongly", text) == "present"


def test_the_last_is_restored() -> None:
    assert state("script-last-instead-of-best", tf(end="last")) == "present"
