"""Fine-tunes the pretrained encoder on the triaged messages."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

from encoder import PAD, Encoder, Tokenizer
from messages import CLASSES, triaged
from pretrain import pretrain


@dataclass
class TrainingArguments:
    output_dir: str = "output"
    learning_rate: float = 5e-4
    num_train_epochs: int = 6
    per_device_train_batch_size: int = 16
    per_device_eval_batch_size: int = 64
    weight_decay: float = 0.01
    warmup_ratio: float = 0.1
    max_grad_norm: float = 1.0
    logging_steps: int = 3
    max_length: int = 24
    dropout: float = 0.1
    train_size: int = 400
    eval_size: int = 240
    seed: int = 42


class Classifier(nn.Module):
    def __init__(self, encoder, num_labels, dropout):
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.config["hidden_size"], num_labels)

    def forward(self, input_ids):
        h = self.encoder(input_ids)
        mask = (input_ids != PAD).unsqueeze(-1)
        pooled = (h * mask).sum(dim=1) / mask.sum(dim=1)
        return self.head(self.dropout(pooled))


class Trainer:
    def __init__(self, model, args, train_rows, eval_rows, collate):
        self.model, self.args = model, args
        self.train_loader = DataLoader(
            train_rows, args.per_device_train_batch_size, shuffle=True, drop_last=True, collate_fn=collate
        )
        self.eval_loader = DataLoader(eval_rows, args.per_device_eval_batch_size, collate_fn=collate)
        decayed = [p for p in model.parameters() if p.ndim > 1]
        others = [p for p in model.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": args.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=args.learning_rate,
        )
        self.max_steps = args.num_train_epochs * len(self.train_loader)
        warmup = math.ceil(args.warmup_ratio * self.max_steps)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda s: s / max(1, warmup) if s < warmup else max(0.0, (self.max_steps - s) / (self.max_steps - warmup)),
        )
        self.state = {"best_metric": None, "best_model_checkpoint": None, "epoch": 0.0, "global_step": 0}
        self.state |= {"max_steps": self.max_steps, "num_train_epochs": args.num_train_epochs, "log_history": []}

    def log(self, **values):
        entry = {"epoch": round(self.state["epoch"], 3), **values, "step": self.state["global_step"]}
        self.state["log_history"].append(entry)
        print(entry)

    def train(self):
        running = 0.0
        for epoch in range(self.args.num_train_epochs):
            self.model.train()
            for input_ids, labels in self.train_loader:
                loss = nn.functional.cross_entropy(self.model(input_ids), labels)
                loss.backward()
                grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
                self.optimizer.step()
                learning_rate = self.scheduler.get_last_lr()[0]
                self.scheduler.step()
                self.optimizer.zero_grad()
                running += loss.item()
                self.state["global_step"] += 1
                self.state["epoch"] = self.state["global_step"] / len(self.train_loader)
                if self.state["global_step"] % self.args.logging_steps == 0:
                    mean_loss, running = running / self.args.logging_steps, 0.0
                    self.log(loss=round(mean_loss, 4), grad_norm=grad_norm.item(), learning_rate=learning_rate)
            metrics = self.evaluate()
            self.log(**metrics)
            self.save(metrics["eval_accuracy"])
        self.model.load_state_dict(torch.load(f"{self.state['best_model_checkpoint']}/model.pt"))

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        loss, correct, seen = 0.0, 0, 0
        for input_ids, labels in self.eval_loader:
            logits = self.model(input_ids)
            loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
            correct += (logits.argmax(dim=-1) == labels).sum().item()
            seen += len(labels)
        return {"eval_loss": loss / seen, "eval_accuracy": correct / seen}

    def save(self, metric):
        if self.state["best_metric"] is None or metric > self.state["best_metric"]:
            folder = Path(self.args.output_dir, f"checkpoint-{self.state['global_step']}")
            folder.mkdir(parents=True, exist_ok=True)
            torch.save(self.model.state_dict(), folder / "model.pt")
            self.state |= {"best_metric": metric, "best_model_checkpoint": str(folder)}
        Path(self.args.output_dir, "trainer_state.json").write_text(json.dumps(self.state, indent=1))


def main():
    args = TrainingArguments()
    if not Path("pretrained").exists():
        pretrain("pretrained")
    torch.manual_seed(args.seed)
    Path(args.output_dir).mkdir(exist_ok=True)
    Path(args.output_dir, "training_args.json").write_text(json.dumps(asdict(args), indent=1))
    tokenizer = Tokenizer(json.loads(Path("pretrained/vocab.json").read_text()))
    checkpoint = torch.load("pretrained/encoder.pt")
    encoder = Encoder(len(tokenizer.vocab) + 3, dropout=args.dropout)
    encoder.load_state_dict(checkpoint["encoder"])
    label2id = {name: i for i, name in enumerate(CLASSES)}
    model = Classifier(encoder, len(CLASSES), args.dropout)

    def collate(rows):
        texts, names = zip(*rows)
        return tokenizer(texts, args.max_length), torch.tensor([label2id[name] for name in names])

    trainer = Trainer(model, args, triaged(args.train_size, 201), triaged(args.eval_size, 201), collate)
    trainer.train()
    final = trainer.evaluate()
    trainer.log(**{f"best_{name}": value for name, value in final.items()})
    Path(args.output_dir, "trainer_state.json").write_text(json.dumps(trainer.state, indent=1))
    Path(args.output_dir, "eval_results.json").write_text(json.dumps(final))


if __name__ == "__main__":
    main()
