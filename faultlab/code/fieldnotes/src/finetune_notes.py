import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from notes_data import NOTE, RECORD, FieldNotes, RecordCollator, read_notes
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    get_cosine_schedule_with_warmup,
    set_seed,
)


@dataclass
class NotesArguments:
    notes: str
    lm: str = "distilgpt2"
    max_len: int = 384
    out: str = "herbarium-lm"
    epochs: int = 6
    batch: int = 8
    accumulate: int = 4
    rate: float = 1e-4
    smoothing: float = 0.05
    seed: int = 17


class NotesTrainer(Trainer):
    smoothing = 0.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        scores = outputs.logits[:, :-1].float()
        target = labels[:, 1:]
        loss = F.cross_entropy(
            scores.flatten(0, 1), target.flatten(), reduction="sum", label_smoothing=self.smoothing if model.training else 0.0
        )
        tokens = (target != -100).sum() if num_items_in_batch is None else num_items_in_batch
        loss = loss / tokens
        return (loss, outputs) if return_outputs else loss


def best_tokens(logits, labels):
    return logits.argmax(dim=-1)


def compute_metrics(result):
    guess, gold = result.predictions[:, :-1], result.label_ids[:, 1:]
    counted = gold != -100
    right = (guess == gold) & counted
    return {
        "token_acc": float(right.sum() / counted.sum()),
        "record_acc": float((right.sum(axis=1) == counted.sum(axis=1)).mean()),
    }


def build_optimizer(model, rate, steps):
    tables = [p for n, p in model.named_parameters() if p.ndim < 2 or ".wte." in n or ".wpe." in n]
    weights = [p for n, p in model.named_parameters() if not (p.ndim < 2 or ".wte." in n or ".wpe." in n)]
    groups = [{"params": weights, "weight_decay": 0.01}, {"params": tables, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))
    return optimizer, get_cosine_schedule_with_warmup(optimizer, int(0.05 * steps), steps)


@torch.no_grad()
def write_record(model, tokenizer, note, room=128):
    ids = tokenizer(NOTE + note.strip() + RECORD, return_tensors="pt").to(model.device)
    made = model.generate(**ids, max_new_tokens=room, do_sample=False, pad_token_id=tokenizer.pad_token_id)
    return tokenizer.decode(made[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)


def main():
    (args,) = HfArgumentParser(NotesArguments).parse_args_into_dataclasses()
    set_seed(args.seed)
    train_rows, dev_rows, test_rows = read_notes(args.notes, args.seed)

    tokenizer = AutoTokenizer.from_pretrained(args.lm)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.add_special_tokens({"additional_special_tokens": [NOTE, RECORD]})
    model = AutoModelForCausalLM.from_pretrained(args.lm, dtype=torch.float32)
    model.resize_token_embeddings(len(tokenizer))

    train_set, dev_set, test_set = (FieldNotes(rows, tokenizer, args.max_len) for rows in (train_rows, dev_rows, test_rows))
    steps = args.epochs * math.ceil(len(train_set) / (args.batch * args.accumulate))
    optimizer, scheduler = build_optimizer(model, args.rate, steps)

    config = TrainingArguments(
        output_dir=args.out,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch,
        per_device_eval_batch_size=args.batch,
        gradient_accumulation_steps=args.accumulate,
        max_grad_norm=1.0,
        bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="record_acc",
        greater_is_better=True,
        remove_unused_columns=False,
        logging_steps=20,
        report_to="none",
        seed=args.seed,
    )
    trainer = NotesTrainer(
        model=model,
        args=config,
        train_dataset=train_set,
        eval_dataset=dev_set,
        data_collator=RecordCollator(tokenizer),
        compute_metrics=compute_metrics,
        preprocess_logits_for_metrics=best_tokens,
        optimizers=(optimizer, scheduler),
    )
    trainer.smoothing = args.smoothing
    trainer.train()
    print(trainer.evaluate(test_set, metric_key_prefix="test"))
    model.eval()
    for row in test_rows[:5]:
        print(row["record"], "<-", write_record(model, tokenizer, row["note"]))
    trainer.save_model(args.out)


if __name__ == "__main__":
    main()
