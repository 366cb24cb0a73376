"""What the scripts of both sides share is no evidence for what differs."""

from pathlib import Path

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import State
from traindoctor.probes.readings import readings
from traindoctor.probes.scripts import files as script_files

SYMPTOMS = load_rules().symptoms
RIGHT = """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--max_grad_norm", type=float, default=0.5)
args = parser.parse_args()
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in load():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
        optimizer.step()
"""
UNCLEARED = RIGHT.replace("        optimizer.zero_grad()\n", "")


def states(folder: Path, mine: str, theirs: str | None, *symptoms: str) -> list[State]:
    """The states of symptoms of one script, beside another one."""
    pair = []
    for name, text in (("mine.py", mine), ("theirs.py", theirs)):
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
            pair.append(script_files.read(folder / name).run)
    found = readings(pair[0], pair[1] if theirs is not None else None, SYMPTOMS.values())
    return [found[s].state for s in symptoms]


def test_a_finding_of_both_sides_is_unknown(tmp_path: Path) -> None:
    """Alone, and beside a script without it, it is present."""
    name = "script-gradients-not-cleared"
    assert states(tmp_path, UNCLEARED, None, name) == [State.PRESENT]
    assert states(tmp_path, UNCLEARED, RIGHT, name) == [State.PRESENT]
    assert states(tmp_path, UNCLEARED.replace("0.1", "0.2"), UNCLEARED, name) == [State.UNKNOWN]
    assert states(tmp_path, RIGHT, UNCLEARED, name) != [State.PRESENT]


def test_a_setting_of_both_sides_does_not_speak_against_an_edit(tmp_path: Path) -> None:
    """`--max_grad_norm` stands in both scripts, and one of them clips no more."""
    unclipped = RIGHT.replace(
        "        nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)\n", ""
    )
    names = ("clipping-off", "edit-clipping-left-out")
    assert states(tmp_path, unclipped, RIGHT, *names) == [State.UNKNOWN, State.PRESENT]
    assert states(tmp_path, RIGHT, RIGHT, *names) == [State.ABSENT, State.ABSENT]
    other = RIGHT.replace("optimizer.step()", "optimizer.step()\n        print(loss)")
    assert states(tmp_path, other, None, "clipping-off") == [State.ABSENT]
