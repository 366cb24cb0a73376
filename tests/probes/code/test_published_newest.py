"""What published programs do that run well, found when a fifth part of them was judged: no check may flag it.

Each stands beside a program that resembles it and has the fault.
"""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def _quiet(symptom: str, *texts: str) -> bool:
    return state(symptom, *texts) in ("absent", "unknown")


# ------------------------------------------------------------------------------- schedulers in a collection

KEPT = (
    TORCH
    + """
class Trainer:
    def __init__(self, model, optimizers, total):
        self.model, self.optimizers = model, optimizers
        self.schedulers = {made}
        for name, optimizer in optimizers.items():
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total)
            {keep}

    def update(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()
        loss.backward()
        for optimizer in self.optimizers.values():
            optimizer.step()
        {moves}

def main(model, loader, optimizers):
    trainer = Trainer(model, optimizers, 1000)
    for x, y in loader:
        trainer.update(x, y)
"""
)


@pytest.mark.parametrize(
    ("made", "keep", "moves"),
    [
        ("{}", "self.schedulers[name] = schedule", "[s.step() for s in self.schedulers.values()]"),
        ("{}", "self.schedulers[name] = schedule", "for n, s in self.schedulers.items(): s.step()"),
        ("{}", "self.schedulers[name] = schedule", "self.schedulers['body'].step()"),
        ("{}", "self.schedulers[name] = schedule", "for s in list(self.schedulers.values()): s.step()"),
        ("[]", "self.schedulers.append(schedule)", "for s in self.schedulers: s.step()"),
        ("[None] * 9", "self.schedulers[0] = schedule", "for i, s in enumerate(self.schedulers): s.step()"),
    ],
)
def test_a_scheduler_of_a_collection_is_stepped_where_that_is_gone_through(
    made: str, keep: str, moves: str
) -> None:
    text = KEPT.replace("{made}", made).replace("{keep}", keep).replace("{moves}", moves)

    assert _quiet("script-scheduler-never-stepped", text)


@pytest.mark.parametrize("asks", ["pass", "print([s.state_dict() for s in self.schedulers.values()])"])
def test_a_collection_of_schedulers_that_nothing_moves_is_told(asks: str) -> None:
    keep = "self.schedulers[name] = schedule"
    text = KEPT.replace("{made}", "{}").replace("{keep}", keep).replace("{moves}", asks)

    assert state("script-scheduler-never-stepped", text) == "present"


# ------------------------------------------------------------------------------------ the rate that is read

READ = (
    TORCH
    + """
def get_current_lr(trainer, args):
    return {given}

def train(trainer, loader, args):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(trainer.model(x), y)
        trainer.optimizer.zero_grad()
        loss.backward()
        trainer.optimizer.step()
        print({"loss": loss.item(), "lr": get_current_lr(trainer, args)})
"""
)


@pytest.mark.parametrize(
    "given",
    [
        "trainer.scheduler.state_dict().get('_last_lr', [args.lr])[0]",
        "trainer.scheduler.get_last_lr()[0]",
        "trainer.optimizer.lr.numpy()",
    ],
)
def test_a_function_that_reads_the_rate_in_force_owes_the_optimizer_nothing(given: str) -> None:
    assert _quiet("script-rate-not-applied", READ.replace("{given}", given))


def test_a_rate_that_is_computed_and_only_printed_is_told() -> None:
    text = READ.replace("{given}", "args.lr * 0.5 ** (trainer.steps / args.half)")

    assert state("script-rate-not-applied", text) == "present"


# ------------------------------------------------------------------------------- values of a packed sequence

PACKED = (
    TORCH
    + """
from torch.nn.utils.rnn import pack_padded_sequence

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, x):
        return self.layer(x)

def train(loader):
    model = Tagger()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y, lengths in loader:
        scores = model(x)
        {packs}
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
)


def test_the_values_of_a_packed_sequence_keep_their_gradients() -> None:
    packs = "packed = pack_padded_sequence(scores, lengths)\n        loss = criterion(packed.data, y)"

    assert _quiet("script-gradient-path-cut", PACKED.replace("{packs}", packs))


def test_the_data_of_scores_are_cut_off() -> None:
    cut = PACKED.replace("{packs}", "loss = criterion(scores.data, y)")

    assert state("script-gradient-path-cut", cut) == "present"


# --------------------------------------------------------------------------- settings that name the training

SIDES = (
    TORCH
    + """
from torch.utils.data import DataLoader, Dataset

class Tags(Dataset):
    def __init__(self, rows, scheme=None):
        self.rows = convert(rows, scheme)
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i]

def main(args, model, optimizer):
    train_set = Tags(read(args.train), scheme={scheme})
    val_set = Tags(read(args.val))
    for x, y in DataLoader(train_set, shuffle=True):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
)


@pytest.mark.parametrize(
    ("scheme", "told"),
    [("args.train_scheme", False), ("args.get('train_scheme')", False), ("args.scheme", True)],
)
def test_an_option_that_is_named_for_training_is_meant_for_it_alone(scheme: str, told: bool) -> None:
    text = SIDES.replace("{scheme}", scheme)

    assert (state("script-splits-processed-differently", text) == "present") is told


# ------------------------------------------------------------------------------------- half without a step

HALF = (
    TORCH
    + """
def main(model, x, optimizer):
    for _ in range(10):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).sum()
        loss.backward()
        {ends}
"""
)


def test_a_benchmark_that_takes_gradients_and_never_steps_needs_no_scaler() -> None:
    ends = "print(torch.cuda.max_memory_allocated())"

    assert _quiet("script-half-without-scaler", HALF.replace("{ends}", ends))
    assert state("script-half-without-scaler", HALF.replace("{ends}", "optimizer.step()")) == "present"


# ------------------------------------------------------------------------- a sampler that reaches no loader

SHARED = (
    TORCH
    + """
from torch.utils.data import DataLoader, DistributedSampler

def main(data, model, optimizer, args):
    sampler = DistributedSampler(data)
    loader = {loader}
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
)


def test_a_sampler_that_no_loader_gets_puts_nothing_into_an_order() -> None:
    loader = "DataLoader(Rows(data, sampler=sampler), 32, shuffle=True)"

    assert _quiet("script-set-epoch-missing", SHARED.replace("{loader}", loader))


@pytest.mark.parametrize(
    "loader",
    [
        "DataLoader(data, 32, sampler=sampler)",
        "DataLoader(data, 32, False, sampler)",
        "DataLoader(data, **dict(sampler=sampler, batch_size=32))",
        "DataLoader(data, batch_sampler=torch.utils.data.BatchSampler(sampler, 32, True))",
        "make_loader(data, sampler)",
    ],
)
def test_a_sampler_in_a_loader_needs_its_epoch(loader: str) -> None:
    assert state("script-set-epoch-missing", SHARED.replace("{loader}", loader)) == "present"


# --------------------------------------------------------------------------------- a single unit at zero

BASE = (
    TORCH
    + """
class Net(nn.Module):
    def __init__(self, offsets):
        super().__init__()
        self.first = nn.Linear(8, 32)
        self.last = nn.Linear(32, 1)
        if offsets:
            self.base = nn.Linear(8, {units}, bias=False)
            nn.init.zeros_(self.base.weight)
        else:
            self.base = None

    def forward(self, x, group, n):
        out = self.last(self.first(x).relu()).squeeze(-1)
        if self.base is not None:
            out = {uses}
        return out

def main(model, loader, optimizer):
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
)


def test_a_single_unit_may_start_at_zero() -> None:
    uses = "out + scatter_sum(self.base(x), group, n)"
    text = BASE.replace("{uses}", uses)

    assert _quiet("script-zero-init", text.replace("{units}", "1"))
    assert state(
        "script-zero-init", BASE.replace("{uses}", "self.last(self.base(x))").replace("{units}", "32")
    ) == ("present")


# ------------------------------------------------------------------------------ one step to make variables

FIT = """
import tensorflow as tf

def restore(model, data):
    model.fit(x=data, steps_per_epoch=1, epochs={epochs})

def main(data, steps):
    model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
    model.compile("adam", "mse")
    restore(model, data)
    {then}
"""


def test_a_single_step_before_the_training_only_makes_the_variables() -> None:
    then = "model.fit(x=data, steps_per_epoch=steps, epochs=20)"

    assert _quiet("script-training-data-cut", FIT.replace("{epochs}", "1").replace("{then}", then))


@pytest.mark.parametrize(
    ("epochs", "then"),
    [("20", "pass"), ("1", "pass"), ("20", "model.fit(x=data, steps_per_epoch=steps, epochs=20)")],
)
def test_a_training_of_single_steps_is_told(epochs: str, then: str) -> None:
    text = FIT.replace("{epochs}", epochs).replace("{then}", then)

    assert state("script-training-data-cut", text) == "present"


# --------------------------------------------------------------------------------------- entries of a mapping


def test_entries_of_a_mapping_are_no_samples() -> None:
    text = TORCH + (
        "def tasks(orders):\n    target_orders = dict(orders)\n"
        "    return [item[1] for item in sorted(target_orders.items())]\n"
        "def main(model, loader, optimizer):\n    for x, y in loader:\n"
        "        loss = F.cross_entropy(model(x), y)\n"
        "        optimizer.zero_grad(); loss.backward(); optimizer.step()\n"
    )

    assert _quiet("script-sorts-training-data", text)
    assert state("script-sorts-training-data", text.replace(".items()", "")) == "present"


# --------------------------------------------------------------------------- rounds of reinforcement learning

ROUNDS = (
    TORCH
    + """
def main(policy, optimizer, args, collect):
    rounds = {length}
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=rounds)
    for epoch in range(args.epochs):
        for x, y in collect(policy):
            loss = F.mse_loss(policy(x), y)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
        schedule.step()
"""
)


@pytest.mark.parametrize(
    "length",
    [
        "args.total_timesteps // args.batch_size",
        "int(args.total_timesteps) // (args.num_steps * args.num_envs)",
        "int(args.env_steps / args.batch_size)",
        "args.total_frames // args.frames_per_batch",
    ],
)
def test_rounds_of_collecting_are_neither_steps_nor_epochs(length: str) -> None:
    assert _quiet("script-schedule-unit", ROUNDS.replace("{length}", length))


def test_samples_over_the_batch_are_steps() -> None:
    assert state("script-schedule-unit", ROUNDS.replace("{length}", "len(args.data) // args.batch_size")) == (
        "present"
    )


@pytest.mark.parametrize(
    ("units", "told"),
    [("1", False), ("units=1", False), ("32", True)],
)
def test_a_single_unit_may_start_at_zero_in_keras(units: str, told: bool) -> None:
    text = (
        "import tensorflow as tf\nfrom tensorflow.keras import layers\n"
        "class Net(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.base = layers.Dense({units}, kernel_initializer='zeros')\n"
        "        self.body = layers.Dense(32)\n        self.last = layers.Dense(3)\n"
        "    def call(self, x):\n        return self.last(self.body(x) * self.base(x))\n"
        "def main(data):\n    model = Net()\n    model.compile('adam', 'mse')\n    model.fit(data)\n"
    )

    assert (state("script-zero-init", text) == "present") is told


# ----------------------------------------------------------------------------------- a policy that only acts

ACTS = (
    TORCH
    + """
def main(env, make_agent, make_collector, optimizer, args):
    policy, acting = make_agent(env)
    collector = make_collector(env, {name}.eval())

    def update(batch):
        loss = F.mse_loss(policy(batch.x), batch.y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()

    rounds = iter(collector)
    for _ in range(args.rounds):
        batch = next(rounds)
        for _ in range(args.updates):
            update(batch.sample())
"""
)


@pytest.mark.parametrize(("name", "told"), [("acting", False), ("policy", True)])
def test_a_policy_that_only_explores_may_be_in_evaluation_mode(name: str, told: bool) -> None:
    assert (state("script-eval-mode-while-training", ACTS.replace("{name}", name)) == "present") is told


# ------------------------------------------------------------------------------------ names of a schedule

STEPPED = """
import torch
import pytorch_lightning as pl

class Module(pl.LightningModule):
    def training_step(self, batch, i):
        return self.net(batch).mean()

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        if self.kind == "step":
            schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, (60, 80))
        else:
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.epochs)
        return [optimizer], [{handed}]
"""


@pytest.mark.parametrize(
    ("handed", "told"), [("schedule", False), ("{'scheduler': schedule, 'interval': 'step'}", True)]
)
def test_the_name_of_a_schedule_is_no_interval(handed: str, told: bool) -> None:
    assert (state("script-schedule-unit", STEPPED.replace("{handed}", handed)) == "present") is told


# --------------------------------------------------------------------------------- a mask is searched for

SEARCHED = """
import tensorflow as tf

class Search:
    def __init__(self, model, shape):
        self.model = model
        self.raw = tf.Variable(tf.zeros(shape))
        self.optimizer = tf.keras.optimizers.Adam(0.1)

    def step(self, x, y):
        with tf.GradientTape() as tape:
            scores = self.model(x * tf.tanh(self.raw), training=False)
            loss = tf.reduce_mean(tf.keras.losses.categorical_crossentropy(y, scores))
        slopes = tape.gradient(loss, {asked})
        self.optimizer.apply_gradients(zip(slopes, {asked}))

def main(search, data):
    for epoch in range(5):
        for x, y in data:
            search.step(x, y)
"""


@pytest.mark.parametrize(("asked", "told"), [("[self.raw]", False), ("self.model.trainable_variables", True)])
def test_a_mask_that_is_searched_for_takes_a_finished_model(asked: str, told: bool) -> None:
    found = state("script-eval-mode-while-training", SEARCHED.replace("{asked}", asked))

    assert (found == "present") is told
