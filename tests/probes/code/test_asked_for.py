"""What a script asks for and never gets: settings that nothing reads, masks, targets, evaluations."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

TRAINING = """
import argparse, torch
from torch import nn
{SETTINGS}
net = nn.Linear(4, 2)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3{OPT})
for x, y in loader:
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    {USE}
    opt.step()
"""
ARGS = """
p = argparse.ArgumentParser()
p.add_argument("--{NAME}", type=float, default={VALUE})
args = p.parse_args()
"""
FIELDS = """
class Config:
    {NAME}: float = {VALUE}
cfg = Config()
"""


def program(settings: str = "", use: str = "pass", opt: str = "") -> str:
    """A training with these settings, which reads them as `use` says."""
    return TRAINING.replace("{SETTINGS}", settings).replace("{USE}", use).replace("{OPT}", opt)


@pytest.mark.parametrize("form", [ARGS, FIELDS])
@pytest.mark.parametrize(
    ("symptom", "name", "value"),
    [
        ("script-clipping-unread", "max_grad_norm", "1.0"),
        ("script-warmup-unread", "warmup_steps", "500"),
        ("script-regularisation-unread", "weight_decay", "0.01"),
        ("script-schedule-unread", "min_lr", "1e-5"),
        ("script-accumulation-unread", "grad_accum", "4"),
        ("script-class-weights-unread", "pos_weight", "7.5"),
        ("script-pretrained-unread", "pretrained", "'base.pt'"),
    ],
)
def test_settings_that_nothing_reads(form: str, symptom: str, name: str, value: str) -> None:
    """Set and unread; set and read; switched off; handed on whole; not there."""
    holder = "args" if form is ARGS else "cfg"
    made = form.replace("{NAME}", name).replace("{VALUE}", value)
    assert state(symptom, program(made)) == P
    assert state(symptom, program(made, f"use({holder}.{name})")) == A
    assert state(symptom, program(form.replace("{NAME}", name).replace("{VALUE}", "None"))) == U
    assert state(symptom, program(made, f"elsewhere({holder})")) == U
    assert state(symptom, program(made, f"print(vars({holder}))")) == P
    assert state(symptom, program()) == U


def test_accumulation_of_one_batch_asks_for_nothing() -> None:
    """One batch an update is no accumulation, read or not."""
    made = FIELDS.replace("{NAME}", "grad_accum").replace("{VALUE}", "1")
    assert state("script-accumulation-unread", program(made)) == U


@pytest.mark.parametrize(
    ("betas", "wanted"),
    [
        (", betas=(0.999, 0.9)", P),
        (", betas=(0.95, 0.9)", P),
        (", betas=(0.9, 0.95)", A),
        (", betas=(0.5, 0.999)", A),
        (", betas=BETAS", U),
        ("", U),
    ],
)
def test_betas(betas: str, wanted: str) -> None:
    """Exchanged, as usual, not known."""
    assert state("script-betas-swapped", program(opt=betas)) == wanted


ATTENTION = """
import torch
from torch import nn
class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.qkv = nn.Linear(n, 3 * n)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)))
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        a = q @ k.transpose(-2, -1) / 8.0
        {MASK}
        return a.softmax(-1) @ v
"""


def test_a_mask_that_is_kept_and_not_read() -> None:
    """The buffer is there and nothing looks at it."""
    hidden = 'a = a.masked_fill(self.mask[: x.size(1), : x.size(1)] == 0, float("-inf"))'
    assert state("script-branch-lost", ATTENTION.replace("{MASK}", "")) == P
    assert state("script-branch-lost", ATTENTION.replace("{MASK}", hidden)) != P


def test_scores_masked_with_zero_before_their_softmax() -> None:
    """Zero is a score like others; minus infinity hides."""
    zero = "a = a.masked_fill(self.mask[: x.size(1), : x.size(1)] == 0, 0.0)"
    assert state("script-operator-wrong", ATTENTION.replace("{MASK}", zero)) == P
    hidden = zero.replace("0.0)", 'float("-inf"))')
    assert state("script-operator-wrong", ATTENTION.replace("{MASK}", hidden)) != P


WINDOWS = """
import torch
from torch import nn
emb, head = nn.Embedding(64, 16), nn.Linear(16, 64)
def get_batch(data, n):
    ix = torch.randint(len(data) - n - {FAR}, (8,))
    x = torch.stack([data[i : i + n] for i in ix])
    y = torch.stack([data[i + {FAR} : i + {FAR} + n] for i in ix])
    return x, y
x, y = get_batch(data, 32)
nn.functional.cross_entropy(head(emb(x)).flatten(0, 1), y.flatten()).backward()
"""


def test_targets_two_positions_on() -> None:
    """The next token is one position on."""
    assert state("script-sample-torn-apart", WINDOWS.replace("{FAR}", "2")) == P
    assert state("script-sample-torn-apart", WINDOWS.replace("{FAR}", "1")) != P
    series = WINDOWS.replace("{FAR}", "2").replace("cross_entropy", "mse_loss")
    assert state("script-sample-torn-apart", series) != P


VOCABULARY = """
import torch
from torch import nn
letters = sorted(set(text)){MORE}
index = {c: i for i, c in enumerate(letters)}
net = nn.Sequential(nn.Embedding(len(letters), 16), nn.Linear(16, len(letters)))
loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten(), ignore_index={LEFT})
loss.backward()
"""


def test_a_real_class_is_left_out_of_the_loss() -> None:
    """Class 0 is the first letter, unless a place is kept for padding."""
    plain = VOCABULARY.replace("{MORE}", "")
    assert state("script-label-padding-counts", plain.replace("{LEFT}", "0")) == P
    assert state("script-label-padding-counts", plain.replace("{LEFT}", "-100")) != P
    padded = VOCABULARY.replace("sorted(set(text)){MORE}", '["<pad>"] + sorted(set(text))')
    assert state("script-label-padding-counts", padded.replace("{LEFT}", "0")) != P


EVALUATION = """
import torch
@torch.no_grad()
def estimate(model, splits):
    out = {}
    model.eval()
    for name, data in splits.items():
        losses = torch.zeros(50)
        for k in range(50):
            x, y = get_batch({DATA})
            losses[k] = model(x, y).item()
        out[name] = losses.{FIGURE}().item()
    model.train()
    return out
"""


@pytest.mark.parametrize(
    ("data", "figure", "found"),
    [
        ("data", "mean", False),
        ('splits["train"]', "mean", True),
        ("splits[name]", "mean", False),
        ("data", "min", True),
    ],
)
def test_evaluations_of_several_sets(data: str, figure: str, found: bool) -> None:
    """Each set is scored, by the mean of its batches."""
    text = EVALUATION.replace("{DATA}", data).replace("{FIGURE}", figure)
    assert (state("script-metric-miscounts", text) == P) == found


SCALED = """
import torch
from torch import nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler()
for x, y in loader:
    opt.zero_grad()
    scaler.scale(nn.functional.cross_entropy(net(x), y)).backward()
    {STEP}
    scaler.update()
"""


def test_a_scaler_that_is_updated_is_no_step() -> None:
    """`scaler.update()` moves no weight."""
    assert state("script-step-missing", SCALED.replace("{STEP}", "")) == P
    assert state("script-step-missing", SCALED.replace("{STEP}", "scaler.step(opt)")) == A


def test_losses_of_several_sets_have_a_way() -> None:
    """`losses["val"] > best` keeps the worst model."""
    text = """
import torch
best = 1e9
for it in range(1000):
    train()
    losses = estimate(model)
    if losses["val"] {SIGN} best:
        best = losses["val"]
        torch.save(model.state_dict(), "best.pt")
"""
    assert state("script-best-chosen-wrongly", text.replace("{SIGN}", ">")) == P
    assert state("script-best-chosen-wrongly", text.replace("{SIGN}", "<")) == A


SEEDED = """
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset
class Shapes(Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.images = {IMAGES}
        self.labels = rng.randint(0, 4, n)
    def __len__(self):
        return len(self.labels)
    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), int(self.labels[i])
train, val = Shapes(4000, seed=1), Shapes(800, seed=1 + 1)
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(train, shuffle=True, batch_size=32):
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
net.eval()
with torch.no_grad():
    for x, y in DataLoader(val, batch_size=32):
        print((net(x).argmax(1) == y).float().mean())
"""


def test_another_seed_is_no_step_of_processing() -> None:
    """Labels that are drawn by a generator of another seed are coded alike."""
    text = SEEDED.replace("{IMAGES}", "(rng.rand(n, 64).astype('float32') - 0.5) / 0.5")
    assert state("script-labels-processed-differently", text) != P
    assert state("script-no-normalisation", text) == A
    assert state("script-no-normalisation", SEEDED.replace("{IMAGES}", "load(n)")) == P


def test_cuts_of_more_rows_than_the_stand_in_has() -> None:
    """`rows[:2000]` beside `rows[int(0.9 * len(rows)):]`: whether they meet depends on the data."""
    text = """
import numpy as np, torch
rows = np.load("rows.npy")
train, val = rows[:{FIRST}], rows[int(0.9 * len(rows)):]
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(100):
    opt.zero_grad()
    net(torch.tensor(train)).mean().backward()
    opt.step()
with torch.no_grad():
    print(net(torch.tensor(val)).mean())
"""
    assert state("script-training-sees-evaluation", text.replace("{FIRST}", "20000")) != P
    assert state("script-training-sees-evaluation", text.replace("{FIRST}", "int(0.95 * len(rows))")) == P


GROUPED = """
import torch
net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    (torch.nn.functional.cross_entropy(net(x), y) / 4).backward()
    if {TEST} == 0:
        opt.step()
        opt.zero_grad()
"""


def test_a_rest_that_is_taken_before_the_sum() -> None:
    """`i + 1 % 4` is `i + 1`."""
    assert state("script-accumulation-without-effect", GROUPED.replace("{TEST}", "i + 1 % 4")) == P
    assert state("script-accumulation-without-effect", GROUPED.replace("{TEST}", "(i + 1) % 4")) != P


STARTS = """
import torch
net, average = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
{START}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
    for p, q in zip(average.parameters(), net.parameters()):
        p.copy_(q)
"""
ZEROS = "for p in net.parameters():\n    torch.nn.init.constant_(p, 0.0)"


def test_weights_copied_while_training_are_no_start() -> None:
    """Copies in the loop neither set the start nor take it back."""
    assert state("initial-weights-by-hand", STARTS.replace("{START}", "")) != P
    assert (
        state("script-zero-init", f"def main():\n{_indented(STARTS.replace('{START}', ZEROS))}\nmain()") == P
    )


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


HANDED = """
import torch
from torch.utils.data import DataLoader, Dataset
class Shapes(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels
    def __len__(self):
        return len(self.labels)
    def __getitem__(self, i):
        x = torch.from_numpy(self.images[i])
        {CHANGE}
        return x, int(self.labels[{PLACE}])
net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(Shapes(images, labels), batch_size=8, shuffle=True):
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("change", "place", "symptom", "found"),
    [
        ("pass", "i", "script-sample-torn-apart", False),
        ("pass", "i - 1", "script-sample-torn-apart", True),
        ("pass", "i + 1", "script-sample-torn-apart", False),
        ("x = torch.rand_like(x)", "i", "script-inputs-overwritten", True),
        ("noise = torch.rand_like(x)", "i", "script-inputs-overwritten", False),
        ("x = x + 5.0 * torch.randn_like(x)", "i", "script-augmentation-extreme", True),
        ("x = x + 0.05 * torch.randn_like(x)", "i", "script-augmentation-extreme", False),
    ],
)
def test_samples_as_they_are_handed_out(change: str, place: str, symptom: str, found: bool) -> None:
    """Thrown away, drowned, with the label of another; or as they should be."""
    text = HANDED.replace("{CHANGE}", change).replace("{PLACE}", place)
    assert (state(symptom, text) == P) == found


PARTED = """
import torch
from torch.utils.data import DataLoader, Subset
full = Shapes(4000)
train_loader = DataLoader({TRAINED}, batch_size=8, shuffle=True)
val = Subset(full, range(800))
net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in train_loader:
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
with torch.no_grad():
    for x, y in DataLoader(val, batch_size=8):
        print((net(x).argmax(1) == y).float().mean())
"""


def test_a_part_of_what_is_trained_on() -> None:
    """The first 800 are held out, or they are in training as well."""
    assert state("script-training-sees-evaluation", PARTED.replace("{TRAINED}", "full")) == P
    rest = PARTED.replace("{TRAINED}", "Subset(full, range(800, 4000))")
    assert state("script-training-sees-evaluation", rest) != P
