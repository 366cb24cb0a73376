"""What a small program's rehearsal tells, for the tests."""

from traindoctor.probes.rehearsal.journal import Asked, Journal, Stepped
from traindoctor.probes.rehearsal.machine import Machine
from traindoctor.probes.scripts.project import programs


def rehearsal(text: str) -> Machine:
    """The rehearsal of one file."""
    (source,) = programs({"train.py": text})
    machine = Machine(source)
    journal = machine.run()
    assert journal.ended == "whole", journal.ended
    return machine


def learns(journal: Journal) -> bool:
    """Whether an optimizer moved known weights by gradients."""
    steps = [e for e in journal.of(Stepped) if e.optimizer.weights is not None]
    return bool(steps) and all(any(s.gradients.values()) for s in steps)


def modes(journal: Journal) -> list[bool]:
    """The modes that networks were asked in, each row of equal ones once."""
    found: list[bool] = []
    for event in journal.of(Asked):
        if not found or found[-1] != event.mode:
            found.append(event.mode)
    return found
