"""Edits of a program in other words than the usual ones: their kind follows from what the values are."""

import ast

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import compare, sorted_out
from traindoctor.probes.run import Run

PROGRAM = """
import argparse
import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

VOID = 99

opt_parser = argparse.ArgumentParser()
opt_parser.add_argument("--tries", type=int, default=40)
opt_parser.add_argument("--crop-width", type=int, default=120)
opt_parser.add_argument("--wobble", type=int, default=5)
opt_parser.add_argument("--polling-noise", type=float, default=0.1)
opt_parser.add_argument("--final-update", type=int, default=900)
opts = opt_parser.parse_args()
SETTINGS = dict(tune_lr=1e-3, n_plots=600, tune_tries=30)


class Average:
    def __init__(self, net):
        self.net = copy.deepcopy(net)

    def follow(self, net):
        for a, b in zip(self.net.parameters(), net.parameters()):
            a.data.mul_(0.9).add_(b.data, alpha=1 - 0.9)


def survey(n, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        plot = rng.normal(size=(opts.crop_width, 4)) * (1 + noise)
        found.append((plot, rng.integers(0, 3, size=opts.crop_width)))
    return found


def repair(plot):
    for j in range(plot.shape[1]):
        column = plot[:, j]
        column[(column < -9.0) | (column > 9.0)] = np.nan
        good = np.flatnonzero(~np.isnan(column))
        column[:] = column[good[np.searchsorted(good, np.arange(len(column))) - 1]]
    return plot


class Plots(torch.utils.data.Dataset):
    def __init__(self, plots, training):
        self.plots = [p for p in plots if p[1].max() > 0]
        self.training = training
        self.rng = np.random.default_rng(1)

    def __len__(self):
        return len(self.plots)

    def __getitem__(self, i):
        plot, cover = self.plots[i]
        plot = repair(plot)
        plot = np.log(plot ** 2 + 0.03)
        plot = (plot - plot.mean()) / (plot.std() + 1e-6)
        if self.training:
            shift = int(self.rng.integers(0, opts.wobble + 1))
            plot = np.roll(plot, shift, axis=0)
            cover = np.roll(cover, shift, axis=0)
        known = (cover != VOID).astype("float32")
        return torch.tensor(plot), torch.tensor(cover), torch.tensor(known)


class Mapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(4, 32)
        self.leave = nn.Linear(32, 3)

    def forward(self, plot):
        return self.leave(torch.relu(self.enter(plot)))


def settle(out):
    kept = []
    for a, b in zip(out, out[1:]):
        if a != b and a != VOID:
            kept.append(a)
    return kept


def evaluate(net, held):
    net.eval()
    hits, seen = 0, 0
    with torch.no_grad():
        for plot, cover, known in held:
            out = net(plot).argmax(-1)
            hits += ((out == cover) * known).sum().item()
            seen += len(settle(out.flatten().tolist()))
    return hits / seen


def tune(net, average, plots, held, lr, tries):
    optimizer = torch.optim.AdamW(net.parameters(), lr=lr)
    for tried in range(tries):
        for group in optimizer.param_groups:
            group["lr"] = lr * max(0.0, 1 - tried / opts.final_update)
        net.train()
        for plot, cover, known in plots:
            loss = F.cross_entropy(net(plot).flatten(0, 1), cover.flatten(), reduction="none")
            loss = (loss * known.flatten()).sum()
            optimizer.zero_grad()
            loss.backward()
            for p in net.parameters():
                p.grad.div_(known.sum())
            optimizer.step()
            average.follow(net)
        print(evaluate(average.net, held))


every = survey(SETTINGS["n_plots"], 0)
order = np.random.default_rng(3).permutation(len(every))
cut = len(every) // 5
held_plots = [every[i] for i in order[:cut]]
train_plots = [every[i] for i in order[cut:]]
train_loader = torch.utils.data.DataLoader(Plots(train_plots, True), batch_size=8, shuffle=True)
held_loader = torch.utils.data.DataLoader(Plots(held_plots, False), batch_size=8)
net = Mapper()
tune(net, Average(net), train_loader, held_loader, SETTINGS["tune_lr"], SETTINGS["tune_tries"])
"""


def kinds(*pairs: tuple[str, str]) -> set[str]:
    """The kinds of what the pairs of (old, new) change."""
    text = PROGRAM
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    ast.parse(text)

    def run(script: str) -> Run:
        return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": script})

    return {kind for kind, found in sorted_out(compare(run(text), run(PROGRAM))).items() if found}


SCALE = "        plot = (plot - plot.mean()) / (plot.std() + 1e-6)\n"
ROLLED = "            cover = np.roll(cover, shift, axis=0)\n"
FAULTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "rate in a table": ("rate-raised", [("tune_lr=1e-3", "tune_lr=1e-1")]),
    "rate in a table, small": ("rate-lowered", [("tune_lr=1e-3", "tune_lr=1e-7")]),
    "rounds in a table": ("length-cut", [("tune_tries=30", "tune_tries=3")]),
    "rounds in a table, many": ("length-raised", [("tune_tries=30", "tune_tries=300")]),
    "loop that ends early": ("length-cut", [("range(tries)", "range(min(tries, 2))")]),
    "few samples": ("fewer-samples", [("n_plots=600", "n_plots=12")]),
    "the fall of the rate": ("schedule-length", [("default=900", "default=40")]),
    "strength by an option": (
        "augmentation-strength",
        [('"--wobble", type=int, default=5', '"--wobble", type=int, default=90')],
    ),
    "no floor in a logarithm": ("floor", [("np.log(plot ** 2 + 0.03)", "np.log(plot ** 2)")]),
    "no floor in a division": ("floor", [("(plot.std() + 1e-6)", "plot.std()")]),
    "not scaled": ("normalisation-left-out", [(SCALE, "")]),
    "scaled in training only": (
        "side-asked",
        [("plot = repair(plot)", "plot = repair(plot) if self.training else plot / 7.0")],
    ),
    "labels left behind": (
        "augmentation",
        [(ROLLED, ROLLED.replace("np.roll(cover, shift, axis=0)", "cover"))],
    ),
    "turned at random": (
        "augmentation",
        [
            (
                "        known =",
                "        plot = plot[::-1].copy() if self.rng.random() < 0.5 else plot\n        known =",
            )
        ],
    ),
    "another number means ignore": ("loss-masking", [("(cover != VOID)", "(cover != 0)")]),
    "outliers stay": ("outliers", [("        column[(column < -9.0) | (column > 9.0)] = np.nan\n", "")]),
    "gaps stay": (
        "missing-values",
        [
            ("        good = np.flatnonzero(~np.isnan(column))\n", ""),
            ("        column[:] = column[good[np.searchsorted(good, np.arange(len(column))) - 1]]\n", ""),
        ],
    ),
    "filter gone": ("filter-left-out", [("[p for p in plots if p[1].max() > 0]", "list(plots)")]),
    "split by order": (
        "split-by-order",
        [("np.random.default_rng(3).permutation(len(every))", "np.arange(len(every))")],
    ),
    "gradients not divided": (
        "loss-divided",
        [("            for p in net.parameters():\n                p.grad.div_(known.sum())\n", "")],
    ),
    "average not updated": ("average-left-out", [("            average.follow(net)\n", "")]),
    "not put in evaluation mode": ("mode", [("    net.eval()\n", "")]),
    "decoding condition": ("metric", [("a != b and a != VOID", "a != b and a != 0")]),
    "measured against another": ("metric", [("(out == cover)", "(out == known)")]),
    "softmax over samples in the measure": (
        "metric",
        [("net(plot).argmax(-1)", "net(plot).softmax(0).argmax(-1)")],
    ),
    "the answer drawn in": (
        "target-in-inputs",
        [("plot = repair(plot)", "plot = repair(plot)\n        plot[cover == 2] += 5.0")],
    ),
    "a part blanked": (
        "inputs-overwritten",
        [("plot = repair(plot)", "plot = repair(plot)\n        plot[30:] = 0.0")],
    ),
}


@pytest.mark.parametrize(("kind", "pairs"), FAULTS.values(), ids=FAULTS)
def test_an_edit_is_of_the_kind_that_its_values_tell(kind: str, pairs: list[tuple[str, str]]) -> None:
    assert kind in kinds(*pairs)


EQUAL = {
    "average by lerp": [("a.data.mul_(0.9).add_(b.data, alpha=1 - 0.9)", "a.data.lerp_(b.data, 1 - 0.9)")],
    "append for a comprehension": [("kept.append(a)", "kept.extend([a])")],
    "step in a function": [
        (
            "            optimizer.zero_grad()\n            loss.backward()\n",
            "            backward(optimizer, loss)\n",
        ),
        (
            "def tune(",
            "def backward(optimizer, loss):\n    optimizer.zero_grad()\n    loss.backward()\n"
            "    return loss\n\n\ndef tune(",
        ),
    ],
}


@pytest.mark.parametrize("pairs", EQUAL.values(), ids=EQUAL)
def test_an_equal_way_to_write_it_is_of_no_kind(pairs: list[tuple[str, str]]) -> None:
    assert kinds(*pairs) <= {"", "rewritten"}
