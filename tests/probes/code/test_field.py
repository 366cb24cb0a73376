"""Errors of scripts from the field: each in its three states."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from traindoctor.probes.code.calls import field as code_field
from traindoctor.probes.registry import View

from .._build import run

MINDSPORE = """
    import mindspore as ms
    from mindspore import nn
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(p=0.1)
        def construct(self, x):
            return self.drop(x)
    net = Net()
    grad = ms.value_and_grad(forward, None, net.trainable_params())
    {switch}
    for x, y in data:
        loss, grads = grad(x, y)
        optimizer(grads)
"""
FIXED = """
    import mindspore as ms
    manager = ms.FixedLossScaleManager(1024, drop_overflow_update={drop})
    optimizer = ms.nn.Momentum(net.trainable_params(), 0.1, 0.9{more})
    model = ms.Model(net, loss, optimizer, loss_scale_manager=manager)
"""
POSITIONS = """
    import torch
    def positions(length):
        position_ids = torch.arange(0, length, dtype={dtype})
        return position_ids
"""
WORKERS = """
    import numpy as np
    import torch
    def init(worker):
        np.random.seed({seed})
    loader = DataLoader(data, batch_size=8, num_workers=4, worker_init_fn=init)
"""
SHARDS = """
    import os
    import torch
    files = {files}
    mine = files[rank::world_size]
"""
NONE = "print('hello')\n"


@pytest.mark.parametrize(
    ("function", "text", "expected"),
    [
        ("set_train_missing", MINDSPORE.format(switch="pass"), "present"),
        ("set_train_missing", MINDSPORE.format(switch="net.set_train()"), "absent"),
        ("set_train_missing", MINDSPORE.format(switch="net.set_train(False)"), "present"),
        ("set_train_missing", MINDSPORE.format(switch="model = ms.Model(net)"), "unknown"),
        ("set_train_missing", MINDSPORE.format(switch="pass").replace("mindspore", "torch"), "unknown"),
        ("scale_not_divided_out", FIXED.format(drop="False", more=""), "present"),
        ("scale_not_divided_out", FIXED.format(drop="False", more=", loss_scale=1024"), "absent"),
        ("scale_not_divided_out", FIXED.format(drop="True", more=""), "absent"),
        ("positions_in_half", POSITIONS.format(dtype="torch.bfloat16"), "present"),
        ("positions_in_half", POSITIONS.format(dtype="torch.float32"), "absent"),
        ("positions_in_half", POSITIONS.format(dtype="torch.long"), "absent"),
        ("workers_share_seed", WORKERS.format(seed="42"), "present"),
        ("workers_share_seed", WORKERS.format(seed="base + worker"), "absent"),
        ("workers_share_seed", "loader = DataLoader(data, num_workers=4)", "unknown"),
        ("shards_in_listing_order", SHARDS.format(files="os.listdir('data')"), "present"),
        ("shards_in_listing_order", SHARDS.format(files="sorted(os.listdir('data'))"), "absent"),
        ("shards_in_listing_order", "import os\nfiles = os.listdir('data')", "unknown"),
    ],
)
def test_script_errors(function: str, text: str, expected: str) -> None:
    """The error on its line, the sound form beside it, and scripts without the construct."""
    made = run(scripts={"train.py": textwrap.dedent(text)})
    found = getattr(code_field, function)(View(made))

    assert found.state == expected, found.why
    assert not (expected == "present" and not found.where)


@pytest.mark.parametrize("function", ["set_train_missing", "scale_not_divided_out", "positions_in_half"])
@pytest.mark.parametrize("scripts", [{}, {"train.py": NONE}])
def test_nothing_to_look_at(function: str, scripts: dict[str, Any]) -> None:
    """Without a script, or without the construct, nothing is claimed."""
    assert getattr(code_field, function)(View(run(scripts=scripts))).state == "unknown"
