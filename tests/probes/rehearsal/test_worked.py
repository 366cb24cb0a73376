"""Figures worked out on made answers: of numbers, of yes and no, of classes with padding."""

from __future__ import annotations

import pytest

from ._program import told

REALS = (
    ("F.cross_entropy(net(x), y)", "F.mse_loss(net(x).squeeze(1), y)"),
    ("nn.Linear(width, 3)", "nn.Linear(width, 1)"),
    ("hits += (net(x).argmax(1) == y).sum()", "hits += (net(x).squeeze(1) - y).abs().sum()"),
    ("val acc", "val mae"),
    ("test acc", "test mae"),
    ("if acc > best", "if acc < best"),
)
YES = (
    ("F.cross_entropy(net(x), y)", "F.binary_cross_entropy_with_logits(net(x).squeeze(1), y)"),
    ("nn.Linear(width, 3)", "nn.Linear(width, 1)"),
    ("net(x).argmax(1) == y", "(net(x).squeeze(1) > 0).float() == y"),
)
OVERLAP = (
    ("    hits = count = 0\n", "    inter, union = torch.zeros(3), torch.zeros(3)\n"),
    (
        "        hits += (net(x).argmax(1) == y).sum().item()\n        count += len(y)\n",
        "        said = net(x).argmax(1)\n        for c in range(3):\n"
        "            inter[c] += ((said == c) & (y == c)).sum()\n"
        "            union[c] += ((said == c) | (y == c)).sum()\n",
    ),
    ("    return hits / count", "    return (inter / union.clamp(min=1)).mean().item()"),
    ("val acc", "val mIoU"),
    ("test acc", "test mIoU"),
    ("range(3)", "range(6)"),
    ("zeros(3)", "zeros(6)"),
)
SUM = "(net(x).squeeze(1) - y).abs().sum()"

RMSE = (
    *REALS,
    (SUM, "(net(x).squeeze(1) - y).pow(2).sum()"),
    ("return hits / count", "return math.sqrt(hits / count)"),
    ("import copy", "import copy, math"),
    ("val mae", "val rmse"),
    ("test mae", "test rmse"),
)


@pytest.mark.parametrize(
    "edits",
    [
        (*REALS, (SUM, "(net(x).squeeze(1) - y).sum().abs()")),
        (*REALS, (SUM, "(net(x).squeeze(1) - y).pow(2).sum()")),
        (*YES, ("squeeze(1) > 0)", "squeeze(1).abs() > 0.2)")),
        (*YES, ("count += len(y)", "count += 2 * len(y)")),
        (*REALS, ("count += len(y)", "count += 1")),
        (*OVERLAP, (".mean().item()", ".mean().item() / 2")),
        (*RMSE, ("count += len(y)", "count += 1")),
        (*OVERLAP, ("((said == c) | (y == c)).sum()", "(said == c).sum() + (y == c).sum()")),
        (*OVERLAP, ("((said == c) & (y == c)).sum()", "(said == y).sum()")),
    ],
)
def test_a_figure_that_is_another(edits: tuple[tuple[str, str], ...]) -> None:
    assert "worked-otherwise" in told(*edits)


@pytest.mark.parametrize(
    "edits",
    [
        REALS,
        YES,
        RMSE,
        OVERLAP,
        (*OVERLAP, (".mean().item()", "[:4].mean().item()")),
        (*OVERLAP, ("(inter / union.clamp(min=1)).mean().item()", "(inter.sum() / union.sum()).item()")),
        (*REALS, ("return hits / count", "return 37.5 * hits / count")),
        (*REALS, (SUM, "(net(x).squeeze(1).exp() - y.exp()).abs().sum()")),
        (*REALS, (SUM, "(net(x).squeeze(1).clamp(min=0) - y).abs().sum()")),
        (*YES, ("(net(x).squeeze(1) > 0)", "(torch.sigmoid(net(x).squeeze(1)) > 0.3)")),
        (
            ("net(x).argmax(1) == y)", "(net(x).argmax(1) == y) & (y != 0))"),
            ("count += len(y)", "count += (y != 0).sum().item()"),
        ),
    ],
)
def test_a_figure_in_another_unit_or_by_another_cut_is_right(edits: tuple[tuple[str, str], ...]) -> None:
    assert told(*edits) == set()


HITS = "        hits += (net(x).argmax(1) == y).sum().item()\n        count += len(y)\n"
BEGUN = "    hits = count = 0\n"
END = "    return hits / count"
EACH = """        for said, true in zip(net(x).argmax(1).tolist(), y.tolist()):
            if said == true:
                hits += 1
            count += 1
"""
COUNTED = (
    (HITS, "        cm += torch.bincount(y * 4 + net(x).argmax(1), minlength=16).reshape(4, 4)\n"),
    (BEGUN, "    cm = torch.zeros(4, 4)\n"),
)
LISTS = (
    ("import copy", "import copy\nfrom sklearn.metrics import accuracy_score"),
    (HITS, "        ys.extend(y.tolist())\n        ps.extend(net(x).argmax(1).tolist())\n"),
    (BEGUN, "    ys, ps = [], []\n"),
)


@pytest.mark.parametrize(
    "edits",
    [
        ((HITS, EACH.replace("hits += 1\n", "hits += 1\n                count += 1\n")),),
        (*COUNTED, (END, "    return (cm.diag() / cm.sum(0)).sum().item()")),
        (*LISTS, (END, "    return accuracy_score(ys[1:], ps[:-1])")),
    ],
    ids=["loop", "table", "lists"],
)
def test_counts_and_lists_that_are_another(
    edits: tuple[tuple[str, str], ...],
) -> None:
    assert "worked-otherwise" in told(*edits)


@pytest.mark.parametrize(
    "edits",
    [
        ((HITS, EACH),),
        (*COUNTED, (END, "    return cm.diag().sum().item() / cm.sum().item()")),
        (*COUNTED, (END, "    return (cm.diag() / cm.sum(1)).mean().item()")),
        (*LISTS, (END, "    return accuracy_score(ys, ps)")),
        (*LISTS, (END, "    return other_score(ys[1:], ps[:-1])")),
    ],
    ids=["loop", "table", "classes", "lists", "unknown"],
)
def test_counts_by_single_answers_tables_and_lists(edits: tuple[tuple[str, str], ...]) -> None:
    assert told(*edits) == set()


def test_two_classes_and_classes_that_are_not_counted() -> None:
    two = (
        (BEGUN, "    tp = fn = 0\n"),
        (
            HITS,
            "        p = net(x).argmax(1)\n        tp += ((p == 1) & (y == 1)).sum().item()\n        FN\n",
        ),
        (END, "    return tp / max(1, tp + fn)"),
        ("val acc", "val recall"),
        ("test acc", "test recall"),
    )
    assert not told(*two, ("FN", "fn += ((p == 0) & (y == 1)).sum().item()"))
    assert "worked-otherwise" in told(*two, ("FN", "fn += ((p == 1) & (y == 0)).sum().item() * 3"))
    classes = (
        (BEGUN, "    ps, ys = [], []\n"),
        (HITS, "        ps.append(net(x).argmax(1))\n        ys.append(y)\n"),
        (END, "    p, y = torch.cat(ps), torch.cat(ys)\n    return macro(p, y, len(names))"),
        ("def main", "def macro(p, y, n):\n    f = 0\n    for c in range(n):\n        a, b = p == c, y == c\n"
         "        f += 2 * (a & b).sum() / max(1, a.sum() + b.sum())\n    return f / n\n\ndef main"),
        ("val acc", "val f1"),
        ("test acc", "test f1"),
    )  # fmt: skip
    assert not told(*classes)
