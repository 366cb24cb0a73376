"""Edits of a loss that no backward call is seen of, and of what a checkpoint gives back."""

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import compare, sorted_out
from traindoctor.probes.run import Run

PROGRAM = """
import torch
from torch import nn
from framework import Brain


class Listener(Brain):
    def compute_objectives(self, predictions, batch, stage):
        ctc, seq = predictions
        loss = self.hparams.weight * self.hparams.ctc(ctc, batch.tokens) + self.hparams.seq(seq, batch.tokens)
        if stage == "test":
            self.errors.append(batch.id, seq)
        return loss

    def training_step(self, batch, place):
        far_off = self.model.distance(batch["wave"], batch["words"]).mean()
        self.log("far_off", far_off)
        return {"loss": far_off, "size": len(batch["wave"])}

    def on_train_batch_end(self, *rest):
        self.done += 1

    def resume(self, path):
        kept = torch.load(path, map_location="cpu")
        self.model.load_state_dict(kept["model"])
        self.optimizer.load_state_dict(kept["optimizer"])
        self.done = kept["steps"]

    def configure_optimizers(self):
        return torch.optim.Adam(self.model.parameters(), lr=1e-3)
"""


def kinds(old: str, new: str) -> set[str]:
    """The kinds of the edits that a replacement in the program makes."""
    assert old in PROGRAM
    run, benchmark = (
        Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})
        for text in (PROGRAM.replace(old, new), PROGRAM)
    )
    return {kind for kind, edits in sorted_out(compare(run, benchmark)).items() if edits}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("loss-sign", "batch.tokens) + self", "batch.tokens) - self"),
        ("loss-reduction", ".mean()", ".sum()"),
        ("resume", '        self.done = kept["steps"]\n', ""),
    ],
)
def test_an_edit_of_what_a_framework_minimises_or_resumes(kind: str, old: str, new: str) -> None:
    """What is returned from a function that is named after its loss is the loss, with no backward call."""
    assert kind in kinds(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kept["steps"]', 'kept["steps"]  # how far it was'),
        ("self.errors.append(batch.id, seq)", "self.errors.append(batch.id, seq - 1)"),
        ('len(batch["wave"])', 'len(batch["wave"]) + 1'),
    ],
)
def test_other_edits_are_none_of_the_loss(old: str, new: str) -> None:
    """What only is counted or logged beside the loss is no part of it."""
    assert not kinds(old, new) & {"loss-sign", "loss-reduction", "loss-function", "resume"}


@pytest.mark.parametrize(
    "new",
    [
        "self.hparams.ctc(ctc, batch.tokens) + ",
        "9.0 * self.hparams.ctc(ctc, batch.tokens) + ",
    ],
)
def test_a_factor_of_a_term_is_the_loss_and_no_class_weight(new: str) -> None:
    """What a term of the loss counts for says nothing of how often classes occur."""
    found = kinds("self.hparams.weight * self.hparams.ctc(ctc, batch.tokens) + ", new)
    assert "loss-weight" not in found
    assert found & {"loss-function", ""}
