# ruff: noqa: E501
"""Classifiers of texts with transformers: data sets, tokens, metrics, the Trainer, a loop, Accelerate."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import numpy as np
import pandas as pd
import torch
import evaluate
from accelerate import Accelerator
from datasets import load_dataset, Dataset
from peft import LoraConfig, get_peft_model
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, DistilBertForSequenceClassification, DistilBertTokenizerFast, Trainer, TrainingArguments, get_linear_schedule_with_warmup, get_scheduler, set_seed)
set_seed(42)
device = 'cuda' if torch.cuda.is_available() else 'cpu'
"""
LOAD = [
    """ds = load_dataset('imdb')
train_raw, test_raw = ds['train'], ds['test']""",
    """raw = load_dataset('csv', data_files={'train': 'train.csv', 'test': 'test.csv'})
train_raw, test_raw = raw['train'], raw['test']""",
    """df = pd.read_csv('reviews.csv').dropna(subset=['text', 'label'])
train_df, test_df = train_test_split(df, test_size=0.2, random_state=42, stratify=df['label'])
train_raw = Dataset.from_pandas(train_df.reset_index(drop=True))
test_raw = Dataset.from_pandas(test_df.reset_index(drop=True))""",
    """data = load_dataset('emotion', split='train').train_test_split(test_size=0.1, seed=42)
train_raw, test_raw = data['train'], data['test']""",
]
MODEL = [
    """checkpoint = 'bert-base-uncased'
tokenizer = AutoTokenizer.from_pretrained(checkpoint)
model = AutoModelForSequenceClassification.from_pretrained(checkpoint, num_labels=6)""",
    """tokenizer = DistilBertTokenizerFast.from_pretrained('distilbert-base-uncased')
model = DistilBertForSequenceClassification.from_pretrained('distilbert-base-uncased', num_labels=6)
for param in model.distilbert.parameters():
    param.requires_grad = False""",
    """model_name = 'roberta-base'
tokenizer = AutoTokenizer.from_pretrained(model_name)
model = AutoModelForSequenceClassification.from_pretrained(model_name, num_labels=6)
model = get_peft_model(model, LoraConfig(task_type='SEQ_CLS', r=8, lora_alpha=16, lora_dropout=0.1, target_modules=['query', 'value']))
model.print_trainable_parameters()""",
]
TOKENS = [
    """def tokenize(batch):
    return tokenizer(batch['text'], truncation=True, padding='max_length', max_length=128)
train_ds = train_raw.map(tokenize, batched=True)
test_ds = test_raw.map(tokenize, batched=True)""",
    """def preprocess(examples):
    return tokenizer(examples['text'], truncation=True, max_length=256)
train_ds = train_raw.map(preprocess, batched=True, remove_columns=['text'])
test_ds = test_raw.map(preprocess, batched=True, remove_columns=['text'])
collator = DataCollatorWithPadding(tokenizer=tokenizer)""",
]
METRICS = [
    """def compute_metrics(eval_pred):
    logits, labels = eval_pred
    predictions = np.argmax(logits, axis=-1)
    return {'accuracy': accuracy_score(labels, predictions), 'f1': f1_score(labels, predictions, average='macro')}""",
    """metric = evaluate.load('accuracy')
def compute_metrics(p):
    preds = p.predictions[0] if isinstance(p.predictions, tuple) else p.predictions
    preds = preds.argmax(-1)
    return metric.compute(predictions=preds, references=p.label_ids)""",
]
ARGS = [
    """args = TrainingArguments(output_dir='out', learning_rate=2e-5, per_device_train_batch_size=16, per_device_eval_batch_size=64, num_train_epochs=3, weight_decay=0.01, eval_strategy='epoch', save_strategy='epoch', load_best_model_at_end=True, metric_for_best_model='accuracy', report_to='none')""",
    """args = TrainingArguments('results', evaluation_strategy='steps', eval_steps=500, save_steps=500, logging_steps=100, learning_rate=5e-5, warmup_ratio=0.1, lr_scheduler_type='cosine', per_device_train_batch_size=8, gradient_accumulation_steps=4, num_train_epochs=2, fp16=True, seed=42, load_best_model_at_end=True)""",
    """args = TrainingArguments(output_dir='./results', num_train_epochs=3, per_device_train_batch_size=8, warmup_steps=500, weight_decay=0.01, logging_dir='./logs')""",
]
TRAIN = [
    """trainer = Trainer(model=model, args=args, train_dataset=train_ds, eval_dataset=test_ds, compute_metrics=compute_metrics, tokenizer=tokenizerCOLL)
trainer.train()
print(trainer.evaluate())
trainer.save_model('best')""",
    """train_ds.set_format('torch', columns=['input_ids', 'attention_mask', 'label'])
test_ds.set_format('torch', columns=['input_ids', 'attention_mask', 'label'])
train_loader = DataLoader(train_ds, batch_size=16, shuffle=TrueCOLL2)
test_loader = DataLoader(test_ds, batch_size=32COLL2)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
num_steps = 3 * len(train_loader)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=int(0.1 * num_steps), num_training_steps=num_steps)
for epoch in range(3):
    model.train()
    for batch in train_loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        batch['labels'] = batch.pop('label')
        outputs = model(**batch)
        loss = outputs.loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    model.eval()
    preds, refs = [], []
    for batch in test_loader:
        with torch.no_grad():
            logits = model(input_ids=batch['input_ids'].to(device), attention_mask=batch['attention_mask'].to(device)).logits
        preds.extend(logits.argmax(-1).cpu().numpy())
        refs.extend(batch['label'].numpy())
    print(epoch, accuracy_score(refs, preds))""",
    """accelerator = Accelerator(gradient_accumulation_steps=4)
train_ds = train_ds.rename_column('label', 'labels')
test_ds = test_ds.rename_column('label', 'labels')
train_ds.set_format('torch', columns=['input_ids', 'attention_mask', 'labels'])
test_ds.set_format('torch', columns=['input_ids', 'attention_mask', 'labels'])
train_loader = DataLoader(train_ds, shuffle=True, batch_size=8COLL2)
eval_loader = DataLoader(test_ds, batch_size=8COLL2)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)
lr_scheduler = get_scheduler('linear', optimizer=optimizer, num_warmup_steps=0, num_training_steps=3 * len(train_loader))
model, optimizer, train_loader, eval_loader, lr_scheduler = accelerator.prepare(model, optimizer, train_loader, eval_loader, lr_scheduler)
for epoch in range(3):
    model.train()
    for step, batch in enumerate(train_loader):
        with accelerator.accumulate(model):
            outputs = model(**batch)
            accelerator.backward(outputs.loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
    model.eval()
    m = evaluate.load('accuracy')
    for batch in eval_loader:
        with torch.no_grad():
            outputs = model(**batch)
        predictions = outputs.logits.argmax(dim=-1)
        predictions, references = accelerator.gather_for_metrics((predictions, batch['labels']))
        m.add_batch(predictions=predictions, references=references)
    accelerator.print(epoch, m.compute())""",
]


def write(choice: Choice) -> str | None:
    """The program of one choice."""
    load, tokens, metrics, args, train, model = choice
    padded = tokens == 1
    loop = TRAIN[train].replace("COLL2", ", collate_fn=collator" if padded else "")
    loop = loop.replace("COLL", ", data_collator=collator" if padded else "")
    parts = [
        LOAD[load],
        MODEL[model],
        TOKENS[tokens],
        METRICS[metrics],
        ARGS[args] if train == 0 else "",
        loop,
    ]
    return HEAD + "\n".join(parts) + "\n"


BOOK = Book("texts", tuple(map(len, (LOAD, TOKENS, METRICS, ARGS, TRAIN, MODEL))), write)
