"""Verdicts over programs of frameworks: the judges see the same facts, whatever takes the steps."""

import pytest

from traindoctor.probes.rehearsal.judges import verdicts
from traindoctor.probes.scripts.project import programs

from .test_keras import CALLS, DATA, FIT, OWN, SEQUENTIAL, TAPE
from .test_mindspore import FUNCTION, NET
from .test_trainers import AUTOMATIC, MANUAL, TRAINER, module
from .test_trainers import OWN as OWN_LOSS

MINE = "self.automatic_optimization = False\n        self.lr = lr"


def kinds(text: str) -> set[str]:
    """The kinds of verdicts over one file."""
    return {v.kind for v in verdicts(programs({"train.py": text})[0])}


def manual(clear: str) -> str:
    """A module of Lightning that takes its steps itself."""
    step = MANUAL.replace("        self.automatic_optimization = False\n", "").replace("CLEAR", clear)
    return module(step).replace("self.save_hyperparameters()", MINE).replace("self.hparams.lr", "self.lr")


@pytest.mark.parametrize(
    "text",
    [
        NET + FUNCTION.replace("MODE", "net.set_train()"),
        NET + "ms.Model(net, loss_fn, opt, metrics={'acc'}).fit(5, data('train'), data('val'))\n",
        *(DATA + net + FIT for net in (SEQUENTIAL, CALLS, OWN)),
        *(DATA + net + TAPE.replace("TRAINING", ", training=True") for net in (SEQUENTIAL, CALLS, OWN)),
        module(AUTOMATIC),
        module(AUTOMATIC, ", accumulate_grad_batches=4"),
        manual("opt.zero_grad()"),
        TRAINER.replace("TRAINER_CLASS", OWN_LOSS).replace("KIND", "Weighted"),
        TRAINER.replace("TRAINER_CLASS", "")
        .replace("KIND", "Trainer")
        .replace("num_train_epochs=3", "num_train_epochs=3, gradient_accumulation_steps=4"),
    ],
)
def test_right_programs_draw_no_verdict(text: str) -> None:
    assert kinds(text) == set()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (NET + FUNCTION.replace("MODE", "pass"), "trained-in-eval"),
        (NET + FUNCTION.replace("MODE", "net.set_train(False)"), "trained-in-eval"),
        (DATA + SEQUENTIAL + TAPE.replace("TRAINING", ""), "trained-in-eval"),
        (DATA + CALLS + TAPE.replace("TRAINING", ", training=False"), "trained-in-eval"),
        (DATA + OWN + TAPE.replace("TRAINING", ""), "trained-in-eval"),
        (
            DATA
            + OWN
            + TAPE.replace("TRAINING", ", training=True").replace("training=False)", "training=True)"),
            "scored-in-train",
        ),
        (
            DATA
            + SEQUENTIAL
            + TAPE.replace("loss = loss_fn(b, net(aTRAINING))", "p = net(a, training=True)").replace(
                "    grads = tape", "    loss = loss_fn(b, p)\n    grads = tape"
            ),
            "reaches-nothing",
        ),
        (
            NET
            + FUNCTION.replace("MODE", "net.set_train()").replace("= net(x)", "= ops.stop_gradient(net(x))"),
            "reaches-nothing",
        ),
        (module(AUTOMATIC).replace("return loss", "return loss.detach()"), "reaches-nothing"),
        (manual("pass"), "stale"),
        (module(AUTOMATIC).replace("Adam(self.parameters()", "Adam(self.net[2].parameters()"), "left-out"),
    ],
)
def test_faults_are_seen_in_every_framework(text: str, kind: str) -> None:
    assert kind in kinds(text)
