"""Verdicts of a rehearsal: what is seen, what looks alike and is right, and what is not known."""

from __future__ import annotations

import pytest

from traindoctor.probes.rehearsal.journal import Asked, Backward, Loaded, Stepped, Told

from ._program import rehearse, told

CLEAR = ("            opt.zero_grad()\n", "")


def test_a_right_program_draws_no_verdict() -> None:
    assert told() == set()


def test_what_happens_is_kept_in_order() -> None:
    machine = rehearse()
    journal = machine.journal
    assert journal.ended == "whole"
    assert len(journal.of(Backward)) == len(journal.of(Stepped)) == 24
    assert all(e.gradients and not e.stale for e in journal.of(Stepped))
    assert len(journal.of(Loaded)) == 1
    assert {e.label for e in journal.of(Told)} == {"val acc", "test acc"}
    assert [a.mode for a in journal.of(Asked)[:9]] == [True] * 8 + [False]


LATE = (
    ("            opt.step()\n            opt.zero_grad()\n", "            opt.step()\n"),
    ("        (loss / every).backward()\n", "        (loss / every).backward()\n        net.zero_grad()\n"),
)
TAUGHT_QUIET = ("    net.train()\n", "    net.train(False)\n")
SCORED_LOUD = ("    net.eval()\n", "")
PART = ("Adam(net.parameters()", "Adam([*net.start.parameters(), *net.end.parameters()]")
CUT = (
    "            x = block(x)\n",
    "            x = block(x.detach()) if block is self.blocks[-1] else block(x)\n",
)
ALIAS = ("copy.deepcopy(net.state_dict())", "net.state_dict()")
LEFT = ("    net.load_state_dict(kept)\n", "")
GATHERED = ("learn(net, train, opt)", "learn(net, train, opt, 4)")
SUMMED = ("(loss / every).backward()", "loss.backward()")
LAST = ("        hits += (net(x)", "        hits = (net(x)")
KEPT = (
    ("    hits = count = 0\n", "    seen = STORE\n"),
    ("        hits += (net(x)", "        seen.append((net(x)"),
    (" == y).sum().item()\n        count += len(y)\n", " == y).float())\n"),
    ("    return hits / count", "    return torch.cat(seen).mean().item()"),
    ("def learn(", "STORE = []\n\ndef learn("),
)  # fmt: skip


@pytest.mark.parametrize(
    ("edits", "kind"),
    [
        ((CLEAR,), "stale"),
        (LATE, "lost"),
        ((TAUGHT_QUIET,), "trained-in-eval"),
        ((("    net.train()\n", ""),), "trained-in-eval-later"),
        ((SCORED_LOUD,), "scored-in-train"),
        ((PART,), "left-out"),
        ((("self.start(x)", "self.start(x).detach()"),), "unreached"),
        ((("self.start(x)", "self.start(x).unsqueeze(1).max(dim=1).values.detach()"),), "unreached"),
        ((ALIAS,), "alias"),
        ((LEFT,), "last-scored"),
        ((GATHERED, SUMMED), "undivided"),
        ((GATHERED, ("loss / every", "loss / 8")), "divided-otherwise"),
        ((LAST,), "last-batch"),
        (KEPT, "not-reset"),
        ((("count += len(y)", "count += 1"),), "worked-otherwise"),
        ((("hits / count", "hits / len(loader)"),), "worked-otherwise"),
        ((("net(x).argmax(1) == y", "net(x).argmin(1) == y"),), "worked-otherwise"),
    ],
)
def test_what_is_wrong_is_seen(edits: tuple[tuple[str, str], ...], kind: str) -> None:
    assert kind in told(*edits)


@pytest.mark.parametrize(
    "edits",
    [
        (GATHERED,),
        (("opt.zero_grad()", "net.zero_grad(set_to_none=True)"),),
        (
            (
                "            opt.zero_grad()\n",
                "            for p in net.parameters():\n                p.grad = None\n",
            ),
        ),
        (
            (
                "    opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n",
                "    groups = [], []\n    for m in net.modules():\n"
                "        for n, p in m.named_parameters(recurse=False):\n"
                "            groups[n == 'bias'].append(p)\n"
                "    opt = torch.optim.Adam(groups[0])\n    opt.add_param_group({'params': groups[1]})\n",
            ),
        ),
        (("    net.train()\n", "    net.train(True)\n"),),
        (("F.relu(self.fc(x))", "F.relu(self.fc(x)).clone()"),),
        (("self.start(x)", "self.start(x).unsqueeze(1).max(dim=1).values"),),
        (("self.start(x)", "self.start(x).sort(dim=1, descending=True).values"),),
        (PART, ("    opt = torch", "    net.blocks.requires_grad_(False)\n    opt = torch")),
        (("copy.deepcopy(net.state_dict())", "{k: v.clone() for k, v in net.state_dict().items()}"),),
        (("hits += (net(x)", "hits = hits + (net(x)"),),
        (("return hits / count", "return 100.0 * hits / count"),),
        (("return hits / count", "return hits / len(loader.dataset)"),),
        (("net(x).argmax(1) == y).sum().item()", "net(x).max(1)[1].eq(y)).float().sum().item()"),),
        (("val acc {acc", "top-1 val acc {acc"), ("hits / count", "hits / (count + 1e-9)")),
        (("shuffle=split", "drop_last=False, shuffle=split"),),
    ],
)
def test_what_looks_alike_and_is_right_is_not_spoken_of(edits: tuple[tuple[str, str], ...]) -> None:
    assert told(*edits) == set()


UNKNOWN = ("import copy\n", "import copy\nfrom somewhere import wrap, steps\n")


@pytest.mark.parametrize(
    "edits",
    [
        (UNKNOWN, CLEAR, ("    best, kept", "    net, opt = wrap(net, opt)\n    best, kept")),
        (UNKNOWN, PART, ("    best, kept", "    wrap(opt)\n    best, kept")),
        (UNKNOWN, ("Adam(net.parameters()", "Adam(wrap(net)")),
        (UNKNOWN, ("count += len(y)", "count += steps(y)")),
        (("val acc", "val balanced acc"), ("hits / count", "hits / 7"), ("test acc", "test class score")),
        (UNKNOWN, LEFT, ("    print(\"test", "    wrap(net)\n    print(\"test")),
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_judged(edits: tuple[tuple[str, str], ...]) -> None:
    assert told(*edits) == set()


def test_a_network_may_be_asked_by_one_function_within_loops_and_outside_of_any() -> None:
    """A figure told after a loop is of the answers in it; one asked for outside is no round of it."""
    text = """
import torch

def right(net, x, y):
    return (net(x).argmax(1) == y).float().mean().item()

net = torch.nn.Linear(4, 3)
x, y = torch.randn(12, 4), torch.randint(3, (12,))
print("before", right(net, x, y))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
    score = right(net, x, y)
print("after", score)
"""
    assert "not-reset" not in told(text=text)


MASTERS = """
import torch
from torch import nn

data = torch.randn(256, 8)
target = torch.randn(256, 1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
masters = [p.detach().clone().requires_grad_() for p in net.parameters()]
opt = torch.optim.AdamW(masters, lr=1e-3)
for step in range(100):
    rows = torch.randint(256, (32,))
    loss = nn.functional.mse_loss(net(data[rows]), target[rows])
    net.zero_grad()
    loss.backward()
    for p, master in zip(net.parameters(), masters):
        master.grad = p.grad.float()
    opt.step()
    with torch.no_grad():
        for p, master in zip(net.parameters(), masters):
            p.copy_(master)
"""


def test_gradients_that_are_carried_to_copies_are_not_lost() -> None:
    """The optimizer has weights in full precision: those of the network have no step of their own."""
    assert "lost" not in told(text=MASTERS)


def test_gradients_of_the_optimizers_own_weights_are_lost_though_they_are_read() -> None:
    late = MASTERS.replace("AdamW(masters", "AdamW(net.parameters()").replace("    net.zero_grad()\n", "")
    late = late.replace("    opt.step()\n", "    net.zero_grad()\n    opt.step()\n")
    assert "lost" in told(text=late)
