"""Texts of CTC models of Hugging Face: grouped answers, whole references, padding that is left out."""

from __future__ import annotations

import pytest

from .._scripts import state

PROGRAM = """
import evaluate
import numpy as np
from transformers import Trainer, TrainingArguments, Wav2Vec2ForCTC, Wav2Vec2Processor
processor = Wav2Vec2Processor.from_pretrained("own")
wer = evaluate.load("wer")
def collate(rows):
    batch = processor.pad([{"input_values": r["input_values"]} for r in rows], return_tensors="pt")
    labels = processor.pad(labels=[{"input_ids": r["labels"]} for r in rows], return_tensors="pt")
    batch["labels"] = labels["input_ids"].masked_fill(MASK, -100)
    return batch
def metrics(pred):
    ids = np.argmax(pred.predictions, axis=AXIS)
    refs = pred.label_ids
    FILL
    said = processor.batch_decode(idsANSWER)
    meant = processor.batch_decode(refsTRUTH)
    return {"wer": wer.compute(predictions=said, references=meant)}
model = Wav2Vec2ForCTC.from_pretrained("base", vocab_size=len(processor.tokenizer))
trainer = Trainer(model=model, args=TrainingArguments("out"), data_collator=collate, compute_metrics=metrics,
                  train_dataset=train, eval_dataset=valid)
trainer.train()
"""
RIGHT = {
    "MASK": 'labels["attention_mask"].ne(1)',
    "AXIS": "-1",
    "FILL": "refs[refs == -100] = processor.tokenizer.pad_token_id",
    "ANSWER": "",
    "TRUTH": ", group_tokens=False",
}


def program(**changed: str) -> str:
    text = PROGRAM
    for key, value in {**RIGHT, **changed}.items():
        text = text.replace(key, value)
    return text


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"MASK": "labels.attention_mask == 0"},
        {"MASK": "~labels.attention_mask.bool()"},
        {"FILL": "refs = np.where(refs != -100, refs, processor.tokenizer.pad_token_id)"},
        {"AXIS": "2"},
    ],
)
def test_right_texts(changed: dict[str, str]) -> None:
    for symptom in ("script-metric-miscounts", "script-label-padding-counts"):
        assert state(symptom, program(**changed)) != "present"


@pytest.mark.parametrize(
    "changed",
    [{"AXIS": "1"}, {"FILL": "pass"}, {"TRUTH": ""}, {"ANSWER": ", group_tokens=False"}],
)
def test_texts_misread(changed: dict[str, str]) -> None:
    assert state("script-metric-miscounts", program(**changed)) == "present"


@pytest.mark.parametrize("mask", ['labels["attention_mask"].eq(1)', "labels.attention_mask != 0"])
def test_real_tokens_left_out(mask: str) -> None:
    assert state("script-label-padding-counts", program(MASK=mask)) == "present"
