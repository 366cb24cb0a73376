"""Workers, batches and buffers that follow the machine's cores."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.samples import counts_of_machine
from traindoctor.probes.registry import View

from .._build import run

PROGRAM = """
    import os, multiprocessing, argparse
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from torchvision import transforms
    flip = transforms.{flip}
    {made}
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


def state(made: str, flip: str = "RandomHorizontalFlip()") -> str:
    text = textwrap.dedent(PROGRAM).format(made=textwrap.dedent(made), flip=flip)
    return counts_of_machine.counts_of_machine(View(run(scripts={"train.py": text}))).state.value


@pytest.mark.parametrize(
    "made",
    [
        "loader = DataLoader(train_set, shuffle=True, num_workers=os.cpu_count())",
        "N = max(1, multiprocessing.cpu_count() // 2)\nloader = DataLoader(train_set, num_workers=N)",
        "cores = len(os.sched_getaffinity(0))\nloader = DataLoader(train_set, num_workers=cores)",
        "cfg = {'workers': os.cpu_count()}\nloader = DataLoader(train_set, num_workers=cfg['workers'])",
        "p = argparse.ArgumentParser()\np.add_argument('--workers', default=os.cpu_count())\n"
        "args = p.parse_args()\nloader = DataLoader(train_set, num_workers=args.workers)",
        "loader = DataLoader(train_set, batch_size=16 * os.cpu_count())",
        "loader = DataLoader(train_set.shuffle(os.cpu_count() * 100), batch_size=8)",
    ],
)
def test_counts_of_the_machine_are_told(made: str) -> None:
    assert state(made) == "present"


@pytest.mark.parametrize(
    "made",
    [
        "loader = DataLoader(train_set, num_workers=4)\nprint(os.cpu_count())",
        "torch.set_num_threads(os.cpu_count())\nloader = DataLoader(train_set)",
        "val = DataLoader(val_set, num_workers=os.cpu_count())\n"
        "loader = DataLoader(train_set, num_workers=4)",
        "pool = multiprocessing.Pool(processes=os.cpu_count())\nloader = DataLoader(train_set)",
    ],
)
def test_counts_that_change_nothing_are_not(made: str) -> None:
    assert state(made) == "absent"


def test_workers_that_draw_nothing_may_be_as_many_as_cores() -> None:
    assert state("loader = DataLoader(train_set, num_workers=os.cpu_count())", "CenterCrop(8)") == "absent"


def test_without_counts_nothing_is_said() -> None:
    assert state("loader = DataLoader(train_set, num_workers=2)") == "unknown"
