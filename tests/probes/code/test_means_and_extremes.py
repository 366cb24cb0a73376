"""Running means of batches, and best figures that `max` or `min` keeps."""

import pytest

from .._scripts import state

METER = """
import torch
from torch import nn

class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        ADD
        self.avg = self.sum / self.count

net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
losses = Meter()
for x, y in torch.utils.data.DataLoader(rows, 8, shuffle=True):
    loss = nn.functional.cross_entropy(net(x), y)
    right = (net(x).argmax(1) == y).float().mean()
    hits = (net(x).argmax(1) == y).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.update(GIVEN)
"""
WHOLE = "self.sum += val * n; self.count += n"


@pytest.mark.parametrize(
    ("add", "given", "wrong"),
    [
        ("self.sum += val; self.count += n", "loss.item(), x.size(0)", True),
        ("self.sum += val; self.count += n", "right.item(), len(x)", True),
        ("self.sum = self.sum + n * val; self.count += 1", "loss.item(), n=x.shape[0]", True),
        (WHOLE, "loss.item(), x.size(0)", False),
        ("self.sum += val; self.count += n", "hits.item(), x.size(0)", False),
        ("self.sum += val; self.count += n", "loss.item() * len(x), len(x)", False),
        ("self.sum += val; self.count += 1", "loss.item(), x.size(0)", False),
        ("self.sum += val; self.count += n", "loss.item()", False),
        ("self.sum += val; self.count += n", "loss.item(), 1", False),
    ],
)
def test_what_a_running_mean_adds_and_counts(add: str, given: str, wrong: bool) -> None:
    """The sum and the count are of the same things; a class may be given sums."""
    program = METER.replace("ADD", add).replace("GIVEN", given)

    assert (state("script-metric-miscounts", program) == "present") is wrong


def test_losses_that_are_summed_may_be_added() -> None:
    """`reduction="sum"`: what is given is a sum."""
    program = METER.replace("ADD", "self.sum += val; self.count += n").replace("GIVEN", "loss.item(), len(x)")

    assert (
        state("script-metric-miscounts", program.replace("net(x), y)", 'net(x), y, reduction="sum")'))
        != "present"
    )


BEST = """
import shutil
import torch
from torch import nn

def main():
    best = 0
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(90):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        top = validate(val_loader, net)
        LINES
        torch.save(net.state_dict(), "last.pt")
        if is_best:
            shutil.copyfile("last.pt", "best.pt")
"""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("is_best = top < best; best = max(top, best)", True),
        ("is_best = best > top; best = max(best, top)", True),
        ("is_best = top > best; best = min(top, best)", True),
        ("is_best = top > best; best = max(top, best)", False),
        ("is_best = top >= best; best = max(best, top)", False),
        ("best = max(top, best); is_best = top >= best", False),
        ("no_better = top < best; is_best = not no_better; best = max(top, best)", False),
        ("stale = stale + 1 if top < best else 0; is_best = stale == 0; best = max(top, best)", False),
        ("is_best = top > best; best = max(top, best); is_better = top < worst", False),
    ],
)
def test_what_is_best_is_what_is_kept(lines: str, wrong: bool) -> None:
    """The comparison and the extreme go the same way, whatever the figure is called."""
    found = state("script-best-chosen-wrongly", BEST.replace("LINES", lines))

    assert (found == "present") is wrong


TOP = """
import torch
from torch import nn

def accuracy(output, target, topk=(1,)):
    best = output.topk(max(topk), 1)[1].t()
    right = best.eq(target.view(1, -1).expand_as(best))
    return [right[:k].reshape(-1).float().sum() * 100 / target.size(0) for k in topk]

def validate(loader, net):
    top1 = top5 = rows = 0
    net.eval()
    with torch.no_grad():
        for x, y in loader:
            TAKEN = accuracy(net(x), y, topk=(1, 5))
            top1, top5, rows = top1 + acc1 * len(y), top5 + acc5 * len(y), rows + len(y)
    return GIVEN

net = nn.Linear(4, 10)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in train_loader:
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
KEPT = validate(val_loader, net)
"""


@pytest.mark.parametrize(
    ("taken", "given", "kept", "wrong"),
    [
        ("acc5, acc1", "top1 / rows, top5 / rows", "acc1, acc5", True),
        ("acc1, acc5", "top5 / rows, top1 / rows", "acc1, acc5", True),
        ("acc1, acc5", "top1 / rows, top5 / rows", "prec5, prec1", True),
        ("acc1, acc5", "top1 / rows, top5 / rows", "acc1, acc5", False),
        ("acc1, acc5", "top5 / rows, top1 / rows", "acc5, acc1", False),
        ("acc1, acc5", "top1 / rows, top5 / rows", "first, second", False),
        ("acc1, acc5", "top1 / rows, top5 / rows", "acc, x5", False),
    ],
)
def test_figures_keep_the_numbers_they_bear(taken: str, given: str, kept: str, wrong: bool) -> None:
    """How many answers count is told by both names, or by what was asked for."""
    program = TOP.replace("TAKEN", taken).replace("GIVEN", given).replace("KEPT", kept)

    assert (state("script-metric-miscounts", program) == "present") is wrong
