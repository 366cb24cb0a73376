"""Train a small BERT to sort municipal notices into six categories (Hugging Face Trainer)."""

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

from notices import CATEGORIES, load_notices

SEED = 300
MAX_LENGTH = 32
EVERY = 6  # every sixth notice is kept for evaluation

label2id = {name: i for i, name in enumerate(CATEGORIES)}


def build_tokenizer(texts):
    tok = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tok.normalizer = normalizers.Lowercase()
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tok.train_from_iterator(texts, trainers.WordLevelTrainer(vocab_size=1000, special_tokens=special))
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


class NoticeDataset(torch.utils.data.Dataset):
    def __init__(self, rows, tokenizer):
        texts = [row["text"] for row in rows]
        self.encodings = tokenizer(texts, truncation=True, max_length=MAX_LENGTH)
        self.labels = [label2id[row["category"]] for row in rows]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        item = {key: values[idx] for key, values in self.encodings.items()}
        item["labels"] = self.labels[idx]
        return item


class WeightedTrainer(Trainer):
    """Cross-entropy with class weights: permits are rare."""

    def __init__(self, *args, class_weights, **kwargs):
        super().__init__(*args, **kwargs)
        self.loss_fct = nn.CrossEntropyLoss(weight=class_weights)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = self.loss_fct(outputs.logits, labels)
        return (loss, {"loss": loss, "logits": outputs.logits}) if return_outputs else loss


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    preds = np.argmax(logits, axis=-1)
    recalls = [(preds[labels == k] == k).mean() for k in np.unique(labels)]
    return {"accuracy": (preds == labels).mean().item(), "balanced_accuracy": float(np.mean(recalls))}


def main():
    set_seed(SEED)
    rows = load_notices()
    train_rows = [row for i, row in enumerate(rows) if i % EVERY]
    eval_rows = rows[::EVERY]

    tokenizer = build_tokenizer(row["text"] for row in train_rows)
    train_dataset = NoticeDataset(train_rows, tokenizer)
    eval_dataset = NoticeDataset(eval_rows, tokenizer)

    counts = torch.bincount(torch.tensor(train_dataset.labels), minlength=len(CATEGORIES)).float()
    class_weights = (counts.sum() / (len(CATEGORIES) * counts)).sqrt()

    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.1,
        initializer_range=0.05,
        num_labels=len(CATEGORIES),
    )
    model = BertForSequenceClassification(config)

    args = TrainingArguments(
        output_dir="out",
        num_train_epochs=5,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=1.5e-3,
        warmup_steps=30,
        weight_decay=0.01,
        lr_scheduler_type="linear",
        logging_steps=10,
        eval_strategy="epoch",
        save_strategy="no",
        disable_tqdm=True,
        report_to="none",
        seed=SEED,
    )
    trainer = WeightedTrainer(
        model=model,
        args=args,
        train_dataset=train_dataset,
        eval_dataset=eval_dataset,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
        class_weights=class_weights,
    )
    trainer.train()
    trainer.save_state()
    trainer.save_metrics("eval", trainer.evaluate(), combined=False)


if __name__ == "__main__":
    main()
