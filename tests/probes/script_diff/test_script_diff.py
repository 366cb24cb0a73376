"""Two training scripts against each other: what is an edit, what it belongs to, and what is none."""

import ast
import textwrap
import time

import numpy as np
import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.code.against.edits import compare, edited, sorted_out, topics, unsorted
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run
from traindoctor.probes.script_diff import values
from traindoctor.probes.script_diff.edit import Edit

PROGRAM = """
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=20)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(8, width)
        self.second = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 3)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        h = F.relu(self.first(x))
        h = h + F.relu(self.norm(self.second(h)))
        return self.head(self.drop(h))


def load(split):
    x, y = read_table(split)
    x = (x - x.mean(0)) / x.std(0)
    return x, y


def evaluate(model, loader):
    model.eval()
    correct, count = 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            correct += (out.argmax(1) == y).sum().item()
            count += len(y)
    return correct / count


train_x, train_y = load("train")
val_x, val_y = load("val")
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(val_x, val_y), batch_size=64)
model = Net(64)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
for epoch in range(args.epochs):
    model.train()
    for x, y in train_loader:
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    print(epoch, loss.item(), evaluate(model, val_loader))
"""


def run(text: str | None) -> Run:
    """A run that holds nothing but this script."""
    scripts = {} if text is None else {"train.py": textwrap.dedent(text)}
    return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts=scripts)


def changed(*pairs: tuple[str, str]) -> str:
    """The program with pieces replaced; each has to stand in it exactly once."""
    text = PROGRAM
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    ast.parse(text)
    return text


def edits(mine: str, theirs: str = PROGRAM) -> tuple[Edit, ...]:
    """The edits that can matter."""
    return compare(run(mine), run(theirs)).weighty


def kinds(mine: str, theirs: str = PROGRAM) -> set[str]:
    """The kinds of rules/porting/edits.yaml that the edits are of."""
    return {kind for kind, found in sorted_out(compare(run(mine), run(theirs))).items() if found}


SAME = {
    "a comment and a type hint": [("def load(split):", "def load(split: str):  # reads one part")],
    "functional loss": [
        ("criterion = nn.CrossEntropyLoss()\n", ""),
        ("loss = criterion(out, y)", "loss = F.cross_entropy(out, y)"),
    ],
    "loss built where it is used": [("loss = criterion(out, y)", "loss = nn.CrossEntropyLoss()(out, y)")],
    "log-softmax and its loss": [
        ("loss = criterion(out, y)", "loss = F.nll_loss(F.log_softmax(out, dim=1), y)"),
        ("criterion = nn.CrossEntropyLoss()\n", ""),
    ],
    "arguments by keyword": [("nn.Linear(8, width)", "nn.Linear(in_features=8, out_features=width)")],
    "keywords in another order": [("lr=args.lr, momentum=0.9", "momentum=0.9, lr=args.lr")],
    "a default written out": [("lr=args.lr, momentum=0.9", "lr=args.lr, momentum=0.9, weight_decay=0")],
    "a renamed variable": [
        (
            "out = model(x)\n        loss = criterion(out, y)",
            "scores = model(x)\n        loss = criterion(scores, y)",
        )
    ],
    "a name left out": [
        ("out = model(x)\n        loss = criterion(out, y)", "loss = criterion(model(x), y)")
    ],
    "a constant given a name": [
        ("model = Net(64)", "WIDTH = 64\nmodel = Net(WIDTH)"),
    ],
    "other logging": [
        (
            "    print(epoch, loss.item(), evaluate(model, val_loader))",
            "    score = evaluate(model, val_loader)\n    print(f'{epoch}: {score}')",
        )
    ],
    "a method for a function": [("F.relu(self.first(x))", "self.first(x).relu()")],
    "workers and pinned memory": [
        ("batch_size=32, shuffle=True", "batch_size=32, shuffle=True, num_workers=4, pin_memory=True")
    ],
    "put on a device": [
        ("model = Net(64)", "model = Net(64).to(device)"),
        ("parser = argparse", "device = 'cuda'\nparser = argparse"),
    ],
    "a progress bar": [("for x, y in train_loader:", "for i, (x, y) in enumerate(tqdm(train_loader)):")],
    "the step in a function": [
        (
            "        out = model(x)\n        loss = criterion(out, y)\n        optimizer.zero_grad()\n"
            "        loss.backward()\n        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
            "        optimizer.step()\n",
            "        loss = one_step(x, y)\n",
        ),
        (
            "for epoch in range(args.epochs):",
            "def one_step(x, y):\n    out = model(x)\n    loss = criterion(out, y)\n"
            "    optimizer.zero_grad()\n    loss.backward()\n"
            "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
            "    optimizer.step()\n    return loss\n\n\n"
            "for epoch in range(args.epochs):",
        ),
    ],
    "gradients cleared after the step": [
        ("        optimizer.zero_grad()\n", ""),
        ("        optimizer.step()\n", "        optimizer.step()\n        optimizer.zero_grad()\n"),
    ],
    "inference mode": [("with torch.no_grad():", "with torch.inference_mode():")],
    "another seed": [("model = Net(64)", "torch.manual_seed(3)\nmodel = Net(64)")],
}


@pytest.mark.parametrize("pairs", SAME.values(), ids=SAME)
def test_what_computes_the_same_is_no_edit_of_a_kind(pairs: list[tuple[str, str]]) -> None:
    """Another way to write one thing raises nothing, in either direction."""
    text = changed(*pairs)

    assert kinds(text) - {"seed-left-out", ""} == set()
    assert kinds(PROGRAM, text) - {"seed-left-out", ""} == set()


def test_a_program_against_itself_and_everything_moved_into_main() -> None:
    body = PROGRAM.index("train_x, train_y = load")
    moved = PROGRAM[:body] + "def main():\n" + textwrap.indent(PROGRAM[body:], "    ")
    moved += '\n\nif __name__ == "__main__":\n    main()\n'

    assert edits(PROGRAM) == ()
    assert kinds(moved) == set()


FAULTS = {
    "clearing-left-out": [("        optimizer.zero_grad()\n", "")],
    "step-order": [
        ("        optimizer.zero_grad()\n", ""),
        ("        loss.backward()\n", "        loss.backward()\n        optimizer.zero_grad()\n"),
    ],
    "update-left-out": [("        optimizer.step()\n", "")],
    "update-conditional": [
        ("        optimizer.step()\n", "        if epoch % 2 == 0:\n            optimizer.step()\n")
    ],
    "clipping-left-out": [("        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n", "")],
    "schedule-stepped": [("    scheduler.step()", "        scheduler.step()")],
    "schedule-length": [("StepLR(optimizer, 5)", "StepLR(optimizer, 1)")],
    "mode": [("    model.train()\n", "")],
    "output-activation": [("return self.head(self.drop(h))", "return self.head(self.drop(h)).softmax(1)")],
    "output-bounded": [("return self.head(self.drop(h))", "return F.relu(self.head(self.drop(h)))")],
    "loss-function": [("nn.CrossEntropyLoss()", "nn.MSELoss()")],
    "loss-sign": [("loss = criterion(out, y)", "loss = -criterion(out, y)")],
    "loss-reduction": [("nn.CrossEntropyLoss()", 'nn.CrossEntropyLoss(reduction="sum")')],
    "loss-masking": [("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(ignore_index=0)")],
    "gradient-cut": [("self.head(self.drop(h))", "self.head(self.drop(h.detach()))")],
    "skip": [("h = h + F.relu(self.norm(self.second(h)))", "h = F.relu(self.norm(self.second(h)))")],
    "norm-layer": [("F.relu(self.norm(self.second(h)))", "F.relu(self.second(h))")],
    "activation": [("h = F.relu(self.first(x))", "h = torch.tanh(self.first(x))")],
    "optimizer-parameters": [
        ("torch.optim.SGD(model.parameters()", "torch.optim.SGD(model.head.parameters()")
    ],
    "optimizer-details": [("momentum=0.9", "momentum=0.0")],
    "frozen": [
        (
            "model = Net(64)",
            "model = Net(64)\nfor p in model.first.parameters():\n    p.requires_grad = False",
        )
    ],
    "zero-init": [
        ("model = Net(64)", "model = Net(64)\nfor p in model.parameters():\n    nn.init.zeros_(p)")
    ],
    "shuffling": [("batch_size=32, shuffle=True", "batch_size=32, shuffle=False")],
    "normalisation-left-out": [("    x = (x - x.mean(0)) / x.std(0)\n", "")],
    "labels-random": [("model = Net(64)", "train_y[:500] = torch.randint(0, 3, (500,))\nmodel = Net(64)")],
    "labels-moved": [("model = Net(64)", "train_x = train_x[torch.randperm(len(train_x))]\nmodel = Net(64)")],
    "evaluates-other-part": [("TensorDataset(val_x, val_y)", "TensorDataset(train_x, train_y)")],
    "metric": [("out.argmax(1) == y", "out.argmax(0) == y")],
    "rate-raised": [("default=0.1)", "default=10.0)")],
    "regularisation-raised": [("nn.Dropout(0.1)", "nn.Dropout(0.9)")],
}


@pytest.mark.parametrize(("kind", "pairs"), FAULTS.items(), ids=FAULTS)
def test_an_edit_is_of_its_kind(kind: str, pairs: list[tuple[str, str]]) -> None:
    """One slip of a person who ports a script is one kind of edit, and the first one told."""
    text = changed(*pairs)

    assert kinds(text) == {kind}
    found = sorted_out(compare(run(text), run(PROGRAM)))[kind]
    assert all(e.mine is not None or e.theirs is not None for e in found)
    assert all(e.text for e in found)


@pytest.mark.parametrize(
    ("made", "edited_to", "kind"),
    [
        ("nn.GroupNorm(4, width)", "nn.Identity()", "norm-layer"),
        ("nn.GroupNorm(4, width)", "nn.BatchNorm1d(width)", "norm-batch"),
        ("RootNorm(width)", "nn.Identity()", "norm-layer"),  # a class of the program's own
    ],
)
def test_a_norm_left_out_is_not_one_for_another(made: str, edited_to: str, kind: str) -> None:
    before = changed(("nn.LayerNorm(width)", made))
    after = changed(("nn.LayerNorm(width)", edited_to))

    assert {k for k, found in sorted_out(compare(run(after), run(before))).items() if found} == {kind}


@pytest.mark.parametrize(("kind", "pairs"), FAULTS.items(), ids=FAULTS)
def test_a_probe_of_edits_is_present_absent_and_unknown(kind: str, pairs: list[tuple[str, str]]) -> None:
    text = changed(*pairs)

    assert edited(View(run(text), run(PROGRAM)), kind=kind).state is State.PRESENT
    assert edited(View(run(PROGRAM), run(PROGRAM)), kind=kind).state is State.ABSENT
    assert edited(View(run(text), run(None)), kind=kind).state is State.UNKNOWN
    assert edited(View(run(None), run(PROGRAM)), kind=kind).state is State.UNKNOWN


def test_an_edit_tells_both_places_both_codes_and_what_it_feeds() -> None:
    (edit,) = edits(changed(("loss = criterion(out, y)", "loss = criterion(out.sigmoid(), y)")))

    assert edit.kind == "wrapped"
    assert "sigmoid()" in edit.new
    assert "loss.prediction" in edit.roles
    assert edit.mine is not None and edit.mine.file == "train.py"
    assert edit.mine.line == PROGRAM[: PROGRAM.index("loss = criterion(out, y)")].count("\n") + 1
    assert edit.theirs is not None and edit.theirs.line == edit.mine.line
    assert edit.mine_code == "loss = criterion(out.sigmoid(), y)"
    assert edit.theirs_code == "loss = criterion(out, y)"


def test_a_constant_is_followed_to_the_argument_that_it_gives() -> None:
    (edit,) = edits(changed(("default=0.1)", "default=0.4)")))

    assert edit.roles[0] == "optimizer.lr"
    assert edit.setting == "learning_rate"
    assert edit.ratio == pytest.approx(4.0)


def test_with_many_edits_no_kind_is_named_and_their_parts_are() -> None:
    """A rewritten program differs everywhere: weak evidence on parts, none on kinds."""
    text = changed(*(pairs[0] for kind, pairs in FAULTS.items() if kind in _APART))
    view = View(run(text), run(PROGRAM))

    assert compare(view.run, view.benchmark).count > 6
    assert edited(view, kind="metric", few=6).state is State.UNKNOWN
    assert edited(view, kind="metric", few=60).state is State.PRESENT
    assert (
        edited(view, kind="mode", few=6).state is State.PRESENT
    )  # shown to happen, whatever stands around it
    assert edited(view, kind="skip", few=6).state is State.PRESENT  # seen by its role as well
    assert unsorted(view, roles=["forward"], few=6).state is State.PRESENT
    assert unsorted(view, roles=["forward"], few=60).state is State.ABSENT


_APART = (
    "skip",
    "loss-function",
    "mode",
    "clipping-left-out",
    "optimizer-details",
    "shuffling",
    "metric",
    "rate-raised",
)


def test_an_edit_of_no_kind_is_told_by_its_part() -> None:
    view = View(run(changed(("self.drop = nn.Dropout(0.1)", "self.drop = Gate(width)"))), run(PROGRAM))

    assert unsorted(view, roles=["model", "forward"], few=6).state in (State.PRESENT, State.ABSENT)
    assert unsorted(View(run(PROGRAM), run(PROGRAM)), roles=["model"], few=6).state is State.ABSENT
    assert unsorted(View(run(PROGRAM)), roles=["model"], few=6).state is State.UNKNOWN


def test_another_program_is_not_picked_to_pieces() -> None:
    other = "import torch\n" + "".join(f"value_{i} = torch.ones({i}) @ torch.eye({i})\n" for i in range(40))

    assert compare(run(PROGRAM), run(other)).why.startswith("the two scripts share")


def test_renamed_functions_attributes_and_keys_are_no_edits() -> None:
    text = PROGRAM.replace("evaluate", "run_validation").replace("self.head", "self.classifier")
    text = text.replace("class Net", "class Tagger").replace("Net(64)", "Tagger(64)")

    assert kinds(text) == set()


def test_a_name_that_both_sides_have_is_never_taken_for_renamed() -> None:
    """The wrong one of two tensors that both exist is an edit, in the model as elsewhere."""
    text = changed(("return self.head(self.drop(h))", "return self.head(self.drop(x))"))

    assert {e.kind for e in edits(text)} == {"name"}


@pytest.mark.parametrize(
    "text", ["", "def f(:\n", "x = " + "(" * 60 + "1" + ")" * 60, "import torch\n" + "x = -" * 400 + "1\n"]
)
def test_odd_scripts_are_no_error(text: str) -> None:
    found = compare(run(text), run(PROGRAM))

    assert found.edits == () or found.alike > 0


def test_functions_of_one_name_that_hand_on_to_each_other_are_no_error() -> None:
    """A wrapper's method calls that of what it wraps, which may be such a wrapper, too."""
    text = """
import torch.nn as nn


class Outer(nn.Module):
    def loss(self, x, labels):
        target = labels.long()
        return self.inner.loss(x, target)


class Inner(nn.Module):
    def loss(self, x, labels):
        return self.model.loss(x, labels)
"""
    found = compare(run(text.replace("labels.long()", "labels.flip(0)")), run(text))

    assert [e.kind for e in found.edits] != []


def test_two_large_programs_are_compared_in_bounded_time() -> None:
    """Three thousand lines, a tenth of them changed; no quadratic growth."""
    lines = [f"    h{i} = torch.relu(self.layer{i}(h{i - 1}) * {i})" for i in range(1, 3000)]
    head = "import torch\n\n\nclass Net(torch.nn.Module):\n  def forward(self, h0):\n"
    mine = [x.replace("relu", "tanh") if i % 10 == 0 else x for i, x in enumerate(lines)]
    lines.append("    return h2999")
    mine.append("    return h2999")
    start = time.process_time()
    found = compare(run(head + "\n".join(mine)), run(head + "\n".join(lines)))

    assert len(found.edits) >= 290
    assert time.process_time() - start < 20


def test_every_kind_has_one_symptom_and_every_symptom_its_kind() -> None:
    from traindoctor.engine.load import load_rules

    asked = [s.params["kind"] for s in load_rules().symptoms.values() if s.probe == "code.against.edited"]

    by_role = {"groups-left-out"}  # seen only where what both programs build is held side by side
    assert sorted(asked) == sorted({t.name for t in topics()} | by_role)


@pytest.mark.parametrize(
    ("label", "shape"), [("mean", (0, 3)), ("std", (1, 3)), ("var", (1,)), ("max", (0,))]
)
def test_a_reduction_over_too_little_is_not_computed(label: str, shape: tuple[int, ...]) -> None:
    """Numpy would warn of it on the user's screen."""
    with pytest.raises(values.Unfit):
        values.compute(label, [np.zeros(shape)], {"dim": 0})


TERMS = "main_loss = criterion(out, y)\n        aux_loss = out.square().mean()\n        loss = {}"


@pytest.mark.parametrize(
    ("mine", "told"),
    [
        ("main_loss", {"loss-function"}),
        ("main_loss + aux_loss", set()),
        ("main_loss\n        loss = loss + aux_loss", set()),  # in two steps
    ],
)
def test_a_term_that_is_left_out(mine: str, told: set[str]) -> None:
    """A term of the loss that is gone is an edit of the loss; one that is added elsewhere is none."""
    ours, theirs = (
        changed(("loss = criterion(out, y)", TERMS.format(t))) for t in (mine, "main_loss + aux_loss")
    )

    found = {k for k, edits in sorted_out(compare(run(ours), run(theirs))).items() if edits and k}

    assert found - {"rewritten"} == told


LOOPED = """
import torch


def train_epoch(model, loader, optimizer):
    {here}
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def main(model, loader, held, optimizer):
    best = 0.0
    {there}
    for epoch in range(9):
        train_epoch(model, loader, optimizer)
        model.eval()
        best = max(best, score(model, held))
"""


def test_a_switch_that_moves_to_another_function_is_told() -> None:
    """`model.train()` before all epochs leaves the model in the mode of the first evaluation."""
    right = LOOPED.format(here="model.train()", there="pass")
    wrong = LOOPED.format(here="pass", there="model.train()")
    assert "mode" in kinds(wrong, right)
    assert kinds(right, right) == set()


def test_the_order_of_joined_lists_counts() -> None:
    """Numbers may be added in any order, lists may not."""
    text = LOOPED.format(here="pass", there="pass").replace("model(x), y)", "model(x), torch.tensor({}))")
    (found,) = edits(text.replace("{}", "y[1:] + [PAD]"), text.replace("{}", "[PAD] + y[1:]"))
    assert found.kind == "order"
    assert edits(text.replace("{}", "y + shift"), text.replace("{}", "shift + y")) == ()


def test_vectors_of_length_one_are_no_normalised_data() -> None:
    """`F.normalize` in a model is a part of it: another axis there is no other statistic of the data."""
    text = PROGRAM.replace("return self.head(self.drop(h))", "return F.normalize(self.head(h), dim={})")
    assert "normalisation-values" not in kinds(text.replace("{}", "0"), text.replace("{}", "1"))
    assert edits(text.replace("{}", "0"), text.replace("{}", "1"))


def test_what_an_output_passes_counts_by_its_loss() -> None:
    """A sigmoid before a loss on scores is the loss's matter; on numbers it bounds the output."""
    squashed = ("return self.head(self.drop(h))", "return torch.sigmoid(self.head(self.drop(h)))")
    assert "output-activation" in kinds(changed(squashed))
    numbers = ("criterion = nn.CrossEntropyLoss()", "criterion = nn.MSELoss()")
    told = kinds(changed(squashed, numbers), changed(numbers))
    assert "output-bounded" in told and "output-activation" not in told


ATTENDS = """
import math
import torch
from torch import nn
class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.query = nn.Linear(n, n)
        self.key = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)
        self.after = nn.LayerNorm(n)
    def forward(self, x, pad):
        x = self.norm(x)
        q, k = self.query(x), self.key(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(pad, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return self.after(weights @ x)
model = Attention(8)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, pad, y in loader:
    opt.zero_grad()
    nn.functional.mse_loss(model(x, pad), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (" / math.sqrt(q.shape[-1])", "", "scores-scale"),
        ("/ math.sqrt(q.shape[-1])", "* math.sqrt(q.shape[-1])", "scores-scale"),
        ("dim=-1)", "dim=1)", "softmax-axis"),
        ("self.key(x)", "self.query(x)", "other-layer"),
        ("self.after(weights", "self.norm(weights", "other-layer"),
        ("        x = self.norm(x)\n", "        self.norm(x)\n", "norm-layer"),
        ("self.after = nn.LayerNorm(n)", "self.after = self.norm", "weight-sharing"),
        ('        scores = scores.masked_fill(pad, float("-inf"))\n', "", "attention-mask"),
    ],
)
def test_edits_of_a_models_layers_and_scores(old: str, new: str, kind: str) -> None:
    assert old in ATTENDS
    assert kinds(ATTENDS.replace(old, new), ATTENDS) == {kind}


def test_another_part_of_a_concatenation_is_another_input() -> None:
    """`cat([h, h])` for `cat([x, h])`, or a part that is gone."""
    right = ("return self.head(self.drop(h))", "return self.head(torch.cat([x, h], dim=1))")
    for wrong in ("[h, h]", "[h]"):
        assert "layer-input" in kinds(changed((right[0], right[1].replace("[x, h]", wrong))), changed(right))


def test_an_argument_given_by_name_is_no_other_argument() -> None:
    """`net(x, mask)` and `net(x=x, mask=mask)` of a model whose names are not seen."""
    called = changed(("        out = model(x)\n        loss", "        out = other(x, mask)\n        loss"))
    named = changed(
        ("        out = model(x)\n        loss", "        out = other(x=x, mask=mask)\n        loss")
    )
    assert not kinds(named, called) - {"", "rewritten"}


def test_dropout_as_a_module_or_as_a_function_is_one() -> None:
    """`F.dropout(h, self.p, self.training)` for a module, and an evaluation under another decorator."""
    module = ("self.drop = nn.Dropout(0.1)", "self.rate = 0.1")
    call = ("self.head(self.drop(h))", "self.head(F.dropout(h, self.rate, training=self.training))")
    functional = changed(module, call)
    wrong = {"mode", "regularisation-raised", "regularisation-lowered"}
    assert not kinds(PROGRAM, functional) & wrong
    decorated = changed(("def evaluate(model", "@torch.inference_mode()\ndef evaluate(model"))
    assert "gradient-cut" not in kinds(decorated)


def test_equal_ways_to_name_a_loss_or_to_begin_with_zeros() -> None:
    """Keras takes a loss by name or as an object; `new_zeros` and `zeros` give one tensor."""
    text = "from tensorflow import keras\nmodel = keras.Sequential([keras.layers.Dense(1)])\n"
    text += "model.compile(optimizer='adam', loss={})\nmodel.fit(x, y, epochs=5)\n"
    by_name, as_object = text.format("'mse'"), text.format("keras.losses.MeanSquaredError()")
    assert not kinds(as_object, by_name)
    assert "loss-function" in kinds(text.format("keras.losses.Hinge()"), by_name)
    made = changed(("h = F.relu(self.first(x))", "h = x.new_zeros(4, 64) + F.relu(self.first(x))"))
    assert "zero-init" not in kinds(made.replace("x.new_zeros(4, 64)", "torch.zeros(4, 64)"), made)


@pytest.mark.parametrize(
    ("share", "kind"), [("10.0", "regularisation-raised"), ("1e-9", "regularisation-lowered")]
)
def test_a_penalty_of_keras_is_no_size(share: str, kind: str) -> None:
    """`l2(1e-5)` within a layer: a larger number is a stronger penalty and no larger layer."""
    text = "from tensorflow import keras\nL = keras.layers\n"
    text += (
        "model = keras.Sequential([L.Dense(8, kernel_regularizer=keras.regularizers.l2({})), L.Dense(1)])\n"
    )
    text += "model.compile(optimizer='adam', loss='mse')\nmodel.fit(x, y, epochs=5)\n"
    assert kinds(text.format(share), text.format("1e-5")) == {kind}
