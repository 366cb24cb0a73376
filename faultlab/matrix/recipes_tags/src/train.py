"""Mark the ingredients, amounts and tools in cooking instructions (token classification)."""
import logging
import sys
from dataclasses import dataclass, field
from typing import Optional

import evaluate
import numpy as np
from datasets import load_dataset
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    EarlyStoppingCallback,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)

logger = logging.getLogger(__name__)
LABELS = ["O", "B-ING", "I-ING", "B-AMT", "I-AMT", "B-TOOL", "I-TOOL"]


@dataclass
class DataArguments:
    train_file: str = field(default="train.jsonl", metadata={"help": "one instruction per line"})
    validation_file: str = field(default="valid.jsonl")
    test_file: str = field(default="test.jsonl")
    max_length: int = field(default=128)
    model_name: str = field(default="distilbert-base-cased")
    limit: Optional[int] = field(default=None)


def main():
    parser = HfArgumentParser(DataArguments)
    (args,) = parser.parse_args_into_dataclasses()
    logging.basicConfig(stream=sys.stdout, level=logging.INFO)
    set_seed(17)

    files = {"train": args.train_file, "validation": args.validation_file, "test": args.test_file}
    raw = load_dataset("json", data_files=files)
    if args.limit:
        raw["train"] = raw["train"].select(range(args.limit))
    label2id = {name: i for i, name in enumerate(LABELS)}
    id2label = dict(enumerate(LABELS))

    tokenizer = AutoTokenizer.from_pretrained(args.model_name)
    model = AutoModelForTokenClassification.from_pretrained(
        args.model_name, num_labels=len(LABELS), id2label=id2label, label2id=label2id
    )

    def tokenize(examples):
        encoded = tokenizer(examples["words"], is_split_into_words=True, truncation=True, max_length=args.max_length)
        labels = []
        for i, tags in enumerate(examples["tags"]):
            previous = None
            row = []
            for word in encoded.word_ids(batch_index=i):
                if word is None or word == previous:
                    row.append(-100)
                else:
                    row.append(label2id[tags[word]])
                previous = word
            labels.append(row)
        encoded["labels"] = labels
        return encoded

    data = raw.map(tokenize, batched=True, remove_columns=raw["train"].column_names)
    seqeval = evaluate.load("seqeval")

    def compute_metrics(p):
        predictions = np.argmax(p.predictions, axis=2)
        found = [
            [id2label[a] for a, b in zip(row, gold) if b != -100] for row, gold in zip(predictions, p.label_ids)
        ]
        wanted = [[id2label[b] for b in gold if b != -100] for gold in p.label_ids]
        scores = seqeval.compute(predictions=found, references=wanted)
        return {"precision": scores["overall_precision"], "recall": scores["overall_recall"], "f1": scores["overall_f1"]}

    training_args = TrainingArguments(
        output_dir="out/recipes",
        learning_rate=5e-5,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=32,
        num_train_epochs=6,
        weight_decay=0.01,
        warmup_ratio=0.1,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="f1",
        greater_is_better=True,
        logging_steps=50,
        seed=17,
        fp16=True,
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_metrics=compute_metrics,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
    )
    trainer.train()
    trainer.save_model("out/recipes/best")
    tokenizer.save_pretrained("out/recipes/best")
    logger.info("test: %s", trainer.evaluate(data["test"], metric_key_prefix="test"))


if __name__ == "__main__":
    main()
