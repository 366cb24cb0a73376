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
