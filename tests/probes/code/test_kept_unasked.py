"""The best weights of a loop, and the last score that is taken with them or without."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

MINDSPORE = """
import mindspore as ms
from mindspore import nn, ops

def judged(net, data):
    net.set_train(False)
    wrong = 0.0
    for x, y in data.create_tuple_iterator():
        wrong += float(ops.abs(net(x) - y).mean().asnumpy())
    return wrong

def main():
    net = nn.Dense(4, 1)
    opt = nn.Adam(net.trainable_params(), 1e-3)
    step = ms.value_and_grad(lambda x, y: ops.mse_loss(net(x), y), None, opt.parameters)
    if RESUME:
        ms.load_param_into_net(net, ms.load_checkpoint(RESUME))
    lowest = 1e9
    for epoch in range(9):
        for x, y in train_data.create_tuple_iterator():
            opt(step(x, y)[1])
        now = judged(net, valid_data)
        if now < lowest:
            lowest = now
            ms.save_checkpoint(net, "lowest.ckpt")
    {back}
    print("test", judged({asked}, test_data))

main()
"""
JAX = """
import jax
import optax

@jax.jit
def step(params, state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state

def rated(params, data):
    return float(sum(hits(params, x, y) for x, y in data))

params, state = start()
top, kept = 0.0, params
for epoch in range(9):
    for x, y in batches:
        params, state = step(params, state, x, y)
    told = rated(params, valid)
    if told > top:
        top, kept = told, jax.tree_util.tree_map(lambda p: p, {held})
{back}
print(rated({asked}, test_rows))
"""
CLOSURE = """
import torch

def watch(patience):
    best, kept = 0.0, None
    def see(value, net):
        nonlocal best, kept
        if value > best:
            best, kept = value, {{k: v.clone() for k, v in net.state_dict().items()}}
        return False
    return see, lambda net: net.load_state_dict(kept)

def main(net, opt, loader):
    see, put_back = watch(5)
    for epoch in range(9):
        for x, y in loader:
            loss = ((net(x) - y) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        see(score(net), net)
    {back}
    torch.save(net.state_dict(), "net.pt")

main(*made())
"""


@pytest.mark.parametrize(
    "text",
    [
        MINDSPORE.format(back="", asked="net"),
        JAX.format(held="params", back="", asked="params"),
        JAX.format(held="params", back="open('best', 'wb').write(pickle.dumps(kept))", asked="params"),
        CLOSURE.format(back="pass"),
    ],
)
def test_scored_without_the_best(text: str) -> None:
    assert state("script-last-instead-of-best", text) == "present"


@pytest.mark.parametrize(
    "text",
    [
        MINDSPORE.format(back='ms.load_param_into_net(net, ms.load_checkpoint("lowest.ckpt"))', asked="net"),
        MINDSPORE.format(back='net = restored("lowest.ckpt")', asked="restored(net)"),
        JAX.format(held="params", back="params = kept", asked="params"),
        JAX.format(held="params", back="", asked="kept"),
        CLOSURE.format(back="put_back(net)"),
        MINDSPORE.format(back="", asked="net").replace('print("test"', "return ("),
    ],
)
def test_scored_with_the_best(text: str) -> None:
    text = text.replace("restored(", "restore_weights(")
    assert state("script-last-instead-of-best", text) != "present"
