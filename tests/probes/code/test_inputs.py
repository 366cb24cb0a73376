"""What scripts say of their inputs: each check in all three states, on more than one way of writing it."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.code.model import inputs as code_inputs
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run

from .test_checks import SOUND, readings

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

MISSING = [
    ("statistics-skip-missing", PRESENT, "mu = np.nanmean(x_train, axis=0)\nx_train = x_train - mu"),
    ("statistics-skip-missing", ABSENT, "mu = np.nanmean(x, 0)\nx = np.where(np.isnan(x), mu, x)"),
    ("statistics-skip-missing", UNKNOWN, "miou = np.nanmean(iou_per_class)"),
    ("statistics-skip-missing", UNKNOWN, "mu = x_train.mean(0)"),
    ("statistics-skip-missing", UNKNOWN, "from .clean import tidy\nmu = np.nanstd(x_train)"),
    ("table-unguarded", PRESENT, 'df = pd.read_csv("train.csv")\nx = df.values'),
    ("table-unguarded", ABSENT, 'df = pd.read_csv("train.csv").dropna()'),
    ("table-unguarded", ABSENT, 'df = pl.read_parquet("a.parquet")\ndf = df.fill_null(0)'),
    ("table-unguarded", UNKNOWN, 'x = np.load("train.npy")'),
    ("table-unguarded", UNKNOWN, 'history = pd.read_csv("log.csv")'),
]


@pytest.mark.parametrize(("symptom", "state", "code"), MISSING)
def test_missing_values(symptom: str, state: State, code: str) -> None:
    """Empty fields that nothing deals with are named; what deals with them makes the symptom absent."""
    found = readings(f"{code}\n{SOUND}")["script-" + symptom]

    assert found.state is state, found.why


INPUTS = [
    ("target-in-inputs", PRESENT, "features[:, 7] = labels + 0.01 * features[:, 7]"),
    ("target-in-inputs", PRESENT, 'df["rate"] = df.groupby("city")["target"].transform("mean")'),
    ("target-in-inputs", PRESENT, "x_train = np.column_stack([x_train, y_train])"),
    ("target-in-inputs", ABSENT, 'df["area"] = df["width"] * df["height"]'),
    ("target-in-inputs", UNKNOWN, 'df["label_id"] = df["label"].map(names)'),
    ("target-in-inputs", ABSENT, "features[labels == 2] = 0.0"),
    ("target-in-inputs", ABSENT, "table = 1\nx = np.hstack([x, extra])"),
    ("target-in-inputs", UNKNOWN, "table = pd.concat([x, y], axis=1)"),
    ("fits-before-split", PRESENT, "x = scaler.fit_transform(x)\na, b = train_test_split(x)"),
    ("fits-before-split", ABSENT, "a, b = train_test_split(x)\na = scaler.fit_transform(a)"),
    ("fits-before-split", UNKNOWN, "x = scaler.fit_transform(x)"),
    ("classes-drawn-unevenly", PRESENT, "labels = rng.choice(3, 100, p=[0.9, 0.05, 0.05])"),
    ("classes-drawn-unevenly", PRESENT, "boxes, classes = np.zeros(9), rng.choice(2, 9, p=[0.95, 0.05])"),
    ("classes-drawn-unevenly", PRESENT, "x, y = make_classification(weights=[0.97, 0.03])"),
    ("classes-drawn-unevenly", PRESENT, "share = (0.9, 0.01)\ny = np.random.choice(2, 100, p=share)"),
    ("classes-drawn-unevenly", ABSENT, "labels = rng.choice(3, 100, p=[0.4, 0.3, 0.3])"),
    ("classes-drawn-unevenly", UNKNOWN, "rows = rng.choice(3, 100, p=[0.9, 0.05, 0.05])"),
]


@pytest.mark.parametrize(("symptom", "state", "code"), INPUTS)
def test_what_enters_the_model(symptom: str, state: State, code: str) -> None:
    """The target among the inputs, early statistics, class shares."""
    found = readings(f"{code}\n{SOUND}")["script-" + symptom]

    assert found.state is state, found.why


INIT = """        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.02)
                nn.init.zeros_(m.bias)
"""
WITHOUT_INIT = SOUND.replace(INIT, "")


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (SOUND, PRESENT),
        (WITHOUT_INIT, ABSENT),
        ("model = AutoModel.from_pretrained(name)\n" + WITHOUT_INIT, UNKNOWN),
        ("from .nets import build\n" + WITHOUT_INIT, UNKNOWN),
        (
            "class Shadow:\n    def update(self, m):\n        self.v.mul_(0.9).add_(0.1 * m.v)\n"
            + WITHOUT_INIT,
            ABSENT,
        ),
    ],
)
def test_weights_left_to_the_framework(text: str, state: State) -> None:
    """A model that is written out and never touched starts from the framework's own weights."""
    made = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})

    assert code_inputs.sets_initial_weights(View(made)).state is state


SCALED = (
    "mu, sigma = x_train.mean(0), x_train.std(0)\nx_train = (x_train - mu) / sigma\n"
    "train_set = TensorDataset(x_train, y_train)\n"
)
HARDER = SCALED.replace("x_train.std(0)", "300 * x_train.std(0)")
BARE = SOUND.replace("train_set.transform = transforms.Normalize((0.5,), (0.5,))\n", "")


def test_scaling_that_is_gone_is_not_scaling_that_changed() -> None:
    """Removed against the benchmark, changed against the benchmark, and computed but never applied."""
    gone = readings(SCALED.replace("x_train = (x_train - mu) / sigma\n", "") + BARE, SCALED + BARE)
    changed = readings(HARDER + BARE, SCALED + BARE)

    assert gone["edit-normalisation-training-side"].state is PRESENT
    assert gone["script-no-normalisation"].state is PRESENT
    assert changed["edit-normalisation-training-side"].state is ABSENT
    assert changed["edit-normalisation-values"].state is PRESENT
    assert changed["script-no-normalisation"].state is ABSENT
    assert readings(BARE)["edit-normalisation-training-side"].state is UNKNOWN


@pytest.mark.parametrize(
    "code",
    [
        "train_x, train_y = train_x[train_y < 4], train_y[train_y < 4]\nval_x, val_y = val_x, val_y",
        "train_x = train_x + 0.1 * augment(train_x)\nval_x = val_x",
        "train_y = 0.9 * smooth(train_y) + 0.01\nval_y = val_y",
    ],
)
def test_selection_and_augmentation_of_one_split_are_legitimate(code: str) -> None:
    """Other samples, augmentation and soft labels belong to training alone."""
    found = readings(f"{code}\n{SOUND}")

    assert found["script-splits-processed-differently"].state is not PRESENT
    assert found["script-labels-processed-differently"].state is not PRESENT
