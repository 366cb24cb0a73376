"""Script probes: a sound script is silent, and each error is found on its line."""

from __future__ import annotations

from functools import lru_cache

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading, RunInfo, State, Symptom
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run

SOUND = """\
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader
torch.manual_seed(0)

class Attention(nn.Module):
    def forward(self, x):
        return F.softmax(x @ x.transpose(1, 2), -1) @ x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Attention()
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(8, 10)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.02)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        h = self.drop(self.body(x))
        return self.head(h)

def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            model(x)

model = Net()
train_set.transform = transforms.Normalize((0.5,), (0.5,))
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=32)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
for epoch in range(20):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            out = model(x)
            loss = criterion(out, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    scheduler.step()
    evaluate(model, val_loader)
"""


@lru_cache(maxsize=1)
def script_symptoms() -> tuple[Symptom, ...]:
    return tuple(s for s in load_rules().symptoms.values() if s.area in ("script", "edits"))


def readings(text: str, benchmark: str | None = None) -> dict[str, Reading]:
    def run(source: str) -> Run:
        return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": source})

    view = View(run(text), run(benchmark) if benchmark is not None else None)
    return {s.id: read(view, s, all_probes()) for s in script_symptoms()}


def present(text: str, benchmark: str | None = None) -> set[str]:
    return {k for k, r in readings(text, benchmark).items() if r.state is State.PRESENT}


def changed(old: str, new: str) -> str:
    assert old in SOUND
    return SOUND.replace(old, new)


FREEZE = "model = Net()\nfor p in model.body.parameters():\n    p.requires_grad = False\n"
SAMPLER = "sampler = torch.utils.data.DistributedSampler(train_set)\nfor epoch"
ONE_SPLIT = "train_x = (train_x - mean) / std\nval_x = val_x\nfor epoch"
EARLY = "        optimizer.zero_grad()\n        scaler.step("
ALONE = 'torch.distributed.init_process_group("gloo")\nmodel = Net()'

ERRORS = [
    ("gradients-not-cleared", "        optimizer.zero_grad()\n", ""),
    ("gradients-cleared-too-early", "        scaler.step(", EARLY),
    ("double-softmax", "return self.head(h)", "return F.softmax(self.head(h), dim=-1)"),
    ("double-softmax", "out = model(x)", "out = torch.softmax(model(x), 1)"),
    ("loss-negated", "loss = criterion(out, y)", "loss = -criterion(out, y)"),
    ("loss-summed", "nn.CrossEntropyLoss()", 'nn.CrossEntropyLoss(reduction="sum")'),
    ("eval-mode-while-training", "    model.train()\n", ""),
    ("train-mode-while-evaluating", "    model.eval()\n", ""),
    ("freezes-parameters", "model = Net()\n", FREEZE),
    ("optimizer-gets-part", "model.parameters(), lr", "model.head.parameters(), lr"),
    ("layer-replaced-after-optimizer", "for epoch", "model.head = nn.Linear(8, 10)\nfor epoch"),
    ("gradient-path-cut", "self.drop(self.body(x))", "self.drop(self.body(x).detach())"),
    ("gradient-path-cut", "loss = criterion(out, y)", "loss = criterion(out.detach(), y)"),
    ("clip-before-unscale", "        scaler.unscale_(optimizer)\n", ""),
    ("scaler-not-updated", "        scaler.update()\n", ""),
    ("scheduler-wrong-loop", "    scheduler.step()\n", "        scheduler.step()\n"),
    ("zero-init", "nn.init.normal_(m.weight, std=0.02)", "nn.init.zeros_(m.weight)"),
    ("evaluates-training-data", "DataLoader(val_set", "DataLoader(train_set"),
    ("pure-bf16", "model = Net()", "model = Net()\nmodel.to(torch.bfloat16)"),
    ("set-epoch-missing", "for epoch", SAMPLER),
    ("no-gradient-synchronisation", "model = Net()", ALONE),
    ("batch-norm-momentum", "nn.Dropout(0.1)", "nn.BatchNorm1d(8, momentum=0.99)"),
    ("optimizer-maximises", "lr=0.1)", "lr=0.1, maximize=True)"),
    ("unsafe-division", "h = self.drop(self.body(x))", "h = self.body(x) / x.std(1, keepdim=True)"),
    (
        "deep-saturating",
        "self.drop = nn.Dropout(0.1)",
        "self.drop = nn.Sequential(*[nn.Sigmoid() for _ in range(9)])",
    ),
    (
        "deep-without-normalisation",
        "self.drop = nn.Dropout(0.1)",
        "self.drop = [nn.Linear(8, 8) for _ in range(30)]",
    ),
    ("bias-extreme", "nn.init.zeros_(m.bias)", "nn.init.constant_(m.bias, -12.0)"),
    ("sorts-training-data", ", shuffle=True)", ")\norder = y_train.argsort()"),
    (
        "same-shard",
        "for epoch",
        "sampler = DistributedSampler(train_set, rank=0)\nsampler.set_epoch(0)\nfor epoch",
    ),
    (
        "labels-processed-differently",
        "for epoch",
        "train_y, val_y = t(train_l), t((val_l + 1) % 6)\nfor epoch",
    ),
    ("optimizer-other-model", "SGD(model.parameters()", "SGD(Net().parameters()"),
    ("integer-division", "h = self.drop(self.body(x))", "h = self.drop(self.body(x // 4))"),
    ("labels-overwritten", "for epoch", "train_y[flip] = torch.randint(0, 6, (9,))\nfor epoch"),
    ("splits-processed-differently", "for epoch", ONE_SPLIT),
    ("labels-processed-differently", "for epoch", "val_y = (val_y + 1) % 6\ntrain_y = train_y\nfor epoch"),
    ("metric-wrong", "            model(x)\n", "            hits = model(x).argmax(0) == y\n"),
    ("metric-wrong", "            model(x)\n", "            _, pred = torch.max(model(x), dim=0)\n"),
    ("evaluates-stale-copy", "for epoch", "best = copy.deepcopy(model)\nbest(x)\nfor epoch"),
    ("drops-training-samples", "for epoch", "train_x = train_x[train_y < 4]\nfor epoch"),
    ("augmentation-extreme", "model = Net()", "model = Net()\nx = x * (torch.rand(4, 4) < 0.1)"),
    ("unsafe-math", "h = self.drop(self.body(x))", "h = torch.log(self.body(x))"),
    ("labels-permuted-alone", "for epoch", "train_x = train_x[torch.randperm(len(train_x))]\nfor epoch"),
    ("labels-permuted-alone", "for epoch", "labels = labels[torch.randperm(len(labels))]\nfor epoch"),
]


def test_a_sound_script_is_silent() -> None:
    """Nothing is found in a script that is right; what it shows reads absent, the rest unknown."""
    found = readings(SOUND)

    assert {k for k, r in found.items() if r.state is State.PRESENT} == set()
    assert found["script-gradients-not-cleared"].state is State.ABSENT
    assert found["script-accumulation-not-divided"].state is State.UNKNOWN
    assert not [r.why for r in found.values() if "error" in r.why]


@pytest.mark.parametrize(("symptom", "old", "new"), ERRORS, ids=lambda v: str(v)[:30])
def test_each_error_is_found(symptom: str, old: str, new: str) -> None:
    """One change makes its own symptom present, with file and line."""
    reading = readings(changed(old, new))["script-" + symptom]

    assert reading.state is State.PRESENT
    assert reading.where[0].file == "train.py"
    assert reading.where[0].line is not None


@pytest.mark.parametrize(
    ("line", "cleared"),
    [
        ("p.grad.mul_(torch.clamp(1.0 / norm, max=1.0))", False),
        ("p.grad *= scale", False),
        ("p.grad *= 0.5", False),
        ("p.grad *= 0", True),
        ("p.grad.mul_(0.0)", True),
        ("p.grad.zero_()", True),
    ],
)
def test_gradients_that_are_scaled_are_not_cleared(line: str, cleared: bool) -> None:
    """Clipping by hand multiplies the gradients between backward and step."""
    text = changed(
        "        scaler.step(",
        f"        for p in model.parameters():\n            {line}\n        scaler.step(",
    )

    assert ("script-gradients-cleared-too-early" in present(text)) is cleared


def test_a_straight_through_estimator_is_no_cut() -> None:
    """`x + (q - x).detach()` passes the gradient on."""
    text = changed("return self.head(h)", "return self.head(h + (h.round() - h).detach())")

    assert "script-gradient-path-cut" not in present(text)


def test_a_benchmark_script_shows_the_difference() -> None:
    """A statement that only one of two scripts has is a finding of its role; equal scripts have none."""
    differing = changed("        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n", "")

    assert "edit-clipping-left-out" in present(differing, SOUND)
    assert not {s for s in present(SOUND, SOUND) if "differs" in s or s.startswith("edit-")}


SHOULD_BE_SILENT = [
    ("for epoch", "train_data, val_data = data[:900], data[900:]\nfor epoch"),
    ("for epoch", "x_train, y_train = x[:9], y[:9]\nx_test, y_test = x[9:], y[9:]\nfor epoch"),
    ("for epoch", "p = torch.randperm(9)\nx, y = x[p], y[p]\nfor epoch"),
    ("for epoch", "train_x = (train_x - mean) / std\nval_x = (val_x - mean) / std\nfor epoch"),
    ("for epoch", "train_x = train_x + torch.rand_like(train_x)\nval_x = val_x\nfor epoch"),
    ("            model(x)\n", "            hits = model(x).argmax(1) == y\n"),
    ("h = self.drop(self.body(x))", "h = self.body(x) / (x.std(1, keepdim=True) + 1e-5)"),
    ("loss = criterion(out, y)", "loss = criterion(out, y) / 4"),
]


@pytest.mark.parametrize(("old", "new"), SHOULD_BE_SILENT)
def test_sound_variants_stay_silent(old: str, new: str) -> None:
    """What resembles an error and is none raises nothing."""
    assert present(changed(old, new)) == set()


def test_what_is_no_python_is_unknown() -> None:
    """A script that does not parse gives no reading."""
    assert {r.state for r in readings("for (int i = 0;;)").values()} == {State.UNKNOWN}


OTHER = """\
import torch, json
class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTM(4, 4)
    def forward(self, tokens):
        return self.cell(tokens)[0]
corpus = json.load(open("corpus.json"))
lstm = Lstm()
rate = 0.003
updates = torch.optim.AdamW(lstm.parameters(), lr=rate)
for number in range(100):
    piece = corpus[number % len(corpus)]
    tokens = torch.tensor(piece)
    guess = lstm(tokens[:-1])
    error = torch.nn.functional.mse_loss(guess, tokens[1:])
    updates.zero_grad()
    error.backward()
    updates.step()
    rate = rate * 0.99
    updates.param_groups[0]["lr"] = rate
    total = error.item()
    count = number + 1
"""


def test_another_program_is_named_and_not_picked_to_pieces() -> None:
    """Scripts with little in common are one finding; a version of one script is none; a port is open."""
    other, version = readings(SOUND, OTHER), readings(changed("lr=0.1", "lr=0.2"), SOUND)
    port = readings(SOUND, OTHER.replace("import torch, json", "import mindspore as torch, json"))

    assert other["script-other-program"].state is State.PRESENT
    assert {r.state for k, r in other.items() if k.endswith("-code-differs")} == {State.UNKNOWN}
    assert version["script-other-program"].state is State.ABSENT
    assert port["script-other-program"].state is State.UNKNOWN
    assert readings(SOUND)["script-other-program"].state is State.UNKNOWN


def test_a_residual_connection_left_out_is_no_other_activation() -> None:
    with_skip = SOUND.replace("h = self.drop(self.body(x))", "h = x + self.drop(F.gelu(self.body(x)))")
    without = SOUND.replace("h = self.drop(self.body(x))", "h = self.drop(F.gelu(self.body(x)))")
    found = readings(without, with_skip)
    assert found["edit-skip"].state is State.PRESENT
    assert "x + " in found["edit-skip"].why
    assert found["edit-activation"].state is State.ABSENT
    assert readings(with_skip, with_skip)["edit-skip"].state is State.ABSENT
    assert readings(without)["edit-skip"].state is State.UNKNOWN
    other = readings(without.replace("F.gelu", "torch.tanh"), without)
    assert other["edit-activation"].state is State.PRESENT
    assert other["edit-skip"].state is State.ABSENT


@pytest.mark.parametrize("ending", [".round()", ".argmax(-1)", ".sign()", ".long().float()"])
def test_an_output_without_slope(ending: str) -> None:
    found = readings(SOUND.replace("return self.head(h)", f"return self.head(h){ending}"))
    assert found["script-output-without-gradient"].state is State.PRESENT


def test_an_output_with_slope_and_a_metric_without() -> None:
    sound = readings(SOUND.replace("model(x)\n\nmodel", "model(x).argmax(-1)\n\nmodel"))
    assert sound["script-output-without-gradient"].state is State.ABSENT
    passes = SOUND.replace(
        "return self.head(h)", "y = self.head(h)\n        return y + (y.round() - y).detach()"
    )
    assert readings(passes)["script-output-without-gradient"].state is State.ABSENT
    nothing = readings("import torch\nprint(torch.__version__)\n")
    assert nothing["script-output-without-gradient"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("mu, sigma = x.mean(0), x.std(0)\nx = (x - mu) / sigma\n", State.PRESENT),
        ("x = (x - x.mean(axis=0)) / x.std(axis=0)\n", State.PRESENT),
        ("centred = x - x.mean(axis=0)\nx = centred / np.std(x, axis=0)\n", State.PRESENT),
        ("score = 1 - np.mean((guess - y) ** 2, axis=0) / y.var(axis=0)\n", State.UNKNOWN),
        ("error = np.square(y - guess).mean(0)\nprint(error / np.var(y, axis=0))\n", State.UNKNOWN),
        ("strength = x.mean(axis=0) / x.std(axis=0)\n", State.UNKNOWN),
        ("mu, sigma = x.mean(0), x.std(0)\nx = (x - mu) / (sigma + 1e-6)\n", State.ABSENT),
        ("s = x.std(0)\ns[s == 0] = 1\nx = x / s\ny = y / (y.std(0) + 1e-6)\n", State.ABSENT),
        ("x = x / 255\n", State.UNKNOWN),
    ],
)
def test_a_division_without_a_floor(code: str, state: State) -> None:
    assert readings("import torch\n" + code)["script-division-without-floor"].state is state


def test_a_scaler_that_is_switched_off_is_none() -> None:
    off = SOUND.replace('GradScaler("cuda")', 'GradScaler("cuda", enabled=False)')
    assert readings(off)["script-half-without-scaler"].state is State.PRESENT
    known = SOUND.replace('GradScaler("cuda")', 'GradScaler("cuda", enabled=use_amp)')
    assert readings(known)["script-half-without-scaler"].state is State.ABSENT


def test_an_autocast_that_is_switched_off_needs_no_scaler() -> None:
    off = SOUND.replace('GradScaler("cuda")', 'GradScaler("cuda", enabled=False)')
    whole = off.replace("dtype=torch.float16", "dtype=torch.float16, enabled=False")
    assert whole != off
    assert readings(whole)["script-half-without-scaler"].state is not State.PRESENT


def test_modes_and_losses_are_also_read_as_one() -> None:
    found = readings(SOUND)
    assert found["script-mode-wrong"].state is State.ABSENT
    assert found["script-loss-wrong"].state is State.ABSENT
    summed = readings(SOUND.replace("CrossEntropyLoss()", 'CrossEntropyLoss(reduction="sum")'))
    assert summed["script-loss-wrong"].state is State.PRESENT
    trained = readings(SOUND.replace("    model.train()\n", ""))
    assert trained["script-mode-wrong"].state is State.PRESENT
    nothing = readings("import torch\nprint(torch.__version__)\n")
    assert nothing["script-mode-wrong"].state is State.UNKNOWN
    assert nothing["script-loss-wrong"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("action", "wanted"), [("store_true", State.UNKNOWN), ("store_false", State.PRESENT)]
)
def test_half_precision_under_a_flag_that_is_off_is_none(action: str, wanted: State) -> None:
    code = f"""
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--half", action="{action}")
args = parser.parse_args()
if args.half:
    model.half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
    assert readings(code)["script-half-without-scaler"].state is wanted
