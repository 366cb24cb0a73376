"""Trainings that nothing in a program calls are begun with what stands for their parameters."""

from traindoctor.probes.rehearsal.journal import Asked, Stepped, Told

from ._journals import learns, rehearsal

FUNCTION = """
import torch
from torch.utils.data import DataLoader, Dataset

def train(model: torch.nn.Module, dataset: Dataset, valid: Dataset, lr: float = 1e-3, epochs: int = 10):
    loader, held = DataLoader(dataset, 32, shuffle=True), DataLoader(valid, 32)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        print("val acc", score(model, held))

@torch.no_grad()
def score(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)
"""
CLASS = """
import torch

class Trainer:
    def __init__(self, model, optimizer, loss_fn, device="cpu"):
        self.model, self.optimizer, self.loss_fn = model.to(device), optimizer, loss_fn

    def fit(self, train_loader, epochs):
        for epoch in range(epochs):
            for x, y in train_loader:
                self.optimizer.zero_grad()
                self.loss_fn(self.model(x), y).backward()
                self.optimizer.step()
"""
REGISTRY = """
import json, torch
from torch import nn
MODELS, OPTIMS = {}, {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}

def register(name):
    def mark(cls):
        MODELS[name] = cls
        return cls
    return mark

@register("mlp")
class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 3)
    def forward(self, x):
        return self.fc(x)

cfg = json.load(open("config.json"))
model = MODELS[cfg["model"]](16)
opt = OPTIMIZER
for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*torch.load("d.pt")), 8):
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
"""


def test_a_function_gets_a_network_and_data_of_each_side() -> None:
    machine = rehearsal(FUNCTION)
    assert learns(machine.journal)
    told = machine.journal.of(Told)
    asks = {a.number: a for a in machine.journal.of(Asked)}
    held = {asks[n].table for t in told for n in t.value.asked}
    assert held and held.isdisjoint({a.table for a in asks.values() if a.graph})


def test_an_optimizer_that_is_handed_in_holds_the_network_beside_it() -> None:
    assert learns(rehearsal(CLASS).journal)


def test_what_takes_no_gradients_is_not_begun() -> None:
    machine = rehearsal(CLASS.replace(".backward()", ""))
    assert not machine.journal.events


def test_a_choice_by_a_setting_is_the_first_one() -> None:
    machine = rehearsal(REGISTRY.replace("OPTIMIZER", 'OPTIMS[cfg["opt"]](model.parameters(), lr=cfg["lr"])'))
    assert learns(machine.journal)


def test_an_optimizer_that_only_a_setting_names() -> None:
    by_name = "getattr(torch.optim, cfg.name)(model.parameters(), lr=cfg.lr)"
    for text in (by_name, "hydra.utils.instantiate(cfg.optimizer, params=model.parameters())"):
        machine = rehearsal("import hydra\n" + REGISTRY.replace("OPTIMIZER", text))
        assert learns(machine.journal)


def test_a_norm_of_weights_is_no_optimizer() -> None:
    machine = rehearsal(REGISTRY.replace("OPTIMIZER", "cfg.clip_norm(model.parameters(), lr=1)"))
    assert not machine.journal.of(Stepped)
