# ruff: noqa: E501
"""Splits, orders and scores of several processes: one list for all, one epoch told, counts put together."""

from __future__ import annotations

import pytest

from ._several import DDP, says

SPLIT = "    order = torch.randperm(len(rows)).tolist()\n"
PARTS = "Subset(rows, order[500:]), Subset(rows, order[:500])"
SEED = "torch.manual_seed(args.seed)"
ORDER = "np.random.permutation(len(rows))"
TOLD = ("        sampler.set_epoch(epoch)\n", "")
Pairs = list[tuple[str, str]]

SHARDS: list[tuple[str, Pairs]] = [
    ("present", [(SEED, "torch.manual_seed(args.seed + rank)")]),
    ("present", [(SEED, "pass")]),
    ("present", [("torch.randperm(len(rows)).tolist()", ORDER)]),
    ("present", [("torch.randperm(len(rows)).tolist()", "np.random.default_rng().permutation(len(rows))")]),
    ("present", [("torch.randperm(len(rows))", ORDER), (SEED, "np.random.seed(args.seed + rank)")]),
    (
        "present",
        [
            (
                "torch.randperm(len(rows)).tolist()",
                "np.random.default_rng(args.seed + rank).permutation(len(rows))",
            )
        ],
    ),
    ("present", [(SPLIT, ""), (PARTS, "random_split(rows, [2000, 500])"), (SEED, "")]),
    ("present", [("DistributedSampler(train_set, world, rank)", "DistributedSampler(train_set, seed=rank)")]),
    ("present", [("DistributedSampler(train_set, world, rank)", "DistributedSampler(train_set, 1, 0)")]),
    ("not", []),
    ("not", [("torch.randperm(len(rows))", ORDER), (SEED, "np.random.seed(args.seed)")]),
    ("not", [("torch.randperm(len(rows)).tolist()", ORDER), (SEED, "seed_everything(args.seed)")]),
    (
        "not",
        [
            ("torch.randperm(len(rows)).tolist()", "np.random.default_rng(7).permutation(len(rows))"),
            (SEED, ""),
        ],
    ),
    ("not", [(SEED, ""), (SPLIT, SPLIT + "    dist.broadcast_object_list([order])\n")]),
    ("not", [(SPLIT, "    order = rows.order\n"), (SEED, "torch.manual_seed(args.seed + rank)")]),
    (
        "not",
        [("DistributedSampler(train_set, world, rank)", "DistributedSampler(train_set, seed=args.seed)")],
    ),
]


LOADER = "DataLoader(train_set, 32, sampler=sampler)"
MADE = "    sampler = DistributedSampler(train_set, world, rank)\n"
SHARDS += [
    ("present", [(MADE, ""), TOLD, (LOADER, "DataLoader(train_set, 32, shuffle=True)")]),
    ("present", [(MADE, "    sampler = torch.utils.data.RandomSampler(train_set)\n"), TOLD]),
    ("not", [(MADE, ""), TOLD, (LOADER, "DataLoader(part(train_set, rank), 32, shuffle=True)")]),
    ("not", [(LOADER, "DataLoader(train_set, 32, sampler=sampler if world > 1 else None)")]),
    ("present", [(LOADER, "DataLoader(train_set, 32, shuffle=True)")]),
]


@pytest.mark.parametrize(("wanted", "pairs"), SHARDS)
def test_processes_share_one_order_of_all_rows(wanted: str, pairs: Pairs) -> None:
    assert (says("script-same-shard", DDP, *pairs) == "present") is (wanted == "present")


EPOCHS: list[tuple[str, Pairs]] = [
    ("absent", []),
    ("present", [TOLD]),
    ("present", [TOLD, ("    best = 0.0\n", "    best = 0.0\n    sampler.set_epoch(0)\n")]),
    ("present", [("sampler.set_epoch(epoch)", "sampler.set_epoch(rank)")]),
    ("present", [("        sampler.set_epoch(epoch)", "        val_sampler.set_epoch(epoch)")]),
    ("absent", [("sampler.set_epoch(epoch)", "sampler.set_epoch(epoch); val_sampler.set_epoch(epoch)")]),
    ("absent", [("sampler.set_epoch(epoch)", "sampler.set_epoch(epoch + args.first)")]),
    ("absent", [("sampler.set_epoch(epoch)", "loader.sampler.set_epoch(epoch)")]),
    ("unknown", [TOLD, ("DistributedSampler(train_set, world, rank)", "None")]),
    ("unknown", [TOLD, ("DistributedSampler(train_set, world, rank)", "None"),
                 ("DistributedSampler(val_set, world, rank, shuffle=False)", "None")]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "pairs"), EPOCHS)
def test_the_training_sampler_is_told_each_epoch(wanted: str, pairs: Pairs) -> None:
    assert says("script-set-epoch-missing", DDP, *pairs) == wanted


def test_an_epoch_that_a_called_function_sets_is_told() -> None:
    pairs = [
        ("sampler.set_epoch(epoch)", "begin(sampler, epoch)"),
        ("def main(args):", "def begin(sampler, number):\n    sampler.set_epoch(number)\n\ndef main(args):"),
    ]

    assert says("script-set-epoch-missing", DDP, *pairs) == "absent"


REDUCED = "    dist.all_reduce(counts)\n"
RETURNED = "return (counts[0] / counts[1]).item()"
SCORES: list[tuple[str, Pairs]] = [
    ("present", [(REDUCED, "")]),
    ("present", [(REDUCED, ""), ("DistributedSampler(val_set, world, rank, shuffle=False)", "None"),
                 ("Subset(rows, order[:500])", "Subset(Birds(args.val), range(rank, 500, world))")]),
    ("not", []),
    ("not", [(REDUCED, ""), ("DistributedSampler(val_set, world, rank, shuffle=False)", "None")]),
    ("not", [(REDUCED, "    counts = sum(gather(counts))\n")]),
    ("not", [(REDUCED, ""), ("        if value > best:", "        value = mean_of(value)\n        if value > best:"),
             ("def main(args):", "def mean_of(v):\n    t = torch.tensor(v)\n    dist.all_reduce(t)\n"
              "    return t.item() / dist.get_world_size()\n\ndef main(args):")]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "pairs"), SCORES)
def test_shares_of_held_out_data_are_put_together(wanted: str, pairs: Pairs) -> None:
    assert (says("script-metric-of-a-share", DDP, *pairs) == "present") is (wanted == "present")


FIGURES: list[tuple[str, Pairs]] = [
    ("present", [(REDUCED, "    dist.all_reduce(counts[1])\n")]),
    ("present", [(REDUCED, "    mean = counts[0] / counts[1]\n    dist.all_reduce(mean)\n"),
                 (RETURNED, "return mean.item()")]),
    ("not", []),
    ("not", [(REDUCED, "    dist.all_reduce(counts[0])\n    dist.all_reduce(counts[1])\n")]),
    ("not", [(REDUCED, "    mean = counts[0] / counts[1]\n    dist.all_reduce(mean)\n"),
             (RETURNED, "return mean.item() / dist.get_world_size()")]),
    ("not", [(REDUCED, "    mean = counts[0] / counts[1]\n    dist.all_reduce(mean, op=dist.ReduceOp.AVG)\n"),
             (RETURNED, "return mean.item()")]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "pairs"), FIGURES)
def test_figures_of_all_processes_are_reduced_alike(wanted: str, pairs: Pairs) -> None:
    assert (says("script-metric-miscounts", DDP, *pairs) == "present") is (wanted == "present")


def test_a_sampler_that_is_told_its_epoch_is_to_shuffle() -> None:
    pair = (
        "DistributedSampler(train_set, world, rank)",
        "DistributedSampler(train_set, world, rank, shuffle=False)",
    )
    name = ("    loader = DataLoader(train_set", "    train_loader = DataLoader(train_set")
    loop = (
        "        for x, y in loader:\n            optimizer",
        "        for x, y in train_loader:\n            optimizer",
    )

    assert says("script-loader-keeps-order", DDP, pair, name, loop) == "present"
    assert says("script-loader-keeps-order", DDP, pair, name, loop, TOLD) != "present"
    assert says("script-loader-keeps-order", DDP) != "present"


def test_a_group_whose_model_apex_alone_prepares_exchanges_no_gradients() -> None:
    bare = ("DDP(net, device_ids=[rank])", "net")
    saved = ("model.module.state_dict()", "model.state_dict()")
    apex = ("    best = 0.0\n", "    model, optimizer = amp.initialize(model, optimizer)\n    best = 0.0\n")
    engine = ("    best = 0.0\n", "    model, *_ = deepspeed.initialize(model=model)\n    best = 0.0\n")

    assert says("script-no-gradient-synchronisation", DDP, bare, saved, apex) == "present"
    assert says("script-no-gradient-synchronisation", DDP, bare, saved, engine) != "present"
    assert says("script-no-gradient-synchronisation", DDP, apex) != "present"
