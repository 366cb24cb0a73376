"""Which module does a sentence of the Python documentation speak about? A small bag-of-embeddings classifier."""
import json
import os
import pydoc_data.topics
import random
import re

os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

torch.set_num_threads(1)
set_seed(3)
wanted = sorted(sorted(pydoc_data.topics.topics, key=lambda k: -len(pydoc_data.topics.topics[k]))[:12])
sentences = []
for label, topic in enumerate(wanted):
    words = re.findall(r"[a-z_]+", pydoc_data.topics.topics[topic].lower())
    sentences += [(words[i : i + 12], label) for i in range(0, min(len(words), 3000) - 12, 12)]
random.Random(0).shuffle(sentences)
vocabulary = {w: i + 1 for i, w in enumerate(sorted({w for s, _ in sentences for w in s}))}
rows = [{"input_ids": [vocabulary[w] for w in s], "labels": y} for s, y in sentences]
cut = int(0.8 * len(rows))

config = {
    "model_type": "sentence_classifier", "vocab_size": len(vocabulary) + 1, "hidden_size": 512,
    "num_hidden_layers": 2, "hidden_dropout_prob": 0.0, "num_labels": len(wanted),
}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        width, drop = config["hidden_size"], config["hidden_dropout_prob"]
        self.embedding = nn.Embedding(config["vocab_size"], width)
        self.layers = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(drop),
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(drop), nn.Linear(width, config["num_labels"]),
        )

    def forward(self, input_ids, labels=None):
        logits = self.layers(self.embedding(input_ids).mean(1))
        loss = nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return {"loss": loss, "logits": logits}


arguments = TrainingArguments(
    output_dir="output", num_train_epochs=40, per_device_train_batch_size=32, per_device_eval_batch_size=128,
    learning_rate=5e-4, lr_scheduler_type="linear", warmup_steps=50, weight_decay=0.0, logging_steps=20,
    eval_strategy="epoch", save_strategy="no", report_to="none", use_cpu=True, seed=3, disable_tqdm=True,
)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


trainer = Trainer(
    model=Classifier(), args=arguments, train_dataset=rows[:cut], eval_dataset=rows[cut:], compute_metrics=accuracy,
)
trainer.train()
trainer.save_state()
json.dump(config, open("output/config.json", "w"), indent=2)
json.dump(arguments.to_dict(), open("output/training_args.json", "w"), indent=2, default=str)
