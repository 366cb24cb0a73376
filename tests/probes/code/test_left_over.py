"""What stands in a helper that nothing calls is no finding, nor does the name of a score tell of data."""

from __future__ import annotations

import pytest

from .._scripts import state

KERAS = """
import keras

def build():
    return keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])

def freeze(model):
    for layer in model.layers:
        layer.trainable = False

def main():
    model = build()
    CALL
    model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, epochs=9, validation_data=(a, b))

main()
"""
LIGHTNING = """
import torch.nn.functional as F
import pytorch_lightning as pl

def quick(model, data):
    pl.Trainer(max_epochs=9, overfit_batches=1).fit(model, data)

def main():
    model = Net()
    CALL
    pl.Trainer(max_epochs=9).fit(model, datamodule=data)

class Net(pl.LightningModule):
    def training_step(self, batch, i):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

main()
"""
ACCELERATE = """
import torch
from accelerate import Accelerator
cfg = {"accum": 8}
accelerator = Accelerator(MADE)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for i, batch in enumerate(loader):
    loss = model(**batch).loss
    accelerator.backward(LOSS)
    GATE
    if i % 20 == 0:
        print(loss.item())
"""
BY_HAND = "if (i + 1) % cfg['accum'] == 0:\n        optimizer.step()\n        optimizer.zero_grad()"
EACH = "optimizer.step()\n    optimizer.zero_grad()"


@pytest.mark.parametrize(("called", "found"), [("pass", False), ("freeze(model)", True)])
def test_a_helper_that_nothing_calls_freezes_nothing(called: str, found: bool) -> None:
    assert (state("script-freezes-parameters", KERAS.replace("CALL", called)) == "present") is found


@pytest.mark.parametrize(("called", "found"), [("pass", False), ("quick(model, data)", True)])
def test_a_trial_that_nothing_calls_cuts_no_epoch(called: str, found: bool) -> None:
    result = state("script-training-data-cut", LIGHTNING.replace("CALL", called))
    assert (result == "present") is found


@pytest.mark.parametrize(("loss", "found"), [("loss / cfg['accum']", False), ("loss", True)])
def test_a_count_out_of_a_table_divides(loss: str, found: bool) -> None:
    text = ACCELERATE.replace("MADE", "").replace("LOSS", loss).replace("GATE", BY_HAND)
    assert (state("script-accumulation-not-divided", text) == "present") is found


@pytest.mark.parametrize(("gate", "found"), [(BY_HAND, False), (EACH, True)])
def test_a_rest_that_only_prints_is_no_step(gate: str, found: bool) -> None:
    text = ACCELERATE.replace("MADE", 'gradient_accumulation_steps=cfg["accum"]').replace("LOSS", "loss")
    result = state("script-accumulation-without-effect", text.replace("GATE", gate))
    assert (result == "present") is found


ROUNDS = """
import torch
import torch.nn.functional as F
for epoch in range(9):
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    val_loss, acc = evaluate(model, test_loader)
    if ASKED:
        best = acc
        torch.save(model.state_dict(), "best.pt")
"""


@pytest.mark.parametrize(("asked", "found"), [("acc > best and rank == 0", False), ("rank == 0", True)])
def test_the_process_alone_asks_for_no_better_figure(asked: str, found: bool) -> None:
    result = state("script-best-chosen-wrongly", ROUNDS.replace("ASKED", asked))
    assert (result == "present") is found


CHOSEN = """
import torch
import torch.nn.functional as F
def main(model, train, test):
    for epoch in range(9):
        for x, y in train:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        val_loss, acc = evaluate(model, test)
        if acc > best:
            best = acc
            torch.save(model.state_dict(), "best.pt")
    model.load_state_dict(torch.load("best.pt"))
    print(evaluate(model, test))

def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        return sum(F.cross_entropy(model(x), y).item() for x, y in data), 0

train = load("train")
MADE
test = load("test")
main(model, train, test)
"""


def test_a_score_with_the_name_of_validation_is_no_data_held_back() -> None:
    assert state("script-training-sees-evaluation", CHOSEN.replace("MADE", "")) != "present"
