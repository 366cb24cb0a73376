"""Where gradients are taken and applied, in each framework's own words."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.probes.scripts.learning import differentiated, taken, takes_gradients, updates
from traindoctor.probes.scripts.syntax import Script

PLAIN = """
    import torch
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
TAPE = """
    import tensorflow as tf
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = compute(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
FUNCTIONAL = """
    import mindspore as ms
    from mindspore import nn
    opt = nn.Adam(net.trainable_params(), 1e-3)
    def forward(x, y):
        return loss_fn(net(x), y)
    grad_fn = ms.value_and_grad(forward, None, opt.parameters)
    @ms.jit
    def one(x, y):
        loss, grads = grad_fn(x, y)
        opt(grads)
        return loss
    for x, y in data:
        one(x, y)
"""
IN_A_CELL = """
    import mindspore as ms
    from mindspore import nn, ops
    class Step(nn.Cell):
        def __init__(self, net, optimizer):
            super().__init__()
            self.net, self.weights = net, optimizer.parameters
            self.optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
            self.grad = ops.GradOperation(get_by_list=True)
        def construct(self, x, y):
            grads = self.grad(self.net, self.weights)(x, y)
            return self.optimizer(grads)
"""
READY = """
    from mindspore import nn
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.SGD(net.trainable_params(), 0.1))
    for x, y in data:
        step(x, y)
"""
JAX = """
    import jax
    def loss_of(params, x, y):
        return error(apply(params, x), y)
    both = jax.jit(jax.value_and_grad(loss_of))
    for x, y in data:
        loss, grads = both(params, x, y)
        change, state = tx.update(grads, state)
        params = optax.apply_updates(params, change)
"""


def script(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


@pytest.mark.parametrize(
    ("text", "takes", "applies"),
    [
        (PLAIN, "loss.backward()", "optimizer.step()"),
        (TAPE, "tape.gradient(", "optimizer.apply_gradients("),
        (FUNCTIONAL, "grad_fn(x, y)", "opt(grads)"),
        (IN_A_CELL, "self.grad(self.net, self.weights)(x, y)", "self.optimizer(grads)"),
        (READY, "step(x, y)", "step(x, y)"),
        (JAX, "both(params, x, y)", "optax.apply_updates("),
    ],
)
def test_gradients_are_taken_and_applied(text: str, takes: str, applies: str) -> None:
    source = script(text)
    assert any(takes in source.line(c) for c in taken(source))
    assert any(applies in source.line(c) for c in updates(source))


def test_the_differentiated_function_learns_and_an_evaluation_does_not() -> None:
    source = script(
        FUNCTIONAL + "    def measure(data):\n        for x, y in data:\n            hits += net(x) == y\n"
    )
    assert [getattr(f, "name", "") for f in differentiated(source)] == ["forward"]
    functions = {f.name: f for f in source.of(ast.FunctionDef)}
    assert takes_gradients(source, functions["forward"]) and takes_gradients(source, functions["one"])
    assert not takes_gradients(source, functions["measure"])


def test_a_gradient_of_autograd_is_no_functional_one() -> None:
    source = script("import torch\ng = torch.autograd.grad(loss, x)\ny = g(x)\n")
    assert taken(source) == ()
