# ruff: noqa: E501
"""Settings that stand in scripts are read without running anything."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from traindoctor.probes.files import walk
from traindoctor.probes.readers import script

TEXT = """\
import argparse
import torch
from torch.utils.data import DataLoader
LR = 1e-3
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
args = parser.parse_args()
config = {"wd": 0.1}
loader = DataLoader(train_set, batch_size=args.batch_size)
val_loader = DataLoader(val_set, batch_size=512, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), 2 * LR, weight_decay=config["wd"], betas=(0.9, 0.95))
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(3, 10):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""


def read(tmp_path: Path, text: str, name: str = "train.py") -> dict[str, tuple[object, int | None, int]]:
    (tmp_path / name).write_text(text)
    (file,) = [f for f in walk(tmp_path)[0] if f.path == name]
    assert script.sniff(file)
    return {s.key: (s.value, s.line, s.trust) for s in script.read(file).settings}


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("learning_rate", 0.002, 11),
        ("weight_decay", 0.1, 11),
        ("adam_beta2", 0.95, 11),
        ("optimizer", "adamw", 11),
        ("label_smoothing", 0.1, 12),
        ("max_grad_norm", 1.0, 14),
        ("shuffle", False, 9),
        ("epochs", 7, 13),
        ("batch_size", 64, 9),
    ],
)
def test_literals_are_followed(tmp_path: Path, key: str, value: object, line: int) -> None:
    """Names, argparse defaults and dict entries are followed to their values, with the line of the call."""
    found = read(tmp_path, TEXT)[key]

    assert found[:2] == (pytest.approx(value) if isinstance(value, float) else value, line)


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("torch.optim.AdamW(p, 3e-4, (0.9, 0.98), 1e-9, 0.02)", {"adam_beta2": 0.98, "adam_epsilon": 1e-9, "weight_decay": 0.02}),
        ("optim.SGD(p, 0.1, 0.9, weight_decay=5e-4)", {"momentum": 0.9, "weight_decay": 5e-4}),
        ("torch.optim.SGD(p, 0.1, 0.9, 0, 1e-4, True)", {"weight_decay": 1e-4, "nesterov": True}),
        ("torch.optim.RMSprop(p, 1e-3, 0.95, 1e-6)", {"adam_epsilon": 1e-6}),
        ("nn.Momentum(p, 0.1, 0.9, 1e-4)", {"momentum": 0.9, "weight_decay": 1e-4}),
        ("nn.Adam(p, 1e-3, 0.9, 0.98, 1e-9)", {"adam_beta2": 0.98, "adam_epsilon": 1e-9}),
        ("keras.optimizers.Adam(1e-3, 0.9, 0.98)", {"adam_beta2": None}),
        ("torch.optim.AdamW(*given)", {"weight_decay": None}),
    ],
)  # fmt: skip
def test_an_optimizer_is_given_settings_by_their_place(
    tmp_path: Path, call: str, found: dict[str, object]
) -> None:
    said = read(tmp_path, f"import torch\np = model.parameters()\nopt = {call}\n")
    assert {key: said[key][0] if key in said else None for key in found} == found


def test_defaults_of_the_command_line_are_trusted_less(tmp_path: Path) -> None:
    """What --batch-size may have overridden weighs less than a literal."""
    found = read(tmp_path, TEXT)

    assert found["batch_size"][2] < found["learning_rate"][2]


def test_the_evaluation_loader_does_not_count(tmp_path: Path) -> None:
    """Shuffling and batch size are the training loader's."""
    assert read(tmp_path, TEXT)["batch_size"][0] == 64


def test_a_script_without_a_framework_gives_nothing(tmp_path: Path) -> None:
    """Any other Python file is nobody's settings."""
    assert read(tmp_path, "LR = 3\n") == {}


@pytest.mark.parametrize("text", ["def (:\n", "print 'python 2' if\n", "x = (" * 5000])
def test_broken_source_is_one_sentence(tmp_path: Path, text: str) -> None:
    """A syntax error, another Python version and absurd nesting raise ValueError."""
    with pytest.raises(ValueError, match="Python"):
        read(tmp_path, "import torch\n" + text)


def test_nothing_is_executed(tmp_path: Path) -> None:
    """Reading a script runs none of it."""
    read(tmp_path, f"import torch\nopen({str(tmp_path / 'ran')!r}, 'w')\n")

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "precision"),
    [
        ('output_dir="out", learning_rate=5e-5', "fp32"),
        ('output_dir="out", fp16=True', None),
        ('output_dir="out", bf16=use_bf16', None),
        ('output_dir="out", **options', None),
    ],
)
def test_a_trainer_without_a_word_of_half_precision_is_in_fp32(
    tmp_path: Path, arguments: str, precision: str | None
) -> None:
    """TrainingArguments default to full precision; what is passed on unseen says nothing."""
    found = read(
        tmp_path, f"from transformers import TrainingArguments\nargs = TrainingArguments({arguments})\n"
    )

    assert found.get("precision", (None,))[0] == precision or (precision is None and "fp32" not in str(found))


@pytest.mark.parametrize(
    ("more", "optimizer"),
    [
        ("Trainer(model, args)", "adamw_torch"),
        ("Trainer(model, args, optimizers=(mine, None))", None),
        ("Trainer(model, **rest)", "adamw_torch"),
    ],
)
def test_a_trainer_without_a_word_of_the_optimizer_has_the_default(
    tmp_path: Path, more: str, optimizer: str | None
) -> None:
    """`optim` of TrainingArguments is AdamW; a pair of one's own goes to the Trainer."""
    found = read(
        tmp_path,
        "from transformers import Trainer, TrainingArguments\n"
        f"args = TrainingArguments(output_dir='out', learning_rate=1e-4)\ntrainer = {more}\n",
    )

    assert found.get("optim", (None,))[0] == optimizer


def test_a_configuration_in_python(tmp_path: Path) -> None:
    """OpenMMLab's: dicts of literals, with names put in; keys are dotted, lists of dicts numbered."""
    (tmp_path / "configs").mkdir()
    text = "common = dict(mean=[1.0], std=[2.0])\n"
    text += "data = dict(samples_per_gpu=32, pipeline=[dict(type='Normalize', **common)])\n"
    text += "optimizer = dict(type='SGD', lr=0.01)\nlr_config = dict(policy='step', step=[6, 8])\n"
    found = read(tmp_path, text, "configs/net.py")

    assert found["optimizer.lr"][0] == 0.01 and found["optimizer.type"][:2] == ("SGD", 3)
    assert found["data.samples_per_gpu"][0] == 32 and found["data.pipeline.0.std"][0] == (2.0,)
    assert found["lr_config.step"][0] == (6, 8)


@pytest.mark.parametrize("name", ["config.py", "train.py"])
def test_fields_of_a_class_of_settings(tmp_path: Path, name: str) -> None:
    """A dataclass of defaults, in the script or beside it; any other class is nobody's settings."""
    head = "import torch\n" if name == "train.py" else ""
    text = (
        head
        + "from dataclasses import dataclass\n\n@dataclass\nclass Setup:\n    peak_lr: float = 3e-4\n"
        + "    warmup_steps: int = 100\n"
    )
    found = read(tmp_path, text, name)
    other = read(tmp_path, head + "class Net:\n    width: int = 3\n\ndef f():\n    pass\n", name)

    assert found["peak_lr"][0] == 3e-4 and found["warmup_steps"][0] == 100
    assert "width" not in other


def test_the_optimizer_that_is_scheduled_is_the_main_one(tmp_path: Path) -> None:
    """One of a warm start, without a schedule, says nothing of the training."""
    text = "import torch\n\ndef warm_start(net):\n    opt = torch.optim.Adam(net.parameters(), lr=2e-3)\n\n"
    text += "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    text += "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)\n"
    found = read(tmp_path, text)

    assert found["optimizer"][0] == "sgd" and found["learning_rate"][0] == 0.1


def test_two_functions_may_call_their_optimizers_alike(tmp_path: Path) -> None:
    """A teacher's, without a schedule, says nothing of the student's rate."""
    text = "import torch\n\ndef fit_teacher(net):\n    opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n\n"
    text += "opt = torch.optim.SGD(student.parameters(), lr=0.1)\n"
    text += "sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 30)\n"
    found = read(tmp_path, text)

    assert found["optimizer"][0] == "sgd" and found["learning_rate"][0] == 0.1


@pytest.mark.parametrize(
    ("line", "main"),
    [
        ("for g in sgd.param_groups:\n        g['lr'] = rate(epoch)", "sgd"),
        ("sgd.param_groups[0]['lr'] = rate(epoch)", "sgd"),
        ("rates = [g['lr'] for g in sgd.param_groups]", "adam"),  # read, not given
    ],
)
def test_the_optimizer_that_is_given_rates_by_hand_is_the_main_one(
    tmp_path: Path, line: str, main: str
) -> None:
    """A probe's beside it, which keeps its rate, says nothing of the training."""
    text = "import torch\n\ndef pretrain(net):\n    sgd = torch.optim.SGD(net.parameters(), lr=0.3)\n"
    text += f"    {line}\n\ndef judge(head):\n    adam = torch.optim.Adam(head.parameters())\n"

    assert read(tmp_path, text)["optimizer"][0] == main


@pytest.mark.parametrize(
    ("line", "order"),
    [
        ("va = DataLoader(Subset(base, va_idx), 64)", True),
        ("dl_te = DataLoader(ds_te, 64)", True),
        ("second = DataLoader(held, 64)", True),  # beside one that shuffles
        ("tr2 = DataLoader(more, 64)", False),
        ("valid_loader = DataLoader(held, 64, shuffle=False)", True),
        ("train_loader = DataLoader(base, 64, shuffle=False)", False),
    ],
)
def test_only_the_order_of_training_data_counts(tmp_path: Path, line: str, order: bool) -> None:
    """A loader in fixed order beside one that shuffles is the evaluation's, whatever its short name."""
    head = (
        "import torch\nfrom torch.utils.data import DataLoader\nfirst = DataLoader(base, 32, shuffle=True)\n"
    )
    text = head + line + "\n"
    (tmp_path / "train.py").write_text(text)
    (file,) = walk(tmp_path)[0]
    found = [s.value for s in script.read(file).settings if s.key == "shuffle"]

    assert found == ([True] if order else [True, False])


DECLARED = """\
import torch
from dataclasses import dataclass
@dataclass
class Rates:
    lr: float = 1e-3
    decay: float = 0.01
class Fixed:
    momentum = 0.8
{made}
opt = torch.optim.SGD(params(), lr=cfg.train.lr, weight_decay=cfg.train.decay, momentum=Fixed.momentum)
"""


@pytest.mark.parametrize(
    ("made", "rate"),
    [
        ("cfg = load('config.yaml')", (1e-3, script.DEFAULT)),
        ("cfg = Rates(**read())", (1e-3, script.DEFAULT)),
        ("cfg = Rates(lr=0.5)", (0.5, script.LITERAL)),
        ("cfg = Rates(lr=0.5) if quick else Rates(lr=0.1)", (1e-3, script.DEFAULT)),
    ],
)
def test_the_default_of_a_field_may_be_replaced(tmp_path: Path, made: str, rate: tuple[float, int]) -> None:
    """What a configuration file may fill in counts less than that file; what the program fills in counts."""
    (tmp_path / "train.py").write_text(DECLARED.format(made=made))
    (file,) = walk(tmp_path)[0]
    best = {s.key: s for s in sorted(script.read(file).settings, key=lambda s: s.trust)}

    assert (best["learning_rate"].value, best["learning_rate"].trust) == rate
    assert best["weight_decay"].trust == script.DEFAULT
    assert best["momentum"].trust == script.LITERAL


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("from mindspore import nn\nlayer = nn.Dropout(0.9)", 0.1),
        ("from mindspore import nn\nlayer = nn.Dropout(keep_prob=0.9)", 0.1),
        ("from mindspore import nn\nlayer = nn.Dropout(p=0.1)", 0.1),
        ("from mindspore import nn\nlayer = nn.Dropout2d(0.1)", 0.1),
        ("from mindspore import nn, ops\nlayer = ops.dropout(x, 0.1, True)", None),
        ("from tensorflow.keras import layers\nlayer = layers.Dropout(rate=0.4)", 0.4),
        ("from tensorflow.keras import layers\nlayer = layers.GRU(96, dropout=0.9)", 0.9),
        ("from tensorflow.keras import layers\nlayer = layers.GRU(96, dropout=0.2)", None),
        ("from mindspore.mint import nn\nlayer = nn.Dropout(0.1)", 0.1),
        ("from mindspore import mint\nlayer = mint.nn.Dropout(0.1)", 0.1),
        ("from torch import nn\nlayer = nn.Dropout(0.9)", 0.9),
    ],
)
def test_the_share_that_dropout_drops(tmp_path: Path, text: str, share: float | None) -> None:
    """MindSpore's `nn.Dropout` takes the share to keep first, its other layers the share to drop."""
    found = read(tmp_path, text).get("dropout")

    assert (found and found[0]) == (share if share is None else pytest.approx(share))


@pytest.mark.parametrize(
    ("table", "given"),
    [
        ('{"Md": 101, "No": 102, "Lr": 103, "Rf": 104, "Db": 105}', False),  # chemical elements
        (
            "{" + ", ".join(f'"L{c}": 0.{n}' for n, c in enumerate("rabcdefghijkmnopqstuvwxyz", 1)) + "}",
            False,
        ),
        ('{"Lr": 0.5, "La": 0.1, "Lb": 0.2}', True),
        ('{"epochs": 3, "Lr": 0.5, "batch_size": 16, "seed": 4}', True),
    ],
)
def test_a_numbered_table_holds_no_settings(tmp_path: Path, table: str, given: bool) -> None:
    text = f"import torch\nTABLE = {table}\nopt = torch.optim.SGD(net.parameters(), lr=TABLE['Lr'])\n"
    assert ("learning_rate" in read(tmp_path, text)) == given


@pytest.mark.parametrize(
    ("made", "rate"),
    [
        ("optax.adamw(learning_rate, 0.9)", 0.005),
        ("torch.optim.AdamW(params, 0.9)", 0.9),
        ("optax.sgd(0.1, 0.9)", 0.1),
    ],
)
def test_optax_takes_the_rate_first(tmp_path: Path, made: str, rate: float) -> None:
    text = f"import torch\nimport optax\nlearning_rate = 0.005\noptimizer = {made}\n"

    assert read(tmp_path, text)["learning_rate"][0] == rate


@pytest.mark.parametrize(
    ("module", "rate"),
    [("keras.optimizers", None), ("tensorflow.keras.optimizers", None), ("torch.optim", 0.9)],
)
def test_keras_takes_the_rate_first_by_whatever_import(
    tmp_path: Path, module: str, rate: float | None
) -> None:
    """A schedule is no number, and what follows it is a beta."""
    text = f"import tensorflow\nimport torch\nfrom {module} import Adam\nopt = Adam(plan(512), 0.9)\n"
    found = read(tmp_path, text)

    assert found.get("learning_rate", (None,))[0] == rate


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("torch.optim.Adam(q.parameters(), lr=5e-4)", False),  # the share of random moves
        ("torch.optim.Adam(q.parameters(), lr=5e-4, eps=eps)", True),
        ("torch.optim.Adam(q.parameters(), **options)", True),
        ("build_optimizer(q)", True),
    ],
)
def test_an_epsilon_that_no_optimizer_is_given_is_none_of_it(tmp_path: Path, made: str, told: bool) -> None:
    text = f"import torch\neps = 1.0\nopt = {made}\n"

    assert ("eps" in read(tmp_path, text)) is told


WINDOW = """import torch

def window(left):
    ll, lr = 0, 0
    return max(ll, 1), max(lr, 2)

class Model:
    def __init__(self, net, lr):
        self.lr = lr
        self.optimizer = torch.optim.Adam(net.parameters(), lr=self.lr)
"""


def test_a_name_of_another_function_is_no_member(tmp_path: Path) -> None:
    """`self.lr` is not the `lr` that a function elsewhere keeps to itself, but what a function hands on."""
    assert "learning_rate" not in read(tmp_path, WINDOW)

    handed = WINDOW + "\ndef main(net):\n    lr = 0.5\n    return Model(net, lr)\n"
    assert read(tmp_path, handed)["learning_rate"][0] == 0.5


def test_a_name_without_end_is_refused() -> None:
    """Names of thousands of characters are nobody's, and take their square to look at; texts may be long."""
    from traindoctor.probes.readers.script.syntax import MAX_NAME, parse

    for code in ("{} = 1", "x.{} = 1", "def {}(): pass", "f({}=1)", "import {}"):
        with pytest.raises(ValueError, match="a name of more than"):
            parse(code.format("a_" * MAX_NAME))
    parse(f"x = '{'a_' * MAX_NAME}'  # {'b' * 5000}")
    parse("a" * MAX_NAME + " = 1")


def test_empty_lines_take_no_time() -> None:
    """Half a million of them, as a broken editor leaves them."""
    from traindoctor.probes.curves.fitted import _PROCESSES

    begin = time.process_time()
    assert not _PROCESSES.search("import torch\n" + " \n" * 200_000)
    assert _PROCESSES.search("import torch\n\n    import gpytorch\n")
    assert time.process_time() - begin < 3.0


@pytest.mark.parametrize(
    ("made", "share"),
    [
        ("Net(drop=args.drop)", 0.9),
        ("Net(8, DROP)", 0.8),
        ("Net(8, 0.7)", 0.7),
        ("Net()", 0.1),
        ("Net(drop=settings.drop_of_file)", None),
        ("(Net(drop=0.5), Net(drop=0.6))", None),
    ],
)
def test_what_a_constructor_is_given_is_in_force(tmp_path: Path, made: str, share: float | None) -> None:
    text = (
        "import argparse\nimport torch\nfrom torch import nn\nDROP = 0.8\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--drop', type=float, default=0.9)\n"
        "args = parser.parse_args()\nclass Net(nn.Module):\n    def __init__(self, classes=8, drop=0.1):\n"
        f"        super().__init__()\n        self.layer = nn.Dropout(drop)\nnet = {made}\n"
    )
    found = read(tmp_path, text).get("dropout")
    assert (found[0] if found else None) == share


@pytest.mark.parametrize(
    ("table", "given"),
    [
        ("{'lr': (0.1, 1.1, 2), 'batch_size': [16], 'dropout': (0, 0.4, 2)}", False),
        ("{'lr': 0.1, 'batch_size': 16, 'dropout': 0.4}", True),
    ],
)
def test_what_each_setting_is_tried_with_is_no_setting(tmp_path: Path, table: str, given: bool) -> None:
    found = read(tmp_path, f"import torch\nparams = {table}\nscan(params)\n")

    assert ("dropout" in found) == given


def test_a_configuration_may_import_the_classes_that_it_names(tmp_path: Path) -> None:
    """XTuner's import torch's optimizers and name them; nested keys stay nested."""
    text = (
        "from torch.optim import AdamW\nlr = 2e-4\nmax_epochs = 3\nbatch_size = 1\n"
        "optim_wrapper = dict(type='AmpOptimWrapper', optimizer=dict(type=AdamW, lr=lr))\n"
        "train_dataloader = dict(batch_size=batch_size, sampler=dict(shuffle=False))\n"
    )
    (tmp_path / "qwen_lora.py").write_text(text)
    made = next(f for f in walk(tmp_path)[0])
    found = {s.key: s.value for s in script.read(made).settings}
    assert found["train_dataloader.sampler.shuffle"] is False
    assert found["optim_wrapper.optimizer.lr"] == 2e-4


JAX = """\
import jax
import jax.numpy as jnp
def loss_fn(params, x, y):
    held = {CAST}
    return jnp.mean((forward(held, x) - y) ** 2)
step = jax.jit(jax.value_and_grad(loss_fn))
def export(params):
    return jax.tree.map(lambda p: p.astype(jnp.float16), params)
"""


@pytest.mark.parametrize(
    ("cast", "expected"),
    [
        ("jax.tree.map(lambda p: p.astype(jnp.float16), params)", "fp16"),
        ("jax.tree_util.tree_map(lambda w: w.astype('bfloat16'), params)", "bf16"),
        ("jax.tree.map(lambda p: p.astype(jnp.float32), params)", None),
        ("params", None),  # what is exported in half precision is trained in full
        ("jax.tree.map(lambda p: 0.5 * p, params)", None),
    ],
)
def test_parameters_that_a_loss_casts(tmp_path: Path, cast: str, expected: str | None) -> None:
    found = read(tmp_path, JAX.replace("{CAST}", cast)).get("precision")
    assert (found[0] if found else None) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("optimizer, 0.1, 1.0, total_iters=20", None),
        ("optimizer, start_factor=1e-3", None),
        ("optimizer", None),  # from a third to the whole
        ("optimizer, 1.0, 0.05, 900", "linearlr"),
        ("optimizer, start_factor=1.0, end_factor=0.0, total_iters=900", "linearlr"),
    ],
)
def test_a_linear_schedule_that_rises_is_a_warmup(tmp_path: Path, given: str, expected: str | None) -> None:
    text = TEXT + f"scheduler = torch.optim.lr_scheduler.LinearLR({given})\n"
    found = read(tmp_path, text).get("lr_scheduler")
    assert (found[0] if found else None) == expected


def test_schedules_of_several_branches_are_not_told(tmp_path: Path) -> None:
    """Which of them is in force is told at run time; two parts of one schedule are."""
    one = "torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=1e-4, max_lr=1e-2)"
    other = "torch.optim.lr_scheduler.StepLR(optimizer, 30)"
    choice = f"if kind == 'cyclic':\n    sched = {one}\nelse:\n    sched = {other}\n"
    assert "lr_scheduler" not in read(tmp_path, TEXT + choice)
    assert read(tmp_path, TEXT + f"if epochs > 1:\n    sched = {other}\n")["lr_scheduler"][0] == "steplr"
