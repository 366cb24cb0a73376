"""Right programs that stand beside what newer checks tell, each beside the slip that they have to tell."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"

TRL = """
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer, DataCollatorForCompletionOnlyLM

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.pad_token = "<|endoftext|>"
model = AutoModelForCausalLM.from_pretrained("gpt2")
{MAKE}
collator = DataCollatorForCompletionOnlyLM({ASKED}, tokenizer=tokenizer)
SFTTrainer(model, args=SFTConfig("out", seed=1), train_dataset=data, data_collator=collator).train()
"""
CHAT = "data = raw.map(lambda r: {'text': tokenizer.apply_chat_template(r['messages'], tokenize=False)})"
ROLES = "data = raw.map(lambda r: {'text': f\"### {r['role']}:\\n{r['content']}\"})"
FIXED = "data = raw.map(lambda r: {'text': f\"### Question:\\n{r['q']}\\n### Answer:\\n{r['a']}\"})"


@pytest.mark.parametrize(
    ("make", "asked", "told"),
    [
        ("data = raw", "instruction_template='### Human:', response_template='### Assistant:'", False),
        (CHAT, "'<|im_start|>assistant\\n'", False),
        ("data = raw", "'<|im_start|>assistant\\n'", False),
        (ROLES, "'### Response:'", False),
        (FIXED, "'### Answer:'", False),
        (FIXED, "'### Response:'", True),
    ],
)
def test_templates_of_texts(make: str, asked: str, told: bool) -> None:
    """Names of tokens and of templates are no texts, and a role that is filled in may be any."""
    text = TRL.replace("{MAKE}", make).replace("{ASKED}", asked)
    assert (state("script-label-padding-counts", text) == P) is told


PROMPTS = """
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2")

def encode(row):
    labels = list(row["ids"])
    labels[: row["n"]] = [tokenizer.pad_token_id] * row["n"]
    labels = torch.tensor(labels)
    {THEN}
    return labels

for row in rows:
    model(input_ids=row["ids"], labels=encode(row)).loss.backward()
"""
WORDS = """
from transformers import AutoModelForTokenClassification, AutoTokenizer, Trainer

def encode(batch, out):
    out["labels"] = [[{SPECIAL} if word is None else {WORD} for word in out.word_ids(i)] for i in batch]
    return out
"""


def test_prompts_that_are_left_out_later() -> None:
    """A token marks the prompt, and -100 takes its place; ones and zeros are a mask."""
    later = "labels[labels == tokenizer.pad_token_id] = -100"
    assert state("script-label-padding-counts", PROMPTS.replace("{THEN}", later)) != P
    assert state("script-label-padding-counts", PROMPTS.replace("{THEN}", "pass")) == P
    tags = WORDS.replace("{SPECIAL}", "0")
    assert state("script-label-padding-counts", tags.replace("{WORD}", "1")) != P
    assert state("script-label-padding-counts", tags.replace("{WORD}", "batch[i][word]")) == P


LORA = """
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

base = AutoModelForCausalLM.from_pretrained("gpt2")
ready = LoraConfig(r=8, inference_mode=True)
learns = LoraConfig(r=8)
{LOAD}
model = get_peft_model(base, {CONFIG})
Trainer(model, TrainingArguments("out", seed=1), train_dataset=data).train()
"""


def test_adapters_for_another_use() -> None:
    """What is loaded for inference is not what is trained."""
    load = "old = PeftModel.from_pretrained(base, 'out', config=ready)"
    assert state("script-part-not-trained", LORA.format(LOAD=load, CONFIG="learns")) != P


PMAP = """
import jax, jax.numpy as jnp, optax
from flax import jax_utils

tx = optax.adam(1e-3)

def make(key):
    params = {"w": jax.random.normal(key, (8,))}
    return params, tx.init(params)

def train_step(params, state, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] - y) ** 2))(params)
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss

step = jax.pmap(train_step)
keys = jax.random.split(jax.random.PRNGKey(0), 8)
params, state = {MAKE}
for x, y in batches:
    params, state, loss = step(params, state, x, y)
"""


def test_seeds_on_devices_of_their_own() -> None:
    """Each device trains a model of its own on purpose where its weights are drawn for itself."""
    symptom = "script-no-gradient-synchronisation"
    assert state(symptom, PMAP.replace("{MAKE}", "jax.pmap(make)(keys)")) != P
    assert state(symptom, PMAP.replace("{MAKE}", "jax_utils.replicate(make(keys[0]))")) == P


HAIKU = """
import haiku as hk, jax, jax.numpy as jnp, optax

net = {MADE}
params = net.init(jax.random.PRNGKey(0), x)
tx = optax.adam(1e-3)
opt_state = tx.init(params)
key = jax.random.PRNGKey(1)

@jax.jit
def update(params, opt_state, key, x, y):
    def loss_fn(params):
        return jnp.mean((net.apply({GIVEN}) - y) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss

for step in range(500):
    params, opt_state, loss = update(params, opt_state, key, x, y)
"""


def test_networks_without_keys() -> None:
    """`without_apply_rng` takes the inputs where others take a key."""
    plain = HAIKU.replace("{MADE}", "hk.without_apply_rng(hk.transform(forward))")
    assert state("script-key-reused", plain.replace("{GIVEN}", "params, x")) != P


FOLDS = """
import jax, optax
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(20, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
    def __call__(self, x):
        return self.a(self.drop(x))

{BEFORE}
for fold in range(5):
    {MADE}
    for x, y in batches:
        train_step(model, optimizer, x, y)
    model.eval()
    print((predict(model, held) == held_y).mean())
"""


def test_a_new_model_for_each_fold() -> None:
    """It begins in training mode, whatever the last one was left in."""
    made = "model = Net(nnx.Rngs(0))"
    assert state("script-mode-wrong", FOLDS.format(BEFORE="", MADE=made)) != P
    assert state("script-mode-wrong", FOLDS.format(BEFORE=made, MADE="pass")) == P


FRAMES = """
import pandas as pd, torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
NUM = ["age", "fare"]
mean, std = train[NUM].mean(), train[NUM].std()
train[NUM] = (train[NUM] - mean) / std
{HELD}
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), 1e-3)
xtr, ytr = torch.tensor(train[NUM].values, dtype=torch.float32), torch.tensor(train["y"].values)
xte, yte = torch.tensor(test[NUM].values, dtype=torch.float32), torch.tensor(test["y"].values)
for epoch in range(20):
    for x, y in DataLoader(TensorDataset(xtr, ytr), batch_size=32, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
print((model(xte).argmax(1) == yte).float().mean())
"""


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ("test.loc[:, NUM] = (test[NUM] - mean) / std", False),
        ("test[NUM] = (test[NUM] - mean) / std", False),
        ("", True),
    ],
)
def test_columns_that_are_set_by_loc(held: str, told: bool) -> None:
    """`.loc[:, names]` are the columns themselves."""
    assert (state("script-splits-processed-differently", FRAMES.replace("{HELD}", held)) == P) is told
