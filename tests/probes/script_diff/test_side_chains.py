"""Two sides of one script's data: what is done to training and to held-out data, followed step by step."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.labels.numbering import classes_numbered_apart, words_numbered_apart
from traindoctor.probes.code.splits.alike import splits_processed_differently
from traindoctor.probes.config.splits import splits_differ

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

EARLY = """
class Tiles(Dataset):
    def __init__(self, files, split):
        self.files, self.learns = files, split == "train"
    def __getitem__(self, i):
        pic = torch.from_numpy(imread(self.files[i])).float()
        {first}
        {then}
        if self.learns and torch.rand(()) < 0.5:
            pic = pic.flip(-1)
        return pic, self.labels[i]
train_set = Tiles(train_files, "train")
val_set = Tiles(val_files, "val")
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=64)
"""
MAPS = """
import tensorflow as tf
def load(path, label):
    return tf.io.decode_jpeg(tf.io.read_file(path)), label
def for_training(pic, label):
    pic = tf.image.random_flip_left_right(tf.image.resize(pic, (160, 160)))
    pic = tf.image.random_crop(pic, (128, 128, 3))
    return {train}, label
def for_evaluation(pic, label):
    pic = tf.image.resize_with_crop_or_pad(pic, 128, 128)
    return {held}, label
def blend(pics, labels):
    lam = tf.random.uniform((), 0.5, 1.0)
    return lam * pics + (1 - lam) * tf.reverse(pics, [0]), labels
def make(paths, labels, fit):
    ds = tf.data.Dataset.from_tensor_slices((paths, labels)).map(load)
    if fit:
        return ds.shuffle(1000).map(for_training).batch(32).map(blend).prefetch(2)
    return ds.map(for_evaluation).batch(64).prefetch(2)
train_ds = make(a, b, True)
val_ds = make(c, d, False)
model.fit(train_ds, validation_data=val_ds)
"""
TABLE = """
import numpy as np
class Scaler:
    def fit(self, x):
        self.low, self.spread = np.median(x, axis=0), np.std(x, axis=0) + 1e-6
        return self
    def __call__(self, x):
        return (x - self.low) / self.spread
def pack(part, scale):
    return scale(part[:, :-1]).astype("float32"), part[:, -1:]
def build(table, n):
    train, valid = table[:n], table[n:]
    {scaler}
    return pack(train, scaler), pack(valid, {held})
(x_train, y_train), (x_valid, y_valid) = build(load(), 1000)
"""
JOINS = """
class Rows(Dataset):
    def __getitem__(self, i):
        return self.gaps[i], self.labels[i]
def join(items):
    gaps = torch.tensor([g for g, _ in items])
    return gaps, torch.tensor([y for _, y in items])
def join_scaled(items):
    gaps, y = join(items)
    return torch.log1p(gaps), y
def loader(rows, fit):
    return DataLoader(rows, batch_size=8, shuffle=fit, collate_fn={joins})
def build():
    train_rows, val_rows = Rows(a), Rows(b)
    return loader(train_rows, True), loader(val_rows, False)
"""
STEPS = """
import torchvision.transforms as T
upright = T.Lambda(lambda pic: pic.transpose(1, 2))
train_tf = T.Compose([T.RandomResizedCrop(64), T.ColorJitter(0.2), T.ToTensor(), {train}])
test_tf = T.Compose([T.Resize(72), T.CenterCrop(64), T.ToTensor(), {held}])
train_set = EMNIST(root, train=True, transform=train_tf)
test_set = EMNIST(root, train=False, transform=test_tf)
"""
NORMAL = "T.Normalize((0.5,), (0.25,))"
SOUND = """
class Clips(Dataset):
    def __init__(self, rows, fit):
        self.rows, self.fit = rows, fit
    def __getitem__(self, i):
        wav = torch.from_numpy(np.load(self.rows[i]["file"]).astype(np.float32)){all}
        if len(wav) < 8000:
            wav = F.pad(wav, (0, 8000 - len(wav)))
        start = int(torch.randint(0, len(wav) - 7999, ())) if self.fit else 0
        wav = wav[start:start + 8000]
        if self.fit:
            wav = wav{train} * 10 ** (torch.empty(()).uniform_(-6, 6) / 20)
            wav = wav + 0.01 * torch.randn_like(wav)
        return wav, self.rows[i]["tag"]
class Sounds(LightningDataModule):
    def setup(self, stage=None):
        self.train_set, self.val_set = Clips(read("a.csv"), True), Clips(read("b.csv"), False)
    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=16, shuffle=True)
    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=16)
"""
WORDS = """
def load(split):
    return list(open(split))
def encode(text):
    return tokenizer(text{lower}, truncation=True)
def encode_plain(text):
    return tokenizer(text, truncation=True)
train_data = [encode(t) for t in load("train.txt")]
val_data = [{held}(t) for t in load("val.txt")]
"""
INPUTS = [
    # another range of values for one side, by an early return, a branch, a second function
    (
        PRESENT,
        EARLY.format(
            first="if not self.learns:\n            return pic / 255, 0", then="pic = pic / 127.5 - 1"
        ),
    ),
    (
        PRESENT,
        EARLY.format(first="pic = pic / 255", then="if self.learns:\n            pic = (pic - 0.5) / 0.2"),
    ),
    (PRESENT, EARLY.format(first="pic = pic[..., ::-1] if self.learns else pic", then="pic = pic / 255")),
    (
        ABSENT,
        EARLY.format(
            first="if not self.learns:\n            return (pic / 255 - 0.5) * 2, 0",
            then="pic = pic / 127.5 - 1",
        ),
    ),
    (ABSENT, EARLY.format(first="pic = pic / 255", then="pic = (pic - 0.5) / 0.2")),
    (
        ABSENT,
        EARLY.format(
            first="pic = random_crop(pic) if self.learns else center_crop(pic)", then="pic = pic / 255"
        ),
    ),
    (
        ABSENT,
        EARLY.format(
            first="pic = pic / 255", then="pic = pic + 0.1 * torch.randn(3) if self.learns else pic"
        ),
    ),
    (
        PRESENT,
        MAPS.format(
            train="(tf.cast(pic, tf.float32) / 255 - 0.45) / 0.22",
            held="tf.cast(pic, tf.float32) / 127.5 - 1.0",
        ),
    ),
    (PRESENT, MAPS.format(train="pic / 255.0", held="pic")),
    (ABSENT, MAPS.format(train="pic / 255.0", held="tf.image.convert_image_dtype(pic, tf.float32)")),
    (ABSENT, MAPS.format(train="pic / 255.0", held="pic * (1.0 / 255)")),
    # the statistics of the part itself; no scaling at all
    (
        PRESENT,
        TABLE.format(scaler="scaler = Scaler().fit(train[:, :-1])", held="Scaler().fit(valid[:, :-1])"),
    ),
    (PRESENT, TABLE.format(scaler="scaler = Scaler().fit(train[:, :-1])", held="lambda x: x")),
    (ABSENT, TABLE.format(scaler="scaler = Scaler().fit(train[:, :-1])", held="scaler")),
    (ABSENT, TABLE.format(scaler="scaler = Scaler()\n    scaler.fit(train[:, :-1])", held="scaler")),
    # two ways to join samples
    (PRESENT, JOINS.format(joins="join_scaled if fit else join")),
    (ABSENT, JOINS.format(joins="join_scaled")),
    # lists of steps
    (PRESENT, STEPS.format(train=f"upright, {NORMAL}", held=NORMAL)),
    (PRESENT, STEPS.format(train=NORMAL, held="T.Normalize((0.1,), (0.9,))")),
    (ABSENT, STEPS.format(train=f"{NORMAL}, T.RandomErasing()", held=NORMAL)),
    (ABSENT, STEPS.format(train=f"upright, {NORMAL}", held=f"upright, {NORMAL}")),
    # full scale in the gain of training
    (PRESENT, SOUND.format(all="", train=" / 32768.0")),
    (ABSENT, SOUND.format(all=" / 32768.0", train="")),
    # text
    (PRESENT, WORDS.format(lower=".lower()", held="encode_plain")),
    (ABSENT, WORDS.format(lower=".lower()", held="encode")),
]


SALTED = """
def bucket(text):
    return zlib.crc32(text.encode()) % 1024
def build(rows):
    train_rows, val_rows = [], []
    for user, items in rows:
        key = bucket("user=" + user)
        train_rows.append((key, items[:-1]))
        {own}
        val_rows.append((key, items))
    return train_rows, val_rows
train_rows, val_rows = build(read())
"""
NAMED = """
class Defects(Dataset):
    def __init__(self, config, n):
        self.pics, self.y = [], []
        for label, (name, count) in enumerate(zip(config["names"], n)):
            for _ in range(count):
                self.pics.append(draw(name))
                self.y.append(label)
    def __getitem__(self, i):
        return self.pics[i], self.y[i]
def make(config, fit):
    if fit:
        return Defects(config, config["train"])
    return Defects({held}, config["val"])
train_set, val_set = make(load(), True), make(load(), False)
"""


def test_texts_are_hashed_with_the_same_mark() -> None:
    assert finding(splits_differ, SALTED.format(own="key = bucket(user)")).state is PRESENT
    assert finding(splits_differ, SALTED.format(own="key = bucket('user=' + user)")).state is not PRESENT


def test_classes_are_counted_in_one_order() -> None:
    held = "{**config, 'names': sorted(config['names'])}"
    assert finding(classes_numbered_apart, NAMED.format(held=held)).state is PRESENT
    assert finding(classes_numbered_apart, NAMED.format(held="config")).state is not PRESENT


@pytest.mark.parametrize(("state", "text"), INPUTS)
def test_both_sides_go_through_the_same_steps(state: State, text: str) -> None:
    told = finding(splits_differ, text)
    assert (told.state is PRESENT) is (state is PRESENT), told.why


def test_one_line_that_both_sides_go_through_is_quoted_once() -> None:
    """Where one value in it depends on the side, the line is not put beside itself."""
    first = "scale = 255 if self.learns else 127.5"
    told = finding(splits_differ, EARLY.format(first=first, then="pic = pic / scale"))
    assert told.state is PRESENT
    assert told.why.count("pic / scale") == 1


def test_both_lines_are_quoted() -> None:
    first = "if not self.learns:\n            return pic / 255, 0"
    told = finding(splits_differ, EARLY.format(first=first, then="pic = pic / 127.5 - 1"))
    assert "`return pic / 255, 0`" in told.why
    assert "`pic = pic / 127.5 - 1`" in told.why
    assert {p.line for p in told.where} == {9, 10}


PARTS = """
class Windows(Dataset):
    def __init__(self, values):
        self.values = values
    def __getitem__(self, i):
        return self.values[i:i + 24], self.values[i + 24]
def build(values, n, m):
    mean, std = values[:n].mean(0), values[:n].std(0)
    parts = [values[:n], values[n:m], values[m:]]
    train_set, val_set, test_set = (Windows({scaled}) for part in parts)
    return train_set, val_set, test_set
"""
CLASSES = """
class Tagged(Dataset):
    def __init__(self, rows, tags):
        self.rows = rows
        {table}
        self.y = [index[r["tag"]] for r in rows]
    def __getitem__(self, i):
        return imread(self.rows[i]["file"]), self.y[i]
train_rows = [r for r in read() if r["fold"] < 4]
val_rows = [r for r in read() if r["fold"] == 4]
train_set, val_set = Tagged(train_rows, TAGS), Tagged(val_rows, TAGS)
"""
CODES = """
import numpy as np
class Codes(Dataset):
    def __init__(self, table, keep):
        {codes}
    def __getitem__(self, i):
        return self.x[i], self.y[i]
order = np.random.default_rng(0).permutation(len(table))
train_set, val_set = Codes(table, order[:900]), Codes(table, order[900:])
"""
OWN = """
class Clips(Dataset):
    def __init__(self, files, stats=None):
        self.files = files
        self.mean, self.std = {chosen}
    def _statistics(self):
        stack = np.stack([load(f) for f in self.files])
        return stack.mean(), stack.std()
    def __getitem__(self, i):
        return (load(self.files[i]) - self.mean) / self.std, self.files[i].parent.name
train_set = Clips(train_files)
val_set = Clips(val_files{given})
"""


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (PRESENT, OWN.format(chosen="stats or self._statistics()", given="")),
        (ABSENT, OWN.format(chosen="stats or self._statistics()", given=", (train_set.mean, train_set.std)")),
        (
            ABSENT,
            OWN.format(
                chosen="(stats is None and self._statistics()) or stats",
                given=", (train_set.mean, train_set.std)",
            ),
        ),
        (PRESENT, PARTS.format(scaled="(part - part.mean(0)) / part.std(0)")),
        (ABSENT, PARTS.format(scaled="(part - mean) / std")),
    ],
)
def test_parts_are_scaled_by_figures_of_training(state: State, text: str) -> None:
    told = finding(splits_differ, text)
    assert (told.state is PRESENT) is (state is PRESENT), told.why


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (
            True,
            CLASSES.format(table="index = {t: i for i, t in enumerate(sorted({r['tag'] for r in rows}))}"),
        ),
        (False, CLASSES.format(table="index = {t: i for i, t in enumerate(tags)}")),
        (
            True,
            CODES.format(
                codes="self.x, kinds = table[keep], table['kind'][keep]\n"
                "        names, self.y = np.unique(kinds, return_inverse=True)"
            ),
        ),
        (
            False,
            CODES.format(
                codes="self.x, kinds = table[keep], table['kind']\n"
                "        self.y = np.unique(kinds, return_inverse=True)[1][keep]"
            ),
        ),
    ],
)
def test_classes_are_numbered_once(wrong: bool, text: str) -> None:
    told = finding(classes_numbered_apart, text)
    assert (told.state is PRESENT) is wrong, told.why


EACH_BATCH = """
offices = sorted(set(rows["train"]["office"]))
{outside}
def encode(batch):
    {inside}
    out = tokenizer(batch["text"], truncation=True)
    out["labels"] = [ids[o] for o in batch["office"]]
    return out
rows = rows.map(encode, batched=True)
"""


def test_classes_are_not_numbered_in_each_batch() -> None:
    inside = "ids = {o: i for i, o in enumerate(sorted(set(batch['office'])))}"
    told = finding(classes_numbered_apart, EACH_BATCH.format(outside="", inside=inside))
    assert told.state is PRESENT
    outside = "ids = {o: i for i, o in enumerate(offices)}"
    assert (
        finding(classes_numbered_apart, EACH_BATCH.format(outside=outside, inside="pass")).state
        is not PRESENT
    )


WORDS_OF_SPLIT = """
train_words = [line.split() for line in open("train.txt")]
val_words = [line.split() for line in open("val.txt")]
ids = {{w: i for i, w in enumerate(sorted(set(sum(train_words, []))))}}
{own}
train_data = torch.tensor([ids[w] for line in train_words for w in line])
val_data = torch.tensor([{held}[w] for line in val_words for w in line])
"""


@pytest.mark.parametrize(
    ("wrong", "own", "held"),
    [
        (True, "more = {w: i for i, w in enumerate(sorted(set(sum(val_words, []))))}", "more"),
        (False, "more = ids", "more"),
        (False, "", "ids"),
    ],
)
def test_held_out_words_have_the_ids_of_training(wrong: bool, own: str, held: str) -> None:
    told = finding(words_numbered_apart, WORDS_OF_SPLIT.format(own=own, held=held))
    assert (told.state is PRESENT) is wrong, told.why


SHIFTED = """
def from_zero(y):
    return y - 1
train_set = EMNIST(root, split="letters", train=True, transform=tf, target_transform=from_zero)
test_set = EMNIST(root, split="letters", train=False, transform=tf{held})
"""
TARGETS = """
train_x, train_y = load("train")
test_x, test_y = load("test")
train_y = (train_y - centre) / spread
{held}
train_set, test_set = TensorDataset(train_x, train_y), TensorDataset(test_x, test_y)
def score(model):
    return ((model(test_x){back} - test_y) ** 2).mean()
"""


FITTED = """
(x_train, y_train), (x_val, y_val) = load("train"), load("val")
a, b = np.log1p(y_train), {held}
model.fit(x_train, a, validation_data=(x_val, b), callbacks=[EarlyStopping(restore_best_weights=True)])
print(np.abs(np.expm1(model.predict(x_val)) - y_val).mean())
"""


@pytest.mark.parametrize(("wrong", "held"), [(True, "y_val"), (False, "np.log1p(y_val)")])
def test_one_loss_meets_targets_of_one_scale(wrong: bool, held: str) -> None:
    told = finding(splits_differ, FITTED.format(held=held))
    assert (told.state is PRESENT) is wrong, told.why


@pytest.mark.parametrize(("wrong", "held"), [(True, ""), (False, ", target_transform=from_zero")])
def test_labels_are_shifted_for_both(wrong: bool, held: str) -> None:
    told = finding(splits_processed_differently, SHIFTED.format(held=held), labels=True)
    assert (told.state is PRESENT) is wrong, told.why


RIGHT = {
    "noise of a fixed size for training, clean for evaluation": """
class Pairs(Dataset):
    def __init__(self, files, fit): self.files, self.fit = files, fit
    def __getitem__(self, i):
        clean = imread(self.files[i]) / 255.0
        if self.fit:
            return clean + np.random.normal(0, 0.1, clean.shape), clean
        return imread(self.files[i] + ".noisy") / 255.0, clean
train_set, val_set = Pairs(train_files, True), Pairs(val_files, False)
""",
    "smoothed labels": """
class Pics(Dataset):
    def __init__(self, files, fit): self.files, self.fit = files, fit
    def __getitem__(self, i):
        y = F.one_hot(self.y[i], 10).float()
        if self.fit:
            y = smooth(y)
        return imread(self.files[i]) / 255.0, y
def smooth(y, eps=0.1):
    return y * (1 - eps) + eps / 10
train_set, val_set = Pics(train_files, True), Pics(val_files, False)
""",
    "a step of another package": """
from prepare import normalise
class Pics(Dataset):
    def __init__(self, files, fit): self.files, self.fit = files, fit
    def __getitem__(self, i):
        if self.fit:
            return self.steps(imread(self.files[i])), self.y[i]
        return normalise(imread(self.files[i]) / 255.0), self.y[i]
train_set, val_set = Pics(train_files, True), Pics(val_files, False)
""",
    "there and back within the augmentation": """
class Pics(Dataset):
    def __init__(self, files, fit): self.files, self.fit = files, fit
    def __getitem__(self, i):
        pic = imread(self.files[i]) / 255.0
        if self.fit:
            pic = colours(pic * 255) / 255.0
        return (pic - 0.5) / 0.5, self.y[i]
train_set, val_set = Pics(train_files, True), Pics(val_files, False)
""",
    "hidden test files that are stored scaled": """
x_train, y_train = np.load("train.npz")["x"] / 255.0, np.load("train.npz")["y"]
x_test, y_test = load_scaled("test.npz")
""",
    "one sample scaled by itself": """
def crop(x, fit):
    x = (x - x.mean()) / x.std()
    return x[random.randrange(9):] if fit else x
train_data = [crop(np.load(f), True) for f in train_files]
val_data = [crop(np.load(f), False) for f in val_files]
""",
    "sizes of the splits": """
train_steps = len(x_train) / 32
val_steps = len(x_val) / 64 - 1
train_loss, val_loss = total / n, np.log(total_val)
""",
    "arrays that are kept by their names": """
def pack(rows):
    a, b = zip(*rows)
    return {"a": np.array(a), "b": np.array(b)}
def build(sessions):
    train, val = [], []
    for u in sorted(sessions):
        for p in range(1, 9):
            train.append((crc32("user=" + u), sessions[u][:p]))
        val.append((crc32("user=" + u), sessions[u][:-1]))
    return pack(train), pack(val)
train, val = build(read())
def rows(arrays):
    return TensorDataset(*(torch.from_numpy(arrays[k]) for k in ("a", "b")))
train_set, val_set = rows(train), rows(val)
""",
    "rows by a mask": """
is_val = np.random.default_rng(0).random(len(table)) < 0.2
scaler = StandardScaler().fit(table[~is_val])
x_train, x_val = scaler.transform(table[~is_val]), scaler.transform(table[is_val])
y_train, y_val = torch.from_numpy(target[~is_val]), torch.from_numpy(target[is_val])
""",
    "folders": """
class Pics(Dataset):
    def __init__(self, names, folder): self.names, self.folder = names, folder
    def __getitem__(self, i):
        return imread(self.folder + "/" + self.names[i] if self.folder else self.names[i]), self.y[i]
train_set, val_set = Pics(train_names, "pics"), Pics(val_names, "")
""",
    "a language model's next tokens": """
ids = np.memmap("all.bin", dtype=np.uint16)
train_data, val_data = ids[:n], ids[n:]
def batch(data):
    at = torch.randint(len(data) - 65, (32,))
    return torch.stack([data[i:i + 64] for i in at]), torch.stack([data[i + 1:i + 65] for i in at])
""",
    "held-out data of another camera": """
x_train, y_train = draw(1000)
x_val, y_val = draw(200)
train_set = TensorDataset(x_train / 255, y_train)
val_set = TensorDataset((0.7 * x_val + 12.0) / 255, y_val)
""",
    "one class of samples more often": """
train_df, val_df = table[table.fold != 0], table[table.fold == 0]
train_df = pd.concat([train_df, train_df[train_df.y == 1].sample(500, random_state=0)])
scaler = StandardScaler().fit(train_df[FEATURES])
x_train, x_val = scaler.transform(train_df[FEATURES]), scaler.transform(val_df[FEATURES])
y_train, y_val = train_df.y.to_numpy(), val_df.y.to_numpy()
""",
    "targets scaled back in the metric": TARGETS.format(held="", back=" * spread + centre"),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT.keys())
def test_what_belongs_to_one_side_is_no_fault(text: str) -> None:
    for told in (
        finding(splits_differ, text),
        finding(splits_processed_differently, text, labels=True),
        finding(classes_numbered_apart, text),
        finding(words_numbered_apart, text),
    ):
        assert told.state is not PRESENT, told.why


TORCH_STEPS = """
def fit(model, loader, optimizer):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        {before}
        loss = criterion(model({train}), y)
        loss.backward()
        optimizer.step()
@torch.no_grad()
def validate(model, loader):
    for x, y in loader:
        x = x.to(device)
        out = model({held})
        right += (out.argmax(1) == y).sum()
"""
TAPED = """
import tensorflow as tf
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model({train}, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
def test_step(x, y):
    metric.update_state(y, model({held}, training=False))
"""
INLINE = """
def main():
    net = Net().cuda()
    for epoch in range(9):
        for x, y in train_loader:
            out = 0.0
            for t in range(4):
                out += net({train})
            loss = criterion(out, y)
            loss.backward()
            reset(net)
        with torch.no_grad():
            for x, y in test_loader:
                out = sum(net({held}) for t in range(4))
"""
MODULE = """
class Task(LightningModule):
    def forward(self, x):
        return self.body(x)
    def training_step(self, batch, i):
        x, y = batch
        return F.mse_loss(self({train}), y)
    def validation_step(self, batch, i):
        x, y = batch
        self.log("val", F.mse_loss(self({held}), y))
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
"""


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (True, TORCH_STEPS.format(before="x = x / 255", train="x", held="x")),
        (True, TORCH_STEPS.format(before="pass", train="x, attention_mask=(x != 0)", held="x")),
        (True, TAPED.format(train="tf.cast(x, tf.float32) / 127.5 - 1", held="tf.cast(x, tf.float32) / 255")),
        (True, MODULE.format(train="torch.log1p(x)", held="x")),
        (True, TORCH_STEPS.format(before="x = x[:, [2, 1, 0]]", train="x", held="x")),
        (True, INLINE.format(train="x / 255.0", held="x")),
        (False, INLINE.format(train="x / 255.0", held="x / 255.0")),
        (False, TORCH_STEPS.format(before="x = x / 255", train="x", held="x * (1 / 255)")),
        (False, TORCH_STEPS.format(before="x = x + 0.1 * torch.randn_like(x)", train="x", held="x")),
        (False, TORCH_STEPS.format(before="m = torch.rand(len(x), 9) < 0.5", train="x, mask=m", held="x")),
        (False, TORCH_STEPS.format(before="x, y = mixup(x, y)", train="x", held="x")),
        (False, TAPED.format(train="x / 255", held="tf.math.divide(x, 255)")),
        (False, MODULE.format(train="self.augment(x)", held="x")),
    ],
)
def test_both_steps_give_the_model_the_same(wrong: bool, text: str) -> None:
    told = finding(splits_differ, text)
    assert (told.state is PRESENT) is wrong, told.why


def test_unknown_without_a_pair() -> None:
    assert finding(splits_differ, "loader = DataLoader(rows)\n").state is UNKNOWN


def test_endless_recursion_and_loops_end() -> None:
    text = "def f(x):\n    return g(f(x))\ndef g(x):\n    return f(g(x))\n" + "\n".join(
        f"x_train, x_val = f(x_train) + x_val, f(x_val) + x_train  # {i}" for i in range(400)
    )
    assert finding(splits_differ, text).state is not PRESENT


PEOPLE = """
def files_of(root):
    found = {{}}
    for who in sorted(os.listdir(root)):
        found[who] = sorted(glob(os.path.join(root, who, "*.png")))
    return found
class Threes(Dataset):
    def __init__(self, found, change):
        self.found, self.who, self.change = found, list(found), change
    def __getitem__(self, i):
        one, two = random.sample(self.found[self.who[i % len(self.who)]], 2)
        return self.change(Image.open(one).convert("L")), self.change(Image.open(two).convert("L"))
class Twos(Dataset):
    def __init__(self, found, change):
        self.pairs = [(f[0], f[1], 1) for f in found.values()]
        self.change = change
    def __getitem__(self, i):
        one, two, same = self.pairs[i]
        return self.change(Image.open(one).convert("L")), self.change(Image.open(two).convert("L")), same
found = files_of("people")
names = list(found)
train_found = {{n: found[n] for n in names[4:]}}
val_found = {{n: found[n] for n in names[:4]}}
train_tf = T.Compose([T.RandomAffine(5), T.ToTensor(), T.Normalize([0.9], [0.2])])
val_tf = T.Compose([T.ToTensor(){norm}])
train_loader = DataLoader(Threes(train_found, train_tf), batch_size=32, shuffle=True)
val_loader = DataLoader(Twos(val_found, val_tf), batch_size=64)
"""


@pytest.mark.parametrize(("wrong", "norm"), [(False, ", T.Normalize([0.9], [0.2])"), (True, "")])
def test_files_that_are_looked_up_are_no_numbering(wrong: bool, norm: str) -> None:
    told = finding(splits_differ, PEOPLE.format(norm=norm))
    assert (told.state is PRESENT) is wrong, told.why


GIVEN = """
class Rows(Dataset):
    def __init__(self, frame, mean=None, std=None):
        values = frame.to_numpy(dtype=np.float32)
        if mean is None:
            mean = values.mean(axis=0)
            std = values.std(axis=0) + 1e-6
        self.mean, self.std = mean, std
        self.values = (values - mean) / std
    def __getitem__(self, i):
        return torch.from_numpy(self.values[i])
stats = frame.iloc[:800].agg(["mean", "std"]).to_numpy()
train_set = Rows(frame.iloc[:800], stats[0], stats[1])
val_set = Rows(frame.iloc[800:]{handed})
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=32)
"""


@pytest.mark.parametrize("handed", [", train_set.mean, train_set.std", ", stats[0], stats[1]"])
def test_figures_that_are_handed_over_where_own_ones_might_be_taken(handed: str) -> None:
    assert finding(splits_differ, GIVEN.format(handed=handed)).state is not PRESENT
