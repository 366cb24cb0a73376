"""Seeds that are missing, come too late, or are the same for all workers or epochs."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.calls import field
from traindoctor.probes.code.samples import seeds
from traindoctor.probes.registry import View

from .._build import run

PROGRAM = """
    import os, random, time
    import numpy as np
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 2)
        def forward(self, x):
            return self.out(x)
    def main(seed=3):
        {before}
        model = Net()
        {after}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    {top}
    main()
"""


def state(before: str = "pass", after: str = "pass", top: str = "") -> str:
    text = textwrap.dedent(PROGRAM).format(before=before, after=after, top=top)
    return seeds.nothing_seeded(View(run(scripts={"train.py": text}))).state.value


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"before": "np.random.seed(0)"},
        {"before": "random.seed(seed)"},
        {"before": "torch.manual_seed(int(time.time()))"},
        {"before": "torch.manual_seed(os.getpid())"},
        {"before": "torch.seed()"},
        {"after": "torch.manual_seed(0)"},
        {"before": "g = torch.Generator().manual_seed(0)"},
        {"top": "def set_seed(s): torch.manual_seed(s)"},
    ],
)
def test_what_is_not_seeded_is_told(given: dict[str, str]) -> None:
    assert state(**given) == "present"


@pytest.mark.parametrize(
    "given",
    [
        {"before": "torch.manual_seed(0)"},
        {"before": "torch.manual_seed(seed)"},
        {"before": "torch.cuda.manual_seed_all(1)", "after": "torch.manual_seed(0)"},
        {"before": "pl.seed_everything(1)"},
        {"top": "torch.manual_seed(0)"},
        {"top": "from transformers import set_seed; set_seed(1)"},
    ],
)
def test_what_is_seeded_is_not(given: dict[str, str]) -> None:
    assert state(**given) == "absent"


def test_a_script_that_trains_nothing_is_not_judged() -> None:
    text = "import torch\nmodel = torch.nn.Linear(2, 2)\nprint(model)\n"
    assert seeds.nothing_seeded(View(run(scripts={"a.py": text}))).state.value == "unknown"


def test_mindspore_and_keras_have_seeds_of_their_own() -> None:
    mindspore = """
        import mindspore as ms
        from mindspore import nn
        {seed}
        class Net(nn.Cell):
            def construct(self, x):
                return x
        net = Net()
        model = ms.Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))
        model.train(3, data)
    """
    keras = """
        import tensorflow as tf
        {seed}
        model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
        model.fit(x, y)
    """
    for text, seed in ((mindspore, "ms.set_seed(1)"), (keras, "tf.random.set_seed(1)")):
        for given, wanted in ((seed, "absent"), ("", "present")):
            program = textwrap.dedent(text).format(seed=given)
            assert seeds.nothing_seeded(View(run(scripts={"t.py": program}))).state.value == wanted


WORKERS = """
    import random, os, time
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, get_worker_info
    SEED = 3
    def seed_worker(worker_id):
        {body}
    loader = DataLoader(data, num_workers=4, worker_init_fn=seed_worker{more})
"""


def of_workers(probe: str, body: str, more: str = "", text: str = WORKERS) -> str:
    view = View(run(scripts={"t.py": textwrap.dedent(text).format(body=body, more=more)}))
    owner = field if probe == "workers_share_seed" else seeds
    return getattr(owner, probe)(view).state.value


SAME = [
    "np.random.seed(0)",
    "np.random.seed(SEED)",
    "seed = SEED; np.random.seed(seed)",
    "random.seed(args.seed)",
    "seed = np.random.get_state()[1][0]; np.random.seed(int(seed))",
]
NUMBER = [
    "np.random.seed(worker_id)",
    "np.random.seed(SEED + worker_id)",
    "s = worker_id * 7; random.seed(s)",
]
OTHER = [
    "np.random.seed(torch.initial_seed() % 2**32)",
    "seed = torch.initial_seed() % 2**32; np.random.seed(seed)",
    "info = get_worker_info(); np.random.seed((info.seed + worker_id) % 2**32)",
    "np.random.seed(int(time.time()) + worker_id)",
    "np.random.seed(SEED + epoch)",
    "np.random.seed()",
]


@pytest.mark.parametrize("body", SAME)
def test_one_seed_for_all_workers(body: str) -> None:
    assert of_workers("workers_share_seed", body) == "present"


@pytest.mark.parametrize("body", NUMBER + OTHER)
def test_seeds_that_differ_between_workers(body: str) -> None:
    assert of_workers("workers_share_seed", body) == "absent"


@pytest.mark.parametrize("body", NUMBER)
def test_seeds_of_the_number_alone_repeat_in_each_epoch(body: str) -> None:
    assert of_workers("workers_repeat", body) == "present"
    assert of_workers("workers_repeat", body, ", persistent_workers=True") == "absent"


@pytest.mark.parametrize("body", SAME + OTHER)
def test_other_seeds_are_not_told_twice(body: str) -> None:
    assert of_workers("workers_repeat", body) == "absent"


def test_loaders_without_a_function_say_nothing() -> None:
    text = "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(data, num_workers=4)\n"
    assert of_workers("workers_repeat", "", text=text) == "unknown"


def test_a_bound_function_and_a_lambda_are_followed() -> None:
    text = """
        import torch
        import numpy as np
        from functools import partial
        from torch.utils.data import DataLoader
        def start(worker_id, rank, seed):
            np.random.seed({body})
        loader = DataLoader(data, num_workers=4, worker_init_fn=partial(start, rank=0, seed=3){more})
    """
    assert of_workers("workers_share_seed", "seed + rank", text=text) == "present"
    assert of_workers("workers_share_seed", "seed + worker_id", text=text) == "absent"
    inline = text.replace("partial(start, rank=0, seed=3)", "lambda i: np.random.seed(7)")
    assert of_workers("workers_share_seed", "0", text=inline) == "present"
