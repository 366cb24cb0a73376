"""How samples are made and fed, in scripts: parts, order, number, scaling, gaps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.samples.augment import sample_torn_apart
from traindoctor.probes.code.samples.feeding import loader_keeps_order, order_is_fixed
from traindoctor.probes.code.samples.limits import training_data_cut
from traindoctor.probes.code.samples.missing import fill_values_unused
from traindoctor.probes.code.scaling.apart import scaled_apart
from traindoctor.probes.code.scaling.drawn import evaluation_is_augmented
from traindoctor.probes.code.scaling.ranges import range_does_not_fit
from traindoctor.probes.code.scaling.unused import scaling_unused
from traindoctor.probes.code.splits.sorted import split_by_order
from traindoctor.probes.registry import Finding

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

MIRROR = """
def jitter(image, mask):
    if torch.rand(1) < 0.5:
        image = image.flip(-1)
        {}
    return image, mask
"""
MIX = """
def mix_up(a, b, lam):
    order = torch.randperm(len(a))
    return lam * a + (1 - lam) * a[order], b, b[{}], lam
"""
CACHED = """
def shake(x, y):
    return tf.image.random_crop(x, size), y
data = data.map({}).cache().map({})
"""
PAIRED = """
class Cells(Dataset):
    def __init__(self, root):
        self.ids = open(root).read().split()
        self.files = {}
    def __getitem__(self, k):
        return load(self.ids[k]), load(self.files[k])
"""
COLOURS = """
net = resnet50(weights="DEFAULT")
def load(p):
    return np.array(Image.open(p)){} / 255
"""
APART = [
    (PRESENT, MIRROR.format("pass")),
    (ABSENT, MIRROR.format("mask = mask.flip(-1)")),
    (PRESENT, MIX.format("torch.randperm(len(b))")),
    (ABSENT, MIX.format("order")),
    (PRESENT, "def mixup(a, b, lam):\n    return lam * a + (1 - lam) * a.flip(0), b, lam"),
    (PRESENT, CACHED.format("shake", "scale")),
    (ABSENT, CACHED.format("scale", "shake")),
    (PRESENT, PAIRED.format("list(root.glob('*.tif'))")),
    (ABSENT, PAIRED.format("sorted(root.glob('*.tif'))")),
    (PRESENT, COLOURS.format("[:, :, ::-1]")),
    (UNKNOWN, COLOURS.format("")),
    (PRESENT, "log_mel = tf.image.random_flip_up_down(log_mel)"),
]
ORDER = [
    (PRESENT, "d = tf.data.Dataset.from_tensor_slices(x).batch(32).shuffle(1000)"),
    (ABSENT, "d = tf.data.Dataset.from_tensor_slices(x).shuffle(1000).batch(32)"),
    (PRESENT, "d = tf.data.Dataset.from_tensor_slices(x).shuffle(4).batch(32)"),
    (PRESENT, "if do_train:\n    d = mindspore.dataset.ImageFolderDataset(p, shuffle=False)"),
    (ABSENT, "if do_train:\n    d = mindspore.dataset.ImageFolderDataset(p, shuffle=True)"),
    (
        PRESENT,
        "class T(Trainer):\n  def get_train_dataloader(self):\n    return DataLoader(self.train_dataset)",
    ),
    (PRESENT, "def get_batch(ids):\n    at = torch.arange(8) * 64\n    return [ids[i:i + 64] for i in at]"),
    (
        UNKNOWN,
        "def get_batch(ids):\n    at = torch.randint(900, (8,))\n    return [ids[i:i + 64] for i in at]",
    ),
]
HELPER = (
    "def feed(data, mixed):\n    return DataLoader(data, 8, shuffle=mixed)\ntrain_dl = feed(train_ds, {})"
)
LOADERS = [
    (PRESENT, "train_loader = DataLoader(train_set, batch_size=8)"),
    (ABSENT, "train_loader = DataLoader(train_set, batch_size=8, shuffle=True)"),
    (UNKNOWN, "train_loader = DataLoader(train_set, batch_size=8, sampler=picks)"),
    (PRESENT, HELPER.format("False")),
    (UNKNOWN, HELPER.format("True")),
    (ABSENT, "rng.shuffle(rows)\ntrain_loader = DataLoader(train_set, batch_size=8)"),
    (UNKNOWN, "val_loader = DataLoader(val_set, batch_size=8)"),
]
UNUSED = [
    (PRESENT, "MEAN, STD = 0.1, 0.3\nx = load()"),
    (ABSENT, "MEAN, STD = 0.1, 0.3\nx = (load() - MEAN) / STD"),
    (PRESENT, "class P:\n    def fit(self, t):\n        self.mean, self.std = t.mean(), t.std()"),
    (PRESENT, "def to_unit(img):\n    return img / 255\ndata = data.map(decode)"),
    (ABSENT, "def to_unit(img):\n    return img / 255\ndata = data.map(to_unit)"),
    (UNKNOWN, "x = load()"),
]
CHAIN = "from torchvision import transforms as T\ntf = T.Compose([T.{}(), T.Normalize({}, (0.5, 0.5, 0.5))])"
DECODE = "import mindspore\nsteps = [V.Decode(), {}V.Normalize(mean=[{}], std=[1, 1, 1])]"
RANGES = [
    (PRESENT, CHAIN.format("ToTensor", "(123.7, 116.3, 103.5)")),
    (ABSENT, CHAIN.format("ToTensor", "(0.5, 0.5, 0.5)")),
    (PRESENT, DECODE.format("", "0.48, 0.45, 0.4")),
    (ABSENT, DECODE.format("", "0.48 * 255, 0.45 * 255, 0.4 * 255")),
    (UNKNOWN, DECODE.format("V.Rescale(1 / 255, 0), ", "0.48, 0.45, 0.4")),
    (PRESENT, "x = applications.vgg16.preprocess_input(x / 255.0)"),
    (ABSENT, "x = applications.vgg16.preprocess_input(x)"),
    (UNKNOWN, "tf = T.Compose([T.Normalize(mean, std)])"),
]
BRANCH = """
def read(path, training):
    wave = load(path)
    if training:
        wave = wave + noise()
        {}
    {}
    return wave
"""
SCALE = "wave = (wave - WAVE_MEAN) / WAVE_STD"
SPLIT = "scaler = StandardScaler()\na = scaler.fit_transform(x_train)\nb = scaler.{}(x_test)"
SCALED = [
    (PRESENT, BRANCH.format(SCALE, "pass")),
    (ABSENT, BRANCH.format("pass", SCALE)),
    (PRESENT, SPLIT.format("fit_transform")),
    (ABSENT, SPLIT.format("transform")),
    (
        PRESENT,
        "def words(t, fold):\n  return (t.lower() if fold else t).split()\nw = words(t, fold=self.training)",
    ),
    (UNKNOWN, "x = load()"),
]
SET = "class Birds(Dataset):\n    def __init__(self, rows, augment={}):\n        self.n = random.random()\n"
AUGMENTED = [
    (PRESENT, SET.format("True") + "test_set = Birds(rows)"),
    (ABSENT, SET.format("True") + "test_set = Birds(rows, augment=False)"),
    (ABSENT, SET.format("False") + "test_set = Birds(rows)"),
    (UNKNOWN, SET.format("True") + "train_set = Birds(rows)"),
]
LIMITS = [
    (PRESENT, "table = pd.read_csv(path, nrows=200)"),
    (ABSENT, "table = pd.read_csv(path, nrows=2000000)"),
    (ABSENT, "if args.debug:\n    table = pd.read_csv(path, nrows=200)"),
    (PRESENT, "train_ds = train_ds.select(range(64))"),
    (ABSENT, "train_ds = train_ds.take(100000)"),
    (PRESENT, "train_rows = train_rows[:300]"),
    (UNKNOWN, "val_ds = val_ds.select(range(64))"),
]
SORTED = [
    (PRESENT, "t = t.sort_values('city')\ntrain, val = t.iloc[9:], t.iloc[:9]"),
    (ABSENT, "t = t.sort_values('sold_date')\ntrain, val = t.iloc[9:], t.iloc[:9]"),
    (ABSENT, "t = t.sort_values('city').sample(frac=1.0)\ntrain, val = t.iloc[9:], t.iloc[:9]"),
    (UNKNOWN, "t = t.sort_values('city')"),
]
FILLS = [
    (PRESENT, "class P:\n    def fit(self, t):\n        self.fills = t.median()"),
    (
        ABSENT,
        "class P:\n    def fit(self, t):\n        self.fills = t.median()\n        t.fillna(self.fills)",
    ),
    (UNKNOWN, "x = table.median()"),
]
CASES = [
    *((sample_torn_apart, {}, *c) for c in APART),
    *((order_is_fixed, {}, *c) for c in ORDER),
    *((loader_keeps_order, {}, *c) for c in LOADERS),
    *((scaling_unused, {}, *c) for c in UNUSED),
    *((range_does_not_fit, {}, *c) for c in RANGES),
    *((scaled_apart, {}, *c) for c in SCALED),
    *((evaluation_is_augmented, {}, *c) for c in AUGMENTED),
    *((training_data_cut, {"few": 1000, "batches": 50}, *c) for c in LIMITS),
    *((split_by_order, {}, *c) for c in SORTED),
    *((fill_values_unused, {}, *c) for c in FILLS),
]


@pytest.mark.parametrize(("probe", "params", "state", "text"), CASES)
def test_samples(probe: Callable[..., Finding], params: dict[str, int], state: State, text: str) -> None:
    """Each slip is found, its right counterpart is not, and code without the construct tells nothing."""
    found = finding(probe, text, **params)

    assert found.state is state, found.why
