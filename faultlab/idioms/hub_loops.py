# ruff: noqa: E501
"""The libraries of Hugging Face: loops with Accelerate, and adapters with TRL."""

from __future__ import annotations

from .composed import Kit

ACCELERATED = """import argparse
import math
import os
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from datasets import load_dataset
from torch.optim import AdamW
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer, DataCollatorForLanguageModeling, DataCollatorWithPadding, default_data_collator, get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup, get_scheduler
import evaluate

$CONFIG


def training_function():
    $ACCELERATOR
    set_seed($SEEDED)
    $TASK
    $OPTIM
    $SCHEDULE
    $LOOP


if __name__ == '__main__':
    training_function()
"""
CONFIG = (
    "parser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float, default=5e-5)\nparser.add_argument('--num_epochs', type=int, default=3)\nparser.add_argument('--batch_size', type=int, default=16)\nparser.add_argument('--gradient_accumulation_steps', type=int, default=4)\nparser.add_argument('--seed', type=int, default=42)\nargs = parser.parse_args()",
    "class args:\n    lr = 2e-5\n    num_epochs = 5\n    batch_size = 8\n    gradient_accumulation_steps = 8\n    seed = 7\n",
)
ACCELERATOR = (
    "accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)",
    "accelerator = Accelerator(mixed_precision='fp16', gradient_accumulation_steps=args.gradient_accumulation_steps, log_with='tensorboard', project_dir='logs')",
    "accelerator = Accelerator(mixed_precision='bf16', gradient_accumulation_steps=args.gradient_accumulation_steps)\naccelerator.print('processes', accelerator.num_processes)",
)
SEEDED = ("args.seed", "seed=args.seed")
ATASK = (
    {
        "ATASK": """tokenizer = AutoTokenizer.from_pretrained('bert-base-cased')
datasets = load_dataset('glue', 'mrpc')
with accelerator.main_process_first():
    tokenized = datasets.map(lambda e: tokenizer(e['sentence1'], e['sentence2'], truncation=True, max_length=None), batched=True, remove_columns=['idx', 'sentence1', 'sentence2'])
tokenized = tokenized.rename_column('label', 'labels')
collate = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8)
train_dataloader = DataLoader(tokenized['train'], shuffle=$SHUFFLE, collate_fn=collate, batch_size=args.batch_size, drop_last=True)
eval_dataloader = DataLoader(tokenized['validation'], shuffle=False, collate_fn=collate, batch_size=32)
model = AutoModelForSequenceClassification.from_pretrained('bert-base-cased', num_labels=2)
metric = evaluate.load('glue', 'mrpc')""",
        "SCORE": """model.eval()
for step, batch in enumerate(eval_dataloader):
    with torch.no_grad():
        outputs = model(**batch)
    predictions = outputs.logits.argmax(dim=-1)
    predictions, references = accelerator.gather_for_metrics((predictions, batch['labels']))
    metric.add_batch(predictions=predictions, references=references)
accelerator.print(f'epoch {epoch}:', metric.compute())""",
    },
    {
        "ATASK": """tokenizer = AutoTokenizer.from_pretrained('gpt2')
tokenizer.pad_token = tokenizer.eos_token
raw = load_dataset('wikitext', 'wikitext-2-raw-v1')
block_size = 512


def group_texts(examples):
    concatenated = {k: sum(examples[k], []) for k in examples.keys()}
    total_length = (len(concatenated['input_ids']) // block_size) * block_size
    result = {k: [t[i:i + block_size] for i in range(0, total_length, block_size)] for k, t in concatenated.items()}
    result['labels'] = result['input_ids'].copy()
    return result


tokenized = raw.map(lambda e: tokenizer(e['text']), batched=True, remove_columns=['text'])
lm = tokenized.map(group_texts, batched=True)
train_dataloader = DataLoader(lm['train'], shuffle=$SHUFFLE, collate_fn=default_data_collator, batch_size=args.batch_size)
eval_dataloader = DataLoader(lm['validation'], collate_fn=default_data_collator, batch_size=args.batch_size)
model = AutoModelForCausalLM.from_pretrained('gpt2')""",
        "SCORE": """model.eval()
losses = []
for step, batch in enumerate(eval_dataloader):
    with torch.no_grad():
        outputs = model(**batch)
    losses.append(accelerator.gather_for_metrics(outputs.loss.repeat(args.batch_size)))
losses = torch.cat(losses)
eval_loss = torch.mean(losses)
try:
    perplexity = math.exp(eval_loss)
except OverflowError:
    perplexity = float('inf')
accelerator.print(f'epoch {epoch}: perplexity: {perplexity} eval_loss: {eval_loss}')""",
    },
)
AOPTIM = (
    "optimizer = AdamW(params=model.parameters(), lr=args.lr)",
    """no_decay = ['bias', 'LayerNorm.weight', 'ln_1.weight', 'ln_2.weight', 'ln_f.weight']
optimizer_grouped_parameters = [
    {'params': [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], 'weight_decay': 0.01},
    {'params': [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], 'weight_decay': 0.0},
]
optimizer = torch.optim.AdamW(optimizer_grouped_parameters, lr=args.lr, betas=(0.9, 0.999))""",
)
SCHEDULE = (
    """model, optimizer, train_dataloader, eval_dataloader = accelerator.prepare(model, optimizer, train_dataloader, eval_dataloader)
num_update_steps_per_epoch = math.ceil(len(train_dataloader) / args.gradient_accumulation_steps)
max_train_steps = args.num_epochs * num_update_steps_per_epoch
lr_scheduler = get_scheduler('linear', optimizer=optimizer, num_warmup_steps=100 * accelerator.num_processes, num_training_steps=max_train_steps * accelerator.num_processes)
lr_scheduler = accelerator.prepare(lr_scheduler)""",
    """total = (len(train_dataloader) * args.num_epochs) // args.gradient_accumulation_steps
lr_scheduler = get_linear_schedule_with_warmup(optimizer=optimizer, num_warmup_steps=int(0.06 * total), num_training_steps=total)
model, optimizer, train_dataloader, eval_dataloader, lr_scheduler = accelerator.prepare(model, optimizer, train_dataloader, eval_dataloader, lr_scheduler)""",
    """model, optimizer, train_dataloader, eval_dataloader = accelerator.prepare(model, optimizer, train_dataloader, eval_dataloader)
updates = math.ceil(len(train_dataloader) / args.gradient_accumulation_steps) * args.num_epochs
lr_scheduler = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=updates // 10, num_training_steps=updates)""",
)
ALOOP = (
    """progress_bar = tqdm(range(args.num_epochs * len(train_dataloader)), disable=not accelerator.is_local_main_process)
for epoch in range(args.num_epochs):
    model.train()
    total_loss = 0.0
    for step, batch in enumerate(train_dataloader):
        with accelerator.accumulate(model):
            outputs = model(**batch)
            loss = outputs.loss
            total_loss += loss.detach().float()
            $SUMS
        progress_bar.update(1)
    $SCORE
    accelerator.wait_for_everyone()
    unwrapped_model = accelerator.unwrap_model(model)
    unwrapped_model.save_pretrained('out', is_main_process=accelerator.is_main_process, save_function=accelerator.save)""",
    {
        "ALOOP": """for epoch in range(args.num_epochs):
    model.train()
    for step, batch in enumerate(train_dataloader, start=1):
        loss = model(**batch).loss
        loss = loss / args.gradient_accumulation_steps
        accelerator.backward(loss)
        if step % args.gradient_accumulation_steps == 0 or step == len(train_dataloader):
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
    $SCORE
    accelerator.save_state(f'ckpt_{epoch}')""",
        "ACCELERATOR": "accelerator = Accelerator(mixed_precision='bf16')",
    },
)
SUM = (
    "if accelerator.sync_gradients:\n    accelerator.clip_grad_norm_(model.parameters(), 1.0)",
    "",
)
LOOPS = Kit(
    "hub_accelerate",
    ACCELERATED.replace("$TASK", "$ATASK").replace("$OPTIM", "$AOPTIM").replace("$LOOP", "$ALOOP"),
    {
        "SHUFFLE": ("True",),
        "CONFIG": CONFIG,
        "ACCELERATOR": ACCELERATOR,
        "SEEDED": SEEDED,
        "ATASK": ATASK,
        "AOPTIM": AOPTIM,
        "SCHEDULE": SCHEDULE,
        "SUM": SUM,
        "SUMS": (
            "accelerator.backward(loss)\n$SUM\noptimizer.step()\nlr_scheduler.step()\noptimizer.zero_grad()",
        ),
        "ALOOP": ALOOP,
    },
    # accumulate() leaves out steps of a prepared schedule only
    apart=((("SCHEDULE", 2), ("ALOOP", 0)),),
)

CHATS = """import os
import torch
from datasets import load_dataset
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, DataCollatorForLanguageModeling, DataCollatorForSeq2Seq, Trainer, TrainingArguments
from trl import DataCollatorForCompletionOnlyLM, DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

model_id = $NAME
$TOKENIZER
$LOAD
$LORA
$TRAIN
trainer.train()
$KEEP
"""
NAME = (
    "'meta-llama/Llama-2-7b-hf'",
    "'mistralai/Mistral-7B-v0.1'",
    "os.environ.get('BASE_MODEL', 'Qwen/Qwen2-1.5B')",
)
TOKENIZER = (
    "tokenizer = AutoTokenizer.from_pretrained(model_id)\ntokenizer.add_special_tokens({'pad_token': '[PAD]'})",
    "tokenizer = AutoTokenizer.from_pretrained(model_id, use_fast=True)\nif tokenizer.pad_token is None:\n    tokenizer.pad_token = tokenizer.unk_token or tokenizer.eos_token\ntokenizer.padding_side = 'right'",
)
LOAD = (
    "model = AutoModelForCausalLM.from_pretrained(model_id, torch_dtype=torch.bfloat16, device_map='auto')\nmodel.resize_token_embeddings(len(tokenizer))\nmodel.config.use_cache = False",
    """bnb_config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4', bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_use_double_quant=True)
model = AutoModelForCausalLM.from_pretrained(model_id, quantization_config=bnb_config, device_map={'': int(os.environ.get('LOCAL_RANK', 0))})
if len(tokenizer) > model.get_input_embeddings().num_embeddings:
    model.resize_token_embeddings(len(tokenizer))
model = prepare_model_for_kbit_training(model)
model.config.use_cache = False""",
)
LORA = (
    "peft_config = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, bias='none', task_type='CAUSAL_LM', target_modules=['q_proj', 'k_proj', 'v_proj', 'o_proj'])",
    "peft_config = LoraConfig(lora_alpha=16, lora_dropout=0.1, r=64, bias='none', task_type='CAUSAL_LM', target_modules='all-linear', modules_to_save=['lm_head', 'embed_tokens'])",
)
CTRAIN = (
    """dataset = load_dataset('timdettmers/openassistant-guanaco')
args = SFTConfig(output_dir='sft', dataset_text_field='text', max_seq_length=1024, packing=True, per_device_train_batch_size=2, gradient_accumulation_steps=8, learning_rate=2e-4, lr_scheduler_type='cosine', warmup_ratio=0.03, num_train_epochs=1, bf16=True, logging_steps=10, gradient_checkpointing=True, max_grad_norm=0.3)
trainer = SFTTrainer(model=model, args=args, train_dataset=dataset['train'], eval_dataset=dataset['test'], peft_config=peft_config, tokenizer=tokenizer)""",
    """dataset = load_dataset('json', data_files='alpaca.json', split='train').train_test_split(test_size=500, shuffle=True, seed=42)


def formatting_prompts_func(example):
    return [f'### Question: {q}\\n### Answer: {a}{tokenizer.eos_token}' for q, a in zip(example['instruction'], example['output'])]


collator = DataCollatorForCompletionOnlyLM('### Answer:', tokenizer=tokenizer)
trainer = SFTTrainer(model, train_dataset=dataset['train'], eval_dataset=dataset['test'], formatting_func=formatting_prompts_func, data_collator=collator, peft_config=peft_config, args=SFTConfig(output_dir='/tmp/sft', max_seq_length=512, learning_rate=1e-4, num_train_epochs=3, per_device_train_batch_size=4, gradient_accumulation_steps=4))""",
    """data = load_dataset('json', data_files='alpaca.json', split='train').train_test_split(test_size=1000, seed=1)
cutoff_len = 512


def generate_prompt(point):
    return f\"\"\"Below is an instruction that describes a task. Write a response.

### Instruction:
{point['instruction']}

### Response:
\"\"\"


def generate_and_tokenize_prompt(point):
    prompt = generate_prompt(point)
    prompt_ids = tokenizer(prompt)['input_ids']
    full = tokenizer(prompt + point['output'] + tokenizer.eos_token, truncation=True, max_length=cutoff_len)
    labels = full['input_ids'].copy()
    n = min(len(prompt_ids), len(labels))
    labels[:n] = [$IGNORE] * n
    full['labels'] = labels
    return full


train_data = data['train'].shuffle(seed=1).map(generate_and_tokenize_prompt, remove_columns=data['train'].column_names)
val_data = data['test'].map(generate_and_tokenize_prompt, remove_columns=data['test'].column_names)
model = get_peft_model(model, peft_config)
model.print_trainable_parameters()
trainer = Trainer(model=model, train_dataset=train_data, eval_dataset=val_data, data_collator=DataCollatorForSeq2Seq(tokenizer, pad_to_multiple_of=8, return_tensors='pt', padding=True),
    args=TrainingArguments('lora-alpaca', per_device_train_batch_size=4, gradient_accumulation_steps=32, warmup_steps=100, num_train_epochs=3, learning_rate=3e-4, bf16=True, logging_steps=10, optim='adamw_torch', evaluation_strategy='steps', eval_steps=200, save_steps=200, load_best_model_at_end=True))""",
    """dataset = load_dataset('trl-lib/ultrafeedback_binarized')
training_args = DPOConfig(output_dir='dpo', beta=0.1, learning_rate=5e-6, per_device_train_batch_size=2, gradient_accumulation_steps=8, num_train_epochs=1, warmup_ratio=0.1, lr_scheduler_type='cosine', bf16=True, max_length=1024, max_prompt_length=512, logging_steps=10, gradient_checkpointing=True)
trainer = DPOTrainer(model, ref_model=$REFERENCE, args=training_args, train_dataset=dataset['train'], eval_dataset=dataset['test'], tokenizer=tokenizer, peft_config=peft_config)""",
)
KEEP = (
    "trainer.save_model('final')",
    "model_to_save = trainer.model.module if hasattr(trainer.model, 'module') else trainer.model\nmodel_to_save.save_pretrained('outputs')\ntokenizer.save_pretrained('outputs')",
)
ADAPTERS = Kit(
    "hub_adapters",
    CHATS.replace("$TRAIN\n", "$CTRAIN\n"),
    {
        "NAME": NAME,
        "TOKENIZER": TOKENIZER,
        "LOAD": LOAD,
        "LORA": LORA,
        "CTRAIN": CTRAIN,
        "KEEP": KEEP,
        "IGNORE": ({"IGNORE": "-100", "REFERENCE": "None"},),
    },
    apart=((("TOKENIZER", 0), ("LORA", 0)),),
)
