"""What metrics are by their definitions, with the variants that people publish, for the made cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .arrays import trapezoid
from .cases import CUT, MISSED, Array, Case

CHANCES = (0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
FAMILY = {
    **dict.fromkeys(
        ("rmse", "mae", "mse", "mape", "smape", "r2", "wape", "rmsle", "pearson", "psnr"), "reals"
    ),
    **dict.fromkeys(
        ("accuracy", "precision", "recall", "specificity", "f1", "iou", "dice", "mcc"), "decisions"
    ),
    **dict.fromkeys(("auc", "ap", "log loss", "brier"), "scores"),
    **dict.fromkeys(("ndcg", "dcg", "mrr", "hits", "recall at", "precision at", "f1 at", "ap at"), "ranks"),
    **dict.fromkeys(("edits", "wer"), "texts"),
    "box iou": "boxes",
    "ap of all": "found",
    "ap of curve": "curve",
    "nms": "kept",
    "balanced accuracy": "decisions",
}
Found = Iterator[float | Array]


def wanted(kind: str, case: Case, cuts: bool = False) -> Found:
    """All that a figure of this kind may be; arrays where it is told class by class.

    With `cuts` decisions may be taken at other scores than the middle.
    """
    if case.task == "reals":
        yield from _real(kind, case)
    elif case.task in ("one", "some"):
        yield from _ranked(kind, case)
    elif case.task == "words":
        yield from _edits(kind, case)
    elif case.task == "boxes":
        yield from _overlaps(case)
    elif case.task == "found":
        yield from average_precision(case.scores, case.right, int(case.right.sum()) + MISSED)
    elif case.task == "curve":
        yield from _areas(case.said, case.truth)
    elif case.task == "kept":
        yield from _kept(case)
    elif kind == "balanced accuracy":
        yield from _balanced(case, cuts)
    elif FAMILY[kind] == "scores":
        yield from _scored(kind, case)
    elif case.task == "kinds":
        yield from _of_kinds(kind, case)
    else:
        yield from _of_two(kind, case, cuts)


def _real(kind: str, case: Case) -> Found:
    make = _REALS[kind]
    said, truth = case.scores, case.right
    for a, b in ((said, truth), (said[:, 0], truth[:, 0]) if said.ndim > 1 else (said, truth)):
        yield from make(a.reshape(-1), b.reshape(-1))
    if said.ndim > 1:
        columns = said.reshape(len(said), -1).T, truth.reshape(len(said), -1).T
        each = np.array([next(make(a, b)) for a, b in zip(*columns, strict=True)])
        yield each
        yield float(each.mean())
        rows = np.array([next(make(a.reshape(-1), b.reshape(-1))) for a, b in zip(said, truth, strict=True)])
        yield rows
        yield float(rows.mean())


def _r2(a: Array, b: Array) -> Found:
    yield float(1 - ((a - b) ** 2).sum() / max(((b - b.mean()) ** 2).sum(), 1e-12))
    yield float(1 - (a - b).var() / max(b.var(), 1e-12))
    yield _pearson(a, b) ** 2
    yield float(
        1 - ((a - b) ** 2).sum() / max(((b - b.mean()) ** 2).sum() * len(b) / max(len(b) - 1, 1), 1e-12)
    )


def _pearson(a: Array, b: Array) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / max(np.sqrt((a**2).sum() * (b**2).sum()), 1e-12))


def _mse(a: Array, b: Array) -> float:
    return float(((a - b) ** 2).mean())


def _rmse(a: Array, b: Array) -> Found:
    root = _mse(a, b) ** 0.5
    yield root
    for by in (b.mean(), np.ptp(b), b.std()):
        yield root / max(float(by), 1e-12)


def _mae(a: Array, b: Array) -> Found:
    off = np.abs(a - b)
    yield float(off.mean())
    yield float(off.sum())
    yield float(np.median(off))


def _mape(a: Array, b: Array) -> Found:
    off = np.abs(a - b)
    for below in (b, b + 1, np.maximum(b, 1), a + b, (a + b) / 2, np.maximum(a, b)):
        yield float((off / np.maximum(below, 1e-9)).mean())
    yield float(np.median(off / np.maximum(b, 1e-9)))
    yield float(off.sum() / b.sum())


def _smape(a: Array, b: Array) -> Found:
    off = np.abs(a - b)
    below = np.maximum(np.abs(a) + np.abs(b), 1e-9)
    yield float((2 * off / below).mean())
    yield float((off / below).mean())
    yield float((off / (below + 1)).mean())
    yield float((2 * off / (below + 1)).mean())
    yield float(off.sum() / below.sum())
    yield float(2 * off.sum() / below.sum())


def _rmsle(a: Array, b: Array) -> Found:
    yield _mse(np.log1p(np.maximum(a, 0)), np.log1p(b)) ** 0.5
    yield _mse(np.log1p(np.maximum(a, 0)), np.log1p(b))
    yield _mse(np.log(np.maximum(a, 1e-9)), np.log(np.maximum(b, 1e-9))) ** 0.5


def _psnr(a: Array, b: Array) -> Found:
    mse = max(_mse(a, b), 1e-12)
    for peak in (1.0, 2.0, 255.0, float(b.max()), float(np.ptp(b))):
        yield 10 * float(np.log10(peak**2 / mse))
        yield 10 * float(np.log10(peak**2 / (mse * 255**2)))


_REALS: dict[str, Callable[[Array, Array], Found]] = {
    "rmse": _rmse,
    "mae": _mae,
    "mse": lambda a, b: iter((_mse(a, b), len(a) * _mse(a, b))),
    "mape": _mape,
    "smape": _smape,
    "r2": _r2,
    "wape": lambda a, b: iter((float(np.abs(a - b).sum() / b.sum()), float(np.abs((a - b).sum()) / b.sum()))),
    "rmsle": _rmsle,
    "pearson": lambda a, b: iter((_pearson(a, b),)),
    "psnr": _psnr,
}


# ------------------------------------------------------------------------------------- decisions


def share(kind: str, said: Array, truth: Array, smooth: float = 0.0) -> float:
    """A figure of one class against the rest; nothing of nothing is 0."""
    said, truth = said.astype(bool), truth.astype(bool)
    tp, fp = float((said & truth).sum()), float((said & ~truth).sum())
    fn, tn = float((~said & truth).sum()), float((~said & ~truth).sum())
    if kind == "mcc":
        below = ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) ** 0.5
        return float((tp * tn - fp * fn) / max(below, 1e-12))
    above, below = {
        "accuracy": (tp + tn, tp + tn + fp + fn),
        "precision": (tp, tp + fp),
        "recall": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "f1": (2 * tp, 2 * tp + fp + fn),
        "dice": (2 * tp, 2 * tp + fp + fn),
        "iou": (tp, tp + fp + fn),
    }[kind]
    return (above + smooth) / max(below + smooth, 1e-12)


def _of_two(kind: str, case: Case, cuts: bool) -> Found:
    for cut in (0.0,) if case.decided or not cuts else (0.0, *(float(np.log(c / (1 - c))) for c in CHANCES)):
        said, truth = case.scores > cut, case.right > 0
        for smooth in (0.0, 1.0):
            yield share(kind, said, truth, smooth)
            yield share(kind, ~said, ~truth, smooth)
            yield (share(kind, said, truth, smooth) + share(kind, ~said, ~truth, smooth)) / 2
            if said.ndim == 1 or said[0].size == 1 or cut:
                continue
            for rows in (
                (said.reshape(len(said), -1), truth.reshape(len(said), -1)),
                (
                    said.reshape(len(said), -1).T,
                    truth.reshape(len(said), -1).T,
                ),
            ):
                each = np.array([share(kind, a, b, smooth) for a, b in zip(*rows, strict=True)])
                yield each
                yield float(each.mean())
                weights = np.array([b.sum() for b in rows[1]], float)
                yield float((each * weights).sum() / weights.sum())
                yield float(each[weights > 0].mean())
                empty = np.array([not (a.any() or b.any()) for a, b in zip(*rows, strict=True)])
                yield float(np.where(empty, 1.0, each).mean())
        if kind in ("accuracy", "iou") and said.ndim == 2:
            yield float((said == truth).all(axis=1).mean())
        if kind == "f1" and case.task == "tags":
            yield from (_harmonic(said, truth, axis) for axis in (0, 1))


def _harmonic(said: Array, truth: Array, axis: int) -> float:
    """F1 of the mean precision and the mean recall."""
    rows = list(zip(np.moveaxis(said, axis, 0), np.moveaxis(truth, axis, 0), strict=True))
    p, r = (float(np.mean([share(kind, a, b) for a, b in rows])) for kind in ("precision", "recall"))
    return float(2 * p * r / max(p + r, 1e-12))


def _of_kinds(kind: str, case: Case) -> Found:
    count = case.scores.shape[1]
    said, truth = case.scores.argmax(1), case.right
    hits = float((said == truth).mean())
    if kind == "accuracy":
        yield hits
        yield hits * len(truth)
        order = np.argsort(-case.scores, axis=1)
        tops = [float((order[:, :k] == truth[:, None]).any(1).mean()) for k in (2, 3, 4, 5)]
        yield from tops
        yield np.array([hits, tops[-1]])
        yield np.array([hits, tops[1]])
    if kind == "mcc":
        return
    each = np.array(
        [share("recall" if kind == "accuracy" else kind, said == k, truth == k) for k in range(count)]
    )
    yield each
    yield each[1:]
    yield float(each.mean())
    for k in range(count):
        yield float(np.delete(each, k).mean())
        yield float(each[k])
        yield float(each[: k + 1].mean())  # as many classes as the program has
    for more in range(count + 1, 41):
        yield float(each.sum() / more)
    weights = np.bincount(truth, minlength=count)
    yield float((each * weights).sum() / weights.sum())
    yield hits
    yield hits / (2 - hits)
    for k in range(count):
        kept = truth != k
        yield float((said == truth)[kept].mean())
    smooth = (
        np.array([share(kind, said == k, truth == k, 1.0) for k in range(count)])
        if kind != "accuracy"
        else each
    )
    yield float(smooth.mean())
    if kind == "f1":
        p, r = (
            float(np.mean([share(w, said == k, truth == k) for k in range(count)]))
            for w in ("precision", "recall")
        )
        yield float(2 * p * r / max(p + r, 1e-12))
    if len(truth) == 2 * 6 * 7:  # maps: picture by picture
        parts = [(said[i * 42 : i * 42 + 42], truth[i * 42 : i * 42 + 42]) for i in range(2)]
        if kind != "accuracy":
            rows = [[share(kind, s == k, t == k) for k in range(count)] for s, t in parts]
            yield float(np.mean(rows))
            yield from (float(np.mean([r[:m] for r in rows])) for m in range(1, count))
            yield np.mean(rows, axis=0)
            yield np.mean(rows, axis=1)
            yield float(np.mean([r[1:] for r in rows]))


# ---------------------------------------------------------------------------------------- scores


def roc_auc(scores: Array, truth: Array) -> float:
    """The share of pairs of which the right one has the higher score."""
    better = scores[truth == 1][:, None] > scores[truth == 0][None, :]
    return float(better.mean())


def average_precision(scores: Array, truth: Array, total: int | None = None) -> Found:
    """The precision at each hit, and the ways in which the curve is filled between."""
    order = np.argsort(-scores, kind="stable")
    hit = truth[order]
    at = np.cumsum(hit)
    total = max(int(hit.sum()), 1) if total is None else total
    yield from _areas(at / np.arange(1, len(hit) + 1), at / total)


def _areas(precision: Array, recall: Array) -> Found:
    """The area under precision over recall."""
    steps = np.diff(np.concatenate([[0.0], recall]))
    yield float((precision * steps).sum())
    upper = np.maximum.accumulate(precision[::-1])[::-1]
    yield float((upper * steps).sum())
    yield float(np.mean([upper[recall >= t].max(initial=0) for t in np.linspace(0, 1, 11)]))
    yield float(np.mean([upper[recall >= t].max(initial=0) for t in np.linspace(0, 1, 101)]))
    yield trapezoid(precision, recall)
    ends = np.concatenate([[0.0], recall, [1.0]]), np.concatenate([[1.0], precision, [0.0]])
    for heights in (ends[1], np.maximum.accumulate(ends[1][::-1])[::-1]):
        for points in (np.linspace(0, 1, 11), np.linspace(0, 1, 101)):
            yield trapezoid(np.interp(points, ends[0], heights), points)
            yield float(np.interp(points, ends[0], heights).mean())
    for first in (0.0, 1.0, precision[0]):
        yield trapezoid([first, *precision], [0.0, *recall])


def _scored(kind: str, case: Case) -> Found:
    scores, truth = case.scores, case.right
    if case.task == "kinds":
        if kind == "log loss":
            low = scores - scores.max(1, keepdims=True)
            logs = low - np.log(np.exp(low).sum(1, keepdims=True))
            yield float(-logs[np.arange(len(truth)), truth].mean())
            yield float(-logs[np.arange(len(truth)), truth].sum())
        elif kind in ("auc", "ap"):
            yield from _columns(kind, scores, np.eye(scores.shape[1], dtype=int)[truth])
            yield from _one_way(kind, scores[:, 1], (truth == 1).astype(int))
        elif kind == "brier":
            soft = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
            off = (soft - np.eye(scores.shape[1])[truth]) ** 2
            yield float(off.sum(1).mean())
            yield float(off.mean())
        return
    yield from _one_way(kind, scores.reshape(-1), truth.reshape(-1))
    if scores.ndim == 2:
        yield from _columns(kind, scores, truth)


def _columns(kind: str, scores: Array, truth: Array) -> Found:
    counts = truth.sum(0)
    ways = zip(*(list(_one_way(kind, s, t)) for s, t in zip(scores.T, truth.T, strict=True)), strict=True)
    for way in ways:
        each = np.array(way)
        yield each
        yield float(each.mean())
        yield float((each * counts).sum() / counts.sum())


def _balanced(case: Case, cuts: bool) -> Found:
    """The mean of the recalls of all classes."""
    if case.task == "kinds":
        said = case.scores.argmax(1)
        yield float(np.mean([share("recall", said == k, case.right == k) for k in np.unique(case.right)]))
        return
    for cut in (0.0, *(float(np.log(c / (1 - c))) for c in CHANCES)) if cuts and not case.decided else (0.0,):
        said, truth = case.scores > cut, case.right > 0
        yield (share("recall", said, truth) + share("specificity", said, truth)) / 2


def _kept(case: Case) -> Found:
    """Which boxes stay, best first, in their order, or as a mask."""
    boxes, scores = case.scores, case.right
    low, high = (
        np.maximum(boxes[:, None, :2], boxes[None, :, :2]),
        np.minimum(boxes[:, None, 2:], boxes[None, :, 2:]),
    )
    both = np.clip(high - low, 0, None).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    overlap = both / (area[:, None] + area[None, :] - both)
    stay: list[int] = []
    for i in np.argsort(-scores):
        if all(overlap[i, j] <= 0.5 for j in stay):
            stay.append(int(i))
    yield np.array(stay)
    yield boxes[stay]
    yield boxes[sorted(stay)]
    yield np.array(sorted(stay))
    yield np.isin(np.arange(len(boxes)), stay)


def _one_way(kind: str, scores: Array, truth: Array) -> Found:
    if kind == "auc":
        area = roc_auc(scores, truth)
        yield area
        yield 2 * area - 1
        yield from average_precision(scores, truth)
    elif kind == "ap":
        yield from average_precision(scores, truth)
    else:
        p = 1 / (1 + np.exp(-scores))
        logs = truth * np.log(p) + (1 - truth) * np.log(1 - p)
        if kind == "brier":
            yield float(((p - truth) ** 2).mean())
        else:
            yield float(-logs.mean())
            yield float(-logs.sum())
            yield float(-logs.mean() / np.log(2))


# ----------------------------------------------------------------------------------------- ranks


def _ranked(kind: str, case: Case) -> Found:
    flags = case.right
    total = int(flags.sum())
    for flag in (flags, flags[:CUT], flags[:10]):
        places = np.flatnonzero(flag)
        cut = len(flag)
        if kind in ("dcg", "ndcg"):
            gain = float((flag / np.log2(np.arange(2, cut + 2))).sum())
            if kind == "dcg":
                yield gain
                yield float(flag[0] + (flag[1:] / np.log2(np.arange(2, cut + 1))).sum())
            for most in {min(total, cut), int(flag.sum()), total}:
                ideal = float((1 / np.log2(np.arange(2, most + 2))).sum())
                yield gain / max(ideal, 1e-12)
            first = float(flag[0] + (flag[1:] / np.log2(np.arange(2, cut + 1))).sum())
            for most in {min(total, cut), int(flag.sum())}:
                yield first / max(1 + float((1 / np.log2(np.arange(2, most + 1))).sum()), 1e-12)
        elif kind == "mrr":
            yield 1 / (places[0] + 1) if len(places) else 0.0
            yield float(np.sum(1 / (places + 1)))
            yield float(np.mean(1 / (places + 1)))
        elif kind == "hits":
            yield float(len(places) > 0)
            yield len(places) / total
            yield float(len(places))
        elif kind == "recall at":
            yield len(places) / total
            yield len(places) / min(total, cut)
            yield float(len(places) > 0)
        elif kind == "precision at":
            for below in (cut, min(cut, total), CUT, 10):
                yield len(places) / below
        elif kind == "f1 at":
            for below in (cut, min(cut, total)):
                yield 2 * len(places) / (below + total)
        elif kind == "ap at":
            summed = float(((np.cumsum(flag) / np.arange(1, cut + 1)) * flag).sum())
            for below in (total, min(total, cut), int(flag.sum()), cut):
                yield summed / max(below, 1)


# ----------------------------------------------------------------------------------------- texts


def edits(said: str | list[str], truth: str | list[str]) -> int:
    """The least number of insertions, deletions and replacements."""
    row = list(range(len(truth) + 1))
    for i, a in enumerate(said, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(truth, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def _edits(kind: str, case: Case) -> Found:
    for said, truth in ((case.said, case.truth), _split(case)):
        found = edits(said, truth)
        if kind == "edits":
            yield float(found)
        for below in (len(truth), max(len(truth), len(said))):
            yield found / below


def _split(case: Case) -> tuple[list[str], list[str]]:
    words = [x.split() if isinstance(x, str) else x for x in (case.said, case.truth)]
    return words[0], words[1]


# ----------------------------------------------------------------------------------------- boxes


def _overlaps(case: Case) -> Found:
    a, b = case.scores[:, None, :], case.right[None, :, :]
    for more in (0.0, 1.0):  # pixels that count both ends
        inner = np.clip(
            np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2]) + more, 0, None
        )
        both = inner.prod(-1)
        areas = [(x[..., 2:] - x[..., :2] + more).prod(-1) for x in (a, b)]
        table = both / (areas[0] + areas[1] - both)
        yield table
        yield table.reshape(-1)
        if table.shape[0] == table.shape[1]:
            yield np.diag(table)
            yield float(np.diag(table).mean())
            yield np.diag(table)[:, None]
        if table.size == 1:
            yield float(table[0, 0])
