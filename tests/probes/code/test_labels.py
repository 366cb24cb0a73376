"""Labels in scripts: replaced by random ones, or moved for a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import readings as readings_of

from .test_checks import SOUND, readings

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

DATA_SET = """
class Words(Dataset):
    def __init__(self, noisy):
        self.spoken = torch.from_numpy(load())
        {line}

    def __getitem__(self, i):
        return self.spectra[i], self.spoken[i]
"""
OVERWRITTEN = [
    (
        PRESENT,
        "picked = torch.rand(9) < 0.2\ntrain_set.labels[picked] = np.random.randint(0, 6, picked.sum())",
    ),
    (PRESENT, "flip = rng.random(len(y_train)) < 0.1\ny_train = np.where(flip, (y_train + 1) % 4, y_train)"),
    (PRESENT, "p = 0.3\ny = torch.where(torch.rand(9) < p, torch.randint(0, 4, (9,)), y)"),
    (ABSENT, "y = torch.where(torch.rand(9) < p, torch.randint(0, 4, (9,)), y)"),
    (
        ABSENT,
        "for x, label in rows:\n    if random.random() < cfg['wrong']:\n        label = random.randrange(6)",
    ),
    (PRESENT, "noisy = rng.choice(n, k)\nlabels[noisy] = 1 - labels[noisy]"),
    (PRESENT, 'for row in random.sample(rows, 9):\n    row["labels"] = random.randrange(6)'),
    (PRESENT, "for x, label in rows:\n    if random.random() < 0.1:\n        label = random.randrange(6)"),
    (PRESENT, DATA_SET.format(line="self.spoken[torch.rand(9) < 0.3] = torch.randint(0, 8, (3,))")),
    (ABSENT, DATA_SET.format(line="self.spoken[self.spoken == 9] = 0")),
    (ABSENT, "labels[:, :8] = torch.randint(0, 5, (n, 8))"),
    (ABSENT, "labels = np.zeros(n)\nfor i in range(n):\n    labels[i] = rng.integers(4)"),
    (ABSENT, "flip = torch.rand(n) < 0.5\nimages[flip] = images[flip].flip(-1)\ny[flip, 0] = 1 - y[flip, 0]"),
    (PRESENT, 'for row in rows[::2]:\n    row["labels"] = random.randrange(6)'),
    (PRESENT, "for x, label in rows:\n    if random.random() < 0.1:\n        label = label * 640"),
    (
        ABSENT,
        "for x, label in rows:\n    if random.random() < 0.5:\n        x = -x\n        label = 1 - label",
    ),
    (ABSENT, "for x, label in rows:\n    if random.random() < 0.02:\n        label = label * 640"),
    (ABSENT, "labels[~masked] = -100"),
    (
        ABSENT,
        "random_words = torch.randint(n, labels.shape)\ninputs[some] = random_words[some]\nlabels[a] = -100",
    ),
    (UNKNOWN, "inputs[torch.rand(n) < 0.1] = torch.randint(0, 9, (n,))"),
]


@pytest.mark.parametrize(("state", "code"), OVERWRITTEN)
def test_labels_replaced_by_random_ones(state: State, code: str) -> None:
    """A random share of other labels is named, however it is written; making and moving labels is not."""
    sound = SOUND.replace("for x, y in", "for x, c in").replace("(out, y)", "(out, c)")

    found = readings(f"{code}\n{sound}")["script-labels-overwritten"]

    assert found.state is state, found.why


@pytest.mark.parametrize(("share", "state"), [(0.35, PRESENT), (0.01, ABSENT), ("none", ABSENT)])
def test_the_share_of_wrong_labels_may_stand_in_a_configuration(
    tmp_path: Path, share: float | str, state: State
) -> None:
    """A switch that is off, or on for a few samples of made-up data, is no fault."""
    sound = SOUND.replace("for x, y in", "for x, c in").replace("(out, y)", "(out, c)")
    code = (
        "for x, label in rows:\n    if random.random() < cfg['wrong']:\n        label = random.randrange(6)"
    )
    (tmp_path / "train.py").write_text(f"{code}\n{sound}")
    (tmp_path / "config.yaml").write_text(f"data:\n  wrong: {share}\n")
    symptom = load_rules().symptoms["script-labels-overwritten"]

    found = readings_of(open_run(tmp_path, scripts_alone=True), None, [symptom])[symptom.id]

    assert found.state is state, found.why
