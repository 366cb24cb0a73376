"""Numbers of classes and words, and positions without a label."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.labels.masking import label_padding_counts, mask_is_interpolated
from traindoctor.probes.code.labels.numbering import classes_numbered_apart, words_numbered_apart

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

READER = """
class Calls:
    def __init__(self, rows):
        self.rows = rows
        self.ids = {{name: i for i, name in enumerate({})}}
train_set = Calls(read("a.csv"))
test_set = Calls(read("b.csv"))
"""
CLASSES = [
    (PRESENT, "ids = {c: i for i, c in enumerate(set(kinds))}"),
    (ABSENT, "ids = {c: i for i, c in enumerate(sorted(set(kinds)))}"),
    (
        PRESENT,
        "birds = {r.bird for r in rows}\nids = dict((b, i) for i, b in enumerate(birds))\nids = "
        "{b: i for i, b in enumerate(birds)}",
    ),
    (PRESENT, "classes = list(set(y))\nt = [classes.index(v) for v in y]"),
    (ABSENT, "classes = list(set(y))\nclasses.sort()\nids = {c: i for i, c in enumerate(classes)}"),
    (PRESENT, "for i, c in enumerate(frozenset(kinds)):\n    ids[c] = i"),
    (PRESENT, "target = hash(row['kind']) % 40"),
    (ABSENT, "ids = {q: i for i, q in enumerate(set(queries))}".replace("ids =", "query_rows =")),
    (PRESENT, READER.format("dict.fromkeys(r.kind for r in rows)")),
    (UNKNOWN, READER.format("sorted({r.kind for r in rows})").replace("enumerate", "number")),
    (ABSENT, READER.format("sorted({r.kind for r in rows})")),
    (PRESENT, "train['y'] = pd.factorize(train.kind)[0]\ntest['y'] = pd.factorize(test.kind)[0]"),
    (PRESENT, "tr_y = LabelEncoder().fit_transform(tr.kind)\nva_y = LabelEncoder().fit_transform(va.kind)"),
    (PRESENT, "train['y'] = train.kind.map(a)\nval['y'] = val.kind.map(b)"),
    (ABSENT, "train['y'] = train.kind.map(a)\nval['y'] = val.kind.map(a)"),
    (PRESENT, "a = image_dataset_from_directory(p, class_names=c)\nb = image_dataset_from_directory(q)"),
    (ABSENT, "a = ImageFolderDataset(p, class_indexing=c)\nb = ImageFolderDataset(q, class_indexing=c)"),
    (UNKNOWN, "a = ImageFolder(p)\nb = ImageFolder(q)"),
]


@pytest.mark.parametrize(("state", "text"), CLASSES)
def test_classes(state: State, text: str) -> None:
    """Orders of sets and hashes, and numbers for each split by itself; one sorted table is silent."""
    found = finding(classes_numbered_apart, text)

    assert found.state is state, found.why


PAIR = "t = AutoTokenizer.from_pretrained({})\nm = AutoModelForMaskedLM.from_pretrained({})"
WORDS = [
    (PRESENT, "v = build_vocab(train_texts)\nw = build_vocab(test_texts)"),
    (ABSENT, "v = build_vocab(train_texts)\nw = Texts(test_texts, vocab=v)"),
    (PRESENT, PAIR.format("'roberta-base'", "'bert-base-uncased'")),
    (ABSENT, PAIR.format("'bert-base-uncased'", "'bert-base-uncased'")),
    (UNKNOWN, PAIR.format("'gpt2'", "'gpt2-large'")),
    (UNKNOWN, PAIR.format("args.tokenizer", "args.model")),
    (PRESENT, "e = nn.Embedding(9, 2)\nids = np.memmap(path, mode='r')"),
    (ABSENT, "e = nn.Embedding(9, 2)\nids = np.memmap(path, dtype=np.uint16, mode='r')"),
    (UNKNOWN, "ids = np.memmap(path, mode='r')"),
]


@pytest.mark.parametrize(("state", "text"), WORDS)
def test_words(state: State, text: str) -> None:
    """A vocabulary for each split, the tokenizer of another model, an item size by default."""
    found = finding(words_numbered_apart, text)

    assert found.state is state, found.why


LOSS = "loss = F.cross_entropy(model(x), seg, ignore_index=255)\n"
PIECES = """
for piece in enc.word_ids():
    if piece is None:
        row.append({})
    else:
        row.append(kinds[tags[piece]])
"""
PADS = [
    (PRESENT, LOSS + "seg = np.pad(seg, ((0, h), (0, w)))"),
    (ABSENT, LOSS + "seg = np.pad(seg, ((0, h), (0, w)), constant_values=255)"),
    (PRESENT, LOSS + "seg = F.pad(seg, (0, w), value=0)"),
    (ABSENT, LOSS + "VOID = 255\nseg = F.pad(seg, (0, w), value=VOID)"),
    (PRESENT, "criterion = nn.CrossEntropyLoss()\nl = criterion(o, y)\ny = pad_sequence(labels, True)"),
    (ABSENT, "criterion = nn.CrossEntropyLoss()\nl = criterion(o, y)\ny = pad_sequence(labels, True, -100)"),
    (PRESENT, "c = DataCollatorForSeq2Seq(tok, label_pad_token_id=0)"),
    (ABSENT, "c = DataCollatorForSeq2Seq(tok, label_pad_token_id=-100)"),
    (PRESENT, LOSS + "def __getitem__(i):\n    seg[seg == 255] = 0\n    return seg"),
    (UNKNOWN, LOSS + "def dice_loss(o, seg):\n    seg[seg == 255] = 0\n    return one_hot(seg) * valid"),
    (PRESENT, PIECES.format("kinds['O']")),
    (ABSENT, PIECES.format("-100")),
    (UNKNOWN, "x = np.pad(image, 4)"),
]


@pytest.mark.parametrize(("state", "text"), PADS)
def test_padding(state: State, text: str) -> None:
    """What labels are padded with is held against what the loss leaves out."""
    found = finding(label_padding_counts, text)

    assert found.state is state, found.why


RESIZED = "num_classes = 9\n"
MASKS = [
    (PRESENT, RESIZED + "mask = cv2.resize(mask, (w, h))"),
    (ABSENT, RESIZED + "mask = cv2.resize(mask, (w, h), interpolation=cv2.INTER_NEAREST)"),
    (PRESENT, RESIZED + "label = TF.resize(label, size, InterpolationMode.BILINEAR)"),
    (ABSENT, RESIZED + "mask = TF.resize(mask, size, InterpolationMode.BILINEAR)\nmask = (mask > 0.5)"),
    (UNKNOWN, RESIZED + "image = cv2.resize(image, (w, h))"),
    (UNKNOWN, "mask = cv2.resize(mask, (w, h))"),
]


@pytest.mark.parametrize(("state", "text"), MASKS)
def test_masks(state: State, text: str) -> None:
    """Masks of class numbers take the nearest neighbour; masks of two values may be cut afterwards."""
    found = finding(mask_is_interpolated, text)

    assert found.state is state, found.why
