"""What is exchanged after the optimizer was built: layers by attribute, item, name, helper; whole models."""

from __future__ import annotations

import pytest

from .._scripts import state

LAYER, MODEL = "script-layer-replaced-after-optimizer", "script-optimizer-other-model"
HEAD = """
import torch
from torch import nn
from torchvision import models
class Net(nn.Module):
    def __init__(self, n=10):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.classifier = nn.Sequential(nn.Linear(8, n))
    def forward(self, x):
        return self.classifier(self.body(x))
def make(n):
    net = models.resnet18(weights=None)
    net.fc = nn.Linear(512, n)
    return net
def own(n):
    return Net(n).to("cuda")
def new_head(net, n):
    net.fc = nn.Linear(8, n)
def main(loader, n, device):
    model = Net()
"""
LOOP = """
    for x, y in loader:
        opt.zero_grad(); nn.functional.cross_entropy(model(x), y).backward(); opt.step()
"""
OPT = "    opt = torch.optim.SGD(model.parameters(), 0.1)\n"


@pytest.mark.parametrize(
    "change",
    [
        "model.fc = nn.Linear(8, n)",
        "model.classifier[-1] = nn.Linear(8, n).to(device)",
        "model._modules['fc'] = nn.Linear(8, n)",
        "setattr(model, 'head', nn.Linear(8, n))",
        "model.add_module('head', nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, n)))",
        "new_head(model, n)",
        "new_head(net=model, n=n)",
    ],
)
def test_a_layer_after_the_optimizer(change: str) -> None:
    assert state(LAYER, f"{HEAD}{OPT}    {change}\n{LOOP}") == "present"
    assert state(LAYER, f"{HEAD}    {change}\n{OPT}{LOOP}") == "absent"


@pytest.mark.parametrize(
    "given", ["filter(lambda p: p.requires_grad, model.parameters())", "[{'params': model.parameters()}]"]
)
def test_however_the_parameters_are_given(given: str) -> None:
    opt = OPT.replace("model.parameters()", given)
    assert state(LAYER, f"{HEAD}{opt}    model.fc = nn.Linear(8, n)\n{LOOP}") == "present"


@pytest.mark.parametrize(
    "change",
    [
        "model.history[0] = torch.zeros(3)",  # no layer
        "other.fc = nn.Linear(8, n)",  # of another model
        "model.fc = nn.Linear(8, n)\n    opt.add_param_group({'params': model.fc.parameters()})",
        "model.fc = nn.Linear(8, n)\n    opt = torch.optim.SGD(model.parameters(), 0.1)",
        "model.drop = nn.Identity()",
    ],
)
def test_right_changes_after_the_optimizer(change: str) -> None:
    assert state(LAYER, f"{HEAD}{OPT}    {change}\n{LOOP}") == "absent"


@pytest.mark.parametrize("given", ["Net(n)", "make(n)", "own(n)"])
def test_a_model_made_for_the_optimizer_alone(given: str) -> None:
    opt = OPT.replace("model.parameters()", f"{given}.parameters()")
    assert state(MODEL, f"{HEAD}{opt}{LOOP}") == "present"


@pytest.mark.parametrize("change", ["model = Net(n)", "model = make(n).to(device)", "model = own(n)"])
def test_a_model_made_anew(change: str) -> None:
    assert state(MODEL, f"{HEAD}{OPT}    {change}\n{LOOP}") == "present"
    assert state(MODEL, f"{HEAD}{OPT}    {change}\n{OPT}{LOOP}") == "absent"


@pytest.mark.parametrize(
    "change",
    [
        "model = nn.DataParallel(model)",
        "model = torch.compile(model)",
        "model = model.to(device)",
        "model, opt = accelerator.prepare(model, opt)",
    ],
)
def test_a_model_that_is_wrapped(change: str) -> None:
    assert state(MODEL, f"{HEAD}{OPT}    {change}\n{LOOP}") == "absent"


def test_the_model_of_a_getter() -> None:
    opt = OPT.replace("model.parameters()", "unwrapped(model).parameters()")
    getter = "def unwrapped(m):\n    return m.module if hasattr(m, 'module') else m\n"
    assert state(MODEL, f"{getter}{HEAD}{opt}{LOOP}") == "absent"


def test_a_cell_whose_layer_is_replaced() -> None:
    code = """
import mindspore as ms
from mindspore import nn
def main(net, data, classes):
    opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    net.fc = nn.Dense(512, classes)
    model = ms.Model(net, nn.CrossEntropyLoss(), opt)
    model.train(10, data)
"""
    assert state(LAYER, code) == "present"
    assert state(LAYER, code.replace("net.trainable_params()", "head.trainable_params()")) == "absent"


def test_nothing_to_look_at() -> None:
    assert state(LAYER, "import torch\nprint(torch.__version__)\n") == "unknown"
    assert state(MODEL, "import torch\nprint(torch.__version__)\n") == "unknown"


TWINS = """
    ema = Net()
    ema.load_state_dict(model.state_dict())
    opt = torch.optim.Adam({HELD}.parameters(), 0.1)
    for x, y in loader:
        opt.zero_grad(); nn.functional.cross_entropy(model(x), y).backward(); opt.step()
        {MORE}
"""


@pytest.mark.parametrize(
    ("held", "more", "found"),
    [
        ("model", "pass", False),
        ("ema", "pass", True),
        ("ema", "follow(ema, model)", False),
        ("ema", "ema(x)", True),
    ],
)
def test_the_optimizer_of_the_twin(held: str, more: str, found: bool) -> None:
    code = HEAD + TWINS.replace("{HELD}", held).replace("{MORE}", more)
    assert (state(MODEL, code) == "present") is found


@pytest.mark.parametrize(
    ("wrapped", "told"),
    [("FSDP(model)", "present"), ("FSDP(model, use_orig_params=True)", "absent"), ("DDP(model)", "absent")],
)
def test_parameters_are_made_flat_after_the_optimizer(wrapped: str, told: str) -> None:
    """FSDP makes parameters of its own; with use_orig_params, and under DDP, they stay."""
    assert state(LAYER, HEAD + OPT + f"    model = {wrapped}\n" + LOOP) == told
    assert state(LAYER, HEAD + f"    model = {wrapped}\n" + OPT + LOOP) != "present"


def test_the_layer_that_the_optimizer_holds_alone() -> None:
    """`SGD(model.classifier.parameters())`, and then another classifier."""
    alone = OPT.replace("model.parameters", "model.classifier.parameters")

    assert state(LAYER, HEAD + alone + "    model.classifier = nn.Linear(8, n)\n" + LOOP) == "present"
    assert state(LAYER, HEAD + "    model.classifier = nn.Linear(8, n)\n" + alone + LOOP) != "present"
