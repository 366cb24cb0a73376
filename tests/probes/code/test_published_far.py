"""What published programs do that run well, found when a sixth part of them was judged: no check may flag it.

Recommenders, graphs, attacks. Each stands beside a program that resembles it and has the fault.
"""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def _quiet(symptom: str, *texts: str) -> bool:
    return state(symptom, *texts) in ("absent", "unknown")


# ---------------------------------------- held-out data that are handed over

LEARNER = (
    TORCH
    + """
class Recommender:
    def fit(self, train_set, val_set=None):
        self.train_set = train_set
        self.learn({given})

    def learn(self, {parameter}):
        optimizer = torch.optim.Adam(self.model.parameters())
        for epoch in range(self.epochs):
            for x, y in {over}:
                loss = F.cross_entropy(self.model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
"""
)


def test_a_function_that_knows_its_data_for_held_out_ones_scores_them() -> None:
    text = LEARNER.format(given="val_set", parameter="val_set=None", over="self.train_set")

    assert _quiet("script-training-sees-evaluation", text)


@pytest.mark.parametrize("parameter", ["data", "data_set"])
def test_a_function_that_learns_from_what_it_is_handed_gets_no_held_out_data(parameter: str) -> None:
    text = LEARNER.format(given="val_set", parameter=parameter, over=parameter)

    assert state("script-training-sees-evaluation", text) == "present"


# ---------------------------------------- masks of nodes

NODES = (
    TORCH
    + """
def train(model, data, optimizer):
    train_mask, val_mask = {masks}
    {joined}
    for i in range(200):
        out = model(data.x)
        loss = F.cross_entropy(out[train_mask], data.y[train_mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def test(model, data):
    return (model(data.x)[data.test_mask].argmax(1) == data.y[data.test_mask]).float().mean()
"""
)


@pytest.mark.parametrize(
    ("masks", "joined"),
    [
        ("data.train_mask, data.val_mask", "pass"),
        ("data.train_mask, data.val_mask", "train_mask = train_mask + data.val1_mask"),
    ],
)
def test_masks_that_are_read_or_joined_pick_samples(masks: str, joined: str) -> None:
    assert _quiet("script-splits-processed-differently", NODES.format(masks=masks, joined=joined))


def test_inputs_that_are_scaled_for_one_split_alone_are_told() -> None:
    joined = "data.train_x = data.train_x / 255\n    print(data.val_x)"
    text = NODES.format(masks="data.train_mask, data.val_mask", joined=joined)

    assert state("script-splits-processed-differently", text) == "present"


# ---------------------------------------- scored against itself

GAIN = """
import numpy as np

def ndcg(truth, ranked, k):
    gained = dcg_score(truth, ranked, k)
    {ideal} = dcg_score(truth, truth, k)
    return {told}
"""


@pytest.mark.parametrize(
    ("ideal", "told"),
    [("idcg", "gained / idcg"), ("most", "gained / most"), ("most", "gained / max(most, 1)")],
)
def test_what_the_best_answers_would_score_is_a_yardstick(ideal: str, told: str) -> None:
    text = TORCH + "loss = F.cross_entropy(torch.ones(2, 2), torch.ones(2))\nloss.backward()\n" + GAIN

    assert _quiet("script-metric-miscounts", text.replace("{ideal}", ideal).replace("{told}", told))


def test_answers_that_are_scored_against_themselves_are_told() -> None:
    text = TORCH + "loss = F.cross_entropy(torch.ones(2, 2), torch.ones(2))\nloss.backward()\n" + GAIN
    text = text.replace("{ideal}", "score").replace("{told}", "score")

    assert state("script-metric-miscounts", text) == "present"


# ---------------------------------------- summed losses

FACTORS = (
    TORCH
    + """
def learn(model, train_set, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    criterion = nn.MSELoss(reduction="sum")
    for epoch in range(20):
        total, count = 0.0, 0
        for users, items, ratings in train_set:
            loss = criterion(model(users, items), ratings)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += {added}
            count += {counted}
        print({shown})
"""
)


@pytest.mark.parametrize(
    ("added", "counted", "shown"),
    [
        ("loss.item()", "len(users)", "total / count"),
        ("loss.data.item()", "users.size(0)", "float(total) / count"),
        ("float(loss)", "1", "total / len(loader.dataset)"),
    ],
)
def test_a_sum_that_is_shown_for_each_sample_is_meant(added: str, counted: str, shown: str) -> None:
    assert _quiet("script-loss-wrong", FACTORS.format(added=added, counted=counted, shown=shown))


@pytest.mark.parametrize(
    ("added", "counted", "shown"),
    [
        ("loss.item()", "1", "total / count"),
        ("loss.item() * len(users)", "len(users)", "total / count"),
        ("loss.item()", "len(users)", "total"),
    ],
)
def test_a_sum_that_is_shown_as_a_mean_is_told(added: str, counted: str, shown: str) -> None:
    text = FACTORS.format(added=added, counted=counted, shown=shown)

    assert state("script-loss-wrong", text) == "present"


# ---------------------------------------- models from elsewhere

NODE_MODEL = (
    TORCH
    + """
class Graph(nn.Module):
    def __init__(self, nodes):
        super().__init__()
        self.edges = nn.Parameter(torch.rand(nodes, nodes))
        self.layer = nn.Linear(nodes, 3)

    {forward}

class Learner:
    def __init__(self, model{more}):
        self.model = model.to("cpu")

    def step(self, x, y, chosen, optimizer):
        optimizer.zero_grad()
        output = self.model(x)
        loss = F.nll_loss(output[chosen], y[chosen])
        loss.backward()
        optimizer.step()
"""
)
FORWARD = "def forward(self, x):\n        return self.layer(x)"


def test_what_an_unseen_model_ends_in_is_not_known() -> None:
    assert _quiet("script-loss-wrong", NODE_MODEL.format(forward=FORWARD, more=", args=None"))


def test_a_base_class_leaves_its_last_layer_to_others() -> None:
    text = (
        TORCH
        + """
class Base(nn.Module):
    def fit(self, x, y, optimizer):
        optimizer.zero_grad()
        loss = F.nll_loss(self.forward(x), y)
        loss.backward()
        optimizer.step()
"""
    )

    assert _quiet("script-loss-wrong", text)


def test_a_model_that_the_script_hands_over_is_known() -> None:
    text = NODE_MODEL.format(forward=FORWARD, more="") + "\nlearner = Learner(Graph(10))\n"

    assert state("script-loss-wrong", text) == "present"


# ---------------------------------------- layers that start at zero

BLOCK = (
    TORCH
    + """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.zeros_(self.linear.weight)
        self.act = nn.{act}()

    def forward(self, x):
        return {result}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(8), Block(8))

    def forward(self, x):
        return self.blocks(x)

def train(model, x, y, optimizer):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)


@pytest.mark.parametrize("act", ["SiLU", "GELU", "Tanh"])
def test_a_branch_may_start_at_zero_through_an_activation_with_a_slope(act: str) -> None:
    assert _quiet("script-zero-init", BLOCK.format(act=act, result="x + self.act(self.linear(x))"))


@pytest.mark.parametrize(
    ("act", "result"),
    [("ReLU", "x + self.act(self.linear(x))"), ("SiLU", "self.act(self.linear(x))")],
)
def test_a_layer_at_zero_without_a_way_past_it_or_a_slope_is_told(act: str, result: str) -> None:
    assert state("script-zero-init", BLOCK.format(act=act, result=result)) == "present"


# ---------------------------------------- the lower the better

KEPT = (
    TORCH
    + """
class {name}:
    def run(self, x, y, optimizer):
        for epoch in range(9):
            loss = F.cross_entropy(self.net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            acc = self.score()
            if self.best is None or acc < self.best:
                self.best = acc
                torch.save(self.net.state_dict(), "best.pt")
"""
)


def test_an_attack_is_the_better_the_less_is_right() -> None:
    assert _quiet("script-best-chosen-wrongly", KEPT.format(name="NodeAttack"))


def test_a_model_is_the_better_the_more_is_right() -> None:
    assert state("script-best-chosen-wrongly", KEPT.format(name="Learner")) == "present"


# ---------------------------------------- the best of candidates

PICKED = (
    TORCH
    + """
def train(model, x, y, optimizer):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

def choose(model, x, y, actions):
    scores = model(x)
    best = scores.argmax(0)
    return {told}
"""
)


def test_the_best_of_several_candidates_is_no_class() -> None:
    assert _quiet("script-metric-wrong", PICKED.format(told="actions[best]"))


def test_a_class_that_is_looked_for_among_samples_is_told() -> None:
    assert state("script-metric-wrong", PICKED.format(told="(best == y).float().mean()")) == "present"


# ---------------------------------------- rounds over a whole graph

ROUNDS = (
    TORCH
    + """
class Encoder(nn.Module):
    def fit(self, x, y, train_iters=200):
        optimizer = torch.optim.Adam(self.parameters())
        for i in range(train_iters):
            {before}loss = F.cross_entropy(self(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

def main(args, x, y, loader):
    model = Encoder()
    loader = torch.utils.data.DataLoader(x)
    args.epochs = 10
    model.fit(x, y, train_iters=args.epochs)
"""
)


def test_a_round_over_all_data_is_an_epoch() -> None:
    assert _quiet("script-schedule-wrong", ROUNDS.format(before=""))


def test_a_round_over_a_batch_is_a_step() -> None:
    text = ROUNDS.format(before="x, y = next(self.batches)\n            ")

    assert state("script-schedule-wrong", text) == "present"


# ---------------------------------------- proximal operators

PROXIMAL = (
    TORCH
    + """
{made}

class Learner:
    def __init__(self, model, graph):
        self.model, self.graph = model, graph
        self.optimizer = torch.optim.Adam(model.parameters())
        self.other = {other}(graph.parameters(), lr=0.01{more})

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.other.zero_grad()
        self.other.step()
"""
)
SHRINKS = """
class Shrink(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = p.data.clamp(min=0)
"""


@pytest.mark.parametrize(
    ("made", "other", "more"),
    [("", "PGD", ", proxs=[shrink]"), ("", "ProximalStep", ""), (SHRINKS, "Shrink", "")],
)
def test_a_step_without_gradients_needs_none(made: str, other: str, more: str) -> None:
    text = PROXIMAL.format(made=made, other=other, more=more)

    assert _quiet("script-gradients-cleared-too-early", text)


@pytest.mark.parametrize("made", ["", SHRINKS.replace("p.data.clamp(min=0)", "p.data - 0.1 * p.grad")])
def test_a_step_of_gradients_that_were_just_cleared_is_told(made: str) -> None:
    other = "Shrink" if made else "torch.optim.SGD"

    assert (
        state("script-gradients-cleared-too-early", PROXIMAL.format(made=made, other=other, more=""))
        == "present"
    )


# ---------------------------------------- layers side by side

SIDES = (
    TORCH
    + """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
{layers}

    def encode(self, x):
        return {encoded}

    def forward(self, x):
        return {result}

def train(model, x, y, optimizer):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)
HEADS = range(14)
LAYERS = "\n".join(f"        self.head{i} = nn.Linear(width, width)" for i in HEADS)
BESIDE = ", ".join(f"self.head{i}(self.encode(x))" for i in list(HEADS)[1:])
INSIDE = "x"
for _i in HEADS:
    INSIDE = f"torch.relu(self.head{_i}({INSIDE}))"


def test_heads_beside_one_another_make_no_model_deep() -> None:
    text = SIDES.format(layers=LAYERS, encoded="torch.relu(self.head0(x))", result=f"[{BESIDE}]")

    assert _quiet("script-norm-missing", text)


def test_layers_after_one_another_make_a_model_deep() -> None:
    text = SIDES.format(layers=LAYERS, encoded="x", result=INSIDE)

    assert state("script-norm-missing", text) == "present"


def test_a_list_of_layers_that_a_loop_goes_through_counts_whole() -> None:
    layers = """        self.body = nn.ModuleList()
        self.head = nn.Linear(width, 1)
        for _ in range(14):
            self.body.append(nn.Linear(width, width))"""
    text = SIDES.format(layers=layers, encoded="x", result="self.head(x)").replace(
        "    def forward(self, x):\n",
        "    def forward(self, x):\n        for layer in self.body:\n            x = layer(x)\n",
    )

    assert state("script-norm-missing", text) == "present"


# ---------------------------------------- scores of the training data

SCORED = (
    TORCH
    + """
class Learner:
    def fit(self, train_set, val_set):
        self.train_set, self.val_set = train_set, val_set
        for x, y in self.train_set:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def {name}(self):
        return ranking_eval(self, self.train_set)

    def show(self):
        print(len(self.val_set))
"""
)


def test_a_function_that_is_named_for_scores_of_training_data_means_them() -> None:
    assert _quiet("script-evaluates-training-data", SCORED.format(name="eval_train_set"))


def test_an_evaluation_of_training_data_alone_is_told() -> None:
    assert state("script-evaluates-training-data", SCORED.format(name="evaluate")) == "present"


# ---------------------------------------- attacks in tests, values called val, adversaries, named ends

ROBUST = (
    TORCH
    + """
def craft(model, x, y):
    x = x.clone().requires_grad_(True)
    loss = F.cross_entropy(model(x), y)
    return x + 0.1 * torch.autograd.grad(loss, x)[0].sign()

def train(model, train_loader, optimizer):
    for x, y in train_loader:
        loss = F.cross_entropy(model(craft(model, x, y)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def test(model, test_loader):
    model.eval()
    hits = 0
    for x, y in test_loader:
        hits += (model(craft(model, x, y)).argmax(1) == y).sum().item()
    return hits

def main(model, train_set, test_set, optimizer):
    train_loader = torch.utils.data.DataLoader(train_set, shuffle=True)
    test_loader = torch.utils.data.DataLoader(test_set)
    for epoch in range(9):
        train(model, train_loader, optimizer)
        print(test(model, {scored}))
"""
)


def test_a_test_under_attack_learns_nothing() -> None:
    assert _quiet("script-evaluates-training-data", ROBUST.replace("{scored}", "test_loader"))


def test_a_test_of_training_data_is_told() -> None:
    text = ROBUST.replace("{scored}", "train_loader").replace(
        "model(craft(model, x, y)).argmax", "model(x).argmax"
    )

    assert state("script-evaluates-training-data", text) == "present"


VALUE = (
    TORCH
    + """
def norm(val):
    val = torch.sqrt(1.0 / val)
    return val

def learn(net, x, y, optimizer):
    net.train()
    {more}
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)


def test_a_value_that_is_called_val_is_no_split() -> None:
    assert _quiet("script-splits-processed-differently", VALUE.replace("{more}", "pass"))


def test_a_split_that_is_called_val_is_one_beside_train() -> None:
    more = "train, val = x[:9], x[9:]\n    val = val / 255\n    print(train)"

    assert state("script-splits-processed-differently", VALUE.replace("{more}", more)) == "present"


CLIMBS = (
    TORCH
    + """
class Weights:
    def calc(self, x, x_adv, labels):
        out_adv = self.proxy(x_adv)
        loss = F.cross_entropy({out}, labels)
        loss = -1 * loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
)


def test_an_adversary_climbs_the_loss() -> None:
    assert _quiet("script-loss-negated", CLIMBS.format(out="out_adv"))


def test_a_learner_that_climbs_its_loss_is_told() -> None:
    assert state("script-loss-negated", CLIMBS.format(out="self.proxy(x)")) == "present"


STACK = (
    TORCH
    + """
from collections import OrderedDict

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [("fc1", nn.Linear(9, 9)), ("act", nn.ReLU()), ("fc2", nn.Linear(9, 3))]
        self.body = nn.Sequential(OrderedDict(layers))
        nn.init.constant_(self.body.{layer}.weight, 0)

    def forward(self, x):
        return self.body(x)

def train(model, x, y, optimizer):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)


def test_the_last_layer_of_a_stack_may_start_at_zero_by_its_name() -> None:
    assert _quiet("script-zero-init", STACK.replace("{layer}", "fc2"))


def test_another_layer_of_a_stack_may_not() -> None:
    assert state("script-zero-init", STACK.replace("{layer}", "fc1")) == "present"


# ---------------------------------------- copies of settings, orders that are kept

COPIED = (
    TORCH
    + """
import copy

def run(model, net_config, loader, held, optimizer):
    kept = copy.deepcopy({what})
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        evaluate(kept, held)
"""
)


def test_a_copy_of_settings_is_no_model() -> None:
    assert _quiet("script-evaluates-stale-copy", COPIED.format(what="net_config"))


def test_a_copy_of_the_model_that_is_scored_is_told() -> None:
    assert state("script-evaluates-stale-copy", COPIED.format(what="model")) == "present"


ORDERED = (
    TORCH
    + """
def step(model, x, targets, optimizer):
    perm = torch.rand(targets.shape[0], targets.shape[1]).argsort(dim=1)
    rows = torch.arange(targets.shape[0]).unsqueeze(-1)
    targets = targets[rows, perm]
    truth = {truth}
    loss = F.cross_entropy(model(x, targets), truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)


@pytest.mark.parametrize("order", ["perm", "permutation"])
def test_an_order_that_makes_the_answers_is_kept(order: str) -> None:
    text = ORDERED.format(truth="(perm == 0).nonzero()[:, 1]").replace("perm", order)

    assert _quiet("script-labels-permuted-alone", text)


def test_an_order_that_is_forgotten_is_told() -> None:
    assert state("script-labels-permuted-alone", ORDERED.format(truth="targets[:, 0]")) == "present"
