"""Slips of programs of other authors: parts by name, flags nobody asks, chance nobody hands over."""

from __future__ import annotations

import textwrap

import pytest

from .._scripts import state

_TORCH = "import numpy as np\nimport torch\nfrom torch import nn\n"


def said(symptom: str, text: str) -> str:
    return state(symptom, _TORCH + textwrap.dedent(text))


_SCORES = """
    def test(model, data):
        model.eval()
        pred = model(data.x, data.edge_index).argmax(-1)
        accs = []
        for mask in ({order}):
            {count}
        return accs

    for epoch in range(9):
        mask = data.train_mask
        loss = nn.functional.cross_entropy(model(data.x, data.edge_index)[mask], data.y[mask])
        opt.zero_grad()
        loss.backward()
        opt.step()
        {taken} = test(model, data)
        print(train_acc, val_acc, test_acc)
"""
_ORDER = "data.train_mask, data.val_mask, data.test_mask"
_COUNT = "accs.append(int((pred[mask] == data.y[mask]).sum()) / int(mask.sum()))"


@pytest.mark.parametrize(
    ("order", "count", "taken", "wrong"),
    [
        (_ORDER, _COUNT, "train_acc, val_acc, test_acc", False),
        (
            _ORDER,
            "accs.append((pred[mask] == data.y[mask]).float().mean().item())",
            "train_acc, val_acc, test_acc",
            False,
        ),
        (_ORDER, _COUNT.replace("int(mask.sum())", "len(pred[mask])"), "train_acc, val_acc, test_acc", False),
        (
            "'train_mask', 'val_mask', 'test_mask'",
            "mask = data[mask]; " + _COUNT,
            "train_acc, val_acc, test_acc",
            False,
        ),
        (_ORDER, _COUNT, "train_acc, test_acc, val_acc", True),
        ("data.train_mask, data.test_mask, data.val_mask", _COUNT, "train_acc, val_acc, test_acc", True),
        (
            "'train_mask', 'test_mask', 'val_mask'",
            "mask = data[mask]; " + _COUNT,
            "train_acc, val_acc, test_acc",
            True,
        ),
        (_ORDER, _COUNT.replace("int(mask.sum())", "len(pred)"), "train_acc, val_acc, test_acc", True),
        (_ORDER, _COUNT.replace("int(mask.sum())", "data.y.size(0)"), "train_acc, val_acc, test_acc", True),
        (
            _ORDER,
            "hits = (pred[mask] == data.y[mask]).sum().item(); accs.append(hits / pred.shape[0])",
            "train_acc, val_acc, test_acc",
            True,
        ),
    ],
)
def test_figures_of_parts(order: str, count: str, taken: str, wrong: bool) -> None:
    found = said("script-metric-miscounts", _SCORES.format(order=order, count=count, taken=taken))
    assert (found == "present") is wrong


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("predictions=guessed, references=true", False),
        ("predictions=[tags[i] for i in p], references=labels", False),
        ("y_true=labels, y_pred=preds", False),
        ("predictions=true, references=guessed", True),
        ("references=decoded_preds, predictions=decoded_labels.tolist()", False),  # both words in each name
        ("predictions=gold.tolist(), references=predicted", True),
        ("y_true=preds, y_pred=labels", True),
    ],
)
def test_metric_by_keywords(given: str, wrong: bool) -> None:
    text = f"loss = nn.functional.cross_entropy(net(x), y)\nloss.backward()\nprint(metric.compute({given}))\n"
    assert (said("script-metric-miscounts", text) == "present") is wrong


@pytest.mark.parametrize(
    ("metric", "call", "wrong"),
    [
        ("R2Score()", "self.scores.update(self(x), y)", False),
        ("R2Score()", "self.scores.update(out, y)", False),
        ("MeanAbsoluteError()", "self.scores.update(y, self(x))", False),
        ("R2Score()", "self.scores.update(y, self(x))", True),
        ("F1Score('multiclass')", "self.score.update(batch[1], self.model(batch[0]).argmax(1))", True),
    ],
)
def test_torchmetrics_order(metric: str, call: str, wrong: bool) -> None:
    text = f"""
    import torchmetrics
    from torchmetrics import R2Score, MeanAbsoluteError, F1Score
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scores = {metric}
        def validation_step(self, batch, i):
            x, y = batch
            {call}
    """
    assert (said("script-metric-miscounts", text) == "present") is wrong


_MASKS = """
    data.train_mask = {train}
    data.val_mask = {val}
    loss = nn.functional.cross_entropy(model(data.x)[data.train_mask], data.y[data.train_mask])
    loss.backward()
"""


@pytest.mark.parametrize(
    ("train", "val", "wrong"),
    [
        ("data.year < 2015", "data.year == 2015", False),
        ("data.year <= 2014", "data.year > 2014", False),
        ("data.year <= limit", "data.year == 2015", False),
        ("data.year <= 2015", "data.region == 2015", False),
        ("data.year <= 2015", "data.year == 2015", True),
        ("data.year < 2016", "data.year >= 2015", True),
    ],
)
def test_masks(train: str, val: str, wrong: bool) -> None:
    text = _MASKS.format(train=train, val=val)
    assert (said("script-training-sees-evaluation", text) == "present") is wrong


_SAMPLED = """
    from torch_geometric.loader import NeighborLoader
    loader = NeighborLoader(data, num_neighbors=[9, 9], input_nodes=data.{nodes}, batch_size=64{shuffle})
    for batch in loader:
        out = model(batch.x, batch.edge_index){cut}
        loss = nn.functional.cross_entropy(out, batch.y{cut})
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(data.train_mask.sum(), data.val_mask.sum())
"""


@pytest.mark.parametrize(
    ("nodes", "shuffle", "cut", "symptom", "wrong"),
    [
        ("train_mask", ", shuffle=True", "[:batch.batch_size]", "script-training-sees-evaluation", False),
        ("train_mask", ", shuffle=True", "[batch.train_mask]", "script-training-sees-evaluation", False),
        ("train_mask", ", shuffle=True", "", "script-training-sees-evaluation", True),
        ("val_mask", ", shuffle=True", "[:batch.batch_size]", "script-training-sees-evaluation", True),
        ("train_mask", ", shuffle=True", "[:batch.batch_size]", "script-loader-keeps-order", False),
        ("val_mask", "", "[:batch.batch_size]", "script-loader-keeps-order", False),
        ("train_mask", "", "[:batch.batch_size]", "script-loader-keeps-order", True),
        ("train_mask", ", shuffle=False", "[:batch.batch_size]", "script-loader-keeps-order", True),
    ],
)
def test_sampled_nodes(nodes: str, shuffle: str, cut: str, symptom: str, wrong: bool) -> None:
    assert (said(symptom, _SAMPLED.format(nodes=nodes, shuffle=shuffle, cut=cut)) == "present") is wrong


_BATCHES = """
    def batches(x, y, size, {name}=None):
        order = np.arange(len(x)) if {name} is None else {mix}
        for i in range(0, len(x), size):
            yield x[order[i:i + size]], y[order[i:i + size]]

    for epoch in range(9):
        for a, b in batches(x_train, y_train, 32{told}):
            loss = nn.functional.cross_entropy(net(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
        for a, b in batches(x_val, y_val, 32):
            score(net(a), b)
"""


@pytest.mark.parametrize(
    ("name", "mix", "told", "wrong"),
    [
        ("rng", "rng.permutation(len(x))", ", rng", False),
        ("rng", "rng.permutation(len(x))", ", rng=np.random.default_rng(epoch)", False),
        ("key", "np.asarray(permutation(key, len(x)))", ", split(key)", False),
        ("rng", "np.arange(len(x))[::-1]", "", False),
        ("rng", "rng.permutation(len(x))", "", True),
        ("generator", "torch.randperm(len(x), generator=generator).numpy()", "", True),
    ],
)
def test_source_of_chance(name: str, mix: str, told: str, wrong: bool) -> None:
    text = _BATCHES.format(name=name, mix=mix, told=told)
    assert (said("script-order-fixed", text) == "present") is wrong


_DATA = """
    class Windows(torch.utils.data.Dataset):
        def __init__(self, rows, {flag}, stride=None):
            self.rows = rows
            self.training = {test}
            self.stride = 1 if self.training else 9
        def __len__(self):
            return len(self.rows)
        def __getitem__(self, i):
            piece, label = self.rows[i]
            {change}
            return torch.from_numpy(piece), label
        def jitter(self, piece):
            {inside}gain = np.random.uniform(0.9, 1.1)
            return piece * gain

    train, valid = Windows(a, {on}), Windows(b, {off})
    for x, y in torch.utils.data.DataLoader(train, 8, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
"""


@pytest.mark.parametrize(
    ("flag", "test", "change", "inside", "on", "off", "wrong"),
    [
        (
            "split",
            "split == 'train'",
            "piece = self.jitter(piece) if self.training else piece",
            "",
            "'train'",
            "'valid'",
            False,
        ),
        (
            "split",
            "split == 'train'",
            "piece = self.jitter(piece)",
            "if not self.training: return piece\n            ",
            "'train'",
            "'valid'",
            False,
        ),
        (
            "split",
            "split == 'train'",
            "if self.training: piece = self.jitter(piece)",
            "",
            "'train'",
            "'valid'",
            False,
        ),
        ("split", "split == 'train'", "piece = self.jitter(piece)", "", "'train'", "'train'", False),
        ("split", "split == 'train'", "piece = self.jitter(piece)", "", "'train'", "'valid'", True),
        (
            "train",
            "train",
            "piece = piece + np.random.normal(0, 0.1, piece.shape)",
            "",
            "True",
            "False",
            True,
        ),
        (
            "mode",
            "mode != 'test'",
            "noise = np.random.randn(*piece.shape)\n            piece = piece + 0.1 * noise",
            "",
            "mode='train'",
            "mode='test'",
            True,
        ),
    ],
)
def test_augmented_on_every_side(
    flag: str, test: str, change: str, inside: str, on: str, off: str, wrong: bool
) -> None:
    text = _DATA.format(flag=flag, test=test, change=change, inside=inside, on=on, off=off)
    assert (said("script-evaluation-augmented", text) == "present") is wrong


_MAPPED = """
    import mindspore as ms
    import mindspore.dataset as ds
    def shake(row):
        return row + np.random.normal(0, 0.1, row.shape).astype(np.float32)
    def scale(row):
        return row / 255.0
    def make(source, size, training):
        data = ds.GeneratorDataset(source, ["row", "label"], shuffle=training)
        {step}
        return data.batch(size)
    train, valid = make(a, 32, True), make(b, 32, False)
    model = ms.Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(9, train)
"""


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        ("data = data.map(shake, input_columns='row') if training else data", False),
        ("data = data.map(scale, input_columns='row')", False),
        ("data = data.map(shake, input_columns='row')", True),
        ("data = data.map(operations=shake, input_columns='row')", True),
    ],
)
def test_mapped_on_every_side(step: str, wrong: bool) -> None:
    assert (said("script-evaluation-augmented", _MAPPED.format(step=step)) == "present") is wrong


_KEEPERS = """
    class Keep:
        def __init__(self):
            self.path, self.best = "best.pt", -1.0
        def on_epoch_end(self, trainer, logs):
            if logs["f1"] > self.best:
                {set}torch.save(trainer.model.state_dict(), self.path)

    class Stop:
        def __init__(self):
            self.best, self.bad = -1.0, 0
        def on_epoch_end(self, trainer, logs):
            if logs["f1"] > self.best:
                self.best, self.bad = logs["f1"], 0
    for epoch in range(9):
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
"""


@pytest.mark.parametrize(("set_", "wrong"), [("self.best = logs['f1']; ", False), ("", True)])
def test_each_class_has_its_own_best(set_: str, wrong: bool) -> None:
    found = said("script-best-chosen-wrongly", _KEEPERS.replace("{set}", set_))
    assert (found == "present") is wrong


_PLATEAU = """
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="{mode}")
    best = {start}
    for epoch in range(9):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        exact = evaluate(net)
        plateau.step(exact)
        if {test}:
            best = exact
            torch.save(net.state_dict(), "best.pt")
"""


@pytest.mark.parametrize(
    ("mode", "start", "test", "wrong"),
    [
        ("max", "0.0", "exact > best", False),
        ("min", "float('inf')", "exact < best", False),
        ("min", "0.0", "exact > best", True),
        ("max", "float('inf')", "best > exact", True),
    ],
)
def test_plateau_by_what_is_kept(mode: str, start: str, test: str, wrong: bool) -> None:
    found = said("script-plateau-direction", _PLATEAU.format(mode=mode, start=start, test=test))
    assert (found == "present") is wrong


_CHOSEN = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out, self.embed = nn.GRUCell(8, 8), nn.Linear(8, 5), nn.Embedding(5, 8)
        def forward(self, token, h, steps):
            found = []
            for _ in range(steps):
                h = self.cell(self.embed(token), h)
                scores = {scores}
                found.append(scores)
                token = {chosen}
            return torch.stack(found, 1)
    loss = nn.functional.cross_entropy(Net()(t, h, 3).flatten(0, 1), y.flatten())
    loss.backward()
"""


@pytest.mark.parametrize(
    ("scores", "chosen", "wrong"),
    [
        ("self.out(h)", "scores.detach().argmax(-1)", False),
        ("self.out(h)", "torch.argmax(scores.detach(), dim=-1)", False),
        ("self.out(h)", "torch.multinomial(scores.detach().softmax(-1), 1).squeeze(1)", False),
        ("self.out(h.detach())", "scores.argmax(-1)", True),
        ("self.out(torch.tanh(h.detach()))", "scores.argmax(-1)", True),
    ],
)
def test_a_choice_has_no_slope(scores: str, chosen: str, wrong: bool) -> None:
    found = said("script-gradient-path-cut", _CHOSEN.format(scores=scores, chosen=chosen))
    assert (found == "present") is wrong
