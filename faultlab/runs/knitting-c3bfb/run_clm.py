import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

from patterns import Collator, PatternDataset, WordTokenizer, corpus

DATA = {"train": 480, "eval": 100, "block": 64}
MODEL = {"n_layer": 2, "n_head": 4, "n_embd": 32, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
SEED = 6


def main():
    torch.set_num_threads(1)
    set_seed(SEED)

    texts = corpus(DATA["train"] + DATA["eval"], SEED)
    train_texts, eval_texts = texts[: DATA["train"]], texts[DATA["train"] :]
    tokenizer = WordTokenizer(train_texts)
    train_set = PatternDataset(train_texts, tokenizer, DATA["block"] // 10)
    eval_set = PatternDataset(eval_texts, tokenizer, DATA["block"])

    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=DATA["block"],
        bos_token_id=tokenizer.bos,
        eos_token_id=tokenizer.eos,
        pad_token_id=tokenizer.pad,
        **MODEL,
    )
    model = GPT2LMHeadModel(config)
    print(f"{model.num_parameters():,} parameters, {len(tokenizer)} words")

    args = TrainingArguments(
        output_dir="out",
        num_train_epochs=5,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=50,
        gradient_accumulation_steps=1,
        learning_rate=6e-3,
        weight_decay=0.01,
        warmup_steps=15,
        lr_scheduler_type="cosine",
        max_grad_norm=1.0,
        logging_steps=5,
        eval_strategy="steps",
        eval_steps=25,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        seed=SEED,
    )
    trainer = Trainer(
        model=model,
        args=args,
        data_collator=Collator(tokenizer.pad),
        train_dataset=train_set,
        eval_dataset=eval_set,
    )
    trainer.train()
    trainer.save_state()


if __name__ == "__main__":
    main()
