"""The choice of the best model: its direction, what is kept, and what is scored."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.evaluation.best import best_is_chosen_wrongly, last_instead_of_best
from traindoctor.probes.code.evaluation.watched import better_when_higher

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

LOOP = """
top_best = {start}
for epoch in range(9):
    train_one(model)
    {name} = check(model)
    if {name} {op} top_best:
        {update}
        torch.save(model.state_dict(), "best.pt")
"""


def loop(name: str, op: str, start: str = "0.0", update: str = "") -> str:
    return LOOP.format(name=name, op=op, start=start, update=update or f"top_best = {name}")


KEPT = """
def run(model):
    for epoch in range(9):
        value = check(model)
        if value > best_f1:
            best_f1 = value
            best_weights = {}
    {}
"""
STOPPER = """
class Keeper:
    def __init__(self):
        self.best, self.bad = START, 0
    def update(self, score, model):
        if score {op} self.best:
            self.best, self.bad = score, 0
            torch.save(model.state_dict(), "best.pt")
        else:
            self.bad += 1
        return self.bad > 5
keeper = Keeper()
for epoch in range(9):
    val = train_one(model)
    if keeper.update({handed}, model):
        break
"""
CHOICES = [
    (PRESENT, loop("dice", "<", "9.0")),
    (ABSENT, loop("dice", ">")),
    (PRESENT, loop("val_loss", ">=")),
    (ABSENT, loop("val_loss", "<", "float('inf')")),
    (UNKNOWN, loop("result", "<", "9.0").replace("check(model)", "-check(model)")),
    (PRESENT, loop("result", ">", update="pass")),
    (ABSENT, loop("recall", ">", update="top_best = max(recall, top_best)")),
    (PRESENT, "keep = ModelCheckpoint(monitor='val_acc', mode='min')"),
    (ABSENT, "keep = ModelCheckpoint(monitor='val_acc', mode='max')"),
    (PRESENT, "stop = EarlyStopping('val/wer', mode='max', restore_best_weights=True)"),
    (PRESENT, "import lightning\nkeep = ModelCheckpoint(monitor='val_dice')"),
    (ABSENT, "import lightning\nkeep = ModelCheckpoint(monitor='val_loss')"),
    (UNKNOWN, "import keras\nkeep = keras.callbacks.ModelCheckpoint(path, monitor='val_dice')"),
    (PRESENT, "a = TrainingArguments(metric_for_best_model='accuracy', greater_is_better=False)"),
    (ABSENT, "a = TrainingArguments(metric_for_best_model='eval_loss', greater_is_better=False)"),
    (UNKNOWN, "a = TrainingArguments(metric_for_best_model='custom', greater_is_better=False)"),
    (UNKNOWN, "s = ReduceLROnPlateau(opt, mode='max')"),
    (PRESENT, KEPT.format("model.state_dict()", "model.load_state_dict(best_weights)")),
    (ABSENT, KEPT.format("copy.deepcopy(model.state_dict())", "model.load_state_dict(best_weights)")),
    (
        ABSENT,
        KEPT.format(
            "{k: v.clone() for k, v in model.state_dict().items()}", "model.load_state_dict(best_weights)"
        ),
    ),
    (
        PRESENT,
        KEPT.format("{k: v for k, v in model.state_dict().items()}", "model.load_state_dict(best_weights)"),
    ),
    (PRESENT, KEPT.format("copy.deepcopy(model.state_dict())", "return model")),
    (PRESENT, loop("fitness", "<", "9.0")),
    # no model is kept, and training stops by it
    (PRESENT, loop("val_loss", "<", update="bad_epochs = 0").replace("torch.save", "print")),
    # the start is no number of the script, and nothing in the loop sets it
    (PRESENT, "def run(self):" + loop("wer", "<", "self.wer", update="pass").replace("\n", "\n    ")),
    (ABSENT, "def run(self):" + loop("wer", "<", "self.wer").replace("\n", "\n    ")),
    (UNKNOWN, "for epoch in range(9):\n    train_one(model)"),
    # a figure that callers hand over: what it is, they tell
    (ABSENT, STOPPER.format(op="<", handed="val['loss']")),
    (PRESENT, STOPPER.format(op=">", handed="val['loss']")),
    (UNKNOWN, STOPPER.format(op="<", handed="-val['f1']")),
    (PRESENT, STOPPER.format(op="<", handed="val_f1")),
    (UNKNOWN, STOPPER.format(op="<", handed="val")),
    (UNKNOWN, STOPPER.format(op="<", handed="val").partition("keeper =")[0]),
]


@pytest.mark.parametrize(("state", "text"), CHOICES)
def test_choice(state: State, text: str) -> None:
    """Direction, the new best value, copies and their use; other metrics are left alone."""
    found = finding(best_is_chosen_wrongly, text)

    assert found.state is state, found.why


FIT = "keep = ModelCheckpoint(monitor='val_f1')\nt = L.Trainer(callbacks=[keep])\nt.fit(m, d)\n"
KERAS = "c = keras.callbacks.ModelCheckpoint(path, monitor='val_auc', {})\nmodel.load_weights(path)"
SCORED = [
    (PRESENT, FIT + "t.test(m, d, ckpt_path=None)"),
    (PRESENT, FIT + "t.test(m, d)"),
    (ABSENT, FIT + "t.test(m, d, ckpt_path='best')"),
    (ABSENT, FIT + "m = M.load_from_checkpoint(p)\nt.test(m, d)"),
    (UNKNOWN, "t = L.Trainer()\nt.fit(m, d)\nt.test(m, d)"),
    (PRESENT, KERAS.format("mode='max'")),
    (ABSENT, KERAS.format("save_best_only=True")),
    (UNKNOWN, KERAS.format("mode='max'").replace("(path,", "('w{epoch}.h5',")),
]


@pytest.mark.parametrize(("state", "text"), SCORED)
def test_scored(state: State, text: str) -> None:
    """The best checkpoint is kept and not used."""
    found = finding(last_instead_of_best, text)

    assert found.state is state, found.why


@pytest.mark.parametrize("name", ["e", "d", "e2", "val"])
def test_a_short_name_is_no_number(name: str) -> None:
    """`best = e` takes up the new value, and is not the start `1e9` by its look."""
    text = loop(name, "<", "float('inf')").replace("top_best", "best")
    assert finding(best_is_chosen_wrongly, text).state is not PRESENT
    stays = loop(name, "<", "1e9", "kept = 1").replace("top_best", "best")
    assert finding(best_is_chosen_wrongly, stays).state is PRESENT


def test_directions() -> None:
    """Names tell which way a metric gets better; what tells both or nothing is unknown."""
    assert [better_when_higher(n) for n in ("valid/f1", "mIoU", "val_acc", "r2")] == [True] * 4
    assert [better_when_higher(n) for n in ("eval_loss", "WER", "val_rmse")] == [False] * 3
    assert [better_when_higher(n) for n in ("metric", "loss_of_accuracy")] == [None] * 2


def test_a_score_that_is_a_root_of_squares() -> None:
    checks = "def check(model):\n    out = ((model(x) - y) ** 2).mean()\n    return {}\n"
    rooted, plain = checks.format("torch.sqrt(out).item()"), checks.format("(model(x).argmax(1) == y).sum()")
    lower = loop("score", "<", start="9e9")
    assert finding(best_is_chosen_wrongly, rooted + lower).state is not PRESENT
    assert finding(best_is_chosen_wrongly, plain + lower).state is PRESENT
