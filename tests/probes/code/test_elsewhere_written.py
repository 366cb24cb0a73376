"""Right programs of other frameworks and hands are left alone, and the slips that look like them are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunUnreadable, walk
from traindoctor.probes.readers import script
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Configured, Run, RunInfo

from .._pairs import present
from .._scripts import PROBES, SYMPTOMS, state

P, A, U = "present", "absent", "unknown"


def settings(folder: Path, text: str) -> dict[str, object]:
    (folder / "train.py").write_text(text, encoding="utf-8")
    (file,) = walk(folder)[0]
    return {s.key: s.value for s in script.read(file).settings}


@pytest.mark.parametrize(
    ("made", "rate"),
    [
        ("import paddle\nopt = paddle.optimizer.Momentum(sched, 0.9, net.parameters())", None),
        ("import paddle\nopt = paddle.optimizer.Momentum(0.01, 0.9, net.parameters())", 0.01),
        ("import paddle.optimizer as optim\nopt = optim.Momentum(sched, 0.9, net.parameters())", None),
        ("from paddle import optimizer\nopt = optimizer.Adam(decay, 0.9, 0.98, parameters=p)", None),
        ("from paddle.optimizer import Adam\nopt = Adam(3e-4, parameters=p)", 3e-4),
        ("import torch\nopt = torch.optim.SGD(net.parameters(), 0.9)", 0.9),
        ("from mindspore import nn\nopt = nn.Momentum(net.trainable_params(), 0.05, 0.9)", 0.05),
    ],
)
def test_paddle_is_given_the_rate_first(tmp_path: Path, made: str, rate: float | None) -> None:
    assert settings(tmp_path, made + "\n").get("learning_rate") == rate


@pytest.mark.parametrize(
    ("line", "shuffle"),
    [
        ("def dataloader(x, n, *, key): ...\nfor x, y in dataloader(data, 32, key=key): pass", None),
        ("from feed import dataloader\ntrain = dataloader(data, 32, key)", None),
        ("import torch\nfrom feed import dataloader\ntrain = dataloader(data, 32, shuffle=False)", False),
        ("class DataLoader: ...\ntrain = DataLoader(data, 32)", None),
        ("from torch.utils.data import DataLoader\ntrain = DataLoader(data, 32)", False),
    ],
)
def test_a_loader_of_the_program_has_its_own_defaults(
    tmp_path: Path, line: str, shuffle: bool | None
) -> None:
    assert settings(tmp_path, line + "\n").get("shuffle") is shuffle


@pytest.mark.parametrize(
    ("spread", "found"),
    [
        ("images[:n].std((0, 1, 2))", A),
        ("np.std(images[:n], axis=(0, 2, 3))", A),
        ("table[:n, :2].std(0)", A),
        ("frame[['load', 'temp']].to_numpy()[:n].std(0)", A),
        ("frame.to_numpy()[:n][:, [0, 3]].std(axis=0)", A),
        ("table[:n].std(0)", P),
        ("table[:n, first:].std(0)", P),
        ("signals[:n].std((0, 1))", P),
    ],
)
def test_a_spread_that_is_never_zero_needs_no_floor(spread: str, found: str) -> None:
    made = f"def load():\n    sd = {spread}\n    return (x - mean) / sd\n"
    text = f"import numpy as np, torch\n{made}loss.backward()\n"
    assert state("script-division-without-floor", text) == found


def batch(symptom: str, size: int, code: str) -> str:
    given = {k: Configured(k, size, k, "run.yaml", 1, 50) for k in ("batch_size", "global_batch_size")}
    run = Run(RunInfo("run"), {}, (), given, (), (), {}, scripts={"train.py": code})
    return read(View(run), SYMPTOMS[symptom], PROBES).state.value


@pytest.mark.parametrize(
    ("symptom", "size", "code", "found"),
    [
        ("batch-size-huge", 16000, "opt = nn.FTRL(params, 5e-2)", U),
        ("batch-size-huge", 16384, "class DeepFM(nn.Module): pass", U),
        ("batch-size-huge", 32768, "loss = info_nce(q, k)", U),
        ("batch-size-huge", 16000, "net = resnet18()", P),
        ("batch-size-tiny", 1, "norm = nn.InstanceNorm2d(64)", U),
        ("batch-size-tiny", 1, "class InstanceNormalization(Layer): pass", U),
        ("batch-size-tiny", 1, "norm = nn.BatchNorm2d(64)", P),
    ],
)
def test_batches_that_belong_to_a_recipe(symptom: str, size: int, code: str, found: str) -> None:
    assert batch(symptom, size, code) == found


KEYS = """
import jax, optax
from flax.training import train_state
def crop(key, x):
    first, second = jax.random.split(key)
    flip = jax.random.bernoulli(first, 0.5, (len(x), 1, 1, 1))
    return jax.numpy.where(flip, x[:, :, ::-1], x) + jax.random.normal(second, x.shape)
@jax.jit
def train_step(state, key, x, y):
    x = crop(key, x)
    def loss_fn(params):
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(params, x), y).mean()
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss
key = jax.random.PRNGKey(0)
for epoch in range(9):
    for x, y in batches:
        BEFORE
        state, loss = train_step(state, GIVEN, x, y)
"""


@pytest.mark.parametrize(
    ("before", "given", "found"),
    [
        ("key, sub = jax.random.split(key)", "sub", False),
        ("step = step + 1", "jax.random.fold_in(key, step)", False),
        ("pass", "key", True),
    ],
)
def test_a_key_that_augments_each_step_alike(tmp_path: Path, before: str, given: str, found: bool) -> None:
    text = KEYS.replace("BEFORE", before).replace("GIVEN", given)
    assert (state("script-key-reused", text) == P) == found
    if found:
        right = KEYS.replace("BEFORE", "key, sub = jax.random.split(key)").replace("GIVEN", "sub")
        assert "edit-loss-function" not in present(tmp_path, text, right)


ENGINE = """
import torch
from ignite.engine import Engine, Events
model, optimizer = build(), torch.optim.Adam(parameters, lr=1e-3)
def step(engine, batch):
    model.train()
    LINE
    loss = criterion(model(batch[0]), batch[1])
    loss.backward()
    optimizer.step()
    return loss.item()
trainer = Engine(step)
trainer.run(loader, max_epochs=9)
"""


@pytest.mark.parametrize(
    ("line", "found"), [("optimizer.zero_grad()", A), ("model.zero_grad(set_to_none=True)", A), ("pass", P)]
)
def test_the_step_that_an_engine_runs_clears_gradients(line: str, found: str) -> None:
    assert state("script-gradients-not-cleared", ENGINE.replace("LINE", line)) == found


MODES = """
import torch
from torchvision import models
def validate(loader, net):
    net.eval()
    return sum((net(x).argmax(1) == y).sum() for x, y in loader)
def train(loader, net, optimizer):
    LINE
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
net = models.resnet18()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(9):
    train(loader, net, optimizer)
    validate(held_out, net)
"""


@pytest.mark.parametrize(("line", "found"), [("net.train()", A), ("pass", P)])
def test_a_function_called_train_sets_no_mode(line: str, found: str) -> None:
    assert state("script-eval-mode-while-training", MODES.replace("LINE", line)) == found


UNET = """
import mindspore.nn as nn
from mindspore import ops
class Two(nn.SequentialCell):
    def __init__(self, a, b):
        super().__init__(nn.Conv2d(a, b, 3), nn.BatchNorm2d(b), nn.ReLU())
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.down, self.pool = Two(3, 8), nn.MaxPool2d(2, 2)
        self.up, self.join = nn.Conv2dTranspose(8, 8, 2, 2), Two(16, 8)
        self.out = nn.Conv2d(8, 1, 1)
    def construct(self, x):
        a = self.down(x)
        u = self.up(self.pool(a))
        return self.out(LAST)
"""


@pytest.mark.parametrize(("last", "found"), [("self.join(ops.concat((u, a), 1))", A), ("u + a", P)])
def test_a_stack_that_derives_from_a_sequence_is_a_layer(last: str, found: str) -> None:
    assert state("script-layer-unused", UNET.replace("LAST", last)) == found


TAKEN_UP = """
import tensorflow as tf
model, slow = build(), build()
opt = tf.keras.optimizers.SGD(0.1, momentum=0.9)
ckpt = tf.train.Checkpoint(GIVEN)
manager = tf.train.CheckpointManager(ckpt, "runs", max_to_keep=3)
ckpt.restore(manager.latest_checkpoint)
for step in range(int(ckpt.save_counter), 9000):
    with tf.GradientTape() as tape:
        loss = criterion(y, model(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    manager.save()
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("model=model, slow=slow, opt=opt", False),
        ("model=model, slow=slow", True),
        ("model=model, held=held", False),
        ("model=model, **more", False),
    ],
)
def test_a_checkpoint_of_several_models_without_the_optimizer(given: str, found: bool) -> None:
    assert (state("script-resume-incomplete", TAKEN_UP.replace("GIVEN", given)) == P) == found


RESIZED = """
import cv2, numpy as np, torch
class Roads(torch.utils.data.Dataset):
    def __getitem__(self, i):
        img = cv2.imread(self.names[i])
        lab = cv2.imread(self.labs[i], cv2.IMREAD_GRAYSCALE)
        img = cv2.resize(img, None, fx=s, fy=s, interpolation=cv2.INTER_LINEAR)
        lab = cv2.resize(lab, None, fx=s, fy=s, interpolation=cv2.HOW)
        return np.ascontiguousarray(img), np.ascontiguousarray(lab).astype("int64")
criterion = torch.nn.CrossEntropyLoss(ignore_index=255)
"""


@pytest.mark.parametrize(("how", "found"), [("INTER_NEAREST", A), ("INTER_LINEAR", P)])
def test_what_becomes_whole_numbers_is_resized_without_blending(how: str, found: str) -> None:
    assert state("script-mask-interpolated", RESIZED.replace("HOW", how)) == found


PARTS = """
import tensorflow as tf
from tensorflow.keras import layers
def encoder():
    return tf.keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(8)])
def decoder():
    return tf.keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(784)])
class Coder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.FIRST, self.decoder = encoder(), decoder()
    def loss_of(self, x):
        return tf.reduce_mean((self.decoder(self.FIRST(x)) - x) ** 2)
    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = self.loss_of(x)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, ASKED), ASKED))
        return {"loss": loss}
model = Coder()
model.compile(optimizer="adam")
model.fit(data, epochs=9)
"""


@pytest.mark.parametrize(
    ("first", "asked", "found"),
    [
        ("encoder", "self.trainable_variables", False),
        ("encoder", "self.encoder.trainable_weights + self.decoder.trainable_weights", False),
        ("encoder", "self.decoder.trainable_weights", True),
        ("teacher", "self.decoder.trainable_weights", False),
    ],
)
def test_a_tape_that_is_asked_for_one_part_of_two(first: str, asked: str, found: bool) -> None:
    text = PARTS.replace("FIRST", first).replace("ASKED", asked)
    assert (state("script-part-not-trained", text) == P) == found


NUCLEI = """
import cv2, numpy as np
import mindspore as ms
from mindspore import nn
class Nuclei:
    def __getitem__(self, i):
        img = cv2.imread(self.names[i])
        mask = cv2.imread(self.masks[i], cv2.IMREAD_GRAYSCALE)
        img = SCALED
        return img.transpose(2, 0, 1), mask[None]
def dice(p, mask):
    inter = (p * mask).sum()
    return 1 - 2 * inter / (p + mask).sum()
net = nn.SequentialCell([nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 1, 1)])
model = ms.Model(net, loss_fn=nn.BCEWithLogitsLoss(), optimizer=nn.Adam(net.trainable_params(), 1e-3))
model.train(9, data)
"""


@pytest.mark.parametrize(
    ("scaled", "found"),
    [
        ("img.astype(np.float32) / 255.0", False),
        ("img.astype(np.float32) * k", False),
        ("img.astype(np.float32)", True),
    ],
)
def test_pictures_stay_raw_beside_masks_that_are_multiplied(scaled: str, found: bool) -> None:
    assert (state("script-pixels-raw", NUCLEI.replace("SCALED", scaled)) == P) == found


PIPES = """
import tensorflow as tf
def standardise(img, label):
    return (img - 0.5) * 2.0, label
def crop(img, label):
    return tf.image.random_crop(img, (28, 28, 3)), label
def smooth(img, label):
    return img, label * 0.9 + 0.05
def pipeline(files, training):
    ds = tf.data.TFRecordDataset(files).map(parse)
    if training:
        ds = ds.shuffle(1000).map(crop)INSIDE
    OUTSIDE
    return ds.batch(32)
model.fit(pipeline(train_files, True), validation_data=pipeline(val_files, False), epochs=9)
"""


@pytest.mark.parametrize(
    ("inside", "outside", "found"),
    [
        ("", "ds = ds.map(standardise)", False),
        (".map(standardise)", "pass", True),
        (".map(smooth)", "ds = ds.map(standardise)", False),
        (".map(standardise)", "ds = ds if training else ds.map(standardise)", False),
    ],
)
def test_a_pipeline_of_both_sides_that_scales_one(inside: str, outside: str, found: bool) -> None:
    text = PIPES.replace("INSIDE", inside).replace("OUTSIDE", outside)
    assert (state("script-splits-processed-differently", text) == P) == found


TURNED = """
import numpy as np, torch
class Cells(torch.utils.data.Dataset):
    def __getitem__(self, i):
        img, mask = load(self.ids[i])
        k = np.random.randint(4)
        img, mask = GIVEN
        return img.transpose(2, 0, 1).copy(), np.ascontiguousarray(mask[None]).astype("float32")
"""


@pytest.mark.parametrize(
    ("given", "found"), [("np.rot90(img, k), np.rot90(mask, k)", False), ("np.rot90(img, k), mask", True)]
)
def test_a_mask_with_an_axis_more_lies_over_its_picture(given: str, found: bool) -> None:
    assert (state("script-sample-torn-apart", TURNED.replace("GIVEN", given)) == P) == found


TRACED = """
IMPORTS
import jax.numpy as jnp
@jax.jit
def epoch(params, key, x):
    order = random.permutation(key, len(x))
    return params, x[order]
"""


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ("import jax\nfrom jax import random", A),
        ("import jax\nimport jax.random as random", A),
        ("import jax, random", P),
        ("import jax\nfrom numpy import random", P),
    ],
)
def test_a_framework_s_own_random_is_drawn_in_the_graph(imports: str, found: str) -> None:
    text = TRACED.replace("IMPORTS", imports)
    text = text if "jax import random" in imports or "as random" in imports else text.replace("(key, ", "(")
    assert (
        state("script-drawn-at-tracing", text.replace("random.permutation(len", "random.uniform(len"))
        == found
    )


TAGS = """
import torch
from transformers import AutoTokenizer
tok = AutoTokenizer.from_pretrained(MODEL)
def features(row):
    enc = tok(row[WORDS], is_split_into_words=True, truncation=True)
    enc["labels"] = [-100] + [ids[t] for t in row["tags"]][: len(enc["input_ids"]) - 2] + [-100]
    return enc
loss.backward()
"""


@pytest.mark.parametrize(
    ("model", "words", "found"),
    [
        ("'bert-base-chinese'", "'tokens'", False),
        ("'ernie-3.0-base-zh'", "'tokens'", False),
        ("'bert-base-cased'", "'chars'", False),
        ("'bert-base-cased'", "'tokens'", True),
    ],
)
def test_characters_are_a_piece_each(model: str, words: str, found: bool) -> None:
    text = TAGS.replace("MODEL", model).replace("WORDS", words)
    assert (state("script-method-slipped", text) == P) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("table = pd.read_csv('events.csv')", P),
        ("table = pd.read_csv('events.csv', dtype=str)", U),
        ("table = pd.read_csv('events.csv', dtype={'user': str, 'item': 'category'})", U),
        ("table = pd.read_csv('events.csv', dtype={'user': str, 'age': float})", P),
        ("def read_csv(name):\n    return np.loadtxt(name)\ntable = read_csv('a.csv')", U),
    ],
)
def test_tables_of_texts_and_readers_of_ones_own(line: str, found: str) -> None:
    assert (
        state("script-table-unguarded", f"import numpy as np, pandas as pd, torch\n{line}\nloss.backward()")
        == found
    )


RATE = """
import tensorflow as tf
class Noam(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return tf.math.rsqrt(self.dim) * tf.minimum(tf.math.rsqrt(step), step * 4000 ** -1.5)
class Spread(tf.keras.layers.Layer):
    def call(self, x):
        return LAST
"""


@pytest.mark.parametrize(("last", "found"), [("x * 2.0", False), ("tf.math.rsqrt(x)", True)])
def test_schedules_count_steps(last: str, found: bool) -> None:
    assert (state("script-unsafe-math", RATE.replace("LAST", last)) == P) == found


@pytest.mark.parametrize(
    ("given", "norm"),
    [
        ("grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)", 1.0),
        ("grad_clip=paddle.nn.ClipGradByNorm(2.0)", None),
        ("", 0),
    ],
)
def test_paddle_clips_in_the_optimizer(tmp_path: Path, given: str, norm: float | None) -> None:
    made = f"opt = paddle.optimizer.Adam(1e-3, parameters=net.parameters(), {given})"
    text = f"import paddle\n{made}\nfor x, y in rows:\n    f(net(x), y).backward()\n    opt.step()\n"
    assert settings(tmp_path, text).get("max_grad_norm") == norm


CLIPS = """
import glob, os, torch
from torch.utils.data import DataLoader, Dataset
class Clips(Dataset):
    def __init__(self, root, part, words):
        self.items = []
        for k, w in enumerate(words):
            for f in sorted(LISTED):
                self.items.append((f, k))
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        return torch.load(self.items[i][0]), self.items[i][1]
words = sorted(os.listdir("kws/train"))
train = DataLoader(Clips("kws", "train", words), 64, shuffle=True)
dev = DataLoader(Clips("kws", "PART", words), 256)
net = torch.nn.Linear(40, 12)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for epoch in range(9):
    for x, y in train:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    with torch.no_grad():
        hit = sum((net(x).argmax(-1) == y).sum().item() for x, y in dev)
    print("epoch", epoch, "dev accuracy", hit / len(dev.dataset))
"""


@pytest.mark.parametrize(
    "listed",
    [
        'glob.glob(os.path.join(root, part, w, "*.pt"))',
        "os.listdir(os.path.join(root, part, w))",
        'glob.glob(f"{root}/{part}/{w}/*.pt")',
        'glob.glob(root + "/" + part + "/" + w + "/*.pt")',
    ],
)
@pytest.mark.parametrize(("part", "found"), [("dev", False), ("train", True)])
def test_folders_of_one_list_of_classes_under_two_parts(listed: str, part: str, found: bool) -> None:
    text = CLIPS.replace("LISTED", listed).replace("PART", part)
    assert (state("script-evaluates-training-data", text) == P) == found


NUMPY = """
import numpy as np
def backward(net, g): ...
for epoch in range(epochs):
    for i in range(0, n, 32):
        backward(net, loss_of(net, x[i : i + 32]))
"""
TREES = "import lightgbm as lgb\nmodel = lgb.train(params, rows, 500)\n"
LAUNCHER = "from mmengine.runner import Runner\nrunner = Runner.from_cfg(cfg)\nrunner.train()\n"
SHOWN = "import numpy as np\nfor epoch in range(epochs):\n    print(np.load(f'{epoch}.npy').mean())\n"


@pytest.mark.parametrize(("text", "opens"), [(NUMPY, True), (TREES, True), (LAUNCHER, True), (SHOWN, False)])
def test_programs_without_a_framework_of_their_own_are_opened(tmp_path: Path, text: str, opens: bool) -> None:
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    if opens:
        assert open_run(tmp_path).scripts
    else:
        with pytest.raises(RunUnreadable):
            open_run(tmp_path)


CLOUDS = """
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset
class Clouds(Dataset):
    def __init__(self, x, y, augment):
        self.x, self.y, self.augment = x, y, augment
    def __len__(self):
        return len(self.y)
    def __getitem__(self, i):
        p = self.x[i]
        if self.augment:
            p = p[np.random.permutation(len(p))]
            p = p + 0.01 * np.random.randn(*p.shape)INSIDE
        return p.T, self.y[i]
x, y = np.load("x.npy"), np.load("y.npy")
order = np.random.permutation(len(y))
val, fit = order[: len(y) // 10], order[len(y) // 10 :]
train = DataLoader(Clouds(x[fit], y[fit], True), 32, shuffle=True)
valid = DataLoader(Clouds(x[val], y[val], False), 256)
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 40))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for epoch in range(9):
    for xb, yb in train:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step()
    with torch.no_grad():
        print("val accuracy", np.mean([(net(a).argmax(1) == b).float().mean().item() for a, b in valid]))
"""


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        ("\n        p = p - p.mean(0)", False),
        ("\n            p = p - p.mean(0)\n            p = p / p.max()", True),
    ],
)
def test_points_of_a_sample_are_mixed_and_places_are_no_samples(inside: str, found: bool) -> None:
    text = CLOUDS.replace("INSIDE", inside)
    assert state("script-labels-permuted-alone", text) != P
    assert (state("script-splits-processed-differently", text) == P) == found


STATIONS = """
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset
class Stretches(Dataset):
    def __init__(self, data, low, high):
        self.data = data
        self.index = [(t, s) for t in range(len(data)) for s in range(low, high - 36, 6)]
    def __len__(self):
        return len(self.index)
    def __getitem__(self, i):
        t, s = self.index[i]
        return self.data[t, s : s + 24], self.data[t, s + 24 : s + 36]
data = np.load("stations.npy").astype("float32")
train = DataLoader(Stretches(data, 0, 700), 32, shuffle=True)
test = DataLoader(Stretches(data, LOW, 1000), 256)
net = torch.nn.Linear(24, 12)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for epoch in range(9):
    for x, y in train:
        opt.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        opt.step()
with torch.no_grad():
    print("test error", np.mean([(net(a) - b).abs().mean().item() for a, b in test]))
"""


def test_stretches_of_the_same_stations_at_other_times() -> None:
    assert state("script-evaluates-training-data", STATIONS.replace("LOW", "850")) != P


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("embedding_table=ms.Tensor(vectors)", False),
        ("embedding_table='normal'", True),
        ("embedding_table=Normal(0.02)", True),
        ("padding_idx=0", True),
    ],
)
def test_a_table_that_was_given_may_rest(given: str, found: bool) -> None:
    text = f"""
import mindspore as ms
from mindspore import nn
class Net(nn.Cell):
    def __init__(self, vectors):
        super().__init__()
        self.emb = nn.Embedding(100, 64, {given})
        self.emb.embedding_table.requires_grad = False
        self.out = nn.Dense(64, 3)
    def construct(self, x):
        return self.out(self.emb(x).mean(axis=1))
net = Net(vectors)
cell = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.Adam(net.trainable_params(), 1e-3))
ms.Model(cell).train(9, data)
"""
    assert (state("script-freezes-parameters", text) == P) == found


@pytest.mark.parametrize(
    ("stack", "found"),
    [
        ("nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 9, weight_init='zeros')", False),
        ("[nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 9, weight_init='zeros')]", False),
        ("nn.Dense(64, 64, weight_init='zeros'), nn.ReLU(), nn.Dense(64, 9)", True),
    ],
)
def test_the_last_layer_of_a_stack_may_start_at_zero(stack: str, found: bool) -> None:
    text = f"""
from mindspore import nn
class Turn(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.SequentialCell({stack})
    def construct(self, x):
        return self.fc(x).reshape(-1, 3, 3) + self.eye
"""
    assert (state("script-zero-init", text) == P) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [("ALPHA_BAR[t][:, None]", False), ("net.apply(params, x)", True), ("x[t][:, None]", True)],
)
def test_roots_of_a_table_of_constants(value: str, found: bool) -> None:
    text = f"""
import jax, jax.numpy as jnp
ALPHA_BAR = jnp.cumprod(1 - BETA)
def loss_fn(params, x, t, eps):
    kept = {value}
    return jnp.mean((net.apply(params, jnp.sqrt(1 - kept) * eps) - eps) ** 2)
loss, grads = jax.value_and_grad(loss_fn)(params, x, t, eps)
"""
    assert (state("script-unsafe-math", text) == P) == found
