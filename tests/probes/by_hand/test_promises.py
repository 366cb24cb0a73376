"""Functions that are named after a metric: right in several hands, wrong, and not understood."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_hand.promises import broken_promises, kind_of
from traindoctor.probes.scripts.syntax import Script

RIGHT = """
import math
import numpy as np
import torch
import torch.nn.functional as F
from collections import Counter

def roc_auc(scores, labels):
    order = np.argsort(scores)
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    n_pos = labels.sum()
    n_neg = len(labels) - n_pos
    return (ranks[labels == 1].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)

def average_precision(ranked, relevant):
    hits, total = 0, 0.0
    for place, item in enumerate(ranked, 1):
        if item in relevant:
            hits += 1
            total += hits / place
    return total / len(relevant) if relevant else 0.0

def ndcg(ranked, target):
    for position, item in enumerate(ranked):
        if item == target:
            return math.log(2) / math.log(position + 2)
    return 0.0

def dice_score(pred, target, eps=1e-6):
    hard = (torch.sigmoid(pred) > 0.5).float()
    both = (hard * target).sum(dim=(1, 2, 3))
    total = hard.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return ((2 * both + eps) / (total + eps)).mean().item()

def iou_score(pred, target, num_classes):
    p = F.one_hot(pred.argmax(dim=1), num_classes).permute(0, 3, 1, 2).float()
    t = F.one_hot(target, num_classes).permute(0, 3, 1, 2).float()
    both = (p * t).sum(dim=(0, 2, 3))
    return (both / (p.sum(dim=(0, 2, 3)) + t.sum(dim=(0, 2, 3)) - both)).mean()

def box_iou(a, b):
    w = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    h = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    both = w * h
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)

def r2(y_true, y_pred):
    left = np.sum((y_true - y_pred) ** 2)
    return 1 - left / np.sum((y_true - y_true.mean()) ** 2)

def wer(ref, hyp):
    r, h = ref.split(), hyp.split()
    row = list(range(len(h) + 1))
    for i, a in enumerate(r, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(h, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1] / len(r)

def nms(boxes, scores, iou_thr=0.5):
    order = scores.argsort()[::-1]
    keep = []
    while order.size > 0:
        i, rest = order[0], order[1:]
        keep.append(i)
        low = np.maximum(boxes[i, :2], boxes[rest, :2])
        high = np.minimum(boxes[i, 2:], boxes[rest, 2:])
        both = np.clip(high - low, 0, None).prod(axis=1)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
        order = rest[both / (area[i] + area[rest] - both) <= iou_thr]
    return keep

def compute_ap(scores, hits, n_truth):
    hits = np.asarray(hits)[np.argsort(-np.asarray(scores))]
    recall = np.cumsum(hits) / max(n_truth, 1)
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(np.sum(np.diff(np.concatenate([[0.0], recall])) * precision))

def balanced_accuracy(y_true, y_score):
    pred = y_score >= 0.5
    high = (pred & (y_true == 1)).sum() / (y_true == 1).sum()
    low = (~pred & (y_true == 0)).sum() / (y_true == 0).sum()
    return (high + low) / 2

def scores_of(y_true, y_pred):
    tp = sum(1 for t, p in zip(y_true, y_pred) if t == 1 and p == 1)
    fp = sum(1 for t, p in zip(y_true, y_pred) if t == 0 and p == 1)
    fn = sum(1 for t, p in zip(y_true, y_pred) if t == 1 and p == 0)
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}
"""


def told(text: str) -> list[str]:
    return [why for _, why in broken_promises(Script("train.py", text, ast.parse(text)))]


def test_right_ways_are_left_alone() -> None:
    assert told(RIGHT) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (" - n_pos * (n_pos + 1) / 2", ""),
        ("total += hits / place", "total += hits"),
        ("math.log(position + 2)", "math.log(position + 3)"),
        ("2 * both + eps", "both + eps"),
        (" - both)).mean()", ")).mean()"),
        (" - both)\n", ")\n"),
        ("(y_true - y_true.mean())", "(y_pred - y_true.mean())"),
        ("row[-1] / len(r)", "row[-1] / len(ref)"),
        ("tp / (tp + fn)", "tp / (tp + fp + fn)"),
        ("<= iou_thr", ">= iou_thr"),
        ("[np.argsort(-np.asarray(scores))]", ""),
        ("(high + low) / 2", "high + low"),
    ],
)
def test_a_slip_is_told(right: str, wrong: str) -> None:
    assert right in RIGHT
    assert told(RIGHT.replace(right, wrong, 1))


CENTRES = """
import torch

def edges(b):
    return torch.cat([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], dim=1)

def iou(a, b):
    a, b = edges(a), edges(b)
    inter = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0).prod(dim=1)
    area = (a[:, 2:] - a[:, :2]).prod(dim=1) + (b[:, 2:] - b[:, :2]).prod(dim=1)
    return inter / (area - inter + 1e-7)
"""


@pytest.mark.parametrize(
    ("right", "wrong", "found"),
    [("", "", False), (" - inter +", " +", True), ("+ b[:, 2:] / 2", "+ b[:, 2:]", True)],
)
def test_halves_of_places_are_those_of_boxes(right: str, wrong: str, found: bool) -> None:
    """`a` and `b` say nothing of boxes, two of four places do; centres and sizes are boxes as well."""
    assert bool(told(CENTRES.replace(right, wrong, 1))) is found


def test_what_is_not_understood_is_left_alone() -> None:
    assert told("def accuracy(y_true, y_pred):\n    return helper(y_true) / 2\n") == []
    assert told("def accuracy(y_true, y_pred):\n    while True:\n        pass\n") == []
    assert told("def accuracy(tp, fp):\n    return tp - fp\n") == []


def test_names() -> None:
    assert kind_of("mean_average_precision") == "ap"
    assert kind_of("ndcg_at_k") == "ndcg"
    assert kind_of("dice_loss") == ""
    assert kind_of("best_accuracy") == ""
