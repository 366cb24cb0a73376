"""Ways of writing training code that published code uses and that are right: no check may flag them."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import State
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.scripts import files as script_files

from .test_checks import readings

STEP = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, x):
        return self.layer(x)

def train(loader, model, optimizer, accumulate):
    model.train()
    criterion = nn.CrossEntropyLoss()
    for number, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        {before}
        if (number + 1) % accumulate == 0:
            {inside}
            optimizer.step()
            optimizer.zero_grad()
"""


def state(symptom: str, text: str) -> State:
    return readings(text)[symptom].state


@pytest.mark.parametrize(
    "inside",
    [
        "scale_gradients(model, 1.0 / seen)",
        "[p.grad.div_(accumulate * 2) for p in model.parameters()]",
    ],
)
def test_gradients_that_are_divided_after_backward_need_no_divided_loss(inside: str) -> None:
    bare = STEP.format(before="seen = y.numel()", inside="pass")

    assert state("script-accumulation-not-divided", bare) is State.PRESENT
    assert state(
        "script-accumulation-not-divided", bare.replace("            pass", f"            {inside}")
    ) in (
        State.UNKNOWN,
        State.ABSENT,
    )


def test_a_helper_that_shards_the_model_joins_gradients() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\ntorch.distributed.init_process_group('nccl')\nmodel = Net()\n{}train([], model, None, 1)\n"
    )

    assert state("script-no-gradient-synchronisation", text.replace("{}", "")) is State.PRESENT
    assert (
        state("script-no-gradient-synchronisation", text.replace("{}", "shard_model(model)\n"))
        is not State.PRESENT
    )


def test_one_process_may_ask_for_the_only_shard() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nfrom torch.utils.data import DistributedSampler\n"
        "sampler = DistributedSampler(range(9), num_replicas={}, rank=0)\n"
    )

    assert state("script-same-shard", text.replace("{}", "4")) is State.PRESENT
    assert state("script-same-shard", text.replace("{}", "1")) is not State.PRESENT


def test_text_that_is_added_to_is_no_data() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nimport numpy as np\ntrain_title = 'training'\nval_title = 'validation'\ntrain_title += {}\n"
    )

    assert state("script-splits-processed-differently", text.replace("{}", "' (1)'")) is not State.PRESENT


def test_a_reference_model_is_frozen_on_purpose() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\ndef {}(config):\n    held = Net()\n"
        "    for p in held.parameters():\n        p.requires_grad = False\n"
        "    return held\n"
    )

    assert state("script-freezes-parameters", text.replace("{}", "build_model")) is State.PRESENT
    assert (
        state("script-freezes-parameters", text.replace("{}", "_setup_reference_model")) is not State.PRESENT
    )


def test_the_names_of_label_files_are_no_labels() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\ndef cache(x, y, label_files):\n    x['digest'] = hash({})\n    return x\n"
    )

    assert state("script-target-in-inputs", text.replace("{}", "labels")) is State.PRESENT
    assert state("script-target-in-inputs", text.replace("{}", "label_files")) is not State.PRESENT


def test_sizes_that_are_halved_in_a_comprehension_are_no_inputs() -> None:
    text = STEP.format(before="pass", inside="pass") + "\ndef pad(sizes):\n    return {}\n"

    assert (
        state("script-integer-division", text.replace("{}", "[x // 2 for x in sizes]")) is not State.PRESENT
    )
    assert (
        state("script-integer-division", text.replace("return {}", "x = sizes\n    return x // 2"))
        is State.PRESENT
    )


def test_a_loop_over_a_reference_model_handed_out_with_others() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\ndef start(config):\n    policy, {}_model = build(config)\n"
        "    for p in {}_model.parameters():\n        p.requires_grad = False\n"
    )

    assert state("script-freezes-parameters", text.replace("{}", "value")) is State.PRESENT
    assert state("script-freezes-parameters", text.replace("{}", "ref_policy")) is not State.PRESENT


def test_features_on_the_unit_sphere_are_no_inputs() -> None:
    text = (
        STEP.format(before="pass", inside="pass")
        + "\ndef unit({0}):\n    return {0} / {0}.norm(dim=1, keepdim=True)\n"
    )

    assert state("script-unsafe-division", text.replace("{0}", "images")) is State.PRESENT
    assert state("script-unsafe-division", text.replace("{0}", "embeddings")) is not State.PRESENT


def test_what_a_name_of_a_comprehension_stands_for_tells_whether_it_is_an_input() -> None:
    text = (
        STEP.format(before="pass", inside="pass")
        + "\ndef unit({0}, other):\n    return [x / x.norm(dim=1, keepdim=True) for x in ({0}, other)]\n"
    )

    assert state("script-unsafe-division", text.replace("{0}", "images")) is State.PRESENT
    assert state("script-unsafe-division", text.replace("{0}", "embeddings")) is not State.PRESENT


def test_sigmoids_of_many_functions_do_not_follow_one_another() -> None:
    apart = "".join(f"\ndef squash_{n}(x):\n    return torch.sigmoid(x)\n" for n in range(8))
    inside = "\ndef squashed(x):\n" + "    x = torch.sigmoid(x)\n" * 8 + "    return x\n"
    text = STEP.format(before="pass", inside="pass")

    assert state("script-deep-saturating", text + inside) is State.PRESENT
    assert state("script-deep-saturating", text + apart) is not State.PRESENT


SCALED = """
import torch
scaler = torch.amp.GradScaler("cuda")

def limit(parameters):
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)

def step(model, loss, optimizer):
    scaler.scale(loss).backward()
    {}
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()

for x, y in loader:
    step(model, model(x).sub(y).pow(2).mean(), optimizer)
"""


def test_clipping_in_a_helper_that_is_called_after_unscaling() -> None:
    symptom = "script-clip-before-unscale"
    after = "scaler.unscale_(optimizer); limit(model.parameters())"
    before = "limit(model.parameters()); scaler.unscale_(optimizer)"

    assert state(symptom, SCALED.replace("{}", before.replace("; ", "\n    "))) is State.PRESENT
    assert state(symptom, SCALED.replace("{}", after.replace("; ", "\n    "))) is State.ABSENT


def test_a_step_that_another_program_repeats_may_be_cleared_there() -> None:
    step = (
        "import torch\n\nclass Step:\n    def __call__(self, loss, optimizer):\n"
        "        loss.backward()\n        optimizer.step()\n"
    )
    loop = "\nfor x in data:\n    loss = model(x).mean()\n    loss.backward()\n    optimizer.step()\n"

    assert state("script-gradients-not-cleared", step) is not State.PRESENT
    assert state("script-gradients-not-cleared", step + loop) is State.PRESENT


def test_spectra_are_made_without_gradients() -> None:
    text = STEP.format(before="pass", inside="pass").replace(
        "        return self.layer(x)",
        "        with torch.no_grad():\n            x = self.{}(x)\n        return self.layer(x)",
    )

    assert state("script-gradient-path-cut", text.replace("{}", "encoder")) is State.PRESENT
    assert state("script-gradient-path-cut", text.replace("{}", "mel_spectrogram")) is not State.PRESENT


def test_an_engine_divides_the_loss_by_itself() -> None:
    text = STEP.format(before="pass", inside="pass")

    assert state("script-accumulation-not-divided", text) is State.PRESENT
    assert (
        state(
            "script-accumulation-not-divided", text.replace("loss.backward()", "accelerator.backward(loss)")
        )
        is not State.PRESENT
    )


def test_a_prompt_and_its_answer_make_one_sequence() -> None:
    text = STEP.format(before="pass", inside="pass") + "\nimport numpy as np\nx = np.concatenate([{}])\n"

    assert state("script-target-in-inputs", text.replace("{}", "x, labels")) is State.PRESENT
    assert state("script-target-in-inputs", text.replace("{}", "input_ids, label_ids")) is not State.PRESENT


def test_a_mask_of_valid_samples_is_no_validation_data() -> None:
    text = (
        STEP.format(before="pass", inside="pass") + "\ntrain_x = load()\nvalid_x = load()\nvalid_x {} other\n"
    )

    assert state("script-splits-processed-differently", text.replace("{}", "/=")) is State.PRESENT
    assert state("script-splits-processed-differently", text.replace("{}", "&=")) is not State.PRESENT


def test_low_rank_updates_start_at_zero() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nclass {}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.up = nn.Linear(4, 8)\n        nn.init.zeros_(self.up.weight)\n"
    )

    assert state("script-zero-init", text.replace("{}", "Widen")) is State.PRESENT
    assert state("script-zero-init", text.replace("{}", "LoRALayer")) is not State.PRESENT


def test_a_wrapper_that_is_only_imported_joins_nothing() -> None:
    """`from torch.nn.parallel import DistributedDataParallel` without a call leaves every rank alone."""
    text = '''"""Data-parallel training."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
model = {}
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    opt.step()
'''
    alone = state("script-no-gradient-synchronisation", text.replace("{}", "build()"))
    wrapped = state(
        "script-no-gradient-synchronisation", text.replace("{}", "DistributedDataParallel(build())")
    )
    assert (alone, wrapped) == (State.PRESENT, State.ABSENT)


def test_a_step_that_is_taken_with_its_backward_every_few_batches() -> None:
    text = STEP.format(before="pass", inside="loss.backward()").replace(
        "        loss.backward()\n        pass\n", "", 1
    )

    assert state("script-accumulation-not-divided", text) is not State.PRESENT


def test_an_option_decides_what_is_frozen() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nmodel = Net()\nif {}:\n    for p in model.layer.parameters():\n        p.requires_grad = False\n"
    )

    assert state("script-freezes-parameters", text.replace("{}", "True")) is State.PRESENT
    assert state("script-freezes-parameters", text.replace("{}", "args.keep_encoder")) is not State.PRESENT


def test_layers_that_an_option_shares() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nif {}:\n    blocks = nn.ModuleList([Net()] * 4)\n"
        "else:\n    blocks = nn.ModuleList([Net() for _ in range(4)])\n"
    )

    assert state("script-layer-repeated", text.replace("{}", "deep")) is State.PRESENT
    assert state("script-layer-repeated", text.replace("{}", "share_blocks")) is not State.PRESENT


def test_values_and_returns_are_numbers_though_actions_are_classes() -> None:
    text = (
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
        "def learn(batch, net, opt):\n    {0} = net(batch)\n    loss = F.mse_loss({0}, batch.{1})\n"
        "    accuracy = (net(batch).argmax(1) == batch.action).float().mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
    )

    assert state("script-regression-loss-on-classes", text.format("scores", "kinds")) is State.PRESENT
    assert state("script-regression-loss-on-classes", text.format("values", "returns")) is not State.PRESENT


def test_probabilities_of_a_model_that_is_handed_over_are_unknown() -> None:
    given = (
        "import torch\nfrom torch import nn\nclass Fit:\n    def __init__(self, model):\n"
        "        self.model = model\n"
        "        self.criterion = nn.BCELoss()\n        self.opt = torch.optim.Adam(model.parameters())\n"
        "    def run(self, loader):\n        for x, y in loader:\n            self.opt.zero_grad()\n"
        "            loss = self.criterion(self.model(x), y)\n            loss.backward()\n"
        "            self.opt.step()\n"
    )
    made = given + "Fit(nn.Sequential(nn.Linear(4, 1))).run(loader)\n"

    assert state("script-activation-missing-before-loss", given) is State.UNKNOWN
    assert state("script-activation-missing-before-loss", made) is State.PRESENT


def test_a_rounded_up_quotient_of_sizes_divides_no_inputs() -> None:
    text = STEP.format(before="pass", inside="pass") + "\ndef parts(x, y):\n    return {}\n"

    assert state("script-integer-division", text.replace("{}", "(x + y - 1) // y")) is not State.PRESENT
    assert state("script-integer-division", text.replace("{}", "x // 255")) is State.PRESENT


def test_a_layer_called_softmax_that_is_a_log_softmax() -> None:
    text = STEP.format(before="pass", inside="pass").replace(
        "        self.layer = nn.Linear(8, 3)",
        "        self.layer = nn.Linear(8, 3)\n        self.softmax = nn.{}(1)",
    )
    text = text.replace("return self.layer(x)", "return self.softmax(self.layer(x))")
    text += "\nnet = Net()\ntrain(loader, net, torch.optim.SGD(net.parameters(), 0.1), 2)\n"

    assert state("script-double-softmax", text.replace("{}", "Softmax")) is State.PRESENT
    assert state("script-double-softmax", text.replace("{}", "LogSoftmax")) is not State.PRESENT


def test_forward_of_a_trainer_is_a_step_of_it_and_no_model() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nclass {}:\n    def forward(self, model, batch):\n        with torch.no_grad():\n"
        "            other = model(batch)\n        return model(batch) - other\n"
    )

    assert state("script-gradient-path-cut", text.replace("{}", "Pair")) is State.PRESENT
    assert state("script-gradient-path-cut", text.replace("{}", "PairTrainer")) is not State.PRESENT


def test_a_caller_asks_for_the_cut() -> None:
    text = STEP.format(before="pass", inside="pass").replace(
        "    def forward(self, x):\n",
        "    def forward(self, x, {}=False):\n        if {}:\n            x = x.detach()\n",
    )

    assert state("script-gradient-path-cut", text.replace("{}", "flag")) is State.PRESENT
    assert state("script-gradient-path-cut", text.replace("{}", "detach")) is not State.PRESENT


FREEZING = """
class Encoder(nn.Module):
    def __init__(self, freeze=False, recurrent=True, width=8):
        super().__init__()
        self.layer = nn.Linear(8, 3)
        {call}

    def forward(self, x):
        return self.layer(x)

    def hold(self):
        for p in self.layer.parameters():
            p.requires_grad = False

def train(loader, model, optimizer):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("self.hold()", State.PRESENT),
        ("if width > 4:\n            self.hold()", State.PRESENT),
        ("if freeze:\n            self.hold()", State.UNKNOWN),
        ("if not recurrent:\n            self.hold()", State.UNKNOWN),
    ],
)
def test_a_helper_that_freezes_is_asked_by_a_switch(call: str, wanted: State) -> None:
    found = state(
        "script-freezes-parameters", "import torch\nfrom torch import nn\n" + FREEZING.replace("{call}", call)
    )

    assert (found is State.PRESENT) == (wanted is State.PRESENT)


def test_a_list_from_the_command_line_names_what_is_frozen() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\ndef hold(model, parts):\n    for name, p in model.named_parameters():\n"
        "        if any(name.startswith(part) for part in parts):\n            p.requires_grad = False\n"
        "\nmodel = Net()\nhold(model, {})\n"
    )

    assert state("script-freezes-parameters", text.replace("{}", "['layer']")) is State.PRESENT
    assert state("script-freezes-parameters", text.replace("{}", "args.parts")) is not State.PRESENT


def test_a_momentum_encoder_gets_its_values_from_the_other_one() -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nquery, key = Net(), Net()\n"
        "def init():\n    for p_q, p_k in zip(query.parameters(), key.parameters()):\n"
        "        {}\n        p_k.requires_grad = False\n"
    )

    assert state("script-freezes-parameters", text.replace("{}", "pass")) is State.PRESENT
    assert (
        state("script-freezes-parameters", text.replace("{}", "p_k.data.copy_(p_q.data)"))
        is not State.PRESENT
    )


@pytest.mark.parametrize(
    ("beside", "wanted"),
    [
        ("self.head = nn.Linear(3, 3)", True),
        ("self.target_net = Net()", False),
        ("self.agent = Agent(self.net)", False),
        ("self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)", False),
    ],
)
def test_what_is_built_of_the_trained_part_is_no_part_beside_it(beside: str, wanted: bool) -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nclass Agent:\n    def __init__(self, net):\n        self.net = net\n"
        "\nclass Learner(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.net = Net()\n        {beside}\n"
        "    def forward(self, x):\n        return self.net(x)\n"
        "    def optimizer(self):\n        return torch.optim.Adam(self.net.parameters(), lr=1e-3)\n"
    )
    if "opt =" in beside:
        text = text.replace(
            "        return torch.optim.Adam(self.net.parameters(), lr=1e-3)\n", "        return self.opt\n"
        )

    assert (state("script-optimizer-gets-part", text) is State.PRESENT) == wanted


@pytest.mark.parametrize(("shuffle", "wanted"), [("False", State.UNKNOWN), ("True", State.ABSENT)])
def test_a_loader_that_keeps_the_order_counts_once(tmp_path: Path, shuffle: str, wanted: State) -> None:
    text = STEP.format(before="pass", inside="pass") + (
        "\nfrom torch.utils.data import DataLoader\n"
        f"train_loader = DataLoader(train_set, batch_size=32, shuffle={shuffle})\n"
    )
    found = named(tmp_path, {"train.py": text})

    assert found["shuffle-off"] is wanted
    assert (found["script-loader-keeps-order"] is State.PRESENT) == (shuffle == "False")


MAIN = "from torch import nn, optim\nimport torch\n" + STEP.format(before="pass", inside="pass")


def test_a_table_of_bounds_for_a_search_holds_no_settings(tmp_path: Path) -> None:
    text = MAIN + "\nhyp = read()\noptimizer = optim.SGD(Net().parameters(), lr=hyp['lr0'])\n{}\n"
    table = "meta = {'lr0': (1, 1e-5, 1e-1), 'lrf': (1, 0.01, 1.0), 'box': (1, 0.02, 0.2)}"

    assert named(tmp_path, {"train.py": text.format("hyp = {'lr0': 2.0}")})["lr-very-large"] is State.PRESENT
    assert named(tmp_path, {"train.py": text.format(table)})["lr-very-large"] is State.UNKNOWN


def test_options_of_a_module_that_is_a_program_too_are_its_own(tmp_path: Path) -> None:
    other = (
        "import argparse\nimport torch\n\ndef export(model):\n    return model\n\ndef parse_opt():\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--batch-size', type=int, default=1)\n    return parser.parse_args()\n"
    )
    own = (
        "\nimport argparse\nfrom export import export\n\n"
        "def parse_opt():\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--batch-size', type=int, default=16)\n    return parser.parse_args()\n\n"
        "opt = parse_opt()\nmodel = export(Net())\n"
        "loader = torch.utils.data.DataLoader(train_set, batch_size=opt.batch_size, shuffle=True)\n"
    )
    files = {"train.py": MAIN + own, "export.py": other}
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert script_files.read(tmp_path / "train.py").run.settings["batch_size"].value == 16


def test_the_rate_of_a_schedule_over_the_width_is_a_factor(tmp_path: Path) -> None:
    text = (
        "import tensorflow as tf\n\nclass Schedule(tf.keras.optimizers.schedules.LearningRateSchedule):\n"
        "    def __init__(self, initial_learning_rate, {width}, warmup_steps):\n        pass\n\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(3)])\n"
        "model.compile(tf.keras.optimizers.Adam(learning_rate=Schedule(2.0, 512, 4000)), 'mse')\n"
        "model.fit(x, y)\n"
    )
    held = named(tmp_path, {"train.py": text.format(width="decay_steps")})
    factor = named(tmp_path, {"train.py": text.format(width="hidden_size")})

    assert (held["lr-very-large"], factor["lr-very-large"]) == (State.PRESENT, State.UNKNOWN)


def named(folder: Path, files: dict[str, str]) -> dict[str, State]:
    """What settings and scripts say, where the first file is named to `diagnose script`."""
    for name, text in files.items():
        (folder / name).write_text(text)
    rules = load_rules()
    view = View(script_files.read(folder / next(iter(files))).run)
    wanted = ("shuffle-off", "script-loader-keeps-order", "lr-very-large")
    return {s: read(view, rules.symptoms[s], all_probes()).state for s in wanted}
