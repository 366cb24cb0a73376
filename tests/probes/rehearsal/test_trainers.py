"""Lightning, Hugging Face's Trainer and DeepSpeed in a rehearsal, and what starts a program."""

import pytest

from traindoctor.probes.rehearsal.journal import Asked, Backward, Loaded, Scheduled, Stepped, Told

from ._journals import learns, modes, rehearsal

MODULE = """
import pytorch_lightning as pl
import torch
import torch.nn.functional as F
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Data(pl.LightningDataModule):
    def setup(self, stage):
        self.parts = {p: TensorDataset(*torch.load(f"{p}.pt")) for p in ("train", "val", "test")}
    def train_dataloader(self):
        return DataLoader(self.parts["train"], 32, shuffle=True)
    def val_dataloader(self):
        return DataLoader(self.parts["val"], 32)
    def test_dataloader(self):
        return DataLoader(self.parts["test"], 32)

class Module(pl.LightningModule):
    def __init__(self, width=16, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(8, width), nn.Dropout(0.2), nn.Linear(width, 3))
        self.acc = torchmetrics.Accuracy(task="multiclass", num_classes=3)
    def forward(self, x):
        return self.net(x)
STEP
    def validation_step(self, batch, _):
        x, y = batch
        self.acc(self(x), y)
        self.log("val_acc", self.acc)
    def test_step(self, batch, _):
        x, y = batch
        self.log("test_acc", (self(x).argmax(1) == y).float().mean())
    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 10)}

trainer = pl.Trainer(max_epochs=50ACCUMULATE)
trainer.fit(Module(), datamodule=Data())
trainer.test(datamodule=Data(), ckpt_path="best")
"""
AUTOMATIC = """
    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss
"""
MANUAL = """
    def training_step(self, batch, _):
        self.automatic_optimization = False
        x, y = batch
        opt = self.optimizers()
        CLEAR
        self.manual_backward(F.cross_entropy(self(x), y))
        opt.step()
"""


def module(step: str, accumulate: str = "") -> str:
    """A program of Lightning."""
    return MODULE.replace("STEP", step).replace("ACCUMULATE", accumulate)


def test_fit_goes_through_the_hooks_in_order() -> None:
    journal = rehearsal(module(AUTOMATIC)).journal
    assert learns(journal)
    assert len(journal.of(Backward)) == len(journal.of(Stepped)) == 24
    assert len(journal.of(Scheduled)) == len(journal.of(Loaded)) + 2 == 3
    assert modes(journal) == [False, True, False, True, False, True, False]
    assert all(a.graph == a.mode for a in journal.of(Asked))
    assert {t.label for t in journal.of(Told)} == {"train_loss", "val_acc", "test_acc"}


def test_gradients_of_several_batches_gather() -> None:
    journal = rehearsal(module(AUTOMATIC, ", accumulate_grad_batches=4")).journal
    assert {len(g) for s in journal.of(Stepped) for g in s.gradients.values()} == {4}


@pytest.mark.parametrize(("clear", "stale"), [("opt.zero_grad()", False), ("pass", True)])
def test_manual_steps_are_the_programs_own(clear: str, stale: bool) -> None:
    manual = MANUAL.replace("        self.automatic_optimization = False\n", "").replace("CLEAR", clear)
    text = module(manual).replace(
        "self.save_hyperparameters()", "self.automatic_optimization = False\n        self.lr = lr"
    )
    journal = rehearsal(text.replace("self.hparams.lr", "self.lr")).journal
    assert learns(journal)
    assert any(s.stale for s in journal.of(Stepped)) is stale


TRAINER = """
import numpy as np
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
import torch.nn.functional as F
TRAINER_CLASS
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
data = load_dataset("csv", data_files={"train": "train.csv", "test": "test.csv"})
data = data.map(lambda b: tokenizer(b["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=4)

def compute_metrics(pair):
    answers, labels = pair
    return {"accuracy": (np.argmax(answers, axis=-1) == labels).mean()}

args = TrainingArguments("out", num_train_epochs=3, learning_rate=2e-5, eval_strategy="epoch")
trainer = KIND(model=model, args=args, train_dataset=data["train"], eval_dataset=data["test"],
               compute_metrics=compute_metrics)
trainer.train()
print(trainer.evaluate())
"""
OWN = """
class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = F.cross_entropy(outputs.logits, labels)
        return (loss, outputs) if return_outputs else loss
"""


@pytest.mark.parametrize(("own", "kind"), [("", "Trainer"), (OWN, "Weighted")])
def test_a_trainer_learns_and_scores(own: str, kind: str) -> None:
    journal = rehearsal(TRAINER.replace("TRAINER_CLASS", own).replace("KIND", kind)).journal
    assert learns(journal)
    assert modes(journal) == [True, False] * 3
    assert {"eval_loss", "eval_accuracy"} <= {t.label for t in journal.of(Told)}


LOOP = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
START
def train(rank=0, lr=0.1):
    x, y = torch.load("data.pt")
    net = nn.Linear(8, 3)
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(5):
        for a, b in DataLoader(TensorDataset(x, y), 32):
            opt.zero_grad()
            nn.functional.cross_entropy(net(a), b).backward()
            opt.step()
END
"""


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("", "train()"),
        ("from absl import app", "app.run(train)"),
        ("import fire", "if __name__ == '__main__':\n    fire.Fire(train)"),
        ("import torch.multiprocessing as mp", "mp.spawn(train, args=(0.1,), nprocs=2)"),
        ("from accelerate import notebook_launcher", "notebook_launcher(train, (0,))"),
        ("", ""),
    ],
)
def test_programs_are_started_in_many_ways(start: str, end: str) -> None:
    journal = rehearsal(LOOP.replace("START", start).replace("END", end)).journal
    assert len(journal.of(Stepped)) == 24


def test_an_engine_steps_where_enough_was_gathered() -> None:
    text = LOOP.replace("START", "import deepspeed").replace("END", "train()")
    text = (
        text.replace(
            "    opt = torch.optim.SGD(net.parameters(), lr=lr)\n",
            "    net, opt, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(),\n"
            "                                          config={'gradient_accumulation_steps': 2})\n",
        )
        .replace("            opt.zero_grad()\n", "")
        .replace("            opt.step()\n", "            net.step()\n")
    )
    text = text.replace(
        "nn.functional.cross_entropy(net(a), b).backward()",
        "net.backward(nn.functional.cross_entropy(net(a), b))",
    )
    journal = rehearsal(text).journal
    assert len(journal.of(Stepped)) == 12
    assert {len(g) for s in journal.of(Stepped) for g in s.gradients.values()} == {2}
