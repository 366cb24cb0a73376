# ruff: noqa: E501
"""State and weights that are loaded and lost again, averages that are kept wrongly, data parallel by hand."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = "import copy\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.bn = nn.BatchNorm1d(16)
        self.b = nn.Linear(16, 2)
    def forward(self, x):
        return self.b(torch.relu(self.bn(self.a(x))))

def start(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, std=0.02)

def fill(net):
    for m in net.modules():
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
"""
STEP = """
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
"""


@pytest.mark.parametrize(
    ("below", "found"),
    [
        ("net.apply(start)", True),
        ("fill(net)", True),
        (
            "for m in net.modules():\n        if isinstance(m, nn.Linear):\n            nn.init.normal_(m.weight, std=0.02)",
            True,
        ),
        ("nn.init.normal_(net.b.weight, std=0.02)", False),
        ("net.b.apply(start)", False),
        (
            "for name, p in net.named_parameters():\n        if name.startswith('b.'):\n            nn.init.normal_(p)",
            False,
        ),
        (
            "for m in net.modules():\n        if isinstance(m, nn.BatchNorm1d):\n            m.momentum = 0.01",
            False,
        ),
        ("if args.scratch:\n        net.apply(start)", False),
    ],
)
def test_weights_drawn_after_loading(below: str, found: bool) -> None:
    main = f"\ndef main(args, loader):\n    net = Net()\n    if args.pretrained:\n        net.load_state_dict(torch.load(args.pretrained))\n    {below}\n    opt = torch.optim.Adam(net.parameters())\n"
    assert (state("script-pretrained-lost", HEAD + NET + main + STEP) == "present") is found


def test_weights_drawn_before_loading_are_right() -> None:
    main = "\ndef main(args, loader):\n    net = Net()\n    net.apply(start)\n    fill(net)\n    net.load_state_dict(torch.load(args.pretrained))\n    opt = torch.optim.Adam(net.parameters())\n"
    assert state("script-pretrained-lost", HEAD + NET + main + STEP) != "present"


@pytest.mark.parametrize(
    ("line", "found"),
    [("Net().load_state_dict(torch.load('w.pt'))", True), ("net.load_state_dict(torch.load('w.pt'))", False)],
)
def test_weights_that_go_into_a_model_of_the_moment(line: str, found: bool) -> None:
    main = f"\ndef main(loader):\n    net = Net()\n    {line}\n    opt = torch.optim.Adam(net.parameters())\n"
    assert (state("script-pretrained-lost", HEAD + NET + main + STEP) == "present") is found


RESUMED = "\ndef main(args, loader):\n    net = Net()\n    opt = torch.optim.Adam(net.parameters())\n    ema = copy.deepcopy(net)\n    {above}\n    if args.resume:\n        s = torch.load(args.resume)\n        {load}\n        opt.load_state_dict(s['opt'])\n    {below}\n"
SAVED = "\n        torch.save({'model': net.state_dict(), 'ema': ema.state_dict(), 'opt': opt.state_dict()}, 'last.pt')\n"
BOTH = "net.load_state_dict(s['model']); ema.load_state_dict(s['ema'])"


@pytest.mark.parametrize(
    ("load", "below", "found"),
    [
        (BOTH, "opt = torch.optim.Adam(net.parameters())", True),
        (BOTH, "opt = wrap(opt)", False),
        (BOTH, "pass", False),
        ("ema.load_state_dict(s['model'])", "pass", True),
        ("net.load_state_dict(s['model']); ema.load_state_dict(s['model'])", "pass", False),
    ],
)
def test_states_made_anew_or_put_elsewhere(load: str, below: str, found: bool) -> None:
    code = HEAD + NET + RESUMED.format(above="pass", load=load, below=below) + STEP + SAVED
    assert (state("script-resume-incomplete", code) == "present") is found


QUEUE = """
class Contrast(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 4)
        {made}
    def forward(self, x):
        k = self.net(x)
        {write}
        return k @ self.queue.T

def main(args, loader):
    net = Contrast()
    opt = torch.optim.Adam(net.parameters())
    if args.resume:
        s = torch.load(args.resume)
        net.load_state_dict(s['model'])
        opt.load_state_dict(s['opt'])
"""


@pytest.mark.parametrize(
    ("made", "write", "found"),
    [
        ("self.queue = torch.randn(64, 4)", "self.queue[:len(k)] = k.detach()", True),
        ("self.register_buffer('queue', torch.randn(64, 4))", "self.queue[:len(k)] = k.detach()", False),
        ("self.queue = torch.randn(64, 4)", "pass", False),
        ("self.queue = nn.Parameter(torch.randn(64, 4))", "self.queue.data[:len(k)] = k.detach()", False),
    ],
)
def test_a_tensor_that_no_checkpoint_holds(made: str, write: str, found: bool) -> None:
    code = HEAD + QUEUE.format(made=made, write=write) + STEP
    code += "\n        torch.save({'model': net.state_dict(), 'opt': opt.state_dict()}, 'last.pt')\n"
    assert (state("script-resume-incomplete", code) == "present") is found


TAPE = """import tensorflow as tf
net = tf.keras.Sequential([tf.keras.layers.Dense(3)])
opt = tf.keras.optimizers.Adam(1e-3)
done = tf.Variable(0)
ckpt = tf.train.Checkpoint(net=net, opt=opt{more})
manager = tf.train.CheckpointManager(ckpt, 'out', 2)
ckpt.restore(manager.latest_checkpoint)
for epoch in range(int(done), 9):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = loss_fn(y, net(x))
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    done.assign_add(1)
    manager.save()
"""


@pytest.mark.parametrize(("more", "found"), [("", True), (", done=done", False)])
def test_a_counter_outside_of_the_checkpoint(more: str, found: bool) -> None:
    assert (state("script-resume-incomplete", TAPE.format(more=more)) == "present") is found


KERAS = """import glob, re
from tensorflow import keras
def last():
    files = {{int(re.search(r'm_(\\d+)', f).group(1)): f for f in glob.glob('m_*.keras')}}
    return max(files.items()) if files else (0, None)
def main(train):
    begun, file = last()
    if file:
        model = keras.models.load_model(file)
    else:
        model = keras.Sequential([keras.layers.Dense(3)])
        model.compile(optimizer='adam', loss='mse')
    {below}
    model.fit(train, epochs=9{more}, callbacks=[keras.callbacks.LearningRateScheduler(lambda e: 0.1 / (e + 1))])
main(data)
"""


@pytest.mark.parametrize(
    ("below", "more", "found"),
    [
        ("pass", ", initial_epoch=begun", False),
        ("pass", "", True),
        ("model.compile(optimizer='adam', loss='mse')", ", initial_epoch=begun", True),
        ("model = keras.Sequential([keras.layers.Dense(3)])", ", initial_epoch=begun", True),
    ],
)
def test_a_keras_model_that_goes_on(below: str, more: str, found: bool) -> None:
    assert (state("script-resume-incomplete", KERAS.format(below=below, more=more)) == "present") is found


ACCELERATE = """
from accelerate import Accelerator
class EMA:
    def __init__(self, params):
        self.shadow = [p.clone() for p in params]
    def step(self, params):
        for s, p in zip(self.shadow, params):
            s.mul_(0.99).add_(p, alpha=0.01)
    def state_dict(self):
        return {'shadow': self.shadow}
    def load_state_dict(self, state):
        self.shadow = state['shadow']

def main(net, opt, loader, args):
    accelerator = Accelerator()
    net, opt, loader = accelerator.prepare(net, opt, loader)
    ema = EMA(net.parameters())
    KNOWN
    if args.resume:
        accelerator.load_state(args.resume)
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            accelerator.backward(loss)
            opt.step(); opt.zero_grad()
            ema.step(net.parameters())
        accelerator.save_state('out')
"""


@pytest.mark.parametrize(
    ("known", "found"),
    [("pass", True), ("accelerator.register_for_checkpointing(ema)", False)],
)
def test_an_average_that_accelerate_does_not_know(known: str, found: bool) -> None:
    assert (
        state("script-resume-incomplete", HEAD + ACCELERATE.replace("KNOWN", known)) == "present"
    ) is found


AVERAGE = """
class Averaged:
    def __init__(self, net):
        self.net = copy.deepcopy(net){mode}
    def update(self, net):
        for a, b in zip(self.net.parameters(), net.parameters()):
            a.data.mul_(0.999).add_(b.data, alpha=0.001)
        {more}

def main(loader, valid):
    net = Net()
    ema = Averaged(net)
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            {call}
        with torch.no_grad():
            print(sum((ema.net(x).argmax(1) == y).sum() for x, y in valid))

main(a, b)
"""
COPIES = "for a, b in zip(self.net.buffers(), net.buffers()):\n            a.copy_(b)"


@pytest.mark.parametrize(
    ("mode", "more", "call", "found"),
    [
        (".eval()", COPIES, "ema.update(net)", False),
        (".eval()", "pass", "ema.update(net)", True),
        ("", "pass", "ema.update(net)", False),
    ],
)
def test_statistics_of_an_average(mode: str, more: str, call: str, found: bool) -> None:
    code = HEAD + NET + AVERAGE.format(mode=mode, more=more, call=call)
    assert (state("script-average-astray", code) == "present") is found
    plain = code.replace("nn.BatchNorm1d(16)", "nn.LayerNorm(16)")
    assert state("script-average-astray", plain) != "present"


TEACHER = """
class Pair(nn.Module):
    def __init__(self, m=0.99):
        super().__init__()
        self.fast, self.m = nn.Linear(8, 4), m
        self.slow = copy.deepcopy(self.fast)
    @torch.no_grad()
    def momentum_update(self):
        for p, q in zip(self.fast.parameters(), self.slow.parameters()):
            q.data = q.data * KEPT + p.data * NEW
    def forward(self, x):
        CALL
        return self.fast(x), self.slow(x)

def main(loader, cfg):
    net = Pair(cfg.m)
    opt = torch.optim.Adam(net.fast.parameters())
    for x in loader:
        a, b = net(x)
        loss = F.mse_loss(a, b.detach())
        opt.zero_grad(); loss.backward(); opt.step()

main(loader, cfg)
"""


@pytest.mark.parametrize(
    ("call", "kept", "new", "found"),
    [
        ("self.momentum_update()", "self.m", "(1 - self.m)", False),
        ("pass", "self.m", "(1 - self.m)", True),
        ("self.momentum_update()", "(1 - self.m)", "self.m", True),
    ],
)
def test_a_slow_copy_that_follows(call: str, kept: str, new: str, found: bool) -> None:
    code = HEAD + TEACHER.replace("CALL", call).replace("KEPT", kept).replace("NEW", new)
    assert (state("script-average-astray", code) == "present") is found


SHADOW = """
class Shadow:
    def __init__(self, net):
        self.net, self.kept = net, {}
    def apply_shadow(self):
        for n, p in self.net.named_parameters():
            self.kept[n] = p.data.clone()
            p.data.copy_(self.shadow[n])
    def restore(self):
        for n, p in self.net.named_parameters():
            p.data.copy_(self.kept[n])

def main(net, opt, loader):
    ema = Shadow(net)
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
        ema.apply_shadow()
        evaluate(net)
        BACK

main(a, b, c)
"""


@pytest.mark.parametrize(("back", "found"), [("ema.restore()", False), ("pass", True)])
def test_averaged_weights_that_stay_in_the_model(back: str, found: bool) -> None:
    assert (state("script-average-astray", HEAD + SHADOW.replace("BACK", back)) == "present") is found


BY_HAND = """
import numpy as np
import random
import torch.distributed as dist

def send(net):
    for t in net.SENT():
        dist.broadcast(t.data, src=0)

def work(rank, world, x, y):
    dist.init_process_group('gloo', rank=rank, world_size=world)
    SEED
    net = nn.Linear(8, 2)
    START
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        order = np.random.RandomState(DRAWN).permutation(len(x))
        for i in order[rank::world]:
            loss = F.cross_entropy(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            BEFORE
            opt.step()
            AFTER
"""
MEAN = "for p in net.parameters():\n                dist.all_reduce(p.grad)\n                p.grad /= world"
RIGHT = {
    "SENT": "parameters",
    "SEED": "torch.manual_seed(7 + rank)",
    "START": "send(net)",
    "DRAWN": "epoch",
    "BEFORE": MEAN,
    "AFTER": "pass",
}


@pytest.mark.parametrize(
    ("symptom", "change", "found"),
    [
        ("script-seed-by-rank", {}, False),
        ("script-seed-by-rank", {"SENT": "buffers"}, True),
        ("script-seed-by-rank", {"START": "pass"}, True),
        (
            "script-seed-by-rank",
            {"START": "pass", "SEED": "torch.manual_seed(7); random.seed(7 + rank)"},
            False,
        ),
        ("script-accumulation-wrong", {}, False),
        ("script-accumulation-wrong", {"BEFORE": MEAN.replace("p.grad /= world", "pass")}, True),
        (
            "script-accumulation-wrong",
            {
                "BEFORE": MEAN.replace("p.grad)", "p.grad, op=dist.ReduceOp.AVG)").replace(
                    "p.grad /= world", "pass"
                )
            },
            False,
        ),
        ("script-no-gradient-synchronisation", {}, False),
        ("script-no-gradient-synchronisation", {"BEFORE": "pass", "AFTER": MEAN}, True),
        ("script-same-shard", {}, False),
        ("script-same-shard", {"DRAWN": "epoch + 100 * rank"}, True),
    ],
)
def test_data_parallel_by_hand(symptom: str, change: dict[str, str], found: bool) -> None:
    code = HEAD + BY_HAND
    for word, text in {**RIGHT, **change}.items():
        code = code.replace(word, text)
    assert (state(symptom, code) == "present") is found


FILES = """
def save_checkpoint(state, is_best, path='last.pt'):
    torch.save(state, path)
    if is_best:
        torch.save(state, 'best.pt')

def main(net, opt, loader, valid):
    best = 0.0
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
        score = evaluate(net, valid)
        is_best = score > best
        best = max(score, best)
        LINE
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("save_checkpoint({'model': net.state_dict()}, is_best)", False),
        ("torch.save(net.state_dict(), 'best.pt')", True),
    ],
)
def test_a_flag_is_no_file_of_the_best(line: str, found: bool) -> None:
    assert (state("script-best-chosen-wrongly", HEAD + FILES.replace("LINE", line)) == "present") is found


FUNCTIONAL = """from tensorflow import keras
from tensorflow.keras import layers
inp = keras.Input((8,))
x = layers.Dense(16, activation='relu', kernel_initializer=FIRST)(inp)
x = layers.Dense(4, kernel_initializer='zeros')(x)
out = layers.Activation('linear', dtype='float32')(x)
model = keras.Model(inp, out)
model.compile(optimizer='adam', loss='mse')
model.fit(a, b)
"""


@pytest.mark.parametrize(("first", "found"), [("'he_normal'", False), ("'zeros'", True)])
def test_zeros_in_the_last_layer_with_weights(first: str, found: bool) -> None:
    assert (state("script-zero-init", FUNCTIONAL.replace("FIRST", first)) == "present") is found


FLAT = """
def mean(net, world):
    grads = [p.grad for p in net.parameters()]
    flat = torch.cat([g.view(-1) for g in grads])
    dist.all_reduce(flat)
    DIVIDE
    at = 0
    for g in grads:
        g.copy_(flat[at:at + g.numel()].view_as(g))
        at += g.numel()
"""


@pytest.mark.parametrize(
    ("symptom", "divide", "before", "after", "found"),
    [
        ("script-accumulation-wrong", "flat /= world", "mean(net, world)", "pass", False),
        ("script-accumulation-wrong", "pass", "mean(net, world)", "pass", True),
        ("script-no-gradient-synchronisation", "flat /= world", "pass", "mean(net, world)", True),
    ],
)
def test_gradients_joined_in_one_tensor(
    symptom: str, divide: str, before: str, after: str, found: bool
) -> None:
    code = HEAD + FLAT.replace("DIVIDE", divide) + BY_HAND
    for word, text in {**RIGHT, "BEFORE": before, "AFTER": after}.items():
        code = code.replace(word, text)
    assert (state(symptom, code) == "present") is found


FOLLOWS = """
class Slow:
    def __init__(self, net, decay=0.995):
        self.decay, self.kept = decay, [p.detach().clone() for p in net.parameters()]
    def update(self, net):
        for s, p in zip(self.kept, net.parameters()):
            LINE

def main(net, opt, loader, cfg):
    slow = Slow(net, cfg.decay)
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            slow.update(net)
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("s.lerp_(p, 1 - self.decay)", False),
        ("s.lerp_(p, self.decay)", True),
        ("s.mul_(self.decay).add_(p.grad, alpha=1 - self.decay)", False),
    ],
)
def test_a_list_of_copies_that_follows(line: str, found: bool) -> None:
    assert (state("script-average-astray", HEAD + FOLLOWS.replace("LINE", line)) == "present") is found
