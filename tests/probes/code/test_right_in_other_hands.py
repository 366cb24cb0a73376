"""What right programs of vision, sound and series do in their own way, beside the slips that look like it."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

PLAIN = """
import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
MEAN = torch.tensor([0.4]).view(1, 1, 1, 1)
MORE
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    net.train()
    for x, y in loader:
        loss = F.cross_entropy(net(GIVEN), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
CHANGED = """
def color(x, s=0.4):
    b = 1 + s * (2 * torch.rand(x.size(0), 1, 1, 1, device=x.device) - 1)
    return (x * b).clamp(0, 1)
@torch.no_grad()
def view(x):
    return (color(x) - MEAN.to(x.device)) / 0.2
"""
CALLED = """
class Flip:
    @torch.no_grad()
    def __call__(self, x):
        flip = torch.rand(len(x)) < 0.5
        x[flip] = x[flip].flip(-1)
        return F.pad(x, (4, 4, 4, 4))[..., 4:-4, 4:-4]
view = Flip()
"""
SCORED = """
@torch.no_grad()
def score(x, y):
    return (net(x).argmax(1) == y).float().mean().item()
"""
ASKED_FOR = """
def run(model, x):
    return model(x)
@torch.no_grad()
def score(x, y):
    return (run(net, x).argmax(1) == y).float().mean().item()
"""


@pytest.mark.parametrize(
    ("more", "given", "found"),
    [(CHANGED, "view(x)", False), (CALLED, "view(x)", False), (SCORED, "x", True), (ASKED_FOR, "x", True)],
)
def test_data_that_are_changed_without_gradients_are_no_evaluation(
    more: str, given: str, found: bool
) -> None:
    text = PLAIN.replace("MORE", more).replace("GIVEN", given)
    assert (state("script-train-mode-while-evaluating", text) == "present") == found


SPIKES = """
import torch, torch.nn as nn, torch.nn.functional as F
class Fire(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u):
        ctx.save_for_backward(u)
        return (u > 0).to(u.dtype)
    @staticmethod
    def backward(ctx, g):
        (u,) = ctx.saved_tensors
        return g / (1 + 10 * u.abs()) ** 2
fire = Fire.apply
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.out = nn.Linear(8, 16), nn.Linear(16, 3)
        self.cell, self.block = nn.GRUCell(8, 16), nn.Linear(16, 16)
        self.fire = Fire.apply
    def forward(self, x):
        BODY
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
"""
SET_BACK = """u = s = x.new_zeros(len(x), 16)
total = 0
for t in range(x.shape[1]):
    u = 0.9 * u * (1 - s.detach()) + self.lin(x[:, t])
    s = fire(u - 1)
    total = total + s
return self.out(total)"""
TAKEN_OFF = """mem = torch.zeros(len(x), 16)
spikes = []
spk = torch.zeros_like(mem)
for step in range(10):
    reset = spk.detach()
    mem = 0.9 * mem + self.lin(x) - reset * 1.0
    spk = self.fire(mem - 1.0)
    spikes.append(spk)
return self.out(torch.stack(spikes).mean(0))"""
CELL = """h = x.new_zeros(len(x), 16)
for t in range(x.shape[1]):
    h = self.cell(x[:, t], h.detach())
return self.out(h)"""
BRANCH = """h = self.lin(x)
r = self.block(h)
return self.out(h + r.detach())"""


@pytest.mark.parametrize(
    ("body", "found"), [(SET_BACK, False), (TAKEN_OFF, False), (CELL, True), (BRANCH, True)]
)
def test_a_state_that_is_set_back_by_its_own_spikes(body: str, found: bool) -> None:
    text = SPIKES.replace("BODY", body.replace("\n", "\n        "))
    assert (state("script-gradient-path-cut", text) == "present") == found


NIGHTS = """
import torch
class Night(torch.utils.data.Dataset):
    def __init__(self, path, context, hop):
        self.path, self.context, self.hop = path, context, hop
def scale(x, mean, std):
    return (x - mean) / std
MADE
for x, y in train_n:
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (
            "nights = lambda names, hop: [Night(p, 20, hop) for s in names for p in subjects[s]]\n"
            'train_n = nights(train_s, cfg["hop"])\n'
            'val_n, test_n = nights(val_s, cfg["context"] // 2), nights([held], cfg["context"] // 2)',
            False,
        ),
        (
            "def nights(names, stride):\n"
            "    return [Night(p, 20, stride) for s in names for p in subjects[s]]\n"
            "train_n, val_n = nights(train_s, 5), nights(val_s, W // 2)",
            False,
        ),
        ("train_n, val_n = scale(train_s, m, s), scale(val_s, m, s * 2)", True),
    ],
)
def test_windows_of_held_out_data_start_further_apart(made: str, found: bool) -> None:
    text = NIGHTS.replace("MADE", made)
    assert (state("script-splits-processed-differently", text) == "present") == found


WINDOWS = """
import numpy as np, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
raw = np.load("series.npy")
class Windows(Dataset):
    def __init__(self, series, lo, hi, k):
        self.x, self.first, self.n, self.k = torch.from_numpy(series), lo, hi - lo - 24, k
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        a = self.first + i
        return self.x[a:a + 24] * self.k, self.x[a + 24]
n = len(raw)
cut, end = int(n * 0.7), int(n * 0.85)
train_loader = DataLoader(Windows(raw, 0, cut, 1.0), 64, shuffle=True)
val_loader = DataLoader(Windows(raw, cut, end, HELD), 64)
net = nn.Linear(24, 1)
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    with torch.no_grad():
        for x, y in val_loader:
            err = (net(x) - y).abs().mean()
"""


@pytest.mark.parametrize(("held", "found"), [("1.0", False), ("0.6", True)])
def test_where_a_part_begins_is_no_change_of_its_values(held: str, found: bool) -> None:
    assert (state("script-held-out-shifted", WINDOWS.replace("HELD", held)) == "present") == found


TILES = """
import numpy as np, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
array, labels = np.load("tiles.npy", mmap_mode="r"), np.load("places.npy")
class Tiles(Dataset):
    def __init__(self, array, labels):
        self.array, self.labels = array, labels
    def __len__(self):
        return len(self.labels)
    def __getitem__(self, i):
        return torch.from_numpy(np.array(self.array[i])).float() / 255, int(self.labels[i])
class Raw(Tiles):
    def __getitem__(self, i):
        return torch.from_numpy(np.array(self.array[i])).float(), int(self.labels[i])
rng = np.random.default_rng(0)
SPLIT
net = nn.Linear(24, 3)
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    for x, y in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    with torch.no_grad():
        for x, y in val:
            print("val acc", (net(x).argmax(1) == y).float().mean())
"""
BY_PLACES = """ids = rng.permutation(np.unique(labels))
cut1, cut2 = int(0.7 * len(ids)), int(0.85 * len(ids))
parts = [np.flatnonzero(np.isin(labels, part)) for part in np.split(ids, [cut1, cut2])]
sets = [Tiles(array[p], labels[p]) for p in parts]
train = DataLoader(sets[0], 64, shuffle=True)
val, test = (DataLoader(s, 256) for s in sets[1:])"""
AT_ONCE = """perm = rng.permutation(len(labels))
tr, va, te = (Tiles(array[p], labels[p]) for p in np.split(perm, [700, 850]))
train, val = DataLoader(tr, 64, shuffle=True), DataLoader(va, 64)"""
WHOLE = """perm = rng.permutation(len(labels))
a, b, c = np.split(perm, [700, 850])
train = DataLoader(Tiles(array, labels), 64, shuffle=True)
val = DataLoader(Tiles(array[b], labels[b]), 64)"""
UNSCALED = """train = DataLoader(Tiles(np.load("a.npy"), np.load("b.npy")), 64, shuffle=True)
val = DataLoader(Raw(np.load("c.npy"), np.load("d.npy")), 64)"""


@pytest.mark.parametrize(
    ("split", "seen", "apart"),
    [(BY_PLACES, False, False), (AT_ONCE, False, False), (WHOLE, True, False), (UNSCALED, False, True)],
)
def test_parts_that_are_cut_at_places_and_made_in_one_list(split: str, seen: bool, apart: bool) -> None:
    text = TILES.replace("SPLIT", split)
    assert (state("script-training-sees-evaluation", text) == "present") == seen
    assert (state("script-splits-processed-differently", text) == "present") == apart


SCALED = """
import numpy as np, torch
from torch import nn
rng = np.random.default_rng(0)
y = rng.integers(2, size=500)
MADE
X = torch.from_numpy(((x - x.mean()) / x.std()).astype(np.float32))
Y = torch.from_numpy(y)
net = nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    for i in torch.randperm(len(X)).split(32):
        opt.zero_grad()
        nn.functional.cross_entropy(net(X[i]), Y[i]).backward()
        opt.step()
"""
SPECTRA = """out = []
for c in y:
    out.append(np.exp(-np.arange(32) / (c + 1)) + 0.1 * rng.random(32))
x = np.stack(out)"""
WAVES = "x = np.array([np.sin(np.arange(32) * (c + 1)) + rng.normal(0, 1, 32) for c in y])"
COLUMNS = "a, b = rng.normal(0, 1, 500) + y, rng.normal(400, 100, 500) - y\nx = np.stack([a, b, a * b], 1)"
ROWS = """rows = []
for c in y:
    rows.append([rng.normal(0, 1) + c, rng.normal(400, 100) - c, rng.random()])
x = np.array(rows)"""


@pytest.mark.parametrize(("made", "found"), [(SPECTRA, False), (WAVES, False), (COLUMNS, True), (ROWS, True)])
def test_samples_that_are_stacked_are_no_columns_of_a_table(made: str, found: bool) -> None:
    assert (state("script-one-scale", SCALED.replace("MADE", made)) == "present") == found


LINEAR = """
import numpy as np, pandas as pd, soundfile as sf, torch
from torch import nn
import torch.nn.functional as F
MADE
net = nn.Linear(24, 3)
opt = torch.optim.Adam(net.parameters())
for x, y in train:
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("def prepare(r):\n    return 2 * (r - lo) / np.maximum(hi - lo, 1e-9) - 1", False),
        ('wave, rate = sf.read("a.wav")', False),
        ('x = np.load("a.npy")\nx /= 32768.0', False),
        ('x = np.load("a.npy") / 2 ** 15', False),
        ("x[i] = rng.random((40, 3)) < rate", False),
        ('x = np.load("a.npy")', True),
        ('x = np.load("a.npy") - 3', True),
    ],
)
def test_what_is_scaled_by_figures_of_its_kind(made: str, found: bool) -> None:
    assert (state("script-no-normalisation", LINEAR.replace("MADE", made)) == "present") == found


TABLE = 'frame = pd.read_csv("rows.csv")'


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (TABLE, True),
        ("def read_csv(path):\n    return np.loadtxt(path)\nrows = read_csv(name)", False),
        (
            f"{TABLE}\nclass D:\n    def __getitem__(self, i):\n        return cv2.imread(frame.name[i])",
            False,
        ),
    ],
)
def test_tables_of_names_and_own_readers(made: str, found: bool) -> None:
    assert (state("script-table-unguarded", LINEAR.replace("MADE", made)) == "present") == found


FOCAL = """
import torch
class N(torch.nn.Module):
    def forward(self, x):
        return x
def focal_loss(z, y):
    LINE
    return -(torch.log(p) * y + torch.log(1 - p) * (1 - y)).mean()
net = N()
opt = torch.optim.Adam(net.parameters())
for x, y in train:
    opt.zero_grad()
    focal_loss(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("p = torch.sigmoid(z).clamp(1e-4, 1 - 1e-4)", False),
        ("p = torch.clamp(z.sigmoid(), min=1e-6, max=1 - 1e-6)", False),
        ("p = torch.sigmoid(z)", True),
        ("p = z.softmax(1)[:, 1]", True),
    ],
)
def test_a_floor_that_is_put_in_further_up(line: str, found: bool) -> None:
    assert (state("script-unsafe-math", FOCAL.replace("LINE", line)) == "present") == found


RATIO = """
import torch
net = torch.nn.Conv1d(1, 1, 9, padding=4)
opt = torch.optim.Adam(net.parameters())
def si_sdr(est, ref):
    t = (est * ref).sum(-1, keepdim=True) * ref / ref.pow(2).sum(-1, keepdim=True)
    return SIGN10 * torch.log10(t.pow(2).sum(-1) / ((est - t).pow(2).sum(-1) + 1e-8))
for x, y in loader:
    est = net(x)
    loss = LOSS
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("loss", "sign", "found"),
    [
        ("-si_sdr(est, y).mean()", "", False),
        ("20 - si_sdr(est, y).mean()", "", False),
        ("si_sdr(est, y).mean()", "-", False),
        ("si_sdr(est, y).mean()", "", True),
        ("torch.mean(si_sdr(est, y))", "", True),
    ],
)
def test_a_ratio_of_signal_to_noise_that_is_made_small(loss: str, sign: str, found: bool) -> None:
    text = RATIO.replace("LOSS", loss).replace("SIGN", sign)
    assert (state("script-loss-negated", text) == "present") == found


SLICES = """
import random
import numpy as np, torch
from torch.utils.data import Dataset
class Slices(Dataset):
    def __init__(self, files, augment):
        self.files, self.augment = files, augment
    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            img, msk = z["image"], z["mask"]
        if self.augment:
            if random.random() < 0.5:
                img, msk = img[:, ::-1], msk[:, ::-1]
            k = random.randrange(4)
            TURN
        return torch.from_numpy(img.copy())[None], torch.from_numpy(msk.copy())[None]
"""


@pytest.mark.parametrize(
    ("turn", "found"),
    [
        ("img, msk = np.rot90(img, k), np.rot90(msk, k)", False),
        ("img = np.rot90(img, k)\n            msk = np.rot90(msk, k)", False),
        ("img = np.rot90(img, k)", True),
    ],
)
def test_one_of_two_steps_moves_the_picture_alone(turn: str, found: bool) -> None:
    assert (state("script-sample-torn-apart", SLICES.replace("TURN", turn)) == "present") == found


HALVES = """
import torch
net = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.cuda.amp.GradScaler()
def run(loader, optimizer=None, scaler=None):
    training = optimizer is not None
    net.train(training)
    for x, y in loader:
        with torch.set_grad_enabled(training), torch.cuda.amp.autocast():
            loss = torch.nn.functional.cross_entropy(net(x), y)
        if training:
            optimizer.zero_grad()
            STEP
for e in range(3):
    run(train_loader, opt, scaler)
    run(val_loader)
"""
WITH_SCALE = "scaler.scale(loss).backward()\n            scaler.step(optimizer)\n            scaler.update()"
PLAINLY = "loss.backward()\n            optimizer.step()"
EITHER_WAY = """if scaler is not None:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()"""


@pytest.mark.parametrize(("step", "found"), [(WITH_SCALE, False), (EITHER_WAY, False), (PLAINLY, True)])
def test_a_scaler_that_one_function_for_both_leaves_aside(step: str, found: bool) -> None:
    assert (state("script-loss-scale-missing", HALVES.replace("STEP", step)) == "present") == found


LAYERS = """
import configparser
import torch
from torch import nn
conf = configparser.ConfigParser()
conf.read("rul.ini")
class Net(nn.Module):
    def __init__(self, layers, dropout):
        super().__init__()
        self.gru, self.fc = nn.GRU(4, 16, layers, batch_first=True, dropout=dropout), nn.Linear(16, 1)
    def forward(self, x):
        return self.fc(self.gru(x)[0][:, -1])
net = Net(conf["net"].getint("layers"), conf["net"].getfloat("dropout"))
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    BACK
    for x, y in train:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for x, y in val:
            err = (net(x) - y).abs().mean()
"""


@pytest.mark.parametrize(("back", "found"), [("net.train()", False), ("pass", True)])
def test_a_recurrent_layer_may_drop_by_its_settings(back: str, found: bool) -> None:
    assert (state("script-eval-mode-while-training", LAYERS.replace("BACK", back)) == "present") == found


FIGURES = """
import numpy as np, torch
net = torch.nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters())
LINES
for x, y in loader:
    opt.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            "rows = np.concatenate(runs)\nlow = rows.min(0)\nready = [r - low for r in runs + test_runs]",
            False,
        ),
        ("rows = np.concatenate([train_a, train_b])\nm = rows.mean(0)\ntrain_a = train_a - m", False),
        ("rows = np.concatenate(runs + test_runs)\nlow = rows.min(0)\nready = [r - low for r in runs]", True),
        ("both = np.concatenate([train_x, test_x])\nm = both.mean(0)\ntrain_x = train_x - m", True),
    ],
)
def test_figures_of_parts_that_are_joined(lines: str, found: bool) -> None:
    assert (state("script-learns-from-held-out", FIGURES.replace("LINES", lines)) == "present") == found


PSEUDO = """
import torch, torch.nn.functional as F
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.f = torch.nn.Linear(8, 3)
    def forward(self, x):
        return self.f(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for (x, y), (uw, us) in zip(lab, unlab):
    zx, zw, zs = net(torch.cat([x, uw, us])).split(64)
    LINES
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            "prob, guess = (zw.detach() / 0.5).softmax(-1).max(-1)\n"
            "mask = prob.ge(0.95).float()\n"
            'loss = F.cross_entropy(zx, y) + (F.cross_entropy(zs, guess, reduction="none") * mask).mean()',
            False,
        ),
        ("q = zw.detach().softmax(-1)\nloss = F.cross_entropy(zx, y) + F.cross_entropy(zs, q)", False),
        ("z = zx.detach()\nloss = F.cross_entropy(z, y)", True),
        ("p = zx.detach().softmax(-1)\nloss = -(torch.log(p) * F.one_hot(y, 3)).mean()", True),
    ],
)
def test_guesses_of_the_model_that_a_loss_aims_at(lines: str, found: bool) -> None:
    text = PSEUDO.replace("LINES", lines.replace("\n", "\n    "))
    assert (state("script-gradient-path-cut", text) == "present") == found


@pytest.mark.parametrize(
    ("loads", "found"),
    [('np.load(f"{self.root}/{self.ids[i]}.npy")', False), ("self.rows[i]", True)],
)
def test_a_table_of_names_of_arrays(loads: str, found: bool) -> None:
    made = f"{TABLE}\nclass D:\n    def __getitem__(self, i):\n        return {loads}"
    assert (state("script-table-unguarded", LINEAR.replace("MADE", made)) == "present") == found


SERIES = """
import numpy as np, torch
from sklearn.preprocessing import StandardScaler
raw = np.load("series.npy")
n = len(raw)
cut = int(n * 0.7)
LINES
train, val = Windows(z, 0, cut), Windows(z, cut, n)
net = torch.nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters())
for x, y in torch.utils.data.DataLoader(train, 32, shuffle=True):
    opt.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("mu, sd = raw[:cut].mean(0), raw[:cut].std(0)\nz = (raw - mu) / sd", False),
        ("z = StandardScaler().fit(raw[:cut]).transform(raw)", False),
        ("mu = raw.mean(1)\nz = raw - mu[:, None]", False),
        ("mu, sd = raw.mean(0), raw.std(0)\nz = (raw - mu) / sd", True),
        ("scaler = StandardScaler().fit(raw)\nz = scaler.transform(raw)", True),
    ],
)
def test_figures_of_a_series_that_is_cut_by_a_share(lines: str, found: bool) -> None:
    assert (state("script-learns-from-held-out", SERIES.replace("LINES", lines)) == "present") == found


SPECTRUM = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(64, 5)
    def spec_augment(self, m):
        start = torch.randint(0, 50, (len(m), 1))
        return m.masked_fill(torch.arange(64) >= start, 0.0)
    def forward(self, m):
        CALL
        return self.net(m)
net = Net()
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    net.train()
    for x, y in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for x, y in val:
            print("val acc", (net(x).argmax(1) == y).float().mean())
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("if self.training:\n            m = self.spec_augment(m)", False),
        ("m = self.spec_augment(m) if self.training else m", False),
        ("m = self.spec_augment(m)", True),
    ],
)
def test_a_method_that_augments_in_every_mode(call: str, found: bool) -> None:
    assert (state("script-evaluation-augmented", SPECTRUM.replace("CALL", call)) == "present") == found


OWN_STEP = """
class Lars(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                d = p.grad.add(p, alpha=1e-4)
                q = p.norm() / d.norm().clamp(min=1e-8)
                p.add_(d.mul(q), alpha=-g["lr"])
"""


def test_a_step_of_ones_own_optimizer_is_no_evaluation() -> None:
    text = PLAIN.replace("MORE", OWN_STEP).replace("GIVEN", "x")
    assert state("script-train-mode-while-evaluating", text) != "present"


GATHERED = """
import torch
net = torch.nn.Linear(8, 2)
opt = torch.optim.Adam(net.parameters())
rows = torch.utils.data.TensorDataset(torch.randn(640, 8), torch.randn(640))
loader = torch.utils.data.DataLoader(rows, 16, shuffle=True)
for epoch in range(9):
    for i, (x, y) in enumerate(loader):
        mu, log_var = net(x).unbind(1)
        loss = LOSS
        (loss / SHARE).backward()
        if (i + 1) % 4 == 0:
            opt.step()
            opt.zero_grad()
"""
LIKELIHOOD = "0.5 * (log_var + (mu - y) ** 2 * torch.exp(-log_var)).mean()"


@pytest.mark.parametrize(
    ("loss", "share", "found"),
    [
        (LIKELIHOOD, "4", False),
        ("torch.nn.functional.mse_loss(mu, y)", "4", False),
        ("torch.nn.functional.mse_loss(mu, y)", "16", True),
    ],
)
def test_half_of_a_square_is_no_share_of_gathered_batches(loss: str, share: str, found: bool) -> None:
    text = GATHERED.replace("LOSS", loss).replace("SHARE", share)
    assert (state("script-accumulation-wrong", text) == "present") == found


ROOTS = """
import torch
net = torch.nn.Conv2d(3, 1, 3)
def evaluate(net, loader):
    net.eval()
    n = rmse = 0.0
    with torch.no_grad():
        for x, y in loader:
            pred = net(x)
            BODY
    return rmse / n
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (
            "for p, t in zip(pred, y):\n"
            "                rmse += ((p - t) ** 2).mean().sqrt().item()\n"
            "                n += 1",
            False,
        ),
        ("rmse += ((pred - y) ** 2).mean().sqrt().item()\n            n += 1", True),
    ],
)
def test_roots_of_each_sample_are_averaged(body: str, found: bool) -> None:
    assert (state("script-metric-wrong", ROOTS.replace("BODY", body)) == "present") == found


TILED = """
import torch
def sliding(net, image):
    score, count = torch.zeros(2, *image.shape[1:]), torch.zeros(image.shape[1:])
    for s in places:
        FILL
        count[s] += 1
    return (score / count).argmax(0)
net = torch.nn.Conv3d(1, 2, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize("part", ["(slice(None), *s)", ":, s[0], s[1]"])
def test_a_map_that_is_filled_by_parts_has_its_classes_first(part: str) -> None:
    text = TILED.replace("FILL", f"score[{part}] += net(image[{part}])[0]")
    assert state("script-metric-wrong", text) != "present"


def test_what_is_divided_by_the_largest_is_scaled() -> None:
    made = 'x = np.load("a.npy")\nscale = np.abs(x).max()\nx = x / scale'
    assert state("script-no-normalisation", LINEAR.replace("MADE", made)) != "present"


def test_the_largest_of_an_array_is_no_number_of_rows() -> None:
    text = SERIES.replace("LINES", "side = max(raw - 1) * 2\nz = raw[: int(side)] / side")
    assert state("script-splits-processed-differently", text) != "present"  # it raises where a probe errs


@pytest.mark.parametrize(("chosen", "found"), [("z[valid]", False), ("z", True)])
def test_a_logarithm_of_what_a_mask_chooses(chosen: str, found: bool) -> None:
    text = (
        FOCAL.replace("LINE", "p = z.exp()")
        .replace("torch.log(1 - p)", "p")
        .replace("torch.log(p)", f"torch.log({chosen})")
    )
    assert (state("script-unsafe-math", text) == "present") == found


MARGIN = """
import torch
import torch.nn.functional as F
from torch import nn
class Head(nn.Module):
    def __init__(self, dim, n):
        super().__init__()
        self.w = nn.Parameter(torch.randn(n, dim))
    def forward(self, f, y):
        cos = F.linear(F.normalize(f), F.normalize(self.w))
        WAY
        return 20 * (cos - 0.3 * F.one_hot(y, cos.shape[1]))
rows = torch.utils.data.TensorDataset(torch.randn(640, 8), torch.randint(0, 5, (640,)))
head = Head(8, 5)
opt = torch.optim.Adam(head.parameters())
for epoch in range(9):
    head.train()
    for x, y in torch.utils.data.DataLoader(rows, 32, shuffle=True):
        opt.zero_grad()
        F.cross_entropy(head(x, y), y).backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("way", "found"),
    [("if not self.training:\n            return 20 * cos", False), ("return 20 * cos", True)],
)
def test_labels_that_a_margin_wants_in_training_alone(way: str, found: bool) -> None:
    assert (state("script-wiring-wrong", MARGIN.replace("WAY", way)) == "present") == found


COMMAND = """
import torch, typer
app = typer.Typer()
net_of = lambda: torch.nn.Linear(3, 2)
DECORATED
def main(seed: int = 0):
    torch.manual_seed(seed)
    net = torch.nn.Linear(3, 2)
    opt = torch.optim.Adam(net.parameters())
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
if __name__ == "__main__":
    app()
"""


@pytest.mark.parametrize(("decorated", "found"), [("@app.command()", False), ("", True)])
def test_a_command_that_seeds_is_run(decorated: str, found: bool) -> None:
    assert (state("script-nothing-seeded", COMMAND.replace("DECORATED", decorated)) == "present") == found


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("share = np.nanmean(np.diag(cm) / np.where(cm.sum(1) == 0, np.nan, cm.sum(1)))", False),
        ("x = rows - np.nanmean(rows, axis=0)", True),
    ],
)
def test_missing_values_that_are_made_where_they_are_passed_over(made: str, found: bool) -> None:
    assert (state("script-statistics-skip-missing", LINEAR.replace("MADE", made)) == "present") == found


LOADERS = """
import torch
from torch.utils.data import DataLoader
train = DataLoader(train_set, batch, shuffle=True, drop_last=True)
LINE
for x, y in train:
    opt.zero_grad()
    crit(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('val, test = DataLoader(val_set, batch), DataLoader(Parts(root / "test"), batch)', False),
        ("train_x, val_x = (train_x - m) / s, val_x / 255", True),
    ],
)
def test_loaders_are_made_and_no_data_changed(line: str, found: bool) -> None:
    assert (state("script-splits-processed-differently", LOADERS.replace("LINE", line)) == "present") == found


def test_norms_of_the_batch_at_hand_know_no_mode() -> None:
    text = PLAIN.replace("MORE", SCORED).replace("GIVEN", "x")
    assert state("script-train-mode-while-evaluating", text) == "present"
    still = text.replace("nn.BatchNorm2d(8)", "nn.BatchNorm2d(8, track_running_stats=False)")
    assert state("script-train-mode-while-evaluating", still) != "present"


SHARES = """
import torch as t
class Net(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.f = t.nn.Linear(8, 3)
    def forward(self, x):
        return self.f(x)
def error(pred, y):
    LINES
t.manual_seed(3)
net = Net()
opt = t.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    loss = error(net(x), y)
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("d = pred.abs() + y.abs()\n    return ((pred - y).abs() / d.detach()).mean()", False),
        ("return ((pred - y).abs() / (pred.abs() + y.abs()).detach()).mean()", False),
        ("return (pred.detach() - y).abs().mean()", True),
    ],
)
def test_shares_of_a_size_that_is_taken_as_it_stands(lines: str, found: bool) -> None:
    text = SHARES.replace("LINES", lines)
    assert (state("script-gradient-path-cut", text) == "present") == found
    assert state("script-nothing-seeded", text) != "present"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("(t.norm((pred - y).flatten(1), 2, 1) / t.norm(y.flatten(1), 2, 1)).sum()", False),
        ("((pred - y) ** 2).sum()", True),
    ],
)
def test_a_sum_of_errors_in_shares_of_each_sample(line: str, found: bool) -> None:
    text = SHARES.replace("LINES", f"return {line}").replace("import torch as t", "import torch\nt = torch")
    assert (state("script-loss-summed", text) == "present") == found


WINDOWED = """
import numpy as np, torch
from torch import nn
groups = dict(np.load("sales.npz"))
full = [s for s in groups.values() if len(s) > 200]
PARTS
net = nn.Linear(24, 1)
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    net.train()
    opt.zero_grad()
    nn.functional.mse_loss(net(torch.stack([torch.from_numpy(s[:24]) for s in mine])), y).backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        print("val mse", nn.functional.mse_loss(net(torch.stack([torch.tensor(s[-24:]) for s in held])), z))
"""


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ("mine = [s[:-56] for s in full]\nheld = [s[:-28] for s in full]", False),
        ("rows = np.load('x.npy')\nmine, held = rows, rows[800:]", True),
    ],
)
def test_a_part_of_each_series_is_no_choice_of_series(parts: str, found: bool) -> None:
    assert (state("script-training-sees-evaluation", WINDOWED.replace("PARTS", parts)) == "present") == found
