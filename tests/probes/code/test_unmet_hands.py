# ruff: noqa: E501
"""Programs by hands that were never met: right ways of theirs that stay silent, and slips in their way."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = "import copy, math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.norm = nn.LayerNorm(8)
    def forward(self, x):
        for b in self.blocks:
            x = torch.relu(b(x))
        return self.norm(x)

"""
GROWING = """
@torch.no_grad()
def follow(slow, net, decay):
    for a, b in zip(slow.parameters(), net.parameters()):
        LINE

def main(net, loader):
    slow = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    n = 0
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            follow(slow, net, GIVEN)
            n += 1
"""


@pytest.mark.parametrize(
    ("line", "given", "found"),
    [
        ("a.lerp_(b, 1 - decay)", "min(0.999, (1 + n) / (10 + n))", False),
        ("a.mul_(decay).add_(b, alpha=1 - decay)", "min(0.999, (1 + n) / (10 + n))", False),
        ("a.lerp_(b, decay)", "1 - min(0.999, (1 + n) / (10 + n))", False),
        ("a.copy_(torch.lerp(b, a, decay))", "min(0.999, (1 + n) / (10 + n))", False),
        ("a.lerp_(b, decay)", "0.001", False),
        ("a.lerp_(b, decay)", "min(0.999, (1 + n) / (10 + n))", True),
        ("a.data.lerp_(b.data, decay)", "args.decay", True),
        ("a.lerp_(b, 1 - decay)", "0.1", True),
    ],
)
def test_shares_of_an_average_that_grow(line: str, given: str, found: bool) -> None:
    text = HEAD + GROWING.replace("LINE", line).replace("GIVEN", given)
    assert (state("script-average-astray", text) == "present") is found


HOOKS = """
class Runner:
    def __init__(self, net, opt, hooks):
        self.net, self.opt, self.hooks = net, opt, hooks
        self.epoch, self.best = 0, START
    def step(self, x, y):
        loss = F.cross_entropy(self.net(x), y)
        self.opt.zero_grad(); loss.backward(); self.opt.step()
        return loss.item()
    def fit(self, loader, held):
        for self.epoch in range(9):
            losses = [self.step(x, y) for x, y in loader]
            self.loss, self.score = sum(losses) / len(losses), figure(self.net, held)
            for hook in self.hooks:
                hook(self)

def keep(r):
    if r.score SIGN r.best:
        r.best = r.score
        torch.save(r.net.state_dict(), "best.pt")

if __name__ == "__main__":
    Runner(net, torch.optim.Adam(net.parameters(), lr=1e-3), [keep]).fit(loader, held)
"""


@pytest.mark.parametrize(
    ("start", "sign", "found"),
    [("float('inf')", "<", False), ("math.inf", "<", False), ("0.0", ">", False), ("-1.0", "<", True)],
)
def test_the_start_of_a_best_in_another_scope(start: str, sign: str, found: bool) -> None:
    text = HEAD + HOOKS.replace("START", start).replace("SIGN", sign)
    assert (state("script-best-chosen-wrongly", text) == "present") is found


BOXES = """
def iou_loss(pred, true):
    BODY
    return -torch.log(iou.clamp(min=1e-6)).mean()

def main(net, opt, loader):
    for x, y in loader:
        loss = iou_loss(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
"""
SIDES = """inter = (torch.min(pred[:, 0], true[:, 0]) + torch.min(pred[:, 2], true[:, 2])) * (torch.min(pred[:, 1], true[:, 1]) + torch.min(pred[:, 3], true[:, 3]))
    a, b = (pred[:, 0] + pred[:, 2]) * (pred[:, 1] + pred[:, 3]), (true[:, 0] + true[:, 2]) * (true[:, 1] + true[:, 3])
    iou = inter / (a + b - inter + 1e-7)"""
CORNERS = """size = (torch.min(pred[..., 2:], true[..., 2:]) - torch.max(pred[..., :2], true[..., :2])).clamp(min=0)
    inter = size.prod(-1)
    area = lambda z: (z[..., 2:] - z[..., :2]).clamp(min=0).prod(-1)
    iou = inter / (area(pred) + area(true) - inter + 1e-7)"""
MASKS = """p = torch.sigmoid(pred)
    inter = (p * true).sum()
    iou = 2 - (inter + 1) / ((p + true).sum() - inter + 1)"""


@pytest.mark.parametrize(("body", "found"), [(SIDES, False), (CORNERS, False), (MASKS, True)])
def test_an_overlap_of_boxes_is_none_of_masks(body: str, found: bool) -> None:
    assert (state("script-overlap-loss-wrong", HEAD + BOXES.replace("BODY", body)) == "present") is found


GROUPS = """
net = Net()
opt = torch.optim.Adam(GROUPS, lr=1e-3)
for epoch in range(9):
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        (
            "[{'params': net.blocks[0].parameters(), 'lr': 1e-4}, {'params': net.blocks[1:].parameters()}, {'params': net.norm.parameters()}]",
            False,
        ),
        (
            "[*net.blocks[:2].parameters(), *net.blocks[2:].parameters(), *net.norm.parameters()]",
            False,
        ),
        ("[{'params': net.blocks[0].parameters()}, {'params': net.blocks[1:].parameters()}]", True),
        ("net.blocks[1:].parameters()", True),
    ],
)
def test_items_of_a_list_of_layers_make_it_up(groups: str, found: bool) -> None:
    text = HEAD + NET + GROUPS.replace("GROUPS", groups)
    assert (state("script-optimizer-gets-part", text) == "present") is found


WALRUS = """
def main(net, opt, loader, held):
    best = -1.0
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
        if TEST > best:
            best = SET
            torch.save(net.state_dict(), "best.pt")
        print(epoch, score)
"""


@pytest.mark.parametrize(
    ("test", "set_", "found"),
    [
        ("(score := check(net, held))['acc']", "score['acc']", False),
        ("(score := check(net, held))", "score", False),
        ("(score := check(net, held)).acc", "score.acc", False),
        ("(score := check(net, held))['acc']", "score['loss']", True),
    ],
)
def test_a_figure_named_in_its_comparison(test: str, set_: str, found: bool) -> None:
    text = HEAD + WALRUS.replace("TEST", test).replace("SET", set_)
    assert (state("script-best-chosen-wrongly", text) == "present") is found


CLOSURE = """
def early(patience):
    best, bad, kept = -1.0, 0, None
    def seen(value, net):
        nonlocal best, bad, kept
        if value > best:
            best, bad = value, 0
            kept = {k: v.detach().clone() for k, v in net.state_dict().items()}
        else:
            bad += 1
        return bad >= patience
    return RETURNED

def main(net, opt, loader, held):
    seen, restore = early(5)
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
        if seen(accuracy(net, held), net):
            break
    restore(net)
"""


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("seen, lambda net: net.load_state_dict(kept)", False),
        ("seen, lambda net: None", True),
    ],
)
def test_weights_kept_in_a_function_around(returned: str, found: bool) -> None:
    text = HEAD + CLOSURE.replace("RETURNED", returned)
    assert (state("script-last-instead-of-best", text) == "present") is found


TEACHER = """
import torchvision.models as zoo

def validate(loader, model):
    EVAL
    hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            hits += (out.argmax(1) == y).sum().item(); n += len(y)
    return hits / n

def main(loader, held):
    teacher = zoo.resnet50()
    teacher.load_state_dict(torch.load("teacher.pth"))
    TEACH
    student = zoo.resnet18()
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for epoch in range(9):
        student.train()
        for x, y in loader:
            with torch.no_grad():
                soft = teacher(x).softmax(1)
            loss = F.kl_div(F.log_softmax(student(x), 1), soft, reduction="batchmean")
            opt.zero_grad(); loss.backward(); opt.step()
        print(epoch, "val", validate(held, student))
"""
STILL = "for p in teacher.parameters():\n        p.requires_grad_(False)"


@pytest.mark.parametrize(
    ("evaluates", "teaches", "found"),
    [
        ("model.eval()", f"teacher = teacher.cuda().eval()\n    {STILL}", False),
        ("model.eval()", "teacher.eval().requires_grad_(False)", False),
        ("model.train(False)", f"teacher.train(False)\n    {STILL}", False),
        ("model.eval()", f"ready(teacher)\n    {STILL}", False),
        ("pass", f"teacher = teacher.cuda().eval()\n    {STILL}", True),
        ("pass", "teacher.to('cuda').eval().requires_grad_(False)", True),
        ("model.eval()", f"teacher = teacher.cuda()\n    {STILL}", True),
        ("model.eval()", "teacher.requires_grad_(False)", True),
    ],
)
def test_the_mode_of_a_teacher_and_of_its_student(evaluates: str, teaches: str, found: bool) -> None:
    text = (
        HEAD
        + "def ready(net):\n    net.eval()\n"
        + TEACHER.replace("EVAL", evaluates).replace("TEACH", teaches)
    )
    assert (state("script-mode-wrong", text) == "present") is found


GRAPH = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 3)
    def forward(self, s, h):
        h = F.dropout(torch.relu(s @ self.a(h)), 0.5, training=self.training)
        return s @ self.b(h)

m = Net()
opt = torch.optim.Adam(m.parameters(), lr=0.01)

def acc(z, q):
    return (z[q].argmax(1) == y[q]).float().mean().item()

@torch.no_grad()
def test():
    EVAL
    z = m(s, x)
    return F.cross_entropy(z[va], y[va]).item(), acc(z, va)

for e in range(400):
    m.train()
    opt.zero_grad()
    loss = F.cross_entropy(m(s, x)[tr], y[tr])
    loss.backward()
    opt.step()
    print(e, test())
"""


@pytest.mark.parametrize(
    ("evaluates", "found"), [("m.eval()", False), ("m.train(False)", False), ("pass", True)]
)
def test_the_mode_where_all_is_asked_at_once(evaluates: str, found: bool) -> None:
    assert (state("script-mode-wrong", HEAD + GRAPH.replace("EVAL", evaluates)) == "present") is found


ZUSTAND = """
def haupt(netz, lader, pruefung, args):
    schritt = torch.optim.Adam(netz.parameters(), lr=1e-3)
    anfang, bestes = 0, 0.0
    if args.fortsetzen:
        stand = torch.load(args.fortsetzen)
        TAKEN
    for runde in range(anfang, args.runden):
        netz.train()
        for x, y in lader:
            v = F.cross_entropy(netz(x), y)
            schritt.zero_grad(); v.backward(); schritt.step()
        guete = messe(netz, pruefung)
        if guete > bestes:
            bestes = guete
        torch.save({"netz": netz.state_dict(), "schritt": schritt.state_dict(), "runde": runde,
                    "bestes": bestes, "args": vars(args)}, "stand.pt")
"""
NETZ, SCHRITT = 'netz.load_state_dict(stand["netz"])', 'schritt.load_state_dict(stand["schritt"])'
RUNDE, BESTES = 'anfang = stand["runde"] + 1', 'bestes = stand["bestes"]'


@pytest.mark.parametrize(
    ("taken", "found"),
    [
        ((NETZ, SCHRITT, RUNDE, BESTES), False),
        ((NETZ, SCHRITT, 'anfang, bestes = stand["runde"] + 1, stand.get("bestes", 0.0)'), False),
        ((NETZ,), False),
        ((NETZ, 'print("from", stand["runde"])'), False),
        ((NETZ, "take(stand)"), False),
        ((NETZ, RUNDE, BESTES), True),
        ((NETZ, SCHRITT, BESTES), True),
        ((NETZ, SCHRITT, RUNDE), True),
        ((SCHRITT, RUNDE, BESTES), True),
    ],
)
def test_parts_of_a_checkpoint_by_what_they_are(taken: tuple[str, ...], found: bool) -> None:
    text = HEAD + ZUSTAND.replace("TAKEN", "\n        ".join(taken))
    assert (state("script-resume-incomplete", text) == "present") is found


FABRIC = """
import lightning as L

def main(net, loader, path):
    fabric = L.Fabric()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    net, opt = fabric.setup(net, opt)
    held = {"net": net, OPT"n": 0}
    n = 0
    if path:
        fabric.load(path, held)
        BACK
    while n < 10000:
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); fabric.backward(loss); opt.step()
            n += 1
        held["n"] = n
        fabric.save("last.ckpt", held)
"""


@pytest.mark.parametrize(
    ("opt", "back", "found"),
    [
        ('"opt": opt, ', 'n = held["n"]', False),
        ('"opt": opt, ', 'n = held.pop("n")', False),
        ('"opt": opt, ', "pass", True),
        ("", 'n = held["n"]', True),
    ],
)
def test_a_state_that_is_filled_in_place(opt: str, back: str, found: bool) -> None:
    text = HEAD + FABRIC.replace("OPT", opt).replace("BACK", back)
    assert (state("script-resume-incomplete", text) == "present") is found


FEEDS = """
def OWN(pairs, size, rng):
    order = ORDER
    for a in range(0, len(order), size):
        u, i = pairs[order[a:a + size]].T
        j = rng.integers(0, 99, len(u))
        j[:1] = rng.integers(0, 99)
        yield u, i, j

def main(net, pairs, opt, rng):
    for epoch in range(9):
        for u, i, j in OWN(pairs, 64, rng):
            loss = F.softplus(net(u, j) - net(u, i)).mean()
            opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("own", "order", "found"),
    [
        ("batches", "rng.permutation(len(pairs))", False),
        ("batches", "np.argsort(rng.random(len(pairs)))", False),
        ("batches", "rng.integers(0, len(pairs), len(pairs))", False),
        ("batches", "np.arange(len(pairs))", True),
        ("shuffled", "np.arange(len(pairs))", True),
    ],
)
def test_an_order_that_is_counted_beside_drawn_numbers(own: str, order: str, found: bool) -> None:
    text = HEAD + "import numpy as np\n" + FEEDS.replace("OWN", own).replace("ORDER", order)
    assert (state("script-order-fixed", text) == "present") is found


PARTS = """
def parts(y, rng):
    p = rng.permutation(len(y))
    rest = rng.permutation(len(y))
    return p[:100], VALID, FINAL

tr, va, te = GIVEN
net = nn.Linear(8, 3)
opt = torch.optim.Adam(net.parameters())
for e in range(400):
    opt.zero_grad()
    loss = F.cross_entropy(net(x[tr]), y[tr])
    loss.backward()
    opt.step()
    net.eval()
    print(e, (net(x[va]).argmax(1) == y[va]).float().mean())
print("test", (net(x[te]).argmax(1) == y[te]).float().mean())
"""


@pytest.mark.parametrize(
    ("valid", "final", "found"),
    [
        ("rest[:300]", "rest[300:600]", False),
        ("rest[:-300]", "rest[-300:]", False),
        ("rest[:300]", "rest[:600]", True),
        ("rest[100:400]", "rest[200:600]", True),
    ],
)
@pytest.mark.parametrize(
    "given",
    ["parts(y, rng)", "(torch.from_numpy(q) for q in parts(y, rng))", "map(torch.from_numpy, parts(y, rng))"],
)
def test_parts_that_a_function_hands_back(given: str, valid: str, final: str, found: bool) -> None:
    text = HEAD + PARTS.replace("GIVEN", given).replace("VALID", valid).replace("FINAL", final)
    assert (state("script-training-sees-evaluation", text) == "present") is found


UNREAD = """
import argparse
import torchvision.models as zoo

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--teacher", required=True)
    ap.add_argument("--lr", type=float, default=0.1)
    args = ap.parse_args()
    teacher = zoo.resnet50()
    LOAD
    teacher.eval()
    student = zoo.resnet18()
    opt = torch.optim.SGD(student.parameters(), lr=args.lr)
    for x, y in loader:
        with torch.no_grad():
            soft = teacher(x).softmax(1)
        loss = F.kl_div(F.log_softmax(student(x), 1), soft, reduction="batchmean")
        opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("teacher.load_state_dict(torch.load(args.teacher))", False),
        ("restore(teacher, vars(args)['teacher'])", False),
        ("restore(teacher, **vars(args))", False),
        ("pass", True),
    ],
)
def test_weights_that_are_asked_for_and_never_read(load: str, found: bool) -> None:
    assert (state("script-pretrained-unread", HEAD + UNREAD.replace("LOAD", load)) == "present") is found


@pytest.mark.parametrize(
    ("start", "sign", "found"),
    [
        ("float('inf')", ">", True),
        ("-math.inf", "<", True),
        ("-math.inf", ">", False),
        ("math.inf", "<", False),
    ],
)
def test_a_start_that_nothing_beats(start: str, sign: str, found: bool) -> None:
    text = HEAD + HOOKS.replace("START", start).replace("SIGN", sign)
    assert (state("script-best-chosen-wrongly", text) == "present") is found


FINAL = """
def parts(rows):
    at = rows.groupby("u").cumcount(ascending=False)
    teach = rows[at >= 2]
    choose = rows[at == 1]
    last = rows[at == 0]
    return teach, choose, last

def main(rows, net, opt):
    a, b, c = parts(rows)
    for epoch in range(9):
        for x, y in batches(a):
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
        net.eval()
        print(epoch, score(net, EACH))
        net.train()
    net.eval()
    print("final", score(net, END))
"""


@pytest.mark.parametrize(
    ("each", "end", "found"), [("b", "c", False), ("b", "b", False), ("c", "c", True), ("c", "b", False)]
)
def test_the_part_that_is_left_to_choose_by(each: str, end: str, found: bool) -> None:
    text = HEAD + FINAL.replace("EACH", each).replace("END", end)
    assert (state("script-training-sees-evaluation", text) == "present") is found


HELPER = """
from torch.utils.data import DataLoader

def made(rows, size, mixed):
    return DataLoader(rows, size, shuffle=mixed, drop_last=mixed)

def main(a, b, net, opt):
    one, two = 1, 2
    teach = made(a, 32, GIVEN)
    check = made(b, 32, False)
    for epoch in range(9):
        for x, y in teach:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
        net.eval()
        print(sum((net(x).argmax(1) == y).sum().item() for x, y in check))
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [("True", False), ("mixed=True", False), ("False", True), ("mixed=False", True), ("flag", False)],
)
def test_a_helper_that_is_told_not_to_shuffle(given: str, found: bool) -> None:
    text = HEAD + HELPER.replace("GIVEN", given)
    assert (state("script-loader-keeps-order", text) == "present") is found


KL = """
def terms(out, x, mean, logvar):
    rec = F.binary_cross_entropy_with_logits(out, x, reduction="none").sum(-1)
    kl = SIGN0.5 * (1 + logvar - mean ** 2 - VAR).sum(-1)
    return rec.mean(), kl.mean()

def main(net, opt, loader):
    for x in loader:
        out, mean, logvar = net(x)
        rec, kl = terms(out, x, mean, logvar)
        loss = rec TO kl
        opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("sign", "var", "to", "found"),
    [
        ("-", "logvar.exp()", "+", False),
        ("", "logvar.exp()", "-", False),
        ("", "logvar.exp()", "+", True),
        ("-", "logvar.exp()", "-", True),
        ("-", "logvar ** 2", "+", True),
        ("-", "logvar.pow(2)", "+", True),
    ],
)
def test_a_divergence_that_is_reduced_where_it_is_given_back(
    sign: str, var: str, to: str, found: bool
) -> None:
    text = HEAD + KL.replace("SIGN", sign).replace("VAR", var).replace("TO", to)
    assert (state("script-loss-wrong", text) == "present") is found


IDLE = """
@torch.no_grad()
def follow(ema, net, decay):
    for a, b in zip(ema.parameters(), net.parameters()):
        a.lerp_(b, 1 - decay)

@torch.no_grad()
def held_out(model, loader):
    model.eval()
    return sum(F.mse_loss(model(x), y).item() for x, y in loader)

def main(net, loader, held):
    ema = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(9):
        net.train()
        for x, y in loader:
            loss = F.mse_loss(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            CALL
        print(epoch, held_out(ASKED, held))

if __name__ == "__main__":
    main(net, loader, held)
"""


@pytest.mark.parametrize(
    ("call", "asked", "found"),
    [
        ("follow(ema, net, 0.999)", "ema", False),
        ("pass", "net", False),
        ("pass", "ema", True),
    ],
)
def test_an_average_that_is_scored_and_never_made(call: str, asked: str, found: bool) -> None:
    text = HEAD + IDLE.replace("CALL", call).replace("ASKED", asked)
    assert (state("script-average-astray", text) == "present") is found


FLIP = """
import random
import numpy as np

class Boxes(torch.utils.data.Dataset):
    def __len__(self):
        return len(self.rows)
    def flip(self, image, boxes):
        w = image.shape[1]
        image = image[:, ::-1].copy()
        BOXES
        return image, boxes
    def __getitem__(self, i):
        image, boxes = self.rows[i]
        if random.random() < 0.5:
            image, boxes = self.flip(image, boxes)
        return torch.from_numpy(image), torch.from_numpy(boxes)

def main(net, opt, loader):
    for x, y in torch.utils.data.DataLoader(Boxes(), 8, shuffle=True):
        loss = F.l1_loss(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("boxes", "found"),
    [
        ("boxes[:, [0, 2]] = w - boxes[:, [2, 0]]", False),
        ("boxes = mirrored(boxes, w)", False),
        ("boxes = np.stack([w - boxes[:, 2], boxes[:, 1], w - boxes[:, 0], boxes[:, 3]], 1)", False),
        ("boxes = boxes.copy()", True),
        ("pass", True),
    ],
)
def test_places_that_a_helper_hands_back(boxes: str, found: bool) -> None:
    assert (state("script-places-left", HEAD + FLIP.replace("BOXES", boxes)) == "present") is found
