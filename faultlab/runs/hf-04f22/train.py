"""Fine-tune a small encoder that tells the topics of the Python documentation apart."""
import json
import pydoc_data.topics
import random
import re

import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

SEED = 100
TRAIN_SIZE = 1200
HIDDEN_SIZE = 48
NUM_LAYERS = 2
DROPOUT = 0.1
LR = 0.0004
WEIGHT_DECAY = 0.01
GRAD_CLIP = 1.0
EPOCHS = 6
BATCH_SIZE = 32
WARMUP_STEPS = 15
torch.set_num_threads(1)
set_seed(SEED)

topics = sorted(sorted(pydoc_data.topics.topics, key=lambda k: -len(pydoc_data.topics.topics[k]))[:6])
rows = []
for label, topic in enumerate(topics):
    words = re.findall(r"[a-z_]+", pydoc_data.topics.topics[topic].lower())[:6000]
    rows += [(words[i : i + 16], label) for i in range(0, len(words) - 16, 16)]
random.Random(1).shuffle(rows)
rows = rows[: TRAIN_SIZE + 250]
vocab = {w: i for i, w in enumerate(sorted({w for words, _ in rows for w in words}))}
encoded = [{"input_ids": [vocab[w] for w in words], "labels": label} for words, label in rows]
train_rows, eval_rows = encoded[:-250], encoded[-250:]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(vocab), HIDDEN_SIZE)
        self.position = nn.Embedding(16, HIDDEN_SIZE)
        layer = nn.TransformerEncoderLayer(HIDDEN_SIZE, 4, 4 * HIDDEN_SIZE, DROPOUT, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, NUM_LAYERS, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(HIDDEN_SIZE)
        self.classifier = nn.Linear(HIDDEN_SIZE, 6)

    def forward(self, input_ids, labels=None):
        hidden = self.embedding(input_ids) + self.position(torch.arange(16))
        hidden = self.norm(self.encoder(hidden)).mean(1)
        logits = self.classifier(hidden)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def metrics(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


model = Encoder()
arguments = TrainingArguments(
    output_dir="results", learning_rate=LR, weight_decay=WEIGHT_DECAY, max_grad_norm=GRAD_CLIP,
    num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH_SIZE, per_device_eval_batch_size=250,
    warmup_steps=WARMUP_STEPS, lr_scheduler_type="cosine", logging_steps=5, eval_strategy="epoch",
    save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True, seed=SEED,
)
trainer = Trainer(model=model, args=arguments, train_dataset=train_rows, eval_dataset=eval_rows, compute_metrics=metrics)
trainer.train()
trainer.save_state()
json.dump(arguments.to_dict(), open("results/training_args.json", "w"), indent=2, default=str)
