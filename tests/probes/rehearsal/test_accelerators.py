"""Accelerate and Fabric in a rehearsal: steps that are held back, weights that are kept and taken back."""

from traindoctor.probes.rehearsal.journal import Loaded, Saved, Stepped

from ._journals import learns, rehearsal
from ._program import told

ACCELERATE = """
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
acc = Accelerator(gradient_accumulation_steps=4)
net = nn.Linear(8, 3)
opt = torch.optim.Adam(net.parameters())
loader = DataLoader(TensorDataset(*torch.load("d.pt")), 8)
net, opt, loader = acc.prepare(net, opt, loader)
for epoch in range(3):
    for x, y in loader:
        with acc.accumulate(net):
BODY
"""
LAST = """            acc.backward(F.cross_entropy(net(x), y))
            opt.step()
            opt.zero_grad()"""
FIRST = """            opt.zero_grad()
            acc.backward(F.cross_entropy(net(x), y))
            opt.step()"""


def test_steps_are_taken_where_enough_batches_are_gathered() -> None:
    text = ACCELERATE.replace("BODY", LAST)
    machine = rehearsal(text)
    assert learns(machine.journal)
    assert {len({n for g in e.gradients.values() for n in g}) for e in machine.journal.of(Stepped)} == {4}
    assert not told(text=text)


def test_gradients_that_are_cleared_in_the_batch_of_the_step() -> None:
    assert "gathered-lost" in told(text=ACCELERATE.replace("BODY", FIRST))


def test_where_no_step_has_any_gradient_the_order_is_wrong() -> None:
    between = LAST.replace("            opt.zero_grad()", "").replace(
        "            opt.step()", "            opt.zero_grad()\n            opt.step()"
    )
    verdicts = told(text=ACCELERATE.replace("BODY", between))
    assert "lost" in verdicts
    assert "gathered-lost" not in verdicts


FABRIC = """
import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
fabric = Fabric()
fabric.launch()
net = nn.Sequential(nn.Linear(8, 3))
net, opt = fabric.setup(net, torch.optim.Adam(net.parameters()))
loader = fabric.setup_dataloaders(DataLoader(TensorDataset(*torch.load("d.pt")), 8))
for epoch in range(3):
    for x, y in loader:
        opt.zero_grad()
        fabric.backward(nn.functional.cross_entropy(net(x), y))
        opt.step()
    fabric.save("best.ckpt", {"model": net, "optimizer": opt})
fabric.load("best.ckpt", {"model": net})
"""


def test_fabric_keeps_weights_and_takes_them_back() -> None:
    machine = rehearsal(FABRIC)
    assert learns(machine.journal)
    assert machine.journal.of(Saved)[0].path == "best.ckpt"
    (loaded,) = machine.journal.of(Loaded)
    assert loaded.net in machine.nets and loaded.state is not None
