# ruff: noqa: E501
"""Classes that count a metric, accuracies at several ranks, concordance indices: worked out on made answers."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
LOOP = """
def train(net, opt, loader, held):
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    meter = METER
    with torch.no_grad():
        for x, y in held:
            meter.ADD(net(x), y)
    print("val", meter.GET())
"""
TOP = """
class Top1:
    def __init__(self):
        self.hit = self.n = 0
    def add(self, out, gold):
        self.hit += HIT
        self.n += COUNT
    def value(self):
        return self.hit / max(self.n, 1)
"""


@pytest.mark.parametrize(
    ("hit", "count", "found"),
    [
        ("(out.argmax(1) == gold).sum().item()", "len(gold)", False),
        ("int(out.max(1).indices.eq(gold).sum())", "gold.numel()", False),
        ("(out.argmax(1) == gold).float().mean().item()", "1", False),
        ("(out.argmax(0) == gold).sum().item()", "len(gold)", True),
        ("(out.argmax(1) == gold).sum().item()", "1", True),
    ],
)
def test_hits_over_batches(hit: str, count: str, found: bool) -> None:
    text = TOP.replace("HIT", hit).replace("COUNT", count)
    loop = LOOP.replace("METER", "Top1()").replace("ADD", "add").replace("GET", "value")
    assert (state("script-metric-miscounts", HEAD + text + loop) == "present") is found


ERRORS = """
class MeanAbsoluteError(nn.Module):
    def __init__(self):
        super().__init__()
        self.total, self.count = 0.0, 0
    def update(self, preds, target):
        LINE
        self.count += target.numel()
    def compute(self):
        return RESULT
"""


@pytest.mark.parametrize(
    ("line", "result", "found"),
    [
        ("self.total += (preds - target).abs().sum().item()", "self.total / self.count", False),
        (
            "self.total += float(F.l1_loss(preds, target, reduction='sum'))",
            "self.total / max(self.count, 1)",
            False,
        ),
        ("self.total += (preds - target).sum().item()", "self.total / self.count", True),
        ("self.total = (preds - target).abs().sum().item()", "self.total / self.count", True),
    ],
)
def test_errors_over_batches(line: str, result: str, found: bool) -> None:
    text = ERRORS.replace("LINE", line).replace("RESULT", result)
    loop = LOOP.replace("METER", "MeanAbsoluteError()").replace("ADD", "update").replace("GET", "compute")
    loop = loop.replace("F.cross_entropy", "F.l1_loss")
    assert (state("script-metric-miscounts", HEAD + text + loop) == "present") is found


MACRO = """
class MacroF1:
    def __init__(self, cut=0.5):
        self.cut, self.p, self.g = cut, [], []
    def add(self, out, gold):
        self.p.append((out.sigmoid() > self.cut).cpu().numpy())
        self.g.append(gold.cpu().numpy() > 0)
    def value(self):
        p, g = np.concatenate(self.p), np.concatenate(self.g)
        tp, fp, fn = (p SIGN g).sum(0), (p & ~g).sum(0), (~p & g).sum(0)
        return float(np.mean(2 * tp / np.maximum(2 * tp + fp + fn, 1)))
"""


@pytest.mark.parametrize(("sign", "found"), [("&", False), ("|", True)])
def test_shares_put_together(sign: str, found: bool) -> None:
    loop = LOOP.replace("METER", "MacroF1()").replace("ADD", "add").replace("GET", "value")
    assert (state("script-metric-miscounts", HEAD + MACRO.replace("SIGN", sign) + loop) == "present") is found


RANKS = """
def accuracy(output, target, topk=(1,)):
    maxk = max(topk)
    BODY

def train(net, opt, loader, held):
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        for x, y in held:
            top1, top5 = accuracy(net(x), y, topk=(1, 5))
            print("val", top1, top5)
"""
USUAL = """_, pred = output.topk(maxk, 1, LARGEST, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    res = []
    for k in topk:
        res.append(correct[FIRST].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)))
    return res"""
SHORT = """pred = output.topk(maxk, 1).indices
    hits = pred.eq(target[:, None])
    return [hits[FIRST].any(1).float().mean() for k in topk]"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (USUAL.replace("LARGEST", "True").replace("FIRST", ":k"), False),
        (SHORT.replace("FIRST", ":, :k"), False),
        (USUAL.replace("LARGEST", "False").replace("FIRST", ":k"), True),
        (USUAL.replace("LARGEST", "True").replace("FIRST", "k - 1"), True),
        (SHORT.replace("FIRST", ":, k - 1 : k"), True),
    ],
)
def test_hits_among_the_first(body: str, found: bool) -> None:
    assert (state("script-metric-miscounts", HEAD + RANKS.replace("BODY", body)) == "present") is found


PAIRS = """
def c_index(risk, time, event):
    earlier = KNOWN
    higher = HIGHER
    return (higher * earlier).sum().item() / max(earlier.sum().item(), 1)

def train(net, opt, loader, x, t, e):
    for a, b, c in loader:
        loss = -((net(a) - torch.logcumsumexp(net(a), 0)) * c).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        print("val", c_index(net(x), t, e))
"""


@pytest.mark.parametrize(
    ("known", "higher", "found"),
    [
        (
            "(time[:, None] < time[None, :]) & (event[:, None] == 1)",
            "(risk[:, None] > risk[None, :]).float()",
            False,
        ),
        (
            "(time[:, None] < time[None, :]).float() * event[:, None]",
            "(risk[:, None] > risk[None, :]).float() + 0.5 * (risk[:, None] == risk[None, :]).float()",
            False,
        ),
        (
            "(time[:, None] < time[None, :]) & (event[:, None] == 1)",
            "(risk[:, None] < risk[None, :]).float()",
            True,
        ),
        ("time[:, None] < time[None, :]", "(risk[:, None] > risk[None, :]).float()", True),
        (
            "(time[:, None] < time[None, :]) & (event[None, :] == 1)",
            "(risk[:, None] > risk[None, :]).float()",
            True,
        ),
    ],
)
def test_pairs_whose_order_is_known(known: str, higher: str, found: bool) -> None:
    text = PAIRS.replace("KNOWN", known).replace("HIGHER", higher)
    assert (state("script-metric-miscounts", HEAD + text) == "present") is found


CLASSES = """
def NAMED(logits, gold, eps=0.1):
    logp = F.log_softmax(logits.float(), dim=-1)
    nll = SIGNlogp.gather(-1, gold.unsqueeze(-1)).squeeze(-1)
    uniform = -logp.mean(-1)
    keep = gold.KEEP(0)
    return ((1 - eps) * nll + eps * uniform)[keep].sum(), keep.sum()

def train(net, opt, loader):
    for x, y in loader:
        s, n = NAMED(net(x), y)
        opt.zero_grad(); (s / n).backward(); opt.step()
"""


@pytest.mark.parametrize("name", ["smooth_nll", "label_smoothing_loss", "token_cross_entropy"])
@pytest.mark.parametrize(
    ("sign", "keep", "found"), [("-", "ne", False), ("-", "gt", False), ("", "ne", True), ("-", "eq", True)]
)
def test_a_surer_right_answer_costs_less(name: str, sign: str, keep: str, found: bool) -> None:
    text = HEAD + CLASSES.replace("NAMED", name).replace("SIGN", sign).replace("KEEP", keep)
    assert (state("script-loss-wrong", text) == "present") is found


FOCAL = """
def focal(logits, onehot, alpha=0.25, gamma=2.0):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, onehot, reduction="none")
    pt = p * onehot + (1 - p) * (1 - onehot)
    weight = alpha * onehot + (1 - alpha) * (1 - onehot)
    return (weight * LEFT ** gamma * ce).END()

def train(net, opt, loader):
    for x, y in loader:
        loss = focal(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize("end", ["mean"])
@pytest.mark.parametrize(("left", "found"), [("(1 - pt)", False), ("(1.0 - pt)", False), ("pt", True)])
def test_a_focal_loss_leaves_the_sure_ones_out(left: str, end: str, found: bool) -> None:
    text = HEAD + FOCAL.replace("LEFT", left).replace("END", end)
    assert (state("script-loss-wrong", text) == "present") is found
