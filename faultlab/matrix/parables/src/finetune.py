"""Which kind of parable a passage is from, by the Hugging Face Trainer on a table of passages."""
import argparse

import numpy as np
from datasets import load_dataset
from sklearn.metrics import classification_report, log_loss, precision_recall_fscore_support
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding,
                          EarlyStoppingCallback, Trainer, TrainingArguments, set_seed)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('--model', default='distilroberta-base')
    parser.add_argument('--data', default='parables')
    parser.add_argument('--out', default='runs/parables')
    parser.add_argument('--epochs', type=float, default=6)
    parser.add_argument('--top', type=int, default=3)
    return parser.parse_args()


def softmax(z):
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    return z / z.sum(axis=-1, keepdims=True)


def make_compute_metrics(top, num_labels):
    def compute_metrics(eval_pred):
        logits, labels = eval_pred
        preds = np.argmax(logits, axis=-1)
        precision, recall, f1, _ = precision_recall_fscore_support(labels, preds, average='macro', zero_division=0)
        probs = softmax(logits)
        best = np.argsort(-probs, axis=-1)[:, :top]
        in_top = np.any(best == labels[:, None], axis=1)
        confidence = probs.max(axis=-1)
        edges = np.linspace(0, 1, 11)
        gap = 0.0
        for low, high in zip(edges[:-1], edges[1:]):
            inside = (confidence > low) & (confidence <= high)
            if inside.any():
                gap += inside.mean() * abs((preds[inside] == labels[inside]).mean() - confidence[inside].mean())
        return {
            'accuracy': float((preds == labels).mean()),
            'precision': precision, 'recall': recall, 'f1': f1,
            f'top{top}': float(in_top.mean()),
            'log_loss': log_loss(labels, probs, labels=list(range(num_labels))),
            'calibration': gap,
        }
    return compute_metrics


def main():
    args = arguments()
    set_seed(17)
    raw = load_dataset('csv', data_files={s: f'{args.data}/{s}.csv' for s in ('train', 'validation', 'test')})
    kinds = sorted(set(raw['train']['kind']))
    index = {kind: i for i, kind in enumerate(kinds)}
    tokenizer = AutoTokenizer.from_pretrained(args.model)

    def prepare(rows):
        coded = tokenizer(rows['passage'], truncation=True, max_length=256)
        coded['labels'] = [index[kind] for kind in rows['kind']]
        return coded

    coded = raw.map(prepare, batched=True, remove_columns=raw['train'].column_names)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=len(kinds))
    training = TrainingArguments(
        output_dir=args.out,
        num_train_epochs=args.epochs,
        learning_rate=3e-5,
        warmup_ratio=0.1,
        weight_decay=0.01,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        eval_strategy='epoch',
        save_strategy='epoch',
        logging_steps=50,
        load_best_model_at_end=True,
        metric_for_best_model='f1',
        greater_is_better=True,
        save_total_limit=2,
        seed=17,
        report_to='none',
    )
    trainer = Trainer(
        model=model,
        args=training,
        train_dataset=coded['train'],
        eval_dataset=coded['validation'],
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=make_compute_metrics(args.top, len(kinds)),
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
    )
    trainer.train()
    found = trainer.predict(coded['test'], metric_key_prefix='test')
    print(found.metrics)
    print(classification_report(found.label_ids, found.predictions.argmax(-1), target_names=kinds))
    trainer.save_model(f'{args.out}/best')


if __name__ == '__main__':
    main()
