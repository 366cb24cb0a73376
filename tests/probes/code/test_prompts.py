"""Labels of prompts, answers and padding."""

from __future__ import annotations

import pytest

from .._scripts import state

TUNED = """\
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained('gpt2')
tok.pad_token = tok.eos_token

def encode(row):
    prompt = tok(row['question'])['input_ids']
    answer = tok(row['answer'])['input_ids'] + [tok.eos_token_id]
    ids = prompt + answer
    {labels}
    return torch.tensor(ids), torch.tensor(labels)

def collate(rows):
    ids = pad_sequence([r[0] for r in rows], batch_first=True, padding_value=tok.pad_token_id)
    {padded}
    return dict(input_ids=ids, labels=labels)

model = AutoModelForCausalLM.from_pretrained('gpt2')
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
for batch in torch.utils.data.DataLoader([encode(r) for r in rows], batch_size=8, collate_fn=collate):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
RIGHT = "labels = [-100] * len(prompt) + answer"
PADDED = "labels = pad_sequence([r[1] for r in rows], batch_first=True, padding_value=-100)"


@pytest.mark.parametrize(
    ("labels", "padded"),
    [
        ("labels = prompt + [-100] * len(answer)", PADDED),
        ("labels = prompt[:64] + [-100] * len(answer)", PADDED),
        ("labels = np.array(ids)\n    labels[len(prompt):] = -100", PADDED),
        ("labels = torch.tensor(ids)\n    n_prompt = len(prompt)\n    labels[n_prompt:] = -100", PADDED),
        (RIGHT, PADDED.replace("-100", "tok.pad_token_id")),
        (RIGHT, PADDED.replace("-100", "0")),
        (
            RIGHT,
            "labels = torch.full(ids.shape, tok.eos_token_id)\n"
            "    for i, r in enumerate(rows):\n        labels[i, :len(r[1])] = r[1]",
        ),
    ],
)
def test_the_wrong_places_are_learned(labels: str, padded: str) -> None:
    program = TUNED.format(labels=labels, padded=padded)
    assert state("script-label-padding-counts", program) == "present"


@pytest.mark.parametrize(
    ("labels", "padded"),
    [
        (RIGHT, PADDED),
        ("labels = list(ids)\n    labels[:len(prompt)] = [-100] * len(prompt)", PADDED),
        ("labels = torch.tensor(ids)\n    n_prompt = len(prompt)\n    labels[:n_prompt] = -100", PADDED),
        ("labels = torch.tensor(ids)\n    labels[len(ids):] = -100", PADDED),
        # padded with the token, which is then marked
        (RIGHT, PADDED.replace("-100", "tok.pad_token_id") + "\n    labels[ids == tok.pad_token_id] = -100"),
        (
            RIGHT,
            PADDED.replace("-100", "0") + "\n    labels = labels.masked_fill(ids == tok.pad_token_id, -100)",
        ),
        # an encoder reads the question, a decoder learns the answer
        ("labels = answer + [-100] * (64 - len(answer))", PADDED),
        ("labels = [-100] * (len(prompt) - 1) + prompt[-1:] + answer", PADDED),
    ],
)
def test_prompts_and_padding_get_no_label(labels: str, padded: str) -> None:
    program = TUNED.format(labels=labels, padded=padded)
    assert state("script-label-padding-counts", program) != "present"


NEXT = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
PAD, BOS, EOS = 0, 1, 2

def collate(rows):
    ids = pad_sequence([torch.tensor(r) for r in rows], batch_first=True, padding_value=PAD)
    return ids[:, :-1], ids[:, 1:]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(90, 64), nn.GRU(64, 64, batch_first=True), nn.Linear(64, 90)
    def forward(self, x):
        return self.o(self.r(self.e(x))[0])

net = Net()
optimizer = torch.optim.Adam(net.parameters())
criterion = nn.CrossEntropyLoss(LEFT_OUT)
for x, y in torch.utils.data.DataLoader(lines, 32, shuffle=True, collate_fn=collate):
    optimizer.zero_grad()
    loss = criterion(net(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("left_out", "found"),
    [
        ("", True),
        ("ignore_index=EOS", True),
        ("ignore_index=PAD", False),
        ("ignore_index=0", False),
        ("weight=weights", False),
        ("reduction='none'", False),
    ],
)
def test_padding_of_what_comes_next(left_out: str, found: bool) -> None:
    program = NEXT.replace("LEFT_OUT", left_out)
    assert (state("script-label-padding-counts", program) == "present") is found


def test_padding_that_a_mask_takes_out() -> None:
    by_hand = NEXT.replace("LEFT_OUT", "").replace(
        "net(x).flatten(0, 1), y.flatten()", "net(x)[y != PAD], y[y != PAD]"
    )
    assert state("script-label-padding-counts", by_hand) != "present"
    marked = NEXT.replace("LEFT_OUT", "").replace(
        "    return ids", "    ids[ids == PAD] = -100\n    return ids"
    )
    assert state("script-label-padding-counts", marked) != "present"
