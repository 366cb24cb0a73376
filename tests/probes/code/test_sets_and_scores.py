"""Data and scores of scripts: what stands for either side, and what a score is held against or divided by."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.code.evaluation.averages import average_of_wrong_count
from traindoctor.probes.code.evaluation.metrics import metric_miscounts
from traindoctor.probes.code.labels.masking import mask_is_interpolated
from traindoctor.probes.code.labels.numbering import classes_numbered_apart, words_numbered_apart
from traindoctor.probes.code.method.slipped import figures_impossible
from traindoctor.probes.code.model.axes import sample_torn_by_reshape
from traindoctor.probes.code.model.sequence import target_is_input
from traindoctor.probes.code.samples.augment import sample_torn_apart
from traindoctor.probes.code.scaling.drawn import evaluation_is_augmented
from traindoctor.probes.code.scaling.pipelines import normalises_one_split
from traindoctor.probes.code.splits.files_of_settings import one_file_in_settings
from traindoctor.probes.code.splits.leaks import (
    all_columns_are_inputs,
    fitted_on_all,
    held_out_in_training,
    selected_on_test,
)
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run, Setting

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

PIPES = 'tf = {"train": Compose([RandomCrop(8), ToTensor()]), "val": Compose([ToTensor()])}\n'
TURNED = "N = T.Normalize([0.5], [0.2])\ntrain_tf = T.Compose([{}, N])\nval_tf = T.Compose([{}, N])\n"
EACH = 'sets = {{p: ImageFolder({}, {}) for p in ("train", "val")}}'
GETS = """
class Cells(Dataset):
    def __init__(self, rows, root, train=False):
        self.rows, self.train = rows, train
    def __getitem__(self, i):
        return flip(self.rows[i]) if self.train else self.rows[i]
train_loader = DataLoader(Cells(taught, root, train=True), shuffle=True)
val_loader = DataLoader(Cells({}, root, train=True))
"""
SEARCH = """
def best(p, y):
    grid = np.linspace(0.1, 0.9, 9)
    return grid[int(np.argmax([f1_score(y, p >= t) for t in grid]))]
p, y = predict(net, val_loader)
p, y = predict(net, {}_loader)
limit = best(p, y)
print(f1_score(y, p >= limit))
"""
LOAD = "def load(p):\n    return cut(p)\ntrain, valid = load('plays.csv')\n"
COLUMNS = """
TARGET = "left"
kinds = ["plan", "{}"]
y = frame[TARGET].values
prep = ColumnTransformer([("cat", OneHotEncoder(), kinds)])
"""
SCALE = """
class Scale:
    @classmethod
    def of(cls, values):
        return cls(values.mean(0), values.std(0))
train, valid = split_frame(frame, until)
scale = Scale.of({})
"""
KEYED = """
def best(p, y):
    return max(np.arange(0.1, 0.9, 0.02), key=lambda t: f1_score(y, p > t))
limit = best(*predict(net, {}_loader))
print(f1_score(y_val, p_val >= limit))
"""
WINDOW = """
class W(Dataset):
    def __getitem__(self, i):
        s = self.starts[i]
        e = s + self.context
        past = self.v[s:{}]
        future = self.v[{}:e + self.ahead, 0]
        return past, future
"""


@pytest.mark.parametrize(
    ("probe", "state", "text"),
    [
        (evaluation_is_augmented, PRESENT, PIPES + EACH.format("join(root, p)", 'tf["train"]')),
        (evaluation_is_augmented, UNKNOWN, PIPES + EACH.format("join(root, p)", "tf[p]")),
        (normalises_one_split, PRESENT, TURNED.format("ToTensor()", "T.Lambda(lambda t: t.flip(0))")),
        (normalises_one_split, ABSENT, TURNED.format("T.Grayscale(3)", "T.Grayscale(3)")),
        (normalises_one_split, ABSENT, TURNED.format("ToTensor()", "T.Lambda(lambda c: torch.stack(c))")),
        (held_out_in_training, PRESENT, PIPES + EACH.format('join(root, "train")', "tf[p]")),
        (held_out_in_training, UNKNOWN, PIPES + EACH.format("join(root, p)", "tf[p]")),
        (held_out_in_training, PRESENT, LOAD + "train = pd.concat([train, valid])\nscore(valid)"),
        (held_out_in_training, ABSENT, LOAD + "train = pd.concat([train, extra])\nscore(valid)"),
        (held_out_in_training, ABSENT, LOAD + "score(valid)\ntrain = pd.concat([train, valid])"),
        (held_out_in_training, PRESENT, GETS.format("taught")),
        (held_out_in_training, ABSENT, GETS.format("held")),
        (all_columns_are_inputs, PRESENT, COLUMNS.format("left")),
        (all_columns_are_inputs, ABSENT, COLUMNS.format("fee")),
        (fitted_on_all, PRESENT, SCALE.format("frame[columns].to_numpy()")),
        (fitted_on_all, ABSENT, SCALE.format("train[columns].to_numpy()")),
        (target_is_input, PRESENT, WINDOW.format("e + self.ahead", "e")),
        (target_is_input, UNKNOWN, WINDOW.format("e", "e")),
        (target_is_input, UNKNOWN, WINDOW.format("e + self.ahead", "s")),
        (selected_on_test, PRESENT, SEARCH.format("test")),
        (selected_on_test, ABSENT, SEARCH.format("val")),
        (selected_on_test, PRESENT, KEYED.format("test")),
        (selected_on_test, ABSENT, KEYED.format("val")),
    ],
)
def test_sides(probe: object, state: State, text: str) -> None:
    """What is made for both sides goes by the side; rows that are handed over are not chosen by a flag."""
    found = finding(probe, text)  # type: ignore[arg-type]

    assert found.state is state or (state is ABSENT and found.state is UNKNOWN), found.why


NET = (
    "criterion = nn.BCEWithLogitsLoss()\n"
    "class E:\n    def fit(self):\n        self.model = timm.create_model('b0')\n"
)
SCORES = NET + "    def score(self):\n        return report(self.model(x).{}, np.full(6, 0.5))\n"
FUNCTION = (
    NET + "    def score(self):\n        return report(torch.{}(self.model(x), -1).cpu(), np.full(6, 0.5))\n"
)
RANKS = (
    "@torch.no_grad()\ndef rank(model, users, seen, k):\n"
    "    scores = model(users)\n    return {}.topk(k).indices\n"
)
REPORT = "def report(scores, limits):\n    return (scores >= limits).mean()\n"
PHASES = """
def fit(net, loaders, sizes):
    for phase in ("train", "val"):
        total = 0.0
        for x, y in loaders[phase]:
            loss = criterion(net(x), y)
            if phase == "train":
                loss.backward()
                optimizer.step()
            total += loss.item(){}
        print(phase, total / sizes[phase])
criterion = nn.CrossEntropyLoss()
sizes = {{p: len(datasets[p]) for p in ("train", "val")}}
"""


@pytest.mark.parametrize(
    ("probe", "state", "text"),
    [
        (metric_miscounts, PRESENT, "r = metric.compute(predictions=told, references=told)"),
        (metric_miscounts, UNKNOWN, "r = metric.compute(predictions=guess, references=told)"),
        (metric_miscounts, PRESENT, RANKS.format("scores")),
        (metric_miscounts, UNKNOWN, RANKS.format("hide(scores, seen)")),
        (metric_miscounts, PRESENT, REPORT + SCORES.format("cpu()")),
        (metric_miscounts, PRESENT, REPORT + SCORES.format("softmax(1)")),
        (metric_miscounts, PRESENT, REPORT + FUNCTION.format("softmax")),
        (metric_miscounts, UNKNOWN, REPORT + FUNCTION.format("sigmoid")),
        (metric_miscounts, UNKNOWN, REPORT + SCORES.format("sigmoid()")),
        (average_of_wrong_count, PRESENT, PHASES.format("")),
        (average_of_wrong_count, ABSENT, PHASES.format(" * x.size(0)")),
    ],
)
def test_scores(probe: object, state: State, text: str) -> None:
    """A name against itself, raw scores against chances, means of batches over the number of samples."""
    found = finding(probe, text)  # type: ignore[arg-type]

    assert found.state is state or (state is UNKNOWN and found.state is ABSENT), found.why


MASKS = (
    "import torchvision.transforms.functional as TF\nN_CLASSES = 3\n"
    "def __getitem__(self, i):\n    {}\n    return mask\n"
)
READS = (
    "IMAGENET = [0.485, 0.456, 0.406]\nT.Normalize(IMAGENET)\n"
    "def __getitem__(self, i):\n    image = cv2.imread(self.names[i])\n"
)
TURN = "    image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)\n"
LOADS = "class D:\n    def load(self, n):\n        return cv2.imread(n)\n    def __getitem__(self, i):\n"
GAIN = "def jitter(image):\n    gain = np.random.uniform(0.8, 1.2)\n    return {}\n"
LISTS = 'pairs = list(zip({}, sorted((root / "masks").glob("*.png"))))'
MAKES = (
    "def make(rows):\n    {}\n    return DataLoader(Texts(rows, names))\n"
    "train_loader = make(train_rows)\nval_loader = make(val_rows)\n"
)
OWN = "names = {}\n    for _, y in rows:\n        names.setdefault(y, len(names))"
GIVEN = "def tensors(part):\n    return [{} for k in cat]\na = tensors(train_df)\nb = tensors(val_df)\n"
VOCAB = "class Vocab:\n    def __init__(self, rows):\n        self.ids = {w: i for i, w in enumerate(rows)}\n"
CODES = (
    'rows["i"] = rows["track"].astype("category").cat.codes\n'
    'valid = valid.assign(i={}["track"].astype("category").cat.codes)'
)
TEXT = 'data = tokenizer(batch["text"], truncation=True, max_length={})'
HOUR = "a = np.sin({} * frame.index.hour / 24)\nb = np.cos({} * frame.index.hour / 24)"


@pytest.mark.parametrize(
    ("probe", "state", "text"),
    [
        (mask_is_interpolated, PRESENT, MASKS.format("mask = TF.resize(mask, [9, 9])")),
        (mask_is_interpolated, ABSENT, MASKS.format("mask = TF.resize(mask, [9, 9], interpolation=NEAREST)")),
        (sample_torn_apart, PRESENT, MASKS.format("mask = TF.to_tensor(mask).squeeze(0).long()")),
        (sample_torn_apart, UNKNOWN, MASKS.format("mask = (TF.to_tensor(mask) * 255).long()")),
        (sample_torn_apart, PRESENT, READS + "    return image[:, ::-1]\n"),
        (sample_torn_apart, ABSENT, READS + TURN + "    return image[:, ::-1]\n"),
        (sample_torn_apart, PRESENT, GAIN.format("(image * gain).astype(np.uint8)")),
        (sample_torn_apart, UNKNOWN, GAIN.format("np.clip(image * gain, 0, 255).astype(np.uint8)")),
        (sample_torn_apart, PRESENT, LISTS.format('(root / "images").glob("*.png")')),
        (sample_torn_apart, UNKNOWN, LISTS.format('sorted((root / "images").glob("*.png"))')),
        (sample_torn_by_reshape, PRESENT, LOADS + "        return self.load(i).reshape(3, 9, 9)\n"),
        (sample_torn_by_reshape, UNKNOWN, LOADS + "        return self.load(i).transpose(2, 0, 1)\n"),
        (classes_numbered_apart, PRESENT, MAKES.format(OWN)),
        (classes_numbered_apart, UNKNOWN, MAKES.format("names = shared")),
        (classes_numbered_apart, PRESENT, GIVEN.format("pd.factorize(part[k])[0]")),
        (classes_numbered_apart, UNKNOWN, GIVEN.format("part[k].map(levels[k])")),
        (classes_numbered_apart, PRESENT, CODES.format("valid")),
        (classes_numbered_apart, UNKNOWN, CODES.format("rows")),
        (words_numbered_apart, PRESENT, VOCAB + MAKES.format("names = Vocab(rows)")),
        (words_numbered_apart, UNKNOWN, VOCAB + MAKES.format("names = known or Vocab(rows)")),
        (figures_impossible, PRESENT, TEXT.format(8)),
        (figures_impossible, ABSENT, TEXT.format(64)),
        (figures_impossible, UNKNOWN, TEXT.replace("text", "target").format(8)),
        (figures_impossible, PRESENT, HOUR.format(1, 1)),
        (figures_impossible, ABSENT, HOUR.format("2 * np.pi", "2 * np.pi")),
    ],
)
def test_samples(probe: object, state: State, text: str) -> None:
    """Masks, colours, bytes, listings, numbers and lengths: each beside its right counterpart."""
    found = finding(probe, text)  # type: ignore[arg-type]

    assert found.state is state or (state is UNKNOWN and found.state is ABSENT), found.why


@pytest.mark.parametrize(
    ("state", "rows"),
    [
        (PRESENT, {"train_file": "d/train.tsv", "dev_file": "d/train.tsv"}),
        (ABSENT, {"train_file": "d/train.tsv", "dev_file": "d/dev.tsv"}),
        (UNKNOWN, {"train_file": "d/train.tsv", "dev_file": "d/train.tsv", "val_ratio": 0.1}),
        (UNKNOWN, {"train_file": "d/train.tsv"}),
    ],
)
def test_files_of_settings(state: State, rows: dict[str, str | float]) -> None:
    """One file for both sides, unless a setting says that a share is cut out of it."""
    told = tuple(Setting(k, v, "config.yaml") for k, v in rows.items())
    run = Run(RunInfo("run"), {}, (), {}, told, (), {}, scripts={"train.py": "import torch\n"})

    assert one_file_in_settings(View(run, None)).state is state
