import json
import os
import random
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from corpus import read_mails

TAGS = ["O"] + [f"{p}-{t}" for t in ("QTY", "ITEM", "DATE", "ADDR") for p in "BI"]
PAD_TAG = -100


@dataclass
class TrainingArgs:
    output_dir: str = "output"
    num_train_epochs: int = 10
    per_device_train_batch_size: int = 8
    gradient_accumulation_steps: int = 4
    learning_rate: float = 0.4
    momentum: float = 0.9
    weight_decay: float = 1e-5
    warmup_steps: int = 10
    max_grad_norm: float = 5.0
    logging_steps: int = 5
    embedding_size: int = 32
    hidden_size: int = 32
    dropout: float = 0.4
    train_size: int = 960
    seed: int = 304


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, args):
        super().__init__()
        self.embedding = nn.Embedding(n_words, args.embedding_size, padding_idx=0)
        self.lstm = nn.LSTM(args.embedding_size, args.hidden_size, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(args.dropout)
        self.classifier = nn.Linear(2 * args.hidden_size, n_tags)

    def forward(self, words):
        hidden, _ = self.lstm(self.dropout(self.embedding(words)))
        return self.classifier(self.dropout(hidden))


def encode(mails, word_ids, tag_ids):
    return [(torch.tensor([word_ids.get(w, 1) for w in words]), torch.tensor([tag_ids[t] for t in tags]))
            for words, tags in mails]


def batches(data, size, shuffle):
    order = list(range(len(data)))
    if shuffle:
        random.shuffle(order)
    for i in range(0, len(order), size):
        rows = [data[j] for j in order[i:i + size]]
        yield (pad_sequence([w for w, _ in rows], batch_first=True, padding_value=0),
               pad_sequence([t for _, t in rows], batch_first=True, padding_value=PAD_TAG))


def spans(tags):
    found, start = set(), None
    for i, tag in enumerate(tags + ["O"]):
        if start is not None and tag != "I-" + tags[start][2:]:
            found.add((start, i, tags[start][2:]))
            start = None
        if tag.startswith("B-"):
            start = i
    return found


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    loss_sum, tokens, tp, n_pred, n_gold = 0.0, 0, 0, 0, 0
    for words, tags in batches(data, 64, shuffle=False):
        logits = model(words)
        loss_sum += nn.functional.cross_entropy(
            logits.flatten(0, 1), tags.flatten(), ignore_index=PAD_TAG, reduction="sum").item()
        tokens += (tags != PAD_TAG).sum().item()
        for row, gold in zip(logits.argmax(-1).tolist(), tags.tolist()):
            length = sum(t != PAD_TAG for t in gold)
            pred = spans([TAGS[t] for t in row[:length]])
            true = spans([TAGS[t] for t in gold[:length]])
            tp, n_pred, n_gold = tp + len(pred & true), n_pred + len(pred), n_gold + len(true)
    precision, recall = tp / max(1, n_pred), tp / max(1, n_gold)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {"eval_loss": loss_sum / tokens, "eval_precision": precision, "eval_recall": recall, "eval_f1": f1}


def main():
    args = TrainingArgs()
    os.makedirs(args.output_dir, exist_ok=True)
    with open(f"{args.output_dir}/training_args.json", "w") as f:
        json.dump(asdict(args), f, indent=2)
    random.seed(args.seed)
    torch.manual_seed(args.seed)

    train_mails, eval_mails = read_mails(args.train_size, seed=1), read_mails(300, seed=2)
    word_ids = {w: i + 2 for i, w in enumerate(sorted({w for words, _ in train_mails for w in words}))}
    tag_ids = {t: i for i, t in enumerate(TAGS)}
    train_data, eval_data = encode(train_mails, word_ids, tag_ids), encode(eval_mails, word_ids, tag_ids)

    model = Tagger(len(word_ids) + 2, len(TAGS), args)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=args.momentum,
                                weight_decay=args.weight_decay)
    updates = len(train_data) // (args.per_device_train_batch_size * args.gradient_accumulation_steps)
    max_steps = updates * args.num_train_epochs
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / args.warmup_steps, max(0.0, 1 - s / max_steps)))
    criterion = nn.CrossEntropyLoss(ignore_index=PAD_TAG)

    state = {"best_metric": None, "best_model_checkpoint": None, "epoch": 0.0, "global_step": 0,
             "max_steps": max_steps, "num_train_epochs": args.num_train_epochs, "log_history": []}
    running = 0.0
    for epoch in range(args.num_train_epochs):
        model.train()
        for i, (words, tags) in enumerate(batches(train_data, args.per_device_train_batch_size, shuffle=True), 1):
            logits = model(words)
            loss = criterion(logits.flatten(0, 1), tags.flatten()) / args.gradient_accumulation_steps
            loss.backward()
            running += loss.item()
            if i % args.gradient_accumulation_steps:
                continue
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            state["global_step"] += 1
            state["epoch"] = round(epoch + i * args.per_device_train_batch_size / len(train_data), 3)
            if state["global_step"] % args.logging_steps == 0:
                state["log_history"].append({
                    "epoch": state["epoch"], "step": state["global_step"],
                    "loss": round(running / args.logging_steps, 4), "grad_norm": round(grad_norm.item(), 4),
                    "learning_rate": scheduler.get_last_lr()[0]})
                running = 0.0
        metrics = evaluate(model, eval_data)
        state["log_history"].append({"epoch": state["epoch"], "step": state["global_step"], **metrics})
        if state["best_metric"] is None or metrics["eval_f1"] > state["best_metric"]:
            state["best_metric"] = metrics["eval_f1"]
            state["best_model_checkpoint"] = f"{args.output_dir}/checkpoint-{state['global_step']}"
            os.makedirs(state["best_model_checkpoint"], exist_ok=True)
            torch.save(model.state_dict(), state["best_model_checkpoint"] + "/model.pt")
        with open(f"{args.output_dir}/trainer_state.json", "w") as f:
            json.dump(state, f, indent=2)

    model.load_state_dict(torch.load(state["best_model_checkpoint"] + "/model.pt"))
    with open(f"{args.output_dir}/test_results.json", "w") as f:
        json.dump(evaluate(model, encode(read_mails(300, seed=3), word_ids, tag_ids)), f, indent=2)


if __name__ == "__main__":
    main()
