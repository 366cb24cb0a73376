"""Blocks put in the place of others, and words that a class of the script numbers for each side."""

from __future__ import annotations

import pytest

from .._scripts import state

SHARED = """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
config = BertConfig(num_hidden_layers=4)
model = BertForSequenceClassification(config)
{EDIT}
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_set, eval_dataset=dev_set)
trainer.train()
"""
NAMED = "layers = model.bert.encoder.layer\nfor i in range(1, len(layers)):\n    "


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ("", False),
        (NAMED + "layers[i] = layers[0]", True),
        ("for i in range(1, 4):\n    model.bert.encoder.layer[i] = model.bert.encoder.layer[0]", True),
        ("model.bert.encoder.layer[3] = model.bert.encoder.layer[2]", True),
        (NAMED + "layers[i] = layers[0]  # weights are shared, as in ALBERT\nshare_layers = True", False),
        (NAMED + "layers[i] = copy.deepcopy(layers[0])", False),
        (NAMED + "layers[i].load_state_dict(layers[0].state_dict())", False),
        ("kept = model.bert.encoder.layer[0]\nmodel.bert.encoder.layer[0] = model.bert.encoder.layer[1]\n"
         "model.bert.encoder.layer[1] = kept", False),  # they change places
        ("layers = [8, 16, 32]\nlayers[2] = layers[1]", False),  # widths
        ("history = log.layers\nhistory = []\nhistory[0] = history[1]", False),
    ],
)  # fmt: skip
def test_one_block_in_the_place_of_others(edit: str, told: bool) -> None:
    assert (state("script-layer-repeated", SHARED.replace("{EDIT}", edit)) == "present") is told


WORDS = """
import torch
class {NAME}:
    def __init__(self, texts{MORE}):
        {TABLE}
        for text in texts:
            for w in text.split():
                {ADDS}
    def __call__(self, text):
        return [self.vocab.get(w, 1) for w in text.split()]
tokenizer = {NAME}(t for t, _ in train)
{HELD}
train_set = [(torch.tensor(tokenizer(t)), y) for t, y in train]
dev_set = [(torch.tensor({USED}(t)), y) for t, y in dev]
model = torch.nn.EmbeddingBag(9000, 4)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(4):
    for x, y in train_set:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[None]), torch.tensor([y])).backward()
        optimizer.step()
"""
PARTS = {
    "NAME": "WordTokenizer", "MORE": "", "TABLE": "self.vocab = {'[PAD]': 0, '[UNK]': 1}",
    "ADDS": "self.vocab.setdefault(w, len(self.vocab))",
    "HELD": "dev_tokenizer = WordTokenizer(t for t, _ in dev)", "USED": "dev_tokenizer",
}  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({}, True),
        ({"ADDS": "if w not in self.vocab:\n                    self.vocab[w] = len(self.vocab)"}, True),
        ({"NAME": "Vocabulary", "HELD": "dev_tokenizer = Vocabulary([t for t, _ in dev])"}, True),
        ({"USED": "tokenizer"}, False),  # made, and no text is numbered by it
        ({"HELD": "print(len(set(WordTokenizer(t for t, _ in dev).vocab)))", "USED": "tokenizer"}, False),
        ({"MORE": ", v=None", "HELD": "dev_tokenizer = WordTokenizer(dev, tokenizer.vocab)"}, False),
        ({"ADDS": "pass", "TABLE": "self.vocab = json.load(open('vocab.json'))"}, False),
        ({"HELD": "dev_tokenizer = WordTokenizer(t for t, _ in train)"}, False),
    ],
)  # fmt: skip
def test_a_vocabulary_of_each_side(parts: dict[str, str], told: bool) -> None:
    text = WORDS
    for name, value in {**PARTS, **parts}.items():
        text = text.replace("{" + name + "}", value)
    assert (state("script-words-numbered-apart", text) == "present") is told


ZOO = """
import torch
from torch import nn
from torchvision.models import resnet18
model = resnet18()
{EDIT}
optimizer = torch.optim.Adam(model.parameters())
loss_of = nn.{LOSS}()
for x, y in loader:
    optimizer.zero_grad()
    loss = loss_of({USES}(x), y)
    loss.backward()
    optimizer.step()
"""
CUT = "model.fc = nn.Sequential(nn.Linear(512, 10), nn.ReLU())"


@pytest.mark.parametrize(
    ("edit", "loss", "uses", "told"),
    [
        (CUT, "CrossEntropyLoss", "model", True),
        ("model.fc = nn.Sequential(model.fc, nn.ReLU(inplace=True))", "BCEWithLogitsLoss", "model", True),
        (CUT, "MSELoss", "model", False),  # counts and lengths are not negative
        ("model.fc = nn.Sequential(nn.ReLU(), nn.Linear(512, 10))", "CrossEntropyLoss", "model", False),
        (CUT.replace("ReLU()", "ReLU(), nn.Linear(10, 10)"), "CrossEntropyLoss", "model", False),
        (CUT + "\nwhole = nn.Sequential(model, nn.Linear(10, 4))", "CrossEntropyLoss", "whole", False),
        ("model.layer4 = nn.Sequential(model.layer4, nn.ReLU())", "CrossEntropyLoss", "model", False),
    ],
)  # fmt: skip
def test_a_head_that_is_wrapped_with_a_relu(edit: str, loss: str, uses: str, told: bool) -> None:
    text = ZOO.replace("{EDIT}", edit).replace("{LOSS}", loss).replace("{USES}", uses)
    assert (state("script-output-rectified", text) == "present") is told


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("BertForSequenceClassification(config)", True),
        ("AutoModelForSequenceClassification.from_pretrained('m', num_labels=4)", True),
        ("AutoModel.from_pretrained('m')", False),
    ],
)
def test_a_head_of_a_trainers_classifier(made: str, told: bool) -> None:
    edit = "model.classifier = torch.nn.Sequential(model.classifier, torch.nn.ReLU())"
    text = SHARED.replace("BertForSequenceClassification(config)", made).replace("{EDIT}", edit)
    assert (state("script-output-rectified", text) == "present") is told
