"""Groups of parameters that go nowhere, layers put in late, cosines all the way round, random steps."""

from __future__ import annotations

import ast

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.calls.axes_and_keys import _batch_first
from traindoctor.probes.code.labels.start import numbered_from_one
from traindoctor.probes.code.mindspore.map_steps import random_for_held_out
from traindoctor.probes.code.optimizer.part import _optimizer_part
from traindoctor.probes.code.optimizer.replaced import replaced_after
from traindoctor.probes.code.optimizer.untrained import gathered_in_vain
from traindoctor.probes.code.samples.counts_of_machine import _of_machine
from traindoctor.probes.code.schedule.accumulated import moved_otherwise
from traindoctor.probes.code.schedule.formulas import _whole_turn
from traindoctor.probes.scripts.syntax import Script

BUILT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        self.down = nn.ModuleList()
        self.up = nn.ModuleList()
        for w in (8, 16):
            self.down.append(nn.Linear(w, w))
            self.up.append(nn.Linear(w, w))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(x)

def build(model, args):
    decayed, plain = [], []
    for name, p in model.named_parameters():
        (plain if p.ndim == 1 else decayed).append(p)
    return torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}], lr=args.lr)

def main(args):
    model = Net()
    optimizer = build(model, args)
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def state(check: object, text: str, *edits: tuple[str, str]) -> State | None:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    found = check(Script("train.py", text, ast.parse(text)))  # type: ignore[operator]
    return found.state if found is not None else None


def test_a_list_of_parameters_that_no_optimizer_gets() -> None:
    left = ('{"params": decayed}, {"params": plain, "weight_decay": 0.0}', '{"params": decayed}')

    assert state(gathered_in_vain, BUILT) is None
    assert state(gathered_in_vain, BUILT, left) is State.PRESENT
    shown = ("    return torch.optim", "    print(len(plain))\n    return torch.optim")
    assert state(gathered_in_vain, BUILT, left, shown) is None
    frozen = ("        (plain if", "        p.requires_grad_(p.ndim > 1)\n        (plain if")
    assert state(gathered_in_vain, BUILT, left, frozen) is None


def test_a_layer_put_in_after_a_function_built_the_optimizer() -> None:
    late = ("    for x, y in loader:", "    model.head = nn.Linear(16, 9)\n    for x, y in loader:")

    assert state(replaced_after, BUILT) is State.ABSENT
    assert state(replaced_after, BUILT, late) is State.PRESENT
    again = (
        "    for x, y in loader:",
        "    model.head = nn.Linear(16, 9)\n    optimizer = build(model, args)\n    for x, y in loader:",
    )
    assert state(replaced_after, BUILT, again) is State.ABSENT


def test_lists_of_layers_that_are_filled_later_have_weights() -> None:
    whole = ("optimizer = build(model, args)", "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)")
    groups = '[{"params": model.down.parameters()}, {"params": model.head.parameters()}]'
    part = (whole[0], f"optimizer = torch.optim.SGD({groups}, lr=0.1)")
    all_ = (whole[0], part[1].replace("}]", '}, {"params": model.up.parameters()}]'))

    assert state(_optimizer_part, BUILT, whole) is not State.PRESENT
    assert state(_optimizer_part, BUILT, part) is State.PRESENT
    assert state(_optimizer_part, BUILT, all_) is not State.PRESENT


RATES = """
import math

def get_lr(total, warmup, peak):
    rates = []
    for i in range(total):
        done = (i - warmup) / (total - warmup)
        rates.append(peak * 0.5 * (1 + math.cos({} * done)))
    return rates
"""


def test_a_cosine_that_turns_all_the_way_round() -> None:
    assert state(_whole_turn, RATES.format("math.pi")) is None
    assert state(_whole_turn, RATES.format("2 * math.pi")) is State.PRESENT
    assert state(_whole_turn, RATES.format("math.pi * 2.0")) is State.PRESENT
    assert state(_whole_turn, RATES.format("2 * math.pi * cycles")) is None


PIPELINE = """
import mindspore.dataset as ds
import mindspore.dataset.vision as V

def create(files, do_train):
    data = ds.MindDataset(files)
    if do_train:
        steps = [V.RandomCrop(32), V.HWC2CHW()]
    else:
        steps = [V.CenterCrop(32), V.HWC2CHW()]
    return data.map(steps, "image")

train = create("train", True)
valid = create("valid", False)
"""


def test_random_steps_on_the_side_of_held_out_data() -> None:
    assert state(random_for_held_out, PIPELINE) is not State.PRESENT
    assert state(random_for_held_out, PIPELINE, ("V.CenterCrop(32)", "V.RandomCrop(32)")) is State.PRESENT
    turned = ("    if do_train:\n", "    if not do_train:\n")
    assert state(random_for_held_out, PIPELINE, turned) is State.PRESENT
    alone = ('valid = create("valid", False)', "")
    assert state(random_for_held_out, PIPELINE, turned, alone) is not State.PRESENT


WORKERS = """
import os
import mindspore.dataset as ds
import mindspore.dataset.vision as V

def create(rows, workers={}):
    data = ds.GeneratorDataset(rows, ["image"], num_parallel_workers=workers)
    return data.map([V.RandomCrop(32)], "image", num_parallel_workers=workers)

data = create(rows)
for x in data.create_tuple_iterator():
    loss, grads = grad_fn(x)
    optimizer(grads)
grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
"""


@pytest.mark.parametrize(("count", "said"), [("8", None), ("os.cpu_count()", State.PRESENT)])
def test_workers_by_the_default_of_a_parameter(count: str, said: State | None) -> None:
    text = WORKERS.format(count)
    assert state(_of_machine, text.replace("import os", "import os\nimport mindspore as ms")) is said


RECURRENT = """
import mindspore as ms
from mindspore import nn

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 16, batch_first=True)
        self.out = nn.Dense(16, 2)

    def construct(self, x):
        y, _ = self.gru(x)
        return self.out(y[:, -1])
"""


def test_mindspore_takes_the_first_axis_for_time_unless_told() -> None:
    bare = (", batch_first=True", "")

    assert state(_batch_first, RECURRENT) is State.ABSENT
    assert state(_batch_first, RECURRENT, bare) is State.PRESENT
    turned = ("self.gru(x)", "self.gru(x.transpose((1, 0, 2)))")
    assert state(_batch_first, RECURRENT, bare, turned) is not State.PRESENT
    first = ("y[:, -1]", "y[-1]")
    assert state(_batch_first, RECURRENT, bare, first) is not State.PRESENT


ACCUMULATED = """
import math
import torch

def build(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / (total - warmup)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)

def main(args):
    updates = len(loader) // args.accumulate * args.epochs
    schedule = build(optimizer, int(0.1 * updates), updates)
    for epoch in range(args.epochs):
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            (loss / args.accumulate).backward()
            if (i + 1) % args.accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
"""


def test_a_length_that_is_handed_to_a_function_that_builds_the_schedule() -> None:
    early = ("                schedule.step()", "            schedule.step()")

    assert state(moved_otherwise, ACCUMULATED) is State.ABSENT
    assert state(moved_otherwise, ACCUMULATED, early) is State.PRESENT
    whole = ("len(loader) // args.accumulate * args.epochs", "len(loader) * args.epochs")
    assert state(moved_otherwise, ACCUMULATED, early, whole) is State.ABSENT
    assert state(moved_otherwise, ACCUMULATED, whole) is State.PRESENT


FOLDERS = """
import os
from torch import nn

class Pictures:
    def __init__(self, root, classes):
        self.items = []
        for number, name in enumerate(classes):
            for file in os.listdir(os.path.join(root, name)):
                self.items.append((os.path.join(root, name, file), number))

    def __getitem__(self, i):
        path, number = self.items[i]
        return read(path), number

data = Pictures("train", classes)
model = nn.Linear(64, len(classes))
criterion = nn.CrossEntropyLoss()
loss = criterion(model(x), y)
"""


def test_numbers_of_classes_kept_in_pairs_with_files() -> None:
    one = ("enumerate(classes)", "enumerate(classes, 1)")

    assert state(numbered_from_one, FOLDERS) is None
    assert state(numbered_from_one, FOLDERS, one) is State.PRESENT
    assert state(numbered_from_one, FOLDERS, one, ("len(classes))", "len(classes) + 1)")) is None
    assert (
        state(numbered_from_one, FOLDERS, one, ("(os.path.join(root, name, file), number)", "(number, file)"))
        is None
    )
