"""Labels of prompts and special tokens, templates, adapters, and steps over devices: right beside wrong."""

from __future__ import annotations

import pytest

from .._scripts import state

TUNED = """
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("m")
model = AutoModelForCausalLM.from_pretrained("m")
{PEFT}

def encode(row):
    prompt = tokenizer(row["question"])["input_ids"]
    full = tokenizer(row["question"] + row["answer"])
    labels = full["input_ids"].copy()
    n = len(prompt)
    labels[:n] = {FILL}
    full["labels"] = labels
    return full

def align(tags, words):
    return [{SPECIAL} if word is None else tags[word] for word in words]

trainer = Trainer(model=model, args=TrainingArguments("o"), train_dataset=data.map(encode))
trainer.train()
"""
LORA = """
from peft import LoraConfig, get_peft_model
model = get_peft_model(model, LoraConfig(r=8, inference_mode={MODE}))
"""


def _tuned(fill: str = "[-100] * n", special: str = "-100", peft: str = "") -> str:
    return TUNED.replace("{FILL}", fill).replace("{SPECIAL}", special).replace("{PEFT}", peft)


@pytest.mark.parametrize(
    "text",
    [
        _tuned(fill="[tokenizer.pad_token_id] * n"),
        _tuned(fill="[0] * n"),
        _tuned(special="0").replace("align(tags", "align_labels(tags"),
    ],
)
def test_a_prompt_or_a_special_token_counts(text: str) -> None:
    assert state("script-label-padding-counts", text) == "present"


@pytest.mark.parametrize("text", [_tuned(), _tuned(fill="[IGNORE_INDEX] * n"), _tuned(special="IGNORED")])
def test_what_is_left_out_does_not_count(text: str) -> None:
    assert state("script-label-padding-counts", text) != "present"


@pytest.mark.parametrize(("mode", "told"), [("True", True), ("False", False)])
def test_adapters_that_are_made_for_inference(mode: str, told: bool) -> None:
    found = state("script-part-not-trained", _tuned(peft=LORA.replace("{MODE}", mode)))
    assert (found == "present") is told


CHAT = """
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DataCollatorForCompletionOnlyLM, SFTTrainer
tokenizer = AutoTokenizer.from_pretrained("m")

def formatted(rows):
    return [f"### Question: {q}\\n### Answer: {a}" for q, a in zip(rows["q"], rows["a"])]

template = "{TEMPLATE}"
collator = DataCollatorForCompletionOnlyLM(template, tokenizer=tokenizer)
trainer = SFTTrainer("m", train_dataset=data, formatting_func=formatted, data_collator=collator)
trainer.train()
"""


@pytest.mark.parametrize(
    ("template", "told"),
    [("### Answer:", False), (" ### Answer:", False), ("### Response:", True), ("<|assistant|>", False)],
)
def test_a_template_that_no_text_holds(template: str, told: bool) -> None:
    found = state("script-label-padding-counts", CHAT.replace("{TEMPLATE}", template))
    assert (found == "present") is told


DEVICES = """
import jax, optax
from flax.training import train_state

def step(state, batch):
    def loss_fn(params):
        return optax.softmax_cross_entropy(state.apply_fn(params, batch["x"]), batch["y"]).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    {JOIN}
    state = state.apply_gradients(grads=grads)
    return state, jax.lax.pmean({"loss": loss}, axis_name="batch")

p_step = jax.pmap(step, axis_name="batch")
for epoch in range(9):
    for batch in batches():
        state, metrics = p_step(state, batch)
"""


@pytest.mark.parametrize(
    ("join", "told"),
    [
        ('grads = jax.lax.pmean(grads, axis_name="batch")', False),
        ('loss, grads = jax.lax.pmean((loss, grads), "batch")', False),
        ("pass", True),
    ],
)
def test_gradients_that_each_device_keeps(join: str, told: bool) -> None:
    text = DEVICES.replace("{JOIN}", join)
    assert (state("script-no-gradient-synchronisation", text) == "present") is told


def test_a_helper_may_join_the_gradients() -> None:
    helper = 'def average_over_devices(g):\n    return jax.lax.pmean(g, "batch")\n\ndef step('
    text = DEVICES.replace("{JOIN}", "grads = average_over_devices(grads)").replace("def step(", helper)
    assert state("script-no-gradient-synchronisation", text) != "present"
