"""First loss, first gradient norm, second loss: each branch raises its own causes and lowers the others."""

from __future__ import annotations

import pytest

from traindoctor.engine.diagnose import posterior
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import RuleBase, State

P, A = State.PRESENT, State.ABSENT
FORWARD = ("graph.wrong-operator", "init.pretrained-not-loaded", "processing.not-normalized")
BACKWARD = ("operator.accuracy-error", "state.gradient-accumulation", "graph.weight-frozen")
UPDATE = ("graph.optimizer", "porting.hyperparameters-differ", "numerics.update-lost")
TREE = ("first-loss-differs", "first-grad-norm-differs", "second-loss-differs")


@pytest.fixture(scope="module")
def rules() -> RuleBase:
    """The real rules."""
    return load_rules()


@pytest.mark.parametrize(
    ("branch", "raised", "lowered"),
    [
        ("first-loss-differs", FORWARD, UPDATE),
        ("first-grad-norm-differs", BACKWARD, FORWARD),
        ("second-loss-differs", UPDATE, FORWARD),
    ],
)
def test_a_branch_narrows(
    rules: RuleBase, branch: str, raised: tuple[str, ...], lowered: tuple[str, ...]
) -> None:
    """What stands behind the branch becomes at least twice as probable, others do not."""
    before = posterior(rules, {})
    after = posterior(rules, {s: P if s == branch else A for s in TREE})

    assert [c for c in raised if after[c] < 2 * before[c]] == []
    assert [c for c in lowered if after[c] > before[c]] == []


def test_agreement_speaks_against_all(rules: RuleBase) -> None:
    """When all three agree, every cause of the three groups is less probable than before."""
    before, after = posterior(rules, {}), posterior(rules, dict.fromkeys(TREE, A))

    assert [c for c in (*FORWARD, *BACKWARD, *UPDATE) if after[c] >= before[c]] == []
