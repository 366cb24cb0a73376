"""What the Trainer of transformers is told, and what a class that derives from it does in its place."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

TEXT = """
import argparse
import torch
import torch.nn.functional as F
from transformers import AutoModelForTokenClassification, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-5)
{FLAG}
args = parser.parse_args()
model = AutoModelForTokenClassification.from_pretrained("bert-base-cased"{WEIGHTS})
{MODEL}
class Own(Trainer):
    {METHOD}
def collate(rows):
    longest = max(len(r["input_ids"]) for r in rows)
    labels = []
    for r in rows:
        gap = longest - len(r["input_ids"])
        labels.append(r["labels"] + [{FILL}] * gap)
    labels = torch.tensor(labels)
    {AFTER}
    return {"labels": labels, "input_ids": pad([r["input_ids"] for r in rows])}
def compute_metrics(pred):
    guesses = pred.predictions.argmax({AXIS})
    keep = pred.label_ids != -100
    return {"f1": score(guesses[keep], pred.label_ids[keep])}
told = TrainingArguments("out", learning_rate=args.lr, num_train_epochs=3{TOLD})
trainer = {CLASS}(model=model, args=told, train_dataset=rows, eval_dataset=held, data_collator=collate,
    compute_metrics=compute_metrics)
trainer.train({RESUME})
print(trainer.evaluate(test))
"""
PLAIN = {
    "FLAG": "",
    "WEIGHTS": "",
    "MODEL": "",
    "METHOD": "pass",
    "FILL": "-100",
    "AFTER": "pass",
    "AXIS": "-1",
    "TOLD": "",
    "CLASS": "Trainer",
    "RESUME": "",
}


def _text(**changes: str) -> str:
    text = TEXT
    changes = {"CLASS": "Own"} | changes if "METHOD" in changes else changes
    for name, value in (PLAIN | changes).items():
        text = text.replace("{" + name + "}", value)
    return text


def _loss(*lines: str) -> str:
    head = "def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):"
    body = ['labels = inputs.pop("labels")', "outputs = model(**inputs)", *lines]
    if not any(line.startswith("return") for line in lines):
        body.append("return (loss, outputs) if return_outputs else loss")
    return "\n        ".join([head, *body])


def _step(*lines: str) -> str:
    head = "def training_step(self, model, inputs, num_items_in_batch=None):"
    body = ["model.train()", "inputs = self._prepare_inputs(inputs)", *lines, "return loss.detach()"]
    return "\n        ".join([head, *body])


NLL, CUT, NEGATED = "script-activation-missing-before-loss", "script-gradient-path-cut", "script-loss-negated"
CLIPPED, SUMMED = "script-clip-without-effect", "script-accumulation-not-divided"
HALF, BF16 = "script-half-without-scaler", "script-pure-bf16"
LAST, CHOSEN = "script-last-instead-of-best", "script-best-chosen-wrongly"
RESUME, FILLED, AXIS = "script-resume-incomplete", "script-label-padding-counts", "script-metric-wrong"
FLAT = "outputs.logits.view(-1, 7)"
FOUR = ", gradient_accumulation_steps=4"
BEST = ', load_best_model_at_end=True, metric_for_best_model="{}"'

CASES: list[tuple[str, str, dict[str, str]]] = [
    (NLL, P, {"METHOD": _loss(f"loss = F.nll_loss({FLAT}, labels.view(-1))")}),
    (NLL, P, {"METHOD": _loss("logits = outputs.logits[:, 1:]", "loss = F.nll_loss(logits, labels)")}),
    (NLL, A, {"METHOD": _loss(f"loss = F.nll_loss({FLAT}.log_softmax(-1), labels.view(-1))")}),
    (NLL, U, {"METHOD": _loss(f"loss = F.cross_entropy({FLAT}, labels.view(-1))")}),
    (
        CUT,
        P,
        {
            "METHOD": _loss(
                "x = outputs.logits.detach().requires_grad_()", "loss = F.cross_entropy(x, labels)"
            )
        },
    ),
    (
        CUT,
        P,
        {
            "METHOD": _loss(
                f"loss = F.cross_entropy({FLAT}, labels)",
                "return torch.tensor(loss.item(), requires_grad=True)",
            )
        },
    ),
    (CUT, A, {"METHOD": _loss(f"loss = F.cross_entropy({FLAT}, labels.view(-1))")}),
    (NEGATED, P, {"METHOD": _loss("loss = -outputs.loss")}),
    (
        NEGATED,
        P,
        {"METHOD": _loss("return (-outputs['loss'], outputs) if return_outputs else -outputs['loss']")},
    ),
    (NEGATED, U, {"METHOD": _loss("loss = outputs.loss")}),
    (
        CLIPPED,
        P,
        {"METHOD": _loss("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "loss = outputs.loss")},
    ),
    (CLIPPED, U, {"METHOD": _loss("loss = outputs.loss")}),
    (SUMMED, P, {"TOLD": FOUR, "METHOD": _step("loss = model(**inputs).loss", "loss.backward()")}),
    (SUMMED, U, {"METHOD": _step("loss = model(**inputs).loss", "loss.backward()")}),
    (SUMMED, U, {"TOLD": FOUR, "METHOD": _step("loss = model(**inputs).loss / 4", "loss.backward()")}),
    (
        SUMMED,
        U,
        {"TOLD": FOUR, "METHOD": _step("loss = model(**inputs).loss", "self.accelerator.backward(loss)")},
    ),
    (HALF, P, {"WEIGHTS": ", torch_dtype=torch.float16"}),
    (HALF, P, {"WEIGHTS": ', dtype="float16"'}),
    (HALF, P, {"MODEL": "model.half()"}),
    (HALF, U, {"WEIGHTS": ", torch_dtype=torch.bfloat16"}),
    (HALF, U, {"WEIGHTS": ", torch_dtype=torch.float16", "MODEL": "model = get_peft_model(model, lora)"}),
    (HALF, U, {"TOLD": ", fp16=True"}),
    (BF16, P, {"MODEL": "model.to(torch.bfloat16)"}),
    (BF16, P, {"MODEL": "model = model.bfloat16()"}),
    (BF16, U, {"MODEL": "model.to(torch.bfloat16)\nmodel = get_peft_model(model, lora)"}),
    (BF16, U, {"TOLD": ", bf16=True"}),
    (LAST, A, {"TOLD": BEST.format("f1")}),
    (LAST, P, {"TOLD": ', metric_for_best_model="f1"'}),
    (LAST, P, {"TOLD": BEST.format("f1").replace("True", "False")}),
    (LAST, U, {"TOLD": ', eval_strategy="epoch"'}),
    (LAST, U, {"TOLD": ', metric_for_best_model="f1", **more'}),
    (CHOSEN, P, {"TOLD": BEST.format("wer")}),
    (CHOSEN, A, {"TOLD": BEST.format("wer") + ", greater_is_better=False"}),
    (CHOSEN, U, {"TOLD": BEST.format("f1")}),
    (CHOSEN, U, {"TOLD": BEST.format("eval_loss")}),
    (CHOSEN, P, {"TOLD": BEST.format("f1") + ")\ntold.greater_is_better = False\ndict("}),
    (RESUME, A, {"RESUME": "resume_from_checkpoint=True"}),
    (RESUME, P, {"RESUME": "resume_from_checkpoint=True", "TOLD": ", save_only_model=True"}),
    (RESUME, U, {"TOLD": ", save_only_model=True"}),
    (RESUME, P, {"FLAG": 'parser.add_argument("--resume", default="last.pt")'}),
    (RESUME, U, {"FLAG": 'parser.add_argument("--resume", default=None)'}),
    (
        RESUME,
        A,
        {
            "FLAG": 'parser.add_argument("--resume", default=None)',
            "RESUME": "resume_from_checkpoint=args.resume",
        },
    ),
    (
        RESUME,
        P,
        {
            "FLAG": 'parser.add_argument("--resume", action="store_true")',
            "MODEL": "model = AutoModelForX.from_pretrained('out' if args.resume else 'bert')",
        },
    ),
    (FILLED, A, {}),
    (FILLED, P, {"FILL": "0"}),
    (FILLED, P, {"FILL": "tokenizer.pad_token_id"}),
    (FILLED, P, {"FILL": "-1"}),
    (FILLED, U, {"FILL": "0", "AFTER": "labels[labels == 0] = -100"}),
    (
        FILLED,
        U,
        {"FILL": "0", "METHOD": _loss("loss = F.cross_entropy(outputs.logits.mT, labels, ignore_index=0)")},
    ),
    (AXIS, P, {"AXIS": "1"}),
    (AXIS, U, {"AXIS": "2"}),
]


@pytest.mark.parametrize(("symptom", "wanted", "changes"), CASES)
def test_the_trainer_of_transformers(symptom: str, wanted: str, changes: dict[str, str]) -> None:
    found = state(symptom, _text(**changes))
    assert (found == P) == (wanted == P) if wanted != A else found == A


PIECES = """
from transformers import AutoModelForTokenClassification, Trainer, TrainingArguments
def align(enc, tags):
    labels = []
    for word in enc.word_ids():
        if word is None:
            labels.append({NONE})
        else:
            labels.append(tags[word])
    return labels
model = AutoModelForTokenClassification.from_pretrained("bert-base-cased")
Trainer(model=model, args=TrainingArguments("out"), train_dataset=rows).train()
"""


@pytest.mark.parametrize(("value", "wanted"), [("-100", A), ("-1", P), ("0", P)])
def test_special_tokens_are_left_out(value: str, wanted: str) -> None:
    assert state(FILLED, PIECES.replace("{NONE}", value)) == wanted


def test_what_is_picked_out_by_hand_may_be_minus_one() -> None:
    text = PIECES.replace("{NONE}", "-1") + "\ndef loss(out, y):\n    return ce(out[y != -1], y[y != -1])\n"
    assert state(FILLED, text) != P


HELD = """
from transformers import Trainer, TrainingArguments
train_rows, val_rows = read("train"), read("val")
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset={MINE}, eval_dataset={HELD})
trainer.train()
"""


@pytest.mark.parametrize(
    ("mine", "held", "wanted"),
    [
        ("encode(train_rows, 128)", "encode(val_rows, 128)", False),
        ("encode(train_rows, 128)", "encode(train_rows, 128)", True),
        ("encode(train_rows, 'a')", "encode(train_rows, 'b')", False),
        ("Noise(1000)", "Noise(1000)", False),
        ("rows['train']", "rows['train']", True),
        ("rows['train']", "rows['test']", False),
    ],
)
def test_held_out_rows_are_others(mine: str, held: str, wanted: bool) -> None:
    text = HELD.replace("{MINE}", mine).replace("{HELD}", held)
    assert (state("script-training-sees-evaluation", text) == P) is wanted


def test_layers_after_the_optimizer() -> None:
    text = HELD.replace("{MINE}", "train_rows").replace("{HELD}", "val_rows")
    head = "trainer.model.classifier = torch.nn.Linear(8, 2)\n"
    late = text.replace("trainer.train()", f"trainer.create_optimizer()\n{head}trainer.train()")
    assert state("script-optimizer-other-model", late) == P
    early = text.replace("trainer.train()", f"{head}trainer.create_optimizer()\ntrainer.train()")
    assert state("script-optimizer-other-model", early) != P
    assert (
        state("script-optimizer-other-model", text.replace("trainer.train()", f"{head}trainer.train()")) != P
    )
