"""Slips of programs written blind: masks, shifts, pairs, schedules, layers, shapes, processes."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

GPT = """
import torch, torch.nn as nn, torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(65, 32)
        self.out = nn.Linear(32, 65)
    def forward(self, ids, targets=None):
        att = torch.tril(torch.ones(8, 8))
        logits = self.out(self.emb(ids))
        return logits, F.cross_entropy(logits[:, :-1].reshape(-1, 65), targets[:, 1:].reshape(-1))
def get_batch(d):
    ix = torch.randint(len(d) - 9, (4,))
    x = torch.stack([d[i:i + 8] for i in ix])
    y = torch.stack([d[i + 1:i + 9] for i in ix])
    return x.cuda(), y.cuda()
net = Net()
opt = torch.optim.Adam(net.parameters())
for it in range(100):
    X, Y = get_batch(data)
    loss = net(X, Y)[1]
    opt.zero_grad(); loss.backward(); opt.step()
"""
QUEUE = """
import torch, torch.nn as nn, torch.nn.functional as F
class Pairs(nn.Module):
    def forward(self, a, b):
        q = F.normalize(self.encoder_q(a), dim=1)
        k = F.normalize(self.encoder_k(b), dim=1)
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        return logits, labels
"""
DDP = """
import torch, torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import ImageFolder
ds = ImageFolder("photos")
sampler = DistributedSampler(ds)
loader = DataLoader(ds, 32, shuffle=sampler is None, sampler=sampler)
model = DDP(make())
opt = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(3):
    for x, y in loader:
        opt.zero_grad(); nn.functional.cross_entropy(model(x), y).backward(); opt.step()
"""
LAYERS = """
import torch, torch.nn as nn
class Both(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.enc = nn.TransformerEncoderLayer(d, 4, batch_first=True)
        self.dec = nn.TransformerDecoderLayer(d, 4, batch_first=True)
    def forward(self, a, b):
        hide = torch.triu(torch.ones(9, 9, dtype=torch.bool), diagonal=1)
        return self.dec(b, self.enc(a), tgt_mask=hide)
"""
STACK = """
import torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"lin": nn.Linear(4, 8), "skip": nn.Linear(4, 8)})
        self.head = nn.Linear(8, 3)
    def forward(self, x):
        h = torch.relu(self.parts["lin"](x)) + self.parts["skip"](x)
        return torch.log_softmax(self.head(h), dim=1)
net = Net()
for x, y in rows:
    nn.functional.nll_loss(net(x), y).backward()
"""
QNET = """
import torch, torch.nn as nn
def learn(online, target, opt, s, a, r, n, d):
    q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
    best = target(n).max(1)[0]
    goal = r + 0.99 * best * (1 - d)
    loss = nn.functional.mse_loss(q, goal)
    opt.zero_grad(); loss.backward(); opt.step()
"""
BLOCK = """
import copy, torch, torch.nn as nn, torch.nn.functional as F
def head(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.ReLU(), nn.Linear(64, o))
class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.predictor = head(8, 16), head(16, 16)
    def project(self, x):
        return self.body(x)
    def forward(self, x):
        return self.predictor(self.project(x))
class Teacher:
    def __init__(self, student, momentum):
        self.momentum, self.net = momentum, copy.deepcopy(student)
    @torch.no_grad()
    def follow(self, student):
        m = self.momentum
        for slow, fast in zip(self.net.parameters(), student.parameters()):
            slow.data = m * slow.data + (1 - m) * fast.data
    @torch.no_grad()
    def __call__(self, x):
        return self.net.project(x)
def regression_loss(p, z):
    return 2 - 2 * (F.normalize(p, dim=-1) * F.normalize(z.detach(), dim=-1)).sum(dim=-1).mean()
def main(cfg):
    student = Student()
    teacher = Teacher(student, cfg["momentum"])
    opt = torch.optim.SGD(student.parameters(), 0.1)
    for a, b in rows:
        loss = regression_loss(student(a), teacher(b)) + regression_loss(student(b), teacher(a))
        opt.zero_grad(); loss.backward(); opt.step()
        teacher.follow(student)
main({"momentum": 0.99})
"""
SOFT = """
import torch, torch.nn as nn
def soft_update(target, online, tau):
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters()):
            t.mul_(1 - tau).add_(o, alpha=tau)
def main(memory, env):
    critic, critic_target = nn.Linear(4, 1), nn.Linear(4, 1)
    critic_target.load_state_dict(critic.state_dict())
    opt = torch.optim.Adam(critic.parameters())
    gamma = 0.99
    for step in range(1000):
        bs, ba, br, bn, bd = memory.draw(64)
        goal = br + gamma * (1 - bd) * critic_target(bn).squeeze(-1)
        loss = nn.functional.mse_loss(critic(bs).squeeze(-1), goal)
        opt.zero_grad(); loss.backward(); opt.step()
        soft_update(critic_target, critic, 0.005)
main(make_memory(), make_env())
"""
WARM = """
import torch
def rate(s):
    if s < 400:
        return {}
    return 1.0
opt = torch.optim.SGD(net.parameters(), 0.1)
sched = torch.optim.lr_scheduler.LambdaLR(opt, rate)
"""
RATE = (
    "import torch\nfrom torch.optim.lr_scheduler import LambdaLR\n"
    "opt = torch.optim.SGD(net.parameters(), 0.1)\ns = LambdaLR(opt, {})\n"
)
ENC = "nn.TransformerEncoderLayer(d, 4, batch_first=True)"
FIRST = "torch.zeros(logits.shape[0], dtype=torch.long)"
SWING = (
    "import math, torch\ndef adjust_lr(opt, epoch, epochs):\n    lr = 0.05 * (1 + math.cos({}))\n"
    "    for g in opt.param_groups:\n        g['lr'] = lr\n"
)


@pytest.mark.parametrize(
    ("symptom", "text", "old", "new", "wanted"),
    [
        ("script-method-slipped", GPT, "", "", P),
        ("script-method-slipped", GPT, "d[i + 1:i + 9]", "d[i:i + 8]", U),
        ("script-pairs-misjudged", QUEUE, "", "", A),
        ("script-pairs-misjudged", QUEUE, FIRST, "torch.arange(logits.shape[0])", P),
        ("script-pairs-misjudged", QUEUE, "F.normalize(self.encoder_q(a), dim=1)", "self.encoder_q(a)", P),
        ("script-pairs-misjudged", STACK, "", "", U),
        ("script-same-shard", DDP, "sampler = DistributedSampler(ds)", "sampler = None", P),
        ("script-same-shard", DDP, "shuffle=sampler is None, sampler=sampler", "shuffle=True", P),
        ("script-batch-first-missing", LAYERS, ENC, "nn.TransformerEncoderLayer(d, 4)", P),
        ("script-argument-inverted", LAYERS, "diagonal=1", "diagonal=0", P),
        ("script-layer-unused", STACK, "", "", A),
        ("script-layer-unused", STACK, ' + self.parts["skip"](x)', "", P),
        ("script-output-rectified", STACK, "self.head(h), dim", "torch.relu(self.head(h)), dim", P),
        ("script-gradient-path-cut", BLOCK, "", "", A),
        ("script-gradient-path-cut", BLOCK, "normalize(p, dim", "normalize(p.detach(), dim", P),
        ("script-layer-unused", BLOCK, "self.predictor(self.project(x))", "self.project(x)", P),
        ("script-average-astray", BLOCK, "m * slow.data + (1 - m)", "(1 - m) * slow.data + m", P),
        ("script-average-astray", SOFT, "", "", A),
        ("script-average-astray", SOFT, "        soft_update(critic_target, critic, 0.005)\n", "", P),
        ("script-loss-wrong", SOFT, " * (1 - bd)", "", P),
        ("script-average-astray", SOFT, "t.mul_(1 - tau)", "t.mul_(tau)", P),
        ("script-schedule-formula", WARM, "{}", "(s + 1) // 400", P),
        ("script-schedule-formula", WARM, "{}", "(s + 1) / 400", U),
        ("script-shapes-broadcast", QNET, "", "", U),
        ("script-shapes-broadcast", QNET, ".squeeze(1)", "", P),
        ("script-schedule-formula", RATE, "{}", "lambda s: min((s + 1) // warm, 1.0 - s / total)", P),
        ("script-schedule-formula", RATE, "{}", "lambda s: min((s + 1) / warm, 1.0 - s / total)", U),
        ("script-schedule-formula", SWING, "{}", "math.pi * epoch", P),
        ("script-schedule-formula", SWING, "{}", "math.pi * epoch / epochs", U),
    ],
)  # fmt: skip
def test_slips(symptom: str, text: str, old: str, new: str, wanted: str) -> None:
    edited = text.replace(old, new) if old else text
    assert edited != text or not old
    assert state(symptom, edited) == wanted


def test_a_shared_loader_divides() -> None:
    assert state("script-same-shard", DDP) != P
    by_rank = DDP.replace('ImageFolder("photos")', 'ImageFolder(f"photos/{rank}")')
    assert (
        state("script-same-shard", by_rank.replace("sampler = DistributedSampler(ds)", "sampler = None")) != P
    )


@pytest.mark.parametrize(("cut", "found"), [("8", True), ("2", False), ("WORLD", False)])
def test_parts_for_other_processes_than_are_started(cut: str, found: bool) -> None:
    """A sampler copied from a larger machine: most samples are never seen."""
    text = DDP.replace("DistributedSampler(ds)", f"DistributedSampler(ds, num_replicas={cut}, rank=rank)")
    group = "WORLD = 2\ntorch.distributed.init_process_group('gloo', rank=rank, world_size=WORLD)\nds ="
    assert (state("script-same-shard", text.replace("ds =", group, 1)) == P) is found


@pytest.mark.parametrize("helper", ["", "def prepare(images):\n    return images / 255\n"])
def test_a_helper_of_its_own_wraps_no_model(helper: str) -> None:
    """`prepare` is Accelerate's word for a wrapped model; a script may call its scaling so."""
    text = helper + DDP.replace("model = DDP(make())", "torch.manual_seed(3 + rank)\nmodel = make()")
    text = text.replace("ds =", "torch.distributed.init_process_group('gloo', rank=rank)\nds =", 1)
    if helper:
        text = text.replace("model(x)", "model(prepare(x))")
    assert state("script-seed-by-rank", text) == P


def test_turned_layers_are_right() -> None:
    turned = LAYERS.replace(
        "nn.TransformerEncoderLayer(d, 4, batch_first=True)", "nn.TransformerEncoderLayer(d, 4)"
    )
    turned = turned.replace("self.enc(a)", "self.enc(a.transpose(0, 1)).transpose(0, 1)")
    assert state("script-batch-first-missing", turned) != P


def test_a_teacher_of_its_own() -> None:
    helper = "import torch\n" + SOFT.split("def main")[0].replace("import torch, torch.nn as nn", "")
    program = """
import copy, torch
from part0 import soft_update
student = torch.nn.Linear(4, 2)
teacher = copy.deepcopy(student)
opt = torch.optim.SGD(student.parameters(), 0.1)
for x in rows:
    loss = (student(x) - teacher(x).detach()).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    soft_update(teacher, student, 0.01)
"""
    astray = "script-average-astray"
    assert state(astray, helper, program) != P
    assert state(astray, helper, program.replace("copy.deepcopy(student)", "student")) == P
    assert state(astray, helper, program.replace("    soft_update(teacher, student, 0.01)\n", "")) == P


FOLLOWED = """
import torch, torch.nn as nn
class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder_q, self.encoder_k = nn.Linear(8, 4), nn.Linear(8, 4)
        self.encoder_k.load_state_dict(self.encoder_q.state_dict())
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.requires_grad = False
    @torch.no_grad()
    def follow(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * 0.99 + q.data * 0.01
    def forward(self, a, b):
        self.follow()
        return self.encoder_q(a) @ self.encoder_k(b).T
net = Pairs()
opt = torch.optim.SGD(net.parameters(), 0.1)
for a, b, y in rows:
    nn.functional.cross_entropy(net(a, b), y).backward(); opt.step(); opt.zero_grad()
"""


def test_what_follows_is_frozen_on_purpose() -> None:
    assert state("script-freezes-parameters", FOLLOWED) != P
    stays = FOLLOWED.replace("k.data = k.data * 0.99 + q.data * 0.01", "pass")
    assert state("script-freezes-parameters", stays) == P
