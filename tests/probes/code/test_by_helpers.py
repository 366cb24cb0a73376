"""Data-parallel parts that stand behind getters and helper methods: present, absent, unknown."""

from __future__ import annotations

import pytest

from traindoctor.probes.code.ranks.parts import seed_by_rank
from traindoctor.probes.registry import View

from .._build import written
from .._scripts import state

P, A, U = "present", "absent", "unknown"

WORLD = """
import os, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
class World:
    def __init__(self):
        dist.init_process_group("nccl")
        self.whole = int(os.environ["RANK"])
        self.here = int(os.environ["LOCAL_RANK"])
        self.count = int(os.environ["WORLD_SIZE"])
    def place(self):
        return {PLACE}
    def many(self):
        return self.count
    def is_master(self):
        return self.whole == 0
    def join(self, net):
        return DistributedDataParallel(net, device_ids=[self.here])
class Rows:
    def __init__(self, world):
        data = Pictures("train")
        self.order = DistributedSampler(data, num_replicas=world.many(), rank=world.place(), seed={SEED})
        self.loader = DataLoader(data, 32, {SAMPLER})
    def batches(self):
        return self.loader
    def begin(self, number):
        self.order.set_epoch(number)
class Trainer:
    def __init__(self, world, rows):
        self.world, self.rows, self.first = world, rows, 0
        net = torch.nn.Linear(4, 2)
        self.net = {NET}
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def load(self, path):
        state = torch.load(path)
        self.net.module.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.first = state["epoch"]
    def loss(self, x, y):
        return torch.nn.functional.cross_entropy({CALL}(x), y)
    def run(self):
        for epoch in range(self.first, 20):
            {BEGIN}
            for i, (x, y) in enumerate(self.rows.batches()):
                last = (i + 1) % 4 == 0
                self.net.require_backward_grad_sync = {SYNC}
                (self.loss(x, y) / 4).backward()
                if last:
                    self.optimizer.step()
                    self.optimizer.zero_grad()
world = World()
trainer = Trainer(world, Rows(world))
if {LOAD}:
    trainer.load("last.pt")
trainer.run()
"""
USUAL = {
    "PLACE": "self.whole",
    "SEED": "3",
    "SAMPLER": "sampler=self.order",
    "NET": "world.join(net)",
    "CALL": "self.net",
    "BEGIN": "self.rows.begin(epoch)",
    "SYNC": "last",
    "LOAD": "RESUME",
}


@pytest.mark.parametrize(
    ("symptom", "parts", "wanted"),
    [
        ("script-same-shard", {}, A),
        ("script-same-shard", {"PLACE": "self.here"}, P),
        ("script-same-shard", {"PLACE": "self.whole * 1"}, A),
        ("script-same-shard", {"SEED": "3 + world.place()"}, P),
        ("script-same-shard", {"SAMPLER": "shuffle=True"}, P),
        ("script-set-epoch-missing", {}, A),
        ("script-set-epoch-missing", {"BEGIN": "self.rows.begin(epoch + 1)"}, A),
        ("script-set-epoch-missing", {"BEGIN": "pass"}, P),
        ("script-set-epoch-missing", {"BEGIN": "self.rows.begin(self.first)"}, P),
        ("script-no-gradient-synchronisation", {}, A),
        ("script-no-gradient-synchronisation", {"NET": "net"}, P),
        ("script-wrapper-bypassed", {}, A),
        ("script-wrapper-bypassed", {"CALL": "self.net.module"}, P),
        ("script-seed-by-rank", {"LOAD": "RESUME and world.is_master()"}, P),
        ("script-seed-by-rank", {"LOAD": "RESUME or world.is_master()"}, U),
        ("script-seed-by-rank", {}, U),
    ],
)
def test_behind_helpers(symptom: str, parts: dict[str, str], wanted: str) -> None:
    """Getters, a method that wraps, one that tells the epoch: what they stand for decides."""
    text = WORLD
    for key, value in {**USUAL, **parts}.items():
        text = text.replace("{" + key + "}", value)
    assert state(symptom, text) == wanted


MINDSPORE = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init
class Net(nn.Cell):
    def construct(self, x):
        return x
def main():
    init()
    rank = get_rank()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    {SEED}
    net = Net()
    ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(3, rows(rank))
main()
"""


@pytest.mark.parametrize(
    ("seed", "wanted"),
    [("ms.set_seed(5 + rank)", P), ("ds.config.set_seed(5 + rank)", U), ("ms.set_seed(5)", A)],
)
def test_the_seed_of_the_data_alone(seed: str, wanted: str) -> None:
    """The data set's own seed draws no weights."""
    assert state("script-seed-by-rank", MINDSPORE.replace("{SEED}", seed)) == wanted


SPLITS = """
import torch
corpus = Corpus("verses")
train_data, val_data = {MADE}
def fit(net, optimizer):
    net.train()
    for i in range(0, len(train_data), 35):
        optimizer.zero_grad()
        net(train_data[i:i + 35]).mean().backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        return net(val_data).mean().item()
"""


@pytest.mark.parametrize(
    "made",
    [
        "batchify(corpus.train, args.batch_size), batchify(corpus.valid, 10)",
        "run.train_epoch(3), run.validate()",
        "run.train_epoch(3) / 2, run.validate()",
    ],
)
def test_other_batches_and_figures_are_no_processing(made: str) -> None:
    """Sizes of batches, and what functions called after the splits give back."""
    assert state("script-splits-processed-differently", SPLITS.replace("{MADE}", made)) != P


@pytest.mark.parametrize(
    ("seed", "wrapped", "wanted"),
    [("$((7+i))", "net", P), ("$SEED", "net", A), ("$((7+i))", "DistributedDataParallel(net)", A)],
)
def test_a_seed_of_its_own_from_the_launch_script(seed: str, wrapped: str, wanted: str) -> None:
    """A loop that starts the processes gives each of them another seed."""
    text = (
        "import torch\nimport torch.distributed as dist\n"
        "from torch.nn.parallel import DistributedDataParallel\n"
        "def main(args):\n    dist.init_process_group('hccl')\n    torch.manual_seed(args.seed)\n"
        f"    net = torch.nn.Linear(2, 2)\n    net = {wrapped}\n"
        "    opt = torch.optim.SGD(net.parameters(), 0.1)\n    for x in rows:\n"
        "        opt.zero_grad()\n        net(x).sum().backward()\n        opt.step()\n"
    )
    made = written({"seed": seed}, scripts={"train.py": text})
    assert seed_by_rank(View(made, None)).state.value == wanted


@pytest.mark.parametrize(
    ("bridge", "more", "wanted"),
    [
        ("import npu_bridge", "", P),
        ("import npu_bridge", "opt = npu_distributed_optimizer_wrapper(opt)", A),
        ("import horovod_like", "", U),
    ],
)
def test_ranks_of_tensorflow_on_ascend(bridge: str, more: str, wanted: str) -> None:
    """Each rank takes its share of the data; a wrapper of the optimizer joins the gradients."""
    text = f"""
import os
import tensorflow as tf
{bridge}
rank, size = int(os.environ['RANK_ID']), int(os.environ['RANK_SIZE'])
x, y = batches(shard=(size, rank))
loss = tf.reduce_mean(tf.square(net(x) - y))
opt = tf.train.MomentumOptimizer(0.1, 0.9)
{more}
train_op = opt.minimize(loss)
with tf.Session() as sess:
    for i in range(100):
        sess.run(train_op)
"""
    assert state("script-no-gradient-synchronisation", text) == wanted


@pytest.mark.parametrize(
    ("share", "mode", "wanted"),
    [
        ("num_shards=1, shard_id=0", "DATA_PARALLEL", P),
        ("num_shards=get_group_size(), shard_id=get_rank()", "DATA_PARALLEL", "not"),
        ("num_shards=1, shard_id=0", "STAND_ALONE", "not"),
    ],
)
def test_one_share_for_all_ranks_of_mindspore(share: str, mode: str, wanted: str) -> None:
    """Data-parallel processes that all ask for the same constant share."""
    text = f"""
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init
init()
ms.set_auto_parallel_context(device_num=8, parallel_mode=ms.ParallelMode.{mode}, gradients_mean=True)
rows = ds.ImageFolderDataset("train", shuffle=True, {share}).batch(32)
net = nn.Dense(9, 3)
model = ms.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
model.train(3, rows)
"""
    assert (state("script-same-shard", text) == P) is (wanted == P)
