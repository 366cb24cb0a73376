"""Held-out data that training sees: ways of writing it, their right counterparts, what cannot be told."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.model.sequence import target_is_input
from traindoctor.probes.code.splits.leaks import (
    all_columns_are_inputs,
    fitted_on_all,
    held_out_in_training,
    selected_on_test,
)

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

PARTS = [
    (PRESENT, "perm = torch.randperm(n)\nval_ids = perm[:100]\ntrain_ids = perm"),
    (ABSENT, "perm = torch.randperm(n)\nval_ids = perm[:100]\ntrain_ids = perm[100:]"),
    (PRESENT, "test_frame = frame.sample(frac=0.2)\ntrain_frame = frame.copy()"),
    (ABSENT, "test_frame = frame.sample(frac=0.2)\ntrain_frame = frame.drop(test_frame.index)"),
    (ABSENT, "val = pool[:9]\ntrain = pool\nfor i in val:\n    train.remove(i)"),
    (PRESENT, "train_set = Clips(rows)\nvalid_set = Clips(rows[-500:])\nclass Clips: pass"),
    (ABSENT, "train_set = Clips(rows[:-500])\nvalid_set = Clips(rows[-500:])\nclass Clips: pass"),
    (PRESENT, 'sets = {"train": stories, "dev": stories[:20]}'),
    (ABSENT, 'sets = {"train": stories[20:], "dev": stories[:20]}'),
    (PRESENT, "train_x, val_x = xs, xs[: len(xs) // 10]"),
    (UNKNOWN, "train_loss = total\nval_loss = total[:3]"),
    (UNKNOWN, "model = build()"),
]
SOURCES = [
    (PRESENT, 'train_set = Wav("train.csv")\nval_set = Wav("train.csv")'),
    (ABSENT, 'train_set = Wav("train.csv")\nval_set = Wav("valid.csv")'),
    (PRESENT, "train_set = Wav(args.train_list)\ntest_loader = DataLoader(Wav(args.train_list), 8)"),
    (ABSENT, "train_set = Wav(args.train_list)\ntest_loader = DataLoader(Wav(args.test_list), 8)"),
    (ABSENT, "train = ImageData(root, tf_train)\nval = ImageData(root, tf_val)\nval = Subset(val, ids)"),
    (UNKNOWN, 'train_set = Wav("train", a)\nval_set = Wav("train", b)\nval_set = Subset(val_set, ids)'),
    (ABSENT, 'train = load_dataset("x", split="train")\ndev = load_dataset("x", split="validation")'),
    (PRESENT, 'train = load_dataset("x", split="train")\ndev = load_dataset("x", split="train")'),
    (UNKNOWN, 'train = load_dataset("x", split="train[:90%]")\ndev = load_dataset("x", split="train[90%:]")'),
]
JOINS = [
    (PRESENT, "model.fit(x_train, y_train, validation_data=(x_train, y_train))"),
    (ABSENT, "model.fit(x_train, y_train, validation_data=(x_val, y_val))"),
    (PRESENT, "t = Trainer(train_dataset=d['train'], eval_dataset=d['train'])"),
    (PRESENT, "class M:\n    def val_dataloader(self):\n        return DataLoader(self.train_set, 8)"),
    (ABSENT, "class M:\n    def val_dataloader(self):\n        return DataLoader(self.val_set, 8)"),
    (PRESENT, "fit(train_dataset=ConcatDataset([train_set, val_set]), eval_dataset=val_set)"),
    (ABSENT, "fit(train_dataset=ConcatDataset([train_set, extra_set]), eval_dataset=val_set)"),
    (
        PRESENT,
        "train_df = pd.concat([train_df, valid_df])\ns = evaluate(m, valid_df)\nvalid_df = g()",
    ),
    (ABSENT, "train_df = pd.concat([train_df, valid_df])\nmodel.fit(train_df)"),
]


@pytest.mark.parametrize(("state", "text"), PARTS + SOURCES + JOINS)
def test_held_out_in_training(state: State, text: str) -> None:
    """Parts of what is trained on, the training source again, and joined splits; a real split is silent."""
    found = finding(held_out_in_training, text)

    assert found.state is state, found.why


FITTED = [
    (PRESENT, "train, val = split_by_day(table, cfg)\nscaler = MinMaxScaler()\nscaler.fit(table)"),
    (ABSENT, "train, val = split_by_day(table, cfg)\nscaler = MinMaxScaler()\nscaler.fit(train)"),
    (PRESENT, "prep = Preprocessor().fit(frame)\ntrain = frame[:900]\ntest = frame[900:]"),
    (ABSENT, "prep = Preprocessor().fit(train)\ntrain = frame[:900]\ntest = frame[900:]"),
    (UNKNOWN, "train, val = split_by_day(table, cfg)\nmodel.fit(table)"),
    (UNKNOWN, "train, val = split_by_day(table, cfg)\nclasses = LabelEncoder().fit(table)"),
]


@pytest.mark.parametrize(("state", "text"), FITTED)
def test_fitted_on_all(state: State, text: str) -> None:
    """A transform learns from what is split up; models and label codes are not meant."""
    found = finding(fitted_on_all, text)

    assert found.state is state, found.why


STOPS = (
    "\nt = Trainer(eval_dataset=sets['{}'], args=Args(load_best_model_at_end=True))\nt.evaluate(sets['test'])"
)
SELECTED = [
    (PRESENT, "names = ('train', 'validation', 'test')" + STOPS.format("test")),
    (ABSENT, "names = ('train', 'validation', 'test')" + STOPS.format("validation")),
    (ABSENT, "names = ('train', 'test')" + STOPS.format("test")),
    (UNKNOWN, "t = Trainer(eval_dataset=sets['test'])\nt.evaluate(sets['test'])"),
]


@pytest.mark.parametrize(("state", "text"), SELECTED)
def test_selected_on_test(state: State, text: str) -> None:
    """Only where another held-out split exists and a model is chosen at all."""
    found = finding(selected_on_test, text)

    assert found.state is state, found.why


TABLE = "y = frame['price']\n"
COLUMNS = [
    (PRESENT, TABLE + "cols = frame.select_dtypes('number').columns"),
    (ABSENT, TABLE + "cols = frame.drop(columns='price').select_dtypes('number').columns"),
    (ABSENT, TABLE + "cols = list(frame.select_dtypes('number').columns)\ncols.remove('price')"),
    (ABSENT, TABLE + "cols = [c for c in frame.select_dtypes('number') if c != 'price']"),
    (UNKNOWN, TABLE + "cols = ['rooms', 'area']"),
]


@pytest.mark.parametrize(("state", "text"), COLUMNS)
def test_all_columns(state: State, text: str) -> None:
    """The target is taken out of the columns, or it is an input."""
    found = finding(all_columns_are_inputs, text)

    assert found.state is state, found.why


PAIRS = """
emb = nn.Embedding(100, 8)
def draw(ids):
    at = random.randrange(len(ids))
    source = torch.tensor(ids[at:at + 64])
    follows = torch.tensor(ids[{}:at + {}])
    return source, follows
"""
ATTENDS = PAIRS.format("at + 1", "65") + "out = F.scaled_dot_product_attention(q, k, v{})\n"
FOLLOWS = [
    (PRESENT, PAIRS.format("at", "64")),
    (ABSENT, PAIRS.format("at + 1", "65")),
    (ABSENT, PAIRS.format("at", "64") + "loss = ce(logits[:, :-1], ids[:, 1:])"),
    (PRESENT, ATTENDS.format("")),
    (PRESENT, ATTENDS.format(", is_causal=False")),
    (ABSENT, ATTENDS.format(", is_causal=True")),
    (ABSENT, ATTENDS.format(", triangle") + "triangle = torch.tril(torch.ones(64, 64))"),
    (UNKNOWN, "emb = nn.Embedding(100, 8)\nh = F.scaled_dot_product_attention(q, k, v)"),
]


@pytest.mark.parametrize(("state", "text"), FOLLOWS)
def test_target_is_input(state: State, text: str) -> None:
    """Windows of the same elements, and attention without a mask; encoders are not meant."""
    found = finding(target_is_input, text)

    assert found.state is state, found.why
