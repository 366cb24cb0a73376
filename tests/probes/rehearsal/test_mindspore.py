"""MindSpore in a rehearsal."""

from traindoctor.probes.rehearsal.journal import Asked, Backward, Stepped

from ._journals import learns, modes, rehearsal

NET = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
import numpy as np

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.drop = nn.Dropout(p=0.2)
        self.head = nn.Dense(8, 3)
    def construct(self, x):
        return self.head(self.drop(self.body(x).mean((2, 3))))

class Rows:
    def __init__(self, part):
        self.x, self.y = np.load(f"{part}_x.npy"), np.load(f"{part}_y.npy")
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return self.x[i], self.y[i]

def data(part):
    return ds.GeneratorDataset(Rows(part), ["image", "label"], shuffle=part == "train").batch(32)

net = Net()
loss_fn = nn.CrossEntropyLoss()
opt = nn.Adam(net.trainable_params(), 1e-3)
"""
FUNCTION = """
def forward(x, y):
    logits = net(x)
    return loss_fn(logits, y), logits

grad = ms.value_and_grad(forward, None, opt.parameters, has_aux=True)
for epoch in range(4):
    MODE
    for x, y in data("train").create_tuple_iterator():
        (loss, _), grads = grad(x, y)
        opt(ops.clip_by_global_norm(grads, 1.0))
"""


def test_cells_begin_in_evaluation_mode() -> None:
    journal = rehearsal(NET + FUNCTION.replace("MODE", "pass")).journal
    assert learns(journal)
    assert modes(journal) == [False]
    assert journal.of(Asked)[0].modal == [("BatchNorm2d", False), ("Dropout", False)]
    assert modes(rehearsal(NET + FUNCTION.replace("MODE", "net.set_train()")).journal) == [True]


def test_gradients_that_are_values_do_not_gather() -> None:
    journal = rehearsal(NET + FUNCTION.replace("MODE", "net.set_train()")).journal
    steps = journal.of(Stepped)
    assert len(journal.of(Backward)) == len(steps) == 24
    assert {len(g) for s in steps for g in s.gradients.values()} == {1}
    assert not any(s.stale for s in steps)


def test_a_model_trains_and_evaluates_in_its_modes() -> None:
    machine = rehearsal(
        NET + "model = ms.Model(net, loss_fn, opt, metrics={'acc'})\n"
        "model.fit(5, data('train'), data('val'))\n"
        "print(model.eval(data('test')))\n"
    )
    assert learns(machine.journal)
    assert modes(machine.journal) == [True, False] * 3
    named = {machine.tables[a.table][0] for a in machine.journal.of(Asked)}
    assert named == {"file train_x.npy", "file val_x.npy", "file test_x.npy"}


def test_a_training_cell_takes_its_step() -> None:
    journal = rehearsal(
        NET + "step = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), opt)\nstep.set_train()\n"
        "for epoch in range(9):\n"
        "    for d in data('train').create_dict_iterator():\n"
        "        step(d['image'], d['label'])\n"
    ).journal
    assert learns(journal)
    assert modes(journal) == [True]


def test_weights_that_no_gradient_is_asked_of_stand_still() -> None:
    journal = rehearsal(
        NET.replace("net.trainable_params()", "net.head.trainable_params()")
        + FUNCTION.replace("MODE", "net.set_train()")
    ).journal
    assert {w.name for w in journal.of(Stepped)[0].optimizer.weights} == {"weight", "bias"}
