"""Losses and figures of two programs on the same made numbers."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_role.compare import told
from traindoctor.probes.by_role.worked import equal_kinds
from traindoctor.probes.code.against.edits import _compared, sorted_out
from traindoctor.probes.scripts.syntax import Script

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
model = nn.Sequential(nn.Linear(8, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
"""
TRAIN = """
for x, y in train_loader:
    {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
JUDGE = """
model.eval()
{start}
with torch.no_grad():
    for x, y in val_loader:
        {batch}
print("{name}", {end})
"""


def _script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


def _loss(line: str) -> Script:
    return _script(HEAD + TRAIN.format(loss=line.replace("\n", "\n    ")))


def _figure(name: str, start: str, batch: str, end: str) -> Script:
    text = JUDGE.format(name=name, start=start, batch=batch.replace("\n", "\n        "), end=end)
    return _script(HEAD + TRAIN.format(loss="loss = F.cross_entropy(model(x), y)") + text)


PLAIN = "loss = F.cross_entropy(model(x), y)"


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        ("loss = -model(x).log_softmax(1).gather(1, y[:, None]).mean()", PLAIN, True),
        ("z = model(x)\nloss = (z.logsumexp(1) - z[torch.arange(len(y)), y]).mean()", PLAIN, True),
        ("loss = F.nll_loss(F.log_softmax(model(x), dim=-1), y)", PLAIN, True),
        ("loss = F.cross_entropy(model(x), y, reduction='sum') / len(y)", PLAIN, True),
        ("loss = F.cross_entropy(model(x), y, reduction='sum')", PLAIN, False),
        ("loss = F.cross_entropy(model(x), y, label_smoothing=0.5)", PLAIN, False),
        ("loss = F.cross_entropy(model(x).softmax(1), y)", PLAIN, False),
        ("loss = F.cross_entropy(model(x), y, weight=w)", PLAIN, None),  # weights that are not known
        ("loss = other.criterion(model(x), y)", PLAIN, None),
        ("e = model(x) - y\nloss = (e * e).mean()", "loss = nn.MSELoss()(model(x), y)", True),
        ("loss = (model(x) - y).mean()", "loss = nn.MSELoss()(model(x), y)", False),
        (
            "d = (model(x) - y).abs()\nloss = torch.where(d < 1, 0.5 * d ** 2, d - 0.5).mean()",
            "loss = F.smooth_l1_loss(model(x), y)",
            True,
        ),
        (
            "loss = F.softplus(model(x)).mean() - (y * model(x)).mean()",
            "loss = F.binary_cross_entropy_with_logits(model(x), y)",
            True,
        ),
    ],
)
def test_losses_are_worked_out(mine: str, theirs: str, same: bool | None) -> None:
    assert equal_kinds(_loss(mine), _loss(theirs)).get("loss") is same


ACCURACY = (
    "accuracy",
    "hits = n = 0",
    "hits += (model(x).argmax(1) == y).sum().item()\nn += len(y)",
    "hits / n",
)
RMSE = (
    "rmse",
    "s = n = 0",
    "s += ((model(x).squeeze(1) - y) ** 2).sum().item()\nn += len(y)",
    "(s / n) ** 0.5",
)


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        (
            ("accuracy", "a, b = [], []", "a.append(model(x).argmax(-1))\nb.append(y)",
             "(torch.cat(a) == torch.cat(b)).float().mean()"),
            ACCURACY,
            True,
        ),
        (
            ("accuracy", "a = []", "a += [(model(x).argmax(1) == y).float().mean()]", "sum(a) / len(a)"),
            ACCURACY,
            False,  # of batches of unlike size
        ),
        (
            ("accuracy", "h = n = 0", "h += (model(x).argmin(1) == y).sum().item()\nn += len(y)", "h / n"),
            ACCURACY,
            False,
        ),
        (("accuracy", "h = 0", "h += judge(model(x), y)", "h"), ACCURACY, None),
        (
            ("rmse", "s = n = 0", "s += F.mse_loss(model(x).view(-1), y, reduction='sum')\nn += y.numel()",
             "torch.sqrt(s / n)"),
            RMSE,
            True,
        ),
        (
            ("rmse", "s = n = 0", "s += ((model(x).squeeze(1) - y) ** 2).sum().item()\nn += len(y)", "s / n"),
            RMSE,
            False,
        ),
        (("precision", *RMSE[1:]), RMSE, None),  # a figure of another name
    ],
)  # fmt: skip
def test_figures_are_worked_out(
    mine: tuple[str, str, str, str], theirs: tuple[str, str, str, str], same: bool | None
) -> None:
    assert equal_kinds(_figure(*mine), _figure(*theirs)).get(theirs[0]) is same


def test_a_cut_of_chances_is_one_of_scores_at_zero() -> None:
    ours = ("accuracy", "h = n = 0", "h += ((model(x) > 0).float() == y).sum()\nn += y.numel()", "h / n")
    same = ("accuracy", "h = n = 0", "h += ((model(x).sigmoid() > 0.5) == y).sum()\nn += y.numel()", "h / n")
    other = ("accuracy", "h = n = 0", "h += ((model(x) > 0.5).float() == y).sum()\nn += y.numel()", "h / n")
    assert equal_kinds(_figure(*same), _figure(*ours)).get("accuracy") is True
    assert equal_kinds(_figure(*other), _figure(*ours)).get("accuracy") is False


def test_a_network_that_ends_in_a_softmax_makes_no_difference_sure() -> None:
    text = HEAD.replace("nn.Linear(8, 4))", "nn.Linear(8, 4), nn.LogSoftmax(1))")
    mine, theirs = (
        _script(text + TRAIN.format(loss=loss))
        for loss in ("loss = F.nll_loss(model(x), y)", "loss = F.cross_entropy(model(x), y)")
    )
    assert equal_kinds(mine, theirs).get("loss") is None


def test_other_hands_loss_is_told_by_its_role() -> None:
    wrong = [
        t.kind for t in told(_loss("loss = (model(x) - y).mean()"), _loss("loss = F.mse_loss(model(x), y)"))
    ]
    right = [
        t.kind
        for t in told(_loss("loss = ((model(x) - y) ** 2).mean()"), _loss("loss = F.mse_loss(model(x), y)"))
    ]
    assert "loss-function" in wrong
    assert "loss-function" not in right


def _told(mine: Script, theirs: Script) -> set[str]:
    return {kind for kind, edits in sorted_out(_compared((mine,), (theirs,))).items() if edits} - {
        "rewritten"
    }


def test_an_equal_figure_is_no_edit_and_another_one_is() -> None:
    theirs = _figure(*RMSE)
    equal = ("rmse", *RMSE[1:3], "math.sqrt(s / n)")
    assert "metric" not in _told(_figure(*equal), theirs)
    other = ("rmse", "s = n = 0", "s += (model(x).squeeze(1) - y).abs().sum().item()\nn += len(y)", RMSE[3])
    assert _told(_figure(*other), theirs)


FREEZES = """
fast, slow = Net(), Net()
for p in slow.parameters():
    p.requires_grad = False
opt = torch.optim.Adam({}.parameters())
"""


@pytest.mark.parametrize(("trained", "kinds"), [("fast", False), ("slow", True)])
def test_a_network_beside_the_trained_one_is_not_frozen(trained: str, kinds: bool) -> None:
    mine = HEAD.replace("opt =", "_ =") + FREEZES.format(trained)
    theirs = HEAD.replace("opt =", "_ =") + "fast = Net()\nopt = torch.optim.Adam(fast.parameters())\n"
    mine, theirs = (
        t.replace("_ = torch.optim.SGD(model.parameters(), lr=0.1)\n", "") for t in (mine, theirs)
    )
    assert any(t.kind == "frozen" for t in told(_script(mine), _script(theirs))) is kinds


MODES = """
import mindspore as ms
from mindspore import nn
net = Net()
{functions}
for epoch in range(3):
    net.set_train(True)
    for x, y in train:
        step(x, y)
    {judge}
"""


def test_a_mode_that_is_set_in_a_function_is_no_edit() -> None:
    theirs = MODES.format(functions="", judge="net.set_train(False)\n    for x, y in test:\n        net(x)")
    function = "def judge(model, data):\n    {}for x, y in data:\n        model(x)\n"
    held = MODES.format(functions=function.format("model.set_train(False)\n    "), judge="judge(net, test)")
    gone = MODES.format(functions=function.format(""), judge="judge(net, test)")
    assert "mode" not in _told(_script(held), _script(theirs))
    assert "mode" in _told(_script(gone), _script(theirs))


SCALES = """
import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.vision as V
from mindspore import nn
data = ds.ImageFolderDataset("a", decode=True)
data = data.map([{}, V.HWC2CHW()], "image").batch(32)
net = nn.Dense(3, 2)
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
model = ms.Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))
model.train(3, data)
"""


@pytest.mark.parametrize(
    ("steps", "same"),
    [
        ("V.Rescale(1 / 255, 0.0), V.Normalize([0.5] * 3, [0.25] * 3)", True),
        ("V.Rescale(1 / 255, 0.0), V.Normalize([0.5] * 3, [0.5] * 3)", False),
        ("V.Normalize([0.5] * 3, [0.25] * 3)", False),
    ],
)
def test_a_scale_in_two_steps(steps: str, same: bool) -> None:
    theirs = SCALES.format("V.Normalize([127.5] * 3, [63.75] * 3)")
    kinds = _told(_script(SCALES.format(steps)), _script(theirs))
    assert (not {k for k in kinds if k.startswith("normalisation")}) is same


def test_a_mask_that_leaves_nothing_out_here_tells_nothing() -> None:
    line = "e = F.cross_entropy(model(x), y, reduction='none')\nk = (y != 9).float()\nloss = {}"
    mine, theirs = (_loss(line.format(end)) for end in ("(e * k).mean()", "(e * k).sum() / k.sum()"))
    assert equal_kinds(mine, theirs).get("loss") is None


def test_a_metric_that_is_no_longer_reset_is_still_an_edit() -> None:
    head = (
        HEAD + "from torchmetrics.classification import MulticlassAccuracy as Acc\nacc = Acc(num_classes=4)\n"
    )
    loop = head + "for epoch in range(3):\n    {}for x, y in val_loader:\n        acc.update(model(x), y)\n"
    loop += "    print('accuracy', acc.compute())\n"
    mine, theirs = (_script(loop.format(start)) for start in ("", "acc.reset()\n    "))
    assert "metric-reset" in _told(mine, theirs)
