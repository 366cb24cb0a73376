"""Configuration files: settings with lines, capped, redacted; logs and data are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.readers import config_file
from traindoctor.probes.readers._config_tree import leaves, parse_json, parse_yaml
from traindoctor.probes.readers._secrets import redact, secret_key
from traindoctor.probes.run import FileContent

SHARED = Path(__file__).resolve().parents[4] / "shared"


def file(tmp_path: Path, name: str, text: str | bytes) -> RunFile:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return next(f for f in walk(tmp_path)[0] if f.path == name)


def read(tmp_path: Path, name: str, text: str | bytes) -> FileContent:
    made = file(tmp_path, name, text)
    assert config_file.sniff(made), f"{name} is not recognised"
    return config_file.read(made)


def values(content: FileContent) -> dict[str, object]:
    return {s.key: s.value for s in content.settings}


def test_yaml_gives_dotted_settings_with_lines(tmp_path: Path) -> None:
    """Nested mappings become dotted keys; each knows its line."""
    content = read(
        tmp_path, "config.yaml", "model: resnet\noptim:\n  lr: 0.1\n  betas: [0.9, 0.95]\nflag: yes\n"
    )

    assert values(content) == {"model": "resnet", "optim.lr": 0.1, "optim.betas": (0.9, 0.95), "flag": True}
    assert {s.key: s.line for s in content.settings}["optim.lr"] == 3


def test_a_float_without_a_dot_is_text_to_pyyaml_and_is_remembered(tmp_path: Path) -> None:
    """`lr: 1e-5` is kept as written, and the fact names key, value and line."""
    content = read(tmp_path, "config.yaml", "epochs: 3\nlr: 1e-5\n")

    assert values(content)["lr"] == "1e-5"
    assert content.facts["number_as_text"] == "lr: 1e-5 (config.yaml:2)"


@pytest.mark.parametrize(
    "text", ["lr: 1.0e-05\n", "lr: 0.00001\n", "lr: 1\nname: 1e5x\n", "git: 12e5\nlr: 1.5\n"]
)
def test_numbers_that_pyyaml_reads_are_not_remembered_as_text(tmp_path: Path, text: str) -> None:
    """Only numeric settings that the usual reader takes for text are named."""
    assert "number_as_text" not in read(tmp_path, "config.yaml", text).facts


def test_hydra_reads_its_own_numbers(tmp_path: Path) -> None:
    """OmegaConf reads 1e-5 as a number, so Hydra's record says nothing of text."""
    content = read(tmp_path, ".hydra/config.yaml", "lr: 1e-5\n")

    assert "number_as_text" not in content.facts
    assert content.settings[0].trust == 88


def test_unknown_tags_become_plain_data(tmp_path: Path) -> None:
    """Python tags of a saved hparams.yaml are read as data; nothing is constructed."""
    text = (
        "act: !!python/name:torch.nn.ReLU ''\ncfg: !!python/object:os.system {lr: 0.5}\n"
        "t: !!python/tuple [1, 2]\n"
    )
    content = read(tmp_path, "hparams.yaml", text)

    assert values(content) == {"act": "torch.nn.ReLU", "cfg.lr": 0.5, "t": (1, 2)}


def test_classes_in_tags_are_read(tmp_path: Path) -> None:
    """HyperPyYAML names in its tag which class a mapping is given to."""
    text = "opt: !name:torch.optim.Adadelta\n  rho: 0.95\nact: !name:torch.nn.GELU\n"
    text += "x: !new:a.B {n: 1}\nr: !ref <lr>\n"
    content = read(tmp_path, "hyperparams.yaml", text)

    assert values(content) == {
        "opt._target_": "torch.optim.Adadelta",
        "opt.rho": 0.95,
        "act": "torch.nn.GELU",
        "x._target_": "a.B",
        "x.n": 1,
        "r": "<lr>",
    }


def test_duplicate_keys_are_noted_and_the_last_counts(tmp_path: Path) -> None:
    """YAML and JSON keep the last of two equal keys, and a note names both lines."""
    for name, text in (("a.yaml", "lr: 1\nlr: 2\n"), ("b.json", '{"lr": 1,\n"lr": 2}')):
        content = read(tmp_path, name, text)

        assert values(content) == {"lr": 2}
        assert "lr stands twice (lines 1 and 2); the last one counts" in content.notes


def test_anchors_and_merges_are_followed(tmp_path: Path) -> None:
    """`<<: *base` gives the base's keys unless the mapping has them itself."""
    content = read(tmp_path, "c.yaml", "base: &b {lr: 1, wd: 2}\nrun:\n  <<: *b\n  lr: 3\n")

    assert values(content) == {"base.lr": 1, "base.wd": 2, "run.wd": 2, "run.lr": 3}


def test_an_alias_bomb_costs_nothing() -> None:
    """Nine levels of ninefold aliases end at the cap, with a note."""
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, 10):
        text += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n"
    tree = parse_yaml(text)

    assert len(leaves(tree)) <= 20_000
    assert any("only the first" in n for n in tree.notes)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 50_000, "- " * 100_000, "a: &x [*x]\nb: *x"])
def test_deep_or_recursive_yaml_ends_with_a_note(text: str) -> None:
    """Nesting neither exhausts the stack nor goes on for ever."""
    tree = parse_yaml(text)
    leaves(tree)

    assert tree.notes


def test_deep_json_ends_with_a_note() -> None:
    """Nesting that is never closed is a note, not an error."""
    tree = parse_json('{"a":' * 100_000)
    leaves(tree)

    assert tree.notes


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """Neither parser raises, whatever it is given."""
    leaves(parse_yaml(text))
    leaves(parse_json(text))


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(10**15), 10**15)
        | st.floats(allow_nan=False)
        | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
        max_leaves=12,
    )
)
def test_json_scalars_are_what_the_standard_library_reads(data: object) -> None:
    """The tolerant JSON reader finds the same scalars as json.loads."""

    def scalars(node: object) -> list[object]:
        if isinstance(node, dict):
            return [s for v in node.values() for s in scalars(v)]
        if isinstance(node, list):
            return [s for v in node for s in scalars(v)]
        return [node]

    found = [
        value
        for _, leaf, _ in leaves(parse_json(json.dumps(data)))
        for value in (leaf if isinstance(leaf, tuple) else (leaf,))
    ]

    assert found == scalars(data)


def test_a_truncated_json_keeps_what_stands_before(tmp_path: Path) -> None:
    """The settings before the damage survive, with a note."""
    content = read(tmp_path, "args.json", '{"lr": 0.1, "optimizer": "adam", "sched')

    assert values(content)["lr"] == 0.1
    assert content.notes == ("ends in the middle; what stands before was read",)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("history.json", {"loss": [3.0, 2.0, 1.0], "val_loss": [3.0, 2.0, 1.5]}),
        ("trainer_state.json", {"log_history": [{"step": 1, "loss": 2.0}], "max_steps": 5}),
        ("wandb-summary.json", {"_step": 5, "_runtime": 3.0, "lr": 0.0}),
        ("rows.json", [{"epoch": 1, "loss": 2.0}]),
        ("vocab.json", {f"w{i}": i for i in range(1000)}),
        ("model.safetensors.index.json", {"weight_map": {"a": "b"}}),
        ("results.json", {"accuracy": 0.9, "f1": 0.8}),
        ("instances.json", {"images": [], "annotations": []}),
        (
            "train_metadata.json",
            {"model_params_file_map": {"1": "a.ckpt"}, "unit": "step", "num_samples": 2048},
        ),
        ("empty.json", {}),
        ("dump.json", {"task": "statistics", "level": "L1", "data": {"Module.fc.forward.0": {"Max": 1.0}}}),
        ("construct.json", {"Module.fc.Linear.forward.0": None, "Tensor.add.0.backward": "x"}),
    ],
)
def test_json_that_is_no_configuration_is_refused(tmp_path: Path, name: str, data: object) -> None:
    """Logs, results, vocabularies and annotations are not configurations."""
    assert not config_file.sniff(file(tmp_path, name, json.dumps(data)))


def test_model_and_deepspeed_configurations_are_read(tmp_path: Path) -> None:
    """config.json, ds_config.json and adapter_config.json give settings; an adapter's keys are set apart."""
    model = read(tmp_path, "config.json", '{"hidden_size": 64, "id2label": {"0": "a", "1": "b"}}')
    deepspeed = read(
        tmp_path, "ds_config.json", '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}}'
    )
    adapter = read(tmp_path, "adapter_config.json", '{"peft_type": "LORA", "r": 8}')

    assert values(model)["id2label.1"] == "b"
    assert values(deepspeed) == {"zero_optimization.stage": 2, "fp16.enabled": True}
    assert values(adapter)["adapter.peft_type"] == "LORA"


def test_wandb_and_mlflow_parameters_are_unwrapped(tmp_path: Path) -> None:
    """W&B wraps each value; MLflow has one file per parameter."""
    wandb = read(
        tmp_path, "files/config.yaml", "_wandb:\n  value: {t: {1: [1]}}\nlr:\n  desc: null\n  value: 0.1\n"
    )
    mlflow = read(tmp_path, "mlruns/0/0123456789abcdef0123456789abcdef/params/batch_size", "32")

    assert values(wandb) == {"lr": 0.1}
    assert values(mlflow) == {"batch_size": 32}


def test_hydra_overrides_are_a_list_of_assignments(tmp_path: Path) -> None:
    """overrides.yaml holds key=value strings."""
    content = read(tmp_path, ".hydra/overrides.yaml", "- optimizer.lr=0.01\n- +trainer.max_epochs=5\n")

    assert values(content) == {"optimizer.lr": 0.01, "trainer.max_epochs": 5}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("args.txt", "lr: 0.1\nbatch_size: 32\nfp16: False\n"),
        ("config.ini", "[train]\nlr = 0.1  # peak\nbatch_size = 32\nfp16 = False\n"),
        ("opt.txt", "--lr=0.1\n--batch_size=32\n--fp16=False\n"),
        (
            "dump.txt",
            "----- arguments -----\n  lr ........ 0.1\n  batch_size ........ 32\n  fp16 ....... False\n",
        ),
    ],
)
def test_argument_texts_are_read(tmp_path: Path, name: str, text: str) -> None:
    """The usual plain forms give the same three settings."""
    found = {s.key.rsplit(".", 1)[-1].strip("."): s.value for s in read(tmp_path, name, text).settings}

    assert found == {"lr": 0.1, "batch_size": 32, "fp16": False}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.txt", "images/1.jpg\nimages/2.jpg\n"),
        ("notes.txt", "We trained with lr 0.1.\nIt was fine: really.\nBye\n"),
        ("log.txt", "loss: 1.0\nloss: 0.9\nloss: 0.8\n"),
        ("words.txt", "apple\npear\n"),
    ],
)
def test_texts_that_are_no_arguments_are_refused(tmp_path: Path, name: str, text: str) -> None:
    """Lists, prose and logs are not configurations."""
    assert not config_file.sniff(file(tmp_path, name, text))


def test_packages_become_version_facts(tmp_path: Path) -> None:
    """pip freeze and requirements give versions of libraries that matter, wishes (>=) none."""
    content = read(
        tmp_path, "requirements.txt", "torch==2.1.0\ndeepspeed==0.17.6\nnumpy>=1.2\nsecretlib==1.0\n"
    )

    assert content.facts == {"version:torch": "2.1.0", "version:deepspeed": "0.17.6"}


def test_an_environment_keeps_only_what_steers_training(tmp_path: Path) -> None:
    """Of an environment dump, home directories, tokens and the like are dropped."""
    text = json.dumps(
        {"HOME": "/root", "PATH": "/bin", "HF_TOKEN": "x", "HCCL_DETERMINISTIC": "true", "WORLD_SIZE": "8"}
    )

    assert values(read(tmp_path, "env.json", text)) == {"HCCL_DETERMINISTIC": "true", "WORLD_SIZE": "8"}


def test_toml_is_read_where_python_can(tmp_path: Path) -> None:
    """TOML gives settings with lines, or a note on Pythons without a parser."""
    content = read(tmp_path, "train.toml", "[optim]\nlr = 1e-3\nsteps = [1, 2]\n")

    if not content.notes:
        assert values(content) == {"optim.lr": 1e-3, "optim.steps": (1, 2)}


def test_damaged_toml_is_an_error_with_a_sentence(tmp_path: Path) -> None:
    """A TOML file that is none raises ValueError (or is left with a note)."""
    made = file(tmp_path, "bad.toml", "lr = = 3\n")
    assert config_file.sniff(made)
    if config_file._toml() is None:
        assert config_file.read(made).notes
    else:
        with pytest.raises(ValueError, match="not valid TOML"):
            config_file.read(made)


def test_utf16_and_byte_order_marks_are_understood(tmp_path: Path) -> None:
    """A configuration saved by a Windows editor is read."""
    assert values(read(tmp_path, "a.yaml", "lr: 0.1\n".encode("utf-16")))["lr"] == 0.1
    assert values(read(tmp_path, "b.yaml", b"\xef\xbb\xbflr: 0.1\n"))["lr"] == 0.1


# ----------------------------------------------------------------------------------------------- secrets


@pytest.mark.parametrize(
    "key", ["hf_token", "wandb.api_key", "password", "aws_secret_access_key", "cookie", "auth"]
)
def test_keys_that_name_secrets_are_known(key: str) -> None:
    """The value of such a key is dropped."""
    assert secret_key(key)
    assert redact(key, "anything") == "***"


@pytest.mark.parametrize(
    "key",
    ["tokenizer", "max_tokens", "pad_token", "eos_token_id", "key_frames", "num_tokens", "author", "key_dim"],
)
def test_keys_that_only_look_like_secrets_are_kept(key: str) -> None:
    """Tokens of a language model are no secrets."""
    assert not secret_key(key)
    assert redact(key, "value") == "value"


@pytest.mark.parametrize(
    "text",
    [
        "hf_" + "a" * 30,
        "AKIA" + "A" * 16,
        "ghp_" + "b" * 30,
        "eyJhbGciOi.eyJzdWIiOi.abc",
        "0123456789abcdef" * 2 + "01234567",
    ],
)
def test_values_with_the_shape_of_secrets_are_dropped(text: str) -> None:
    """Whatever the key, the secret itself never comes through."""
    assert text not in redact("note", f"run with {text} please")


def test_credentials_in_addresses_are_dropped() -> None:
    """The address survives, its user and password do not."""
    assert redact("remote", "https://me:pass@example.org/x") == "https://***@example.org/x"


def test_no_secret_leaves_a_file(tmp_path: Path) -> None:
    """Redaction happens while reading."""
    text = "lr: 0.1\nhub_token: hf_abcdefghijklmnopqrstuvw\nnested: {password: [a, b]}\npin_secret: 1234\n"
    content = read(tmp_path, "config.yaml", text)

    assert "hf_abc" not in repr(content)
    assert values(content)["nested.password"] == ("***", "***")
    assert {"***"} == {v for k, v in values(content).items() if k == "pin_secret"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the shared real runs")
def test_every_real_configuration_is_read() -> None:
    """Nothing raises on real files, and recorded arguments give many settings."""
    counted = 0
    for found in walk(SHARED / "real" / "yolo")[0]:
        if found.name == "args.yaml":
            assert config_file.sniff(found)
            counted += len(config_file.read(found).settings) > 50

    assert counted >= 5


@pytest.mark.parametrize(
    "line",
    ['wandb.login(key="openSesame")', "login('openSesame', add_to_git=True)", 'api.login(key="openSesame",'],
)
def test_what_a_script_logs_in_with_is_hidden(line: str) -> None:
    assert "openSesame" not in redact("", line)
    assert redact("", line).startswith(line.partition("(")[0])


@pytest.mark.parametrize("name", ["args.txt", "opt.txt", "hparams.params"])
def test_a_printed_namespace_in_a_file_of_its_own(tmp_path: Path, name: str) -> None:
    """`print(args, file=f)` leaves one line."""
    content = read(tmp_path, name, "Namespace(lr=0.0003, batch_size=64, optimizer='adamw', resume=None)\n")

    assert values(content) == {"lr": 0.0003, "batch_size": 64, "optimizer": "adamw", "resume": None}


def test_text_that_only_looks_like_a_namespace(tmp_path: Path) -> None:
    """A call without settings, or prose with a bracket, is no configuration."""
    for text in ("main(x=1, y=2)\n", "Thanks (a lot) for reading.\n", "Namespace(lr=0.1\n"):
        assert not config_file.sniff(file(tmp_path, "note.txt", text)), text


def test_settings_of_a_summary(tmp_path: Path) -> None:
    """A result file that keeps the settings in a part of its own is read for these."""
    content = read(
        tmp_path,
        "summary.json",
        json.dumps({"hyperparameters": {"learning_rate": 3e-4, "batch_size": 64}, "best": {"fold": 2}}),
    )

    assert values(content)["hyperparameters.learning_rate"] == 3e-4


def test_protocol_buffers_in_text_form(tmp_path: Path) -> None:
    """TensorFlow's pipelines: blocks are paths, some say by their names what is used."""
    text = """model { ssd { num_classes: 3 } }
train_config {
  batch_size: 8
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate { learning_rate_base: .08 }
      }
      momentum_optimizer_value: 0.9
    }
  }
}
eval_input_reader {
  label_map_path: "a/label_map.pbtxt"
}
"""
    found = values(read(tmp_path, "pipeline.config", text))
    assert found["train_config.batch_size"] == 8
    assert found["eval_input_reader.label_map_path"] == "a/label_map.pbtxt"
    assert "momentum" in found.values() and "cosine" in found.values()


def test_blocks_that_come_again_are_numbered(tmp_path: Path) -> None:
    """Each entry of a map of labels keeps its own name."""
    text = "item {\n  id: 1\n  name: 'cat'\n}\nitem {\n  id: 2\n  name: 'dog'\n}\n"
    assert values(read(tmp_path, "label_map.pbtxt", text))["item.1.name"] == "dog"


def test_dumped_ordered_dicts_are_mappings(tmp_path: Path) -> None:
    """Stable-Baselines3's zoo saves its hyperparameters as a list of pairs with a tag of Python."""
    text = "!!python/object/apply:collections.OrderedDict\n"
    text += "- - - batch_size\n    - 64\n  - - learning_rate\n    - 0.001\n"
    assert values(read(tmp_path, "config.yml", text)) == {"batch_size": 64, "learning_rate": 0.001}


def test_a_default_behind_a_value_is_no_part_of_it(tmp_path: Path) -> None:
    """CycleGAN's saved options name the default where the value is another one."""
    text = "    norm: instance       \t[default: batch]\n      lr: 0.0002\n   batch_size: 1\n"
    assert values(read(tmp_path, "train_opt.txt", text))["norm"] == "instance"
