"""Directories of runs that tune or train language models: what their settings, logs and scripts tell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import readings
from traindoctor.probes.run import Event

from ._build import run, series
from ._read import reading
from ._scripts import state as of_script

RULES = load_rules().symptoms


def told(folder: Path, symptom: str, files: dict[str, str], beside: dict[str, str] | None = None) -> str:
    """What is read of a directory with these files, and of a benchmark with those."""
    sides = []
    for side, texts in (("run", files), ("benchmark", beside)):
        for name, text in (texts or {}).items():
            path = folder / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        sides.append(open_run(folder / side) if texts else None)
    assert sides[0] is not None
    found = dict(readings(sides[0], sides[1], [RULES[symptom]]))[symptom]
    assert "probe error" not in found.why, found.why
    return str(found.state.value)


TRAIN = "model_name_or_path: org/Llama-3-8B\ntemplate: llama3\noutput_dir: saves/a\nlearning_rate: 1.0e-4\n"


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({"infer.yaml": "model_name_or_path: org/Llama-3-8B\ntemplate: vicuna\n"}, "present"),
        ({"serve.yaml": "model_name_or_path: saves/a/merged\ntemplate: vicuna\n"}, "present"),
        ({"infer.yaml": "model_name_or_path: org/Llama-3-8B\ntemplate: llama3\n"}, "absent"),
        ({"infer.yaml": "model_name_or_path: org/Qwen2.5-7B\ntemplate: qwen\n"}, "unknown"),
        ({"export.yaml": "model_name_or_path: org/Llama-3-8B\ntemplate: vicuna\n"}, "unknown"),
    ],
)
def test_template_of_use(tmp_path: Path, files: dict[str, str], state: str) -> None:
    """Another template for the same model is a fault; another model has another template."""
    assert told(tmp_path, "template-unlike-in-use", {"train.yaml": TRAIN, **files}) == state


@pytest.mark.parametrize(
    ("model", "state"),
    [("org/Qwen2.5-7B", "unknown"), ("saves/a/merged", "present"), ("org/Llama-3-8B", "present")],
)
def test_template_of_another_model(tmp_path: Path, model: str, state: str) -> None:
    """Inference of another model says nothing of how this one was trained."""
    files = {"train.yaml": TRAIN, "infer.yaml": f"model_name_or_path: {model}\ntemplate: qwen\n"}
    assert told(tmp_path, "script-splits-processed-differently", files) == state


@pytest.mark.parametrize(
    ("mine", "theirs", "state"), [(0.0, 0.001, "present"), (0.002, 0.001, "absent"), (0.1, 0.001, "present")]
)
def test_weight_of_the_balance_of_experts(tmp_path: Path, mine: float, theirs: float, state: str) -> None:
    """None, or many times as much, is another routing; twice as much is none."""
    sides = [_tuned(moe_aux_loss_coeff=v, adam_beta1=0.9, adam_beta2=0.95) for v in (mine, theirs)]
    assert told(tmp_path, "further-hyperparameter-differs", *sides) == state


def _tuned(**more: object) -> dict[str, str]:
    common = {
        "stage": "sft",
        "finetuning_type": "lora",
        "lora_rank": 8,
        "template": "qwen",
        "cutoff_len": 2048,
        "learning_rate": 1e-4,
        "num_train_epochs": 3,
        "warmup_ratio": 0.1,
        "bf16": True,
        "gradient_accumulation_steps": 8,
    }
    return {"train.json": json.dumps({**common, **more})}


@pytest.mark.parametrize(
    ("mine", "theirs", "state"),
    [
        ({"train_on_prompt": True}, {}, "present"),
        ({}, {"train_on_inputs": True}, "present"),
        ({"train_on_prompt": False}, {}, "absent"),
        ({"train_on_prompt": True}, {"train_on_prompt": True}, "absent"),
        ({}, {}, "unknown"),
    ],
)
def test_prompt_in_the_loss(
    tmp_path: Path, mine: dict[str, object], theirs: dict[str, object], state: str
) -> None:
    """A switch that is off where it is left out."""
    assert told(tmp_path, "prompt-counts-differ", _tuned(**mine), _tuned(**theirs)) == state


def test_a_file_of_another_tool_says_nothing_of_the_prompt(tmp_path: Path) -> None:
    """What another tool does where nothing is said is not known."""
    other = {"run.json": json.dumps({"lr": 1e-4, "batch": 8, "epochs": 3, "seed": 1})}
    assert told(tmp_path, "prompt-counts-differ", _tuned(train_on_prompt=True), other) == "unknown"


MEGATRON = "".join(
    f" [2025-11-03 10:{i:02d}:00] iteration {i:8d}/    5000 | consumed samples: {i * 64:12d} | elapsed time"
    f" per iteration (ms): 800.0 | learning rate: 3.0E-04 | global batch size:    64 | lm loss: {{:.6E}} |"
    " loss scale: 1.0 | grad norm: 0.9 | number of skipped iterations:   0 |"
    " number of nan iterations:   0 |\n"
    for i in range(1, 60)
)


def _megatron(end: float) -> str:
    return MEGATRON.format(*np.linspace(10.8, end, 59))


@pytest.mark.parametrize(
    ("line", "symptom", "state"),
    [
        ("AssertionError: Parameter hashes not matching across DP replicas", "log-replicas-part", "present"),
        (
            "WARNING: weight checksums of replica 3 differ from those of replica 0",
            "log-replicas-part",
            "present",
        ),
        ("checked: parameter hashes match on all replicas", "log-replicas-part", "unknown"),
        ("WARNING: Possible transient error!", "log-result-not-repeated", "present"),
        ("WARNING: Possible persistent error!", "log-result-not-repeated", "present"),
        (
            "adam_m.model.layers.0.attention.wq.weight is not loaded.",
            "log-optimizer-state-missing",
            "present",
        ),
        ("retrying after a transient network failure", "log-result-not-repeated", "unknown"),
    ],
)
def test_what_the_framework_found(tmp_path: Path, line: str, symptom: str, state: str) -> None:
    """A framework that compares replicas, or computes a step again, says what is wrong."""
    assert told(tmp_path, symptom, {"train.log": _megatron(6.0) + line + "\n"}) == state


@pytest.mark.parametrize(("shards", "state"), [(12, "present"), (3, "unknown")])
def test_shards_that_cannot_be_read(tmp_path: Path, shards: int, state: str) -> None:
    """Many whole parts of the data are passed over."""
    lines = [
        f"WARNING - skipping shard /d/{i:05d}.tar: ReadError('unexpected end of data')" for i in range(shards)
    ]
    text = _megatron(6.0) + "\n".join(lines) + "\n"
    assert told(tmp_path, "log-much-data-left-out", {"train.log": text}) == state


@pytest.mark.parametrize(
    ("mine", "theirs", "end", "state"),
    [
        ({"use_flash_attn": True}, {"use_flash_attn": False}, 7.0, "present"),
        ({"attn_implementation": "flash_attention_2"}, {"attn_implementation": "eager"}, 7.0, "present"),
        ({"use_flash_attn": True}, {"use_flash_attn": False}, 6.0, "absent"),
        ({"use_flash_attn": True}, {"use_flash_attn": True}, 7.0, "unknown"),
        ({"use_flash_attn": True, "lr": 1e-3}, {"use_flash_attn": False}, 7.0, "unknown"),
    ],
)
def test_fused_attention_alone_is_another(
    tmp_path: Path, mine: dict[str, object], theirs: dict[str, object], end: float, state: str
) -> None:
    """Flash attention is a fused operator: a pair that differs in it alone tells whether it is right."""
    common = {"num_layers": 2, "hidden_size": 64, "lr": 3e-4, "seed": 1, "seq_length": 128, "bf16": True}
    rest = {"clip_grad": 1.0, "weight_decay": 0.1, "global_batch_size": 64}
    sides = [
        {"train.log": _megatron(level), "args.json": json.dumps({**common, **rest, **side})}
        for side, level in ((mine, end), (theirs, 6.0))
    ]
    assert told(tmp_path, "fusion-off-better", *sides) == state


def test_steps_of_ms_swift(tmp_path: Path) -> None:
    """`"global_step/max_steps": "5/320"` is a step and the number of planned ones."""
    rows = [
        {"loss": 2.0 - i / 100, "learning_rate": 1e-4, "epoch": i / 64, "global_step/max_steps": f"{i}/320"}
        for i in range(5, 325, 5)
    ]
    (tmp_path / "logging.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    made = open_run(tmp_path)
    assert made.series["train/loss"].unit == "step"
    assert made.series["train/loss"].steps.tolist() == [float(i) for i in range(5, 325, 5)]
    assert made.settings["max_steps"].value == 320


HEAD = (
    "Some weights of Qwen2ForCausalLM were not initialized from the model checkpoint at q and are newly"
    " initialized: ['lm_head.weight']"
)


@pytest.mark.parametrize(
    ("text", "first", "state"),
    [
        (HEAD, 11.4, State.PRESENT),
        (HEAD, 2.1, State.ABSENT),  # tied, and named by an old release
        (HEAD.replace("CausalLM", "TokenClassification").replace("lm_head", "score"), 11.4, State.UNKNOWN),
    ],
)
def test_output_layer_that_no_checkpoint_had(text: str, first: float, state: State) -> None:
    """A language model with a new output layer starts like an untrained one."""
    made = run(
        [series("train/loss", np.linspace(first, first - 1, 30))],
        {"vocab_size": 151936},
        [Event("weights-newly-initialized", "log.txt", 1, text=text)],
    )
    assert reading("metrics", "fine-tuning-starts-high", made).state is state


@pytest.mark.parametrize(
    ("limit", "stays", "state"),
    [(0.0, True, State.PRESENT), (1.0, True, State.ABSENT), (0.0, False, State.ABSENT)],
)
def test_leaps_of_the_gradient(limit: float, stays: bool, state: State) -> None:
    """The loss stays up behind the leap; a batch that is odd by itself is over with the next one."""
    rng = np.random.default_rng(0)
    loss, norm = 2.0 + rng.normal(0, 0.01, 300), np.exp(rng.normal(0, 0.1, 300))
    for at in (100, 200):
        norm[at] = 90.0
        loss[at + 1 : at + (60 if stays else 2)] += 1.0
    made = run([series("train/loss", loss), series("grad_norm", norm)], {"max_grad_norm": limit})
    assert reading("loss", "loss-leaps-unclipped", made).state is state


SCORES = {"architectures": "Qwen2ForSequenceClassification", "num_labels": 1}


@pytest.mark.parametrize(
    ("name", "settings", "held", "state"),
    [
        ("eval/preference_accuracy", {}, (0.45, 0.3, 0.27), State.UNKNOWN),  # preferences-reversed tells
        ("eval/accuracy", SCORES, (0.4, 0.3, 0.3), State.PRESENT),
        ("eval/accuracy", SCORES, (0.5, 0.61, 0.66), State.ABSENT),
        ("eval/accuracy", SCORES, (0.45, 0.41, 0.4), State.ABSENT),
        ("eval/accuracy", {"num_labels": 3}, (0.2, 0.2, 0.2), State.UNKNOWN),
    ],
)  # fmt: skip
def test_pairs_ranked_the_wrong_way(
    name: str, settings: dict[str, object], held: tuple[float, ...], state: State
) -> None:
    """Pairs leave no room below one half: chance gives that, and no constant answer less."""
    made = run([series("train/loss", np.linspace(0.7, 0.4, 40)), series(name, np.array(held))], settings)
    assert reading("metrics", "pairs-turned", made).state is state


TUNED = """
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling
from transformers import Trainer, TrainingArguments
from datasets import load_dataset
tok = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
tok.pad_token = tok.eos_token
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
def encode(row):
    return tok(row["prompt"] + row["answer"] + tok.eos_token, truncation=True, max_length=512)
data = load_dataset("json", data_files="a.json", split="train").map(encode)
collator = DataCollatorForLanguageModeling(tok, mlm=False)
trainer = Trainer(model, TrainingArguments("out"), train_dataset=data, data_collator=collator)
trainer.train()
"""


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        ("", "", "present"),
        ("tok.pad_token = tok.eos_token", "tok.pad_token_id = tok.eos_token_id", "present"),
        ("tok.pad_token =", "if tok.pad_token is None:\n    tok.pad_token =", "present"),
        ('row["answer"] + tok.eos_token', '" ".join([row["answer"]]) + f"{tok.eos_token}"', "present"),
        ("tok.pad_token = tok.eos_token", "tok.pad_token = tok.unk_token", "absent"),
        (' + tok.eos_token', "", "unknown"),  # no end was to be learned
        ("mlm=False", "mlm=True", "unknown"),
        ("DataCollatorForLanguageModeling(tok, mlm=False)", "DataCollatorForSeq2Seq(tok)", "unknown"),
        ("return tok(", "labels = 0\n    return tok(", "unknown"),  # labels of its own
    ],
)  # fmt: skip
def test_end_of_an_answer(old: str, new: str, state: str) -> None:
    """The collator leaves out what is padding, the end of the text included."""
    text = TUNED.replace(old, new) if old else TUNED
    assert of_script("script-end-token-hidden", text) == state


def test_padding_of_an_unknown_model_may_be_its_own() -> None:
    """Where the tokenizer has a padding token the line under `if` is not reached."""
    text = TUNED.replace("tok.pad_token =", "if tok.pad_token is None:\n    tok.pad_token =")
    assert of_script("script-end-token-hidden", text.replace("Llama-2-7b-hf", "Qwen2.5-7B")) == "unknown"


ADDED = """
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
tok = AutoTokenizer.from_pretrained("org/base")
tok.add_tokens(["<tool>", "</tool>"])
model = AutoModelForCausalLM.from_pretrained("org/base")
model.resize_token_embeddings(len(tok))
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
Trainer(model, TrainingArguments("out"), train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", True),
        ('tokens(["<tool>", "</tool>"])', 'special_tokens({"additional_special_tokens": ["<t>"]})', True),
        ('"v_proj"]', '"v_proj"], modules_to_save=["embed_tokens", "lm_head"]', False),
        ('"v_proj"]', '"v_proj"], trainable_token_indices=[32000, 32001]', False),
        ('["q_proj", "v_proj"]', '["q_proj", "embed_tokens"]', False),
        ('["<tool>", "</tool>"]', '["<pad>"]', False),
        ("model = get_peft_model(model, ", "config = (", False),  # trained whole
        ("model = get_peft", "model.get_input_embeddings().requires_grad_()\nmodel = get_peft", False),
    ],
)  # fmt: skip
def test_rows_of_new_tokens(old: str, new: str, found: bool) -> None:
    """Adapters leave the table of tokens as it is, unless it is named."""
    text = ADDED.replace(old, new) if old else ADDED
    assert (of_script("script-new-tokens-untrained", text) == "present") is found


@pytest.mark.parametrize(
    ("values", "state"),
    [
        (np.r_[np.linspace(1e-4, 0, 20), np.zeros(60)], State.PRESENT),
        (np.linspace(1e-4, 0, 80), State.ABSENT),
        (np.r_[np.linspace(1e-4, 1e-5, 20), np.full(60, 1e-5)], State.ABSENT),
        (np.r_[np.linspace(1e-4, 0, 60), np.zeros(20)], State.ABSENT),
    ],
)
def test_rate_that_is_gone(values: np.ndarray, state: State) -> None:
    """A schedule that is over leaves the rest of the steps without learning."""
    made = run([series("train/loss", np.linspace(2, 1, 80)), series("learning_rate", values)])
    assert reading("learning_rate", "lr-gone", made).state is state


@pytest.mark.parametrize(
    ("symptom", "text", "first", "state"),
    [
        ("language-head-untrained", HEAD, 11.4, State.PRESENT),
        ("language-head-untrained", HEAD, 2.1, State.ABSENT),
        ("language-head-untrained", HEAD.replace("CausalLM", "QuestionAnswering"), 11.4, State.UNKNOWN),
    ],
)
def test_new_output_layer(symptom: str, text: str, first: float, state: State) -> None:
    """Only a language model's output layer may not be new."""
    made = run(
        [series("train/loss", np.linspace(first, first - 1, 30))],
        {"vocab_size": 151936},
        [Event("weights-newly-initialized", "log.txt", 1, text=text)],
    )
    assert reading("metrics", symptom, made).state is state


@pytest.mark.parametrize(
    ("skip", "step", "state"),
    [(True, 150.0, "present"), (True, 200.0, "unknown"), (False, 150.0, "absent"), (True, None, "unknown")],
)
def test_place_in_the_data(tmp_path: Path, skip: bool, step: float | None, state: str) -> None:
    """At an epoch's end nothing is to be skipped."""
    rows = [
        {"step": i, "epoch": i / 100, "loss": 2 - i / 1000, "learning_rate": 1e-5} for i in range(10, 310, 10)
    ]
    hist = {"global_step": 300, "max_steps": 300, "is_world_process_zero": True, "num_train_epochs": 3}
    files = {
        "trainer_state.json": json.dumps({**hist, "log_history": rows}),
        "args.json": json.dumps({"ignore_data_skip": skip, "learning_rate": 1e-5, "num_train_epochs": 3}),
        "train.log": f"  Continuing training from global step {step:g}\n" if step else "Epoch 1\n",
    }
    assert told(tmp_path, "data-place-not-restored", files) == state


FINE = {"accumulate_allreduce_grads_in_fp32": True}


@pytest.mark.parametrize(
    ("mine", "theirs", "state"),
    [
        ({"grad_reduce_in_bf16": True}, FINE, "present"),
        ({"communication_data_type": "bf16"}, {"communication_data_type": "fp32"}, "present"),
        (FINE, FINE, "absent"),
        (FINE, {"grad_reduce_in_bf16": True}, "absent"),
        ({"grad_reduce_in_bf16": True}, {}, "unknown"),
    ],
)  # fmt: skip
def test_format_of_summed_gradients(
    tmp_path: Path, mine: dict[str, object], theirs: dict[str, object], state: str
) -> None:
    """Sums in half precision where the benchmark sums in fp32."""
    assert told(tmp_path, "gradients-summed-coarsely", _tuned(**mine), _tuned(**theirs)) == state


@pytest.mark.parametrize(
    ("chosen", "refused", "begins", "state"),
    [
        (8.4, 6.9, 5.0, State.PRESENT),
        (0.01, -0.01, 5.0, State.ABSENT),
        (-2.5, -2.9, 5.0, State.ABSENT),  # no reference: the reward is the likelihood itself
        (8.4, 6.9, 900.0, State.UNKNOWN),
    ],
)
def test_policy_and_reference_at_the_start(
    chosen: float, refused: float, begins: float, state: State
) -> None:
    """A policy that starts as its reference has no reward there."""
    at, rest = begins + np.arange(0, 200, 5.0), np.linspace(0, 0.3, 40)
    made = run(
        [
            series("train/loss", np.linspace(0.7, 0.5, 40), at),
            series("train/reward_chosen", chosen + rest, at, raw="rewards/chosen"),
            series("train/reward_rejected", refused - rest, at, raw="rewards/rejected"),
        ]
    )
    assert reading("policies", "preference-starts-apart", made).state is state


@pytest.mark.parametrize(
    ("settings", "end", "state"),
    [
        ({"pretrained": "gpt2", "learning_rate": 5e-3, "optimizer": "adamw"}, 6.5, State.PRESENT),
        ({"pretrained": "gpt2", "learning_rate": 5e-3, "optimizer": "adamw"}, 1.2, State.ABSENT),
        ({"pretrained": "gpt2", "learning_rate": 2e-5, "optimizer": "adamw"}, 6.5, State.ABSENT),
        ({"learning_rate": 5e-3, "optimizer": "adamw"}, 6.5, State.UNKNOWN),
    ],
)
def test_trained_model_is_lost(settings: dict[str, object], end: float, state: State) -> None:
    """What was trained gets worse at once, at a rate beyond the usual."""
    loss = np.r_[np.linspace(1.5, 1.4, 10), np.full(70, end)]
    made = run([series("train/loss", loss * (1 + 0.005 * np.sin(np.arange(80) * 9)))], settings)
    assert reading("gradients", "large-rate-lifts-loss", made).state is state


def test_only_the_sum_of_gradients_differs(tmp_path: Path) -> None:
    """What a check of its own tells is no sign that all hyperparameters are equal."""
    sides = [_tuned(**{**FINE, "adam_beta1": 0.9, "adam_beta2": 0.95}) for _ in range(2)]
    sides[0] = _tuned(grad_reduce_in_bf16=True, adam_beta1=0.9, adam_beta2=0.95)
    assert told(tmp_path, "further-hyperparameter-differs", *sides) == "unknown"


@pytest.mark.parametrize(
    ("flag", "line", "state"),
    [
        ("True", "    will not load any checkpoints and will start from random", "present"),
        ("False", "    will not load any checkpoints and will start from random", "unknown"),
        ("True", "  successfully loaded checkpoint from /ckpt/q at iteration 0", "unknown"),
    ],
)
def test_weights_to_tune_are_not_there(tmp_path: Path, flag: str, line: str, state: str) -> None:
    """A pretraining begins without a checkpoint by right, a fine-tuning does not."""
    text = f"  finetune ................... {flag}\n  num_layers ................. 4\n"
    text = f"------------ arguments ------------\n{text}-------- end of arguments ---------\n"
    files = {"train.log": text + line + "\n" + _megatron(6.0)}
    assert told(tmp_path, "fine-tuning-from-nothing", files) == state


@pytest.mark.parametrize(
    ("settings", "state"),
    [({"pure_bf16": True}, "present"), ({"pure_bf16": False}, "unknown"), ({}, "unknown")],
)
def test_pure_bf16_alone(tmp_path: Path, settings: dict[str, object], state: str) -> None:
    """LLaMA-Factory's switch needs no other one beside it."""
    text = json.dumps({"stage": "sft", "learning_rate": 1e-5, "num_train_epochs": 2, **settings})
    assert told(tmp_path, "pure-bf16-weights", {"train.json": text}) == state
