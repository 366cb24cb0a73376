"""Metrics that are handed crosswise, perplexities of the wrong base, marks that no loss leaves out."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.evaluation import metrics
from traindoctor.probes.code.labels import masking
from traindoctor.probes.registry import View

from .._build import run

PROGRAM = """
    import numpy as np
    import torch
    import torch.nn.functional as F
    from sklearn.metrics import r2_score, log_loss, confusion_matrix, mean_absolute_error
    from sklearn import metrics
    def step(model, x, y):
        return F.cross_entropy(model(x), y{ignore})
    {body}
"""


def state(probe: object, body: str, ignore: str = "") -> str:
    text = textwrap.dedent(PROGRAM).format(body=body, ignore=ignore)
    return str(probe(View(run(scripts={"t.py": text}))).state.value)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print(r2_score(y_pred, y_true))", True),
        ("print(r2_score(rent_pred.cpu().numpy(), np.array(rent_true)))", True),
        ("print(metrics.roc_auc_score(probs, labels))", True),
        ("print(r2_score(y_true, y_pred))", False),
        ("print(metrics.roc_auc_score(labels, probs))", False),
        ("print(mean_absolute_error(y_pred, y_true))", False),
        ("print(confusion_matrix(y_pred, y_true))", False),
        ("print(r2_score(a, b))", False),
        ("print(r2_score(pred_labels, labels_pred))", False),
        ("print(other.r2_score(preds, target))", False),
    ],
)
def test_metrics_that_take_the_truth_first(body: str, expected: bool) -> None:
    assert (state(metrics.metric_miscounts, body) == "present") is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print(f'perplexity {2 ** val_loss:.2f}')", True),
        ("ppl = 2 ** loss.item()", True),
        ("ppl = np.exp(loss.item())", False),
        ("ppl = 2 ** (loss.item() / np.log(2))", False),
        ("width = 2 ** level", False),
        ("scale = 2 ** loss_scale_bits", False),
    ],
)
def test_perplexity_is_a_power_of_e(body: str, expected: bool) -> None:
    assert (state(metrics.metric_miscounts, body) == "present") is expected


@pytest.mark.parametrize(
    ("body", "ignore", "expected"),
    [
        ("labels[labels == 0] = -1", ", ignore_index=-100", True),
        ("labels[labels == 0] = -1", "", True),
        ("labels[labels == 0] = -100", "", False),
        ("labels[labels == 0] = -1", ", ignore_index=-1", False),
        ("labels[labels == 0] = -1\nkeep = labels != -1", "", False),
        ("labels[labels == 0] = -1\nkeep = labels >= 0", "", False),
        ("labels[labels == 0] = -1", ", ignore_index=cfg.ignore", False),
        ("scores[scores == 0] = -1", "", False),
        ("labels[labels == 7] = 0", "", False),
    ],
)
def test_marks_that_no_loss_leaves_out(body: str, ignore: str, expected: bool) -> None:
    assert (state(masking.label_padding_counts, body, ignore) == "present") is expected
