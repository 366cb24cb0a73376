"""The best weights, told by what a branch does: copies, figures, files, whether anybody reads them."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.evaluation.best import best_is_chosen_wrongly, last_instead_of_best

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

LOOP = """
import copy
import torch
def fit(net, rows, held, test):
    top, put = {start}, None
    for epoch in range(9):
{first}        learn(net, rows)
        kap = judge(net, held)
        if kap > top:
            {keep}
    {after}
    return judge(net, test)
"""


def loop(
    keep: str,
    after: str = "net.load_state_dict(put)",
    start: str = "-1.0",
    first: str = "",
) -> str:
    return LOOP.format(keep=keep, after=after, start=start, first=first)


COPY = "top, put = kap, copy.deepcopy(net.state_dict())"
CLASS = """
import copy
class Keeper:
    def __init__(self):
        self.mark, self.held = float("-inf"), None
    def offer(self, mark, net):
        if mark > self.mark:
            {set}
            self.held = {value}
    def put_back(self, net):
        net.load_state_dict(self.held)
def main(net, rows):
    keeper = Keeper()
    for epoch in range(9):
        learn(net, rows)
        keeper.offer(judge(net), net)
    {after}
"""


def keeper(
    value: str = "copy.deepcopy(net.state_dict())", after: str = "keeper.put_back(net)", set: str = ""
) -> str:
    return CLASS.format(value=value, after=after, set=set or "self.mark = mark")


PAIR = """
def main(net, rows):
    best = (float("inf"), None)
    for epoch in range(9):
        learn(net, rows)
        found = measure(net)
        if found["ppl"] < best[0]:
            best = ({figure}, {{k: v.clone() for k, v in net.state_dict().items()}})
    net.load_state_dict(best[1])
"""
BUILT = """
def main(rows):
    top, put = 0.0, None
    for width in (8, 16, 32):
        net = build(width)
        learn(net, rows)
        mark = judge(net)
        if mark > top:
            top, put = mark, net.state_dict()
    build(32).load_state_dict(put)
"""


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (PRESENT, loop("top, put = kap, net.state_dict()")),
        (PRESENT, loop("top, put = kap, copy.copy(net.state_dict())")),
        (PRESENT, loop("top, put = kap, {k: v for k, v in net.state_dict().items()}")),
        (PRESENT, loop("top, put = kap, {k: v.detach() for k, v in net.state_dict().items()}")),
        (PRESENT, loop("top, put = kap, dict(net.state_dict())")),
        (PRESENT, loop("top, put = kap, net.weights", after="net.set_weights(put)")),
        (PRESENT, keeper("net.state_dict()")),
        (UNKNOWN, loop("top, put = kap, {k: v.detach().clone() for k, v in net.state_dict().items()}")),
        (UNKNOWN, loop("top, put = kap, {k: v.cpu() for k, v in net.state_dict().items()}")),
        (UNKNOWN, loop("top, put = kap, net.get_weights()", after="net.set_weights(put)")),
        (UNKNOWN, loop("top, put = kap, [v.numpy() for v in net.weights]", after="net.set_weights(put)")),
        (UNKNOWN, loop(COPY)),
        (UNKNOWN, BUILT),  # each has its own weights
        (UNKNOWN, keeper()),
        (PRESENT, keeper(set="self.seen = mark")),
        (PRESENT, loop(COPY, first="        top = -1.0\n")),
        (UNKNOWN, loop(COPY, first="        top = max(top, 0.0)\n")),
        (PRESENT, PAIR.format(figure="best[0]")),
        (UNKNOWN, PAIR.format(figure='found["ppl"]')),
    ],
)
def test_what_is_kept(state: State, text: str) -> None:
    """Copies against the live weights, and the figure that has to be beaten."""
    found = finding(best_is_chosen_wrongly, text)
    assert (found.state is PRESENT) is (state is PRESENT), found.why


FILES = """
import torch
def main(net, rows, held, test):
    top = 0.0
    path = {path}
    for epoch in range(9):
        for x, y in rows:
            loss = crit(net(x), y)
            loss.backward()
            opt.step()
        mark = judge(net, held)
{save}
    {after}
    print(judge(net, test))
def judge(net, rows):
    return sum((net(x) == y).sum() for x, y in rows)
"""
ALWAYS = "        torch.save(net.state_dict(), path)"
ASKED = "        if mark > top:\n            top = mark\n            torch.save(net.state_dict(), path)"
READ = "net.load_state_dict(torch.load(path))"


@pytest.mark.parametrize(
    ("state", "path", "save"),
    [
        (PRESENT, "'out/best.pt'", ALWAYS),
        (PRESENT, "'out/best.pt'", "        if rank == 0:\n    " + ALWAYS),
        (UNKNOWN, "'out/last.pt'", ALWAYS),
        (UNKNOWN, "'out/last.pt'", "        torch.save({'best_loss': top, 'net': net.state_dict()}, path)"),
        (
            ABSENT,
            "'out/best.pt'",
            "        if mark <= top:\n            continue\n        top = mark\n" + ALWAYS,
        ),
        (ABSENT, "'out/best.pt'", ASKED),
    ],
)
def test_files_of_each_round(state: State, path: str, save: str) -> None:
    """A file that is called the best, written whatever the figure is."""
    found = finding(best_is_chosen_wrongly, FILES.format(path=path, save=save, after=READ))
    assert (found.state is PRESENT) is (state is PRESENT), found.why


KEYED = """
import torch
def main(net, rows, path):
    state = {{"score": float("inf"), "epoch": -1}}
    for epoch in range(9):
        for x, y in rows["train"]:
            loss = crit(net(x), y)
            loss.backward()
            opt.step()
        held = judge(net, rows["val"])
        if held["abs"] < state["score"]:
            state = {{"score": held["abs"], "epoch": epoch}}
            torch.save({{"model": net.state_dict()}}, path)
    {after}
    print(judge(net, rows["test"]))
def judge(net, rows):
    return {{"abs": sum((net(x) - y).abs().sum() for x, y in rows)}}
"""


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (PRESENT, FILES.format(path="'a.pt'", save=ASKED, after="pass")),
        (PRESENT, KEYED.format(after="pass")),
        (ABSENT, KEYED.format(after="net.load_state_dict(torch.load(path))")),
        (ABSENT, FILES.format(path="'a.pt'", save=ASKED, after=READ)),
        (PRESENT, loop(COPY, after="pass")),
        (UNKNOWN, loop(COPY, after="show(put)")),
        (PRESENT, keeper(after="judge(net)")),
        (UNKNOWN, keeper()),
        (UNKNOWN, "x = 1\n"),
    ],
)
def test_what_becomes_of_it(state: State, text: str) -> None:
    """Weights that nobody reads again, and files that the test does not take."""
    found = finding(last_instead_of_best, text)
    assert (found.state is PRESENT) is (state is PRESENT), found.why
