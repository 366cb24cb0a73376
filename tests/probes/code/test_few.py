"""Limits left over from trying a script out, and labels of a batch that are spoiled before the loss."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.labels.values import labels_overwritten, labels_permuted_alone
from traindoctor.probes.code.samples.changed import augmentation_extreme, drops_training_samples
from traindoctor.probes.code.samples.limits import training_data_cut
from traindoctor.probes.code.samples.spoiled import inputs_overwritten
from traindoctor.probes.code.scaling.pipelines import normalises_one_split
from traindoctor.probes.code.scaling.ranges import range_does_not_fit
from traindoctor.probes.code.splits.alike import splits_processed_differently
from traindoctor.probes.code.splits.leaks import held_out_in_training
from traindoctor.probes.registry import Finding

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

LOOP = """
for epoch in range(9):
    for i, (x, y) in enumerate({over}):
        {first}
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""
# gradients of four batches for each step: an iterator goes on where it was, another one begins anew
ROUND = """
for epoch in range(9):
    {made}
    for _ in range(len(loader) // 4):
        {again}
        optimizer.zero_grad()
        for x, y in islice(batches, 4):
            F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
FEW = [
    (PRESENT, LOOP.format(over="[next(iter(loader))]", first="pass")),
    (PRESENT, LOOP.format(over="tqdm(itertools.islice(loader, 5))", first="pass")),
    (PRESENT, LOOP.format(over="list(loader)[:20]", first="pass")),
    (PRESENT, LOOP.format(over="loader", first="if i > 10: break")),
    (ABSENT, LOOP.format(over="loader", first="if i > args.most: break")),
    (ABSENT, LOOP.format(over="loader", first="if i > 100000: break")),
    (ABSENT, LOOP.format(over="loader", first="if args.debug and i > 10: break")),
    (ABSENT, LOOP.format(over="itertools.islice(loader, args.steps)", first="pass")),
    (ABSENT, ROUND.format(made="batches = iter(loader)", again="pass")),
    (PRESENT, ROUND.format(made="pass", again="batches = iter(loader)")),
    (PRESENT, ROUND.format(made="pass", again="batches = loader")),
    (PRESENT, "train_loader = DataLoader(Subset(train_set, range(64)), 8)"),
    (PRESENT, "loader = DataLoader(train_set.select(range(32)), batch_size=8)"),
    (ABSENT, "val_loader = DataLoader(Subset(val_set, range(64)), 8)\ntrain_loader = DataLoader(train_set)"),
    (PRESENT, "t = Trainer(model, train_dataset=data.select(range(100)))"),
    (PRESENT, "model.fit(x_train[:100], y_train[:100])"),
    (ABSENT, "model.fit(x_train[:40000], y_train[:40000])"),
    (UNKNOWN, "scaler.fit(x_train[:100])"),
    (ABSENT, "model.fit(x_train, y_train)\nattack.fit(x_test[:100], y_test[:100])"),
]
MOVED = [
    (PRESENT, LOOP.format(over="loader", first="y = torch.roll(y, shifts=1, dims=0)")),
    (PRESENT, LOOP.format(over="loader", first="y = y.flip(0)")),
    (ABSENT, LOOP.format(over="loader", first="y = torch.roll(y, -1, 1)")),
    (ABSENT, LOOP.format(over="loader", first="x = torch.roll(x, 1, 0); y = torch.roll(y, 1, 0)")),
    (UNKNOWN, LOOP.format(over="loader", first="y = y.to(device)")),
]
DRAWN = [
    (PRESENT, LOOP.format(over="loader", first="y = torch.randint(0, 10, y.shape)")),
    (PRESENT, LOOP.format(over="loader", first="y = torch.randint_like(y, 10).to(device)")),
    (
        PRESENT,
        LOOP.format(over="loader", first="y = torch.where(torch.rand(8) < 0.4, torch.randint_like(y, 9), y)"),
    ),
    (ABSENT, LOOP.format(over="loader", first="y = y.to(device)")),
    (ABSENT, LOOP.format(over="loader", first="y = torch.multinomial(y, 1)")),
    (UNKNOWN, "noise = torch.randint(0, 10, (8,))"),
]
CROSSED = [
    (PRESENT, "test_loader = DataLoader(test_set)\ntrain_loader = DataLoader(test_set)\ntrain_set = f()"),
    (
        PRESENT,
        "self.dataloader = DataLoader(self.eval_set)\nself.eval_dataloader = DataLoader(self.eval_set)\n"
        "self.train_set = f()",
    ),
    (PRESENT, "train_loader = DataLoader(train_set)\ntest_loader = DataLoader(dataset=train_set)"),
    (ABSENT, "train_loader = DataLoader(train_set)\ntest_loader = DataLoader(dataset=test_set)"),
    (
        ABSENT,
        "train_loader = DataLoader(train_set, sampler=a)\nval_loader = DataLoader(train_set, sampler=b)",
    ),
    (PRESENT, "train_set = MNIST(r, train=True)\ntest_set = MNIST(r, train=True)"),
    (ABSENT, "train_set = MNIST(r, train=True)\ntest_set = MNIST(r, train=False)"),
    (UNKNOWN, "train_set = MNIST(r, train=True)\nval_set = Subset(MNIST(r, train=False), ids)"),
    (ABSENT, "train_set = A(r, train=True)\nval_set = A(r, train=True)\nval_set = Subset(val_set, ids)"),
    (PRESENT, LOOP.format(over="test_loader", first="pass") + "for x in train_loader: pass"),
    (ABSENT, LOOP.format(over="train_loader", first="pass") + "for x in test_loader: pass"),
    (ABSENT, LOOP.format(over="test_loader", first="pass")),
    (
        PRESENT,
        "train_loader = DataLoader(ConcatDataset([train_set, val_set]))\nval_loader = DataLoader(val_set)",
    ),
    (ABSENT, "train_loader = DataLoader(ConcatDataset([train_set, more]))\nval_loader = DataLoader(val_set)"),
]
SPOILED = [
    (inputs_overwritten, PRESENT, LOOP.format(over="loader", first="x = torch.zeros_like(x)")),
    (inputs_overwritten, PRESENT, LOOP.format(over="loader", first="x = torch.rand(x.shape).to(device)")),
    (inputs_overwritten, ABSENT, LOOP.format(over="loader", first="x = x.to(device)")),
    (inputs_overwritten, ABSENT, LOOP.format(over="loader", first="z = torch.randn_like(x)")),
    (inputs_overwritten, UNKNOWN, "x = torch.zeros(8)"),
    (augmentation_extreme, PRESENT, LOOP.format(over="loader", first="x = x + 10.0 * torch.randn_like(x)")),
    (augmentation_extreme, UNKNOWN, LOOP.format(over="loader", first="x = x + 0.1 * torch.randn_like(x)")),
    (augmentation_extreme, PRESENT, "t = RandomErasing(p=1.0, scale=(0.7, 0.9))"),
    (augmentation_extreme, ABSENT, "t = RandomErasing(p=0.25, scale=(0.02, 0.33))"),
    (drops_training_samples, PRESENT, LOOP.format(over="loader", first="k = y < 5; x, y = x[k], y[k]")),
    (drops_training_samples, UNKNOWN, LOOP.format(over="loader", first="k = y != -100; x, y = x[k], y[k]")),
    (drops_training_samples, UNKNOWN, LOOP.format(over="loader", first="hits = x[y == 3]")),
]
FIGURES = "normal = transforms.Normalize({0}, {0})\nt = transforms.Compose([transforms.ToTensor(), {1}])"
RANGES = [
    (PRESENT, "import torchvision\n" + FIGURES.format("[127.5]", "normal")),
    (ABSENT, "import torchvision\n" + FIGURES.format("[0.5]", "normal")),
    (PRESENT, FIGURES.format("[0.5]", "normal, normal")),
    (PRESENT, "x = image.astype('f4') / 255\ny = torch.tensor(x) / 255.0"),
    (UNKNOWN, "x = image.astype('f4') / 255\ny = other / 255"),
    (UNKNOWN, "x = image.astype('f4')"),
]
LOADERS = """
normal = transforms.Normalize((0.5,), (0.5,))
a = DataLoader(CIFAR10(r, train=True, transform=transforms.Compose([transforms.ToTensor(), normal])))
b = DataLoader(CIFAR10(r, train=False, transform=transforms.Compose([transforms.ToTensor(){}])))
"""


@pytest.mark.parametrize(("probe", "state", "code"), SPOILED)
def test_batches_that_are_spoiled_on_their_way_are_named(
    probe: Callable[..., Finding], state: State, code: str
) -> None:
    assert finding(probe, code).state is state


@pytest.mark.parametrize(("state", "code"), RANGES)
def test_inputs_that_are_scaled_for_another_range_or_again_are_named(state: State, code: str) -> None:
    assert finding(range_does_not_fit, code).state is state


BOTH = """
def main():
    for x, y in train_loader:
        {}
        F.cross_entropy(model(x), y).backward()
    with torch.no_grad():
        for x, y in test_loader:
            x = x.to(device)
            hits += (model(x).argmax(1) == y).sum()
"""
BATCHES = [
    (PRESENT, "x = x.flip(1)"),
    (PRESENT, "x = x[:, [2, 1, 0]]"),
    (PRESENT, "x = (x - x.mean()) / x.std()"),
    (UNKNOWN, "x = x.to(device)"),
    (UNKNOWN, "x = x + 0.1 * torch.randn_like(x)"),
]


@pytest.mark.parametrize(("state", "code"), BATCHES)
def test_training_and_evaluation_in_one_function_are_compared(state: State, code: str) -> None:
    assert finding(splits_processed_differently, BOTH.format(code), labels=False).state is state


def test_pipelines_are_told_apart_by_the_part_that_is_asked_for() -> None:
    assert finding(normalises_one_split, LOADERS.format("")).state is PRESENT
    assert finding(normalises_one_split, LOADERS.format(", normal")).state is ABSENT


@pytest.mark.parametrize(("state", "code"), FEW)
def test_a_limit_left_over_from_trying_out_is_named(state: State, code: str) -> None:
    assert finding(training_data_cut, code, few=1000, batches=50).state is state


@pytest.mark.parametrize(("state", "code"), MOVED)
def test_labels_that_move_along_the_batch_alone_are_named(state: State, code: str) -> None:
    assert finding(labels_permuted_alone, code).state is state


@pytest.mark.parametrize(("state", "code"), DRAWN)
def test_labels_that_chance_replaces_are_named(state: State, code: str) -> None:
    assert finding(labels_overwritten, code).state is state


@pytest.mark.parametrize(("state", "code"), CROSSED)
def test_data_of_the_other_side_are_named(state: State, code: str) -> None:
    assert finding(held_out_in_training, code).state is state


@pytest.mark.parametrize(
    ("picked", "cut", "state"),
    [
        ("train_part if split == 'train' else val_part", "[d[i + 1 : i + 9] for i in ix]", ABSENT),
        ("1 if split == 'train' else 0", "mask == d", PRESENT),
    ],
)
def test_rows_picked_by_the_split_are_no_coding_of_labels(picked: str, cut: str, state: State) -> None:
    """`d = train_data if split == 'train' else val_data`, and both inputs and labels are cut out of it."""
    text = f"def get_batch(split):\n    d = {picked}\n    target = {cut}\n    return x, target\n"
    text += "x, target = get_batch('train')\nloss = criterion(model(x), target)\nloss.backward()\n"
    said = finding(splits_processed_differently, text, labels=True).state
    assert (said is PRESENT) is (state is PRESENT)


ROWS = """
def fit(net, images, labels, opt):
    rows = torch.arange(len(images))
    for epoch in range(9):
        rows = rows[torch.randperm(len(rows))]
        for k in range(0, len(rows), 32):
            now = rows[k:k + 32]
            loss = F.cross_entropy(net(images[now]), labels[now])
            loss.backward()
            opt.step()
"""
PICKED = [
    (ABSENT, ROWS),
    (ABSENT, ROWS.replace("now = rows[k:k + 32]", "rows").replace("[now]", "[rows]")),
    (PRESENT, ROWS.replace("images[now]", "images[k:k + 32]")),  # labels alone go by the order
]


@pytest.mark.parametrize(("state", "code"), PICKED)
def test_numbers_of_rows_that_are_shuffled_pick_all_of_a_sample(state: State, code: str) -> None:
    assert finding(labels_permuted_alone, code).state is state


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (PRESENT, "x_train, x_test = train_test_split(x, test_size=0.98)"),
        (PRESENT, "n = len(rows)\ntrain, val = rows[: int(0.02 * n)], rows[int(0.8 * n) :]"),
        (UNKNOWN, "x_train, x_test = train_test_split(x, test_size=0.2)"),
        (UNKNOWN, "few_shot = True\nx_train, x_test = train_test_split(x, test_size=0.98)"),
        (UNKNOWN, "x_test, x_train = train_test_split(x, test_size=0.98)"),
    ],
)
def test_next_to_nothing_is_left_for_training(state: State, code: str) -> None:
    text = f'import pandas as pd\nrows = pd.read_csv("a.csv")\n{code}\n'
    assert finding(training_data_cut, text, few=1000, batches=50).state is state
