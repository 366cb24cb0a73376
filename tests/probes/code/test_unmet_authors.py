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


_LETTERS = """
    from torch.nn.utils.rnn import pad_sequence
    {marks}
    def collate(pairs):
        s = [torch.tensor(p[0]) for p in pairs]
        t = [torch.tensor(p[1]) for p in pairs]
        return pad_sequence(s, True, padding_value=PAD), pad_sequence(t, True, padding_value=PAD)
    loader = torch.utils.data.DataLoader(pairs, 32, shuffle=True, collate_fn=collate)
    criterion = nn.CrossEntropyLoss({ignored})
    for source, {target} in loader:
        logits = model(source)
        loss = criterion(logits.reshape(-1, logits.size(-1)), {target}.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    def evaluate(model, loader):
        model.eval()
        with torch.no_grad():
            for source, target in loader:
                logits = model(source).flatten(0, 1)
                total = nn.functional.cross_entropy(logits, target.flatten(), ignore_index=PAD)
"""


@pytest.mark.parametrize(
    ("marks", "ignored", "target", "wrong"),
    [
        ("PAD, SOS, EOS = range(3)", "ignore_index=PAD", "target", False),
        ("PAD, SOS, EOS = 0, 1, 2", "ignore_index=PAD", "labels", False),
        ("PAD, SOS, EOS = range(3)", "ignore_index=EOS", "target", True),
        ("SOS, EOS, PAD = range(3)", "ignore_index=SOS", "labels", True),
        ("PAD, SOS, EOS = range(3)", "", "target", True),
        ("PAD = 0", "", "targets", True),
    ],
)
def test_padding_of_what_a_batch_calls_labels(marks: str, ignored: str, target: str, wrong: bool) -> None:
    text = _LETTERS.format(marks=marks, ignored=ignored, target=target)
    assert (said("script-label-padding-counts", text) == "present") is wrong


_LISTS = """
    class Net(nn.Module):
        def __init__(self, depth, width):
            super().__init__()
            {made}
            for i in range(depth):
                {step}
            self.out = nn.Linear(width, 3)
        def forward(self, x):
            for conv, norm in zip(self.convs, self.norms):
                x = torch.relu(norm(conv(x)))
            return self.out(x)
    net = Net(3, 8)
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
"""
_STEP = "self.convs.append(nn.Linear(8, 8)); self.norms.append(nn.LayerNorm(8))"


@pytest.mark.parametrize(
    ("made", "step", "symptom", "wrong"),
    [
        (
            "self.convs, self.norms = nn.ModuleList(), nn.ModuleList()",
            _STEP,
            "script-layers-in-plain-list",
            False,
        ),
        ("self.convs, self.norms = [], nn.ModuleList()", _STEP, "script-layers-in-plain-list", True),
        ("self.convs, self.norms = [], []", _STEP, "script-layers-in-plain-list", True),
        ("self.convs, self.norms = nn.ModuleList(), nn.ModuleList()", _STEP, "script-layer-repeated", False),
        (
            "self.convs, self.norms = nn.ModuleList(), nn.ModuleList(); mid = nn.Linear(8, 8)",
            "self.convs.append(mid if False else nn.Linear(8, 8)); self.norms.append(nn.LayerNorm(8))",
            "script-layer-repeated",
            False,
        ),
        (
            "self.convs, self.norms = nn.ModuleList(), nn.ModuleList(); mid = nn.Linear(8, 8)",
            "self.convs.append(mid); self.norms.append(nn.LayerNorm(8))",
            "script-layer-repeated",
            True,
        ),
        (
            "self.convs = nn.ModuleList(); self.norms = nn.ModuleList(); mid = nn.Conv1d(8, 8, 1)",
            "self.norms.append(nn.LayerNorm(8)); self.convs.append(mid)",
            "script-layer-repeated",
            True,
        ),
    ],
)
def test_lists_of_layers(made: str, step: str, symptom: str, wrong: bool) -> None:
    assert (said(symptom, _LISTS.format(made=made, step=step)) == "present") is wrong


_FLAX = """
    import jax
    import jax.numpy as jnp
    import optax
    from flax import linen as fnn
    class Gate(fnn.Module):
        @fnn.compact
        def __call__(self, x):
            return x * fnn.sigmoid(fnn.Dense(x.shape[-1])(x.mean((1, 2))))[:, None, None]
    class Net(fnn.Module):
        @fnn.compact
        def __call__(self, x, train):
            y = fnn.Conv(8, (3, 3))(x)
            {more}
            return fnn.Dense(3)(y.mean((1, 2)))
    def step(state, batch):
        def loss_fn({param}):
            logits = state.apply_fn({{"params": {read}}}, batch["x"], True)
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()
        grads = jax.grad(loss_fn)(state.params)
        return state.apply_gradients(grads=grads)
"""


@pytest.mark.parametrize(
    ("more", "param", "read", "symptom", "wrong"),
    [
        ("y = Gate()(y)", "params", "params", "script-value-unused", False),
        (
            "y = fnn.relu(y)\n            y = y + fnn.Conv(8, (3, 3))(y)",
            "params",
            "params",
            "script-value-unused",
            False,
        ),
        ("Gate()(y)", "params", "params", "script-value-unused", True),
        (
            "y = fnn.relu(fnn.Conv(8, (3, 3))(y))\n            y = fnn.Conv(8, (3, 3))(x)",
            "p",
            "p",
            "script-value-unused",
            True,
        ),
        ("y = Gate()(y)", "params", "params", "script-gradient-path-cut", False),
        ("y = Gate()(y)", "weights", "weights", "script-gradient-path-cut", False),
        ("y = Gate()(y)", "params", "state.params", "script-gradient-path-cut", True),
        ("y = Gate()(y)", "weights", "state.params", "script-gradient-path-cut", True),
    ],
)
def test_flax(more: str, param: str, read: str, symptom: str, wrong: bool) -> None:
    assert (said(symptom, _FLAX.format(more=more, param=param, read=read)) == "present") is wrong


_BEST = """
    best = 0.0
    for epoch in range(9):
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        result = evaluate(net)
        val_loss, accuracy = result["loss"], result["accuracy"]
        if {test}:
            {kept}
            torch.save(net.state_dict(), "best.pt")
"""


@pytest.mark.parametrize(
    ("test", "kept", "wrong"),
    [
        ("accuracy > best", "best = accuracy", False),
        ("result['accuracy'] > best", "best = accuracy", False),
        ("accuracy > best", "best, at = result['accuracy'], epoch", False),
        ("accuracy > best", "best = val_loss", True),
        ("result['accuracy'] > best", "best = result['loss']", True),
    ],
)
def test_best_takes_its_own_figure(test: str, kept: str, wrong: bool) -> None:
    found = said("script-best-chosen-wrongly", _BEST.format(test=test, kept=kept))
    assert (found == "present") is wrong


@pytest.mark.parametrize(
    ("test", "target", "wrong"),
    [
        ("not k.startswith('head.')", "net", False),
        ("k.startswith('encoder.')", "net", False),
        ("k.startswith('head.')", "net.head", False),
        ("k.startswith('head.')", "net", True),
        ("'fc' in k", "model", True),
    ],
)
def test_head_alone(test: str, target: str, wrong: bool) -> None:
    text = f"""
    state = torch.load("w.pt")
    state = {{k: v for k, v in state.items() if {test}}}
    {target}.load_state_dict(state, strict=False)
    loss = nn.functional.cross_entropy({target}(x), y)
    loss.backward()
    """
    assert (said("script-pretrained-lost", text) == "present") is wrong


_ROWS = """
    from sklearn.preprocessing import StandardScaler
    class Rows(torch.utils.data.Dataset):
        def __init__(self, table):
            self.scaler = StandardScaler()
            self.scaler.fit(table)
            self.table = {table}
        def __getitem__(self, i):
            return {row}
    net = nn.Linear(4, 2)
    for x in torch.utils.data.DataLoader(Rows(t), 8, shuffle=True):
        loss = nn.functional.mse_loss(net(x), x)
        loss.backward()
"""


@pytest.mark.parametrize(
    ("table", "row", "symptom", "wrong"),
    [
        ("self.scaler.transform(table)", "self.table[i]", "script-scaling-unused", False),
        ("table", "self.scaler.transform(self.table[i:i + 1])[0]", "script-scaling-unused", False),
        ("table", "(self.table[i] - self.scaler.mean_) / self.scaler.scale_", "script-scaling-unused", False),
        ("table", "self.table[i]", "script-scaling-unused", True),
        ("self.scaler.transform(table)", "(self.table[i] - MEAN) / STD", "script-figures-impossible", False),
        (
            "self.scaler.transform(table)",
            "(self.table[i] - MEAN) ** 2 / STD ** 2",
            "script-figures-impossible",
            False,
        ),
        (
            "self.scaler.transform(table)",
            "(self.table[i] - MEAN) / STD ** 2",
            "script-figures-impossible",
            True,
        ),
        ("table", "(self.table[i] - self.mean) / torch.square(self.std)", "script-figures-impossible", True),
    ],
)
def test_scaling(table: str, row: str, symptom: str, wrong: bool) -> None:
    assert (said(symptom, _ROWS.format(table=table, row=row)) == "present") is wrong


@pytest.mark.parametrize(
    ("val", "watch", "wrong"),
    [
        ("make('val', training=False)", "EarlyStopping('val_loss')", False),
        ("make('test', training=True)", "EarlyStopping('val_loss')", False),
        ("make('test', training=False)", "CSVLogger('log')", False),
        ("make('test', training=False)", "EarlyStopping('val_loss')", True),
        ("make('test', training=False)", "ModelCheckpoint('best.keras', save_best_only=True)", True),
    ],
)
def test_one_part_under_two_names(val: str, watch: str, wrong: bool) -> None:
    text = f"""
    import tensorflow as tf
    from tensorflow import keras
    train_ds, val_ds, test_ds = make("train", training=True), {val}, make("test", training=False)
    model = keras.Sequential([keras.layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(train_ds, validation_data=val_ds, callbacks=[keras.callbacks.{watch}])
    model.evaluate(test_ds)
    """
    assert (said("script-training-sees-evaluation", text) == "present") is wrong


@pytest.mark.parametrize(
    ("names", "count", "wrong"),
    [
        ('["O", "B-X", "I-X"]', "len(TAGS)", False),
        ('["O", "B-X", "I-X", "<pad>"]', "len(TAGS) - 1", False),
        ('["background", "cat", "dog"]', "len(TAGS) - 1", False),
        ('["O", "B-X", "I-X"]', "len(TAGS) - 1", True),
        ('("cat", "dog", "cow", "hen")', "len(TAGS) - 2", True),
    ],
)
def test_head_of_listed_classes(names: str, count: str, wrong: bool) -> None:
    text = f"""
    from transformers import AutoModelForTokenClassification, Trainer
    TAGS = {names}
    model = AutoModelForTokenClassification.from_pretrained("bert-base-cased", num_labels={count})
    Trainer(model=model, train_dataset=rows).train()
    """
    assert (said("script-words-numbered-apart", text) == "present") is wrong


@pytest.mark.parametrize(
    ("turn", "wrong"),
    [
        ("x.transpose(0, 2, 1)", False),
        ("x.reshape(x.shape[0], x.shape[1] * x.shape[2])", False),
        ("x.reshape(x.shape[0], x.shape[2], x.shape[1])", True),
        ("x.reshape(x.size(0), x.size(2), x.size(1))", True),
    ],
)
def test_turned_in_a_model(turn: str, wrong: bool) -> None:
    text = f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.rnn = nn.Conv1d(3, 8, 3), nn.GRU(8, 8, batch_first=True)
        def forward(self, x):
            x = self.conv(x)
            x = {turn}
            return self.rnn(x)[0]
    """
    assert (said("script-axis-wrong", text) == "present") is wrong
    assert said("script-sample-scrambled", text) != "present"


_FASTAI = """
    from fastai.vision.all import *
    table = pd.read_csv("rows.csv")
    table["is_valid"] = table["part"] == "valid"
    block = DataBlock(
        blocks=(ImageBlock, {block}), get_y=ColReader("rock"), splitter={splitter},
        batch_tfms=[*aug_transforms({crop}), Normalize.from_stats({stats})],
    )
    dls = block.dataloaders(table, bs=48{order})
    learn = vision_learner(dls, resnet34, loss_func={loss}, metrics=accuracy, pretrained={pretrained})
    learn.freeze()
    learn.fit_one_cycle(4, 2e-3)
    {thaw}
    learn.fit_one_cycle(20, slice(1e-5, 1e-3), cbs=SaveModelCallback(monitor="{monitor}", {comp}fname="best"))
    learn.load("{name}")
    probs, targets = learn.get_preds({part})
    print("test", (probs.argmax(dim={dim}) == targets).float().mean())
"""
_RIGHT = {
    "block": "CategoryBlock",
    "splitter": "ColSplitter('is_valid')",
    "crop": "min_scale=0.75",
    "stats": "*imagenet_stats",
    "order": "",
    "loss": "CrossEntropyLossFlat()",
    "pretrained": "True",
    "thaw": "learn.unfreeze()",
    "monitor": "accuracy",
    "comp": "comp=np.greater, ",
    "name": "best",
    "part": "dl=dls.test_dl(rows, with_labels=True)",
    "dim": "1",
}


@pytest.mark.parametrize(
    ("change", "symptom", "wrong"),
    [
        ({}, "script-best-chosen-wrongly", False),
        ({"monitor": "valid_loss", "comp": "comp=np.less, "}, "script-best-chosen-wrongly", False),
        ({"monitor": "valid_loss", "comp": ""}, "script-best-chosen-wrongly", False),
        ({"monitor": "valid_loss"}, "script-best-chosen-wrongly", True),
        ({"comp": "comp=np.less, "}, "script-best-chosen-wrongly", True),
        ({"name": "old"}, "script-best-chosen-wrongly", True),
        ({}, "script-part-not-trained", False),
        ({"thaw": "learn.freeze_to(-2)"}, "script-part-not-trained", False),
        ({"thaw": ""}, "script-part-not-trained", True),
        ({"thaw": "learn.freeze()"}, "script-part-not-trained", True),
        ({}, "script-pretrained-lost", False),
        ({"pretrained": "False"}, "script-pretrained-lost", True),
        ({}, "script-regression-loss-on-classes", False),
        (
            {"block": "MultiCategoryBlock", "loss": "BCEWithLogitsLossFlat()"},
            "script-regression-loss-on-classes",
            False,
        ),
        ({"block": "RegressionBlock", "loss": "MSELossFlat()"}, "script-regression-loss-on-classes", False),
        ({"loss": "MSELossFlat()"}, "script-regression-loss-on-classes", True),
        ({"block": "MultiCategoryBlock"}, "script-regression-loss-on-classes", True),
        ({}, "script-range-mismatch", False),
        ({"stats": "[0.5, 0.5, 0.5], [0.2, 0.2, 0.2]"}, "script-range-mismatch", False),
        ({"stats": "[123.7, 116.3, 103.5], [58.4, 57.1, 57.4]"}, "script-range-mismatch", True),
        ({"crop": "min_scale=0.3"}, "script-augmentation-extreme", False),
        ({"crop": "min_scale=0.01"}, "script-augmentation-extreme", True),
        ({}, "script-training-sees-evaluation", False),
        ({"splitter": "RandomSplitter(0.2)"}, "script-training-sees-evaluation", True),
        ({}, "script-evaluates-training-data", False),
        ({"part": "ds_idx=1"}, "script-evaluates-training-data", False),
        ({"part": "dl=dls.train"}, "script-evaluates-training-data", True),
        ({"part": "ds_idx=0"}, "script-evaluates-training-data", True),
        ({}, "script-loader-keeps-order", False),
        ({"order": ", shuffle=False"}, "script-loader-keeps-order", True),
        ({}, "script-metric-miscounts", False),
        ({"dim": "0"}, "script-metric-miscounts", True),
    ],
)
def test_fastai(change: dict[str, str], symptom: str, wrong: bool) -> None:
    text = textwrap.dedent(_FASTAI).format(**{**_RIGHT, **change})
    assert (state(symptom, text) == "present") is wrong


_PLAYED = """
    obs, _ = env.reset()
    for step in range(9000):
        act = agent.act(obs, eps)
        {after}, reward, done, cut, _ = env.step(act)
        memory.add(obs, act, reward, {after}, done)
        {moved}
        if done or cut:
            obs, _ = env.reset()
        loss = agent.learn()
        loss.backward()
"""


@pytest.mark.parametrize(
    ("after", "moved", "wrong"),
    [
        ("nxt", "obs = nxt", False),
        ("new_obs", "reward_sum, obs = reward_sum + reward, new_obs", False),
        ("obs", "pass", False),
        ("nxt", "pass", True),
        ("next_state", "total = reward", True),
    ],
)
def test_the_state_moves_on(after: str, moved: str, wrong: bool) -> None:
    found = said("script-method-slipped", _PLAYED.format(after=after, moved=moved))
    assert (found == "present") is wrong


@pytest.mark.parametrize(
    ("copy", "wrong"),
    [
        ("copy.deepcopy(self.online)", False),
        ("Net()", False),
        ("self.online", True),
    ],
)
def test_target_net_is_a_copy(copy: str, wrong: bool) -> None:
    text = f"""
    import copy
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 2)
        def forward(self, x):
            return self.out(x)
    class Agent:
        def __init__(self):
            self.online = Net()
            self.target = {copy}
        def learn(self, obs, act, rew, nxt):
            with torch.no_grad():
                goal = rew + 0.99 * self.target(nxt).max(1).values
            loss = nn.functional.mse_loss(self.online(obs).gather(1, act).squeeze(1), goal)
            loss.backward()
    """
    assert (said("script-layer-repeated", text) == "present") is wrong


_DECODED = """
    class Model(nn.Module):
        def __init__(self, source_vocab, target_vocab):
            super().__init__()
            self.embed, self.cell = nn.Embedding(target_vocab, 8), nn.GRUCell(8, 8)
            self.enc, self.out = nn.Embedding(source_vocab, 8), nn.Linear(8, target_vocab)
        def forward(self, source, target):
            h, found = self.enc(source).mean(1), []
            token = torch.zeros_like(target[:, 0])
            for t in range({over}):
                h = self.cell(self.embed({fed}), h)
                found.append(self.out(h))
                token = target[:, t]
            return torch.stack(found, 1)
    model = Model({sizes})
    for source, target in loader:
        logits = model(source, target)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), {held}.flatten())
        loss.backward()
"""


@pytest.mark.parametrize(
    ("over", "fed", "sizes", "held", "symptom", "wrong"),
    [
        ("target.size(1)", "token", "len(src), len(tgt)", "target", "script-target-in-inputs", False),
        (
            "target.size(1) - 1",
            "target[:, t]",
            "len(src), len(tgt)",
            "target[:, 1:]",
            "script-target-in-inputs",
            False,
        ),
        ("target.size(1)", "token", "len(src), len(tgt)", "target", "script-words-numbered-apart", False),
        ("target.size(1)", "token", "tgt_size, src_size", "target", "script-words-numbered-apart", True),
        ("target.size(1)", "token", "len(tgt), len(src)", "target", "script-words-numbered-apart", True),
    ],
)
def test_decoders(over: str, fed: str, sizes: str, held: str, symptom: str, wrong: bool) -> None:
    text = _DECODED.format(over=over, fed=fed, sizes=sizes, held=held)
    assert (said(symptom, text) == "present") is wrong


@pytest.mark.parametrize(
    ("over", "fed", "wrong"),
    [("size(1)", "token", False), ("size(1)", "target[:, t]", True), ("shape[1]", "target[:, t]", True)],
)
def test_step_is_not_fed_its_answer(over: str, fed: str, wrong: bool) -> None:
    text = f"""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.decoder, self.out = Cell(), nn.Linear(8, 5)
        def forward(self, source, target):
            h, found, token = self.start(source), [], self.first(source)
            for t in range(target.{over}):
                logits, h = self.decoder({fed}, h)
                found.append(logits)
                token = target[:, t] if random() < 0.5 else logits.argmax(-1)
            return torch.stack(found, 1)
    for source, target in loader:
        logits = Model()(source, target)
        loss = nn.functional.cross_entropy(logits.reshape(-1, 5), target.reshape(-1))
        loss.backward()
    """
    assert (said("script-target-in-inputs", text) == "present") is wrong


_CHAIN = """
    class Double(nn.{base}):
        def __init__(self, cin, cout):
            {made}
    class Up(nn.Module):
        def __init__(self, cin, cout):
            super().__init__()
            self.up, self.conv = nn.ConvTranspose2d(cin, cout, 2, stride=2), Double(2 * cout, cout)
        def forward(self, x, skip):
            x = self.up(x){cut}
            return self.conv(torch.cat((x, skip), 1))
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two, self.up, self.out = Double(1, 8), Double(8, 16), Up(16, 8), nn.Conv2d(8, 1, 1)
        def forward(self, x):
            a = self.one(x)
            b = self.two(nn.functional.max_pool2d(a, 2))
            return self.out(self.up(b, a))
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    def validate():
        net.eval()
        with torch.no_grad():
            return sum(nn.functional.mse_loss(net(x), y).item() for x, y in val_loader)
    for epoch in range(9):
        for x, y in torch.utils.data.DataLoader(rows, 8, shuffle=True):
            loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(validate())
"""
_LAYERS = "nn.Conv2d(cin, cout, 3, padding=1), nn.{norm}, nn.ReLU()"


@pytest.mark.parametrize(
    ("norm", "cut", "symptom", "wrong"),
    [
        ("GroupNorm(4, cout)", "", "script-gradient-path-cut", False),
        ("BatchNorm2d(cout)", "", "script-gradient-path-cut", False),
        ("GroupNorm(4, cout)", ".detach()", "script-gradient-path-cut", True),
        ("GroupNorm(4, cout)", "", "script-eval-mode-while-training", False),  # nothing in it knows of modes
        ("BatchNorm2d(cout)", "", "script-eval-mode-while-training", True),
        ("Dropout2d(0.2)", "", "script-eval-mode-while-training", True),
    ],
)
def test_chains_of_layers_by_inheritance(norm: str, cut: str, symptom: str, wrong: bool) -> None:
    made = f"super().__init__({_LAYERS.format(norm=norm)})"
    text = _CHAIN.replace("{base}", "Sequential").replace("{made}", made).replace("{cut}", cut)
    assert (said(symptom, text) == "present") is wrong


_RESUMED = """
    net = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 9)
    scaler = torch.amp.GradScaler()
    first = 0
    if args.resume:
        state = torch.load(args.resume)
        net.load_state_dict(state["net"])
        first = state["epoch"] + 1
        {back}
            part.load_state_dict(state[key])
    for epoch in range(first, 9):
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        state = {{"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}}
        state = {{**state, "scheduler": scheduler.state_dict(), "scaler": scaler.state_dict()}}
        torch.save(state, "last.pt")
"""
_OPTIMIZER, _SCHEDULER, _SCALER = "(optimizer, 'optimizer')", "(scheduler, 'scheduler')", "(scaler, 'scaler')"


@pytest.mark.parametrize(
    ("back", "wrong"),
    [
        (f"for part, key in ({_OPTIMIZER}, {_SCHEDULER}, {_SCALER}):", False),
        (f"for key, part in {{{'optimizer'!r}: optimizer, 's': scheduler, 'g': scaler}}.items():", False),
        (f"for part, key in ({_OPTIMIZER}, {_SCHEDULER}):", True),
        (f"for part, key in [{_SCHEDULER}, {_SCALER}]:", True),
    ],
)
def test_states_given_back_in_a_loop(back: str, wrong: bool) -> None:
    assert (said("script-resume-incomplete", _RESUMED.format(back=back)) == "present") is wrong


_DISTILLED = """
    import tensorflow as tf
    from tensorflow import keras
    from tensorflow.keras import layers
    def make_net(width):
        inp = keras.Input((64, 64, 1))
        x = layers.Conv2D(width, 3)(inp)
        x = layers.ReLU()(x)
        out = layers.Dense(9{last})(layers.GlobalAveragePooling2D()(x))
        return keras.Model(inp, out)
    class Distiller(keras.Model):
        def __init__(self, student, teacher):
            super().__init__()
            self.student, self.teacher = student, teacher
            self.teacher.trainable = False
            self.hard = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            self.soft = keras.losses.{kind}()
        def train_step(self, data):
            x, y = data
            teacher_logits = self.teacher(x, training={mode})
            with tf.GradientTape() as tape:
                student_logits = self.student(x, training=True)
                loss = self.hard(y, student_logits) + self.soft({first}, {second})
            grads = tape.gradient(loss, self.student.trainable_variables)
            self.optimizer.apply_gradients(zip(grads, self.student.trainable_variables))
            return {{"loss": loss}}
    teacher = make_net(64)
    {load}
    model = Distiller(make_net(8), teacher)
    model.compile(optimizer="adam")
    model.fit(rows)
"""
_GOOD = {
    "last": "",
    "kind": "KLDivergence",
    "mode": "False",
    "load": "teacher.load_weights('t.h5')",
    "first": "tf.nn.softmax(teacher_logits / 4.0)",
    "second": "tf.nn.softmax(student_logits / 4.0)",
}


@pytest.mark.parametrize(
    ("change", "symptom", "wrong"),
    [
        ({}, "script-loss-wrong", False),
        ({"kind": "CategoricalCrossentropy"}, "script-loss-wrong", False),
        (
            {"first": "tf.nn.softmax(teacher_logits)", "second": "tf.nn.softmax(student_logits)"},
            "script-loss-wrong",
            False,
        ),
        ({"first": "tf.nn.softmax(teacher_logits)"}, "script-loss-wrong", True),
        ({"second": "student_logits / 4.0"}, "script-loss-wrong", True),
        ({"first": _GOOD["second"], "second": _GOOD["first"]}, "script-loss-wrong", True),
        ({"last": ", activation='softmax'"}, "script-loss-wrong", True),
        ({}, "script-pretrained-lost", False),
        ({"load": "teacher.compile('adam', 'mse'); teacher.fit(rows)"}, "script-pretrained-lost", False),
        ({"load": ""}, "script-pretrained-lost", True),
        ({}, "script-mode-fixed", False),
        ({"mode": "True"}, "script-mode-fixed", True),
    ],
)
def test_distillation(change: dict[str, str], symptom: str, wrong: bool) -> None:
    text = textwrap.dedent(_DISTILLED).format(**{**_GOOD, **change})
    assert (state(symptom, text) == "present") is wrong


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ("{'f1': s['overall_f1'], 'accuracy': s['acc']}", False),
        ("{'score': s['overall_accuracy'], 'f1': f1}", False),
        ("{'f1': s['overall_accuracy']}", True),
        ("dict(recall=float(s['precision']))", True),
    ],
)
def test_figures_under_their_names(told: str, wrong: bool) -> None:
    text = f"loss = nn.functional.cross_entropy(net(x), y)\nloss.backward()\nprint({told})\n"
    assert (said("script-metric-miscounts", text) == "present") is wrong


_MEANS = """
    for epoch in range(9):
        total, rows = 0.0, 0
        for x, y in torch.utils.data.DataLoader(data, 8, shuffle=True):
            loss = nn.functional.cross_entropy(net(x), y{reduction})
            loss.backward()
            total += {added}
            rows += {counted}
        print(total / rows)
"""


@pytest.mark.parametrize(
    ("reduction", "added", "counted", "wrong"),
    [
        ("", "loss.item() * len(y)", "len(y)", False),
        ("", "loss.item()", "1", False),
        (", reduction='sum'", "loss.item()", "len(y)", False),
        ("", "loss.item()", "len(y)", True),
        ("", "float(loss)", "y.size(0)", True),
    ],
)
def test_means_over_rows(reduction: str, added: str, counted: str, wrong: bool) -> None:
    text = _MEANS.format(reduction=reduction, added=added, counted=counted)
    assert ("present" in (said("script-metric-miscounts", text), said("script-metric-wrong", text))) is wrong


_ROUNDS = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
            for i in range(3):
                self.convs.append(nn.Linear(8, 8))
                self.norms.append(nn.LayerNorm(8))
        def forward(self, x):
            for conv, norm in zip(self.convs, self.norms):
                x = conv(x)
                x = {then}
            return x
    loss = nn.functional.mse_loss(Net()(x), y)
    loss.backward()
"""


@pytest.mark.parametrize(
    ("then", "symptom", "wrong"),
    [
        ("nn.functional.relu(norm(x))", "script-norm-unused", False),
        ("torch.tanh(norm(x))", "script-layers-unbent", False),
        ("nn.functional.relu(x)", "script-norm-unused", True),
        ("nn.functional.gelu(nn.functional.dropout(x, 0.1, self.training))", "script-norm-unused", True),
        ("norm(x)", "script-layers-unbent", True),
    ],
)
def test_rounds_over_lists(then: str, symptom: str, wrong: bool) -> None:
    assert (said(symptom, _ROUNDS.format(then=then)) == "present") is wrong


_PICTURES = """
    import tensorflow as tf
    from tensorflow import keras
    from tensorflow.keras import layers
    def decode(path):
        image = tf.image.resize(tf.io.decode_png(tf.io.read_file(path), channels=3), (96, 96)){scale}
        return image, tf.strings.to_number(path)
    files = tf.data.Dataset.list_files("train/*.png", shuffle={shuffle}){mix}
    ds = files.map(decode).batch(32)
    inputs = keras.Input((96, 96, 3))
    x = layers.RandomRotation({turn})(inputs)
    x = {prepared}
    body = keras.applications.{body}(include_top=False, weights="imagenet")
    out = layers.Dense(9)(layers.GlobalAveragePooling2D()(body(x, training=False)))
    model = keras.Model(inputs, out)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(ds, epochs=9)
"""
_PLAIN = {
    "scale": "",
    "shuffle": "False",
    "mix": ".shuffle(9000)",
    "turn": "0.05",
    "body": "MobileNetV2",
    "prepared": "keras.applications.mobilenet_v2.preprocess_input(inputs)",
}


@pytest.mark.parametrize(
    ("change", "symptom", "wrong"),
    [
        ({}, "script-pixels-raw", False),
        ({"body": "EfficientNetB0", "prepared": "inputs"}, "script-pixels-raw", False),
        ({"prepared": "layers.Rescaling(1 / 127.5, offset=-1)(inputs)"}, "script-pixels-raw", False),
        ({"prepared": "inputs"}, "script-pixels-raw", True),
        ({"prepared": "inputs", "body": "ResNet50"}, "script-pixels-raw", True),
        ({}, "script-range-mismatch", False),
        ({"scale": " / 255.0"}, "script-range-mismatch", True),
        ({}, "script-order-fixed", False),
        ({"shuffle": "True", "mix": ""}, "script-order-fixed", False),
        ({"mix": ""}, "script-order-fixed", True),
        ({}, "script-augmentation-extreme", False),
        ({"turn": "15"}, "script-augmentation-extreme", True),
    ],
)
def test_pictures_of_keras(change: dict[str, str], symptom: str, wrong: bool) -> None:
    text = textwrap.dedent(_PICTURES).format(**{**_PLAIN, **change})
    assert (state(symptom, text) == "present") is wrong


_RETRIEVED = """
    def retrieval(net, query, gallery):
        q, qy = embed(net, query)
        g, gy = embed(net, gallery)
        order = {order}
        match = (gy[order] == qy[:, None]).float()
        return match[:, 0].mean()
    for x, y in loader:
        loss = nn.functional.triplet_margin_loss(net(x), net(y), net(y.flip(0)))
        loss.backward()
    print(retrieval(net, {given}))
"""


@pytest.mark.parametrize(
    ("order", "given", "wrong"),
    [
        ("(q @ g.t()).argsort(dim=1, descending=True)", "query_loader, gallery_loader", False),
        ("torch.cdist(q, g).argsort(dim=1)", "query_loader, gallery_loader", False),
        ("(-(q @ g.t())).argsort(dim=1)", "query_loader, gallery_loader", False),
        ("(q @ g.t()).argsort(dim=1)", "query_loader, gallery_loader", True),
        ("torch.argsort(q @ g.T, dim=1)", "query_loader, gallery_loader", True),
        ("(q @ g.t()).argsort(dim=1, descending=True)", "query_loader, query_loader", True),
        ("torch.cdist(q, g).argsort(dim=1)", "data.query, data.query", True),
    ],
)
def test_retrieval(order: str, given: str, wrong: bool) -> None:
    found = said("script-metric-miscounts", _RETRIEVED.format(order=order, given=given))
    assert (found == "present") is wrong


_BY_CLASS = """
    import glob, os, random
    classes = sorted(os.listdir("chips"))
    c2i = {{c: i for i, c in enumerate(classes)}}
    {made}
    {mix}
    n = len(files) // 10
    {parts}
    loader = torch.utils.data.DataLoader(Chips(train_files), 32, shuffle=True)
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
    score(net, Chips(val_files))
"""
_LISTED = "files = [(f, c2i[c]) for c in classes for f in sorted(glob.glob(f'chips/{c}/*.npy'))]"
_APPENDED = """files = []
    for label, name in enumerate(classes):
        for f in glob.glob(os.path.join("chips", name, "*.npy")):
            files.append((f, label))"""
_PARTED = "val_files, train_files = files[:n], files[n:]"


@pytest.mark.parametrize(
    ("made", "mix", "parts", "wrong"),
    [
        (_LISTED, "random.shuffle(files)", _PARTED, False),
        (_APPENDED, "files = [files[i] for i in np.random.permutation(len(files))]", _PARTED, False),
        (_LISTED, "", "val_files, train_files = files[::10], files[1::10]", False),
        ("files = [(f, y[f]) for d in days for f in glob.glob(d)]", "", _PARTED, False),
        (_LISTED, "", _PARTED, True),
        (_APPENDED, "", _PARTED, True),
    ],
)
def test_cut_class_by_class(made: str, mix: str, parts: str, wrong: bool) -> None:
    text = _BY_CLASS.format(made=made, mix=mix, parts=parts)
    assert (said("script-held-out-one-end", text) == "present") is wrong
