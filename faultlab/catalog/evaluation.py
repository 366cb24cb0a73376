"""What the evaluation computes, and on which weights."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, unseen

from .common import faulty


def evaluation() -> Iterator[Case]:
    logic = "evaluation.logic"
    yield from faulty(
        "images",
        "ab",
        "wrong-axis",
        logic,
        (
            "val_correct += (output.argmax(1) == y).sum().item()",
            "val_correct += (output.argmax(0)[0] == y).sum().item()",
        ),
    )
    yield from faulty(
        "sentences",
        "b",
        "argmin",
        logic,
        (
            "val_acc = (output.argmax(1) == valid_y)",
            "val_acc = (output.softmax(1).round().argmin(1) == valid_y)",
        ),
    )
    stale = unseen("validation does not follow the training: other weights or another path", logic)
    yield from faulty(
        "images",
        "bc",
        "stale-model",
        "evaluation.wrong-checkpoint",
        ("step = 0\n", "import copy\n\nbest = copy.deepcopy(model)\nstep = 0\n"),
        ("    model.eval()\n", "    best.eval()\n"),
        (
            "            output = model(x)\n            val_loss",
            "            output = best(x)\n            val_loss",
        ),
        accept=stale,
    )
    yield from faulty(
        "series",
        "b",
        "stale-model",
        "evaluation.wrong-checkpoint",
        ("step = 0\n", "import copy\n\nbest = copy.deepcopy(model)\nstep = 0\n"),
        ("        output = model(valid_x)\n", "        output = best(valid_x)\n"),
        accept=stale,
    )
