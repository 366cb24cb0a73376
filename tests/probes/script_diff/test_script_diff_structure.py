"""Edits told by what they do to a structure: modules shared, layers exchanged late, parts, borders."""

import ast

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import compare, sorted_out
from traindoctor.probes.run import Run

PROGRAM = """
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel as DDP


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return x + F.relu(self.inner(x))


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.stem = nn.Linear(8, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        n = h.shape[1]
        scores = h @ h.transpose(1, 2)
        scores = scores.masked_fill(torch.tril(torch.ones(n, n)) == 0, float("-inf"))
        return self.head(self.body(F.softmax(scores, dim=-1) @ h))

    def embed(self, x):
        return F.normalize(self.stem(x), dim=-1)


class TailLoss(nn.Module):
    def __init__(self, delta):
        super().__init__()
        self.delta = delta

    def forward(self, out, target, known):
        diff = (out - target).abs()
        small = diff.clamp(max=self.delta)
        loss = 0.5 * small * small + self.delta * (diff - small)
        return (loss * known).sum() / known.sum()


def windows(rows):
    train, held = [], []
    for items in rows:
        n = len(items)
        for p in range(1, n - 2):
            train.append((items[:p], items[p]))
        held.append((items[: n - 2], items[n - 2]))
    return train, held


def parts(files, count):
    return files[:-count], files[-count:]


def groups(net, args):
    found = {}
    for name, p in net.named_parameters():
        decay = 0.0 if name.endswith("bias") else args.decay
        found.setdefault(decay, []).append(p)
    return [{"params": ps, "weight_decay": d} for d, ps in found.items()]


def train(args, loader, rank):
    net = Net(args.width, 4)
    net.head = nn.Linear(args.width, args.classes)
    if args.resume:
        state = torch.load(args.resume)
        net.load_state_dict(state["net"])
    net = DDP(net)
    optimizer = torch.optim.AdamW(groups(net, args), lr=args.lr)
    criterion = TailLoss(1.0)
    for epoch in range(args.epochs):
        for i, (x, y, known) in enumerate(loader):
            boundary = (i + 1) % args.accumulate == 0
            with nullcontext() if boundary else net.no_sync():
                loss = criterion(net(x), y, known) / args.accumulate
                loss.backward()
            if boundary:
                optimizer.step()
                optimizer.zero_grad()
"""


def script(text: str) -> Run:
    return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})


def kinds(*pairs: tuple[str, str]) -> set[str]:
    text = PROGRAM
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    ast.parse(text)
    found = compare(script(text), script(PROGRAM))
    assert not found.why
    return {kind for kind, edits in sorted_out(found).items() if edits}


BLOCKS = "nn.ModuleList([Block(width) for _ in range(depth)])"
BODY = "nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))"
HEAD = "    net.head = nn.Linear(args.width, args.classes)\n"
WRAP = "    net = DDP(net)\n"
OPTIMIZER = "    optimizer = torch.optim.AdamW(groups(net, args), lr=args.lr)\n"

FAULTS = {
    "one block many times": ("module-shared", [(BLOCKS, "nn.ModuleList([Block(width)] * depth)")]),
    "one block appended again": (
        "module-shared",
        [
            (
                f"        self.blocks = {BLOCKS}\n",
                "        block = Block(width)\n        self.blocks = nn.ModuleList()\n"
                "        for _ in range(depth):\n            self.blocks.append(block)\n",
            )
        ],
    ),
    "one layer at two places": (
        "module-shared",
        [
            (
                f"        self.body = {BODY}\n",
                "        layer = nn.Linear(width, width)\n"
                "        self.body = nn.Sequential(layer, nn.ReLU(), layer)\n",
            )
        ],
    ),
    "a head after wrapping": (
        "changed-after-wrapping",
        [
            (HEAD, ""),
            (WRAP, WRAP + "    net.module.head = nn.Linear(args.width, args.classes)\n"),
        ],
    ),
    "weights drawn after wrapping": (
        "changed-after-wrapping",
        [(WRAP, WRAP + "    net.module.head.reset_parameters()\n")],
    ),
    "a head after the optimizer": (
        "changed-after-optimizer",
        [
            (HEAD, ""),
            (WRAP, ""),
            (OPTIMIZER, OPTIMIZER + HEAD + WRAP),
        ],
    ),
    "weights loaded by one process": (
        "on-one-process",
        [
            (
                '        net.load_state_dict(state["net"])\n',
                '        if rank == 0:\n            net.load_state_dict(state["net"])\n',
            )
        ],
    ),
    "all files train": (
        "part-undivided",
        [("return files[:-count], files[-count:]", "return files, files[-count:]")],
    ),
    "the answer in the window": (
        "border-crossed",
        [("(items[:p], items[p])", "(items[: p + 1], items[p])")],
    ),
    "trains on what is held out": ("border-crossed", [("range(1, n - 2)", "range(1, n)")]),
    "the future is seen": ("future-seen", [("torch.tril(", "torch.triu(")]),
    "decay for biases alone": (
        "parameter-groups",
        [
            (
                'decay = 0.0 if name.endswith("bias") else args.decay',
                'decay = args.decay if name.endswith("bias") else 0.0',
            )
        ],
    ),
    "exchange the wrong way round": (
        "wrapper-bypassed",
        [
            (
                "with nullcontext() if boundary else net.no_sync()",
                "with net.no_sync() if boundary else nullcontext()",
            )
        ],
    ),
    "seeds by process": (
        "seed-by-rank",
        [
            (
                "    net = Net(args.width, 4)\n",
                "    torch.manual_seed(args.seed + rank)\n    net = Net(args.width, 4)\n",
            )
        ],
    ),
    "the mask of a loss": (
        "loss-masking",
        [("return (loss * known).sum() / known.sum()", "return loss.mean()")],
    ),
    "vectors of the batch": (
        "axis",
        [("F.normalize(self.stem(x), dim=-1)", "F.normalize(self.stem(x), dim=0)")],
    ),
}


@pytest.mark.parametrize(("kind", "pairs"), FAULTS.values(), ids=FAULTS)
def test_an_edit_is_told_by_what_it_does_to_a_structure(kind: str, pairs: list[tuple[str, str]]) -> None:
    assert kind in kinds(*pairs)


OF_STRUCTURE = {
    "module-shared",
    "changed-after-wrapping",
    "changed-after-optimizer",
    "on-one-process",
    "part-undivided",
    "border-crossed",
    "future-seen",
    "reduction-left-out",
}

RIGHT = {
    "blocks appended": [
        (
            f"        self.blocks = {BLOCKS}\n",
            "        self.blocks = nn.ModuleList()\n        for _ in range(depth):\n"
            "            block = Block(width)\n            self.blocks.append(block)\n",
        )
    ],
    "copies of a block": [
        (
            f"        self.blocks = {BLOCKS}\n",
            "        block = Block(width)\n"
            "        self.blocks = nn.ModuleList([copy.deepcopy(block) for _ in range(depth)])\n",
        )
    ],
    "one activation at two places": [
        (
            f"        self.body = {BODY}\n",
            "        act = nn.ReLU()\n"
            "        self.body = nn.Sequential(nn.Linear(width, width), act, nn.Linear(width, width), act)\n",
        )
    ],
    "weights loaded after wrapping": [
        ('        net.load_state_dict(state["net"])\n', "        pass\n"),
        (WRAP, WRAP + '    if args.resume:\n        net.module.load_state_dict(state["net"])\n'),
    ],
    "one process writes": [
        (
            "                optimizer.zero_grad()\n",
            "                optimizer.zero_grad()\n        if rank == 0:\n"
            '            torch.save(net.state_dict(), "net.pt")\n',
        )
    ],
    "a smaller part": [("files[:-count], files[-count:]", "files[: -2 * count], files[-count:]")],
    "a shorter window": [("(items[:p], items[p])", "(items[p - 1 : p], items[p])")],
    "a choice written round": [
        (
            "with nullcontext() if boundary else net.no_sync()",
            "with net.no_sync() if not boundary else nullcontext()",
        )
    ],
}


@pytest.mark.parametrize("pairs", RIGHT.values(), ids=RIGHT)
def test_what_keeps_a_structure_is_no_such_edit(pairs: list[tuple[str, str]]) -> None:
    assert not kinds(*pairs) & (OF_STRUCTURE | {"wrapper-bypassed"})


def test_programs_of_two_kinds_tell_no_structure() -> None:
    other = "import csv\n\nfor row in csv.reader(open('a.csv')):\n    print(row)\n" * 6
    assert compare(script(other), script(PROGRAM)).why


EQUAL = {
    "cross entropy by hand": (
        "loss = F.cross_entropy(out.view(-1, out.size(-1)), y.view(-1), ignore_index=-100, reduction='sum')\n"
        "    return loss / y.size(0)",
        "picked = out.log_softmax(-1).gather(-1, y.clamp(min=0)[..., None])[..., 0]\n"
        "    loss = -(picked * (y != -100)).sum()\n    return loss / y.size(0)",
    ),
    "summed by hand": (
        "return nn.CrossEntropyLoss(reduction='sum')(out, y)",
        "return nn.CrossEntropyLoss(reduction='none')(out, y).sum()",
    ),
    "the last state": (
        "states, _ = net.gru(out)\n    return net.head(states[:, -1])",
        "_, hidden = net.gru(out)\n    return net.head(hidden[-1])",
    ),
    "groups dealt out": (
        "groups = [{'params': net.stem.parameters(), 'lr': 1e-4}, {'params': net.head.parameters()}]\n"
        "    return torch.optim.AdamW(groups)",
        "slow, fast = [], []\n    for name, p in net.named_parameters():\n"
        "        (slow if name.startswith('stem') else fast).append(p)\n"
        "    groups = [{'params': slow, 'lr': 1e-4}, {'params': fast}]\n"
        "    return torch.optim.AdamW(groups)",
    ),
    "a loss handed on as a function": (
        "criterion = nn.MSELoss()\n    return criterion(out, y)",
        "criterion = nn.functional.mse_loss\n    return criterion(out, y)",
    ),
    "an activation handed on as a function": (
        "act = nn.GELU()\n    return net.head(act(net.stem(out)))",
        "act = F.gelu\n    return net.head(act(net.stem(out)))",
    ),
    "causal attention in one call": (
        "q, k, v = net.qkv(out).chunk(3, dim=-1)\n"
        "    causal = torch.tril(torch.ones(64, 64, dtype=torch.bool))\n"
        "    att = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5\n"
        "    att = att.masked_fill(~causal, float('-inf')).softmax(dim=-1)\n    return att @ v",
        "q, k, v = net.qkv(out).chunk(3, dim=-1)\n"
        "    return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    ),
    "a scale that is handed over": (
        "opt = nn.Momentum(net.trainable_params(), 0.1, momentum=0.9, loss_scale=1024.0)\n"
        "    return opt, FixedLossScaleManager(1024.0, drop_overflow_update=False)",
        "opt = nn.Momentum(net.trainable_params(), 0.1, momentum=0.9)\n"
        "    return opt, FixedLossScaleManager(1024.0, drop_overflow_update=True)",
    ),
}
AROUND = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from mindspore.amp import FixedLossScaleManager


def part(net, out, y):
    {}


def train(net, loader, rate):
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
    return part(net, net(x), y)
"""


@pytest.mark.parametrize(
    ("theirs", "mine", "kind"),
    [
        (*("criterion = nn.MSELoss()\n    return criterion(out, y)",) * 2, ""),
        (
            "criterion = nn.MSELoss()\n    return criterion(out, y)",
            "criterion = F.l1_loss\n    return criterion(out, y)",
            "loss-function",
        ),
    ],
)
def test_what_is_handed_on_or_fused_otherwise_is_told(theirs: str, mine: str, kind: str) -> None:
    found = sorted_out(compare(script(AROUND.format(mine)), script(AROUND.format(theirs))))
    told = {k for k, edits in found.items() if edits} - {"", "rewritten"}
    assert told == ({kind} if kind else set())


CAUSAL = """
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, d, ctx):
        super().__init__()
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        {buffer}

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        {scores}
        return self.proj(y)
"""
BY_HAND = CAUSAL.format(
    buffer='self.register_buffer("causal", torch.tril(torch.ones(ctx, ctx, dtype=torch.bool)))',
    scores="att = (q @ k.transpose(-2, -1) / q.size(-1) ** 0.5).masked_fill(~self.causal, -1e9)\n"
    "        y = att.softmax(dim=-1) @ v",
)


@pytest.mark.parametrize("mask", [", is_causal=True", ""])
def test_the_mask_must_come_along_into_one_call(mask: str) -> None:
    fused = CAUSAL.format(buffer="self.d = d", scores=f"y = F.scaled_dot_product_attention(q, k, v{mask})")
    found = sorted_out(compare(script(fused), script(BY_HAND)))
    assert ("future-seen" in {k for k, edits in found.items() if edits}) is not bool(mask)


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_edits_that_make_up_for_each_other_are_of_no_kind(one: str, other: str) -> None:
    mine, theirs = (script(AROUND.format(x)) for x in (other, one))
    found = sorted_out(compare(mine, theirs))
    assert {kind for kind, edits in found.items() if edits} <= {"", "rewritten"}
