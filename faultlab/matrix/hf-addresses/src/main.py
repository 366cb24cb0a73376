import glob
import random
import sys
from dataclasses import dataclass, field

from tagging import TAGS, WeightedTrainer, compute_metrics, encode, read, weights
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    HfArgumentParser,
    TrainingArguments,
    set_seed,
)


@dataclass
class DataArguments:
    folder: str = field(default="letters", metadata={"help": "folder of .tsv files"})
    model: str = field(default="bert-base-german-cased")
    max_length: int = 256
    held_files: int = 12
    head_lr: float = 5e-4


DEFAULTS = [
    *("--output_dir", "tagger", "--learning_rate", "4e-5", "--num_train_epochs", "6"),
    *("--per_device_train_batch_size", "24", "--weight_decay", "0.01", "--seed", "31"),
]


def main():
    parser = HfArgumentParser((DataArguments, TrainingArguments))
    data, args = parser.parse_args_into_dataclasses(DEFAULTS + sys.argv[1:])
    args.eval_strategy = "epoch"
    args.save_strategy = "epoch"
    args.load_best_model_at_end = True
    args.metric_for_best_model = "f1"
    args.greater_is_better = True
    args.warmup_steps = 200
    set_seed(args.seed)

    files = sorted(glob.glob(f"{data.folder}/*.tsv"))
    random.Random(args.seed).shuffle(files)
    held, rest = files[: data.held_files], files[data.held_files :]
    train_rows = [row for f in rest for row in read(f)]
    val_rows = [row for f in held[::2] for row in read(f)]
    test_rows = [row for f in held[1::2] for row in read(f)]

    tokenizer = AutoTokenizer.from_pretrained(data.model)
    model = AutoModelForTokenClassification.from_pretrained(
        data.model,
        num_labels=len(TAGS),
        id2label=dict(enumerate(TAGS)),
        label2id={t: i for i, t in enumerate(TAGS)},
    )
    trainer = WeightedTrainer(
        model=model,
        args=args,
        train_dataset=encode(train_rows, tokenizer, data.max_length),
        eval_dataset=encode(val_rows, tokenizer, data.max_length),
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_metrics=compute_metrics,
        tag_weights=weights(train_rows),
        head_lr=data.head_lr,
    )
    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
    trainer.save_model()
    found = trainer.predict(encode(test_rows, tokenizer, data.max_length))
    print(found.metrics)


if __name__ == "__main__":
    main()
